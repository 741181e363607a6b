//! Conversion of values to types (`docs/spec/jobspec.md §3.1, 4`).

use std::sync::Arc;

use thiserror::Error;

use super::number::{Number, NumberError};
use super::types::{Type, unify};
use super::value::{Entries, Value, ValueTooLarge};

/// Why a value can't have a type. The text is made only where it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConversionError {
    /// No value of the one type can have the other.
    #[error("{}", mismatch(own, wanted))]
    Mismatch {
        /// The type of the value.
        own: Type,
        /// The requested type.
        wanted: Type,
    },
    /// A string is no number.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// A string is none of `true`, `false`, `1` and `0`.
    #[error("a bool is required")]
    Bool,
    /// A string is a bool in upper case.
    #[error("a bool is required; to convert from string, use lowercase \"{0}\"")]
    UpperCaseBool(bool),
    /// A map has no element for an attribute of an object.
    #[error("map has no element for required attribute \"{0}\"")]
    MissingElement(Arc<str>),
    /// The converted value is beyond the limits of values.
    #[error(transparent)]
    TooLarge(#[from] ValueTooLarge),
}

impl ConversionError {
    fn mismatch(own: &Type, wanted: &Type) -> ConversionError {
        ConversionError::Mismatch { own: own.clone(), wanted: wanted.clone() }
    }
}

impl Value {
    /// The value as the wanted type. Null and unknown values stay as they are.
    ///
    /// # Errors
    /// The value, or a part of it, can't have the type.
    pub fn convert(&self, wanted: &Type) -> Result<Value, ConversionError> {
        match self {
            Value::Null | Value::Unknown => return Ok(self.clone()),
            _ if *wanted == Type::Any => return Ok(self.clone()),
            _ => {}
        }
        let own = self.ty();
        if own == *wanted {
            return Ok(self.clone());
        }
        if !own.converts_to(wanted) {
            return Err(ConversionError::mismatch(&own, wanted));
        }
        match (self, wanted) {
            (Value::Number(number), Type::String) => Ok(Value::String(number.to_string().into())),
            (Value::Bool(value), Type::String) => Ok(Value::from(if *value { "true" } else { "false" })),
            (Value::String(text), Type::Number) => Ok(Value::Number(Number::parse(text)?)),
            (Value::String(text), Type::Bool) => bool_from_text(text).map(Value::Bool),
            (_, Type::List(element) | Type::Set(element)) => {
                let items = self.items().ok_or_else(|| ConversionError::mismatch(&own, wanted))?;
                let element = element_type(&own, element, wanted)?;
                let items = items.iter().map(|item| item.convert(&element)).collect::<Result<_, _>>()?;
                match wanted {
                    Type::Set(_) => Ok(Value::set(element, items)?),
                    _ => Ok(Value::list(element, items)?),
                }
            }
            (_, Type::Map(element)) => {
                let entries = self.entries().ok_or_else(|| ConversionError::mismatch(&own, wanted))?;
                let element = element_type(&own, element, wanted)?;
                let entries = entries
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), value.convert(&element)?)))
                    .collect::<Result<_, ConversionError>>()?;
                Ok(Value::map(element, entries)?)
            }
            (_, Type::Object(attributes)) => {
                let entries = self.entries().ok_or_else(|| ConversionError::mismatch(&own, wanted))?;
                let attribute = |(name, ty): (&Arc<str>, &Type)| {
                    let value = entries.get(name).ok_or_else(|| ConversionError::MissingElement(name.clone()))?;
                    Ok((name.clone(), value.convert(ty)?))
                };
                Ok(Value::object(attributes.iter().map(attribute).collect::<Result<Entries, ConversionError>>()?)?)
            }
            (Value::Tuple(inner), Type::Tuple(types)) => {
                let items = inner.items().iter().zip(types.iter());
                Ok(Value::tuple(items.map(|(item, ty)| item.convert(ty)).collect::<Result<_, _>>()?)?)
            }
            _ => Err(ConversionError::mismatch(&own, wanted)),
        }
    }
}

/// The element type of a conversion to a collection: the wanted one, or for `Any` the common type of what there is.
fn element_type(own: &Type, wanted: &Type, collection: &Type) -> Result<Type, ConversionError> {
    match wanted {
        Type::Any => unify(own.parts()).ok_or_else(|| ConversionError::mismatch(own, collection)),
        wanted => Ok(wanted.clone()),
    }
}

fn bool_from_text(text: &str) -> Result<bool, ConversionError> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        "True" | "TRUE" => Err(ConversionError::UpperCaseBool(true)),
        "False" | "FALSE" => Err(ConversionError::UpperCaseBool(false)),
        _ => Err(ConversionError::Bool),
    }
}

/// Why no value of one type can have the other.
fn mismatch(own: &Type, wanted: &Type) -> String {
    let generic = || format!("{} required, but have {own}", wanted.wanted_name());
    let single_type = |kind: &str| format!("all {kind} elements must have the same type");
    match (own, wanted) {
        (Type::Tuple(items), Type::List(element) | Type::Set(element)) => {
            if **element == Type::Any {
                return single_type(if matches!(wanted, Type::List(_)) { "list" } else { "set" });
            }
            let bad = items.iter().enumerate().find(|(_, item)| !item.converts_to(element));
            bad.map_or_else(generic, |(index, item)| format!("element {index}: {}", mismatch(item, element)))
        }
        (Type::Object(attributes), Type::Map(element)) => {
            if **element == Type::Any {
                return single_type("map");
            }
            let bad = attributes.iter().find(|(_, attribute)| !attribute.converts_to(element));
            bad.map_or_else(generic, |(name, attribute)| {
                format!("element \"{name}\": {}", mismatch(attribute, element))
            })
        }
        (Type::Object(attributes), Type::Object(required)) => {
            let missing: Vec<String> = required
                .keys()
                .filter(|name| !attributes.contains_key(*name))
                .map(|name| format!("\"{name}\""))
                .collect();
            match missing.as_slice() {
                [] => {}
                [one] => return format!("attribute {one} is required"),
                [first, second] => return format!("attributes {first} and {second} are required"),
                [most @ .., last] => return format!("attributes {}, and {last} are required", most.join(", ")),
            }
            let mut both = required.iter().filter_map(|(name, ty)| Some((name, attributes.get(name)?, ty)));
            let bad = both.find(|(_, own, ty)| !own.converts_to(ty));
            bad.map_or_else(generic, |(name, own, ty)| format!("attribute \"{name}\": {}", mismatch(own, ty)))
        }
        (Type::List(own) | Type::Set(own), Type::List(element)) if !own.converts_to(element) => {
            format!("incorrect list element type: {}", mismatch(own, element))
        }
        (Type::List(own) | Type::Set(own), Type::Set(element)) if !own.converts_to(element) => {
            format!("incorrect set element type: {}", mismatch(own, element))
        }
        (Type::Map(own), Type::Map(element)) if !own.converts_to(element) => {
            format!("incorrect map element type: {}", mismatch(own, element))
        }
        // Where even the kind is another one, the own type is not named.
        (Type::Object(_) | Type::Map(_), Type::List(_) | Type::Set(_))
        | (Type::Tuple(_) | Type::List(_) | Type::Set(_), Type::Map(_)) => {
            format!("{} required", wanted.wanted_name())
        }
        _ => generic(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(items: &[Value]) -> Value {
        Value::tuple(items.to_vec()).unwrap()
    }

    fn object(attributes: &[(&str, Value)]) -> Value {
        Value::object(attributes.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect()).unwrap()
    }

    fn object_type(attributes: &[(&str, Type)]) -> Type {
        Type::Object(Arc::new(attributes.iter().map(|(name, ty)| (Arc::from(*name), ty.clone())).collect()))
    }

    #[test]
    fn conversions_that_work() {
        for (value, wanted, expected) in [
            (Value::from(5), Type::String, Value::from("5")),
            (Value::from(true), Type::String, "true".into()),
            ("1e3".into(), Type::Number, 1000.into()),
            ("1".into(), Type::Bool, true.into()),
            ("false".into(), Type::Bool, false.into()),
            (Value::Null, Type::list(Type::String), Value::Null),
            (
                tuple(&[1.into(), "dc2".into(), true.into()]),
                Type::list(Type::String),
                Value::list(Type::String, vec!["1".into(), "dc2".into(), "true".into()]).unwrap(),
            ),
            (
                tuple(&["b".into(), "a".into(), "b".into()]),
                Type::set(Type::String),
                Value::set(Type::String, vec!["a".into(), "b".into()]).unwrap(),
            ),
            (
                tuple(&[1.into(), "x".into()]),
                Type::list(Type::Any),
                Value::list(Type::String, vec!["1".into(), "x".into()]).unwrap(),
            ),
            (
                object(&[("a", "1".into()), ("extra", true.into())]),
                object_type(&[("a", Type::Number)]),
                object(&[("a", 1.into())]),
            ),
            (
                tuple(&["p".into(), "5".into()]),
                Type::Tuple([Type::String, Type::Number].into()),
                tuple(&["p".into(), 5.into()]),
            ),
        ] {
            let converted = value.convert(&wanted).unwrap();
            assert!(converted.equals(&expected), "{value:?} to {wanted}: {converted:?}");
        }
    }

    #[test]
    fn empty_collections_keep_their_element_type() {
        let empty = Value::list(Type::Number, Vec::new()).unwrap();
        assert_eq!(empty.convert(&Type::set(Type::Any)).unwrap().ty(), Type::set(Type::Number));
        assert_eq!(tuple(&[]).convert(&Type::list(Type::Any)).unwrap().ty(), Type::list(Type::Any));
    }

    #[test]
    fn texts_of_refusals() {
        let strings = Type::list(Type::String);
        for (value, wanted, text) in [
            (Value::from("many"), Type::Number, "a number is required"),
            (true.into(), Type::Number, "number required, but have bool"),
            ("yes".into(), Type::Bool, "a bool is required"),
            ("True".into(), Type::Bool, "a bool is required; to convert from string, use lowercase \"true\""),
            ("FALSE".into(), Type::Bool, "a bool is required; to convert from string, use lowercase \"false\""),
            (tuple(&[]), Type::String, "string required, but have tuple"),
            ("dc1".into(), strings.clone(), "list of string required, but have string"),
            (tuple(&[tuple(&[])]), strings.clone(), "element 0: string required, but have tuple"),
            (object(&[]), object_type(&[("a", Type::Bool)]), "attribute \"a\" is required"),
            (object(&[("k", tuple(&[]))]), Type::map(Type::String), "element \"k\": string required, but have tuple"),
            (tuple(&["x".into()]), Type::list(Type::Number), "a number is required"),
            (tuple(&[1.into(), true.into()]), Type::list(Type::Any), "all list elements must have the same type"),
            (tuple(&["x".into()]), Type::Tuple([].into()), "tuple required, but have tuple"),
        ] {
            assert_eq!(value.convert(&wanted).unwrap_err().to_string(), text, "{value:?} to {wanted}");
        }
    }
}

//! Types of expressions: names used in error texts, and the common type of several (`docs/spec/jobspec.md §3, 4`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The type of a value, or what a conversion is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Not determined: the type of `null` and of unknown values; as a conversion target, "leave it as it is".
    Any,
    /// `string`.
    String,
    /// `number`.
    Number,
    /// `bool`.
    Bool,
    /// `list(…)`, with the type of the elements.
    List(Arc<Type>),
    /// `set(…)`, with the type of the elements.
    Set(Arc<Type>),
    /// `map(…)`, with the type of the values; keys are strings.
    Map(Arc<Type>),
    /// `object({…})`, with the type of each attribute, by name.
    Object(Arc<BTreeMap<Arc<str>, Type>>),
    /// `tuple([…])`, with the type of each element.
    Tuple(Arc<[Type]>),
}

impl Type {
    /// `list(element)`.
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// `set(element)`.
    pub fn set(element: Type) -> Type {
        Type::Set(Arc::new(element))
    }

    /// `map(element)`.
    pub fn map(element: Type) -> Type {
        Type::Map(Arc::new(element))
    }

    /// Whether this is a string, a number or a bool.
    pub(crate) fn is_primitive(&self) -> bool {
        matches!(self, Type::String | Type::Number | Type::Bool)
    }

    /// The types of what a composite holds: one for lists, sets and maps, one per element or attribute for the others.
    pub fn parts(&self) -> Vec<&Type> {
        match self {
            Type::List(element) | Type::Set(element) | Type::Map(element) => vec![element],
            Type::Tuple(items) => items.iter().collect(),
            Type::Object(attributes) => attributes.values().collect(),
            Type::Any | Type::String | Type::Number | Type::Bool => Vec::new(),
        }
    }

    /// The name when the type is asked for ("`any type` required").
    pub(crate) fn wanted_name(&self) -> String {
        match self {
            Type::Any => "any type".to_string(),
            Type::List(e) if **e == Type::Any => "list of any single type".to_string(),
            Type::Set(e) if **e == Type::Any => "set of any single type".to_string(),
            Type::Map(e) if **e == Type::Any => "map of any single type".to_string(),
            other => other.to_string(),
        }
    }

    /// Whether a value of this type can have the other type, as far as types alone tell (a string may still turn out
    /// not to be a number).
    pub(crate) fn converts_to(&self, wanted: &Type) -> bool {
        match (self, wanted) {
            (_, Type::Any) | (Type::Any, _) => true,
            (Type::Number | Type::Bool | Type::String, Type::String) => true,
            (Type::String | Type::Number, Type::Number) => true,
            (Type::String | Type::Bool, Type::Bool) => true,
            (Type::List(e) | Type::Set(e), Type::List(w) | Type::Set(w)) => e.converts_to(w),
            (Type::Tuple(items), Type::List(w) | Type::Set(w)) => match **w {
                Type::Any => unify(items.iter()).is_some(),
                _ => items.iter().all(|item| item.converts_to(w)),
            },
            (Type::Map(e), Type::Map(w)) => e.converts_to(w),
            (Type::Object(attributes), Type::Map(w)) => match **w {
                Type::Any => unify(attributes.values()).is_some(),
                _ => attributes.values().all(|attribute| attribute.converts_to(w)),
            },
            (Type::Map(e), Type::Object(wanted)) => wanted.values().all(|w| e.converts_to(w)),
            (Type::Object(attributes), Type::Object(wanted)) => {
                wanted.iter().all(|(name, w)| attributes.get(name).is_some_and(|own| own.converts_to(w)))
            }
            (Type::Tuple(items), Type::Tuple(wanted)) => {
                items.len() == wanted.len() && items.iter().zip(wanted.iter()).all(|(item, w)| item.converts_to(w))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Type {
    /// The name as error texts show it: `list of string`, `tuple`, `dynamic`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => f.write_str("dynamic"),
            Type::String => f.write_str("string"),
            Type::Number => f.write_str("number"),
            Type::Bool => f.write_str("bool"),
            Type::List(element) => write!(f, "list of {element}"),
            Type::Set(element) => write!(f, "set of {element}"),
            Type::Map(element) => write!(f, "map of {element}"),
            Type::Object(_) => f.write_str("object"),
            Type::Tuple(_) => f.write_str("tuple"),
        }
    }
}

/// The one type that values of all the given types can be converted to: of a conditional's branches, a list's elements,
/// the arguments of `coalesce`. `None` when there is none. Undetermined types (null) do not count.
pub(crate) fn unify<'a>(types: impl IntoIterator<Item = &'a Type>) -> Option<Type> {
    unify_all(types.into_iter().filter(|ty| **ty != Type::Any).collect())
}

fn unify_all(types: Vec<&Type>) -> Option<Type> {
    let Some((first, others)) = types.split_first() else { return Some(Type::Any) };
    if others.iter().all(|other| other == first) {
        return Some((*first).clone());
    }
    let all = |kind: fn(&Type) -> bool| types.iter().all(|ty| kind(ty));
    if all(Type::is_primitive) {
        return types.contains(&&Type::String).then_some(Type::String);
    }
    if all(|ty| matches!(ty, Type::List(_) | Type::Set(_) | Type::Tuple(_))) {
        return unify_tuples(&types).or_else(|| {
            let element = unify(types.iter().flat_map(|ty| ty.parts()))?;
            let set = types.iter().any(|ty| matches!(ty, Type::Set(_))) && all(|ty| !matches!(ty, Type::List(_)));
            Some(if set { Type::set(element) } else { Type::list(element) })
        });
    }
    if all(|ty| matches!(ty, Type::Map(_) | Type::Object(_))) {
        return unify_objects(&types).or_else(|| Some(Type::map(unify(types.iter().flat_map(|ty| ty.parts()))?)));
    }
    None
}

/// Tuples of one length unify element by element.
fn unify_tuples(types: &[&Type]) -> Option<Type> {
    let tuples: Vec<&Arc<[Type]>> =
        types.iter().map(|ty| if let Type::Tuple(items) = ty { Some(items) } else { None }).collect::<Option<_>>()?;
    let length = tuples.first()?.len();
    if tuples.iter().any(|items| items.len() != length) {
        return None;
    }
    let at = |index: usize| unify(tuples.iter().filter_map(|items| items.get(index)));
    Some(Type::Tuple((0..length).map(at).collect::<Option<_>>()?))
}

/// Objects with the same attributes unify attribute by attribute.
fn unify_objects(types: &[&Type]) -> Option<Type> {
    let objects: Vec<&Arc<BTreeMap<Arc<str>, Type>>> =
        types.iter().map(|ty| if let Type::Object(inner) = ty { Some(inner) } else { None }).collect::<Option<_>>()?;
    let first = objects.first()?;
    if objects.iter().any(|object| !object.keys().eq(first.keys())) {
        return None;
    }
    let attribute = |name: &Arc<str>| {
        let ty = unify(objects.iter().filter_map(|object| object.get(name)))?;
        Some((name.clone(), ty))
    };
    Some(Type::Object(Arc::new(first.keys().map(attribute).collect::<Option<_>>()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(items: &[Type]) -> Type {
        Type::Tuple(items.into())
    }

    fn object(attributes: &[(&str, Type)]) -> Type {
        Type::Object(Arc::new(attributes.iter().map(|(name, ty)| (Arc::from(*name), ty.clone())).collect()))
    }

    #[test]
    fn names() {
        for (ty, name) in [
            (Type::list(Type::String), "list of string"),
            (Type::map(Type::set(Type::Bool)), "map of set of bool"),
            (tuple(&[Type::Number]), "tuple"),
            (object(&[]), "object"),
            (Type::Any, "dynamic"),
        ] {
            assert_eq!(ty.to_string(), name);
        }
        assert_eq!(Type::list(Type::Any).wanted_name(), "list of any single type");
    }

    #[test]
    fn unification() {
        use Type::{Any, Bool, Number, String};
        for (a, b, expected) in [
            (Number, String, Some(String)),
            (Bool, String, Some(String)),
            (Bool, Number, None),
            (Any, Number, Some(Number)),
            (String, Type::list(String), None),
            (Type::list(Number), Type::list(String), Some(Type::list(String))),
            (tuple(&[Number]), tuple(&[String]), Some(tuple(&[String]))),
            (tuple(&[Number]), tuple(&[String, Bool]), Some(Type::list(String))),
            (tuple(&[Number, Bool]), tuple(&[]), None),
            (tuple(&[Number]), Type::list(String), Some(Type::list(String))),
            (object(&[("a", Number)]), object(&[("a", String)]), Some(object(&[("a", String)]))),
            (object(&[("a", Number)]), object(&[("b", String)]), Some(Type::map(String))),
            (object(&[("a", Number)]), Type::map(Number), Some(Type::map(Number))),
            (object(&[]), tuple(&[]), None),
        ] {
            assert_eq!(unify([&a, &b]), expected, "{a} and {b}");
            assert_eq!(unify([&b, &a]), expected, "{b} and {a}");
        }
        assert_eq!(unify([]), Some(Any));
        assert_eq!(unify([&Number, &Bool, &String]), Some(String));
    }
}

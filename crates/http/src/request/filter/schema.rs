//! The types of the objects that filters apply to.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The table of types.
const TABLE: &str = include_str!("objects.txt");

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// A boolean.
    Bool,
    /// A signed integer; durations are these, in nanoseconds.
    Int,
    /// An unsigned integer.
    Uint,
    /// A float.
    Float,
    /// Whatever the JSON value is.
    Any,
    /// A list of bytes.
    Bytes,
    /// A point in time: a structure without fields to see.
    Time,
    /// A list.
    List(Box<Type>),
    /// A map with text keys.
    Map(Box<Type>),
    /// A pointer.
    Pointer(Box<Type>),
    /// An object type by name.
    Object(&'static str),
}

/// The fields of an object type.
#[derive(Debug, Default)]
pub struct ObjectType {
    fields: Vec<(&'static str, Type)>,
}

impl ObjectType {
    /// The type of a field. Names are exact.
    pub fn field(&self, name: &str) -> Option<&Type> {
        self.fields.iter().find(|(n, _)| *n == name).map(|(_, t)| t)
    }

    /// Names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|(n, _)| *n)
    }
}

/// An object type by its name; one that is not in the table has no fields.
pub fn object(name: &str) -> &'static ObjectType {
    static TYPES: OnceLock<HashMap<&'static str, ObjectType>> = OnceLock::new();
    static NONE: ObjectType = ObjectType { fields: Vec::new() };
    TYPES.get_or_init(read).get(name).unwrap_or(&NONE)
}

fn read() -> HashMap<&'static str, ObjectType> {
    let lines = TABLE.lines().filter(|l| !l.starts_with('#'));
    lines.filter_map(|l| l.split_once(':')).map(|(name, fields)| (name, ObjectType { fields: list(fields) })).collect()
}

/// `Key:type, Key:type`; commas inside of brackets do not occur.
fn list(text: &'static str) -> Vec<(&'static str, Type)> {
    text.split(',').filter_map(|f| f.trim().split_once(':')).map(|(name, ty)| (name, ty_of(ty))).collect()
}

fn ty_of(text: &'static str) -> Type {
    if let Some(inner) = text.strip_suffix('?') {
        return Type::Pointer(Box::new(ty_of(inner)));
    }
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        return Type::List(Box::new(ty_of(inner)));
    }
    if let Some(inner) = text.strip_prefix("{str:").and_then(|t| t.strip_suffix('}')) {
        return Type::Map(Box::new(ty_of(inner)));
    }
    match text {
        "str" => Type::Text,
        "bool" => Type::Bool,
        "int" | "duration_ns" | "duration_str" => Type::Int,
        "uint" => Type::Uint,
        "float" => Type::Float,
        "any" => Type::Any,
        "base64" => Type::Bytes,
        "time" => Type::Time,
        name => Type::Object(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_is_named_is_there() {
        fn named(t: &Type) -> Option<&'static str> {
            match t {
                Type::List(t) | Type::Map(t) | Type::Pointer(t) => named(t),
                Type::Object(name) => Some(name),
                _ => None,
            }
        }
        let types = read();
        assert!(types.len() > 100, "{}", types.len());
        for (name, ty) in &types {
            for (field, t) in &ty.fields {
                assert!(named(t).is_none_or(|n| types.contains_key(n)), "{name}.{field}: {t:?}");
            }
        }
        let pointers = Type::Map(Box::new(Type::Pointer(Box::new(Type::Object("DriverInfo")))));
        assert_eq!(object("Node").field("Drivers"), Some(&pointers));
        assert_eq!(object("Node").field("Drain"), None);
    }
}

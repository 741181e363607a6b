//! Values of templates. They are never changed once made, so a value cannot contain itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Bound, Failure};
use crate::time::Time;

/// How deep values may be nested.
pub const MAX_DEPTH: usize = 100;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// What is missing: a key that a map does not have, or the value of `nil` after a pipeline.
    Missing,
    /// An entry of a list or map that is null.
    Nil,
    /// A pointer, list or map of a structure that is null: it is printed as `<nil>`, and is empty.
    TypedNil,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating point number.
    Float(f64),
    /// A text.
    String(Arc<str>),
    /// Values in a row.
    List(List),
    /// Values by name.
    Map(Map),
    /// A value with fields.
    Object(Arc<Object>),
    /// A point in time.
    Time(Time),
    /// The named values of a run (`scratch`).
    Scratch,
}

/// Values in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    items: Arc<[Value]>,
    depth: usize,
    type_name: Option<Arc<str>>,
}

/// Values by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    entries: Arc<BTreeMap<Arc<str>, Value>>,
    depth: usize,
    /// Given to structures: a field that they do not have is an error.
    type_name: Option<Arc<str>>,
}

/// A value with fields: a service, an item of a variable.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    /// The name of its type, for errors.
    pub type_name: &'static str,
    /// Its fields and the methods without arguments.
    pub fields: BTreeMap<&'static str, Value>,
    /// Its entries, if it is a map besides.
    pub entries: Option<Map>,
    /// The text it is printed as, if it stands for one.
    pub text: Option<Arc<str>>,
}

fn deeper<'a>(values: impl Iterator<Item = &'a Value>) -> Result<usize, Failure> {
    let depth = values.map(Value::depth).max().unwrap_or(0) + 1;
    if depth > MAX_DEPTH { Err(Failure::Bound(Bound::Depth)) } else { Ok(depth) }
}

impl List {
    /// The values.
    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

impl Map {
    /// The values by name.
    pub fn entries(&self) -> &BTreeMap<Arc<str>, Value> {
        &self.entries
    }

    /// A map.
    ///
    /// # Errors
    /// The values are nested too deep.
    pub fn new(entries: BTreeMap<Arc<str>, Value>) -> Result<Map, Failure> {
        let depth = deeper(entries.values())?;
        Ok(Map { entries: Arc::new(entries), depth, type_name: None })
    }

    /// The name of its type, if it stands for a structure: such a map has no other fields than its entries.
    pub fn structure(&self) -> Option<&str> {
        self.type_name.as_deref()
    }
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::String(text.into())
    }

    /// A list.
    ///
    /// # Errors
    /// The values are nested too deep.
    pub fn list(items: Vec<Value>) -> Result<Value, Failure> {
        let depth = deeper(items.iter())?;
        Ok(Value::List(List { items: items.into(), depth, type_name: None }))
    }

    /// A list of texts.
    ///
    /// # Errors
    /// Never: the values are not nested.
    pub fn texts<T: Into<Arc<str>>>(items: impl IntoIterator<Item = T>) -> Result<Value, Failure> {
        Value::list(items.into_iter().map(Value::text).collect())
    }

    /// A map.
    ///
    /// # Errors
    /// The values are nested too deep.
    pub fn map(entries: BTreeMap<Arc<str>, Value>) -> Result<Value, Failure> {
        Ok(Value::Map(Map::new(entries)?))
    }

    /// An object.
    pub fn object(object: Object) -> Value {
        Value::Object(Arc::new(object))
    }

    /// The value with a type name of its own. A map becomes a structure. Values other than maps and lists stay as they
    /// are.
    #[must_use]
    pub fn with_type_name(mut self, name: &str) -> Value {
        if let Value::List(List { type_name, .. }) | Value::Map(Map { type_name, .. }) = &mut self {
            *type_name = Some(name.into());
        }
        self
    }

    /// The name of its type in errors of fields that it does not have.
    pub(crate) fn own_type_name(&self) -> &str {
        match self {
            Value::List(List { type_name: Some(name), .. }) | Value::Map(Map { type_name: Some(name), .. }) => name,
            other => other.type_name(),
        }
    }

    fn depth(&self) -> usize {
        match self {
            Value::List(list) => list.depth,
            Value::Map(map) => map.depth,
            Value::Object(object) => {
                let own = object.fields.values().map(Value::depth).max().unwrap_or(0);
                own.max(object.entries.as_ref().map_or(0, |m| m.depth)) + 1
            }
            _ => 0,
        }
    }

    /// A value of JSON.
    ///
    /// # Errors
    /// The values are nested too deep.
    pub fn from_json(json: &serde_json::Value) -> Result<Value, Failure> {
        use serde_json::Value as Json;
        Ok(match json {
            Json::Null => Value::Nil,
            Json::Bool(b) => Value::Bool(*b),
            Json::Number(n) => n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap_or(0.0)), Value::Int),
            Json::String(s) => Value::text(s.as_str()),
            Json::Array(items) => Value::list(items.iter().map(Value::from_json).collect::<Result<_, _>>()?)?,
            Json::Object(map) => {
                let entry = |(k, v): (&String, &Json)| Ok((Arc::from(k.as_str()), Value::from_json(v)?));
                Value::map(map.iter().map(entry).collect::<Result<_, Failure>>()?)?
            }
        })
    }

    /// The bytes it takes, without what it shares with others.
    pub(crate) fn size(&self) -> usize {
        let each = size_of::<Value>();
        match self {
            Value::String(s) => each + s.len(),
            Value::List(list) => each * (1 + list.items.len()),
            Value::Map(map) => each + map.entries.keys().map(|k| k.len() + 2 * each).sum::<usize>(),
            _ => each,
        }
    }

    /// What a pipeline gives: a null entry becomes no value.
    pub(crate) fn piped(self) -> Value {
        if self == Value::Nil { Value::Missing } else { self }
    }

    /// Whether it is null or missing.
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Missing | Value::Nil | Value::TypedNil)
    }

    /// Whether it is printed as no value.
    pub(crate) fn is_no_value(&self) -> bool {
        matches!(self, Value::Missing | Value::Nil)
    }

    /// Whether a condition with it holds: it is neither missing, nor zero, nor empty.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Missing | Value::Nil | Value::TypedNil => false,
            Value::Bool(b) => *b,
            Value::Int(n) => *n != 0,
            Value::Float(n) => *n != 0.0,
            Value::String(s) => !s.is_empty(),
            Value::List(list) => !list.items.is_empty(),
            Value::Map(map) => !map.entries.is_empty(),
            Value::Object(object) => match (&object.entries, &object.text) {
                (Some(map), _) => !map.entries.is_empty(),
                (None, Some(text)) => !text.is_empty(),
                (None, None) => true,
            },
            Value::Time(_) | Value::Scratch => true,
        }
    }

    /// The name of its type, as Go has it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Missing | Value::Nil | Value::TypedNil => "nil",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float64",
            Value::String(_) => "string",
            Value::List(_) => "[]interface {}",
            Value::Map(_) => "map[string]interface {}",
            Value::Object(object) => object.type_name,
            Value::Time(_) => "time.Time",
            Value::Scratch => "scratch",
        }
    }

    /// Its text, if it is one or stands for one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            Value::Object(object) => object.text.as_deref(),
            _ => None,
        }
    }

    /// Its entries by name, if it has some.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            Value::Object(object) => object.entries.as_ref(),
            _ => None,
        }
    }
}

//! Values of expressions (`docs/spec/jobspec.md §3`).
//!
//! Composite values are shared, so cloning is cheap however large a value is. A few lines of a job file can build a
//! value whose written-out form is exponentially large (`[local.a, local.a]`, again and again); composites therefore
//! know their written-out size and nesting, and the constructors refuse what is beyond [`MAX_NODES`], [`MAX_BYTES`] or
//! [`MAX_DEPTH`]. Every walk over a value is bounded by these.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use super::number::Number;
use super::types::Type;

/// Most values a composite may hold, counted through all levels.
pub(crate) const MAX_NODES: usize = 1 << 18;
/// Values that a map or object counts as, for what it takes of memory beside its entries.
const MAPPING_NODES: usize = 8;
/// Most bytes of text (strings and keys) a value may hold, counted through all levels.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// Deepest nesting of composites.
pub const MAX_DEPTH: usize = 200;

/// The value of an expression.
#[derive(Debug, Clone)]
pub enum Value {
    /// `null`, of whatever type the context asks for.
    Null,
    /// The value of an expression that could not be evaluated; its error has been reported.
    Unknown,
    /// `true` or `false`.
    Bool(bool),
    /// A binary float with a mantissa of up to 512 bits.
    Number(Number),
    /// Text in Unicode normalization form C.
    String(Arc<str>),
    /// Elements of one type, in order.
    List(Arc<Sequence>),
    /// Elements are distinct and sorted.
    Set(Arc<Sequence>),
    /// Values of one type, by key.
    Map(Arc<Mapping>),
    /// Elements of any types, in order.
    Tuple(Arc<Sequence>),
    /// Values of any types, by attribute name.
    Object(Arc<Mapping>),
}

/// Keys and values of a map or an object, by key.
pub type Entries = BTreeMap<Arc<str>, Value>;

/// The elements of a list, set or tuple.
#[derive(Debug)]
pub struct Sequence {
    ty: Type,
    extent: Extent,
    items: Vec<Value>,
}

/// The elements of a map, the attributes of an object.
#[derive(Debug)]
pub struct Mapping {
    ty: Type,
    extent: Extent,
    entries: Entries,
}

/// Written-out size of a value.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    nodes: usize,
    bytes: usize,
    depth: usize,
    unknown: bool,
}

impl Extent {
    fn include(&mut self, other: Extent) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.depth = self.depth.max(other.depth);
        self.unknown |= other.unknown;
    }

    /// The extent of a composite that counts as `own` values with these parts, if it is within the limits.
    fn of(own: usize, parts: impl Iterator<Item = Extent>) -> Result<Extent, ValueTooLarge> {
        let mut extent = Extent { nodes: own, ..Extent::default() };
        parts.for_each(|part| extent.include(part));
        extent.depth += 1;
        match extent {
            Extent { nodes, .. } if nodes > MAX_NODES => Err(ValueTooLarge::Nodes),
            Extent { bytes, .. } if bytes > MAX_BYTES => Err(ValueTooLarge::Bytes),
            Extent { depth, .. } if depth > MAX_DEPTH => Err(ValueTooLarge::Depth),
            extent => Ok(extent),
        }
    }
}

/// A value is beyond the limits of this implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueTooLarge {
    /// More than `MAX_NODES` values, counted through all levels.
    #[error("the value has more than {MAX_NODES} elements")]
    Nodes,
    /// More than `MAX_BYTES` bytes of text, counted through all levels.
    #[error("the value has more than {MAX_BYTES} bytes of text")]
    Bytes,
    /// More than `MAX_DEPTH` levels of composites.
    #[error("the value is nested more than {MAX_DEPTH} levels deep")]
    Depth,
}

impl Sequence {
    /// The elements in order.
    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

impl Mapping {
    /// The elements by key.
    pub fn entries(&self) -> &Entries {
        &self.entries
    }
}

impl Value {
    /// A string, if it is not too long. Strings are in Unicode normal form C, as Nomad keeps them.
    pub fn string(text: impl Into<Arc<str>>) -> Result<Value, ValueTooLarge> {
        let text = normal_form(text.into());
        if text.len() > MAX_BYTES { Err(ValueTooLarge::Bytes) } else { Ok(Value::String(text)) }
    }

    /// A tuple: elements of any types.
    pub fn tuple(items: Vec<Value>) -> Result<Value, ValueTooLarge> {
        let ty = Type::Tuple(items.iter().map(Value::ty).collect());
        Ok(Value::Tuple(Arc::new(Sequence { ty, extent: Extent::of(1, items.iter().map(Value::extent))?, items })))
    }

    /// A list; the items have the element type already.
    pub fn list(element: Type, items: Vec<Value>) -> Result<Value, ValueTooLarge> {
        let extent = Extent::of(1, items.iter().map(Value::extent))?;
        Ok(Value::List(Arc::new(Sequence { ty: Type::list(element), extent, items })))
    }

    /// A set of the items, which have the element type already: sorted, duplicates dropped.
    pub fn set(element: Type, mut items: Vec<Value>) -> Result<Value, ValueTooLarge> {
        let extent = Extent::of(1, items.iter().map(Value::extent))?;
        items.sort_by(Value::total_order);
        items.dedup_by(|a, b| a.total_order(b) == Ordering::Equal);
        Ok(Value::Set(Arc::new(Sequence { ty: Type::set(element), extent, items })))
    }

    /// A map; the values have the element type already.
    pub fn map(element: Type, entries: Entries) -> Result<Value, ValueTooLarge> {
        let extent = Value::entries_extent(&entries)?;
        Ok(Value::Map(Arc::new(Mapping { ty: Type::map(element), extent, entries })))
    }

    /// An object: attributes of any types.
    pub fn object(entries: Entries) -> Result<Value, ValueTooLarge> {
        let extent = Value::entries_extent(&entries)?;
        let ty = Type::Object(Arc::new(entries.iter().map(|(name, value)| (name.clone(), value.ty())).collect()));
        Ok(Value::Object(Arc::new(Mapping { ty, extent, entries })))
    }

    fn entries_extent(entries: &Entries) -> Result<Extent, ValueTooLarge> {
        let keys = entries.keys().map(|key| Extent { bytes: key.len(), ..Extent::default() });
        Extent::of(MAPPING_NODES, keys.chain(entries.values().map(Value::extent)))
    }

    fn extent(&self) -> Extent {
        match self {
            Value::List(inner) | Value::Set(inner) | Value::Tuple(inner) => inner.extent,
            Value::Map(inner) | Value::Object(inner) => inner.extent,
            Value::String(text) => Extent { nodes: 1, bytes: text.len(), ..Extent::default() },
            Value::Unknown => Extent { nodes: 1, unknown: true, ..Extent::default() },
            Value::Number(number) => Extent { nodes: 1, bytes: number.text_size(), ..Extent::default() },
            Value::Null | Value::Bool(_) => Extent { nodes: 1, ..Extent::default() },
        }
    }

    /// The type; `Any` for null and unknown values.
    pub fn ty(&self) -> Type {
        match self {
            Value::Null | Value::Unknown => Type::Any,
            Value::Bool(_) => Type::Bool,
            Value::Number(_) => Type::Number,
            Value::String(_) => Type::String,
            Value::List(inner) | Value::Set(inner) | Value::Tuple(inner) => inner.ty.clone(),
            Value::Map(inner) | Value::Object(inner) => inner.ty.clone(),
        }
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether neither the value nor any part of it is unknown.
    pub fn is_wholly_known(&self) -> bool {
        !self.extent().unknown
    }

    /// How many values this is, counted through all levels: what walking over it costs.
    pub fn nodes(&self) -> usize {
        self.extent().nodes
    }

    /// Bytes of text (strings, keys, digits of numbers), counted through all levels.
    pub fn bytes(&self) -> usize {
        self.extent().bytes
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The elements of a list, set or tuple.
    pub fn items(&self) -> Option<&[Value]> {
        match self {
            Value::List(inner) | Value::Set(inner) | Value::Tuple(inner) => Some(&inner.items),
            _ => None,
        }
    }

    /// The elements of a map, the attributes of an object.
    pub fn entries(&self) -> Option<&Entries> {
        match self {
            Value::Map(inner) | Value::Object(inner) => Some(&inner.entries),
            _ => None,
        }
    }

    /// Keys and values as `for` and `for_each` see them: index numbers for lists and tuples, the element itself for
    /// sets. `None` for values that are not collections.
    pub(crate) fn key_values(&self) -> Option<Vec<(Value, Value)>> {
        match self {
            Value::Set(inner) => Some(inner.items.iter().map(|item| (item.clone(), item.clone())).collect()),
            Value::List(inner) | Value::Tuple(inner) => Some(
                inner
                    .items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| (Value::Number(Number::from(index)), item.clone()))
                    .collect(),
            ),
            Value::Map(inner) | Value::Object(inner) => {
                Some(inner.entries.iter().map(|(key, value)| (Value::String(key.clone()), value.clone())).collect())
            }
            _ => None,
        }
    }

    /// Whether type and value are the same (`==`): `1 == "1"` and `[1] == list(1)` are false.
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::Set(a), Value::Set(b)) => {
                Arc::ptr_eq(a, b) || a.ty == b.ty && Value::all_equal(&a.items, &b.items)
            }
            (Value::Tuple(a), Value::Tuple(b)) => Arc::ptr_eq(a, b) || Value::all_equal(&a.items, &b.items),
            (Value::Map(a), Value::Map(b)) => {
                Arc::ptr_eq(a, b) || a.ty == b.ty && Value::all_entries_equal(&a.entries, &b.entries)
            }
            (Value::Object(a), Value::Object(b)) => {
                Arc::ptr_eq(a, b) || Value::all_entries_equal(&a.entries, &b.entries)
            }
            _ => false,
        }
    }

    fn all_equal(a: &[Value], b: &[Value]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
    }

    fn all_entries_equal(a: &Entries, b: &Entries) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|((ka, va), (kb, vb))| ka == kb && va.equals(vb))
    }

    /// The order of set elements: `false` before `true`, numbers by value, strings bytewise, null and unknown last;
    /// composites element by element.
    pub(crate) fn total_order(&self, other: &Value) -> Ordering {
        let rank = |value: &Value| match value {
            Value::Bool(_) => 0,
            Value::Number(_) => 1,
            Value::String(_) => 2,
            Value::List(_) | Value::Set(_) | Value::Tuple(_) => 3,
            Value::Map(_) | Value::Object(_) => 4,
            Value::Null => 5,
            Value::Unknown => 6,
        };
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => a.cmp(b),
            (Value::String(a), Value::String(b)) => a.cmp(b),
            _ => match (self.items(), other.items(), self.entries(), other.entries()) {
                (Some(a), Some(b), _, _) => Value::lexical(a.iter(), b.iter(), |a, b| a.total_order(b)),
                (_, _, Some(a), Some(b)) => {
                    Value::lexical(a.iter(), b.iter(), |a, b| a.0.cmp(b.0).then_with(|| a.1.total_order(b.1)))
                }
                _ => rank(self).cmp(&rank(other)),
            },
        }
    }

    fn lexical<T>(
        mut a: impl Iterator<Item = T>,
        mut b: impl Iterator<Item = T>,
        compare: impl Fn(T, T) -> Ordering,
    ) -> Ordering {
        loop {
            match (a.next(), b.next()) {
                (None, None) => return Ordering::Equal,
                (None, _) => return Ordering::Less,
                (_, None) => return Ordering::Greater,
                (Some(x), Some(y)) => match compare(x, y) {
                    Ordering::Equal => {}
                    different => return different,
                },
            }
        }
    }
}

/// The text in Unicode normal form C.
fn normal_form(text: Arc<str>) -> Arc<str> {
    if text.is_ascii() || unicode_normalization::is_nfc(&text) { text } else { text.nfc().collect::<String>().into() }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Value {
        Value::Number(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Number(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::String(normal_form(value.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_needs_equal_types() {
        let tuple = Value::tuple(vec![1.into()]).unwrap();
        let list = Value::list(Type::Number, vec![1.into()]).unwrap();
        assert!(!tuple.equals(&list));
        assert!(!Value::from(1).equals(&"1".into()));
        assert!(tuple.equals(&Value::tuple(vec![Number::parse("1.0").unwrap().into()]).unwrap()));
        assert!(Value::Null.equals(&Value::Null));
        assert!(!Value::Null.equals(&"".into()));
        let empty = |ty| Value::list(ty, Vec::new()).unwrap();
        assert!(!empty(Type::String).equals(&empty(Type::Number)));
    }

    #[test]
    fn sets_are_sorted_and_distinct() {
        let set = Value::set(Type::Number, [3, 1, 2, 1].map(Value::from).to_vec()).unwrap();
        let numbers: Vec<String> = set.items().unwrap().iter().map(|v| v.as_number().unwrap().to_string()).collect();
        assert_eq!(numbers, ["1", "2", "3"]);
    }

    #[test]
    fn doubling_ends_in_an_error() {
        let mut value = Value::from("x");
        let mut error = None;
        for _ in 0..100 {
            match Value::tuple(vec![value.clone(), value.clone()]) {
                Ok(next) => value = next,
                Err(refused) => {
                    error = Some(refused);
                    break;
                }
            }
        }
        assert_eq!(error, Some(ValueTooLarge::Nodes));
        let mut nested = Value::from("x");
        for _ in 0..MAX_DEPTH {
            nested = Value::tuple(vec![nested]).unwrap();
        }
        assert_eq!(Value::tuple(vec![nested]).unwrap_err(), ValueTooLarge::Depth);
        assert_eq!(Value::string("x".repeat(MAX_BYTES + 1)).unwrap_err(), ValueTooLarge::Bytes);
    }

    #[test]
    fn unknown_parts_are_seen() {
        let inner = Value::tuple(vec![Value::Unknown]).unwrap();
        assert!(!Value::tuple(vec![inner]).unwrap().is_wholly_known());
        assert!(Value::tuple(vec![Value::Null]).unwrap().is_wholly_known());
    }
}

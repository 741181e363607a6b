//! The semantics of filter expressions.

use std::borrow::Cow;

use serde_json::Value;

use super::parse::{Expr, Names, Op, Pattern, PatternError, Selector};
use super::schema::{self, ObjectType, Type};
use crate::request::params::{LiteralError, Parser, parse_bool, parse_int, parse_uint};
use encamp_model::duration::parse_duration;
use encamp_model::quoted;

const TEXT: Type = Type::Text;
const INT: Type = Type::Int;

/// A value with its type. Only what quantifiers make up is owned: keys and positions.
#[derive(Debug, Clone)]
struct Datum<'a> {
    value: Cow<'a, Value>,
    ty: Kind<'a>,
}

/// A type, or the fields of the object itself.
#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    Root(&'a ObjectType),
    Of(&'a Type),
}

enum Found<'a> {
    Datum(Datum<'a>),
    /// The last step named a key that a map does not have.
    MissingKey,
}

const NULL: &Value = &Value::Null;

/// Why an expression can't be evaluated for an object. The texts are those of Nomad.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// A selector leads nowhere.
    #[error("error finding value in datum: {path} at part {part}: {problem}")]
    Find {
        /// The selector as a JSON pointer.
        path: String,
        /// The number of the step that fails, from 0.
        part: usize,
        /// Why it fails.
        problem: FindProblem,
    },
    /// A quantifier over something that has no elements.
    #[error("{0} is not a list or a map")]
    NotIterable(String),
    /// The type of the value does not have the operation.
    #[error("cannot perform {operation} operations on type {kind} for selector: {}", quoted(selector))]
    Operation {
        /// The operation, as `is-empty`.
        operation: &'static str,
        /// The type of the value.
        kind: &'static str,
        /// The selector as it was written.
        selector: String,
    },
    /// Values of the type can't be compared.
    #[error("unable to find suitable primitive comparison function for matching")]
    NotComparable,
    /// The value to compare with is none of the type.
    #[error("error getting match value in expression: {0}")]
    Value(#[from] LiteralError),
    /// The regular expression does not compile.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

/// Why a step of a selector fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindProblem {
    /// The object has no such field.
    #[error("couldn't find key: struct field with name {}", quoted(.0))]
    NoField(String),
    /// The map has no such key.
    #[error("couldn't find key {}", quoted(.0))]
    NoKey(String),
    /// The list is shorter.
    #[error("index {index} is out of range (length = {length})")]
    OutOfRange {
        /// The position asked for.
        index: usize,
        /// How many elements the list has.
        length: usize,
    },
    /// The step is no position of a list.
    #[error("invalid index {}", quoted(.0))]
    NoIndex(String),
    /// A value of the type has no parts.
    #[error("invalid value kind: {0}")]
    NoParts(&'static str),
}

/// Whether an object matches.
pub(crate) fn matches(expr: &Expr, value: &Value, ty: &'static ObjectType) -> Result<bool, MatchError> {
    let root = Datum { value: Cow::Borrowed(value), ty: Kind::Root(ty) };
    Scope { root, names: Vec::new() }.matches(expr)
}

struct Scope<'a> {
    root: Datum<'a>,
    /// The names that quantifiers have bound; the innermost last.
    names: Vec<(String, Datum<'a>)>,
}

impl<'a> Scope<'a> {
    fn matches(&mut self, expr: &Expr) -> Result<bool, MatchError> {
        match expr {
            Expr::Or(a, b) => Ok(self.matches(a)? || self.matches(b)?),
            Expr::And(a, b) => Ok(self.matches(a)? && self.matches(b)?),
            Expr::Not(e) => Ok(!self.matches(e)?),
            Expr::Quantifier { all, selector, names, inner } => self.quantified(*all, selector, names, inner),
            Expr::Match { selector, op } => match self.find(selector)? {
                Found::Datum(d) => judge(&d, selector, op),
                Found::MissingKey => {
                    Ok(matches!(op, Op::NotEqual(_) | Op::NotIn(_) | Op::NotMatches(_) | Op::Empty | Op::Nil))
                }
            },
        }
    }

    fn quantified(&mut self, all: bool, selector: &Selector, names: &Names, inner: &Expr) -> Result<bool, MatchError> {
        let over = match self.find(selector)? {
            Found::MissingKey => return Ok(all),
            Found::Datum(d) => d,
        };
        let over_type = real(&over);
        let value: &'a Value = borrowed(&over);
        let rows: Vec<(Datum<'a>, Datum<'a>)> = match (value, over_type) {
            (Value::Array(items), Real::List(ty)) => {
                let index = |i: usize| Datum { value: Cow::Owned(Value::from(i)), ty: Kind::Of(&INT) };
                items.iter().enumerate().map(|(i, v)| (index(i), datum(v, ty))).collect()
            }
            (Value::Object(map), Real::Map(ty)) => {
                let key = |k: &str| Datum { value: Cow::Owned(Value::from(k)), ty: Kind::Of(&TEXT) };
                map.iter().map(|(k, v)| (key(k), datum(v, ty))).collect()
            }
            (_, Real::List(_) | Real::Map(_)) => Vec::new(),
            _ => return Err(MatchError::NotIterable(selector.text.clone())),
        };
        let of_map = matches!(over_type, Real::Map(_));
        for (key, value) in rows {
            let depth = self.names.len();
            match names {
                Names::One(n) => self.names.push((n.clone(), if of_map { key } else { value })),
                Names::Two(first, second) => {
                    let named = [(first, key), (second, value)];
                    self.names.extend(named.into_iter().filter_map(|(n, d)| n.clone().map(|n| (n, d))));
                }
            }
            let matched = self.matches(inner);
            self.names.truncate(depth);
            if matched? != all {
                return Ok(!all);
            }
        }
        Ok(all)
    }

    fn find(&self, selector: &Selector) -> Result<Found<'a>, MatchError> {
        let first = selector.path.first().filter(|_| !selector.pointer);
        let named = first.and_then(|f| self.names.iter().rev().find(|(n, _)| n == f));
        let (mut at, skipped) = match named {
            Some((_, d)) => (d.clone(), 1),
            None => (self.root.clone(), 0),
        };
        let steps = selector.path.get(skipped..).unwrap_or_default();
        let pointer =
            || steps.iter().map(|s| format!("/{}", s.replace('~', "~0").replace('/', "~1"))).collect::<String>();
        for (i, step) in steps.iter().enumerate() {
            let fail = |problem| Err(MatchError::Find { path: pointer(), part: i, problem });
            let value = borrowed(&at);
            let next = match real(&at) {
                Real::Object(ty) => match ty.field(step) {
                    Some(t) => datum(value.get(step).unwrap_or(NULL), t),
                    None => return fail(FindProblem::NoField(step.clone())),
                },
                Real::Map(t) => match value.get(step) {
                    Some(v) => datum(v, t),
                    None if i + 1 == steps.len() => return Ok(Found::MissingKey),
                    None => return fail(FindProblem::NoKey(step.clone())),
                },
                Real::List(t) => {
                    let length = value.as_array().map_or(0, Vec::len);
                    match step.parse::<usize>() {
                        Ok(index) => match value.get(index) {
                            Some(v) => datum(v, t),
                            None => return fail(FindProblem::OutOfRange { index, length }),
                        },
                        Err(_) => return fail(FindProblem::NoIndex(step.clone())),
                    }
                }
                other => return fail(FindProblem::NoParts(other.name())),
            };
            at = next;
        }
        Ok(Found::Datum(at))
    }
}

/// The JSON value of a datum that has parts.
fn borrowed<'a>(d: &Datum<'a>) -> &'a Value {
    match &d.value {
        Cow::Borrowed(v) => v,
        Cow::Owned(_) => NULL,
    }
}

fn datum<'a>(value: &'a Value, ty: &'a Type) -> Datum<'a> {
    Datum { value: Cow::Borrowed(value), ty: Kind::Of(ty) }
}

/// A type behind its pointers.
#[derive(Clone, Copy)]
enum Real<'a> {
    Object(&'a ObjectType),
    Time,
    Map(&'a Type),
    List(&'a Type),
    Bytes,
    Text,
    Bool,
    Int,
    Uint,
    Float,
    /// A pointer to nothing.
    Nil,
}

impl Real<'_> {
    fn name(self) -> &'static str {
        match self {
            Real::Object(_) => "struct",
            Real::Time => "time.Time",
            Real::Map(_) => "map",
            Real::List(_) => "slice",
            Real::Bytes => "[]uint8",
            Real::Text => "string",
            Real::Bool => "bool",
            Real::Int => "int",
            Real::Uint => "uint64",
            Real::Float => "float64",
            Real::Nil => "ptr",
        }
    }
}

const ANY: &Type = &Type::Any;

fn real<'a>(d: &Datum<'a>) -> Real<'a> {
    let mut ty = match d.ty {
        Kind::Root(o) => return Real::Object(o),
        Kind::Of(ty) => ty,
    };
    while let Type::Pointer(inner) = ty {
        if d.value.is_null() {
            return Real::Nil;
        }
        ty = inner;
    }
    match ty {
        Type::Text => Real::Text,
        Type::Bool => Real::Bool,
        Type::Int => Real::Int,
        Type::Uint => Real::Uint,
        Type::Float => Real::Float,
        Type::Bytes => Real::Bytes,
        Type::Time => Real::Time,
        Type::List(t) => Real::List(t),
        Type::Map(t) => Real::Map(t),
        Type::Object(name) => Real::Object(schema::object(name)),
        Type::Any => match &*d.value {
            Value::Null => Real::Nil,
            Value::Bool(_) => Real::Bool,
            Value::Number(_) => Real::Float,
            Value::String(_) => Real::Text,
            Value::Array(_) => Real::List(ANY),
            Value::Object(_) => Real::Map(ANY),
        },
        Type::Pointer(_) => Real::Nil,
    }
}

fn judge(d: &Datum<'_>, selector: &Selector, op: &Op) -> Result<bool, MatchError> {
    match op {
        Op::Equal(v) => equal(d, v),
        Op::NotEqual(v) => equal(d, v).map(|e| !e),
        Op::In(v) => contains(d, selector, v),
        Op::NotIn(v) => contains(d, selector, v).map(|c| !c),
        Op::Matches(p) => searched(d, selector, p),
        Op::NotMatches(p) => searched(d, selector, p).map(|m| !m),
        Op::Empty => empty(d, selector),
        Op::NotEmpty => empty(d, selector).map(|e| !e),
        Op::Nil => nil(d, selector),
        Op::NotNil => nil(d, selector).map(|n| !n),
    }
}

fn refuse<T>(operation: &'static str, d: &Datum<'_>, selector: &Selector) -> Result<T, MatchError> {
    Err(MatchError::Operation { operation, kind: real(d).name(), selector: selector.text.clone() })
}

/// Compares with a value in the words of the type.
fn equal(d: &Datum<'_>, text: &str) -> Result<bool, MatchError> {
    Ok(match real(d) {
        Real::Text => d.value.as_str().unwrap_or_default() == text,
        Real::Bool => d.value.as_bool().unwrap_or_default() == parse_bool(text)?,
        Real::Int => integer(&d.value) == parse_int(text)?,
        Real::Uint => d.value.as_u64().unwrap_or_default() == parse_uint(text)?,
        Real::Float => {
            let parsed = text.parse::<f64>().map_err(|_| LiteralError::syntax(Parser::Float, text))?;
            d.value.as_f64().unwrap_or_default() == parsed
        }
        _ => return Err(MatchError::NotComparable),
    })
}

/// Durations that JSON shows as text are numbers in the store.
fn integer(value: &Value) -> i64 {
    match value {
        Value::String(text) => parse_duration(text).unwrap_or_default(),
        v => v.as_i64().unwrap_or_default(),
    }
}

fn contains(d: &Datum<'_>, selector: &Selector, text: &str) -> Result<bool, MatchError> {
    match (real(d), &*d.value) {
        (Real::Text, v) => Ok(v.as_str().unwrap_or_default().contains(text)),
        (Real::List(ty), v) => {
            let mut found = false;
            for item in v.as_array().into_iter().flatten() {
                found |= equal(&datum(item, ty), text)?;
            }
            Ok(found)
        }
        (Real::Map(_), v) => Ok(v.get(text).is_some()),
        _ => refuse("in/contains", d, selector),
    }
}

fn empty(d: &Datum<'_>, selector: &Selector) -> Result<bool, MatchError> {
    match (real(d), &*d.value) {
        (Real::Text | Real::Bytes, v) => Ok(v.as_str().unwrap_or_default().is_empty()),
        (Real::List(_), v) => Ok(v.as_array().is_none_or(Vec::is_empty)),
        (Real::Map(_), v) => Ok(v.as_object().is_none_or(serde_json::Map::is_empty)),
        _ => refuse("is-empty", d, selector),
    }
}

fn nil(d: &Datum<'_>, selector: &Selector) -> Result<bool, MatchError> {
    match real(d) {
        Real::Nil => Ok(true),
        Real::List(_) | Real::Map(_) | Real::Bytes => Ok(d.value.is_null()),
        Real::Object(_) | Real::Time => Ok(false),
        _ if matches!(d.ty, Kind::Of(Type::Pointer(_))) => Ok(false),
        _ => refuse("is-nil", d, selector),
    }
}

fn searched(d: &Datum<'_>, selector: &Selector, pattern: &Pattern) -> Result<bool, MatchError> {
    let regex = pattern.0.as_ref().map_err(Clone::clone)?;
    match real(d) {
        Real::Text => Ok(regex.is_match(d.value.as_str().unwrap_or_default())),
        Real::Bytes => {
            let bytes = encamp_model::Bytes::from_base64(d.value.as_str().unwrap_or_default()).unwrap_or_default();
            Ok(regex.is_match(&String::from_utf8_lossy(&bytes.0)))
        }
        _ => refuse("matches", d, selector),
    }
}

//! Comparisons.

use std::cmp::Ordering;

use super::{Args, Function, any, exactly};
use crate::error::Failure;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    any("eq", 1, |_, a| {
        let Some((first, others)) = a.split_first() else { return Ok(Value::Bool(false)) };
        if others.is_empty() {
            return Err(Failure::new("missing argument for comparison"));
        }
        for other in others {
            if equal(first, other)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }),
    exactly("ne", 2, |_, a| Ok(Value::Bool(!equal(a.at(0), a.at(1))?))),
    exactly("lt", 2, |_, a| Ok(Value::Bool(ordered(a)? == Some(Ordering::Less)))),
    exactly("le", 2, |_, a| Ok(Value::Bool(matches!(ordered(a)?, Some(Ordering::Less | Ordering::Equal))))),
    // As Go has it: what is not less or equal is greater, also where no order exists.
    exactly("gt", 2, |_, a| Ok(Value::Bool(!matches!(ordered(a)?, Some(Ordering::Less | Ordering::Equal))))),
    exactly("ge", 2, |_, a| Ok(Value::Bool(ordered(a)? != Some(Ordering::Less)))),
];

const INCOMPATIBLE: &str = "incompatible types for comparison";

/// Whether two values are equal, of which lists and maps cannot be compared.
pub(super) fn equal(a: &Value, b: &Value) -> Result<bool, Failure> {
    use Value as V;
    Ok(match (a, b) {
        (V::Missing | V::Nil | V::TypedNil, _) => b.is_nil(),
        (_, V::Missing | V::Nil | V::TypedNil) => false,
        (V::Bool(a), V::Bool(b)) => a == b,
        (V::Int(a), V::Int(b)) => a == b,
        (V::Float(a), V::Float(b)) => a == b,
        (V::Time(a), V::Time(b)) => a == b,
        (V::Scratch, V::Scratch) => true,
        _ => match (a.as_text(), b.as_text()) {
            (Some(a), Some(b)) => a == b,
            _ if basic(a) || basic(b) => return Err(Failure::new(INCOMPATIBLE)),
            _ => return Err(Failure::new(format!("non-comparable type {}", a.type_name()))),
        },
    })
}

fn basic(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Int(_) | Value::Float(_)) || value.as_text().is_some()
}

fn ordered(args: &[Value]) -> Result<Option<Ordering>, Failure> {
    use Value as V;
    match (args.at(0), args.at(1)) {
        (V::Int(a), V::Int(b)) => Ok(Some(a.cmp(b))),
        (V::Float(a), V::Float(b)) => Ok(a.partial_cmp(b)),
        (V::Time(a), V::Time(b)) => Ok(Some(a.cmp(b))),
        (a, b) => match (a.as_text(), b.as_text()) {
            (Some(a), Some(b)) => Ok(Some(a.cmp(b))),
            _ if basic(a) && basic(b) && a.type_name() != b.type_name() => Err(Failure::new(INCOMPATIBLE)),
            _ => Err(Failure::new("invalid type for comparison")),
        },
    }
}

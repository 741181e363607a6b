//! Helpers for numbers. The arguments stand in the order of a pipeline: `{{ 5 | subtract 2 }}` is 3.

use super::{Args, Function, exactly};
use crate::error::Failure;
use crate::value::Value;
use encamp_model::parse_bool;

pub(super) const FUNCTIONS: &[Function] = &[
    exactly("add", 2, |_, a| two(a, i64::checked_add, |x, y| x + y)),
    exactly("subtract", 2, |_, a| two(a, i64::checked_sub, |x, y| x - y)),
    exactly("multiply", 2, |_, a| two(a, i64::checked_mul, |x, y| x * y)),
    exactly("divide", 2, |_, a| two(a, i64::checked_div, |x, y| x / y)),
    exactly("modulo", 2, |_, a| match (a.at(1), a.at(0)) {
        (Value::Int(x), Value::Int(y)) => {
            x.checked_rem(*y).map(Value::Int).ok_or_else(|| Failure::new("division by zero, or an overflow"))
        }
        (Value::Int(_), other) | (other, _) => Err(super::wrong(other, "int")),
    }),
    exactly("minimum", 2, |_, a| two(a, |x, y| Some(x.min(y)), f64::min)),
    exactly("maximum", 2, |_, a| two(a, |x, y| Some(x.max(y)), f64::max)),
    exactly("parseBool", 1, |_, a| match a.text(0)? {
        "" => Ok(Value::Bool(false)),
        text => parse_bool(text).map(Value::Bool).ok_or_else(|| Failure::new("the text is no boolean")),
    }),
    exactly("parseFloat", 1, |_, a| match a.text(0)? {
        "" => Ok(Value::Float(0.0)),
        text => text.parse().map(Value::Float).map_err(|_| Failure::new("the text is no number")),
    }),
    exactly("parseInt", 1, |_, a| match a.text(0)? {
        "" => Ok(Value::Int(0)),
        text => text.parse().map(Value::Int).map_err(|_| Failure::new("the text is no integer")),
    }),
    exactly("parseUint", 1, |_, a| match a.text(0)? {
        "" => Ok(Value::Int(0)),
        text => {
            let number = text.parse::<u64>().ok().and_then(|n| i64::try_from(n).ok());
            number.map(Value::Int).ok_or_else(|| Failure::new("the text is no integer from 0 on"))
        }
    }),
];

/// The second argument, and then the first one, in an operation of integers or floats.
fn two(args: &[Value], integers: fn(i64, i64) -> Option<i64>, floats: fn(f64, f64) -> f64) -> Result<Value, Failure> {
    match (args.at(1), args.at(0)) {
        (Value::Int(x), Value::Int(y)) => {
            integers(*x, *y).map(Value::Int).ok_or_else(|| Failure::new("division by zero, or an overflow"))
        }
        (x, y) => Ok(Value::Float(floats(float(x)?, float(y)?))),
    }
}

pub(super) fn float(value: &Value) -> Result<f64, Failure> {
    match value {
        Value::Int(n) => Ok(*n as f64),
        Value::Float(f) => Ok(*f),
        other => Err(super::wrong(other, "a number")),
    }
}

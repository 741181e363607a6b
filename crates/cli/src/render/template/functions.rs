//! The functions of templates, and how values print.

use std::cmp::Ordering;

use serde_json::Value;

use super::Maybe;
use super::error::{CallError, EvaluationError};
use encamp_model::{float_text, quoted};

const NAMES: &[&str] =
    &["and", "eq", "ge", "gt", "index", "le", "len", "lt", "ne", "not", "or", "print", "printf", "println"];

pub(super) fn is_function(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Whether a value counts as true: it is not false, zero, null or empty.
pub(super) fn truth(value: &Maybe) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(b)) => *b,
        Some(Value::Number(n)) => n.as_f64() != Some(0.0),
        Some(Value::String(s)) => !s.is_empty(),
        Some(Value::Array(a)) => !a.is_empty(),
        Some(Value::Object(o)) => !o.is_empty(),
    }
}

/// A value as text.
pub(super) fn print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => match n.as_f64() {
            Some(f) if n.is_f64() => float_text(f, 21),
            _ => n.to_string(),
        },
        Value::String(s) => s.clone(),
        Value::Array(list) => format!("[{}]", list.iter().map(print).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(k, v)| format!("{k}:{}", print(v))).collect();
            format!("map[{}]", entries.join(" "))
        }
    }
}

/// Calls a function other than `and` and `or`.
pub(super) fn call(name: &str, args: &[Maybe]) -> Result<Maybe, EvaluationError> {
    let fail = |source| EvaluationError::Call { function: name.into(), source };
    let count = |want: usize| match args.len() {
        got if got == want => Ok(()),
        got => Err(EvaluationError::ArgumentCount { function: name.into(), want, got }),
    };
    let value = match name {
        "not" => {
            count(1)?;
            Value::from(!args.first().is_some_and(truth))
        }
        "len" => {
            count(1)?;
            Value::from(match args.first() {
                Some(Some(Value::String(s))) => s.len(),
                Some(Some(Value::Array(a))) => a.len(),
                Some(Some(Value::Object(o))) => o.len(),
                Some(Some(Value::Null)) => 0,
                _ => return Err(fail(CallError::NoLength)),
            })
        }
        "index" => return index(args).map_err(fail),
        "print" => Value::from(spaced(args, false)),
        "println" => Value::from(format!("{}\n", spaced(args, true))),
        "printf" => match args.split_first() {
            Some((Some(Value::String(format)), rest)) => Value::from(printf(format, rest)),
            _ => return Err(fail(CallError::NoFormat)),
        },
        "eq" | "ne" => {
            let Some((first, rest)) = args.split_first().filter(|(_, rest)| !rest.is_empty()) else {
                return Err(fail(CallError::NoComparison));
            };
            let equal = rest.iter().any(|other| compare(first, other) == Some(Ordering::Equal) || first == other);
            Value::from(equal == (name == "eq"))
        }
        _ => {
            count(2)?;
            let order = match args {
                [a, b] => compare(a, b).ok_or_else(|| fail(CallError::Incomparable))?,
                _ => Ordering::Equal,
            };
            Value::from(match name {
                "lt" => order.is_lt(),
                "le" => order.is_le(),
                "gt" => order.is_gt(),
                _ => order.is_ge(),
            })
        }
    };
    Ok(Some(value))
}

fn compare(a: &Maybe, b: &Maybe) -> Option<Ordering> {
    match (a.as_ref()?, b.as_ref()?) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn index(args: &[Maybe]) -> Result<Maybe, CallError> {
    let Some((first, keys)) = args.split_first() else { return Err(CallError::NoIndexed) };
    let mut value = first.clone();
    for key in keys {
        value = match (value, key) {
            (Some(Value::Array(list)), Some(Value::Number(n))) => {
                let found = n.as_u64().and_then(|i| usize::try_from(i).ok()).and_then(|i| list.get(i).cloned());
                Some(found.ok_or_else(|| CallError::OutOfRange(n.clone()))?)
            }
            (Some(Value::Object(map)), Some(Value::String(name))) => map.get(name).cloned(),
            (None | Some(Value::Null), _) => return Err(CallError::IndexOfNil),
            (Some(other), _) => return Err(CallError::NotIndexable(print(&other))),
        };
    }
    Ok(value)
}

/// The values in a row, with spaces between all of them or between those that are both no strings.
fn spaced(args: &[Maybe], always: bool) -> String {
    let mut out = String::new();
    let mut string_before = true;
    for (i, arg) in args.iter().enumerate() {
        let string = matches!(arg, Some(Value::String(_)));
        if i > 0 && (always || !(string || string_before)) {
            out.push(' ');
        }
        out.push_str(&arg.as_ref().map_or("<nil>".into(), print));
        string_before = string;
    }
    out
}

/// The widest padding that a format can ask for.
const MAX_WIDTH: usize = 1000;

fn printf(format: &str, args: &[Maybe]) -> String {
    let mut out = String::new();
    let mut args = args.iter();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut flags = String::new();
        while let Some(c) = chars.next_if(|c| matches!(c, '-' | '+' | '0' | ' ' | '#')) {
            flags.push(c);
        }
        let digits = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| -> Option<usize> {
            let mut text = String::new();
            while let Some(c) = chars.next_if(char::is_ascii_digit) {
                text.push(c);
            }
            text.parse::<usize>().ok().map(|n| n.min(MAX_WIDTH))
        };
        let width = digits(&mut chars).unwrap_or(0);
        let precision = chars.next_if_eq(&'.').map(|_| digits(&mut chars).unwrap_or(0));
        let Some(verb) = chars.next() else {
            out.push_str("%!(NOVERB)");
            break;
        };
        if verb == '%' {
            out.push('%');
            continue;
        }
        let Some(arg) = args.next() else {
            out.push_str(&format!("%!{verb}(MISSING)"));
            continue;
        };
        let text = verb_text(verb, precision, flags.contains('+'), arg.as_ref().unwrap_or(&Value::Null));
        let pad = width.saturating_sub(text.chars().count());
        let zeros = flags.contains('0') && !flags.contains('-') && matches!(verb, 'd' | 'f' | 'x' | 'e' | 'g');
        match (flags.contains('-'), zeros) {
            (true, _) => out.push_str(&format!("{text}{}", " ".repeat(pad))),
            (_, true) => {
                let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+'])));
                out.push_str(&format!("{sign}{}{digits}", "0".repeat(pad)));
            }
            _ => out.push_str(&format!("{}{text}", " ".repeat(pad))),
        }
    }
    let extra: Vec<String> = args.map(|a| a.as_ref().map_or("<nil>".into(), print)).collect();
    if !extra.is_empty() {
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    out
}

fn verb_text(verb: char, precision: Option<usize>, plus: bool, value: &Value) -> String {
    let signed = |text: String| if plus && !text.starts_with('-') { format!("+{text}") } else { text };
    let cut = |text: String| match precision {
        Some(n) => text.chars().take(n).collect(),
        None => text,
    };
    let number = value.as_f64();
    match (verb, value, number) {
        ('v', _, _) => print(value),
        ('s', Value::String(_) | Value::Array(_) | Value::Object(_), _) => cut(print(value)),
        ('q', Value::String(s), _) => quoted(s),
        ('t', Value::Bool(b), _) => b.to_string(),
        ('d', Value::Number(n), _) if !n.is_f64() => signed(n.to_string()),
        ('x', Value::Number(n), _) if !n.is_f64() => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => format!("{n:x}"),
            (_, Some(n)) => format!("-{:x}", n.unsigned_abs()),
            _ => n.to_string(),
        },
        ('x', Value::String(s), _) => s.bytes().map(|b| format!("{b:02x}")).collect(),
        ('f', Value::Number(_), Some(f)) => signed(format!("{f:.*}", precision.unwrap_or(6))),
        ('g', Value::Number(_), Some(f)) => signed(float_text(f, 21)),
        _ => format!("%!{verb}({})", print(value)),
    }
}

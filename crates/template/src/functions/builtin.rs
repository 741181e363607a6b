//! The functions of Go's text/template.

use super::{Args, Function, Short, any, exactly};
use crate::error::Failure;
use crate::eval::Run;
use crate::print::{self, Text};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "and", least: 1, most: None, short: Some(Short::And), call: |_, a| Ok(a.at(0).clone()) },
    Function { name: "or", least: 1, most: None, short: Some(Short::Or), call: |_, a| Ok(a.at(0).clone()) },
    exactly("not", 1, |_, a| Ok(Value::Bool(!a.at(0).is_true()))),
    any("call", 1, |_, _| Err(Failure::new("non-function value"))),
    any("print", 0, |run, a| made(run, |out| print::sprint(a, out))),
    any("println", 0, |run, a| made(run, |out| print::sprintln(a, out))),
    any("printf", 1, |run, a| {
        let Some((_, args)) = a.split_first() else { return Ok(Value::Missing) };
        let format = a.text(0)?;
        made(run, |out| print::sprintf(format, args, out))
    }),
    exactly("len", 1, |_, a| length(a.at(0))),
    any("index", 1, |run, a| {
        let Some((item, indexes)) = a.split_first() else { return Ok(Value::Missing) };
        if item.is_nil() {
            return Err(Failure::new("index of untyped nil"));
        }
        indexes.iter().try_fold(item.clone(), |item, index| one(run, &item, index))
    }),
    any("slice", 1, |run, a| slice(run, a)),
    any("html", 0, |run, a| escaped(run, a, html)),
    any("js", 0, |run, a| escaped(run, a, js)),
    any("urlquery", 0, |run, a| escaped(run, a, urlquery)),
];

fn made(run: &Run<'_>, write: impl FnOnce(&mut Text) -> Result<(), Failure>) -> Result<Value, Failure> {
    let mut out = Text::new(run.limits.output);
    write(&mut out)?;
    Ok(Value::text(out.finish()))
}

fn escaped(run: &Run<'_>, args: &[Value], escape: fn(char, &mut String)) -> Result<Value, Failure> {
    let mut out = Text::new(run.limits.output);
    let shown: Vec<Value> =
        args.iter().map(|v| if v.is_no_value() { Value::text("<no value>") } else { v.clone() }).collect();
    print::sprint(&shown, &mut out)?;
    let plain = out.finish();
    let mut text = String::with_capacity(plain.len());
    plain.chars().for_each(|c| escape(c, &mut text));
    Ok(Value::text(text))
}

fn html(c: char, out: &mut String) {
    match c {
        '\0' => out.push('\u{fffd}'),
        '"' => out.push_str("&#34;"),
        '\'' => out.push_str("&#39;"),
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        _ => out.push(c),
    }
}

fn js(c: char, out: &mut String) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\'' => out.push_str("\\'"),
        '"' => out.push_str("\\\""),
        '<' => out.push_str("\\u003C"),
        '>' => out.push_str("\\u003E"),
        '&' => out.push_str("\\u0026"),
        '=' => out.push_str("\\u003D"),
        '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
        '\u{7f}' => out.push(c),
        _ if c.is_ascii() || print::printable(c) => out.push(c),
        _ => out.push_str(&format!("\\u{:04X}", u32::from(c))),
    }
}

pub(super) fn urlquery(c: char, out: &mut String) {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '~' => out.push(c),
        ' ' => out.push('+'),
        _ => {
            let mut buffer = [0; 4];
            c.encode_utf8(&mut buffer).bytes().for_each(|b| out.push_str(&format!("%{b:02X}")));
        }
    }
}

/// The length of a text, list or map.
pub(super) fn length(value: &Value) -> Result<Value, Failure> {
    let count = match value {
        Value::TypedNil => 0,
        Value::String(s) => s.len(),
        Value::List(list) => list.items().len(),
        other => match (other.as_map(), other.as_text()) {
            (Some(map), _) => map.entries().len(),
            (None, Some(text)) => text.len(),
            (None, None) => return Err(Failure::new(format!("len of type {}", other.type_name()))),
        },
    };
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn out_of_range(run: &Run<'_>, index: &Value) -> Failure {
    match (index, run.values_in_errors) {
        (Value::Int(n), true) => Failure::new(format!("index out of range: {n}")),
        _ => Failure::new("index out of range"),
    }
}

fn position(run: &Run<'_>, index: &Value, most: usize) -> Result<usize, Failure> {
    let Value::Int(n) = index else {
        return Err(Failure::new(format!("cannot index slice/array with type {}", index.type_name())));
    };
    usize::try_from(*n).ok().filter(|n| *n <= most).ok_or_else(|| out_of_range(run, index))
}

fn one(run: &Run<'_>, item: &Value, index: &Value) -> Result<Value, Failure> {
    let out_of_range = || out_of_range(run, index);
    match item {
        Value::Missing | Value::Nil | Value::TypedNil => Err(Failure::new("index of nil pointer")),
        Value::List(list) => {
            let at = position(run, index, list.items().len())?;
            list.items().get(at).cloned().ok_or_else(out_of_range)
        }
        Value::String(s) => {
            let at = position(run, index, s.len())?;
            s.as_bytes().get(at).map(|b| Value::Int(i64::from(*b))).ok_or_else(out_of_range)
        }
        other => {
            let map = other
                .as_map()
                .ok_or_else(|| Failure::new(format!("can't index item of type {}", other.type_name())))?;
            match index {
                Value::String(key) => Ok(map.entries().get(key).cloned().unwrap_or(Value::Nil)),
                _ => Err(Failure::new(format!("value has type {}; should be string", index.type_name()))),
            }
        }
    }
}

fn slice(run: &Run<'_>, args: &[Value]) -> Result<Value, Failure> {
    let item = args.at(0);
    let count = args.len() - 1;
    if item.is_nil() {
        return Err(Failure::new("slice of untyped nil"));
    }
    if count > 3 {
        return Err(Failure::new(format!("too many slice indexes: {count}")));
    }
    let length = match item {
        Value::List(list) => list.items().len(),
        Value::String(_) if count == 3 => return Err(Failure::new("cannot 3-index slice a string")),
        Value::String(s) => s.len(),
        other => return Err(Failure::new(format!("can't slice item of type {}", other.type_name()))),
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(args.iter().skip(1)) {
        *bound = position(run, index, length)?;
    }
    let [from, to, most] = bounds;
    if from > to || to > most {
        return Err(Failure::new("invalid slice index: it ends before it begins"));
    }
    match item {
        Value::List(list) => Value::list(list.items().get(from..to).unwrap_or_default().to_vec()),
        other => {
            let text = other.as_text().and_then(|s| s.get(from..to));
            text.map(Value::text).ok_or_else(|| Failure::new("the slice would cut a character in two"))
        }
    }
}

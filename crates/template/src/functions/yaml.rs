//! YAML as Go's yaml.v2 reads and writes it. Job files have another dialect (`yamldecode` and `yamlencode` of
//! `encamp_hcl`): there `yes` and `on` are booleans, `010` is ten, texts are quoted. Only the structure of documents is the
//! same, which `encamp_yaml` reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_yaml::{Builder, Entries, Fault, Reader, Scalar};

use crate::error::{Bound, Failure};
use crate::eval::Run;
use crate::print::Text;
use crate::value::{MAX_DEPTH, Map, Value};

/// The value of a YAML text. Further documents are not read, as in Go.
pub(super) fn parse(run: &mut Run<'_>, text: &str) -> Result<Value, Failure> {
    if text.trim().is_empty() {
        return Value::map(BTreeMap::new());
    }
    let mut reader = Reader::new(text, Values { run });
    let read = reader.next_document().and_then(|found| if found { reader.document() } else { Ok(Value::Missing) });
    read.map_err(|Refused(failure)| failure)
}

/// Makes values of templates, and counts them.
struct Values<'r, 'a> {
    run: &'r mut Run<'a>,
}

/// Why a text has no value. Faults of the text are reported without their text, which could show a part of the document.
struct Refused(Failure);

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused(failure)
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Refused {
        Refused(match fault {
            Fault::Syntax { line, column, .. } => Failure::new(format!("invalid YAML at line {line}, column {column}")),
            Fault::Depth => Failure::Bound(Bound::Depth),
            Fault::Alias => Failure::new("an alias of YAML names no value before it"),
            Fault::Merge => Failure::new("`<<` of YAML needs a mapping"),
            Fault::Content | Fault::End => Failure::new("the YAML text ends too early"),
        })
    }
}

impl Builder for Values<'_, '_> {
    type Value = Value;
    type Error = Refused;
    const MAX_DEPTH: usize = MAX_DEPTH;

    fn scalar(&mut self, scalar: &Scalar<'_>) -> Result<Value, Refused> {
        let tagged_text = scalar.tag.is_some_and(|t| t.suffix == "str" || t.suffix == "tag:yaml.org,2002:str");
        Ok(if !scalar.plain || tagged_text { Value::text(scalar.text) } else { plain(scalar.text) })
    }

    fn sequence(&mut self, items: Vec<Value>) -> Result<Value, Refused> {
        Ok(Value::list(items)?)
    }

    fn mapping(&mut self, entries: Entries<Value>) -> Result<Value, Refused> {
        Ok(Value::map(entries)?)
    }

    fn key(&mut self, key: Value) -> Result<Arc<str>, Refused> {
        match key {
            Value::String(text) => Ok(text),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(crate::print::shown(&key, 64)?.into()),
            _ => Err(Failure::new("a key of a YAML mapping is no text").into()),
        }
    }

    fn items(value: &Value) -> Option<&[Value]> {
        if let Value::List(list) = value { Some(list.items()) } else { None }
    }

    fn entries(value: &Value) -> Option<&Entries<Value>> {
        value.as_map().map(Map::entries)
    }

    fn count(&mut self, value: &Value) -> Result<(), Refused> {
        Ok(self.run.spend(value.size())?)
    }
}

/// The value of a text without quotes.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Nil,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" => return Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Value::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        _ => {}
    }
    let radix = |prefix: &str, radix: u32| {
        let digits = text.strip_prefix(prefix)?;
        if digits.starts_with(['+', '-']) { None } else { i64::from_str_radix(digits, radix).ok() }
    };
    if let Some(n) = radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| radix("0b", 2)) {
        return Value::Int(n);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        let digits = unsigned.bytes().all(|b| b.is_ascii_digit());
        if digits && unsigned.len() > 1 && unsigned.starts_with('0') {
            return i64::from_str_radix(text, 8).map_or_else(|_| Value::text(text), Value::Int);
        }
        if let (true, Ok(n)) = (digits, text.parse::<i64>()) {
            return Value::Int(n);
        }
        if let (true, Ok(f)) =
            (unsigned.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')), text.parse::<f64>())
        {
            return Value::Float(f);
        }
    }
    Value::text(text)
}

/// A value as YAML, without the newline at the end.
pub(super) fn write(run: &Run<'_>, value: &Value) -> Result<Value, Failure> {
    let mut out = Text::new(run.limits.output);
    block(value, 0, &mut out)?;
    Ok(Value::text(out.finish().trim_end_matches('\n').to_string()))
}

fn spaces(count: usize, out: &mut Text) -> Result<(), Failure> {
    (0..count).try_for_each(|_| out.push(" "))
}

/// A value whose first line starts at the end of `out`.
fn block(value: &Value, indent: usize, out: &mut Text) -> Result<(), Failure> {
    if let Some(entries) = entries(value) {
        return mapping(&entries, indent, out);
    }
    match value {
        Value::List(list) => sequence(list.items(), indent, out),
        Value::Missing | Value::Nil | Value::TypedNil | Value::Scratch => out.push("null\n"),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Time(_) => {
            out.push(&crate::print::shown(value, 64)?)?;
            out.push("\n")
        }
        other => text(other.as_text().unwrap_or_default(), indent, out),
    }
}

/// The entries of a map, or the fields of an object that stands for no text.
fn entries(value: &Value) -> Option<Vec<(&str, &Value)>> {
    if value.as_text().is_some() {
        return None;
    }
    match (value, value.as_map()) {
        (_, Some(map)) => Some(map.entries().iter().map(|(k, v)| (&**k, v)).collect()),
        (Value::Object(object), None) => Some(object.fields.iter().map(|(k, v)| (*k, v)).collect()),
        _ => None,
    }
}

fn mapping(entries: &[(&str, &Value)], indent: usize, out: &mut Text) -> Result<(), Failure> {
    if entries.is_empty() {
        return out.push("{}\n");
    }
    let inner = indent + 4;
    for (n, (key, item)) in entries.iter().enumerate() {
        if n > 0 {
            spaces(indent, out)?;
        }
        out.push(&quoted(key))?;
        out.push(":")?;
        let nested = match item {
            Value::List(list) => !list.items().is_empty(),
            other => other.as_text().is_none() && other.as_map().is_some_and(|m| !m.entries().is_empty()),
        };
        if nested {
            out.push("\n")?;
            spaces(inner, out)?;
        } else {
            out.push(" ")?;
        }
        block(item, inner, out)?;
    }
    Ok(())
}

fn sequence(items: &[Value], indent: usize, out: &mut Text) -> Result<(), Failure> {
    if items.is_empty() {
        return out.push("[]\n");
    }
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            spaces(indent, out)?;
        }
        out.push("- ")?;
        block(item, indent + 2, out)?;
    }
    Ok(())
}

/// A text: a literal block if it has several lines.
fn text(text: &str, indent: usize, out: &mut Text) -> Result<(), Failure> {
    let fits =
        text.contains('\n') && !text.starts_with([' ', '\n']) && text.chars().all(|c| c == '\n' || !c.is_control());
    if !fits {
        out.push(&quoted(text))?;
        return out.push("\n");
    }
    let (style, body) = match text.strip_suffix('\n') {
        None => ("|-", text),
        Some(body) if body.ends_with('\n') => ("|+", body),
        Some(body) => ("|", body),
    };
    out.push(style)?;
    for line in body.split('\n') {
        out.push("\n")?;
        if !line.is_empty() {
            spaces(indent.max(2), out)?;
            out.push(line)?;
        }
    }
    out.push("\n")
}

/// A text, in quotes where a reader would take it for something else.
fn quoted(text: &str) -> String {
    let special = text.is_empty()
        || text.trim() != text
        || text.starts_with([
            '-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`',
        ])
        || text.contains(": ")
        || text.contains(" #")
        || text.ends_with(':')
        || text.chars().any(char::is_control)
        || !matches!(plain(text), Value::String(_))
        || matches!(&*text.to_ascii_lowercase(), "yes" | "no" | "on" | "off" | "y" | "n" | "<<" | "=")
        || text.starts_with(|c: char| c.is_ascii_digit());
    if !special {
        return text.to_string();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

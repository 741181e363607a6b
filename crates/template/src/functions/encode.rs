//! Helpers that encode, decode and hash.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha2::{Digest, Sha256};

use super::{Args, Function, exactly};
use crate::error::{Bound, Failure};
use crate::eval::Run;
use crate::print::Text;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    exactly("base64Encode", 1, |_, a| Ok(Value::text(STANDARD.encode(a.text(0)?)))),
    exactly("base64Decode", 1, |_, a| decoded(&STANDARD, a.text(0)?)),
    exactly("base64URLEncode", 1, |_, a| Ok(Value::text(URL_SAFE.encode(a.text(0)?)))),
    exactly("base64URLDecode", 1, |_, a| decoded(&URL_SAFE, a.text(0)?)),
    exactly("sha256Hex", 1, |_, a| Ok(Value::text(hex(&Sha256::digest(a.text(0)?))))),
    exactly("md5sum", 1, |_, a| Ok(Value::text(hex(&Md5::digest(a.text(0)?))))),
    exactly("hmacSHA256Hex", 2, |_, a| {
        let (text, key) = (a.text(0)?, a.text(1)?);
        let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes());
        let mut mac = mac.map_err(|_| Failure::new("the key cannot be used"))?;
        mac.update(text.as_bytes());
        Ok(Value::text(hex(&mac.finalize().into_bytes())))
    }),
    exactly("parseJSON", 1, |run, a| parse_json(run, a.text(0)?)),
    exactly("parseYAML", 1, |run, a| super::yaml::parse(run, a.text(0)?)),
    exactly("toJSON", 1, |run, a| json(run, a.at(0), None, true)),
    exactly("toJSONPretty", 1, |run, a| json(run, a.at(0), Some("  "), true)),
    exactly("toUnescapedJSON", 1, |run, a| json(run, a.at(0), None, false)),
    exactly("toUnescapedJSONPretty", 1, |run, a| json(run, a.at(0), Some("  "), false)),
    exactly("toYAML", 1, |run, a| super::yaml::write(run, a.at(0))),
    exactly("toTOML", 1, |run, a| {
        let map = a.map(0)?;
        let mut budget = run.limits.output;
        let mut table = toml_edit::DocumentMut::new();
        for (key, value) in map.entries() {
            table.insert(key, toml_item(value, &mut budget)?);
        }
        Ok(Value::text(table.to_string().trim().to_string()))
    }),
];

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

pub(super) fn decoded(engine: &impl Engine, text: &str) -> Result<Value, Failure> {
    let bytes = engine.decode(text).map_err(|_| Failure::new("illegal base64 data"))?;
    String::from_utf8(bytes).map(Value::text).map_err(|_| Failure::new("the decoded data is no text"))
}

/// The values of a JSON text.
pub(super) fn parse_json(run: &mut Run<'_>, text: &str) -> Result<Value, Failure> {
    if text.is_empty() {
        return Value::map(Default::default());
    }
    run.spend(text.len().saturating_mul(16))?;
    // The error of the parser would show a part of the text.
    let parsed = serde_json::from_str(text)
        .map_err(|e| Failure::new(format!("invalid JSON at line {}, column {}", e.line(), e.column())))?;
    Value::from_json(&parsed)
}

/// JSON as Go writes it: keys sorted; `<`, `>`, `&` escaped where `html` says so.
pub(super) fn json(run: &Run<'_>, value: &Value, indent: Option<&str>, html: bool) -> Result<Value, Failure> {
    let mut out = Text::new(run.limits.output);
    write_json(value, indent, html, 0, &mut out)?;
    Ok(Value::text(out.finish()))
}

fn write_json(value: &Value, indent: Option<&str>, html: bool, depth: usize, out: &mut Text) -> Result<(), Failure> {
    let line = |depth: usize, out: &mut Text| match indent {
        None => Ok(()),
        Some(indent) => {
            out.push("\n")?;
            (0..depth).try_for_each(|_| out.push(indent))
        }
    };
    match value {
        Value::Missing | Value::Nil | Value::TypedNil | Value::Scratch => out.push("null"),
        Value::Bool(b) => out.push(if *b { "true" } else { "false" }),
        Value::Int(n) => out.push(&n.to_string()),
        Value::Float(f) if f.is_finite() => out.push(&json_float(*f)),
        Value::Float(_) => Err(Failure::new("the number has no form in JSON")),
        Value::Time(time) => write_text(&time.format("2006-01-02T15:04:05.999999999Z07:00"), html, out),
        Value::List(list) if list.items().is_empty() => out.push("[]"),
        Value::List(list) => {
            out.push("[")?;
            for (n, item) in list.items().iter().enumerate() {
                out.push(if n > 0 { "," } else { "" })?;
                line(depth + 1, out)?;
                write_json(item, indent, html, depth + 1, out)?;
            }
            line(depth, out)?;
            out.push("]")
        }
        Value::String(text) => write_text(text, html, out),
        Value::Map(map) => write_entries(map.entries().iter().map(|(k, v)| (&**k, v)), indent, html, depth, out),
        Value::Object(object) => match (&object.text, &object.entries) {
            (Some(text), _) => write_text(text, html, out),
            (None, Some(map)) => write_entries(map.entries().iter().map(|(k, v)| (&**k, v)), indent, html, depth, out),
            (None, None) => write_entries(object.fields.iter().map(|(k, v)| (*k, v)), indent, html, depth, out),
        },
    }
}

fn write_entries<'a>(
    entries: impl Iterator<Item = (&'a str, &'a Value)>,
    indent: Option<&str>,
    html: bool,
    depth: usize,
    out: &mut Text,
) -> Result<(), Failure> {
    let line = |depth: usize, out: &mut Text| match indent {
        None => Ok(()),
        Some(indent) => {
            out.push("\n")?;
            (0..depth).try_for_each(|_| out.push(indent))
        }
    };
    out.push("{")?;
    let mut empty = true;
    for (key, value) in entries {
        out.push(if empty { "" } else { "," })?;
        empty = false;
        line(depth + 1, out)?;
        write_text(key, html, out)?;
        out.push(if indent.is_some() { ": " } else { ":" })?;
        write_json(value, indent, html, depth + 1, out)?;
    }
    if !empty {
        line(depth, out)?;
    }
    out.push("}")
}

fn json_float(f: f64) -> String {
    let magnitude = f.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{f:e}");
        return match text.split_once("e-") {
            Some(_) => text,
            None => text.replace('e', "e+"),
        };
    }
    format!("{f}")
}

fn write_text(text: &str, html: bool, out: &mut Text) -> Result<(), Failure> {
    out.push("\"")?;
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            '<' | '>' | '&' if html => drop(write!(escaped, "\\u{:04x}", u32::from(c))),
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => drop(write!(escaped, "\\u{:04x}", u32::from(c))),
            _ => escaped.push(c),
        }
    }
    out.push(&escaped)?;
    out.push("\"")
}

fn spend(budget: &mut usize, bytes: usize) -> Result<(), Failure> {
    *budget = budget.checked_sub(bytes).ok_or(Failure::Bound(Bound::Output))?;
    Ok(())
}

fn toml_item(value: &Value, budget: &mut usize) -> Result<toml_edit::Item, Failure> {
    if let Some(map) = value.as_map().filter(|_| value.as_text().is_none()) {
        let mut table = toml_edit::Table::new();
        for (key, value) in map.entries() {
            spend(budget, key.len() + 8)?;
            table.insert(key, toml_item(value, budget)?);
        }
        return Ok(toml_edit::Item::Table(table));
    }
    Ok(toml_edit::Item::Value(toml_value(value, budget)?))
}

fn toml_value(value: &Value, budget: &mut usize) -> Result<toml_edit::Value, Failure> {
    spend(budget, value.size())?;
    Ok(match value {
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::Float(f) => (*f).into(),
        Value::List(list) => {
            let mut array = toml_edit::Array::new();
            for item in list.items() {
                array.push(toml_value(item, budget)?);
            }
            toml_edit::Value::Array(array)
        }
        other => match (other.as_text(), other.as_map()) {
            (Some(text), _) => text.into(),
            (None, Some(map)) => {
                let mut table = toml_edit::InlineTable::new();
                for (key, value) in map.entries() {
                    spend(budget, key.len())?;
                    table.insert(&**key, toml_value(value, budget)?);
                }
                toml_edit::Value::InlineTable(table)
            }
            (None, None) => {
                return Err(Failure::new(format!("a value of type {} has no form in TOML", other.type_name())));
            }
        },
    })
}

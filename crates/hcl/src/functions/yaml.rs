//! YAML: `yamlencode` writes block style with every key and single-line string in double quotes; `yamldecode` reads one
//! document, with plain scalars resolved as YAML 1.2 does, and `yes`, `no`, `on`, `off`, `y` and `n` as YAML 1.1 does.
//!
//! Templates have another dialect (`parseYAML` and `toYAML` of `encamp_template`): only the structure of documents is the
//! same, which `encamp_yaml` reads.

use std::borrow::Cow;
use std::sync::Arc;

use encamp_yaml::{Builder, Fault, Reader, Scalar};
use thiserror::Error;

use super::encoding::{decode_base64, encode_base64};
use super::support::{Failure, Function, Kind, Text, function, nullable, p};
use crate::convert::ConversionError;
use crate::number::Number;
use crate::types::Type;
use crate::value::{Entries, MAX_DEPTH, Value, ValueTooLarge};

pub(crate) const FUNCTIONS: &[Function] = &[
    function("yamlencode", &[nullable("value", Kind::Any)], |args, _| {
        let mut out = Text::default();
        let value = args.value(0)?;
        write(value, 0, &mut out)?;
        if is_open_ended(value) {
            out.push("...\n")?;
        }
        Ok(out.into_value())
    }),
    function("yamldecode", &[p("src", Kind::String)], |args, _| Ok(decode(args.text(0)?)?)),
];

/// Why a text is no YAML, or has no value.
#[derive(Debug, Error)]
pub(crate) enum DecodeError {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error("on line {line}, column {column}: missing start of document")]
    NoDocument { line: usize, column: usize },
    #[error("unexpected extra content after value")]
    SecondDocument,
    #[error("mapping keys must not be null")]
    NullKey,
    /// The text of a scalar is not what its tag says.
    #[error("cannot parse {text:?} as !!{tag}")]
    Mistagged { text: String, tag: String },
    #[error("unsupported tag {0:?}")]
    UnsupportedTag(String),
    #[error("floating point NaN is not supported")]
    NaN,
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    #[error(transparent)]
    TooLarge(#[from] ValueTooLarge),
}

/// Column beyond which a double-quoted string continues on the next line at the next space.
const WIDTH: usize = 80;

/// Whether a document of this value needs a mark for its end: nothing else tells where a plain scalar ends.
fn is_open_ended(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::Number(_))
}

/// Writes a value whose first line starts at the end of `out`; further lines are indented.
fn write(value: &Value, indent: usize, out: &mut Text) -> Result<(), Failure> {
    match (value.items(), value.entries()) {
        (Some(items), _) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.repeat(" ", indent)?;
                }
                out.push("- ")?;
                write(item, indent + 2, out)?;
            }
        }
        (_, Some(entries)) if !entries.is_empty() => {
            for (index, (key, item)) in entries.iter().enumerate() {
                if index > 0 {
                    out.repeat(" ", indent)?;
                }
                quote(key, None, out)?;
                out.push(":")?;
                // Collections start on a line of their own; the dashes of a list stand below the key.
                let inner = match (item.items(), item.entries()) {
                    (Some(items), _) if !items.is_empty() => Some(indent),
                    (_, Some(entries)) if !entries.is_empty() => Some(indent + 2),
                    _ => None,
                };
                if let Some(inner) = inner {
                    out.push("\n")?;
                    out.repeat(" ", inner)?;
                    write(item, inner, out)?;
                } else {
                    out.push(" ")?;
                    write(item, indent + 2, out)?;
                }
            }
        }
        _ => {
            scalar(value, indent.max(2), out)?;
            out.push("\n")?;
        }
    }
    Ok(())
}

/// A scalar or an empty collection; lines after the first are indented.
fn scalar(value: &Value, indent: usize, out: &mut Text) -> Result<(), Failure> {
    match value {
        Value::Null => out.push("null")?,
        Value::Unknown => return Err("value is not known".into()),
        Value::Bool(value) => out.push(if *value { "true" } else { "false" })?,
        Value::Number(number) if number.is_infinite() => {
            out.push(if number.is_negative() { "-.inf" } else { ".inf" })?;
        }
        Value::Number(number) => out.push(&number.to_string())?,
        Value::String(text) if fits_block(text) => block(text, indent, out)?,
        Value::String(text) => quote(text, Some(indent), out)?,
        Value::List(_) | Value::Set(_) | Value::Tuple(_) => out.push("[]")?,
        Value::Map(_) | Value::Object(_) => out.push("{}")?,
    }
    Ok(())
}

/// Whether a text has several lines and only characters that a literal block can show.
fn fits_block(text: &str) -> bool {
    text.contains('\n')
        && !text.ends_with(' ')
        && !text.contains(" \n")
        && text.chars().all(|c| c == '\n' || printable(c))
}

fn printable(c: char) -> bool {
    match c {
        ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
            !matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')
        }
        _ => false,
    }
}

/// A literal block (`|`); the caller ends its last line.
fn block(text: &str, indent: usize, out: &mut Text) -> Result<(), Failure> {
    out.push("|")?;
    if text.starts_with([' ', '\n']) {
        out.push("2")?;
    }
    let content = match text.strip_suffix('\n') {
        None => {
            out.push("-")?;
            text
        }
        Some(rest) if rest.is_empty() || rest.ends_with('\n') => {
            out.push("+")?;
            rest
        }
        Some(rest) => rest,
    };
    for line in content.split('\n') {
        out.push("\n")?;
        if !line.is_empty() {
            out.repeat(" ", indent)?;
            out.push(line)?;
        }
    }
    Ok(())
}

/// A double-quoted string. With an indent, a long one is continued on further lines at its spaces.
fn quote(text: &str, indent: Option<usize>, out: &mut Text) -> Result<(), Failure> {
    let line_start = out.as_str().rfind('\n').map_or(0, |newline| newline + 1);
    let mut column = out.as_str().get(line_start..).unwrap_or_default().chars().count() + 1;
    out.push("\"")?;
    let mut after_space = false;
    let mut rest = text.chars().peekable();
    let mut first = true;
    while let Some(c) = rest.next() {
        let breaks = c == ' ' && !after_space && !first && column > WIDTH && rest.peek().is_some();
        if let Some(indent) = indent.filter(|_| breaks) {
            out.push("\n")?;
            out.repeat(" ", indent)?;
            column = indent;
            // A second space would be taken for indentation.
            if rest.peek() == Some(&' ') {
                out.push("\\")?;
                column += 1;
            }
        } else {
            let escaped = escape(c);
            out.push(&escaped)?;
            column += escaped.chars().count();
        }
        after_space = c == ' ';
        first = false;
    }
    out.push("\"")?;
    Ok(())
}

/// A character as it stands in double quotes.
fn escape(c: char) -> Cow<'static, str> {
    Cow::Borrowed(match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{b}' => "\\v",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\u{1b}' => "\\e",
        '\u{85}' => "\\N",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        printed if printable(printed) => return Cow::Owned(printed.to_string()),
        other => {
            return Cow::Owned(match other as u32 {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            });
        }
    })
}

/// The value of the one document of a YAML text.
fn decode(text: &str) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(text, Values);
    if !reader.next_document()? {
        let (line, column) = reader.position();
        return Err(DecodeError::NoDocument { line, column });
    }
    let value = reader.document()?;
    if reader.next_document()? { Err(DecodeError::SecondDocument) } else { Ok(value) }
}

/// Makes values of expressions.
struct Values;

impl Builder for Values {
    type Value = Value;
    type Error = DecodeError;
    const MAX_DEPTH: usize = MAX_DEPTH;

    fn scalar(&mut self, scalar: &Scalar<'_>) -> Result<Value, DecodeError> {
        scalar_value(scalar)
    }

    fn sequence(&mut self, items: Vec<Value>) -> Result<Value, DecodeError> {
        Ok(Value::tuple(items)?)
    }

    fn mapping(&mut self, entries: Entries) -> Result<Value, DecodeError> {
        Ok(Value::object(entries)?)
    }

    fn key(&mut self, key: Value) -> Result<Arc<str>, DecodeError> {
        match key.convert(&Type::String)? {
            Value::String(key) => Ok(key),
            _ => Err(DecodeError::NullKey),
        }
    }

    fn items(value: &Value) -> Option<&[Value]> {
        value.items()
    }

    fn entries(value: &Value) -> Option<&Entries> {
        value.entries()
    }

    /// Values count themselves: those that are too large cannot be made.
    fn count(&mut self, _: &Value) -> Result<(), DecodeError> {
        Ok(())
    }
}

/// The value of a scalar by its tag, or for plain ones by its looks.
fn scalar_value(scalar: &Scalar<'_>) -> Result<Value, DecodeError> {
    let Scalar { text, plain, tag } = *scalar;
    let string = || Ok(Value::string(Arc::from(text))?);
    let Some(tag) = tag else {
        return if plain { plain_value(text).unwrap_or_else(string) } else { string() };
    };
    let suffix = tag.suffix.strip_prefix("tag:yaml.org,2002:").unwrap_or(&tag.suffix);
    // In quotes, only a tag that says how the text is encoded makes a difference.
    if !plain && matches!(suffix, "null" | "bool" | "int" | "float") {
        return string();
    }
    let plain = || plain_value(text).transpose();
    let refused = || DecodeError::Mistagged { text: text.to_string(), tag: suffix.to_string() };
    match suffix {
        "str" | "" => string(),
        "binary" => {
            let bytes = decode_base64(&text.replace([' ', '\t'], "")).ok_or_else(refused)?;
            Ok(Value::string(encode_base64(&bytes))?)
        }
        "null" => plain()?.filter(Value::is_null).ok_or_else(refused),
        "bool" => plain()?.filter(|value| value.as_bool().is_some()).ok_or_else(refused),
        "int" | "float" => plain()?.filter(|value| value.as_number().is_some()).ok_or_else(refused),
        "timestamp" => Ok(timestamp(text).map(Value::string).ok_or_else(refused)??),
        _ => Err(DecodeError::UnsupportedTag(format!("{}{}", tag.handle, tag.suffix))),
    }
}

/// The value of a plain scalar that is not a string.
fn plain_value(text: &str) -> Option<Result<Value, DecodeError>> {
    let radix = |digits: &str, radix: u32| {
        dashu_int::IBig::from_str_radix(digits, radix).ok().map(|n| Number::from_integer(&n))
    };
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => Value::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Number::from_f64(f64::INFINITY)?.into(),
        "-.inf" | "-.Inf" | "-.INF" => Number::from_f64(f64::NEG_INFINITY)?.into(),
        ".nan" | ".NaN" | ".NAN" => return Some(Err(DecodeError::NaN)),
        _ => {
            let number = match text.as_bytes() {
                // Underscores, which the radix conversion would skip, are no digits here.
                [b'0', b'x' | b'o', rest @ ..] if rest.len() > 5_000 || rest.contains(&b'_') => None,
                [b'0', b'x', ..] => radix(text.get(2..)?, 16),
                [b'0', b'o', ..] => radix(text.get(2..)?, 8),
                _ => Number::parse(text).ok(),
            };
            match number {
                Some(number) => number.into(),
                None => return timestamp(text).map(|text| Ok(Value::string(text)?)),
            }
        }
    };
    Some(Ok(value))
}

/// A date, or date and time, in RFC 3339 form.
fn timestamp(text: &str) -> Option<String> {
    let part = |text: &str, min: usize, max: usize| {
        (text.len() >= min && text.len() <= max && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse::<u32>().ok())
            .flatten()
    };
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)),
        None => (text, None),
    };
    let mut fields = date.split('-');
    let (year, month, day) = (fields.next()?, fields.next()?, fields.next()?);
    let (year, month, day) = (part(year, 4, 4)?, part(month, 1, 2)?, part(day, 1, 2)?);
    let civil = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    if fields.next().is_some() || jiff::civil::Date::new(civil.0, civil.1, civil.2).is_err() {
        return None;
    }
    let Some(time) = time else { return Some(format!("{year:04}-{month:02}-{day:02}T00:00:00Z")) };
    let zone_at = time.find(['Z', '+', '-']);
    let (clock, zone) = match zone_at {
        Some(at) if !text.contains(' ') => (time.get(..at)?, time.get(at..)?),
        // The form with a space has no zone, the others have one.
        None if text.contains(' ') => (time, "Z"),
        _ => return None,
    };
    let (clock, fraction) = clock.split_once('.').map_or((clock, ""), |(clock, fraction)| (clock, fraction));
    let mut fields = clock.split(':');
    let (hour, minute, second) = (fields.next()?, fields.next()?, fields.next()?);
    let (hour, minute, second) = (part(hour, 1, 2)?, part(minute, 1, 2)?, part(second, 1, 2)?);
    let zone_ok = zone == "Z"
        || zone.get(1..).and_then(|zone| zone.split_once(':')).is_some_and(|(hours, minutes)| {
            part(hours, 2, 2).is_some_and(|hours| hours < 24) && part(minutes, 2, 2).is_some_and(|minutes| minutes < 60)
        });
    let in_range = hour < 24 && minute < 60 && second < 60 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if fields.next().is_some() || !zone_ok || !in_range {
        return None;
    }
    let zone = if matches!(zone, "+00:00" | "-00:00") { "Z" } else { zone };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"))
}

#[cfg(test)]
mod tests {
    use super::super::support::{check, check_json, json_value};
    use super::*;

    #[test]
    fn encoded_forms() {
        for (json, expected) in [
            (r#"{"a":"b","c":"d"}"#, "\"a\": \"b\"\n\"c\": \"d\"\n"),
            (
                r#"{"foo":[1,{"a":"b","c":[2]},[3,4],[]],"bar":{"x":{},"y":{"z":null}}}"#,
                "\"bar\":\n  \"x\": {}\n  \"y\":\n    \"z\": null\n\"foo\":\n- 1\n- \"a\": \"b\"\n  \"c\":\n  - 2\n- - 3\n  - 4\n- []\n",
            ),
            (r#""x""#, "\"x\"\n"),
            ("[]", "[]\n"),
            ("true", "true\n...\n"),
            ("[true,1.50,\"\"]", "- true\n- 1.5\n- \"\"\n"),
            (r#"{"k":"l1\n  l2\n"}"#, "\"k\": |\n  l1\n    l2\n"),
            (r#"{"k":"l1\n\nl2"}"#, "\"k\": |-\n  l1\n\n  l2\n"),
            (r#"["l1\n\n"]"#, "- |+\n  l1\n\n"),
            (r#""a \nb""#, "\"a \\nb\"\n"),
            (r#""é\t\"\\\u0001\u0085""#, "\"é\\t\\\"\\\\\\x01\\N\"\n"),
        ] {
            check("yamlencode", &[json_value(json)], expected);
        }
        let word = "word ".repeat(20);
        let folded =
            format!("\"k\": \"{}\n  {}\"\n", "word ".repeat(15).trim_end().to_owned() + " word", "word ".repeat(4));
        let long = Value::object([(Arc::from("k"), Value::from(word.as_str()))].into_iter().collect()).unwrap();
        check("yamlencode", &[long], &folded);
    }

    #[test]
    fn decoded_values() {
        for (text, expected) in [
            (
                "a: 1\nb: [x, 'y', \"z\"]\nc:\n  - 1.5\n  - ~\n  - yes\n",
                r#"{"a":1,"b":["x","y","z"],"c":[1.5,null,true]}"#,
            ),
            ("[No, off, 'on', oN]", r#"[false,false,"on","oN"]"#),
            ("--- ", "null"),
            ("0x1F", "31"),
            ("0o17", "15"),
            ("010", "10"),
            ("!!str 12", "\"12\""),
            ("!!int 12", "12"),
            ("!!int '12'", "\"12\""),
            ("2001-1-2", "\"2001-01-02T00:00:00Z\""),
            ("2001-12-14T21:59:43.10-05:00", "\"2001-12-14T21:59:43-05:00\""),
            ("2001-12-14t1:59:43+00:00", "\"2001-12-14T01:59:43Z\""),
            ("2001-12-14 21:59:43.5", "\"2001-12-14T21:59:43Z\""),
            ("2001-12-14 21:59:43Z", "\"2001-12-14 21:59:43Z\""),
            ("2001-02-29", "\"2001-02-29\""),
            ("'2001-01-02'", "\"2001-01-02\""),
            ("|\n  a\n   b\n", "\"a\\n b\\n\""),
            ("base: &b {x: 1, z: 2}\nother:\n  <<: *b\n  z: 3\n", r#"{"base":{"x":1,"z":2},"other":{"x":1,"z":3}}"#),
            ("true: 1\n2: x\n", r#"{"2":"x","true":1}"#),
            ("!!binary aGk=", "\"aGk=\""),
        ] {
            let value = decode(text).unwrap();
            assert_eq!(super::super::json::encode(&value).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn refused_texts() {
        assert_eq!(decode("").unwrap_err().to_string(), "on line 1, column 1: missing start of document");
        for text in
            ["a: b: c", "[1", "&a [*a]", "--- 1\n--- 2", ".nan", "!custom x", "!!int x", "~: 1", "<<: 1", "{[1]: 2}"]
        {
            assert!(decode(text).is_err(), "{text:?}");
        }
        assert!(decode(&"[".repeat(100_000)).is_err());
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_string();
        for level in 1..20 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            laughs.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(decode(&laughs).unwrap_err().to_string().contains("more than 262144 elements"));
    }

    #[test]
    fn round_trips() {
        let json = r#"{"a":["l1\nl2\n"," x\ny","\n","z \nq","tab\t"],"b":{"k":-1.25,"n":null,"t":true},"yes":"no"}"#;
        let context = super::super::support::test_context();
        let text = super::super::call("yamlencode", vec![json_value(json)], &context).unwrap();
        let back = super::super::call("yamldecode", vec![text], &context).unwrap();
        assert_eq!(super::super::json::encode(&back).unwrap(), json);
        check_json("yamldecode", r#""[a, b]""#, r#"["a","b"]"#);
    }
}

//! JSON: `jsonencode jsondecode`, and the encoding that `format` uses for composite values.

use std::sync::Arc;

use thiserror::Error;

use super::support::{Function, Kind, Text, function, nullable, p};
use crate::number::Number;
use crate::value::{Entries, MAX_DEPTH, Value, ValueTooLarge};

pub(crate) const FUNCTIONS: &[Function] = &[
    function("jsonencode", &[nullable("val", Kind::Any)], |args, _| Ok(Value::string(encode(args.value(0)?)?)?)),
    function("jsondecode", &[p("str", Kind::String)], |args, _| Ok(decode(args.text(0)?)?)),
];

/// Why a value has no JSON.
#[derive(Debug, Error)]
pub(crate) enum EncodeError {
    #[error("value is not known")]
    Unknown,
    #[error("cannot serialize infinity as JSON")]
    Infinity,
    #[error(transparent)]
    TooLarge(#[from] ValueTooLarge),
}

/// Why a text is no JSON, or has no value.
#[derive(Debug, Error)]
pub(crate) enum DecodeError {
    /// `context` says where in the grammar the character stands.
    #[error("invalid character {found:?} {context}")]
    Unexpected { found: char, context: &'static str },
    #[error("unexpected end of JSON input")]
    End,
    #[error("invalid number literal {0:?}")]
    Number(String),
    #[error("exceeded max depth")]
    Depth,
    #[error(transparent)]
    TooLarge(#[from] ValueTooLarge),
}

/// Compact JSON with sorted keys; `<`, `>` and `&` are escaped as Go escapes them for HTML.
pub(crate) fn encode(value: &Value) -> Result<String, EncodeError> {
    let mut out = Text::default();
    write(value, &mut out)?;
    Ok(out.into_string())
}

fn write(value: &Value, out: &mut Text) -> Result<(), EncodeError> {
    match value {
        Value::Null => out.push("null")?,
        Value::Unknown => return Err(EncodeError::Unknown),
        Value::Bool(value) => out.push(if *value { "true" } else { "false" })?,
        Value::Number(number) if number.is_infinite() => return Err(EncodeError::Infinity),
        Value::Number(number) => out.push(&number.to_string())?,
        Value::String(text) => out.push(&quote(text))?,
        Value::List(inner) | Value::Set(inner) | Value::Tuple(inner) => {
            out.push("[")?;
            for (index, item) in inner.items().iter().enumerate() {
                if index > 0 {
                    out.push(",")?;
                }
                write(item, out)?;
            }
            out.push("]")?;
        }
        Value::Map(inner) | Value::Object(inner) => {
            out.push("{")?;
            for (index, (key, item)) in inner.entries().iter().enumerate() {
                if index > 0 {
                    out.push(",")?;
                }
                out.push(&quote(key))?;
                out.push(":")?;
                write(item, out)?;
            }
            out.push("}")?;
        }
    }
    Ok(())
}

/// A JSON string literal with Go's escapes.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// The value of a JSON text: arrays are tuples, objects objects.
pub(crate) fn decode(text: &str) -> Result<Value, DecodeError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser.value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("after top-level value")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Reports a character that the grammar does not allow here.
    fn unexpected(&self, context: &'static str) -> DecodeError {
        self.peek().map_or(DecodeError::End, |found| DecodeError::Unexpected { found, context })
    }

    fn value(&mut self) -> Result<Value, DecodeError> {
        self.skip_space();
        match self.peek() {
            Some('"') => Ok(Value::string(self.string()?)?),
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::array),
            Some('-' | '0'..='9') => self.number(),
            _ => {
                for (word, value) in [("true", true.into()), ("false", false.into()), ("null", Value::Null)] {
                    if self.rest().starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.unexpected("looking for beginning of value"))
            }
        }
    }

    fn nested(&mut self, parse: fn(&mut Self) -> Result<Value, DecodeError>) -> Result<Value, DecodeError> {
        if self.depth >= MAX_DEPTH {
            return Err(DecodeError::Depth);
        }
        self.depth += 1;
        self.next();
        let value = parse(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, DecodeError> {
        let mut items = Vec::new();
        self.members(']', "after array element", |parser| {
            items.push(parser.value()?);
            Ok(())
        })?;
        Ok(Value::tuple(items)?)
    }

    fn object(&mut self) -> Result<Value, DecodeError> {
        let mut entries = Entries::new();
        self.members('}', "after object key:value pair", |parser| {
            parser.skip_space();
            if parser.peek() != Some('"') {
                return Err(parser.unexpected("looking for beginning of object key string"));
            }
            let key = parser.string()?;
            parser.skip_space();
            if parser.peek() != Some(':') {
                return Err(parser.unexpected("after object key"));
            }
            parser.next();
            entries.insert(Arc::from(key), parser.value()?);
            Ok(())
        })?;
        Ok(Value::object(entries)?)
    }

    /// Members separated by commas up to the closing character.
    fn members(
        &mut self,
        close: char,
        after: &'static str,
        mut member: impl FnMut(&mut Self) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.skip_space();
        if self.peek() == Some(close) {
            self.next();
            return Ok(());
        }
        loop {
            member(self)?;
            self.skip_space();
            match self.peek() {
                Some(',') => self.next(),
                Some(c) if c == close => {
                    self.next();
                    return Ok(());
                }
                _ => return Err(self.unexpected(after)),
            };
        }
    }

    fn number(&mut self) -> Result<Value, DecodeError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let literal = rest.get(..end).unwrap_or_default();
        let digits = literal.strip_prefix('-').unwrap_or(literal);
        let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let fraction = digits.get(whole..).and_then(|rest| rest.strip_prefix('.'));
        // JSON allows less than the language: no leading zeros, digits on both sides of the point.
        let strict = whole > 0
            && (whole == 1 || !digits.starts_with('0'))
            && fraction.is_none_or(|fraction| fraction.starts_with(|c: char| c.is_ascii_digit()));
        let number = Number::parse(literal).ok().filter(|_| strict);
        let number = number.ok_or_else(|| DecodeError::Number(literal.to_string()))?;
        self.at += end;
        Ok(number.into())
    }

    /// A string literal from its opening quote on.
    fn string(&mut self) -> Result<String, DecodeError> {
        self.next();
        let mut out = String::new();
        loop {
            let c = self.peek().ok_or(DecodeError::End)?;
            match c {
                '\0'..='\u{1f}' => return Err(self.unexpected("in string literal")),
                '"' => {
                    self.next();
                    return Ok(out);
                }
                '\\' => {
                    self.next();
                    let escape = self.peek();
                    out.push(match escape {
                        Some(plain @ ('"' | '\\' | '/')) => plain,
                        Some('b') => '\u{8}',
                        Some('f') => '\u{c}',
                        Some('n') => '\n',
                        Some('r') => '\r',
                        Some('t') => '\t',
                        Some('u') => {
                            self.next();
                            out.push(self.unicode_escape()?);
                            continue;
                        }
                        _ => return Err(self.unexpected("in string escape code")),
                    });
                    self.next();
                }
                other => {
                    out.push(other);
                    self.next();
                }
            }
        }
    }

    /// The character of `\uXXXX`, or of a pair of them; half a pair is the replacement character.
    fn unicode_escape(&mut self) -> Result<char, DecodeError> {
        let high = self.hex4()?;
        if (0xd800..0xdc00).contains(&high) && self.rest().starts_with("\\u") {
            let start = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = start;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, DecodeError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|c| c.to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.unexpected("in \\u hexadecimal character escape"))?;
            self.next();
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{check, check_json};
    use super::*;

    #[test]
    fn round_trips() {
        for (text, expected) in [
            (r#" { "b" : [ 1.50, -0.0, 1e3, 12345678901234567890 ], "a":null, "a": true } "#, None),
            (r#""\u00e9\ud83d\ude00\n\/\\""#, Some("\"é😀\\n/\\\\\"")),
            (r#""\ud83dx""#, Some("\"\u{fffd}x\"")),
            (r#""<a&b>\u0001\b""#, Some(r#""\u003ca\u0026b\u003e\u0001\b""#)),
            ("[]", Some("[]")),
            ("{}", Some("{}")),
        ] {
            let expected = expected.unwrap_or(r#"{"a":true,"b":[1.5,-0,1000,12345678901234567890]}"#);
            assert_eq!(encode(&decode(text).unwrap()).unwrap(), expected);
        }
        check_json("jsonencode", "null", "\"null\"");
        check("jsondecode", &["\"x\"".into()], "x");
    }

    #[test]
    fn broken_texts() {
        for text in [
            "",
            " ",
            "tru",
            "[1,]",
            "[1",
            "{\"a\"}",
            "{a:1}",
            "{\"a\":1,}",
            "01",
            "1.",
            ".5",
            "-",
            "1 2",
            "\"a",
            "\"\\x\"",
            "\"\u{1}\"",
            "\"\\u12\"",
            "+1",
            "[1}",
        ] {
            assert!(decode(text).is_err(), "{text:?}");
        }
        assert_eq!(decode(&"[".repeat(100_000)).unwrap_err().to_string(), "exceeded max depth");
        assert_eq!(decode("[1 2]").unwrap_err().to_string(), "invalid character '2' after array element");
    }

    #[test]
    fn infinity_has_no_json() {
        let infinity = Number::from(1i64).div(&Number::from(0i64)).unwrap();
        check(
            "jsonencode",
            &[infinity.into()],
            "Call to function \"jsonencode\" failed: cannot serialize infinity as JSON.",
        );
    }
}

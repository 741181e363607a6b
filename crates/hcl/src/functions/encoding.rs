//! Text encodings: `base64decode base64encode csvdecode urlencode`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use thiserror::Error;

use super::FunctionContext;
use super::support::{Args, Failure, Function, Kind, Text, function, p};
use crate::types::Type;
use crate::value::{MAX_NODES, Value, ValueTooLarge};
use encamp_model::quote::quoted;

const STR: &[super::support::Parameter] = &[p("str", Kind::String)];

pub(crate) const FUNCTIONS: &[Function] = &[
    function("base64decode", STR, |args, _| {
        let text = args.text(0)?;
        let bytes = decode_base64(text).ok_or_else(|| format!("failed to decode base64 data '{text}'"))?;
        let decoded = String::from_utf8(bytes);
        Ok(Value::string(decoded.map_err(|_| "the result of decoding the provided string is not valid UTF-8")?)?)
    }),
    function("base64encode", STR, |args, _| Ok(Value::string(encode_base64(args.text(0)?.as_bytes()))?)),
    function("csvdecode", STR, csvdecode),
    function("urlencode", STR, urlencode),
];

/// Standard alphabet with padding.
pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Standard alphabet with padding; line ends are skipped.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.replace(['\r', '\n'], "")).ok()
}

/// The bytes that `urlencode` escapes; spaces become `+`.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b' ');

fn urlencode(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let mut out = Text::default();
    for part in utf8_percent_encode(args.text(0)?, &ESCAPED) {
        out.push(&part.replace(' ', "+"))?;
    }
    Ok(out.into_value())
}

fn csvdecode(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let records = csv_records(args.text(0)?)?;
    let mut records = records.into_iter();
    let Some((_, header)) = records.next() else {
        return Err("missing header line".into());
    };
    let header: Vec<Arc<str>> = header.into_iter().map(Arc::from).collect();
    let mut attributes = BTreeMap::new();
    for name in &header {
        if attributes.insert(name.clone(), Type::String).is_some() {
            return Err(format!("duplicate column name {}", quoted(name)).into());
        }
    }
    let mut rows = Vec::new();
    for (line, fields) in records {
        if fields.len() != header.len() {
            return Err(format!("record on line {line}: wrong number of fields").into());
        }
        let values = fields.into_iter().map(Value::string).collect::<Result<Vec<Value>, ValueTooLarge>>()?;
        rows.push(Value::object(header.iter().cloned().zip(values).collect())?);
    }
    Ok(Value::list(Type::Object(Arc::new(attributes)), rows)?)
}

/// Why a text is no CSV.
#[derive(Debug, Error)]
pub(crate) enum CsvError {
    #[error("parse error on line {line}, column {column}: bare \" in non-quoted field")]
    BareQuote { line: usize, column: usize },
    #[error("parse error on line {line}: extraneous or missing \" in quoted-field")]
    UnmatchedQuote { line: usize },
    #[error(transparent)]
    TooLarge(#[from] ValueTooLarge),
}

/// The records of a CSV text (RFC 4180, LF or CRLF line ends, empty lines skipped), each with the line it starts on.
fn csv_records(text: &str) -> Result<Vec<(usize, Vec<String>)>, CsvError> {
    let mut records = Vec::new();
    let mut reader = CsvReader { lines: text.split_inclusive('\n').zip(1..), line: "", number: 0, rest: "" };
    let mut total = 0;
    while reader.next_line() {
        if reader.rest.is_empty() {
            continue;
        }
        let start = reader.number;
        let mut fields = Vec::new();
        let mut more = true;
        while more {
            total += 1;
            if total > MAX_NODES {
                return Err(ValueTooLarge::Nodes.into());
            }
            let field;
            (field, more) = reader.field()?;
            fields.push(field);
        }
        records.push((start, fields));
    }
    Ok(records)
}

/// The place in a CSV text.
struct CsvReader<'t, L> {
    /// The lines to come.
    lines: L,
    /// The current line and its number.
    line: &'t str,
    number: usize,
    /// What is left of the line, without its end.
    rest: &'t str,
}

impl<'t, L: Iterator<Item = (&'t str, usize)>> CsvReader<'t, L> {
    /// Goes to the next line, if there is one.
    fn next_line(&mut self) -> bool {
        let Some((line, number)) = self.lines.next() else { return false };
        (self.line, self.number, self.rest) = (line, number, without_line_end(line));
        true
    }

    /// The next field of the record, and whether another one follows.
    fn field(&mut self) -> Result<(String, bool), CsvError> {
        if let Some(quoted) = self.rest.strip_prefix('"') {
            self.rest = quoted;
            return self.quoted_field();
        }
        let (field, after) = self.rest.split_once(',').map_or((self.rest, None), |(field, after)| (field, Some(after)));
        if let Some(at) = field.find('"') {
            let column = without_line_end(self.line).len() - self.rest.len() + at + 1;
            return Err(CsvError::BareQuote { line: self.number, column });
        }
        self.rest = after.unwrap_or_default();
        Ok((field.to_string(), after.is_some()))
    }

    /// A field whose opening quote is read; it may go on in the next line.
    fn quoted_field(&mut self) -> Result<(String, bool), CsvError> {
        let mut field = String::new();
        loop {
            let Some((before, after)) = self.rest.split_once('"') else {
                field.push_str(self.rest);
                let line = self.number;
                if !self.next_line() {
                    return Err(CsvError::UnmatchedQuote { line });
                }
                field.push('\n');
                continue;
            };
            field.push_str(before);
            self.rest = after.get(1..).unwrap_or_default();
            match after.chars().next() {
                Some('"') => field.push('"'),
                Some(',') => return Ok((field, true)),
                None => return Ok((field, false)),
                Some(_) => return Err(CsvError::UnmatchedQuote { line: self.number }),
            }
        }
    }
}

fn without_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::super::support::{check, check_json};

    #[test]
    fn base64_and_url() {
        for (name, input, expected) in [
            ("base64encode", "hällo?", "aMOkbGxvPw=="),
            ("base64decode", "aMOkbGxvPw==", "hällo?"),
            ("base64decode", "aMOk\nbGxvPw==", "hällo?"),
            ("base64decode", "a", "Call to function \"base64decode\" failed: failed to decode base64 data 'a'."),
            (
                "base64decode",
                "/w==",
                "Call to function \"base64decode\" failed: the result of decoding the provided string is not valid UTF-8.",
            ),
            ("urlencode", "a b&c=é/~+*%20", "a+b%26c%3D%C3%A9%2F~%2B%2A%2520"),
        ] {
            check(name, &[input.into()], expected);
        }
    }

    #[test]
    fn csv() {
        for (text, expected) in [
            (r#""a,b\n1,x\n\n2,\"y, \"\"z\"\"\"\n""#, r#"[{"a":"1","b":"x"},{"a":"2","b":"y, \"z\""}]"#),
            (r#""a,b\r\n1,\r\n""#, r#"[{"a":"1","b":""}]"#),
            (r#""a\n\"l1\r\nl2\"""#, r#"[{"a":"l1\nl2"}]"#),
            (r#""a,b""#, "[]"),
            (r#""""#, "Call to function \"csvdecode\" failed: missing header line."),
            (r#""a,a""#, "Call to function \"csvdecode\" failed: duplicate column name \"a\"."),
            (r#""a,b\n1""#, "Call to function \"csvdecode\" failed: record on line 2: wrong number of fields."),
            (
                r#""a\nx\"y""#,
                "Call to function \"csvdecode\" failed: parse error on line 2, column 2: bare \" in non-quoted field.",
            ),
            (
                r#""a\nx\"y\n1""#,
                "Call to function \"csvdecode\" failed: parse error on line 2, column 2: bare \" in non-quoted field.",
            ),
            (
                r#""a,b\n\"x\ny\",a long field with a \" in it""#,
                "Call to function \"csvdecode\" failed: parse error on line 3, column 24: bare \" in non-quoted field.",
            ),
            (
                r#""a\n\"x""#,
                "Call to function \"csvdecode\" failed: parse error on line 2: extraneous or missing \" in quoted-field.",
            ),
        ] {
            check_json("csvdecode", text, expected);
        }
    }
}

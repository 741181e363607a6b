//! Reports JSON that does not match a type with the path of the wrong member.
//!
//! The path is found from the position of the error. `serde_path_to_error` finds it as well, but compiles the code that
//! reads a type a second time for every type, which was about a tenth of the program.

use serde::de::DeserializeOwned;

/// JSON that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
pub struct JsonError {
    /// Where in the document, such as `Jobs[2].Name`; empty for the document as a whole and for text that is not JSON.
    pub path: String,
    /// The problem, with line and column for parsed text.
    pub problem: String,
}

/// Reads JSON.
///
/// # Errors
/// The text is not JSON, or does not fit the type.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    serde_json::from_slice(bytes).map_err(|error| explained(bytes, error))
}

/// Reads a value that was kept as it came.
///
/// # Errors
/// It does not fit the type.
pub fn from_value<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T, JsonError> {
    // Values are read by way of their text, so that there is one reader for each type. Nobody has seen that text: line
    // and column would mean nothing.
    let text = value.to_string();
    serde_json::from_slice(text.as_bytes()).map_err(|error| {
        let position = format!(" at line {} column {}", error.line(), error.column());
        let JsonError { path, problem } = explained(text.as_bytes(), error);
        JsonError { path, problem: problem.strip_suffix(&position).map_or(problem.clone(), str::to_string) }
    })
}

/// Adds the path to an error that reading these bytes ended with.
pub fn explained(bytes: &[u8], error: serde_json::Error) -> JsonError {
    let path = if error.is_data() { path_at(bytes, error.line(), error.column()) } else { String::new() };
    JsonError { path, problem: error.to_string() }
}

/// A list or an object that is not closed yet.
enum Open {
    /// With the index of the current element.
    List(usize),
    /// With the last key.
    Object(String),
}

/// The path of the value that ends at a position, as `serde_json` counts: lines from 1, columns in bytes that were
/// read.
fn path_at(bytes: &[u8], line: usize, column: usize) -> String {
    let before: usize = bytes.split_inclusive(|b| *b == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    let end = before.saturating_add(column).min(bytes.len());
    let mut open: Vec<Open> = Vec::new();
    // Whether a text that begins now is a key.
    let mut key_next = false;
    let mut at = 0;
    while at < end {
        match bytes[at] {
            b'{' => {
                open.push(Open::Object(String::new()));
                key_next = true;
            }
            b'[' => open.push(Open::List(0)),
            b'}' | b']' => {
                open.pop();
                key_next = false;
            }
            b',' => match open.last_mut() {
                Some(Open::List(index)) => *index += 1,
                Some(Open::Object(_)) => key_next = true,
                None => {}
            },
            b'"' => {
                let length = text_length(&bytes[at..end]);
                if key_next && let Some(Open::Object(key)) = open.last_mut() {
                    *key = serde_json::from_slice(&bytes[at..at + length]).unwrap_or_default();
                }
                key_next = false;
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for part in &open {
        match part {
            Open::List(index) => path.push_str(&format!("[{index}]")),
            Open::Object(key) if key.is_empty() => {}
            Open::Object(key) if path.is_empty() => path.push_str(key),
            Open::Object(key) => path.push_str(&format!(".{key}")),
        }
    }
    path
}

/// How many bytes a text takes that begins with these, its quotes included.
fn text_length(bytes: &[u8]) -> usize {
    let mut escaped = false;
    let end = bytes.iter().skip(1).position(|b| {
        let ends = *b == b'"' && !escaped;
        escaped = *b == b'\\' && !escaped;
        ends
    });
    end.map_or(bytes.len(), |n| n + 2)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[allow(dead_code)]
    struct Inner {
        number: u8,
        #[serde(default)]
        list: Vec<Vec<bool>>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    #[allow(dead_code)]
    struct Outer {
        name: String,
        inner: Option<Inner>,
        all: Vec<Inner>,
        map: BTreeMap<String, Inner>,
    }

    #[test]
    fn errors_have_the_path_of_what_is_wrong() {
        for (text, path) in [
            (r#"{"name": 3}"#, "name"),
            (r#"{"name": "a", "inner": {"number": 300}}"#, "inner.number"),
            ("{\"name\": \"{[\\\"\",\n \"inner\": {\n  \"number\": \"x\"}}", "inner.number"),
            (r#"{"inner": {"list": []}}"#, "inner"),
            (r#"{"all": [{"number": 1, "list": [[], [true, false]]}, {"number": -1}]}"#, "all[1].number"),
            (r#"{"all": [{"number": 1, "list": [[], [true, 0]]}]}"#, "all[0].list[1][1]"),
            (r#"{"map": {"a\"b": {"number": 1}, "c": []}}"#, "map.c"),
            (r#"{"map": {"a\"}": {"number": null}}}"#, "map.a\"}.number"),
            ("7", ""),
        ] {
            let error = from_slice::<Outer>(text.as_bytes()).expect_err(text);
            assert_eq!(error.path, path, "{text}: {error}");
        }
    }

    #[test]
    fn text_that_is_not_json_has_a_position_alone() {
        let error = from_slice::<Outer>(br#"{"inner": {"number": }}"#).expect_err("no number");
        assert_eq!(error.to_string(), "expected value at line 1 column 22");
    }

    #[test]
    fn values_have_no_position() {
        let error = from_value::<Outer>(&json!({"all": [{"number": true}]})).expect_err("no number");
        assert_eq!(error.to_string(), "all[0].number: invalid type: boolean `true`, expected u8");
    }
}

//! How values are printed: the verbs of Go's fmt. `format`: texts with verbs. `scalar`: texts and numbers; `float`: digits
//! of floating point numbers.
//!
//! `format` of job files (`encamp_hcl`) only looks like `printf`: there a wrong verb or argument is an error, indexes may
//! stand anywhere, widths count grapheme clusters, and numbers have 512 bits.

mod float;
mod format;
mod scalar;

use crate::error::{Bound, Failure};
use crate::value::{List, Map, Object, Value};
pub(crate) use format::sprintf;
pub(crate) use scalar::printable;
use scalar::{float, integer, text};

/// A text that stays below a length.
pub(crate) struct Text {
    text: String,
    most: usize,
}

impl Text {
    pub(crate) fn new(most: usize) -> Text {
        Text { text: String::new(), most }
    }

    pub(crate) fn push(&mut self, text: &str) -> Result<(), Failure> {
        if self.text.len().saturating_add(text.len()) > self.most {
            return Err(Failure::Bound(Bound::Output));
        }
        self.text.push_str(text);
        Ok(())
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// A verb with its flags.
#[derive(Debug, Clone, Copy, Default)]
struct Verb {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
    letter: char,
}

impl Verb {
    /// Whether values are shown as Go writes them in programs (`%#v`).
    fn go_syntax(&self) -> bool {
        self.sharp && self.letter == 'v'
    }
}

const PLAIN: Verb = Verb {
    minus: false,
    plus: false,
    sharp: false,
    space: false,
    zero: false,
    width: None,
    precision: None,
    letter: 'v',
};

/// Prints a value as the output of an action.
pub(crate) fn output(value: &Value, out: &mut Text) -> Result<(), Failure> {
    if value.is_no_value() { out.push("<no value>") } else { show(value, &PLAIN, out) }
}

/// `print`: blanks only between values of which neither is a text.
pub(crate) fn sprint(values: &[Value], out: &mut Text) -> Result<(), Failure> {
    let mut after_text = true;
    for (n, value) in values.iter().enumerate() {
        let is_text = matches!(value, Value::String(_));
        if n > 0 && !is_text && !after_text {
            out.push(" ")?;
        }
        show(value, &PLAIN, out)?;
        after_text = is_text;
    }
    Ok(())
}

/// `println`.
pub(crate) fn sprintln(values: &[Value], out: &mut Text) -> Result<(), Failure> {
    for (n, value) in values.iter().enumerate() {
        if n > 0 {
            out.push(" ")?;
        }
        show(value, &PLAIN, out)?;
    }
    out.push("\n")
}

/// The text of one value, as `%v` prints it.
pub(crate) fn shown(value: &Value, most: usize) -> Result<String, Failure> {
    let mut out = Text::new(most);
    show(value, &PLAIN, &mut out)?;
    Ok(out.finish())
}

fn pad(text: &str, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    let missing = verb.width.unwrap_or(0).saturating_sub(text.chars().count());
    if missing == 0 {
        return out.push(text);
    }
    if out.text.len().saturating_add(missing) > out.most {
        return Err(Failure::Bound(Bound::Output));
    }
    let fill = if verb.zero { "0" } else { " " }.repeat(missing);
    if verb.minus {
        out.push(text)?;
        out.push(&fill)
    } else {
        out.push(&fill)?;
        out.push(text)
    }
}

fn wrong(value: &Value, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    out.push(&format!("%!{}(", verb.letter))?;
    show_with_type(value, out)?;
    out.push(")")
}

/// A value that a format does not fit, as `type=value`.
fn show_with_type(value: &Value, out: &mut Text) -> Result<(), Failure> {
    if value.is_nil() {
        return out.push("<nil>");
    }
    out.push(value.type_name())?;
    out.push("=")?;
    show(value, &PLAIN, out)
}

fn show(value: &Value, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    let letter = verb.letter;
    if letter == 'T' {
        let name = if value.is_nil() { "<nil>" } else { value.type_name() };
        return text(name, &Verb { letter: 's', ..*verb }, out);
    }
    match value {
        Value::Missing | Value::Nil | Value::TypedNil if letter == 'v' => pad("<nil>", verb, out),
        Value::Bool(b) if matches!(letter, 'v' | 't') => pad(if *b { "true" } else { "false" }, verb, out),
        Value::String(s) if of_texts(letter) => text(s, verb, out),
        Value::Missing | Value::Nil | Value::TypedNil | Value::Bool(_) | Value::String(_) => wrong(value, verb, out),
        Value::Int(n) => integer(*n, value, verb, out),
        Value::Float(f) => float(*f, value, verb, out),
        Value::List(list) => show_list(list, verb, out),
        Value::Map(map) => show_map(map, verb, out),
        Value::Object(object) => match (&object.text, &object.entries) {
            (Some(own), _) => text(own, verb, out),
            (None, Some(map)) => show_map(map, verb, out),
            (None, None) => show_fields(object, verb, out),
        },
        Value::Time(time) => text(&time.format("2006-01-02 15:04:05.999999999 -0700 MST"), verb, out),
        Value::Scratch => text("scratch", verb, out),
    }
}

/// Whether a verb can show texts.
fn of_texts(letter: char) -> bool {
    matches!(letter, 'v' | 's' | 'q' | 'x' | 'X')
}

fn show_list(list: &List, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    let (open, between, close) = match verb.go_syntax() {
        true => ("[]interface {}{", ", ", "}"),
        false => ("[", " ", "]"),
    };
    out.push(open)?;
    for (n, item) in list.items().iter().enumerate() {
        if n > 0 {
            out.push(between)?;
        }
        show(item, verb, out)?;
    }
    out.push(close)
}

fn show_map(map: &Map, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    let (open, between, close) = match verb.go_syntax() {
        true => ("map[string]interface {}{", ", ", "}"),
        false => ("map[", " ", "]"),
    };
    out.push(open)?;
    for (n, (key, item)) in map.entries().iter().enumerate() {
        if n > 0 {
            out.push(between)?;
        }
        if of_texts(verb.letter) {
            text(key, verb, out)?;
        } else {
            wrong(&Value::text(key.clone()), verb, out)?;
        }
        out.push(":")?;
        show(item, verb, out)?;
    }
    out.push(close)
}

fn show_fields(object: &Object, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    out.push("{")?;
    for (n, field) in object.fields.values().enumerate() {
        if n > 0 {
            out.push(" ")?;
        }
        show(field, verb, out)?;
    }
    out.push("}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (f, want) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.5, "0.5"),
            (1e6, "1e+06"),
            (123_456.0, "123456"),
            (1e-5, "1e-05"),
            (0.000_123, "0.000123"),
        ] {
            assert_eq!(shown(&Value::Float(f), 99).unwrap(), want);
        }
    }
}

//! How values are printed: the verbs of Go's fmt.

mod float;

use std::fmt::Write;

use crate::error::{Bound, Failure};
use crate::value::Value;
use float::{exponential, general};

/// A text that stays below a length.
pub(crate) struct Text {
    text: String,
    most: usize,
}

/// The longest width or precision of a verb.
const MAX_WIDTH: usize = 1_000_000;

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

/// `printf`.
pub(crate) fn sprintf(format: &str, args: &[Value], out: &mut Text) -> Result<(), Failure> {
    let (mut next, mut reordered) = (0, false);
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, from) = rest.split_at(at);
        out.push(before)?;
        let mut chars = from.char_indices().skip(1).peekable();
        let mut verb = PLAIN;
        while let Some((_, flag)) = chars.peek().copied() {
            match flag {
                '-' => verb.minus = true,
                '+' => verb.plus = true,
                '#' => verb.sharp = true,
                ' ' => verb.space = true,
                '0' => verb.zero = true,
                _ => break,
            }
            chars.next();
        }
        let mut bad_index = false;
        let mut index = |chars: &mut std::iter::Peekable<_>, next: &mut usize, bad: &mut bool| {
            let chars: &mut std::iter::Peekable<std::iter::Skip<std::str::CharIndices<'_>>> = chars;
            if chars.peek().is_none_or(|(_, c)| *c != '[') {
                return false;
            }
            let (at, _) = chars.peek().copied().unwrap_or_default();
            let inner = from.get(at + 1..).unwrap_or_default();
            let Some(end) = inner.find(']') else {
                *bad = true;
                reordered = true;
                chars.next();
                return true;
            };
            let number = inner.get(..end).and_then(|t| t.parse::<usize>().ok());
            for _ in 0..inner.get(..end).unwrap_or_default().chars().count() + 2 {
                chars.next();
            }
            match number {
                Some(n) if (1..=args.len()).contains(&n) => *next = n - 1,
                _ => *bad = true,
            }
            reordered = true;
            true
        };
        index(&mut chars, &mut next, &mut bad_index);
        let number = |chars: &mut std::iter::Peekable<std::iter::Skip<std::str::CharIndices<'_>>>,
                      next: &mut usize,
                      out: &mut Text,
                      what: &str|
         -> Result<(Option<usize>, bool), Failure> {
            if chars.peek().is_some_and(|(_, c)| *c == '*') {
                chars.next();
                let value = args.get(*next).cloned();
                *next += 1;
                return match value {
                    Some(Value::Int(n)) if n.unsigned_abs() <= MAX_WIDTH as u64 => {
                        Ok((usize::try_from(n.unsigned_abs()).ok(), n < 0))
                    }
                    _ => {
                        out.push(what)?;
                        Ok((None, false))
                    }
                };
            }
            let mut found = None;
            while let Some((_, digit)) = chars.peek().copied().filter(|(_, c)| c.is_ascii_digit()) {
                let digit = digit.to_digit(10).unwrap_or(0) as usize;
                found = Some((found.unwrap_or(0_usize) * 10 + digit).min(MAX_WIDTH + 1));
                chars.next();
            }
            Ok((found.filter(|n| *n <= MAX_WIDTH), false))
        };
        let (width, negative) = number(&mut chars, &mut next, out, "%!(BADWIDTH)")?;
        verb.width = width;
        verb.minus |= negative;
        if chars.peek().is_some_and(|(_, c)| *c == '.') {
            chars.next();
            index(&mut chars, &mut next, &mut bad_index);
            let (precision, negative) = number(&mut chars, &mut next, out, "%!(BADPREC)")?;
            verb.precision = if negative { None } else { Some(precision.unwrap_or(0)) };
        }
        index(&mut chars, &mut next, &mut bad_index);
        if verb.minus {
            verb.zero = false;
        }
        let Some((at, letter)) = chars.next() else {
            out.push("%!(NOVERB)")?;
            rest = "";
            break;
        };
        rest = from.get(at + letter.len_utf8()..).unwrap_or_default();
        verb.letter = letter;
        // As a flag of `v` it asks for the names of fields, not for signs.
        verb.plus &= letter != 'v';
        if letter == '%' {
            out.push("%")?;
        } else if bad_index {
            out.push(&format!("%!{letter}(BADINDEX)"))?;
        } else if let Some(value) = args.get(next) {
            next += 1;
            show(value, &verb, out)?;
        } else {
            out.push(&format!("%!{letter}(MISSING)"))?;
        }
    }
    out.push(rest)?;
    if !reordered && next < args.len() {
        out.push("%!(EXTRA ")?;
        for (n, value) in args.iter().enumerate().skip(next) {
            if n > next {
                out.push(", ")?;
            }
            if value.is_nil() {
                out.push("<nil>")?;
            } else {
                out.push(value.type_name())?;
                out.push("=")?;
                show(value, &PLAIN, out)?;
            }
        }
        out.push(")")?;
    }
    Ok(())
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
    if value.is_nil() {
        out.push("<nil>")?;
    } else {
        out.push(value.type_name())?;
        out.push("=")?;
        show(value, &PLAIN, out)?;
    }
    out.push(")")
}

fn show(value: &Value, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    if verb.letter == 'T' {
        let name = if value.is_nil() { "<nil>" } else { value.type_name() };
        return text(name, &Verb { letter: 's', ..*verb }, out);
    }
    match value {
        Value::Missing | Value::Nil | Value::TypedNil => match verb.letter {
            'v' => pad("<nil>", verb, out),
            _ => wrong(value, verb, out),
        },
        Value::Bool(b) => match verb.letter {
            'v' | 't' => pad(if *b { "true" } else { "false" }, verb, out),
            _ => wrong(value, verb, out),
        },
        Value::Int(n) => integer(*n, value, verb, out),
        Value::Float(f) => float(*f, value, verb, out),
        Value::String(s) => match verb.letter {
            'v' | 's' | 'q' | 'x' | 'X' => text(s, verb, out),
            _ => wrong(value, verb, out),
        },
        Value::List(list) => {
            let (open, between, close) =
                if verb.sharp && verb.letter == 'v' { ("[]interface {}{", ", ", "}") } else { ("[", " ", "]") };
            out.push(open)?;
            for (n, item) in list.items().iter().enumerate() {
                if n > 0 {
                    out.push(between)?;
                }
                show(item, verb, out)?;
            }
            out.push(close)
        }
        Value::Map(map) => {
            let sharp = verb.sharp && verb.letter == 'v';
            out.push(if sharp { "map[string]interface {}{" } else { "map[" })?;
            for (n, (key, item)) in map.entries().iter().enumerate() {
                if n > 0 {
                    out.push(if sharp { ", " } else { " " })?;
                }
                match verb.letter {
                    'v' | 's' | 'q' | 'x' | 'X' => text(key, verb, out)?,
                    _ => wrong(&Value::text(key.clone()), verb, out)?,
                }
                out.push(":")?;
                show(item, verb, out)?;
            }
            out.push(if sharp { "}" } else { "]" })
        }
        Value::Object(object) => match (&object.text, &object.entries) {
            (Some(own), _) => text(own, verb, out),
            (None, Some(map)) => show(&Value::Map(map.clone()), verb, out),
            (None, None) => {
                out.push("{")?;
                for (n, field) in object.fields.values().enumerate() {
                    if n > 0 {
                        out.push(" ")?;
                    }
                    show(field, verb, out)?;
                }
                out.push("}")
            }
        },
        Value::Time(time) => text(&time.format("2006-01-02 15:04:05.999999999 -0700 MST"), verb, out),
        Value::Scratch => text("scratch", verb, out),
    }
}

fn text(s: &str, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    let cut = |s: &str| match verb.precision {
        Some(most) => s.chars().take(most).collect::<String>(),
        None => s.to_string(),
    };
    match verb.letter {
        'q' => pad(&quote(&cut(s), verb), verb, out),
        'v' if verb.sharp => pad(&quote(&cut(s), &Verb { sharp: false, plus: false, ..*verb }), verb, out),
        'x' | 'X' => {
            let bytes = s.as_bytes();
            let bytes = bytes.get(..verb.precision.unwrap_or(bytes.len()).min(bytes.len())).unwrap_or_default();
            let mut hex = String::with_capacity(2 * bytes.len());
            for (n, byte) in bytes.iter().enumerate() {
                if n > 0 && verb.space {
                    hex.push(' ');
                }
                if verb.sharp && (n == 0 || verb.space) {
                    hex.push_str(if verb.letter == 'x' { "0x" } else { "0X" });
                }
                let _ = if verb.letter == 'x' { write!(hex, "{byte:02x}") } else { write!(hex, "{byte:02X}") };
            }
            pad(&hex, verb, out)
        }
        _ => pad(&cut(s), verb, out),
    }
}

/// A text in double quotes, or in raw quotes with `#`.
fn quote(s: &str, verb: &Verb) -> String {
    let raw = s.chars().all(|c| c != '`' && c != '\u{feff}' && c != '\u{7f}' && (c == '\t' || c >= ' '));
    if verb.sharp && raw {
        return format!("`{s}`");
    }
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    s.chars().for_each(|c| escape(c, '"', verb.plus, &mut out));
    out.push('"');
    out
}

/// Whether Go prints a character as it is.
pub(crate) fn printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\u{0}'..='\u{a0}' | '\u{ad}' | '\u{feff}' | '\u{fffe}'.. if c <= '\u{ffff}' => false,
        _ => {
            !c.is_control()
                && !c.is_whitespace()
                && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}')
        }
    }
}

fn escape(c: char, quote: char, ascii: bool, out: &mut String) {
    match c {
        _ if c == quote || c == '\\' => out.extend(['\\', c]),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        _ if printable(c) && (!ascii || c.is_ascii()) => out.push(c),
        _ => {
            let code = u32::from(c);
            let _ = match code {
                0..=0x7f => write!(out, "\\x{code:02x}"),
                0x80..=0xffff => write!(out, "\\u{code:04x}"),
                _ => write!(out, "\\U{code:08x}"),
            };
        }
    }
}

fn integer(n: i64, value: &Value, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    let (digits, prefix) = match verb.letter {
        'v' | 'd' => (n.unsigned_abs().to_string(), ""),
        'b' => (format!("{:b}", n.unsigned_abs()), if verb.sharp { "0b" } else { "" }),
        'o' => (format!("{:o}", n.unsigned_abs()), if verb.sharp { "0" } else { "" }),
        'O' => (format!("{:o}", n.unsigned_abs()), "0o"),
        'x' => (format!("{:x}", n.unsigned_abs()), if verb.sharp { "0x" } else { "" }),
        'X' => (format!("{:X}", n.unsigned_abs()), if verb.sharp { "0X" } else { "" }),
        'c' | 'q' | 'U' => {
            let c = u32::try_from(n).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            return match verb.letter {
                'c' => pad(&c.to_string(), verb, out),
                'q' => {
                    let mut quoted = String::from("'");
                    escape(c, '\'', verb.plus, &mut quoted);
                    quoted.push('\'');
                    pad(&quoted, verb, out)
                }
                _ => {
                    let mut text = format!("U+{:04X}", n.cast_unsigned());
                    if verb.sharp && u32::try_from(n).ok().and_then(char::from_u32).is_some_and(printable) {
                        let _ = write!(text, " '{c}'");
                    }
                    pad(&text, &Verb { zero: false, ..*verb }, out)
                }
            };
        }
        _ => return wrong(value, verb, out),
    };
    let sign = match n {
        ..0 => "-",
        _ if verb.plus => "+",
        _ if verb.space => " ",
        _ => "",
    };
    let mut digits = digits;
    if let Some(least) = verb.precision {
        if least == 0 && n == 0 {
            return pad("", &Verb { zero: false, ..*verb }, out);
        }
        digits = format!("{digits:0>least$}");
    } else if verb.zero {
        // Zeros come behind the sign; the prefix of a base does not count.
        let least = verb.width.unwrap_or(0).saturating_sub(sign.len());
        digits = format!("{digits:0>least$}");
    }
    let digits =
        if verb.letter == 'o' && verb.sharp && digits.starts_with('0') { digits } else { format!("{prefix}{digits}") };
    pad(&format!("{sign}{digits}"), &Verb { zero: false, ..*verb }, out)
}

fn float(f: f64, value: &Value, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
    if !matches!(verb.letter, 'v' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G') {
        return wrong(value, verb, out);
    }
    if verb.precision.is_some_and(|p| p > 1000) {
        return Err(Failure::Bound(Bound::Output));
    }
    let magnitude = f.abs();
    let mut body = if f.is_nan() {
        "NaN".to_string()
    } else if f.is_infinite() {
        "Inf".into()
    } else {
        match verb.letter {
            'e' | 'E' => exponential(magnitude, Some(verb.precision.unwrap_or(6))),
            'f' | 'F' => format!("{magnitude:.*}", verb.precision.unwrap_or(6)),
            _ => general(magnitude, verb.precision),
        }
    };
    if matches!(verb.letter, 'E' | 'G') {
        body = body.replace('e', "E");
    }
    let sign = if f.is_sign_negative() && !f.is_nan() {
        "-"
    } else if verb.plus {
        "+"
    } else if verb.space {
        " "
    } else if f.is_infinite() {
        "+"
    } else {
        ""
    };
    if verb.zero && f.is_finite() {
        let least = verb.width.unwrap_or(0).saturating_sub(sign.len());
        body = format!("{body:0>least$}");
    }
    pad(&format!("{sign}{body}"), &Verb { zero: false, ..*verb }, out)
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

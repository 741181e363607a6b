//! Texts and numbers by a verb.

use std::fmt::Write;

use super::float::{exponential, general};
use super::{Text, Verb, pad, wrong};
use crate::error::{Bound, Failure};
use crate::value::Value;

pub(super) fn text(s: &str, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
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

pub(super) fn integer(n: i64, value: &Value, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
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

pub(super) fn float(f: f64, value: &Value, verb: &Verb, out: &mut Text) -> Result<(), Failure> {
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

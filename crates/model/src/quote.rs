//! Quoted texts and floats in messages and diffs (`docs/spec/cli.md §3.4`, `docs/spec/jobspec.md §17.2`).

use std::fmt::Write;

/// `s` in double quotes, with quotes, backslashes and control characters escaped; printable Unicode stays.
pub fn quoted(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if is_printable(c) => out.push(c),
            // Writing to a string cannot fail.
            c if (c as u32) < 0x80 => drop(write!(out, "\\x{:02x}", c as u32)),
            c if (c as u32) < 0x1_0000 => drop(write!(out, "\\u{:04x}", c as u32)),
            c => drop(write!(out, "\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}

/// The first eight characters of an ID, as tables show it.
pub fn short_id(id: &str) -> &str {
    let end = id.char_indices().nth(8).map(|(at, _)| at);
    end.and_then(|end| id.get(..end)).unwrap_or(id)
}

/// Letters, marks, numbers, punctuation, symbols and the ASCII space.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    // Behind another character, a combining mark is printable by itself too.
    let mut text = String::from("a");
    text.push(c);
    text.escape_debug().count() == 2
}

/// A float: the shortest digits that round-trip, in exponent form when the exponent is below -4 or from
/// `exponent_from` up; the exponent has a sign and at least two digits.
pub fn float_text(f: f64, exponent_from: i32) -> String {
    let scientific = format!("{f:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(x) if !(-4..exponent_from).contains(&x) => {
            format!("{mantissa}e{}{:02}", if x < 0 { '-' } else { '+' }, x.abs())
        }
        _ => format!("{f}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{float_text, quoted, short_id};

    #[test]
    fn ids_are_cut_to_eight_characters() {
        let ids = ["a1b2c3d4-0000", "a1b2c3d4", "abc", "", "ééééééééé"];
        assert_eq!(ids.map(short_id), ["a1b2c3d4", "a1b2c3d4", "abc", "", "éééééééé"]);
    }

    #[test]
    fn floats_have_exponents_from_a_size_on() {
        for (f, from, want) in [
            (999_999.5, 6, "999999.5"),
            (1e6, 6, "1e+06"),
            (1e6, 21, "1000000"),
            (1e21, 21, "1e+21"),
            (0.0001, 6, "0.0001"),
            (-0.000_012, 6, "-1.2e-05"),
            (f64::INFINITY, 6, "inf"),
        ] {
            assert_eq!(float_text(f, from), want);
        }
    }

    #[test]
    fn control_characters_are_escaped_and_unicode_stays() {
        for (s, want) in [
            ("", r#""""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\x07\x08\x0c\n\r\t\x0b\x01\x7f", r#""\a\b\f\n\r\t\v\x01\x7f""#),
            ("é 世界 e\u{301}", "\"é 世界 e\u{301}\""),
            ("\u{85}\u{200b}\u{a0}\u{e0001}", r#""\u0085\u200b\u00a0\U000e0001""#),
        ] {
            assert_eq!(quoted(s), want);
        }
    }
}

//! Rendered files that are environments: lines `KEY=value`.

use std::collections::BTreeMap;

/// Why a text is no environment. Does not show the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotParsed {
    /// A line without `=`.
    #[error("line {0} has no \"=\"")]
    NoSign(usize),
    /// A name that no variable can have.
    #[error("line {0} has no valid name before the \"=\"")]
    Name(usize),
    /// A quote that is not closed.
    #[error("line {0} has a quote that is not closed")]
    Quote(usize),
}

/// The variables of a text. Values may be in single quotes, which keep all as it is, or in double quotes, which know
/// `\n`, `\r`, `\t`, `\"` and `\\` and may span lines. `#` at the start of a line, or after a blank behind a value
/// without quotes, begins a comment.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, String>, NotParsed> {
    let mut out = BTreeMap::new();
    let mut rest = text;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            rest = after;
            continue;
        }
        let (name, value) = line.split_once('=').ok_or(NotParsed::NoSign(number))?;
        let name = name.trim();
        let name = name.strip_prefix("export ").map_or(name, str::trim_start);
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"' || c == '\'') {
            return Err(NotParsed::Name(number));
        }
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            let cut = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
            let value = if value.starts_with('#') { "" } else { value.get(..cut).unwrap_or_default() };
            out.insert(name.to_string(), value.trim_end().to_string());
            rest = after;
            continue;
        };
        // A value in quotes may go on behind the end of the line.
        let from = rest.len() - after.len() - usize::from(line.len() < rest.len()) - value.len();
        let quoted = rest.get(from + 1..).unwrap_or_default();
        let (value, length) = unquoted(quoted, quote).ok_or(NotParsed::Quote(number))?;
        number += quoted.get(..length).unwrap_or_default().matches('\n').count();
        out.insert(name.to_string(), value);
        let behind = quoted.get(length..).unwrap_or_default();
        rest = behind.split_once('\n').map_or("", |(_, rest)| rest);
    }
    Ok(out)
}

/// The value up to its quote, and the bytes up to behind the quote.
fn unquoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Some((out, at + 1)),
            '\\' if quote == '"' => match chars.next()?.1 {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                other @ ('"' | '\\' | '$' | '`') => out.push(other),
                other => out.extend(['\\', other]),
            },
            _ => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let text = "# comment\n\nA=1\nexport B = two words # c\nC=\"x\\ny \\\"q\\\" # no\" # c\nD='a\\n $x'\nE=\nF=#x\nG=\"1\n2\"\nH=a#b\r\nI=x=y";
        let got = parse(text).unwrap();
        let want = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "x\ny \"q\" # no"),
            ("D", "a\\n $x"),
            ("E", ""),
            ("F", ""),
            ("G", "1\n2"),
            ("H", "a#b"),
            ("I", "x=y"),
        ];
        assert_eq!(got, want.map(|(k, v)| (k.to_string(), v.to_string())).into());
        assert_eq!(parse("A=1\nnope"), Err(NotParsed::NoSign(2)));
        assert_eq!(parse("=1"), Err(NotParsed::Name(1)));
        assert_eq!(parse("a b=1"), Err(NotParsed::Name(1)));
        assert_eq!(parse("A=\"1\n2\"\nB='x"), Err(NotParsed::Quote(3)));
    }
}

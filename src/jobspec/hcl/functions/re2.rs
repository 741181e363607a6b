//! Regular expressions in RE2 syntax on top of the `regex` crate, whose syntax differs in a few places: `\d \w \s \b`
//! know ASCII only, a `[` or a doubled operator inside a class is literal, and `\Q…\E` quotes.

use regex::{Regex, RegexBuilder};

/// Largest compiled program, in bytes.
const MAX_PROGRAM: usize = 10 << 20;

/// Compiles an RE2 pattern, or tells what is wrong with it.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let compiled = RegexBuilder::new(&translate(pattern)).octal(true).size_limit(MAX_PROGRAM).build();
    compiled.map_err(|error| {
        let text = match &error {
            regex::Error::CompiledTooBig(_) => "expression too large".to_string(),
            // The library's text shows the pattern over several lines and ends with the reason.
            other => other.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_string(),
        };
        format!("error parsing regexp: {text}: `{pattern}`")
    })
}

/// The same pattern in the syntax of the `regex` crate.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    // Position in the class, so that a `]` in first place is literal.
    let mut class_start = false;
    while let Some(c) = rest.next() {
        let first = std::mem::take(&mut class_start);
        match c {
            '\\' => match rest.next() {
                Some('Q') => quote(&mut rest, &mut out),
                Some(class @ ('d' | 'w' | 's' | 'D' | 'W' | 'S')) => out.push_str(perl_class(class, in_class)),
                Some(boundary @ ('b' | 'B')) if !in_class => {
                    out.push_str(if boundary == 'b' { "(?-u:\\b)" } else { "(?-u:\\B)" });
                }
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            '[' if rest.peek() == Some(&':') => out.push('['),
            ']' if in_class && first => out.push_str("\\]"),
            ':' if in_class && rest.peek() == Some(&']') && out.rfind("[:").is_some_and(|at| posix(&out, at)) => {
                rest.next();
                out.push_str(":]");
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '[' | '&' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && rest.peek() == Some(&'-') => out.push_str("\\-"),
            other => out.push(other),
        }
    }
    out
}

/// Whether what follows `[:` at a position is the name of a character class so far.
fn posix(out: &str, at: usize) -> bool {
    out.get(at + 2..).is_some_and(|name| name.trim_start_matches('^').chars().all(|c| c.is_ascii_lowercase()))
}

/// Copies everything up to `\E` as literal text.
fn quote(rest: &mut std::iter::Peekable<std::str::Chars>, out: &mut String) {
    while let Some(c) = rest.next() {
        if c == '\\' && rest.next_if_eq(&'E').is_some() {
            return;
        }
        out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

/// The ASCII meaning of `\d` and its kin, inside or outside a class.
fn perl_class(class: char, in_class: bool) -> &'static str {
    match (class, in_class) {
        ('d', false) => "[0-9]",
        ('D', false) => "[^0-9]",
        ('w', false) => "[0-9A-Za-z_]",
        ('W', false) => "[^0-9A-Za-z_]",
        ('s', false) => "[\\t\\n\\f\\r ]",
        ('S', false) => "[^\\t\\n\\f\\r ]",
        ('d', true) => "0-9",
        ('w', true) => "0-9A-Za-z_",
        ('s', true) => "\\t\\n\\f\\r ",
        ('D', true) => "[^0-9]",
        ('W', true) => "[^0-9A-Za-z_]",
        _ => "[^\\t\\n\\f\\r ]",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_the_syntaxes() {
        for (pattern, text, matched) in [
            (r"^\d+$", "123", true),
            (r"^\d+$", "١٢٣", false),
            (r"^[\w-]+$", "a-b_1", true),
            (r"^\w+$", "é", false),
            (r"é\b", "é", false),
            (r"a\B", "ab", true),
            (r"^[[a]+$", "[a", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]a]+$", "b", true),
            (r"^[a&&b]+$", "&ab", true),
            (r"^[a~~b]+$", "~", true),
            (r"^[[:alpha:]_]+$", "ab_", true),
            (r"^[[:^alpha:]]+$", "12", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b", "axb", false),
            (r"^\141$", "a", true),
            (r"^[\S]+$", "ab", true),
            (r"(?i)É", "é", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), matched, "{pattern} on {text}");
        }
    }

    #[test]
    fn broken_patterns() {
        for pattern in ["(", "[a", "a{2,1}", "\\", "*", "(?<n", "\\Z", "((a{1000}){1000}){1000}"] {
            let text = compile(pattern).unwrap_err();
            assert!(text.starts_with("error parsing regexp: ") && text.ends_with(&format!(": `{pattern}`")), "{text}");
        }
    }
}

//! Calls of functions that other tools have, as expressions of job files.

use super::{Edit, Repair};
use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::token::Kind;

/// A function, and the expression that stands for its call: `$1` and `$2` are the arguments.
const CALLS: [(&str, &str); 20] = [
    ("alltrue", "!contains($1, false)"),
    ("anytrue", "contains($1, true)"),
    ("endswith", "trimsuffix($1, $2) != $1"),
    ("filemd5", "md5(file($1))"),
    ("filesha1", "sha1(file($1))"),
    ("filesha256", "sha256(file($1))"),
    ("filesha512", "sha512(file($1))"),
    ("nonsensitive", "$1"),
    ("one", "try($1[0], null)"),
    ("sensitive", "$1"),
    ("startswith", "trimprefix($1, $2) != $1"),
    ("strcontains", "length(split($2, $1)) > 1"),
    ("textdecodebase64", "base64decode($1)"),
    ("textencodebase64", "base64encode($1)"),
    ("tobool", "convert($1, bool)"),
    ("tolist", "convert($1, list(string))"),
    ("tomap", "convert($1, map(string))"),
    ("tonumber", "convert($1, number)"),
    ("toset", "convert($1, set(string))"),
    ("tostring", "convert($1, string)"),
];

/// The same value as that of a call whose name begins at a byte. A call of the function `uuid` needs another name only.
pub(in crate::explain) fn rewritten_call(text: &str, start: usize, name: &str) -> Option<Repair> {
    if name == "uuid" {
        return Some(Repair::rename(start, start + name.len(), "uuidv4"));
    }
    let (_, template) = CALLS.iter().find(|(known, _)| *known == name)?;
    let rest = text.get(start + name.len()..)?;
    let (arguments, length) = arguments(rest)?;
    let first = arguments.first()?;
    let mut new = template.replace("$1", first);
    if template.contains("$2") {
        new = new.replace("$2", arguments.get(1)?);
    }
    let edit = Edit::new(start, start + name.len() + length, &new);
    (new.len() < 200).then(|| Repair::certain(format!("Write {new}"), [edit]))
}

/// The arguments of a call at the beginning of a text, and how long it is with its parentheses.
fn arguments(text: &str) -> Option<(Vec<&str>, usize)> {
    let mut depth = 0_usize;
    let mut from = 0;
    let mut out = Vec::new();
    for token in lex(text, 0, Start::Normal) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        match token.kind {
            Kind::OParen if depth == 0 => {
                depth = 1;
                from = end;
            }
            _ if depth == 0 => return None,
            Kind::Comma if depth == 1 => {
                out.push(text.get(from..start)?.trim());
                from = end;
            }
            Kind::CParen if depth == 1 => {
                out.push(text.get(from..start)?.trim());
                return Some((out, end));
            }
            Kind::OParen | Kind::OBrack | Kind::OBrace | Kind::Interp | Kind::Control => depth += 1,
            Kind::CParen | Kind::CBrack | Kind::CBrace | Kind::SeqEnd => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_expressions_with_their_arguments() {
        assert!(CALLS.is_sorted_by_key(|(name, _)| *name));
        for (call, want) in [
            ("tostring(2)", "convert(2, string)"),
            ("tolist([\"a\", f(1, 2)])", "convert([\"a\", f(1, 2)], list(string))"),
            ("startswith(\"${x(1, 2)},\", \"b\")", "trimprefix(\"${x(1, 2)},\", \"b\") != \"${x(1, 2)},\""),
            ("uuid()", "uuidv4()"),
        ] {
            let name = call.split('(').next().unwrap();
            let repair = rewritten_call(call, 0, name).unwrap_or_else(|| panic!("{call}"));
            assert_eq!(repair.apply(call).as_deref(), Some(want));
        }
        for call in ["tostring", "tostring(", "tostring()x", "startswith(\"a\")", "unknown(1)"] {
            let repair = rewritten_call(call, 0, call.split('(').next().unwrap());
            assert!(repair.is_none_or(|r| r.apply(call).is_some_and(|new| new.starts_with("convert("))), "{call}");
        }
    }
}

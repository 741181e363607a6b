//! Values of a job file.

use hcl_edit::expr::{Array, Expression, Null, Object, ObjectKey, ObjectValue, Parenthesis};
use hcl_edit::structure::{Attribute, Block, Body};
use hcl_edit::template::{Element, HeredocTemplate, Interpolation, StringTemplate, Template};
use hcl_edit::{Decorate, Ident, Number, Spanned};
use serde_json::{Map, Value as Json};

/// The delimiter of texts with several lines.
const DELIMITER: &str = "EOT";

/// Whether a text can be the name of an attribute or a block.
pub(super) fn is_name(text: &str) -> bool {
    hcl_edit::Ident::try_new(text).is_ok()
}

/// Whether there is nothing in a value, however deep.
pub(super) fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Object(members) => members.values().all(is_empty),
        Json::Array(items) => items.is_empty(),
        Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

/// Any value.
pub(super) fn expression(value: &Json) -> Expression {
    match value {
        Json::Null => Expression::Null(Null.into()),
        Json::Bool(set) => Expression::from(*set),
        Json::Number(number) => Expression::from(hcl_number(number)),
        Json::String(text) => self::text(text),
        Json::Array(items) => Expression::Array(items.iter().map(nested).collect::<Array>()),
        Json::Object(members) => object(members),
    }
}

/// A value in a list or an object. Texts are quoted: behind a heredoc, the line has to end.
fn nested(value: &Json) -> Expression {
    match value {
        Json::String(text) => quoted(text),
        other => expression(other),
    }
}

fn hcl_number(number: &serde_json::Number) -> Number {
    match (number.as_i64(), number.as_u64()) {
        (Some(n), _) => Number::from(n),
        (_, Some(n)) => Number::from(n),
        // JSON has no infinite numbers.
        (None, None) => number.as_f64().and_then(Number::from_f64).unwrap_or_else(|| Number::from(0)),
    }
}

/// A map as an object.
pub(super) fn object(members: &Map<String, Json>) -> Expression {
    let mut out = Object::new();
    for (name, value) in members {
        let key =
            if is_name(name) { ObjectKey::from(Ident::new_unchecked(name)) } else { ObjectKey::Expression(text(name)) };
        out.insert(key, ObjectValue::new(nested(value)));
    }
    Expression::from(out)
}

/// Nanoseconds as the shortest text with units, such as `1h30m`.
pub(super) fn duration(value: &Json) -> Expression {
    match value.as_i64() {
        Some(nanos) => Expression::from(duration_text(nanos)),
        None => expression(value),
    }
}

pub(super) fn duration_text(nanos: i64) -> String {
    let units =
        [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let mut rest = nanos.unsigned_abs();
    if rest == 0 {
        return "0s".into();
    }
    let mut out = String::from(if nanos < 0 { "-" } else { "" });
    for (unit, size) in units {
        if rest >= size {
            out.push_str(&format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    if rest > 0 {
        out.push_str(&format!("{rest}ns"));
    }
    out
}

/// A text: with the names that a parser leaves as they are, such as `${attr.kernel.name}`; one of several lines as a
/// heredoc.
pub(super) fn text(text: &str) -> Expression {
    if is_document(text) {
        let ident = Ident::new_unchecked(DELIMITER);
        return Expression::HeredocTemplate(Box::new(HeredocTemplate::new(ident, template(text))));
    }
    quoted(text)
}

fn quoted(text: &str) -> Expression {
    if text.contains("${") || text.contains("%{") {
        return Expression::StringTemplate(StringTemplate::from_iter(template(text)));
    }
    Expression::from(text)
}

/// Whether a text has several lines that a heredoc can hold.
fn is_document(text: &str) -> bool {
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    text.ends_with('\n')
        && text.lines().count() > 1
        && text.chars().all(plain)
        && text.lines().all(|line| line.trim() != DELIMITER)
}

fn template(text: &str) -> Template {
    let mut elements: Vec<Element> = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, at) = rest.split_at(start);
        literal.push_str(before);
        match kept_name(at).filter(|_| !literal.ends_with(['$', '%'])) {
            Some((name, end)) => {
                if !literal.is_empty() {
                    elements.push(Element::Literal(Spanned::new(std::mem::take(&mut literal))));
                }
                elements.push(Element::Interpolation(Interpolation::new(name)));
                rest = &at[end..];
            }
            None => {
                literal.push_str("${");
                rest = &at[2..];
            }
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        elements.push(Element::Literal(Spanned::new(literal)));
    }
    elements.into_iter().collect()
}

/// A name such as `${attr.kernel.name}` at the start of a text that a parser leaves as it is, and where it ends. Names of
/// variables and locals are looked up, so they are not.
fn kept_name(text: &str) -> Option<(Expression, usize)> {
    let inner = text.strip_prefix("${")?;
    let (name, _) = inner.split_once('}')?;
    let mut parts = name.split('.');
    let root = parts.next()?;
    let known = matches!(root, "attr" | "meta" | "node" | "env" | "device") || root.starts_with("NOMAD_");
    if !known || !name.split('.').all(is_name) {
        return None;
    }
    let expression: Expression = name.parse().ok()?;
    Some((expression, "${".len() + name.len() + "}".len()))
}

/// A body of any content, such as a task's `config` (`docs/spec/jobspec.md §3.3`): lists of objects are blocks.
pub(super) fn free(members: &Map<String, Json>) -> Body {
    let mut body = Body::new();
    let (blocks, attributes): (Vec<_>, Vec<_>) = members.iter().partition(|(_, value)| blocks(value).is_some());
    for (name, value) in attributes {
        let value = match value {
            // An object literal stands for a list of one object; in parentheses it is an object.
            Json::Object(_) => Expression::from(Parenthesis::new(expression(value))),
            other => expression(other),
        };
        body.push(Attribute::new(Ident::new_sanitized(name), value));
    }
    for (name, value) in blocks {
        for members in self::blocks(value).into_iter().flatten() {
            let mut block = Block::new(Ident::new_sanitized(name));
            block.body = free(members);
            if !body.is_empty() {
                block.decor_mut().set_prefix("\n");
            }
            body.push(block);
        }
    }
    body
}

/// The objects of a list that can be written as blocks.
fn blocks(value: &Json) -> Option<Vec<&Map<String, Json>>> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    let writable = |m: &&Map<String, Json>| m.iter().all(|(name, value)| is_name(name) && !value.is_null());
    items.iter().map(|item| item.as_object().filter(writable)).collect()
}

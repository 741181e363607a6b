//! Names, attributes, indexes and splats.

use super::super::ast::{Expr, Step, StepKind};
use super::super::convert::ConversionError;
use super::super::diag::Span;
use super::super::number::{Number, NumberError};
use super::super::types::Type;
use super::super::value::Value;
use super::{Evaluator, Found, Names, Scope, common_type};

const UNSUPPORTED: &str = "Unsupported attribute";
const INVALID_INDEX: &str = "Invalid index";
const NO_ELEMENT: &str = "The given key does not identify an element in this collection value";

impl Evaluator<'_> {
    /// A name and the lookups behind it.
    pub(super) fn reference(
        &mut self,
        expr: &Expr,
        root: &str,
        root_span: Span,
        steps: &[Step],
        scope: &Scope,
    ) -> Value {
        let local = self.locals.iter().rev().find(|(name, _)| **name == *root).map(|(_, value)| value.clone());
        if let Some(value) = local {
            return self.lookup(value, steps);
        }
        match scope.find(root) {
            Some(Found::Value(value)) => self.lookup(value.clone(), steps),
            Some(Found::Root(entries)) => {
                let Some((first, rest)) = steps.split_first() else {
                    let whole = Value::object(entries.clone());
                    self.charge(entries.len(), 0, expr.span);
                    return self.bounded(expr.span, whole);
                };
                let (name, text) = match &first.kind {
                    StepKind::Attribute(name) => {
                        (name, format!("This object does not have an attribute named {name:?}."))
                    }
                    StepKind::Text(name) | StepKind::Number(name) => (name, format!("{NO_ELEMENT}.")),
                };
                match entries.get(name.as_str()) {
                    Some(value) => self.lookup(value.clone(), rest),
                    None => {
                        let summary =
                            if matches!(first.kind, StepKind::Attribute(_)) { UNSUPPORTED } else { INVALID_INDEX };
                        self.fail(first.span, summary, text)
                    }
                }
            }
            None => match self.names {
                Names::Forbidden => self.fail(root_span, "Variables not allowed", "Variables may not be used here."),
                Names::Scoped => {
                    self.fail(root_span, "Unknown variable", format!("There is no variable named {root:?}."))
                }
                Names::Kept => self.kept(expr.span),
            },
        }
    }

    /// The text of a reference that only the client can resolve (`docs/spec/jobspec.md §3.2`).
    fn kept(&mut self, span: Span) -> Value {
        let base = self.sources.get(span.source).map_or(0, |s| s.base.byte);
        let (text, read) = kept_text(self.file, base + span.start as usize, base + span.end as usize);
        self.charge(0, text.len(), span);
        self.charge_read(0, read, span);
        self.bounded(span, Value::string(text))
    }

    pub(super) fn lookup(&mut self, mut value: Value, steps: &[Step]) -> Value {
        for step in steps {
            // The text of a step is copied, compared or parsed.
            let (StepKind::Attribute(text) | StepKind::Text(text) | StepKind::Number(text)) = &step.kind;
            if !self.charge_read(1, text.len().saturating_mul(4), step.span) {
                return Value::Unknown;
            }
            value = match &step.kind {
                StepKind::Attribute(name) => self.attribute(&value, name, step.span),
                StepKind::Text(text) => self.index(&value, &Value::from(text.as_str()), step.span),
                StepKind::Number(text) => match Number::parse(text) {
                    Ok(number) => self.index(&value, &Value::Number(number), step.span),
                    Err(error) => self.fail(step.span, INVALID_INDEX, format!("{NO_ELEMENT}: {error}.")),
                },
            };
        }
        value
    }

    fn attribute(&mut self, value: &Value, name: &str, span: Span) -> Value {
        let detail = match value {
            Value::Unknown => return Value::Unknown,
            Value::Null => {
                return self.fail(
                    span,
                    "Attempt to get attribute from null value",
                    "This value is null, so it does not have any attributes.",
                );
            }
            Value::Object(object) => match object.entries().get(name) {
                Some(value) => return value.clone(),
                None => format!("This object does not have an attribute named {name:?}."),
            },
            Value::Map(map) => match map.entries().get(name) {
                Some(value) => return value.clone(),
                None => {
                    let detail = format!("This map does not have an element with the key {name:?}.");
                    return self.fail(span, "Missing map element", detail);
                }
            },
            Value::List(_) if has_objects(value) => format!(
                "Can't access attributes on a list of objects. Did you mean to access attribute {name:?} for a specific \
                 element of the list, or across all elements of the list?"
            ),
            Value::Set(_) if has_objects(value) => format!(
                "Can't access attributes on a set of objects. Did you mean to access attribute {name:?} across all \
                 elements of the set?"
            ),
            _ if value.ty().is_primitive() => {
                format!("Can't access attributes on a primitive-typed value ({}).", value.ty())
            }
            _ => "This value does not have any attributes.".to_owned(),
        };
        self.fail(span, UNSUPPORTED, detail)
    }

    /// `value[key]`
    pub(super) fn index(&mut self, value: &Value, key: &Value, span: Span) -> Value {
        match (value, key) {
            (Value::Null, _) => {
                let detail = "This value is null, so it does not have any indices.";
                return self.fail(span, "Attempt to index null value", detail);
            }
            (_, Value::Null) => {
                return self.fail(span, INVALID_INDEX, "Can't use a null value as an indexing key.");
            }
            (Value::Unknown, _) | (_, Value::Unknown) => return Value::Unknown,
            _ => {}
        }
        let detail = match value {
            Value::List(items) | Value::Tuple(items) => match sequence_index(key) {
                Ok(at) => match at.and_then(|at| items.items().get(at)) {
                    Some(item) => return item.clone(),
                    None => format!("{NO_ELEMENT}."),
                },
                Err(why) => format!("{NO_ELEMENT}: {why}."),
            },
            Value::Map(entries) | Value::Object(entries) => match key.convert(&Type::String) {
                Ok(Value::String(text)) => match entries.entries().get(&text) {
                    Some(item) => return item.clone(),
                    None => format!("{NO_ELEMENT}."),
                },
                Ok(_) => format!("{NO_ELEMENT}."),
                Err(why) => format!("{NO_ELEMENT}: {why}."),
            },
            Value::Set(_) => "Elements of a set are identified only by their value and don't have any separate index or \
                              key to select with, so it's only possible to perform operations across all elements of the \
                              set."
                .to_owned(),
            _ => "This value does not have any indices.".to_owned(),
        };
        self.fail(span, INVALID_INDEX, detail)
    }

    /// `source[*]…`: a single value counts as a sequence of one, null as an empty one.
    pub(super) fn splat(&mut self, source: &Expr, each: &Expr, marker: Span, scope: &Scope) -> Value {
        let source_value = self.eval(source, scope);
        if !self.charge_walk(&source_value, marker) {
            return Value::Unknown;
        }
        let elements = match &source_value {
            Value::Unknown => return Value::Unknown,
            Value::Null => Vec::new(),
            _ => source_value.items().map_or_else(|| vec![source_value.clone()], <[Value]>::to_vec),
        };
        let mut results = Vec::with_capacity(elements.len().min(1024));
        for element in elements {
            self.items.push(element);
            results.push(self.eval(each, scope));
            self.items.pop();
        }
        // Elements of lists have one type, and so have the results, unless one of them failed.
        let element_type = match source_value {
            Value::List(_) | Value::Set(_) if results.iter().all(Value::is_wholly_known) => common_type(&results),
            _ => None,
        };
        let value = match element_type {
            Some(ty) if results.iter().all(|v| v.ty() == ty) => Value::list(ty, results),
            _ => Value::tuple(results),
        };
        self.bounded(marker, value)
    }
}

fn has_objects(value: &Value) -> bool {
    matches!(value.ty(), Type::List(element) | Type::Set(element) if matches!(*element, Type::Object(_)))
}

/// The position a key means in a sequence, if it means one; why it can't be one.
fn sequence_index(key: &Value) -> Result<Option<usize>, ConversionError> {
    let key = key.convert(&Type::Number)?;
    let number = key.as_number().ok_or(NumberError::Syntax)?;
    let whole = number.to_u64().filter(|_| number.is_whole());
    Ok(whole.and_then(|n| usize::try_from(n).ok()))
}

/// Cuts `${…}` around `file[start..end]` out of the file. The search for the closing brace starts one byte too far to
/// the right, as clients have come to expect: braces and spaces behind the sequence are taken in as well. Beside the
/// text: the number of bytes of the file that were scanned.
fn kept_text(file: &[u8], start: usize, end: usize) -> (String, usize) {
    let part = |from: usize, to: usize| file.get(from..to.max(from)).unwrap_or_default();
    let before = part(0, start.min(file.len()));
    let opener = before.len() - before.iter().rev().take_while(|b| **b == b' ').count();
    if !part(0, opener).ends_with(b"${") {
        return (format!("${{{}}}", String::from_utf8_lossy(part(start, end))), before.len() - opener);
    }
    let mut text = part(opener - 2, end).to_vec();
    let mut copied = 0usize;
    let mut seen = end;
    for (at, byte) in file.iter().enumerate().skip(end.saturating_add(1)) {
        seen = at;
        match byte {
            b'}' => {
                // Each brace takes in everything since Nomad; the file cannot make that large.
                copied = copied.saturating_add(at - end);
                if copied > 1 << 16 {
                    break;
                }
                text.extend_from_slice(part(end, at));
            }
            b' ' => {}
            _ => {
                text.push(b'}');
                break;
            }
        }
    }
    (String::from_utf8_lossy(&text).into_owned(), before.len() - opener + seen - end)
}

#[cfg(test)]
mod tests {
    use super::kept_text;

    #[test]
    fn references_keep_their_source_text() {
        for (file, reference, want) in [
            ("x = attr.x\n", "attr.x", "${attr.x}"),
            ("\"${attr.x}\"", "attr.x", "${attr.x}"),
            ("\"${ attr.x }\"", "attr.x", "${ attr.x }"),
            ("\"a${attr.x}}b\"", "attr.x", "${attr.x}}"),
            ("\"${attr.x} } y\"", "attr.x", "${attr.x} }"),
            ("\"${upper(attr.x)}\"", "attr.x", "${attr.x}"),
        ] {
            let start = file.find(reference).unwrap();
            assert_eq!(kept_text(file.as_bytes(), start, start + reference.len()).0, want, "{file}");
        }
    }
}

//! Blocks of type `dynamic` (`docs/spec/jobspec.md §2`): each makes blocks of the type that its label names.

use std::rc::Rc;

use super::ast::{Expr, ExprKind, Label};
use super::body::{BlockRef, BodyRef, Content, Expected};
use super::diag::{Diag, Span};
use super::eval::{Evaluator, Scope, key};
use super::types::Type;
use super::value::{Entries, Value};
use encamp_model::quoted;

/// Inside of `dynamic`, for blocks with labels and without.
const DYNAMIC_LABELLED: Expected = Expected {
    attributes: &[("for_each", true), ("iterator", false), ("labels", true)],
    blocks: &[("content", 0)],
    dynamic: false,
    first: &[],
};
const DYNAMIC: Expected = Expected { attributes: &[("for_each", true), ("iterator", false)], ..DYNAMIC_LABELLED };

/// Replaces a `dynamic` block by the blocks it makes.
pub(super) fn expand<'a>(dynamic: BlockRef<'a>, expected: Expected, ev: &mut Evaluator, out: &mut Vec<BlockRef<'a>>) {
    if let Err(Some(diag)) = try_expand(dynamic, expected, ev, out) {
        ev.report(diag);
    }
}

/// Fails without a diagnostic where the reason is reported already, or is a value that is not known.
fn try_expand<'a>(
    dynamic: BlockRef<'a>,
    expected: Expected,
    ev: &mut Evaluator,
    out: &mut Vec<BlockRef<'a>>,
) -> Result<(), Option<Diag>> {
    let label = dynamic.labels.first().ok_or(None)?;
    let Some((kind, wanted)) = expected.blocks.iter().find(|(kind, _)| *kind == label.text) else {
        let detail = format!("Blocks of type {} are not expected here.", quoted(&label.text));
        return Err(Some(Diag::at(label.span, "Unsupported block type", detail)));
    };
    let before = ev.diags.len();
    let inside = if *wanted > 0 { DYNAMIC_LABELLED } else { DYNAMIC };
    let spec = dynamic.body.content(inside, ev, &dynamic.scope);
    if ev.diags.len() > before {
        return Err(None);
    }
    let for_each = spec.attribute("for_each").ok_or(None)?;
    let value = ev.eval(&for_each.expr, &dynamic.scope);
    let pairs = pairs(&value, for_each.expr.span)?;
    let iterator = iterator(&spec, label)?;
    let label_exprs = label_exprs(&spec, kind, *wanted)?;
    let content = content_body(&spec, &dynamic)?;
    for (k, v) in pairs {
        let entries = Entries::from([(key("key"), k), (key("value"), v)]);
        let item = Value::object(entries).map_err(|_| None)?;
        let scope = Rc::new(Scope::child(&dynamic.scope, vec![(iterator.to_owned(), item)]));
        let labels: Option<Vec<Label>> = label_exprs.iter().map(|expr| dynamic_label(expr, ev, &scope)).collect();
        let Some(labels) = labels else { continue };
        if !ev.count_blocks(1, dynamic.def) {
            return Err(None);
        }
        out.push(BlockRef {
            kind: label.text.clone(),
            kind_span: label.span,
            labels,
            def: dynamic.def,
            body: content,
            scope,
        });
    }
    Ok(())
}

/// The keys and values that blocks are made of.
fn pairs(for_each: &Value, span: Span) -> Result<Vec<(Value, Value)>, Option<Diag>> {
    const SUMMARY: &str = "Invalid dynamic for_each value";
    match (for_each, for_each.key_values()) {
        (Value::Unknown, _) => Err(None),
        (Value::Null, _) => Err(Some(Diag::at(span, SUMMARY, "Cannot use a null value in for_each."))),
        (_, None) => {
            let detail =
                format!("Cannot use a {} value in for_each. An iterable collection is required.", for_each.ty());
            Err(Some(Diag::at(span, SUMMARY, detail)))
        }
        (_, Some(pairs)) => Ok(pairs),
    }
}

/// The name of the current pair: the label of the block, if no other one is chosen.
fn iterator<'s>(spec: &'s Content, label: &'s Label) -> Result<&'s str, Diag> {
    let Some(expr) = spec.attribute("iterator").map(|a| &a.expr) else { return Ok(&label.text) };
    match &expr.kind {
        ExprKind::Reference { root, steps, .. } if steps.is_empty() => Ok(root),
        ExprKind::Reference { .. } => {
            let detail = "Dynamic iterator must be a single variable name.";
            Err(Diag::at(expr.span, "Invalid dynamic iterator name", detail))
        }
        _ => {
            let detail = "A single static variable reference is required: only attribute access and indexing with \
                          constant keys. No calculations, function calls, template expressions, etc are allowed here.";
            Err(Diag::at(expr.span, "Invalid expression", detail))
        }
    }
}

/// The body of the blocks that are made.
fn content_body<'a>(spec: &Content<'a>, dynamic: &BlockRef) -> Result<BodyRef<'a>, Diag> {
    match spec.blocks.as_slice() {
        [content] => Ok(content.body),
        [] => {
            let detail = "A dynamic block must have a nested block of type \"content\" to describe the body of each generated block.";
            Err(Diag::at(dynamic.body.missing_item(), "Missing dynamic content block", detail))
        }
        [_, extra, ..] => {
            let detail = "Only one nested content block is allowed for each dynamic block.";
            Err(Diag::at(extra.def, "Extraneous dynamic content block", detail))
        }
    }
}

fn label_exprs(spec: &Content, kind: &str, wanted: usize) -> Result<Vec<Expr>, Diag> {
    const INSUFFICIENT: &str = "Insufficient dynamic block labels";
    let detail = format!("Blocks of type {kind:?} require {wanted} label(s).");
    let Some(labels) = spec.attribute("labels") else { return Ok(Vec::new()) };
    let ExprKind::Tuple { items, .. } = &labels.expr.kind else {
        let detail = "A static list expression is required.";
        return Err(Diag::at(labels.expr.start_span(), "Invalid expression", detail));
    };
    match items.get(wanted) {
        Some(extra) => Err(Diag::at(extra.span, "Extraneous dynamic block label", detail)),
        None if items.len() < wanted => Err(Diag::at(labels.expr.span, INSUFFICIENT, detail)),
        None => Ok(items.clone()),
    }
}

fn dynamic_label(expr: &Expr, ev: &mut Evaluator, scope: &Scope) -> Option<Label> {
    const SUMMARY: &str = "Invalid dynamic block label";
    match ev.eval(expr, scope).convert(&Type::String) {
        Ok(Value::String(text)) => Some(Label { text: text.to_string(), span: expr.span }),
        Ok(Value::Null) => {
            ev.report(Diag::at(expr.span, SUMMARY, "Cannot use a null value as a dynamic block label."));
            None
        }
        Ok(_) => None,
        Err(error) => {
            let detail = format!("Cannot use this value as a dynamic block label: {error}.");
            ev.report(Diag::at(expr.span, SUMMARY, detail));
            None
        }
    }
}

//! Free-form bodies such as a task's `config` (`docs/spec/jobspec.md §3.3`).

use std::rc::Rc;

use serde_json::{Map, Value as Json};

use encamp_hcl::ast::{Block, Body, Expr, ExprKind};
use encamp_hcl::body::BodyRef;
use encamp_hcl::diag::Diag;
use encamp_hcl::eval::{Evaluator, Scope};
use encamp_hcl::number::Number;
use encamp_hcl::value::Value;

/// A body as the object a task driver gets. In JSON syntax that is the object as it stands.
pub(crate) fn body(body: BodyRef, ev: &mut Evaluator, scope: &Rc<Scope>) -> Map<String, Json> {
    match body {
        BodyRef::Native(body) => native(body, ev, scope),
        BodyRef::Json(_) => {
            let mut out = Map::new();
            for attribute in body.just_attributes(ev) {
                if let Some(value) = evaluate(&attribute.expr, ev, scope) {
                    out.insert(attribute.name.to_owned(), value);
                }
            }
            out
        }
    }
}

fn native(body: &Body, ev: &mut Evaluator, scope: &Scope) -> Map<String, Json> {
    let mut out = Map::new();
    for attribute in &body.attributes {
        // A null attribute is as good as none.
        let Some(value) = evaluate(&attribute.expr, ev, scope).filter(|v| !v.is_null()) else { continue };
        // An object literal is taken for a block that occurs once.
        let value = match attribute.expr.kind {
            ExprKind::Object { .. } => Json::Array(vec![value]),
            _ => value,
        };
        out.insert(attribute.name.clone(), value);
    }
    for block in &body.blocks {
        let value = labelled(block, ev, scope);
        match out.get_mut(&block.kind) {
            Some(Json::Array(list)) => list.push(value),
            _ => {
                out.insert(block.kind.clone(), Json::Array(vec![value]));
            }
        }
    }
    out
}

/// The block's content, one level deeper for each label.
fn labelled(block: &Block, ev: &mut Evaluator, scope: &Scope) -> Json {
    let inner = Json::Object(native(&block.body, ev, scope));
    block
        .labels
        .iter()
        .rev()
        .fold(inner, |value, label| Json::Object(Map::from_iter([(label.text.clone(), Json::Array(vec![value]))])))
}

fn evaluate(expr: &Expr, ev: &mut Evaluator, scope: &Scope) -> Option<Json> {
    let value = ev.eval(expr, scope);
    if !value.is_wholly_known() {
        ev.report(Diag::at(expr.start_span(), "Unsuitable value type", "Unsuitable value: value must be known"));
        return None;
    }
    if !ev.charge_walk(&value, expr.span) {
        return None;
    }
    let json = to_json(&value);
    if json.is_none() {
        let detail = "Unsuitable value: an infinite number cannot be written as JSON";
        ev.report(Diag::at(expr.start_span(), "Unsuitable value type", detail));
    }
    json
}

/// A value as JSON; nothing for infinite numbers.
pub(super) fn to_json(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Null | Value::Unknown => Json::Null,
        Value::Bool(value) => Json::from(*value),
        Value::String(text) => Json::from(&**text),
        Value::Number(number) => number_to_json(number)?,
        Value::List(items) | Value::Set(items) | Value::Tuple(items) => {
            Json::Array(items.items().iter().map(to_json).collect::<Option<_>>()?)
        }
        Value::Map(entries) | Value::Object(entries) => {
            let entries = entries.entries().iter();
            Json::Object(entries.map(|(name, value)| Some((name.to_string(), to_json(value)?))).collect::<Option<_>>()?)
        }
    })
}

/// An integer where the number is one of 64 bits, else the nearest 64-bit float.
fn number_to_json(number: &Number) -> Option<Json> {
    match number.to_i64().filter(|_| number.is_whole()) {
        Some(integer) => Some(Json::from(integer)),
        None => serde_json::Number::from_f64(number.to_f64()).map(Json::Number),
    }
}

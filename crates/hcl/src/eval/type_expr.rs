//! Type expressions: `string`, `list(number)`, `object({ a = bool })` (`docs/spec/jobspec.md §4`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::ast::{Expr, ExprKind};
use super::super::diag::{Diag, Span};
use super::super::types::Type;

/// Whether `any` may stand for a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// Every type has to be spelled out; `any` is an error.
    Exact,
    /// `any` stands for a type that is not determined.
    AnyAllowed,
}

/// The type an expression names.
pub fn parse_type(expr: &Expr, exactness: Exactness) -> Result<Type, Diag> {
    let invalid = |span: Span, detail: String| Err(Diag::at(span, "Invalid type specification", detail));
    match &expr.kind {
        ExprKind::Reference { root, steps, .. } if steps.is_empty() => match root.as_str() {
            "bool" => Ok(Type::Bool),
            "string" => Ok(Type::String),
            "number" => Ok(Type::Number),
            "any" if exactness == Exactness::AnyAllowed => Ok(Type::Any),
            "any" => invalid(
                expr.span,
                "The keyword \"any\" cannot be used in this type specification: an exact type is required.".to_owned(),
            ),
            "list" | "map" | "set" => {
                invalid(expr.span, format!("The {root} type constructor requires one argument specifying the element type."))
            }
            "object" => invalid(
                expr.span,
                "The object type constructor requires one argument specifying the attribute types and values as a map."
                    .to_owned(),
            ),
            "tuple" => invalid(
                expr.span,
                "The tuple type constructor requires one argument specifying the element types as a list.".to_owned(),
            ),
            _ => invalid(expr.span, format!("The keyword {root:?} is not a valid type specification.")),
        },
        ExprKind::Call(call) => {
            if matches!(call.name.as_str(), "bool" | "string" | "number" | "any") {
                let span = call.open.to(call.close);
                let detail = match call.name.as_str() {
                    "any" => "Type constraint keyword \"any\" does not expect arguments.".to_owned(),
                    name => format!("Primitive type keyword {name:?} does not expect arguments."),
                };
                return invalid(span, detail);
            }
            if call.name == "optional" {
                let detail = "Keyword \"optional\" is valid only as a modifier for object type attributes.";
                return invalid(call.name_span, detail.to_owned());
            }
            let what = match call.name.as_str() {
                "list" | "set" | "map" => "one argument specifying the element type",
                "object" => "one argument specifying the attribute types and values as a map",
                "tuple" => "one argument specifying the element types as a list",
                name => return invalid(expr.span, format!("Keyword {name:?} is not a valid type constructor.")),
            };
            let [arg] = call.args.as_slice() else {
                let span = if call.args.is_empty() { call.open.to(call.close) } else { expr.span };
                return invalid(span, format!("The {} type constructor requires {what}.", call.name));
            };
            match call.name.as_str() {
                "list" => Ok(Type::list(parse_type(arg, exactness)?)),
                "set" => Ok(Type::set(parse_type(arg, exactness)?)),
                "map" => Ok(Type::map(parse_type(arg, exactness)?)),
                "tuple" => match &arg.kind {
                    ExprKind::Tuple { items, .. } => {
                        let items: Result<Vec<Type>, Diag> = items.iter().map(|i| parse_type(i, exactness)).collect();
                        Ok(Type::Tuple(items?.into()))
                    }
                    _ => invalid(arg.span, "Tuple type constructor requires a list of element types.".to_owned()),
                },
                _ => object_type(arg, exactness),
            }
        }
        // Literals with names count as keywords here.
        ExprKind::Null => invalid(expr.span, "The keyword \"null\" is not a valid type specification.".to_owned()),
        ExprKind::Bool(value) => invalid(expr.span, format!("The keyword \"{value}\" is not a valid type specification.")),
        _ => invalid(
            expr.span,
            "A type specification is either a primitive type keyword (bool, number, string) or a complex type constructor \
             call, like list(string)."
                .to_owned(),
        ),
    }
}

fn object_type(arg: &Expr, exactness: Exactness) -> Result<Type, Diag> {
    const SUMMARY: &str = "Invalid type specification";
    let ExprKind::Object { items, .. } = &arg.kind else {
        let detail = "Object type constructor requires a map whose keys are attribute names and whose values are the \
                      corresponding attribute types.";
        return Err(Diag::at(arg.span, SUMMARY, detail));
    };
    let mut attributes: BTreeMap<Arc<str>, Type> = BTreeMap::new();
    for (name, ty) in items {
        let ExprKind::Text(name) = &name.kind else {
            return Err(Diag::at(name.span, SUMMARY, "Object constructor map keys must be attribute names."));
        };
        if let ExprKind::Call(call) = &ty.kind
            && call.name == "optional"
        {
            let detail = "Optional attribute modifier is only for type constraints, not for exact types.";
            return Err(Diag::at(call.name_span, SUMMARY, detail));
        }
        attributes.insert(Arc::from(name.as_str()), parse_type(ty, exactness)?);
    }
    Ok(Type::Object(Arc::new(attributes)))
}

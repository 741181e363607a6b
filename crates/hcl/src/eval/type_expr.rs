//! Type expressions: `string`, `list(number)`, `object({ a = bool })` (`docs/spec/jobspec.md §4`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::ast::{Call, Expr, ExprKind};
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

const SUMMARY: &str = "Invalid type specification";

/// The type an expression names.
pub fn parse_type(expr: &Expr, exactness: Exactness) -> Result<Type, Diag> {
    let invalid = |detail: String| Err(Diag::at(expr.span, SUMMARY, detail));
    match &expr.kind {
        ExprKind::Reference { root, steps, .. } if steps.is_empty() => {
            keyword_type(root, exactness).or_else(|e| invalid(e.to_string()))
        }
        ExprKind::Call(call) => constructed_type(call, expr.span, exactness),
        // Literals with names count as keywords here.
        ExprKind::Null => invalid("The keyword \"null\" is not a valid type specification.".to_owned()),
        ExprKind::Bool(value) => invalid(format!("The keyword \"{value}\" is not a valid type specification.")),
        _ => invalid(
            "A type specification is either a primitive type keyword (bool, number, string) or a complex type constructor \
             call, like list(string)."
                .to_owned(),
        ),
    }
}

/// Why a keyword names no type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum KeywordError<'a> {
    /// `any`, where every type has to be spelled out.
    #[error("The keyword \"any\" cannot be used in this type specification: an exact type is required.")]
    NotExact,
    /// The constructor of a type, without its argument.
    #[error("The {constructor} type constructor requires {argument}.")]
    WithoutArgument { constructor: &'a str, argument: &'static str },
    #[error("The keyword {0:?} is not a valid type specification.")]
    Unknown(&'a str),
}

/// The type of a keyword.
fn keyword_type(keyword: &str, exactness: Exactness) -> Result<Type, KeywordError<'_>> {
    match keyword {
        "bool" => Ok(Type::Bool),
        "string" => Ok(Type::String),
        "number" => Ok(Type::Number),
        "any" if exactness == Exactness::AnyAllowed => Ok(Type::Any),
        "any" => Err(KeywordError::NotExact),
        constructor => Err(match argument_of(constructor) {
            Some(argument) => KeywordError::WithoutArgument { constructor, argument },
            None => KeywordError::Unknown(constructor),
        }),
    }
}

/// What the constructor of a type takes.
fn argument_of(constructor: &str) -> Option<&'static str> {
    Some(match constructor {
        "list" | "set" | "map" => "one argument specifying the element type",
        "object" => "one argument specifying the attribute types and values as a map",
        "tuple" => "one argument specifying the element types as a list",
        _ => return None,
    })
}

/// The type of a constructor with its argument.
fn constructed_type(call: &Call, whole: Span, exactness: Exactness) -> Result<Type, Diag> {
    let invalid = |span: Span, detail: String| Err(Diag::at(span, SUMMARY, detail));
    let parentheses = call.open.to(call.close);
    let Some(argument) = argument_of(&call.name) else {
        return match call.name.as_str() {
            "any" => invalid(parentheses, "Type constraint keyword \"any\" does not expect arguments.".to_owned()),
            name @ ("bool" | "string" | "number") => {
                invalid(parentheses, format!("Primitive type keyword {name:?} does not expect arguments."))
            }
            "optional" => {
                let detail = "Keyword \"optional\" is valid only as a modifier for object type attributes.";
                invalid(call.name_span, detail.to_owned())
            }
            name => invalid(whole, format!("Keyword {name:?} is not a valid type constructor.")),
        };
    };
    let [arg] = call.args.as_slice() else {
        let span = if call.args.is_empty() { parentheses } else { whole };
        return invalid(span, format!("The {} type constructor requires {argument}.", call.name));
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

fn object_type(arg: &Expr, exactness: Exactness) -> Result<Type, Diag> {
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

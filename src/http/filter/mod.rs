//! Filter expressions over stored objects (`spec/http-api.md §4.6`): `Status == "ready" and Meta.rack is not empty`.
//!
//! [`Filter::parse`] reads the text, [`Filter::matches`] judges an object. An object is its JSON form together with the
//! name of its type: the type tells what the JSON form does not, such as fields that are left out when they are zero, and
//! whether a null is a list, a map or a pointer. [`parse`]: the grammar. [`eval`]: the semantics. [`schema`]: the types.
//!
//! Secrets of nodes and tokens are no fields here: who may list objects must not be able to guess them letter by letter.

mod eval;
mod parse;
pub mod schema;

use serde::Serialize;
use serde_json::Value;

pub use parse::ParseError;
use schema::ObjectType;

/// A filter expression.
#[derive(Debug)]
pub struct Filter {
    expr: parse::Expr,
}

/// An object as filters see it: its JSON form and its type.
#[derive(Debug, Clone)]
pub struct Object {
    value: Value,
    ty: &'static ObjectType,
}

impl Object {
    /// The object in its JSON form. `ty` is its name in the API's type tables. An object that can't be written is empty.
    pub fn new<T: Serialize + ?Sized>(ty: &str, object: &T) -> Object {
        Object { value: serde_json::to_value(object).unwrap_or_default(), ty: schema::object(ty) }
    }
}

impl Filter {
    /// Reads an expression.
    ///
    /// # Errors
    /// Where the text departs from the grammar.
    pub fn parse(text: &str) -> Result<Filter, ParseError> {
        parse::parse(text).map(|expr| Filter { expr })
    }

    /// Whether the object matches.
    ///
    /// # Errors
    /// A field that does not exist, or a comparison that its type does not know: the text of the reference.
    pub fn matches(&self, object: &Object) -> Result<bool, String> {
        eval::matches(&self.expr, &object.value, object.ty)
    }
}

#[cfg(test)]
mod tests;

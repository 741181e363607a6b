//! Filter expressions over stored objects (`docs/spec/http-api.md §4.6`): `Status == "ready" and Meta.rack is not
//! empty`.
//!
//! [`Filter::parse`] reads the text, [`Filter::matches`] evaluates it for an object. An object is its JSON form
//! together with the name of its type: the type supplies what the JSON form lacks, such as fields that are left out
//! when they are zero, and whether a null is a list, a map or a pointer. Only the fields that the expression names are
//! converted to JSON.
//!
//! [`parse`]: the grammar. [`eval`]: the semantics. [`schema`]: the types. [`pick`]: some fields of an object.
//!
//! Secrets of nodes and tokens are not fields here: a caller that may list objects must not be able to guess them
//! letter by letter.

mod eval;
mod parse;
mod pick;
pub mod schema;

use serde::Serialize;

pub use eval::{FindProblem, MatchError};
pub use parse::{ParseError, PatternError};

/// A filter expression.
#[derive(Debug)]
pub struct Filter {
    expr: parse::Expr,
    /// The fields of an object that it may read.
    fields: Vec<String>,
}

impl Filter {
    /// Reads an expression.
    ///
    /// # Errors
    /// Where the text departs from the grammar.
    pub fn parse(text: &str) -> Result<Filter, ParseError> {
        let expr = parse::parse(text)?;
        let fields = expr.fields();
        Ok(Filter { expr, fields })
    }

    /// Whether the expression reads this field of an object and no other.
    pub(crate) fn reads_only(&self, field: &str) -> bool {
        matches!(self.fields.as_slice(), [only] if only == field)
    }

    /// Whether the object matches. `ty` is its name in the API's type tables. An object that can't be written is empty.
    ///
    /// # Errors
    /// A field that does not exist, or a comparison that its type does not know.
    pub fn matches<T: Serialize + ?Sized>(&self, ty: &str, object: &T) -> Result<bool, MatchError> {
        let value = pick::fields(object, &self.fields).unwrap_or_default();
        eval::matches(&self.expr, &value, schema::object(ty))
    }
}

#[cfg(test)]
mod tests;

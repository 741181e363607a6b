//! Objects with a name and a description: namespaces and node pools (`docs/spec/cli.md §4.2`).

use serde_json::Value;

use super::error::{CommandError, CommandResult};
use super::lookup::LookupError;
use super::object_commands::Object;
use super::object_kinds::Objects;
use encamp_api::Received;

/// The name in a specification; empty without one. Nothing else is read of a specification in JSON: it is sent to the
/// servers as it was written.
pub fn in_specification(object: &Value) -> &str {
    object.get("Name").and_then(Value::as_str).unwrap_or_default()
}

/// The object with the name, or the only one of those that a prefix found. `objects` are all of them, `none` is the error
/// without any.
pub fn by_name<T: Object>(
    mut found: Vec<Received<T>>,
    has_name: impl Fn(&T) -> bool,
    objects: Objects,
    none: CommandError,
) -> CommandResult<Received<T>> {
    let exact = found.iter().position(|object| has_name(object));
    match (exact, found.len()) {
        (None, 0) => Err(none),
        (None, 2..) => {
            let line = format!("Prefix matched multiple {}s", objects.noun());
            Err(LookupError::Ambiguous { objects: Some(objects), line, list: T::table(&found) }.into())
        }
        (exact, _) => Ok(found.swap_remove(exact.unwrap_or(0))),
    }
}

//! Objects with a name and a description: namespaces and node pools (`docs/spec/cli.md §4.2`).

use serde_json::Value;

use super::data::text;
use super::error::{CommandError, CommandResult};
use super::lookup::LookupError;
use super::object_kinds::Objects;
use super::render::table::columns;

/// The object with this name, or the only one of those that a prefix found. `objects` are all of them.
pub fn by_name(
    found: &[Value],
    name: &str,
    objects: Objects,
    none: impl FnOnce() -> CommandError,
) -> CommandResult<Value> {
    if let Some(exact) = found.iter().find(|object| text(object, "Name") == name) {
        return Ok(exact.clone());
    }
    match found {
        [] => Err(none()),
        [only] => Ok(only.clone()),
        _ => {
            let line = format!("Prefix matched multiple {}s", objects.noun());
            Err(LookupError::Ambiguous { objects: Some(objects), line, list: listed(found) }.into())
        }
    }
}

/// The table of objects.
pub fn listed(objects: &[Value]) -> String {
    columns(objects, &[("Name", &|o| text(o, "Name").into()), ("Description", &|o| text(o, "Description").into())])
}

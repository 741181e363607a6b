//! Objects with a name and a description: namespaces and node pools (`docs/spec/cli.md §4.2`).

use serde_json::Value;

use super::data::text;
use super::error::{CommandError, CommandResult};
use super::render::table::columns;

/// The object with this name, or the only one of those that a prefix found. `several` names the objects in the error
/// about several.
pub fn by_name(
    found: &[Value],
    name: &str,
    several: &str,
    none: impl FnOnce() -> CommandError,
) -> CommandResult<Value> {
    if let Some(exact) = found.iter().find(|object| text(object, "Name") == name) {
        return Ok(exact.clone());
    }
    match found {
        [] => Err(none()),
        [only] => Ok(only.clone()),
        _ => Err(CommandError::new(format!("Prefix matched multiple {several}\n\n{}", listed(found)))),
    }
}

/// The table of objects.
pub fn listed(objects: &[Value]) -> String {
    columns(objects, &[("Name", &|o| text(o, "Name").into()), ("Description", &|o| text(o, "Description").into())])
}

//! Commands about namespaces (`docs/spec/cli.md §12.1`).
//!
//! [`show`]: listing and looking into them. [`change`]: writing and deleting them.

pub mod change;
pub mod show;

use super::command::Registry;

/// Adds the commands.
pub(super) fn register(registry: &mut Registry) {
    registry.add::<show::NamespaceList>("namespace list", None, 1);
    registry.add::<show::NamespaceStatus>("namespace status", None, 1);
    registry.add::<show::NamespaceInspect>("namespace inspect", None, 1);
    registry.add::<change::NamespaceApply>("namespace apply", None, 1);
    registry.add::<change::NamespaceDelete>("namespace delete", None, 1);
}

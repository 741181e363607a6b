//! Commands about volumes and storage plugins (`docs/spec/cli.md §12.3`).
//!
//! [`status`]: dynamic host volumes and CSI volumes. [`create`], [`delete`], [`init`]: changing them, with their
//! specifications ([`spec`], [`size`]). [`claim`]: claims on host volumes. [`snapshot`]: snapshots of CSI volumes, with
//! [`secrets`]. [`plugin`]: CSI plugins.

pub mod claim;
pub mod create;
pub mod delete;
pub mod init;
pub mod plugin;
pub mod secrets;
pub mod size;
pub mod snapshot;
pub mod spec;
pub mod status;

use super::context::Context;
use super::render::allocations::{self, Listing};
use encamp_api::Query;
use encamp_model::AllocListStub;

/// A query in the namespace of a volume; in that of the command if the volume has none.
fn within(namespace: &str) -> Query {
    if namespace.is_empty() { Query::default() } else { Query::in_namespace(namespace) }
}

/// The allocations of a volume or plugin, as a section.
fn print_allocations(context: &mut Context<'_, '_>, stubs: &[AllocListStub], verbose: bool) {
    let clock = context.clock();
    let how = Listing { verbose, node_names: true, zone: &clock.zone, now: clock.now };
    context.ui.section("Allocations", &allocations::stubs(stubs, &how));
}

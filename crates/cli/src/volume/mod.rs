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

use serde_json::Value;

use super::context::Context;
use super::data::{list, typed};
use super::render::allocations::{self, Listing};
use crate::error::CommandResult;
use encamp_model::AllocListStub;

/// The allocations of a volume or plugin, as a section.
fn print_allocations(context: &mut Context<'_, '_>, object: &Value, verbose: bool) -> CommandResult<()> {
    let stubs: Vec<AllocListStub> = list(object, "Allocations").iter().map(typed).collect::<Result<_, _>>()?;
    let clock = context.clock();
    let how = Listing { verbose, node_names: true, zone: &clock.zone, now: clock.now };
    context.ui.output_markup("\n[bold]Allocations[reset]");
    context.ui.output(&allocations::stubs(&stubs, &how));
    Ok(())
}

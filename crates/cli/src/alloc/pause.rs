//! `alloc pause`: the servers answer that it is a feature of Nomad Enterprise (`docs/spec/cli.md §9.2`).

use crate::prelude::*;
use clap::builder::PossibleValuesParser;

/// Pause a task of an allocation (Nomad Enterprise)
///
/// Pauses a task that has a schedule. Schedules of tasks are a feature of Nomad Enterprise: servers of the open edition
/// refuse the request.
#[derive(Debug, clap::Parser)]
pub struct AllocPause {
    /// The new state of the task: pause, run or scheduled
    #[arg(long, value_name = "state", default_value = "pause",
        value_parser = PossibleValuesParser::new(["pause", "run", "scheduled"]))]
    pub state: String,
    /// Show the state of the task instead of changing it
    #[arg(long)]
    pub status: bool,
    /// The task; not needed if the allocation has only one
    #[arg(long, value_name = "task")]
    pub task: Option<String>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<allocation> [task]")]
    pub(crate) args: Vec<String>,
}

impl Run for AllocPause {
    const META: Meta = Meta::new("alloc pause").unlisted();

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (prefix, task) = match super::allocation_and_task(&self.args, self.task.as_ref(), context) {
            Ok(named) => named,
            Err(code) => return code,
        };
        context.connected(&self.general, |c, context| {
            let stub = super::named(c, context, prefix, false)?;
            if !task.is_empty() {
                super::known_task(&super::in_full(c, &stub)?, task)?;
            }
            if self.status {
                let read = c.wait(c.client.allocation_pause(&stub.namespace, &stub.id, task));
                let (state, _) = read.context("Error getting task pause state")?;
                context.ui.output(&state);
            } else {
                let done = c.wait(c.client.pause_allocation(&stub.namespace, &stub.id, task, &self.state));
                done.context("Error setting task pause state")?;
            }
            Ok(0)
        })
    }
}

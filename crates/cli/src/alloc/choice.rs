//! Which allocation a command is about: the one with an ID, or one of a job (`docs/spec/cli.md §9.2`).

use crate::completion::values::{CompleteWith, Objects};
use crate::connection::Connection;
use crate::context::Context;
use crate::error::CommandResult;
use crate::objects;
use encamp_model::AllocListStub;

/// The flags that let a job stand for one of its allocations.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ChoiceFlags {
    /// Treat the first argument as a job and select one of its allocations
    #[arg(long)]
    pub(super) job: bool,
    /// With -job, select an allocation of this task group
    #[arg(long, value_name = "group")]
    group: Option<String>,
}

impl ChoiceFlags {
    /// What the first argument is completed with.
    pub(super) const COMPLETED: CompleteWith =
        CompleteWith::IfFlag("job", &CompleteWith::Live(Objects::Jobs), &CompleteWith::Live(Objects::Allocations));

    /// The allocation that the first argument names.
    pub(super) fn allocation(
        &self,
        c: &Connection,
        context: &Context<'_, '_>,
        name: &str,
        verbose: bool,
    ) -> CommandResult<AllocListStub> {
        if self.job {
            return Ok(objects::allocation_of_job(c, name, self.group.as_deref().unwrap_or_default())?);
        }
        super::named(c, context, name, verbose)
    }

    /// The usage error about a missing first argument.
    pub(super) fn missing(&self, context: &mut Context<'_, '_>) -> u8 {
        context.argument_error(if self.job { "A job ID is required" } else { "An allocation ID is required" })
    }
}

//! `system gc -dry-run`: what a run would delete and keep.

use super::super::cluster::ClusterFlags;
use super::super::context::Context;
use super::super::error::CommandResult;
use super::super::general::GeneralFlags;
use super::super::render::gc;
use super::source::{Found, Request, json_of, plan_of};
use super::when::WhenFlags;
use encamp_server::leadership::gc::plan::MOST_OBJECTS;

/// The flags of a dry run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct DryRunFlags {
    /// Show what would be deleted and kept, and why, without deleting anything
    #[arg(long)]
    pub dry_run: bool,
    /// With -dry-run: show what the periodic runs would do with the configured thresholds, not what this command would do
    #[arg(long)]
    pub periodic: bool,
    /// With -dry-run: list every object, up to 10000
    #[arg(long)]
    pub verbose: bool,
    /// Print the result as JSON: see docs/reference/gc-plan.schema.json and gc-report.schema.json
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) when: WhenFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

impl DryRunFlags {
    /// A flag that has no meaning without `-dry-run`, if one was given.
    pub(crate) fn misplaced(&self) -> Option<&'static str> {
        let given = [
            (self.periodic, "-periodic"),
            (self.verbose, "-verbose"),
            (self.when.given(), "-at and -in"),
            (self.cluster.snapshot.is_some(), "-snapshot"),
        ];
        given.into_iter().find(|(given, _)| *given && !self.dry_run).map(|(_, name)| name)
    }

    /// Prints what a run would do.
    pub(crate) fn run(&self, general: &GeneralFlags, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let when = self.when.read()?;
        let objects = if self.verbose { MOST_OBJECTS } else { 0 };
        let request = Request { periodic: self.periodic, objects, when };
        let Found { result: plan, source, notes } = plan_of(&self.cluster, general, context.env, request)?;
        if self.json {
            context.ui.output(&json_of(&plan, &source, &notes)?);
            return Ok(0);
        }
        notes.iter().for_each(|note| context.ui.warn(&format!("Note: {note}")));
        gc::plan(context.ui, &plan, &source, self.verbose, &context.env.zone());
        Ok(0)
    }
}

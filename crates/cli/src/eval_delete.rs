//! `eval delete`: deletes evaluations (`docs/spec/cli.md §11.2`).

use super::prelude::*;
use super::prompt;
use super::render::values;

/// Delete evaluations
///
/// Deletes one evaluation by its full ID, or all evaluations that match an expression. The eval broker must be paused
/// during the deletion. Evaluations that are still required are not deleted.
#[derive(Debug, clap::Parser)]
pub struct EvalDelete {
    /// Delete the evaluations that match this expression
    #[arg(long, value_name = "expression")]
    pub filter: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "evaluation", add = CompleteWith::Live(Objects::Evaluations))]
    pub(crate) optional_args: Vec<String>,
}

impl Run for EvalDelete {
    const META: Meta = Meta::new("eval delete").examples(&[
        (
            "Delete an evaluation, while the eval broker is paused",
            "encamp eval delete 2c3f8e0a-6b1d-4b6e-8f37-5d9e2c7a1b04",
        ),
        (
            "Delete all completed evaluations of a job without confirmation",
            "encamp eval delete -yes \\
    -filter 'JobID == \"web\" and Status == \"complete\"'",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let filter = self.filter.as_deref().filter(|f| !f.is_empty());
        let deleted = match (self.optional_args.as_slice(), filter) {
            ([id], None) => self.delete_one(id, context),
            ([], Some(filter)) => self.delete_matching(filter, context),
            _ => {
                Err(CommandError::new("Error validating command args and flags: evaluation ID or filter flag required"))
            }
        };
        context.end(deleted)
    }
}

impl EvalDelete {
    fn delete_one(&self, id: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let connection = Connection::new(&self.general, context.env)?;
        if !paused(&connection, context)? {
            return Ok(1);
        }
        let deleted = connection.wait(connection.client.delete_evaluations(&[id.to_string()]));
        let (deleted, _) = deleted.context("Error deleting evaluations")?;
        report(deleted.count, context);
        Ok(0)
    }

    fn delete_matching(&self, filter: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let connection = Connection::new(&self.general, context.env)?;
        if !paused(&connection, context)? {
            return Ok(1);
        }
        const FAILED: &str = "Error deleting evaluations";
        if !self.yes {
            let (counted, _) = connection.wait(connection.client.count_evaluations(filter)).context(FAILED)?;
            let question = format!("Are you sure you want to delete {} evals? [y/N]", counted.count);
            let confirmed = prompt::confirm(context.ui, &question, "Cancelling eval deletion");
            context.ui.output("");
            if let Err(code) = confirmed {
                report(0, context);
                return Ok(code);
            }
        }
        let (deleted, _) = connection.wait(connection.client.delete_evaluations_matching(filter)).context(FAILED)?;
        report(deleted.count, context);
        Ok(0)
    }
}

/// Whether the eval broker is paused; prints instructions if it is not.
fn paused(connection: &Connection, context: &mut Context<'_, '_>) -> CommandResult<bool> {
    let read = connection.wait(connection.client.scheduler_configuration());
    let (config, _) = read.context("Error querying scheduler configuration")?;
    if config.is_some_and(|c| c.pause_eval_broker) {
        return Ok(true);
    }
    context.ui.error("Eval broker is not paused");
    let set = "encamp operator scheduler set-config -pause-eval-broker";
    context.ui.output(&format!("To delete evaluations you must first pause the eval broker by running \"{set}=true\""));
    context.ui.output(&format!("After the deletion is complete, unpause the eval broker by running \"{set}=false\""));
    Ok(false)
}

fn report(count: u64, context: &mut Context<'_, '_>) {
    if count == 0 {
        context.ui.output("No evaluations were deleted");
        return;
    }
    let noun = values::plural(i64::try_from(count).unwrap_or(i64::MAX), "evaluation", "evaluations");
    context.ui.output(&format!("Successfully deleted {count} {noun}"));
}

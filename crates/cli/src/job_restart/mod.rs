//! `job restart`: restarts or replaces the allocations of a job, batch by batch (`docs/spec/cli.md §8.12`).
//!
//! `select`: the selection of allocations. `batches`: restarting in batches, and the questions between them. `one`: one
//! allocation.

mod batches;
mod one;
mod select;

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::Duration;

use super::flags::{InvalidFlag, parse_wait};
use super::lookup;
use super::prelude::*;
use encamp_model::{JobType, quoted};

/// Restart or reschedule the allocations of a job
///
/// Restarts the tasks of a job's running allocations in place or, with -reschedule, stops the allocations so that they
/// are rescheduled. The argument is the job ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobRestart {
    /// Restart all tasks, including those that have already finished
    #[arg(long)]
    pub all_tasks: bool,
    /// Number of allocations that are restarted at once, or a percentage of all
    #[arg(long, value_name = "n or n%", default_value = "1")]
    pub batch_size: String,
    /// Time to wait between batches, or ask to ask before each batch
    #[arg(long, value_name = "duration", default_value = "0s", add = CompleteWith::Words(&["ask"]))]
    pub batch_wait: String,
    /// Restart only allocations of this task group. Can be given several times
    #[arg(long, value_name = "group", action = clap::ArgAction::Append)]
    pub group: Vec<String>,
    /// Restart only this task. Can be given several times
    #[arg(long, value_name = "task", action = clap::ArgAction::Append)]
    pub task: Vec<String>,
    /// Stop tasks immediately, ignoring their shutdown delay
    #[arg(long)]
    pub no_shutdown_delay: bool,
    /// Action after an error: ask or fail
    #[arg(long, value_name = "action", default_value = "ask", add = CompleteWith::Words(&["ask", "fail"]))]
    pub on_error: String,
    /// Reschedule the allocations instead of restarting their tasks in place
    #[arg(long)]
    pub reschedule: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// Show full identifiers, and the allocations that are skipped
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

/// The number of allocations that are restarted concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchSize {
    Number(usize),
    Percent(usize),
}

impl BatchSize {
    /// Parses digits with an optional percent sign.
    fn parse(text: &str) -> Result<BatchSize, InvalidFlag> {
        let wrong = |why: &str| InvalidFlag::new(format_args!("Invalid -batch-size value {}: {why}", quoted(text)));
        let digits = text.strip_suffix('%').unwrap_or(text);
        let number = match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse().map_err(|_| wrong("batch size must be an integer or a percentage"))?,
            false => return Err(wrong("batch size must be an integer or a percentage")),
        };
        match (number, text.ends_with('%')) {
            (0, _) => Err(wrong("number value must be greater than zero")),
            (number, false) => Ok(BatchSize::Number(number)),
            (percent, true) => Ok(BatchSize::Percent(percent)),
        }
    }

    /// The batch size for this number of allocations.
    fn of(self, all: usize) -> usize {
        match self {
            BatchSize::Number(n) => n,
            BatchSize::Percent(percent) => all.saturating_mul(percent).div_ceil(100).max(1),
        }
    }
}

/// The pause between batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchWait {
    Ask,
    For(Duration),
}

impl BatchWait {
    fn parse(text: &str) -> Result<BatchWait, InvalidFlag> {
        if text == "ask" {
            return Ok(BatchWait::Ask);
        }
        let wrong = |e| InvalidFlag::new(format_args!("Invalid -batch-wait value {}: {e}", quoted(text)));
        parse_wait(text).map(BatchWait::For).map_err(wrong)
    }
}

/// The plan that the flags request.
struct Plan {
    size: BatchSize,
    wait: BatchWait,
    /// Whether to ask after errors; otherwise the first error ends the restart.
    ask_on_error: bool,
    groups: BTreeSet<String>,
    tasks: BTreeSet<String>,
}

impl Run for JobRestart {
    const META: Meta = Meta::new("job restart").examples(&[
        ("Restart the tasks of a job, one allocation after the other", "encamp job restart -on-error fail web"),
        (
            "Replace all allocations of a task group, half of them at a time",
            "encamp job restart -yes -on-error fail -reschedule -batch-size 50% \\
    -group front web",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let plan = match self.plan() {
            Ok(plan) => plan,
            Err(e) => return context.usage_error(&e.to_string()),
        };
        context.connected(&self.general, |c, context| self.restart(c, &self.given, plan, context))
    }
}

impl JobRestart {
    fn plan(&self) -> Result<Plan, InvalidFlag> {
        let size = BatchSize::parse(&self.batch_size)?;
        let wait = BatchWait::parse(&self.batch_wait)?;
        let interactive = std::io::stdin().is_terminal() || self.yes;
        let nobody = "\"ask\" cannot be used when terminal is not interactive";
        if wait == BatchWait::Ask && !interactive {
            return Err(InvalidFlag::new(format_args!("Invalid -batch-wait value \"ask\": {nobody}")));
        }
        let ask_on_error = match self.on_error.as_str() {
            "ask" if !interactive => {
                return Err(InvalidFlag::new(format_args!("Invalid -on-error value \"ask\": {nobody}")));
            }
            "ask" => true,
            "fail" => false,
            other => {
                let valid = "valid options are \"ask\" and \"fail\"";
                return Err(InvalidFlag::new(format_args!("Invalid -on-error value {}: {valid}", quoted(other))));
            }
        };
        if self.all_tasks && !self.task.is_empty() {
            return Err(InvalidFlag::new("The -all-tasks option cannot be used with -task"));
        }
        if self.reschedule && !self.task.is_empty() {
            return Err(InvalidFlag::new("The -reschedule option cannot be used with -task"));
        }
        let (groups, tasks) = (self.group.iter().cloned().collect(), self.task.iter().cloned().collect());
        Ok(Plan { size, wait, ask_on_error, groups, tasks })
    }

    fn restart(
        &self,
        connection: &Connection,
        given: &str,
        plan: Plan,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<u8> {
        let client = &connection.client;
        let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
        let namespace = namespace.as_deref();
        let read = connection.wait(client.job_within(namespace, &id));
        let (job, _) = read.context(format_args!("Error retrieving job {}", quoted(&id)))?;
        let kind = JobType::from(job.r#type.as_deref().unwrap_or_default());
        if self.reschedule && !matches!(kind, JobType::Batch | JobType::Service | JobType::System) {
            let kind = quoted(kind.as_str());
            return Err(CommandError::new(format!("Jobs of type {kind} are not allowed to be rescheduled.")));
        }
        let read = connection.wait(client.job_allocations(namespace, &id, true));
        let (all, _) = read.context(format_args!("Error retrieving allocations for job {}", quoted(&id)))?;
        let wanted = select::wanted(&plan, all, self.verbose, connection, context);
        let mut run = batches::Batches { command: self, connection, namespace, job: &id, plan };
        Ok(run.carry_out(wanted, context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_numbers_or_shares() {
        let size = |text, all| BatchSize::parse(text).map(|s| s.of(all)).map_err(|e| e.to_string());
        assert_eq!([size("3", 10), size("25%", 10), size("1%", 10)], [Ok(3), Ok(3), Ok(1)]);
        let integer = "batch size must be an integer or a percentage";
        assert_eq!(size("x", 1), Err(format!("Invalid -batch-size value \"x\": {integer}")));
        assert_eq!(size("%", 1), Err(format!("Invalid -batch-size value \"%\": {integer}")));
        assert_eq!(size("-1", 1), Err(format!("Invalid -batch-size value \"-1\": {integer}")));
        let zero = "number value must be greater than zero";
        assert_eq!(size("0%", 1), Err(format!("Invalid -batch-size value \"0%\": {zero}")));
        assert_eq!(BatchWait::parse("1m30s"), Ok(BatchWait::For(Duration::from_secs(90))));
        assert!(BatchWait::parse("soon").unwrap_err().to_string().starts_with("Invalid -batch-wait value \"soon\": "));
    }
}

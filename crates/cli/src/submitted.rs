//! The output after a job registration: its evaluation, monitored or detached (`docs/spec/cli.md §8.1`).

use super::connection::Connection;
use super::context::{Context, clock};
use super::flags::InvalidFlag;
use super::{launch, monitor};
use encamp_model::api;

/// The flags for the output after a registration.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FollowFlags {
    /// Return immediately instead of monitoring the evaluation
    #[arg(long)]
    pub detach: bool,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
}

impl FollowFlags {
    /// Monitors the evaluation after a registration. If detached, and for jobs that are launched later, prints a
    /// success message and the next step.
    pub fn registered(
        &self,
        connection: &Connection,
        job: &api::Job,
        eval: &str,
        success: &str,
        context: &mut Context<'_, '_>,
    ) -> u8 {
        let parameterized = job.parameterized_job.is_some();
        let periodic = job.periodic.is_some();
        if !self.detach && !parameterized && !periodic {
            return self.watch(connection, eval, context);
        }
        context.ui.output(success);
        if parameterized {
            return 0;
        }
        if !periodic {
            context.ui.output(&format!("Evaluation ID: {eval}"));
            return 0;
        }
        match launch::next(job, clock()) {
            Ok(Some(next)) => context.ui.output(&format!("Approximate next launch time: {next}")),
            Ok(None) => context.ui.output("Approximate next launch time: never"),
            Err(e) => context.ui.error(&format!("Error determining next launch time: {e}")),
        }
        0
    }

    /// Monitors an evaluation, if there is one.
    pub fn watch(&self, connection: &Connection, eval: &str, context: &mut Context<'_, '_>) -> u8 {
        if eval.is_empty() {
            return 0;
        }
        monitor::evaluation::watch(connection, context.ui, eval, self.verbose)
    }

    /// Monitors an evaluation, or prints its ID if detached. Does nothing if there is none.
    pub fn print_or_watch(&self, connection: &Connection, eval: &str, context: &mut Context<'_, '_>) -> u8 {
        if self.detach && !eval.is_empty() {
            context.ui.output(&format!("Evaluation ID: {eval}"));
            return 0;
        }
        self.watch(connection, eval, context)
    }
}

/// A modify index as `-check-index` gives it; `None` where the flag is missing or empty.
pub fn check_index(given: Option<&str>) -> Result<Option<u64>, InvalidFlag> {
    let Some(text) = given.filter(|t| !t.is_empty()) else { return Ok(None) };
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().map(Some).map_err(|_| {
        let quoted = encamp_model::quoted(text);
        let why = if digits { "value out of range" } else { "invalid syntax" };
        InvalidFlag::new(format_args!(
            "Error parsing check-index value {quoted}: strconv.ParseUint: parsing {quoted}: {why}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::check_index;

    #[test]
    fn indexes_are_whole_numbers() {
        assert_eq!(check_index(None), Ok(None));
        assert_eq!(check_index(Some("")), Ok(None));
        assert_eq!(check_index(Some("0")), Ok(Some(0)));
        let error = |text| check_index(Some(text)).unwrap_err().to_string();
        assert_eq!(
            error("x"),
            "Error parsing check-index value \"x\": strconv.ParseUint: parsing \"x\": invalid syntax"
        );
        assert!(error("-1").ends_with("invalid syntax"));
        assert!(error("18446744073709551616").ends_with("value out of range"));
    }
}

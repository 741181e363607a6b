//! Restarting allocations in batches.

use std::time::Duration;

use futures_util::future::join_all;

use super::{BatchWait, JobRestart, Plan, one};
use crate::connection::Connection;
use crate::context::{Context, clock};
use crate::error::CommandError;
use crate::flags::parse_wait;
use crate::prompt;
use crate::render::values;
use encamp_model::{AllocListStub, format_duration};

/// A restart in batches.
pub(super) struct Batches<'a> {
    pub command: &'a JobRestart,
    pub connection: &'a Connection,
    pub namespace: Option<&'a str>,
    pub job: &'a str,
    pub plan: Plan,
}

/// The action after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Batch,
    /// Stop because of an error.
    Failed,
    /// Stop because the operator answered no.
    Stopped,
    /// The question was not answered.
    Unanswered,
}

impl Batches<'_> {
    /// Restarts all given allocations. Returns the exit code.
    pub(super) fn carry_out(&mut self, all: Vec<AllocListStub>, context: &mut Context<'_, '_>) -> u8 {
        if all.is_empty() {
            context.ui.output("No allocations to restart");
            return 0;
        }
        let count = all.len();
        let noun = values::plural(i64::try_from(count).unwrap_or(i64::MAX), "allocation", "allocations");
        self.step(&format!("Restarting {count} {noun}"), context);
        let size = self.plan.size.of(count);
        let batches: Vec<&[AllocListStub]> = all.chunks(size).collect();
        let mut errors: Vec<CommandError> = Vec::new();
        for (i, batch) in batches.iter().enumerate() {
            if size > 1 {
                let what = format!("Restarting {} batch of {} allocations", ordinal(i.saturating_add(1)), batch.len());
                self.step(&what, context);
            }
            let failed = self.restart(batch, context);
            let wrong = !failed.is_empty();
            errors.extend(failed);
            let last = i.saturating_add(1) == batches.len();
            match self.after(wrong, last, context) {
                Next::Batch => {}
                Next::Failed => {
                    self.step("Stopping job restart due to error", context);
                    break;
                }
                Next::Stopped if errors.is_empty() => {
                    context.ui.output("Cancelling job restart");
                    return 0;
                }
                Next::Stopped => break,
                Next::Unanswered => return 1,
            }
        }
        if errors.is_empty() {
            self.step("Job restart finished", context);
            context.ui.output("\nJob restarted successfully!");
            return 0;
        }
        self.step("Job restart finished with errors", context);
        let noun = values::plural(i64::try_from(errors.len()).unwrap_or(i64::MAX), "error", "errors");
        let items: Vec<String> = errors.iter().map(|e| format!("* {e}")).collect();
        let count = errors.len();
        context.ui.error(&format!("\n{count} {noun} occurred while restarting job:\n{}", items.join("\n")));
        1
    }

    /// A line about the whole restart.
    fn step(&self, text: &str, context: &mut Context<'_, '_>) {
        let now = values::time(clock(), &self.connection.zone);
        context.ui.output_markup(&format!("[bold]==> {now}: {text}[reset]"));
    }

    /// Restarts the allocations of a batch concurrently. Returns the errors.
    fn restart(&self, batch: &[AllocListStub], context: &mut Context<'_, '_>) -> Vec<CommandError> {
        let (command, zone) = (self.command, &self.connection.zone);
        let (tell, mut messages) = tokio::sync::mpsc::unbounded_channel::<String>();
        let restarts = batch.iter().map(|a| {
            let tell = tell.clone();
            one::restart(&self.connection.client, self.namespace, self.job, a, command, move |text: String| {
                // The receiver is only dropped when the batch is complete.
                let _ = tell.send(text);
            })
        });
        let mut print = |text: String| {
            context.ui.output(&format!("    {}: {text}", values::time(clock(), zone)));
            context.ui.flush();
        };
        let results = self.connection.wait(async {
            let mut all = std::pin::pin!(join_all(restarts));
            loop {
                tokio::select! {
                    biased;
                    Some(text) = messages.recv() => print(text),
                    results = &mut all => break results,
                }
            }
        });
        while let Ok(text) = messages.try_recv() {
            print(text);
        }
        results.into_iter().filter_map(Result::err).collect()
    }

    /// Decides what to do after a batch: asks if requested, and waits.
    fn after(&mut self, wrong: bool, last: bool, context: &mut Context<'_, '_>) -> Next {
        if wrong && !self.plan.ask_on_error {
            return Next::Failed;
        }
        if last {
            return Next::Batch;
        }
        let asks_wait = self.plan.wait == BatchWait::Ask;
        if (wrong || asks_wait) && !self.command.yes {
            let question = match (wrong, asks_wait) {
                (true, true) => "Ignore the errors above and proceed with the next batch? [y/N/<wait duration>]",
                (true, false) => "Ignore the errors above and proceed with the next batch? [y/N]",
                (false, _) => "Proceed with the next batch? [Y/n/<wait duration>]",
            };
            match self.ask(question, !wrong, asks_wait, context) {
                Some(true) => {}
                Some(false) if wrong => return Next::Failed,
                Some(false) => return Next::Stopped,
                None => return Next::Unanswered,
            }
        }
        if let BatchWait::For(wait) = self.plan.wait
            && !wait.is_zero()
        {
            let shown = format_duration(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX));
            self.step(&format!("Waiting {shown} before restarting the next batch"), context);
            self.connection.pause(wait);
        }
        Next::Batch
    }

    /// Asks until the answer is a yes or a no; an empty answer means `usual`. A duration is a yes, and sets the wait
    /// between batches from then on. `None` at the end of the input.
    fn ask(&mut self, question: &str, usual: bool, durations: bool, context: &mut Context<'_, '_>) -> Option<bool> {
        let now = values::time(clock(), &self.connection.zone);
        let question = context.ui.markup(&format!("[bold]==> {now}: {question}[reset]"));
        loop {
            let answer = match prompt::ask(context.ui, &question) {
                Ok(answer) => answer,
                Err(e) => {
                    context.ui.error(&format!("Failed to parse answer: {e}"));
                    return None;
                }
            };
            match answer.to_lowercase().as_str() {
                "" => return Some(usual),
                "y" | "yes" => return Some(true),
                "n" | "no" => return Some(false),
                text => match parse_wait(text) {
                    Ok(wait) if durations => {
                        self.plan.wait = BatchWait::For(wait);
                        return Some(true);
                    }
                    _ => context.ui.output(&format!("Invalid option {answer:?}")),
                },
            }
        }
    }
}

/// A number with its ordinal suffix: 1st, 2nd, 3rd, 4th.
fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// The interval at which the wait for a replacement is reported again.
pub(super) const REMINDER: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::ordinal;

    #[test]
    fn numbers_have_their_endings() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
        assert_eq!(all.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th");
    }
}

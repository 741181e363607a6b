//! `job plan -suggest`: the smallest edits with which the job is placed, and `-apply-suggestion`, which writes one to the
//! job file (`docs/spec/cli.md §7.11`).

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use super::JobPlan;
use crate::context::{Context, Environment};
use crate::error::{CommandError, CommandResult};
use crate::job_file::JobFile;
use crate::render::styled::Styled;
use crate::render::suggest as render;
use crate::render::text_diff;
use crate::search_limit::within;
use encamp_jobspec::admission::ServerContext;
use encamp_jobspec::edit::FileEdit;
use encamp_model::{Job, JobPlanResponse, quoted};
use encamp_plan::stop::Stop;
use encamp_plan::suggest::edit::Edit;
use encamp_plan::suggest::{Question, Suggestion, Suggestions, applied, changes, suggest};
use encamp_server::rollout_preview::{End, rollout_within};
use encamp_snapshot::replace::replace;
use encamp_state::State;

/// Suggestions that a terminal shows without being asked for, and the time that they may take.
const UNASKED: usize = 3;
const UNASKED_TIME: Duration = Duration::from_millis(300);
/// Simulations of rollouts end after so many evaluations.
const MOST_EVALUATIONS: usize = 100;

/// The flags about suggestions.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SuggestFlags {
    /// Suggest the smallest edits with which everything is placed, each planned again
    #[arg(long)]
    pub suggest: bool,
    /// Show the diff of the job file for the suggestion with this number, and write it to the file
    #[arg(long, value_name = "number", value_parser = clap::value_parser!(u16).range(1..))]
    pub apply_suggestion: Option<u16>,
}

impl SuggestFlags {
    pub(super) fn any(&self) -> bool {
        self.suggest || self.apply_suggestion.is_some()
    }
}

/// How many allocations the rollout of a job evicts, if it comes to its end. One that takes too long to follow is taken
/// to, without evictions.
fn completes(state: &State, job: &Arc<Job>, now: i64) -> Option<usize> {
    let Ok(rollout) = rollout_within(state, job, now, MOST_EVALUATIONS) else { return Some(0) };
    let evicted = rollout.steps.iter().flat_map(|s| &s.evicted).map(|e| e.allocations).sum();
    (!matches!(rollout.end, End::Unplaced | End::Failed(_))).then_some(evicted)
}

/// The edits with which a job is placed on a cluster.
pub(crate) fn suggestions(
    state: &State,
    job: &encamp_model::api::Job,
    (options, server): (&encamp_jobspec::convert::ConvertOptions, &ServerContext),
    now: i64,
    (moves, stop): (bool, Stop),
) -> Suggestions {
    let rollout = |state: &State, job: &Arc<Job>| completes(state, job, now);
    suggest(&Question { state, job, options, server, now, rollout: Some(&rollout), moves, stop })
}

impl JobPlan {
    /// The suggestions for a job, if they are asked for, or if a person reads that something is not placed.
    pub(super) fn suggested(
        &self,
        (file, response): (&JobFile, &JobPlanResponse),
        state: &State,
        server: &ServerContext,
        now: i64,
        env: &Environment,
    ) -> Option<Suggestions> {
        let options = self.general.convert_options(&file.job, env, state);
        let of = |moves, stop| suggestions(state, &file.job, (&options, server), now, (moves, stop));
        if self.suggest.any() {
            let interrupt = env.terminal.note_interrupt();
            let noted = interrupt.noted();
            let progress = env.terminal.spinner();
            progress.say("Looking for edits with which everything is placed; Ctrl-C ends the search");
            return Some(of(true, Stop::when(move || noted.load(std::sync::atomic::Ordering::Acquire))));
        }
        // Without arguments, another command shows the plan before it asks.
        let read = env.stdout_is_terminal && !self.is_for_programs() && !self.args.is_empty();
        let found = (read && !response.failed_tg_allocs.is_empty()).then(|| of(false, within(UNASKED_TIME)))?;
        (!found.cut && !found.list.is_empty()).then_some(found)
    }

    /// Prints suggestions behind a plan.
    pub(super) fn print_suggestions(&self, file: &JobFile, found: &Suggestions, context: &mut Context<'_, '_>) {
        let path = Some(file.path());
        let view = render::View { found, path, place: &|edit| file.place_of(edit), zone: &context.env.zone() };
        let most = if self.suggest.any() { usize::MAX } else { UNASKED };
        let mut text = Styled::from("\n");
        text.push(render::text(&view, most, self.verbose, context.ui.colours_on()));
        context.ui.output(&text);
    }

    /// Writes a suggestion to the job file, after its diff was shown.
    pub(super) fn apply(
        &self,
        number: u16,
        file: &JobFile,
        found: &Suggestions,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<u8> {
        let suggestion = chosen(number, found, file.path())?;
        let edits: Vec<FileEdit> = suggestion.edits.iter().flat_map(changes).collect();
        let text = file
            .rewritten(&edits)
            .map_err(|e| CommandError::new(format!("Suggestion {number} is not written: {e}")))?;
        let again = self.job.again(file, &text, context.env)?;
        if applied(&file.job, &suggestion.edits).as_ref() != Some(&again) {
            return Err(CommandError::new(format!(
                "Suggestion {number} is not written: the edited file would describe another job. A value that it changes \
                 comes from a variable that -var, a variable file or the environment sets, or that is used elsewhere as \
                 well"
            )));
        }
        context.ui.output(&text_diff::unified(file.path(), &file.text(), &text, context.ui.colours_on()));
        let path = context.env.directory.join(file.path());
        let failed = |e: std::io::Error| {
            CommandError::new(format!("Error writing {}: {}", quoted(file.path()), crate::job_file::cause(&e)))
        };
        replace(&path, |out: &mut File| out.write_all(text.as_bytes())).map_err(failed)?;
        context.ui.output(&format!("\nSuggestion {number} was written to {}", file.path()));
        Ok(0)
    }
}

/// The suggestion with a number.
fn chosen<'s>(number: u16, found: &'s Suggestions, path: &str) -> CommandResult<&'s Suggestion> {
    if !found.are_needed() {
        return Err(CommandError::new("There is nothing to apply: everything is placed as the job file is"));
    }
    let at = usize::from(number).saturating_sub(1);
    let suggestion = found.list.get(at).ok_or_else(|| {
        CommandError::new(format!("There is no suggestion {number}; -suggest lists {}", found.list.len()))
    })?;
    match suggestion.edits.iter().find(|e| !e.is_of_file()) {
        None => Ok(suggestion),
        Some(edit) => {
            Err(CommandError::new(format!("Suggestion {number} is no edit of the job file: {}", by_hand(edit, path))))
        }
    }
}

/// What an operator does for an edit of the cluster, for the job in a file.
fn by_hand(edit: &Edit, path: &str) -> String {
    match edit {
        Edit::Preemption { job_type } => {
            format!("encamp operator scheduler set-config -preempt-{job_type}-scheduler=true changes the setting")
        }
        Edit::AddNodes { count, class, .. } => format!("start {count} more nodes of class {}", quoted(class)),
        Edit::Wait { .. } => "register the job, and it is placed when the batch work has ended".into(),
        Edit::Moves { .. } => format!("encamp rebalance -fit {path} -out FILE plans the moves"),
        _ => "it changes the cluster".into(),
    }
}

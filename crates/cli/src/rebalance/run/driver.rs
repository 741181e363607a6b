//! The loop of a run: does what [`next`] decides, and writes the progress to disk before each change.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::super::file::{self, Content, RunRecord, RunStatus};
use super::log;
use super::remote::Remote;
use super::{OnDrift, RebalanceRun, STILL_MARKED};
use crate::context::{Context, clock};
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::plan_file::RecordedState;
use crate::render::values::counted;
use crate::terminal::{Interrupt, Progress as Spinner};
use encamp_model::{Node, NodeEligibility};
use encamp_plan::rebalance::run::check::{catch_up, check};
use encamp_plan::rebalance::run::{Check, Decision, Difference, Ending, Progress, Replacement, RunLimits, Seen, next};
use encamp_plan::rebalance::{Action, AllocRef, NodeRef, RebalancePlan, Request, follow, rebalance};
use encamp_plan::stop::Stop;
use encamp_state::State;

/// The interval at which replacements are read.
const POLL: Duration = Duration::from_millis(500);
/// How long marks are tried to be taken back while the cluster does not answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the rest of a plan is planned again.
const MOST_REPLANS: usize = 10;
/// How long planning again may take.
const REPLAN_TIME: Duration = Duration::from_secs(8);

/// A run.
pub(super) struct Driver<'a> {
    remote: Remote<'a>,
    path: PathBuf,
    content: Content,
    address: String,
    limits: RunLimits,
    on_drift: OnDrift,
    signals: Interrupt,
    spinner: Spinner,
    /// What the spinner shows.
    said: String,
    progress: Progress,
    seen: Seen,
    /// When the wait for the replacements of the step began.
    waiting: Option<Instant>,
    /// Since when marks cannot be taken back.
    failing: Option<Instant>,
    /// An earlier run did all steps.
    finished: bool,
    /// The step whose beginning was printed last.
    printed: Option<(usize, usize)>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(command: &RebalanceRun, remote: Remote<'a>, path: PathBuf, content: Content) -> Driver<'a> {
        let progress = content.run.as_ref().map(|run| run.progress.clone()).unwrap_or_default();
        let terminal = &remote.env.terminal;
        Driver {
            address: RecordedState::new(0, None, remote.connection.client.address()).address.unwrap_or_default(),
            limits: command.limits(),
            on_drift: command.on_drift,
            signals: terminal.note_signals(),
            spinner: terminal.spinner(),
            said: String::new(),
            progress,
            seen: Seen::default(),
            waiting: None,
            failing: None,
            finished: content.is_carried_out(),
            printed: None,
            remote,
            path,
            content,
        }
    }

    /// Only takes marks back.
    pub(super) fn abort(&mut self) {
        self.seen.ending = Some(Ending::Aborted);
    }

    fn plan(&self) -> &RebalancePlan {
        &self.content.plan
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// Nodes are still marked, and the cluster does not take the marks back.
    pub(super) fn drive(&mut self, context: &mut Context<'_, '_>) -> CommandResult<Ending> {
        loop {
            if self.seen.ending.is_none() && self.signals.noted().load(Ordering::Acquire) {
                self.seen.ending = Some(Ending::Interrupted);
                log::step("Interrupted: marking nodes eligible again", context);
            }
            let decision = next(self.plan(), &self.progress, &self.seen, self.limits);
            if let Decision::Ended(ending) = decision {
                self.end(&ending, context);
                return Ok(ending);
            }
            let step = self.act(decision, context);
            match step {
                Ok(()) => self.failing = None,
                Err(error) if self.seen.ending.is_none() => self.stop(&error.to_string(), context),
                Err(error) => self.retry(error)?,
            }
        }
    }

    /// Ends the run for a reason.
    fn stop(&mut self, reason: &str, context: &mut Context<'_, '_>) {
        log::step(&format!("Stopping: {reason}"), context);
        self.seen.ending = Some(Ending::Stopped(reason.to_string()));
    }

    /// Tries again to take marks back, for some time.
    fn retry(&mut self, error: CommandError) -> CommandResult<()> {
        // Marks are not left for the sake of replacements that cannot be read.
        self.seen.waited = i64::MAX;
        self.seen.nodes.clear();
        if self.failing.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            self.remote.connection.pause(POLL);
            return Ok(());
        }
        // The progress on disk still lists them.
        let names: Vec<&str> = self.progress.marked.iter().map(|n| n.name.as_str()).collect();
        let marked = format!("Nodes may still be ineligible: {}", names.join(", "));
        let hint = format!("Once the cluster answers: encamp rebalance run -abort {}", self.path.display());
        Err(error.within(marked).with_hint(hint).with_exit_code(STILL_MARKED))
    }

    /// Does what was decided.
    fn act(&mut self, decision: Decision, context: &mut Context<'_, '_>) -> CommandResult<()> {
        match decision {
            Decision::Check => self.check(context)?,
            Decision::Drifted(differences) => self.drifted(&differences, context)?,
            Decision::ReadNode(node) => {
                let condition = self.remote.node(&node)?;
                self.seen.nodes.insert(node.id, condition);
            }
            Decision::Mark(node) => self.mark(&node, context)?,
            Decision::MarkBack(node) => self.mark_back(&node, context)?,
            Decision::Release(node) => {
                self.progress.release(&node);
                self.save()?;
            }
            Decision::Stop(allocation) => self.stop_allocation(allocation, context)?,
            Decision::ActionDone => self.action_done(context),
            Decision::AwaitReplacements => self.await_replacements()?,
            Decision::StepDone => self.step_done(context)?,
            Decision::End(Ending::Stopped(reason)) => self.stop(&reason, context),
            Decision::End(ending) => self.seen.ending = Some(ending),
            Decision::Ended(_) => {}
        }
        Ok(())
    }

    /// Shows what the run waits for. Terminals without cursor movements show each text as a line.
    fn say(&mut self, text: String) {
        if self.said != text {
            self.spinner.say(&text);
            self.said = text;
        }
    }

    /// Writes the progress: it is on disk once this returns.
    fn save(&mut self) -> CommandResult<()> {
        match self.record(RunStatus::Running, None) {
            // The file lists marks that are no more. They are taken back all the same.
            Err(_) if self.seen.ending.is_some() => Ok(()),
            result => result,
        }
    }

    fn record(&mut self, status: RunStatus, reason: Option<String>) -> CommandResult<()> {
        let now = clock();
        let started = self.content.run.as_ref().map_or(now, |run| run.started);
        let (address, progress) = (self.address.clone(), self.progress.clone());
        self.content.run = Some(RunRecord { address, started, updated: now, status, reason, progress });
        file::write(&self.path, &self.content).context("Error writing the progress to the plan file")
    }

    fn check(&mut self, context: &mut Context<'_, '_>) -> CommandResult<()> {
        self.say("Comparing the cluster with the plan".into());
        let (state, notes, now) = self.remote.state()?;
        notes.iter().for_each(|note| context.ui.warn(note));
        catch_up(&self.content.plan, &mut self.progress, &state);
        self.seen.check = Some(checked(&self.content, &self.progress, &state, now));
        let position = (self.progress.replans, self.progress.steps);
        if self.printed != Some(position) && self.seen.check.as_ref().is_some_and(|c| c.differences.is_empty()) {
            self.printed = Some(position);
            if let Some(text) = log::beginning(self.plan(), &self.progress) {
                log::step(&text, context);
            }
        }
        Ok(())
    }

    fn mark(&mut self, node: &NodeRef, context: &mut Context<'_, '_>) -> CommandResult<()> {
        self.progress.mark(node);
        self.seen.nodes.remove(&node.id);
        self.save()?;
        self.remote.mark(node, false)?;
        log::action(&format!("Node {} is marked ineligible", node.name), context);
        Ok(())
    }

    fn mark_back(&mut self, node: &NodeRef, context: &mut Context<'_, '_>) -> CommandResult<()> {
        self.seen.nodes.remove(&node.id);
        self.remote.mark(node, true)?;
        log::action(&format!("Node {} is marked eligible again", node.name), context);
        self.progress.release(node);
        self.save()
    }

    fn stop_allocation(&mut self, allocation: AllocRef, context: &mut Context<'_, '_>) -> CommandResult<()> {
        let text = format!("{} on {} is stopped", allocation.name, allocation.node.name);
        if !self.progress.has_stopped(allocation.id.as_deref().unwrap_or_default()) {
            self.progress.stopped.push(allocation.clone());
        }
        self.save()?;
        self.remote.stop(&allocation)?;
        log::action(&text, context);
        self.progress.actions = self.progress.actions.saturating_add(1);
        self.seen.replacements = None;
        Ok(())
    }

    fn action_done(&mut self, context: &mut Context<'_, '_>) {
        let step = self.plan().steps.get(self.progress.steps);
        if let Some(Action::AwaitHealthy) = step.and_then(|s| s.actions.get(self.progress.actions)) {
            let replacements = self.seen.replacements.take().unwrap_or_default();
            for (stopped, replacement) in self.progress.stopped.iter().zip(&replacements) {
                if let Replacement::Healthy { node } = replacement {
                    log::action(&format!("{} is healthy on {}", stopped.name, node.name), context);
                }
            }
            (self.waiting, self.seen.waited) = (None, 0);
        }
        self.progress.actions = self.progress.actions.saturating_add(1);
    }

    fn await_replacements(&mut self) -> CommandResult<()> {
        let began = *self.waiting.get_or_insert_with(Instant::now);
        if self.seen.replacements.is_some() {
            self.remote.connection.pause(POLL);
        }
        let read: CommandResult<Vec<Replacement>> =
            self.progress.stopped.iter().map(|stopped| self.remote.replacement(stopped)).collect();
        let read = read?;
        let healthy = read.iter().filter(|r| matches!(r, Replacement::Healthy { .. })).count();
        let (step, steps, all) = (self.progress.steps.saturating_add(1), self.plan().steps.len(), read.len());
        self.say(format!("Step {step} of {steps}: {healthy} of {all} replacements are healthy"));
        self.seen.replacements = Some(read);
        self.seen.waited = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
        Ok(())
    }

    fn step_done(&mut self, context: &mut Context<'_, '_>) -> CommandResult<()> {
        let number = self.progress.steps.saturating_add(1);
        self.progress.finish_step();
        self.seen.begin_step();
        self.waiting = None;
        self.save()?;
        log::step(&format!("Step {number} of {} is done", self.plan().steps.len()), context);
        Ok(())
    }

    fn drifted(&mut self, differences: &[Difference], context: &mut Context<'_, '_>) -> CommandResult<()> {
        let reason = log::listed(differences);
        log::step(&format!("The cluster differs from what the plan assumes: {reason}"), context);
        if self.on_drift == OnDrift::Stop {
            self.stop(&reason, context);
            return Ok(());
        }
        if self.progress.replans >= MOST_REPLANS {
            let text = format!("the rest has been planned again {MOST_REPLANS} times: {reason}");
            self.stop(&text, context);
            return Ok(());
        }
        let plan = self.replanned()?;
        if !plan.reached && self.plan().reached {
            let text = format!("{reason}; no other plan reaches the goal: {}", log::listed(&plan.missing));
            self.stop(&text, context);
            return Ok(());
        }
        let (moves, steps) = (counted(plan.moves, "move", "moves"), counted(plan.steps.len(), "step", "steps"));
        log::step(&format!("The rest is planned again: {moves} in {steps}"), context);
        self.content.plan = plan;
        self.progress.begin_again();
        self.seen.begin_step();
        self.waiting = None;
        self.save()
    }

    /// The rest of the plan on the cluster as it is. The nodes that this run marked count as eligible.
    fn replanned(&mut self) -> CommandResult<RebalancePlan> {
        self.say("Planning the rest again".into());
        let (mut state, _, now) = self.remote.state()?;
        for marked in &self.progress.marked {
            if let Some(entry) = state.node(&marked.id).filter(|e| e.node.drain_strategy.is_none()) {
                let node = Node { scheduling_eligibility: NodeEligibility::Eligible, ..Node::clone(&entry.node) };
                state.replace_node_record(Arc::new(node));
            }
        }
        let mut request: Request = self.content.request.clone();
        let done = self.progress.moved.saturating_add(self.progress.stopped.len());
        request.limits.max_moves = request.limits.max_moves.map(|most| most.saturating_sub(done));
        let (noted, began) = (self.signals.noted(), Instant::now());
        let stop = Stop::when(move || noted.load(Ordering::Acquire) || began.elapsed() >= REPLAN_TIME);
        rebalance(&state, &request, &stop, now).context("Error planning the rest again")
    }

    /// Records and prints how the run ended.
    fn end(&mut self, ending: &Ending, context: &mut Context<'_, '_>) {
        let (status, reason) = match ending {
            Ending::Finished => (RunStatus::Finished, None),
            Ending::Stopped(reason) => (RunStatus::Stopped, Some(reason.clone())),
            Ending::Interrupted => (RunStatus::Interrupted, None),
            // Taking back what a finished run left does not undo it.
            Ending::Aborted if self.finished => (RunStatus::Finished, None),
            Ending::Aborted => (RunStatus::Aborted, None),
        };
        // No mark depends on it any more.
        if let Err(e) = self.record(status, reason) {
            context.ui.warn(&e.to_string());
        }
        let (done, steps, freed) = (&self.progress, self.plan().steps.len(), self.plan().freed.len());
        log::end(ending, done, (steps, freed), &self.path, context);
    }
}

/// The comparison of a state with a plan.
pub(super) fn checked(content: &Content, progress: &Progress, state: &State, now: i64) -> Check {
    check(&content.request, &content.plan, progress, (state, now), |state, step| follow(state, step, now))
}

//! `rebalance`: searches for moves.

use std::time::{Duration, Instant};

use super::file::{self, Content};
use super::request::{GoalFlags, LimitFlags, request};
use super::state_after;
use crate::cluster::{ClusterFlags, TimeFlags};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::CompleteWith;
use crate::context::Context;
use crate::diagnostics::{DiagnosticsFormat, Refused};
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::general::GeneralFlags;
use crate::plan_file::RecordedState;
use crate::render::html::heat::Heat;
use crate::render::html::{self, Origin};
use crate::render::page;
use crate::render::rebalance::{self as render, View, goal};
use crate::render::rebalance_commands;
use crate::report::ReportFlags;
use crate::search_limit::SearchLimit;
use encamp_model::quoted;
use encamp_plan::rebalance::{RebalancePlan, Request, rebalance};
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// The default of `-timeout`.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Plan the fewest moves that empty nodes or make a job fit
///
/// Searches for few moves of allocations that reach a goal, and prints them as steps: which nodes are marked
/// ineligible, which allocations are stopped, and where the scheduler places their replacements. Each step is simulated
/// with the full scheduler. Nothing is moved: rebalance run carries out the plan that -out writes.
///
/// The goal is one of -free, -free-nodes, -fit, -spread and -even. Allocations of system and sysbatch jobs, and those
/// that are bound to their nodes by volumes, stay where they are. The search ends once no better plan can exist, after
/// -timeout, or on Ctrl-C; the output then holds the best plan so far, and how many moves are necessary at least.
#[derive(Debug, clap::Parser)]
pub struct Rebalance {
    #[command(flatten)]
    pub(crate) goal: GoalFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    /// Write the plan to this file, which rebalance run carries out
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub out: Option<String>,
    /// List all moves
    #[arg(long)]
    pub verbose: bool,
    /// Print the plan as JSON, see docs/reference/rebalance.schema.json
    #[arg(long)]
    pub json: bool,
    /// Print the plan as Markdown
    #[arg(long)]
    pub markdown: bool,
    /// Print only the commands that carry the plan out
    #[arg(long)]
    pub commands: bool,
    #[command(flatten)]
    pub(crate) report: ReportFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for Rebalance {
    const META: Meta = Meta::new("rebalance")
        .usage_exit(255)
        .paged()
        .exit_status(&[
            (0, "The plan reaches the goal, or nothing has to be moved."),
            (1, "No plan that reaches the goal was found."),
            (255, "An error occurred."),
        ])
        .offline_examples(&[
            (
                "Plan the fewest moves that empty two nodes",
                "encamp rebalance -snapshot fixtures/demo/cluster.json -free 2",
            ),
            (
                "Write a plan that empties a node, which rebalance run carries out",
                "encamp rebalance -snapshot fixtures/demo/cluster.json \\
    -free-nodes dc1-general-01 -out rebalance.json",
            ),
            (
                "Lower the highest utilisation with at most five moves, without batch jobs",
                "encamp rebalance -snapshot fixtures/demo/cluster.json -even \\
    -max-moves 5 -batch=false",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if let Err(e) = self.goal.check() {
            return context.usage_error(&e.to_string());
        }
        if [self.json, self.markdown, self.commands].iter().filter(|given| **given).count() > 1 {
            return context.usage_error("Use only one of -json, -markdown and -commands");
        }
        let planned = match self.planned(context) {
            Ok(planned) => planned,
            Err(e) => return context.refuse(e, DiagnosticsFormat::Text),
        };
        let done = self.show(&planned, context);
        context.end(done)
    }
}

/// A plan and what it was made from.
struct Planned {
    request: Request,
    plan: RebalancePlan,
    before: State,
    notes: Vec<String>,
    state: RecordedState,
    /// The time of the state, Unix nanoseconds.
    now: i64,
}

impl Rebalance {
    fn planned(&self, context: &mut Context<'_, '_>) -> Result<Planned, Refused> {
        let began = Instant::now();
        let env = context.env;
        let file = self.goal.job_file(env)?;
        let cluster = self.cluster.load(&self.general, Detail::Everything, env)?.as_of(&self.time)?;
        let address = self.general.api_config(env).address;
        let mut recorded = RecordedState::new(cluster.taken_at(env), self.cluster.snapshot.as_deref(), &address);
        let (before, notes, now) = cluster.into_state(self.verbose, env);
        recorded.index = before.index;
        notes.iter().for_each(|note| context.ui.warn(note));
        let request = request((&self.goal, &self.limits), file.as_ref(), &before, &self.general, env, now)?;
        let limit = SearchLimit::after(began, self.limits.timeout.unwrap_or(TIMEOUT), &env.terminal);
        let progress = env.terminal.spinner();
        progress.say(&format!("Searching for moves to {}; Ctrl-C ends the search", goal(&request)));
        let plan = rebalance(&before, &request, &limit.stop(1), now).map_err(CommandError::from)?;
        drop(progress);
        Ok(Planned { request, plan, before, notes, state: recorded, now })
    }

    fn show(&self, planned: &Planned, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let env = context.env;
        let view = View { request: &planned.request, plan: &planned.plan };
        let report = || {
            let after = state_after(&planned.before, &planned.plan, planned.now);
            let origin = Origin::new(planned.state.clone(), planned.before.index);
            html::rebalance::report(view, &Heat::new(&planned.before, &after), &origin, &planned.notes)
        };
        self.report.write(report, env)?;
        if let Some(out) = &self.out {
            let content = Content::new(env.now, planned.state.clone(), planned.request.clone(), planned.plan.clone());
            let written = file::write(&env.directory.join(out), &content);
            written.context(format!("Error writing plan file {}", quoted(out)))?;
        }
        if self.json {
            context.ui.output(&render::json(view)?);
        } else if self.markdown {
            context.ui.output(&render::markdown(view));
        } else if self.commands {
            context.ui.output(&rebalance_commands::commands(&planned.plan));
        } else {
            render::print(context.ui, view, self.verbose);
            self.hint(&planned.plan, context);
        }
        Ok(u8::from(!planned.plan.reached))
    }

    /// What to do with the plan.
    fn hint(&self, plan: &RebalancePlan, context: &mut Context<'_, '_>) {
        match &self.out {
            Some(out) => context.ui.output(&format!(
                "\nPlan written to {out}. To carry it out step by step, run:\n\nencamp rebalance run {out}"
            )),
            None if plan.steps.is_empty() => {}
            None => {
                let hint =
                    "Use -out to write a plan that rebalance run carries out, or -commands to print its commands.";
                context.ui.output(&format!("\n{}", page::sentence(hint)));
            }
        }
    }
}

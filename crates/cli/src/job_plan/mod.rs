//! `job plan`: a dry run of a job registration (`docs/spec/cli.md §7`).
//!
//! `answer`: the result of planning one job. `many`: several job files. `gate`: conditions of pipelines.

mod answer;
mod assume;
mod gate;
mod many;

use std::collections::BTreeMap;

use answer::{Explanation, Planned};
use assume::{AssumeFlags, Assumed};
use gate::{GateFlags, Gated};

use crate::changes::ChangeFlags;
use crate::cluster::{ClusterFlags, TimeFlags, block_on};
use crate::command::Run;
use crate::command_meta::{Listing, Meta};
use crate::completion::values::CompleteWith;
use crate::context::{Context, Environment};
use crate::diagnostics::Refused;
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::flags::FlagKind;
use crate::general::GeneralFlags;
use crate::job_file::{JobFile, JobFileFlags};
use crate::plan_file::{OutFlags, RecordedState, Reviewed};
use crate::remarks::{self, Destination};
use crate::render::html::heat::Heat;
use crate::render::plan::{Effects, PlanView};
use crate::render::{html, json, markdown, plan, plan_summary, rollout as render_rollout, template, what_if};
use crate::report::ReportFlags;
use encamp_model::{JobPlanResponse, JobType, api};
use encamp_plan::apply::apply;
use encamp_plan::explain::class_reasons;
use encamp_plan::tally::Tally;
use encamp_plan::{DryRun, assumed_settings, compare, plan_job};
use encamp_server::rollout_preview::{rollout, rollout_within};
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// Rolling updates of more steps than that are not simulated for the summary.
const MOST_STEPS: u64 = 200;

/// Their simulation ends after so many evaluations: a few for each step.
const MOST_EVALUATIONS: usize = 1000;

/// Dry-run a job to determine its effects
///
/// Runs the full scheduler against the state of a cluster, without changing the cluster, and prints how the job differs
/// from the registered one, which allocations the scheduler would create, stop, update and preempt, and why placements
/// failed.
///
/// The path is a job file, or - for standard input. With several paths, or directories of job files, the jobs are
/// planned by descending priority, each on the state that the previous plans leave, followed by a summary. The state is
/// read from the running cluster, or from the snapshot file or server backup given with -snapshot; the plan is then
/// made as of the time the snapshot was taken. With -remote, the servers of the cluster make the plan instead. With
/// -check-remote, the servers make a second plan, and the differences are reported.
///
/// With -drain, -down, -add, -scale, -stop and -config, the job is planned on the cluster as it would be after these
/// changes; see what-if.
#[derive(Debug, clap::Parser)]
pub struct JobPlan {
    #[command(flatten)]
    pub(crate) job: JobFileFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    /// Explain the plan: why nodes were filtered or exhausted, the scores of the feasible nodes, and which allocations
    /// are preempted and why. With a node's name, ID or ID prefix, explain only that node, in full detail
    #[arg(long, value_name = "node", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub explain: Option<String>,
    #[command(flatten)]
    pub(crate) changes: ChangeFlags,
    /// Let the servers of the cluster make the plan
    #[arg(long)]
    pub remote: bool,
    /// Plan locally and on the servers, and report the differences
    #[arg(long)]
    pub check_remote: bool,
    /// Show the diff between the planned and the registered job
    #[arg(long, switch = Some(true))]
    pub diff: bool,
    /// Show the node of each placement
    #[arg(long)]
    pub placements: bool,
    /// Predict the rollout: the steps of the deployment, how many allocations serve after each, the shortest duration,
    /// and what is needed at most
    #[arg(long)]
    pub rollout: bool,
    /// Show the contents of added and deleted groups and tasks
    #[arg(long)]
    pub verbose: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json_output: bool,
    /// Print the result as Markdown, for a merge request comment
    #[arg(long)]
    pub markdown: bool,
    /// Format the result with this Go template
    #[arg(long = "t", value_name = "template")]
    pub template: Option<String>,
    #[command(flatten)]
    pub(crate) assume: AssumeFlags,
    #[command(flatten)]
    pub(crate) gate: GateFlags,
    #[command(flatten)]
    pub(crate) report: ReportFlags,
    #[command(flatten)]
    pub(crate) out: OutFlags,
    /// Accepted for compatibility; there are no policies to override
    #[arg(long)]
    pub policy_override: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<path>...", add = CompleteWith::Every(&CompleteWith::JOB_FILES))]
    pub(crate) args: Vec<String>,
}

impl JobPlan {
    /// The command that shows the plan of a job that is about to be registered.
    pub(super) fn for_run(job: JobFileFlags, general: GeneralFlags, verbose: bool) -> JobPlan {
        JobPlan {
            job,
            cluster: ClusterFlags::default(),
            time: TimeFlags::default(),
            explain: None,
            changes: ChangeFlags::default(),
            remote: false,
            check_remote: false,
            diff: true,
            placements: false,
            rollout: false,
            verbose,
            json_output: false,
            markdown: false,
            assume: AssumeFlags::default(),
            gate: GateFlags::default(),
            report: ReportFlags::default(),
            out: OutFlags::default(),
            template: None,
            policy_override: false,
            general,
            args: Vec::new(),
        }
    }

    /// Plans and prints everything but the submit command. An error is the exit code; its message has been printed.
    pub(super) fn show(
        &self,
        path: &str,
        file: &JobFile,
        context: &mut Context<'_, '_>,
    ) -> Result<JobPlanResponse, u8> {
        let planned = self.plan(file, context.env).map_err(|e| context.refuse(e, self.job.diagnostics))?;
        for note in &planned.notes {
            context.ui.warn(note);
        }
        context.remark(&planned.remarks, self.job.diagnostics);
        plan::print_body(context.ui, &self.view_of(&planned, &file.job, path));
        if context.env.stdout_is_terminal {
            let assumed = planned.assumed.text();
            context
                .ui
                .output_markup(&format!("{}\n", plan_summary::markup_if(&planned.effects.tally, assumed.as_deref())));
        }
        Ok(planned.response)
    }

    /// The view of the plan of `job` from `path`.
    fn view_of<'a>(&self, planned: &'a Planned, job: &'a api::Job, path: &str) -> PlanView<'a> {
        self.view((&planned.response, &planned.effects), job, path, planned.now)
    }

    fn view<'a>(
        &self,
        (plan, effects): (&'a JobPlanResponse, &'a Effects),
        job: &'a api::Job,
        path: &str,
        now: i64,
    ) -> PlanView<'a> {
        PlanView {
            plan,
            effects,
            job_type: job.r#type.as_deref().filter(|t| !t.is_empty()).map_or(JobType::Service, JobType::from),
            parameterized: job.parameterized_job.is_some(),
            all_at_once: job.all_at_once.unwrap_or_default(),
            time_zone: job.periodic.as_ref().and_then(|p| p.time_zone.as_deref()).unwrap_or_default(),
            now,
            diff: self.diff,
            verbose: self.verbose,
            run_args: format!("{}{path}", self.job.variables.run_args(self.general.namespace.as_deref())),
        }
    }
}

impl Run for JobPlan {
    const META: Meta = Meta::new("job plan")
        .alias("plan", Listing::Alias)
        .usage_exit(255)
        .exit_status(&[
            (0, "The job is unchanged, even if allocations would be created, or its changes create and destroy none."),
            (1, "The job is new or changed, and allocations would be created or destroyed."),
            (2, "A condition of -fail-on holds."),
            (255, "An error occurred."),
        ])
        .examples(&[
            ("Plan a job on the running cluster", "encamp job plan web.nomad.hcl"),
            (
                "Plan a job without a cluster, on the state in a snapshot",
                "encamp job plan -snapshot fixtures/preemption/cluster.json \\
    fixtures/preemption/webapp.hcl",
            ),
            (
                "Explain the placements of a job with another value of a variable",
                "encamp job plan -explain -var version=1.1 web.nomad.hcl",
            ),
            ("Write the plan to a file, for review and registration", "encamp job plan -out plan.encamp web.nomad.hcl"),
            (
                "Fail a pipeline if allocations cannot be placed or others are evicted",
                "encamp job plan -fail-on unplaced,evict web.nomad.hcl",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.args.is_empty() {
            return context.usage_error("This command takes one argument: <path>");
        }
        if let Some(conflict) = self.conflict() {
            return context.failure(conflict);
        }
        // Before anything is sent.
        if let Err(e) = self.gate.gate() {
            return context.report(&e);
        }
        let [path] = self.args.as_slice() else { return self.run_many(context) };
        if context.env.directory.join(path).is_dir() {
            return self.run_many(context);
        }
        let planned = self.job.load(path, context.env).and_then(|file| Ok((self.plan(&file, context.env)?, file)));
        let (planned, file) = match planned {
            Ok(planned) => planned,
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        for note in planned.notes.iter().chain(planned.changed.iter().flat_map(|o| &o.notes)) {
            context.ui.warn(note);
        }
        context.remark(&planned.remarks, self.job.diagnostics);
        if let Some(changed) = &planned.changed {
            let for_programs = self.json_output || self.markdown || self.template.is_some();
            what_if::print_short(context.ui, changed, for_programs);
        }
        let written = match self.write_file(&file, &planned, context.env) {
            Ok(written) => written,
            Err(e) => return context.report(&e),
        };
        let response = &planned.response;
        let gated = Gated {
            path,
            job_id: file.job.id.as_deref().unwrap_or_default(),
            namespace: self.general.namespace_of(&file.job, context.env),
            priority: gate::priority(file.job.priority),
            response,
            tally: &planned.effects.tally,
        };
        let failures = match self.gate.apply(&[gated], context.env) {
            Ok(failures) => failures,
            Err(e) => return context.report(&e),
        };
        let report = || self.report(path, &file, &planned, &failures, context.env);
        if let Err(e) = self.report.write(report, context.env) {
            return context.report(&e);
        }
        let code = match (planned.disagreements.is_empty(), failures.is_empty()) {
            (false, _) => context.command.usage_exit,
            (true, false) => gate::FAILED,
            (true, true) => plan::exit_code(response),
        };
        let text = match &self.template {
            Some(template) => planned
                .value()
                .and_then(|value| template::render(template, &value, "*api.JobPlanResponse").map_err(CommandError::new))
                .context("Error formatting the data"),
            None if self.json_output => {
                planned.value().and_then(|value| json::indented(&value).map_err(CommandError::new))
            }
            None if self.markdown => {
                let view = self.view_of(&planned, &file.job, path);
                let id = file.job.id.as_deref().unwrap_or_default();
                let changed = planned.changed.as_ref().map(what_if::markdown);
                let assumed: Vec<String> = planned.assumed.note().into_iter().chain(changed).collect();
                let assumed = (!assumed.is_empty()).then(|| assumed.join("\n\n"));
                let explanation = planned.explanation.text();
                Ok(markdown::plan(&view, id, assumed.as_deref(), explanation.as_deref()).trim_end().to_string())
            }
            None => {
                plan::print(context.ui, &self.view_of(&planned, &file.job, path));
                if let Some(reviewed) = planned.reviewed.as_ref().filter(|_| self.placements) {
                    context.ui.output_markup("\n[bold]Placements[reset]");
                    context.ui.output(&plan_summary::placements(&reviewed.outcome, self.verbose));
                }
                if let Some(text) = planned.explanation.text() {
                    context.ui.output_markup(&text);
                }
                if let Some(rollout) = &planned.rollout {
                    context.ui.output_markup(&format!("\n{}", render_rollout::markup(rollout, self.verbose)));
                }
                if let Some(line) = written {
                    context.ui.output(&format!("\n{line}"));
                }
                planned.report_disagreements(context);
                report_failures(&failures, context);
                if context.env.stdout_is_terminal {
                    let assumed = planned.assumed.text();
                    let summary = plan_summary::markup_if(&planned.effects.tally, assumed.as_deref());
                    context.ui.output_markup(&format!("\n{summary}"));
                }
                return code;
            }
        };
        planned.report_disagreements(context);
        report_failures(&failures, context);
        match text {
            Ok(text) => {
                context.ui.output(&text);
                code
            }
            Err(e) => context.report(&e),
        }
    }
}

impl JobPlan {
    /// The message about flags that exclude each other.
    fn conflict(&self) -> Option<&'static str> {
        if self.json_output && self.template.is_some() {
            Some("Both -json-output and -t formatting are not allowed")
        } else if self.markdown && (self.json_output || self.template.is_some()) {
            Some("-markdown cannot be combined with -json-output or -t")
        } else if self.remote && (self.check_remote || self.cluster.snapshot.is_some()) {
            Some("-remote cannot be combined with -check-remote or -snapshot")
        } else if self.remote && self.explain.is_some() {
            Some("-explain requires a local plan: it cannot be combined with -remote")
        } else if self.remote && self.placements {
            Some("-placements requires a local plan: it cannot be combined with -remote")
        } else if self.remote && self.rollout {
            Some("-rollout requires a local plan: it cannot be combined with -remote")
        } else if self.remote && self.report.wanted() {
            Some("-html requires a local plan: it cannot be combined with -remote")
        } else if self.markdown && self.rollout {
            Some("-rollout cannot be combined with -markdown")
        } else if (!self.changes.is_empty() || self.assume.any()) && (self.remote || self.check_remote) {
            Some("Servers cannot assume changes: -remote and -check-remote plan on the cluster as it is")
        } else {
            let one = matches!(self.args.as_slice(), [_]);
            self.out.conflict(one && !self.remote && self.changes.is_empty() && !self.assume.any())
        }
    }

    /// The present outcome of a job on the running cluster, and notes about how the state was read.
    pub(super) fn present(&self, file: &JobFile, env: &Environment) -> Result<(Reviewed, Vec<String>), Refused> {
        let planned = self.plan(file, env)?;
        let reviewed = planned.reviewed.ok_or_else(|| CommandError::new("The plan was not made locally"))?;
        Ok((reviewed, planned.notes))
    }

    /// The report about the plan of one job; empty if it was not made locally.
    fn report(&self, path: &str, file: &JobFile, planned: &Planned, failures: &[String], env: &Environment) -> String {
        let (Some(reviewed), Some(heat)) = (&planned.reviewed, &planned.heat) else { return String::new() };
        let general = self.general.for_job(&file.job);
        let state =
            RecordedState::new(planned.taken_at, self.cluster.snapshot.as_deref(), &general.api_config(env).address);
        let notes = planned.notes.iter().chain(planned.changed.iter().flat_map(|o| &o.notes));
        let job = html::plan::PlannedJob {
            view: self.view_of(planned, &file.job, path),
            path,
            id: file.job.id.as_deref().unwrap_or_default(),
            namespace: self.general.namespace_of(&file.job, env),
            priority: gate::priority(file.job.priority),
            outcome: &reviewed.outcome,
            explanation: planned.explanation.text(),
            rollout: planned.rollout.as_ref().map(|rollout| render_rollout::markup(rollout, self.verbose)),
        };
        let plans = html::plan::Plans {
            origin: &html::Origin::new(state, reviewed.index),
            assumed: planned.changed.as_ref(),
            heat,
            failures,
            disagreements: &planned.disagreements,
            notes: &notes.cloned().collect::<Vec<String>>(),
            unplanned: 0,
        };
        html::plan::report(&job, &plans)
    }

    /// Writes the plan file, if one is requested. Returns the line about it.
    fn write_file(&self, file: &JobFile, planned: &Planned, env: &Environment) -> CommandResult<Option<String>> {
        let Some(reviewed) = &planned.reviewed else { return Ok(None) };
        let general = self.general.for_job(&file.job);
        let state = RecordedState::new(planned.now, self.cluster.snapshot.as_deref(), &general.api_config(env).address);
        let namespace = self.general.namespace_of(&file.job, env);
        self.out.write(file, &self.job.variables, namespace, reviewed, state, env)
    }

    fn plan(&self, file: &JobFile, env: &Environment) -> Result<Planned, Refused> {
        if self.remote {
            let response = self.ask(&file.job, env)?;
            return Ok(Planned {
                effects: Effects { tally: Tally::of_response(&response, &file.job), ..Effects::default() },
                response,
                reviewed: None,
                assumed: Assumed::default(),
                remarks: remarks::of(file, None, env.now),
                changed: None,
                notes: Vec::new(),
                disagreements: Vec::new(),
                explanation: Explanation::None,
                rollout: None,
                heat: None,
                taken_at: env.now,
                now: env.now,
            });
        }
        let id = file.job.id.clone().unwrap_or_default();
        let namespace = self.general.namespace_of(&file.job, env);
        let only_job = self.changes.is_empty() && !self.rollout;
        let detail = if only_job { Detail::Jobs(vec![(namespace.to_string(), id)]) } else { Detail::Everything };
        let cluster = self.cluster.load(&self.general.for_job(&file.job), detail, env)?.as_of(&self.time)?;
        let taken_at = cluster.taken_at(env);
        let (before, mut notes, now) = cluster.into_state(self.verbose, env);
        let changed = self.changes.carry_out(&before, namespace, now)?;
        let state = changed.as_ref().map_or(&before, |w| &w.state);
        notes.extend(assumed_settings(state).map(String::from));
        let options = self.general.convert_options(&file.job, env, state);
        let (server, assumed) = self.assume.context(state, &file.job, namespace);
        notes.extend(assumed.note());
        let planned = plan_job(state, &file.job, &options, &server, now).map_err(|e| file.refused(&e))?;
        let remarks = remarks::of(file, Some(&Destination { state, admitted: &planned.run.job }), now);
        let mut disagreements = Vec::new();
        if self.check_remote {
            disagreements = compare::disagreements(&planned.response, &self.ask(&file.job, env)?);
            if disagreements.is_empty() {
                notes.push("The servers' plan is the same.".into());
            }
        }
        let explanation = self.explanation(&planned.run, now)?;
        let rollout = match self.rollout {
            true => Some(rollout(state, &planned.run.job, now).context("Error predicting the rollout")?),
            false => None,
        };
        let heat = self.report.wanted().then(|| {
            let after = apply(&planned.run.state, &planned.run.accepted(), now);
            Heat::new(&before, &after)
        });
        let reviewed = Some(Reviewed::new(&planned, state));
        let effects = self.effects(&planned.run, state, now, env);
        let changed = changed.map(|w| w.outcome);
        let response = planned.response;
        Ok(Planned {
            reviewed,
            response,
            effects,
            assumed,
            remarks,
            changed,
            notes,
            disagreements,
            explanation,
            rollout,
            heat,
            taken_at,
            now,
        })
    }

    /// The effects of the plan. For readers of the summary, the rest of a rolling update is simulated.
    fn effects(&self, run: &DryRun, state: &State, now: i64, env: &Environment) -> Effects {
        let mut tally = Tally::of(run, now);
        let read = env.stdout_is_terminal || self.report.wanted();
        // A job that is not changed continues a rollout that the simulation knows nothing of.
        let new = run.old_job.as_ref().is_none_or(|old| old.version != run.job.version);
        if read
            && new
            && (1..=MOST_STEPS).contains(&tally.steps())
            && let Ok(rollout) = rollout_within(state, &run.job, now, MOST_EVALUATIONS)
        {
            tally.simulated(&rollout.left());
        }
        let class_reasons = if env.stdout_is_terminal { class_reasons(run, now) } else { BTreeMap::new() };
        Effects { tally, class_reasons }
    }

    /// The requested explanation.
    fn explanation(&self, run: &DryRun, now: i64) -> CommandResult<Explanation> {
        self.explain.as_ref().map_or(Ok(Explanation::None), |node| Explanation::new(run, node, now))
    }

    /// Requests the plan from the servers. The region and namespace of the job take precedence over those of flags and
    /// environment.
    fn ask(&self, job: &api::Job, env: &Environment) -> Result<JobPlanResponse, Refused> {
        let client = self.general.for_job(job).client(env)?;
        let id = job.id.as_deref().unwrap_or_default();
        let answer = block_on(client.plan_job(id, own(&job.namespace), job, self.policy_override))?;
        Ok(answer.context("Error during plan")?.0)
    }
}

/// Prints the conditions of `-fail-on` that hold.
fn report_failures(failures: &[String], context: &mut Context<'_, '_>) {
    if !failures.is_empty() {
        context.ui.error("The plan fails the conditions of -fail-on:");
        failures.iter().for_each(|line| context.ui.error(&format!("  * {line}")));
    }
}

fn own(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|v| !v.is_empty())
}

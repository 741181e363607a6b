//! `job plan`: a dry run of a job registration (`docs/spec/cli.md §7`).
//!
//! [`planning`]: making the plan of one job. [`answer`]: the result. [`output`]: printing it. [`many`]: several job files.
//! [`clusters`]: several clusters. [`suggesting`]: edits with which the job is placed. [`gate`]: conditions of pipelines.
//! [`assume`]: namespaces and pools that are assumed to exist.

mod answer;
mod assume;
mod clusters;
mod gate;
mod many;
mod output;
mod planning;
mod suggesting;

use answer::Planned;
use assume::AssumeFlags;
use clusters::ClustersFlags;
use gate::GateFlags;
use output::{PlannedFile, report_failures};
use suggesting::SuggestFlags;
pub(crate) use suggesting::suggestions;

use crate::changes::ChangeFlags;
use crate::cluster::TimeFlags;
use crate::diagnostics::Refused;
use crate::flags::FlagKind;
use crate::job_file::{JobFile, JobFileFlags};
use crate::plan_file::{OutFlags, Reviewed};
use crate::prelude::*;
use crate::render::{plan, plan_summary, what_if};
use crate::report::ReportFlags;
use encamp_model::JobPlanResponse;

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
/// With -contexts, or with several -snapshot, one job is planned on several clusters at the same time, and a row for each
/// says whether it fits there.
///
/// With -drain, -down, -add, -scale, -stop and -config, the job is planned on the cluster as it would be after these
/// changes; see what-if.
#[derive(Debug, clap::Parser)]
pub struct JobPlan {
    #[command(flatten)]
    pub(crate) job: JobFileFlags,
    #[command(flatten)]
    pub(crate) cluster: ClustersFlags,
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
    pub(crate) suggest: SuggestFlags,
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
            cluster: ClustersFlags::default(),
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
            suggest: SuggestFlags::default(),
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
        plan::print_body(context.ui, &self.view((&planned.response, &planned.effects), &file.job, path, planned.now));
        if context.env.stdout_is_terminal {
            let assumed = planned.assumed.text();
            context
                .ui
                .output_markup(&format!("{}\n", plan_summary::markup_if(&planned.effects.tally, assumed.as_deref())));
        }
        Ok(planned.response)
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
            (
                "Compare how a job fits on two clusters",
                "encamp job plan -snapshot fixtures/demo/cluster.json \\
    -snapshot fixtures/launches/cluster.json \\
    fixtures/demo/registered/web.hcl",
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
        if let Some(conflict) = self.conflict_with_several().or_else(|| self.conflict()) {
            return context.failure(conflict);
        }
        // Before anything is sent.
        if let Err(e) = self.gate.gate() {
            return context.report(&e);
        }
        match self.args.as_slice() {
            [path] if self.cluster.are_several() => {
                let path = path.clone();
                self.run_on_clusters(&path, context)
            }
            [path] if !context.env.directory.join(path).is_dir() => self.run_one(path, context),
            _ => self.run_many(context),
        }
    }
}

impl JobPlan {
    /// Plans one job file.
    fn run_one(&self, path: &str, context: &mut Context<'_, '_>) -> u8 {
        let read = self.job.load(path, context.env).and_then(|file| Ok((self.plan(&file, context.env)?, file)));
        let plan = match read {
            Ok((planned, file)) => PlannedFile { path, file, planned },
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        if let (Some(number), Some(found)) = (self.suggest.apply_suggestion, &plan.planned.suggestions) {
            let code = self.apply(number, &plan.file, found, context);
            return context.end(code);
        }
        self.warn(&plan.planned, context);
        context.attempt(|context| self.answer(&plan, context))
    }

    /// Prints notes about the plan, remarks about the job, and the outcome of assumed changes.
    fn warn(&self, planned: &Planned, context: &mut Context<'_, '_>) {
        for note in planned.notes.iter().chain(planned.changed.iter().flat_map(|o| &o.notes)) {
            context.ui.warn(note);
        }
        context.remark(&planned.remarks, self.job.diagnostics);
        if let Some(changed) = &planned.changed {
            what_if::print_short(context.ui, changed, self.is_for_programs());
        }
    }

    /// Whether the plan is printed in a format for programs or comments.
    fn is_for_programs(&self) -> bool {
        self.json_output || self.markdown || self.template.is_some()
    }

    /// Writes the requested files and prints the plan. Returns the exit code.
    fn answer(&self, plan: &PlannedFile<'_>, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let written = self.write_file(plan, context.env)?;
        let failures = self.gate.apply(&[self.gated(plan, context.env)], context.env)?;
        self.report.write(|| self.report(plan, &failures, context.env), context.env)?;
        match self.document(plan, context.env) {
            Some(document) => {
                plan.planned.report_disagreements(context);
                report_failures(&failures, context);
                context.ui.output(&document?);
            }
            None => self.print(plan, &failures, written.as_deref(), context),
        }
        Ok(match (plan.planned.disagreements.is_empty(), failures.is_empty()) {
            (false, _) => context.command.meta.usage_exit,
            (true, false) => gate::FAILED,
            (true, true) => plan::exit_code(&plan.planned.response),
        })
    }

    /// The message about flags that exclude each other.
    fn conflict(&self) -> Option<&'static str> {
        if self.json_output && self.template.is_some() {
            Some("Both -json-output and -t formatting are not allowed")
        } else if self.markdown && (self.json_output || self.template.is_some()) {
            Some("-markdown cannot be combined with -json-output or -t")
        } else if self.remote && (self.check_remote || self.cluster.snapshot().is_some()) {
            Some("-remote cannot be combined with -check-remote or -snapshot")
        } else if self.remote && self.explain.is_some() {
            Some("-explain requires a local plan: it cannot be combined with -remote")
        } else if self.remote && self.placements {
            Some("-placements requires a local plan: it cannot be combined with -remote")
        } else if self.remote && self.rollout {
            Some("-rollout requires a local plan: it cannot be combined with -remote")
        } else if self.remote && self.report.wanted() {
            Some("-html requires a local plan: it cannot be combined with -remote")
        } else if self.remote && self.suggest.any() {
            Some("-suggest requires a local plan: it cannot be combined with -remote")
        } else if self.markdown && self.suggest.any() {
            Some("-suggest cannot be combined with -markdown")
        } else if self.suggest.apply_suggestion.is_some() && matches!(self.args.as_slice(), [path] if path == "-") {
            Some("-apply-suggestion writes to the job file: it cannot be standard input")
        } else if self.markdown && self.rollout {
            Some("-rollout cannot be combined with -markdown")
        } else if (!self.changes.is_empty() || self.assume.any()) && (self.remote || self.check_remote) {
            Some("Servers cannot assume changes: -remote and -check-remote plan on the cluster as it is")
        } else {
            let one = matches!(self.args.as_slice(), [_]) && !self.cluster.are_several();
            self.out.conflict(one && !self.remote && self.changes.is_empty() && !self.assume.any())
        }
    }

    /// The present outcome of a job on the running cluster, and notes about how the state was read.
    pub(super) fn present(&self, file: &JobFile, env: &Environment) -> Result<(Reviewed, Vec<String>), Refused> {
        let planned = self.plan(file, env)?;
        let reviewed = planned.reviewed.ok_or_else(|| CommandError::new("The plan was not made locally"))?;
        Ok((reviewed, planned.notes))
    }
}

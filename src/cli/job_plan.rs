//! `job plan`: what registering a job would do (`spec/cli.md §7`).

use super::context::{Context, Environment};
use super::diagnostics::Refused;
use super::general::GeneralFlags;
use super::job_file::JobFileFlags;
use super::registry::Run;
use super::render::plan::PlanView;
use super::render::{json, plan, template};
use crate::jobspec::admission::AdmissionError;
use crate::jobspec::explain::Severity;
use crate::model::{Job, JobPlanResponse};
use crate::plan::{JobPlan as Planned, PlanError, plan_job, server_context};
use crate::snapshot;

/// Show what registering a job would change
///
/// Runs the whole scheduler against the state of a cluster, without touching the cluster, and prints how the job differs
/// from the registered one, what the scheduler would create, stop, update and preempt, and why allocations could not be
/// placed.
///
/// The path is a job file, or - for standard input. The state comes from the snapshot file given with -snapshot.
///
/// The exit code is 0 when no allocation would be created or destroyed, 1 when some would, and 255 after an error.
#[derive(Debug, clap::Parser)]
pub struct JobPlan {
    #[command(flatten)]
    pub job: JobFileFlags,
    /// Cluster snapshot file to plan against
    #[arg(long, value_name = "file")]
    pub snapshot: Option<String>,
    /// Print how the job differs from the registered one
    #[arg(
        long,
        value_name = "bool",
        default_value_t = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub diff: bool,
    /// Show the content of added and deleted groups and tasks too
    #[arg(long)]
    pub verbose: bool,
    /// Print the result as JSON instead
    #[arg(long)]
    pub json_output: bool,
    /// Print the result by this template
    #[arg(long = "t", value_name = "template")]
    pub template: Option<String>,
    /// Accepted for compatibility; there are no policies to override
    #[arg(long)]
    pub policy_override: bool,
    #[command(flatten)]
    pub general: GeneralFlags,
    #[arg(value_name = "path")]
    pub args: Vec<String>,
}

impl JobPlan {
    /// How to print the result of planning `job` from `path`.
    pub fn view<'a>(&self, plan: &'a JobPlanResponse, job: &'a Job, path: &str, now: i64) -> PlanView<'a> {
        PlanView {
            plan,
            job_type: &job.r#type,
            parameterized: job.parameterized_job.is_some(),
            time_zone: job.periodic.as_ref().map(|p| p.time_zone.as_str()).unwrap_or_default(),
            now,
            diff: self.diff,
            verbose: self.verbose,
            run_args: format!("{}{path}", self.job.variables.run_args(self.general.namespace.as_deref())),
        }
    }
}

impl Run for JobPlan {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [path] = self.args.as_slice() else {
            return context.usage_error("This command takes one argument: <path>");
        };
        if self.json_output && self.template.is_some() {
            return context.failure("Both -json-output and -t formatting are not allowed");
        }
        let planned = match self.plan(path, context.env) {
            Ok(planned) => planned,
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        let (notes, plan) = planned;
        for note in notes {
            context.ui.warn(&note);
        }
        let text = match &self.template {
            Some(template) => json::plan_response(&plan.response)
                .and_then(|value| template::render(template, &value, "*api.JobPlanResponse"))
                .map_err(|e| format!("Error formatting the data: {e}")),
            None if self.json_output => json::plan_response(&plan.response).and_then(|value| json::indented(&value)),
            None => {
                let view = self.view(&plan.response, &plan.run.job, path, context.env.now);
                plan::print(context.ui, &view);
                return plan::exit_code(&plan.response);
            }
        };
        match text {
            Ok(text) => {
                context.ui.output(&text);
                plan::exit_code(&plan.response)
            }
            Err(e) => context.failure(&e),
        }
    }
}

impl JobPlan {
    /// Plans the job file at `path`. Beside the plan: what the snapshot lacks.
    fn plan(&self, path: &str, env: &Environment) -> Result<(Vec<String>, Planned), Refused> {
        let file = self.job.load(path, env)?;
        let Some(cluster) = &self.snapshot else {
            return Err(
                "Planning against a running cluster is not supported yet: give a cluster snapshot with -snapshot FILE"
                    .into(),
            );
        };
        let cluster =
            snapshot::load(&env.directory.join(cluster)).map_err(|e| format!("Error reading snapshot: {e}"))?;
        let options = self.general.convert_options(&file.job, env, &cluster.state);
        let context = server_context(&cluster.state);
        let planned = plan_job(&cluster.state, &file.job, &options, &context, env.now).map_err(|e| {
            let items: &[String] = match &e {
                PlanError::Admission(AdmissionError::Invalid(items)) => items,
                _ => &[],
            };
            Refused { text: format!("Error during plan: {e}"), findings: file.findings(items, Severity::Error) }
        })?;
        Ok((cluster.notes, planned))
    }
}

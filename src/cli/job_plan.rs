//! `job plan`: what registering a job would do (`spec/cli.md §7`).

use super::context::Context;
use super::general::GeneralFlags;
use super::job_file::JobFileFlags;
use super::registry::Run;
use super::render::plan::PlanView;
use crate::model::{Job, JobPlanResponse};

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
            run_args: format!("{}{path}", self.job.run_args(self.general.namespace.as_deref())),
        }
    }
}

impl Run for JobPlan {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [_path] = self.args.as_slice() else {
            return context.usage_error("This command takes one argument: <path>");
        };
        if let Err(e) = self.job.check() {
            return context.failure(&e);
        }
        context.failure("Planning needs the state of a cluster, and this build cannot read one")
    }
}

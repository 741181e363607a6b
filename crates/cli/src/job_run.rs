//! `job run`: registers a job (`docs/spec/cli.md §8.1`).

use std::collections::BTreeMap;

use super::flags::parse_int;
use super::job_file::{JobFile, JobFileFlags};
use super::job_plan::JobPlan;
use super::plan_file::{self, PlanFileFlags};
use super::prelude::*;
use super::prompt;
use super::remarks;
use super::render::{json, plan};
use super::submitted::{FollowFlags, check_index};
use crate::web::hint::UiPage;
use encamp_model::JobSubmission;
use encamp_model::requests::JobRegisterRequest;

/// Run a new job or update an existing job
///
/// Reads a job file and registers the job with the servers of the cluster. Then monitors the evaluation until it
/// completes, and the deployment until it ends.
///
/// With -plan, the job is first planned locally on the state of the cluster: the command shows the plan, asks for
/// confirmation, and registers the job only if it has not been changed in the meantime. With -output, the job is
/// printed as the JSON of the API, without contacting a cluster.
///
/// The path is a job file, a plan file, or - for standard input. A plan file, which job plan -out wrote, is planned
/// again on the present state of the cluster, and its job is only registered if the outcome is the reviewed one, but
/// for the differences that -allow names. A difference that is not allowed ends the command with exit status 3, a
/// missing or wrong signature with 4.
#[derive(Debug, clap::Parser)]
pub struct JobRun {
    #[command(flatten)]
    pub(crate) job: JobFileFlags,
    /// Register only if the job's modify index has this value; 0 means that the job must not exist
    #[arg(long, value_name = "index")]
    pub check_index: Option<String>,
    /// Show the plan of the job first and ask for confirmation
    #[arg(long)]
    pub plan: bool,
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    /// Priority of the evaluation. Default: the priority of the job
    #[arg(long, value_name = "priority", default_value = "0", hide_default_value = true, value_parser = parse_int)]
    pub eval_priority: i64,
    /// Print the job as JSON and exit
    #[arg(long)]
    pub output: bool,
    /// Preserve the task group counts of the registered job
    #[arg(long)]
    pub preserve_counts: bool,
    /// Preserve the task resources of the registered job
    #[arg(long)]
    pub preserve_resources: bool,
    /// Accepted for compatibility; there are no policies to override
    #[arg(long)]
    pub policy_override: bool,
    /// Consul namespace to set in the job
    #[arg(long, value_name = "namespace")]
    pub consul_namespace: Option<String>,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) plan_file: PlanFileFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "path", add = CompleteWith::JOB_FILES)]
    pub(crate) path: String,
}

impl Run for JobRun {
    const META: Meta = Meta::new("job run")
        .alias("run", Listing::Common)
        .exit_status(&[
            (0, "The evaluation completed and all allocations were placed, or -detach was given."),
            (1, "An error occurred, or the deployment was not successful."),
            (2, "Allocations are unplaced, and no deployment waits for them."),
            (3, "Nothing was registered: the outcome of the plan file is not the reviewed one any more."),
            (4, "Nothing was registered: the signature of the plan file is missing or wrong."),
        ])
        .examples(&[
            ("Register a job and monitor its deployment", "encamp job run web.nomad.hcl"),
            (
                "Register a job without waiting, with a value for a variable",
                "encamp job run -detach -var version=1.1 web.nomad.hcl",
            ),
            ("Print a job file as the JSON of the API", "encamp job run -output web.nomad.hcl"),
            (
                "Register a plan, also if allocations would be placed on other nodes",
                "encamp job plan -out plan.encamp web.nomad.hcl;
    encamp job run -detach -allow placement-moves plan.encamp",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let path = &self.path;
        if path != "-" && plan_file::is_one(&context.env.directory.join(path)) {
            return plan_file::run(&self, path, context);
        }
        if self.plan_file.given() {
            return context.failure("-allow and -verify are about plan files, which job plan -out writes");
        }
        let mut file = match self.job.load(path, context.env) {
            Ok(file) => file,
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        if let Some(namespace) = self.consul_namespace.clone().filter(|n| !n.is_empty()) {
            file.job.consul_namespace = Some(namespace);
        }
        if self.output {
            let text = json::escaped(&BTreeMap::from([("Job", &file.job)]));
            return context.print(text.context("Error converting job"));
        }
        // A plan shows them, and more.
        if !self.plan {
            context.remark(&remarks::of(&file, None, context.env.now), self.job.diagnostics);
        }
        let mut index = match check_index(self.check_index.as_deref()) {
            Ok(index) => index,
            Err(e) => return context.failure(&e.to_string()),
        };
        if self.plan {
            match self.show_plan(path, &file, context) {
                Ok(planned) => index = index.or(Some(planned)),
                Err(code) => return code,
            }
        }
        let submission = Some(file.submission(&self.job.variables, context.env));
        context.attempt(|context| self.register(&file, Registration { index, submission, conflict: None }, context))
    }
}

/// How a job is registered.
pub(super) struct Registration {
    /// The modify index that the job has to have.
    pub index: Option<u64>,
    /// What servers store with the job.
    pub submission: Option<JobSubmission>,
    /// The exit code if the index is another one; `None`: that of failures.
    pub conflict: Option<u8>,
}

impl JobRun {
    /// The first flag that would change the outcome of a plan.
    pub(super) fn fixed_by_plan(&self) -> Option<&'static str> {
        let given = |text: &Option<String>| text.is_some();
        [
            ("-check-index", given(&self.check_index)),
            ("-consul-namespace", given(&self.consul_namespace)),
            ("-vault-namespace", given(&self.job.vault_namespace)),
            ("-json", self.job.json),
            ("-output", self.output),
            ("-plan", self.plan),
            ("-preserve-counts", self.preserve_counts),
            ("-preserve-resources", self.preserve_resources),
        ]
        .into_iter()
        .find_map(|(flag, given)| given.then_some(flag))
    }

    /// Plans the job locally, shows the plan and asks for confirmation. Returns the modify index of the job in the
    /// plan, or the exit code.
    fn show_plan(&self, path: &str, file: &JobFile, context: &mut Context<'_, '_>) -> Result<u64, u8> {
        let command = JobPlan::for_run(self.job.clone(), self.general.clone(), self.follow.verbose);
        let response = command.show(path, file, context)?;
        let index = response.job_modify_index;
        context.ui.output_markup(&format!("[reset][bold]Job Modify Index: {index}[reset]\n"));
        prompt::confirm(context.ui, "Register the job as planned? [y/N]", "Cancelling job run")?;
        Ok(index)
    }

    /// Registers a job and monitors its evaluation.
    pub(super) fn register(
        &self,
        file: &JobFile,
        registration: Registration,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<u8> {
        let Registration { index, submission, conflict: conflict_code } = registration;
        let job = &file.job;
        let connection = Connection::new(&self.general.for_job(job), context.env)?;
        let request = JobRegisterRequest {
            job: Some(job.clone()),
            enforce_index: index.is_some(),
            job_modify_index: index.unwrap_or(0),
            preserve_counts: self.preserve_counts,
            preserve_resources: self.preserve_resources,
            policy_override: self.policy_override,
            eval_priority: self.eval_priority,
            submission,
            ..JobRegisterRequest::default()
        };
        let namespace = job.namespace.as_deref().filter(|n| !n.is_empty());
        let answer = match connection.wait(connection.client.register_job(namespace, &request)) {
            Ok((answer, _)) => answer,
            Err(e) => {
                if let Some(conflict) = e.modify_index_conflict() {
                    context.ui.error(conflict);
                    let error = CommandError::new("Job not updated");
                    return Err(match conflict_code {
                        Some(code) => error.with_exit_code(code),
                        None => error,
                    });
                }
                return Err(e).context("Error submitting job");
            }
        };
        plan::print_warnings(context.ui, &answer.warnings);
        let page = UiPage::new_job(namespace, job.id.as_deref().unwrap_or_default());
        page.show(&connection, self.ui, context);
        Ok(self.follow.registered(&connection, job, &answer.eval_id, "Job registration successful", context))
    }
}

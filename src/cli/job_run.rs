//! `job run`: registers a job (`spec/cli.md §8.1`).

use std::collections::BTreeMap;

use super::context::Context;
use super::flags::parse_int;
use super::general::GeneralFlags;
use super::job_file::JobFileFlags;
use super::registry::Run;
use super::render::json;

/// Register a job, or print it as JSON
///
/// Reads a job file. With -output the job is printed as the JSON that clients send, without talking to a cluster.
///
/// The path is a job file, or - for standard input.
#[derive(Debug, clap::Parser)]
pub struct JobRun {
    #[command(flatten)]
    pub job: JobFileFlags,
    /// Register only if the job's modify index is this; 0 only if the job does not exist
    #[arg(long, value_name = "index")]
    pub check_index: Option<String>,
    /// Return without waiting for the job to be placed
    #[arg(long)]
    pub detach: bool,
    /// Priority of the evaluation, instead of the job's
    #[arg(long, value_name = "priority", default_value = "0", value_parser = parse_int)]
    pub eval_priority: i64,
    /// Print the job as JSON and stop
    #[arg(long)]
    pub output: bool,
    /// Keep the counts of groups that the cluster has
    #[arg(long)]
    pub preserve_counts: bool,
    /// Keep the resources of tasks that the cluster has
    #[arg(long)]
    pub preserve_resources: bool,
    /// Accepted for compatibility; there are no policies to override
    #[arg(long)]
    pub policy_override: bool,
    /// Consul namespace to set in the job
    #[arg(long, value_name = "namespace")]
    pub consul_namespace: Option<String>,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    /// Accepted for compatibility; there is no web interface to open
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub general: GeneralFlags,
    #[arg(value_name = "path")]
    pub args: Vec<String>,
}

impl Run for JobRun {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [path] = self.args.as_slice() else {
            return context.usage_error("This command takes one argument: <path>");
        };
        let mut job = match self.job.load(path, context.env) {
            Ok(file) => file.job,
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        if let Some(namespace) = self.consul_namespace.filter(|n| !n.is_empty()) {
            job.consul_namespace = Some(namespace);
        }
        if !self.output {
            return context.failure("This version cannot register jobs. Use -output to print the job as JSON.");
        }
        match json::escaped(&BTreeMap::from([("Job", &job)])) {
            Ok(text) => {
                context.ui.output(&text);
                0
            }
            Err(e) => context.failure(&format!("Error converting job: {e}")),
        }
    }
}

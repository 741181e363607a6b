//! `job inspect`: prints a job as JSON (`spec/cli.md §8.7`).

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde_json::Value;

use super::context::{Context, Environment};
use super::diagnostics::{DiagnosticsFormat, Refused};
use super::flags::parse_int;
use super::general::GeneralFlags;
use super::job_file::VariableFlags;
use super::registry::Run;
use super::render::table::{Form, table};
use super::render::{json, template, values};
use crate::jobspec::canonicalize::canonicalize;
use crate::model::{Job, api, quoted};
use crate::snapshot;
use crate::state::State;

/// Print a job as JSON
///
/// With -snapshot, prints a job of the snapshot; the argument is its id or the beginning of it. With -hcl, reads the job
/// file that the argument names and prints the job with all its defaults.
#[derive(Debug, clap::Parser)]
pub struct JobInspect {
    /// Cluster snapshot file to look the job up in
    #[arg(long, value_name = "file")]
    pub snapshot: Option<String>,
    /// The argument is a job file in HCL, or - for standard input
    #[arg(long)]
    pub hcl: bool,
    /// Print this version of the job
    #[arg(long, value_name = "version", value_parser = parse_int)]
    pub version: Option<i64>,
    /// Print the job without the "Job" key around it
    #[arg(long)]
    pub json: bool,
    /// Print the job by this template
    #[arg(long = "t", value_name = "template")]
    pub template: Option<String>,
    #[command(flatten)]
    pub variables: VariableFlags,
    #[command(flatten)]
    pub general: GeneralFlags,
    #[arg(value_name = "job")]
    pub args: Vec<String>,
}

impl Run for JobInspect {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [name] = self.args.as_slice() else {
            return context.usage_error("This command takes one argument: <job>");
        };
        if self.json && self.template.is_some() {
            return context.failure("Both json and template formatting are not allowed");
        }
        let job = if self.hcl {
            self.read_file(name, context.env)
        } else {
            self.find_in_snapshot(name, context.env).map_err(Refused::from)
        };
        match job.and_then(|job| self.text(&job).map_err(Refused::from)) {
            Ok(text) => {
                context.ui.output(&text);
                0
            }
            Err(e) => context.refuse(e, DiagnosticsFormat::Text),
        }
    }
}

impl JobInspect {
    fn text(&self, job: &api::Job) -> Result<String, String> {
        let failed = |e| format!("Error formatting the data: {e}");
        let value = serde_json::to_value(job).map_err(|e| failed(e.to_string()))?;
        match &self.template {
            Some(text) => template::render(text, &value, "*api.Job"),
            None if self.json => json::indented(&value),
            None => json::indented(&BTreeMap::from([("Job", value)])),
        }
        .map_err(failed)
    }

    fn read_file(&self, path: &str, env: &Environment) -> Result<api::Job, Refused> {
        let mut job = self.variables.load(path, env)?.job;
        canonicalize(&mut job);
        Ok(job)
    }

    fn find_in_snapshot(&self, name: &str, env: &Environment) -> Result<api::Job, String> {
        let Some(file) = &self.snapshot else {
            return Err(
                "Asking a running cluster is not supported yet: give a cluster snapshot with -snapshot FILE, or \
                        a job file with -hcl"
                    .into(),
            );
        };
        let cluster = snapshot::load(&env.directory.join(file)).map_err(|e| format!("Error reading snapshot: {e}"))?;
        let found = find(&cluster.state, self.general.namespace(env).unwrap_or("default"), name.trim())?;
        let job = match self.version {
            None => found,
            Some(version) => {
                let stored = u64::try_from(version).ok();
                let stored = stored.and_then(|v| cluster.state.job_version(&found.namespace, &found.id, v));
                stored.ok_or_else(|| {
                    format!("Error inspecting job: job {} with version {version} couldn't be found", quoted(&found.id))
                })?
            }
        };
        as_client_sees_it(job).map_err(|e| format!("Error inspecting job: {e}"))
    }
}

/// The job whose id is the prefix, or the only one whose id begins with it; `*` looks in all namespaces.
fn find<'a>(state: &'a State, namespace: &str, prefix: &str) -> Result<&'a Job, String> {
    let jobs = state.jobs().map(|entry| entry.current.as_ref());
    let mut found: Vec<&Job> =
        jobs.filter(|job| (namespace == "*" || job.namespace == namespace) && job.id.starts_with(prefix)).collect();
    found.sort_by_key(|job| &job.id);
    match found.as_slice() {
        [] => Err(format!("No job(s) with prefix or ID {} found", quoted(prefix))),
        [only] => Ok(only),
        [first, second, ..] if first.id == prefix && second.id != prefix => Ok(first),
        several => {
            Err(format!("Prefix {} matched multiple jobs\n\n{}", quoted(prefix), list(several, namespace == "*")))
        }
    }
}

/// The table of jobs (`spec/cli.md §8.3`).
fn list(jobs: &[&Job], namespaces: bool) -> String {
    let column = |name: &str| if namespaces { format!("|{name}") } else { String::new() };
    let mut lines = vec![format!("ID{}|Type|Priority|Status|Submit Date", column("Namespace"))];
    let zone = TimeZone::system();
    lines.extend(jobs.iter().map(|job| {
        let kinds = [(job.periodic.is_some(), "/periodic"), (job.parameterized_job.is_some(), "/parameterized")];
        let kinds: String = kinds.into_iter().filter_map(|(is, kind)| is.then_some(kind)).collect();
        let stopped = if job.stop { " (stopped)" } else { "" };
        format!(
            "{}{}|{}{kinds}|{}|{}{stopped}|{}",
            job.id,
            column(&job.namespace),
            job.r#type,
            job.priority,
            job.status,
            values::time(job.submit_time, &zone)
        )
    }));
    table(&lines, Form::List)
}

/// A stored job in the form that clients read.
fn as_client_sees_it(job: &Job) -> serde_json::Result<api::Job> {
    let value: Value = serde_json::to_value(job)?;
    serde_json::from_value(value)
}

//! `job validate`: validates a job file (`docs/spec/cli.md §8.2`).

use super::cluster::{SnapshotFlags, block_on};
use super::command::Run;
use super::context::{Context, Environment};
use super::diagnostics::{DiagnosticsFormat, Refused};
use super::error::CommandError;
use super::general::GeneralFlags;
use super::job_file::JobFileFlags;
use super::render::plan;
use encamp_api::Client;
use encamp_jobspec::admission::{ServerContext, check, check_offline, error_list};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::to_server;
use encamp_jobspec::explain::Severity;
use encamp_model::api;
use encamp_plan::server_context;
use encamp_state::State;

/// The message if no agent validated the driver configuration.
const NOT_ASKED: &str = "Driver configuration not validated since connection to Nomad agent couldn't be established.";

/// Validate a job file without registering it
///
/// Sends the job to the servers of the cluster for validation. If they do not respond, the structure of the job is
/// validated locally, without the parts that servers add (sidecars, implied constraints) and without the rules that
/// depend on the cluster (namespaces, node pools, settings). With -snapshot, no cluster is contacted, and all rules of
/// registration are applied with the cluster state of the file.
///
/// The path is a job file, or - for standard input.
#[derive(Debug, clap::Parser)]
pub struct JobValidate {
    #[command(flatten)]
    pub(crate) job: JobFileFlags,
    /// Validate locally, with the namespaces, node pools and settings of this cluster snapshot file or server backup
    #[arg(long, value_name = "file")]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "path")]
    pub(crate) args: Vec<String>,
}

impl Run for JobValidate {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [path] = self.args.as_slice() else {
            return context.usage_error("This command takes one argument: <path>");
        };
        let format = self.job.diagnostics;
        let file = match self.job.load(path, context.env) {
            Ok(file) => file,
            Err(e) => return context.refuse(e, format),
        };
        let verdict = match &self.snapshot {
            Some(_) => None,
            None => match self.general.for_job(&file.job).client(context.env).map(|c| ask(&c, &file.job)) {
                Ok(answer) => answer,
                Err(e) => {
                    return context.refuse(e.with_exit_code(255).into(), format);
                }
            },
        };
        let verdict = match verdict {
            Some(verdict) => verdict,
            None => {
                let read = self.snapshot.as_ref().map(|file| self.reading.load(file, context.env));
                let state = match read {
                    None => None,
                    Some(Ok(cluster)) => Some(cluster.state),
                    Some(Err(e)) => return context.refuse(e.into(), format),
                };
                if format == DiagnosticsFormat::Text {
                    context.ui.output_markup(&format!("[bold][yellow]{NOT_ASKED}[reset]\n"));
                }
                self.check(file.job.clone(), state.as_ref(), context.env)
            }
        };
        match verdict {
            Ok(warnings) if format == DiagnosticsFormat::Json => {
                let items: Vec<String> = warning_items(&warnings).map(str::to_string).collect();
                context.diagnose(true, &file.findings(&items, Severity::Warning));
                0
            }
            Ok(warnings) => {
                plan::print_warnings(context.ui, &warnings);
                context.ui.output_markup("[bold][green]Job validation successful[reset]");
                0
            }
            Err(errors) => {
                if format == DiagnosticsFormat::Text {
                    context.ui.error_markup("[bold][red]Job validation errors:[reset]");
                }
                let findings = file.findings(&errors.items, Severity::Error);
                context.refuse(Refused { error: CommandError::new(errors.text), findings }, format)
            }
        }
    }
}

impl JobValidate {
    /// The warnings about a job, or its errors.
    fn check(&self, mut job: api::Job, state: Option<&State>, env: &Environment) -> Result<String, Errors> {
        canonicalize(&mut job);
        let nothing = State::new();
        let options = self.general.convert_options(&job, env, state.unwrap_or(&nothing));
        let job = to_server(&job, &options).map_err(|e| Errors { items: vec![e.to_string()], text: e.to_string() })?;
        let (errors, warnings) = match state.map(server_context) {
            None => {
                let checked = check_offline(job, &indifferent_server());
                (checked.errors, checked.warnings)
            }
            Some(server) => match check(job.clone(), &server) {
                Ok(checked) => (checked.errors, checked.warnings),
                // A job that cannot be canonicalised is judged by its structure.
                Err(e) => {
                    (check_offline(job, &server).errors.into_iter().chain([e.to_string()]).collect(), String::new())
                }
            },
        };
        if errors.is_empty() { Ok(warnings) } else { Err(Errors { text: error_list(&errors), items: errors }) }
    }
}

/// The verdict of the servers; `None` if they do not respond for any reason.
fn ask(client: &Client, job: &api::Job) -> Option<Result<String, Errors>> {
    let namespace = job.namespace.as_deref().filter(|n| !n.is_empty());
    let (answer, _) = block_on(client.validate_job(namespace, job)).ok()?.ok()?;
    if answer.error.is_empty() {
        return Some(Ok(answer.warnings));
    }
    Some(Err(Errors { text: answer.error, items: answer.validation_errors }))
}

/// The errors of a job.
struct Errors {
    /// The printed text.
    text: String,
    /// The individual errors.
    items: Vec<String>,
}

/// The items of a text of warnings.
fn warning_items(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n* ").skip(1).map(str::trim)
}

/// A server whose settings cause no warnings.
fn indifferent_server() -> ServerContext {
    let mut server = ServerContext::default();
    server.scheduler.memory_oversubscription_enabled = true;
    server
}

//! `job validate`: checks a job file (`spec/cli.md §8.2`).

use super::context::{Context, Environment};
use super::general::GeneralFlags;
use super::job_file::JobFileFlags;
use super::registry::Run;
use super::render::plan;
use crate::jobspec::admission::{ServerContext, check, check_offline, error_list};
use crate::jobspec::canonicalize::canonicalize;
use crate::jobspec::convert::to_server;
use crate::model::{Job, Namespace, NodePool, api};
use crate::plan::server_context;
use crate::snapshot;
use crate::state::State;

/// What is printed when no node was asked about the configuration of drivers.
const NOT_ASKED: &str = "Driver configuration not validated since connection to Nomad agent couldn't be established.";

/// Check a job file without registering it
///
/// Reads a job file and applies the rules that registration applies. What depends on a cluster (namespaces, node pools,
/// settings) is checked against the snapshot file given with -snapshot, and left out without one. Driver configuration is
/// not checked: only nodes know it.
///
/// The path is a job file, or - for standard input. The exit code is 0 for a valid job and 1 otherwise.
#[derive(Debug, clap::Parser)]
pub struct JobValidate {
    #[command(flatten)]
    pub job: JobFileFlags,
    /// Check against the namespaces, node pools and settings of this cluster snapshot file too
    #[arg(long, value_name = "file")]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub general: GeneralFlags,
    #[arg(value_name = "path")]
    pub args: Vec<String>,
}

impl Run for JobValidate {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [path] = self.args.as_slice() else {
            return context.usage_error("This command takes one argument: <path>");
        };
        let job = match self.job.load(path, context.env) {
            Ok(job) => job,
            Err(e) => return context.failure(&e),
        };
        let state = match self.snapshot.as_ref().map(|file| snapshot::load(&context.env.directory.join(file))) {
            None => None,
            Some(Ok(cluster)) => Some(cluster.state),
            Some(Err(e)) => return context.failure(&format!("Error reading snapshot: {e}")),
        };
        match self.check(job, state.as_ref(), context.env) {
            Ok(warnings) => {
                context.ui.output_markup(&format!("[bold][yellow]{NOT_ASKED}[reset]\n"));
                plan::print_warnings(context.ui, &warnings);
                context.ui.output_markup("[bold][green]Job validation successful[reset]");
                0
            }
            Err(errors) => {
                context.ui.error_markup("[bold][red]Job validation errors:[reset]");
                context.failure(&errors)
            }
        }
    }
}

impl JobValidate {
    /// The warnings about a job, or its errors.
    fn check(&self, mut job: api::Job, state: Option<&State>, env: &Environment) -> Result<String, String> {
        canonicalize(&mut job);
        let nothing = State::new();
        let options = self.general.convert_options(&job, env, state.unwrap_or(&nothing));
        let job = to_server(&job, &options)?;
        let server = state.map_or_else(|| indifferent_server(&job), server_context);
        let (errors, warnings) = match check(job.clone(), &server) {
            Ok(checked) => (checked.errors, checked.warnings),
            // What cannot even be completed is judged by its structure.
            Err(e) => (check_offline(job, &server).into_iter().chain([e]).collect(), String::new()),
        };
        if errors.is_empty() { Ok(warnings) } else { Err(error_list(&errors)) }
    }
}

/// A server that has everything a job asks of its surroundings, so that only the job itself can be wrong.
fn indifferent_server(job: &Job) -> ServerContext {
    let mut server = ServerContext { vault_enabled: true, ..ServerContext::default() };
    server.namespaces.push(Namespace { name: job.namespace.clone(), ..Namespace::default() });
    server.node_pools.push(NodePool { name: job.node_pool.clone(), ..NodePool::default() });
    server.scheduler.memory_oversubscription_enabled = true;
    server
}

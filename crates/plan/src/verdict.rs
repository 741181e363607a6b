//! The verdict about a job file without a server: what registration would say, with the state of a cluster or without.

use encamp_jobspec::admission::{Checked, ServerContext, check, check_offline, error_list};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertError, ConvertOptions, to_server};
use encamp_model::{Job, api};
use encamp_state::State;

use super::remarks::{Remark, remarks};
use super::server_context;

/// A job that registration accepts.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The warnings of servers, in one text.
    pub warnings: String,
    /// The job as they would store it.
    pub job: Job,
}

/// Why registration refuses a job.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The printed text.
    pub text: String,
    /// The individual errors.
    pub items: Vec<String>,
}

impl Refusal {
    fn of(error: &ConvertError) -> Refusal {
        Refusal { text: error.to_string(), items: vec![error.to_string()] }
    }
}

/// The warnings of servers about a job, and the job as they would store it; or its errors. Without a state, the
/// structure of the job is judged alone.
///
/// # Errors
/// Registration would refuse the job.
pub fn verdict(mut job: api::Job, options: &ConvertOptions, state: Option<&State>) -> Result<Accepted, Refusal> {
    canonicalize(&mut job);
    let stored = to_server(&job, options).map_err(|e| Refusal::of(&e))?;
    admitted(&job, stored, options, state)
}

/// The verdict, and the remarks on the job that the file alone justifies: the same as [`verdict`] and
/// [`remarks_of_file`], in less time.
///
/// # Errors
/// Registration would refuse the job.
pub fn verdict_with_remarks(
    mut job: api::Job,
    options: &ConvertOptions,
    state: Option<&State>,
    now: i64,
) -> Result<(Accepted, Vec<Remark>), Refusal> {
    canonicalize(&mut job);
    let stored = to_server(&job, options).map_err(|e| Refusal::of(&e))?;
    let mut written = stored.clone();
    let accepted = admitted(&job, stored, options, state)?;
    anywhere(&mut written);
    Ok((accepted, remarks(&written, None, now)))
}

/// What registration says about a job. `job`: in the form of clients, with its defaults; `stored`: made of it.
fn admitted(job: &api::Job, stored: Job, options: &ConvertOptions, state: Option<&State>) -> Result<Accepted, Refusal> {
    let Checked { job, errors, warnings } = match state.map(server_context) {
        None => check_offline(stored, &indifferent_server()),
        Some(server) => match check(stored, &server) {
            Ok(checked) => checked,
            // A job that cannot be canonicalised is judged by its structure.
            Err(e) => {
                let mut checked = check_offline(to_server(job, options).map_err(|e| Refusal::of(&e))?, &server);
                checked.errors.push(e.to_string());
                checked
            }
        },
    };
    if errors.is_empty() {
        Ok(Accepted { warnings, job })
    } else {
        Err(Refusal { text: error_list(&errors), items: errors })
    }
}

/// The items of a text of warnings.
pub fn warning_items(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n* ").skip(1).map(str::trim)
}

/// A cluster, and where a job goes in it.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The state of the cluster.
    pub state: &'a State,
    /// The job as the cluster would store it.
    pub admitted: &'a Job,
}

/// The remarks on the job of a file, as it is written. Without a cluster, those that the file alone justifies.
pub fn remarks_of_file(job: &api::Job, destination: Option<&Destination<'_>>, now: i64) -> Vec<Remark> {
    let mut job = job.clone();
    canonicalize(&mut job);
    let Ok(mut job) = to_server(&job, &ConvertOptions::default()) else { return Vec::new() };
    match destination {
        // The blocks are those of the file, without what servers add.
        Some(Destination { admitted, .. }) => {
            job.namespace.clone_from(&admitted.namespace);
            job.datacenters.clone_from(&admitted.datacenters);
            job.node_pool.clone_from(&admitted.node_pool);
        }
        None => anywhere(&mut job),
    }
    remarks(&job, destination.map(|d| d.state), now)
}

/// A job without datacenters goes to any of them.
fn anywhere(job: &mut Job) {
    if job.datacenters.is_empty() {
        job.datacenters = vec!["*".into()];
    }
}

/// A server whose settings cause no warnings.
fn indifferent_server() -> ServerContext {
    let mut server = ServerContext::default();
    server.scheduler.memory_oversubscription_enabled = true;
    server
}

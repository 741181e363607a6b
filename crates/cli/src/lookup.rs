//! Looking up jobs of a running cluster by prefix (`docs/spec/cli.md §4.1`).

use jiff::tz::TimeZone;

use super::object_kinds::{Objects, PARAMETERIZED, PERIODIC};
use super::render::table::{Form, table};
use super::render::values;
use encamp_api::{ApiError, Client};
use encamp_model::quoted;
use encamp_model::responses::JobListStub;

/// The maximum number of jobs that are requested.
const MOST_JOBS: u32 = 20;

/// An error of a lookup: the prefix does not select exactly one object.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// The prefix has too few characters.
    #[error("{what} must contain at least two characters.")]
    TooShort {
        /// The command's name for the prefix, such as `Node ID`.
        what: &'static str,
    },
    /// The request failed.
    #[error("{what}: {error}")]
    Request {
        /// The request, as in `Error querying allocation`.
        what: String,
        /// The failure.
        #[source]
        error: ApiError,
    },
    /// No object has this prefix. The line says so.
    #[error("{0}")]
    NotFound(String),
    /// Several objects have this prefix.
    #[error("{line}\n\n{list}")]
    Ambiguous {
        /// What they are, if they are of one kind.
        objects: Option<Objects>,
        /// The first line of the message.
        line: String,
        /// The list of the objects.
        list: String,
    },
}

impl LookupError {
    /// A function for `map_err` that makes the error of a failed request.
    pub fn request(what: impl Into<String>) -> impl FnOnce(ApiError) -> LookupError {
        let what = what.into();
        move |error| LookupError::Request { what, error }
    }
}

/// The kind of jobs that a command accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All.
    Any,
    /// Parameterized jobs.
    Parameterized,
    /// Periodic jobs.
    Periodic,
}

impl Kind {
    /// The filter expression, and the word in messages.
    fn filter(self) -> (Option<&'static str>, &'static str) {
        match self {
            Kind::Any => (None, ""),
            Kind::Parameterized => (Some(PARAMETERIZED), "parameterized "),
            Kind::Periodic => (Some(PERIODIC), "periodic "),
        }
    }
}

/// The namespace and ID of the job with that ID, or of the only one with that prefix. The namespace is unknown if the
/// token may not list jobs.
pub async fn job(client: &Client, prefix: &str, zone: &TimeZone) -> Result<(Option<String>, String), LookupError> {
    job_of(Kind::Any, client, prefix, zone).await
}

/// The same for jobs of one kind.
pub async fn job_of(
    kind: Kind,
    client: &Client,
    prefix: &str,
    zone: &TimeZone,
) -> Result<(Option<String>, String), LookupError> {
    let prefix = prefix.trim();
    let (filter, word) = kind.filter();
    let found = match client.jobs_with_prefix(prefix, MOST_JOBS, filter).await {
        Ok((found, _)) => found,
        Err(e) if e.status() == Some(403) => return Ok((None, prefix.to_string())),
        Err(e) => return Err(LookupError::request(format!("Error querying job prefix {}", quoted(prefix)))(e)),
    };
    let everywhere = client.config().namespace.as_deref() == Some("*");
    match choose(&found, prefix, everywhere, zone)? {
        Some(job) => Ok((Some(job.namespace.clone()).filter(|n| !n.is_empty()), job.id.clone())),
        None => Err(not_found(word, prefix)),
    }
}

/// The error that no job has this prefix. `word` is the kind of the job, followed by a space, or empty.
pub fn not_found(word: &str, prefix: &str) -> LookupError {
    LookupError::NotFound(format!("No {word}job(s) with prefix or ID {} found", quoted(prefix)))
}

/// The selected job, if any; an error if the prefix is ambiguous.
pub fn choose<'a>(
    sorted: &'a [JobListStub],
    prefix: &str,
    everywhere: bool,
    zone: &TimeZone,
) -> Result<Option<&'a JobListStub>, LookupError> {
    match sorted {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        [first, second, ..] if first.id == prefix && !(everywhere && second.id == prefix) => Ok(Some(first)),
        several => Err(LookupError::Ambiguous {
            objects: Some(Objects::Jobs),
            line: format!("Prefix {} matched multiple jobs", quoted(prefix)),
            list: table_of(several, everywhere, zone),
        }),
    }
}

/// The table of jobs with the same prefix; its last line says if there may be more.
fn table_of(jobs: &[JobListStub], namespaces: bool, zone: &TimeZone) -> String {
    let mut out = listed(jobs, namespaces, zone);
    if jobs.len() >= MOST_JOBS as usize {
        out.push_str("\n(results may be truncated)");
    }
    out
}

/// The table of jobs (`docs/spec/cli.md §8.3`).
pub fn listed(jobs: &[JobListStub], namespaces: bool, zone: &TimeZone) -> String {
    let column = |name: &str| if namespaces { format!("|{name}") } else { String::new() };
    let mut lines = vec![format!("ID{}|Type|Priority|Status|Submit Date", column("Namespace"))];
    lines.extend(jobs.iter().map(|job| {
        let kinds = [(job.periodic, "/periodic"), (job.parameterized_job, "/parameterized")];
        let kinds: String = kinds.into_iter().filter_map(|(is, kind)| is.then_some(kind)).collect();
        let stopped = if job.stop { " (stopped)" } else { "" };
        let submitted = values::time(job.submit_time, zone);
        let (id, namespace) = (&job.id, column(&job.namespace));
        format!("{id}{namespace}|{}{kinds}|{}|{}{stopped}|{submitted}", job.r#type, job.priority, job.status)
    }));
    table(&lines, Form::List)
}

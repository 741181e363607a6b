//! Looking up jobs of a running cluster by prefix (`docs/spec/cli.md §4.1`).

use jiff::tz::TimeZone;

use super::render::table::{Form, table};
use super::render::values;
use encamp_api::Client;
use encamp_api::types::JobListStub;
use encamp_model::quoted;

/// The maximum number of jobs that are requested.
const MOST_JOBS: u32 = 20;

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
            Kind::Parameterized => (Some("ParentID == \"\" and ParameterizedJob is not nil"), "parameterized "),
            Kind::Periodic => (Some("Periodic is not nil"), "periodic "),
        }
    }
}

/// The namespace and ID of the job with that ID, or of the only one with that prefix. The namespace is unknown if the
/// token may not list jobs.
pub async fn job(client: &Client, prefix: &str, zone: &TimeZone) -> Result<(Option<String>, String), String> {
    job_of(Kind::Any, client, prefix, zone).await
}

/// The same for jobs of one kind.
pub async fn job_of(
    kind: Kind,
    client: &Client,
    prefix: &str,
    zone: &TimeZone,
) -> Result<(Option<String>, String), String> {
    let prefix = prefix.trim();
    let (filter, word) = kind.filter();
    let found = match client.jobs_with_prefix(prefix, MOST_JOBS, filter).await {
        Ok((found, _)) => found,
        Err(e) if e.status() == Some(403) => return Ok((None, prefix.to_string())),
        Err(e) => return Err(format!("Error querying job prefix {}: {e}", quoted(prefix))),
    };
    let everywhere = client.config().namespace.as_deref() == Some("*");
    let chosen = choose(&found, prefix, everywhere).map_err(|several| {
        format!("Prefix {} matched multiple jobs\n\n{}", quoted(prefix), table_of(several, everywhere, zone))
    })?;
    match chosen {
        Some(job) => Ok((Some(job.namespace.clone()).filter(|n| !n.is_empty()), job.id.clone())),
        None => Err(format!("No {word}job(s) with prefix or ID {} found", quoted(prefix))),
    }
}

/// The selected job, if any; an error if the prefix is ambiguous.
pub fn choose<'a>(
    sorted: &'a [JobListStub],
    prefix: &str,
    everywhere: bool,
) -> Result<Option<&'a JobListStub>, &'a [JobListStub]> {
    match sorted {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        [first, second, ..] if first.id == prefix && !(everywhere && second.id == prefix) => Ok(Some(first)),
        several => Err(several),
    }
}

/// The table of jobs with the same prefix; its last line says if there may be more.
pub fn table_of(jobs: &[JobListStub], namespaces: bool, zone: &TimeZone) -> String {
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

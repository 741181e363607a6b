//! What the forms of a job do.

use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encamp_model::ClientStatus;
use encamp_model::responses::{JobDeregisterResponse, JobDispatchResponse, JobRegisterResponse, PeriodicForceResponse};
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};

use super::forms::META;
use super::named;
use crate::error::PageError;
use crate::pages::Done;
use crate::pages::data::Alloc;
use crate::parts::link;
use crate::visit::{Visit, path};

/// How many allocations are restarted at once.
const AT_ONCE: usize = 8;

/// Sends a change of the page's job to the API.
async fn change<T: serde::de::DeserializeOwned>(visit: &Visit, part: &str, body: &Value) -> Result<T, PageError> {
    let (id, namespace) = named(visit);
    visit.write(Method::PUT, &path("/v1/job/", id, part), &[("namespace", namespace)], body).await
}

/// The job's page with a message.
fn done(visit: &Visit, message: String) -> Result<Done, PageError> {
    let (id, namespace) = named(visit);
    Ok(Done::new(link::job_address(namespace, id, ""), message))
}

/// What the cluster warns of.
fn with_warnings(message: String, warnings: &str) -> String {
    if warnings.is_empty() { message } else { format!("{message} {warnings}") }
}

/// Registers a stopped job again as it was.
pub(super) async fn start(visit: &Visit) -> Result<Done, PageError> {
    let (id, namespace) = named(visit);
    let query = [("namespace", namespace)];
    let mut job: Value = visit.read(&path("/v1/job/", id, ""), &query).await?;
    let version = job.get("Version").and_then(Value::as_u64).unwrap_or(0).to_string();
    let of_version = [("namespace", namespace), ("version", version.as_str())];
    let source: Option<Value> = visit.find(&path("/v1/job/", id, "/submission"), &of_version).await?;
    if let Some(job) = job.as_object_mut() {
        job.insert("Stop".into(), Value::Bool(false));
    }
    let body = json!({ "Job": job, "Submission": source });
    let answer: JobRegisterResponse = visit.write(Method::PUT, "/v1/jobs", &query, &body).await?;
    done(visit, with_warnings(format!("Job {id} was started."), &answer.warnings))
}

/// Stops the job; with `purge`, removes it.
pub(super) async fn stop(visit: &Visit) -> Result<Done, PageError> {
    let (id, namespace) = named(visit);
    let flag = |name| if visit.field(name).is_some() { "true" } else { "false" };
    let purge = flag("purge");
    let query = [("namespace", namespace), ("purge", purge), ("no_shutdown_delay", flag("no_shutdown_delay"))];
    let _: JobDeregisterResponse = visit.write(Method::DELETE, &path("/v1/job/", id, ""), &query, &json!({})).await?;
    if purge == "true" {
        return Ok(Done::new("/ui/jobs", format!("Job {id} was purged.")));
    }
    done(visit, format!("Job {id} was stopped."))
}

/// Restarts the tasks of the running allocations, of one group or of all.
pub(super) async fn restart(visit: &Visit) -> Result<Done, PageError> {
    let (id, namespace) = named(visit);
    let query = [("namespace", namespace)];
    let allocations: Vec<Alloc> = visit.read(&path("/v1/job/", id, "/allocations"), &query).await?;
    let body = json!({ "AllTasks": visit.field("all_tasks").is_some() });
    let (group, body) = (visit.field("group"), &body);
    let running = allocations.into_iter().filter(|a| a.client_status == ClientStatus::Running);
    let restarts = running.filter(|a| group.is_none_or(|g| a.task_group == g)).map(|a| async move {
        let path = path("/v1/client/allocation/", &a.id, "/restart");
        visit.write::<Value>(Method::PUT, &path, &[], body).await
    });
    let results: Vec<_> = stream::iter(restarts).buffer_unordered(AT_ONCE).collect().await;
    let restarted = results.iter().filter(|r| r.is_ok()).count();
    let message = format!("{restarted} of {} running allocations were restarted.", results.len());
    match results.into_iter().find_map(Result::err) {
        Some(e) if restarted == 0 => Err(e),
        Some(e) => done(visit, format!("{message} The first error: {e}")),
        None => done(visit, message),
    }
}

/// Makes the scheduler consider the job again.
pub(super) async fn evaluate(visit: &Visit) -> Result<Done, PageError> {
    let options = json!({ "ForceReschedule": visit.field("force_reschedule").is_some() });
    let body = json!({ "JobID": named(visit).0, "EvalOptions": options });
    let answer: JobRegisterResponse = change(visit, "/evaluate", &body).await?;
    done(visit, format!("Evaluation {} was created.", link::short(&answer.eval_id)))
}

/// Changes the count of a group.
pub(super) async fn scale(visit: &Visit) -> Result<Done, PageError> {
    let group = visit.required("group", "The group")?;
    let count: Option<i64> = visit.number("count", "The count")?;
    let count = count.ok_or_else(|| PageError::Input("The count is missing.".into()))?;
    let body = json!({ "Count": count, "Target": { "Group": group }, "Message": "scaled in the web UI" });
    let answer: JobRegisterResponse = change(visit, "/scale", &body).await?;
    done(visit, with_warnings(format!("The count of group {group} is {count} now."), &answer.warnings))
}

/// Makes an older version current again.
pub(super) async fn revert(visit: &Visit) -> Result<Done, PageError> {
    let version: Option<u64> = visit.number("version", "The version")?;
    let version = version.ok_or_else(|| PageError::Input("The version is missing.".into()))?;
    let body = json!({ "JobID": named(visit).0, "JobVersion": version });
    let answer: JobRegisterResponse = change(visit, "/revert", &body).await?;
    done(visit, with_warnings(format!("The job is as it was in version {version}."), &answer.warnings))
}

/// Dispatches a parameterized job.
pub(super) async fn dispatch(visit: &Visit) -> Result<Done, PageError> {
    let meta = visit.fields().iter().filter(|(_, value)| !value.is_empty());
    let meta = meta.filter_map(|(name, value)| Some((name.strip_prefix(META)?.to_string(), json!(value))));
    let meta: Map<String, Value> = meta.collect();
    let payload = visit.field("payload").map(|text| STANDARD.encode(text));
    let body = json!({
        "Meta": meta,
        "Payload": payload,
        "IdPrefixTemplate": visit.field("id_prefix").unwrap_or_default(),
    });
    let answer: JobDispatchResponse = change(visit, "/dispatch", &body).await?;
    let address = link::job_address(named(visit).1, &answer.dispatched_job_id, "");
    Ok(Done::new(address, "The job was dispatched."))
}

/// Launches a periodic job now.
pub(super) async fn force(visit: &Visit) -> Result<Done, PageError> {
    let answer: PeriodicForceResponse = change(visit, "/periodic/force", &json!({})).await?;
    done(visit, format!("The job was launched: evaluation {}.", link::short(&answer.eval_id)))
}

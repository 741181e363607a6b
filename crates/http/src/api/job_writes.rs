//! Writes of jobs, and requests about jobs that are not registered (`docs/spec/http-api.md §5.3`).

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::access::audited::NamesObjects;
use crate::access::right::{Capability, Need};
use crate::error::Error;
use crate::request::response::{Meta, Outcome, Response};
use crate::request::{Request, json};
use encamp_host::ids;
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::parse::{ParseError, ParseOptions, parse as parse_job, parse_json};
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_server::endpoints::job::Target;
use encamp_server::endpoints::{dispatch as dispatching, job as endpoint, job_changes as changes, scale as scaling};
use encamp_server::jobs::dispatch::DispatchRequest;

/// The longest job file that is parsed: its parts take many times the room of its text.
const MAX_SPEC: usize = 4 << 20;

/// A body that carries a job, which the audit log names. Where it is none, the reader of job files knows the words of
/// Nomad.
async fn job_body<T: DeserializeOwned + NamesObjects>(request: &mut Request) -> Result<T, Error> {
    let bytes = request.json_bytes().await?;
    let body: T = json::decode(&bytes).map_err(|e| {
        let reason = parse_json(&bytes).err().map(|e| e.reason.to_string());
        Error::bad(reason.unwrap_or(e.0))
    })?;
    request.audit(&body);
    Ok(body)
}

/// The target of a request according to its URL.
fn target(request: &Request) -> Target<'_> {
    let query = request.query();
    Target { path_id: request.path_id(), region: query.get("region"), namespace: query.get("namespace") }
}

/// `PUT /v1/jobs` and `PUT /v1/job/<id>`.
pub(crate) async fn register(mut request: Request) -> Outcome {
    let sent: JobRegisterRequest = job_body(&mut request).await?;
    let (permission, policy_override) = (request.job_permission(), sent.policy_override);
    let permit = |job: &Job| permission.check(job, policy_override);
    let exempt = request.is_management();
    let done = endpoint::register(request.server()?, sent, target(&request), exempt, &permit).await?;
    Ok(Response::json(&done)?.index(done.index))
}

/// `PUT /v1/job/<id>/plan`.
pub(crate) async fn plan(mut request: Request) -> Outcome {
    let sent: JobPlanRequest = job_body(&mut request).await?;
    let permission = request.job_permission();
    let permit = |job: &Job| permission.check(job, false);
    let plan = endpoint::plan(request.server()?, sent, target(&request), &permit).await?;
    Ok(Response::json(&plan)?.index(plan.index))
}

/// `PUT /v1/validate/job`.
pub(crate) async fn validate(mut request: Request) -> Outcome {
    let sent: JobValidateRequest = job_body(&mut request).await?;
    request.check_region()?;
    let permission = request.job_permission();
    let permit = |job: &Job| permission.check(job, false);
    Response::json(&endpoint::validate(request.server()?, sent, &permit)?)
}

/// `PUT /v1/jobs/parse`.
pub(crate) async fn parse(mut request: Request) -> Outcome {
    let sent: JobsParseRequest = request.json().await?;
    if sent.job_hcl.is_empty() {
        return Err(Error::bad("Job spec is empty"));
    }
    if sent.job_hcl.len() > MAX_SPEC {
        return Err(Error::new(413, format!("Job spec is larger than {} MiB", MAX_SPEC >> 20)));
    }
    let parsed = tokio::task::spawn_blocking(move || {
        let options = ParseOptions {
            path: "input.hcl".into(),
            var_content: sent.variables,
            random: Arc::new(|bytes| bytes.iter_mut().for_each(|b| *b = ids::random().to_le_bytes()[0])),
            ..ParseOptions::default()
        };
        let mut job = parse_job(sent.job_hcl.as_bytes(), &options)?;
        if sent.canonicalize {
            canonicalize(&mut job);
        }
        Ok::<api::Job, ParseError>(job)
    });
    let parsed = parsed.await.map_err(|_| Error::internal("reading was interrupted"))?;
    Response::json(&parsed.map_err(|e| Error::bad(format!("Failed to parse job: {e}")))?)
}

/// `DELETE /v1/job/<id>`.
pub(crate) async fn deregister(request: Request, id: String) -> Outcome {
    request.check_region()?;
    let (purge, no_shutdown_delay) = (request.flag("purge")?, request.flag("no_shutdown_delay")?);
    // Multi-region jobs don't exist here: `global` is parsed and has no effect.
    request.flag("global")?;
    let eval_priority = request.query().int("eval_priority").map_err(|e| Error::internal(e.to_string()))?;
    let namespace = request.namespace();
    request.authorize_in(&namespace)?;
    if purge {
        request.need(&Need::Namespace(&namespace, &[Capability::SubmitJob, Capability::PurgeJob]))?;
    }
    let stop = changes::Stop { purge, no_shutdown_delay, eval_priority: eval_priority.unwrap_or_default() };
    let done = changes::deregister(request.server()?, &namespace, &id, stop).await?;
    Ok(Response::json(&done)?.index(done.index))
}

/// `PUT /v1/job/<id>/evaluate`.
pub(crate) async fn evaluate(mut request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    let mut options = EvalOptions::default();
    if request.has_body() {
        let sent: JobEvaluateRequest = request.json().await?;
        if sent.job_id.is_empty() {
            return Err(Error::bad("Job ID must be specified"));
        }
        if sent.job_id != id {
            return Err(Error::bad("JobID not same as job name"));
        }
        options = sent.eval_options;
    }
    let done = changes::evaluate(request.server()?, &namespace, &id, options).await?;
    Ok(Response::json(&done)?.index(done.index))
}

/// `PUT /v1/job/<id>/periodic/force`.
pub(crate) async fn force_periodic(request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    let done = changes::force_periodic(request.server()?, &namespace, &id).await?;
    Ok(Response::json(&done)?.index(done.index))
}

/// `PUT /v1/job/<id>/dispatch`.
pub(crate) async fn dispatch(mut request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    let sent: JobDispatchRequest = request.json().await?;
    if !sent.job_id.is_empty() && sent.job_id != id {
        return Err(Error::bad("Job ID does not match"));
    }
    let wanted = DispatchRequest {
        payload: sent.payload.unwrap_or_default().0,
        meta: sent.meta,
        priority: sent.priority,
        id_prefix_template: sent.id_prefix_template,
        idempotency_token: request.query().get("idempotency_token").into(),
    };
    dispatched(&request, &namespace, &id, &wanted).await
}

/// `PUT /v1/job/<id>/dispatch/payload`: the body is the payload.
pub(crate) async fn dispatch_payload(mut request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    let wanted = DispatchRequest {
        payload: request.bytes().await?.to_vec(),
        idempotency_token: request.query().get("idempotency_token").into(),
        ..Default::default()
    };
    dispatched(&request, &namespace, &id, &wanted).await
}

async fn dispatched(request: &Request, namespace: &str, id: &str, wanted: &DispatchRequest) -> Outcome {
    let done = dispatching::dispatch(request.server()?, namespace, id, wanted, request.is_management()).await?;
    Ok(Response::json(&done)?.index(done.index))
}

/// The body names the job the path names.
fn same_job(sent: &str, id: &str) -> Result<(), Error> {
    match sent {
        "" => Err(Error::bad("JobID must be specified")),
        sent if sent != id => Err(Error::bad("Job ID does not match")),
        _ => Ok(()),
    }
}

/// `PUT /v1/job/<id>/revert`.
pub(crate) async fn revert(mut request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    let sent: JobRevertRequest = request.json().await?;
    same_job(&sent.job_id, &id)?;
    let done = changes::revert(request.server()?, &namespace, &id, &sent).await?;
    Ok(Response::json(&done)?.meta(&Meta { index: done.index, known_leader: false, last_contact: 0 }))
}

/// `PUT /v1/job/<id>/stable`.
pub(crate) async fn stable(mut request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    let sent: JobStabilityRequest = request.json().await?;
    same_job(&sent.job_id, &id)?;
    let index = changes::set_stable(request.server()?, &namespace, &sent).await?;
    Ok(Response::json(&GenericResponse { index })?.index(index))
}

/// `PUT /v1/job/<id>/versions/<name>/tag`.
pub(crate) async fn tag(mut request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    let sent: TagVersionRequest = request.json().await?;
    Response::json(&changes::tag(request.server()?, &namespace, &id, request.parameter(1), &sent).await?)
}

/// `DELETE /v1/job/<id>/versions/<name>/tag`.
pub(crate) async fn untag(request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    Response::json(&changes::untag(request.server()?, &namespace, &id, request.parameter(1)).await?)
}

/// `/v1/job/…/tag` that is not the tag of a version. Jobs whose IDs hold slashes have none.
pub(crate) async fn no_tag(_: Request) -> Outcome {
    Err(Error::not_found("invalid job tag endpoint"))
}

/// `PUT /v1/job/<id>/scale`.
pub(crate) async fn scale(mut request: Request, id: String) -> Outcome {
    let namespace = request.namespace();
    let sent: ScalingRequest = request.json().await?;
    let done = scaling::scale(request.server()?, &namespace, &id, sent, request.is_management()).await?;
    Ok(Response::json(&done)?.index(done.index))
}

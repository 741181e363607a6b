//! Writes of jobs, and requests about jobs that are not registered (`docs/spec/http-api.md §5.3`).

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::access::right::{Access, Capability, HostVolumeCapability, Need, PluginLevel, Subject};
use crate::error::Error;
use crate::request::json;
use crate::request::response::{Meta, Response};
use crate::request::routed_request::Request;
use crate::routes::route::Outcome;
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

/// Whether the caller may do this with a job that is known only after admission.
fn permit(request: &Request) -> impl Fn(&Job) -> Result<(), encamp_server::Error> + Send + Sync {
    let (right, access) = (request.right(), request.access());
    move |job| {
        let may = |access: &Access| access.has(right, Subject::Namespace(&job.namespace));
        if access.as_ref().is_ok_and(may) { Ok(()) } else { Err(encamp_server::Error::permission_denied()) }
    }
}

/// As [`permit`], with the rights that the volumes and plugins of the job require (`docs/spec/http-api.md §5.3` 6).
fn permit_volumes(
    request: &Request,
    policy_override: bool,
) -> impl Fn(&Job) -> Result<(), encamp_server::Error> + Send + Sync {
    let (permitted, access) = (permit(request), request.access());
    move |job| {
        permitted(job)?;
        let may = |access: &Access| {
            let own = |capability| access.allows(&Need::Namespace(&job.namespace, &[capability]));
            (!policy_override || own(Capability::SentinelOverride))
                && job.task_groups.iter().all(|group| may_mount(access, &job.namespace, group))
        };
        if access.as_ref().is_ok_and(may) { Ok(()) } else { Err(encamp_server::Error::permission_denied()) }
    }
}

/// Whether the caller may use the volumes of a group, and run its plugins.
fn may_mount(access: &Access, namespace: &str, group: &TaskGroup) -> bool {
    let own = |capability| access.allows(&Need::Namespace(namespace, &[capability]));
    let bidirectional = |name: &str| {
        let mounts = group.tasks.iter().flat_map(|task| &task.volume_mounts);
        mounts.filter(|m| m.volume == name).any(|m| m.propagation_mode == "bidirectional")
    };
    let mut requested = group.volumes.iter().flat_map(|volumes| volumes.values());
    let volumes = requested.all(|volume| match volume.r#type.as_str() {
        "host" => {
            let host = |capability| access.allows(&Need::HostVolume(&volume.source, capability));
            let write = host(HostVolumeCapability::MountReadwrite);
            let read = volume.read_only && host(HostVolumeCapability::MountReadonly);
            write || (read && !bidirectional(&volume.name))
        }
        "csi" => own(Capability::CsiMountVolume) && access.allows(&Need::Plugin(PluginLevel::Read)),
        _ => access.is_management(),
    });
    let plugins = group.tasks.iter().any(|task| task.csi_plugin_config.is_some());
    volumes && (!plugins || own(Capability::CsiRegisterPlugin))
}

/// Whether the caller may register jobs while the cluster takes none.
fn exempt(request: &Request) -> bool {
    request.access().is_ok_and(|access| access.is_management())
}

/// Begins a write to a job: the namespace.
fn begin(request: &Request) -> Result<String, Error> {
    request.check_region()?;
    let namespace = request.namespace();
    request.authorize_in(&namespace)?;
    Ok(namespace)
}

/// A body that carries a job. Where it is none, the reader of job files knows the words of Nomad.
async fn job_body<T: DeserializeOwned>(request: &mut Request) -> Result<T, Error> {
    let bytes = request.json_bytes().await?;
    json::decode(&bytes).map_err(|e| {
        let told = parse_json(&bytes).err().map(|e| e.reason.to_string());
        Error::bad(told.unwrap_or(e.0))
    })
}

/// The namespace of the query, empty if there is none.
fn own_namespace(request: &Request) -> String {
    request.query().get("namespace").to_string()
}

/// `PUT /v1/jobs`.
pub(crate) async fn register(request: Request) -> Outcome {
    register_as(request, None).await
}

/// `PUT /v1/job/<id>`.
pub(crate) async fn update(request: Request, id: String) -> Outcome {
    register_as(request, Some(id)).await
}

/// Tells the audit log which job a body is about.
fn concerns(request: &Request, job: Option<&api::Job>) {
    let Some(job) = job else { return };
    request.concerns("job", job.id.as_deref().unwrap_or_default());
    request.concerns("job_namespace", job.namespace.as_deref().unwrap_or_default());
}

async fn register_as(mut request: Request, path_id: Option<String>) -> Outcome {
    let sent: JobRegisterRequest = job_body(&mut request).await?;
    concerns(&request, sent.job.as_ref());
    let (region, namespace) = (request.query().get("region").to_string(), own_namespace(&request));
    let target = Target { path_id: path_id.as_deref(), region: &region, namespace: &namespace };
    let permit = permit_volumes(&request, sent.policy_override);
    let done = endpoint::register(request.server()?, sent, target, exempt(&request), &permit).await?;
    Ok(Response::json(&done)?.index(done.index))
}

/// `PUT /v1/job/<id>/plan`.
pub(crate) async fn plan(mut request: Request, id: String) -> Outcome {
    let sent: JobPlanRequest = job_body(&mut request).await?;
    concerns(&request, sent.job.as_ref());
    let (region, namespace) = (request.query().get("region").to_string(), own_namespace(&request));
    let target = Target { path_id: Some(&id), region: &region, namespace: &namespace };
    let permit = permit(&request);
    let plan = endpoint::plan(request.server()?, sent, target, &permit).await?;
    Ok(Response::json(&plan)?.index(plan.index))
}

/// `PUT /v1/validate/job`.
pub(crate) async fn validate(mut request: Request) -> Outcome {
    let sent: JobValidateRequest = job_body(&mut request).await?;
    request.check_region()?;
    let permit = permit(&request);
    Response::json(&endpoint::validate(request.server()?, sent, &permit)?)
}

/// `PUT /v1/jobs/parse`.
pub(crate) async fn parse(mut request: Request) -> Outcome {
    begin(&request)?;
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
    let namespace = begin(&request)?;
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
    let namespace = begin(&request)?;
    let done = changes::force_periodic(request.server()?, &namespace, &id).await?;
    Ok(Response::json(&done)?.index(done.index))
}

/// `PUT /v1/job/<id>/dispatch`.
pub(crate) async fn dispatch(mut request: Request, id: String) -> Outcome {
    let namespace = begin(&request)?;
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
    let namespace = begin(&request)?;
    let wanted = DispatchRequest {
        payload: request.bytes().await?.to_vec(),
        idempotency_token: request.query().get("idempotency_token").into(),
        ..Default::default()
    };
    dispatched(&request, &namespace, &id, &wanted).await
}

async fn dispatched(request: &Request, namespace: &str, id: &str, wanted: &DispatchRequest) -> Outcome {
    let done = dispatching::dispatch(request.server()?, namespace, id, wanted, exempt(request)).await?;
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
    let namespace = begin(&request)?;
    let sent: JobRevertRequest = request.json().await?;
    same_job(&sent.job_id, &id)?;
    let done = changes::revert(request.server()?, &namespace, &id, &sent).await?;
    Ok(Response::json(&done)?.meta(&Meta { index: done.index, known_leader: false, last_contact: 0 }))
}

/// `PUT /v1/job/<id>/stable`.
pub(crate) async fn stable(mut request: Request, id: String) -> Outcome {
    let namespace = begin(&request)?;
    let sent: JobStabilityRequest = request.json().await?;
    same_job(&sent.job_id, &id)?;
    let index = changes::set_stable(request.server()?, &namespace, &sent).await?;
    Ok(Response::json(&GenericResponse { index })?.index(index))
}

/// `PUT /v1/job/<id>/versions/<name>/tag`.
pub(crate) async fn tag(mut request: Request, id: String) -> Outcome {
    let namespace = begin(&request)?;
    let sent: TagVersionRequest = request.json().await?;
    Response::json(&changes::tag(request.server()?, &namespace, &id, request.parameter(1), &sent).await?)
}

/// `DELETE /v1/job/<id>/versions/<name>/tag`.
pub(crate) async fn untag(request: Request, id: String) -> Outcome {
    let namespace = begin(&request)?;
    Response::json(&changes::untag(request.server()?, &namespace, &id, request.parameter(1)).await?)
}

/// `/v1/job/…/tag` that is not the tag of a version. Jobs whose IDs hold slashes have none.
pub(crate) async fn no_tag(_: Request) -> Outcome {
    Err(Error::not_found("invalid job tag endpoint"))
}

/// `PUT /v1/job/<id>/scale`.
pub(crate) async fn scale(mut request: Request, id: String) -> Outcome {
    let namespace = begin(&request)?;
    let sent: ScalingRequest = request.json().await?;
    let done = scaling::scale(request.server()?, &namespace, &id, sent, exempt(&request)).await?;
    Ok(Response::json(&done)?.index(done.index))
}

//! Dispatch of parameterized jobs: validation and the child job (`docs/spec/server.md §15`).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Error;
use encamp_model::{Bytes, EvalTrigger, Evaluation, Job, JobStatus, SECOND, quoted};

/// The maximum payload size in bytes.
pub(crate) const MOST_PAYLOAD: usize = 16 * 1024;

/// A request to dispatch a parameterized job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DispatchRequest {
    /// The payload before any encoding; empty means none.
    pub payload: Vec<u8>,
    /// Meta keys that override those of the job.
    pub meta: BTreeMap<String, String>,
    /// Priority of the child job; 0 means the job's priority.
    pub priority: i64,
    /// Part of the child's ID, if not empty.
    pub id_prefix_template: String,
    /// Requests with the same token create one child only; empty means no token.
    pub idempotency_token: String,
}

/// Why a job is not dispatched, with the texts of the API (`docs/spec/server.md §15`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DispatchError {
    /// The request does not name a job.
    #[error("missing parameterized job ID")]
    MissingId,
    /// The job does not exist.
    #[error("parameterized job not found")]
    NotFound,
    /// The job is not parameterized.
    #[error("Specified job {} is not a parameterized job", quoted(.0))]
    NotParameterized(String),
    /// The job is stopped.
    #[error("Specified job {} is stopped", quoted(.0))]
    Stopped(String),
    /// The job requires a payload.
    #[error("Payload is not provided but required by parameterized job")]
    PayloadRequired,
    /// The job takes no payload.
    #[error("Payload provided but forbidden by parameterized job")]
    PayloadForbidden,
    /// The payload is too large.
    #[error("Payload exceeds maximum size; {0} > {MOST_PAYLOAD}")]
    PayloadTooLarge(usize),
    /// The payload cannot be compressed.
    #[error("payload cannot be compressed: {0}")]
    Compression(#[from] snap::Error),
    /// The job does not declare these meta keys.
    #[error("Dispatch request included unpermitted metadata keys: [{}]", .0.join(" "))]
    UnpermittedMeta(Vec<String>),
    /// The job requires these meta keys.
    #[error("Dispatch did not provide required meta keys: [{}]", .0.join(" "))]
    MissingMeta(Vec<String>),
    /// The priority is out of range.
    #[error("dispatch job priority must be between [1, {most}]")]
    Priority {
        /// The highest priority of the cluster.
        most: i64,
    },
}

impl From<DispatchError> for Error {
    fn from(e: DispatchError) -> Error {
        Error::internal(e.to_string())
    }
}

/// Validates a request and returns the job to copy. `job` is the job stored under the ID.
///
/// # Errors
/// See [`DispatchError`].
pub fn check<'a>(
    job_id: &str,
    job: Option<&'a Arc<Job>>,
    request: &DispatchRequest,
    most_priority: i64,
) -> Result<&'a Arc<Job>, DispatchError> {
    if job_id.is_empty() {
        return Err(DispatchError::MissingId);
    }
    let job = job.ok_or(DispatchError::NotFound)?;
    let Some(config) = job.parameterized_job.as_ref().filter(|_| job.is_parameterized()) else {
        return Err(DispatchError::NotParameterized(job.id.clone()));
    };
    if job.stop {
        return Err(DispatchError::Stopped(job.id.clone()));
    }
    match (config.payload.as_str(), request.payload.len()) {
        ("required", 0) => return Err(DispatchError::PayloadRequired),
        ("forbidden", 1..) => return Err(DispatchError::PayloadForbidden),
        (_, n) if n > MOST_PAYLOAD => return Err(DispatchError::PayloadTooLarge(n)),
        _ => {}
    }
    let permitted = |key: &&String| config.meta_required.contains(key) || config.meta_optional.contains(key);
    let unpermitted: Vec<String> = request.meta.keys().filter(|k| !permitted(k)).cloned().collect();
    if !unpermitted.is_empty() {
        return Err(DispatchError::UnpermittedMeta(unpermitted));
    }
    let mut missing: Vec<String> =
        config.meta_required.iter().filter(|k| !request.meta.contains_key(*k)).cloned().collect();
    if !missing.is_empty() {
        missing.sort_unstable();
        return Err(DispatchError::MissingMeta(missing));
    }
    if request.priority != 0 && !(1..=most_priority).contains(&request.priority) {
        return Err(DispatchError::Priority { most: most_priority });
    }
    Ok(job)
}

/// The child created by an earlier request with this token, if there is one.
pub(crate) fn made_by<'a>(token: &str, children: impl IntoIterator<Item = &'a Arc<Job>>) -> Option<&'a Arc<Job>> {
    if token.is_empty() {
        return None;
    }
    children.into_iter().find(|c| c.dispatch_idempotency_token == token)
}

/// The child job to register. `now` is in Unix nanoseconds, `random` makes its ID unique.
///
/// # Errors
/// [`DispatchError::Compression`].
pub fn child(parent: &Job, request: &DispatchRequest, now: i64, random: u32) -> Result<Job, DispatchError> {
    let template = match request.id_prefix_template.as_str() {
        "" => String::new(),
        t => format!("{t}-"),
    };
    let id = format!("{}/dispatch-{template}{}-{random:08x}", parent.id, now.div_euclid(SECOND));
    let payload = snap::raw::Encoder::new().compress_vec(&request.payload)?;
    let mut meta = parent.meta.clone();
    meta.extend(request.meta.clone());
    Ok(Job {
        name: id.clone(),
        id,
        parent_id: parent.id.clone(),
        dispatched: true,
        dispatch_idempotency_token: request.idempotency_token.clone(),
        status: JobStatus::Unset,
        status_description: String::new(),
        submit_time: now,
        meta,
        payload: Some(Bytes(payload)),
        priority: if request.priority == 0 { parent.priority } else { request.priority },
        ..parent.clone()
    })
}

/// The evaluation written together with the child; `None` if the child is periodic itself.
pub fn evaluation(child: &Job, now: i64, new_id: impl FnOnce() -> String) -> Option<Evaluation> {
    let launched_later = child.periodic.is_some();
    (!launched_later).then(|| Evaluation::pending(child, EvalTrigger::JobRegister, now, new_id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{JobType, ParameterizedJobConfig, PeriodicConfig};

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| s.to_string()).collect()
    }

    fn parent(payload: &str) -> Arc<Job> {
        Arc::new(Job {
            id: "p".into(),
            name: "p".into(),
            namespace: "ns".into(),
            r#type: JobType::Batch,
            priority: 40,
            status: JobStatus::Running,
            parameterized_job: Some(ParameterizedJobConfig {
                payload: payload.into(),
                meta_required: words(&["z", "a"]),
                meta_optional: words(&["o"]),
            }),
            meta: [("o".to_string(), "default".to_string()), ("k".to_string(), "v".to_string())].into(),
            ..Job::default()
        })
    }

    fn request(payload: usize, meta: &[&str]) -> DispatchRequest {
        DispatchRequest {
            payload: vec![b'x'; payload],
            meta: meta.iter().map(|k| (k.to_string(), "1".to_string())).collect(),
            ..DispatchRequest::default()
        }
    }

    #[test]
    fn validation_errors_in_order() {
        let check = |id: &str, job: Option<Arc<Job>>, r: &DispatchRequest| {
            super::check(id, job.as_ref(), r, 100).err().map_or_else(String::new, |e| e.to_string())
        };
        let good = request(0, &["a", "z"]);
        assert_eq!(check("p", Some(parent("optional")), &good), "");
        assert_eq!(check("", None, &good), "missing parameterized job ID");
        assert_eq!(check("p", None, &good), "parameterized job not found");
        let plain = Arc::new(Job { id: "web".into(), stop: true, ..Job::default() });
        assert_eq!(check("web", Some(plain), &good), r#"Specified job "web" is not a parameterized job"#);
        let dispatched = Arc::new(Job { dispatched: true, ..Job::clone(&parent("")) });
        assert_eq!(check("p", Some(dispatched), &good), r#"Specified job "p" is not a parameterized job"#);
        let stopped = Arc::new(Job { stop: true, ..Job::clone(&parent("required")) });
        assert_eq!(check("p", Some(stopped), &good), r#"Specified job "p" is stopped"#);
        let text = "Payload is not provided but required by parameterized job";
        assert_eq!(check("p", Some(parent("required")), &good), text);
        let text = "Payload provided but forbidden by parameterized job";
        assert_eq!(check("p", Some(parent("forbidden")), &request(MOST_PAYLOAD + 1, &[])), text);
        assert_eq!(check("p", Some(parent("optional")), &request(16_384, &["a", "z", "o"])), "");
        let text = "Payload exceeds maximum size; 16385 > 16384";
        assert_eq!(check("p", Some(parent("optional")), &request(16_385, &["x"])), text);
        let text = "Dispatch request included unpermitted metadata keys: [k y]";
        assert_eq!(check("p", Some(parent("optional")), &request(0, &["y", "k"])), text);
        let text = "Dispatch did not provide required meta keys: [a z]";
        assert_eq!(check("p", Some(parent("optional")), &request(0, &["o"])), text);
        for (priority, ok) in [(1, true), (100, true), (101, false), (-1, false)] {
            let text = check("p", Some(parent("optional")), &DispatchRequest { priority, ..good.clone() });
            assert_eq!(text, if ok { "" } else { "dispatch job priority must be between [1, 100]" }, "{priority}");
        }
    }

    #[test]
    fn children() {
        let p = parent("optional");
        let r = DispatchRequest {
            id_prefix_template: "pre".into(),
            idempotency_token: "tok".into(),
            ..request(100, &["a", "o"])
        };
        let now = 1_795_243_541 * SECOND + 7;
        let c = child(&p, &r, now, 0xe73).unwrap();
        assert_eq!(c.id, "p/dispatch-pre-1795243541-00000e73");
        assert_eq!((c.name.as_str(), c.parent_id.as_str(), &c.status), (c.id.as_str(), "p", &JobStatus::Unset));
        assert!(c.dispatched && !c.is_parameterized() && c.submit_time == now);
        assert_eq!(c.meta.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(), ["a=1", "k=v", "o=1"]);
        assert_eq!((c.priority, c.uncompressed_payload()), (40, Some(Bytes(r.payload.clone()))));
        assert!(c.payload.as_ref().unwrap().0.len() < 50, "stored compressed");
        let c2 = child(&p, &DispatchRequest { priority: 90, ..request(0, &[]) }, now, 1).unwrap();
        assert_eq!((c2.id.as_str(), c2.priority), ("p/dispatch-1795243541-00000001", 90));
        assert_eq!(c2.uncompressed_payload(), Some(Bytes(Vec::new())));

        let e = evaluation(&c, now, || "e".into()).unwrap();
        assert_eq!((&e.triggered_by, e.job_id.as_str(), e.priority), (&EvalTrigger::JobRegister, c.id.as_str(), 40));
        let periodic = Job { periodic: Some(PeriodicConfig::default()), ..c.clone() };
        assert_eq!(evaluation(&periodic, now, || panic!("no ID is needed")), None);

        let (c, c2) = (Arc::new(c), Arc::new(c2));
        assert_eq!(made_by("tok", [&c2, &c]).map(|j| &j.id), Some(&c.id));
        assert_eq!(made_by("", [&c2]), None, "an empty token matches nothing");
        assert_eq!(made_by("other", [&c2, &c]), None);
    }
}

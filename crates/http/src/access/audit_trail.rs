//! What the audit log records about a request (`docs/spec/agent-config.md §5.13`).
//!
//! A [`Trail`] collects what is learned about the request while it is answered: who calls
//! ([`authorization`](super::authorization)), what was checked, which objects the body names
//! ([`audited`](super::audited)). The row about its arrival is written before anything is carried out, that about its
//! end before the answer is sent.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderName, HeaderValue, Request};
use parking_lot::Mutex;

use crate::agent::servers::FromAgent;
use crate::serve::http1::Peer;
use encamp_audit::{
    AuditLog, Auth, AuthKind, Decision, Event, PayloadKind, RequestInfo, ResponseInfo, Stage, WriteError,
};
use encamp_host::ids;
use encamp_server::acl::{self, Caller, Denied};

/// The ID of a request that another agent forwarded, as its own rows have it.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-encamp-request-id");
/// The address from which another agent received a request.
pub(crate) const RECEIVED_FROM: HeaderName = HeaderName::from_static("x-encamp-received-from");

/// The most rights of a request that are remembered.
const DECISIONS: usize = 32;
/// The most objects of a request that are remembered.
const OBJECTS: usize = 32;

/// A request in the audit log. Clones are the same request; when the last one is gone without an answer, that is
/// written.
#[derive(Debug, Clone)]
pub(crate) struct Trail(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    log: Arc<AuditLog>,
    begun: Instant,
    keep_received: bool,
    keep_complete: bool,
    /// Whether the row about the arrival was written or tried.
    received: AtomicBool,
    /// Whether the row about the answer was written or tried.
    complete: AtomicBool,
    known: Mutex<Known>,
}

/// What is known about a request.
#[derive(Debug, Default)]
struct Known {
    auth: Auth,
    request: RequestInfo,
    decisions: Vec<Decision>,
    error: String,
    forwarded: bool,
}

/// Marks a request that is forwarded with what the other agent cannot know. Marks of another agent stay.
pub(crate) fn mark(request: &mut Request<Body>) {
    if request.extensions().get::<FromAgent>().is_some() {
        return;
    }
    let address = request.extensions().get::<ConnectInfo<Peer>>().map(|c| c.0.to_string());
    let id = request.extensions().get::<Trail>().map(|trail| trail.0.known.lock().request.id.clone());
    for (name, value) in [(RECEIVED_FROM, address), (REQUEST_ID, id)] {
        match value.and_then(|v| HeaderValue::from_str(&v).ok()) {
            Some(value) => request.headers_mut().insert(name, value),
            None => request.headers_mut().remove(name),
        };
    }
}

impl Trail {
    /// Begins to record a request, which `describe` describes; none for a request that is left out.
    pub(crate) fn begin(
        log: Arc<AuditLog>,
        path: &str,
        method: &str,
        describe: impl FnOnce() -> RequestInfo,
    ) -> Option<Trail> {
        let wants = |stage| log.wants(stage, path, method);
        let (keep_received, keep_complete) = (wants(Stage::OperationReceived), wants(Stage::OperationComplete));
        if !(keep_received || keep_complete) {
            return None;
        }
        let known = Mutex::new(Known { request: describe(), ..Known::default() });
        let (begun, received, complete) = (Instant::now(), AtomicBool::new(false), AtomicBool::new(false));
        Some(Trail(Arc::new(Shared { log, begun, keep_received, keep_complete, received, complete, known })))
    }

    /// Who calls, as a token was resolved.
    pub(crate) fn called_by(&self, token: &str, resolved: Result<&acl::Access, &Denied>) {
        let auth = Auth { token_hmac: self.0.log.hash(token), ..auth_of(resolved) };
        self.0.known.lock().auth = auth;
    }

    /// A right was checked.
    pub(crate) fn decided(&self, right: &impl Display, on: Option<&impl Display>, allowed: bool) {
        let on = on.map(ToString::to_string).unwrap_or_default();
        self.decide(Decision { right: right.to_string(), on, allowed });
    }

    /// A need that is no right of a route was checked.
    pub(crate) fn decided_need(&self, need: &str, allowed: bool) {
        self.decide(Decision { right: need.into(), on: String::new(), allowed });
    }

    fn decide(&self, decision: Decision) {
        let decisions = &mut self.0.known.lock().decisions;
        if decisions.len() < DECISIONS && !decisions.contains(&decision) {
            decisions.push(decision);
        }
    }

    /// The request is about an object that its path does not name.
    pub(crate) fn note(&self, kind: &str, name: &str) {
        let parameters = &mut self.0.known.lock().request.parameters;
        if parameters.len() < OBJECTS && !name.is_empty() {
            parameters.insert(kind.into(), name.into());
        }
    }

    /// Why the request fails.
    pub(crate) fn failed(&self, error: &str) {
        self.0.known.lock().error = error.into();
    }

    /// Another agent answers.
    pub(crate) fn forwarded(&self) {
        self.0.known.lock().forwarded = true;
    }

    /// Writes that the request was received, before anything is carried out.
    ///
    /// # Errors
    /// It could not be written, and has to be. The request is over: that is written as well, as far as possible.
    pub(crate) async fn received(&self) -> Result<(), WriteError> {
        if !self.0.keep_received || self.0.received.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let event = self.0.row(None);
        let written = self.0.log.write(event).await;
        if let Err(e) = &written {
            self.failed(&e.to_string());
            self.0.end(500);
        }
        written
    }

    /// Writes how the request went, before the answer is sent.
    ///
    /// # Errors
    /// It could not be written, and has to be.
    pub(crate) async fn complete(&self, status: u16, index: Option<u64>) -> Result<(), WriteError> {
        self.received().await?;
        if self.0.complete.swap(true, Ordering::AcqRel) || !self.0.keep_complete {
            return Ok(());
        }
        let event = self.0.row(Some((status, index)));
        self.0.log.write(event).await
    }
}

impl Shared {
    fn row(&self, answer: Option<(u16, Option<u64>)>) -> Event {
        let known = self.known.lock();
        let response = answer.map(|(status_code, index)| ResponseInfo {
            status_code,
            allowed: !matches!(status_code, 401 | 403 | 429),
            decisions: known.decisions.clone(),
            error: known.error.clone(),
            index,
            forwarded: known.forwarded,
            duration_ms: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        let (id, now) = (ids::uuid(), ids::now());
        Event::new(PayloadKind::Audit, id, now, known.auth.clone(), known.request.clone(), response)
    }

    /// Writes how the request went without waiting for it.
    fn end(&self, status: u16) {
        if !self.complete.swap(true, Ordering::AcqRel) && self.keep_complete {
            self.log.write_later(self.row(Some((status, None))));
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let known = self.known.get_mut();
        if known.error.is_empty() {
            known.error = "the connection was closed before the request was answered".into();
        }
        // The status that web servers use in their logs for this.
        self.end(499);
    }
}

/// Who calls.
fn auth_of(resolved: Result<&acl::Access, &Denied>) -> Auth {
    let of = |kind| Auth { r#type: kind, ..Auth::default() };
    let access = match resolved {
        Ok(access) => access,
        Err(denied) => return Auth { refused: denied.to_string(), ..of(AuthKind::Invalid) },
    };
    match access.caller() {
        Caller::AccessControlOff => of(AuthKind::AclDisabled),
        Caller::Anonymous => of(AuthKind::Anonymous),
        Caller::Token(token) => Auth {
            accessor_id: token.accessor_id.clone(),
            name: token.name.clone(),
            token_type: token.r#type.to_string(),
            global: Some(token.global),
            create_time: Some(token.create_time),
            policies: token.policies.clone(),
            ..of(AuthKind::Token)
        },
        Caller::Workload(claims) => Auth {
            allocation_id: claims.nomad_allocation_id.clone(),
            job_id: claims.nomad_job_id.clone(),
            task: claims.nomad_task.clone(),
            ..of(AuthKind::Workload)
        },
        Caller::Node(id) => Auth { node_id: id.clone(), ..of(AuthKind::Node) },
        Caller::Introduction => of(AuthKind::Introduction),
        Caller::Leader { .. } => of(AuthKind::Leader),
        Caller::Remote { name } => {
            let id = |kind: &str| name.strip_prefix(kind).filter(|id| ids::is_uuid(id)).unwrap_or_default().to_string();
            let (accessor_id, allocation_id, node_id) = (id("token:"), id("alloc:"), id("client:"));
            Auth { accessor_id, allocation_id, node_id, name: name.clone(), ..of(AuthKind::Remote) }
        }
    }
}

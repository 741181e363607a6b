//! Who makes a request, and what it was allowed; checked again while a request lasts (`docs/spec/http-api.md §7.7`,
//! `docs/spec/server.md §21.1`).
//!
//! A token can be revoked while a read waits or a stream is open. An [`Authorization`] therefore remembers the rights
//! that it granted: waiting reads resolve the token again before they answer, and streams every [`RECHECK`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::audit_trail::Trail;
use super::remote_permissions;
use super::right::{Need, Right, Subject};
use crate::agent::state::AppState;
use crate::error::Error;
use encamp_host::ids;
use encamp_server::acl::{self, Caller, Denied};

/// How often the right to an open stream is checked.
const RECHECK: Duration = Duration::from_millis(400);

/// A right that was granted, with what it was granted on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Granted {
    right: Right,
    on: Option<Object>,
}

/// An owned [`Subject`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Object {
    Namespace(String),
    Pool(String),
    Variable(String, String),
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::Namespace(name) => write!(f, "namespace {name}"),
            Object::Pool(name) => write!(f, "node pool {name}"),
            Object::Variable(namespace, path) => write!(f, "variable {path} in namespace {namespace}"),
        }
    }
}

impl Object {
    fn of(subject: Subject<'_>) -> Option<Object> {
        match subject {
            Subject::Cluster => None,
            Subject::Namespace(name) => Some(Object::Namespace(name.into())),
            Subject::Pool(name) => Some(Object::Pool(name.into())),
            Subject::Variable(namespace, path) => Some(Object::Variable(namespace.into(), path.into())),
        }
    }

    fn subject(&self) -> Subject<'_> {
        match self {
            Object::Namespace(name) => Subject::Namespace(name),
            Object::Pool(name) => Subject::Pool(name),
            Object::Variable(namespace, path) => Subject::Variable(namespace, path),
        }
    }
}

type Resolved = Result<acl::Access, Denied>;

/// The caller of a request and its permissions, which follow changes of policies while the request lasts. Clones share
/// them.
#[derive(Clone)]
pub struct Access(Arc<RwLock<Resolved>>);

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Access").field(&self.0.read().as_ref().map(acl::Access::caller)).finish()
    }
}

impl Access {
    fn new(resolved: Resolved) -> Access {
        Access(Arc::new(RwLock::new(resolved)))
    }

    /// Whether the caller may do that. A token that was revoked allows nothing.
    pub fn allows(&self, need: &Need<'_>) -> bool {
        self.0.read().as_ref().is_ok_and(|access| access.allows(need))
    }

    /// Whether the caller may do everything.
    pub fn is_management(&self) -> bool {
        self.0.read().as_ref().is_ok_and(acl::Access::is_management)
    }

    /// Who calls, and what it may do at this moment.
    ///
    /// # Errors
    /// The token is not valid.
    pub fn current(&self) -> Result<acl::Access, Denied> {
        self.0.read().clone()
    }

    /// Whether the caller has a right on a subject.
    pub(crate) fn has(&self, right: Right, of: Subject<'_>) -> bool {
        right.is_in(&|need: &Need<'_>| self.allows(need), of)
    }
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Authorization {
    app: AppState,
    token: String,
    access: Access,
    granted: Mutex<Vec<Granted>>,
    /// The request in the audit log.
    trail: Option<Trail>,
}

/// Resolves a token now.
pub(crate) async fn resolve(app: &AppState, token: &str) -> Resolved {
    if !app.settings().acl_enabled {
        return Ok(acl::Access::everything());
    }
    match app.server() {
        Some(server) => server.resolve(token, ids::now()),
        None => remote_permissions::resolve(app, token).await,
    }
}

impl Authorization {
    /// Resolves the token of a request. A token that is not valid is an error where a right is required. `trail`: the
    /// request in the audit log.
    pub(crate) async fn begin(app: &AppState, token: &str, trail: Option<Trail>) -> Authorization {
        let resolved = resolve(app, token).await;
        if let Some(trail) = &trail {
            trail.called_by(token, resolved.as_ref());
        }
        let access = Access::new(resolved);
        Authorization { app: app.clone(), token: token.into(), access, granted: Mutex::default(), trail }
    }

    /// The request in the audit log.
    pub(crate) fn trail(&self) -> Option<&Trail> {
        self.trail.as_ref()
    }

    /// The caller and its permissions.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn access(&self) -> Result<Access, Error> {
        self.access.current().map_err(|_| Error::denied())?;
        Ok(self.access.clone())
    }

    /// Whether the leader calls with its token, which is for few routes.
    pub(crate) fn is_leaders(&self) -> bool {
        self.access.current().is_ok_and(|access| access.caller().is_leader())
    }

    /// Why the token is not valid.
    pub(crate) fn denied(&self) -> Option<Denied> {
        self.access.current().err()
    }

    /// Who calls.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn caller(&self) -> Result<Caller, Error> {
        Ok(self.access.current().map_err(|_| Error::denied())?.caller().clone())
    }

    /// Checks a right, and remembers that it was granted.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn grant(&self, right: Right, of: Subject<'_>) -> Result<Access, Error> {
        let access = self.access()?;
        let (allowed, on) = (access.has(right, of), Object::of(of));
        if let Some(trail) = &self.trail {
            trail.decided(&right, on.as_ref(), allowed);
        }
        if !allowed {
            return Err(Error::denied());
        }
        let granted = Granted { right, on };
        let mut all = self.granted.lock();
        if !all.contains(&granted) {
            all.push(granted);
        }
        Ok(access)
    }

    /// Resolves the token again with the state of this server, and checks everything that was granted.
    ///
    /// # Errors
    /// 403: something is not allowed any more.
    pub(crate) fn check_again(&self) -> Result<(), Error> {
        match self.app.server() {
            Some(server) if self.app.settings().acl_enabled => self.renew(server.resolve(&self.token, ids::now())),
            _ => Ok(()),
        }
    }

    fn renew(&self, resolved: Resolved) -> Result<(), Error> {
        let same = match (&resolved, &*self.access.0.read()) {
            (Ok(new), Ok(old)) => new.is_same(old),
            _ => false,
        };
        if same {
            return Ok(());
        }
        *self.access.0.write() = resolved;
        self.access()?;
        let all = self.granted.lock();
        let lost = all.iter().any(|g| {
            let of = g.on.as_ref().map_or(Subject::Cluster, Object::subject);
            !self.access.has(g.right, of)
        });
        if lost { Err(Error::denied()) } else { Ok(()) }
    }

    /// Returns as soon as something that was granted is not allowed any more, at the latest a second after; never
    /// without access control.
    pub(crate) async fn revoked(&self) {
        if !self.app.settings().acl_enabled {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(RECHECK).await;
            if self.renew(resolve(&self.app, &self.token).await).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::right::{Capability, Level};
    use encamp_acl::{Acl, Rules};

    fn access(rules: &str) -> Resolved {
        let rules = Rules::parse(rules).expect("rules");
        Ok(acl::Access::new(Caller::Anonymous, Arc::new(Acl::merge([("p", &rules)]))))
    }

    #[test]
    fn what_was_granted_is_checked_again() {
        let settings = crate::agent::state::HttpSettings { acl_enabled: true, ..Default::default() };
        let agent = Arc::new(crate::tests::server::QuietAgent);
        let app = AppState::new(settings, None, None, agent, encamp_telemetry::Metrics::default());
        let first = access(
            r#"namespace "default" { policy = "read" }
node { policy = "read" }"#,
        );
        let a = Authorization {
            app,
            token: String::new(),
            access: Access::new(first),
            granted: Mutex::default(),
            trail: None,
        };
        let read = Right::Namespace(&[Capability::ReadJob]);
        let seen = a.grant(read, Subject::Namespace("default")).expect("granted");
        assert!(a.grant(read, Subject::Namespace("other")).is_err());
        assert!(a.grant(Right::Node(Level::Write), Subject::Cluster).is_err());
        // More rights, other rights: what was granted counts.
        assert!(a.renew(access(r#"namespace "default" { policy = "write" }"#)).is_ok());
        assert!(seen.allows(&Need::Namespace("default", &[Capability::SubmitJob])), "the handler sees the change");
        assert!(a.renew(access(r#"namespace "other" { policy = "write" }"#)).is_err());
        assert!(!seen.allows(&Need::Namespace("default", &[Capability::ReadJob])));
        assert!(a.renew(Err(Denied::Unknown)).is_err());
        assert!(a.access().is_err() && !seen.allows(&Need::Nothing));
    }
}

//! What the caller of a request may do, and what the audit log records of it (`docs/spec/http-api.md §7`).

use std::sync::Arc;

use super::routed_request::Request;
use crate::access::audit_trail::Trail;
use crate::access::audited::NamesObjects;
use crate::access::authorization::{Access, Authorization};
use crate::access::job_permission::JobPermission;
use crate::access::permission::Permission;
use crate::access::right::{Need, Right, Subject};
use crate::access::visible_rows::Seen;
use crate::error::Error;
use encamp_server::acl::Caller;

impl Request {
    /// The right that the route requires.
    pub(crate) fn right(&self) -> Right {
        self.target.permission.right()
    }

    /// Whether the request opens a session over a websocket.
    pub(crate) fn opens_session(&self) -> bool {
        self.target.permission.is_checked_in_session()
    }

    /// Checks the permission, as far as the row of the route says on what; the handler checks the others.
    ///
    /// # Errors
    /// 403; or, before it, the parameters on which the check depends are wrong.
    pub(crate) fn check_permission(&self) -> Result<(), Error> {
        match self.target.permission {
            Permission::AtOnce(_) => drop(self.authorize()?),
            Permission::AfterRegion(_) => {
                self.check_region()?;
                self.authorize()?;
            }
            Permission::AfterOptions(_) => {
                self.read_options()?;
                self.authorize()?;
            }
            Permission::InNamespaceOfWrite(_) => {
                self.check_region()?;
                self.authorize_in(&self.namespace())?;
            }
            Permission::InNamespaceOfRead(_) => drop(self.authorize_in(&self.read_options()?.namespace)?),
            Permission::ByHandler(_)
            | Permission::ByHandlerOrLeader(_)
            | Permission::InSession(_)
            | Permission::OfJob(_)
            | Permission::OfJobAndVolumes(_)
            | Permission::MigrateToken => {}
        }
        Ok(())
    }

    /// The permission that the endpoint checks on the job that it has admitted.
    pub(crate) fn job_permission(&self) -> JobPermission {
        JobPermission::new(self.target.permission, self.access().ok())
    }

    /// Whether the caller may do everything.
    pub(crate) fn is_management(&self) -> bool {
        self.access().is_ok_and(|access| access.is_management())
    }

    /// The check of rights, which goes on while the request lasts.
    pub(crate) fn authorization(&self) -> &Arc<Authorization> {
        &self.authorization
    }

    /// The request in the audit log, if there is one.
    pub(crate) fn trail(&self) -> Option<&Trail> {
        self.authorization.trail()
    }

    /// Notes for the audit log the objects that the row of the route lists, as far as a value names them: a body, or
    /// what was written.
    pub(crate) fn audit(&self, value: &impl NamesObjects) {
        let Some(trail) = self.trail() else { return };
        for object in self.target.audited {
            if let Some(name) = value.name_of(*object) {
                trail.note(object.kind(), name);
            }
        }
    }

    /// Takes the token of a message, where the headers have none.
    pub(crate) async fn set_token(&mut self, token: &str) {
        self.message_token = token.into();
        self.authorization =
            Arc::new(Authorization::begin(&self.app, self.token(), self.authorization.trail().cloned()).await);
    }

    /// Who calls.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn caller(&self) -> Result<Caller, Error> {
        self.authorization.caller()
    }

    /// The caller, as named in the metadata of drains.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn accessor(&self) -> Result<String, Error> {
        Ok(self.caller()?.name())
    }

    /// What the caller may do.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn access(&self) -> Result<Access, Error> {
        self.authorization.access()
    }

    /// Whether the caller has the right that the route requires; what else it may do.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize(&self) -> Result<Access, Error> {
        self.authorization.grant(self.right(), Subject::Cluster)
    }

    /// As [`Request::authorize`], for a right in a namespace; `*`: in any. Gives which rows the caller may see.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize_in(&self, namespace: &str) -> Result<Seen, Error> {
        let access = self.authorization.grant(self.right(), Subject::Namespace(namespace))?;
        Ok(Seen { access, right: self.right(), namespace: namespace.into() })
    }

    /// The rows that the caller may see, where everybody may ask and gets what is allowed.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn seen_in(&self, namespace: &str) -> Result<Seen, Error> {
        Ok(Seen { access: self.access()?, right: self.right(), namespace: namespace.into() })
    }

    /// As [`Request::authorize`], for a right on a node pool.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize_pool(&self, pool: &str) -> Result<Access, Error> {
        self.authorization.grant(self.right(), Subject::Pool(pool))
    }

    /// As [`Request::authorize`], for a right on a variable.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize_variable(&self, namespace: &str, path: &str) -> Result<Access, Error> {
        self.authorization.grant(self.right(), Subject::Variable(namespace, path))
    }

    /// As [`Request::authorize`], for a right that the route does not name.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize_as(&self, right: Right, of: Subject<'_>) -> Result<Access, Error> {
        self.authorization.grant(right, of)
    }

    /// Whether the caller may do something that depends on more than the route; what else it may do.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn need(&self, need: &Need<'_>) -> Result<Access, Error> {
        let access = self.access()?;
        let allowed = access.allows(need);
        if let Some(trail) = self.trail() {
            trail.decided_need(&need.to_string(), allowed);
        }
        if allowed { Ok(access) } else { Err(Error::denied()) }
    }
}

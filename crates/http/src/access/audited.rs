//! The objects that the audit log names, besides those that the path of a request names.

use encamp_model::requests::{JobPlanRequest, JobRegisterRequest, JobValidateRequest};
use encamp_model::{AclAuthMethod, AclBindingRule, AclRole, AclToken, Namespace, api};

/// An object that a body or an answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audited {
    /// The ID of a job.
    Job,
    /// The namespace of a job.
    JobNamespace,
    /// A namespace.
    Namespace,
    /// A node pool.
    NodePool,
    /// The accessor of a token.
    Token,
    /// The ID of a role.
    Role,
    /// An auth method.
    AuthMethod,
    /// The ID of a binding rule.
    BindingRule,
}

impl Audited {
    /// The key in a row of the audit log.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Audited::Job => "job",
            Audited::JobNamespace => "job_namespace",
            Audited::Namespace => "namespace",
            Audited::NodePool => "node_pool",
            Audited::Token => "token",
            Audited::Role => "role",
            Audited::AuthMethod => "auth_method",
            Audited::BindingRule => "binding_rule",
        }
    }
}

/// A body or an answer that names objects.
pub(crate) trait NamesObjects {
    /// The name or the ID of an object, if the value names it.
    fn name_of(&self, object: Audited) -> Option<&str>;
}

/// What a body says about its job.
fn name_in_job(job: Option<&api::Job>, object: Audited) -> Option<&str> {
    match object {
        Audited::Job => job?.id.as_deref(),
        Audited::JobNamespace => job?.namespace.as_deref(),
        _ => None,
    }
}

impl NamesObjects for JobRegisterRequest {
    fn name_of(&self, object: Audited) -> Option<&str> {
        name_in_job(self.job.as_ref(), object)
    }
}

impl NamesObjects for JobPlanRequest {
    fn name_of(&self, object: Audited) -> Option<&str> {
        name_in_job(self.job.as_ref(), object)
    }
}

impl NamesObjects for JobValidateRequest {
    fn name_of(&self, object: Audited) -> Option<&str> {
        name_in_job(self.job.as_ref(), object)
    }
}

/// Implements [`NamesObjects`] for types that name one object.
macro_rules! names {
    ($($type:ty: $object:ident = $field:ident;)*) => {
        $(impl NamesObjects for $type {
            fn name_of(&self, object: Audited) -> Option<&str> {
                (object == Audited::$object).then_some(&self.$field)
            }
        })*
    };
}

names! {
    Namespace: Namespace = name;
    AclToken: Token = accessor_id;
    AclRole: Role = id;
    AclAuthMethod: AuthMethod = name;
    AclBindingRule: BindingRule = id;
}

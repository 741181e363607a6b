//! From a secret to a caller (`docs/spec/http-api.md §7.7`).

use std::sync::Arc;

use encamp_acl::{Acl, Rules, Workload};
use encamp_host::ids::is_uuid;
use encamp_model::{AclPolicy, AclToken, AclTokenType, JobAcl, quoted};
use encamp_state::{StateStore, Table};

use super::cache::{Cache, Stamp};
use super::{Access, Caller, Denied, LEADER};
use crate::fsm::node::is_revoked;
use crate::keyring::Keyring;
use crate::keyring::claims::Claims;

/// The policy of requests without a token.
pub const ANONYMOUS: &str = "anonymous";

/// Resolves secrets against the state of a server.
pub struct Resolver {
    cache: Cache,
    management: Arc<Acl>,
    nothing: Arc<Acl>,
}

impl Default for Resolver {
    fn default() -> Resolver {
        Resolver { cache: Cache::default(), management: Arc::new(Acl::management()), nothing: Arc::new(Acl::nothing()) }
    }
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolver")
    }
}

impl Resolver {
    /// The caller with this secret, and what it may do at `now`, in Unix nanoseconds. An empty secret is that of the
    /// anonymous caller.
    ///
    /// # Errors
    /// The secret is not valid.
    pub fn resolve(&self, store: &StateStore, keyring: &Keyring, secret: &str, now: i64) -> Result<Access, Denied> {
        if secret.is_empty() {
            return Ok(Access::new(Caller::Anonymous, self.cache.merged(policies_of_anonymous(store))));
        }
        // Secrets of tokens are UUIDs; signed identities are not.
        if is_uuid(secret) {
            let token = store.acl_token_by_secret(secret).ok_or(Denied::Unknown)?;
            return self.of_token(store, token, now);
        }
        self.of_identity(store, keyring, secret, now)
    }

    /// The access of a token's owner.
    ///
    /// # Errors
    /// The token has expired.
    pub fn of_token(&self, store: &StateStore, token: &Arc<AclToken>, now: i64) -> Result<Access, Denied> {
        if is_expired(token, now) {
            return Err(Denied::Expired);
        }
        let caller = Caller::Token(token.clone());
        if token.r#type == AclTokenType::Management {
            return Ok(Access::new(caller, self.management.clone()));
        }
        let stamp = Stamp {
            token: token.modify_index,
            policies: store.index_of(Table::AclPolicy),
            roles: store.index_of(Table::AclRoles),
        };
        if let Some(acl) = self.cache.of_token(&token.accessor_id, &stamp) {
            return Ok(Access::new(caller, acl));
        }
        let acl = self.cache.merged(policies_of_token(store, token));
        self.cache.keep(&token.accessor_id, stamp, &acl);
        Ok(Access::new(caller, acl))
    }

    /// The access of a workload's, node's or introduction identity.
    fn of_identity(&self, store: &StateStore, keyring: &Keyring, jwt: &str, now: i64) -> Result<Access, Denied> {
        let claims = keyring.verified(jwt, now).ok_or(Denied::Malformed)?;
        if !claims.nomad_allocation_id.is_empty() {
            return self.of_workload(store, claims);
        }
        if !claims.nomad_node_id.is_empty() {
            let node = store.state().node(&claims.nomad_node_id).ok_or(Denied::Unknown)?;
            if claims.is_revoked(store) || is_revoked(store, &node.node) {
                return Err(Denied::Unknown);
            }
            return Ok(Access::new(Caller::Node(node.node.id.clone()), self.nothing.clone()));
        }
        if let Some(namespace) = claims.leader_namespace() {
            let policy = policy_of_leader(namespace);
            let rules = Rules::parse_stored(&policy.rules);
            let acl = Acl::merge([(policy.name.as_str(), &rules)]);
            return Ok(Access::new(Caller::Leader { namespace: namespace.into() }, Arc::new(acl)));
        }
        Ok(Access::new(Caller::Introduction, self.nothing.clone()))
    }

    /// The access of a task: as long as its allocation runs, and the claims are those of the allocation.
    fn of_workload(&self, store: &StateStore, claims: Claims) -> Result<Access, Denied> {
        let entry = store.state().alloc(&claims.nomad_allocation_id).ok_or(Denied::NotRunning)?;
        let alloc = &entry.alloc;
        let job = alloc.job.as_ref().ok_or(Denied::NotRunning)?;
        let id = if job.parent_id.is_empty() { &job.id } else { &job.parent_id };
        let group = alloc.group().ok_or(Denied::NotRunning)?;
        let task = group.tasks.iter().any(|t| t.name == claims.nomad_task);
        if alloc.client_terminal()
            || alloc.namespace != claims.nomad_namespace
            || *id != claims.nomad_job_id
            || !(task || claims.nomad_task.is_empty())
        {
            return Err(Denied::NotRunning);
        }
        let workload = Workload {
            namespace: claims.nomad_namespace.clone(),
            job: claims.nomad_job_id.clone(),
            group: alloc.task_group.to_string(),
            task: claims.nomad_task.clone(),
        };
        let policies = policies_of_workload(store, &workload);
        let acl = Acl::clone(&self.cache.merged(policies)).with_workload(workload);
        Ok(Access::new(Caller::Workload(Arc::new(claims)), Arc::new(acl)))
    }
}

/// Whether a token has expired: its time has passed (`docs/spec/garbage-collection.md §10.1`).
pub fn is_expired(token: &AclToken, now: i64) -> bool {
    token.expiration_time.is_some_and(|at| at.unix_nanos().is_some_and(|at| at < now))
}

/// What the leader may do with its token: the least with which agents give the usage of an allocation.
pub(super) fn policy_of_leader(namespace: &str) -> AclPolicy {
    let rules = format!("namespace {} {{\n  capabilities = [\"read-job\"]\n}}", quoted(namespace));
    AclPolicy { name: LEADER.into(), rules, ..AclPolicy::default() }
}

/// The policies of requests without a token: one, or none.
pub(super) fn policies_of_anonymous(store: &StateStore) -> Vec<Arc<AclPolicy>> {
    store.acl_policy(ANONYMOUS).cloned().into_iter().collect()
}

/// The policies of a token, those of its roles included. Names of policies that do not exist are skipped.
pub(super) fn policies_of_token(store: &StateStore, token: &AclToken) -> Vec<Arc<AclPolicy>> {
    let roles = token.roles.iter().filter_map(|link| store.acl_role(&link.id));
    let of_roles = roles.flat_map(|role| role.policies.iter().map(|p| p.name.as_str()));
    let names = token.policies.iter().map(String::as_str).chain(of_roles);
    names.filter_map(|name| store.acl_policy(name).cloned()).collect()
}

/// The policies of a workload (`docs/spec/http-api.md §7.10`).
pub(super) fn policies_of_workload(store: &StateStore, workload: &Workload) -> Vec<Arc<AclPolicy>> {
    let fits = |asked: &str, own: &str| asked.is_empty() || asked == own;
    let holds = |acl: &JobAcl| {
        acl.namespace == workload.namespace
            && fits(&acl.job_id, &workload.job)
            && fits(&acl.group, &workload.group)
            && fits(&acl.task, &workload.task)
    };
    let of_namespace = store.acl_policies_of_jobs(&workload.namespace);
    of_namespace.filter(|p| p.job_acl.as_ref().is_some_and(holds)).cloned().collect()
}

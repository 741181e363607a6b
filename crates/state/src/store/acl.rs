//! ACL objects: policies, tokens, roles, auth methods, binding rules, one-time tokens (`docs/spec/server.md §17`).
//!
//! Tokens are found by a hash of their secret, so that the time of a look-up says nothing about secrets that exist.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use sha2::{Digest, Sha256};

use super::{StateStore, Table};
use encamp_model::*;

/// A hash of a secret.
type SecretHash = [u8; 32];

fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret.as_bytes()).into()
}

/// The tables.
#[derive(Debug, Clone, Default)]
pub(super) struct AclTables {
    policies: OrdMap<String, Arc<AclPolicy>>,
    /// Policies of workloads: namespace, name.
    policies_of_jobs: OrdSet<(String, String)>,
    tokens: OrdMap<String, Arc<AclToken>>,
    tokens_by_secret: OrdMap<SecretHash, String>,
    /// CreateIndex and accessor.
    tokens_by_create: OrdSet<(u64, String)>,
    /// Whether the token is global, when it expires, accessor.
    tokens_by_expiry: OrdSet<(bool, i64, String)>,
    roles: OrdMap<String, Arc<AclRole>>,
    roles_by_name: OrdMap<String, String>,
    auth_methods: OrdMap<String, Arc<AclAuthMethod>>,
    binding_rules: OrdMap<String, Arc<AclBindingRule>>,
    /// By accessor: a token has at most one.
    one_time_tokens: OrdMap<String, Arc<OneTimeToken>>,
    one_time_tokens_by_secret: OrdMap<SecretHash, String>,
}

fn expiry(token: &AclToken) -> Option<(bool, i64, String)> {
    let at = token.expiration_time?.unix_nanos()?;
    Some((token.global, at, token.accessor_id.clone()))
}

// ---- policies
impl StateStore {
    /// The policy of that name.
    pub fn acl_policy(&self, name: &str) -> Option<&Arc<AclPolicy>> {
        self.acl.policies.get(name)
    }

    /// All policies by name.
    pub fn acl_policies(&self) -> impl Iterator<Item = &Arc<AclPolicy>> {
        self.acl.policies.values()
    }

    /// The policies of workloads of a namespace.
    pub fn acl_policies_of_jobs<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<AclPolicy>> {
        let first = (namespace.to_string(), String::new());
        let of_namespace = self.acl.policies_of_jobs.range(first..).take_while(move |(n, _)| n == namespace);
        of_namespace.filter_map(|(_, name)| self.acl.policies.get(name))
    }

    /// Adds or replaces a policy.
    pub fn put_acl_policy(&mut self, policy: Arc<AclPolicy>) {
        self.remove_acl_policy(&policy.name);
        if let Some(job) = policy.job_acl.as_ref().filter(|j| !j.namespace.is_empty()) {
            self.acl.policies_of_jobs.insert((job.namespace.clone(), policy.name.clone()));
        }
        self.acl.policies.insert(policy.name.clone(), policy);
    }

    /// Removes a policy.
    pub fn remove_acl_policy(&mut self, name: &str) -> Option<Arc<AclPolicy>> {
        let old = self.acl.policies.remove(name)?;
        if let Some(job) = &old.job_acl {
            self.acl.policies_of_jobs.remove(&(job.namespace.clone(), name.to_string()));
        }
        Some(old)
    }
}

// ---- tokens
impl StateStore {
    /// The token of that accessor.
    pub fn acl_token(&self, accessor: &str) -> Option<&Arc<AclToken>> {
        self.acl.tokens.get(accessor)
    }

    /// The token with that secret.
    pub fn acl_token_by_secret(&self, secret: &str) -> Option<&Arc<AclToken>> {
        let accessor = self.acl.tokens_by_secret.get(&hash(secret))?;
        self.acl.tokens.get(accessor).filter(|t| t.secret_id == SecretString::new(secret))
    }

    /// All tokens by accessor, from `first` on.
    pub fn acl_tokens_from(&self, first: &str) -> impl Iterator<Item = &Arc<AclToken>> {
        self.acl.tokens.range(first.to_string()..).map(|(_, token)| token)
    }

    /// All tokens by accessor.
    pub fn acl_tokens(&self) -> impl Iterator<Item = &Arc<AclToken>> {
        self.acl.tokens.values()
    }

    /// All tokens by CreateIndex and accessor; reversible.
    pub fn acl_tokens_by_create(&self) -> impl DoubleEndedIterator<Item = &Arc<AclToken>> {
        self.acl.tokens_by_create.iter().filter_map(|(_, accessor)| self.acl.tokens.get(accessor))
    }

    /// Global or local tokens that expire, the first one first.
    pub fn acl_tokens_by_expiry(&self, global: bool) -> impl Iterator<Item = &Arc<AclToken>> {
        let of_kind = self.acl.tokens_by_expiry.range((global, i64::MIN, String::new())..);
        of_kind.take_while(move |(g, ..)| *g == global).filter_map(|(_, _, id)| self.acl.tokens.get(id))
    }

    /// Adds or replaces a token.
    pub fn put_acl_token(&mut self, token: Arc<AclToken>) {
        self.remove_acl_token(&token.accessor_id);
        let accessor = token.accessor_id.clone();
        self.acl.tokens_by_secret.insert(hash(token.secret_id.expose()), accessor.clone());
        self.acl.tokens_by_create.insert((token.create_index, accessor.clone()));
        if let Some(expiry) = expiry(&token) {
            self.acl.tokens_by_expiry.insert(expiry);
        }
        self.acl.tokens.insert(accessor, token);
    }

    /// Removes a token.
    pub fn remove_acl_token(&mut self, accessor: &str) -> Option<Arc<AclToken>> {
        let old = self.acl.tokens.remove(accessor)?;
        self.acl.tokens_by_secret.remove(&hash(old.secret_id.expose()));
        self.acl.tokens_by_create.remove(&(old.create_index, accessor.to_string()));
        if let Some(expiry) = expiry(&old) {
            self.acl.tokens_by_expiry.remove(&expiry);
        }
        Some(old)
    }

    /// The index at which the first management token was made; none: access control is not bootstrapped.
    pub fn acl_bootstrap_index(&self) -> Option<u64> {
        Some(self.index_of(Table::AclTokenBootstrap)).filter(|index| *index > 0)
    }
}

// ---- one-time tokens
impl StateStore {
    /// The one-time token with that secret.
    pub fn one_time_token_by_secret(&self, secret: &str) -> Option<&Arc<OneTimeToken>> {
        let accessor = self.acl.one_time_tokens_by_secret.get(&hash(secret))?;
        let found = self.acl.one_time_tokens.get(accessor);
        found.filter(|t| t.one_time_secret_id == SecretString::new(secret))
    }

    /// All one-time tokens.
    pub fn one_time_tokens(&self) -> impl Iterator<Item = &Arc<OneTimeToken>> {
        self.acl.one_time_tokens.values()
    }

    /// Adds a one-time token, or replaces that of its accessor.
    pub fn put_one_time_token(&mut self, token: Arc<OneTimeToken>) {
        self.remove_one_time_token(&token.accessor_id);
        let secret = hash(token.one_time_secret_id.expose());
        self.acl.one_time_tokens_by_secret.insert(secret, token.accessor_id.clone());
        self.acl.one_time_tokens.insert(token.accessor_id.clone(), token);
    }

    /// Removes the one-time token of an accessor.
    pub fn remove_one_time_token(&mut self, accessor: &str) -> Option<Arc<OneTimeToken>> {
        let old = self.acl.one_time_tokens.remove(accessor)?;
        self.acl.one_time_tokens_by_secret.remove(&hash(old.one_time_secret_id.expose()));
        Some(old)
    }
}

// ---- roles, auth methods, binding rules
impl StateStore {
    /// The role of that ID.
    pub fn acl_role(&self, id: &str) -> Option<&Arc<AclRole>> {
        self.acl.roles.get(id)
    }

    /// The role of that name.
    pub fn acl_role_by_name(&self, name: &str) -> Option<&Arc<AclRole>> {
        self.acl.roles.get(self.acl.roles_by_name.get(name)?)
    }

    /// All roles by ID.
    pub fn acl_roles(&self) -> impl Iterator<Item = &Arc<AclRole>> {
        self.acl.roles.values()
    }

    /// Adds or replaces a role.
    pub fn put_acl_role(&mut self, role: Arc<AclRole>) {
        self.remove_acl_role(&role.id);
        self.acl.roles_by_name.insert(role.name.clone(), role.id.clone());
        self.acl.roles.insert(role.id.clone(), role);
    }

    /// Removes a role.
    pub fn remove_acl_role(&mut self, id: &str) -> Option<Arc<AclRole>> {
        let old = self.acl.roles.remove(id)?;
        self.acl.roles_by_name.remove(&old.name);
        Some(old)
    }

    /// The auth method of that name.
    pub fn acl_auth_method(&self, name: &str) -> Option<&Arc<AclAuthMethod>> {
        self.acl.auth_methods.get(name)
    }

    /// All auth methods by name.
    pub fn acl_auth_methods(&self) -> impl Iterator<Item = &Arc<AclAuthMethod>> {
        self.acl.auth_methods.values()
    }

    /// Adds or replaces an auth method.
    pub fn put_acl_auth_method(&mut self, method: Arc<AclAuthMethod>) {
        self.acl.auth_methods.insert(method.name.clone(), method);
    }

    /// Removes an auth method.
    pub fn remove_acl_auth_method(&mut self, name: &str) -> Option<Arc<AclAuthMethod>> {
        self.acl.auth_methods.remove(name)
    }

    /// The binding rule of that ID.
    pub fn acl_binding_rule(&self, id: &str) -> Option<&Arc<AclBindingRule>> {
        self.acl.binding_rules.get(id)
    }

    /// All binding rules by ID.
    pub fn acl_binding_rules(&self) -> impl Iterator<Item = &Arc<AclBindingRule>> {
        self.acl.binding_rules.values()
    }

    /// Adds or replaces a binding rule.
    pub fn put_acl_binding_rule(&mut self, rule: Arc<AclBindingRule>) {
        self.acl.binding_rules.insert(rule.id.clone(), rule);
    }

    /// Removes a binding rule.
    pub fn remove_acl_binding_rule(&mut self, id: &str) -> Option<Arc<AclBindingRule>> {
        self.acl.binding_rules.remove(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(accessor: &str, secret: &str, expires: Option<i64>) -> Arc<AclToken> {
        Arc::new(AclToken {
            accessor_id: accessor.into(),
            secret_id: SecretString::new(secret),
            expiration_time: expires.map(Time::from_unix_nanos),
            create_index: 3,
            ..Default::default()
        })
    }

    #[test]
    fn indexes_follow_the_rows() {
        let mut store = StateStore::new();
        store.put_acl_token(token("a", "s1", Some(9)));
        store.put_acl_token(token("b", "s2", Some(5)));
        store.put_acl_token(token("a", "s3", Some(4)));
        assert!(store.acl_token_by_secret("s1").is_none(), "the old secret is gone");
        assert_eq!(store.acl_token_by_secret("s3").map(|t| t.accessor_id.as_str()), Some("a"));
        let order = |s: &StateStore| s.acl_tokens_by_expiry(false).map(|t| t.accessor_id.clone()).collect::<Vec<_>>();
        assert_eq!(order(&store), ["a", "b"]);
        store.remove_acl_token("a");
        assert_eq!((order(&store), store.acl_tokens_by_create().count()), (vec!["b".to_string()], 1));
        let role = |name: &str| Arc::new(AclRole { id: "r".into(), name: name.into(), ..Default::default() });
        store.put_acl_role(role("x"));
        store.put_acl_role(role("y"));
        assert!(store.acl_role_by_name("x").is_none() && store.acl_role_by_name("y").is_some());
        let policy = |namespace: &str| {
            let job_acl = Some(JobAcl { namespace: namespace.into(), ..Default::default() });
            Arc::new(AclPolicy { name: "p".into(), job_acl, ..Default::default() })
        };
        store.put_acl_policy(policy("a"));
        store.put_acl_policy(policy("b"));
        assert_eq!((store.acl_policies_of_jobs("a").count(), store.acl_policies_of_jobs("b").count()), (0, 1));
        let once = |secret: &str| {
            let one_time_secret_id = SecretString::new(secret);
            Arc::new(OneTimeToken { accessor_id: "a".into(), one_time_secret_id, ..Default::default() })
        };
        store.put_one_time_token(once("o1"));
        store.put_one_time_token(once("o2"));
        assert!(store.one_time_token_by_secret("o1").is_none() && store.one_time_token_by_secret("o2").is_some());
        assert_eq!(store.one_time_tokens().count(), 1);
    }
}

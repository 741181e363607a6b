//! Claims of workload and node identities (`docs/spec/http-api.md §10.1`). No I/O: times and IDs are parameters.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use encamp_model::*;
use encamp_state::StateStore;

/// The audience of identities for this cluster itself.
pub(crate) const AUDIENCE: &str = "nomadproject.io";
/// The name of the default identity of tasks and of nodes.
pub(crate) const DEFAULT: &str = "default";

/// The prefix of the subjects of introduction tokens.
const INTRODUCTION: &str = "node-introduction";
/// The first and the last part of the subjects of the leader's tokens.
const LEADER: [&str; 2] = ["leader", "allocation-usage"];
/// The allowed clock skew between signers and verifiers, in seconds.
const LEEWAY: i64 = 60;

/// The claims of a token. Times are Unix seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claims {
    /// Workload: the namespace of the allocation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_namespace: String,
    /// Workload: the job ID; for a dispatched or periodic child, the ID of its parent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_job_id: String,
    /// Workload: the allocation ID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_allocation_id: String,
    /// Workload: the task name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_task: String,
    /// Workload, identities named `consul_…`: the Consul namespace of the task, else of its group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub consul_namespace: String,
    /// Workload, identities named `vault_…`: the Vault namespace of the task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vault_namespace: String,
    /// Workload, identities named `vault_…`: the Vault role of the task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vault_role: String,
    /// Workload: the extra claims that the namespace requires, or that it allows and the identity requests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_claims: BTreeMap<String, String>,
    /// Node: the node ID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_node_id: String,
    /// Node introduction: the name of the node that may register; empty means any node of the pool.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_node_name: String,
    /// Node and node introduction: the node pool.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_node_pool: String,
    /// Node: the node class.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_node_class: String,
    /// Node: the datacenter.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nomad_node_datacenter: String,
    /// The issuer: `server.oidc_issuer` of the configuration; empty if that is not set.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub iss: String,
    /// The subject: kind, region and names, joined by colons (`docs/spec/http-api.md §10`).
    pub sub: String,
    /// The audiences; a single one is written as a string.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "one_or_all", deserialize_with = "one_or_many")]
    pub aud: Vec<String>,
    /// When the token was issued.
    pub iat: i64,
    /// The start of validity, equal to the time of issue.
    pub nbf: i64,
    /// 0: the token does not expire.
    #[serde(skip_serializing_if = "is_zero")]
    pub exp: i64,
    /// The token ID, a UUID.
    pub jti: String,
}

fn is_zero(n: &i64) -> bool {
    *n == 0
}

/// A single audience is not written as a list.
fn one_or_all<S: Serializer>(list: &[String], s: S) -> Result<S::Ok, S::Error> {
    if let [one] = list { one.serialize(s) } else { list.serialize(s) }
}

fn one_or_many<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audience {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Audience::deserialize(d)? {
        Audience::One(one) => vec![one],
        Audience::Many(many) => many,
    })
}

/// The issuer of a token and the time of issue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Issue<'a> {
    /// The region.
    pub region: &'a str,
    /// `oidc_issuer`; empty if not set.
    pub issuer: &'a str,
    /// The time of issue in Unix nanoseconds.
    pub at: i64,
}

impl Issue<'_> {
    fn claims(&self, ttl: i64, jti: String) -> Claims {
        let at = self.at / SECOND;
        let exp = if ttl > 0 { at.saturating_add((ttl / SECOND).max(1)) } else { 0 };
        Claims { iss: self.issuer.into(), iat: at, nbf: at, exp, jti, ..Default::default() }
    }

    /// The claims of a task's identity; `None` if the allocation has no such task.
    pub(crate) fn task(
        &self,
        alloc: &Allocation,
        task: &str,
        identity: &WorkloadIdentity,
        namespace: Option<&Namespace>,
        jti: String,
    ) -> Option<Claims> {
        let (job, group) = (alloc.job.as_ref()?, alloc.group()?);
        let found = group.tasks.iter().find(|t| t.name == task)?;
        let id = if job.parent_id.is_empty() { &job.id } else { &job.parent_id };
        let mut claims = self.claims(identity.ttl, jti);
        claims.sub = [self.region, &alloc.namespace, id, &alloc.task_group, task, &identity.name].join(":");
        claims.aud = identity.audience.clone();
        claims.nomad_namespace = alloc.namespace.to_string();
        claims.nomad_job_id = id.clone();
        claims.nomad_allocation_id = alloc.id.to_string();
        claims.nomad_task = task.into();
        if let Some(vault) = found.vault.as_ref().filter(|_| identity.name.starts_with("vault_")) {
            (claims.vault_namespace, claims.vault_role) = (vault.namespace.clone(), vault.role.clone());
        }
        let consul = found.consul.as_ref().or(group.consul.as_ref());
        if let Some(consul) = consul.filter(|_| identity.name.starts_with("consul_")) {
            claims.consul_namespace = consul.namespace.clone();
        }
        if let Some(ns) = namespace {
            let asked = ns.optional_extra_claims.iter().filter(|(name, _)| identity.extra_claims.contains(name));
            claims.extra_claims = asked.chain(&ns.required_extra_claims).map(|(k, v)| (k.clone(), v.clone())).collect();
        }
        Some(claims)
    }

    /// The claims of a node's identity. `ttl` is in nanoseconds.
    pub(crate) fn node(&self, node: &Node, ttl: i64, jti: String) -> Claims {
        Claims {
            sub: node_subject(self.region, node),
            aud: vec![AUDIENCE.into()],
            nomad_node_id: node.id.clone(),
            nomad_node_pool: node.node_pool.clone(),
            nomad_node_class: node.node_class.clone(),
            nomad_node_datacenter: node.datacenter.clone(),
            ..self.claims(ttl, jti)
        }
    }

    /// The claims of the leader's token for reading the usage of the allocations of a namespace
    /// (`docs/spec/http-api.md §10.5`). `ttl` is in nanoseconds.
    pub(crate) fn leader(&self, namespace: &str, ttl: i64, jti: String) -> Claims {
        Claims {
            sub: [LEADER[0], self.region, namespace, LEADER[1]].join(":"),
            aud: vec![AUDIENCE.into()],
            nomad_namespace: namespace.into(),
            ..self.claims(ttl, jti)
        }
    }

    /// The claims of an introduction token for a node that is not registered yet. `name` may be empty: any node of the
    /// pool.
    pub(crate) fn introduction(&self, name: &str, pool: &str, ttl: i64, jti: String) -> Claims {
        Claims {
            sub: [INTRODUCTION, self.region, pool, name, DEFAULT].join(":"),
            aud: vec![AUDIENCE.into()],
            nomad_node_name: name.into(),
            nomad_node_pool: pool.into(),
            ..self.claims(ttl, jti)
        }
    }
}

/// The subject of a node's identity.
fn node_subject(region: &str, node: &Node) -> String {
    format!("node:{region}:{}:{}:{DEFAULT}", node.node_pool, node.id)
}

impl Claims {
    /// Whether these claims, from a verified token, allow a node to register.
    pub fn introduces(&self, node: &Node) -> bool {
        let of_node = self.sub.split(':').next() == Some(INTRODUCTION);
        let named = self.nomad_node_name.is_empty() || self.nomad_node_name == node.name;
        of_node && self.aud.iter().any(|a| a == AUDIENCE) && named && self.nomad_node_pool == node.node_pool
    }

    /// Whether this identity was issued before that of its node was revoked.
    pub(crate) fn is_revoked(&self, store: &StateStore) -> bool {
        store.node_revocation(&self.nomad_node_id).is_some_and(|r| !r.precedes(self.iat))
    }

    /// The namespace in which the leader may read the usage of allocations, if these claims, from a verified token, are
    /// those of its token. No other token has such a subject and no allocation or node.
    pub(crate) fn leader_namespace(&self) -> Option<&str> {
        let parts: Vec<&str> = self.sub.split(':').collect();
        let [first, _, namespace, last] = parts[..] else { return None };
        let of_leader = [first, last] == LEADER && namespace == self.nomad_namespace && !namespace.is_empty();
        let other = !self.nomad_allocation_id.is_empty() || !self.nomad_node_id.is_empty();
        (of_leader && !other && self.aud.iter().any(|a| a == AUDIENCE)).then_some(self.nomad_namespace.as_str())
    }

    /// Whether these claims, from a verified token, are those of the identity of a stored node
    /// (`docs/spec/http-api.md §10.1`).
    pub(crate) fn is_of_node(&self, node: &Node, region: &str) -> bool {
        self.nomad_node_id == node.id
            && self.nomad_node_pool == node.node_pool
            && self.sub == node_subject(region, node)
            && self.aud.iter().any(|a| a == AUDIENCE)
    }

    /// Whether the token is valid at a time in Unix nanoseconds, with some clock skew allowed
    /// (`docs/spec/http-api.md §10.3`).
    pub(crate) fn is_current(&self, now: i64) -> bool {
        let now = now / SECOND;
        self.nbf <= now.saturating_add(LEEWAY) && (self.exp == 0 || now <= self.exp.saturating_add(LEEWAY))
    }

    /// Whether a node with this identity needs a new one: less than a third of its TTL remains, or the node has
    /// changed.
    pub fn outdated(&self, node: &Node, now: i64) -> bool {
        let left = self.exp.saturating_sub(now / SECOND);
        left.saturating_mul(3) < self.exp.saturating_sub(self.iat)
            || self.nomad_node_id != node.id
            || self.nomad_node_pool != node.node_pool
            || self.nomad_node_class != node.node_class
            || self.nomad_node_datacenter != node.datacenter
    }
}

/// The `jti` of a default identity: always the same, so that repeated signing on demand yields one token.
pub(crate) fn fixed_id(alloc_id: &str, task: &str) -> String {
    let hash = Sha256::digest(format!("{alloc_id}/{task}/{DEFAULT}"));
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    encamp_host::ids::uuid_of(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    const AT: i64 = 1_795_243_431 * SECOND + 5;

    fn shown(claims: &Claims) -> serde_json::Value {
        serde_json::to_value(claims).unwrap()
    }

    #[test]
    fn nodes() {
        let node =
            Node { id: "n1".into(), node_pool: "default".into(), datacenter: "dc1".into(), ..Default::default() };
        let issue = Issue { region: "global", issuer: "", at: AT };
        let claims = issue.node(&node, 24 * HOUR, "j".into());
        let want = json!({
            "aud": "nomadproject.io", "exp": 1_795_329_831, "iat": 1_795_243_431, "jti": "j", "nbf": 1_795_243_431,
            "nomad_node_datacenter": "dc1", "nomad_node_id": "n1", "nomad_node_pool": "default",
            "sub": "node:global:default:n1:default",
        });
        assert_eq!(shown(&claims), want);
        assert_eq!(serde_json::from_value::<Claims>(want).unwrap(), claims);
        assert!(!claims.outdated(&node, AT + 16 * HOUR) && claims.outdated(&node, AT + 17 * HOUR));
        assert!(claims.outdated(&Node { node_class: "c".into(), ..node }, AT));
    }

    #[test]
    fn tokens_of_the_leader() {
        let issue = Issue { region: "global", issuer: "", at: AT };
        let claims = issue.leader("prod", 5 * MINUTE, "j".into());
        assert_eq!(
            shown(&claims),
            json!({
                "aud": "nomadproject.io", "exp": 1_795_243_731, "iat": 1_795_243_431, "jti": "j", "nbf": 1_795_243_431,
                "nomad_namespace": "prod", "sub": "leader:global:prod:allocation-usage",
            })
        );
        assert_eq!(claims.leader_namespace(), Some("prod"));
        let with = |change: fn(&mut Claims)| {
            let mut other = claims.clone();
            change(&mut other);
            other.leader_namespace().is_some()
        };
        assert!(!with(|c| c.nomad_namespace = "other".into()) && !with(|c| c.nomad_allocation_id = "a".into()));
        assert!(!with(|c| c.aud.clear()) && !with(|c| c.nomad_node_id = "n".into()));
        assert!(issue.introduction("", "default", 0, "j".into()).leader_namespace().is_none());
    }

    #[test]
    fn introductions() {
        let issue = Issue { region: "global", issuer: "", at: AT };
        let claims = issue.introduction("node-1", "gpu", 5 * MINUTE, "j".into());
        assert_eq!(
            shown(&claims),
            json!({
                "aud": "nomadproject.io", "exp": 1_795_243_731, "iat": 1_795_243_431, "jti": "j", "nbf": 1_795_243_431,
                "nomad_node_name": "node-1", "nomad_node_pool": "gpu",
                "sub": "node-introduction:global:gpu:node-1:default",
            })
        );
        let node = Node { name: "node-1".into(), node_pool: "gpu".into(), ..Default::default() };
        assert!(claims.introduces(&node) && issue.introduction("", "gpu", 0, "j".into()).introduces(&node));
        assert!(!claims.introduces(&Node { name: "node-2".into(), ..node.clone() }));
        assert!(!claims.introduces(&Node { node_pool: "default".into(), ..node.clone() }));
        assert!(!issue.node(&node, HOUR, "j".into()).introduces(&node), "an identity is no introduction");
        assert!(claims.is_current(AT) && claims.is_current(AT - MINUTE) && claims.is_current(AT + 6 * MINUTE - SECOND));
        assert!(!claims.is_current(AT - 2 * MINUTE) && !claims.is_current(AT + 7 * MINUTE));
    }

    #[test]
    fn tasks() {
        let vault = Vault { role: "r".into(), ..Default::default() };
        let task = Task { name: "t".into(), vault: Some(vault), ..Default::default() };
        let group = TaskGroup { name: "g".into(), tasks: vec![task], ..Default::default() };
        let job = Job {
            id: "cron/periodic-1".into(),
            parent_id: "cron".into(),
            task_groups: vec![group],
            ..Default::default()
        };
        let alloc = Allocation {
            id: "a1".into(),
            namespace: "ns".into(),
            job_id: Text::from(&job.id),
            task_group: "g".into(),
            job: Some(Arc::new(job)),
            ..Default::default()
        };
        let identity = |name: &str, audience: &[&str], ttl: i64| WorkloadIdentity {
            name: name.into(),
            audience: audience.iter().map(|a| a.to_string()).collect(),
            ttl,
            extra_claims: vec!["team".into()],
            ..Default::default()
        };
        let issue = Issue { region: "global", issuer: "https://i", at: AT };
        let claims = issue.task(&alloc, "t", &identity("default", &[AUDIENCE], 0), None, "j".into()).unwrap();
        assert_eq!(
            shown(&claims),
            json!({
                "nomad_namespace": "ns", "nomad_job_id": "cron", "nomad_allocation_id": "a1", "nomad_task": "t",
                "iss": "https://i", "sub": "global:ns:cron:g:t:default", "aud": "nomadproject.io",
                "iat": 1_795_243_431, "nbf": 1_795_243_431, "jti": "j",
            })
        );
        let map = |k: &str| BTreeMap::from([(k.to_string(), "x".to_string())]);
        let ns = Namespace {
            optional_extra_claims: BTreeMap::from([("team".into(), "x".into()), ("other".into(), "y".into())]),
            required_extra_claims: map("site"),
            ..Default::default()
        };
        let named = identity("vault_default", &["a", "b"], 5 * SECOND / 2);
        let claims = issue.task(&alloc, "t", &named, Some(&ns), "j".into()).unwrap();
        assert_eq!((claims.exp - claims.iat, claims.vault_role.as_str()), (2, "r"));
        assert_eq!(shown(&claims)["aud"], json!(["a", "b"]));
        assert_eq!(shown(&claims)["extra_claims"], json!({"team": "x", "site": "x"}));
        assert!(issue.task(&alloc, "u", &named, None, "j".into()).is_none());
        assert_eq!((fixed_id("a1", "t"), fixed_id("a1", "t").len()), (fixed_id("a1", "t"), 36));
        assert_ne!(fixed_id("a1", "t"), fixed_id("a1", "u"));
    }
}

//! The hash of the user-defined fields of a namespace, node pool or ACL object (BLAKE2b-256 over the concatenated
//! texts): equal objects have equal hashes in every cluster.

use std::collections::BTreeMap;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};

use super::acl::{
    AclAuthMethod, AclAuthMethodConfig, AclBindingRule, AclPolicy, AclRole, AclToken, OidcClientAssertion,
};
use super::bytes::Bytes;
use super::cluster::{Namespace, NodePool};
use super::time::format_duration;

fn hash_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Bytes {
    let mut hash = Blake2b::<U32>::new();
    texts.into_iter().for_each(|t| hash.update(t.as_bytes()));
    Bytes(hash.finalize().to_vec())
}

fn pairs(map: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    map.iter().flat_map(|(k, v)| [k.as_str(), v.as_str()])
}

/// A default, and what is allowed and denied beside it.
fn choice<'a>(default: &'a str, allowed: &'a [String], denied: &'a [String]) -> impl Iterator<Item = &'a str> {
    std::iter::once(default).chain(allowed.iter().chain(denied).map(String::as_str))
}

impl Namespace {
    /// The value of `Hash`.
    pub fn compute_hash(&self) -> Bytes {
        let mut texts = vec![self.name.as_str(), &self.description, &self.quota];
        if let Some(c) = &self.capabilities {
            let lists = [
                &c.enabled_task_drivers,
                &c.disabled_task_drivers,
                &c.enabled_network_modes,
                &c.disabled_network_modes,
            ];
            texts.extend(lists.into_iter().flatten().map(String::as_str));
        }
        if let Some(c) = &self.node_pool_configuration {
            texts.extend(choice(&c.default, &c.allowed, &c.denied));
        }
        if let Some(c) = &self.vault_configuration {
            texts.extend(choice(&c.default, &c.allowed, &c.denied));
        }
        if let Some(c) = &self.consul_configuration {
            texts.extend(choice(&c.default, &c.allowed, &c.denied));
        }
        texts
            .extend([&self.meta, &self.required_extra_claims, &self.optional_extra_claims].into_iter().flat_map(pairs));
        hash_of(texts)
    }
}

impl NodePool {
    /// The value of `Hash`; the built-in pools have none.
    pub fn compute_hash(&self) -> Bytes {
        let ttl = format_duration(self.node_identity_ttl);
        let (mut algorithm, mut memory) = ("", "");
        if let Some(c) = &self.scheduler_configuration {
            algorithm = c.scheduler_algorithm.as_str();
            memory = c.memory_oversubscription_enabled.map_or("", |on| if on { "true" } else { "false" });
        }
        hash_of([self.name.as_str(), &self.description, &ttl, algorithm, memory].into_iter().chain(pairs(&self.meta)))
    }
}

impl AclPolicy {
    /// The hash of the user-defined fields.
    pub fn compute_hash(&self) -> Bytes {
        let job = self.job_acl.iter().flat_map(|j| [j.namespace.as_str(), &j.job_id, &j.group, &j.task]);
        hash_of([self.name.as_str(), &self.description, &self.rules].into_iter().chain(job))
    }
}

impl AclToken {
    /// The hash of the user-defined fields.
    pub fn compute_hash(&self) -> Bytes {
        let global = if self.global { "global" } else { "local" };
        let policies = self.policies.iter().map(String::as_str);
        let roles = self.roles.iter().map(|r| r.id.as_str());
        hash_of([self.name.as_str(), self.r#type.as_str()].into_iter().chain(policies).chain([global]).chain(roles))
    }
}

impl AclRole {
    /// The hash of the user-defined fields.
    pub fn compute_hash(&self) -> Bytes {
        let policies = self.policies.iter().map(|p| p.name.as_str());
        hash_of([self.name.as_str(), &self.description].into_iter().chain(policies))
    }
}

impl AclAuthMethod {
    /// The hash of the user-defined fields, but for secrets.
    pub fn compute_hash(&self) -> Bytes {
        let word = |on: bool| if on { "true" } else { "false" };
        let no_config = AclAuthMethodConfig::default();
        let c = self.config.as_ref().unwrap_or(&no_config);
        let spans = [self.max_token_ttl, c.expiration_leeway, c.not_before_leeway, c.clock_skew_leeway];
        let spans = spans.map(format_duration);
        let mut texts = vec![self.name.as_str(), self.r#type.as_str(), self.token_locality.as_str()];
        texts.extend([self.token_name_format.as_str(), word(self.default)]);
        texts.extend(spans.iter().map(String::as_str));
        texts.extend([c.oidc_discovery_url.as_str(), &c.oidc_client_id, &c.jwks_url, &c.jwks_ca_cert]);
        let lists = [
            &c.jwt_validation_pub_keys,
            &c.oidc_scopes,
            &c.bound_audiences,
            &c.bound_issuer,
            &c.allowed_redirect_uris,
            &c.discovery_ca_pem,
            &c.signing_algs,
        ];
        texts.extend(lists.into_iter().flatten().map(String::as_str));
        texts.extend(pairs(&c.claim_mappings).chain(pairs(&c.list_claim_mappings)));
        texts.extend([c.oidc_enable_pkce, c.oidc_disable_user_info, c.verbose_logging].map(word));
        texts.extend(c.oidc_client_assertion.iter().flat_map(assertion_texts));
        hash_of(texts)
    }
}

/// What users set of an assertion, but for secrets.
fn assertion_texts(a: &OidcClientAssertion) -> impl Iterator<Item = &str> {
    let key = a
        .private_key
        .iter()
        .flat_map(|k| [k.pem_key_file.as_str(), &k.key_id_header, &k.pem_cert, &k.pem_cert_file, &k.key_id]);
    let texts = [a.key_source.as_str(), &a.key_algorithm].into_iter();
    texts.chain(a.audience.iter().map(String::as_str)).chain(pairs(&a.extra_headers)).chain(key)
}

impl AclBindingRule {
    /// The hash of the user-defined fields.
    pub fn compute_hash(&self) -> Bytes {
        let texts = [self.description.as_str(), &self.auth_method, &self.selector];
        hash_of(texts.into_iter().chain([self.bind_type.as_str(), &self.bind_name]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HOUR, NamespaceCapabilities};

    #[test]
    fn hashes_are_those_of_recorded_objects() {
        let is = |hash: Bytes, text: &str| assert_eq!(Some(hash), Bytes::from_base64(text));
        let map = |k: &str, v: &str| BTreeMap::from([(k.to_string(), v.to_string())]);
        let mut ns = Namespace {
            name: "default".into(),
            description: "Default shared namespace".into(),
            create_index: 1,
            ..Default::default()
        };
        is(ns.compute_hash(), "C7UbjDwBK0dK8wQq7Izg7SJIzaV+lIo2X7wRtzY3pSw=");
        (ns.name, ns.description, ns.meta) = ("apps".into(), "applications".into(), map("team", "x"));
        let docker = NamespaceCapabilities { disabled_task_drivers: vec!["docker".into()], ..Default::default() };
        ns.capabilities = Some(docker);
        is(ns.compute_hash(), "P1Q7niesTYwXdrDyxXY/0y8tSgLbcNp5xh0eIVhJ7FA=");
        let mut pool = NodePool { name: "gpu".into(), description: "gpu nodes".into(), ..Default::default() };
        (pool.meta, pool.node_identity_ttl) = (map("a", "b"), 24 * HOUR);
        is(pool.compute_hash(), "dkW5AL3ZddtF45iBo3iVswvQ/sOPk4Qprf4rgo9wN50=");
        let pool = NodePool { name: "short".into(), node_identity_ttl: 2 * HOUR, ..Default::default() };
        is(pool.compute_hash(), "e1eLl1xN2AKxTc3hvBGmgqb929yQSVL/ukFLHElZzGc=");
    }

    #[test]
    fn hashes_of_auth_methods_follow_every_setting_but_secrets() {
        let with = |set: fn(&mut AclAuthMethodConfig)| {
            let oidc_client_assertion = Some(OidcClientAssertion::default());
            let mut config = AclAuthMethodConfig { oidc_client_assertion, ..Default::default() };
            set(&mut config);
            AclAuthMethod { config: Some(config), ..Default::default() }.compute_hash()
        };
        let plain = with(|_| ());
        for set in [
            (|c| c.clock_skew_leeway = HOUR) as fn(&mut AclAuthMethodConfig),
            |c| c.oidc_enable_pkce = true,
            |c| c.bound_audiences = vec!["nomad".into()],
            |c| {
                c.oidc_client_assertion = Some(OidcClientAssertion { key_source: "nomad".into(), ..Default::default() })
            },
        ] {
            assert_ne!(with(set), plain);
        }
        assert_eq!(with(|c| c.oidc_client_secret = "s3cret".into()), plain);
    }
}

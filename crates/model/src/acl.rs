//! ACL policies, tokens, roles, and how to log in (`docs/spec/http-api.md §7`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::json::{duration_text, nil, or_default, time_text};
use super::time::Time;

/// A named set of rules that tokens and roles refer to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclPolicy {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    /// The rules as they were written, HCL or JSON.
    #[serde(deserialize_with = "or_default")]
    pub rules: String,
    /// The workloads that have this policy, for a policy of workloads.
    #[serde(rename = "JobACL")]
    pub job_acl: Option<JobAcl>,
    pub hash: Option<Bytes>,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// The workloads a policy belongs to. Each member narrows the ones before it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobAcl {
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub group: String,
    #[serde(deserialize_with = "or_default")]
    pub task: String,
}

/// What authorises a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclToken {
    /// Public name of the token.
    #[serde(rename = "AccessorID", deserialize_with = "or_default")]
    pub accessor_id: String,
    /// The secret itself.
    #[serde(rename = "SecretID", deserialize_with = "or_default")]
    pub secret_id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// `client` or `management`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(with = "nil")]
    pub policies: Vec<String>,
    #[serde(with = "nil")]
    pub roles: Vec<AclTokenRoleLink>,
    /// Valid in all regions.
    #[serde(deserialize_with = "or_default")]
    pub global: bool,
    pub hash: Option<Bytes>,
    #[serde(with = "time_text")]
    pub create_time: Time,
    pub expiration_time: Option<Time>,
    /// Nanoseconds the token lives, 0 for ever.
    #[serde(rename = "ExpirationTTL", with = "duration_text")]
    pub expiration_ttl: i64,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// A role of a token. The name is filled in when the token is shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclTokenRoleLink {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// A named set of policies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclRole {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    #[serde(with = "nil")]
    pub policies: Vec<AclRolePolicyLink>,
    pub hash: Option<Bytes>,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// A policy of a role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclRolePolicyLink {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// A way to get a token for the identity of another system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclAuthMethod {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// `JWT` or `OIDC`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// `local` or `global`.
    #[serde(deserialize_with = "or_default")]
    pub token_locality: String,
    #[serde(deserialize_with = "or_default")]
    pub token_name_format: String,
    /// Nanoseconds tokens live.
    #[serde(rename = "MaxTokenTTL", with = "duration_text")]
    pub max_token_ttl: i64,
    #[serde(deserialize_with = "or_default")]
    pub default: bool,
    pub config: Option<AclAuthMethodConfig>,
    pub hash: Option<Bytes>,
    #[serde(with = "time_text")]
    pub create_time: Time,
    #[serde(with = "time_text")]
    pub modify_time: Time,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// How an authentication method checks who somebody is. Leeways in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclAuthMethodConfig {
    #[serde(rename = "JWTValidationPubKeys", with = "nil")]
    pub jwt_validation_pub_keys: Vec<String>,
    #[serde(rename = "JWKSURL", deserialize_with = "or_default")]
    pub jwks_url: String,
    #[serde(rename = "JWKSCACert", deserialize_with = "or_default")]
    pub jwks_ca_cert: String,
    #[serde(rename = "OIDCDiscoveryURL", deserialize_with = "or_default")]
    pub oidc_discovery_url: String,
    #[serde(rename = "OIDCClientID", deserialize_with = "or_default")]
    pub oidc_client_id: String,
    #[serde(rename = "OIDCClientSecret", deserialize_with = "or_default")]
    pub oidc_client_secret: String,
    #[serde(rename = "OIDCClientAssertion")]
    pub oidc_client_assertion: Option<OidcClientAssertion>,
    #[serde(rename = "OIDCEnablePKCE", deserialize_with = "or_default")]
    pub oidc_enable_pkce: bool,
    #[serde(rename = "OIDCDisableUserInfo", deserialize_with = "or_default")]
    pub oidc_disable_user_info: bool,
    #[serde(rename = "OIDCScopes", with = "nil")]
    pub oidc_scopes: Vec<String>,
    #[serde(with = "nil")]
    pub bound_audiences: Vec<String>,
    #[serde(with = "nil")]
    pub bound_issuer: Vec<String>,
    #[serde(rename = "AllowedRedirectURIs", with = "nil")]
    pub allowed_redirect_uris: Vec<String>,
    #[serde(with = "nil")]
    pub discovery_ca_pem: Vec<String>,
    #[serde(with = "nil")]
    pub signing_algs: Vec<String>,
    #[serde(with = "duration_text")]
    pub expiration_leeway: i64,
    #[serde(with = "duration_text")]
    pub not_before_leeway: i64,
    #[serde(with = "duration_text")]
    pub clock_skew_leeway: i64,
    #[serde(with = "nil")]
    pub claim_mappings: BTreeMap<String, String>,
    #[serde(with = "nil")]
    pub list_claim_mappings: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub verbose_logging: bool,
}

/// How a server proves to an identity provider who it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OidcClientAssertion {
    #[serde(with = "nil")]
    pub audience: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub key_source: String,
    #[serde(deserialize_with = "or_default")]
    pub key_algorithm: String,
    pub private_key: Option<OidcClientAssertionKey>,
    #[serde(with = "nil")]
    pub extra_headers: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub client_secret: String,
}

/// The `OIDCClientAssertionKey` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OidcClientAssertionKey {
    #[serde(deserialize_with = "or_default")]
    pub pem_key: String,
    #[serde(deserialize_with = "or_default")]
    pub pem_key_file: String,
    #[serde(rename = "KeyIDHeader", deserialize_with = "or_default")]
    pub key_id_header: String,
    #[serde(deserialize_with = "or_default")]
    pub pem_cert: String,
    #[serde(deserialize_with = "or_default")]
    pub pem_cert_file: String,
    #[serde(rename = "KeyID", deserialize_with = "or_default")]
    pub key_id: String,
}

/// What a token gets that an authentication method made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclBindingRule {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    #[serde(deserialize_with = "or_default")]
    pub auth_method: String,
    /// Condition on the claims; empty always holds.
    #[serde(deserialize_with = "or_default")]
    pub selector: String,
    /// `role`, `policy` or `management`.
    #[serde(deserialize_with = "or_default")]
    pub bind_type: String,
    #[serde(deserialize_with = "or_default")]
    pub bind_name: String,
    pub hash: Option<Bytes>,
    #[serde(deserialize_with = "or_default")]
    pub create_time: Time,
    #[serde(deserialize_with = "or_default")]
    pub modify_time: Time,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

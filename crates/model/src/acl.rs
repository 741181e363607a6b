//! ACL policies, tokens, roles, and auth methods (`docs/spec/http-api.md §7`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::json::{duration_text, nil, null_is_default, time_text};
use super::secret::{SecretString, blank};
use super::status::{AclTokenType, AuthMethodType, BindType, TokenLocality};
use super::time::Time;

/// A named set of rules that tokens and roles refer to.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclPolicy {
    /// 1 to 128 letters, digits and hyphens; the key of the policy.
    pub name: String,
    /// Free text of at most 256 characters.
    pub description: String,
    /// The rules as they were written, HCL or JSON.
    pub rules: String,
    /// The workloads that have this policy, for a policy of workloads.
    #[serde(rename = "JobACL")]
    pub job_acl: Option<JobAcl>,
    /// A hash over the fields that users set; only equality matters.
    pub hash: Option<Bytes>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// The workloads a policy belongs to. Each member narrows the ones before it.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobAcl {
    /// The namespace; empty: the policy is no policy of workloads.
    pub namespace: String,
    /// The job, of dispatched and periodic jobs the parent; empty: all jobs of the namespace.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The task group; empty: all groups of the job.
    pub group: String,
    /// The task; empty: all tasks of the group.
    pub task: String,
}

/// The authorisation method of a request.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclToken {
    /// Public name of the token.
    #[serde(rename = "AccessorID")]
    pub accessor_id: String,
    /// The secret itself.
    #[serde(rename = "SecretID", serialize_with = "blank")]
    pub secret_id: SecretString,
    /// Free text of at most 256 characters.
    pub name: String,
    /// `client` or `management`.
    pub r#type: AclTokenType,
    /// Names of policies; those that do not exist are ignored. Empty for management tokens.
    #[serde(with = "nil")]
    pub policies: Vec<String>,
    /// Roles whose policies the token has as well. Empty for management tokens.
    #[serde(with = "nil")]
    pub roles: Vec<AclTokenRoleLink>,
    /// Valid in all regions.
    pub global: bool,
    /// A hash over the fields that users set; only equality matters.
    pub hash: Option<Bytes>,
    /// When the token was created.
    #[serde(with = "time_text")]
    pub create_time: Time,
    /// When the token expires; null: never.
    pub expiration_time: Option<Time>,
    /// Nanoseconds the token lives, 0 for ever.
    #[serde(rename = "ExpirationTTL", with = "duration_text")]
    pub expiration_ttl: i64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// A role of a token. The name is filled in when the token is shown.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclTokenRoleLink {
    /// The role's ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The role's name.
    pub name: String,
}

/// A named set of policies.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclRole {
    /// A UUID that the server chooses.
    #[serde(rename = "ID")]
    pub id: String,
    /// 1 to 128 letters, digits and hyphens; unique.
    pub name: String,
    /// Free text of at most 256 characters.
    pub description: String,
    /// The policies of the role, at least one.
    #[serde(with = "nil")]
    pub policies: Vec<AclRolePolicyLink>,
    /// A hash over the fields that users set; only equality matters.
    pub hash: Option<Bytes>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// A policy of a role.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclRolePolicyLink {
    /// The policy's name.
    pub name: String,
}

/// A way to get a token for the identity of another system.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclAuthMethod {
    /// The key of the method.
    pub name: String,
    /// `JWT` or `OIDC`.
    pub r#type: AuthMethodType,
    /// `local` or `global`.
    pub token_locality: TokenLocality,
    /// How tokens of the method are named: a template over `${auth_method_type}`, `${auth_method_name}` and
    /// `${value.…}`.
    pub token_name_format: String,
    /// Nanoseconds tokens live.
    #[serde(rename = "MaxTokenTTL", with = "duration_text")]
    pub max_token_ttl: i64,
    /// Whether logins without the name of a method use this one; at most one method is the default.
    pub default: bool,
    /// How identities are checked; depends on the type.
    pub config: Option<AclAuthMethodConfig>,
    /// A hash over the fields that users set; only equality matters.
    pub hash: Option<Bytes>,
    /// When the method was created.
    #[serde(with = "time_text")]
    pub create_time: Time,
    /// When the method was last written.
    #[serde(with = "time_text")]
    pub modify_time: Time,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// How an authentication method checks who somebody is. Leeways in nanoseconds.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclAuthMethodConfig {
    /// PEM public keys that verify JWTs. Of these, `jwks_url` and `oidc_discovery_url`, JWT methods have exactly one.
    #[serde(rename = "JWTValidationPubKeys", with = "nil")]
    pub jwt_validation_pub_keys: Vec<String>,
    /// Where the JSON Web Key Set is that verifies JWTs.
    #[serde(rename = "JWKSURL")]
    pub jwks_url: String,
    /// PEM certificates to trust for `jwks_url`; empty: those of the system.
    #[serde(rename = "JWKSCACert")]
    pub jwks_ca_cert: String,
    /// The issuer's URL, without `.well-known`.
    #[serde(rename = "OIDCDiscoveryURL")]
    pub oidc_discovery_url: String,
    /// The OAuth client ID registered with the provider.
    #[serde(rename = "OIDCClientID")]
    pub oidc_client_id: String,
    /// The OAuth client secret. A secret.
    #[serde(rename = "OIDCClientSecret", serialize_with = "blank")]
    pub oidc_client_secret: SecretString,
    /// A signed JWT instead of the client secret.
    #[serde(rename = "OIDCClientAssertion")]
    pub oidc_client_assertion: Option<OidcClientAssertion>,
    /// Whether logins use PKCE.
    #[serde(rename = "OIDCEnablePKCE")]
    pub oidc_enable_pkce: bool,
    /// Whether the provider's UserInfo endpoint is left alone.
    #[serde(rename = "OIDCDisableUserInfo")]
    pub oidc_disable_user_info: bool,
    /// Scopes to ask for, beside `openid`.
    #[serde(rename = "OIDCScopes", with = "nil")]
    pub oidc_scopes: Vec<String>,
    /// Accepted `aud` claims; one must match.
    #[serde(with = "nil")]
    pub bound_audiences: Vec<String>,
    /// Accepted `iss` claims.
    #[serde(with = "nil")]
    pub bound_issuer: Vec<String>,
    /// Where the provider may redirect to after a login.
    #[serde(rename = "AllowedRedirectURIs", with = "nil")]
    pub allowed_redirect_uris: Vec<String>,
    /// PEM certificates to trust for `oidc_discovery_url`; empty: those of the system.
    #[serde(with = "nil")]
    pub discovery_ca_pem: Vec<String>,
    /// Accepted algorithms: `RS256`, `EdDSA`, …
    #[serde(with = "nil")]
    pub signing_algs: Vec<String>,
    /// How long after `exp` a JWT is still accepted.
    #[serde(with = "duration_text")]
    pub expiration_leeway: i64,
    /// How long before `nbf` a JWT is already accepted.
    #[serde(with = "duration_text")]
    pub not_before_leeway: i64,
    /// How much clocks may differ.
    #[serde(with = "duration_text")]
    pub clock_skew_leeway: i64,
    /// Claims with one value: the claim's name to the name in `value.…` of selectors and bind names.
    #[serde(with = "nil")]
    pub claim_mappings: BTreeMap<String, String>,
    /// Claims that are lists: the claim's name to the name in `list.…` of selectors.
    #[serde(with = "nil")]
    pub list_claim_mappings: BTreeMap<String, String>,
    /// Whether the claims of logins are logged at debug level.
    pub verbose_logging: bool,
}

/// How a server proves to an identity provider who it is.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OidcClientAssertion {
    /// The audience of the assertion: its `aud` claims.
    #[serde(with = "nil")]
    pub audience: Vec<String>,
    /// The signer of the assertion: `nomad` (the keyring), `private_key` or `client_secret`.
    pub key_source: String,
    /// The algorithm of the signature: `RS256`, `HS256`, …
    pub key_algorithm: String,
    /// The key, if `key_source` is `private_key`.
    pub private_key: Option<OidcClientAssertionKey>,
    /// Headers of the JWT beside the standard ones.
    #[serde(with = "nil")]
    pub extra_headers: BTreeMap<String, String>,
    /// The OAuth client secret that signs, if `key_source` is `client_secret`. A secret.
    #[serde(serialize_with = "blank")]
    pub client_secret: SecretString,
}

/// The `OIDCClientAssertionKey` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OidcClientAssertionKey {
    /// The RSA private key, PEM. A secret.
    #[serde(serialize_with = "blank")]
    pub pem_key: SecretString,
    /// A file of the servers with the private key.
    pub pem_key_file: String,
    /// The header that names the key: `kid`, `x5t` or `x5t#S256`.
    #[serde(rename = "KeyIDHeader")]
    pub key_id_header: String,
    /// The certificate that `x5t` headers are computed from, PEM.
    pub pem_cert: String,
    /// A file of the servers with the certificate.
    pub pem_cert_file: String,
    /// The key's ID, for the header `kid`.
    #[serde(rename = "KeyID")]
    pub key_id: String,
}

/// The rights of a token that was made by an authentication method.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclBindingRule {
    /// A UUID that the server chooses.
    #[serde(rename = "ID")]
    pub id: String,
    /// Free text.
    pub description: String,
    /// The authentication method the rule belongs to.
    pub auth_method: String,
    /// Condition on the claims; empty always holds.
    pub selector: String,
    /// `role`, `policy` or `management`.
    pub bind_type: BindType,
    /// The role or policy; may contain `${value.…}`. Empty for `management`.
    pub bind_name: String,
    /// A hash over the fields that users set; only equality matters.
    pub hash: Option<Bytes>,
    /// When the rule was created.
    pub create_time: Time,
    /// When the rule was last written.
    pub modify_time: Time,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// A token that can be exchanged for the token of its owner, once and soon.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OneTimeToken {
    /// The secret itself.
    #[serde(rename = "OneTimeSecretID", serialize_with = "blank")]
    pub one_time_secret_id: SecretString,
    /// The token that it stands for.
    #[serde(rename = "AccessorID")]
    pub accessor_id: String,
    /// When it becomes worthless.
    #[serde(with = "time_text")]
    pub expires_at: Time,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

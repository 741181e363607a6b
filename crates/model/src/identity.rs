//! Workload identities of tasks, which nodes request (`docs/spec/http-api.md §10.2`).

use serde::{Deserialize, Serialize};

use super::json::or_default;
use super::secret::SecretString;

/// The identity a node wants a token for.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct IdentityRequest {
    /// The allocation.
    #[serde(rename = "AllocID", deserialize_with = "or_default")]
    pub alloc_id: String,
    /// The task of the allocation.
    #[serde(deserialize_with = "or_default")]
    pub task: String,
    /// The name of the identity: `default`, or as in the job.
    #[serde(deserialize_with = "or_default")]
    pub identity: String,
}

/// A token, and for which identity it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SignedIdentity {
    /// The identity that was asked for.
    #[serde(flatten)]
    pub request: IdentityRequest,
    /// The token. A secret.
    #[serde(rename = "JWT", deserialize_with = "or_default")]
    pub jwt: SecretString,
    /// When it expires, in Unix nanoseconds; 0: it does not.
    #[serde(deserialize_with = "or_default")]
    pub expires: i64,
}

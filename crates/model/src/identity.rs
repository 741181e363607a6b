//! Workload identities of tasks, which nodes request (`docs/spec/http-api.md §10.2`).

use serde::{Deserialize, Serialize};

use super::json::null_is_default;
use super::secret::SecretString;

/// The identity a node wants a token for.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct IdentityRequest {
    /// The allocation.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// The task of the allocation.
    pub task: String,
    /// The name of the identity: `default`, or as in the job.
    pub identity: String,
}

/// A token, and for which identity it is.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SignedIdentity {
    /// The identity that was asked for.
    #[serde(flatten)]
    pub request: IdentityRequest,
    /// The token. A secret.
    #[serde(rename = "JWT")]
    pub jwt: SecretString,
    /// When it expires, in Unix nanoseconds; 0: it does not.
    pub expires: i64,
}

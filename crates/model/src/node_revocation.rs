//! Revoked identities of nodes (`docs/spec/server.md §9.8`).

use serde::{Deserialize, Serialize};

/// The record of the latest revocation of a node's identity, and of its refused secrets. It stays when the node is
/// removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeRevocation {
    /// ID of the node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// When the identity was revoked, in Unix nanoseconds. Identities and introduction tokens issued in this second or
    /// before it are refused.
    pub revoked_at: i64,
    /// Hashes of the node's refused secrets, the oldest first: SHA-256, hexadecimal.
    pub secret_hashes: Vec<String>,
    /// Raft index of the first revocation.
    pub create_index: u64,
    /// Raft index of the latest revocation.
    pub modify_index: u64,
}

impl NodeRevocation {
    /// Whether a token was issued after the revocation. `iat` is in Unix seconds. The second of the revocation itself
    /// counts as before it: the times of tokens have no fractions.
    pub fn precedes(&self, iat: i64) -> bool {
        iat > self.revoked_at.div_euclid(1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_the_second_of_the_revocation_are_refused() {
        let revocation = NodeRevocation { revoked_at: 10_500_000_000, ..Default::default() };
        assert!(!revocation.precedes(9) && !revocation.precedes(10) && revocation.precedes(11));
    }
}

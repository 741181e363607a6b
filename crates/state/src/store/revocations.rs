//! Revoked identities of nodes, by node ID and by the hashes of refused secrets (`docs/spec/server.md §9.8`).

use std::fmt::Write;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::StateStore;
use encamp_model::{NodeRevocation, SecretString};

/// The hash by which the secret of a node is refused: SHA-256, hexadecimal.
pub fn secret_hash(secret: &SecretString) -> String {
    Sha256::digest(secret.expose().as_bytes()).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl StateStore {
    /// The revocation of a node's identity, if it was ever revoked.
    pub fn node_revocation(&self, node_id: &str) -> Option<&Arc<NodeRevocation>> {
        self.node_revocations.get(node_id)
    }

    /// All revocations by node ID.
    pub fn node_revocations(&self) -> impl ExactSizeIterator<Item = &Arc<NodeRevocation>> {
        self.node_revocations.values()
    }

    /// Whether a secret was refused for good, whichever node presents it.
    pub fn is_revoked_secret(&self, secret: &SecretString) -> bool {
        // Registrations are frequent, and most clusters revoke nothing.
        !self.revoked_secrets.is_empty() && self.revoked_secrets.contains_key(&secret_hash(secret))
    }

    /// Adds or replaces the revocation of a node.
    pub fn put_node_revocation(&mut self, revocation: Arc<NodeRevocation>) {
        self.remove_node_revocation(&revocation.node_id);
        for hash in &revocation.secret_hashes {
            self.revoked_secrets.insert(hash.clone(), revocation.node_id.clone());
        }
        self.node_revocations.insert(revocation.node_id.clone(), revocation);
    }

    /// Removes the revocation of a node.
    pub fn remove_node_revocation(&mut self, node_id: &str) -> Option<Arc<NodeRevocation>> {
        let old = self.node_revocations.remove(node_id)?;
        for hash in &old.secret_hashes {
            // Two nodes may have had the same secret.
            if self.revoked_secrets.get(hash).is_some_and(|owner| owner == node_id) {
                self.revoked_secrets.remove(hash);
            }
        }
        Some(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_refused_as_long_as_the_revocation_stands() {
        let mut store = StateStore::new();
        let secret = |text: &str| SecretString::new(text);
        assert_eq!(secret_hash(&secret("abc"))[..8], *"ba7816bf");
        let revocation = |hashes: &[&str]| {
            let secret_hashes = hashes.iter().map(|h| secret_hash(&secret(h))).collect();
            Arc::new(NodeRevocation { node_id: "n".into(), secret_hashes, ..Default::default() })
        };
        store.put_node_revocation(revocation(&["a"]));
        store.put_node_revocation(revocation(&["a", "b"]));
        assert!(store.is_revoked_secret(&secret("a")) && store.is_revoked_secret(&secret("b")));
        assert!(!store.is_revoked_secret(&secret("c")));
        assert!(store.remove_node_revocation("n").is_some() && store.node_revocations().len() == 0);
        assert!(!store.is_revoked_secret(&secret("a")) && !store.is_revoked_secret(&secret("b")));
    }
}

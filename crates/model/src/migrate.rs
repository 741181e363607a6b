//! The move of an ephemeral disk to another node (`docs/spec/client.md §9.3`): where the disk is, and the token that the
//! agent there asks for.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use blake2::{Blake2b512, Digest};
use serde::{Deserialize, Serialize};

use super::secret::SecretString;

/// The agent of the node that has the disk of a previous allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PreviousDisk {
    /// ID of the previous allocation.
    pub alloc_id: String,
    /// The address of the agent's HTTP interface, `host:port`.
    pub http_addr: String,
    /// Whether that interface speaks TLS.
    pub tls_enabled: bool,
    /// The migrate token ([`migrate_token`]).
    pub token: SecretString,
}

/// The token with which the disk of an allocation can be read from the agent of its node: BLAKE2b-512 of the ID of the
/// allocation and the secret of the node, in base64 of the URL alphabet. `None` if one of them is empty.
pub fn migrate_token(alloc_id: &str, node_secret: &SecretString) -> Option<SecretString> {
    if alloc_id.is_empty() || node_secret.expose().is_empty() {
        return None;
    }
    let mut hash = Blake2b512::new();
    hash.update(alloc_id);
    hash.update(node_secret.expose());
    Some(URL_SAFE.encode(hash.finalize()).into())
}

/// Whether a text is the migrate token of an allocation; the comparison takes the same time for all wrong ones.
pub fn is_migrate_token(text: &str, alloc_id: &str, node_secret: &SecretString) -> bool {
    migrate_token(alloc_id, node_secret).is_some_and(|token| token == *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOC: &str = "9fd1b1a4-6c0f-4d2e-a9a8-0c1cbd43c55b";
    const SECRET: &str = "3b0d4a55-93f5-4ef1-ae0d-5b1f3b5e9f0a";

    #[test]
    fn a_token_is_of_one_allocation_and_one_node() {
        let secret = SECRET.into();
        let token = migrate_token(ALLOC, &secret).unwrap();
        assert_eq!(token.expose().len(), 88, "64 bytes in base64");
        assert!(token.expose().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=".contains(&b)));
        assert!(is_migrate_token(token.expose(), ALLOC, &secret));
        let other = "9fd1b1a4-6c0f-4d2e-a9a8-0c1cbd43c55c";
        assert!(!is_migrate_token(token.expose(), other, &secret));
        assert!(!is_migrate_token(token.expose(), ALLOC, &other.into()));
        for wrong in ["", "x", SECRET, &token.expose()[1..], &format!("{}=", token.expose())] {
            assert!(!is_migrate_token(wrong, ALLOC, &secret), "{wrong}");
        }
    }

    #[test]
    fn the_token_is_the_documented_hash() {
        // b2sum of the two texts, one behind the other.
        let token = migrate_token("a", &"b".into()).unwrap();
        let hash = "sywFc9JCs6mH2PZr1DJmt5Jc76s6hUlQZBqB72o_S5eShEOFBUV3D2SrrCp18YR1ZT-j2aUsZqhA2juGF66WBw==";
        assert_eq!(token.expose(), hash);
    }

    #[test]
    fn without_a_secret_there_is_no_token() {
        assert!(migrate_token(ALLOC, &"".into()).is_none() && migrate_token("", &SECRET.into()).is_none());
        assert!(!is_migrate_token("", ALLOC, &"".into()) && !is_migrate_token("", "", &"".into()));
    }

    #[test]
    fn the_token_is_not_shown() {
        let disk = PreviousDisk { token: "hush".into(), ..PreviousDisk::default() };
        assert!(!format!("{disk:?}").contains("hush"));
    }
}

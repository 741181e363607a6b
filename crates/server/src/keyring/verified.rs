//! Identities of nodes whose signatures were verified: a node presents the same one with every call.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::claims::Claims;

/// The number of identities that are kept; beyond it, all are verified again.
const KEPT: usize = 16_384;

/// The key that signed a token, and its claims.
type Signed = (String, Arc<Claims>);

/// Claims by the hash of their token.
#[derive(Default)]
pub(super) struct Verified(Mutex<HashMap<[u8; 32], Signed>>);

impl Verified {
    /// The claims of a token, which `verify` reads if they are not known: the ID of the key, and the claims. Only valid
    /// signatures are kept, so that callers without one cannot fill the memory.
    pub(super) fn of(&self, token: &str, verify: impl FnOnce() -> Option<Signed>) -> Option<Signed> {
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.0.lock().get(&hash) {
            return Some(known.clone());
        }
        let signed = verify()?;
        let mut all = self.0.lock();
        if all.len() >= KEPT {
            all.clear();
        }
        all.insert(hash, signed.clone());
        Some(signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_signature_is_verified_once_and_others_are_not_kept() {
        let (verified, claims) = (Verified::default(), Arc::new(Claims::default()));
        assert!(verified.of("a", || None).is_none());
        assert!(verified.of("a", || Some(("key".into(), claims.clone()))).is_some());
        assert_eq!(verified.of("a", || panic!("it is known")).expect("known").0, "key");
        assert_eq!(verified.0.lock().len(), 1);
    }
}

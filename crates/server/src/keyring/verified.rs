//! Identities of nodes whose signatures were verified: a node presents the same one with every call.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::claims::Claims;

/// The number of identities in a generation. Two are kept: an identity that nobody presented since the last but one
/// began is verified again.
const GENERATION: usize = 32_768;

/// The key that signed a token, and its claims.
type Signed = (String, Arc<Claims>);

/// Claims by the hash of their token.
#[derive(Default)]
struct Generations {
    newest: HashMap<[u8; 32], Signed>,
    before: HashMap<[u8; 32], Signed>,
}

impl Generations {
    fn get(&mut self, hash: &[u8; 32]) -> Option<Signed> {
        if let Some(known) = self.newest.get(hash) {
            return Some(known.clone());
        }
        let known = self.before.remove(hash)?;
        self.put(*hash, known.clone());
        Some(known)
    }

    fn put(&mut self, hash: [u8; 32], signed: Signed) {
        if self.newest.len() >= GENERATION {
            self.before = std::mem::take(&mut self.newest);
        }
        self.newest.insert(hash, signed);
    }
}

/// The identities that were verified.
#[derive(Default)]
pub(super) struct Verified(Mutex<Generations>);

impl Verified {
    /// The claims of a token, which `verify` reads if they are not known: the ID of the key, and the claims. Only valid
    /// signatures are kept, so that callers without one cannot fill the memory.
    pub(super) fn of(&self, token: &str, verify: impl FnOnce() -> Option<Signed>) -> Option<Signed> {
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.0.lock().get(&hash) {
            return Some(known);
        }
        let signed = verify()?;
        self.0.lock().put(hash, signed.clone());
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
        assert_eq!(verified.0.lock().newest.len(), 1);
    }

    #[test]
    fn identities_that_are_presented_stay_and_others_leave() {
        let (verified, claims) = (Verified::default(), Arc::new(Claims::default()));
        let sign = || Some(("key".into(), claims.clone()));
        assert!(verified.of("often", sign).is_some());
        for n in 0..3 * GENERATION {
            verified.of(&n.to_string(), sign);
            if n % 1000 == 0 {
                assert!(verified.of("often", || panic!("it is known")).is_some());
            }
        }
        let all = verified.0.lock();
        assert!(all.newest.len() + all.before.len() <= 2 * GENERATION);
        drop(all);
        assert!(verified.of("0", || None).is_none());
    }
}

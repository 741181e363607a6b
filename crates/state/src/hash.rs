//! The hash of IDs.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use rustc_hash::FxHasher;

/// Builds hashers for IDs, which are long and looked up for every allocation: fast rather than strong. The seed, new
/// for every map, keeps peers that choose IDs from knowing which ones collide. Nothing may depend on the order of such
/// maps.
#[derive(Debug, Clone)]
pub struct IdHash {
    seed: usize,
}

impl Default for IdHash {
    fn default() -> Self {
        let seed = RandomState::new().hash_one(0u8);
        IdHash { seed: seed as usize }
    }
}

impl BuildHasher for IdHash {
    type Hasher = FxHasher;

    fn build_hasher(&self) -> FxHasher {
        FxHasher::with_seed(self.seed)
    }
}

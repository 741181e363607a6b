//! Capacity that jobs which wait for it take while a plan is carried out, as refused attempts have shown: the moves of
//! the next attempt can't count on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::board::Board;
use encamp_state::AllocEntry;

/// What waiting allocations took, by spot, namespace and name: the same allocation may be placed on other spots in
/// other orders of candidates.
pub(super) type Claims = BTreeMap<(usize, String, String), [i64; 3]>;

impl Board {
    /// Notes that allocations were placed which had waited for capacity. Returns whether that was not known yet.
    pub(super) fn claim(&mut self, placed: &[Arc<AllocEntry>]) -> bool {
        let places: BTreeMap<&str, usize> =
            self.spots.iter().enumerate().map(|(n, s)| (s.node.node.id.as_str(), n)).collect();
        let claim = |e: &Arc<AllocEntry>| {
            let spot = *places.get(e.alloc.node_id.as_str())?;
            let key = (spot, e.alloc.namespace.to_string(), e.alloc.name.to_string());
            Some((key, [e.usage.cpu, e.usage.memory, e.usage.disk]))
        };
        let claims: Vec<_> = placed.iter().filter_map(claim).collect();
        let mut new = false;
        for (key, usage) in claims {
            if !self.claims.contains_key(&key) {
                self.take(key.0, usage);
                self.claims.insert(key, usage);
                new = true;
            }
        }
        // What the numbers say from now on is no bound: another plan may leave these allocations where they were.
        self.exact &= !new;
        new
    }

    /// Looks at the board as it is without the claims.
    pub(super) fn without_claims<T>(&mut self, look: impl FnOnce(&Board) -> T) -> T {
        let claims = std::mem::take(&mut self.claims);
        claims.iter().for_each(|((spot, _, _), usage)| self.leaves(*spot, *usage));
        let seen = look(self);
        claims.iter().for_each(|((spot, _, _), usage)| self.take(*spot, *usage));
        self.claims = claims;
        seen
    }

    fn take(&mut self, spot: usize, usage: [i64; 3]) {
        let spot = &mut self.spots[spot];
        (0..3).for_each(|n| spot.free[n] = spot.free[n].saturating_sub(usage[n]));
        if spot.slots != i64::MAX {
            spot.slots -= 1;
        }
    }
}

//! Locks: one holder at a time, and later holders have higher indexes.

use std::collections::BTreeMap;

use super::Verdict;
use crate::history::Holding;

/// Checks the times during which clients could rely on a lock.
pub(crate) fn check(holdings: &[Holding]) -> Verdict {
    let mut locks: BTreeMap<&str, Vec<&Holding>> = BTreeMap::new();
    for holding in holdings {
        locks.entry(&holding.lock).or_default().push(holding);
    }
    let mut broken = Vec::new();
    for (lock, held) in &mut locks {
        held.sort_by_key(|h| h.index);
        for pair in held.windows(2) {
            let (one, next) = (pair[0], pair[1]);
            if one.index == next.index {
                broken.push(format!("{lock}: {} and {} have the index {}", one.client, next.client, one.index));
            }
            // The one with the lower index was the holder before: from its answer until it could not rely on it.
            let (from, until) = (one.from.max(next.from), one.until.min(next.until));
            if from < until || next.until <= one.from {
                broken.push(format!("{lock}: {} ({}) and {} ({})", one.client, one.index, next.client, next.index));
            }
        }
    }
    Verdict {
        what: "locks have one holder at a time, and later holders higher indexes",
        amount: format!("{} times held, {} locks", holdings.len(), locks.len()),
        broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(client: &str, index: u64, from: u64, until: u64) -> Holding {
        Holding { lock: "l".into(), client: client.into(), index, from, until }
    }

    #[test]
    fn overlapping_holders_are_found() {
        let one = held("a", 5, 100, 200);
        assert_eq!(check(&[one.clone(), held("b", 9, 200, 300)]).broken.len(), 0);
        assert_eq!(check(&[one.clone(), held("b", 9, 150, 300)]).broken.len(), 1, "two holders");
        assert_eq!(check(&[one.clone(), held("b", 5, 300, 400)]).broken.len(), 1, "one index twice");
        assert_eq!(check(&[one.clone(), held("b", 4, 300, 400)]).broken.len(), 1, "a later holder has a lower index");
        let other = Holding { lock: "m".into(), ..held("b", 9, 150, 300) };
        assert_eq!(check(&[one, other]).broken.len(), 0, "another lock");
    }
}

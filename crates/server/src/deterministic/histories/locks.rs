//! Locks of variables: never two holders at a time, and a later holder has a higher index (a fencing token).

/// The time during which a client was sure to hold a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hold {
    /// The client.
    pub client: usize,
    /// The index at which it acquired the lock.
    pub index: u64,
    /// When the client was notified that it holds the lock.
    pub from: i64,
    /// When the client gave it back, or when the time ended that its last renewal gave it.
    pub until: i64,
}

/// Two holds that exclude each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongHold {
    /// Two clients held the lock at the same time.
    #[error("two clients held a lock: {0:?} and {1:?}")]
    Both(Hold, Hold),
    /// A later holder has a lower index.
    #[error("a later holder has a lower index: {0:?} and {1:?}")]
    Fence(Hold, Hold),
}

/// Checks the holds of one lock, in any order.
///
/// # Errors
/// The first two that exclude each other.
pub(crate) fn check(holds: &[Hold]) -> Result<(), WrongHold> {
    let mut sorted: Vec<&Hold> = holds.iter().collect();
    sorted.sort_by_key(|h| h.from);
    for (at, later) in sorted.iter().enumerate() {
        for earlier in &sorted[..at] {
            if earlier.client != later.client && earlier.until > later.from {
                return Err(WrongHold::Both((*earlier).clone(), (*later).clone()));
            }
            if earlier.index >= later.index {
                return Err(WrongHold::Fence((*earlier).clone(), (*later).clone()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(client: usize, index: u64, from: i64, until: i64) -> Hold {
        Hold { client, index, from, until }
    }

    #[test]
    fn one_after_the_other_is_accepted() {
        assert_eq!(check(&[hold(2, 9, 30, 40), hold(1, 3, 5, 20), hold(1, 7, 20, 30)]), Ok(()));
        assert_eq!(check(&[]), Ok(()));
    }

    #[test]
    fn two_holders_are_refused() {
        let (first, second) = (hold(1, 3, 5, 20), hold(2, 9, 19, 40));
        assert_eq!(check(&[second.clone(), first.clone()]), Err(WrongHold::Both(first, second)));
        let (long, third) = (hold(1, 3, 5, 90), hold(3, 12, 60, 70));
        let between = hold(1, 9, 30, 40);
        assert_eq!(check(&[long.clone(), between, third.clone()]), Err(WrongHold::Both(long, third)));
        let (first, second) = (hold(1, 9, 5, 20), hold(2, 3, 25, 40));
        assert_eq!(check(&[first.clone(), second.clone()]), Err(WrongHold::Fence(first, second)));
    }
}

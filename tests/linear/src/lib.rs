//! Checks linearizability of a register: whether the observed operations can have happened one after the other, each at
//! some time between its call and its answer (Wing and Gong). Written values are unique.

use std::collections::{HashSet, VecDeque};

/// A value; `None` means the register does not exist.
pub type Value = Option<u64>;

/// An operation of a client, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Did {
    /// Read this value.
    Read(Value),
    /// Wrote this value unconditionally.
    Write(Value),
    /// Wrote the second value because the first one was there.
    Swap(Value, Value),
    /// Did not write because this value was not there.
    Refused(Value),
}

/// A call of a client. Times are any increasing numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When the call began.
    pub from: i64,
    /// When the answer arrived; `None` if the outcome is unknown.
    pub to: Option<i64>,
    /// The operation, if it was executed.
    pub did: Did,
}

impl Call {
    /// The value after the operation, or `None` if the operation is impossible.
    fn after(&self, now: Value) -> Option<Value> {
        match self.did {
            Did::Read(seen) => (seen == now).then_some(now),
            Did::Write(new) => Some(new),
            Did::Swap(old, new) => (old == now).then_some(new),
            Did::Refused(old) => (old != now).then_some(now),
        }
    }

    fn wrote(&self) -> Option<Value> {
        match self.did {
            Did::Write(new) | Did::Swap(_, new) => Some(new),
            Did::Read(_) | Did::Refused(_) => None,
        }
    }
}

/// There is no order in which all calls fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fit} of {of} calls fit; then none of {left:?}")]
pub struct NoOrder {
    /// How many calls fit in the best order.
    fit: usize,
    /// How many calls there are.
    of: usize,
    /// Some of those that fit nowhere.
    left: Vec<Call>,
}

/// Searches for an order of the calls; the error shows how many calls fit.
///
/// # Errors
/// There is no order.
pub fn check(calls: &[Call]) -> Result<(), NoOrder> {
    let calls = known(calls);
    let mut done = vec![false; calls.len()];
    let mut seen: HashSet<(Vec<bool>, Value)> = HashSet::new();
    let mut best = (0, VecDeque::new());
    let mut path = VecDeque::new();
    if place(&calls, &mut done, None, &mut seen, &mut path, &mut best) {
        return Ok(());
    }
    let left = calls.iter().enumerate().filter(|(i, _)| !best.1.contains(i)).map(|(_, c)| c.clone());
    Err(NoOrder { fit: best.0, of: calls.len(), left: left.take(8).collect() })
}

/// The relevant calls: a call with unknown outcome is relevant if another client may have read the value it wrote.
fn known(calls: &[Call]) -> Vec<Call> {
    let reads = |value: Value| {
        calls.iter().any(|c| match c.did {
            Did::Read(seen) => seen == value,
            Did::Swap(old, _) => old == value && c.to.is_some(),
            // It read a different value from the one it names.
            Did::Refused(_) => true,
            Did::Write(_) => false,
        })
    };
    // Removals cannot be distinguished: all of them may be relevant.
    let matters = |c: &&Call| c.to.is_some() || c.wrote().is_some_and(|v| v.is_none() || reads(v));
    let mut out: Vec<Call> = calls.iter().filter(matters).cloned().collect();
    out.sort_by_key(|c| c.from);
    out
}

fn place(
    calls: &[Call],
    done: &mut Vec<bool>,
    now: Value,
    seen: &mut HashSet<(Vec<bool>, Value)>,
    path: &mut VecDeque<usize>,
    best: &mut (usize, VecDeque<usize>),
) -> bool {
    // A call with unknown outcome may never have been executed.
    if calls.iter().zip(done.iter()).all(|(c, d)| *d || c.to.is_none()) {
        return true;
    }
    if !seen.insert((done.clone(), now)) {
        return false;
    }
    if path.len() > best.0 {
        *best = (path.len(), path.clone());
    }
    let open = calls.iter().zip(done.iter()).filter(|(_, d)| !**d);
    let first_end = open.filter_map(|(c, _)| c.to).min().unwrap_or(i64::MAX);
    for (i, call) in calls.iter().enumerate() {
        if call.from > first_end {
            break;
        }
        let Some(after) = call.after(now).filter(|_| !done[i]) else { continue };
        done[i] = true;
        path.push_back(i);
        if place(calls, done, after, seen, path, best) {
            return true;
        }
        path.pop_back();
        done[i] = false;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(from: i64, to: i64, did: Did) -> Call {
        Call { from, to: Some(to), did }
    }

    #[test]
    fn orders_are_found() {
        let overlapping = [
            call(0, 10, Did::Write(Some(1))),
            call(5, 15, Did::Swap(Some(1), Some(2))),
            call(6, 7, Did::Read(Some(1))),
            call(8, 20, Did::Refused(Some(1))),
            call(21, 22, Did::Read(Some(2))),
        ];
        assert_eq!(check(&overlapping), Ok(()));
        let unknown = |did| Call { from: 0, to: None, did };
        assert_eq!(check(&[unknown(Did::Write(Some(1))), call(50, 60, Did::Read(Some(1)))]), Ok(()));
        assert_eq!(check(&[unknown(Did::Write(Some(1))), call(50, 60, Did::Read(None))]), Ok(()));
        assert_eq!(
            check(&[unknown(Did::Write(None)), call(1, 2, Did::Write(Some(1))), call(5, 6, Did::Read(None))]),
            Ok(())
        );
    }

    #[test]
    fn impossible_histories_are_rejected() {
        let write = call(0, 10, Did::Write(Some(1)));
        let lost = check(&[write.clone(), call(11, 12, Did::Read(None))]);
        assert!(lost.is_err(), "an acknowledged write was lost");
        let back = [
            write.clone(),
            call(11, 30, Did::Write(Some(2))),
            call(12, 13, Did::Read(Some(2))),
            call(14, 15, Did::Read(Some(1))),
        ];
        assert!(check(&back).is_err(), "a later read returned an older value");
        let both = [write, call(11, 20, Did::Swap(Some(1), Some(2))), call(11, 20, Did::Swap(Some(1), Some(3)))];
        assert!(check(&both).is_err(), "two swaps of one value");
    }
}

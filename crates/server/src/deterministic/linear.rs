//! Whether what clients saw of a register can have happened one after the other, each operation at some moment between
//! its call and its answer (Wing and Gong). Values that are written are unique.

use std::collections::{HashSet, VecDeque};

/// A value; `None`: there is none.
pub(crate) type Value = Option<u64>;

/// What a client did, and what it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Did {
    /// Read this.
    Read(Value),
    /// Wrote this, whatever was there.
    Write(Value),
    /// Wrote the second, because the first was there.
    Swap(Value, Value),
    /// Did not write, because this was not there.
    Refused(Value),
}

/// An operation of a client. Times are any numbers that rise.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// When it began.
    pub from: i64,
    /// When the answer came; none: nobody knows whether it was done.
    pub to: Option<i64>,
    /// What was done, if it was.
    pub did: Did,
}

impl Call {
    /// The value afterwards, if that is possible.
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

/// Puts the calls in an order; the error tells how far that got.
///
/// # Errors
/// There is no order.
pub(crate) fn check(calls: &[Call]) -> Result<(), String> {
    let calls = known(calls);
    let mut done = vec![false; calls.len()];
    let mut seen: HashSet<(Vec<bool>, Value)> = HashSet::new();
    let mut best = (0, VecDeque::new());
    let mut path = VecDeque::new();
    if place(&calls, &mut done, None, &mut seen, &mut path, &mut best) {
        return Ok(());
    }
    let left: Vec<String> =
        calls.iter().enumerate().filter(|(i, _)| !best.1.contains(i)).map(|(_, c)| format!("{c:?}")).collect();
    Err(format!(
        "{} of {} calls fit; then none of {}",
        best.0,
        calls.len(),
        left.iter().take(8).cloned().collect::<Vec<_>>().join(", ")
    ))
}

/// The calls that count: what nobody knows the end of counts if somebody may have seen what it wrote.
fn known(calls: &[Call]) -> Vec<Call> {
    let reads = |value: Value| {
        calls.iter().any(|c| match c.did {
            Did::Read(seen) => seen == value,
            Did::Swap(old, _) => old == value && c.to.is_some(),
            // It saw something else than what it names.
            Did::Refused(_) => true,
            Did::Write(_) => false,
        })
    };
    // Removals can't be told apart: all of them may count.
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
    // What is unknown may never have been done.
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
    fn what_can_not_be_is_told() {
        let write = call(0, 10, Did::Write(Some(1)));
        let lost = check(&[write.clone(), call(11, 12, Did::Read(None))]);
        assert!(lost.is_err(), "an acknowledged write is gone");
        let back = [
            write.clone(),
            call(11, 30, Did::Write(Some(2))),
            call(12, 13, Did::Read(Some(2))),
            call(14, 15, Did::Read(Some(1))),
        ];
        assert!(check(&back).is_err(), "a read went back");
        let both = [write, call(11, 20, Did::Swap(Some(1), Some(2))), call(11, 20, Did::Swap(Some(1), Some(3)))];
        assert!(check(&both).is_err(), "two swaps of one value");
    }
}

//! Figures from operations: throughput, latency, and how long no write was acknowledged.

use std::collections::BTreeMap;

use crate::history::Micros;

/// A second in microseconds.
pub(crate) const SECOND: Micros = 1_000_000;

/// An operation of a client.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) writes: bool,
    pub(crate) from: Micros,
    pub(crate) to: Micros,
    pub(crate) end: String,
}

impl Operation {
    /// Whether the server answered: what a check-and-set refused is an answer, too.
    pub(crate) fn answered(&self) -> bool {
        self.end == "Done" || self.end == "Refused"
    }
}

/// A fault that was injected.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) kind: String,
    pub(crate) from: Micros,
    pub(crate) to: Micros,
    pub(crate) what: String,
}

/// A time without an acknowledged write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: Micros,
    pub(crate) to: Micros,
}

impl Gap {
    pub(crate) fn length(self) -> Micros {
        self.to - self.from
    }
}

/// Operations that were answered in each second.
pub(crate) fn per_second<'a>(operations: impl Iterator<Item = &'a Operation>, end: Micros) -> Vec<f64> {
    let mut counts = vec![0.0; usize::try_from(end / SECOND).unwrap_or(0) + 1];
    for operation in operations.filter(|o| o.answered()) {
        if let Some(count) = usize::try_from(operation.to / SECOND).ok().and_then(|s| counts.get_mut(s)) {
            *count += 1.0;
        }
    }
    counts
}

/// A percentile of the latencies of answered operations in each second, in milliseconds; that of the neighbours is used
/// where nothing was answered.
pub(crate) fn latency(operations: &[Operation], end: Micros, percentile: usize) -> Vec<f64> {
    let mut seconds: Vec<Vec<Micros>> = vec![Vec::new(); usize::try_from(end / SECOND).unwrap_or(0) + 1];
    for operation in operations.iter().filter(|o| o.answered()) {
        if let Some(second) = usize::try_from(operation.to / SECOND).ok().and_then(|s| seconds.get_mut(s)) {
            second.push(operation.to - operation.from);
        }
    }
    let mut last = 1.0;
    let of = |second: &mut Vec<Micros>| {
        if let Some(found) = at_percentile(second, percentile) {
            last = millis(found);
        }
        last
    };
    seconds.iter_mut().map(of).collect()
}

/// A percentile of some values.
pub(crate) fn at_percentile(values: &mut [Micros], percentile: usize) -> Option<Micros> {
    values.sort_unstable();
    values.get((values.len() * percentile / 100).min(values.len().saturating_sub(1))).copied()
}

#[expect(clippy::cast_precision_loss, reason = "times of a run are far below 2^52")]
pub(crate) fn millis(time: Micros) -> f64 {
    time as f64 / 1000.0
}

pub(crate) fn seconds(time: Micros) -> f64 {
    millis(time) / 1000.0
}

/// The times of more than a second between two acknowledged writes of any client.
pub(crate) fn gaps(operations: &[Operation], end: Micros) -> Vec<Gap> {
    let mut times: Vec<Micros> = operations.iter().filter(|o| o.writes && o.end == "Done").map(|o| o.to).collect();
    times.push(end);
    times.sort_unstable();
    let mut last = 0;
    let mut gaps = Vec::new();
    for time in times {
        if time.saturating_sub(last) > SECOND {
            gaps.push(Gap { from: last, to: time });
        }
        last = time;
    }
    gaps
}

/// The gaps of each fault: those that end before the next fault begins.
pub(crate) fn by_fault(faults: &[Fault], gaps: &[Gap]) -> Vec<Vec<Gap>> {
    let mut found = vec![Vec::new(); faults.len()];
    for gap in gaps {
        if let Some(index) = faults.iter().rposition(|f| f.from < gap.to) {
            found[index].push(*gap);
        }
    }
    found
}

/// The faults of each kind, with their gaps.
pub(crate) fn by_kind<'a>(faults: &'a [Fault], gaps: &[Gap]) -> BTreeMap<&'a str, Vec<(&'a Fault, Vec<Gap>)>> {
    let mut kinds: BTreeMap<&str, Vec<(&Fault, Vec<Gap>)>> = BTreeMap::new();
    for (fault, gaps) in faults.iter().zip(by_fault(faults, gaps)) {
        kinds.entry(&fault.kind).or_default().push((fault, gaps));
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(seconds: u64) -> Operation {
        let to = seconds * SECOND;
        Operation { name: "write".into(), writes: true, from: to - 2_000, to, end: "Done".into() }
    }

    fn fault(kind: &str, from: u64, to: u64) -> Fault {
        Fault { kind: kind.into(), from: from * SECOND, to: to * SECOND, what: String::new() }
    }

    #[test]
    fn gaps_belong_to_the_fault_before_their_end() {
        let mut operations: Vec<Operation> = [1, 2, 3, 9, 10, 11, 15].map(write).into();
        operations.push(Operation { end: "Unknown".into(), ..write(6) });
        let gaps = gaps(&operations, 15 * SECOND);
        assert_eq!(gaps.iter().map(|g| (g.from / SECOND, g.to / SECOND)).collect::<Vec<_>>(), [(3, 9), (11, 15)]);
        let faults = [fault("kill", 4, 6), fault("loss", 10, 12), fault("kill", 20, 21)];
        let kinds = by_kind(&faults, &gaps);
        let lengths = |kind: &str| kinds[kind].iter().map(|(_, g)| g.len()).collect::<Vec<_>>();
        assert_eq!((lengths("kill"), lengths("loss")), (vec![1, 0], vec![1]));
    }

    #[test]
    fn throughput_and_latency_are_counted_per_second() {
        let operations = [write(1), write(1), write(3)];
        assert_eq!(per_second(operations.iter(), 3 * SECOND), [0.0, 2.0, 0.0, 1.0]);
        assert_eq!(latency(&operations, 3 * SECOND, 50), [1.0, 2.0, 2.0, 2.0]);
        assert_eq!(at_percentile(&mut [5, 1, 9, 7], 99), Some(9));
        assert_eq!(at_percentile(&mut [], 50), None);
    }
}

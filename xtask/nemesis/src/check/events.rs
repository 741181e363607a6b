//! Event streams: no event is lost, doubled or out of order between the first and the last one of a connection.

use std::collections::{BTreeMap, BTreeSet};

use super::Verdict;
use crate::history::{Event, JobWrite, Segment};

/// Checks the connections against each other and against the acknowledged registrations.
pub(crate) fn check(segments: &[Segment], writes: &[JobWrite]) -> Verdict {
    let mut broken = Vec::new();
    let all: BTreeSet<&Event> = segments.iter().flat_map(|s| &s.events).collect();
    for segment in segments {
        let back = segment.events.windows(2).filter(|pair| pair[1].index < pair[0].index);
        broken.extend(back.map(|p| format!("{}: index {} after {}", segment.server, p[1].index, p[0].index)));
    }
    let mut registrations = 0;
    for segment in segments {
        let (Some(first), Some(last)) = (segment.events.first(), segment.events.last()) else { continue };
        // Events of the first and the last index may be on another connection.
        let inside = |index: u64| index > first.index && index < last.index;
        let seen = times(segment);
        for event in all.iter().filter(|e| inside(e.index)) {
            let times = seen.get(event).copied().unwrap_or(0);
            if times != 1 {
                broken.push(format!("{}: {event:?} {times} times", segment.server));
            }
        }
        for write in writes.iter().filter(|w| inside(w.index)) {
            registrations += 1;
            let event = |e: &&Event| e.index == write.index && e.key == write.job && e.kind == "JobRegistered";
            if !segment.events.iter().any(|e| event(&e)) {
                let JobWrite { job, index } = write;
                broken.push(format!("{}: the registration of {job} at {index} is missing", segment.server));
            }
        }
    }
    let events: usize = segments.iter().map(|s| s.events.len()).sum();
    Verdict {
        what: "event streams lose and double nothing",
        amount: format!(
            "{events} events on {} connections, {registrations} times an acknowledged registration",
            segments.len()
        ),
        broken,
    }
}

fn times(segment: &Segment) -> BTreeMap<&Event, usize> {
    let mut times = BTreeMap::new();
    for event in &segment.events {
        *times.entry(event).or_default() += 1;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    fn segment(indexes: &[u64]) -> Segment {
        let event = |index: &u64| Event { index: *index, kind: "JobRegistered".into(), key: format!("j{index}") };
        Segment { server: Place::Server(0), events: indexes.iter().map(event).collect() }
    }

    fn write(index: u64) -> JobWrite {
        JobWrite { job: format!("j{index}"), index }
    }

    #[test]
    fn lost_double_and_late_events_are_found() {
        let whole = segment(&[1, 2, 3, 4, 5]);
        let writes = [write(2), write(9)];
        assert_eq!(check(&[whole.clone(), segment(&[3, 4, 5, 6])], &writes).broken.len(), 0);
        assert_eq!(check(&[segment(&[1, 3])], &writes).broken.len(), 1, "an acknowledged registration is missing");
        assert_eq!(check(&[whole.clone(), segment(&[3, 5, 6])], &[]).broken.len(), 1, "4 is lost");
        let doubled = check(&[whole, segment(&[3, 4, 4, 5, 6])], &[]).broken;
        assert_eq!(doubled.len(), 1, "4 is doubled: {doubled:?}");
        assert_eq!(check(&[segment(&[1, 3, 2, 4])], &[]).broken.len(), 1, "2 comes late");
    }
}

//! Delays before a node retries a call to its servers (`docs/spec/client.md §3`, `§6`).

use std::time::Duration;

use encamp_model::SECOND;
use encamp_model::random::Random;

/// Nanoseconds of `base` and up to as much again.
pub(crate) fn doubled(base: i64, random: &mut Random) -> i64 {
    base.saturating_add(below(base, random))
}

/// Uniform in `[0, bound)`; 0 for a bound below 1.
pub fn below(bound: i64, random: &mut Random) -> i64 {
    let n = random.below(u64::try_from(bound).unwrap_or(0));
    i64::try_from(n).unwrap_or(0)
}

/// Wait after a failed registration. `no_servers`: none is known, or none for the region.
pub fn registration(dev: bool, no_servers: bool, random: &mut Random) -> i64 {
    if dev { SECOND } else { doubled(if no_servers { SECOND } else { 15 * SECOND }, random) }
}

/// Wait before the first heartbeat, and before the one after a new registration.
pub fn first_heartbeat(dev: bool, random: &mut Random) -> i64 {
    if dev { 0 } else { below(10 * SECOND, random) }
}

/// Wait of a node that was registered before, between its first pull of allocations and its first heartbeat: its reports
/// come before, without which servers may not take it for ready.
pub(crate) fn heartbeat_after_contact(random: &mut Random) -> i64 {
    SECOND + below(SECOND / 2, random)
}

/// Wait after a failed heartbeat; `last`: when the last one succeeded and the TTL it gave, in nanoseconds.
pub fn heartbeat(dev: bool, last: Option<(i64, i64)>, now: i64, random: &mut Random) -> i64 {
    if dev {
        return SECOND;
    }
    let Some((at, ttl)) = last else { return doubled(15 * SECOND, random) };
    let left = at.saturating_add(ttl).saturating_sub(now);
    let left = match left {
        l if l < -30 * SECOND => l.saturating_neg(),
        l if l < 0 => return doubled(SECOND, random),
        l => l,
    };
    match below(left, random) {
        s if s < SECOND => doubled(SECOND, random),
        s if s > 30 * SECOND => 25 * SECOND + below(5 * SECOND, random),
        s => s,
    }
}

/// Wait before a node connects to a server again after so many failures in a row: nodes that lost the same server do
/// not come back at the same moment.
pub fn connection(failures: u32, random: &mut Random) -> i64 {
    let base = (SECOND / 5).saturating_mul(1 << failures.min(7)).min(15 * SECOND);
    doubled(base / 2, random)
}

/// Wait after a failed pull of allocations.
pub fn pull(dev: bool, random: &mut Random) -> i64 {
    if dev { SECOND } else { doubled(30 * SECOND, random) }
}

/// Wait when an allocation that the servers listed is not there.
pub(crate) fn missing_alloc(random: &mut Random) -> i64 {
    doubled(2 * SECOND, random)
}

/// Wait after a failed report.
pub fn report(dev: bool, random: &mut Random) -> i64 {
    if dev { SECOND } else { doubled(5 * SECOND, random) }
}

/// Wait that collects changes of the node, and its events, before they are sent.
pub(crate) fn coalesce(random: &mut Random) -> i64 {
    doubled(5 * SECOND, random)
}

/// How long after its start an agent sends changes of the node soon: its plugins and volumes come back.
pub(crate) const START: Duration = Duration::from_secs(15);

/// Wait that collects changes of the node during [`START`], after the first pull of allocations.
pub(crate) fn coalesce_at_start(random: &mut Random) -> i64 {
    doubled(SECOND / 4, random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_stay_in_their_bounds() {
        let mut r = Random::new(3, "b");
        for _ in 0..500 {
            assert!((15 * SECOND..30 * SECOND).contains(&registration(false, false, &mut r)));
            assert!((SECOND..2 * SECOND).contains(&registration(false, true, &mut r)));
            assert!((0..10 * SECOND).contains(&first_heartbeat(false, &mut r)));
            assert!((SECOND..SECOND * 3 / 2).contains(&heartbeat_after_contact(&mut r)));
            assert!((SECOND / 4..SECOND / 2).contains(&coalesce_at_start(&mut r)));
            assert!((15 * SECOND..30 * SECOND).contains(&heartbeat(false, None, 0, &mut r)));
            let late = |now| Some((0, 10 * SECOND)).map(|last| (last, now));
            let mut beat = |now| late(now).map(|(last, now)| heartbeat(false, Some(last), now, &mut r)).unwrap();
            assert!((SECOND..10 * SECOND).contains(&beat(0)));
            assert!((SECOND..2 * SECOND).contains(&beat(30 * SECOND)));
            assert!((SECOND..=30 * SECOND).contains(&beat(500 * SECOND)));
        }
        assert_eq!(
            (registration(true, false, &mut r), first_heartbeat(true, &mut r), pull(true, &mut r)),
            (SECOND, 0, SECOND)
        );
    }
}

//! Disconnects and reconnects in an allocation's record (`docs/spec/reconciliation.md §2.3`).

use super::descriptions;
use encamp_model::*;

/// The client status entries of the allocation's states, newest first.
fn status_entries(alloc: &Allocation) -> impl Iterator<Item = &AllocState> {
    alloc.alloc_states.iter().rev().filter(|s| s.field == 0)
}

/// The newest recorded client status is `unknown`: the allocation was on a disconnected node and nobody has dealt with
/// its return.
pub(crate) fn needs_reconnect(alloc: &Allocation) -> bool {
    status_entries(alloc).next().is_some_and(|s| s.value == ClientStatus::Unknown)
}

/// Unix nanoseconds at which the most recent unbroken run of `unknown` began.
pub(crate) fn last_unknown(alloc: &Allocation) -> Option<i64> {
    status_entries(alloc)
        .skip_while(|s| s.value != ClientStatus::Unknown)
        .take_while(|s| s.value == ClientStatus::Unknown)
        .last()
        .and_then(|s| s.time.unix_nanos())
}

/// The disconnect block of the group in the job version the allocation runs.
pub(crate) fn disconnect_block(alloc: &Allocation) -> Option<&DisconnectStrategy> {
    alloc.job.as_ref()?.lookup_group(&alloc.task_group)?.disconnect.as_ref()
}

/// How long, in nanoseconds, the allocation may be out of contact; 0 when nothing is set.
pub fn lost_after(alloc: &Allocation) -> i64 {
    disconnect_block(alloc).map_or(0, |d| d.lost_after)
}

/// Whether the allocation may be replaced while it is out of contact.
pub fn replace(alloc: &Allocation) -> bool {
    disconnect_block(alloc).and_then(|d| d.replace).unwrap_or(true)
}

/// The allocation has been unknown for longer than `lost_after`, at once if that is not set.
pub fn expired(alloc: &Allocation, now: i64) -> bool {
    if alloc.client_status != ClientStatus::Unknown {
        return false;
    }
    let known_group = alloc.job.as_ref().is_some_and(|j| j.lookup_group(&alloc.task_group).is_some());
    known_group && last_unknown(alloc).is_some_and(|t| t.saturating_add(lost_after(alloc)) <= now)
}

/// A copy of the allocation, its job attached, with another entry for a client status.
pub(crate) fn with_status_entry(alloc: &Allocation, status: ClientStatus, now: i64) -> Allocation {
    let mut a = alloc.clone();
    a.alloc_states.push(AllocState { field: 0, value: status, time: Time::from_unix_nanos(now) });
    a
}

/// A copy of the allocation that is set to `unknown` because its node lost contact (`docs/spec/reconciliation.md
/// §5.7`).
pub(crate) fn to_unknown(alloc: &Allocation, now: i64) -> Allocation {
    let mut a = with_status_entry(alloc, ClientStatus::Unknown, now);
    a.client_status = ClientStatus::Unknown;
    a.client_description = descriptions::UNKNOWN.into();
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use ClientStatus::{Running, Unknown};
    use std::sync::Arc;

    fn alloc(states: &[(ClientStatus, i64)], lost_after: i64) -> Allocation {
        let disconnect = Some(DisconnectStrategy { lost_after, ..Default::default() });
        let group = TaskGroup { name: "g".into(), disconnect, ..Default::default() };
        Allocation {
            task_group: "g".into(),
            client_status: ClientStatus::Unknown,
            job: Some(Arc::new(Job { task_groups: vec![group], ..Default::default() })),
            alloc_states: states
                .iter()
                .map(|(v, t)| AllocState { field: 0, value: v.clone(), time: Time::from_unix_nanos(*t) })
                .collect(),
            ..Default::default()
        }
    }

    #[test]
    fn the_latest_run_of_unknown_counts() {
        let a = alloc(&[(Unknown, 1), (Running, 2), (Unknown, 3), (Unknown, 4), (Running, 5)], 10);
        assert_eq!(last_unknown(&a), Some(3));
        assert!(!needs_reconnect(&a));
        assert!(needs_reconnect(&alloc(&[(Running, 1), (Unknown, 2)], 10)));
        assert_eq!(last_unknown(&alloc(&[(Running, 1)], 10)), None);
    }

    #[test]
    fn expiry() {
        let a = alloc(&[(Unknown, 100)], 10);
        assert!(!expired(&a, 109));
        assert!(expired(&a, 110));
        assert!(expired(&alloc(&[(Unknown, 100)], 0), 100));
        assert!(!expired(&alloc(&[], 0), 100));
    }
}

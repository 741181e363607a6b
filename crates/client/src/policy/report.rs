//! Queues and batches allocation updates for the servers (`docs/spec/client.md §7`).

use std::collections::BTreeMap;

use encamp_model::{Allocation, ClientStatus};

/// The queued reports, and the reports that the servers have.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportQueue {
    queued: BTreeMap<String, Allocation>,
    acknowledged: BTreeMap<String, Allocation>,
    ticks: u64,
}

impl ReportQueue {
    /// Queues the newest version of an allocation; only the fields that clients own are considered.
    pub(crate) fn push(&mut self, alloc: Allocation) {
        self.queued.insert(alloc.id.to_string(), alloc);
    }

    /// Records a report that the servers are known to have, from the state of an earlier run.
    pub(crate) fn acknowledge(&mut self, alloc: Allocation) {
        self.acknowledged.insert(alloc.id.to_string(), alloc);
    }

    /// Forgets an allocation that is gone.
    pub(crate) fn forget(&mut self, id: &str) {
        self.queued.remove(id);
        self.acknowledged.remove(id);
    }

    /// A tick, every 200 ms: what is to be sent now. `has_runner` tells whether an allocation runs here: the others are
    /// always sent.
    pub(crate) fn tick(&mut self, has_runner: impl Fn(&str) -> bool) -> Vec<Allocation> {
        self.ticks = self.ticks.wrapping_add(1);
        let acknowledged = &self.acknowledged;
        self.queued.retain(|id, a| !has_runner(id) || differs(a, acknowledged.get(id)));
        let urgent = self.queued.iter().any(|(id, a)| has_runner(id) && is_urgent(a, acknowledged.get(id)));
        if self.queued.is_empty() || !(urgent || self.ticks.is_multiple_of(5)) {
            return Vec::new();
        }
        std::mem::take(&mut self.queued).into_values().collect()
    }

    /// The servers took it. Gives back what they know now.
    pub(crate) fn sent(&mut self, allocs: Vec<Allocation>) {
        self.ticks = 0;
        for alloc in allocs {
            self.acknowledged.insert(alloc.id.to_string(), alloc);
        }
    }

    /// The servers did not take it: it is queued again unless something newer came meanwhile.
    pub(crate) fn failed(&mut self, allocs: Vec<Allocation>) {
        for alloc in allocs {
            self.queued.entry(alloc.id.to_string()).or_insert(alloc);
        }
    }
}

/// The servers know another client status; an allocation they heard nothing of yet is pending to them.
fn is_urgent(a: &Allocation, known: Option<&Allocation>) -> bool {
    *known.map_or(&ClientStatus::Pending, |k| &k.client_status) != a.client_status
}

fn differs(a: &Allocation, known: Option<&Allocation>) -> bool {
    known.is_none_or(|k| {
        k.client_status != a.client_status
            || k.client_description != a.client_description
            || k.deployment_status != a.deployment_status
            || k.network_status != a.network_status
            || k.task_states != a.task_states
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alloc(id: &str, client_status: ClientStatus, description: &str) -> Allocation {
        Allocation { id: id.into(), client_status, client_description: description.into(), ..Allocation::default() }
    }

    #[test]
    fn changes_of_status_go_at_once_and_take_the_others_along() {
        let mut q = ReportQueue::default();
        q.push(alloc("a", ClientStatus::Pending, ""));
        assert!((0..4).all(|_| q.tick(|_| true).is_empty()));
        let sent = q.tick(|_| true);
        assert_eq!(sent.len(), 1, "the fifth tick");
        q.sent(sent);
        q.push(alloc("a", ClientStatus::Pending, "x"));
        q.push(alloc("b", ClientStatus::Running, ""));
        let sent = q.tick(|_| true);
        assert_eq!(sent.len(), 2, "b is urgent");
        q.sent(sent);
        q.push(alloc("b", ClientStatus::Running, ""));
        assert!((0..9).all(|_| q.tick(|_| true).is_empty()), "nothing new");
    }

    #[test]
    fn failures_do_not_overwrite_what_is_newer() {
        let mut q = ReportQueue::default();
        q.push(alloc("a", ClientStatus::Running, ""));
        let sent = q.tick(|_| true);
        q.push(alloc("a", ClientStatus::Complete, ""));
        q.failed(sent);
        assert_eq!(q.tick(|_| true)[0].client_status, ClientStatus::Complete);
    }

    #[test]
    fn allocations_without_a_runner_are_always_sent() {
        let mut q = ReportQueue::default();
        q.acknowledge(alloc("a", ClientStatus::Failed, ""));
        q.push(alloc("a", ClientStatus::Failed, ""));
        assert_eq!((0..5).map(|_| q.tick(|_| false).len()).sum::<usize>(), 1);
        q.push(alloc("a", ClientStatus::Failed, ""));
        q.forget("a");
        assert!((0..5).all(|_| q.tick(|_| false).is_empty()));
    }
}

//! Counts what occurred, so that a rule that was never exercised is not mistaken for one that holds.

use std::collections::BTreeMap;

use encamp_model::*;
use encamp_state::State;

use super::apply::Outcome;

/// Every kind of event that a run of the test has to meet.
pub const EVENTS: [&str; 16] = [
    "placements",
    "preemptions",
    "failed groups",
    "stops",
    "in-place updates",
    "devices",
    "static ports",
    "dynamic ports",
    "cores",
    "spreads",
    "reschedules",
    "canaries",
    "disconnects",
    "settled evaluations",
    "permuted states",
    "removed nodes",
];

/// Counts by event.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Cases so far.
    pub cases: u64,
    /// Evaluations so far, without the repeated ones.
    pub evaluations: u64,
    counts: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts an event.
    pub fn add(&mut self, event: &'static str, n: usize) {
        *self.counts.entry(event).or_default() += n as u64;
    }

    /// How often an event occurred.
    pub fn count(&self, event: &str) -> u64 {
        self.counts.get(event).copied().unwrap_or(0)
    }

    /// Adds what another run met.
    pub fn merge(&mut self, other: &Tally) {
        self.cases += other.cases;
        self.evaluations += other.evaluations;
        for (event, n) in &other.counts {
            *self.counts.entry(event).or_default() += n;
        }
    }

    /// Counts what an evaluation did.
    pub fn observe(&mut self, before: &State, outcome: &Outcome, job: Option<&Job>) {
        self.evaluations += 1;
        for a in outcome.planned() {
            self.observe_alloc(before, a, job);
        }
        let sum = |m: &BTreeMap<String, Vec<std::sync::Arc<Allocation>>>| m.values().map(Vec::len).sum();
        self.add("stops", sum(&outcome.plan.node_update));
        self.add("preemptions", sum(&outcome.plan.node_preemptions));
        self.add("failed groups", outcome.failed().len());
    }

    fn observe_alloc(&mut self, before: &State, a: &Allocation, job: Option<&Job>) {
        if let Some(old) = before.alloc(&a.id) {
            let lost_contact = a.client_status == ClientStatus::Unknown && old.alloc.client_status != a.client_status;
            self.add("disconnects", usize::from(lost_contact));
            self.add("in-place updates", usize::from(!lost_contact && a.job.is_none()));
            return;
        }
        self.add("placements", 1);
        self.add("reschedules", usize::from(a.reschedule_tracker.is_some()));
        self.add("canaries", usize::from(a.is_canary()));
        let Some(r) = &a.allocated_resources else { return };
        self.add("devices", r.tasks.values().map(|t| t.devices.len()).sum());
        self.add("cores", r.tasks.values().map(|t| t.cpu.reserved_cores.len()).sum());
        self.add("static ports", r.shared.networks.iter().map(|n| n.reserved_ports.len()).sum());
        self.add("dynamic ports", r.shared.networks.iter().map(|n| n.dynamic_ports.len()).sum());
        let group = job.and_then(|j| j.lookup_group(&a.task_group));
        let spread = job.is_some_and(|j| !j.spreads.is_empty()) || group.is_some_and(|g| !g.spreads.is_empty());
        self.add("spreads", usize::from(spread));
    }
}

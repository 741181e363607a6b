//! Counts events, so that rules that were never exercised do not count as satisfied.

use std::collections::BTreeMap;

use encamp_model::*;
use encamp_scheduler::plan_check::Checked;

/// The events that a run of some length has to include.
pub const EVENTS: [&str; 28] = [
    "evaluations",
    "plans",
    "placements",
    "stops",
    "preemptions",
    "preemption evaluations",
    "static ports",
    "dynamic ports",
    "cores",
    "devices",
    "canaries",
    "rejected nodes",
    "plans accepted in part",
    "failed attempts",
    "lost deliveries",
    "cancelled evaluations",
    "duplicates",
    "unblocks",
    "reblocks",
    "conflicts tried again",
    "fail-overs",
    "nodes down",
    "nodes disconnected",
    "drains",
    "deployment updates",
    "settled jobs",
    "blocked jobs",
    "in-place updates",
];

/// Counts by event.
#[derive(Debug, Clone, Default)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// Counts an event.
    pub fn add(&mut self, event: &'static str, n: usize) {
        *self.0.entry(event).or_default() += n as u64;
    }

    /// How often an event occurred.
    pub fn count(&self, event: &str) -> u64 {
        self.0.get(event).copied().unwrap_or(0)
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Tally) {
        for (event, n) in &other.0 {
            *self.0.entry(event).or_default() += n;
        }
    }

    /// Counts the results of a plan.
    pub fn plan(&mut self, plan: &Plan, checked: &Checked) {
        self.add("plans", 1);
        self.add("rejected nodes", checked.rejected.len());
        self.add("plans accepted in part", usize::from(!checked.rejected.is_empty() && !checked.is_no_op()));
        self.add("stops", checked.node_update.values().map(Vec::len).sum());
        self.add("preemptions", checked.node_preemptions.values().map(Vec::len).sum());
        for a in checked.node_allocation.values().flatten() {
            if a.create_index != 0 {
                self.add("in-place updates", 1);
                continue;
            }
            self.add("placements", 1);
            self.add("canaries", usize::from(a.is_canary()));
            let Some(r) = &a.allocated_resources else { continue };
            self.add("devices", r.tasks.values().map(|t| t.devices.len()).sum());
            self.add("cores", r.tasks.values().map(|t| t.cpu.reserved_cores.len()).sum());
            self.add("static ports", r.shared.networks.iter().map(|n| n.reserved_ports.len()).sum());
            self.add("dynamic ports", r.shared.networks.iter().map(|n| n.dynamic_ports.len()).sum());
        }
        debug_assert!(!plan.eval_id.is_empty());
    }
}

//! The status of worker pools for operators (`docs/spec/cluster-scaling.md §11`), and their gauges.

use std::collections::BTreeMap;

use encamp_model::Time;
use encamp_telemetry::Metrics;
use parking_lot::Mutex;

use crate::arithmetic::Arithmetic;
use crate::protection::ProtectedNode;
use crate::record::Record;
use crate::registry::{NodeProblem, Pool};
use crate::status::{Action, Decision, PoolStatus, utilization};

/// The status of a pool.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// The pool; none if it is known by its state object alone.
    pool: Option<Pool>,
    record: Record,
    arithmetic: Option<Arithmetic>,
    protected: Vec<ProtectedNode>,
    decision: Decision,
    /// This instance has notified that the pool is in failsafe mode.
    told_failsafe: bool,
}

#[derive(Debug, Default)]
struct Known {
    pools: BTreeMap<String, Entry>,
    /// Problems of nodes, by the pool they name; those that name none are kept under the empty name.
    problems: BTreeMap<String, Vec<String>>,
}

/// The status of all pools.
#[derive(Debug, Default)]
pub(super) struct Board {
    known: Mutex<Known>,
}

impl Board {
    /// The pools of this cycle; those that are not among them any more are forgotten.
    pub(super) fn update(&self, pools: &BTreeMap<String, Pool>, problems: &[NodeProblem]) {
        let mut known = self.known.lock();
        known.pools.retain(|name, _| pools.contains_key(name));
        for (name, pool) in pools {
            known.pools.entry(name.clone()).or_default().pool = Some(pool.clone());
        }
        known.problems.clear();
        for node in problems {
            let lines = known.problems.entry(node.pool.clone().unwrap_or_default()).or_default();
            lines.push(format!("node {} ({}): {}", node.node_name, node.node_id, node.problems.join("; ")));
        }
    }

    /// Forgets everything: another instance acts.
    pub(super) fn clear(&self) {
        *self.known.lock() = Known::default();
    }

    /// Whether there is such a pool.
    pub(super) fn knows(&self, pool: &str) -> bool {
        self.known.lock().pools.contains_key(pool)
    }

    /// The tag of the pool's notifications; empty if the pool has no configuration any more.
    pub(super) fn notification_uid(&self, pool: &str) -> String {
        let known = self.known.lock();
        let pool = known.pools.get(pool).and_then(|e| e.pool.as_ref());
        pool.map(|p| p.parameters.notification_uid.clone()).unwrap_or_default()
    }

    /// Takes over a state object.
    pub(super) fn note(&self, pool: &str, record: &Record) {
        if let Some(entry) = self.known.lock().pools.get_mut(pool) {
            entry.record = record.clone();
            entry.told_failsafe &= record.failsafe_mode;
        }
    }

    /// Whether a notification of failsafe mode is due from this instance. It is asked for when one is sent.
    pub(super) fn tells_failsafe(&self, pool: &str) -> bool {
        match self.known.lock().pools.get_mut(pool) {
            Some(entry) => !std::mem::replace(&mut entry.told_failsafe, true),
            None => true,
        }
    }

    /// Takes over what an evaluation found: its figures, and the nodes that are never removed.
    pub(super) fn evaluated(&self, pool: &str, arithmetic: Arithmetic, protected: Vec<ProtectedNode>) {
        if let Some(entry) = self.known.lock().pools.get_mut(pool) {
            (entry.arithmetic, entry.protected) = (Some(arithmetic), protected);
        }
    }

    /// Notes a decision; `now` in Unix nanoseconds.
    pub(super) fn decide(&self, pool: &str, action: Action, reason: String, now: i64) {
        if let Some(entry) = self.known.lock().pools.get_mut(pool) {
            entry.decision = Decision { time: Time::from_unix_nanos(now), action, reason };
        }
    }

    /// Notes for every pool that nothing could be evaluated.
    pub(super) fn error_everywhere(&self, reason: &str, now: i64) {
        let decision = Decision { time: Time::from_unix_nanos(now), action: Action::Error, reason: reason.to_string() };
        for entry in self.known.lock().pools.values_mut() {
            entry.decision = decision.clone();
        }
    }

    /// All pools by name, and what is wrong with nodes of pools that do not exist for that reason.
    pub(super) fn all(&self, now: i64) -> Vec<PoolStatus> {
        let known = self.known.lock();
        let mut all: BTreeMap<&str, PoolStatus> =
            known.pools.iter().map(|(name, entry)| (name.as_str(), entry.status(name, now))).collect();
        for (name, problems) in &known.problems {
            let status = all.entry(name).or_insert_with(|| PoolStatus { pool: name.clone(), ..PoolStatus::default() });
            status.problems.extend(problems.iter().cloned());
        }
        all.into_values().collect()
    }

    /// One pool with the state object given.
    pub(super) fn status(&self, pool: &str, record: &Record, now: i64) -> PoolStatus {
        let known = self.known.lock();
        let entry = known.pools.get(pool).cloned().unwrap_or_default();
        let mut status = Entry { record: record.clone(), ..entry }.status(pool, now);
        status.problems.extend(known.problems.get(pool).into_iter().flatten().cloned());
        status
    }

    /// Sets the gauges of all pools.
    pub(super) fn gauges(&self, metrics: &Metrics) {
        for (name, entry) in &self.known.lock().pools {
            let labels = [("pool", name.as_str())];
            let gauge = |metric: &str, value: f64| metrics.gauge(metric, value, &labels);
            let nodes = entry.pool.as_ref().map_or(0, |p| p.nodes.len());
            gauge("nomad.autoscale.pool.nodes", nodes as f64);
            gauge("nomad.autoscale.pool.failsafe", if entry.record.failsafe_mode { 1.0 } else { 0.0 });
            gauge("nomad.autoscale.pool.scale_in_requests", entry.record.scalein_requests as f64);
            gauge("nomad.autoscale.pool.scale_out_requests", entry.record.scaleout_requests as f64);
            if let Some(figures) = &entry.arithmetic {
                gauge("nomad.autoscale.pool.utilization", utilization(figures) as f64);
                gauge("nomad.autoscale.pool.max_allowed", figures.max_allowed as f64);
            }
        }
    }
}

impl Entry {
    fn status(&self, name: &str, now: i64) -> PoolStatus {
        let mut status = PoolStatus::new(name, self.pool.as_ref(), &self.record, self.arithmetic.as_ref(), now);
        status.last_decision = self.decision.clone();
        status.protected.clone_from(&self.protected);
        if let Some(pool) = &self.pool {
            status.problems = pool
                .disagreements
                .iter()
                .map(|d| {
                    let ((node, value), (other, theirs)) = (&d.counts, &d.other);
                    format!("{} is {value:?} on node {node}, which counts, and {theirs:?} on node {other}", d.key)
                })
                .collect();
        }
        status
    }
}

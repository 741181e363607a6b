//! Statistics of blocked evaluations (`docs/spec/server.md §8.5`).

use std::collections::BTreeMap;

use super::unblocks::KEEP;
use encamp_model::{Evaluation, JobKey};

/// The CPU and memory that blocked evaluations lack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lacking {
    /// MHz.
    pub cpu: i64,
    /// MB.
    pub memory: i64,
}

/// The location of a lack of capacity.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// A datacenter with candidate nodes.
    pub datacenter: String,
    /// The exhausted node class; empty for nodes without one, and if none was exhausted.
    pub node_class: String,
    /// Node pool.
    pub node_pool: String,
}

/// Statistics of the tracker. Entries that dropped to zero stay for a while, so that gauges show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedStats {
    /// Tracked evaluations.
    pub blocked: usize,
    /// Tracked evaluations whose constraints escape computed classes.
    pub escaped: usize,
    /// Tracked evaluations that wait for a quota; always 0.
    pub quota_limit: usize,
    /// By namespace and job ID.
    pub by_job: BTreeMap<JobKey, Lacking>,
    /// By location.
    pub by_place: BTreeMap<Place, Lacking>,
}

#[derive(Debug, Default)]
struct Sum {
    lacking: Lacking,
    changed: i64,
}

impl Sum {
    fn add(&mut self, l: Lacking, sign: i64, now: i64) {
        self.lacking.cpu = self.lacking.cpu.saturating_add(l.cpu.saturating_mul(sign));
        self.lacking.memory = self.lacking.memory.saturating_add(l.memory.saturating_mul(sign));
        self.changed = now;
    }

    fn outdated(&self, now: i64) -> bool {
        self.lacking == Lacking::default() && self.changed < now.saturating_sub(KEEP)
    }
}

/// Running sums over tracked evaluations.
#[derive(Debug, Default)]
pub(super) struct Sums {
    by_job: BTreeMap<JobKey, Sum>,
    by_place: BTreeMap<Place, Sum>,
}

impl Sums {
    /// Adds (`sign` 1) or subtracts (-1) the resources that an evaluation lacks.
    pub(crate) fn count(&mut self, eval: &Evaluation, sign: i64, now: i64) {
        for metric in eval.failed_tg_allocs.values() {
            let exhausted = metric.resources_exhausted.values();
            let lacking = exhausted.fold(Lacking::default(), |sum, r| Lacking {
                cpu: sum.cpu.saturating_add(r.cpu),
                memory: sum.memory.saturating_add(r.memory_mb),
            });
            if lacking == Lacking::default() {
                continue;
            }
            self.by_job.entry(eval.job_key()).or_default().add(lacking, sign, now);
            let no_class = [String::new()];
            let full: Vec<&String> = match metric.class_exhausted.is_empty() {
                true => no_class.iter().collect(),
                false => metric.class_exhausted.keys().collect(),
            };
            for (datacenter, _) in metric.nodes_available.iter().flat_map(|n| n.iter()) {
                for class in &full {
                    let place = Place {
                        datacenter: datacenter.to_string(),
                        node_class: class.to_string(),
                        node_pool: metric.node_pool.clone(),
                    };
                    self.by_place.entry(place).or_default().add(lacking, sign, now);
                }
            }
        }
    }

    /// Removes entries that are zero and have not changed for a while.
    pub(crate) fn prune(&mut self, now: i64) {
        self.by_job.retain(|_, s| !s.outdated(now));
        self.by_place.retain(|_, s| !s.outdated(now));
    }

    /// The sums by job and by location.
    pub(crate) fn stats(&self, blocked: usize, escaped: usize) -> BlockedStats {
        BlockedStats {
            blocked,
            escaped,
            quota_limit: 0,
            by_job: self.by_job.iter().map(|(k, s)| (k.clone(), s.lacking)).collect(),
            by_place: self.by_place.iter().map(|(k, s)| (k.clone(), s.lacking)).collect(),
        }
    }
}

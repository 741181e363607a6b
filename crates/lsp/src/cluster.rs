//! What the server keeps of a cluster: the values that nodes have of attributes, the names of its objects, and the
//! settings that decide about jobs. The state itself stays in processes that end when they have answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use encamp_model::{Constraint, Namespace, NodePool, SchedulerConfiguration, ServerSettings};
use encamp_scheduler::constraint::{Operator, Target};
use encamp_state::State;
use serde::{Deserialize, Serialize};

/// Longer values are not offered.
const MAX_VALUE: usize = 80;
/// Values that are offered of an attribute.
const MAX_OFFERED: usize = 50;

/// A summary of a cluster.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The names that job files can refer to.
    pub(crate) names: Names,
    /// What decides about jobs.
    settings: Settings,
    /// The time as of which jobs are judged, Unix nanoseconds.
    pub(crate) now: i64,
}

/// The settings that decide about jobs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Settings {
    namespaces: Vec<Arc<Namespace>>,
    pools: Vec<Arc<NodePool>>,
    scheduler: Option<Arc<SchedulerConfiguration>>,
    servers: Option<Arc<ServerSettings>>,
    region: Option<String>,
}

/// The names of a cluster, with the values that nodes have.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Names {
    /// References without `${}`, such as `attr.kernel.name`, with how many nodes have which value.
    pub attributes: BTreeMap<String, BTreeMap<String, u32>>,
    /// Datacenters.
    pub datacenters: BTreeSet<String>,
    /// Node pools.
    pub pools: BTreeSet<String>,
    /// Namespaces.
    pub namespaces: BTreeSet<String>,
    /// Host volumes, and volumes of storage plugins.
    pub volumes: BTreeSet<String>,
    /// Drivers of the nodes.
    pub drivers: BTreeSet<String>,
    /// Images of registered jobs.
    pub images: BTreeSet<String>,
    /// How many nodes there are.
    pub nodes: u32,
}

/// A cluster as the server keeps it.
pub(crate) struct Cluster {
    /// What was read.
    pub summary: Summary,
    /// A state with the settings alone, by which registration judges jobs.
    pub settings: State,
}

impl From<Summary> for Cluster {
    fn from(summary: Summary) -> Cluster {
        let settings = &summary.settings;
        let mut state = State::new();
        state.server_settings.clone_from(&settings.servers);
        settings.namespaces.iter().for_each(|n| state.upsert_namespace(n.clone()));
        settings.pools.iter().for_each(|p| state.upsert_node_pool(p.clone()));
        settings.scheduler.iter().for_each(|c| state.set_scheduler_config(c.clone()));
        Cluster { settings: state, summary }
    }
}

impl Summary {
    /// The summary of a state that jobs are planned on as of `now`, Unix nanoseconds.
    pub fn of(state: &State, now: i64) -> Summary {
        let region = state.jobs().map(|entry| entry.current.region.as_str()).find(|r| !r.is_empty());
        Summary {
            names: Names::of(state),
            settings: Settings {
                namespaces: state.namespaces().cloned().collect(),
                pools: state.node_pools().cloned().collect(),
                scheduler: state.scheduler_config.clone(),
                servers: state.server_settings.clone(),
                region: region.map(str::to_owned),
            },
            now,
        }
    }

    /// The region of the jobs.
    pub(crate) fn region(&self) -> Option<&str> {
        self.settings.region.as_deref()
    }
}

impl Names {
    fn of(state: &State) -> Names {
        let mut out = Names::default();
        for entry in state.nodes() {
            let node = &**entry.node;
            out.nodes += 1;
            out.datacenters.insert(node.datacenter.clone());
            for (name, value) in node.attributes.iter() {
                out.note("attr.", name, value);
                if let Some(driver) = name.strip_prefix("driver.").filter(|d| !d.contains('.')) {
                    out.drivers.insert(driver.to_owned());
                }
            }
            for (name, value) in node.meta.iter() {
                out.note("meta.", name, value);
            }
            let own = [
                ("datacenter", &node.datacenter),
                ("class", &node.node_class),
                ("pool", &node.node_pool),
                ("unique.id", &node.id),
                ("unique.name", &node.name),
            ];
            for (name, value) in own {
                out.note("node.", name, value);
            }
            out.attributes.entry("node.region".to_owned()).or_default();
            out.pools.insert(node.node_pool.clone());
            out.volumes.extend(node.host_volumes.keys().cloned());
        }
        out.pools.extend(state.node_pools().map(|p| p.name.clone()));
        out.namespaces.extend(state.namespaces().map(|n| n.name.clone()));
        out.volumes.extend(state.csi_volumes().map(|v| v.id.clone()));
        for job in state.jobs() {
            let tasks = job.current.task_groups.iter().flat_map(|g| &g.tasks);
            let images = tasks.filter_map(|t| t.config.get("image")?.as_str());
            out.images.extend(images.map(str::to_owned));
        }
        out.pools.remove("");
        out
    }

    fn note(&mut self, prefix: &str, name: &str, value: &str) {
        let values = self.attributes.entry(format!("{prefix}{name}")).or_default();
        *values.entry(value.to_owned()).or_default() += 1;
    }

    /// The values to offer of a reference: none of those that tell each node from all others.
    pub(crate) fn offered(&self, reference: &str) -> impl Iterator<Item = (&str, u32)> {
        let tells_apart = reference.split('.').nth(1) == Some("unique");
        let values = self.attributes.get(reference).filter(|_| !tells_apart).into_iter().flatten();
        let short = values.map(|(value, count)| (value.as_str(), *count)).filter(|(value, _)| value.len() <= MAX_VALUE);
        short.take(MAX_OFFERED)
    }

    /// The values that nodes have of a reference, most frequent first, with how many nodes have each.
    pub(crate) fn values(&self, reference: &str) -> Vec<(&str, u32)> {
        let values = self.attributes.get(reference).into_iter().flatten();
        let mut out: Vec<(&str, u32)> = values.map(|(value, count)| (value.as_str(), *count)).collect();
        out.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        out
    }

    /// How many nodes satisfy a constraint; `None` where it compares two attributes of a node, since only the values of
    /// single ones are known.
    pub(crate) fn satisfying(&self, constraint: &Constraint) -> Option<u32> {
        let literal = |target: &str| match Target::parse(target) {
            Target::Literal(text) => Some(Some(text)),
            Target::Unknown => Some(None),
            _ => None,
        };
        let right = literal(&constraint.rtarget);
        let left = literal(&constraint.ltarget);
        match (left, right) {
            (Some(left), Some(right)) => {
                let holds = Operator::compile(&constraint.operand, right.as_deref());
                Some(if holds.matches(left.as_deref(), right.as_deref()) { self.nodes } else { 0 })
            }
            (None, Some(right)) => {
                let operator = Operator::compile(&constraint.operand, right.as_deref());
                Some(self.count(&constraint.ltarget, |value| operator.matches(value, right.as_deref())))
            }
            (Some(left), None) => {
                let operator = Operator::compile(&constraint.operand, None);
                Some(self.count(&constraint.rtarget, |value| operator.matches(left.as_deref(), value)))
            }
            (None, None) => None,
        }
    }

    /// How many nodes have a value of a target, or none, that a condition holds for.
    fn count(&self, target: &str, holds: impl Fn(Option<&str>) -> bool) -> u32 {
        let reference = target.trim_start_matches("${").trim_end_matches('}');
        let values = || self.attributes.get(reference).into_iter().flatten();
        let having: u32 = values().map(|(_, count)| count).sum();
        let some: u32 = values().filter(|(value, _)| holds(Some(value))).map(|(_, count)| count).sum();
        some + if holds(None) { self.nodes.saturating_sub(having) } else { 0 }
    }
}

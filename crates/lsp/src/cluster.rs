//! What a cluster has: the values that nodes have of attributes, and the names of its objects.

use std::collections::{BTreeMap, BTreeSet};

use encamp_model::Constraint;
use encamp_scheduler::constraint::{Check, Target};
use encamp_state::State;

/// Values that are kept of an attribute.
const MAX_VALUES: usize = 50;
/// Longer values are not offered.
const MAX_VALUE: usize = 80;

/// The names that job files can refer to, with the values that nodes have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// References without `${}`, such as `attr.kernel.name`, with how many nodes have which value.
    pub attributes: BTreeMap<String, BTreeMap<String, usize>>,
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
    /// Host networks of the nodes' attributes.
    pub nodes: usize,
}

impl Names {
    /// The names of a cluster.
    pub(crate) fn of(state: &State) -> Names {
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
            let own = [("datacenter", &node.datacenter), ("class", &node.node_class), ("pool", &node.node_pool)];
            for (name, value) in own {
                out.note("node.", name, value);
            }
            for name in ["unique.id", "unique.name", "region"] {
                out.attributes.entry(format!("node.{name}")).or_default();
            }
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
        let unique = name.starts_with("unique.") || value.len() > MAX_VALUE;
        let values = self.attributes.entry(format!("{prefix}{name}")).or_default();
        if !unique && (values.len() < MAX_VALUES || values.contains_key(value)) {
            *values.entry(value.to_owned()).or_default() += 1;
        }
    }
}

/// How many nodes satisfy a constraint, of how many.
pub(crate) fn satisfying(state: &State, constraint: &Constraint) -> (usize, usize) {
    let check = Check::from(constraint);
    let mut counts = (0, 0);
    for entry in state.nodes() {
        counts.1 += 1;
        counts.0 += usize::from(check.matches(&entry.node));
    }
    counts
}

/// The values that nodes have of a reference, most frequent first, with how many nodes have each.
pub(crate) fn values(state: &State, reference: &str) -> Vec<(String, usize)> {
    let target = Target::parse(&format!("${{{reference}}}"));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in state.nodes() {
        if let Some(value) = target.resolve(&entry.node) {
            *counts.entry(value.to_owned()).or_default() += 1;
        }
    }
    let mut out: Vec<(String, usize)> = counts.into_iter().collect();
    out.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    out
}

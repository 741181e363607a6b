//! How much of its nodes a cluster uses, before and after a plan.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use encamp_model::{Node, NodeStatus};
use encamp_state::{NodeEntry, State};

/// The maximum number of cells of a map. With more nodes, a cell stands for several.
pub(super) const MOST_CELLS: usize = 600;
/// The maximum number of groups of nodes.
pub(super) const MOST_GROUPS: usize = 40;

/// What a node is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// New allocations can be placed.
    Ready,
    /// Allocations run, new ones are not placed: it drains, is not eligible, or initializes.
    Closed,
    /// It is down or disconnected.
    Down,
}

/// The usage of a node. Of a resource that the node does not have, nothing is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    pub standing: Standing,
    pub cpu: Part,
    pub memory: Part,
}

/// Part of a resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub used: i64,
    pub all: i64,
}

impl Part {
    /// In percent, more than 100 if more is used than there is.
    pub(super) fn percent(self) -> i64 {
        match (self.used, self.all) {
            (used, _) if used <= 0 => 0,
            (_, all) if all <= 0 => 100,
            (used, all) => i64::try_from(i128::from(used) * 100 / i128::from(all)).unwrap_or(i64::MAX),
        }
    }

    fn add(&mut self, other: Part) {
        self.used = self.used.saturating_add(other.used);
        self.all = self.all.saturating_add(other.all);
    }
}

impl Usage {
    fn of(entry: &NodeEntry) -> Usage {
        let standing = match entry.node.status {
            NodeStatus::Down | NodeStatus::Disconnected => Standing::Down,
            _ if entry.node.ready() => Standing::Ready,
            _ => Standing::Closed,
        };
        Usage {
            standing,
            cpu: Part { used: entry.usage.cpu, all: entry.info.cpu },
            memory: Part { used: entry.usage.memory, all: entry.info.memory },
        }
    }

    /// The most used of CPU and memory, in percent.
    pub(super) fn most(&self) -> i64 {
        self.cpu.percent().max(self.memory.percent())
    }
}

/// A node before and after; absent where it is not part of the cluster.
#[derive(Debug, Clone)]
pub(super) struct NodeHeat {
    pub name: String,
    pub id: String,
    pub before: Option<Usage>,
    pub after: Option<Usage>,
}

impl NodeHeat {
    pub(super) fn changed(&self) -> bool {
        self.before != self.after
    }
}

/// The nodes of a node pool in a datacenter, by name.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub datacenter: String,
    pub pool: String,
    pub nodes: Vec<NodeHeat>,
}

/// Sums over the nodes that are not down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub nodes: usize,
    pub cpu: Part,
    pub memory: Part,
    /// The highest usage of a node, in percent.
    pub highest: i64,
}

impl Group {
    /// The sums of one side.
    pub(super) fn sums(&self, side: impl Fn(&NodeHeat) -> Option<Usage>) -> Sums {
        let mut sums = Sums::default();
        for usage in self.nodes.iter().filter_map(side).filter(|u| u.standing != Standing::Down) {
            sums.nodes += 1;
            sums.cpu.add(usage.cpu);
            sums.memory.add(usage.memory);
            sums.highest = sums.highest.max(usage.most());
        }
        sums
    }

    fn changed(&self) -> bool {
        self.nodes.iter().any(NodeHeat::changed)
    }
}

/// The usage of all nodes of a cluster before and after.
#[derive(Debug, Clone, Default)]
pub struct Heat {
    /// By datacenter and node pool.
    pub(super) groups: Vec<Group>,
    /// The number of groups that are left out because there are too many, and of their nodes.
    pub(super) left_out: (usize, usize),
}

impl Heat {
    /// Compares two states of a cluster.
    pub fn new(before: &State, after: &State) -> Heat {
        let mut nodes: BTreeMap<String, (&Node, NodeHeat)> = BTreeMap::new();
        for entry in before.nodes() {
            let heat = NodeHeat {
                name: entry.node.name.clone(),
                id: entry.node.id.clone(),
                before: Some(Usage::of(entry)),
                after: None,
            };
            nodes.insert(entry.node.id.clone(), (&entry.node, heat));
        }
        for entry in after.nodes() {
            let new =
                || NodeHeat { name: entry.node.name.clone(), id: entry.node.id.clone(), before: None, after: None };
            nodes.entry(entry.node.id.clone()).or_insert_with(|| (&entry.node, new())).1.after = Some(Usage::of(entry));
        }
        let mut groups: BTreeMap<(&str, &str), Vec<NodeHeat>> = BTreeMap::new();
        for (node, heat) in nodes.into_values() {
            let pool = if node.node_pool.is_empty() { "default" } else { node.node_pool.as_str() };
            groups.entry((&node.datacenter, pool)).or_default().push(heat);
        }
        let groups = groups.into_iter().map(|((datacenter, pool), mut nodes)| {
            nodes.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
            Group { datacenter: datacenter.into(), pool: pool.into(), nodes }
        });
        Heat::of(groups.collect())
    }

    /// Keeps the groups with changes and the largest others, in their order.
    fn of(mut groups: Vec<Group>) -> Heat {
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|i| groups.get(*i).map(|g| (Reverse(g.changed()), Reverse(g.nodes.len()))));
        let dropped = order.split_off(order.len().min(MOST_GROUPS));
        let nodes = dropped.iter().filter_map(|i| groups.get(*i)).map(|g| g.nodes.len()).sum();
        let left_out = (dropped.len(), nodes);
        order.sort_unstable();
        let mut i = 0;
        groups.retain(|_| {
            i += 1;
            order.binary_search(&(i - 1)).is_ok()
        });
        Heat { groups, left_out }
    }

    /// The number of nodes for which a cell stands.
    pub(super) fn nodes_per_cell(&self) -> usize {
        let nodes = |per_cell: usize| self.groups.iter().map(|g| g.nodes.len().div_ceil(per_cell)).sum::<usize>();
        // Groups are filled up to full cells, so that a little more than the quotient can be necessary.
        let mut per_cell = nodes(1).div_ceil(MOST_CELLS).max(1);
        while nodes(per_cell) > MOST_CELLS {
            per_cell += 1;
        }
        per_cell
    }

    /// The nodes that change, those with the highest usage afterwards first.
    pub(super) fn changes(&self) -> Vec<(&Group, &NodeHeat)> {
        let all = self.groups.iter().flat_map(|g| g.nodes.iter().map(move |n| (g, n)));
        let mut changes: Vec<(&Group, &NodeHeat)> = all.filter(|(_, n)| n.changed()).collect();
        changes.sort_by_key(|(_, n)| Reverse(n.after.map(|u| u.most())));
        changes
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A node whose CPU usage goes from one percentage to another.
    pub(in crate::render::html) fn node(name: &str, before: i64, after: i64) -> NodeHeat {
        let usage = |used| Usage {
            standing: Standing::Ready,
            cpu: Part { used, all: 100 },
            memory: Part { used: 0, all: 1024 },
        };
        NodeHeat { name: name.into(), id: name.into(), before: Some(usage(before)), after: Some(usage(after)) }
    }

    pub(in crate::render::html) fn heat(groups: impl IntoIterator<Item = (String, Vec<NodeHeat>)>) -> Heat {
        let group = |(datacenter, nodes)| Group { datacenter, pool: "default".into(), nodes };
        Heat::of(groups.into_iter().map(group).collect())
    }

    #[test]
    fn percentages_are_defined_for_all_numbers() {
        let percent = |used, all| Part { used, all }.percent();
        let got = [percent(0, 0), percent(5, 0), percent(-1, 10), percent(99, 1000), percent(3, 2), percent(1, -1)];
        assert_eq!(got, [0, 100, 0, 9, 150, 100]);
        assert_eq!(percent(i64::MAX, 1), i64::MAX);
    }

    #[test]
    fn groups_with_changes_are_kept() {
        let small = |n: usize| (format!("dc{n:03}"), vec![node("a", 1, if n == 70 { 2 } else { 1 })]);
        let large = ("large".to_string(), vec![node("b", 1, 1), node("c", 1, 1)]);
        let heat = heat((0..100).map(small).chain([large]));
        assert_eq!((heat.groups.len(), heat.left_out), (MOST_GROUPS, (61, 61)));
        let names: Vec<&str> = heat.groups.iter().map(|g| g.datacenter.as_str()).collect();
        assert!(names.is_sorted() && names.contains(&"dc070") && names.contains(&"large"), "{names:?}");
        assert_eq!(heat.changes().len(), 1);
    }

    #[test]
    fn cells_are_bounded() {
        let group = |n: usize, nodes: usize| (format!("dc{n}"), vec![node("a", 1, 1); nodes]);
        for (groups, nodes) in [(1, 5000), (40, 101), (7, 599), (3, 200), (40, 15)] {
            let heat = heat((0..groups).map(|n| group(n, nodes)));
            let per_cell = heat.nodes_per_cell();
            assert!(heat.groups.iter().map(|g| g.nodes.len().div_ceil(per_cell)).sum::<usize>() <= MOST_CELLS);
        }
        assert_eq!(heat([group(0, MOST_CELLS)]).nodes_per_cell(), 1);
    }
}

//! The topology: what is used of each node, in groups, and where the blocks of the nodes stand.

use std::collections::{BTreeMap, HashMap};

use encamp_ui::{AllocationRow, Amount, Condition, NodeRow};

use crate::row::{Facts, Kind, Object};

/// The columns of a block: CPU, memory, a mark and a blank.
pub const BLOCK: usize = 4;

/// A node and what is used of it.
#[derive(Debug, Clone)]
pub struct NodeUse {
    /// The node.
    pub object: Object,
    /// Its name.
    pub name: String,
    /// Its datacenter.
    pub datacenter: String,
    /// Its pool.
    pub pool: String,
    /// Whether it takes work.
    pub condition: Condition,
    /// What decides its actions.
    pub facts: Facts,
    /// What jobs can have.
    pub capacity: Amount,
    /// What allocations have.
    pub used: Amount,
    /// How many allocations there are.
    pub allocations: usize,
}

/// What nodes are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// By datacenter.
    #[default]
    Datacenter,
    /// By node pool.
    Pool,
}

/// All nodes, by name, with what is used of them.
pub fn nodes(rows: Vec<NodeRow>, allocations: impl IntoIterator<Item = AllocationRow>) -> Vec<NodeUse> {
    let mut nodes: Vec<NodeUse> = rows.into_iter().map(node).collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.object.id.cmp(&b.object.id)));
    let places: HashMap<String, usize> = nodes.iter().enumerate().map(|(i, n)| (n.object.id.clone(), i)).collect();
    for allocation in allocations {
        let node = places.get(&allocation.node_id).and_then(|place| nodes.get_mut(*place));
        if let Some(node) = node.filter(|_| !allocation.is_over()) {
            node.used.add(allocation.amount());
            node.allocations = node.allocations.saturating_add(1);
        }
    }
    nodes
}

fn node(row: NodeRow) -> NodeUse {
    let (condition, capacity) = (row.condition(), row.capacity());
    let ineligible = row.scheduling_eligibility == encamp_model::NodeEligibility::Ineligible;
    NodeUse {
        object: Object::new(Kind::Node, "", &row.id),
        name: row.name,
        datacenter: row.datacenter,
        pool: row.node_pool,
        condition,
        facts: Facts { draining: row.drain, ineligible, ..Facts::default() },
        capacity,
        used: Amount::default(),
        allocations: 0,
    }
}

/// What a plan or a simulation does to allocations on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Allocations of other jobs are preempted.
    Preempted,
    /// Allocations leave.
    Displaced,
    /// Allocations are placed.
    Placed,
}

impl Change {
    /// The sign behind the block of the node.
    pub fn sign(self) -> char {
        match self {
            Change::Preempted => '×',
            Change::Displaced => '-',
            Change::Placed => '+',
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Change::Preempted => "preempted",
            Change::Displaced => "displaced",
            Change::Placed => "placed",
        }
    }
}

/// Changes by the ID of the node, with their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes(BTreeMap<String, BTreeMap<Change, usize>>);

impl Changes {
    /// Adds changes of a node.
    pub fn add(&mut self, node: &str, change: Change, count: usize) {
        let sum = self.0.entry(node.to_string()).or_default().entry(change).or_default();
        *sum = sum.saturating_add(count);
    }

    /// The changes of a node, the worst first.
    pub fn of(&self, node: &str) -> Vec<(Change, usize)> {
        self.0.get(node).into_iter().flatten().map(|(change, count)| (*change, *count)).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A line of the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The title of a group: its name and its nodes.
    Title(String, Vec<usize>),
    /// Nodes, by their places in the list.
    Nodes(Vec<usize>),
}

/// The lines of a picture, and whether each node has a line of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// From the top.
    pub lines: Vec<Line>,
    /// Whether each node has a line of its own.
    pub wide: bool,
}

impl Layout {
    /// The picture of these nodes for a space of so many columns and rows.
    pub fn new(nodes: &[NodeUse], grouping: Grouping, width: usize, height: usize) -> Layout {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, node) in nodes.iter().enumerate() {
            let name = match grouping {
                Grouping::Datacenter => &node.datacenter,
                Grouping::Pool => &node.pool,
            };
            groups.entry(name.as_str()).or_default().push(place);
        }
        let wide = nodes.len().saturating_add(groups.len()) <= height;
        let per_line = if wide { 1 } else { width.saturating_sub(1).checked_div(BLOCK).unwrap_or(1).max(1) };
        let mut lines = Vec::new();
        for (name, places) in groups {
            let name = if name.is_empty() { "(none)" } else { name };
            lines.push(Line::Title(name.to_string(), places.clone()));
            lines.extend(places.chunks(per_line).map(|nodes| Line::Nodes(nodes.to_vec())));
        }
        Layout { lines, wide }
    }

    /// The line and the column (in nodes) of a node.
    pub fn place_of(&self, node: usize) -> Option<(usize, usize)> {
        self.lines.iter().enumerate().find_map(|(line, content)| match content {
            Line::Nodes(nodes) => Some((line, nodes.iter().position(|n| *n == node)?)),
            Line::Title(..) => None,
        })
    }

    /// The nodes of a line.
    pub fn nodes_of(&self, line: usize) -> Vec<usize> {
        match self.lines.get(line) {
            Some(Line::Nodes(nodes)) => nodes.clone(),
            Some(Line::Title(..)) | None => Vec::new(),
        }
    }

    /// The node at a line and column, or the last one of the line before it.
    pub fn node_at(&self, line: usize, column: usize) -> Option<usize> {
        match self.lines.get(line)? {
            Line::Nodes(nodes) => nodes.get(column).or(nodes.last()).copied(),
            Line::Title(..) => None,
        }
    }

    /// The node so many lines below (or above) another, over titles.
    pub fn beside(&self, node: usize, down: isize) -> Option<usize> {
        let (line, column) = self.place_of(node)?;
        let mut left = down.unsigned_abs();
        let (mut at, mut found) = (line, None);
        while left > 0 {
            at = at.checked_add_signed(down.signum()).filter(|at| *at < self.lines.len())?;
            if let Some(node) = self.node_at(at, column) {
                found = Some(node);
                left = left.saturating_sub(1);
            }
        }
        found
    }
}

/// Eighths of a block for a share in percent: without colours, too, fuller nodes have higher blocks.
pub fn block(percent: i64) -> char {
    const BLOCKS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let step = percent.clamp(0, 100).saturating_mul(8).saturating_add(99).checked_div(100).unwrap_or(0);
    usize::try_from(step).ok().and_then(|step| BLOCKS.get(step)).copied().unwrap_or('█')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(count: usize) -> Vec<NodeUse> {
        let row = |n: usize| {
            serde_json::from_value(serde_json::json!({
                "ID": format!("{n:04}"), "Name": format!("n{n:04}"), "Datacenter": format!("dc{}", n % 2),
                "NodePool": "default", "Status": "ready", "SchedulingEligibility": "eligible",
                "NodeResources": {"Cpu": {"CpuShares": 4000}, "Memory": {"MemoryMB": 1000}}
            }))
            .expect("a node")
        };
        let used = serde_json::json!({
            "ID": "a", "NodeID": "0001", "ClientStatus": "running",
            "AllocatedResources": {"Tasks": {"t": {"Cpu": {"CpuShares": 1000}, "Memory": {"MemoryMB": 900}}}}
        });
        nodes((0..count).map(row).collect(), [serde_json::from_value(used).expect("an allocation")])
    }

    #[test]
    fn allocations_count_on_their_nodes() {
        let nodes = cluster(3);
        let shares: Vec<_> = nodes.iter().map(|n| (n.used.share_of(n.capacity), n.allocations)).collect();
        assert_eq!(shares, [((0, 0), 0), ((25, 90), 1), ((0, 0), 0)]);
    }

    #[test]
    fn few_nodes_have_lines_of_their_own_and_many_share_them() {
        let nodes = cluster(6);
        let few = Layout::new(&nodes, Grouping::Datacenter, 80, 20);
        assert!(few.wide && few.lines.len() == 8, "{few:?}");
        let nodes = cluster(100);
        let many = Layout::new(&nodes, Grouping::Pool, 80, 20);
        assert!(!many.wide && many.lines.len() == 7, "{many:?}");
        assert_eq!(many.place_of(20), Some((2, 1)));
        assert_eq!((many.beside(20, 1), many.beside(20, -1), many.beside(0, -1)), (Some(39), Some(1), None));
    }

    #[test]
    fn neighbours_are_found_over_titles() {
        let nodes = cluster(4);
        let layout = Layout::new(&nodes, Grouping::Datacenter, 80, 20);
        assert_eq!(layout.beside(2, 1), Some(1));
    }

    #[test]
    fn fuller_nodes_have_higher_blocks() {
        assert_eq!([0, 1, 50, 99, 100, 300].map(block), ['·', '▁', '▄', '█', '█', '█']);
    }
}

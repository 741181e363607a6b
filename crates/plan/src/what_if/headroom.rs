//! The free capacity of ready nodes, by node pool and by datacenter.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outcome::{Fate, Outcome};
use encamp_model::Node;
use encamp_state::{NodeEntry, State};

/// Total and free capacity of a set of ready nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Room {
    /// Nodes that are ready, eligible and not draining.
    pub nodes: i64,
    /// MHz.
    #[serde(rename = "CPU")]
    pub cpu: i64,
    /// MHz not used.
    #[serde(rename = "CPUFree")]
    pub cpu_free: i64,
    /// MB of memory.
    #[serde(rename = "MemoryMB")]
    pub memory_mb: i64,
    /// MB of memory not used.
    #[serde(rename = "MemoryFreeMB")]
    pub memory_free_mb: i64,
    /// MB of disk.
    #[serde(rename = "DiskMB")]
    pub disk_mb: i64,
    /// MB of disk not used.
    #[serde(rename = "DiskFreeMB")]
    pub disk_free_mb: i64,
}

/// What happens to the allocations of a set of nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Moves {
    /// Allocations that left these nodes.
    pub displaced: usize,
    /// Those of them that are unplaced.
    pub unplaced: usize,
    /// Allocations that are placed on these nodes, as replacements or new.
    pub received: usize,
}

/// The free capacity of one node pool before and after, and what happens to the allocations there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PoolRoom {
    /// The node pool.
    pub pool: String,
    /// Before the changes.
    pub before: Room,
    /// After them.
    pub after: Room,
    /// The allocations.
    #[serde(flatten)]
    pub moves: Moves,
}

/// The same of one datacenter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct DatacenterRoom {
    /// The datacenter.
    pub datacenter: String,
    /// Before the changes.
    pub before: Room,
    /// After them.
    pub after: Room,
    /// The allocations.
    #[serde(flatten)]
    pub moves: Moves,
}

/// The free capacity of every node pool that has nodes, by name.
pub fn pools(before: &State, after: &State, outcome: &Outcome) -> Vec<PoolRoom> {
    let pool = |node: &Node| if node.node_pool.is_empty() { "default".into() } else { node.node_pool.clone() };
    let all = places(before, after, outcome, pool).into_iter();
    all.map(|(pool, Place { before, after, moves })| PoolRoom { pool, before, after, moves }).collect()
}

/// The free capacity of every datacenter that has nodes, by name.
pub fn datacenters(before: &State, after: &State, outcome: &Outcome) -> Vec<DatacenterRoom> {
    let all = places(before, after, outcome, |node| node.datacenter.clone()).into_iter();
    all.map(|(datacenter, Place { before, after, moves })| DatacenterRoom { datacenter, before, after, moves })
        .collect()
}

/// The capacity of the ready nodes that are meant.
pub fn ready(state: &State, meant: impl Fn(&Node) -> bool) -> Room {
    let mut room = Room::default();
    state.nodes().filter(|e| meant(&e.node)).for_each(|e| add(&mut room, e));
    room
}

/// A set of nodes.
#[derive(Default)]
struct Place {
    before: Room,
    after: Room,
    moves: Moves,
}

/// The sets of nodes for which `name` is the same.
fn places(before: &State, after: &State, outcome: &Outcome, name: impl Fn(&Node) -> String) -> BTreeMap<String, Place> {
    let mut all: BTreeMap<String, Place> = BTreeMap::new();
    for e in before.nodes() {
        add(&mut all.entry(name(&e.node)).or_default().before, e);
    }
    for e in after.nodes() {
        add(&mut all.entry(name(&e.node)).or_default().after, e);
    }
    let of = |id: &str| before.node(id).or_else(|| after.node(id)).map(|e| name(&e.node));
    for d in &outcome.displaced {
        if let Some(place) = of(&d.from.node_id).and_then(|name| all.get_mut(&name)) {
            place.moves.displaced += 1;
            place.moves.unplaced += usize::from(d.fate == Fate::Unplaced);
        }
    }
    let placed = outcome.displaced.iter().filter_map(|d| d.to.as_ref()).chain(outcome.placed.iter().map(|p| &p.on));
    for on in placed {
        if let Some(place) = of(&on.node_id).and_then(|name| all.get_mut(&name)) {
            place.moves.received += 1;
        }
    }
    all
}

/// Adds the capacity of a node if it is ready.
fn add(room: &mut Room, e: &NodeEntry) {
    if !e.node.ready() {
        return;
    }
    room.nodes += 1;
    for (all, free, has, used) in [
        (&mut room.cpu, &mut room.cpu_free, e.info.cpu, e.usage.cpu),
        (&mut room.memory_mb, &mut room.memory_free_mb, e.info.memory, e.usage.memory),
        (&mut room.disk_mb, &mut room.disk_free_mb, e.info.disk, e.usage.disk),
    ] {
        *all = all.saturating_add(has);
        *free = free.saturating_add(has.saturating_sub(used).max(0));
    }
}

//! The free capacity of ready nodes.

use std::collections::BTreeMap;

use serde::Serialize;

use encamp_state::State;

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

/// The free capacity of one node pool before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PoolRoom {
    /// The node pool.
    pub pool: String,
    /// Before the changes.
    pub before: Room,
    /// After them.
    pub after: Room,
}

/// The free capacity of every node pool that has nodes, by name.
pub fn headroom(before: &State, after: &State) -> Vec<PoolRoom> {
    let (mut old, mut new) = (rooms(before), rooms(after));
    let mut pools: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    pools.sort_unstable();
    pools.dedup();
    let room = |rooms: &mut BTreeMap<String, Room>, pool: &str| rooms.remove(pool).unwrap_or_default();
    pools
        .into_iter()
        .map(|pool| PoolRoom { before: room(&mut old, &pool), after: room(&mut new, &pool), pool })
        .collect()
}

fn rooms(state: &State) -> BTreeMap<String, Room> {
    let mut out: BTreeMap<String, Room> = BTreeMap::new();
    for e in state.nodes() {
        let pool = if e.node.node_pool.is_empty() { "default" } else { &e.node.node_pool };
        let room = match out.get_mut(pool) {
            Some(room) => room,
            None => out.entry(pool.to_string()).or_default(),
        };
        if !e.node.ready() {
            continue;
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
    out
}

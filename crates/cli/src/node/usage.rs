//! Allocated and used resources of a node (`docs/spec/cli.md §10.1`).

use crate::connection::Connection;
use crate::render::stats::whole;
use crate::render::table::{Form, table};
use crate::render::values::{bytes, megabytes};
use encamp_model::stats::HostStats;
use encamp_model::{Allocation, ClientStatus, Node};

/// The allocatable resources of a node: MHz, MB, MB of disk, without reserved resources.
fn offered(node: &Node) -> (i64, i64, i64) {
    let (all, reserved) = (node.node_resources.as_ref(), node.reserved_resources.as_ref());
    let minus = |all: Option<i64>, reserved: Option<i64>| all.unwrap_or(0).saturating_sub(reserved.unwrap_or(0));
    (
        minus(all.map(|r| r.cpu.cpu_shares), reserved.map(|r| r.cpu.cpu_shares)),
        minus(all.map(|r| r.memory.memory_mb), reserved.map(|r| r.memory.memory_mb)),
        minus(all.map(|r| r.disk.disk_mb), reserved.map(|r| r.disk.disk_mb)),
    )
}

fn running(allocs: &[Allocation]) -> impl Iterator<Item = &Allocation> {
    allocs.iter().filter(|alloc| alloc.client_status == ClientStatus::Running)
}

/// The resources of one allocation: MHz, MB, MB of disk.
fn given(alloc: &Allocation) -> (i64, i64, i64) {
    if let Some(resources) = &alloc.allocated_resources
        && !resources.tasks.is_empty()
    {
        let cpu = resources.tasks.values().map(|t| t.cpu.cpu_shares).fold(0, i64::saturating_add);
        let memory = resources.tasks.values().map(|t| t.memory.memory_mb).fold(0, i64::saturating_add);
        return (cpu, memory, resources.shared.disk_mb);
    }
    alloc.resources.as_ref().map_or((0, 0, 0), |r| (r.cpu, r.memory_mb, r.disk_mb))
}

/// The resources of the running allocations.
pub(super) fn allocated(node: &Node, allocs: &[Allocation]) -> String {
    let (cpu, memory, disk) = offered(node);
    let used = running(allocs).map(given).fold((0i64, 0i64, 0i64), |sum, one| {
        (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1), sum.2.saturating_add(one.2))
    });
    let count = running(allocs).count();
    let count = if node.node_max_allocs > 0 { format!("{count}/{}", node.node_max_allocs) } else { count.to_string() };
    let row = format!(
        "{}/{cpu} MHz|{}/{}|{}/{}|{count}",
        used.0,
        megabytes(used.1),
        megabytes(memory),
        megabytes(used.2),
        megabytes(disk)
    );
    table(&["CPU|Memory|Disk|Alloc Count".to_string(), row], Form::List)
}

/// The resource usage of the running allocations; `None` if the statistics of one cannot be read.
pub(super) fn measured_allocations(c: &Connection, node: &Node, allocs: &[Allocation]) -> Option<String> {
    let (mut ticks, mut used) = (0.0, 0u64);
    for alloc in running(allocs) {
        let (stats, _) = c.wait(c.client.allocation_stats(&alloc.id)).ok()?;
        let usage = stats.resource_usage;
        ticks += usage.cpu_stats.total_ticks;
        let memory = &usage.memory_stats;
        let measured = memory.measured.iter().any(|name| name == "RSS");
        used = used.saturating_add(if memory.rss == 0 && !measured { memory.usage } else { memory.rss });
    }
    let (cpu, memory, _) = offered(node);
    let row = format!("{}/{cpu} MHz|{}/{}", whole(ticks), bytes(used), megabytes(memory));
    Some(table(&["CPU|Memory".to_string(), row], Form::List))
}

/// The resource usage of the host.
pub(super) fn host(node: &Node, stats: &HostStats) -> String {
    let cpu = node.node_resources.as_ref().map_or(0, |r| r.cpu.cpu_shares);
    let device = node.attributes.get("unique.storage.volume").map(String::as_str).unwrap_or_default();
    let disk = match stats.disk_stats.iter().find(|disk| disk.device == device) {
        Some(disk) => format!("{}/{}", bytes(disk.used), bytes(disk.size)),
        None => format!("({device})"),
    };
    let memory = &stats.memory;
    let row =
        format!("{}/{cpu} MHz|{}/{}|{disk}", whole(stats.cpu_ticks_consumed), bytes(memory.used), bytes(memory.total));
    table(&["CPU|Memory|Disk".to_string(), row], Form::List)
}

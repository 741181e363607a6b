//! Metrics of the node (`docs/spec/agent-config.md §11`).

use super::super::fingerprint::MIB;
use super::super::runner::alloc::AllocRunner;
use super::Agent;
use encamp_model::stats::HostStats;
use encamp_model::{ClientStatus, Node, TaskStatus};
use encamp_telemetry::Metrics;

/// Labels of the node.
fn node_labels(node: &Node) -> Vec<(&str, &str)> {
    let class = if node.node_class.is_empty() { "none" } else { &node.node_class };
    vec![
        ("node_id", node.id.as_str()),
        ("datacenter", &node.datacenter),
        ("node_class", class),
        ("node_pool", &node.node_pool),
        ("node_status", node.status.as_str()),
        ("node_scheduling_eligibility", node.scheduling_eligibility.as_str()),
    ]
}

impl Agent {
    /// Records everything that is measured and not counted.
    pub(super) fn publish(&self, host: &HostStats) {
        let config = &self.shared.config;
        let (metrics, node) = (&self.shared.services.metrics, self.shared.node());
        let labels = node_labels(&node);
        let runners = self.all();
        metrics.gauge("client.uptime", host.uptime as f64, &labels);
        if config.publish_node_metrics {
            publish_host(metrics, host, &labels);
        }
        publish_sums(metrics, &node, &runners, &labels);
        metrics.gauge("client.gc.not_removed", self.leftover_count() as f64, &labels);
        for runner in &runners {
            publish_tasks(metrics, runner, config.publish_allocation_metrics || config.dev);
        }
    }
}

fn publish_host(metrics: &Metrics, host: &HostStats, labels: &[(&str, &str)]) {
    let m = &host.memory;
    for (name, value) in [("total", m.total), ("available", m.available), ("used", m.used), ("free", m.free)] {
        metrics.gauge(&format!("client.host.memory.{name}"), value as f64, labels);
    }
    for cpu in &host.cpu {
        let labels: Vec<_> = labels.iter().copied().chain([("cpu", cpu.cpu.as_str())]).collect();
        let values = [
            ("total", cpu.total_percent),
            ("total_percent", cpu.total_percent),
            ("user", cpu.user),
            ("system", cpu.system),
            ("idle", cpu.idle),
            ("total_ticks", cpu.total_ticks),
        ];
        for (name, value) in values {
            metrics.gauge(&format!("client.host.cpu.{name}"), value, &labels);
        }
        metrics.count("client.host.cpu.total_ticks_count", cpu.total_ticks.max(0.0) as u64, &labels);
    }
    for disk in &host.disk_stats {
        let labels: Vec<_> = labels.iter().copied().chain([("disk", disk.device.as_str())]).collect();
        let values = [
            ("size", disk.size as f64),
            ("used", disk.used as f64),
            ("available", disk.available as f64),
            ("used_percent", disk.used_percent),
            ("inodes_percent", disk.inodes_used_percent),
        ];
        for (name, value) in values {
            metrics.gauge(&format!("client.host.disk.{name}"), value, &labels);
        }
    }
}

fn publish_sums(metrics: &Metrics, node: &Node, runners: &[std::sync::Arc<AllocRunner>], labels: &[(&str, &str)]) {
    let (mut cpu, mut memory, mut max_memory, mut disk) = (0, 0, 0, 0);
    let (mut pending, mut running, mut terminal, mut blocked) = (0, 0, 0, 0);
    let mut tasks = [(TaskStatus::Pending, 0), (TaskStatus::Running, 0), (TaskStatus::Dead, 0)];
    for runner in runners.iter().filter(|r| !r.is_destroyed()) {
        let view = runner.view();
        for (state, count) in &mut tasks {
            *count += view.task_states.without_events().filter(|t| t.state == *state).count();
        }
        match view.client_status {
            ClientStatus::Complete | ClientStatus::Failed | ClientStatus::Lost => {
                terminal += 1;
                continue;
            }
            ClientStatus::Running => running += 1,
            ClientStatus::Pending | ClientStatus::Unknown | ClientStatus::Unset | ClientStatus::Other(_) => {
                match runner.is_waiting() {
                    true => blocked += 1,
                    false => pending += 1,
                }
            }
        }
        if let Some(given) = runner.alloc().allocated_resources.as_ref() {
            for task in given.tasks.values() {
                cpu += task.cpu.cpu_shares;
                memory += task.memory.memory_mb;
                max_memory += task.memory.memory_mb.max(task.memory.memory_max_mb);
            }
            disk += given.shared.disk_mb;
        }
    }
    let gauge = |name: &str, value: i64| metrics.gauge(name, value as f64, labels);
    gauge("client.allocated.cpu", cpu);
    gauge("client.allocated.memory", memory);
    gauge("client.allocated.max_memory", max_memory);
    gauge("client.allocated.disk", disk);
    if let Some(all) = &node.node_resources {
        let held = node.reserved_resources.clone().unwrap_or_default();
        gauge("client.unallocated.cpu", all.cpu.cpu_shares - held.cpu.cpu_shares - cpu);
        gauge("client.unallocated.memory", all.memory.memory_mb - held.memory.memory_mb - memory);
        gauge("client.unallocated.disk", all.disk.disk_mb - held.disk.disk_mb - disk);
    }
    for (name, value) in [("blocked", blocked), ("pending", pending), ("running", running), ("terminal", terminal)] {
        gauge(&format!("client.allocations.{name}"), value);
    }
    // Disks are only taken over within the node.
    gauge("client.allocations.migrating", 0);
    for (state, count) in tasks {
        metrics.gauge(&format!("client.tasks.{state}"), count as f64, labels);
    }
}

fn publish_tasks(metrics: &Metrics, runner: &AllocRunner, usage: bool) {
    let alloc = runner.alloc();
    if let Some(most) = alloc.group().and_then(|g| g.max_run_duration).filter(|_| !runner.is_terminal()) {
        let seconds = |nanos: i64| nanos as f64 / 1e9;
        let left = alloc.create_time.saturating_add(most).saturating_sub(crate::clock::now());
        for task in &runner.tasks {
            task.with_labels(|labels| {
                metrics.gauge("client.allocs.max_run_duration.configured_seconds", seconds(most), labels);
                metrics.gauge("client.allocs.max_run_duration.remaining_seconds", seconds(left.max(0)), labels);
            });
        }
    }
    for task in runner.tasks.iter().filter(|t| usage && t.handle().is_some()) {
        let Some(sample) = task.usage() else { continue };
        let (m, c) = (&sample.resource_usage.memory_stats, &sample.resource_usage.cpu_stats);
        let given = alloc.allocated_resources.as_ref().and_then(|r| r.tasks.get(&task.name));
        let memory = |f: fn(&encamp_model::AllocatedMemoryResources) -> i64| {
            given.map_or(0.0, |r| f(&r.memory) as f64) * MIB as f64
        };
        let measured = |names: &[String], name: &str, value: f64| names.iter().any(|n| n == name).then_some(value);
        let values = [
            ("memory.rss", measured(&m.measured, "RSS", m.rss as f64)),
            ("memory.cache", measured(&m.measured, "Cache", m.cache as f64)),
            ("memory.swap", measured(&m.measured, "Swap", m.swap as f64)),
            ("memory.usage", measured(&m.measured, "Usage", m.usage as f64)),
            ("memory.max_usage", measured(&m.measured, "Max Usage", m.max_usage as f64)),
            ("memory.allocated", Some(memory(|m| m.memory_mb)).filter(|v| *v > 0.0)),
            ("memory.max_allocated", Some(memory(|m| m.memory_max_mb)).filter(|v| *v > 0.0)),
            ("cpu.total_percent", measured(&c.measured, "Percent", c.percent)),
            ("cpu.system", measured(&c.measured, "System Mode", c.system_mode)),
            ("cpu.user", measured(&c.measured, "User Mode", c.user_mode)),
            ("cpu.throttled_time", Some(c.throttled_time as f64)),
            ("cpu.throttled_periods", Some(c.throttled_periods as f64)),
            ("cpu.total_ticks", Some(c.total_ticks)),
            ("cpu.allocated", given.map(|r| r.cpu.cpu_shares as f64)),
        ];
        task.with_labels(|labels| {
            for (name, value) in &values {
                if let Some(value) = value {
                    metrics.gauge(&format!("client.allocs.{name}"), *value, labels);
                }
            }
            metrics.count("client.allocs.cpu.total_ticks_count", c.total_ticks.max(0.0) as u64, labels);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_without_a_class() {
        let labels = |class: &str| {
            let node = Node { node_class: class.into(), ..Node::default() };
            node_labels(&node).into_iter().find(|(k, _)| *k == "node_class").map(|(_, v)| v.to_string())
        };
        assert_eq!((labels("").as_deref(), labels("big").as_deref()), (Some("none"), Some("big")));
    }
}

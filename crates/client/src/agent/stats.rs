//! Measures the usage of the host and of tasks (`docs/spec/client.md §26.3`).
//!
//! `/proc/stat` is parsed here, since the crate `procfs` drops the numbers of cores, of which some may be offline.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::super::fingerprint::host;
use super::super::processes::Table;
use super::super::runner::alloc::AllocRunner;
use super::Agent;
use crate::clock;
use crate::error::ClientError;
use encamp_model::stats::{AllocResourceUsage, HostCpuStats, HostStats, ResourceUsage};

/// Times of one core, in ticks: user, system, idle, all.
type Times = (u64, u64, u64, u64);

/// The times of all cores, by name (`cpu0`).
fn read_times(text: &str) -> BTreeMap<String, Times> {
    let core = |line: &str| {
        let mut fields = line.split_whitespace();
        let name = fields.next().filter(|n| n.starts_with("cpu") && n.len() > 3)?;
        let n: Vec<u64> = fields.filter_map(|f| f.parse().ok()).collect();
        let at = |i: usize| n.get(i).copied().unwrap_or(0);
        // Guest times are contained in user and nice.
        let all = n.iter().take(8).fold(0_u64, |sum, n| sum.saturating_add(*n));
        Some((name.to_string(), (at(0), at(2), at(3), all)))
    };
    text.lines().filter_map(core).collect()
}

/// Percentages since the last look; none of a core that was not there then.
fn percentages(before: &BTreeMap<String, Times>, now: &BTreeMap<String, Times>, mhz: f64) -> Vec<HostCpuStats> {
    let core = |(name, now): (&String, &Times)| {
        let zero = (0, 0, 0, 0);
        let old = before.get(name).unwrap_or(&zero);
        let all = now.3.saturating_sub(old.3) as f64;
        let percent = |now: u64, old: u64| Some(now.saturating_sub(old) as f64 / all * 100.0).filter(|p| p.is_finite());
        let idle = percent(now.2, old.2).unwrap_or(100.0);
        let total = percent(now.3.saturating_sub(now.2), old.3.saturating_sub(old.2)).unwrap_or(0.0);
        HostCpuStats {
            cpu: name.clone(),
            user: percent(now.0, old.0).unwrap_or(0.0),
            system: percent(now.1, old.1).unwrap_or(0.0),
            idle,
            total_percent: total,
            total_ticks: total / 100.0 * mhz,
        }
    };
    let mut out: Vec<_> = now.iter().map(core).collect();
    out.sort_by_key(|c| c.cpu.trim_start_matches("cpu").parse::<u64>().unwrap_or(u64::MAX));
    out
}

fn measure(alloc_dir: &Path, before: &BTreeMap<String, Times>, mhz: f64) -> (HostStats, BTreeMap<String, Times>) {
    let times = read_times(&std::fs::read_to_string("/proc/stat").unwrap_or_default());
    let cpu = percentages(before, &times, mhz);
    let stats = HostStats {
        memory: host::memory(),
        cpu_ticks_consumed: cpu.iter().map(|c| c.total_ticks).sum(),
        cpu,
        disk_stats: host::disks(),
        alloc_dir_stats: host::alloc_disk(alloc_dir),
        device_stats: None,
        uptime: host::uptime(),
        timestamp: clock::now(),
        local_collection: None,
    };
    (stats, times)
}

impl Agent {
    /// Measures, until the end.
    pub(super) async fn measure_forever(self: Arc<Self>) {
        let period = self.shared.config.collection_interval.max(std::time::Duration::from_millis(100));
        let mut ticks = tokio::time::interval(period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut times = BTreeMap::new();
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.stopped() => return,
            }
            let me = self.clone();
            let before = std::mem::take(&mut times);
            let measured = tokio::task::spawn_blocking(move || {
                let (stats, times) = measure(&me.shared.alloc_dir, &before, me.mhz_per_core);
                me.publish(&stats);
                *me.host.lock() = stats;
                if me.shared.config.publish_allocation_metrics || me.dev() {
                    let tasks: Vec<_> = me.all().iter().flat_map(|r| r.tasks.clone()).collect();
                    let running: Vec<_> = tasks.into_iter().filter(|t| t.handle().is_some()).collect();
                    if !running.is_empty() {
                        let processes = Table::read();
                        running.iter().for_each(|t| t.sample(&processes, me.mhz_per_core));
                    }
                }
                times
            });
            match measured.await {
                Ok(now) => times = now,
                Err(_) => return,
            }
        }
    }

    /// The usage of the host, as of the last measurement.
    pub(crate) fn host_stats(&self) -> HostStats {
        let last = self.host.lock().clone();
        let measured = match last.timestamp {
            0 => measure(&self.shared.alloc_dir, &BTreeMap::new(), self.mhz_per_core).0,
            _ => last,
        };
        HostStats { local_collection: self.collection_stats(), ..measured }
    }
}

/// The usage of the tasks of an allocation; `task`: only that one, if not empty.
pub(crate) fn usage(runner: &AllocRunner, task: &str) -> Result<AllocResourceUsage, ClientError> {
    let mut out = AllocResourceUsage {
        resource_usage: ResourceUsage { device_stats: Some(Vec::new()), ..ResourceUsage::default() },
        ..AllocResourceUsage::default()
    };
    for runner in runner.tasks.iter().filter(|t| task.is_empty() || t.name == task) {
        if let Some(usage) = runner.usage() {
            out.resource_usage.add(&usage.resource_usage);
            out.timestamp = out.timestamp.max(usage.timestamp);
            out.tasks.insert(runner.name.clone(), usage);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_of_the_time_between() {
        let before = read_times("cpu  1 1 1 1 1 1 1 1\ncpu0 100 0 50 850 0 0 0 0 0 0\n");
        let now = read_times("cpu0 150 0 75 875 0 0 0 0 9 9\ncpu10 0 0 0 0 0 0 0 0\nintr 5\n");
        let got = percentages(&before, &now, 2000.0);
        let first = &got[0];
        assert_eq!((first.user, first.system, first.idle, first.total_percent), (50.0, 25.0, 25.0, 75.0));
        assert_eq!((first.total_ticks, got[1].idle, got[1].cpu.as_str()), (1500.0, 100.0, "cpu10"));
    }

    #[test]
    fn this_host() {
        let (stats, times) = measure(Path::new("/tmp"), &BTreeMap::new(), 1000.0);
        assert!(stats.memory.total > 0 && !stats.cpu.is_empty() && !times.is_empty() && stats.alloc_dir_stats.size > 0);
    }
}

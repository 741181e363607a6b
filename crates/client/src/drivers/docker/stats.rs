//! What a container uses (`docs/spec/client.md §26.3`).

use std::sync::Arc;
use std::time::Instant;

use bollard::models::ContainerStatsResponse;
use bollard::query_parameters::StatsOptions;
use futures_util::StreamExt;
use parking_lot::Mutex;

use super::connect::{Daemon, SHORT};
use encamp_model::stats::{CpuStats, MemoryStats, ResourceUsage, TaskResourceUsage};

/// Samples of a container, which are asked for in the background.
#[derive(Clone, Default)]
pub(super) struct Samples(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// A sample is being fetched.
    asked: bool,
    /// Nanoseconds of CPU time of the last sample, and when that was.
    before: Option<(u64, Instant)>,
    last: Option<TaskResourceUsage>,
}

impl Samples {
    /// The last sample; asks for another one.
    pub(super) fn last(&self, daemon: &Arc<Daemon>, container: &str, mhz_per_core: f64) -> Option<TaskResourceUsage> {
        let mut known = self.0.lock();
        if !known.asked {
            known.asked = true;
            let (all, daemon, id) = (self.clone(), daemon.clone(), container.to_string());
            tokio::spawn(async move { all.fetch(&daemon, &id, mhz_per_core).await });
        }
        known.last.clone()
    }

    /// The last sample.
    pub(super) fn known(&self) -> Option<TaskResourceUsage> {
        self.0.lock().last.clone()
    }

    /// Has the daemon measure a container.
    pub(super) async fn fetch(&self, daemon: &Daemon, container: &str, mhz_per_core: f64) {
        let options = StatsOptions { stream: false, one_shot: true };
        let call = daemon.call("measure the container", SHORT, |d| async move {
            std::pin::pin!(d.stats(container, Some(options))).next().await.transpose()
        });
        let sample = call.await.ok().flatten();
        let mut known = self.0.lock();
        known.asked = false;
        if let Some(sample) = sample {
            known.take(&sample, Instant::now(), mhz_per_core);
        }
    }
}

impl Known {
    fn take(&mut self, sample: &ContainerStatsResponse, now: Instant, mhz_per_core: f64) {
        let cpu = sample.cpu_stats.clone().unwrap_or_default();
        let total = cpu.cpu_usage.as_ref().and_then(|u| u.total_usage).unwrap_or(0);
        let percent = self.before.map_or(0.0, |(before, at)| {
            let elapsed = now.duration_since(at).as_nanos() as f64;
            if elapsed > 0.0 { total.saturating_sub(before) as f64 / elapsed * 100.0 } else { 0.0 }
        });
        let throttled = cpu.throttling_data.unwrap_or_default();
        let memory = sample.memory_stats.clone().unwrap_or_default();
        let stats = memory.stats.unwrap_or_default();
        // Version 1 of cgroups has the first names, version 2 the others.
        let of = |names: [&str; 2]| names.iter().find_map(|n| stats.get(*n)).copied().unwrap_or(0);
        let is_v1 = memory.max_usage.is_some() || stats.contains_key("total_rss");
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let measured: &[&str] =
            if is_v1 { &["RSS", "Cache", "Swap", "Usage", "Max Usage"] } else { &["RSS", "Cache", "Swap", "Usage"] };
        self.before = Some((total, now));
        self.last = Some(TaskResourceUsage {
            resource_usage: ResourceUsage {
                memory_stats: MemoryStats {
                    rss: of(["total_rss", "anon"]),
                    cache: of(["total_cache", "file"]),
                    swap: of(["total_swap", "swap"]),
                    mapped_file: of(["total_mapped_file", "file_mapped"]),
                    usage: memory.usage.unwrap_or(0),
                    max_usage: memory.max_usage.unwrap_or(0),
                    measured: names(measured),
                    ..MemoryStats::default()
                },
                cpu_stats: CpuStats {
                    percent,
                    total_ticks: percent / 100.0 * mhz_per_core,
                    throttled_periods: throttled.throttled_periods.unwrap_or(0),
                    throttled_time: throttled.throttled_time.unwrap_or(0),
                    measured: names(&["Throttled Periods", "Throttled Time", "Percent"]),
                    ..CpuStats::default()
                },
                device_stats: None,
            },
            timestamp: crate::clock::now(),
            pids: std::collections::BTreeMap::new(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn samples_of_both_versions() {
        let sample = |json: &str| serde_json::from_str::<ContainerStatsResponse>(json).unwrap();
        let mut known = Known::default();
        let begin = Instant::now();
        let text = r#"{"cpu_stats":{"cpu_usage":{"total_usage":1000000000},"throttling_data":{"throttled_periods":3}},
            "memory_stats":{"usage":50,"stats":{"anon":10,"file":20}}}"#;
        known.take(&sample(text), begin, 2000.0);
        let usage = known.last.clone().unwrap().resource_usage;
        assert_eq!((usage.memory_stats.rss, usage.memory_stats.cache, usage.memory_stats.usage), (10, 20, 50));
        assert_eq!((usage.cpu_stats.percent, usage.cpu_stats.throttled_periods), (0.0, 3));
        assert_eq!(usage.memory_stats.measured.len(), 4);
        let text = r#"{"cpu_stats":{"cpu_usage":{"total_usage":2000000000}},
            "memory_stats":{"usage":50,"max_usage":60,"stats":{"total_rss":10}}}"#;
        known.take(&sample(text), begin + Duration::from_secs(2), 2000.0);
        let usage = known.last.unwrap().resource_usage;
        assert_eq!((usage.cpu_stats.percent, usage.cpu_stats.total_ticks), (50.0, 1000.0));
        assert_eq!((usage.memory_stats.max_usage, usage.memory_stats.measured.len()), (60, 5));
    }
}

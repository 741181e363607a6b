//! Gauges of the process itself (`nomad.runtime.*`), under the names that existing dashboards use.

use super::Metrics;

/// Records memory and, inside of a runtime, its tasks:
///
/// - `runtime.sys_bytes`: memory that is held in RAM; `runtime.alloc_bytes`: the part of it that no file backs,
/// - `runtime.num_goroutines`: tasks of the runtime that are not finished.
///
/// Figures of a garbage collector (pauses, runs, heap objects) do not exist here.
pub fn record(metrics: &Metrics) {
    // Without /proc there is nothing to tell.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (name, key) in [("runtime.sys_bytes", "VmRSS:"), ("runtime.alloc_bytes", "RssAnon:")] {
        if let Some(bytes) = memory(&status, key) {
            metrics.gauge(name, bytes as f64, &[]);
        }
    }
    if let Ok(handle) = tokio::runtime::Handle::try_current() {
        metrics.gauge("runtime.num_goroutines", handle.metrics().num_alive_tasks() as f64, &[]);
    }
}

/// Bytes that a line such as `VmRSS:     1234 kB` tells.
fn memory(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_its_line() {
        let status = "Name:\tencamp\nVmRSS:\t  2048 kB\nRssAnon:\t x kB\n";
        assert_eq!(memory(status, "VmRSS:"), Some(2_097_152));
        assert_eq!(memory(status, "RssAnon:"), None);
        assert_eq!(memory(status, "VmPeak:"), None);
    }

    #[tokio::test]
    async fn the_process_is_measured() {
        let metrics = Metrics::default();
        record(&metrics);
        let summary = metrics.summary();
        let value = |name: &str| summary.gauges.iter().find(|g| g.name == name).map(|g| g.value);
        assert!(value("nomad.runtime.sys_bytes") >= value("nomad.runtime.alloc_bytes"));
        assert!(value("nomad.runtime.alloc_bytes") > Some(65_536.0));
        assert!(value("nomad.runtime.num_goroutines").is_some());
    }
}

//! Gauges of the process itself (`nomad.runtime.*`), under the names that existing dashboards use.

use encamp_host::platform::process::memory;

use super::Metrics;

/// Records memory and, inside of a runtime, its tasks:
///
/// - `runtime.sys_bytes`: memory that is held in RAM; `runtime.alloc_bytes`: the part of it that no file backs,
/// - `runtime.num_goroutines`: tasks of the runtime that are not finished.
///
/// Figures of a garbage collector (pauses, runs, heap objects) do not exist here.
pub fn record(metrics: &Metrics) {
    // Without /proc there is nothing to record.
    if let Some(held) = memory() {
        for (name, bytes) in [("runtime.sys_bytes", held.resident), ("runtime.alloc_bytes", held.anonymous)] {
            if let Some(bytes) = bytes {
                metrics.gauge(name, bytes as f64, &[]);
            }
        }
    }
    if let Ok(handle) = tokio::runtime::Handle::try_current() {
        metrics.gauge("runtime.num_goroutines", handle.metrics().num_alive_tasks() as f64, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

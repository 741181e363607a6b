//! Metrics of the agent and their output formats (`docs/spec/server.md §24`, `docs/spec/agent-config.md §5.9, §11`).
//!
//! [`Metrics`] is the handle for recording. Names are written as in the specification, such as
//! `nomad.broker.total_ready`; the prefix `nomad.` is added here. [`Summary`] is the JSON format of the last interval,
//! [`Metrics::prometheus`] the text format of everything since the start.
//!
//! - `registry`: the series, spread over locks. `aggregate`: aggregates of values. `filter`: filters metrics by name.
//! - `summary`, `prometheus`: the two formats. [`runtime`]: gauges of the process itself.
//!
//! **May use** `encamp_model`. **Never** holds knowledge of what the metrics mean.

#![warn(missing_docs)]

mod aggregate;
mod filter;
mod prometheus;
mod registry;
pub mod runtime;
mod summary;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use filter::{Filter, FilterError};
pub use prometheus::CONTENT_TYPE as PROMETHEUS_CONTENT_TYPE;
pub use summary::{GaugeValue, PointValue, SampledValue, Summary};

use registry::{Kind, Registry};

/// Names and values of a series' labels. Their order does not matter.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// How metrics are kept.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Length of an interval (`telemetry.in_memory_collection_interval`).
    pub interval: Duration,
    /// How long a finished interval is shown (`telemetry.in_memory_retention_period`).
    pub retention: Duration,
    /// Whether the Prometheus form is kept (`telemetry.prometheus_metrics`).
    pub prometheus: bool,
    /// Value of the label `host` that all series get; none with `telemetry.disable_hostname`.
    pub host: Option<String>,
    /// Which names are kept (`telemetry.prefix_filter`, `telemetry.filter_default`).
    pub filter: Filter,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            interval: Duration::from_secs(10),
            retention: Duration::from_secs(60),
            prometheus: true,
            host: None,
            filter: Filter::default(),
        }
    }
}

/// Records metrics. Clones are cheap and record into the same place; recording takes one of several short locks and
/// copies nothing once a series exists. Values that are no finite numbers are ignored.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    registry: Arc<Registry>,
}

impl Metrics {
    /// An empty registry.
    pub fn new(settings: Settings) -> Metrics {
        Metrics { registry: Arc::new(Registry::new(settings)) }
    }

    /// Sets a gauge. It is shown until a minute has passed since it was last set.
    pub fn gauge(&self, name: &str, value: f64, labels: Labels<'_>) {
        self.registry.record(now(), Kind::Gauge, name, value, labels);
    }

    /// Adds to a counter.
    pub fn count(&self, name: &str, n: u64, labels: Labels<'_>) {
        self.registry.record(now(), Kind::Counter, name, n as f64, labels);
    }

    /// Records one value of a distribution.
    pub fn sample(&self, name: &str, value: f64, labels: Labels<'_>) {
        self.registry.record(now(), Kind::Sample, name, value, labels);
    }

    /// Records how long something took, in milliseconds.
    pub fn time(&self, name: &str, duration: Duration, labels: Labels<'_>) {
        self.sample(name, duration.as_secs_f64() * 1e3, labels);
    }

    /// Records the time until the returned guard is dropped.
    pub fn timer(&self, name: &'static str) -> Timer {
        Timer { metrics: self.clone(), name, start: Instant::now() }
    }

    /// The last finished interval that holds something, or the current one as long as none is finished.
    pub fn summary(&self) -> Summary {
        self.registry.summary(now())
    }

    /// All series in Prometheus' text form; none when that form is not kept.
    pub fn prometheus(&self) -> Option<String> {
        self.registry.prometheus(now())
    }
}

/// Records the time from its making to its end, in milliseconds.
#[derive(Debug)]
#[must_use = "the time is taken when the guard is dropped"]
pub struct Timer {
    metrics: Metrics,
    name: &'static str,
    start: Instant,
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.metrics.time(self.name, self.start.elapsed(), &[]);
    }
}

/// Time since the Unix epoch.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_record_into_one_registry_from_many_threads() {
        let metrics = Metrics::default();
        let threads: Vec<_> = (0..8)
            .map(|i| {
                let metrics = metrics.clone();
                std::thread::spawn(move || {
                    for _ in 0..1000 {
                        metrics.count("nomad.rpc.request", 1, &[]);
                        metrics.count("nomad.rpc.job.read", 2, &[("identity", ["a", "b"][i % 2])]);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().expect("a thread"));
        let text = metrics.prometheus().expect("kept");
        assert!(text.contains("\nnomad_nomad_rpc_request 8000\n"), "{text}");
        assert!(text.contains("\nnomad_nomad_rpc_job_read{identity=\"a\"} 8000\n"), "{text}");
        assert!(text.contains("\nnomad_nomad_rpc_job_read{identity=\"b\"} 8000\n"), "{text}");
    }

    #[test]
    fn a_timer_records_once() {
        let metrics = Metrics::default();
        drop(metrics.timer("nomad.plan.submit"));
        let summary = metrics.summary();
        let sample = summary.samples.first().expect("a sample");
        assert_eq!((sample.name.as_str(), sample.count), ("nomad.nomad.plan.submit", 1));
        assert!(sample.sum >= 0.0 && sample.sum < 60_000.0, "{}", sample.sum);
    }
}

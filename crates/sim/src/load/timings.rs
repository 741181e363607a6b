//! Durations of parts of a server's work, from its metrics in Prometheus format.

use std::collections::BTreeMap;
use std::time::Duration;

use super::outcome::Timing;
use super::{LoadError, probe};
use encamp_api::Client;

/// How often the metrics are read: their quantiles are those of some ten seconds.
const EVERY: Duration = Duration::from_secs(5);
/// The metrics that are kept.
const NAMES: &[&str] = &[
    "nomad_nomad_broker_wait_time",
    "nomad_nomad_broker_process_time",
    "nomad_nomad_worker_invoke_scheduler_batch",
    "nomad_nomad_worker_submit_plan",
    "nomad_nomad_plan_evaluate",
    "nomad_nomad_plan_apply",
    "nomad_raft_commitTime",
    "nomad_raft_log_append",
    "nomad_raft_snapshot_persist",
    "nomad_raft_fsm_restore",
];

/// The samples of one metric.
#[derive(Debug, Default)]
struct Seen {
    count: u64,
    medians: Vec<f64>,
    worst: f64,
}

/// The samples so far.
#[derive(Debug, Default)]
pub struct Timings(BTreeMap<&'static str, Seen>);

impl Timings {
    /// Reads a server's metrics until it is dropped.
    pub(crate) async fn watch(&mut self, client: &Client) {
        loop {
            tokio::time::sleep(EVERY).await;
            // A failed read does not matter: the counters are cumulative.
            let _ = self.read(client).await;
        }
    }

    /// Reads a server's metrics once.
    ///
    /// # Errors
    /// The server does not answer.
    pub(crate) async fn read(&mut self, client: &Client) -> Result<(), LoadError> {
        self.take(&probe::metrics(client).await?);
        Ok(())
    }

    /// Reads a server's metrics in the Prometheus text format.
    pub fn take(&mut self, text: &str) {
        // A metric may have a series for each job.
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let (base, counts) = name.strip_suffix("_count").map_or((name, false), |b| (b, true));
            let Some(name) = NAMES.iter().copied().find(|n| *n == base) else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            let seen = self.0.entry(name).or_default();
            if counts {
                *counted.entry(name).or_default() += value as u64;
            } else if value.is_nan() {
                continue;
            } else if labels.contains("quantile=\"0.5\"") {
                seen.medians.push(value);
            } else if labels.contains("quantile=\"0.99\"") {
                seen.worst = seen.worst.max(value);
            }
        }
        for (name, seen) in &mut self.0 {
            seen.count = seen.count.max(counted.get(name).copied().unwrap_or_default());
        }
    }

    /// The measured timings.
    pub fn finish(self) -> Vec<Timing> {
        let timing = |(name, mut seen): (&str, Seen)| {
            seen.medians.sort_by(f64::total_cmp);
            let p50_ms = seen.medians.get(seen.medians.len() / 2).copied().unwrap_or_default();
            Timing { name: name.into(), count: seen.count, p50_ms, p99_ms: seen.worst }
        };
        self.0.into_iter().map(timing).collect()
    }
}

/// Median and 99th percentile of all samples.
pub(crate) fn timing(name: &str, mut taken: Vec<Duration>) -> Timing {
    taken.sort_unstable();
    let at = |percent: usize| {
        let place = (taken.len() * percent).div_ceil(100).saturating_sub(1);
        taken.get(place).map_or(0.0, |d| d.as_secs_f64() * 1000.0)
    };
    Timing { name: name.into(), count: taken.len() as u64, p50_ms: at(50), p99_ms: at(99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let timing = timing("x", (1..=200).rev().map(Duration::from_millis).collect());
        assert_eq!((timing.count, timing.p50_ms, timing.p99_ms), (200, 100.0, 198.0));
        assert_eq!(super::timing("x", vec![Duration::from_millis(7)]).p99_ms, 7.0);
        assert_eq!(super::timing("x", Vec::new()).p99_ms, 0.0);
    }
}

//! The endpoint names of requests in metrics (`docs/spec/server.md §24`): `nomad.<endpoint>.<call>` is the duration,
//! `nomad.rpc.<endpoint>.<kind>` the number of requests.

use std::fmt;
use std::time::Duration;

use encamp_telemetry::Metrics;

/// What the requests of a route are counted as: endpoint and call, by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Nothing.
    NotCounted,
    /// A read of one object.
    Read(&'static str, &'static str),
    /// A read of many.
    List(&'static str, &'static str),
    /// A change.
    Write(&'static str, &'static str),
}

impl Metric {
    fn parts(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Metric::NotCounted => None,
            Metric::Read(endpoint, call) => Some((endpoint, call, "read")),
            Metric::List(endpoint, call) => Some((endpoint, call, "list")),
            Metric::Write(endpoint, call) => Some((endpoint, call, "write")),
        }
    }

    /// Notes that a request was answered.
    pub fn record(self, metrics: &Metrics, took: Duration) {
        let Some((endpoint, call, kind)) = self.parts() else { return };
        metrics.count(&format!("nomad.rpc.{endpoint}.{kind}"), 1, &[]);
        metrics.time(&format!("nomad.{endpoint}.{call}"), took, &[]);
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            None => f.write_str("-"),
            Some((endpoint, call, kind)) => write!(f, "{endpoint}.{call} {kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_counted_and_timed() {
        let metrics = Metrics::default();
        Metric::Write("job", "register").record(&metrics, Duration::from_millis(5));
        Metric::NotCounted.record(&metrics, Duration::from_millis(5));
        let text = metrics.prometheus().expect("kept");
        assert!(text.contains("\nnomad_nomad_rpc_job_write 1\n"), "{text}");
        assert!(text.contains("\nnomad_nomad_job_register_sum 5\n"), "{text}");
    }
}

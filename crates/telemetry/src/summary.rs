//! The JSON format of an interval, the response of `GET /v1/metrics` (`docs/spec/http-api.md §6.6`).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::registry::{Kind, Series};

/// The values recorded in one interval, each list ordered by name and labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Summary {
    /// Start of the interval, as `2026-11-21 06:24:50 +0000 UTC`.
    pub timestamp: String,
    /// Gauges and what they were last set to.
    pub gauges: Vec<GaugeValue>,
    /// Gauges of higher precision: always empty, since all are as precise.
    pub precision_gauges: Vec<GaugeValue>,
    /// Lists of single values: always empty, since nothing records them.
    pub points: Vec<PointValue>,
    /// Counters and what was added to them.
    pub counters: Vec<SampledValue>,
    /// Distributions.
    pub samples: Vec<SampledValue>,
}

/// A gauge.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GaugeValue {
    /// Name with dots.
    pub name: String,
    /// The last value.
    pub value: f64,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// Single values under one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PointValue {
    /// Name with dots.
    pub name: String,
    /// The values.
    pub points: Vec<f64>,
}

/// A counter or a distribution. Those of times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SampledValue {
    /// Name with dots.
    pub name: String,
    /// How many values were recorded.
    pub count: u64,
    /// Their sum divided by the length of the interval in seconds.
    pub rate: f64,
    /// Their sum.
    pub sum: f64,
    /// The smallest one.
    pub min: f64,
    /// The largest one.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, as of a sample.
    pub stddev: f64,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// The form of one interval. `series` are in order.
pub(super) fn build(series: &[Series], interval: u64, length: Duration) -> Summary {
    let start = length.as_millis().saturating_mul(u128::from(interval)) / 1000;
    let mut out = Summary {
        timestamp: timestamp(i64::try_from(start).unwrap_or_default()),
        gauges: Vec::new(),
        precision_gauges: Vec::new(),
        points: Vec::new(),
        counters: Vec::new(),
        samples: Vec::new(),
    };
    for s in series {
        let Some(window) = s.windows().find(|w| w.index == interval) else { continue };
        let v = &window.values;
        let name = s.name.to_string();
        let labels = s.labels.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let list = match s.kind {
            Kind::Gauge => {
                out.gauges.push(GaugeValue { name, value: v.last, labels });
                continue;
            }
            Kind::Counter => &mut out.counters,
            Kind::Sample => &mut out.samples,
        };
        list.push(SampledValue {
            name,
            count: v.count,
            rate: v.sum / length.as_secs_f64(),
            sum: v.sum,
            min: v.min,
            max: v.max,
            mean: v.mean(),
            stddev: v.deviation(),
            labels,
        });
    }
    out
}

fn timestamp(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::super::registry::Registry;
    use super::*;

    /// The keys and numbers of an exchange recorded from Nomad.
    #[test]
    fn the_json_is_that_of_the_reference() {
        let r = Registry::new(Settings::default());
        let at = Duration::from_secs(1_795_243_600);
        for v in [2.0, 1.0] {
            r.record(at, Kind::Sample, "memberlist.gossip", v, &[]);
        }
        r.record(at, Kind::Counter, "client.allocs.running", 1.0, &[("task", "main"), ("job", "rej")]);
        r.record(at, Kind::Gauge, "client.allocated.cpu", 500.5, &[("node_class", "none")]);
        let json = serde_json::to_value(r.summary(at + Duration::from_secs(10))).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!({
                "Timestamp": "2026-11-21 06:46:40 +0000 UTC",
                "Gauges": [{"Name": "nomad.client.allocated.cpu", "Value": 500.5, "Labels": {"node_class": "none"}}],
                "PrecisionGauges": [],
                "Points": [],
                "Counters": [{
                    "Name": "nomad.client.allocs.running", "Count": 1, "Rate": 0.1, "Sum": 1.0, "Min": 1.0, "Max": 1.0,
                    "Mean": 1.0, "Stddev": 0.0, "Labels": {"job": "rej", "task": "main"}
                }],
                "Samples": [{
                    "Name": "nomad.memberlist.gossip", "Count": 2, "Rate": 0.3, "Sum": 3.0, "Min": 1.0, "Max": 2.0,
                    "Mean": 1.5, "Stddev": 0.5_f64.sqrt(), "Labels": {}
                }]
            })
        );
    }
}

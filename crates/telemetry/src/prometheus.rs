//! The Prometheus text format, version 0.0.4 (`docs/spec/http-api.md §6.6`).
//!
//! The crate `prometheus-client` cannot write it: it writes OpenMetrics, where names of counters end in `_total` and
//! the text in `# EOF`, and it has no summaries.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::aggregate::Sketch;
use super::registry::{Kind, Series};

/// The content type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// All series as text. `series` are in order; quantiles are those of the intervals from `oldest` on, `NaN` without
/// values.
///
/// Names that differ only in characters Prometheus does not know become one; then the first kind and, of series with
/// equal labels, the first one is shown: the text must not name a series twice.
pub(super) fn render(series: Vec<Series>, oldest: u64) -> String {
    let mut families: BTreeMap<String, Vec<Series>> = BTreeMap::new();
    for s in series {
        families.entry(clean(&s.name).into_owned()).or_default().push(s);
    }
    let mut out = String::new();
    for (name, members) in families {
        let Some(kind) = members.first().map(|s| s.kind) else { continue };
        let word = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Sample => "summary",
        };
        // Writing into a String cannot fail.
        let _ = writeln!(out, "# HELP {name} {name}\n# TYPE {name} {word}");
        let mut seen = BTreeSet::new();
        for s in members.iter().filter(|s| s.kind == kind) {
            let labels = labels(s);
            if seen.insert(labels.clone()) {
                write_series(&mut out, &name, s, &labels, oldest);
            }
        }
    }
    out
}

fn write_series(out: &mut String, name: &str, s: &Series, labels: &str, oldest: u64) {
    let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    let (count, sum) = s.total;
    let _ = match s.kind {
        Kind::Gauge => writeln!(out, "{name}{braced} {}", s.current.values.last),
        Kind::Counter => writeln!(out, "{name}{braced} {sum}"),
        Kind::Sample => {
            let mut recent = s.windows().filter(|w| w.index >= oldest).filter_map(|w| w.sketch.as_deref());
            let all = recent.next().map(|first| first.merged(recent.next())).unwrap_or_else(Sketch::default);
            let comma = if labels.is_empty() { "" } else { "," };
            for q in QUANTILES {
                let value = all.quantile(q).unwrap_or(f64::NAN);
                let _ = writeln!(out, "{name}{{{labels}{comma}quantile=\"{q}\"}} {value}");
            }
            writeln!(out, "{name}_sum{braced} {sum}\n{name}_count{braced} {count}")
        }
    };
}

/// The labels between their braces, by name. Labels whose names become equal, and a sample's own `quantile`, are
/// dropped.
fn labels(s: &Series) -> String {
    let mut by_name = BTreeMap::new();
    for (name, value) in &s.labels {
        let name = clean_label(name);
        if !(s.kind == Kind::Sample && name == "quantile") {
            by_name.entry(name).or_insert_with(|| escaped(value));
        }
    }
    by_name.iter().map(|(n, v)| format!("{n}=\"{v}\"")).collect::<Vec<_>>().join(",")
}

fn clean(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    if name.chars().all(fits) { name.into() } else { name.replace(|c| !fits(c), "_").into() }
}

fn clean_label(name: &str) -> String {
    let name = name.replace(|c: char| !(c.is_ascii_alphanumeric() || c == '_'), "_");
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("_{name}") } else { name }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::registry::Registry;
    use super::super::{Labels, Settings};
    use super::*;

    const AT: Duration = Duration::from_secs(1_800_000_000);

    type Record<'a> = (Kind, &'a str, f64, Labels<'a>);

    fn text(records: &[Record<'_>]) -> String {
        let r = Registry::new(Settings::default());
        records.iter().for_each(|(kind, name, value, labels)| r.record(AT, *kind, name, *value, labels));
        r.prometheus(AT).expect("kept")
    }

    #[test]
    fn each_kind_has_its_form() {
        let got = text(&[
            (Kind::Sample, "nomad.plan.submit", 0.0, &[("job", "a"), ("host", "h")]),
            (Kind::Counter, "nomad.rpc.request", 2.0, &[]),
            (Kind::Counter, "nomad.rpc.request", 3.0, &[]),
            (Kind::Gauge, "nomad.broker.total_ready", 1.0, &[]),
            (Kind::Gauge, "nomad.broker.total_ready", 0.25, &[]),
        ]);
        let want = "# HELP nomad_nomad_broker_total_ready nomad_nomad_broker_total_ready
# TYPE nomad_nomad_broker_total_ready gauge
nomad_nomad_broker_total_ready 0.25
# HELP nomad_nomad_plan_submit nomad_nomad_plan_submit
# TYPE nomad_nomad_plan_submit summary
nomad_nomad_plan_submit{host=\"h\",job=\"a\",quantile=\"0.5\"} 0
nomad_nomad_plan_submit{host=\"h\",job=\"a\",quantile=\"0.9\"} 0
nomad_nomad_plan_submit{host=\"h\",job=\"a\",quantile=\"0.99\"} 0
nomad_nomad_plan_submit_sum{host=\"h\",job=\"a\"} 0
nomad_nomad_plan_submit_count{host=\"h\",job=\"a\"} 1
# HELP nomad_nomad_rpc_request nomad_nomad_rpc_request
# TYPE nomad_nomad_rpc_request counter
nomad_nomad_rpc_request 5
";
        assert_eq!(got, want);
    }

    #[test]
    fn no_series_is_named_twice() {
        let got = text(&[
            (Kind::Gauge, "client.allocated.network.eth0.1", 1.0, &[]),
            (Kind::Gauge, "client.allocated.network.eth0-1", 2.0, &[]),
            (Kind::Counter, "client.allocated.network.eth0/1", 3.0, &[("x", "y")]),
            (Kind::Gauge, "g", 1.0, &[("foo-bar", "1"), ("foo.bar", "2"), ("9", "3"), ("", "4")]),
            (Kind::Sample, "s", 1.0, &[("quantile", "mine")]),
        ]);
        let mut lines: Vec<&str> = got.lines().map(|l| l.rsplit_once(' ').expect("a value").0).collect();
        let all = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), all, "{got}");
        assert!(got.contains("nomad_g{_=\"4\",_9=\"3\",foo_bar=\"1\"} 1\n"), "{got}");
        assert!(got.contains("nomad_s_sum 1\n") && !got.contains("mine"), "{got}");
    }

    #[test]
    fn label_values_are_escaped() {
        let got = text(&[(Kind::Gauge, "g", 1.0, &[("job", "a\"b\\c\nd")])]);
        assert!(got.contains(r#"nomad_g{job="a\"b\\c\nd"} 1"#), "{got}");
    }

    #[test]
    fn quantiles_are_those_of_two_intervals() {
        let r = Registry::new(Settings::default());
        let after = |s| AT + Duration::from_secs(s);
        r.record(after(0), Kind::Sample, "s", 100.0, &[]);
        r.record(after(10), Kind::Sample, "s", 1.0, &[]);
        let line = |at| {
            let text = r.prometheus(after(at)).expect("kept");
            let line = text.lines().find(|l| l.contains("0.99")).expect("a quantile").to_string();
            line.rsplit_once(' ').expect("a value").1.parse::<f64>().expect("a number")
        };
        assert!((line(19) - 100.0).abs() < 1.01);
        assert!((line(20) - 1.0).abs() < 0.0101);
        assert!(line(30).is_nan());
        let text = r.prometheus(after(30)).expect("kept");
        assert!(text.contains("nomad_s_sum 101\nnomad_s_count 2\n"), "{text}");
    }

    #[test]
    fn nothing_is_rendered_when_the_form_is_not_kept() {
        let r = Registry::new(Settings { prometheus: false, ..Settings::default() });
        r.record(AT, Kind::Sample, "s", 1.0, &[]);
        assert_eq!(r.prometheus(AT), None);
        assert_eq!(r.summary(AT).samples.len(), 1);
    }
}

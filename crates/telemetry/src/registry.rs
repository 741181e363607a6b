//! The series, spread over several locks by the hash of their names and labels.
//!
//! A series keeps the interval it was last recorded in and the one before. Nothing runs in the background: the next
//! record starts a new interval, and series that are no longer recorded are dropped while others are added or shown.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::{FxHashMap, FxHasher};

use super::aggregate::{Aggregate, Sketch};
use super::summary::{self, Summary};
use super::{Labels, Settings, prometheus};

const SHARDS: usize = 16;
/// Put in front of all names.
const PREFIX: &str = "nomad.";
/// The label with the name of the host.
const HOST: &str = "host";
/// How long a gauge is shown after it was last set.
const GAUGE_LIFE: Duration = Duration::from_secs(60);
/// How long counters and samples without labels are kept after their last value. Longer than for gauges: a counter that
/// goes away and comes back looks like a restart. Those with labels live no longer than gauges: the labels name
/// allocations, jobs and nodes that come and go.
const TOTAL_LIFE: Duration = Duration::from_secs(3600);

/// The kind of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Gauge,
    Counter,
    Sample,
}

/// The values of one interval.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    /// Number of the interval since the Unix epoch.
    pub index: u64,
    /// Its values.
    pub values: Aggregate,
    /// Their distribution; for samples, where the Prometheus form is kept.
    pub sketch: Option<Box<Sketch>>,
}

/// One name with one set of labels.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// Gauge, counter or sample.
    pub kind: Kind,
    /// The name with its prefix.
    pub name: Box<str>,
    /// Sorted by name; each name once.
    pub labels: Vec<(Box<str>, Box<str>)>,
    /// The interval with the newest value.
    pub current: Window,
    /// The interval with values before it.
    pub previous: Option<Window>,
    /// Number and sum of all values since the series exists.
    pub total: (u64, f64),
    /// When the newest value came, since the Unix epoch.
    updated: Duration,
}

#[derive(Debug, Default)]
struct Shard {
    /// By hash of kind, name and labels.
    series: FxHashMap<u64, Vec<Series>>,
    /// When old series were last looked for.
    swept: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Registry {
    settings: Settings,
    shards: [Mutex<Shard>; SHARDS],
}

impl Registry {
    pub(crate) fn new(settings: Settings) -> Registry {
        Registry { settings, shards: Default::default() }
    }

    /// Takes a value in. `now` is the time since the Unix epoch.
    pub(crate) fn record(&self, now: Duration, kind: Kind, name: &str, value: f64, labels: Labels<'_>) {
        if !value.is_finite() {
            return;
        }
        let index = self.interval(now);
        let sketched = kind == Kind::Sample && self.settings.prometheus;
        let hash = hash_of(kind, name, labels);
        let mut shard = self.shard(hash);
        if let Some(series) =
            shard.series.get_mut(&hash).and_then(|s| s.iter_mut().find(|s| s.is(kind, name, labels, self.host())))
        {
            series.add(now, index, value, sketched);
            return;
        }
        let full = format!("{PREFIX}{name}");
        if !self.settings.filter.keeps(&full) {
            return;
        }
        let unique = self.unique(labels);
        if unique.len() < labels.len() {
            drop(shard);
            return self.record(now, kind, name, value, &unique);
        }
        if now.saturating_sub(shard.swept) >= GAUGE_LIFE {
            self.sweep(&mut shard, now);
        }
        let mut series = Series::new(kind, full, labels, self.host());
        series.add(now, index, value, sketched);
        shard.series.entry(hash).or_default().push(series);
    }

    /// The JSON form at a time.
    pub(crate) fn summary(&self, now: Duration) -> Summary {
        let current = self.interval(now);
        let series = self.series(now);
        let finished = series.iter().flat_map(Series::windows).map(|w| w.index).filter(|i| *i < current).max();
        let age =
            |index: u64| self.settings.interval.saturating_mul(u32::try_from(current - index).unwrap_or(u32::MAX));
        let shown = finished.filter(|i| age(*i) <= self.settings.retention).unwrap_or(current);
        summary::build(&series, shown, self.settings.interval)
    }

    /// The Prometheus form at a time.
    pub(crate) fn prometheus(&self, now: Duration) -> Option<String> {
        let oldest = self.interval(now).saturating_sub(1);
        self.settings.prometheus.then(|| prometheus::render(self.series(now), oldest))
    }

    /// The labels without those that repeat a name, or the host's. The first of a name stays.
    fn unique<'a>(&self, labels: Labels<'a>) -> Vec<(&'a str, &'a str)> {
        let mut out: Vec<(&str, &str)> = Vec::with_capacity(labels.len());
        for (name, value) in labels {
            if !(out.iter().any(|(n, _)| n == name) || (*name == HOST && self.host().is_some())) {
                out.push((name, value));
            }
        }
        out
    }

    fn interval(&self, now: Duration) -> u64 {
        let length = self.settings.interval.as_millis().max(1);
        u64::try_from(now.as_millis() / length).unwrap_or(u64::MAX)
    }

    fn host(&self) -> Option<&str> {
        self.settings.host.as_deref()
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        // The upper bits: the maps inside go by the lower ones.
        let shard = &self.shards[(hash >> 60) as usize % SHARDS];
        shard.lock()
    }

    /// Copies of all series that are still shown, by name and labels.
    fn series(&self, now: Duration) -> Vec<Series> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock();
            self.sweep(&mut shard, now);
            all.extend(shard.series.values().flatten().cloned());
        }
        all.sort_by(|a, b| (&a.name, &a.labels, a.kind).cmp(&(&b.name, &b.labels, b.kind)));
        all
    }

    fn sweep(&self, shard: &mut Shard, now: Duration) {
        shard.swept = now;
        let own = usize::from(self.host().is_some());
        let life = |s: &Series| match s.kind {
            Kind::Counter | Kind::Sample if self.settings.prometheus && s.labels.len() <= own => TOTAL_LIFE,
            Kind::Gauge | Kind::Counter | Kind::Sample => GAUGE_LIFE,
        };
        let shown = self.settings.interval.saturating_mul(2);
        shard.series.retain(|_, list| {
            list.retain(|s| now.saturating_sub(s.updated) <= life(s).max(shown));
            !list.is_empty()
        });
    }
}

impl Series {
    fn new(kind: Kind, name: String, labels: Labels<'_>, host: Option<&str>) -> Series {
        let host = host.map(|h| (HOST, h));
        let mut labels: Vec<(Box<str>, Box<str>)> =
            host.iter().chain(labels).map(|(n, v)| (Box::from(*n), Box::from(*v))).collect();
        labels.sort_unstable();
        let (current, previous, total, updated) = Default::default();
        Series { kind, name: name.into(), labels, current, previous, total, updated }
    }

    /// Whether this is the series of these labels, given in any order.
    fn is(&self, kind: Kind, name: &str, labels: Labels<'_>, host: Option<&str>) -> bool {
        let has = |n: &str, v: &str| self.labels.iter().any(|(name, value)| **name == *n && **value == *v);
        self.kind == kind
            && self.name.strip_prefix(PREFIX) == Some(name)
            && self.labels.len() == labels.len() + usize::from(host.is_some())
            && labels.iter().all(|(n, v)| has(n, v))
    }

    fn add(&mut self, now: Duration, index: u64, value: f64, sketched: bool) {
        if index > self.current.index {
            let done = std::mem::take(&mut self.current);
            self.previous = (done.values.count > 0).then_some(done);
            self.current.index = index;
        }
        self.current.values.add(value);
        if sketched {
            self.current.sketch.get_or_insert_default().add(value);
        }
        self.total.0 += 1;
        self.total.1 += value;
        self.updated = self.updated.max(now);
    }

    /// The intervals that are known, newest first.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &Window> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}

/// The same for labels in any order.
fn hash_of(kind: Kind, name: &str, labels: Labels<'_>) -> u64 {
    let hash = |value: &dyn Fn(&mut FxHasher)| {
        let mut hasher = FxHasher::default();
        value(&mut hasher);
        hasher.finish()
    };
    let labels = labels.iter().map(|label| hash(&|h| label.hash(h))).fold(0, u64::wrapping_add);
    hash(&|h| (kind, name, labels).hash(h))
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::*;

    const START: Duration = Duration::from_secs(1_800_000_000);

    fn after(seconds: u64) -> Duration {
        START + Duration::from_secs(seconds)
    }

    fn registry() -> Registry {
        Registry::new(Settings::default())
    }

    #[test]
    fn the_last_finished_interval_is_shown() {
        let r = registry();
        r.record(after(1), Kind::Gauge, "g", 1.0, &[]);
        r.record(after(2), Kind::Gauge, "g", 2.0, &[]);
        let value = |s: &Summary| s.gauges.iter().map(|g| g.value).collect::<Vec<_>>();
        let first = r.summary(after(3));
        assert_eq!((value(&first), first.timestamp.as_str()), (vec![2.0], "2027-01-15 08:00:00 +0000 UTC"));
        r.record(after(12), Kind::Gauge, "g", 3.0, &[]);
        r.record(after(13), Kind::Gauge, "h", 9.0, &[]);
        assert_eq!(value(&r.summary(after(14))), [2.0], "the second interval is not finished");
        let second = r.summary(after(20));
        assert_eq!((value(&second), second.timestamp.as_str()), (vec![3.0, 9.0], "2027-01-15 08:00:10 +0000 UTC"));
        assert_eq!(value(&r.summary(after(70))), [3.0, 9.0], "still within the retention");
        assert!(value(&r.summary(after(80))).is_empty());
    }

    #[test]
    fn labels_in_any_order_are_one_series_and_kinds_are_not() {
        let r = registry();
        r.record(after(0), Kind::Counter, "c", 1.0, &[("a", "1"), ("b", "2")]);
        r.record(after(0), Kind::Counter, "c", 2.0, &[("b", "2"), ("a", "1")]);
        r.record(after(0), Kind::Counter, "c", 5.0, &[("a", "2"), ("b", "1")]);
        r.record(after(0), Kind::Gauge, "c", 7.0, &[("a", "1"), ("b", "2")]);
        let s = r.summary(after(1));
        assert_eq!(s.counters.iter().map(|c| (c.count, c.sum)).collect::<Vec<_>>(), [(2, 3.0), (1, 5.0)]);
        assert_eq!(s.gauges.len(), 1);
    }

    #[test]
    fn series_go_when_nobody_records_them() {
        let r = registry();
        r.record(after(0), Kind::Gauge, "g", 1.0, &[("alloc_id", "x")]);
        r.record(after(0), Kind::Counter, "c", 1.0, &[]);
        let shown = |at| r.prometheus(after(at)).expect("kept");
        assert!(shown(60).contains("nomad_g{"));
        assert!(!shown(61).contains("nomad_g") && shown(61).contains("nomad_c 1\n"));
        assert!(shown(3600).contains("nomad_c 1\n") && !shown(3601).contains("nomad_c"));
        assert_eq!(r.shards.iter().map(|s| s.lock().series.len()).sum::<usize>(), 0);
    }

    #[test]
    fn counters_of_allocations_go_as_their_gauges_do() {
        let r = Registry::new(Settings { host: Some("h1".into()), ..Settings::default() });
        for alloc in ["a", "b"] {
            r.record(after(0), Kind::Counter, "client.allocs.complete", 1.0, &[("alloc_id", alloc)]);
            r.record(after(0), Kind::Sample, "nomad.broker.wait_time", 1.0, &[("job", alloc)]);
        }
        r.record(after(0), Kind::Counter, "nomad.rpc.request", 1.0, &[]);
        r.record(after(30), Kind::Counter, "client.allocs.complete", 1.0, &[("alloc_id", "b")]);
        let shown = |at| r.prometheus(after(at)).expect("kept");
        assert!(shown(60).contains("alloc_id=\"a\"") && shown(60).contains("job=\"a\""));
        let later = shown(61);
        assert!(!later.contains("alloc_id=\"a\"") && later.contains("alloc_id=\"b\",host=\"h1\"} 2\n"), "{later}");
        assert!(!later.contains("wait_time") && later.contains("rpc_request{host=\"h1\"} 1\n"), "{later}");
    }

    #[test]
    fn old_series_go_without_anybody_looking() {
        let r = registry();
        for i in 0..10_000_u64 {
            r.record(after(i), Kind::Gauge, "g", 1.0, &[("alloc_id", &i.to_string())]);
        }
        let kept: usize = r.shards.iter().map(|s| s.lock().series.len()).sum();
        assert!(kept < 1000, "{kept} series");
    }

    #[test]
    fn the_host_is_a_label_and_filters_see_the_whole_name() {
        let filter = Filter::new(&["-nomad.raft".into()], true).expect("a filter");
        let r = Registry::new(Settings { host: Some("h1".into()), filter, ..Settings::default() });
        r.record(after(0), Kind::Gauge, "raft.lastIndex", 1.0, &[]);
        for value in [1.0, 2.0] {
            r.record(after(0), Kind::Gauge, "client.uptime", value, &[("z", "1"), ("host", "me"), ("z", "2")]);
        }
        r.record(after(0), Kind::Gauge, "client.uptime", f64::NAN, &[]);
        let s = r.summary(after(0));
        assert_eq!(s.gauges.len(), 1);
        let gauge = s.gauges.first().expect("a gauge");
        assert_eq!((gauge.name.as_str(), gauge.value), ("nomad.client.uptime", 2.0));
        assert_eq!(gauge.labels, [("host".into(), "h1".into()), ("z".into(), "1".into())].into());
    }

    #[test]
    fn a_clock_that_goes_back_loses_nothing() {
        let r = registry();
        r.record(after(10), Kind::Counter, "c", 1.0, &[]);
        r.record(after(5), Kind::Counter, "c", 1.0, &[]);
        assert_eq!(r.summary(after(20)).counters.first().map(|c| c.count), Some(2));
    }
}

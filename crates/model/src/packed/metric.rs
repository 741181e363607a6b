//! The metrics of a placement as bytes: which members are set, as bits, and the values of those. `written`: how they are
//! written.

mod written;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use super::codec::{Reader, Writer, flag, uuid_bytes, uuid_text};
use crate::alloc::{AllocMetric, NodeScoreMeta};
use crate::scores::{SCORERS, Scores};
use crate::sorted_map::SortedMap;

/// Texts that many metrics have; each takes a byte.
const FREQUENT: [&str; 16] = [
    "default",
    "all",
    "dc1",
    "global",
    "memory",
    "cpu",
    "disk",
    "cores",
    "computed class ineligible",
    "missing drivers",
    "distinct_hosts",
    "network: port collision",
    "devices: no devices available",
    "devices: no devices match request",
    "missing network",
    "missing compatible host volumes",
];

/// Which members of a metric are set: those that are set most often have the lowest bits.
mod bit {
    pub(super) const NODES_EVALUATED: u64 = 1;
    pub(super) const NODES_IN_POOL: u64 = 1 << 1;
    pub(super) const NODE_POOL: u64 = 1 << 2;
    pub(super) const NODES_AVAILABLE: u64 = 1 << 3;
    pub(super) const SCORES_OF_NODES: u64 = 1 << 4;
    pub(super) const ALLOCATION_TIME: u64 = 1 << 5;
    pub(super) const NODES_FILTERED: u64 = 1 << 6;
    pub(super) const CONSTRAINT_FILTERED: u64 = 1 << 7;
    pub(super) const CLASS_FILTERED: u64 = 1 << 8;
    pub(super) const NODES_EXHAUSTED: u64 = 1 << 9;
    pub(super) const DIMENSION_EXHAUSTED: u64 = 1 << 10;
    pub(super) const CLASS_EXHAUSTED: u64 = 1 << 11;
    pub(super) const COALESCED_FAILURES: u64 = 1 << 12;
    pub(super) const RESOURCES_EXHAUSTED: u64 = 1 << 13;
    pub(super) const QUOTA_EXHAUSTED: u64 = 1 << 14;
    pub(super) const SCORES: u64 = 1 << 15;
}

/// The form of a score: the lowest bits of its first number.
mod form {
    pub(super) const BITS: u32 = 2;
    /// 0, not -0.
    pub(super) const ZERO: u64 = 0;
    /// As that scorer's score of the node before.
    pub(super) const SAME: u64 = 1;
    /// Four bytes say it exactly.
    pub(super) const SINGLE: u64 = 2;
    /// Eight bytes.
    pub(super) const DOUBLE: u64 = 3;
}

/// The node's ID is a UUID.
const IS_UUID: u64 = 1;
/// The final score is the [mean] of the others.
const IS_MEAN: u64 = 1 << 1;
/// The bits of the two.
const NODE_BITS: u32 = 2;

/// The [metrics](AllocMetric) of the node search of a placement, in some two hundred bytes instead of three kilobytes,
/// which copies share. Looks as the metrics when it is written, read, compared and printed.
#[derive(Clone)]
pub struct PackedMetric(Arc<[u8]>);

impl PackedMetric {
    /// The metrics.
    pub fn unpack(&self) -> AllocMetric {
        read(&mut Reader::new(&self.0, &FREQUENT))
    }

    /// How many bytes are kept on the heap, the counters of the copies aside.
    pub fn packed_len(&self) -> usize {
        self.0.len()
    }
}

impl From<&AllocMetric> for PackedMetric {
    fn from(metric: &AllocMetric) -> PackedMetric {
        let mut w = Writer::new(&FREQUENT, 256);
        write(&mut w, metric);
        PackedMetric(w.finish().into())
    }
}

impl From<AllocMetric> for PackedMetric {
    fn from(metric: AllocMetric) -> PackedMetric {
        PackedMetric::from(&metric)
    }
}

fn write<'a>(w: &mut Writer<'a>, m: &'a AllocMetric) {
    let numbers = [
        (m.nodes_evaluated, bit::NODES_EVALUATED),
        (m.nodes_in_pool, bit::NODES_IN_POOL),
        (m.allocation_time, bit::ALLOCATION_TIME),
        (m.nodes_filtered, bit::NODES_FILTERED),
        (m.nodes_exhausted, bit::NODES_EXHAUSTED),
        (m.coalesced_failures, bit::COALESCED_FAILURES),
    ];
    let counts = [
        (&m.constraint_filtered, bit::CONSTRAINT_FILTERED),
        (&m.class_filtered, bit::CLASS_FILTERED),
        (&m.dimension_exhausted, bit::DIMENSION_EXHAUSTED),
        (&m.class_exhausted, bit::CLASS_EXHAUSTED),
    ];
    let set = numbers.iter().map(|(n, bit)| flag(*n != 0, *bit)).sum::<u64>()
        + counts.iter().map(|(map, bit)| flag(!map.is_empty(), *bit)).sum::<u64>()
        + flag(!m.node_pool.is_empty(), bit::NODE_POOL)
        + flag(m.nodes_available.is_some(), bit::NODES_AVAILABLE)
        + flag(!m.score_meta_data.is_empty(), bit::SCORES_OF_NODES)
        + flag(!m.resources_exhausted.is_empty(), bit::RESOURCES_EXHAUSTED)
        + flag(!m.quota_exhausted.is_empty(), bit::QUOTA_EXHAUSTED)
        + flag(!m.scores.is_empty(), bit::SCORES);
    w.number(set);
    numbers.iter().filter(|(n, _)| *n != 0).for_each(|(n, _)| w.signed(*n));
    if set & bit::NODE_POOL != 0 {
        w.text(&m.node_pool);
    }
    if let Some(available) = &m.nodes_available {
        write_counts(w, available.iter());
    }
    counts.iter().filter(|(map, _)| !map.is_empty()).for_each(|(map, _)| write_counts(w, map.iter()));
    if set & bit::SCORES_OF_NODES != 0 {
        write_nodes(w, &m.score_meta_data);
    }
    if set & (bit::RESOURCES_EXHAUSTED | bit::QUOTA_EXHAUSTED | bit::SCORES) != 0 {
        write_rare(w, m);
    }
}

/// What comes before the scores of nodes, read without making texts.
struct Head<'a> {
    set: u64,
    nodes_evaluated: i64,
    nodes_in_pool: i64,
    allocation_time: i64,
    nodes_filtered: i64,
    nodes_exhausted: i64,
    coalesced_failures: i64,
    node_pool: Cow<'a, str>,
    nodes_available: Option<Counts<'a>>,
    constraint_filtered: Counts<'a>,
    class_filtered: Counts<'a>,
    dimension_exhausted: Counts<'a>,
    class_exhausted: Counts<'a>,
}

impl<'a> Head<'a> {
    fn read(r: &mut Reader<'a>) -> Head<'a> {
        let set = r.number();
        let has = |bit: u64| set & bit != 0;
        let mut number = |bit| if has(bit) { r.signed() } else { 0 };
        // In the order in which they are written.
        let nodes_evaluated = number(bit::NODES_EVALUATED);
        let nodes_in_pool = number(bit::NODES_IN_POOL);
        let allocation_time = number(bit::ALLOCATION_TIME);
        let nodes_filtered = number(bit::NODES_FILTERED);
        let nodes_exhausted = number(bit::NODES_EXHAUSTED);
        let coalesced_failures = number(bit::COALESCED_FAILURES);
        let node_pool = if has(bit::NODE_POOL) { r.text() } else { Cow::Borrowed("") };
        let nodes_available = has(bit::NODES_AVAILABLE).then(|| read_counts(r));
        let mut counts = |bit| if has(bit) { read_counts(r) } else { Counts::new() };
        let constraint_filtered = counts(bit::CONSTRAINT_FILTERED);
        let class_filtered = counts(bit::CLASS_FILTERED);
        let dimension_exhausted = counts(bit::DIMENSION_EXHAUSTED);
        let class_exhausted = counts(bit::CLASS_EXHAUSTED);
        Head {
            set,
            nodes_evaluated,
            nodes_in_pool,
            allocation_time,
            nodes_filtered,
            nodes_exhausted,
            coalesced_failures,
            node_pool,
            nodes_available,
            constraint_filtered,
            class_filtered,
            dimension_exhausted,
            class_exhausted,
        }
    }
}

fn read(r: &mut Reader<'_>) -> AllocMetric {
    let head = Head::read(r);
    fn owned<C: FromIterator<(String, i64)>>(counts: Counts<'_>) -> C {
        counts.into_iter().map(|(text, n)| (text.into_owned(), n)).collect()
    }
    let mut m = AllocMetric {
        nodes_evaluated: head.nodes_evaluated,
        nodes_filtered: head.nodes_filtered,
        nodes_in_pool: head.nodes_in_pool,
        node_pool: head.node_pool.into_owned(),
        nodes_available: head.nodes_available.map(|counts| Arc::new(owned::<SortedMap<i64>>(counts))),
        class_filtered: owned(head.class_filtered),
        constraint_filtered: owned(head.constraint_filtered),
        nodes_exhausted: head.nodes_exhausted,
        class_exhausted: owned(head.class_exhausted),
        dimension_exhausted: owned(head.dimension_exhausted),
        allocation_time: head.allocation_time,
        coalesced_failures: head.coalesced_failures,
        ..AllocMetric::default()
    };
    if head.set & bit::SCORES_OF_NODES != 0 {
        m.score_meta_data = read_nodes(r);
    }
    read_rare(r, head.set, &mut m);
    m
}

/// Counts by text, in ascending order.
type Counts<'a> = Vec<(Cow<'a, str>, i64)>;

fn write_counts<'a>(w: &mut Writer<'a>, counts: impl ExactSizeIterator<Item = (&'a String, &'a i64)>) {
    w.count(counts.len());
    for (text, n) in counts {
        w.text(text);
        w.signed(*n);
    }
}

fn read_counts<'a>(r: &mut Reader<'a>) -> Counts<'a> {
    (0..r.count()).map(|_| (r.text(), r.signed())).collect()
}

/// Members that metrics of placements do not have, only those of failures.
fn write_rare<'a>(w: &mut Writer<'a>, m: &'a AllocMetric) {
    if !m.resources_exhausted.is_empty() {
        // Its JSON has every member, and keys that are text.
        w.counted(&serde_json::to_vec(&m.resources_exhausted).unwrap_or_default());
    }
    if !m.quota_exhausted.is_empty() {
        w.count(m.quota_exhausted.len());
        m.quota_exhausted.iter().for_each(|text| w.text(text));
    }
    if !m.scores.is_empty() {
        w.count(m.scores.len());
        for (name, score) in &m.scores {
            w.text(name);
            w.bytes(&score.to_le_bytes());
        }
    }
}

fn read_rare(r: &mut Reader<'_>, set: u64, m: &mut AllocMetric) {
    if set & bit::RESOURCES_EXHAUSTED != 0 {
        m.resources_exhausted = serde_json::from_slice(r.counted()).unwrap_or_default();
    }
    if set & bit::QUOTA_EXHAUSTED != 0 {
        m.quota_exhausted = (0..r.count()).map(|_| r.text().into_owned()).collect();
    }
    if set & bit::SCORES != 0 {
        m.scores = (0..r.count()).map(|_| (r.text().into_owned(), f64::from_le_bytes(r.array()))).collect();
    }
}

/// The mean of the scores as the scheduler takes it: those that are 0 do not count, but for the first.
fn mean(scores: &Scores) -> f64 {
    mean_of(|scorer| scores.get(scorer))
}

/// The mean of the scores that a function gives.
fn mean_of(score: impl Fn(&str) -> Option<f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (at, scorer) in SCORERS.iter().enumerate() {
        match score(scorer) {
            Some(score) if at == 0 || score != 0.0 => {
                sum += score;
                count += 1.0;
            }
            _ => {}
        }
    }
    sum / count
}

fn write_nodes<'a>(w: &mut Writer<'a>, nodes: &'a [NodeScoreMeta]) {
    w.count(nodes.len());
    let mut before: Option<&NodeScoreMeta> = None;
    for node in nodes {
        let id = uuid_bytes(&node.node_id);
        let is_mean = !node.norm_score.is_nan() && node.norm_score.to_bits() == mean(&node.scores).to_bits();
        let flags = flag(id.is_some(), IS_UUID) | flag(is_mean, IS_MEAN);
        w.number((node.scores.0.len() as u64) << NODE_BITS | flags);
        match id {
            Some(id) => w.bytes(&id),
            None => w.text(&node.node_id),
        }
        for (name, score) in &node.scores.0 {
            // 0 stands for an unknown scorer, whose name follows.
            let known = SCORERS.iter().position(|s| s == name);
            let same = before.and_then(|b| b.scores.get(name)).is_some_and(|b| b.to_bits() == score.to_bits());
            let single = *score as f32;
            let form = match *score {
                _ if score.to_bits() == 0 => form::ZERO,
                _ if same => form::SAME,
                _ if f64::from(single).to_bits() == score.to_bits() => form::SINGLE,
                _ => form::DOUBLE,
            };
            w.number((known.map_or(0, |n| n + 1) as u64) << form::BITS | form);
            if known.is_none() {
                w.text(name);
            }
            match form {
                form::SINGLE => w.bytes(&single.to_le_bytes()),
                form::DOUBLE => w.bytes(&score.to_le_bytes()),
                _ => {}
            }
        }
        if !is_mean {
            w.bytes(&node.norm_score.to_le_bytes());
        }
        before = Some(node);
    }
}

/// The name of a scorer.
#[derive(Clone)]
enum Scorer<'a> {
    Known(&'static str),
    Other(Cow<'a, str>),
}

impl Scorer<'_> {
    fn name(&self) -> &str {
        match self {
            Scorer::Known(name) => name,
            Scorer::Other(name) => name,
        }
    }
}

/// The ID of a node.
enum NodeId<'a> {
    Uuid([u8; 16]),
    Other(Cow<'a, str>),
}

/// Reads the scores of nodes one after the other.
#[derive(Clone)]
struct Nodes<'a> {
    rest: Reader<'a>,
    left: usize,
    /// The scores of the node that was read last.
    scores: Vec<(Scorer<'a>, f64)>,
    /// Those of the node before.
    before: Vec<(Scorer<'a>, f64)>,
}

fn score_of(scores: &[(Scorer<'_>, f64)], name: &str) -> Option<f64> {
    scores.iter().find(|(scorer, _)| scorer.name() == name).map(|(_, score)| *score)
}

impl<'a> Nodes<'a> {
    fn new(mut rest: Reader<'a>) -> Nodes<'a> {
        let left = rest.count();
        Nodes { rest, left, scores: Vec::new(), before: Vec::new() }
    }

    /// Reads the next node: its ID and its final score. The other scores are in `scores` then.
    fn read_next(&mut self) -> Option<(NodeId<'a>, f64)> {
        self.left = self.left.checked_sub(1)?;
        std::mem::swap(&mut self.scores, &mut self.before);
        self.scores.clear();
        let r = &mut self.rest;
        let head = r.number();
        let id = if head & IS_UUID != 0 { NodeId::Uuid(r.array()) } else { NodeId::Other(r.text()) };
        for _ in 0..r.capped(head >> NODE_BITS) {
            let code = r.number();
            let known = usize::try_from(code >> form::BITS).ok().and_then(|n| SCORERS.get(n.checked_sub(1)?));
            let scorer = known.map_or_else(|| Scorer::Other(r.text()), |name| Scorer::Known(name));
            let score = match code & ((1 << form::BITS) - 1) {
                form::ZERO => 0.0,
                form::SAME => score_of(&self.before, scorer.name()).unwrap_or_default(),
                form::SINGLE => f32::from_le_bytes(r.array()).into(),
                _ => f64::from_le_bytes(r.array()),
            };
            self.scores.push((scorer, score));
        }
        let is_mean = head & IS_MEAN != 0;
        let last = if is_mean { mean_of(|name| score_of(&self.scores, name)) } else { f64::from_le_bytes(r.array()) };
        Some((id, last))
    }
}

fn read_nodes(r: &mut Reader<'_>) -> Vec<NodeScoreMeta> {
    let mut rest = Nodes::new(r.clone());
    let mut nodes: Vec<NodeScoreMeta> = Vec::with_capacity(rest.left);
    while let Some((id, norm_score)) = rest.read_next() {
        let node_id = match id {
            NodeId::Uuid(bytes) => uuid_text(bytes),
            NodeId::Other(text) => text.into_owned(),
        };
        let named = rest.scores.iter().map(|(scorer, score)| match scorer {
            Scorer::Known(name) => (Cow::Borrowed(*name), *score),
            Scorer::Other(name) => (Cow::Owned(name.to_string()), *score),
        });
        nodes.push(NodeScoreMeta { node_id, scores: Scores(named.collect()), norm_score });
    }
    *r = rest.rest;
    nodes
}

/// Equal as the metrics are: 0 is -0.
impl PartialEq for PackedMetric {
    fn eq(&self, other: &PackedMetric) -> bool {
        self.0 == other.0 || self.unpack() == other.unpack()
    }
}

impl fmt::Debug for PackedMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unpack().fmt(f)
    }
}

impl<'de> Deserialize<'de> for PackedMetric {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<PackedMetric, D::Error> {
        AllocMetric::deserialize(d).map(PackedMetric::from)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;
    use crate::Resources;

    fn text() -> impl Strategy<Value = String> {
        "default|dc1|memory|[a-c]{0,2}|\\PC{0,20}"
    }

    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![Just(0), -200..5000_i64, any::<i64>()]
    }

    fn float() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(-0.0), Just(-1.0), Just(0.5), Just(f64::NAN), any::<f64>(), -1.0..1.0]
    }

    fn counts() -> impl Strategy<Value = BTreeMap<String, i64>> {
        btree_map(text(), number(), 0..3)
    }

    prop_compose! {
        fn node()(
            id in prop_oneof!["[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", text()],
            scores in vec((prop_oneof![(0..7_usize).prop_map(|n| SCORERS[n].to_string()), text()], float()), 0..8),
            final_score in proptest::option::of(float()),
        ) -> NodeScoreMeta {
            let mut out = NodeScoreMeta { node_id: id, ..Default::default() };
            scores.into_iter().for_each(|(name, score)| out.scores.set(name, score));
            out.norm_score = final_score.unwrap_or_else(|| mean(&out.scores));
            out
        }
    }

    prop_compose! {
        fn metric()(
            n in proptest::array::uniform6(number()),
            node_pool in text(),
            available in proptest::option::of(counts()),
            maps in proptest::array::uniform4(counts()),
            quota_exhausted in vec(text(), 0..3),
            resources in btree_map(text(), (number(), number()), 0..3),
            scores in btree_map(text(), float(), 0..3),
            score_meta_data in vec(node(), 0..6),
        ) -> AllocMetric {
            let [constraint_filtered, class_filtered, dimension_exhausted, class_exhausted] = maps;
            let one = |(name, (cpu, memory_mb))| (name, Resources { cpu, memory_mb, ..Default::default() });
            AllocMetric {
                nodes_evaluated: n[0], nodes_filtered: n[1], nodes_in_pool: n[2], nodes_exhausted: n[3],
                allocation_time: n[4], coalesced_failures: n[5], node_pool,
                nodes_available: available.map(|a| Arc::new(a.into_iter().collect())),
                class_filtered, constraint_filtered, class_exhausted, dimension_exhausted, quota_exhausted,
                resources_exhausted: resources.into_iter().map(one).collect(),
                scores, score_meta_data,
            }
        }
    }

    /// The metrics as text in which all floats differ that have different bits.
    fn exact(m: &AllocMetric) -> String {
        let bits = |scores: &mut dyn Iterator<Item = f64>| scores.map(f64::to_bits).collect::<Vec<_>>();
        let of_node = |n: &NodeScoreMeta| (bits(&mut n.scores.iter().map(|(_, s)| s)), n.norm_score.to_bits());
        let nodes: Vec<_> = m.score_meta_data.iter().map(of_node).collect();
        format!("{m:?} {nodes:?} {:?}", bits(&mut m.scores.values().copied()))
    }

    /// Asserts that both were read with the same result.
    fn same<E: fmt::Display>(plain: Result<AllocMetric, E>, packed: Result<PackedMetric, E>) {
        let plain = plain.map(|m| exact(&m)).map_err(|e| e.to_string());
        assert_eq!(packed.map(|m| exact(&m.unpack())).map_err(|e| e.to_string()), plain);
    }

    proptest! {
        #[test]
        fn metrics_stay_as_they_are(m in metric()) {
            let packed = PackedMetric::from(&m);
            assert_eq!(exact(&packed.unpack()), exact(&m));
            assert_eq!(format!("{packed:?}"), format!("{m:?}"));
            assert_eq!(packed, packed.clone());
            let changed = AllocMetric { coalesced_failures: m.coalesced_failures.wrapping_add(1), ..m };
            assert_ne!(packed, changed.into());
        }

        #[test]
        fn forms_are_those_of_the_metrics(m in metric()) {
            let packed = PackedMetric::from(&m);
            let json = serde_json::to_string(&m).unwrap();
            assert_eq!(serde_json::to_string(&packed).unwrap(), json);
            same(serde_json::from_str(&json), serde_json::from_str(&json));
            let binary = rmp_serde::to_vec_named(&m).unwrap();
            assert_eq!(rmp_serde::to_vec_named(&packed).unwrap(), binary);
            same(rmp_serde::from_slice(&binary), rmp_serde::from_slice(&binary));
        }

        #[test]
        fn any_bytes_are_metrics(bytes in vec(any::<u8>(), 0..80)) {
            PackedMetric(bytes.into()).unpack();
        }
    }

    #[test]
    fn zeros_of_both_signs_are_equal() {
        let scored = |norm_score| AllocMetric {
            score_meta_data: vec![NodeScoreMeta { norm_score, ..Default::default() }],
            ..Default::default()
        };
        assert_eq!(PackedMetric::from(scored(0.0)), scored(-0.0).into());
        assert_ne!(PackedMetric::from(scored(0.0)), scored(0.1).into());
        for text in ["null", "[]", r#"{"NodesEvaluated":"x"}"#, r#"{"ScoreMetaData":null,"NodePool":null}"#] {
            same(serde_json::from_str(text), serde_json::from_str(text));
        }
    }

    /// A placement of a service on one of five thousand nodes.
    #[test]
    fn usual_metrics_are_few_bytes() {
        let node = |n: u64| {
            let mut node = NodeScoreMeta { node_id: uuid_text([n as u8; 16]), ..Default::default() };
            node.scores.set("binpack", 0.123_456_789 / n as f64);
            node.scores.set("job-anti-affinity", if n.is_multiple_of(2) { -(n as f64) / 7.0 } else { 0.0 });
            node.scores.set("node-reschedule-penalty", 0.0);
            node.scores.set("node-affinity", 0.0);
            node.norm_score = mean(&node.scores);
            node
        };
        let metric = AllocMetric {
            nodes_evaluated: 14,
            nodes_filtered: 3,
            nodes_exhausted: 2,
            nodes_in_pool: 5000,
            node_pool: "default".into(),
            nodes_available: Some(Arc::new([("dc1".to_string(), 2500), ("dc2".to_string(), 2500)].into())),
            class_filtered: [("large".to_string(), 3)].into(),
            constraint_filtered: [("${attr.kernel.name} = linux".to_string(), 3)].into(),
            dimension_exhausted: [("memory".to_string(), 2)].into(),
            score_meta_data: (1..=5).map(node).collect(),
            allocation_time: 23_456,
            ..Default::default()
        };
        let packed = PackedMetric::from(&metric);
        assert_eq!(packed.unpack(), metric);
        assert!(packed.packed_len() <= 250, "{}", packed.packed_len());
        assert_eq!(size_of::<Option<PackedMetric>>(), 16);
    }
}

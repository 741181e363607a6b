//! Writes packed metrics in the form of [`AllocMetric`](crate::AllocMetric), without making one.

use std::borrow::Cow;

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::{FREQUENT, Head, NodeId, Nodes, PackedMetric, Scorer, bit};
use crate::packed::codec::Reader;

/// As the metrics are written. Those of a placement are written as they are read: servers write millions of them.
impl Serialize for PackedMetric {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut r = Reader::new(&self.0, &FREQUENT);
        let head = Head::read(&mut r);
        if head.set & (bit::RESOURCES_EXHAUSTED | bit::QUOTA_EXHAUSTED | bit::SCORES) != 0 {
            return self.unpack().serialize(s);
        }
        let nodes = (head.set & bit::SCORES_OF_NODES != 0).then(|| Nodes::new(r));
        let nodes = nodes.filter(|nodes| nodes.left > 0);
        let mut out = s.serialize_struct("AllocMetric", 16)?;
        out.serialize_field("NodesEvaluated", &head.nodes_evaluated)?;
        out.serialize_field("NodesFiltered", &head.nodes_filtered)?;
        out.serialize_field("NodesInPool", &head.nodes_in_pool)?;
        out.serialize_field("NodePool", &*head.node_pool)?;
        out.serialize_field("NodesAvailable", &head.nodes_available.as_deref().map(AsMap))?;
        out.serialize_field("ClassFiltered", &or_nil(&head.class_filtered))?;
        out.serialize_field("ConstraintFiltered", &or_nil(&head.constraint_filtered))?;
        out.serialize_field("NodesExhausted", &head.nodes_exhausted)?;
        out.serialize_field("ClassExhausted", &or_nil(&head.class_exhausted))?;
        out.serialize_field("DimensionExhausted", &or_nil(&head.dimension_exhausted))?;
        out.serialize_field("QuotaExhausted", &None::<()>)?;
        out.serialize_field("ResourcesExhausted", &None::<()>)?;
        out.serialize_field("Scores", &None::<()>)?;
        out.serialize_field("ScoreMetaData", &nodes)?;
        out.serialize_field("AllocationTime", &head.allocation_time)?;
        out.serialize_field("CoalescedFailures", &head.coalesced_failures)?;
        out.end()
    }
}

/// Counts as a map.
struct AsMap<'a>(&'a [(Cow<'a, str>, i64)]);

impl Serialize for AsMap<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.0.iter().map(|(text, n)| (&**text, n)))
    }
}

/// Counts as a map; none of them are null.
fn or_nil<'a>(counts: &'a [(Cow<'a, str>, i64)]) -> Option<AsMap<'a>> {
    (!counts.is_empty()).then_some(AsMap(counts))
}

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut rest = self.clone();
        let mut out = s.serialize_seq(Some(rest.left))?;
        while let Some((id, norm_score)) = rest.read_next() {
            rest.scores.sort_by(|(a, _), (b, _)| a.name().cmp(b.name()));
            out.serialize_element(&NodeScores { id: &id, scores: &rest.scores, norm_score })?;
        }
        out.end()
    }
}

/// The scores of a node, written as [`NodeScoreMeta`] is.
struct NodeScores<'a> {
    id: &'a NodeId<'a>,
    /// By name.
    scores: &'a [(Scorer<'a>, f64)],
    norm_score: f64,
}

impl Serialize for NodeScores<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("NodeScoreMeta", 3)?;
        let mut text = [0; Hyphenated::LENGTH];
        let id = match self.id {
            NodeId::Uuid(bytes) => &*Uuid::from_bytes(*bytes).hyphenated().encode_lower(&mut text),
            NodeId::Other(text) => text,
        };
        out.serialize_field("NodeID", id)?;
        out.serialize_field("Scores", &(!self.scores.is_empty()).then_some(ByName(self.scores)))?;
        out.serialize_field("NormScore", &self.norm_score)?;
        out.end()
    }
}

/// Scores as a map.
struct ByName<'a>(&'a [(Scorer<'a>, f64)]);

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.0.iter().map(|(scorer, score)| (scorer.name(), score)))
    }
}

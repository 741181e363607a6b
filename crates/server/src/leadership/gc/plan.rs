//! What a run would delete and keep, counted by rule and reason (`docs/spec/garbage-collection.md §19`).

use std::collections::BTreeMap;

use super::decide::View;
use super::verdict::{Decision, Named};
use encamp_model::gc::{
    GcCollected, GcKept, GcKind, GcKindPlan, GcObject, GcPlan, GcReason, GcRule, GcSetting, GcThreshold, GcTimestamp,
};
use encamp_model::{Time, gc};

/// The most objects that a plan lists.
pub const MOST_OBJECTS: usize = 10_000;

/// Objects that are deleted for the same reason: how many, and their earliest and latest timestamp.
#[derive(Default)]
struct Group {
    count: u64,
    oldest: i64,
    newest: i64,
}

/// The objects of one kind.
#[derive(Default)]
struct Tally {
    collected: BTreeMap<(GcRule, GcSetting, GcTimestamp), Group>,
    /// The earliest time at which one of them is old enough.
    kept: BTreeMap<(GcReason, Option<GcSetting>), (u64, Option<i64>)>,
}

impl Tally {
    fn add(&mut self, decision: &Decision) {
        match decision {
            Decision::Collect(due) => {
                let group = self.collected.entry((due.rule, due.age.setting, due.measured_from)).or_default();
                group.oldest = if group.count == 0 { due.since } else { group.oldest.min(due.since) };
                group.newest = if group.count == 0 { due.since } else { group.newest.max(due.since) };
                group.count += 1;
            }
            Decision::Young(due) => {
                let (count, next) = self.kept.entry((GcReason::TooYoung, Some(due.age.setting))).or_default();
                *count += 1;
                *next = Some(next.map_or(due.at, |at| at.min(due.at)));
            }
            Decision::Held(held) => self.kept.entry((held.reason, None)).or_default().0 += 1,
        }
    }

    fn shown(&self, kind: GcKind, visible: bool) -> GcKindPlan {
        let time = Time::from_unix_nanos;
        let collected = |(key, group): (&(GcRule, GcSetting, GcTimestamp), &Group)| GcCollected {
            rule: key.0,
            setting: key.1,
            measured_from: key.2,
            count: group.count,
            oldest: time(group.oldest),
            newest: time(group.newest),
        };
        let kept = self.kept.iter().map(|(&(reason, setting), &(count, next))| GcKept {
            reason,
            setting,
            count,
            next: next.map(time),
        });
        GcKindPlan { kind, visible, collected: self.collected.iter().map(collected).collect(), kept: kept.collect() }
    }
}

/// What the run would do. Lists up to `objects` objects, at most [`MOST_OBJECTS`].
pub fn plan(view: &View, objects: usize) -> GcPlan {
    let mut tallies: BTreeMap<GcKind, Tally> = BTreeMap::new();
    let (mut list, mut omitted) = (Vec::new(), 0);
    let most = objects.min(MOST_OBJECTS);
    view.all(|name: Named, decision| {
        let Some(kind) = name.kind.filter(|kind| view.visible.contains(kind)) else { return };
        tallies.entry(kind).or_default().add(&decision);
        if list.len() < most {
            list.push(GcObject { object: name.shown(), decision: decision.shown() });
        } else if objects > 0 {
            omitted += 1;
        }
    });
    list.sort_by(|a, b| a.object.cmp(&b.object));
    let kind = |kind: &GcKind| {
        let none = Tally::default();
        tallies.get(kind).unwrap_or(&none).shown(*kind, view.visible.contains(kind))
    };
    let threshold = |age: super::verdict::Age| GcThreshold { setting: age.setting, threshold: age.nanos };
    GcPlan {
        at: Time::from_unix_nanos(view.now),
        index: view.store.latest_index().max(view.store.state().index),
        forced: view.thresholds.forced,
        thresholds: view.thresholds.list().into_iter().map(threshold).collect(),
        kinds: gc::GcKind::ALL.iter().map(kind).collect(),
        objects: list,
        objects_omitted: omitted,
    }
}

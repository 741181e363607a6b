//! Compares two plans of one job, for checking one planner against another.
//!
//! Which node gets an allocation depends on the order in which nodes are visited, which is random on servers, so nodes
//! and preempted allocations are compared by number, not by name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use encamp_model::json::differences;
use encamp_model::{AllocListStub, DesiredUpdates, JobPlanResponse};

/// Places of a diff that are named at most.
const MOST_PLACES: usize = 10;

/// The differences between `local` and `remote`, one line each; empty if they agree.
pub fn disagreements(local: &JobPlanResponse, remote: &JobPlanResponse) -> Vec<String> {
    let mut out = Vec::new();
    let mut compare = |what: String, local: String, remote: String| {
        if local != remote {
            out.push(format!("{what}: {local} here, {remote} there"));
        }
    };
    compare("job modify index".into(), local.job_modify_index.to_string(), remote.job_modify_index.to_string());
    let (mine, theirs) = (updates(local), updates(remote));
    for group in mine.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let text = |all: &BTreeMap<String, DesiredUpdates>| all.get(group).map_or("none".into(), counts);
        compare(format!("changes of group {group:?}"), text(&mine), text(&theirs));
    }
    let (mine, theirs) = (failures(local), failures(remote));
    for group in mine.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let text = |all: &BTreeMap<String, u64>| all.get(group).unwrap_or(&0).to_string();
        compare(format!("unplaced allocations of group {group:?}"), text(&mine), text(&theirs));
    }
    let (mine, theirs) = (victims(local), victims(remote));
    for job in mine.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let text = |all: &BTreeMap<String, u64>| all.get(job).unwrap_or(&0).to_string();
        compare(format!("preempted allocations of job {job:?}"), text(&mine), text(&theirs));
    }
    compare("warnings".into(), format!("{:?}", local.warnings.trim()), format!("{:?}", remote.warnings.trim()));
    let value = |plan: &JobPlanResponse| serde_json::to_value(&plan.diff).unwrap_or_default();
    let (mine, theirs) = (value(local), value(remote));
    // Null and what is empty are the same.
    let differing = differences(&mine, &theirs).into_iter().filter(|d| !(empty(d.left) && empty(d.right)));
    let mut places: Vec<String> =
        differing.map(|d| format!("Diff{}: {} here, {} there", d.path, shown(d.left), shown(d.right))).collect();
    let more = places.len().saturating_sub(MOST_PLACES);
    places.truncate(MOST_PLACES);
    out.extend(places);
    if more > 0 {
        out.push(format!("and {more} more differences"));
    }
    out
}

fn updates(plan: &JobPlanResponse) -> BTreeMap<String, DesiredUpdates> {
    let annotations = plan.annotations.iter().flat_map(|a| &a.desired_tg_updates);
    annotations.map(|(group, updates)| (group.clone(), updates.clone())).collect()
}

fn counts(u: &DesiredUpdates) -> String {
    let all = [
        ("place", u.place),
        ("stop", u.stop),
        ("migrate", u.migrate),
        ("update in place", u.in_place_update),
        ("destroy and create", u.destructive_update),
        ("canary", u.canary),
        ("preempt", u.preemptions),
        ("ignore", u.ignore),
        ("disconnect", u.disconnect),
        ("reconnect", u.reconnect),
        ("reschedule now", u.reschedule_now),
        ("reschedule later", u.reschedule_later),
    ];
    let named: Vec<String> = all.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
    if named.is_empty() { "none".into() } else { named.join(", ") }
}

fn failures(plan: &JobPlanResponse) -> BTreeMap<String, u64> {
    plan.failed_tg_allocs.iter().map(|(group, m)| (group.clone(), m.failures().unsigned_abs())).collect()
}

fn victims(plan: &JobPlanResponse) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    let all = plan.annotations.iter().flat_map(|a| &a.preempted_allocs);
    all.for_each(|a: &AllocListStub| *out.entry(format!("{}@{}", a.job_id, a.namespace)).or_default() += 1);
    out
}

fn empty(v: &Value) -> bool {
    match v {
        Value::Null => true,
        Value::String(s) => s.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn shown(v: &Value) -> String {
    match v {
        Value::Array(list) => format!("{} entries", list.len()),
        Value::Object(members) => members.get("Name").map_or("an object".into(), |name| format!("{name}")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{AllocMetric, JobDiff, PlanAnnotations};

    fn plan(place: u64, victims: &[&str], coalesced: i64, kind: &str) -> JobPlanResponse {
        let stub = |id: &&str| AllocListStub { job_id: "v".into(), id: (*id).into(), ..Default::default() };
        JobPlanResponse {
            annotations: Some(PlanAnnotations {
                desired_tg_updates: [("g".to_string(), DesiredUpdates { place, ..Default::default() })].into(),
                preempted_allocs: victims.iter().map(stub).collect(),
            }),
            failed_tg_allocs: [("g".to_string(), AllocMetric { coalesced_failures: coalesced, ..Default::default() })]
                .into(),
            diff: Some(JobDiff { r#type: kind.into(), ..Default::default() }),
            ..Default::default()
        }
    }

    #[test]
    fn plans_agree_whatever_nodes_they_choose() {
        assert_eq!(disagreements(&plan(2, &["a"], 1, "Added"), &plan(2, &["b"], 1, "Added")), [""; 0]);
    }

    #[test]
    fn every_disagreement_is_named() {
        let got = disagreements(&plan(2, &["a"], 1, "Added"), &plan(3, &["a", "b"], 0, "Edited"));
        let want = [
            "changes of group \"g\": 2 place here, 3 place there",
            "unplaced allocations of group \"g\": 2 here, 1 there",
            "preempted allocations of job \"v@\": 1 here, 2 there",
            "Diff.Type: \"Added\" here, \"Edited\" there",
        ];
        assert_eq!(got, want);
    }
}

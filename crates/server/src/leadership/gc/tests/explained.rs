//! Explanations and plans (`docs/spec/garbage-collection.md §19`).

use super::*;
use crate::leadership::gc::decide::View;
use crate::leadership::gc::explain::explain;
use crate::leadership::gc::plan::plan;
use encamp_model::gc::{GcExplanation, GcKind, GcReason, GcRule};

fn view(s: &StateStore, now: i64) -> View<'_> {
    View { store: s, visible: GcKind::ALL, thresholds: defaults(), now }
}

fn explained(s: &StateStore, id: &str) -> GcExplanation {
    explain(&view(s, NOW), &GcSettings::default(), "", id).explanation.expect("one object")
}

/// An ended evaluation with an old allocation and one that runs.
fn half_done() -> StateStore {
    let old = aged(alloc("a-old", ClientStatus::Complete, DesiredStatus::Stop), 2 * HOUR);
    let runs = aged(alloc("a-runs", ClientStatus::Running, DesiredStatus::Run), 2 * HOUR);
    store(job(JobStatus::Running, false, None), eval(JobType::Service, 2 * HOUR), vec![old, runs])
}

#[test]
fn a_chain_leads_to_what_keeps_an_object() {
    let s = half_done();
    let e = explained(&s, "e1");
    let chain: Vec<_> =
        e.chain.iter().map(|step| (step.object.object.id.as_str(), step.object.decision.reason)).collect();
    assert_eq!(
        chain,
        [("e1", Some(GcReason::AllocationOfEvaluation)), ("a-runs", Some(GcReason::AllocationNotTerminal)),]
    );
    assert_eq!((e.run.as_str(), e.interval, e.job.map(|j| j.id).as_deref()), ("eval-gc", EVERY, Some("web")));
    assert!(!e.forced.collect);
    let old = explained(&s, "a-old");
    assert!(old.chain[0].object.decision.collect && old.forced.collect);
    let age = old.chain[0].object.decision.age.clone().unwrap();
    assert_eq!((age.threshold, age.from), (HOUR, Time::from_unix_nanos(NOW - HOUR)));
}

#[test]
fn an_object_waits_for_its_job() {
    let batch = Job { r#type: JobType::Batch, submit_time: NOW - 3 * HOUR, ..job(JobStatus::Dead, false, None) };
    let a = aged(alloc("a", ClientStatus::Complete, DesiredStatus::Run), 2 * HOUR);
    let s = store(batch, eval(JobType::Batch, 150 * MINUTE), vec![a]);
    let e = explained(&s, "a");
    let d = &e.chain[0].object.decision;
    assert_eq!((d.rule, d.reason, e.run.as_str()), (Some(GcRule::WithJob), Some(GcReason::TooYoung), "job-gc"));
    // The allocation is the last to be old enough: four hours after its change.
    let age = d.age.clone().unwrap();
    assert_eq!(age.from, Time::from_unix_nanos(NOW + 2 * HOUR));
    let later = view(&s, NOW + 2 * HOUR);
    let then = explain(&later, &GcSettings::default(), "", "a").explanation.unwrap();
    assert!(then.chain[0].object.decision.collect);
    let before = view(&s, NOW + 2 * HOUR - 1);
    assert!(!explain(&before, &GcSettings::default(), "", "a").explanation.unwrap().chain[0].object.decision.collect);
}

#[test]
fn ids_are_found_by_prefix_and_exactly() {
    let mut s = half_done();
    let find = |s: &StateStore, id: &str| {
        let found = explain(&view(s, NOW), &GcSettings::default(), "", id);
        (found.explanation.map(|e| e.chain[0].object.object.id.clone()), found.matches.len())
    };
    assert_eq!(find(&s, "a-o"), (Some("a-old".into()), 0));
    assert_eq!(find(&s, "a-"), (None, 2));
    assert_eq!(find(&s, "nothing"), (None, 0));
    assert_eq!(find(&s, ""), (None, 0));
    s.put_job(Arc::new(Job { id: "web-2".into(), ..job(JobStatus::Running, false, None) }));
    assert_eq!((find(&s, "web"), find(&s, "we")), ((Some("web".into()), 0), (None, 2)));
    s.put_job(Arc::new(Job { namespace: "ops".into(), ..job(JobStatus::Running, false, None) }));
    assert_eq!(find(&s, "web"), (None, 2), "one ID in two namespaces");
    let of = |namespace: &str| explain(&view(&s, NOW), &GcSettings::default(), namespace, "web");
    assert_eq!((of("*").matches.len(), of("ops").explanation.is_some(), of("none").matches.len()), (2, true, 0));
}

#[test]
fn a_plan_counts_by_rule_and_reason() {
    let s = half_done();
    let p = plan(&view(&s, NOW), 10);
    let of = |kind| p.kinds.iter().find(|k| k.kind == kind).expect("all kinds").clone();
    let allocs = of(GcKind::Allocation);
    assert_eq!((allocs.collected_count(), allocs.kept_count()), (1, 1));
    assert_eq!(allocs.collected[0].oldest, Time::from_unix_nanos(NOW - 2 * HOUR));
    assert_eq!(allocs.kept[0].reason, GcReason::AllocationNotTerminal);
    assert_eq!(of(GcKind::Evaluation).kept[0].reason, GcReason::AllocationOfEvaluation);
    assert_eq!((p.objects.len(), p.objects_omitted), (4, 0));
    let short = plan(&view(&s, NOW), 1);
    assert_eq!((short.objects.len(), short.objects_omitted), (1, 3));
    assert_eq!(plan(&view(&s, NOW), 0).objects_omitted, 0);
}

#[test]
fn kinds_that_a_source_hides_have_no_figures() {
    let s = StateStore::of_state(encamp_state::State::clone(half_done().state()));
    let visible = [GcKind::Allocation, GcKind::Job, GcKind::Deployment, GcKind::Node];
    let p = plan(&View { visible: &visible, ..view(&s, NOW) }, 10);
    let of = |kind| p.kinds.iter().find(|k| k.kind == kind).expect("all kinds").clone();
    assert!(!of(GcKind::Evaluation).visible && of(GcKind::Evaluation).kept.is_empty());
    // Allocations are decided as if their evaluations had ended before.
    assert_eq!(of(GcKind::Allocation).collected_count(), 1);
}

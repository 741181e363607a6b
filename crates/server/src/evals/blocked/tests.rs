//! The worked examples E8 and E9 of `docs/spec/server.md §25`, and the remaining cases of `§8`.

use super::*;
use encamp_model::{AllocMetric, EvalStatus, Resources};

fn eval(id: &str, job: &str, create: u64, snapshot: u64) -> Evaluation {
    Evaluation {
        id: id.into(),
        namespace: "default".into(),
        job_id: job.into(),
        r#type: JobType::Service,
        status: EvalStatus::Blocked,
        create_index: create,
        snapshot_index: snapshot,
        ..Evaluation::default()
    }
}

fn classes(mut e: Evaluation, list: &[(&str, bool)]) -> Evaluation {
    e.class_eligibility = list.iter().map(|(c, ok)| (c.to_string(), *ok)).collect();
    e
}

fn escaped(e: Evaluation) -> Evaluation {
    Evaluation { escaped_computed_class: true, ..e }
}

fn system(id: &str, node: &str, create: u64) -> Evaluation {
    Evaluation { r#type: JobType::System, node_id: node.into(), ..eval(id, "sys", create, create) }
}

fn enabled() -> BlockedEvals {
    let mut b = BlockedEvals::new();
    b.set_enabled(true, 0);
    b
}

fn block(b: &mut BlockedEvals, e: Evaluation) -> Vec<String> {
    ids(&b.block(Arc::new(e), None, 0))
}

fn ids(released: &Released) -> Vec<String> {
    released.iter().map(|(e, _)| e.id.to_string()).collect()
}

fn duplicates(b: &mut BlockedEvals) -> Vec<String> {
    b.take_duplicates().iter().map(|e| e.id.to_string()).collect()
}

#[test]
fn e8_an_unblock_between_scheduling_and_blocking_is_not_missed() {
    let mut b = enabled();
    assert!(b.unblock_class("c1", 52, 0).is_empty());
    assert_eq!(block(&mut b, classes(eval("old", "j", 53, 50), &[("c1", true)])), ["old"]);
    assert_eq!(b.stats().blocked, 0);
    assert!(block(&mut b, classes(eval("new", "j", 53, 52), &[("c1", true)])).is_empty());
    assert_eq!(b.stats().blocked, 1);
}

#[test]
fn e9_of_two_evaluations_of_a_job_the_newer_state_wins() {
    let mut b = enabled();
    block(&mut b, eval("b1", "j", 10, 9));
    block(&mut b, eval("b2", "j", 12, 9));
    assert_eq!(duplicates(&mut b), ["b1"]);
    block(&mut b, eval("b0", "j", 8, 8));
    assert_eq!(duplicates(&mut b), ["b0"]);
    block(&mut b, eval("tie", "j", 3, 12));
    assert_eq!(duplicates(&mut b), ["b2"]);
    block(&mut b, Evaluation { namespace: "other".into(), ..eval("other", "j", 1, 1) });
    assert!(duplicates(&mut b).is_empty());
    assert_eq!(b.stats().blocked, 2);
    // The same evaluation again, now with a token: an evaluation is not a duplicate of itself.
    b.block(Arc::new(eval("tie", "j", 3, 14)), Some("t".into()), 0);
    assert!(duplicates(&mut b).is_empty());
    let released = b.unblock_class("c", 20, 0);
    assert_eq!(ids(&released), ["other", "tie"]);
    assert_eq!(released[1].1.as_deref(), Some("t"));
    // Evaluations that could not be cancelled come first next time.
    let e = |id| Arc::new(eval(id, "j", 1, 1));
    b.put_back_duplicates(vec![e("x"), e("y")]);
    assert_eq!(duplicates(&mut b), ["x", "y"]);
}

#[test]
fn what_was_missed() {
    let recorded = |key: &str, index| {
        let mut b = enabled();
        b.unblock_resources(&[key], index, 0);
        b
    };
    let lists = |e: Evaluation, key: &str| Evaluation { missing_non_node_resources: vec![key.into()].into(), ..e };
    for (why, key, e, missed) in [
        ("eligible class", "c1", classes(eval("e", "j", 9, 4), &[("c1", true)]), true),
        ("the scheduler saw it", "c1", classes(eval("e", "j", 9, 5), &[("c1", true)]), false),
        ("class that does not help", "c1", classes(eval("e", "j", 9, 4), &[("c1", false)]), false),
        ("unseen class", "c2", classes(eval("e", "j", 9, 4), &[("c1", false)]), true),
        ("escaped", "c1", escaped(eval("e", "j", 9, 4)), true),
        ("escaped, seen", "c1", escaped(eval("e", "j", 9, 5)), false),
        ("volume", "csi-volume:d:v", lists(eval("e", "j", 9, 4), "csi-volume:d:v"), true),
        ("volume, seen", "csi-volume:d:v", lists(eval("e", "j", 9, 5), "csi-volume:d:v"), false),
    ] {
        assert_eq!(!block(&mut recorded(key, 5), e).is_empty(), missed, "{why}");
    }
    // Entries are removed when they are older than 15 minutes.
    let mut b = recorded("c1", 5);
    let next = b.next_deadline().unwrap();
    assert_eq!(next, FAILED_UNBLOCK_INTERVAL);
    b.tick(15 * MINUTE);
    assert_eq!(block(&mut b, classes(eval("e", "j", 9, 4), &[("c1", true)])), ["e"]);
    b.tick(20 * MINUTE);
    assert!(block(&mut b, classes(eval("e", "j", 9, 4), &[("c1", true)])).is_empty());
}

#[test]
fn a_class_unblocks_the_evaluations_that_may_use_it() {
    let mut b = enabled();
    block(&mut b, classes(eval("yes", "a", 1, 1), &[("c1", true), ("c2", false)]));
    block(&mut b, classes(eval("no", "b", 2, 2), &[("c1", false)]));
    block(&mut b, classes(eval("unseen", "c", 3, 3), &[("c2", true)]));
    block(&mut b, escaped(eval("escaped", "d", 4, 4)));
    assert_eq!((b.stats().blocked, b.stats().escaped), (4, 1));
    assert_eq!(ids(&b.unblock_class("c1", 9, 0)), ["yes", "unseen", "escaped"]);
    assert_eq!((b.stats().blocked, b.stats().escaped), (1, 0));
    assert_eq!(ids(&b.unblock_class("c2", 10, 0)), ["no"]);
    assert!(b.tracked.is_empty() && b.captured.is_empty() && b.jobs.is_empty());
}

#[test]
fn system_jobs_wait_for_each_node() {
    let mut b = enabled();
    block(&mut b, system("n1-old", "n1", 1));
    block(&mut b, system("n1", "n1", 2));
    block(&mut b, system("n2", "n2", 3));
    block(&mut b, eval("service", "j", 4, 4));
    assert_eq!(duplicates(&mut b), ["n1-old"], "only the same node has duplicates");
    assert_eq!(ids(&b.unblock_node("n1", 0)), ["n1"]);
    assert!(b.unblock_node("n3", 0).is_empty());
    block(&mut b, system("n1-again", "n1", 5));
    b.untrack("n1-again", 0);
    b.untrack("n2", 0);
    assert_eq!(b.stats().blocked, 1);
    assert!(b.by_node.is_empty());
    block(&mut b, system("n2", "n2", 6));
    assert_eq!(ids(&b.unblock_class("c", 7, 0)), ["service", "n2"], "they also wait for classes");
}

#[test]
fn a_volume_unblocks_the_evaluations_that_miss_it() {
    let mut b = enabled();
    let missing = |id: &str, job: &str, key: &str| Evaluation {
        missing_non_node_resources: vec![key.into(), "csi-volume:d:both".into()].into(),
        ..escaped(eval(id, job, 1, 1))
    };
    block(&mut b, missing("a", "a", "csi-volume:d:v"));
    block(&mut b, missing("b", "b", "csi-volume:d:w"));
    assert_eq!(ids(&b.unblock_resources(&["csi-volume:d:v"], 9, 0)), ["a"]);
    block(&mut b, Evaluation { snapshot_index: 9, ..missing("a", "a", "csi-volume:d:v") });
    assert_eq!(ids(&b.unblock_resources(&["csi-volume:d:both"], 10, 0)), ["a", "b"]);
    assert!(b.by_resource.is_empty());
}

#[test]
fn rejected_plans_are_retried_every_minute() {
    let mut b = enabled();
    let refused = |e: Evaluation| Evaluation { triggered_by: EvalTrigger::MaxPlanAttempts, ..e };
    block(&mut b, refused(eval("a", "a", 1, 1)));
    block(&mut b, refused(escaped(eval("b", "b", 2, 2))));
    block(&mut b, eval("c", "c", 3, 3));
    assert!(b.tick(FAILED_UNBLOCK_INTERVAL - 1).is_empty());
    assert_eq!(ids(&b.tick(FAILED_UNBLOCK_INTERVAL)), ["a", "b"]);
    assert_eq!(b.next_deadline(), Some(2 * FAILED_UNBLOCK_INTERVAL));
    assert!(b.conflicted.is_empty());
}

#[test]
fn disabled_means_empty() {
    let mut b = BlockedEvals::new();
    assert!(block(&mut b, eval("a", "a", 1, 1)).is_empty());
    assert!(b.unblock_class("c", 5, 0).is_empty() && b.unblock_resources(&["k"], 5, 0).is_empty());
    assert_eq!((b.stats(), b.next_deadline()), (BlockedStats::default(), None));
    b.set_enabled(true, 0);
    assert!(block(&mut b, eval("a", "a", 1, 1)).is_empty(), "nothing was recorded while disabled");
    b.set_enabled(false, 0);
    assert_eq!(b.stats(), BlockedStats::default());
    b.put_back_duplicates(vec![Arc::new(eval("a", "a", 1, 1))]);
    assert!(duplicates(&mut b).is_empty());
}

#[test]
fn stats_show_the_missing_resources_by_location() {
    let metric = |cpu, memory, dcs: &[&str], classes: &[&str]| AllocMetric {
        resources_exhausted: [("t".to_string(), Resources { cpu, memory_mb: memory, ..Resources::default() })].into(),
        nodes_available: Some(Arc::new(dcs.iter().map(|d| (d.to_string(), 1)).collect())),
        class_exhausted: classes.iter().map(|c| (c.to_string(), 1)).collect(),
        node_pool: "p".into(),
        ..AllocMetric::default()
    };
    let mut b = enabled();
    let mut e = eval("a", "a", 1, 1);
    e.failed_tg_allocs = [
        ("g".to_string(), metric(100, 20, &["dc1", "dc2"], &["big", "small"])),
        ("h".to_string(), metric(7, 3, &["dc1"], &[])),
    ]
    .into();
    block(&mut b, e.clone());
    let s = b.stats();
    assert_eq!(s.by_job[&JobKey::new("default", "a")], Lacking { cpu: 107, memory: 23 });
    let reported: Vec<_> = s
        .by_place
        .iter()
        .map(|(p, l)| (p.datacenter.as_str(), p.node_class.as_str(), p.node_pool.as_str(), l.cpu, l.memory))
        .collect();
    assert_eq!(
        reported,
        [
            ("dc1", "", "p", 7, 3),
            ("dc1", "big", "p", 100, 20),
            ("dc1", "small", "p", 100, 20),
            ("dc2", "big", "p", 100, 20),
            ("dc2", "small", "p", 100, 20)
        ]
    );
    b.unblock_class("c", 5, 10 * MINUTE);
    assert_eq!(b.stats().by_place.len(), 5, "gauges have to drop to zero");
    assert!(b.stats().by_place.values().all(|l| *l == Lacking::default()));
    b.tick(25 * MINUTE);
    assert_eq!(b.stats().by_place.len(), 5);
    b.tick(30 * MINUTE + 1);
    assert_eq!(b.stats(), BlockedStats::default());
}

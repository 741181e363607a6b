use std::sync::Arc;

use encamp_model::{SECOND, ScalingPolicy, Time};
use encamp_state::{AllocPhase, AllocUsage};

use super::super::params::tests::parameters;
use super::*;

const NOW: i64 = 1_800_000_000 * SECOND;

fn group(count: i64) -> TaskGroup {
    TaskGroup { name: "g".into(), count, ..TaskGroup::default() }
}

fn used(cpu: f64, memory: f64) -> Utilization {
    Utilization { cpu: Some(cpu), memory: Some(memory), measured: 1 }
}

/// `+`, `-` or `=`, or what stands against it.
fn decided(d: &Decision) -> String {
    match d {
        Decision::Scale { direction: Direction::Out, from, to, .. } => format!("out {from} {to}"),
        Decision::Scale { direction: Direction::In, from, to, .. } => format!("in {from} {to}"),
        Decision::Keep { .. } => "keep".into(),
        Decision::Denied { by, .. } => format!("{by:?}"),
    }
}

#[test]
fn the_bounds_decide() {
    // CPU 30 to 75, memory 40 to 85, 1 to 5 allocations.
    let p = parameters(&[]);
    let half = |cpu, memory| Utilization { cpu, memory, measured: 1 };
    let cases = [
        (2, used(75.0, 50.0), "keep"),
        (2, used(75.1, 50.0), "out 2 3"),
        (2, used(50.0, 85.0), "keep"),
        (2, used(50.0, 85.1), "out 2 3"),
        // The more utilised of the two is memory, which is within its bounds.
        (2, used(80.0, 84.0), "keep"),
        (2, used(84.0, 84.0), "out 2 3"),
        (2, used(29.9, 39.9), "in 2 1"),
        (2, used(30.0, 39.9), "keep"),
        (2, used(29.9, 40.0), "keep"),
        (2, used(250.0, 10.0), "out 2 3"),
        (1, used(0.0, 0.0), "Limits"),
        (5, used(99.0, 99.0), "Limits"),
        (4, used(99.0, 99.0), "out 4 5"),
        // Counts outside of the bounds move into them, whatever is used.
        (0, Utilization::default(), "out 0 1"),
        (9, used(99.0, 99.0), "in 9 8"),
        (2, Utilization::default(), "UnknownUtilization"),
        (2, half(Some(90.0), None), "out 2 3"),
        (2, half(None, Some(90.0)), "out 2 3"),
        (2, half(Some(1.0), None), "keep"),
        (2, half(None, Some(1.0)), "keep"),
    ];
    let record = Record::default();
    for (count, used, want) in cases {
        let got = decide(&group(count), &p, &record, &used, false, NOW);
        assert_eq!(decided(&got), want, "{count} {used:?}");
        let deploying = decide(&group(count), &p, &record, &used, true, NOW);
        assert_eq!(decided(&deploying), "Deployment", "{count} {used:?}");
    }
}

#[test]
fn a_group_that_may_be_empty_stays_empty() {
    let p = parameters(&[("replicator_min", "0")]);
    let at = |count, used| decided(&decide(&group(count), &p, &Record::default(), &used, false, NOW));
    assert_eq!(at(1, used(0.0, 0.0)), "in 1 0");
    assert_eq!(at(0, Utilization::default()), "UnknownUtilization");
}

#[test]
fn scaling_policies_bound_the_count_too() {
    let p = parameters(&[]);
    let policy = |min, max| Some(ScalingPolicy { min, max, ..ScalingPolicy::default() });
    let bounded = TaskGroup { scaling: policy(3, 3), ..group(3) };
    let at = |used| decide(&bounded, &p, &Record::default(), &used, false, NOW);
    let most = "CPU usage is 90.0 %, above 75 %, but its scaling policy allows 3 at most";
    let fewest = "CPU usage is 0.0 %, below 30 %, and memory usage is 0.0 %, below 40 %, \
                  but its scaling policy allows 3 at least";
    for (used, want) in [(used(90.0, 0.0), most), (used(0.0, 0.0), fewest)] {
        assert_eq!(at(used), Decision::Denied { by: Denial::Limits, reason: want.into() });
    }
}

#[test]
fn each_direction_may_have_its_own_cooldown() {
    let p = parameters(&[("replicator_scaleout_cooldown", "10"), ("replicator_scalein_cooldown", "600")]);
    let decision = |last: Direction, ago: i64, used: Utilization| {
        let mut record = Record::default();
        record.note_scaling(last, NOW - ago * SECOND);
        decided(&decide(&group(3), &p, &record, &used, false, NOW))
    };
    let (high, low) = (used(99.0, 0.0), used(0.0, 0.0));
    assert_eq!(decision(Direction::Out, 9, high), "Cooldown");
    assert_eq!(decision(Direction::Out, 10, high), "out 3 4");
    assert_eq!(decision(Direction::In, 0, high), "out 3 4");
    assert_eq!(decision(Direction::In, 599, low), "Cooldown");
    assert_eq!(decision(Direction::In, 600, low), "in 3 2");
    assert_eq!(decision(Direction::Out, 0, low), "in 3 2");
}

#[test]
fn the_cooldown_counts_from_the_last_change() {
    let p = parameters(&[("replicator_cooldown", "60")]);
    let left = |ago: i64| {
        let last_scaling_event = Some(Time::from_unix_nanos(NOW - ago));
        let record = Record { last_scaling_event, ..Record::default() };
        let decision = decide(&group(2), &p, &record, &used(99.0, 0.0), false, NOW);
        (p.cooldown.nanos_left(Direction::Out, &record, NOW), decided(&decision))
    };
    assert_eq!(left(60 * SECOND), (0, "out 2 3".into()));
    assert_eq!(left(60 * SECOND - 1), (1, "Cooldown".into()));
    assert_eq!(left(0), (60 * SECOND, "Cooldown".into()));
    assert_eq!(left(-1000 * SECOND), (60 * SECOND, "Cooldown".into()), "a clock that was wrong");
    assert_eq!(p.cooldown.nanos_left(Direction::Out, &Record::default(), NOW), 0);
    let record = Record { last_scaling_event: Some(Time::from_unix_nanos(NOW)), ..Record::default() };
    let kept = decide(&group(2), &p, &record, &used(50.0, 50.0), false, NOW);
    assert_eq!(kept, Decision::Keep { reason: "CPU usage is 50.0 %, memory usage is 50.0 %".into() });
}

#[test]
fn averages_over_allocations() {
    let entry = |cpu, memory| AllocEntry {
        alloc: Arc::new(Allocation::default()),
        usage: AllocUsage { cpu, memory, ..AllocUsage::default() },
        phase: AllocPhase::Running,
    };
    let (small, large, nothing) = (entry(100, 200), entry(1000, 2000), entry(0, 100));
    let usage = |cpu, memory| Some(Usage { cpu, memory });
    let of = |list: &[(&AllocEntry, Option<Usage>)]| {
        let u = utilization(list.iter().copied());
        (u.cpu, u.memory, u.measured)
    };
    // Of shares, not of sums: 50 % and 100 % make 75 %.
    assert_eq!(of(&[(&small, usage(50.0, 20.0)), (&large, usage(1000.0, 600.0))]), (Some(75.0), Some(20.0), 2));
    assert_eq!(of(&[(&small, None), (&large, usage(500.0, 500.0))]), (Some(50.0), Some(25.0), 1));
    assert_eq!(of(&[(&small, None)]), (None, None, 0));
    assert_eq!(of(&[]), (None, None, 0));
    assert_eq!(of(&[(&nothing, usage(5.0, 50.0))]), (None, Some(50.0), 1));
    for wrong in [f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(of(&[(&small, usage(wrong, 100.0))]), (None, Some(50.0), 1), "{wrong}");
        assert_eq!(of(&[(&small, usage(wrong, wrong))]), (None, None, 0), "{wrong}");
    }
}

#[test]
fn jobs_that_are_scaled() {
    let job = |kind: JobType| Job { r#type: kind, status: JobStatus::Running, ..Job::default() };
    for kind in JobType::ALL.iter().chain([&JobType::Unset]) {
        let want = matches!(kind, JobType::Service | JobType::Batch);
        assert_eq!(scalable(&job(kind.clone())), want, "{kind}");
    }
    assert!(!scalable(&Job { stop: true, ..job(JobType::Service) }));
    assert!(!scalable(&Job { status: JobStatus::Pending, ..job(JobType::Service) }));
    assert!(!scalable(&Job { status: JobStatus::Dead, ..job(JobType::Batch) }));
    assert!(!scalable(&Job { parent_id: "p".into(), ..job(JobType::Batch) }));
    assert!(!scalable(&Job { parameterized_job: Some(Default::default()), ..job(JobType::Batch) }));
    let periodic = encamp_model::PeriodicConfig { enabled: true, ..Default::default() };
    assert!(!scalable(&Job { periodic: Some(periodic), ..job(JobType::Batch) }));
}

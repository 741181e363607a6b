use super::*;
use crate::test_cluster::{amounts, parameters, pool_view};

fn figures(nodes: usize, total: Amounts, consumed: Amounts, reserve: Amounts) -> Arithmetic {
    Arithmetic::new(&pool_view(nodes, total, consumed, reserve), &parameters())
}

/// The example of `docs/spec/cluster-scaling.md §3`: five nodes of 10,000 MHz and 10,000 MB, a reserve of 1,500 MHz and
/// 2,000 MB.
fn example(memory: i64) -> Arithmetic {
    figures(5, amounts(50_000, 50_000, 0), amounts(26_000, memory, 0), amounts(1_500, 2_000, 0))
}

fn of_memory(a: &Arithmetic) -> Removal {
    a.without_one_node()[1]
}

#[test]
fn the_worked_example() {
    let a = example(31_000);
    assert_eq!((a.metric, a.average_node, a.max_allowed), (Some(Metric::Memory), 10_000, 38_000));
    assert_eq!((a.direction, a.step, a.too_small), (Direction::In, 1, false));
    let r = of_memory(&a);
    assert_eq!((r.nodes, r.consumed, r.max_allowed, r.verdict), (4, 31_000, 28_000, Verdict::Denied));
    let verdicts: Vec<_> = [21_000, 25_199, 25_200]
        .into_iter()
        .map(|n| (of_memory(&example(n)).percent(), of_memory(&example(n)).verdict))
        .collect();
    assert_eq!(
        verdicts,
        [(Some(75), Verdict::Allowed), (Some(89), Verdict::Allowed), (Some(90), Verdict::Denied)],
        "the bound is inclusive"
    );
    let a = example(39_000);
    assert_eq!((a.direction, a.step), (Direction::Out, 1));
    assert_eq!(example(38_000).direction, Direction::Out, "as much as is allowed");
    assert_eq!(example(37_999).direction, Direction::In);
}

#[test]
fn every_resource_has_its_own_figures() {
    let a = figures(5, amounts(50_000, 50_000, 0), amounts(30_000, 10_000, 0), amounts(1_500, 2_000, 0));
    assert_eq!(a.metric, Some(Metric::Cpu));
    let [cpu, memory, disk] = a.without_one_node();
    assert_eq!((cpu.max_allowed, cpu.verdict), (28_500, Verdict::Denied));
    assert_eq!((memory.max_allowed, memory.verdict), (28_000, Verdict::Allowed));
    assert_eq!(disk.verdict, Verdict::Skipped, "the pool has none");
}

#[test]
fn ties_go_cpu_memory_disk() {
    let total = amounts(1000, 2000, 4000);
    for (consumed, want) in [
        (amounts(500, 1000, 2000), Some(Metric::Cpu)),
        (amounts(499, 1000, 2000), Some(Metric::Memory)),
        (amounts(499, 999, 2000), Some(Metric::Disk)),
        (amounts(0, 0, 1), Some(Metric::Disk)),
        (amounts(0, 0, 0), None),
    ] {
        assert_eq!(figures(2, total, consumed, Amounts::default()).metric, want, "{consumed:?}");
    }
    let a = figures(2, amounts(1000, 2000, 0), amounts(1, 1, 500), Amounts::default());
    assert_eq!(a.metric, Some(Metric::Cpu), "what the pool has none of takes no part");
}

#[test]
fn an_idle_pool_is_never_out() {
    let a = figures(1, amounts(1000, 1000, 1000), Amounts::default(), amounts(5000, 0, 0));
    assert_eq!((a.metric, a.direction), (None, Direction::In));
    assert_eq!((a.average_node, a.max_allowed, a.too_small), (1000, 0, true), "by CPU");
}

#[test]
fn a_negative_bound_counts_as_zero_and_is_reported() {
    let a = figures(2, amounts(2000, 2000, 0), amounts(1, 1, 0), amounts(1500, 0, 0));
    assert_eq!((a.max_allowed, a.too_small, a.direction), (0, true, Direction::Out));
    let exact = figures(2, amounts(2000, 2000, 0), amounts(1, 1, 0), amounts(1000, 0, 0));
    assert_eq!((exact.max_allowed, exact.too_small, exact.direction), (0, false, Direction::Out));
}

#[test]
fn nothing_left_is_denied() {
    let a = figures(1, amounts(1000, 1000, 0), Amounts::default(), Amounts::default());
    let [cpu, ..] = a.without_one_node();
    assert_eq!((cpu.nodes, cpu.max_allowed, cpu.percent(), cpu.verdict), (0, -1000, None, Verdict::Denied));
    // Nothing used, and nothing allowed: still denied.
    let a = figures(2, amounts(2000, 2000, 0), Amounts::default(), Amounts::default());
    assert_eq!((a.without_one_node()[0].max_allowed, a.without_one_node()[0].verdict), (0, Verdict::Denied));
}

#[test]
fn averages_are_rounded_down() {
    let a = figures(3, amounts(1000, 0, 0), amounts(1, 0, 0), Amounts::default());
    assert_eq!((a.average_node, a.max_allowed), (333, 667));
    assert_eq!(a.without_one_node()[0].max_allowed, 334);
}

#[test]
fn steps_stay_within_the_pool() {
    let out = |nodes: usize, max: i64, scale_factor: i64| {
        let view = pool_view(nodes, amounts(1000, 0, 0), amounts(1000, 0, 0), Amounts::default());
        let a = Arithmetic::new(&view, &PoolParameters { max, scale_factor, ..parameters() });
        assert_eq!(a.direction, Direction::Out);
        a.step
    };
    assert_eq!((out(5, 10, 1), out(5, 10, 3), out(8, 10, 3), out(10, 10, 3), out(12, 10, 3)), (1, 3, 2, 0, 0));
    assert_eq!(out(1, i64::MAX, i64::MAX), i64::MAX - 1);
}

#[test]
fn nothing_overflows() {
    let all = amounts(i64::MAX, i64::MAX, i64::MAX);
    let p = PoolParameters { node_fault_tolerance: i64::MAX, ..parameters() };
    for (consumed, reserve) in [(all, all), (all, Amounts::default()), (amounts(i64::MIN, i64::MIN, i64::MIN), all)] {
        let a = Arithmetic::new(&pool_view(1, all, consumed, reserve), &p);
        assert!(a.too_small && a.max_allowed == 0);
        assert!(a.without_one_node().iter().all(|r| r.max_allowed == i64::MIN && r.verdict == Verdict::Denied));
    }
    let p = PoolParameters { node_fault_tolerance: 0, ..parameters() };
    let a = Arithmetic::new(&pool_view(2, all, amounts(1, 1, 1), amounts(i64::MIN, 0, 0)), &p);
    assert_eq!(a.max_allowed, i64::MAX);
    assert_eq!(a.without_one_node()[0].verdict, Verdict::Allowed);
}

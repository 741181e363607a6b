//! Simulations of small clusters over hours of load.

use std::time::Duration;

use serde_json::json;

use encamp_model::JobType;
use encamp_state::State;

use super::report::{Ending, Report};
use super::run::{Repeats, run};
use super::trace::Trace;
use super::{Options, Overrides, SimulateError, simulate, svg};
use crate::checks::Check;
use crate::record::Direction;
use crate::test_cluster::{NOW, job, node};

/// Two nodes of 10,000 MHz and 10,000 MB, and a job whose group asks for 1,000 MHz and 2,000 MB each.
fn cluster() -> State {
    let mut state = State::new();
    for id in ["aa01", "aa02"] {
        state.upsert_node(node(id, json!({})));
    }
    let mut web = encamp_model::Job::clone(&job("web", JobType::Service, json!({})));
    for group in &mut web.task_groups {
        group.count = 0;
    }
    state.upsert_job(std::sync::Arc::new(web));
    state.index = 20;
    state
}

fn trace(rows: &[(i64, i64)]) -> Trace {
    let rows: String = rows.iter().map(|(t, count)| format!("{t},default,web,g,{count}\n")).collect();
    Trace::parse(&format!("time_seconds,namespace,job,group,count\n{rows}")).expect("a trace")
}

fn options() -> Options {
    Options { start: NOW, ..Options::default() }
}

/// Up to 24 allocations, and down again.
fn hours() -> Trace {
    trace(&[(0, 2), (600, 6), (1200, 12), (1800, 24), (6000, 9), (7000, 3), (14_400, 3)])
}

fn simulated(trace: &Trace, options: &Options) -> Report {
    simulate(&cluster(), trace, options).expect("a simulation")
}

#[test]
fn a_pool_follows_its_load() {
    let report = simulated(&hours(), &options());
    assert_eq!((report.pool.as_str(), report.seconds, report.cycles.total), ("web", 14_400, 1441));
    assert_eq!(report.failures, []);
    let grown: Vec<_> = report.operations.iter().filter(|o| o.direction == Direction::Out).collect();
    let shrunk = report.operations.len() - grown.len();
    assert!(grown.len() >= 3 && shrunk >= 3, "{:#?}", report.operations);
    assert!(report.operations.iter().all(|o| o.ending == Ending::Completed && o.nodes.len() == 1));
    // 24 allocations need 48,000 MB; a node more is held back.
    assert_eq!((report.nodes.start, report.nodes.most), (2, 6));
    assert!(report.nodes.end <= 3 && report.nodes.least >= 1, "{:?}", report.nodes);
    for pair in report.operations.windows(2) {
        let ended = pair[0].ended.expect("an end");
        assert!(pair[1].started >= ended + 300, "the cooldown passes between operations");
    }
    // The load of the half hour goes up faster than the cooldown lets the pool grow.
    assert!(report.saturation.most > 0 && report.saturation.seconds > 0, "{:?}", report.saturation);
    assert!(report.saturation.longest <= report.saturation.seconds);
    let last = report.samples.last().expect("samples");
    assert_eq!((last.wanted, last.unplaced), (3, 0));
    let counted = &report.cycles;
    assert_eq!(counted.refused + counted.requested + counted.began + counted.in_progress, counted.total);
    assert_eq!(counted.refused, report.refusals.iter().map(|r| r.count).sum::<u64>());
    assert!(report.refusals.iter().any(|r| r.check == Check::Cooldown && r.direction == Direction::Out));
    assert!(report.nodes.hours > 4.0 && report.nodes.hours < report.nodes.hours_of_most, "{:?}", report.nodes);
}

#[test]
fn evaluations_that_are_skipped_would_not_have_differed() {
    let failing = Options { boot_failures: 40, seed: 3, ..options() };
    let tight = Overrides { max: Some(3), min: Some(2), scaling_threshold: Some(1), ..Overrides::default() };
    for options in [options(), failing, Options { overrides: tight, ..options() }] {
        let all = run(&cluster(), &hours(), &options, Repeats::Made).expect("a simulation");
        let skipped = run(&cluster(), &hours(), &options, Repeats::Skipped).expect("a simulation");
        assert_eq!(all, skipped);
    }
}

#[test]
fn the_seed_decides_about_chance() {
    let with = |seed| simulated(&hours(), &Options { seed, ..options() });
    assert_eq!(with(7), with(7));
    let ends = |r: &Report| r.operations.iter().map(|o| o.ended).collect::<Vec<_>>();
    assert_ne!(ends(&with(7)), ends(&with(8)), "boot times differ");
}

#[test]
fn instances_that_never_register_bring_the_pool_into_failsafe_mode() {
    let options = Options { boot_failures: 100, ..options() };
    let report = simulated(&hours(), &options);
    assert_eq!(report.failures.len(), 3);
    assert_eq!(report.failsafe, report.failures.last().map(|f| f.seconds));
    assert!(report.failures[0].problem.ends_with("did not register within 300 s"), "{:?}", report.failures);
    let times: Vec<i64> = report.failures.iter().map(|f| f.seconds).collect();
    assert_eq!((times[1] - times[0], times[2] - times[1]), (300, 300), "each replacement gets its time");
    let last = report.operations.last().expect("an operation");
    assert_eq!((last.ending, report.nodes.end), (Ending::Failed, report.nodes.most));
    assert!(report.cycles.failsafe > 0);
    // The detached instance keeps running.
    assert_eq!(report.samples.last().map(|s| s.instances - s.nodes), Some(1));
}

#[test]
fn parameters_can_be_assumed() {
    let overrides = Overrides { max: Some(3), scale_factor: Some(4), ..Overrides::default() };
    let report = simulated(&hours(), &Options { overrides, ..options() });
    assert_eq!((report.nodes.most, report.parameters.max), (3, 3));
    let denied = report.refusals.iter().find(|r| r.check == Check::PoolLimits || r.check == Check::ProviderLimits);
    assert!(denied.is_some(), "{:?}", report.refusals);
    assert!(report.saturation.longest > 3600, "three nodes are not enough: {:?}", report.saturation);

    let overrides = Overrides { cooldown: Some(Duration::ZERO), scale_factor: Some(4), ..Overrides::default() };
    let report = simulated(&hours(), &Options { overrides, ..options() });
    let most = report.operations.iter().map(|o| o.nodes.len()).max();
    assert!(most > Some(1) && report.saturation.longest < 600, "{most:?} {:?}", report.saturation);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused =
        |trace: &Trace, options: &Options| simulate(&cluster(), trace, options).expect_err("a refusal").to_string();
    let row = |row: &str| {
        let text = format!("time_seconds,namespace,job,group,count\n0,,web,g,1\n{row}\n");
        refused(&Trace::parse(&text).expect("a trace"), &options())
    };
    assert_eq!(row("9,,wbe,g,1"), "line 3: the snapshot has no job \"wbe\" in namespace \"default\"");
    assert_eq!(row("9,,web,h,1"), "line 3: job \"web\" has no group \"h\"");
    let with = |overrides| refused(&hours(), &Options { overrides, ..options() });
    assert_eq!(
        with(Overrides { scaling_threshold: Some(0), ..Overrides::default() }),
        "-scaling-threshold is 0, but must be at least 1"
    );
    assert_eq!(
        with(Overrides { min: Some(11), ..Overrides::default() }),
        "the minimum of 11 nodes is more than the maximum of 10"
    );
    let pool = Some("x".to_string());
    assert_eq!(
        refused(&hours(), &Options { pool, ..options() }),
        "the snapshot has no worker pool \"x\" with a ready node"
    );
    let interval = Duration::from_millis(1);
    assert!(refused(&hours(), &Options { interval, ..options() }).ends_with("more than 1000000 evaluations"));

    let mut several = cluster();
    let other = json!({"Meta": crate::test_cluster::pool_meta(json!({"replicator_worker_pool": "db"}))});
    several.upsert_node(node("bb01", other));
    let e = simulate(&several, &hours(), &options()).expect_err("a refusal");
    assert_eq!(e, SimulateError::SeveralPools("db, web".into()));
    let e = simulate(&State::new(), &hours(), &options()).expect_err("a refusal");
    assert_eq!(e, SimulateError::NoPools(String::new()));
}

/// All elements are closed in order.
fn well_formed(text: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for part in text.split('<').skip(1) {
        let Some((tag, _)) = part.split_once('>') else { return false };
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        match (name.strip_prefix('/'), tag.ends_with('/')) {
            (Some(name), _) if open.pop() != Some(name) => return false,
            (Some(_), _) | (None, true) => {}
            (None, false) => open.push(name),
        }
    }
    open.is_empty()
}

#[test]
fn the_plot_shows_all_lines() {
    let mut report = simulated(&hours(), &options());
    report.pool = "a<b>&c".into();
    let text = svg::plot(&report);
    assert!(well_formed(&text), "{text}");
    assert_eq!(text.matches("<path ").count(), 6);
    assert!(text.contains("<title>Worker pool a&lt;b&gt;&amp;c</title>"));
    assert!(text.contains(">4:00</text>"), "the last hour");
    assert!(!text.contains("NaN") && !text.contains("inf"));
    assert!(!well_formed("<a><b></a></b>") && !well_formed("<a>"));
}

#[test]
fn times_have_a_handful_of_labels() {
    for (seconds, want) in [(60, 10), (3600, 900), (86_400, 10_800), (31 * 86_400, 4 * 86_400)] {
        assert_eq!(svg::step_of_times(seconds), want, "{seconds}");
    }
    assert_eq!(
        ["0:00", "1:05", "26:00", "0:00:30"],
        [0, 3900, 93_600, 30].map(svg::clock).each_ref().map(|s| s.as_str())
    );
}

/// The load comes back while the node drains: nothing is bought.
#[test]
fn a_node_is_taken_back_when_the_load_comes_back() {
    let returns = trace(&[(0, 6), (900, 1), (1300, 6), (3000, 6)]);
    let shrinks = Overrides { scaling_threshold: Some(1), fault_tolerance: Some(0), ..Overrides::default() };
    let shrinks = Options { drain_time: Duration::from_secs(500), overrides: shrinks, ..options() };
    let report = simulated(&returns, &shrinks);
    let operations: Vec<_> = report.operations.iter().map(|o| (o.direction, o.ending, o.ended)).collect();
    assert_eq!(operations, [(Direction::In, Ending::TakenBack, Some(1300))], "{:#?}", report.operations);
    assert_eq!((report.nodes.most, report.nodes.end, report.failures.len()), (2, 2, 0));
    assert_eq!(report.saturation.seconds, 0, "{:?}", report.saturation);
    // A load that the other node can take leaves it as it is.
    let report = simulated(&trace(&[(0, 6), (900, 1), (1300, 3), (3000, 3)]), &shrinks);
    assert_eq!((report.operations.len(), report.nodes.end), (1, 1));
    assert_eq!(report.operations[0].ending, Ending::Completed);
}

/// Each direction may have a cooldown of its own.
#[test]
fn a_pool_grows_fast_and_shrinks_slowly() {
    let own = Overrides {
        scale_out_cooldown: Some(Duration::ZERO),
        scale_in_cooldown: Some(Duration::from_secs(1800)),
        ..Overrides::default()
    };
    let report = simulated(&hours(), &Options { overrides: own, ..options() });
    let of = |direction| report.operations.iter().filter(move |o| o.direction == direction);
    let outs: Vec<_> = of(Direction::Out).collect();
    assert!(outs.windows(2).any(|p| p[1].started < p[0].ended.expect("an end") + 300), "{outs:#?}");
    let ins: Vec<_> = of(Direction::In).collect();
    assert!(ins.len() >= 2 && ins.windows(2).all(|p| p[1].started >= p[0].ended.expect("an end") + 1800));
    let parameters = &report.parameters;
    assert_eq!((parameters.scale_out_cooldown, parameters.scale_in_cooldown), (Some(0), Some(1800)));
}

//! Rebalances of generated small clusters: the number of moves is that of exhaustive search in at least 95 of 100
//! cases, no bound is above the truth, and every plan does what it promises when a leader carries it out with other
//! IDs, and so in other orders of nodes.
//!
//! Most clusters of the goals `free` and `fit` have so much room that moves reach the goal.
//!
//! Runs 25 cases of each goal, or `ENCAMP_REBALANCE_CASES`; `ENCAMP_TESTS=all` runs 300. Seeds count up from
//! `ENCAMP_REBALANCE_START` (1). `ENCAMP_REBALANCE_SEED=n` runs case `n` alone.

use std::sync::Arc;

use encamp_model::random::Random;
use encamp_plan::rebalance::{Action, Goal, Limits, Nodes, RebalancePlan, Request, Step, figures, follow, rebalance};
use encamp_plan::stop::Stop;
use encamp_plan::survival::Loss;
use encamp_plan::what_if::change::Nodes as Lost;
use encamp_plan::what_if::{Change, what_if};
use encamp_sim::cluster::EPOCH;
use encamp_sim::{ClusterOptions, cluster as simulated};
use encamp_snapshot::file;
use encamp_state::{NodeEntry, State};
use encamp_test_support::dice::Dice;
use encamp_test_support::seeds::Verdict;
use encamp_test_support::tier::rounds;

use crate::rebalance_support::SUITE;
use crate::rebalance_support::cluster::{self, Kind, NOW, Small, SmallGroup, SmallNode};
use crate::rebalance_support::replay::replay;
use crate::rebalance_support::truth::Truth;

/// Cases of a plain run.
const CASES: u64 = 25;
/// Cases of a run of all tests.
const ALL_CASES: u64 = 300;
/// Of the cases of a goal, moves reach it in at least this share (percent), where that is up to the cluster.
const REACHABLE: u64 = 50;
/// Times that a plan is carried out.
const REPLAYS: u64 = 3;

/// What came out.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    cases: u64,
    /// Plans with the fewest moves.
    fewest: u64,
    /// Plans with more.
    more: u64,
    /// Goals that no moves reach.
    never: u64,
    /// Cases too large for exhaustive search.
    large: u64,
    moves: u64,
    steps: u64,
    /// Moves that hold wherever the replacement is placed.
    anywhere: u64,
}

impl Tally {
    fn merge(&mut self, other: &Tally) {
        let pairs = [
            (&mut self.cases, other.cases),
            (&mut self.fewest, other.fewest),
            (&mut self.more, other.more),
            (&mut self.never, other.never),
            (&mut self.large, other.large),
            (&mut self.moves, other.moves),
            (&mut self.steps, other.steps),
            (&mut self.anywhere, other.anywhere),
        ];
        pairs.into_iter().for_each(|(to, from)| *to += from);
    }

    fn add(&mut self, plan: &RebalancePlan) {
        self.cases += 1;
        self.moves += plan.moves as u64;
        self.steps += plan.steps.len() as u64;
        self.anywhere += plan.steps.iter().flat_map(|s| &s.moves).filter(|m| !m.only_there).count() as u64;
    }

    /// Compares a plan with the truth.
    fn judge(&mut self, plan: &RebalancePlan, truth: Truth) -> Verdict {
        match truth {
            Truth::TooLarge => self.large += 1,
            Truth::Never if plan.reached => return Err("a goal is reached that can't be".into()),
            Truth::Never => self.never += 1,
            Truth::Moves(n) => {
                if plan.at_least > n {
                    return Err(format!("{n} moves are enough, the bound is {}", plan.at_least));
                }
                if plan.reached && plan.moves < n {
                    return Err(format!("{} moves reach what needs {n}", plan.moves));
                }
                let best = plan.reached && plan.moves == n;
                *(if best { &mut self.fewest } else { &mut self.more }) += 1;
                if !best && SUITE.alone().is_some() {
                    println!("{n} moves are enough: {plan:#?}");
                }
            }
        }
        Ok(())
    }
}

fn planned(state: &State, goal: Goal, limits: Limits) -> Result<RebalancePlan, String> {
    rebalance(state, &Request { goal, limits }, &Stop::never(), NOW).map_err(|e| e.to_string())
}

/// Carries a plan out several times; `holds` looks at the end.
fn carried_out(state: &State, plan: &RebalancePlan, seed: u64, holds: impl Fn(&State) -> Verdict) -> Verdict {
    for n in 0..REPLAYS {
        let end = replay(state, plan, seed * 100 + n).inspect_err(|_| {
            if SUITE.alone().is_some() {
                println!("{plan:#?}");
            }
        })?;
        holds(&end)?;
    }
    Ok(())
}

/// The kind of the cluster of a case: few are so full that goals can't be reached.
fn room(random: &mut Random) -> Kind {
    if random.one_in(6) { Kind::Plain } else { Kind::Roomy }
}

/// `reachable`: the share of cases, percent, in which moves reach the goal at least.
fn run(name: &str, reachable: u64, case: impl Fn(u64, &mut Tally) -> Verdict + Sync) {
    if let Some(seed) = SUITE.alone() {
        let mut tally = Tally::default();
        case(seed, &mut tally).unwrap_or_else(|e| panic!("{name}, case {seed}: {e}"));
        println!("{tally:?}");
        return;
    }
    let cases = rounds("ENCAMP_REBALANCE_CASES", CASES, ALL_CASES);
    let run = SUITE.run(|seed, _| seed >= SUITE.first() + cases, case, Tally::merge);
    let t = run.total;
    SUITE.judge(&run, &format!("{name}: {t:?}"));
    assert!((t.fewest + t.more) * 100 >= t.cases * reachable, "{name}: {t:?}");
    assert!(t.fewest > 0 && t.fewest * 100 >= (t.fewest + t.more) * 95, "{name}: {t:?}");
}

/// Where the allocations of a state are, in the numbers of the cluster it was made of.
fn position(small: &Small, state: &State) -> Vec<u8> {
    let node = |id: &str| (0..small.nodes.len()).find(|n| Small::node_id(*n) == id).expect("a node") as u8;
    let mut at: Vec<(usize, u8)> = Vec::new();
    for e in state.allocs().filter(|e| !e.alloc.terminal()) {
        let group = e.alloc.job_id.strip_prefix("job-").and_then(|n| n.parse().ok());
        at.extend(group.map(|g: usize| (g, node(&e.alloc.node_id))));
    }
    at.sort_unstable();
    at.into_iter().map(|(_, n)| n).collect()
}

#[test]
fn the_fewest_moves_empty_nodes() {
    run("free", REACHABLE, |seed, tally| {
        let mut random = Random::new(seed, "rebalance free");
        let kind = room(&mut random);
        let small = Small::draw(&mut random, kind);
        let state = small.state();
        let count = small.empty(&small.position()) + if random.one_in(3) { 2 } else { 1 };
        let plan = planned(&state, Goal::Free(Nodes::Count { count, cost: None }), Limits::default())?;
        tally.add(&plan);
        tally.judge(&plan, small.fewest(|at| small.empty(at) >= count))?;
        carried_out(&state, &plan, seed, |end| {
            let empty = small.empty(&position(&small, end));
            if plan.reached && empty < count { Err(format!("{empty} nodes are empty, not {count}")) } else { Ok(()) }
        })
    });
}

/// What a job asks for, and how many of its allocations fit without moves: if possible, so much that all that is free
/// would do for one more, were it on one node.
fn missing_room(small: &Small, random: &mut Random) -> ((i64, i64, bool), i64) {
    let at = small.position();
    let free = |n: usize| {
        let (cpu, memory) = small.used(&at, n);
        (small.nodes[n].cpu - cpu, small.nodes[n].memory - memory)
    };
    let all = (0..small.nodes.len()).map(free).fold((0, 0), |sum, n| (sum.0 + n.0, sum.1 + n.1));
    let draw = |random: &mut Random| (random.between(3, 25) * 100, random.between(3, 25) * 100, random.one_in(4));
    let mut ask = draw(random);
    for _ in 0..30 {
        let (cpu, memory, _) = ask;
        let more = small.copies(&at, ask) + 1;
        let large_enough = small.nodes.iter().any(|n| n.cpu >= cpu && n.memory >= memory);
        if large_enough && all.0 >= cpu * more && all.1 >= memory * more {
            break;
        }
        ask = draw(random);
    }
    (ask, small.copies(&at, ask))
}

#[test]
fn the_fewest_moves_make_room_for_a_job() {
    run("fit", REACHABLE, |seed, tally| {
        let mut random = Random::new(seed, "rebalance fit");
        let kind = room(&mut random);
        let small = Small::draw(&mut random, kind);
        let state = small.state();
        let (ask, fit) = missing_room(&small, &mut random);
        let count = fit + if random.one_in(6) { 2 } else { 1 };
        let group = SmallGroup {
            cpu: ask.0,
            memory: ask.1,
            port: None,
            alone: ask.2,
            rack: None,
            spread: None,
            sticky: false,
            at_once: 1,
        };
        let job = Arc::new(cluster::job("new", &group, count));
        let plan = planned(&state, Goal::Fit(job), Limits::default())?;
        tally.add(&plan);
        tally.judge(&plan, small.fewest(|at| small.copies(at, ask) >= count))?;
        carried_out(&state, &plan, seed, |end| {
            let copies = small.copies(&position(&small, end), ask);
            if plan.reached && copies < count { Err(format!("{copies} copies fit, not {count}")) } else { Ok(()) }
        })
    });
}

#[test]
fn the_fewest_moves_restore_spreads() {
    run("spread", 0, |seed, tally| {
        let mut random = Random::new(seed, "rebalance spread");
        let small = Small::draw(&mut random, Kind::Spread);
        let state = small.state();
        let plan = planned(&state, Goal::Spread, Limits::default())?;
        tally.add(&plan);
        let lowest = small.lowest(usize::MAX, |at| small.off_target(at));
        let off = replay(&state, &plan, seed).map(|end| small.off_target(&position(&small, &end)))?;
        let truth = match lowest {
            None => Truth::TooLarge,
            Some((wanted, moves)) if off <= wanted => Truth::Moves(moves),
            Some(_) => {
                tally.more += 1;
                return Ok(());
            }
        };
        tally.judge(&plan, truth)?;
        carried_out(&state, &plan, seed, |end| {
            let again = small.off_target(&position(&small, end));
            if again == off { Ok(()) } else { Err(format!("{again} are off, not {off}")) }
        })
    });
}

#[test]
fn the_fewest_moves_lower_the_highest_utilisation() {
    run("even", 0, |seed, tally| {
        let mut random = Random::new(seed, "rebalance even");
        let small = Small::draw(&mut random, Kind::Plain);
        let state = small.state();
        let most = random.between(1, 3) as usize;
        let plan = planned(&state, Goal::Even, Limits { max_moves: Some(most), ..Limits::default() })?;
        tally.add(&plan);
        let lowest = small.lowest(most, |at| small.highest(at));
        let after = |end: &State| small.highest(&position(&small, end));
        let level = plan.after.areas.iter().map(|a| a.highest.cpu.max(a.highest.memory)).max().unwrap_or(0);
        let truth = match lowest {
            None => Truth::TooLarge,
            // The bound is for the level that is reached.
            Some((best, moves)) if level <= best => Truth::Moves(moves),
            Some((best, _)) => {
                tally.more += 1;
                if SUITE.alone().is_some() {
                    println!("{best} is possible: {plan:#?}");
                }
                return Ok(());
            }
        };
        tally.judge(&plan, truth)?;
        carried_out(&state, &plan, seed, |end| {
            let found = after(end);
            if found == level { Ok(()) } else { Err(format!("the highest use is {found}, not {level}")) }
        })
    });
}

/// Allocations that are unplaced after the worst loss of a node.
fn worst_loss(small: &Small, state: &State) -> i64 {
    let after = |n: usize| {
        let change = Change::Down(Lost::One(Small::node_id(n)));
        let outcome = what_if(state, &[change], "default", NOW).expect("a node").outcome;
        outcome.unplaced.iter().map(|u| u.count).sum::<i64>()
    };
    (0..small.nodes.len()).map(after).max().unwrap_or(0)
}

/// The loss of a node in the middle of a step leaves no more unplaced than the worst loss before the first step.
#[test]
fn a_loss_during_a_step_costs_no_more_than_before() {
    let (mut steps, mut avoided) = (0, 0);
    for seed in 1..=30 {
        let mut random = Random::new(seed, "rebalance survive");
        let small = Small::draw(&mut random, Kind::Plain);
        let state = small.state();
        let goal = Goal::Free(Nodes::Count { count: small.empty(&small.position()) + 1, cost: None });
        let any = planned(&state, goal.clone(), Limits::default()).expect("a plan");
        let plan = planned(&state, goal, Limits { survive: Some(Loss::Node), ..Limits::default() }).expect("a plan");
        avoided += usize::from(any.reached && !plan.reached);
        let (before, mut now) = (worst_loss(&small, &state), state);
        for step in &plan.steps {
            let until = |a: &&Action| !matches!(a, Action::MarkEligible { .. });
            let actions = step.actions.iter().filter(until).cloned().collect();
            let during = follow(&now, &Step { actions, moves: Vec::new(), at_least: 0 }, NOW).expect("as planned");
            let worst = worst_loss(&small, &during.state);
            assert!(worst <= before, "case {seed}: {worst} are unplaced after a loss, not {before}: {step:#?}");
            now = follow(&now, step, NOW).expect("as planned").state;
            steps += 1;
        }
    }
    assert!(steps > 5 && avoided > 0, "{steps} steps, {avoided} plans are not safe");
}

#[test]
fn limits_are_kept() {
    let mut moves = 0;
    for seed in 1..=40 {
        let mut random = Random::new(seed, "rebalance limits");
        let small = Small::draw(&mut random, Kind::Plain);
        let state = small.state();
        let jobs: Vec<(String, String)> = (0..small.groups.len())
            .filter(|g| g % 2 == 0)
            .map(|g| ("default".to_string(), format!("job-{g}")))
            .collect();
        let keep = vec![Small::node_id(0)];
        let limits = Limits { jobs: jobs.clone(), keep: keep.clone(), max_moves: Some(2), ..Limits::default() };
        for goal in [Goal::Even, Goal::Spread, Goal::Free(Nodes::Count { count: 1, cost: None })] {
            let plan = planned(&state, goal.clone(), limits.clone()).expect("a plan");
            assert!(plan.moves <= 2, "case {seed}: {plan:#?}");
            for moved in plan.steps.iter().flat_map(|s| &s.moves) {
                let a = &moved.allocation;
                assert!(jobs.contains(&(a.namespace.to_string(), a.job_id.to_string())), "case {seed}: {a:?}");
                assert!(!keep.contains(&a.node.id), "case {seed}: {a:?}");
            }
            moves += plan.moves;
            let none = Limits { priority_ceiling: Some(49), ..limits.clone() };
            assert_eq!(planned(&state, goal, none).expect("a plan").moves, 0, "case {seed}: jobs have priority 50");
        }
    }
    assert!(moves > 10, "{moves} moves");
}

/// A group of that size in both CPU and memory.
fn sized(size: i64, sticky: bool) -> SmallGroup {
    SmallGroup { cpu: size, memory: size, port: None, alone: false, rack: None, spread: None, sticky, at_once: 1 }
}

/// Nodes of that size in both CPU and memory.
fn nodes(sizes: &[i64]) -> Vec<SmallNode> {
    sizes.iter().map(|n| SmallNode { cpu: *n, memory: *n, datacenter: "dc1", rack: "r1" }).collect()
}

/// What is freed first, a job takes that waits for capacity: the plan frees as much once more.
#[test]
fn room_for_a_job_counts_what_waiting_jobs_take() {
    let groups = vec![sized(300, false), sized(500, true)];
    let small = Small { nodes: nodes(&[1000; 4]), groups, allocs: vec![(0, 0), (0, 1), (1, 2), (1, 3)] };
    let mut state = small.state();
    let goal = Goal::Fit(Arc::new(cluster::job("new", &sized(800, false), 1)));
    let alone = planned(&state, goal.clone(), Limits::default()).expect("a plan");
    assert_eq!((alone.moves, alone.reached), (1, true), "{alone:#?}");
    state.upsert_job(Arc::new(cluster::job("waiting", &sized(900, false), 1)));
    let plan = planned(&state, goal, Limits::default()).expect("a plan");
    assert_eq!((plan.moves, plan.at_least, plan.reached), (2, 1, true), "{plan:#?}");
    carried_out(&state, &plan, 1, |end| {
        let free = |e: &NodeEntry| e.info.memory - e.usage.memory >= 800;
        if end.nodes().any(|e| free(e)) { Ok(()) } else { Err("no room is left for the job".into()) }
    })
    .expect("as planned");
}

/// The highest use of a ready node, in thousandths.
fn highest(state: &State) -> i64 {
    figures(state).areas.iter().map(|a| a.highest.cpu.max(a.highest.memory)).max().unwrap_or(0)
}

/// Checks that a plan lowers the highest utilisation as it says, or that it moves nothing and says why.
fn lowers(state: &State, plan: &RebalancePlan, now: i64) -> Result<bool, String> {
    let end = plan.steps.iter().try_fold(state.clone(), |before, step| follow(&before, step, now).map(|f| f.state));
    let (before, after) = (highest(state), highest(&end.map_err(|e| e.to_string())?));
    let promised = plan.after.areas.iter().map(|a| a.highest.cpu.max(a.highest.memory)).max().unwrap_or(0);
    match plan.steps.is_empty() {
        true if plan.missing.is_empty() => Err("nothing is moved, and no reason is given".into()),
        true => Ok(false),
        false if promised >= before || after > promised => {
            Err(format!("from {before} to {promised} is promised, {after} is reached"))
        }
        false => Ok(true),
    }
}

/// Jobs that get capacity meanwhile fill nodes: what is proposed lowers the highest utilisation all the same.
#[test]
fn waiting_jobs_do_not_make_a_node_the_fullest() {
    let (mut lower, mut same) = (0, 0);
    for seed in 1..=60 {
        let mut random = Random::new(seed, "rebalance waiting");
        let small = Small::draw(&mut random, Kind::Plain);
        let mut state = small.state();
        let size = random.between(2, 14) * 100;
        state.upsert_job(Arc::new(cluster::job("waiting", &sized(size, false), random.between(1, 4))));
        let plan = planned(&state, Goal::Even, Limits { max_moves: Some(3), ..Limits::default() }).expect("a plan");
        let lowers = lowers(&state, &plan, NOW).unwrap_or_else(|e| panic!("case {seed}: {e}: {plan:#?}"));
        *(if lowers { &mut lower } else { &mut same }) += 1;
    }
    assert!(lower > 10 && same > 5, "{lower} plans lower it, {same} do not");
}

/// The same where rollouts are under way, and clusters are too large for exact search.
#[test]
fn changes_of_jobs_do_not_make_a_node_the_fullest() {
    let mut lower = 0;
    for seed in 1..=4 {
        let options = ClusterOptions { nodes: 120, allocs: 2400, seed, now: EPOCH };
        let state = file::into_state(simulated(&options).expect("a cluster").into_file()).expect("a state").state;
        let limits = Limits { max_moves: Some(10), batch: true, ..Limits::default() };
        let request = Request { goal: Goal::Even, limits };
        let plan = rebalance(&state, &request, &Stop::never(), EPOCH).expect("a plan");
        let lowers = lowers(&state, &plan, EPOCH).unwrap_or_else(|e| panic!("case {seed}: {e}: {plan:#?}"));
        lower += usize::from(lowers);
    }
    assert!(lower > 0, "{lower} plans lower it");
}

/// Three nodes are used as much: two moves lower nothing.
#[test]
fn a_limit_of_moves_that_is_too_low_is_named() {
    let small = Small {
        nodes: nodes(&[1000; 5]),
        groups: vec![sized(300, false)],
        allocs: (0..9).map(|n| (0, n / 3)).collect(),
    };
    let state = small.state();
    let plan = planned(&state, Goal::Even, Limits { max_moves: Some(2), ..Limits::default() }).expect("a plan");
    assert_eq!(plan.moves, 0, "{plan:#?}");
    assert_eq!(
        plan.missing,
        ["At least 3 moves are needed to lower the highest utilisation, 90.0%: the limit is 2"],
        "{plan:#?}"
    );
    let plan = planned(&state, Goal::Even, Limits { max_moves: Some(3), ..Limits::default() }).expect("a plan");
    assert_eq!((plan.moves, lowers(&state, &plan, NOW)), (3, Ok(true)), "{plan:#?}");
}

/// Whatever is known when the search is asked to end is the answer.
#[test]
fn a_search_that_ends_at_once_has_a_result() {
    let groups = vec![sized(200, false), sized(200, false)];
    let small = Small { nodes: nodes(&[1000; 4]), groups, allocs: vec![(0, 0), (0, 1), (1, 0), (1, 2)] };
    let state = small.state();
    let ask = |goal: Goal| {
        let request = Request { goal, limits: Limits::default() };
        rebalance(&state, &request, &Stop::when(|| true), NOW).expect("a plan")
    };
    let free = |count| Goal::Free(Nodes::Count { count, cost: None });
    let two = ask(free(2));
    assert_eq!((two.reached, two.chosen.len()), (true, 2), "{two:#?}");
    // One node has to keep them: three are the most.
    let all = ask(free(4));
    assert_eq!((all.reached, all.chosen.len()), (false, 3), "{all:#?}");
    assert!(all.missing.iter().any(|line| line.starts_with("No other node")), "{:?}", all.missing);
    let even = ask(Goal::Even);
    assert!(even.reached && even.moves > 0, "{even:#?}");
}

/// The allocations that keep the highest utilisation where it is are named with what keeps them.
#[test]
fn nodes_that_stay_used_most_are_explained() {
    let groups = vec![SmallGroup { rack: Some("r1"), ..sized(600, false) }, sized(200, true)];
    let mut nodes = nodes(&[1000; 2]);
    nodes[1].rack = "r2";
    let small = Small { nodes, groups, allocs: vec![(0, 0), (1, 0)] };
    let plan = planned(&small.state(), Goal::Even, Limits::default()).expect("a plan");
    assert_eq!((plan.moves, plan.reached), (0, true), "{plan:#?}");
    let lines = plan.missing.join("\n");
    assert!(lines.contains("job-0.g[0] stays on node node-0") && lines.contains("no other node can run it"), "{lines}");
    assert!(lines.contains("have data on their nodes"), "{lines}");
}

#[test]
fn nodes_that_are_not_there_are_named() {
    let small = Small::draw(&mut Random::new(1, "rebalance mistakes"), Kind::Plain);
    let state = small.state();
    let named = |id: &str| Goal::Free(Nodes::Named(vec![id.into()]));
    let wrong = planned(&state, named("nowhere"), Limits::default()).expect_err("no such node");
    assert_eq!(wrong, "no node has the ID \"nowhere\"");
    let cost = Goal::Free(Nodes::Count { count: 1, cost: Some("price".into()) });
    assert_eq!(planned(&state, cost, Limits::default()).expect_err("no cost"), "no node has \"price\" in its metadata");
    let rack = Goal::Free(Nodes::Count { count: 1, cost: Some("rack".into()) });
    let wrong = planned(&state, rack, Limits::default()).expect_err("no number");
    assert!(wrong.ends_with("in its metadata, which is no number"), "{wrong}");
}

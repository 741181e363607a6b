//! What-ifs on synthetic clusters: no allocation is lost, no node is overcommitted, and no removed node is used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use encamp_model::{Allocation, Job, JobType, Node, NodeStatus, PreemptionConfig, SchedulerConfiguration};
use encamp_plan::capacity::{Subject, capacity};
use encamp_plan::dry_run;
use encamp_plan::stop::Stop;
use encamp_plan::survival::{Accuracy, Ended, Limits, Loss, survival};
use encamp_plan::what_if::{Cause, Change, Fate, WhatIf, what_if};
use encamp_sim::cluster::EPOCH;
use encamp_sim::{ClusterOptions, cluster};
use encamp_snapshot::file::into_state;
use encamp_state::State;
use encamp_test_support::tier;
use proptest::prelude::*;

fn state(nodes: usize, each: usize, seed: u64) -> Option<State> {
    let made = cluster(&ClusterOptions { nodes, allocs: nodes * each, seed, now: EPOCH }).ok()?;
    Some(into_state(made.into_file()).expect("a state").state)
}

/// Namespace, job and group.
type Group = (String, String, String);

/// Live allocations by group; those of nodes that are gone for good do not live.
fn live(state: &State) -> BTreeMap<Group, i64> {
    let mut out = BTreeMap::new();
    for e in state.allocs().filter(|e| !e.phase.terminal()) {
        let a = &e.alloc;
        *out.entry((a.namespace.to_string(), a.job_id.to_string(), a.task_group.to_string())).or_default() += 1;
    }
    out
}

fn on<'a>(state: &'a State, node: &str) -> impl Iterator<Item = &'a Allocation> {
    state.node(node).into_iter().flat_map(|n| &n.allocs).map(|e| e.alloc.as_ref())
}

/// The rules that hold whatever happens.
fn check(before: &State, after: &WhatIf, gone: &[String], cause: Cause) -> Result<(), TestCaseError> {
    let (now, outcome) = (&after.state, &after.outcome);
    // All that lived on the nodes is accounted for, once.
    let was: BTreeSet<&str> =
        gone.iter().flat_map(|id| on(before, id)).filter(|a| !a.terminal()).map(|a| a.id.as_str()).collect();
    let reported: Vec<&str> =
        outcome.displaced.iter().filter(|d| gone.contains(&d.from.node_id)).map(|d| d.from.alloc_id.as_str()).collect();
    prop_assert_eq!(reported.len(), was.len());
    prop_assert_eq!(reported.into_iter().collect::<BTreeSet<_>>(), was.clone());
    for d in outcome.displaced.iter().filter(|d| gone.contains(&d.from.node_id)) {
        prop_assert_eq!(d.cause, cause);
        prop_assert_eq!(d.fate == Fate::Moved, d.to.is_some());
    }
    // Each successor is a new allocation that lives on a node that takes allocations, and is nobody else's.
    let mut targets = BTreeSet::new();
    let moves = outcome.displaced.iter().filter_map(|d| Some((d, d.to.as_ref()?)));
    for (d, to) in moves.clone() {
        prop_assert_eq!(d.fate, Fate::Moved);
        prop_assert!(targets.insert(&to.alloc_id), "{} has two predecessors", to.alloc_id);
        let new = &now.alloc(&to.alloc_id).expect("stored").alloc;
        prop_assert!(before.alloc(&to.alloc_id).is_none() && !new.terminal());
        prop_assert_eq!((&*new.job_id, &*new.task_group), (&*d.owner.job_id, &*d.owner.task_group));
        prop_assert!(!gone.iter().any(|id| new.node_id == *id) && now.node(&new.node_id).expect("a node").node.ready());
    }
    prop_assert_eq!(moves.count(), outcome.count(None, Fate::Moved));
    // Services have somewhere to go or are missing; what is missing is reported for its group.
    let mut missing: BTreeMap<Group, i64> = BTreeMap::new();
    for d in &outcome.displaced {
        let group = (d.owner.namespace.clone(), d.owner.job_id.clone(), d.owner.task_group.clone());
        if d.fate == Fate::Unplaced {
            *missing.entry(group).or_default() += 1;
        }
        if matches!(d.owner.job_type, JobType::System | JobType::Sysbatch) {
            prop_assert!(matches!(d.fate, Fate::Stopped | Fate::Stays), "{:?}", d);
        }
    }
    for (group, n) in &missing {
        let of_group = |u: &&encamp_plan::what_if::Unplaced| {
            (&u.owner.namespace, &u.owner.job_id, &u.owner.task_group) == (&group.0, &group.1, &group.2)
        };
        let reported: i64 = outcome.unplaced.iter().filter(of_group).map(|u| u.count).sum();
        prop_assert!(reported >= *n, "{:?}: {} missing, {} reported", group, n, reported);
    }
    // Counts of live allocations add up: what was there, less what left, plus what came.
    let (had, has) = (live(before), live(now));
    let mut want = had.clone();
    let stays_listed =
        |d: &&encamp_plan::what_if::Displaced| now.alloc(&d.from.alloc_id).is_some_and(|e| e.phase.terminal());
    for d in outcome.displaced.iter().filter(stays_listed) {
        let group = (d.owner.namespace.clone(), d.owner.job_id.clone(), d.owner.task_group.clone());
        *want.entry(group).or_default() -= 1;
    }
    let came = outcome.displaced.iter().filter(|d| d.fate == Fate::Moved).map(|d| &d.owner);
    for o in came.chain(outcome.placed.iter().map(|p| &p.owner)) {
        *want.entry((o.namespace.clone(), o.job_id.clone(), o.task_group.clone())).or_default() += 1;
    }
    want.retain(|_, n| *n != 0);
    prop_assert_eq!(has, want);
    // No node holds more than it has.
    for e in now.nodes() {
        let (has, used) = (&e.info, &e.usage);
        prop_assert!(used.cpu <= has.cpu && used.memory <= has.memory && used.disk <= has.disk, "{}", e.node.name);
        prop_assert!(!used.port_collision && !used.core_overlap && !used.device_overlap, "{}", e.node.name);
    }
    Ok(())
}

/// Nodes that run something and can be drained.
fn busy(state: &State) -> Vec<String> {
    let up = state.nodes().filter(|e| e.node.status == NodeStatus::Ready && e.node.drain_strategy.is_none());
    up.filter(|e| e.allocs.iter().any(|a| !a.phase.terminal())).map(|e| e.node.id.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn drains_conserve_allocations(nodes in 3_usize..24, each in 2_usize..30, seed: u64, picks: [usize; 2]) {
        let Some(before) = state(nodes, each, seed) else { return Ok(()) };
        let busy = busy(&before);
        prop_assume!(!busy.is_empty());
        let gone: BTreeSet<String> = picks.iter().map(|p| busy[p % busy.len()].clone()).collect();
        let gone: Vec<String> = gone.into_iter().collect();
        let changes: Vec<Change> = gone.iter().map(|id| Change::drain(id).expect("a node")).collect();
        let after = what_if(&before, &changes, "default", EPOCH).expect("the nodes exist");
        prop_assert_eq!(&after.outcome.notes, &Vec::<String>::new());
        check(&before, &after, &gone, Cause::Drained)?;
        for id in &gone {
            prop_assert!(on(&after.state, id).all(Allocation::terminal), "the node is empty in the end");
        }
        for d in after.outcome.displaced.iter().filter(|d| d.cause == Cause::Drained) {
            let batch = d.owner.job_type == JobType::Batch;
            prop_assert!(!batch || d.fate == Fate::Stopped, "batch work ends with the drain: {:?}", d);
        }
    }

    #[test]
    fn losses_conserve_allocations(nodes in 3_usize..24, each in 2_usize..30, seed: u64, pick: usize) {
        let Some(before) = state(nodes, each, seed) else { return Ok(()) };
        let busy = busy(&before);
        prop_assume!(!busy.is_empty());
        let gone = vec![busy[pick % busy.len()].clone()];
        let change = Change::down(&gone[0]).expect("a node");
        let after = what_if(&before, &[change], "default", EPOCH).expect("the node exists");
        check(&before, &after, &gone, Cause::Lost)?;
    }

    /// The reported number of copies can be placed on the reported nodes, and not one more.
    #[test]
    fn capacity_is_exact(nodes in 2_usize..10, each in 5_usize..40, seed: u64, pick: usize) {
        let Some(mut state) = state(nodes, each, seed) else { return Ok(()) };
        without_preemption(&mut state);
        let Some(subject) = probe(&state, pick) else { return Ok(()) };
        let reported = capacity(&state, &subject, EPOCH);
        prop_assert_eq!(reported.nodes.iter().map(|n| n.copies).sum::<i64>(), reported.copies);
        prop_assert!(!reported.capped && reported.running == 0);
        prop_assume!(reported.copies <= 300);
        for (count, missing) in [(reported.copies, 0), (reported.copies + 1, 1)] {
            let mut job = Job::clone(&subject.job);
            job.task_groups[0].count = count;
            let run = dry_run(&state, &job, EPOCH).expect("a plan");
            let failed: i64 = run.failed_tg_allocs().values().map(|m| m.coalesced_failures + 1).sum();
            let placed: BTreeMap<&String, i64> =
                run.plan.node_allocation.iter().map(|(node, list)| (node, list.len() as i64)).collect();
            prop_assert_eq!((placed.values().sum::<i64>(), failed), (reported.copies, missing), "{}", job.id);
            if count == reported.copies {
                let reported_places = reported.nodes.iter().map(|n| (&n.node_id, n.copies)).collect();
                prop_assert_eq!(&placed, &reported_places);
            }
        }
    }

    /// A plan that is made for the state is accepted by it, unless it evicts: then the check may find what preemption
    /// missed.
    #[test]
    fn plans_without_evictions_are_accepted(nodes in 2_usize..12, each in 2_usize..30, seed: u64, pick: usize) {
        let Some(mut state) = state(nodes, each, seed) else { return Ok(()) };
        without_preemption(&mut state);
        let Some(subject) = probe(&state, pick) else { return Ok(()) };
        let run = dry_run(&state, &subject.job, EPOCH).expect("a plan");
        prop_assert_eq!(run.rejections, vec![]);
    }
}

/// How many clusters [`the_worst_loss_is_the_worst_of_all`] tries: `ENCAMP_SURVIVAL_CASES`, which a release run sets
/// to 10000.
fn survival_cases() -> u32 {
    tier::rounds("ENCAMP_SURVIVAL_CASES", 24, 500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: survival_cases(), ..ProptestConfig::default() })]

    /// The answer is the minimum over all nodes (or datacenters), each loss followed and counted without any of the
    /// short cuts.
    #[test]
    fn the_worst_loss_is_the_worst_of_all(
        nodes in 2_usize..12, each in 3_usize..30, seed: u64, pick: usize, evicting in 0..3, own: bool,
        datacenter: bool, tight in 0..3, small in 0..3, moments in prop::collection::vec(0_usize..3000, 3),
    ) {
        let Some(mut state) = state(nodes, each, seed) else { return Ok(()) };
        if tight == 0 {
            tighten(&mut state, seed);
        }
        match evicting {
            0 => with_preemption(&mut state, PreemptionConfig::default()),
            1 => with_preemption(&mut state, EVERYBODY),
            _ => {}
        }
        // A new job, or one that is registered.
        let subject = if own { registered(&state, pick) } else { probe(&state, pick) };
        let Some(mut subject) = subject else { return Ok(()) };
        if small == 0 && !own {
            reduce(&mut subject);
        }
        let loss = if datacenter { Loss::Datacenter } else { Loss::Node };
        let ask = |accuracy: Accuracy| {
            survival(&state, &subject, loss, &Limits::none(accuracy), EPOCH).expect("the nodes exist")
        };
        let reported = ask(Accuracy::Exact).expect("something to lose");
        let up = state.nodes().map(|e| &e.node).filter(|n| n.status != NodeStatus::Down);
        let names: BTreeSet<(String, String)> = match loss {
            Loss::Node => up.map(|n| (n.name.clone(), n.id.clone())).collect(),
            Loss::Datacenter => up.map(|n| (n.datacenter.clone(), format!("dc={}", n.datacenter))).collect(),
        };
        let mut all: BTreeMap<String, Vec<(i64, usize)>> = BTreeMap::new();
        for (name, lost) in &names {
            let change = Change::down(lost).expect("a node");
            let after = what_if(&state, &[change], "default", EPOCH).expect("the node exists");
            let left = capacity(&after.state, &subject, EPOCH).copies;
            all.entry(name.clone()).or_default().push((left, after.outcome.count(None, Fate::Unplaced)));
        }
        let least = all.values().flatten().map(|(copies, _)| *copies).min();
        prop_assert_eq!(Some(reported.copies), least, "{}: {:?} of {:?}", &subject.job.id, &reported, &all);
        prop_assert!(all[&reported.lost].contains(&(reported.copies, reported.unplaced.expect("it was followed"))), "{:?} of {:?}", &reported, &all);
        prop_assert_eq!(reported.at_least, reported.copies);
        prop_assert_eq!(ask(Accuracy::Near), Some(reported.clone()), "few losses are all tried");
        prop_assert_eq!(reported.of, names.len());
        prop_assert!((1..=reported.of).contains(&reported.tried));
        prop_assert_eq!((reported.decided, reported.ended), (reported.of, Ended::Exact));
        // Whenever it is asked to end, the truth lies in the interval.
        for moment in moments.into_iter().chain([0, 40]) {
            let asked = Arc::new(AtomicUsize::new(0));
            let stop = Stop::when(move || asked.fetch_add(1, Ordering::Relaxed) >= moment);
            let limits = Limits { accuracy: Accuracy::Exact, stop, progress: &|_| {} };
            let cut = survival(&state, &subject, loss, &limits, EPOCH).expect("the nodes exist").expect("an interval");
            prop_assert!(
                (cut.at_least..=cut.copies).contains(&reported.copies), "after {}: {:?} of {:?}", moment, &cut, &reported
            );
            let bounded = all.get(&cut.lost).is_some_and(|left| left.iter().any(|(copies, _)| *copies <= cut.copies));
            prop_assert!(bounded, "after {}: {:?} of {:?}", moment, &cut, &all);
            prop_assert!(cut.tried <= cut.decided && cut.decided <= cut.of && cut.of == reported.of, "{:?}", &cut);
            prop_assert_eq!(cut.ended == Ended::Exact, cut.at_least == cut.copies);
        }
    }
}

/// Gives every node a little more memory than is used: what is lost finds room on few nodes, or by evictions alone.
fn tighten(state: &mut State, seed: u64) {
    let nodes: Vec<Node> = state
        .nodes()
        .zip(0..)
        .filter_map(|(e, n)| {
            let spare = i64::try_from((seed >> (n % 48)) % 7).ok()? * 100;
            let free = e.info.memory - e.usage.memory;
            let mut node = Node::clone(&e.node);
            node.node_resources.as_mut()?.memory.memory_mb -= (free - spare).max(0);
            Some(node)
        })
        .collect();
    nodes.into_iter().for_each(|node| state.upsert_node(Arc::new(node)));
}

/// Leaves little of what each task requests: many copies fit, and each allocation that is placed takes the room of some.
fn reduce(subject: &mut Subject) {
    for task in &mut subject.group.tasks {
        if let Some(r) = task.resources.as_mut() {
            (r.cpu, r.memory_mb) = (r.cpu / 20 + 1, r.memory_mb / 20 + 1);
        }
    }
    let mut job = Job::clone(&subject.job);
    job.task_groups = vec![subject.group.clone()];
    subject.job = Arc::new(job);
}

/// A job of the cluster and one of its groups.
fn registered(state: &State, pick: usize) -> Option<Subject> {
    let jobs: Vec<&Arc<Job>> = state.jobs().map(|e| &e.current).filter(|j| !j.is_template() && !j.stop).collect();
    let job = Arc::clone(jobs.get(pick % jobs.len().max(1))?);
    let group = job.task_groups.get(pick % job.task_groups.len().max(1))?.clone();
    Some(Subject { job, group })
}

fn without_preemption(state: &mut State) {
    with_preemption(state, PreemptionConfig::default());
}

/// Preemption by jobs of all types.
const EVERYBODY: PreemptionConfig = PreemptionConfig {
    system_scheduler_enabled: true,
    sys_batch_scheduler_enabled: true,
    batch_scheduler_enabled: true,
    service_scheduler_enabled: true,
};

fn with_preemption(state: &mut State, preemption_config: PreemptionConfig) {
    let config = state.scheduler_config.as_deref().cloned().unwrap_or_default();
    state.set_scheduler_config(Arc::new(SchedulerConfiguration { preemption_config, ..config }));
}

/// A new job with one group like one of the cluster's.
fn probe(state: &State, pick: usize) -> Option<Subject> {
    let kinds = state.jobs().map(|e| &e.current).filter(|j| matches!(j.r#type, JobType::Service | JobType::Batch));
    let jobs: Vec<&Arc<Job>> = kinds.filter(|j| !j.is_template() && !j.stop).collect();
    let mut job = Job::clone(jobs.get(pick % jobs.len().max(1))?);
    job.id = "probe".into();
    job.name = "probe".into();
    (job.version, job.create_index, job.modify_index, job.job_modify_index) = (0, 0, 0, 0);
    job.task_groups.truncate(1);
    let group = job.task_groups.first()?.clone();
    Some(Subject { job: Arc::new(job), group })
}

//! Runs against a small cluster that is disturbed, by a driver that is killed at any moment.

use std::collections::{BTreeMap, BTreeSet};

use super::super::*;
use super::{alloc, node, plan};
use encamp_model::SECOND;
use encamp_model::random::Random;

const LIMITS: RunLimits = RunLimits { step_timeout: 60 * SECOND };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// Marked by this driver or eligible.
    Ours(bool),
    /// Marked by another client.
    Foreign,
    Draining,
    Gone,
}

/// A cluster of three nodes.
#[derive(Debug, Clone)]
struct Cluster {
    nodes: BTreeMap<&'static str, Condition>,
    /// The node of each allocation; `None`: it was stopped and has no replacement.
    allocs: BTreeMap<String, Option<&'static str>>,
    /// Allocations that are no longer those of the plan.
    stopped: BTreeSet<String>,
    /// Replacements never become healthy.
    sick: bool,
}

impl Cluster {
    fn new() -> Cluster {
        let nodes = ["a", "b", "c"].map(|n| (n, Condition::Ours(true))).into();
        let allocs = ["1", "2", "3"].map(|a| (a.to_string(), Some("a"))).into();
        Cluster { nodes, allocs, stopped: BTreeSet::new(), sick: false }
    }

    fn condition(&self, id: &str) -> NodeCondition {
        match self.nodes.get(id) {
            Some(Condition::Ours(true)) => NodeCondition::Eligible,
            Some(Condition::Ours(false) | Condition::Foreign) => NodeCondition::Ineligible,
            Some(Condition::Draining) => NodeCondition::Draining,
            Some(Condition::Gone) | None => NodeCondition::Gone,
        }
    }

    /// Servers refuse it for a node that is drained, or is gone since it was read.
    fn set(&mut self, id: &str, eligible: bool) -> bool {
        let node = self.nodes.get_mut(id).expect("a node");
        assert_ne!(*node, Condition::Foreign, "another client's mark of node {id} is changed");
        let done = matches!(node, Condition::Ours(_));
        if done {
            *node = Condition::Ours(eligible);
        }
        done
    }

    /// Stopped allocations are placed on the first node that takes any.
    fn place(&mut self) {
        let free = self.nodes.iter().find(|(_, c)| **c == Condition::Ours(true)).map(|(n, _)| *n);
        self.allocs.values_mut().filter(|on| on.is_none()).for_each(|on| *on = free);
    }

    fn replacement(&self, id: &str) -> Replacement {
        match self.allocs.get(id) {
            None => Replacement::Gone,
            Some(_) if !self.stopped.contains(id) => Replacement::NotStopped,
            Some(None) => Replacement::Awaited,
            Some(Some(on)) if self.sick => Replacement::Starting { node: node(on), why: "it is pending".into() },
            Some(Some(on)) => Replacement::Healthy { node: node(on) },
        }
    }

    /// What the full check finds, as far as this cluster can tell.
    fn check(&self, plan: &RebalancePlan, progress: &Progress) -> Check {
        let mut check = Check::default();
        let left = plan.steps.get(progress.steps).map_or(&[][..], |s| &s.actions[progress.actions..]);
        for action in left {
            let Action::StopAllocation { allocation } = action else { continue };
            let id = allocation.id.clone().expect("an ID");
            match self.allocs.get(&id) {
                Some(Some("a")) if !self.stopped.contains(&id) => drop(check.ids.insert(allocation.key(), id)),
                _ => check.differences.push(Difference::AllocationGone(allocation.clone())),
            }
        }
        if self.nodes["b"] == Condition::Gone && progress.steps == 0 {
            check.differences.push(Difference::NodeLost { node: node("b"), why: "gone" });
        }
        check
    }
}

/// Changes the cluster, or what the driver knows.
type Disturb = fn(&mut Cluster, &mut Seen);

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
enum Exit {
    Ended(Ending),
    Killed,
}

/// A driver. Its disk and the cluster outlive it.
struct Driver<'a> {
    cluster: &'a mut Cluster,
    disk: &'a mut Progress,
    plan: &'a RebalancePlan,
    /// So many writes and requests until the process is killed.
    left: u64,
    ending: Option<Ending>,
    /// Happens before the given decision.
    disturbance: Option<(u64, Disturb)>,
}

impl Driver<'_> {
    /// Whether the process lives to do one more thing.
    fn lives(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    fn save(&mut self, progress: &Progress) -> bool {
        let lives = self.lives();
        if lives {
            *self.disk = progress.clone();
        }
        lives
    }

    fn run(&mut self) -> Exit {
        let mut progress = self.disk.clone();
        let mut seen = Seen { ending: self.ending.take(), ..Seen::default() };
        for n in 0..400 {
            if let Some((at, disturb)) = self.disturbance
                && at == n
            {
                disturb(self.cluster, &mut seen);
            }
            let decision = next(self.plan, &progress, &seen, LIMITS);
            if let Decision::Ended(ending) = decision {
                return Exit::Ended(ending);
            }
            if !self.act(decision, &mut progress, &mut seen) {
                return Exit::Killed;
            }
            self.nothing_is_forgotten();
        }
        panic!("the run does not end: {progress:?}, {seen:?}");
    }

    fn act(&mut self, decision: Decision, progress: &mut Progress, seen: &mut Seen) -> bool {
        match decision {
            Decision::Check => {
                for (id, _) in self.cluster.allocs.clone() {
                    let noted = progress.has_stopped(&id) && self.cluster.stopped.contains(&id);
                    let current = self.plan.steps.get(progress.steps).and_then(|s| s.actions.get(progress.actions));
                    let is_current = matches!(current, Some(Action::StopAllocation { allocation })
                        if allocation.id.as_ref() == Some(&id));
                    progress.actions += usize::from(noted && is_current);
                }
                seen.check = Some(self.cluster.check(self.plan, progress));
                true
            }
            Decision::Drifted(differences) => {
                seen.ending = Some(Ending::Stopped(differences[0].to_string()));
                true
            }
            Decision::ReadNode(node) => {
                seen.nodes.insert(node.id.clone(), self.cluster.condition(&node.id));
                true
            }
            Decision::Mark(node) => {
                progress.mark(&node);
                seen.nodes.remove(&node.id);
                self.save(progress) && {
                    self.cluster.set(&node.id, false);
                    self.lives()
                }
            }
            Decision::MarkBack(node) => {
                seen.nodes.remove(&node.id);
                if self.cluster.set(&node.id, true) {
                    progress.release(&node);
                }
                self.lives() && self.save(progress)
            }
            Decision::Release(node) => {
                progress.release(&node);
                self.save(progress)
            }
            Decision::Stop(allocation) => {
                let id = allocation.id.clone().expect("an ID");
                if !progress.has_stopped(&id) {
                    progress.stopped.push(allocation);
                }
                self.save(progress) && {
                    self.cluster.stopped.insert(id.clone());
                    self.cluster.allocs.entry(id).and_modify(|on| *on = None);
                    self.lives() && {
                        self.cluster.place();
                        progress.actions += 1;
                        self.save(progress)
                    }
                }
            }
            Decision::ActionDone => {
                progress.actions += 1;
                true
            }
            Decision::AwaitReplacements => {
                self.cluster.place();
                seen.waited += 5 * SECOND;
                let ids = progress.stopped.iter().filter_map(|a| a.id.as_deref());
                seen.replacements = Some(ids.map(|id| self.cluster.replacement(id)).collect());
                true
            }
            Decision::StepDone => {
                progress.finish_step();
                seen.begin_step();
                self.save(progress)
            }
            Decision::End(ending) => {
                seen.ending = Some(ending);
                true
            }
            Decision::Ended(_) => true,
        }
    }

    /// Whatever happens, each mark is on disk.
    fn nothing_is_forgotten(&self) {
        for (id, condition) in &self.cluster.nodes {
            let noted = self.disk.marked.iter().any(|n| n.id == *id);
            assert!(*condition != Condition::Ours(false) || noted, "the mark of node {id} is not on disk");
        }
    }
}

fn driver<'a>(cluster: &'a mut Cluster, disk: &'a mut Progress, plan: &'a RebalancePlan) -> Driver<'a> {
    Driver { cluster, disk, plan, left: u64::MAX, ending: None, disturbance: None }
}

fn nothing_is_marked(cluster: &Cluster) {
    assert!(!cluster.nodes.values().any(|c| *c == Condition::Ours(false)), "{cluster:?}");
}

#[test]
fn a_run_does_what_the_plan_says() {
    let (plan, mut cluster, mut disk) = (plan(), Cluster::new(), Progress::default());
    assert_eq!(driver(&mut cluster, &mut disk, &plan).run(), Exit::Ended(Ending::Finished));
    let on: Vec<_> = cluster.allocs.values().map(|on| on.expect("a node")).collect();
    assert_eq!(on, ["b", "b", "b"], "{cluster:?}");
    assert_eq!((disk.moved, disk.steps, disk.marked.as_slice()), (3, 2, &[][..]));
    nothing_is_marked(&cluster);
    // Once more, nothing is left to do.
    assert_eq!(driver(&mut cluster, &mut disk, &plan).run(), Exit::Ended(Ending::Finished));
}

#[test]
fn freed_nodes_stay_ineligible_if_the_plan_leaves_them_so() {
    let mut plan = plan();
    plan.steps[1].actions.pop();
    let (mut cluster, mut disk) = (Cluster::new(), Progress::default());
    assert_eq!(driver(&mut cluster, &mut disk, &plan).run(), Exit::Ended(Ending::Finished));
    assert_eq!(cluster.nodes["a"], Condition::Ours(false));
    assert_eq!((cluster.nodes["c"], disk.marked.as_slice()), (Condition::Ours(true), &[node("a")][..]));
    // A run that does not finish leaves none.
    let seen = Seen { ending: Some(Ending::Aborted), ..Seen::default() };
    assert_eq!(next(&plan, &disk, &seen, LIMITS), Decision::ReadNode(node("a")));
}

#[test]
fn killed_runs_resume_at_every_moment() {
    let plan = plan();
    let mut kills = 0;
    for at in 1..80 {
        let (mut cluster, mut disk) = (Cluster::new(), Progress::default());
        let mut first = driver(&mut cluster, &mut disk, &plan);
        first.left = at;
        kills += u32::from(first.run() == Exit::Killed);
        let second = driver(&mut cluster, &mut disk, &plan).run();
        assert_eq!(second, Exit::Ended(Ending::Finished), "killed at {at}: {cluster:?}");
        assert_eq!(disk.moved, 3, "killed at {at}");
        nothing_is_marked(&cluster);
        assert!(cluster.allocs.values().all(|on| on.is_some_and(|on| on != "a")), "{cluster:?}");
    }
    assert!(kills >= 15, "{kills} processes were killed");
}

#[test]
fn aborts_after_a_kill_leave_nothing_marked() {
    let plan = plan();
    for at in 1..60 {
        let (mut cluster, mut disk) = (Cluster::new(), Progress::default());
        let mut first = driver(&mut cluster, &mut disk, &plan);
        first.left = at;
        let _ = first.run();
        // The first abort is killed too.
        let mut second = driver(&mut cluster, &mut disk, &plan);
        (second.left, second.ending) = (2, Some(Ending::Aborted));
        let _ = second.run();
        let mut third = driver(&mut cluster, &mut disk, &plan);
        third.ending = Some(Ending::Aborted);
        assert_eq!(third.run(), Exit::Ended(Ending::Aborted), "killed at {at}");
        nothing_is_marked(&cluster);
    }
}

/// What happens to the cluster during a run.
const DISTURBANCES: &[(&str, Disturb)] = &[
    ("node b is lost", |c, _| {
        let _ = c.nodes.insert("b", Condition::Gone);
    }),
    ("node a is lost", |c, _| {
        let _ = c.nodes.insert("a", Condition::Gone);
    }),
    ("node a is drained", |c, _| {
        let _ = c.nodes.insert("a", Condition::Draining);
    }),
    ("another client marks node b", |c, _| {
        let _ = c.nodes.insert("b", Condition::Foreign);
    }),
    ("replacements fail", |c, _| c.sick = true),
    ("the job is stopped", |c, _| c.allocs.clear()),
    ("an allocation ends", |c, _| {
        let _ = c.allocs.remove("2");
    }),
    ("Ctrl-C", |_, seen| seen.ending = Some(Ending::Interrupted)),
    ("nothing", |_, _| {}),
];

#[test]
fn whatever_happens_no_node_stays_marked() {
    let plan = plan();
    for (what, disturb) in DISTURBANCES {
        for seed in 0..60 {
            let mut random = Random::new(seed, "disturbances");
            let (mut cluster, mut disk) = (Cluster::new(), Progress::default());
            let mut first = driver(&mut cluster, &mut disk, &plan);
            first.disturbance = Some((random.below(30), *disturb));
            first.left = if random.below(2) == 0 { 1 + random.below(40) } else { u64::MAX };
            let ended = match first.run() {
                Exit::Ended(ending) => ending,
                Exit::Killed => match driver(&mut cluster, &mut disk, &plan).run() {
                    Exit::Ended(ending) => ending,
                    Exit::Killed => unreachable!("the second is not killed"),
                },
            };
            nothing_is_marked(&cluster);
            assert!(disk.marked.is_empty(), "{what}, {seed}: {disk:?}");
            let reason = matches!(&ended, Ending::Stopped(why) if !why.is_empty());
            assert!(reason || matches!(ended, Ending::Finished | Ending::Interrupted), "{what}, {seed}: {ended:?}");
        }
    }
}

#[test]
fn a_step_that_takes_too_long_says_what_it_waits_for() {
    let plan = plan();
    let progress = Progress { actions: 4, stopped: vec![alloc("1", "a"), alloc("2", "a")], ..Progress::default() };
    let starting = Replacement::Starting { node: node("b"), why: "it is pending".into() };
    let seen = Seen {
        check: Some(Check::default()),
        nodes: ["a", "c"].map(|n| (n.to_string(), NodeCondition::Ineligible)).into(),
        replacements: Some(vec![starting, Replacement::Awaited]),
        waited: 59 * SECOND,
        ending: None,
    };
    assert_eq!(next(&plan, &progress, &seen, LIMITS), Decision::AwaitReplacements);
    let late = next(&plan, &progress, &Seen { waited: 60 * SECOND, ..seen.clone() }, LIMITS);
    let why =
        "not healthy after 1m0s: web.g[1] on name-b: it is pending; web.g[2] has no replacement: no node takes it";
    assert_eq!(late, Decision::End(Ending::Stopped(why.into())));
    // Where the plan needs one node, another one is a difference.
    let replacements = vec![Replacement::Healthy { node: node("c") }, Replacement::Healthy { node: node("b") }];
    let Decision::Drifted(differences) =
        next(&plan, &progress, &Seen { replacements: Some(replacements), ..seen }, LIMITS)
    else {
        panic!("no difference")
    };
    assert_eq!(differences[0].to_string(), "web.g[1] goes to name-c, not to name-b");
    assert_eq!(differences.len(), 1);
}

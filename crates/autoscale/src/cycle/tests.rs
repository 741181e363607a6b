use std::collections::BTreeSet;
use std::time::Duration;

use encamp_model::{JobType, SECOND};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::cooldown::Cooldowns;
use crate::params::PoolParameters;
use crate::provider::{Instance, InstanceState};
use crate::record::ResourceType;
use crate::test_cluster::{NOW, alloc, cluster, group, job, node, parameters, pool, task};

/// Everything an evaluation reads.
#[derive(Debug, Clone)]
struct Case {
    state: State,
    pool: Pool,
    record: Record,
    group: Result<ScalingGroup, ProviderError>,
    protection: Protection,
}

impl Case {
    fn evaluate(&self) -> Evaluation {
        self.at(NOW)
    }

    fn at(&self, now: i64) -> Evaluation {
        evaluate(&Input {
            state: &self.state,
            jobs: &JobCache::default(),
            pool: &self.pool,
            record: &self.record,
            group: Some(self.group.as_ref()),
            protection: &self.protection,
            now,
        })
    }

    /// Evaluates and keeps the record.
    fn next(&mut self) -> Outcome {
        let e = self.evaluate();
        self.record = e.record;
        e.outcome
    }

    fn parameters(&mut self) -> &mut PoolParameters {
        &mut self.pool.parameters
    }
}

/// Five nodes; of memory is used what is given, evenly, but on `n3` 500 MB less than on the others.
fn case(memory: i64) -> Case {
    let mut state = cluster(5);
    let ids = ["n1", "n2", "n3", "n4", "n5"];
    let each = (memory + 500) / 5;
    for id in ids {
        let memory = if id == "n3" { each - 500 } else { each };
        let name = format!("job-{id}");
        let groups = json!([group("g", 1, json!({"Tasks": [task("t", 1_000, memory)]}))]);
        let job = job(&name, JobType::Service, json!({"TaskGroups": groups}));
        state.upsert_job(job.clone());
        state.upsert_allocs([alloc(&format!("a-{id}"), &job, id, (1_000, memory, 10), json!({}))]);
    }
    let instance = |id: &str| Instance { id: format!("i-{id}"), state: InstanceState::Active };
    let group = ScalingGroup { desired: 5, min: 1, max: 10, instances: ids.map(instance).to_vec() };
    Case {
        state,
        pool: pool(&ids, parameters()),
        record: Record::new(ResourceType::WorkerPool, "web"),
        group: Ok(group),
        protection: Protection::default(),
    }
}

fn denied(e: &Evaluation) -> (Check, &str) {
    match &e.outcome {
        Outcome::Denied { check, reason } => (*check, reason),
        other => panic!("{other:?}"),
    }
}

fn begun(outcome: Outcome) -> Operation {
    match outcome {
        Outcome::Begin(operation) => *operation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_scale_in_begins_with_the_least_allocated_node() {
    let e = case(11_000).evaluate();
    let want: Vec<Check> = e.checks.iter().map(|c| c.check).collect();
    use Check::*;
    assert_eq!(want, [SimulatedRemoval, ProviderLimits, PoolLimits, Cooldown, ConsecutiveRequests]);
    assert!(e.checks.iter().all(|c| c.passed));
    assert_eq!(e.candidates, ["n3", "n1", "n2", "n4", "n5"]);
    let operation = begun(e.outcome.clone());
    assert_eq!((operation.direction, operation.step), (Direction::In, Step::Drain));
    assert_eq!((operation.node_id.as_str(), operation.instance_ids.as_slice()), ("n3", &["i-n3".to_string()][..]));
    assert_eq!((operation.target, operation.started_index), (4, 20));
    assert_eq!((operation.started, operation.step_started), (Time::from_unix_nanos(NOW), Time::from_unix_nanos(NOW)));
    assert_eq!((&e.record.operation, &e.record.eligible_nodes), (&Some(operation), &e.candidates));
    let proof = e.proof.expect("a proof");
    assert_eq!((proof.node_id.as_str(), proof.moved, proof.holds()), ("n3", 1, true));
}

#[test]
fn a_scale_out_begins_by_setting_the_desired_size() {
    let mut case = case(45_000);
    case.parameters().scale_factor = 3;
    case.state.upsert_node(node("other", json!({"Meta": {}})));
    if let Ok(group) = &mut case.group {
        let more =
            [("i-other", InstanceState::Active), ("i-lost", InstanceState::Active), ("i-off", InstanceState::Leaving)];
        group.instances.extend(more.map(|(id, state)| Instance { id: id.into(), state }));
    }
    let e = case.evaluate();
    assert!(e.candidates.is_empty() && e.proof.is_none() && e.record.eligible_nodes.is_empty());
    let operation = begun(e.outcome);
    assert_eq!((operation.direction, operation.step, operation.target), (Direction::Out, Step::SetDesired, 8));
    assert_eq!((operation.node_id.as_str(), operation.instance_ids.len()), ("", 0));
    assert_eq!(operation.unregistered, ["i-lost"], "active, and of no node of the cluster");
}

#[test]
fn requests_are_counted_and_start_over() {
    let mut scale_in = case(11_000);
    scale_in.parameters().scaling_threshold = 3;
    let threshold = 3;
    assert_eq!(scale_in.next(), Outcome::Requested { requests: 1, threshold });
    assert_eq!(scale_in.next(), Outcome::Requested { requests: 2, threshold });
    assert_eq!((scale_in.record.scalein_requests, scale_in.record.scaleout_requests), (2, 0));
    // The other direction starts over.
    let mut other = Case { record: scale_in.record.clone(), ..case(45_000) };
    other.parameters().scaling_threshold = 3;
    assert_eq!(other.next(), Outcome::Requested { requests: 1, threshold });
    assert_eq!((other.record.scalein_requests, other.record.scaleout_requests), (0, 1));
    // So does a check that denies.
    let mut refused = scale_in.clone();
    refused.group = Err(ProviderError::Timeout(1));
    assert!(matches!(refused.next(), Outcome::Denied { check: Check::ProviderLimits, .. }));
    assert_eq!((refused.record.scalein_requests, refused.record.scaleout_requests), (0, 0));
    // And the operation itself.
    assert_eq!(begun(scale_in.next()).node_id, "n3");
    assert_eq!((scale_in.record.scalein_requests, scale_in.record.scaleout_requests), (0, 0));
    assert_eq!(scale_in.next(), Outcome::InProgress);
}

#[test]
fn the_first_check_that_fails_ends_the_cycle() {
    let base = case(11_000);
    let mut too_much = case(31_000);
    too_much.group = Err(ProviderError::Timeout(1));
    let mut limits = base.clone();
    limits.parameters().min = 5;
    let mut cooling = base.clone();
    cooling.record.last_scaling_event = Some(Time::from_unix_nanos(NOW - SECOND));
    let mut unequal = limits.clone();
    unequal.group = Ok(ScalingGroup { desired: 6, min: 1, max: 10, instances: Vec::new() });
    for (case, check, count) in [
        (&too_much, Check::SimulatedRemoval, 1),
        (&unequal, Check::ProviderLimits, 2),
        (&limits, Check::PoolLimits, 3),
        (&cooling, Check::Cooldown, 4),
    ] {
        let e = case.evaluate();
        assert_eq!((denied(&e).0, e.checks.len()), (check, count));
        assert_eq!(e.checks.iter().filter(|c| !c.passed).count(), 1);
        assert_eq!(denied(&e).1, e.checks[count - 1].detail);
        assert_eq!(e.record.operation, None);
    }
    assert_eq!(too_much.evaluate().candidates.len(), 5, "they are listed though none is tried");
}

#[test]
fn failsafe_and_an_operation_in_progress_end_it_at_once() {
    let mut stopped = case(11_000);
    let operation = begun(stopped.next());
    stopped.record.scalein_requests = 2;
    assert_eq!(operation.direction, Direction::In);
    let e = stopped.evaluate();
    assert_eq!((&e.outcome, &e.record, e.checks.len()), (&Outcome::InProgress, &stopped.record, 0));
    stopped.record.set_failsafe(true, "ops", NOW);
    let e = stopped.evaluate();
    assert_eq!((&e.outcome, &e.record, e.checks.len()), (&Outcome::Failsafe, &stopped.record, 0));
    assert_eq!(e.arithmetic.nodes, 5, "the figures are there all the same");
}

#[test]
fn protected_nodes_stay() {
    let mut own = case(11_000);
    own.protection.own_alloc = Some("a-n3".into());
    let e = own.evaluate();
    assert_eq!((begun(e.outcome).node_id.as_str(), e.candidates.len()), ("n1", 4));
    let mut server = case(11_000);
    server.protection.servers.own_node = Some("n3".into());
    let e = server.evaluate();
    assert_eq!((begun(e.outcome).node_id.as_str(), e.candidates.len()), ("n1", 4));
    let mut all = case(11_000);
    let guarded = job("guarded", JobType::Service, json!({"Meta": {"encamp_protect": "true"}}));
    all.state.upsert_job(guarded.clone());
    for n in ["n1", "n2", "n3", "n4", "n5"] {
        all.state.upsert_allocs([alloc(&format!("g-{n}"), &guarded, n, (1, 1, 1), json!({}))]);
    }
    let e = all.evaluate();
    let (check, reason) = denied(&e);
    assert_eq!((check, e.candidates.len()), (Check::SimulatedRemoval, 0));
    assert_eq!(reason, "no node may be removed: of 5 nodes 5 run a job that sets encamp_protect in its meta");
}

#[test]
fn the_scheduler_has_the_last_word() {
    let mut case = case(11_000);
    // It may run on n3 alone.
    let bound = json!([{"LTarget": "${node.unique.id}", "RTarget": "n3", "Operand": "="}]);
    let groups = json!([group("g", 1, json!({"Tasks": [task("t", 1_000, 1_800)]}))]);
    let pinned = job("job-n3", JobType::Service, json!({"Constraints": bound, "TaskGroups": groups}));
    case.state.upsert_job(pinned.clone());
    case.state.upsert_allocs([alloc("a-n3", &pinned, "n3", (1_000, 1_800, 10), json!({}))]);
    let e = case.evaluate();
    let (check, reason) = denied(&e);
    assert_eq!(check, Check::SimulatedRemoval);
    assert_eq!(
        reason,
        "node \"name-n3\" (n3) cannot be drained: no other node takes 1 of group \"g\" of job \"job-n3\""
    );
    assert_eq!(e.proof.map(|p| p.holds()), Some(false));
}

#[test]
fn a_node_without_instance_is_not_removed() {
    let mut nameless = case(11_000);
    nameless.state.upsert_node(node("n3", json!({"Attributes": {"kernel.name": "linux"}})));
    let e = nameless.evaluate();
    let (check, reason) = denied(&e);
    assert_eq!(check, Check::ProviderLimits);
    assert!(reason.contains("\"unique.platform.aws.instance-id\" must name it"), "{reason}");
}

#[test]
fn a_time_in_the_future_delays_no_longer_than_the_cooldown() {
    let mut case = case(11_000);
    case.record.last_scaling_event = Some(Time::from_unix_nanos(NOW + 1_000_000 * SECOND));
    let e = case.evaluate();
    let (check, reason) = denied(&e);
    assert_eq!(check, Check::Cooldown);
    assert!(
        reason.starts_with("300 s of the cooldown of 300 s are left; the last operation is dated in the future"),
        "{reason}"
    );
    assert_eq!(e.record.last_scaling_event, Some(Time::from_unix_nanos(NOW)));
    case.record = e.record;
    assert_eq!(denied(&case.at(NOW + 299 * SECOND)).0, Check::Cooldown);
    assert!(matches!(case.at(NOW + 300 * SECOND).outcome, Outcome::Begin(_)));
}

#[test]
fn pools_that_are_too_small_say_so() {
    let mut case = case(11_000);
    (case.parameters().node_fault_tolerance, case.parameters().max) = (9, 5);
    let e = case.evaluate();
    let (check, reason) = denied(&e);
    assert_eq!(check, Check::PoolLimits);
    assert_eq!(
        reason,
        "the pool has 5 nodes and may have 5 at most; the pool is too small for its fault tolerance: 5 nodes cannot \
         hold back the capacity of 9 beside the scaling reserve"
    );
}

#[test]
fn without_nodes_there_is_nothing_to_evaluate() {
    let mut gone = case(11_000);
    gone.state = State::new();
    let e = gone.evaluate();
    assert_eq!(denied(&e), (Check::PoolLimits, "the pool has no nodes"));
}

#[test]
fn a_plan_needs_no_provider() {
    let case = case(11_000);
    let protection = &case.protection;
    let (jobs, pool, record) = (&JobCache::default(), &case.pool, &case.record);
    let input = Input { state: &case.state, jobs, pool, record, group: None, protection, now: NOW };
    let e = evaluate(&input);
    assert_eq!(e.checks[1].detail, "the limits of the scaling group are not known here");
    assert_eq!(begun(e.outcome).target, 4);
}

/// A pool as it may be: every allocation with its node, MHz, MB, and whether its job protects the node.
fn any_case() -> impl Strategy<Value = (Case, BTreeSet<String>)> {
    let allocs = proptest::collection::vec((0..6usize, 1..6_000i64, 1..6_000i64, proptest::bool::weighted(0.1)), 0..14);
    let bounds = (0..9i64, 0..9i64, 0..3i64, 1..4i64, 1..3i64);
    let record = (proptest::bool::weighted(0.1), proptest::bool::weighted(0.1), 0..4i64, 0..4i64, -100..2000i64);
    let group = (0..9i64, 0..9i64, proptest::bool::weighted(0.9), 0..9i64);
    (1..7usize, allocs, bounds, record, group, any::<bool>()).prop_map(|(nodes, allocs, b, r, g, own)| {
        let mut state = cluster(nodes);
        let mut protected = BTreeSet::new();
        for (number, (at, cpu, memory, protects)) in allocs.into_iter().enumerate() {
            let on = format!("n{}", at % nodes + 1);
            let meta = if protects { json!({"encamp_protect": "true"}) } else { json!({}) };
            let groups = json!([group_of(cpu, memory)]);
            let job = job(&format!("j{number}"), JobType::Service, json!({"Meta": meta, "TaskGroups": groups}));
            state.upsert_job(job.clone());
            state.upsert_allocs([alloc(&format!("a{number}"), &job, &on, (cpu, memory, 10), json!({}))]);
            if protects || own && number == 0 {
                protected.insert(on);
            }
        }
        let ids: Vec<String> = (1..=nodes).map(|n| format!("n{n}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let parameters = PoolParameters {
            min: b.0.min(b.1),
            max: b.0.max(b.1),
            node_fault_tolerance: b.2,
            scale_factor: b.3,
            scaling_threshold: b.4,
            cooldown: Cooldowns::one(Duration::from_secs(300)),
            ..parameters()
        };
        let mut record = Record::new(ResourceType::WorkerPool, "web");
        (record.failsafe_mode, record.scalein_requests, record.scaleout_requests) = (r.0, r.2, r.3);
        record.last_scaling_event = (r.4 != 0).then(|| Time::from_unix_nanos(NOW - r.4 * SECOND));
        let instances = ids.iter().map(|id| Instance { id: format!("i-{id}"), state: InstanceState::Active });
        let desired = if g.2 { ids.len() as i64 } else { g.3 };
        let group = ScalingGroup { desired, min: g.0.min(g.1), max: g.0.max(g.1), instances: instances.collect() };
        let protection = Protection { own_alloc: own.then(|| "a0".to_string()), ..Protection::default() };
        let mut case = Case { state, pool: pool(&ids, parameters), record, group: Ok(group), protection };
        if r.1 {
            let begins = Case { record: Record::default(), ..case.clone() };
            case.record.operation = begins.evaluate().record.operation;
        }
        (case, protected)
    })
}

fn group_of(cpu: i64, memory: i64) -> serde_json::Value {
    group("g", 1, json!({"Tasks": [task("t", cpu, memory)]}))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever the pool is like, an operation that begins keeps to the rules.
    #[test]
    fn operations_keep_to_the_rules((case, protected) in any_case()) {
        let e = case.evaluate();
        let nodes = case.pool.nodes.len() as i64;
        let (p, group) = (&case.pool.parameters, case.group.as_ref().expect("a group"));
        if case.record.failsafe_mode {
            prop_assert_eq!(&e.outcome, &Outcome::Failsafe);
        } else if case.record.operation.is_some() {
            prop_assert_eq!(&e.outcome, &Outcome::InProgress);
        }
        let Outcome::Begin(operation) = &e.outcome else {
            prop_assert_eq!(&e.record.operation, &case.record.operation);
            return Ok(());
        };
        prop_assert_eq!(e.record.operation.as_ref(), Some(&**operation));
        prop_assert_eq!((e.record.scalein_requests, e.record.scaleout_requests), (0, 0));
        prop_assert_eq!(group.desired, nodes);
        let last = case.record.last_scaling_event.and_then(Time::unix_nanos);
        prop_assert!(last.is_none_or(|last| last + 300 * SECOND <= NOW));
        match operation.direction {
            Direction::Out => {
                prop_assert!(operation.target > nodes && operation.target <= p.max.min(group.max));
                prop_assert!(case.record.scaleout_requests + 1 >= p.scaling_threshold);
            }
            Direction::In => {
                prop_assert!(operation.target == nodes - 1 && operation.target >= p.min.max(group.min));
                prop_assert!(case.record.scalein_requests + 1 >= p.scaling_threshold);
                prop_assert!(case.pool.nodes.contains(&operation.node_id));
                prop_assert!(!protected.contains(&operation.node_id));
                prop_assert!(e.proof.as_ref().is_some_and(|p| p.holds() && p.node_id == operation.node_id));
                prop_assert_eq!(&operation.instance_ids, &[format!("i-{}", operation.node_id)]);
            }
        }
    }
}

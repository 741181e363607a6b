//! The autoscaler from outside, on the HTTP API as Nomad 2.0.5 answered it, decides as the loops of a leading server do
//! on the same objects. `autoscale plan` is compared with one evaluation, `autoscale agent` with the loops in this
//! process: state objects, requests to the provider, and reasons.
//!
//! [`exchange`]: the recorded answers. [`world`]: the objects, and what happens to them. [`nomad`]: they are served.
//! [`leader`]: the loops. [`official`]: the plans of a larger cluster of official builds, against its backup.

mod exchange;
mod leader;
mod nomad;
mod official;
mod world;

use std::process::Command;
use std::sync::MutexGuard;

use encamp_autoscale::cycle::{Evaluation, Input, Outcome, evaluate};
use encamp_autoscale::params::PoolParameters;
use encamp_autoscale::paths;
use encamp_autoscale::protection::{Protection, Servers, protected_nodes};
use encamp_autoscale::provider::{GroupId, Provider, ProviderError, ScalingGroup};
use encamp_autoscale::record::{Direction, ITEM, Record, ResourceType, Step};
use encamp_autoscale::registry::{Fallbacks, Pool, Registry};
use encamp_autoscale::status::Action;
use encamp_autoscale::view::JobCache;
use encamp_state::State;
use serde_json::{Value, json};

use crate::agent::{Agent, PATIENCE, wait_for};
use crate::program::{self, Folder, Ran};
use crate::scaling_group::Group;
use leader::Leader;
use nomad::Nomad;
use world::{NODE, POOL, SECOND, World};

/// The meta of a node of the pool that runs on an instance; `more` goes before the rest.
fn meta(instance: &str, more: Value) -> Value {
    let mut meta = json!({
        "replicator_enabled": "true", "replicator_max": "3", "replicator_min": "1", "replicator_notification_uid": "u",
        "replicator_region": "here", "replicator_worker_pool": POOL, "replicator_provider": "command",
        "replicator_scaling_threshold": "1", "unique.platform.aws.instance-id": instance,
    });
    let members = meta.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    meta
}

/// The meta of a node that names its pool alone: the rest is in a Variable.
fn pool_alone(instance: &str) -> Value {
    json!({"replicator_worker_pool": POOL, "unique.platform.aws.instance-id": instance})
}

/// The Variable with the configuration of the pool.
fn configuration(more: Value) -> Value {
    let mut items = meta("", more);
    items.as_object_mut().expect("an object").remove("unique.platform.aws.instance-id");
    items
}

/// What an evaluation decided, as `autoscale plan -json` shows it.
fn decided(e: &Evaluation) -> Value {
    let outcome = match &e.outcome {
        Outcome::Failsafe => "failsafe",
        Outcome::InProgress => "in_progress",
        Outcome::Denied { .. } => "denied",
        Outcome::Requested { .. } => "requested",
        Outcome::Begin(operation) => match operation.direction {
            Direction::Out => "scale_out",
            Direction::In => "scale_in",
        },
    };
    json!({
        "Arithmetic": e.arithmetic, "Checks": e.checks, "Candidates": e.candidates, "Proof": e.proof,
        "Outcome": outcome, "Protected": protected_nodes(&e.view),
    })
}

/// The same of a plan for its only pool.
fn planned(ran: &Ran) -> Value {
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr));
    let [pool] = plan["Pools"].as_array().expect("pools").as_slice() else { panic!("one pool: {plan:#}") };
    let candidates: Vec<&Value> = pool["Candidates"].as_array().expect("a list").iter().map(|c| &c["ID"]).collect();
    let exit = i32::from(pool["Outcome"] == "scale_out" || pool["Outcome"] == "scale_in");
    assert_eq!(ran.exit, exit, "{plan:#}");
    json!({
        "Arithmetic": pool["Arithmetic"], "Checks": pool["Checks"], "Candidates": candidates, "Proof": pool["Proof"],
        "Outcome": pool["Outcome"], "Protected": pool["Protected"],
    })
}

/// The only pool of a state.
fn pool(state: &State, fallbacks: &Fallbacks) -> Pool {
    let mut registry = Registry::default();
    registry.update(state, fallbacks);
    assert_eq!(registry.problems(), [], "every node is configured well");
    let mut pools: Vec<Pool> = registry.pools().values().cloned().collect();
    assert_eq!(pools.len(), 1, "{pools:?}");
    pools.remove(0)
}

/// One evaluation as the leader makes it.
fn evaluated(world: &World, servers: Servers, group: Option<&Result<ScalingGroup, ProviderError>>) -> Value {
    let state = world.state();
    let mut fallbacks = Fallbacks::new();
    if let Some(variable) = world.variables.get(&paths::pool_configuration(POOL)) {
        let items = serde_json::from_value(variable["Items"].clone()).expect("items");
        fallbacks.insert(POOL.into(), PoolParameters::read(&items));
    }
    let record = world.record().unwrap_or_else(|| Record::new(ResourceType::WorkerPool, POOL));
    let protection = Protection { own_alloc: None, servers };
    decided(&evaluate(&Input {
        state: &state,
        jobs: &JobCache::default(),
        pool: &pool(&state, &fallbacks),
        record: &record,
        group: group.map(Result::as_ref),
        protection: &protection,
        now: leader::now(),
    }))
}

/// What the program of a group says about it.
fn read(group: &Group) -> Result<ScalingGroup, ProviderError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(leader::provider(group).group(GroupId { pool: POOL, region: "here" }))
}

/// Compares the plan for a cluster with the leader's evaluation; gives the outcome and the check that failed.
fn compare_plans(name: &str, world: World, group: &Group) -> (String, String) {
    let want = evaluated(&world, leader::servers(), Some(&read(group)));
    let nomad = Nomad::start(world);
    let folder = Folder::new("autoscale-recorded-plan");
    let command = format!("-provider-command={}", group.command().join(" "));
    let got = planned(&nomad.run(&folder, &["autoscale", "plan", "-json", &command], &[]));
    assert_eq!(got, want, "{name}");
    assert_eq!(nomad.unexpected(), [""; 0], "{name}");
    let failed = got["Checks"].as_array().and_then(|all| all.iter().find(|c| c["Passed"] == false));
    let failed = failed.map_or("", |c| c["Check"].as_str().expect("a check"));
    (got["Outcome"].as_str().expect("an outcome").into(), failed.into())
}

#[test]
fn the_recorded_answers_are_read_as_they_are() {
    let Some(world) = World::recorded() else { return };
    let nomad = Nomad::start(world.clone());
    let folder = Folder::new("autoscale-recorded-read");
    let list = nomad.run(&folder, &["operator", "api"], &["/v1/nodes"]);
    let list: Value =
        serde_json::from_str(&list.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", list.stdout, list.stderr));
    assert_eq!(list, *world.exchanges().body("nodes-list"), "what is served is what was recorded");

    // Nothing was added to the recording: no node takes part in scaling.
    let ran = nomad.run(&folder, &["autoscale", "plan", "-json"], &[]);
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr));
    assert_eq!((&plan["Pools"], &plan["Problems"], ran.exit), (&json!([]), &json!([]), 0), "{plan:#}");

    // What is read over HTTP is what a server has.
    let ran = nomad.run(&folder, &["snapshot", "fetch", "-out", "cluster.json"], &[]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    let read = std::fs::read(folder.path().join("cluster.json")).expect("a snapshot");
    let (read, state) = (encamp_snapshot::read(&read, "cluster").expect("a snapshot").state, world.state());
    assert_eq!(read.index, state.index);
    let node = |state: &State| state.node(NODE).map(|e| e.node.clone());
    assert!(node(&read).is_some() && node(&read) == node(&state), "{:#?}", node(&read));
    let allocs = |state: &State| {
        let mut all: Vec<_> = state.allocs().map(|e| (*e.alloc).clone()).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        // Each has its job; the stored version of it has changed since the allocation was placed.
        for alloc in &mut all {
            assert!(alloc.job.take().is_some_and(|job| job.id == "web" && job.version == 0));
            alloc.stored_job_version = None;
        }
        all
    };
    assert_eq!(allocs(&read), allocs(&state));
    assert_eq!(read.job("default", "web"), state.job("default", "web"));
    assert_eq!(nomad.unexpected(), [""; 0]);
}

#[test]
fn plans_decide_as_the_leader_does() {
    let Some(recorded) = World::recorded() else { return };
    let one = Group::new("autoscale-recorded-one");
    let three = Group::of("autoscale-recorded-three", &["i-1", "i-2", "i-3"]);
    let with = |more: Value| recorded.clone().with_meta(NODE, &meta("i-1", more));
    let state_of = |more: Value| {
        let mut record = json!({"resource_name": POOL, "resource_type": "worker_pool"});
        record.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({ITEM: record.to_string()})
    };
    let path = paths::pool_state(POOL);
    let future = json!({"last_scaling_event": "2200-01-01T00:00:00Z"});
    let after = |direction: &str| {
        let time = "2200-01-01T00:00:00Z";
        json!({"last_scaling_event": time, format!("last_scale{direction}_event"): time})
    };
    let pair = |more: Value| {
        let mut world = with(more.clone());
        world.join(&meta("i-2", more));
        world
    };
    let none = json!({"replicator_node_fault_tolerance": "0"});
    let two = Group::of("autoscale-recorded-two", &["i-1", "i-2"]);
    for (name, world, group, outcome, check) in [
        // One node cannot be lost without losing all.
        ("a pool that is too small", with(json!({})), &one, "scale_out", ""),
        (
            "not often enough",
            with(json!({"replicator_scaling_threshold": "3"})),
            &one,
            "requested",
            "consecutive_requests",
        ),
        (
            "often enough with what was counted",
            with(json!({"replicator_scaling_threshold": "3"}))
                .with_variable(&path, state_of(json!({"scaleout_requests": 2}))),
            &one,
            "scale_out",
            "",
        ),
        ("the last node", with(none.clone()), &one, "denied", "simulated_removal"),
        ("a group of another size", with(json!({})), &three, "denied", "provider_limits"),
        ("a pool at its bound", with(json!({"replicator_max": "1"})), &one, "denied", "pool_limits"),
        (
            "a cooldown that begins now",
            with(json!({})).with_variable(&path, state_of(future)),
            &one,
            "denied",
            "cooldown",
        ),
        (
            "the cooldown of the other direction",
            with(json!({"replicator_scaleout_cooldown": "300"})).with_variable(&path, state_of(after("in"))),
            &one,
            "scale_out",
            "",
        ),
        (
            "the cooldown of the direction",
            with(json!({"replicator_scaleout_cooldown": "300"})).with_variable(&path, state_of(after("out"))),
            &one,
            "denied",
            "cooldown",
        ),
        (
            "the cooldown of both after a scale-in",
            with(json!({"replicator_scalein_cooldown": "300"})).with_variable(&path, state_of(after("in"))),
            &one,
            "denied",
            "cooldown",
        ),
        (
            "failsafe mode",
            with(json!({})).with_variable(&path, state_of(json!({"failsafe_mode": true}))),
            &one,
            "failsafe",
            "",
        ),
        ("a node without work", pair(none), &two, "scale_in", ""),
        (
            "a configuration in a Variable",
            recorded
                .clone()
                .with_meta(NODE, &pool_alone("i-1"))
                .with_variable(&paths::pool_configuration(POOL), configuration(json!({}))),
            &one,
            "scale_out",
            "",
        ),
    ] {
        assert_eq!(compare_plans(name, world, group), (outcome.into(), check.into()), "{name}");
    }
}

/// Without the cluster, from what was read of it. A snapshot does not tell which agents are servers.
#[test]
fn plans_of_a_fetched_snapshot_decide_as_the_leader_does() {
    let Some(recorded) = World::recorded() else { return };
    for tolerance in ["0", "1"] {
        let more = json!({"replicator_node_fault_tolerance": tolerance});
        let world = recorded.clone().with_meta(NODE, &meta("i-1", more));
        let want = evaluated(&world, Servers::default(), None);
        let nomad = Nomad::start(world);
        let folder = Folder::new("autoscale-recorded-snapshot");
        let ran = nomad.run(&folder, &["snapshot", "fetch", "-out", "cluster.json.zst"], &[]);
        assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
        let ran = program::run_in(folder.path(), &["autoscale", "plan", "-json", "-snapshot", "cluster.json.zst"]);
        assert_eq!(planned(&ran), want, "{tolerance}");
    }
}

/// `autoscale agent` against a served cluster.
struct Outside {
    agent: Agent,
    nomad: Nomad,
    _folder: Folder,
}

impl Outside {
    fn start(world: World, group: &Group) -> Outside {
        let nomad = Nomad::start(world);
        let folder = Folder::new("autoscale-recorded-agent");
        let config = folder.file("autoscale.hcl", group.block());
        let mut command = Command::new(program::path());
        command.args(["autoscale", "agent", "-cluster-interval=100ms", "-log-level=DEBUG"]);
        command.arg(format!("-address={}", nomad.address())).arg("-config").arg(config);
        let agent = Agent::launch(&folder, &mut command);
        Outside { agent, nomad, _folder: folder }
    }

    /// Ends it: it gives the lock back.
    fn end(mut self) {
        let lock = |nomad: &Nomad| nomad.world().variables[paths::LEADER].get("Lock").cloned();
        assert!(lock(&self.nomad).is_some());
        self.agent.signal(rustix::process::Signal::TERM);
        assert_eq!(self.agent.exit(), 0, "{}", self.agent.log());
        assert_eq!(lock(&self.nomad), None, "{}", self.agent.log());
        assert_eq!(self.nomad.unexpected(), [""; 0], "{}", self.agent.log());
    }
}

/// Waits until the operation of the pool is at a step.
fn at_step<'a>(step: Step, world: impl Fn() -> MutexGuard<'a, World>) {
    wait_for("the step", || match world().record() {
        Some(record) if record.operation.as_ref().is_some_and(|o| o.step == step) => Ok(()),
        record => Err(format!("{record:?}")),
    });
}

/// Waits until the pool has had an operation.
fn is_done<'a>(world: impl Fn() -> MutexGuard<'a, World>) {
    wait_for("the operation ends", || match world().record() {
        Some(record) if record.operation.is_none() && record.last_scaling_event.is_some() => Ok(()),
        record => Err(format!("{record:?}")),
    });
}

/// Waits until the leader has decided that, and gives the reason.
fn leader_decides(leader: &Leader, action: Action) -> String {
    let mut reason = String::new();
    wait_for("the decision of the leader", || {
        let pool = leader.pool();
        reason.clone_from(&pool.last_decision.reason);
        if pool.last_decision.action == action { Ok(()) } else { Err(format!("{pool:?}")) }
    });
    reason
}

/// Of both sides: what was written, and what the group was asked for.
fn same_effects(leader: &Leader, agent: &Outside, groups: &[Group; 2]) -> (Vec<Value>, Vec<Value>) {
    // Other threads go on with the clusters, also after a comparison that fails.
    let (of_leader, of_agent) = (leader.world().clone(), agent.nomad.world().clone());
    let changes = groups.each_ref().map(Group::changes);
    assert_eq!(of_agent.written, of_leader.written, "state objects, by the agent and by the leader");
    assert_eq!(changes[1], changes[0], "requests to the provider");
    assert!(of_agent.nodes.keys().eq(of_leader.nodes.keys()));
    (of_agent.written, changes[1].clone())
}

#[test]
fn an_agent_scales_out_as_the_leader_does() {
    let Some(recorded) = World::recorded() else { return };
    let parameters = configuration(json!({"replicator_scaling_threshold": "2"}));
    let world =
        recorded.with_meta(NODE, &pool_alone("i-1")).with_variable(&paths::pool_configuration(POOL), parameters);
    let groups = ["leader", "agent"].map(|side| Group::new(&format!("autoscale-recorded-out-{side}")));

    let leader = Leader::start(world.clone(), &groups[0]);
    at_step(Step::AwaitNodes, || leader.world());
    let begins = leader_decides(&leader, Action::ScaleOut);
    leader.world().join(&pool_alone("i-2"));
    is_done(|| leader.world());
    let then = leader_decides(&leader, Action::Denied);

    let mut outside = Outside::start(world, &groups[1]);
    outside.agent.until(&format!("an operation begins: {begins}"));
    at_step(Step::AwaitNodes, || outside.nomad.world());
    outside.nomad.world().join(&pool_alone("i-2"));
    outside.agent.until("1 new node: i-2");
    outside.agent.until(&format!("nothing is done: {then}"));

    let (written, changes) = same_effects(&leader, &outside, &groups);
    assert_eq!(written[0]["scaleout_requests"], 1, "{written:#?}");
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!((&changes[0]["Verb"], &changes[0]["Desired"]), (&json!("set_desired"), &json!(2)));
    outside.end();
}

#[test]
fn an_agent_scales_in_as_the_leader_does() {
    let Some(recorded) = World::recorded() else { return };
    let more = json!({"replicator_node_fault_tolerance": "0"});
    let mut world = recorded.with_meta(NODE, &meta("i-1", more.clone()));
    world.join(&meta("i-2", more));
    let groups = ["leader", "agent"].map(|side| Group::of(&format!("autoscale-recorded-in-{side}"), &["i-1", "i-2"]));

    let leader = Leader::start(world.clone(), &groups[0]);
    is_done(|| leader.world());
    let then = leader_decides(&leader, Action::Denied);

    let mut outside = Outside::start(world, &groups[1]);
    outside.agent.until(&format!("node {SECOND} was removed"));
    outside.agent.until(&format!("nothing is done: {then}"));

    let (_, changes) = same_effects(&leader, &outside, &groups);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!((&changes[0]["Verb"], &changes[0]["Instance"]), (&json!("terminate"), &json!("i-2")));
    assert!(!outside.nomad.world().nodes.contains_key(SECOND), "it is purged");
    outside.end();
}

#[test]
fn an_agent_does_nothing_where_the_leader_does_nothing() {
    let Some(recorded) = World::recorded() else { return };
    let group = |side: &str| Group::new(&format!("autoscale-recorded-nothing-{side}"));
    let failsafe = json!({
        "resource_name": POOL, "failsafe_mode": true, "failsafe_admin": "2026-01-02T03:04:05Z ops",
        "last_notification_event": "2026-01-02T03:04:05Z",
    });
    let stopped = recorded
        .clone()
        .with_meta(NODE, &meta("i-1", json!({})))
        .with_variable(&paths::pool_state(POOL), json!({ITEM: failsafe.to_string()}));
    let with = |more: Value| recorded.clone().with_meta(NODE, &meta("i-1", more));
    for (world, action) in [
        (with(json!({"replicator_node_fault_tolerance": "0"})), Action::Denied),
        (with(json!({"replicator_max": "1"})), Action::Denied),
        (stopped, Action::Failsafe),
    ] {
        let groups = [group("leader"), group("agent")];
        let leader = Leader::start(world.clone(), &groups[0]);
        let reason = leader_decides(&leader, action);
        let mut outside = Outside::start(world, &groups[1]);
        outside.agent.until(&match action {
            Action::Failsafe => "the pool is in failsafe mode".to_string(),
            _ => format!("nothing is done: {reason}"),
        });
        let effects = same_effects(&leader, &outside, &groups);
        assert_eq!(effects, (Vec::new(), Vec::new()), "{action:?}");
        outside.end();
    }
}

#[test]
fn one_agent_acts_and_others_wait() {
    let Some(recorded) = World::recorded() else { return };
    let mut world = recorded.with_meta(NODE, &meta("i-1", json!({})));
    let another = json!({"holder": "another"});
    let lock = json!({"ID": "95cd593c-8a44-11ed-6ba1-40a34eb2d05f", "TTL": "30s", "LockDelay": "5s"});
    world.store_variable(paths::LEADER, another.clone(), Some(lock.clone()));
    let group = Group::new("autoscale-recorded-lock");
    let mut outside = Outside::start(world, &group);
    outside.agent.until("another instance scales this cluster");
    let items = |nomad: &Nomad| nomad.world().variables[paths::LEADER]["Items"].clone();
    assert_eq!((items(&outside.nomad), group.changes()), (another.clone(), Vec::new()));

    // The other one gives the lock back.
    outside.nomad.world().store_variable(paths::LEADER, another.clone(), None);
    outside.agent.until("acquired the lock");
    group.grows_to(2, PATIENCE);
    assert_ne!(items(&outside.nomad), another);
    wait_for("a renewal", || match outside.nomad.world().renewals {
        0 => Err("none".into()),
        _ => Ok(()),
    });
    assert!(!outside.agent.log().contains("lost the lock"), "{}", outside.agent.seen);

    // It is taken away from this one.
    outside.nomad.world().store_variable(paths::LEADER, another, Some(lock));
    outside.agent.until("lost the lock");
    assert_eq!(outside.nomad.unexpected(), [""; 0]);
}

use std::sync::Arc;

use encamp_model::{Allocation, ClientStatus, DesiredStatus, Job, JobType};
use encamp_state::State;
use serde_json::{Value, json};

use super::*;
use crate::protection::Servers;
use crate::test_cluster::{alloc, amounts, cluster, group, job, node, parameters, pool, task};

fn of(state: &State, nodes: &[&str]) -> PoolView {
    let protection = Protection::default();
    let alone = view(state, &JobCache::default(), &pool(nodes, parameters()), &protection);
    // The facts that a cache learned from other pools change nothing.
    let (jobs, all) = (JobCache::default(), state.nodes().map(|n| n.node.id.as_str()).collect::<Vec<_>>());
    view(state, &jobs, &pool(&all, parameters()), &protection);
    assert_eq!(view(state, &jobs, &pool(nodes, parameters()), &protection), alone);
    alone
}

/// A job of [`job`]'s shape that is stored in the state.
fn stored(state: &mut State, id: &str, more: Value) -> Arc<Job> {
    let job = job(id, JobType::Service, more);
    state.upsert_job(job.clone());
    job
}

#[test]
fn totals_are_allocatable() {
    let mut state = cluster(1);
    let reserved = json!({"Cpu": {"CpuShares": 400}, "Memory": {"MemoryMB": 500}, "Disk": {"DiskMB": 20_000}});
    state.upsert_node(node("r", json!({"ReservedResources": reserved})));
    let v = of(&state, &["gone", "n1", "r"]);
    let ids: Vec<&str> = v.nodes.iter().map(|n| n.id.as_str()).collect();
    assert_eq!(ids, ["n1", "r"], "what is not stored is left out");
    assert_eq!(v.nodes[1].capacity, amounts(9_600, 9_500, 0), "no node offers less than nothing");
    assert_eq!(v.total, amounts(19_600, 19_500, 10_000));
    assert_eq!((v.consumed, v.reserve), (Amounts::default(), Amounts::default()));
    assert_eq!(v.nodes[0].instance_id.as_deref(), Some("i-n1"));
}

#[test]
fn meta_overrides_the_attribute_of_the_instance() {
    for (meta, attribute, want) in [("", "i-1", None), ("i-2", "i-1", Some("i-2"))] {
        let n = node("n", json!({"Attributes": {INSTANCE_ID: attribute}, "Meta": {INSTANCE_ID: meta}}));
        assert_eq!(instance_id(&n), want, "{meta:?}");
    }
    assert_eq!(instance_id(&node("n", json!({"Attributes": {}}))), None);
}

#[test]
fn running_means_by_client_and_server() {
    let mut state = cluster(2);
    let web = stored(&mut state, "web", json!({}));
    let system = job("logs", JobType::System, json!({}));
    state.upsert_job(system.clone());
    let with = |id: &str, node: &str, client: ClientStatus, desired: DesiredStatus| {
        alloc(id, &web, node, (100, 200, 30), json!({"ClientStatus": client, "DesiredStatus": desired}))
    };
    state.upsert_allocs([
        with("a", "n1", ClientStatus::Running, DesiredStatus::Run),
        with("b", "n1", ClientStatus::Pending, DesiredStatus::Run),
        with("c", "n1", ClientStatus::Running, DesiredStatus::Stop),
        with("d", "n1", ClientStatus::Complete, DesiredStatus::Run),
        with("e", "n1", ClientStatus::Unknown, DesiredStatus::Run),
        alloc("s", &system, "n1", (10, 20, 3), json!({})),
        with("f", "n2", ClientStatus::Running, DesiredStatus::Run),
    ]);
    let v = of(&state, &["n1"]);
    assert_eq!(v.consumed, amounts(110, 220, 33), "a and the system job");
    assert_eq!(v.nodes[0].consumed, v.consumed);
    assert_eq!(v.nodes[0].allocations, 3, "a, b, e");
}

#[test]
fn the_reserve_counts_scalable_groups_once() {
    let mut state = cluster(2);
    let groups = json!([
        group("g", 5, json!({"Scaling": {"Min": 1, "Max": 9}, "Tasks": [task("t", 500, 700), task("u", 50, 70)]})),
        group("m", 5, json!({"Meta": {"replicator_enabled": "true"}})),
        group("off", 5, json!({"Meta": {"replicator_enabled": "false"}})),
        group("plain", 5, json!({})),
    ]);
    let web = stored(&mut state, "web", json!({"TaskGroups": groups}));
    let fixed = stored(&mut state, "fixed", json!({}));
    let away = stored(&mut state, "away", json!({"TaskGroups": [group("g", 1, json!({"Scaling": {"Max": 9}}))]}));
    let ended = stored(&mut state, "ended", json!({"TaskGroups": [group("g", 1, json!({"Scaling": {"Max": 9}}))]}));
    state.upsert_allocs([
        alloc("a", &web, "n1", (1, 1, 1), json!({"TaskGroup": "plain"})),
        alloc("b", &web, "n1", (1, 1, 1), json!({})),
        alloc("c", &fixed, "n1", (1, 1, 1), json!({})),
        alloc("d", &away, "n2", (1, 1, 1), json!({})),
        alloc("e", &ended, "n1", (1, 1, 1), json!({"ClientStatus": "complete"})),
    ]);
    assert_eq!(of(&state, &["n1"]).reserve, amounts(550 + 1000, 770 + 2000, 600), "g and m of web");
}

#[test]
fn the_current_job_decides_about_the_reserve() {
    let mut state = cluster(1);
    let old = stored(&mut state, "web", json!({}));
    let scalable = [group("g", 1, json!({"Scaling": {"Max": 9}}))];
    stored(&mut state, "web", json!({"Version": 1, "TaskGroups": scalable}));
    let purged = job("purged", JobType::Service, json!({"TaskGroups": scalable}));
    state
        .upsert_allocs([alloc("a", &old, "n1", (1, 1, 1), json!({})), alloc("b", &purged, "n1", (1, 1, 1), json!({}))]);
    assert_eq!(of(&state, &["n1"]).reserve, amounts(1000, 2000, 300));
}

/// An allocation whose task was given cores with so many MHz.
fn with_cores(id: &str, job: &Arc<Job>, node: &str, mhz: i64) -> Arc<Allocation> {
    let tasks = json!({"t": {"Cpu": {"CpuShares": mhz, "ReservedCores": [0, 1]}, "Memory": {"MemoryMB": 100}}});
    alloc(id, job, node, (0, 0, 0), json!({"AllocatedResources": {"Tasks": tasks}}))
}

#[test]
fn cores_count_as_the_running_allocation_was_given_them() {
    let cored = json!({"Name": "t", "Resources": {"Cores": 2, "MemoryMB": 100}});
    let scalable = |name: &str| group(name, 1, json!({"Scaling": {"Max": 9}, "Tasks": [cored], "EphemeralDisk": null}));
    let mut state = cluster(2);
    let web = stored(&mut state, "web", json!({"TaskGroups": [scalable("g")]}));
    let elsewhere = with_cores("e", &web, "n2", 9000);
    state.upsert_allocs([with_cores("a", &web, "n1", 4000), with_cores("b", &web, "n1", 5000), elsewhere]);
    assert_eq!(of(&state, &["n1"]).reserve, amounts(5000, 100, 0), "the most on the pool");

    // A second group: what it was given elsewhere; where it runs nowhere, the fastest core of the pool.
    let both = stored(&mut state, "web", json!({"Version": 1, "TaskGroups": [scalable("g"), scalable("h")]}));
    assert_eq!(of(&state, &["n1"]).reserve, amounts(5000 + 2 * 2500, 200, 0));
    let mut elsewhere = Allocation::clone(&with_cores("c", &both, "n2", 7000));
    elsewhere.task_group = "h".into();
    state.upsert_allocs([Arc::new(elsewhere)]);
    assert_eq!(of(&state, &["n1"]).reserve, amounts(5000 + 7000, 200, 0));
}

#[test]
fn protected_nodes() {
    let mut state = cluster(5);
    let guarded = stored(&mut state, "guarded", json!({"Meta": {"encamp_protect": "true"}}));
    let loose = stored(&mut state, "loose", json!({"Meta": {"encamp_protect": "false"}}));
    let since = stored(&mut state, "since", json!({}));
    stored(&mut state, "since", json!({"Version": 1, "Meta": {"encamp_protect": "1"}}));
    let purged = job("purged", JobType::Service, json!({"Meta": {"encamp_protect": "true"}}));
    state.upsert_allocs([
        alloc("a", &guarded, "n1", (1, 1, 1), json!({"ClientStatus": "pending"})),
        alloc("b", &guarded, "n2", (1, 1, 1), json!({"ClientStatus": "complete"})),
        alloc("c", &loose, "n2", (1, 1, 1), json!({})),
        alloc("d", &since, "n3", (1, 1, 1), json!({})),
        alloc("e", &purged, "n4", (1, 1, 1), json!({})),
        alloc("own", &loose, "n5", (1, 1, 1), json!({})),
    ]);
    let protected = |own_alloc: Option<&str>, own_node: Option<&str>| {
        let servers = Servers { own_node: own_node.map(String::from), members: Vec::new() };
        let protection = Protection { own_alloc: own_alloc.map(String::from), servers };
        let v = view(&state, &JobCache::default(), &pool(&["n1", "n2", "n3", "n4", "n5"], parameters()), &protection);
        v.nodes.into_iter().map(|n| n.protected).collect::<Vec<_>>()
    };
    let (autoscaler, server, job) = (Some(ProtectedBy::Autoscaler), Some(ProtectedBy::Server), Some(ProtectedBy::Job));
    assert_eq!(protected(None, None), [job, None, job, job, None]);
    assert_eq!(protected(Some("own"), None), [job, None, job, job, autoscaler]);
    assert_eq!(protected(Some("unknown"), None), [job, None, job, job, None]);
    assert_eq!(protected(Some("own"), Some("n1")), [server, None, job, job, autoscaler]);
}

#[test]
fn sums_end_at_the_largest_number() {
    let mut state = cluster(1);
    let web = stored(
        &mut state,
        "web",
        json!({"TaskGroups": [group("g", 1, json!({"Scaling": {"Max": 9},
        "Tasks": [task("t", i64::MAX, i64::MAX), task("u", i64::MAX, i64::MAX)]}))]}),
    );
    let much = (i64::MAX, i64::MAX, i64::MAX);
    state.upsert_allocs(["a", "b"].map(|id| alloc(id, &web, "n1", much, json!({}))));
    let v = of(&state, &["n1"]);
    assert_eq!(v.consumed, amounts(i64::MAX, i64::MAX, i64::MAX));
    assert_eq!(v.reserve, amounts(i64::MAX, i64::MAX, 300));
}

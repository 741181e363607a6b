use encamp_state::State;
use serde_json::{Value, json};

use super::*;
use crate::test_cluster::{meta, node, parameters, pool_meta};

fn updated(state: &State, fallbacks: &Fallbacks) -> Registry {
    let mut registry = Registry::default();
    registry.update(state, fallbacks);
    registry
}

/// Pools with their nodes: `db: a b; web: c`.
fn members(registry: &Registry) -> String {
    let nodes = |p: &Pool| p.nodes.iter().cloned().collect::<Vec<_>>().join(" ");
    let pools = registry.pools().iter().map(|(name, p)| format!("{name}: {}", nodes(p)));
    pools.collect::<Vec<_>>().join("; ")
}

fn with(id: &str, index: u64, more_meta: Value) -> std::sync::Arc<encamp_model::Node> {
    node(id, json!({"ModifyIndex": index, "Meta": pool_meta(more_meta)}))
}

#[test]
fn only_ready_nodes_are_registered() {
    let mut state = State::new();
    state.upsert_node(node("a", json!({})));
    state.upsert_node(node("b", json!({"Status": "down"})));
    state.upsert_node(node("c", json!({"SchedulingEligibility": "ineligible"})));
    state.upsert_node(node("d", json!({"DrainStrategy": {}})));
    state.upsert_node(node("e", json!({"Status": "disconnected"})));
    state.upsert_node(node("f", json!({"Meta": {"role": "db"}})));
    state.upsert_node(with("g", 5, json!({"replicator_enabled": "false"})));
    let registry = updated(&state, &Fallbacks::new());
    assert_eq!(members(&registry), "web: a");
    assert!(registry.problems().is_empty(), "{:?}", registry.problems());
}

#[test]
fn nodes_that_change_are_read_again() {
    let mut state = State::new();
    state.upsert_node(with("a", 5, json!({})));
    state.upsert_node(with("b", 5, json!({})));
    let mut registry = updated(&state, &Fallbacks::new());
    assert_eq!(members(&registry), "web: a b");
    // It moves to another pool.
    state.upsert_node(with("b", 6, json!({"replicator_worker_pool": "db"})));
    registry.update(&state, &Fallbacks::new());
    assert_eq!(members(&registry), "db: b; web: a");
    // The last node of a pool goes, and so does the pool.
    state.upsert_node(node("a", json!({"ModifyIndex": 7, "Status": "down"})));
    registry.update(&state, &Fallbacks::new());
    assert_eq!(members(&registry), "db: b");
    // One is purged and another one comes.
    state.remove_node("b");
    state.upsert_node(with("c", 8, json!({})));
    registry.update(&state, &Fallbacks::new());
    assert_eq!(members(&registry), "web: c");
}

#[test]
fn problems_name_node_pool_and_keys() {
    let mut state = State::new();
    state.upsert_node(with("b", 5, json!({"replicator_max": "many"})));
    state.upsert_node(node("a", json!({"Meta": {"replicator_worker_pool": "web", "replicator_min": "1"}})));
    state.upsert_node(node("c", json!({"Status": "down", "Meta": {"replicator_min": "1"}})));
    let registry = updated(&state, &Fallbacks::new());
    assert!(registry.pools().is_empty());
    let [a, b] = registry.problems() else { panic!("{:?}", registry.problems()) };
    assert_eq!((a.node_id.as_str(), a.node_name.as_str(), a.pool.as_deref()), ("a", "name-a", Some("web")));
    assert_eq!(a.problems[..2], ["replicator_enabled is missing", "replicator_max is missing"]);
    assert_eq!(b.problems, ["replicator_max is \"many\", which is not a whole number"]);
}

#[test]
fn the_node_that_changed_last_decides() {
    let mut state = State::new();
    state.upsert_node(with("a", 5, json!({"replicator_max": "7"})));
    state.upsert_node(with("b", 9, json!({"replicator_cooldown": "60"})));
    state.upsert_node(with("c", 8, json!({"replicator_max": "7"})));
    let registry = updated(&state, &Fallbacks::new());
    let web = &registry.pools()["web"];
    assert_eq!((web.parameters.max, web.parameters.cooldown.both.as_secs()), (10, 60));
    let reported: Vec<_> = web
        .disagreements
        .iter()
        .map(|d| (d.key, d.counts.1.as_str(), d.other.0.as_str(), d.other.1.as_str()))
        .collect();
    assert_eq!(reported, [("replicator_cooldown", "60", "c", "300"), ("replicator_max", "10", "c", "7")]);
    assert!(web.disagreements.iter().all(|d| d.counts.0 == "b"));
}

#[test]
fn a_variable_holds_what_nodes_leave_out() {
    let mut state = State::new();
    state.upsert_node(node("a", json!({"Meta": {"replicator_worker_pool": "web"}})));
    state.upsert_node(node("b", json!({"Meta": {"replicator_worker_pool": "db"}})));
    state.upsert_node(node("c", json!({"Meta": {"replicator_worker_pool": "ci"}})));
    state.upsert_node(node("d", json!({"Meta": {"replicator_worker_pool": "old"}})));
    let broken = PoolParameters::read(&meta(&[("replicator_max", "x")])).map_err(|mut p| p.split_off(p.len() - 1));
    let fallbacks = Fallbacks::from([
        ("web".to_string(), Ok(parameters())),
        ("db".to_string(), broken),
        ("old".to_string(), Ok(parameters())),
    ]);
    let registry = updated(&state, &fallbacks);
    assert_eq!(registry.named_alone().into_iter().collect::<Vec<_>>(), ["ci", "db", "old", "web"]);
    assert_eq!(members(&registry), "web: a");
    let reported: Vec<_> = registry.problems().iter().map(|p| (p.node_id.as_str(), p.problems.join("; "))).collect();
    let want = [
        ("b", "encamp/autoscale/pools/db: replicator_worker_pool is missing"),
        (
            "c",
            "the node sets only the pool's name, and the Variable encamp/autoscale/pools/ci with the other parameters \
             does not exist",
        ),
        ("d", "encamp/autoscale/pools/old: replicator_worker_pool is \"web\", but the Variable belongs to \"old\""),
    ];
    assert_eq!(reported, want.map(|(id, problem)| (id, problem.to_string())));
}

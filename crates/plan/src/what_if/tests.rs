//! Names, edits and the reported outcomes, on a cluster of four nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::change::{Change, Nodes};
use super::edit::{Edited, edit};
use super::{Cause, Fate, Outcome, drain, find, what_if};
use encamp_model::*;
use encamp_state::State;

const NOW: i64 = 1_800_000_000 * SECOND;

fn node(id: &str, name: &str, dc: &str, pool: &str) -> Arc<Node> {
    let value = json!({
        "ID": id, "Name": name, "Datacenter": dc, "NodePool": pool, "NodeClass": format!("class-{pool}"),
        "Status": "ready", "SchedulingEligibility": "eligible", "ModifyIndex": 5, "CreateIndex": 5,
        "Attributes": {"unique.hostname": name, "unique.consul.name": id, "kernel.name": "linux"},
        "HostVolumes": {"data": {"Name": "data", "Path": "/d"}, "own": {"Name": "own", "ID": "v1"}},
        "Drivers": {"exec": {"Detected": true, "Healthy": true}},
        "NodeResources": {"Cpu": {"CpuShares": 1000, "TotalCpuCores": 1}, "Memory": {"MemoryMB": 1000}, "Disk": {"DiskMB": 1000},
            "Networks": [{"Mode": "host", "Device": "eth0", "CIDR": "10.0.0.1/32", "IP": "10.0.0.1"}]},
    });
    let mut node: Node = serde_json::from_value(value).expect("a node");
    node.computed_class = node.compute_class();
    Arc::new(node)
}

fn job(id: &str, kind: JobType, more: Value) -> Arc<Job> {
    let mut value = json!({
        "ID": id, "Name": id, "Namespace": "default", "Type": kind, "Priority": 50, "Datacenters": ["*"],
        "NodePool": "default", "Status": "running", "CreateIndex": 10, "ModifyIndex": 10, "JobModifyIndex": 10,
        "TaskGroups": [{"Name": "g", "Count": 1, "Migrate": {"MaxParallel": 1}, "EphemeralDisk": {"SizeMB": 10},
            "Tasks": [{"Name": "t", "Driver": "exec", "Resources": {"CPU": 600, "MemoryMB": 100}}]}],
    });
    for (name, member) in more.as_object().into_iter().flatten() {
        value[name] = member.clone();
    }
    Arc::new(serde_json::from_value(value).expect("a job"))
}

fn alloc(id: &str, job: &Arc<Job>, node: &str, cpu: i64) -> Arc<Allocation> {
    let value = json!({
        "ID": id, "Name": format!("{}.g[0]", job.id), "Namespace": job.namespace, "JobID": job.id, "TaskGroup": "g",
        "NodeID": node, "NodeName": node, "DesiredStatus": "run", "ClientStatus": "running",
        "CreateIndex": 11, "ModifyIndex": 11,
        "AllocatedResources": {"Tasks": {"t": {"Cpu": {"CpuShares": cpu}, "Memory": {"MemoryMB": 10}}}, "Shared": {"DiskMB": 10}},
    });
    let a: Allocation = serde_json::from_value(value).expect("an allocation");
    Arc::new(Allocation { job: Some(job.clone()), ..a })
}

/// Two nodes in dc1, one in dc2, one of another pool. A service and a system job run on the first one.
fn cluster() -> State {
    let mut state = State::new();
    let nodes = [("aa11", "n1", "dc1", "default"), ("aa22", "n2", "dc1", "default"), ("bb33", "n3", "dc2", "default")];
    nodes.iter().for_each(|(id, name, dc, pool)| state.upsert_node(node(id, name, dc, pool)));
    state.upsert_node(node("cc44", "twin", "dc2", "gpu"));
    let groups = json!([{"Name": "g", "Count": 1, "EphemeralDisk": {"SizeMB": 10},
        "Tasks": [{"Name": "t", "Driver": "exec", "Resources": {"CPU": 100, "MemoryMB": 10}}]}]);
    // The system job is for one node alone, so that no other one lacks it.
    let here = json!([{"LTarget": "${attr.unique.hostname}", "RTarget": "n1", "Operand": "="}]);
    let web = job("web", JobType::Service, json!({}));
    let watch = job("watch", JobType::System, json!({"TaskGroups": groups, "Constraints": here}));
    for j in [&web, &watch, &job("web", JobType::Batch, json!({"Namespace": "prod", "TaskGroups": []}))] {
        state.upsert_job(j.clone());
    }
    state.upsert_allocs([alloc("a1", &web, "aa11", 600), alloc("s1", &watch, "aa11", 100)]);
    state.index = 20;
    state
}

fn changed(changes: &[Change]) -> Edited {
    edit(&cluster(), changes, "default", NOW).expect("changes that are right")
}

fn outcome(state: &State, changes: &[Change]) -> Outcome {
    what_if(state, changes, "default", NOW).expect("changes that are right").outcome
}

fn one(name: &str) -> Nodes {
    Nodes::One(name.into())
}

fn triggers(e: &Edited) -> Vec<(&str, EvalTrigger, JobType)> {
    e.triggers.iter().map(|(key, t)| (key.1.as_str(), t.reason.clone(), t.r#type.clone())).collect()
}

#[test]
fn nodes_are_found_by_id_name_or_beginning() {
    let mut state = cluster();
    // Its name is another one's ID.
    state.upsert_node(node("dd55", "aa22", "dc1", "default"));
    let found = |text: &str| find::matching(&state, text).iter().map(|n| n.id.clone()).collect::<Vec<_>>();
    for (text, want) in [
        ("aa11", &["aa11"][..]),
        ("n3", &["bb33"]),
        ("aa", &["aa11", "aa22"]),
        ("bb3", &["bb33"]),
        ("aa22", &["aa22"]),
        ("b", &[]),
        ("", &[]),
        ("zz", &[]),
    ] {
        assert_eq!(found(text), want, "{text:?}");
    }
    assert_eq!(find::node(&state, "n2").map(|n| n.id.clone()), Ok("aa22".into()));
    assert_eq!(find::node(&state, "aa").unwrap_err().to_string(), "2 nodes match; give the ID of one: aa11, aa22");
    assert_eq!(
        find::node(&state, "twn").unwrap_err().to_string(),
        "no node has this ID or name; did you mean \"twin\"?"
    );
}

#[test]
fn nodes_are_found_by_what_they_have_in_common() {
    let state = cluster();
    let found =
        |which: &Nodes| find::nodes(&state, which).map(|l| l.iter().map(|n| n.name.clone()).collect::<Vec<_>>());
    assert_eq!(found(&Nodes::Datacenter("dc2".into())).unwrap(), ["n3", "twin"]);
    assert_eq!(found(&Nodes::Class("class-gpu".into())).unwrap(), ["twin"]);
    assert_eq!(found(&Nodes::Pool("default".into())).unwrap(), ["n1", "n2", "n3"]);
    assert_eq!(
        found(&Nodes::Pool("edge".into())).unwrap_err().to_string(),
        "no node has node pool \"edge\"; there are default, gpu"
    );
}

#[test]
fn jobs_are_found_in_their_namespace() {
    let state = cluster();
    let found = |text: &str, namespace: &str| {
        find::job(&state, text, namespace).map(|j| (j.namespace.clone(), j.r#type.clone()))
    };
    let is = |namespace: &str, kind: JobType| Ok((namespace.to_string(), kind));
    assert_eq!(found("web", "default"), is("default", JobType::Service));
    assert_eq!(found("web@prod", "default"), is("prod", JobType::Batch));
    let watch = found("watch", "prod").unwrap_err().to_string();
    assert_eq!(watch, "no job in namespace \"prod\" has this ID; there is watch@default");
    let near = found("wep", "default").unwrap_err().to_string();
    assert_eq!(near, "no job in namespace \"default\" has this ID; did you mean \"web\"?");
}

#[test]
fn a_drain_makes_a_node_ineligible_and_waits_for_its_turn() {
    let e = changed(&[Change::Drain(one("n1"))]);
    let n = &e.state.node("aa11").unwrap().node;
    assert_eq!(
        (&n.scheduling_eligibility, n.drain_strategy.is_some(), n.modify_index),
        (&NodeEligibility::Ineligible, true, 21)
    );
    assert_eq!(e.draining, BTreeSet::from(["aa11".to_string()]));
    assert!(e.triggers.is_empty() && !e.gained);
    assert_eq!(e.descriptions, ["drain node \"n1\" (aa11)"]);
    let both = edit(&cluster(), &[Change::Drain(one("n1")), Change::Down(one("n1"))], "default", NOW).unwrap_err();
    assert_eq!(
        both.to_string(),
        "-drain \"n1\": node \"n1\" is down: its allocations are lost, so there is nothing to drain"
    );
}

#[test]
fn a_lost_node_causes_evaluations_of_what_ran_there() {
    let e = changed(&[Change::Down(Nodes::Datacenter("dc1".into()))]);
    for id in ["aa11", "aa22"] {
        let n = &e.state.node(id).unwrap().node;
        assert_eq!((&n.status, n.status_updated_at), (&NodeStatus::Down, NOW / SECOND));
        assert_eq!(n.last_missed_heartbeat_index, n.modify_index);
    }
    assert_eq!(
        triggers(&e),
        [("watch", EvalTrigger::NodeUpdate, JobType::System), ("web", EvalTrigger::NodeUpdate, JobType::Service)]
    );
    assert_eq!(e.descriptions, ["down 2 nodes, \"n1\" among them"]);
    let again = edit(&e.state, &[Change::Down(one("n2"))], "default", NOW).unwrap();
    assert_eq!(again.notes, ["node \"n2\" (aa22) was down already"]);
    assert!(again.down.is_empty() && again.triggers.is_empty());
}

#[test]
fn new_nodes_are_like_their_model_but_for_what_is_its_own() {
    let e = changed(&[Change::Add { count: 2, like: "n1".into() }, Change::Down(one("n1"))]);
    let mut new: Vec<&Node> = e.state.nodes().map(|n| &**n.node).filter(|n| n.name.contains("-new-")).collect();
    new.sort_by_key(|n| n.modify_index);
    let names: Vec<&str> = new.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["n1-new-1", "n1-new-2"]);
    for n in new {
        assert!(n.ready(), "as the model was before it went down");
        assert_eq!(
            (n.attributes["unique.hostname"].as_str(), n.attributes["unique.consul.name"].as_str()),
            (n.name.as_str(), n.id.as_str())
        );
        assert_eq!(n.attributes["kernel.name"], "linux");
        assert_eq!(n.host_volumes.keys().collect::<Vec<_>>(), ["data"], "a volume with an ID stays where it is");
        assert_eq!(n.datacenter, "dc1");
    }
    assert!(e.gained && !e.state.node("aa11").unwrap().node.ready());
}

#[test]
fn counts_are_set_within_the_rules() {
    let e = changed(&[Change::Scale { job: "web".into(), group: "g".into(), count: 3 }]);
    let web = e.state.job("default", "web").unwrap();
    assert_eq!((web.task_groups[0].count, web.version), (3, 1));
    assert_eq!(triggers(&e), [("web", EvalTrigger::JobScaling, JobType::Service)]);
    assert_eq!(e.descriptions, ["scale group \"g\" of job \"web\" from 1 to 3"]);
    let scale = |job: &str, group: &str, count| Change::Scale { job: job.into(), group: group.into(), count };
    let mut state = cluster();
    let bounded = job(
        "bounded",
        JobType::Service,
        json!({"TaskGroups": [{"Name": "g", "Count": 2, "Scaling": {"Min": 2, "Max": 4}}]}),
    );
    state.upsert_job(bounded);
    for (change, want) in [
        (scale("web", "h", 1), "job \"web\" has no group \"h\"; did you mean \"g\"?"),
        (scale("watch", "g", 2), "jobs of type \"system\" can only be scaled between 0 and 1"),
        (scale("bounded", "g", 1), "group count was less than scaling policy minimum: 1 < 2"),
        (scale("bounded", "g", 5), "group count was greater than scaling policy maximum: 5 > 4"),
    ] {
        assert_eq!(edit(&state, &[change], "default", NOW).unwrap_err().problem.to_string(), want);
    }
}

#[test]
fn a_stop_decides_whatever_else_is_written() {
    let scale = Change::Scale { job: "web".into(), group: "g".into(), count: 2 };
    let e = changed(&[scale, Change::Stop("web".into())]);
    assert!(e.state.job("default", "web").unwrap().stop);
    assert_eq!(triggers(&e), [("web", EvalTrigger::JobDeregister, JobType::Service)]);
    assert_eq!(e.notes, ["job \"web\" is stopped: scaling it starts nothing"], "stops come before counts");
    let prod = changed(&[Change::Stop("web@prod".into())]);
    assert_eq!(prod.descriptions, ["stop job \"web\" of namespace \"prod\""]);
}

#[test]
fn settings_come_first() {
    let config = Change::Config { key: "scheduler_algorithm".into(), value: "spread".into() };
    let e = changed(&[Change::Drain(one("n1")), config]);
    let stored = e.state.scheduler_config.as_ref().expect("a configuration");
    assert_eq!((&stored.scheduler_algorithm, stored.modify_index), (&SchedulerAlgorithm::Spread, 21));
    assert!(e.gained);
    assert_eq!(e.descriptions, ["set scheduler_algorithm to spread", "drain node \"n1\" (aa11)"]);
}

/// Every live allocation of a lost node is reported once: the service moves, the system allocation stops.
#[test]
fn what_runs_on_a_lost_node_is_replaced_elsewhere() {
    let out = outcome(&cluster(), &[Change::Down(one("n1"))]);
    let reported: Vec<_> = out.displaced.iter().map(|d| (d.from.alloc_id.as_str(), d.cause, d.fate)).collect();
    assert_eq!(reported, [("s1", Cause::Lost, Fate::Stopped), ("a1", Cause::Lost, Fate::Moved)]);
    let to = out.displaced[1].to.as_ref().expect("a successor");
    assert!(["aa22", "bb33"].contains(&to.node_id.as_str()), "{to:?}");
    assert_eq!((out.count(None, Fate::Moved), out.count(Some(Cause::Drained), Fate::Moved)), (1, 0));
    assert!(out.unplaced.iter().all(|u| u.owner.job_id != "web"), "{:?}", out.unplaced);
}

#[test]
fn what_finds_no_node_is_counted_by_group() {
    let state = cluster();
    let out = outcome(&state, &[Change::Down(Nodes::Pool("default".into()))]);
    let fates: Vec<Fate> = out.displaced.iter().map(|d| d.fate).collect();
    assert_eq!(fates, [Fate::Stopped, Fate::Unplaced]);
    let unplaced: Vec<_> = out.unplaced.iter().map(|u| (u.owner.job_id.as_str(), u.count, u.waited)).collect();
    assert_eq!(unplaced, [("web", 1, false)]);
    assert!(out.falls_short());
    // 600 of 1000 MHz each: one per node.
    let out = outcome(&state, &[Change::Scale { job: "web".into(), group: "g".into(), count: 5 }]);
    assert_eq!((out.displaced.len(), out.placed.len(), out.unplaced[0].count), (0, 2, 2));
}

/// Allocations of system jobs stay; for all others it is the drain that what-if knows.
#[test]
fn a_drain_may_leave_system_jobs_alone() {
    let mut state = cluster();
    let small = job(
        "small",
        JobType::Service,
        json!({"TaskGroups": [{"Name": "g", "Count": 1, "EphemeralDisk": {"SizeMB": 10},
        "Tasks": [{"Name": "t", "Driver": "exec", "Resources": {"CPU": 100, "MemoryMB": 10}}]}]}),
    );
    state.upsert_job(small.clone());
    state.upsert_allocs([alloc("a2", &small, "aa11", 100)]);
    let fates = |out: &Outcome| -> Vec<(String, Fate, Option<String>)> {
        let node = |d: &super::Displaced| d.to.as_ref().map(|p| p.node_id.clone());
        out.displaced.iter().map(|d| (d.from.alloc_id.clone(), d.fate, node(d))).collect()
    };
    let (mut all, mut alone) =
        (fates(&outcome(&state, &[Change::Drain(one("n1"))])), fates(&drain(&state, "aa11", NOW).expect("a node")));
    assert_eq!(
        (all.remove(1), alone.remove(1)),
        (("s1".into(), Fate::Stopped, None), ("s1".into(), Fate::Stays, None))
    );
    assert_eq!(all, alone);
    assert!(all.iter().all(|(_, fate, _)| *fate == Fate::Moved) && all.len() == 2, "{all:?}");
    let unknown = drain(&state, "aa", NOW).unwrap_err().to_string();
    assert_eq!(unknown, "-drain \"aa\": no node has this ID");
}

#[test]
fn batch_work_ends_with_a_drain_and_stopped_jobs_are_gone() {
    let mut state = cluster();
    let batch = job("nightly", JobType::Batch, json!({}));
    state.upsert_job(batch.clone());
    state.upsert_allocs([alloc("b1", &batch, "bb33", 600)]);
    let out = outcome(&state, &[Change::Drain(one("n3"))]);
    let reported: Vec<_> = out.displaced.iter().map(|d| (d.from.alloc_id.as_str(), d.cause, d.fate)).collect();
    assert_eq!(reported, [("b1", Cause::Drained, Fate::Stopped)]);
    let out = outcome(&state, &[Change::Stop("web".into())]);
    let reported: Vec<_> = out.displaced.iter().map(|d| (d.from.alloc_id.as_str(), d.cause, d.fate)).collect();
    assert_eq!(reported, [("a1", Cause::Stopped, Fate::Stopped)]);
}

/// Allocations that an urgent job displaces count as preempted, and move if there is capacity.
#[test]
fn preempted_allocations_name_their_cause() {
    let mut state = cluster();
    let vip = json!({"Priority": 90, "TaskGroups": [{"Name": "g", "Count": 0, "EphemeralDisk": {"SizeMB": 10},
        "Constraints": [{"LTarget": "${attr.unique.hostname}", "RTarget": "n1", "Operand": "="}],
        "Tasks": [{"Name": "t", "Driver": "exec", "Resources": {"CPU": 600, "MemoryMB": 100}}]}]});
    state.upsert_job(job("vip", JobType::Service, vip));
    let config = Change::Config { key: "preemption_config.service_scheduler_enabled".into(), value: "true".into() };
    let out = outcome(&state, &[config, Change::Scale { job: "vip".into(), group: "g".into(), count: 1 }]);
    let reported: Vec<_> = out.displaced.iter().map(|d| (d.from.alloc_id.as_str(), d.cause, d.fate)).collect();
    assert_eq!(reported, [("a1", Cause::Preempted, Fate::Moved)]);
    let placed: Vec<_> = out.placed.iter().map(|p| (p.owner.job_id.as_str(), p.on.node_id.as_str())).collect();
    assert!(placed.contains(&("vip", "aa11")), "{placed:?}");
    let before = out.headroom.iter().find(|p| p.pool == "default").map(|p| (p.before.nodes, p.before.cpu_free));
    assert_eq!(before, Some((3, 3000 - 600 - 100)));
}

//! `job plan -rollout` against what really happens: jobs of all update shapes on a running agent, whose evaluations have
//! to make the predicted steps in the predicted order (`docs/spec/cli.md §7.8`).
//!
//! `ENCAMP_ROLLOUT_SHAPES=n`: more shapes than the first 12, at most all.

use std::time::Duration;

use encamp_test_support::tier;
use serde_json::{Value, json};

use crate::agent::{Agent, wait_for};
use crate::program::{Folder, run_in};

/// A group before and after the update.
#[derive(Debug, Clone, Copy)]
struct Group {
    before: i64,
    after: i64,
    max_parallel: i64,
    canary: i64,
}

const fn group(before: i64, after: i64, max_parallel: i64, canary: i64) -> Group {
    Group { before, after, max_parallel, canary }
}

/// How a job is updated.
#[derive(Debug, Clone, Copy)]
struct Shape {
    name: &'static str,
    kind: &'static str,
    groups: &'static [Group],
    auto_promote: bool,
    /// The tasks change, so that allocations are replaced.
    replaces: bool,
}

const fn shape(name: &'static str, groups: &'static [Group], auto_promote: bool) -> Shape {
    Shape { name, kind: "service", groups, auto_promote, replaces: true }
}

const SHAPES: &[Shape] = &[
    shape("one-by-one", &[group(3, 3, 1, 0)], false),
    shape("pairs", &[group(5, 5, 2, 0)], false),
    shape("all", &[group(3, 3, 3, 0)], false),
    shape("no-deployment", &[group(3, 3, 0, 0)], false),
    shape("canary", &[group(3, 3, 1, 1)], true),
    shape("canary-by-hand", &[group(3, 3, 1, 1)], false),
    shape("blue-green", &[group(3, 3, 3, 3)], true),
    shape("grows", &[group(2, 5, 1, 0)], false),
    shape("shrinks", &[group(5, 2, 1, 0)], false),
    Shape { replaces: false, ..shape("only-grows", &[group(2, 4, 1, 0)], false) },
    shape("two-groups", &[group(2, 2, 1, 0), group(3, 3, 1, 0)], false),
    Shape { kind: "system", ..shape("system", &[group(1, 1, 1, 0)], false) },
    shape("new", &[group(0, 3, 1, 0)], false),
    shape("canaries-by-hand", &[group(4, 4, 2, 2)], false),
    shape("blue-green-by-hand", &[group(2, 2, 2, 2)], false),
    shape("more-parallel-than-there-are", &[group(2, 2, 5, 0)], false),
    shape("canary-and-growth", &[group(2, 4, 2, 1)], true),
    shape("canary-and-shrinking", &[group(4, 2, 2, 1)], true),
    shape("large-batches", &[group(6, 6, 4, 0)], false),
    shape("to-one", &[group(3, 1, 1, 0)], false),
    shape("from-one", &[group(1, 3, 1, 0)], false),
    shape("more-canaries-than-there-are", &[group(2, 2, 1, 3)], true),
    shape("group-with-canary-and-one-without", &[group(2, 2, 1, 1), group(2, 2, 2, 0)], true),
    shape("two-canaries-by-hand", &[group(2, 2, 1, 1), group(2, 2, 1, 1)], false),
    shape("no-deployment-shrinks", &[group(4, 1, 0, 0)], false),
    Shape { replaces: false, ..shape("only-shrinks", &[group(4, 2, 1, 0)], false) },
    Shape { replaces: false, ..shape("nothing", &[group(2, 2, 1, 0)], false) },
    Shape { kind: "batch", ..shape("batch", &[group(3, 3, 0, 0)], false) },
    shape("threes", &[group(7, 7, 3, 0)], false),
    shape("canary-of-one", &[group(1, 1, 1, 1)], true),
];

/// The shapes of this run.
fn shapes() -> &'static [Shape] {
    let wanted = tier::rounds("ENCAMP_ROLLOUT_SHAPES", 4, 12);
    &SHAPES[..SHAPES.len().min(wanted)]
}

/// A version of the job.
fn job(shape: &Shape, second: bool) -> Value {
    let text = if second && shape.replaces { "two" } else { "one" };
    let group = |(n, g): (usize, &Group)| {
        let mut group = json!({
            "Name": format!("g{n}"), "Count": if second { g.after } else { g.before },
            "EphemeralDisk": {"SizeMB": 150},
            "Tasks": [{
                "Name": "t", "Driver": "mock_driver", "Config": {"run_for": "1h"}, "Env": {"VERSION": text},
                "Resources": {"CPU": 10, "MemoryMB": 10},
            }],
        });
        if shape.kind != "batch" {
            group["Update"] = json!({
                "MaxParallel": g.max_parallel, "Canary": g.canary, "AutoPromote": shape.auto_promote && g.canary > 0,
                "HealthCheck": "task_states", "MinHealthyTime": 200_000_000, "HealthyDeadline": 60_000_000_000_u64,
                "ProgressDeadline": 120_000_000_000_u64,
            });
        }
        group
    };
    let groups: Vec<Value> = shape.groups.iter().enumerate().map(group).collect();
    json!({"ID": shape.name, "Name": shape.name, "Type": shape.kind, "Datacenters": ["*"], "TaskGroups": groups})
}

/// What a step does to a group: placed, canaries, stopped, updated.
type Counts = (u64, u64, u64, u64);

/// The groups that a step changes.
type Step = Vec<(String, Counts)>;

/// The predicted steps.
fn predicted(rollout: &Value) -> Vec<Step> {
    let n = |g: &Value, key: &str| g[key].as_u64().unwrap_or(0);
    let of_step = |step: &Value| -> Step {
        let groups = step["Groups"].as_object().into_iter().flatten();
        let counts = |g: &Value| (n(g, "Placed"), n(g, "Canaries"), n(g, "Stopped"), n(g, "Updated"));
        let all = groups.map(|(name, g)| (name.clone(), counts(g)));
        all.filter(|(_, counts)| *counts != (0, 0, 0, 0)).collect()
    };
    rollout["Steps"].as_array().expect("steps").iter().map(of_step).filter(|s| !s.is_empty()).collect()
}

/// The steps that the evaluations of a job made since an index: new allocations are counted, the rest is what the
/// evaluations say.
fn made(agent: &Agent, job: &str, since: u64) -> Vec<Step> {
    let n = |g: &Value, key: &str| g[key].as_u64().unwrap_or(0);
    let mut allocs = agent.list(&format!("/v1/job/{job}/allocations"));
    allocs.retain(|a| a["CreateIndex"].as_u64() > Some(since));
    let mut evals = agent.list(&format!("/v1/job/{job}/evaluations"));
    evals.retain(|e| e["CreateIndex"].as_u64() > Some(since));
    evals.sort_by_key(|e| e["ModifyIndex"].as_u64());
    let of_eval = |e: &Value| -> Step {
        let groups = e["PlanAnnotations"]["DesiredTGUpdates"].as_object().into_iter().flatten();
        let counts = |(name, g): (&String, &Value)| {
            let of_group = |a: &&Value| a["EvalID"] == e["ID"] && a["TaskGroup"] == name.as_str();
            let placed = allocs.iter().filter(of_group).count() as u64;
            // More canaries than allocations are annotated as many, although no more are placed at a time.
            let canaries = n(g, "Canary").min(placed);
            let stopped = n(g, "Stop") + n(g, "DestructiveUpdate") + n(g, "Migrate");
            (name.clone(), (placed, canaries, stopped, n(g, "InPlaceUpdate")))
        };
        groups.map(counts).filter(|(_, counts)| *counts != (0, 0, 0, 0)).collect()
    };
    evals.iter().map(of_eval).filter(|s| !s.is_empty()).collect()
}

/// The one step of a job on a single node, from its allocations: the annotations of system jobs count differently.
fn made_on_one_node(agent: &Agent, job: &str, since: u64) -> Vec<Step> {
    let allocs = agent.list(&format!("/v1/job/{job}/allocations"));
    let (new, old): (Vec<&Value>, Vec<&Value>) =
        allocs.iter().partition(|a| a["CreateIndex"].as_u64().unwrap_or(0) > since);
    let stopped = old.iter().filter(|a| a["DesiredStatus"] == "stop").count();
    vec![vec![("g0".into(), (new.len() as u64, 0, stopped as u64, 0))]]
}

/// Whether all evaluations of a job are processed and its deployments have ended; promotes canaries.
fn settled(agent: &Agent, job: &str) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    for e in agent.list(&format!("/v1/job/{job}/evaluations")) {
        open.extend((e["Status"] == "pending").then(|| e.to_string()));
    }
    for d in agent.list(&format!("/v1/job/{job}/deployments")) {
        if d["Status"] != "running" {
            continue;
        }
        open.push(d.to_string());
        if d["StatusDescription"].as_str().is_some_and(|s| s.contains("requires manual promotion")) {
            // It is refused until the canaries are healthy.
            let path = format!("/v1/deployment/promote/{}", d["ID"].as_str().unwrap_or_default());
            agent.send("PUT", &path, &json!({"DeploymentID": d["ID"], "All": true}));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(open.join("\n")) }
}

fn register(agent: &Agent, job: &Value) -> u64 {
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(reply.status, 200, "{job}: {}", reply.body);
    reply.json()["JobModifyIndex"].as_u64().expect("an index")
}

#[test]
fn rollouts_go_as_predicted() {
    let folder = Folder::new("rollout");
    let agent = Agent::start(&folder, "plugin \"mock_driver\" {\n}\n", &["-dev"]);
    wait_for("the node", || if agent.list("/v1/nodes").is_empty() { Err("no node".into()) } else { Ok(()) });
    let exists = |s: &&Shape| s.groups.iter().any(|g| g.before > 0);
    for shape in shapes().iter().filter(exists) {
        register(&agent, &job(shape, false));
    }
    for shape in shapes().iter().filter(exists) {
        wait_for(&format!("{} runs", shape.name), || settled(&agent, shape.name));
    }
    let address = format!("-address={}", agent.address());
    for shape in shapes() {
        let name = format!("{}.json", shape.name);
        let second = job(shape, true);
        folder.file(&name, second.to_string());
        let ran = run_in(folder.path(), &["job", "plan", &address, "-rollout", "-json", "-json-output", &name]);
        let plan: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
        let rollout = &plan["Rollout"];
        assert_eq!(rollout["End"]["Status"], "complete", "{}: {rollout}", shape.name);

        let since = register(&agent, &second).saturating_sub(1);
        wait_for(&format!("{} is rolled out", shape.name), || settled(&agent, shape.name));
        let want = predicted(rollout);
        let made = if shape.kind == "system" { made_on_one_node } else { made };
        assert_eq!(made(&agent, shape.name, since), want, "{}: {rollout}", shape.name);
        let at_least = Duration::from_nanos(rollout["Duration"].as_u64().expect("a duration"));
        assert!(at_least < Duration::from_secs(30), "{}: {at_least:?}", shape.name);
    }
}

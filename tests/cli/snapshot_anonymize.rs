//! Anonymous snapshots: the same plans, and nothing left of names and secrets.

use crate::recorded;
use crate::scheduler_cases;
use encamp_test_support::tier;
use std::collections::BTreeSet;
use std::path::Path;

use encamp_cli::snapshot_anonymize::judge;
use encamp_model::{Allocation, Job};
use encamp_plan::dry_run;
use encamp_sim::cluster::{ClusterOptions, EPOCH, cluster};
use encamp_snapshot::anonymize::conditions::Judge;
use encamp_snapshot::anonymize::names::Kind;
use encamp_snapshot::anonymize::{Anonymizer, Options};
use encamp_snapshot::file::{SnapshotFile, into_state};
use encamp_snapshot::{read, unload::to_file};
use encamp_state::State;
use serde_json::Value;

/// A synthetic cluster.
fn synthetic(nodes: usize, allocs: usize, seed: u64) -> SnapshotFile {
    let made = cluster(&ClusterOptions { nodes, allocs, seed, now: EPOCH }).unwrap();
    to_file(&into_state(made.into_file()).unwrap())
}

fn fixture(name: &str) -> SnapshotFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    to_file(&read(&std::fs::read(path).unwrap(), name).unwrap())
}

fn state(file: &SnapshotFile) -> State {
    let copy: SnapshotFile = serde_json::from_value(serde_json::to_value(file).unwrap()).unwrap();
    into_state(copy).unwrap().state
}

/// A job as it could be registered next: unchanged, larger, and as a new version.
fn variants(job: &Job) -> Vec<Job> {
    let mut larger = job.clone();
    larger.task_groups.iter_mut().for_each(|g| g.count += 3);
    let mut changed = larger.clone();
    for resources in changed.task_groups.iter_mut().flat_map(|g| &mut g.tasks).filter_map(|t| t.resources.as_mut()) {
        resources.memory_mb += 7;
    }
    let mut huge = job.clone();
    for resources in huge.task_groups.iter_mut().flat_map(|g| &mut g.tasks).filter_map(|t| t.resources.as_mut()) {
        resources.memory_mb = 1 << 40;
    }
    huge.task_groups.iter_mut().for_each(|g| g.count += 1);
    let mut variants = vec![job.clone(), larger, changed, huge];
    variants.iter_mut().for_each(|j| j.stop = false);
    variants
}

/// What a search for nodes found, with names that can be replaced replaced and the others distinguished by their counts alone.
fn metrics(a: &mut Anonymizer, original: bool, metrics: &encamp_model::AllocMetric) -> Value {
    let mut value = serde_json::to_value(metrics).unwrap();
    let object = value.as_object_mut().unwrap();
    object.remove("AllocationTime");
    let mut counts = |key: &str, kind: Option<Kind>| {
        let Some(Value::Object(map)) = object.get(key).cloned() else { return };
        let mut out: Vec<(String, Value)> = map
            .into_iter()
            .map(|(name, n)| match kind {
                Some(kind) if original => (a.names().name(kind, &name), n),
                Some(_) => (name, n),
                None => (String::new(), n),
            })
            .collect();
        out.sort_by_key(|(name, n)| (name.clone(), n.to_string()));
        object.insert(key.into(), serde_json::to_value(out).unwrap());
    };
    counts("NodesAvailable", Some(Kind::Datacenter));
    counts("ClassFiltered", Some(Kind::Class));
    counts("ClassExhausted", Some(Kind::Class));
    counts("ResourcesExhausted", Some(Kind::Task));
    counts("ConstraintFiltered", None);
    counts("DimensionExhausted", None);
    if original {
        let pool = object["NodePool"].as_str().unwrap_or_default().to_string();
        object.insert("NodePool".into(), a.names().name(Kind::Pool, &pool).into());
        for node in object["ScoreMetaData"].as_array_mut().into_iter().flatten() {
            let id = node["NodeID"].as_str().unwrap().to_string();
            node["NodeID"] = a.names().id(&id).into();
        }
        // Scores by node ID.
        if let Some(Value::Object(scores)) = object.get("Scores").cloned() {
            let renamed = scores.into_iter().map(|(key, score)| match key.split_once('.') {
                Some((node, rest)) => (format!("{}.{rest}", a.names().id(node)), score),
                None => (key, score),
            });
            object.insert("Scores".into(), Value::Object(renamed.collect()));
        }
    }
    value
}

/// An allocation of a plan. What an earlier search found is not kept, so only new ones have metrics.
fn placed(a: &mut Anonymizer, original: bool, state: &State, alloc: &Allocation) -> Value {
    let (mut bare, mut found) = (alloc.clone(), alloc.metrics.clone());
    if state.alloc(&alloc.id).is_some() {
        found = None;
    }
    bare.job = None;
    bare.metrics = None;
    let bare = a_or(a, original, &bare);
    let metrics = found.map(|m| metrics(a, original, &m.unpack()));
    serde_json::json!([serde_json::to_value(bare).unwrap(), metrics])
}

/// The allocation with everything replaced if it is an original one. What only replacing drops is dropped of both.
fn a_or(a: &mut Anonymizer, original: bool, alloc: &Allocation) -> Allocation {
    let mut alloc = if original { a.allocation(alloc).unwrap() } else { alloc.clone() };
    alloc.desired_description = Default::default();
    alloc.client_description = Default::default();
    alloc
}

/// Everything a plan says.
fn planned(a: &mut Anonymizer, original: bool, file_state: &State, job: &Job, now: i64) -> Value {
    let run = match dry_run(file_state, job, now) {
        Ok(run) => run,
        Err(_) => return Value::from("error"),
    };
    let mut list = |map: &std::collections::BTreeMap<String, Vec<std::sync::Arc<Allocation>>>| {
        let mut out: Vec<Value> = map.values().flatten().map(|x| placed(a, original, file_state, x)).collect();
        out.sort_by_key(Value::to_string);
        out
    };
    let lists = [list(&run.plan.node_allocation), list(&run.plan.node_update), list(&run.plan.node_preemptions)];
    let mut group = |name: &str| if original { a.names().name(Kind::Group, name) } else { name.to_string() };
    let updates: Vec<_> = run
        .plan
        .annotations
        .iter()
        .flat_map(|x| &x.desired_tg_updates)
        .map(|(g, u)| (group(g), serde_json::to_value(u).unwrap()))
        .collect();
    let queued: Vec<_> = run.eval.queued_allocations.iter().map(|(g, n)| (group(g), *n)).collect();
    let failed: Vec<_> = run
        .failed_tg_allocs()
        .iter()
        .map(|(g, m)| (if original { a.names().name(Kind::Group, g) } else { g.clone() }, metrics(a, original, m)))
        .collect();
    serde_json::json!({
        "Lists": lists,
        "Updates": updates,
        "Queued": queued,
        "Failed": failed,
        "Status": run.eval.status,
        "Deployment": run.plan.deployment.map(|d| (d.status, d.task_groups.len())),
        "Created": run.created_evals.len(),
    })
}

/// How many allocations the plans of a cluster place: those of all jobs, before and after, have to agree.
fn same_plans(file: &SnapshotFile, options: &Options) -> usize {
    let judge: Judge = judge();
    let mut a = Anonymizer::new(file, options, &judge).unwrap();
    let anonymous = a.file(file).unwrap();
    let (before, after) = (state(file), state(&anonymous));
    let now = file.taken_at.unix_nanos().unwrap_or(EPOCH);
    let mut placements = 0;
    let current: Vec<Job> = before.jobs().map(|j| j.current.as_ref().clone()).collect();
    for job in current {
        for variant in variants(&job) {
            let want = planned(&mut a, true, &before, &variant, now);
            let renamed = a.job(&variant).unwrap();
            let got = planned(&mut a, false, &after, &renamed, now);
            if got != want {
                let (got, want) = (pretty(&got), pretty(&want));
                let first = got.lines().zip(want.lines()).find(|(g, w)| g != w);
                panic!("job {}: {first:#?}", job.id);
            }
            placements += got["Lists"][0].as_array().map_or(0, Vec::len);
        }
    }
    placements
}

fn pretty(v: &Value) -> String {
    serde_json::to_string_pretty(v).unwrap()
}

#[test]
fn plans_of_synthetic_clusters_stay_the_same() {
    for seed in 1..=tier::rounds("ENCAMP_ANONYMISED_CLUSTERS", 1, 4) {
        let file = synthetic(60, 400, seed);
        let placements = same_plans(&file, &Options { seed, ..Options::default() });
        assert!(placements > 100, "{placements} placements");
    }
}

#[test]
fn plans_stay_the_same_whatever_names_are_kept() {
    let file = if tier::is_full() { synthetic(40, 250, 9) } else { synthetic(20, 60, 9) };
    for keep in
        [vec![Kind::Datacenter, Kind::Pool], vec![Kind::Group, Kind::Class], vec![Kind::Value], vec![Kind::Meta]]
    {
        same_plans(&file, &Options { seed: 5, keep });
    }
}

#[test]
fn plans_of_the_fixtures_stay_the_same() {
    for name in ["demo/cluster.json", "preemption/cluster.json"] {
        same_plans(&fixture(name), &Options::default());
    }
}

/// The conditions that renaming alone would break.
const CONDITIONS: &[(&str, &str, &str)] = &[
    ("${meta.rack}", "regexp", "^acme-r[12]$"),
    ("${meta.rack}", "=", "acme-r1"),
    ("${meta.rack}", "!=", "acme-r2"),
    ("${meta.rack}", ">", "acme-r1"),
    ("${meta.rack}", "set_contains_any", "acme-r3, acme-r1"),
    ("${meta.size}", "<", "30"),
    ("${meta.release}", "version", ">= 2.1"),
    ("${meta.release}", "semver", ">= 2.1.0"),
    ("${attr.unique.hostname}", "regexp", "secrethost-[0-3]"),
    ("${node.unique.name}", "=", "${attr.unique.hostname}"),
    ("${node.unique.id}", "!=", "n3"),
    ("${node.datacenter}", "=", "${meta.dc}"),
    ("${node.class}", "regexp", "green"),
    ("${attr.acme.os}", "=", "${attr.kernel.name}"),
    ("${attr.kernel.version}", "version", "> 4.0"),
    ("${attr.unique.network.ip-address}", "=", "203.0.113.2"),
    ("${meta.rack}", "is_set", ""),
    ("${meta.absent}", "is_not_set", ""),
    ("${env.whatever}", "!=", "something"),
    ("${meta.rack}", "distinct_property", "2"),
    ("", "distinct_hosts", "true"),
];

/// Eight nodes that differ in everything conditions ask for.
fn conditional(condition: (&str, &str, &str)) -> SnapshotFile {
    let nodes: Vec<Value> = (0..8)
        .map(|i| {
            serde_json::json!({
                "ID": format!("n{i}"), "Name": format!("secrethost-{}", i + i / 5), "Status": "ready",
                "Datacenter": format!("berlin-{}", i % 2), "NodeClass": if i % 3 == 0 { "evergreen" } else { "crimson" },
                "SchedulingEligibility": "eligible", "Drivers": {"exec": {"Detected": true, "Healthy": true}},
                "Attributes": {
                    "kernel.name": "linux", "kernel.version": format!("{}.1", 3 + i), "unique.hostname": format!("secrethost-{i}"),
                    "acme.os": if i % 2 == 0 { "linux" } else { "acmeos" },
                    "unique.network.ip-address": format!("203.0.113.{i}"),
                },
                "Meta": {"rack": format!("acme-r{}", i % 4), "size": (i * 10).to_string(), "release": format!("2.{i}.0"),
                    "dc": "berlin-1"},
                "NodeResources": {"Cpu": {"CpuShares": 4000, "TotalCpuCores": 4}, "Memory": {"MemoryMB": 8000},
                    "Disk": {"DiskMB": 90000}},
            })
        })
        .collect();
    let (left, operand, right) = condition;
    let condition = serde_json::json!({"LTarget": left, "Operand": operand, "RTarget": right, "Weight": 50});
    let mut group = serde_json::json!({
        "Name": "frontend", "Count": 5, "Tasks": [{"Name": "server", "Driver": "exec", "Config": {"command": "/opt/acme"},
            "Resources": {"CPU": 100, "MemoryMB": 100}}],
        "Spreads": [{"Attribute": "${meta.rack}", "Weight": 50, "SpreadTarget": [{"Value": "acme-r1", "Percent": 70}]}],
    });
    let kind = if operand.starts_with("distinct") || left.len() % 2 == 0 { "Constraints" } else { "Affinities" };
    group[kind] = serde_json::json!([condition]);
    let job = serde_json::json!({"ID": "acmeweb", "Namespace": "default", "Type": "service", "Datacenters": ["berlin-*"],
        "NodePool": "default", "TaskGroups": [group]});
    let text = serde_json::json!({"Version": 1, "Index": 5, "Nodes": nodes, "Jobs": [job]}).to_string();
    let mut snapshot = to_file(&read(text.as_bytes(), "made").unwrap());
    snapshot.nodes.iter_mut().for_each(|n| n.computed_class = n.compute_class());
    snapshot
}

#[test]
fn every_kind_of_condition_holds_on_the_same_nodes() {
    for condition in CONDITIONS {
        let file = conditional(*condition);
        same_plans(&file, &Options::default());
        let left = leaks(&file);
        assert!(left.is_empty(), "{condition:?}: {left:?}");
    }
}

/// Members whose texts are names or secrets, wherever they are.
const TELLING: &[&str] = &[
    "ID",
    "Name",
    "JobID",
    "NodeID",
    "NodeName",
    "TaskGroup",
    "Datacenter",
    "Datacenters",
    "NodeClass",
    "SecretID",
    "HTTPAddr",
    "Namespace",
    "IP",
    "Address",
    "HostIP",
    "EmbeddedTmpl",
    "SourcePath",
    "DestPath",
    "GetterSource",
    "RelativeDest",
    "Label",
    "PortLabel",
    "Tags",
    "Source",
    "Destination",
    "User",
    "Payload",
    "Role",
    "ExternalID",
    "PluginID",
    "NomadTokenID",
    "Description",
    "EvalID",
    "DeploymentID",
    "Args",
    "Command",
    "Path",
    "RTarget",
    "ParentID",
    "CIDR",
    "MacAddress",
    "Notes",
    "Body",
    "Audience",
    "StatusDescription",
    "DisplayMessage",
    "Message",
    "Gateway",
];
/// Maps of which every value is one.
const TELLING_MAPS: &[&str] =
    &["Env", "Config", "Meta", "Secrets", "Parameters", "Context", "GetterOptions", "GetterHeaders", "Links"];
/// Maps of which every key is one.
const NAMED_MAPS: &[&str] =
    &["Env", "Meta", "Volumes", "HostVolumes", "CSINodePlugins", "TaskStates", "Tasks", "HostNetworks"];

/// The telling texts of a value.
fn telling(value: &Value, inside: bool, out: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if inside => {
            out.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| telling(item, inside, out)),
        Value::Object(object) => {
            for (name, value) in object {
                let name = name.as_str();
                if NAMED_MAPS.contains(&name) {
                    out.extend(value.as_object().into_iter().flat_map(|m| m.keys().cloned()));
                }
                if name == "Attributes" {
                    let unique = value.as_object().into_iter().flatten().filter(|(k, _)| k.starts_with("unique."));
                    out.extend(unique.filter_map(|(_, v)| v.as_str().map(str::to_string)));
                } else {
                    telling(value, inside || TELLING.contains(&name) || TELLING_MAPS.contains(&name), out);
                }
            }
        }
        _ => {}
    }
}

/// All texts of a value, keys included.
fn texts(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(out.insert(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            out.insert(key.clone());
            texts(value, out);
        }),
        _ => {}
    }
}

/// The telling texts that survive, as a whole or within another text.
fn leaks(file: &SnapshotFile) -> Vec<String> {
    let judge = judge();
    let anonymous = encamp_snapshot::anonymize::anonymize(file, &Options::default(), &judge).unwrap();
    let (original, anonymous) = (serde_json::to_value(file).unwrap(), serde_json::to_value(&anonymous).unwrap());
    let (mut secret, mut left) = (BTreeSet::new(), BTreeSet::new());
    telling(&original, false, &mut secret);
    texts(&anonymous, &mut left);
    // What everybody has: words of the API, and what hardware and systems are called.
    let mut harmless = BTreeSet::new();
    for node in &file.nodes {
        for device in node.node_resources.iter().flat_map(|r| &r.devices) {
            harmless.extend([device.vendor.clone(), device.r#type.clone(), device.name.clone()]);
            harmless.insert(format!("{}/{}", device.vendor, device.r#type));
            harmless.insert(format!("{}/{}/{}", device.vendor, device.r#type, device.name));
        }
        harmless.extend(node.attributes.get("kernel.name").cloned());
        harmless.extend(node.attributes.get("cpu.arch").cloned());
    }
    let known = |text: &str| encamp_snapshot::anonymize::is_harmless(text) || harmless.contains(text);
    // Numbers and versions, units and harmless words; not addresses and long numbers.
    let plain = |text: &str| {
        let words = text.split(|c: char| !c.is_alphabetic()).filter(|w| w.len() > 3);
        let digits = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
        text.parse::<std::net::IpAddr>().is_err() && digits < 7 && words.into_iter().all(known)
    };
    let reference = |text: &str| text.starts_with("${") && text.split(['.', '{', '}', '$']).all(known);
    let own = |text: &String| known(text) || plain(text) || reference(text);
    secret.retain(|text| text.len() > 3 && !own(text));
    secret.into_iter().filter(|text| left.iter().any(|l| l == text || (text.len() > 7 && l.contains(text)))).collect()
}

/// The states of the recorded scheduler cases.
#[test]
fn recorded_clusters_plan_alike_and_nothing_telling_is_left() {
    let Some(folder) = recorded::folder("scheduler") else { return };
    let (mut placements, mut cases) = (0, 0);
    for (_, lines) in scheduler_cases::families(&folder) {
        // Every case is some variation of its family; two of each will do.
        let step = (lines.len() / 4).max(1);
        for line in lines.iter().step_by(step).take(if tier::is_full() { 2 } else { 1 }) {
            let case = scheduler_cases::parse_case(line).unwrap();
            let state = case.input.state();
            let taken_at = encamp_model::Time::from_unix_nanos(case.now);
            let state = State::clone(&state);
            let mut snapshot = into_state(SnapshotFile::default()).unwrap();
            (snapshot.state, snapshot.taken_at) = (state, taken_at);
            let file = to_file(&snapshot);
            placements += same_plans(&file, &Options::default());
            let left = leaks(&file);
            assert!(left.is_empty(), "{}: {left:?}", case.name);
            cases += 1;
        }
    }
    assert!(cases > 20 && placements > cases, "{cases} cases, {placements} placements");
}

#[test]
fn nothing_telling_is_left() {
    for file in [fixture("demo/cluster.json"), fixture("preemption/cluster.json"), synthetic(60, 400, 2)] {
        let left = leaks(&file);
        assert!(left.is_empty(), "{left:?}");
    }
}

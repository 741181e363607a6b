//! The JSON schemas of `docs/reference` against what the program prints.

use crate::oracle;
use crate::schema;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::cluster::{Cluster, serve};
use crate::program::{Folder, run_in, run_with};
use crate::schema::Schema;
use crate::server::Response;
use serde_json::{Value, json};

/// What is printed by schema file.
type Samples = BTreeMap<&'static str, Vec<Value>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// What the program prints when it is run in a folder, and does not fail.
fn printed(folder: &Path, args: &[&str]) -> Value {
    let ran = run_in(folder, args);
    assert!((0..=1).contains(&ran.exit), "{args:?}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", ran.stdout))
}

/// Everything that needs no cluster but files.
fn from_files(samples: &mut Samples) {
    let mut add = |schema, folder: &Path, args: &[&str]| samples.entry(schema).or_default().push(printed(folder, args));
    let demo = root().join("fixtures/demo");
    let preemption = root().join("fixtures/preemption");
    let cluster = ["-snapshot", "cluster.json"];

    for flags in [&["-drain=dc1-general-01"][..], &["-down=dc=dc2", "-scale=web/front=12"], &["-stop=api"]] {
        add("what-if.schema.json", &demo, &[&["what-if", "-json"], &cluster[..], flags].concat());
    }
    for flags in [&["registered/api.hcl"][..], &["-survive=1 dc", "-add=1:like=dc1-gpu-10", "registered/web.hcl"]] {
        add("capacity.schema.json", &demo, &[&["capacity", "-json-output"], &cluster[..], flags].concat());
    }
    for (folder, flags) in [
        (&demo, &["trainer-fails.hcl"][..]),
        (&demo, &["-explain", "trainer-fails.hcl"]),
        (&demo, &["-diagnostics=json", "registered/web.hcl"]),
        (&demo, &["-rollout", "trainer-fails.hcl"]),
        (&demo, &["-rollout", "web-canary.hcl"]),
        (&demo, &["-explain", "api-destructive.hcl"]),
        (&demo, &["-explain=dc2-gpu-12", "exporter-system.hcl"]),
        (&demo, &["-explain", "-add=2:like=dc1-gpu-10", "trainer-fails.hcl"]),
        (&preemption, &["-explain", "webapp.hcl"]),
        (&preemption, &["-explain=worker-1", "webapp.hcl"]),
    ] {
        add("job-plan.schema.json", folder, &[&["job", "plan", "-json-output"], &cluster[..], flags].concat());
    }
    let laptop = root().join("fixtures/laptop");
    for (folder, snapshot, file) in
        [(&demo, "cluster.json", "trainer-fails.hcl"), (&laptop, "full.json", "index.nomad.hcl")]
    {
        let suggest = ["job", "plan", "-suggest", "-json-output", "-snapshot", snapshot, file];
        let plan = printed(folder, &suggest);
        samples.entry("suggestions.schema.json").or_default().push(plan["Suggestions"].clone());
        samples.entry("job-plan.schema.json").or_default().push(plan);
    }
    let mut add = |schema, folder: &Path, args: &[&str]| samples.entry(schema).or_default().push(printed(folder, args));
    let rejected = ["job", "plan", "-json-output", "-snapshot", "full.json", "index.nomad.hcl"];
    add("job-plan.schema.json", &laptop, &rejected);
    let several = ["trainer-fails.hcl", "api-inplace.hcl", "exporter-system.hcl"];
    for flags in [&[][..], &["-explain"], &["-down=dc=dc2"]] {
        let args = [&["job", "plan", "-json-output"], &cluster[..], flags, &several].concat();
        add("job-plans.schema.json", &demo, &args);
    }
    let clusters = ["-snapshot=demo/cluster.json", "-snapshot=launches/cluster.json", "demo/registered/web.hcl"];
    add(
        "job-plan-clusters.schema.json",
        &root().join("fixtures"),
        &[&["job", "plan", "-json-output"], &clusters[..]].concat(),
    );

    let launches = root().join("fixtures/launches");
    for flags in [
        &["-n=4", "-from=2026-10-23T12:00:00Z", "-duration=24h30m", "registered/backup.hcl"][..],
        &["-n=2", "-from=2026-03-27T12:00:00Z", "registered/backup.hcl"],
        &["-snapshot=cluster.json", "index"],
    ] {
        add("job-launches.schema.json", &launches, &[&["job", "launches", "-json-output"], flags].concat());
    }
    for flags in [&[][..], &["-next=6h", "-duration=index=70m"]] {
        add("launches.schema.json", &launches, &[&["launches", "-json"], &cluster[..], flags].concat());
    }

    let plans = Folder::new("schemas-plans");
    let snapshot = demo.join("cluster.json").display().to_string();
    for file in ["api-destructive.hcl", "api-inplace.hcl", "trainer-fails.hcl"] {
        let job = demo.join(file).display().to_string();
        let out = ["job", "plan", "-out=plan.encamp", "-snapshot", &snapshot, &job];
        assert!((0..=1).contains(&run_in(plans.path(), &out).exit), "{file}");
        add("plan-file.schema.json", plans.path(), &["plan", "show", "-json", "plan.encamp"]);
    }

    let folder = Folder::new("schemas");
    let pools = root().join("fixtures/worker-pools");
    folder.file("pinned.json", crate::autoscale::pinned());
    let pinned = folder.path().join("pinned.json").display().to_string();
    folder.file("protected.json", crate::autoscale::protected());
    let protected = folder.path().join("protected.json").display().to_string();
    for file in ["cluster.json", &pinned, &protected] {
        add("autoscale-plan.schema.json", &pools, &["autoscale", "plan", "-json", "-snapshot", file]);
    }
    let trace = "time_seconds,namespace,job,group,count\n0,,web,front,9\n600,,web,front,40\n3600,,web,front,40\n";
    let trace = folder.file("trace.csv", trace).display().to_string();
    for flags in [&[][..], &["-boot-failures=100"]] {
        let simulate = ["autoscale", "simulate", "-json", "-snapshot=cluster.json", "-trace", &trace];
        add("autoscale-simulate.schema.json", &pools, &[&simulate[..], flags].concat());
    }
    for (file, size) in [("old.json", "-allocs=300"), ("new.json", "-allocs=340")] {
        let sim = ["sim", "cluster", "-nodes=40", "-seed=3", size, "-out", file];
        assert_eq!(run_in(folder.path(), &sim).exit, 0);
        add("snapshot-inspect.schema.json", folder.path(), &["snapshot", "inspect", "-json", file]);
    }
    for file in ["api-inplace.hcl", "registered/api.hcl"] {
        add("job-diff.schema.json", &demo, &[&["job", "diff", "-json-output"], &cluster[..], &[file]].concat());
    }
    for flags in [&["dc1-general-01"][..], &["-survive=dc", "class=general"]] {
        let plan = ["node", "drain", "-plan", "-json"];
        add("drain-plan.schema.json", &demo, &[&plan, &cluster[..], flags].concat());
    }
    for goal in
        [&["-free-nodes=dc1-general-01"][..], &["-fit=trainer-fails.hcl", "-timeout=1s"], &["-spread"], &["-even"]]
    {
        add("rebalance.schema.json", &demo, &[&["rebalance", "-json"], &cluster[..], goal].concat());
        let out = ["rebalance", "-out=rebalance.json", "-snapshot", &snapshot];
        let fit = demo.join("trainer-fails.hcl").display().to_string();
        let goal: Vec<String> = goal.iter().map(|flag| flag.replace("trainer-fails.hcl", &fit)).collect();
        let goal: Vec<&str> = goal.iter().map(String::as_str).collect();
        assert!((0..=1).contains(&run_in(plans.path(), &[&out[..], &goal].concat()).exit), "{goal:?}");
        add("rebalance-file.schema.json", plans.path(), &["rebalance", "show", "-json", "rebalance.json"]);
    }
    add("snapshot-diff.schema.json", folder.path(), &["snapshot", "diff", "-json", "old.json", "new.json"]);
    add("snapshot-diff.schema.json", folder.path(), &["snapshot", "diff", "-json", "old.json", "old.json"]);

    let text = std::fs::read_to_string(demo.join("cluster.json")).unwrap();
    let mut garbage: Value = serde_json::from_str(&text).unwrap();
    let ended = &mut garbage["Allocations"][0];
    (ended["ClientStatus"], ended["DesiredStatus"]) = (json!("complete"), json!("stop"));
    let id = ended["ID"].as_str().unwrap().to_string();
    folder.file("garbage.json", garbage.to_string());
    for flags in [&["-verbose"][..], &["-periodic", "-verbose", "-at=2026-03-02T11:30:00Z"]] {
        let dry_run = ["system", "gc", "-dry-run", "-json", "-snapshot=garbage.json"];
        add("gc-plan.schema.json", folder.path(), &[&dry_run[..], flags].concat());
    }
    for id in ["web", &id] {
        add("gc-explain.schema.json", folder.path(), &["gc", "explain", "-json", "-snapshot=garbage.json", id]);
    }

    let mistakes = root().join("tests/diagnostics");
    for entry in std::fs::read_dir(&mistakes).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".hcl") {
            add("diagnostics.schema.json", &mistakes, &["job", "validate", "-diagnostics=json", &name]);
        }
    }
    add("diagnostics.schema.json", &demo, &["job", "validate", "-diagnostics=json", "registered/api.hcl"]);
    for file in [folder.path().join("new.json"), demo.join("cluster.json")] {
        let text = std::fs::read_to_string(file).unwrap();
        samples.entry("snapshot.schema.json").or_default().push(serde_json::from_str(&text).unwrap());
    }
}

/// What is read from a running cluster: a recorded one. `None` without oracle.
fn from_a_cluster(samples: &mut Samples) -> Option<()> {
    let all = oracle::json("archive/dev-acl.expected.json")?;
    let (server, cluster) = serve(Cluster::recorded("dev-acl")?);
    let folder = Folder::new("schemas-live");
    let cache = folder.path().join("cache").display().to_string();
    let env = [("NOMAD_ADDR", server.address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
    let run = |args: &[&str]| -> Value {
        let ran = run_with(folder.path(), args, &env, None);
        assert_eq!(ran.exit, 0, "{args:?}: {}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let mut fetches = Vec::new();
    for _ in 0..2 {
        fetches.push(run(&["snapshot", "fetch", "-json", "-out=c.json"]));
    }
    cluster.lock().unwrap().failures = vec![("/v1/node/pools".into(), Response::text(403, "Permission denied"))];
    fetches.push(run(&["snapshot", "fetch", "-json", "-out=c.json", "-allow-partial"]));
    assert_eq!(fetches[2]["Missing"].as_array().map(Vec::len), Some(1), "{}", fetches[2]);
    samples.insert("snapshot-fetch.schema.json", fetches);
    let text = std::fs::read_to_string(folder.path().join("c.json")).unwrap();
    samples.entry("snapshot.schema.json").or_default().push(serde_json::from_str(&text).unwrap());

    let report = encamp_model::gc::GcKind::ALL.iter().map(|kind| json!({"Kind": kind, "Count": 3})).collect::<Vec<_>>();
    cluster.lock().unwrap().failures = vec![("/v1/system/gc".into(), Response::json(&json!({"Collected": report})))];
    samples.insert("gc-report.schema.json", vec![run(&["system", "gc", "-wait", "-json"])]);

    let allocations: Vec<Value> = cluster.lock().unwrap().allocations.values().cloned().collect();
    let mut explained = Vec::new();
    for e in all["Evaluations"].as_array().unwrap() {
        let id = e["ID"].as_str().unwrap();
        let made: Vec<&Value> = allocations.iter().filter(|a| a["EvalID"] == id).collect();
        if made.is_empty() && e["FailedTGAllocs"].as_object().is_none_or(|f| f.is_empty()) {
            continue;
        }
        cluster.lock().unwrap().failures = vec![
            (format!("/v1/evaluation/{id}/allocations"), Response::json(&made)),
            (format!("/v1/evaluation/{id}"), Response::json(e)),
        ];
        explained.push(run(&["eval", "explain", "-json", id]));
    }
    assert!(explained.len() > 10, "{} evaluations", explained.len());
    samples.insert("eval-explain.schema.json", explained);
    Some(())
}

#[test]
fn everything_that_is_printed_as_json_is_documented() {
    let mut samples = Samples::new();
    from_files(&mut samples);
    let complete = from_a_cluster(&mut samples).is_some();
    for (file, values) in &samples {
        let schema = load(file);
        for (i, value) in values.iter().enumerate() {
            let problems = schema.problems(value);
            assert!(problems.is_empty(), "{file}, output {i}:\n{}", problems.join("\n"));
        }
        if complete {
            assert_eq!(*schema.used.borrow(), schema.definitions(), "{file}: definitions nothing was printed for");
        }
        println!("{file}: {} outputs, {} definitions", values.len(), schema.definitions().len());
    }
    let files = std::fs::read_dir(schema::folder()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter(|f| f.ends_with(".schema.json")).collect();
    let checked: BTreeSet<String> = samples.keys().map(|f| f.to_string()).collect();
    let unchecked: Vec<&String> = files.difference(&checked).collect();
    assert!(if complete { unchecked.is_empty() } else { unchecked.len() == 3 }, "not checked: {unchecked:?}");
    refused(&samples);
}

fn load(file: &str) -> Schema {
    let mut schema = Schema::load(file);
    schema.open = file == "snapshot.schema.json";
    schema
}

/// Every member of what is printed has rules: it can't be left out, be something else, or get company.
fn refused(samples: &Samples) {
    for (file, values) in samples {
        let schema = load(file);
        let value = values.last().unwrap();
        for name in value.as_object().unwrap().keys() {
            let mut other = value.clone();
            other[name] = json!([[[]]]);
            assert!(!schema.problems(&other).is_empty(), "{file}: {name} may be anything");
        }
        let text = std::fs::read_to_string(schema::folder().join(file)).unwrap();
        let required = serde_json::from_str::<Value>(&text).unwrap()["required"].clone();
        for name in required.as_array().unwrap().iter().map(|n| n.as_str().unwrap()) {
            let mut less = value.clone();
            assert!(less.as_object_mut().unwrap().remove(name).is_some());
            assert!(!schema.problems(&less).is_empty(), "{file}: {name} may be missing");
        }
        let mut more = value.clone();
        more["Surprise"] = json!(1);
        assert_eq!(schema.problems(&more), [".Surprise is not documented"], "{file}");
    }
}

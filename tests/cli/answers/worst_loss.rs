//! `capacity -survive` and `capacity -down`: one can't say that no loss matters while the other one loses copies.

use serde_json::Value;

use crate::program::{Folder, run_in};

const JOB: &str = "job \"probe\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"docker\"\n      config {\n        image = \
                   \"x\"\n      }\n      resources {\n        cpu    = 500\n        memory = 512\n      }\n    }\n  }\n}\n";

fn answer(folder: &Folder, flags: &[&str]) -> Value {
    let args = [&["capacity", "-json-output", "-snapshot", "c.json"], flags, &["probe.nomad.hcl"]].concat();
    let ran = run_in(folder.path(), &args);
    assert!((0..=1).contains(&ran.exit), "{args:?}: {}", ran.stderr);
    serde_json::from_str::<Value>(&ran.stdout).expect("JSON")["Groups"][0].clone()
}

/// More nodes than were tried at all before, most of them of pools that the job may not use, or full.
#[test]
fn the_worst_loss_of_a_large_cluster_is_that_of_a_node_that_the_job_can_use() {
    let folder = Folder::new("worst-loss");
    let sim = ["sim", "cluster", "-nodes", "260", "-allocs", "3000", "-seed", "5", "-out", "c.json"];
    assert_eq!(run_in(folder.path(), &sim).exit, 0);
    folder.file("probe.nomad.hcl", JOB);
    let report = answer(&folder, &["-survive", "1 node", "-exact"]);
    let copies = report["Copies"].as_i64().expect("a number");
    let worst = report["Survival"]["Copies"].as_i64().expect("a number");
    assert!(worst < copies, "{}", report["Survival"]);
    let (tried, of) = (report["Survival"]["Tried"].as_u64(), report["Survival"]["Of"].as_u64());
    assert!(tried > Some(0) && tried <= of, "{}", report["Survival"]);
    let left = |node: &str| answer(&folder, &["-down", node])["Copies"].as_i64().expect("a number");
    assert_eq!(left(report["Survival"]["Lost"].as_str().expect("a node")), worst);
    for node in report["Nodes"].as_array().expect("a list").iter().step_by(60).take(3) {
        let node = node["NodeName"].as_str().expect("a name");
        assert!(left(node) >= worst, "{node}");
    }
    assert_eq!(report["Survival"]["AtLeast"], report["Survival"]["Copies"]);
    assert_eq!(
        (&report["Survival"]["Ended"], &report["Survival"]["Decided"]),
        (&"exact".into(), &report["Survival"]["Of"])
    );
    // With preemption by all jobs the search still ends, with an interval whose ends are in order.
    let evicting = &answer(&folder, &["-survive", "1 node", "-allow-preemptions"])["Survival"];
    assert!(evicting["AtLeast"].as_i64() <= evicting["Copies"].as_i64(), "{evicting}");
    assert!(["exact", "near", "stopped"].map(Value::from).contains(&evicting["Ended"]), "{evicting}");
    let near = answer(&folder, &["-survive", "1 node"]);
    let number = |name: &str| near["Survival"][name].as_i64().expect("a number");
    let (near_worst, at_least) = (number("Copies"), number("AtLeast"));
    assert!((at_least..=near_worst).contains(&worst), "{near}");
    assert!(number("Tried") <= report["Survival"]["Tried"].as_i64().expect("a number"), "{near}");
    // On a busy machine the time may be up first.
    if near["Survival"]["Ended"] != "stopped" {
        assert!(near_worst - at_least <= near_worst / 50, "{near}");
    }
    let left = left(near["Survival"]["Lost"].as_str().expect("a node"));
    assert!(left <= near_worst && (left == near_worst || near["Survival"]["Unplaced"].is_null()), "{near}");
}

//! A plan that the scheduler makes and no server carries out: `index`, reduced to one copy of 300 MHz on the full
//! laptop of the README, is planned as it was. Preemption counts only what other jobs use, so that the plan evicts too
//! little.

use serde_json::Value;

use crate::agent::{Agent, wait_for};
use crate::answers::root;
use crate::program::{Folder, Ran, run_in, run_with};

/// What is said about the scene.
const REJECTED: &str = "Node \"laptop\" (2c624232) rejects 1 allocation of group \"shards\": memory";

fn plan(flags: &[&str], files: &[&str]) -> Ran {
    let args = [&["job", "plan", "-snapshot", "fixtures/laptop/full.json"], flags, files].concat();
    run_in(&root(), &args)
}

#[test]
fn a_plan_that_servers_would_reject_says_which_node_rejects_what() {
    let ran = plan(&["-diff=false"], &["fixtures/laptop/index.nomad.hcl"]);
    let want = format!(
        "Scheduler dry-run:\n- WARNING: The servers would reject a part of this plan.\n  {REJECTED}\n\nPreemptions:\n"
    );
    assert!(ran.stdout.starts_with(&want), "{}", ran.stdout);
    assert!(!ran.stdout.contains("All tasks successfully allocated"), "{}", ran.stdout);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));

    let markdown = plan(&["-markdown"], &["fixtures/laptop/index.nomad.hcl"]).stdout;
    assert!(markdown.contains("**1** rejected by the servers"), "{markdown}");
    assert!(markdown.contains(&format!("  {REJECTED}\n")), "{markdown}");

    let json = plan(&["-json-output"], &["fixtures/laptop/index.nomad.hcl"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let rejection = &json["PlanRejections"][0];
    assert_eq!((&rejection["NodeName"], &rejection["Reason"]), (&"laptop".into(), &"memory".into()), "{json}");
    assert_eq!(rejection["TaskGroups"]["shards"], 1);

    let template = plan(
        &["-t", "{{range .PlanRejections}}{{.NodeName}}: {{.Reason}}{{end}}"],
        &["fixtures/laptop/index.nomad.hcl"],
    );
    assert_eq!(template.stdout, "laptop: memory\n", "{}", template.stderr);
}

#[test]
fn rejected_parts_are_no_ground_for_the_next_of_several_plans() {
    let files = ["fixtures/laptop/index.nomad.hcl", "fixtures/laptop/reports.nomad.hcl"];
    let ran = plan(&[], &files);
    assert!(ran.stdout.contains(&format!("  {REJECTED}\n")), "{}", ran.stdout);
    let summary = ran.stdout.split("Summary\n").nth(1).expect("a summary");
    let row = summary.lines().find(|l| l.starts_with("index ")).expect("a row");
    let head = summary.lines().next().expect("a head");
    let at = head.find("Rejected").expect("a column");
    assert_eq!(row.get(at..).map(|c| c.split_whitespace().next()), Some(Some("1")), "{summary}");
    // What was not carried out evicts nothing: the next job finds its allocations where they were.
    let row = summary.lines().find(|l| l.starts_with("reports ")).expect("a row");
    let zeros = row.split_whitespace().skip(2).all(|n| n == "0");
    assert!(zeros, "{summary}");

    let json = plan(&["-json-output"], &files).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["Plans"][0]["JobID"], &json["Plans"][0]["Counts"]["Rejected"]), (&"index".into(), &1.into()));
    let markdown = plan(&["-markdown"], &files).stdout;
    assert!(markdown.contains(REJECTED), "{markdown}");
}

#[test]
fn what_if_leaves_without_a_node_what_servers_would_reject() {
    let args = ["what-if", "-snapshot", "fixtures/laptop/full.json", "-scale", "index/shards=2"];
    let small = run_in(&root(), &args);
    // The copy of 300 MHz needs the memory of two copies of reports, and gets that of one.
    assert!(
        small.stderr.contains("Servers would reject a plan of job \"index\": node \"laptop\" (2c624232) rejects 1"),
        "{small:?}"
    );
    assert!(small.stdout.contains("Dimension \"memory\" exhausted on 1 nodes"), "{}", small.stdout);
    assert_eq!(small.exit, 1);
}

/// The scene with a real server, whose evaluation fails: its status and explanation name the rejection.
#[test]
fn an_evaluation_that_failed_by_rejections_names_them() {
    let folder = Folder::new("rejected-plans");
    let node = std::fs::read_to_string(root().join("fixtures/laptop/agent.hcl")).unwrap();
    let agent = Agent::start(&folder, &node, &["-dev", "-node", "laptop"]);
    let address = agent.address();
    let env = [("NOMAD_ADDR", address.as_str()), ("PATH", "/usr/bin:/bin")];
    let run = |args: &[&str]| run_with(&root(), args, &env, None);
    let done = |args: &[&str]| {
        let ran = run(args);
        assert_eq!(ran.exit, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran
    };
    let running = |job: &str, n: usize| {
        wait_for(job, || {
            let list = agent.list(&format!("/v1/job/{job}/allocations"));
            let live = list.iter().filter(|a| a["ClientStatus"] == "running" && a["DesiredStatus"] == "run").count();
            if live == n { Ok(()) } else { Err(format!("{list:?}")) }
        });
    };
    done(&["operator", "scheduler", "set-config", "-preempt-service-scheduler=true"]);
    for (job, copies) in [("reports", 2), ("index", 2), ("cache", 1)] {
        done(&["job", "run", "-detach", &format!("fixtures/laptop/{job}.nomad.hcl")]);
        running(job, copies);
    }
    done(&["job", "run", "-detach", "fixtures/laptop/webapp.nomad.hcl"]);
    running("webapp", 1);
    let index = std::fs::read_to_string(root().join("fixtures/laptop/index.nomad.hcl")).unwrap();
    let small = index.replace("count = 2", "count = 1").replace("cpu    = 1000", "cpu    = 300");
    assert_ne!(small, index);
    let small = folder.file("index.nomad.hcl", small).display().to_string();
    done(&["job", "run", "-detach", &small]);
    running("index", 1);
    running("reports", 2);
    // The rollout has to be over, or the next one only waits for it.
    wait_for("the rollout of index", || {
        let rollout = agent.get("/v1/job/index/deployment");
        if rollout["Status"] == "successful" { Ok(()) } else { Err(rollout.to_string()) }
    });

    let planned = run(&["job", "plan", "-diff=false", "fixtures/laptop/index.nomad.hcl"]);
    assert!(planned.stdout.contains("rejects 1 allocation of group \"shards\": memory"), "{planned:?}");
    let remote = run(&["job", "plan", "-remote", "-diff=false", "fixtures/laptop/index.nomad.hcl"]);
    assert!(remote.stdout.contains("rejects 1 allocation of group \"shards\": memory"), "{remote:?}");

    let ran = run(&["job", "run", "fixtures/laptop/index.nomad.hcl"]);
    // As recorded: the monitor's exit code says whether allocations could be placed (docs/spec/cli.md 6.1).
    assert!(ran.exit == 0 && ran.stdout.contains("finished with status \"failed\""), "{}{}", ran.stdout, ran.stderr);
    let evals = agent.list("/v1/job/index/evaluations");
    let failed = evals.iter().find(|e| e["Status"] == "failed").expect("a failed evaluation");
    assert_eq!(failed["StatusDescription"], "maximum attempts reached (5)");
    let id = failed["ID"].as_str().expect("an ID");
    let status = run(&["eval", "status", id]).stdout;
    let line = "rejects 1 allocation of group \"shards\": memory";
    assert!(status.contains("\nRejected Plan\n  Node \"laptop\" (") && status.contains(line), "{status}");
    let explained = run(&["eval", "explain", id]).stdout;
    assert!(
        explained.contains("\nRejected allocations of the last plan\n  Node \"laptop\" (") && explained.contains(line),
        "{explained}"
    );
    let json: Value = serde_json::from_str(&run(&["eval", "explain", "-json", id]).stdout).unwrap();
    assert_eq!(
        (&json["PlanRejections"][0]["Reason"], &json["PlanRejections"][0]["TaskGroups"]["shards"]),
        (&"memory".into(), &1.into())
    );
}

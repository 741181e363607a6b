//! `job run`, and the monitors of evaluations and deployments.

use crate::canned::*;
use crate::program::{Folder, Ran, run_for};
use crate::server::Response;
use encamp_model::{ClientStatus, DeploymentStatus};
use serde_json::{Value, json};

const JOB_FILE: &str = r#"
variable "image" { default = "a" }
job "web" {
  group "g" {
    task "t" {
      driver = "exec"
      config { command = var.image }
    }
  }
}
"#;

/// `job run` of a job file against a server that registers everything and has these answers about the evaluation.
fn run_job(name: &str, flags: &[&str], more: &[(&str, Value)]) -> (Ran, Canned) {
    let folder = Folder::new(name);
    folder.file("web.hcl", JOB_FILE);
    let mut routes = vec![("PUT /v1/jobs", json!({"EvalID": EVAL, "JobModifyIndex": 14, "Warnings": ""}))];
    routes.extend(more.iter().cloned());
    let canned = Canned::new(&routes);
    let mut args = vec!["job", "run"];
    args.extend(flags);
    args.push("web.hcl");
    let ran = canned.run_in(folder.path(), &args, "");
    (ran, canned)
}

#[test]
fn the_monitor_tells_what_happens_and_ends_with_the_evaluation() {
    let (ran, canned) = run_job(
        "run-monitor",
        &["-var", "image=b c", "-eval-priority", "70", "-preserve-counts"],
        &[
            (EVAL_LINE, eval(json!({"Status": "pending"}))),
            (EVAL_LINE, eval(json!({"NodeID": NODE}))),
            (
                ALLOCS_LINE,
                json!([
                    alloc("aaaaaaaa-1", ClientStatus::Pending, json!({})),
                    alloc("aaaaaaab-1", ClientStatus::Running, json!({"CreateIndex": 9}))
                ]),
            ),
            (
                ALLOCS_LINE,
                json!([
                    alloc("aaaaaaaa-1", ClientStatus::Failed, json!({"ClientDescription": "Failed tasks"})),
                    alloc("aaaaaaab-1", ClientStatus::Running, json!({"CreateIndex": 9}))
                ]),
            ),
        ],
    );
    assert_eq!(
        timeless(&ran.stdout),
        "==> NOW: Monitoring evaluation \"eeeeeeee\"\n    \
         NOW: Evaluation triggered by job \"web\"\n    \
         NOW: Allocation \"aaaaaaaa\" created: node \"bbbbbbbb\", group \"g\"\n    \
         NOW: Allocation \"aaaaaaab\" modified: node \"bbbbbbbb\", group \"g\"\n    \
         NOW: Evaluation triggered by node \"bbbbbbbb\"\n    \
         NOW: Allocation \"aaaaaaaa\" status changed: \"pending\" -> \"failed\" (Failed tasks)\n    \
         NOW: Evaluation status changed: \"pending\" -> \"complete\"\n\
         ==> NOW: Evaluation \"eeeeeeee\" finished with status \"complete\"\n"
    );
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let sent = &canned.bodies("PUT /v1/jobs")[0];
    assert_eq!(sent["Job"]["TaskGroups"][0]["Tasks"][0]["Config"]["command"], "b c");
    assert_eq!((&sent["EvalPriority"], &sent["PreserveCounts"]), (&json!(70), &json!(true)));
    assert_eq!(sent.get("EnforceIndex"), None);
    assert_eq!(sent["Submission"]["Source"], JOB_FILE);
    assert_eq!(
        (&sent["Submission"]["Format"], &sent["Submission"]["VariableFlags"]["image"]),
        (&json!("hcl2"), &json!("b%20c"))
    );
}

#[test]
fn what_found_no_node_makes_the_exit_code_2_unless_a_deployment_waits_for_it() {
    let failed = json!({
        "FailedTGAllocs": {
            "b": {"NodesEvaluated": 2, "NodesExhausted": 2, "CoalescedFailures": 1, "DimensionExhausted": {"memory": 2}},
            "a": {"NodesEvaluated": 0},
        },
        "BlockedEval": "cccccccc-1111-2222-3333-444444444444",
    });
    let (ran, _) = run_job("run-unplaced", &[], &[(EVAL_LINE, eval(failed.clone())), (ALLOCS_LINE, json!([]))]);
    let lines = "==> NOW: Monitoring evaluation \"eeeeeeee\"\n    \
         NOW: Evaluation triggered by job \"web\"\n    \
         NOW: Evaluation status changed: \"pending\" -> \"complete\"\n\
         ==> NOW: Evaluation \"eeeeeeee\" finished with status \"complete\" but failed to place all allocations:\n    \
         NOW: Task Group \"a\" (failed to place 1 allocation):\n      \
         * No nodes were eligible for evaluation\n    \
         NOW: Task Group \"b\" (failed to place 2 allocations):\n      \
         * Resources exhausted on 2 nodes\n      \
         * Dimension \"memory\" exhausted on 2 nodes\n    \
         NOW: Evaluation \"cccccccc\" waiting for additional capacity to place remainder\n";
    assert_eq!((timeless(&ran.stdout).as_str(), ran.exit), (lines, 2));

    let mut with_deployment = failed;
    with_deployment["DeploymentID"] = DEPLOYMENT.into();
    let (ran, _) = run_job(
        "run-unplaced-deployment",
        &[],
        &[
            (EVAL_LINE, eval(with_deployment)),
            (ALLOCS_LINE, json!([])),
            (DEPLOYMENT_LINE, deployment(DEPLOYMENT, DeploymentStatus::Running, false)),
            (DEPLOYMENT_LINE, deployment(DEPLOYMENT, DeploymentStatus::Successful, false)),
        ],
    );
    let block = |status: &str| {
        format!(
            "    \nNOW\nID          = dddddddd\nJob ID      = web\nJob Version = 3\nStatus      = {status}\n\
             Description = why\n\nDeployed\n\
             Task Group  Desired  Placed  Healthy  Unhealthy  Progress Deadline\n\
             g           1        1       0        0          NOW\n"
        )
    };
    let want = format!("==> NOW: Monitoring deployment \"dddddddd\"\n{}{}", block("running"), block("successful"));
    let got = timeless(&ran.stdout);
    assert!(got.ends_with(&want), "{got}");
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
}

#[test]
fn a_rollback_is_watched_too_and_does_not_change_the_exit_code() {
    let latest = "GET /v1/job/web/deployment";
    let (ran, _) = run_job(
        "run-rollback",
        &["-verbose"],
        &[
            (EVAL_LINE, eval(json!({"DeploymentID": DEPLOYMENT}))),
            (ALLOCS_LINE, json!([])),
            (DEPLOYMENT_LINE, deployment(DEPLOYMENT, DeploymentStatus::Failed, true)),
            (latest, deployment(OTHER, DeploymentStatus::Running, true)),
            (
                "GET /v1/deployment/dddddddd-9999-2222-3333-444444444444",
                deployment(OTHER, DeploymentStatus::Successful, true),
            ),
            (
                "GET /v1/deployment/allocations/dddddddd-1111-2222-3333-444444444444",
                json!([alloc("aaaaaaaa-1", ClientStatus::Failed, json!({}))]),
            ),
            ("GET /v1/deployment/allocations/dddddddd-9999-2222-3333-444444444444", json!([])),
        ],
    );
    let got = timeless(&ran.stdout);
    let (first, second) = got.split_once("\n\n    \nNOW\n").expect("an empty line between the deployments");
    assert!(
        first.contains(&format!("ID          = {DEPLOYMENT}")) && first.contains("\n\nAllocations\nID  "),
        "{first}"
    );
    assert!(first.contains("aaaaaaaa-1  eeeeeeee-1111-2222-3333-444444444444  bbbbbbbb-1111"), "{first}");
    assert!(
        second.starts_with(&format!("ID          = {OTHER}")) && second.contains("Status      = successful"),
        "{second}"
    );
    assert!(second.ends_with("\n\nAllocations\nNo allocations placed\n"), "{second}");
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));
}

#[test]
fn the_monitor_follows_the_next_evaluation_and_says_what_it_cannot_read() {
    let next = "ffffffff-1111-2222-3333-444444444444";
    let (ran, _) = run_job(
        "run-next",
        &[],
        &[
            (EVAL_LINE, eval(json!({"Status": "failed", "NextEval": next, "Wait": 10_000_000}))),
            (ALLOCS_LINE, json!([])),
        ],
    );
    let got = timeless(&ran.stdout);
    assert!(
        got.ends_with(
            "==> NOW: Evaluation \"eeeeeeee\" finished with status \"failed\"\n\
             ==> NOW: Monitoring next evaluation \"ffffffff\" in 10ms\n\
             ==> NOW: Monitoring evaluation \"ffffffff\"\n"
        ),
        "{got}"
    );
    assert_eq!((ran.stderr.as_str(), ran.exit), ("==> No evaluation with id \"ffffffff\" found\n", 1));

    let (ran, _) = run_job(
        "run-lost-deployment",
        &[],
        &[(EVAL_LINE, eval(json!({"DeploymentID": DEPLOYMENT}))), (ALLOCS_LINE, json!([]))],
    );
    assert_eq!(
        (timeless(&ran.stderr).as_str(), ran.exit),
        ("==> NOW: Error fetching deployment: Unexpected response code: 404 (not found)\n", 1)
    );
}

#[test]
fn detached_runs_say_what_comes_next() {
    let (ran, canned) = run_job("run-detached", &["-detach", "-check-index", "14"], &[]);
    assert_eq!(ran.stdout, format!("Job registration successful\nEvaluation ID: {EVAL}\n"));
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let sent = &canned.bodies("PUT /v1/jobs")[0];
    assert_eq!((&sent["EnforceIndex"], &sent["JobModifyIndex"]), (&json!(true), &json!(14)));

    let folder = Folder::new("run-later");
    folder.file("cron.hcl", "job \"web\" {\n  type = \"batch\"\n  periodic {\n    crons = [\"0 3 * * *\"]\n  }\n  group \"g\" {\n    task \"t\" {\n      driver = \"exec\"\n    }\n  }\n}\n");
    folder.file("param.hcl", "job \"web\" {\n  type = \"batch\"\n  parameterized {}\n  group \"g\" {\n    task \"t\" {\n      driver = \"exec\"\n    }\n  }\n}\n");
    let canned = Canned::new(&[("PUT /v1/jobs", json!({"EvalID": "", "Warnings": "1 warning:\n\n* careful"}))]);
    let periodic = canned.run_in(folder.path(), &["run", "cron.hcl"], "");
    let (warning, rest) = periodic.stdout.split_once("Job registration successful\n").unwrap();
    assert_eq!(warning, "Job Warnings:\n1 warning:\n\n* careful\n\n");
    assert!(rest.starts_with("Approximate next launch time: 20") && rest.contains("T03:00:00Z ("), "{rest}");
    assert!(rest.ends_with(" from now)\n"), "{rest}");
    let parameterized = canned.run_in(folder.path(), &["run", "param.hcl"], "");
    assert_eq!(parameterized.stdout, format!("{warning}Job registration successful\n"));
    assert_eq!((periodic.exit, parameterized.exit), (0, 0));
}

#[test]
fn refused_registrations_say_why() {
    let folder = Folder::new("run-refused");
    folder.file("web.hcl", JOB_FILE);
    let run = |status, body: &str, flags: &[&str]| {
        let canned = Canned::of(vec![("PUT /v1/jobs", Response::text(status, body))]);
        let args: Vec<&str> = ["job", "run"].iter().chain(flags).chain(&["web.hcl"]).copied().collect();
        canned.run_in(folder.path(), &args, "")
    };
    let conflict = "Enforcing job modify index 7: job exists with conflicting job modify index: 14";
    for (status, body, flags, want) in [
        (500, conflict, &["-check-index", "7"][..], format!("{conflict}\nJob not updated\n")),
        (
            403,
            "Permission denied",
            &[],
            "Error submitting job: Unexpected response code: 403 (Permission denied)\n".to_string(),
        ),
        (
            200,
            "",
            &["-check-index", "x"],
            "Error parsing check-index value \"x\": strconv.ParseUint: parsing \"x\": invalid syntax\n".to_string(),
        ),
    ] {
        let ran = run(status, body, flags);
        assert_eq!((ran.stdout.as_str(), ran.stderr, ran.exit), ("", want, 1));
    }
}

#[test]
fn a_job_can_be_planned_and_run_in_one_go() {
    let folder = Folder::new("run-plan");
    folder.file("web.hcl", JOB_FILE);
    let node = json!({"ID": NODE, "Name": "n1", "Datacenter": "dc1", "NodePool": "default", "Status": "ready",
        "SchedulingEligibility": "eligible", "Attributes": {"driver.exec": "1", "kernel.name": "linux"}, "ModifyIndex": 5,
        "Drivers": {"exec": {"Detected": true, "Healthy": true}},
        "NodeResources": {"Networks": [{"Mode": "host"}], "Cpu": {"CpuShares": 4000, "TotalCpuCores": 4}, "Memory": {"MemoryMB": 4096}, "Disk": {"DiskMB": 10000}}});
    let routes = [
        (
            "GET /v1/nodes",
            json!([{"ID": NODE, "Status": "ready", "SchedulingEligibility": "eligible", "ModifyIndex": 5}]),
        ),
        ("GET /v1/node/bbbbbbbb-1111-2222-3333-444444444444", node),
        ("GET /v1/node/bbbbbbbb-1111-2222-3333-444444444444/allocations", json!([])),
        ("GET /v1/allocations", json!([])),
        ("GET /v1/jobs", json!([])),
        ("GET /v1/deployments", json!([])),
        ("GET /v1/namespaces", json!([{"Name": "default"}])),
        ("GET /v1/node/pools", json!([{"Name": "default"}, {"Name": "all"}])),
        ("GET /v1/volumes", json!([])),
        ("GET /v1/volumes/claims", json!([])),
        ("GET /v1/operator/scheduler/configuration", json!({"SchedulerConfig": {"SchedulerAlgorithm": "binpack"}})),
        ("PUT /v1/jobs", json!({"EvalID": EVAL})),
    ];
    let cached = |canned: &Canned, input: &str| {
        let cache = folder.path().join("cache").display().to_string();
        let env = [("NOMAD_ADDR", canned.server.address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
        run_for(PATIENCE, folder.path(), &["run", "-plan", "-detach", "web.hcl"], &env, input)
    };
    let canned = Canned::of(
        routes
            .iter()
            .map(|(line, body)| {
                (*line, Response::json(body).with("X-Nomad-Index", 9).with("X-Nomad-KnownLeader", true))
            })
            .collect(),
    );
    let ran = cached(&canned, "y\n");
    let plan = "+ Job: \"web\"\n+ Task Group: \"g\" (1 create)\n  + Task: \"t\" (forces create)\n\n\
                Scheduler dry-run:\n- All tasks successfully allocated.\n\n\
                Job Modify Index: 0\n\nRegister the job as planned? [y/N] ";
    assert_eq!(ran.stdout, format!("{plan}Job registration successful\nEvaluation ID: {EVAL}\n"), "{}", ran.stderr);
    assert_eq!(ran.exit, 0);
    let sent = &canned.bodies("PUT /v1/jobs")[0];
    assert_eq!((&sent["EnforceIndex"], &sent["JobModifyIndex"]), (&json!(true), &json!(0)));

    let ran = cached(&canned, "n\n");
    assert_eq!((ran.stdout, ran.exit), (format!("{plan}Cancelling job run\n"), 0));
    let ran = cached(&canned, "");
    // The canned servers do not say how they are set up.
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines[0].starts_with("The servers' settings are not known: "), "{}", ran.stderr);
    assert_eq!((&lines[1..], ran.exit), (["Failed to parse answer: EOF"].as_slice(), 1));
    assert!(canned.bodies("PUT /v1/jobs").is_empty());
}

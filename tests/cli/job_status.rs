//! `job status`, and how jobs are found.

use crate::canned::*;
use crate::program::Folder;
use crate::server::Response;
use encamp_model::{ClientStatus, DeploymentStatus, JobType};
use serde_json::{Value, json};

#[test]
fn jobs_are_found_by_the_beginning_of_their_ids() {
    let two = Canned::new(&[("GET /v1/jobs", json!([stub("clean"), stub("crunch")]))]);
    for command in ["status", "stop", "start", "history", "eval", "promote", "allocs", "deployments", "scaling-events"]
    {
        let ran = two.run(&["job", command, "c"]);
        assert_eq!(
            ran.stderr,
            "Prefix \"c\" matched multiple jobs\n\n\
             ID      Type     Priority  Status   Submit Date\n\
             clean   service  50        running  2026-11-21T05:00:00Z\n\
             crunch  service  50        running  2026-11-21T05:00:00Z\n",
            "{command}"
        );
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1), "{command}");
    }
    let none = Canned::new(&[("GET /v1/jobs", json!([]))]);
    for (args, kind) in [
        (&["job", "status", "zzz"][..], ""),
        (&["job", "stop", "zzz"], ""),
        (&["job", "dispatch", "zzz"], "parameterized "),
        (&["job", "dispatch", "-wait", "zzz"], "parameterized "),
        (&["job", "periodic", "force", "zzz"], "periodic "),
        (&["job", "revert", "zzz", "1"], ""),
        (&["job", "scale", "zzz", "1"], ""),
        (&["job", "tag", "apply", "-name", "x", "zzz"], ""),
        (&["job", "restart", "-on-error=fail", "zzz"], ""),
    ] {
        let ran = none.run(args);
        assert_eq!(
            (ran.stderr, ran.exit),
            (format!("No {kind}job(s) with prefix or ID \"zzz\" found\n"), 1),
            "{args:?}"
        );
    }
    let asked = none.server.take();
    let filter =
        |path: &str| asked.iter().filter(|r| r.path == path).filter_map(|r| r.param("filter")).collect::<Vec<_>>();
    let parameterized = "ParentID == \"\" and ParameterizedJob is not nil";
    assert_eq!(filter("/v1/jobs"), [parameterized, parameterized, "Periodic is not nil"]);

    // Who may not list jobs names them in full.
    let forbidden = Canned::of(vec![
        ("GET /v1/jobs", Response::text(403, "Permission denied")),
        ("GET /v1/job/web/scale", Response::json(&json!({"TaskGroups": null}))),
    ]);
    assert_eq!(forbidden.run(&["job", "scaling-events", "web"]).stdout, "No events found\n");
    let denied = forbidden.run(&["job", "status"]);
    assert_eq!(denied.stderr, "Error querying jobs: Unexpected response code: 403 (Permission denied)\n");
}

#[test]
fn job_status_shows_children_and_actions_and_later_attempts() {
    let job_line = "GET /v1/job/web";
    let mut periodic = job(JobType::Batch);
    periodic["Periodic"] = json!({"Enabled": true, "Spec": "0 3 * * *", "SpecType": "cron"});
    let summary = json!({"JobID": "web", "Summary": {}, "Children": {"Pending": 0, "Running": 0, "Dead": 1}});
    let child = json!({"ID": "web/periodic-1", "ParentID": "web", "Status": "dead"});
    let stranger = json!({"ID": "web/periodic-1/periodic-2", "ParentID": "web/periodic-1", "Status": "dead"});
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/jobs", json!([child, stranger])),
        (job_line, periodic.clone()),
        ("GET /v1/job/web/summary", summary.clone()),
    ]);
    let ran = canned.run(&["job", "status", "web"]);
    let (header, rest) = ran.stdout.split_once("Next Periodic Launch = ").unwrap();
    assert!(header.contains("Periodic             = true\nParameterized        = false\n"), "{header}");
    assert!(rest.contains("T03:00:00Z ("), "{rest}");
    assert!(
        rest.ends_with(
            "\n\nChildren Job Summary\nPending  Running  Dead\n0        0        1\n\n\
             Previously Launched Jobs\nID              Status\nweb/periodic-1  dead\n"
        ),
        "{rest}"
    );
    periodic["Stop"] = true.into();
    let canned = Canned::new(&[("GET /v1/jobs", json!([stub("web")])), (job_line, periodic)]);
    let ran = canned.run(&["job", "status", "-short", "web"]);
    assert!(ran.stdout.ends_with("Next Periodic Launch = none (job stopped)\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Status               = running (stopped)\n"), "{}", ran.stdout);

    let mut parameterized = job(JobType::Batch);
    parameterized["ParameterizedJob"] =
        json!({"Payload": "optional", "MetaRequired": ["input"], "MetaOptional": ["quality", "speed"]});
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/jobs", json!([])),
        (job_line, parameterized),
        ("GET /v1/job/web/summary", summary),
    ]);
    let ran = canned.run(&["job", "status", "web"]);
    assert!(
        ran.stdout.ends_with(
            "\nParameterized Job\nPayload           = optional\nRequired Metadata = input\n\
             Optional Metadata = quality, speed\n\n\
             Parameterized Job Summary\nPending  Running  Dead\n0        0        1\n\n\
             No dispatched instances of parameterized job found\n"
        ),
        "{}",
        ran.stdout
    );

    let mut batch = job(JobType::Batch);
    batch["TaskGroups"][0]["MaxRunDuration"] = json!(1_800_000_000_000_i64);
    batch["TaskGroups"][0]["ReschedulePolicy"] =
        json!({"Attempts": 2, "Interval": 3600000000000_i64, "DelayFunction": "constant", "MaxDelay": 0});
    batch["TaskGroups"][0]["Tasks"][0]["Actions"] = json!([{"Name": "say", "Command": "/bin/echo"}]);
    let failed = alloc(
        "aaaaaaaa-1111-2222-3333-444444444444",
        ClientStatus::Failed,
        json!({"FollowupEvalID": EVAL, "CreateTime": 1795237200000000000_i64, "ModifyTime": 1795237260000000000_i64}),
    );
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        (job_line, batch),
        ("GET /v1/job/web/summary", json!({"Summary": {"g": {"Failed": 1}}})),
        ("GET /v1/job/web/allocations", json!([failed])),
        ("GET /v1/job/web/evaluations", json!([])),
        ("GET /v1/job/web/deployment", Value::Null),
        (EVAL_LINE, eval(json!({"WaitUntil": "2999-01-01T00:00:00Z"}))),
    ]);
    let ran = canned.run(&["job", "status", "-verbose", "web"]);
    let (before, after) = ran.stdout.split_once("\nFuture Rescheduling Attempts\n").unwrap();
    assert!(before.ends_with("Evaluations\nID  Priority  Triggered By  Status  Placement Failures\n"), "{before}");
    let (attempts, after) = after.split_once("\n\nActions\n").unwrap();
    assert!(
        attempts.starts_with(&format!(
            "Task Group  Reschedule Policy                                Eval ID                               Eval Time\n\
             g           2 in 1h0m0s with constant delay, max_delay = 0s  {EVAL}  "
        )) && attempts.ends_with(" from now"),
        "{attempts}"
    );
    assert!(
        after.starts_with("Action Name  Task Group  Task\nsay          g           t\n\nAllocations\nID  "),
        "{after}"
    );
    assert!(after.lines().nth(4).unwrap().ends_with("Max Run Deadline"), "{after}");
    assert!(after.ends_with("2026-11-21T05:00:00Z  2026-11-21T05:01:00Z  2026-11-21T05:30:00Z\n"), "{after}");
}

#[test]
fn job_status_as_json_has_what_the_api_has() {
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/job/web/summary", json!({"JobID": "web", "Summary": null, "Children": null})),
        (
            "GET /v1/job/web/allocations",
            json!([alloc("aaaaaaaa-1", ClientStatus::Running, json!({"DesiredTransition": {}}))]),
        ),
        ("GET /v1/job/web/evaluations", json!([eval(json!({}))])),
        ("GET /v1/job/web/deployment", deployment(DEPLOYMENT, DeploymentStatus::Running, true)),
    ]);
    let ran = canned.run(&["job", "status", "-json", "web"]);
    let all: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(all[0]["Evaluations"][0]["BlockedEval"], "");
    assert_eq!(all[0]["Allocations"][0].get("DesiredTransition"), None);
    assert_eq!(all[0]["LatestDeployment"]["ID"], DEPLOYMENT);
    let listed = canned.run(&["job", "status", "-t", "{{range .}}{{len .Allocations}} {{.Summary.JobID}}{{end}}"]);
    assert_eq!((listed.stdout.as_str(), listed.exit), ("1 web\n", 0));
    let wrong = canned.run(&["job", "status", "-t", "{{.Nope}}", "web"]);
    assert_eq!(
        wrong.stderr,
        "Error formatting the data: template: :1:2: executing \"\" at <.Nope>: can't evaluate field Nope in type []command.JobJson\n"
    );
    let both = canned.run(&["job", "status", "-json", "-t", "x", "web"]);
    assert_eq!((both.stderr.as_str(), both.exit), ("Both json and template formatting are not allowed\n", 1));
    let empty = Canned::new(&[("GET /v1/jobs", json!([]))]);
    assert_eq!(empty.run(&["job", "status", "-json"]).stdout, "No running jobs\n");
    let many = empty.run(&["job", "status", "web", "-short"]);
    assert_eq!(
        many.stderr,
        "This command takes either no arguments or one: <job>\nFor additional help try 'encamp status -help'\n"
    );
}

#[test]
fn job_files_come_from_variables_of_the_cluster() {
    let folder = Folder::new("templates");
    let canned = Canned::new(&[
        (
            "GET /v1/vars",
            json!([{"Path": "nomad/job-templates/web"}, {"Path": "nomad/job-templates/batch"}, {"Path": "other"}]),
        ),
        ("GET /v1/var/nomad/job-templates/web", json!({"Items": {"template": "job \"web\" {}\n"}})),
        ("GET /v1/var/nomad/job-templates/empty", json!({"Items": {"other": "x"}})),
    ]);
    let ran = canned.run(&["job", "init", "-list-templates"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.exit),
        ("Use encamp job init -template=<name> with one of these names:\n    batch\n    web\n", 0)
    );
    let ran = canned.run_in(folder.path(), &["job", "init", "-template=web", "web.hcl"], "");
    assert_eq!((ran.stdout.as_str(), ran.exit), ("Example job file written to web.hcl\n", 0), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("web.hcl")).unwrap(), "job \"web\" {}\n");
    for (name, want) in [
        ("empty", "The variable nomad/job-templates/empty has no item \"template\"\n"),
        ("none", "Error reading the variable nomad/job-templates/none: Unexpected response code: 404 (not found)\n"),
    ] {
        let ran = canned.run_in(folder.path(), &["job", "init", "-template", name, "x.hcl"], "");
        assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
        assert!(!folder.path().join("x.hcl").exists());
    }
    let both = canned.run(&["job", "init", "-short", "-template", "web"]);
    assert!(both.stderr.contains("can't be combined"), "{}", both.stderr);
}

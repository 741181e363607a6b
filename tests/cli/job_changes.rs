//! Commands that change jobs of a running cluster.

use crate::canned::*;
use crate::program::run_for;
use crate::server::{Request, Response, Server};
use encamp_model::{ClientStatus, DeploymentStatus, JobType};
use serde_json::{Value, json};

#[test]
fn stopping_asks_unless_the_whole_id_is_given() {
    let canned =
        Canned::new(&[("GET /v1/jobs", json!([stub("picky")])), ("DELETE /v1/job/picky", json!({"EvalID": EVAL}))]);
    let question = "Are you sure you want to stop job \"picky\"? [y/N] ";
    for (input, stdout, stderr, exit) in [
        ("n\n", "Cancelling job stop\n", "", 0),
        ("\n", "Cancelling job stop\n", "", 0),
        ("yes\n", "For confirmation, an exact ‘y’ is required.\n", "", 0),
        ("Y\n", "No confirmation detected. For confirmation, an exact 'y' is required.\n", "", 1),
        ("", "", "Failed to parse answer: EOF\n", 1),
    ] {
        let ran = canned.typed(&["job", "stop", "pic"], input);
        assert_eq!(
            (ran.stdout, ran.stderr.as_str(), ran.exit),
            (format!("{question}{stdout}"), stderr, exit),
            "{input:?}"
        );
    }
    assert!(canned.server.take().iter().all(|r| r.method == "GET"));
    let ran = canned.typed(&["job", "stop", "-detach", "pic"], "y\n");
    assert_eq!((ran.stdout, ran.exit), (format!("{question}{EVAL}\n"), 0));
    let ran = canned.run(&["stop", "-detach", "-purge", "-no-shutdown-delay", "picky"]);
    assert_eq!((ran.stdout, ran.exit), (format!("{EVAL}\n"), 0));
    let all = canned.server.take();
    let last = all.last().unwrap();
    assert_eq!(
        (last.method.as_str(), last.param("purge"), last.param("global")),
        ("DELETE", Some("true"), Some("false"))
    );
    assert_eq!((last.param("no_shutdown_delay"), last.param("namespace")), (Some("true"), Some("default")));

    let refusing = Canned::of(vec![
        ("GET /v1/jobs", Response::json(&json!([stub("picky")]))),
        ("DELETE /v1/job/picky", Response::text(500, "no leader")),
    ]);
    let ran = refusing.run(&["job", "stop", "-yes", "pic"]);
    assert_eq!(
        (ran.stderr.as_str(), ran.exit),
        ("Error deregistering job with id pic err: Unexpected response code: 500 (no leader)\n", 1)
    );
    let usage = canned.run(&["job", "stop"]);
    assert!(usage.stderr.ends_with("For additional help try 'encamp job stop -help'\n"), "{}", usage.stderr);
}

#[test]
fn several_jobs_are_stopped_without_questions() {
    let server = Server::start(|r: &Request| match r.line().as_str() {
        "GET /v1/jobs" if r.param("prefix") == Some("gone") => Response::json(&json!([])),
        "GET /v1/jobs" => Response::json(&json!([stub(&format!("{}-full", r.param("prefix").unwrap()))])),
        "DELETE /v1/job/a-full" => Response::json(&json!({"EvalID": EVAL})),
        "DELETE /v1/job/p-full" => Response::json(&json!({"EvalID": ""})),
        _ => Response::text(404, "not found"),
    });
    let env = [("NOMAD_ADDR", server.address.as_str())];
    let ran = run_for(PATIENCE, &std::env::temp_dir(), &["job", "stop", "-detach", "a", "gone", "p"], &env, "");
    assert_eq!(ran.stdout, format!("{EVAL}\n"));
    assert_eq!((ran.stderr.as_str(), ran.exit), ("No job(s) with prefix or ID \"gone\" found\n", 1));
    assert_eq!(server.take().iter().filter(|r| r.method == "DELETE").count(), 2);
}

#[test]
fn stopped_jobs_start_again_with_their_scaling_policies() {
    let running = Canned::new(&[("GET /v1/jobs", json!([stub("web")])), ("GET /v1/job/web", job(JobType::Service))]);
    let ran = running.run(&["job", "start", "web"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("Job \"web\" has not been stopped\n", 1));

    let mut stopped = job(JobType::Service);
    stopped["Stop"] = true.into();
    stopped["TaskGroups"][0]["Scaling"] = json!({"Min": 1, "Max": 2, "Enabled": false});
    let source =
        "job \"web\" {\n group \"g\" {\n scaling {\n max = 2\n }\n task \"t\" {\n driver = \"exec\"\n }\n }\n}";
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/job/web", stopped.clone()),
        ("GET /v1/job/web/submission", json!({"Source": source, "Format": "hcl2", "VariableFlags": {"v": "a b"}})),
        ("PUT /v1/jobs", json!({"EvalID": EVAL})),
    ]);
    let ran = canned.run(&["start", "-detach", "web"]);
    assert_eq!(ran.stdout, format!("Job start successful\nEvaluation ID: {EVAL}\n"));
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let sent = &canned.bodies("PUT /v1/jobs")[0];
    assert_eq!((&sent["Job"]["Stop"], &sent["Submission"]["Source"]), (&json!(false), &json!(source)));
    assert_eq!(sent["Job"]["TaskGroups"][0]["Scaling"]["Enabled"], true);
    assert_eq!(sent["Submission"]["VariableFlags"]["v"], "a%20b");

    let without = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/job/web", stopped),
        ("PUT /v1/jobs", json!({"EvalID": EVAL})),
    ]);
    let ran = without.run(&["start", "-detach", "web"]);
    assert!(ran.stderr.starts_with("The submission of the job could not be read: "), "{}", ran.stderr);
    assert_eq!(ran.exit, 0);
}

#[test]
fn small_changes_say_what_they_did() {
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/job/web", job(JobType::Service)),
        ("PUT /v1/job/web/evaluate", json!({"EvalID": EVAL})),
        ("PUT /v1/job/web/periodic/force", json!({"EvalID": EVAL})),
        ("PUT /v1/job/web/scale", json!({"EvalID": EVAL, "Warnings": "careful"})),
        ("PUT /v1/job/web/revert", json!({"EvalID": EVAL})),
        ("PUT /v1/job/web/versions/golden/tag", json!({"Name": "golden"})),
        ("DELETE /v1/job/web/versions/golden/tag", json!({"Name": ""})),
        (
            "GET /v1/job/web/versions",
            json!({"Versions": [{"Version": 3}, {"Version": 1, "VersionTag": {"Name": "golden"}}]}),
        ),
        ("GET /v1/job/web/deployment", deployment(DEPLOYMENT, DeploymentStatus::Running, false)),
        ("PUT /v1/deployment/promote/dddddddd-1111-2222-3333-444444444444", json!({"EvalID": EVAL})),
    ]);
    for (args, want) in [
        (&["job", "eval", "-detach", "-force-reschedule", "web"][..], "Created eval ID: \"eeeeeeee\" \n".to_string()),
        (
            &["job", "periodic", "force", "-detach", "web"],
            format!("Force periodic successful\nEvaluation ID: {EVAL}\n"),
        ),
        (
            &["job", "scale", "-detach", "-check-index", "14", "web", "3"],
            format!("Job Warnings:\ncareful\n\nJob scale successful\nEvaluation ID: {EVAL}\n"),
        ),
        (&["job", "revert", "-detach", "web", "golden"], format!("Evaluation ID: {EVAL}\n")),
        (&["job", "revert", "-detach", "web", "2"], format!("Evaluation ID: {EVAL}\n")),
        (
            &["job", "tag", "apply", "-name", "golden", "-description", "good", "-version", "0", "web"],
            "Job version 0 tagged with name \"golden\"\n".into(),
        ),
        (&["job", "tag", "apply", "-name", "golden", "web"], "Job version 3 tagged with name \"golden\"\n".into()),
        (&["job", "tag", "unset", "-name", "golden", "we"], "Tag \"golden\" removed from job \"we\"\n".into()),
        (&["job", "promote", "-detach", "-group", "g", "web"], format!("Evaluation ID: {EVAL}\n")),
    ] {
        let ran = canned.run(args);
        assert_eq!((ran.stdout, ran.stderr.as_str(), ran.exit), (want, "", 0), "{args:?}");
    }
    let sent = |line: &str, all: &[Request]| -> Vec<Value> {
        all.iter().filter(|r| r.line() == line).map(|r| serde_json::from_slice(&r.body).unwrap()).collect()
    };
    let all = canned.server.take();
    assert_eq!(sent("PUT /v1/job/web/evaluate", &all)[0]["EvalOptions"]["ForceReschedule"], true);
    let scale = &sent("PUT /v1/job/web/scale", &all)[0];
    assert_eq!(
        (&scale["Count"], &scale["Target"]["Group"], &scale["JobModifyIndex"]),
        (&json!(3), &json!("g"), &json!(14))
    );
    let reverts = sent("PUT /v1/job/web/revert", &all);
    assert_eq!(reverts.iter().map(|r| r["JobVersion"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(2)]);
    let tags = sent("PUT /v1/job/web/versions/golden/tag", &all);
    assert_eq!(tags[0], json!({"Version": 0, "Latest": false, "Description": "good"}));
    assert_eq!(tags[1], json!({"Version": 0, "Latest": true, "Description": ""}));
    let promote = &sent("PUT /v1/deployment/promote/dddddddd-1111-2222-3333-444444444444", &all)[0];
    assert_eq!((&promote["All"], &promote["Groups"]), (&json!(false), &json!(["g"])));
}

#[test]
fn wrong_changes_say_what_is_wrong() {
    let mut two = job(JobType::Service);
    two["TaskGroups"].as_array_mut().unwrap().push(json!({"Name": "h"}));
    let canned = Canned::of(vec![
        ("GET /v1/jobs", Response::json(&json!([stub("web")]))),
        ("GET /v1/job/web", Response::json(&two)),
        ("GET /v1/job/web/versions", Response::json(&json!({"Versions": []}))),
        ("GET /v1/job/web/deployment", Response::json(&Value::Null)),
        ("GET /v1/job/web/deployment", Response::json(&deployment(DEPLOYMENT, DeploymentStatus::Failed, false))),
        (
            "PUT /v1/deployment/promote/dddddddd-1111-2222-3333-444444444444",
            Response::text(500, "can't promote terminal deployment"),
        ),
    ]);
    for (args, want) in [
        (&["job", "scale", "web"][..], "Command requires at least two arguments and no more than three\n"),
        (
            &["job", "scale", "web", "many"],
            "Failed to convert count string to int: strconv.Atoi: parsing \"many\": invalid syntax\n",
        ),
        (&["job", "scale", "web", "3"], "Group name required\n"),
        (&["job", "scale", "web", "nope", "3"], "Group nope not found within job\n"),
        (
            &["job", "revert", "web", "golden"],
            "Error retrieving job versions: tag \"golden\" not found on job \"web\"\n",
        ),
        (
            &["job", "tag", "apply", "web"],
            "A version tag name is required\nFor additional help try 'encamp job tag apply -help'\n",
        ),
        (&["job", "promote", "web"], "Job \"web\" has no deployment to promote\n"),
        (
            &["job", "promote", "web"],
            "Error promoting deployment \"dddddddd-1111-2222-3333-444444444444\" for job \"web\": \
             Unexpected response code: 500 (can't promote terminal deployment)\n",
        ),
        (&["job", "history", "-diff-tag", "x", "web"], "-diff-tag and -diff-version can only be used with -p\n"),
        (
            &["job", "history", "-p", "-diff-tag", "x", "-diff-version", "1", "web"],
            "-diff-tag and -diff-version are mutually exclusive\n",
        ),
        (&["job", "history", "-json", "-full", "web"], "-json and -t are exclusive with -p and -full\n"),
        (
            &["job", "restart", "web"],
            "Invalid -on-error value \"ask\": \"ask\" cannot be used when terminal is not interactive\n\
             For additional help try 'encamp job restart -help'\n",
        ),
        (
            &["job", "restart", "-yes", "-all-tasks", "-task", "t", "web"],
            "The -all-tasks option cannot be used with -task\nFor additional help try 'encamp job restart -help'\n",
        ),
    ] {
        let ran = canned.run(args);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", want, 1), "{args:?}");
    }
}

#[test]
fn history_shows_versions_and_how_they_differ() {
    let diff = json!({"Type": "Edited", "ID": "web", "Fields": null, "Objects": null, "TaskGroups": [
        {"Type": "Edited", "Name": "g", "Fields": [{"Type": "Edited", "Name": "Count", "Old": "1", "New": "2|3"}]}]});
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        (
            "GET /v1/job/web/versions",
            json!({
                "Versions": [
                    {"ID": "web", "Version": 1, "Stable": false, "SubmitTime": 1795237201000000000_i64},
                    {"ID": "web", "Version": 0, "Stable": true, "SubmitTime": 1795237200000000000_i64,
                     "VersionTag": {"Name": "golden", "Description": "known-good"}},
                ],
                "Diffs": [diff],
            }),
        ),
    ]);
    let first = "Version     = 1\nStable      = false\nSubmit Date = 2026-11-21T05:00:01Z\n";
    let second = "Version         = 0\nStable          = true\nSubmit Date     = 2026-11-21T05:00:00Z\n\
                  Tag Name        = golden\nTag Description = known-good\n";
    let ran = canned.run(&["job", "history", "-p", "web"]);
    let text = "Diff        = \n+/- Job: \"web\"\n+/- Task Group: \"g\"\n  +/- Count: \"1\" => \"2 = 3\"\n";
    assert_eq!((ran.stdout, ran.exit), (format!("{first}{text}\n{second}"), 0));
    let ran = canned.run(&["job", "history", "-version", "0", "web"]);
    assert_eq!(ran.stdout, second);
    let ran = canned.run(&["job", "history", "-version", "1", "-full", "web"]);
    assert!(
        ran.stdout.starts_with(&format!("{first}Full        = JSON Job:\n{{\n    \"Affinities\": null,")),
        "{}",
        ran.stdout
    );
    let ran = canned.run(&["job", "history", "-t", "{{range .}}{{.Version}} {{end}}", "web"]);
    assert_eq!(ran.stdout, "1 0 \n");
    let ran = canned.run(&["job", "history", "-version", "7", "web"]);
    assert_eq!((ran.stderr.contains("version 7"), ran.exit), (true, 1));
}

#[test]
fn dispatching_sends_meta_and_payload_and_can_wait() {
    let id = "enc/dispatch-1-ab";
    let made = json!({"DispatchedJobID": id, "EvalID": EVAL});
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("enc")])),
        ("PUT /v1/job/enc/dispatch", made.clone()),
        (EVAL_LINE, eval(json!({"JobID": id}))),
        (ALLOCS_LINE, json!([])),
    ]);
    let args =
        ["job", "dispatch", "-meta", "input=a=b", "-meta", "quality=hi", "-idempotency-token", "tok", "enc", "-"];
    let ran = canned.typed(&args, "payload text\n");
    let kv = format!("Dispatched Job ID = {id}\nEvaluation ID     = eeeeeeee\n");
    assert!(
        timeless(&ran.stdout).starts_with(&format!("{kv}\n==> NOW: Monitoring evaluation \"eeeeeeee\"\n")),
        "{}",
        ran.stdout
    );
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let all = canned.server.take();
    let sent = all.iter().find(|r| r.method == "PUT").unwrap();
    assert_eq!(sent.param("idempotency_token"), Some("tok"));
    let body: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(body["Payload"], "cGF5bG9hZCB0ZXh0Cg==");
    assert_eq!(body["Meta"], json!({"input": "a=b", "quality": "hi"}));

    let waiting = |failed: u64| {
        let canned = Canned::new(&[
            ("GET /v1/jobs", json!([stub("enc")])),
            ("PUT /v1/job/enc/dispatch", made.clone()),
            ("GET /v1/job/enc/dispatch-1-ab", json!({"ID": id, "Status": "running"})),
            ("GET /v1/job/enc/dispatch-1-ab", json!({"ID": id, "Status": "dead"})),
            ("GET /v1/job/enc/dispatch-1-ab/summary", json!({"Summary": {"g": {"Running": 1}}})),
            ("GET /v1/job/enc/dispatch-1-ab/summary", json!({"Summary": {"g": {"Complete": 1, "Failed": failed}}})),
        ]);
        canned.run(&["job", "dispatch", "-detach", "-wait", "enc"])
    };
    let table = |row: &str| {
        format!("\nDeployed\nTask Group  Queued  Complete  Failed  Running  Starting  Lost  Unknown\n{row}\n")
    };
    let running = table("g           0       0         0       1        0         0     0");
    let done = table("g           0       1         0       0        0         0     0");
    let ran = waiting(0);
    assert_eq!((ran.stdout, ran.exit), (format!("{kv}{running}{done}"), 0));
    assert_eq!(waiting(1).exit, 2);

    let refused = Canned::of(vec![
        ("GET /v1/jobs", Response::json(&json!([stub("enc")]))),
        ("PUT /v1/job/enc/dispatch", Response::text(500, "Dispatch did not provide required meta keys: [input]")),
    ]);
    for (args, want) in [
        (
            &["job", "dispatch", "enc"][..],
            "Failed to dispatch job: Unexpected response code: 500 (Dispatch did not provide required meta keys: [input])\n",
        ),
        (&["job", "dispatch", "-meta", "input", "enc"], "Error parsing meta value: input\n"),
        (
            &["job", "dispatch", "enc", "no/such/file"],
            "Error reading input data: open no/such/file: no such file or directory\n",
        ),
    ] {
        let ran = refused.run(args);
        assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1), "{args:?}");
    }
}

/// A job with three running allocations, one of another group, and one that is gone.
fn restartable() -> Vec<(&'static str, Value)> {
    vec![
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/job/web", job(JobType::Service)),
        ("GET /v1/job/web/deployment", deployment(DEPLOYMENT, DeploymentStatus::Successful, false)),
        (
            "GET /v1/job/web/allocations",
            json!([
                alloc("aaaaaaa1-0", ClientStatus::Running, json!({"CreateIndex": 31})),
                alloc("aaaaaaa2-0", ClientStatus::Running, json!({"CreateIndex": 30})),
                alloc("aaaaaaa3-0", ClientStatus::Running, json!({"CreateIndex": 29})),
                alloc("aaaaaaa4-0", ClientStatus::Running, json!({"CreateIndex": 28, "TaskGroup": "h"})),
                alloc("aaaaaaa5-0", ClientStatus::Complete, json!({"CreateIndex": 27, "DesiredStatus": "stop"})),
            ]),
        ),
    ]
}

#[test]
fn restarts_go_batch_by_batch() {
    let mut routes = restartable();
    for id in ["aaaaaaa1-0", "aaaaaaa2-0", "aaaaaaa3-0"] {
        let line: &'static str = format!("PUT /v1/client/allocation/{id}/restart").leak();
        routes.push((line, json!({"Index": 0})));
    }
    let canned = Canned::new(&routes);
    let ran =
        canned.run(&["job", "restart", "-yes", "-batch-size=50%", "-batch-wait=1ms", "-group=g", "-verbose", "web"]);
    let skip = |id: &str, why: &str| format!("    NOW: Skipping allocation \"{id}\" because {why}\n");
    let one = |id: &str| format!("    NOW: Restarting running tasks in allocation \"{id}\" for group \"g\"\n");
    let want = [
        skip("aaaaaaa4-0", "it doesn't have any of requested groups"),
        skip("aaaaaaa5-0", "desired status is \"complete\" and client status is \"stop\""),
        "==> NOW: Restarting 3 allocations\n==> NOW: Restarting 1st batch of 2 allocations\n".into(),
        one("aaaaaaa1-0"),
        one("aaaaaaa2-0"),
        "==> NOW: Waiting 1ms before restarting the next batch\n==> NOW: Restarting 2nd batch of 1 allocations\n"
            .into(),
        one("aaaaaaa3-0"),
        "==> NOW: Job restart finished\n\nJob restarted successfully!\n".into(),
    ];
    // Those of one batch are restarted side by side: either can be first.
    let stdout = timeless(&ran.stdout).replacen(
        &format!("{}{}", one("aaaaaaa2-0"), one("aaaaaaa1-0")),
        &format!("{}{}", one("aaaaaaa1-0"), one("aaaaaaa2-0")),
        1,
    );
    assert_eq!((stdout, ran.stderr.as_str(), ran.exit), (want.concat(), "", 0));

    let none = canned.run(&["job", "restart", "-yes", "-group=nope", "web"]);
    assert_eq!((none.stdout.as_str(), none.exit), ("No allocations to restart\n", 0));
}

#[test]
fn a_restart_ends_with_the_first_error_if_that_is_wanted() {
    let canned = Canned::new(&restartable());
    let ran = canned.run(&["job", "restart", "-on-error=fail", "web"]);
    assert_eq!(
        timeless(&ran.stdout),
        "==> NOW: Restarting 4 allocations\n    \
         NOW: Restarting running tasks in allocation \"aaaaaaa1\" for group \"g\"\n\
         ==> NOW: Stopping job restart due to error\n==> NOW: Job restart finished with errors\n"
    );
    assert!(
        ran.stderr
            .starts_with("\n1 error occurred while restarting job:\n* Error restarting allocation \"aaaaaaa1\": "),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.exit, 1);
    let all = canned.run(&["job", "restart", "-yes", "-all-tasks", "web"]);
    assert!(all.stderr.starts_with("\n4 errors occurred while restarting job:\n* "), "{}", all.stderr);

    let mut routes = restartable();
    routes[2].1 = deployment(DEPLOYMENT, DeploymentStatus::Running, false);
    let ran = Canned::new(&routes).run(&["job", "restart", "-on-error=fail", "web"]);
    assert!(ran.stderr.contains("* Deployment \"dddddddd\" is \"running\"\n"), "{}", ran.stderr);
}

#[test]
fn rescheduled_allocations_are_waited_for() {
    let (old, new) = ("aaaaaaa4-0", "aaaaaaa9-0");
    let mut routes = restartable();
    routes.extend([
        ("PUT /v1/allocation/aaaaaaa4-0/stop", json!({"EvalID": EVAL})),
        ("GET /v1/allocation/aaaaaaa4-0", json!({"ID": old, "ClientStatus": "complete", "NextAllocation": new})),
        ("GET /v1/allocation/aaaaaaa9-0", json!({"ID": new, "ClientStatus": "pending"})),
        ("GET /v1/allocation/aaaaaaa9-0", json!({"ID": new, "ClientStatus": "running"})),
    ]);
    let canned = Canned::new(&routes);
    let ran = canned.run(&["job", "restart", "-on-error=fail", "-reschedule", "-group=h", "web"]);
    assert_eq!(
        timeless(&ran.stdout),
        "==> NOW: Restarting 1 allocation\n    \
         NOW: Rescheduling allocation \"aaaaaaa4\" for group \"h\"\n    \
         NOW: Allocation \"aaaaaaa4\" replaced by \"aaaaaaa9\", waiting for \"aaaaaaa9\" to start running\n    \
         NOW: Allocation \"aaaaaaa9\" is \"running\"\n\
         ==> NOW: Job restart finished\n\nJob restarted successfully!\n"
    );
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let mut sysbatch = restartable();
    sysbatch[1].1 = job(JobType::Sysbatch);
    let ran = Canned::new(&sysbatch).run(&["job", "restart", "-yes", "-reschedule", "web"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("Jobs of type \"sysbatch\" are not allowed to be rescheduled.\n", 1));
}

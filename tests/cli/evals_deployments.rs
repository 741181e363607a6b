//! Commands about evaluations, deployments and scaling policies of a running cluster.

use crate::canned::*;
use crate::server::Response;
use encamp_model::DeploymentStatus;
use serde_json::{Value, json};

#[test]
fn evaluations_are_listed_in_pages() {
    let row = |id: &str, index: u64, more: Value| {
        let mut e = eval(more);
        (e["ID"], e["CreateIndex"]) = (id.into(), index.into());
        e
    };
    let rows = json!([
        row("00000001-1", 1, json!({"NodeID": NODE, "FailedTGAllocs": {"g": {}}})),
        row("00000002-1", 2, json!({"Status": "blocked"})),
    ]);
    let canned = Canned::of(vec![("GET /v1/evaluations", Response::json(&rows).with("X-Nomad-NextToken", "26.abc"))]);
    let ran = canned.run(&["eval", "list", "-per-page", "2", "-page-token=1.x", "-job", "web", "-status", "complete"]);
    assert_eq!(
        ran.stdout,
        "ID        Priority  Triggered By  Job ID  Namespace  Node ID   Status    Placement Failures\n\
         00000002  50        job-register  web     default    <none>    blocked   N/A - In Progress\n\
         00000001  50        job-register  web     default    bbbbbbbb  complete  true\n\n\
         Results have been paginated. To get the next page run:\n\n\
         encamp eval list -per-page 2 -job web -status complete -page-token 26.abc\n"
    );
    let all = canned.server.take();
    let asked: Vec<Option<&str>> =
        ["per_page", "next_token", "job", "status"].iter().map(|p| all[0].param(p)).collect();
    assert_eq!(asked, [Some("2"), Some("1.x"), Some("web"), Some("complete")]);
    let ran = canned.run(&["eval", "list", "-t", "{{range .}}{{.ID}} {{.NodeID}};{{end}}"]);
    assert_eq!(ran.stdout, format!("00000002-1 ;00000001-1 {NODE};\n"));
    assert_eq!(Canned::new(&[("GET /v1/evaluations", json!([]))]).run(&["eval", "list"]).stdout, "No evals found\n");
}

#[test]
fn evaluations_are_found_by_the_beginning_of_their_ids() {
    let none = Canned::new(&[("GET /v1/evaluations", json!([]))]);
    for (id, want) in [
        ("0000aaaa", "No evaluation(s) with prefix or id \"0000aaaa\" found\n"),
        ("0", "Identifier must contain at least two characters.\n"),
    ] {
        let ran = none.run(&["eval", "status", id]);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", want, 1));
    }
    none.server.take();
    none.run(&["eval", "status", "abc"]);
    assert_eq!(none.server.take()[0].param("prefix"), Some("ab"));
    let several = Canned::new(&[("GET /v1/evaluations", json!([eval(json!({})), eval(json!({"ID": "eeeeffff-1"}))]))]);
    let ran = several.run(&["eval", "status", "eeee"]);
    assert_eq!(
        ran.stderr,
        "Prefix matched multiple evaluations\n\n\
         ID        Priority  Triggered By  Job ID  Namespace  Node ID  Status    Placement Failures\n\
         eeeeeeee  50        job-register  web     default    <none>   complete  false\n\
         eeeeffff  50        job-register  web     default    <none>   complete  false\n"
    );
    assert_eq!(ran.exit, 1);
}

#[test]
fn an_evaluation_is_shown_or_watched() {
    let shown = eval(json!({"TriggeredBy": "preemption", "CreateTime": 1795237200000000000_i64, "PlanAnnotations":
        {"DesiredTGUpdates": {"g": {"Place": 2, "Ignore": 4, "Canary": 1}}}}));
    let canned = Canned::new(&[("GET /v1/evaluations", json!([shown])), (EVAL_LINE, shown), (ALLOCS_LINE, json!([]))]);
    let ran = canned.run(&["eval-status", "eeee"]);
    assert!(ran.stdout.starts_with("ID                 = eeeeeeee\nCreate Time        = "), "{}", ran.stdout);
    assert!(
        ran.stdout.ends_with(
            "Placement Failures = false\nPrevious Eval      = <none>\nNext Eval          = <none>\nBlocked Eval       = <none>\n\n\
             Plan Annotations\nTask Group  Ignore  Place  Stop  InPlace  Destructive  Canary\n\
             g           4       2      0     0        0            1\n"
        ),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.exit, 0);
    let ran = canned.run(&["eval", "status", "-monitor", "eeee"]);
    assert!(ran.stdout.contains("finished with status \"complete\"\n"), "{}", ran.stdout);
    assert_eq!(ran.exit, 0);
    let ran = canned.run(&["eval", "status", "-json", "eeee"]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&value["RelatedEvals"], &value["QuotaLimitReached"]), (&Value::Null, &json!("")));
}

#[test]
fn evaluations_are_deleted_while_the_broker_is_paused() {
    let config = |paused: bool| json!({"SchedulerConfig": {"PauseEvalBroker": paused}});
    let config_line = "GET /v1/operator/scheduler/configuration";
    let busy = Canned::new(&[(config_line, config(false))]).run(&["eval", "delete", EVAL]);
    assert_eq!(busy.stderr, "Eval broker is not paused\n");
    assert_eq!(
        busy.stdout,
        "To delete evaluations you must first pause the eval broker by running \"encamp operator scheduler set-config -pause-eval-broker=true\"\n\
         After the deletion is complete, unpause the eval broker by running \"encamp operator scheduler set-config -pause-eval-broker=false\"\n"
    );
    assert_eq!(busy.exit, 1);

    let canned = Canned::new(&[
        (config_line, config(true)),
        ("GET /v1/evaluations/count", json!({"Count": 6})),
        ("DELETE /v1/evaluations", json!({"Count": 6})),
        ("DELETE /v1/evaluations", json!({"Count": 1})),
        ("DELETE /v1/evaluations", json!({"Count": 0})),
    ]);
    let question = "Are you sure you want to delete 6 evals? [y/N] ";
    let ran = canned.typed(&["eval", "delete", "-filter", "x"], "n\n");
    assert_eq!(ran.stdout, format!("{question}Cancelling eval deletion\n\nNo evaluations were deleted\n"));
    assert_eq!(ran.exit, 0);
    let ran = canned.typed(&["eval", "delete", "-filter", "x"], "y\n");
    assert_eq!((ran.stdout, ran.exit), (format!("{question}\nSuccessfully deleted 6 evaluations\n"), 0));
    assert_eq!(canned.run(&["eval", "delete", EVAL]).stdout, "Successfully deleted 1 evaluation\n");
    assert_eq!(canned.run(&["eval", "delete", "-filter", "x", "-yes"]).stdout, "No evaluations were deleted\n");
    let bodies = canned.bodies("DELETE /v1/evaluations");
    assert_eq!(bodies, [json!({"Filter": "x"}), json!({"EvalIDs": [EVAL]}), json!({"Filter": "x"})]);
    for args in [&["eval", "delete"][..], &["eval", "delete", "-filter", "x", EVAL]] {
        let ran = canned.run(args);
        let want = "Error validating command args and flags: evaluation ID or filter flag required\n";
        assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
    }
}

#[test]
fn deployments_are_found_and_listed() {
    let both = json!([
        deployment(DEPLOYMENT, DeploymentStatus::Running, false),
        deployment(OTHER, DeploymentStatus::Failed, false)
    ]);
    let canned = Canned::new(&[("GET /v1/deployments", both)]);
    let table = "ID        Job ID  Job Version  Status   Description\n\
                 dddddddd  web     3            running  why\n\
                 dddddddd  web     3            failed   why\n";
    assert_eq!(canned.run(&["deployment", "list"]).stdout, table);
    assert_eq!(canned.run(&["deployment", "status"]).stdout, table);
    let ran = canned.run(&["deployment", "status", "dddd"]);
    assert_eq!((ran.stderr, ran.exit), (format!("Prefix matched multiple deployments\n\n{table}"), 1));
    let templated = canned.run(&["deployment", "list", "-t", "{{range .}}{{.Status}} {{end}}"]);
    assert_eq!(templated.stdout, "running failed \n");
    canned.server.take();
    canned.run(&["deployment", "status", "dddd-ddddx"]);
    assert_eq!(canned.server.take()[0].param("prefix"), Some("dddddddd"));

    let none = Canned::new(&[("GET /v1/deployments", json!([]))]);
    assert_eq!(none.run(&["deployment", "list"]).stdout, "No deployments found\n");
    for (args, want) in [
        (
            &["deployment", "status", "ffffff"][..],
            "Error retrieving deployment: Deployment ID \"ffffff\" matched no deployments\n",
        ),
        (
            &["deployment", "fail", "f"],
            "Error retrieving deployment: Identifier must contain at least two characters.\n",
        ),
        (
            &["deployment", "pause", DEPLOYMENT],
            "Error retrieving deployment: Unexpected response code: 404 (not found)\n",
        ),
        (
            &["deployment", "status", "-monitor", "-json", "ff"],
            "The monitor flag cannot be used with the '-json' or '-t' flags\n",
        ),
    ] {
        let ran = none.run(args);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", want, 1), "{args:?}");
    }
}

#[test]
fn deployments_are_changed() {
    let update = |more: Value| {
        let mut all = json!({"EvalID": EVAL});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let canned = Canned::new(&[
        (DEPLOYMENT_LINE, deployment(DEPLOYMENT, DeploymentStatus::Running, false)),
        ("PUT /v1/deployment/pause/dddddddd-1111-2222-3333-444444444444", update(json!({}))),
        ("PUT /v1/deployment/promote/dddddddd-1111-2222-3333-444444444444", update(json!({}))),
        ("PUT /v1/deployment/fail/dddddddd-1111-2222-3333-444444444444", update(json!({"RevertedJobVersion": 2}))),
        ("PUT /v1/deployment/fail/dddddddd-1111-2222-3333-444444444444", update(json!({}))),
        ("PUT /v1/deployment/unblock/dddddddd-1111-2222-3333-444444444444", json!({"EvalID": ""})),
        (EVAL_LINE, eval(json!({}))),
        (ALLOCS_LINE, json!([])),
    ]);
    let named = format!("Deployment \"{DEPLOYMENT}\"");
    let id = format!("Evaluation ID: {EVAL}\n");
    for (args, want) in [
        (&["deployment", "pause", DEPLOYMENT][..], format!("{named} paused\n")),
        (&["deployment", "resume", "-detach", DEPLOYMENT], format!("{named} resumed\n{id}")),
        (&["deployment", "promote", "-detach", DEPLOYMENT], id.clone()),
        (
            &["deployment", "fail", "-detach", DEPLOYMENT],
            format!("{named} failed. Auto-reverted to job version 2.\n{id}"),
        ),
        (&["deployment", "unblock", DEPLOYMENT], format!("{named} unblocked\n")),
    ] {
        let ran = canned.run(args);
        assert_eq!((ran.stdout, ran.stderr.as_str(), ran.exit), (want, "", 0), "{args:?}");
    }
    let ran = canned.run(&["deployment", "fail", DEPLOYMENT]);
    let start = format!("{named} failed\n\n==> NOW: Monitoring evaluation \"eeeeeeee\"\n");
    assert!(timeless(&ran.stdout).starts_with(&start), "{}", ran.stdout);
    let pauses = canned.bodies("PUT /v1/deployment/pause/dddddddd-1111-2222-3333-444444444444");
    assert_eq!(pauses.iter().map(|b| b["Pause"].as_bool()).collect::<Vec<_>>(), [Some(true), Some(false)]);
}

#[test]
fn a_deployment_is_watched_until_it_ends_whatever_the_end_is() {
    let at = |status, index: u64| {
        (DEPLOYMENT_LINE, Response::json(&deployment(DEPLOYMENT, status, false)).with("X-Nomad-Index", index))
    };
    let canned = Canned::of(vec![
        at(DeploymentStatus::Running, 5),
        at(DeploymentStatus::Running, 6),
        at(DeploymentStatus::Failed, 7),
    ]);
    let ran = canned.run(&["deployment", "status", "-monitor", "-wait", "3s", DEPLOYMENT]);
    let got = timeless(&ran.stdout);
    assert!(got.starts_with("NOW: Monitoring deployment \"dddddddd\"\n\nNOW\nID          = dddddddd\n"), "{got}");
    assert_eq!(got.matches("\nID          = ").count(), 2);
    assert!(got.contains("\nStatus      = failed\n"), "{got}");
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let asked: Vec<_> = canned.server.take();
    let index = |i: usize| (asked[i].param("index"), asked[i].param("wait"));
    assert_eq!(
        [index(0), index(1), index(2)],
        [(None, None), (Some("5"), Some("3000ms")), (Some("6"), Some("3000ms"))]
    );
}

#[test]
fn scaling_policies_are_listed_and_shown() {
    let id = "d0841939-1111-2222-3333-444444444444";
    let target = json!({"Group": "g", "Job": "elastic", "Namespace": "default"});
    let canned = Canned::new(&[
        ("GET /v1/scaling/policies", json!([{"ID": id, "Enabled": true, "Type": "horizontal", "Target": target}])),
        (
            "GET /v1/scaling/policy/d0841939-1111-2222-3333-444444444444",
            json!({"ID": id, "Enabled": true, "Type": "horizontal", "Target": target, "Min": 1, "Max": 5,
                   "Policy": {"cooldown": "1m"}}),
        ),
    ]);
    assert_eq!(
        canned.run(&["scaling", "policy", "list"]).stdout,
        "ID        Enabled  Type        Target\n\
         d0841939  true     horizontal  Namespace:default,Job:elastic,Group:g\n"
    );
    assert_eq!(
        canned.run(&["scaling", "policy", "info", "d08419"]).stdout,
        "ID      = d0841939\nEnabled = true\nTarget  = Namespace:default,Job:elastic,Group:g\nMin     = 1\nMax     = 5\n\n\
         Policy:\n{\n    \"cooldown\": \"1m\"\n}\n"
    );
    let none = canned.run(&["scaling", "policy", "info", "ffff"]);
    assert_eq!((none.stderr.as_str(), none.exit), ("No scaling policies with prefix or id \"ffff\" found\n", 1));
    let empty = Canned::new(&[("GET /v1/scaling/policies", Value::Null)]);
    assert_eq!(empty.run(&["scaling", "policy", "list"]).stdout, "No policies found\n");
}

//! No escape sequence where none is welcome: `TERM=dumb`, `NO_COLOR`; and none from names, messages and logs of others.

use encamp_model::{ClientStatus, DeploymentStatus, JobType};
use encamp_test_support::tier;
use serde_json::{Value, json};

use crate::canned::*;
use crate::program::Folder;
use crate::server::{Request, Response, Server};
use crate::terminal::screen::{ENTER, SIZES};
use crate::terminal::{encamp_with, progress};

/// Environments of terminals that take no escape sequences.
const PLAIN: [&[(&str, &str)]; 3] =
    [&[("TERM", "dumb")], &[("TERM", "xterm"), ("NO_COLOR", "1")], &[("TERM", "dumb"), ("NO_COLOR", "1")]];

#[test]
fn plain_terminals_get_no_escape_sequences() {
    let folder = progress::bench("plain", SIZES[0]);
    let slow = progress::slow_cluster(false);
    let deploying = crate::terminal::monitors::deploying(Some(DeploymentStatus::Successful));
    // Sizes matter to what is drawn, which is nothing here.
    let sizes = if tier::is_full() { &SIZES[..] } else { &SIZES[..1] };
    for size in sizes.iter().copied() {
        for env in PLAIN {
            for (args, code) in progress::COMMANDS {
                let ended = encamp_with(size, &folder, &slow.address, env, args).ends();
                ended.with(*code).without_escape_sequences();
            }
            for (args, _) in crate::terminal::monitors::COMMANDS {
                encamp_with(size, &folder, &deploying.address, env, args).ends().with(0).without_escape_sequences();
            }
            let screen = encamp_with(size, &folder, &slow.address, env, &["job", "run", "-plan", "job.hcl"]);
            screen.wait_for("Register the job as planned? [y/N]");
            screen.press(&["n", ENTER].concat());
            screen.ends().with(0).without_escape_sequences();
        }
    }
}

/// What a hostile name does to a terminal: it moves the cursor, clears the screen, sets the title, hides text, rings,
/// and reverses the direction of writing.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[8m\r\u{9b}31m\u{202e}\u{8}y";
/// The same as it may be shown.
const SHOWN: &str = "x\\x1b[2J\\x1b]0;title\\x07\\x1b[8m\\r\\x9b31m\\u202e\\x08y";

/// Replaces every name and message in an answer by the hostile one.
fn poisoned(value: Value) -> Value {
    let texts =
        ["Name", "NodeName", "StatusDescription", "ClientDescription", "Description", "DisplayMessage", "TaskGroup"];
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(k, v)| if texts.contains(&k.as_str()) { (k, json!(HOSTILE)) } else { (k, poisoned(v)) })
            .collect(),
        Value::Array(all) => all.into_iter().map(poisoned).collect(),
        other => other,
    }
}

/// A server whose objects have hostile names, and that refuses writes with a hostile message.
fn hostile() -> Server {
    let states =
        json!({HOSTILE: {"State": "running", "Events": [{"Type": "Driver", "DisplayMessage": HOSTILE, "Time": 1}]}});
    let running = alloc("aaaaaaaa-1111-2222-3333-444444444444", ClientStatus::Running, json!({"TaskStates": states}));
    let node =
        json!({"ID": NODE, "Name": "n", "Status": "ready", "Attributes": {"a": HOSTILE}, "Meta": {HOSTILE: HOSTILE}});
    let summary = json!({"JobID": "web", "Summary": {HOSTILE: {"Running": 1}}});
    Server::start(move |r: &Request| {
        let answer = match r.line().as_str() {
            "GET /v1/jobs" => json!([stub("web")]),
            "GET /v1/job/web" => job(JobType::Service),
            "GET /v1/job/web/summary" => summary.clone(),
            "GET /v1/job/web/allocations" => json!([running]),
            "GET /v1/job/web/versions" => json!({"Versions": [job(JobType::Service)]}),
            "GET /v1/nodes" => json!([node]),
            "GET /v1/allocations" => json!([running]),
            "GET /v1/allocation/aaaaaaaa-1111-2222-3333-444444444444" => running.clone(),
            line if line == format!("GET /v1/node/{NODE}") => node.clone(),
            line if line == format!("GET /v1/node/{NODE}/allocations") => json!([running]),
            "GET /v1/evaluations" => json!([eval(json!({}))]),
            EVAL_LINE => eval(json!({})),
            ALLOCS_LINE => json!([running]),
            "GET /v1/deployments" | "GET /v1/job/web/deployments" => {
                json!([deployment(DEPLOYMENT, DeploymentStatus::Failed, false)])
            }
            DEPLOYMENT_LINE => deployment(DEPLOYMENT, DeploymentStatus::Failed, false),
            "GET /v1/job/web/deployment" => deployment(DEPLOYMENT, DeploymentStatus::Failed, false),
            "GET /v1/job/web/evaluations" => json!([eval(json!({}))]),
            "GET /v1/namespaces" => json!([{"Name": "n", "Description": "d"}]),
            _ => return Response::text(400, HOSTILE),
        };
        Response::json(&poisoned(answer)).with("X-Nomad-Index", 9)
    })
}

#[test]
fn names_and_messages_of_others_are_escaped() {
    let folder = Folder::new("terminal-hostile");
    let hostile_job = JOB.replace("web", "a\\u001b[2Jb");
    folder.file("job.hcl", hostile_job);
    let server = hostile();
    let mut shown = 0;
    for size in SIZES {
        for args in [
            &["job", "status"][..],
            &["job", "status", "web"],
            &["job", "status", "-verbose", "web"],
            &["job", "allocs", "web"],
            &["job", "history", "web"],
            &["job", "deployments", "web"],
            &["job", "stop", "-yes", "web"],
            &["job", "run", "job.hcl"],
            &["job", "plan", "job.hcl"],
            &["job", "validate", "job.hcl"],
            &["node", "status"],
            &["node", "status", NODE],
            &["node", "status", "-verbose", NODE],
            &["alloc", "status", "aaaaaaaa-1111-2222-3333-444444444444"],
            &["alloc", "status", "-verbose", "aaaaaaaa-1111-2222-3333-444444444444"],
            &["eval", "list"],
            &["eval", "status", EVAL],
            &["deployment", "list"],
            &["deployment", "status", DEPLOYMENT],
            &["namespace", "list"],
            &["system", "gc"],
            &["var", "list"],
            &["operator", "raft", "list-peers"],
            &["server", "members"],
        ] {
            let env = [("TERM", "xterm"), ("NO_COLOR", "1")];
            let ended = encamp_with(size, &folder, &server.address, &env, args).ends().without_escape_sequences();
            let text = String::from_utf8_lossy(&ended.raw).replace("\r\n", "");
            assert!(!text.contains(['\r', '\u{202e}']), "{args:?}: {text:?}");
            shown += usize::from(text.contains(SHOWN));
        }
    }
    // The names are there, not left out: most of the commands show one.
    assert!(shown >= 30, "{shown}");
}

const JOB: &str = "job \"web\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"exec\"\n      config { command = \"a\" }\n    }\n  }\n}\n";

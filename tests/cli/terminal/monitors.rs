//! Monitors: evaluations, deployments, drains and dispatched jobs are watched until they end.

use encamp_model::{ClientStatus, DeploymentStatus};
use serde_json::{Value, json};

use crate::canned::*;
use crate::program::Folder;
use crate::server::{Request, Response, Server};
use crate::terminal::screen::{CTRL_C, SIZES};
use crate::terminal::{encamp, stall};

const JOB: &str = "job \"web\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"exec\"\n      config { command = \"a\" }\n    }\n  }\n}\n";

/// A server with a deployment in progress that ends as `status`; without one, nothing new ever comes.
pub fn deploying(status: Option<DeploymentStatus>) -> Server {
    Server::start(move |r: &Request| {
        let later = r.param("index").is_some();
        let state = match (later, &status) {
            (false, _) => DeploymentStatus::Running,
            (true, Some(status)) => status.clone(),
            (true, None) => stall(),
        };
        let answer: Value = match r.line().as_str() {
            "PUT /v1/jobs" => json!({"EvalID": EVAL, "EvalCreateIndex": 20, "JobModifyIndex": 20, "Index": 20}),
            EVAL_LINE => eval(json!({"DeploymentID": DEPLOYMENT})),
            ALLOCS_LINE => json!([alloc("aaaaaaaa-1111-2222-3333-444444444444", ClientStatus::Running, json!({}))]),
            DEPLOYMENT_LINE => deployment(DEPLOYMENT, state, false),
            "GET /v1/deployment/allocations/dddddddd-1111-2222-3333-444444444444" => many_allocations(),
            "GET /v1/evaluations" => json!([eval(json!({"DeploymentID": DEPLOYMENT}))]),
            "GET /v1/deployments" => json!([deployment(DEPLOYMENT, state, false)]),
            "GET /v1/nodes" => json!([node(false)]),
            line if line == format!("GET /v1/node/{NODE}") => {
                if later && status.is_none() {
                    stall()
                }
                node(!later)
            }
            line if line == format!("GET /v1/node/{NODE}/allocations") => json!([]),
            line if line == format!("PUT /v1/node/{NODE}/drain") => json!({"NodeModifyIndex": 30, "EvalIDs": []}),
            _ => return Response::text(404, "not found"),
        };
        Response::json(&answer).with("X-Nomad-Index", if later { 31 } else { 30 })
    })
}

/// More allocations than a terminal has rows.
fn many_allocations() -> Value {
    (0..60)
        .map(|i| alloc(&format!("aaaaaa{i:02}-1111-2222-3333-444444444444"), ClientStatus::Running, json!({})))
        .collect()
}

fn node(drains: bool) -> Value {
    let strategy = if drains { json!({"Deadline": 3_600_000_000_000_i64}) } else { Value::Null };
    json!({"ID": NODE, "Name": "n1", "Status": "ready", "Drain": drains, "DrainStrategy": strategy,
           "SchedulingEligibility": "ineligible", "ModifyIndex": 30})
}

/// Commands that watch, and what they show when they begin.
pub const COMMANDS: &[(&[&str], &str)] = &[
    (&["job", "run", "job.hcl"], "in progress"),
    (&["job", "run", "-verbose", "job.hcl"], "in progress"),
    (&["eval", "status", "-monitor", EVAL], "in progress"),
    (&["deployment", "status", "-monitor", DEPLOYMENT], "in progress"),
    (&["deployment", "status", "-monitor", "-verbose", DEPLOYMENT], "in progress"),
    (&["node", "drain", "-enable", "-yes", NODE], "Ctrl-C to stop monitoring"),
    (&["node", "drain", "-monitor", NODE], "Ctrl-C to detach monitoring"),
];

pub fn bench(name: &str) -> Folder {
    let folder = Folder::new(&format!("terminal-monitors-{name}"));
    folder.file("job.hcl", JOB);
    folder
}

#[test]
fn monitors_end_with_what_they_watch() {
    let folder = bench("end");
    let (good, bad) = (deploying(Some(DeploymentStatus::Successful)), deploying(Some(DeploymentStatus::Failed)));
    for size in SIZES {
        for (args, _) in COMMANDS {
            let ended = encamp(size, &folder, &good.address, args).ends().with(0).without("in progress");
            if args[0] != "node" {
                // A long list of allocations scrolls the heading away.
                assert!(count(&ended.raw, "✓ Deployment".as_bytes()) == 1, "{}", ended.contents);
            }
        }
        encamp(size, &folder, &bad.address, &["job", "run", "job.hcl"]).ends().with(1).showing("failed");
    }
}

#[test]
fn an_interrupt_ends_monitors() {
    let folder = bench("interrupt");
    let server = deploying(None);
    for size in SIZES {
        for (args, begin) in COMMANDS {
            let screen = encamp(size, &folder, &server.address, args);
            screen.wait_for(begin);
            screen.press(CTRL_C);
            screen.ends().with(130);
        }
    }
}

#[test]
fn a_monitor_draws_no_more_than_the_terminal_shows() {
    let folder = bench("tall");
    let server = deploying(None);
    for size in SIZES {
        let screen =
            encamp(size, &folder, &server.address, &["deployment", "status", "-monitor", "-verbose", DEPLOYMENT]);
        screen.wait_for("more lines)");
        // Frames that scrolled could not be removed: the heading would be there once for each.
        screen.wait_until("ten frames", |_, raw| count(raw, b"in progress") >= 10);
        // A frame may be half drawn at this moment.
        screen.wait_until("one frame", |screen, _| screen.contents().matches("in progress").count() == 1);
        screen.press(CTRL_C);
        screen.ends().with(130);
    }
}

fn count(raw: &[u8], what: &[u8]) -> usize {
    raw.windows(what.len()).filter(|w| *w == what).count()
}

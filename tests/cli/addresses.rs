//! Several addresses: where a request goes after a failure, and which writes are sent twice.

use crate::server;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::program::{Ran, run_with};
use crate::server::{Response, Server};
use serde_json::json;

const NOTE: &str = "Trying again for up to 30s: ";

fn run(servers: &[&str], args: &[&str]) -> Ran {
    run_with(&std::env::temp_dir(), args, &[("NOMAD_ADDR", &servers.join(","))], None)
}

/// A server that reads writes and closes the connection.
fn breaking() -> Server {
    Server::start(|r| if r.method == "GET" { Response::json(&json!([])) } else { Response::text(0, "") })
}

/// The lines of the writes that arrived.
fn writes(server: &Server) -> Vec<String> {
    server.take().iter().filter(|r| r.method != "GET").map(server::Request::line).collect()
}

#[test]
fn what_reaches_nobody_goes_to_the_next_address() {
    let good = Server::start(|r| match r.path.as_str() {
        "/v1/namespaces" => Response::json(&json!([{"Name": "prod"}])),
        _ => Response::text(404, "no such thing"),
    });
    let both = ["http://127.0.0.1:1", good.address.as_str()];
    let ran = run(&both, &["namespace", "list", "-json"]);
    assert_eq!((ran.exit, ran.stderr.matches(NOTE).count()), (0, 1), "{ran:?}");
    assert!(ran.stderr.contains("dial tcp 127.0.0.1:1: connect: connection refused"), "{}", ran.stderr);
    let printed: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON alone");
    assert_eq!(printed[0]["Name"], "prod");
    // A refusal is an answer.
    good.take();
    let ran = run(&both, &["operator", "api", "/v1/nothing"]);
    assert_eq!((ran.stdout.as_str(), ran.exit, good.take().len()), ("no such thing", 0, 1), "{ran:?}");

    let ran = run(&["http://127.0.0.1:1"], &["namespace", "list"]);
    let want = "Error retrieving namespaces: Get \"http://127.0.0.1:1/v1/namespaces\": dial tcp 127.0.0.1:1: connect: connection refused\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1), "a single address is wrong");
    let ran = run(&["http://127.0.0.1:1", "ftp://x"], &["namespace", "list"]);
    assert!(ran.stderr.starts_with("Error initializing client: invalid address \"ftp://x\""), "{}", ran.stderr);
}

#[test]
fn any_write_waits_for_a_leader() {
    let first = AtomicBool::new(true);
    let server = Server::start(move |_| match first.swap(false, Ordering::Relaxed) {
        true => Response::text(500, "No cluster leader"),
        false => Response::text(200, "done"),
    });
    let ran = run(&[&server.address], &["operator", "api", "-X", "PUT", "/v1/job/a/dispatch"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("done", 0), "{ran:?}");
    assert_eq!(ran.stderr, format!("{NOTE}Unexpected response code: 500 (No cluster leader)\n"));
    assert_eq!(writes(&server), ["PUT /v1/job/a/dispatch"; 2]);
}

#[test]
fn writes_that_may_have_been_carried_out_are_repeated_if_that_is_harmless() {
    let first = breaking();
    let variable = json!({"Path": "app", "Items": {"k": "v"}, "ModifyIndex": 7});
    let second = Server::start(move |r| match r.param("cas") {
        None => Response::json(&variable),
        Some(_) => Response { status: 409, ..Response::json(&variable) },
    });
    let both = [first.address.as_str(), second.address.as_str()];

    let ran = run(&both, &["var", "put", "-force", "-out", "none", "app", "k=v"]);
    assert_eq!((ran.exit, writes(&first), writes(&second)), (0, lines("PUT /v1/var/app"), lines("PUT /v1/var/app")));
    assert!(ran.stderr.starts_with(NOTE), "{}", ran.stderr);

    // It may have been this very command that made the variable.
    let ran = run(&both, &["var", "put", "-out", "none", "app", "k=v"]);
    assert_eq!((ran.exit, writes(&first), writes(&second)), (1, lines("PUT /v1/var/app"), lines("PUT /v1/var/app")));
    let error = ran.stderr.lines().nth(1).unwrap_or_default();
    assert!(error.starts_with("Error creating variable: outcome unknown, "), "{}", ran.stderr);

    // Two jobs would be one too many.
    let ran = run(&both, &["operator", "api", "-X", "PUT", "/v1/job/a/dispatch"]);
    assert_eq!((ran.exit, writes(&first), writes(&second)), (1, lines("PUT /v1/job/a/dispatch"), vec![]));
    assert!(ran.stderr.starts_with("Error performing request: outcome unknown, "), "{}", ran.stderr);

    // Who knows one address alone looks after it.
    let ran = run(&both[..1], &["var", "put", "-force", "-out", "none", "app", "k=v"]);
    assert_eq!((ran.exit, writes(&first)), (1, lines("PUT /v1/var/app")));
    assert!(ran.stderr.starts_with("Error creating variable: Put \""), "{}", ran.stderr);
}

fn lines(line: &str) -> Vec<String> {
    vec![line.to_string()]
}

//! IDs that are short, long, unknown, no hexadecimal digits, or those of another kind, in all routes that take one.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Known, NIL, World, compare};

/// A request that names an object by `{}`.
struct Route {
    method: &'static str,
    path: &'static str,
    body: Option<Value>,
    /// What is known of the answer to an ID that no object can have, and of that to an unknown one.
    malformed: Known,
    unknown: Known,
}

fn route(method: &'static str, path: &'static str, malformed: &str, unknown: &str) -> Route {
    let [malformed, unknown] = [malformed, unknown].map(|known| Known::from(known.to_string()));
    Route { method, path, body: None, malformed, unknown }
}

fn with(method: &'static str, path: &'static str, body: Value, malformed: &str, unknown: &str) -> Route {
    Route { body: Some(body), ..route(method, path, malformed, unknown) }
}

fn routes() -> Vec<Route> {
    let deployment = |more: Value| {
        let mut body = json!({"DeploymentID": "{}"});
        body.as_object_mut().into_iter().for_each(|b| b.extend(more.as_object().cloned().unwrap_or_default()));
        body
    };
    vec![
        route("GET", "/v1/node/{}", "recorded: nodes/get-short-id", "recorded: nodes/get-404"),
        route("GET", "/v1/node/{}/allocations", "seen: 200 `[]`", "recorded: nodes/allocations-unknown-node"),
        route("PUT", "/v1/node/{}/evaluate", "nothing", "recorded: nodes/evaluate-404"),
        route("PUT", "/v1/node/{}/purge", "nothing", "recorded: nodes/purge-404"),
        with("PUT", "/v1/node/{}/drain", json!({"DrainSpec": null}), "nothing", "recorded: nodes/drain-404"),
        with(
            "PUT",
            "/v1/node/{}/eligibility",
            json!({"Eligibility": "eligible"}),
            "nothing",
            "recorded: nodes/eligibility-404",
        ),
        route("GET", "/v1/client/stats?node_id={}", "nothing", "recorded: nodes/client-stats-404"),
        route("GET", "/v1/client/metadata?node_id={}", "nothing", "nothing"),
        route("GET", "/v1/client/identity?node_id={}", "nothing", "nothing"),
        route("PUT", "/v1/client/identity/renew?node_id={}", "nothing", "nothing"),
        route("PUT", "/v1/client/gc?node_id={}", "nothing", "nothing"),
        route("GET", "/v1/agent/host?node_id={}", "nothing", "nothing"),
        route("GET", "/v1/agent/monitor?node_id={}", "nothing", "recorded: agent/monitor-unknown-node"),
        route("GET", "/v1/agent/pprof/cmdline?node_id={}", "nothing", "nothing"),
        route("GET", "/v1/allocation/{}", "recorded: allocs/get-short-id", "recorded: allocs/get-404"),
        route("PUT", "/v1/allocation/{}/stop", "reported", "recorded: allocs/stop-404"),
        route("GET", "/v1/allocation/{}/services", "reported", "recorded: allocs/services-404"),
        route("GET", "/v1/allocation/{}/checks", "reported", "nothing"),
        route("GET", "/v1/client/allocation/{}/checks", "reported", "recorded: allocs/checks-404"),
        route("GET", "/v1/client/allocation/{}/stats", "reported", "recorded: allocs/stats-404"),
        route("PUT", "/v1/client/allocation/{}/restart", "reported", "recorded: allocs/restart-404"),
        with(
            "PUT",
            "/v1/client/allocation/{}/signal",
            json!({"Signal": "SIGHUP"}),
            "reported",
            "recorded: allocs/signal-404",
        ),
        route("PUT", "/v1/client/allocation/{}/gc", "reported", "recorded: allocs/gc-404"),
        route("GET", "/v1/client/fs/ls/{}", "reported", "recorded: fs/ls-404"),
        route("GET", "/v1/client/fs/stat/{}?path=/", "reported", "nothing"),
        route("GET", "/v1/client/fs/cat/{}?path=/x", "reported", "nothing"),
        route("GET", "/v1/client/fs/readat/{}?path=/x&offset=0", "reported", "nothing"),
        route("GET", "/v1/client/fs/stream/{}?path=/x", "reported", "nothing"),
        route("GET", "/v1/client/fs/logs/{}?task=t&type=stdout", "reported", "recorded: fs/logs-404"),
        route("GET", "/v1/evaluation/{}", "nothing", "recorded: evals/get-404"),
        route("GET", "/v1/evaluation/{}/allocations", "nothing", "recorded: evals/allocations-404"),
        route("GET", "/v1/deployment/{}", "nothing", "recorded: deploy/get-404"),
        route("GET", "/v1/deployment/allocations/{}", "nothing", "recorded: deploy/allocations-404"),
        route("PUT", "/v1/deployment/fail/{}", "nothing", "recorded: deploy/fail-404"),
        with("PUT", "/v1/deployment/pause/{}", deployment(json!({"Pause": true})), "nothing", "nothing"),
        with(
            "PUT",
            "/v1/deployment/promote/{}",
            deployment(json!({"All": true})),
            "nothing",
            "recorded: deploy/promote-404",
        ),
        with("PUT", "/v1/deployment/unblock/{}", deployment(json!({})), "nothing", "nothing"),
        with(
            "PUT",
            "/v1/deployment/allocation-health/{}",
            deployment(json!({"HealthyAllocationIDs": [NIL]})),
            "nothing",
            "nothing",
        ),
        route("GET", "/v1/scaling/policy/{}", "nothing", "recorded: scale/policy-404"),
        route("GET", "/v1/job/{}", "recorded: jobs/get-404", "recorded: jobs/get-404"),
        route("GET", "/v1/job/{}/summary", "recorded: jobs/summary-404", "recorded: jobs/summary-404"),
        route("GET", "/v1/job/{}/allocations", "recorded: jobs/allocations-404", "recorded: jobs/allocations-404"),
        route("GET", "/v1/job/{}/evaluations", "recorded: jobs/evaluations-404", "recorded: jobs/evaluations-404"),
        route("GET", "/v1/job/{}/deployments", "recorded: jobs/deployments-404", "recorded: jobs/deployments-404"),
        route("GET", "/v1/job/{}/deployment", "recorded: jobs/deployment-404", "recorded: jobs/deployment-404"),
        route("GET", "/v1/job/{}/versions", "recorded: jobs/versions-404", "recorded: jobs/versions-404"),
        route("GET", "/v1/job/{}/scale", "recorded: jobs/scale-status-404", "recorded: jobs/scale-status-404"),
        route("GET", "/v1/job/{}/services", "recorded: jobs/services-404", "recorded: jobs/services-404"),
        route("PUT", "/v1/job/{}/evaluate", "recorded: jobs/evaluate-404", "recorded: jobs/evaluate-404"),
        route("DELETE", "/v1/job/{}", "recorded: stop/stop-404", "recorded: stop/stop-404"),
        route("GET", "/v1/volume/host/{}", "nothing", "recorded: volumes/host-get-404"),
        route("DELETE", "/v1/volume/host/{}", "nothing", "recorded: volumes/host-delete-404"),
        route("DELETE", "/v1/volumes/claim/{}", "nothing", "recorded: volumes/claim-delete-404"),
        route("GET", "/v1/volumes?type=host&node_id={}", "nothing", "nothing"),
        route("GET", "/v1/volumes?type=csi&node_id={}", "nothing", "nothing"),
        route("GET", "/v1/volume/csi/{}", "recorded: volumes/csi-get-404", "recorded: volumes/csi-get-404"),
        route("GET", "/v1/plugin/csi/{}", "recorded: volumes/plugin-404", "recorded: volumes/plugin-404"),
        route("GET", "/v1/node/pool/{}", "recorded: nodepools/get-404", "recorded: nodepools/get-404"),
        route(
            "GET",
            "/v1/node/pool/{}/nodes",
            "recorded: nodepools/nodes-unknown",
            "recorded: nodepools/nodes-unknown",
        ),
        route("GET", "/v1/namespace/{}", "recorded: namespaces/get-404", "recorded: namespaces/get-404"),
        route("DELETE", "/v1/namespace/{}", "recorded: namespaces/delete-404", "recorded: namespaces/delete-404"),
        route("GET", "/v1/service/{}", "recorded: services/get-none", "recorded: services/get-none"),
        route("DELETE", "/v1/service/web/{}", "recorded: services/delete-404", "recorded: services/delete-404"),
        route("GET", "/v1/var/{}", "recorded: vars/get-404", "recorded: vars/get-404"),
        route("DELETE", "/v1/operator/keyring/key/{}", "nothing", "recorded: operator/keyring-delete-unknown"),
    ]
}

/// IDs that no row can have: too short, too long, of the right length without being hexadecimal.
fn malformed(real: &str) -> [(&'static str, String); 4] {
    let letters = "zzzzzzzz-0000-0000-0000-000000000000";
    [
        ("short", real[..8].to_string()),
        ("a word", "nope".into()),
        ("long", format!("{real}00")),
        ("no digits", letters.into()),
    ]
}

/// Asks for an ID; the answer shows it as `X`.
fn ask(world: &World, route: &Route, id: &str) -> String {
    let body = route.body.as_ref().map(|b| {
        let text = b.to_string().replace("{}", id);
        serde_json::from_str::<Value>(&text).expect("JSON")
    });
    let answer = world.ask(route.method, &route.path.replace("{}", id), body.as_ref());
    answer.replace(&super::line(id), "X")
}

/// Makes all requests; the table, and what differs from Nomad.
pub fn table(world: &World, wrong: &mut Vec<String>) -> String {
    let mut out = String::from("\n## IDs\n\nX is the ID of the request. The IDs without an object of their kind:\n\n");
    out.push_str(
        "- malformed: 8 characters, a word, 38 characters; 36 characters that are no hexadecimal digits have the\n",
    );
    out.push_str("  same status;\n- unknown: a UUID that nothing has, and one of an object of another kind.\n\n");
    out.push_str("| request | malformed ID | Nomad 2.0.5 | unknown ID | Nomad 2.0.5 |\n|---|---|---|---|---|\n");
    let (mut routes_seen, mut requests) = (0, 0);
    for route in routes() {
        let of_other = if route.path.starts_with("/v1/node") || route.path.contains("node_id") {
            &world.eval
        } else {
            &world.node
        };
        let bad = malformed(of_other).map(|(what, id)| (what, ask(world, &route, &id)));
        let status = |answer: &str| answer.split(' ').next().unwrap_or_default().to_string();
        for (what, answer) in &bad {
            let same = if *what == "no digits" { status(answer) == status(&bad[0].1) } else { *answer == bad[0].1 };
            assert!(same, "{} {}: {what}: {answer}, short: {}", route.method, route.path, bad[0].1);
        }
        let unknown = [NIL, of_other.as_str()].map(|id| ask(world, &route, id));
        assert_eq!(unknown[0], unknown[1], "{} {}: unknown, of another kind", route.method, route.path);
        requests += bad.len() + unknown.len();
        routes_seen += 1;
        let mut cells = Vec::new();
        for (ours, known) in [(&bad[0].1, &route.malformed), (&unknown[0], &route.unknown)] {
            // Recordings have their own IDs.
            let fold = |theirs: String| theirs.replace("<id>", "X").replace("nope", "X").replace("zz", "X");
            let (cell, fits) = compare(known, ours, fold);
            if !fits {
                wrong.push(format!("{} {}: {ours}; {cell}", route.method, route.path));
            }
            cells.push(format!("{ours} | {cell}"));
        }
        let _ = writeln!(out, "| {} `{}` | {} |", route.method, route.path.replace("{}", "X"), cells.join(" | "));
    }
    // Rows are found by every spelling of their ID.
    for spelled in [world.node.to_uppercase(), world.node.replace('-', "").replacen("", "-", 1)] {
        let digits: String = spelled.chars().filter(|c| *c != '-').collect();
        let id = format!("{}----{}", &digits[..4], &digits[4..]);
        for id in [spelled.clone(), id].iter().filter(|id| id.len() == 36) {
            let found = world.ask("GET", &format!("/v1/node/{id}"), None);
            assert_eq!(found, "200 an object", "{id}");
            requests += 1;
        }
    }
    println!("IDs: {routes_seen} routes, {requests} requests");
    assert!(routes_seen > 60 && requests > 380, "{routes_seen} {requests}");
    out
}

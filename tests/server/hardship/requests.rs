//! Malformed requests: bodies, paths, methods, parameters, IDs, sizes.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, wait_for};
use crate::hardship::support::*;
use crate::program::Folder;

#[test]
fn malformed_bodies_are_refused() {
    let folder = Folder::new("hardship-bodies");
    let mut agent = Agent::start(&folder, "", &["-dev"]);
    led(&agent);
    let before = agent.get("/v1/operator/scheduler/configuration");
    let deep = "[".repeat(10_000);
    let deep_objects = "{\"Job\":".repeat(10_000);
    let bodies: [&[u8]; 9] = [
        b"not JSON",
        b"{\"Job\": {\"ID\": ",
        b"[]",
        b"7",
        b"\"text\"",
        b"",
        deep.as_bytes(),
        deep_objects.as_bytes(),
        b"{\"Name\": \"\xff\xfe\", \"Job\": {\"ID\": \"\xff\"}}",
    ];
    let wrong_types = json!({
        "Job": 7, "JobHCL": 7, "Count": "x", "SchedulerAlgorithm": 7, "Name": 7, "Items": 7, "Prefix": 7, "Text": 7,
        "Eligibility": 7, "DrainSpec": 7, "DeploymentID": 7, "JobID": 7, "Payload": 7, "num_schedulers": "x",
        "CleanupDeadServers": 7, "Volume": 7, "Meta": 7, "Version": "x", "Jobs": 7,
    });
    let wrong_types = wrong_types.to_string();
    for (method, path, prefix) in [
        ("PUT", "/v1/jobs", ""),
        ("POST", "/v1/job/x", ""),
        ("PUT", "/v1/job/x/plan", ""),
        ("PUT", "/v1/validate/job", ""),
        ("POST", "/v1/jobs/parse", ""),
        ("PUT", "/v1/job/x/dispatch", ""),
        ("PUT", "/v1/job/x/scale", ""),
        ("PUT", "/v1/job/x/revert", ""),
        ("PUT", "/v1/job/x/versions/v/tag", ""),
        ("POST", "/v1/jobs/statuses", ""),
        ("PUT", "/v1/operator/scheduler/configuration", "Error parsing scheduler config: "),
        ("PUT", "/v1/operator/autopilot/configuration", "Error parsing autopilot config: "),
        ("PUT", "/v1/agent/schedulers/config", "Invalid request: "),
        ("PUT", "/v1/node/pools", ""),
        ("PUT", "/v1/namespace", ""),
        ("PUT", "/v1/var/x", ""),
        ("POST", "/v1/search", ""),
        ("POST", "/v1/search/fuzzy", ""),
        ("PUT", &format!("/v1/node/{NOBODY}/drain"), ""),
        ("PUT", &format!("/v1/node/{NOBODY}/eligibility"), ""),
        ("PUT", &format!("/v1/deployment/pause/{NOBODY}"), ""),
        ("PUT", "/v1/volume/host/create", ""),
        ("POST", "/v1/client/metadata", ""),
    ] {
        for body in bodies.iter().copied().chain([wrong_types.as_bytes()]) {
            let response = exchange(&agent, &request(method, path, body));
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]);
            assert!(response.status == 400 && response.is_plain(), "{path} {shown}: {response:?}");
            assert!(response.body.starts_with(prefix) && response.body.len() < 300, "{path} {shown}: {response:?}");
            if body.is_empty() {
                assert_eq!(response.body, format!("{prefix}Request body is empty"), "{path}");
            }
        }
        let chunked = head(method, path, "Transfer-Encoding: chunked\r\n");
        for (chunks, text) in [("0\r\n\r\n", "E"), ("4\r\n{\"a\"\r\n0\r\n\r\n", "E"), ("zz\r\n{}", "unexpected EOF")] {
            let response = exchange(&agent, &[&chunked, chunks.as_bytes()].concat());
            assert!(response.status == 400 && response.is_plain(), "{path} {chunks}: {response:?}");
            assert!(text == "E" || response.body == format!("{prefix}{text}"), "{path} {chunks}: {response:?}");
        }
    }
    // None of the requests had an effect.
    assert_eq!(agent.get("/v1/jobs"), json!([]));
    assert_eq!(agent.get("/v1/operator/scheduler/configuration"), before);
    let pools: Vec<Value> = agent.list("/v1/node/pools").iter().map(|p| p["Name"].clone()).collect();
    assert_eq!(pools, ["all", "default"]);
    unharmed(&mut agent);
}

#[test]
fn wrong_paths_methods_and_parameters_are_reported() {
    let folder = Folder::new("hardship-paths");
    let mut agent = Agent::start(&folder, "", &["-dev"]);
    led(&agent);
    wait_for("a node", || match agent.list("/v1/nodes").len() {
        1 => Ok(()),
        n => Err(format!("{n} nodes")),
    });
    for path in ["/v1", "/v1/nothing", "/x", "/v1/jobs/", "/v1/jobsx", "/debug/pprof/heap"] {
        for method in ["GET", "PUT", "DELETE"] {
            assert_eq!(exchange(&agent, &head(method, path, "")).status_and_body(), (404, ""), "{method} {path}");
        }
    }
    for (method, path) in [
        ("DELETE", "/v1/jobs"),
        ("PATCH", "/v1/job/x"),
        ("BREW", "/v1/nodes"),
        ("OPTIONS", "/v1/nodes"),
        ("TRACE", "/v1/nodes"),
        ("PUT", "/v1/evaluation/x"),
        ("GET", "/v1/node/x/drain"),
        ("POST", "/v1/system/gc"),
    ] {
        let response = exchange(&agent, &head(method, path, ""));
        assert!(
            response.is_plain() && response.status_and_body() == (405, "Invalid method"),
            "{method} {path}: {response:?}"
        );
    }
    let response = exchange_half_closed_text(&agent, &head("HEAD", "/v1/jobs", ""));
    assert!(response.starts_with("HTTP/1.1 405 ") && response.ends_with("\r\n\r\n"), "{response}");

    // Invalid percent-encodings, bytes that are not text, very long names: no job has such an ID.
    let long = "a".repeat(16 << 10);
    for id in ["%", "%zz", "%ff%fe", "a%00b", "%2e%2e%5cetc", "a%0d%0aX:%20y", &long, &"%41".repeat(16 << 10)] {
        let response = exchange(&agent, &head("GET", &format!("/v1/job/{id}"), ""));
        assert!(response.is_plain() && response.status_and_body() == (404, "job not found"), "{id:.40}: {response:?}");
    }
    for (path, place) in [
        ("/v1/job/../nodes", "/v1/nodes"),
        ("/v1/job/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd"),
        ("//v1//x/..", "/v1/"),
    ] {
        let response = exchange(&agent, &head("GET", path, ""));
        assert!(
            response.status == 307 && response.head.contains(&format!("location: {place}\r\n")),
            "{path}: {response:?}"
        );
    }
    let started = Instant::now();
    assert_eq!(
        exchange(&agent, &head("GET", &format!("/v1{}", "/a".repeat(30 << 10)), "")).status_and_body(),
        (404, "")
    );
    assert!(started.elapsed() < Duration::from_secs(2), "many segments cost {:?}", started.elapsed());
    for bytes in [
        &b"GET /v1/job/a\0b HTTP/1.1\r\n\r\n"[..],
        b"GET /v1/job/\xff HTTP/1.1\r\n\r\n",
        b"GET  HTTP/1.1\r\n\r\n",
        b"GET /v1/jobs HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03 TLS to a plain port\r\n\r\n",
        b"PUT /v1/jobs HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"PUT /v1/jobs HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        assert_eq!(exchange(&agent, bytes).status, 400, "{}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(exchange(&agent, &head("GET", &format!("/v1/job/{}", "a".repeat(70_000)), "")).status, 414);
    let headers = (0..200).map(|i| format!("X-{i}: y\r\n")).collect::<String>();
    assert_eq!(exchange(&agent, &head("GET", "/v1/jobs", &headers)).status, 431);
    assert_eq!(exchange(&agent, &head("GET", "/v1/jobs", &format!("X: {}\r\n", "y".repeat(600_000)))).status, 431);

    let number = "Expect a number for `per_page` query string parameter";
    let filter = "failed to create result paginator: failed to read filter expression: ";
    let deep = format!("filter={}", "(".repeat(5000));
    let nots = format!("filter={}Name", "not%20".repeat(5000));
    for (list, query, status, text) in [
        ("jobs", "index=abc", 400, "Invalid index"),
        ("jobs", "index=-1", 400, "Invalid index"),
        ("nodes", "index=99999999999999999999", 400, "Invalid index"),
        ("nodes", "wait=xyz", 400, "Invalid wait time"),
        ("evaluations", "wait=10", 400, "Invalid wait time"),
        ("jobs", "wait=99999999999999h", 400, "Invalid wait time"),
        ("jobs", "per_page=x", 400, number),
        ("allocations", "per_page=99999999999", 400, number),
        ("jobs", "stale=maybe", 400, "Expect `true` or `false` for `stale` query string parameter"),
        ("jobs", "region=nowhere", 500, "No path to region"),
        ("jobs", "meta=maybe", 500, "Failed to parse value of \"meta\" (maybe) as a bool: "),
        ("jobs", "filter=Name%20%3D%3D", 400, filter),
        ("deployments", "filter=%22", 400, filter),
        ("jobs", deep.as_str(), 400, filter),
        ("jobs", nots.as_str(), 400, filter),
        ("nodes", "filter=Nope%20is%20empty", 400, "failed to read result page: "),
        ("nodes", "filter=Name%20matches%20%22%5B%22", 400, "failed to read result page: "),
        (
            "nodes",
            "filter=Name%20matches%20%22((a%7B999%7D)%7B999%7D)%7B999%7D%22",
            400,
            "failed to read result page: ",
        ),
        ("vars", "index=abc", 400, "Invalid indexfailed to parse parameters"),
    ] {
        let response = exchange(&agent, &head("GET", &format!("/v1/{list}?{query}"), ""));
        assert!(
            response.status == status && response.is_plain() && response.body.starts_with(text),
            "{list} {query:.60}: {response:?}"
        );
    }
    // As in Nomad: an empty page, and the token of the next one.
    let negative = exchange(&agent, &head("GET", "/v1/nodes?per_page=-1", ""));
    assert!(negative.status_and_body() == (200, "[]") && negative.head.contains("x-nomad-nexttoken: "), "{negative:?}");
    unharmed(&mut agent);
}

#[test]
fn wrong_ids_are_told_apart() {
    let folder = Folder::new("hardship-ids");
    let mut agent = Agent::start(&folder, "", &["-dev"]);
    led(&agent);
    let body = |id: &str| {
        json!({ "DeploymentID": id, "Pause": true, "All": true, "NodeID": id, "Eligibility": "eligible" }).to_string()
    };
    let short = "UUID must be 36 characters";
    let zs = "zzzzzzzz-0000-0000-0000-000000000000";
    let no_uuid = "Invalid UUID: encoding/hex: invalid byte: U+007A 'z'";
    for (method, path, table, unknown) in [
        ("GET", "/v1/evaluation/ID", "eval", (404, "eval not found")),
        ("GET", "/v1/allocation/ID", "alloc", (404, "alloc not found")),
        ("GET", "/v1/deployment/ID", "deployment", (404, "deployment not found")),
        ("GET", "/v1/node/ID", "node", (404, "node not found")),
        ("GET", "/v1/evaluation/ID/allocations", "alloc", (200, "[]")),
        ("GET", "/v1/deployment/allocations/ID", "alloc", (200, "[]")),
        ("PUT", "/v1/deployment/pause/ID", "deployment", (500, "deployment not found")),
        ("PUT", "/v1/deployment/promote/ID", "deployment", (500, "deployment not found")),
        ("PUT", "/v1/deployment/fail/ID", "deployment", (500, "deployment not found")),
        ("PUT", "/v1/node/ID/evaluate", "node", (500, "node not found")),
        ("PUT", "/v1/node/ID/drain", "node", (500, "node not found")),
        ("PUT", "/v1/node/ID/eligibility", "node", (500, "node not found")),
        ("PUT", "/v1/node/ID/purge", "node", (500, "node not found")),
    ] {
        for (id, text) in [("abc", short), ("abcd", short), (&NOBODY[1..], short), (zs, no_uuid)] {
            let response = exchange(&agent, &request(method, &path.replace("ID", id), body(id).as_bytes()));
            let want = format!("{table} lookup failed: index error: {text}");
            assert_eq!(response.status_and_body(), (500, want.as_str()), "{path} {id}");
        }
        let response = exchange(&agent, &request(method, &path.replace("ID", NOBODY), body(NOBODY).as_bytes()));
        assert_eq!(response.status_and_body(), unknown, "{path}");
    }
    // Nothing is looked up by its own ID.
    for id in ["abc", "abcd", &NOBODY[1..], zs, NOBODY] {
        assert_eq!(
            exchange(&agent, &head("GET", &format!("/v1/node/{id}/allocations"), "")).status_and_body(),
            (200, "[]"),
            "{id}"
        );
    }
    for (list, table) in
        [("nodes", "node"), ("allocations", "alloc"), ("evaluations", "eval"), ("deployments", "deployment")]
    {
        for (prefix, text) in [
            ("abc", "Input (without hyphens) must be even length".to_string()),
            ("zz", "Invalid UUID: ".into()),
            (&format!("{NOBODY}0"), "Invalid UUID length. UUID have 36 characters; got 37".into()),
            ("a-b-c-d-e-f", "UUID should have maximum of 4 \"-\"; got 5".into()),
        ] {
            let response = exchange(&agent, &head("GET", &format!("/v1/{list}?prefix={prefix}"), ""));
            let want = format!("{table} lookup failed: index error: {text}");
            assert!(response.status == 500 && response.body.starts_with(&want), "{list} {prefix}: {response:?}");
        }
        assert_eq!(exchange(&agent, &head("GET", &format!("/v1/{list}?prefix=abcd"), "")).status, 200);
    }
    for (path, text) in [
        (format!("/v1/client/allocation/{NOBODY}/stats"), format!("Unknown allocation \"{NOBODY}\"")),
        (format!("/v1/client/fs/ls/{NOBODY}"), format!("Unknown allocation \"{NOBODY}\"")),
        (format!("/v1/client/stats?node_id={NOBODY}"), format!("Unknown node {NOBODY}")),
        ("/v1/job/nobody".into(), "job not found".into()),
        ("/v1/var/nobody".into(), "variable not found".into()),
        ("/v1/volume/host/nobody".into(), "volume not found".into()),
        ("/v1/node/pool/nobody".into(), "node pool not found".into()),
        ("/v1/namespace/nobody".into(), "Namespace not found".into()),
    ] {
        assert_eq!(exchange(&agent, &head("GET", &path, "")).status_and_body(), (404, text.as_str()), "{path}");
    }
    unharmed(&mut agent);
}

#[test]
fn huge_bodies_are_refused_without_buffering() {
    let folder = Folder::new("hardship-huge");
    let mut agent = Agent::start(&folder, "", &["-dev"]);
    led(&agent);
    let before = memory(&agent, "VmHWM");
    let too_large = "Request body is larger than 32 MiB";
    for length in ["33554433", "999999999999"] {
        let response = exchange(&agent, &head("PUT", "/v1/jobs", &format!("Content-Length: {length}\r\n")));
        assert!(response.is_plain() && response.status_and_body() == (413, too_large), "{response:?}");
    }
    let response = exchange(&agent, &head("PUT", "/v1/jobs", "Content-Length: 99999999999999999999999\r\n"));
    assert_eq!(response.status, 400);
    let response = exchange(&agent, &head("PUT", "/v1/operator/snapshot", "Content-Length: 999999999999\r\n"));
    assert_eq!(response.status_and_body(), (413, "Request body is larger than 1024 MiB"));

    // Endless bodies, on paths that read them and on paths that do not.
    for (path, expected) in
        [("/v1/jobs", (413, too_large)), ("/v1/job/x/dispatch/payload", (413, too_large)), ("/v1/no", (404, ""))]
    {
        let mut stream = agent.connect();
        stream.write_all(&head("PUT", path, "Transfer-Encoding: chunked\r\n")).expect("written");
        let chunk = [&b"100000\r\n"[..], &b" ".repeat(1 << 20), b"\r\n"].concat();
        let sent = (0..256).take_while(|_| stream.write_all(&chunk).is_ok()).count();
        // Sockets buffer, and the rest of a refused body is read for a while.
        assert!(sent < 128, "{path}: {sent} MiB were taken");
        assert_eq!(answer(stream).status_and_body(), expected, "{path}");
    }
    // Small texts with very many values.
    for text in ["{},", "[],", "0,", "{\"\":0},", "\"\","] {
        let body = format!("{{\"x\":[{}0]}}", text.repeat(500_000));
        for path in ["/v1/node/pools", "/v1/jobs"] {
            let response = exchange(&agent, &request("PUT", path, body.as_bytes()));
            assert_eq!(response.status_and_body(), (413, "Request body holds more than 500000 values"), "{text}");
        }
    }
    // Just below the limit: read, and rejected as invalid.
    let body = format!("{{\"x\":[{}0]}}", "{\"\":0},".repeat(160_000));
    let response = exchange(&agent, &request("PUT", "/v1/node/pools", body.as_bytes()));
    assert!(response.status == 400 && response.body.starts_with("invalid node pool \"\": "), "{response:?}");
    let spec = json!({ "JobHCL": "#".repeat((4 << 20) + 1) }).to_string();
    let response = exchange(&agent, &request("PUT", "/v1/jobs/parse", spec.as_bytes()));
    assert_eq!(response.status_and_body(), (413, "Job spec is larger than 4 MiB"));
    let grown = memory(&agent, "VmHWM").saturating_sub(before) >> 20;
    assert!(grown < 200, "{grown} MiB more than before");
    unharmed(&mut agent);
}

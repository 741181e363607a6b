//! Commands about variables, volumes and the agent's health, against canned answers.

use serde_json::{Value, json};

use crate::canned::{run, run_in, said, sent, serving};
use crate::program::Folder;
use crate::server::{Request, Response, Server};

const MADE: i64 = 1_795_240_306_140_334_823;
const CHANGED: i64 = 1_795_240_306_301_994_912;

fn variable(items: Value) -> Value {
    json!({"Namespace": "default", "Path": "app/web", "CreateIndex": 469, "ModifyIndex": 472, "CreateTime": MADE,
        "ModifyTime": CHANGED, "Items": items})
}

#[test]
fn variables_are_shown_in_all_forms() {
    let server = serving(vec![("GET /v1/var/app/web", Response::json(&variable(json!({"user": "bob"}))))]);
    let json = "{\n  \"Namespace\": \"default\",\n  \"Path\": \"app/web\",\n  \"CreateIndex\": 469,\n  \"ModifyIndex\": 472,\n  \
                \"CreateTime\": 1795240306140334823,\n  \"ModifyTime\": 1795240306301994912,\n  \"Items\": {\n    \"user\": \
                \"bob\"\n  }\n}\n";
    let table = "Namespace   = default\nPath        = app/web\nCreate Time = 2026-11-21T05:51:46Z\n\
                 Modify Time = 2026-11-21T05:51:46Z\nCheck Index = 472\n\nItems\nuser = bob\n";
    let hcl = "\nnamespace    = \"default\"\npath         = \"app/web\"\ncreate_index = 469  # Set by server\n\
               modify_index = 472  # Set by server; consulted for check-and-set\n\
               create_time  = 1795240306140334823   # Set by server\nmodify_time  = 1795240306301994912   # Set by server\n\n\
               items = {\n  user = \"bob\"\n}\n\n";
    for (args, want) in [
        (&["app/web"][..], json),
        (&["-out", "table", "app/web"], table),
        (&["-out=hcl", "app/web"], hcl),
        (&["-out=none", "app/web"], ""),
        (&["-item", "user", "app/web"], "bob"),
        (&["-out", "go-template", "-template", "{{.Path}}={{.Items.user}}", "app/web"], "app/web=bob\n"),
    ] {
        let ran = run(&server, &[&["var", "get"], args].concat());
        assert_eq!(said(&ran), (want, "", 0), "{args:?}");
    }
    let ran = run(&server, &["var", "get", "-item", "nope", "app/web"]);
    assert_eq!(said(&ran), ("", "Variable does not contain \"nope\" item\n", 1));
    assert_eq!(said(&run(&server, &["var", "get", "app/none"])), ("", "Variable not found\n", 1));
    let ran = run(&server, &["var", "get", "-namespace", "*", "app/web"]);
    assert_eq!(said(&ran), ("", "The wildcard namespace (\"*\") is not valid for this command.\n", 1));
}

#[test]
fn variables_are_listed() {
    let row = |path: &str| json!({"Namespace": "default", "Path": path, "CreateIndex": 1, "ModifyIndex": 2, "CreateTime": MADE, "ModifyTime": CHANGED});
    let rows = json!([row("app/web"), row("app/db")]);
    let server = serving(vec![("GET /v1/vars", Response::json(&rows).with("X-Nomad-NextToken", "default.app/x"))]);
    let ran = run(&server, &["var", "list", "-out", "table", "app"]);
    let want = "Namespace  Path     Last Updated\ndefault    app/db   2026-11-21T05:51:46Z\ndefault    app/web  2026-11-21T05:51:46Z\n";
    assert_eq!((ran.stdout.as_str(), ran.exit), (want, 0));
    assert_eq!(sent(&server, "GET /v1/vars")[0].param("prefix"), Some("app"));
    let ran = run(&server, &["var", "list", "-out", "terse", "-per-page", "2"]);
    assert_eq!(said(&ran), ("app/db\napp/web\n", "Next page token: default.app/x\n", 0));
    let ran = run(&server, &["var", "list"]);
    assert!(ran.stdout.starts_with("[\n    {\n        \"CreateIndex\": 1,\n"), "{ran:?}");
    let ran = run(&server, &["var", "list", "-out", "yaml"]);
    let want = "Invalid value for \"-out\"; valid values are [go-template, json, table, terse]\n\
                For additional help try 'encamp var list -help'\n";
    assert_eq!(said(&ran), ("", want, 1));
    let ran = run(&server, &["var", "list", "-out", "terse", "-filter", "x"]);
    assert!(
        ran.stderr.starts_with("Filter queries require a full scan of the data; use prefix searching where possible\n"),
        "{ran:?}"
    );
    let none = serving(vec![("GET /v1/vars", Response::json(&json!([])))]);
    assert_eq!(said(&run(&none, &["var", "list", "-out=table"])), ("No matching variables found\n", "", 0));
}

#[test]
fn variables_are_written_with_a_check() {
    let server = serving(vec![("PUT /v1/var/app/web", Response::json(&variable(json!({"user": "bob"}))))]);
    let ran = run(&server, &["var", "put", "-out=none", "app/web", "user=bob", "limit="]);
    assert_eq!(said(&ran), ("Created variable \"app/web\" with modify index 472\n", "", 0));
    let asked = &sent(&server, "PUT /v1/var/app/web")[0];
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!((asked.param("cas"), &body["Items"]), (Some("0"), &json!({"user": "bob"})));
    run(&server, &["var", "put", "-force", "app/web", "user=bob"]);
    assert_eq!(sent(&server, "PUT /v1/var/app/web")[0].param("cas"), None);
    run(&server, &["var", "put", "-check-index", "9", "app/web", "user=bob"]);
    assert_eq!(sent(&server, "PUT /v1/var/app/web")[0].param("cas"), Some("9"));

    let folder = Folder::new("variables");
    folder.file(
        "spec.nv.hcl",
        "path = \"app/web\"\nmodify_index = 5\nitems {\n  user = \"u1\"\n  a.b = 1\n}\n".replace("  a.b = 1\n", ""),
    );
    folder.file("value", "from a file");
    let ran = run_in(&server, folder.path(), &["var", "put", "-verbose", "-out=table", "@spec.nv.hcl", "a.b=@value"]);
    let want = "Reading whole HCL variable specification from \"spec.nv.hcl\"\nVariable Warnings:\n1 warning:\n\n\
                * \"a.b\" contains characters [\".\"] that require the 'index' function for direct access in templates\n\n\
                Created variable \"app/web\" with modify index 472\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 0));
    let asked = &sent(&server, "PUT /v1/var/app/web")[0];
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!((asked.param("cas"), &body["Items"]), (Some("5"), &json!({"user": "u1", "a.b": "from a file"})));
    let ran = run(&server, &["var", "put", "app/web"]);
    assert!(ran.stderr.starts_with("Not enough arguments (expected >1, got 1)\nFor additional"), "{ran:?}");
}

#[test]
fn a_conflict_names_both_indexes_and_the_way_out() {
    let conflict = Response { status: 409, ..Response::json(&variable(json!({"user": "x"}))) };
    let server = serving(vec![("PUT /v1/var/app/web", conflict.clone()), ("DELETE /v1/var/app/web", conflict)]);
    let text = |given: u64| {
        format!(
            "\nCheck-and-Set conflict\n\n    Your provided check-index ({given}) does not match the server-side index (472). The\n    \
             server-side item was last updated on 2026-11-21T05:51:46Z. If you are sure you\n    \
             want to perform this operation, add the -force or -check-index=472 flag before\n    \
             the positional arguments.\n\n"
        )
    };
    let ran = run(&server, &["var", "put", "-out=none", "app/web", "user=bob"]);
    assert_eq!(said(&ran), ("", text(0).as_str(), 1));
    let ran = run(&server, &["var", "purge", "-check-index", "1", "app/web"]);
    assert_eq!(said(&ran), ("", text(1).as_str(), 1));
    let server = serving(vec![("DELETE /v1/var/app/web2", Response::text(204, ""))]);
    let ran = run(&server, &["var", "purge", "app/web2"]);
    assert_eq!(said(&ran), ("Successfully purged variable \"app/web2\"!\n", "", 0));
}

#[test]
fn example_specifications_can_be_written() {
    let folder = Folder::new("var-init");
    let server = serving(vec![("PUT /v1/var/path/to/variable", Response::json(&variable(json!({}))))]);
    let ran = run_in(&server, folder.path(), &["var", "init"]);
    assert_eq!(said(&ran), ("Example variable specification written to spec.nv.hcl\n", "", 0));
    let ran = run_in(&server, folder.path(), &["var", "init"]);
    assert_eq!(said(&ran), ("", "File \"spec.nv.hcl\" already exists\n", 1));
    run_in(&server, folder.path(), &["var", "init", "-out", "json"]);
    for file in ["@spec.nv.hcl", "@spec.nv.json"] {
        assert_eq!(run_in(&server, folder.path(), &["var", "put", file]).exit, 0, "{file}");
    }
}

#[test]
fn commands_run_under_a_lock() {
    let locked =
        json!({"Namespace": "default", "Path": "app/lock", "Lock": {"ID": "l1", "TTL": "10s", "LockDelay": "15s"}});
    let server = Server::start(move |r: &Request| match r.line().as_str() {
        "PUT /v1/var/app/lock" => Response::json(&locked),
        _ => Response::text(404, "not found"),
    });
    let ran = run(&server, &["var", "lock", "-ttl=10s", "-verbose", "app/lock", "echo", "held;", "exit", "3"]);
    let want = "Writing to path \"app/lock\"\nUsing TTL for the lock of 10s\nAttempting to acquire lock\n\
                Variable locked, ready to execute: echo held; exit 3\nReleasing the lock\n";
    assert_eq!(said(&ran), ("held\n", want, 3));
    let operations: Vec<String> = server
        .take()
        .iter()
        .flat_map(|r| r.query.iter().map(|(name, _)| name.clone()))
        .filter(|name| name.starts_with("lock-"))
        .collect();
    assert_eq!(operations, ["lock-acquire", "lock-release"]);
    let conflict = json!({"Namespace": "default", "Path": "app/lock"});
    let held = serving(vec![("PUT /v1/var/app/lock", Response { status: 409, ..Response::json(&conflict) })]);
    let ran = run(&held, &["var", "lock", "-early-return", "app/lock", "echo", "never"]);
    assert_eq!(said(&ran), ("", "", 0));
}

#[test]
fn volumes_and_plugins_are_shown() {
    let id = "82d50ea1-e694-77c8-15c8-e7f768a270ed";
    let host = json!({"ID": id, "Name": "scratch-vol", "Namespace": "default", "PluginID": "mkdir", "NodeID": "b1baaa72-df0a",
        "NodePool": "default", "State": "ready", "HostPath": "/v", "CapacityBytes": 0,
        "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}]});
    let rows = json!([host]);
    let server = Server::start(move |r: &Request| match (r.line().as_str(), r.param("type"), r.param("prefix")) {
        ("GET /v1/volumes", Some("host"), None) => Response::json(&rows),
        ("GET /v1/volumes", Some("host"), Some(prefix)) if id.starts_with(prefix) => Response::json(&rows),
        ("GET /v1/volumes", ..) | ("GET /v1/plugins", ..) => Response::json(&json!([])),
        (line, ..) if line == format!("GET /v1/volume/host/{id}") => Response::json(&host),
        _ => Response::text(404, "not found"),
    });
    let ran = run(&server, &["volume", "status"]);
    let want = "Dynamic Host Volumes\n\
                ID        Name         Namespace  Plugin ID  Node ID   Node Pool  State\n\
                82d50ea1  scratch-vol  default    mkdir      b1baaa72  default    ready\n\nContainer Storage Interface\n";
    assert_eq!(said(&ran), (want, "No CSI volumes\n", 0));
    let ran = run(&server, &["volume", "status", "82d50ea1"]);
    let want = format!(
        "ID        = {id}\nName      = scratch-vol\nNamespace = default\nPlugin ID = mkdir\nNode ID   = b1baaa72-df0a\n\
         Node Pool = default\nCapacity  = 0 B\nState     = ready\nHost Path = /v\n\nCapabilities\n\
         Access Mode         Attachment Mode\nsingle-node-writer  file-system\n\nAllocations\nNo allocations placed\n"
    );
    assert_eq!(said(&ran), (want.as_str(), "", 0));
    let ran = run(&server, &["volume", "status", "nothere"]);
    let want = "Error listing host volumes: no volumes with prefix or ID \"nothere\" found\n\
                Error listing CSI volumes: no volumes with prefix or ID \"nothere\" found\n";
    assert_eq!(said(&ran), ("", want, 1));
    let ran = run(&server, &["plugin", "status"]);
    assert_eq!(said(&ran), ("Container Storage Interface\n", "No CSI plugins\n", 0));
}

#[test]
fn the_web_interface_and_the_health_of_the_agent() {
    let stats = json!({"stats": {"raft": {"num_peers": "1"}}});
    let server = serving(vec![
        ("PUT /v1/search", Response::json(&json!({"Matches": {"jobs": ["web"]}}))),
        ("GET /v1/agent/self", Response::json(&stats)),
    ]);
    let ran = run(&server, &["ui", "-show-url", "web"]);
    assert_eq!(said(&ran), (format!("URL for web UI: {}/ui/jobs/web\n", server.address).as_str(), "", 0));
    let ran = run(&server, &["ui", "-show-url"]);
    assert_eq!(said(&ran), (format!("URL for web UI: {}/ui\n", server.address).as_str(), "", 0));
    assert_eq!(said(&run(&server, &["check"])), ("", "", 0));
    let ran = run(&server, &["check", "-min-peers", "2"]);
    assert_eq!((ran.exit, ran.stdout.lines().count()), (2, 1));
    let down = run(&serving(Vec::new()), &["check"]);
    assert_eq!((down.exit, down.stdout.lines().count()), (2, 1));
}

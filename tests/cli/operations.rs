//! Commands that operate a cluster, against canned answers: what they send, what they print, how they end.

use serde_json::{Value, json};

use crate::canned::{run, run_in, said, sent, serving};
use crate::program::{Folder, run_with};
use crate::server::{Request, Response};

const NODE: &str = "b1baaa72-df0a-3201-6ce6-21c268145478";
const ALLOC: &str = "e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa";

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

fn allocation() -> Vec<(&'static str, Response)> {
    let stub = json!([{"ID": ALLOC, "Namespace": "default", "JobID": "web", "TaskGroup": "cache", "CreateIndex": 1}]);
    let tasks = json!([{"Name": "keeper"}, {"Name": "helper"}]);
    let full = json!({"ID": ALLOC, "Namespace": "default", "JobID": "web", "TaskGroup": "cache", "ClientStatus": "running",
        "Job": {"ID": "web", "Type": "service", "TaskGroups": [{"Name": "cache", "Tasks": tasks}]}});
    vec![
        ("GET /v1/allocations", Response::json(&stub)),
        ("GET /v1/allocation/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", Response::json(&full)),
    ]
}

/// Frames with some data.
fn frames(parts: &[&str]) -> Response {
    use base64::Engine;
    let frame = |part: &&str| {
        let data = base64::engine::general_purpose::STANDARD.encode(part);
        json!({"Data": data, "File": "alloc/logs/x", "Offset": 1}).to_string()
    };
    let text: Vec<String> = parts.iter().map(frame).collect();
    Response::text(200, &format!("{{}}{}", text.join("")))
}

#[test]
fn logs_are_printed_as_they_are_and_the_task_has_to_be_clear() {
    let mut routes = allocation();
    routes
        .push(("GET /v1/client/fs/logs/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", frames(&["one\ntwo\n", "three\nfour"])));
    let server = serving(routes);
    let ran = run(&server, &["alloc", "logs", "e31ad655", "keeper"]);
    assert_eq!(said(&ran), ("one\ntwo\nthree\nfour", "", 0));
    let asked = sent(&server, "GET /v1/client/fs/logs/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa");
    let params = ["task", "type", "follow", "origin", "offset", "namespace"].map(|name| asked[0].param(name).unwrap());
    assert_eq!(params, ["keeper", "stdout", "false", "start", "0", "default"]);

    let ran = run(&server, &["logs", "-tail", "-n", "2", "-stderr", "-task", "keeper", "e31ad655"]);
    assert_eq!(said(&ran), ("three\nfour", "", 0));
    let asked = sent(&server, "GET /v1/client/fs/logs/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa");
    assert_eq!(["type", "origin", "offset"].map(|name| asked[0].param(name).unwrap()), ["stderr", "end", "240"]);

    let ran = run(&server, &["alloc", "logs", "e31ad655"]);
    let want = "Failed to validate task: Allocation \"e31ad655\" is running the following tasks:\n  * keeper\n  * helper\n\n\
                Please specify the task.\n";
    assert_eq!(said(&ran), ("", want, 1));
    let ran = run(&server, &["alloc", "logs", "-stdout", "-stderr", "e31ad655"]);
    assert_eq!(said(&ran), ("", "Unable to support both stdout and stderr\n", 1));
    let ran = run(&server, &["alloc", "logs", "-f", "e31ad655", "keeper"]);
    assert_eq!(said(&ran), ("one\ntwo\nthree\nfour", "one\ntwo\nthree\nfour", 0));
}

#[test]
fn what_a_node_says_about_logs_is_the_error() {
    let mut routes = allocation();
    let answer = Response::text(400, "unknown task name \"nope\"");
    routes.push(("GET /v1/client/fs/logs/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", answer));
    let server = serving(routes);
    let ran = run(&server, &["alloc", "logs", "e31ad655", "nope"]);
    let want =
        "Failed to read stdout file: error reading file: Unexpected response code: 400 (unknown task name \"nope\")\n";
    assert_eq!(said(&ran), ("", want, 1));
}

#[test]
fn files_are_listed_described_and_printed() {
    let time = "2026-11-21T05:36:33.5Z";
    let file = json!({"Name": "keeper.stdout.0", "IsDir": false, "Size": 5000, "FileMode": "-rw-r--r--", "ModTime": time,
        "ContentType": "text/plain; charset=utf-8"});
    let folder = json!({"Name": "alloc", "IsDir": true, "Size": 4096, "FileMode": "drwxrwxrwx", "ModTime": time});
    let files = |stat: &Value| {
        let mut routes = allocation();
        routes.extend([
            ("GET /v1/client/fs/stat/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", Response::json(stat)),
            ("GET /v1/client/fs/ls/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", Response::json(&json!([folder, file]))),
            ("GET /v1/client/fs/cat/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", Response::text(200, "all of it")),
            ("GET /v1/client/fs/readat/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", Response::text(200, "a\nb\nc\n")),
            ("GET /v1/client/fs/stream/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", frames(&["x\ny\n"])),
        ]);
        serving(routes)
    };
    let server = files(&folder);
    let ran = run(&server, &["alloc", "fs", "e31ad655"]);
    let want = "Mode        Size     Modified Time         Name\n\
                drwxrwxrwx  4.0 KiB  2026-11-21T05:36:33Z  alloc/\n\
                -rw-r--r--  4.9 KiB  2026-11-21T05:36:33Z  keeper.stdout.0\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(&server, &["fs", "-H", "e31ad655", "alloc/logs"]);
    assert!(ran.stdout.contains("-rw-r--r--  5000  2026-11-21T05:36:33Z  keeper.stdout.0"), "{ran:?}");

    let server = files(&file);
    let ran = run(&server, &["alloc", "fs", "-stat", "e31ad655", "f"]);
    let want = "Mode        Size     Modified Time         Content Type               Name\n\
                -rw-r--r--  4.9 KiB  2026-11-21T05:36:33Z  text/plain; charset=utf-8  keeper.stdout.0\n";
    assert_eq!(said(&ran), (want, "", 0));
    assert_eq!(said(&run(&server, &["alloc", "fs", "e31ad655", "f"])), ("all of it", "", 0));
    server.take();
    assert_eq!(said(&run(&server, &["alloc", "fs", "-tail", "-n", "2", "e31ad655", "f"])), ("b\nc\n", "", 0));
    let asked = sent(&server, "GET /v1/client/fs/readat/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa");
    assert_eq!(asked[0].param("offset"), Some("4760"));
    assert_eq!(said(&run(&server, &["alloc", "fs", "-f", "-tail", "-n", "1", "e31ad655", "f"])), ("y\n", "", 0));
    let ran = run(&server, &["alloc", "fs", "-tail", "-n", "1", "-c", "1", "e31ad655", "f"]);
    assert_eq!(said(&ran), ("", "Both -n and -c are not allowed\n", 1));
}

#[test]
fn allocations_are_stopped_restarted_and_signalled() {
    let mut routes = allocation();
    routes.extend([
        (
            "PUT /v1/allocation/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa/stop",
            Response::json(&json!({"EvalID": "b7c2c1fa-0000-0000-0000-000000000000", "Index": 5})),
        ),
        (
            "PUT /v1/client/allocation/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa/restart",
            Response::json(&json!({"Index": 0})),
        ),
        (
            "PUT /v1/client/allocation/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa/signal",
            Response::text(500, "1 error occurred:\n\t* Failed to signal task: keeper, err: Task not running\n\n"),
        ),
    ]);
    let server = serving(routes);
    let ran = run(&server, &["alloc", "stop", "-detach", "-no-shutdown-delay", "e31ad655"]);
    assert_eq!(said(&ran), ("b7c2c1fa-0000-0000-0000-000000000000\n", "", 0));
    let asked = sent(&server, "PUT /v1/allocation/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa/stop");
    assert_eq!(asked[0].param("no_shutdown_delay"), Some("true"));

    assert_eq!(said(&run(&server, &["alloc", "restart", "e31ad655", "keeper"])), ("", "", 0));
    let asked = sent(&server, "PUT /v1/client/allocation/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa/restart");
    assert_eq!(body(&asked[0]), json!({"TaskName": "keeper", "AllTasks": false}));
    let ran = run(&server, &["alloc", "restart", "e31ad655", "zz"]);
    assert_eq!(said(&ran), ("", "Could not find task named: zz, found:\nkeeper\nhelper\n", 1));
    let ran = run(&server, &["alloc", "restart", "-all-tasks", "e31ad655", "zz"]);
    assert_eq!(said(&ran).1, "The -all-tasks option is not allowed when restarting a specific task.\n");

    let ran = run(&server, &["alloc", "signal", "-s", "SIGNOPE", "e31ad655"]);
    let want = "Error signalling allocation: Unexpected response code: 500 (1 error occurred:\n\t* Failed to signal task: \
                keeper, err: Task not running)\n";
    assert_eq!(said(&ran), ("", want, 1));
    let asked = sent(&server, "PUT /v1/client/allocation/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa/signal");
    assert_eq!(body(&asked[0]), json!({"Task": "", "Signal": "SIGNOPE"}));
}

#[test]
fn wrong_allocations_are_told_apart() {
    let server = serving(vec![("GET /v1/allocations", Response::json(&json!([])))]);
    let ran = run(&server, &["alloc", "status", "ffff"]);
    assert_eq!(said(&ran), ("", "No allocation(s) with prefix or id \"ffff\" found\n", 1));
    let ran = run(&server, &["alloc", "status", "f"]);
    assert_eq!(said(&ran), ("", "Identifier must contain at least two characters.\n", 1));
    let ran = run(&server, &["alloc", "logs", "f"]);
    assert_eq!(said(&ran), ("", "Alloc ID must contain at least two characters.\n", 1));
    let ran = run(&server, &["alloc", "status"]);
    let want = "This command takes one of the following argument conditions:\n * A single <allocation>\n * No arguments, with \
                output format specified\nFor additional help try 'encamp alloc status -help'\n";
    assert_eq!(said(&ran), ("", want, 1));
    let ran = run(&server, &["alloc", "status", "-t", "{{len .}} allocs"]);
    assert_eq!(said(&ran), ("0 allocs\n", "", 0));
}

#[test]
fn preempted_allocations_name_who_took_their_place() {
    let by = "b958bbc1-1b0d-75d7-6f15-f7ed8d2a83c8";
    let stub = json!([{"ID": ALLOC, "Namespace": "default"}]);
    let full = json!({"ID": ALLOC, "DesiredStatus": "evict", "DesiredDescription": format!("Preempted by alloc ID {by}"),
        "PreemptedByAllocation": by});
    let server = serving(vec![
        ("GET /v1/allocations", Response::json(&stub)),
        ("GET /v1/allocation/e31ad655-ae5d-b29d-b6b7-b9d7f0f432aa", Response::json(&full)),
    ]);
    let ran = run(&server, &["alloc", "status", "e31ad655"]);
    assert!(ran.stdout.contains("Desired Status      = evict\n"), "{ran:?}");
    assert!(ran.stdout.contains(&format!("Desired Description = Preempted by alloc ID {by}\n")), "{ran:?}");
    let ran =
        run(&server, &["alloc", "status", "-t", "{{.PreemptedByAllocation}} {{len .PreemptedAllocations}}", ALLOC]);
    assert_eq!(said(&ran), (format!("{by} 0\n").as_str(), "", 0));
}

fn nodes() -> (&'static str, Response) {
    let node = json!([{"ID": NODE, "Name": "node-1", "Datacenter": "dc1", "NodePool": "default", "NodeClass": "edge",
        "Drain": false, "SchedulingEligibility": "eligible", "Status": "ready", "Address": "127.0.0.1", "Version": "2.0.5",
        "Attributes": {"os.name": "debian"}, "CreateIndex": 8}]);
    ("GET /v1/nodes", Response::json(&node).with("X-Nomad-NextToken", "next"))
}

#[test]
fn nodes_are_listed_in_all_forms() {
    let server = serving(vec![
        nodes(),
        (
            "GET /v1/node/b1baaa72-df0a-3201-6ce6-21c268145478/allocations",
            Response::json(&json!([
        {"ID": "a", "ClientStatus": "running"}, {"ID": "b", "ClientStatus": "complete"}])),
        ),
    ]);
    let footer = |args: &str| {
        format!("\nResults have been paginated. To get the next page run:\n\nencamp {args} -page-token next\n")
    };
    for (args, table) in [
        (
            "node status",
            "ID        Node Pool  DC   Name    Class  Drain  Eligibility  Status\n\
             b1baaa72  default    dc1  node-1  edge   false  eligible     ready\n",
        ),
        (
            "node status -os -allocs",
            "ID        Node Pool  DC   Name    Class  OS      Drain  Eligibility  Status  Running Allocs\n\
             b1baaa72  default    dc1  node-1  edge   debian  false  eligible     ready   1\n",
        ),
        (
            "node-status -verbose",
            "ID                                    Node Pool  DC   Name    Class  Address    Version  Drain  Eligibility  Status\n\
             b1baaa72-df0a-3201-6ce6-21c268145478  default    dc1  node-1  edge   127.0.0.1  2.0.5    false  eligible     ready\n",
        ),
        ("node status -quiet", "b1baaa72-df0a-3201-6ce6-21c268145478\n"),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let ran = run(&server, &args);
        assert_eq!(said(&ran), (format!("{table}{}", footer(&args.join(" "))).as_str(), "", 0));
    }
    let ran = run(&server, &["node", "status", "-t", "{{range .}}{{.Name}}{{end}}"]);
    assert_eq!(said(&ran), ("node-1\n", "", 0));
    let ran = run(&server, &["node", "status", "-quiet", "-json"]);
    assert_eq!(said(&ran), ("", "-quiet cannot be used with -verbose or -json\n", 1));
    let ran = run(&server, &["node", "status", "-json", "-t", "x"]);
    assert_eq!(said(&ran), ("", "Both json and template formatting are not allowed\n", 1));
    server.take();
    run(&server, &["node", "status", "-filter", "Name == \"a\"", "-per-page", "2", "-page-token", "t"]);
    let asked = sent(&server, "GET /v1/nodes");
    let params = ["filter", "per_page", "next_token"].map(|name| asked[0].param(name).unwrap());
    assert_eq!(params, ["Name == \"a\"", "2", "t"]);
}

#[test]
fn wrong_nodes_are_told_apart() {
    let none = serving(vec![("GET /v1/nodes", Response::json(&json!([])))]);
    let ran = run(&none, &["node", "status", "ffffffff"]);
    assert_eq!(said(&ran), ("", "No node(s) with prefix \"ffffffff\" found\n", 1));
    let ran = run(&none, &["node", "eligibility", "-enable", "ffffffff"]);
    assert_eq!(said(&ran), ("", "No node(s) with prefix or id \"ffffffff\" found\n", 1));
    let ran = run(&none, &["node", "status"]);
    assert_eq!(said(&ran), ("No nodes registered\n", "", 0));
    let ran = run(&none, &["node", "status", "b"]);
    assert_eq!(said(&ran), ("", "Identifier must contain at least two characters.\n", 1));
    let ran = run(&none, &["node", "status", "a", "b"]);
    assert_eq!(ran.exit, 1);
    assert!(ran.stderr.ends_with("For additional help try 'encamp node status -help'\n"), "{ran:?}");
}

#[test]
fn eligibility_is_set() {
    let server = serving(vec![
        nodes(),
        ("PUT /v1/node/b1baaa72-df0a-3201-6ce6-21c268145478/eligibility", Response::json(&json!({"Index": 1}))),
        ("GET /v1/agent/self", Response::json(&json!({"stats": {"client": {"node_id": NODE}}}))),
    ]);
    let ran = run(&server, &["node", "eligibility", "-disable", "b1baaa72"]);
    let want = format!("Node \"{NODE}\" scheduling eligibility set: ineligible for scheduling\n");
    assert_eq!(said(&ran), (want.as_str(), "", 0));
    let asked = sent(&server, "PUT /v1/node/b1baaa72-df0a-3201-6ce6-21c268145478/eligibility");
    assert_eq!(body(&asked[0]), json!({"NodeID": NODE, "Eligibility": "ineligible"}));
    let ran = run(&server, &["node", "eligibility", "-enable", "-self"]);
    assert!(ran.stdout.ends_with("set: eligible for scheduling\n"), "{ran:?}");
    let ran = run(&server, &["node", "eligibility", "-enable"]);
    let want = "Node ID must be specified if -self isn't being used\nFor additional help try 'encamp node eligibility -help'\n";
    assert_eq!(said(&ran), ("", want, 1));
}

#[test]
fn drains_begin_end_and_can_be_called_off() {
    let drained = json!({"ID": NODE, "Status": "ready"});
    let server = serving(vec![
        nodes(),
        ("GET /v1/node/b1baaa72-df0a-3201-6ce6-21c268145478", Response::json(&drained).with("X-Nomad-Index", 7)),
        ("GET /v1/node/b1baaa72-df0a-3201-6ce6-21c268145478/allocations", Response::json(&json!([]))),
        ("PUT /v1/node/b1baaa72-df0a-3201-6ce6-21c268145478/drain", Response::json(&json!({"NodeModifyIndex": 5}))),
    ]);
    let line = "PUT /v1/node/b1baaa72-df0a-3201-6ce6-21c268145478/drain";
    let ran = run(
        &server,
        &["node", "drain", "-enable", "-yes", "-m", "why", "-meta", "a=b", "-deadline", "20s", "b1baaa72"],
    );
    let lines: Vec<&str> = ran.stdout.lines().map(|l| l.split_once(": ").unwrap().1).collect();
    let set = format!("Node \"{NODE}\" drain strategy set");
    assert_eq!(lines[..2], ["Ctrl-C to stop monitoring: will not cancel the node drain", &set]);
    let mut rest = lines[2..].to_vec();
    rest.sort_unstable();
    let want = [format!("All allocations on node \"{NODE}\" have stopped"), format!("Drain complete for node {NODE}")];
    assert_eq!(rest, want);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let request = body(&sent(&server, line)[0]);
    assert_eq!(request["DrainSpec"], json!({"Deadline": 20_000_000_000i64, "IgnoreSystemJobs": false}));
    assert_eq!(request["Meta"], json!({"a": "b", "message": "why"}));

    let ran = run(&server, &["node", "drain", "-disable", "-m", "done", NODE]);
    assert_eq!(said(&ran), (format!("Node \"{NODE}\" drain strategy unset\n").as_str(), "", 0));
    let request = body(&sent(&server, line)[0]);
    assert_eq!((&request["DrainSpec"], &request["MarkEligible"]), (&Value::Null, &json!(true)));
    assert_eq!(request["Meta"], json!({"cancel_message": "done"}));

    let ran = run(&server, &["node", "drain", "-enable", "-detach", "-no-deadline", "-ignore-system", NODE]);
    assert_eq!(said(&ran), (format!("{set}\n").as_str(), "", 0));
    assert_eq!(body(&sent(&server, line)[0])["DrainSpec"], json!({"Deadline": 0, "IgnoreSystemJobs": true}));

    let folder = Folder::new("drain");
    let no = folder.file("no", "n\n");
    let env = [("NOMAD_ADDR", server.address.as_str())];
    let ran = run_with(folder.path(), &["node", "drain", "-enable", "b1baaa72"], &env, Some(&no));
    let want =
        format!("Are you sure you want to enable drain mode for node \"{NODE}\"? [y/N] Canceling drain toggle\n");
    assert_eq!(said(&ran), (want.as_str(), "", 0));
    assert!(sent(&server, line).is_empty());
    let ran = run(&server, &["node", "drain", "-monitor", NODE]);
    assert_eq!(said(&ran), ("", "No drain strategy set\n", 0));
}

#[test]
fn wrong_drains_are_refused() {
    let server = serving(Vec::new());
    for (args, want) in [
        (&["b1baaa72"][..], "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'"),
        (&["-enable", "-monitor", "b"], "The -monitor flag cannot be used with the '-enable' or '-disable' flags"),
        (&["-enable"], "Node ID must be specified if -self isn't being used"),
        (&["-disable", "-force", "b"], "-disable can't be combined with flags configuring drain strategy"),
        (&["-enable", "-deadline", "1h", "-force", "b"], "-deadline can't be combined with -force or -no-deadline"),
        (&["-enable", "-no-deadline", "-force", "b"], "-force and -no-deadline are mutually exclusive"),
    ] {
        let ran = run(&server, &[&["node", "drain"], args].concat());
        let want = format!("{want}\nFor additional help try 'encamp node drain -help'\n");
        assert_eq!(said(&ran), ("", want.as_str(), 1), "{args:?}");
    }
    let ran = run(&server, &["node", "drain", "-enable", "-deadline", "-1s", "b1"]);
    assert_eq!(said(&ran), ("", "A positive drain duration must be given\n", 1));
    let ran = run(&server, &["node", "drain", "-enable", "-deadline", "soon", "b1"]);
    assert!(ran.stderr.starts_with("invalid value \"soon\" for flag -deadline: parse error\n"), "{ran:?}");
    assert!(server.take().is_empty());
}

#[test]
fn servers_and_metadata_of_nodes() {
    let meta = json!({"Meta": {"color": "red", "rack": "r1"}, "Dynamic": {"color": "red", "owner": null},
        "Static": {"owner": "a", "rack": "r1"}});
    let server = serving(vec![
        ("GET /v1/agent/servers", Response::json(&json!(["127.0.0.1:4647"]))),
        ("PUT /v1/agent/servers", Response::text(200, "")),
        ("GET /v1/client/metadata", Response::json(&meta)),
        ("POST /v1/client/metadata", Response::json(&meta)),
    ]);
    assert_eq!(said(&run(&server, &["node", "config", "-servers"])), ("127.0.0.1:4647\n", "", 0));
    server.take();
    let ran = run(&server, &["node", "config", "-update-servers", "a:1", "b:2"]);
    assert_eq!(said(&ran), ("Updated server list\n", "", 0));
    let query = &sent(&server, "PUT /v1/agent/servers")[0].query;
    assert_eq!(*query, [("address", "a:1"), ("address", "b:2")].map(|(k, v)| (k.to_string(), v.to_string())));
    let ran = run(&server, &["node", "config"]);
    assert!(
        ran.stderr.starts_with("The '-servers' or '-update-servers' flag(s) must be set\nFor additional"),
        "{ran:?}"
    );
    let ran = run(&server, &["client-config", "-servers"]);
    let want = "WARNING! The \"encamp client-config\" command is deprecated. Please use \"encamp\nnode config\" instead. This \
                command will be removed a later version of encamp.\n\n";
    assert_eq!(said(&ran), ("127.0.0.1:4647\n", want, 0));

    let ran = run(&server, &["node", "meta", "read"]);
    let want = "All Meta\ncolor = red\nrack  = r1\n\nDynamic Meta\ncolor = red\nowner = <unset>\n\nStatic Meta\nowner = a\nrack  = r1\n";
    assert_eq!(said(&ran), (want, "", 0));
    server.take();
    assert_eq!(said(&run(&server, &["node", "meta", "apply", "-unset", "owner,x", "color=red"])), ("", "", 0));
    let asked = sent(&server, "POST /v1/client/metadata");
    assert_eq!(body(&asked[0]), json!({"NodeID": "", "Meta": {"owner": null, "x": null, "color": "red"}}));
    let ran = run(&server, &["node", "meta", "apply"]);
    assert_eq!(said(&ran), ("", "Must specify -unset or at least 1 key=value pair\n", 1));
}

#[test]
fn node_pools_are_written_listed_and_deleted() {
    let pools = json!([{"Name": "default", "Description": "Default node pool.", "NodeIdentityTTL": 86_400_000_000_000i64},
        {"Name": "gpu", "Description": "accelerators", "Meta": {"rack": "r9"}, "NodeIdentityTTL": 86_400_000_000_000i64}]);
    let job = json!([{"ID": "web", "Type": "service", "Priority": 50, "Status": "running", "SubmitTime": 1_795_240_198_000_000_000i64}]);
    let server = serving(vec![
        ("GET /v1/node/pools", Response::json(&pools)),
        ("PUT /v1/node/pools", Response::text(200, "")),
        ("DELETE /v1/node/pool/gpu", Response::text(200, "")),
        ("DELETE /v1/node/pool/default", Response::text(500, "2 errors occurred:\n\t* a\n\t* b\n\n")),
        ("GET /v1/node/pool/gpu/nodes", Response::json(&json!([]))),
        ("GET /v1/node/pool/default/nodes", nodes().1),
        ("GET /v1/node/pool/default/jobs", Response::json(&job)),
        ("GET /v1/node/pool/gpu/jobs", Response::json(&json!([]))),
    ]);
    let folder = Folder::new("pools");
    folder.file(
        "pool.hcl",
        "node_pool \"gpu\" {\n  description = \"accelerators\"\n  meta {\n    rack = \"r9\"\n  }\n}\n",
    );
    let ran = run_in(&server, folder.path(), &["node", "pool", "apply", "pool.hcl"]);
    assert_eq!(said(&ran), ("Successfully applied node pool \"gpu\"!\n", "", 0));
    let want = json!({"Name": "gpu", "Description": "accelerators", "Meta": {"rack": "r9"}});
    assert_eq!(body(&sent(&server, "PUT /v1/node/pools")[0]), want);
    let ran = run(&server, &["node", "pool", "list"]);
    assert_eq!(said(&ran), ("Name     Description\ndefault  Default node pool.\ngpu      accelerators\n", "", 0));
    let ran = run(&server, &["node", "pool", "info", "gpu"]);
    let want = "Name              = gpu\nDescription       = accelerators\nNode Identity TTL = 24h0m0s\n\nMetadata\nrack = r9\n\n\
                Scheduler Configuration\nNo scheduler configuration\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(&server, &["node", "pool", "nodes", "default"]);
    assert!(
        ran.stdout.starts_with("ID        DC   Name    Class  Drain  Eligibility  Status\nb1baaa72  dc1  node-1"),
        "{ran:?}"
    );
    assert_eq!(said(&run(&server, &["node", "pool", "nodes", "gpu"])), ("No nodes\n", "", 0));
    assert_eq!(said(&run(&server, &["node", "pool", "jobs", "gpu"])), ("No jobs\n", "", 0));
    let ran = run(&server, &["node", "pool", "jobs", "default"]);
    let want = "ID   Type     Priority  Status   Submit Date\nweb  service  50        running  2026-11-21T05:49:58Z\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(&server, &["node", "pool", "delete", "gpu"]);
    assert_eq!(said(&ran), ("Successfully deleted node pool \"gpu\"!\n", "", 0));
    let ran = run(&server, &["node", "pool", "delete", "default"]);
    let want = "Error deleting node pool: Unexpected response code: 500 (2 errors occurred:\n\t* a\n\t* b)\n";
    assert_eq!(said(&ran), ("", want, 1));
    let ran = run_in(&server, folder.path(), &["node", "pool", "init"]);
    assert_eq!(said(&ran), ("Example node pool specification written to pool.nomad.hcl\n", "", 0));
    let ran = run_in(&server, folder.path(), &["node", "pool", "init"]);
    assert_eq!(said(&ran), ("", "File \"pool.nomad.hcl\" already exists\n", 1));
    let ran = run_in(&server, folder.path(), &["node", "pool", "apply", "pool.nomad.hcl"]);
    assert_eq!(said(&ran), ("Successfully applied node pool \"example\"!\n", "", 0));
    let none = serving(vec![("GET /v1/node/pools", Response::json(&json!([])))]);
    let ran = run(&none, &["node", "pool", "info", "zz"]);
    assert_eq!(said(&ran), ("", "Error retrieving node pool: No node pool with prefix \"zz\" found\n", 1));
}

#[test]
fn namespaces_are_written_shown_and_deleted() {
    let apps = json!({"Name": "apps", "Description": "application team", "Quota": "", "Meta": {"owner": "team-a"}, "Hash": "x",
        "Capabilities": {"EnabledTaskDrivers": ["raw_exec"], "DisabledTaskDrivers": ["docker"]}, "CreateIndex": 5});
    let server = serving(vec![
        ("GET /v1/namespaces", Response::json(&json!([apps, {"Name": "apps-2", "Description": ""}]))),
        ("GET /v1/namespace/ops", Response::text(404, "Namespace not found")),
        ("PUT /v1/namespace", Response::text(200, "")),
        ("DELETE /v1/namespace/apps", Response::text(200, "")),
        ("DELETE /v1/namespace/gone", Response::text(500, "namespace not found")),
    ]);
    let ran = run(&server, &["namespace", "apply", "-description", "ops team", "ops"]);
    assert_eq!(said(&ran), ("Successfully applied namespace \"ops\"!\n", "", 0));
    assert_eq!(body(&sent(&server, "PUT /v1/namespace")[0]), json!({"Name": "ops", "Description": "ops team"}));
    let folder = Folder::new("namespaces");
    folder.file("ns.hcl", "name = \"apps\"\ncapabilities {\n  disabled_task_drivers = [\"docker\"]\n}\n");
    let ran = run_in(&server, folder.path(), &["namespace", "apply", "-description", "x", "ns.hcl"]);
    let want = ("Successfully applied namespace \"apps\"!\n", "Flags are ignored when a file is specified!\n", 0);
    assert_eq!(said(&ran), want);
    let ran = run(&server, &["namespace", "status", "apps"]);
    let want = "Name                   = apps\nDescription            = application team\nQuota                  = <none>\n\
                Enabled Drivers        = raw_exec\nDisabled Drivers       = docker\nEnabled Network Modes  = *\n\
                Disabled Network Modes = <none>\n\nMetadata\nowner = team-a\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(&server, &["namespace", "inspect", "apps"]);
    assert!(ran.stdout.starts_with("{\n    \"Capabilities\": {\n"), "{ran:?}");
    assert!(ran.stdout.contains("\"VaultConfiguration\": null") && !ran.stdout.contains("Hash"), "{ran:?}");
    let ran = run(&server, &["namespace", "status", "app"]);
    assert_eq!(ran.exit, 1);
    assert!(ran.stderr.starts_with("Prefix matched multiple namespaces\n\nName    Description\napps "), "{ran:?}");
    let ran = run(&server, &["namespace", "delete", "apps"]);
    assert_eq!(said(&ran), ("Successfully deleted namespace \"apps\"!\n", "", 0));
    let ran = run(&server, &["namespace", "delete", "gone"]);
    assert_eq!(said(&ran).1, "Error deleting namespace: Unexpected response code: 500 (namespace not found)\n");
    let none = serving(vec![("GET /v1/namespaces", Response::json(&json!([])))]);
    let ran = run(&none, &["namespace", "status", "zz"]);
    assert_eq!(said(&ran), ("", "Error retrieving namespaces: Namespace \"zz\" matched no namespaces\n", 1));
}

#[test]
fn the_scheduler_configuration_is_shown_and_changed_at_its_index() {
    let config = json!({"SchedulerConfig": {"SchedulerAlgorithm": "binpack", "PreemptionConfig": {"SystemSchedulerEnabled": true},
        "ModifyIndex": 205, "CreateIndex": 5}, "KnownLeader": true, "LastContact": 0, "NextToken": "", "Index": 205});
    let line = "PUT /v1/operator/scheduler/configuration";
    let with = |answer: Response| {
        serving(vec![("GET /v1/operator/scheduler/configuration", Response::json(&config)), (line, answer)])
    };
    let server = with(Response::json(&json!({"Updated": true, "Index": 206})));
    let ran = run(&server, &["operator", "scheduler", "get-config"]);
    let want = "Scheduler Algorithm               = binpack\nMemory Oversubscription           = false\n\
                Reject Job Registration           = false\nPause Eval Broker                 = false\n\
                Preemption System Scheduler       = true\nPreemption Service Scheduler      = false\n\
                Preemption Batch Scheduler        = false\nPreemption SysBatch Scheduler     = false\n\
                Node Limit For Feasibility Checks = 0\nModify Index                      = 205\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(
        &server,
        &["operator", "scheduler", "get-config", "-t", "{{.SchedulerConfig.SchedulerAlgorithm}} {{.LastIndex}}"],
    );
    assert_eq!(said(&ran), ("binpack 0\n", "", 0));
    let ran = run(&server, &["operator", "scheduler", "set-config", "-preempt-service-scheduler=true"]);
    assert_eq!(said(&ran), ("Scheduler configuration updated!\n", "", 0));
    let asked = sent(&server, line);
    assert_eq!(asked[0].param("cas"), Some("205"));
    let request = body(&asked[0]);
    assert_eq!(request["PreemptionConfig"]["ServiceSchedulerEnabled"], json!(true));
    assert_eq!(request["PreemptionConfig"]["SystemSchedulerEnabled"], json!(true));
    let ran =
        run(&server, &["operator", "scheduler", "set-config", "-check-index", "3", "-scheduler-algorithm", "spread"]);
    let want =
        "Error performing check index set: check-index 3 does not match does not match current state value 205\n";
    assert_eq!(said(&ran), ("", want, 1));
    let ran = run(&server, &["operator", "scheduler", "set-config", "-pause-eval-broker=perhaps"]);
    let want = "invalid value \"perhaps\" for flag -pause-eval-broker: strconv.ParseBool: parsing \"perhaps\": invalid syntax\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
    assert!(ran.stdout.starts_with("Usage: encamp operator scheduler set-config"), "{ran:?}");

    let lost = with(Response::json(&json!({"Updated": false})));
    let ran = run(&lost, &["operator", "scheduler", "set-config", "-pause-eval-broker=false"]);
    let want = "Scheduler configuration could not be atomically updated, please try again\n";
    assert_eq!(said(&ran), (want, "", 1));
    let refused = with(Response::text(400, "invalid scheduler algorithm: foo"));
    let ran = run(&refused, &["operator", "scheduler", "set-config", "-scheduler-algorithm", "foo"]);
    let want =
        "Error setting scheduler configuration: Unexpected response code: 400 (invalid scheduler algorithm: foo)\n";
    assert_eq!(said(&ran), ("", want, 1));
}

#[test]
fn raft_and_autopilot() {
    let peers = json!({"Servers": [{"ID": "ae10", "Node": "node-1.global", "Address": "127.0.0.1:4647", "Leader": true,
        "Voter": true, "RaftProtocol": "3"}]});
    let config = json!({"CleanupDeadServers": true, "LastContactThreshold": "200ms", "MaxTrailingLogs": 250, "MinQuorum": 0,
        "ServerStabilizationTime": "10s", "EnableRedundancyZones": false, "DisableUpgradeMigration": false,
        "EnableCustomUpgrades": false, "CreateIndex": 5, "ModifyIndex": 7});
    let health = json!({"Healthy": false, "FailureTolerance": 0, "Leader": "a", "Voters": ["a"], "Servers": []});
    let server = serving(vec![
        ("GET /v1/operator/raft/configuration", Response::json(&peers)),
        ("DELETE /v1/operator/raft/peer", Response::text(200, "")),
        ("PUT /v1/operator/raft/transfer-leadership", Response::json(&json!({"Noop": false}))),
        ("GET /v1/operator/autopilot/configuration", Response::json(&config)),
        ("PUT /v1/operator/autopilot/configuration", Response::json(&json!(true))),
        ("GET /v1/operator/autopilot/health", Response { status: 429, ..Response::json(&health) }),
    ]);
    let ran = run(&server, &["operator", "raft", "list-peers"]);
    let want = "Node           ID    Address         State   Voter  RaftProtocol\n\
                node-1.global  ae10  127.0.0.1:4647  leader  true   3\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(&server, &["operator", "raft", "remove-peer", "-peer-id", "x"]);
    assert_eq!(said(&ran), ("Removed peer with id \"x\"\n", "", 0));
    assert_eq!(said(&run(&server, &["operator", "raft", "remove-peer"])), ("", "Missing peer id required\n", 1));
    let ran = run(&server, &["operator", "raft", "transfer-leadership", "-peer-address", "a:1"]);
    assert_eq!(said(&ran), ("Transferred leadership to peer with address \"a:1\"\n", "", 0));
    let ran = run(&server, &["operator", "raft", "list-peers", "-nope"]);
    let want = "flag provided but not defined: -nope\nFailed to parse args: flag provided but not defined: -nope\n";
    assert_eq!(ran.stderr, want);
    let ran = run(&server, &["operator", "autopilot", "get-config"]);
    let want = "CleanupDeadServers = true\nLastContactThreshold = 200ms\nMaxTrailingLogs = 250\nMinQuorum = 0\n\
                ServerStabilizationTime = 10s\nEnableRedundancyZones = false\nDisableUpgradeMigration = false\n\
                EnableCustomUpgrades = false\n";
    assert_eq!(said(&ran), (want, "", 0));
    server.take();
    let ran =
        run(&server, &["operator", "autopilot", "set-config", "-max-trailing-logs=300", "-cleanup-dead-servers=false"]);
    assert_eq!(said(&ran), ("Configuration updated!\n", "", 0));
    let asked = sent(&server, "PUT /v1/operator/autopilot/configuration");
    let request = body(&asked[0]);
    assert_eq!((asked[0].param("cas"), &request["MaxTrailingLogs"]), (Some("7"), &json!(300)));
    assert_eq!((&request["CleanupDeadServers"], &request["LastContactThreshold"]), (&json!(false), &json!("200ms")));
    let ran = run(&server, &["operator", "autopilot", "health"]);
    assert!(
        ran.stdout.starts_with("Healthy: false\nFailureTolerance: 0\nLeader: a\nVoters:  \n\ta\nServers: \nID  "),
        "{ran:?}"
    );
    assert_eq!(ran.exit, 0);
}

#[test]
fn requests_go_out_as_they_are() {
    let server = serving(vec![
        ("GET /v1/status/leader", Response::text(200, "\"127.0.0.1:4647\"")),
        ("POST /v1/jobs/parse", Response::text(400, "bad")),
        ("GET /v1/metrics", Response::json(&json!({"Gauges": [1, 2]}))),
        ("PUT /v1/system/gc", Response::text(200, "")),
        ("PUT /v1/system/reconcile/summaries", Response::text(200, "")),
    ]);
    let ran = run(&server, &["operator", "api", "/v1/status/leader"]);
    assert_eq!(said(&ran), ("\"127.0.0.1:4647\"", "", 0));
    let ran = run(&server, &["operator", "api", "-dryrun", "-filter", "Status==running", "/v1/jobs"]);
    let want = format!("curl \\\n  {}/v1/jobs?filter=Status%3D%3Drunning\n", server.address);
    assert_eq!(said(&ran), (want.as_str(), "", 0));
    let folder = Folder::new("api");
    let input = folder.file("body", "{}");
    let env = [("NOMAD_ADDR", server.address.as_str()), ("NOMAD_TOKEN", "hush")];
    server.take();
    let ran = run_with(
        folder.path(),
        &["operator", "api", "-verbose", "-H", "X-A: b", "/v1/jobs/parse?x=y z"],
        &env,
        Some(&input),
    );
    assert_eq!((ran.stdout.as_str(), ran.exit), ("bad", 0));
    assert!(
        ran.stderr.contains("> POST ") && ran.stderr.contains("< HTTP/1.1 400") && !ran.stderr.contains("hush"),
        "{ran:?}"
    );
    let asked = &sent(&server, "POST /v1/jobs/parse")[0];
    assert_eq!((asked.header("x-a"), asked.header("x-nomad-token")), (Some("b"), Some("hush")));
    assert_eq!((asked.param("x"), asked.body.as_slice()), (Some("y z"), &b"{}"[..]));
    let ran = run_with(folder.path(), &["operator", "api", "-dryrun", "/v1/jobs"], &env, None);
    assert!(ran.stdout.contains("-H 'X-Nomad-Token: ${NOMAD_TOKEN}'") && !ran.stdout.contains("hush"), "{ran:?}");
    let ran = run(&server, &["operator", "api"]);
    let want = "A path or URL is required\nFor additional help try 'encamp operator api -help'\n";
    assert_eq!(said(&ran), ("", want, 1));
    let ran = run(&server, &["operator", "metrics", "-t", "{{len .Gauges}} gauges"]);
    assert_eq!(said(&ran), ("2 gauges\n", "", 0));
    assert_eq!(said(&run(&server, &["system", "gc"])), ("", "", 0));
    server.take();
    let ran = run(&server, &["system", "gc", "now"]);
    let want = "This command takes no arguments\nFor additional help try 'encamp system gc -help'\n";
    assert_eq!(said(&ran), ("", want, 0));
    assert_eq!(sent(&server, "PUT /v1/system/gc").len(), 1);
    assert_eq!(said(&run(&server, &["system", "reconcile", "summaries"])), ("", "", 0));
}

#[test]
fn members_and_agents() {
    let member = json!({"Name": "node-1.global", "Addr": "127.0.0.1", "Port": 4648, "Status": "alive", "ProtocolCur": 2,
        "Tags": {"region": "global", "dc": "dc1", "port": "4647", "raft_vsn": "3", "build": "2.0.5"}});
    let server = serving(vec![
        ("GET /v1/agent/members", Response::json(&json!({"Members": [member]}))),
        ("GET /v1/status/leader", Response::json(&json!("127.0.0.1:4647"))),
        ("PUT /v1/agent/join", Response::json(&json!({"num_joined": 2, "error": ""}))),
        ("PUT /v1/agent/force-leave", Response::text(200, "")),
        (
            "GET /v1/agent/self",
            Response::json(&json!({"stats": {"raft": {"term": "2", "state": "Leader"}, "client": {"node_id": "x"}}})),
        ),
    ]);
    let ran = run(&server, &["server", "members", "-verbose"]);
    let want = "Name           Address    Port  Status  Leader  Protocol  Raft Version  Build  Datacenter  Region  Tags\n\
                node-1.global  127.0.0.1  4648  alive   true    2         3             2.0.5  dc1         global  \
                build=2.0.5,dc=dc1,port=4647,raft_vsn=3,region=global\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(&server, &["server", "members", "-t", "{{range .}}{{.Tags.Leader}}{{end}}"]);
    assert_eq!(said(&ran), ("true\n", "", 0));
    let ran = run(&server, &["server", "join", "a:1", "b:1"]);
    assert_eq!(said(&ran), ("Joined 2 servers successfully\n", "", 0));
    server.take();
    assert_eq!(said(&run(&server, &["server", "force-leave", "-prune", "n"])), ("", "", 0));
    let asked = sent(&server, "PUT /v1/agent/force-leave");
    assert_eq!((asked[0].param("node"), asked[0].param("prune")), (Some("n"), Some("true")));
    let ran = run(&server, &["agent-info"]);
    assert_eq!(said(&ran), ("client\n  node_id = x\nraft\n  state = Leader\n  term = 2\n", "", 0));
    let ran = run(&server, &["agent-info", "-nope"]);
    let want = "flag provided but not defined: -nope\nError parsing flags: flag provided but not defined: -nope\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
}

#[test]
fn logs_of_agents_are_streamed() {
    let server = serving(vec![nodes(), ("GET /v1/agent/monitor", frames(&["    [INFO] a\n", "    [INFO] b\n"]))]);
    let ran = run(&server, &["monitor", "-log-level", "debug", "-node-id", "b1baaa72"]);
    assert_eq!(said(&ran), ("    [INFO] a\n    [INFO] b\n", "", 0));
    let asked = sent(&server, "GET /v1/agent/monitor");
    assert_eq!((asked[0].param("log_level"), asked[0].param("node_id")), (Some("debug"), Some(NODE)));
}

#[test]
fn services_are_found_by_prefix() {
    let services =
        json!([{"Namespace": "default", "Services": [{"ServiceName": "web-front", "Tags": ["v1", "front"]}]}]);
    let places = json!([
        {"ID": "i2", "ServiceName": "web-front", "Namespace": "default", "JobID": "web", "AllocID": "a9aab48f-e051", "NodeID": NODE,
            "Datacenter": "dc1", "Address": "127.0.0.1", "Port": 20112, "Tags": ["v1", "front"]},
        {"ID": "i1", "ServiceName": "web-front", "Namespace": "default", "JobID": "web", "AllocID": "128e71f8-359c", "NodeID": NODE,
            "Datacenter": "dc1", "Address": "127.0.0.1", "Port": 23057, "Tags": ["v1", "front"]}]);
    let server = serving(vec![
        ("GET /v1/services", Response::json(&services)),
        ("GET /v1/service/web-front", Response::json(&places).with("X-Nomad-NextToken", "t")),
        ("DELETE /v1/service/web-front/i1", Response::text(200, "")),
        ("DELETE /v1/service/web-front/nope", Response::text(500, "service registration not found")),
    ]);
    let ran = run(&server, &["service", "list"]);
    assert_eq!(said(&ran), ("Service Name  Tags\nweb-front     [front,v1]\n", "", 0));
    let ran = run(&server, &["service", "info", "-per-page", "2", "web"]);
    let want = "Job ID  Address          Tags        Node ID   Alloc ID\n\
                web     127.0.0.1:23057  [v1,front]  b1baaa72  128e71f8\n\
                web     127.0.0.1:20112  [v1,front]  b1baaa72  a9aab48f\n\n\
                Results have been paginated. To get the next page run:\n\n\
                encamp service info -per-page 2 -page-token=t web\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(&server, &["service", "info", "-verbose", "web-front"]);
    assert!(ran.stdout.starts_with("ID           = i1\nService Name = web-front\nNamespace    = default\n"), "{ran:?}");
    assert!(ran.stdout.contains("Tags         = [v1,front]\n\nID           = i2\n"), "{ran:?}");
    let ran = run(&server, &["service", "info", "nothere"]);
    let want = "Error listing service registrations: No service registrations with prefix \"nothere\" found\n";
    assert_eq!(said(&ran), ("", want, 1));
    let ran = run(&server, &["service", "delete", "web-front", "i1"]);
    assert_eq!(said(&ran), ("Successfully deleted service registration\n", "", 0));
    let ran = run(&server, &["service", "delete", "web-front", "nope"]);
    let want = "Error deleting service registration: Unexpected response code: 500 (service registration not found)\n";
    assert_eq!(said(&ran), ("", want, 1));
}

#[test]
fn status_runs_the_command_of_what_it_finds() {
    let found = |matches: Value| ("PUT /v1/search", Response::json(&json!({"Matches": matches, "Truncations": {}})));
    let mut routes = allocation();
    routes.push(found(json!({"allocs": [ALLOC], "jobs": null})));
    let server = serving(routes);
    let ran = run(&server, &["status", "e31ad655"]);
    assert!(ran.stdout.starts_with(&format!("ID                  = {ALLOC}\n")), "{ran:?}");
    assert_eq!(body(&sent(&server, "PUT /v1/search")[0]), json!({"Prefix": "e31ad655", "Context": "all"}));
    let server = serving(vec![found(json!({"jobs": ["clean", "crunch"], "allocs": [ALLOC]}))]);
    let ran = run(&server, &["status", "c"]);
    let want = format!("Multiple matches found for id \"c\"\n\nAllocs:\n{ALLOC}\n\nJobs:\nclean, crunch\n");
    assert_eq!(said(&ran), ("", want.as_str(), 1));
    let server = serving(vec![found(json!({"jobs": null}))]);
    let ran = run(&server, &["status", "zzzz"]);
    assert_eq!(said(&ran), ("", "Unable to resolve ID: \"zzzz\"\n", 1));
    let ran = run(&server, &["status", "-json", "web"]);
    let want =
        "flag provided but not defined: -json\nError parsing arguments: \"flag provided but not defined: -json\"\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
}

#[test]
fn keys_are_listed_and_rotated() {
    let key = |id: &str, state: &str| json!({"KeyID": id, "State": state, "CreateTime": 1_795_239_212_000_000_000i64, "PublishTime": 0});
    let server = serving(vec![
        (
            "GET /v1/operator/keyring/keys",
            Response::json(&json!([key("a167849b-48e8", "inactive"), key("e1541fdc-df6c", "active")])),
        ),
        ("PUT /v1/operator/keyring/rotate", Response::json(&json!({"Key": key("e1541fdc-df6c", "active")}))),
        ("DELETE /v1/operator/keyring/key/a167849b-48e8", Response::json(&json!({"Index": 9}))),
    ]);
    let ran = run(&server, &["operator", "root", "keyring", "list"]);
    let want = "Key       State     Create Time           Publish Time\n\
                a167849b  inactive  2026-11-21T05:33:32Z  <none>\ne1541fdc  active    2026-11-21T05:33:32Z  <none>\n";
    assert_eq!(said(&ran), (want, "", 0));
    let ran = run(&server, &["operator", "root", "keyring", "rotate", "-now", "-verbose"]);
    assert!(ran.stdout.contains("e1541fdc-df6c  active"), "{ran:?}");
    let ran = run(&server, &["operator", "root", "keyring", "rotate"]);
    assert_eq!(ran.exit, 1);
    assert!(ran.stderr.starts_with("\nOne of \"-now\" or \"-prepublish\" must be used.\n\nIf a key"), "{ran:?}");
    let ran = run(&server, &["operator", "root", "keyring", "remove", "a1"]);
    assert_eq!(said(&ran), ("Removed encryption key a167849b-48e8\n", "", 0));
    let ran = run(&server, &["operator", "root", "keyring", "remove", "zz"]);
    assert_eq!(said(&ran).1, "No encryption key(s) with prefix or ID \"zz\" found\n");
}

/// The key of the transcript `312-operator-gossip-keyring-list`, and another one.
const GOSSIP_KEYS: [&str; 2] =
    ["mbqVJFqHEOJnRZC2OTqj+MjL5VFV8NkO3vA0kXpaV60=", "c2VydmVycyB0ZWxsIGVhY2ggb3RoZXIgdGhlIG5ld3M="];

#[test]
fn gossip_keys_are_listed_and_changed() {
    let [recorded, other] = GOSSIP_KEYS;
    let list = json!({"Messages": null, "Keys": {(recorded): 3}, "NumNodes": 3});
    let server = serving(vec![("GET /v1/agent/keyring/list", Response::json(&list))]);
    let ran = run(&server, &["operator", "gossip", "keyring", "list"]);
    assert_eq!(
        said(&ran),
        (
            format!(
                "Gathering installed encryption keys...
Key
{recorded}
"
            )
            .as_str(),
            "",
            0
        )
    );

    let list = json!({"Messages": {"s3.global": "not asked"}, "Keys": {(recorded): 2, (other): 1},
        "PrimaryKeys": {(other): 1, (recorded): 1}, "NumNodes": 2});
    let failed = Response::text(
        500,
        "1/2 nodes reported failure
s2.global: late",
    );
    let server = serving(vec![
        ("GET /v1/agent/keyring/list", Response::json(&list)),
        ("PUT /v1/agent/keyring/install", Response::json(&list)),
        ("PUT /v1/agent/keyring/use", Response::json(&json!({"Keys": {}, "NumNodes": 2}))),
        ("PUT /v1/agent/keyring/remove", failed),
    ]);
    let ran = run(&server, &["operator", "gossip", "keyring", "list", "-verbose"]);
    assert!(
        ran.stdout.contains(&format!(
            "
{recorded}  2/2        1/2
{other}  1/2        1/2
"
        )),
        "{ran:?}"
    );
    assert_eq!(
        ran.stderr,
        "Warning: s3.global: not asked
"
    );
    let ran = run(&server, &["operator", "gossip", "keyring", "install", other]);
    assert_eq!(
        said(&ran),
        (
            "Installing new gossip encryption key...
",
            "Warning: s3.global: not asked
",
            0
        )
    );
    assert_eq!(body(&sent(&server, "PUT /v1/agent/keyring/install")[0]), json!({"Key": other}));
    let ran = run(&server, &["operator", "gossip", "keyring", "use", other]);
    assert_eq!(
        said(&ran),
        (
            "Changing primary gossip encryption key...
",
            "",
            0
        )
    );
    let ran = run(&server, &["operator", "gossip", "keyring", "remove", recorded]);
    assert_eq!(
        (ran.stdout.as_str(), ran.exit),
        (
            "Removing gossip encryption key...
",
            1
        )
    );
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("s2.global: late"), "{ran:?}");

    // Keys are checked before a server is asked, and are not repeated in errors.
    let none = serving(Vec::new());
    for operation in ["install", "use", "remove"] {
        let ran = run(&none, &["operator", "gossip", "keyring", operation, "c2VjcmV0"]);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1));
        assert!(
            ran.stderr.starts_with(
                "error: Invalid encryption key: it has 6 bytes, not 16, 24 or 32
"
            ),
            "{ran:?}"
        );
        assert!(!ran.stderr.contains("c2VjcmV0"), "{ran:?}");
        let ran = run(&none, &["operator", "gossip", "keyring", operation]);
        assert!(
            ran.stderr.starts_with(
                "This command requires one argument: <key>
"
            ) && ran.exit == 1,
            "{ran:?}"
        );
    }
}

#[test]
fn groups_inside_groups_have_help() {
    let server = serving(Vec::new());
    let ran = run(&server, &["node", "pool"]);
    assert!(ran.stdout.starts_with("Usage: encamp node pool <subcommand>") && ran.exit == 1, "{ran:?}");
    let ran = run(&server, &["node", "-help"]);
    assert!(ran.stdout.contains("\n    pool ") && !ran.stdout.contains("pool list"), "{ran:?}");
    let ran = run(&server, &["-help"]);
    assert!(ran.stdout.contains("\n    status ") && !ran.stdout.contains("node-status"), "{ran:?}");
}

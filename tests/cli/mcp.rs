//! `encamp mcp`: sessions of the official client about a snapshot and a running agent, and clients that break the protocol.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use encamp_test_support::agent::{Agent, wait_for};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService};
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::timeout;

use crate::program::{self, Folder};

/// The longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(120);
/// Secrets of the job file [`SERVICE`].
const SECRETS: [&str; 4] = ["hunter1", "hunter2", "hunter3", "hunter4"];

/// A job whose definition has secrets.
const SERVICE: &str = r#"
job "sleeper" {
  group "g" {
    count = 1
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "sleep 3600", "-password=hunter1"]
      }
      env {
        PLAIN = "hunter2"
      }
      template {
        data        = "hunter3"
        destination = "local/x"
      }
      meta {
        api_token = "hunter4"
      }
      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
"#;

/// A session of the official client with the program.
struct Session {
    client: RunningService<RoleClient, ()>,
    // Killed when it is dropped.
    _process: Child,
}

impl Session {
    async fn start(folder: &Path, args: &[&str]) -> Session {
        let mut process = tokio::process::Command::new(program::path())
            .arg("mcp")
            .args(args)
            .current_dir(folder)
            .env_remove("NOMAD_ADDR")
            .env("TMPDIR", folder)
            .env("ENCAMP_CACHE_DIR", folder.join("cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let streams = (process.stdout.take().expect("its output"), process.stdin.take().expect("its input"));
        let client = timeout(PATIENCE, ().serve(streams)).await.expect("in time").expect("a session");
        Session { client, _process: process }
    }

    /// The names of the tools that are offered.
    async fn tools(&self) -> BTreeSet<String> {
        let tools = timeout(PATIENCE, self.client.list_all_tools()).await.expect("in time").expect("tools");
        for tool in &tools {
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            let reads = tool.annotations.as_ref().and_then(|a| a.read_only_hint);
            assert_eq!(reads, Some(tool.name != "run_plan"), "{}", tool.name);
        }
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    async fn answer(&self, tool: &str, arguments: &Value) -> CallToolResult {
        let arguments = arguments.as_object().expect("an object").clone();
        let request = CallToolRequestParams::new(tool.to_string()).with_arguments(arguments);
        let answer = timeout(PATIENCE, self.client.call_tool(request)).await.expect("in time");
        answer.unwrap_or_else(|e| panic!("{tool}: {e}"))
    }

    /// The text of an answer, and whether the tool failed.
    async fn call(&self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.answer(tool, &arguments).await;
        let text = answer.content.first().and_then(|c| c.as_text()).map(|t| t.text.clone()).expect("a text");
        for secret in SECRETS {
            assert!(!text.contains(secret), "{tool}: {secret} in {text}");
        }
        (text, answer.is_error == Some(true))
    }

    /// Checks that an answer has a text.
    async fn says(&self, tool: &str, arguments: Value, text: &str) -> String {
        let (got, is_error) = self.call(tool, arguments).await;
        assert!(got.contains(text) && !is_error, "{tool}: no {text:?} in {got}");
        got
    }

    /// Checks that a tool fails with a text.
    async fn fails(&self, tool: &str, arguments: Value, text: &str) {
        let (got, is_error) = self.call(tool, arguments).await;
        assert!(got.contains(text) && is_error, "{tool}: no {text:?} in {got}");
    }
}

fn demo(file: &str) -> String {
    let path = program::repository().join("fixtures/demo").join(file);
    std::fs::read_to_string(path).expect("a fixture")
}

/// Calls that any source answers: the tool, its arguments, and a text of the answer.
fn calls(job: &str, canary: &str, node: &str, allocation: &str) -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("cluster_summary", json!({}), "\"BlockedEvaluations\""),
        ("list_jobs", json!({"per_page": 2}), "jobs\n"),
        ("describe_job", json!({"job": job}), "\"TaskGroups\""),
        ("list_allocations", json!({"job": job, "status": "running"}), "allocations\n"),
        ("describe_allocation", json!({"allocation": allocation}), "\"TaskGroup\""),
        ("list_nodes", json!({"filter": "Status == ready"}), "nodes\n"),
        ("describe_node", json!({"node": node}), "\"SchedulingEligibility\""),
        ("list_evaluations", json!({"status": "blocked"}), "evaluations\n"),
        ("list_deployments", json!({"namespace": "default"}), "deployments\n"),
        ("validate_job", json!({"job": canary}), "Job validation successful"),
        ("plan_job", json!({"job": canary}), "Plan: plan-1"),
        ("explain_plan", json!({"job": canary}), "Scheduler dry-run"),
        ("explain_node", json!({"job": canary, "explain": node}), "Scheduler dry-run"),
        ("suggest_edits", json!({"job": canary}), "Scheduler dry-run"),
        ("predict_rollout", json!({"job": canary}), "Rollout"),
        ("capacity", json!({"job": canary, "drain": []}), "more cop"),
        ("survival", json!({"job": canary, "survive": "node"}), "After the worst loss"),
        ("what_if", json!({"drain": [node]}), "What if:"),
        ("drain_plan", json!({"nodes": [node], "batch": 2}), "be drained"),
        ("rebalance", json!({"even": true, "max_moves": 1}), "move"),
        ("launches", json!({"next": "1h"}), "No job is launched"),
        ("explain_gc", json!({"id": job}), "Decision"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_answers_about_a_snapshot() {
    let folder = Folder::new("mcp-file");
    let file = program::repository().join("fixtures/demo/cluster.json").display().to_string();
    let session = Session::start(folder.path(), &["-snapshot", &file]).await;
    let about = session.client.peer_info().and_then(|i| i.instructions.clone()).unwrap_or_default();
    assert!(about.contains("cluster.json") && about.contains("Nothing"), "{about}");

    let offered = session.tools().await;
    let mut called = BTreeSet::from(["read_on".to_string()]);
    for (tool, arguments, text) in calls("web", &demo("web-canary.hcl"), "dc1-general-01", "a03c0002") {
        session.says(tool, arguments, text).await;
        called.insert(tool.to_string());
    }
    // The file has no evaluations.
    session.fails("describe_evaluation", json!({"evaluation": "2c3f"}), "no evaluation").await;
    session.fails("describe_deployment", json!({"deployment": "d0000000"}), "several deployments").await;
    let deployment = "d0000000-0000-4000-8000-000000000028";
    session.says("describe_deployment", json!({"deployment": deployment}), "\"TaskGroups\"").await;
    session.fails("read_on", json!({"answer": 1, "from": 0}), "no such answer").await;
    called.extend(["describe_evaluation", "describe_deployment"].map(String::from));
    assert_eq!(offered, called);

    // What fails is told with what to do.
    session.says("suggest_edits", json!({"job": demo("trainer-fails.hcl")}), "Failed to place").await;
    session.fails("validate_job", json!({"job": "job \"a\" {\n  grup \"b\" {}\n}"}), "grup").await;
    session.fails("describe_node", json!({"node": "nowhere"}), "no node").await;
    session.fails("describe_node", json!({"node": "0000"}), "several nodes").await;
    session.fails("explain_evaluation", json!({"evaluation": "2c3f"}), "running cluster").await;
    session.fails("run_plan", json!({"plan": "plan-1"}), "running cluster").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_are_registered_only_as_reviewed_and_only_if_allowed() {
    let folder = Folder::new("mcp-live");
    let agent = Agent::start(&folder, "", &["-dev"]);
    wait_for("a node", || match agent.list("/v1/nodes").first() {
        Some(node) if node["Status"] == "ready" => Ok(()),
        other => Err(format!("{other:?}")),
    });
    let node = agent.list("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
    let address = agent.address();
    let reader = Session::start(folder.path(), &["-address", &address]).await;
    assert!(!reader.tools().await.contains("run_plan"));
    reader.says("plan_job", json!({"job": SERVICE}), "Plan: plan-1").await;
    reader.fails("run_plan", json!({"plan": "plan-1"}), "-allow-writes").await;
    assert_eq!(agent.list("/v1/jobs").len(), 0);

    let writer = Session::start(folder.path(), &["-address", &address, "-allow-writes"]).await;
    assert!(writer.tools().await.contains("run_plan"));
    // Only what this session planned and showed can be registered.
    for plan in ["plan-1", "plan-0", "../plan-1", "plan-99999999999999999999", "sleeper"] {
        writer.fails("run_plan", json!({"plan": plan}), "no plan").await;
    }
    let planned = writer.says("plan_job", json!({"job": SERVICE}), "Plan: plan-1").await;
    assert!(planned.contains("sleeper") && planned.contains("run_plan"), "{planned}");
    // Another job takes the name in the meantime: the outcome is not the reviewed one any more.
    writer.says("plan_job", json!({"job": SERVICE.replace("count = 1", "count = 2")}), "Plan: plan-2").await;
    writer.says("run_plan", json!({"plan": "plan-2"}), "").await;
    let (refused, is_error) = writer.call("run_plan", json!({"plan": "plan-1"})).await;
    assert!(is_error, "{refused}");
    assert_eq!(agent.get("/v1/job/sleeper")["TaskGroups"][0]["Count"], 2);

    wait_for("running allocations", || {
        let running = agent.list("/v1/allocations").iter().filter(|a| a["ClientStatus"] == "running").count();
        if running == 2 { Ok(()) } else { Err(format!("{running} run: {:?}", agent.list("/v1/allocations"))) }
    });
    let id = |path: &str| agent.list(path)[0]["ID"].as_str().expect("an ID").to_string();
    let (evaluation, deployment) = (id("/v1/evaluations"), id("/v1/deployments"));
    let offered = reader.tools().await;
    let mut called = BTreeSet::from(["read_on".to_string()]);
    for (tool, arguments, text) in calls("sleeper", SERVICE, &node, &id("/v1/allocations")) {
        let text = if tool == "plan_job" { "Plan: plan-2" } else { text };
        reader.says(tool, arguments, text).await;
        called.insert(tool.to_string());
    }
    reader.says("describe_evaluation", json!({"evaluation": &evaluation[..8]}), "\"TriggeredBy\"").await;
    reader.says("explain_evaluation", json!({"evaluation": evaluation}), "sleeper").await;
    reader.says("describe_deployment", json!({"deployment": deployment}), "\"TaskGroups\"").await;
    reader.fails("read_on", json!({"answer": 1, "from": 0}), "no such answer").await;
    called.extend(["describe_evaluation", "explain_evaluation", "describe_deployment"].map(String::from));
    assert_eq!(offered, called);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_answers_are_cut_and_read_on() {
    let folder = Folder::new("mcp-long");
    let ran = program::run_in(folder.path(), &["sim", "cluster", "-nodes", "300", "-out", "large.json"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    let session = Session::start(folder.path(), &["-snapshot", "large.json"]).await;
    let (mut got, _) = session.call("list_nodes", json!({"per_page": 500})).await;
    let mut nodes = 0;
    while let Some((shown, note)) = got.rsplit_once("\n[bytes ") {
        assert!(shown.len() <= 48 << 10, "{}", shown.len());
        nodes += shown.matches("\"ID\"").count();
        let number = |name: &str| {
            let rest = note.split_once(name).expect("a place").1;
            rest.split(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a number")
        };
        got = session.call("read_on", json!({"answer": number("answer="), "from": number("from=")})).await.0;
    }
    nodes += got.matches("\"ID\"").count();
    assert_eq!(nodes, 300);
    assert!(got.ends_with("300 nodes\n"), "{got}");
    let (first, _) = session.call("list_nodes", json!({"per_page": 10})).await;
    let page = first.rsplit_once("page=").expect("a page").1.trim();
    session.says("list_nodes", json!({"per_page": 10, "page": page}), "10 nodes").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_and_tools_are_errors() {
    let folder = Folder::new("mcp-wrong");
    let file = program::repository().join("fixtures/demo/cluster.json").display().to_string();
    let session = Session::start(folder.path(), &["-snapshot", &file]).await;
    session.fails("describe_job", json!({}), "\"job\" is missing").await;
    session.fails("describe_job", json!({"job": 7}), "must be a string").await;
    session.fails("describe_job", json!({"job": "-purge"}), "must not begin").await;
    session.fails("describe_job", json!({"job": "web", "force": true}), "unknown argument").await;
    session.fails("describe_job", json!({"job": "../../v1/jobs"}), "the cluster answered").await;
    session.fails("list_nodes", json!({"filter": "Status =="}), "400").await;
    session.fails("list_allocations", json!({"job": "a` or ID != `"}), "quotes").await;
    session.fails("what_if", json!({"drain": ["no such node"]}), "no such node").await;
    session.fails("plan_job", json!({"job": "x".repeat(2 << 20)}), "1048576").await;
    session
        .fails("plan_job", json!({"job": "job \"a\" { group \"b\" { count = file(\"/etc/hostname\") } }"}), "file")
        .await;
    session.fails("capacity", json!({"job": demo("web-canary.hcl"), "format": "toml"}), "hcl, json").await;
    let unknown = session.client.call_tool(CallToolRequestParams::new("job_stop")).await.expect_err("no such tool");
    assert!(unknown.to_string().contains("no tool \"job_stop\""), "{unknown}");
    // The session goes on.
    session.says("describe_job", json!({"job": "web"}), "\"TaskGroups\"").await;
}

/// The answers to lines of input after which the client goes away.
fn raw(folder: &Path, lines: &[u8]) -> (Vec<Value>, i32) {
    let file = program::repository().join("fixtures/demo/cluster.json").display().to_string();
    let mut process = Command::new(program::path())
        .args(["mcp", "-snapshot", &file])
        .current_dir(folder)
        .env("TMPDIR", folder)
        .env("ENCAMP_CACHE_DIR", folder.join("cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = process.stdin.take().expect("its input");
    let mut output = process.stdout.take().expect("its output");
    let lines = lines.to_vec();
    // A program that has ended takes no more input.
    let writer = std::thread::spawn(move || drop(input.write_all(&lines)));
    let mut text = String::new();
    output.read_to_string(&mut text).expect("UTF-8");
    writer.join().expect("it writes");
    let ended = process.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
    let answers = text.lines().map(|line| serde_json::from_str(line).expect("a message")).collect();
    (answers, ended.status.code().unwrap_or(-1))
}

#[test]
fn what_is_no_message_is_answered_with_an_error() {
    let folder = Folder::new("mcp-raw");
    let begin = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
        r#""capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n"
    );
    let end = "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"tools/list\"}\n";
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let wrong: Vec<Vec<u8>> = vec![
        b"{".to_vec(),
        b"\xff\xfe".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        deep.into_bytes(),
        vec![b'x'; 5 << 20],
        br#"{"jsonrpc":"1.0","id":2,"method":"tools/list"}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":7}}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":4,"method":"tools/call"}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":5,"method":"no/such"}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"what_if","arguments":[]}}"#.to_vec(),
    ];
    let mut lines = begin.as_bytes().to_vec();
    for line in &wrong {
        lines.extend_from_slice(line);
        lines.push(b'\n');
    }
    // Notifications that nobody knows are not answered.
    lines.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"$/unknown\"}\n\n");
    lines.extend_from_slice(end.as_bytes());
    let (answers, code) = raw(folder.path(), &lines);
    let errors = answers.iter().filter(|a| a["error"]["code"].is_i64()).count();
    assert_eq!((errors, code), (wrong.len(), 0), "{answers:#?}");
    assert!(answers.iter().any(|a| a["id"] == "last" && a["result"]["tools"].is_array()), "{answers:#?}");
    // Clients that go away at once, within a message, or begin otherwise.
    assert_eq!(raw(folder.path(), b""), (vec![], 0));
    assert_eq!(raw(folder.path(), b"{\"jsonrpc\""), (vec![], 0));
    let (_, code) = raw(folder.path(), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}\n");
    assert!([0, 1].contains(&code), "{code}");
    let left = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|file| file.file_name());
    assert_eq!(left.filter(|name| name != "cache").collect::<Vec<_>>(), [""; 0], "temporary files are left");
}

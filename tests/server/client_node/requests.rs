//! Files, logs, commands, restarts and signals.

use super::*;
use encamp_client::drivers::{ExecInput, ExecOutput, ExecSession};
use encamp_client::logs::stream::Frames;
use encamp_client::node_handle::{LogsRequest, Origin};
use encamp_client::policy::check_restart::CheckOutcome;
use tokio::io::AsyncReadExt;

async fn read_all(mut frames: Frames) -> String {
    let mut out = Vec::new();
    while let Some(frame) = tokio::time::timeout(PATIENCE, frames.recv()).await.expect("a frame") {
        out.extend(frame.unwrap().data.0);
    }
    String::from_utf8(out).unwrap()
}

fn stdout(task: &str) -> LogsRequest {
    LogsRequest { task: task.into(), kind: "stdout".into(), ..LogsRequest::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_and_files() {
    let bench = Bench::new("logs").await;
    let script = "for n in 1 2 3 4 5; do echo line $n; done; echo secret > $NOMAD_SECRETS_DIR/key; exec sleep 1000";
    let id = bench.run(JobType::Service, &format!("[{}]", shell("talk", script, "")));
    bench.servers.status(&id, ClientStatus::Running).await;
    let node = bench.handle();
    let all = "line 1\nline 2\nline 3\nline 4\nline 5\n";
    until("all lines", || {
        let info = node.fs_stat(&id, "/alloc/logs/talk.stdout.0").ok()?;
        (info.size == 35 && node.fs_stat(&id, "talk/secrets/key").is_ok()).then_some(())
    })
    .await;
    assert_eq!(read_all(node.logs(&id, &stdout("talk")).unwrap()).await, all);
    let end = LogsRequest { origin: Origin::End, offset: 7, ..stdout("talk") };
    assert_eq!(read_all(node.logs(&id, &end).unwrap()).await, "line 5\n");
    let errors = [
        (node.logs(&id, &stdout("")).err(), 400, "must provide task name"),
        (node.logs(&id, &stdout("zz")).err(), 400, "unknown task name \"zz\""),
        (node.logs("zz", &stdout("talk")).err(), 404, "Unknown allocation \"zz\""),
        (
            node.fs_read(&id, "talk/secrets/key", 0, 0).await.err(),
            500,
            "Reading secret file prohibited: talk/secrets/key",
        ),
        (node.fs_list(&id, "../..").err(), 500, "Path escapes the alloc directory"),
    ];
    for (error, status, text) in errors {
        let error = error.unwrap();
        assert_eq!((error.status(), error.to_string().as_str()), (status, text));
    }
    let names: Vec<String> = node.fs_list(&id, "/alloc/logs").unwrap().into_iter().map(|f| f.name).collect();
    assert_eq!(names, [".talk.stderr.fifo", ".talk.stdout.fifo", "talk.stderr.0", "talk.stdout.0"]);
    assert_eq!(node.fs_list(&id, "").unwrap().iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["alloc", "talk"]);
    let mut text = String::new();
    let mut contents = node.fs_read(&id, "/alloc/logs/talk.stdout.0", 7, 6).await.unwrap();
    contents.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "line 2");
    let follow = LogsRequest { follow: true, ..stdout("talk") };
    let followed = tokio::spawn(read_all(node.logs(&id, &follow).unwrap()));
    bench.servers.stop(&id);
    assert_eq!(followed.await.unwrap(), all, "following ends with the task");
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_and_signals() {
    let bench = Bench::new("requests").await;
    let script = "trap 'echo usr1' USR1; echo up; while :; do sleep 0.05; done";
    let id = bench.run(JobType::Service, &format!("[{}]", shell("main", script, "")));
    bench.servers.status(&id, ClientStatus::Running).await;
    let node = bench.handle();
    let error = async |task: &str, all| node.restart(&id, task, all).await.unwrap_err().to_string();
    assert_eq!(error("zz", false).await, "Could not find task runner for task: zz");
    assert_eq!(error("main", true).await, "task name cannot be set when restarting all tasks");
    assert_eq!(node.signal(&id, "zz", "SIGHUP").await.unwrap_err().to_string(), "Task not found");
    let read = || {
        std::fs::read_to_string(bench.dir.0.join("alloc").join(&id).join("alloc/logs/main.stdout.0"))
            .unwrap_or_default()
    };
    until("the trap", || read().contains("up").then_some(())).await;
    node.signal(&id, "", "SIGUSR1").await.unwrap();
    until("the answer", || read().contains("usr1").then_some(())).await;
    for (n, (task, all)) in [(1, ("main", false)), (2, ("", true))] {
        node.restart(&id, task, all).await.unwrap();
        // A task that is not known to be running would not be restarted.
        let again = |a: &Allocation| {
            a.task_states.get("main").expect("a state").restarts == n
                && events(a, "main").last().is_some_and(|e| e == "Started")
        };
        bench.servers.wait(&id, "a restart", again).await;
        until("a new start", || (read().matches("up").count() > n as usize).then_some(())).await;
    }
    let alloc = bench.servers.alloc(&id);
    let tail: Vec<String> = texts(&alloc, "main").into_iter().rev().take(4).rev().collect();
    let want = [
        "User requested all tasks to restart",
        "Exit Code: 130, Signal: 2",
        "Task restarting in 0s",
        "Task started by client",
    ];
    assert_eq!(tail, want);
    bench.end().await;
}

async fn finish(mut session: ExecSession) -> (String, String, Option<i64>) {
    let (mut out, mut err, mut end) = (Vec::new(), Vec::new(), None);
    while let Some(part) = tokio::time::timeout(PATIENCE, session.output.recv()).await.expect("output") {
        match part {
            ExecOutput::Stdout(b) => out.extend(b),
            ExecOutput::Stderr(b) => err.extend(b),
            ExecOutput::Exited { code, .. } => end = Some(code),
            ExecOutput::StdoutClosed | ExecOutput::StderrClosed => {}
        }
    }
    (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), end)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_beside_a_task() {
    let bench = Bench::new("exec").await;
    let id = bench
        .run(JobType::Service, &format!("[{}]", shell("main", "exec sleep 1000", r#","Env":{"GREETING":"hello"}"#)));
    bench.servers.status(&id, ClientStatus::Running).await;
    let node = bench.handle();
    let run = async |script: &str, tty| {
        let command = ["/bin/sh", "-c", script].map(String::from).to_vec();
        node.exec(&id, "main", command, tty).await.unwrap()
    };
    let session = run("cat; echo $GREETING; basename $PWD; echo no >&2; exit 3", false).await;
    session.input.send(ExecInput::Stdin(b"in\n".to_vec())).await.unwrap();
    session.input.send(ExecInput::CloseStdin).await.unwrap();
    assert_eq!(finish(session).await, ("in\nhello\nmain\n".into(), "no\n".into(), Some(3)));
    let session = run("test -t 0 && echo terminal; stty size", true).await;
    let (out, _, end) = finish(session).await;
    assert!(out.contains("terminal") && end == Some(0), "{out} {end:?}");
    let error = async |task: &str| node.exec(&id, task, vec!["x".into()], false).await.err().map(|e| e.to_string());
    assert_eq!(error("zz").await.as_deref(), Some("task not found"));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statistics_and_meta() {
    let bench = Bench::with("stats", |c| c.collection_interval = Duration::from_millis(100)).await;
    let id = bench.run(JobType::Service, &format!("[{}]", shell("main", "while :; do :; done", "")));
    bench.servers.status(&id, ClientStatus::Running).await;
    let node = bench.handle();
    let usage = until("a busy task", || {
        let usage = node.alloc_stats(&id, "main").unwrap();
        (usage.resource_usage.cpu_stats.percent > 1.0).then_some(usage)
    })
    .await;
    assert!(usage.resource_usage.memory_stats.rss > 0 && usage.tasks["main"].pids.len() == 1, "{usage:?}");
    assert_eq!(usage.resource_usage.memory_stats.measured, ["RSS", "Swap"]);
    assert!(node.alloc_stats(&id, "zzz").unwrap().tasks.is_empty());
    let host =
        until("two looks", || Some(node.host_stats()).filter(|s| s.cpu.iter().any(|c| c.total_percent > 0.0))).await;
    assert!(host.memory.total > 0 && host.alloc_dir_stats.size > 0 && host.uptime > 0);
    let meta = node.apply_meta(&[("color".to_string(), Some("red".to_string()))].into()).unwrap();
    assert_eq!((meta.meta["color"].as_str(), meta.r#static.contains_key("color")), ("red", false));
    assert_eq!(
        (node.node().meta["color"].as_str(), node.apply_meta(&BTreeMap::new()).unwrap_err().status()),
        ("red", 400)
    );
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_and_checks() {
    let bench = Bench::new("services").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = i64::from(listener.local_addr().unwrap().port());
    let service = |name: &str| {
        let text = r#"{"Provider":"nomad","PortLabel":"http","Checks":[{"Name":"up","Type":"tcp","Interval":50000000,"Timeout":1000000000}]}"#;
        Service { name: name.into(), ..serde_json::from_str(text).unwrap() }
    };
    let alloc = with_group(alloc(JobType::Service, &format!("[{}]", mock("main", r#"{"run_for":"1h"}"#, ""))), |g| {
        g.services = vec![service("web-${NOMAD_ALLOC_INDEX}")];
        g.tasks[0].services = vec![Service { checks: Vec::new(), ..service("own") }];
        let update =
            r#"{"MaxParallel":1,"HealthCheck":"checks","MinHealthyTime":100000000,"HealthyDeadline":20000000000}"#;
        g.update = Some(serde_json::from_str(update).unwrap());
    });
    let mut resources = AllocatedResources::default();
    let mapping =
        AllocatedPortMapping { label: "http".into(), value: port, host_ip: "127.0.0.1".into(), ..Default::default() };
    resources.shared.ports.push(mapping);
    let alloc = Allocation { deployment_id: "d".into(), allocated_resources: Some(Arc::new(resources)), ..alloc };
    let id = alloc.id.to_string();
    bench.servers.write(alloc);
    let ids = || bench.servers.known.lock().unwrap().services.keys().cloned().collect::<Vec<_>>();
    let want = [format!("_nomad-task-{id}-group-g-web-0-http"), format!("_nomad-task-{id}-main-own-http")];
    until("both services", || (ids() == want).then_some(())).await;
    let alloc = bench.servers.wait(&id, "health", |a| a.health().is_some()).await;
    assert_eq!(alloc.health(), Some(true));
    let results = bench.handle().checks(&id).unwrap();
    let only = results.values().next().unwrap();
    assert_eq!(
        (only.status, only.output.as_str(), only.group.as_str()),
        (CheckOutcome::Success, "nomad: tcp ok", "job.g[0]")
    );
    bench.servers.stop(&id);
    until("no service", || ids().is_empty().then_some(())).await;
    bench.end().await;
}

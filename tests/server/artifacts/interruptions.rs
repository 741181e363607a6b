//! Tasks and agents that end during a download, and start again.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::program;

/// Whether a process downloads for an agent of the folder.
fn downloads(folder: &Folder) -> bool {
    let inside = folder.path().to_string_lossy().into_owned();
    procfs::process::all_processes().into_iter().flatten().flatten().any(|process| {
        let command = process.cmdline().unwrap_or_default();
        let parent = process.stat().map_or(0, |s| s.ppid);
        let own = procfs::process::Process::new(parent).and_then(|p| p.cwd());
        command.get(1).is_some_and(|argument| argument == "artifact-download")
            && (parent == 1 || own.is_ok_and(|dir| dir.to_string_lossy() == inside))
    })
}

fn wait_until_none(folder: &Folder) {
    wait_for("the end of the download", || if downloads(folder) { Err("it goes on".into()) } else { Ok(()) });
}

#[test]
fn what_is_there_is_not_downloaded_again() {
    let folder = Folder::new("artifact-again");
    let fails = Arc::new(AtomicBool::new(true));
    let site = {
        let fails = fails.clone();
        Site::start(move |request, to| match request.path.as_str() {
            "/second" if fails.swap(false, Ordering::SeqCst) => send(to, "404 Not Found", "", b""),
            _ => send(to, "200 OK", "", b"content"),
        })
    };
    let agent = development(&folder, "");
    let artifacts = json!([{"GetterSource": site.url("/first")}, {"GetterSource": site.url("/second")}]);
    let restart = json!({"Attempts": 3, "Delay": 10_000_000, "Interval": 60_000_000_000_i64, "Mode": "fail"});
    let script = "cat local/first local/second; test -e local/marker || { touch local/marker; exit 1; }";
    run_with(&agent, "again", artifacts, script, restart);
    let out = output(&agent, "again");
    assert!(out.contains("contentcontentcontentcontent"), "{out}");
    // The second start was after the failure of one download, the third after that of the task.
    assert_eq!((site.count("/first"), site.count("/second")), (1, 2));
    let kinds: Vec<String> = events(&alloc(&agent, "again")).into_iter().map(|(kind, _)| kind).collect();
    let want = [
        "Received",
        "Task Setup",
        "Downloading Artifacts",
        "Failed Artifact Download",
        "Restarting",
        "Downloading Artifacts",
        "Started",
        "Terminated",
        "Restarting",
        "Started",
        "Terminated",
    ];
    assert_eq!(kinds, want[1..], "the last ten");
}

#[test]
fn a_stopped_job_ends_its_download() {
    let folder = Folder::new("artifact-stop");
    let site = Site::start(|_, to| hang(to));
    let mut agent = development(&folder, "");
    run(&agent, "stopped", json!([{"GetterSource": site.url("/x")}]), "true");
    wait_for("the request", || if site.count("/x") > 0 { Ok(()) } else { Err("none".into()) });
    assert!(downloads(&folder));
    agent.send("DELETE", "/v1/job/stopped", &Json::Null);
    wait_for("the end", || match alloc(&agent, "stopped") {
        a if a["ClientStatus"] == "complete" => Ok(()),
        a => Err(format!("{:?}", events(&a))),
    });
    wait_until_none(&folder);
    // So does the end of the agent.
    run(&agent, "other", json!([{"GetterSource": site.url("/y")}]), "true");
    wait_for("the request", || if site.count("/y") > 0 { Ok(()) } else { Err("none".into()) });
    agent.kill();
    wait_until_none(&folder);
}

#[test]
fn a_killed_agent_downloads_again_what_it_did_not_finish() {
    let folder = Folder::new("artifact-restart");
    let answers = Arc::new(AtomicBool::new(false));
    let site = {
        let answers = answers.clone();
        Site::start(move |request, to| match request.path.as_str() {
            "/slow" if !answers.load(Ordering::SeqCst) => {
                write!(to, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")?;
                hang(to)
            }
            _ => send(to, "200 OK", "", b"content"),
        })
    };
    let config = "bind_addr = \"127.0.0.1\"\nadvertise {\n  http = \"127.0.0.1\"\n  rpc = \"127.0.0.1\"\n  serf = \"127.0.0.1\"\n}\ndata_dir = \"DIR/data\"\nserver {\n  enabled = true\n  bootstrap_expect = 1\n}\n\
                  client {\n  enabled = true\n  gc_disk_usage_threshold = 100\n  gc_inode_usage_threshold = 100\n}\nplugin \"raw_exec\" {\n  config {\n    enabled = true\n  }\n}\n";
    let config = config.replace("DIR", &folder.path().display().to_string());
    let mut agent = Agent::start(&folder, &config, &[]);
    ready(&agent);
    let artifacts = json!([{"GetterSource": site.url("/fast")}, {"GetterSource": site.url("/slow")}]);
    run(&agent, "restarted", artifacts, "cat local/fast local/slow; cd ..; ls -a | tr '\\n' ' '");
    wait_for("the request", || if site.count("/slow") > 0 { Ok(()) } else { Err("none".into()) });
    wait_for("the first file", || {
        let state = walk(&folder.path().join("data/client/allocs"), "state.json");
        if state.contains("\"artifacts\":[\"") { Ok(()) } else { Err(state) }
    });
    agent.kill();
    wait_until_none(&folder);
    answers.store(true, Ordering::SeqCst);
    let agent = Agent::start(&folder, &config, &[]);
    let out = output(&agent, "restarted");
    assert!(out.contains("contentcontent. .. alloc t "), "{out}");
    assert_eq!((site.count("/fast"), site.count("/slow")), (1, 2));
    drop(agent);
    program::end_processes(folder.path());
}

/// The text of the first file with that name below a directory.
fn walk(dir: &std::path::Path, name: &str) -> String {
    let found = std::fs::read_dir(dir).into_iter().flatten().flatten();
    found.filter_map(|e| std::fs::read_to_string(e.path().join(name)).ok()).next().unwrap_or_default()
}

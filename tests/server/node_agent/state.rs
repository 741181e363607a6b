//! The persisted state of an agent: permissions, and damaged or missing files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use encamp_model::{ClientStatus, JobType};

/// Starts an agent that refuses to start, and returns its output.
fn refused(folder: &Folder) -> String {
    let mut agent = Agent::spawn(folder, &["-config", "agent.hcl"]);
    assert_eq!(agent.exit(), 1);
    wait_for("the reason", || if agent.log().contains("setup failed") { Ok(()) } else { Err("nothing yet".into()) });
    agent.log().to_string()
}

#[test]
fn directories_of_the_agent_are_its_own() {
    let folder = Folder::new("node-modes");
    // Created with unsafe permissions before the agent started.
    for dir in ["data/server", "data/client"] {
        std::fs::create_dir_all(folder.path().join(dir)).expect("a directory");
    }
    let agent = start(&folder, "");
    let alloc = run(&agent, &job("modes", JobType::Batch, &[task("main", "true")]), ClientStatus::Complete);
    let mode = |path: &str| {
        let meta = folder.path().join("data").join(path).metadata();
        meta.unwrap_or_else(|e| panic!("{path}: {e}")).permissions().mode() & 0o777
    };
    for (path, wanted) in [
        ("server", 0o700),
        ("server/node-id", 0o600),
        ("server/raft", 0o700),
        ("client", 0o700),
        ("client/client-id", 0o600),
        ("client/secret-id", 0o600),
        ("client/identity.checksum", 0o600),
        ("client/client.json", 0o600),
        ("client/allocs", 0o700),
        (&format!("client/allocs/{}/state.json", id(&alloc)), 0o600),
        ("alloc", 0o711),
    ] {
        assert_eq!(format!("{:o}", mode(path)), format!("{wanted:o}"), "{path}");
    }
}

#[test]
fn a_damaged_identity_is_refused_while_its_tasks_run_on() {
    let folder = Folder::new("node-identity");
    let agent = start(&folder, "");
    let script = "echo $$ > local/pid.new; mv local/pid.new local/pid; exec sleep 600";
    let alloc = run(&agent, &job("runs-on", JobType::Service, &[task("main", script)]), ClientStatus::Running);
    let pid = content(&dir(&folder, &alloc).join("main/local/pid"));
    let process = Path::new("/proc").join(pid.trim());
    let node = agent.list("/v1/nodes")[0]["ID"].clone();
    stop(agent);
    let client = folder.path().join("data/client");
    for name in ["client-id", "secret-id"] {
        let path = client.join(name);
        let whole = std::fs::read(&path).expect("readable");
        let mut damaged = whole.clone();
        damaged[9] = if damaged[9] == b'a' { b'b' } else { b'a' };
        for (bytes, what) in [(Some(damaged), "its checksum does not fit"), (None, "it is missing")] {
            match bytes {
                Some(bytes) => std::fs::write(&path, bytes).expect("written"),
                None => std::fs::remove_file(&path).expect("removed"),
            }
            let log = refused(&folder);
            assert!(log.contains("client-id is damaged") || log.contains("secret-id is damaged"), "{log}");
            assert!(log.contains(what) && log.contains("restore it from a backup"), "{log}");
        }
        std::fs::write(&path, &whole).expect("written");
    }
    let state = client.join("allocs").join(id(&alloc)).join("state.json");
    let whole = std::fs::read(&state).expect("readable");
    std::fs::write(&state, &whole[..whole.len() - 10]).expect("written");
    let log = refused(&folder);
    assert!(log.contains("state.json is damaged") && log.contains("the servers send the allocation again"), "{log}");
    std::fs::write(&state, &whole).expect("written");
    assert!(process.exists(), "the task runs on");
    let agent = start_again(&folder);
    let nodes = agent.list("/v1/nodes");
    assert_eq!((nodes.len(), &nodes[0]["ID"]), (1, &node), "the node is the one it was");
    let again = super::alloc(&agent, "runs-on", ClientStatus::Running);
    assert_eq!((id(&again), process.exists()), (id(&alloc), true));
    agent.send("DELETE", "/v1/job/runs-on", &Json::Null);
    super::alloc(&agent, "runs-on", ClientStatus::Complete);
}

#[test]
fn a_server_whose_log_was_deleted_or_cut_off_is_refused() {
    let folder = Folder::new("node-log");
    let agent = start(&folder, "");
    run(&agent, &job("logged", JobType::Batch, &[task("main", "true")]), ClientStatus::Complete);
    stop(agent);
    let raft = folder.path().join("data/server/raft");
    let entries = std::fs::read_dir(&raft).expect("listed").map(|e| e.expect("an entry").path());
    let segment = entries.into_iter().find(|p| p.extension().is_some_and(|e| e == "seg")).expect("a segment");
    let whole = std::fs::read(&segment).expect("readable");
    for left in [None, Some(24), Some(whole.len() / 2)] {
        match left {
            Some(length) => std::fs::write(&segment, &whole[..length]).expect("written"),
            None => std::fs::remove_file(&segment).expect("removed"),
        }
        let log = refused(&folder);
        assert!(log.contains("is damaged, and no other server has a copy: entries "), "{left:?}: {log}");
        assert!(log.contains("restore the server's data directory from a backup"), "{left:?}: {log}");
    }
    std::fs::write(&segment, &whole).expect("written");
    let agent = start_again(&folder);
    assert_eq!(alloc(&agent, "logged", ClientStatus::Complete)["JobID"], "logged");
}

//! Saving and restoring the state of a running server.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::{Agent, call, wait_for};
use crate::program::{Folder, Ran, run_with};

const SERVER: &str = "bind_addr = \"127.0.0.1\"\ndata_dir = \"DIR/data\"\nserver {\n  enabled = true\n  bootstrap_expect = 1\n}\n\
                      advertise {\n  http = \"127.0.0.1\"\n  rpc = \"127.0.0.1\"\n  serf = \"127.0.0.1\"\n}\n";

fn start(folder: &Folder) -> Agent {
    let agent = Agent::start(folder, &SERVER.replace("DIR", &folder.path().to_string_lossy()), &[]);
    ready(&agent);
    agent
}

fn ready(agent: &Agent) {
    wait_for("a leader", || match agent.send("GET", "/v1/vars", &Value::Null).status {
        200 => Ok(()),
        status => Err(format!("status {status}")),
    });
}

fn run(folder: &Folder, agent: &Agent, args: &[&str]) -> Ran {
    run_with(folder.path(), args, &[("NOMAD_ADDR", &agent.address())], None)
}

fn said(ran: &Ran) -> (&str, &str, i32) {
    (ran.stdout.as_str(), ran.stderr.as_str(), ran.exit)
}

fn put(agent: &Agent, path: &str, value: &str) -> u64 {
    let reply = agent.send("PUT", &format!("/v1/var/{path}"), &json!({"Items": {"k": value}}));
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.index
}

fn namespaces(agent: &Agent) -> Vec<String> {
    agent.list("/v1/namespaces").iter().map(|n| n["Name"].as_str().expect("a name").to_string()).collect()
}

#[test]
fn a_saved_state_comes_back() {
    let folder = Folder::new("snapshot-restore");
    let mut agent = start(&folder);
    assert_eq!(run(&folder, &agent, &["namespace", "apply", "kept"]).exit, 0);
    put(&agent, "app/kept", "old");
    let lock = agent.send("PUT", "/v1/var/lock/a?lock-acquire", &json!({"Lock": {"TTL": "1h"}})).json();

    let ran = run(&folder, &agent, &["operator", "snapshot", "save", "back.snap"]);
    assert_eq!(said(&ran), ("State file written to back.snap\n", "", 0));
    let shown = run(&folder, &agent, &["operator", "snapshot", "inspect", "-json", "back.snap"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).expect("the content of the archive");
    let stats = shown["Stats"].as_array().expect("types");
    assert!(stats.iter().any(|s| s["Name"] == "Variables" && s["Count"].as_u64() > Some(0)), "{shown}");
    let state = run(&folder, &agent, &["operator", "snapshot", "state", "back.snap"]);
    let state: serde_json::Value = serde_json::from_str(&state.stdout).expect("the objects of the archive");
    assert!(state["Namespaces"].as_array().is_some_and(|n| n.iter().any(|n| n["Name"] == "default")), "{state}");
    let ran = run(&folder, &agent, &["operator", "snapshot", "save", "back.snap"]);
    let exists = "Destination file already exists: \"back.snap\"\nFor additional help try 'encamp operator snapshot save -help'\n";
    assert_eq!(said(&ran), ("", exists, 1));
    let archive = std::fs::read(folder.path().join("back.snap")).expect("the archive");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.path().join("back.snap")).expect("the archive").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it holds the keys");
    }

    // Writes after the archive was saved are lost by the restore.
    let written = put(&agent, "app/kept", "new");
    put(&agent, "app/later", "x");
    assert_eq!(run(&folder, &agent, &["namespace", "apply", "later"]).exit, 0);
    assert_eq!(run(&folder, &agent, &["namespace", "delete", "kept"]).exit, 0);

    // Damaged archives change nothing.
    for (name, bytes) in [
        ("cut", archive[..archive.len() / 2].to_vec()),
        ("changed", {
            let mut bytes = archive.clone();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x55;
            bytes
        }),
        ("foreign", b"no archive at all".to_vec()),
        ("empty", Vec::new()),
    ] {
        folder.file(name, bytes);
        let ran = run(&folder, &agent, &["operator", "snapshot", "restore", name]);
        assert!(ran.exit == 1 && ran.stderr.starts_with("Failed to restore snapshot: "), "{name}: {ran:?}");
    }
    let ran = run(&folder, &agent, &["operator", "snapshot", "restore", "missing"]);
    assert!(ran.exit == 1 && ran.stderr.starts_with("Error opening snapshot file: "), "{ran:?}");
    assert_eq!(
        (namespaces(&agent), agent.get("/v1/var/app/later")["Items"]["k"].clone()),
        (vec!["default".into(), "later".into()], json!("x"))
    );
    assert_eq!(agent.get("/v1/var/app/kept")["ModifyIndex"].as_u64(), Some(written));

    // Blocking queries are woken: the object they wait for may be gone.
    let port = agent.port;
    let path = format!("/v1/var/app/kept?index={written}&wait=300s");
    let waiting = thread::spawn(move || call(port, "GET", &path, "", Duration::from_secs(120)).expect("an answer"));
    let ran = run(&folder, &agent, &["operator", "snapshot", "restore", "back.snap"]);
    assert_eq!(said(&ran), ("Snapshot Restored\n", "", 0));
    assert_eq!(waiting.join().expect("an answer").json()["Items"], json!({"k": "old"}));
    let check = |agent: &Agent| {
        ready(agent);
        assert_eq!(namespaces(agent), ["default", "kept"]);
        assert_eq!(agent.get("/v1/var/app/kept")["Items"], json!({"k": "old"}), "its key is there");
        assert_eq!(agent.send("GET", "/v1/var/app/later", &Value::Null).status, 404);
        // Locks remain held, with restarted timers.
        let renew = json!({"Lock": {"ID": lock["Lock"]["ID"]}});
        let renewed = agent.send("PUT", "/v1/var/lock/a?lock-renew", &renew);
        assert_eq!(renewed.status, 200, "{}", renewed.body);
    };
    check(&agent);
    put(&agent, "app/after", "y");
    agent.kill();
    let agent = start(&folder);
    check(&agent);
    assert_eq!(agent.get("/v1/var/app/after")["Items"], json!({"k": "y"}));
}

fn content(folder: &Folder, agent: &Agent, command: &str, file: &str) -> Value {
    let args: &[&str] = if command == "inspect" { &["-json"] } else { &[] };
    let ran = run(folder, agent, &[&["operator", "snapshot", command], args, &[file]].concat());
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{file}");
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// The number of objects of each type in an archive.
fn counts(folder: &Folder, agent: &Agent, file: &str) -> Vec<(String, u64)> {
    let shown = content(folder, agent, "inspect", file);
    let stats = shown["Stats"].as_array().expect("types").iter();
    let mut counts: Vec<_> = stats
        .map(|s| (s["Name"].as_str().expect("a name").to_string(), s["Count"].as_u64().expect("a count")))
        .collect();
    counts.sort();
    counts
}

#[test]
fn a_redacted_state_has_no_secrets_and_can_be_restored() {
    let folder = Folder::new("snapshot-redact");
    let mut agent = start(&folder);
    assert_eq!(run(&folder, &agent, &["namespace", "apply", "kept"]).exit, 0);
    put(&agent, "app/password", "hunter2");
    assert_eq!(run(&folder, &agent, &["operator", "snapshot", "save", "back.snap"]).exit, 0);
    let saved = run(&folder, &agent, &["operator", "snapshot", "save", "-redact", "shared.snap"]);
    assert_eq!(said(&saved), ("State file written to shared.snap\n", "", 0));
    std::fs::copy(folder.path().join("back.snap"), folder.path().join("copy.snap")).expect("a copy");
    let redacted = run(&folder, &agent, &["operator", "snapshot", "redact", "copy.snap"]);
    assert_eq!(said(&redacted), ("Snapshot redacted\n", "", 0));

    let before = content(&folder, &agent, "state", "back.snap");
    let key = before["WrappedRootKeys"][0].clone();
    assert!(key["KEK"].as_array().is_some_and(|k| !k.is_empty()) || key["KEK"].as_str().is_some_and(|k| !k.is_empty()));
    for file in ["shared.snap", "copy.snap"] {
        assert_eq!(counts(&folder, &agent, file), counts(&folder, &agent, "back.snap"), "{file}");
        let state = content(&folder, &agent, "state", file);
        let id = format!("{} [REDACTED]", key["Meta"]["KeyID"].as_str().expect("an ID"));
        assert_eq!(state["WrappedRootKeys"][0]["Meta"]["KeyID"], id.as_str(), "{file}");
        for member in ["KEK", "DataKey", "RSAKey"] {
            assert_ne!(state["WrappedRootKeys"][0][member], key[member], "{file}: {member}");
        }
        assert_eq!(state["Variables"][0]["Path"], "app/password", "{file}");
        assert_ne!(state["Variables"][0]["Data"], before["Variables"][0]["Data"], "{file}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(folder.path().join(file)).expect("the archive").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
    }
    // The description, and so the time of the state, is the same.
    let meta = |file: &str| content(&folder, &agent, "inspect", file)["Meta"]["ID"].clone();
    assert_eq!(meta("copy.snap"), meta("back.snap"));

    assert_eq!(run(&folder, &agent, &["namespace", "delete", "kept"]).exit, 0);
    let restored = run(&folder, &agent, &["operator", "snapshot", "restore", "shared.snap"]);
    assert_eq!(said(&restored), ("Snapshot Restored\n", "", 0));
    let check = |agent: &Agent| {
        ready(agent);
        assert_eq!(namespaces(agent), ["default", "kept"]);
        assert_ne!(agent.send("GET", "/v1/var/app/password", &Value::Null).status, 200);
    };
    check(&agent);
    let rotated = run(&folder, &agent, &["operator", "root", "keyring", "rotate", "-now"]);
    assert_eq!(rotated.exit, 0, "{rotated:?}");
    put(&agent, "app/password", "new");
    agent.kill();
    let agent = start(&folder);
    assert_eq!(agent.get("/v1/var/app/password")["Items"], json!({"k": "new"}));

    folder.file("text.snap", "no archive");
    let refused = run(&folder, &agent, &["operator", "snapshot", "redact", "text.snap"]);
    assert!(refused.exit == 1 && refused.stderr.starts_with("Error reading snapshot file: "), "{refused:?}");
    assert_eq!(std::fs::read(folder.path().join("text.snap")).expect("the file"), b"no archive", "it stays");
    let missing = run(&folder, &agent, &["operator", "snapshot", "redact", "none.snap"]);
    let error = "Error opening snapshot file: open none.snap: no such file or directory\n";
    assert_eq!(said(&missing), ("", error, 1));
}

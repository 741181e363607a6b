//! Variables of a running server, over the command line and HTTP: check-and-set, locks, blocking reads, events, and
//! their remains on disk.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, PATIENCE, Reply, call, wait_for};
use crate::program::{Folder, Ran, run_with};

const SERVER: &str = "bind_addr = \"127.0.0.1\"\ndata_dir = \"DIR/data\"\nlog_level = \"TRACE\"\nserver {\n  enabled = true\n  \
                      bootstrap_expect = 1\n}\nadvertise {\n  http = \"127.0.0.1\"\n  rpc = \"127.0.0.1\"\n  serf = \"127.0.0.1\"\n}\n";

/// A server that keeps its data when it is stopped.
fn start(folder: &Folder) -> Agent {
    let agent = Agent::start(folder, &SERVER.replace("DIR", &folder.path().to_string_lossy()), &[]);
    wait_for("a leader", || match agent.send("GET", "/v1/vars", &Value::Null).status {
        200 => Ok(()),
        status => Err(format!("status {status}")),
    });
    agent
}

fn run(agent: &Agent, args: &[&str]) -> Ran {
    run_with(&std::env::temp_dir(), args, &[("NOMAD_ADDR", &agent.address())], None)
}

fn said(ran: &Ran) -> (&str, &str, i32) {
    (ran.stdout.as_str(), ran.stderr.as_str(), ran.exit)
}

fn put(agent: &Agent, path: &str, body: &Value) -> Reply {
    agent.send("PUT", &format!("/v1/var/{path}"), body)
}

#[test]
fn commands_write_show_list_and_purge() {
    let folder = Folder::new("variables-commands");
    let agent = start(&folder);
    let ran = run(&agent, &["var", "put", "-out", "none", "app/web", "user=bob", "pass=hush"]);
    assert!(ran.stdout.starts_with("Created variable \"app/web\" with modify index "), "{ran:?}");
    let index = ran.stdout.trim().rsplit(' ').next().expect("an index").to_string();
    assert_eq!(said(&run(&agent, &["var", "get", "-item", "pass", "app/web"])), ("hush", "", 0));
    let shown: Value = serde_json::from_str(&run(&agent, &["var", "get", "app/web"]).stdout).expect("JSON");
    assert_eq!((&shown["Items"], &shown["Namespace"]), (&json!({"user": "bob", "pass": "hush"}), &json!("default")));

    // The variable exists: it is not written without its index.
    let ran = run(&agent, &["var", "put", "app/web", "user=eve"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    let text = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("check-index (0) does not match the server-side index ({index})")), "{ran:?}");
    let ran = run(&agent, &["var", "put", "-out", "none", "-check-index", &index, "app/web", "user=eve"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert_eq!(run(&agent, &["var", "purge", "-check-index", &index, "app/web"]).exit, 1);
    assert_eq!(run(&agent, &["var", "put", "-force", "-out", "none", "app/db", "k=v"]).exit, 0);
    assert_eq!(run(&agent, &["var", "put", "-namespace", "other", "-out", "none", "app/x", "k=v"]).exit, 0);
    assert_eq!(run(&agent, &["var", "list", "-out", "terse"]).stdout, "app/db\napp/web\n");
    assert_eq!(run(&agent, &["var", "list", "-out", "terse", "app/w"]).stdout, "app/web\n");
    let all = run(&agent, &["var", "list", "-namespace", "*", "-out", "json"]).stdout;
    let rows: Vec<Value> = serde_json::from_str(&all).expect("JSON");
    assert_eq!(
        rows.iter().map(|r| r["Path"].as_str().expect("a path")).collect::<Vec<_>>(),
        ["app/db", "app/web", "app/x"]
    );
    assert!(rows.iter().all(|r| r.get("Items").is_none()), "{all}");

    assert_eq!(
        said(&run(&agent, &["var", "purge", "app/web"])),
        ("Successfully purged variable \"app/web\"!\n", "", 0)
    );
    assert_eq!(said(&run(&agent, &["var", "get", "app/web"])), ("", "Variable not found\n", 1));
    let found = agent.send("POST", "/v1/search", &json!({"Prefix": "app/", "Context": "vars"})).json();
    assert_eq!((&found["Matches"], &found["Truncations"]), (&json!({"vars": ["app/db"]}), &json!({"vars": false})));
    let found = agent.send("POST", "/v1/search/fuzzy?namespace=*", &json!({"Text": "pp/", "Context": "vars"})).json();
    assert_eq!(found["Matches"]["vars"][0], json!({"ID": "app/x", "Scope": ["other", "app/x"]}));

    // A namespace that contains variables cannot be removed.
    assert_eq!(run(&agent, &["namespace", "apply", "other"]).exit, 0);
    let ran = run(&agent, &["namespace", "delete", "other"]);
    assert!(ran.exit == 1 && ran.stderr.contains("has variables associated with it in regions: [global]"), "{ran:?}");
    assert_eq!(run(&agent, &["var", "purge", "-namespace", "other", "app/x"]).exit, 0);
    assert_eq!(run(&agent, &["namespace", "delete", "other"]).exit, 0);
}

#[test]
fn blocking_reads_and_events_report_changes_of_a_variable() {
    let folder = Folder::new("variables-wait");
    let agent = start(&folder);
    let index = put(&agent, "app/a", &json!({"Items": {"k": "1"}})).index;
    let port = agent.port;

    // The stream contains all events from here on, without items.
    let mut stream = agent.connect();
    write!(stream, "GET /v1/event/stream?topic=Variable&index={} HTTP/1.1\r\nHost: x\r\n\r\n", index).expect("written");
    let until = Instant::now() + 2 * PATIENCE;
    let lines = BufReader::new(stream).lines().map(|l| l.expect("a line"));
    // Heartbeats would keep a reader waiting that gets no event.
    let mut lines = lines.inspect(move |l| assert!(Instant::now() < until, "{l}")).filter(|l| l.contains("\"Events\""));
    let mut event =
        move || serde_json::from_str::<Value>(&lines.next().expect("a line")).expect("JSON")["Events"][0].clone();
    assert_eq!((event()["Index"].as_u64(), index > 0), (Some(index), true));

    let wait = |path: &str, index: u64| {
        let path = format!("{path}?index={index}&wait=300s");
        thread::spawn(move || {
            let started = Instant::now();
            let reply = call(port, "GET", &path, "", Duration::from_secs(120)).expect("an answer");
            (reply, started.elapsed())
        })
    };
    let waiting = [wait("/v1/var/app/a", index), wait("/v1/vars", index), wait("/v1/var/app/new", index)];
    // Writes to another variable do not wake the reader.
    let other = put(&agent, "app/new", &json!({"Items": {"k": "1"}})).index;
    let written = put(&agent, "app/a", &json!({"Items": {"k": "2"}})).index;
    let [one, list, new] = waiting.map(|w| w.join().expect("an answer"));
    assert_eq!((one.0.index, &one.0.json()["Items"]), (written, &json!({"k": "2"})));
    assert!(list.0.index == other || list.0.index == written, "{list:?}");
    assert_eq!((new.0.index, new.0.status), (other, 200));
    assert!([one.1, list.1, new.1].iter().all(|t| *t < PATIENCE));

    // A removal wakes the reader, too: the variable then does not exist.
    let waiting = wait("/v1/var/app/a", written);
    let gone = agent.send("DELETE", "/v1/var/app/a", &Value::Null);
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    assert_eq!(waiting.join().expect("an answer").0.status, 404);

    for (path, index, deleted) in
        [("app/new", other, None), ("app/a", written, None), ("app/a", gone.index, Some(true))]
    {
        let message = event();
        let head = ["Topic", "Type", "Key", "Namespace"].map(|k| message[k].as_str().unwrap_or_default());
        assert_eq!(head, ["Variable", "VariableUpdated", path, "default"]);
        assert_eq!(
            (message["Index"].as_u64(), message["Payload"].get("Deleted").and_then(Value::as_bool)),
            (Some(index), deleted)
        );
        assert_eq!(
            (message["Payload"]["Variable"]["Path"].as_str(), message["Payload"]["Variable"].get("Items")),
            (Some(path), None)
        );
    }
}

#[test]
fn locks_are_held_renewed_released_and_expire() {
    let folder = Folder::new("variables-locks");
    let agent = start(&folder);
    let acquire = |body: Value| agent.send("PUT", "/v1/var/lock/a?lock-acquire", &body);
    let lock = json!({"TTL": "10s", "LockDelay": "1s"});
    let taken = acquire(json!({"Lock": lock, "Items": {"holder": "one"}}));
    let id = taken.json()["Lock"]["ID"].as_str().expect("a lock").to_string();
    assert_eq!((taken.status, &taken.json()["Lock"]["TTL"], id.len()), (200, &json!("10s"), 36));
    let since = Instant::now();

    assert_eq!(acquire(json!({"Lock": lock})).status, 409);
    assert_eq!(put(&agent, "lock/a", &json!({"Items": {"holder": "two"}})).status, 409);
    assert_eq!(agent.send("DELETE", "/v1/var/lock/a", &Value::Null).status, 409);
    assert_eq!(put(&agent, "lock/a", &json!({"Items": {"holder": "one still"}, "Lock": {"ID": id}})).status, 200);
    let renew = |id: &str| agent.send("PUT", "/v1/var/lock/a?lock-renew", &json!({"Lock": {"ID": id}}));
    assert_eq!(renew(&id).status, 200);
    let wrong = renew("00000000-0000-0000-0000-000000000000");
    assert_eq!((wrong.status, wrong.body.as_str()), (409, "attempting to modify locked variable"));
    // A command under a lock: no other client holds the lock meanwhile, and it is released at the end.
    let ran = run(&agent, &["var", "lock", "-ttl", "10s", "-early-return", "lock/a", "echo held"]);
    assert_eq!((ran.stdout.contains("held"), ran.exit), (false, 0), "{ran:?}");
    let ran = run(&agent, &["var", "lock", "-ttl", "10s", "lock/b", "echo held"]);
    assert_eq!((ran.stdout.contains("held"), ran.exit), (true, 0), "{ran:?}");
    assert!(agent.get("/v1/var/lock/b").get("Lock").is_none());

    // The first lock is not renewed any more: the server releases it and notifies waiting readers. The items stay.
    let variable = agent.get("/v1/var/lock/a");
    assert_eq!(variable["Lock"]["ID"].as_str(), Some(id.as_str()));
    let path = format!("/v1/var/lock/a?index={}&wait=300s", variable["ModifyIndex"]);
    let freed = call(agent.port, "GET", &path, "", Duration::from_secs(120)).expect("an answer").json();
    assert_eq!((freed.get("Lock"), &freed["Items"]), (None, &json!({"holder": "one still"})));
    assert!(since.elapsed() >= Duration::from_secs(21), "twice the TTL and the delay: {:?}", since.elapsed());
    assert_eq!(renew(&id).body, "variable doesn't hold a lock");
    let late = put(&agent, "lock/a", &json!({"Items": {"holder": "late"}, "Lock": {"ID": id}}));
    assert_eq!(late.status, 409, "a client that lost the lock cannot write under it");
    let taken = acquire(json!({"Lock": lock, "Items": {"holder": "two"}}));
    let id = taken.json()["Lock"]["ID"].as_str().expect("a lock").to_string();
    let release = json!({"Lock": {"ID": id}});
    let given = agent.send("PUT", "/v1/var/lock/a?lock-release", &release);
    assert_eq!((given.status, given.json().get("Lock")), (200, None));
    assert_eq!(put(&agent, "lock/a", &json!({"Items": {"holder": "anybody"}})).status, 200);
}

/// Whether any file in a directory contains these bytes.
fn holds(folder: &Path, bytes: &[u8], files: &mut usize) -> bool {
    std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).any(|path| {
        if path.is_dir() {
            return holds(&path, bytes, files);
        }
        *files += 1;
        std::fs::read(&path).is_ok_and(|content| content.windows(bytes.len()).any(|w| w == bytes))
    })
}

#[test]
fn variables_survive_and_only_encrypted() {
    let folder = Folder::new("variables-kept");
    let mut agent = start(&folder);
    let secret = "hush-7f3a91c2-not-on-disk";
    let written = put(&agent, "app/web", &json!({"Items": {"password": secret}}));
    assert_eq!(written.status, 200, "{}", written.body);
    let locked = put(&agent, "lock/a?lock-acquire", &json!({"Lock": {"TTL": "1h"}, "Items": {"password": secret}}));
    assert_eq!(locked.status, 200, "{}", locked.body);
    put(&agent, "app/gone", &json!({"Items": {"password": secret}}));
    assert_eq!(agent.send("DELETE", "/v1/var/app/gone", &Value::Null).status, 204);
    let id = locked.json()["Lock"]["ID"].as_str().expect("a lock").to_string();
    agent.kill();
    let mut seen = agent.seen.clone();

    let mut agent = start(&folder);
    let variable = agent.get("/v1/var/app/web");
    assert_eq!(
        (&variable["Items"], variable["ModifyIndex"].as_u64()),
        (&json!({"password": secret}), Some(written.index))
    );
    assert_eq!(agent.send("GET", "/v1/var/app/gone", &Value::Null).status, 404);
    // The lock is still held, with a fresh timer.
    let renewed = agent.send("PUT", "/v1/var/lock/a?lock-renew", &json!({"Lock": {"ID": id}}));
    assert_eq!(renewed.status, 200, "{}", renewed.body);
    assert_eq!(agent.send("PUT", "/v1/var/lock/a?lock-acquire", &json!({"Lock": {}})).status, 409);

    // After a full rotation, everything is encrypted with the new key, and the old key is not needed any more.
    let old = agent.list("/v1/operator/keyring/keys")[0]["KeyID"].as_str().expect("a key").to_string();
    let ran = run(&agent, &["operator", "root", "keyring", "rotate", "-full", "-now"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    wait_for("the old key to be inactive", || {
        let keys = agent.list("/v1/operator/keyring/keys");
        let state = keys.iter().find(|k| k["KeyID"] == old.as_str()).map(|k| k["State"].clone());
        if state == Some(json!("inactive")) { Ok(()) } else { Err(format!("{keys:?}")) }
    });
    let rekeyed = agent.get("/v1/var/app/web");
    assert_eq!(rekeyed["Items"], variable["Items"]);
    assert!(rekeyed["ModifyIndex"].as_u64() > Some(written.index) && rekeyed["CreateIndex"] == variable["CreateIndex"]);
    assert_eq!(agent.get("/v1/var/lock/a")["Lock"]["ID"].as_str(), Some(id.as_str()), "locks stay");
    let gone = agent.send("DELETE", &format!("/v1/operator/keyring/key/{old}"), &Value::Null);
    assert_eq!(gone.status, 200, "{}", gone.body);
    assert_eq!(agent.get("/v1/var/app/web")["Items"], variable["Items"]);
    agent.signal(rustix::process::Signal::TERM);
    agent.exit();
    agent.until("Caught signal");
    seen.push_str(&agent.seen);

    let mut files = 0;
    let data = folder.path().join("data");
    assert!(holds(&data, b"app/web", &mut files), "paths are found there: this looks where it should");
    assert!(!holds(&data, secret.as_bytes(), &mut files) && files > 1, "{files}");
    use base64::Engine;
    let items = json!({"password": secret}).to_string();
    let text = base64::engine::general_purpose::STANDARD.encode(&items);
    assert!(!holds(&data, text.as_bytes(), &mut files));
    assert!(!seen.contains(secret));
}

//! The audit log of the real program: who did what, denied and allowed; full disks, rotation, permissions, sessions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::agent::{Agent, PATIENCE, Reply, call_as, wait_for};
use crate::program::{self, Folder, run_with};
use serde_json::{Value as Json, json};

/// A UUID that is the bootstrap token.
const ROOT: &str = "5ec2e7aa-0000-4000-8000-00000000b007";
const UNKNOWN: &str = "5ec2e7aa-0000-4000-8000-0000000bad00";

fn config(folder: &Folder, more: &str) -> String {
    let data = folder.path().join("data");
    format!(
        "bind_addr = \"127.0.0.1\"\ndata_dir = {data:?}\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n{more}"
    )
}

const ACL: &str = "acl {\n enabled = true\n}\n";

fn ask(agent: &Agent, token: &str, method: &str, path: &str, body: &Json) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    call_as(agent.port, token, method, path, &body, PATIENCE).unwrap_or_else(|e| panic!("{method} {path}: {e}"))
}

/// Waits until the server answers; `path` is one that is not in the audit log.
fn ready(agent: &Agent, token: &str, path: &str) {
    wait_for("a leader", || match ask(agent, token, "GET", path, &Json::Null) {
        reply if reply.status == 200 => Ok(()),
        reply => Err(format!("{reply:?}")),
    });
}

fn bootstrap(agent: &Agent) {
    wait_for("the first token", || {
        let reply = ask(agent, "", "PUT", "/v1/acl/bootstrap", &json!({ "BootstrapSecret": ROOT }));
        if reply.status == 200 { Ok(()) } else { Err(format!("{reply:?}")) }
    });
}

fn log_of(folder: &Folder) -> PathBuf {
    folder.path().join("data/audit/audit.log")
}

/// The rows of a file.
fn rows(path: &PathBuf) -> Vec<Json> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
}

/// The contents of rows about an operation on a path.
fn about(rows: &[Json], operation: &str, path: &str) -> Vec<Json> {
    let of =
        |r: &&Json| r["payload"]["request"]["operation"] == operation && r["payload"]["request"]["endpoint"] == path;
    rows.iter().filter(of).map(|r| r["payload"].clone()).collect()
}

fn job(id: &str) -> Json {
    json!({"Job": {
        "ID": id, "Name": id, "Type": "service", "Datacenters": ["*"],
        "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{
            "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["600"]},
            "Env": {"PASSWORD": "hush-in-a-body"}, "Resources": {"CPU": 20, "MemoryMB": 20},
        }]}],
    }})
}

/// A token with a policy.
fn token(agent: &Agent, name: &str, rules: &str) -> Json {
    let made = ask(agent, ROOT, "PUT", &format!("/v1/acl/policy/{name}"), &json!({ "Name": name, "Rules": rules }));
    assert_eq!(made.status, 200, "{made:?}");
    let wanted = json!({ "Name": format!("{name}'s token"), "Type": "client", "Policies": [name] });
    let made = ask(agent, ROOT, "PUT", "/v1/acl/token", &wanted);
    assert_eq!(made.status, 200, "{made:?}");
    made.json()
}

#[test]
fn the_log_says_who_did_what_and_who_was_denied() {
    let folder = Folder::new("audit-who");
    let agent = Agent::start(&folder, &config(&folder, &format!("{ACL}audit {{\n enabled = true\n}}\n")), &[]);
    bootstrap(&agent);
    let reader = token(&agent, "reader", "namespace \"default\" {\n policy = \"read\"\n}");
    let writer = token(&agent, "writer", "namespace \"default\" {\n policy = \"write\"\n}");
    let secret = |t: &Json| t["SecretID"].as_str().expect("a secret").to_string();
    let (may_read, may_write) = (secret(&reader), secret(&writer));
    assert_eq!(ask(&agent, &may_write, "PUT", "/v1/jobs", &job("web")).status, 200);
    assert_eq!(ask(&agent, &may_read, "DELETE", "/v1/job/web?purge=true", &Json::Null).status, 403);
    assert_eq!(ask(&agent, UNKNOWN, "DELETE", "/v1/job/web", &Json::Null).status, 403);
    assert_eq!(ask(&agent, "", "DELETE", "/v1/job/web", &Json::Null).status, 403);
    let stopped = ask(&agent, &may_write, "DELETE", "/v1/job/web", &Json::Null);
    assert_eq!(stopped.status, 200);
    let login = json!({ "AuthMethodName": "nosuch", "LoginToken": "hush-in-a-login" });
    assert_eq!(ask(&agent, "", "PUT", "/v1/acl/login", &login).status, 400);
    let once = ask(&agent, &may_write, "POST", "/v1/acl/token/onetime", &Json::Null).json();
    let once = once["OneTimeToken"]["OneTimeSecretID"].as_str().expect("a secret").to_string();
    let exchanged = ask(&agent, "", "POST", "/v1/acl/token/onetime/exchange", &json!({ "OneTimeSecretID": once }));
    assert_eq!(exchanged.status, 200, "{exchanged:?}");
    assert_eq!(ask(&agent, &may_read, "GET", "/v1/event/stream?topic=Node", &Json::Null).status, 403);
    assert_eq!(ask(&agent, &may_read, "GET", "/v1/nosuch", &Json::Null).status, 404);

    // Every answer was there before it was sent: no wait.
    let all = rows(&log_of(&folder));
    let deletes = about(&all, "DELETE", "/v1/job/web");
    assert_eq!(deletes.len(), 8, "two of each request: {deletes:?}");
    for pair in deletes.chunks(2) {
        assert_eq!((&pair[0]["stage"], &pair[1]["stage"]), (&json!("OperationReceived"), &json!("OperationComplete")));
        assert_eq!(pair[0]["request"]["id"], pair[1]["request"]["id"]);
        assert_eq!((&pair[0]["auth"], &pair[0]["response"]), (&pair[1]["auth"], &Json::Null));
    }
    let [denied, unknown, anonymous, done] = [1, 3, 5, 7].map(|i| deletes[i].clone());
    assert_eq!(denied["auth"]["accessor_id"], reader["AccessorID"]);
    assert_eq!((&denied["auth"]["type"], &denied["auth"]["name"]), (&json!("token"), &json!("reader's token")));
    assert_eq!(
        (&denied["response"]["status_code"], &denied["response"]["allowed"], &denied["response"]["error"]),
        (&json!(403), &json!(false), &json!("Permission denied"))
    );
    let right = "namespace submit-job|purge-job|deregister-job";
    let decision = |allowed: bool| json!([{ "right": right, "on": "namespace default", "allowed": allowed }]);
    assert_eq!(denied["response"]["decisions"], decision(false));
    assert_eq!(denied["request"]["parameters"], json!({ "id": "web", "purge": "true" }));
    assert_eq!(
        (&unknown["auth"]["type"], &unknown["auth"]["refused"]),
        (&json!("invalid"), &json!("ACL token not found"))
    );
    assert_eq!((&anonymous["auth"]["type"], &anonymous["auth"]["token_hmac"]), (&json!("anonymous"), &Json::Null));
    assert_eq!(done["auth"]["accessor_id"], writer["AccessorID"]);
    assert_eq!(done["response"]["decisions"], decision(true));
    assert_eq!((&done["response"]["status_code"], &done["response"]["allowed"]), (&json!(200), &json!(true)));
    assert_eq!(done["response"]["index"], stopped.index);
    assert_eq!((&done["request"]["route"], &done["request"]["right"]), (&json!("/v1/job/{*id}"), &json!(right)));
    assert_eq!(done["request"]["namespace"]["id"], "default");
    assert!(done["request"]["request_meta"]["remote_address"].as_str().expect("text").starts_with("127.0.0.1:"));

    let one = |operation: &str, path: &str| about(&all, operation, path).pop().unwrap_or_else(|| panic!("{path}"));
    let registered = one("PUT", "/v1/jobs");
    assert_eq!(registered["request"]["parameters"]["job"], "web");
    assert_eq!(registered["auth"]["token_hmac"], done["auth"]["token_hmac"], "the same secret has the same hash");
    assert_ne!(registered["auth"]["token_hmac"], denied["auth"]["token_hmac"]);
    let login = one("PUT", "/v1/acl/login");
    assert_eq!(
        (&login["request"]["parameters"]["auth_method"], &login["response"]["status_code"]),
        (&json!("nosuch"), &json!(400))
    );
    assert_eq!(one("POST", "/v1/acl/token/onetime/exchange")["request"]["parameters"]["token"], writer["AccessorID"]);
    assert_eq!(one("PUT", "/v1/acl/bootstrap")["response"]["status_code"], 200);
    assert_eq!(one("GET", "/v1/event/stream")["response"]["allowed"], false);
    assert_eq!(one("GET", "/v1/nosuch")["response"]["status_code"], 404);

    let text = fs::read_to_string(log_of(&folder)).expect("the log");
    for secret in [&*may_read, &*may_write, &*once, ROOT, UNKNOWN, "hush-in-a-body", "hush-in-a-login"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    for name in ["audit.log", "hmac.key"] {
        let mode = fs::metadata(folder.path().join("data/audit").join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(folder.path().join("data/audit")).expect("a folder").permissions().mode() & 0o777, 0o700);
}

#[test]
fn guesses_of_tokens_are_in_the_log_also_beyond_the_limit() {
    let folder = Folder::new("audit-guesses");
    let agent = Agent::start(&folder, &config(&folder, &format!("{ACL}audit {{\n enabled = true\n}}\n")), &[]);
    bootstrap(&agent);
    wait_for("a refusal", || match ask(&agent, UNKNOWN, "GET", "/v1/jobs", &Json::Null).status {
        429 => Ok(()),
        status => Err(status.to_string()),
    });
    let all = about(&rows(&log_of(&folder)), "GET", "/v1/jobs");
    let last = all.last().expect("a row");
    assert_eq!((&last["response"]["status_code"], &last["response"]["allowed"]), (&json!(429), &json!(false)));
    assert_eq!(last["auth"]["type"], "invalid");
}

/// An audit log at a path of its own, that leaves out some reads.
fn audit(folder: &Folder, guarantee: &str, more: &str) -> String {
    let path = folder.path().join("trail/audit.log");
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    format!(
        "audit {{\n enabled = true\n sink \"file\" {{\n  type = \"file\"\n  delivery_guarantee = {guarantee:?}\n  \
         format = \"json\"\n  path = {path:?}\n{more}\n }}\n filter \"reads\" {{\n  type = \"HTTPEvent\"\n  \
         endpoints = [\"/v1/jobs\", \"/v1/metrics\"]\n  stages = [\"*\"]\n  operations = [\"GET\"]\n }}\n}}\n"
    )
}

fn jobs(agent: &Agent) -> Vec<Json> {
    agent.list("/v1/jobs")
}

#[test]
fn a_full_disk_refuses_what_has_to_be_recorded() {
    let folder = Folder::new("audit-full");
    let more = audit(&folder, "enforced", "");
    let path = folder.path().join("trail/audit.log");
    // Nothing can be written to this device.
    std::os::unix::fs::symlink("/dev/full", &path).expect("a link");
    let mut agent = Agent::start(&folder, &config(&folder, &more), &[]);
    ready(&agent, "", "/v1/jobs");
    let refused = ask(&agent, "", "PUT", "/v1/jobs", &job("web"));
    let want = "The request was not carried out because it could not be recorded: audit sink \"file\": No space left on \
                device (os error 28)";
    assert_eq!((refused.status, refused.body.as_str()), (500, want));
    assert!(jobs(&agent).is_empty(), "it was not carried out");
    assert_eq!(ask(&agent, "", "GET", "/v1/nodes", &Json::Null).status, 500, "reads as well");
    agent.until("rows of the audit log were not written");

    // Room again: the file is opened by SIGHUP.
    fs::remove_file(&path).expect("removed");
    agent.signal(rustix::process::Signal::HUP);
    wait_for("the file is opened again", || match ask(&agent, "", "PUT", "/v1/jobs", &job("web")).status {
        200 => Ok(()),
        status => Err(status.to_string()),
    });
    assert_eq!(jobs(&agent).len(), 1);
    assert_eq!(about(&rows(&path), "PUT", "/v1/jobs").last().expect("a row")["response"]["status_code"], 200);
}

#[test]
fn a_limit_of_the_file_leaves_no_part_of_a_row() {
    const LIMIT: u64 = 256 << 20;
    let folder = Folder::new("audit-limit");
    let more = audit(&folder, "enforced", "");
    let path = folder.path().join("trail/audit.log");
    let file = fs::File::create(&path).expect("a file");
    // Holes take no room. The last byte ends a line.
    file.set_len(LIMIT - 3001).expect("a length");
    std::os::unix::fs::FileExt::write_all_at(&file, b"\n", LIMIT - 3001).expect("written");
    folder.file("agent.hcl", format!("ports {{\n  http = 0\n  rpc  = 0\n  serf = 0\n}}\n{}", config(&folder, &more)));
    let script = format!("ulimit -f {}; exec \"$@\"", LIMIT / 1024);
    let program = program::path();
    let words = ["-c", &script, "sh", &program, "agent", "-config", "agent.hcl"];
    let mut agent = Agent::launch(&folder, Command::new("bash").args(words));
    agent.serves();
    ready(&agent, "", "/v1/jobs");
    let mut carried_out = 0;
    wait_for("the file is full", || match ask(&agent, "", "PUT", "/v1/jobs", &job(&format!("job-{carried_out}"))) {
        reply if reply.status == 200 => {
            carried_out += 1;
            Err("there is room".into())
        }
        reply => {
            assert!(reply.body.contains("File too large"), "{reply:?}");
            carried_out += usize::from(reply.body.starts_with("The request was carried out, but"));
            Ok(())
        }
    });
    assert_eq!(jobs(&agent).len(), carried_out);
    let length = fs::metadata(&path).expect("the log").len();
    assert!((LIMIT - 3000..=LIMIT).contains(&length), "{length}");
    let mut tail = vec![0; usize::try_from(length - (LIMIT - 3000)).expect("short")];
    let file = fs::File::open(&path).expect("the log");
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut tail, LIMIT - 3000).expect("read");
    let tail = String::from_utf8(tail).expect("text");
    assert!(tail.ends_with("}\n"), "{tail}");
    for line in tail.lines() {
        serde_json::from_str::<Json>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    }
}

#[test]
fn best_effort_goes_on_and_counts() {
    let folder = Folder::new("audit-best");
    let more = audit(&folder, "best-effort", "") + "telemetry {\n prometheus_metrics = true\n}\n";
    std::os::unix::fs::symlink("/dev/full", folder.path().join("trail/audit.log")).expect("a link");
    let mut agent = Agent::start(&folder, &config(&folder, &more), &[]);
    ready(&agent, "", "/v1/jobs");
    for n in 0..5 {
        assert_eq!(ask(&agent, "", "PUT", "/v1/jobs", &job(&format!("job-{n}"))).status, 200);
    }
    assert_eq!(jobs(&agent).len(), 5);
    agent.until("rows of the audit log were not written");
    wait_for("the rows are counted", || {
        let text = agent.ask("GET", "/v1/metrics?format=prometheus").1;
        let line = text.lines().find(|l| l.contains("audit_write_failures{") && l.contains("sink=\"file\""));
        let lost = line.and_then(|l| l.rsplit(' ').next()?.parse::<f64>().ok());
        // Two of each write, and the start.
        if lost == Some(11.0) { Ok(()) } else { Err(text) }
    });
    let said = agent.log().matches("rows of the audit log were not written").count();
    assert_eq!(said, 1, "messages are rate limited");
}

#[test]
fn files_rotate_and_are_opened_again_by_a_signal() {
    let folder = Folder::new("audit-rotation");
    let more = audit(&folder, "enforced", "  rotate_bytes = 4000\n  rotate_max_files = 2\n  mode = \"0640\"");
    let trail = folder.path().join("trail");
    let mut agent = Agent::start(&folder, &config(&folder, &more), &[]);
    ready(&agent, "", "/v1/jobs");
    for n in 0..20 {
        assert_eq!(ask(&agent, "", "PUT", "/v1/jobs", &job(&format!("job-{n}"))).status, 200);
    }
    let names = || {
        let entries = fs::read_dir(&trail).expect("the folder").map(|e| e.expect("an entry").path());
        let mut all: Vec<PathBuf> = entries.collect();
        assert!(all.contains(&trail.join("audit.log.head")), "{all:?}");
        all.retain(|path| !path.ends_with("audit.log.head"));
        all.sort();
        all
    };
    assert_eq!(names().len(), 3, "{:?}", names());
    for path in names() {
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o640);
        assert!(fs::metadata(&path).expect("a file").len() < 6000);
        assert!(!rows(&path).is_empty());
    }
    // As logrotate does it.
    let (current, moved) = (trail.join("audit.log"), trail.join("moved"));
    fs::rename(&current, &moved).expect("moved");
    agent.signal(rustix::process::Signal::HUP);
    agent.until("configuration reloaded");
    wait_for("the reload is recorded", || match fs::read_to_string(&current) {
        Ok(text) if text.contains("\"operation\":\"reload\"") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(about(&rows(&current), "reload", "signal: hangup")[0]["auth"]["type"], "host");
    agent.signal(rustix::process::Signal::TERM);
    agent.exit();
    assert_eq!(about(&rows(&current), "stop", "signal: terminated").len(), 1);
}

#[test]
fn a_caller_that_leaves_has_a_complete_row() {
    use std::io::Write;
    let folder = Folder::new("audit-gone");
    let agent = Agent::start(&folder, &config(&folder, &audit(&folder, "enforced", "")), &[]);
    ready(&agent, "", "/v1/jobs");
    let mut stream = agent.connect();
    write!(stream, "GET /v1/nodes?index=1000000&wait=60s HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    let path = folder.path().join("trail/audit.log");
    let seen = |n: usize| {
        wait_for("the rows", || match about(&rows(&path), "GET", "/v1/nodes") {
            rows if rows.len() == n => Ok(()),
            rows => Err(format!("{rows:?}")),
        });
    };
    seen(1);
    drop(stream);
    seen(2);
    let last = about(&rows(&path), "GET", "/v1/nodes").pop().expect("a row");
    assert_eq!(last["response"]["status_code"], 499);
    assert_eq!(last["response"]["error"], "the connection was closed before the request was answered");
}

#[test]
fn a_session_names_its_caller_before_the_command_runs() {
    let folder = Folder::new("audit-exec");
    let more = format!(
        "{ACL}audit {{\n enabled = true\n}}\nclient {{\n enabled = true\n}}\nplugin \"raw_exec\" {{\n config {{\n  \
         enabled = true\n }}\n}}\n"
    );
    let agent = Agent::start(&folder, &config(&folder, &more), &[]);
    bootstrap(&agent);
    assert_eq!(ask(&agent, ROOT, "PUT", "/v1/jobs", &job("web")).status, 200);
    let mut alloc = String::new();
    wait_for("a running allocation", || {
        let list = ask(&agent, ROOT, "GET", "/v1/job/web/allocations", &Json::Null).json();
        match list.as_array().map(Vec::as_slice) {
            Some([one]) if one["ClientStatus"] == "running" => alloc = one["ID"].as_str().unwrap_or_default().into(),
            _ => return Err(list.to_string()),
        }
        Ok(())
    });
    let reader = token(&agent, "reader", "namespace \"default\" {\n policy = \"read\"\n}");
    let exec = |token: &str, args: &[&str]| {
        let env = [("NOMAD_ADDR", agent.address()), ("NOMAD_TOKEN", token.to_string())];
        let env: Vec<(&str, &str)> = env.iter().map(|(k, v)| (*k, v.as_str())).collect();
        run_with(folder.path(), &[&["alloc", "exec", "-i=false", "-t=false", &alloc], args].concat(), &env, None)
    };
    let path = format!("/v1/client/allocation/{alloc}/exec");
    // The command sees the row about itself.
    let log = log_of(&folder).display().to_string();
    let ran = exec(ROOT, &["grep", "-c", "/exec\"", &log]);
    assert_eq!((ran.stdout.trim(), ran.exit), ("1", 0), "{ran:?}");
    let refused = exec(reader["SecretID"].as_str().expect("a secret"), &["true"]);
    assert_ne!(refused.exit, 0, "{refused:?}");
    wait_for("the rows of both sessions", || match about(&rows(&log_of(&folder)), "GET", &path) {
        rows if rows.len() == 4 => Ok(()),
        rows => Err(format!("{rows:?}")),
    });
    let all = about(&rows(&log_of(&folder)), "GET", &path);
    let [begun, ended, _, denied] = &all[..] else { panic!("{all:?}") };
    assert_eq!((&begun["stage"], &begun["auth"]["name"]), (&json!("OperationReceived"), &json!("Bootstrap Token")));
    assert_eq!(begun["request"]["parameters"]["task"], "t");
    assert_eq!((&ended["stage"], &ended["response"]["status_code"]), (&json!("OperationComplete"), &json!(101)));
    assert_eq!(denied["auth"]["accessor_id"], reader["AccessorID"]);
    assert_eq!((&denied["response"]["status_code"], &denied["response"]["allowed"]), (&json!(403), &json!(false)));
}

#[test]
fn the_example_is_valid_and_mistakes_have_a_place() {
    let folder = Folder::new("audit-example");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = fs::read_to_string(root.join("fixtures/audit/agent.hcl")).expect("the example");
    folder.file("server.hcl", config(&folder, ""));
    let validate = |text: &str| {
        folder.file("audit.hcl", text);
        run_with(folder.path(), &["config", "validate", "server.hcl", "audit.hcl"], &[], None)
    };
    let ran = validate(&example);
    assert!(ran.exit == 0 && ran.stdout.contains("Configuration is valid!"), "{ran:?}");
    let ran = validate(&example.replace("\"enforced\"", "\"always\""));
    let want = "audit: delivery_guarantee must be enforced or best-effort, not \"always\" (at audit.hcl:8:5)";
    assert!(ran.exit == 1 && ran.stderr.contains(want), "{ran:?}");
}

/// The question of `docs/guide/audit.md`, as it stands there.
#[test]
fn a_line_of_jq_answers_who_stopped_a_job() {
    let folder = Folder::new("audit-jq");
    let agent = Agent::start(&folder, &config(&folder, "audit {\n enabled = true\n}\n"), &[]);
    wait_for("a job", || match ask(&agent, "", "PUT", "/v1/jobs", &job("web")).status {
        200 => Ok(()),
        status => Err(status.to_string()),
    });
    assert_eq!(ask(&agent, "", "DELETE", "/v1/job/web", &Json::Null).status, 200);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/guide/audit.md")).expect("the guide");
    let line = guide.split("Who stopped this job?").nth(1).and_then(|t| t.split("```").nth(1)).expect("a line of jq");
    let asked = Command::new("sh").args(["-c", line]).current_dir(folder.path().join("data/audit")).output();
    let answer = asked.expect("a shell");
    if answer.status.code() == Some(127) {
        eprintln!("jq is not installed: not tested");
        return;
    }
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let words: Vec<&str> = text.trim_end().split('\t').collect();
    assert_eq!((words.len(), words[1], words[4], words[5]), (6, "acl_disabled", "200", "allowed"), "{answer:?}");
}

#[test]
fn a_log_that_cannot_be_opened_stops_the_start() {
    let folder = Folder::new("audit-refused");
    let more = config(&folder, "audit {\n enabled = true\n sink \"x\" {\n  path = \"/proc/nosuch/audit.log\"\n }\n}\n");
    folder.file("agent.hcl", format!("ports {{\n  http = 0\n  rpc  = 0\n  serf = 0\n}}\n{more}"));
    let mut agent = Agent::spawn(&folder, &["-config", "agent.hcl"]);
    agent.until(
        "Error starting agent: audit setup failed: sink \"x\": /proc/nosuch/audit.log: No such file or directory",
    );
    assert_eq!(agent.exit(), 1);
}

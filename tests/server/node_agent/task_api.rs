//! The task API: a task calls the HTTP API on its own socket with its workload identity.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::*;
use crate::agent::{PATIENCE, bootstrap, call_as};

/// A task that calls the API with the command line program, and then sleeps.
fn caller(command: &str) -> Json {
    let program = env!("CARGO_BIN_EXE_encamp");
    let script = format!(
        "NOMAD_ADDR=\"$NOMAD_UNIX_ADDR\" {program} {command} > local/out.new 2>&1; echo \"exit $?\" >> local/out.new\n\
         mv local/out.new local/out; exec sleep 600"
    );
    let mut task = task("main", &script);
    task["Identity"] = json!({"Env": true, "File": true});
    task
}

/// The status and the body of the answer to a request on a socket, with that token; an error if nobody answers.
fn ask(socket: &Path, token: &str, method: &str, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let token = if token.is_empty() { String::new() } else { format!("X-Nomad-Token: {token}\r\n") };
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: task\r\n{token}Connection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    Ok((status, body.trim_end().to_string()))
}

fn socket(folder: &Folder, alloc: &Json) -> PathBuf {
    dir(folder, alloc).join("main/secrets/api.sock")
}

#[test]
fn a_task_needs_some_token_without_access_control() {
    let folder = Folder::new("task-api");
    let agent = start(&folder, "");
    let alloc = run(&agent, &job("web", JobType::Service, &[caller("job status")]), ClientStatus::Running);
    let out = content(&dir(&folder, &alloc).join("main/local/out"));
    assert!(out.contains("web") && out.ends_with("exit 0\n"), "{out}");
    let socket = socket(&folder, &alloc);
    assert_eq!(socket.metadata().expect("a socket").permissions().mode() & 0o777, 0o666);
    let get = |token: &str| ask(&socket, token, "GET", "/v1/status/leader").expect("an answer");
    assert_eq!(get(""), (401, "Unauthorized".to_string()));
    assert_eq!(get("anything").0, 200);

    // The socket is removed with the end of the task.
    assert_eq!(agent.send("DELETE", "/v1/job/web", &Json::Null).status, 200);
    super::alloc(&agent, "web", ClientStatus::Complete);
    assert!(!socket.exists() && ask(&socket, "anything", "GET", "/v1/status/leader").is_err());
}

#[test]
fn a_task_has_the_rights_of_its_workload_also_after_a_restart_of_the_agent() {
    let folder = Folder::new("task-api-acl");
    let text = format!("{}acl {{\n enabled = true\n}}\n", config(&folder, ""));
    let agent = Agent::start(&folder, &text, &[]);
    let operator = bootstrap(agent.port);
    // All that follows is asked by the operator's token.
    let agent = agent.with_token(&operator);
    ready(&agent);
    for path in ["nomad/jobs/web", "other"] {
        let variable = json!({"Path": path, "Items": {"color": "green"}});
        assert_eq!(agent.send("PUT", &format!("/v1/var/{path}"), &variable).status, 200);
    }
    let job = job("web", JobType::Service, &[caller("var get -out json nomad/jobs/web")]);
    let alloc = run(&agent, &job, ClientStatus::Running);
    let out = content(&dir(&folder, &alloc).join("main/local/out"));
    assert!(out.contains("green") && out.ends_with("exit 0\n"), "{out}");

    let socket = socket(&folder, &alloc);
    let identity = content(&dir(&folder, &alloc).join("main/secrets/nomad_token"));
    let get = |token: &str, path: &str| ask(&socket, token, "GET", path).expect("an answer");
    assert_eq!(get(&identity, "/v1/var/nomad/jobs/web").0, 200);
    assert_eq!(get(&identity, "/v1/var/other").0, 403);
    assert_eq!(get(&operator, "/v1/var/other").0, 200, "a token of ours has its own rights");
    assert_eq!(get("", "/v1/status/leader"), (401, "Unauthorized".to_string()));
    let unknown = "11111111-2222-4333-8444-555555555555";
    for token in ["nonsense", unknown, &format!("{identity}x")] {
        assert_eq!(get(token, "/v1/status/leader"), (403, "Forbidden".to_string()), "{token}");
    }

    // The task outlives its agent, and finds the next one at the same place.
    stop(agent);
    assert!(ask(&socket, &identity, "GET", "/v1/status/leader").is_err(), "nobody answers");
    let mut agent = Agent::spawn(&folder, &["-config", "agent.hcl"]).with_token(&operator);
    agent.serves();
    ready(&agent);
    wait_for("the task API is served again", || match ask(&socket, &identity, "GET", "/v1/var/nomad/jobs/web") {
        Ok((200, _)) => Ok(()),
        other => Err(format!("{other:?}")),
    });

    // Its identity ends with the allocation.
    assert_eq!(agent.send("DELETE", "/v1/job/web", &Json::Null).status, 200);
    super::alloc(&agent, "web", ClientStatus::Complete);
    let left = call_as(agent.port, &identity, "GET", "/v1/var/nomad/jobs/web", "", PATIENCE).expect("an answer");
    assert_eq!(left.status, 403, "{}", left.body);
}

//! A daemon that does not do what it should: it hangs, refuses, lies, or ends in the middle of an answer. It is simulated
//! here; what works is tested with a real one.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// What a simulated daemon answers.
#[derive(Debug, Clone)]
enum Answer {
    /// A status and a body.
    Whole(u16, String),
    /// The beginning of a body; then the connection ends.
    Cut(String),
    /// The beginning of a body; then nothing, for as long as the test lasts.
    Hang(String),
}

type Rule = (&'static str, Answer);

/// A simulated daemon; the first rule whose text is in the request line counts.
struct Daemon {
    rules: Mutex<Vec<Rule>>,
    /// Pulls that were asked for.
    pulls: AtomicUsize,
}

fn ok(body: &str) -> Answer {
    Answer::Whole(200, body.into())
}

impl Daemon {
    fn start(path: &Path, rules: Vec<Rule>) -> Arc<Daemon> {
        let daemon = Arc::new(Daemon { rules: Mutex::new(rules), pulls: AtomicUsize::new(0) });
        let listener = UnixListener::bind(path).expect("a socket");
        let serving = daemon.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let daemon = serving.clone();
                thread::spawn(move || daemon.answer(stream));
            }
        });
        daemon
    }

    fn answer(&self, mut stream: UnixStream) {
        let Ok(copy) = stream.try_clone() else { return };
        let mut reader = BufReader::new(copy);
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line).is_err() {
            return;
        }
        let mut header = String::new();
        while reader.read_line(&mut header).is_ok_and(|n| n > 2) {
            if let Some(n) = header.to_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().unwrap_or(0);
            }
            header.clear();
        }
        let mut body = vec![0; length];
        let _ = reader.read_exact(&mut body);
        if line.contains("/images/create") {
            self.pulls.fetch_add(1, Ordering::SeqCst);
        }
        let answer = {
            let rules = self.rules.lock().expect("the rules");
            let found = rules.iter().find(|(text, _)| line.contains(text)).map(|(_, answer)| answer.clone());
            found.unwrap_or_else(|| base(&line))
        };
        let head = |status: u16, length: usize| {
            format!(
                "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            )
        };
        let _ = match answer {
            Answer::Whole(status, body) => stream.write_all(format!("{}{body}", head(status, body.len())).as_bytes()),
            Answer::Cut(body) => stream.write_all(format!("{}{body}", head(200, body.len() + 1000)).as_bytes()),
            Answer::Hang(body) => {
                let _ = stream.write_all(format!("{}{body}", head(200, body.len() + 1000)).as_bytes());
                // Until the other side has enough.
                stream.read(&mut [0; 1]).map(drop)
            }
        };
    }
}

/// The answers of a daemon that is fine, but has no image and no container.
fn base(line: &str) -> Answer {
    let is = |text: &str| line.contains(text);
    if is("/version") {
        ok(r#"{"Version":"1","ApiVersion":"1.41"}"#)
    } else if is("/info") {
        ok(r#"{"ServerVersion":"1","OSType":"linux"}"#)
    } else {
        Answer::Whole(404, r#"{"message":"there is no such thing"}"#.into())
    }
}

/// An agent with a simulated daemon.
fn with(folder: &Folder, rules: Vec<Rule>, more: &str) -> (Agent, Arc<Daemon>, PathBuf) {
    let socket = folder.path().join("daemon.sock");
    let daemon = Daemon::start(&socket, rules);
    let plugin =
        format!("plugin \"docker\" {{\n config {{\n endpoint = \"unix://{}\"\n {more}\n }}\n}}\n", socket.display());
    let agent = Agent::start(folder, &config(folder, &plugin), &[]);
    driver(&agent, true);
    (agent, daemon, socket)
}

/// Runs a job that fails; gives the texts of its events.
fn fails(agent: &Agent, name: &str, more: &Json) -> Vec<String> {
    let failed = run(agent, &job(name, JobType::Batch, task("true", more)), ClientStatus::Failed);
    events(agent, &failed)
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn pulls_that_fail_say_why_and_end() {
    let folder = Folder::new("containers-pulls");
    let more = "image_pull_timeout = \"20s\"\n pull_activity_timeout = \"500ms\"";
    let message = |text: &str| format!("{{\"errorDetail\":{{\"message\":\"{text}\"}},\"error\":\"{text}\"}}\r\n");
    let (agent, daemon, _) = with(&folder, Vec::new(), more);
    let set = |answer: Answer| *daemon.rules.lock().expect("the rules") = vec![("/images/create", answer)];
    let progress = "{\"status\":\"Pulling\",\"id\":\"a\",\"progressDetail\":{\"current\":1,\"total\":9}}\r\n";
    let login = json!({"image": "r.example/x:1", "auth": [{"username": "bob", "password": "s3cret-password"}]});
    let plain = json!({"image": "r.example/x:1"});
    let mut all = String::new();
    for (name, answer, more, text) in [
        ("missing", Answer::Whole(404, message("manifest unknown")), &plain, "check the name and the tag"),
        ("denied", Answer::Whole(401, message("unauthorized")), &login, "the login"),
        ("streamed", ok(&format!("{progress}{}", message("no basic auth"))), &login, "no basic auth"),
        ("cut", Answer::Cut(progress.into()), &plain, "the answer of the container daemon can't be used"),
        ("stuck", Answer::Hang(progress.into()), &plain, "no progress within 500ms"),
        ("mute", Answer::Hang(String::new()), &plain, "no progress within 500ms"),
        ("garbage", ok("<html>no json</html>\n"), &plain, "can't be used"),
        ("liar", ok(progress), &plain, "no such image"),
    ] {
        set(answer);
        let seen = fails(&agent, name, more);
        assert!(
            seen.iter().any(|e| e.starts_with("Driver Failure: failed to") && e.contains(text)),
            "{name}: {seen:?}"
        );
        all += &seen.join("\n");
    }
    assert!(!all.contains("s3cret"), "{all}");
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn one_pull_for_all_tasks_and_no_wait_when_they_end() {
    let folder = Folder::new("containers-one-pull");
    let hangs = vec![("/images/create", Answer::Hang(String::new()))];
    let (agent, daemon, _) = with(&folder, hangs, "pull_activity_timeout = \"50s\"");
    for name in ["a", "b", "c"] {
        register(&agent, &job(name, JobType::Service, task("true", &json!({"image": "r.example/x:1"}))));
    }
    for name in ["a", "b", "c"] {
        wait_for("the event of the pull", || {
            let found = alloc(&agent, name, ClientStatus::Pending);
            let seen = events(&agent, &found);
            if seen.iter().any(|e| e == "Driver: Downloading image") { Ok(()) } else { Err(format!("{seen:?}")) }
        });
    }
    assert_eq!(daemon.pulls.load(Ordering::SeqCst), 1);
    let begin = Instant::now();
    for name in ["a", "b", "c"] {
        stop(&agent, name);
    }
    assert!(begin.elapsed() < Duration::from_secs(30));
    let mut agent = agent;
    assert!(!agent.log().contains("panicked"));
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_daemon_that_hangs_or_refuses_does_not_hold_the_agent() {
    let folder = Folder::new("containers-hangs");
    let image = ("/images/", ok(r#"{"Id":"sha256:1"}"#));
    let refuses = Answer::Whole(500, r#"{"message":"out of disk"}"#.into());
    let (agent, daemon, _) = with(&folder, vec![("/containers/create", refuses), image.clone()], "");
    let seen = fails(&agent, "refuses", &json!({}));
    let text = "Driver Failure: failed to create the container: out of disk";
    assert!(seen.iter().any(|e| e == text), "{seen:?}");
    // A container that had too little memory.
    let made = || ("/containers/create", Answer::Whole(201, r#"{"Id":"c1","Warnings":[]}"#.into()));
    let started = || ("/start", Answer::Whole(204, String::new()));
    let state = r#"{"Status":"exited","Running":false,"OOMKilled":true,"ExitCode":137}"#;
    let ended = ("/containers/c1/json", ok(&format!(r#"{{"Id":"c1","State":{state}}}"#)));
    let removed = ("/containers/c1", Answer::Whole(204, String::new()));
    *daemon.rules.lock().expect("the rules") = vec![made(), started(), ended, removed, image.clone()];
    let seen = fails(&agent, "memory", &json!({}));
    let text = "Terminated: Exit Code: 137, Exit Message: \\OOM Killed\\";
    assert!(seen.iter().any(|e| e == text), "{seen:?}");
    // A container that runs, but that the daemon lies about: waits say that it ended, at once, and it does not stop.
    let waits = ("/wait", ok(r#"{"StatusCode":0}"#));
    let runs = ("/containers/c1/json", ok(r#"{"Id":"c1","State":{"Status":"running","Running":true}}"#));
    let gone = ("/containers/c1", Answer::Whole(500, r#"{"message":"no"}"#.into()));
    *daemon.rules.lock().expect("the rules") = vec![made(), started(), waits, runs, gone, image];
    let lies = run(&agent, &job("lies", JobType::Service, task("true", &json!({}))), ClientStatus::Running);
    // Everything hangs.
    *daemon.rules.lock().expect("the rules") = vec![("/", Answer::Hang(String::new()))];
    driver(&agent, false);
    let begin = Instant::now();
    assert_eq!(agent.get(&format!("/v1/allocation/{}", id(&lies)))["ClientStatus"], "running");
    assert_eq!(agent.ask("GET", "/v1/nodes").0.split(' ').nth(1), Some("200"));
    assert!(begin.elapsed() < Duration::from_secs(10));
    // It says that the container is gone.
    *daemon.rules.lock().expect("the rules") = Vec::new();
    driver(&agent, true);
    let failed = alloc(&agent, "lies", ClientStatus::Failed);
    let seen = events(&agent, &failed);
    assert!(seen.iter().any(|e| e.contains("the container is gone")), "{seen:?}");
}

#[test]
fn a_daemon_comes_and_goes() {
    let folder = Folder::new("containers-comes");
    let socket = folder.path().join("daemon.sock");
    let plugin = format!("plugin \"docker\" {{\n config {{\n endpoint = \"unix://{}\"\n }}\n}}\n", socket.display());
    let agent = Agent::start(&folder, &config(&folder, &plugin), &[]);
    let node = driver(&agent, false);
    let state = &node["Drivers"]["docker"];
    assert_eq!(
        (&state["Detected"], &state["HealthDescription"]),
        (&json!(false), &json!("Failed to connect to docker daemon"))
    );
    Daemon::start(&socket, Vec::new());
    let node = driver(&agent, true);
    assert_eq!(node["Attributes"]["driver.docker.version"], "1");
    std::fs::remove_file(&socket).expect("removed");
    // A start finds that out before the next look.
    let seen = fails(&agent, "lost", &json!({}));
    assert!(seen.iter().any(|e| e.contains("no container daemon answers at unix://")), "{seen:?}");
    let node = driver(&agent, false);
    let state = &node["Drivers"]["docker"];
    assert_eq!((&state["Detected"], &node["Attributes"]["driver.docker.version"]), (&json!(true), &Json::Null));
}

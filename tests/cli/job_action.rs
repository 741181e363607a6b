//! `job action` and `alloc exec`: commands that run in tasks, over a WebSocket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::canned::*;
use crate::program::{Ran, run_for};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use encamp_model::ClientStatus;
use serde_json::{Value, json};
use sha1::{Digest, Sha1};

/// What a test server does once the stream is open.
type Script = fn(&mut Stream);

/// A server of one job with a running allocation, whose actions do what the script does.
struct Actions {
    address: String,
    /// The paths with queries that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
    /// What arrived on streams.
    heard: Arc<Mutex<Vec<Value>>>,
}

struct Stream {
    tcp: BufReader<TcpStream>,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Stream {
    fn frame(&mut self, kind: u8, payload: &[u8]) {
        let mut bytes = vec![0x80 | kind];
        match u8::try_from(payload.len()) {
            Ok(n) if n < 126 => bytes.push(n),
            _ => {
                bytes.push(126);
                bytes.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
            }
        }
        bytes.extend(payload);
        self.tcp.get_mut().write_all(&bytes).unwrap();
    }

    fn say(&mut self, value: Value) {
        self.frame(1, value.to_string().as_bytes());
    }

    /// The next message; `None` at the end.
    fn hear(&mut self) -> Option<Value> {
        let mut head = [0; 2];
        self.tcp.read_exact(&mut head).ok()?;
        assert_eq!(head[1] & 0x80, 0x80, "frames of clients are masked");
        let mut length = u64::from(head[1] & 0x7f);
        if length == 126 {
            let mut more = [0; 2];
            self.tcp.read_exact(&mut more).ok()?;
            length = u64::from(u16::from_be_bytes(more));
        }
        let mut mask = [0; 4];
        self.tcp.read_exact(&mut mask).ok()?;
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.tcp.read_exact(&mut payload).ok()?;
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, m)| *byte ^= m);
        match head[0] & 0x0f {
            1 => {}
            // A pong: the answer to a ping.
            10 => {
                assert_eq!(payload, b"ping");
                self.heard.lock().unwrap().push(json!("pong"));
                return self.hear();
            }
            _ => return None,
        }
        let value: Value = serde_json::from_slice(&payload).unwrap();
        self.heard.lock().unwrap().push(value.clone());
        Some(value)
    }
}

impl Actions {
    fn start(script: Script) -> Actions {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (asked, heard) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let served = (asked.clone(), heard.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (asked, heard) = served.clone();
                std::thread::spawn(move || serve(stream.unwrap(), script, &asked, heard));
            }
        });
        Actions { address, asked, heard }
    }

    fn run(&self, args: &[&str], input: &str) -> Ran {
        let env = [("NOMAD_ADDR", self.address.as_str())];
        run_for(PATIENCE, &std::env::temp_dir(), args, &env, input)
    }
}

fn serve(tcp: TcpStream, script: Script, asked: &Mutex<Vec<String>>, heard: Arc<Mutex<Vec<Value>>>) {
    let mut tcp = BufReader::new(tcp);
    let (mut line, mut key) = (String::new(), String::new());
    tcp.read_line(&mut line).unwrap();
    let target = line.split(' ').nth(1).unwrap_or_default().to_string();
    loop {
        let mut header = String::new();
        tcp.read_line(&mut header).unwrap();
        match header.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("sec-websocket-key") => key = value.to_string(),
            Some(_) => {}
            None => break,
        }
    }
    asked.lock().unwrap().push(target.clone());
    let path = target.split('?').next().unwrap();
    let running = alloc("aaaaaaaa-1111-2222-3333-444444444444", ClientStatus::Running, json!({}));
    let ended = alloc("aaaaffff-1111-2222-3333-444444444444", ClientStatus::Complete, json!({}));
    let answer = match path {
        "/v1/jobs" => json!([stub("web")]),
        "/v1/job/web/allocations" => json!([ended, running]),
        "/v1/allocations" => json!([running]),
        "/v1/allocation/aaaaaaaa-1111-2222-3333-444444444444" => {
            let tasks = json!([{"Name": "t"}, {"Name": "u"}]);
            let job = json!({"ID": "web", "TaskGroups": [{"Name": "g", "Tasks": tasks}]});
            json!({"ID": "aaaaaaaa-1111-2222-3333-444444444444", "Namespace": "default", "TaskGroup": "g", "Job": job})
        }
        "/v1/job/web/action" | "/v1/client/allocation/aaaaaaaa-1111-2222-3333-444444444444/exec" => {
            let accept = STANDARD.encode(Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
            let head = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            tcp.get_mut().write_all(head.as_bytes()).unwrap();
            return script(&mut Stream { tcp, heard });
        }
        _ => Value::Null,
    };
    let body = answer.to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    tcp.get_mut().write_all(head.as_bytes()).unwrap();
}

const ARGS: [&str; 5] = ["action", "-job=web", "-group=g", "-task=t", "say"];

#[test]
fn output_input_and_exit_code_go_through() {
    let actions = Actions::start(|s| {
        s.frame(9, b"ping");
        // What is typed, until it ends.
        let mut typed = Vec::new();
        while let Some(said) = s.hear() {
            if said["stdin"]["close"] == true {
                break;
            }
            if let Some(data) = said["stdin"]["data"].as_str() {
                typed.extend(STANDARD.decode(data).unwrap());
            }
        }
        let long = "x".repeat(300);
        s.say(json!({"stdout": {"data": STANDARD.encode(format!("{}{long}\n", String::from_utf8(typed).unwrap()))}}));
        s.say(json!({"stderr": {"data": STANDARD.encode("careful\n")}}));
        s.say(json!({"stdout": {"close": true}}));
        s.say(json!({"exited": true, "result": {"exit_code": 3}}));
        while s.hear().is_some() {}
    });
    let ran = actions.run(&ARGS, "typed text\n");
    assert_eq!(ran.stdout, format!("typed text\n{}\n", "x".repeat(300)));
    assert_eq!((ran.stderr.as_str(), ran.exit), ("careful\n", 3));
    assert!(actions.heard.lock().unwrap().contains(&json!("pong")));
    let asked = actions.asked.lock().unwrap();
    let query = "action=say&allocID=aaaaaaaa-1111-2222-3333-444444444444&task=t&tty=false&namespace=default";
    assert_eq!(asked.last().unwrap(), &format!("/v1/job/web/action?{query}"));
}

#[test]
fn without_input_the_action_reads_an_empty_one() {
    let actions = Actions::start(|s| {
        while s.hear().is_some_and(|said| said["stdin"]["close"] != true) {}
        s.say(json!({"exited": true, "result": {}}));
        while s.hear().is_some() {}
    });
    let ran = actions.run(&["job", "action", "-job", "web", "-alloc", "aaaaaaaa", "-i=false", "say"], "typed\n");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", "", 0));
    assert!(actions.heard.lock().unwrap().iter().all(|said| said["stdin"]["data"].is_null()));
}

#[test]
fn commands_run_in_tasks_of_allocations() {
    let actions = Actions::start(|s| {
        while s.hear().is_some_and(|said| said["stdin"]["close"] != true) {}
        s.say(json!({"stdout": {"data": STANDARD.encode("out\n")}}));
        s.say(json!({"stderr": {"data": STANDARD.encode("err\n")}}));
        s.say(json!({"exited": true, "result": {"exit_code": 7}}));
        while s.hear().is_some() {}
    });
    let ran = actions.run(&["alloc", "exec", "-task", "t", "aaaaaaaa", "/bin/sh", "-c", "exit 7"], "");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("out\n", "err\n", 7));
    let asked = actions.asked.lock().unwrap().last().unwrap().clone();
    let query = "task=t&command=%5B%22%2Fbin%2Fsh%22%2C%22-c%22%2C%22exit+7%22%5D&tty=false&namespace=default";
    assert_eq!(asked, format!("/v1/client/allocation/aaaaaaaa-1111-2222-3333-444444444444/exec?{query}"));
    let ran = actions.run(&["exec", "-job", "-task=t", "web", "ls"], "");
    assert_eq!((ran.stdout.as_str(), ran.exit), ("out\n", 7));
    for (args, want) in [
        (&["aaaaaaaa"][..], "A command is required\nFor additional help try 'encamp alloc exec -help'\n"),
        (&["a", "ls"], "Alloc ID must contain at least two characters\n"),
        (&["-i=false", "-t", "aaaaaaaa", "ls"], "-i must be enabled if running with tty\n"),
        (&["-task=zz", "aaaaaaaa", "ls"], "Could not find task named: zz, found:\nt\nu\n"),
        (
            &["aaaaaaaa", "ls"],
            "Failed to validate task: Allocation \"aaaaaaaa\" is running the following tasks:\n  * t\n  * u\n\n\
             Please specify the task.\n",
        ),
    ] {
        let ran = actions.run(&[&["alloc", "exec"], args].concat(), "");
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", want, 1), "{args:?}");
    }
}

#[test]
fn streams_that_end_early_say_why() {
    let refused = Actions::start(|s| {
        let mut reason = 1011_u16.to_be_bytes().to_vec();
        reason.extend(b"task not found");
        s.frame(8, &reason);
    });
    let ran = refused.run(&ARGS, "");
    assert_eq!((ran.stderr.as_str(), ran.exit), ("failed to exec into task: task not found\n", 1));
    let broken = Actions::start(|s| s.frame(1, b"no JSON"));
    let ran = broken.run(&ARGS, "");
    assert!(ran.stderr.starts_with("failed to exec into task: a message can't be read: "), "{}", ran.stderr);
    assert_eq!(ran.exit, 1);
    let gone = Actions::start(|_| {});
    assert_eq!(gone.run(&ARGS, "").exit, 1);
}

#[test]
fn wrong_uses_are_told() {
    let canned = Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/job/web/allocations", json!([alloc("aaaaaaaa-1", ClientStatus::Pending, json!({}))])),
    ]);
    let help = "For additional help try 'encamp job action -help'\n";
    for (args, want) in [
        (&["action"][..], format!("An action name is required\n{help}")),
        (&["action", "say"], format!("A job ID is required\n{help}")),
        (&["action", "-job=web", "say"], format!("A group name is required if no allocation is provided\n{help}")),
        (
            &["action", "-job=web", "-group=g", "say"],
            format!("A task name is required if no allocation is provided\n{help}"),
        ),
        (
            &["action", "-job=web", "-alloc=aa", "-i=false", "-t", "say"],
            format!("-i must be enabled if running with tty\n{help}"),
        ),
        (
            &["action", "-job=web", "-alloc=aa", "-e=ab", "say"],
            format!("-e requires 'none' or a single character\n{help}"),
        ),
        (&["action", "-job=web", "-group=g", "-task=t", "say"], "No running allocations of group \"g\" found\n".into()),
        (&["action", "-job=web", "-alloc=bb", "say"], "No allocation(s) with prefix or id \"bb\" found\n".into()),
        (
            &["action", "-job=web", "-alloc=aaaa", "say"],
            "failed to exec into task: Unexpected response code: 404 (not found)\n".into(),
        ),
    ] {
        let ran = canned.run(args);
        assert_eq!((ran.stdout.as_str(), ran.stderr, ran.exit), ("", want, 1), "{args:?}");
    }
}

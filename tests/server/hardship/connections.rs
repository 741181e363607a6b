//! Connections that are slow, idle, half closed, aborted, or too many.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType};
use serde_json::json;

use crate::agent::{Agent, PATIENCE, wait_for};
use crate::hardship::support::*;
use crate::program::Folder;

/// A client that half-closes its connection has sent all its requests, and still reads.
#[test]
fn half_closed_connections_are_answered() {
    let folder = Folder::new("hardship-half");
    let mut agent = Agent::start(&folder, "limits { http_max_conns_per_client = 0 }", &["-dev"]);
    led(&agent);
    for i in 0..20 {
        let response = exchange_half_closed(&agent, &head("GET", "/v1/jobs", ""));
        assert_eq!(response.status_and_body(), (200, "[]"), "{i}");
        let put = request("PUT", "/v1/var/half", json!({ "Items": { "i": i.to_string() } }).to_string().as_bytes());
        let response = exchange_half_closed(&agent, &put);
        assert_eq!(
            (response.status, response.json()["Items"]["i"].as_str()),
            (200, Some(i.to_string().as_str())),
            "{response:?}"
        );
    }
    // A response that takes many writes, on a connection with keep-alive.
    let filler = "m".repeat(3 << 20);
    let parse = json!({ "JobHCL": format!("job \"x\" {{\n  meta {{\n    k = \"{filler}\"\n  }}\n}}\n") }).to_string();
    let parse = format!("PUT /v1/jobs/parse HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{parse}", parse.len());
    let response = exchange_half_closed(&agent, parse.as_bytes());
    assert!(response.status == 200 && response.json()["Meta"]["k"] == filler.as_str(), "{:.200}", response.body);
    // A truncated body is an error soon.
    let started = Instant::now();
    let response = exchange_half_closed(
        &agent,
        &[&head("PUT", "/v1/jobs", "Content-Length: 100\r\n"), &b"{\"Job\":"[..]].concat(),
    );
    assert_eq!(response.status_and_body(), (400, "unexpected EOF"));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());

    // A blocking query is answered, too.
    let index = agent.get("/v1/var/half")["ModifyIndex"].clone();
    let mut waiting = agent.connect();
    waiting.write_all(&head("GET", &format!("/v1/var/half?index={index}&wait=60s"), "")).expect("written");
    waiting.shutdown(Shutdown::Write).expect("half closed");
    (0..50).for_each(|_| unharmed(&mut agent));
    let put = request("PUT", "/v1/var/half", b"{\"Items\": {\"i\": \"last\"}}");
    assert_eq!(exchange(&agent, &put).status, 200);
    let response = answer(waiting);
    assert_eq!((response.status, response.json()["Items"]["i"].as_str()), (200, Some("last")), "{response:?}");
    unharmed(&mut agent);
}

#[test]
fn slow_idle_and_gone_clients_cost_little_and_go_away() {
    let folder = Folder::new("hardship-slow");
    let mut agent = Agent::start(&folder, "limits { http_max_conns_per_client = 0 }", &["-dev"]);
    led(&agent);
    let put = request("PUT", "/v1/var/slow", b"{\"Items\": {\"k\": \"v\"}}");
    assert_eq!(exchange(&agent, &put).status, 200);
    let before = descriptors(&agent);
    let memory_before = memory(&agent, "VmRSS");
    let idle: Vec<TcpStream> = (0..200).map(|_| agent.connect()).collect();
    // Heads and bodies that arrive byte by byte.
    let mut slow: Vec<TcpStream> = (0..20).map(|_| agent.connect()).collect();
    let text = [&head("PUT", "/v1/var/slow", "Content-Length: 1000\r\n"), &b"{".repeat(20)[..]].concat();
    for byte in &text {
        slow.iter_mut().for_each(|s| s.write_all(&[*byte]).expect("written"));
        let started = Instant::now();
        unharmed(&mut agent);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
    // Blocking queries and streams of clients that disappear without closing.
    let index = agent.get("/v1/var/slow")["ModifyIndex"].clone();
    let mut gone = Vec::new();
    for path in [format!("/v1/var/slow?index={index}&wait=300s"), "/v1/event/stream".into(), "/v1/agent/monitor".into()]
    {
        for _ in 0..10 {
            let mut stream = agent.connect();
            stream.write_all(&head("GET", &path, "")).expect("written");
            gone.push(stream);
        }
    }
    wait_for("all connections", || match descriptors(&agent) {
        now if now >= before + 245 => Ok(()),
        now => Err(format!("{now} descriptors, {before} before")),
    });
    unharmed(&mut agent);
    let grown = memory(&agent, "VmRSS").saturating_sub(memory_before) >> 20;
    assert!(grown < 60, "{grown} MiB for 250 connections");
    drop((idle, slow, gone));
    wait_for("connections to end", || match descriptors(&agent) {
        now if now <= before + 5 => Ok(()),
        now => Err(format!("{now} descriptors, {before} before")),
    });
    let value = agent.get("/v1/var/slow");
    assert_eq!(value["Items"], json!({ "k": "v" }), "half a write is none");
    unharmed(&mut agent);
}

/// A connection from another address of this machine.
fn connect_from(ip: [u8; 4], agent: &Agent) -> TcpStream {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    rustix::net::bind(&socket, &SocketAddrV4::new(ip.into(), 0)).expect("an address");
    rustix::net::connect(&socket, &SocketAddrV4::new([127, 0, 0, 1].into(), agent.port)).expect("a connection");
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

#[test]
fn one_client_cannot_take_all_connections() {
    let folder = Folder::new("hardship-limit");
    let mut agent = Agent::start(&folder, "limits { http_max_conns_per_client = 10 }", &["-dev"]);
    led(&agent);
    // Closed connections release their slots a moment later.
    let mut held: Vec<TcpStream> = Vec::new();
    wait_for("ten places", || {
        held = (0..10).map(|_| agent.connect()).collect();
        for stream in &mut held {
            stream.write_all(b"GET /v1/status/leader HTTP/1.1\r\nHost: x\r\n\r\n").map_err(|e| e.to_string())?;
            let mut first = [0; 12];
            stream.read_exact(&mut first).map_err(|e| e.to_string())?;
            if &first != b"HTTP/1.1 200" {
                return Err(String::from_utf8_lossy(&first).into());
            }
            stream.write_all(b"GET /v1/jo").map_err(|e| e.to_string())?;
        }
        Ok(())
    });
    let text = "Your IP is issuing too many concurrent connections, please rate limit your calls\n";
    for _ in 0..5 {
        // Responses to refused connections are rate-limited, too: a connection without a response is reset.
        wait_for("a refusal", || {
            let mut stream = agent.connect();
            let _ = stream.write_all(&head("GET", "/v1/jobs", ""));
            let mut answer = String::new();
            match stream.read_to_string(&mut answer) {
                Ok(_) if answer.starts_with("HTTP/1.1 429 ") && answer.ends_with(text) => Ok(()),
                Ok(_) if !answer.is_empty() => panic!("{answer}"),
                other => Err(format!("{other:?}")),
            }
        });
    }
    let mut other = connect_from([127, 0, 0, 2], &agent);
    other.write_all(&head("GET", "/v1/jobs", "")).expect("written");
    assert_eq!(answer(other).status_and_body(), (200, "[]"), "the limit is for each address");
    drop(held);
    wait_for("a place", || {
        let mut stream = agent.connect();
        let _ = stream.write_all(&head("GET", "/v1/jobs", ""));
        let mut text = String::new();
        match stream.read_to_string(&mut text) {
            Ok(_) if text.starts_with("HTTP/1.1 200") => Ok(()),
            other => Err(format!("{other:?} {text}")),
        }
    });
    unharmed(&mut agent);
}

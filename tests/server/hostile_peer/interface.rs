//! Attacks on the HTTP interface: bodies that expand, and slow clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::agent::{PATIENCE, call};
use crate::hostile_peer::servers::memory;
use crate::member::{Member, Role};

/// The head of a file in a tar archive.
fn header(name: &str, size: u64) -> Vec<u8> {
    let mut header = vec![0u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header
}

/// A snapshot that contains a gigabyte of blanks.
fn blanks() -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(&header("meta.json", 512)).expect("gzip");
    out.write_all(&[b' '; 512]).expect("gzip");
    out.write_all(&header("state.bin", 1 << 30)).expect("gzip");
    for _ in 0..1 << 10 {
        out.write_all(&[b' '; 1 << 20]).expect("gzip");
    }
    out.finish().expect("gzip")
}

fn put(port: u16, path: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let length = body.len();
    let head = format!("PUT {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    let mut text = String::new();
    // A server that refuses the request may close before everything was sent.
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let read = stream.read_to_string(&mut text);
    assert!(!text.is_empty() || sent.is_err() || read.is_err(), "no answer");
    text
}

/// How long it takes until the server closes a connection.
fn closed_after(mut stream: TcpStream, begun: Instant) -> Duration {
    stream.set_read_timeout(Some(PATIENCE * 2)).expect("a timeout");
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    let timed_out = read.is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!timed_out, "the connection stays open");
    begun.elapsed()
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn bodies_that_grow_and_clients_that_are_slow_cost_little() {
    let mut server = Member::new("hostile-http", Role::Server { expect: 1, join: vec![] });
    server.start();
    crate::member::leader(std::slice::from_ref(&server));
    let port = server.port();
    // Heads and bodies that never end; their answers are checked last.
    let begun = Instant::now();
    let slow = |text: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.write_all(text.as_bytes()).expect("written");
        stream
    };
    let heads: Vec<TcpStream> = (0..20).map(|_| slow("GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-Slow: ")).collect();
    let bodies: Vec<TcpStream> = (0..20)
        .map(|_| {
            slow("PUT /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n{\"Job\": ")
        })
        .collect();

    let before = memory(&server, "VmRSS");
    let bomb = blanks();
    println!("| item | attack | after | memory |");
    let answer = put(port, "/v1/operator/snapshot", &bomb);
    let wanted = "it unpacks to more than 100 times its size";
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains(wanted), "{answer}");
    let answers: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| put(port, "/v1/operator/snapshot", &bomb))).collect();
        all.into_iter().map(|t| t.join().expect("an answer")).collect()
    });
    assert!(
        answers.iter().all(|a| a.contains(wanted) || a.contains("another snapshot is being restored")),
        "{answers:?}"
    );
    let grown = memory(&server, "VmHWM").saturating_sub(before) >> 20;
    println!(
        "| C.7 | snapshots of {} KB that hold 1 GB of blanks, one and eight at the same time | 500 {wanted} | {grown} MiB |",
        bomb.len() >> 10
    );
    assert!(grown <= 200, "it grew by {grown} MiB");
    let left = std::fs::read_dir(server.data().join("server")).expect("a folder");
    assert!(left.flatten().all(|f| !f.file_name().to_string_lossy().contains("restore")), "files stay");

    // Bodies that are large, all at the same time: others wait, or are instructed to try again.
    let large = format!("{{\"Job\": {}}}", " ".repeat(31 << 20));
    let answers: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..12).map(|_| scope.spawn(|| put(port, "/v1/jobs", large.as_bytes()))).collect();
        all.into_iter().map(|t| t.join().expect("an answer")).collect()
    });
    assert!(answers.iter().all(|a| a.starts_with("HTTP/1.1 400") || a.starts_with("HTTP/1.1 503") || a.is_empty()));
    let grown = memory(&server, "VmHWM").saturating_sub(before) >> 20;
    println!("| C.7 | 12 bodies of 31 MiB at the same time | 400 or 503 | {grown} MiB |");
    assert!(grown <= 400, "it grew by {grown} MiB");

    let reply = call(port, "GET", "/v1/jobs", "", PATIENCE).expect("an answer");
    assert_eq!(reply.status, 200, "{}", reply.body);
    let slowest = heads.into_iter().chain(bodies).map(|s| closed_after(s, begun)).max().expect("connections");
    println!("| C.7 | 40 requests that do not go on | closed after at most {:.0} s | |", slowest.as_secs_f64());
    assert!(slowest < Duration::from_secs(100), "{slowest:?}");
}

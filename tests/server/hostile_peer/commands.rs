//! The command line against fake servers and malformed files.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::program::{self, Folder};

/// Maximum memory of a command, in MiB.
const MOST: u64 = 700;

/// Answers every connection with the output of a function. Returns the address, and the heads of the requests.
fn serve(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (heads, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
    let seen = heads.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (seen, answer) = (seen.clone(), answer.clone());
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
                    head.push(byte[0]);
                }
                seen.lock().expect("heads").push(String::from_utf8_lossy(&head).into_owned());
                answer(&mut stream);
            });
        }
    });
    (address, heads)
}

/// The output of a command, and its peak memory in MiB.
fn measured(folder: &Folder, args: &[&str], env: &[(&str, &str)]) -> (String, i32, u64) {
    let mut child = Command::new(program::path())
        .args(args)
        .current_dir(folder.path())
        .env_clear()
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a command");
    let text = |stream: Option<Box<dyn Read + Send>>| {
        let mut stream = stream.expect("a stream");
        thread::spawn(move || {
            let mut text = String::new();
            let _ = stream.read_to_string(&mut text);
            text
        })
    };
    let out = text(child.stdout.take().map(|s| Box::new(s) as Box<dyn Read + Send>));
    let errors = text(child.stderr.take().map(|s| Box::new(s) as Box<dyn Read + Send>));
    let (status, begun) = (format!("/proc/{}/status", child.id()), Instant::now());
    let mut peak = 0;
    let code = loop {
        let now = std::fs::read_to_string(&status).unwrap_or_default();
        let line = now.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or_default();
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        peak = peak.max(digits.parse::<u64>().unwrap_or_default() >> 10);
        if let Some(status) = child.try_wait().expect("a command") {
            break status.code().unwrap_or(-1);
        }
        if begun.elapsed() > Duration::from_secs(120) {
            let _ = child.kill();
            panic!("{args:?} does not end");
        }
        thread::sleep(Duration::from_millis(5));
    };
    (out.join().expect("text") + &errors.join().expect("text"), code, peak)
}

fn is_refused(what: &str, (text, code, peak): (String, i32, u64), wanted: &str) {
    let line = text.lines().find(|l| l.contains(wanted)).unwrap_or_else(|| panic!("{what}: {code} {text}"));
    let ending: String = line.chars().rev().take(110).collect::<Vec<_>>().into_iter().rev().collect();
    println!("| C.8 | {what} | {code} …{ending} | {peak} MiB |");
    assert!(code != 0 && peak <= MOST, "{what}: {code}, {peak} MiB");
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn answers_without_an_end_are_given_up() {
    let folder = Folder::new("hostile-answers");
    println!("| item | attack | after | memory |");
    let (endless, _) = serve(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[");
        while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
    });
    let wanted = "it is larger than 256 MiB, the limit";
    is_refused("an answer without an end", measured(&folder, &["job", "status", "-address", &endless], &[]), wanted);

    let mut zipped = GzEncoder::new(Vec::new(), Compression::best());
    zipped.write_all(b"[").expect("gzip");
    for _ in 0..2048 {
        zipped.write_all(&[b' '; 1 << 20]).expect("gzip");
    }
    let zipped = zipped.finish().expect("gzip");
    let (bomb, _) = serve(move |stream| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            zipped.len()
        );
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&zipped));
    });
    is_refused("2 MB of gzip that hold 2 GB", measured(&folder, &["job", "status", "-address", &bomb], &[]), wanted);
}

#[test]
fn tokens_go_to_no_other_server() {
    let folder = Folder::new("hostile-redirect");
    let (thief, stolen) = serve(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]");
    });
    let to = thief.clone();
    let (sends_away, asked) = serve(move |stream| {
        let head = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: {to}/v1/jobs\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.write_all(head.as_bytes());
    });
    let env = [("NOMAD_TOKEN", "11111111-2222-4333-8444-555555555555")];
    let ran = measured(&folder, &["job", "status", "-address", &sends_away], &env);
    is_refused("a redirection to another server", ran, "which is not followed");
    assert!(asked.lock().expect("heads").iter().any(|h| h.to_lowercase().contains("x-nomad-token")));
    assert_eq!(stolen.lock().expect("heads").len(), 0, "the other server was asked");
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn snapshot_files_of_blanks_are_given_up() {
    let folder = Folder::new("hostile-files");
    folder.file(
        "job.hcl",
        "job \"a\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"raw_exec\"\n    }\n  }\n}\n",
    );
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..2048 {
        gzip.write_all(&[b' '; 1 << 20]).expect("gzip");
    }
    folder.file("blanks.json.gz", gzip.finish().expect("gzip"));
    let mut zstd = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("zstd");
    for _ in 0..2048 {
        zstd.write_all(&[b' '; 1 << 20]).expect("zstd");
    }
    folder.file("blanks.json.zst", zstd.finish().expect("zstd"));
    println!("| item | attack | after | memory |");
    for name in ["blanks.json.gz", "blanks.json.zst"] {
        let size = std::fs::metadata(folder.path().join(name)).expect("a file").len();
        let ran = measured(&folder, &["job", "plan", "-snapshot", name, "job.hcl"], &[]);
        is_refused(&format!("{name} of {size} bytes that holds 2 GB"), ran, "the limit for a file of");
    }
}

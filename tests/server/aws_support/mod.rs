//! Servers for the provider `aws`: moto, which behaves as the real API does, and one that always answers the same.

pub(crate) mod memory;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use encamp_test_support::notes;

/// Longest wait for moto to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running moto; it ends with this.
pub(crate) struct Moto {
    child: Child,
    /// Its URL.
    pub(crate) url: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs what prepares moto; `None` if it is to be skipped. With `CI` or `ENCAMP_REQUIRE_MOTO` that is a failure.
fn prepared(what: &str, command: &mut Command) -> Option<()> {
    let why = match command.output() {
        Ok(ran) if ran.status.success() => return Some(()),
        Ok(ran) => String::from_utf8_lossy(&ran.stderr).into_owned(),
        Err(e) => e.to_string(),
    };
    assert!(std::env::var_os("ENCAMP_REQUIRE_MOTO").is_none(), "{what}: {why}");
    notes::missing(what, &why);
    None
}

impl Moto {
    /// Installs moto once, and starts it. `None` where Python or the network is missing.
    pub(crate) fn start() -> Option<Moto> {
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/aws_support/requirements.txt");
        let wanted = std::fs::read_to_string(&requirements).expect("requirements");
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("moto");
        let (python, mark) = (home.join("bin/python"), home.join("installed.txt"));
        // Tests of this program run at the same time.
        static INSTALLING: Mutex<()> = Mutex::new(());
        let installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if std::fs::read_to_string(&mark).ok().as_ref() != Some(&wanted) {
            let _ = std::fs::remove_dir_all(&home);
            prepared("no virtual environment", Command::new("python3").args(["-m", "venv"]).arg(&home))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
            prepared("no moto", Command::new(&python).args(pip).arg(&requirements))?;
            std::fs::write(&mark, &wanted).expect("the mark");
        }
        drop(installing);
        let mut child = Command::new(&python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"])
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("moto");
        let (sender, lines) = channel();
        let stderr = child.stderr.take().expect("stderr");
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // What comes after the address is read and forgotten.
                let _ = sender.send(line);
            }
        });
        let mut moto = Moto { child, url: String::new() };
        while moto.url.is_empty() {
            let line = lines.recv_timeout(PATIENCE).expect("moto tells its address");
            moto.url = line.split_once("Running on ").map_or(String::new(), |(_, url)| url.trim().to_string());
        }
        Some(moto)
    }
}

/// What a server answers to every request.
#[derive(Clone)]
pub(crate) enum Canned {
    /// A status and a body.
    Reply(u16, String),
    /// A body that never ends.
    Endless,
    /// Nothing.
    Silence,
}

/// A server that answers every request the same; gives its URL. It ends with the program.
pub(crate) fn serve(canned: Canned) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let canned = canned.clone();
            thread::spawn(move || answer(stream, &canned));
        }
    });
    url
}

/// Reads requests of one connection and answers them. Errors end it: the client has gone.
fn answer(mut stream: std::net::TcpStream, canned: &Canned) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut length = 0usize;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        match canned {
            Canned::Reply(status, body) => {
                let head = format!("HTTP/1.1 {status} x\r\nContent-Type: text/xml\r\nContent-Length: {}", body.len());
                stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes())?;
            }
            Canned::Endless => {
                stream.write_all(b"HTTP/1.1 200 x\r\nContent-Type: text/xml\r\n\r\n<a>")?;
                loop {
                    stream.write_all(&[b'x'; 1 << 16])?;
                }
            }
            // Until the client gives up.
            Canned::Silence => return reader.read_to_end(&mut Vec::new()).map(drop),
        }
    }
}

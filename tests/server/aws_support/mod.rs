//! Servers for the provider `aws`: moto, which behaves as the real API does, and one that always answers the same.

pub(crate) mod memory;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use encamp_test_support::notes;
use encamp_test_support::python::{self, Server};

/// Starts moto. `None` where Python or the network is missing; with `CI` or `ENCAMP_REQUIRE_MOTO` that is a failure.
pub(crate) fn moto() -> Option<Server> {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/aws_support/requirements.txt");
    match python::environment(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("moto"), &requirements) {
        Ok(python) => Some(Server::start(&python, "moto.server", &[])),
        Err(why) => {
            assert!(std::env::var_os("ENCAMP_REQUIRE_MOTO").is_none(), "no moto: {why}");
            notes::missing("no moto", &why);
            None
        }
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

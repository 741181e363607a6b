//! Requests of clients. It matters whether a failed request may have been executed, so connections are not reused.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::place::Place;

/// The port of the HTTP API.
const PORT: u16 = 4646;
/// How long a connection is waited for.
const CONNECT: Duration = Duration::from_secs(2);
/// How long the answer to an ordinary request is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What was answered.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// `X-Nomad-Index`; 0 without.
    pub(crate) index: u64,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The body as JSON; null where it is none.
    pub(crate) fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or(Json::Null)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// The request was not sent.
    NotSent,
    /// The request may have been executed.
    Unknown,
}

fn connect(to: Place, patience: Duration) -> Result<TcpStream, NoReply> {
    let address = SocketAddr::from((to.address(), PORT));
    let stream = TcpStream::connect_timeout(&address, CONNECT).map_err(|_| NoReply::NotSent)?;
    stream.set_read_timeout(Some(patience)).map_err(|_| NoReply::NotSent)?;
    stream.set_write_timeout(Some(patience)).map_err(|_| NoReply::NotSent)?;
    Ok(stream)
}

fn ask(stream: &mut TcpStream, method: &str, path: &str, body: &str) -> Result<(), NoReply> {
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: nemesis\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).map_err(|_| NoReply::Unknown)
}

/// Sends a request, and waits for the answer.
///
/// # Errors
/// There is no whole answer.
pub(crate) fn call(to: Place, method: &str, path: &str, body: &str, patience: Duration) -> Result<Reply, NoReply> {
    let mut stream = connect(to, patience)?;
    ask(&mut stream, method, path, body)?;
    let deadline = Instant::now() + patience;
    let mut text = Vec::new();
    let mut piece = vec![0_u8; 64 << 10];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(&piece[..length]),
            Err(_) => return Err(NoReply::Unknown),
        }
        if Instant::now() > deadline {
            return Err(NoReply::Unknown);
        }
    }
    parse(&text).ok_or(NoReply::Unknown)
}

/// A whole answer; `None` for a part of one.
fn parse(text: &[u8]) -> Option<Reply> {
    let end = text.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&text[..end]);
    let body = &text[end + 4..];
    let header = |name: &str| {
        let mut pairs = head.lines().filter_map(|l| l.split_once(':'));
        pairs.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_string())
    };
    let body = if header("transfer-encoding").is_some() { chunks(body)? } else { body.to_vec() };
    if header("content-length").is_some_and(|l| l.parse() != Ok(body.len())) {
        return None;
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Reply { status, index: header("x-nomad-index").and_then(|i| i.parse().ok()).unwrap_or(0), body })
}

fn chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let end = rest.windows(2).position(|w| w == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(out);
        }
        let start = end + 2;
        out.extend_from_slice(rest.get(start..start + size)?);
        rest = rest.get(start + size..)?.strip_prefix(b"\r\n")?;
    }
}

/// An answer that goes on: lines of JSON in chunks.
pub(crate) struct Lines {
    reader: BufReader<TcpStream>,
    /// What was received of the current line.
    line: Vec<u8>,
    /// Whole lines that were not asked for yet.
    whole: std::collections::VecDeque<Vec<u8>>,
}

impl Lines {
    /// Sends a request whose answer goes on.
    ///
    /// # Errors
    /// The server does not answer it with 200.
    pub(crate) fn open(to: Place, path: &str, patience: Duration) -> Result<Lines, NoReply> {
        let mut stream = connect(to, patience)?;
        ask(&mut stream, "GET", path, "")?;
        let mut reader = BufReader::new(stream);
        let mut status = String::new();
        reader.read_line(&mut status).map_err(|_| NoReply::Unknown)?;
        if status.split(' ').nth(1) != Some("200") {
            return Err(NoReply::Unknown);
        }
        loop {
            let mut line = String::new();
            let length = reader.read_line(&mut line).map_err(|_| NoReply::Unknown)?;
            match line.trim() {
                _ if length == 0 => return Err(NoReply::Unknown),
                "" => break,
                _ => {}
            }
        }
        Ok(Lines { reader, line: Vec::new(), whole: std::collections::VecDeque::new() })
    }

    /// The next line; `None` at the end of the answer, or if nothing came in time.
    pub(crate) fn next(&mut self) -> Option<Json> {
        loop {
            if let Some(line) = self.whole.pop_front() {
                return serde_json::from_slice(&line).ok();
            }
            let mut size = String::new();
            self.reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok().filter(|s| *s > 0)?;
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).ok()?;
            for byte in &chunk[..size] {
                if *byte == b'\n' {
                    self.whole.push_back(std::mem::take(&mut self.line));
                } else {
                    self.line.push(*byte);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_answers_are_read() {
        let plain = b"HTTP/1.1 200 OK\r\nx-nomad-index: 7\r\ncontent-length: 2\r\n\r\n{}";
        let reply = parse(plain).expect("an answer");
        assert_eq!((reply.status, reply.index, reply.body.as_slice()), (200, 7, b"{}".as_slice()));
        assert!(parse(&plain[..plain.len() - 1]).is_none(), "a part of an answer is none");
        let chunked = b"HTTP/1.1 409 Conflict\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
        assert_eq!(parse(chunked).map(|r| (r.status, r.body)), Some((409, b"abcd".to_vec())));
        assert!(parse(&chunked[..chunked.len() - 8]).is_none());
    }
}

//! A browser without scripts: requests with cookies, as text.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::agent::PATIENCE;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    /// The first header of that name; empty for none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }

    /// The token of the page's forms.
    pub fn form_token(&self) -> &str {
        let field = self.body.split("name=\"form_token\" value=\"").nth(1).expect("a form");
        field.split('"').next().expect("a value")
    }
}

/// A browser that looks at the pages on a local port.
pub struct Client {
    pub port: u16,
    cookies: Vec<(String, String)>,
}

impl Client {
    pub fn new(port: u16) -> Client {
        Client { port, cookies: Vec::new() }
    }

    /// A page.
    pub fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    /// Sends a form as the page that it is on does.
    pub fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let origin = format!("http://127.0.0.1:{}", self.port);
        self.post_from(path, fields, &[("Origin", &origin), ("Sec-Fetch-Site", "same-origin")])
    }

    /// Sends a form with other headers.
    pub fn post_from(&mut self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let form: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", path, &[&kind, headers].concat(), &form)
    }

    /// Sends a request, and keeps the cookies of the answer. `Host` may be one of the headers.
    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port));
        }
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            head.push_str(&format!("Cookie: {}\r\n", cookies.join("; ")));
        }
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("written");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        let answer = parsed(&bytes);
        for (_, cookie) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, rest) = cookie.split_once('=').expect("a cookie");
            self.cookies.retain(|(known, _)| known != name);
            if !cookie.contains("Max-Age=0") {
                let value = rest.split(';').next().expect("a value");
                self.cookies.push((name.into(), value.into()));
            }
        }
        answer
    }
}

fn parsed(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("head and body");
    let (head, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 4..]);
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|s| s.parse().ok()).expect("a status");
    let header = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_lowercase(), v.to_string()));
    let headers: Vec<_> = lines.filter_map(header).collect();
    let chunked = headers.iter().any(|(n, v)| n == "transfer-encoding" && v == "chunked");
    let body = if chunked { joined(body) } else { body.to_vec() };
    Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

/// The chunks of a body, which may be compressed.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let (size, after) = (size.expect("a size"), &rest[end + 2..]);
        out.extend_from_slice(after.get(..size).expect("a chunk"));
        rest = after.get(size + 2..).unwrap_or_default();
        if size == 0 {
            break;
        }
    }
    out
}

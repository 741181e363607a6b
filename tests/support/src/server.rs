//! A small HTTP/1.1 server that answers what a test says, on a free port or a socket in the file system.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    /// Percent-decoded.
    pub path: String,
    pub query: Vec<(String, String)>,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Method and path.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// An answer; status 0 closes the connection without one.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn json(body: &impl serde::Serialize) -> Response {
        let body = serde_json::to_vec(body).unwrap();
        Response { status: 200, headers: vec![("Content-Type", "application/json".into())], body }
    }

    pub fn text(status: u16, body: &str) -> Response {
        Response { status, headers: Vec::new(), body: body.into() }
    }

    /// A stream that has begun and does not end: the connection stays open until the client closes it.
    pub fn stream(body: &str) -> Response {
        Response::text(200, body).with("Transfer-Encoding", "chunked")
    }

    pub fn with(mut self, name: &'static str, value: impl ToString) -> Response {
        self.headers.push((name, value.to_string()));
        self
    }
}

type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// A running server; it ends with the test.
pub struct Server {
    pub address: String,
    pub requests: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
}

trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

impl Server {
    pub fn start(handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        Server::serve(address, handler, move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            Box::new(stream)
        })
    }

    /// With TLS; connections whose handshake fails are ignored.
    pub fn with_tls(
        config: Arc<rustls::ServerConfig>,
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        Server::serve(address, handler, move || {
            let (stream, _) = listener.accept().unwrap();
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            Box::new(rustls::StreamOwned::new(connection, stream))
        })
    }

    pub fn on_socket(path: &Path, handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Server {
        let listener = UnixListener::bind(path).unwrap();
        Server::serve(format!("unix://{}", path.display()), handler, move || Box::new(listener.accept().unwrap().0))
    }

    fn serve(
        address: String,
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
        accept: impl Fn() -> Box<dyn Stream> + Send + 'static,
    ) -> Server {
        let (requests, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let handler: Arc<Handler> = Arc::new(handler);
        let (log, stopped) = (requests.clone(), stop.clone());
        std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let stream = accept();
                let (handler, log) = (handler.clone(), log.clone());
                std::thread::spawn(move || converse(stream, &*handler, &log));
            }
        });
        Server { address, requests, stop }
    }

    /// The requests since the last call, as lines.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn converse(stream: Box<dyn Stream>, handler: &Handler, log: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        log.lock().unwrap().push(request.clone());
        let response = handler(&request);
        if response.status == 0 || write(&mut **reader.get_mut(), &response, &request).is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_string(), words.next()?.to_string());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pair = |p: &str| {
        let (name, value) = p.split_once('=').unwrap_or((p, ""));
        (decoded(name, true), decoded(value, true))
    };
    let query = query.split('&').filter(|p| !p.is_empty()).map(pair).collect();
    let mut request = Request { method, path: decoded(path, false), query, ..Request::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.push((name.to_lowercase(), value.trim().to_string()));
    }
    let length = request.header("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

fn decoded(text: &str, plus: bool) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        match b {
            b'%' => {
                let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
                out.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
            }
            b'+' if plus => out.push(b' '),
            b => out.push(b),
        }
    }
    String::from_utf8(out).unwrap()
}

fn write(stream: &mut dyn Stream, response: &Response, request: &Request) -> std::io::Result<()> {
    let gzip = request.header("accept-encoding").is_some_and(|e| e.split(',').any(|e| e.trim() == "gzip"));
    let mut body = response.body.clone();
    let mut head = format!("HTTP/1.1 {} Status\r\nVary: Accept-Encoding\r\n", response.status);
    if gzip {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&body)?;
        body = encoder.finish()?;
        head += "Content-Encoding: gzip\r\n";
    }
    for (name, value) in &response.headers {
        head += &format!("{name}: {value}\r\n");
    }
    if response.headers.iter().any(|(name, _)| *name == "Transfer-Encoding") {
        head += &format!("\r\n{:x}\r\n", body.len());
        body.extend(b"\r\n");
    } else {
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)?;
    stream.flush()
}

//! TLS settings of a running agent: what a reload changes, and what it refuses.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::ClientConfig;
use serde_json::{Value as Json, json};

use crate::agent::{PATIENCE, wait_for};
use crate::member::{Member, Role};
use crate::program::{Folder, run_in};
use crate::secure;

/// Creates an authority, and its certificate for a server.
fn certificates(name: &str) -> Folder {
    let folder = Folder::new(name);
    for args in [["tls", "ca", "create"].as_slice(), &["tls", "cert", "create", "-server"]] {
        let ran = run_in(folder.path(), args);
        assert_eq!(ran.exit, 0, "{ran:?}");
    }
    folder
}

/// Gives an agent the files.
fn copy(from: &Folder, to: &Member) {
    for (file, copy) in [
        ("nomad-agent-ca.pem", "ca.pem"),
        ("global-server-nomad.pem", "agent.pem"),
        ("global-server-nomad-key.pem", "agent-key.pem"),
    ] {
        to.folder().file(copy, std::fs::read(from.path().join(file)).expect("a file"));
    }
}

/// Trusts the authority and shows its certificate of a server.
fn trusting(folder: &Folder) -> Arc<ClientConfig> {
    let path = |name: &str| folder.path().join(name);
    let own = (path("global-server-nomad.pem"), path("global-server-nomad-key.pem"));
    secure::client(&path("nomad-agent-ca.pem"), Some((&own.0, &own.1)))
}

/// A request on a connection that stays open; gives the status.
fn ask(stream: &mut (impl Read + Write), path: &str) -> std::io::Result<u16> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")?;
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        text.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&text).to_lowercase();
    let length = text.lines().find_map(|l| l.strip_prefix("content-length:")).expect("a length");
    stream.read_exact(&mut vec![0; length.trim().parse().expect("a number")])?;
    Ok(text.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status"))
}

const FILES: &str = "  ca_file = \"ca.pem\"\n  cert_file = \"agent.pem\"\n  key_file = \"agent-key.pem\"\n";
const AGENT: &str = "/v1/agent/self";

fn tls(settings: &str) -> String {
    format!("tls {{\n{settings}{FILES}}}\n")
}

fn shown(port: u16, client: Option<&Arc<ClientConfig>>, name: &str) -> Json {
    let reply = secure::request(port, client, "GET", AGENT, "").expect("an answer");
    reply.json()["config"]["TLSConfig"][name].clone()
}

/// The bytes that the server has not read of a connection to this computer; none once the connection is gone.
fn unread(connection: &TcpStream) -> Option<u64> {
    let port = |address: std::io::Result<std::net::SocketAddr>| format!(":{:04X}", address.expect("an address").port());
    let (own, server) = (port(connection.local_addr()), port(connection.peer_addr()));
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the connections of this computer");
    let mut fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = fields.find(|row| row.len() > 4 && row[1].ends_with(&server) && row[2].ends_with(&own))?;
    u64::from_str_radix(row[4].split_once(':')?.1, 16).ok()
}

#[test]
fn a_reload_changes_tls_for_new_connections_or_nothing() {
    let (first, second) = (certificates("reload-first"), certificates("reload-second"));
    let mut server = Member::new("tls-reload", Role::Server { expect: 1, join: vec![] });
    copy(&first, &server);
    server.start();
    let [http, rpc, _] = server.ports();
    let client = trusting(&first);
    assert!(secure::takes_plain_calls(rpc) && !secure::takes_calls(rpc, &client));
    assert_eq!(shown(http, None, "EnableHTTP"), json!(false));

    // From HTTP to HTTPS: an idle connection is closed, an open request ends.
    let mut idle = TcpStream::connect(("127.0.0.1", http)).expect("a connection");
    assert_eq!(ask(&mut idle, AGENT).expect("an answer"), 200);
    let mut waiting = TcpStream::connect(("127.0.0.1", http)).expect("a connection");
    waiting.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let nodes = secure::request(http, None, "GET", "/v1/nodes", "").expect("an answer").index;
    write!(waiting, "GET /v1/nodes?wait=3s&index={nodes} HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    // A request that the server has not read yet is not open.
    wait_for("the request is read", || if unread(&waiting) == Some(0) { Ok(()) } else { Err("not yet".into()) });
    server.more = tls("  http = true\n  rpc = true\n  verify_server_hostname = true\n");
    server.reload();
    secure::ends(idle).expect("it is closed");
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).expect("an answer, then the end");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(secure::request(http, None, "GET", AGENT, "").is_err());
    for (setting, value) in [("EnableHTTP", true), ("EnableRPC", true), ("VerifyHTTPSClient", false)] {
        assert_eq!(shown(http, Some(&client), setting), json!(value), "{setting}");
    }
    assert!(!secure::takes_plain_calls(rpc) && secure::takes_calls(rpc, &client));

    // Files that do not fit are refused as a whole, by SIGHUP and over HTTP, and the error names them.
    let mut open = secure::connect(http, "localhost", &client).expect("a connection");
    assert_eq!(ask(&mut open, AGENT).expect("an answer"), 200);
    let key = std::fs::read(second.path().join("global-server-nomad-key.pem")).expect("a key");
    server.folder().file("agent-key.pem", key);
    server.more = tls("  http = true\n  rpc = false\n");
    let error = server.reload_refused();
    assert!(error.contains("tls.cert_file agent.pem and tls.key_file agent-key.pem do not fit"), "{error}");
    std::fs::remove_file(server.folder().path().join("agent.pem")).expect("a file");
    let reply = secure::request(http, Some(&client), "PUT", "/v1/agent/reload", "").expect("an answer");
    assert_eq!(reply.status, 500, "{}", reply.body);
    assert!(reply.body.contains("tls.cert_file agent.pem cannot be read"), "{}", reply.body);
    assert_eq!(shown(http, Some(&client), "EnableRPC"), json!(true), "the old settings are in force");
    assert!(!secure::takes_plain_calls(rpc) && secure::takes_calls(rpc, &client));
    assert_eq!(ask(&mut open, AGENT).expect("an answer"), 200);

    // Another authority: open connections go on, new ones need its certificates.
    copy(&second, &server);
    server.more = tls("  http = true\n  rpc = true\n  verify_https_client = true\n");
    let reply = {
        server.folder().file("agent.hcl", server.configuration());
        secure::request(http, Some(&client), "PUT", "/v1/agent/reload", "").expect("an answer")
    };
    assert_eq!(reply.status, 200, "{}", reply.body);
    // Otherwise the next reload would take this line for its own.
    server.agent_mut().until("configuration reloaded");
    let renewed = trusting(&second);
    wait_for("the new certificate is shown", || {
        secure::connect(http, "localhost", &renewed).map(drop).map_err(|e| e.to_string())
    });
    assert_eq!(ask(&mut open, AGENT).expect("an answer"), 200);
    assert!(secure::connect(http, "localhost", &client).is_err());
    assert_eq!(shown(http, Some(&renewed), "VerifyHTTPSClient"), json!(true));
    let stranger = secure::client(&second.path().join("nomad-agent-ca.pem"), None);
    assert!(secure::request(http, Some(&stranger), "GET", AGENT, "").is_err());
    assert!(secure::takes_calls(rpc, &renewed) && !secure::takes_calls(rpc, &client));

    // And back to plain connections.
    server.more = String::new();
    server.reload();
    secure::ends(open).expect("it is closed");
    assert_eq!(shown(http, None, "EnableHTTP"), json!(false));
    assert!(secure::takes_plain_calls(rpc) && !secure::takes_calls(rpc, &renewed));
}

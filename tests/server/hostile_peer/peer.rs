//! A peer that sends arbitrary data to the RPC port: HTTP/2 with any head and any body.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value as Json;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::program::Folder;

/// Maximum time to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

/// The certificate of a peer, and the authority that it trusts.
pub fn certificate(folder: &Folder) -> Arc<rustls::ClientConfig> {
    let path = |name: &str| folder.path().join(name);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(path("ca.pem")).expect("an authority")).expect("an authority");
    let own = CertificateDer::from_pem_file(path("own.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(path("own-key.pem")).expect("a key");
    let config = rustls::ClientConfig::builder().with_root_certificates(roots);
    let mut config = config.with_client_auth_cert(vec![own], key).expect("a certificate with its key");
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// Trusts the authority, and shows no certificate.
pub fn without_certificate(folder: &Folder) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    let ca = CertificateDer::from_pem_file(folder.path().join("ca.pem")).expect("an authority");
    roots.add(ca).expect("an authority");
    let mut config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// A connection to a server.
pub struct Peer {
    runtime: Runtime,
    sender: http2::SendRequest<Body>,
    address: String,
}

impl Peer {
    /// Connects without a certificate.
    pub fn connect(address: &str) -> Peer {
        Peer::with(address, None)
    }

    pub fn with(address: &str, tls: Option<Arc<rustls::ClientConfig>>) -> Peer {
        Peer::try_with(address, tls).expect("a connection")
    }

    /// Connects; `None` if the server ends the handshakes.
    pub fn try_with(address: &str, tls: Option<Arc<rustls::ClientConfig>>) -> Option<Peer> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let to: SocketAddr = address.parse().expect("an address");
        let sender = runtime.block_on(async {
            let stream = TcpStream::connect(to).await.expect("a connection");
            match tls {
                None => handshake(TokioIo::new(stream)).await,
                Some(config) => {
                    let name = ServerName::try_from("server.global.nomad").expect("a name");
                    let stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await;
                    handshake(TokioIo::new(stream.ok()?)).await
                }
            }
        })?;
        Some(Peer { runtime, sender, address: address.into() })
    }

    fn request(&self, method: &str, head: &[(&str, &str)], body: Vec<u8>) -> Request<Body> {
        let mut request = Request::post(format!("http://{}/rpc/v2/{method}", self.address));
        for (name, value) in head {
            request = request.header(*name, *value);
        }
        request.body(Body::from(body)).expect("a request")
    }

    /// Makes a call; `None` if the connection broke or no answer arrived.
    pub fn try_call(&self, method: &str, head: &[(&str, &str)], body: Vec<u8>) -> Option<Answer> {
        self.calls(vec![self.request(method, head, body)]).pop().flatten()
    }

    /// Makes a call that must be answered.
    pub fn call(&self, method: &str, head: &[(&str, &str)], body: Vec<u8>) -> Answer {
        self.try_call(method, head, body).unwrap_or_else(|| panic!("{method}: no answer"))
    }

    /// Makes the same call several times in parallel.
    pub fn call_at_once(&self, count: usize, method: &str, head: &[(&str, &str)], body: &[u8]) -> Vec<Option<Answer>> {
        self.calls((0..count).map(|_| self.request(method, head, body.to_vec())).collect())
    }

    fn calls(&self, requests: Vec<Request<Body>>) -> Vec<Option<Answer>> {
        let one = |request: Request<Body>| {
            let mut sender = self.sender.clone();
            async move {
                sender.ready().await.ok()?;
                let response = sender.send_request(request).await.ok()?;
                let status = response.status().as_u16();
                let body = axum::body::to_bytes(Body::new(response.into_body()), 64 << 20).await.ok()?;
                Some(Answer { status, text: String::from_utf8_lossy(&body).into_owned() })
            }
        };
        let all = requests.into_iter().map(|r| async move { tokio::time::timeout(PATIENCE, one(r)).await.ok()? });
        self.runtime.block_on(futures_util::future::join_all(all))
    }
}

async fn handshake<S>(stream: S) -> Option<http2::SendRequest<Body>>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.ok()?;
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Some(sender)
}

/// A message in the encoding of agents.
pub fn packed(value: &Json) -> Vec<u8> {
    rmp_serde::to_vec_named(value).expect("MessagePack")
}

/// A list of empty maps, which is a thousand times larger when it is decoded.
pub fn empty_maps(count: u32) -> Vec<u8> {
    let mut list = vec![0xdd];
    list.extend_from_slice(&count.to_be_bytes());
    list.resize(list.len() + count as usize, 0x80);
    list
}

/// A message with a named list.
pub fn with_list(name: &str, list: &[u8]) -> Vec<u8> {
    let mut message = vec![0x81];
    message.extend(packed(&Json::from(name)));
    message.extend_from_slice(list);
    message
}

/// An ID in the encoding of server messages.
pub fn server_id(text: &str) -> Json {
    let all = u128::from_str_radix(&text.replace('-', ""), 16).expect("a UUID");
    serde_json::json!([(all >> 64) as u64, all as u64])
}

/// The head of a node's call.
pub fn as_node<'a>(id: &'a str, secret: &'a str) -> [(&'a str, &'a str); 2] {
    [("x-encamp-node", id), ("x-encamp-secret", secret)]
}

/// The head of a call that claims to be from a server.
pub fn as_server<'a>(id: &'a str, proof: &'a str) -> [(&'a str, &'a str); 2] {
    [("x-encamp-server", id), ("x-encamp-proof", proof)]
}

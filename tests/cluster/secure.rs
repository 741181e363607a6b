//! Connections with and without TLS to the ports of agents on this machine.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::agent::{PATIENCE, Reply, call, call_over};

/// The bytes with which a client of HTTP/2 begins: the preface, and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// The kind of a frame of settings, the first one that a server of HTTP/2 sends.
const SETTINGS: u8 = 4;
/// The kind of a frame that asks whether the other side is there, and the flag of its answer.
const PING: u8 = 6;
const ACK: u8 = 1;

type Secure = StreamOwned<ClientConnection, TcpStream>;

/// Trusts the authorities of a file; shows the certificate of two others, if there are any.
pub fn client(ca: &Path, own: Option<(&Path, &Path)>) -> Arc<ClientConfig> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_file_iter(ca).expect("authorities") {
        roots.add(authority.expect("an authority")).expect("an authority");
    }
    let config = ClientConfig::builder().with_root_certificates(roots);
    let Some((certificate, key)) = own else { return Arc::new(config.with_no_client_auth()) };
    let certificate = CertificateDer::from_pem_file(certificate).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    Arc::new(config.with_client_auth_cert(vec![certificate], key).expect("a certificate with its key"))
}

fn plain(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A connection with TLS to a port whose certificate has that name.
pub fn connect(port: u16, name: &str, config: &Arc<ClientConfig>) -> io::Result<Secure> {
    let name = ServerName::try_from(name.to_string()).expect("a name");
    let connection = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, plain(port)?);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// Sends one request to an HTTP port, over TLS where there is a configuration.
pub fn request(port: u16, tls: Option<&Arc<ClientConfig>>, method: &str, path: &str, body: &str) -> io::Result<Reply> {
    match tls {
        None => call(port, method, path, body, PATIENCE),
        Some(config) => call_over(connect(port, "localhost", config)?, "", method, path, body),
    }
}

/// The head and the payload of the next frame of HTTP/2.
fn frame(stream: &mut impl Read) -> io::Result<([u8; 9], Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload)?;
    Ok((head, payload))
}

/// Begins HTTP/2 on a connection; whether the other side goes on.
fn begins(mut stream: impl Read + Write) -> bool {
    let begun = stream.write_all(PREFACE).and_then(|()| frame(&mut stream));
    begun.is_ok_and(|(head, _)| head[3] == SETTINGS)
}

/// Whether an RPC port takes calls without TLS.
pub fn takes_plain_calls(port: u16) -> bool {
    begins(plain(port).expect("a connection"))
}

/// Whether an RPC port takes calls over TLS.
pub fn takes_calls(port: u16, config: &Arc<ClientConfig>) -> bool {
    let mut config = ClientConfig::clone(config);
    config.alpn_protocols = vec![b"h2".to_vec()];
    connect(port, "server.global.nomad", &Arc::new(config)).is_ok_and(begins)
}

/// An open connection without TLS on which HTTP/2 was begun.
pub fn open_call_connection(port: u16) -> TcpStream {
    let mut stream = plain(port).expect("a connection");
    assert!(begins(&mut stream));
    stream
}

/// Waits until the other side closes a connection of HTTP/2, whose pings are answered.
pub fn call_connection_ends(mut stream: TcpStream) -> io::Result<()> {
    loop {
        let (mut head, payload) = match frame(&mut stream) {
            Err(e) if matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => return Ok(()),
            other => other?,
        };
        if (head[3], head[4] & ACK) == (PING, 0) {
            head[4] |= ACK;
            stream.write_all(&[&head[..], &payload].concat())?;
        }
    }
}

/// Waits until the other side closes a connection.
pub fn ends(mut stream: impl Read) -> io::Result<()> {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Err(e) if e.kind() == ErrorKind::ConnectionReset => Ok(()),
        other => other.map(drop),
    }
}

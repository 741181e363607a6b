//! WebSockets of commands and actions in tasks (RFC 6455): the upgrade of a request, limits, and the end.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use futures_util::SinkExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Utf8Bytes};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::duplex;
use crate::error::Error;

/// The largest message and the largest frame that are read, in bytes.
const MAX_MESSAGE: usize = 1 << 20;
/// The most that waits to be written, in bytes: one message, and answers to pings of a client that does not read.
const MAX_UNSENT: usize = 2 * MAX_MESSAGE;
/// The read buffer of a connection, in bytes.
const BUFFER: usize = 4 << 10;
/// The longest reason of a close frame, in bytes.
const MAX_REASON: usize = 123;
/// How long a connection that has ended waits until the client ends it, too.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

/// The value of `Sec-WebSocket-Accept` for a request that asks for a WebSocket.
pub(crate) fn accept_key(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|v: &HeaderValue| v.to_str().ok());
    let asks = text(header::UPGRADE)?.eq_ignore_ascii_case("websocket");
    let key = text(header::SEC_WEBSOCKET_KEY)?;
    (asks && text(header::SEC_WEBSOCKET_VERSION)? == "13").then(|| derive_accept_key(key.as_bytes()))
}

/// The server's side of a connection that was upgraded. Pings are answered while it is read.
pub(crate) async fn open<S: AsyncRead + AsyncWrite + Unpin>(stream: S) -> WebSocketStream<S> {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        .max_write_buffer_size(MAX_UNSENT);
    WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await
}

/// Ends a connection. A close frame carries an error (`docs/spec/http-api.md §6.4`); without one, the exit of the
/// command was the last message.
pub(crate) async fn end<S: AsyncRead + AsyncWrite + Unpin>(mut socket: WebSocketStream<S>, error: Option<&Error>) {
    let sent = match error {
        Some(e) => socket.send(Message::Close(Some(close_frame(e)))).await,
        None => socket.flush().await,
    };
    if sent.is_ok() {
        duplex::close(socket.get_mut(), CLOSE_WAIT).await;
    }
}

fn close_frame(e: &Error) -> CloseFrame {
    let code: u16 = if e.status == 500 { 1011 } else { 1008 };
    let reason = e.message.get(..e.message.floor_char_boundary(MAX_REASON)).unwrap_or_default();
    CloseFrame { code: code.into(), reason: Utf8Bytes::from(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_tungstenite::tungstenite::Error as WsError;

    fn masked(first: u8, bytes: &[u8]) -> Vec<u8> {
        let mask = [1u8, 2, 3, 4];
        let mut out = vec![first, 0x80 | u8::try_from(bytes.len()).expect("short")];
        out.extend(mask);
        out.extend(bytes.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m));
        out
    }

    /// A socket that was sent these bytes, and the client's side of its connection.
    async fn sent(bytes: &[u8]) -> (WebSocketStream<tokio::io::DuplexStream>, tokio::io::DuplexStream) {
        let (here, mut there) = tokio::io::duplex(1 << 16);
        there.write_all(bytes).await.expect("written");
        (open(here).await, there)
    }

    /// Ends a socket; returns what the client reads.
    async fn ended(
        socket: WebSocketStream<tokio::io::DuplexStream>,
        error: Option<&Error>,
        client: &mut tokio::io::DuplexStream,
    ) -> Vec<u8> {
        let mut got = Vec::new();
        tokio::select! {
            () = end(socket, error) => panic!("the client has not ended the connection"),
            read = client.read_to_end(&mut got) => read.expect("read"),
        };
        got
    }

    #[tokio::test]
    async fn fragmented_messages_are_joined_and_pings_answered() {
        let wire = [masked(0x01, b"hel"), masked(0x89, b"p"), masked(0x80, b"lo"), masked(0x88, b"")].concat();
        let (mut socket, mut client) = sent(&wire).await;
        let mut next = async || socket.next().await.expect("a message").expect("no error");
        assert_eq!(next().await, Message::Ping("p".into()));
        assert_eq!(next().await, Message::text("hello"));
        assert_eq!(next().await, Message::Close(None));
        let got = ended(socket, None, &mut client).await;
        assert_eq!(got, [0x8a, 1, b'p', 0x88, 0]);
    }

    #[tokio::test]
    async fn hostile_frames_are_refused() {
        for wire in [
            // Without a mask, of an unknown kind, longer than the limit, and the rest of no message.
            &[0x81u8, 0x01, b'x'][..],
            &[0x83, 0x80, 0, 0, 0, 0],
            &[0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 1, 0, 0, 0, 0],
            &[0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &masked(0x80, b"x"),
        ] {
            let (mut socket, _client) = sent(wire).await;
            assert!(matches!(socket.next().await, Some(Err(_))), "{wire:?}");
        }
    }

    #[tokio::test]
    async fn pings_of_a_client_that_does_not_read_take_bounded_memory() {
        let (here, mut there) = tokio::io::duplex(64);
        let mut socket = open(here).await;
        let ping = masked(0x89, &[b'x'; 125]);
        let flood = async {
            for _ in 0..3 * MAX_UNSENT / ping.len() {
                there.write_all(&ping).await.expect("written");
            }
        };
        let read = async { while let Some(Ok(_)) = socket.next().await {} };
        tokio::select! {
            () = flood => {}
            () = read => panic!("the flood is read"),
        }
        let refused = socket.send(Message::text("x".repeat(200))).await;
        assert!(matches!(refused, Err(WsError::WriteBufferFull(_))), "{refused:?}");
    }

    /// A connection of the kernel that is closed while it has unread bytes is reset, and what was sent last is lost.
    #[tokio::test]
    async fn the_close_frame_reaches_a_client_that_still_sends() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut client = tokio::net::TcpStream::connect(address).await.expect("a connection");
        let (accepted, _) = listener.accept().await.expect("a connection");
        client.write_all(&masked(0x81, b"unread")).await.expect("written");
        let socket = open(accepted).await;
        socket.get_ref().readable().await.expect("bytes");
        let server = tokio::spawn(async move { end(socket, Some(&Error::denied())).await });
        client.write_all(&masked(0x81, b"more")).await.expect("written");
        let mut got = Vec::new();
        client.read_to_end(&mut got).await.expect("read");
        assert!(got.ends_with(b"Permission denied"), "{got:?}");
        drop(client);
        server.await.expect("an end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_ends_the_connection_is_not_awaited() {
        let (socket, _client) = sent(&[]).await;
        end(socket, None).await;
    }

    #[tokio::test]
    async fn errors_are_sent_by_code_and_reason() {
        for (error, code, reason) in [
            (Error::internal("task not found"), 1011, "task not found".to_string()),
            (Error::not_found(format!("{}é", "x".repeat(122))), 1008, "x".repeat(122)),
        ] {
            let (socket, mut client) = sent(&[]).await;
            let got = ended(socket, Some(&error), &mut client).await;
            let length = u8::try_from(reason.len() + 2).expect("short");
            let want = [&[0x88, length][..], &u16::to_be_bytes(code), reason.as_bytes()].concat();
            assert_eq!(got, want);
        }
    }

    #[test]
    fn accept_keys_are_those_of_the_standard() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (header::UPGRADE, "WebSocket"),
            (header::SEC_WEBSOCKET_VERSION, "13"),
            (header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="),
        ] {
            assert_eq!(accept_key(&headers), None);
            headers.insert(name, HeaderValue::from_static(value));
        }
        assert_eq!(accept_key(&headers).as_deref(), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    }
}

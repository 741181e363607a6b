//! Runs commands in tasks over a WebSocket (`docs/spec/http-api.md §6.4`).
//!
//! [`Client::exec`] opens a stream; [`Input`] is the command's input, [`Output`] its output and exit. Pings of the
//! server are answered while the output is read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use super::client::{Client, Query};
use super::error::ApiError;
use encamp_model::json::null_is_default;

/// The largest message and the largest frame that are read, in bytes.
const MAX_MESSAGE: usize = 16 << 20;
/// The read buffer of a connection, in bytes.
const BUFFER: usize = 16 << 10;

/// An event of a command that runs in a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It wrote to its standard output.
    Stdout(Vec<u8>),
    /// It wrote to its standard error.
    Stderr(Vec<u8>),
    /// It ended with this exit code.
    Exited(i32),
    /// The stream ended before it did, with this reason.
    Closed(String),
}

/// Why the output of a command can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The server violated the protocol, or sent more than the limits allow.
    #[error("{0}")]
    WebSocket(Box<tungstenite::Error>),
    /// A message is not the JSON of its type.
    #[error("a message can't be read: {0}")]
    Message(#[from] serde_json::Error),
    /// The output in a message is not base64.
    #[error("a message can't be read: {0}")]
    Data(#[from] base64::DecodeError),
    /// The connection failed.
    #[error(transparent)]
    Connection(#[from] std::io::Error),
}

/// The output stream of a command.
pub struct Output<S = reqwest::Upgraded>(SplitStream<WebSocketStream<S>>);

/// The input stream of a command.
pub struct Input<S = reqwest::Upgraded>(SplitSink<WebSocketStream<S>, Message>);

/// A message of the server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    stdout: Option<Data>,
    stderr: Option<Data>,
    exited: bool,
    result: Option<ExitResult>,
}

#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Data {
    data: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExitResult {
    exit_code: i32,
    signal: i32,
}

impl Client {
    /// Opens a stream to a command.
    pub async fn exec(&self, path: &str, query: &Query) -> Result<(Input, Output), ApiError> {
        let key = generate_key();
        let headers = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", key.as_str()),
        ];
        let (stream, accepted) = self.upgrade(path, query, &headers, "sec-websocket-accept").await?;
        if accepted != derive_accept_key(key.as_bytes()) {
            return Err(ApiError::NotWebSocket);
        }
        Ok(open(stream).await)
    }
}

/// Speaks the protocol on a connection that was upgraded.
async fn open<S: AsyncRead + AsyncWrite + Unpin>(stream: S) -> (Input<S>, Output<S>) {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        .max_write_buffer_size(MAX_MESSAGE);
    let (write, read) = WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await.split();
    (Input(write), Output(read))
}

impl<S: AsyncRead + AsyncWrite + Unpin> Output<S> {
    /// The next event. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Result<Event, ExecError> {
        loop {
            let message = match self.0.next().await {
                Some(Ok(message)) => message,
                None | Some(Err(tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake))) => {
                    return Ok(Event::Closed("unexpected EOF".into()));
                }
                Some(Err(tungstenite::Error::Io(e))) => return Err(e.into()),
                Some(Err(e)) => return Err(ExecError::WebSocket(Box::new(e))),
            };
            match message {
                Message::Text(_) | Message::Binary(_) => {
                    if let Some(event) = event(&message.into_data())? {
                        return Ok(event);
                    }
                }
                Message::Close(frame) => {
                    return Ok(Event::Closed(frame.map(|f| f.reason.to_string()).unwrap_or_default()));
                }
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

/// The event in a message, if it is of interest.
fn event(bytes: &[u8]) -> Result<Option<Event>, ExecError> {
    let said: Said = serde_json::from_slice(bytes)?;
    let decoded = |d: Data| STANDARD.decode(d.data);
    if let Some(data) = said.stdout {
        return Ok(Some(Event::Stdout(decoded(data)?)).filter(not_empty));
    }
    if let Some(data) = said.stderr {
        return Ok(Some(Event::Stderr(decoded(data)?)).filter(not_empty));
    }
    let result = said.result.unwrap_or_default();
    // As shells count.
    let code =
        if result.signal > 0 && result.exit_code == 0 { result.signal.saturating_add(128) } else { result.exit_code };
    Ok(said.exited.then_some(Event::Exited(code)))
}

fn not_empty(event: &Event) -> bool {
    !matches!(event, Event::Stdout(bytes) | Event::Stderr(bytes) if bytes.is_empty())
}

impl<S: AsyncRead + AsyncWrite + Unpin> Input<S> {
    /// Sends bytes to the command's standard input.
    pub async fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.say(&serde_json::json!({"stdin": {"data": STANDARD.encode(bytes)}})).await
    }

    /// Ends the command's standard input.
    pub async fn close(&mut self) -> std::io::Result<()> {
        self.say(&serde_json::json!({"stdin": {"close": true}})).await
    }

    /// Tells how large the terminal is.
    pub async fn resize(&mut self, height: u16, width: u16) -> std::io::Result<()> {
        self.say(&serde_json::json!({"tty_size": {"height": height, "width": width}})).await
    }

    /// Says that somebody is still there.
    pub async fn keep_alive(&mut self) -> std::io::Result<()> {
        self.say(&serde_json::json!({})).await
    }

    /// Ends the stream.
    pub async fn end(&mut self) -> std::io::Result<()> {
        self.write(Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() }))).await
    }

    async fn say(&mut self, value: &serde_json::Value) -> std::io::Result<()> {
        self.write(Message::text(value.to_string())).await
    }

    async fn write(&mut self, message: Message) -> std::io::Result<()> {
        self.0.send(message).await.map_err(|e| match e {
            tungstenite::Error::Io(e) => e,
            other => std::io::Error::other(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn messages_say_what_the_command_does() {
        let read = |text: &str| event(text.as_bytes());
        let said = |text: &str| read(text).unwrap();
        assert_eq!(said(r#"{"stdout":{"data":"aGk="}}"#), Some(Event::Stdout(b"hi".to_vec())));
        assert_eq!(said(r#"{"stderr":{"data":"aGk="}}"#), Some(Event::Stderr(b"hi".to_vec())));
        assert_eq!(said(r#"{"stdout":{"close":true}}"#), None);
        assert_eq!(said(r#"{"exited":true,"result":{"exit_code":3}}"#), Some(Event::Exited(3)));
        assert_eq!(said(r#"{"exited":true,"result":{}}"#), Some(Event::Exited(0)));
        assert_eq!(said(r#"{"exited":true,"result":{"signal":9}}"#), Some(Event::Exited(137)));
        assert_eq!(said("{}"), None);
        assert!(read("x").is_err() && read(r#"{"stdout":{"data":"?"}}"#).is_err());
    }

    /// The events of the bytes that a server sends before it closes the connection.
    async fn events(bytes: &[u8]) -> Vec<Result<Event, ExecError>> {
        let (here, mut there) = tokio::io::duplex(1 << 16);
        let (_input, mut output) = open(here).await;
        for byte in bytes {
            there.write_all(&[*byte]).await.unwrap();
        }
        there.shutdown().await.unwrap();
        let mut out = Vec::new();
        while !matches!(out.last(), Some(Err(_) | Ok(Event::Closed(_)))) {
            out.push(output.next().await);
        }
        out
    }

    #[tokio::test]
    async fn fragmented_messages_are_joined() {
        let text = br#"{"stdout":{"data":"aGk="}}"#;
        let (first, rest) = text.split_at(10);
        let mut bytes = vec![0x01, 10];
        bytes.extend(first);
        bytes.extend([0x89, 1, b'p', 0x80, 126, 0, 16]);
        bytes.extend(rest);
        let end = [&bytes[..], &[0x88, 4, 0x03, 0xf0, b'n', b'o']].concat();
        let got: Vec<Event> = events(&end).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(got, [Event::Stdout(b"hi".to_vec()), Event::Closed("no".into())]);
        let got: Vec<Event> = events(&bytes).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(got, [Event::Stdout(b"hi".to_vec()), Event::Closed("unexpected EOF".into())]);
    }

    #[tokio::test]
    async fn hostile_frames_are_errors() {
        for bytes in [
            // Masked, of an unknown kind, and longer than the limit.
            &[0x81, 0x81, 1, 2, 3, 4, 0][..],
            &[0x83, 0],
            &[0x81, 127, 0, 0, 0, 0, 1, 0, 0, 1],
            &[0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0],
        ] {
            let got = events(bytes).await;
            assert!(matches!(got[..], [Err(ExecError::WebSocket(_))]), "{bytes:?}: {got:?}");
        }
    }

    #[tokio::test]
    async fn input_is_masked_and_pings_are_answered() {
        let (here, mut there) = tokio::io::duplex(1 << 16);
        let (mut input, mut output) = open(here).await;
        input.send(b"hi").await.unwrap();
        there.write_all(&[0x89, 1, b'p', 0x88, 0]).await.unwrap();
        assert_eq!(output.next().await.unwrap(), Event::Closed(String::new()));
        drop((input, output));
        let mut bytes = Vec::new();
        there.read_to_end(&mut bytes).await.unwrap();
        let text = br#"{"stdin":{"data":"aGk="}}"#;
        assert_eq!(bytes[..2], [0x81, 0x80 | 25]);
        let (mask, masked) = bytes[2..31].split_at(4);
        assert!(masked.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m).eq(text.iter().copied()));
        assert_eq!((bytes[31..33].to_vec(), bytes[37] ^ bytes[33]), (vec![0x8a, 0x81], b'p'));
    }
}

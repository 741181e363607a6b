//! Runs commands in tasks over a WebSocket (`docs/spec/http-api.md §6.4`).
//!
//! [`Client::exec`] opens a stream; [`Input`] is the command's input, [`Output`] its output and exit. `frames`: the
//! frames.

mod frames;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sha1::{Digest, Sha1};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};

use super::client::{Client, Query};
use super::error::ApiError;
use encamp_model::json::or_default;
use frames::{Decoder, Message};

pub use frames::WebSocketError;

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
    /// The server asks whether somebody is there; to be answered with these bytes.
    Ping(Vec<u8>),
}

/// Why the output of a command can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The server sent something that is no frame.
    #[error(transparent)]
    Frame(#[from] WebSocketError),
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
pub struct Output {
    read: ReadHalf<reqwest::Upgraded>,
    decoder: Decoder,
}

/// The input stream of a command.
pub struct Input {
    write: WriteHalf<reqwest::Upgraded>,
    random: fn() -> u64,
}

/// A message of the server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    stdout: Option<Data>,
    stderr: Option<Data>,
    exited: bool,
    result: Option<ExitResult>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Data {
    #[serde(deserialize_with = "or_default")]
    data: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExitResult {
    exit_code: i32,
    signal: i32,
}

impl Client {
    /// Opens a stream to a command. `random` gives the bits for the key and the masks of frames.
    pub async fn exec(&self, path: &str, query: &Query, random: fn() -> u64) -> Result<(Input, Output), ApiError> {
        let mut nonce = [0_u8; 16];
        for chunk in nonce.chunks_mut(8) {
            chunk.copy_from_slice(random().to_ne_bytes().get(..chunk.len()).unwrap_or_default());
        }
        let key = STANDARD.encode(nonce);
        let headers = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", key.as_str()),
        ];
        let (stream, accepted) = self.upgrade(path, query, &headers, "sec-websocket-accept").await?;
        if accepted != accept(&key) {
            return Err(ApiError::NotWebSocket);
        }
        let (read, write) = tokio::io::split(stream);
        Ok((Input { write, random }, Output { read, decoder: Decoder::default() }))
    }
}

/// The accept value with which a server answers a key.
fn accept(key: &str) -> String {
    STANDARD.encode(Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")))
}

impl Output {
    /// The next event. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Result<Event, ExecError> {
        loop {
            while let Some(message) = self.decoder.next()? {
                match message {
                    Message::Data(bytes) => {
                        if let Some(event) = event(&bytes)? {
                            return Ok(event);
                        }
                    }
                    Message::Ping(bytes) => return Ok(Event::Ping(bytes)),
                    Message::Close(_, reason) => return Ok(Event::Closed(reason)),
                }
            }
            let mut bytes = [0_u8; 16 << 10];
            match self.read.read(&mut bytes).await? {
                0 => return Ok(Event::Closed("unexpected EOF".into())),
                n => self.decoder.feed(bytes.get(..n).unwrap_or_default()),
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

impl Input {
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

    /// Answers a ping.
    pub async fn pong(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.frame(frames::PONG, bytes).await
    }

    /// Ends the stream.
    pub async fn end(&mut self) -> std::io::Result<()> {
        self.frame(frames::CLOSE, &1000_u16.to_be_bytes()).await
    }

    async fn say(&mut self, value: &serde_json::Value) -> std::io::Result<()> {
        self.frame(frames::TEXT, value.to_string().as_bytes()).await
    }

    async fn frame(&mut self, kind: u8, payload: &[u8]) -> std::io::Result<()> {
        let [a, b, c, d, ..] = (self.random)().to_ne_bytes();
        self.write.write_all(&frames::encode(kind, payload, [a, b, c, d])).await?;
        self.write.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn keys_are_accepted_as_the_standard_says() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}

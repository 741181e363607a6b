//! The server side of a WebSocket (RFC 6455), as far as exec needs it: text messages both ways, pings, closing.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The largest message that is taken.
const MAX_MESSAGE: usize = 1 << 20;
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The answer to `Sec-WebSocket-Key`.
pub(crate) fn accept_key(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(GUID);
    STANDARD.encode(hash.finalize())
}

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Kind {
    fn of(code: u8) -> Option<Kind> {
        Some(match code {
            0 => Kind::Continuation,
            1 => Kind::Text,
            2 => Kind::Binary,
            8 => Kind::Close,
            9 => Kind::Ping,
            10 => Kind::Pong,
            _ => return None,
        })
    }

    fn code(self) -> u8 {
        match self {
            Kind::Continuation => 0,
            Kind::Text => 1,
            Kind::Binary => 2,
            Kind::Close => 8,
            Kind::Ping => 9,
            Kind::Pong => 10,
        }
    }
}

/// An incoming message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A whole message.
    Message(Vec<u8>),
    /// The other side wants to know whether we are there: answer with [`Writer::pong`].
    Ping(Vec<u8>),
    /// The other side is done.
    Close,
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Reads messages.
pub(crate) struct Reader<R> {
    from: R,
    /// Parts of a message so far.
    partial: Option<Vec<u8>>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// A reader.
    pub(crate) fn new(from: R) -> Reader<R> {
        Reader { from, partial: None }
    }

    /// The next message. Not to be dropped while it waits, unless the connection is given up.
    ///
    /// # Errors
    /// The connection broke, or what arrives is no websocket.
    pub(crate) async fn next(&mut self) -> io::Result<Incoming> {
        loop {
            let (last, kind, bytes) = self.frame().await?;
            match kind {
                Kind::Close => return Ok(Incoming::Close),
                Kind::Ping => return Ok(Incoming::Ping(bytes)),
                Kind::Pong => {}
                Kind::Text | Kind::Binary if self.partial.is_some() => return Err(broken("a message in a message")),
                Kind::Text | Kind::Binary if last => return Ok(Incoming::Message(bytes)),
                Kind::Text | Kind::Binary => self.partial = Some(bytes),
                Kind::Continuation => {
                    let mut whole = self.partial.take().ok_or_else(|| broken("the rest of no message"))?;
                    if whole.len() + bytes.len() > MAX_MESSAGE {
                        return Err(broken("a message that is too large"));
                    }
                    whole.extend(bytes);
                    if last {
                        return Ok(Incoming::Message(whole));
                    }
                    self.partial = Some(whole);
                }
            }
        }
    }

    async fn frame(&mut self) -> io::Result<(bool, Kind, Vec<u8>)> {
        let first = self.from.read_u8().await?;
        let second = self.from.read_u8().await?;
        let kind = Kind::of(first & 0x0f).ok_or_else(|| broken("an unknown kind of frame"))?;
        if first & 0x70 != 0 || second & 0x80 == 0 {
            return Err(broken("a frame that is not masked, or has extensions"));
        }
        let length = match second & 0x7f {
            126 => u64::from(self.from.read_u16().await?),
            127 => self.from.read_u64().await?,
            n => u64::from(n),
        };
        let length = usize::try_from(length).ok().filter(|l| *l <= MAX_MESSAGE);
        let length = length.ok_or_else(|| broken("a frame that is too large"))?;
        let mask = self.from.read_u32().await?.to_be_bytes();
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).await?;
        bytes.iter_mut().zip(mask.iter().cycle()).for_each(|(b, m)| *b ^= m);
        Ok((first & 0x80 != 0, kind, bytes))
    }
}

/// Writes messages.
pub struct Writer<W> {
    to: W,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    /// A writer.
    pub fn new(to: W) -> Writer<W> {
        Writer { to }
    }

    /// Sends a text.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn text(&mut self, text: &[u8]) -> io::Result<()> {
        self.frame(Kind::Text, text).await
    }

    /// Answers a ping.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn pong(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.frame(Kind::Pong, bytes).await
    }

    /// Says why it is over. Reasons are cut at 123 bytes.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn close(&mut self, code: u16, reason: &str) -> io::Result<()> {
        let mut end = reason.len().min(123);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let mut bytes = code.to_be_bytes().to_vec();
        bytes.extend_from_slice(reason.get(..end).unwrap_or_default().as_bytes());
        self.frame(Kind::Close, &bytes).await
    }

    /// Ends the connection.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn shutdown(&mut self) -> io::Result<()> {
        self.to.shutdown().await
    }

    async fn frame(&mut self, kind: Kind, bytes: &[u8]) -> io::Result<()> {
        let mut out = vec![0x80 | kind.code()];
        match (u8::try_from(bytes.len()), u16::try_from(bytes.len())) {
            (Ok(n), _) if n < 126 => out.push(n),
            (_, Ok(n)) => {
                out.push(126);
                out.extend(n.to_be_bytes());
            }
            _ => {
                out.push(127);
                out.extend((bytes.len() as u64).to_be_bytes());
            }
        }
        out.extend_from_slice(bytes);
        self.to.write_all(&out).await?;
        self.to.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(first: u8, bytes: &[u8]) -> Vec<u8> {
        let mask = [1u8, 2, 3, 4];
        let mut out = vec![first, 0x80 | u8::try_from(bytes.len()).expect("short")];
        out.extend(mask);
        out.extend(bytes.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m));
        out
    }

    #[tokio::test]
    async fn messages_in_parts_with_a_ping_between() {
        let wire = [masked(0x01, b"hel"), masked(0x89, b"p"), masked(0x80, b"lo"), masked(0x88, b"")].concat();
        let mut reader = Reader::new(&wire[..]);
        assert_eq!(reader.next().await.expect("a ping"), Incoming::Ping(b"p".to_vec()));
        assert_eq!(reader.next().await.expect("a message"), Incoming::Message(b"hello".to_vec()));
        assert_eq!(reader.next().await.expect("the end"), Incoming::Close);
        assert!(reader.next().await.is_err());
    }

    #[tokio::test]
    async fn what_is_refused() {
        for wire in
            [&[0x81u8, 0x01, b'x'][..], &[0x83, 0x80, 0, 0, 0, 0], &[0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
        {
            assert!(Reader::new(wire).next().await.is_err(), "{wire:?}");
        }
        assert!(Reader::new(&masked(0x80, b"x")[..]).next().await.is_err());
    }

    #[tokio::test]
    async fn frames_have_their_lengths() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out);
        writer.text(b"hi").await.expect("written");
        writer.text(&[b'x'; 300]).await.expect("written");
        writer.close(1011, "task not found").await.expect("written");
        assert_eq!(&out[..4], [0x81, 2, b'h', b'i']);
        assert_eq!(&out[4..8], [0x81, 126, 1, 44]);
        assert_eq!(&out[308..312], [0x88, 16, 3, 243]);
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}

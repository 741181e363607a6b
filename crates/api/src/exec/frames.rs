//! WebSocket frames, as clients send and read them (RFC 6455).

/// The largest message that is read.
const MAX_MESSAGE: usize = 16 << 20;

/// A message, or what has to do with the connection itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// Text or bytes.
    Data(Vec<u8>),
    /// To be answered with the same bytes.
    Ping(Vec<u8>),
    /// The end: code and reason.
    Close(u16, String),
}

/// The kinds of frames.
pub(super) const TEXT: u8 = 1;
const CONTINUATION: u8 = 0;
const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// A frame of one message, masked as frames of clients have to be.
pub(super) fn encode(kind: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut out = vec![0x80 | kind];
    match payload.len() {
        n if n < 126 => out.push(0x80 | u8::try_from(n).unwrap_or_default()),
        n => match u16::try_from(n) {
            Ok(short) => {
                out.push(0x80 | 126);
                out.extend(short.to_be_bytes());
            }
            Err(_) => {
                out.push(0x80 | 127);
                out.extend((n as u64).to_be_bytes());
            }
        },
    }
    out.extend(mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, m)| byte ^ m));
    out
}

/// Why bytes are no frames of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebSocketError {
    /// A message exceeds the limit.
    #[error("a message is larger than {} bytes", MAX_MESSAGE)]
    LargeMessage,
    /// A frame exceeds the limit.
    #[error("a frame is larger than {} bytes", MAX_MESSAGE)]
    LargeFrame,
    /// A frame of a kind that the protocol does not have.
    #[error("a frame of the unknown kind {0}")]
    Kind(u8),
    /// Only clients mask frames.
    #[error("a masked frame")]
    Masked,
}

/// Makes messages of the bytes that arrive.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    /// The frames of a message that is not complete.
    parts: Vec<u8>,
}

impl Decoder {
    /// Takes bytes in.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, `None` while bytes are missing.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, WebSocketError> {
        loop {
            let Some(frame) = self.frame()? else { return Ok(None) };
            match frame.kind {
                CONTINUATION | TEXT | BINARY => {
                    if self.parts.len().saturating_add(frame.payload.len()) > MAX_MESSAGE {
                        return Err(WebSocketError::LargeMessage);
                    }
                    self.parts.extend(frame.payload);
                    if frame.last {
                        return Ok(Some(Message::Data(std::mem::take(&mut self.parts))));
                    }
                }
                PING => return Ok(Some(Message::Ping(frame.payload))),
                PONG => {}
                CLOSE => {
                    let (code, reason) = match frame.payload.split_first_chunk::<2>() {
                        Some((code, reason)) => {
                            (u16::from_be_bytes(*code), String::from_utf8_lossy(reason).into_owned())
                        }
                        None => (1005, String::new()),
                    };
                    return Ok(Some(Message::Close(code, reason)));
                }
                other => return Err(WebSocketError::Kind(other)),
            }
        }
    }

    /// The next whole frame.
    fn frame(&mut self) -> Result<Option<Frame>, WebSocketError> {
        let [first, second, ..] = *self.bytes.as_slice() else { return Ok(None) };
        if second & 0x80 != 0 {
            return Err(WebSocketError::Masked);
        }
        let after = |n: usize| self.bytes.get(2..2 + n);
        let (head, length) = match second {
            126 => match after(2).and_then(|b| b.try_into().ok()) {
                Some(b) => (4, u64::from(u16::from_be_bytes(b))),
                None => return Ok(None),
            },
            127 => match after(8).and_then(|b| b.try_into().ok()) {
                Some(b) => (10, u64::from_be_bytes(b)),
                None => return Ok(None),
            },
            n => (2, u64::from(n)),
        };
        let length = usize::try_from(length).ok().filter(|n| *n <= MAX_MESSAGE);
        let length = length.ok_or(WebSocketError::LargeFrame)?;
        let end = head + length;
        let Some(payload) = self.bytes.get(head..end).map(<[u8]>::to_vec) else { return Ok(None) };
        self.bytes.drain(..end);
        Ok(Some(Frame { kind: first & 0x0f, last: first & 0x80 != 0, payload }))
    }
}

struct Frame {
    kind: u8,
    last: bool,
    payload: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_shortest_length() {
        let mask = [1, 2, 3, 4];
        assert_eq!(
            encode(TEXT, b"abcde", mask),
            [0x81, 0x85, 1, 2, 3, 4, b'a' ^ 1, b'b' ^ 2, b'c' ^ 3, b'd' ^ 4, b'e' ^ 1]
        );
        assert_eq!(encode(TEXT, &[0; 126], mask)[..4], [0x81, 0x80 | 126, 0, 126]);
        assert_eq!(encode(TEXT, &[0; 65536], mask)[..10], [0x81, 0x80 | 127, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn messages_arrive_in_pieces() {
        let mut d = Decoder::default();
        let mut bytes = vec![0x01, 2, b'a', b'b', 0x89, 1, b'p', 0x80, 126, 0, 3, b'c', b'd', b'e'];
        bytes.extend([0x88, 4, 0x03, 0xf0, b'n', b'o']);
        let mut got = Vec::new();
        for byte in bytes {
            d.feed(&[byte]);
            got.extend(d.next().unwrap());
        }
        let want = [Message::Ping(b"p".to_vec()), Message::Data(b"abcde".to_vec()), Message::Close(1008, "no".into())];
        assert_eq!(got, want);
    }

    #[test]
    fn hostile_frames_are_errors() {
        for bytes in [&[0x81, 0x81, 0][..], &[0x83, 0], &[0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0]] {
            let mut d = Decoder::default();
            d.feed(bytes);
            assert!(d.next().is_err(), "{bytes:?}");
        }
    }
}

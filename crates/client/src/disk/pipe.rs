//! The bytes of an archive between a thread that blocks and a connection.

use std::io::{self, Read, Write};

use futures_util::StreamExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::{DiskBytes, ReadError, STALL};

/// Pieces that wait for their reader.
const WAITING: usize = 4;
/// Length of a piece that is sent.
const PIECE: usize = 64 << 10;

/// A piece of an archive in flight.
pub(crate) enum Piece {
    /// Bytes of it.
    Bytes(Vec<u8>),
    /// There are no more: without this, the archive is cut off.
    End,
}

/// Takes the archive of a thread, for a connection.
pub(crate) struct Sender {
    to: mpsc::Sender<Piece>,
    runtime: Handle,
    bytes: Vec<u8>,
    failed: bool,
}

impl Sender {
    /// The way from a thread to a connection. Must be called inside a runtime.
    pub(crate) fn new() -> (Sender, DiskBytes) {
        let (to, pieces) = mpsc::channel(WAITING);
        let next = |from: Option<mpsc::Receiver<Piece>>| async move {
            let mut from = from?;
            match from.recv().await {
                Some(Piece::Bytes(bytes)) => Some((Ok(bytes), Some(from))),
                Some(Piece::End) => None,
                // The connection has to fail: a part of an archive must not look like a whole one.
                None => Some((Err(ReadError(Box::new(io::Error::from(io::ErrorKind::UnexpectedEof)))), None)),
            }
        };
        let sender = Sender { to, runtime: Handle::current(), bytes: Vec::with_capacity(PIECE), failed: false };
        (sender, futures_util::stream::unfold(Some(pieces), next).boxed())
    }

    fn send(&mut self, piece: Piece) -> io::Result<()> {
        if self.failed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let sent = self.runtime.block_on(async { tokio::time::timeout(STALL, self.to.send(piece)).await });
        self.failed = !matches!(sent, Ok(Ok(())));
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Sends the rest of a whole archive.
    ///
    /// # Errors
    /// Nobody takes it.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.flush()?;
        self.send(Piece::End)
    }
}

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = PIECE.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(bytes.get(..free).unwrap_or_default());
        if self.bytes.len() >= PIECE {
            self.flush()?;
        }
        Ok(free)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::replace(&mut self.bytes, Vec::with_capacity(PIECE));
        self.send(Piece::Bytes(bytes))
    }
}

/// Reads what arrives on a connection, in a thread.
pub(crate) struct Receiver {
    from: mpsc::Receiver<Piece>,
    current: Vec<u8>,
    used: usize,
    /// The connection ended as it should.
    ended: bool,
    /// Bytes that came in all, and how many of the last ones are zero.
    bytes: u64,
    zeros: u64,
    most: u64,
}

impl Receiver {
    /// The way from a connection to a thread; more bytes than `most` are an error.
    pub(crate) fn new(most: u64) -> (mpsc::Sender<Piece>, Receiver) {
        let (to, from) = mpsc::channel(WAITING);
        (to, Receiver { from, current: Vec::new(), used: 0, ended: false, bytes: 0, zeros: 0, most })
    }

    /// Whether the archive came to its end: two empty blocks, and nothing after them.
    pub(crate) fn is_complete(&mut self) -> bool {
        io::copy(self, &mut io::sink()).is_ok() && self.ended && self.zeros >= 1024
    }
}

impl Read for Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used >= self.current.len() {
            match self.from.blocking_recv() {
                Some(Piece::Bytes(bytes)) => {
                    let length = bytes.len() as u64;
                    self.bytes = self.bytes.saturating_add(length);
                    if self.bytes > self.most {
                        return Err(io::ErrorKind::FileTooLarge.into());
                    }
                    let zeros = bytes.iter().rev().take_while(|b| **b == 0).count() as u64;
                    self.zeros = if zeros == length { self.zeros.saturating_add(zeros) } else { zeros };
                    (self.current, self.used) = (bytes, 0);
                }
                Some(Piece::End) => {
                    self.ended = true;
                    return Ok(0);
                }
                None if self.ended => return Ok(0),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let rest = self.current.get(self.used..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        let (from, to) = (rest.get(..count).unwrap_or_default(), buffer.get_mut(..count).unwrap_or_default());
        to.copy_from_slice(from);
        self.used += count;
        Ok(count)
    }
}

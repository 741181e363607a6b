//! The blocks of compressed files.

use std::io::Read;

use super::blocks::{self, Blocks, Frames, Next, Stream};
use crate::file::{GZIP, ZSTD};

/// A text that is decompressed from its beginning to its end.
type Decompressed<'f> = Stream<Box<dyn Read + Send + 'f>>;

/// The blocks of a file that is in memory.
pub(super) enum Compressed<'f> {
    /// Several frames, which threads decompress independently of each other.
    Frames(Frames<'f>),
    /// Anything else.
    Stream(Decompressed<'f>),
}

/// What a thread needs to take blocks.
pub(super) enum Room {
    Frames(<Frames<'static> as Blocks>::Room),
    Stream(Vec<u8>),
}

impl<'f> Compressed<'f> {
    /// The blocks of a file that holds at most so many bytes; `None` if it is not compressed.
    pub(super) fn new(file: &'f [u8], most: u64) -> Option<Compressed<'f>> {
        let text: Box<dyn Read + Send + 'f> = if file.starts_with(&ZSTD) {
            if let Some(frames) = Frames::new(file, most) {
                return Some(Compressed::Frames(frames));
            }
            Box::new(zstd::stream::read::Decoder::with_buffer(file).ok()?)
        } else if file.starts_with(&GZIP) {
            Box::new(flate2::read::MultiGzDecoder::new(file))
        } else {
            return None;
        };
        Some(Compressed::Stream(Stream::new(text, most, blocks::LENGTH)))
    }
}

impl Blocks for Compressed<'_> {
    type Room = Room;

    fn room(&self) -> Room {
        match self {
            Compressed::Frames(frames) => Room::Frames(frames.room()),
            Compressed::Stream(stream) => Room::Stream(stream.room()),
        }
    }

    fn next<'a>(&self, room: &'a mut Room) -> Option<Next<'a>> {
        match (self, room) {
            (Compressed::Frames(frames), Room::Frames(room)) => frames.next(room),
            (Compressed::Stream(stream), Room::Stream(room)) => stream.next(room),
            _ => None,
        }
    }

    fn give_up(&self) {
        match self {
            Compressed::Frames(frames) => frames.give_up(),
            Compressed::Stream(stream) => stream.give_up(),
        }
    }
}

//! Blocks of lines, in their order, for the threads that parse them.

use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};
use zstd::bulk::Decompressor;
use zstd::zstd_safe::{find_frame_compressed_size, get_frame_content_size};

use super::part::Place;

/// Bytes of a block: what a core's cache has room for, and many lines.
pub(super) const LENGTH: usize = 1 << 20;
/// The most that is decompressed of a frame at once.
const MOST_IN_FRAME: usize = 16 << 20;

/// Where blocks come from.
pub(super) trait Blocks: Sync {
    /// What a thread needs to take blocks.
    type Room;

    /// Room for one thread.
    fn room(&self) -> Self::Room;

    /// The next block. `None` if it is damaged, or not as this program writes it.
    fn next<'a>(&self, room: &'a mut Self::Room) -> Option<Next<'a>>;

    /// A thread has given up: no other waits for it any longer.
    fn give_up(&self) {}
}

/// A block, or the end of the text.
pub(super) enum Next<'a> {
    /// Lines.
    Block {
        /// How many blocks are before it.
        number: usize,
        /// Where in the file they seem to begin.
        place: Place,
        /// The lines; all but the last of the file have ends.
        text: &'a [u8],
    },
    /// There are no more.
    End,
}

/// A text that is read from its beginning to its end.
pub(super) struct Stream<R> {
    source: Mutex<Source<R>>,
    length: usize,
}

struct Source<R> {
    text: R,
    /// The most that may still be read.
    left: u64,
    /// Blocks that threads have taken.
    count: usize,
    place: Place,
    /// The beginning of the next line.
    start: Vec<u8>,
    ended: bool,
}

impl<R: Read + Send> Stream<R> {
    /// The blocks of a text of at most so many bytes; `length` is that of blocks.
    pub(super) fn new(text: R, most: u64, length: usize) -> Stream<R> {
        let source = Source { text, left: most, count: 0, place: Place::Before, start: Vec::new(), ended: false };
        Stream { source: Mutex::new(source), length }
    }
}

impl<R: Read + Send> Blocks for Stream<R> {
    type Room = Vec<u8>;

    fn room(&self) -> Vec<u8> {
        vec![0; self.length]
    }

    fn next<'a>(&self, room: &'a mut Vec<u8>) -> Option<Next<'a>> {
        let mut source = self.source.lock();
        let source = &mut *source;
        if source.ended {
            return Some(Next::End);
        }
        let begun = source.start.len();
        room.get_mut(..begun)?.copy_from_slice(&source.start);
        let read = fill(&mut source.text, room.get_mut(begun..)?).ok()?;
        source.left = source.left.checked_sub(read as u64)?;
        let filled = begun + read;
        source.ended = filled < room.len();
        let text = room.get(..filled)?;
        // A line that is longer than a block is none that this program writes often enough.
        let end = if source.ended { filled } else { memchr::memrchr(b'\n', text)? + 1 };
        source.start.clear();
        source.start.extend_from_slice(text.get(end..)?);
        let text = text.get(..end)?;
        let (number, place) = (source.count, source.place);
        source.count += 1;
        source.place = Place::behind(text).unwrap_or(place);
        Some(Next::Block { number, place, text })
    }
}

/// Fills the room, unless the text ends before; how much that is.
fn fill(text: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(empty) = room.get_mut(filled..).filter(|empty| !empty.is_empty()) {
        match text.read(empty) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// The frames of a file compressed with zstd, each of which holds whole lines.
pub(super) struct Frames<'f> {
    frames: Vec<&'f [u8]>,
    /// What the largest of them holds.
    largest: usize,
    taken: AtomicUsize,
    places: Mutex<Places>,
    changed: Condvar,
}

/// Where the lines behind frames are.
#[derive(Default)]
struct Places {
    /// What each frame says about that, as far as it is known.
    behind: Vec<Option<Option<Place>>>,
    given_up: bool,
}

impl Places {
    /// Where a frame begins, if all frames before it are known.
    fn start(&self, frame: usize) -> Option<Place> {
        let mut place = Place::Before;
        for behind in self.behind.get(..frame)? {
            place = (*behind)?.unwrap_or(place);
        }
        Some(place)
    }
}

impl<'f> Frames<'f> {
    /// The frames of a file that holds at most so many bytes. `None` if it has one frame or large ones, or if frames do
    /// not say what they hold.
    pub(super) fn new(file: &'f [u8], most: u64) -> Option<Frames<'f>> {
        let (mut frames, mut rest, mut largest, mut total) = (Vec::new(), file, 0, 0_u64);
        while !rest.is_empty() {
            let holds = get_frame_content_size(rest).ok()??;
            let (frame, behind) = rest.split_at_checked(find_frame_compressed_size(rest).ok()?)?;
            total = total.checked_add(holds).filter(|total| *total <= most)?;
            largest = largest.max(usize::try_from(holds).ok().filter(|holds| *holds <= MOST_IN_FRAME)?);
            frames.push(frame);
            rest = behind;
        }
        let places = Places { behind: vec![None; frames.len()], given_up: false };
        (frames.len() > 1).then(|| Frames {
            frames,
            largest,
            taken: AtomicUsize::new(0),
            places: Mutex::new(places),
            changed: Condvar::new(),
        })
    }
}

impl Blocks for Frames<'_> {
    type Room = (Decompressor<'static>, Vec<u8>);

    fn room(&self) -> Self::Room {
        (Decompressor::default(), Vec::with_capacity(self.largest))
    }

    fn next<'a>(&self, (decompressor, text): &'a mut Self::Room) -> Option<Next<'a>> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        let Some(frame) = self.frames.get(number) else { return Some(Next::End) };
        decompressor.decompress_to_buffer(frame, text).ok()?;
        // The last line of a file may have no end.
        if number + 1 < self.frames.len() && text.last().is_some_and(|last| *last != b'\n') {
            return None;
        }
        let behind = Place::behind(text);
        let mut places = self.places.lock();
        *places.behind.get_mut(number)? = Some(behind);
        self.changed.notify_all();
        loop {
            if places.given_up {
                return None;
            }
            match places.start(number) {
                Some(place) => return Some(Next::Block { number, place, text }),
                None => self.changed.wait(&mut places),
            }
        }
    }

    fn give_up(&self) {
        self.places.lock().given_up = true;
        self.changed.notify_all();
    }
}

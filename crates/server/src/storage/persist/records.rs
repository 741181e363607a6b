//! Reads the records of a snapshot in their order. The parts are decompressed and decoded in several threads.

use std::io::{self, BufRead, BufReader, Read};

use super::parts::{self, Part};
use super::record::{Record, WITH_LEVEL, WITHOUT_PARTS, invalid};
use encamp_host::parallel;
use encamp_ops::codec;

/// How many times as long as the compressed parts their content may be. It is a tenth of that for many allocations.
const MOST_RATIO: u64 = 200;
/// Content up to this many bytes is accepted whatever the length of the parts.
const ALWAYS_UNPACKED: u64 = 64 << 20;

/// Counts the bytes that are read.
struct Counted<R> {
    from: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.from.consume(n);
        self.bytes += n as u64;
    }
}

/// What lies between the header and the end.
enum Piece {
    /// A record on its own, and its length in bytes.
    Alone(Record, u64),
    Part(Part),
}

/// The records of a piece, each with its length in bytes, and the lengths of the piece packed and unpacked.
struct Opened {
    records: Vec<(Record, u64)>,
    packed: u64,
    unpacked: u64,
}

/// Visits the records between the header and the end, with their lengths in bytes before compression.
///
/// # Errors
/// It is no snapshot of a version that this program reads, it is damaged, or `each` fails.
pub(super) fn each(from: &mut dyn Read, each: impl FnMut(Record, u64) -> io::Result<()>) -> io::Result<()> {
    each_with_version(from, |_| Ok(()), each)
}

/// As [`each`]; `head` gets the version before the first record.
///
/// # Errors
/// As [`each`]; `head` fails.
pub(super) fn each_with_version(
    from: &mut dyn Read,
    head: impl FnOnce(u32) -> io::Result<()>,
    mut each: impl FnMut(Record, u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut from = Counted { from: BufReader::with_capacity(1 << 16, from), bytes: 0 };
    let mut next = || {
        let before = from.bytes;
        let record = codec::decode_from::<Record>(&mut from).map_err(|e| invalid(format!("state snapshot: {e}")))?;
        io::Result::Ok((record, from.bytes - before))
    };
    match next()?.0 {
        Record::Header { version } if (WITHOUT_PARTS..=WITH_LEVEL).contains(&version) => head(version)?,
        Record::Header { version } => {
            return Err(invalid(format!(
                "state snapshot: version {version}, but this build reads only versions {WITHOUT_PARTS} to {WITH_LEVEL}; \
                 use the build that wrote it, or a newer one"
            )));
        }
        _ => return Err(invalid("state snapshot: no header")),
    }
    let pieces = std::iter::from_fn(|| match next() {
        Ok((Record::Header { .. }, _)) => Some(Err(invalid("state snapshot: two headers"))),
        Ok((Record::End, _)) => None,
        Ok((Record::Part(part), _)) => Some(Ok(Piece::Part(part))),
        Ok((record, bytes)) => Some(Ok(Piece::Alone(record, bytes))),
        Err(e) => Some(Err(e)),
    });
    let (mut packed, mut unpacked) = (0u64, 0u64);
    parallel::in_order(pieces, open, |opened| {
        let opened = opened?;
        packed += opened.packed;
        unpacked += opened.unpacked;
        if unpacked > packed.saturating_mul(MOST_RATIO).saturating_add(ALWAYS_UNPACKED) {
            return Err(invalid(format!(
                "state snapshot: its parts unpack to more than {MOST_RATIO} times their length"
            )));
        }
        opened.records.into_iter().try_for_each(|(record, bytes)| each(record, bytes))
    })
}

fn open(piece: Piece) -> io::Result<Opened> {
    let part = match piece {
        Piece::Alone(record, bytes) => {
            return Ok(Opened { records: vec![(record, bytes)], packed: bytes, unpacked: bytes });
        }
        Piece::Part(part) => part,
    };
    let unpacked = part.unpacked()?;
    let records = parts::split(&unpacked).map(|encoded| {
        let encoded = encoded?;
        match codec::decode::<Record>(encoded) {
            Ok(Record::Header { .. } | Record::Part(_) | Record::End) => {
                Err(invalid("state snapshot: a record does not belong in a part"))
            }
            Ok(record) => Ok((record, encoded.len() as u64)),
            Err(e) => Err(invalid(format!("state snapshot: {e}"))),
        }
    });
    let records = records.collect::<io::Result<Vec<_>>>()?;
    Ok(Opened { records, packed: part.packed() as u64, unpacked: unpacked.len() as u64 })
}

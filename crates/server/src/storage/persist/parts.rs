//! Parts of a snapshot: some records, each behind its length, compressed together. A part is complete in itself, so that
//! threads write and read different ones at a time.

use std::fmt;
use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::record::{Record, invalid};
use encamp_ops::codec;

/// A part is closed when it has grown to this length, in bytes before compression.
const PART: usize = 1 << 20;
/// The longest record in a part, in bytes; a longer one is written on its own.
const LONGEST_RECORD: usize = 1 << 20;
/// Most bytes that a part may decompress to: that of [`PART`] bytes less one, and the longest record behind its length.
const MOST_UNPACKED: usize = PART + LONGEST_RECORD + LENGTH;
/// The length before each record: a little-endian `u32`.
const LENGTH: usize = 4;
/// How hard it is compressed. With -1, a part takes a fourth of the time that encoding its records takes.
const LEVEL: i32 = -1;

/// Compressed records.
pub(super) struct Part(Vec<u8>);

impl Part {
    /// How many bytes it takes in the file.
    pub(super) fn packed(&self) -> usize {
        self.0.len()
    }

    /// Its records one after the other, each behind its length.
    ///
    /// # Errors
    /// It is damaged, or longer than a part gets.
    pub(super) fn unpacked(&self) -> io::Result<Vec<u8>> {
        zstd::bulk::decompress(&self.0, MOST_UNPACKED).map_err(|e| invalid(format!("state snapshot: a part: {e}")))
    }
}

/// The encodings of the records in an unpacked part.
pub(super) fn split(mut unpacked: &[u8]) -> impl Iterator<Item = io::Result<&[u8]>> {
    std::iter::from_fn(move || {
        if unpacked.is_empty() {
            return None;
        }
        let found = unpacked
            .split_first_chunk::<LENGTH>()
            .and_then(|(length, rest)| rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?));
        let Some((record, rest)) = found else {
            unpacked = &[];
            return Some(Err(invalid("state snapshot: a part ends within a record")));
        };
        unpacked = rest;
        Some(Ok(record))
    })
}

/// Makes parts of records.
#[derive(Default)]
pub(super) struct Packer {
    /// The part that is being filled.
    open: Vec<u8>,
    /// The encoding of complete parts.
    complete: Vec<u8>,
}

impl Packer {
    /// Adds a record behind the ones before.
    pub(super) fn add(&mut self, record: &Record) -> io::Result<()> {
        let before = self.open.len();
        self.open.extend_from_slice(&[0; LENGTH]);
        codec::encode_onto(record, &mut self.open).map_err(io::Error::other)?;
        let length = self.open.len() - before - LENGTH;
        if length > LONGEST_RECORD {
            let alone = self.open.split_off(before);
            self.close()?;
            self.complete.extend_from_slice(alone.get(LENGTH..).unwrap_or_default());
            return Ok(());
        }
        let prefix = u32::try_from(length).map_err(io::Error::other)?.to_le_bytes();
        if let Some(at) = self.open.get_mut(before..before + LENGTH) {
            at.copy_from_slice(&prefix);
        }
        if self.open.len() < PART { Ok(()) } else { self.close() }
    }

    /// The encoding of the parts that are complete and were not taken yet.
    pub(super) fn take_complete(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complete)
    }

    /// The same with the last part.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.close()?;
        Ok(self.complete)
    }

    fn close(&mut self) -> io::Result<()> {
        if !self.open.is_empty() {
            let part = Part(zstd::bulk::compress(&self.open, LEVEL)?);
            self.open.clear();
            codec::encode_onto(&Record::Part(part), &mut self.complete).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Part, D::Error> {
        from.deserialize_byte_buf(PackedBytes)
    }
}

struct PackedBytes;

impl de::Visitor<'_> for PackedBytes {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("compressed records")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Part, E> {
        Ok(Part(bytes.to_vec()))
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Part, E> {
        Ok(Part(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::records;
    use super::*;
    use encamp_model::JobSubmission;

    /// A record of about so many bytes.
    fn record(bytes: usize) -> Record {
        Record::Submission(Arc::new(JobSubmission { source: "x".repeat(bytes), ..JobSubmission::default() }))
    }

    fn whole(parts: &[u8]) -> Vec<u8> {
        let mut file = codec::encode(&Record::Header { version: super::super::record::VERSION }).unwrap();
        file.extend_from_slice(parts);
        file.extend(codec::encode(&Record::End).unwrap());
        file
    }

    fn lengths(file: &[u8]) -> io::Result<Vec<usize>> {
        let mut lengths = Vec::new();
        records::each(&mut &*file, |record, _| {
            if let Record::Submission(s) = record {
                lengths.push(s.source.len());
            }
            Ok(())
        })?;
        Ok(lengths)
    }

    #[test]
    fn records_of_all_lengths_keep_their_order() {
        let sizes = [0, 1, 500_000, 600_000, 1 << 20, 7, (1 << 20) - 200, 3 << 20, 3 << 20, 10, 1 << 19];
        let mut packer = Packer::default();
        let mut parts = Vec::new();
        for size in sizes {
            packer.add(&record(size)).unwrap();
            parts.extend(packer.take_complete());
        }
        parts.extend(packer.finish().unwrap());
        assert!(parts.len() > 6 << 20, "records longer than a part are not in one: {}", parts.len());
        assert_eq!(lengths(&whole(&parts)).unwrap(), sizes);
    }

    #[test]
    fn damaged_and_nested_parts_are_refused() {
        let refused = |unpacked: &[u8]| {
            let part = Record::Part(Part(zstd::bulk::compress(unpacked, 1).unwrap()));
            lengths(&whole(&codec::encode(&part).unwrap())).unwrap_err().to_string()
        };
        assert!(refused(&[1, 0, 0]).contains("ends within a record"));
        assert!(refused(&[5, 0, 0, 0, 1, 2]).contains("ends within a record"));
        let too_long = refused(&vec![0; MOST_UNPACKED + 1]);
        assert!(too_long.contains("a part"), "{too_long}");
        for nested in [Record::End, Record::Header { version: 2 }, Record::Part(Part(Vec::new()))] {
            let encoded = codec::encode(&nested).unwrap();
            let mut unpacked = u32::try_from(encoded.len()).unwrap().to_le_bytes().to_vec();
            unpacked.extend(encoded);
            let text = refused(&unpacked);
            assert!(text.contains("does not belong in a part"), "{text}");
        }
        let not_compressed = Record::Part(Part(vec![7; 100]));
        assert!(lengths(&whole(&codec::encode(&not_compressed).unwrap())).is_err());
    }
}

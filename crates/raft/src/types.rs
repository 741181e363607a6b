//! Types of the log: server IDs, peers, batches of operations.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use openraft::{EntryPayload, LogId, StorageError};
use serde::{Deserialize, Serialize, de, ser};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use encamp_model::capability::{Capability, CapabilityLevel};
use encamp_ops::codec::{self, CodecError};
use encamp_ops::{Operation, Reply};

use super::runtime::Runtime;
use super::snapshots::SnapshotFile;

openraft::declare_raft_types!(
    /// The types of our log, as openraft wants to know them.
    pub Types:
        D = Batch,
        R = Applied,
        NodeId = ServerId,
        Node = Peer,
        Entry = openraft::Entry<Types>,
        SnapshotData = SnapshotFile,
        Responder = openraft::impls::OneshotResponder<Types>,
        AsyncRuntime = Runtime,
);

/// Place of an entry in the log: leader's term, leader, index of the entry.
pub(crate) type EntryId = LogId<ServerId>;
/// Errors of this crate for openraft; every one stops the node.
pub(crate) type StorageFailure = StorageError<ServerId>;

/// ID of a server: a UUID.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId(pub(super) u64, pub(super) u64);

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Uuid::from_u64_pair(self.0, self.1), f)
    }
}

/// The text is not a UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("server ID {0:?} is not a UUID")]
pub struct NotAnId(String);

impl FromStr for ServerId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<ServerId, NotAnId> {
        let id = text.parse::<Hyphenated>().map_err(|_| NotAnId(text.to_string()))?;
        let (high, low) = id.as_uuid().as_u64_pair();
        Ok(ServerId(high, low))
    }
}

#[cfg(test)]
impl From<u64> for ServerId {
    fn from(n: u64) -> ServerId {
        ServerId(0, n)
    }
}

/// A member of the cluster, as the configuration in the log keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The server's name, `<node>.<region>`.
    pub name: String,
    /// Where other servers reach it, `host:port`.
    pub address: String,
}

/// One entry of the log: operations that were proposed at about the same time, applied in order. Each takes an index of
/// its own; entries without operations (a new leader's blank one, memberships) take one index too.
///
/// Its encoding is kept: the same bytes go to disk and to every other server, and from there to its disk. A long one is
/// compressed: the allocations of a plan are alike. Since the capability [`Capability::EntryHead`] a head comes before
/// it:
///
/// | bytes | content |
/// |---|---|
/// | 1 | `0xc1`, which begins neither MessagePack nor what is compressed |
/// | 4 | capability level that a server needs to read the entry, little-endian |
/// | 4 | CRC32 of the level and of what follows |
#[derive(Clone)]
pub struct Batch(Arc<Content>);

/// The beginning of a compressed encoding, as zstd writes it: in MessagePack it is a number, not a list.
const COMPRESSED: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Encodings are compressed from this length on, in bytes.
const SHORTEST_COMPRESSED: usize = 4 << 10;
/// Longer encodings are not compressed: what was read from another server must not decompress to more, in bytes.
const LONGEST_COMPRESSED: usize = 64 << 20;
/// How hard encodings are compressed. More would take longer than the disk takes for what it saves.
const LEVEL: i32 = -1;

/// Begins the head of an entry.
const HEAD_MARK: u8 = 0xc1;
/// Length of the head of an entry, in bytes.
#[cfg(test)]
const HEAD: usize = 9;

/// Why bytes are no entry that this build reads.
#[derive(Debug, thiserror::Error)]
pub(super) enum EntryError {
    /// They are no operations.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The head is cut off, or holds no level.
    #[error("the head of the entry is damaged")]
    Head,
    /// They changed after the leader had written them.
    #[error("the entry does not match its checksum")]
    Changed,
    /// A newer build wrote them.
    #[error("the entry needs capability level {0}, but this build supports only up to {build}; install the build of the other servers on this server, too", build = CapabilityLevel::BUILD)]
    Newer(CapabilityLevel),
}

/// The checksum in the head of an entry.
fn head_sum(level: [u8; 4], body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&level);
    sum.update(body);
    sum.finalize()
}

/// An encoding with its head.
fn headed(level: CapabilityLevel, body: &[u8]) -> Vec<u8> {
    let level = level.number().to_le_bytes();
    [&[HEAD_MARK][..], &level, &head_sum(level, body).to_le_bytes(), body].concat()
}

/// The level of an entry, and its encoding without a head.
fn split_head(encoded: &[u8]) -> Result<(CapabilityLevel, &[u8]), EntryError> {
    let Some((&HEAD_MARK, rest)) = encoded.split_first() else { return Ok((CapabilityLevel::FIRST, encoded)) };
    let (level, rest) = rest.split_first_chunk::<4>().ok_or(EntryError::Head)?;
    let (sum, body) = rest.split_first_chunk::<4>().ok_or(EntryError::Head)?;
    if head_sum(*level, body) != u32::from_le_bytes(*sum) {
        return Err(EntryError::Changed);
    }
    let level = CapabilityLevel::try_from(u32::from_le_bytes(*level)).map_err(|_| EntryError::Head)?;
    if level > CapabilityLevel::BUILD { Err(EntryError::Newer(level)) } else { Ok((level, body)) }
}

/// The encoding as it is kept.
fn compressed(encoded: Vec<u8>) -> Result<Vec<u8>, CodecError> {
    if !(SHORTEST_COMPRESSED..=LONGEST_COMPRESSED).contains(&encoded.len()) {
        return Ok(encoded);
    }
    let compressed = zstd::bulk::compress(&encoded, LEVEL).map_err(CodecError::Write)?;
    Ok(if compressed.len() < encoded.len() { compressed } else { encoded })
}

struct Content {
    operations: Vec<Arc<Operation>>,
    encoded: Vec<u8>,
    /// The length of the encoding before compression.
    plain_length: usize,
    /// What a server has to support to read it.
    level: CapabilityLevel,
}

impl Batch {
    /// Of operations, in the form of a cluster of a level.
    ///
    /// # Errors
    /// One of them can't be encoded.
    pub fn new(operations: Vec<Arc<Operation>>, cluster: CapabilityLevel) -> Result<Batch, CodecError> {
        let encoded = codec::encode_operations(&operations)?;
        let plain_length = encoded.len();
        let needed = operations.iter().filter_map(|op| op.capability()).map(Capability::introduced).max();
        let level = needed.map_or(cluster, |needed| needed.max(cluster));
        let body = compressed(encoded)?;
        let encoded = if level.has(Capability::EntryHead) { headed(level, &body) } else { body };
        Ok(Batch(Arc::new(Content { operations, encoded, plain_length, level })))
    }

    /// Of an encoding.
    fn read(encoded: Vec<u8>) -> Result<Batch, EntryError> {
        let (level, body) = split_head(&encoded)?;
        let (operations, plain_length) = if body.starts_with(&COMPRESSED) {
            let plain = zstd::bulk::decompress(body, LONGEST_COMPRESSED).map_err(CodecError::Read)?;
            (codec::decode_operations(&plain)?, plain.len())
        } else {
            (codec::decode_operations(body)?, body.len())
        };
        Ok(Batch(Arc::new(Content { operations, encoded, plain_length, level })))
    }

    /// What a server has to support to read it.
    pub(super) fn level(&self) -> CapabilityLevel {
        self.0.level
    }

    /// The content.
    pub fn operations(&self) -> &[Arc<Operation>] {
        &self.0.operations
    }
}

/// Says how many operations it holds; what they hold may be secret.
impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} operations)", self.operations().len())
    }
}

impl Serialize for Batch {
    fn serialize<S: ser::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0.encoded)
    }
}

impl<'de> Deserialize<'de> for Batch {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Batch, D::Error> {
        from.deserialize_byte_buf(Bytes)
    }
}

struct Bytes;

impl<'de> de::Visitor<'de> for Bytes {
    type Value = Batch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("encoded operations")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Batch, E> {
        Batch::read(bytes.to_vec()).map_err(E::custom)
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Batch, E> {
        Batch::read(bytes).map_err(E::custom)
    }

    /// As logs held them at first.
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut operations: A) -> Result<Batch, A::Error> {
        let mut read = Vec::new();
        while let Some(operation) = operations.next_element()? {
            read.push(operation);
        }
        Batch::new(read, CapabilityLevel::FIRST).map_err(de::Error::custom)
    }
}

/// The result of applying a [`Batch`].
#[derive(Debug, Clone)]
pub struct Applied {
    /// Index of the first operation.
    pub first: u64,
    /// One reply per operation.
    pub replies: Vec<Reply>,
}

/// openraft wants replies to be serialisable, but never does it: they stay in the process.
impl Serialize for Applied {
    fn serialize<S: ser::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("replies stay in the process"))
    }
}

impl<'de> Deserialize<'de> for Applied {
    fn deserialize<D: de::Deserializer<'de>>(_: D) -> Result<Applied, D::Error> {
        Err(de::Error::custom("replies stay in the process"))
    }
}

/// The length of an entry's operations before compression, in bytes: about what it takes in memory.
pub(super) fn plain_length(payload: &EntryPayload<Types>) -> usize {
    match payload {
        EntryPayload::Normal(batch) => batch.0.plain_length,
        EntryPayload::Blank | EntryPayload::Membership(_) => 0,
    }
}

/// What a server has to support to read an entry.
pub(super) fn level(payload: &EntryPayload<Types>) -> CapabilityLevel {
    match payload {
        EntryPayload::Normal(batch) => batch.level(),
        EntryPayload::Blank | EntryPayload::Membership(_) => CapabilityLevel::FIRST,
    }
}

/// How many indexes an entry takes.
pub(super) fn width(payload: &EntryPayload<Types>) -> u32 {
    match payload {
        EntryPayload::Normal(batch) => u32::try_from(batch.operations().len()).unwrap_or(u32::MAX),
        EntryPayload::Blank | EntryPayload::Membership(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids() {
        let text = "0f24e4e7-a36f-cb68-2ae9-d90e37a1b6a5";
        let id: ServerId = text.parse().expect("a UUID");
        assert_eq!(id.to_string(), text);
        for bad in [
            "",
            "0f24e4e7",
            "0f24e4e7-a36f-cb68-2ae9-d90e37a1b6ag",
            "0f24e4e7a36f-cb68-2ae9-d90e-37a1b6a5",
            "+f24e4e7-a36f-cb68-2ae9-d90e37a1b6a5",
        ] {
            assert!(bad.parse::<ServerId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn long_entries_are_compressed() {
        let events = (0..500).map(|n| (format!("node-{n}"), vec![encamp_model::NodeEvent::default()])).collect();
        let batch =
            Batch::new(vec![Arc::new(Operation::NodeEvents { events })], CapabilityLevel::FIRST).expect("encoded");
        let plain = codec::encode_operations(batch.operations()).expect("encoded");
        assert!(batch.0.encoded.starts_with(&COMPRESSED) && batch.0.encoded.len() < plain.len() / 4);
        let written = codec::encode(&batch).expect("written");
        let read: Batch = codec::decode(&written).expect("read");
        assert_eq!(
            (codec::encode_operations(read.operations()).expect("encoded"), &read.0.encoded),
            (plain, &batch.0.encoded)
        );
        let cut = Batch::read(batch.0.encoded[..batch.0.encoded.len() / 2].to_vec());
        assert!(cut.is_err());
        let bomb = zstd::bulk::compress(&vec![0; LONGEST_COMPRESSED + 1], 1).expect("compressed");
        assert!(Batch::read(bomb).is_err());
    }

    #[test]
    fn entries_are_encoded_once() {
        let three = (0..3).map(|_| Arc::new(Operation::Barrier)).collect();
        let batch = Batch::new(three, CapabilityLevel::FIRST).expect("encoded");
        let written = codec::encode(&batch).expect("written");
        let read: Batch = codec::decode(&written).expect("read");
        assert_eq!((read.operations().len(), &read.0.encoded), (3, &batch.0.encoded));
        // An older log.
        let read: Batch = codec::decode(&batch.0.encoded).expect("read");
        assert_eq!((read.operations().len(), &read.0.encoded), (3, &batch.0.encoded));
        assert!(codec::decode::<Batch>(&codec::encode(&7).expect("written")).is_err());
    }

    #[test]
    fn heads_tell_the_level_and_the_damage() {
        let barrier = || vec![Arc::new(Operation::Barrier)];
        let old = Batch::new(barrier(), CapabilityLevel::FIRST).expect("encoded");
        let raising = vec![Arc::new(Operation::CapabilityLevel { level: CapabilityLevel::BUILD })];
        let raising = Batch::new(raising, CapabilityLevel::FIRST).expect("encoded");
        let new = Batch::new(barrier(), CapabilityLevel::BUILD).expect("encoded");
        assert_eq!([&old, &raising, &new].map(|b| b.level().number()), [1, 2, 2]);
        assert_eq!([&old, &raising, &new].map(|b| b.0.encoded.first() == Some(&HEAD_MARK)), [false, true, true]);
        let bytes = &new.0.encoded;
        let read = Batch::read(bytes.clone()).expect("read");
        assert_eq!((read.level(), read.operations().len(), &read.0.encoded), (CapabilityLevel::BUILD, 1, bytes));
        for at in 1..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(matches!(Batch::read(changed), Err(EntryError::Changed)), "byte {at}");
        }
        for end in 1..HEAD {
            assert!(matches!(Batch::read(bytes[..end].to_vec()), Err(EntryError::Head)), "cut at {end}");
        }
        let newer = CapabilityLevel::try_from(3).expect("a level");
        let refused = Batch::read(headed(newer, b"whatever")).expect_err("refused").to_string();
        assert!(refused.contains("needs capability level 3") && refused.contains("install the build"), "{refused}");
    }
}

//! The parts of an index file: a header, blocks of rows, and the core, which says what is in them.

use std::fs::File;
use std::io;
use std::sync::Arc;

use encamp_host::platform::files::{FileExt, Identity};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::content::Hash;
use super::write_rows::Writer;
use super::{RowError, read_rows::Reader};
use crate::archive::Options;
use encamp_state::{Id, NodeIndex, NodeSummary};

/// How index files begin.
const MAGIC: [u8; 8] = *b"encampix";
/// The version of the format.
const FORMAT: u32 = 2;
/// Nodes whose facts are in one block.
pub(super) const NODES_AT_ONCE: u32 = 64;
/// The length of the header.
pub(super) const HEADER: usize = 112;

/// Who can use an index: another owner's is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    /// A hash of what tells builds of the program apart.
    build: Hash,
    /// How server backups are read.
    lenient: bool,
    /// The length of the snapshot file.
    length: u64,
}

impl Owner {
    /// This build with options for a file of a length; `None` if the build is not known.
    pub(super) fn this(options: Options, length: u64) -> Option<Owner> {
        let program = std::env::current_exe().ok()?.metadata().ok()?;
        let Identity { file, modified: (seconds, nanos), .. } = Identity::of(&program);
        let text = format!("{} {} {file} {seconds} {nanos}", env!("CARGO_PKG_VERSION"), program.len());
        Some(Owner { build: Sha256::digest(text).into(), lenient: options.lenient, length })
    }
}

/// The first part of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) owner: Owner,
    /// The hash of the snapshot file's content.
    pub(super) content: Hash,
    pub(super) core: Block,
}

/// A part of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Block(pub(super) u64, pub(super) u32, pub(super) u32);

impl Block {
    /// The length of [`Block::bytes`].
    pub(super) const LENGTH: usize = 16;

    /// The block as bytes.
    pub(super) fn bytes(self) -> [u8; Block::LENGTH] {
        let Block(offset, length, sum) = self;
        (u128::from(offset) | u128::from(length) << 64 | u128::from(sum) << 96).to_le_bytes()
    }

    /// The block of such bytes.
    pub(super) fn of_bytes(bytes: [u8; Block::LENGTH]) -> Block {
        let all = u128::from_le_bytes(bytes);
        // Each part is cut out of the number.
        Block(all as u64, (all >> 64) as u32, (all >> 96) as u32)
    }

    /// The block that some bytes make at an offset.
    pub(super) fn new(offset: u64, bytes: &[u8]) -> io::Result<Block> {
        let length = u32::try_from(bytes.len()).map_err(|_| io::Error::other("a block is too long"))?;
        Ok(Block(offset, length, crc32fast::hash(bytes)))
    }

    /// Reads the bytes.
    pub(super) fn read(self, file: &File) -> Result<Vec<u8>, RowError> {
        let Block(offset, length, sum) = self;
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, offset).map_err(|e| RowError(e.to_string()))?;
        if crc32fast::hash(&bytes) == sum { Ok(bytes) } else { Err(RowError::new("a checksum is wrong")) }
    }
}

impl Header {
    /// The bytes of the header.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let Block(offset, length, sum) = self.core;
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&self.owner.build);
        bytes.extend_from_slice(&u64::from(self.owner.lenient).to_le_bytes());
        bytes.extend_from_slice(&self.owner.length.to_le_bytes());
        bytes.extend_from_slice(&self.content);
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&sum.to_le_bytes());
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the header of an index; `None` if it is none of this format.
    pub(super) fn read(file: &File) -> Option<Header> {
        let mut bytes = [0; HEADER];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let mut reader = Reader::new(&bytes, &[]);
        let mut next = |length| reader.bytes(length).ok();
        let (magic, format) = (next(8)?, next(4)?);
        let build = next(32)?.try_into().ok()?;
        let lenient = u64::from_le_bytes(next(8)?.try_into().ok()?);
        let length = u64::from_le_bytes(next(8)?.try_into().ok()?);
        let content = next(32)?.try_into().ok()?;
        let offset = u64::from_le_bytes(next(8)?.try_into().ok()?);
        let core_length = u32::from_le_bytes(next(4)?.try_into().ok()?);
        let sum = u32::from_le_bytes(next(4)?.try_into().ok()?);
        let header = Header {
            owner: Owner { build, lenient: lenient != 0, length },
            content,
            core: Block(offset, core_length, sum),
        };
        // A header has one form.
        let known = magic == MAGIC && format == FORMAT.to_le_bytes() && header.bytes() == bytes;
        let size = file.metadata().ok()?.len();
        (known && offset.checked_add(u64::from(core_length)) == Some(size)).then_some(header)
    }
}

/// What is in the blocks, and what every reader needs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Core<'a> {
    /// A snapshot file in JSON without nodes, jobs, allocations and deployments.
    pub(super) small: &'a str,
    /// [`crate::ClusterSnapshot::archived`].
    pub(super) archived: bool,
    /// The source of the snapshot is the path of the file.
    pub(super) source_is_path: bool,
    pub(super) notes: Vec<String>,
    pub(super) index: u64,
    /// IDs of nodes and their slots, by ID.
    #[serde(borrow)]
    pub(super) nodes: Vec<(&'a str, u32)>,
    /// By slot.
    pub(super) summaries: Vec<NodeSummary>,
    pub(super) node_index: Arc<NodeIndex>,
    /// The facts of [`NODES_AT_ONCE`] nodes each.
    pub(super) fact_blocks: Vec<Block>,
    /// By slot: where the facts of a node end in their block.
    pub(super) fact_ends: Vec<u32>,
    /// The records of nodes by slot.
    pub(super) record_blocks: Vec<Block>,
    /// Where the allocations of each slot begin in the order of slots and IDs, and at the end those whose nodes are not
    /// stored.
    pub(super) alloc_starts: Vec<u32>,
    /// The blocks of allocations in that order, [`Block::LENGTH`] bytes each.
    pub(super) alloc_blocks: Block,
    /// The nodes that are not stored, and their allocations.
    pub(super) orphaned: Vec<(String, String)>,
    /// Namespaces and IDs.
    #[serde(borrow)]
    pub(super) jobs: Vec<(&'a str, &'a str)>,
    pub(super) job_blocks: Vec<Block>,
    /// Jobs of allocations that are no stored versions.
    pub(super) own_jobs: Vec<Block>,
    /// IDs, job IDs, namespaces.
    #[serde(borrow)]
    pub(super) deployments: Vec<(&'a str, &'a str, &'a str)>,
    pub(super) deployment_blocks: Vec<Block>,
    /// The keys of allocations.
    pub(super) keys: Block,
}

/// How an allocation refers to its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobOf {
    /// It has none.
    None,
    /// To the version of the job at a position.
    Stored(usize, u64),
    /// To one that is no stored version.
    Own(usize),
}

impl JobOf {
    pub(super) fn write(self, out: &mut Writer<'_>) {
        match self {
            JobOf::None => out.number(0),
            JobOf::Stored(position, version) => {
                out.number(1);
                out.number(position as u64);
                out.number(version);
            }
            JobOf::Own(position) => {
                out.number(2);
                out.number(position as u64);
            }
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<JobOf, RowError> {
        Ok(match from.number()? {
            0 => JobOf::None,
            1 => JobOf::Stored(position(from)?, from.number()?),
            2 => JobOf::Own(position(from)?),
            _ => return Err(RowError::new("an allocation has an unknown kind of job")),
        })
    }
}

/// A count or position.
pub(super) fn position(from: &mut Reader<'_>) -> Result<usize, RowError> {
    usize::try_from(from.number()?).map_err(|_| RowError::new("a number is too large"))
}

/// Writes an ID: one more than the length of its text, and the text; 0 and 16 bytes for a UUID.
pub(super) fn write_id(out: &mut Writer<'_>, id: &Id) {
    match id.uuid() {
        Some(number) => {
            out.number(0);
            out.out.extend_from_slice(&number.to_le_bytes());
        }
        None => {
            let text = id.to_string();
            out.number(text.len() as u64 + 1);
            out.out.extend_from_slice(text.as_bytes());
        }
    }
}

pub(super) fn read_id(from: &mut Reader<'_>) -> Result<Id, RowError> {
    match position(from)? {
        0 => Ok(Id::of_uuid(u128::from_le_bytes(from.bytes(16)?.try_into().map_err(|_| RowError::end())?))),
        length => {
            let text = std::str::from_utf8(from.bytes(length - 1)?);
            Ok(Id::new(text.map_err(|_| RowError::new("an ID is not UTF-8"))?))
        }
    }
}

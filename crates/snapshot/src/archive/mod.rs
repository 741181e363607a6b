//! Server backup archives, as servers of the versions 1.4 to 2.0 save them (`docs/spec/snapshot-archive.md`,
//! `docs/guide/archives.md`).
//!
//! - [`container`]: gzip ([`inflate`]), tar ([`tar`]), checksums and `meta.json` ([`mod@meta`]).
//! - [`records`]: the records of `state.bin`.
//! - [`redact`]: copies of records without secrets. [`write`](mod@write): writing archives.
//! - [`restore`]: changes that a server makes while it loads them. [`convert`]: the conversion to a snapshot file.
//!
//! One thread decompresses and checks while another one decodes. Decoded data is returned only after the checks have
//! passed.

mod container;
mod convert;
mod error;
mod inflate;
pub mod meta;
pub mod records;
mod redact;
mod restore;
mod tar;
mod write;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::mpsc::sync_channel;
use std::thread;

use container::Piece;
pub use convert::Rest;
pub use error::ArchiveError;
pub use meta::Meta;
pub use records::{TableSize, Tables, type_name};
pub use redact::redact;
pub use write::write;

/// How much of a file [`is_archive`] wants to see.
pub(crate) const PEEK: u64 = 64 << 10;

/// Pieces that may wait for the decoder.
const QUEUE: usize = 8;
/// Room for values that are nested as deep as they may be.
const STACK: usize = 64 << 20;

/// How an archive is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Skip tables that this build does not know instead of refusing the archive. For plans only: what is skipped is
    /// lost.
    pub lenient: bool,
}

/// The content of an archive, as it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    /// The description of the snapshot, with its time.
    pub meta: Meta,
    /// The records.
    pub tables: Tables,
    /// How much there is of each record type.
    pub sizes: BTreeMap<u8, TableSize>,
}

impl Archive {
    /// Record types that were skipped because this build does not know them, and how many records.
    pub fn ignored(&self) -> impl Iterator<Item = (u8, u64)> {
        self.sizes.iter().filter(|(kind, _)| type_name(**kind).is_none()).map(|(kind, size)| (*kind, size.records))
    }
}

/// Whether a file that begins so is a server backup archive: gzip with a tar inside, whole or damaged, or that tar
/// itself.
pub(crate) fn is_archive(start: &[u8]) -> bool {
    let tar = |block: &[u8]| block.get(257..262) == Some(b"ustar") || block.first() == Some(&0);
    if !start.starts_with(&[0x1f, 0x8b]) {
        return tar(start);
    }
    let mut block = Vec::new();
    // Data that can't be unpacked is of no kind; the reader reports the reason.
    let _ = flate2::read::GzDecoder::new(start).take(512).read_to_end(&mut block);
    tar(&block)
}

/// Reads an archive to its end, checks it, and only then looks at what was decoded on the way. Memory is that of the
/// decoded records, and a few MiB.
pub fn read(file: impl Read, options: Options) -> Result<Archive, ArchiveError> {
    let (container, state) = thread::scope(|scope| {
        let (sender, pieces) = sync_channel(QUEUE);
        let decoder = thread::Builder::new().name("archive".into()).stack_size(STACK);
        let decoder = decoder.spawn_scoped(scope, move || records::read(&pieces, options.lenient))?;
        // A decoder that has given up does not listen any more.
        let container = container::read(file, |piece| drop(sender.send(piece)));
        drop(sender);
        let state = decoder.join().map_err(|_| io::Error::other("decoding failed"))?;
        Ok::<_, ArchiveError>((container, state))
    })?;
    let container = container?;
    meta::verify(&container.sums, &container.meta_digest, &container.state_digest)?;
    let meta = Meta::parse(&container.meta, container.state_size)?;
    let state = state?;
    Ok(Archive { meta, tables: state.tables, sizes: state.sizes })
}

/// The content of an archive whose records were not decoded.
pub struct Undecoded {
    /// The description of the snapshot.
    pub meta: Meta,
    /// All members of `meta.json`, those that this build does not know included.
    pub members: serde_json::Map<String, serde_json::Value>,
    /// `state.bin`.
    pub state: Vec<u8>,
}

/// Reads the container of an archive to its end and checks it, without decoding the records: `state.bin` as it is, for
/// readers of other formats of it. Its size is bounded like that of every archive.
pub fn read_undecoded(file: impl Read) -> Result<Undecoded, ArchiveError> {
    let mut state = Vec::new();
    let container = container::read(file, |piece| {
        if let Piece::Data(bytes) = piece {
            state.extend_from_slice(&bytes);
        }
    })?;
    meta::verify(&container.sums, &container.meta_digest, &container.state_digest)?;
    let meta = Meta::parse(&container.meta, container.state_size)?;
    Ok(Undecoded { meta, members: serde_json::from_slice(&container.meta).map_err(meta::unreadable)?, state })
}

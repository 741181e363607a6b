//! The identity of a file and of its content.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use encamp_host::platform::files::{self, FileExt};
use sha2::{Digest, Sha256};

/// A hash of some content.
pub(super) type Hash = [u8; 32];

/// What is hashed at a time.
const CHUNK: u64 = 1 << 20;

/// What the system says about a file: a file that is written to, or another one in its place, has another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    /// In bytes.
    pub(super) length: u64,
    file: files::Identity,
}

impl Identity {
    pub(super) fn of(file: &File) -> io::Result<Identity> {
        let m = file.metadata()?;
        Ok(Identity { length: m.len(), file: files::Identity::of(&m) })
    }
}

/// Whether a file begins like a text.
pub(super) fn is_plain(file: &File) -> bool {
    let mut first = [0; 1];
    file.read_at(&mut first, 0).is_ok_and(|n| n == 1) && matches!(first, [b'{' | b' ' | b'\t' | b'\r' | b'\n'])
}

/// A hash of the first `length` bytes of a file: that of the hashes of its chunks, which several threads compute.
///
/// # Errors
/// The file can't be read, or is shorter.
pub(super) fn digest(file: &File, length: u64) -> io::Result<Hash> {
    let chunks = length.div_ceil(CHUNK);
    let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64).min(8).min(chunks);
    let next = AtomicU64::new(0);
    let hashes = || -> io::Result<Vec<(u64, Hash)>> {
        let mut buffer = vec![0; CHUNK as usize];
        let mut hashes = Vec::new();
        loop {
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            if chunk >= chunks {
                return Ok(hashes);
            }
            let start = chunk * CHUNK;
            let part = usize::try_from(CHUNK.min(length - start)).unwrap_or(0);
            let part = buffer.get_mut(..part).unwrap_or_default();
            file.read_exact_at(part, start)?;
            hashes.push((chunk, Sha256::digest(part).into()));
        }
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(hashes)).collect();
        let mut all = hashes()?;
        for other in others {
            all.extend(other.join().map_err(|_| io::Error::other("a thread ended early"))??);
        }
        io::Result::Ok(all)
    })?;
    all.sort_unstable();
    let mut whole = Sha256::new_with_prefix(length.to_le_bytes());
    all.iter().for_each(|(_, hash)| whole.update(hash));
    Ok(whole.finalize().into())
}

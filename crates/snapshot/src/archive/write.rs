//! Writes archives (`docs/spec/snapshot-archive.md §2`).

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::container::{META, STATE, SUMS};

/// Writes an archive of a state, described by the members of `meta.json`, whose length of the state is set. `mtime` is
/// the time of its files in Unix seconds.
///
/// # Errors
/// It cannot be written.
pub fn write(mut meta: Map<String, Value>, state: &[u8], mtime: u64, to: impl Write) -> io::Result<()> {
    meta.insert("Size".into(), state.len().into());
    let mut meta = serde_json::to_vec(&meta)?;
    meta.push(b'\n');
    let sum = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<String>();
    let sums = format!("{}  {META}\n{}  {STATE}\n", sum(&meta), sum(state));
    let mut tar = tar::Builder::new(GzEncoder::new(to, Compression::default()));
    for (name, content) in [(META, &meta[..]), (STATE, state), (SUMS, sums.as_bytes())] {
        let mut header = tar::Header::new_ustar();
        header.set_mode(0o600);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(mtime);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, content)?;
    }
    // Two blocks of zeros end the tar; servers accept nothing behind them.
    tar.into_inner()?.finish()?.flush()
}

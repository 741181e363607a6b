//! Archives that only depend on their content: entries are owned by root, and have one time.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use crate::contents::{Content, Entry};
use crate::failure::Outcome;

/// A tar archive of entries, whose paths begin with `prefix`.
///
/// # Errors
/// A path is too long.
pub(crate) fn tar(entries: &[Entry], prefix: &str, epoch: u64) -> Outcome<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = Header::new_gnu();
        header.set_mtime(epoch);
        header.set_mode(entry.mode);
        header.set_uid(u64::from(entry.id));
        header.set_gid(u64::from(entry.id));
        if entry.id == 0 {
            header.set_username("root")?;
            header.set_groupname("root")?;
        }
        let path = format!("{prefix}{}", entry.path);
        match &entry.content {
            Content::Directory => {
                header.set_entry_type(EntryType::Directory);
                header.set_size(0);
                builder.append_data(&mut header, format!("{path}/"), std::io::empty())?;
            }
            Content::File(bytes) => {
                header.set_entry_type(EntryType::Regular);
                header.set_size(bytes.len() as u64);
                builder.append_data(&mut header, path, bytes.as_slice())?;
            }
        }
    }
    Ok(builder.into_inner()?)
}

/// Compresses with gzip; neither a name nor a time is written.
///
/// # Errors
/// None in practice: it writes to memory.
pub(crate) fn gzip(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::new(6));
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// The entries with the directories that they lie in, in the order of their paths.
pub(crate) fn with_directories(entries: Vec<Entry>) -> Vec<Entry> {
    let mut all = std::collections::BTreeMap::new();
    for entry in entries {
        let mut parent = entry.path.as_str();
        while let Some((above, _)) = parent.rsplit_once('/') {
            all.entry(above.to_string()).or_insert_with(|| Entry::directory(above, 0o755));
            parent = above;
        }
        all.insert(entry.path.clone(), entry);
    }
    all.into_values().collect()
}

//! Archives of artifacts, from their bytes to the files of a directory. The first byte chooses the kind.
#![no_main]

use std::path::Path;

use encamp_client::artifacts::archive::{Compression, Kind, Limits, unpack};
use encamp_client::directory::Directory;

const KINDS: [Kind; 6] = [
    Kind::Tar(None),
    Kind::Tar(Some(Compression::Gzip)),
    Kind::Tar(Some(Compression::Bzip2)),
    Kind::Tar(Some(Compression::Xz)),
    Kind::Tar(Some(Compression::Zstd)),
    Kind::Zip,
];

/// Unpacks an archive; panics when something is written beside the directory.
fn check(base: &Path, kind: Kind, archive: &[u8]) -> std::io::Result<()> {
    let _ = std::fs::remove_dir_all(base);
    std::fs::create_dir_all(base.join("in"))?;
    std::fs::write(base.join("archive"), archive)?;
    let limits = Limits { bytes: Some(1 << 20), members: Some(100) };
    // Whether it is an archive does not matter.
    let _ = unpack(std::fs::File::open(base.join("archive"))?, kind, &Directory::open(&base.join("in"))?, limits);
    assert_eq!(std::fs::read_dir(base)?.count(), 2, "a member is outside of the directory");
    Ok(())
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, archive)) = data.split_first() else { return };
    let kind = KINDS[usize::from(*first) % KINDS.len()];
    let base = std::env::temp_dir().join(format!("encamp-fuzz-{}", std::process::id()));
    check(&base, kind, archive).expect("files of the test");
});

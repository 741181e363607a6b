//! A package of Debian: an `ar` archive of a version, a control archive and a data archive.

use std::fmt::Write;
use std::path::Path;

use md5::{Digest, Md5};

use crate::archive::{gzip, tar, with_directories};
use crate::contents::{Content, Entry};
use crate::failure::{Outcome, read};
use crate::release::Facts;

/// What maintainer scripts need.
const DEPENDS: &str = "passwd";

/// The package.
///
/// # Errors
/// A maintainer script is missing.
pub(crate) fn package(root: &Path, facts: &Facts, entries: &[Entry]) -> Outcome<Vec<u8>> {
    let entries = with_directories(entries.to_vec());
    let mut control = vec![Entry::file("control", 0o644, control(facts, &entries))];
    let configuration = entries.iter().filter(|e| e.configuration).map(|e| format!("/{}\n", e.path));
    control.push(Entry::file("conffiles", 0o644, configuration.collect::<String>()));
    control.push(Entry::file("md5sums", 0o644, md5sums(&entries)));
    for script in ["postinst", "prerm", "postrm"] {
        control.push(Entry::file(script, 0o755, read(&root.join("packaging/deb").join(script))?));
    }
    control.sort_by(|a, b| a.path.cmp(&b.path));
    let mut out = ar::Builder::new(Vec::new());
    for (name, bytes) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&control, "./", facts.epoch)?)?),
        ("data.tar.gz", gzip(&tar(&entries, "./", facts.epoch)?)?),
    ] {
        let mut header = ar::Header::new(name.into(), bytes.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(facts.epoch);
        out.append(&header, bytes.as_slice())?;
    }
    Ok(out.into_inner()?)
}

/// The file `control`. Sizes are kibibytes.
fn control(facts: &Facts, entries: &[Entry]) -> String {
    let size = |e: &Entry| match &e.content {
        Content::Directory => 1,
        Content::File(bytes) => bytes.len().div_ceil(1024),
    };
    format!(
        "Package: encamp\nVersion: {}\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {}\nDepends: {DEPENDS}\n\
         Section: admin\nPriority: optional\nDescription: {}\n{}",
        facts.version,
        facts.architecture.deb,
        facts.maintainer,
        entries.iter().map(size).sum::<usize>(),
        facts.summary,
        facts.description.lines().map(|line| format!(" {line}\n")).collect::<String>(),
    )
}

fn md5sums(entries: &[Entry]) -> String {
    let mut out = String::new();
    for entry in entries.iter().filter(|e| !e.configuration) {
        if let Content::File(bytes) = &entry.content {
            for byte in Md5::digest(bytes) {
                // Writing to a string cannot fail.
                let _ = write!(out, "{byte:02x}");
            }
            let _ = writeln!(out, "  {}", entry.path);
        }
    }
    out
}

//! The recorded results that tests and benchmarks compare with: `tests/oracle`, or the directory that `ENCAMP_ORACLE`
//! names instead. Its README says what is there.
//!
//! A file `x.json` may be there as it is or compressed, as `x.json.zst` or `x.json.gz`; callers name it without the
//! last ending. The repository's own directory is complete: what is missing there is an error. A directory that
//! replaces it may hold a part: what is missing is skipped, with a line that says so, and counts are printed but not
//! required.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::repository;

/// How a recorded file may be stored.
const ENDINGS: [&str; 3] = ["", ".zst", ".gz"];

/// The directory that replaces the repository's own, if any.
fn replacement() -> Option<PathBuf> {
    std::env::var_os("ENCAMP_ORACLE").filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// Whether another directory replaces the repository's own: then counts are printed, not required.
pub fn replaced() -> bool {
    replacement().is_some()
}

/// The directory of all recorded results.
pub fn root() -> PathBuf {
    let dir = replacement().unwrap_or_else(|| repository().join("tests/oracle"));
    assert!(dir.is_dir(), "there are no recorded results in {}", dir.display());
    dir
}

/// What is missing in a directory that replaces the repository's own is skipped.
fn missing<T>(name: &str) -> Option<T> {
    assert!(replaced(), "{} is missing", root().join(name).display());
    println!("skipped: there is no {name}");
    None
}

/// The directory of one family of recorded results.
pub fn folder(name: &str) -> Option<PathBuf> {
    let dir = root().join(name);
    if dir.is_dir() { Some(dir) } else { missing(name) }
}

/// The path of a file that is not compressed.
pub fn file(name: &str) -> Option<PathBuf> {
    let path = root().join(name);
    if path.is_file() { Some(path) } else { missing(name) }
}

/// A text.
pub fn text(name: &str) -> Option<String> {
    text_at(&root().join(name)).or_else(|| missing(name))
}

/// A JSON document.
pub fn json(name: &str) -> Option<Value> {
    json_at(&root().join(name)).or_else(|| missing(name))
}

/// The JSON document of that path, if there is one.
pub fn json_at(path: &Path) -> Option<Value> {
    let text = text_at(path)?;
    Some(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// The text of that path, if there is one.
pub fn text_at(path: &Path) -> Option<String> {
    let bytes = bytes_at(path)?;
    Some(String::from_utf8(bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// The content of that path, if there is one.
pub fn bytes_at(path: &Path) -> Option<Vec<u8>> {
    let stored = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    ENDINGS.iter().map(|ending| stored(ending)).find(|path| path.is_file()).map(|path| unpacked(&path))
}

fn unpacked(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut out = Vec::new();
    let read = match path.extension().and_then(OsStr::to_str) {
        Some("zst") => zstd::stream::read::Decoder::new(bytes.as_slice()).and_then(|mut d| d.read_to_end(&mut out)),
        Some("gz") => flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut out),
        _ => return bytes,
    };
    read.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    out
}

/// The files of a directory whose names end so, compressed or not: what stands before the ending, and the path as
/// [`text_at`] takes it; ordered by name.
pub fn files(dir: &Path, ending: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut out = BTreeMap::new();
    for entry in entries {
        let name = entry.unwrap_or_else(|e| panic!("{}: {e}", dir.display())).file_name();
        let Some(name) = name.to_str() else { continue };
        let plain = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name);
        if let Some(stem) = plain.strip_suffix(ending) {
            out.insert(stem.to_owned(), dir.join(plain));
        }
    }
    out.into_iter().collect()
}

/// The non-empty lines of a document of lines.
pub fn lines_at(path: &Path) -> Vec<String> {
    let text = text_at(path).unwrap_or_default();
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

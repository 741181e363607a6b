//! The licences of the libraries that the program is linked with, with their texts.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::dependencies::{Library, Use};
use crate::failure::Outcome;

/// How names of files with licences begin.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// One text: the list of libraries, then each different licence text with the libraries that it came with.
///
/// # Errors
/// A file of a library cannot be read.
pub(crate) fn document(libraries: &[Library]) -> Outcome<Vec<u8>> {
    let mut out = String::from("encamp is linked with these libraries.\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for library in libraries.iter().filter(|l| l.usage == Use::Linked && !l.own) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{} {}: {}", library.name, library.version, library.licence);
        for text in texts_of(library)? {
            texts.entry(text).or_default().push(format!("{} {}", library.name, library.version));
        }
    }
    for (text, names) in texts {
        let _ = write!(out, "\n{}\n{}\n\n{}\n", "=".repeat(80), names.join(", "), text.trim_end());
    }
    Ok(out.into_bytes())
}

/// The texts of a library's licences.
fn texts_of(library: &Library) -> Outcome<Vec<String>> {
    let mut files: Vec<_> = std::fs::read_dir(&library.directory)?.filter_map(Result::ok).map(|e| e.path()).collect();
    files.sort();
    let named = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file() && NAMES.iter().any(|start| name.starts_with(start))
    };
    let text = |path: std::path::PathBuf| std::fs::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(files.into_iter().filter(named).filter_map(text).collect())
}

//! Saves data of a failed test for analysis.

use std::fs;
use std::path::{Path, PathBuf};

use super::view::View;

/// An empty directory in the temporary directory. Its name does not end in numbers, as that of a `Folder` does, which a
/// later run would remove.
pub fn folder(name: &str) -> PathBuf {
    let kept = std::env::temp_dir().join(format!("encamp-{name}-data"));
    let _ = fs::remove_dir_all(&kept);
    let _ = fs::create_dir_all(&kept);
    kept
}

/// Writes a server's objects of each kind, one object per line.
pub fn lists(view: View, to: &Path) {
    for name in ["jobs", "evaluations", "allocations", "deployments", "nodes"] {
        let lines: String = view.list(&format!("/v1/{name}")).iter().map(|o| format!("{o}\n")).collect();
        let _ = fs::write(to.join(format!("{name}.jsonl")), lines);
    }
}

/// Copies a directory with its content, as far as it is readable.
pub fn copy(from: &Path, to: &Path) {
    let _ = fs::create_dir_all(to);
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            let _ = fs::copy(&source, &target);
        }
    }
}

//! Manual pages in the tree are those that the commands' definitions give, and completion scripts those that are
//! printed.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli generated` writes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use encamp_cli::command::Registry;
use encamp_cli::completion::SHELLS;
use encamp_cli::manual;

fn generated() -> BTreeMap<PathBuf, String> {
    let registry = Registry::new();
    let scripts = SHELLS.iter().map(|(_, shell, file)| (Path::new("completions").join(file), shell.script().into()));
    let pages = manual::pages(&registry).into_iter().map(|(file, text)| (Path::new("man").join(file), text));
    scripts.chain(pages).collect()
}

fn stored(root: &Path) -> BTreeMap<PathBuf, String> {
    let files = ["completions", "man"].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten();
        entries.map(move |e| Path::new(folder).join(e.unwrap().file_name())).collect::<Vec<_>>()
    });
    files.map(|file| (file.clone(), std::fs::read_to_string(root.join(file)).unwrap())).collect()
}

#[test]
fn completions_and_manual_pages_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let want = generated();
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        for folder in ["completions", "man"] {
            let _ = std::fs::remove_dir_all(root.join(folder));
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (file, text) in &want {
            std::fs::write(root.join(file), text).unwrap();
        }
    }
    let have = stored(root);
    let stale: Vec<_> = want.keys().chain(have.keys()).filter(|f| want.get(*f) != have.get(*f)).collect();
    assert!(stale.is_empty(), "stale: {stale:?}; run ENCAMP_UPDATE=1 cargo test --test cli generated");
}

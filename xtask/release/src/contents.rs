//! What a package installs, and where.

use std::path::Path;

use crate::archive::gzip;
use crate::failure::{Failure, Outcome, read};
use crate::program;

/// A file or directory of an archive.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The path, without a slash at its start.
    pub(crate) path: String,
    /// The permissions.
    pub(crate) mode: u32,
    /// The number of the user and the group.
    pub(crate) id: u32,
    /// What it holds.
    pub(crate) content: Content,
    /// Whether operators edit it, so that upgrades keep it.
    pub(crate) configuration: bool,
}

/// What an entry holds.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A directory.
    Directory,
    /// A file with this content.
    File(Vec<u8>),
}

impl Entry {
    /// A directory of root.
    pub(crate) fn directory(path: &str, mode: u32) -> Entry {
        Entry { path: path.into(), mode, id: 0, content: Content::Directory, configuration: false }
    }

    /// A file of root.
    pub(crate) fn file(path: impl Into<String>, mode: u32, bytes: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), mode, id: 0, content: Content::File(bytes.into()), configuration: false }
    }
}

/// Documents that belong to the program, made before the packages.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    /// The licences of linked libraries.
    pub(crate) third_party: Vec<u8>,
    /// The program.
    pub(crate) program: Vec<u8>,
}

/// The entries of the package: program, manual, completions, configuration, units, documents.
///
/// # Errors
/// A file of the sources is missing.
pub(crate) fn package(root: &Path, documents: &Documents) -> Outcome<Vec<Entry>> {
    let mut entries = vec![Entry::file("usr/bin/encamp", 0o755, documents.program.clone())];
    for (name, page) in files(&root.join("man"))? {
        entries.push(Entry::file(format!("usr/share/man/man1/{name}.gz"), 0o644, gzip(&page)?));
    }
    for (file, target) in [
        ("completions/encamp.bash", "usr/share/bash-completion/completions/encamp"),
        ("completions/_encamp", "usr/share/zsh/vendor-completions/_encamp"),
        ("completions/encamp.fish", "usr/share/fish/vendor_completions.d/encamp.fish"),
        ("packaging/linux/encamp-server.service", "usr/lib/systemd/system/encamp-server.service"),
        ("packaging/linux/encamp-client.service", "usr/lib/systemd/system/encamp-client.service"),
        ("LICENSE", "usr/share/doc/encamp/LICENSE"),
    ] {
        entries.push(Entry::file(target, 0o644, read(&root.join(file))?));
    }
    entries.push(Entry::file("usr/share/doc/encamp/THIRD-PARTY.gz", 0o644, gzip(&documents.third_party)?));
    let changes = gzip(&read(&root.join("CHANGELOG.md"))?)?;
    entries.push(Entry::file("usr/share/doc/encamp/changelog.gz", 0o644, changes));
    entries.push(Entry::directory("etc/encamp", 0o750));
    for name in ["server.hcl", "client.hcl"] {
        let text = read(&root.join("packaging/linux").join(name))?;
        let file = Entry::file(format!("etc/encamp/{name}"), 0o640, text);
        entries.push(Entry { configuration: true, ..file });
    }
    Ok(entries)
}

/// The entries of the archive for all systems: the program with its documents, in one directory.
///
/// # Errors
/// A file of the sources is missing.
pub(crate) fn tarball(root: &Path, target: &str, documents: &Documents) -> Outcome<Vec<Entry>> {
    let mut entries = vec![
        Entry::file(program::file_name(target), 0o755, documents.program.clone()),
        Entry::file("THIRD-PARTY", 0o644, documents.third_party.clone()),
    ];
    for name in ["LICENSE", "README.md", "CHANGELOG.md"] {
        entries.push(Entry::file(name, 0o644, read(&root.join(name))?));
    }
    // Configuration and units of agents.
    let of_system: &[&str] = if target.contains("-linux-") { &["packaging/linux"] } else { &[] };
    for directory in [&["man", "completions", "docs/guide", "docs/reference"], of_system].concat() {
        for (name, bytes) in files(&root.join(directory))? {
            entries.push(Entry::file(format!("{directory}/{name}"), 0o644, bytes));
        }
    }
    Ok(entries)
}

/// The files of a directory, by name.
fn files(directory: &Path) -> Outcome<Vec<(String, Vec<u8>)>> {
    let listed = std::fs::read_dir(directory).map_err(|e| Failure::file(directory, e))?;
    let mut found = Vec::new();
    for entry in listed {
        let path = entry.map_err(|e| Failure::file(directory, e))?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, read(&path)?));
        }
    }
    found.sort();
    Ok(found)
}

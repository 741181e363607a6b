//! The libraries that the program is linked with, as Cargo resolves them for the target.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Outcome, read_text};
use crate::program;

/// What a library is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is linked into the program.
    Linked,
    /// It runs while the program is built: build scripts, macros, and what they need.
    Build,
}

/// A library.
#[derive(Debug)]
pub(crate) struct Library {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// The expression of its licence.
    pub(crate) licence: String,
    /// The SHA-256 sum of its archive; none for packages of this repository.
    pub(crate) checksum: Option<String>,
    /// The directory of its sources.
    pub(crate) directory: PathBuf,
    /// What it is used for.
    pub(crate) usage: Use,
    /// Whether it is a package of this repository.
    pub(crate) own: bool,
}

/// All libraries of the program, by name and version.
///
/// # Errors
/// Cargo fails.
pub(crate) fn libraries(root: &Path, target: &str) -> Outcome<Vec<Library>> {
    let linked = tree(root, target, "no-proc-macro,normal")?;
    let all = tree(root, target, "normal,build")?;
    let text = cargo(root, &["metadata", "--format-version", "1", "--locked", "--filter-platform", target])?;
    let metadata: Value = serde_json::from_str(&text)?;
    let sums = checksums(&read_text(&root.join("Cargo.lock"))?);
    let mut found = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let field = |name: &str| package[name].as_str().unwrap_or_default().to_string();
        let key = (field("name"), field("version"));
        if !all.contains(&key) || key.0 == "encamp" {
            continue;
        }
        let manifest = PathBuf::from(field("manifest_path"));
        let library = Library {
            name: key.0.clone(),
            version: key.1.clone(),
            licence: field("license"),
            checksum: sums.get(&key).cloned(),
            directory: manifest.parent().unwrap_or(root).to_path_buf(),
            usage: if linked.contains(&key) { Use::Linked } else { Use::Build },
            own: package["source"].is_null(),
        };
        found.insert(key, library);
    }
    match all.iter().find(|key| !found.contains_key(*key) && key.0 != "encamp") {
        Some((name, version)) => Err(Failure::Form(format!("cargo metadata does not know {name} {version}"))),
        None => Ok(found.into_values().collect()),
    }
}

/// The packages that edges of these kinds lead to, with the features of this build.
fn tree(root: &Path, target: &str, edges: &str) -> Outcome<BTreeSet<(String, String)>> {
    let arguments = [
        "tree",
        "--locked",
        "--package",
        "encamp",
        "--target",
        target,
        "--edges",
        edges,
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let text = cargo(root, &[&arguments, program::features(target)].concat())?;
    let line = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        let version = rest.split_whitespace().next()?;
        Some((name.to_string(), version.to_string()))
    };
    Ok(text.lines().filter_map(line).collect())
}

fn cargo(root: &Path, arguments: &[&str]) -> Outcome<String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let shown = format!("cargo {}", arguments.join(" "));
    let output = command.args(arguments).current_dir(root).output();
    let output = output.map_err(|e| Failure::Command(format!("{shown}: {e}")))?;
    if !output.status.success() {
        return Err(Failure::Command(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    String::from_utf8(output.stdout).map_err(|_| Failure::Command(format!("{shown}: the output is no text")))
}

/// The sums in `Cargo.lock`, which Cargo writes with one value per line.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let package = |text: &str| {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""))?;
            line.strip_suffix('"').map(String::from)
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0\"\nsource = \"x\"\nchecksum = \"12ab\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n";
        let want = BTreeMap::from([(("a".to_string(), "1.0".to_string()), "12ab".to_string())]);
        assert_eq!(checksums(lock), want);
    }

    #[test]
    fn every_library_is_in_the_lock_file_with_its_sum() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let target = "x86_64-unknown-linux-gnu";
        let libraries = libraries(root, target).unwrap();
        let sums = checksums(&read_text(&root.join("Cargo.lock")).unwrap());
        for library in &libraries {
            let key = (library.name.clone(), library.version.clone());
            assert_eq!(library.checksum.as_ref(), sums.get(&key), "{key:?}");
            assert_eq!(library.own, library.checksum.is_none(), "{key:?}");
            assert!(!library.licence.is_empty(), "{key:?}");
        }
        // What Cargo links, asked without the code above.
        let arguments =
            ["tree", "--locked", "-p", "encamp", "--target", target, "-e", "no-proc-macro,normal", "--prefix"];
        let listed = cargo(root, &[&arguments[..], &["none", "--format", "{p}"]].concat()).unwrap();
        let words = listed.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
        let mut linked: Vec<String> = words.filter(|line| !line.starts_with("encamp v")).collect();
        linked.sort();
        linked.dedup();
        let mut found: Vec<String> = libraries
            .iter()
            .filter(|library| library.usage == Use::Linked)
            .map(|library| format!("{} v{}", library.name, library.version))
            .collect();
        found.sort();
        assert_eq!(found, linked);
        assert!(found.len() > 350, "{} libraries", found.len());
        for name in ["serde", "tokio", "ring", "encamp-scheduler", "libmimalloc-sys"] {
            assert!(libraries.iter().any(|l| l.name == name && l.usage == Use::Linked), "{name}");
        }
        for name in ["syn", "serde_derive", "cc"] {
            assert!(libraries.iter().any(|l| l.name == name && l.usage == Use::Build), "{name}");
        }
    }
}

//! Release notes, the statement of provenance, and the recipes of package collections.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::checksums::sha256;
use crate::failure::{Failure, Outcome, read, read_text};
use crate::release::Facts;

/// The section of the change log about a version, or the unreleased changes if it has none.
///
/// # Errors
/// There is neither.
pub(crate) fn notes(changes: &str, version: &str) -> Outcome<Vec<u8>> {
    let section = |name: &str| {
        let (_, after) = changes.split_once(&format!("\n## [{name}]"))?;
        let (_, text) = after.split_once('\n')?;
        Some(text.split("\n## [").next().unwrap_or(text).trim())
    };
    let text = section(version).or_else(|| section("Unreleased"));
    let text = text.ok_or_else(|| Failure::Form(format!("CHANGELOG.md has no section about {version}")))?;
    Ok(format!("# encamp {version}\n\n{text}\n").into_bytes())
}

/// Which sources and tools the files come from: a statement of in-toto with a predicate of SLSA.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn provenance(root: &Path, facts: &Facts, directory: &Path) -> Outcome<Vec<u8>> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .map_err(|e| Failure::file(directory, e))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let mut subjects = Vec::new();
    for name in names {
        let sum = sha256(&read(&directory.join(&name))?);
        subjects.push(json!({"name": name, "digest": {"sha256": sum}}));
    }
    let version = Command::new("rustc").arg("--version").current_dir(root).output();
    let version = version.map_err(|e| Failure::Command(format!("rustc --version: {e}")))?;
    let compiler = String::from_utf8_lossy(&version.stdout).trim().to_string();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:encamp:cargo-xtask-release:1",
                "externalParameters": {"target": facts.target, "version": facts.version},
                "internalParameters": {"SOURCE_DATE_EPOCH": facts.epoch.to_string(), "rustc": compiler},
                "resolvedDependencies": [
                    {"uri": "git+encamp", "digest": {"gitCommit": facts.commit}},
                    {"uri": "Cargo.lock", "digest": {"sha256": sha256(&read(&root.join("Cargo.lock"))?)}},
                ],
            },
            "runDetails": {"builder": {"id": "urn:encamp:xtask-release"}, "metadata": {"startedOn": facts.time()}},
        },
    });
    let mut text = serde_json::to_vec_pretty(&statement)?;
    text.push(b'\n');
    Ok(text)
}

/// The recipes of package managers for the target, with the version and the sum of the archive: of Homebrew, and for
/// Linux of Nix and the Arch User Repository.
///
/// # Errors
/// A template is missing, or holds a name that there is no value for.
pub(crate) fn recipes(root: &Path, facts: &Facts, tarball: &[u8], url: Option<&str>) -> Outcome<Vec<(String, String)>> {
    // A name under `.invalid` is never resolved: recipes without an address download nothing.
    let url = url.unwrap_or("https://downloads.invalid/encamp");
    let stem = facts.stem();
    let archive = format!("{stem}.tar.gz");
    let (address, sum) = (format!("{url}/{archive}"), sha256(tarball));
    let system = if facts.target.contains("-linux-") {
        "depends_on :linux".to_string()
    } else {
        let processor = if facts.architecture.rust == "aarch64" { "arm64" } else { facts.architecture.rust };
        format!("depends_on :macos\n  depends_on arch: :{processor}")
    };
    let values = [
        ("@SYSTEM@", system.as_str()),
        ("@VERSION@", facts.version.as_str()),
        ("@SHA256@", sum.as_str()),
        ("@URL@", address.as_str()),
        ("@DIRECTORY@", stem.as_str()),
        ("@ARCHITECTURE@", facts.architecture.rust),
    ];
    let mut out = Vec::new();
    let all = [("homebrew.rb", "encamp.rb"), ("nix.nix", "encamp.nix"), ("aur.PKGBUILD", "PKGBUILD")];
    let count = match &facts.target {
        target if target.contains("-linux-") => all.len(),
        target if target.contains("-apple-") => 1,
        _ => 0,
    };
    for (template, name) in all.into_iter().take(count) {
        let file = root.join("packaging/recipes").join(template);
        let text = values.iter().fold(read_text(&file)?, |text, (name, value)| text.replace(name, value));
        let unknown = text.split('@').skip(1).step_by(2).find(|word| word.chars().all(|c| c.is_ascii_uppercase()));
        if let Some(word) = unknown.filter(|word| !word.is_empty()) {
            return Err(Failure::Form(format!("{}: there is no value for @{word}@", file.display())));
        }
        out.push((name.to_string(), text));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::notes;

    #[test]
    fn notes_are_a_section_of_the_change_log() {
        let changes = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.0.0] - 2026-01-01\n\n- first\n";
        assert_eq!(notes(changes, "1.0.0").unwrap(), b"# encamp 1.0.0\n\n- first\n");
        assert_eq!(notes(changes, "2.0.0").unwrap(), b"# encamp 2.0.0\n\n- new\n");
        assert!(notes("# Changelog\n", "1.0.0").is_err());
    }
}

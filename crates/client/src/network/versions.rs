//! The versions of the network plugins of the node (`docs/spec/client.md §4.4`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::list::CniVersion;
use crate::programs::{Cancel, MOST_OUTPUT, Output, Run, RunError, is_executable, one_line, run};
use encamp_model::version::Version;

/// How long a program may take to say its version.
const LIMIT: Duration = Duration::from_secs(5);
/// How many programs are asked; others are skipped.
const MOST_PROGRAMS: usize = 64;
/// The maximum number of bytes of a name.
const LONGEST_NAME: usize = 128;
/// How many programs are asked at the same time.
const AT_ONCE: usize = 16;

/// The answer to `VERSION`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Supported {
    supported_versions: Vec<serde_json::Value>,
}

/// The plugins of the directories, with their versions. Programs that say none are no plugins: they are logged and
/// skipped.
pub(crate) fn look(path: &[PathBuf]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for dir in path {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
        files.sort();
        for file in files.into_iter().filter(|f| is_executable(f)) {
            if let Some(name) = file.file_name().and_then(|n| n.to_str()).filter(|n| is_name(n))
                && found.len() < MOST_PROGRAMS
            {
                // The first directory counts.
                found.entry(name.to_string()).or_insert_with(|| file.clone());
            }
        }
    }
    let found: Vec<(String, PathBuf)> = found.into_iter().collect();
    let mut versions = BTreeMap::new();
    for some in found.chunks(AT_ONCE) {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = some.iter().map(|(_, file)| scope.spawn(|| version(file))).collect();
            running.into_iter().map(|r| r.join().ok().flatten()).collect()
        });
        for ((name, _), answer) in some.iter().zip(answers) {
            match answer {
                Some(version) => drop(versions.insert(name.clone(), version)),
                None => {
                    tracing::warn!(target: "client.fingerprint", plugin = name, "skipping a network plugin that says no version");
                }
            }
        }
    }
    versions
}

/// Whether a name of a file may be the name of a plugin, which becomes part of an attribute.
fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.starts_with('.') && name.len() <= LONGEST_NAME && name.chars().all(good)
}

/// The version that a program says of itself. One that says none, as programs of distributions do, has at least the
/// newest version of the specification that it supports.
fn version(file: &Path) -> Option<String> {
    let about = ask(file, &["--version"], &[], &[]).ok()?;
    of_about(&format!("{} {}", one_line(&about.stdout), about.messages)).or_else(|| {
        let command = [("CNI_COMMAND", OsString::from("VERSION"))];
        let answer = ask(file, &[], &command, br#"{"cniVersion":"1.0.0"}"#).ok()?;
        let supported: Supported = serde_json::from_slice(&answer.stdout).ok()?;
        let known = supported.supported_versions.into_iter().filter_map(|v| serde_json::from_value(v).ok());
        let newest: CniVersion = known.max()?;
        Some(serde_json::to_value(newest).ok()?.as_str()?.to_string())
    })
}

/// The version in the description of a program, such as `CNI bridge plugin v1.3.0`.
fn of_about(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|w| *w != "CNI");
    let (_, _name, kind, word) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let word = word.strip_prefix('v').unwrap_or(word);
    let begins = word.starts_with(|c: char| c.is_ascii_digit());
    (kind == "plugin" && begins && word.len() <= LONGEST_NAME && Version::parse(word).is_some())
        .then(|| word.to_string())
}

fn ask(file: &Path, arguments: &[&str], env: &[(&str, OsString)], input: &[u8]) -> Result<Output, RunError> {
    run(&Run {
        program: file,
        arguments,
        dir: Path::new("/"),
        env,
        input,
        limit: LIMIT,
        most_output: MOST_OUTPUT,
        stated: |_| None,
        cancel: &Cancel::default(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn versions_of_descriptions() {
        let protocols = "CNI protocol versions supported: 0.1.0, 1.0.0";
        assert_eq!(of_about(&format!("CNI bridge plugin v1.3.0 {protocols}")).as_deref(), Some("1.3.0"));
        assert_eq!(of_about(" CNI host-local plugin 0.9.1-rc1").as_deref(), Some("0.9.1-rc1"));
        assert_eq!(of_about(&format!("CNI bridge plugin version unknown {protocols}")), None);
        assert_eq!(of_about("usage: sh"), None);
    }

    #[test]
    fn programs_of_the_directories() {
        let dir = TempDir::new("cni-versions");
        let (first, second) = (dir.path().join("a"), dir.path().join("b"));
        let write = |dir: &Path, name: &str, script: &str, mode: u32| {
            std::fs::create_dir_all(dir).unwrap();
            let path = dir.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        write(&first, "bridge", "echo CNI bridge plugin v1.4.0 >&2", 0o755);
        write(&second, "bridge", "echo CNI bridge plugin v0.1.0 >&2", 0o755);
        let unknown = "[ \"$CNI_COMMAND\" = VERSION ] || { echo CNI x plugin version unknown >&2; exit 0; }\n\
                       cat >/dev/null; echo '{\"supportedVersions\": [\"0.4.0\", \"1.0.0\", \"0.3.1\", 7, \"x\"]}'";
        write(&second, "portmap", unknown, 0o755);
        write(&second, "README", "echo CNI x plugin v1.0.0 >&2", 0o644);
        write(&second, "broken", "exit 1", 0o755);
        write(&second, "garbage", "head -c 9999 /dev/urandom", 0o755);
        let path = [first, dir.path().join("none"), second];
        let wanted = [("bridge", "1.4.0"), ("portmap", "1.0.0")].map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(look(&path), wanted.into());
    }
}

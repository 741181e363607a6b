//! Isolates the process that downloads: what it may reach of the file system, by Landlock, and what it may use
//! (`docs/spec/client.md §18`).

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::config::artifacts::ExtraPath;

/// The newest version of Landlock that is used; of older kernels, what they have.
const VERSION: ABI = ABI::V5;
/// Most memory that downloads and decompression have, in bytes. The allocator reserves a gigabyte at once, and uses little
/// of it.
const MOST_MEMORY: u64 = 4 << 30;
/// What name resolution and TLS read.
const NETWORK: [&str; 16] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/localtime",
    "/etc/ld.so.cache",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/run/systemd/resolve",
];
/// Libraries.
const LIBRARIES: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
/// What `git` and `ssh` are, and what they read.
const GIT: [&str; 8] =
    ["/bin", "/sbin", "/usr", "/etc/gitconfig", "/etc/ssh", "/etc/passwd", "/etc/group", "/etc/alternatives"];
/// What `ssh` reads of the home directory of the agent's user.
const KNOWN_HOSTS: [&str; 2] = [".ssh/known_hosts", ".ssh/known_hosts2"];
/// What `git` and `ssh` read of the home directory that the configuration passes on: settings and credentials.
const HOME: [&str; 5] = [".gitconfig", ".config/git", ".git-credentials", ".netrc", ".ssh"];
/// Devices that are read and written.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/tty"];

impl ExtraPath {
    fn rights(&self) -> BitFlags<AccessFs> {
        let mut rights = BitFlags::<AccessFs>::empty();
        if self.read {
            rights |= AccessFs::ReadFile | AccessFs::ReadDir;
        }
        if self.write {
            rights |= AccessFs::WriteFile | AccessFs::Truncate;
        }
        if self.create {
            rights |= AccessFs::from_write(VERSION);
        }
        if self.execute {
            rights |= AccessFs::Execute;
        }
        rights
    }
}

/// What a process may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reach {
    /// What the configuration adds.
    pub extra: Vec<ExtraPath>,
}

/// Restricts this thread, and what it starts, to the directory of the allocation and what a download needs. A kernel
/// without Landlock restricts nothing. `git`: programs are started.
pub(crate) fn restrict(alloc_dir: &Path, reach: &Reach, git: bool) -> Result<(), RulesetError> {
    let all = AccessFs::from_all(VERSION);
    let (read, execute) = (AccessFs::ReadFile | AccessFs::ReadDir, AccessFs::from_read(VERSION));
    let mut rules = Ruleset::default().handle_access(all)?.create()?;
    rules = allow(rules, alloc_dir, all)?;
    for path in NETWORK.into_iter().chain(LIBRARIES) {
        rules = allow(rules, Path::new(path), read)?;
    }
    for variable in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        if let Some(path) = std::env::var_os(variable) {
            rules = allow(rules, Path::new(&path), read)?;
        }
    }
    for path in DEVICES {
        let rights = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
        rules = allow(rules, Path::new(path), rights)?;
    }
    if git {
        for path in GIT.into_iter().chain(LIBRARIES) {
            rules = allow(rules, Path::new(path), execute)?;
        }
        let given = std::env::var_os("HOME").map(PathBuf::from);
        let known = own_home().into_iter().flat_map(|home| KNOWN_HOSTS.map(|name| home.join(name)));
        let given = given.into_iter().flat_map(|home| HOME.map(|name| home.join(name)));
        for path in known.chain(given).filter(|path| path.is_absolute()) {
            rules = allow(rules, &path, read)?;
        }
    }
    for extra in &reach.extra {
        rules = allow(rules, &extra.path, extra.rights())?;
    }
    rules.restrict_self().map(drop)
}

/// The home directory of the agent's user, as `ssh` finds it.
fn own_home() -> Option<PathBuf> {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&uid.as_str())).then(|| fields.get(5).map(PathBuf::from))?
    })
}

/// Adds rights below a path; one that is not there has none. Files have no rights of directories.
fn allow(rules: RulesetCreated, path: &Path, rights: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else { return Ok(rules) };
    let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(VERSION) };
    if rights.is_empty() {
        return Ok(rules);
    }
    rules.add_rule(PathBeneath::new(fd, rights))
}

/// Bounds what the process uses: memory, unless it starts programs, and dumps of it.
pub(crate) fn limit(git: bool) {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // A system that has no such bounds still has the others.
    let _ = setrlimit(Resource::Core, none);
    if !git {
        let memory = Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) };
        let _ = setrlimit(Resource::Data, memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn rights_below_extra_paths() {
        let path = ExtraPath::parse("d:rx:/opt/bin").unwrap();
        assert_eq!(path.rights(), AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute);
    }

    #[test]
    fn files_outside_are_out_of_reach() {
        if crate::fingerprint::host::landlock().is_none() {
            return;
        }
        let (dir, other) = (TempDir::new("isolation"), TempDir::new("isolation"));
        let (inside, outside) = (dir.path().join("x"), other.path().join("x"));
        std::fs::write(&outside, "secret").unwrap();
        let all = dir.path().to_path_buf();
        let (own, foreign, extra) = std::thread::spawn(move || {
            let opened = ExtraPath::parse("f:r:/etc/hostname").unwrap();
            restrict(&all, &Reach { extra: vec![opened] }, false).unwrap();
            (std::fs::write(inside, "own"), std::fs::read(outside), std::fs::read("/etc/hostname"))
        })
        .join()
        .unwrap();
        own.unwrap();
        assert_eq!(foreign.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
        assert!(extra.is_ok() || !Path::new("/etc/hostname").exists());
    }
}

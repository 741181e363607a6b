//! Clones Git repositories with the system's `git` (`docs/spec/client.md §18`). It runs no hooks, asks nobody, and uses
//! no transport that reads files of the host or runs programs.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::source::Repository;

/// The programs' places, if the environment of the agent is not passed on.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Settings of every call, which win over those of files.
const SETTINGS: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "credential.interactive=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
];
/// The transports; no setting of a file allows others.
const TRANSPORTS: &str = "http:https:ssh:git";
/// Most bytes of messages that are kept.
const MESSAGES: usize = 4096;
/// The shortest time between two measurements of what is stored.
const MEASURE: Duration = Duration::from_secs(1);

/// Why a repository was not cloned.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// `git` does not start.
    #[error("failed to run git: {0}")]
    Start(#[source] io::Error),
    /// `git` failed, and wrote why.
    #[error("git {command} failed ({status}): {messages}")]
    Failed {
        /// Its command.
        command: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        messages: String,
    },
    /// The private key is no text in base64.
    #[error("the option sshkey is no private key in base64")]
    Key,
    /// The private key was not stored.
    #[error("failed to write the private key: {0}")]
    Write(#[source] io::Error),
    /// The repository is too large.
    #[error("the repository is larger than the limit of {0} bytes (http_max_size)")]
    TooLarge(u64),
}

/// Clones a repository.
pub(crate) struct Clone<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// A directory that only the agent uses.
    pub dir: &'a Path,
    /// The directory to make below it.
    pub name: &'a str,
    /// Whether certificates and keys of hosts are accepted unverified.
    pub insecure: bool,
    /// The largest repository, in bytes; none: no limit.
    pub limit: Option<u64>,
}

impl Clone<'_> {
    /// Clones the repository, with its submodules, and checks out what is wanted.
    pub(crate) async fn run(&self) -> Result<(), GitError> {
        let repository = self.repository;
        let key = self.key_file()?;
        let depth = repository.depth.map(|d| format!("--depth={d}"));
        let depth = depth.as_deref().into_iter().collect::<Vec<_>>();
        let remote = repository.remote.as_str();
        let commit = repository.reference.as_deref().filter(|r| is_commit(r));
        match (repository.reference.as_deref(), commit) {
            (None, _) => {
                let args = ["--recurse-submodules", "--shallow-submodules"];
                let shallow = if depth.is_empty() { &args[..1] } else { &args[..] };
                self.call(
                    "clone",
                    &key,
                    &[&["--quiet", "--template="], shallow, &depth, &["--", remote, self.name]].concat(),
                    false,
                )
                .await
            }
            (Some(_), Some(commit)) if !depth.is_empty() => {
                // A shallow clone of one commit.
                self.call("init", &key, &["--quiet", "--template=", self.name], false).await?;
                self.call("remote", &key, &["add", "--", "origin", remote], true).await?;
                self.call("fetch", &key, &[&["--quiet"], depth.as_slice(), &["origin", commit]].concat(), true).await?;
                self.call("checkout", &key, &["--quiet", "--detach", "FETCH_HEAD"], true).await?;
                self.submodules(&key, &depth).await
            }
            (Some(reference), None) if !depth.is_empty() => {
                let branch = format!("--branch={reference}");
                let args = ["--quiet", "--template=", "--recurse-submodules", "--shallow-submodules", &branch];
                self.call("clone", &key, &[&args, depth.as_slice(), &["--", remote, self.name]].concat(), false).await
            }
            (Some(reference), _) => {
                self.call("clone", &key, &["--quiet", "--template=", "--no-checkout", "--", remote, self.name], false)
                    .await?;
                self.call("checkout", &key, &["--quiet", reference, "--"], true).await?;
                self.submodules(&key, &depth).await
            }
        }
    }

    async fn submodules(&self, key: &Option<PathBuf>, depth: &[&str]) -> Result<(), GitError> {
        self.call("submodule", key, &[&["--quiet", "update", "--init", "--recursive"], depth].concat(), true).await
    }

    /// The file with the private key, if there is one.
    fn key_file(&self) -> Result<Option<PathBuf>, GitError> {
        let Some(text) = &self.repository.ssh_key else { return Ok(None) };
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let key = base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| GitError::Key)?;
        let path = self.dir.join("key");
        let written = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        written.and_then(|mut file| io::Write::write_all(&mut file, &key)).map_err(GitError::Write)?;
        Ok(Some(path))
    }

    /// Runs `git` with a command. `inside`: in the clone.
    async fn call(
        &self,
        command: &'static str,
        key: &Option<PathBuf>,
        args: &[&str],
        inside: bool,
    ) -> Result<(), GitError> {
        let mut git = Command::new("git");
        for setting in SETTINGS {
            git.args(["-c", setting]);
        }
        git.arg(command).args(args);
        git.current_dir(if inside { self.dir.join(self.name) } else { self.dir.into() });
        git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "/bin/false").env("SSH_ASKPASS", "/bin/false");
        git.env("GIT_ALLOW_PROTOCOL", TRANSPORTS).env("GIT_CEILING_DIRECTORIES", self.dir).env("LC_ALL", "C");
        git.env("GIT_SSH_COMMAND", self.ssh(key)).env("GIT_SSH_VARIANT", "ssh").env("TMPDIR", self.dir);
        if self.insecure {
            git.env("GIT_SSL_NO_VERIFY", "1");
        }
        if std::env::var_os("PATH").is_none() {
            git.env("PATH", PATH);
        }
        if std::env::var_os("HOME").is_none() {
            git.env("HOME", self.dir);
        }
        git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = git.spawn().map_err(GitError::Start)?;
        let mut stderr = child.stderr.take();
        let messages = async {
            let (mut kept, mut buffer) = (Vec::new(), vec![0; 4096]);
            while let Some(from) = stderr.as_mut() {
                match from.read(&mut buffer).await {
                    Ok(0) | Err(_) => break,
                    Ok(n) => kept.extend_from_slice(buffer.get(..n).unwrap_or_default()),
                }
                let surplus = kept.len().saturating_sub(MESSAGES);
                kept.drain(..surplus);
            }
            kept
        };
        let ended = async {
            let messages = messages.await;
            (child.wait().await, messages)
        };
        let (status, messages) = tokio::select! {
            ended = ended => ended,
            limit = self.exceeded() => return Err(GitError::TooLarge(limit)),
        };
        let status = status.map_err(GitError::Start)?;
        if status.success() {
            return Ok(());
        }
        Err(GitError::Failed { command, status, messages: self.shown(&messages) })
    }

    /// How `git` calls `ssh`: without questions, with the private key alone if there is one.
    fn ssh(&self, key: &Option<PathBuf>) -> OsString {
        let mut out = OsString::from("ssh -o BatchMode=yes -o ConnectTimeout=30 -o ForwardAgent=no");
        if self.insecure {
            out.push(" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null");
        }
        if let Some(key) = key {
            out.push(" -o IdentitiesOnly=yes -i '");
            // Paths of allocations have no such characters, but the directory of the agent may.
            out.push(key.to_string_lossy().replace('\'', r"'\''"));
            out.push("'");
        }
        out
    }

    /// Returns when the repository is too large.
    async fn exceeded(&self) -> u64 {
        let Some(limit) = self.limit else { return std::future::pending().await };
        let mut pause = MEASURE;
        loop {
            tokio::time::sleep(pause).await;
            let begin = Instant::now();
            if size(self.dir, limit) > limit {
                return limit;
            }
            pause = MEASURE.max(begin.elapsed() * 10);
        }
    }

    /// What `git` wrote, without the password of the URL.
    fn shown(&self, messages: &[u8]) -> String {
        let text = String::from_utf8_lossy(messages);
        let text = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ");
        let password = reqwest::Url::parse(&self.repository.remote).ok().and_then(|u| u.password().map(String::from));
        match password.filter(|p| !p.is_empty()) {
            Some(password) => text.replace(&password, "…"),
            None => text,
        }
    }
}

/// Whether a reference is the full name of a commit.
fn is_commit(reference: &str) -> bool {
    matches!(reference.len(), 40 | 64) && reference.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The size of all files below, up to a bit more than `most`.
fn size(dir: &Path, most: u64) -> u64 {
    let (mut total, mut dirs) = (0_u64, vec![dir.to_path_buf()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => dirs.push(entry.path()),
                Ok(found) => total = total.saturating_add(found.len()),
                Err(_) => {}
            }
            if total > most {
                return total;
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_show_passwords() {
        let repository = Repository {
            remote: "https://u:s3cret@h/x".into(),
            reference: None,
            depth: None,
            ssh_key: None,
            subdirectory: String::new(),
        };
        let clone = Clone { repository: &repository, dir: Path::new("/d"), name: "n", insecure: true, limit: None };
        assert_eq!(clone.shown(b"fatal: https://u:s3cret@h/x\n  no\n\n"), "fatal: https://u:…@h/x; no");
        let key = Some(PathBuf::from("/it's/key"));
        assert!(clone.ssh(&key).to_string_lossy().ends_with(r"-i '/it'\''s/key'"));
        assert!(is_commit(&"a1".repeat(20)) && !is_commit("main"));
    }
}

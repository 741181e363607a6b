//! Runs encamp commands for pages: as subprocesses with an environment of their own, bounded in number, time and output.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::cluster::{CommandOutput, NoCommand};

/// Commands that run at the same time.
const PLACES: usize = 2;
/// How long a request waits for a place.
const WAIT: Duration = Duration::from_secs(10);
/// How long a command of a page may run.
pub const PAGE_LIMIT: Duration = Duration::from_secs(60);
/// The longest output, in bytes.
const MAX_OUTPUT: usize = 16 << 20;

/// Variables that a command has of the process that starts it, if it has them: how programs find files and names.
const INHERITED: &[&str] = &["PATH", "TMPDIR", "LANG", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Runs commands of one program.
pub struct Commands {
    program: PathBuf,
    limit: Duration,
    places: Semaphore,
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("program", &self.program).finish_non_exhaustive()
    }
}

/// One run of a command.
pub struct Invocation {
    /// The words of the command and its flags.
    pub arguments: Vec<String>,
    /// Its environment, besides what it needs to run at all. It may hold secrets.
    pub environment: Vec<(&'static str, OsString)>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Its standard input.
    pub input: Vec<u8>,
}

impl Commands {
    /// Commands of this program. `limit`: how long one may run.
    pub fn new(program: PathBuf, limit: Duration) -> Commands {
        Commands { program, limit, places: Semaphore::new(PLACES) }
    }

    /// Runs a command. The process is killed if the future is dropped.
    ///
    /// # Errors
    /// [`NoCommand`].
    pub async fn run(&self, invocation: Invocation) -> Result<CommandOutput, NoCommand> {
        let Ok(Ok(_place)) = timeout(WAIT, self.places.acquire()).await else { return Err(NoCommand::Busy) };
        let Invocation { arguments, environment, directory, input } = invocation;
        let mut command = Command::new(&self.program);
        command.args(arguments).env_clear().current_dir(directory).kill_on_drop(true);
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|e| NoCommand::NotStarted(e.to_string()))?;
        timeout(self.limit, finish(child, input)).await.map_err(|_| NoCommand::Late(self.limit.as_secs()))?
    }
}

/// Gives the process its input and waits for its output and its end.
async fn finish(mut child: Child, input: Vec<u8>) -> Result<CommandOutput, NoCommand> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let give = async {
        if let Some(mut stdin) = stdin {
            // A command that does not read its input ends the pipe.
            let _ = stdin.write_all(&input).await;
        }
        Ok(())
    };
    let ((), stdout, stderr) = tokio::try_join!(give, whole(stdout), whole(stderr))?;
    let status = child.wait().await.map_err(|e| NoCommand::NotStarted(e.to_string()))?;
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(CommandOutput { code: status.code().unwrap_or(-1), stdout, stderr })
}

/// All of an output.
async fn whole(from: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, NoCommand> {
    let mut all = Vec::new();
    if let Some(from) = from {
        let read = from.take(MAX_OUTPUT as u64 + 1).read_to_end(&mut all).await;
        read.map_err(|e| NoCommand::NotStarted(e.to_string()))?;
    }
    if all.len() > MAX_OUTPUT { Err(NoCommand::Long(MAX_OUTPUT)) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, input: &str) -> Result<CommandOutput, NoCommand> {
        let invocation = Invocation {
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("GIVEN", "yes".into())],
            directory: "/".into(),
            input: input.into(),
        };
        Commands::new("/bin/sh".into(), PAGE_LIMIT).run(invocation).await
    }

    #[tokio::test]
    async fn a_command_has_its_own_environment_and_input() {
        let got =
            shell("cat; echo $GIVEN $CARGO_MANIFEST_DIR; pwd; echo bad >&2; exit 3", "in ").await.expect("it ran");
        assert_eq!((got.code, got.stdout.as_slice(), got.stderr.as_str()), (3, &b"in yes\n/\n"[..], "bad\n"));
    }

    #[tokio::test]
    async fn large_input_and_output_do_not_block_each_other() {
        let input = "x".repeat(1 << 20);
        let got = shell("cat; cat /dev/null", &input).await.expect("it ran");
        assert_eq!(got.stdout.len(), input.len());
        let long = shell("head -c 20000000 /dev/zero", "").await;
        assert_eq!(long, Err(NoCommand::Long(MAX_OUTPUT)));
    }

    #[tokio::test]
    async fn programs_that_are_missing_are_named_by_the_error() {
        let commands = Commands::new("/nonexistent/encamp".into(), PAGE_LIMIT);
        let invocation =
            Invocation { arguments: Vec::new(), environment: Vec::new(), directory: "/".into(), input: Vec::new() };
        assert!(matches!(commands.run(invocation).await, Err(NoCommand::NotStarted(_))));
    }
}

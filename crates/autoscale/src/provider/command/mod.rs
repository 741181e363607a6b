//! The provider `command`: a configured program with a JSON request on stdin and a JSON reply on stdout
//! (`docs/spec/cluster-scaling.md §9.1`).

use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use self::processes::Processes;
use super::{Answer, GroupId, Instance, InstanceState, Provider, ProviderError, ScalingGroup, limits};

#[cfg_attr(unix, path = "processes_unix.rs")]
#[cfg_attr(not(unix), path = "processes_windows.rs")]
mod processes;

/// The version of the protocol.
const VERSION: u32 = 1;
/// How much of stderr is kept.
const STDERR: usize = 4 << 10;
/// How long output is waited for when the program has ended: a process that left its group may hold the pipe.
const REMAINDER: Duration = Duration::from_secs(1);
/// How long a killed program may take to end.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// Which program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSettings {
    /// The program: a path, or a name that is looked for in `PATH`.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How long one call may take.
    pub timeout: Duration,
}

impl CommandSettings {
    /// The settings of a list of program and arguments, with the usual limit of time. `None` if it is empty.
    pub fn new(command: &[String]) -> Option<CommandSettings> {
        let (program, arguments) = command.split_first()?;
        let (program, arguments) = (program.clone(), arguments.to_vec());
        (!program.is_empty()).then_some(CommandSettings { program, arguments, timeout: limits::CALL })
    }
}

/// The provider `command`. Calls run beside each other.
#[derive(Debug, Clone)]
pub struct Command {
    settings: CommandSettings,
}

/// A request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    version: u32,
    #[serde(flatten)]
    verb: Verb<'a>,
    pool: &'a str,
    region: &'a str,
}

/// The requested action.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "Verb", rename_all = "snake_case", rename_all_fields = "PascalCase")]
enum Verb<'a> {
    Group,
    SetDesired { desired: i64 },
    Terminate { instance: &'a str, decrement: bool },
    Detach { instance: &'a str },
}

/// The reply to `group`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GroupReply {
    desired: i64,
    min: i64,
    max: i64,
    instances: Vec<InstanceReply>,
}

#[derive(Debug, Deserialize)]
struct InstanceReply {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "State")]
    state: StateReply,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateReply {
    Active,
    Leaving,
}

/// The reply to the other verbs: an object, whatever is in it.
#[derive(Debug, Deserialize)]
struct DoneReply {}

/// A reply that tells why nothing was done.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Refusal {
    error: RefusalError,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RefusalError {
    kind: RefusalKind,
    #[serde(default)]
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RefusalKind {
    NoGroup,
    Throttled,
    Denied,
    Failed,
}

impl Refusal {
    fn into_error(self) -> ProviderError {
        let message = limits::message(self.error.message.as_bytes());
        match self.error.kind {
            RefusalKind::NoGroup => ProviderError::NoGroup(message),
            RefusalKind::Throttled => ProviderError::Throttled(message),
            RefusalKind::Denied => ProviderError::Denied(message),
            RefusalKind::Failed => ProviderError::Failed(message),
        }
    }
}

/// The result of a program.
struct Ran {
    status: std::process::ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Command {
    /// The provider with that program.
    pub fn new(settings: CommandSettings) -> Command {
        Command { settings }
    }

    async fn ask<R: serde::de::DeserializeOwned>(
        &self,
        group: GroupId<'_>,
        verb: Verb<'_>,
    ) -> Result<R, ProviderError> {
        let request = Request { version: VERSION, verb, pool: group.pool, region: group.region };
        let request = serde_json::to_vec(&request).map_err(|e| ProviderError::Failed(e.to_string()))?;
        let limit = self.settings.timeout;
        let ran = tokio::time::timeout(limit, self.run(&request)).await;
        self.read(ran.map_err(|_| limits::timeout(limit))??)
    }

    /// Reads what the program left behind.
    fn read<R: serde::de::DeserializeOwned>(&self, ran: Ran) -> Result<R, ProviderError> {
        let stderr = limits::message(&ran.stderr);
        let with_stderr = |text: String| if stderr.is_empty() { text } else { format!("{text}: {stderr}") };
        if let Ok(refusal) = serde_json::from_slice::<Refusal>(&ran.stdout) {
            return Err(refusal.into_error());
        }
        if !ran.status.success() {
            // "exit status: 3", "signal: 9 (SIGKILL)"
            let text = format!("{} ended with {}", self.settings.program, ran.status);
            return Err(ProviderError::Failed(with_stderr(text)));
        }
        serde_json::from_slice(&ran.stdout).map_err(|e| {
            let text = limits::message(e.to_string().as_bytes());
            ProviderError::Invalid(with_stderr(format!("{} printed an invalid reply: {text}", self.settings.program)))
        })
    }

    /// Runs the program to its end. When this is dropped early, the program's process group is killed.
    async fn run(&self, request: &[u8]) -> Result<Ran, ProviderError> {
        let failed = |e: std::io::Error| ProviderError::Failed(format!("{}: {e}", self.settings.program));
        let mut program = tokio::process::Command::new(&self.settings.program);
        program.args(&self.settings.arguments).kill_on_drop(true);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Processes::start(&mut program).map_err(failed)?;
        let child = running.child();
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ProviderError::Failed(format!("{} has no pipes", self.settings.program)));
        };
        let mut out = Vec::new();
        let mut err = Vec::new();
        let finished = {
            let mut streams = std::pin::pin!(talk(stdin, stdout, stderr, request, &mut out, &mut err));
            tokio::select! {
                done = &mut streams => {
                    done?;
                    running.ended().await.map_err(failed)?;
                    true
                }
                exit = running.ended() => {
                    exit.map_err(failed)?;
                    // Processes that the program left running hold its pipes.
                    running.kill();
                    match tokio::time::timeout(REMAINDER, streams).await {
                        Ok(done) => { done?; true }
                        Err(_) => false,
                    }
                }
            }
        };
        if !finished {
            tracing::warn!(
                target: "autoscale",
                program = self.settings.program.as_str(),
                "a process that the provider's program started keeps its output open"
            );
        }
        running.kill();
        let status = tokio::time::timeout(AFTER_KILL, running.child().wait()).await;
        let status = status.map_err(|_| ProviderError::Failed(format!("{} is not reaped", self.settings.program)))?;
        Ok(Ran { status: status.map_err(failed)?, stdout: out, stderr: err })
    }
}

/// Sends the request and reads both streams to their ends.
///
/// # Errors
/// The reply is too long, or the system does not let it be read.
async fn talk(
    mut stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    request: &[u8],
    out: &mut Vec<u8>,
    err: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let write = async {
        // A program need not read its request.
        let _ = stdin.write_all(request).await;
        drop(stdin);
        Ok(())
    };
    let read = async {
        let failed = |e: std::io::Error| ProviderError::Failed(format!("the reply can't be read: {e}"));
        let most = u64::try_from(limits::ANSWER).unwrap_or(u64::MAX).saturating_add(1);
        stdout.take(most).read_to_end(out).await.map_err(failed)?;
        if out.len() > limits::ANSWER { Err(limits::too_long()) } else { Ok(()) }
    };
    let messages = async {
        keep_beginning(stderr, err).await;
        Ok(())
    };
    tokio::try_join!(write, read, messages).map(drop)
}

/// Reads a stream to its end, and keeps its beginning.
async fn keep_beginning(mut stream: impl AsyncRead + Unpin, kept: &mut Vec<u8>) {
    let mut buffer = [0u8; 4096];
    while let Ok(n) = stream.read(&mut buffer).await {
        if n == 0 {
            return;
        }
        let room = STDERR.saturating_sub(kept.len());
        kept.extend(buffer.iter().take(n.min(room)));
    }
}

impl Provider for Command {
    fn group<'a>(&'a self, group: GroupId<'a>) -> Answer<'a, ScalingGroup> {
        Box::pin(async move {
            let reply: GroupReply = self.ask(group, Verb::Group).await?;
            let instance = |i: InstanceReply| {
                let state = match i.state {
                    StateReply::Active => InstanceState::Active,
                    StateReply::Leaving => InstanceState::Leaving,
                };
                Instance { id: i.id, state }
            };
            let GroupReply { desired, min, max, instances } = reply;
            let instances = instances.into_iter().map(instance).collect();
            limits::checked(ScalingGroup { desired, min, max, instances })
        })
    }

    fn set_desired<'a>(&'a self, group: GroupId<'a>, desired: i64) -> Answer<'a, ()> {
        Box::pin(async move {
            let DoneReply {} = self.ask(group, Verb::SetDesired { desired }).await?;
            Ok(())
        })
    }

    fn terminate<'a>(&'a self, group: GroupId<'a>, instance: &'a str, decrement: bool) -> Answer<'a, ()> {
        Box::pin(async move {
            let DoneReply {} = self.ask(group, Verb::Terminate { instance, decrement }).await?;
            Ok(())
        })
    }

    fn detach<'a>(&'a self, group: GroupId<'a>, instance: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            let DoneReply {} = self.ask(group, Verb::Detach { instance }).await?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;

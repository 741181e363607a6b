//! Commands beside the task, in its container (`docs/spec/client.md §26.2`).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, ResizeExecOptions, StartExecOptions, StartExecResults};
use futures_util::StreamExt;
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use super::super::{ExecError, ExecInput, ExecOutput, ExecRequest, ExecSession};
use super::connect::{Daemon, DaemonError, SHORT};

/// How often, and how long, the end of a command is waited for after the end of its output.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 100;
/// The end of input of a terminal.
const END_OF_TEXT: [u8; 1] = [4];

type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// Runs a command in a container.
pub(super) async fn run(
    daemon: Arc<Daemon>,
    container: String,
    request: ExecRequest,
) -> Result<ExecSession, ExecError> {
    if request.command.is_empty() {
        return Err(ExecError::NoCommand);
    }
    let tty = request.tty;
    let options = CreateExecOptions {
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        tty: Some(tty),
        env: Some(request.env.iter().map(|(k, v)| format!("{k}={v}")).collect()),
        cmd: Some(request.command),
        ..CreateExecOptions::<String>::default()
    };
    let id = container.clone();
    let made =
        daemon.call("run a command in the container", SHORT, |d| async move { d.create_exec(&id, options).await });
    let exec = made.await?.id;
    let (id, start) = (exec.clone(), StartExecOptions { detach: false, tty, output_capacity: None });
    let started =
        daemon.call("run a command in the container", SHORT, |d| async move { d.start_exec(&id, Some(start)).await });
    let StartExecResults::Attached { output, input } = started.await? else {
        let reason = "the command runs without a connection to it".into();
        return Err(DaemonError::Garbled { call: "run a command in the container", reason }.into());
    };
    let (to_command, from_user) = mpsc::channel(16);
    let (to_user, from_command) = mpsc::channel(16);
    let feeder = tokio::spawn(feed(from_user, input, tty, daemon.clone(), exec.clone()));
    tokio::spawn(async move {
        let listened = pass(output, &to_user).await;
        feeder.abort();
        if !listened {
            // Nobody listens any more: the command ends, too.
            return end(&daemon, &exec, &container).await;
        }
        for closed in [ExecOutput::StdoutClosed, ExecOutput::StderrClosed] {
            let _ = to_user.send(closed).await;
        }
        let code = code(&daemon, &exec).await;
        // A command that a signal ended has that code as in a shell.
        let _ = to_user.send(ExecOutput::Exited { code: code.unwrap_or(1), signal: 0 }).await;
    });
    Ok(ExecSession { input: to_command, output: from_command })
}

/// Passes on what the command says; false if nobody listens any more.
async fn pass(
    mut output: Pin<Box<dyn futures_util::Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>,
    to: &mpsc::Sender<ExecOutput>,
) -> bool {
    loop {
        let said = tokio::select! {
            said = output.next() => said,
            () = to.closed() => return false,
        };
        let said = match said {
            Some(Ok(LogOutput::StdErr { message })) => ExecOutput::Stderr(message.to_vec()),
            Some(Ok(other)) => ExecOutput::Stdout(other.into_bytes().to_vec()),
            // A connection that breaks is the end of what can be heard.
            Some(Err(_)) | None => return true,
        };
        if to.send(said).await.is_err() {
            return false;
        }
    }
}

/// Writes what the user sends.
async fn feed(mut from: mpsc::Receiver<ExecInput>, input: Input, tty: bool, daemon: Arc<Daemon>, exec: String) {
    let mut input = Some(input);
    while let Some(said) = from.recv().await {
        match (said, &mut input) {
            (ExecInput::Stdin(bytes), Some(to)) => {
                if to.write_all(&bytes).await.is_err() || to.flush().await.is_err() {
                    input = None;
                }
            }
            (ExecInput::CloseStdin, Some(to)) if tty => drop(to.write_all(&END_OF_TEXT).await),
            (ExecInput::CloseStdin, Some(to)) => {
                let _ = to.shutdown().await;
                input = None;
            }
            (ExecInput::Resize { height, width }, _) => {
                let (id, size) = (exec.as_str(), ResizeExecOptions { height, width });
                let call = daemon.call("resize the terminal", SHORT, |d| async move { d.resize_exec(id, size).await });
                // The next size may fit.
                let _ = call.await;
            }
            (_, None) => {}
        }
    }
    // The connection must stay open for the output.
    std::future::pending::<()>().await;
}

/// The code of a command whose output has ended.
async fn code(daemon: &Daemon, exec: &str) -> Option<i64> {
    for _ in 0..LOOKS {
        let call = daemon.call("inspect the command", SHORT, |d| async move { d.inspect_exec(exec).await });
        let found = call.await.ok()?;
        if found.running != Some(true)
            && let Some(code) = found.exit_code
        {
            return Some(code);
        }
        tokio::time::sleep(LOOK).await;
    }
    None
}

/// Ends a command that nobody listens to. The daemon has no call for that: its process is killed if it is one of this
/// host that belongs to the container.
async fn end(daemon: &Daemon, exec: &str, container: &str) {
    if !daemon.is_local() {
        return;
    }
    let call = daemon.call("inspect the command", SHORT, |d| async move { d.inspect_exec(exec).await });
    let Ok(found) = call.await else { return };
    let pid = found.pid.filter(|_| found.running == Some(true)).and_then(|p| i32::try_from(p).ok());
    let Some(pid) = pid.filter(|p| *p > 1) else { return };
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    if let (true, Some(pid)) = (groups.contains(container), Pid::from_raw(pid)) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

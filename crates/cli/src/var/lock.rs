//! `var lock`: runs a command while holding the lock of a variable (`docs/spec/cli.md §12.2`).

use std::process::ExitStatus;

use tokio::process::Command;

use super::one_namespace;
use super::put;
use crate::flags::parse_int;
use crate::prelude::*;
use encamp_api::variables::{Variable, VariableError};
use encamp_api::{ApiError, Client};
use encamp_model::duration::parse_duration;
use encamp_model::{SECOND, VariableLock, duration, format_duration, quoted};

/// Run a command while holding a lock
///
/// Acquires the lock of the variable at a path, runs the command, and releases the lock when the command has ended. If
/// the lock is held by another client, the command waits for it. If the lock is lost, the child process is stopped.
/// With a specification (@file), the variable is written as well.
#[derive(Debug, clap::Parser)]
pub struct VarLock {
    /// TTL of the lock: how long it is held without a renewal
    #[arg(long, value_name = "duration", default_value = "15s", value_parser = parse_duration)]
    pub ttl: i64,
    /// Time after an expired lock before it can be acquired again
    #[arg(long, value_name = "duration", default_value = "15s", value_parser = parse_duration)]
    pub delay: i64,
    /// Maximum number of retries of a failed request
    #[arg(long, value_name = "n", default_value = "5", value_parser = parse_int)]
    pub max_retry: i64,
    /// Exit immediately if another client holds the lock
    #[arg(long)]
    pub early_return: bool,
    /// Time between attempts to acquire the lock. Default: slightly more than -ttl
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    pub backoff: Option<i64>,
    /// Run the command in a shell
    #[arg(long, value_name = "bool", default_value = "true")]
    pub shell: Option<bool>,
    /// Print progress messages to standard error
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<path> <command> [argument]...", add = CompleteWith::Live(Objects::Variables))]
    pub(crate) args: Vec<String>,
}

impl Run for VarLock {
    const META: Meta = Meta::new("var lock")
        .flag_error_note(FlagErrorNote::Help)
        .environment(&[("SHELL", "Shell that runs the command.")])
        .exit_status(&[
            (0, "The command ran while it held the lock, and exited with status 0."),
            (1, "An error occurred, the lock was not acquired, or the command failed."),
        ])
        .examples(&[
            ("Run a command while holding a lock", "encamp var lock locks/backup ./backup.sh"),
            (
                "Exit immediately if another client holds the lock",
                "encamp var lock -early-return locks/backup ./backup.sh",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if let Err(e) = one_namespace(&self.general, context.env) {
            return context.report(&e);
        }
        let (mut variable, command) = match self.given(context) {
            Ok(given) => given,
            Err(e) => return context.usage_error(e.message()),
        };
        variable.lock = Some(VariableLock { id: String::new(), ttl: self.ttl, lock_delay: self.delay });
        context.connected(&self.general, |c, context| {
            self.hold(c, context, variable, &command).map_err(|e| CommandError::new(format!("Lock error:{e}")))
        })
    }
}

/// The reason that a command is not run under a lock, or not to its end.
#[derive(Debug, thiserror::Error)]
enum LockError {
    #[error("the lock is held by another client")]
    Held,
    #[error(transparent)]
    Request(ApiError),
    #[error("there is no command")]
    NoCommand,
    #[error("the command can't be run: {0}")]
    Start(std::io::Error),
    #[error("the command can't be waited for: {0}")]
    Wait(std::io::Error),
}

impl From<VariableError> for LockError {
    fn from(e: VariableError) -> LockError {
        match e {
            VariableError::Conflict(_) => LockError::Held,
            VariableError::Other(e) => LockError::Request(e),
        }
    }
}

/// How the command ended.
enum Ended {
    Itself(ExitStatus),
    LockLost(LockError),
}

impl VarLock {
    /// The variable and the command.
    fn given(&self, context: &mut Context<'_, '_>) -> CommandResult<(Variable, Vec<String>)> {
        let is_spec = |arg: &String| arg.starts_with('@');
        let (variable, command, notes) = match self.args.as_slice() {
            [spec, command @ ..] if is_spec(spec) && !command.is_empty() => {
                let given = put::given(std::slice::from_ref(spec), "json", context.env)?;
                (given.variable, command, given.notes)
            }
            [path, spec, command @ ..] if is_spec(spec) && !command.is_empty() => {
                let given = put::given(&[path.clone(), spec.clone()], "json", context.env)?;
                (given.variable, command, given.notes)
            }
            [path, command @ ..] if !command.is_empty() => {
                let note = format!("Writing to path {}", quoted(path));
                (Variable { path: path.clone(), ..Variable::default() }, command, vec![note])
            }
            _ => {
                let line = format!("Not enough arguments (expected >2, got {})", self.args.len());
                return Err(CommandError::new(line));
            }
        };
        for note in notes {
            self.tell(context, &note);
        }
        self.tell(context, &format!("Using TTL for the lock of {}", format_duration(self.ttl)));
        Ok((variable, command.to_vec()))
    }

    fn tell(&self, context: &mut Context<'_, '_>, text: &str) {
        if self.verbose {
            context.ui.warn(text);
        }
    }

    fn hold(
        &self,
        c: &Connection,
        context: &mut Context<'_, '_>,
        variable: Variable,
        command: &[String],
    ) -> Result<u8, LockError> {
        self.tell(context, "Attempting to acquire lock");
        let Some(locked) = c.wait(self.acquire(&c.client, &variable))? else {
            self.tell(context, "Lock is held by another client");
            return Ok(0);
        };
        let held = Variable { lock: locked.lock, ..variable };
        self.tell(context, &format!("Variable locked, ready to execute: {}", command.join(" ")));
        context.ui.flush();
        let ended = c.wait(self.run_held(&c.client, &held, command, context.env.var("SHELL")));
        self.tell(context, "Releasing the lock");
        let released = c.wait(c.client.touch_lock("lock-release", &held));
        match ended? {
            Ended::LockLost(e) => Err(e),
            Ended::Itself(status) => {
                released?;
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                Ok(code.unwrap_or(1))
            }
        }
    }

    /// Waits for the lock. Returns `None` if another client holds it and -early-return is set.
    async fn acquire(&self, client: &Client, variable: &Variable) -> Result<Option<Variable>, LockError> {
        let pause = self.backoff.unwrap_or_else(|| self.ttl.saturating_add(self.ttl / 10));
        let pause = duration::of_nanos(pause);
        let mut failures = 0;
        loop {
            match client.lock_variable(variable).await {
                Ok(locked) => return Ok(Some(locked)),
                Err(VariableError::Conflict(_)) if self.early_return => return Ok(None),
                Err(VariableError::Conflict(_)) => {}
                Err(VariableError::Other(e)) if e.is_temporary() && failures < self.max_retry => failures += 1,
                Err(e) => return Err(e.into()),
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Runs the command and renews the lock meanwhile.
    async fn run_held(
        &self,
        client: &Client,
        held: &Variable,
        command: &[String],
        shell: Option<&str>,
    ) -> Result<Ended, LockError> {
        let mut process = if self.shell != Some(false) {
            let mut process = Command::new(shell.unwrap_or("/bin/sh"));
            process.arg("-c").arg(command.join(" "));
            process
        } else {
            let (program, args) = command.split_first().ok_or(LockError::NoCommand)?;
            let mut process = Command::new(program);
            process.args(args);
            process
        };
        let mut child = process.kill_on_drop(true).spawn().map_err(LockError::Start)?;
        let period = duration::of_nanos(self.ttl.max(SECOND) / 2);
        let mut failures = 0;
        loop {
            tokio::select! {
                status = child.wait() => {
                    return status.map(Ended::Itself).map_err(LockError::Wait);
                }
                () = tokio::time::sleep(period) => match client.touch_lock("lock-renew", held).await {
                    Ok(()) => failures = 0,
                    Err(VariableError::Other(e)) if e.is_temporary() && failures < self.max_retry => failures += 1,
                    Err(e) => {
                        // The command must not continue without the lock; it may already have exited.
                        let _ = child.kill().await;
                        return Ok(Ended::LockLost(e.into()));
                    }
                },
            }
        }
    }
}

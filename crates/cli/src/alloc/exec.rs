//! `alloc exec`: runs a command in a task (`docs/spec/cli.md §9.2`).

use super::choice::ChoiceFlags;
use crate::exec_session::{Session, SessionError, SessionFlags};
use crate::objects;
use crate::prelude::*;
use encamp_api::{Query, path};

/// Execute a command in a task
///
/// Runs a command inside the environment of a task, connected to this terminal or to the standard streams. The exit
/// code is that of the command.
///
/// On a terminal, ~. at the beginning of a line closes the connection, and ~~ sends one ~.
#[derive(Debug, clap::Parser)]
pub struct AllocExec {
    /// The task. Optional if the allocation has only one
    #[arg(long, value_name = "task")]
    pub task: Option<String>,
    #[command(flatten)]
    pub(crate) choice: ChoiceFlags,
    /// The same as -i -t
    #[arg(long = "it", hide = true)]
    pub both: bool,
    /// The same as -i -t
    #[arg(long = "ti", hide = true)]
    pub both_turned: bool,
    #[command(flatten)]
    pub(crate) streams: SessionFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<allocation> <command> [argument]...", add = ChoiceFlags::COMPLETED)]
    pub(crate) args: Vec<String>,
}

/// The command that is proposed to an operator who has named none.
const SHELL: &str = "/bin/sh";

impl Run for AllocExec {
    const META: Meta = Meta::new("alloc exec")
        .alias("exec", Listing::Other)
        .exit_status(&[
            (0, "The command in the task exited with status 0. Any other status of it is returned unchanged."),
            (1, "An error occurred before the command was started."),
        ])
        .examples(&[
            ("Run a command in the only task of an allocation", "encamp alloc exec 8ba85cef cat local/web.conf"),
            (
                "Run a shell command in a task of one of the allocations of a job",
                "encamp alloc exec -job -task server web sh -c 'env | sort'",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let asked;
        let (name, command) = match self.args.split_first() {
            Some((name, command)) if !command.is_empty() => (name, command),
            Some((name, _)) if context.object_was_chosen() => {
                asked = match context.ask(|questions| questions.words("Command", SHELL)) {
                    Ok(words) => words,
                    Err(code) => return code,
                };
                (name, asked.as_slice())
            }
            Some(_) => return context.usage_error("A command is required"),
            None => return self.choice.missing(context),
        };
        let session = match self.streams.session(self.both || self.both_turned) {
            Ok(session) => session,
            Err(e @ SessionError::NoInput) => return context.failure(&e.to_string()),
            Err(e @ SessionError::Escape) => return context.usage_error(&e.to_string()),
        };
        context.connected(&self.general, |c, context| self.exec(c, context, &session, name, command))
    }
}

impl AllocExec {
    fn exec(
        &self,
        c: &Connection,
        context: &mut Context<'_, '_>,
        session: &Session,
        name: &str,
        command: &[String],
    ) -> CommandResult<u8> {
        if !self.choice.job && objects::is_too_short(name) {
            return Err(CommandError::new("Alloc ID must contain at least two characters"));
        }
        let stub = self.choice.allocation(c, context, name, false)?;
        let alloc = super::in_full(c, &stub)?;
        let task = match self.task.as_deref().filter(|t| !t.is_empty()) {
            Some(task) => {
                super::known_task(&alloc, task)?;
                task.to_string()
            }
            None => super::only_task(context, &alloc)?,
        };
        let command = serde_json::to_string(command).context("failed to exec into task")?;
        let query = Query::in_namespace(&stub.namespace).with("task", task).with("command", command);
        let to = path("/v1/client/allocation/", &stub.id, "/exec");
        session.run(c, context.ui, &to, &query).context("failed to exec into task")
    }
}

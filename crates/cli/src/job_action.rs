//! `job action`: runs an action that a job declares (`docs/spec/cli.md §8.11`).

use std::hash::{BuildHasher, RandomState};

use super::exec_session::SessionFlags;
use super::lookup;
use super::prelude::*;
use encamp_api::{Query, path};
use encamp_model::{AllocListStub, ClientStatus, quoted};

/// Run an action of a job
///
/// Runs an action, a command that a task of a job declares, in a running allocation. The argument is the name of the
/// action.
#[derive(Debug, clap::Parser)]
pub struct JobAction {
    /// The job ID or a prefix of it
    #[arg(long, value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub job: Option<String>,
    /// The task group from which an allocation is selected
    #[arg(long, value_name = "group")]
    pub group: Option<String>,
    /// The task that declares the action
    #[arg(long, value_name = "task")]
    pub task: Option<String>,
    /// The allocation ID or a prefix of it
    #[arg(long, value_name = "allocation", add = CompleteWith::Live(Objects::Allocations))]
    pub alloc: Option<String>,
    #[command(flatten)]
    pub(crate) streams: SessionFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "action")]
    pub(crate) action: String,
}

impl Run for JobAction {
    const META: Meta = Meta::new("job action")
        .argument_error("An action name is required")
        .alias("action", Listing::Other)
        .flag_error_note(FlagErrorNote::Flags)
        .exit_status(&[
            (0, "The command in the task exited with status 0. Any other status of it is returned unchanged."),
            (1, "An error occurred before the command was started."),
        ])
        .examples(&[
            (
                "Run an action of a job in one of its allocations",
                "encamp job action -job web -group front -task server reload",
            ),
            ("Run it in a certain allocation", "encamp job action -job web -alloc 8ba85cef -task server reload"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let action = &self.action;
        let Some(job) = given(&self.job) else {
            return context.usage_error("A job ID is required");
        };
        if given(&self.alloc).is_none() {
            for (flag, what) in [(&self.group, "group"), (&self.task, "task")] {
                if given(flag).is_none() {
                    return context.usage_error(&format!("A {what} name is required if no allocation is provided"));
                }
            }
        }
        let session = match self.streams.session(false) {
            Ok(session) => session,
            Err(e) => return context.usage_error(&e.to_string()),
        };
        context.connected(&self.general, |connection, context| {
            let (namespace, id) = connection.wait(lookup::job(&connection.client, job, &connection.zone))?;
            let (alloc, task) = self.place(connection, namespace.as_deref(), &id)?;
            let query = Query { namespace, ..Query::default() };
            let query = query.with("action", action.as_str()).with("allocID", alloc).with("task", task);
            let ran = session.run(connection, context.ui, &path("/v1/job/", &id, "/action"), &query);
            ran.context("failed to exec into task")
        })
    }
}

fn given(flag: &Option<String>) -> Option<&str> {
    flag.as_deref().filter(|v| !v.is_empty())
}

impl JobAction {
    /// The allocation and the task in which the action runs.
    fn place(&self, connection: &Connection, namespace: Option<&str>, job: &str) -> CommandResult<(String, String)> {
        let read = connection.wait(connection.client.job_allocations(namespace, job, false));
        let (mut all, _) = read.context("Error querying job allocations")?;
        let alloc = match given(&self.alloc) {
            Some(prefix) => {
                all.retain(|a| a.id.starts_with(prefix));
                match all.as_slice() {
                    [only] => only,
                    [] => {
                        let line = format!("No allocation(s) with prefix or id {} found", quoted(prefix));
                        return Err(CommandError::new(line));
                    }
                    _ => {
                        let line = format!("Prefix {} matched multiple allocations of the job", quoted(prefix));
                        return Err(CommandError::new(line));
                    }
                }
            }
            None => {
                let group = given(&self.group).unwrap_or_default();
                all.retain(|a| a.task_group == group && a.client_status == ClientStatus::Running);
                let chosen = any(&all);
                chosen.ok_or_else(|| {
                    CommandError::new(format!("No running allocations of group {} found", quoted(group)))
                })?
            }
        };
        match given(&self.task) {
            Some(task) => Ok((alloc.id.clone(), task.to_string())),
            None => Ok((alloc.id.clone(), only_task(alloc)?)),
        }
    }
}

/// Selects any one of several allocations.
fn any(all: &[AllocListStub]) -> Option<&AllocListStub> {
    let number = RandomState::new().hash_one(0_u8);
    let index = number.checked_rem(u64::try_from(all.len()).ok()?)?;
    all.get(usize::try_from(index).ok()?)
}

/// The task of an allocation that has only one.
fn only_task(alloc: &AllocListStub) -> CommandResult<String> {
    let tasks: Vec<String> = alloc.task_states.keys().collect();
    match tasks.as_slice() {
        [only] => Ok(only.clone()),
        several => {
            let listed: Vec<String> = several.iter().map(|t| format!("  * {t}\n")).collect();
            let id = quoted(super::render::values::id(&alloc.id, false));
            let tasks = listed.concat();
            let text = format!("Failed to validate task: Allocation {id} is running the following tasks:\n{tasks}");
            Err(CommandError::new(text).with_hint("Please specify the task."))
        }
    }
}

//! Commands about allocations (`docs/spec/cli.md §9`).
//!
//! - [`status`]: `alloc status`; [`tasks`]: its part about each task.
//! - [`logs`], [`files`]: logs and files of tasks. [`tail`]: the end of a file.
//! - [`exec`]: `alloc exec`. [`choice`]: flags with which a job stands for one of its allocations.
//! - [`actions`]: `alloc stop`, `restart`, `signal`. [`pause`]: `alloc pause`, which servers refuse.
//! - [`checks`]: results of service checks.

pub mod actions;
pub mod checks;
mod choice;
pub mod exec;
pub mod files;
pub mod logs;
pub mod pause;
pub mod status;
mod tail;
mod tasks;

pub(super) use tasks::{max_run, mount_options};

use super::connection::Connection;
use super::context::Context;
use super::objects;
use super::pick;
use crate::error::{CommandError, CommandResult, ErrorContext};
use encamp_model::{AllocListStub, Allocation, quoted};

/// The allocation that the arguments name, and the task of the flag or of the second argument; an empty one is none.
/// `Err` is the exit code; the message has been printed.
fn allocation_and_task<'a>(
    args: &'a [String],
    task: Option<&'a String>,
    context: &mut Context<'_, '_>,
) -> Result<(&'a str, &'a str), u8> {
    let (allocation, second) = match args {
        [allocation] => (allocation, None),
        [allocation, task] => (allocation, Some(task)),
        _ => return Err(context.argument_error("This command takes one or two arguments: <alloc-id> [<task-name>]")),
    };
    Ok((allocation, task.or(second).map_or("", String::as_str)))
}

/// The allocation that an argument names.
fn named(c: &Connection, context: &Context<'_, '_>, prefix: &str, verbose: bool) -> CommandResult<AllocListStub> {
    objects::long_enough(prefix, "Alloc ID")?;
    Ok(objects::allocation(c, prefix, verbose, &context.clock())?)
}

/// The allocation in full.
fn in_full(c: &Connection, stub: &AllocListStub) -> CommandResult<Allocation> {
    let read = c.wait(c.client.allocation_value(&stub.namespace, &stub.id));
    let (value, _) = read.context("Error querying allocation")?;
    super::data::typed(&value)
}

/// Whether a task is part of the allocation; an error that names those that are.
fn known_task(alloc: &Allocation, task: &str) -> CommandResult<()> {
    let tasks = task_names(alloc);
    if tasks.is_empty() || tasks.iter().any(|t| t == task) {
        return Ok(());
    }
    Err(CommandError::new(format!("Could not find task named: {task}, found:\n{}", tasks.join("\n"))))
}

/// The only task of an allocation, or the one that the operator chooses.
fn only_task(context: &mut Context<'_, '_>, alloc: &Allocation) -> CommandResult<String> {
    const FAILED: &str = "Failed to validate task";
    let tasks = task_names(alloc);
    match tasks.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let text = format!("Could not determine task: allocation {} has no tasks", quoted(&alloc.id));
            Err(CommandError::new(text).within(FAILED))
        }
        several => {
            if let Some(task) = pick::task(context, alloc, several)? {
                return Ok(task);
            }
            let id = quoted(super::render::values::id(&alloc.id, false));
            let names: String = several.iter().map(|t| format!("  * {t}\n")).collect();
            let text = format!("Allocation {id} is running the following tasks:\n{names}");
            Err(CommandError::new(text).within(FAILED).with_hint("Please specify the task."))
        }
    }
}

/// The names of the allocation's tasks, as defined by the job.
fn task_names(alloc: &Allocation) -> Vec<String> {
    let group = alloc.job.as_ref().and_then(|job| job.lookup_group(&alloc.task_group));
    group.map(|g| g.tasks.iter().map(|t| t.name.clone()).collect()).unwrap_or_default()
}

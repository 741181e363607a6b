//! `alloc logs`: the output of tasks (`docs/spec/cli.md §9.2`).

use std::cell::RefCell;

use super::choice::ChoiceFlags;
use super::tail::{Start, TailFlags, copy};
use crate::exit_status::FOLLOWING;
use crate::prelude::*;
use encamp_api::{ApiError, Client, Query, path};
use encamp_model::Allocation;

/// Stream the logs of a task
///
/// Prints the output of a task of an allocation. The second argument or -task names the task; it is optional if the
/// allocation has only one. With -f and neither -stdout nor -stderr, both streams are followed.
#[derive(Debug, clap::Parser)]
pub struct AllocLogs {
    /// Print standard output (default)
    #[arg(long)]
    pub stdout: bool,
    /// Print standard error
    #[arg(long)]
    pub stderr: bool,
    /// Follow the output
    #[arg(long = "f")]
    pub follow: bool,
    #[command(flatten)]
    pub(crate) end: TailFlags,
    /// The task
    #[arg(long, value_name = "task")]
    pub task: Option<String>,
    #[command(flatten)]
    pub(crate) choice: ChoiceFlags,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<allocation> [task]", add = ChoiceFlags::COMPLETED)]
    pub(crate) args: Vec<String>,
}

impl Run for AllocLogs {
    const META: Meta = Meta::new("alloc logs").alias("logs", Listing::Alias).exit_status(FOLLOWING).examples(&[
        ("Print the output of a task", "encamp alloc logs 8ba85cef server"),
        ("Follow standard error of an allocation of a job", "encamp alloc logs -f -stderr -job web"),
        ("Print the last 20 lines", "encamp alloc logs -tail -n 20 8ba85cef"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (name, second) = match self.args.as_slice() {
            [name] => (name, None),
            [name, task] => (name, Some(task.clone())),
            [] => return self.choice.missing(context),
            _ => return context.usage_error("This command takes one or two arguments: <allocation> [<task>]"),
        };
        if self.stdout && self.stderr {
            return context.failure("Unable to support both stdout and stderr");
        }
        let start = match self.end.start() {
            Ok(start) => start,
            Err(e) => return context.failure(&e.to_string()),
        };
        context.connected(&self.general, |c, context| {
            let stub = self.choice.allocation(c, context, name, self.verbose)?;
            let alloc = super::in_full(c, &stub)?;
            let task = match self.task.clone().or(second) {
                Some(task) if !task.is_empty() => task,
                _ => super::only_task(context, &alloc)?,
            };
            self.print(c, context, &Source { alloc: &alloc, task: &task, start })
        })
    }
}

/// Reads the streams that the flags select.
struct Source<'a> {
    alloc: &'a Allocation,
    task: &'a str,
    start: Start,
}

impl AllocLogs {
    fn print(&self, c: &Connection, context: &mut Context<'_, '_>, source: &Source<'_>) -> CommandResult<u8> {
        let ui = RefCell::new(&mut *context.ui);
        let out = |data: &[u8]| ui.borrow_mut().bytes(data);
        let err = |data: &[u8]| ui.borrow_mut().error_bytes(data);
        let read = async |kind: &'static str, sink: &dyn Fn(&[u8]) -> bool| {
            let copied = source.copy(&c.client, kind, self.follow, sink).await;
            copied.context(format_args!("Failed to read {kind} file: error reading file"))
        };
        let both = self.follow && !self.stdout && !self.stderr;
        let work = async {
            if both {
                futures_util::future::try_join(read("stdout", &out), read("stderr", &err)).await.map(drop)
            } else {
                read(if self.stderr { "stderr" } else { "stdout" }, &out).await
            }
        };
        c.wait(work).map(|()| 0)
    }
}

impl Source<'_> {
    async fn copy(
        &self,
        client: &Client,
        kind: &str,
        follow: bool,
        sink: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), ApiError> {
        let query = Query::in_namespace(&self.alloc.namespace)
            .with("follow", follow.to_string())
            .with("task", self.task)
            .with("type", kind);
        let query = self.start.added_to(query);
        let frames = client.frames(&path("/v1/client/fs/logs/", &self.alloc.id, ""), &query).await?;
        copy(frames, self.start.lines, sink).await
    }
}

//! `alloc stop`, `alloc restart`, `alloc signal` (`docs/spec/cli.md §9.2`).

use crate::exit_status::MONITORED;
use crate::monitor::evaluation;
use crate::prelude::*;

/// The signals that operators send to tasks.
const SIGNALS: &[&str] = &[
    "SIGABRT", "SIGALRM", "SIGCONT", "SIGHUP", "SIGINT", "SIGKILL", "SIGQUIT", "SIGSTOP", "SIGTERM", "SIGTSTP",
    "SIGUSR1", "SIGUSR2", "SIGWINCH",
];

/// Stop and reschedule an allocation
///
/// Stops the allocation. The scheduler then places a replacement, because the job still requires it. The command
/// monitors the evaluation unless -detach is given.
#[derive(Debug, clap::Parser)]
pub struct AllocStop {
    /// Print the evaluation ID and return immediately
    #[arg(long)]
    pub detach: bool,
    /// Stop immediately, ignoring the shutdown delays of the group and its tasks
    #[arg(long)]
    pub no_shutdown_delay: bool,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "allocation", add = CompleteWith::Live(Objects::Allocations))]
    pub(crate) prefix: String,
}

impl Run for AllocStop {
    const META: Meta = Meta::new("alloc stop")
        .argument_error("This command takes one argument: <alloc-id>")
        .exit_status(MONITORED)
        .examples(&[
            ("Stop an allocation, so that a replacement is placed", "encamp alloc stop 8ba85cef"),
            (
                "Stop it at once, and do not wait for the replacement",
                "encamp alloc stop -detach -no-shutdown-delay 8ba85cef",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = &self.prefix;
        context.connected(&self.general, |c, context| {
            let stub = super::named(c, context, prefix, self.verbose)?;
            let namespace = Some(stub.namespace.as_str()).filter(|n| !n.is_empty());
            let stopped = c.wait(c.client.stop_allocation(namespace, &stub.id, self.no_shutdown_delay, false));
            let (answer, _) = stopped.context("Error stopping allocation")?;
            if self.detach {
                context.ui.output(&answer.eval_id);
                return Ok(0);
            }
            Ok(evaluation::watch(c, context.ui, &answer.eval_id, self.verbose))
        })
    }
}

/// Restart an allocation or one of its tasks
///
/// Restarts the running tasks of an allocation in place. To restart only one task, name it with the second argument or
/// with -task.
#[derive(Debug, clap::Parser)]
pub struct AllocRestart {
    /// Restart only this task
    #[arg(long, value_name = "task")]
    pub task: Option<String>,
    /// Restart all tasks, including those that have already finished
    #[arg(long)]
    pub all_tasks: bool,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<allocation> [task]", add = CompleteWith::Live(Objects::Allocations))]
    pub(crate) args: Vec<String>,
}

impl Run for AllocRestart {
    const META: Meta = Meta::new("alloc restart").examples(&[
        ("Restart the running tasks of an allocation", "encamp alloc restart 8ba85cef"),
        ("Restart one task", "encamp alloc restart -task server 8ba85cef"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (prefix, task) = match super::allocation_and_task(&self.args, self.task.as_ref(), context) {
            Ok(named) => named,
            Err(code) => return code,
        };
        if self.all_tasks && !task.is_empty() {
            return context.failure("The -all-tasks option is not allowed when restarting a specific task.");
        }
        context.connected(&self.general, |c, context| {
            let stub = super::named(c, context, prefix, self.verbose)?;
            let alloc = super::in_full(c, &stub)?;
            if !task.is_empty() {
                super::known_task(&alloc, task)?;
            }
            let namespace = Some(stub.namespace.as_str()).filter(|n| !n.is_empty());
            let done = c.wait(c.client.restart_allocation(namespace, &stub.id, task, self.all_tasks));
            let what = if task.is_empty() { "allocation" } else { "task" };
            done.map_err(|e| CommandError::new(format!("Failed to restart {what}:\n\n{e}")))?;
            Ok(0)
        })
    }
}

/// Signal the tasks of an allocation
///
/// Sends a signal to all tasks of an allocation. To signal only one task, name it with the second argument or with
/// -task.
#[derive(Debug, clap::Parser)]
pub struct AllocSignal {
    /// The signal to send
    #[arg(long = "s", value_name = "signal", default_value = "SIGKILL", add = CompleteWith::Words(SIGNALS))]
    pub signal: String,
    /// Signal only this task
    #[arg(long, value_name = "task")]
    pub task: Option<String>,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<allocation> [task]", add = CompleteWith::Live(Objects::Allocations))]
    pub(crate) args: Vec<String>,
}

impl Run for AllocSignal {
    const META: Meta = Meta::new("alloc signal").examples(&[
        ("Send SIGUSR1 to a task", "encamp alloc signal -s SIGUSR1 8ba85cef server"),
        ("Send SIGHUP to all tasks of an allocation", "encamp alloc signal -s SIGHUP 8ba85cef"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (prefix, task) = match super::allocation_and_task(&self.args, self.task.as_ref(), context) {
            Ok(named) => named,
            Err(code) => return code,
        };
        context.connected(&self.general, |c, context| {
            let stub = super::named(c, context, prefix, self.verbose)?;
            if !task.is_empty() {
                super::known_task(&super::in_full(c, &stub)?, task)?;
            }
            let done = c.wait(c.client.signal_allocation(&stub.namespace, &stub.id, task, &self.signal));
            done.context("Error signalling allocation")?;
            Ok(0)
        })
    }
}

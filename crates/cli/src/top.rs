//! `top`: the views of a cluster on the terminal.

use std::io::{IsTerminal, stdin, stdout};
use std::time::Duration;

use super::cluster::SnapshotFlags;
use super::prelude::*;
use super::ui_cluster::{Caller, OpenCluster, runtime};
use encamp_top::messages::Exec;
use encamp_top::run::{ExecProcess, Settings};

/// How long a command for the screen may run: job restart waits for each of its allocations.
const LIMIT: (Duration, Caller) = (Duration::from_secs(600), Caller::Operator);

/// Standard input or output is no terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("encamp top needs a terminal as standard input and output; encamp job status lists jobs without one")]
struct NoTerminal;

/// Watch a cluster on the terminal
///
/// Shows jobs, allocations, nodes, deployments, evaluations, servers, events, queues and the use of all nodes of a
/// running cluster on the terminal, and follows its changes; or shows a snapshot file or server backup. Failing and
/// unplaced objects come first. Jobs, allocations, deployments and nodes of a running cluster can be changed; each
/// change is confirmed first. Press ? for the keys.
#[derive(Debug, clap::Parser)]
pub struct Top {
    /// Show a snapshot file or server backup instead of the running cluster
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for Top {
    const META: Meta = Meta::new("top").examples(&[
        ("Watch the cluster", "encamp top"),
        ("Look at a snapshot file", "encamp top -snapshot fixtures/demo/cluster.json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| {
            if !stdin().is_terminal() || !stdout().is_terminal() {
                return Err(NoTerminal.into());
            }
            let colours = !self.general.colours.no_color && context.env.var("NO_COLOR").is_none();
            let open = match &self.snapshot {
                Some(file) => OpenCluster::of_file(context, file, &self.reading, LIMIT)?,
                None => {
                    let client = self.general.client(context.env)?;
                    OpenCluster::of_client(client, runtime()?, LIMIT, &context.env.directory)?
                }
            };
            context.env.terminal.handle_signals_in_command();
            let exec = open.on_terminal()?.map(|command| -> ExecProcess { Box::new(move |e| command(&words(e))) });
            let settings = Settings { colours, directory: open.directory.clone(), exec };
            let shown = encamp_top::run::run(open.cluster.clone(), &open.runtime, settings);
            open.close();
            shown.context("Error using the terminal")?;
            Ok(0)
        })
    }
}

/// The command that runs a command in a task.
fn words(exec: &Exec) -> Vec<String> {
    let fixed = ["alloc", "exec", "-i", "-t"].map(String::from);
    let task = format!("-task={}", exec.task);
    let object = exec.allocation.flag().into_iter().chain([task, exec.allocation.id.clone()]);
    fixed.into_iter().chain(object).chain(exec.words.iter().cloned()).collect()
}

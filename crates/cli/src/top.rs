//! `top`: the views of a cluster on the terminal.

use std::io::{IsTerminal, stdin, stdout};

use super::cluster::SnapshotFlags;
use super::prelude::*;
use super::ui_cluster::{OpenCluster, runtime};
use encamp_ui::command::PAGE_LIMIT;

/// Standard input or output is no terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("encamp top needs a terminal as standard input and output; encamp job status lists jobs without one")]
struct NoTerminal;

/// Watch a cluster on the terminal
///
/// Shows jobs, allocations, nodes, deployments, evaluations and servers of a running cluster on the terminal, and
/// follows its changes; or shows a snapshot file or server backup. Failing and unplaced objects come first. Press ? for
/// the keys.
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
                Some(file) => OpenCluster::of_file(context, file, &self.reading, PAGE_LIMIT)?,
                None => OpenCluster::of_client(self.general.client(context.env)?, runtime()?, PAGE_LIMIT)?,
            };
            context.env.terminal.handle_signals_in_command();
            let shown = encamp_top::run::run(open.cluster.clone(), &open.runtime, colours);
            open.close();
            shown.context("Error using the terminal")?;
            Ok(0)
        })
    }
}

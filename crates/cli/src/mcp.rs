//! `mcp`: a server of the Model Context Protocol (`docs/guide/mcp.md`).

use std::io::{stdin, stdout};

use encamp_host::platform::signals::EndSignals;
use encamp_mcp::calls::{Calls, Settings};
use encamp_mcp::conceal::Conceal;
use encamp_mcp::server::{SessionError, serve};
use encamp_mcp::tools::LONGEST;
use encamp_mcp::transport::Lines;
use encamp_model::SecretString;

use super::cluster::SnapshotFlags;
use super::prelude::*;
use super::ui_cluster::{Caller, OpenCluster, runtime};

/// Serve programs with tools that plan and explain
///
/// Speaks the Model Context Protocol on standard input and output: a program that works with tools, such as an assistant
/// in an editor, starts it. The tools list and describe jobs, allocations, nodes, evaluations and deployments, and
/// validate, plan, explain and simulate jobs with the full scheduler.
///
/// The tools are about the running cluster that the environment, a saved context or -address selects, or about the
/// snapshot file or server backup of -snapshot. They only read. With -allow-writes, one more tool registers jobs: only
/// those of plans that were made and shown before, and only if the cluster would still do what the plan shows.
#[derive(Debug, clap::Parser)]
pub struct Mcp {
    /// Read a snapshot file or server backup instead of the running cluster
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    /// Allow that reviewed plans are registered, with the token of the command
    #[arg(long)]
    pub allow_writes: bool,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// A file cannot be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("-allow-writes needs a running cluster: nothing can be registered in a snapshot file")]
struct WritesToFile;

impl Run for Mcp {
    const META: Meta = Meta::new("mcp")
        .exit_status(&[
            (0, "The client has ended the session."),
            (1, "The cluster cannot be read, or the client broke the protocol."),
        ])
        .offline_examples(&[
            (
                "Serve a client with tools about a snapshot",
                "encamp mcp -snapshot fixtures/demo/cluster.json < /dev/null",
            ),
            ("Serve a client with tools about a cluster", "encamp mcp -address http://127.0.0.1:4646 < /dev/null"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| {
            let mut secrets = Vec::new();
            let open = match &self.snapshot {
                Some(_) if self.allow_writes => return Err(WritesToFile.into()),
                Some(file) => OpenCluster::of_file(context, file, &self.reading, (LONGEST, Caller::Other))?,
                None => {
                    let client = self.general.client(context.env)?;
                    let config = client.config();
                    secrets.extend(config.token.clone());
                    secrets.extend(config.http_auth.clone().and_then(|(_, password)| password));
                    OpenCluster::of_client(client, runtime()?, (LONGEST, Caller::Other), &context.env.directory)?
                }
            };
            let served = session(&open, secrets, self.allow_writes, context);
            open.close();
            served.map(|()| 0)
        })
    }
}

/// Serves the client on the standard streams until it or a signal ends the session.
fn session(
    open: &OpenCluster,
    secrets: Vec<SecretString>,
    allow_writes: bool,
    context: &mut Context<'_, '_>,
) -> CommandResult<()> {
    context.env.terminal.handle_signals_in_command();
    let conceal = Conceal::new(secrets).context("Error preparing answers")?;
    let settings = Settings { allow_writes, directory: open.directory.clone(), conceal };
    let calls = Calls::new(open.cluster.clone(), settings);
    open.runtime.block_on(async {
        let mut signals = EndSignals::listen().context("Error waiting for signals")?;
        let ended: Result<(), SessionError> = tokio::select! {
            ended = serve(calls, Lines::new(stdin(), stdout())) => ended,
            _ = signals.next() => Ok(()),
        };
        ended.context("Error serving tools")
    })
}

//! `monitor`: streams the log of an agent (`docs/spec/cli.md §15.3`).

use super::agent_log::{self, AgentFlags, given};
use super::exit_status::FOLLOWING;
use super::prelude::*;
use encamp_api::Query;

/// Stream the log of an agent
///
/// Streams the log of the contacted agent, or of a node or server, until interrupted.
#[derive(Debug, clap::Parser)]
pub struct Monitor {
    /// Minimum level of the messages. Default: info
    #[arg(long, value_name = "level", add = CompleteWith::Words(&["trace", "debug", "info", "warn", "error"]))]
    pub log_level: Option<String>,
    /// Include the source location in each message
    #[arg(long)]
    pub log_include_location: bool,
    #[command(flatten)]
    pub(crate) agent: AgentFlags,
    /// Print messages as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for Monitor {
    const META: Meta = Meta::new("monitor").exit_status(FOLLOWING).examples(&[
        ("Stream the log of the contacted agent", "encamp monitor"),
        ("Stream the log of the leader, with debug messages", "encamp monitor -log-level debug -server-id leader"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| self.follow(c, context))
    }
}

impl Monitor {
    fn follow(&self, c: &Connection, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let mut query = Query::default();
        if let Some(level) = given(&self.log_level) {
            query = query.with("log_level", level);
        }
        query = query.with("log_json", self.json.to_string());
        query = query.with("log_include_location", self.log_include_location.to_string());
        agent_log::print("/v1/agent/monitor", &self.agent.add_to(query, c)?, c, context)
    }
}

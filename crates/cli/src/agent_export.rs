//! `monitor export`: the past log of an agent, from its log file or the journal (`docs/spec/cli.md §15.3`).

use super::agent_log::{self, AgentFlags, given};
use super::exit_status::FOLLOWING;
use super::prelude::*;
use encamp_api::Query;

/// Print the past log messages of an agent
///
/// Prints the log messages of the contacted agent, or of a node or server, from the agent's log file or from the
/// journal of its host.
#[derive(Debug, clap::Parser)]
pub struct MonitorExport {
    #[command(flatten)]
    pub(crate) agent: AgentFlags,
    /// Read the journal of this systemd unit, whose name must contain nomad or encamp
    #[arg(long, value_name = "unit")]
    pub service_name: Option<String>,
    /// Read the agent's log file
    #[arg(long)]
    pub on_disk: bool,
    /// With -service-name, the maximum age of the messages. Default: 72h
    #[arg(long, value_name = "duration")]
    pub logs_since: Option<String>,
    /// With -service-name, follow new messages
    #[arg(long)]
    pub follow: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for MonitorExport {
    const META: Meta = Meta::new("monitor export").exit_status(FOLLOWING).examples(&[
        ("Print the log file of the contacted agent", "encamp monitor export -on-disk"),
        ("Print the log file of a node", "encamp monitor export -on-disk -node-id f7476465"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let unit = self.service_name.as_deref().unwrap_or_default();
        if unit.is_empty() && !self.on_disk {
            return context.usage_error("Either -service-name or -on-disk must be set");
        }
        context.connected(&self.general, |c, context| self.print(c, context))
    }
}

impl MonitorExport {
    fn print(&self, c: &Connection, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let mut query = Query::default().with("on_disk", self.on_disk.to_string());
        query = query.with("follow", self.follow.to_string());
        for (name, value) in [("service_name", &self.service_name), ("logs_since", &self.logs_since)] {
            if let Some(value) = given(value) {
                query = query.with(name, value);
            }
        }
        agent_log::print("/v1/agent/monitor/export", &self.agent.add_to(query, c)?, c, context)
    }
}

//! `monitor export`: the log of an agent as its host keeps it (`docs/spec/cli.md §15.3`).

use super::command::Run;
use super::connection::Connection;
use super::context::Context;
use super::data::text;
use super::general::GeneralFlags;
use super::objects;
use encamp_api::Query;
use encamp_api::stream::Event;

/// Print what an agent logged before
///
/// Prints the messages of the contacted agent, or of a node or server, from its log file or from the journal of its host.
#[derive(Debug, clap::Parser)]
pub struct MonitorExport {
    /// The log of this node
    #[arg(long, value_name = "id")]
    pub node_id: Option<String>,
    /// The log of this server, by name or ID; leader for the one that leads
    #[arg(long, value_name = "id")]
    pub server_id: Option<String>,
    /// Read the journal of this unit, whose name contains nomad or encamp
    #[arg(long, value_name = "unit")]
    pub service_name: Option<String>,
    /// Read the agent's log file
    #[arg(long)]
    pub on_disk: bool,
    /// With -service-name, how old the messages are at most. Default: 72h
    #[arg(long, value_name = "duration")]
    pub logs_since: Option<String>,
    /// With -service-name, go on with new messages
    #[arg(long)]
    pub follow: bool,
    #[command(flatten)]
    pub general: GeneralFlags,
    #[arg(hide = true)]
    pub optional_args: Vec<String>,
}

impl Run for MonitorExport {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.optional_args.is_empty() {
            return context.usage_error("This command takes no arguments");
        }
        let unit = self.service_name.as_deref().unwrap_or_default();
        if unit.is_empty() && !self.on_disk {
            return context.usage_error("Either -service-name or -on-disk must be set");
        }
        context.connected(&self.general, |c, context| self.print(c, context))
    }
}

impl MonitorExport {
    fn query(&self, c: &Connection) -> Result<Query, String> {
        let mut query = Query::default().with("on_disk", self.on_disk.to_string());
        query = query.with("follow", self.follow.to_string());
        let given = |value: &Option<String>| value.clone().filter(|v| !v.is_empty());
        for (name, value) in [("service_name", &self.service_name), ("logs_since", &self.logs_since)] {
            if let Some(value) = given(value) {
                query = query.with(name, value);
            }
        }
        if let Some(prefix) = given(&self.node_id) {
            if let Some(text) = objects::too_short(&prefix, "Node ID") {
                return Err(text);
            }
            query = query.with("node_id", text(&objects::node(c, &prefix, true, true)?, "ID"));
        }
        if let Some(server) = given(&self.server_id) {
            query = query.with("server_id", server);
        }
        Ok(query)
    }

    fn print(&self, c: &Connection, context: &mut Context<'_, '_>) -> Result<u8, String> {
        let query = self.query(c)?;
        let failed = |e| format!("Error starting monitor: {e}");
        c.wait(async {
            let work = async {
                let mut frames = c.client.frames("/v1/agent/monitor/export", &query).await.map_err(failed)?;
                while let Some(event) = frames.next().await.map_err(failed)? {
                    if let Event::Data(data) = event
                        && !context.ui.bytes(&data)
                    {
                        break;
                    }
                }
                Ok(0)
            };
            tokio::select! {
                done = work => done,
                Ok(()) = tokio::signal::ctrl_c() => Ok(0),
            }
        })
    }
}

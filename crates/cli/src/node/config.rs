//! `node config`: the servers that a node's agent knows (`docs/spec/cli.md §10.2`).

use crate::prelude::*;

/// View or change the server list of a client
///
/// Applies to the contacted agent. With -update-servers, the arguments are the RPC addresses of its servers.
#[derive(Debug, clap::Parser)]
pub struct NodeConfig {
    /// Print the known servers
    #[arg(long)]
    pub servers: bool,
    /// Replace the server list by the arguments
    #[arg(long)]
    pub update_servers: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "[server]...")]
    pub(crate) optional_args: Vec<String>,
}

impl Run for NodeConfig {
    const META: Meta = Meta::new("node config").former_names(&[FormerName::deprecated("client-config")]).examples(&[
        ("List the servers of a client", "encamp node config -servers"),
        ("Replace the servers of a client", "encamp node config -update-servers 10.0.0.11:4647 10.0.0.12:4647"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.servers && !self.update_servers {
            return context.usage_error("The '-servers' or '-update-servers' flag(s) must be set");
        }
        if self.update_servers && self.optional_args.is_empty() {
            return context.usage_error("If the '-update-servers' flag is set, the addresses of servers must be given");
        }
        context.connected(&self.general, |c, context| {
            if self.update_servers {
                c.ask(c.client.set_agent_servers(&self.optional_args), "Error updating server list")?;
                context.ui.output("Updated server list");
                return Ok(0);
            }
            for server in c.ask(c.client.agent_servers(), "Error querying server list")? {
                context.ui.output(&server);
            }
            Ok(0)
        })
    }
}

//! `node intro`: introduction tokens for new nodes (`docs/spec/cli.md §10.2`).

use crate::object_commands::ObjectFlags;
use crate::prelude::*;
use encamp_model::duration::parse_duration;

/// Create an introduction token for a node
///
/// A new node presents the token when it registers. Provide it to the agent in the file intro_token.jwt in its state
/// directory, with -client-intro-token, or in NOMAD_CLIENT_INTRO_TOKEN.
#[derive(Debug, clap::Parser)]
pub struct NodeIntroCreate {
    /// Name of the node. Default: any
    #[arg(long, value_name = "name")]
    pub node_name: Option<String>,
    /// Pool of the node. Default: default
    #[arg(long, value_name = "pool")]
    pub node_pool: Option<String>,
    /// Validity of the token. Default: as configured on the servers
    #[arg(long, value_name = "duration", default_value = "0s", hide_default_value = true, value_parser = parse_duration)]
    pub ttl: i64,
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
}

impl Run for NodeIntroCreate {
    const META: Meta = Meta::new("node intro create").examples(&[
        ("Create a token with which any node can join", "encamp node intro create"),
        (
            "Create a token for one node of a pool, valid for ten minutes",
            "encamp node intro create -node-name worker-7 -node-pool gpu -ttl 10m",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.flags.general, |c, context| {
            let formatted = self.flags.format.wanted()?;
            let (name, pool) = (self.node_name.unwrap_or_default(), self.node_pool.unwrap_or_default());
            let made = c.client.introduce_node(&name, &pool, self.ttl);
            let token = c.ask(made, "Error generating client introduction token")?;
            if formatted {
                return self.flags.format.print(context.ui, &token, "*api.ACLIdentityClientIntroductionTokenResponse");
            }
            let jwt = token.jwt.expose();
            context.ui.output(&format!("Successfully generated client introduction token:\n\n{jwt}"));
            Ok(0)
        })
    }
}

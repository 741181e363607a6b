//! `node eligibility`: the scheduling eligibility of a node (`docs/spec/cli.md §10.2`).

use crate::prelude::*;
use encamp_model::quoted;

/// Toggle the scheduling eligibility of a node
///
/// An ineligible node keeps its allocations but accepts no new ones. The argument is the node ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NodeEligibility {
    /// Mark the node as eligible for scheduling
    #[arg(long)]
    pub enable: bool,
    /// Mark the node as ineligible for scheduling
    #[arg(long)]
    pub disable: bool,
    /// Select the node of the contacted agent
    #[arg(long = "self")]
    pub own: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "[node]", add = CompleteWith::Live(Objects::Nodes))]
    pub(crate) args: Vec<String>,
}

impl Run for NodeEligibility {
    const META: Meta = Meta::new("node eligibility").examples(&[
        ("Make a node ineligible for new allocations", "encamp node eligibility -disable f7476465"),
        ("Make the node of the contacted agent eligible again", "encamp node eligibility -enable -self"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.enable == self.disable {
            return context.usage_error("Either the '-enable' or '-disable' flag must be set");
        }
        let prefix = match (self.args.as_slice(), self.own) {
            ([], true) => "",
            ([prefix], _) => prefix.as_str(),
            _ => return context.argument_error("Node ID must be specified if -self isn't being used"),
        };
        context.connected(&self.general, |c, context| {
            let id = super::meant(c, self.own, prefix, "Identifier")?;
            c.ask(c.client.set_node_eligibility(&id, self.enable), "Error updating scheduling eligibility")?;
            let set = match self.enable {
                true => encamp_model::NodeEligibility::Eligible,
                false => encamp_model::NodeEligibility::Ineligible,
            };
            context.ui.output(&format!("Node {} scheduling eligibility set: {set} for scheduling", quoted(&id)));
            Ok(0)
        })
    }
}

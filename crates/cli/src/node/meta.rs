//! `node meta`: dynamic node metadata (`docs/spec/cli.md §10.2`).

use serde_json::{Map, Value};

use super::meant;
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::connection::Connection;
use crate::context::Context;
use crate::data;
use crate::error::{CommandResult, ErrorContext};
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::render::table::pairs;

/// Modify node metadata
///
/// The arguments are key=value pairs. They persist across restarts of the agent and take precedence over its
/// configuration.
#[derive(Debug, clap::Parser)]
pub struct NodeMetaApply {
    /// Node ID. Default: the node of the contacted agent
    #[arg(long, value_name = "id", add = CompleteWith::Live(Objects::Nodes))]
    pub node_id: Option<String>,
    /// Keys to unset, separated by commas
    #[arg(long, value_name = "keys")]
    pub unset: Option<String>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "[key=value]...")]
    pub(crate) optional_args: Vec<String>,
}

/// The full ID of the selected node; empty for the node of the contacted agent.
fn node_id(c: &Connection, given: Option<&str>) -> CommandResult<String> {
    match given.filter(|id| !id.is_empty()) {
        None => Ok(String::new()),
        Some(prefix) => meant(c, false, prefix, "Node ID"),
    }
}

impl Run for NodeMetaApply {
    const META: Meta = Meta::new("node meta apply").examples(&[
        ("Set metadata of the node of the contacted agent", "encamp node meta apply rack=r17 owner=web"),
        ("Remove metadata of a node", "encamp node meta apply -node-id f7476465 -unset owner"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let removed = self.unset.as_deref().unwrap_or_default().split(',').map(str::trim).filter(|key| !key.is_empty());
        let mut meta: Map<String, Value> = removed.map(|key| (key.to_string(), Value::Null)).collect();
        for pair in &self.optional_args {
            let Some((key, value)) = pair.split_once('=') else {
                return context.failure(&format!("Invalid metadata pair {pair:?}: it must have the form key=value"));
            };
            meta.insert(key.into(), value.into());
        }
        if meta.is_empty() {
            return context.failure("Must specify -unset or at least 1 key=value pair");
        }
        context.connected(&self.general, |c, _| {
            let id = node_id(c, self.node_id.as_deref())?;
            let done = c.wait(c.client.set_node_meta(&id, &Value::Object(meta)));
            done.context("Error applying dynamic node metadata")?;
            Ok(0)
        })
    }
}

/// Read node metadata
///
/// Shows all metadata of a node, and which of it is dynamic and which is set by the configuration.
#[derive(Debug, clap::Parser)]
pub struct NodeMetaRead {
    /// Node ID. Default: the node of the contacted agent
    #[arg(long, value_name = "id", add = CompleteWith::Live(Objects::Nodes))]
    pub node_id: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for NodeMetaRead {
    const META: Meta = Meta::new("node meta read").examples(&[
        ("Show the metadata of the node of the contacted agent", "encamp node meta read"),
        ("Print the metadata of a node as JSON", "encamp node meta read -json -node-id f7476465"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let id = node_id(c, self.node_id.as_deref())?;
            let read = c.wait(c.client.node_meta(&id));
            let (meta, _) = read.context("Error reading dynamic node metadata")?;
            if self.format.wanted()? {
                return self.format.print(context.ui, &meta, "*api.NodeMetaResponse");
            }
            context.ui.output_markup("[bold]All Meta[reset]");
            context.ui.output(&block(&meta, "Meta"));
            for (heading, member) in [("Dynamic Meta", "Dynamic"), ("Static Meta", "Static")] {
                context.ui.output_markup(&format!("\n[bold]{heading}[reset]"));
                context.ui.output(&block(&meta, member));
            }
            Ok(0)
        })
    }
}

/// The keys and values; an unset key has the value `<unset>`.
fn block(meta: &Value, member: &str) -> String {
    let rows: Vec<(&String, &str)> =
        data::map(meta, member).map(|(key, value)| (key, value.as_str().unwrap_or("<unset>"))).collect();
    pairs(&rows)
}

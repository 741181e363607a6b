//! `node meta`: dynamic node metadata (`docs/spec/cli.md §10.2`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::meant;
use crate::object_commands::ObjectFlags;
use crate::prelude::*;
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
            c.ask(c.client.set_node_meta(&id, &Value::Object(meta)), "Error applying dynamic node metadata")?;
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
    pub(crate) flags: ObjectFlags,
}

impl Run for NodeMetaRead {
    const META: Meta = Meta::new("node meta read").examples(&[
        ("Show the metadata of the node of the contacted agent", "encamp node meta read"),
        ("Print the metadata of a node as JSON", "encamp node meta read -json -node-id f7476465"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.flags.general, |c, context| {
            let id = node_id(c, self.node_id.as_deref())?;
            let meta = c.ask(c.client.node_meta(&id), "Error reading dynamic node metadata")?;
            if self.flags.format.wanted()? {
                return self.flags.format.print(context.ui, &meta, "*api.NodeMetaResponse");
            }
            context.ui.output_markup("[bold]All Meta[reset]");
            context.ui.output(&block(&meta.meta));
            for (heading, keys) in [("Dynamic Meta", &meta.dynamic), ("Static Meta", &meta.r#static)] {
                context.ui.output_markup(&format!("\n[bold]{heading}[reset]"));
                context.ui.output(&block(keys));
            }
            Ok(0)
        })
    }
}

/// The keys and values; an unset key has the value `<unset>`.
fn block(keys: &BTreeMap<String, Option<String>>) -> String {
    let rows: Vec<_> = keys.iter().map(|(key, value)| (key, value.as_deref().unwrap_or("<unset>"))).collect();
    pairs(&rows)
}

//! `node pool list`, `node pool info` (`docs/spec/cli.md §10.3`).

use serde_json::Value;

use super::{as_shown, compact, find, identity_ttl};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::context::Context;
use crate::data::{self, text};
use crate::error::ErrorContext;
use crate::format::{FormatFlags, PageFlags, next_page};
use crate::general::GeneralFlags;
use crate::lookup_name;
use crate::render::table::pairs;
use encamp_api::Query;

/// List node pools
///
/// Lists the node pools of the cluster.
#[derive(Debug, clap::Parser)]
pub struct NodePoolList {
    #[command(flatten)]
    pub(crate) page: PageFlags,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for NodePoolList {
    const META: Meta = Meta::new("node pool list").examples(&[
        ("List the node pools", "encamp node pool list"),
        ("List the node pools whose names begin with a word", "encamp node pool list -filter 'Name matches \"^gpu\"'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let query = self.page.query(Query::default());
            let read = c.wait(c.client.rows::<Value>("/v1/node/pools", &query));
            let (pools, meta) = read.context("Error querying node pools")?;
            if self.format.wanted()? {
                let shown: Vec<Value> = pools.iter().map(as_shown).collect();
                if !self.format.json {
                    return self.format.print(context.ui, &shown, "[]*api.NodePool");
                }
                context.ui.output(&compact_list(&pools));
                return Ok(0);
            }
            context.ui.output(&lookup_name::listed(&pools));
            next_page(context, &meta);
            Ok(0)
        })
    }
}

/// One pool per line.
fn compact_list(pools: &[Value]) -> String {
    if pools.is_empty() {
        return "[]".into();
    }
    let lines: Vec<String> = pools.iter().map(|pool| format!("    {}", compact(pool))).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}

/// Display information about a node pool
///
/// The argument is the name of the pool or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NodePoolInfo {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "node-pool", add = CompleteWith::Live(Objects::NodePools))]
    pub(crate) prefix: String,
}

impl Run for NodePoolInfo {
    const META: Meta = Meta::new("node pool info").examples(&[
        ("Show a node pool", "encamp node pool info gpu"),
        ("Print a node pool as JSON", "encamp node pool info -json gpu"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = &self.prefix;
        context.connected(&self.general, |c, context| {
            let pool = find(c, prefix)?;
            if self.format.wanted()? {
                if !self.format.json {
                    return self.format.print(context.ui, &as_shown(&pool), "*api.NodePool");
                }
                context.ui.output(&compact(&pool));
                return Ok(0);
            }
            let mut rows =
                vec![("Name", text(&pool, "Name").to_string()), ("Description", text(&pool, "Description").into())];
            let ttl = identity_ttl(&pool);
            if !ttl.is_empty() {
                rows.push(("Node Identity TTL", ttl));
            }
            context.ui.output(&pairs(&rows));
            context.ui.output_markup("\n[bold]Metadata[reset]");
            let meta: Vec<(&String, &str)> =
                data::map(&pool, "Meta").map(|(key, value)| (key, value.as_str().unwrap_or_default())).collect();
            context.ui.output(&if meta.is_empty() { "No metadata".into() } else { pairs(&meta) });
            context.ui.output_markup("\n[bold]Scheduler Configuration[reset]");
            context.ui.output(&scheduler_configuration(&pool));
            Ok(0)
        })
    }
}

fn scheduler_configuration(pool: &Value) -> String {
    let Some(config) = pool.get("SchedulerConfiguration").filter(|c| !c.is_null()) else {
        return "No scheduler configuration".into();
    };
    let mut rows = vec![("Scheduler Algorithm", text(config, "SchedulerAlgorithm").to_string())];
    if let Some(enabled) = config.get("MemoryOversubscriptionEnabled").and_then(Value::as_bool) {
        rows.push(("Memory Oversubscription Enabled", enabled.to_string()));
    }
    pairs(&rows)
}

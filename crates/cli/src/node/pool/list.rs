//! `node pool list`, `node pool info` (`docs/spec/cli.md §10.3`).

use super::NodePool;
use crate::format::next_page;
use crate::lookup_name;
use crate::object_commands::{Object, Verb};
use crate::prelude::*;
use crate::render::table::{Columns, pairs};
use encamp_api::{Query, Received};
use encamp_model::quoted;

/// Lists node pools.
#[derive(Debug, clap::Parser)]
#[command(about = NodePool::LIST.about(), long_about = NodePool::LIST.help)]
pub struct NodePoolList {
    #[command(flatten)]
    pub(crate) page: PageFlags,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for NodePoolList {
    const META: Meta = NodePool::LIST.meta;

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let query = self.page.query(Query::default());
            let read = c.wait(c.client.objects::<NodePool>(&query));
            let (pools, meta) = read.context(NodePool::LIST.failed)?;
            if self.format.wanted()? {
                if !self.format.json {
                    let shown: Vec<NodePool> = pools.iter().map(|pool| pool.as_shown()).collect();
                    return self.format.print(context.ui, &shown, NodePool::LIST_TYPE_NAME);
                }
                context.ui.output(&compact_list(&pools)?);
                return Ok(0);
            }
            context.ui.output(&NodePool::table(&pools));
            next_page(context, &meta);
            Ok(0)
        })
    }
}

/// One pool per line.
fn compact_list(pools: &[Received<NodePool>]) -> CommandResult<String> {
    if pools.is_empty() {
        return Ok("[]".into());
    }
    let lines: Vec<String> =
        pools.iter().map(|pool| Ok(format!("    {}", pool.compact()?))).collect::<CommandResult<_>>()?;
    Ok(format!("[\n{}\n]", lines.join(",\n")))
}

impl Object for NodePool {
    const ARGUMENT: (&'static str, CompleteWith) = ("node-pool", CompleteWith::Live(Objects::NodePools));
    const TYPE_NAME: &'static str = "*api.NodePool";
    const SHOW: Verb = Verb {
        help: "Display information about a node pool\n\nThe argument is the name of the pool or a prefix of it.",
        failed: "Error retrieving node pool",
        meta: Meta::new("node pool info").examples(&[
            ("Show a node pool", "encamp node pool info gpu"),
            ("Print a node pool as JSON", "encamp node pool info -json gpu"),
        ]),
    };
    const LIST: Verb = Verb {
        help: "List node pools\n\nLists the node pools of the cluster.",
        failed: "Error querying node pools",
        meta: Meta::new("node pool list").examples(&[
            ("List the node pools", "encamp node pool list"),
            (
                "List the node pools whose names begin with a word",
                "encamp node pool list -filter 'Name matches \"^gpu\"'",
            ),
        ]),
    };
    const LIST_TYPE_NAME: &'static str = "[]*api.NodePool";
    const NONE: Option<&'static str> = None;
    const COLUMNS: &'static Columns<'static, NodePool> =
        &[("Name", &|p| p.name.clone()), ("Description", &|p| p.description.clone())];
    const DELETE: Verb = Verb {
        help: "Delete a node pool\n\nThe argument is the name of the pool. A pool with nodes or with running jobs \
             cannot be deleted.",
        failed: "Error deleting node pool",
        meta: Meta::new("node pool delete").examples(&[
            ("Delete a node pool", "encamp node pool delete batch"),
            (
                "Delete a node pool with the token of an administrator",
                "encamp node pool delete -token $ADMIN_TOKEN gpu",
            ),
        ]),
    };
    const DELETED: fn(&str) -> String = |name| format!("Successfully deleted node pool {}!", quoted(name));

    fn print(&self, context: &mut Context<'_, '_>) {
        let mut rows = vec![("Name", &self.name), ("Description", &self.description)];
        if !self.node_identity_ttl.is_empty() {
            rows.push(("Node Identity TTL", &self.node_identity_ttl));
        }
        context.ui.output(&pairs(&rows));
        context.ui.output_markup("\n[bold]Metadata[reset]");
        let meta: Vec<(&String, &String)> = self.meta.iter().flatten().collect();
        context.ui.output(&if meta.is_empty() { "No metadata".into() } else { pairs(&meta) });
        context.ui.output_markup("\n[bold]Scheduler Configuration[reset]");
        let Some(config) = &self.scheduler_configuration else {
            context.ui.output("No scheduler configuration");
            return;
        };
        let mut rows = vec![("Scheduler Algorithm", config.scheduler_algorithm.to_string())];
        if let Some(enabled) = config.memory_oversubscription_enabled {
            rows.push(("Memory Oversubscription Enabled", enabled.to_string()));
        }
        context.ui.output(&pairs(&rows));
    }

    fn print_as(pool: &Received<NodePool>, format: &FormatFlags, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        if !format.json {
            return format.print(context.ui, &pool.as_shown(), NodePool::TYPE_NAME);
        }
        context.ui.output(&pool.compact()?);
        Ok(0)
    }

    /// The pool with that name, or the only one with that prefix.
    fn find(c: &Connection, prefix: &str) -> CommandResult<Received<NodePool>> {
        let failed = NodePool::SHOW.failed;
        let pools = c.ask(c.client.objects(&Query::default().with("prefix", prefix)), failed)?;
        let none = CommandError::new(format!("No node pool with prefix {} found", quoted(prefix))).within(failed);
        lookup_name::by_name(pools, |p| p.name == prefix, Objects::NodePools, none)
    }
}

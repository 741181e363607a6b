//! `node status`: the list of nodes, or one node (`docs/spec/cli.md §10.1`).

use std::collections::BTreeMap;

use super::detail;
use crate::format::next_page;
use crate::objects::{self, NodeRow};
use crate::prelude::*;
use crate::render::table::{self, Column};
use crate::render::values;
use crate::web::hint::UiPage;
use encamp_api::Query;
use encamp_model::ClientStatus;

/// Display status information about nodes
///
/// Lists the nodes of the cluster, or shows one node: its attributes, its resource usage and its allocations. The
/// argument is the node ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NodeStatus {
    /// Show the node of the contacted agent
    #[arg(long = "self")]
    pub own: bool,
    /// Show detailed resource usage statistics
    #[arg(long)]
    pub stats: bool,
    /// In the list, show the number of running allocations per node
    #[arg(long)]
    pub allocs: bool,
    /// Show brief output
    #[arg(long)]
    pub short: bool,
    /// Show full identifiers, timestamps and all details of the node
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) page: PageFlags,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    /// In the list, show the operating systems
    #[arg(long)]
    pub os: bool,
    /// Print only identifiers
    #[arg(long)]
    pub quiet: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "node", add = CompleteWith::Live(Objects::Nodes))]
    pub(crate) optional_args: Vec<String>,
}

impl Run for NodeStatus {
    const META: Meta =
        Meta::new("node status").former_names(&[FormerName::accepted("node-status")]).paged().examples(&[
            ("List the nodes", "encamp node status"),
            ("Show a node with its resource usage", "encamp node status -stats f7476465"),
            ("List the nodes of a class", "encamp node status -filter 'NodeClass == \"large\"'"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = match self.optional_args.as_slice() {
            [] => None,
            [prefix] => Some(prefix.as_str()),
            _ => return context.usage_error("This command takes either one or no arguments"),
        };
        match prefix {
            None if !self.own => {
                if self.quiet && (self.verbose || self.format.json) {
                    return context.failure("-quiet cannot be used with -verbose or -json");
                }
                context.connected(&self.general, |c, context| self.list(c, context))
            }
            prefix => context.connected(&self.general, |c, context| self.one(c, context, prefix.unwrap_or_default())),
        }
    }
}

impl NodeStatus {
    fn list(&self, c: &Connection, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let mut query = Query::default();
        if self.os {
            query = query.with("os", "true");
        }
        let read = c.wait(c.client.rows::<NodeRow>("/v1/nodes", &self.page.query(query)));
        let (mut nodes, meta) = read.context("Error querying node status")?;
        objects::newest_first(&mut nodes);
        if self.format.wanted()? {
            return self.format.print(context.ui, &nodes, "[]*api.NodeListStub");
        }
        if nodes.is_empty() {
            context.ui.output("No nodes registered");
            return Ok(0);
        }
        if self.quiet {
            let ids: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
            context.ui.output(&ids.join("\n"));
        } else {
            let text = self.table(c, &nodes)?;
            context.ui.output(&text);
        }
        next_page(context, &meta);
        UiPage::nodes().show(c, self.ui, context);
        Ok(0)
    }

    fn table(&self, c: &Connection, nodes: &[NodeRow]) -> CommandResult<String> {
        let mut counts = BTreeMap::new();
        for node in nodes.iter().filter(|_| self.allocs) {
            let allocs = c.ask(c.client.node_allocations(&node.id), "Error querying node allocations")?;
            counts.insert(&node.id, allocs.iter().filter(|a| a.client_status == ClientStatus::Running).count());
        }
        let id = |node: &NodeRow| values::id(&node.id, self.verbose).to_string();
        let os = |node: &NodeRow| node.attributes.as_ref().and_then(|a| a.get("os.name")).cloned().unwrap_or_default();
        let count = |node: &NodeRow| counts.get(&node.id).map(usize::to_string).unwrap_or_default();
        let columns: [(bool, Column<'_, NodeRow>); 12] = [
            (true, ("ID", &id)),
            (true, ("Node Pool", &|n| n.node_pool.clone())),
            (true, ("DC", &|n| n.datacenter.clone())),
            (true, ("Name", &|n| n.name.clone())),
            (true, ("Class", &|n| n.node_class.clone())),
            (self.os, ("OS", &os)),
            (self.verbose, ("Address", &|n| n.address.clone())),
            (self.verbose, ("Version", &|n| n.version.clone())),
            (true, ("Drain", &|n| n.drain.to_string())),
            (true, ("Eligibility", &|n| n.scheduling_eligibility.to_string())),
            (true, ("Status", &|n| n.status.to_string())),
            (self.allocs, ("Running Allocs", &count)),
        ];
        let shown: Vec<_> = columns.into_iter().filter(|(shown, _)| *shown).map(|(_, column)| column).collect();
        Ok(table::columns(nodes, &shown))
    }

    fn one(&self, c: &Connection, context: &mut Context<'_, '_>, prefix: &str) -> CommandResult<u8> {
        let id = if self.own {
            objects::own_node(c)?
        } else {
            objects::long_enough(prefix, "Identifier")?;
            objects::node(c, prefix, self.verbose, false)?
        };
        let node = c.ask(c.client.node_as_sent(&id), "Error querying node info")?;
        if self.format.wanted()? {
            return self.format.print(context.ui, &node, "*api.Node");
        }
        let allocs = c.ask(c.client.node_allocations(&id), "Error querying node allocations")?;
        let view = detail::View { node: &node, allocs: &allocs, verbose: self.verbose, stats: self.stats };
        if self.short {
            view.print_short(context);
            return Ok(0);
        }
        view.print(c, context);
        UiPage::node(&id).show(c, self.ui, context);
        Ok(0)
    }
}

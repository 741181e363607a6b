//! `node status`: the list of nodes, or one node (`docs/spec/cli.md §10.1`).

use serde_json::Value;

use super::detail;
use crate::command::Run;
use crate::command_meta::{FormerName, Meta};
use crate::completion::values::{CompleteWith, Objects};
use crate::connection::Connection;
use crate::context::Context;
use crate::data::{self, text};
use crate::error::{CommandResult, ErrorContext};
use crate::format::{FormatFlags, PageFlags, next_page};
use crate::general::GeneralFlags;
use crate::objects;
use crate::render::table::{Form, table};
use crate::render::values;
use encamp_api::Query;
use encamp_model::{ClientStatus, Node};

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
    /// Accepted for compatibility; there is no web interface to open
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
        let read = c.wait(c.client.rows::<Value>("/v1/nodes", &self.page.query(query)));
        let (mut nodes, meta) = read.context("Error querying node status")?;
        data::newest_first(&mut nodes);
        if self.format.wanted()? {
            return self.format.print(context.ui, &nodes, "[]*api.NodeListStub");
        }
        if nodes.is_empty() {
            context.ui.output("No nodes registered");
            return Ok(0);
        }
        if self.quiet {
            let ids: Vec<&str> = nodes.iter().map(|node| text(node, "ID")).collect();
            context.ui.output(&ids.join("\n"));
        } else {
            let text = self.table(c, &nodes)?;
            context.ui.output(&text);
        }
        next_page(context, &meta);
        Ok(0)
    }

    fn table(&self, c: &Connection, nodes: &[Value]) -> CommandResult<String> {
        let mut header = "ID|Node Pool|DC|Name|Class".to_string();
        for (wanted, columns) in [(self.os, "|OS"), (self.verbose, "|Address|Version")] {
            if wanted {
                header.push_str(columns);
            }
        }
        header.push_str("|Drain|Eligibility|Status");
        if self.allocs {
            header.push_str("|Running Allocs");
        }
        let mut lines = vec![header];
        for node in nodes {
            let id = text(node, "ID");
            let mut cells = vec![values::id(id, self.verbose).to_string()];
            cells.extend(["NodePool", "Datacenter", "Name", "NodeClass"].map(|m| text(node, m).to_string()));
            if self.os {
                let os = node.get("Attributes").map(|a| text(a, "os.name")).unwrap_or_default();
                cells.push(os.into());
            }
            if self.verbose {
                cells.extend([text(node, "Address").to_string(), text(node, "Version").into()]);
            }
            cells.push(data::flag(node, "Drain").to_string());
            cells.extend([text(node, "SchedulingEligibility").to_string(), text(node, "Status").into()]);
            if self.allocs {
                let read = c.wait(c.client.node_allocations(id));
                let (allocs, _) = read.context("Error querying node allocations")?;
                cells.push(allocs.iter().filter(|a| a.client_status == ClientStatus::Running).count().to_string());
            }
            lines.push(cells.join("|"));
        }
        Ok(table(&lines, Form::List))
    }

    fn one(&self, c: &Connection, context: &mut Context<'_, '_>, prefix: &str) -> CommandResult<u8> {
        let id = if self.own {
            objects::own_node(c)?
        } else {
            objects::long_enough(prefix, "Identifier")?;
            text(&objects::node(c, prefix, self.verbose, false)?, "ID").to_string()
        };
        let read = c.wait(c.client.node_value(&id));
        let (value, _) = read.context("Error querying node info")?;
        if self.format.wanted()? {
            return self.format.print(context.ui, &value, "*api.Node");
        }
        let node: Node = data::typed(&value)?;
        let read = c.wait(c.client.node_allocations(&id));
        let (allocs, _) = read.context("Error querying node allocations")?;
        let view = detail::View { node: &node, allocs: &allocs, verbose: self.verbose, stats: self.stats };
        if self.short {
            view.print_short(context);
            return Ok(0);
        }
        view.print(c, context);
        Ok(0)
    }
}

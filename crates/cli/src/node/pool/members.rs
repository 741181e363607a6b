//! `node pool jobs`, `node pool nodes` (`docs/spec/cli.md §10.3`).

use super::NodePool;
use crate::format::next_page;
use crate::lookup;
use crate::object_commands::Object;
use crate::objects::{newest_first, node_table};
use crate::prelude::*;
use encamp_api::{Query, Received};
use encamp_model::responses::JobListStub;

/// List the jobs of a node pool
///
/// The argument is the name of the pool or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NodePoolJobs {
    #[command(flatten)]
    pub(crate) page: PageFlags,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "node-pool", add = CompleteWith::Live(Objects::NodePools))]
    pub(crate) prefix: String,
}

impl Run for NodePoolJobs {
    const META: Meta = Meta::new("node pool jobs").examples(&[
        ("List the jobs of a node pool", "encamp node pool jobs default"),
        ("Print the IDs of the jobs of a pool", "encamp node pool jobs -t '{{range .}}{{.ID}} {{end}}' default"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let pool = NodePool::find(c, &self.prefix)?;
            let query = self.page.query(Query::default());
            let read = c.wait(c.client.node_pool_members::<Received<JobListStub>>(&pool.name, "jobs", &query));
            let (jobs, meta) = read.context("Error querying jobs")?;
            if jobs.is_empty() {
                context.ui.output("No jobs");
                return Ok(0);
            }
            if self.format.wanted()? {
                return self.format.print(context.ui, &jobs, "[]*api.JobListStub");
            }
            let stubs: Vec<JobListStub> = jobs.into_iter().map(|job| job.object).collect();
            context.ui.output(&lookup::listed(&stubs, c.everywhere(), &c.zone));
            next_page(context, &meta);
            Ok(0)
        })
    }
}

/// List the nodes of a node pool
///
/// The argument is the name of the pool or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NodePoolNodes {
    #[command(flatten)]
    pub(crate) page: PageFlags,
    #[command(flatten)]
    pub(crate) list: ListFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "node-pool", add = CompleteWith::Live(Objects::NodePools))]
    pub(crate) prefix: String,
}

impl Run for NodePoolNodes {
    const META: Meta = Meta::new("node pool nodes").examples(&[
        ("List the nodes of a pool", "encamp node pool nodes default"),
        ("List the nodes of a pool that are ready", "encamp node pool nodes -filter 'Status == \"ready\"' default"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let pool = NodePool::find(c, &self.prefix)?;
            let query = self.page.query(Query::default());
            let read = c.wait(c.client.node_pool_members(&pool.name, "nodes", &query));
            let (mut nodes, meta) = read.context("Error querying nodes")?;
            if nodes.is_empty() {
                context.ui.output("No nodes");
                return Ok(0);
            }
            newest_first(&mut nodes);
            if self.list.format.wanted()? {
                return self.list.format.print(context.ui, &nodes, "[]*api.NodeListStub");
            }
            context.ui.output(&node_table(&nodes, self.list.verbose));
            next_page(context, &meta);
            Ok(0)
        })
    }
}

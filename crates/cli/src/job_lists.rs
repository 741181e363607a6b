//! `job allocs` and `job deployments` (`docs/spec/cli.md §8.9`).

use serde_json::Value;

use super::data;
use super::prelude::*;
use super::render::{deployments, objects};
use super::{deployment_list, job_status, lookup};
use encamp_api::{Query, path};
use encamp_model::{AllocListStub, Deployment, JobType, api};

/// List the allocations of a job
///
/// Lists the allocations of a job, newest first. The argument is the job ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobAllocs {
    /// Show all allocations with this job ID, including those of earlier jobs
    #[arg(long)]
    pub all: bool,
    /// Show full identifiers and timestamps
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

/// A query in the given namespace, or in that of the connection.
fn within(namespace: Option<&str>) -> Query {
    Query { namespace: namespace.map(str::to_string), ..Query::default() }
}

impl Run for JobAllocs {
    const META: Meta = Meta::new("job allocs").examples(&[
        ("List the allocations of a job", "encamp job allocs web"),
        ("Print the IDs of the allocations of a job", "encamp job allocs -t '{{range .}}{{println .ID}}{{end}}' web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| self.show(c, &self.given, context))
    }
}

impl JobAllocs {
    fn show(&self, connection: &Connection, given: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let formatted = self.format.wanted()?;
        let client = &connection.client;
        let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
        let namespace = namespace.as_deref();
        let query = within(namespace).with("all", self.all.to_string());
        let rows = connection.wait(client.rows::<Value>(&path("/v1/job/", &id, "/allocations"), &query));
        const FAILED: &str = "Error retrieving allocations";
        let (mut rows, _) = rows.context(FAILED)?;
        if formatted {
            data::newest_first(&mut rows);
            let list = objects::list(rows, objects::allocation_stub);
            return self.format.print(context.ui, &list, "[]*api.AllocationListStub");
        }
        let allocs: Result<Vec<AllocListStub>, _> = rows.iter().map(encamp_api::json::from_value).collect();
        let allocs = allocs.context(FAILED)?;
        // Only the maximum run durations come from the job; the rest of the output does not depend on it.
        let job = match allocs.iter().any(|a| matches!(a.job_type, JobType::Batch | JobType::Sysbatch)) {
            true => connection.wait(client.job_within(namespace, &id)).map(|(job, _)| job).unwrap_or_default(),
            false => api::Job::default(),
        };
        context.ui.output(&job_status::allocation_table(&job, &allocs, self.verbose, connection));
        Ok(0)
    }
}

/// List the deployments of a job
///
/// Lists the deployments of a job, newest first. The argument is the job ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobDeployments {
    /// Show all deployments with this job ID, including those of earlier jobs
    #[arg(long)]
    pub all: bool,
    /// Show only the latest deployment, with its task groups
    #[arg(long)]
    pub latest: bool,
    #[command(flatten)]
    pub(crate) list: ListFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

impl Run for JobDeployments {
    const META: Meta = Meta::new("job deployments").examples(&[
        ("List the deployments of a job", "encamp job deployments web"),
        ("Show the latest deployment of a job", "encamp job deployments -latest web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| self.show(c, &self.given, context))
    }
}

impl JobDeployments {
    fn show(&self, connection: &Connection, given: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let formatted = self.list.format.wanted()?;
        let client = &connection.client;
        let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
        let query = within(namespace.as_deref());
        const FAILED: &str = "Error retrieving deployments";
        if !self.latest {
            let query = query.with("all", self.all.to_string());
            let rows = connection.wait(client.rows::<Value>(&path("/v1/job/", &id, "/deployments"), &query));
            let (rows, _) = rows.context(FAILED)?;
            return deployment_list::print(rows, &self.list, context);
        }
        let read = connection.wait(client.get::<Value>(&path("/v1/job/", &id, "/deployment"), &query));
        let (value, _) = read.context(FAILED)?;
        if formatted {
            return self.list.format.print(context.ui, &objects::deployment(value), "*api.Deployment");
        }
        let latest: Option<Deployment> = encamp_api::json::from_value(&value).context(FAILED)?;
        match latest {
            Some(latest) => context.ui.output_markup(&deployments::block(&latest, self.list.verbose)),
            None => context.ui.output("No deployment found"),
        }
        Ok(0)
    }
}

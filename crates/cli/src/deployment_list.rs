//! `deployment list`: deployments (`docs/spec/cli.md §11.3`).

use serde_json::Value;

use super::data;
use super::prelude::*;
use super::render::{deployments, objects};
use encamp_api::Query;
use encamp_model::Deployment;

/// List deployments
///
/// Lists all deployments, newest first.
#[derive(Debug, clap::Parser)]
pub struct DeploymentList {
    /// Filter expression that deployments must match
    #[arg(long, value_name = "expression")]
    pub filter: Option<String>,
    #[command(flatten)]
    pub(crate) list: ListFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for DeploymentList {
    const META: Meta = Meta::new("deployment list").paged().examples(&[
        ("List the deployments", "encamp deployment list"),
        ("List the successful deployments as JSON", "encamp deployment list -json -filter 'Status == \"successful\"'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| list(c, self.filter.as_deref(), &self.list, context))
    }
}

/// Prints all deployments, or those that match.
pub fn list(
    connection: &Connection,
    filter: Option<&str>,
    flags: &ListFlags,
    context: &mut Context<'_, '_>,
) -> CommandResult<u8> {
    flags.format.wanted()?;
    let mut query = Query::default();
    if let Some(filter) = filter.filter(|f| !f.is_empty()) {
        query = query.with("filter", filter);
    }
    let rows = connection.wait(connection.client.rows::<Value>("/v1/deployments", &query));
    let (rows, _) = rows.context("Error retrieving deployments")?;
    print(rows, flags, context)
}

/// Prints deployments as the API returns them.
pub fn print(mut rows: Vec<Value>, flags: &ListFlags, context: &mut Context<'_, '_>) -> CommandResult<u8> {
    if flags.format.wanted()? {
        data::newest_first(&mut rows);
        let list = objects::list(rows, objects::deployment);
        return flags.format.print(context.ui, &list, "[]*api.Deployment");
    }
    let all: Result<Vec<Deployment>, _> = rows.iter().map(encamp_api::json::from_value).collect();
    let mut all = all.context("Error retrieving deployments")?;
    deployments::sort(&mut all);
    context.ui.output(&deployments::listed(&all, flags.verbose));
    Ok(0)
}

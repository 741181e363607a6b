//! `deployment status`: one deployment, or all (`docs/spec/cli.md §11.3`).

use std::time::Duration;

use serde_json::Value;

use super::flags::parse_wait;
use super::monitor::{Lines, deployment};
use super::prelude::*;
use super::render::{deployments, objects, values};
use super::{deployment_list, lookup_id};
use crate::web::hint::UiPage;
use encamp_api::{Query, path};
use encamp_model::quoted;

/// Display the status of a deployment
///
/// Shows the status of a deployment and of each of its task groups. The argument is the deployment ID or a prefix of
/// it; without an argument, all deployments are listed.
#[derive(Debug, clap::Parser)]
pub struct DeploymentStatus {
    /// Monitor the deployment until it completes
    #[arg(long)]
    pub monitor: bool,
    /// With -monitor, how long to wait for changes before the deployment is printed again
    #[arg(long, value_name = "duration", default_value = "2s", value_parser = parse_wait)]
    pub wait: Duration,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) list: ListFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "deployment", add = CompleteWith::Live(Objects::Deployments))]
    pub(crate) optional_args: Vec<String>,
}

impl Run for DeploymentStatus {
    const META: Meta = Meta::new("deployment status").examples(&[
        ("Show a deployment", "encamp deployment status 5456bd7a"),
        (
            "Print the status of each deployment",
            "encamp deployment status \\
    -t '{{range .}}{{.JobID}} {{.Status}} {{end}}'",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let id = match self.optional_args.as_slice() {
            [] => None,
            [id] => Some(id),
            _ => return context.usage_error("This command takes one argument: <deployment id>"),
        };
        if self.monitor && (self.list.format.json || self.list.format.template.is_some()) {
            return context.failure("The monitor flag cannot be used with the '-json' or '-t' flags");
        }
        context.connected(&self.general, |connection, context| match id {
            None => deployment_list::list(connection, None, &self.list, context),
            Some(id) => self.show(connection, id, context),
        })
    }
}

impl DeploymentStatus {
    fn show(&self, connection: &Connection, given: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let formatted = self.list.format.wanted()?;
        let (found, meta) = lookup_id::deployment(connection, given, self.list.verbose)?;
        if self.monitor {
            let mut lines = Lines::plain(context.ui, connection.zone.clone());
            lines.detail(&format!("Monitoring deployment {}", quoted(values::id(&found.id, self.list.verbose))));
            let watch =
                deployment::Watch { verbose: self.list.verbose, wait: Some(self.wait), index: Some(meta.index.max(1)) };
            connection.wait(deployment::watch(&connection.client, &mut lines, &found.id, &watch));
            return Ok(0);
        }
        if formatted {
            let to = path("/v1/deployment/", &found.id, "");
            let read = connection.wait(connection.client.get::<Value>(&to, &Query::default()));
            let (value, _) = read.context("Error retrieving deployment")?;
            return self.list.format.print(context.ui, &objects::deployment(value), "*api.Deployment");
        }
        context.ui.output_markup(&deployments::block(&found, self.list.verbose));
        UiPage::deployments(&found.namespace, &found.job_id).show(connection, self.ui, context);
        Ok(0)
    }
}

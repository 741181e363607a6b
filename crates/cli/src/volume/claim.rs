//! `volume claim list`, `volume claim delete` (`docs/spec/cli.md §12.3`).

use std::io::IsTerminal;

use serde_json::Value;

use super::within;
use crate::prelude::*;
use crate::prompt;
use crate::render::table::{self, Columns};
use crate::render::values;
use encamp_api::{ApiError, Query, Received};
use encamp_model::TaskGroupHostVolumeClaim;

/// List the claims on host volumes
///
/// Lists the claims of task groups on sticky host volumes. The argument is the claim ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct VolumeClaimList {
    /// List only claims of this job
    #[arg(long, value_name = "id")]
    pub job: Option<String>,
    /// List only claims of task groups of this name
    #[arg(long, value_name = "name")]
    pub group: Option<String>,
    /// List only claims on volumes of this name
    #[arg(long, value_name = "name")]
    pub volume_name: Option<String>,
    #[command(flatten)]
    pub(crate) list: ListFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id")]
    pub(crate) optional_args: Vec<String>,
}

impl Run for VolumeClaimList {
    const META: Meta = Meta::new("volume claim list").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("List the claims on host volumes", "encamp volume claim list"),
        ("List the claims of a job", "encamp volume claim list -job db"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = match self.optional_args.as_slice() {
            [] => None,
            [prefix] => Some(prefix.as_str()),
            _ => return context.usage_error("This command takes either no arguments or one: <id>"),
        };
        context.connected(&self.general, |c, context| {
            let parameters = [
                ("job_id", self.job.as_deref()),
                ("task_group", self.group.as_deref()),
                ("volume_name", self.volume_name.as_deref()),
                ("prefix", prefix),
            ];
            let claims = claims(c, &parameters).context("Error querying task group host volume claims")?;
            if self.list.format.wanted()? {
                return self.list.format.print(context.ui, &claims, "[]*api.TaskGroupHostVolumeClaim");
            }
            if claims.is_empty() {
                context.ui.output("No task group host volume claims found");
            } else {
                context.ui.output(&listed(&claims, self.list.verbose));
            }
            Ok(0)
        })
    }
}

type Claim = Received<TaskGroupHostVolumeClaim>;

/// The claims that these parameters select; those without a value count as not given.
fn claims(c: &Connection, parameters: &[(&'static str, Option<&str>)]) -> Result<Vec<Claim>, ApiError> {
    let given = parameters.iter().filter_map(|(name, value)| Some((*name, value.filter(|v| !v.is_empty())?)));
    let query = given.fold(Query::default(), |query, (name, value)| query.with(name, value));
    c.wait(c.client.rows("/v1/volumes/claims", &query)).map(|(claims, _)| claims)
}

fn listed(claims: &[Claim], verbose: bool) -> String {
    let columns: &Columns<'_, Claim> = &[
        ("ID", &|claim| values::id(&claim.id, verbose).into()),
        ("Namespace", &|claim| claim.namespace.clone()),
        ("Job ID", &|claim| claim.job_id.clone()),
        ("Volume ID", &|claim| values::id(&claim.volume_id, verbose).into()),
        ("Volume Name", &|claim| claim.volume_name.clone()),
    ];
    table::columns(claims, columns)
}

/// Delete a claim on a host volume
///
/// Deletes the claim of a task group on a sticky host volume: the next allocation of the group may be placed on another
/// volume. The argument is the claim ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct VolumeClaimDelete {
    /// Answer yes to the question whether to delete the claim
    #[arg(long = "y")]
    pub yes: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id")]
    pub(crate) given: String,
}

impl Run for VolumeClaimDelete {
    const META: Meta = Meta::new("volume claim delete").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("Delete a claim without being asked", "encamp volume claim delete -y 7c0e5d41"),
        (
            "Delete a claim with the token of an administrator",
            "encamp volume claim delete -y -token $ADMIN_TOKEN 7c0e5d41",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.yes {
            if !std::io::stdin().is_terminal() {
                return context.failure("This command requires -y option when running in non-interactive mode");
            }
            match confirmed(context, &self.given) {
                Ok(true) => {}
                Ok(false) => return 0,
                Err(e) => return context.report(&e),
            }
        }
        context.connected(&self.general, |c, context| {
            const FAILED: &str = "Error deleting task group host volume claim";
            let found = claims(c, &[("prefix", Some(&self.given))]).context(FAILED)?;
            let (id, namespace) = match found.as_slice() {
                [claim] => (claim.id.as_str(), claim.namespace.as_str()),
                // The servers say that there is none.
                [] => (self.given.as_str(), ""),
                several => {
                    let table = listed(several, false);
                    return Err(CommandError::new(format!("Prefix matched multiple claims\n\n{table}")));
                }
            };
            let path = encamp_api::path("/v1/volumes/claim/", id, "");
            c.wait(c.client.delete::<Value>(&path, &within(namespace))).context(FAILED)?;
            context.ui.output(&format!("Task group host volume claim {id} successfully deleted"));
            Ok(0)
        })
    }
}

/// Asks until the answer is yes or no; the default is yes.
fn confirmed(context: &mut Context<'_, '_>, id: &str) -> CommandResult<bool> {
    let question = format!("[?] Are you sure you want to delete task group host volume claim {id}? [Y/n]");
    loop {
        let answer = prompt::ask(context.ui, &question).context("Failed to parse answer")?;
        match answer.to_ascii_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

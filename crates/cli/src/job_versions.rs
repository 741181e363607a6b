//! `job revert`, `job tag apply` and `job tag unset` (`docs/spec/cli.md §8.9`).

use super::exit_status::MONITORED;
use super::flags::parse_int;
use super::lookup;
use super::prelude::*;
use super::submitted::FollowFlags;
use encamp_model::quoted;

/// Revert to a prior version of a job
///
/// Registers a prior version of a job as its newest version. The arguments are the job ID or a prefix of it, and the
/// number or the tag of the version.
#[derive(Debug, clap::Parser)]
pub struct JobRevert {
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<job> <version|tag>", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) args: Vec<String>,
}

impl Run for JobRevert {
    const META: Meta = Meta::new("job revert").exit_status(MONITORED).examples(&[
        ("Revert a job to version 0", "encamp job revert web 0"),
        ("Revert a job to a tagged version without waiting", "encamp job revert -detach web stable"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [given, version] = self.args.as_slice() else {
            return context.usage_error("This command takes two arguments: <job> <version|tag>");
        };
        context.connected(&self.general, |connection, context| {
            let client = &connection.client;
            let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
            let namespace = namespace.as_deref();
            let number = match version.parse::<u64>() {
                Ok(number) => number,
                Err(_) => tagged(connection, namespace, &id, version)?,
            };
            let reverted = connection.wait(client.revert_job(namespace, &id, number));
            let (reverted, _) = reverted.context("Error retrieving job versions")?;
            Ok(self.follow.print_or_watch(connection, &reverted.eval_id, context))
        })
    }
}

/// The number of the version with that tag.
fn tagged(connection: &Connection, namespace: Option<&str>, id: &str, tag: &str) -> CommandResult<u64> {
    let read = connection.wait(connection.client.job_history(namespace, id, false, None, None));
    let (history, _) = read.context("Error retrieving job versions")?;
    let found = history.versions.iter().find(|v| v.version_tag.as_ref().is_some_and(|t| t.name == tag));
    let found = found.and_then(|v| v.version);
    found.ok_or_else(|| {
        CommandError::new(format!("Error retrieving job versions: tag {} not found on job {}", quoted(tag), quoted(id)))
    })
}

/// Tag a version of a job
///
/// Saves a tag with a version of a job. Tagged versions are not garbage collected. The argument is the job ID or a
/// prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobTagApply {
    /// The name
    #[arg(long, value_name = "name")]
    pub name: Option<String>,
    /// Description of the tag
    #[arg(long, value_name = "text")]
    pub description: Option<String>,
    /// Version to tag. Default: the latest
    #[arg(long, value_name = "version", value_parser = parse_int)]
    pub version: Option<i64>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

/// The error for a missing name.
const NO_NAME: &str = "A version tag name is required";

impl Run for JobTagApply {
    const META: Meta = Meta::new("job tag apply").examples(&[
        ("Tag the latest version of a job", "encamp job tag apply -name stable web"),
        (
            "Tag an earlier version, with a description",
            "encamp job tag apply -name first -version 0 \\
    -description \"First release\" web",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let given = &self.given;
        let Some(name) = self.name.as_deref().filter(|n| !n.is_empty()) else {
            return context.usage_error(NO_NAME);
        };
        context.connected(&self.general, |connection, context| {
            let client = &connection.client;
            let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
            let namespace = namespace.as_deref();
            const FAILED: &str = "Error tagging job version";
            let version = match self.version {
                None => None,
                Some(v) => {
                    let missing = |_| CommandError::new(format!("{FAILED}: there is no version {v}"));
                    Some(u64::try_from(v).map_err(missing)?)
                }
            };
            let description = self.description.as_deref().unwrap_or_default();
            let tagging = client.tag_job_version(namespace, &id, name, description, version);
            connection.wait(tagging).context(FAILED)?;
            let number = match version {
                Some(number) => number,
                None => {
                    let (job, _) = connection.wait(client.job_within(namespace, &id)).context(FAILED)?;
                    job.version.unwrap_or(0)
                }
            };
            context.ui.output(&format!("Job version {number} tagged with name {}", quoted(name)));
            Ok(0)
        })
    }
}

/// Remove a tag from a version of a job
///
/// Removes a tag from a version of a job. The argument is the job ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobTagUnset {
    /// The name
    #[arg(long, value_name = "name")]
    pub name: Option<String>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

impl Run for JobTagUnset {
    const META: Meta = Meta::new("job tag unset").examples(&[
        ("Remove a tag from a job", "encamp job tag unset -name stable web"),
        ("Remove a tag from a job of another namespace", "encamp job tag unset -namespace prod -name first shop"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let Some(name) = self.name.as_deref().filter(|n| !n.is_empty()) else {
            return context.usage_error(NO_NAME);
        };
        context.connected(&self.general, |connection, context| {
            let client = &connection.client;
            let (namespace, id) = connection.wait(lookup::job(client, &self.given, &connection.zone))?;
            let removed = connection.wait(client.untag_job_version(namespace.as_deref(), &id, name));
            removed.context("Error removing tag from job version")?;
            context.ui.output(&format!("Tag {} removed from job {}", quoted(name), quoted(&self.given)));
            Ok(0)
        })
    }
}

//! `job eval`, `job promote` and `job periodic force`: commands that create an evaluation (`docs/spec/cli.md §8.9`,
//! `§8.11`).

use super::exit_status::MONITORED;
use super::lookup::{self, Kind};
use super::prelude::*;
use super::render::values;
use super::submitted::FollowFlags;
use encamp_model::quoted;

/// Force an evaluation of a job
///
/// Creates an evaluation of a job, so that the scheduler considers it again. The argument is the job ID or a prefix of
/// it.
#[derive(Debug, clap::Parser)]
pub struct JobEval {
    /// Reschedule failed allocations immediately, regardless of their reschedule policy
    #[arg(long)]
    pub force_reschedule: bool,
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

impl Run for JobEval {
    const META: Meta = Meta::new("job eval").exit_status(MONITORED).examples(&[
        ("Create an evaluation of a job and monitor it", "encamp job eval web"),
        ("Reschedule the failed allocations of a job now", "encamp job eval -force-reschedule -detach web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |connection, context| {
            let client = &connection.client;
            let (namespace, id) = connection.wait(lookup::job(client, &self.given, &connection.zone))?;
            let made = connection.wait(client.evaluate_job(namespace.as_deref(), &id, self.force_reschedule));
            let (made, _) = made.context("Error evaluating job")?;
            if self.follow.detach {
                let id = quoted(values::id(&made.eval_id, self.follow.verbose));
                context.ui.output(&format!("Created eval ID: {id} "));
                return Ok(0);
            }
            Ok(self.follow.watch(connection, &made.eval_id, context))
        })
    }
}

/// Promote the canaries of a job
///
/// Promotes the canaries of the latest deployment of a job, so that the rollout continues. The argument is the job ID
/// or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobPromote {
    /// Promote only this task group. Can be given several times
    #[arg(long, value_name = "group", action = clap::ArgAction::Append)]
    pub group: Vec<String>,
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

impl Run for JobPromote {
    const META: Meta = Meta::new("job promote").exit_status(MONITORED).examples(&[
        ("Promote the canaries of a job", "encamp job promote api"),
        ("Promote only the canaries of one task group, without waiting", "encamp job promote -group api -detach api"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |connection, context| {
            let client = &connection.client;
            let (namespace, id) = connection.wait(lookup::job(client, &self.given, &connection.zone))?;
            let latest = connection.wait(client.latest_deployment(namespace.as_deref(), &id));
            let (latest, _) = latest.context(format_args!("Error retrieving deployments for job {}", quoted(&id)))?;
            let Some(latest) = latest else {
                return Err(CommandError::new(format!("Job {} has no deployment to promote", quoted(&id))));
            };
            let promoted = connection.wait(client.promote_deployment(&latest.id, &self.group));
            let (latest, job) = (quoted(&latest.id), quoted(&id));
            let (promoted, _) = promoted.context(format_args!("Error promoting deployment {latest} for job {job}"))?;
            Ok(self.follow.print_or_watch(connection, &promoted.eval_id, context))
        })
    }
}

/// Force the launch of a periodic job
///
/// Launches a periodic job immediately, independent of its schedule. The argument is the job ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobPeriodicForce {
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::PeriodicJobs))]
    pub(crate) given: String,
}

impl Run for JobPeriodicForce {
    const META: Meta = Meta::new("job periodic force").exit_status(MONITORED).examples(&[
        ("Launch a periodic job now", "encamp job periodic force backup"),
        ("Launch it without monitoring the evaluation", "encamp job periodic force -detach backup"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |connection, context| {
            let client = &connection.client;
            let found = lookup::job_of(Kind::Periodic, client, &self.given, &connection.zone);
            let (namespace, id) = connection.wait(found)?;
            let forced = connection.wait(client.force_periodic_job(namespace.as_deref(), &id));
            let (forced, _) = forced.context(format_args!("Error forcing periodic job {}", quoted(&id)))?;
            if self.follow.detach {
                context.ui.output("Force periodic successful");
                context.ui.output(&format!("Evaluation ID: {}", forced.eval_id));
                return Ok(0);
            }
            Ok(self.follow.watch(connection, &forced.eval_id, context))
        })
    }
}

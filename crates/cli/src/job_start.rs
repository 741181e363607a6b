//! `job start`: starts a stopped job again (`docs/spec/cli.md §8.6`).

use super::exit_status::MONITORED;
use super::lookup;
use super::prelude::*;
use super::submitted::FollowFlags;
use encamp_api::path;
use encamp_jobspec::parse::{ParseOptions, parse, parse_json};
use encamp_model::requests::JobRegisterRequest;
use encamp_model::{JobSubmission, api, quoted};

/// Start a stopped job
///
/// Registers a stopped job again, as it was before. The argument is the job ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobStart {
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

impl Run for JobStart {
    const META: Meta = Meta::new("job start").alias("start", Listing::Other).exit_status(MONITORED).examples(&[
        ("Start a stopped job", "encamp job start web"),
        ("Start it without monitoring the evaluation", "encamp job start -detach web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| self.start(c, &self.given, context))
    }
}

impl JobStart {
    fn start(&self, connection: &Connection, given: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let client = &connection.client;
        let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
        let namespace = namespace.as_deref();
        let read = connection.wait(client.job_within(namespace, &id));
        let (mut job, _) = read.context(format_args!("Error retrieving job {id}"))?;
        if !job.stop.unwrap_or(false) {
            let name = quoted(job.name.as_deref().unwrap_or(&id));
            return Err(CommandError::new(format!("Job {name} has not been stopped")));
        }
        job.stop = Some(false);
        let version = job.version.unwrap_or(0);
        let mut read = connection.wait(client.submission_within(namespace, &id, version));
        if let (Err(e), Some(before)) = (&read, version.checked_sub(1))
            && e.is_not_found()
        {
            // Stopping may have created a version without a submission.
            read = connection.wait(client.submission_within(namespace, &id, before));
        }
        let submission = match read {
            Ok((submission, _)) => Some(submission),
            Err(e) => {
                let scaled = job.task_groups.iter().flatten().any(|g| g.scaling.is_some());
                let lost = if scaled { " Its scaling policies stay disabled." } else { "" };
                context.ui.warn(&format!("The submission of the job could not be read: {e}.{lost}"));
                None
            }
        };
        if let Some(submission) = &submission {
            match submitted_job(submission) {
                Ok(submitted) => restore_scaling(&mut job, &submitted),
                Err(e) => context.ui.warn(&format!("The submission of the job could not be parsed: {e}")),
            }
        }
        let request = JobRegisterRequest {
            job: Some(job.clone()),
            submission: submission.map(escaped),
            ..JobRegisterRequest::default()
        };
        let registered = connection.wait(client.register_job(namespace, &request));
        let (registered, _) = registered.context("Error running job")?;
        Ok(self.follow.registered(connection, &job, &registered.eval_id, "Job start successful", context))
    }
}

/// The job as it was submitted.
fn submitted_job(submission: &JobSubmission) -> CommandResult<api::Job> {
    if submission.format == "json" {
        return parse_json(submission.source.as_bytes()).map_err(CommandError::new);
    }
    let options = ParseOptions {
        path: "submission".into(),
        vars: submission.variable_flags.iter().map(|(k, v)| format!("{k}={v}")).collect(),
        var_content: submission.variables.clone(),
        strict: false,
        ..ParseOptions::default()
    };
    Ok(parse(submission.source.as_bytes(), &options)?)
}

/// The submission in the form that servers expect: they unescape the values of variables when they read them.
fn escaped(mut submission: JobSubmission) -> JobSubmission {
    for value in submission.variable_flags.values_mut() {
        *value = path("", value, "");
    }
    submission
}

/// Restores the submitted scaling policies of the groups: stopping a job disables them.
fn restore_scaling(job: &mut api::Job, submitted: &api::Job) {
    for group in job.task_groups.iter_mut().flatten() {
        let given = submitted.task_groups.iter().flatten().find(|g| g.name == group.name);
        let given = given.and_then(|g| g.scaling.as_ref()).map(|s| s.enabled.unwrap_or(true));
        if let (Some(scaling), Some(enabled)) = (&mut group.scaling, given) {
            scaling.enabled = Some(enabled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_policies_get_back_what_was_submitted() {
        let group = |name: &str, enabled| api::TaskGroup {
            name: Some(name.into()),
            scaling: Some(api::ScalingPolicy { enabled, ..api::ScalingPolicy::default() }),
            ..api::TaskGroup::default()
        };
        let job = |groups: Vec<api::TaskGroup>| api::Job { task_groups: Some(groups), ..api::Job::default() };
        let mut stored = job(vec![group("a", Some(false)), group("b", Some(false)), group("c", Some(false))]);
        restore_scaling(&mut stored, &job(vec![group("a", None), group("b", Some(false))]));
        let enabled: Vec<Option<bool>> =
            stored.task_groups.unwrap().iter().map(|g| g.scaling.as_ref().unwrap().enabled).collect();
        assert_eq!(enabled, [Some(true), Some(false), Some(false)]);
    }
}

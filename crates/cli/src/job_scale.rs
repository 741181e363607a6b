//! `job scale` and `job scaling-events` (`docs/spec/cli.md §8.9`).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::exit_status::MONITORED;
use super::flags::InvalidFlag;
use super::lookup;
use super::prelude::*;
use super::render::table::{Form, headed, table};
use super::render::{plan, values};
use super::submitted::{FollowFlags, check_index};
use encamp_model::requests::ScalingRequest;
use encamp_model::{ScalingEvent, api, quoted};

/// The message of the scaling event.
const NOTE: &str = "submitted using the encamp CLI";

/// Change the count of a task group
///
/// Sets the count of a task group. The arguments are the job ID or a prefix of it, the task group, which is optional if
/// the job has only one, and the count.
#[derive(Debug, clap::Parser)]
pub struct JobScale {
    /// Scale only if the job's modify index has this value
    #[arg(long, value_name = "index")]
    pub check_index: Option<String>,
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<job> [group] <count>", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) args: Vec<String>,
}

impl Run for JobScale {
    const META: Meta = Meta::new("job scale").exit_status(MONITORED).examples(&[
        ("Set the count of the only task group of a job", "encamp job scale web 3"),
        ("Set the count of a task group without waiting", "encamp job scale -detach web front 2"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        const ARGUMENTS: &str = "Command requires at least two arguments and no more than three";
        let asked;
        let (job, group, count) = match self.args.as_slice() {
            [job, count] => (job, "", count),
            [job, group, count] => (job, group.as_str(), count),
            [job] if context.object_was_chosen() => {
                asked = match context.ask(|questions| questions.number("Count", 0, 1)) {
                    Ok(count) => count.to_string(),
                    Err(code) => return code,
                };
                (job, "", &asked)
            }
            [] => return context.choose_object().unwrap_or_else(|| context.failure(ARGUMENTS)),
            _ => return context.failure(ARGUMENTS),
        };
        context.attempt(|context| self.scale(job, group, count, context))
    }
}

fn parse_count(text: &str) -> Result<i64, InvalidFlag> {
    text.parse().map_err(|e: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let why = if matches!(e.kind(), PosOverflow | NegOverflow) { "value out of range" } else { "invalid syntax" };
        let text = quoted(text);
        InvalidFlag::new(format_args!("Failed to convert count string to int: strconv.Atoi: parsing {text}: {why}"))
    })
}

impl JobScale {
    fn scale(&self, given: &str, group: &str, count: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let count = parse_count(count)?;
        let job_modify_index = check_index(self.check_index.as_deref())?;
        let connection = &Connection::new(&self.general, context.env)?;
        let client = &connection.client;
        let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
        let namespace = namespace.as_deref();
        let read = connection.wait(client.job_within(namespace, &id));
        let (job, _) = read.context("Error querying job")?;
        let group = chosen(&job, group)?;
        let request = ScalingRequest {
            count: Some(count),
            target: BTreeMap::from([("Group".to_string(), group)]),
            message: NOTE.into(),
            job_modify_index: job_modify_index.unwrap_or(0),
            ..ScalingRequest::default()
        };
        let answer = connection.wait(client.scale_job(namespace, &id, &request));
        let (answer, _) = answer.context("Error submitting scaling request")?;
        plan::print_warnings(context.ui, &answer.warnings);
        Ok(self.follow.registered(connection, &job, &answer.eval_id, "Job scale successful", context))
    }
}

/// The selected task group.
fn chosen(job: &api::Job, group: &str) -> CommandResult<String> {
    let names: Vec<&str> = job.task_groups.iter().flatten().filter_map(|g| g.name.as_deref()).collect();
    match (group, names.as_slice()) {
        ("", [only]) => Ok(only.to_string()),
        ("", _) => Err(CommandError::new("Group name required")),
        (group, names) if names.contains(&group) => Ok(group.to_string()),
        (group, _) => Err(CommandError::new(format!("Group {group} not found within job"))),
    }
}

/// Display the most recent scaling events of a job
///
/// Lists the most recent scaling events of a job, newest first. The argument is the job ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobScalingEvents {
    /// Show messages, errors and evaluations
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

impl Run for JobScalingEvents {
    const META: Meta = Meta::new("job scaling-events").examples(&[
        ("List the scaling events of a job", "encamp job scaling-events web"),
        ("List them with their messages and evaluations", "encamp job scaling-events -verbose web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let given = &self.given;
        context.connected(&self.general, |connection, context| {
            let client = &connection.client;
            let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
            let read = connection.wait(client.job_scale_status(namespace.as_deref(), &id));
            let (status, _) = read.context("Error listing scaling events")?;
            let mut events: Vec<(&str, &ScalingEvent)> = Vec::new();
            for (group, status) in &status.task_groups {
                events.extend(status.events.iter().map(|e| (group.as_str(), e)));
            }
            events.sort_by_key(|(group, e)| (Reverse(e.time), *group));
            let text = if events.is_empty() { "No events found".into() } else { self.listed(&events, connection) };
            context.ui.output(&text);
            Ok(0)
        })
    }
}

impl JobScalingEvents {
    fn listed(&self, events: &[(&str, &ScalingEvent)], connection: &Connection) -> String {
        let more = if self.verbose { "Error|Message|Eval ID|" } else { "" };
        let rows = events.iter().map(|(group, e)| {
            let count = e.count.map(|n| n.to_string()).unwrap_or_default();
            let more = match self.verbose {
                true => format!("{}|{}|{}|", e.error, e.message, e.eval_id.as_deref().unwrap_or_default()),
                false => String::new(),
            };
            format!("{group}|{count}|{}|{more}{}", e.previous_count, values::time(e.time, &connection.zone))
        });
        table(&headed(&format!("Task Group|Count|PrevCount|{more}Date"), rows), Form::List)
    }
}

//! `launches`: the launches of a cluster's periodic jobs, and whether they fit.

use std::collections::BTreeMap;
use std::time::Duration;

use super::run_time;
use crate::cluster::{ClusterFlags, TimeFlags};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::context::{Context, Environment};
use crate::error::{CommandError, CommandResult};
use crate::flags::parse_wait;
use crate::general::GeneralFlags;
use crate::render::calendar as render;
use encamp_model::{SECOND, quoted};
use encamp_plan::launches::{Period, calendar, is_active};
use encamp_plan::what_if::find;
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// The run time of jobs of which nothing is known.
const ASSUMED: i64 = 600 * SECOND;
/// The longest period.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// Show the launches of periodic jobs, and whether they fit
///
/// Simulates the cluster: launches its periodic jobs when they are due, places their allocations with the full scheduler
/// on the cluster as it will be then, and ends allocations when their run time is over. Prints what is launched in each
/// hour against the capacity that is free, and the launches that do not fit, with the reason and how late they are
/// placed.
///
/// A run takes what -duration says, else the median of the finished runs that the cluster still has, else the
/// max_run_duration of the groups, else 10 minutes. Allocations that are neither launched nor dispatched stay as they
/// are. The cluster itself is not changed.
#[derive(Debug, clap::Parser)]
pub struct LaunchesCommand {
    /// Show the launches of this period: 24h, 90m. Default: 24h
    #[arg(long, value_name = "duration", value_parser = parse_wait, default_value = "24h", hide_default_value = true)]
    pub next: Duration,
    /// Assume that runs of a job take this long: backup=45m; or the runs of all jobs of which nothing is known: 20m. Can
    /// be given several times
    #[arg(long, value_name = "[job=]duration", action = clap::ArgAction::Append)]
    pub duration: Vec<String>,
    /// List all launches, and how long runs are expected to take
    #[arg(long)]
    pub all: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for LaunchesCommand {
    const META: Meta = Meta::new("launches")
        .usage_exit(255)
        .paged()
        .exit_status(&[
            (0, "All launches fit."),
            (1, "Some launches do not fit: allocations cannot be placed when they are launched."),
            (255, "An error occurred."),
        ])
        .offline_examples(&[
            (
                "Show the launches of a day, and whether they fit",
                "encamp launches -snapshot fixtures/launches/cluster.json",
            ),
            (
                "Assume that one job runs for longer",
                "encamp launches -snapshot fixtures/launches/cluster.json -next 12h \\
    -duration index=50m",
            ),
            (
                "List every launch of the next hours",
                "encamp launches -snapshot fixtures/launches/cluster.json -next 6h -all",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (view, notes) = match self.answer(context.env) {
            Ok(answer) => answer,
            Err(e) => return context.report(&e),
        };
        for note in &notes {
            context.ui.warn(note);
        }
        if self.json {
            match render::json(&view) {
                Ok(text) => context.ui.output(&text),
                Err(e) => return context.failure(&format!("Error formatting the data: {e}")),
            }
        } else {
            render::print(context.ui, &view, self.all);
        }
        u8::from(view.calendar.misfits().next().is_some())
    }
}

impl LaunchesCommand {
    fn answer(&self, env: &Environment) -> CommandResult<(render::View, Vec<String>)> {
        // Usage errors are reported before anything is read.
        let durations =
            self.duration.iter().map(|text| Given::read(text)).collect::<CommandResult<Vec<Given<'_>>>>()?;
        if self.next.is_zero() || self.next > LONGEST {
            return Err(CommandError::new("-next must be longer than nothing, and at most 366 days"));
        }
        let length = i64::try_from(self.next.as_nanos()).unwrap_or(i64::MAX);
        let cluster = self.cluster.load(&self.general, Detail::Everything, env)?.as_of(&self.time)?;
        let (state, notes, from) = cluster.into_state(false, env);
        let namespace = self.general.namespace(env).unwrap_or("default");
        let mut period = Period { from, until: from.saturating_add(length), given: BTreeMap::new(), assumed: ASSUMED };
        for given in durations {
            given.add(&mut period, &state, namespace)?;
        }
        let progress = env.terminal.spinner();
        progress.say("Simulating the launches");
        let calendar = calendar(&state, &period);
        drop(progress);
        let view = render::View { calendar, from, until: period.until, assumed: period.assumed, zone: env.zone() };
        Ok((view, notes))
    }
}

/// A value of `-duration`.
struct Given<'a> {
    /// The job as written: an ID, or `ID@NAMESPACE`. `None`: all jobs of which nothing is known.
    job: Option<&'a str>,
    /// Nanoseconds.
    nanos: i64,
}

impl Given<'_> {
    fn read(text: &str) -> CommandResult<Given<'_>> {
        let (job, nanos) = match text.rsplit_once('=') {
            Some((job, nanos)) => (Some(job), nanos),
            None => (None, text),
        };
        Ok(Given { job, nanos: run_time(nanos)? })
    }

    /// Adds it to the settings of a calendar.
    fn add(&self, period: &mut Period, state: &State, namespace: &str) -> CommandResult<()> {
        let Some(name) = self.job else {
            period.assumed = self.nanos;
            return Ok(());
        };
        let wrong = |why: String| CommandError::new(format!("-duration {}: {why}", quoted(name)));
        let job = find::job(state, name, namespace).map_err(|e| wrong(e.to_string()))?;
        if !is_active(&job) {
            return Err(wrong("the job is not launched periodically".into()));
        }
        period.given.insert((job.namespace.clone(), job.id.clone()), self.nanos);
        Ok(())
    }
}

//! `job launches`: the next launches of a periodic job.

use crate::cluster::{ClusterFlags, time_of_flag};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::context::{Context, Environment};
use crate::diagnostics::Refused;
use crate::error::{CommandError, CommandResult};
use crate::flags::parse_int;
use crate::general::GeneralFlags;
use crate::job_file::{HCL_ENDINGS, JSON_ENDINGS, JobFile, JobFileFlags};
use crate::job_inspect::find;
use crate::render::launches as render;
use encamp_jobspec::admission::{ServerContext, check_offline, error_list};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::to_server;
use encamp_jobspec::explain::Severity;
use encamp_model::{Job, quoted};
use encamp_plan::launches::{Extent, Forecast, RunTime, Runs, Schedule, forecast};
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// The most launches that are listed.
const MOST: i64 = 10_000;

/// List the next launches of a periodic job
///
/// Lists when a periodic job will be launched, by the clock of its time zone. Where the clock is set forward, the launch
/// times that do not exist are named; where it is set back, the launches that happen at the same local time are marked.
///
/// If the job prohibits overlap, launches that will be skipped because an earlier run goes on are foreseen from the time
/// that runs take: the value of -duration, the median of the finished runs that the cluster still has, or the
/// max_run_duration of the groups.
///
/// The argument is a job file, which is read without a cluster, or the ID of a job, which is read from the running
/// cluster or from the snapshot file or server backup given with -snapshot. With a job file and -snapshot, the runs of
/// the registered job of the same ID count. Launches are listed from the time of -from on, by default now, or the time at
/// which the snapshot was taken.
#[derive(Debug, clap::Parser)]
pub struct JobLaunches {
    /// List so many launches. Default: 10
    #[arg(long = "n", value_name = "n", value_parser = parse_int, default_value = "10", hide_default_value = true)]
    pub count: i64,
    /// List launches after this time, in RFC 3339: 2026-11-27T08:00:00Z. Default: now, or the time at which the snapshot
    /// was taken
    #[arg(long, value_name = "time")]
    pub from: Option<String>,
    /// Assume that a run takes this long: 45m. Default: the median of the finished runs
    #[arg(long, value_name = "duration")]
    pub duration: Option<String>,
    /// List the IDs of the jobs that launches register, too
    #[arg(long)]
    pub verbose: bool,
    /// Print the result as JSON. (-json means that the job file is JSON)
    #[arg(long)]
    pub json_output: bool,
    #[command(flatten)]
    pub(crate) job: JobFileFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "path or job", add = CompleteWith::Live(Objects::Jobs))]
    pub subject: String,
}

impl Run for JobLaunches {
    const META: Meta = Meta::new("job launches")
        .usage_exit(255)
        .flags_anywhere()
        .paged()
        .exit_status(&[
            (0, "The job will be launched."),
            (1, "The job will not be launched any more, or its launches are disabled."),
            (255, "An error occurred."),
        ])
        .offline_examples(&[
            ("List the next launches of a job file", "encamp job launches fixtures/launches/registered/backup.hcl"),
            (
                "List the launches around the change of the clock in spring",
                "encamp job launches -from 2026-03-27T12:00:00Z -n 4 \\
    fixtures/launches/registered/backup.hcl",
            ),
            (
                "Show which launches of a registered job an earlier run keeps from happening",
                "encamp job launches -snapshot fixtures/launches/cluster.json index",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let answer = match self.answer(context.env) {
            Ok(answer) => answer,
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        for note in &answer.notes {
            context.ui.warn(note);
        }
        if self.json_output {
            match render::json(&answer.view) {
                Ok(text) => context.ui.output(&text),
                Err(e) => return context.failure(&format!("Error formatting the data: {e}")),
            }
        } else {
            render::print(context.ui, &answer.view, self.verbose);
        }
        u8::from(answer.view.forecast.launches.is_empty())
    }
}

/// The data to print, and notes.
struct Answer {
    view: render::View,
    notes: Vec<String>,
}

/// A job, the cluster that is known about it, and the time of that, Unix nanoseconds.
struct Subject {
    job: Job,
    state: Option<State>,
    notes: Vec<String>,
    now: i64,
}

impl JobLaunches {
    fn answer(&self, env: &Environment) -> Result<Answer, Refused> {
        // Usage errors are reported before anything is read.
        let from = self.from.as_deref().map(|text| time_of_flag("from", text)).transpose()?;
        let given = self.duration.as_deref().map(super::run_time).transpose()?;
        if !(1..=MOST).contains(&self.count) {
            return Err(CommandError::new(format!("-n must be from 1 to {MOST}")).into());
        }
        let Subject { job, state, notes, now } = if self.is_file(env) {
            let file = self.job.load(&self.subject, env)?;
            self.of_file(&file, env)?
        } else {
            self.registered(env)?
        };
        let from = from.unwrap_or(now);
        let Some(config) = &job.periodic else {
            return Err(CommandError::new(format!("Job {} is not periodic", quoted(&job.id))).into());
        };
        let schedule = Schedule::new(config).map_err(CommandError::new)?;
        let runs = state.map(|state| Runs::of(&state, &job.namespace, &job.id)).unwrap_or_default();
        let run_time = RunTime::of(&job, given, runs.past(), None);
        let inactive = render::Inactive::of(&job);
        let count = usize::try_from(self.count).unwrap_or_default();
        let forecast = match inactive {
            Some(_) => Forecast::default(),
            None => forecast(&job, &schedule, &runs.running, run_time, Extent { from, count }),
        };
        let view = render::View { job, schedule, inactive, runs, run_time, forecast, from };
        Ok(Answer { view, notes })
    }

    /// Whether the argument is a file rather than the ID of a job.
    fn is_file(&self, env: &Environment) -> bool {
        let named = HCL_ENDINGS.iter().chain(JSON_ENDINGS).any(|end| self.subject.ends_with(end));
        self.subject == "-" || named || env.directory.join(&self.subject).is_file()
    }

    /// The job of a file.
    fn of_file(&self, file: &JobFile, env: &Environment) -> Result<Subject, Refused> {
        let (state, notes, now) = match &self.cluster.snapshot {
            None => (None, Vec::new(), env.now),
            Some(_) => {
                let cluster = self.cluster.load(&self.general, Detail::Everything, env)?;
                let (state, notes, now) = cluster.into_state(self.verbose, env);
                (Some(state), notes, now)
            }
        };
        let mut job = file.job.clone();
        canonicalize(&mut job);
        let options = self.general.convert_options(&job, env, state.as_ref().unwrap_or(&State::new()));
        let job = to_server(&job, &options).map_err(CommandError::new)?;
        let checked = check_offline(job, &ServerContext::default());
        if checked.errors.is_empty() {
            return Ok(Subject { job: checked.job, state, notes, now });
        }
        let error = CommandError::new(format!("Invalid job: {}", error_list(&checked.errors)));
        Err(Refused { error, findings: file.findings(&checked.errors, Severity::Error) })
    }

    /// A registered job.
    fn registered(&self, env: &Environment) -> CommandResult<Subject> {
        let cluster = self.cluster.load(&self.general, Detail::Everything, env)?;
        let (state, notes, now) = cluster.into_state(self.verbose, env);
        let namespace = self.general.namespace(env).unwrap_or("default");
        let job = find(&state, namespace, self.subject.trim(), &env.zone())?.clone();
        Ok(Subject { job, state: Some(state), notes, now })
    }
}

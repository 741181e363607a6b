//! Planning one job on several clusters, side by side: `-contexts`, or several `-snapshot` (`docs/spec/cli.md §7.10`).

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::JobPlan;
use super::answer::{NotPlanned, Planned};
use super::gate::{self, Gated};
use super::output::report_failures;
use crate::cluster::{Cluster, ClusterFlags, FetchFlags, SnapshotFlags};
use crate::completion::values::CompleteWith;
use crate::context::{Context, Environment};
use crate::diagnostics::{DiagnosticsFormat, Refused};
use crate::error::{CommandError, CommandResult};
use crate::flags::parse_wait;
use crate::general::GeneralFlags;
use crate::job_file::JobFile;
use crate::render::clusters::{self as render, Fitted};
use crate::render::plan;
use crate::saved_contexts;
use crate::terminal::Terminal;
use encamp_model::quoted;
use encamp_plan::tally::Tally;
use encamp_snapshot::live::Detail;

/// How long a cluster may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The name of all saved contexts.
const ALL: &str = "all";

/// The flags that select the clusters that a job is planned on.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ClustersFlags {
    /// Cluster snapshot file or server backup to read instead of the running cluster. Given several times, the job is
    /// planned on each of them
    #[arg(long, value_name = "file", action = clap::ArgAction::Append, add = CompleteWith::ANY_FILE)]
    pub snapshot: Vec<String>,
    /// Plan the job on each of these saved contexts, side by side: a comma-separated list, or all
    #[arg(long, value_name = "names")]
    pub contexts: Option<String>,
    /// With several clusters, do not wait longer for any of them. Default: 1m
    #[arg(long, value_name = "duration", value_parser = parse_wait)]
    pub timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}

impl ClustersFlags {
    /// Whether several clusters are to be planned on.
    pub(super) fn are_several(&self) -> bool {
        self.contexts.is_some() || self.snapshot.len() > 1
    }

    /// The snapshot file of the only cluster.
    pub(super) fn snapshot(&self) -> Option<&str> {
        self.snapshot.last().map(String::as_str)
    }

    /// The flags for one cluster.
    pub(super) fn of(&self, snapshot: Option<&str>) -> ClusterFlags {
        ClusterFlags { snapshot: snapshot.map(String::from), reading: self.reading.clone(), fetch: self.fetch.clone() }
    }

    /// Reads the state of the only cluster.
    pub(super) fn load(&self, general: &GeneralFlags, detail: Detail, env: &Environment) -> CommandResult<Cluster> {
        self.of(self.snapshot()).load(general, detail, env)
    }
}

/// A cluster to plan on.
struct Target {
    name: String,
    kind: render::Kind,
    flags: ClusterFlags,
    /// The environment in which this cluster is selected, or why it cannot be.
    env: CommandResult<Environment>,
}

/// The plan on one cluster.
type Answer = Result<Planned, NotPlanned>;

/// A cluster with its row, and what is not in the row.
struct Done {
    row: render::Row,
    tally: Option<Tally>,
    notes: Vec<String>,
}

impl JobPlan {
    /// The message about flags that are not for several clusters.
    pub(super) fn conflict_with_several(&self) -> Option<&'static str> {
        let general = &self.general;
        let connection = [&general.context, &general.address, &general.token];
        if !self.cluster.are_several() {
            return self.cluster.timeout.map(|_| "-timeout needs several clusters: -contexts, or several -snapshot");
        }
        if self.cluster.contexts.is_some() && !self.cluster.snapshot.is_empty() {
            Some("-contexts and -snapshot exclude each other")
        } else if self.cluster.contexts.is_some() && connection.iter().any(|flag| flag.is_some()) {
            Some("-contexts cannot be combined with -context, -address or -token: each context has its own connection")
        } else if self.args.len() != 1 {
            Some("On several clusters, one job file is planned at a time")
        } else if self.remote || self.check_remote {
            Some("On several clusters, plans are made locally: without -remote and -check-remote")
        } else if self.explain.is_some() || self.placements || self.rollout || self.template.is_some() {
            Some("-explain, -placements, -rollout and -t show the plan on one cluster")
        } else if self.suggest.any() {
            Some("-suggest and -apply-suggestion are about the plan on one cluster")
        } else if self.report.wanted() || self.gate.junit.is_some() || self.gate.sarif.is_some() {
            Some("-html, -junit and -sarif write the plan on one cluster")
        } else {
            None
        }
    }

    /// Plans a job file on all clusters. Returns the worst exit code.
    pub(super) fn run_on_clusters(self, path: &str, context: &mut Context<'_, '_>) -> u8 {
        let read = self.targets(context.env).map_err(Refused::from);
        let (targets, file) = match read.and_then(|targets| Ok((targets, self.job.load(path, context.env)?))) {
            Ok(read) => read,
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        let command = Arc::new(self);
        let file = Arc::new(file);
        let names: Vec<(String, render::Kind)> = targets.iter().map(|t| (t.name.clone(), t.kind)).collect();
        let answers = command.plan_on_all(&file, targets, &context.env.terminal);
        let shown = (context.command.meta.usage_exit, command.job.diagnostics);
        let done: Vec<Done> = names.into_iter().zip(answers).map(|(name, answer)| done(name, answer, shown)).collect();
        for Done { row, notes, .. } in &done {
            notes.iter().for_each(|note| context.ui.warn(&format!("{}: {note}", row.name)));
        }
        context.attempt(|context| command.show_clusters(&done, &file, context))
    }

    /// Prints the plans on several clusters. Returns the worst exit code.
    fn show_clusters(&self, done: &[Done], file: &JobFile, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let failures = self.failures(done, file, context.env)?;
        let rows: Vec<&render::Row> = done.iter().map(|d| &d.row).collect();
        let view = render::View { job: file.job.id.as_deref().unwrap_or_default(), rows: &rows };
        if self.json_output {
            context.print_json(&render::value(&view).map_err(CommandError::new)?)?;
        } else if self.markdown {
            context.ui.output(render::markdown(&view).trim_end());
        } else {
            render::print(context.ui, &view);
        }
        report_failures(&failures, context);
        let worst = rows.iter().map(|row| row.exit_code).max().unwrap_or(0);
        Ok(worst.max(if failures.is_empty() { 0 } else { gate::FAILED }))
    }

    /// The clusters that the flags name. Tokens are got one after the other: commands for them may ask on the terminal.
    fn targets(&self, env: &Environment) -> CommandResult<Vec<Target>> {
        let Some(list) = &self.cluster.contexts else {
            let snapshot = |file: &String| Target {
                name: file.clone(),
                kind: render::Kind::Snapshot,
                flags: self.cluster.of(Some(file)),
                env: Ok(env.clone()),
            };
            return Ok(self.cluster.snapshot.iter().map(snapshot).collect());
        };
        let context = |name: String| Target {
            env: saved_contexts::environment(&name, env),
            name,
            kind: render::Kind::Context,
            flags: self.cluster.of(None),
        };
        Ok(names(list, env)?.into_iter().map(context).collect())
    }

    /// Plans on all clusters at the same time. Clusters that take too long are given up.
    fn plan_on_all(self: &Arc<Self>, file: &Arc<JobFile>, targets: Vec<Target>, terminal: &Terminal) -> Vec<Answer> {
        let patience = self.cluster.timeout.unwrap_or(PATIENCE);
        let progress = terminal.spinner();
        let mut answers: Vec<Option<Answer>> = targets.iter().map(|_| None).collect();
        let (sender, receiver) = mpsc::channel();
        for (number, target) in targets.into_iter().enumerate() {
            let (command, file, sender) = (self.clone(), file.clone(), sender.clone());
            // A thread that is given up ends with the process.
            std::thread::spawn(move || {
                let planned = target.env.map_err(NotPlanned::Cluster).and_then(|env| {
                    // What several threads report would overwrite each other.
                    let env = Environment { terminal: Terminal::default(), stderr_is_terminal: false, ..env };
                    command.plan_on(&target.flags, &file, &env)
                });
                // Nobody waits for it any more if this fails.
                let _ = sender.send((number, planned));
            });
        }
        drop(sender);
        let end = Instant::now() + patience;
        loop {
            let left = answers.iter().filter(|answer| answer.is_none()).count();
            progress.say(&format!("Planning on {} clusters: {left} left", answers.len()));
            match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((number, answer)) => {
                    if let Some(place) = answers.get_mut(number) {
                        *place = Some(answer);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        let seconds = encamp_model::format_duration(i64::try_from(patience.as_nanos()).unwrap_or(i64::MAX));
        let late = || Err(NotPlanned::Cluster(CommandError::new(format!("No answer within {seconds}"))));
        answers.into_iter().map(|answer| answer.unwrap_or_else(late)).collect()
    }

    /// The conditions of -fail-on that hold, for each cluster.
    fn failures(&self, done: &[Done], file: &JobFile, env: &Environment) -> CommandResult<Vec<String>> {
        let mut plans = Vec::new();
        for Done { row, tally, .. } in done {
            let (Ok(fitted), Some(tally)) = (&row.result, tally) else { continue };
            plans.push(Gated {
                path: &row.name,
                job_id: file.job.id.as_deref().unwrap_or_default(),
                namespace: self.general.namespace_of(&file.job, env),
                priority: gate::priority(file.job.priority),
                response: &fitted.response,
                tally,
            });
        }
        self.gate.apply(&plans, env)
    }
}

/// The contexts that `-contexts` names.
fn names(list: &str, env: &Environment) -> CommandResult<Vec<String>> {
    if list.trim() == ALL {
        let all = saved_contexts::names(env)?;
        return match all.is_empty() {
            true => Err(CommandError::new("-contexts all: no context is saved, see \"encamp context list\"")),
            false => Ok(all),
        };
    }
    let mut names: Vec<String> = Vec::new();
    for name in list.split(',').map(str::trim) {
        if name.is_empty() {
            return Err(CommandError::new("-contexts takes names of saved contexts with commas between them, or all"));
        }
        if names.iter().any(|n| n == name) {
            return Err(CommandError::new(format!("-contexts names {} twice", quoted(name))));
        }
        names.push(name.into());
    }
    Ok(names)
}

/// What is shown of a cluster. `error_code`: the exit code of failures.
fn done((name, kind): (String, render::Kind), answer: Answer, (error_code, format): (u8, DiagnosticsFormat)) -> Done {
    match answer {
        Ok(planned) => {
            let exit_code = plan::exit_code(&planned.response);
            let assumed = planned.changed.into_iter().flat_map(|outcome| outcome.notes);
            let notes = planned.notes.into_iter().chain(assumed).collect();
            let remarks = (format == DiagnosticsFormat::Json).then_some(planned.remarks);
            let fitted = Fitted { response: planned.response, fit: planned.fit, remarks };
            let row = render::Row { name, kind, exit_code, result: Ok(fitted) };
            Done { row, tally: Some(planned.effects.tally), notes }
        }
        Err(e) => {
            let why = match &e {
                NotPlanned::Cluster(_) => render::Why::Unreadable,
                NotPlanned::Job(_) => render::Why::Refused,
            };
            let error = e.refused().error;
            let exit_code = error.exit_code().unwrap_or(error_code);
            let text = error.to_string();
            let row = render::Row { name, kind, exit_code, result: Err(render::Failure { why, text }) };
            Done { row, tally: None, notes: Vec::new() }
        }
    }
}

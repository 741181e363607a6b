//! `capacity`: how many more allocations of each task group fit.

use std::sync::Arc;
use std::time::Instant;

use super::changes::ChangeFlags;
use super::cluster::{ClusterFlags, TimeFlags};
use super::diagnostics::Refused;
use super::flags::InvalidFlag;
use super::job_file::{JobFile, JobFileFlags};
use super::prelude::*;
use super::render::capacity as render;
use super::search_limit::SearchLimit;
use encamp_model::PreemptionConfig;
use encamp_plan::capacity::{Subject, capacity, subject};
use encamp_plan::survival::{Accuracy, Limits, Loss, Survival, survival};
use encamp_plan::what_if::ChangeError;
use encamp_plan::{assumed_settings, server_context, settings};
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// Show how many more allocations of a job fit
///
/// For each task group of the job file, counts how many more allocations (copies) fit next to the running allocations
/// without preemption, and prints on which nodes they fit and which resource is exhausted first. The group is counted
/// as the job file defines it, even if the registered job differs; existing allocations stay as they are.
///
/// With -survive 1 node or -survive 1 dc, also counts how many fit after the worst loss of one node or one datacenter,
/// once the lost allocations have been placed again. On a large cluster the search ends when no other loss can leave
/// more than 2 percent fewer copies than the one that is named, after about 8 seconds, or on Ctrl-C; it then prints how
/// many copies fit at least and at most after the worst loss. With -exact, it goes on until the worst loss is found.
///
/// With -drain, -down, -add, -scale, -stop and -config, the capacity is counted on the cluster as it would be after
/// these changes; see what-if.
#[derive(Debug, clap::Parser)]
pub struct CapacityCommand {
    #[command(flatten)]
    pub(crate) job: JobFileFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    #[command(flatten)]
    pub(crate) changes: ChangeFlags,
    /// Count only this task group
    #[arg(long, value_name = "group")]
    pub group: Option<String>,
    /// Also count after the worst loss of 1 node or 1 dc; -survive node and -survive dc mean the same
    #[arg(long, value_name = "loss", add = CompleteWith::Words(&["node", "dc"]))]
    pub survive: Option<String>,
    /// With -survive on a large cluster, go on until the worst loss is found, which takes longer; by default the search
    /// ends when no other loss can leave more than 2 percent fewer copies than the one that is named, or after about 8
    /// seconds
    #[arg(long)]
    pub exact: bool,
    /// With -survive, assume that lost allocations may preempt others of lower priority: preemption is enabled for all
    /// types of jobs, whatever the scheduler configuration says
    #[arg(long)]
    pub allow_preemptions: bool,
    /// List all nodes
    #[arg(long)]
    pub verbose: bool,
    /// Print the result as JSON. (-json means that the job file is JSON)
    #[arg(long)]
    pub json_output: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "path", add = CompleteWith::JOB_FILES)]
    pub(crate) args: Vec<String>,
}

impl Run for CapacityCommand {
    const META: Meta = Meta::new("capacity")
        .usage_exit(255)
        .paged()
        .exit_status(&[
            (0, "At least one more copy of every group fits."),
            (1, "None fits for at least one group."),
            (255, "An error occurred."),
        ])
        .offline_examples(&[
            (
                "Count how many more allocations of a job fit on the cluster of a snapshot",
                "encamp capacity -snapshot fixtures/demo/cluster.json \\
    fixtures/demo/registered/api.hcl",
            ),
            (
                "Count how many still fit after the worst loss of a datacenter",
                "encamp capacity -snapshot fixtures/demo/cluster.json \\
    -survive 1 dc fixtures/demo/registered/api.hcl",
            ),
            (
                "Count how many fit while a node is drained",
                "encamp capacity -snapshot fixtures/demo/cluster.json \\
    -drain dc1-general-01 fixtures/demo/registered/api.hcl",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let began = Instant::now();
        let (loss, path) = match self.arguments() {
            Ok(arguments) => arguments,
            Err(e) => return context.usage_error(&e.to_string()),
        };
        if let Err(e) = self.changes.read() {
            return context.failure(&e.to_string());
        }
        let answered = self.job.load(&path, context.env).and_then(|file| self.answer(&file, loss, began, context.env));
        let answer = match answered {
            Ok(answer) => answer,
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        answer.notes.iter().for_each(|note| context.ui.warn(note));
        context.attempt(|context| {
            match self.json_output {
                true => context.ui.output(&render::json(&answer.view).context("Error formatting the data")?),
                false => render::print(context.ui, &answer.view, self.verbose),
            }
            Ok(u8::from(answer.view.groups.iter().any(|g| g.capacity.copies == 0)))
        })
    }
}

/// The data to print, and notes.
struct Answer {
    view: render::View,
    notes: Vec<String>,
}

impl CapacityCommand {
    /// The kind of loss and the path of the job file. The second word of `-survive 1 node` is parsed as an argument.
    fn arguments(&self) -> Result<(Option<Loss>, String), InvalidFlag> {
        let mut words: Vec<&str> = self.survive.iter().flat_map(|s| s.split_whitespace()).collect();
        let mut args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        if words.iter().all(|w| w.parse::<u64>().is_ok()) && !words.is_empty() && args.len() > 1 {
            words.push(args.remove(0));
        }
        let loss = match words.as_slice() {
            [] if self.survive.is_none() => None,
            ["node"] | ["1", "node"] => Some(Loss::Node),
            ["dc" | "datacenter"] | ["1", "dc" | "datacenter"] => Some(Loss::Datacenter),
            [_, "node" | "dc" | "datacenter"] => {
                return Err(InvalidFlag::new(
                    "-survive supports the loss of one at a time: -survive 1 node or -survive 1 dc",
                ));
            }
            _ => return Err(InvalidFlag::new("-survive must be 1 node or 1 dc")),
        };
        match args.as_slice() {
            [path] => Ok((loss, (*path).to_string())),
            _ => Err(InvalidFlag::new("This command takes one argument: <path>")),
        }
    }

    fn answer(&self, file: &JobFile, loss: Option<Loss>, began: Instant, env: &Environment) -> Result<Answer, Refused> {
        let cluster =
            self.cluster.load(&self.general.for_job(&file.job), Detail::Everything, env)?.as_of(&self.time)?;
        let (before, mut notes, now) = cluster.into_state(self.verbose, env);
        let namespace = self.general.namespace(env).unwrap_or("default");
        let changed = self.changes.carry_out(&before, namespace, now)?;
        let state = changed.as_ref().map_or(&before, |w| &w.state);
        notes.extend(assumed_settings(state).map(String::from));
        let options = self.general.convert_options(&file.job, env, state);
        let job = subject(state, &file.job, &options, &server_context(state), now);
        let job = job.map_err(|e| file.refused(&e))?;
        let wanted = |name: &str| self.group.as_deref().is_none_or(|g| g == name);
        let groups: Vec<_> = job.task_groups.iter().filter(|g| wanted(&g.name)).cloned().collect();
        if groups.is_empty() {
            let names: Vec<&str> = job.task_groups.iter().map(|g| g.name.as_str()).collect();
            let group = encamp_model::quoted(self.group.as_deref().unwrap_or_default());
            let line = format!("The job has no group {group}; its groups are: {}", names.join(", "));
            return Err(CommandError::new(line).into());
        }
        let mut view = render::View { job: job.id.clone(), changes: Vec::new(), loss, groups: Vec::new() };
        let subjects: Vec<Subject> = groups.into_iter().map(|group| Subject { job: job.clone(), group }).collect();
        let survivals = match loss {
            Some(loss) => self.survivals(state, &subjects, loss, (began, now), env)?,
            None => vec![None; subjects.len()],
        };
        for (subject, survival) in subjects.iter().zip(survivals) {
            view.groups.push(render::Group { capacity: capacity(state, subject, now), survival });
        }
        if let Some(w) = changed {
            notes.extend(w.outcome.notes);
            view.changes = w.outcome.changes;
        }
        Ok(Answer { view, notes })
    }

    /// The worst loss for each group.
    fn survivals(
        &self,
        state: &State,
        subjects: &[Subject],
        loss: Loss,
        (began, now): (Instant, i64),
        env: &Environment,
    ) -> Result<Vec<Option<Survival>>, ChangeError> {
        let preempting = self.allow_preemptions.then(|| with_preemption(state));
        let state = preempting.as_ref().unwrap_or(state);
        let accuracy = if self.exact { Accuracy::Exact } else { Accuracy::Near };
        let limit = SearchLimit::new(began, self.exact, &env.terminal);
        let progress = env.terminal.spinner();
        progress.say(&format!("Searching for the worst loss of a {}; Ctrl-C ends the search", loss.noun()));
        let so_far = |s: &Survival| progress.say(&render::progress(s));
        let left = (1..=subjects.len()).rev().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let one = |(subject, left): (&Subject, u32)| {
            let limits = Limits { accuracy, stop: limit.stop(left), progress: &so_far };
            survival(state, subject, loss, &limits, now)
        };
        subjects.iter().zip(left).map(one).collect()
    }
}

/// The state with preemption for all types of jobs.
fn with_preemption(state: &State) -> State {
    let mut config = settings::current(state);
    config.preemption_config = PreemptionConfig {
        system_scheduler_enabled: true,
        sys_batch_scheduler_enabled: true,
        batch_scheduler_enabled: true,
        service_scheduler_enabled: true,
    };
    let mut state = state.clone();
    state.set_scheduler_config(Arc::new(config));
    state
}

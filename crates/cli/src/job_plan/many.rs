//! Planning several job files: by descending priority, each on the state that the previous plans leave.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::JobPlan;
use super::answer::{Explanation, beside_changes, beside_remarks};
use super::assume::Assumed;
use super::gate::{self, Gated};
use super::output::report_failures;
use crate::context::{Context, Environment};
use crate::error::{CommandError, CommandResult};
use crate::job_file::{JobFile, expanded};
use crate::plan_file::RecordedState;
use crate::remarks;
use crate::render::html::heat::Heat;
use crate::render::plan::Effects;
use crate::render::plan_summary::PlanCounts;
use crate::render::table::{Form, cell, headed, table};
use crate::render::values::counted;
use crate::render::{html, json, markdown, plan, plan_summary, what_if};
use encamp_jobspec::explain::Finding;
use encamp_model::JobPlanResponse;
use encamp_plan::apply::apply;
use encamp_plan::review;
use encamp_plan::verdict::Destination;
use encamp_plan::what_if::Outcome;
use encamp_plan::{InTurn, assumed_settings};
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// A job file and its position in the order of planning.
struct Entry {
    path: String,
    file: JobFile,
    namespace: String,
    id: String,
    priority: i64,
}

/// A planned job.
struct Done {
    entry: Entry,
    response: JobPlanResponse,
    effects: Effects,
    assumed: Assumed,
    explanation: Explanation,
    /// Warnings about settings of the job that have no effect.
    remarks: Vec<Finding>,
    /// What the plan does.
    outcome: review::Outcome,
    /// The time at which the plan is made, Unix nanoseconds.
    now: i64,
}

/// The plans of all jobs.
struct Turn {
    done: Vec<Done>,
    /// The number of jobs that could not be planned.
    unplanned: usize,
    /// Their exit code, 0 without any.
    failed: u8,
    /// The state that the plans leave.
    state: State,
}

/// What the plans begin with.
struct Base {
    /// The time at which the state was read or saved, Unix nanoseconds.
    taken_at: i64,
    /// The state as it is.
    before: State,
    notes: Vec<String>,
    /// The outcome of the assumed changes.
    changed: Option<Outcome>,
    /// The state with the assumed changes.
    state: State,
    /// The time at which the plans are made, Unix nanoseconds.
    now: i64,
}

impl Done {
    fn gated(&self) -> Gated<'_> {
        let Entry { path, id, namespace, priority, .. } = &self.entry;
        let (response, tally) = (&self.response, &self.effects.tally);
        Gated { path, job_id: id, namespace, priority: *priority, response, tally }
    }
}

impl JobPlan {
    /// Plans all files given as arguments. Returns the worst exit code of all plans.
    pub(super) fn run_many(&self, context: &mut Context<'_, '_>) -> u8 {
        if self.remote || self.check_remote || self.template.is_some() {
            return context.failure("-remote, -check-remote and -t plan one job file at a time");
        }
        if self.rollout {
            return context.failure("-rollout predicts the rollout of one job file at a time");
        }
        if self.suggest.any() {
            return context.failure("-suggest is about one job file at a time");
        }
        let entries = match self.entries(context) {
            Ok(entries) => entries,
            Err(code) => return code,
        };
        context.attempt(|context| self.plan_all(entries, context))
    }

    fn plan_all(&self, entries: Vec<Entry>, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let base = self.base(&entries, context)?;
        let turn = self.plan_in_turn(entries, base.state.clone(), base.now, context);
        let (done, changed) = (&turn.done, base.changed.as_ref());
        let gated: Vec<Gated<'_>> = done.iter().map(Done::gated).collect();
        let failures = self.gate.apply(&gated, context.env)?;
        self.report.write(|| self.report_all(&base, &turn, &failures, context.env), context.env)?;
        let gate = if failures.is_empty() { 0 } else { gate::FAILED };
        let code = done.iter().map(|d| plan::exit_code(&d.response)).max().unwrap_or(0).max(gate).max(turn.failed);
        let code = if self.json_output {
            self.print_json(context, done, changed, code)
        } else {
            if self.markdown {
                context.ui.output(self.comment(done, changed, base.now).trim_end());
            } else {
                self.print_all(context, done);
            }
            code
        };
        report_failures(&failures, context);
        Ok(code)
    }

    /// Reads the state and carries the assumed changes out; prints notes about both.
    fn base(&self, entries: &[Entry], context: &mut Context<'_, '_>) -> CommandResult<Base> {
        let wanted = entries.iter().map(|e| (e.namespace.clone(), e.id.clone())).collect();
        let detail = if self.changes.is_empty() { Detail::Jobs(wanted) } else { Detail::Everything };
        let cluster = self.cluster.load(&self.general, detail, context.env)?.as_of(&self.time)?;
        let taken_at = cluster.taken_at(context.env);
        let (before, mut notes, now) = cluster.into_state(self.verbose, context.env);
        notes.extend(assumed_settings(&before).map(String::from));
        notes.iter().for_each(|note| context.ui.warn(note));
        let namespace = self.general.namespace(context.env).unwrap_or("default");
        let (state, changed) = match self.changes.carry_out(&before, namespace, now)? {
            None => (before.clone(), None),
            Some(changed) => (changed.state, Some(changed.outcome)),
        };
        if let Some(outcome) = &changed {
            outcome.notes.iter().for_each(|note| context.ui.warn(note));
            what_if::print_short(context.ui, outcome, self.json_output || self.markdown);
        }
        Ok(Base { taken_at, before, notes, changed, state, now })
    }

    fn report_all(&self, base: &Base, turn: &Turn, failures: &[String], env: &Environment) -> String {
        let address = self.general.api_config(env).address;
        let origin = RecordedState::new(base.taken_at, self.cluster.snapshot(), &address);
        let notes = base.notes.iter().chain(base.changed.iter().flat_map(|o| &o.notes));
        let plans = html::plan::Plans {
            origin: &html::Origin::new(origin, base.before.index),
            assumed: base.changed.as_ref(),
            heat: &Heat::new(&base.before, &turn.state),
            failures,
            disagreements: &[],
            notes: &notes.cloned().collect::<Vec<_>>(),
            unplanned: turn.unplanned,
        };
        html::plan::reports(&turn.done.iter().map(|d| self.planned_job(d)).collect::<Vec<_>>(), &plans)
    }

    /// The job files in the order in which they are planned. `Err` contains the exit code; the messages have been
    /// printed.
    fn entries(&self, context: &mut Context<'_, '_>) -> Result<Vec<Entry>, u8> {
        let paths = expanded(&self.args, self.job.json, context.env).map_err(|e| context.report(&e))?;
        let mut failed = 0_u8;
        let mut entries: Vec<Entry> = Vec::new();
        for path in paths {
            match self.job.load(&path, context.env) {
                Ok(file) => entries.push(self.entry(path, file, context.env)),
                Err(e) => failed = failed.max(context.refuse(e, self.job.diagnostics)),
            }
        }
        if failed > 0 {
            return Err(failed);
        }
        if let Some((first, second)) = twice(&entries) {
            let text = format!("{} and {} are files of the same job {:?}", first.path, second.path, first.id);
            return Err(context.failure(&text));
        }
        entries.sort_by_key(|e| std::cmp::Reverse(e.priority));
        Ok(entries)
    }

    /// A plan for the report.
    fn planned_job<'a>(&self, done: &'a Done) -> html::plan::PlannedJob<'a> {
        let Entry { path, id, namespace, priority, file } = &done.entry;
        html::plan::PlannedJob {
            view: self.view((&done.response, &done.effects), &file.job, path, done.now),
            path,
            id,
            namespace,
            priority: *priority,
            outcome: &done.outcome,
            explanation: done.explanation.text(),
            rollout: None,
        }
    }

    /// Plans each job on the state that the plans before it leave. The messages of jobs that could not be planned have
    /// been printed.
    fn plan_in_turn(&self, entries: Vec<Entry>, mut state: State, now: i64, context: &mut Context<'_, '_>) -> Turn {
        let (mut failed, mut unplanned) = (0_u8, 0_usize);
        let mut done: Vec<Done> = Vec::new();
        let mut in_turn = InTurn::default();
        for entry in entries {
            let options = self.general.convert_options(&entry.file.job, context.env, &state);
            let (server, assumed) = self.assume.context(&state, &entry.file.job, &entry.namespace);
            let planned = in_turn.plan_job(&state, &entry.file.job, &options, &server, now);
            let planned = planned.map_err(|e| entry.file.refused(&e));
            match planned.and_then(|p| Ok((self.explanation(&p.run, now)?, p))) {
                Ok((explanation, planned)) => {
                    let destination = Destination { state: &state, admitted: &planned.run.job };
                    let remarks = remarks::of(&entry.file, Some(&destination), now);
                    context.remark(&remarks, self.job.diagnostics);
                    assumed.note().iter().for_each(|note| context.ui.warn(note));
                    let before = state.clone();
                    state = apply(&planned.run.state, &planned.run.accepted(), now);
                    let outcome = review::outcome(&planned);
                    let effects = self.effects(&planned.run, &before, now, context.env);
                    let response = planned.response;
                    done.push(Done { entry, response, effects, assumed, explanation, remarks, outcome, now });
                }
                Err(mut e) => {
                    e.error = e.error.within(&entry.path);
                    unplanned = unplanned.saturating_add(1);
                    failed = failed.max(context.refuse(e, self.job.diagnostics));
                }
            }
        }
        Turn { done, unplanned, failed, state }
    }

    fn entry(&self, path: String, file: JobFile, env: &Environment) -> Entry {
        let namespace = self.general.namespace_of(&file.job, env).to_string();
        let priority = gate::priority(file.job.priority);
        Entry { path, namespace, id: file.job.id.clone().unwrap_or_default(), priority, file }
    }

    fn print_all(&self, context: &mut Context<'_, '_>, done: &[Done]) {
        for d in done {
            let Entry { path, id, priority, file, .. } = &d.entry;
            context.ui.output_markup(&format!("[bold]==> {path}: job \"{id}\", priority {priority}[reset]\n"));
            plan::print_body(context.ui, &self.view((&d.response, &d.effects), &file.job, path, d.now));
            if self.placements {
                context.ui.section("Placements", &plan_summary::placements(&d.outcome, self.verbose));
            }
            if let Some(text) = d.explanation.text() {
                context.ui.output_markup(&text);
            }
            context.ui.output("");
        }
        context.ui.output_markup("[bold]Summary[reset]");
        let rows = done.iter().map(|d| {
            let counts: Vec<String> = counts(&d.response).iter().map(|(_, n)| n.to_string()).collect();
            format!("{}|{}|{}", cell(&d.entry.id), d.entry.priority, counts.join("|"))
        });
        context.ui.output(&table(
            &headed("Job|Priority|Create|Replace|In Place|Canary|Migrate|Stop|Unplaced|Preempted|Rejected", rows),
            Form::Figures,
        ));
        context.ui.output("\nTo submit the jobs with version verification run, in this order:\n");
        for d in done {
            let view = self.view((&d.response, &d.effects), &d.entry.file.job, &d.entry.path, d.now);
            context.ui.output(&plan::run_command(&view));
        }
    }

    fn print_json(&self, context: &mut Context<'_, '_>, done: &[Done], changed: Option<&Outcome>, code: u8) -> u8 {
        let one = |d: &Done| -> CommandResult<Value> {
            let counts: serde_json::Map<String, Value> =
                counts(&d.response).into_iter().map(|(name, n)| (name.to_string(), n.into())).collect();
            let plan = json::plan_response(&d.response).map_err(CommandError::new)?;
            Ok(json!({
                "File": d.entry.path,
                "Namespace": d.entry.namespace,
                "JobID": d.entry.id,
                "Priority": d.entry.priority,
                "Counts": counts,
                "Plan": beside_remarks(d.assumed.beside(d.explanation.beside(plan)), &d.remarks, self.job.diagnostics),
            }))
        };
        context.attempt(|context| {
            let plans = done.iter().map(one).collect::<CommandResult<Vec<Value>>>()?;
            context.print_json(&beside_changes(json!({"SchemaVersion": 1, "Plans": plans}), changed)?)?;
            Ok(code)
        })
    }

    /// Formats all plans as one comment.
    fn comment(&self, done: &[Done], changed: Option<&Outcome>, now: i64) -> String {
        let names: Vec<&str> = done.first().iter().flat_map(|d| counts(&d.response)).map(|(name, _)| name).collect();
        let assumed = changed.map(|c| format!("{}\n\n", what_if::markdown(c))).unwrap_or_default();
        let mut out = format!(
            "## Plan of {}\n\n{assumed}| Job | {} |\n|---|{}\n",
            counted(done.len(), "job", "jobs"),
            names.join(" | "),
            "---|".repeat(names.len())
        );
        for d in done {
            let counts: Vec<String> = counts(&d.response).iter().map(|(_, n)| n.to_string()).collect();
            out += &format!("| {} | {} |\n", markdown::code(&d.entry.id), counts.join(" | "));
        }
        for d in done {
            let view = self.view((&d.response, &d.effects), &d.entry.file.job, &d.entry.path, now);
            let (assumed, explanation) = (d.assumed.note(), d.explanation.text());
            out += &format!("\n{}", markdown::plan(&view, &d.entry.id, assumed.as_deref(), explanation.as_deref()));
        }
        out
    }
}

/// Returns an error if two files define the same job.
fn twice(entries: &[Entry]) -> Option<(&Entry, &Entry)> {
    let mut seen: BTreeMap<(&str, &str), &Entry> = BTreeMap::new();
    entries.iter().find_map(|e| seen.insert((&e.namespace, &e.id), e).map(|first| (first, e)))
}

/// The counts of a plan, by the names that JSON and Markdown have for them.
fn counts(plan: &JobPlanResponse) -> [(&'static str, u64); 9] {
    let counts = PlanCounts::of(plan);
    [
        ("Create", counts.create),
        ("Replace", counts.replace),
        ("InPlace", counts.in_place),
        ("Canary", counts.canary),
        ("Migrate", counts.migrate),
        ("Stop", counts.stop),
        ("NoNode", counts.unplaced),
        ("Preempted", counts.evicted),
        ("Rejected", counts.rejected),
    ]
}

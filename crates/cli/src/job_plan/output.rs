//! Printing the plan of one job, and writing it to files.

use super::JobPlan;
use super::answer::Planned;
use super::gate::{self, Gated};
use crate::context::{Context, Environment};
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::job_file::JobFile;
use crate::plan_file::RecordedState;
use crate::render::plan::{Effects, PlanView};
use crate::render::{html, json, markdown, plan, plan_summary, rollout as render_rollout, template, what_if};
use encamp_model::{JobPlanResponse, JobType, api};

/// A job file and the plan of its job.
pub(super) struct PlannedFile<'a> {
    pub path: &'a str,
    pub file: JobFile,
    pub planned: Planned,
}

impl PlannedFile<'_> {
    fn job_id(&self) -> &str {
        self.file.job.id.as_deref().unwrap_or_default()
    }
}

impl JobPlan {
    fn view_of<'a>(&self, plan: &'a PlannedFile<'_>) -> PlanView<'a> {
        let PlannedFile { path, file, planned } = plan;
        self.view((&planned.response, &planned.effects), &file.job, path, planned.now)
    }

    /// The view of the plan of `job` from `path`.
    pub(super) fn view<'a>(
        &self,
        (plan, effects): (&'a JobPlanResponse, &'a Effects),
        job: &'a api::Job,
        path: &str,
        now: i64,
    ) -> PlanView<'a> {
        PlanView {
            plan,
            effects,
            job_type: job.r#type.as_deref().filter(|t| !t.is_empty()).map_or(JobType::Service, JobType::from),
            parameterized: job.parameterized_job.is_some(),
            all_at_once: job.all_at_once.unwrap_or_default(),
            time_zone: job.periodic.as_ref().and_then(|p| p.time_zone.as_deref()).unwrap_or_default(),
            now,
            diff: self.diff,
            verbose: self.verbose,
            run_args: format!("{}{path}", self.job.variables.run_args(self.general.namespace.as_deref())),
        }
    }

    /// What conditions of pipelines are about.
    pub(super) fn gated<'a>(&'a self, plan: &'a PlannedFile<'_>, env: &'a Environment) -> Gated<'a> {
        Gated {
            path: plan.path,
            job_id: plan.job_id(),
            namespace: self.general.namespace_of(&plan.file.job, env),
            priority: gate::priority(plan.file.job.priority),
            response: &plan.planned.response,
            tally: &plan.planned.effects.tally,
        }
    }

    /// The plan in a format for programs or comments, if one is requested.
    pub(super) fn document(&self, plan: &PlannedFile<'_>, env: &Environment) -> Option<CommandResult<String>> {
        let value = || plan.planned.value(&plan.file, self.job.diagnostics, env);
        if let Some(template) = &self.template {
            let text = value().and_then(|value| {
                template::render(template, &value, "*api.JobPlanResponse").map_err(CommandError::new)
            });
            return Some(text.context("Error formatting the data"));
        }
        if self.json_output {
            return Some(value().and_then(|value| json::indented(&value).map_err(CommandError::new)));
        }
        self.markdown.then(|| Ok(self.markdown_text(plan)))
    }

    fn markdown_text(&self, plan: &PlannedFile<'_>) -> String {
        let planned = &plan.planned;
        let changed = planned.changed.as_ref().map(what_if::markdown);
        let assumed: Vec<String> = planned.assumed.note().into_iter().chain(changed).collect();
        let assumed = (!assumed.is_empty()).then(|| assumed.join("\n\n"));
        let explanation = planned.explanation.text();
        let text = markdown::plan(&self.view_of(plan), plan.job_id(), assumed.as_deref(), explanation.as_deref());
        text.trim_end().to_string()
    }

    /// Prints the plan for people. `written` is the line about the plan file.
    pub(super) fn print(
        &self,
        plan: &PlannedFile<'_>,
        failures: &[String],
        written: Option<&str>,
        context: &mut Context<'_, '_>,
    ) {
        let planned = &plan.planned;
        plan::print(context.ui, &self.view_of(plan));
        if let Some(reviewed) = planned.reviewed.as_ref().filter(|_| self.placements) {
            context.ui.section("Placements", &plan_summary::placements(&reviewed.outcome, self.verbose));
        }
        if let Some(text) = planned.explanation.text() {
            context.ui.output_markup(&text);
        }
        if let Some(rollout) = &planned.rollout {
            context.ui.output_markup(&format!("\n{}", render_rollout::markup(rollout, self.verbose)));
        }
        if let Some(found) = &planned.suggestions {
            self.print_suggestions(&plan.file, found, context);
        }
        if let Some(line) = written {
            context.ui.output(&format!("\n{line}"));
        }
        planned.report_disagreements(context);
        report_failures(failures, context);
        if context.env.stdout_is_terminal {
            let assumed = planned.assumed.text();
            let summary = plan_summary::markup_if(&planned.effects.tally, assumed.as_deref());
            context.ui.output_markup(&format!("\n{summary}"));
        }
    }

    /// The report about the plan of one job; empty if it was not made locally.
    pub(super) fn report(&self, plan: &PlannedFile<'_>, failures: &[String], env: &Environment) -> String {
        let PlannedFile { path, file, planned } = plan;
        let (Some(reviewed), Some(heat)) = (&planned.reviewed, &planned.heat) else { return String::new() };
        let general = self.general.for_job(&file.job);
        let state = RecordedState::new(planned.taken_at, self.cluster.snapshot(), &general.api_config(env).address);
        let notes = planned.notes.iter().chain(planned.changed.iter().flat_map(|o| &o.notes));
        let job = html::plan::PlannedJob {
            view: self.view_of(plan),
            path,
            id: plan.job_id(),
            namespace: self.general.namespace_of(&file.job, env),
            priority: gate::priority(file.job.priority),
            outcome: &reviewed.outcome,
            explanation: planned.explanation.text(),
            rollout: planned.rollout.as_ref().map(|rollout| render_rollout::markup(rollout, self.verbose)),
        };
        let plans = html::plan::Plans {
            origin: &html::Origin::new(state, reviewed.index),
            assumed: planned.changed.as_ref(),
            heat,
            failures,
            disagreements: &planned.disagreements,
            notes: &notes.cloned().collect::<Vec<String>>(),
            unplanned: 0,
        };
        html::plan::report(&job, &plans)
    }

    /// Writes the plan file, if one is requested. Returns the line about it.
    pub(super) fn write_file(&self, plan: &PlannedFile<'_>, env: &Environment) -> CommandResult<Option<String>> {
        let PlannedFile { file, planned, .. } = plan;
        let Some(reviewed) = &planned.reviewed else { return Ok(None) };
        let general = self.general.for_job(&file.job);
        let state = RecordedState::new(planned.now, self.cluster.snapshot(), &general.api_config(env).address);
        let namespace = self.general.namespace_of(&file.job, env);
        self.out.write(file, &self.job.variables, namespace, reviewed, state, env)
    }
}

/// Prints the conditions of `-fail-on` that hold.
pub(super) fn report_failures(failures: &[String], context: &mut Context<'_, '_>) {
    if !failures.is_empty() {
        context.ui.error("The plan fails the conditions of -fail-on:");
        failures.iter().for_each(|line| context.ui.error(&format!("  * {line}")));
    }
}

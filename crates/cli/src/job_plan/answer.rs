//! The result of planning one job: the plan, notes, explanations, and differences to the servers' plan.

use serde_json::{Value, json};

use super::assume::Assumed;
use crate::context::{Context, Environment};
use crate::diagnostics::{DiagnosticsFormat, Refused};
use crate::error::{CommandError, CommandResult};
use crate::job_file::JobFile;
use crate::plan_file::Reviewed;
use crate::render;
use crate::render::html::heat::Heat;
use crate::render::plan::Effects;
use encamp_jobspec::explain::Finding;
use encamp_model::JobPlanResponse;
use encamp_plan::DryRun;
use encamp_plan::explain::{self, GroupExplanation, NodeStory};
use encamp_plan::fit::Fit;
use encamp_plan::suggest::Suggestions;
use encamp_plan::what_if::Outcome;
use encamp_plan::what_if::find::matching;
use encamp_server::rollout_preview::Rollout;

/// A plan with its notes.
#[derive(Default)]
pub(super) struct Planned {
    pub response: JobPlanResponse,
    /// The effects of the plan.
    pub effects: Effects,
    /// The record of the plan, if it was made locally.
    pub reviewed: Option<Reviewed>,
    /// What the plan assumes to exist.
    pub assumed: Assumed,
    /// Warnings about settings of the job that have no effect.
    pub remarks: Vec<Finding>,
    /// The outcome of the assumed changes, which are applied before the job is planned.
    pub changed: Option<Outcome>,
    /// Notes about missing state, and about how the state was read.
    pub notes: Vec<String>,
    /// The differences to the servers' plan.
    pub disagreements: Vec<String>,
    pub explanation: Explanation,
    /// Edits with which everything is placed, if they were looked for.
    pub suggestions: Option<Suggestions>,
    /// The predicted rollout, if it was asked for.
    pub rollout: Option<Rollout>,
    /// How well the job fits, if clusters are compared.
    pub fit: Option<Fit>,
    /// The usage of nodes before and after, for the report.
    pub heat: Option<Heat>,
    /// The time at which the state was read or saved, Unix nanoseconds.
    pub taken_at: i64,
    /// The time at which the plan is made, Unix nanoseconds.
    pub now: i64,
}

/// Why a job was not planned on a cluster.
pub(super) enum NotPlanned {
    /// The cluster could not be read, or flags name what it does not have.
    Cluster(CommandError),
    /// The job is invalid, or its servers would refuse it.
    Job(Refused),
}

impl<E: Into<CommandError>> From<E> for NotPlanned {
    fn from(error: E) -> NotPlanned {
        NotPlanned::Cluster(error.into())
    }
}

impl NotPlanned {
    /// What is reported where there is one cluster.
    pub(super) fn refused(self) -> Refused {
        match self {
            NotPlanned::Cluster(error) => error.into(),
            NotPlanned::Job(refused) => refused,
        }
    }
}

/// The output of `-explain`.
#[derive(Default)]
pub(super) enum Explanation {
    #[default]
    None,
    Groups(Vec<GroupExplanation>),
    Node {
        name: String,
        id: String,
        stories: Vec<NodeStory>,
    },
}

impl Explanation {
    /// Explains the plan, or one node.
    pub(super) fn new(run: &DryRun, node: &str, now: i64) -> CommandResult<Explanation> {
        if node.is_empty() {
            return Ok(Explanation::Groups(explain::explain(run, now)));
        }
        match matching(&run.state, node).as_slice() {
            [] => Err(CommandError::new(format!("Error explaining the plan: no node has the name or ID {node:?}"))),
            [found] => Ok(Explanation::Node {
                name: found.name.clone(),
                id: found.id.clone(),
                stories: explain::node_story(run, &found.id, now),
            }),
            several => {
                let names: Vec<String> = several.iter().take(10).map(|n| format!("{} ({})", n.name, n.id)).collect();
                let names = names.join(", ");
                Err(CommandError::new(format!("Error explaining the plan: {node:?} matches several nodes: {names}")))
            }
        }
    }

    pub(super) fn text(&self) -> Option<String> {
        match self {
            Explanation::None => None,
            Explanation::Groups(groups) => Some(render::explain::groups(groups)),
            Explanation::Node { name, id, stories } => Some(render::explain::node(name, id, stories)),
        }
    }

    /// The JSON of the plan, with the explanation as an additional member.
    pub(super) fn beside(&self, mut plan: Value) -> Value {
        let explanation = match self {
            Explanation::None => return plan,
            Explanation::Groups(groups) => json!({"SchemaVersion": 1, "Groups": groups}),
            Explanation::Node { name, id, stories } => {
                json!({"SchemaVersion": 1, "Node": {"ID": id, "Name": name, "Groups": stories}})
            }
        };
        if let Value::Object(members) = &mut plan {
            members.insert("Explanation".into(), explanation);
        }
        plan
    }
}

/// The JSON of a plan, with the outcome of assumed changes, if any, as an additional member
/// (`docs/reference/job-plan.schema.json`).
pub(super) fn beside_changes(mut plan: Value, changed: Option<&Outcome>) -> CommandResult<Value> {
    if let (Value::Object(members), Some(outcome)) = (&mut plan, changed) {
        members.insert("WhatIf".into(), render::what_if::value(outcome).map_err(CommandError::new)?);
    }
    Ok(plan)
}

/// The JSON of a plan, with warnings about the job file as an additional member if diagnostics are JSON, too
/// (`docs/reference/diagnostics.schema.json`). Otherwise they are printed on standard error.
pub(super) fn beside_remarks(mut plan: Value, remarks: &[Finding], format: DiagnosticsFormat) -> Value {
    if let (Value::Object(members), DiagnosticsFormat::Json) = (&mut plan, format) {
        members.insert("Diagnostics".into(), render::findings::values(remarks));
    }
    plan
}

impl Planned {
    /// The plan as JSON: the response, and the members that flags add.
    pub(super) fn value(&self, file: &JobFile, format: DiagnosticsFormat, env: &Environment) -> CommandResult<Value> {
        let plan = render::json::plan_response(&self.response).map_err(CommandError::new)?;
        let mut value = self.assumed.beside(self.explanation.beside(beside_changes(plan, self.changed.as_ref())?));
        if let (Value::Object(members), Some(rollout)) = (&mut value, &self.rollout) {
            members.insert("Rollout".into(), render::rollout::value(rollout).map_err(CommandError::new)?);
        }
        if let (Value::Object(members), Some(found)) = (&mut value, &self.suggestions) {
            let path = Some(file.path());
            let view = render::suggest::View { found, path, place: &|edit| file.place_of(edit), zone: &env.zone() };
            members.insert("Suggestions".into(), render::suggest::value(&view));
        }
        Ok(beside_remarks(value, &self.remarks, format))
    }

    pub(super) fn report_disagreements(&self, context: &mut Context<'_, '_>) {
        if self.disagreements.is_empty() {
            return;
        }
        context.ui.error("The servers' plan differs:");
        for line in &self.disagreements {
            context.ui.error(&format!("  {line}"));
        }
    }
}

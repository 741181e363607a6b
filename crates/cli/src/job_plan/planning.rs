//! Making the plan of one job: locally, or by the servers.

use std::collections::BTreeMap;

use super::JobPlan;
use super::answer::{Explanation, NotPlanned, Planned};
use crate::cluster::{ClusterFlags, block_on};
use crate::context::Environment;
use crate::diagnostics::Refused;
use crate::error::{CommandResult, ErrorContext};
use crate::job_file::JobFile;
use crate::plan_file::Reviewed;
use crate::remarks;
use crate::render::html::heat::Heat;
use crate::render::plan::Effects;
use encamp_model::{JobPlanResponse, api};
use encamp_plan::apply::apply;
use encamp_plan::explain::class_reasons;
use encamp_plan::fit::fit;
use encamp_plan::tally::Tally;
use encamp_plan::verdict::Destination;
use encamp_plan::{DryRun, assumed_settings, compare, plan_job};
use encamp_server::rollout_preview::{rollout, rollout_within};
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// Rolling updates of more steps than that are not simulated for the summary.
const MOST_STEPS: u64 = 200;

/// Their simulation ends after so many evaluations: a few for each step.
const MOST_EVALUATIONS: usize = 1000;

impl JobPlan {
    /// Plans a job on the only cluster.
    pub(super) fn plan(&self, file: &JobFile, env: &Environment) -> Result<Planned, Refused> {
        self.plan_on(&self.cluster.of(self.cluster.snapshot()), file, env).map_err(NotPlanned::refused)
    }

    /// Plans a job on a cluster.
    pub(super) fn plan_on(
        &self,
        cluster: &ClusterFlags,
        file: &JobFile,
        env: &Environment,
    ) -> Result<Planned, NotPlanned> {
        if self.remote {
            return Ok(self.planned_by_servers(file, env)?);
        }
        let id = file.job.id.clone().unwrap_or_default();
        let namespace = self.general.namespace_of(&file.job, env);
        let only_job = self.changes.is_empty() && !self.rollout && !self.suggest.any();
        let detail = if only_job { Detail::Jobs(vec![(namespace.to_string(), id)]) } else { Detail::Everything };
        let cluster = cluster.load(&self.general.for_job(&file.job), detail, env)?.as_of(&self.time)?;
        let taken_at = cluster.taken_at(env);
        let (before, mut notes, now) = cluster.into_state(self.verbose, env);
        let changed = self.changes.carry_out(&before, namespace, now)?;
        let state = changed.as_ref().map_or(&before, |w| &w.state);
        notes.extend(assumed_settings(state).map(String::from));
        let options = self.general.convert_options(&file.job, env, state);
        let (server, assumed) = self.assume.context(state, &file.job, namespace);
        notes.extend(assumed.note());
        let planned = plan_job(state, &file.job, &options, &server, now);
        let planned = planned.map_err(|e| NotPlanned::Job(file.refused(&e)))?;
        let remarks = remarks::of(file, Some(&Destination { state, admitted: &planned.run.job }), now);
        let disagreements = self.disagreements(&planned.response, file, env)?;
        if self.check_remote && disagreements.is_empty() {
            notes.push("The servers' plan is the same.".into());
        }
        let explanation = self.explanation(&planned.run, now)?;
        let rollout = match self.rollout {
            true => Some(rollout(state, &planned.run.job, now).context("Error predicting the rollout")?),
            false => None,
        };
        let fit = self.cluster.are_several().then(|| fit(&planned.run, now));
        let suggestions = self.suggested((file, &planned.response), state, &server, now, env);
        let heat = self.report.wanted().then(|| {
            let after = apply(&planned.run.state, &planned.run.accepted(), now);
            Heat::new(&before, &after)
        });
        let reviewed = Some(Reviewed::new(&planned, state));
        let effects = self.effects(&planned.run, state, now, env);
        let changed = changed.map(|w| w.outcome);
        let response = planned.response;
        Ok(Planned {
            reviewed,
            response,
            effects,
            assumed,
            remarks,
            changed,
            notes,
            disagreements,
            explanation,
            suggestions,
            rollout,
            fit,
            heat,
            taken_at,
            now,
        })
    }

    /// Where the servers' plan differs, if it is asked for.
    fn disagreements(
        &self,
        planned: &JobPlanResponse,
        file: &JobFile,
        env: &Environment,
    ) -> CommandResult<Vec<String>> {
        Ok(match self.check_remote {
            true => compare::disagreements(planned, &self.ask(&file.job, env)?),
            false => Vec::new(),
        })
    }

    /// The plan that the servers make.
    fn planned_by_servers(&self, file: &JobFile, env: &Environment) -> CommandResult<Planned> {
        let response = self.ask(&file.job, env)?;
        let effects = Effects { tally: Tally::of_response(&response, &file.job), ..Effects::default() };
        let remarks = remarks::of(file, None, env.now);
        Ok(Planned { response, effects, remarks, taken_at: env.now, now: env.now, ..Planned::default() })
    }

    /// The effects of the plan. For readers of the summary, the rest of a rolling update is simulated.
    pub(super) fn effects(&self, run: &DryRun, state: &State, now: i64, env: &Environment) -> Effects {
        let mut tally = Tally::of(run, now);
        let read = env.stdout_is_terminal || self.report.wanted();
        // A job that is not changed continues a rollout that the simulation knows nothing of.
        let new = run.old_job.as_ref().is_none_or(|old| old.version != run.job.version);
        if read
            && new
            && (1..=MOST_STEPS).contains(&tally.steps())
            && let Ok(rollout) = rollout_within(state, &run.job, now, MOST_EVALUATIONS)
        {
            tally.simulated(&rollout.left());
        }
        let class_reasons = if env.stdout_is_terminal { class_reasons(run, now) } else { BTreeMap::new() };
        Effects { tally, class_reasons }
    }

    /// The requested explanation.
    pub(super) fn explanation(&self, run: &DryRun, now: i64) -> CommandResult<Explanation> {
        self.explain.as_ref().map_or(Ok(Explanation::None), |node| Explanation::new(run, node, now))
    }

    /// Requests the plan from the servers. The region and namespace of the job take precedence over those of flags and
    /// environment.
    fn ask(&self, job: &api::Job, env: &Environment) -> CommandResult<JobPlanResponse> {
        let client = self.general.for_job(job).client(env)?;
        let id = job.id.as_deref().unwrap_or_default();
        let answer = block_on(client.plan_job(id, own(&job.namespace), job, self.policy_override))?;
        Ok(answer.context("Error during plan")?.0)
    }
}

fn own(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|v| !v.is_empty())
}

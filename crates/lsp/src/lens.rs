//! Plans above jobs: what would happen if the job were registered now.

use std::collections::BTreeMap;

use lsp_types::{CodeLens, Command};
use serde_json::json;

use crate::document::{Document, Kind};
use encamp_jobspec::convert::ConvertOptions;
use encamp_model::api;
use encamp_plan::remarks::Remark;
use encamp_plan::verdict::{Accepted, Destination, remarks_of_file, verdict};
use encamp_plan::{JobPlan, PlanError, plan_job, server_context};
use encamp_state::State;
use serde::{Deserialize, Serialize};

/// The command that shows the whole plan.
pub(crate) const PLAN: &str = "encamp.plan";
/// The command that explains the placements.
pub(crate) const EXPLAIN: &str = "encamp.explain";
/// The command that looks for changes with which the job fits.
pub(crate) const SUGGEST: &str = "encamp.suggest";
/// The command that reads the cluster again.
pub(crate) const REFRESH: &str = "encamp.refresh";

/// What a plan of a job says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// One line: `3 to place · 1 preempted (email-marketing) · fits`.
    pub(crate) summary: String,
    /// Whether everything is placed.
    pub(crate) fits: bool,
    /// The settings without effect on this cluster; `None` where the job is refused.
    pub(crate) remarks: Option<Vec<Remark>>,
}

impl Planned {
    /// The plan of a job that could not be planned.
    pub(crate) fn failed(why: &str) -> Planned {
        Planned { summary: format!("no plan: {why}"), fits: false, remarks: None }
    }
}

/// Plans a job on a cluster as of `now`, Unix nanoseconds.
pub fn plan(job: &api::Job, options: &ConvertOptions, state: &State, now: i64) -> Planned {
    let (summary, fits) = match plan_job(state, job, options, &server_context(state), now) {
        Ok(planned) => summary(&planned),
        Err(PlanError::Admission(_) | PlanError::Convert(_)) => ("no plan: the job is invalid".to_owned(), false),
        Err(e) => (format!("no plan: {e}"), false),
    };
    let remarks = verdict(job.clone(), options, Some(state)).ok().map(|Accepted { job: admitted, .. }| {
        let destination = Destination { state, admitted: &admitted };
        remarks_of_file(job, Some(&destination), now)
    });
    Planned { summary, fits, remarks }
}

fn summary(planned: &JobPlan) -> (String, bool) {
    let groups = planned.response.annotations.as_ref().map(|a| &a.desired_tg_updates);
    let sum =
        |of: fn(&encamp_model::DesiredUpdates) -> u64| groups.into_iter().flat_map(|g| g.values()).map(of).sum::<u64>();
    let mut parts = Vec::new();
    let failed: u64 =
        planned.response.failed_tg_allocs.values().map(|m| u64::try_from(m.coalesced_failures).unwrap_or(0) + 1).sum();
    for (count, what) in [
        (sum(|u| u.place).saturating_sub(failed), "to place"),
        (sum(|u| u.canary), "canaries"),
        (sum(|u| u.destructive_update), "to replace"),
        (sum(|u| u.in_place_update), "updated in place"),
        (sum(|u| u.migrate), "to migrate"),
        (sum(|u| u.stop), "to stop"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let mut evicted: BTreeMap<&str, usize> = BTreeMap::new();
    for alloc in planned.run.plan.node_preemptions.values().flatten() {
        *evicted.entry(alloc.job_id.as_str()).or_default() += 1;
    }
    if !evicted.is_empty() {
        let names: Vec<&str> = evicted.keys().copied().collect();
        parts.push(format!("{} preempted ({})", evicted.values().sum::<usize>(), names.join(", ")));
    }
    if parts.is_empty() && failed == 0 {
        parts.push("no changes".to_owned());
    }
    parts.push(match failed {
        0 => "fits".to_owned(),
        1 => "1 does not fit".to_owned(),
        _ => format!("{failed} do not fit"),
    });
    (parts.join(" · "), failed == 0)
}

/// The lenses of a document.
pub(crate) fn lenses(document: &Document, has_cluster: bool) -> Vec<CodeLens> {
    if !matches!(document.kind, Kind::Job | Kind::ApiJob) {
        return Vec::new();
    }
    let Some(job) = document.outline().job() else { return Vec::new() };
    let range = document.text.range(job.header.start as usize, job.header.end as usize);
    let lens = |title: &str, command: &str| CodeLens {
        range,
        command: Some(Command {
            title: title.to_owned(),
            command: command.to_owned(),
            arguments: Some(vec![json!(document.uri)]),
        }),
        data: None,
    };
    if !has_cluster {
        return Vec::new();
    }
    let planned = document.planned();
    let fresh = planned.filter(|(version, _)| *version == document.version).map(|(_, planned)| planned);
    let title = match (fresh, planned) {
        (Some(planned), _) => planned.summary.clone(),
        (None, Some((_, former))) => format!("{} …", former.summary),
        (None, None) => "plan".to_owned(),
    };
    let mut out = vec![lens(&title, PLAN), lens("explain", EXPLAIN)];
    if fresh.is_some_and(|p| !p.fits) {
        out.push(lens("suggest changes", SUGGEST));
    }
    out
}

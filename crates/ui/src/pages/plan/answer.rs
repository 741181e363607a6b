//! What a plan says: the verdict first, then the diff, placements, preemptions, and what cannot be placed.

use std::collections::{BTreeMap, BTreeSet};

use encamp_model::json::null_is_default;
use encamp_model::{AllocMetric, DesiredUpdates, DiffType, JobDiff, PlanRejection};
use maud::{Markup, html};
use serde::Deserialize;

use super::explanation::{self, Explanation};
use super::rollout::{self, Rollout};
use crate::pages::questions::ask::table;
use crate::parts::command::answer;
use crate::parts::diagnostic::{self, Diagnostic};
use crate::parts::state::{Tone, notice, verdict};
use crate::parts::{diff, link, plural, why};

answer! {
    /// The answer of `job plan -json-output`.
    pub(crate) struct Plan {
        annotations: Option<Annotations>, diff: Option<JobDiff>,
        failed = "FailedTGAllocs": Option<BTreeMap<String, AllocMetric>>, job_modify_index: u64,
        next_periodic_launch: Option<String>, warnings: String, #[serde(default)] plan_rejections: Vec<PlanRejection>,
        #[serde(default)] diagnostics: Vec<Diagnostic>, explanation: Option<Explanation>, rollout: Option<Rollout>,
        suggestions: Option<Suggestions>,
    }

    struct Annotations {
        updates = "DesiredTGUpdates": Option<BTreeMap<String, DesiredUpdates>>,
        preempted_allocs: Option<Vec<Preempted>>,
    }
}

/// An allocation of another job that is preempted.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Preempted {
    #[serde(rename = "ID")]
    pub id: String,
    name: String,
    namespace: String,
    #[serde(rename = "JobID")]
    job_id: String,
    #[serde(rename = "NodeID")]
    pub node_id: String,
    node_name: String,
}

answer! {
    struct Suggestions { complete: bool, list: Vec<Suggestion> }

    struct Suggestion { placed: u64, evicted: Vec<serde::de::IgnoredAny>, edits: Vec<Edit> }

    struct Edit { text: String, line: Option<u32> }
}

/// What a plan does, over all groups.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    created: u64,
    replaced: u64,
    in_place: u64,
    moved: u64,
    stopped: u64,
    unplaced: i64,
    preempted: usize,
    /// Jobs that lose allocations.
    victims: usize,
}

impl Plan {
    /// The ID of the job.
    pub(crate) fn job_id(&self) -> &str {
        self.diff.as_ref().map_or("", |diff| &diff.id)
    }

    /// What servers compare when the job is registered; 0 for a new job.
    pub(crate) fn job_modify_index(&self) -> u64 {
        self.job_modify_index
    }

    /// The allocations of other jobs that are preempted.
    pub(crate) fn preempted(&self) -> &[Preempted] {
        self.annotations.as_ref().and_then(|a| a.preempted_allocs.as_deref()).unwrap_or_default()
    }

    /// Why the plan places its allocations where it does.
    pub(crate) fn explanation(&self) -> Option<&Explanation> {
        self.explanation.as_ref()
    }

    fn updates(&self) -> impl Iterator<Item = (&String, &DesiredUpdates)> {
        self.annotations.iter().flat_map(|a| a.updates.iter().flatten())
    }

    fn totals(&self) -> Totals {
        let preempted = self.preempted();
        let victims: BTreeSet<_> = preempted.iter().map(|p| (&p.namespace, &p.job_id)).collect();
        let unplaced = self.failed.iter().flatten().map(|(_, failed)| why::missing(failed)).sum();
        let mut totals = Totals { unplaced, preempted: preempted.len(), victims: victims.len(), ..Totals::default() };
        for (_, u) in self.updates() {
            totals.created += u.place + u.canary + u.reschedule_now;
            totals.replaced += u.destructive_update;
            totals.in_place += u.in_place_update;
            totals.moved += u.migrate;
            totals.stopped += u.stop;
        }
        totals.created = totals.created.saturating_sub(u64::try_from(unplaced).unwrap_or(0));
        totals
    }
}

/// The plan below the editor. `map`: the nodes that it changes.
pub(crate) fn markup(plan: &Plan, map: &Markup) -> Markup {
    html! {
        (sentence(plan))
        (warnings(plan))
        @if plan.failed.as_ref().is_some_and(|failed| !failed.is_empty()) { (unplaced(plan)) }
        (suggestions(plan.suggestions.as_ref()))
        (preempted(plan.preempted()))
        @if let Some(diff) = &plan.diff {
            h3 { "Diff" }
            @if diff.r#type == DiffType::Added {
                details { summary { "The job is new: all its settings" } (diff::job(diff)) }
            } @else if diff.r#type == DiffType::None {
                p { "The job is the registered one." }
            } @else {
                (diff::job(diff))
            }
        }
        (updates(plan))
        @if let Some(explanation) = &plan.explanation { (explanation::placements(explanation)) }
        (map)
        @if let Some(rollout) = &plan.rollout { (rollout::markup(rollout)) }
        @if let Some(launch) = &plan.next_periodic_launch { p { "The next launch is at " (launch) "." } }
    }
}

fn sentence(plan: &Plan) -> Markup {
    let totals = plan.totals();
    let mut done = Vec::new();
    for (number, what) in [
        (totals.created, "created"),
        (totals.replaced, "replaced"),
        (totals.in_place, "updated in place"),
        (totals.moved, "moved"),
        (totals.stopped, "stopped"),
    ] {
        if number > 0 {
            done.push(format!("{number} {what}"));
        }
    }
    let done = if done.is_empty() { "no allocation changes".to_string() } else { done.join(", ") };
    let (tone, text) = if !plan.plan_rejections.is_empty() {
        (Tone::Bad, format!("Servers would reject a part of this plan ({done})."))
    } else if totals.unplaced > 0 {
        (Tone::Bad, format!("{} cannot be placed ({done}).", plural(totals.unplaced, "allocation")))
    } else if totals.preempted > 0 {
        let victims = format!("{} of {}", plural(totals.preempted, "allocation"), plural(totals.victims, "other job"));
        (Tone::Warning, format!("Everything is placed, but {victims} would be preempted ({done})."))
    } else if let Some(end) = plan.rollout.as_ref().and_then(rollout::problem) {
        (Tone::Warning, format!("Everything is placed at first, but {end} ({done})."))
    } else {
        (Tone::Good, format!("Everything is placed: {done}."))
    };
    verdict(tone, &text)
}

fn warnings(plan: &Plan) -> Markup {
    html! {
        @if !plan.warnings.trim().is_empty() { (notice(Tone::Warning, &html! { pre { (plan.warnings.trim()) } })) }
        (diagnostic::list(&plan.diagnostics))
        (why::rejections(&plan.plan_rejections))
    }
}

fn unplaced(plan: &Plan) -> Markup {
    html! {
        h3 { "Unplaced" }
        @for (group, failed) in plan.failed.iter().flatten() {
            h4 { "Group " (group) ": " (plural(why::missing(failed), "allocation")) }
            @match plan.explanation.as_ref().and_then(|e| e.group(group)) {
                Some(found) => { (explanation::reasons(found)) }
                None => { (why::reasons(failed, "Why nodes were excluded")) }
            }
        }
    }
}

fn suggestions(found: Option<&Suggestions>) -> Markup {
    let Some(found) = found.filter(|found| !found.list.is_empty()) else { return html! {} };
    html! {
        h3 { "Edits with which everything is placed" }
        ol.suggestions {
            @for s in &found.list {
                li {
                    ul.reasons {
                        @for edit in &s.edits {
                            li {
                                (edit.text)
                                @if let Some(line) = edit.line { " (" a href="#text" data-line=(line) { "line " (line) } ")" }
                            }
                        }
                    }
                    p.muted {
                        (plural(s.placed, "allocation")) " placed"
                        @if !s.evicted.is_empty() { ", " (s.evicted.len()) " of other jobs preempted" }
                    }
                }
            }
        }
        @if !found.complete { p.muted { "The search was ended early: there may be smaller edits." } }
    }
}

fn preempted(preempted: &[Preempted]) -> Markup {
    html! {
        @if !preempted.is_empty() {
            (table("Preempted allocations", &["Allocation", "Job", "Node"], preempted, "", |p| vec![
                html! { a href=(link::allocation_address(&p.id)) { (p.name) } },
                link::job(&p.namespace, &p.job_id),
                link::client(&p.node_id, &p.node_name),
            ]))
        }
    }
}

fn updates(plan: &Plan) -> Markup {
    let groups: Vec<_> = plan.updates().collect();
    let columns =
        ["Group", "Create#", "Canary#", "Replace#", "In place#", "Migrate#", "Stop#", "Unchanged#", "Unplaced#"];
    table("Groups", &columns, &groups, "The plan changes no group.", |(group, u)| {
        vec![
            html! { (group) },
            html! { (u.place) },
            html! { (u.canary) },
            html! { (u.destructive_update) },
            html! { (u.in_place_update) },
            html! { (u.migrate) },
            html! { (u.stop) },
            html! { (u.ignore) },
            html! { (plan.failed.as_ref().and_then(|failed| failed.get(*group)).map_or(0, why::missing)) },
        ]
    })
}

//! When one object is deleted, and what keeps it (`docs/spec/garbage-collection.md §19`).

use super::decide::View;
use super::verdict::{Decision, Named};
use crate::evals::core_job::CoreJob;
use crate::settings::GcSettings;
use encamp_model::gc::{GcExplained, GcExplanation, GcKind, GcObject, GcRef, GcRule, GcStep};
use encamp_model::*;

/// The most matches of an ambiguous ID.
const MOST_MATCHES: usize = 20;
/// The longest chain of objects that keep each other. No rule makes a longer one.
const MOST_STEPS: usize = 8;

/// Explains the object with an ID, or the only one whose ID begins so. An object whose ID is equal wins. Nothing matches
/// if both parts of the answer are empty. `namespace` leaves objects of others out; empty or `*`: none.
pub fn explain(view: &View, settings: &GcSettings, namespace: &str, id: &str) -> GcExplained {
    let mut found = find(view, id);
    if !namespace.is_empty() && namespace != "*" {
        found.retain(|name| name.namespace.is_empty() || name.namespace == namespace);
    }
    if let [only] = found.as_slice() {
        return GcExplained { explanation: of_object(view, settings, *only), matches: Vec::new() };
    }
    GcExplained { explanation: None, matches: found.into_iter().take(MOST_MATCHES).map(Named::shown).collect() }
}

/// The objects whose ID is equal, or else those whose ID begins so; a few more than are shown.
fn find<'a>(view: &View<'a>, id: &str) -> Vec<Named<'a>> {
    if id.is_empty() {
        return Vec::new();
    }
    let (store, state) = (view.store, view.store.state());
    let begins = |name: &Named<'a>| name.id.starts_with(id);
    let mut found: Vec<Named<'a>> = Vec::new();
    let mut take = |names: &mut dyn Iterator<Item = Named<'a>>| {
        // An equal ID is the first one of its kind.
        found.extend(names.filter(begins).take(MOST_MATCHES + 1));
    };
    take(&mut store.evals_from(id).map(|e| Named::eval(e)).take_while(begins));
    take(&mut store.allocs_from(id).map(|a| Named::alloc(&a.alloc)).take_while(begins));
    let mut jobs: Vec<_> = state.jobs().map(|e| Named::job(&e.current)).filter(begins).collect();
    jobs.sort_by_key(|name| (name.id, name.namespace));
    take(&mut jobs.into_iter());
    take(&mut state.deployments().map(|d| Named::deployment(d)));
    take(&mut state.nodes().map(|n| Named::node(&n.node)));
    take(&mut store.acl_tokens_from(id).map(|t| Named::token(t)).take_while(begins));
    take(&mut store.root_keys().map(|k| Named::key(k)));
    take(&mut store.csi_plugins().map(|p| Named::csi_plugin(p)));
    take(&mut state.csi_volumes().map(|v| Named::csi_claims(v)));
    if found.iter().any(|name| name.id == id) {
        found.retain(|name| name.id == id);
    }
    found
}

/// The decision about an object and its state; `None` if it is not there.
fn step<'a>(view: &View<'a>, name: Named<'a>) -> Option<(Decision<'a>, String)> {
    let (store, state) = (view.store, view.store.state());
    Some(match name.kind? {
        GcKind::Evaluation => {
            let e = store.eval(name.id)?;
            (view.eval(e), format!("{} ({})", e.status, e.triggered_by))
        }
        GcKind::Allocation => {
            let a = &state.alloc(name.id)?.alloc;
            (view.alloc(a), format!("{}, desired {}", a.client_status, a.desired_status))
        }
        GcKind::Job => {
            let entry = state.job_entry(name.namespace, name.id)?;
            let job = &entry.current;
            let stopped = if job.stop { ", stopped" } else { "" };
            (view.job(entry), format!("{}, {}{stopped}, version {}", job.r#type, job.status, job.version))
        }
        GcKind::Deployment => {
            let d = state.deployment(name.id)?;
            (view.deployment(d), d.status.to_string())
        }
        GcKind::Node => {
            let entry = state.node(name.id)?;
            (view.node(entry), format!("{}, {}", entry.node.status, entry.node.scheduling_eligibility))
        }
        GcKind::LocalToken | GcKind::GlobalToken => {
            let t = store.acl_token(name.id)?;
            let expires = t.expiration_time.map_or("does not expire".into(), |at| format!("expires at {at}"));
            (view.token(t), format!("{}, {expires}", t.r#type))
        }
        GcKind::OneTimeToken => {
            let t = store.one_time_tokens().find(|t| t.accessor_id == name.id)?;
            (view.one_time_token(t), format!("expires at {}", t.expires_at))
        }
        GcKind::RootKey => {
            let k = store.root_key(name.id)?;
            (view.key(k), k.meta.state.to_string())
        }
        GcKind::CsiPlugin => {
            let p = store.csi_plugin(name.id)?;
            (view.csi_plugin(p), format!("{} controllers, {} nodes", p.controllers.len(), p.nodes.len()))
        }
        GcKind::CsiVolumeClaims => {
            let v = state.csi_volume(name.namespace, name.id)?;
            let claims = v.claiming().collect::<std::collections::BTreeSet<_>>().len();
            (view.csi_claims(v), format!("{claims} claims, {} of them being released", v.past_claims.len()))
        }
    })
}

fn of_object(view: &View, settings: &GcSettings, name: Named) -> Option<GcExplanation> {
    let mut chain = Vec::new();
    let (mut next, mut first) = (Some(name), None);
    let mut seen = Vec::new();
    while let Some(name) = next.filter(|name| !seen.contains(name) && seen.len() < MOST_STEPS) {
        seen.push(name);
        let Some((decision, state)) = step(view, name) else { break };
        chain.push(GcStep { object: GcObject { object: name.shown(), decision: decision.shown() }, state });
        first = first.or(Some(decision));
        next = decision.because_of();
    }
    let forced = View { thresholds: view.thresholds.forced(), ..*view };
    let (run, interval) = run_of(name.kind?, &first?, settings);
    Some(GcExplanation {
        at: Time::from_unix_nanos(view.now),
        job: job_of(view, name),
        chain,
        forced: step(&forced, name)?.0.shown(),
        run: run.name().into(),
        interval,
    })
}

/// The periodic run that deletes an object, and its interval.
fn run_of(kind: GcKind, decision: &Decision, settings: &GcSettings) -> (CoreJob, i64) {
    let with_job = match decision {
        Decision::Collect(due) | Decision::Young(due) => due.rule == GcRule::WithJob,
        Decision::Held(_) => false,
    };
    let run = match kind {
        _ if with_job => CoreJob::Jobs,
        GcKind::Evaluation | GcKind::Allocation => CoreJob::Evals,
        GcKind::Job => CoreJob::Jobs,
        GcKind::Deployment => CoreJob::Deployments,
        GcKind::Node => CoreJob::Nodes,
        GcKind::OneTimeToken => CoreJob::OneTimeTokens,
        GcKind::LocalToken => CoreJob::LocalTokens,
        GcKind::GlobalToken => CoreJob::GlobalTokens,
        GcKind::RootKey => CoreJob::RootKeys,
        GcKind::CsiPlugin => CoreJob::CsiPlugins,
        GcKind::CsiVolumeClaims => CoreJob::CsiClaims,
    };
    (run, run.interval(settings).unwrap_or(0))
}

fn job_of(view: &View, name: Named) -> Option<GcRef> {
    let (store, state) = (view.store, view.store.state());
    let id = match name.kind? {
        GcKind::Evaluation => store.eval(name.id)?.job_id.to_string(),
        GcKind::Allocation => state.alloc(name.id)?.alloc.job_id.to_string(),
        GcKind::Deployment => state.deployment(name.id)?.job_id.clone(),
        GcKind::Job
        | GcKind::Node
        | GcKind::OneTimeToken
        | GcKind::LocalToken
        | GcKind::GlobalToken
        | GcKind::RootKey
        | GcKind::CsiPlugin
        | GcKind::CsiVolumeClaims => return None,
    };
    Some(GcRef { kind: Some(GcKind::Job), namespace: name.namespace.into(), id })
}

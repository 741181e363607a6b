//! The forms of a job's actions.

use encamp_acl::Capability;
use encamp_acl::Capability::{
    AllocLifecycle, DeregisterJob, DispatchJob, EvaluateJob, ForcePeriodicJob, PlanJob, PurgeJob, RegisterJob,
    RevertJob, ScaleJob, SubmitJob,
};
use encamp_model::JobType;
use maud::{Markup, html};

use crate::pages::data::{Group, Job, Parameterized};
use crate::parts::{form, link};
use crate::visit::{Visit, with_query};

/// The prefix of the names of fields with metadata.
pub(super) const META: &str = "meta_";

/// The address of an action.
fn address(job: &Job, action: &str) -> String {
    link::job_address(&job.namespace, &job.id, action)
}

/// What can be done with a job as a whole.
pub(super) fn of_job(visit: &Visit, job: &Job) -> Markup {
    if !visit.source().is_live() {
        return html! {};
    }
    let may = |any_of: &[Capability]| visit.offers_in(&job.namespace, any_of);
    let launches = job.periodic.is_some() || job.parameterized_job.is_some();
    let plan = with_query("/ui/plan", &[("job", &job.id), ("namespace", &job.namespace)]);
    let force = format!("Launch job {} now?", job.id);
    html! {
        div.actions {
            @if may(&[SubmitJob, PlanJob]) { a.button href=(plan) { "Plan a change" } }
            @if job.stop {
                @if may(&[SubmitJob, RegisterJob]) {
                    (form::button(visit, &address(job, "start"), "Start", Some(&format!("Start job {}?", job.id))))
                }
            } @else {
                @if may(&[DispatchJob]) {
                    @if let Some(parameterized) = &job.parameterized_job { (dispatch(visit, job, parameterized)) }
                }
                @if job.periodic.is_some() && may(&[DispatchJob, SubmitJob, ForcePeriodicJob]) {
                    (form::button(visit, &address(job, "force"), "Force launch", Some(&force)))
                }
                @if !launches && may(&[AllocLifecycle]) { (restart(visit, job)) }
                @if !launches && may(&[SubmitJob, EvaluateJob]) { (evaluate(visit, job)) }
            }
            @if may(&[SubmitJob, if job.stop { PurgeJob } else { DeregisterJob }]) { (stop(visit, job)) }
        }
    }
}

fn stop(visit: &Visit, job: &Job) -> Markup {
    let label = if job.stop { "Purge" } else { "Stop" };
    let question = format!("{label} job {}?", job.id);
    let fields = html! {
        @if job.stop {
            input type="hidden" name="purge" value="true";
            p { "The job and its history are removed." }
        } @else {
            p { "All its allocations are stopped." }
            (form::switch("purge", "Purge: remove the job and its history as well", false))
            (form::switch("no_shutdown_delay", "Without shutdown delay", false))
        }
        button.main type="submit" data-question=(question) { (label) " job" }
    };
    form::behind(visit, label, &address(job, "stop"), &fields)
}

fn restart(visit: &Visit, job: &Job) -> Markup {
    let groups = job.task_groups.iter().map(|g| (g.name.as_str(), g.name.as_str()));
    let options: Vec<_> = [("", "all")].into_iter().chain(groups).collect();
    let fields = html! {
        p { "The tasks of running allocations are restarted where they run." }
        (form::choice("group", "Group", "", &options))
        (form::switch("all_tasks", "Tasks that have ended as well", false))
        div { button.main type="submit" { "Restart allocations" } }
    };
    form::behind(visit, "Restart", &address(job, "restart"), &fields)
}

fn evaluate(visit: &Visit, job: &Job) -> Markup {
    let fields = html! {
        p { "The scheduler considers the job again." }
        (form::switch("force_reschedule", "Reschedule failed allocations now", false))
        div { button.main type="submit" { "Evaluate job" } }
    };
    form::behind(visit, "Evaluate", &address(job, "evaluate"), &fields)
}

fn dispatch(visit: &Visit, job: &Job, of: &Parameterized) -> Markup {
    let meta = |names: &[String], label: &str| {
        html! {
            @for name in names { (form::text(&format!("{META}{name}"), &format!("{name} ({label})"), "", "")) }
        }
    };
    let fields = html! {
        (meta(&of.meta_required, "required"))
        (meta(&of.meta_optional, "optional"))
        @if of.payload != "forbidden" { (form::area("payload", &format!("Payload ({})", of.payload), "", 6)) }
        (form::text("id_prefix", "Prefix of the new job's ID", "", ""))
        div { button.main type="submit" { "Dispatch job" } }
    };
    form::behind(visit, "Dispatch", &address(job, "dispatch"), &fields)
}

/// Changes the count of a group.
pub(super) fn scale(visit: &Visit, job: &Job, group: &Group) -> Markup {
    let can = visit.offers_in(&job.namespace, &[ScaleJob, SubmitJob])
        && !job.stop
        && matches!(job.kind, JobType::Service | JobType::Batch);
    let max = group.scaling.as_ref().map(|s| s.max);
    let min = group.scaling.as_ref().map_or(0, |s| s.min);
    html! {
        @if can {
            (form::action(visit, &address(job, "scale"), &html! {
                input type="hidden" name="group" value=(group.name);
                input type="number" name="count" aria-label={ "Count of group " (group.name) } value=(group.count)
                    min=(min) max=[max];
                " "
                button type="submit" { "Scale" }
            }))
        }
    }
}

/// Makes an older version current again.
pub(super) fn revert(visit: &Visit, job: &Job, version: u64) -> Markup {
    let question = format!("Revert job {} to version {version}?", job.id);
    html! {
        @if version != job.version && visit.offers_in(&job.namespace, &[SubmitJob, RevertJob]) {
            (form::action(visit, &address(job, "revert"), &html! {
                input type="hidden" name="version" value=(version);
                button type="submit" data-question=(question) { "Revert to version " (version) }
            }))
        }
    }
}

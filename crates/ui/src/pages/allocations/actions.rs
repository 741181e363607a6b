//! Stopping, restarting and signalling an allocation.

use axum::http::Method;
use encamp_acl::Capability;
use encamp_model::responses::AllocStopResponse;
use encamp_model::{ClientStatus, DesiredStatus};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::PageError;
use crate::pages::Done;
use crate::pages::data::Alloc;
use crate::parts::{form, link};
use crate::visit::{Visit, path};

/// Signals that a form offers.
const SIGNALS: [(&str, &str); 6] = [
    ("SIGHUP", "SIGHUP"),
    ("SIGUSR1", "SIGUSR1"),
    ("SIGUSR2", "SIGUSR2"),
    ("SIGINT", "SIGINT"),
    ("SIGTERM", "SIGTERM"),
    ("SIGKILL", "SIGKILL"),
];

/// What can be done with an allocation.
pub(super) fn forms(visit: &Visit, a: &Alloc) -> Markup {
    let to = |action: &str| link::task_address(&a.id, "action", action);
    let tasks = a.task_states.keys().map(|name| (name.as_str(), name.as_str()));
    let tasks: Vec<_> = [("", "all")].into_iter().chain(tasks).collect();
    let may = |capability| visit.offers_in(&a.namespace, &[capability]);
    let running = a.client_status == ClientStatus::Running;
    let stop = format!("Stop allocation {}? The job's scheduler replaces it.", link::short(&a.id));
    let restart = html! {
        (form::choice("task", "Task", "", &tasks))
        div { button.main type="submit" { "Restart tasks" } }
    };
    let signal = html! {
        (form::choice("signal", "Signal", "SIGHUP", &SIGNALS))
        (form::choice("task", "Task", "", &tasks))
        div { button.main type="submit" { "Send signal" } }
    };
    html! {
        @if visit.source().is_live() {
            div.actions {
                @if running && may(Capability::AllocLifecycle) {
                    (form::behind(visit, "Restart", &to("restart"), &restart))
                    (form::behind(visit, "Signal", &to("signal"), &signal))
                }
                @if a.desired_status == DesiredStatus::Run && may(Capability::AllocLifecycle) { (form::button(visit, &to("stop"), "Stop and replace", Some(&stop))) }
                @if may(Capability::ReadFs) { a.button href=(link::task_address(&a.id, "fs", "")) { "Files" } }
            }
        }
    }
}

/// The allocation's page with a message.
fn done(visit: &Visit, message: String) -> Result<Done, PageError> {
    Ok(Done::new(link::allocation_address(visit.name("alloc")), message))
}

/// Stops the allocation; its job's scheduler replaces it.
pub(super) async fn stop(visit: &Visit) -> Result<Done, PageError> {
    let path = path("/v1/allocation/", visit.name("alloc"), "/stop");
    let answer: AllocStopResponse = visit.write(Method::PUT, &path, &[], &json!({})).await?;
    done(visit, format!("The allocation is being stopped: evaluation {}.", link::short(&answer.eval_id)))
}

/// Restarts one task or those that run.
pub(super) async fn restart(visit: &Visit) -> Result<Done, PageError> {
    let path = path("/v1/client/allocation/", visit.name("alloc"), "/restart");
    let task = visit.field("task").unwrap_or_default();
    visit.write::<Value>(Method::PUT, &path, &[], &json!({ "TaskName": task })).await?;
    done(visit, if task.is_empty() { "The tasks restart.".into() } else { format!("Task {task} restarts.") })
}

/// Sends a signal to one task or to all.
pub(super) async fn signal(visit: &Visit) -> Result<Done, PageError> {
    let path = path("/v1/client/allocation/", visit.name("alloc"), "/signal");
    let signal = visit.required("signal", "The signal")?;
    let body = json!({ "Task": visit.field("task").unwrap_or_default(), "Signal": signal });
    visit.write::<Value>(Method::PUT, &path, &[], &body).await?;
    done(visit, format!("{signal} was sent."))
}

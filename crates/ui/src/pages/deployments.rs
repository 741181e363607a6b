//! Deployments: the list, one deployment, and promoting, failing, pausing and resuming it.

use axum::http::Method;
use encamp_acl::Capability;
use encamp_model::DeploymentStatus;
use encamp_model::responses::DeploymentUpdateResponse;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::Done;
use super::allocations;
use super::data::{Alloc, Deployment};
use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::{Request, namespaces, texts, words};
use crate::parts::state::{Tone, notice};
use crate::parts::table::{Table, facts};
use crate::parts::{form, link, meter, state, time};
use crate::visit::{Visit, encoded, path};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[("/ui/deployments", handler!(list)), ("/ui/deployments/{id}", handler!(page))],
    actions: &[
        ("/ui/deployments/{id}/promote", handler!(promote)),
        ("/ui/deployments/{id}/fail", handler!(fail)),
        ("/ui/deployments/{id}/pause", handler!(pause)),
        ("/ui/deployments/{id}/resume", handler!(resume)),
        ("/ui/deployments/{id}/unblock", handler!(unblock)),
    ],
    streams: &[],
};

const STATUSES: &[&str] =
    &["running", "paused", "pending", "blocked", "unblocking", "successful", "failed", "cancelled"];

/// `/ui/deployments`
async fn list(visit: &Visit) -> Result<Page, PageError> {
    let request = Request::new(visit, "/v1/deployments").with("reverse", "true");
    let found = request.equals("Status", "status").contains("JobID").read::<Deployment>().await?;
    let filter = html! {
        (texts(visit, "Job"))
        (words(visit, "status", "Status", STATUSES))
        (namespaces(visit).await)
    };
    let empty = html! { "No deployments match. They come with changes of service jobs that have an update block." };
    let body = html! { (form::filter(visit, &filter)) (found.markup(visit, &table(visit, &found.rows, empty))) };
    Ok(Page::new(Area::Deployments, "Deployments", body).follows(["Deployment:*"]))
}

/// A table of deployments.
pub(super) fn table(visit: &Visit, deployments: &[Deployment], empty: Markup) -> Table {
    let columns = ["Deployment", "Status", "Job", "Version#", "Healthy#", "Created", "Changed"];
    let mut table = Table::new("Deployments", &columns, empty);
    for d in deployments {
        let (healthy, total) = health(d);
        table.row([
            link::deployment(&d.id),
            status(d),
            link::job(&d.namespace, &d.job_id),
            html! { (d.job_version) },
            html! { (healthy) " / " (total) },
            time::moment(visit, d.create_time),
            time::moment(visit, d.modify_time),
        ]);
    }
    table
}

/// How many allocations are healthy, and how many there will be.
fn health(d: &Deployment) -> (i64, i64) {
    d.task_groups.values().fold((0, 0), |(healthy, total), g| {
        (healthy.saturating_add(g.healthy_allocs), total.saturating_add(g.desired_total))
    })
}

fn status(d: &Deployment) -> Markup {
    html! {
        (state::of(&d.status))
        @if !d.status_description.is_empty() { " " span.muted { (d.status_description) } }
    }
}

/// `/ui/deployments/{id}`
async fn page(visit: &Visit) -> Result<Page, PageError> {
    let id = link::full_id(visit, "/v1/deployments", "deployment", visit.name("id")).await?;
    let found = visit.find::<Deployment>(&path("/v1/deployment/", &id, ""), &[]).await?;
    let d = found.ok_or(PageError::Missing { kind: "deployment", name: id })?;
    let allocations: Vec<Alloc> = visit.read(&path("/v1/deployment/allocations/", &d.id, ""), &[]).await?;
    let body = html! {
        (summary(visit, &d))
        h2 { "Allocations" }
        (allocations::table(visit, &allocations, html! { "It has placed no allocations." }).markup())
    };
    let page = Page::new(Area::Deployments, format!("Deployment {}", link::short(&d.id)), body);
    let page = page.follows([format!("Deployment:{}", d.id), format!("Allocation:{}", d.job_id)]);
    Ok(page.below(&d.job_id, link::job_address(&d.namespace, &d.job_id, "")))
}

/// How far a deployment is, and what can be done with it.
pub(super) fn summary(visit: &Visit, d: &Deployment) -> Markup {
    html! {
        (facts(&[
            ("Deployment", link::deployment(&d.id)),
            ("Status", status(d)),
            ("Job", html! { (link::job(&d.namespace, &d.job_id)) " version " (d.job_version) }),
            ("Created", time::moment(visit, d.create_time)),
            ("Changed", time::moment(visit, d.modify_time)),
        ]))
        @if d.waits_for_promotion() {
            (notice(Tone::Warning, &html! { "The canaries wait until an operator promotes or fails the deployment." }))
        }
        (actions(visit, d))
        (groups(visit, d))
    }
}

fn actions(visit: &Visit, d: &Deployment) -> Markup {
    let to = |action: &str| format!("/ui/deployments/{}/{action}", encoded(&d.id));
    let may = |capability| visit.offers_in(&d.namespace, &[Capability::SubmitJob, capability]);
    let fail = format!("Fail deployment {} of job {}?", link::short(&d.id), d.job_id);
    html! {
        @if visit.source().is_live() && d.is_active() {
            div.actions {
                @if d.waits_for_promotion() && may(Capability::PromoteDeployment) { (form::button(visit, &to("promote"), "Promote", None)) }
                @if d.status == DeploymentStatus::Blocked {
                    @if may(Capability::UnblockDeployment) { (form::button(visit, &to("unblock"), "Unblock", None)) }
                } @else if may(Capability::PauseDeployment) {
                    @if d.status == DeploymentStatus::Paused { (form::button(visit, &to("resume"), "Resume", None)) }
                    @else { (form::button(visit, &to("pause"), "Pause", None)) }
                }
                @if may(Capability::FailDeployment) { (form::button(visit, &to("fail"), "Fail", Some(&fail))) }
            }
        }
    }
}

fn groups(visit: &Visit, d: &Deployment) -> Markup {
    let columns = ["Group", "Healthy", "Placed#", "Unhealthy#", "Canaries", "Promoted", "Progress due"];
    let mut table = Table::new("Groups of the deployment", &columns, html! { "It has no groups." });
    for (name, g) in &d.task_groups {
        let promoted = match (g.desired_canaries, g.promoted, g.auto_promote) {
            (0, ..) => "-",
            (_, true, _) => "yes",
            (_, _, true) => "automatically",
            _ => "no",
        };
        table.row([
            html! { (name) },
            meter::progress(&format!("Healthy allocations of {name}"), g.healthy_allocs, g.desired_total),
            html! { (g.placed_allocs) },
            html! { @if g.unhealthy_allocs > 0 { span.alarm { (g.unhealthy_allocs) } } @else { "0" } },
            html! {
                (g.placed_canaries.len()) " of " (g.desired_canaries) " "
                @for id in &g.placed_canaries { (link::allocation(id)) " " }
            },
            html! { (promoted) @if g.auto_revert { ", reverts if it fails" } },
            time::moment(visit, g.require_progress_by.unix_nanos().unwrap_or(0)),
        ]);
    }
    table.markup()
}

/// Sends a change of the page's deployment to the API.
async fn change(visit: &Visit, action: &str, body: &Value, message: &str) -> Result<Done, PageError> {
    let id = visit.name("id");
    let path = path(&format!("/v1/deployment/{action}/"), id, "");
    visit.write::<DeploymentUpdateResponse>(Method::PUT, &path, &[], body).await?;
    Ok(Done::new(format!("/ui/deployments/{}", encoded(id)), message))
}

async fn promote(visit: &Visit) -> Result<Done, PageError> {
    let body = json!({ "DeploymentID": visit.name("id"), "All": true });
    change(visit, "promote", &body, "The canaries were promoted.").await
}

async fn fail(visit: &Visit) -> Result<Done, PageError> {
    change(visit, "fail", &json!({}), "The deployment was failed.").await
}

async fn pause(visit: &Visit) -> Result<Done, PageError> {
    let body = json!({ "DeploymentID": visit.name("id"), "Pause": true });
    change(visit, "pause", &body, "The deployment is paused.").await
}

async fn resume(visit: &Visit) -> Result<Done, PageError> {
    let body = json!({ "DeploymentID": visit.name("id"), "Pause": false });
    change(visit, "pause", &body, "The deployment continues.").await
}

async fn unblock(visit: &Visit) -> Result<Done, PageError> {
    change(visit, "unblock", &json!({ "DeploymentID": visit.name("id") }), "The deployment is unblocked.").await
}

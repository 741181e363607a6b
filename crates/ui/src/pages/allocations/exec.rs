//! Terminals: commands in tasks, and actions of jobs. The browser's WebSocket is connected to that of the API.

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use maud::{Markup, html};
use serde_json::json;

use super::task;
use crate::error::PageError;
use crate::layout::Page;
use crate::pages::data::{Alloc, Job, JobAction};
use crate::parts::{form, link};
use crate::visit::{Visit, path, with_query};

pub(in crate::pages) const ASSETS: &[&str] = &["xterm.css", "terminal.js"];
/// The command that a terminal runs unless the address names another.
const SHELL: &str = "/bin/sh";

/// `/ui/allocations/{alloc}/{task}/exec?command=…`
pub(super) async fn page(visit: &Visit) -> Result<Page, PageError> {
    visit.live_only()?;
    let (a, name) = task::of(visit).await?;
    let command = visit.parameter("command").unwrap_or(SHELL);
    let query = [("command", command), ("form_token", &visit.form_token)];
    let socket = with_query(&link::task_address(&a.id, &name, "exec/socket"), &query);
    let body = html! {
        form.filter method="get" {
            (form::text("command", "Command", command, SHELL))
            button type="submit" { "Run" }
        }
        (terminal(&socket))
        (form::command(&format!("encamp alloc exec -task {name} {} {command}", a.id)))
    };
    let mut page = task::page_of(visit, &a, &name, &body).with_assets(ASSETS);
    page.topics.clear();
    Ok(page)
}

/// The address of the page that runs an action of a job.
pub(in crate::pages) fn action_address(job: &Job, action: &JobAction) -> String {
    let query = [("action", action.name.as_str()), ("group", &action.task_group_name), ("task", &action.task_name)];
    with_query(&link::job_address(&job.namespace, &job.id, "action"), &query)
}

/// The terminal of an action in an allocation.
pub(in crate::pages) fn action_terminal(visit: &Visit, a: &Alloc) -> Markup {
    let [action, task] = ["action", "task"].map(|name| visit.parameter(name).unwrap_or_default());
    let query = [("action", action), ("task", task), ("allocation", &a.id), ("form_token", &visit.form_token)];
    let socket = with_query(&link::job_address(&a.namespace, &a.job_id, "action/socket"), &query);
    html! {
        h2 { "Action " (action) }
        p { "It runs in task " (task) " of allocation " (link::allocation(&a.id)) "." }
        (terminal(&socket))
    }
}

fn terminal(socket: &str) -> Markup {
    html! {
        p role="status" #terminal-state { "The terminal needs scripts, which this browser does not run." }
        div.terminal-panel id="terminal" data-keep data-socket=(socket) {}
        p { button type="button" id="connect" hidden { "Connect again" } }
    }
}

/// `/ui/allocations/{alloc}/{task}/exec/socket?command=…`
pub(super) async fn socket(visit: Visit, request: Request) -> Result<Response<Body>, PageError> {
    let words: Vec<&str> = visit.parameter("command").unwrap_or(SHELL).split_whitespace().collect();
    let command = json!(words).to_string();
    let query = [("task", visit.name("task")), ("tty", "true"), ("command", &command)];
    connect(&visit, &with_query(&path("/v1/client/allocation/", visit.name("alloc"), "/exec"), &query), request).await
}

/// `/ui/jobs/{job}/action/socket?action=…&task=…&allocation=…`
pub(in crate::pages) async fn action_socket(visit: Visit, request: Request) -> Result<Response<Body>, PageError> {
    let (id, namespace) = link::split(visit.name("job"));
    let [action, task, allocation] = ["action", "task", "allocation"].map(|n| visit.parameter(n).unwrap_or_default());
    let query =
        [("action", action), ("task", task), ("allocID", allocation), ("tty", "true"), ("namespace", namespace)];
    connect(&visit, &with_query(&path("/v1/job/", id, "/action"), &query), request).await
}

/// Connects the WebSocket of a request to one of the API. The cookies of the browser are for these pages alone.
async fn connect(visit: &Visit, to: &str, mut request: Request) -> Result<Response<Body>, PageError> {
    visit.live_only()?;
    *request.uri_mut() = to.parse().map_err(|_| PageError::Input("The address is too long.".into()))?;
    for name in ["cookie", "origin", "referer"] {
        request.headers_mut().remove(name);
    }
    Ok(visit.forward(request).await?)
}

//! The logs of a task: followed by the script, or downloaded.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response, header};
use maud::html;

use super::task;
use crate::error::PageError;
use crate::layout::Page;
use crate::parts::link;
use crate::visit::{Visit, path, with_query};

const ASSETS: &[&str] = &["logs.js"];
/// How much of the end of a log a page begins with, in bytes.
const TAIL: &str = "50000";

/// The log that the address names.
fn kind(visit: &Visit) -> &'static str {
    if visit.parameter("type") == Some("stderr") { "stderr" } else { "stdout" }
}

/// `/ui/allocations/{alloc}/{task}/logs?type=stderr`
pub(super) async fn page(visit: &Visit) -> Result<Page, PageError> {
    visit.live_only()?;
    let (a, name) = task::of(visit).await?;
    let kind = kind(visit);
    let text = with_query(&link::task_address(&a.id, &name, "logs/text"), &[("type", kind)]);
    let query = [("task", name.as_str()), ("type", kind), ("plain", "true"), ("origin", "end"), ("offset", TAIL)];
    let tail = visit.read_text(&path("/v1/client/fs/logs/", &a.id, ""), &query).await;
    let tail = match tail {
        Err(e @ PageError::Api { .. }) if !e.is_denied() => format!("{e}\n"),
        other => other?,
    };
    let body = html! {
        div.actions {
            @for other in ["stdout", "stderr"] {
                a.button href=(visit.address_with("type", Some(other))) aria-current=[(other == kind).then_some("true")] { (other) }
            }
            a.button href={ (text) "&download=true" } download { "Download all" }
            // The script shows it: without it, the page is the end of the log as it is now.
            button type="button" id="pause" aria-pressed="false" hidden { "Pause" }
        }
        p.muted #log-state role="status" { "The end of " (kind) ", as it is now." }
        pre.log id="log" tabindex="0" aria-label=(kind) data-keep data-log={ (text) "&follow=true" } { (tail) }
    };
    let mut page = task::page_of(visit, &a, &name, &body).with_assets(ASSETS);
    page.topics.clear();
    Ok(page)
}

/// `/ui/allocations/{alloc}/{task}/logs/text?type=…&follow=true`: the log as text.
pub(super) async fn text(visit: Visit, _: Request) -> Result<Response<Body>, PageError> {
    visit.live_only()?;
    let (follow, kind) = (visit.parameter("follow").is_some(), kind(&visit));
    let task = visit.name("task").to_string();
    let mut query = vec![("task", task.as_str()), ("type", kind), ("plain", "true")];
    if follow {
        query.extend([("follow", "true"), ("origin", "end"), ("offset", TAIL)]);
    }
    let mut response = stream(&visit, &path("/v1/client/fs/logs/", visit.name("alloc"), ""), &query).await?;
    if visit.parameter("download").is_some() {
        attach(&mut response, &format!("{task}.{kind}.log"));
    }
    Ok(response)
}

/// A text of the API as a stream.
pub(super) async fn stream(visit: &Visit, path: &str, query: &[(&str, &str)]) -> Result<Response<Body>, PageError> {
    let request = Request::get(with_query(path, query)).body(Body::empty());
    let answer = visit.forward(request.map_err(|e| PageError::Input(e.to_string()))?).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.body_mut() = answer.into_body();
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    Ok(response)
}

/// Makes browsers store a response under a name.
pub(super) fn attach(response: &mut Response<Body>, name: &str) {
    let value = format!("attachment; filename*=UTF-8''{}", crate::visit::encoded(name));
    let value = HeaderValue::from_str(&value).ok();
    response.headers_mut().extend(value.map(|v| (header::CONTENT_DISPOSITION, v)));
}

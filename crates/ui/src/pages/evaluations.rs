//! Evaluations: the list, and one evaluation with what the scheduler found.

use maud::{Markup, html};

use super::allocations;
use super::data::{Alloc, Eval};
use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::{Request, namespaces, texts, words};
use crate::parts::table::{Table, facts};
use crate::parts::{form, link, state, time, why};
use crate::visit::{Visit, path};

pub(crate) const ROUTES: Routes = Routes { pages: &[("/ui/evaluations", handler!(page))], actions: &[], streams: &[] };

const STATUSES: &[&str] = &["pending", "blocked", "complete", "failed", "canceled"];

/// `/ui/evaluations`, and `/ui/evaluations?currentEval=ID` for one.
async fn page(visit: &Visit) -> Result<Page, PageError> {
    match visit.parameter("currentEval") {
        Some(id) => one(visit, id).await,
        None => list(visit).await,
    }
}

async fn list(visit: &Visit) -> Result<Page, PageError> {
    let request = Request::new(visit, "/v1/evaluations").with("reverse", "true");
    let request = request.equals("Status", "status").equals("Type", "type").contains("JobID");
    let found = request.read::<Eval>().await?;
    let filter = html! {
        (texts(visit, "Job"))
        (words(visit, "status", "Status", STATUSES))
        (words(visit, "type", "Type", &["service", "batch", "system", "sysbatch"]))
        (namespaces(visit).await)
    };
    let empty = html! { "No evaluations match. Those that ended are garbage collected after a while." };
    let body = html! { (form::filter(visit, &filter)) (found.markup(visit, &table(visit, &found.rows, empty))) };
    Ok(Page::new(Area::Evaluations, "Evaluations", body).follows(["Evaluation:*"]))
}

/// A table of evaluations.
pub(super) fn table(visit: &Visit, evaluations: &[Eval], empty: Markup) -> Table {
    let columns = ["Evaluation", "Status", "Triggered by", "Job", "Priority#", "Unplaced", "Created"];
    let mut table = Table::new("Evaluations", &columns, empty);
    for e in evaluations {
        table.row([
            link::evaluation(&e.id),
            html! { (state::of(&e.status)) @if !e.status_description.is_empty() { " " span.muted { (e.status_description) } } },
            html! { (e.triggered_by) },
            html! { @if !e.job_id.is_empty() { (link::job(&e.namespace, &e.job_id)) } },
            html! { (e.priority) },
            unplaced(e),
            time::moment(visit, e.create_time),
        ]);
    }
    table
}

/// How many allocations of each group are unplaced.
pub(super) fn unplaced(e: &Eval) -> Markup {
    html! {
        @for (group, metric) in &e.failed_tg_allocs {
            span.alarm { (metric.coalesced_failures.saturating_add(1)) } " of " (group) " "
        }
    }
}

async fn one(visit: &Visit, id: &str) -> Result<Page, PageError> {
    let id = link::full_id(visit, "/v1/evaluations", "evaluation", id).await?;
    let found = visit.find::<Eval>(&path("/v1/evaluation/", &id, ""), &[("related", "true")]).await?;
    let e = found.ok_or(PageError::Missing { kind: "evaluation", name: id })?;
    let placed: Vec<Alloc> = visit.read(&path("/v1/evaluation/", &e.id, "/allocations"), &[]).await?;
    let none = || html! { "It placed and changed no allocations." };
    let body = html! {
        (facts_of(visit, &e))
        @if !e.failed_tg_allocs.is_empty() || !e.plan_rejections.is_empty() {
            h2 { "Why allocations are unplaced" }
            @for missing in &e.missing_non_node_resources { p { "Missing: " (missing) } }
            (why::unplaced(&e.failed_tg_allocs))
            (why::rejections(&e.plan_rejections))
            @if visit.source().is_live() { (suggestions(visit, &e).await?) }
        }
        h2 { "Allocations of this evaluation" }
        (allocations::table(visit, &placed, none()).markup())
        @if !e.related_evals.is_empty() {
            h2 { "Related evaluations" }
            (table(visit, &e.related_evals, html! {}).markup())
        }
    };
    let page = Page::new(Area::Evaluations, format!("Evaluation {}", link::short(&e.id)), body);
    // A page with suggestions is not read again by itself: they are computed each time.
    let topics = visit.parameter("suggest").is_none().then(|| format!("Evaluation:{}", e.job_id));
    Ok(page.follows(topics).below("Evaluations", "/ui/evaluations"))
}

fn facts_of(visit: &Visit, e: &Eval) -> Markup {
    let or_none = |id: &str, link: fn(&str) -> Markup| {
        if id.is_empty() {
            html! { "-" }
        } else {
            link(id)
        }
    };
    facts(&[
        ("ID", html! { code { (e.id) } }),
        ("Status", html! { (state::of(&e.status)) " " span.muted { (e.status_description) } }),
        ("Triggered by", html! { (e.triggered_by) }),
        ("Job", html! { @if !e.job_id.is_empty() { (link::job(&e.namespace, &e.job_id)) } @else { "-" } }),
        ("Type", html! { (e.kind) }),
        ("Priority", html! { (e.priority) }),
        ("Created", time::moment(visit, e.create_time)),
        ("Changed", time::moment(visit, e.modify_time)),
        ("Waits until", time::moment(visit, e.wait_until.unix_nanos().unwrap_or(0))),
        ("Client", html! { @if e.node_id.is_empty() { "-" } @else { (link::client(&e.node_id, "")) } }),
        ("Deployment", or_none(&e.deployment_id, link::deployment)),
        ("Evaluation before", or_none(&e.previous_eval, link::evaluation)),
        ("Evaluation after", or_none(&e.next_eval, link::evaluation)),
        ("Blocked evaluation", or_none(&e.blocked_eval, link::evaluation)),
    ])
}

/// The smallest edits with which everything is placed. They take a while, so a link asks for them.
async fn suggestions(visit: &Visit, e: &Eval) -> Result<Markup, PageError> {
    let line = format!("encamp eval explain -suggest {}", e.id);
    let found = if visit.parameter("suggest").is_some() {
        let arguments = ["eval", "explain", "-suggest", "-no-color", &e.id].map(str::to_string).to_vec();
        Some(visit.run(arguments, Vec::new()).await?)
    } else {
        None
    };
    Ok(html! {
        h3 { "What would place them" }
        @match &found {
            Some(output) => {
                div.scroll.code tabindex="0" role="region" aria-label="Suggestions" {
                    pre { (String::from_utf8_lossy(&output.stdout)) @if output.code != 0 { (output.stderr) } }
                }
            }
            None => { p { a.button href=(visit.address_with("suggest", Some("true"))) { "Suggest edits of the job" } } }
        }
        (form::command(&line))
    })
}

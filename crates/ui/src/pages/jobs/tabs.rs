//! The pages of a job below its overview.

use encamp_model::responses::JobVersionsResponse;
use encamp_model::{ClientStatus, JobSubmission};
use maud::{Markup, html};
use serde_json::Value;

use super::{forms, job_page, named, read};
use crate::error::PageError;
use crate::layout::Page;
use crate::pages::allocations::exec;
use crate::pages::data::{Alloc, Deployment, Eval, Job};
use crate::pages::{allocations as allocation_pages, deployments as deployment_pages, evaluations as evaluation_pages};
use crate::parts::listing::{Request, quoted};
use crate::parts::state::{Tone, notice};
use crate::parts::table::facts;
use crate::parts::{diff, link, plural, time};
use crate::visit::{Visit, path};

/// The newest rows of a list without pages that a page shows.
const NEWEST: usize = 500;

/// Reads a list about the page's job, of which the API has no pages, and the newest rows of it.
async fn newest<T: serde::de::DeserializeOwned>(
    visit: &Visit,
    part: &str,
    created: fn(&T) -> i64,
) -> Result<(Vec<T>, Markup), PageError> {
    let (id, namespace) = named(visit);
    let mut rows: Vec<T> =
        visit.read(&path("/v1/job/", id, part), &[("namespace", namespace), ("all", "true")]).await?;
    rows.sort_by_key(|row| std::cmp::Reverse(created(row)));
    let all = rows.len();
    rows.truncate(NEWEST);
    let cut = html! { @if all > NEWEST { p.muted { "The newest " (NEWEST) " of " (all) "." } } };
    Ok((rows, cut))
}

/// `/ui/jobs/{job}/allocations`
pub(super) async fn allocations(visit: &Visit) -> Result<Page, PageError> {
    let (id, namespace) = named(visit);
    let found = allocations_of(visit, id, namespace).read::<Alloc>();
    let (job, found) = tokio::try_join!(read(visit), found)?;
    let table = allocation_pages::table(visit, &found.rows, html! { "The job has no allocations." });
    Ok(job_page(visit, &job, &found.markup(visit, &table)))
}

/// The allocations of a job, the newest first.
pub(super) fn allocations_of<'a>(visit: &'a Visit, id: &str, namespace: &'a str) -> Request<'a> {
    let request = Request::new(visit, "/v1/allocations").in_namespace(namespace).with("reverse", "true");
    request.only(format!("JobID == {}", quoted(id)))
}

/// `/ui/jobs/{job}/deployments`
pub(super) async fn deployments(visit: &Visit) -> Result<Page, PageError> {
    let (job, (rows, cut)) =
        tokio::try_join!(read(visit), newest(visit, "/deployments", |d: &Deployment| d.create_time))?;
    let active = rows.iter().find(|d| d.is_active());
    let empty =
        html! { "The job has no deployments: they come with changes of service jobs that have an update block." };
    let body = html! {
        @if let Some(active) = active { (deployment_pages::summary(visit, active)) }
        (deployment_pages::table(visit, &rows, empty).markup()) (cut)
    };
    Ok(job_page(visit, &job, &body))
}

/// `/ui/jobs/{job}/evaluations`
pub(super) async fn evaluations(visit: &Visit) -> Result<Page, PageError> {
    let (job, (rows, cut)) = tokio::try_join!(read(visit), newest(visit, "/evaluations", |e: &Eval| e.create_time))?;
    let empty = html! { "No evaluations: those that ended were garbage collected." };
    let body = html! { (evaluation_pages::table(visit, &rows, empty).markup()) (cut) };
    Ok(job_page(visit, &job, &body))
}

/// `/ui/jobs/{job}/versions`
pub(super) async fn versions(visit: &Visit) -> Result<Page, PageError> {
    let (id, namespace) = named(visit);
    let (job, path) = (read(visit), path("/v1/job/", id, "/versions"));
    let query = [("namespace", namespace), ("diffs", "true")];
    let (job, found) = tokio::try_join!(job, visit.read::<JobVersionsResponse<Job>>(&path, &query))?;
    let diffs = found.diffs.unwrap_or_default();
    let body = html! {
        @for (i, version) in found.versions.iter().enumerate() {
            section {
                h2 { "Version " (version.version) @if version.version == job.version { " (current)" } }
                (facts(&[
                    ("Submitted", time::moment(visit, version.submit_time)),
                    ("Stable", html! { @if version.stable { "yes" } @else { "no" } }),
                    ("Tag", html! {
                        @if let Some(tag) = &version.version_tag { (tag.name) " " span.muted { (tag.description) } } @else { "-" }
                    }),
                    ("Definition", html! {
                        a href={ (link::job_address(namespace, id, "definition")) "?version=" (version.version) } {
                            "of version " (version.version)
                        }
                    }),
                ]))
                (forms::revert(visit, &job, version.version))
                @if let Some(diff) = diffs.get(i) {
                    details open[i == 0] {
                        summary { (plural(diff::count(diff), "change")) " since the version before" }
                        (diff::job(diff))
                    }
                }
            }
        }
    };
    Ok(job_page(visit, &job, &body))
}

/// `/ui/jobs/{job}/definition?format=json&version=…`
pub(super) async fn definition(visit: &Visit) -> Result<Page, PageError> {
    let (id, namespace) = named(visit);
    let job = read(visit).await?;
    let version = visit.parameter("version").map_or_else(|| job.version.to_string(), str::to_string);
    let query = [("namespace", namespace), ("version", version.as_str())];
    let source: Option<JobSubmission> = visit.find(&path("/v1/job/", id, "/submission"), &query).await?;
    let as_json = visit.parameter("format") == Some("json");
    let body = match source.filter(|s| !as_json && !s.source.is_empty()) {
        Some(source) => html! {
            p { "The source of version " (version) " as it was submitted. " a href=(visit.address_with("format", Some("json"))) { "Show as JSON" } }
            (code("Source", &source.source))
            @if !source.variables.is_empty() { h2 { "Variables" } (code("Variables", &source.variables)) }
            @if !source.variable_flags.is_empty() {
                h2 { "Variables given as options" }
                (code("Variables given as options", &source.variable_flags.iter().map(|(n, v)| format!("{n} = {v}\n")).collect::<String>()))
            }
        },
        None => html! {
            @if as_json {
                p { a href=(visit.address_with("format", None)) { "Show the source" } }
            } @else {
                (notice(Tone::Neutral, &html! { "The cluster has no source of version " (version) ": this is the job as JSON." }))
            }
            (code("JSON", &json_of(visit, &version).await?))
        },
    };
    Ok(job_page(visit, &job, &body))
}

/// A version of the page's job as the API has it.
async fn json_of(visit: &Visit, version: &str) -> Result<String, PageError> {
    let (id, namespace) = named(visit);
    let query = [("namespace", namespace)];
    let found: JobVersionsResponse<Value> = visit.read(&path("/v1/job/", id, "/versions"), &query).await?;
    let is_it = |job: &&Value| job.get("Version").and_then(Value::as_u64).is_some_and(|v| v.to_string() == version);
    let job = found.versions.iter().find(is_it);
    let job = job.ok_or_else(|| PageError::Missing { kind: "version", name: version.to_string() })?;
    serde_json::to_string_pretty(job).map_err(|e| PageError::Input(e.to_string()))
}

/// A text; `label` names it to screen readers.
fn code(label: &str, text: &str) -> Markup {
    html! { div.scroll.code tabindex="0" role="region" aria-label=(label) { pre { (text) } } }
}

/// `/ui/jobs/{job}/action?action=…&group=…&task=…`: runs an action of the job in an allocation of its group.
pub(super) async fn action(visit: &Visit) -> Result<Page, PageError> {
    visit.live_only()?;
    let (id, namespace) = named(visit);
    let rows: Vec<Alloc> = visit.read(&path("/v1/job/", id, "/allocations"), &[("namespace", namespace)]).await?;
    let group = visit.parameter("group").unwrap_or_default();
    let running = rows.iter().find(|a| a.task_group == group && a.client_status == ClientStatus::Running);
    let running =
        running.ok_or_else(|| PageError::Missing { kind: "running allocation of group", name: group.into() })?;
    let job = read(visit).await?;
    Ok(job_page(visit, &job, &exec::action_terminal(visit, running)).with_assets(exec::ASSETS))
}

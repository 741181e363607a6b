//! Search: IDs that begin with a text, and names that contain it.

use std::collections::BTreeMap;

use axum::http::Method;
use encamp_model::responses::SearchResponse;
use maud::{Markup, html};
use serde_json::json;

use super::data::{JobRow, answers};
use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::link;
use crate::parts::listing::{Request, quoted};
use crate::parts::table::Table;
use crate::visit::{Visit, encoded, with_query};

pub(crate) const ROUTES: Routes = Routes { pages: &[("/ui/search", handler!(page))], actions: &[], streams: &[] };

/// The shortest text that names are searched for.
const SHORTEST: usize = 2;
/// The most jobs that are shown.
const MOST_JOBS: usize = 50;

answers! {
    /// A match of a search of names.
    Match {
        #[serde(rename = "ID")]
        id: String,
        scope: Vec<String>,
    }

    /// The matches of a search of names, by kind.
    Matches {
        matches: BTreeMap<String, Option<Vec<Match>>>,
    }
}

/// What was found: the address of a page, and the text of the link to it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    kind: &'static str,
    text: String,
    address: String,
    within: String,
}

/// `/ui/search?q=…`
async fn page(visit: &Visit) -> Result<Page, PageError> {
    let Some(text) = visit.parameter("q").map(str::trim).filter(|q| !q.is_empty()) else {
        let body =
            html! { p.empty { "Type a name, or the first characters of an ID. The key / leads to the search." } };
        return Ok(Page::new(Area::Other, "Search", body));
    };
    let mut found = by_prefix(visit, text).await?;
    found.extend(jobs(visit, text).await?);
    if text.chars().count() >= SHORTEST {
        found.extend(by_name(visit, text).await?);
    }
    found.sort();
    found.dedup();
    Ok(Page::new(Area::Other, format!("Search for {text}"), results(visit, text, &found)))
}

fn results(visit: &Visit, text: &str, found: &[Found]) -> Markup {
    let empty = html! { "Nothing is named " code { (text) } ", and no ID begins with it." };
    let mut table = Table::new("Results", &["Name or ID", "Kind", "Within"], empty);
    for f in found {
        table.row([html! { a href=(f.address) { (f.text) } }, html! { (f.kind) }, html! { (f.within) }]);
    }
    html! {
        p.muted role="status" { (found.len()) " results in " (if visit.namespace() == "*" { "all namespaces" } else { visit.namespace() }) }
        (table.markup())
    }
}

/// Objects with IDs that begin with a text. The answer has no namespaces, which the addresses of jobs and variables have.
async fn by_prefix(visit: &Visit, text: &str) -> Result<Vec<Found>, PageError> {
    let body = json!({ "Prefix": text, "Context": "all" });
    let query = [("namespace", visit.namespace())];
    let answer: SearchResponse = visit.post(Method::POST, "/v1/search", &query, &body).await?;
    let rows = answer.matches.into_iter().flat_map(|(context, ids)| {
        let ids = ids.unwrap_or_default();
        ids.into_iter().map(move |id| (context.clone(), Match { id, scope: Vec::new() }))
    });
    Ok(rows.filter(|(c, _)| !matches!(c.as_str(), "jobs" | "vars")).filter_map(|(c, m)| one(&c, &m)).collect())
}

/// Jobs with IDs that contain a text: searches of names consider a few jobs alone.
async fn jobs(visit: &Visit, text: &str) -> Result<Vec<Found>, PageError> {
    let contains = format!("ID contains {}", quoted(text));
    match Request::new(visit, "/v1/jobs").only(contains).at_most(MOST_JOBS).read::<JobRow>().await {
        Err(e) if e.is_denied() => Ok(Vec::new()),
        Err(e) => Err(e),
        Ok(found) => Ok(found.rows.into_iter().filter_map(|j| one("jobs", &job_match(j))).collect()),
    }
}

fn job_match(job: JobRow) -> Match {
    Match { scope: vec![job.namespace, job.id.clone()], id: job.id }
}

/// Objects with names that contain a text.
async fn by_name(visit: &Visit, text: &str) -> Result<Vec<Found>, PageError> {
    let body = json!({ "Text": text, "Context": "all" });
    let query = [("namespace", visit.namespace())];
    let answer: Matches = visit.post(Method::POST, "/v1/search/fuzzy", &query, &body).await?;
    let rows = answer
        .matches
        .into_iter()
        .flat_map(|(context, rows)| rows.unwrap_or_default().into_iter().map(move |row| (context.clone(), row)));
    Ok(rows.filter_map(|(c, m)| one(&c, &m)).collect())
}

/// The page of a match; nothing for kinds without pages.
fn one(context: &str, found: &Match) -> Option<Found> {
    let scope = |n: usize| found.scope.get(n).map(String::as_str);
    let id = found.id.as_str();
    let job = || scope(1).map(|job| link::job_address(scope(0).unwrap_or_default(), job, ""));
    let (kind, address) = match context {
        "jobs" => ("job", job()?),
        "groups" => ("group", job()?),
        "tasks" => ("task", job()?),
        "services" => ("service", job()?),
        "images" => ("image", job()?),
        "commands" => ("command", job()?),
        "classes" => ("class", job()?),
        "allocs" => ("allocation", link::allocation_address(scope(1).unwrap_or(id))),
        "nodes" => ("client", link::client_address(scope(0).unwrap_or(id))),
        "evals" => ("evaluation", with_query("/ui/evaluations", &[("currentEval", id)])),
        "deployment" => ("deployment", format!("/ui/deployments/{}", encoded(id))),
        "node_pools" => ("node pool", with_query("/ui/clients", &[("pool", id)])),
        "namespaces" => ("namespace", with_query("/ui/jobs", &[("namespace", id)])),
        "vars" => {
            let address = with_query("/ui/variables", &[("namespace", scope(0)?), ("path", id)]);
            ("variable", address)
        }
        "volumes" | "host_volumes" => ("volume", with_query("/ui/storage", &[("q", id)])),
        "plugins" => ("plugin", format!("/ui/storage/plugins/{}", encoded(id))),
        _ => return None,
    };
    Some(Found { kind, text: id.to_string(), address, within: found.scope.join(" / ") })
}

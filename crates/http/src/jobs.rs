//! Jobs: the routing below `/v1/job/`, and the reads (`docs/spec/http-api.md §1.2`, `§5.2`).

use std::sync::Arc;

use super::access::Need;
use super::error::Error;
use super::filter::Filter;
use super::job_writes as writes;
use super::page::{Order, Pager};
use super::params::decimal_uint;
use super::request::{ReadOptions, Request, found};
use super::response::{Meta, Response};
use super::route::{Outcome, Route, route};
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_server::endpoints::alloc;
use encamp_server::endpoints::job_reads::{self, Base};
use encamp_server::storage::watch::{WatchKey, row_key};
use encamp_state::{JobEntry, StateStore, Table};

/// The routes.
pub const ROUTES: &[Route] = &[
    route!("/v1/jobs", jobs),
    route!("/v1/jobs/parse", writes::parse),
    route!("/v1/jobs/statuses", statuses),
    route!("/v1/validate/job", writes::validate),
    route!("/v1/job/", job),
];

/// The permissions that allow reading jobs.
const READ: &[&str] = &["read-job"];

async fn jobs(request: Request) -> Outcome {
    if request.is_get() {
        return list(request).await;
    }
    request.only_write()?;
    writes::register(request, None).await
}

/// Suffixes are tried in this order, on the end of the path: IDs may hold slashes.
async fn job(request: Request) -> Outcome {
    let rest = request.rest().to_string();
    let of = |suffix: &str| rest.strip_suffix(suffix).map(String::from);
    if let Some(id) = of("/evaluate") {
        return writes::evaluate(request, id).await;
    }
    if let Some(id) = of("/allocations") {
        return allocations(request, id).await;
    }
    if let Some(id) = of("/evaluations") {
        return evaluations(request, id).await;
    }
    if let Some(id) = of("/periodic/force") {
        return writes::force_periodic(request, id).await;
    }
    if let Some(id) = of("/plan") {
        return writes::plan(request, id).await;
    }
    if let Some(id) = of("/summary") {
        return summary(request, id).await;
    }
    if let Some(id) = of("/dispatch") {
        return writes::dispatch(request, id, false).await;
    }
    if let Some(id) = of("/dispatch/payload") {
        return writes::dispatch(request, id, true).await;
    }
    if let Some(id) = of("/versions") {
        return versions(request, id).await;
    }
    if let Some(id) = of("/revert") {
        return writes::revert(request, id).await;
    }
    if let Some(id) = of("/deployments") {
        return deployments(request, id).await;
    }
    if let Some(id) = of("/deployment") {
        return deployment(request, id).await;
    }
    if let Some(id) = of("/stable") {
        return writes::stable(request, id).await;
    }
    if let Some(id) = of("/scale") {
        return if request.is_get() { scale_status(request, id).await } else { writes::scale(request, id).await };
    }
    if let Some(id) = of("/services") {
        return services(request, id).await;
    }
    if let Some(id) = of("/submission") {
        return submission(request, id).await;
    }
    if let Some(id) = of("/actions") {
        return actions(request, id).await;
    }
    if let Some(id) = of("/action") {
        return super::exec::action(request, id).await;
    }
    if of("/tag").is_some() {
        return writes::tag(request, &rest).await;
    }
    match request.method().as_str() {
        "GET" => one(request, rest).await,
        "PUT" | "POST" => writes::register(request, Some(rest)).await,
        "DELETE" => writes::deregister(request, rest).await,
        _ => Err(Error::method()),
    }
}

/// Begins a read of something of one job.
fn begin(request: &Request, needs: &[&str]) -> Result<ReadOptions, Error> {
    request.only_get()?;
    let options = request.read_options()?;
    request.need(&Need::Namespace(&options.namespace, needs))?;
    Ok(options)
}

fn job_key(table: Table, options: &ReadOptions, id: &str) -> WatchKey {
    WatchKey::Row(table, row_key(&options.namespace, id))
}

fn of_job_key(table: Table, options: &ReadOptions, id: &str) -> WatchKey {
    WatchKey::OfJob(table, row_key(&options.namespace, id))
}

/// The rows a list may show, in the order of their tokens.
pub fn rows(store: &StateStore, options: &ReadOptions) -> Vec<Arc<JobEntry>> {
    let wanted =
        |j: &&Arc<JobEntry>| options.in_namespace(&j.current.namespace) && j.current.id.starts_with(&options.prefix);
    let mut rows: Vec<_> = store.state().jobs().filter(wanted).cloned().collect();
    if options.all_namespaces() {
        rows.sort_by_cached_key(token);
    }
    rows
}

/// The token of a row.
pub fn token(entry: &Arc<JobEntry>) -> String {
    format!("{}.{}", entry.current.namespace, entry.current.id)
}

async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let with_meta = request.flag("meta")?;
    request.need(&Need::Namespace(&options.namespace, &["list-jobs"]))?;
    let pager = Pager::new(&options)?;
    let keys = vec![WatchKey::Table(Table::Jobs), WatchKey::Table(Table::JobSummary)];
    let read = |store: &StateStore| {
        let matches = |f: &Filter, e: &Arc<JobEntry>| f.matches("Job", &*e.current);
        let page = pager.page(Order::Text, rows(store, &options), token, matches, |_| true)?;
        let stub = |e: &Arc<JobEntry>| {
            let job = &e.current;
            job.stub(store.summary(&job.namespace, &job.id).cloned(), with_meta)
        };
        let stubs: Vec<JobListStub> = page.rows.iter().map(stub).collect();
        let index = store.index_of(Table::Jobs).max(store.index_of(Table::JobSummary));
        Ok((index, (stubs, page.next)))
    };
    let ((stubs, next), meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&stubs)?.meta(&meta).next_token(next.as_deref()))
}

async fn one(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let keys = vec![job_key(Table::Jobs, &options, &id)];
    let read = |store: &StateStore| {
        let job = store.state().job(&options.namespace, &id).map(job_reads::shown);
        Ok((job.as_ref().map_or_else(|| store.index_of(Table::Jobs), |j| j.modify_index), job))
    };
    let (job, meta) = found(request.blocking(&options, keys, read).await?, "job not found")?;
    Ok(Response::json(&*job)?.meta(&meta))
}

async fn summary(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let keys = vec![job_key(Table::JobSummary, &options, &id)];
    let read = |store: &StateStore| {
        let summary = store.summary(&options.namespace, &id).cloned();
        Ok((summary.as_ref().map_or_else(|| store.index_of(Table::JobSummary), |s| s.modify_index), summary))
    };
    let (summary, meta) = found(request.blocking(&options, keys, read).await?, "job not found")?;
    Ok(Response::json(&*summary)?.meta(&meta))
}

async fn allocations(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let all = request.flag("all")?;
    let keys = vec![of_job_key(Table::Allocs, &options, &id)];
    let read = |store: &StateStore| {
        let allocs = job_reads::allocations(store, &options.namespace, &id, all);
        let stubs: Vec<AllocListStub> = allocs.iter().map(|a| alloc::listed(&a.alloc, false, true)).collect();
        Ok((store.index_of(Table::Allocs), stubs))
    };
    let (stubs, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&stubs)?.meta(&meta))
}

async fn evaluations(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let keys = vec![of_job_key(Table::Evals, &options, &id)];
    let read = |store: &StateStore| {
        let evals: Vec<_> = store.evals_of_job(&options.namespace, &id).cloned().collect();
        Ok((store.index_of(Table::Evals), evals))
    };
    let (evals, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&evals)?.meta(&meta))
}

async fn deployments(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let all = request.flag("all")?;
    let keys = vec![of_job_key(Table::Deployment, &options, &id)];
    let read = |store: &StateStore| {
        Ok((store.index_of(Table::Deployment), job_reads::deployments(store, &options.namespace, &id, all)))
    };
    let (deployments, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&deployments)?.meta(&meta))
}

async fn deployment(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let keys = vec![of_job_key(Table::Deployment, &options, &id)];
    let read = |store: &StateStore| {
        Ok((store.index_of(Table::Deployment), job_reads::latest_deployment(store, &options.namespace, &id)))
    };
    let (deployment, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&deployment)?.meta(&meta))
}

/// The version to compare with, if any.
fn base(request: &Request) -> Result<Option<Base>, Error> {
    let query = request.query();
    let diffs = request.flag("diffs")?;
    let version = query.uint("diff_version").map_err(|e| Error::internal(e.to_string()))?;
    let base = match (query.get("diff_tag"), version) {
        ("", None) => Base::Previous,
        ("", Some(n)) => Base::Version(n),
        (tag, _) => Base::Tag(tag.into()),
    };
    Ok(diffs.then_some(base))
}

async fn versions(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let base = base(&request)?;
    let keys = vec![job_key(Table::JobVersion, &options, &id)];
    let read = |store: &StateStore| {
        let found = job_reads::versions(store, &options.namespace, &id, base.as_ref());
        let found = found.map_err(|e| Error::internal(e.to_string()))?;
        let newest = found.as_ref().and_then(|(versions, _)| versions.iter().map(|v| v.modify_index).max());
        Ok((newest.unwrap_or_else(|| store.index_of(Table::JobVersion)), found))
    };
    let ((versions, diffs), meta) = found(request.blocking(&options, keys, read).await?, "job versions not found")?;
    let answer = JobVersionsResponse {
        versions,
        diffs,
        index: meta.index,
        last_contact: nanos(&meta),
        known_leader: meta.known_leader,
        ..Default::default()
    };
    Ok(Response::json(&answer)?.meta(&meta))
}

/// The time since the leader was heard of, in nanoseconds.
pub fn nanos(meta: &Meta) -> i64 {
    i64::try_from(meta.last_contact).map_or(i64::MAX, |ms| ms.saturating_mul(1_000_000))
}

async fn submission(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let version = decimal_uint(request.query().get("version"));
    let version = version.map_err(|_| Error::bad("Unable to parse job submission version parameter"))?;
    let keys = vec![WatchKey::Table(Table::JobSubmission)];
    let read = |store: &StateStore| {
        let source = job_reads::submission(store, &options.namespace, &id, version);
        Ok((source.as_ref().map_or(0, |s| s.job_modify_index), source))
    };
    let (source, meta) = found(request.blocking(&options, keys, read).await?, "job source not found")?;
    Ok(Response::json(&source)?.meta(&meta))
}

async fn scale_status(request: Request, id: String) -> Outcome {
    let options = begin(&request, &["read-job", "read-job-scaling"])?;
    let keys = vec![
        job_key(Table::Jobs, &options, &id),
        of_job_key(Table::Allocs, &options, &id),
        WatchKey::Table(Table::ScalingEvent),
    ];
    let read = |store: &StateStore| Ok(job_reads::scale_status(store, &options.namespace, &id));
    let (status, meta) = found(request.blocking(&options, keys, read).await?, "job not found")?;
    Ok(Response::json(&status)?.meta(&meta))
}

async fn services(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let keys = vec![WatchKey::Table(Table::ServiceRegistrations), job_key(Table::Jobs, &options, &id)];
    let read = |store: &StateStore| {
        let known = store.state().job(&options.namespace, &id).is_some();
        let services = known.then(|| job_reads::services(store, &options.namespace, &id));
        Ok((if known { store.index_of(Table::ServiceRegistrations) } else { 0 }, services))
    };
    let (services, meta) = found(request.blocking(&options, keys, read).await?, "job not found")?;
    Ok(Response::json(&services)?.meta(&meta))
}

async fn actions(request: Request, id: String) -> Outcome {
    let options = begin(&request, READ)?;
    let server = request.server()?;
    server.wait_ready().await?;
    let job = server.snapshot().state().job(&options.namespace, &id).cloned();
    let job = job.ok_or_else(|| Error::internal(format!("Unknown job {}", quoted(&id))))?;
    let actions = job_reads::actions(&job);
    let shown = if actions.is_empty() { None } else { Some(actions) };
    Ok(Response::json(&shown)?.meta(&Meta { index: 0, known_leader: false, last_contact: 0 }))
}

async fn statuses(mut request: Request) -> Outcome {
    let mut options = request.read_options()?;
    let mut children =
        request.query().bool("include_children").map_err(|e| Error::bad(e.to_string()))?.unwrap_or_default();
    let mut only: Option<Vec<(String, String)>> = None;
    match request.method().as_str() {
        "GET" => {}
        "POST" => {
            let body: JobStatusesRequest = request.json().await?;
            if body.jobs.is_empty() {
                return Err(Error::bad("no jobs in request"));
            }
            children |= body.include_children;
            let namespace = |n: &str| if n.is_empty() { "default".to_string() } else { n.to_string() };
            let jobs: Vec<_> = body.jobs.iter().map(|j| (namespace(&j.namespace), j.id.clone())).collect();
            if options.namespace == "default" {
                let first = jobs.first().map(|(n, _)| n.clone()).unwrap_or_default();
                let same = jobs.iter().all(|(n, _)| *n == first);
                options.namespace = if same { first } else { "*".into() };
            }
            options.per_page = i32::try_from(jobs.len()).unwrap_or(i32::MAX);
            only = Some(jobs);
        }
        _ => return Err(Error::method()),
    }
    request.need(&Need::Namespace(&options.namespace, READ))?;
    // The newest come first unless the list is reversed.
    let pager = Pager::new(&options).map_err(as_internal)?.reversed();
    let keys = [Table::Jobs, Table::Allocs, Table::Deployment].map(WatchKey::Table).to_vec();
    let mut before: Option<Vec<String>> = None;
    let read = |store: &StateStore| {
        let wanted = |e: &Arc<JobEntry>| {
            let job = &e.current;
            let named = |jobs: &Vec<(String, String)>| jobs.iter().any(|(n, id)| *n == job.namespace && *id == job.id);
            (children || job.parent_id.is_empty()) && only.as_ref().is_none_or(named)
        };
        let mut rows = rows(store, &options);
        rows.sort_by_cached_key(|e| (e.current.modify_index, token(e)));
        let matches = |f: &Filter, e: &Arc<JobEntry>| f.matches("Job", &*e.current);
        let number = |e: &Arc<JobEntry>| e.current.modify_index.to_string();
        let page = pager.page(Order::Number, rows, number, matches, wanted).map_err(as_internal)?;
        let mut index = 0;
        let mut jobs = Vec::with_capacity(page.rows.len());
        for e in &page.rows {
            let (newest, status) = job_reads::status(store, &e.current);
            index = index.max(newest);
            jobs.push(status);
        }
        // Jobs that left the page leave no index behind.
        let set: Vec<String> = page.rows.iter().map(token).collect();
        if page.rows.is_empty() || before.as_ref().is_some_and(|b| *b != set) {
            index = index.max(store.index_of(Table::Jobs));
        }
        before = Some(set);
        Ok((index, (jobs, page.next)))
    };
    let ((jobs, next), meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&jobs)?.meta(&meta).next_token(next.as_deref()))
}

/// Wrong filters are 500 here.
fn as_internal(e: Error) -> Error {
    Error::internal(e.message)
}

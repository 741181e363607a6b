//! Reads of jobs (`docs/spec/http-api.md §5.2`).

use std::sync::Arc;

use crate::access::visible_rows::Seen;
use crate::error::Error;
use crate::request::Request;
use crate::request::blocking_read::found;
use crate::request::filter::Filter;
use crate::request::page::{Order, Pager};
use crate::request::params::decimal_uint;
use crate::request::read_options::ReadOptions;
use crate::request::response::{Meta, Outcome, Response};
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_server::endpoints::job_reads::Base;
use encamp_server::endpoints::{alloc, job_reads};
use encamp_server::storage::watch::{WatchKey, row_key};
use encamp_state::{JobEntry, StateStore, Table};

fn job_key(table: Table, options: &ReadOptions, id: &str) -> WatchKey {
    WatchKey::Row(table, row_key(&options.namespace, id))
}

fn of_job_key(table: Table, options: &ReadOptions, id: &str) -> WatchKey {
    WatchKey::OfJob(table, row_key(&options.namespace, id))
}

/// The rows a list may show, in the order of their tokens.
pub(crate) fn rows(store: &StateStore, options: &ReadOptions, seen: &Seen) -> Vec<Arc<JobEntry>> {
    let wanted =
        |j: &&Arc<JobEntry>| seen.in_namespace(&j.current.namespace) && j.current.id.starts_with(&options.prefix);
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

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let with_meta = request.flag("meta")?;
    let seen = request.authorize_in(&options.namespace)?;
    let pager = Pager::new(&options)?;
    let keys = vec![WatchKey::Table(Table::Jobs), WatchKey::Table(Table::JobSummary)];
    let read = |store: &StateStore| {
        let matches = |f: &Filter, e: &Arc<JobEntry>| f.matches("Job", &*e.current);
        let page = pager.page(Order::Text, rows(store, &options, &seen), token, matches, |_| true)?;
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

pub(crate) async fn one(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let keys = vec![job_key(Table::Jobs, &options, &id)];
    let read = |store: &StateStore| {
        let job = store.state().job(&options.namespace, &id).map(job_reads::shown);
        Ok((job.as_ref().map_or_else(|| store.index_of(Table::Jobs), |j| j.modify_index), job))
    };
    let (job, meta) = found(request.blocking(&options, keys, read).await?, "job not found")?;
    Ok(Response::json(&*job)?.meta(&meta))
}

pub(crate) async fn summary(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let keys = vec![job_key(Table::JobSummary, &options, &id)];
    let read = |store: &StateStore| {
        let summary = store.summary(&options.namespace, &id).cloned();
        Ok((summary.as_ref().map_or_else(|| store.index_of(Table::JobSummary), |s| s.modify_index), summary))
    };
    let (summary, meta) = found(request.blocking(&options, keys, read).await?, "job not found")?;
    Ok(Response::json(&*summary)?.meta(&meta))
}

pub(crate) async fn allocations(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
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

pub(crate) async fn evaluations(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let keys = vec![of_job_key(Table::Evals, &options, &id)];
    let read = |store: &StateStore| {
        let evals: Vec<_> = store.evals_of_job(&options.namespace, &id).cloned().collect();
        Ok((store.index_of(Table::Evals), evals))
    };
    let (evals, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&evals)?.meta(&meta))
}

pub(crate) async fn deployments(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let all = request.flag("all")?;
    let keys = vec![of_job_key(Table::Deployment, &options, &id)];
    let read = |store: &StateStore| {
        Ok((store.index_of(Table::Deployment), job_reads::deployments(store, &options.namespace, &id, all)))
    };
    let (deployments, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&deployments)?.meta(&meta))
}

pub(crate) async fn deployment(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
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

pub(crate) async fn versions(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
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

pub(crate) async fn submission(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
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

pub(crate) async fn scale_status(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let keys = vec![
        job_key(Table::Jobs, &options, &id),
        of_job_key(Table::Allocs, &options, &id),
        WatchKey::Table(Table::ScalingEvent),
    ];
    let read = |store: &StateStore| Ok(job_reads::scale_status(store, &options.namespace, &id));
    let (status, meta) = found(request.blocking(&options, keys, read).await?, "job not found")?;
    Ok(Response::json(&status)?.meta(&meta))
}

pub(crate) async fn services(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let keys = vec![WatchKey::Table(Table::ServiceRegistrations), job_key(Table::Jobs, &options, &id)];
    let read = |store: &StateStore| {
        let known = store.state().job(&options.namespace, &id).is_some();
        let services = known.then(|| job_reads::services(store, &options.namespace, &id));
        Ok((if known { store.index_of(Table::ServiceRegistrations) } else { 0 }, services))
    };
    let (services, meta) = found(request.blocking(&options, keys, read).await?, "job not found")?;
    Ok(Response::json(&services)?.meta(&meta))
}

pub(crate) async fn actions(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let server = request.server()?;
    server.wait_ready().await?;
    let job = server.snapshot().state().job(&options.namespace, &id).cloned();
    let job = job.ok_or_else(|| Error::internal(format!("Unknown job {}", quoted(&id))))?;
    let actions = job_reads::actions(&job);
    let shown = if actions.is_empty() { None } else { Some(actions) };
    Ok(Response::json(&shown)?.meta(&Meta { index: 0, known_leader: false, last_contact: 0 }))
}

/// Which jobs `statuses` shows.
struct Shown {
    children: bool,
    /// The namespaces and IDs of the only ones.
    only: Option<Vec<(String, String)>>,
}

impl Shown {
    fn holds(&self, job: &Job) -> bool {
        let named = |jobs: &Vec<(String, String)>| jobs.iter().any(|(n, id)| *n == job.namespace && *id == job.id);
        (self.children || job.parent_id.is_empty()) && self.only.as_ref().is_none_or(named)
    }
}

fn with_children(request: &Request) -> Result<bool, Error> {
    Ok(request.query().bool("include_children").map_err(|e| Error::bad(e.to_string()))?.unwrap_or_default())
}

/// `GET /v1/jobs/statuses`.
pub(crate) async fn statuses(request: Request) -> Outcome {
    let options = request.read_options()?;
    let shown = Shown { children: with_children(&request)?, only: None };
    statuses_of(&request, &options, &shown).await
}

/// `POST /v1/jobs/statuses`: those of the jobs in the body.
pub(crate) async fn named_statuses(mut request: Request) -> Outcome {
    let mut options = request.read_options()?;
    let children = with_children(&request)?;
    let body: JobStatusesRequest = request.json().await?;
    if body.jobs.is_empty() {
        return Err(Error::bad("no jobs in request"));
    }
    let namespace = |n: &str| if n.is_empty() { "default".to_string() } else { n.to_string() };
    let jobs: Vec<_> = body.jobs.iter().map(|j| (namespace(&j.namespace), j.id.clone())).collect();
    if options.namespace == "default" {
        let first = jobs.first().map(|(n, _)| n.clone()).unwrap_or_default();
        let same = jobs.iter().all(|(n, _)| *n == first);
        options.namespace = if same { first } else { "*".into() };
    }
    options.per_page = i32::try_from(jobs.len()).unwrap_or(i32::MAX);
    let shown = Shown { children: children || body.include_children, only: Some(jobs) };
    statuses_of(&request, &options, &shown).await
}

async fn statuses_of(request: &Request, options: &ReadOptions, shown: &Shown) -> Outcome {
    let seen = request.authorize_in(&options.namespace)?;
    // The newest come first unless the list is reversed.
    let pager = Pager::new(options).map_err(as_internal)?.reversed();
    let keys = [Table::Jobs, Table::Allocs, Table::Deployment].map(WatchKey::Table).to_vec();
    let mut before: Option<Vec<String>> = None;
    let read = |store: &StateStore| {
        let wanted = |e: &Arc<JobEntry>| shown.holds(&e.current);
        let mut rows = rows(store, options, &seen);
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
    let ((jobs, next), meta) = request.blocking(options, keys, read).await?;
    Ok(Response::json(&jobs)?.meta(&meta).next_token(next.as_deref()))
}

/// Wrong filters are 500 here.
fn as_internal(e: Error) -> Error {
    Error::internal(e.message)
}

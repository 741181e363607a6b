//! Evaluations (`docs/spec/http-api.md §5.6`).

use std::sync::Arc;

use super::access::Need;
use super::error::Error;
use super::filter::{Filter, MatchError};
use super::ids;
use super::jobs::nanos;
use super::page::{Order, Pager};
use super::request::{ReadOptions, Request, found};
use super::response::Response;
use super::route::{Outcome, Route, route};
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_server::endpoints::{alloc, eval as endpoint};
use encamp_server::storage::watch::WatchKey;
use encamp_state::{StateStore, Table};

/// The routes.
pub const ROUTES: &[Route] =
    &[route!("/v1/evaluations", evaluations), route!("/v1/evaluations/count", count), route!("/v1/evaluation/", one)];

const READ: &[&str] = &["read-job"];

async fn evaluations(request: Request) -> Outcome {
    match request.method().as_str() {
        "GET" => list(request).await,
        "DELETE" => delete(request).await,
        _ => Err(Error::method()),
    }
}

fn matches(filter: &Filter, e: &Arc<Evaluation>) -> Result<bool, MatchError> {
    filter.matches("Evaluation", &**e)
}

async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let (status, job) = (EvalStatus::from(request.query().get("status")), request.query().get("job"));
    let others = !status.is_unset() || !job.is_empty();
    if !options.filter.is_empty() && others {
        return Err(Error::bad("Filter expression cannot be used with other filter parameters"));
    }
    request.need(&Need::Namespace(&options.namespace, READ))?;
    let prefix = ids::prefix("eval", &options.prefix)?;
    let pager = Pager::new(&options)?;
    let keep = |e: &Arc<Evaluation>| (status.is_unset() || e.status == status) && (job.is_empty() || e.job_id == job);
    let keys = vec![WatchKey::Table(Table::Evals)];
    let read = |store: &StateStore| {
        let wanted = |e: &&Arc<Evaluation>| options.in_namespace(&e.namespace);
        let page = if prefix.is_empty() {
            let rows = store.evals_by_create().filter(wanted).cloned();
            pager.page(Order::Indexed, rows, |e| format!("{}.{}", e.create_index, e.id), matches, keep)?
        } else {
            let rows = store.evals_from(&prefix).take_while(|e| e.id.starts_with(&prefix)).filter(wanted).cloned();
            pager.page(Order::Text, rows, |e| e.id.clone(), matches, keep)?
        };
        Ok((store.index_of(Table::Evals), page))
    };
    let (page, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&page.rows)?.meta(&meta).next_token(page.next.as_deref()))
}

/// The evaluations a filter finds, in the order of their creation; the error is the bare text.
fn matching(store: &StateStore, options: &ReadOptions, filter: Option<&Filter>) -> Result<Vec<Arc<Evaluation>>, Error> {
    let mut out = Vec::new();
    for e in store.evals_by_create().filter(|e| options.in_namespace(&e.namespace)) {
        let fits = filter.map_or(Ok(true), |f| matches(f, e)).map_err(|e| Error::internal(e.to_string()))?;
        if fits && e.id.starts_with(&options.prefix) {
            out.push(e.clone());
        }
    }
    Ok(out)
}

fn filter(text: &str) -> Result<Option<Filter>, Error> {
    let parsed = (!text.is_empty()).then(|| Filter::parse(text)).transpose();
    parsed.map_err(|e| Error::internal(e.to_string()))
}

async fn count(request: Request) -> Outcome {
    request.only_get()?;
    let options = request.read_options()?;
    request.need(&Need::Namespace(&options.namespace, READ))?;
    let filter = filter(&options.filter)?;
    let keys = vec![WatchKey::Table(Table::Evals)];
    let read =
        |store: &StateStore| Ok((store.index_of(Table::Evals), matching(store, &options, filter.as_ref())?.len()));
    let (count, meta) = request.blocking(&options, keys, read).await?;
    let answer = EvalCountResponse {
        count: u64::try_from(count).unwrap_or(u64::MAX),
        index: meta.index,
        last_contact: nanos(&meta),
        known_leader: meta.known_leader,
        ..Default::default()
    };
    Ok(Response::json(&answer)?.meta(&meta))
}

async fn delete(mut request: Request) -> Outcome {
    request.check_region()?;
    request.need(&Need::Management)?;
    let body: EvalDeleteRequest = request.json().await?;
    endpoint::check_delete(&body)?;
    let server = request.server()?;
    let done = if body.filter.is_empty() {
        endpoint::delete(server, body.eval_ids).await?
    } else {
        let filter = filter(&body.filter)?;
        let options = ReadOptions { namespace: request.namespace(), ..Default::default() };
        let found = matching(&server.snapshot(), &options, filter.as_ref())?;
        endpoint::delete_found(server, &found).await?
    };
    Ok(Response::json(&done)?.index(done.index))
}

async fn one(request: Request) -> Outcome {
    request.only_get()?;
    let options = request.read_options()?;
    if let Some(id) = request.rest().strip_suffix("/allocations") {
        let id = id.to_string();
        return allocations(request, options, id).await;
    }
    let id = request.rest().to_string();
    ids::check("eval", &id)?;
    let related = request.query().get("related") == "true";
    let keys = vec![WatchKey::Row(Table::Evals, id.clone())];
    let read = |store: &StateStore| {
        let eval = store.eval(&id).map(|e| match related {
            true => Arc::new(Evaluation { related_evals: endpoint::related(store, e), ..Evaluation::clone(e) }),
            false => e.clone(),
        });
        Ok((eval.as_ref().map_or_else(|| store.index_of(Table::Evals), |e| e.modify_index), eval))
    };
    let (eval, meta) = found(request.blocking(&options, keys, read).await?, "eval not found")?;
    request.need(&Need::Namespace(&eval.namespace, READ))?;
    Ok(Response::json(&*eval)?.meta(&meta))
}

async fn allocations(request: Request, options: ReadOptions, id: String) -> Outcome {
    ids::check("alloc", &id)?;
    let keys = vec![WatchKey::OfEval(id.clone())];
    let read = |store: &StateStore| {
        let namespace = store.eval(&id).map(|e| e.namespace.clone());
        let stubs: Vec<AllocListStub> =
            store.allocs_of_eval(&id).map(|a| alloc::listed(&a.alloc, false, true)).collect();
        Ok((store.index_of(Table::Allocs), (namespace, stubs)))
    };
    let ((namespace, stubs), meta) = request.blocking(&options, keys, read).await?;
    if let Some(n) = namespace {
        request.need(&Need::Namespace(&n, READ))?;
    }
    Ok(Response::json(&stubs)?.meta(&meta))
}

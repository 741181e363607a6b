//! Evaluations (`docs/spec/http-api.md §5.6`).

use std::sync::Arc;

use super::job_reads::nanos;
use crate::error::Error;
use crate::request::blocking_read::found;
use crate::request::filter::{Filter, MatchError};
use crate::request::page::{Order, Pager};
use crate::request::read_options::ReadOptions;
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_server::endpoints::{alloc, eval as endpoint};
use encamp_server::storage::watch::WatchKey;
use encamp_state::{StateStore, Table};

fn matches(filter: &Filter, e: &Arc<Evaluation>) -> Result<bool, MatchError> {
    filter.matches("Evaluation", &**e)
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let (status, job) = (EvalStatus::from(request.query().get("status")), request.query().get("job"));
    let others = !status.is_unset() || !job.is_empty();
    if !options.filter.is_empty() && others {
        return Err(Error::bad("Filter expression cannot be used with other filter parameters"));
    }
    let seen = request.authorize_in(&options.namespace)?;
    let prefix = ids::prefix("eval", &options.prefix)?;
    let pager = Pager::new(&options)?;
    let keep = |e: &Arc<Evaluation>| (status.is_unset() || e.status == status) && (job.is_empty() || e.job_id == job);
    let keys = vec![WatchKey::Table(Table::Evals)];
    let read = |store: &StateStore| {
        let wanted = |e: &&Arc<Evaluation>| seen.in_namespace(&e.namespace);
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
fn matching(
    store: &StateStore,
    shown: &dyn Fn(&str) -> bool,
    prefix: &str,
    filter: Option<&Filter>,
) -> Result<Vec<Arc<Evaluation>>, Error> {
    let mut out = Vec::new();
    for e in store.evals_by_create().filter(|e| shown(&e.namespace)) {
        let fits = filter.map_or(Ok(true), |f| matches(f, e)).map_err(|e| Error::internal(e.to_string()))?;
        if fits && e.id.starts_with(prefix) {
            out.push(e.clone());
        }
    }
    Ok(out)
}

fn filter(text: &str) -> Result<Option<Filter>, Error> {
    let parsed = (!text.is_empty()).then(|| Filter::parse(text)).transpose();
    parsed.map_err(|e| Error::internal(e.to_string()))
}

pub(crate) async fn count(request: Request) -> Outcome {
    let options = request.read_options()?;
    let seen = request.authorize_in(&options.namespace)?;
    let filter = filter(&options.filter)?;
    let keys = vec![WatchKey::Table(Table::Evals)];
    let read = |store: &StateStore| {
        let found = matching(store, &|n| seen.in_namespace(n), &options.prefix, filter.as_ref())?;
        Ok((store.index_of(Table::Evals), found.len()))
    };
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

pub(crate) async fn delete(mut request: Request) -> Outcome {
    let body: EvalDeleteRequest = request.json().await?;
    endpoint::check_delete(&body)?;
    let server = request.server()?;
    let done = if body.filter.is_empty() {
        endpoint::delete(server, body.eval_ids).await?
    } else {
        let filter = filter(&body.filter)?;
        let options = ReadOptions { namespace: request.namespace(), ..Default::default() };
        let found = matching(&server.snapshot(), &|n| options.in_namespace(n), "", filter.as_ref())?;
        endpoint::delete_found(server, &found).await?
    };
    Ok(Response::json(&done)?.index(done.index))
}

pub(crate) async fn one(request: Request) -> Outcome {
    let options = request.read_options()?;
    let id = ids::full("eval", request.rest())?;
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
    request.authorize_in(&eval.namespace)?;
    Ok(Response::json(&*eval)?.meta(&meta))
}

pub(crate) async fn allocations(request: Request, id: String) -> Outcome {
    let options = request.read_options()?;
    let id = ids::full("alloc", &id)?;
    let keys = vec![WatchKey::OfEval(id.clone())];
    let read = |store: &StateStore| {
        let namespace = store.eval(&id).map(|e| e.namespace.clone());
        let stubs: Vec<AllocListStub> =
            store.allocs_of_eval(&id).map(|a| alloc::listed(&a.alloc, false, true)).collect();
        Ok((store.index_of(Table::Allocs), (namespace, stubs)))
    };
    let ((namespace, stubs), meta) = request.blocking(&options, keys, read).await?;
    if let Some(n) = namespace {
        request.authorize_in(&n)?;
    }
    Ok(Response::json(&stubs)?.meta(&meta))
}

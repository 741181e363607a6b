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
            pager.page(Order::Text, rows, |e| e.id.to_string(), matches, keep)?
        };
        Ok((store.index_of(Table::Evals), page))
    };
    let (page, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&page.rows)?.meta(&meta).next_token(page.next.as_deref()))
}

/// A filter for many evaluations.
struct Search<'f> {
    filter: Option<&'f Filter>,
    /// The answers for the statuses so far, of a filter that reads nothing else: it is evaluated once for each status,
    /// not for each of a million evaluations.
    by_status: Option<Vec<(EvalStatus, bool)>>,
}

impl<'f> Search<'f> {
    fn new(filter: Option<&'f Filter>) -> Search<'f> {
        Search { filter, by_status: filter.filter(|f| f.reads_only("Status")).map(|_| Vec::new()) }
    }

    /// Whether the filter finds an evaluation; the error is the bare text.
    fn finds(&mut self, eval: &Arc<Evaluation>) -> Result<bool, Error> {
        let Some(filter) = self.filter else { return Ok(true) };
        let known = self.by_status.iter().flatten().find(|(status, _)| *status == eval.status);
        if let Some((_, fits)) = known {
            return Ok(*fits);
        }
        let fits = matches(filter, eval).map_err(|e| Error::internal(e.to_string()))?;
        if let Some(known) = self.by_status.as_mut().filter(|known| known.len() < EvalStatus::ALL.len()) {
            known.push((eval.status.clone(), fits));
        }
        Ok(fits)
    }
}

/// The evaluations a filter finds, in the order of their creation; the error is the bare text.
fn matching(
    store: &StateStore,
    shown: &dyn Fn(&str) -> bool,
    filter: Option<&Filter>,
) -> Result<Vec<Arc<Evaluation>>, Error> {
    let (mut out, mut search) = (Vec::new(), Search::new(filter));
    for e in store.evals_by_create().filter(|e| shown(&e.namespace)) {
        if search.finds(e)? {
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
        let (mut count, mut search) = (0_u64, Search::new(filter.as_ref()));
        for e in store.evals_from("").filter(|e| seen.in_namespace(&e.namespace)) {
            count += u64::from(search.finds(e)? && e.id.starts_with(&options.prefix));
        }
        Ok((store.index_of(Table::Evals), count))
    };
    let (count, meta) = request.blocking(&options, keys, read).await?;
    let answer = EvalCountResponse {
        count,
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
        let found = matching(&server.snapshot(), &|n| options.in_namespace(n), filter.as_ref())?;
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
            true => Arc::new(Evaluation { related_evals: endpoint::related(store, e).into(), ..Evaluation::clone(e) }),
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
        let namespace = store.eval(&id).map(|e| e.namespace.to_string());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_by_status_finds_what_the_filter_finds() {
        let statuses = EvalStatus::ALL.iter().cloned().chain(["odd".into(), EvalStatus::Unset]);
        let evals: Vec<Arc<Evaluation>> = statuses
            .flat_map(|status| ["a", "b"].map(|job| (status.clone(), job)))
            .map(|(status, job)| Arc::new(Evaluation { status, job_id: job.into(), ..Evaluation::default() }))
            .collect();
        for text in [
            r#"Status == "pending""#,
            r#"Status != "pending""#,
            r#"Status == "odd" or Status matches "^c""#,
            r#"Status == "complete" and JobID == "a""#,
            r#"JobID == "b""#,
        ] {
            let filter = Filter::parse(text).expect("a filter");
            let mut search = Search::new(Some(&filter));
            // The second time, what is known is used.
            for eval in evals.iter().chain(&evals) {
                let found = search.finds(eval).expect("evaluated");
                assert_eq!(found, matches(&filter, eval).expect("evaluated"), "{text}: {eval:?}");
            }
        }
        assert!(Search::new(None).finds(&evals[0]).expect("no filter"));
        let unknown = Filter::parse(r#"Nothing == "x""#).expect("a filter");
        assert!(Search::new(Some(&unknown)).finds(&evals[0]).is_err());
    }
}

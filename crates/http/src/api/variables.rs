//! Variables and their locks (`docs/spec/http-api.md §5.10, §8`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::right::{Need, VariableCapability};
use crate::error::Error;
use crate::request::Request;
use crate::request::blocking_read::found;
use crate::request::filter::Filter;
use crate::request::json::to_bytes;
use crate::request::page::{Order, Pager};
use crate::request::params::decimal_uint;
use crate::request::read_options::ReadOptions;
use crate::request::response::{Outcome, Response};
use encamp_model::{VariableEncrypted, VariableLock, VariableMetadata};
use encamp_ops::VariableReply;
use encamp_server::endpoints::variables::{self, Items, Written};
use encamp_server::error::ErrorKind;
use encamp_server::storage::watch::{WatchKey, row_key};
use encamp_state::{StateStore, Table};

/// Bad parameters of these paths have a second text behind the first.
fn options(request: &Request) -> Result<ReadOptions, Error> {
    request.read_options().map_err(|mut e| {
        e.message.push_str("failed to parse parameters");
        e
    })
}

fn table_index(store: &StateStore) -> u64 {
    store.index_of(Table::Variables).max(1)
}

fn token(v: &Arc<VariableEncrypted>) -> String {
    format!("{}.{}", v.namespace, v.path)
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = options(&request)?;
    let access = request.authorize()?;
    let pager = Pager::new(&options)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::Variables)], |store| {
        let mut rows: Vec<Arc<VariableEncrypted>> = match options.all_namespaces() {
            true => store.variables().filter(|v| v.path.starts_with(&options.prefix)).cloned().collect(),
            false => store.variables_below(&options.namespace, &options.prefix).cloned().collect(),
        };
        if options.all_namespaces() {
            rows.sort_by_cached_key(token);
        }
        let matches = |f: &Filter, v: &Arc<VariableEncrypted>| {
            f.matches("VariableEncrypted", &json!({ "VariableMetadata": v.metadata() }))
        };
        let visible = |v: &Arc<VariableEncrypted>| {
            access.allows(&Need::Variable(&v.namespace, &v.path, VariableCapability::List))
        };
        let page = pager.page(Order::Text, rows, token, matches, visible)?;
        Ok((table_index(store), page))
    });
    let (page, meta) = read.await?;
    let rows: Vec<VariableMetadata> = page.rows.iter().map(|v| v.metadata()).collect();
    Ok(Response::json(&rows)?.meta(&meta).next_token(page.next.as_deref()))
}

/// A variable as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct VariableDecrypted<'a> {
    namespace: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<&'a VariableLock>,
    create_index: u64,
    create_time: i64,
    modify_index: u64,
    modify_time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<&'a BTreeMap<String, String>>,
}

impl<'a> VariableDecrypted<'a> {
    fn new(v: &'a VariableEncrypted, items: &'a Items) -> VariableDecrypted<'a> {
        VariableDecrypted {
            namespace: &v.namespace,
            path: &v.path,
            lock: v.lock.as_ref(),
            create_index: v.create_index,
            create_time: v.create_time,
            modify_index: v.modify_index,
            modify_time: v.modify_time,
            items: Some(&items.0).filter(|i| !i.is_empty()),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Body {
    items: Option<BTreeMap<String, String>>,
    namespace: Option<String>,
    lock: Option<VariableLock>,
}

/// The path names no variable.
pub(crate) async fn unnamed(_: Request) -> Outcome {
    Err(Error::bad("missing variable path"))
}

/// A method that variables do not have.
pub(crate) async fn no_method(_: Request) -> Outcome {
    Err(Error::bad("Invalid method"))
}

pub(crate) async fn read(request: Request) -> Outcome {
    let path = request.rest();
    let options = options(&request)?;
    request.authorize_variable(&options.namespace, path)?;
    let keys = vec![WatchKey::Row(Table::Variables, row_key(&options.namespace, path))];
    let read = request.blocking(&options, keys, |store| {
        let variable = store.variable(&options.namespace, path).cloned();
        Ok((variable.as_ref().map_or(table_index(store), |v| v.modify_index), variable))
    });
    let (variable, meta) = found(read.await?, "variable not found")?;
    let items = variables::open(request.server()?, &variable)?;
    Ok(Response::json(&VariableDecrypted::new(&variable, &items))?.meta(&meta))
}

fn cas(request: &Request) -> Result<Option<u64>, Error> {
    match request.query().get("cas") {
        "" => Ok(None),
        text => decimal_uint(text).map(Some).map_err(|e| Error::bad(format!("can not parse cas: {e}"))),
    }
}

/// A conflict: JSON that calls itself text.
fn conflict(v: &VariableEncrypted, items: &Items) -> Outcome {
    let body = to_bytes(&VariableDecrypted::new(v, items)).map_err(|e| Error::internal(e.to_string()))?;
    Ok(Response::bytes("text/plain; charset=utf-8", body).status(409))
}

/// Refusals of writes tell an index of 0.
fn refusal(e: encamp_server::Error) -> Response {
    let has_index_header = matches!(e.kind, ErrorKind::BadRequest | ErrorKind::NotFound | ErrorKind::NotLocked);
    let response = Response::error(e.into());
    if has_index_header { response.index(0) } else { response }
}

pub(crate) async fn delete(request: Request, path: String) -> Outcome {
    request.check_region()?;
    let cas = cas(&request)?;
    let key = (request.namespace(), path);
    request.authorize_variable(&key.0, &key.1)?;
    let written = variables::delete(request.server()?, key.clone(), cas).await?;
    match written.reply {
        VariableReply::Written(_) => Ok(Response::empty().status(204).index(written.index)),
        reply => unwritten(&request, &key, &reply).map(|r| r.index(index_of(&reply))),
    }
}

pub(crate) async fn write(mut request: Request, path: String) -> Outcome {
    request.check_region()?;
    let cas = cas(&request)?;
    let operations: Vec<&str> =
        ["lock-acquire", "lock-release", "lock-renew"].into_iter().filter(|o| request.query().has(o)).collect();
    if operations.len() > 1 {
        return Err(Error::bad("multiple lock operations"));
    }
    if !operations.is_empty() && cas.is_some() {
        return Err(Error::bad("CAS can't be used with lock operations"));
    }
    let Body { items, namespace, lock } = request.json().await?;
    let items = Items(items.unwrap_or_default());
    if operations.is_empty() && items.0.is_empty() {
        return Err(Error::bad("variable missing required Items object"));
    }
    let namespace = namespace.filter(|n| !n.is_empty()).unwrap_or_else(|| request.namespace());
    let key = (namespace, path);
    request.authorize_variable(&key.0, &key.1)?;
    let server = request.server()?;
    let written = match operations.first() {
        None => variables::put(server, key.clone(), items, lock, cas).await,
        Some(&"lock-acquire") => variables::acquire(server, key.clone(), items, lock).await,
        Some(&"lock-release") => variables::release(server, key.clone(), items, lock).await,
        Some(_) => {
            let variable = variables::renew(server, &key, &lock.unwrap_or_default().id).await?;
            return Response::json(&variable.metadata());
        }
    };
    match written {
        Err(e) => Ok(refusal(e)),
        Ok(Written { index, reply: VariableReply::Written(Some(v)) }) => {
            // The response to a lock release has no items: the holder knows them.
            let items = match operations.first() {
                Some(&"lock-release") => Items::default(),
                _ => variables::open(server, &v)?,
            };
            Ok(Response::json(&VariableDecrypted::new(&v, &items))?.index(index))
        }
        Ok(Written { reply, .. }) => {
            let response = unwritten(&request, &key, &reply)?;
            Ok(if operations.is_empty() { response.index(index_of(&reply)) } else { response })
        }
    }
}

/// The index that a conflict tells.
fn index_of(reply: &VariableReply) -> u64 {
    match reply {
        VariableReply::Conflict(Some(v)) => v.modify_index,
        _ => 0,
    }
}

/// The answer when a variable is not as expected (`docs/spec/http-api.md §8.3`): the stored variable, with its items
/// for callers who may read it.
fn unwritten(request: &Request, key: &(String, String), reply: &VariableReply) -> Outcome {
    let VariableReply::Conflict(Some(v)) = reply else {
        let none = VariableEncrypted { namespace: key.0.clone(), path: key.1.clone(), ..Default::default() };
        return conflict(&none, &Items::default());
    };
    let readable = request.need(&Need::Variable(&key.0, &key.1, VariableCapability::Read)).is_ok();
    let items = if readable { variables::open(request.server()?, v)? } else { Items::default() };
    conflict(v, &items)
}

//! Variables (`spec/http-api.md §5.10, §8.2`). There is no keyring yet, so none can be stored: reads find nothing, writes
//! are checked and refused.

use axum::http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::access::Need;
use super::error::Error;
use super::page::Pager;
use super::params::decimal_uint;
use super::request::{ReadOptions, Request};
use super::response::Response;
use super::routes::{Outcome, Route, route};
use crate::model::quoted;
use crate::server::watch::WatchKey;
use crate::state::Table;

/// The routes.
pub const ROUTES: &[Route] = &[route!("/v1/vars", list), route!("/v1/var/", one)];

/// Bad parameters of these paths have a second text behind the first.
fn options(request: &Request) -> Result<ReadOptions, Error> {
    request.read_options().map_err(|mut e| {
        e.message.push_str("failed to parse parameters");
        e
    })
}

async fn list(request: Request) -> Outcome {
    request.only_get()?;
    let options = options(&request)?;
    request.need(&Need::Nothing)?;
    Pager::new(&options)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::Variables)], |store| {
        Ok((store.index_of(Table::Variables), ()))
    });
    let ((), meta) = read.await?;
    Ok(Response::json::<[Value; 0]>(&[])?.meta(&meta))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Body {
    items: Option<std::collections::BTreeMap<String, String>>,
    namespace: Option<String>,
    lock: Option<Value>,
}

async fn one(mut request: Request) -> Outcome {
    let path = request.rest().to_string();
    if path.is_empty() {
        return Err(Error::bad("missing variable path"));
    }
    match *request.method() {
        Method::GET => read(&request, &path).await,
        Method::PUT | Method::POST => write(&mut request, &path).await,
        Method::DELETE => {
            cas(&request)?;
            let namespace = request.namespace();
            request.need(&Need::Variable(&namespace, &path, "destroy"))?;
            let server = request.server()?;
            server.wait_ready().await?;
            // There is none, as asked.
            Ok(Response::empty().status(204).index(server.snapshot().index_of(Table::Variables)))
        }
        _ => Err(Error::bad("Invalid method")),
    }
}

async fn read(request: &Request, path: &str) -> Outcome {
    let options = options(request)?;
    request.need(&Need::Variable(&options.namespace, path, "read"))?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::Variables)], |store| {
        Ok((store.index_of(Table::Variables), ()))
    });
    let ((), meta) = read.await?;
    Err(Error::not_found("variable not found").with(meta))
}

fn cas(request: &Request) -> Result<Option<u64>, Error> {
    match request.query().get("cas") {
        "" => Ok(None),
        text => decimal_uint(text).map(Some).map_err(|e| Error::bad(format!("can not parse cas: {e}"))),
    }
}

async fn write(request: &mut Request, path: &str) -> Outcome {
    request.check_region()?;
    let cas = cas(request)?;
    let operations =
        ["lock-acquire", "lock-release", "lock-renew"].into_iter().filter(|o| request.query().has(o)).count();
    if operations > 1 {
        return Err(Error::bad("multiple lock operations"));
    }
    if operations == 1 && cas.is_some() {
        return Err(Error::bad("CAS can't be used with lock operations"));
    }
    let body: Body = request.json().await?;
    let items = body.items.unwrap_or_default();
    if operations == 0 && items.is_empty() {
        return Err(Error::bad("variable missing required Items object"));
    }
    let namespace = body.namespace.filter(|n| !n.is_empty()).unwrap_or_else(|| request.namespace());
    request.need(&Need::Variable(&namespace, path, "write"))?;
    let server = request.server()?;
    server.wait_ready().await?;
    let meta = request.meta(server.snapshot().index_of(Table::Variables));
    let wrong = if namespace == "*" {
        Some("can not target wildcard (\"*\")namespace".to_string())
    } else if operations == 0 && body.lock.as_ref().is_some_and(defines_lock) {
        Some("RPC Error:: 400,variable should not contain lock definition".to_string())
    } else if items.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>() > 65_536 {
        Some("variables are limited to 64KiB in total size".to_string())
    } else {
        check_path(path).err()
    };
    match wrong {
        Some(text) => Err(Error::bad(format!("RPC Error:: 400,{text}")).with(meta)),
        None => Err(Error::internal("keyring is not initialized: variables can not be stored")),
    }
}

fn defines_lock(lock: &Value) -> bool {
    ["TTL", "LockDelay"].into_iter().any(|k| lock.get(k).is_some_and(|v| !matches!(v.as_str(), Some(""))))
}

/// Where variables may be (§8.2).
fn check_path(path: &str) -> Result<(), String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~' | '/');
    if !(1..=128).contains(&path.len()) || !path.chars().all(fine) {
        return Err(format!("invalid path {}", quoted(path)));
    }
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["nomad"] => {
            Err("\"nomad\" is a reserved top-level directory path, but you may write variables to \"nomad/jobs\", \
             \"nomad/job-templates\", \"nomad/sentinel\", or below"
                .into())
        }
        ["nomad", "jobs" | "sentinel", ..] | ["nomad", "job-templates", _] => Ok(()),
        ["nomad", "job-templates"] => {
            Err("\"nomad/job-templates\" is a reserved directory path, but you may write variables \
             at the level below it, for example, \"nomad/job-templates/template-name\""
                .into())
        }
        ["nomad", ..] => {
            Err("only paths at \"nomad/jobs\" or \"nomad/job-templates\" and below are valid paths under the \
             top-level \"nomad\" directory"
                .into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for path in ["app/config", "nomad/jobs", "nomad/jobs/web/g", "nomad/job-templates/x", "nomads", "a~b_c-d"] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        for (path, text) in [
            ("app.config", "invalid path \"app.config\""),
            ("nomad", "\"nomad\" is a reserved"),
            ("nomad/zzz", "only paths at"),
            ("nomad/job-templates", "\"nomad/job-templates\" is a reserved"),
            ("nomad/job-templates/a/b", "only paths at"),
        ] {
            assert!(check_path(path).unwrap_err().starts_with(text), "{path}");
        }
        assert!(check_path(&"a".repeat(129)).is_err());
    }
}

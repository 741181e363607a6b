//! Garbage collection: forced runs, what a run would do, what keeps an object (`docs/spec/http-api.md §5.15`,
//! `docs/spec/garbage-collection.md §13, 19`).

use std::time::Duration;

use crate::error::Error;
use crate::request::Request;
use crate::request::response::{Outcome, Response};
use encamp_host::ids;
use encamp_model::Time;
use encamp_model::duration::parse_duration;
use encamp_server::endpoints::system;
use encamp_server::leadership::gc::follow::LONGEST_WAIT;
use encamp_server::leadership::gc::plan::MOST_OBJECTS;

/// Starts a forced run. With `wait`, the answer is its report.
pub(crate) async fn force(request: Request) -> Outcome {
    let server = request.server()?;
    if !request.query().has("wait") {
        system::collect_garbage(server).await?;
        return Ok(Response::empty());
    }
    let report = system::collect_garbage_and_wait(server, wait(request.query().get("wait"))?).await?;
    Response::json(&report)
}

/// The parameter `wait`: a duration above 0, at most the longest wait.
fn wait(text: &str) -> Result<Duration, Error> {
    let nanos = parse_duration(text).map_err(|e| Error::bad(format!("invalid wait: {e}")))?;
    let wait = u64::try_from(nanos).map(Duration::from_nanos).unwrap_or_default();
    if wait.is_zero() || wait > LONGEST_WAIT {
        return Err(Error::bad(format!("invalid wait: must be above 0s and at most {}s", LONGEST_WAIT.as_secs())));
    }
    Ok(wait)
}

/// The time of the run: `at` (RFC 3339), or `in` (a duration) from now; now without both.
fn time(request: &Request) -> Result<i64, Error> {
    let query = request.query();
    match (query.get("at"), query.get("in")) {
        ("", "") => Ok(ids::now()),
        (at, "") => {
            let time = Time::parse(at).map_err(|e| Error::bad(format!("invalid at: {e}")))?;
            time.unix_nanos().ok_or_else(|| Error::bad("invalid at: the zero time"))
        }
        ("", later) => {
            let nanos = parse_duration(later).map_err(|e| Error::bad(format!("invalid in: {e}")))?;
            Ok(ids::now().saturating_add(nanos))
        }
        _ => Err(Error::bad("at and in exclude each other")),
    }
}

/// What a run would do.
pub(crate) async fn plan(request: Request) -> Outcome {
    let periodic = request.query().bool("periodic").map_err(Error::bad)?.unwrap_or(false);
    let objects = request.query().int("objects").map_err(Error::bad)?.unwrap_or(0);
    let objects = usize::try_from(objects).unwrap_or(0).min(MOST_OBJECTS);
    let now = time(&request)?;
    Response::json(&system::plan_garbage_collection(request.server()?, !periodic, now, objects).await?)
}

/// When an object is deleted, and what keeps it.
pub(crate) async fn explain(request: Request) -> Outcome {
    let id = request.query().get("id");
    if id.is_empty() {
        return Err(Error::bad("the parameter id is missing: the ID of an object, or how it begins"));
    }
    let now = time(&request)?;
    let namespace = request.query().get("namespace");
    Response::json(&system::explain_garbage_collection(request.server()?, namespace, id, now).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_bounded() {
        assert_eq!(wait("5m").ok(), Some(Duration::from_secs(300)));
        for text in ["", "5", "0s", "-1s", "10m1s"] {
            assert!(wait(text).is_err(), "{text}");
        }
    }
}

//! Forwards requests that another server has to answer (`docs/spec/server.md §20.1`): writes and consistent reads go to
//! the leader; requests that need a server go to any server if this agent is none.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use tokio::time::Instant;

use super::answered_by::AnsweredBy;
use super::params::{Query, parse_bool};
use crate::access::audit_trail;
use crate::agent::servers::PassedOn;
use crate::agent::state::AppState;
use crate::error::Error;
use encamp_model::outcome::NO_LEADER;

/// How long a leader is waited for.
const HOLD: Duration = Duration::from_secs(5);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether a request is for another server. `stale`: this server may answer a read from what it has.
fn for_others(by: AnsweredBy, has_server: bool, leads: bool, stale: bool) -> bool {
    match by {
        // Requests for nodes are forwarded when it is known who calls ([`crate::request::node_forward`]).
        AnsweredBy::Agent | AnsweredBy::Node | AnsweredBy::NodeOfAlloc(_) => false,
        AnsweredBy::Server => !has_server,
        AnsweredBy::Leader => !has_server || !(leads || stale),
        AnsweredBy::OnlyLeader => !has_server || !leads,
    }
}

/// A read that any server may answer. A wrong value is the handler's to refuse.
fn stale(method: &axum::http::Method, query: &Query) -> bool {
    let value = query.get("stale");
    *method == axum::http::Method::GET && query.has("stale") && (value.is_empty() || parse_bool(value) != Ok(false))
}

/// The answer of another server, or the request, if it is to be answered here.
///
/// # Errors
/// No leader was found in time, or the connection broke while it answered.
pub(crate) async fn pass_on(app: &AppState, by: AnsweredBy, mut request: Request<Body>) -> Result<Passed, Error> {
    let Some(forward) = app.forward() else { return Ok(Passed::Here(request)) };
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let stale = stale(request.method(), &query);
    let leads = || app.server().is_some_and(|s| s.consensus().serves());
    let stopped = || app.server().is_some_and(|s| s.consensus().stopped().is_some());
    let deadline = Instant::now() + HOLD;
    loop {
        let passed_on = request.extensions().get::<PassedOn>().is_some();
        if passed_on || !for_others(by, app.server().is_some(), leads(), stale) {
            return Ok(Passed::Here(request));
        }
        audit_trail::mark(&mut request);
        match forward.forward(request).await {
            Ok(response) => return Ok(Passed::Answered(response)),
            // A server that can't go on says why itself.
            Err((_, Some(unsent))) if stopped() => return Ok(Passed::Here(unsent)),
            Err((_, Some(unsent))) if Instant::now() < deadline => request = unsent,
            Err((_, Some(_))) => return Err(Error::internal(NO_LEADER)),
            Err((text, None)) => return Err(Error::internal(text)),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The result of a request.
#[derive(Debug)]
pub(crate) enum Passed {
    /// It is answered here.
    Here(Request<Body>),
    /// Another server answered.
    Answered(Response<Body>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Method;

    #[test]
    fn only_what_needs_the_leader_goes_there() {
        use AnsweredBy::{Agent, Leader, OnlyLeader, Server};
        for (by, has_server, leads, stale, want) in [
            (Leader, true, true, false, false),
            (Leader, true, false, false, true),
            (Leader, true, false, true, false),
            (Leader, false, false, true, true),
            (OnlyLeader, true, false, true, true),
            (OnlyLeader, true, true, true, false),
            (OnlyLeader, false, false, false, true),
            (Server, true, false, false, false),
            (Server, false, false, false, true),
            (Agent, true, false, false, false),
            (Agent, false, false, false, false),
        ] {
            assert_eq!(for_others(by, has_server, leads, stale), want, "{by:?} {has_server} {leads} {stale}");
        }
    }

    #[test]
    fn only_reads_may_be_stale() {
        let stale = |method, query| stale(&method, &Query::parse(query));
        assert!(stale(Method::GET, "stale") && stale(Method::GET, "stale=true") && stale(Method::GET, "stale=x"));
        assert!(!stale(Method::GET, "stale=false") && !stale(Method::GET, "") && !stale(Method::PUT, "stale"));
    }
}

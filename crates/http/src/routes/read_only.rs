//! Requests to the server of a state that never changes ([`encamp_server::Server::frozen`]): reads and questions are
//! answered, all others are refused.

use axum::http::Method;

use super::entry::respond;
use super::find::{Found, find};
use super::route::RoutePath::{self, At, Below};
use crate::agent::state::AppState;
use crate::error::Error;
use crate::request::params::percent_decode;
use crate::request::response::Response;

/// The routes whose parameters are a body and which change nothing.
const QUESTIONS: &[RoutePath] = &[
    At("/v1/jobs/parse"),
    At("/v1/jobs/statuses"),
    At("/v1/search"),
    At("/v1/search/fuzzy"),
    At("/v1/validate/job"),
    Below("/v1/job/", "{*id}/plan"),
];
/// What nodes answer.
const NODES: &str = "/v1/client/";

const REFUSED: &str = "This is a snapshot file: nothing can be changed or started.";
const NO_NODES: &str = "This is a snapshot file: no node or task can be reached.";

/// Answers a request that changes nothing; refuses any other with 403.
pub async fn respond_read_only(app: AppState, request: axum::extract::Request) -> axum::response::Response {
    match refusal(request.method(), &percent_decode(request.uri().path())) {
        Some(why) => Response::error(Error::new(403, why)).finish(false, None),
        None => respond(app, request).await,
    }
}

/// Why a request is refused.
fn refusal(method: &Method, path: &str) -> Option<&'static str> {
    if path.starts_with(NODES) {
        return Some(NO_NODES);
    }
    if matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    match find(method, path) {
        Found::Route(matched) => (!QUESTIONS.contains(&matched.route.path)).then_some(REFUSED),
        // Nothing is carried out.
        Found::OtherMethod(_) | Found::AddSlash | Found::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::route::Methods;
    use crate::routes::table::routes;

    #[test]
    fn every_write_is_refused_and_questions_are_not() {
        for (method, path, refused) in [
            (Method::GET, "/v1/jobs", false),
            (Method::POST, "/v1/jobs/parse", false),
            (Method::PUT, "/v1/job/a%2Fb/plan", false),
            (Method::POST, "/v1/search", false),
            (Method::PUT, "/v1/jobs", true),
            (Method::PUT, "/v1/job/plan", true),
            (Method::DELETE, "/v1/job/web", true),
            (Method::PUT, "/v1/system/gc", true),
            (Method::GET, "/v1/client/fs/logs/x", true),
            (Method::GET, "/v1/client/allocation/x/exec", true),
        ] {
            assert_eq!(refusal(&method, path).is_some(), refused, "{method} {path}");
        }
    }

    #[test]
    fn the_questions_are_routes_that_write_nothing_in_an_agent_either() {
        for path in QUESTIONS {
            assert!(routes().any(|route| route.path == *path), "{path}");
        }
        let writes = routes().filter(|r| !matches!(r.methods, Methods::Any) && !QUESTIONS.contains(&r.path));
        let written = writes.filter(|r| r.methods.hold(&Method::PUT) || r.methods.hold(&Method::DELETE)).count();
        assert!(written > 50, "{written}");
    }
}

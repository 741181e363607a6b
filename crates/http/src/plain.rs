//! Paths outside of the API: the root, the UI (which does not exist), paths of the Enterprise edition
//! (`docs/spec/http-api.md §1.2`).

use super::error::Error;
use super::request::Request;
use super::response::Response;
use super::route::{Outcome, Route, route};

/// The routes.
pub const ROUTES: &[Route] = &[
    route!("/", root),
    route!("/ui/", ui),
    route!("/v1/sentinel/", enterprise),
    route!("/v1/quotas", enterprise),
    route!("/v1/quota", enterprise),
    route!("/v1/quota/", enterprise),
    route!("/v1/quota-usages", enterprise),
    route!("/v1/quota-usage/", enterprise),
    route!("/v1/recommendation", enterprise),
    route!("/v1/recommendation/", enterprise),
    route!("/v1/recommendations", enterprise),
    route!("/v1/recommendations/", enterprise),
    route!("/v1/operator/license", license),
    route!("/v1/operator/utilization", utilization),
    route!("/debug/pprof/", pprof),
];

const ENTERPRISE: &str = "Nomad Enterprise only endpoint";

async fn root(request: Request) -> Outcome {
    let query = request.query_text();
    Ok(redirect(&request, &if query.is_empty() { "/ui/".to_string() } else { format!("/ui/?{query}") }))
}

/// 307 to another place, with a line of HTML for browsers.
pub fn redirect(request: &Request, to: &str) -> Response {
    let response = if request.is_get() {
        let shown = to.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&#34;");
        Response::bytes("text/html; charset=utf-8", format!("<a href=\"{shown}\">Temporary Redirect</a>.\n\n"))
    } else {
        Response::empty()
    };
    response.status(307).header(axum::http::header::LOCATION, to)
}

const UI: &str = "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>encamp</title></head>
<body><h1>encamp</h1><p>This agent has no web interface. Use the command line, or the HTTP API below <code>/v1/</code>.</p></body></html>
";

async fn ui(_: Request) -> Outcome {
    Ok(Response::bytes("text/html; charset=utf-8", UI))
}

async fn enterprise(_: Request) -> Outcome {
    Err(Error::new(501, ENTERPRISE))
}

async fn license(request: Request) -> Outcome {
    if request.is_get() {
        return Ok(Response::empty().status(204));
    }
    request.only_write()?;
    Err(Error::new(501, ENTERPRISE))
}

async fn utilization(request: Request) -> Outcome {
    request.only_write()?;
    Err(Error::new(501, ENTERPRISE))
}

/// Profiles are those of another runtime; there are none here, debugging or not.
async fn pprof(_: Request) -> Outcome {
    Ok(Response::empty().status(404))
}

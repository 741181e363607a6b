//! Paths outside of the API: the root, the page of an agent without the web UI, paths of the Enterprise edition
//! (`docs/spec/http-api.md §1.2`).

use crate::error::Error;
use crate::request::Request;
use crate::request::response::{Outcome, Response};

const ENTERPRISE: &str = "Nomad Enterprise only endpoint";

pub(crate) async fn root(request: Request) -> Outcome {
    let query = request.query_text();
    Ok(Response::redirect(
        request.is_get(),
        &if query.is_empty() { "/ui/".to_string() } else { format!("/ui/?{query}") },
    ))
}

const UI: &str = "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>encamp</title></head>
<body><h1>encamp</h1><p>The web UI of this agent is disabled (<code>ui { enabled = false }</code>). Use the command line, or the HTTP API below <code>/v1/</code>.</p></body></html>
";

pub(crate) async fn ui(_: Request) -> Outcome {
    Ok(Response::bytes("text/html; charset=utf-8", UI))
}

pub(crate) async fn enterprise(_: Request) -> Outcome {
    Err(Error::new(501, ENTERPRISE))
}

pub(crate) async fn license(_: Request) -> Outcome {
    Ok(Response::empty().status(204))
}

/// Profiles are those of another runtime; there are none here, debugging or not.
pub(crate) async fn pprof(_: Request) -> Outcome {
    Ok(Response::empty().status(404))
}

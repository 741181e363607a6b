//! What the agent itself answers: log messages as they come (`spec/http-api.md §6.5`).

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use base64::Engine;
use futures_util::stream;

use super::log::{Level, Logs, Watch};
use crate::model::quoted;

/// Parameters of a request, in order.
type Params = Query<Vec<(String, String)>>;

/// The routes.
pub fn router(logs: &Logs) -> Router {
    Router::new().route("/v1/agent/monitor", any(monitor_route).with_state(logs.clone()))
}

fn text(status: StatusCode, body: impl Into<String>) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body.into()).into_response()
}

fn invalid_method() -> Response {
    text(StatusCode::METHOD_NOT_ALLOWED, "Invalid method")
}

async fn monitor_route(State(logs): State<Logs>, method: axum::http::Method, params: Params) -> Response {
    if method != axum::http::Method::GET {
        return invalid_method();
    }
    match MonitorRequest::parse(&params.0) {
        Err(e) => text(StatusCode::BAD_REQUEST, e),
        Ok(MonitorRequest { node_id: Some(id), .. }) => {
            text(StatusCode::INTERNAL_SERVER_ERROR, format!("RPC Error:: 404,Unknown node {}", quoted(&id)))
        }
        Ok(MonitorRequest { server_id: Some(id), .. }) => {
            text(StatusCode::INTERNAL_SERVER_ERROR, format!("unknown Nomad server {id}"))
        }
        Ok(request) => monitor_response(&logs, &request),
    }
}

/// What `GET /v1/agent/monitor` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorRequest {
    /// The least important messages wanted.
    pub level: Level,
    /// Messages as JSON.
    pub json: bool,
    /// Messages with their place in the source.
    pub location: bool,
    /// Lines as they are, not in frames.
    pub plain: bool,
    /// The node whose messages are wanted.
    pub node_id: Option<String>,
    /// The server whose messages are wanted.
    pub server_id: Option<String>,
}

impl MonitorRequest {
    /// Reads the parameters; the error is the text of a 400.
    pub fn parse(params: &[(String, String)]) -> Result<MonitorRequest, String> {
        let flag = |name: &str, label: &str| match value(params, name) {
            None => Ok(false),
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
            Some(other) => {
                Err(format!("Unknown option for {label}: strconv.ParseBool: parsing {}: invalid syntax", quoted(other)))
            }
        };
        let level = value(params, "log_level").unwrap_or("INFO");
        let level = Level::parse(level).ok_or_else(|| format!("Unknown log level: {level}"))?;
        let plain = flag("plain", "plain")?;
        let json = flag("log_json", "log json")?;
        let location = flag("log_include_location", "log include location")?;
        let id = |name| value(params, name).map(String::from);
        let (node_id, server_id) = (id("node_id"), id("server_id"));
        if node_id.is_some() && server_id.is_some() {
            return Err("Cannot target node and server simultaneously".into());
        }
        Ok(MonitorRequest { level, json, location, plain, node_id, server_id })
    }
}

/// The messages of this agent from now on, until the reader goes.
pub fn monitor_response(logs: &Logs, request: &MonitorRequest) -> Response {
    let watch = logs.watch(request.level, request.json, request.location);
    let plain = request.plain;
    let body = stream::unfold(watch, move |mut watch| async move {
        let chunk = next_chunk(&mut watch, plain).await?;
        Some((Ok::<String, Infallible>(chunk), watch))
    });
    let kind = if plain { "text/plain" } else { "application/json" };
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(body)).into_response()
}

/// The next line as it is sent, or a heartbeat after a second without one.
async fn next_chunk(watch: &mut Watch, plain: bool) -> Option<String> {
    loop {
        match tokio::time::timeout(Duration::from_secs(1), watch.next()).await {
            Ok(None) => return None,
            Ok(Some(line)) if plain => return Some(format!("{line}\n")),
            Ok(Some(line)) => {
                let data = base64::engine::general_purpose::STANDARD.encode(format!("{line}\n"));
                return Some(format!("{{\"Data\":\"{data}\",\"FileEvent\":\"log\"}}"));
            }
            Err(_) if plain => {}
            Err(_) => return Some("{}".into()),
        }
    }
}

/// The first value of a parameter; empty ones count as absent.
fn value<'a>(params: &'a [(String, String)], name: &str) -> Option<&'a str> {
    params.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str()).filter(|v| !v.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &[(&str, &str)]) -> Result<MonitorRequest, String> {
        let params: Vec<_> = query.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        MonitorRequest::parse(&params)
    }

    #[test]
    fn wrong_parameters_are_told_as_the_reference_does() {
        for (query, want) in [
            (&[("log_level", "nope")][..], "Unknown log level: nope"),
            (&[("plain", "maybe")], "Unknown option for plain: strconv.ParseBool: parsing \"maybe\": invalid syntax"),
            (&[("log_json", "2")], "Unknown option for log json: strconv.ParseBool: parsing \"2\": invalid syntax"),
            (&[("node_id", "a"), ("server_id", "b")], "Cannot target node and server simultaneously"),
        ] {
            assert_eq!(parse(query), Err(want.into()));
        }
        let got = parse(&[("log_level", "debug"), ("plain", "true"), ("log_json", "")]).expect("a request");
        assert_eq!((got.level, got.plain, got.json), (Level::Debug, true, false));
        assert_eq!(parse(&[]).expect("a request").level, Level::Info);
    }
}

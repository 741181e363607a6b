//! Messages of the agent as they come (`docs/spec/http-api.md §6.5`).

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;

use super::access::{Level, Need};
use super::app::LogWatch;
use super::error::Error;
use super::params::parse_bool;
use super::request::Request;
use super::response::Response;
use super::route::{Outcome, Route, route};
use encamp_model::quoted;

/// The routes.
pub const ROUTES: &[Route] = &[route!("/v1/agent/monitor", monitor), route!("/v1/agent/monitor/export", export)];

/// How long the stream is silent at most.
const HEARTBEAT: Duration = Duration::from_secs(1);

fn flag(request: &Request, name: &str, label: &str) -> Result<bool, Error> {
    match request.query().get(name) {
        "" => Ok(false),
        text => parse_bool(text).map_err(|e| Error::bad(format!("Unknown option for {label}: {e}"))),
    }
}

async fn monitor(request: Request) -> Outcome {
    request.only_get()?;
    request.need(&Need::Agent(Level::Read))?;
    let level = match request.query().get("log_level") {
        "" => "INFO",
        level => level,
    };
    let json = flag(&request, "log_json", "log json")?;
    let location = flag(&request, "log_include_location", "log include location")?;
    let plain = flag(&request, "plain", "plain")?;
    let unknown = || Error::bad(format!("Unknown log level: {level}"));
    let watch = request.app().agent().watch_logs(level, json, location).ok_or_else(unknown)?;
    here(&request)?;
    let body = stream::unfold(watch, move |mut watch| async move {
        let chunk = next(&mut *watch, plain).await?;
        Some((Ok::<_, Infallible>(chunk), watch))
    });
    let kind = if plain { "text/plain" } else { "application/json" };
    Ok(Response::stream(kind, Body::from_stream(body)))
}

/// Whether this agent is the one that is asked for.
fn here(request: &Request) -> Result<(), Error> {
    let (node, server) = (request.query().get("node_id"), request.query().get("server_id"));
    if !node.is_empty() && !server.is_empty() {
        return Err(Error::bad("Cannot target node and server simultaneously"));
    }
    let app = request.app();
    if !node.is_empty() && app.client().is_none_or(|c| c.node_id() != node) {
        let known = app.server().is_some_and(|s| s.snapshot().state().node(node).is_some());
        let text = if known { "No path to node".to_string() } else { format!("Unknown node {}", quoted(node)) };
        return Err(Error::internal(format!("RPC Error:: 404,{text}")));
    }
    let own = |s: &encamp_server::Server| {
        let settings = s.settings();
        let full = format!("{}.{}", settings.name, settings.region);
        let leads = s.consensus().leads();
        server == settings.id || server == full || (server == "leader" && leads)
    };
    if !server.is_empty() && !app.server().is_some_and(own) {
        return Err(Error::internal(format!("RPC Error:: 400,unknown Nomad server {server}")));
    }
    Ok(())
}

/// The next line as it is sent, or a heartbeat. Plain streams have none.
async fn next(watch: &mut dyn LogWatch, plain: bool) -> Option<Bytes> {
    loop {
        match tokio::time::timeout(HEARTBEAT, watch.next()).await {
            Ok(line) => {
                let line = format!("{}\n", line?);
                if plain {
                    return Some(line.into());
                }
                let data = STANDARD.encode(line);
                return Some(format!("{{\"Data\":\"{data}\",\"FileEvent\":\"log\"}}").into());
            }
            Err(_) if plain => {}
            Err(_) => return Some(Bytes::from_static(b"{}")),
        }
    }
}

/// Old messages are in the files and journals of their hosts; only what is wrong with a request is told here.
async fn export(request: Request) -> Outcome {
    request.only_get()?;
    request.need(&Need::Agent(Level::Read))?;
    let value = |name: &str| match request.query().get(name) {
        "" => Ok(false),
        text => parse_bool(text).map_err(|e| Error::bad(format!("Unknown value for {name}: {e}"))),
    };
    let unit = request.query().get("service_name");
    let (on_disk, follow) = (value("on_disk")?, value("follow")?);
    value("plain")?;
    match (unit.is_empty(), on_disk) {
        (true, false) => return Err(Error::bad("Either -service-name or -on-disk must be set")),
        (false, true) => return Err(Error::bad("Cannot target journald and nomad log file simultaneously")),
        (true, true) if follow => return Err(Error::bad("Cannot follow log file")),
        (false, false) if !unit.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@:\\".contains(&b)) => {
            return Err(Error::new(422, format!("invalid service name: {unit}")));
        }
        _ => {}
    }
    here(&request)?;
    Err(Error::internal("this agent exports no logs; read them where log_file or the journal keeps them"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::extract::State;

    use super::*;
    use crate::app::{AgentControl, AgentStats, AppState, HttpSettings, Pending};
    use encamp_telemetry::Metrics;

    /// An agent that notes which messages are wanted, and has two.
    #[derive(Default)]
    struct Asked(Mutex<Vec<(String, bool, bool)>>);

    struct Two(Vec<&'static str>);

    impl LogWatch for Two {
        fn next(&mut self) -> Pending<'_, Option<String>> {
            let line = self.0.pop().map(String::from);
            Box::pin(async move { line })
        }
    }

    impl AgentControl for Asked {
        fn config(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
        fn stats(&self) -> AgentStats {
            AgentStats::new()
        }
        fn reload(&self) -> Pending<'_, Result<(), String>> {
            Box::pin(async { Ok(()) })
        }
        fn watch_logs(&self, level: &str, json: bool, location: bool) -> Option<Box<dyn LogWatch>> {
            self.0.lock().expect("a lock").push((level.to_string(), json, location));
            (level != "nope").then(|| Box::new(Two(vec!["b", "a"])) as Box<dyn LogWatch>)
        }
    }

    #[tokio::test]
    async fn parameters_choose_the_messages_and_their_form() {
        let agent = Arc::new(Asked::default());
        let app = AppState::new(HttpSettings::default(), None, None, agent.clone(), Metrics::default());
        let frames = "{\"Data\":\"YQo=\",\"FileEvent\":\"log\"}{\"Data\":\"Ygo=\",\"FileEvent\":\"log\"}";
        let bool_error = |of: &str, text: &str| {
            format!("Unknown option for {of}: strconv.ParseBool: parsing \"{text}\": invalid syntax")
        };
        for (query, status, kind, want) in [
            ("", 200, "application/json", frames.to_string()),
            ("log_level=debug&plain=true&log_json=", 200, "text/plain", "a\nb\n".into()),
            ("log_json=true&log_include_location=1", 200, "application/json", frames.into()),
            ("log_level=nope", 400, "text/plain; charset=utf-8", "Unknown log level: nope".into()),
            ("plain=maybe", 400, "text/plain; charset=utf-8", bool_error("plain", "maybe")),
            ("log_json=2", 400, "text/plain; charset=utf-8", bool_error("log json", "2")),
            (
                "node_id=a&server_id=b",
                400,
                "text/plain; charset=utf-8",
                "Cannot target node and server simultaneously".into(),
            ),
            ("node_id=a", 500, "text/plain; charset=utf-8", "RPC Error:: 404,Unknown node \"a\"".into()),
        ] {
            let request = axum::http::Request::get(format!("/v1/agent/monitor?{query}")).body(Body::empty());
            let got = crate::answer(State(app.clone()), request.expect("a request")).await;
            let header = |name: &str| got.headers().get(name).and_then(|v| v.to_str().ok()).map(String::from);
            assert_eq!((got.status().as_u16(), header("content-type").as_deref()), (status, Some(kind)), "{query}");
            assert_eq!(header("vary").as_deref(), Some("Accept-Encoding"), "{query}");
            let body = axum::body::to_bytes(got.into_body(), usize::MAX).await.expect("a body");
            assert_eq!(String::from_utf8_lossy(&body), want, "{query}");
        }
        let asked = agent.0.lock().expect("a lock");
        let want = [("INFO", false, false), ("debug", false, false), ("INFO", true, true)];
        assert_eq!(asked[..3], want.map(|(level, json, location)| (level.to_string(), json, location)));
    }
}

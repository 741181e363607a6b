//! Streams log messages of the agent (`docs/spec/http-api.md §6.5`).

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use axum::body::{Body, Bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::agent::control::{LogSource, LogWatch};
use crate::error::Error;
use crate::request::Request;
use crate::request::named_server::NamedServer;
use crate::request::params::parse_bool;
use crate::request::response::{Outcome, Response};
use encamp_model::duration::parse_duration;
use encamp_model::{duration, quoted};

/// The longest time without data on the stream.
const HEARTBEAT: Duration = Duration::from_secs(1);

fn flag(request: &Request, name: &str, label: &str) -> Result<bool, Error> {
    match request.query().get(name) {
        "" => Ok(false),
        text => parse_bool(text).map_err(|e| Error::bad(format!("Unknown option for {label}: {e}"))),
    }
}

pub(crate) async fn monitor(request: Request) -> Outcome {
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
pub(crate) fn here(request: &Request) -> Result<(), Error> {
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
    if !server.is_empty() && NamedServer::find(app, server) != NamedServer::This {
        return Err(Error::internal(format!("RPC Error:: 400,{}", NamedServer::unknown(server).message)));
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

/// How old exported messages are at most if nothing else is asked for.
const EXPORTED: Duration = Duration::from_secs(72 * 3600);
/// Only units with one of these in their names are exported: other units are not the agent's.
const UNITS: [&str; 2] = ["nomad", "encamp"];

/// Whether a unit's messages may be exported.
fn is_own_unit(unit: &str) -> bool {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"-_.@:\\".contains(&b);
    let lower = unit.to_ascii_lowercase();
    !unit.starts_with('-') && unit.len() <= 128 && unit.bytes().all(fine) && UNITS.iter().any(|u| lower.contains(u))
}

/// Messages of the past, as the log file or the journal has them.
pub(crate) async fn export(request: Request) -> Outcome {
    let value = |name: &str| match request.query().get(name) {
        "" => Ok(false),
        text => parse_bool(text).map_err(|e| Error::bad(format!("Unknown value for {name}: {e}"))),
    };
    let unit = request.query().get("service_name");
    let (on_disk, follow) = (value("on_disk")?, value("follow")?);
    let plain = value("plain")?;
    match (unit.is_empty(), on_disk) {
        (true, false) => return Err(Error::bad("Either -service-name or -on-disk must be set")),
        (false, true) => return Err(Error::bad("Cannot target journald and nomad log file simultaneously")),
        (true, true) if follow => return Err(Error::bad("Cannot follow log file")),
        (false, false) if !is_own_unit(unit) => {
            let rule = "it must be the name of a unit and contain nomad or encamp";
            return Err(Error::new(422, format!("invalid service name {}: {rule}", quoted(unit))));
        }
        _ => {}
    }
    let unknown = |why: &dyn fmt::Display| Error::bad(format!("Unknown value for logs_since: {why}"));
    let since = match request.query().get("logs_since") {
        "" => EXPORTED,
        text => match parse_duration(text) {
            Ok(nanos) if nanos >= 0 => duration::of_nanos(nanos),
            Ok(_) => return Err(unknown(&"it must not be negative")),
            Err(e) => return Err(unknown(&e)),
        },
    };
    here(&request)?;
    let source = if on_disk { LogSource::File } else { LogSource::Journal { unit: unit.into(), since, follow } };
    let bytes = request.app().agent().export_logs(source).await?;
    if plain {
        return Ok(Response::stream(
            "text/plain",
            Body::from_stream(bytes.map_err(|e| std::io::Error::other(e.message))),
        ));
    }
    let frames = stream::unfold(bytes, |mut bytes| async move {
        let frame = match tokio::time::timeout(HEARTBEAT, bytes.next()).await {
            Ok(Some(Ok(part))) => Bytes::from(format!("{{\"Data\":\"{}\"}}", STANDARD.encode(part))),
            Ok(Some(Err(e))) => return Some((Err(std::io::Error::other(e.message)), bytes)),
            Ok(None) => return None,
            Err(_) => Bytes::from_static(b"{}"),
        };
        Some((Ok(frame), bytes))
    });
    Ok(Response::stream("application/json", Body::from_stream(frames)))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::extract::State;

    use super::*;
    use crate::agent::control::{AgentControl, AgentStats, Profile, ProfileKind};
    use crate::agent::pending::{ByteStream, Pending};
    use crate::agent::state::{AppState, HttpSettings};
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
        fn reload(&self) -> Pending<'_, Result<(), Error>> {
            Box::pin(async { Ok(()) })
        }
        fn watch_logs(&self, level: &str, json: bool, location: bool) -> Option<Box<dyn LogWatch>> {
            self.0.lock().expect("a lock").push((level.to_string(), json, location));
            (level != "nope").then(|| Box::new(Two(vec!["b", "a"])) as Box<dyn LogWatch>)
        }
        fn export_logs(&self, from: LogSource) -> Pending<'_, Result<ByteStream, Error>> {
            let parts = vec![Ok(Bytes::from("old ")), Ok(Bytes::from(format!("{from:?}")))];
            Box::pin(async move { Ok(stream::iter(parts).boxed()) })
        }
        fn profile(&self, _: ProfileKind, _: Duration, _: bool) -> Pending<'_, Result<Profile, Error>> {
            Box::pin(async { Err(Error::internal("not asked for")) })
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
            let got = crate::routes::entry::answer(State(app.clone()), request.expect("a request")).await;
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

    #[tokio::test]
    async fn old_messages_come_from_the_file_or_the_journal() {
        let app = AppState::new(HttpSettings::default(), None, None, Arc::new(Asked::default()), Metrics::default());
        let journal =
            |unit: &str, since, follow| format!("old Journal {{ unit: {unit:?}, since: {since}, follow: {follow} }}");
        let rule = "it must be the name of a unit and contain nomad or encamp";
        for (query, status, want) in [
            ("on_disk=true&plain=true", 200, "old File".to_string()),
            ("on_disk=true", 200, r#"{"Data":"b2xkIA=="}{"Data":"RmlsZQ=="}"#.into()),
            ("service_name=nomad.service&plain=true", 200, journal("nomad.service", "259200s", false)),
            ("service_name=encamp&follow=true&logs_since=1h&plain=1", 200, journal("encamp", "3600s", true)),
            ("", 400, "Either -service-name or -on-disk must be set".into()),
            ("service_name=nomad&on_disk=true", 400, "Cannot target journald and nomad log file simultaneously".into()),
            ("on_disk=true&follow=true", 400, "Cannot follow log file".into()),
            ("service_name=nomad&logs_since=-1h", 400, "Unknown value for logs_since: it must not be negative".into()),
            ("service_name=sshd", 422, format!("invalid service name \"sshd\": {rule}")),
            ("service_name=--nomad", 422, format!("invalid service name \"--nomad\": {rule}")),
            ("service_name=nomad%20x", 422, format!("invalid service name \"nomad x\": {rule}")),
            ("on_disk=true&node_id=a", 500, "RPC Error:: 404,Unknown node \"a\"".into()),
        ] {
            let request = axum::http::Request::get(format!("/v1/agent/monitor/export?{query}")).body(Body::empty());
            let got = crate::routes::entry::answer(State(app.clone()), request.expect("a request")).await;
            let code = got.status().as_u16();
            let body = axum::body::to_bytes(got.into_body(), usize::MAX).await.expect("a body");
            assert_eq!((code, String::from_utf8_lossy(&body).into_owned()), (status, want), "{query}");
        }
    }
}

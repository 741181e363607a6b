//! What open pages read without end: events of the cluster.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response, StatusCode, header};
use futures_util::StreamExt as _;
use serde::Deserialize;

use crate::error::PageError;
use crate::visit::{Visit, with_query};

/// The longest line of the event stream that is kept; the page only learns that something changed.
const MAX_LINE: usize = 64 << 20;

/// What is sent if the token may not read events: scripts cannot see the status of a stream.
const DENIED: &str = "event: denied\ndata: -\n\n";

/// A line of the event stream: the topics and keys of its events.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Events {
    index: u64,
    events: Vec<Event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Event {
    topic: String,
    key: String,
    namespace: String,
}

/// `/ui/live?topic=…`: the events of the topics, as server-sent events with topic, key and namespace of each.
pub(crate) async fn events(visit: Visit, _: Request) -> Result<Response<Body>, PageError> {
    visit.live_only()?;
    let topics =
        visit.parameters().iter().filter(|(name, _)| name == "topic").map(|(_, topic)| ("topic", topic.as_str()));
    let query: Vec<_> = topics.chain([("namespace", visit.namespace())]).collect();
    let request = Request::get(with_query("/v1/event/stream", &query)).body(Body::empty());
    let request = request.map_err(|e| PageError::Input(e.to_string()))?;
    let answer = visit.forward(request).await?;
    if matches!(answer.status(), StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED) {
        return Ok(stream_of(Body::from(DENIED)));
    }
    if !answer.status().is_success() {
        let text = format!("The cluster answered {} to the request for events.", answer.status());
        return Err(PageError::Api { status: answer.status(), text });
    }
    let mut lines = Lines::default();
    let stream = answer.into_body().into_data_stream().map(move |chunk| chunk.map(|bytes| lines.add(&bytes)));
    Ok(stream_of(Body::from_stream(stream)))
}

fn stream_of(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// Turns lines of JSON into server-sent events.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// What to send for some bytes of the event stream. An empty object is the sign that the connection lives.
    fn add(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.begun.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Some(end) = self.begun.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            let events: Events = serde_json::from_slice(&line).unwrap_or_default();
            if events.events.is_empty() {
                out.extend_from_slice(b": heartbeat\n\n");
                continue;
            }
            out.extend_from_slice(format!("id: {}\ndata: {}\n\n", events.index, names(&events)).as_bytes());
        }
        if self.begun.len() > MAX_LINE {
            self.begun.clear();
        }
        out
    }
}

/// Topics, keys and namespaces as JSON.
fn names(events: &Events) -> serde_json::Value {
    let one = |e: &Event| serde_json::json!({ "topic": e.topic, "key": e.key, "namespace": e.namespace });
    events.events.iter().map(one).collect()
}

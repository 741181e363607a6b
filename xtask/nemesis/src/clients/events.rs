//! Event streams: what each connection delivers, one after the other.

use std::time::Duration;

use serde_json::Value as Json;

use super::Client;
use crate::history::{Event, Segment};
use crate::http::Lines;

/// How long nothing may come: servers send an empty line every ten seconds.
const SILENCE: Duration = Duration::from_secs(12);
/// After how many microseconds another connection is made.
const LONGEST: u64 = 60_000_000;

/// Runs a client.
pub(crate) fn run(client: &mut Client) {
    let mut next = 0;
    while client.clock.runs() {
        let server = client.server();
        let opened = Lines::open(server, &format!("/v1/event/stream?topic=Job&topic=Node&index={next}"), SILENCE);
        let Ok(mut lines) = opened else {
            client.pause(200, 500);
            continue;
        };
        let mut segment = Segment { server, events: Vec::new() };
        let end = client.clock.now() + LONGEST;
        while client.clock.runs() && client.clock.now() < end {
            let Some(line) = lines.next() else { break };
            segment.events.extend(events(&line));
        }
        next = segment.events.last().map_or(next, |e| e.index);
        client.records.segments.push(segment);
        client.pause(100, 300);
    }
}

fn events(line: &Json) -> Vec<Event> {
    let index = line["Index"].as_u64().unwrap_or(0);
    let text = |value: &Json| value.as_str().unwrap_or_default().to_string();
    let event = |e: &Json| Event { index, kind: text(&e["Type"]), key: text(&e["Key"]) };
    line["Events"].as_array().map(|events| events.iter().map(event).collect()).unwrap_or_default()
}

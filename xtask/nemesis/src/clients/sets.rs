//! Sets that only grow: an element is added by a check-and-set of the whole list.

use serde_json::{Value as Json, json};

use super::Client;
use crate::history::{Add, End};

/// After how many microseconds another set is used: a variable has a largest size.
const ROUND: u64 = 30_000_000;

/// Runs a client.
pub(crate) fn run(client: &mut Client) {
    let mut next = 0;
    while client.clock.runs() {
        let set = format!("nemesis/set/{}", client.clock.now() / ROUND);
        next += 1;
        add(client, &set, (client.number + 1) * 1_000_000_000 + next);
        client.pause(50, 150);
    }
}

/// The elements of a set, in the order in which they were added.
pub(crate) fn elements(variable: &Json) -> Vec<u64> {
    let list = variable["Items"]["list"].as_str().unwrap_or_default();
    list.split(',').filter_map(|element| element.parse().ok()).collect()
}

fn add(client: &mut Client, set: &str, element: u64) {
    let tried = client.call("read set", "GET", &format!("/v1/var/{set}"), "");
    let Some(reply) = tried.reply.filter(|_| tried.end == End::Done) else { return };
    let variable = if reply.status == 404 { Json::Null } else { reply.json() };
    let mut list = elements(&variable);
    list.push(element);
    let list = list.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let index = variable["ModifyIndex"].as_u64().unwrap_or(0);
    let body = json!({"Items": {"list": list}}).to_string();
    let tried = client.call("add", "PUT", &format!("/v1/var/{set}?cas={index}"), &body);
    client.records.adds.push(Add { set: set.into(), element, end: tried.end });
}

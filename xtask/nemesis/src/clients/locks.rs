//! Locks of variables: acquired, renewed, released, and sometimes forgotten.

use serde_json::json;

use super::Client;
use crate::history::{End, Holding};

/// The time to live of locks.
const TTL_SECONDS: u64 = 10;
const TTL: u64 = TTL_SECONDS * 1_000_000;
/// How many locks there are.
const LOCKS: u64 = 2;

/// Runs a client.
pub(crate) fn run(client: &mut Client) {
    while client.clock.runs() {
        let lock = format!("nemesis/lock/{}", client.dice.below(LOCKS));
        hold(client, &lock);
        client.pause(100, 400);
    }
}

fn hold(client: &mut Client, lock: &str) {
    let body = json!({"Lock": {"TTL": format!("{TTL_SECONDS}s"), "LockDelay": "1s"}, "Items": {"holder": client.name}});
    let tried = client.call("acquire", "PUT", &format!("/v1/var/{lock}?lock-acquire"), &body.to_string());
    let Some(reply) = tried.reply.filter(|_| tried.end == End::Done) else { return };
    let variable = reply.json();
    let (Some(id), Some(index)) = (variable["Lock"]["ID"].as_str(), variable["ModifyIndex"].as_u64()) else { return };
    let held = json!({"Lock": {"ID": id}}).to_string();
    // A holder counts from the start of its request: the server may have executed it at once.
    let mut until = tried.from + TTL;
    let forgets = client.dice.percent(5);
    let end = tried.to + client.dice.between(500, 6_000) * 1_000;
    while client.clock.runs() && client.clock.now() < end.min(until) {
        client.pause(800, 1_200);
        let renewed = client.call("renew", "PUT", &format!("/v1/var/{lock}?lock-renew"), &held);
        match renewed.end {
            End::Done => until = until.max(renewed.from + TTL),
            // Somebody else may hold it.
            End::Refused => until = until.min(renewed.from),
            End::Failed | End::Unknown => {}
        }
    }
    if !forgets {
        until = until.min(client.clock.now());
    }
    let (lock, name) = (lock.to_string(), client.name.clone());
    client.records.holdings.push(Holding { lock: lock.clone(), client: name, index, from: tried.to, until });
    if !forgets {
        client.call("release", "PUT", &format!("/v1/var/{lock}?lock-release"), &held);
    }
}

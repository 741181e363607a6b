//! Variables as registers: reads, writes and check-and-sets of a few keys at a time.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::Client;
use crate::history::{End, OnRegister};
use encamp_linear::{Call, Did};

/// After how many microseconds other keys are used: the check of a key takes long if it has many operations.
const ROUND: u64 = 10_000_000;
/// Keys that are used at a time.
const KEYS: u64 = 2;

/// The value and the index of a register; `None` if it does not exist.
type Seen = Option<(u64, u64)>;

/// Runs a client.
pub(crate) fn run(client: &mut Client) {
    let mut known: BTreeMap<String, Seen> = BTreeMap::new();
    let mut next = 0;
    while client.clock.runs() {
        let round = client.clock.now() / ROUND;
        let key = format!("nemesis/register/{round}-{}", client.dice.below(KEYS));
        next += 1;
        let new = (client.number + 1) * 1_000_000_000 + next;
        match client.dice.below(100) {
            0..40 => read(client, &mut known, &key),
            40..50 => read_stale(client, &key),
            50..75 => write(client, &mut known, &key, new),
            _ => swap(client, &mut known, &key, new),
        }
        known.retain(|k, _| *k == key || k.starts_with(&format!("nemesis/register/{round}-")));
        client.pause(10, 50);
    }
}

/// The value of a variable, and its index.
fn value(variable: &Json) -> Seen {
    let value = variable["Items"]["value"].as_str()?.parse().ok()?;
    Some((value, variable["ModifyIndex"].as_u64()?))
}

fn body(value: u64) -> String {
    json!({"Items": {"value": value.to_string()}}).to_string()
}

fn record(client: &mut Client, key: &str, stale: bool, times: (u64, Option<u64>), did: Did) {
    let micros = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
    let call = Call { from: micros(times.0), to: times.1.map(micros), did };
    client.records.registers.push(OnRegister { key: key.into(), stale, call });
}

fn read(client: &mut Client, known: &mut BTreeMap<String, Seen>, key: &str) {
    let tried = client.call("read", "GET", &format!("/v1/var/{key}"), "");
    let Some(reply) = tried.reply.filter(|_| tried.end == End::Done) else { return };
    let seen = if reply.status == 404 { None } else { value(&reply.json()) };
    record(client, key, false, (tried.from, Some(tried.to)), Did::Read(seen.map(|s| s.0)));
    known.insert(key.into(), seen);
}

fn read_stale(client: &mut Client, key: &str) {
    let tried = client.call("stale read", "GET", &format!("/v1/var/{key}?stale=true"), "");
    let Some(reply) = tried.reply.filter(|_| tried.end == End::Done) else { return };
    let seen = if reply.status == 404 { None } else { value(&reply.json()) };
    record(client, key, true, (tried.from, Some(tried.to)), Did::Read(seen.map(|s| s.0)));
}

fn write(client: &mut Client, known: &mut BTreeMap<String, Seen>, key: &str, new: u64) {
    let tried = client.call("write", "PUT", &format!("/v1/var/{key}"), &body(new));
    match tried.end {
        End::Done => {
            record(client, key, false, (tried.from, Some(tried.to)), Did::Write(Some(new)));
            known.insert(key.into(), tried.reply.and_then(|r| value(&r.json())));
        }
        End::Unknown => record(client, key, false, (tried.from, None), Did::Write(Some(new))),
        End::Refused | End::Failed => {}
    }
}

fn swap(client: &mut Client, known: &mut BTreeMap<String, Seen>, key: &str, new: u64) {
    let Some(old) = known.get(key).copied() else { return read(client, known, key) };
    let index = old.map_or(0, |o| o.1);
    let tried = client.call("check-and-set", "PUT", &format!("/v1/var/{key}?cas={index}"), &body(new));
    let old = old.map(|o| o.0);
    match tried.end {
        End::Done => {
            record(client, key, false, (tried.from, Some(tried.to)), Did::Swap(old, Some(new)));
            known.insert(key.into(), tried.reply.and_then(|r| value(&r.json())));
        }
        End::Refused => {
            // The answer shows the variable that was there.
            let seen = tried.reply.and_then(|r| value(&r.json()));
            let did = seen.map_or(Did::Refused(old), |s| Did::Read(Some(s.0)));
            record(client, key, false, (tried.from, Some(tried.to)), did);
            known.insert(key.into(), seen);
        }
        End::Unknown => {
            record(client, key, false, (tried.from, None), Did::Swap(old, Some(new)));
            known.remove(key);
        }
        End::Failed => {}
    }
}

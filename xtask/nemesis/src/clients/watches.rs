//! Blocking queries: the indexes that one client sees never go back.

use std::time::Duration;

use super::Client;
use crate::history::Indexes;
use crate::http;

/// How long a query waits, and how long its answer is waited for.
const WAIT: &str = "5s";
const PATIENCE: Duration = Duration::from_secs(12);

/// Runs a client: variables and jobs by way of any server, and jobs from the state of one server.
pub(crate) fn run(client: &mut Client) {
    let (of, path, stale) = match client.number {
        0 => ("variables", "/v1/vars?prefix=nemesis", false),
        1 => ("jobs", "/v1/jobs?meta=false", false),
        _ => ("jobs, stale", "/v1/jobs?stale=true", true),
    };
    let mut indexes = Indexes { of: of.into(), seen: Vec::new() };
    let mut server = client.server();
    while client.clock.runs() {
        let index = indexes.seen.last().copied().unwrap_or(0);
        let reply = http::call(server, "GET", &format!("{path}&index={index}&wait={WAIT}"), "", PATIENCE);
        match reply {
            Ok(reply) if reply.status == 200 => indexes.seen.push(reply.index),
            _ => {
                // A server that starts again may have an older state. Only the answers of one start are compared.
                if stale {
                    let done = Indexes { of: of.into(), seen: Vec::new() };
                    client.records.indexes.push(std::mem::replace(&mut indexes, done));
                }
                server = client.server();
                client.pause(100, 300);
            }
        }
        // The busiest lists change with each write.
        client.pause(50, 100);
    }
    client.records.indexes.push(indexes);
}

//! Polls of all allocations: no node has more than its capacity.

use std::time::Duration;

use super::Client;
use crate::check::placements;
use crate::http;

const PATIENCE: Duration = Duration::from_secs(8);

/// Runs a client.
pub(crate) fn run(client: &mut Client) {
    while client.clock.runs() {
        let server = client.server();
        let reply = http::call(server, "GET", "/v1/allocations?resources=true", "", PATIENCE);
        if let Some(reply) = reply.ok().filter(|r| r.status == 200) {
            client.records.polls += 1;
            let index = reply.index;
            let broken = placements::capacity(&placements::allocations(&reply.json()));
            client.records.violations.extend(broken.into_iter().map(|b| format!("at index {index}: {b}")));
        }
        client.pause(1_500, 2_500);
    }
}

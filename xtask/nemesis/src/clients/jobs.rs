//! Jobs: registered, scaled, stopped. Each client has jobs of its own.

use serde_json::{Value as Json, json};

use super::Client;
use crate::history::{End, JobWrite};

/// How many clients write jobs.
pub(crate) const CLIENTS: u64 = 3;
/// How many jobs a client has.
const JOBS: u64 = 4;
/// The largest count.
const MOST: u64 = 5;
/// The CPU of a task in MHz, by the number of its job.
pub(crate) const MHZ: [u64; 2] = [100, 200];

/// All jobs.
pub(crate) fn all() -> Vec<String> {
    (0..CLIENTS).flat_map(|c| (0..JOBS).map(move |j| format!("job-{c}-{j}"))).collect()
}

/// The description of a job with a count.
pub(crate) fn job(id: &str, count: u64) -> Json {
    let number = usize::from(id.as_bytes().last().copied().unwrap_or_default());
    let task = json!({"Name": "task", "Driver": "mock_driver", "Config": {"run_for": "100h"},
        "Resources": {"CPU": MHZ[number % MHZ.len()], "MemoryMB": 32},
        "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}});
    json!({"Job": {"ID": id, "Name": id, "Type": "service", "Datacenters": ["*"],
        "TaskGroups": [{"Name": "group", "Count": count, "EphemeralDisk": {"SizeMB": 10}, "Tasks": [task]}]}})
}

/// Runs a client.
pub(crate) fn run(client: &mut Client) {
    while client.clock.runs() {
        let id = format!("job-{}-{}", client.number, client.dice.below(JOBS));
        let count = client.dice.below(MOST + 1);
        match client.dice.below(10) {
            0..5 => {
                let tried = client.call("register", "PUT", "/v1/jobs", &job(&id, count).to_string());
                if let Some(reply) = tried.reply.filter(|_| tried.end == End::Done) {
                    note(client, &id, &reply.json());
                }
            }
            5..9 => {
                let body = json!({"Count": count, "Target": {"Group": "group"}}).to_string();
                client.call("scale", "PUT", &format!("/v1/job/{id}/scale"), &body);
            }
            _ => {
                client.call("stop", "DELETE", &format!("/v1/job/{id}"), "");
            }
        }
        client.pause(300, 900);
    }
}

/// Notes a registration that changed the job: it wrote the job and its evaluation in one entry.
fn note(client: &mut Client, job: &str, reply: &Json) {
    if let Some(index) =
        reply["JobModifyIndex"].as_u64().filter(|_| reply["JobModifyIndex"] == reply["EvalCreateIndex"])
    {
        client.records.job_writes.push(JobWrite { job: job.into(), index });
    }
}

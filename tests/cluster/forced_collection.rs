//! Garbage collection that is run by another server than the leader, and what a caller that waits for it is told.

use std::time::Duration;

use crate::agent::{Reply, call, wait_for};
use crate::member::{Member, Role, leader};
use serde_json::json;

/// Longest wait for a reply.
const PATIENCE: Duration = Duration::from_secs(120);

fn collect(at: &Member, wait: &str) -> Reply {
    call(at.port(), "PUT", &format!("/v1/system/gc?wait={wait}"), "", PATIENCE).expect("a reply")
}

/// Sets the number of workers of a server.
fn workers(at: &Member, count: u32) {
    let body = json!({"num_schedulers": count, "enabled_schedulers": ["service", "batch", "_core"]});
    let reply = at.agent().send("PUT", "/v1/agent/schedulers/config", &body);
    assert_eq!(reply.status, 200, "{reply:?}");
}

/// Writes a job of which no node can run anything, and stops it: garbage.
fn stopped_job(at: &Member, id: &str) {
    let job = json!({"Job": {"ID": id, "Name": id, "Type": "batch", "Datacenters": ["*"], "TaskGroups": [
        {"Name": "g", "Count": 1, "Tasks": [{"Name": "t", "Driver": "nosuch", "Resources": {"CPU": 20, "MemoryMB": 16}}]}
    ]}});
    let path = format!("/v1/job/{id}");
    wait_for("a job is written", || match at.agent().send("PUT", "/v1/jobs", &job) {
        reply if reply.status == 200 => Ok(()),
        reply => Err(format!("{reply:?}")),
    });
    let reply = at.agent().send("DELETE", &path, &json!({}));
    assert_eq!(reply.status, 200, "{reply:?}");
    wait_for("its evaluations to end", || {
        let evals = at.read(&format!("{path}/evaluations"))?;
        let all = evals.as_array().ok_or("no list")?;
        if all.iter().all(|e| matches!(e["Status"].as_str(), Some("complete" | "canceled"))) {
            return Ok(());
        }
        Err(evals.to_string())
    });
}

fn jobs_collected(reply: &Reply) -> u64 {
    assert_eq!(reply.status, 200, "{reply:?}");
    let report = reply.json();
    let kinds = report["Collected"].as_array().expect("kinds");
    kinds.iter().filter(|k| k["Kind"] == "job").filter_map(|k| k["Count"].as_u64()).sum()
}

#[test]
fn another_server_collects_and_the_caller_is_told_how_it_ended() {
    let mut servers = vec![Member::new("collection-0", Role::Server { expect: 3, join: vec![] })];
    servers[0].start();
    for n in 1..3 {
        let join = vec![servers[0].serf()];
        servers.push(Member::new(&format!("collection-{n}"), Role::Server { expect: 3, join }));
        servers[n].start();
    }
    let first = leader(&servers);
    let (second, third) = ((first + 1) % 3, (first + 2) % 3);

    // The leader has no workers: one of the others runs it, asked through any server.
    workers(&servers[first], 0);
    for (round, at) in [first, second, third].into_iter().enumerate() {
        stopped_job(&servers[at], &format!("garbage-{round}"));
        assert_eq!(jobs_collected(&collect(&servers[at], "60s")), 1);
    }

    // Nobody can run it.
    workers(&servers[second], 0);
    workers(&servers[third], 0);
    let reply = collect(&servers[second], "1s");
    assert_eq!(reply.status, 500, "{reply:?}");
    assert!(reply.body.contains("no worker has taken it"), "{reply:?}");

    // The leader dies while somebody waits for it.
    let at = servers[second].port();
    let waiting = std::thread::spawn(move || call(at, "PUT", "/v1/system/gc?wait=60s", "", PATIENCE));
    wait_for("the run to be enqueued", || {
        let metrics = servers[first].read("/v1/metrics")?;
        let gauges = metrics["Gauges"].as_array().ok_or("no gauges")?;
        let ready = |g: &&serde_json::Value| g["Name"].as_str().is_some_and(|n| n.ends_with("broker._core.ready"));
        match gauges.iter().find(ready) {
            Some(gauge) if gauge["Value"].as_f64() > Some(0.0) => Ok(()),
            found => Err(format!("{found:?}")),
        }
    });
    servers[first].kill();
    let reply = waiting.join().expect("the thread").expect("a reply");
    assert!(reply.status >= 500, "{reply:?}");
    wait_for("a new leader", || match collect(&servers[second], "1s") {
        reply if reply.body.contains("no worker has taken it") => Ok(()),
        reply => Err(format!("{reply:?}")),
    });
    workers(&servers[second], 1);
    stopped_job(&servers[third], "garbage-after");
    assert_eq!(jobs_collected(&collect(&servers[third], "60s")), 1);
}

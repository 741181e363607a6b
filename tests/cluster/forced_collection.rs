//! Garbage collection in a cluster of servers: whoever is asked, and whoever leads.

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
fn the_leader_collects_and_tells_whoever_asks() {
    let mut servers = vec![Member::new("collection-0", Role::Server { expect: 3, join: vec![] })];
    servers[0].start();
    for n in 1..3 {
        let join = vec![servers[0].serf()];
        servers.push(Member::new(&format!("collection-{n}"), Role::Server { expect: 3, join }));
        servers[n].start();
    }
    let first = leader(&servers);
    let (second, third) = ((first + 1) % 3, (first + 2) % 3);

    // Asked through any server, the leader collects.
    for (round, at) in [first, second, third].into_iter().enumerate() {
        stopped_job(&servers[at], &format!("garbage-{round}"));
        assert_eq!(jobs_collected(&collect(&servers[at], "60s")), 1);
    }

    // A leader without workers says so at once, whoever is asked.
    workers(&servers[first], 0);
    for at in [first, second] {
        let reply = collect(&servers[at], "60s");
        assert_eq!(reply.status, 500, "{reply:?}");
        assert!(reply.body.contains("num_schedulers is 0 on the leader"), "{reply:?}");
    }
    stopped_job(&servers[third], "garbage-after");

    // The next leader has some.
    servers[first].kill();
    let mut collected = 0;
    wait_for("a new leader", || match collect(&servers[second], "60s") {
        reply if reply.status == 200 => {
            collected = jobs_collected(&reply);
            Ok(())
        }
        reply => Err(format!("{reply:?}")),
    });
    assert_eq!(collected, 1);
}

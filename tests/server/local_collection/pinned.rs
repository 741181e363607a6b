//! A sticky disk that its replacement takes over while the agent is killed.

use super::*;

/// A service whose disk is sticky; its task runs a script.
fn service(script: &str) -> Json {
    let task = json!({
        "Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
        "Resources": {"CPU": 20, "MemoryMB": 20}, "KillTimeout": 20_000_000_000_i64,
        "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
    });
    let disk = json!({"SizeMB": 10, "Sticky": true});
    let group = json!({"Name": "g", "Count": 1, "EphemeralDisk": disk, "Tasks": [task]});
    json!({"Job": {"ID": "sticky", "Name": "sticky", "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]}})
}

/// Registers the service.
fn register(agent: &Agent, script: &str) {
    let reply = agent.send("PUT", "/v1/jobs", &service(script));
    assert_eq!(reply.status, 200, "{}", reply.body);
}

/// Waits for an allocation of the job besides this one; gives its ID.
fn alloc(agent: &Agent, other_than: &str, running: bool) -> String {
    let mut found = String::new();
    wait_for("an allocation", || {
        let allocs = agent.list("/v1/job/sticky/allocations");
        let new = allocs.iter().find(|a| a["ID"] != other_than && (!running || a["ClientStatus"] == "running"));
        found = new.and_then(|a| a["ID"].as_str()).ok_or_else(|| format!("{allocs:?}"))?.to_string();
        Ok(())
    });
    found
}

#[test]
fn a_replacement_gets_the_disk_although_the_agent_is_killed_while_it_waits() {
    let folder = Folder::new("pinned");
    let limits = " gc_disk_usage_threshold = 100\n gc_inode_usage_threshold = 100\n gc_max_allocs = 1";
    folder.file("agent.hcl", config(&folder, limits));
    let mut agent = start(&folder);
    // Its end takes three seconds, in which the agent is killed.
    let slow = "echo kept > $NOMAD_ALLOC_DIR/data/x; trap 'touch $NOMAD_ALLOC_DIR/stopping; sleep 3; exit 0' INT; \
                while :; do sleep 0.05; done";
    register(&agent, slow);
    let old = alloc(&agent, "", true);
    let file = |name: &str| dir(&folder, &old).join("alloc").join(name);
    let there = |name: &str| {
        let path = file(name);
        wait_for(name, || if path.exists() { Ok(()) } else { Err(format!("no {}", path.display())) });
    };
    there("data/x");
    let next = "cat $NOMAD_ALLOC_DIR/data/x; exec sleep 1000";
    register(&agent, next);
    let new = alloc(&agent, &old, false);
    there("stopping");
    // The node stored the new one, too: its directory is made after that.
    wait_for("the new directory", || if dir(&folder, &new).exists() { Ok(()) } else { Err("none yet".into()) });
    agent.kill();
    let agent = start(&folder);
    assert_eq!(alloc(&agent, &old, true), new);
    let log = dir(&folder, &new).join("alloc/logs/main.stdout.0");
    wait_for("the output", || {
        let text = std::fs::read_to_string(&log).map_err(|e| e.to_string())?;
        if text == "kept\n" { Ok(()) } else { Err(text) }
    });
    // It is over the limit, and nobody waits for it any more.
    wait_for("the old one is collected", || if dir(&folder, &old).exists() { Err("there".into()) } else { Ok(()) });
    assert_eq!(agent.send("DELETE", "/v1/job/sticky", &Json::Null).status, 200);
    stop(agent);
}

//! Which terminal allocations the node removes, and how many.

use super::*;
use encamp_model::{ClientStatus, JobType};

/// Jobs that end one after the other, in order of their ends.
fn ended(agent: &Agent, count: usize) -> Vec<Json> {
    let run = |n: usize| {
        let name = format!("ended-{n}");
        run(agent, &job(&name, JobType::Batch, &[task("main", "true")]), ClientStatus::Complete)
    };
    (0..count).map(run).collect()
}

#[test]
fn after_a_restart_only_as_many_of_the_oldest_as_necessary_are_removed() {
    let folder = Folder::new("node-gc");
    let agent = start(&folder, " gc_max_allocs = 50\n");
    let allocs = ended(&agent, 7);
    stop(agent);
    let text = std::fs::read_to_string(folder.path().join("agent.hcl")).expect("readable");
    folder.file("agent.hcl", text.replace("gc_max_allocs = 50", "gc_max_allocs = 4"));
    let mut agent = start_again(&folder);
    let there = || allocs.iter().map(|a| dir(&folder, a).exists()).collect::<Vec<_>>();
    let wanted = [false, false, false, true, true, true, true];
    wait_for("three are collected", || if there() == wanted { Ok(()) } else { Err(format!("{:?}", there())) });
    // One more ends: one more is removed.
    let later = run(&agent, &job("later", JobType::Batch, &[task("main", "true")]), ClientStatus::Complete);
    let wanted = [false, false, false, false, true, true, true];
    wait_for("one more is collected", || if there() == wanted { Ok(()) } else { Err(format!("{:?}", there())) });
    assert!(dir(&folder, &later).exists());
    let text = "garbage collecting allocation";
    wait_for("the log", || if agent.log().matches(text).count() >= 4 { Ok(()) } else { Err("not yet".into()) });
    stop_and_count(agent, &allocs, text);
}

/// Each of the first four is reported once, the others never.
fn stop_and_count(mut agent: Agent, allocs: &[Json], text: &str) {
    agent.signal(rustix::process::Signal::TERM);
    agent.exit();
    let log = agent.log().to_string();
    for (n, alloc) in allocs.iter().enumerate() {
        let lines = log.lines().filter(|l| l.contains(text) && l.contains(id(alloc))).count();
        assert_eq!(lines, usize::from(n < 4), "allocation {n}:\n{log}");
    }
}

#[test]
fn a_forced_collection_is_reported_once() {
    let folder = Folder::new("node-gc-forced");
    let mut agent = start(&folder, " gc_max_allocs = 50\n");
    let allocs = ended(&agent, 2);
    let path = format!("/v1/client/allocation/{}/gc", id(&allocs[0]));
    wait_for("the allocation can be collected", || {
        let reply = agent.send("PUT", &path, &Json::Null);
        if reply.status == 200 { Ok(()) } else { Err(reply.body) }
    });
    assert!(!dir(&folder, &allocs[0]).exists());
    let again = agent.send("PUT", &path, &Json::Null);
    let none = "No such allocation on client, or allocation not eligible for GC";
    assert_eq!((again.status, again.body.as_str()), (500, none));
    agent.send("PUT", "/v1/client/gc", &Json::Null);
    let gone = || if dir(&folder, &allocs[1]).exists() { Err("still there".to_string()) } else { Ok(()) };
    wait_for("the other one is collected", gone);
    agent.signal(rustix::process::Signal::TERM);
    agent.exit();
    let log = agent.log().to_string();
    for (alloc, reason) in allocs.iter().zip(["forced collection", "forced full node collection"]) {
        for text in ["marking allocation for GC", "garbage collecting allocation"] {
            let lines: Vec<_> = log.lines().filter(|l| l.contains(text) && l.contains(id(alloc))).collect();
            assert_eq!(lines.len(), 1, "{text}: {lines:?}\n{log}");
            assert!(text.starts_with("marking") || lines[0].contains(reason), "{lines:?}");
        }
    }
}

//! The life of tasks of the driver `java`. What happens to them when the agent or the host ends is in `restarts`.

use super::*;

/// An agent whose node runs Java programs given as source.
fn start_java(folder: &Folder) -> Option<Agent> {
    let agent = start(folder, "")?;
    runs_java_sources(folder, &agent).then_some(agent)
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn java_programs_are_isolated() {
    let folder = Folder::new("java");
    let Some(agent) = start_java(&folder) else { return };
    let nodes = agent.get("/v1/nodes?os=true");
    let java = &nodes[0]["Drivers"]["java"];
    assert!(java["Attributes"]["driver.java.version"].as_str().is_some_and(|v| !v.is_empty()), "{java}");
    let node = agent.get(&format!("/v1/node/{}", nodes[0]["ID"].as_str().expect("an ID")));
    for name in ["version", "runtime", "vm"] {
        let value = node["Attributes"][format!("driver.java.{name}")].as_str().unwrap_or_default();
        assert!(!value.is_empty(), "{name}: {}", node["Attributes"]);
    }
    let mut main = java_task(&["tells"]);
    let alloc = run(&agent, &job("java", JobType::Batch, &[main.clone()]), ClientStatus::Complete);
    let text = output(&folder, &alloc, "main");
    assert!(text.contains("user nobody false /alloc /local"), "{text}");
    main["Config"] = json!({"args": ["x"]});
    let alloc = run(&agent, &job("nothing", JobType::Batch, &[main]), ClientStatus::Failed);
    let events = alloc["TaskStates"]["main"]["Events"].to_string();
    assert!(events.contains("jar_path or class must be specified"), "{events}");
}

#[test]
fn java_programs_live_and_end() {
    let folder = Folder::new("java-life");
    let Some(agent) = start_java(&folder) else { return };
    let alloc = run(&agent, &job("waits", JobType::Service, &[java_task(&["waits"])]), ClientStatus::Running);
    until_output(&folder, &alloc, "main", "runs");
    let (out, code) = exec(&folder, &agent, &alloc, "main", &["/bin/sh", "-c", "id -u; exit 7"]);
    assert_eq!((out.as_str(), code), ("65534\n", 7));
    let signal = json!({"Signal": "SIGHUP", "Task": "main"});
    assert_eq!(agent.send("PUT", &format!("/v1/client/allocation/{}/signal", id(&alloc)), &signal).status, 200);
    until_output(&folder, &alloc, "main", "signalled");
    wait_for("the usage", || {
        let stats = agent.get(&format!("/v1/client/allocation/{}/stats", id(&alloc)));
        let usage = &stats["Tasks"]["main"]["ResourceUsage"];
        let rss = usage["MemoryStats"]["RSS"].as_u64().unwrap_or(0);
        let ticks = usage["CpuStats"]["TotalTicks"].as_f64().unwrap_or(0.0);
        // The program alone takes more than that.
        if rss > 10 << 20 && ticks > 0.0 { Ok(()) } else { Err(stats.to_string()) }
    });
    // It ends by its own handler, and nothing is left.
    assert_eq!(agent.send("DELETE", "/v1/job/waits", &Json::Null).status, 200);
    let ended = super::alloc(&agent, "waits", ClientStatus::Complete);
    assert!(output(&folder, &ended, "main").ends_with("ends\n"));
    collect(&folder, &agent, "waits", id(&alloc));
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn limits_of_java_programs_hold() {
    let folder = Folder::new("java-limits");
    let Some(agent) = start_java(&folder) else { return };
    let mut grows = java_task(&["grows"]);
    grows["Config"]["jvm_options"] = json!(["-Xmx1g"]);
    grows["Resources"]["MemoryMB"] = json!(256);
    let alloc = run(&agent, &job("grows", JobType::Batch, &[grows]), ClientStatus::Failed);
    let events = alloc["TaskStates"]["main"]["Events"].as_array().cloned().unwrap_or_default();
    let end = events.iter().find(|e| e["Type"] == "Terminated").expect("an end");
    assert_eq!((&end["Details"]["oom_killed"], &end["ExitCode"]), (&json!("true"), &json!(137)), "{end}");

    // Three busy threads on one core of their own get the time of one.
    let mut busy = java_task(&["busy"]);
    busy["Resources"] = json!({"Cores": 1, "MemoryMB": 512});
    let alloc = run(&agent, &job("busy", JobType::Batch, &[busy]), ClientStatus::Complete);
    let text = output(&folder, &alloc, "main");
    let used = text.split_whitespace().nth(1).and_then(|ms| ms.parse::<u64>().ok()).expect("a time");
    assert!((300..3600).contains(&used), "{text}");
}

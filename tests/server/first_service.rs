//! The guide docs/guide/first-service.md: its commands, in their order, on a real agent.

use std::time::Duration;

use crate::agent::{Agent, wait_for};
use crate::program::{Folder, run_for};
use encamp_test_support::notes;

/// The guide.
const GUIDE: &str = include_str!("../../docs/guide/first-service.md");
/// How long one command may take.
const COMMAND: Duration = Duration::from_secs(120);

/// Waits for the newest deployment of the service to have a status, and so many healthy allocations.
fn deployment(agent: &Agent, version: u64, status: &str, healthy: u64) {
    wait_for(&format!("the deployment of version {version} is {status}"), || {
        let found = agent.get("/v1/job/web-canary/deployment");
        let group = &found["TaskGroups"]["web"];
        let right = (&found["JobVersion"], &found["Status"], &group["HealthyAllocs"])
            == (&version.into(), &status.into(), &healthy.into());
        if right { Ok(()) } else { Err(found.to_string()) }
    });
}

#[test]
fn the_guide_leads_to_a_service_and_back() {
    if notes::lacks("the guide to a first service", "python3") {
        return;
    }
    let folder = Folder::new("first-service");
    let agent = Agent::start(&folder, "client {\n gc_disk_usage_threshold = 100\n}\n", &["-dev"]);
    wait_for("a ready node", || {
        let nodes = agent.get("/v1/nodes");
        if nodes[0]["Status"] == "ready" { Ok(()) } else { Err(nodes.to_string()) }
    });
    let address = agent.address();
    let mut commands = GUIDE.lines().filter_map(|l| l.strip_prefix("$ encamp "));
    // The next command, which begins like that, and ends so.
    let mut step = |begin: &str, exit: i32| {
        let line = commands.next().unwrap_or_else(|| panic!("the guide has no {begin}"));
        assert!(line.starts_with(begin), "the guide goes on with {line:?} instead of {begin}");
        let words: Vec<&str> = line.split(' ').collect();
        let ran = run_for(COMMAND, folder.path(), &words, &[("NOMAD_ADDR", &address)], "");
        assert_eq!(ran.exit, exit, "{line}\n{}{}", ran.stdout, ran.stderr);
        ran.stdout
    };
    step("job init", 0);
    step("job plan", 1);
    step("job run", 0);
    deployment(&agent, 0, "successful", 2);
    assert!(step("service info", 0).contains("127.0.0.1:"));

    let file = folder.path().join("web.nomad.hcl");
    let text = std::fs::read_to_string(&file).expect("the job file");
    let changed = text.replace("memory = 64", "memory = 96");
    assert_ne!(changed, text);
    std::fs::write(&file, changed).expect("the job file");
    assert!(step("job plan -rollout", 1).contains("canary"));
    step("job run -detach", 0);
    deployment(&agent, 1, "running", 1);
    let status = step("job status", 0);
    assert!(status.contains("Promoted") && status.contains("false"), "{status}");
    step("job promote", 0);
    deployment(&agent, 1, "successful", 2);
    assert!(step("job history", 0).contains("Version"));
    step("job revert", 0);
    deployment(&agent, 2, "running", 1);
    step("job promote", 0);
    deployment(&agent, 2, "successful", 2);
    step("job stop", 0);
    wait_for("the service ends", || {
        let services = agent.get("/v1/service/web-canary");
        if services.as_array().is_some_and(Vec::is_empty) { Ok(()) } else { Err(services.to_string()) }
    });
    assert_eq!(commands.next(), None, "the guide has more commands");
}

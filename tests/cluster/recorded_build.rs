//! What the previous build stored is read: `tests/recorded/level-1.tar.gz` holds the data directory of a server and a
//! node of the capability level 1, its backup, its snapshot file, and its objects as its API showed them.

use std::process::Command;

use serde_json::Value as Json;

use crate::agent::{call_as, wait_for};
use crate::member::{Member, Role};
use crate::program::{Folder, repository, run_in, succeeds};

/// Unpacks the recorded files.
fn unpacked(name: &str) -> Folder {
    let folder = Folder::new(name);
    let archive = repository().join("tests/recorded/level-1.tar.gz");
    succeeds(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(folder.path())).expect("unpacked");
    folder
}

fn objects(folder: &Folder) -> Json {
    let text = std::fs::read_to_string(folder.path().join("objects.json")).expect("the recorded objects");
    serde_json::from_str(&text).expect("JSON")
}

/// Members of objects that change when the node runs its tasks again, or is reported to be down.
const CHANGING: [&str; 6] =
    ["JobSummary", "Status", "StatusDescription", "ModifyIndex", "AllocModifyIndex", "ModifyTime"];

/// What must be the same of an object, whatever runs.
fn lasting(object: &Json, table: &str) -> Json {
    let mut lasting = object.clone();
    let runs = ["/v1/jobs", "/v1/nodes", "/v1/job/", "/v1/volumes"].iter().any(|t| table.starts_with(t));
    if let (true, Some(members)) = (runs, lasting.as_object_mut()) {
        CHANGING.iter().for_each(|name| drop(members.remove(*name)));
    }
    lasting
}

/// Whether every recorded object of a table is there.
fn compare(table: &str, recorded: &Json, found: &Json) -> Result<usize, String> {
    let key = recorded["Key"].as_str().unwrap_or_default();
    let wanted = match &recorded["Objects"] {
        Json::Array(objects) => objects,
        one if lasting(one, table) == lasting(found, table) => return Ok(1),
        one => return Err(format!("{table}: {found} instead of {one}")),
    };
    let found = found["Versions"].as_array().or(found.as_array()).cloned().unwrap_or_default();
    // Allocations and evaluations go on as soon as the node is back.
    let whole =
        !["/v1/allocations", "/v1/evaluations", "/v1/deployments", "/v1/nodes"].iter().any(|t| table.starts_with(t));
    for object in wanted {
        let same = found.iter().find(|f| f[key] == object[key]);
        let same = same.ok_or_else(|| format!("{table}: {} is missing in {found:?}", object[key]))?;
        if whole && lasting(same, table) != lasting(object, table) {
            return Err(format!("{table}: {same} instead of {object}"));
        }
    }
    Ok(wanted.len())
}

#[test]
fn a_server_and_a_node_go_on_with_the_files_of_the_previous_build() {
    let folder = unpacked("recorded");
    let recorded = objects(&folder);
    let role = "server {\n  enabled = true\n  bootstrap_expect = 1\n}\nclient {\n  enabled = true\n  \
                cpu_total_compute = 10000\n  memory_total_mb = 4000\n  disk_total_mb = 100000\n}\nplugin \"raw_exec\" \
                {\n  config {\n    enabled = true\n  }\n}\nacl {\n  enabled = true\n}\n";
    let mut agent = Member::new("recorded-agent", Role::Other(role.into()));
    std::fs::rename(folder.path().join("data"), agent.data()).expect("moved");
    let node_id = std::fs::read_to_string(agent.data().join("client/client-id")).expect("the node's ID");
    agent.token = recorded["Token"].as_str().expect("a token").into();
    agent.start();
    let mut count = 0;
    for (path, table) in recorded["Tables"].as_object().expect("tables") {
        wait_for("the recorded objects are there", || {
            count += compare(path, table, &agent.read(path)?)?;
            Ok(())
        });
    }
    assert!(count >= 75, "{count} objects");
    wait_for("the node is back", || {
        let node = agent.read(&format!("/v1/node/{node_id}"))?;
        if node["Status"] == "ready" { Ok(()) } else { Err(node["Status"].to_string()) }
    });
    let raised = agent.read("/v1/agent/self").expect("read");
    assert_eq!(raised["stats"]["nomad"]["cluster_capability_level"], "2");
    agent.kill();
}

#[test]
fn backups_and_snapshot_files_of_the_previous_build_are_read() {
    let folder = unpacked("recorded-files");
    let inspected = run_in(folder.path(), &["operator", "snapshot", "inspect", "state.snap"]);
    assert_eq!(inspected.exit, 0, "{inspected:?}");
    let inspected = run_in(folder.path(), &["snapshot", "inspect", "cluster.json.gz"]);
    assert_eq!(inspected.exit, 0, "{inspected:?}");
    let log = run_in(folder.path(), &["operator", "raft", "info", "data/server/raft"]);
    assert_eq!(log.exit, 0, "{log:?}");

    // A cluster of the new build takes the backup.
    let mut server = Member::new("recorded-restored", Role::Server { expect: 1, join: Vec::new() });
    server.start();
    crate::member::leader(std::slice::from_ref(&server));
    let backup = folder.path().join("state.snap");
    wait_for("the backup is restored", || {
        let address = server.agent().address();
        let ran = run_in(
            folder.path(),
            &["operator", "snapshot", "restore", "-address", &address, &backup.to_string_lossy()],
        );
        if ran.exit == 0 { Ok(()) } else { Err(format!("{ran:?}")) }
    });
    let recorded = objects(&folder);
    let jobs = "/v1/jobs?namespace=*";
    let reply =
        call_as(server.port(), recorded["Token"].as_str().unwrap_or_default(), "GET", jobs, "", crate::agent::PATIENCE);
    let found = reply.expect("an answer").json();
    assert_eq!(compare(jobs, &recorded["Tables"][jobs], &found), Ok(7));
    let level = server.read("/v1/agent/self").expect("read")["stats"]["nomad"]["cluster_capability_level"].clone();
    assert_eq!(level, "2", "a backup does not take the cluster back to an older level");
}

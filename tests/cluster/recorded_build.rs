//! What the previous build stored is read: `tests/recorded/level-1.tar.gz` holds the data directory of a server and a
//! node of the capability level 1, its backup, its snapshot file, and its objects as its API showed them;
//! `level-1-cache.json.zst` is the cache that its command line made of that cluster.

use std::process::Command;

use serde_json::Value as Json;

use crate::agent::{call_as, wait_for};
use crate::member::{Member, Role};
use crate::program::{Folder, repository, run_in, run_with, succeeds};

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

/// The counts of a fetch: objects that came from the cache, and those that were read.
fn fetched(folder: &Folder, cluster: &Member, out: &str, more: &[&str]) -> (u64, u64) {
    let address = cluster.agent().address();
    let cache = folder.path().join("cache").display().to_string();
    let args = [&["snapshot", "fetch", "-address", &address, "-json", "-out", out], more].concat();
    let variables = [("ENCAMP_CACHE_DIR", cache.as_str()), ("ENCAMP_TOKEN", &cluster.token)];
    let ran = run_with(folder.path(), &args, &variables, None);
    assert_eq!(ran.exit, 0, "{ran:?}");
    let report: Json = serde_json::from_str(&ran.stdout).expect("JSON");
    let count = |name: &str| report[name].as_u64().expect("a number");
    (count("Unchanged"), count("Read"))
}

#[test]
fn the_cache_of_the_previous_build_saves_reads() {
    let folder = unpacked("recorded-cache");
    let role = "server {\n  enabled = true\n  bootstrap_expect = 1\n}\nacl {\n  enabled = true\n}\n";
    let mut server = Member::new("recorded-cached", Role::Other(role.into()));
    std::fs::rename(folder.path().join("data"), server.data()).expect("moved");
    server.token = objects(&folder)["Token"].as_str().expect("a token").into();
    server.start();
    wait_for("the state is read", || server.read("/v1/jobs").map(drop));

    let (unchanged, all) = fetched(&folder, &server, "first.json", &[]);
    assert!(unchanged == 0 && all >= 9, "{unchanged} {all}");
    let caches = std::fs::read_dir(folder.path().join("cache/clusters")).expect("caches");
    let cache = caches.flatten().next().expect("a cache").path();
    let recorded =
        std::fs::read(repository().join("tests/recorded/level-1-cache.json.zst")).expect("the recorded cache");
    std::fs::write(&cache, &recorded).expect("written");
    let (unchanged, read) = fetched(&folder, &server, "second.json", &[]);
    assert!(
        unchanged >= 9 && read < all,
        "{unchanged} objects of the recorded cache are used, {read} of {all} are read"
    );
    let (unchanged, _) = fetched(&folder, &server, "third.json", &["-no-cache"]);
    assert_eq!(unchanged, 0);
    let content = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("a snapshot");
        let mut file: Json = serde_json::from_str(&text).expect("JSON");
        file["TakenAt"] = Json::Null;
        file
    };
    assert_eq!(content("second.json"), content("third.json"), "the cache changes nothing about the result");

    // A cache of a later form, and a damaged one, are not used.
    for bytes in [b"{\"Version\": 99, \"Index\": 1}".to_vec(), recorded[..recorded.len() / 2].to_vec()] {
        std::fs::write(&cache, bytes).expect("written");
        assert_eq!(fetched(&folder, &server, "again.json", &[]), (0, all));
    }
    server.kill();
}

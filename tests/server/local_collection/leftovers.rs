//! Directories that cannot be removed: they are tried again, also by the next run of the agent, and shown.

use super::*;
use crate::program::run_with;

/// An ID of no allocation.
const UNKNOWN: &str = "0b1c8d2e-7f5a-4a51-9d55-2f6f1c1f0a01";

/// What `node status` shows.
fn status(agent: &Agent, folder: &Folder) -> String {
    let ran = run_with(folder.path(), &["node", "status", "-self"], &[("NOMAD_ADDR", &agent.address())], None);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    ran.stdout
}

/// Waits until so many directories could not be removed; gives them.
fn left(agent: &Agent, count: u64) -> Vec<Json> {
    let mut found = Json::Null;
    wait_for(&format!("{count} directories that could not be removed"), || {
        found = agent.get("/v1/client/stats")["LocalCollection"].clone();
        if found["NotRemoved"].as_u64().unwrap_or(0) == count { Ok(()) } else { Err(found.to_string()) }
    });
    found["Directories"].as_array().cloned().unwrap_or_default()
}

/// The node events about directories that could not be removed.
fn events(agent: &Agent) -> Vec<Json> {
    let id = agent.list("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
    let events = agent.get(&format!("/v1/node/{id}"))["Events"].as_array().cloned().unwrap_or_default();
    events.into_iter().filter(|e| e["Subsystem"] == "Storage").collect()
}

fn gauge(agent: &Agent) -> f64 {
    let metrics = agent.get("/v1/metrics");
    let gauges = metrics["Gauges"].as_array().expect("gauges");
    let found = gauges.iter().find(|g| g["Name"] == "nomad.client.gc.not_removed");
    found.and_then(|g| g["Value"].as_f64()).unwrap_or(-1.0)
}

fn gone(folder: &Folder, id: &str) {
    let there = || if dir(folder, id).exists() { Err("still there".to_string()) } else { Ok(()) };
    wait_for("the directory is removed", there);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn what_is_mounted_in_a_directory_stays_and_is_shown_until_it_is_unmounted() {
    let folder = Folder::new("leftovers");
    folder.file("agent.hcl", config(&folder, " gc_disk_usage_threshold = 100\n gc_inode_usage_threshold = 100"));
    let mut agent = start(&folder);
    let ids = run(&agent, "ended", 2, 100);
    let (id, place) = (&ids[0], dir(&folder, &ids[0]).join("main/local/volume"));
    let volume = folder.path().join("volume");
    std::fs::create_dir(&volume).expect("a directory");
    std::fs::write(volume.join("data"), "precious").expect("a file");
    let Some(mount) = Mount::bind(&volume, &place) else { return };
    assert!(!status(&agent, &folder).contains("Local Collection"));
    let path = format!("/v1/client/allocation/{id}/gc");
    let mut reply = agent.send("PUT", &path, &Json::Null);
    wait_for("the allocation can be collected", || {
        if reply.body.contains("could not be removed") {
            return Ok(());
        }
        reply = agent.send("PUT", &path, &Json::Null);
        Err(reply.body.clone())
    });
    let shown = place.display().to_string();
    let why =
        format!("allocation {id} could not be removed: {shown}: a file system is mounted there; it is tried again");
    assert_eq!((reply.status, reply.body.as_str()), (500, why.as_str()));
    // All else of it is gone. The other one is removed as ever.
    assert!(!dir(&folder, id).join("alloc").exists() && place.join("data").exists());
    agent.send("PUT", "/v1/client/gc", &Json::Null);
    gone(&folder, &ids[1]);
    let check = |agent: &Agent| {
        let left = left(agent, 1);
        assert_eq!((left[0]["AllocID"].as_str(), left[0]["Path"].as_str()), (Some(id.as_str()), Some(shown.as_str())));
        assert_eq!(left[0]["Error"], "a file system is mounted there");
        let text = status(agent, &folder);
        let section = text.split("\n\n").find(|s| s.starts_with("Local Collection\n")).expect("a section");
        let lines: Vec<&str> = section.lines().collect();
        assert_eq!(lines[1], "1 directory could not be removed; the node tries again");
        assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["Path", "Error", "Tries", "Next", "Try"]);
        assert!(lines[3].starts_with(&format!("{shown}  a file system is mounted there  ")), "{section}");
        wait_for("the gauge", || if gauge(agent) == 1.0 { Ok(()) } else { Err(gauge(agent).to_string()) });
    };
    check(&agent);
    wait_for("a node event", || if events(&agent).is_empty() { Err("none".to_string()) } else { Ok(()) });
    agent.kill();
    // A directory of which nothing is known is nobody's to remove.
    std::fs::create_dir_all(dir(&folder, UNKNOWN).join("alloc/data")).expect("a directory");
    let mut agent = start(&folder);
    agent.until("directory of an unknown allocation");
    check(&agent);
    // A further try is reported neither as an event nor as a warning.
    wait_for("a second try", || {
        let tries = left(&agent, 1)[0]["Tries"].as_u64().unwrap_or(0);
        if tries >= 2 { Ok(()) } else { Err(tries.to_string()) }
    });
    drop(mount);
    gone(&folder, id);
    left(&agent, 0);
    agent.until("the directory of the allocation was removed");
    assert!(!status(&agent, &folder).contains("Local Collection"));
    wait_for("the gauge", || if gauge(&agent) == 0.0 { Ok(()) } else { Err(gauge(&agent).to_string()) });
    assert!(dir(&folder, UNKNOWN).join("alloc/data").exists());
    assert_eq!(std::fs::read(volume.join("data")).ok().as_deref(), Some(&b"precious"[..]));
    assert!(!folder.path().join("data/client/allocs").join(id).exists());
    let events = events(&agent);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["Details"]["path"], shown);
    let warned = agent.log().matches("could not be removed; it is tried again").count();
    assert_eq!(warned, 1, "{}", agent.log());
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_file_system_that_is_read_only_costs_no_other_allocation_its_files() {
    let folder = Folder::new("read-only");
    let Some(memory) = Mount::memory(&folder.path().join("alloc"), "size=16m") else { return };
    let limits = " gc_disk_usage_threshold = 100\n gc_inode_usage_threshold = 100\n gc_max_allocs = ";
    folder.file("agent.hcl", config(&folder, &format!("{limits}50")));
    let agent = start(&folder);
    let ids = run(&agent, "ended", 4, 100);
    stop(agent);
    folder.file("agent.hcl", config(&folder, &format!("{limits}2")));
    memory.remount("ro");
    let agent = start(&folder);
    let left = left(&agent, 2);
    assert!(left.iter().all(|l| l["Error"] == "Read-only file system (os error 30)"), "{left:?}");
    assert!(ids.iter().all(|id| dir(&folder, id).join("alloc/logs/main.stdout.0").exists()));
    memory.remount("rw");
    for dir in &left {
        gone(&folder, dir["AllocID"].as_str().expect("an ID"));
    }
    self::left(&agent, 0);
    assert_eq!(ids.iter().filter(|id| dir(&folder, id).exists()).count(), 2);
    stop(agent);
}

//! A host that loses power, simulated: the agent and all that runs are killed, and what is in memory only is gone.

use std::path::{Path, PathBuf};

use super::networks::{heard, namespace, pair, with_holder};
use super::restarts::log_processes;
use super::*;
use crate::program::{end_processes, unmount_below};

/// Says that it runs, and has a secret.
const SCRIPT: &str = "echo run >> /local/runs; echo secret > /secrets/mine; while :; do sleep 0.1; done";

fn own_dir(folder: &Folder, alloc: &Json) -> PathBuf {
    folder.path().join("data/alloc").join(id(alloc)).join("t")
}

/// How often a task was started.
fn runs(folder: &Folder, alloc: &Json) -> usize {
    std::fs::read_to_string(own_dir(folder, alloc).join("local/runs")).unwrap_or_default().lines().count()
}

/// Whether the secrets of a task are in memory.
fn secrets_are_in_memory(folder: &Folder, alloc: &Json) -> bool {
    let secrets = own_dir(folder, alloc).join("secrets");
    let mounts = procfs::process::Process::myself().and_then(|p| p.mountinfo()).expect("the mounts");
    mounts.into_iter().any(|m| m.mount_point == secrets && m.fs_type == "tmpfs")
}

/// Waits for exactly these containers, all running.
fn containers(podman: &Podman, mut wanted: Vec<String>) {
    wanted.sort();
    wait_for("one running container for each task", || {
        let running = podman.run(&["ps", "--format", "{{.Names}}"]);
        let mut running: Vec<String> = running.lines().map(String::from).collect();
        let mut all = podman.containers();
        running.sort();
        all.sort();
        if running == wanted && all == wanted { Ok(()) } else { Err(format!("{running:?} of {all:?}")) }
    });
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn tasks_start_again_after_the_host_did() {
    let Some(mut podman) = Podman::start("reboot") else { return };
    let folder = Folder::new("containers-reboot");
    let mut agent = start(&folder, &podman, &with_holder(&podman));
    let alone = json!({"network_mode": "none"});
    let restarts = json!({"Attempts": 3, "Mode": "fail", "Interval": 600_000_000_000_i64, "Delay": 100_000_000});
    let with_restarts = |mut job: Json| {
        let group = &mut job["TaskGroups"][0];
        group["RestartPolicy"] = restarts.clone();
        for task in group["Tasks"].as_array_mut().expect("tasks") {
            task["RestartPolicy"] = restarts.clone();
        }
        job
    };
    let plain = with_restarts(job("plain", JobType::Service, task(SCRIPT, &alone)));
    let plain = run(&agent, &plain, ClientStatus::Running);
    let together = run(&agent, &with_restarts(pair("together", &json!({"Mode": "none"}))), ClientStatus::Running);
    let done =
        run(&agent, &job("done", JobType::Batch, task("echo once >> /local/runs", &alone)), ClientStatus::Complete);
    // It may not start again, and is not replaced.
    let fragile = run(&agent, &job("fragile", JobType::Batch, task(SCRIPT, &alone)), ClientStatus::Running);
    wait_for("the tasks", || {
        let (plain, fragile) = (runs(&folder, &plain), runs(&folder, &fragile));
        if (plain, fragile) == (1, 1) { Ok(()) } else { Err(format!("{plain} {fragile}")) }
    });
    heard(&folder, &together);
    assert!(secrets_are_in_memory(&folder, &plain));
    let names = |alloc: &Json, prefixes: &[&str]| -> Vec<String> {
        prefixes.iter().map(|prefix| format!("{prefix}{}", id(alloc))).collect()
    };
    let of_together = names(&together, &["nomad_init_", "t-", "u-"]);
    let all = [names(&plain, &["t-"]), of_together.clone(), names(&fragile, &["t-"])].concat();
    containers(&podman, all);

    agent.kill();
    podman.lose_power();
    // The log processes, the names of networks, and file systems in memory.
    end_processes(folder.path());
    assert!(Path::new(&namespace(&together)).exists());
    netns_is_gone(&together);
    unmount_below(folder.path());
    assert!(!secrets_are_in_memory(&folder, &plain));
    let file = folder.path().join("data/alloc").join(id(&together)).join("alloc/data/u");
    std::fs::write(&file, "").expect("a file");
    podman.serve();
    let agent = start_again(&folder);

    // Each goes on in the same allocation, or ended for good.
    for alloc in [&plain, &fragile] {
        wait_for("a state that lasts", || {
            let found = agent.get(&format!("/v1/allocation/{}", id(alloc)));
            match (found["ClientStatus"].as_str(), runs(&folder, alloc)) {
                (Some("running"), 2) => Ok(()),
                other => Err(format!("{other:?} {}", found["TaskStates"])),
            }
        });
    }
    assert!(secrets_are_in_memory(&folder, &plain));
    let mine = own_dir(&folder, &plain).join("secrets/mine");
    assert_eq!(std::fs::read_to_string(mine).expect("a file"), "secret\n");
    wait_for("what the neighbor says", || match std::fs::read_to_string(&file).unwrap_or_default() {
        text if text == "hello\n" => Ok(()),
        other => Err(format!(
            "{other} {} {}",
            agent.get(&format!("/v1/allocation/{}", id(&together)))["TaskStates"],
            podman.run(&["ps", "--all"])
        )),
    });
    assert!(Path::new(&namespace(&together)).exists());
    containers(&podman, [names(&plain, &["t-"]), of_together, names(&fragile, &["t-"])].concat());
    let again = agent.get(&format!("/v1/allocation/{}", id(&done)));
    assert_eq!((again["ClientStatus"].as_str(), runs(&folder, &done)), (Some("complete"), 1));
    wait_for("one log process for each task", || {
        let found = log_processes(&folder).len();
        if found == 4 { Ok(()) } else { Err(found.to_string()) }
    });

    for job in ["plain", "together", "fragile"] {
        stop(&agent, job);
    }
    podman.is_clean();
    assert_eq!(log_processes(&folder), Vec::<i32>::new());
    for alloc in [&plain, &together, &done, &fragile] {
        wait_for("the collection", || {
            agent.ask("GET", &format!("/v1/client/allocation/{}/gc", id(alloc)));
            let dir = folder.path().join("data/alloc").join(id(alloc));
            let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
            let left = [dir.exists(), Path::new(&namespace(alloc)).exists(), mounts.contains(id(alloc))];
            if left == [false; 3] { Ok(()) } else { Err(format!("{left:?}")) }
        });
    }
}

/// Removes the name of the network of an allocation.
fn netns_is_gone(alloc: &Json) {
    let removed = std::process::Command::new("ip").args(["netns", "del", id(alloc)]).status();
    assert!(removed.expect("ip").success());
}

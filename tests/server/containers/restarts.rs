//! Agents that are killed and daemons that restart at any moment: no container is lost, none is left.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use super::*;

/// The lines of a log process that the next one may repeat: those of about a second on a slow machine.
const MOST_REPEATED: usize = 20;
/// Numbers, one each 50 ms.
const COUNTS: &str = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done";

/// Checks that the output is the numbers from 1 on, and gives the last one. A log process that is killed has not noted
/// its last lines: the next one writes them again, `repeats` times at most.
fn counts(text: &str, repeats: usize) -> usize {
    let numbers: Vec<usize> = text.lines().filter_map(|l| l.parse().ok()).collect();
    let (mut last, mut repeated) = (0, 0);
    for n in numbers {
        if n != last + 1 {
            repeated += 1;
            assert!(n <= last && n + MOST_REPEATED > last, "{n} follows {last}");
        }
        last = n;
    }
    assert!(repeated <= repeats, "{repeated} times lines were repeated");
    last
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn containers_and_their_output_outlive_the_agent() {
    let Some(mut podman) = Podman::start("outlive") else { return };
    let folder = Folder::new("containers-outlive");
    let mut agent = start(&folder, &podman, "");
    let alloc = run(&agent, &job("counts", JobType::Service, task(COUNTS, &json!({}))), ClientStatus::Running);
    says(&agent, &alloc, "\n5\n");
    let before = podman.containers();
    agent.kill();
    let so_far = || {
        let file = folder.path().join("data/alloc").join(id(&alloc)).join("alloc/logs/t.stdout.0");
        std::fs::read_to_string(file).unwrap_or_default().lines().count()
    };
    // The log process goes on without the agent.
    let then = so_far();
    wait_for("more output", || if so_far() > then + 10 { Ok(()) } else { Err(so_far().to_string()) });
    let agent = start_again(&folder);
    self::alloc(&agent, "counts", ClientStatus::Running);
    assert_eq!(podman.containers(), before, "the same container");
    // A log process that is killed is replaced by one that goes on where it was.
    let loggers = log_processes(&folder);
    assert_eq!(loggers.len(), 1);
    for pid in loggers {
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    }
    let then = so_far();
    wait_for("more output", || if so_far() > then + 10 { Ok(()) } else { Err(so_far().to_string()) });
    // The daemon goes and comes back.
    podman.end_service();
    driver(&agent, false);
    podman.serve();
    driver(&agent, true);
    let then = so_far();
    wait_for("more output", || if so_far() > then + 10 { Ok(()) } else { Err(so_far().to_string()) });
    let ended = stop(&agent, "counts");
    assert!(counts(&output(&agent, &ended, "stdout"), 1) > 30);
    podman.is_clean();
    assert_eq!(log_processes(&folder), Vec::<i32>::new());
}

/// The log processes of a folder.
pub fn log_processes(folder: &Folder) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_logger = String::from_utf8_lossy(&line).contains("docker-logger");
        let error = std::fs::read_link(entry.path().join("fd/2")).unwrap_or_default();
        if is_logger && error.starts_with(folder.path()) {
            found.push(pid);
        }
    }
    found
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_container_that_ends_while_no_agent_runs_is_taken_note_of() {
    let Some(podman) = Podman::start("ended") else { return };
    let folder = Folder::new("containers-ended");
    let mut agent = start(&folder, &podman, "");
    let script = "echo begin; while ! [ -e /alloc/data/end ]; do sleep 0.05; done; echo end; exit 5";
    let alloc = run(&agent, &job("ends", JobType::Batch, task(script, &json!({}))), ClientStatus::Running);
    let removed = run(&agent, &job("removed", JobType::Batch, task("sleep 1000", &json!({}))), ClientStatus::Running);
    agent.kill();
    let dir = folder.path().join("data/alloc").join(id(&alloc));
    std::fs::write(dir.join("alloc/data/end"), "").expect("a file");
    podman.run(&["rm", "--force", "--time", "0", &format!("t-{}", id(&removed))]);
    wait_for("the end of the container", || {
        let running = podman.run(&["ps", "--format", "{{.Names}}"]);
        if running.is_empty() { Ok(()) } else { Err(running) }
    });
    let agent = start_again(&folder);
    let ended = self::alloc(&agent, "ends", ClientStatus::Failed);
    let seen = events(&agent, &ended);
    assert!(seen.iter().any(|e| e.starts_with("Terminated: Exit Code: 5")), "{seen:?}");
    assert_eq!(output(&agent, &ended, "stdout"), "begin\nend\n");
    // The one that was removed starts again.
    wait_for("the container that was removed", || {
        let running = podman.run(&["ps", "--format", "{{.Names}}"]);
        if running.contains(id(&removed)) { Ok(()) } else { Err(running) }
    });
    stop(&agent, "removed");
    podman.is_clean();
}

/// The agent is killed at moments of the start and the stop of containers. In the end, each running allocation has one
/// container, and after the stop there is none.
#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn no_container_is_left_wherever_the_agent_is_killed() {
    let Some(podman) = Podman::start("killed") else { return };
    let folder = Folder::new("containers-killed");
    let dangling = "gc {\n dangling_containers {\n period = \"1s\"\n creation_grace = \"10s\"\n }\n }";
    let mut agent = start(&folder, &podman, dangling);
    let trap = "trap 'exit 0' TERM; while :; do sleep 0.05; done";
    for round in 0..6_u64 {
        let name = format!("job{round}");
        register(&agent, &job(&name, JobType::Service, task(trap, &json!({}))));
        thread::sleep(Duration::from_millis(60 * round));
        agent.kill();
        agent = start_again(&folder);
        alloc(&agent, &name, ClientStatus::Running);
    }
    let running: BTreeSet<String> = agent.list("/v1/allocations").iter().map(|a| format!("t-{}", id(a))).collect();
    wait_for("one container for each allocation", || {
        let found = podman.containers();
        if found.iter().cloned().collect::<BTreeSet<_>>() == running && found.len() == 6 {
            Ok(())
        } else {
            Err(format!("{} of {running:?} {}", found.join(" "), agent.get("/v1/allocations")))
        }
    });
    for round in 0..6_u64 {
        let name = format!("job{round}");
        assert_eq!(agent.ask("DELETE", &format!("/v1/job/{name}")).0.split(' ').nth(1), Some("200"));
        if round % 2 == 0 {
            thread::sleep(Duration::from_millis(40 * round));
            agent.kill();
            agent = start_again(&folder);
        }
        // A container that ends while no agent runs ended by itself as far as its task knows.
        wait_for("the end of the allocation", || {
            let status = agent.list(&format!("/v1/job/{name}/allocations"))[0]["ClientStatus"].clone();
            if status == "complete" || (round % 2 == 0 && status == "failed") {
                Ok(())
            } else {
                Err(status.to_string())
            }
        });
    }
    podman.is_clean();
    // A container of an allocation that nobody knows goes, too; those of others stay.
    let node = agent.get("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
    let label = format!("com.hashicorp.nomad.node_id={node}");
    let labels = ["--label", "com.hashicorp.nomad.alloc_id=x", "--label", &label];
    let run = |name: &str, labels: &[&str]| {
        podman.run(
            &[&["run", "--detach", "--network", "none", "--name", name], labels, &[IMAGE, "/bin/sleep", "1000"]]
                .concat(),
        );
    };
    run("left", &labels);
    run("other", &[]);
    wait_for("the removal of the container of no task", || {
        let found = podman.containers();
        if found == ["other"] { Ok(()) } else { Err(found.join(" ")) }
    });
}

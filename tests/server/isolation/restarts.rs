//! An agent that is killed at several points of the life of a task, and starts again.

use std::thread::sleep;
use std::time::Duration;

use super::*;
use crate::program::{end_processes, remove_cgroups, unmount_below};

/// When the agent is killed, in milliseconds after the job was registered.
const MOMENTS: [u64; 6] = [0, 40, 120, 300, 700, 1500];

/// The processes of a task that run its command.
fn running(alloc: &str) -> Vec<i32> {
    let command = |pid: &i32| {
        let line = procfs::process::Process::new(*pid).and_then(|p| p.cmdline()).unwrap_or_default();
        line.first().is_some_and(|arg| arg == "sleep")
    };
    processes(alloc).into_iter().filter(command).collect()
}

/// The process of a task that runs its command, once it is the only one: programs in Java take a while to get there.
fn only_process(alloc: &Json) -> i32 {
    let mut found = 0;
    wait_for("one process", || match running(id(alloc)).as_slice() {
        [pid] => {
            found = *pid;
            Ok(())
        }
        other => Err(format!("{other:?}")),
    });
    found
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_killed_agent_finds_its_tasks_again() {
    let folder = Folder::new("restarts");
    let Some(mut agent) = start(&folder, "") else { return };
    for driver in drivers(&folder, &agent) {
        for moment in MOMENTS {
            let name = format!("kill-{driver}-{moment}");
            register(&agent, &job(&name, JobType::Service, &[scripted(driver, "exec sleep 600")]));
            sleep(Duration::from_millis(moment));
            agent.kill();
            agent = start_again(&folder);
            let found = alloc(&agent, &name, ClientStatus::Running);
            only_process(&found);
            let (out, code) = exec(&folder, &agent, &found, "main", &["/bin/sh", "-c", "echo $NOMAD_TASK_NAME"]);
            assert_eq!((out.as_str(), code), ("main\n", 0), "{name}");
            collect(&folder, &agent, &name, id(&found));
        }
    }
}

#[test]
fn a_running_task_survives_the_agent_and_its_end_is_known() {
    let folder = Folder::new("restarts-running");
    let Some(mut agent) = start(&folder, "") else { return };
    for driver in drivers(&folder, &agent) {
        // It runs on.
        let name = format!("on-{driver}");
        let found =
            run(&agent, &job(&name, JobType::Service, &[scripted(driver, "exec sleep 600")]), ClientStatus::Running);
        let before = only_process(&found);
        agent.kill();
        agent = start_again(&folder);
        let again = alloc(&agent, &name, ClientStatus::Running);
        assert_eq!(running(id(&again)), [before]);
        // It is killed while it stops.
        assert_eq!(agent.send("DELETE", &format!("/v1/job/{name}"), &Json::Null).status, 200);
        agent.kill();
        agent = start_again(&folder);
        collect(&folder, &agent, &name, id(&again));

        // It ends while there is no agent.
        let name = format!("ends-{driver}");
        let script = "while ! test -e local/go; do sleep 0.05; done; exit 3";
        let found = run(&agent, &job(&name, JobType::Batch, &[scripted(driver, script)]), ClientStatus::Running);
        agent.kill();
        std::fs::write(dir(&folder, &found).join("main/local/go"), "").expect("a file");
        wait_for("the end", || {
            let left = processes(id(&found));
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        });
        agent = start_again(&folder);
        let ended = alloc(&agent, &name, ClientStatus::Failed);
        let events = ended["TaskStates"]["main"]["Events"].to_string();
        assert!(events.contains("Exit Code: 3"), "{events}");
        collect(&folder, &agent, &name, id(&ended));

        // Its supervisor is killed: the task does not go on alone.
        let name = format!("alone-{driver}");
        let found =
            run(&agent, &job(&name, JobType::Batch, &[scripted(driver, "exec sleep 600")]), ClientStatus::Running);
        let supervisor = supervisor_of(only_process(&found));
        let _ = rustix::process::kill_process(supervisor, rustix::process::Signal::KILL);
        let ended = alloc(&agent, &name, ClientStatus::Failed);
        assert!(running(id(&ended)).is_empty());
        collect(&folder, &agent, &name, id(&ended));
    }
}

/// A host that loses power: all processes end at the same time, what is in memory only is gone, and no restart of the
/// job's policy is used up.
#[test]
fn tasks_start_again_after_the_host_did() {
    let folder = Folder::new("restarts-reboot");
    let Some(mut agent) = start(&folder, "") else { return };
    let drivers = drivers(&folder, &agent);
    let script = "echo run >> local/runs; echo mine > secrets/mine; exec sleep 600";
    let mut allocs = Vec::new();
    for driver in &drivers {
        let found = run(
            &agent,
            &job(&format!("on-{driver}"), JobType::Service, &[scripted(driver, script)]),
            ClientStatus::Running,
        );
        let once = job(&format!("once-{driver}"), JobType::Batch, &[scripted(driver, "echo run >> local/runs")]);
        allocs.push((found, run(&agent, &once, ClientStatus::Complete)));
    }
    let runs = |alloc: &Json| {
        let text = std::fs::read_to_string(dir(&folder, alloc).join("main/local/runs")).unwrap_or_default();
        text.lines().count()
    };
    let one_process = |alloc: &Json, count: usize| {
        wait_for("one process", || match (runs(alloc), running(id(alloc)).as_slice()) {
            (found, [_]) if found == count => Ok(()),
            other => Err(format!("{other:?} {}", agent_state(&folder, alloc))),
        });
    };
    allocs.iter().for_each(|(on, _)| one_process(on, 1));

    agent.kill();
    end_processes(folder.path());
    remove_cgroups(folder.path());
    unmount_below(folder.path());
    for (on, once) in &allocs {
        let left: Vec<String> = [on, once].into_iter().flat_map(|alloc| left(&folder, id(alloc))).collect();
        assert!(left.iter().all(|what| what == "the directory"), "{left:?}");
    }

    agent = start_again(&folder);
    for (driver, (on, once)) in drivers.iter().zip(&allocs) {
        one_process(on, 2);
        let again = alloc(&agent, &format!("on-{driver}"), ClientStatus::Running);
        assert_eq!((id(&again), again["TaskStates"]["main"]["Restarts"].as_u64()), (id(on), Some(0)));
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
        let secrets = dir(&folder, on).join("main/secrets").display().to_string();
        assert!(mounts.contains(&secrets), "{driver}: the secrets are in memory again");
        let ended = agent.get(&format!("/v1/allocation/{}", id(once)));
        assert_eq!((ended["ClientStatus"].as_str(), runs(once)), (Some("complete"), 1));
        collect(&folder, &agent, &format!("on-{driver}"), id(on));
        collect(&folder, &agent, &format!("once-{driver}"), id(once));
    }
}

/// What the agent stored of an allocation.
fn agent_state(folder: &Folder, alloc: &Json) -> String {
    let path = folder.path().join("data/client/allocs").join(id(alloc)).join("state.json");
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The supervisor above a process of a task.
fn supervisor_of(pid: i32) -> rustix::process::Pid {
    let mut at = pid;
    loop {
        let process = procfs::process::Process::new(at).expect("a process");
        if process.cmdline().unwrap_or_default().iter().any(|arg| arg == "task-supervisor") {
            return rustix::process::Pid::from_raw(at).expect("a process");
        }
        at = process.stat().expect("its state").ppid;
    }
}

//! The life of a task, for each driver of real processes: start, environment, commands, signals, usage, limits, stop,
//! collection.

use std::time::{Duration, Instant};

use super::*;
use encamp_test_support::notes;
use encamp_test_support::pty::{self, Terminal};

/// How long one command may take.
const COMMAND: Duration = Duration::from_secs(60);

const DRIVERS: [&str; 2] = ["raw_exec", "exec"];

/// The script of a task that tells of itself, and of a signal.
const TELLS: &str = "trap 'echo signalled' USR1; trap 'echo ends; exit 0' INT; echo \"dirs $NOMAD_ALLOC_DIR $NOMAD_TASK_DIR \
                     $NOMAD_SECRETS_DIR\"; id -u; echo runs; while true; do sleep 0.05; done";

fn events(agent: &Agent, alloc: &Json) -> Vec<Json> {
    let found = agent.get(&format!("/v1/allocation/{}", id(alloc)));
    found["TaskStates"]["main"]["Events"].as_array().cloned().unwrap_or_default()
}

#[test]
fn tasks_live_and_end() {
    let folder = Folder::new("life");
    let Some(agent) = start(&folder, "") else { return };
    for driver in DRIVERS {
        let name = format!("life-{driver}");
        let alloc = run(&agent, &job(&name, JobType::Service, &[task(driver, TELLS)]), ClientStatus::Running);
        let text = until_output(&folder, &alloc, "main", "runs");
        let isolated = driver == "exec";
        let (dirs, user) = match isolated {
            true => ("dirs /alloc /local /secrets".to_string(), "65534"),
            false => {
                let dir = dir(&folder, &alloc);
                let dir = dir.display();
                (format!("dirs {dir}/alloc {dir}/main/local {dir}/main/secrets"), "0")
            }
        };
        assert!(text.contains(&dirs) && text.lines().any(|l| l == user), "{text}");

        // A command beside it, as the same user.
        let (out, code) = exec(&folder, &agent, &alloc, "main", &["/bin/sh", "-c", "id -u; cat /proc/1/comm; exit 7"]);
        assert_eq!((out.lines().next(), code), (Some(user), 7), "{out}");
        assert_eq!(out.contains("encamp"), isolated, "the init process: {out}");
        // In a terminal, which has a name there.
        let mut line = pty::command(&crate::program::path());
        line.args(["alloc", "exec", "-t", "-task", "main", id(&alloc), "/bin/sh", "-c", "tty; exit 4"]);
        line.env("NOMAD_ADDR", agent.address()).env("TERM", "xterm");
        let mut terminal = Terminal::spawn(line, 24, 80);
        let exit = terminal.wait_for_exit(COMMAND).unwrap_or_else(|screen| panic!("{driver}: it runs: {screen:?}"));
        let shown = terminal.screen();
        assert!(exit.status.code() == Some(4), "{driver}: {shown:?} {:?}", exit.status);
        assert!(String::from_utf8_lossy(&terminal.raw()).contains("/dev/pts/"), "{driver}: {shown:?}");
        let (out, code) = exec(&folder, &agent, &alloc, "main", &["/no/such/program"]);
        assert!(code != 0 && out.contains("No such file"), "{code} {out}");
        let signal = json!({"Signal": "SIGUSR1", "Task": "main"});
        assert_eq!(agent.send("PUT", &format!("/v1/client/allocation/{}/signal", id(&alloc)), &signal).status, 200);
        until_output(&folder, &alloc, "main", "signalled");

        // What it uses.
        let mut stats = Json::Null;
        wait_for("the usage", || {
            stats = agent.get(&format!("/v1/client/allocation/{}/stats", id(&alloc)));
            let rss = stats["Tasks"]["main"]["ResourceUsage"]["MemoryStats"]["RSS"].as_u64().unwrap_or(0);
            let cpu = stats["Tasks"]["main"]["ResourceUsage"]["CpuStats"]["Percent"].as_f64().unwrap_or(0.0);
            if rss > 0 && cpu > 0.0 { Ok(()) } else { Err(stats.to_string()) }
        });
        let usage = &stats["Tasks"]["main"]["ResourceUsage"];
        let measured = usage["MemoryStats"]["Measured"].to_string();
        assert_eq!(measured.contains("Cache"), isolated, "{usage}");
        let measured = usage["CpuStats"]["Measured"].to_string();
        assert_eq!(measured.contains("Throttled Periods"), isolated, "{usage}");
        assert!(stats["Tasks"]["main"]["Pids"].as_object().is_some_and(|p| !p.is_empty()), "{stats}");
        let address = agent.address();
        let args = ["alloc", "status", "-stats", id(&alloc)];
        let shown = run_with(folder.path(), &args, &[("NOMAD_ADDR", &address)], None).stdout;
        assert!(shown.contains("Memory Stats") && shown.contains("CPU Stats"), "{shown}");

        // Its secrets are in memory, and gone with it.
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
        let secrets = dir(&folder, &alloc).join("main/secrets").display().to_string();
        assert!(
            mounts.lines().any(|l| l.contains(&secrets) && l.contains("noexec") && l.contains("tmpfs")),
            "{mounts}"
        );

        // It ends by its own handler, long before it would be killed.
        let begin = Instant::now();
        collect(&folder, &agent, &name, id(&alloc));
        assert!(begin.elapsed().as_secs() < 15, "{:?}", begin.elapsed());
    }
}

#[test]
fn a_task_without_a_handler_ends_by_the_signal() {
    let folder = Folder::new("life-signal");
    let Some(agent) = start(&folder, "") else { return };
    for driver in DRIVERS {
        let alloc =
            run(&agent, &job(driver, JobType::Service, &[task(driver, "exec sleep 600")]), ClientStatus::Running);
        assert_eq!(agent.send("DELETE", &format!("/v1/job/{driver}"), &Json::Null).status, 200);
        super::alloc(&agent, driver, ClientStatus::Complete);
        let events = events(&agent, &alloc);
        let end = events.iter().find(|e| e["Type"] == "Terminated").expect("an end");
        assert_eq!(end["DisplayMessage"], "Exit Code: 130, Signal: 2", "{driver}");
    }
}

#[test]
fn limits_of_memory_and_processors_hold() {
    let folder = Folder::new("life-limits");
    let Some(agent) = start(&folder, "") else { return };
    for driver in DRIVERS {
        // The last program of the pipe buffers everything until a line ends.
        let greedy = job(&format!("greedy-{driver}"), JobType::Batch, &[task(driver, "head -c 300m /dev/zero | tail")]);
        let alloc = run(&agent, &greedy, ClientStatus::Failed);
        let events = events(&agent, &alloc);
        let end = events.iter().find(|e| e["Type"] == "Terminated").expect("an end");
        assert_eq!((&end["Details"]["oom_killed"], &end["ExitCode"]), (&json!("true"), &json!(137)), "{driver}: {end}");

        // Three busy processes on one core of its own get the time of one.
        let script = "for n in 1 2 3; do (while true; do :; done) & pids=\"$pids $!\"; done; sleep 3; \
                      kill $pids; wait; times; echo end";
        let mut busy = task(driver, script);
        busy["Resources"] = json!({"Cores": 1, "MemoryMB": 40});
        let name = format!("busy-{driver}");
        let alloc = run(&agent, &job(&name, JobType::Batch, &[busy]), ClientStatus::Complete);
        let text = until_output(&folder, &alloc, "main", "end");
        // The last line of `times` has the user and system time of the children.
        let times = text.lines().rfind(|l| l.contains('m')).expect("times").to_string();
        let seconds = |t: &str| {
            let (minutes, seconds) = t.trim_end_matches('s').split_once('m').expect("a time");
            minutes.parse::<f64>().expect("minutes") * 60.0 + seconds.parse::<f64>().expect("seconds")
        };
        let used: f64 = times.split_whitespace().map(seconds).sum();
        println!("{driver}: three busy processes used {used} s of 3 s on one core");
        assert!(used > 0.3 && used < 3.6, "{driver}: {used} s in 3 s: {text}");
    }
}

#[test]
fn volumes_of_the_host_are_mounted() {
    let folder = Folder::new("life-volumes");
    if !rustix::process::geteuid().is_root() {
        notes::skipped("isolated tasks", "the user is not root");
        return;
    }
    let store = folder.path().join("store");
    std::fs::create_dir_all(&store).expect("a folder");
    std::fs::create_dir_all(folder.path().join("tools")).expect("a folder");
    std::fs::write(store.join("old"), "of the host").expect("a file");
    let volume = |name: &str, rest: &str| {
        format!("client {{\n host_volume \"{name}\" {{\n  path = \"{}\"\n{rest}\n }}\n}}\n", store.display())
    };
    let config = format!("{}{}{}", config(&folder, ""), volume("data", ""), volume("fixed", "  read_only = true"));
    let agent = Agent::start(&folder, &config, &[]);
    ready(&agent);
    if agent.get("/v1/nodes")[0]["Drivers"]["exec"]["Healthy"] != true {
        notes::skipped("isolated tasks", "the driver exec is not healthy here");
        return;
    }
    let mut main = task(
        "exec",
        "cat /data/old /srv/deep/fixed/old; echo new > /data/new; echo x > /srv/deep/fixed/no || echo refused",
    );
    main["VolumeMounts"] = json!([
        {"Volume": "d", "Destination": "/data"}, {"Volume": "f", "Destination": "srv/deep/fixed"},
    ]);
    let mut with = job("volumes", JobType::Batch, &[main]);
    with["TaskGroups"][0]["Volumes"] = json!({
        "d": {"Name": "d", "Type": "host", "Source": "data"},
        "f": {"Name": "f", "Type": "host", "Source": "fixed", "ReadOnly": true},
    });
    let alloc = run(&agent, &with, ClientStatus::Complete);
    let text = output(&folder, &alloc, "main");
    assert!(text.contains("of the hostof the hostrefused"), "{text}");
    assert_eq!(std::fs::read_to_string(store.join("new")).expect("written"), "new\n");
    assert!(!store.join("no").exists());
    collect(&folder, &agent, "volumes", id(&alloc));
    assert!(store.join("old").exists() && store.join("new").exists());
    with["ID"] = json!("bare");
    with["TaskGroups"][0]["Tasks"][0]["Driver"] = json!("raw_exec");
    let alloc = run(&agent, &with, ClientStatus::Failed);
    let events = alloc["TaskStates"]["main"]["Events"].to_string();
    assert!(events.contains("does not support host volumes"), "{events}");
}

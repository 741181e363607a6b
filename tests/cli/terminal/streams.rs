//! Streams from a running agent: logs, files, commands in tasks, restarts that ask.

use crate::agent::{Agent, wait_for};
use crate::program::Folder;
use crate::terminal::encamp;
use crate::terminal::screen::{CTRL_C, CTRL_D, ENTER, SIZES, Size};

const JOB: &str = r#"
job "talker" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo first line; trap 'exit 0' INT; while :; do sleep 0.1; done"]
      }
      resources {
        cpu    = 20
        memory = 20
      }
    }
  }
}
"#;

struct Running {
    folder: Folder,
    agent: Agent,
    alloc: String,
    node: String,
}

impl Running {
    fn new(name: &str) -> Running {
        let folder = Folder::new(&format!("terminal-{name}"));
        folder.file("job.hcl", JOB);
        let agent = Agent::start(&folder, "plugin \"raw_exec\" {\n  config {\n    enabled = true\n  }\n}\n", &["-dev"]);
        let mut running = Running { folder, agent, alloc: String::new(), node: String::new() };
        wait_for("a node", || match running.agent.list("/v1/nodes").first() {
            Some(node) if node["Status"] == "ready" => {
                running.node = node["ID"].as_str().unwrap_or_default().to_string();
                Ok(())
            }
            node => Err(format!("{node:?}")),
        });
        running.screen(SIZES[0], &["job", "run", "job.hcl"]).ends().with(0).showing("successful");
        wait_for("an allocation", || match running.agent.list("/v1/job/talker/allocations").first() {
            Some(alloc) if alloc["ClientStatus"] == "running" => {
                running.alloc = alloc["ID"].as_str().unwrap_or_default().to_string();
                Ok(())
            }
            alloc => Err(format!("{alloc:?}")),
        });
        running
    }

    /// Whether both allocations run again after `restarts` restarts in all. The status alone does not tell: the client
    /// reports a restart some time after it. Both are from one answer, because they change together.
    fn both_run_after(&self, restarts: u64) -> Result<(), String> {
        let allocs = self.agent.list("/v1/job/talker/allocations");
        let running = allocs.iter().filter(|a| a["ClientStatus"] == "running" && a["DesiredStatus"] == "run").count();
        if running != 2 {
            return Err(format!("{running} running"));
        }
        let seen: u64 = allocs.iter().filter_map(|a| a["TaskStates"]["t"]["Restarts"].as_u64()).sum();
        if seen == restarts { Ok(()) } else { Err(format!("{seen} restarts of {restarts}")) }
    }

    fn screen(&self, size: Size, args: &[&str]) -> crate::terminal::screen::Screen {
        encamp(size, &self.folder, &self.agent.address(), args)
    }
}

#[test]
fn streams_of_a_running_agent() {
    let running = Running::new("streams");
    let alloc = running.alloc.as_str();
    for size in SIZES {
        let plain: [&[&str]; 3] = [
            &["alloc", "logs", alloc],
            &["alloc", "fs", alloc, "alloc/logs/t.stdout.0"],
            &["alloc", "exec", "-t=false", "-i=false", alloc, "echo", "first line"],
        ];
        for args in plain {
            running.screen(size, args).ends().with(0).showing("first line");
        }
        let followed: [&[&str]; 4] = [
            &["alloc", "logs", "-f", alloc],
            &["alloc", "logs", "-f", "-stdout", alloc],
            &["alloc", "fs", "-f", alloc, "alloc/logs/t.stdout.0"],
            &["alloc", "exec", "-t=false", alloc, "/bin/sh", "-c", "echo first line; sleep 1000"],
        ];
        for args in followed {
            let screen = running.screen(size, args);
            screen.wait_for("first line");
            screen.press(CTRL_C);
            screen.ends().with(130);
        }
        let screen = running.screen(size, &["monitor", "-log-level=debug"]);
        // Every request is logged.
        screen.wait_until("a line of the log", |screen, _| {
            running.agent.list("/v1/nodes");
            screen.contents().contains("request")
        });
        screen.press(CTRL_C);
        screen.ends().with(130);
    }
}

#[test]
fn a_session_on_a_terminal_passes_keys_on() {
    let running = Running::new("session");
    for size in SIZES {
        // The size arrives right after the command was started.
        let wait = format!("until stty size | grep '{} {}'; do sleep 0.05; done", size.rows, size.columns);
        let script = format!("trap 'echo interrupted' INT; {wait}; cat; exit 3");
        let screen = running.screen(size, &["alloc", "exec", &running.alloc, "/bin/sh", "-c", &script]);
        screen.wait_for(&format!("{} {}", size.rows, size.columns));
        screen.press(&["typed", ENTER].concat());
        // Once by the terminal, once by the program.
        screen.wait_until("an echo", |screen, _| screen.contents().matches("typed").count() == 2);
        screen.press(CTRL_C);
        screen.wait_for("interrupted");
        screen.ends().with(3);
        // The escape character at the beginning of a line ends the session.
        let script = "echo started; exec cat";
        let screen = running.screen(size, &["alloc", "exec", &running.alloc, "/bin/sh", "-c", script]);
        // Keys that are pressed before the session takes the terminal over are echoed by the terminal as well.
        screen.wait_for("started");
        screen.press(&["typed", ENTER].concat());
        screen.wait_until("an echo", |screen, _| screen.contents().matches("typed").count() == 2);
        screen.press("~.");
        screen.ends().with(0).showing("Connection closed");
    }
}

#[test]
fn restarts_in_batches_ask() {
    let running = Running::new("restarts");
    running.folder.file("job.hcl", JOB.replace("group \"g\" {", "group \"g\" {\n    count = 2"));
    running.screen(SIZES[0], &["job", "run", "job.hcl"]).ends().with(0);
    let restart = ["job", "restart", "-batch-wait=ask", "-batch-size=1", "talker"];
    let mut restarts = 0;
    for size in SIZES {
        for (keys, code, restarted) in [
            (["n", ENTER].concat(), 0, 1),
            (CTRL_C.into(), 130, 1),
            (CTRL_D.into(), 1, 1),
            (["y", ENTER].concat(), 0, 2),
        ] {
            wait_for("both allocations", || running.both_run_after(restarts));
            let screen = running.screen(size, &restart);
            screen.wait_for("[Y/n/<wait duration>]");
            screen.press(&keys);
            let ended = screen.ends().with(code);
            let says = |text: &str| ended.contents.contains(text);
            let refused = keys.starts_with('n');
            assert_eq!(says("Job restarted successfully!"), keys.starts_with('y'), "{}", ended.contents);
            assert_eq!(says("Cancelling job restart"), refused, "{}", ended.contents);
            restarts += restarted;
        }
    }
    // Drains move tasks nowhere on a single node, so that the monitor ends with them.
    let screen = running.screen(SIZES[0], &["node", "drain", "-enable", "-yes", "-deadline=1s", &running.node]);
    screen.ends().with(0).showing("Drain complete");
}

//! A running agent: actions change it after a yes, and its end is an error on the screen.

use crate::agent::{Agent, wait_for};
use crate::program::Folder;
use crate::terminal::encamp;
use crate::terminal::screen::SIZES;

const JOB: &str = r#"
job "talker" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo first line; trap 'exit 0' INT TERM; while :; do sleep 0.1; done"]
      }
      resources {
        cpu    = 20
        memory = 20
      }
    }
  }
}
"#;

fn agent(folder: &Folder) -> Agent {
    folder.file("job.hcl", JOB);
    let agent = Agent::start(folder, "plugin \"raw_exec\" {\n  config {\n    enabled = true\n  }\n}\n", &["-dev"]);
    wait_for("a node", || match agent.list("/v1/nodes").first() {
        Some(node) if node["Status"] == "ready" => Ok(()),
        node => Err(format!("{node:?}")),
    });
    encamp(SIZES[0], folder, &agent.address(), &["job", "run", "job.hcl"]).ends().with(0).showing("successful");
    agent
}

#[test]
fn actions_change_a_running_cluster_and_its_end_is_shown() {
    let folder = Folder::new("top-running");
    let agent = agent(&folder);
    let screen = encamp(SIZES[0], &folder, &agent.address(), &["top"]);
    screen.wait_for("talker");
    screen.press("d");
    screen.wait_for("Latest Deployment");
    screen.press("\x1be");
    screen.wait_for("Explanation of job talker");
    screen.press("\x1bC");
    screen.wait_for("Count of group g of job talker (now 1)");
    screen.press("2\r");
    screen.wait_for("from 1 to 2? [y/N]");
    screen.press("y");
    screen.wait_for("has the count 2.");
    wait_for("two tasks that run", || {
        let allocs = agent.list("/v1/job/talker/allocations");
        let running = allocs.iter().filter(|a| a["TaskStates"]["t"]["State"] == "running").count();
        if running == 2 { Ok(()) } else { Err(format!("{allocs:?}")) }
    });
    screen.press(":alloc\r");
    screen.wait_for("allocations (2)");
    screen.press("l");
    screen.wait_for("first line");
    screen.press("\x1bx");
    screen.wait_for("Command in task t: /bin/sh");
    screen.press("\x15/bin/echo said in the task\r");
    screen.wait_for_raw(b"said in the task\r\n");
    screen.wait_until("list", |screen, _| screen.alternate_screen() && screen.contents().contains("allocations (2)"));
    screen.press("x");
    screen.wait_for("Command in task t: /bin/sh");
    screen.press("\r");
    let prompts = |text: &str| text.trim_end().ends_with(['$', '#']);
    screen.wait_until("shell", |screen, _| !screen.alternate_screen() && prompts(&screen.contents()));
    screen.press("exit 3\r");
    screen.wait_for("exit code 3. Press Enter");
    screen.press("\r");
    screen.wait_until("list", |screen, _| screen.alternate_screen() && screen.contents().contains("allocations (2)"));
    screen.press(":nodes\r");
    screen.wait_for("nodes (1)");
    screen.press("E");
    screen.wait_for("ineligible for new allocations? [y/N]");
    screen.press("y");
    screen.wait_for("is ineligible.");
    screen.press(":events\r");
    screen.wait_for("NodeEligibility");
    screen.press(":plan job.hcl\r");
    screen.wait_for("Plan of job.hcl");
    screen.press("W");
    screen.wait_for("Register job talker as reviewed (modify index");
    screen.press("y");
    screen.wait_for("registered as reviewed.");
    wait_for("the version of the plan", || match agent.get("/v1/job/talker")["Version"].as_u64() {
        Some(version) if version >= 2 => Ok(()),
        version => Err(format!("{version:?}")),
    });
    screen.press(":jobs\r");
    screen.wait_for("jobs (1)");
    screen.press("K");
    screen.wait_for("Stop job talker");
    screen.press("y");
    screen.wait_for("The job talker is stopped.");
    screen.wait_for("(stopped)");
    drop(agent);
    screen.press("r");
    screen.wait_for("Error: ");
    screen.press("q");
    screen.ends().with(0);
}

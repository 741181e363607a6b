//! Commands beside tasks: they run in the network of the task.

use super::*;
use encamp_test_support::pty::{self, Terminal};

/// Writes the network that the task is in.
const SCRIPT: &str = "readlink /proc/self/ns/net > local/network; exec sleep 600";

/// What a command beside a task prints; `terminal`: on a terminal.
fn says(net: &Net, agent: &Agent, alloc: &Json, terminal: bool, command: &str) -> String {
    let address = agent.address();
    if terminal {
        let mut line = pty::command(&crate::program::path());
        line.args(["alloc", "exec", "-t=true", "-task", "main", id(alloc), "/bin/sh", "-c", command]);
        line.current_dir(net.folder.path()).env("NOMAD_ADDR", address).env("TERM", "xterm");
        let mut terminal = Terminal::spawn(line, 24, 80);
        let exit = terminal.wait_for_exit(COMMAND).unwrap_or_else(|screen| panic!("it runs: {screen:?}"));
        assert!(exit.status.success(), "{:?}", terminal.screen());
        return String::from_utf8_lossy(&terminal.raw()).trim().to_string();
    }
    let line = ["alloc", "exec", "-t=false", "-task", "main", id(alloc), "/bin/sh", "-c", command];
    let ran = run_for(COMMAND, net.folder.path(), &line, &[("NOMAD_ADDR", &address)], "");
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    ran.stdout.trim().to_string()
}

#[test]
fn commands_beside_tasks_are_in_the_network_of_the_allocation() {
    let Some(net) = Net::new("net-commands") else { return };
    let mut agent = net.start();
    let own = json!({"Mode": "bridge"});
    let of_host = json!({"Mode": "host"});
    register(&agent, &job("own", &[group("own", own, SCRIPT), group("host", of_host, SCRIPT)]));
    let one = alloc(&agent, "own", "own", ClientStatus::Running);
    let host = alloc(&agent, "own", "host", ClientStatus::Running);
    let network_of = |alloc: &Json| {
        let file = net.folder.path().join("data/alloc").join(id(alloc)).join("main/local/network");
        let mut text = String::new();
        wait_for("the network of the task", || {
            text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?.trim().to_string();
            if text.is_empty() { Err("nothing yet".into()) } else { Ok(()) }
        });
        text
    };
    let of_test = std::fs::read_link("/proc/self/ns/net").expect("a network").display().to_string();
    let of_task = network_of(&one);
    assert_ne!(of_task, of_test);
    assert_eq!(network_of(&host), of_test);
    let command = "readlink /proc/self/ns/net";
    for terminal in [false, true] {
        assert_eq!(says(&net, &agent, &one, terminal, command), of_task, "terminal: {terminal}");
        assert_eq!(says(&net, &agent, &host, terminal, command), of_test, "terminal: {terminal}");
    }
    let address = own_address(&one, "Address");
    assert!(says(&net, &agent, &one, false, "cat /proc/net/fib_trie").contains(&address));
    // An agent that starts again knows it, and its own network is what it was.
    agent.kill();
    let agent = net.start_again();
    alloc(&agent, "own", "own", ClientStatus::Running);
    assert_eq!(says(&net, &agent, &one, false, command), of_task);
    assert_eq!(says(&net, &agent, &host, false, command), of_test);
    let of_agent = std::fs::read_link(format!("/proc/{}/ns/net", agent.pid())).expect("a network");
    assert_eq!(of_agent.display().to_string(), of_test);
    stop(&agent, "own");
    net.nothing_left(&[id(&one), id(&host)]);
}

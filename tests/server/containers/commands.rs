//! Commands beside the task of a container.

use super::*;
use crate::client_node::{Bench, PATIENCE};
use crate::program::run_for;
use encamp_client::config::DockerConfig;
use encamp_client::drivers::{ExecInput, ExecOutput, ExecSession};

#[test]
fn commands_run_in_the_container() {
    let Some(podman) = Podman::start("exec") else { return };
    let folder = Folder::new("containers-exec");
    let agent = start(&folder, &podman, "");
    let mut task = task("sleep 1000", &json!({}));
    task["Env"] = json!({"A": "of the task"});
    let alloc = run(&agent, &job("exec", JobType::Service, task), ClientStatus::Running);
    let address = agent.address();
    let ran = |input: &str, command: &[&str]| {
        let args = [&["alloc", "exec", "-t=false", "-task", "t", id(&alloc)], command].concat();
        let ran = run_for(PATIENCE, folder.path(), &args, &[("NOMAD_ADDR", &address)], input);
        (ran.stdout, ran.stderr, ran.exit)
    };
    let (out, err, code) = ran("", &["/bin/sh", "-c", "echo $A $NOMAD_TASK_DIR; echo err >&2; exit 7"]);
    assert_eq!((out.as_str(), err.trim(), code), ("of the task /local\n", "err", 7));
    let (out, _, code) = ran("to the command\n", &["/bin/cat"]);
    assert_eq!((out.as_str(), code), ("to the command\n", 0));
    let (out, err, code) = ran("", &["/no/such/program"]);
    assert!(code != 0, "{out} {err}");
    stop(&agent, "exec");
    podman.is_clean();
}

/// Reads until the output has a text.
async fn reads(session: &mut ExecSession, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let part = tokio::time::timeout(PATIENCE, session.output.recv()).await;
        match part.unwrap_or_else(|_| panic!("waited in vain for {text:?}: {seen:?}")) {
            Some(ExecOutput::Stdout(bytes)) => seen += &String::from_utf8_lossy(&bytes),
            Some(ExecOutput::Exited { code, .. }) => seen += &format!("<exit {code}>"),
            Some(_) => {}
            None => panic!("ended without {text:?}: {seen:?}"),
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_in_the_container() {
    let Some(podman) = tokio::task::spawn_blocking(|| Podman::start("terminal")).await.expect("a service") else {
        return;
    };
    let endpoint = format!("unix://{}", podman.socket().display());
    let bench = Bench::with("terminal", |c| c.docker = DockerConfig { endpoint, ..DockerConfig::default() }).await;
    let alloc = bench.run(encamp_model::JobType::Service, &format!("[{}]", task("sleep 1000", &json!({}))));
    bench.servers.status(&alloc, ClientStatus::Running).await;
    let node = bench.handle();
    let mut session = node.exec(&alloc, "t", vec!["/bin/sh".into()], true).await.expect("a shell");
    let input = session.input.clone();
    let says = async |text: &str| input.send(ExecInput::Stdin(text.into())).await.expect("sent");
    input.send(ExecInput::Resize { height: 33, width: 77 }).await.expect("sent");
    says("id -u; echo user-$((40+2))\n").await;
    reads(&mut session, "user-42").await;
    // The size may arrive after the first command.
    says("while [ \"$(stty size)\" != '33 77' ]; do sleep 0.1; done; echo size-$((40+3))\n").await;
    reads(&mut session, "size-43").await;
    says("exit 9\n").await;
    reads(&mut session, "<exit 9>").await;
    // A command that nobody listens to any more ends.
    let session = node.exec(&alloc, "t", vec!["/bin/sleep".into(), "4321".into()], true).await.expect("a command");
    let sleeps = || {
        let all = procfs::process::all_processes().into_iter().flatten().flatten();
        all.filter_map(|p| p.cmdline().ok()).filter(|c| c.last().is_some_and(|a| a == "4321")).count()
    };
    crate::client_node::until("the command", || (sleeps() > 0).then_some(())).await;
    drop(session);
    crate::client_node::until("the end of the command", || (sleeps() == 0).then_some(())).await;
    bench.end().await;
    tokio::task::spawn_blocking(move || podman.is_clean()).await.expect("no container is left");
}

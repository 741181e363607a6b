//! The driver `docker` with Docker itself: its daemon runs in a directory of the test, beside any other of the host, and
//! without networks, which need rules of the host's firewall.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use encamp_test_support::notes;
use rustix::process::{Pid, Signal, kill_process};

use super::engine::{has_busybox, is_root};
use super::*;
use crate::program::{run_with, unmount_below};

/// Notes why there are no containers. Where `ENCAMP_REQUIRE_DOCKER` is set, that is a failure.
fn skipped(why: &str) {
    assert!(std::env::var_os("ENCAMP_REQUIRE_DOCKER").is_none(), "containers of Docker: {why}");
    notes::skipped("containers of Docker", why);
}

/// A running daemon.
struct Docker {
    folder: Folder,
    daemon: Child,
}

impl Docker {
    /// Starts a daemon with the image; none where that is not possible, which is said.
    fn start(name: &str) -> Option<Docker> {
        let missing = ["dockerd", "containerd", "runc", "docker"].into_iter().find(|p| !notes::installed(p));
        if let Some(program) = missing {
            skipped(&format!("{program} is not installed"));
            return None;
        }
        if !is_root() {
            skipped("the user is not root");
            return None;
        }
        if !has_busybox() {
            skipped("there is no /bin/busybox");
            return None;
        }
        let folder = Folder::new(&format!("docker-{name}"));
        let mut docker = Docker { daemon: serve(&folder), folder };
        let answers = |docker: &mut Docker| loop {
            let asked = docker.command().arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            if asked.is_ok_and(|s| s.success()) {
                return true;
            }
            if docker.daemon.try_wait().expect("the daemon").is_some() {
                return false;
            }
            std::thread::yield_now();
        };
        if !answers(&mut docker) {
            let log = std::fs::read_to_string(docker.path("daemon.log")).unwrap_or_default();
            skipped(&format!("dockerd ends here: {}", log.lines().last().unwrap_or_default()));
            return None;
        }
        docker.import();
        if let Err(why) = docker.works() {
            skipped(&format!("docker runs none here: {why}"));
            return None;
        }
        Some(docker)
    }

    fn agent(&self, folder: &Folder, more: &str) -> Agent {
        let agent = Agent::start(folder, &config(folder, &self.plugin(more)), &[]);
        driver(&agent, true);
        agent
    }

    /// Ends the daemon. Its containers go on (`live-restore`).
    fn end(&mut self) {
        if !matches!(self.daemon.try_wait(), Ok(None)) {
            return;
        }
        if let Some(pid) = i32::try_from(self.daemon.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.daemon.wait();
    }
}

impl Engine for Docker {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn socket(&self) -> PathBuf {
        self.path("docker.sock")
    }

    fn command(&self) -> Command {
        let mut command = Command::new("docker");
        command
            .arg("--config")
            .arg(self.path("client"))
            .arg("--host")
            .arg(format!("unix://{}", self.socket().display()));
        command
    }
}

fn serve(folder: &Folder) -> Child {
    let path = |name: &str| folder.path().join(name);
    let log = std::fs::File::create(path("daemon.log")).expect("a file");
    let mut command = Command::new("dockerd");
    for (flag, name) in [("--data-root", "data"), ("--exec-root", "exec"), ("--pidfile", "docker.pid")] {
        command.arg(flag).arg(path(name));
    }
    command.arg("--host").arg(format!("unix://{}", path("docker.sock").display()));
    command.args(["--iptables=false", "--ip-forward=false", "--bridge=none", "--storage-driver=vfs", "--live-restore"]);
    command.stdout(Stdio::null()).stderr(log).spawn().expect("the daemon")
}

impl Drop for Docker {
    fn drop(&mut self) {
        let left = self.command().args(["ps", "--all", "--quiet"]).output();
        let left = left.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
        for container in left.split_whitespace() {
            let _ = self.command().args(["rm", "--force", container]).output();
        }
        self.end();
        unmount_below(self.folder.path());
    }
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_container_of_docker_lives_and_goes() {
    let Some(docker) = Docker::start("life") else { return };
    let folder = Folder::new("containers-docker-life");
    let agent = docker.agent(&folder, "");
    assert_eq!(driver(&agent, true)["Attributes"]["driver.docker.os_type"], "linux");
    let script = "trap 'echo usr1' USR1; trap 'echo term; exit 0' TERM; echo begin $NOMAD_TASK_DIR; echo x >/local/x; \
                  ls /secrets >/dev/null && echo secrets; while :; do sleep 0.1; done";
    let more = json!({"network_mode": "none", "pids_limit": 60, "cpu_hard_limit": true, "readonly_rootfs": true});
    let alloc = run(&agent, &job("life", JobType::Service, task(script, &more)), ClientStatus::Running);
    says(&agent, &alloc, "begin /local\nsecrets\n");
    let file = folder.path().join("data/alloc").join(id(&alloc)).join("t/local/x");
    assert_eq!(std::fs::read_to_string(file).expect("a file"), "x\n");
    let name = format!("t-{}", id(&alloc));
    assert_eq!(docker.containers(), [name.as_str()]);
    let format = "{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CpuPeriod}} \
                  {{index .Config.Labels \"com.hashicorp.nomad.alloc_id\"}} {{.HostConfig.CapDrop}}";
    let want = format!("33554432 60 true 100000 {} [NET_RAW]", id(&alloc));
    assert_eq!(docker.run(&["inspect", "--format", format, &name]), want);
    let address = agent.address();
    let args = ["alloc", "exec", "-t=false", "-task", "t", id(&alloc), "/bin/sh", "-c", "id -u; exit 7"];
    let ran = run_with(folder.path(), &args, &[("NOMAD_ADDR", &address)], None);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("0\n", 7), "{}", ran.stderr);
    let signal = json!({"Signal": "SIGUSR1", "Task": "t"});
    assert_eq!(agent.send("PUT", &format!("/v1/client/allocation/{}/signal", id(&alloc)), &signal).status, 200);
    says(&agent, &alloc, "usr1");
    wait_for("statistics", || {
        let stats = agent.get(&format!("/v1/client/allocation/{}/stats", id(&alloc)));
        let used = &stats["Tasks"]["t"]["ResourceUsage"]["MemoryStats"]["Usage"];
        if used.as_u64().is_some_and(|n| n > 0) { Ok(()) } else { Err(stats.to_string()) }
    });
    let ended = stop(&agent, "life");
    assert!(output(&agent, &ended, "stdout").ends_with("term\n"), "the last output is collected");

    // Ends by themselves.
    for (name, script, status, code) in [
        ("succeeds", "exit 0", ClientStatus::Complete, "0"),
        ("fails", "exit 3", ClientStatus::Failed, "3"),
        ("eats", "exec dd if=/dev/zero of=/dev/null bs=200M count=1", ClientStatus::Failed, "137"),
    ] {
        let ended = run(&agent, &job(name, JobType::Batch, task(script, &json!({"network_mode": "none"}))), status);
        let found = agent.get(&format!("/v1/allocation/{}", id(&ended)));
        let events = found["TaskStates"]["t"]["Events"].as_array().cloned().unwrap_or_default();
        let end = events.into_iter().find(|e| e["Type"] == "Terminated").expect("an end");
        assert_eq!(end["Details"]["exit_code"], code, "{name}: {end}");
    }
    docker.is_clean();
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn containers_of_docker_outlive_agents_and_daemons() {
    let Some(mut docker) = Docker::start("outlive") else { return };
    let folder = Folder::new("containers-docker-outlive");
    let mut agent = docker.agent(&folder, "");
    let counts = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done";
    let counts = job("counts", JobType::Service, task(counts, &json!({"network_mode": "none"})));
    let alloc = run(&agent, &counts, ClientStatus::Running);
    says(&agent, &alloc, "\n5\n");
    let before = docker.run(&["ps", "--quiet", "--no-trunc"]);
    agent.kill();
    let agent = start_again(&folder);
    self::alloc(&agent, "counts", ClientStatus::Running);
    assert_eq!(docker.run(&["ps", "--quiet", "--no-trunc"]), before, "the same container");
    docker.end();
    driver(&agent, false);
    docker.daemon = serve(&docker.folder);
    driver(&agent, true);
    self::alloc(&agent, "counts", ClientStatus::Running);
    assert_eq!(docker.run(&["ps", "--quiet", "--no-trunc"]), before, "the same container");
    let lines = output(&agent, &alloc, "stdout").lines().count();
    says(&agent, &alloc, &format!("\n{}\n", lines + 40));
    stop(&agent, "counts");
    docker.is_clean();
}

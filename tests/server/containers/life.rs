//! The life of containers: start, limits, commands, signals, statistics, stop, removal.

use super::*;
use crate::program::{path, run_with};

#[test]
fn a_container_lives_and_goes() {
    let Some(podman) = Podman::start("life") else { return };
    let folder = Folder::new("containers-life");
    let agent = start(&folder, &podman, "extra_labels = [\"job_*\", \"task_name\"]");
    let node = driver(&agent, true);
    assert_eq!(node["Attributes"]["driver.docker"], "1");
    assert_eq!(node["Attributes"]["driver.docker.os_type"], "linux");
    assert_eq!(node["Drivers"]["docker"]["Attributes"]["driver.docker"], "true");
    let script = "trap 'echo usr1' USR1; trap 'echo term; exit 0' TERM; echo begin $NOMAD_TASK_DIR $A; echo err >&2; \
                  echo x >/local/x; echo y >/alloc/data/y; ls /secrets >/dev/null && echo secrets; \
                  while :; do sleep 0.1; done";
    let mut task = task(script, &json!({"labels": [{"mine": "1"}], "work_dir": "/tmp", "hostname": "h1"}));
    task["Env"] = json!({"A": "${NOMAD_ALLOC_DIR}"});
    let alloc = run(&agent, &job("life", JobType::Service, task), ClientStatus::Running);
    says(&agent, &alloc, "secrets");
    assert_eq!(output(&agent, &alloc, "stdout"), "begin /local /alloc\nsecrets\n");
    wait_for("the other output", || match output(&agent, &alloc, "stderr") {
        text if text == "err\n" => Ok(()),
        other => Err(other),
    });
    let dir = folder.path().join("data/alloc").join(id(&alloc));
    assert_eq!(std::fs::read_to_string(dir.join("t/local/x")).expect("a file"), "x\n");
    assert_eq!(std::fs::read_to_string(dir.join("alloc/data/y")).expect("a file"), "y\n");
    let name = format!("t-{}", id(&alloc));
    assert_eq!(podman.containers(), [name.as_str()]);
    let label =
        |key: &str| podman.run(&["inspect", "--format", &format!("{{{{index .Config.Labels \"{key}\"}}}}"), &name]);
    assert_eq!(label("com.hashicorp.nomad.alloc_id"), id(&alloc));
    assert_eq!((label("com.hashicorp.nomad.job_id"), label("mine")), ("life".to_string(), "1".to_string()));
    let caps = podman.run(&["inspect", "--format", "{{.EffectiveCaps}}", &name]);
    assert!(!caps.contains("NET_RAW") && caps.contains("CHOWN"), "{caps}");
    let signal = json!({"Signal": "SIGUSR1", "Task": "t"});
    assert_eq!(agent.send("PUT", &format!("/v1/client/allocation/{}/signal", id(&alloc)), &signal).status, 200);
    says(&agent, &alloc, "usr1");
    wait_for("statistics", || {
        let stats = agent.get(&format!("/v1/client/allocation/{}/stats", id(&alloc)));
        let memory = &stats["Tasks"]["t"]["ResourceUsage"]["MemoryStats"];
        let cpu = &stats["Tasks"]["t"]["ResourceUsage"]["CpuStats"];
        let known = memory["Usage"].as_u64().is_some_and(|n| n > 0) && cpu["Percent"].as_f64().is_some_and(|p| p > 0.0);
        if known { Ok(()) } else { Err(stats.to_string()) }
    });
    let ended = stop(&agent, "life");
    let events = events(&agent, &ended);
    assert!(events.iter().any(|e| e == "Killed: Task successfully killed"), "{events:?}");
    assert!(output(&agent, &ended, "stdout").ends_with("term\n"), "the last output is collected");
    podman.is_clean();
    assert_eq!(agent.ask("GET", &format!("/v1/client/allocation/{}/gc", id(&ended))).0.split(' ').nth(1), Some("200"));
    assert!(!dir.exists());
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn ends_of_containers() {
    let Some(podman) = Podman::start("ends") else { return };
    let folder = Folder::new("containers-ends");
    let agent = start(&folder, &podman, "");
    let fails = run(&agent, &job("fails", JobType::Batch, task("echo bye; exit 3", &json!({}))), ClientStatus::Failed);
    let text = "Terminated: Exit Code: 3, Exit Message: \\Docker container exited with non-zero exit code: 3\\";
    let seen = events(&agent, &fails);
    assert!(seen.iter().any(|e| e == text), "{seen:?}");
    assert_eq!(output(&agent, &fails, "stdout"), "bye\n");
    run(&agent, &job("done", JobType::Batch, task("exit 0", &json!({}))), ClientStatus::Complete);
    // A container that somebody removes.
    let gone = run(&agent, &job("gone", JobType::Service, task("sleep 1000", &json!({}))), ClientStatus::Running);
    podman.run(&["rm", "--force", "--time", "0", &format!("t-{}", id(&gone))]);
    let gone = alloc(&agent, "gone", ClientStatus::Failed);
    let seen = events(&agent, &gone);
    assert!(seen.iter().any(|e| e.starts_with("Terminated: Exit Code: 137")), "{seen:?}");
    // A program that is not there, an image that is not there.
    let missing = job("missing", JobType::Batch, task("", &json!({"command": "/no/such/program"})));
    let missing = run(&agent, &missing, ClientStatus::Failed);
    let seen = events(&agent, &missing);
    assert!(seen.iter().any(|e| e.starts_with("Driver Failure: failed to start the container: ")), "{seen:?}");
    let image = job("image", JobType::Batch, task("", &json!({"image": "127.0.0.1:1/no/such:1"})));
    let image = run(&agent, &image, ClientStatus::Failed);
    let seen = events(&agent, &image);
    assert!(seen.iter().any(|e| e == "Driver: Downloading image"), "{seen:?}");
    let text = "Driver Failure: failed to pull image \\127.0.0.1:1/no/such:1\\: ";
    assert!(seen.iter().any(|e| e.starts_with(text) && e.contains("check the name and the tag")), "{seen:?}");
    podman.is_clean();
}

/// The job that others know as the first example: what `job init` of Nomad writes.
#[test]
fn an_agent_in_development_mode_runs_the_usual_example() {
    let Some(podman) = Podman::start("example") else { return };
    let folder = Folder::new("containers-example");
    podman.run(&["tag", IMAGE, "docker.io/library/redis:7"]);
    let endpoint = format!("DOCKER_HOST=unix://{}", podman.socket().display());
    folder.file("agent.hcl", "ports {\n  http = 0\n  rpc  = 0\n  serf = 0\n}\n");
    let mut program = std::process::Command::new("env");
    program.arg(endpoint).arg(path()).args(["agent", "-config", "agent.hcl", "-dev"]);
    let mut agent = Agent::launch(&folder, &mut program);
    agent.serves();
    driver(&agent, true);
    // The image of the test has no program of its own.
    let text = r#"
job "example" {
  group "cache" {
    network {
      port "db" {
        to = 6379
      }
    }
    task "t" {
      driver = "docker"
      config {
        image          = "redis:7"
        command        = "/bin/nc"
        args           = ["-l", "-p", "6379", "-e", "/bin/echo", "PONG"]
        ports          = ["db"]
        auth_soft_fail = true
      }
      identity {
        env  = true
        file = true
      }
      resources {
        cpu    = 500
        memory = 256
      }
    }
  }
}
"#;
    folder.file("example.nomad.hcl", text);
    let ran = run_with(
        folder.path(),
        &["job", "run", "-detach", "example.nomad.hcl"],
        &[("NOMAD_ADDR", &agent.address())],
        None,
    );
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    let alloc = alloc(&agent, "example", ClientStatus::Running);
    let found = agent.get(&format!("/v1/allocation/{}", id(&alloc)));
    let port = &found["AllocatedResources"]["Shared"]["Ports"][0];
    let address = format!("{}:{}", port["HostIP"].as_str().expect("an address"), port["Value"]);
    reads(&address, "PONG\n");
    // An agent in development mode leaves nothing.
    agent.signal(rustix::process::Signal::TERM);
    agent.exit();
    podman.is_clean();
}

/// Waits until an address gives this text.
pub fn reads(address: &str, wanted: &str) {
    wait_for("an answer of the container", || {
        use std::io::Read;
        let mut stream = std::net::TcpStream::connect(address).map_err(|e| e.to_string())?;
        let _ = stream.set_read_timeout(Some(std::time::Duration::from_secs(5)));
        let mut text = String::new();
        stream.read_to_string(&mut text).map_err(|e| e.to_string())?;
        if text == wanted { Ok(()) } else { Err(text) }
    });
}

/// The container is kept, to compare with what the daemon knows: not every host tells it that memory was short.
#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_container_that_needs_more_memory_ends() {
    let Some(podman) = Podman::start("memory") else { return };
    let folder = Folder::new("containers-memory");
    let agent = start(&folder, &podman, "gc {\n container = false\n }");
    let eats = task("exec dd if=/dev/zero of=/dev/null bs=200M count=1", &json!({}));
    let eats = run(&agent, &job("eats", JobType::Batch, eats), ClientStatus::Failed);
    let found = agent.get(&format!("/v1/allocation/{}", id(&eats)));
    let events = found["TaskStates"]["t"]["Events"].as_array().cloned().unwrap_or_default();
    let end = events.into_iter().find(|e| e["Type"] == "Terminated").expect("an end");
    let known = podman.run(&["inspect", "--format", "{{.State.OOMKilled}}", &format!("t-{}", id(&eats))]);
    assert_eq!((&end["Details"]["exit_code"], &end["Details"]["oom_killed"]), (&json!("137"), &json!(known)), "{end}");
}

#[test]
fn limits_mounts_and_ports() {
    let Some(podman) = Podman::start("limits") else { return };
    let folder = Folder::new("containers-limits");
    let agent = start(&folder, &podman, "pids_limit = 200");
    let more = json!({
        "cpu_hard_limit": true, "pids_limit": 60, "ulimit": [{"nofile": "100:200", "nproc": "100"}], "readonly_rootfs": true,
        "volumes": ["local/made:/made:ro", "../alloc/data:/data"], "sysctl": [{"net.ipv4.ip_default_ttl": "99"}],
        "mount": [{"type": "tmpfs", "target": "/scratch", "tmpfs_options": [{"size": 1_000_000}]}],
        "extra_hosts": ["other:10.1.2.3"], "cap_drop": ["all"], "cap_add": ["chown", "net_bind_service"], "ports": ["web"],
        "dns_servers": ["10.9.8.7"], "shm_size": 1_048_576, "interactive": true,
    });
    let script = "touch /data/1 /scratch/2 && ! touch /made/3 2>/dev/null && ! touch /4 2>/dev/null && echo mounts; \
                  ulimit -n; cat /proc/sys/net/ipv4/ip_default_ttl; cat /etc/hosts /etc/resolv.conf; \
                  while :; do echo hello | nc -l -p 80; done";
    let mut job = job("limits", JobType::Service, task(script, &more));
    job["TaskGroups"][0]["Networks"] = json!([{"DynamicPorts": [{"Label": "web", "To": 80}]}]);
    job["TaskGroups"][0]["Tasks"][0]["Resources"]["MemoryMaxMB"] = json!(0);
    let alloc = run(&agent, &job, ClientStatus::Running);
    says(&agent, &alloc, "nameserver 10.9.8.7");
    let said = output(&agent, &alloc, "stdout");
    assert!(
        said.starts_with("mounts\n100\n99\n") && said.contains("10.1.2.3\tother"),
        "{said}{}",
        output(&agent, &alloc, "stderr")
    );
    let name = format!("t-{}", id(&alloc));
    let format =
        "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.PidsLimit}} {{.HostConfig.CpuPeriod}}";
    assert_eq!(podman.run(&["inspect", "--format", format, &name]), "33554432 33554432 60 100000");
    let quota: i64 = podman.run(&["inspect", "--format", "{{.HostConfig.CpuQuota}}", &name]).parse().expect("a number");
    assert!((1_000..50_000).contains(&quota), "{quota}");
    // The port of the host leads to the container.
    let found = agent.get(&format!("/v1/allocation/{}", id(&alloc)));
    let port = &found["AllocatedResources"]["Shared"]["Ports"][0];
    let address = format!("{}:{}", port["HostIP"].as_str().expect("an address"), port["Value"]);
    reads(&address, "hello\n");
    stop(&agent, "limits");
    podman.is_clean();
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn an_image_comes_out_of_an_archive_and_goes_after_its_last_use() {
    let Some(podman) = Podman::start("load") else { return };
    let folder = Folder::new("containers-load");
    let agent = start(&folder, &podman, "gc {\n image_delay = \"100ms\"\n }");
    let archive = folder.path().join("saved.tar");
    let root = podman.archive();
    podman.run(&["import", "--change", "ENV LOADED=1", root.to_str().expect("text"), "localhost/loaded:2"]);
    podman.run(&["save", "--output", archive.to_str().expect("text"), "localhost/loaded:2"]);
    podman.run(&["rmi", "localhost/loaded:2"]);
    // The task has no archive.
    let more = json!({"image": "localhost/loaded:2", "load": "local/saved.tar"});
    let failed = run(&agent, &job("loads", JobType::Batch, task("echo loaded", &more)), ClientStatus::Failed);
    let seen = events(&agent, &failed);
    assert!(seen.iter().any(|e| e.contains("failed to load an image from \\local/saved.tar\\")), "{seen:?}");
    // A neighbor keeps itself busy until the archive is there.
    let waits = json!({
        "Name": "first", "Driver": "docker", "Lifecycle": {"Hook": "prestart", "Sidecar": false},
        "Config": {"image": IMAGE, "command": "/bin/sh",
            "args": ["-c", "while ! [ -e /alloc/data/ready ]; do sleep 0.1; done"]},
        "Resources": {"CPU": 50, "MemoryMB": 32},
    });
    let mut loads = job("loads2", JobType::Batch, task("echo loaded", &more));
    loads["TaskGroups"][0]["Tasks"].as_array_mut().expect("tasks").push(waits);
    register(&agent, &loads);
    let waiting = alloc(&agent, "loads2", ClientStatus::Running);
    let dir = folder.path().join("data/alloc").join(id(&waiting));
    std::fs::create_dir_all(dir.join("t/local")).expect("a directory");
    std::fs::copy(&archive, dir.join("t/local/saved.tar")).expect("a copy");
    std::fs::write(dir.join("alloc/data/ready"), "").expect("a file");
    let done = alloc(&agent, "loads2", ClientStatus::Complete);
    assert_eq!(output(&agent, &done, "stdout"), "loaded\n");
    podman.is_clean();
    wait_for("the removal of the images", || {
        let left = podman.run(&["images", "--format", "{{.Names}}"]);
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}

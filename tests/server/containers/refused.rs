//! What tasks must not do: reach the host, or other tasks, through the driver.

use super::*;

/// Keys of `config` blocks, and what the refusal says.
fn attempts() -> Vec<(&'static str, Json, &'static str)> {
    vec![
        ("privileged", json!({"privileged": true}), "allow_privileged"),
        ("all-caps", json!({"cap_add": ["sys_admin", "CAP_NET_RAW"]}), "not allowed on this node: net_raw, sys_admin"),
        ("host-path", json!({"volumes": ["/etc:/x"]}), "cannot mount host path: \\\"/etc"),
        ("host-root", json!({"volumes": ["../../../..:/x"]}), "cannot mount host path"),
        ("host-link", json!({"volumes": ["local/../../../../../etc:/x"]}), "cannot mount host path"),
        ("others", json!({"volumes": ["../u/secrets:/x"]}), "cannot mount host path"),
        ("private", json!({"volumes": ["private:/x"]}), "cannot mount host path"),
        ("bind", json!({"mount": [{"type": "bind", "source": "/", "target": "/x"}]}), "cannot mount host path"),
        (
            "volume-bind",
            json!({"mount": [{"type": "volume", "source": "v", "target": "/x", "volume_options":
                [{"driver_config": [{"name": "local", "options": [{"type": "none", "o": "bind", "device": "/"}]}]}]}]}),
            "cannot use volume driver",
        ),
        (
            "volume-path",
            json!({"mount": [{"type": "volume", "source": "/etc", "target": "/x"}]}),
            "cannot mount host path",
        ),
        ("driver", json!({"volumes": ["name:/x"], "volume_driver": "other"}), "cannot use volume driver"),
        ("propagation", json!({"volumes": ["local:/x:dev"]}), "is no option"),
        ("disk", json!({"devices": [{"host_path": "/dev/vda"}]}), "allow_devices"),
        ("memory", json!({"devices": [{"host_path": "/dev/fuse/../mem"}]}), "allow_devices"),
        ("pid", json!({"pid_mode": "host"}), "allowed_modes"),
        ("pid-of", json!({"pid_mode": "container:other"}), "allowed_modes"),
        ("ipc", json!({"ipc_mode": "host"}), "allowed_modes"),
        ("uts", json!({"uts_mode": "host"}), "allowed_modes"),
        ("userns", json!({"userns_mode": "host"}), "allowed_modes"),
        ("seccomp", json!({"security_opt": ["seccomp=unconfined"]}), "security_opt"),
        ("paths", json!({"security_opt": ["systempaths=unconfined"]}), "security_opt"),
        ("profile", json!({"security_opt": ["seccomp=/etc/shadow"]}), "give the profile itself"),
        ("runtime", json!({"runtime": "/bin/sh"}), "allow_runtimes"),
        (
            "log-path",
            json!({"logging": [{"type": "k8s-file", "config": [{"path": "/tmp/x"}]}]}),
            "volumes are not enabled",
        ),
        ("pids", json!({"pids_limit": 1000}), "pids_limit in plugin"),
        ("port", json!({"ports": ["nosuch"]}), "not found, check network block"),
        ("key", json!({"no_such_key": 1}), "unsupported argument"),
    ]
}

#[test]
fn what_is_not_allowed_is_refused_before_a_container_is_made() {
    let Some(podman) = Podman::start("refused") else { return };
    let folder = Folder::new("containers-refused");
    let agent = start(&folder, &podman, "pids_limit = 100");
    let attempts = attempts();
    for (name, more, _) in &attempts {
        register(&agent, &job(name, JobType::Batch, task("echo here", more)));
    }
    for (name, _, text) in &attempts {
        let failed = alloc(&agent, name, ClientStatus::Failed);
        let found = agent.get(&format!("/v1/allocation/{}", id(&failed)));
        let seen = found["TaskStates"]["t"]["Events"].to_string();
        assert!(seen.contains(text), "{name}: {seen}");
        assert!(!seen.contains("Started"), "{name}: {seen}");
    }
    assert_eq!(podman.containers(), Vec::<String>::new());
    // The labels that the driver finds its containers by are the driver's.
    let more = json!({"labels": [{"com.hashicorp.nomad.alloc_id": "other", "com.hashicorp.nomad.node_id": "other"}]});
    let alloc = run(&agent, &job("labels", JobType::Service, task("sleep 1000", &more)), ClientStatus::Running);
    let name = format!("t-{}", id(&alloc));
    let format = "{{index .Config.Labels \"com.hashicorp.nomad.alloc_id\"}}";
    assert_eq!(podman.run(&["inspect", "--format", format, &name]), id(&alloc));
    stop(&agent, "labels");
    podman.is_clean();
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn an_agent_may_allow_more() {
    let Some(podman) = Podman::start("allowed") else { return };
    let folder = Folder::new("containers-allowed");
    let host = folder.file("of-the-host", "host file\n");
    let more = "allow_privileged = true\n allow_caps = [\"all\"]\n volumes {\n  enabled = true\n }\n\
                allowed_modes {\n  pid = [\"host\"]\n }";
    let agent = start(&folder, &podman, more);
    let more = json!({"volumes": [format!("{}:/host:ro", host.display())], "pid_mode": "host", "cap_add": ["net_raw"]});
    let alloc = run(&agent, &job("more", JobType::Batch, task("cat /host", &more)), ClientStatus::Complete);
    assert_eq!(output(&agent, &alloc, "stdout"), "host file\n");
    podman.is_clean();
}

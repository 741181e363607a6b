//! `plugin "docker"` of the agent's configuration, as data (`docs/spec/client.md §23.3`). The driver reads it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::default_capabilities::default_names;

/// The devices of the host that tasks may use unless `allow_devices` says otherwise: none of them gives the files or the
/// memory of the host away.
const DEVICES: [&str; 6] = ["/dev/fuse", "/dev/net/tun", "/dev/kvm", "/dev/dri/*", "/dev/nvidia*", "/dev/snd/*"];

/// `plugin "docker"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerConfig {
    /// Where the daemon answers; empty: the socket of Docker, or that of Podman where Docker has none.
    pub endpoint: String,
    /// A file with the logins of registries, as `docker login` writes it.
    pub auth_config: String,
    /// The name of a credential helper: the program `docker-credential-<name>`.
    pub auth_helper: String,
    /// Globs of the labels that containers get besides the ID of the allocation.
    pub extra_labels: Vec<String>,
    /// The log driver of containers that do not say one.
    pub logging: Logging,
    /// What is removed, and when.
    pub gc: Gc,
    /// Whether tasks may mount paths of the host.
    pub volumes_enabled: bool,
    /// The SELinux label of mounts, such as `z`.
    pub selinux_label: String,
    /// Whether containers may be privileged.
    pub allow_privileged: bool,
    /// Capabilities that tasks may have, in lower case.
    pub allow_caps: Vec<String>,
    /// Globs of the devices of the host that tasks may use.
    pub allow_devices: Vec<String>,
    /// Runtimes that tasks may name.
    pub allow_runtimes: Vec<String>,
    /// The image of the containers that hold networks of allocations: its program has to wait.
    pub infra_image: String,
    /// How long its pull may take.
    pub infra_image_pull_timeout: Duration,
    /// How long a pull may take.
    pub image_pull_timeout: Duration,
    /// How long a pull may be without progress.
    pub pull_activity_timeout: Duration,
    /// How often a container whose name is taken is made.
    pub container_exists_attempts: u32,
    /// The most processes of a container; none: any number.
    pub pids_limit: Option<i64>,
    /// The `oom_score_adj` of containers that do not say one.
    pub oom_score_adj: Option<i64>,
    /// Leave the output of containers to the daemon.
    pub disable_log_collection: bool,
    /// Namespaces of the host, and of other containers, that tasks may use.
    pub allowed_modes: Modes,
}

/// The log driver of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logging {
    /// Its name.
    pub driver: String,
    /// Its options.
    pub options: BTreeMap<String, String>,
}

/// What the driver removes, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gc {
    /// Images that no task uses any more.
    pub image: bool,
    /// How long after the last use.
    pub image_delay: Duration,
    /// Containers that ended.
    pub container: bool,
    /// Containers that belong to no task.
    pub dangling: Dangling,
}

/// How containers that belong to no task are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dangling {
    /// Whether they are looked for.
    pub enabled: bool,
    /// Only say which would be removed.
    pub dry_run: bool,
    /// How often.
    pub period: Duration,
    /// How old they have to be.
    pub creation_grace: Duration,
}

/// Modes of namespaces that tasks may use although they are not their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modes {
    /// Of `pid_mode`.
    pub pid: Vec<String>,
    /// Of `ipc_mode`.
    pub ipc: Vec<String>,
    /// Of `userns_mode`.
    pub userns: Vec<String>,
    /// Of `uts_mode`.
    pub uts: Vec<String>,
}

/// The image that does nothing but wait, for the processors of this host.
fn infra_image() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("registry.k8s.io/pause-{arch}:3.3")
}

impl Default for DockerConfig {
    fn default() -> DockerConfig {
        let options = [("max-file", "2"), ("max-size", "2m")].map(|(k, v)| (k.to_string(), v.to_string()));
        DockerConfig {
            endpoint: String::new(),
            auth_config: String::new(),
            auth_helper: String::new(),
            extra_labels: Vec::new(),
            logging: Logging { driver: "json-file".into(), options: options.into() },
            gc: Gc {
                image: true,
                image_delay: Duration::from_secs(180),
                container: true,
                dangling: Dangling {
                    enabled: true,
                    dry_run: false,
                    period: Duration::from_secs(300),
                    creation_grace: Duration::from_secs(300),
                },
            },
            volumes_enabled: false,
            selinux_label: String::new(),
            allow_privileged: false,
            allow_caps: default_names().map(String::from).collect(),
            allow_devices: DEVICES.map(String::from).into(),
            allow_runtimes: ["runc", "nvidia"].map(String::from).into(),
            infra_image: infra_image(),
            infra_image_pull_timeout: Duration::from_secs(300),
            image_pull_timeout: Duration::from_secs(300),
            pull_activity_timeout: Duration::from_secs(120),
            container_exists_attempts: 5,
            pids_limit: None,
            oom_score_adj: None,
            disable_log_collection: false,
            allowed_modes: Modes::default(),
        }
    }
}

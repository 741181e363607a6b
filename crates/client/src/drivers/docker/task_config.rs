//! The `config` block of a task of the driver (`docs/spec/client.md §23.3`).

use std::collections::BTreeMap;
use std::time::Duration;

use encamp_model::SecretString;
use serde_json::Value;

use super::super::config_block::{Block, ConfigError};
use super::settings;
use crate::config::docker::Logging;
use encamp_model::driver_options;

/// A login at a registry.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub username: String,
    pub password: SecretString,
    pub email: String,
    pub server: String,
    /// What some registries give in place of a password.
    pub identity_token: SecretString,
}

/// What is mounted where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountConfig {
    pub kind: MountKind,
    pub source: String,
    pub target: String,
    pub read_only: bool,
}

/// The kind of a mount, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MountKind {
    Bind { propagation: String },
    Volume { no_copy: bool, labels: BTreeMap<String, String>, driver: String, options: BTreeMap<String, String> },
    Tmpfs { size: i64, mode: i64 },
}

/// A device of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    pub host: String,
    pub container: String,
    pub permissions: String,
}

/// The `config` block of a task.
#[derive(Clone, Default)]
pub(crate) struct TaskConfig {
    pub image: String,
    pub command: String,
    pub args: Vec<String>,
    /// None: the image's.
    pub entrypoint: Option<Vec<String>>,
    pub ports: Vec<String>,
    pub port_map: BTreeMap<String, i64>,
    pub network_mode: String,
    pub network_aliases: Vec<String>,
    pub hostname: String,
    pub extra_hosts: Vec<String>,
    pub dns_servers: Vec<String>,
    pub dns_search: Vec<String>,
    pub dns_options: Vec<String>,
    pub volumes: Vec<String>,
    pub volume_driver: String,
    pub mounts: Vec<MountConfig>,
    pub devices: Vec<Device>,
    pub auth: Option<Login>,
    pub auth_soft_fail: bool,
    pub force_pull: bool,
    pub load: String,
    pub pull_timeout: Option<Duration>,
    pub labels: BTreeMap<String, String>,
    pub logging: Option<Logging>,
    pub privileged: bool,
    pub cap_add: Vec<String>,
    pub cap_drop: Vec<String>,
    pub cgroupns: String,
    pub cpu_hard_limit: bool,
    pub cpu_period: i64,
    pub memory_hard_limit: i64,
    pub pids_limit: i64,
    pub shm_size: i64,
    pub sysctl: BTreeMap<String, String>,
    pub ulimit: BTreeMap<String, (i64, i64)>,
    pub storage_opt: BTreeMap<String, String>,
    pub security_opt: Vec<String>,
    pub readonly_rootfs: bool,
    pub init: bool,
    pub interactive: bool,
    pub tty: bool,
    pub ipc_mode: String,
    pub pid_mode: String,
    pub uts_mode: String,
    pub userns_mode: String,
    pub runtime: String,
    pub group_add: Vec<String>,
    pub ipv4_address: String,
    pub ipv6_address: String,
    pub advertise_ipv6: bool,
    pub mac_address: String,
    pub healthchecks_disabled: bool,
    pub oom_score_adj: Option<i64>,
    pub work_dir: String,
    pub exists_attempts: Option<u32>,
}

impl TaskConfig {
    /// Reads a block.
    pub(crate) fn read(config: &BTreeMap<String, Value>) -> Result<TaskConfig, ConfigError> {
        let b = Block(config);
        b.only(driver_options::DOCKER)?;
        let image = b.text("image")?;
        let image = image.trim().trim_start_matches("https://").trim_start_matches("http://").to_string();
        if image.is_empty() {
            return Err(ConfigError::Missing("image"));
        }
        if b.has("cpuset_cpus") {
            tracing::warn!(target: "client.driver_mgr.docker", "cpuset_cpus is ignored: ask for cores in the resources block");
        }
        if !b.text("isolation")?.is_empty() {
            return Err(ConfigError::value("isolation", "it exists on Windows only"));
        }
        let health = b.block("healthchecks")?.unwrap_or_default();
        Block(&health).only(&["disable"])?;
        let pull_timeout = b.duration("image_pull_timeout")?;
        let attempts = natural(&b, "container_exists_attempts")?;
        let out = TaskConfig {
            image,
            command: b.text("command")?,
            args: b.texts("args")?,
            entrypoint: if b.has("entrypoint") { Some(entrypoint(&b)?) } else { None },
            ports: b.texts("ports")?,
            port_map: port_map(&b)?,
            network_mode: b.text("network_mode")?,
            network_aliases: b.texts("network_aliases")?,
            hostname: b.text("hostname")?,
            extra_hosts: b.texts("extra_hosts")?,
            dns_servers: b.texts("dns_servers")?,
            dns_search: b.texts("dns_search_domains")?,
            dns_options: b.texts("dns_options")?,
            volumes: b.texts("volumes")?,
            volume_driver: b.text("volume_driver")?,
            mounts: mounts(&b)?,
            devices: devices(&b)?,
            auth: login(&b)?,
            auth_soft_fail: b.flag("auth_soft_fail")?,
            force_pull: b.flag("force_pull")?,
            load: b.text("load")?,
            pull_timeout: (!pull_timeout.is_zero()).then_some(pull_timeout),
            labels: b.map("labels")?,
            logging: settings::logging(&b)?,
            ..TaskConfig::default()
        };
        out.with_rights_and_limits(&b)?.with_modes(&b, &Block(&health), attempts)
    }

    /// The same with what the container may do and use.
    fn with_rights_and_limits(self, b: &Block) -> Result<TaskConfig, ConfigError> {
        let number = |key: &str| natural(b, key);
        Ok(TaskConfig {
            privileged: b.flag("privileged")?,
            cap_add: b.texts("cap_add")?,
            cap_drop: b.texts("cap_drop")?,
            cgroupns: b.text("cgroupns")?,
            cpu_hard_limit: b.flag("cpu_hard_limit")?,
            cpu_period: number("cpu_cfs_period")?,
            memory_hard_limit: number("memory_hard_limit")?,
            pids_limit: number("pids_limit")?,
            shm_size: number("shm_size")?,
            sysctl: b.map("sysctl")?,
            ulimit: ulimits(b)?,
            storage_opt: b.map("storage_opt")?,
            security_opt: b.texts("security_opt")?,
            readonly_rootfs: b.flag("readonly_rootfs")?,
            ..self
        })
    }

    /// The same with how the container runs. `health`: the block `healthchecks`.
    fn with_modes(self, b: &Block, health: &Block, attempts: i64) -> Result<TaskConfig, ConfigError> {
        Ok(TaskConfig {
            init: b.flag("init")?,
            interactive: b.flag("interactive")?,
            tty: b.flag("tty")?,
            ipc_mode: b.text("ipc_mode")?,
            pid_mode: b.text("pid_mode")?,
            uts_mode: b.text("uts_mode")?,
            userns_mode: b.text("userns_mode")?,
            runtime: b.text("runtime")?,
            group_add: b.texts("group_add")?,
            ipv4_address: b.text("ipv4_address")?,
            ipv6_address: b.text("ipv6_address")?,
            advertise_ipv6: b.flag("advertise_ipv6_address")?,
            mac_address: b.text("mac_address")?,
            healthchecks_disabled: health.flag("disable")?,
            oom_score_adj: b.number("oom_score_adj")?,
            work_dir: b.text("work_dir")?,
            exists_attempts: u32::try_from(attempts).ok().filter(|n| *n > 0),
            ..self
        })
    }
}

/// A number that is not negative; 0: none is said.
fn natural(b: &Block, key: &str) -> Result<i64, ConfigError> {
    match b.number(key)?.unwrap_or(0) {
        n if n < 0 => Err(ConfigError::value(key, "it can't be negative")),
        n => Ok(n),
    }
}

/// A list, or a single text.
fn entrypoint(b: &Block) -> Result<Vec<String>, ConfigError> {
    match b.0.get("entrypoint") {
        Some(Value::String(one)) => Ok(vec![one.clone()]),
        _ => b.texts("entrypoint"),
    }
}

fn port_map(b: &Block) -> Result<BTreeMap<String, i64>, ConfigError> {
    let entries = b.map("port_map")?.into_iter();
    let port = |(label, port): (String, String)| {
        let number = port.parse().ok().filter(|p| (1..=65535).contains(p));
        number.map(|p: i64| (label.clone(), p)).ok_or(ConfigError::PortMap(format!("{label}:{port}")))
    };
    entries.map(port).collect()
}

fn login(b: &Block) -> Result<Option<Login>, ConfigError> {
    let Some(block) = b.block("auth")? else { return Ok(None) };
    let a = Block(&block);
    a.only(&["username", "password", "email", "server_address"])?;
    let login = Login {
        username: a.text("username")?,
        password: a.text("password")?.into(),
        email: a.text("email")?,
        server: a.text("server_address")?,
        identity_token: SecretString::default(),
    };
    Ok(Some(login).filter(|l| !l.username.is_empty() || !l.password.is_empty()))
}

fn mounts(b: &Block) -> Result<Vec<MountConfig>, ConfigError> {
    let mut out = Vec::new();
    for block in b.blocks("mount")?.into_iter().chain(b.blocks("mounts")?) {
        let m = Block(&block);
        m.only(&["type", "target", "source", "readonly", "bind_options", "volume_options", "tmpfs_options"])?;
        let inner = |key: &str| m.block(key).map(Option::unwrap_or_default);
        let kind = match m.text("type")?.as_str() {
            "bind" => MountKind::Bind { propagation: Block(&inner("bind_options")?).text("propagation")? },
            "" | "volume" => {
                let options = inner("volume_options")?;
                let o = Block(&options);
                o.only(&["no_copy", "labels", "driver_config"])?;
                let driver = o.block("driver_config")?.unwrap_or_default();
                let d = Block(&driver);
                MountKind::Volume {
                    no_copy: o.flag("no_copy")?,
                    labels: o.map("labels")?,
                    driver: d.text("name")?,
                    options: d.map("options")?,
                }
            }
            "tmpfs" => {
                let options = inner("tmpfs_options")?;
                let o = Block(&options);
                MountKind::Tmpfs { size: o.number("size")?.unwrap_or(0), mode: o.number("mode")?.unwrap_or(0) }
            }
            other => {
                return Err(ConfigError::value("mount", format!("{other:?} is no type: use bind, volume or tmpfs")));
            }
        };
        let target = m.text("target")?;
        if target.is_empty() {
            return Err(ConfigError::value("mount", "\"target\" is required"));
        }
        out.push(MountConfig { kind, source: m.text("source")?, target, read_only: m.flag("readonly")? });
    }
    Ok(out)
}

fn devices(b: &Block) -> Result<Vec<Device>, ConfigError> {
    let device = |block: &BTreeMap<String, Value>| {
        let d = Block(block);
        d.only(&["host_path", "container_path", "cgroup_permissions"])?;
        let host = d.text("host_path")?;
        if host.is_empty() {
            return Err(ConfigError::value("devices", "\"host_path\" is required"));
        }
        let or = |text: String, other: &str| if text.is_empty() { other.to_string() } else { text };
        let permissions = or(d.text("cgroup_permissions")?, "rwm");
        if permissions.chars().any(|c| !matches!(c, 'r' | 'w' | 'm')) {
            return Err(ConfigError::value("devices", "\"cgroup_permissions\" may have r, w and m only"));
        }
        Ok(Device { container: or(d.text("container_path")?, &host), host, permissions })
    };
    b.blocks("devices")?.iter().map(device).collect()
}

/// `name = "soft:hard"`, or one number for both.
fn ulimits(b: &Block) -> Result<BTreeMap<String, (i64, i64)>, ConfigError> {
    let limit = |(name, text): (String, String)| {
        let (soft, hard) = text.split_once(':').unwrap_or((&text, &text));
        match (soft.trim().parse(), hard.trim().parse()) {
            (Ok(soft), Ok(hard)) if soft <= hard || hard < 0 => Ok((name, (soft, hard))),
            _ => Err(ConfigError::value("ulimit", format!("{name} = {text:?} is no number, or no soft:hard"))),
        }
    };
    b.map("ulimit")?.into_iter().map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<TaskConfig, ConfigError> {
        TaskConfig::read(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn blocks_are_read() {
        let c = read(
            r#"{"image":"https://r.example/x:1","args":["a",1],"port_map":[{"http":8080}],"labels":[{"a":"1"},{"b":true}],
            "ulimit":[{"nofile":"1024:2048","nproc":5}],"auth":[{"username":"u","password":"p"}],
            "mount":[{"type":"tmpfs","target":"/t","tmpfs_options":[{"size":5}]}],"devices":[{"host_path":"/dev/fuse"}],
            "healthchecks":[{"disable":true}],"entrypoint":["/bin/x"],"image_pull_timeout":"3s"}"#,
        )
        .unwrap();
        assert_eq!((c.image.as_str(), c.port_map["http"], c.labels["b"].as_str()), ("r.example/x:1", 8080, "true"));
        assert_eq!((c.ulimit["nofile"], c.ulimit["nproc"]), ((1024, 2048), (5, 5)));
        assert_eq!(c.mounts[0].kind, MountKind::Tmpfs { size: 5, mode: 0 });
        assert_eq!((c.devices[0].container.as_str(), c.devices[0].permissions.as_str()), ("/dev/fuse", "rwm"));
        assert!(c.healthchecks_disabled && c.auth.is_some());
        assert_eq!((c.pull_timeout, c.entrypoint.unwrap().len()), (Some(Duration::from_secs(3)), 1));
    }

    #[test]
    fn wrong_blocks_are_refused() {
        let error = |json: &str| read(json).err().unwrap().to_string();
        assert_eq!(error("{}"), "failed to parse config: \"image\" is required");
        assert_eq!(error(r#"{"image":"x","nosuch":1}"#), "failed to parse config: unsupported argument \"nosuch\"");
        assert!(error(r#"{"image":"x","ulimit":{"a":"9:8"}}"#).contains("\"ulimit\""));
        assert!(error(r#"{"image":"x","mount":{"type":"npipe","target":"/x"}}"#).contains("no type"));
        assert!(error(r#"{"image":"x","memory_hard_limit":-1}"#).contains("negative"));
        assert!(error(r#"{"image":"x","port_map":{"a":"b"}}"#).contains("malformed port map"));
        assert!(error(r#"{"image":"x","devices":[{"host_path":"/d","cgroup_permissions":"x"}]}"#).contains("devices"));
    }
}

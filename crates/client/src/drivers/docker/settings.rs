//! Reads `plugin "docker"` of the agent's configuration (`docs/spec/client.md §23.3`).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::super::config_block::{Block, ConfigError};
use crate::config::docker::{Dangling, DockerConfig, Gc, Logging, Modes};

const KEYS: &[&str] = &[
    "endpoint",
    "auth",
    "tls",
    "extra_labels",
    "logging",
    "gc",
    "volumes",
    "allow_privileged",
    "allow_caps",
    "allow_devices",
    "allow_runtimes",
    "infra_image",
    "infra_image_pull_timeout",
    "image_pull_timeout",
    "container_exists_attempts",
    "pids_limit",
    "oom_score_adj",
    "pull_activity_timeout",
    "disable_log_collection",
    "nvidia_runtime",
    "allowed_modes",
    "windows_allow_insecure_container_admin",
];

/// The settings of a block, in one map: files in the older language have lists of blocks.
fn flat(value: &Value) -> Result<BTreeMap<String, Value>, ConfigError> {
    match value {
        Value::Null => Ok(BTreeMap::new()),
        Value::Object(map) => Ok(map.iter().map(|(k, v)| (k.clone(), v.clone())).collect()),
        Value::Array(list) => {
            let mut out = BTreeMap::new();
            for item in list {
                out.extend(flat(item)?);
            }
            Ok(out)
        }
        _ => Err(ConfigError::Type { key: "config".into(), wanted: "a block" }),
    }
}

impl DockerConfig {
    /// The settings in a `config` block.
    ///
    /// # Errors
    /// A key that the driver does not know, or a value that it can't use.
    pub fn read(config: &Value) -> Result<DockerConfig, ConfigError> {
        let (map, default) = (flat(config)?, DockerConfig::default());
        let b = Block(&map);
        b.only(KEYS)?;
        if b.has("tls") && b.block("tls")?.is_some_and(|t| t.values().any(|v| v != "")) {
            return Err(ConfigError::value("tls", "connections with TLS are not supported; use a socket of this host"));
        }
        let auth = b.block("auth")?.unwrap_or_default();
        let auth = Block(&auth);
        auth.only(&["config", "helper"])?;
        let volumes = b.block("volumes")?.unwrap_or_default();
        let volumes = Block(&volumes);
        volumes.only(&["enabled", "selinuxlabel"])?;
        let attempts = b.number("container_exists_attempts")?;
        let attempts = attempts.map_or(Ok(default.container_exists_attempts), |n| {
            u32::try_from(n).map_err(|_| ConfigError::value("container_exists_attempts", "it can't be negative"))
        })?;
        let endpoint = b.text("endpoint")?;
        super::connect::check(&endpoint)?;
        let caps = list(&b, "allow_caps", default.allow_caps)?;
        Ok(DockerConfig {
            endpoint,
            auth_config: auth.text("config")?,
            auth_helper: auth.text("helper")?,
            extra_labels: b.texts("extra_labels")?,
            logging: logging(&b)?.unwrap_or(default.logging),
            gc: gc(&b, default.gc)?,
            volumes_enabled: volumes.flag("enabled")?,
            selinux_label: volumes.text("selinuxlabel")?,
            allow_privileged: b.flag("allow_privileged")?,
            allow_caps: caps.iter().map(|c| cap_name(c)).collect(),
            allow_devices: list(&b, "allow_devices", default.allow_devices)?,
            allow_runtimes: list(&b, "allow_runtimes", default.allow_runtimes)?,
            infra_image: Some(b.text("infra_image")?).filter(|i| !i.is_empty()).unwrap_or(default.infra_image),
            infra_image_pull_timeout: duration(&b, "infra_image_pull_timeout", default.infra_image_pull_timeout)?,
            image_pull_timeout: duration(&b, "image_pull_timeout", default.image_pull_timeout)?,
            pull_activity_timeout: duration(&b, "pull_activity_timeout", default.pull_activity_timeout)?,
            container_exists_attempts: attempts,
            pids_limit: b.number("pids_limit")?.filter(|n| *n > 0),
            oom_score_adj: b.number("oom_score_adj")?,
            disable_log_collection: b.flag("disable_log_collection")?,
            allowed_modes: modes(&b)?,
        })
    }

    /// Whether the driver can use an endpoint: a socket of this host, or an address without TLS.
    pub fn is_endpoint(text: &str) -> bool {
        super::connect::check(text).is_ok()
    }

    /// The settings that options of the client give, for agents without a `plugin` block.
    pub fn of_options(options: &BTreeMap<String, String>) -> Result<DockerConfig, ConfigError> {
        let mut config = DockerConfig::default();
        let map: BTreeMap<String, Value> = options.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))).collect();
        let b = Block(&map);
        let flag = |key: &str, other: bool| if b.has(key) { b.flag(key) } else { Ok(other) };
        config.endpoint = b.text("docker.endpoint")?;
        super::connect::check(&config.endpoint)?;
        config.auth_config = b.text("docker.auth.config")?;
        config.auth_helper = b.text("docker.auth.helper")?;
        config.volumes_enabled = flag("docker.volumes.enabled", false)?;
        config.selinux_label = b.text("docker.volumes.selinuxlabel")?;
        config.allow_privileged = flag("docker.privileged.enabled", false)?;
        config.gc.image = flag("docker.cleanup.image", config.gc.image)?;
        config.gc.image_delay = duration(&b, "docker.cleanup.image.delay", config.gc.image_delay)?;
        config.gc.container = flag("docker.cleanup.container", config.gc.container)?;
        if let Some(caps) = options.get("docker.caps.allowlist").or_else(|| options.get("docker.caps.whitelist")) {
            let names = caps.split(',').map(str::trim).filter(|c| !c.is_empty());
            config.allow_caps = names.map(cap_name).collect();
        }
        Ok(config)
    }
}

fn list(b: &Block, key: &str, other: Vec<String>) -> Result<Vec<String>, ConfigError> {
    if b.has(key) { b.texts(key) } else { Ok(other) }
}

fn duration(b: &Block, key: &str, other: Duration) -> Result<Duration, ConfigError> {
    if b.text(key)?.is_empty() { Ok(other) } else { b.duration(key) }
}

/// The block `logging` of the agent's configuration, or of a task.
pub(super) fn logging(b: &Block) -> Result<Option<Logging>, ConfigError> {
    let Some(block) = b.block("logging")? else { return Ok(None) };
    let inner = Block(&block);
    inner.only(&["type", "driver", "config"])?;
    let (kind, driver) = (inner.text("type")?, inner.text("driver")?);
    let driver = if kind.is_empty() { driver } else { kind };
    let driver = if driver.is_empty() { "json-file".to_string() } else { driver };
    Ok(Some(Logging { driver, options: inner.map("config")? }))
}

fn gc(b: &Block, default: Gc) -> Result<Gc, ConfigError> {
    let Some(block) = b.block("gc")? else { return Ok(default) };
    let inner = Block(&block);
    inner.only(&["image", "image_delay", "container", "dangling_containers"])?;
    let flag = |b: &Block, key: &str, other: bool| if b.has(key) { b.flag(key) } else { Ok(other) };
    let dangling = inner.block("dangling_containers")?.unwrap_or_default();
    let d = Block(&dangling);
    d.only(&["enabled", "dry_run", "period", "creation_grace"])?;
    Ok(Gc {
        image: flag(&inner, "image", default.image)?,
        image_delay: duration(&inner, "image_delay", default.image_delay)?,
        container: flag(&inner, "container", default.container)?,
        dangling: Dangling {
            enabled: flag(&d, "enabled", default.dangling.enabled)?,
            dry_run: flag(&d, "dry_run", default.dangling.dry_run)?,
            period: duration(&d, "period", default.dangling.period)?.max(Duration::from_millis(100)),
            creation_grace: duration(&d, "creation_grace", default.dangling.creation_grace)?,
        },
    })
}

fn modes(b: &Block) -> Result<Modes, ConfigError> {
    let block = b.block("allowed_modes")?.unwrap_or_default();
    let inner = Block(&block);
    inner.only(&["pid", "ipc", "userns", "uts"])?;
    Ok(Modes {
        pid: inner.texts("pid")?,
        ipc: inner.texts("ipc")?,
        userns: inner.texts("userns")?,
        uts: inner.texts("uts")?,
    })
}

/// The name of a capability as the settings have it: lower case, without `CAP_`.
pub(crate) fn cap_name(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    name.strip_prefix("cap_").map(String::from).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn owned(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn settings_have_defaults_and_are_checked() {
        let read = |v: Value| DockerConfig::read(&v);
        assert_eq!(read(Value::Null), Ok(DockerConfig::default()));
        let given = read(json!([{
            "endpoint": "unix:///run/x.sock",
            "gc": [{ "image_delay": "1s", "dangling_containers": [{ "enabled": false }] }],
            "volumes": [{ "enabled": true }],
            "allow_caps": ["NET_RAW", "CAP_CHOWN"],
            "allowed_modes": [{ "pid": ["host"] }],
        }]))
        .unwrap();
        assert_eq!(
            (given.gc.image, given.gc.image_delay, given.gc.dangling.enabled),
            (true, Duration::from_secs(1), false)
        );
        assert_eq!((given.allow_caps, given.volumes_enabled), (owned(&["net_raw", "chown"]), true));
        assert_eq!((given.allowed_modes.pid, given.endpoint.as_str()), (owned(&["host"]), "unix:///run/x.sock"));
        let error = |v: Value| read(v).unwrap_err().to_string();
        assert_eq!(error(json!({"nosuch": 1})), "failed to parse config: unsupported argument \"nosuch\"");
        assert!(error(json!({"tls": {"cert": "/x"}})).contains("not supported"));
        assert!(error(json!({"endpoint": "ftp://x"})).contains("endpoint"));
        assert!(error(json!({"gc": {"image_delay": "x"}})).contains("not a valid duration"));
        let options = [("docker.volumes.enabled", "true"), ("docker.caps.allowlist", "CHOWN, net_raw")];
        let options = options.map(|(k, v)| (k.to_string(), v.to_string())).into();
        let given = DockerConfig::of_options(&options).unwrap();
        assert_eq!((given.volumes_enabled, given.allow_caps), (true, owned(&["chown", "net_raw"])));
    }
}

//! What a container may do and use: capabilities, namespaces of others, devices, memory, CPU time
//! (`docs/spec/client.md §23.3`). What the agent's configuration does not allow is refused here.

use std::collections::BTreeSet;

use bollard::models::{DeviceMapping, HostConfig, HostConfigCgroupnsModeEnum, ResourcesUlimits};

use super::super::{Compute, StartTask};
use super::settings::cap_name;
use super::task_config::{Device, TaskConfig};
use crate::cgroups::Limits;
use crate::config::default_capabilities::GIVEN;
use crate::config::docker::DockerConfig;
use crate::ranges;
use encamp_model::glob;

/// All capabilities.
const ALL: &str = "all";
/// The period of the CPU time that a hard limit is a part of, in microseconds.
const PERIOD: i64 = 100_000;
/// The least quota that the kernel takes.
const LEAST_QUOTA: i64 = 1_000;
/// The most shares of the CPU.
const MOST_SHARES: i64 = 262_144;
/// Bytes of a MiB.
const MIB: i64 = 1 << 20;

/// Why a container is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAllowed {
    /// Privileged containers.
    #[error(
        "privileged containers are not allowed on this node; set allow_privileged in plugin \"docker\" to allow them"
    )]
    Privileged,
    /// Capabilities.
    #[error("capabilities are not allowed on this node: {}; allow_caps in plugin \"docker\" lists those that are", .0.join(", "))]
    Caps(Vec<String>),
    /// A namespace of the host or of another container.
    #[error("{key} = {mode:?} is not allowed on this node; allowed_modes in plugin \"docker\" lists what is")]
    Mode {
        /// The key of the task.
        key: &'static str,
        /// Its value.
        mode: String,
    },
    /// A device.
    #[error("device {0:?} is not allowed on this node; allow_devices in plugin \"docker\" lists those that are")]
    Device(String),
    /// A runtime.
    #[error("runtime {0:?} is not allowed on this node; allow_runtimes in plugin \"docker\" lists those that are")]
    Runtime(String),
    /// An option of the security of a container.
    #[error("security_opt {0:?} is not allowed on this node; set allow_privileged in plugin \"docker\" to allow it")]
    Security(String),
    /// A profile that the agent would have to read.
    #[error("security_opt {0:?} names a file: give the profile itself, as JSON")]
    Profile(String),
    /// Too many processes.
    #[error("pids_limit = {wanted} is not allowed on this node; pids_limit in plugin \"docker\" is {most}")]
    Pids {
        /// What the task wants.
        wanted: i64,
        /// What the agent allows.
        most: i64,
    },
    /// A file of the host that the daemon would write the output to.
    #[error("volumes are not enabled; logging option \"path\" = {0:?} is not allowed on this node")]
    LogPath(String),
    /// A cgroup namespace that is none.
    #[error("cgroupns = {0:?} is no mode: use host or private")]
    CgroupNamespace(String),
}

/// What is added to and taken from the capabilities that a daemon gives.
struct CapabilityChange {
    add: BTreeSet<String>,
    drop: BTreeSet<String>,
}

/// The capabilities of a container. Only those are added that the task asks for: with Podman, users who are not root get
/// what is added, and nothing else.
fn caps(config: &DockerConfig, task: &TaskConfig) -> Result<CapabilityChange, NotAllowed> {
    let names = |list: &[String]| -> BTreeSet<String> { list.iter().map(|c| cap_name(c)).collect() };
    let (allowed, add, drop) = (names(&config.allow_caps), names(&task.cap_add), names(&task.cap_drop));
    let allows = |cap: &str| allowed.contains(ALL) || allowed.contains(cap);
    let denied: Vec<String> = add.iter().filter(|c| *c != ALL && !allows(c)).cloned().collect();
    if !denied.is_empty() {
        return Err(NotAllowed::Caps(denied));
    }
    let mut added: BTreeSet<String> = add.iter().filter(|c| *c != ALL).cloned().collect();
    if add.contains(ALL) {
        added.extend(allowed.iter().cloned());
    }
    let dropped = match drop.contains(ALL) {
        true => [ALL.to_string()].into(),
        false => {
            let keeps = |cap: &str| added.contains(cap) || (allows(cap) && !drop.contains(cap));
            GIVEN.iter().filter(|cap| !keeps(cap)).map(ToString::to_string).collect()
        }
    };
    Ok(CapabilityChange { add: added, drop: dropped })
}

/// Whether a namespace is the container's own.
fn is_own(mode: &str) -> bool {
    matches!(mode, "" | "private" | "none" | "shareable" | "auto")
}

fn check_modes(config: &DockerConfig, task: &TaskConfig) -> Result<(), NotAllowed> {
    let allowed = &config.allowed_modes;
    let modes = [
        ("pid_mode", &task.pid_mode, &allowed.pid),
        ("ipc_mode", &task.ipc_mode, &allowed.ipc),
        ("userns_mode", &task.userns_mode, &allowed.userns),
        ("uts_mode", &task.uts_mode, &allowed.uts),
    ];
    for (key, mode, list) in modes {
        if !is_own(mode) && !config.allow_privileged && !list.contains(mode) {
            return Err(NotAllowed::Mode { key, mode: mode.clone() });
        }
    }
    Ok(())
}

fn check_device(config: &DockerConfig, device: &Device) -> Result<(), NotAllowed> {
    // A path with `..` could mean another device than the one it looks like.
    let plain = device.host.starts_with('/') && !device.host.split('/').any(|part| part == "..");
    // What the path leads to has to be allowed, too: a link may lead to any device.
    let real = std::fs::canonicalize(&device.host).map(|p| p.display().to_string());
    let allows = |path: &str| config.allow_devices.iter().any(|pattern| glob::matches(pattern, path));
    let fine = plain && allows(&device.host) && real.map_or(true, |real| allows(&real));
    if fine || config.allow_privileged { Ok(()) } else { Err(NotAllowed::Device(device.host.clone())) }
}

fn check_security(config: &DockerConfig, option: &str) -> Result<(), NotAllowed> {
    let (name, value) = option.split_once(['=', ':']).unwrap_or((option, ""));
    let loosens = match name {
        "no-new-privileges" => false,
        "seccomp" => {
            if value != "unconfined" && !value.trim_start().starts_with('{') {
                return Err(NotAllowed::Profile(option.into()));
            }
            // A profile of the task's own may allow all.
            true
        }
        // AppArmor and SELinux may confine by other names than the default's.
        "apparmor" | "label" => matches!(value, "unconfined" | "disable") || value.starts_with("type"),
        _ => true,
    };
    if loosens && !config.allow_privileged { Err(NotAllowed::Security(option.into())) } else { Ok(()) }
}

/// Bytes of memory: those that the container can't exceed (none: any), and those that it is sure of.
fn memory(limits: &Limits, hard_limit_mb: i64) -> (Option<i64>, Option<i64>) {
    let bytes = |mb: i64| (mb > 0).then(|| mb.saturating_mul(MIB));
    if limits.memory_max_mb < 0 {
        return (None, bytes(limits.memory_mb));
    }
    match limits.memory_max_mb.max(hard_limit_mb) {
        more if more > limits.memory_mb => (bytes(more), bytes(limits.memory_mb)),
        _ => (bytes(limits.memory_mb), None),
    }
}

/// The quota of CPU time per period.
fn quota(mhz: i64, compute: Compute, period: i64) -> Option<i64> {
    let usable = (compute.mhz > 0).then_some(compute.mhz)?;
    let part = mhz as f64 / usable as f64 * period as f64 * compute.cores as f64;
    Some((part as i64).max(LEAST_QUOTA))
}

/// The shares of the CPU, at least as many as the kernel takes.
fn shares(mhz: i64, compute: Compute) -> i64 {
    let scaled = match compute.mhz {
        total if total > MOST_SHARES => (mhz as f64 / total as f64 * MOST_SHARES as f64) as i64,
        _ => mhz,
    };
    scaled.clamp(2, MOST_SHARES)
}

fn set<T>(values: Vec<T>) -> Option<Vec<T>> {
    (!values.is_empty()).then_some(values)
}

fn text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_string())
}

/// Refuses what the agent's configuration does not allow.
fn check(config: &DockerConfig, task: &TaskConfig) -> Result<(), NotAllowed> {
    if task.privileged && !config.allow_privileged {
        return Err(NotAllowed::Privileged);
    }
    check_modes(config, task)?;
    task.devices.iter().try_for_each(|d| check_device(config, d))?;
    task.security_opt.iter().try_for_each(|o| check_security(config, o))?;
    if !task.runtime.is_empty() && !config.allow_runtimes.contains(&task.runtime) {
        return Err(NotAllowed::Runtime(task.runtime.clone()));
    }
    // Podman writes the output to that file, with its own rights.
    let log_path = task.logging.as_ref().and_then(|l| l.options.iter().find(|(k, _)| k.eq_ignore_ascii_case("path")));
    if let Some((_, path)) = log_path.filter(|_| !config.volumes_enabled) {
        return Err(NotAllowed::LogPath(path.clone()));
    }
    if let Some(most) = config.pids_limit.filter(|most| task.pids_limit > *most) {
        return Err(NotAllowed::Pids { wanted: task.pids_limit, most });
    }
    Ok(())
}

/// Puts into the settings of a container the memory and the CPU time that it may use.
fn bound(host: &mut HostConfig, task: &TaskConfig, start: &StartTask) {
    let limits = &start.limits;
    let (hard, soft) = memory(limits, task.memory_hard_limit);
    host.memory = hard;
    // As much as memory alone: no swap.
    host.memory_swap = hard;
    host.memory_reservation = soft;
    host.cpu_shares = (limits.cpu_shares > 0).then(|| shares(limits.cpu_shares, start.compute));
    host.cpuset_cpus = text(&ranges::text(&limits.cores));
    if task.cpu_hard_limit {
        let period = if task.cpu_period > 0 { task.cpu_period } else { PERIOD };
        host.cpu_period = Some(period);
        host.cpu_quota = quota(limits.cpu_shares, start.compute, period);
    }
}

/// Puts into the settings of a container what it may do and use.
pub(super) fn apply(
    host: &mut HostConfig,
    config: &DockerConfig,
    task: &TaskConfig,
    start: &StartTask,
) -> Result<(), NotAllowed> {
    check(config, task)?;
    if task.privileged {
        host.privileged = Some(true);
    } else {
        let change = caps(config, task)?;
        let list = |names: &BTreeSet<String>| set(names.iter().map(|c| c.to_ascii_uppercase()).collect());
        (host.cap_add, host.cap_drop) = (list(&change.add), list(&change.drop));
    }
    host.devices = set(task
        .devices
        .iter()
        .map(|d| DeviceMapping {
            path_on_host: Some(d.host.clone()),
            path_in_container: Some(d.container.clone()),
            cgroup_permissions: Some(d.permissions.clone()),
        })
        .collect());
    host.pid_mode = text(&task.pid_mode);
    host.ipc_mode = text(&task.ipc_mode);
    host.uts_mode = text(&task.uts_mode);
    host.userns_mode = text(&task.userns_mode);
    host.cgroupns_mode = match task.cgroupns.as_str() {
        "" => None,
        "host" => Some(HostConfigCgroupnsModeEnum::HOST),
        "private" => Some(HostConfigCgroupnsModeEnum::PRIVATE),
        other => return Err(NotAllowed::CgroupNamespace(other.into())),
    };
    host.security_opt = set(task.security_opt.clone());
    host.runtime = text(&task.runtime);
    host.readonly_rootfs = task.readonly_rootfs.then_some(true);
    host.group_add = set(task.group_add.clone());
    host.pids_limit = Some(task.pids_limit).filter(|n| *n > 0).or(config.pids_limit);
    host.oom_score_adj = task.oom_score_adj.or(config.oom_score_adj);
    host.ulimits = set(task
        .ulimit
        .iter()
        .map(|(name, (soft, hard))| ResourcesUlimits { name: Some(name.clone()), soft: Some(*soft), hard: Some(*hard) })
        .collect());
    bound(host, task, start);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::docker::Logging;

    fn config() -> DockerConfig {
        DockerConfig::default()
    }

    fn applied(config: &DockerConfig, task: TaskConfig) -> Result<HostConfig, NotAllowed> {
        let mut host = HostConfig::default();
        let limits = Limits { cpu_shares: 500, memory_mb: 64, ..Limits::default() };
        let start = StartTask { limits, compute: Compute { mhz: 4000, cores: 2 }, ..StartTask::default() };
        apply(&mut host, config, &task, &start).map(|()| host)
    }

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn capabilities_are_those_that_are_allowed() {
        let with = |add: &[&str], drop: &[&str]| TaskConfig {
            cap_add: list(add),
            cap_drop: list(drop),
            ..TaskConfig::default()
        };
        let change = |config: &DockerConfig, task: TaskConfig| {
            applied(config, task).map(|h| (h.cap_add.unwrap_or_default(), h.cap_drop.unwrap_or_default()))
        };
        let got = |task: TaskConfig| change(&config(), task);
        assert_eq!(got(with(&[], &[])), Ok((list(&[]), list(&["NET_RAW"]))));
        assert_eq!(got(with(&["mknod"], &["cap_kill"])), Ok((list(&["MKNOD"]), list(&["KILL", "NET_RAW"]))));
        assert_eq!(got(with(&["kill"], &["kill"])), Ok((list(&["KILL"]), list(&["NET_RAW"]))));
        assert_eq!(got(with(&["CAP_CHOWN"], &["ALL"])), Ok((list(&["CHOWN"]), list(&["ALL"]))));
        assert_eq!(got(with(&["all"], &["all"])).unwrap().0.len(), 13, "not NET_RAW");
        let few = DockerConfig { allow_caps: list(&["chown"]), ..config() };
        assert_eq!(change(&few, with(&[], &[])).unwrap().1.len(), 13);
        assert_eq!(
            got(with(&["net_raw", "sys_admin", "chown"], &[])),
            Err(NotAllowed::Caps(list(&["net_raw", "sys_admin"])))
        );
        let any = DockerConfig { allow_caps: list(&["all"]), ..config() };
        assert!(applied(&any, with(&["SYS_ADMIN"], &[])).unwrap().cap_add.unwrap().contains(&"SYS_ADMIN".to_string()));
    }

    #[test]
    fn the_host_is_out_of_reach_unless_it_is_allowed() {
        let refused = |task: TaskConfig| applied(&config(), task).unwrap_err().to_string();
        let t = TaskConfig::default;
        assert!(refused(TaskConfig { privileged: true, ..t() }).contains("allow_privileged"));
        assert!(refused(TaskConfig { pid_mode: "host".into(), ..t() }).contains("pid_mode = \"host\""));
        assert!(refused(TaskConfig { ipc_mode: "container:x".into(), ..t() }).contains("ipc_mode"));
        assert!(refused(TaskConfig { userns_mode: "host".into(), ..t() }).contains("userns_mode"));
        assert!(refused(TaskConfig { uts_mode: "host".into(), ..t() }).contains("uts_mode"));
        assert!(refused(TaskConfig { runtime: "other".into(), ..t() }).contains("allow_runtimes"));
        for option in ["seccomp=unconfined", "apparmor:unconfined", "label=disable", "systempaths=unconfined", "x"] {
            assert!(
                refused(TaskConfig { security_opt: list(&[option]), ..t() }).contains("allow_privileged"),
                "{option}"
            );
        }
        assert!(refused(TaskConfig { security_opt: list(&["seccomp=/etc/shadow"]), ..t() }).contains("JSON"));
        let path = [("path".to_string(), "/etc/x".to_string())];
        let logging = Some(Logging { driver: "k8s-file".into(), options: path.into() });
        assert!(refused(TaskConfig { logging: logging.clone(), ..t() }).contains("\"path\" = \"/etc/x\""));
        let open = DockerConfig { volumes_enabled: true, ..config() };
        assert!(applied(&open, TaskConfig { logging, ..t() }).is_ok());
        let device = |host: &str| Device { host: host.into(), container: "/x".into(), permissions: "rwm".into() };
        for path in ["/dev/sda", "/dev/mem", "/dev/dri/../sda", "dev/fuse"] {
            assert!(refused(TaskConfig { devices: vec![device(path)], ..t() }).contains("allow_devices"), "{path}");
        }
        assert!(applied(&config(), TaskConfig { devices: vec![device("/dev/fuse")], ..t() }).is_ok());
        let more = DockerConfig { allow_privileged: true, pids_limit: Some(10), ..config() };
        let task = TaskConfig { privileged: true, pid_mode: "host".into(), devices: vec![device("/dev/sda")], ..t() };
        let host = applied(&more, task).unwrap();
        assert_eq!((host.privileged, host.pids_limit, host.cap_add), (Some(true), Some(10), None));
        assert!(matches!(applied(&more, TaskConfig { pids_limit: 11, ..t() }), Err(NotAllowed::Pids { .. })));
    }

    #[test]
    fn memory_and_cpu_time() {
        let limits = |memory_mb, memory_max_mb| Limits { memory_mb, memory_max_mb, ..Limits::default() };
        assert_eq!(memory(&limits(64, 0), 0), (Some(64 * MIB), None));
        assert_eq!(memory(&limits(64, 128), 0), (Some(128 * MIB), Some(64 * MIB)));
        assert_eq!(memory(&limits(64, 128), 256), (Some(256 * MIB), Some(64 * MIB)));
        assert_eq!(memory(&limits(64, -1), 256), (None, Some(64 * MIB)));
        let compute = Compute { mhz: 4000, cores: 2 };
        assert_eq!((quota(1000, compute, PERIOD), quota(1, compute, PERIOD)), (Some(50_000), Some(1000)));
        assert_eq!((shares(1, compute), shares(500, compute)), (2, 500));
        assert_eq!(shares(262_144, Compute { mhz: 524_288, cores: 64 }), 131_072);
        let host = applied(&config(), TaskConfig { cpu_hard_limit: true, ..TaskConfig::default() }).unwrap();
        assert_eq!((host.cpu_quota, host.memory, host.memory_swap), (Some(25_000), Some(64 * MIB), Some(64 * MIB)));
    }
}

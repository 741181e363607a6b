//! The capabilities of isolated tasks (`docs/spec/client.md §23.2`), by the names that job files use.

use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};

use super::super::config_block::ConfigError;
use crate::config::default_capabilities::default_names;

/// The names, in lower case and without `CAP_`.
const NAMES: [(&str, CapabilitySet); 41] = [
    ("chown", CapabilitySet::CHOWN),
    ("dac_override", CapabilitySet::DAC_OVERRIDE),
    ("dac_read_search", CapabilitySet::DAC_READ_SEARCH),
    ("fowner", CapabilitySet::FOWNER),
    ("fsetid", CapabilitySet::FSETID),
    ("kill", CapabilitySet::KILL),
    ("setgid", CapabilitySet::SETGID),
    ("setuid", CapabilitySet::SETUID),
    ("setpcap", CapabilitySet::SETPCAP),
    ("linux_immutable", CapabilitySet::LINUX_IMMUTABLE),
    ("net_bind_service", CapabilitySet::NET_BIND_SERVICE),
    ("net_broadcast", CapabilitySet::NET_BROADCAST),
    ("net_admin", CapabilitySet::NET_ADMIN),
    ("net_raw", CapabilitySet::NET_RAW),
    ("ipc_lock", CapabilitySet::IPC_LOCK),
    ("ipc_owner", CapabilitySet::IPC_OWNER),
    ("sys_module", CapabilitySet::SYS_MODULE),
    ("sys_rawio", CapabilitySet::SYS_RAWIO),
    ("sys_chroot", CapabilitySet::SYS_CHROOT),
    ("sys_ptrace", CapabilitySet::SYS_PTRACE),
    ("sys_pacct", CapabilitySet::SYS_PACCT),
    ("sys_admin", CapabilitySet::SYS_ADMIN),
    ("sys_boot", CapabilitySet::SYS_BOOT),
    ("sys_nice", CapabilitySet::SYS_NICE),
    ("sys_resource", CapabilitySet::SYS_RESOURCE),
    ("sys_time", CapabilitySet::SYS_TIME),
    ("sys_tty_config", CapabilitySet::SYS_TTY_CONFIG),
    ("mknod", CapabilitySet::MKNOD),
    ("lease", CapabilitySet::LEASE),
    ("audit_write", CapabilitySet::AUDIT_WRITE),
    ("audit_control", CapabilitySet::AUDIT_CONTROL),
    ("setfcap", CapabilitySet::SETFCAP),
    ("mac_override", CapabilitySet::MAC_OVERRIDE),
    ("mac_admin", CapabilitySet::MAC_ADMIN),
    ("syslog", CapabilitySet::SYSLOG),
    ("wake_alarm", CapabilitySet::WAKE_ALARM),
    ("block_suspend", CapabilitySet::BLOCK_SUSPEND),
    ("audit_read", CapabilitySet::AUDIT_READ),
    ("perfmon", CapabilitySet::PERFMON),
    ("bpf", CapabilitySet::BPF),
    ("checkpoint_restore", CapabilitySet::CHECKPOINT_RESTORE),
];
/// Those that were split off others later; root does not get them.
const LATER: CapabilitySet = CapabilitySet::PERFMON.union(CapabilitySet::BPF).union(CapabilitySet::CHECKPOINT_RESTORE);
/// The name for all of them.
const ALL: &str = "all";

/// A set of capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Capabilities(u64);

impl Capabilities {
    /// None.
    #[cfg(test)]
    pub(crate) const NONE: Capabilities = Capabilities(0);

    /// Those of root.
    fn of_root() -> Capabilities {
        Capabilities(every().difference(LATER).bits())
    }

    /// What the system calls it.
    pub(crate) fn set(self) -> CapabilitySet {
        CapabilitySet::from_bits_truncate(self.0)
    }

    /// Those that the system knows, one by one, and whether the set has them.
    pub(crate) fn each(self) -> impl Iterator<Item = (CapabilitySet, bool)> {
        NAMES.iter().map(move |(_, one)| (*one, self.set().contains(*one)))
    }

    /// Whether it has one.
    pub(crate) fn has(self, one: CapabilitySet) -> bool {
        self.set().contains(one)
    }
}

/// Those that tasks have, and may ask for, unless the agent's configuration says otherwise.
fn default_set() -> CapabilitySet {
    let known = default_names().filter_map(|name| NAMES.iter().find(|(known, _)| *known == name));
    known.fold(CapabilitySet::empty(), |all, (_, one)| all.union(*one))
}

fn every() -> CapabilitySet {
    NAMES.iter().fold(CapabilitySet::empty(), |all, (_, one)| all.union(*one))
}

/// The set of a list of names, in any case, with or without `CAP_`.
fn named(names: &[String]) -> Result<CapabilitySet, ConfigError> {
    names.iter().try_fold(CapabilitySet::empty(), |all, name| {
        let lower = name.trim().to_ascii_lowercase();
        let bare = lower.strip_prefix("cap_").unwrap_or(&lower);
        if bare == ALL {
            return Ok(every());
        }
        let found = NAMES.iter().find(|(known, _)| *known == bare);
        found.map(|(_, one)| all.union(*one)).ok_or_else(|| ConfigError::Capability(name.clone()))
    })
}

/// The capabilities of a task. `allowed`: those that the agent allows, none for the default ones; `root`: it runs as
/// user 0.
pub(crate) fn of_task(
    allowed: Option<&[String]>,
    add: &[String],
    drop: &[String],
    root: bool,
) -> Result<Capabilities, ConfigError> {
    let allowed = allowed.map_or_else(|| Ok(default_set()), named)?;
    let asked = named(add)?;
    let everything = asked == every();
    let refused = asked.difference(allowed);
    if !refused.is_empty() && !everything {
        let names: Vec<_> = NAMES.iter().filter(|(_, one)| refused.contains(*one)).map(|(name, _)| *name).collect();
        return Err(ConfigError::CapabilitiesDenied(names.join(", ")));
    }
    let basis = if root { Capabilities::of_root().set() } else { default_set().intersection(allowed) };
    let kept = basis.difference(named(drop)?);
    Ok(Capabilities(kept.union(asked.intersection(allowed)).bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn of(allowed: Option<&[&str]>, add: &[&str], drop: &[&str]) -> Result<CapabilitySet, String> {
        let allowed = allowed.map(names);
        let set = of_task(allowed.as_deref(), &names(add), &names(drop), false);
        set.map(Capabilities::set).map_err(|e| e.to_string())
    }

    #[test]
    fn sets_of_tasks() {
        let bits = of(None, &[], &[]).unwrap();
        assert_eq!((bits.bits().count_ones(), bits.contains(CapabilitySet::SYS_ADMIN)), (13, false));
        assert_eq!(of(None, &[], &["ALL"]).unwrap(), CapabilitySet::empty());
        assert_eq!(of(None, &["CAP_CHOWN"], &["all"]).unwrap(), CapabilitySet::CHOWN);
        assert_eq!(of(Some(&["chown"]), &[], &[]).unwrap(), CapabilitySet::CHOWN, "others are not allowed");
        assert!(of(Some(&["all"]), &["sys_admin"], &[]).unwrap().contains(CapabilitySet::SYS_ADMIN));
        assert_eq!(of(Some(&["all"]), &["all"], &[]).unwrap(), every());
        assert_eq!(of(None, &["all"], &[]).unwrap(), default_set(), "all that are allowed");
        let denied = "driver does not allow the following capabilities: net_raw, sys_admin";
        assert_eq!(of(None, &["sys_admin", "net_raw", "kill"], &[]).unwrap_err(), denied);
        assert_eq!(of(None, &["nope"], &[]).unwrap_err(), "unknown capability \"nope\"");
    }

    #[test]
    fn root_has_all_but_the_later_ones() {
        let root = of_task(None, &[], &names(&["sys_boot"]), true).unwrap();
        assert!(root.has(CapabilitySet::SYS_ADMIN) && !root.has(CapabilitySet::SYS_BOOT));
        assert!(!root.has(CapabilitySet::BPF));
        assert_eq!(Capabilities::NONE.each().filter(|(_, has)| *has).count(), 0);
    }
}

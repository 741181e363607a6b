//! The names of the capabilities that containers have, for all drivers that give any (`docs/spec/client.md §23.2`,
//! `§23.3`).

/// The capabilities that Docker gives a container.
pub(crate) const GIVEN: [&str; 14] = [
    "audit_write",
    "chown",
    "dac_override",
    "fowner",
    "fsetid",
    "kill",
    "mknod",
    "net_bind_service",
    NET_RAW,
    "setfcap",
    "setgid",
    "setpcap",
    "setuid",
    "sys_chroot",
];
/// The one of these that tasks have only if `allow_caps` says so.
const NET_RAW: &str = "net_raw";

/// The capabilities that tasks have, and may ask for, unless the agent's configuration says otherwise.
pub(crate) fn default_names() -> impl Iterator<Item = &'static str> {
    GIVEN.into_iter().filter(|name| *name != NET_RAW)
}

//! Fingerprints memory, disks, kernel and name of the host.

use std::path::Path;

use procfs::{Current, Meminfo, Uptime};

use crate::mounts::mounts;
use encamp_model::stats::{HostDiskStats, HostMemoryStats};

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Kernel, distribution and name, as attributes.
pub fn identity() -> Vec<(&'static str, String)> {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let release = ["/etc/os-release", "/usr/lib/os-release"].into_iter().map(read).find(|t| !t.is_empty());
    let release = release.unwrap_or_default();
    let of = |key: &str| {
        let value = release.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('='));
        value.map(|v| v.trim_matches(['"', '\'']).to_string()).unwrap_or_default()
    };
    vec![
        ("kernel.name", text(uname.sysname()).to_lowercase()),
        ("kernel.arch", text(uname.machine())),
        ("kernel.version", text(uname.release())),
        ("os.version", version(&of("ID"), of("VERSION_ID"), read)),
        ("os.name", of("ID")),
        ("unique.hostname", hostname()),
    ]
}

/// The version of a distribution with its minor part, which some keep in a file of their own; `read` reads a file.
fn version(distribution: &str, named: String, read: impl Fn(&str) -> String) -> String {
    let file = match distribution {
        "debian" => "/etc/debian_version",
        "alpine" => "/etc/alpine-release",
        "rhel" | "centos" | "rocky" | "almalinux" | "ol" | "fedora" => "/etc/redhat-release",
        _ => return named,
    };
    let text = read(file);
    let number = |word: &str| {
        let digits = word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
        (digits && word.starts_with(|c: char| c.is_ascii_digit())).then(|| word.to_string())
    };
    // A release in the making has a name there, such as `trixie/sid`.
    text.split_whitespace().find_map(number).unwrap_or(named)
}

/// Version of the interface of Landlock that the kernel offers; none if it offers none.
pub fn landlock() -> Option<i32> {
    use landlock::{ABI, Access, AccessFs, LandlockStatus, Ruleset, RulesetAttr};
    // The version comes with a restriction alone, which ends with its thread.
    let probe = std::thread::spawn(|| {
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create);
        ruleset.and_then(|r| r.restrict_self()).map(|status| status.landlock)
    });
    match probe.join().ok()?.ok()? {
        LandlockStatus::Available { effective_abi, kernel_abi } => Some(kernel_abi.unwrap_or(effective_abi as i32)),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    }
}

/// The name of the host.
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Memory of the host.
pub fn memory() -> HostMemoryStats {
    let Ok(memory) = Meminfo::current() else { return HostMemoryStats::default() };
    let (total, free) = (memory.mem_total, memory.mem_free);
    let cached = memory.buffers.saturating_add(memory.cached).saturating_add(memory.s_reclaimable.unwrap_or(0));
    let used = total.saturating_sub(free).saturating_sub(cached);
    let available = memory.mem_available.unwrap_or_else(|| free.saturating_add(cached));
    HostMemoryStats { total, available, used, free }
}

/// The UUID the firmware gives the host; empty if it can't be read.
pub(crate) fn product_uuid() -> String {
    read("/sys/class/dmi/id/product_uuid").trim().to_lowercase()
}

/// Usage of the file system that holds a path; zeros if it can't be read (`docs/spec/client.md §27.6`).
fn usage(path: &Path) -> HostDiskStats {
    let Ok(s) = rustix::fs::statvfs(path) else { return HostDiskStats::default() };
    let bytes = |blocks: u64| blocks.saturating_mul(s.f_frsize);
    let percent = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
    let used = bytes(s.f_blocks.saturating_sub(s.f_bfree));
    let available = bytes(s.f_bavail);
    HostDiskStats {
        device: String::new(),
        mountpoint: String::new(),
        size: bytes(s.f_blocks),
        used,
        available,
        used_percent: percent(used, used.saturating_add(available)),
        inodes_used_percent: percent(s.f_files.saturating_sub(s.f_ffree), s.f_files),
    }
}

/// The file system that holds a path, with its device.
pub fn disk(path: &Path) -> HostDiskStats {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let holder = mounts().into_iter().filter(|m| real.starts_with(&m.fs_file)).max_by_key(|m| m.fs_file.len());
    let (device, mountpoint) = holder.map(|m| (m.fs_spec, m.fs_file)).unwrap_or_default();
    HostDiskStats { device, mountpoint, ..usage(path) }
}

/// The file system of a path as statistics show it: without device and place.
pub(crate) fn alloc_disk(path: &Path) -> HostDiskStats {
    usage(path)
}

/// All file systems on devices, each device once.
pub fn disks() -> Vec<HostDiskStats> {
    let mut out: Vec<HostDiskStats> = Vec::new();
    for m in mounts() {
        if m.fs_spec.starts_with("/dev/") && out.iter().all(|d| d.device != m.fs_spec) {
            let stats = usage(Path::new(&m.fs_file));
            if stats.size > 0 {
                out.push(HostDiskStats { device: m.fs_spec, mountpoint: m.fs_file, ..stats });
            }
        }
    }
    out
}

/// Seconds since the host started.
pub fn uptime() -> u64 {
    Uptime::current().map_or(0, |u| u.uptime_duration().as_secs())
}

/// Whether the kernel can bridge networks: the module is loaded, built in, or can be loaded.
pub(crate) fn has_bridge() -> bool {
    if Path::new("/sys/module/bridge").exists() || procfs::modules().is_ok_and(|m| m.contains_key("bridge")) {
        return true;
    }
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let named = |list: &str| {
        let text = read(&format!("/lib/modules/{release}/{list}"));
        text.lines().any(|l| l.split(':').next().is_some_and(|p| p.contains("/bridge.ko")))
    };
    named("modules.builtin") || named("modules.dep")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_their_minor_part() {
        let see = |name: &str, named: &str, text: &str| version(name, named.into(), |_| text.into());
        for (name, named, text, want) in [
            ("debian", "12", "12.11\n", "12.11"),
            ("debian", "13", "trixie/sid\n", "13"),
            ("debian", "12", "", "12"),
            ("ubuntu", "24.04", "never read", "24.04"),
            ("alpine", "3.20", "3.20.3\n", "3.20.3"),
            ("centos", "7", "CentOS Linux release 7.9.2009 (Core)\n", "7.9.2009"),
            ("rocky", "9.3", "Rocky Linux release 9.3 (Blue Onyx)\n", "9.3"),
        ] {
            assert_eq!(see(name, named, text), want, "{name}");
        }
    }
}

//! The options that the `config` block of a task may set, by driver (`docs/spec/client.md §23`): for the drivers, and for
//! editors on machines that have no driver.

/// The drivers whose options are known.
pub const DRIVERS: &[&str] = &["docker", "exec", "java", "mock_driver", "raw_exec"];

/// The options of `docker`.
pub const DOCKER: &[&str] = &[
    "image",
    "command",
    "args",
    "entrypoint",
    "ports",
    "port_map",
    "network_mode",
    "network_aliases",
    "hostname",
    "extra_hosts",
    "dns_servers",
    "dns_search_domains",
    "dns_options",
    "volumes",
    "mount",
    "mounts",
    "devices",
    "auth",
    "auth_soft_fail",
    "force_pull",
    "load",
    "image_pull_timeout",
    "labels",
    "logging",
    "privileged",
    "cap_add",
    "cap_drop",
    "cgroupns",
    "cpu_hard_limit",
    "cpu_cfs_period",
    "cpuset_cpus",
    "memory_hard_limit",
    "pids_limit",
    "shm_size",
    "sysctl",
    "ulimit",
    "storage_opt",
    "security_opt",
    "readonly_rootfs",
    "init",
    "interactive",
    "tty",
    "ipc_mode",
    "pid_mode",
    "uts_mode",
    "userns_mode",
    "runtime",
    "group_add",
    "ipv4_address",
    "ipv6_address",
    "advertise_ipv6_address",
    "mac_address",
    "healthchecks",
    "isolation",
    "oom_score_adj",
    "volume_driver",
    "work_dir",
    "container_exists_attempts",
];

/// The options of `exec`.
pub const EXEC: &[&str] = &["command", "args", "pid_mode", "ipc_mode", "cap_add", "cap_drop", "work_dir"];

/// The options of `java`.
pub const JAVA: &[&str] = &[
    "class",
    "class_path",
    "jar_path",
    "jvm_options",
    "args",
    "pid_mode",
    "ipc_mode",
    "cap_add",
    "cap_drop",
    "work_dir",
];

/// The options of `mock_driver` for a process, also for a command beside the task.
pub const MOCK_COMMAND: &[&str] = &[
    "run_for",
    "exit_code",
    "exit_signal",
    "exit_err_msg",
    "signal_error",
    "plugin_exit_after",
    "stdout_string",
    "stdout_repeat",
    "stdout_repeat_duration",
    "stderr_string",
    "stderr_repeat",
    "stderr_repeat_duration",
    "kill_after",
];

/// The options of `mock_driver` for a task alone.
pub const MOCK_TASK: &[&str] = &[
    "start_error",
    "start_error_recoverable",
    "start_block_for",
    "driver_ip",
    "driver_advertise",
    "driver_port_map",
    "exec_command",
];

/// The options of `raw_exec`.
pub const RAW_EXEC: &[&str] =
    &["command", "args", "work_dir", "oom_score_adj", "cgroup_v2_override", "cgroup_v1_override", "denied_envvars"];

/// The options of a driver; empty for drivers that are not known.
pub fn options(driver: &str) -> Vec<&'static str> {
    match driver {
        "docker" => DOCKER.to_vec(),
        "exec" => EXEC.to_vec(),
        "java" => JAVA.to_vec(),
        "mock_driver" => MOCK_COMMAND.iter().chain(MOCK_TASK).copied().collect(),
        "raw_exec" => RAW_EXEC.to_vec(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_driver_has_options() {
        for driver in DRIVERS {
            let mut options = options(driver);
            let count = options.len();
            options.sort_unstable();
            options.dedup();
            assert!(count > 0 && options.len() == count, "{driver}");
        }
        assert!(options("qemu").is_empty());
    }
}

//! Texts that are known to be harmless: words of the API, drivers, fingerprinted attributes.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words that servers and clients define, and values that say nothing.
const WORDS: &str = "\
    0 1 ok true false none default all auto any global init initializing ready down disconnected eligible \
    ineligible pending running complete failed lost unknown dead run stop evict paused successful cancelled \
    blocked unblocking canceled service batch system sysbatch core binpack spread constant exponential \
    fibonacci fail delay checks task_states manual forbidden optional required best_score keep_original \
    keep_replacement longest_running cron horizontal vertical_cpu vertical_mem prestart poststart poststop \
    main noop restart signal script passing warning critical ignore ignore_warnings require_healthy fail_all \
    fail_local prefer require file dir host bridge cni alloc driver alloc_v6 tcp http grpc udp https http2 lo \
    ipv4 ipv6 nomad nomadproject.io consul vault tls get post put head GET POST PUT HEAD local remote loopback firewall \
    portmap host-local connect-native connect-proxy connect-ingress connect-terminating connect-mesh csi node \
    controller monolith single-node-reader-only single-node-writer single-node-single-writer \
    single-node-multi-writer multi-node-reader-only multi-node-single-writer multi-node-multi-writer \
    file-system block-device private host-to-task bidirectional ext4 xfs docker exec exec2 raw_exec java qemu \
    podman mock_driver linux darwin windows freebsd amd64 arm64 386 arm ubuntu debian alpine vault_default \
    consul_default SIGABRT SIGALRM SIGBUS SIGCHLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL \
    SIGNULL SIGPIPE SIGPROF SIGQUIT SIGSEGV SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG \
    SIGUSR1 SIGUSR2 SIGWINCH SIGXCPU SIGXFSZ";

/// Parts of the keys of attributes that clients fingerprint.
const SEGMENTS: &str = "\
    accessible arch aws bridge build cgroups cni compute connect consul count cpu cuda driver frequency ft \
    grpc hostname id instance-type ip-address kernel memory modelname name namespaces network node nomad numa \
    numcores os partition platform plugins release reservablecores revision secrets server service_discovery \
    signals sku storage totalbytes totalcompute unique usablecompute vault version volume bytesfree \
    bytestotal gce azure attr numcores-power numcores-efficiency bridge_ip machine-type placement \
    availability-zone";

/// Keys of attributes whose values are the same for all who run the same software on the same hardware; `*` is one
/// part.
const PLAIN_ATTRIBUTES: &[&str] = &[
    "arch",
    "cpu.arch",
    "cpu.frequency",
    "cpu.modelname",
    "cpu.numcores",
    "cpu.numcores.power",
    "cpu.reservablecores",
    "cpu.totalcompute",
    "cpu.usablecompute",
    "cuda.version",
    "driver.*",
    "driver.*.version",
    "kernel.arch",
    "kernel.name",
    "kernel.version",
    "memory.totalbytes",
    "nomad.version",
    "nomad.revision",
    "nomad.service_discovery",
    "numa.node.count",
    "os.build",
    "os.cgroups.version",
    "os.name",
    "os.signals",
    "os.version",
    "consul.version",
    "consul.*.version",
    "consul.revision",
    "consul.sku",
    "consul.grpc",
    "consul.connect",
    "consul.ft.namespaces",
    "vault.version",
    "vault.*.version",
    "vault.accessible",
    "plugins.cni.version.*",
    "plugins.secrets.*.version",
    "platform.aws.instance-type",
];

/// Keys of driver configurations that drivers define.
const CONFIG_KEYS: &str = "\
    args auth cap_add cap_drop command devices entrypoint force_pull image image_pull_timeout interactive \
    ipc_mode labels load logging mount mounts network_mode pid_mode ports privileged readonly_rootfs runtime \
    shm_size source sysctl target tty type ulimit volumes work_dir";

/// Whether a text is known to tell nothing.
pub(crate) fn harmless(text: &str) -> bool {
    static SET: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.split(' ').collect());
    text.is_empty() || text == "no placement" || SET.contains(text)
}

/// Whether a part of an attribute's key is one that clients define.
pub(crate) fn segment(text: &str) -> bool {
    static SET: LazyLock<HashSet<&str>> = LazyLock::new(|| SEGMENTS.split(' ').collect());
    SET.contains(text) || harmless(text)
}

/// Whether a key of a driver configuration is one that drivers define.
pub(crate) fn config_key(text: &str) -> bool {
    static SET: LazyLock<HashSet<&str>> = LazyLock::new(|| CONFIG_KEYS.split(' ').collect());
    SET.contains(text)
}

/// Whether the values of an attribute may stay.
pub(crate) fn plain_attribute(key: &str) -> bool {
    let fits = |pattern: &&&str| {
        let (mut parts, mut key) = (pattern.split('.'), key.split('.'));
        loop {
            match (parts.next(), key.next()) {
                (None, None) => return true,
                (Some(p), Some(k)) if p == "*" || p == k => {}
                _ => return false,
            }
        }
    };
    PLAIN_ATTRIBUTES.iter().any(|pattern| fits(&pattern))
}

/// Whether a text that people write into conditions holds no more than versions, numbers, signs and harmless words.
pub(crate) fn plain_text(text: &str, is_word: impl Fn(&str) -> bool) -> bool {
    if is_word(text) {
        return true;
    }
    let digits = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    let mut words = text.split(|c: char| !c.is_alphabetic()).filter(|w| w.len() > 3);
    text.is_ascii() && digits <= 6 && text.parse::<std::net::IpAddr>().is_err() && words.all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_things_stay() {
        for key in
            ["kernel.name", "driver.docker", "driver.x.version", "consul.eu.version", "plugins.cni.version.bridge"]
        {
            assert!(plain_attribute(key), "{key}");
        }
        for key in
            ["unique.hostname", "driver.docker.bridge_ip", "platform.aws.placement.availability-zone", "rack", "kernel"]
        {
            assert!(!plain_attribute(key), "{key}");
        }
        for text in [">= 1.2.3, < 2", "1.7.0-dev", "^(linux|windows)$", "5.4.0-1"] {
            assert!(plain_text(text, harmless), "{text}");
        }
        for text in ["acme.*", "10.1.2.3", "12345678", "prod|linux", "é"] {
            assert!(!plain_text(text, harmless), "{text}");
        }
    }
}

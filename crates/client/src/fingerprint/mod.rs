//! Fingerprints the node (`docs/spec/client.md §4`).
//!
//! - [`cpu`], [`host`], [`network`], `cni`: the fingerprinters. [`interfaces`]: interfaces and addresses of
//!   the host.

pub(crate) mod cni;
pub mod cpu;
pub mod host;
pub mod interfaces;
pub mod network;

use std::collections::BTreeMap;
use std::path::Path;

use super::config::Config;
use super::drivers::signals;
use super::ranges;
use encamp_model::capability::CapabilityLevel;
use encamp_model::*;

/// Bytes of a MiB.
pub(crate) const MIB: u64 = 1 << 20;

/// The result of the fingerprint.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Attributes of the node; those of drivers are not among them.
    pub attributes: BTreeMap<String, String>,
    /// The resources of the node.
    pub resources: NodeResources,
    /// MHz of all cores together.
    pub total_compute: i64,
}

impl Found {
    /// MHz of one core, on average.
    pub(crate) fn mhz_per_core(&self) -> f64 {
        let cores = self.resources.cpu.total_cpu_cores.max(1);
        self.total_compute as f64 / cores as f64
    }
}

/// Looks at the host; `alloc_dir`: where the allocations have their files.
pub fn look(config: &Config, alloc_dir: &Path) -> Found {
    let mut found = Found::default();
    let on = |name: &str| config.allowed("fingerprint", name);
    found.attributes.extend(software(config));
    if on("memory") {
        let bytes = bytes_of(config.memory_total_mb).unwrap_or_else(|| host::memory().total);
        found.attributes.insert("memory.totalbytes".into(), bytes.to_string());
        found.resources.memory.memory_mb = i64::try_from(bytes / MIB).unwrap_or(i64::MAX);
    }
    if on("storage") {
        let disk = host::disk(alloc_dir);
        let bytes = bytes_of(config.disk_total_mb).unwrap_or(disk.size);
        found.attributes.insert("unique.storage.volume".into(), disk.device);
        found.attributes.insert("unique.storage.bytestotal".into(), bytes.to_string());
        found.resources.disk.disk_mb = i64::try_from(bytes / MIB).unwrap_or(i64::MAX);
    }
    if on("cpu") {
        let cpu = cpu::look(config);
        found.attributes.extend(cpu.attributes);
        found.resources.cpu = cpu.legacy;
        found.resources.processors.topology = Some(cpu.topology);
        found.total_compute = cpu.total;
    }
    found.attributes.extend(network_plugins(config));
    let modes = network_modes(config);
    let mut networks: Vec<NetworkResource> = modes.iter().map(|mode| network_of(mode)).collect();
    let mut node_networks: Vec<NodeNetworkResource> = modes.iter().map(|mode| node_network_of(mode)).collect();
    if on("network") {
        let n = network::look(config);
        if let Some(first) = n.networks.first() {
            found.attributes.insert("unique.network.ip-address".into(), first.ip.clone());
        }
        networks.extend(n.networks);
        node_networks.extend(n.node_networks);
    }
    found.resources.networks = networks;
    found.resources.node_networks = Some(node_networks);
    found.resources.min_dynamic_port = config.min_dynamic_port;
    found.resources.max_dynamic_port = config.max_dynamic_port;
    found
}

/// The network modes of the node beside that of the host.
pub(crate) fn network_modes(config: &Config) -> Vec<String> {
    let bridge = config.allowed("fingerprint", "bridge") && host::has_bridge();
    let mut modes: Vec<String> = bridge.then(|| "bridge".to_string()).into_iter().collect();
    if config.allowed("fingerprint", "cni") {
        modes.extend(cni::modes(&config.network.cni_config_dir));
    }
    modes
}

/// The attributes of the network plugins.
pub(crate) fn network_plugins(config: &Config) -> BTreeMap<String, String> {
    if config.allowed("fingerprint", "plugins_cni") { cni::plugins(&config.network) } else { BTreeMap::new() }
}

/// A mode as a network that jobs may use.
pub(crate) fn network_of(mode: &str) -> NetworkResource {
    NetworkResource { mode: mode.into(), ..NetworkResource::default() }
}

/// A mode as a network of the node.
pub(crate) fn node_network_of(mode: &str) -> NodeNetworkResource {
    NodeNetworkResource { mode: mode.into(), ..NodeNetworkResource::default() }
}

/// The bytes of a total in MiB that the configuration sets; `None` if it sets none.
fn bytes_of(total_mb: i64) -> Option<u64> {
    u64::try_from(total_mb).ok().filter(|mb| *mb > 0).map(|mb| mb.saturating_mul(MIB))
}

/// The attributes of kernel, distribution and agent; empty ones are left out.
fn software(config: &Config) -> BTreeMap<String, String> {
    let mut attributes = BTreeMap::new();
    let on = |name: &str| config.allowed("fingerprint", name);
    let mut set = |k: &str, v: String| {
        if !v.is_empty() {
            attributes.insert(k.to_string(), v);
        }
    };
    if on("cgroup") {
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        set("os.cgroups.version", if unified { "2" } else { "1" }.into());
    }
    if on("host") {
        host::identity().into_iter().for_each(|(k, v)| set(k, v));
    }
    if on("landlock") {
        set("kernel.landlock", host::landlock().map(|n| format!("v{n}")).unwrap_or_default());
    }
    if on("signal") {
        set("os.signals", signals::reported());
    }
    if on("nomad") {
        set("nomad.version", config.version.clone());
        if config.capability_level > CapabilityLevel::FIRST {
            set(CapabilityLevel::ATTRIBUTE, config.capability_level.to_string());
        }
        set("nomad.revision", config.revision.clone());
        set("nomad.service_discovery", config.nomad_service_discovery.to_string());
        set("nomad.bridge.hairpin_mode", config.network.bridge_hairpin_mode.to_string());
        set("unique.advertise.address", config.http_addr.clone());
    }
    if on("secrets_plugins") {
        set("plugins.secrets.nomad.version", "1.0.0".into());
        set("plugins.secrets.vault.version", "1.0.0".into());
    }
    attributes
}

/// The resources that the configuration reserves: jobs cannot use them.
pub fn reserved(config: &Config) -> NodeReservedResources {
    let r = &config.reserved;
    NodeReservedResources {
        cpu: NodeReservedCpuResources {
            cpu_shares: r.cpu,
            reserved_cpu_cores: ranges::numbers(&r.cores).unwrap_or_default(),
        },
        memory: NodeReservedMemoryResources { memory_mb: r.memory },
        disk: NodeReservedDiskResources { disk_mb: r.disk },
        networks: NodeReservedNetworkResources { reserved_host_ports: r.ports.clone() },
    }
}

/// Meta that every node has unless the configuration says otherwise (`docs/spec/client.md §3.1`).
pub(crate) fn static_meta(config: &Config) -> BTreeMap<String, String> {
    let image = "docker.io/envoyproxy/envoy:v${NOMAD_envoy_version}";
    let defaults = [
        ("connect.sidecar_image", image),
        ("connect.gateway_image", image),
        ("connect.log_level", "info"),
        ("connect.proxy_concurrency", "1"),
        ("connect.transparent_proxy.default_uid", "101"),
        ("connect.transparent_proxy.default_outbound_port", "15001"),
    ];
    let mut out: BTreeMap<_, _> = defaults.into_iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    out.extend(config.meta.clone());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_and_what_overrides_it() {
        let found = look(&Config::default(), Path::new("/tmp"));
        for key in ["cpu.numcores", "memory.totalbytes", "kernel.name", "unique.hostname", "unique.storage.bytestotal"]
        {
            assert!(found.attributes.get(key).is_some_and(|v| !v.is_empty() && v != "0"), "{key}: {found:?}");
        }
        assert!(found.resources.memory.memory_mb > 0 && found.resources.disk.disk_mb > 0 && found.total_compute > 0);
        let config = Config {
            cpu_total_compute: 4000,
            memory_total_mb: 4096,
            disk_total_mb: 50_000,
            network_interface: "lo".into(),
            options: [("fingerprint.denylist".to_string(), "bridge,signal".to_string())].into(),
            ..Config::default()
        };
        let found = look(&config, Path::new("/tmp"));
        let get = |k: &str| found.attributes.get(k).map(String::as_str);
        assert_eq!((get("cpu.totalcompute"), get("cpu.usablecompute")), (Some("4000"), Some("4000")));
        assert_eq!((get("memory.totalbytes"), get("os.signals")), (Some("4294967296"), None));
        assert_eq!(get("unique.network.ip-address"), Some("127.0.0.1"));
        let r = &found.resources;
        assert_eq!((r.memory.memory_mb, r.disk.disk_mb, r.cpu.cpu_shares), (4096, 50_000, 4000));
        assert_eq!(r.networks[0].cidr, "127.0.0.1/32");
        let lo = r.node_networks.as_ref().unwrap().iter().find(|n| n.device == "lo").unwrap();
        assert_eq!((lo.addresses[0].alias.as_str(), lo.addresses[0].family.as_str()), ("default", "ipv4"));
    }

    #[test]
    fn meta_of_the_configuration_wins() {
        let meta = [("rack", "r1"), ("connect.log_level", "debug")].map(|(k, v)| (k.to_string(), v.to_string()));
        let all = static_meta(&Config { meta: meta.into(), ..Config::default() });
        assert_eq!((all.len(), all["connect.log_level"].as_str()), (7, "debug"));
    }
}

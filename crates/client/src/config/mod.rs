//! The settings of a node agent. Plain data; the agent fills it from its configuration (`docs/spec/agent-config.md
//! §5.3`). What the agent does for its node is in [`AgentServices`](crate::AgentServices).
//!
//! - [`artifacts`]: downloads. [`docker`], [`exec`]: drivers. `default_capabilities`: capabilities of tasks.

pub(crate) mod artifacts;
pub(crate) mod default_capabilities;
pub(crate) mod docker;
pub(crate) mod exec;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use self::artifacts::{ArtifactConfig, ExtraPath, ExtraPathError};
pub use self::docker::DockerConfig;
pub use self::exec::{ExecConfig, NamespaceMode};
use encamp_model::capability::CapabilityLevel;
use encamp_model::{ClientHostNetworkConfig, ClientHostVolumeConfig, SecretString};

/// Settings of a node agent.
#[derive(Debug, Clone)]
pub struct Config {
    /// Templates.
    pub template: TemplateConfig,
    /// Development mode: nothing is stored, waits are short, allocations are destroyed at shutdown.
    pub dev: bool,
    /// Where identity and state are kept; none: a temporary directory.
    pub state_dir: Option<PathBuf>,
    /// Where allocations have their files; none: a temporary directory.
    pub alloc_dir: Option<PathBuf>,
    /// Name of the node; empty: the host's name.
    pub name: String,
    /// Region of the agent.
    pub region: String,
    /// Datacenter of the node.
    pub datacenter: String,
    /// Operator's class of the node, may be empty.
    pub node_class: String,
    /// Pool of the node.
    pub node_pool: String,
    /// Meta of the node from the configuration.
    pub meta: BTreeMap<String, String>,
    /// Free options (`fingerprint.allowlist`, `driver.denylist`, `user.denylist`, …).
    pub options: BTreeMap<String, String>,
    /// Advertised address of the HTTP interface, `host:port`.
    pub http_addr: String,
    /// Whether that interface speaks TLS.
    pub tls_http: bool,
    /// Network interface to offer; empty: the one of the default route.
    pub network_interface: String,
    /// `ipv4` or `ipv6` come first; empty: as found.
    pub preferred_address_family: String,
    /// Speed of the network in MBit/s; 0: as found.
    pub network_speed: i64,
    /// MHz of all cores together; 0: as found.
    pub cpu_total_compute: i64,
    /// Cores that may be reserved by tasks, as a list such as `0-3,7`; empty: all.
    pub reservable_cores: String,
    /// MB of memory; 0: as found.
    pub memory_total_mb: i64,
    /// MB of disk; 0: as found.
    pub disk_total_mb: i64,
    /// The resources that are reserved: jobs cannot use them.
    pub reserved: Reserved,
    /// Upper bound of a task's kill timeout.
    pub max_kill_timeout: Duration,
    /// First dynamic port.
    pub min_dynamic_port: i64,
    /// Last dynamic port.
    pub max_dynamic_port: i64,
    /// Local garbage collection.
    pub gc: GcConfig,
    /// Make up a node ID instead of deriving it from the host's UUID.
    pub no_host_uuid: bool,
    /// No commands may be run in tasks.
    pub disable_remote_exec: bool,
    /// Register as ineligible.
    pub default_ineligible: bool,
    /// Most allocations on this node, 0: no limit. The scheduler checks.
    pub node_max_allocs: i64,
    /// Offer services of the cluster's own catalogue.
    pub nomad_service_discovery: bool,
    /// Networks of allocations.
    pub network: NetworkConfig,
    /// Where host volumes are made at run time; none: a directory for this run alone.
    pub host_volumes_dir: Option<PathBuf>,
    /// Programs that make host volumes; none: only the built-in plugin does.
    pub host_volume_plugin_dir: Option<PathBuf>,
    /// Host volumes by name.
    pub host_volumes: BTreeMap<String, ClientHostVolumeConfig>,
    /// Host networks by name.
    pub host_networks: BTreeMap<String, ClientHostNetworkConfig>,
    /// Drain before a graceful leave.
    pub drain_on_shutdown: Option<DrainOnShutdown>,
    /// Sample the resource usage of tasks.
    pub publish_allocation_metrics: bool,
    /// Publish what the host uses.
    pub publish_node_metrics: bool,
    /// Publish metrics of tasks with their jobs' meta.
    pub include_alloc_metadata: bool,
    /// How often host and tasks are sampled.
    pub collection_interval: Duration,
    /// The `raw_exec` driver.
    pub raw_exec: RawExecConfig,
    /// Downloads of artifacts.
    pub artifacts: ArtifactConfig,
    /// The `exec` driver.
    pub exec: ExecConfig,
    /// `plugin "docker"`.
    pub docker: DockerConfig,
    /// The `mock_driver`; none: not there.
    pub mock_driver: Option<MockConfig>,
    /// Program that supervises tasks, makes network namespaces and downloads artifacts: it calls
    /// `drivers::supervisor::main`, `netns::main` and `artifacts::main` before anything else. None: the running program.
    pub supervisor: Option<PathBuf>,
    /// Version to report, `nomad.version`.
    pub version: String,
    /// Capability level of the agent.
    pub capability_level: CapabilityLevel,
    /// Revision to report, may be empty.
    pub revision: String,
    /// Token of the first registration, may be empty.
    pub intro_token: SecretString,
    /// Seed of all jitter; none: a random one.
    pub seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            template: TemplateConfig::default(),
            dev: false,
            state_dir: None,
            alloc_dir: None,
            name: String::new(),
            region: "global".into(),
            datacenter: "dc1".into(),
            node_class: String::new(),
            node_pool: "default".into(),
            meta: BTreeMap::new(),
            options: BTreeMap::new(),
            http_addr: String::new(),
            tls_http: false,
            network_interface: String::new(),
            preferred_address_family: String::new(),
            network_speed: 0,
            cpu_total_compute: 0,
            reservable_cores: String::new(),
            memory_total_mb: 0,
            disk_total_mb: 0,
            reserved: Reserved::default(),
            max_kill_timeout: Duration::from_secs(30),
            min_dynamic_port: 20_000,
            max_dynamic_port: 32_000,
            gc: GcConfig::default(),
            no_host_uuid: true,
            disable_remote_exec: false,
            default_ineligible: false,
            node_max_allocs: 0,
            nomad_service_discovery: true,
            network: NetworkConfig::default(),
            host_volumes_dir: None,
            host_volume_plugin_dir: None,
            host_volumes: BTreeMap::new(),
            host_networks: BTreeMap::new(),
            drain_on_shutdown: None,
            publish_allocation_metrics: false,
            publish_node_metrics: false,
            include_alloc_metadata: false,
            collection_interval: Duration::from_secs(1),
            raw_exec: RawExecConfig::default(),
            artifacts: ArtifactConfig::default(),
            exec: ExecConfig::default(),
            docker: DockerConfig::default(),
            mock_driver: None,
            supervisor: None,
            version: "2.0.5".into(),
            capability_level: CapabilityLevel::BUILD,
            revision: String::new(),
            intro_token: SecretString::default(),
            seed: None,
        }
    }
}

impl Config {
    /// The program that helps the agent: that supervises tasks, makes network namespaces and downloads artifacts.
    pub fn helper(&self) -> std::io::Result<PathBuf> {
        self.supervisor.clone().map_or_else(std::env::current_exe, Ok)
    }

    /// The names of a comma list among the options; the older spelling of the key is read too.
    pub(crate) fn option_list(&self, key: &str, older: &str) -> Option<Vec<String>> {
        let text = self.options.get(key).or_else(|| self.options.get(older))?;
        Some(text.split(',').map(str::trim).filter(|s| !s.is_empty()).map(String::from).collect())
    }

    /// Whether a name passes `<what>.allowlist` and `<what>.denylist` of the options.
    pub fn allowed(&self, what: &str, name: &str) -> bool {
        let list = |kind: &str, older: &str| self.option_list(&format!("{what}.{kind}"), &format!("{what}.{older}"));
        list("allowlist", "whitelist").is_none_or(|l| l.is_empty() || l.iter().any(|n| n == name))
            && !list("denylist", "blacklist").is_some_and(|l| l.iter().any(|n| n == name))
    }
}

/// Resources held back from jobs (`client.reserved`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reserved {
    /// MHz.
    pub cpu: i64,
    /// MB.
    pub memory: i64,
    /// MB.
    pub disk: i64,
    /// Cores, as a list such as `0-1`.
    pub cores: String,
    /// Host ports, as a list such as `22,80-81`.
    pub ports: String,
}

/// Networks of allocations (`docs/spec/client.md §15`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Directories of network plugins, in the order of the search.
    pub cni_path: Vec<PathBuf>,
    /// Directory of the networks that the operator wrote.
    pub cni_config_dir: PathBuf,
    /// Name of the bridge.
    pub bridge_name: String,
    /// IPv4 addresses of the bridge's network.
    pub bridge_subnet: String,
    /// IPv6 addresses of the bridge's network; empty: none.
    pub bridge_subnet_ipv6: String,
    /// An allocation reaches itself by the ports of the host.
    pub bridge_hairpin_mode: bool,
    /// Ports are open on all addresses of the host, if the node has no host networks.
    pub bind_wildcard: bool,
    /// How long one call of a plugin may take.
    pub plugin_limit: Duration,
}

impl Default for NetworkConfig {
    fn default() -> NetworkConfig {
        NetworkConfig {
            cni_path: vec!["/opt/cni/bin".into(), "/usr/libexec/cni".into()],
            cni_config_dir: "/opt/cni/config".into(),
            bridge_name: "nomad".into(),
            bridge_subnet: "172.26.64.0/20".into(),
            bridge_subnet_ipv6: String::new(),
            bridge_hairpin_mode: false,
            bind_wildcard: true,
            plugin_limit: Duration::from_secs(30),
        }
    }
}

/// Local garbage collection (`docs/spec/client.md §27.1`).
#[derive(Debug, Clone, PartialEq)]
pub struct GcConfig {
    /// Period of the check; `-dev` uses 10 minutes.
    pub interval: Duration,
    /// Percent used of the file system; `-dev` uses 99.
    pub disk_usage_threshold: f64,
    /// Percent used of its inodes; `-dev` uses 99.
    pub inode_usage_threshold: f64,
    /// Live local runners.
    pub max_allocs: usize,
    /// Concurrent removals; below 1 counts as 1.
    pub parallel_destroys: usize,
    /// Only reported with the node; servers act on it.
    pub volumes_on_node_gc: bool,
}

impl Default for GcConfig {
    fn default() -> GcConfig {
        GcConfig {
            interval: Duration::from_secs(60),
            disk_usage_threshold: 80.0,
            inode_usage_threshold: 70.0,
            max_allocs: 50,
            parallel_destroys: 2,
            volumes_on_node_gc: false,
        }
    }
}

/// `client.template` (`docs/spec/agent-config.md §5.3`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateConfig {
    /// Functions that templates may not use.
    pub function_denylist: Vec<String>,
    /// Sources and destinations may be anywhere on the host.
    pub disable_file_sandbox: bool,
    /// How old answers may be; zero: only the leader answers.
    pub max_stale: Duration,
    /// How long reads block.
    pub block_query_wait: Duration,
    /// How long changes are collected, at least and at most.
    pub wait: (Duration, Duration),
    /// Bounds of what jobs may ask for instead.
    pub wait_bounds: Option<(Duration, Duration)>,
    /// How often a read is tried before a task has started; 0: without end.
    pub retry_attempts: u32,
    /// The pause after the first read that failed; it doubles.
    pub retry_backoff: Duration,
    /// The longest pause.
    pub retry_max_backoff: Duration,
}

impl Default for TemplateConfig {
    fn default() -> TemplateConfig {
        TemplateConfig {
            function_denylist: ["executeTemplate", "plugin", "writeToFile"].map(String::from).into(),
            disable_file_sandbox: false,
            max_stale: Duration::from_secs(87_600 * 3600),
            block_query_wait: Duration::from_secs(300),
            wait: (Duration::from_secs(5), Duration::from_secs(240)),
            wait_bounds: None,
            retry_attempts: 12,
            retry_backoff: Duration::from_millis(250),
            retry_max_backoff: Duration::from_secs(60),
        }
    }
}

/// `client.drain_on_shutdown`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainOnShutdown {
    /// 0: no deadline.
    pub deadline: Duration,
    /// Leave system jobs alone.
    pub ignore_system_jobs: bool,
}

/// `plugin "raw_exec"` (`docs/spec/client.md §23.1`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawExecConfig {
    /// Whether tasks may use the driver.
    pub enabled: bool,
    /// User IDs no task may run as, ranges such as `0,100-200`.
    pub denied_host_uids: String,
    /// Group IDs no task may run as.
    pub denied_host_gids: String,
    /// Globs of environment variables that tasks don't get.
    pub denied_envvars: Vec<String>,
}

/// `plugin "mock_driver"` (`docs/spec/client.md §23.5`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MockConfig {
    /// After this time the driver reports itself as gone.
    pub shutdown_periodic_after: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names() {
        let mut config = Config::default();
        assert!(config.allowed("driver", "exec"));
        config.options.insert("driver.whitelist".into(), "raw_exec, mock_driver".into());
        assert!(config.allowed("driver", "mock_driver") && !config.allowed("driver", "exec"));
        config.options.insert("driver.denylist".into(), "mock_driver".into());
        assert!(!config.allowed("driver", "mock_driver") && config.allowed("fingerprint", "cpu"));
    }
}

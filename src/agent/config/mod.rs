//! The configuration of an agent (`docs/spec/agent-config.md §2-§8`).
//!
//! Sources are merged in their raw form ([`SettingsFile`]) and then resolved to [`Config`], in which every default is
//! filled in. Order, later wins: defaults or those of `-dev`, files in order, flags, environment.
//!
//! - `syntax`: text to tree. `decode`: tree to settings. `kinds`: kinds of settings and how they merge.
//! - `client`, `server`, `autoscaling`: the blocks. `load`: files and folders. `validate`: what is refused.
//! - `addresses`: what to bind and advertise. `template`, `interfaces`: addresses by what they are.

pub mod addresses;
pub mod autoscaling;
pub mod client;
mod decode;
pub mod interfaces;
pub mod kinds;
mod load;
pub mod server;
mod syntax;
mod template;
#[cfg(test)]
mod tests;
mod validate;

use std::path::{Path, PathBuf};
use std::time::Duration;

use encamp_autoscale::params::ProviderKind;
use serde_json::{Value as Json, json};

pub(crate) use load::reason;
pub use load::{LoadError, Loaded, Sources, load};
pub use validate::{Finding, check_schedulers, check_start, level, parse_ports, validate};

use autoscaling::AutoscalingFile;
use client::{Client, ClientFile, PluginFile, UiKind, ui_default};
use kinds::{Accepted, Count, Flag, Int, Labelled, Open, Shown, Span, Switch, Text, Texts, blocks};
use server::{
    Acl, AclFile, Autopilot, AutopilotFile, Limits, LimitsFile, Rpc, RpcFile, Server, ServerFile, Telemetry,
    TelemetryFile, Tls, TlsFile,
};

/// The version of the reference that answers are compatible with; clients read it as the agent's.
pub const COMPATIBLE_VERSION: &str = "2.0.5";

blocks! {
    /// Everything an agent is told.
    Settings from SettingsFile {
        region "Region": Text = "global".into(),
        datacenter "Datacenter": Text = "dc1".into(),
        /// The node's and the server's; the host's name where no source gives one.
        name "NodeName": Text = host_name(),
        data_dir "DataDir": Text = String::new(),
        plugin_dir "PluginDir": Text = String::new(),
        log_level "LogLevel": Text = "INFO".into(),
        log_json "LogJson": Flag = false,
        log_include_location "LogIncludeLocation": Flag = false,
        log_file "LogFile": Text = String::new(),
        /// 0 for no limit.
        log_rotate_bytes "LogRotateBytes": Int = 0,
        log_rotate_duration "LogRotateDuration": Span = minutes(24 * 60),
        /// 0 to keep all.
        log_rotate_max_files "LogRotateMaxFiles": Int = 0,
        bind_addr "BindAddr": Text = "0.0.0.0".into(),
        ports "Ports": PortsFile = Ports::default(),
        /// What to bind; after normalising, IP addresses without ports.
        addresses "Addresses": AddressesFile = Addresses::default(),
        /// What others are told; after normalising, with ports.
        advertise "AdvertiseAddrs": AdvertiseFile = Advertise::default(),
        enable_debug "EnableDebug": Flag = false,
        leave_on_interrupt "LeaveOnInt": Flag = false,
        leave_on_terminate "LeaveOnTerm": Flag = false,
        enable_syslog "EnableSyslog": Flag = false,
        syslog_facility "SyslogFacility": Text = "LOCAL0".into(),
        disable_update_check "DisableUpdateCheck": Switch = false,
        disable_anonymous_signature "DisableAnonymousSignature": Flag = false,
        http_api_response_headers "HTTPAPIResponseHeaders": Texts = Default::default(),
        client "Client": ClientFile = Client::default(),
        server "Server": ServerFile = Server::default(),
        acl "ACL": AclFile = Acl::default(),
        autopilot "Autopilot": AutopilotFile = Autopilot::default(),
        tls "TLSConfig": TlsFile = Tls::default(),
        limits "Limits": LimitsFile = Limits::default(),
        rpc "RPC": RpcFile = Rpc::default(),
        telemetry "Telemetry": TelemetryFile = Telemetry::default(),
        ui "UI": UiKind = ui_default(),
        plugin "Plugins": Labelled<PluginFile> = Default::default(),
        autoscaling "Autoscaling": Open<AutoscalingFile> = None,
        consul "ConsulGiven": Accepted = false,
        vault "VaultGiven": Accepted = false,
        keyring "KEKProviders": Labelled<Accepted> = Default::default(),
        audit "AuditGiven": Accepted = false,
        sentinel "SentinelGiven": Accepted = false,
        reporting "ReportingGiven": Accepted = false,
        eventlog "EventlogGiven": Accepted = false,
    }

    /// Ports; 0 for any that is free.
    Ports from PortsFile {
        http "HTTP": Count = 4646,
        rpc "RPC": Count = 4647,
        serf "Serf": Count = 4648,
    }

    /// Addresses to bind.
    Addresses from AddressesFile {
        /// Several are separated by blanks.
        http "HTTP": Text = String::new(),
        rpc "RPC": Text = String::new(),
        serf "Serf": Text = String::new(),
    }

    /// Addresses that others use.
    Advertise from AdvertiseFile {
        http "HTTP": Text = String::new(),
        rpc "RPC": Text = String::new(),
        serf "Serf": Text = String::new(),
    }
}

/// The configuration of an agent: the settings of all sources, and what they were.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The settings; reached directly, as `config.server.enabled`.
    pub settings: Settings,
    /// Whether this is an agent for trying things out (`-dev`).
    pub dev: bool,
    /// The arguments of `-config`.
    pub paths: Vec<String>,
    /// The files that were read.
    pub files: Vec<String>,
    /// The token that introduces the client to servers.
    pub intro_token: kinds::Secret,
}

impl std::ops::Deref for Config {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl std::ops::DerefMut for Config {
    fn deref_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }
}

impl Config {
    /// What `GET /v1/agent/self` shows as `config`: secrets hidden, durations in nanoseconds.
    pub fn json(&self) -> Json {
        let mut out = self.settings.json();
        if let Json::Object(map) = &mut out {
            map.insert("DevMode".into(), self.dev.into());
            map.insert("ConfigPaths".into(), self.paths.clone().into());
            map.insert("Files".into(), self.files.clone().into());
            map.insert("Plugins".into(), named(&self.plugin));
            let version = json!({
                "Version": COMPATIBLE_VERSION, "VersionPrerelease": "", "VersionMetadata": "", "Revision": "",
                "BuildDate": null,
            });
            map.insert("Version".into(), version);
            if let Some(client) = map.get_mut("Client").and_then(Json::as_object_mut) {
                client.insert("HostVolumes".into(), named(&self.client.host_volume));
                client.insert("HostNetworks".into(), named(&self.client.host_network));
                client.insert("IntroToken".into(), self.intro_token.json());
            }
        }
        out
    }

    /// Where a server keeps its data.
    pub fn server_dir(&self) -> PathBuf {
        self.below_data_dir(&self.server.data_dir, "server")
    }

    /// Where the provider `local` keeps its groups; empty when there is no place.
    pub fn autoscale_dir(&self) -> PathBuf {
        let local = self.autoscaling.as_ref().and_then(|a| a.provider.get(ProviderKind::Local.name()));
        self.below_data_dir(local.map_or("", |p| p.directory.as_str()), "autoscale")
    }

    /// Where a client keeps its state.
    pub fn state_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.state_dir, "client")
    }

    /// Where a client keeps allocations.
    pub fn alloc_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.alloc_dir, "alloc")
    }

    /// Where a client mounts what allocations see: beside the data, so that nobody walks into it from there.
    pub fn alloc_mounts_dir(&self) -> PathBuf {
        if !self.client.alloc_mounts_dir.is_empty() {
            return PathBuf::from(&self.client.alloc_mounts_dir);
        }
        let data = Path::new(&self.data_dir);
        data.parent().map(|p| p.join("alloc_mounts")).unwrap_or_default()
    }

    /// Where dynamic host volumes are made.
    pub fn host_volumes_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.host_volumes_dir, "host_volumes")
    }

    /// Where plugins for host volumes are.
    pub fn host_volume_plugin_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.host_volume_plugin_dir, "host_volume_plugins")
    }

    /// Where plugins for secrets are.
    pub fn common_plugin_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.common_plugin_dir, "common_plugins")
    }

    /// Where driver and device plugins are.
    pub fn plugin_dir(&self) -> PathBuf {
        self.below_data_dir(&self.settings.plugin_dir, "plugins")
    }

    /// A folder that is given, or the one of that name in `data_dir`; empty when there is neither.
    fn below_data_dir(&self, given: &str, name: &str) -> PathBuf {
        match (given, self.data_dir.as_str()) {
            ("", "") => PathBuf::new(),
            ("", data) => Path::new(data).join(name),
            (given, _) => PathBuf::from(given),
        }
    }

    /// How metrics are kept.
    pub fn telemetry_settings(&self) -> Result<encamp_telemetry::Settings, encamp_telemetry::FilterError> {
        let t = &self.telemetry;
        let host = match (t.use_node_name, t.disable_hostname) {
            (true, _) => Some(self.name.clone()),
            (false, true) => None,
            (false, false) => Some(host_name()),
        };
        Ok(encamp_telemetry::Settings {
            interval: t.in_memory_collection_interval,
            retention: t.in_memory_retention_period,
            prometheus: t.prometheus_metrics,
            host,
            filter: encamp_telemetry::Filter::new(&t.prefix_filter, t.filter_default)?,
        })
    }
}

/// What sources override when an agent is only for trying things out (`docs/spec/agent-config.md §6`).
pub(super) fn dev_defaults() -> SettingsFile {
    let mut s = SettingsFile::default();
    s.bind_addr.0 = Some("127.0.0.1".into());
    s.log_level.0 = Some("DEBUG".into());
    for flag in [&mut s.client.enabled, &mut s.server.enabled, &mut s.enable_debug, &mut s.disable_anonymous_signature]
    {
        flag.0 = Some(true);
    }
    s.server.bootstrap_expect.0 = Some(1);
    s.client.network_interface.0 = Some("lo".into());
    let options = ["driver.raw_exec.enable", "driver.docker.volumes", "test.tighten_network_timeouts"]
        .map(|k| (k.into(), "true".into()));
    s.client.options.0 = options.into();
    s.client.gc_interval.0 = Some(kinds::Nanos(600 * encamp_model::SECOND));
    s.client.gc_disk_usage_threshold.0 = Some(99.0);
    s.client.gc_inode_usage_threshold.0 = Some(99.0);
    s.client.gc_max_allocs.0 = Some(50);
    let t = &mut s.telemetry;
    for flag in [
        &mut t.prometheus_metrics,
        &mut t.publish_allocation_metrics,
        &mut t.publish_node_metrics,
        &mut t.include_alloc_metadata_in_metrics,
    ] {
        flag.0 = Some(true);
    }
    s
}

/// Blocks by name as a list in which each has its name.
fn named<T: Shown>(blocks: &std::collections::BTreeMap<String, T>) -> Json {
    let entry = |(name, block): (&String, &T)| {
        let mut json = block.json();
        if let Json::Object(map) = &mut json {
            map.insert("Name".into(), name.clone().into());
        }
        json
    };
    blocks.iter().map(entry).collect()
}

/// The name of this host.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// That many minutes.
const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

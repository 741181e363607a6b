//! The settings of an agent: their names and defaults, and what follows from them.

use std::path::{Path, PathBuf};

use encamp_autoscale::params::ProviderKind;
use encamp_host::platform::process::host_name;
use encamp_model::SecretString;
use serde_json::{Value as Json, json};

use super::audit::{Audit, AuditFile};
use super::autoscaling::AutoscalingFile;
use super::client::{Client, ClientFile, PluginFile, UiKind, ui_default};
use super::kinds::{
    Accepted, Count, Flag, Int, Labelled, Nanos, Open, Shown, Span, Switch, Text, Texts, blocks, minutes, named,
};
use super::server::{
    Acl, AclFile, Autopilot, AutopilotFile, Limits, LimitsFile, Rpc, RpcFile, Server, ServerFile, Telemetry,
    TelemetryFile, Tls, TlsFile,
};

/// The version of Nomad that responses are compatible with; clients read it as the version of the agent.
pub const COMPATIBLE_VERSION: &str = "2.0.5";

blocks! {
    /// The settings of an agent.
    Settings from SettingsFile {
        region "Region": Text = "global".into(),
        datacenter "Datacenter": Text = "dc1".into(),
        /// The name of the node and of the server. Default: the hostname.
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
        /// The addresses to bind; after normalising, IP addresses without ports.
        addresses "Addresses": AddressesFile = Addresses::default(),
        /// The addresses to advertise; after normalising, with ports.
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
        audit "Audit": AuditFile = Audit::default(),
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

    /// The addresses that other agents use.
    Advertise from AdvertiseFile {
        http "HTTP": Text = String::new(),
        rpc "RPC": Text = String::new(),
        serf "Serf": Text = String::new(),
    }
}

/// The configuration of an agent: the merged settings, and their sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The settings, accessed directly as `config.server.enabled`.
    pub settings: Settings,
    /// Whether this is a development agent (`-dev`).
    pub dev: bool,
    /// The arguments of `-config`.
    pub paths: Vec<String>,
    /// The files that were read.
    pub files: Vec<String>,
    /// The token that introduces the client to servers.
    pub intro_token: SecretString,
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
    /// The `config` of `GET /v1/agent/self`: secrets redacted, durations in nanoseconds.
    pub fn json(&self) -> Json {
        let mut out = self.settings.json();
        if let Json::Object(map) = &mut out {
            map.insert("DevMode".into(), self.dev.into());
            map.insert("ConfigPaths".into(), self.paths.clone().into());
            map.insert("Files".into(), self.files.clone().into());
            map.insert("Plugins".into(), named(&self.plugin));
            map.insert("Audit".into(), self.audit.shown());
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

    /// The data directory of a server.
    pub fn server_dir(&self) -> PathBuf {
        self.below_data_dir(&self.server.data_dir, "server")
    }

    /// The directory of the audit log; empty if there is none.
    pub fn audit_dir(&self) -> PathBuf {
        self.below_data_dir("", "audit")
    }

    /// The directory of the provider `local`; empty if there is none.
    pub fn autoscale_dir(&self) -> PathBuf {
        let local = self.autoscaling.as_ref().and_then(|a| a.provider.get(ProviderKind::Local.name()));
        self.below_data_dir(local.map_or("", |p| p.directory.as_str()), "autoscale")
    }

    /// The state directory of a client.
    pub fn state_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.state_dir, "client")
    }

    /// The allocation directory of a client.
    pub fn alloc_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.alloc_dir, "alloc")
    }

    /// The directory of the mounts of allocations: next to the data directory, so that it is not reachable from there.
    pub fn alloc_mounts_dir(&self) -> PathBuf {
        if !self.client.alloc_mounts_dir.is_empty() {
            return PathBuf::from(&self.client.alloc_mounts_dir);
        }
        let data = Path::new(&self.data_dir);
        data.parent().map(|p| p.join("alloc_mounts")).unwrap_or_default()
    }

    /// The directory of dynamic host volumes.
    pub fn host_volumes_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.host_volumes_dir, "host_volumes")
    }

    /// The directory of host volume plugins.
    pub fn host_volume_plugin_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.host_volume_plugin_dir, "host_volume_plugins")
    }

    /// The directory of secrets plugins.
    pub fn common_plugin_dir(&self) -> PathBuf {
        self.below_data_dir(&self.client.common_plugin_dir, "common_plugins")
    }

    /// The directory of driver and device plugins.
    pub fn plugin_dir(&self) -> PathBuf {
        self.below_data_dir(&self.settings.plugin_dir, "plugins")
    }

    /// A configured directory, or the one of that name in `data_dir`; empty if there is neither.
    fn below_data_dir(&self, given: &str, name: &str) -> PathBuf {
        match (given, self.data_dir.as_str()) {
            ("", "") => PathBuf::new(),
            ("", data) => Path::new(data).join(name),
            (given, _) => PathBuf::from(given),
        }
    }

    /// The settings of metrics retention.
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

/// The defaults of a development agent, which sources override (`docs/spec/agent-config.md §6`).
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
    s.client.gc_interval.0 = Some(Nanos(600 * encamp_model::SECOND));
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

//! Conversion of the agent's configuration to the settings of the node.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Config;
use super::config::client::Client;
use encamp_client::config::{
    ArtifactConfig, DockerConfig, DrainOnShutdown, ExecConfig, ExtraPath, GcConfig, MockConfig, NamespaceMode,
    NetworkConfig, RawExecConfig, Reserved, TemplateConfig,
};
use encamp_client::drivers::config_block::ConfigError;
use encamp_model::duration::parse_duration;
use encamp_model::{ClientHostNetworkConfig, ClientHostVolumeConfig, SecretString, duration};

/// Returns the node's settings. The address of the HTTP interface must be known.
pub fn settings(config: &Config) -> encamp_client::Config {
    let c = &config.client;
    let below = |dir: std::path::PathBuf| (!dir.as_os_str().is_empty()).then_some(dir);
    encamp_client::Config {
        template: template(c),
        dev: config.dev,
        state_dir: below(config.state_dir()),
        alloc_dir: below(config.alloc_dir()),
        name: config.name.clone(),
        region: config.region.clone(),
        datacenter: config.datacenter.clone(),
        node_class: c.node_class.clone(),
        node_pool: c.node_pool.clone(),
        meta: c.meta.clone().into_iter().collect(),
        options: c.options.clone().into_iter().collect(),
        http_addr: config.advertise.http.clone(),
        tls_http: config.tls.http,
        network_interface: c.network_interface.clone(),
        preferred_address_family: c.preferred_address_family.clone(),
        network_speed: c.network_speed,
        cpu_total_compute: c.cpu_total_compute,
        reservable_cores: c.reservable_cores.clone(),
        memory_total_mb: c.memory_total_mb,
        disk_total_mb: c.disk_total_mb,
        reserved: reserved(c),
        max_kill_timeout: c.max_kill_timeout,
        min_dynamic_port: c.min_dynamic_port,
        max_dynamic_port: c.max_dynamic_port,
        gc: gc(c),
        no_host_uuid: c.no_host_uuid,
        disable_remote_exec: c.disable_remote_exec,
        default_ineligible: c.default_ineligible,
        node_max_allocs: c.node_max_allocs,
        nomad_service_discovery: c.nomad_service_discovery,
        network: network(c),
        host_volumes_dir: below(config.host_volumes_dir()),
        host_volume_plugin_dir: below(config.host_volume_plugin_dir()),
        host_volumes: host_volumes(c),
        host_networks: host_networks(c),
        drain_on_shutdown: c
            .drain_on_shutdown
            .as_ref()
            .map(|d| DrainOnShutdown { deadline: d.deadline, ignore_system_jobs: d.ignore_system_jobs }),
        publish_allocation_metrics: config.telemetry.publish_allocation_metrics,
        publish_node_metrics: config.telemetry.publish_node_metrics,
        include_alloc_metadata: config.telemetry.include_alloc_metadata_in_metrics,
        collection_interval: config.telemetry.collection_interval,
        raw_exec: raw_exec(config),
        artifacts: artifacts(c),
        exec: exec(config),
        docker: docker(config).unwrap_or_default(),
        mock_driver: mock_driver(config),
        version: super::config::COMPATIBLE_VERSION.into(),
        capability_level: encamp_host::capability::own(),
        intro_token: intro_token(config),
        ..encamp_client::Config::default()
    }
}

fn reserved(c: &Client) -> Reserved {
    Reserved {
        cpu: c.reserved.cpu,
        memory: c.reserved.memory,
        disk: c.reserved.disk,
        cores: c.reserved.cores.clone(),
        ports: c.reserved.reserved_ports.clone(),
    }
}

fn gc(c: &Client) -> GcConfig {
    GcConfig {
        interval: c.gc_interval,
        disk_usage_threshold: c.gc_disk_usage_threshold,
        inode_usage_threshold: c.gc_inode_usage_threshold,
        max_allocs: usize::try_from(c.gc_max_allocs).unwrap_or(0),
        parallel_destroys: usize::try_from(c.gc_parallel_destroys).unwrap_or(1),
        volumes_on_node_gc: c.gc_volumes_on_node_gc,
    }
}

/// The settings of downloads; 0 is no limit.
fn artifacts(c: &Client) -> ArtifactConfig {
    let a = &c.artifact;
    let time = |limit: std::time::Duration| (!limit.is_zero()).then_some(limit);
    let size = |limit: u64| (limit > 0).then_some(limit);
    ArtifactConfig {
        http_read_timeout: time(a.http_read_timeout),
        git_timeout: time(a.git_timeout),
        s3_timeout: time(a.s3_timeout),
        max_size: size(a.http_max_size),
        decompression_size: size(a.decompression_size_limit),
        decompression_files: size(u64::try_from(a.decompression_file_count_limit).unwrap_or(0)),
        inspect: !a.disable_artifact_inspection,
        isolate: !a.disable_filesystem_isolation,
        // Checked when the configuration was read.
        extra_paths: a.filesystem_isolation_extra_paths.iter().filter_map(|p| ExtraPath::parse(p).ok()).collect(),
        variables: a
            .set_environment_variables
            .split(',')
            .map(str::trim)
            .filter(|n| !n.is_empty())
            .map(String::from)
            .collect(),
    }
}

fn network(c: &Client) -> NetworkConfig {
    NetworkConfig {
        cni_path: c.cni_path.split(':').filter(|d| !d.is_empty()).map(Into::into).collect(),
        cni_config_dir: c.cni_config_dir.clone().into(),
        bridge_name: c.bridge_network_name.clone(),
        bridge_subnet: c.bridge_network_subnet.clone(),
        bridge_subnet_ipv6: c.bridge_network_subnet_ipv6.clone(),
        bridge_hairpin_mode: c.bridge_network_hairpin_mode,
        bind_wildcard: c.bind_wildcard_default_host_network,
        ..NetworkConfig::default()
    }
}

/// The settings of templates.
fn template(c: &Client) -> TemplateConfig {
    let t = &c.template;
    let mut function_denylist = t.function_denylist.clone();
    function_denylist.extend(t.function_blacklist.iter().cloned());
    TemplateConfig {
        function_denylist,
        disable_file_sandbox: t.disable_file_sandbox,
        max_stale: t.max_stale,
        block_query_wait: t.block_query_wait,
        wait: (t.wait.min, t.wait.max),
        wait_bounds: t.wait_bounds.as_ref().map(|b| (b.min, b.max)),
        retry_attempts: u32::try_from(t.nomad_retry.attempts).unwrap_or(u32::MAX),
        retry_backoff: t.nomad_retry.backoff,
        retry_max_backoff: t.nomad_retry.max_backoff,
    }
}

fn host_volumes(c: &Client) -> BTreeMap<String, ClientHostVolumeConfig> {
    let volumes = c.host_volume.iter().map(|(name, v)| {
        let volume = ClientHostVolumeConfig {
            name: name.clone(),
            path: v.path.clone(),
            read_only: v.read_only,
            id: String::new(),
        };
        (name.clone(), volume)
    });
    volumes.collect()
}

fn host_networks(c: &Client) -> BTreeMap<String, ClientHostNetworkConfig> {
    let networks = c.host_network.iter().map(|(name, n)| {
        let network = ClientHostNetworkConfig {
            name: name.clone(),
            cidr: n.cidr.clone(),
            interface: n.interface.clone(),
            reserved_ports: n.reserved_ports.clone(),
        };
        (name.clone(), network)
    });
    networks.collect()
}

/// The introduction token of the node: from the environment or a flag, otherwise from the token file.
fn intro_token(config: &Config) -> SecretString {
    let given = &config.intro_token;
    let dir = config.state_dir();
    if !given.is_empty() || dir.as_os_str().is_empty() {
        return given.clone();
    }
    std::fs::read_to_string(dir.join("intro_token.jwt")).map(|t| t.trim().into()).unwrap_or_default()
}

fn plugin<'a>(config: &'a Config, name: &str) -> Option<&'a Value> {
    config.plugin.get(name).map(|p| &p.config)
}

/// A value of a plugin's settings: blocks may be given once or as lists of one.
fn value<'a>(settings: &'a Value, key: &str) -> Option<&'a Value> {
    match settings {
        Value::Array(list) => list.iter().find_map(|v| value(v, key)),
        other => other.get(key),
    }
}

/// Whether a switch of a plugin's settings is on: job files may give booleans as strings.
fn is_true(value: &Value) -> bool {
    value == &Value::Bool(true) || value == "true"
}

fn raw_exec(config: &Config) -> RawExecConfig {
    let given = plugin(config, "raw_exec");
    let text = |key: &str| given.and_then(|g| value(g, key)?.as_str()).unwrap_or_default().to_string();
    let switch = given.and_then(|g| value(g, "enabled")).map(is_true);
    let option = config.client.options.get("driver.raw_exec.enable").map(|v| matches!(v.as_str(), "1" | "true"));
    let denied = given.and_then(|g| value(g, "denied_envvars")?.as_array()).into_iter().flatten();
    RawExecConfig {
        enabled: switch.or(option).unwrap_or(config.dev),
        denied_host_uids: text("denied_host_uids"),
        denied_host_gids: text("denied_host_gids"),
        denied_envvars: denied.filter_map(|v| v.as_str().map(String::from)).collect(),
    }
}

fn exec(config: &Config) -> ExecConfig {
    let given = plugin(config, "exec");
    let found = |key: &str| given.and_then(|g| value(g, key));
    let text = |key: &str| found(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let mode = |key: &'static str| NamespaceMode::of_word(key, &text(key), NamespaceMode::Private).unwrap_or_default();
    let caps = found("allow_caps").and_then(Value::as_array);
    let default = ExecConfig::default();
    ExecConfig {
        chroot_env: config.client.chroot_env.clone(),
        no_pivot_root: found("no_pivot_root").is_some_and(is_true),
        default_pid_mode: mode("default_pid_mode"),
        default_ipc_mode: mode("default_ipc_mode"),
        allow_caps: caps.map(|list| list.iter().filter_map(|v| v.as_str().map(String::from)).collect()),
        denied_host_uids: text("denied_host_uids"),
        denied_host_gids: text("denied_host_gids"),
        // Without one, a task could take all process IDs of the host.
        pids_limit: found("pids_limit").and_then(Value::as_i64).map_or(default.pids_limit, |n| u64::try_from(n).ok()),
    }
}

/// The settings of `docker`; those of the environment count where the configuration says nothing.
///
/// # Errors
/// `plugin "docker"`, or an option of the client, is wrong.
pub(super) fn docker(config: &Config) -> Result<DockerConfig, ConfigError> {
    let mut docker = match plugin(config, "docker") {
        Some(given) => DockerConfig::read(given)?,
        None => DockerConfig::of_options(&config.client.options.clone().into_iter().collect())?,
    };
    if docker.endpoint.is_empty() {
        // The variable is for all programs of the host: one that can't be used here is no reason not to start.
        docker.endpoint =
            std::env::var("DOCKER_HOST").ok().filter(|e| DockerConfig::is_endpoint(e)).unwrap_or_default();
    }
    Ok(docker)
}

fn mock_driver(config: &Config) -> Option<MockConfig> {
    let given = plugin(config, "mock_driver");
    if given.is_none() && !config.dev {
        return None;
    }
    let after = given.and_then(|g| value(g, "shutdown_periodic_duration")?.as_str());
    let switched = given.and_then(|g| value(g, "shutdown_periodic_after")?.as_bool()).unwrap_or(false);
    let after = after.and_then(|t| parse_duration(t).ok()).map(duration::of_nanos);
    Some(MockConfig { shutdown_periodic_after: after.filter(|_| switched) })
}

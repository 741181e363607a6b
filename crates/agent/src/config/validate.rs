//! Validation of a configuration (`docs/spec/agent-config.md §4`).

use std::path::Path;

use super::autoscaling;
use super::error::{
    InvalidConfig, InvalidLogLevel, InvalidPorts, InvalidTelemetry, LEVELS, RefusedClient, RefusedServer, RefusedStart,
};
use super::settings::Config;
use encamp_client::config::ExtraPath;
use encamp_model::{GossipKey, JobType, SchedulerAlgorithm, quoted};
use encamp_rpc::gossip::KEYRING_FILE;

/// A finding about a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A warning; the configuration can be used.
    Warning(String),
    /// An error; the validation ends.
    Error(InvalidConfig),
}

/// All findings in order: warnings, and at most one error at the end.
pub fn validate(config: &Config) -> Vec<Finding> {
    let mut warnings = Vec::new();
    let error = check(config, &mut warnings).err();
    warnings.into_iter().map(Finding::Warning).chain(error.map(Finding::Error)).collect()
}

fn check(c: &Config, warnings: &mut Vec<String>) -> Result<(), InvalidConfig> {
    let fail = |condition: bool, problem| if condition { Err(problem) } else { Ok(()) };
    fail(!(c.server.enabled || c.client.enabled || c.dev), InvalidConfig::NoRole)?;
    fail(c.region.contains('\0'), InvalidConfig::Region)?;
    fail(c.datacenter.contains(['\0', '*']), InvalidConfig::Datacenter)?;
    telemetry(c).map_err(InvalidConfig::Telemetry)?;
    let secured = c.tls.http && c.tls.rpc;
    if !(c.dev || secured) {
        warnings.push("WARNING: mTLS is not configured - Nomad is not secure without mTLS!".into());
    }
    encryption(c, warnings)?;
    for (setting, path) in [
        ("data-dir", &c.data_dir),
        ("plugin-dir", &c.plugin_dir),
        ("alloc-dir", &c.client.alloc_dir),
        ("alloc-mounts-dir", &c.client.alloc_mounts_dir),
        ("host-volumes-dir", &c.client.host_volumes_dir),
        ("host-volume-plugin-dir", &c.client.host_volume_plugin_dir),
        ("state-dir", &c.client.state_dir),
    ] {
        if !path.is_empty() && !Path::new(path).is_absolute() {
            return Err(InvalidConfig::RelativePath { setting, path: path.clone() });
        }
    }
    client(c)?;
    directories_and_roles(c, warnings)?;
    issuer(c, warnings);
    if let Some(a) = &c.autoscaling {
        autoscaling::check(a, !c.data_dir.is_empty())?;
        if a.enabled && !c.server.enabled {
            warnings.push("WARNING: autoscaling.enabled has no effect on an agent that is no server".into());
        }
    }
    c.audit.check(!c.data_dir.is_empty()).map_err(InvalidConfig::Audit)?;
    fail(c.server.protocol_version != 0, InvalidConfig::ProtocolVersion)?;
    let known = ["aead", "awskms", "azurekeyvault", "gcpckms", "transit"];
    if let Some(other) = c.keyring.keys().find(|p| !known.contains(&p.as_str())) {
        return Err(InvalidConfig::UnknownKeyring(other.clone()));
    }
    if let Some(other) = c.keyring.keys().find(|p| *p != "aead") {
        return Err(InvalidConfig::UnsupportedKeyring(other.clone()));
    }
    joining(c)?;
    level(&c.log_level)?;
    Ok(())
}

/// The level in capital letters.
///
/// # Errors
/// There is no such level.
pub fn level(text: &str) -> Result<String, InvalidLogLevel> {
    let upper = text.to_uppercase();
    if LEVELS.contains(&upper.as_str()) { Ok(upper) } else { Err(InvalidLogLevel(upper)) }
}

fn telemetry(c: &Config) -> Result<(), InvalidTelemetry> {
    let (interval, retention) = (c.telemetry.in_memory_collection_interval, c.telemetry.in_memory_retention_period);
    if interval.is_zero() {
        Err(InvalidTelemetry::Interval)
    } else if retention.is_zero() {
        Err(InvalidTelemetry::Retention)
    } else if interval > retention {
        Err(InvalidTelemetry::ShortRetention)
    } else {
        Ok(())
    }
}

fn encryption(c: &Config, warnings: &mut Vec<String>) -> Result<(), InvalidConfig> {
    if !c.server.enabled || c.server.encrypt.is_empty() {
        return Ok(());
    }
    GossipKey::parse(c.server.encrypt.expose()).map_err(InvalidConfig::EncryptionKey)?;
    let file = c.server_dir().join(KEYRING_FILE);
    if !c.dev && file.is_absolute() && file.exists() {
        warnings.push("WARNING: keyring exists but -encrypt given, using keyring".into());
    }
    Ok(())
}

fn client(c: &Config) -> Result<(), InvalidConfig> {
    let client = &c.client;
    if let Some(key) = client.meta.keys().find(|k| k.split('.').any(str::is_empty)) {
        return Err(InvalidConfig::MetaKey(key.clone()));
    }
    let algorithm = c.server.default_scheduler_config.as_ref().map(|s| &s.scheduler_algorithm);
    if let Some(other) = algorithm.filter(|a| !SchedulerAlgorithm::from(*a).is_known()) {
        return Err(InvalidConfig::SchedulerAlgorithm(other.clone()));
    }
    let pool = &client.node_pool;
    let fits = pool.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_'));
    if !fits || pool.is_empty() || pool.len() > 128 {
        return Err(InvalidConfig::NodePoolName(pool.clone()));
    }
    if pool == "all" {
        return Err(InvalidConfig::NodePoolAll);
    }
    if client.host_volume.values().any(|v| v.path.is_empty()) {
        return Err(InvalidConfig::HostVolumePath);
    }
    let (min, max) = (client.min_dynamic_port, client.max_dynamic_port);
    for (setting, port) in [("min_dynamic_port", min), ("max_dynamic_port", max)] {
        if !(0..=65_536).contains(&port) {
            return Err(InvalidConfig::DynamicPort { setting, port });
        }
    }
    if min > max {
        return Err(InvalidConfig::DynamicPorts { min, max });
    }
    let ports = |setting: String, text: &str| match parse_ports(text) {
        Ok(_) => Ok(()),
        Err(source) => Err(InvalidConfig::ReservedPorts { setting, ports: text.into(), source }),
    };
    ports("reserved.reserved_ports".into(), &client.reserved.reserved_ports)?;
    for (name, network) in &client.host_network {
        ports(format!("host_network[{}].reserved_ports", quoted(name)), &network.reserved_ports)?;
    }
    super::super::client_settings::docker(c).map_err(InvalidConfig::Docker)?;
    let limit = client.artifact.decompression_file_count_limit;
    if limit < 0 {
        return Err(InvalidConfig::DecompressionFileCount(limit));
    }
    for path in &client.artifact.filesystem_isolation_extra_paths {
        ExtraPath::parse(path).map_err(InvalidConfig::IsolationPath)?;
    }
    let family = &client.preferred_address_family;
    if !matches!(family.as_str(), "" | "ipv4" | "ipv6") {
        return Err(InvalidConfig::AddressFamily(family.clone()));
    }
    if c.rpc.accept_backlog < 0 {
        return Err(InvalidConfig::AcceptBacklog(c.rpc.accept_backlog));
    }
    Ok(())
}

fn directories_and_roles(c: &Config, warnings: &mut Vec<String>) -> Result<(), InvalidConfig> {
    let (server, client) = (&c.server, &c.client);
    if !c.dev && c.data_dir.is_empty() {
        if server.enabled {
            return Err(InvalidConfig::NoDataDir);
        }
        let dirs = [&client.state_dir, &client.alloc_dir, &client.alloc_mounts_dir, &c.plugin_dir];
        if client.enabled && dirs.iter().any(|d| d.is_empty()) {
            return Err(InvalidConfig::NoClientDirs);
        }
    }
    if server.bootstrap_expect > 0 && !server.enabled {
        return Err(InvalidConfig::BootstrapWithoutServer);
    }
    if server.enabled && server.bootstrap_expect == 1 && !c.dev {
        warnings.push("WARNING: Bootstrap mode enabled! Potentially unsafe operation.".into());
    }
    if server.enabled && server.bootstrap_expect % 2 == 0 {
        warnings.push("WARNING: Number of bootstrap servers should ideally be set to an odd number.".into());
    }
    Ok(())
}

fn issuer(c: &Config, warnings: &mut Vec<String>) {
    let issuer = &c.server.oidc_issuer;
    if !issuer.is_empty() && !issuer.starts_with("https://") {
        let what = if issuer.contains("://") { "should use https" } else { "is not a URL" };
        warnings.push(format!("WARNING: server.oidc_issuer {} {what}", quoted(issuer)));
    }
}

/// The settings for joining that exclude each other (`docs/spec/agent-config.md §8.4`).
fn joining(c: &Config) -> Result<(), InvalidConfig> {
    let (server, join) = (&c.server, &c.server.server_join);
    let both = |setting| Err(InvalidConfig::JoinedTwice(setting));
    if !join.retry_join.is_empty() {
        if !server.retry_join.is_empty() {
            return both("retry_join");
        } else if !server.start_join.is_empty() {
            return both("start_join");
        } else if server.retry_max != 0 {
            return both("retry_max");
        } else if !server.retry_interval.is_zero() {
            return both("retry_interval");
        } else if !join.start_join.is_empty() {
            return Err(InvalidConfig::RetryAndStartJoin);
        }
    }
    if !server.retry_join.is_empty() && !server.start_join.is_empty() {
        return Err(InvalidConfig::RetryAndStartJoin);
    }
    let join = &c.client.server_join;
    if !join.retry_join.is_empty() && !join.start_join.is_empty() {
        return Err(InvalidConfig::ClientStartJoin);
    }
    let all = [&c.server.server_join, join].into_iter().flat_map(|j| j.start_join.iter().chain(&j.retry_join));
    let mut all = all.chain(&server.start_join).chain(&server.retry_join);
    match all.find(|a| a.starts_with("provider=") || a.starts_with("exec=")) {
        Some(_) => Err(InvalidConfig::Discovery),
        None => Ok(()),
    }
}

/// The checks at the start of the agent. `cpus` is the number of processors.
///
/// # Errors
/// A setting with which the agent cannot start.
pub fn check_start(c: &Config, cpus: usize) -> Result<(), RefusedStart> {
    c.telemetry_settings()?;
    if c.limits.http_max_conns_per_client < 0 {
        return Err(RefusedStart::HttpConnections);
    }
    if c.server.enabled {
        server_start(c, cpus)?;
    }
    if c.client.enabled {
        client_start(c)?;
    }
    Ok(())
}

fn server_start(c: &Config, cpus: usize) -> Result<(), RefusedServer> {
    let s = &c.server;
    if s.raft_protocol != 3 {
        return Err(RefusedServer::RaftProtocol(s.raft_protocol));
    }
    if !(1..=10).contains(&s.raft_multiplier) {
        return Err(RefusedServer::RaftMultiplier(s.raft_multiplier));
    }
    check_schedulers(c, cpus)?;
    if !(100..=32_766).contains(&s.job_max_priority) {
        return Err(RefusedServer::JobMaxPriority(s.job_max_priority));
    }
    if !(50..s.job_max_priority).contains(&s.job_default_priority) {
        let (value, max) = (s.job_default_priority, s.job_max_priority);
        return Err(RefusedServer::JobDefaultPriority { value, max });
    }
    let rpc = c.limits.rpc_max_conns_per_client;
    if rpc != 0 && rpc <= 25 {
        return Err(RefusedServer::RpcConnections(rpc));
    }
    server_rules(c)
}

/// The rules that concern one setting each.
fn server_rules(c: &Config) -> Result<(), RefusedServer> {
    let s = &c.server;
    let rules = [
        (s.job_gc_interval > 0, "job_gc_interval", "should be greater than 0s"),
        (s.csi_volume_claim_gc_interval > 0, "csi_volume_claim_gc_interval", "should be greater than 0s"),
        (s.root_key_gc_interval > 0, "root_key_gc_interval", "should be greater than 0s"),
        (
            !s.plan_rejection_tracker.node_window.is_zero(),
            "plan_rejection_tracker.node_window",
            "must be greater than 0",
        ),
        (s.event_buffer_size >= 0, "event_buffer_size", "must be >= 0"),
        (s.deploy_query_rate_limit > 0.0, "deploy_query_rate_limit", "must be greater than 0"),
        (s.job_max_count >= 0, "job_max_count", "must be >= 0"),
        (s.job_tracked_versions > 0, "job_tracked_versions", "must be greater than 0"),
        (s.raft_trailing_logs >= 1, "raft_trailing_logs", "must be >= 1"),
        (s.raft_snapshot_interval.as_millis() >= 5, "raft_snapshot_interval", "must be >= 5ms"),
        (
            matches!(s.client_introduction.enforcement.as_str(), "none" | "warn" | "strict"),
            "client_introduction.enforcement",
            "must be none, warn or strict",
        ),
    ];
    match rules.into_iter().find(|(holds, ..)| !holds) {
        Some((_, setting, rule)) => Err(RefusedServer::Rule { setting, rule }),
        None => Ok(()),
    }
}

fn check_schedulers(c: &Config, cpus: usize) -> Result<(), RefusedServer> {
    let max = i64::try_from(cpus).unwrap_or(i64::MAX);
    if c.server.num_schedulers.is_some_and(|n| !(0..=max).contains(&n)) {
        return Err(RefusedServer::SchedulerCount(cpus));
    }
    match c.server.enabled_schedulers.iter().find(|s| !JobType::from(s.as_str()).is_known()) {
        Some(s) => Err(RefusedServer::UnknownScheduler(s.clone())),
        None => Ok(()),
    }
}

fn client_start(c: &Config) -> Result<(), RefusedClient> {
    for (name, volume) in &c.client.host_volume {
        if let Err(source) = std::fs::metadata(&volume.path) {
            return Err(RefusedClient::HostVolume { name: name.clone(), path: volume.path.clone(), source });
        }
    }
    let subnet = &c.client.bridge_network_subnet;
    let cidr = subnet.split_once('/').is_some_and(|(ip, bits)| {
        ip.parse::<std::net::Ipv4Addr>().is_ok() && bits.parse::<u8>().is_ok_and(|b| b <= 32)
    });
    if !cidr {
        return Err(RefusedClient::BridgeSubnet(subnet.clone()));
    }
    let subnet = &c.client.bridge_network_subnet_ipv6;
    let cidr = subnet.split_once('/').is_some_and(|(ip, bits)| {
        ip.parse::<std::net::Ipv6Addr>().is_ok() && bits.parse::<u8>().is_ok_and(|b| b <= 128)
    });
    if !cidr && !subnet.is_empty() {
        return Err(RefusedClient::BridgeSubnetIpv6(subnet.clone()));
    }
    Ok(())
}

/// Parses a list of ports such as `80,8000-8010`; the result is sorted and has no duplicates.
///
/// # Errors
/// The first part that is no port and no range of ports.
pub fn parse_ports(text: &str) -> Result<Vec<u16>, InvalidPorts> {
    let mut out = std::collections::BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        if text.trim().is_empty() {
            break;
        }
        if part.is_empty() {
            return Err(InvalidPorts::Empty);
        }
        let ends: Vec<&str> = part.split('-').collect();
        match ends.as_slice() {
            [one] => {
                out.insert(port(one)?);
            }
            [start, end] => {
                let (start, end) = (port(start)?, port(end)?);
                if end < start {
                    return Err(InvalidPorts::Range { start, end });
                }
                out.extend(start..=end);
            }
            _ => return Err(InvalidPorts::Form),
        }
    }
    Ok(out.into_iter().collect())
}

fn port(text: &str) -> Result<u16, InvalidPorts> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(InvalidPorts::Syntax(text.into()));
    }
    match text.parse::<u64>() {
        Err(_) => Err(InvalidPorts::OutOfRange(text.into())),
        Ok(0) => Err(InvalidPorts::Zero),
        Ok(n) => u16::try_from(n).map_err(|_| InvalidPorts::TooLarge(n)),
    }
}

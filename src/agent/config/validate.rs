//! Validation of a configuration (`docs/spec/agent-config.md §4`).

use std::path::Path;

use super::load::reason;
use super::{Config, autoscaling};
use encamp_model::quoted;

/// A finding about a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A warning; the configuration can be used.
    Warning(String),
    /// An error; the validation ends.
    Error(String),
}

/// The levels of log messages.
const LEVELS: [&str; 6] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"];

/// All findings in order: warnings, and at most one error at the end.
pub fn validate(config: &Config) -> Vec<Finding> {
    let mut warnings = Vec::new();
    let error = check(config, &mut warnings).err();
    warnings.into_iter().map(Finding::Warning).chain(error.map(Finding::Error)).collect()
}

fn check(c: &Config, warnings: &mut Vec<String>) -> Result<(), String> {
    let fail = |condition: bool, text: &str| if condition { Err(text.to_string()) } else { Ok(()) };
    fail(
        !(c.server.enabled || c.client.enabled || c.dev),
        "Must specify either server, client or dev mode for the agent.",
    )?;
    fail(c.region.contains('\0'), "Region contains invalid characters")?;
    fail(c.datacenter.contains(['\0', '*']), "Datacenter contains invalid characters (null or '*')")?;
    telemetry(c)?;
    let secured = c.tls.http && c.tls.rpc;
    if !(c.dev || secured) {
        warnings.push("WARNING: mTLS is not configured - Nomad is not secure without mTLS!".into());
    }
    encryption(c, warnings)?;
    for (name, path) in [
        ("data-dir", &c.data_dir),
        ("plugin-dir", &c.plugin_dir),
        ("alloc-dir", &c.client.alloc_dir),
        ("alloc-mounts-dir", &c.client.alloc_mounts_dir),
        ("host-volumes-dir", &c.client.host_volumes_dir),
        ("host-volume-plugin-dir", &c.client.host_volume_plugin_dir),
        ("state-dir", &c.client.state_dir),
    ] {
        if !path.is_empty() && !Path::new(path).is_absolute() {
            return Err(format!("{name} must be given as an absolute path: got {path}"));
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
    fail(c.server.protocol_version != 0, "Please remove deprecated protocol_version field from config.")?;
    let known = ["aead", "awskms", "azurekeyvault", "gcpckms", "transit"];
    if let Some(other) = c.keyring.keys().find(|p| !known.contains(&p.as_str())) {
        return Err(format!("unknown keyring provider {}: only aead is supported", quoted(other)));
    }
    if let Some(other) = c.keyring.keys().find(|p| *p != "aead") {
        return Err(format!("keyring provider {} is not supported: use aead", quoted(other)));
    }
    joining(c)?;
    level(&c.log_level).map(|_| ())
}

/// The level in capital letters, or an error.
pub fn level(text: &str) -> Result<String, String> {
    let upper = text.to_uppercase();
    if LEVELS.contains(&upper.as_str()) {
        return Ok(upper);
    }
    Err(format!("Invalid log level: {upper}. Valid log levels are: [{}]", LEVELS.join(" ")))
}

fn telemetry(c: &Config) -> Result<(), String> {
    let (interval, retention) = (c.telemetry.in_memory_collection_interval, c.telemetry.in_memory_retention_period);
    let what = if interval.is_zero() {
        "collection interval must be greater than zero"
    } else if retention.is_zero() {
        "retention period must be greater than zero"
    } else if interval > retention {
        "collection interval cannot be greater than retention period"
    } else {
        return Ok(());
    };
    Err(format!("telemetry block invalid: telemetry in-memory {what}"))
}

fn encryption(c: &Config, warnings: &mut Vec<String>) -> Result<(), String> {
    if !c.server.enabled || c.server.encrypt.is_empty() {
        return Ok(());
    }
    use base64::Engine;
    let key = base64::engine::general_purpose::STANDARD.decode(c.server.encrypt.expose());
    let key = key.map_err(|_| "Invalid encryption key: it is not base64".to_string())?;
    if !matches!(key.len(), 16 | 24 | 32) {
        return Err(format!("Invalid encryption key: it has {} bytes, not 16, 24 or 32", key.len()));
    }
    let file = c.server_dir().join("serf.keyring");
    if !c.dev && file.is_absolute() && file.exists() {
        warnings.push("WARNING: keyring exists but -encrypt given, using keyring".into());
    }
    Ok(())
}

fn client(c: &Config) -> Result<(), String> {
    let client = &c.client;
    if let Some(key) = client.meta.keys().find(|k| k.split('.').any(str::is_empty)) {
        return Err(format!("Invalid Client.Meta key: {key}"));
    }
    let algorithm = c.server.default_scheduler_config.as_ref().map(|s| s.scheduler_algorithm.as_str());
    if let Some(other) = algorithm.filter(|a| !matches!(*a, "binpack" | "spread")) {
        return Err(format!("invalid scheduler algorithm: {other}"));
    }
    let pool = &client.node_pool;
    let fits = pool.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_'));
    if !fits || pool.is_empty() || pool.len() > 128 {
        let rule = "must match regex ^[a-zA-Z0-9-_]{1,128}$";
        return Err(format!("Invalid node pool: invalid name {}, {rule}", quoted(pool)));
    }
    if pool == "all" {
        return Err("Invalid node pool: node is not allowed to register in node pool \"all\"".into());
    }
    if client.host_volume.values().any(|v| v.path.is_empty()) {
        return Err("Missing path in host_volume config".into());
    }
    let (min, max) = (client.min_dynamic_port, client.max_dynamic_port);
    for (name, port) in [("min_dynamic_port", min), ("max_dynamic_port", max)] {
        if !(0..=65_536).contains(&port) {
            return Err(format!("Invalid dynamic port range: {name}={port}"));
        }
    }
    if min > max {
        return Err(format!("Invalid dynamic port range: min_dynamic_port={min} and max_dynamic_port={max}"));
    }
    let ports = |label: String, text: &str| {
        let wrong = |e| format!("{label} {} invalid: {e}", quoted(text));
        parse_ports(text).map(|_| ()).map_err(wrong)
    };
    ports("reserved.reserved_ports".into(), &client.reserved.reserved_ports)?;
    for (name, network) in &client.host_network {
        ports(format!("host_network[{}].reserved_ports", quoted(name)), &network.reserved_ports)?;
    }
    let limit = client.artifact.decompression_file_count_limit;
    if limit < 0 {
        let what = "decompression_file_count_limit must be >= 0 but found";
        return Err(format!("client.artifact block invalid: {what} {limit}"));
    }
    let family = &client.preferred_address_family;
    if !matches!(family.as_str(), "" | "ipv4" | "ipv6") {
        return Err(format!("Invalid preferred-address-family value: {family} (valid values: ipv4, ipv6)"));
    }
    if c.rpc.accept_backlog < 0 {
        return Err(format!("rpc block invalid: accept_backlog must be >= 0 but found {}", c.rpc.accept_backlog));
    }
    Ok(())
}

fn directories_and_roles(c: &Config, warnings: &mut Vec<String>) -> Result<(), String> {
    let (server, client) = (&c.server, &c.client);
    if !c.dev && c.data_dir.is_empty() {
        if server.enabled {
            return Err("Must specify \"data_dir\" config option or \"data-dir\" CLI flag".into());
        }
        let dirs = [&client.state_dir, &client.alloc_dir, &client.alloc_mounts_dir, &c.plugin_dir];
        if client.enabled && dirs.iter().any(|d| d.is_empty()) {
            let what = "the state, alloc-dir, alloc-mounts-dir and plugin-dir if data-dir is omitted.";
            return Err(format!("Must specify {what}"));
        }
    }
    if server.bootstrap_expect > 0 && !server.enabled {
        return Err("Bootstrap requires server mode to be enabled".into());
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
fn joining(c: &Config) -> Result<(), String> {
    let (server, join) = (&c.server, &c.server.server_join);
    let both = |name: &str| {
        Err(format!("server_join and {name} cannot both be defined; prefer setting the server_join block"))
    };
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
            return Err("retry_join and start_join cannot both be defined".into());
        }
    }
    if !server.retry_join.is_empty() && !server.start_join.is_empty() {
        return Err("retry_join and start_join cannot both be defined".into());
    }
    let join = &c.client.server_join;
    if !join.retry_join.is_empty() && !join.start_join.is_empty() {
        return Err("start_join is not supported for Nomad clients".into());
    }
    let all = [&c.server.server_join, join].into_iter().flat_map(|j| j.start_join.iter().chain(&j.retry_join));
    let mut all = all.chain(&server.start_join).chain(&server.retry_join);
    match all.find(|a| a.starts_with("provider=") || a.starts_with("exec=")) {
        Some(_) => Err("server_join: discovery by a provider or a command is not supported; give addresses".into()),
        None => Ok(()),
    }
}

/// The checks at the start of the agent, and their message prefixes. `cpus` is the number of processors.
pub fn check_start(c: &Config, cpus: usize) -> Result<(), String> {
    c.telemetry_settings().map_err(|e| format!("Error initializing telemetry: {e}"))?;
    if c.limits.http_max_conns_per_client < 0 {
        return Err("Error starting http server: http_max_conns_per_client must be >= 0".into());
    }
    if c.server.enabled {
        server_start(c, cpus).map_err(|e| format!("Error starting agent: server config setup failed: {e}"))?;
    }
    if c.client.enabled {
        client_start(c).map_err(|e| format!("Error starting agent: client setup failed: {e}"))?;
    }
    Ok(())
}

fn server_start(c: &Config, cpus: usize) -> Result<(), String> {
    let s = &c.server;
    if s.raft_protocol != 3 {
        return Err(format!("raft_protocol must be 3 in Nomad v1.4 and later, got {}", s.raft_protocol));
    }
    if !(1..=10).contains(&s.raft_multiplier) {
        return Err(format!("raft_multiplier cannot be {}. Must be between 1 and 10", s.raft_multiplier));
    }
    check_schedulers(c, cpus)?;
    if !(100..=32_766).contains(&s.job_max_priority) {
        return Err(format!("job_max_priority cannot be {}. Must be between 100 and 32766", s.job_max_priority));
    }
    if !(50..s.job_max_priority).contains(&s.job_default_priority) {
        let (value, max) = (s.job_default_priority, s.job_max_priority);
        return Err(format!("job_default_priority cannot be {value}. Must be between 50 and {max}"));
    }
    let rpc = c.limits.rpc_max_conns_per_client;
    if rpc != 0 && rpc <= 25 {
        return Err(format!("rpc_max_conns_per_client must be > 25; found: {rpc}"));
    }
    let positive = [
        (s.job_gc_interval > 0, "job_gc_interval should be greater than 0s"),
        (s.csi_volume_claim_gc_interval > 0, "csi_volume_claim_gc_interval should be greater than 0s"),
        (s.root_key_gc_interval > 0, "root_key_gc_interval should be greater than 0s"),
        (!s.plan_rejection_tracker.node_window.is_zero(), "plan_rejection_tracker.node_window must be greater than 0"),
        (s.event_buffer_size >= 0, "event_buffer_size must be >= 0"),
        (s.deploy_query_rate_limit > 0.0, "deploy_query_rate_limit must be greater than 0"),
        (s.job_max_count >= 0, "job_max_count must be >= 0"),
        (s.job_tracked_versions > 0, "job_tracked_versions must be greater than 0"),
        (s.raft_trailing_logs >= 1, "raft_trailing_logs must be >= 1"),
        (s.raft_snapshot_interval.as_millis() >= 5, "raft_snapshot_interval must be >= 5ms"),
        (
            matches!(s.client_introduction.enforcement.as_str(), "none" | "warn" | "strict"),
            "client_introduction.enforcement must be none, warn or strict",
        ),
    ];
    match positive.iter().find(|(holds, _)| !holds) {
        Some((_, text)) => Err(text.to_string()),
        None => Ok(()),
    }
}

/// The checks that a reload must also make.
pub fn check_schedulers(c: &Config, cpus: usize) -> Result<(), String> {
    let max = i64::try_from(cpus).unwrap_or(i64::MAX);
    if c.server.num_schedulers.is_some_and(|n| !(0..=max).contains(&n)) {
        return Err(format!("number of schedulers should be between 0 and {cpus}"));
    }
    let known = ["service", "batch", "system", "sysbatch", "_core"];
    match c.server.enabled_schedulers.iter().find(|s| !known.contains(&s.as_str())) {
        Some(s) => Err(format!(
            "Failed to start workers: invalid configuration: unknown scheduler {} in enabled schedulers",
            quoted(s)
        )),
        None => Ok(()),
    }
}

fn client_start(c: &Config) -> Result<(), String> {
    for (name, volume) in &c.client.host_volume {
        if let Err(e) = std::fs::metadata(&volume.path) {
            let (path, reason) = (&volume.path, reason(&e));
            return Err(format!("node setup failed: failed to validate volume {name}, err: stat {path}: {reason}"));
        }
    }
    let subnet = &c.client.bridge_network_subnet;
    let cidr = subnet.split_once('/').is_some_and(|(ip, bits)| {
        ip.parse::<std::net::Ipv4Addr>().is_ok() && bits.parse::<u8>().is_ok_and(|b| b <= 32)
    });
    if !cidr {
        return Err(format!("invalid bridge_network_subnet: invalid CIDR address: {subnet}"));
    }
    Ok(())
}

/// Parses a list of ports such as `80,8000-8010`; the result is sorted and has no duplicates.
pub fn parse_ports(text: &str) -> Result<Vec<u16>, String> {
    let mut out = std::collections::BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        if text.trim().is_empty() {
            break;
        }
        if part.is_empty() {
            return Err("can't specify empty port".into());
        }
        let ends: Vec<&str> = part.split('-').collect();
        match ends.as_slice() {
            [one] => {
                out.insert(port(one)?);
            }
            [start, end] => {
                let (start, end) = (port(start)?, port(end)?);
                if end < start {
                    return Err(format!("invalid range: ending value ({end}) less than starting ({start}) value"));
                }
                out.extend(start..=end);
            }
            _ => return Err("can only parse single port numbers or port ranges (ex. 80,100-120,150)".into()),
        }
    }
    Ok(out.into_iter().collect())
}

fn port(text: &str) -> Result<u16, String> {
    let text = text.trim();
    let number = |why: &str| format!("strconv.ParseUint: parsing {}: {why}", quoted(text));
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(number("invalid syntax"));
    }
    match text.parse::<u64>() {
        Err(_) => Err(number("value out of range")),
        Ok(0) => Err("port must be > 0".into()),
        Ok(n) => u16::try_from(n).map_err(|_| format!("port must be < 65536 but found {n}")),
    }
}

//! The reasons why a configuration is refused.

use std::io;

use encamp_autoscale::notify::BackendError;
use encamp_client::drivers::config_block::ConfigError;
use encamp_model::{InvalidGossipKey, quoted};
use encamp_telemetry::FilterError;
use thiserror::Error;

/// The levels of log messages.
pub(super) const LEVELS: [&str; 6] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"];

/// A configuration that is invalid (`docs/spec/agent-config.md §4`).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidConfig {
    /// The agent is neither a server nor a client.
    #[error("Must specify either server, client or dev mode for the agent.")]
    NoRole,
    /// The name of the region has a NUL character.
    #[error("Region contains invalid characters")]
    Region,
    /// The name of the datacenter has a NUL character or an asterisk.
    #[error("Datacenter contains invalid characters (null or '*')")]
    Datacenter,
    /// The intervals of the metrics in memory contradict each other.
    #[error("telemetry block invalid: telemetry in-memory {0}")]
    Telemetry(InvalidTelemetry),
    /// The gossip key.
    #[error("Invalid encryption key: {0}")]
    EncryptionKey(InvalidGossipKey),
    /// A directory is given by a relative path.
    #[error("{setting} must be given as an absolute path: got {path}")]
    RelativePath {
        /// The name of the flag of the setting.
        setting: &'static str,
        /// The path.
        path: String,
    },
    /// A key of the client's metadata has an empty part.
    #[error("Invalid Client.Meta key: {0}")]
    MetaKey(String),
    /// No such scheduler algorithm.
    #[error("invalid scheduler algorithm: {0}")]
    SchedulerAlgorithm(String),
    /// The name of the client's node pool does not match the rule for such names.
    #[error("Invalid node pool: invalid name {}, must match regex ^[a-zA-Z0-9-_]{{1,128}}$", quoted(.0))]
    NodePoolName(String),
    /// The client's node pool is the one that all nodes are in.
    #[error("Invalid node pool: node is not allowed to register in node pool \"all\"")]
    NodePoolAll,
    /// A host volume has no path.
    #[error("Missing path in host_volume config")]
    HostVolumePath,
    /// A bound of the dynamic ports is no port.
    #[error("Invalid dynamic port range: {setting}={port}")]
    DynamicPort {
        /// The setting.
        setting: &'static str,
        /// Its value.
        port: i64,
    },
    /// The bounds of the dynamic ports are in the wrong order.
    #[error("Invalid dynamic port range: min_dynamic_port={min} and max_dynamic_port={max}")]
    DynamicPorts {
        /// The lowest port.
        min: i64,
        /// The highest port.
        max: i64,
    },
    /// A list of reserved ports.
    #[error("{setting} {} invalid: {source}", quoted(.ports))]
    ReservedPorts {
        /// The setting.
        setting: String,
        /// Its value.
        ports: String,
        /// The problem.
        source: InvalidPorts,
    },
    /// The limit of the files of an archive is negative.
    #[error("client.artifact block invalid: decompression_file_count_limit must be >= 0 but found {0}")]
    DecompressionFileCount(i64),
    /// A path for downloads of artifacts is none.
    #[error("client.artifact block invalid: filesystem_isolation_extra_paths: {0}")]
    IsolationPath(encamp_client::config::ExtraPathError),
    /// No such address family.
    #[error("Invalid preferred-address-family value: {0} (valid values: ipv4, ipv6)")]
    AddressFamily(String),
    /// The backlog of connections is negative.
    #[error("rpc block invalid: accept_backlog must be >= 0 but found {0}")]
    AcceptBacklog(i64),
    /// A server has no data directory.
    #[error("Must specify \"data_dir\" config option or \"data-dir\" CLI flag")]
    NoDataDir,
    /// A client has neither a data directory nor all the others.
    #[error("Must specify the state, alloc-dir, alloc-mounts-dir and plugin-dir if data-dir is omitted.")]
    NoClientDirs,
    /// `bootstrap_expect` is set on an agent that is no server.
    #[error("Bootstrap requires server mode to be enabled")]
    BootstrapWithoutServer,
    /// The block `audit`.
    #[error("audit block invalid: {0}")]
    Audit(InvalidAudit),
    /// The settings of the driver `docker`.
    #[error("plugin \"docker\" invalid: {0}")]
    Docker(ConfigError),
    /// The block `autoscaling`.
    #[error(transparent)]
    Autoscaling(#[from] InvalidAutoscaling),
    /// A setting of former versions is set.
    #[error("Please remove deprecated protocol_version field from config.")]
    ProtocolVersion,
    /// No such keyring provider.
    #[error("unknown keyring provider {}: only aead is supported", quoted(.0))]
    UnknownKeyring(String),
    /// A keyring provider that this agent does not have.
    #[error("keyring provider {} is not supported: use aead", quoted(.0))]
    UnsupportedKeyring(String),
    /// `server_join` and the setting that it replaces are both set.
    #[error("server_join and {0} cannot both be defined; prefer setting the server_join block")]
    JoinedTwice(&'static str),
    /// Both lists of servers to join are set.
    #[error("retry_join and start_join cannot both be defined")]
    RetryAndStartJoin,
    /// A client has both lists of servers to join.
    #[error("start_join is not supported for Nomad clients")]
    ClientStartJoin,
    /// Servers are to be found by a cloud provider or a command.
    #[error("server_join: discovery by a provider or a command is not supported; give addresses")]
    Discovery,
    /// The level of log messages.
    #[error(transparent)]
    LogLevel(#[from] InvalidLogLevel),
}

/// Intervals of the metrics in memory that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidTelemetry {
    /// The collection interval is zero.
    #[error("collection interval must be greater than zero")]
    Interval,
    /// The retention period is zero.
    #[error("retention period must be greater than zero")]
    Retention,
    /// The retention period is shorter than the collection interval.
    #[error("collection interval cannot be greater than retention period")]
    ShortRetention,
}

/// The text is not the name of a log level; it is held in capital letters.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Invalid log level: {}. Valid log levels are: [{}]", .0, LEVELS.join(" "))]
pub struct InvalidLogLevel(pub String);

/// A list of ports that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidPorts {
    /// There is nothing between two commas.
    #[error("can't specify empty port")]
    Empty,
    /// A range ends before it starts.
    #[error("invalid range: ending value ({end}) less than starting ({start}) value")]
    Range {
        /// The start of the range.
        start: u16,
        /// Its end.
        end: u16,
    },
    /// An entry has more than two ports.
    #[error("can only parse single port numbers or port ranges (ex. 80,100-120,150)")]
    Form,
    /// The text is not a number.
    #[error("strconv.ParseUint: parsing {}: invalid syntax", quoted(.0))]
    Syntax(String),
    /// The number has more than 64 bits.
    #[error("strconv.ParseUint: parsing {}: value out of range", quoted(.0))]
    OutOfRange(String),
    /// The port is 0.
    #[error("port must be > 0")]
    Zero,
    /// The number is larger than any port.
    #[error("port must be < 65536 but found {0}")]
    TooLarge(u64),
}

/// A block `audit` that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidAudit {
    /// A sink has no file.
    #[error("sink {}: path is missing: without data_dir there is no other place", quoted(.0))]
    NoPath(String),
    /// Two sinks have one file.
    #[error("sinks {} and {} have the same path", quoted(.one), quoted(.other))]
    SamePath {
        /// A sink.
        one: String,
        /// The other.
        other: String,
    },
    /// The number of old files is negative.
    #[error("sink {}: rotate_max_files must be >= 0 but found {number}", quoted(.sink))]
    MaxFiles {
        /// The sink.
        sink: String,
        /// The number.
        number: i64,
    },
    /// A filter leaves nothing out.
    #[error("filter {}: {key} is missing", quoted(.filter))]
    EmptyFilter {
        /// The filter.
        filter: String,
        /// The list that is empty.
        key: &'static str,
    },
}

/// A block `autoscaling` that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidAutoscaling {
    /// A duration is zero.
    #[error("autoscaling block invalid: {0} must be greater than zero")]
    Zero(&'static str),
    /// No pool would be evaluated.
    #[error("autoscaling block invalid: concurrency must be at least 1 but found {0}")]
    Concurrency(i64),
    /// A block `notify`.
    #[error("autoscaling block invalid: notify {}: {source}", quoted(.name))]
    Notify {
        /// Its label.
        name: String,
        /// The problem.
        source: InvalidNotify,
    },
    /// A block `provider`.
    #[error("autoscaling block invalid: provider {}: {source}", quoted(.name))]
    Provider {
        /// Its label.
        name: String,
        /// The problem.
        source: InvalidProvider,
    },
}

/// A receiver of notifications that cannot be used. No text holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidNotify {
    /// There is no type.
    #[error("type is missing: webhook, pagerduty or opsgenie")]
    NoType,
    /// No such type.
    #[error("type must be webhook, pagerduty or opsgenie but found {}", quoted(.0))]
    Type(String),
    /// A webhook has a key.
    #[error("key has no meaning for a webhook; put it into the url")]
    WebhookKey,
    /// A webhook has no URL.
    #[error("url is missing")]
    NoUrl,
    /// The service requires a key.
    #[error("key is missing")]
    NoKey,
    /// The URL or the key.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// A provider of instances whose settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidProvider {
    /// No such provider.
    #[error("it is not known: command and local have settings, aws needs none")]
    Unknown,
    /// `aws` has a block.
    #[error("it has no settings; remove the block")]
    NoSettings,
    /// `command` has settings of `local`.
    #[error("directory and group are for the provider \"local\"")]
    LocalSettings,
    /// `command` has no program.
    #[error("command is missing: the program and its arguments as a list")]
    NoCommand,
    /// `local` has settings of `command`.
    #[error("command is for the provider \"command\"")]
    CommandSettings,
    /// There is no directory for the instances.
    #[error("directory is missing: without data_dir there is no other place")]
    NoDirectory,
    /// The directory is a relative path.
    #[error("directory must be given as an absolute path: got {0}")]
    RelativeDirectory(String),
    /// A group of `local`.
    #[error("group {}: {source}", quoted(.pool))]
    Group {
        /// The label of the group: the name of its pool.
        pool: String,
        /// The problem.
        source: InvalidGroup,
    },
}

/// A scaling group of the provider `local` whose settings cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidGroup {
    /// The label is empty.
    #[error("its label is the name of a pool")]
    NoPool,
    /// There is no maximum.
    #[error("max is missing")]
    NoMax,
    /// The minimum is negative.
    #[error("min must be >= 0 but found {0}")]
    Min(i64),
    /// The maximum is less than the minimum.
    #[error("max is {max}, which is less than min, {min}")]
    Max {
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// The initial size is not between the bounds.
    #[error("desired must be between {min} and {max} but found {desired}")]
    Desired {
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
        /// The initial size.
        desired: i64,
    },
    /// There is no configuration for the instances.
    #[error("config is missing: an agent configuration file for its instances")]
    NoConfig,
}

/// A valid configuration with which no agent can start.
#[derive(Debug, Error)]
pub enum RefusedStart {
    /// A rule for metrics.
    #[error("Error initializing telemetry: {0}")]
    Telemetry(#[from] FilterError),
    /// The limit of connections per client is negative.
    #[error("Error starting http server: http_max_conns_per_client must be >= 0")]
    HttpConnections,
    /// A setting of the server.
    #[error("Error starting agent: server config setup failed: {0}")]
    Server(#[from] RefusedServer),
    /// A setting of the client.
    #[error("Error starting agent: client setup failed: {0}")]
    Client(#[from] RefusedClient),
}

/// A setting with which no server can start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RefusedServer {
    /// Another version of the Raft protocol.
    #[error("raft_protocol must be 3 in Nomad v1.4 and later, got {0}")]
    RaftProtocol(i64),
    /// The multiplier of Raft's times.
    #[error("raft_multiplier cannot be {0}. Must be between 1 and 10")]
    RaftMultiplier(i64),
    /// More schedulers than processors, whose number this is.
    #[error("number of schedulers should be between 0 and {0}")]
    SchedulerCount(usize),
    /// No such scheduler.
    #[error(
        "Failed to start workers: invalid configuration: unknown scheduler {} in enabled schedulers",
        quoted(.0)
    )]
    UnknownScheduler(String),
    /// The highest priority of jobs.
    #[error("job_max_priority cannot be {0}. Must be between 100 and 32766")]
    JobMaxPriority(i64),
    /// The usual priority of jobs.
    #[error("job_default_priority cannot be {value}. Must be between 50 and {max}")]
    JobDefaultPriority {
        /// Its value.
        value: i64,
        /// The highest priority of jobs.
        max: i64,
    },
    /// The limit of connections per client is less than the agents of a cluster use.
    #[error("rpc_max_conns_per_client must be > 25; found: {0}")]
    RpcConnections(i64),
    /// Any other setting whose value does not follow its rule.
    #[error("{setting} {rule}")]
    Rule {
        /// The setting.
        setting: &'static str,
        /// The rule for its value.
        rule: &'static str,
    },
}

/// A setting with which no client can start.
#[derive(Debug, Error)]
pub enum RefusedClient {
    /// The directory of a host volume cannot be used.
    #[error("node setup failed: failed to validate volume {name}, err: stat {path}: {}", reason(.source))]
    HostVolume {
        /// The name of the volume.
        name: String,
        /// Its directory.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The subnet of the bridge network is no subnet.
    #[error("invalid bridge_network_subnet: invalid CIDR address: {0}")]
    BridgeSubnet(String),
    /// The IPv6 subnet of the bridge network is no IPv6 subnet.
    #[error("invalid bridge_network_subnet_ipv6: invalid CIDR address: {0}")]
    BridgeSubnetIpv6(String),
}

/// An I/O error in Nomad's wording.
pub(crate) fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => {
            let text = e.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_lowercase()
        }
    }
}

//! Services as clients send them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::json::null_is_default;
use super::job::*;

/// The `Service` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Service {
    /// The name in the catalogue; may contain `${JOB}`, `${TASKGROUP}`, `${TASK}`, `${BASE}`.
    pub name: String,
    /// Tags in the catalogue; may contain `${…}`.
    pub tags: Option<Vec<String>>,
    /// Tags in place of `tags` as long as the allocation is a canary.
    pub canary_tags: Option<Vec<String>>,
    /// Whether Consul keeps tags that others changed.
    pub enable_tag_override: bool,
    /// The label of a port of the network, or a number.
    pub port_label: String,
    /// Which address is registered: `auto`, `host`, `driver`, `alloc` or `alloc_ipv6`.
    pub address_mode: String,
    /// An address to register instead; only with `auto`.
    pub address: String,
    /// In the order of the job file.
    pub checks: Option<Vec<ServiceCheck>>,
    /// When failing checks restart the task; default of the checks.
    pub check_restart: Option<CheckRestart>,
    /// The service's part in the Consul service mesh.
    pub connect: Option<ConsulConnect>,
    /// Metadata in Consul.
    pub meta: Option<BTreeMap<String, String>>,
    /// Metadata in place of `meta` as long as the allocation is a canary.
    pub canary_meta: Option<BTreeMap<String, String>>,
    /// Further addresses in Consul, by name.
    pub tagged_addresses: Option<BTreeMap<String, String>>,
    /// The task of a service that belongs to one; empty for services of the group.
    pub task_name: String,
    /// Whether checks decide about rollouts: `require_healthy`, `ignore_warnings` or `ignore`.
    pub on_update: String,
    /// The identity the service logs in to Consul with.
    pub identity: Option<WorkloadIdentity>,
    /// Weights of DNS answers of Consul.
    pub weights: Option<ServiceWeights>,
    /// The catalogue: `nomad` or `consul`.
    pub provider: String,
    /// The Consul cluster: `default` or the name of another one of the agent's configuration.
    pub cluster: String,
    /// The kind of a Consul gateway: `mesh-gateway`, … Empty: an ordinary service.
    pub kind: String,
}

/// The `ServiceCheck` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceCheck {
    /// By default `service: "<service>" check`.
    pub name: String,
    /// `http`, `tcp`, `grpc` or `script`; with the provider `nomad` the first two.
    pub r#type: String,
    /// The program of a script check.
    pub command: String,
    /// Arguments of a script check.
    pub args: Option<Vec<String>>,
    /// Path and query of an HTTP check.
    pub path: String,
    /// `http` or `https`; empty: `http`.
    pub protocol: String,
    /// The port to check; empty: the service's.
    pub port_label: String,
    /// Whether the path is exposed through the sidecar proxy.
    pub expose: bool,
    /// Which address is checked: `host`, `driver`, `alloc`, …; empty: `host`.
    pub address_mode: String,
    /// The address that Consul shows for the check; registration drops it.
    pub advertise: String,
    /// Nanoseconds between checks, at least 1 s.
    pub interval: i64,
    /// Nanoseconds that an answer may take, at least 1 s.
    pub timeout: i64,
    /// The status before the first run: `passing`, `warning`, `critical` or empty.
    pub initial_status: String,
    /// Text for operators, of at most 255 bytes.
    pub notes: String,
    /// The name that the certificate is checked against.
    #[serde(rename = "TLSServerName")]
    pub tls_server_name: String,
    /// Whether certificates are accepted unverified.
    #[serde(rename = "TLSSkipVerify")]
    pub tls_skip_verify: bool,
    /// Headers of an HTTP check; a header may have several values.
    pub header: Option<BTreeMap<String, Option<Vec<String>>>>,
    /// The method of an HTTP check; empty: `GET`.
    pub method: String,
    /// When a failing check restarts the task; null: never.
    pub check_restart: Option<CheckRestart>,
    /// The service that a gRPC check asks about.
    #[serde(rename = "GRPCService")]
    pub grpc_service: String,
    /// Whether a gRPC check uses TLS.
    #[serde(rename = "GRPCUseTLS")]
    pub grpc_use_tls: bool,
    /// The task that a script check of a group service runs in.
    pub task_name: String,
    /// Successes in a row until the check passes.
    pub success_before_passing: i64,
    /// Failures in a row until the check is critical.
    pub failures_before_critical: i64,
    /// Failures in a row until the check warns.
    pub failures_before_warning: i64,
    /// The body of an HTTP check.
    pub body: String,
    /// Whether the check decides about rollouts: `require_healthy`, `ignore_warnings` or `ignore`.
    pub on_update: String,
}

/// The `CheckRestart` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct CheckRestart {
    /// Failures in a row that restart the task; 0: none do.
    pub limit: i64,
    /// Nanoseconds after the start of the task in which failures do not count.
    pub grace: Option<i64>,
    /// Whether a warning counts as a success.
    pub ignore_warnings: bool,
}

/// The `ConsulConnect` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulConnect {
    /// Whether the task speaks the protocol of the mesh itself.
    pub native: bool,
    /// Set if the service is a gateway.
    pub gateway: Option<ConsulGateway>,
    /// The sidecar proxy of the service; null: none.
    pub sidecar_service: Option<ConsulSidecarService>,
    /// Overrides for the task that runs the proxy.
    pub sidecar_task: Option<SidecarTask>,
}

/// The `ServiceWeights` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceWeights {
    /// The weight of an instance whose checks pass.
    pub passing: i64,
    /// The weight of an instance whose checks warn.
    pub warning: i64,
}

/// The `ConsulGateway` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGateway {
    /// How the gateway's proxy is configured.
    pub proxy: Option<ConsulGatewayProxy>,
    /// Set for ingress gateways.
    pub ingress: Option<ConsulIngressConfigEntry>,
    /// Set for terminating gateways.
    pub terminating: Option<ConsulTerminatingConfigEntry>,
    /// Set for mesh gateways.
    pub mesh: Option<ConsulMeshConfigEntry>,
}

/// The `ConsulSidecarService` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulSidecarService {
    /// Tags of the proxy in the catalogue.
    pub tags: Option<Vec<String>>,
    /// The port of the proxy; empty: one that is made for it.
    pub port: String,
    /// How the proxy is configured.
    pub proxy: Option<ConsulProxy>,
    /// Whether Consul checks the proxy's port or not.
    #[serde(rename = "DisableDefaultTCPCheck")]
    pub disable_default_tcp_check: bool,
    /// Metadata of the proxy in Consul.
    pub meta: Option<BTreeMap<String, String>>,
}

/// The `SidecarTask` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct SidecarTask {
    /// The name of the task; empty: `connect-proxy-<service>`.
    pub name: String,
    /// The driver of the task; empty: `docker` or `podman`.
    pub driver: String,
    /// The user to run as; empty: the driver's default.
    pub user: String,
    /// Keys over those of the injected task.
    pub config: Option<BTreeMap<String, Value>>,
    /// Environment variables of the task.
    pub env: Option<BTreeMap<String, String>>,
    /// The requested resources of the task; zeros leave the defaults.
    pub resources: Option<Resources>,
    /// Free-form metadata.
    pub meta: Option<BTreeMap<String, String>>,
    /// Nanoseconds between the signal and the forced kill.
    pub kill_timeout: Option<i64>,
    /// How logs are rotated; null: as for an injected task.
    pub log_config: Option<LogConfig>,
    /// Nanoseconds between the deregistration of services and the stop.
    pub shutdown_delay: Option<i64>,
    /// The signal that asks the task to stop; empty: the driver's default.
    pub kill_signal: String,
    /// Where volumes of the group are mounted.
    pub volume_mounts: Option<Vec<VolumeMount>>,
    /// Identities of the task.
    pub identities: Option<Vec<WorkloadIdentity>>,
}

/// The `ConsulGatewayProxy` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayProxy {
    /// Nanoseconds that a connection to an upstream may take.
    pub connect_timeout: Option<i64>,
    /// Whether the gateway listens on the tagged addresses of its service.
    pub envoy_gateway_bind_tagged_addresses: bool,
    /// Addresses that the gateway listens on, by name.
    pub envoy_gateway_bind_addresses: Option<BTreeMap<String, ConsulGatewayBindAddress>>,
    /// Whether the gateway does not listen on the address of its service.
    pub envoy_gateway_no_default_bind: bool,
    /// How Envoy resolves names: `STRICT_DNS` or `LOGICAL_DNS`.
    #[serde(rename = "EnvoyDNSDiscoveryType")]
    pub envoy_dns_discovery_type: String,
    /// Settings of the proxy, in a form of its own.
    pub config: Option<BTreeMap<String, Value>>,
}

/// The `ConsulIngressConfigEntry` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressConfigEntry {
    /// TLS of all listeners; null: none.
    #[serde(rename = "TLS")]
    pub tls: Option<ConsulGatewayTlsConfig>,
    /// In the order of the job file.
    pub listeners: Option<Vec<ConsulIngressListener>>,
}

/// The `ConsulTerminatingConfigEntry` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulTerminatingConfigEntry {
    /// Services outside of the mesh that the gateway connects to.
    pub services: Option<Vec<ConsulLinkedService>>,
}

/// The `ConsulMeshConfigEntry` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulMeshConfigEntry {}

/// The `ConsulProxy` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulProxy {
    /// The address of the service behind the proxy; empty: `127.0.0.1`.
    pub local_service_address: String,
    /// The port of the service behind the proxy; 0: the service's.
    pub local_service_port: i64,
    /// Paths that bypass the mesh; null: none.
    pub expose: Option<ConsulExposeConfig>,
    /// Deprecated form of `expose`.
    pub expose_config: Option<ConsulExposeConfig>,
    /// Services that the proxy connects to.
    pub upstreams: Option<Vec<ConsulUpstream>>,
    /// Redirection of all traffic of the group through the proxy; null: none.
    pub transparent_proxy: Option<ConsulTransparentProxy>,
    /// Settings of the proxy, in a form of its own.
    pub config: Option<BTreeMap<String, Value>>,
}

/// The `ConsulGatewayBindAddress` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayBindAddress {
    /// Without effect: the key of the map is the name.
    pub name: String,
    /// The address to listen on.
    pub address: String,
    /// The port to listen on.
    pub port: i64,
}

/// The `ConsulGatewayTLSConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayTlsConfig {
    /// Whether listeners use TLS.
    pub enabled: bool,
    /// The lowest version: `TLSv1_2`, …; empty: Consul's default.
    #[serde(rename = "TLSMinVersion")]
    pub tls_min_version: String,
    /// The highest version: `TLSv1_3`, …; empty: Consul's default.
    #[serde(rename = "TLSMaxVersion")]
    pub tls_max_version: String,
    /// Allowed cipher suites; empty: Consul's default.
    pub cipher_suites: Option<Vec<String>>,
    /// Where certificates come from if not from Consul.
    #[serde(rename = "SDS")]
    pub sds: Option<ConsulGatewayTlsSdsConfig>,
}

/// The `ConsulIngressListener` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressListener {
    /// The port to listen on.
    pub port: i64,
    /// `tcp`, `http`, `http2` or `grpc`.
    pub protocol: String,
    /// The services behind the listener.
    pub services: Option<Vec<ConsulIngressService>>,
}

/// The `ConsulLinkedService` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulLinkedService {
    /// The service; `*` stands for all.
    pub name: String,
    /// A file with the certificates to trust.
    #[serde(rename = "CAFile")]
    pub ca_file: String,
    /// A file with the gateway's certificate.
    pub cert_file: String,
    /// A file with the gateway's private key.
    pub key_file: String,
    /// The server name of the TLS handshake.
    #[serde(rename = "SNI")]
    pub sni: String,
}

/// The `ConsulExposeConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulExposeConfig {
    /// In the order of the job file.
    pub paths: Option<Vec<ConsulExposePath>>,
    /// Deprecated form of `paths`.
    pub path: Option<Vec<ConsulExposePath>>,
}

/// The `ConsulUpstream` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulUpstream {
    /// The service to connect to.
    pub destination_name: String,
    /// Its Consul namespace.
    pub destination_namespace: String,
    /// Its cluster peer.
    pub destination_peer: String,
    /// Its Consul admin partition.
    pub destination_partition: String,
    /// `service` or `prepared_query`; empty: `service`.
    pub destination_type: String,
    /// The local port that leads to the service.
    pub local_bind_port: i64,
    /// Its Consul datacenter; empty: the own one.
    pub datacenter: String,
    /// The local address that leads to the service; empty: `127.0.0.1`.
    pub local_bind_address: String,
    /// A local Unix socket that leads to the service, instead of address and port.
    pub local_bind_socket_path: String,
    /// The mode of the socket, octal.
    pub local_bind_socket_mode: String,
    /// How gateways are used on the way.
    pub mesh_gateway: Option<ConsulMeshGateway>,
    /// Settings of the proxy for this upstream, in a form of its own.
    pub config: Option<BTreeMap<String, Value>>,
}

/// The `ConsulTransparentProxy` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulTransparentProxy {
    /// The user ID of the proxy, whose traffic is not redirected.
    #[serde(rename = "UID")]
    pub uid: String,
    /// The proxy's port for outgoing traffic.
    pub outbound_port: u64,
    /// Incoming ports that are not redirected: numbers or labels.
    pub exclude_inbound_ports: Option<Vec<String>>,
    /// Outgoing ports that are not redirected.
    pub exclude_outbound_ports: Option<Vec<u64>>,
    /// Destinations that are not redirected.
    #[serde(rename = "ExcludeOutboundCIDRs")]
    pub exclude_outbound_cidrs: Option<Vec<String>>,
    /// User IDs whose traffic is not redirected.
    #[serde(rename = "ExcludeUIDs")]
    pub exclude_u_ids: Option<Vec<String>>,
    /// Whether DNS is not redirected to Consul.
    #[serde(rename = "NoDNS")]
    pub no_dns: bool,
}

/// The `ConsulGatewayTLSSDSConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayTlsSdsConfig {
    /// The Envoy cluster that delivers certificates.
    pub cluster_name: String,
    /// The name of the certificate there.
    pub cert_resource: String,
}

/// The `ConsulIngressService` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressService {
    /// The service; `*` stands for all.
    pub name: String,
    /// Host names that lead to the service; not with `tcp`.
    pub hosts: Option<Vec<String>>,
    /// TLS for these hosts; null: the listener's.
    #[serde(rename = "TLS")]
    pub tls: Option<ConsulGatewayTlsConfig>,
    /// Changes of request headers.
    pub request_headers: Option<ConsulHTTPHeaderModifiers>,
    /// Changes of response headers.
    pub response_headers: Option<ConsulHTTPHeaderModifiers>,
    /// Limit of connections to an instance; null: Consul's default.
    pub max_connections: Option<u64>,
    /// Limit of requests that wait for a connection; null: Consul's default.
    pub max_pending_requests: Option<u64>,
    /// Limit of requests at a time; null: Consul's default.
    pub max_concurrent_requests: Option<u64>,
}

/// The `ConsulExposePath` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulExposePath {
    /// The path of HTTP requests: `/metrics`.
    pub path: String,
    /// `http` or `http2`.
    pub protocol: String,
    /// The port of the service that answers.
    pub local_path_port: i64,
    /// The label of the port that the proxy listens on.
    pub listener_port: String,
}

/// The `ConsulMeshGateway` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulMeshGateway {
    /// `local`, `remote` or `none`; empty: Consul's default.
    pub mode: String,
}

/// The `ConsulHTTPHeaderModifiers` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulHTTPHeaderModifiers {
    /// Headers that are added to those that are there.
    pub add: Option<BTreeMap<String, String>>,
    /// Headers that replace those that are there.
    pub set: Option<BTreeMap<String, String>>,
    /// Headers that are removed.
    pub remove: Option<Vec<String>>,
}

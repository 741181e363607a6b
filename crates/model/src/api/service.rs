//! Services as clients send them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::json::or_default;
use super::job::*;

/// The `Service` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Service {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    pub tags: Option<Vec<String>>,
    pub canary_tags: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub enable_tag_override: bool,
    #[serde(deserialize_with = "or_default")]
    pub port_label: String,
    #[serde(deserialize_with = "or_default")]
    pub address_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub address: String,
    pub checks: Option<Vec<ServiceCheck>>,
    pub check_restart: Option<CheckRestart>,
    pub connect: Option<ConsulConnect>,
    pub meta: Option<BTreeMap<String, String>>,
    pub canary_meta: Option<BTreeMap<String, String>>,
    pub tagged_addresses: Option<BTreeMap<String, String>>,
    #[serde(deserialize_with = "or_default")]
    pub task_name: String,
    #[serde(deserialize_with = "or_default")]
    pub on_update: String,
    pub identity: Option<WorkloadIdentity>,
    pub weights: Option<ServiceWeights>,
    #[serde(deserialize_with = "or_default")]
    pub provider: String,
    #[serde(deserialize_with = "or_default")]
    pub cluster: String,
    #[serde(deserialize_with = "or_default")]
    pub kind: String,
}

/// The `ServiceCheck` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceCheck {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub command: String,
    pub args: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    #[serde(deserialize_with = "or_default")]
    pub protocol: String,
    #[serde(deserialize_with = "or_default")]
    pub port_label: String,
    #[serde(deserialize_with = "or_default")]
    pub expose: bool,
    #[serde(deserialize_with = "or_default")]
    pub address_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub advertise: String,
    #[serde(deserialize_with = "or_default")]
    pub interval: i64,
    #[serde(deserialize_with = "or_default")]
    pub timeout: i64,
    #[serde(deserialize_with = "or_default")]
    pub initial_status: String,
    #[serde(deserialize_with = "or_default")]
    pub notes: String,
    #[serde(rename = "TLSServerName", deserialize_with = "or_default")]
    pub tls_server_name: String,
    #[serde(rename = "TLSSkipVerify", deserialize_with = "or_default")]
    pub tls_skip_verify: bool,
    pub header: Option<BTreeMap<String, Option<Vec<String>>>>,
    #[serde(deserialize_with = "or_default")]
    pub method: String,
    pub check_restart: Option<CheckRestart>,
    #[serde(rename = "GRPCService", deserialize_with = "or_default")]
    pub grpc_service: String,
    #[serde(rename = "GRPCUseTLS", deserialize_with = "or_default")]
    pub grpc_use_tls: bool,
    #[serde(deserialize_with = "or_default")]
    pub task_name: String,
    #[serde(deserialize_with = "or_default")]
    pub success_before_passing: i64,
    #[serde(deserialize_with = "or_default")]
    pub failures_before_critical: i64,
    #[serde(deserialize_with = "or_default")]
    pub failures_before_warning: i64,
    #[serde(deserialize_with = "or_default")]
    pub body: String,
    #[serde(deserialize_with = "or_default")]
    pub on_update: String,
}

/// The `CheckRestart` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CheckRestart {
    #[serde(deserialize_with = "or_default")]
    pub limit: i64,
    pub grace: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub ignore_warnings: bool,
}

/// The `ConsulConnect` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulConnect {
    #[serde(deserialize_with = "or_default")]
    pub native: bool,
    pub gateway: Option<ConsulGateway>,
    pub sidecar_service: Option<ConsulSidecarService>,
    pub sidecar_task: Option<SidecarTask>,
}

/// The `ServiceWeights` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceWeights {
    #[serde(deserialize_with = "or_default")]
    pub passing: i64,
    #[serde(deserialize_with = "or_default")]
    pub warning: i64,
}

/// The `ConsulGateway` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGateway {
    pub proxy: Option<ConsulGatewayProxy>,
    pub ingress: Option<ConsulIngressConfigEntry>,
    pub terminating: Option<ConsulTerminatingConfigEntry>,
    pub mesh: Option<ConsulMeshConfigEntry>,
}

/// The `ConsulSidecarService` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulSidecarService {
    pub tags: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub port: String,
    pub proxy: Option<ConsulProxy>,
    #[serde(rename = "DisableDefaultTCPCheck", deserialize_with = "or_default")]
    pub disable_default_tcp_check: bool,
    pub meta: Option<BTreeMap<String, String>>,
}

/// The `SidecarTask` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SidecarTask {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub driver: String,
    #[serde(deserialize_with = "or_default")]
    pub user: String,
    pub config: Option<BTreeMap<String, Value>>,
    pub env: Option<BTreeMap<String, String>>,
    pub resources: Option<Resources>,
    pub meta: Option<BTreeMap<String, String>>,
    pub kill_timeout: Option<i64>,
    pub log_config: Option<LogConfig>,
    pub shutdown_delay: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub kill_signal: String,
    pub volume_mounts: Option<Vec<VolumeMount>>,
    pub identities: Option<Vec<WorkloadIdentity>>,
}

/// The `ConsulGatewayProxy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayProxy {
    pub connect_timeout: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub envoy_gateway_bind_tagged_addresses: bool,
    pub envoy_gateway_bind_addresses: Option<BTreeMap<String, ConsulGatewayBindAddress>>,
    #[serde(deserialize_with = "or_default")]
    pub envoy_gateway_no_default_bind: bool,
    #[serde(rename = "EnvoyDNSDiscoveryType", deserialize_with = "or_default")]
    pub envoy_dns_discovery_type: String,
    pub config: Option<BTreeMap<String, Value>>,
}

/// The `ConsulIngressConfigEntry` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressConfigEntry {
    #[serde(rename = "TLS")]
    pub tls: Option<ConsulGatewayTlsConfig>,
    pub listeners: Option<Vec<ConsulIngressListener>>,
}

/// The `ConsulTerminatingConfigEntry` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulTerminatingConfigEntry {
    pub services: Option<Vec<ConsulLinkedService>>,
}

/// The `ConsulMeshConfigEntry` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulMeshConfigEntry {}

/// The `ConsulProxy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulProxy {
    #[serde(deserialize_with = "or_default")]
    pub local_service_address: String,
    #[serde(deserialize_with = "or_default")]
    pub local_service_port: i64,
    pub expose: Option<ConsulExposeConfig>,
    pub expose_config: Option<ConsulExposeConfig>,
    pub upstreams: Option<Vec<ConsulUpstream>>,
    pub transparent_proxy: Option<ConsulTransparentProxy>,
    pub config: Option<BTreeMap<String, Value>>,
}

/// The `ConsulGatewayBindAddress` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayBindAddress {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub address: String,
    #[serde(deserialize_with = "or_default")]
    pub port: i64,
}

/// The `ConsulGatewayTLSConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayTlsConfig {
    #[serde(deserialize_with = "or_default")]
    pub enabled: bool,
    #[serde(rename = "TLSMinVersion", deserialize_with = "or_default")]
    pub tls_min_version: String,
    #[serde(rename = "TLSMaxVersion", deserialize_with = "or_default")]
    pub tls_max_version: String,
    pub cipher_suites: Option<Vec<String>>,
    #[serde(rename = "SDS")]
    pub sds: Option<ConsulGatewayTlsSdsConfig>,
}

/// The `ConsulIngressListener` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressListener {
    #[serde(deserialize_with = "or_default")]
    pub port: i64,
    #[serde(deserialize_with = "or_default")]
    pub protocol: String,
    pub services: Option<Vec<ConsulIngressService>>,
}

/// The `ConsulLinkedService` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulLinkedService {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(rename = "CAFile", deserialize_with = "or_default")]
    pub ca_file: String,
    #[serde(deserialize_with = "or_default")]
    pub cert_file: String,
    #[serde(deserialize_with = "or_default")]
    pub key_file: String,
    #[serde(rename = "SNI", deserialize_with = "or_default")]
    pub sni: String,
}

/// The `ConsulExposeConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulExposeConfig {
    pub paths: Option<Vec<ConsulExposePath>>,
    pub path: Option<Vec<ConsulExposePath>>,
}

/// The `ConsulUpstream` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulUpstream {
    #[serde(deserialize_with = "or_default")]
    pub destination_name: String,
    #[serde(deserialize_with = "or_default")]
    pub destination_namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub destination_peer: String,
    #[serde(deserialize_with = "or_default")]
    pub destination_partition: String,
    #[serde(deserialize_with = "or_default")]
    pub destination_type: String,
    #[serde(deserialize_with = "or_default")]
    pub local_bind_port: i64,
    #[serde(deserialize_with = "or_default")]
    pub datacenter: String,
    #[serde(deserialize_with = "or_default")]
    pub local_bind_address: String,
    #[serde(deserialize_with = "or_default")]
    pub local_bind_socket_path: String,
    #[serde(deserialize_with = "or_default")]
    pub local_bind_socket_mode: String,
    pub mesh_gateway: Option<ConsulMeshGateway>,
    pub config: Option<BTreeMap<String, Value>>,
}

/// The `ConsulTransparentProxy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulTransparentProxy {
    #[serde(rename = "UID", deserialize_with = "or_default")]
    pub uid: String,
    #[serde(deserialize_with = "or_default")]
    pub outbound_port: u64,
    pub exclude_inbound_ports: Option<Vec<String>>,
    pub exclude_outbound_ports: Option<Vec<u64>>,
    #[serde(rename = "ExcludeOutboundCIDRs")]
    pub exclude_outbound_cidrs: Option<Vec<String>>,
    #[serde(rename = "ExcludeUIDs")]
    pub exclude_u_ids: Option<Vec<String>>,
    #[serde(rename = "NoDNS", deserialize_with = "or_default")]
    pub no_dns: bool,
}

/// The `ConsulGatewayTLSSDSConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayTlsSdsConfig {
    #[serde(deserialize_with = "or_default")]
    pub cluster_name: String,
    #[serde(deserialize_with = "or_default")]
    pub cert_resource: String,
}

/// The `ConsulIngressService` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressService {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    pub hosts: Option<Vec<String>>,
    #[serde(rename = "TLS")]
    pub tls: Option<ConsulGatewayTlsConfig>,
    pub request_headers: Option<ConsulHTTPHeaderModifiers>,
    pub response_headers: Option<ConsulHTTPHeaderModifiers>,
    pub max_connections: Option<u64>,
    pub max_pending_requests: Option<u64>,
    pub max_concurrent_requests: Option<u64>,
}

/// The `ConsulExposePath` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulExposePath {
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    #[serde(deserialize_with = "or_default")]
    pub protocol: String,
    #[serde(deserialize_with = "or_default")]
    pub local_path_port: i64,
    #[serde(deserialize_with = "or_default")]
    pub listener_port: String,
}

/// The `ConsulMeshGateway` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulMeshGateway {
    #[serde(deserialize_with = "or_default")]
    pub mode: String,
}

/// The `ConsulHTTPHeaderModifiers` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulHTTPHeaderModifiers {
    pub add: Option<BTreeMap<String, String>>,
    pub set: Option<BTreeMap<String, String>>,
    pub remove: Option<Vec<String>>,
}

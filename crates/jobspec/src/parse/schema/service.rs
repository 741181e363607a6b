//! Services, checks, connections.

use super::Kind::{Bool, Duration, Ports, Str, Strings};
use super::task::{IDENTITY, LOGS, RESOURCES, VOLUME_MOUNT};
use super::*;

pub(super) static SERVICE: Schema = body(
    &[
        attr("name", Str),
        attr("port", Str).to("PortLabel"),
        attr("address_mode", Str),
        attr("address", Str),
        attr("task", Str).to("TaskName"),
        attr("on_update", Str),
        attr("provider", Str),
        attr("cluster", Str),
        attr("kind", Str),
        attr("tags", Strings),
        attr("canary_tags", Strings),
        attr("enable_tag_override", Bool),
    ],
    &[
        strings("meta"),
        strings("canary_meta"),
        strings("tagged_addresses"),
        many("check", "Checks", &CHECK),
        once("check_restart", &CHECK_RESTART),
        once("connect", &CONNECT),
        once("identity", &IDENTITY),
        once("weights", &body(&[attr("passing", INT), attr("warning", INT)], &[])),
    ],
);

static CHECK_RESTART: Schema = body(&[attr("limit", INT), attr("grace", Duration), attr("ignore_warnings", Bool)], &[]);

static CHECK: Schema = body(
    &[
        attr("name", Str),
        attr("type", Str),
        attr("command", Str),
        attr("args", Strings),
        attr("path", Str),
        attr("protocol", Str),
        attr("port", Str).to("PortLabel"),
        attr("expose", Bool),
        attr("address_mode", Str),
        attr("advertise", Str),
        attr("interval", Duration),
        attr("timeout", Duration),
        attr("initial_status", Str),
        attr("notes", Str),
        attr("tls_server_name", Str).to("TLSServerName"),
        attr("tls_skip_verify", Bool).to("TLSSkipVerify"),
        attr("method", Str),
        attr("grpc_service", Str).to("GRPCService"),
        attr("grpc_use_tls", Bool).to("GRPCUseTLS"),
        attr("task", Str).to("TaskName"),
        attr("success_before_passing", INT),
        attr("failures_before_critical", INT),
        attr("failures_before_warning", INT),
        attr("body", Str),
        attr("on_update", Str),
    ],
    &[Block::new("header", Occurs::Once, Inside::StringLists), once("check_restart", &CHECK_RESTART)],
);

static CONNECT: Schema = body(
    &[attr("native", Bool)],
    &[once("sidecar_service", &SIDECAR_SERVICE), once("sidecar_task", &SIDECAR_TASK), once("gateway", &GATEWAY)],
);

static SIDECAR_SERVICE: Schema = body(
    &[attr("tags", Strings), attr("port", Str), attr("disable_default_tcp_check", Bool).to("DisableDefaultTCPCheck")],
    &[strings("meta"), once("proxy", &PROXY)],
);

static PROXY: Schema = body(
    &[attr("local_service_address", Str), attr("local_service_port", INT)],
    &[
        free("config"),
        once("expose", &body(&[], &[many("path", "Paths", &EXPOSE_PATH)])),
        many("upstreams", "Upstreams", &UPSTREAM),
        once("transparent_proxy", &TRANSPARENT_PROXY),
    ],
);

static EXPOSE_PATH: Schema =
    body(&[attr("path", Str), attr("protocol", Str), attr("local_path_port", INT), attr("listener_port", Str)], &[]);

static UPSTREAM: Schema = body(
    &[
        attr("destination_name", Str),
        attr("destination_namespace", Str),
        attr("destination_peer", Str),
        attr("destination_partition", Str),
        attr("destination_type", Str),
        attr("datacenter", Str),
        attr("local_bind_address", Str),
        attr("local_bind_socket_path", Str),
        attr("local_bind_socket_mode", Str),
        attr("local_bind_port", INT),
    ],
    &[once("mesh_gateway", &body(&[attr("mode", Str)], &[])), free("config")],
);

static TRANSPARENT_PROXY: Schema = body(
    &[
        attr("uid", Str).to("UID"),
        attr("outbound_port", UINT16),
        attr("exclude_inbound_ports", Strings),
        attr("exclude_outbound_ports", Ports),
        attr("exclude_outbound_cidrs", Strings).to("ExcludeOutboundCIDRs"),
        attr("exclude_uids", Strings).to("ExcludeUIDs"),
        attr("no_dns", Bool).to("NoDNS"),
    ],
    &[],
);

static SIDECAR_TASK: Schema = body(
    &[
        attr("name", Str),
        attr("driver", Str),
        attr("user", Str),
        attr("kill_signal", Str),
        attr("kill_timeout", Duration),
        attr("shutdown_delay", Duration),
    ],
    &[
        free("config"),
        strings("env"),
        strings("meta"),
        once("resources", &RESOURCES),
        once("logs", &LOGS).to("LogConfig"),
        many("volume_mount", "VolumeMounts", &VOLUME_MOUNT),
        many("identity", "Identities", &IDENTITY),
    ],
);

static GATEWAY: Schema = body(
    &[],
    &[
        once("proxy", &GATEWAY_PROXY),
        once("ingress", &INGRESS),
        once("terminating", &body(&[], &[many("service", "Services", &TERMINATING_SERVICE)])),
        once("mesh", &body(&[], &[])),
    ],
);

static GATEWAY_PROXY: Schema = body(
    &[
        attr("connect_timeout", Duration),
        attr("envoy_gateway_bind_tagged_addresses", Bool),
        attr("envoy_gateway_no_default_bind", Bool),
        attr("envoy_dns_discovery_type", Str).to("EnvoyDNSDiscoveryType"),
    ],
    &[
        many(
            "envoy_gateway_bind_addresses",
            "EnvoyGatewayBindAddresses",
            &body(&[attr("address", Str), attr("port", INT)], &[]),
        )
        .labelled("Name")
        .occurs(Occurs::ByLabel),
        free("config"),
    ],
);

static INGRESS: Schema = body(&[], &[once("tls", &GATEWAY_TLS).to("TLS"), many("listener", "Listeners", &LISTENER)]);

static LISTENER: Schema =
    body(&[attr("port", INT), attr("protocol", Str)], &[many("service", "Services", &INGRESS_SERVICE)]);

static GATEWAY_TLS: Schema = body(
    &[
        attr("enabled", Bool),
        attr("tls_min_version", Str).to("TLSMinVersion"),
        attr("tls_max_version", Str).to("TLSMaxVersion"),
        attr("cipher_suites", Strings),
    ],
    &[once("sds", &body(&[attr("cluster_name", Str), attr("cert_resource", Str)], &[])).to("SDS")],
);

static INGRESS_SERVICE: Schema = body(
    &[
        attr("name", Str),
        attr("hosts", Strings),
        attr("max_connections", OPT_UINT32),
        attr("max_pending_requests", OPT_UINT32),
        attr("max_concurrent_requests", OPT_UINT32),
    ],
    &[once("tls", &GATEWAY_TLS).to("TLS"), once("request_headers", &HEADERS), once("response_headers", &HEADERS)],
);

static HEADERS: Schema = body(&[attr("remove", Strings)], &[strings("add"), strings("set")]);

static TERMINATING_SERVICE: Schema = body(
    &[
        attr("name", Str),
        attr("ca_file", Str).to("CAFile"),
        attr("cert_file", Str),
        attr("key_file", Str),
        attr("sni", Str).to("SNI"),
    ],
    &[],
);

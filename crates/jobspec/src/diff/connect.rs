//! The service mesh part of services (`docs/spec/jobspec.md §17.8`).

use serde_json::Value;

use super::blocks::{Fill, Pair, SetMode, keyed, keyed_by, map_object, object, primitive_object, string_set, text};
use super::fields::{Pick, Texts, changes, primitive};
use super::task::{config, identities, log_config, resources, volume_mounts};
use encamp_model::{DiffType, ObjectDiff, format_duration};

/// The `connect` block of a service.
pub(super) fn connect(p: Pair<'_>) -> Option<ObjectDiff> {
    object(p, "ConsulConnect", |p, o| {
        o.named_fields(p, &["Native"]);
        o.push(object(p.get("SidecarService"), "SidecarService", |p, o| {
            o.named_fields(p, &["DisableDefaultTCPCheck", "Meta", "Port"]);
            o.push(proxy(p.get("Proxy")));
        }));
        o.push(object(p.get("SidecarTask"), "SidecarTask", |p, o| {
            o.named_fields(p.without_context(), &["Driver", "Env", "KillSignal", "Meta", "Name", "User"]);
            o.push(config(p));
            o.push(resources(p));
            o.extend(identities(p));
            o.push(log_config(p));
            o.extend(volume_mounts(p));
        }));
        o.push(object(p.get("Gateway"), "Gateway", gateway));
    })
}

fn proxy(p: Pair<'_>) -> Option<ObjectDiff> {
    object(p, "ConsulProxy", |p, o| {
        o.named_fields(p, &["LocalServiceAddress", "LocalServicePort"]);
        o.extend(keyed_by(
            p.get("Upstreams"),
            |v| format!("{}/{}", text(v, "Datacenter"), text(v, "DestinationName")),
            |p| {
                object(p, "ConsulUpstreams", |p, o| {
                    o.scalar_fields(p);
                    o.push(primitive_object(p.get("MeshGateway"), "MeshGateway", Pick::Scalars));
                })
            },
        ));
        o.push(object(p.get("Expose"), "Expose", |p, o| {
            o.extend(keyed_by(p.get("Paths"), Value::to_string, |p| primitive_object(p, "Paths", Pick::Scalars)));
        }));
        o.push(Some(transparent_proxy(p.get("TransparentProxy"))));
        o.push(config(p));
    })
}

/// Shown without content even when it is the same, or absent, on both sides.
fn transparent_proxy(p: Pair<'_>) -> ObjectDiff {
    let name = "TransparentProxy";
    let changed = object(p, name, |p, o| {
        o.named_fields(p, &["NoDNS", "OutboundPort", "UID"]);
        for set in ["ExcludeInboundPorts", "ExcludeOutboundPorts", "ExcludeOutboundCIDRs", "ExcludeUIDs"] {
            o.push(string_set(p.get(set), set, SetMode::IfChanged));
        }
    });
    changed.unwrap_or_else(|| ObjectDiff { r#type: DiffType::None, name: name.into(), ..ObjectDiff::default() })
}

fn gateway(p: Pair<'_>, o: &mut ObjectDiff) {
    o.push(object(p.get("Proxy"), "Proxy", |p, o| {
        const NAMES: &[&str] =
            &["EnvoyDNSDiscoveryType", "EnvoyGatewayBindTaggedAddresses", "EnvoyGatewayNoDefaultBind"];
        let (mut old, mut new) = (primitive(p.old, Pick::Named(NAMES)), primitive(p.new, Pick::Named(NAMES)));
        if !p.old.is_null() && !p.new.is_null() {
            old.extend(connect_timeout(p.old));
            new.extend(connect_timeout(p.new));
        }
        o.fields = changes(old, new, p.contextual);
        o.push(map_object(p.get("EnvoyGatewayBindAddresses"), "EnvoyGatewayBindAddresses", bind_address_texts));
        o.push(config(p));
    }));
    o.push(object(p.get("Ingress"), "Ingress", |p, o| {
        o.push(tls(p.get("TLS")));
        o.extend(keyed_by(
            p.get("Listeners"),
            |v| format!("{}/{}", text(v, "Protocol"), text(v, "Port")),
            |p| {
                object(p, "Listener", |p, o| {
                    o.named_fields(p, &["Port", "Protocol"]);
                    o.extend(keyed(p.get("Services"), "Name", ingress_service));
                })
            },
        ));
    }));
    o.push(object(p.get("Terminating"), "Terminating", |p, o| {
        o.extend(keyed(p.get("Services"), "Name", |p| object(p, "Service", |p, o| o.scalar_fields(p))));
    }));
    o.push(object(p.get("Mesh"), "Mesh", |_, _| {}));
}

fn connect_timeout(v: &Value) -> Option<(String, String)> {
    let nanos = v.get("ConnectTimeout").and_then(Value::as_i64)?;
    Some(("ConnectTimeout".into(), format_duration(nanos)))
}

fn bind_address_texts(v: &Value) -> Texts {
    let entries = v.as_object().into_iter().flatten();
    entries.map(|(name, a)| (name.clone(), format!("{}:{}", text(a, "Address"), text(a, "Port")))).collect()
}

fn ingress_service(p: Pair<'_>) -> Option<ObjectDiff> {
    object(p, "ConsulIngressService", |p, o| {
        o.named_fields(p, &["MaxConcurrentRequests", "MaxConnections", "MaxPendingRequests", "Name"]);
        o.push(string_set(p.get("Hosts"), "Hosts", SetMode::Always));
        o.push(tls(p.get("TLS")));
        for headers in ["RequestHeaders", "ResponseHeaders"] {
            o.push(object(p.get(headers), headers, |p, o| {
                o.named_fields(p, &["Add", "Set"]);
                o.push(string_set(p.get("Remove"), "Remove", SetMode::Always));
            }));
        }
    })
}

fn tls(p: Pair<'_>) -> Option<ObjectDiff> {
    object(p, "TLS", |p, o| {
        o.named_fields(p, &["Enabled", "TLSMaxVersion", "TLSMinVersion"]);
        o.push(string_set(p.get("CipherSuites"), "CipherSuites", SetMode::Always));
        o.push(object(p.get("SDS"), "SDS", |p, o| o.scalar_fields(p)));
    })
}

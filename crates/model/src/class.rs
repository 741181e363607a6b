//! The computed class of a node: nodes of one class are equivalent to constraints (`docs/spec/scheduling.md §5.1`).

use std::collections::BTreeMap;

use super::node::{Attribute, Node, NodeDeviceResource, NodeResources};

/// 64-bit FNV-1.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(*b))
}

fn text(s: &str) -> u64 {
    fnv(s.as_bytes())
}

/// Combines two hashes in order.
fn ordered(a: u64, b: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&a.to_le_bytes());
    bytes[8..].copy_from_slice(&b.to_le_bytes());
    fnv(&bytes)
}

fn structure(name: &str, fields: &[(&str, u64)]) -> u64 {
    fields.iter().fold(text(name), |h, (field, value)| h ^ ordered(text(field), *value))
}

/// Entries whose key starts with `unique.` do not count.
fn map<V>(m: &BTreeMap<String, V>, hash: impl Fn(&V) -> u64) -> u64 {
    let included = m.iter().filter(|(k, _)| !k.starts_with("unique."));
    included.fold(0, |h, (k, v)| h ^ ordered(text(k), hash(v)))
}

fn null() -> u64 {
    fnv(&[0; 8])
}

fn attribute(a: &Attribute) -> u64 {
    structure(
        "Attribute",
        &[
            ("Float", a.float.map_or_else(null, |v| fnv(&v.to_le_bytes()))),
            ("Int", a.int.map_or_else(null, |v| fnv(&v.to_le_bytes()))),
            ("String", a.string.as_deref().map_or_else(null, text)),
            ("Bool", a.bool.map_or_else(null, |v| fnv(&[u8::from(v)]))),
            ("Unit", text(&a.unit)),
        ],
    )
}

fn device(d: &NodeDeviceResource) -> u64 {
    structure(
        "NodeDeviceResource",
        &[
            ("Vendor", text(&d.vendor)),
            ("Type", text(&d.r#type)),
            ("Name", text(&d.name)),
            ("Attributes", map(&d.attributes, attribute)),
        ],
    )
}

fn resources(r: &NodeResources) -> u64 {
    let devices = r.devices.iter().fold(0, |h, d| ordered(h, device(d)));
    structure("NodeResources", &[("Devices", devices)])
}

impl Node {
    /// The class of the node as servers compute it: `v1:` and a hash of datacenter, pool, class, devices, and of the
    /// attributes and metadata that are not unique to the node.
    pub fn compute_class(&self) -> String {
        let hash = structure(
            "Node",
            &[
                ("Datacenter", text(&self.datacenter)),
                ("Attributes", map(&self.attributes, |v| text(v))),
                ("NodeResources", self.node_resources.as_deref().map_or_else(null, resources)),
                ("Meta", map(&self.meta, |v| text(v))),
                ("NodeClass", text(&self.node_class)),
                ("NodePool", text(&self.node_pool)),
            ],
        );
        format!("v1:{hash}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_the_specification() {
        let mut n = Node::default();
        assert_eq!(n.compute_class(), "v1:7979846458074261306");
        let entries = |e: &[(&str, &str)]| e.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        n.datacenter = "dc1".into();
        n.node_pool = "default".into();
        n.node_class = "red".into();
        n.attributes = entries(&[("kernel.name", "linux"), ("arch", "amd64"), ("unique.hostname", "h1")]);
        n.meta = entries(&[("rack", "r1"), ("unique.x", "y")]);
        n.node_resources = Some(NodeResources::default().into());
        assert_eq!(n.compute_class(), "v1:7881799900559988755");
        let gpu = NodeDeviceResource {
            vendor: "nvidia".into(),
            r#type: "gpu".into(),
            name: "T4".into(),
            ..Default::default()
        };
        if let Some(r) = &mut n.node_resources {
            r.devices.push(gpu);
        }
        assert_eq!(n.compute_class(), "v1:14035351441979814228");
        if let Some(r) = &mut n.node_resources {
            let int = |v, unit: &str| Attribute { int: Some(v), unit: unit.into(), ..Default::default() };
            r.devices[0].attributes = BTreeMap::from([
                ("memory".to_string(), int(16, "GiB")),
                ("ecc".to_string(), Attribute { bool: Some(true), ..Default::default() }),
                ("arch".to_string(), Attribute { string: Some("x".into()), ..Default::default() }),
                ("f".to_string(), Attribute { float: Some(1.5), ..Default::default() }),
                ("unique.y".to_string(), int(1, "")),
            ]);
            let abc = |s: &str| s.to_string();
            r.devices.push(NodeDeviceResource {
                vendor: abc("a"),
                r#type: abc("b"),
                name: abc("c"),
                ..Default::default()
            });
        }
        assert_eq!(n.compute_class(), "v1:664940714389420439");
    }
}

//! Networks of groups and tasks (`docs/spec/jobspec.md §17.7`).

use serde_json::Value;

use super::blocks::{Fill, Pair, flat, keyed_by, list, object, primitive_object, sorted, text};
use super::fields::{Pick, Texts, changes, scalar};
use encamp_model::ObjectDiff;

/// The networks of both sides. They are matched by their whole content: a changed one is deleted and added.
pub(super) fn networks(p: Pair<'_>) -> Vec<ObjectDiff> {
    keyed_by(p, Value::to_string, |p| {
        object(p, "Network", |p, o| {
            o.named_fields(p, &["Hostname", "Mode"]);
            o.extend(ports(p.get("ReservedPorts"), "Static Port", true));
            o.extend(ports(p.get("DynamicPorts"), "Dynamic Port", false));
            o.push(object(p.get("DNS"), "DNS", |p, o| o.full_fields(p, dns_texts)));
            o.push(primitive_object(p.get("CNI").get("Args"), "CNIConfig", Pick::Scalars));
        })
    })
}

fn ports(p: Pair<'_>, name: &str, reserved: bool) -> Vec<ObjectDiff> {
    let each = |(_, p): (String, Pair<'_>)| {
        flat(name, changes(port_texts(p.old, reserved), port_texts(p.new, reserved), p.contextual))
    };
    sorted(p.by_key(|v| text(v, "Label")).into_iter().filter_map(each).collect())
}

/// The JSON form of a port leaves out what is zero; the diff does not.
fn port_texts(v: &Value, reserved: bool) -> Texts {
    let mut out = Texts::new();
    if v.is_null() {
        return out;
    }
    let names: &[(&str, &str)] = if reserved {
        &[("HostNetwork", ""), ("IgnoreCollision", "false"), ("Label", ""), ("To", "0"), ("Value", "0")]
    } else {
        &[("HostNetwork", ""), ("Label", ""), ("To", "0")]
    };
    for (name, zero) in names {
        out.insert(name.to_string(), v.get(name).and_then(scalar).unwrap_or_else(|| zero.to_string()));
    }
    out
}

fn dns_texts(v: &Value) -> Texts {
    let member = |name: &str| {
        let items: Vec<String> = v.get(name).map(list).unwrap_or_default().iter().filter_map(scalar).collect();
        (!items.is_empty()).then(|| (name.to_string(), items.join(",")))
    };
    ["Options", "Searches", "Servers"].into_iter().filter_map(member).collect()
}

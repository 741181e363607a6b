//! Services and their checks (`docs/spec/jobspec.md §17.8`).

use serde_json::Value;

use super::blocks::{Fill, Pair, SetMode, keyed, list, map_object, matched, object, string_set, text};
use super::connect::connect;
use super::fields::{Pick, Texts, full, primitive};
use super::task::identity;
use encamp_model::ObjectDiff;

const FIELDS: &[&str] = &[
    "Address",
    "AddressMode",
    "CanaryMeta",
    "Cluster",
    "EnableTagOverride",
    "Kind",
    "Meta",
    "Name",
    "Namespace",
    "OnUpdate",
    "PortLabel",
    "Provider",
    "TaggedAddresses",
    "TaskName",
];

/// The services of a group or task.
pub(super) fn services(p: Pair<'_>) -> Vec<ObjectDiff> {
    matched(p, |old, free| best_match(p, old, free), service)
}

/// The free new service that resembles an old one most, if it resembles it enough: by position, port label, name.
fn best_match(p: Pair<'_>, old: usize, free: &[usize]) -> Option<usize> {
    let was = list(p.old).get(old)?;
    let mut best = (2, None);
    for &new in free {
        let Some(is) = list(p.new).get(new) else { continue };
        let score = i32::from(old == new)
            + 2 * i32::from(text(was, "PortLabel") == text(is, "PortLabel"))
            + 3 * i32::from(text(was, "Name") == text(is, "Name"));
        if score > best.0 {
            best = (score, Some(new));
        }
    }
    best.1
}

fn service(p: Pair<'_>) -> Option<ObjectDiff> {
    object(p, "Service", |p, o| {
        o.named_fields(p, FIELDS);
        o.push(string_set(p.get("CanaryTags"), "CanaryTags", SetMode::Always));
        o.push(string_set(p.get("Tags"), "Tags", SetMode::Always));
        o.extend(keyed(p.get("Checks"), "Name", check));
        o.push(connect(p.get("Connect")));
        o.push(identity(p.get("Identity")));
        o.push(object(p.get("Weights"), "Weights", |p, o| o.full_fields(p, weight_texts)));
    })
}

fn check(p: Pair<'_>) -> Option<ObjectDiff> {
    object(p, "Check", |p, o| {
        o.scalar_fields(p);
        o.push(map_object(p.get("Header"), "Header", full));
        o.push(object(p.get("CheckRestart"), "CheckRestart", |p, o| o.scalar_fields(p)));
    })
}

/// Weights of zero are unset.
fn weight_texts(v: &Value) -> Texts {
    let mut out = primitive(v, Pick::Scalars);
    out.retain(|_, text| text != "0");
    out
}

//! Specification files of volumes (`docs/spec/cli.md §12.3`): HCL or JSON, for both types of volumes. As in the
//! configuration of agents, blocks may be on one line, keys may be quoted, and `${x}` stays as it is.
//!
//! [`size`]: sizes such as `10GiB`.

use encamp_hcl::hcl1::{self, Item, Pos};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::size;
use crate::context::Environment;
use crate::error::{CommandError, CommandResult};
use crate::spec_file::{self, Spec, SpecError};

/// The known members of a dynamic host volume.
const HOST: &[&str] = &[
    "capability",
    "capacity",
    "capacity_max",
    "capacity_min",
    "constraint",
    "host_path",
    "id",
    "name",
    "namespace",
    "node_id",
    "node_pool",
    "parameters",
    "plugin_id",
    "type",
];
/// The known members of a CSI volume.
const CSI: &[&str] = &[
    "capability",
    "capacity_max",
    "capacity_min",
    "clone_id",
    "context",
    "external_id",
    "id",
    "mount_options",
    "name",
    "namespace",
    "parameters",
    "plugin_id",
    "secrets",
    "snapshot_id",
    "topology_request",
    "type",
];
/// Operators of constraints that may be written as attributes.
const OPERATORS: &[&str] = &["regexp", "version", "semver", "set_contains", "set_contains_any"];

/// A volume in the form that servers read.
#[derive(Debug, Clone, PartialEq)]
pub enum Volume {
    /// A dynamic host volume.
    Host(Request),
    /// A CSI volume.
    Csi(Request),
}

/// The members of a volume that a specification can set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Request {
    /// The volume to change; empty for a new one.
    #[serde(rename = "ID")]
    pub id: String,
    /// Empty: that of the request.
    pub namespace: String,
    /// Only host volumes have it; empty: a node that fits.
    #[serde(rename = "NodeID", skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Reads a specification; `-` is standard input. Errors name the file, and the line and the column where they are known.
pub fn read(path: &str, env: &Environment) -> CommandResult<Volume> {
    let bytes = spec_file::read(path, env)?;
    parse(&bytes, if path == "-" { "stdin" } else { path })
}

/// Reads the text of a specification.
pub(crate) fn parse(bytes: &[u8], name: &str) -> CommandResult<Volume> {
    let wrong = |text: String| CommandError::new(format!("Error decoding the volume definition: {text}"));
    let text = std::str::from_utf8(bytes).map_err(|_| wrong(format!("{name}: it is not UTF-8 text")))?;
    let file = hcl1::parse(text).map_err(|e| wrong(format!("{name}:{}: {}", e.pos, e.message)))?;
    let items = match &file.value {
        hcl1::Value::Object(items) => items.as_slice(),
        _ => &[],
    };
    let spec = Spec::of(members(items));
    let located = |error: SpecError| {
        let position = about(&error).and_then(|key| first(items, key));
        wrong(match position {
            Some(position) => format!("{name}:{position}: {error}"),
            None => format!("{name}: {error}"),
        })
    };
    match spec.text("type").map_err(located)?.unwrap_or_default().as_str() {
        "host" => host(&spec).map(Volume::Host).map_err(located),
        "csi" => csi(&spec).map(Volume::Csi).map_err(located),
        other => Err(CommandError::new(format!("Error unknown volume type: {other}"))),
    }
}

/// The members of an object: attributes, and objects of the same name as a list.
fn members(items: &[Item]) -> Map<String, Value> {
    let mut out = Map::new();
    for item in items {
        let value = json_of(&item.value.value);
        match (out.get_mut(&item.key), value) {
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (_, value) => drop(out.insert(item.key.clone(), value)),
        }
    }
    out
}

/// A value as JSON; an object as a list of one.
fn json_of(value: &hcl1::Value) -> Value {
    match value {
        hcl1::Value::Null => Value::Null,
        hcl1::Value::Bool(b) => json!(b),
        hcl1::Value::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        hcl1::Value::String(text) => json!(text),
        hcl1::Value::Object(items) => json!([members(items)]),
        hcl1::Value::List(nodes) => {
            let one = |node: &hcl1::Node| match &node.value {
                hcl1::Value::Object(items) => Value::Object(members(items)),
                other => json_of(other),
            };
            Value::Array(nodes.iter().map(one).collect())
        }
    }
}

/// The member that an error is about.
fn about(error: &SpecError) -> Option<&str> {
    match error {
        SpecError::Hcl(_) | SpecError::Json(_) | SpecError::Missing(_) => None,
        SpecError::Type { name, .. } | SpecError::Repeated(name) | SpecError::Label(name) => Some(name),
        SpecError::Value { name, .. } => Some(name),
        SpecError::UnknownKey { key, .. } => Some(key),
    }
}

/// The position of the first member of this name.
fn first(items: &[Item], key: &str) -> Option<Pos> {
    let own = items.iter().find(|item| item.key == key).map(|item| item.pos);
    own.or_else(|| items.iter().find_map(|item| below(&item.value, key)))
}

fn below(node: &hcl1::Node, key: &str) -> Option<Pos> {
    match &node.value {
        hcl1::Value::Object(items) => first(items, key),
        hcl1::Value::List(nodes) => nodes.iter().find_map(|node| below(node, key)),
        hcl1::Value::Null | hcl1::Value::Bool(_) | hcl1::Value::Number(_) | hcl1::Value::String(_) => None,
    }
}

/// A text member; empty if there is none.
fn text(spec: &Spec, name: &str) -> Result<String, SpecError> {
    Ok(spec.text(name)?.unwrap_or_default())
}

/// A size in bytes; 0 if there is none.
fn bytes(spec: &Spec, name: &'static str) -> Result<i64, SpecError> {
    let Some(given) = spec.text(name)? else { return Ok(0) };
    size::parse(&given).map_err(|e| SpecError::Value { name, reason: e.to_string() })
}

fn capabilities(spec: &Spec) -> Result<Vec<Value>, SpecError> {
    let one = |block: Spec| {
        block.only(&["access_mode", "attachment_mode"])?;
        Ok(json!({
            "AccessMode": text(&block, "access_mode")?,
            "AttachmentMode": text(&block, "attachment_mode")?,
        }))
    };
    spec.blocks("capability")?.into_iter().map(one).collect()
}

fn constraints(spec: &Spec) -> Result<Vec<Value>, SpecError> {
    let one = |block: Spec| {
        block.only(&[&["attribute", "operator", "value"][..], OPERATORS].concat())?;
        let (mut operand, mut value) = (text(&block, "operator")?, text(&block, "value")?);
        for operator in OPERATORS {
            if let Some(right) = block.text(operator)? {
                (operand, value) = ((*operator).to_string(), right);
            }
        }
        if operand.is_empty() {
            operand = "=".into();
        }
        Ok(json!({"LTarget": text(&block, "attribute")?, "RTarget": value, "Operand": operand}))
    };
    spec.blocks("constraint")?.into_iter().map(one).collect()
}

fn host(spec: &Spec) -> Result<Request, SpecError> {
    spec.only(HOST)?;
    let members = json!({
        "ID": text(spec, "id")?,
        "Name": text(spec, "name")?,
        "Namespace": text(spec, "namespace")?,
        "PluginID": text(spec, "plugin_id")?,
        "NodePool": text(spec, "node_pool")?,
        "NodeID": text(spec, "node_id")?,
        "HostPath": text(spec, "host_path")?,
        "CapacityBytes": bytes(spec, "capacity")?,
        "RequestedCapacityMinBytes": bytes(spec, "capacity_min")?,
        "RequestedCapacityMaxBytes": bytes(spec, "capacity_max")?,
        "RequestedCapabilities": capabilities(spec)?,
        "Constraints": constraints(spec)?,
        "Parameters": spec.text_map("parameters")?,
    });
    Ok(serde_json::from_value(members)?)
}

fn csi(spec: &Spec) -> Result<Request, SpecError> {
    spec.only(CSI)?;
    let options = match spec.block("mount_options")? {
        None => Value::Null,
        Some(block) => {
            block.only(&["fs_type", "mount_flags"])?;
            json!({"FSType": text(&block, "fs_type")?, "MountFlags": block.texts("mount_flags")?})
        }
    };
    let topologies = match spec.block("topology_request")? {
        None => Value::Null,
        Some(block) => {
            block.only(&["required", "preferred"])?;
            json!({"Required": topology_list(&block, "required")?, "Preferred": topology_list(&block, "preferred")?})
        }
    };
    let members = json!({
        "ID": text(spec, "id")?,
        "Name": text(spec, "name")?,
        "ExternalID": text(spec, "external_id")?,
        "Namespace": text(spec, "namespace")?,
        "PluginID": text(spec, "plugin_id")?,
        "CloneID": text(spec, "clone_id")?,
        "SnapshotID": text(spec, "snapshot_id")?,
        "RequestedCapacityMin": bytes(spec, "capacity_min")?,
        "RequestedCapacityMax": bytes(spec, "capacity_max")?,
        "RequestedCapabilities": capabilities(spec)?,
        "MountOptions": options,
        "RequestedTopologies": topologies,
        "Secrets": spec.text_map("secrets")?,
        "Parameters": spec.text_map("parameters")?,
        "Context": spec.text_map("context")?,
    });
    Ok(serde_json::from_value(members)?)
}

/// The topologies of `required` or `preferred`.
fn topology_list(spec: &Spec, name: &str) -> Result<Vec<Value>, SpecError> {
    let Some(list) = spec.block(name)? else { return Ok(Vec::new()) };
    list.only(&["topology"])?;
    let one = |topology: Spec| {
        topology.only(&["segments"])?;
        let segments: Option<Map<String, Value>> = topology.text_map("segments")?;
        Ok(json!({"Segments": segments}))
    };
    list.blocks("topology")?.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_of(text: &str) -> Value {
        match parse(text.as_bytes(), "volume.hcl").unwrap() {
            Volume::Host(volume) => json!(volume),
            Volume::Csi(volume) => panic!("{volume:?}"),
        }
    }

    #[test]
    fn examples_are_the_same_in_both_formats() {
        for (hcl, json) in [
            (include_str!("../examples/volume.host.hcl"), include_str!("../examples/volume.host.json")),
            (include_str!("../examples/volume.csi.hcl"), include_str!("../examples/volume.csi.json")),
        ] {
            assert_eq!(parse(hcl.as_bytes(), "a").unwrap(), parse(json.as_bytes(), "b").unwrap());
        }
    }

    #[test]
    fn host_volumes_become_what_servers_read() {
        let volume = host_of(
            "type = \"host\"\nname = \"data\"\ncapacity_min = \"10MiB\"\ncapacity_max = \"20M\"\nparameters {\n  uid = 1000\n}\n\
             constraint {\n  attribute = \"${attr.kernel.name}\"\n  value = \"linux\"\n}\n\
             constraint {\n  attribute = \"${attr.os.version}\"\n  version = \">= 22\"\n}\n",
        );
        assert_eq!(
            (&volume["RequestedCapacityMinBytes"], &volume["RequestedCapacityMaxBytes"]),
            (&json!(10 << 20), &json!(20_000_000))
        );
        assert_eq!(volume["Parameters"], json!({"uid": "1000"}));
        assert_eq!(
            volume["Constraints"][0],
            json!({"LTarget": "${attr.kernel.name}", "RTarget": "linux", "Operand": "="})
        );
        assert_eq!(volume["Constraints"][1]["Operand"], "version");
    }

    #[test]
    fn blocks_may_be_on_one_line() {
        let text = "type = \"csi\"\ntopology_request {\n  required {\n    topology { segments { \"rack\" = \"R2\" } }\n    \
                    topology { segments { rack = \"R1\", zone = \"z\" } }\n  }\n}\n";
        let Volume::Csi(volume) = parse(text.as_bytes(), "volume.hcl").unwrap() else { panic!("no CSI volume") };
        let volume = json!(volume);
        let required = json!([{"Segments": {"rack": "R2"}}, {"Segments": {"rack": "R1", "zone": "z"}}]);
        assert_eq!(volume["RequestedTopologies"], json!({"Required": required, "Preferred": []}));
    }

    #[test]
    fn mistakes_have_positions() {
        let cases = [
            ("type = \"host\"\nname =\n", "volume.hcl:"),
            ("# size = 1\ntype = \"host\"\n  size = 1\n", "volume.hcl:3:3: invalid key \"size\""),
            ("type = \"host\"\ncapability {\n  mode = \"x\"\n}\n", "volume.hcl:3:3: invalid key \"mode\""),
            ("type = \"host\"\ncapacity_min = \"much\"\n", "volume.hcl:2:1: capacity_min: \"much\" is not a size"),
            ("type = \"host\"\nname = [\"a\"]\n", "volume.hcl:2:1: name must be a text"),
            ("{\n  \"type\": \"host\",\n  \"size\": 1\n}", "volume.hcl:3:3: invalid key \"size\""),
            ("{\n  \"type\": \"host\"\n", "volume.hcl:"),
        ];
        for (text, wanted) in cases {
            let error = parse(text.as_bytes(), "volume.hcl").unwrap_err();
            let wanted = format!("Error decoding the volume definition: {wanted}");
            assert!(error.message().starts_with(&wanted), "{error:?}\n{wanted}");
        }
        let unknown = |text: &str| parse(text.as_bytes(), "x").unwrap_err().message().to_string();
        assert_eq!(unknown("type = \"nfs\""), "Error unknown volume type: nfs");
        assert_eq!(unknown("name = \"a\""), "Error unknown volume type: ");
    }
}

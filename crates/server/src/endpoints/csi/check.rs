//! Whether a CSI volume is valid (`docs/spec/http-api.md §5.14`).

use crate::error::Error;
use encamp_model::*;

/// The longest ID, in bytes.
const LONGEST_ID: usize = 128;
/// The most bytes of a volume's parameters, context, secrets and topologies together.
const MOST_BYTES: usize = 256 << 10;

/// Checks a volume.
///
/// # Errors
/// 500 with all problems.
pub(super) fn problems(v: &CsiVolume) -> Result<(), Error> {
    let mut wrong: Vec<String> = Vec::new();
    let mut require = |fine: bool, text: &str| {
        if !fine {
            wrong.push(text.into());
        }
    };
    require(!v.id.is_empty(), "missing volume id");
    require(!v.plugin_id.is_empty(), "missing plugin id");
    require(!v.requested_capabilities.is_empty(), "must include at least one capability block");
    for c in &v.requested_capabilities {
        require(CsiAccess::of_mode(&c.access_mode).is_some(), "unknown access mode");
        let attachment = matches!(c.attachment_mode.as_str(), "file-system" | "block-device");
        require(attachment, "unknown attachment mode");
    }
    require([&v.id, &v.name, &v.plugin_id].iter().all(|t| t.len() <= LONGEST_ID), "an ID or name is too long");
    require(v.requested_capacity_min >= 0 && v.requested_capacity_max >= 0, "capacity must not be negative");
    let bounded = v.requested_capacity_max == 0 || v.requested_capacity_min <= v.requested_capacity_max;
    require(bounded, "minimum capacity must not exceed maximum capacity");
    require(v.clone_id.is_empty() || v.snapshot_id.is_empty(), "cannot be made from both a volume and a snapshot");
    require(bytes(v) <= MOST_BYTES, "parameters, context, secrets and topologies are too long");
    if wrong.is_empty() { Ok(()) } else { Err(Error::internal(format!("validation: {}", wrong.join(", ")))) }
}

fn bytes(v: &CsiVolume) -> usize {
    let text = |(k, v): (&String, &String)| k.len() + v.len();
    let requested = v.requested_topologies.iter().flat_map(|r| r.required.iter().chain(&r.preferred));
    let segments = v.topologies.iter().chain(requested).flat_map(|t| &t.segments).map(text).sum::<usize>();
    let secrets = v.secrets.iter().map(|(k, v)| k.len() + v.expose().len()).sum::<usize>();
    let maps = v.parameters.iter().chain(&v.context).map(text).sum::<usize>();
    segments + secrets + maps + v.external_id.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_named() {
        let none = problems(&CsiVolume { id: "v".into(), ..Default::default() }).unwrap_err();
        assert_eq!(none.message, "validation: missing plugin id, must include at least one capability block");
        let capability = |access_mode: &str, attachment_mode: &str| CsiVolumeCapability {
            access_mode: access_mode.into(),
            attachment_mode: attachment_mode.into(),
        };
        let (id, plugin_id) = ("v".to_string(), "p".to_string());
        let fine = CsiVolume {
            id,
            plugin_id,
            requested_capabilities: vec![capability("single-node-writer", "file-system")],
            ..Default::default()
        };
        assert!(problems(&fine).is_ok());
        let odd = CsiVolume { requested_capabilities: vec![capability("all", "none")], ..fine.clone() };
        assert_eq!(problems(&odd).unwrap_err().message, "validation: unknown access mode, unknown attachment mode");
        let small = CsiVolume { requested_capacity_min: 2, requested_capacity_max: 1, ..fine.clone() };
        let text = "validation: minimum capacity must not exceed maximum capacity";
        assert_eq!(problems(&small).unwrap_err().message, text);
        let long = CsiVolume { context: [("k".into(), "x".repeat(MOST_BYTES))].into(), ..fine };
        assert!(problems(&long).is_err());
    }
}

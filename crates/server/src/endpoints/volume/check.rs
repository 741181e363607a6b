//! Whether a dynamic host volume is valid, by itself and as a change of a stored one (`docs/spec/http-api.md §5.14.1`).

use super::Origin;
use crate::error::Error;
use crate::fsm;
use encamp_model::*;
use encamp_state::State;

const ACCESS_MODES: [VolumeAccessMode; 4] = [
    VolumeAccessMode::SingleNodeReaderOnly,
    VolumeAccessMode::SingleNodeWriter,
    VolumeAccessMode::SingleNodeSingleWriter,
    VolumeAccessMode::SingleNodeMultiWriter,
];
const ATTACHMENT_MODES: [&str; 2] = ["file-system", "block-device"];
/// The longest name, in bytes.
const LONGEST_NAME: usize = 256;
/// The most bytes of all parameters together: plugins get them as one environment variable.
const MOST_PARAMETERS: usize = 64 << 10;
/// The most capabilities, and the most constraints.
const MOST_BLOCKS: usize = 64;

/// What a registration needs.
pub(super) fn registrable(volume: &HostVolume) -> Result<(), Error> {
    let required = [("node ID", &volume.node_id), ("host path", &volume.host_path)];
    match required.iter().find(|(_, value)| value.is_empty()) {
        Some((what, _)) => Err(Error::internal(format!("cannot register volume: {what} is required"))),
        None => Ok(()),
    }
}

/// What is wrong with a volume.
pub(super) fn problems(v: &HostVolume, origin: Origin) -> Vec<String> {
    let mut out = Vec::new();
    if v.name.is_empty() {
        out.push("missing name".to_string());
    }
    if v.name.len() > LONGEST_NAME {
        out.push(format!("the name has more than {LONGEST_NAME} bytes"));
    }
    if v.name.chars().any(char::is_control) {
        out.push("the name contains control characters".to_string());
    }
    let parameters: usize = v.parameters.iter().map(|(key, value)| key.len().saturating_add(value.len())).sum();
    if parameters > MOST_PARAMETERS {
        out.push(format!("the parameters have more than {MOST_PARAMETERS} bytes"));
    }
    for (what, count) in [("capabilities", v.requested_capabilities.len()), ("constraints", v.constraints.len())] {
        if count > MOST_BLOCKS {
            out.push(format!("there are more than {MOST_BLOCKS} {what}"));
        }
    }
    out.extend(wrong_capacity(v, origin));
    for c in v.requested_capabilities.iter().take(MOST_BLOCKS) {
        if !ACCESS_MODES.contains(&c.access_mode) {
            out.push(format!("invalid access mode: {}", quoted(c.access_mode.as_str())));
        }
        if !ATTACHMENT_MODES.contains(&c.attachment_mode.as_str()) {
            out.push(format!("invalid attachment mode: {}", quoted(&c.attachment_mode)));
        }
    }
    out
}

fn wrong_capacity(v: &HostVolume, origin: Origin) -> Vec<String> {
    let (least, most) = (v.requested_capacity_min_bytes, v.requested_capacity_max_bytes);
    let mut out = Vec::new();
    for (name, bytes) in [("capacity_min", least), ("capacity_max", most), ("capacity", v.capacity_bytes)] {
        if bytes < 0 {
            out.push(format!("{name} ({bytes}) must not be negative"));
        }
    }
    if most > 0 && most < least {
        out.push(format!("capacity_max ({most}) must be larger than capacity_min ({least})"));
    }
    if origin == Origin::Registered && v.capacity_bytes > 0 {
        let size = v.capacity_bytes;
        if size < least {
            out.push(format!("capacity ({size}) must not be less than capacity_min ({least})"));
        }
        if most > 0 && size > most {
            out.push(format!("capacity ({size}) must not be more than capacity_max ({most})"));
        }
    }
    out
}

/// Why a stored volume can not be changed like this.
pub(super) fn changes(state: &State, old: &HostVolume, new: &HostVolume, origin: Origin) -> Vec<String> {
    let mut out = Vec::new();
    if old.state == HostVolumeState::Deleted {
        out.push(format!("volume {} is being deleted", old.id));
    }
    if old.name != new.name || old.plugin_id != new.plugin_id {
        out.push("name and plugin of a volume can not be changed".to_string());
    }
    if !new.node_id.is_empty() && new.node_id != old.node_id {
        out.push(format!("the node of a volume can not be changed: it is {}", quoted(&old.node_id)));
    }
    let size = old.capacity_bytes;
    match origin {
        Origin::Created => {
            if old.plugin_id.is_empty() {
                out.push("the volume was registered: it can only be registered again".to_string());
            }
            let most = new.requested_capacity_max_bytes;
            if most > 0 && most < size {
                out.push(format!("capacity_max ({most}) must not be less than the existing capacity ({size})"));
            }
        }
        Origin::Registered => {
            if !old.host_path.is_empty() && new.host_path != old.host_path {
                let path = quoted(&old.host_path);
                out.push(format!("the host path of a volume can not be changed: it is {path}"));
            }
            if new.capacity_bytes < size {
                let given = new.capacity_bytes;
                out.push(format!("capacity ({given}) must not be less than the existing capacity ({size})"));
            }
        }
    }
    out.extend(capabilities_in_use(state, old, new));
    out
}

/// Capabilities that allocations use stay.
fn capabilities_in_use(state: &State, old: &HostVolume, new: &HostVolume) -> Vec<String> {
    let has = |v: &HostVolume, modes: (&VolumeAccessMode, &str)| {
        let mut all = v.requested_capabilities.iter();
        all.any(|c| (&c.access_mode, c.attachment_mode.as_str()) == modes)
    };
    let mut out = Vec::new();
    for (entry, requests) in fsm::users(state, old) {
        for request in &requests {
            let modes = request.host_modes();
            if has(old, modes) && !has(new, modes) {
                let ((access, attachment), alloc) = (modes, &entry.alloc.id);
                out.push(format!("capability {access} {attachment} can not be removed: allocation {alloc} uses it"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume() -> HostVolume {
        HostVolume {
            name: "data".into(),
            plugin_id: "mkdir".into(),
            node_id: "n".into(),
            requested_capabilities: vec![HostVolumeCapability {
                access_mode: VolumeAccessMode::SingleNodeWriter,
                attachment_mode: "file-system".into(),
            }],
            ..HostVolume::default()
        }
    }

    #[test]
    fn all_problems_are_told() {
        assert!(problems(&volume(), Origin::Created).is_empty());
        let wrong = HostVolume {
            name: String::new(),
            requested_capacity_min_bytes: 10,
            requested_capacity_max_bytes: 5,
            capacity_bytes: -1,
            parameters: [("k".to_string(), "v".repeat(MOST_PARAMETERS))].into(),
            requested_capabilities: vec![HostVolumeCapability::default()],
            ..volume()
        };
        let wanted = [
            "missing name",
            "the parameters have more than 65536 bytes",
            "capacity (-1) must not be negative",
            "capacity_max (5) must be larger than capacity_min (10)",
            "invalid access mode: \"\"",
            "invalid attachment mode: \"\"",
        ];
        assert_eq!(problems(&wrong, Origin::Created), wanted);
        let name = |name: &str| problems(&HostVolume { name: name.into(), ..volume() }, Origin::Created);
        assert_eq!(name("a\nb"), ["the name contains control characters"]);
        assert_eq!(name(&"x".repeat(257)), ["the name has more than 256 bytes"]);
        let sized = HostVolume { capacity_bytes: 4, requested_capacity_min_bytes: 5, ..volume() };
        assert_eq!(problems(&sized, Origin::Registered), ["capacity (4) must not be less than capacity_min (5)"]);
        let sized = HostVolume { capacity_bytes: 7, requested_capacity_max_bytes: 6, ..volume() };
        assert_eq!(problems(&sized, Origin::Registered), ["capacity (7) must not be more than capacity_max (6)"]);
    }

    #[test]
    fn volumes_keep_what_identifies_them_and_only_grow() {
        let state = State::default();
        let old = HostVolume { id: "v".into(), capacity_bytes: 10, host_path: "/a".into(), ..volume() };
        let new = |change: fn(&mut HostVolume), origin| {
            let mut new = HostVolume { host_path: "/a".into(), capacity_bytes: 10, ..volume() };
            change(&mut new);
            changes(&state, &old, &new, origin)
        };
        assert!(new(|v| v.requested_capacity_max_bytes = 20, Origin::Created).is_empty());
        let identity = "name and plugin of a volume can not be changed";
        assert_eq!(new(|v| v.name = "b".into(), Origin::Created), [identity]);
        assert_eq!(new(|v| v.plugin_id = "b".into(), Origin::Created), [identity]);
        let node = "the node of a volume can not be changed: it is \"n\"";
        assert_eq!(new(|v| v.node_id = "m".into(), Origin::Created), [node]);
        let smaller = "capacity_max (9) must not be less than the existing capacity (10)";
        assert_eq!(new(|v| v.requested_capacity_max_bytes = 9, Origin::Created), [smaller]);
        let smaller = "capacity (9) must not be less than the existing capacity (10)";
        assert_eq!(new(|v| v.capacity_bytes = 9, Origin::Registered), [smaller]);
        let path = "the host path of a volume can not be changed: it is \"/a\"";
        assert_eq!(new(|v| v.host_path = "/b".into(), Origin::Registered), [path]);
    }
}

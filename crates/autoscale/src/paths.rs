//! Paths of the Variables that hold configuration and state (`docs/spec/cluster-scaling.md §1`, `§8`, `§13`).

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The Variable whose lock the external agent holds while it acts.
pub const LEADER: &str = "encamp/autoscale/leader";
/// The namespace of all of them.
pub const NAMESPACE: &str = "default";

/// The Variable with the configuration of a pool.
pub fn pool_configuration(pool: &str) -> String {
    format!("encamp/autoscale/pools/{}", part(pool))
}

/// The Variable with the state of a pool.
pub fn pool_state(pool: &str) -> String {
    format!("encamp/autoscale/state/nodes/{}", part(pool))
}

/// The Variable with the state of a job's group.
pub fn group_state(job: &str, group: &str) -> String {
    format!("encamp/autoscale/state/jobs/{}/{}", part(job), part(group))
}

/// A name as part of a path: other bytes than `A-Z a-z 0-9 - _` become `~` and two hex digits; what is longer than 48 bytes
/// then becomes the beginning of its SHA-256.
pub(crate) fn part(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for b in name.bytes() {
        match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => out.push(char::from(b)),
            _ => {
                let _ = write!(out, "~{b:02X}");
            }
        }
    }
    if out.len() <= 48 {
        return out;
    }
    digest(name)
}

/// The first 40 hex digits of a text's SHA-256.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(20).fold(String::new(), |mut hex, b| {
        let _ = write!(hex, "{b:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_parts_of_paths() {
        assert_eq!(pool_state("web-1_A"), "encamp/autoscale/state/nodes/web-1_A");
        assert_eq!(pool_configuration("a b/ü"), "encamp/autoscale/pools/a~20b~2F~C3~BC");
        let long = "x".repeat(49);
        let path = group_state(&long, &"y".repeat(48));
        assert_eq!(path.len(), "encamp/autoscale/state/jobs/".len() + 40 + 1 + 48);
        assert!(path.len() <= 128);
        assert!(group_state(&"/".repeat(128), &"/".repeat(128)).len() <= 128);
    }
}

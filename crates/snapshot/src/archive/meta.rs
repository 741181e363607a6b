//! `meta.json` and `SHA256SUMS` (`docs/spec/snapshot-archive.md §2.1, 3`).

use serde::{Deserialize, Serialize};

use super::container::{META, STATE};
use super::error::ArchiveError;
use encamp_model::Time;
use encamp_model::json::null_is_default;

/// The only version of `meta.json` there is.
const META_VERSION: i64 = 1;

/// The description of a snapshot in `meta.json`.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Meta {
    /// Version of this object: 1.
    pub version: i64,
    /// `TERM-INDEX-UNIXMILLISECONDS`.
    #[serde(rename = "ID")]
    pub id: String,
    /// The last log entry that the state contains.
    pub index: u64,
    /// Its term.
    pub term: u64,
    /// The servers of the cluster.
    pub configuration: Configuration,
    /// Log entry that set those.
    pub configuration_index: u64,
    /// The addresses of the servers, in an older form, for display alone; empty: the archive has none.
    #[serde(skip_serializing)]
    pub peers: String,
    /// Length of `state.bin`.
    pub size: i64,
}

/// The servers of a cluster.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Configuration {
    /// One by one.
    pub servers: Vec<Server>,
}

/// A server of a cluster.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Server {
    /// 0 voter, 1 non-voter, 2 staging.
    pub suffrage: i64,
    /// ID of the server.
    #[serde(rename = "ID")]
    pub id: String,
    /// Where it is reached by other servers.
    pub address: String,
}

impl Meta {
    /// Reads `meta.json` and checks it against the length of `state.bin`.
    pub(super) fn parse(json: &[u8], state_size: u64) -> Result<Meta, ArchiveError> {
        if json.trim_ascii_start().first() != Some(&b'{') {
            return Err(ArchiveError::Meta("it is not a JSON object".into()));
        }
        let meta: Meta = serde_json::from_slice(json).map_err(unreadable)?;
        if meta.version != META_VERSION {
            return Err(ArchiveError::Meta(format!(
                "snapshot version {} is not supported, only version {META_VERSION}",
                meta.version
            )));
        }
        if u64::try_from(meta.size).ok() != Some(state_size) {
            return Err(ArchiveError::Meta(format!(
                "it says that state.bin has {} bytes, but it has {state_size}: the parts are not of one snapshot",
                meta.size
            )));
        }
        Ok(meta)
    }

    /// When the snapshot was taken, from its ID; the zero time if that does not say.
    pub fn taken_at(&self) -> Time {
        let parts: Vec<&str> = self.id.split('-').collect();
        let [_, _, milliseconds] = parts.as_slice() else { return Time::ZERO };
        let nanos = milliseconds.parse::<i64>().ok().and_then(|ms| ms.checked_mul(1_000_000));
        nanos.map_or(Time::ZERO, Time::from_unix_nanos)
    }
}

/// An error for `meta.json` that is not what it should be.
pub(super) fn unreadable(e: serde_json::Error) -> ArchiveError {
    ArchiveError::Meta(e.to_string())
}

/// Compares the digests of `meta.json` and `state.bin` with what `SHA256SUMS` says.
pub(super) fn verify(sums: &[u8], meta: &[u8; 32], state: &[u8; 32]) -> Result<(), ArchiveError> {
    let unreadable = |n: usize| ArchiveError::Checksum(format!("line {n} of SHA256SUMS cannot be read"));
    let text = std::str::from_utf8(sums).map_err(|_| ArchiveError::Checksum("SHA256SUMS is not text".into()))?;
    let (mut meta_named, mut state_named) = (false, false);
    for (i, line) in text.strip_suffix('\n').unwrap_or(text).split('\n').enumerate() {
        let (digest, rest) = line.split_at_checked(64).ok_or_else(|| unreadable(i + 1))?;
        let name = rest.trim_start_matches([' ', '\t']);
        let digest = hex(digest).filter(|_| name.len() < rest.len()).ok_or_else(|| unreadable(i + 1))?;
        let (named, actual) = match name {
            META => (&mut meta_named, meta),
            STATE => (&mut state_named, state),
            _ => return Err(ArchiveError::Checksum(format!("line {} of SHA256SUMS names an unknown file", i + 1))),
        };
        if digest != *actual {
            return Err(ArchiveError::Checksum(format!("{name} does not match its checksum")));
        }
        *named = true;
    }
    for (name, named) in [(META, meta_named), (STATE, state_named)] {
        if !named {
            return Err(ArchiveError::Checksum(format!("SHA256SUMS has no checksum of {name}")));
        }
    }
    Ok(())
}

fn hex(text: &str) -> Option<[u8; 32]> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let mut out = [0; 32];
    let pairs = text.as_bytes().chunks_exact(2);
    if pairs.len() != out.len() {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(pairs) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_the_third_part_of_the_id() {
        let at = |id: &str| Meta { id: id.into(), ..Meta::default() }.taken_at();
        assert_eq!(at("2-298-1795243501051").to_string(), "2026-11-21T06:45:01.051Z");
        for unknown in ["", "2-298", "2-298-x", "2-298-1-1", "1-2-9223372036854775807"] {
            assert!(at(unknown).is_zero(), "{unknown}");
        }
    }

    #[test]
    fn sums() {
        let (meta, state) = ([0xab; 32], [1; 32]);
        let (m, s) = ("AB".repeat(32), "01".repeat(32));
        let check = |text: String| verify(text.as_bytes(), &meta, &state).map_err(|e| e.to_string());
        assert_eq!(check(format!("{s} \t state.bin\n{m} meta.json")), Ok(()));
        for (text, want) in [
            (format!("{m}  meta.json\n"), "no checksum of state.bin"),
            (format!("{m}  meta.json\n\n{s}  state.bin\n"), "line 2 of SHA256SUMS cannot be read"),
            (format!("{s}  meta.json\n{s}  state.bin\n"), "meta.json does not match"),
            (format!("{s}state.bin\n"), "line 1 of SHA256SUMS cannot be read"),
            (format!("{m}  other\n"), "names an unknown file"),
            ("é".repeat(40), "cannot be read"),
            (String::new(), "cannot be read"),
        ] {
            let got = check(text).unwrap_err();
            assert!(got.contains(want), "{got}");
        }
    }
}

//! Copies the records of a server's state without their secrets (`docs/spec/snapshot-archive.md §14.1`).
//!
//! Values are replaced where they are, in MessagePack, so that everything else stays as the server wrote it, members that
//! are unknown here included.

use super::error::ArchiveError;
use super::records::type_name;
use encamp_msgpack::wire::{Extent, Head, MAX_DEPTH, Malformed, head};

/// What a secret is replaced with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instead {
    /// Nil.
    Nil,
    /// An empty text.
    Empty,
    /// A new secret that nobody knows, unless the text is empty.
    Fresh,
    /// A list that says that something was there; an empty list stays.
    Masked,
    /// The text with the mark of redacted keys.
    Marked,
}

/// Where a secret is in a record, and what replaces it. `*` is every element of a list and every value of a map.
type Rule = (&'static [&'static str], Instead);

/// Every element.
const EACH: &str = "*";
/// The mark behind the IDs of redacted keys.
const MARK: &[u8] = b" [REDACTED]";
/// What stands for the options of a mount, as in answers of servers.
const MASK: &[u8] = b"[REDACTED]";

const NODE: &[Rule] = &[(&["SecretID"], Instead::Fresh)];
const JOB: &[Rule] = &[(&["VaultToken"], Instead::Empty), (&["ConsulToken"], Instead::Empty)];
const EVALUATION: &[Rule] = &[(&["LeaderACL"], Instead::Empty)];
const ALLOCATION: &[Rule] = &[
    (&["SignedIdentities"], Instead::Nil),
    (&["Job", "VaultToken"], Instead::Empty),
    (&["Job", "ConsulToken"], Instead::Empty),
];
const TOKEN: &[Rule] = &[(&["SecretID"], Instead::Fresh)];
const CSI_VOLUME: &[Rule] = &[
    (&["Secrets"], Instead::Nil),
    (&["MountOptions", "MountFlags"], Instead::Masked),
    (&["ReadAllocs", EACH, "SignedIdentities"], Instead::Nil),
    (&["WriteAllocs", EACH, "SignedIdentities"], Instead::Nil),
];
const VARIABLE: &[Rule] = &[(&["Data"], Instead::Nil), (&["Lock"], Instead::Nil)];
const AUTH_METHOD: &[Rule] = &[
    (&["Config", "OIDCClientSecret"], Instead::Empty),
    (&["Config", "OIDCClientAssertion", "ClientSecret"], Instead::Empty),
    (&["Config", "OIDCClientAssertion", "PrivateKey", "PemKey"], Instead::Empty),
];
const SUBMISSION: &[Rule] = &[(&["VariableFlags"], Instead::Nil), (&["Variables"], Instead::Empty)];
const ROOT_KEY: &[Rule] = &[(&["KeyID"], Instead::Marked), (&["WrappedKeys"], Instead::Nil)];

/// The secrets of records of a type; `None` for a type whose content is not known.
fn rules(kind: u8) -> Option<&'static [Rule]> {
    type_name(kind)?;
    Some(match kind {
        0 => NODE,
        1 | 9 => JOB,
        3 => EVALUATION,
        4 => ALLOCATION,
        12 => TOKEN,
        18 => CSI_VOLUME,
        22 => VARIABLE,
        26 => AUTH_METHOD,
        29 => SUBMISSION,
        30 => ROOT_KEY,
        _ => &[],
    })
}

/// Copies `state.bin` without its secrets. `fresh` makes secret IDs that nobody knows: an empty one would be easy to
/// guess.
///
/// # Errors
/// It is not a list of records, or has a type of records that this build does not know, which may hold secrets.
pub fn redact(state: &[u8], fresh: &mut dyn FnMut() -> String) -> Result<Vec<u8>, ArchiveError> {
    let mut copy = Copy { state, at: 0, out: Vec::with_capacity(state.len()), fresh, record: 0, kind: None };
    if !matches!(head(state), Ok(Some((Head::Map(_), _)))) {
        return Err(copy.framing("it does not begin with a map: it is not the state of a server"));
    }
    copy.value(&[])?;
    while let Some(&kind) = copy.rest().first() {
        (copy.record, copy.kind) = (copy.record + 1, Some(kind));
        let Some(rules) = rules(kind) else {
            let problem =
                format!("records of type {kind} are of a newer server or another edition, and may hold secrets");
            return Err(ArchiveError::Type { place: copy.place(), problem });
        };
        copy.bytes(1)?;
        copy.value(rules)?;
    }
    Ok(copy.out)
}

/// On the way through `state.bin`.
struct Copy<'a> {
    state: &'a [u8],
    at: usize,
    out: Vec<u8>,
    fresh: &'a mut dyn FnMut() -> String,
    /// Number of the current record, from 1; 0 is the header.
    record: u64,
    kind: Option<u8>,
}

impl<'a> Copy<'a> {
    fn rest(&self) -> &'a [u8] {
        self.state.get(self.at..).unwrap_or_default()
    }

    fn place(&self) -> String {
        match self.kind {
            Some(kind) => {
                let name = type_name(kind).map_or_else(|| format!("type {kind}"), str::to_string);
                format!("record {} ({name}), offset {}", self.record, self.at)
            }
            None => format!("header, offset {}", self.at),
        }
    }

    fn framing(&self, problem: impl Into<String>) -> ArchiveError {
        ArchiveError::Framing { place: self.place(), problem: problem.into() }
    }

    /// The length of the value that comes next.
    fn length(&self) -> Result<usize, ArchiveError> {
        let rest = self.rest();
        match Extent::default().advance(rest, rest.len() as u64) {
            Ok(Some(length)) => Ok(length),
            Ok(None) => Err(self.framing("state.bin ends within a value")),
            Err(Malformed::TooLong(n)) => {
                Err(self.framing(format!("a length of {n} reaches beyond the end of state.bin")))
            }
            Err(Malformed::TooDeep) => {
                let text = format!("values are nested more than {MAX_DEPTH} levels deep");
                Err(ArchiveError::Limit(format!("state.bin, {}: {text}", self.place())))
            }
            Err(Malformed::Byte(byte)) => {
                Err(ArchiveError::Value { place: self.place(), problem: format!("byte 0x{byte:02x} is not a value") })
            }
        }
    }

    /// Takes the next bytes.
    fn take(&mut self, n: usize) -> Result<&'a [u8], ArchiveError> {
        let Some(bytes) = self.rest().get(..n) else { return Err(self.framing("state.bin ends within a value")) };
        self.at += n;
        Ok(bytes)
    }

    /// Copies the next bytes.
    fn bytes(&mut self, n: usize) -> Result<(), ArchiveError> {
        let bytes = self.take(n)?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Copies a value, with what its rules say replaced. The rules end after a few levels, so the recursion does.
    fn value(&mut self, rules: &[Rule]) -> Result<(), ArchiveError> {
        let length = self.length()?;
        if let Some((_, instead)) = rules.iter().find(|(path, _)| path.is_empty()) {
            return self.replace(*instead, length);
        }
        let container = match head(self.rest()) {
            Ok(Some((Head::Map(n), size))) if !rules.is_empty() => Some((n, size, true)),
            Ok(Some((Head::Array(n), size))) if !rules.is_empty() => Some((n, size, false)),
            _ => None,
        };
        let Some((n, size, map)) = container else { return self.bytes(length) };
        self.bytes(size)?;
        for _ in 0..n {
            let mut key: &[u8] = &[];
            if map {
                let length = self.length()?;
                key = text(self.rest().get(..length).unwrap_or_default());
                self.bytes(length)?;
            }
            let below = |(path, instead): &Rule| match path.split_first() {
                Some((first, rest)) if *first == EACH || (map && first.as_bytes() == key) => Some((rest, *instead)),
                _ => None,
            };
            self.value(&rules.iter().filter_map(below).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Writes something else than the next value.
    fn replace(&mut self, instead: Instead, length: usize) -> Result<(), ArchiveError> {
        let value = self.rest().get(..length).unwrap_or_default();
        let text = text(value);
        match instead {
            Instead::Fresh if text.is_empty() => return self.bytes(length),
            Instead::Marked if text.is_empty() || text.ends_with(MARK) => return self.bytes(length),
            Instead::Masked if !matches!(head(value), Ok(Some((Head::Array(1..), _)))) => return self.bytes(length),
            Instead::Nil => self.out.push(0xc0),
            Instead::Empty => self.out.push(0xa0),
            Instead::Fresh => {
                let secret = (self.fresh)();
                self.raw(secret.as_bytes());
            }
            Instead::Marked => self.raw(&[text, MARK].concat()),
            Instead::Masked => {
                self.out.push(0x91);
                self.raw(MASK);
            }
        }
        self.take(length).map(drop)
    }

    /// Writes a text in the old form (`docs/spec/snapshot-archive.md §7`).
    fn raw(&mut self, text: &[u8]) {
        match u8::try_from(text.len()) {
            Ok(n @ ..=31) => self.out.push(0xa0 | n),
            _ => match u16::try_from(text.len()) {
                Ok(n) => self.out.extend([&[0xda][..], &n.to_be_bytes()].concat()),
                Err(_) => {
                    let n = u32::try_from(text.len()).unwrap_or(u32::MAX);
                    self.out.extend([&[0xdb][..], &n.to_be_bytes()].concat());
                }
            },
        }
        self.out.extend_from_slice(text);
    }
}

/// The bytes of a text; none for another value.
fn text(value: &[u8]) -> &[u8] {
    match head(value) {
        Ok(Some((Head::Raw(n), size))) => value.get(size..size.saturating_add(n)).unwrap_or_default(),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(state: &[u8]) -> Result<Vec<u8>, ArchiveError> {
        redact(state, &mut || "fresh".into())
    }

    fn map(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = vec![0x80 | u8::try_from(members.len()).unwrap()];
        for (key, value) in members {
            out.extend(raw(key));
            out.extend_from_slice(value);
        }
        out
    }

    fn raw(text: &str) -> Vec<u8> {
        [&[0xa0 | u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    }

    fn record(kind: u8, value: &[u8]) -> Vec<u8> {
        [&[0x80, kind], value].concat()
    }

    #[test]
    fn secrets_are_replaced_and_the_rest_stays() {
        let empty: &[u8] = &[0x80];
        for (kind, before, after) in [
            (
                0,
                map(&[("SecretID", &raw("s")), ("ID", &raw("n"))]),
                map(&[("SecretID", &raw("fresh")), ("ID", &raw("n"))]),
            ),
            (0, map(&[("SecretID", &raw(""))]), map(&[("SecretID", &raw(""))])),
            (0, map(&[("Meta", &map(&[("SecretID", &raw("m"))]))]), map(&[("Meta", &map(&[("SecretID", &raw("m"))]))])),
            (12, map(&[("SecretID", &raw("s"))]), map(&[("SecretID", &raw("fresh"))])),
            (3, map(&[("LeaderACL", &raw("s"))]), map(&[("LeaderACL", &raw(""))])),
            (
                4,
                map(&[("Job", &map(&[("VaultToken", &raw("s"))]))]),
                map(&[("Job", &map(&[("VaultToken", &raw(""))]))]),
            ),
            (4, map(&[("SignedIdentities", &map(&[("t", &raw("s"))]))]), map(&[("SignedIdentities", &[0xc0])])),
            (22, map(&[("Data", &raw("s")), ("Lock", empty)]), map(&[("Data", &[0xc0]), ("Lock", &[0xc0])])),
            (
                30,
                map(&[("KeyID", &raw("k")), ("WrappedKeys", &[0x91, 0x80])]),
                map(&[("KeyID", &raw("k [REDACTED]")), ("WrappedKeys", &[0xc0])]),
            ),
            (
                18,
                map(&[("MountOptions", &map(&[("MountFlags", &[&[0x92][..], &raw("s"), &raw("t")].concat())]))]),
                map(&[("MountOptions", &map(&[("MountFlags", &[&[0x91][..], &raw("[REDACTED]")].concat())]))]),
            ),
            (
                18,
                map(&[("ReadAllocs", &map(&[("a", &map(&[("SignedIdentities", empty)]))]))]),
                map(&[("ReadAllocs", &map(&[("a", &map(&[("SignedIdentities", &[0xc0])]))]))]),
            ),
            (
                26,
                map(&[("Config", &map(&[("OIDCClientSecret", &raw("s"))]))]),
                map(&[("Config", &map(&[("OIDCClientSecret", &raw(""))]))]),
            ),
            (26, map(&[("Config", &[0xc0])]), map(&[("Config", &[0xc0])])),
            (
                29,
                map(&[("Source", &raw("x")), ("Variables", &raw("s"))]),
                map(&[("Source", &raw("x")), ("Variables", &raw(""))]),
            ),
        ] {
            let once = redacted(&record(kind, &before)).unwrap();
            assert_eq!(once, record(kind, &after), "type {kind}");
            assert_eq!(redacted(&once).unwrap(), once, "type {kind}, redacted again");
        }
    }

    #[test]
    fn long_texts_have_longer_heads() {
        let mut copy = Copy { state: &[], at: 0, out: Vec::new(), fresh: &mut String::new, record: 0, kind: None };
        copy.raw(&[b'x'; 36]);
        assert_eq!(copy.out[..3], [0xda, 0, 36]);
        copy.out.clear();
        copy.raw(&vec![b'x'; 70_000]);
        assert_eq!(copy.out[..5], [0xdb, 0, 1, 0x11, 0x70]);
    }

    #[test]
    fn damaged_and_unknown_records_are_refused() {
        for (state, stage) in [
            (&[][..], "framing"),
            (&[0xc0], "framing"),
            (&[0x80, 0], "framing"),
            (&[0x80, 0, 0x81, 0xa1], "framing"),
            (&[0x80, 0, 0xc1], "value"),
            (&[0x80, 63, 0x80], "type"),
            (&[0x80, 0, 0xdd, 255, 255, 255, 255], "framing"),
        ] {
            assert_eq!(redacted(state).unwrap_err().stage(), stage, "{state:x?}");
        }
        let deep = [vec![0x80, 0], vec![0x91; MAX_DEPTH + 1], vec![0xc0]].concat();
        assert_eq!(redacted(&deep).unwrap_err().stage(), "limit");
    }
}

//! The format of plan files (`docs/reference/plan-file.md`): two lines of text, then JSON compressed with Zstandard.
//!
//! ```text
//! encamp-plan 1
//! signature ed25519 «key ID» «signature, base64»
//! «Zstandard frame»
//! ```
//!
//! The signature covers the first line and the frame, so that it covers everything but itself. It is checked before
//! anything of the frame is decompressed.

use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::keys::{KeyId, PublicKey, Signature, SignatureError, SigningKey};
use super::variables::Fingerprints;
use encamp_model::api;
use encamp_plan::review::Outcome;

/// The beginning of every plan file.
const MAGIC: &[u8] = b"encamp-plan ";
/// The only version.
const VERSION: u32 = 1;
/// The size of the largest file that is read, bytes.
const LARGEST_FILE: u64 = 16 << 20;
/// The size of the largest content, bytes.
const LARGEST_CONTENT: u64 = 64 << 20;
/// The largest window of a frame, as a power of two: bounds the memory of decompression.
const LARGEST_WINDOW: u32 = 26;
/// The length of the longest line, bytes.
const LONGEST_LINE: usize = 256;
/// The level of compression.
const LEVEL: i32 = 9;

/// Why a plan file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file does not begin like a plan file.
    #[error("it is not a plan file; job plan -out writes one")]
    OtherFile,
    /// The version is another one.
    #[error(
        "it has version {found} of the format of plan files; this program reads version {VERSION}: make the plan again"
    )]
    Version {
        /// The version in the file.
        found: String,
    },
    /// The file is larger than any plan.
    #[error("it is larger than {} MiB", LARGEST_FILE >> 20)]
    FileTooLarge,
    /// The content is larger than that of any plan.
    #[error("its content is larger than {} MiB", LARGEST_CONTENT >> 20)]
    ContentTooLarge,
    /// The second line is no signature.
    #[error("the line of the signature is damaged")]
    SignatureLine,
    /// The frame is damaged.
    #[error("its content is damaged: {0}")]
    Frame(io::Error),
    /// The JSON is not that of a plan.
    #[error("its content is not that of a plan: {0}")]
    Content(serde_json::Error),
}

/// The job file of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct RecordedFile {
    /// Its path as it was given.
    pub path: String,
    /// `hcl2` or `json`.
    pub format: String,
    /// Its text.
    pub source: String,
}

/// The state that a plan was made on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct RecordedState {
    /// The Raft index of the state.
    pub index: u64,
    /// The time of the state, Unix nanoseconds.
    pub time: i64,
    /// The snapshot file; absent: a running cluster.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub snapshot: Option<String>,
    /// The address of the running cluster.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
}

/// The content of a plan file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Content {
    /// The version of the format.
    pub schema_version: u32,
    /// The version of the program that wrote the file.
    pub program: String,
    /// When it was written, Unix nanoseconds.
    pub created: i64,
    /// The state that the plan was made on.
    pub state: RecordedState,
    /// The namespace of the job.
    pub namespace: String,
    /// The job file.
    pub job_file: RecordedFile,
    /// Fingerprints of the values of variables.
    pub variables: Fingerprints,
    /// The job, with the values of its variables where the job file uses them.
    pub job: api::Job,
    /// What the plan does.
    pub outcome: Outcome,
}

impl Content {
    /// The ID of the job.
    pub fn job_id(&self) -> &str {
        self.job.id.as_deref().unwrap_or_default()
    }

    /// A content of this version.
    pub fn new(
        created: i64,
        state: RecordedState,
        namespace: &str,
        job_file: RecordedFile,
        variables: Fingerprints,
        mut job: api::Job,
        outcome: Outcome,
    ) -> Content {
        // Whoever registers the plan may have another namespace in the environment.
        job.namespace = Some(namespace.to_string());
        let program = env!("CARGO_PKG_VERSION").to_string();
        let namespace = namespace.to_string();
        Content { schema_version: VERSION, program, created, state, namespace, job_file, variables, job, outcome }
    }
}

/// A plan file whose content has not been decoded.
#[derive(Debug)]
pub struct Sealed {
    signature: Option<Signature>,
    /// The bytes that a signature covers: the first line and the frame.
    signed: Vec<u8>,
    /// The length of the first line in `signed`.
    head: usize,
}

/// Whether these bytes begin like a plan file.
pub fn looks_like_one(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Whether the file at that path begins like a plan file. Files that cannot be read are none.
pub fn is_one(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut begin));
    read.is_ok() && looks_like_one(&begin)
}

/// Reads a file, but not its content.
///
/// # Errors
/// The file cannot be read, is too large, or is no plan file of this version.
pub fn read(path: &Path) -> Result<Sealed, FormatError> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    parse(&bytes)
}

/// Splits the bytes of a file.
///
/// # Errors
/// The bytes are too many, or are no plan file of this version.
pub fn parse(bytes: &[u8]) -> Result<Sealed, FormatError> {
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(FormatError::FileTooLarge);
    }
    let (version, rest) = bytes.strip_prefix(MAGIC).and_then(line).ok_or(FormatError::OtherFile)?;
    if version.parse() != Ok(VERSION) {
        return Err(FormatError::Version { found: version.to_string() });
    }
    let (signature, frame) = line(rest).ok_or(FormatError::SignatureLine)?;
    let signature = match signature.split(' ').collect::<Vec<_>>().as_slice() {
        ["signature", "none"] => None,
        ["signature", "ed25519", key, signature] => {
            Some(Signature::parse(key, signature).ok_or(FormatError::SignatureLine)?)
        }
        _ => return Err(FormatError::SignatureLine),
    };
    let mut signed = head();
    let head = signed.len();
    signed.extend_from_slice(frame);
    Ok(Sealed { signature, signed, head })
}

/// The first line, and the rest after its end.
fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().take(LONGEST_LINE).position(|b| *b == b'\n')?;
    let text = std::str::from_utf8(bytes.get(..end)?).ok()?;
    Some((text, bytes.get(end.saturating_add(1)..)?))
}

fn head() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(format!("{VERSION}\n").into_bytes());
    out
}

impl Sealed {
    /// The key that the file says it is signed with.
    pub fn key(&self) -> Option<&KeyId> {
        self.signature.as_ref().map(Signature::key)
    }

    /// Requires a signature by one of these keys.
    ///
    /// # Errors
    /// There is no signature, it is by another key, or it is not that of this content.
    pub fn verify(&self, keys: &[PublicKey]) -> Result<(), SignatureError> {
        self.signature.as_ref().ok_or(SignatureError::Missing)?.verify(keys, &self.signed)
    }

    /// The content.
    ///
    /// # Errors
    /// It is too large, damaged, or not that of a plan.
    pub fn content(&self) -> Result<Content, FormatError> {
        let frame = self.signed.get(self.head..).unwrap_or_default();
        let mut decoder = zstd::stream::read::Decoder::with_buffer(frame).map_err(FormatError::Frame)?.single_frame();
        decoder.window_log_max(LARGEST_WINDOW).map_err(FormatError::Frame)?;
        let mut json = Vec::new();
        let mut bounded = decoder.take(LARGEST_CONTENT + 1);
        bounded.read_to_end(&mut json).map_err(FormatError::Frame)?;
        if json.len() as u64 > LARGEST_CONTENT {
            return Err(FormatError::ContentTooLarge);
        }
        if !bounded.into_inner().finish().is_empty() {
            return Err(FormatError::Frame(io::Error::other("there is more after its end")));
        }
        serde_json::from_slice(&json).map_err(FormatError::Content)
    }
}

/// The bytes of a file, signed if there is a key.
///
/// # Errors
/// The content is too large for a plan file.
pub fn encode(content: &Content, key: Option<&SigningKey>) -> Result<Vec<u8>, FormatError> {
    let json = serde_json::to_vec(content).map_err(FormatError::Content)?;
    if json.len() as u64 > LARGEST_CONTENT {
        return Err(FormatError::ContentTooLarge);
    }
    let frame = zstd::bulk::compress(&json, LEVEL).map_err(FormatError::Frame)?;
    let mut signed = head();
    let head = signed.len();
    signed.extend_from_slice(&frame);
    let signature = key.map_or_else(|| "none".to_string(), |key| format!("ed25519 {}", key.sign(&signed)));
    signed.splice(head..head, format!("signature {signature}\n").into_bytes());
    if signed.len() as u64 > LARGEST_FILE {
        return Err(FormatError::FileTooLarge);
    }
    Ok(signed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_file::keys::tests::{other_key, signing_key};

    fn content() -> Content {
        Content::new(
            7,
            RecordedState { index: 9, time: 5, ..RecordedState::default() },
            "default",
            RecordedFile { path: "web.hcl".into(), format: "hcl2".into(), source: "job \"web\" {}".into() },
            Fingerprints::default(),
            api::Job { id: Some("web".into()), ..api::Job::default() },
            Outcome::default(),
        )
    }

    #[test]
    fn files_hold_what_was_written() {
        let (signing, public) = signing_key();
        for key in [None, Some(&signing)] {
            let bytes = encode(&content(), key).unwrap();
            assert!(looks_like_one(&bytes));
            let sealed = parse(&bytes).unwrap();
            assert_eq!(sealed.content().unwrap(), content());
            let verified = sealed.verify(std::slice::from_ref(&public));
            assert_eq!(verified.is_ok(), key.is_some());
        }
    }

    #[test]
    fn a_signature_covers_every_byte() {
        let (signing, public) = signing_key();
        let keys = [public];
        let bytes = encode(&content(), Some(&signing)).unwrap();
        for at in 0..bytes.len() {
            for bit in [1_u8, 0x20, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= bit;
                let accepted = parse(&damaged).is_ok_and(|sealed| sealed.verify(&keys).is_ok());
                assert!(!accepted, "bit {bit} of byte {at}");
            }
        }
        for damaged in [&bytes[..bytes.len() - 1], &[&bytes[..], b"x"].concat()] {
            assert!(matches!(parse(damaged).unwrap().verify(&keys), Err(SignatureError::Wrong { .. })));
        }
        let other = parse(&encode(&content(), Some(&other_key())).unwrap()).unwrap();
        assert!(matches!(other.verify(&keys), Err(SignatureError::OtherKey { .. })));
    }

    #[test]
    fn hostile_files_are_refused() {
        let refused = |bytes: &[u8]| parse(bytes).and_then(|s| s.content()).unwrap_err().to_string();
        let with = |frame: &[u8]| [b"encamp-plan 1\nsignature none\n".as_slice(), frame].concat();
        assert_eq!(refused(b""), FormatError::OtherFile.to_string());
        assert_eq!(refused(b"encamp-plan 1"), FormatError::OtherFile.to_string());
        assert!(refused(b"encamp-plan 2\nx").starts_with("it has version 2 "));
        assert_eq!(refused(b"encamp-plan 1\nsignature\n"), FormatError::SignatureLine.to_string());
        assert_eq!(refused(b"encamp-plan 1\nsignature ed25519 a b\n"), FormatError::SignatureLine.to_string());
        assert_eq!(refused(&vec![b'x'; (LARGEST_FILE + 1) as usize]), FormatError::FileTooLarge.to_string());
        assert!(refused(&with(b"{}")).starts_with("its content is damaged"));
        let frame = |content: &[u8]| zstd::bulk::compress(content, 1).unwrap();
        assert!(refused(&with(&frame(b"{}"))).starts_with("its content is not that of a plan: missing field"));
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        assert!(refused(&with(&frame(&deep))).starts_with("its content is not that of a plan"));
        let zeros = frame(&vec![b' '; (LARGEST_CONTENT + 1) as usize]);
        assert!(zeros.len() < 100_000, "a small file with a large content");
        assert_eq!(refused(&with(&zeros)), FormatError::ContentTooLarge.to_string());
        let twice = [frame(b"{}"), frame(b"{}")].concat();
        assert!(refused(&with(&twice)).contains("more after its end"));
    }
}

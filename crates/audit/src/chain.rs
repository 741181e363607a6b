//! The chain of the rows of a sink (`docs/spec/agent-config.md §5.13.5`): every row has a consecutive number and the hash
//! of the row before it, so that a row shows that is missing, changed or moved. A small file next to the log, the head,
//! holds the number and the hash of the last row, so that a log shows that was cut at its end.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::verify::rows_are;
use encamp_host::ids;
use ring::digest;
use serde::{Deserialize, Serialize};

/// The end of the name of a head.
const HEAD: &str = ".head";
/// The longest head, in bytes.
const LONGEST_HEAD: u64 = 4096;
/// How much of the end of a file is searched for its last row, in bytes.
const TAIL: u64 = 1 << 20;
/// Hexadecimal digits of the ID of a chain.
const ID_DIGITS: usize = 16;

/// The place of a row in its chain: the member `chain` of the row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The chain: that of a sink, from its first row on.
    pub id: String,
    /// The number of the row; the first one has 1.
    pub sequence: u64,
    /// The hash of the row before it, see [`hash`]; empty if there is none.
    pub previous: String,
    /// How many rows before this one could not be written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A row, of which only its place is read.
#[derive(Deserialize)]
struct Row {
    chain: Option<Link>,
}

/// What a line of a log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A row with its place.
    Linked(Link),
    /// A row without one: of a build that made no chains.
    Unlinked,
    /// No row.
    Damaged,
}

impl Line {
    /// Reads a line, without its newline.
    pub(crate) fn of(line: &[u8]) -> Line {
        match serde_json::from_slice::<Row>(line) {
            Ok(Row { chain: Some(link) }) => Line::Linked(link),
            Ok(Row { chain: None }) => Line::Unlinked,
            Err(_) => Line::Damaged,
        }
    }
}

/// The SHA-256 hash of a row without its newline, in hexadecimal digits.
pub fn hash(row: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, row);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The last row of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The chain.
    pub id: String,
    /// The number of its last row; 0 for none.
    pub sequence: u64,
    /// The hash of that row; empty for none.
    pub hash: String,
}

impl Head {
    /// Adds a row to the chain: appends `row`, a line of JSON, with its place to `out`.
    pub(crate) fn append(&mut self, row: &[u8], lost: u64, out: &mut Vec<u8>) {
        let begin = out.len();
        let sequence = self.sequence.saturating_add(1);
        let link = Link { id: self.id.clone(), sequence, previous: std::mem::take(&mut self.hash), lost };
        // The row is an object that is not empty.
        out.extend_from_slice(row.strip_suffix(b"}\n").unwrap_or(row));
        out.extend_from_slice(b",\"chain\":");
        // Nothing in it has no JSON form.
        out.extend_from_slice(&serde_json::to_vec(&link).unwrap_or_default());
        out.push(b'}');
        self.sequence = sequence;
        self.hash = hash(out.get(begin..).unwrap_or_default());
        out.push(b'\n');
    }

    /// Reads the head of a log; `None` if there is none, or it is damaged.
    pub(crate) fn read(path: &Path) -> Option<Head> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len().min(LONGEST_HEAD);
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        file.read_exact_at(&mut bytes, 0).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// The head of the log at a path.
pub(crate) fn head_of(log: &Path) -> PathBuf {
    let mut name: OsString = log.as_os_str().into();
    name.push(HEAD);
    name.into()
}

/// The log of which a path is the head; `None` for other paths.
pub(crate) fn log_of(head: &Path) -> Option<PathBuf> {
    let name = head.file_name()?.to_str()?.strip_suffix(HEAD)?;
    Some(head.with_file_name(name))
}

/// What is wrong with a log that is opened again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    /// The last line is not complete.
    #[error("the last row is not complete")]
    Torn,
    /// Rows at the end are missing.
    #[error("{} missing at the end of the file", rows_are(*first, *last))]
    Cut {
        /// The first one.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// The last row is not the one that was written.
    #[error("row {0} was changed")]
    Changed(u64),
    /// The rows at the end are those of another chain.
    #[error("the rows at the end of the file are those of another log")]
    Foreign,
}

/// The chain of a sink that is written.
pub(crate) struct Chain {
    pub head: Head,
    /// The file of the head; none for what is no regular file.
    file: Option<File>,
}

impl Chain {
    /// A chain that nothing remembers: that of a sink that is no regular file.
    pub(crate) fn forgotten() -> Chain {
        Chain { head: begun(String::new()), file: None }
    }

    /// Continues the chain of a log, or begins one; with what is wrong with the end of the log.
    ///
    /// # Errors
    /// The log or its head cannot be read or written.
    pub(crate) fn open(log: &Path, mode: u32) -> io::Result<(Chain, Vec<Damage>)> {
        let path = head_of(log);
        let known = Head::read(&path);
        let (end, torn) = End::of(log)?;
        let mut damage: Vec<Damage> = torn.then_some(Damage::Torn).into_iter().collect();
        let head = match (known, end) {
            (None, End::Linked(head)) => head,
            (None, End::Unlinked(hash)) => begun(hash),
            (None, End::Empty) => begun(String::new()),
            // The file was moved away, as by rotation, or its rows are of a build that made no chains.
            (Some(known), End::Empty | End::Unlinked(_)) => known,
            (Some(known), End::Linked(head)) => {
                damage.extend(difference(&known, &head));
                // Rows that were written when the process ended, before their head was.
                if known.id == head.id && head.sequence > known.sequence { head } else { known }
            }
        };
        // What is there stays until it is written over.
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(mode).open(&path)?;
        let chain = Chain { head, file: Some(file) };
        let length = chain.store()?;
        chain.file.iter().try_for_each(|file| file.set_len(length))?;
        Ok((chain, damage))
    }

    /// Takes over what was appended, and stores the head. It is not synchronised: after a loss of power, it may be behind
    /// the log, or ahead of rows that were not on the disk.
    pub(crate) fn advance(&mut self, head: Head) -> io::Result<()> {
        self.head = head;
        self.store().map(drop)
    }

    /// After a failed write that may have left rows: continues behind the last complete one.
    pub(crate) fn catch_up(&mut self, log: &Path) {
        if let Ok((End::Linked(head), _)) = End::of(log)
            && head.id == self.head.id
            && head.sequence > self.head.sequence
        {
            self.head = head;
        }
    }

    /// Stores the head; gives its length in bytes.
    fn store(&self) -> io::Result<u64> {
        let Some(file) = &self.file else { return Ok(0) };
        let mut text = serde_json::to_vec(&self.head).unwrap_or_default();
        text.push(b'\n');
        // A head only becomes longer.
        file.write_all_at(&text, 0)?;
        Ok(text.len() as u64)
    }
}

/// The head of a new chain.
fn begun(hash: String) -> Head {
    let id: String = ids::uuid().chars().filter(char::is_ascii_hexdigit).take(ID_DIGITS).collect();
    Head { id, sequence: 0, hash }
}

/// Why the last row of a log is not that of its head.
fn difference(known: &Head, found: &Head) -> Option<Damage> {
    if known.id != found.id {
        return Some(Damage::Foreign);
    }
    match known.sequence.checked_sub(found.sequence)? {
        0 => (known.hash != found.hash).then_some(Damage::Changed(known.sequence)),
        _ => Some(Damage::Cut { first: found.sequence + 1, last: known.sequence }),
    }
}

/// The end of a log.
enum End {
    /// Without rows.
    Empty,
    /// With a row of a chain.
    Linked(Head),
    /// With rows that have no chain; the hash of the last one.
    Unlinked(String),
}

impl End {
    /// Reads the end of a log; and whether its last line is torn.
    fn of(log: &Path) -> io::Result<(End, bool)> {
        let file = match File::open(log) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((End::Empty, false)),
            opened => opened?,
        };
        let length = file.metadata()?.len();
        let from = length.saturating_sub(TAIL);
        let mut bytes = vec![0; usize::try_from(length - from).unwrap_or_default()];
        file.read_exact_at(&mut bytes, from)?;
        let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
        // What follows the last newline.
        let torn = lines.pop().is_some_and(|rest| !rest.is_empty());
        let mut end = End::Empty;
        for line in lines.into_iter().rev() {
            match Line::of(line) {
                Line::Linked(link) => {
                    return Ok((End::Linked(Head { id: link.id, sequence: link.sequence, hash: hash(line) }), torn));
                }
                Line::Unlinked if matches!(end, End::Empty) => end = End::Unlinked(hash(line)),
                Line::Unlinked | Line::Damaged => {}
            }
        }
        Ok((end, torn))
    }
}

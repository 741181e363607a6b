//! Checks the files of audit logs: whether rows are missing, were changed, or are out of order
//! (`docs/spec/agent-config.md §5.13.5`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::chain::{Head, Line, Link, hash, log_of};

/// The longest line that may be a row, in bytes.
const LONGEST_ROW: u64 = 1 << 20;
/// How often, and how long at a time, the rest of a row is waited for that an agent is writing.
const WAITS: u32 = 10;
const WAIT: Duration = Duration::from_millis(20);
/// The most problems of a file that are remembered, and the most parts into which they break it.
const MOST: usize = 10_000;

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// What was found in all files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Report {
    /// The chains, by their IDs.
    pub chains: Vec<ChainReport>,
    /// Rows without a place in a chain: those of builds that made none.
    pub unlinked: u64,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// The rows of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ChainReport {
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The number of its first row; above 1 if older files were removed, or not given.
    pub first: u64,
    /// The number of its last row.
    pub last: u64,
    /// The number of rows that were read.
    pub rows: u64,
    /// The files, in the order of their rows.
    pub files: Vec<PathBuf>,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// What.
    #[serde(flatten)]
    pub kind: ProblemKind,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "Kind", rename_all = "kebab-case", rename_all_fields = "PascalCase")]
pub enum ProblemKind {
    /// Rows before this line are missing.
    #[error("{} missing before this line", rows_are(*first, *last))]
    Missing {
        /// The first one.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// Rows after this line, the last one of the chain, are missing.
    #[error("{} missing at the end", rows_are(*first, *last))]
    CutOff {
        /// The first one.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// The row is not the one that the next row, or the head, was written after.
    #[error("row {sequence} was changed")]
    Changed {
        /// Its number.
        sequence: u64,
    },
    /// The row has a lower number than the one before it in the file.
    #[error("row {sequence} is out of order")]
    OutOfOrder {
        /// Its number.
        sequence: u64,
    },
    /// The row is there more than once.
    #[error("row {sequence} is there more than once")]
    Repeated {
        /// Its number.
        sequence: u64,
    },
    /// The agent could not write rows before this one.
    #[error("rows that the agent could not write before this line: {rows}")]
    NotWritten {
        /// How many.
        rows: u64,
    },
    /// The row has no place in a chain, although rows before it have.
    #[error("the row has no number")]
    Unlinked,
    /// The line is no row: one that was not written in full, or something else.
    #[error("the line is no row, or not a full one")]
    NoRow,
    /// Later lines of the file are not checked.
    #[error("the file has more problems, and is not checked any further")]
    TooMany,
}

/// `row 4 is`, `rows 4 to 6 are`.
pub(crate) fn rows_are(first: u64, last: u64) -> String {
    if first == last { format!("row {first} is") } else { format!("rows {first} to {last} are") }
}

/// Rows of a chain that follow each other in a file.
#[derive(Debug, Clone)]
struct Run {
    first: Link,
    last: u64,
    hash: String,
    file: usize,
    lines: (u64, u64),
    rows: u64,
}

/// What is read of all files.
struct Reading<'a> {
    files: &'a [PathBuf],
    chains: BTreeMap<String, Vec<Run>>,
    unlinked: u64,
    problems: Vec<(usize, u64, ProblemKind)>,
}

/// Checks files of audit logs, in any order, those of several agents and sinks too. Heads in their directories count;
/// heads among the files are passed over.
///
/// # Errors
/// A file cannot be read.
pub fn verify(files: &[PathBuf]) -> Result<Report, ReadError> {
    let files: Vec<PathBuf> = files.iter().filter(|path| log_of(path).is_none()).cloned().collect();
    // Before the files: rows that are written meanwhile are not missing.
    let heads = heads(&files);
    let mut reading = Reading { files: &files, chains: BTreeMap::new(), unlinked: 0, problems: Vec::new() };
    for (n, path) in files.iter().enumerate() {
        reading.read(n, path).map_err(|source| ReadError { path: path.clone(), source })?;
    }
    Ok(reading.report(&heads))
}

/// The heads in the directories of files, by chain; not those of logs that exist and are not among the files.
fn heads(files: &[PathBuf]) -> BTreeMap<String, Head> {
    let folder = |path: &PathBuf| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let folders: BTreeSet<PathBuf> = files.iter().map(folder).collect();
    let given: BTreeSet<PathBuf> = files.iter().flat_map(fs::canonicalize).collect();
    let mut heads: BTreeMap<String, Head> = BTreeMap::new();
    for path in folders.iter().flat_map(fs::read_dir).flatten().flatten().map(|entry| entry.path()) {
        let Some(log) = log_of(&path) else { continue };
        // A log that does not exist any more is cut off altogether.
        if fs::canonicalize(log).is_ok_and(|log| !given.contains(&log)) {
            continue;
        }
        if let Some(head) = Head::read(&path) {
            heads.insert(head.id.clone(), head);
        }
    }
    heads
}

impl Reading<'_> {
    /// Reads a file, in parts without a problem.
    fn read(&mut self, n: usize, path: &Path) -> io::Result<()> {
        let mut file = BufReader::new(File::open(path)?);
        let (mut run, mut linked, mut line, mut found): (Option<Run>, bool, u64, usize) = (None, false, 0, 0);
        let mut bytes = Vec::new();
        while next_line(&mut file, &mut bytes)? {
            line += 1;
            let whole = bytes.strip_suffix(b"\n");
            let problem = match whole.map_or(Line::Damaged, Line::of) {
                Line::Damaged => Some(ProblemKind::NoRow),
                Line::Unlinked if linked => Some(ProblemKind::Unlinked),
                Line::Unlinked => {
                    self.unlinked += 1;
                    None
                }
                Line::Linked(link) => {
                    linked = true;
                    let lost = (link.lost > 0).then_some(ProblemKind::NotWritten { rows: link.lost });
                    let hash = hash(whole.unwrap_or_default());
                    let back = self.link(&mut run, n, line, link, hash, &mut found);
                    self.problems.extend(lost.map(|kind| (n, line, kind)));
                    back
                }
            };
            found += usize::from(problem.is_some());
            self.problems.extend(problem.map(|kind| (n, line, kind)));
            if found > MOST {
                self.problems.push((n, line, ProblemKind::TooMany));
                break;
            }
        }
        self.take(run);
        Ok(())
    }

    /// Adds a row to the current run, or begins another one, which `breaks` counts.
    fn link(
        &mut self,
        run: &mut Option<Run>,
        file: usize,
        line: u64,
        link: Link,
        hash: String,
        breaks: &mut usize,
    ) -> Option<ProblemKind> {
        let sequence = link.sequence;
        let mut problem = None;
        *breaks += usize::from(run.is_some());
        if let Some(current) = run.as_mut().filter(|r| r.first.id == link.id) {
            if current.last.checked_add(1) == Some(sequence) && current.hash == link.previous {
                (current.last, current.hash, current.lines.1) = (sequence, hash, line);
                current.rows += 1;
                *breaks -= 1;
                return None;
            }
            problem = (sequence < current.last).then_some(ProblemKind::OutOfOrder { sequence });
        }
        let begun = Run { last: sequence, first: link, hash, file, lines: (line, line), rows: 1 };
        self.take(run.replace(begun));
        problem
    }

    fn take(&mut self, run: Option<Run>) {
        if let Some(run) = run {
            self.chains.entry(run.first.id.clone()).or_default().push(run);
        }
    }

    /// Connects the runs of all files.
    fn report(mut self, heads: &BTreeMap<String, Head>) -> Report {
        let mut chains = Vec::new();
        for (id, mut runs) in std::mem::take(&mut self.chains) {
            runs.sort_by_key(|run| (run.first.sequence, run.last));
            let mut last: Option<&Run> = None;
            for run in &runs {
                self.problems.extend(last.and_then(|last| between(last, run)));
                last = last.filter(|last| last.last > run.last).or(Some(run));
            }
            if let (Some(last), Some(head)) = (last, heads.get(&id)) {
                self.problems.extend(at_end(last, head));
            }
            let mut files: Vec<usize> = runs.iter().map(|run| run.file).collect();
            files.dedup();
            let mut seen = BTreeSet::new();
            files.retain(|file| seen.insert(*file));
            chains.push(ChainReport {
                first: runs.first().map_or(0, |run| run.first.sequence),
                last: last.map_or(0, |run| run.last),
                rows: runs.iter().map(|run| run.rows).sum(),
                files: files.into_iter().filter_map(|n| self.files.get(n).cloned()).collect(),
                id,
            });
        }
        self.problems.sort_by_key(|(file, line, _)| (*file, *line));
        let problem = |(file, line, kind): (usize, u64, ProblemKind)| {
            Some(Problem { file: self.files.get(file)?.clone(), line, kind })
        };
        let problems = std::mem::take(&mut self.problems).into_iter().filter_map(problem).collect();
        Report { chains, unlinked: self.unlinked, problems }
    }
}

/// What is wrong between two runs of a chain that follow each other by their numbers.
fn between(before: &Run, after: &Run) -> Option<(usize, u64, ProblemKind)> {
    let sequence = after.first.sequence;
    let at = |run: &Run, line: u64, kind| Some((run.file, line, kind));
    match before.last.checked_add(1)? {
        next if next < sequence => at(after, after.lines.0, ProblemKind::Missing { first: next, last: sequence - 1 }),
        next if next > sequence => at(after, after.lines.0, ProblemKind::Repeated { sequence }),
        _ if after.first.previous == before.hash => None,
        _ => at(before, before.lines.1, ProblemKind::Changed { sequence: before.last }),
    }
}

/// What is wrong at the end of a chain.
fn at_end(last: &Run, head: &Head) -> Option<(usize, u64, ProblemKind)> {
    let kind = match head.sequence.checked_sub(last.last)? {
        0 if head.hash == last.hash => return None,
        0 => ProblemKind::Changed { sequence: last.last },
        _ => ProblemKind::CutOff { first: last.last + 1, last: head.sequence },
    };
    Some((last.file, last.lines.1, kind))
}

/// Reads a line with its newline; of one that is too long, its beginning. False at the end of the file.
fn next_line(file: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.clear();
    if file.by_ref().take(LONGEST_ROW).read_until(b'\n', bytes)? == 0 {
        return Ok(false);
    }
    for _ in 0..WAITS {
        let left = LONGEST_ROW.saturating_sub(bytes.len() as u64);
        if bytes.ends_with(b"\n") || left == 0 {
            break;
        }
        std::thread::sleep(WAIT);
        file.by_ref().take(left).read_until(b'\n', bytes)?;
    }
    if !bytes.ends_with(b"\n") {
        // The rest of it.
        while !skip(file)? {}
    }
    Ok(true)
}

/// Skips to the end of the line, or as far as is buffered; whether the end was reached.
fn skip(file: &mut impl BufRead) -> io::Result<bool> {
    let buffered = file.fill_buf()?;
    let end = buffered.iter().position(|b| *b == b'\n');
    let (length, done) = (end.map_or(buffered.len(), |at| at + 1), end.is_some() || buffered.is_empty());
    file.consume(length);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file to which these pieces are appended, each when its end was read.
    struct Growing(Vec<&'static str>);

    impl Read for Growing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0).as_bytes();
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn the_rest_of_a_row_is_waited_for() {
        let mut file = BufReader::new(Growing(vec!["a\nb", "", "", "c", "", "d\n", "", "torn"]));
        let mut bytes = Vec::new();
        let mut next = || next_line(&mut file, &mut bytes).expect("read").then(|| bytes.clone());
        assert_eq!(next().as_deref(), Some(&b"a\n"[..]));
        assert_eq!(next().as_deref(), Some(&b"bcd\n"[..]));
        assert_eq!(next(), None);
        assert_eq!(next().as_deref(), Some(&b"torn"[..]));
        assert_eq!(next(), None);
    }
}

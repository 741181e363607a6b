//! What is parsed of a block.

use std::sync::Arc;

use serde::de::{DeserializeOwned, IgnoredAny};

use crate::file::SnapshotFile;
use encamp_model::{Allocation, Job, Node};

/// A list whose items are parsed line by line, or another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Nodes,
    Jobs,
    Allocations,
    Other,
}

/// Where in a file a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the object.
    Before,
    /// Between the members of the object.
    Members,
    /// Between the items of a list.
    Items(List),
    /// Behind the object.
    Behind,
}

impl Place {
    /// Where the lines behind a text are, if the text says so; items of lists do not.
    pub(super) fn behind(text: &[u8]) -> Option<Place> {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|at| at + 1));
        let mut place = None;
        for start in starts {
            match text.get(start) {
                Some(b'"') => place = Some(Place::behind_member(line_at(text, start))),
                Some(b']') => place = Some(Place::Members),
                Some(b'}') => place = Some(Place::Behind),
                Some(b'{') if matches!(text.get(start + 1), None | Some(b'\n')) => place = Some(Place::Members),
                _ => {}
            }
        }
        place
    }

    fn behind_member(line: &[u8]) -> Place {
        match line.strip_suffix(b":[") {
            None => Place::Members,
            Some(b"\"Nodes\"") => Place::Items(List::Nodes),
            Some(b"\"Jobs\"") => Place::Items(List::Jobs),
            Some(b"\"Allocations\"") => Place::Items(List::Allocations),
            Some(_) => Place::Items(List::Other),
        }
    }
}

/// The line that starts there, without its end.
fn line_at(text: &[u8], start: usize) -> &[u8] {
    let rest = text.get(start..).unwrap_or_default();
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

/// What is kept of an allocation.
pub(crate) trait Kept: Send + Sized {
    /// Reads it from its line, which begins at that place of the block of that number.
    fn read(line: &str, block: usize, start: usize) -> Option<Self>;
}

impl Kept for Arc<Allocation> {
    fn read(line: &str, _: usize, _: usize) -> Option<Self> {
        item(line).map(Arc::new)
    }
}

/// A block: the items of the large lists, and the text without them.
pub(super) struct Part<A> {
    /// Its number.
    pub(super) number: usize,
    starts: Place,
    ends: Place,
    items: Items<A>,
    /// Each run of items is replaced by one empty object.
    rest: String,
}

/// The items of the large lists, and how many runs they were in.
struct Items<A> {
    nodes: Vec<Node>,
    jobs: Vec<Job>,
    allocations: Vec<A>,
    runs: [usize; 3],
}

impl<A> Default for Items<A> {
    fn default() -> Self {
        Items { nodes: Vec::new(), jobs: Vec::new(), allocations: Vec::new(), runs: [0; 3] }
    }
}

impl<A: Kept> Part<A> {
    /// Parses the lines of a block. `None` if they do not begin at that place of a file as this program writes it.
    pub(super) fn parse(number: usize, place: Place, text: &[u8]) -> Option<Part<A>> {
        // Once for all texts in it.
        let text = std::str::from_utf8(text).ok()?;
        let mut part = Part { number, starts: place, ends: place, items: Items::default(), rest: String::new() };
        // Whether a comma was behind the item before, which is in the same list.
        let mut before = None;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
            let (line, at) = (text.get(start..end)?, start);
            start = end + 1;
            match part.ends {
                Place::Items(list) if line.starts_with('{') && list != List::Other => {
                    let (item, comma) = without_comma(line);
                    if before == Some(false) {
                        return None;
                    }
                    before = Some(comma);
                    part.items.add(list, item, (number, at))?;
                }
                // The text ends with a line's end.
                _ if line.is_empty() && start > text.len() => break,
                _ => {
                    part.end_run(before.take());
                    part.add_line(line)?;
                }
            }
        }
        part.end_run(before);
        Some(part)
    }

    fn end_run(&mut self, comma: Option<bool>) {
        let (Some(comma), Place::Items(list)) = (comma, self.ends) else { return };
        if let Some(runs) = self.items.runs.get_mut(list as usize) {
            *runs += 1;
        }
        self.rest.push_str(if comma { "{},\n" } else { "{}\n" });
    }

    /// Adds a line other than an item of a large list. `None` if the line is none of its place.
    fn add_line(&mut self, line: &str) -> Option<()> {
        self.ends = match (self.ends, line.as_bytes()) {
            (Place::Before, b"{") => Place::Members,
            (Place::Members, b"}") => Place::Behind,
            (Place::Members, [b'"', ..]) => {
                let place = Place::behind_member(line.as_bytes());
                match (place, line.strip_suffix(":[")) {
                    (Place::Items(_), Some(name)) => check(name)?,
                    _ => check(&format!("{{{}}}", without_comma(line).0))?,
                }
                place
            }
            (Place::Items(_), b"]" | b"],") => Place::Members,
            (Place::Items(List::Other), [b'{', ..]) => {
                check(without_comma(line).0)?;
                self.ends
            }
            (Place::Behind, _) if line.trim_ascii().is_empty() => Place::Behind,
            _ => return None,
        };
        self.rest.push_str(line);
        self.rest.push('\n');
        Some(())
    }
}

impl<A: Kept> Items<A> {
    /// Adds an item that is at that place of a block.
    fn add(&mut self, list: List, text: &str, (block, start): (usize, usize)) -> Option<()> {
        match list {
            List::Nodes => self.nodes.push(item(text)?),
            List::Jobs => self.jobs.push(item(text)?),
            List::Allocations => self.allocations.push(A::read(text, block, start)?),
            List::Other => return None,
        }
        Some(())
    }

    fn append(&mut self, mut later: Items<A>) {
        self.nodes.append(&mut later.nodes);
        self.jobs.append(&mut later.jobs);
        self.allocations.append(&mut later.allocations);
        self.runs.iter_mut().zip(later.runs).for_each(|(runs, more)| *runs += more);
    }
}

fn without_comma(line: &str) -> (&str, bool) {
    line.strip_suffix(',').map_or((line, false), |line| (line, true))
}

fn item<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// Whether the text is one complete value.
fn check(text: &str) -> Option<()> {
    item::<IgnoredAny>(text).map(|_| ())
}

/// A file, and what is kept of its allocations.
pub(crate) struct Lines<A> {
    /// The file. Allocations are in it if they are not in lines of their own.
    pub(crate) file: SnapshotFile,
    /// The allocations in lines of their own.
    pub(crate) allocations: Vec<A>,
}

impl Lines<Arc<Allocation>> {
    /// The whole file.
    pub(crate) fn into_file(mut self) -> SnapshotFile {
        self.file.allocations.append(&mut self.allocations);
        self.file
    }
}

/// The file that all parts are, in order. `None` if one does not begin where the one before it ends, or if the file
/// without its large lists is none.
pub(super) fn joined<A: Kept>(parts: Vec<Part<A>>) -> Option<Lines<A>> {
    let (mut place, mut items, mut rest) = (Place::Before, Items::default(), String::new());
    let count: usize = parts.iter().map(|part| part.items.allocations.len()).sum();
    items.allocations.reserve_exact(count);
    for (number, part) in parts.into_iter().enumerate() {
        if (part.number, part.starts) != (number, place) {
            return None;
        }
        place = part.ends;
        items.append(part.items);
        rest.push_str(&part.rest);
    }
    if place != Place::Behind {
        return None;
    }
    let file: SnapshotFile = item(&rest)?;
    let Items { nodes, jobs, allocations, runs } = items;
    let [in_nodes, in_jobs, in_allocations] = runs;
    let (allocations, in_rest) = match in_allocations {
        0 => (Vec::new(), file.allocations),
        _ if file.allocations.len() == in_allocations => (allocations, Vec::new()),
        _ => return None,
    };
    let file = SnapshotFile {
        nodes: chosen(nodes, in_nodes, file.nodes)?,
        jobs: chosen(jobs, in_jobs, file.jobs)?,
        allocations: in_rest,
        ..file
    };
    Some(Lines { file, allocations })
}

/// The items of a list: those of its runs, which empty objects stand for in the rest of the file, or those in the rest
/// if it has no runs.
fn chosen<T>(items: Vec<T>, runs: usize, in_rest: Vec<T>) -> Option<Vec<T>> {
    match runs {
        0 => Some(in_rest),
        _ => (in_rest.len() == runs).then_some(items),
    }
}

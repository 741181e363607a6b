//! Positions and diagnostics of job files (`docs/spec/jobspec.md §7`).
//!
//! The syntax tree carries byte offsets only ([`Span`]); lines and columns are counted when a diagnostic is printed.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use unicode_segmentation::UnicodeSegmentation;

/// A point of a source: byte offset, line from 1, column in grapheme clusters from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pos {
    /// Bytes before it in the file.
    pub byte: usize,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in grapheme clusters.
    pub column: usize,
}

/// A byte range of one source of a [`Sources`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The source's number in the [`Sources`] table.
    pub source: u32,
    /// Byte offset of the first byte.
    pub start: u32,
    /// Byte offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The range from the start of `self` to the end of `other`; both lie in one source.
    pub fn to(self, other: Span) -> Span {
        Span { source: self.source, start: self.start, end: other.end.max(self.start) }
    }

    /// The empty range at the start.
    pub(crate) fn at_start(self) -> Span {
        Span { end: self.start, ..self }
    }
}

/// One text that positions refer to. A string of a JSON document that is read as a template is a source of its own
/// whose `base` lies inside the document.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name shown in positions.
    pub name: String,
    /// The text; spans are byte offsets into it.
    pub text: String,
    /// Where the text starts in the file.
    pub base: Pos,
    /// Offsets at which lines start, found when the first position is asked for.
    lines: OnceCell<Vec<usize>>,
    /// Marks in long lines that a position was asked for, by line.
    marks: RefCell<HashMap<usize, Vec<Mark>>>,
}

/// A place in a line: byte offset in the source, grapheme clusters before it in the line.
type Mark = (usize, usize);

/// From this many bytes into a line on, columns are counted from marks instead of the line's start.
const LONG_LINE: usize = 128;

impl Source {
    fn pos(&self, offset: u32) -> Pos {
        let offset = (offset as usize).min(self.text.len());
        let lines = self.lines.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
            std::iter::once(0).chain(ends).collect()
        });
        let line = lines.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = lines.get(line).copied().unwrap_or(0);
        let (from, before) = if offset - start > LONG_LINE { self.mark(line, start, offset) } else { (start, 0) };
        let clusters = self.text.get(from..).unwrap_or("").grapheme_indices(true);
        let column = before + clusters.take_while(|(at, _)| from + at < offset).count();
        let first = if line == 0 { self.base.column } else { 1 };
        Pos { byte: self.base.byte + offset, line: self.base.line + line, column: first + column }
    }

    /// The last mark of the line at or before the offset. Many diagnostics about one long line must not take the square
    /// of its length.
    fn mark(&self, line: usize, start: usize, offset: usize) -> Mark {
        let mut marks = self.marks.borrow_mut();
        let marks = marks.entry(line).or_insert_with(|| {
            let text = self.text.get(start..).unwrap_or("");
            let text = text.split_once('\n').map_or(text, |(line, _)| line);
            let clusters = text.grapheme_indices(true).enumerate();
            clusters.step_by(LONG_LINE).map(|(count, (at, _))| (start + at, count)).collect()
        });
        let after = marks.partition_point(|(at, _)| *at <= offset);
        after.checked_sub(1).and_then(|last| marks.get(last)).copied().unwrap_or((start, 0))
    }
}

/// All texts of one parse. Texts are added while others are in use: strings of JSON documents become sources when they
/// are evaluated.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    list: RefCell<Vec<Rc<Source>>>,
}

impl Sources {
    /// Adds a text that is a whole file (or a value given elsewhere) and returns its number.
    pub fn add(&self, name: &str, text: &str) -> u32 {
        self.add_at(name, text, Pos { byte: 0, line: 1, column: 1 })
    }

    /// Adds a text that starts at `base`.
    pub(crate) fn add_at(&self, name: &str, text: &str, base: Pos) -> u32 {
        let source = Source {
            name: name.to_owned(),
            text: text.to_owned(),
            base,
            lines: OnceCell::new(),
            marks: RefCell::default(),
        };
        let mut list = self.list.borrow_mut();
        list.push(Rc::new(source));
        u32::try_from(list.len() - 1).unwrap_or(u32::MAX)
    }

    /// The source with this number.
    pub fn get(&self, id: u32) -> Option<Rc<Source>> {
        self.list.borrow().get(id as usize).cloned()
    }

    /// The file name a span lies in.
    pub fn name(&self, span: Span) -> String {
        self.get(span.source).map(|s| s.name.clone()).unwrap_or_default()
    }

    /// The start of a span.
    pub fn start(&self, span: Span) -> Pos {
        self.get(span.source).map_or(Pos { byte: 0, line: 1, column: 1 }, |s| s.pos(span.start))
    }

    /// The span with lines and columns.
    pub fn range(&self, span: Span) -> Range {
        match self.get(span.source) {
            None => Range::default(),
            Some(s) => {
                let (start, end) = (s.pos(span.start), s.pos(span.end));
                Range {
                    file: s.name.clone(),
                    start_line: start.line,
                    start_column: start.column,
                    end_line: end.line,
                    end_column: end.column,
                }
            }
        }
    }

    /// The texts that are whole files (or values given elsewhere), in the order in which they were added, and for each
    /// source the one it lies in.
    fn wholes(&self) -> (Vec<(String, String)>, Vec<usize>) {
        let mut texts: Vec<(String, String)> = Vec::new();
        let place = |source: &Rc<Source>| {
            if source.base.byte == 0 {
                texts.push((source.name.clone(), source.text.clone()));
                return texts.len() - 1;
            }
            texts.iter().position(|(name, _)| *name == source.name).unwrap_or(0)
        };
        let owners = self.list.borrow().iter().map(place).collect();
        (texts, owners)
    }

    fn origin(&self, span: Span, owners: &[usize]) -> Option<Origin> {
        let base = self.get(span.source)?.base.byte;
        let text = *owners.get(span.source as usize)?;
        Some(Origin { text, start: base + span.start as usize, end: base + span.end as usize })
    }
}

/// A range with lines and columns; prints as `file:line,col-col` or `file:line,col-line,col`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Range {
    /// The file's name.
    pub file: String,
    /// Counted from 1.
    pub start_line: usize,
    /// Counted from 1, in grapheme clusters.
    pub start_column: usize,
    /// The line of the end; counted from 1.
    pub end_line: usize,
    /// Exclusive.
    pub end_column: usize,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{},{}-", self.file, self.start_line, self.start_column)?;
        if self.start_line != self.end_line {
            write!(f, "{},", self.end_line)?;
        }
        write!(f, "{}", self.end_column)
    }
}

/// The subject of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// No place; prints `<nil>`.
    Nowhere,
    /// A value that has no text; prints `:0,0-0`.
    Outside,
    /// A place in a source.
    At(Span),
}

/// A diagnostic while sources are still at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diag {
    /// The place the diagnostic is about.
    pub subject: Subject,
    /// The kind of problem, in a few words that do not depend on the file.
    pub summary: String,
    /// The problem in this place, in sentences.
    pub detail: String,
    /// Not a mistake by itself: reported only beside one.
    pub warning: bool,
}

impl Diag {
    /// A diagnostic about a place.
    pub fn at(span: Span, summary: impl Into<String>, detail: impl Into<String>) -> Diag {
        Diag::about(Subject::At(span), summary, detail)
    }

    /// A diagnostic about no place.
    pub fn nowhere(summary: impl Into<String>, detail: impl Into<String>) -> Diag {
        Diag::about(Subject::Nowhere, summary, detail)
    }

    /// A diagnostic about whatever it is.
    pub fn about(subject: Subject, summary: impl Into<String>, detail: impl Into<String>) -> Diag {
        Diag { subject, summary: summary.into(), detail: detail.into(), warning: false }
    }
}

/// The bytes of a text that a diagnostic is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Index in [`Diagnostics::texts`].
    pub text: usize,
    /// Byte offset of the first byte.
    pub start: usize,
    /// Exclusive.
    pub end: usize,
}

/// A diagnostic with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// `None` prints as `<nil>`.
    pub range: Option<Range>,
    /// See [`Diag::summary`].
    pub summary: String,
    /// See [`Diag::detail`].
    pub detail: String,
    /// Where that is in the texts.
    pub origin: Option<Origin>,
    /// See [`Diag::warning`].
    pub warning: bool,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.range {
            Some(r) => write!(f, "{r}: ")?,
            None => f.write_str("<nil>: ")?,
        }
        write!(f, "{}; {}", self.summary, self.detail)
    }
}

/// More diagnostics than this are not worth the time to place them.
pub(crate) const MAX_RESOLVED: usize = 1000;

/// Diagnostics of one phase. Prints Nomad form, one per line, or the first and a count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostics {
    /// In the order in which they were found.
    pub list: Vec<Diagnostic>,
    /// Print only the first one and how many more there are.
    pub first_only: bool,
    /// Text before the first one, such as `unable to parse var file: `.
    pub prefix: String,
    /// Diagnostics of a later phase, which Nomad does not get to.
    pub later: Vec<Diagnostic>,
    /// Names and contents of the texts that were read; the job file comes first.
    pub texts: Vec<(String, String)>,
}

impl Diagnostics {
    /// Resolves positions.
    pub fn new(list: &[Diag], sources: &Sources) -> Diagnostics {
        let (texts, owners) = sources.wholes();
        let resolve = |d: &Diag| {
            let (range, origin) = match d.subject {
                Subject::Nowhere => (None, None),
                Subject::Outside => (Some(Range::default()), None),
                Subject::At(span) => (Some(sources.range(span)), sources.origin(span, &owners)),
            };
            Diagnostic { range, summary: d.summary.clone(), detail: d.detail.clone(), origin, warning: d.warning }
        };
        Diagnostics { list: list.iter().take(MAX_RESOLVED).map(resolve).collect(), texts, ..Default::default() }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.prefix)?;
        if self.first_only {
            let Some(first) = self.list.first() else { return Ok(()) };
            write!(f, "{first}")?;
            if self.list.len() > 1 {
                write!(f, ", and {} other diagnostic(s)", self.list.len() - 1)?;
            }
            return Ok(());
        }
        for (i, d) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{d}")?;
        }
        Ok(())
    }
}

/// The first of `names` within edit distance 2 of `given`.
pub fn suggestion<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = given.chars().take(MAX_NAME).count();
    let near = |name: &&str| name.chars().count().abs_diff(length) < 3 && strsim::levenshtein(given, name) < 3;
    if length == MAX_NAME { None } else { names.into_iter().find(near) }
}

/// No name that could be suggested is as long.
const MAX_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_grapheme_clusters() {
        let sources = Sources::default();
        let text = "a = \"e\u{301}🇩🇪\"\r\nb";
        let source = sources.add("f.hcl", text);
        let end = u32::try_from(text.len()).unwrap();
        let quote = u32::try_from(text.rfind('"').unwrap()).unwrap();
        assert_eq!(sources.range(Span { source, start: quote, end: quote + 1 }).to_string(), "f.hcl:1,8-9");
        assert_eq!(sources.range(Span { source, start: 0, end }).to_string(), "f.hcl:1,1-2,2");
    }

    #[test]
    fn suggestions_allow_two_edits() {
        assert_eq!(suggestion("replcae", ["format", "replace"]), Some("replace"));
        assert_eq!(suggestion("drivr", ["driver"]), Some("driver"));
        assert_eq!(suggestion("equals", ["attribute", "value"]), None);
        assert_eq!(suggestion("", ["ab"]), Some("ab"));
    }
}

//! Positions and diagnostics of job files (`spec/jobspec.md §7`).
//!
//! The syntax tree carries byte offsets only ([`Span`]); lines and columns are counted when a diagnostic is printed.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;

use unicode_segmentation::UnicodeSegmentation;

/// A point of a source: byte offset, line from 1, column in grapheme clusters from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pos {
    pub byte: usize,
    pub line: usize,
    pub column: usize,
}

/// A byte range of one source of a [`Sources`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub source: u32,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The range from the start of `self` to the end of `other`; both lie in one source.
    pub fn to(self, other: Span) -> Span {
        Span { source: self.source, start: self.start, end: other.end.max(self.start) }
    }

    /// The empty range at the start.
    pub fn at_start(self) -> Span {
        Span { end: self.start, ..self }
    }

    /// The empty range at the end.
    pub fn at_end(self) -> Span {
        Span { start: self.end, ..self }
    }
}

/// One text that positions refer to. A string of a JSON document that is read as a template is a source of its own whose
/// `base` lies inside the document.
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
}

impl Source {
    fn pos(&self, offset: u32) -> Pos {
        let offset = (offset as usize).min(self.text.len());
        let lines = self.lines.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
            std::iter::once(0).chain(ends).collect()
        });
        let line = lines.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = lines.get(line).copied().unwrap_or(0);
        let clusters = self.text.get(start..).unwrap_or("").grapheme_indices(true);
        let column = clusters.take_while(|(at, _)| start + at < offset).count();
        let first = if line == 0 { self.base.column } else { 1 };
        Pos { byte: self.base.byte + offset, line: self.base.line + line, column: first + column }
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
    pub fn add_at(&self, name: &str, text: &str, base: Pos) -> u32 {
        let source = Source { name: name.to_owned(), text: text.to_owned(), base, lines: OnceCell::new() };
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

    /// The first line a span touches, and the byte columns of the span inside it.
    fn line_of(&self, span: Span) -> Option<String> {
        let s = self.get(span.source)?;
        let start = (span.start as usize).min(s.text.len());
        let from = s.text.get(..start)?.rfind('\n').map_or(0, |i| i + 1);
        let line = s.text.get(from..)?.split('\n').next()?.trim_end_matches('\r');
        // The text of an embedded template starts somewhere inside a line; its own line would not fit the columns.
        if from == 0 && s.base.column > 1 { None } else { Some(line.to_owned()) }
    }
}

/// A range with lines and columns; prints as `file:line,col-col` or `file:line,col-line,col`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Range {
    pub file: String,
    pub start_line: usize,
    pub start_column: usize,
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

/// What a diagnostic is about.
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
    pub subject: Subject,
    pub summary: String,
    pub detail: String,
}

impl Diag {
    /// A diagnostic about a place.
    pub fn at(span: Span, summary: impl Into<String>, detail: impl Into<String>) -> Diag {
        Diag { subject: Subject::At(span), summary: summary.into(), detail: detail.into() }
    }

    /// A diagnostic about no place.
    pub fn nowhere(summary: impl Into<String>, detail: impl Into<String>) -> Diag {
        Diag { subject: Subject::Nowhere, summary: summary.into(), detail: detail.into() }
    }
}

/// A diagnostic with its position and the source line it starts in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// `None` prints as `<nil>`.
    pub range: Option<Range>,
    pub summary: String,
    pub detail: String,
    line: Option<String>,
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
const MAX_RESOLVED: usize = 1000;

/// Diagnostics of one phase. Prints the reference form, one per line, or the first and a count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostics {
    pub list: Vec<Diagnostic>,
    /// Print only the first one and how many more there are.
    pub first_only: bool,
    /// Text before the first one, such as `unable to parse var file: `.
    pub prefix: String,
}

impl Diagnostics {
    /// Resolves positions.
    pub fn new(list: &[Diag], sources: &Sources) -> Diagnostics {
        let resolve = |d: &Diag| {
            let (range, line) = match d.subject {
                Subject::Nowhere => (None, None),
                Subject::Outside => (Some(Range::default()), None),
                Subject::At(span) => (Some(sources.range(span)), sources.line_of(span)),
            };
            Diagnostic { range, summary: d.summary.clone(), detail: d.detail.clone(), line }
        };
        Diagnostics { list: list.iter().take(MAX_RESOLVED).map(resolve).collect(), ..Default::default() }
    }

    /// The places alone, each with its source line: what goes below the reference's form of the diagnostics.
    pub fn excerpts(&self) -> String {
        let mut out = String::new();
        for d in self.list.iter().filter(|d| d.line.is_some()) {
            d.excerpt(&mut out);
        }
        out
    }

    /// The form for a terminal: each diagnostic with its place, source line, underline and hint.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for d in &self.list {
            d.render(&mut out);
        }
        out
    }
}

impl Diagnostic {
    fn render(&self, out: &mut String) {
        let (detail, hint) = split_hint(&self.detail);
        out.push_str(&format!("error: {}\n", self.summary));
        let gutter = self.excerpt(out);
        if !detail.is_empty() {
            out.push_str(&format!("{gutter} = {}\n", detail.trim_end().replace('\n', "\n   ")));
        }
        if let Some(hint) = hint {
            out.push_str(&format!("{gutter} = help: {hint}\n"));
        }
        out.push('\n');
    }

    /// The place, and the source line with its underline. Returns the blanks that stand for the line number.
    fn excerpt(&self, out: &mut String) -> String {
        let mut gutter = String::new();
        if let Some(r) = &self.range
            && r.start_line > 0
        {
            gutter = " ".repeat(r.start_line.to_string().len());
            out.push_str(&format!("{gutter}--> {}:{}:{}\n", r.file, r.start_line, r.start_column));
            if let Some(line) = &self.line {
                let clusters: Vec<&str> = line.graphemes(true).collect();
                let before = (r.start_column - 1).min(clusters.len());
                let end = if r.end_line == r.start_line { r.end_column - 1 } else { clusters.len() };
                let width = end.saturating_sub(before).clamp(1, clusters.len().saturating_sub(before).max(1));
                // Tabs are kept so that the underline stands below its text whatever the terminal's tab stops are.
                let pad: String = clusters.iter().take(before).map(|c| if *c == "\t" { '\t' } else { ' ' }).collect();
                out.push_str(&format!("{gutter} |\n{} | {line}\n", r.start_line));
                out.push_str(&format!("{gutter} | {pad}{}\n", "^".repeat(width)));
            }
        }
        gutter
    }
}

/// Splits a detail text into what is wrong and the suggestion at its end.
fn split_hint(detail: &str) -> (&str, Option<&str>) {
    match detail.find(" Did you mean ") {
        Some(i) => (detail.get(..i).unwrap_or(detail), detail.get(i + 1..)),
        None => (detail, None),
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
    names.into_iter().find(|name| edit_distance(given, name) < 3)
}

/// Levenshtein distance, cut off at 3: all that suggestions need.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(256).collect(), b.chars().take(256).collect());
    if a.len().abs_diff(b.len()) > 2 {
        return 3;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        let mut left = i + 1;
        for (cb, pair) in b.iter().zip(row.windows(2)) {
            let &[diagonal, above] = pair else { continue };
            left = (diagonal + usize::from(ca != cb)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(3)
}

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
        assert_eq!(edit_distance("", "ab"), 2);
    }

    #[test]
    fn terminal_form_shows_line_and_underline() {
        let sources = Sources::default();
        let source = sources.add("f.hcl", "job \"x\" {\n\tdrivr = 1\n}\n");
        let d = Diag::at(Span { source, start: 11, end: 16 }, "Unsupported argument", "No. Did you mean \"driver\"?");
        let text = Diagnostics::new(&[d], &sources).render();
        let want = "error: Unsupported argument\n --> f.hcl:2:2\n  |\n2 | \tdrivr = 1\n  | \t^^^^^\n  = No.\n  \
                    = help: Did you mean \"driver\"?\n\n";
        assert_eq!(text, want);
    }
}

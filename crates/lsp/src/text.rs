//! Texts with lines, and positions in them.

use lsp_types::{Position, Range};
use unicode_segmentation::UnicodeSegmentation;

/// The unit of columns in positions, as the client and the server have agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of 16 bits.
    Utf16,
}

/// A text and where its lines begin.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    content: String,
    lines: Vec<usize>,
    encoding: Encoding,
}

impl Text {
    /// A text whose positions are in this encoding.
    pub(crate) fn new(content: String, encoding: Encoding) -> Text {
        let ends = content.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Text { content, lines, encoding }
    }

    /// The content.
    pub(crate) fn as_str(&self) -> &str {
        &self.content
    }

    /// A part of it; empty where there is none.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &str {
        self.content.get(from..to).unwrap_or("")
    }

    /// A line without its end, counted from 0.
    pub(crate) fn line(&self, line: usize) -> &str {
        let from = self.lines.get(line).copied().unwrap_or(self.content.len());
        let to = self.lines.get(line + 1).copied().unwrap_or(self.content.len());
        self.slice(from, to).trim_end_matches(['\n', '\r'])
    }

    /// Where a line begins.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.lines.get(line).copied().unwrap_or(self.content.len())
    }

    /// The line of a byte, from 0.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The byte of a position; positions behind the end of a line mean its end.
    pub(crate) fn offset(&self, at: Position) -> usize {
        let line = at.line as usize;
        let text = self.line(line);
        let wanted = at.character as usize;
        let mut column = 0;
        let mut byte = text.len();
        for (at, c) in text.char_indices() {
            if column >= wanted {
                byte = at;
                break;
            }
            column += self.width(c);
        }
        self.line_start(line) + byte
    }

    /// The position of a byte.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let line = self.line_of(offset.min(self.content.len()));
        let before = self.slice(self.line_start(line), offset.min(self.content.len()));
        let column: usize = before.chars().map(|c| self.width(c)).sum();
        Position { line: u32::try_from(line).unwrap_or(u32::MAX), character: u32::try_from(column).unwrap_or(u32::MAX) }
    }

    /// The range between two bytes.
    pub(crate) fn range(&self, from: usize, to: usize) -> Range {
        Range { start: self.position(from), end: self.position(to.max(from)) }
    }

    /// The byte of a line and a column of a diagnostic: both from 1, columns in grapheme clusters.
    pub(crate) fn offset_of_cluster(&self, line: usize, column: usize) -> usize {
        let line = line.saturating_sub(1);
        let start = self.line_start(line);
        let next = self.lines.get(line + 1).copied().unwrap_or(self.content.len());
        let mut clusters = self.slice(start, next).grapheme_indices(true);
        start + clusters.nth(column.saturating_sub(1)).map_or(self.line(line).len(), |(at, _)| at)
    }

    /// Replaces a range.
    pub(crate) fn replace(&mut self, range: Range, new: &str) {
        let (from, to) = (self.offset(range.start), self.offset(range.end));
        let mut content = std::mem::take(&mut self.content);
        content.replace_range(from..to.max(from), new);
        *self = Text::new(content, self.encoding);
    }

    fn width(&self, c: char) -> usize {
        match self.encoding {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_in_the_agreed_units() {
        for (encoding, column) in [(Encoding::Utf8, 7), (Encoding::Utf16, 5)] {
            let text = Text::new("a\r\n\"\u{1F600}é\"x\n".into(), encoding);
            let at = text.as_str().find('x').unwrap_or(0) - 1;
            let position = text.position(at);
            assert_eq!((position.line, position.character), (1, column - u32::from(encoding == Encoding::Utf16)));
            assert_eq!(text.offset(position), at);
            assert_eq!(text.offset(Position { line: 0, character: 99 }), 1, "before the line end");
        }
    }
}

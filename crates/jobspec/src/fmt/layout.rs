//! Lines: indentation, spaces, and columns that neighbouring lines share.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::pieces::{Form, Piece};
use super::spacing;
use encamp_hcl::token::Kind;

/// Spaces for each level.
const INDENT: usize = 2;

/// A line: what stands before an equals sign, what follows from there on, and a comment at the end.
struct Line<'a> {
    pieces: Vec<Placed<'a>>,
    /// The equals sign, unless there is none or the value goes on in other lines.
    equals: Option<usize>,
    /// The comment behind other pieces.
    comment: Option<usize>,
}

/// A piece, and how many spaces stand before it.
struct Placed<'a> {
    piece: Piece<'a>,
    spaces: usize,
}

/// The text of the pieces in the standard format.
pub(crate) fn format(pieces: &[Piece<'_>]) -> String {
    let mut lines: Vec<Line<'_>> = pieces.split_inclusive(ends_line).map(Line::new).collect();
    indent(&mut lines);
    // Comments stand behind what is aligned already.
    align(&mut lines, |line| line.equals);
    align(&mut lines, |line| line.comment);
    let mut out = String::new();
    for Placed { piece, spaces } in lines.iter().flat_map(|l| &l.pieces) {
        out.extend(std::iter::repeat_n(' ', *spaces));
        out.push_str(piece.text);
    }
    out
}

fn ends_line(piece: &Piece<'_>) -> bool {
    matches!(piece.form, Form::LineEnd | Form::LineComment)
}

impl<'a> Line<'a> {
    /// A line with spaces between its pieces and none before the first one.
    fn new(pieces: &[Piece<'a>]) -> Line<'a> {
        let mut placed: Vec<Placed<'a>> = Vec::with_capacity(pieces.len());
        for (i, piece) in pieces.iter().enumerate() {
            let before = i.checked_sub(2).and_then(|i| pieces.get(i));
            let left = i.checked_sub(1).and_then(|i| pieces.get(i));
            let space = left.is_some_and(|left| spacing::between(before, left, piece));
            placed.push(Placed { piece: *piece, spaces: usize::from(space) });
        }
        let comment = pieces.iter().skip(1).position(|p| p.form == Form::LineComment).map(|i| i + 1);
        let equals = pieces.iter().skip(1).position(|p| p.kind() == Some(Kind::Equal)).map(|i| i + 1);
        let equals = equals.filter(|i| pieces.iter().skip(*i).map(Piece::nesting).sum::<isize>() == 0);
        Line { pieces: placed, equals, comment }
    }

    /// How many more brackets it opens than it closes. What stands in a heredoc does not count.
    fn nesting(&self) -> isize {
        let kinds = self.pieces.iter().take_while(|p| p.piece.kind() != Some(Kind::OHeredoc));
        kinds.map(|p| p.piece.nesting()).sum()
    }

    /// The columns that pieces take up.
    fn width(&self, range: Range<usize>) -> usize {
        let pieces = self.pieces.get(range).unwrap_or_default();
        pieces.iter().map(|p| p.spaces + p.piece.text.graphemes(true).count()).sum()
    }

    fn is_empty(&self) -> bool {
        self.pieces.first().is_none_or(|p| p.piece.form == Form::LineEnd)
    }
}

/// Indents lines by the brackets that are open. Brackets opened in one line are one level together.
fn indent(lines: &mut [Line<'_>]) {
    // For each level, how many brackets of it are open.
    let mut levels: Vec<usize> = Vec::new();
    for line in lines {
        let nesting = line.nesting();
        if nesting < 0 {
            close(&mut levels, nesting.unsigned_abs());
        }
        if !line.is_empty()
            && let Some(first) = line.pieces.first_mut()
        {
            first.spaces = levels.len() * INDENT;
        }
        if nesting > 0 {
            levels.push(nesting.unsigned_abs());
        }
    }
}

/// Closes brackets, the innermost first.
fn close(levels: &mut Vec<usize>, mut brackets: usize) {
    while let Some(level) = levels.last_mut() {
        if *level > brackets {
            *level -= brackets;
            return;
        }
        brackets -= *level;
        levels.pop();
        if brackets == 0 {
            return;
        }
    }
}

/// Moves one piece of each line to a column that it shares with the lines next to it that have such a piece.
fn align(lines: &mut [Line<'_>], column: impl Fn(&Line<'_>) -> Option<usize>) {
    for group in lines.chunk_by_mut(|a, b| column(a).is_some() && column(b).is_some()) {
        let start = |line: &Line<'_>| column(line).map(|at| line.width(0..at));
        let widest = group.iter().filter_map(start).max().unwrap_or(0);
        for line in group {
            if let (Some(at), Some(width)) = (column(line), start(line))
                && let Some(placed) = line.pieces.get_mut(at)
            {
                placed.spaces = widest - width + 1;
            }
        }
    }
}

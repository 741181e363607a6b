//! The pieces of a text: its tokens, and the comments between them.

use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::token::Kind;

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A token. Its kind is never a line end, nor the end of the file.
    Token(Kind),
    /// A line end.
    LineEnd,
    /// A comment to the end of its line; it holds the line end, which only the last line of a file can be without.
    LineComment,
    /// A comment between `/*` and `*/`.
    InlineComment,
}

/// A token or comment and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub form: Form,
    pub text: &'a str,
}

impl Piece<'_> {
    /// The kind of a token.
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self.form {
            Form::Token(kind) => Some(kind),
            _ => None,
        }
    }

    /// How many brackets and template sequences it opens: 1, 0, or -1 for one that closes.
    pub(crate) fn nesting(&self) -> isize {
        match self.kind() {
            Some(Kind::OBrace | Kind::OBrack | Kind::OParen | Kind::Interp | Kind::Control) => 1,
            Some(Kind::CBrace | Kind::CBrack | Kind::CParen | Kind::SeqEnd) => -1,
            _ => 0,
        }
    }
}

/// The pieces of a text, in order. A byte order mark is none of them.
pub(crate) fn split(text: &str) -> Vec<Piece<'_>> {
    let mut splitter = Splitter { text, at: 0, pieces: Vec::new() };
    for token in lex(text, 0, Start::Normal) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        splitter.comments(start);
        let comment = text.get(start..).is_some_and(|t| t.starts_with(['#', '/']));
        match token.kind {
            Kind::Eof => {}
            Kind::Newline if comment => splitter.push(Form::LineComment, start, end),
            Kind::Newline => splitter.push(Form::LineEnd, start, end),
            kind => splitter.push(Form::Token(kind), start, end),
        }
    }
    splitter.pieces
}

struct Splitter<'a> {
    text: &'a str,
    /// The end of the last piece.
    at: usize,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Splitter<'a> {
    fn part(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }

    fn push(&mut self, form: Form, start: usize, end: usize) {
        self.pieces.push(Piece { form, text: self.part(start, end) });
        self.at = end;
    }

    /// The comments up to the next token.
    fn comments(&mut self, token: usize) {
        while let Some(offset) = self.part(self.at, token).find(['#', '/']) {
            let start = self.at + offset;
            match self.part(start, token).strip_prefix("/*").map(|inside| inside.find("*/")) {
                Some(close) => self.push(Form::InlineComment, start, close.map_or(token, |close| start + close + 4)),
                None => self.push(Form::LineComment, start, token),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_pieces() {
        let text = "\u{feff}a /* x */ = /*/ y */ 1 # z\r\n/**// // end";
        let forms: Vec<(Form, &str)> = split(text).into_iter().map(|p| (p.form, p.text)).collect();
        assert_eq!(
            forms,
            [
                (Form::Token(Kind::Ident), "a"),
                (Form::InlineComment, "/* x */"),
                (Form::Token(Kind::Equal), "="),
                (Form::InlineComment, "/*/ y */"),
                (Form::Token(Kind::Number), "1"),
                (Form::LineComment, "# z\r\n"),
                (Form::InlineComment, "/**/"),
                (Form::Token(Kind::Slash), "/"),
                (Form::LineComment, "// end"),
            ]
        );
    }
}

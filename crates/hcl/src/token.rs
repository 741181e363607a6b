//! Tokens of the native syntax.

use super::diag::Span;

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{`.
    OBrace,
    /// `}`.
    CBrace,
    /// `[`.
    OBrack,
    /// `]`.
    CBrack,
    /// `(`.
    OParen,
    /// `)`.
    CParen,
    /// `"` at the start of a string.
    OQuote,
    /// `"` at the end of a string.
    CQuote,
    /// `<<NAME` or `<<-NAME` with its newline.
    OHeredoc,
    /// The closing marker, without its newline.
    CHeredoc,
    /// `*`.
    Star,
    /// `/`.
    Slash,
    /// `+`.
    Plus,
    /// `-`.
    Minus,
    /// `%`.
    Percent,
    /// `=`.
    Equal,
    /// `==`.
    EqualOp,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `!`.
    Bang,
    /// `.`.
    Dot,
    /// `,`.
    Comma,
    /// `...`.
    Ellipsis,
    /// `=>`.
    FatArrow,
    /// `?`.
    Question,
    /// `:`.
    Colon,
    /// `::`.
    DoubleColon,
    /// `${` or `${~`.
    Interp,
    /// `%{` or `%{~`.
    Control,
    /// `}` or `~}` at the end of a template sequence.
    SeqEnd,
    /// Literal text of a quoted string, escapes not yet read.
    QuotedLit,
    /// Literal text of a heredoc or a bare template.
    StringLit,
    /// A line end inside a quoted string: an error.
    QuotedNewline,
    /// A number, without sign.
    Number,
    /// A name, or a keyword.
    Ident,
    /// A line end; also a `#` or `//` comment with its line end.
    Newline,
    /// The end of the text.
    Eof,
    /// `&`: an error.
    BitAnd,
    /// `|`: an error.
    BitOr,
    /// `~`: an error.
    BitNot,
    /// `^`: an error.
    BitXor,
    /// `**`: an error.
    StarStar,
    /// `'`: an error.
    Apostrophe,
    /// `` ` ``: an error.
    Backquote,
    /// `;`: an error.
    Semicolon,
    /// A character that begins no token: an error.
    Invalid,
}

/// A token: its kind and byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The kind of the token.
    pub kind: Kind,
    /// Where the token is.
    pub span: Span,
}

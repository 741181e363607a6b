//! Splits text into tokens. The lexer keeps a stack of open constructs, since `}` may close a block or a template
//! sequence and quotes switch between expression and literal text.

use super::diag::{Diag, MAX_RESOLVED, Span};
use super::token::{Kind, Token};

/// Which text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A body or an expression.
    Normal,
    /// A template without quotes, as in strings of JSON documents.
    Template,
}

/// The construct that the lexer is inside of.
enum Mode {
    /// Expression tokens. `braces` counts `{` inside a template sequence, whose `}` ends the mode.
    Normal { braces: usize, in_sequence: bool },
    /// A quoted string.
    Quoted,
    /// A heredoc with this marker; `fresh` while nothing but text was seen in the line.
    Heredoc { marker: String, fresh: bool },
    /// A template without delimiters.
    Bare,
}

/// Splits a text into tokens, the last of which is `Eof`.
pub fn lex(text: &str, source: u32, start: Start) -> Vec<Token> {
    let mode = match start {
        Start::Normal => Mode::Normal { braces: 0, in_sequence: false },
        Start::Template => Mode::Bare,
    };
    let mut lexer = Lexer { text, source, at: 0, modes: vec![mode], tokens: Vec::new(), unclosed: false };
    if start == Start::Normal && text.starts_with('\u{feff}') {
        lexer.at = '\u{feff}'.len_utf8();
    }
    lexer.run();
    lexer.tokens
}

struct Lexer<'a> {
    text: &'a str,
    source: u32,
    at: usize,
    modes: Vec<Mode>,
    tokens: Vec<Token>,
    /// No comment ends in the rest of the text, so that it need not be searched again.
    unclosed: bool,
}

/// Two-character operators come first, so that the longest one wins.
const OPERATORS: [(&str, Kind); 37] = [
    ("...", Kind::Ellipsis),
    ("::", Kind::DoubleColon),
    ("=>", Kind::FatArrow),
    ("==", Kind::EqualOp),
    ("!=", Kind::NotEqual),
    ("<=", Kind::LessEqual),
    (">=", Kind::GreaterEqual),
    ("&&", Kind::And),
    ("||", Kind::Or),
    ("**", Kind::StarStar),
    ("[", Kind::OBrack),
    ("]", Kind::CBrack),
    ("(", Kind::OParen),
    (")", Kind::CParen),
    ("*", Kind::Star),
    ("/", Kind::Slash),
    ("+", Kind::Plus),
    ("-", Kind::Minus),
    ("%", Kind::Percent),
    ("=", Kind::Equal),
    ("<", Kind::Less),
    (">", Kind::Greater),
    ("!", Kind::Bang),
    (".", Kind::Dot),
    (",", Kind::Comma),
    ("?", Kind::Question),
    (":", Kind::Colon),
    ("&", Kind::BitAnd),
    ("|", Kind::BitOr),
    ("~", Kind::BitNot),
    ("^", Kind::BitXor),
    ("'", Kind::Apostrophe),
    ("`", Kind::Backquote),
    (";", Kind::Semicolon),
    ("\r\n", Kind::Newline),
    ("\n", Kind::Newline),
    ("\"", Kind::OQuote),
];

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn push(&mut self, kind: Kind, len: usize) {
        let end = self.at + len;
        let offset = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        self.tokens.push(Token { kind, span: Span { source: self.source, start: offset(self.at), end: offset(end) } });
        self.at = end;
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            match self.modes.last_mut() {
                Some(Mode::Quoted) => self.quoted(),
                Some(Mode::Heredoc { .. }) => self.heredoc_line(),
                Some(Mode::Bare) => self.bare(),
                Some(Mode::Normal { .. }) | None => self.normal(),
            }
        }
        self.push(Kind::Eof, 0);
    }

    fn normal(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        match first {
            ' ' | '\t' => self.at += rest.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count(),
            '\n' => self.push(Kind::Newline, 1),
            '#' => self.line_comment(),
            '/' if rest.starts_with("//") => self.line_comment(),
            '/' if rest.starts_with("/*") && self.closes_comment(rest) => {}
            '{' => {
                if let Some(Mode::Normal { braces, .. }) = self.modes.last_mut() {
                    *braces += 1;
                }
                self.push(Kind::OBrace, 1);
            }
            '}' => self.closing_brace(1),
            '~' if rest.starts_with("~}") && self.closes_sequence() => self.closing_brace(2),
            '0'..='9' => self.push(Kind::Number, number_len(rest)),
            '<' if rest.starts_with("<<") && self.open_heredoc() => {}
            c if is_ident_start(c) => self.push(Kind::Ident, ident_len(rest)),
            c => match OPERATORS.iter().find(|(op, _)| rest.starts_with(op)) {
                Some((op, kind)) => {
                    self.push(*kind, op.len());
                    if *kind == Kind::OQuote {
                        self.modes.push(Mode::Quoted);
                    }
                }
                None => self.push(Kind::Invalid, c.len_utf8()),
            },
        }
    }

    /// Skips a comment between `/*` and `*/`. Without its end it is none, but two operators.
    fn closes_comment(&mut self, rest: &str) -> bool {
        if self.unclosed {
            return false;
        }
        match rest.get(2..).and_then(|r| r.find("*/")) {
            Some(end) => self.at += end + 4,
            None => self.unclosed = true,
        }
        !self.unclosed
    }

    /// A comment to the end of the line is a line end; at the end of the file it is nothing.
    fn line_comment(&mut self) {
        match self.rest().find('\n') {
            Some(end) => self.push(Kind::Newline, end + 1),
            None => self.at = self.text.len(),
        }
    }

    fn closes_sequence(&self) -> bool {
        matches!(self.modes.last(), Some(Mode::Normal { braces: 0, in_sequence: true }))
    }

    fn closing_brace(&mut self, len: usize) {
        if self.closes_sequence() {
            self.modes.pop();
            return self.push(Kind::SeqEnd, len);
        }
        if let Some(Mode::Normal { braces, .. }) = self.modes.last_mut() {
            *braces = braces.saturating_sub(1);
        }
        self.push(Kind::CBrace, len);
    }

    fn open_heredoc(&mut self) -> bool {
        let rest = self.rest();
        let after = rest.trim_start_matches('<');
        if rest.len() - after.len() != 2 {
            return false;
        }
        let after = after.strip_prefix('-').unwrap_or(after);
        let len = if after.starts_with(is_ident_start) { ident_len(after) } else { 0 };
        let Some((marker, tail)) = after.split_at_checked(len) else { return false };
        let newline = match tail {
            t if t.starts_with("\r\n") => 2,
            t if t.starts_with('\n') => 1,
            _ => return false,
        };
        if len == 0 {
            return false;
        }
        self.push(Kind::OHeredoc, rest.len() - tail.len() + newline);
        self.modes.push(Mode::Heredoc { marker: marker.to_owned(), fresh: true });
        true
    }

    /// Opens `${` or `%{`, if one stands here.
    fn open_sequence(&mut self) -> bool {
        let rest = self.rest();
        let kind = match rest.get(..2) {
            Some("${") => Kind::Interp,
            Some("%{") => Kind::Control,
            _ => return false,
        };
        self.push(kind, if rest.get(2..3) == Some("~") { 3 } else { 2 });
        self.modes.push(Mode::Normal { braces: 0, in_sequence: true });
        true
    }

    fn quoted(&mut self) {
        let rest = self.rest();
        if rest.starts_with('"') {
            self.modes.pop();
            return self.push(Kind::CQuote, 1);
        }
        for newline in ["\r\n", "\n"] {
            if rest.starts_with(newline) {
                return self.push(Kind::QuotedNewline, newline.len());
            }
        }
        if self.open_sequence() {
            return;
        }
        let mut len = 0;
        while let Some(here) = rest.get(len..) {
            let plain = plain_len(here);
            len += plain;
            let here = here.get(plain..).unwrap_or("");
            let Some(c) = here.chars().next() else { break };
            if c == '"' || c == '\n' || here.starts_with("\r\n") || here.starts_with("${") || here.starts_with("%{") {
                break;
            }
            len += match c {
                // The character after a backslash never ends the string, but a line end still does.
                '\\' => 1 + here.chars().nth(1).filter(|c| !matches!(c, '\n' | '\r')).map_or(0, char::len_utf8),
                _ => literal_step(here, c),
            };
        }
        self.push(Kind::QuotedLit, len);
    }

    /// Literal text up to a template sequence or the end of the line.
    fn literal_line_len(&self) -> usize {
        let rest = self.rest();
        let mut len = 0;
        while let Some(here) = rest.get(len..) {
            let plain = plain_len(here);
            len += plain;
            let here = here.get(plain..).unwrap_or("");
            let Some(c) = here.chars().next() else { break };
            if here.starts_with("${") || here.starts_with("%{") {
                break;
            }
            len += literal_step(here, c);
            if c == '\n' {
                break;
            }
        }
        len
    }

    fn heredoc_line(&mut self) {
        let len = self.literal_line_len();
        let line = self.rest().get(..len).unwrap_or("");
        let ends = line.ends_with('\n');
        let Some(Mode::Heredoc { marker, fresh }) = self.modes.last_mut() else { return };
        if ends && *fresh && line.trim() == marker {
            let tail = if line.ends_with("\r\n") { 2 } else { 1 };
            self.modes.pop();
            self.push(Kind::CHeredoc, len - tail);
            return self.push(Kind::Newline, tail);
        }
        *fresh = ends;
        if len > 0 {
            self.push(Kind::StringLit, len);
        }
        if !ends {
            self.open_sequence();
        }
    }

    fn bare(&mut self) {
        let len = self.literal_line_len();
        if len > 0 {
            self.push(Kind::StringLit, len);
        } else {
            self.open_sequence();
        }
    }
}

/// The bytes of a text before the first one that may end literal text or have a meaning in it.
fn plain_len(text: &str) -> usize {
    text.bytes().position(|b| matches!(b, b'"' | b'\\' | b'$' | b'%' | b'\r' | b'\n')).unwrap_or(text.len())
}

/// How many bytes of literal text start with `c`: the doubled openers `$${` and `%%{` are literal as a whole.
fn literal_step(here: &str, c: char) -> usize {
    if here.starts_with("$${") || here.starts_with("%%{") { 3 } else { c.len_utf8() }
}

fn is_ident_start(c: char) -> bool {
    c == '_' || unicode_ident::is_xid_start(c)
}

fn is_ident_continue(c: char) -> bool {
    c == '-' || unicode_ident::is_xid_continue(c)
}

fn ident_len(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_ident_continue).len()
}

/// Whether a text is one identifier.
pub fn is_identifier(text: &str) -> bool {
    text.starts_with(is_ident_start) && text.chars().all(is_ident_continue)
}

/// The length of the number literal a text starts with.
fn number_len(text: &str) -> usize {
    let digits = |t: &str| t.len() - t.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut len = digits(text);
    if let Some(fraction) = text.get(len..).and_then(|t| t.strip_prefix('.')) {
        let n = digits(fraction);
        len += if n > 0 { n + 1 } else { 0 };
    }
    if let Some(exponent) = text.get(len..).and_then(|t| t.strip_prefix(['e', 'E'])) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let n = digits(unsigned);
        len += if n > 0 { 1 + exponent.len() - unsigned.len() + n } else { 0 };
    }
    len
}

/// The mistakes of tokens that no grammar rule accepts; each kind is reported once, except line ends in strings and
/// unknown characters.
pub(crate) fn token_errors(tokens: &[Token], text: &str) -> Vec<Diag> {
    let mut reported: Vec<Kind> = Vec::new();
    let mut diags = Vec::new();
    for token in tokens {
        let here = text.get(token.span.start as usize..token.span.end as usize).unwrap_or("");
        let Some((group, summary, detail)) = token_error(token.kind, here) else { continue };
        let every_time = matches!(group, Kind::QuotedNewline | Kind::Invalid);
        if every_time || !reported.contains(&group) {
            reported.push(group);
            diags.push(Diag::at(token.span, summary, detail));
            if diags.len() >= MAX_RESOLVED {
                break;
            }
        }
    }
    diags
}

/// The mistake of a token that no grammar rule accepts: its kind, summary and detail. `here` is the token's text.
fn token_error(kind: Kind, here: &str) -> Option<(Kind, &'static str, &'static str)> {
    Some(match kind {
        Kind::BitAnd | Kind::BitOr | Kind::BitNot | Kind::BitXor => {
            let detail = match kind {
                Kind::BitAnd => "Bitwise operators are not supported. Did you mean boolean AND (\"&&\")?",
                Kind::BitOr => "Bitwise operators are not supported. Did you mean boolean OR (\"||\")?",
                Kind::BitNot => "Bitwise operators are not supported. Did you mean boolean NOT (\"!\")?",
                _ => "Bitwise operators are not supported.",
            };
            (Kind::BitAnd, "Unsupported operator", detail)
        }
        Kind::StarStar => (
            kind,
            "Unsupported operator",
            "\"**\" is not a supported operator. Exponentiation is not supported as an operator.",
        ),
        Kind::Apostrophe => {
            (kind, "Invalid character", "Single quotes are not valid. Use double quotes (\") to enclose strings.")
        }
        Kind::Backquote => (
            kind,
            "Invalid character",
            "The \"`\" character is not valid. To create a multi-line string, use the \"heredoc\" syntax, like \"<<EOT\".",
        ),
        Kind::Semicolon => (
            kind,
            "Invalid character",
            "The \";\" character is not valid. Use newlines to separate arguments and blocks, and commas to separate \
             items in collection values.",
        ),
        Kind::QuotedNewline => (
            kind,
            "Invalid multi-line string",
            "Quoted strings may not be split over multiple lines. To produce a multi-line string, either use the \\n \
             escape to represent a newline character or use the \"heredoc\" multi-line template syntax.",
        ),
        Kind::Invalid if matches!(here, "“" | "”" | "‘" | "’") => (
            kind,
            "Invalid character",
            "\"Curly quotes\" are not valid here. These can sometimes be inadvertently introduced when sharing code via \
             documents or discussion forums. It might help to replace the character with a \"straight quote\".",
        ),
        Kind::Invalid => (kind, "Invalid character", "This character is not used within the language."),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        lex(text, 0, Start::Normal).iter().map(|t| t.kind).collect()
    }

    #[test]
    fn strings_switch_modes() {
        use Kind::*;
        assert_eq!(kinds("\"a${b}\""), [OQuote, QuotedLit, Interp, Ident, SeqEnd, CQuote, Eof]);
        assert_eq!(kinds("\"$${b}\""), [OQuote, QuotedLit, CQuote, Eof]);
        assert_eq!(kinds("\"$$${b}\""), [OQuote, QuotedLit, CQuote, Eof]);
        assert_eq!(kinds(r#""\"${ {} }""#), [OQuote, QuotedLit, Interp, OBrace, CBrace, SeqEnd, CQuote, Eof]);
        assert_eq!(kinds("\"a\nb"), [OQuote, QuotedLit, QuotedNewline, QuotedLit, Eof]);
    }

    #[test]
    fn heredocs_end_at_their_marker_alone_in_a_line() {
        use Kind::*;
        let tokens = kinds("<<A\nx A\n ${1}\nA\n  A \n");
        let body = [StringLit, StringLit, Interp, Number, SeqEnd, StringLit];
        assert_eq!(tokens, [&[OHeredoc][..], &body, &[CHeredoc, Newline, Ident, Newline, Eof]].concat());
        assert_eq!(kinds("<<A\nA"), [OHeredoc, StringLit, Eof]);
        assert_eq!(kinds("a << b"), [Ident, Less, Less, Ident, Eof]);
    }

    #[test]
    fn numbers_and_comments() {
        use Kind::*;
        assert_eq!(kinds("1.5e-3 a.0.1 1e 2."), [Number, Ident, Dot, Number, Number, Ident, Number, Dot, Eof]);
        assert_eq!(kinds("a # x\nb // y\r\nc /* z\n */ d # e"), [Ident, Newline, Ident, Newline, Ident, Ident, Eof]);
        assert_eq!(kinds("\u{feff}a-b é"), [Ident, Ident, Eof]);
        assert_eq!(kinds("/* a */ /* b /*"), [Slash, Star, Ident, Slash, Star, Eof]);
    }
}

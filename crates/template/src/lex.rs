//! Text to tokens.

use crate::error::{Bound, Failure, Place};
use crate::tree::Span;

/// How deep blocks and parentheses may be nested.
pub(crate) const MAX_NESTING: usize = 64;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Text(String),
    LeftDelim,
    RightDelim,
    Space,
    Assign,
    Declare,
    Pipe,
    LeftParen,
    RightParen,
    Char(char),
    /// `"…"` or a raw string, decoded.
    String(String),
    Number(String),
    /// A character constant.
    Rune(char),
    Identifier(String),
    Field(String),
    Variable(String),
    Bool(bool),
    Dot,
    Nil,
    Word(Word),
    End,
}

/// A keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

impl Word {
    fn of(text: &str) -> Option<Word> {
        Some(match text {
            "block" => Word::Block,
            "break" => Word::Break,
            "continue" => Word::Continue,
            "define" => Word::Define,
            "else" => Word::Else,
            "end" => Word::End,
            "if" => Word::If,
            "range" => Word::Range,
            "template" => Word::Template,
            "with" => Word::With,
            _ => return None,
        })
    }
}

/// A token and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub at: Place,
    /// Bytes of the text before it.
    pub start: usize,
    /// Bytes of the text up to its end.
    pub end: usize,
}

impl Token {
    pub(crate) fn span(&self) -> Span {
        Span { at: self.at, start: self.start, end: self.end }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    /// Bytes before the rest.
    passed: usize,
    at: Place,
    left: &'a str,
    right: &'a str,
    tokens: Vec<Token>,
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

fn is_space(c: char) -> bool {
    SPACES.contains(&c)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The tokens of a template.
pub(crate) fn lex(text: &str, left: &str, right: &str) -> Result<Vec<Token>, (Place, Failure)> {
    let left = if left.is_empty() { "{{" } else { left };
    let right = if right.is_empty() { "}}" } else { right };
    let mut lexer = Lexer { rest: text, passed: 0, at: Place { line: 1, column: 1 }, left, right, tokens: Vec::new() };
    lexer.run().map_err(|failure| (lexer.at, failure))?;
    Ok(lexer.tokens)
}

fn syntax(text: impl Into<String>) -> Failure {
    Failure::Syntax(text.into())
}

impl<'a> Lexer<'a> {
    fn skip(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        for c in passed.chars() {
            if c == '\n' {
                self.at = Place { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
        self.passed += passed.len();
        passed
    }

    fn push(&mut self, kind: Kind, bytes: usize) {
        let start = self.passed;
        self.tokens.push(Token { kind, at: self.at, start, end: start + bytes });
        self.skip(bytes);
    }

    fn run(&mut self) -> Result<(), Failure> {
        loop {
            let Some(at) = self.rest.find(self.left) else {
                if !self.rest.is_empty() {
                    self.push(Kind::Text(self.rest.to_string()), self.rest.len());
                }
                self.push(Kind::End, 0);
                return Ok(());
            };
            let (text, from) = self.rest.split_at(at);
            let after = from.get(self.left.len()..).unwrap_or_default();
            let trim = after.starts_with('-') && after.get(1..).is_some_and(|t| t.starts_with(is_space));
            let kept = if trim { text.trim_end_matches(is_space) } else { text };
            if !kept.is_empty() {
                let (start, end) = (self.passed, self.passed + kept.len());
                self.tokens.push(Token { kind: Kind::Text(kept.to_string()), at: self.at, start, end });
            }
            self.skip(at);
            let marker = if trim { 2 } else { 0 };
            let inside = after.get(marker..).unwrap_or_default();
            if inside.starts_with("/*") {
                self.skip(self.left.len() + marker);
                let end = self.rest.find("*/").ok_or_else(|| syntax("unclosed comment"))?;
                self.skip(end + 2);
                let trim = self.right_delim().ok_or_else(|| syntax("comment ends before closing delimiter"))?;
                self.close(trim);
                continue;
            }
            self.push(Kind::LeftDelim, self.left.len());
            self.skip(marker);
            self.action()?;
        }
    }

    /// Whether an action ends here, and if so, whether the text after it is trimmed.
    fn right_delim(&self) -> Option<bool> {
        let marked = self.rest.starts_with(is_space) && self.rest.get(1..).is_some_and(|t| t.starts_with('-'));
        if marked && self.rest.get(2..).is_some_and(|t| t.starts_with(self.right)) {
            return Some(true);
        }
        self.rest.starts_with(self.right).then_some(false)
    }

    fn close(&mut self, trim: bool) {
        self.skip(if trim { 2 } else { 0 } + self.right.len());
        if trim {
            self.skip(self.rest.len() - self.rest.trim_start_matches(is_space).len());
        }
    }

    fn action(&mut self) -> Result<(), Failure> {
        let mut depth = 0_usize;
        loop {
            if let Some(trim) = self.right_delim() {
                if depth > 0 {
                    return Err(syntax("unclosed left paren"));
                }
                self.push(Kind::RightDelim, 0);
                self.close(trim);
                return Ok(());
            }
            let Some(c) = self.rest.chars().next() else { return Err(syntax("unclosed action")) };
            match c {
                _ if is_space(c) => self.space(),
                '=' => self.push(Kind::Assign, 1),
                ':' if self.rest.starts_with(":=") => self.push(Kind::Declare, 2),
                ':' => return Err(syntax("expected :=")),
                '|' => self.push(Kind::Pipe, 1),
                '"' => self.quoted()?,
                '`' => {
                    let raw = self.rest.get(1..).unwrap_or_default();
                    let end = raw.find('`').ok_or_else(|| syntax("unterminated raw quoted string"))?;
                    let text = raw.get(..end).unwrap_or_default().replace('\r', "");
                    self.push(Kind::String(text), end + 2);
                }
                '$' => self.variable()?,
                '\'' => self.rune()?,
                '.' if !self.rest.get(1..).is_some_and(|t| t.starts_with(|c: char| c.is_ascii_digit())) => {
                    self.field()?;
                }
                '.' | '+' | '-' | '0'..='9' => self.number()?,
                '(' => {
                    depth += 1;
                    if depth > MAX_NESTING {
                        return Err(Failure::Bound(Bound::Depth));
                    }
                    self.push(Kind::LeftParen, 1);
                }
                ')' => {
                    depth = depth.checked_sub(1).ok_or_else(|| syntax("unexpected right paren"))?;
                    self.push(Kind::RightParen, 1);
                }
                _ if is_word(c) => self.identifier()?,
                ' '..='~' => self.push(Kind::Char(c), 1),
                _ => return Err(syntax(format!("unrecognized character in action: {c:?}"))),
            }
        }
    }

    /// Spaces; a space that begins the trim marker of the end is left.
    fn space(&mut self) {
        let spaces = self.rest.len() - self.rest.trim_start_matches(is_space).len();
        let marked = self
            .rest
            .get(spaces..)
            .is_some_and(|t| t.starts_with('-') && t.get(1..).is_some_and(|t| t.starts_with(self.right)));
        let spaces = if marked { spaces - 1 } else { spaces };
        if spaces > 0 {
            self.push(Kind::Space, spaces);
        }
    }

    fn terminated(&self, length: usize) -> Result<(), Failure> {
        let rest = self.rest.get(length..).unwrap_or_default();
        match rest.chars().next() {
            None => Ok(()),
            Some(c) if is_space(c) || matches!(c, '.' | ',' | '|' | ':' | ')' | '(') => Ok(()),
            Some(_) if rest.starts_with(self.right) => Ok(()),
            Some(c) => Err(syntax(format!("bad character {c:?}"))),
        }
    }

    fn word_length(&self, from: usize) -> usize {
        let text = self.rest.get(from..).unwrap_or_default();
        text.find(|c: char| !is_word(c)).unwrap_or(text.len())
    }

    fn field(&mut self) -> Result<(), Failure> {
        let length = self.word_length(1);
        if length == 0 {
            self.terminated(1)?;
            self.push(Kind::Dot, 1);
            return Ok(());
        }
        self.terminated(length + 1)?;
        let name = self.rest.get(1..=length).unwrap_or_default().to_string();
        self.push(Kind::Field(name), length + 1);
        Ok(())
    }

    fn variable(&mut self) -> Result<(), Failure> {
        let length = self.word_length(1) + 1;
        self.terminated(length)?;
        let name = self.rest.get(..length).unwrap_or_default().to_string();
        self.push(Kind::Variable(name), length);
        Ok(())
    }

    fn identifier(&mut self) -> Result<(), Failure> {
        let length = self.word_length(0);
        self.terminated(length)?;
        let name = self.rest.get(..length).unwrap_or_default();
        let kind = match name {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "nil" => Kind::Nil,
            name => Word::of(name).map_or_else(|| Kind::Identifier(name.to_string()), Kind::Word),
        };
        self.push(kind, length);
        Ok(())
    }

    fn quoted(&mut self) -> Result<(), Failure> {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    let inner = self.rest.get(1..at).unwrap_or_default();
                    let text = unquote(inner, '"').ok_or_else(|| syntax("invalid syntax in a quoted string"))?;
                    self.push(Kind::String(text), at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(syntax("unterminated quoted string"))
    }

    fn rune(&mut self) -> Result<(), Failure> {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '\'' => {
                    let malformed = || syntax("malformed character constant");
                    let text = unquote(self.rest.get(1..at).unwrap_or_default(), '\'').ok_or_else(malformed)?;
                    let mut chars = text.chars();
                    let (Some(one), None) = (chars.next(), chars.next()) else { return Err(malformed()) };
                    self.push(Kind::Rune(one), at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(syntax("unterminated character constant"))
    }

    fn number(&mut self) -> Result<(), Failure> {
        let bytes = self.rest.as_bytes();
        let mut at = 0;
        let run = |at: &mut usize, set: &str, most: usize| {
            let from = *at;
            while *at - from < most && bytes.get(*at).is_some_and(|b| set.as_bytes().contains(b)) {
                *at += 1;
            }
            *at > from
        };
        run(&mut at, "+-", 1);
        let mut digits = "0123456789_";
        if run(&mut at, "0", 1) {
            if run(&mut at, "xX", 1) {
                digits = "0123456789abcdefABCDEF_";
            } else if run(&mut at, "oO", 1) {
                digits = "01234567_";
            } else if run(&mut at, "bB", 1) {
                digits = "01_";
            }
        }
        run(&mut at, digits, usize::MAX);
        if run(&mut at, ".", 1) {
            run(&mut at, digits, usize::MAX);
        }
        let exponent = match digits.len() {
            11 => "eE",
            23 => "pP",
            _ => "",
        };
        if run(&mut at, exponent, 1) {
            run(&mut at, "+-", 1);
            run(&mut at, "0123456789_", usize::MAX);
        }
        let text = self.rest.get(..at).unwrap_or_default().to_string();
        let next = self.rest.get(at..).and_then(|t| t.chars().next());
        if next.is_some_and(is_word) {
            return Err(syntax(format!("bad number syntax: {text:?}")));
        }
        self.push(Kind::Number(text), at);
        Ok(())
    }
}

/// The text of a quoted string or character, with the escapes of Go. Bytes that are no UTF-8 are refused.
pub(crate) fn unquote(inner: &str, quote: char) -> Option<String> {
    let mut out: Vec<u8> = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    let mut buffer = [0; 4];
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            continue;
        }
        let simple = match chars.next()? {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' => b'\\',
            q if q == quote => {
                out.push(u8::try_from(q).ok()?);
                continue;
            }
            'x' => {
                let code = digits(&mut chars, 2, 16)?;
                // As a character constant it is the character of that number.
                if quote == '\'' {
                    out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut buffer).as_bytes());
                } else {
                    out.push(u8::try_from(code).ok()?);
                }
                continue;
            }
            kind @ ('u' | 'U') => {
                let code = digits(&mut chars, if kind == 'u' { 4 } else { 8 }, 16)?;
                out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut buffer).as_bytes());
                continue;
            }
            first @ '0'..='7' => {
                let code = first.to_digit(8)? * 64 + digits(&mut chars, 2, 8)?;
                let byte = u8::try_from(code).ok()?;
                if quote == '\'' {
                    out.extend_from_slice(char::from(byte).encode_utf8(&mut buffer).as_bytes());
                } else {
                    out.push(byte);
                }
                continue;
            }
            _ => return None,
        };
        out.push(simple);
    }
    String::from_utf8(out).ok()
}

fn digits(chars: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Option<u32> {
    let mut code = 0_u32;
    for _ in 0..count {
        code = code.checked_mul(radix)?.checked_add(chars.next()?.to_digit(radix)?)?;
    }
    Some(code)
}

//! Parses tokens to the syntax tree.
//!
//! - `body`: attributes and blocks
//! - `expr`: expressions
//! - `template`: strings with template sequences
//!
//! A syntax error is recorded where it is found and ends the item that contains it; the body parser continues after
//! that item.

mod body;
mod expr;
mod template;

use std::borrow::Cow;

use super::ast::{Body, Expr};
use super::diag::{Diag, MAX_RESOLVED, Sources, Span};
use super::lexer::{self, Start};
use super::token::{Kind, Token};

/// Blocks, expressions and templates may be nested this deep, all taken together.
pub const MAX_DEPTH: usize = 80;

/// The error was recorded; nothing more to say about this item.
#[derive(Debug)]
struct Stop;

type Parsed<T> = Result<T, Stop>;

/// Parses a file in native syntax.
pub fn parse_body(sources: &Sources, source: u32) -> Result<Body, Vec<Diag>> {
    with_parser(sources, source, Start::Normal, |p| {
        let whole = p.whole();
        Ok(Body { span: whole, ..p.body(Kind::Eof, whole) })
    })
}

/// What can be read of a file with mistakes.
#[derive(Debug, Clone, Default)]
pub struct Partial {
    /// The body without the items that cannot be read. Of an attribute whose value is broken, the value is `null`.
    pub body: Body,
    /// Whether a block is missing in the body because its header cannot be read.
    pub lost_blocks: bool,
}

/// Strings that may be open in one file.
const MAX_OPEN_STRINGS: usize = 32;

/// The text with spaces instead of the strings that are not closed before their line ends, and its tokens. Offsets stay.
pub fn closed_strings(text: &str) -> (Cow<'_, str>, Vec<Token>) {
    let mut text = Cow::Borrowed(text);
    let mut tokens = lexer::lex(&text, 0, Start::Normal);
    for _ in 0..MAX_OPEN_STRINGS {
        let Some(end) = tokens.iter().position(|t| t.kind == Kind::QuotedNewline) else { break };
        let open = tokens.get(..end).and_then(|before| before.iter().rposition(|t| t.kind == Kind::OQuote));
        let place = open.and_then(|at| tokens.get(at)).zip(tokens.get(end));
        let Some((from, to)) = place.map(|(open, end)| (open.span.start as usize, end.span.start as usize)) else {
            break;
        };
        text.to_mut().replace_range(from..to, &" ".repeat(to - from));
        tokens = lexer::lex(&text, 0, Start::Normal);
    }
    (text, tokens)
}

/// The text of [`closed_strings`].
pub fn without_open_strings(text: &str) -> String {
    closed_strings(text).0.into_owned()
}

/// Reads as much of a file in native syntax as possible, for editors: a string that is not closed ends with its line.
pub fn parse_partial(sources: &Sources, name: &str, text: &str) -> (u32, Partial) {
    let (text, mut tokens) = closed_strings(text);
    let source = sources.add(name, &text);
    tokens.iter_mut().for_each(|token| token.span.source = source);
    let mut lost_blocks = false;
    let body = with_tokens(sources, &text, tokens, |p| {
        let whole = p.whole();
        let body = Body { span: whole, ..p.body(Kind::Eof, whole) };
        lost_blocks = p.lost_blocks;
        body
    });
    (source, Partial { body, lost_blocks })
}

/// Parses a text that is one expression.
pub fn parse_expression(sources: &Sources, source: u32) -> Result<Expr, Vec<Diag>> {
    with_parser(sources, source, Start::Normal, |p| {
        p.newlines.push(false);
        let expr = p.expression()?;
        let next = p.peek();
        if next.kind != Kind::Eof {
            return Err(p.error(
                next.span,
                "Extra characters after expression",
                "An expression was successfully parsed, but extra characters were found after it.",
            ));
        }
        Ok(expr)
    })
}

/// Parses a text that is a template without quotes.
pub(crate) fn parse_template(sources: &Sources, source: u32) -> Result<Expr, Vec<Diag>> {
    with_parser(sources, source, Start::Template, |p| {
        let span = p.whole();
        p.template_until(Kind::Eof, span, false).map(|(expr, _)| expr)
    })
}

fn with_parser<T>(
    sources: &Sources,
    source: u32,
    start: Start,
    run: impl FnOnce(&mut Parser) -> Parsed<T>,
) -> Result<T, Vec<Diag>> {
    let mut diags = Vec::new();
    let result = with_any_result(sources, source, start, |p| {
        let result = run(p);
        diags = std::mem::take(&mut p.diags);
        result
    });
    match result {
        Ok(value) if diags.is_empty() => Ok(value),
        _ => Err(diags),
    }
}

fn with_any_result<T>(sources: &Sources, source: u32, start: Start, run: impl FnOnce(&mut Parser) -> T) -> T {
    let source_text = sources.get(source);
    let text = source_text.as_ref().map_or("", |s| s.text.as_str());
    with_tokens(sources, text, lexer::lex(text, source, start), run)
}

fn with_tokens<T>(sources: &Sources, text: &str, tokens: Vec<Token>, run: impl FnOnce(&mut Parser) -> T) -> T {
    let diags = lexer::token_errors(&tokens, text);
    let mut parser = Parser {
        sources,
        text,
        tokens,
        at: 0,
        newlines: vec![true],
        diags,
        depth: 0,
        recovering: false,
        gave_up: false,
        lost_blocks: false,
    };
    run(&mut parser)
}

struct Parser<'a> {
    sources: &'a Sources,
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// Whether line ends count, for each bracket that is open.
    newlines: Vec<bool>,
    diags: Vec<Diag>,
    depth: usize,
    /// An item was wrong: where the next one begins is a guess from there on.
    recovering: bool,
    /// The end of the file was reached in an error; what is still open is not worth telling.
    gave_up: bool,
    /// A block could not be read.
    lost_blocks: bool,
}

impl<'a> Parser<'a> {
    fn whole(&self) -> Span {
        let last = self.tokens.last().map(|t| t.span).unwrap_or_default();
        Span { start: 0, ..last }
    }

    /// The position of the next token that counts here.
    fn next_index(&self) -> usize {
        let mut at = self.at;
        if self.newlines.last() == Some(&false) {
            while self.tokens.get(at).is_some_and(|t| t.kind == Kind::Newline) {
                at += 1;
            }
        }
        at.min(self.tokens.len().saturating_sub(1))
    }

    fn peek(&self) -> Token {
        self.tokens.get(self.next_index()).copied().unwrap_or(Token { kind: Kind::Eof, span: Span::default() })
    }

    fn read(&mut self) -> Token {
        let token = self.peek();
        self.at = self.next_index();
        // The end of the file is never passed.
        if token.kind != Kind::Eof {
            self.at += 1;
        }
        token
    }

    fn take(&mut self, kind: Kind) -> Option<Token> {
        (self.peek().kind == kind).then(|| self.read())
    }

    fn text_of(&self, token: Token) -> &'a str {
        self.text.get(token.span.start as usize..token.span.end as usize).unwrap_or("")
    }

    fn is_keyword(&self, token: Token, word: &str) -> bool {
        token.kind == Kind::Ident && self.text_of(token) == word
    }

    fn error(&mut self, span: Span, summary: impl Into<String>, detail: impl Into<String>) -> Stop {
        if self.diags.len() < MAX_RESOLVED {
            self.diags.push(Diag::at(span, summary, detail));
        }
        Stop
    }

    /// Runs a nested rule, unless nesting is too deep already.
    fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.check_depth(1)?;
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    fn check_depth(&mut self, more: usize) -> Parsed<()> {
        if self.depth + more < MAX_DEPTH {
            return Ok(());
        }
        let span = self.peek().span;
        Err(self.error(
            span,
            "Nesting too deep",
            format!("Blocks and expressions can be nested {MAX_DEPTH} levels deep."),
        ))
    }

    /// Runs a rule in which line ends count or not.
    fn with_newlines<T>(&mut self, count: bool, run: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.newlines.push(count);
        let result = run(self);
        self.newlines.pop();
        result
    }
}

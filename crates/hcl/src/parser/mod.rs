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
    let source_text = sources.get(source);
    let text = source_text.as_ref().map_or("", |s| s.text.as_str());
    let tokens = lexer::lex(text, source, start);
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
    };
    match run(&mut parser) {
        Ok(value) if parser.diags.is_empty() => Ok(value),
        _ => Err(parser.diags),
    }
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

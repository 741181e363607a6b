//! Bodies: attributes and blocks.

use std::collections::HashMap;

use super::super::ast::{Attribute, Block, Body, Expr, ExprKind, Label};
use super::super::diag::Span;
use super::super::token::{Kind, Token};
use super::{Parsed, Parser, Stop};

const REQUIRED: &str = "Argument or block definition required";
const INVALID_BLOCK: &str = "Invalid block definition";
const SINGLE: &str = "Invalid single-argument block definition";
const UNCLOSED: &str = "There is no closing brace for this block before the end of the file. This may be caused by \
                        incorrect brace nesting elsewhere in this file.";

enum Item {
    Attribute(Attribute),
    Block(Block),
}

impl Parser<'_> {
    /// Reads items up to `end`, which is read as well. `open` is reported when the end is missing. The span of the result
    /// ends with the closing brace.
    pub(super) fn body(&mut self, end: Kind, open: Span) -> Body {
        let mut body = Body::default();
        let mut seen: HashMap<String, Span> = HashMap::new();
        loop {
            let next = self.peek();
            match next.kind {
                Kind::Newline => {
                    self.read();
                }
                kind if kind == end => {
                    self.read();
                    body.span = next.span;
                    return body;
                }
                Kind::Eof => {
                    if !self.gave_up && self.diags.is_empty() {
                        self.error(open, "Unclosed configuration block", UNCLOSED);
                    }
                    self.gave_up = true;
                    return body;
                }
                _ => {
                    let start = self.next_index();
                    match self.item(next) {
                        Ok(Item::Block(block)) => body.blocks.push(block),
                        Ok(Item::Attribute(attribute)) => self.add_attribute(&mut body, &mut seen, attribute),
                        Err(_) => {
                            self.recovering = true;
                            self.recover();
                            self.keep_broken(start, &mut body);
                        }
                    }
                }
            }
        }
    }

    fn add_attribute(&mut self, body: &mut Body, seen: &mut HashMap<String, Span>, attribute: Attribute) {
        match seen.get(&attribute.name) {
            Some(first) => {
                let detail = format!(
                    "The argument {:?} was already set at {}. Each argument may be set only once.",
                    attribute.name,
                    self.sources.range(*first)
                );
                self.error(attribute.name_span, "Attribute redefined", detail);
            }
            None => {
                seen.insert(attribute.name.clone(), attribute.name_span);
                body.attributes.push(attribute);
            }
        }
    }

    /// Keeps what is known of an item that could not be read: an attribute without a value. Of a block nothing is kept,
    /// which is noted. Only [`super::parse_partial`] shows either.
    fn keep_broken(&mut self, start: usize, body: &mut Body) {
        let (Some(name), Some(next)) = (self.tokens.get(start).copied(), self.tokens.get(start + 1).copied()) else {
            return;
        };
        match (name.kind, next.kind) {
            (Kind::Ident, Kind::Equal) => {
                let span = Span { start: next.span.end, end: self.peek().span.start.max(next.span.end), ..next.span };
                let expr = Expr::new(ExprKind::Null, span);
                let name_span = name.span;
                body.attributes.push(Attribute { name: self.text_of(name).to_owned(), name_span, expr });
            }
            (Kind::Ident, Kind::OQuote | Kind::OBrace | Kind::Ident) => self.lost_blocks = true,
            _ => {}
        }
    }

    /// Skips to behind the line end that closes the broken item.
    fn recover(&mut self) {
        let mut open = 0usize;
        loop {
            // A rule that failed inside brackets may have left line ends switched off.
            let token = self.read();
            match token.kind {
                Kind::Eof => {
                    self.gave_up = true;
                    return;
                }
                Kind::Newline if open == 0 => return,
                Kind::OBrace | Kind::OBrack | Kind::OParen | Kind::Interp | Kind::Control => open += 1,
                Kind::CBrace | Kind::CBrack | Kind::CParen | Kind::SeqEnd => open = open.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn item(&mut self, name: Token) -> Parsed<Item> {
        match name.kind {
            Kind::Ident => {}
            Kind::OQuote => {
                return Err(self.no_item(name, "Invalid argument name", "Argument names must not be quoted."));
            }
            _ => return Err(self.no_item(name, REQUIRED, "An argument or block definition is required here.")),
        }
        self.read();
        match self.peek().kind {
            Kind::Equal => self.attribute(name).map(Item::Attribute),
            Kind::OQuote | Kind::OBrace | Kind::Ident => self.nested(|p| p.block(name)).map(Item::Block),
            _ => Err(self.no_item(
                name,
                REQUIRED,
                "An argument or block definition is required here. To set an argument, use the equals sign \"=\" to \
                 introduce the argument value.",
            )),
        }
    }

    /// No item starts with this token. After a mistake that is worth nothing: what follows it may be its rest.
    fn no_item(&mut self, start: Token, summary: &str, detail: &str) -> Stop {
        if self.recovering { Stop } else { self.error(start.span, summary, detail) }
    }

    fn attribute(&mut self, name: Token) -> Parsed<Attribute> {
        let attribute = self.assignment(name)?;
        if self.peek().kind == Kind::Comma {
            return Err(self.error(
                self.peek().span,
                "Unexpected comma after argument",
                "Argument definitions must be separated by newlines, not commas. An argument definition must end with a \
                 newline.",
            ));
        }
        self.line_end("Missing newline after argument", "An argument definition must end with a newline.")?;
        Ok(attribute)
    }

    fn assignment(&mut self, name: Token) -> Parsed<Attribute> {
        self.read();
        let expr = self.expression()?;
        Ok(Attribute { name: self.text_of(name).to_owned(), name_span: name.span, expr })
    }

    fn line_end(&mut self, summary: &str, detail: &str) -> Parsed<()> {
        let next = self.peek();
        match next.kind {
            Kind::Newline => {
                self.read();
                Ok(())
            }
            Kind::Eof => Ok(()),
            _ => Err(self.error(next.span, summary, detail)),
        }
    }

    fn block(&mut self, kind: Token) -> Parsed<Block> {
        let mut labels = Vec::new();
        let open = loop {
            let next = self.read();
            match next.kind {
                Kind::OBrace => break next.span,
                Kind::OQuote => {
                    let (text, span) = self.quoted_literal(next)?;
                    labels.push(Label { text, span });
                }
                Kind::Ident => labels.push(Label { text: self.text_of(next).to_owned(), span: next.span }),
                Kind::Equal => {
                    return Err(self.error(
                        next.span,
                        INVALID_BLOCK,
                        "The equals sign \"=\" indicates an argument definition, and must not be used when defining a \
                         block.",
                    ));
                }
                Kind::Newline => {
                    // The recovery ends at this line end.
                    self.at -= 1;
                    return Err(self.error(
                        next.span,
                        INVALID_BLOCK,
                        "A block definition must have block content delimited by \"{\" and \"}\", starting on the same \
                         line as the block header.",
                    ));
                }
                _ => {
                    return Err(self.error(
                        next.span,
                        INVALID_BLOCK,
                        "Either a quoted string block label or an opening brace (\"{\") is expected here.",
                    ));
                }
            }
        };
        let mut body = match self.peek().kind {
            Kind::Ident => self.single_line_body(open)?,
            _ => self.body(Kind::CBrace, open),
        };
        body.span = open.to(body.span);
        if !self.gave_up {
            self.line_end("Missing newline after block definition", "A block definition must end with a newline.")?;
        }
        Ok(Block { kind: self.text_of(kind).to_owned(), kind_span: kind.span, labels, open, body })
    }

    /// `name = expr }`
    fn single_line_body(&mut self, open: Span) -> Parsed<Body> {
        let name = self.read();
        match self.peek().kind {
            Kind::Equal => {}
            Kind::OQuote | Kind::OBrace | Kind::Ident => {
                let detail = format!(
                    "A single-line block definition can contain only a single argument. If you meant to define argument \
                     {:?}, use an equals sign to assign it a value. To define a nested block, place it on a line of its \
                     own within its parent block.",
                    self.text_of(name)
                );
                return Err(self.error(name.span.to(self.peek().span), "Argument definition required", detail));
            }
            _ => {
                return Err(self.error(
                    name.span,
                    "Argument definition required",
                    "To set an argument, use the equals sign \"=\" to introduce the argument value.",
                ));
            }
        }
        let attribute = self.assignment(name)?;
        let close = self.peek();
        let detail = match close.kind {
            Kind::CBrace => {
                self.read();
                return Ok(Body { attributes: vec![attribute], blocks: Vec::new(), span: close.span });
            }
            Kind::Eof => {
                self.gave_up = true;
                return Err(self.error(open, "Unclosed configuration block", UNCLOSED));
            }
            Kind::Comma => {
                "Single-line block syntax can include only one argument definition. To define multiple arguments, use the \
                 multi-line block syntax with one argument definition per line."
            }
            Kind::Newline => {
                "An argument definition on the same line as its containing block creates a single-line block definition, \
                 which must also be closed on the same line. Place the block's closing brace immediately after the \
                 argument definition."
            }
            _ => {
                "A single-line block definition must end with a closing brace immediately after its single argument \
                 definition."
            }
        };
        Err(self.error(close.span, SINGLE, detail))
    }

    /// The text of a string without template sequences, up to its closing quote, and its range with quotes.
    pub(super) fn quoted_literal(&mut self, open: Token) -> Parsed<(String, Span)> {
        let mut text = String::new();
        loop {
            let next = self.read();
            match next.kind {
                Kind::CQuote => return Ok((text, open.span.to(next.span))),
                Kind::QuotedLit => text.push_str(&self.unescape(next)?),
                Kind::Interp | Kind::Control => {
                    let sign = if next.kind == Kind::Interp { "$" } else { "%" };
                    let detail = format!(
                        "Template sequences are not allowed in this string. To include a literal {sign:?}, double it \
                         (as \"{sign}{sign}\") to escape it."
                    );
                    let stop = self.error(next.span, "Invalid string literal", detail);
                    self.skip_string();
                    return Err(stop);
                }
                _ => {
                    return Err(self.error(
                        next.span,
                        "Unterminated string literal",
                        "Unable to find the closing quote mark before the end of the file.",
                    ));
                }
            }
        }
    }

    /// Skips the rest of a quoted string, inside a template sequence of it.
    fn skip_string(&mut self) {
        let mut quotes = 1usize;
        while quotes > 0 {
            match self.read().kind {
                Kind::OQuote => quotes += 1,
                Kind::CQuote => quotes -= 1,
                Kind::Eof => return,
                _ => {}
            }
        }
    }
}

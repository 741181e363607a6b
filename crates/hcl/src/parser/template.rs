//! Strings: literal text, interpolations and directives.

use unicode_segmentation::UnicodeSegmentation;

use super::super::ast::{Expr, ExprKind, For};
use super::super::diag::{Span, suggestion};
use super::super::token::{Kind, Token};
use super::{Parsed, Parser, Stop};
use encamp_model::quoted;

/// A template before `if` and `for` are matched with their ends.
enum Part {
    Text {
        text: String,
        span: Span,
    },
    Value(Expr),
    /// `span` is that of the opening marker, `whole` that of the directive.
    If {
        condition: Expr,
        span: Span,
        whole: Span,
    },
    For {
        key_name: Option<String>,
        value_name: String,
        collection: Expr,
        span: Span,
        whole: Span,
    },
    Else(Span),
    EndIf(Span),
    EndFor(Span),
}

impl Part {
    fn keyword(&self) -> Option<(&'static str, Span)> {
        match self {
            Part::Else(span) => Some(("else", *span)),
            Part::EndIf(span) => Some(("endif", *span)),
            Part::EndFor(span) => Some(("endfor", *span)),
            _ => None,
        }
    }
}

impl Parser<'_> {
    /// A quoted string or a heredoc.
    pub(super) fn template(&mut self) -> Parsed<Expr> {
        let open = self.read();
        let (end, flush) = match open.kind {
            Kind::OHeredoc => (Kind::CHeredoc, self.text_of(open).starts_with("<<-")),
            _ => (Kind::CQuote, false),
        };
        let (mut expr, close) = self.template_until(end, open.span, flush)?;
        expr.span = open.span.to(close);
        Ok(expr)
    }

    /// Reads a template up to `end`; returns the range of the end as well.
    pub(super) fn template_until(&mut self, end: Kind, open: Span, flush: bool) -> Parsed<(Expr, Span)> {
        let (mut parts, close) = self.template_parts(end)?;
        let span = open.to(close);
        if flush {
            strip_indentation(&mut parts);
        }
        let wrap = matches!(parts.as_slice(), [Part::Value(_)]);
        let mut exprs = self.template_tree(&mut parts.into_iter(), None, close)?.0;
        if wrap && let Some(only) = exprs.pop() {
            return Ok((Expr::new(ExprKind::Wrap(Box::new(only)), span), close));
        }
        if exprs.is_empty() {
            exprs.push(Expr::new(ExprKind::Text(String::new()), Span { start: close.end, ..close }));
        }
        Ok((Expr::new(ExprKind::Template(exprs), span), close))
    }

    /// The parts in a row, strip markers already applied to the texts beside them.
    fn template_parts(&mut self, end: Kind) -> Parsed<(Vec<Part>, Span)> {
        let mut parts = Vec::new();
        let mut trim_next = false;
        loop {
            let next = self.read();
            let trim = std::mem::take(&mut trim_next);
            match next.kind {
                kind if kind == end => return Ok((parts, next.span)),
                Kind::QuotedLit | Kind::StringLit => {
                    let mut text = self.unescape(next)?;
                    if trim {
                        text = text.trim_start().to_owned();
                    }
                    parts.push(Part::Text { text, span: next.span });
                }
                Kind::Interp | Kind::Control => {
                    if self.text_of(next).ends_with('~')
                        && let Some(Part::Text { text, .. }) = parts.last_mut()
                    {
                        text.truncate(text.trim_end().len());
                    }
                    let close = self.with_newlines(false, |p| {
                        let part = match next.kind {
                            Kind::Interp => Part::Value(p.interpolation(next)?),
                            _ => p.directive(next)?,
                        };
                        parts.push(part);
                        Ok(p.read())
                    })?;
                    trim_next = self.text_of(close).starts_with('~');
                }
                _ => {
                    return Err(self.error(
                        next.span,
                        "Unterminated template string",
                        "No closing marker was found for the string.",
                    ));
                }
            }
        }
    }

    fn interpolation(&mut self, open: Token) -> Parsed<Expr> {
        let expr = self.expression()?;
        let close = self.peek();
        match close.kind {
            Kind::SeqEnd => Ok(expr),
            Kind::Eof => Err(self.error(
                open.span,
                "Unclosed template interpolation sequence",
                "There is no closing brace for this interpolation sequence before the end of the file. This might be \
                 caused by incorrect nesting inside the given expression.",
            )),
            _ => Err(self.error(
                close.span,
                "Extra characters after interpolation expression",
                "Expected a closing brace to end the interpolation expression, but found extra characters.\n\nThis can \
                 happen when you include interpolation syntax for another language, such as shell scripting, but forget \
                 to escape the interpolation start token. If this is an embedded sequence for another language, escape it \
                 by starting with \"$${\" instead of just \"${\".",
            )),
        }
    }

    fn directive(&mut self, open: Token) -> Parsed<Part> {
        let word = self.peek();
        if word.kind != Kind::Ident {
            return Err(self.error(
                word.span,
                "Invalid template directive",
                "A template directive keyword (\"if\", \"for\", etc) is expected at the beginning of a %{ sequence.",
            ));
        }
        self.read();
        let keyword = self.text_of(word);
        let part = match keyword {
            "if" => Part::If { condition: self.expression()?, span: open.span, whole: self.up_to_next(open) },
            "for" => {
                let (key_name, value_name, collection) = self.for_head()?;
                Part::For { key_name, value_name, collection, span: open.span, whole: self.up_to_next(open) }
            }
            "else" => Part::Else(self.up_to_next(open)),
            "endif" => Part::EndIf(self.up_to_next(open)),
            "endfor" => Part::EndFor(self.up_to_next(open)),
            _ => {
                let hint = suggestion(keyword, ["if", "for", "else", "endif", "endfor"]);
                let hint = hint.map_or(String::new(), |other| format!(" Did you mean {other:?}?"));
                let detail = format!("{keyword:?} is not a valid template control keyword.{hint}");
                return Err(self.error(word.span, "Invalid template control keyword", detail));
            }
        };
        let close = self.peek();
        if close.kind != Kind::SeqEnd {
            let what = if matches!(keyword, "if" | "for") { "expression" } else { "marker" };
            return Err(self.error(
                close.span,
                format!("Extra characters in {keyword} {what}"),
                "Expected a closing brace to end the sequence, but found extra characters.",
            ));
        }
        Ok(part)
    }

    /// From a token to the end of the one that comes next, which closes a directive.
    fn up_to_next(&self, open: Token) -> Span {
        open.span.to(self.peek().span)
    }

    /// Matches directives with their ends. Inside of one (`within`: its keyword and place) the tree ends at `else`,
    /// `endif` or `endfor`, which is returned.
    fn template_tree(
        &mut self,
        parts: &mut std::vec::IntoIter<Part>,
        within: Option<(&'static str, Span)>,
        close: Span,
    ) -> Parsed<(Vec<Expr>, &'static str)> {
        let mut exprs = Vec::new();
        while let Some(part) = parts.next() {
            if let Some((keyword, span)) = part.keyword() {
                if within.is_some_and(|(opener, _)| ends(opener, keyword)) {
                    return Ok((exprs, keyword));
                }
                let (summary, detail) = unexpected(keyword, within.is_some());
                return Err(self.error(span, summary, detail));
            }
            exprs.push(match part {
                Part::Text { text, span } => Expr::new(ExprKind::Text(text), span),
                Part::Value(expr) => expr,
                Part::If { condition, span, whole } => self.nested(|p| {
                    let (yes, end) = p.template_tree(parts, Some(("if", whole)), close)?;
                    let no = match end {
                        "else" => p.template_tree(parts, Some(("else", whole)), close)?.0,
                        _ => Vec::new(),
                    };
                    let branches = Box::new([condition, branch(yes, span), branch(no, span)]);
                    Ok(Expr::new(ExprKind::Conditional(branches), span))
                })?,
                Part::For { key_name, value_name, collection, span, whole } => self.nested(|p| {
                    let value = branch(p.template_tree(parts, Some(("for", whole)), close)?.0, span);
                    let (key, condition) = (None, None);
                    let node =
                        For { open: span, key_name, value_name, collection, key, value, condition, group: false };
                    let list = Expr::new(ExprKind::For(Box::new(node)), span);
                    Ok(Expr::new(ExprKind::Join(Box::new(list)), span))
                })?,
                Part::Else(_) | Part::EndIf(_) | Part::EndFor(_) => continue,
            });
        }
        match within {
            None => Ok((exprs, "")),
            Some((opener, span)) => Err(self.unclosed(opener, span, close)),
        }
    }

    /// The mistake of a directive without its end.
    fn unclosed(&mut self, opener: &str, span: Span, close: Span) -> Stop {
        let keyword = if opener == "for" { "for" } else { "if" };
        let range = self.sources.range(span);
        let detail = format!("The {keyword} directive at {range} is missing its corresponding end{keyword} directive.");
        self.error(close, "Unexpected end of template", detail)
    }

    /// The text a literal token stands for.
    pub(super) fn unescape(&mut self, token: Token) -> Parsed<String> {
        let raw = self.text_of(token);
        let escapes = token.kind == Kind::QuotedLit;
        let mut text = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(c) = rest.chars().next() {
            let mut len = c.len_utf8();
            if rest.starts_with("$${") || rest.starts_with("%%{") {
                text.push(c);
                text.push('{');
                len = 3;
            } else if c == '\\' && escapes {
                let at = token.span.start as usize + raw.len() - rest.len();
                let (value, used) = self.escape(rest, at, token.span)?;
                text.push(value);
                len = used;
            } else {
                text.push(c);
            }
            rest = rest.get(len..).unwrap_or("");
        }
        Ok(text)
    }

    /// The character of an escape sequence and its length in bytes.
    fn escape(&mut self, rest: &str, at: usize, token: Span) -> Parsed<(char, usize)> {
        const SUMMARY: &str = "Invalid escape sequence";
        let span = |len: usize| {
            let start = u32::try_from(at).unwrap_or(u32::MAX);
            Span { start, end: start.saturating_add(u32::try_from(len).unwrap_or(0)), ..token }
        };
        let Some(selector) = rest.chars().nth(1) else {
            let detail = "Backslash must be followed by an escape sequence selector character.";
            return Err(self.error(span(1), SUMMARY, detail));
        };
        let simple = match selector {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '"' => '"',
            '\\' => '\\',
            'u' | 'U' => {
                let (digits, word) = if selector == 'u' { (4, "four") } else { (8, "eight") };
                let hex = rest.get(2..2 + digits).filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
                let code = hex.and_then(|h| u32::from_str_radix(h, 16).ok());
                return match code.map(|code| char::from_u32(code).ok_or(code)) {
                    Some(Ok(character)) => Ok((character, 2 + digits)),
                    // Half of a surrogate pair, or beyond Unicode.
                    Some(Err(code)) => {
                        let detail = format!("Cannot encode character U+{code:04x} in UTF-8.");
                        Err(self.error(span(2 + digits), SUMMARY, detail))
                    }
                    None => {
                        let have = rest.get(2..).unwrap_or("").bytes().take(digits);
                        let len = 2 + have.take_while(u8::is_ascii_hexdigit).count();
                        let detail =
                            format!("The \\{selector} escape sequence must be followed by {word} hexadecimal digits.");
                        Err(self.error(span(len), SUMMARY, detail))
                    }
                };
            }
            _ => {
                let detail =
                    format!("The symbol {} is not a valid escape sequence selector.", quoted(&selector.to_string()));
                return Err(self.error(span(1 + selector.len_utf8()), SUMMARY, detail));
            }
        };
        Ok((simple, 2))
    }
}

/// Whether a keyword ends what another one began.
fn ends(opener: &str, keyword: &str) -> bool {
    match opener {
        "for" => keyword == "endfor",
        "else" => keyword == "endif",
        _ => keyword != "endfor",
    }
}

fn unexpected(keyword: &str, nested: bool) -> (String, String) {
    let opener = if keyword == "endfor" { "for" } else { "if" };
    let detail = match nested {
        true => format!("There is no {opener} directive that this {keyword} directive could belong to."),
        false => "The control directives within this template are unbalanced.".to_owned(),
    };
    (format!("Unexpected {keyword} directive"), detail)
}

/// The text inside of a directive.
fn branch(mut parts: Vec<Expr>, span: Span) -> Expr {
    if parts.is_empty() {
        parts.push(Expr::new(ExprKind::Text(String::new()), span));
    }
    Expr::new(ExprKind::Template(parts), span)
}

/// `<<-`: takes the smallest indentation of all lines that are not blank from each of them.
fn strip_indentation(parts: &mut [Part]) {
    let mut smallest: Option<usize> = None;
    let mut line_starts = Vec::new();
    let mut fresh = true;
    for part in parts.iter_mut() {
        let at_start = std::mem::take(&mut fresh);
        let Part::Text { text, span } = part else {
            if at_start {
                smallest = Some(0);
            }
            continue;
        };
        fresh = text.ends_with('\n');
        let inner = text.trim_start();
        if at_start && !(inner.is_empty() && fresh) {
            let indent = text.get(..text.len() - inner.len()).unwrap_or("").graphemes(true).count();
            smallest = Some(smallest.map_or(indent, |s| s.min(indent)));
            line_starts.push((text, span));
        }
    }
    for (text, span) in line_starts {
        let cut = text.grapheme_indices(true).nth(smallest.unwrap_or(0)).map_or(text.len(), |(at, _)| at);
        text.drain(..cut);
        span.start = span.start.saturating_add(u32::try_from(cut).unwrap_or(0)).min(span.end);
    }
}

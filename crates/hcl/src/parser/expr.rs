//! Expressions.

use super::super::ast::{BinaryOp, Call, Expr, ExprKind, For, Step, StepKind, UnaryOp};
use super::super::diag::Span;
use super::super::token::{Kind, Token};
use super::{Parsed, Parser, Stop};

/// The operator a token stands for, and how tightly it binds.
fn binary_operator(kind: Kind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        Kind::Or => (BinaryOp::Or, 1),
        Kind::And => (BinaryOp::And, 2),
        Kind::EqualOp => (BinaryOp::Equal, 3),
        Kind::NotEqual => (BinaryOp::NotEqual, 3),
        Kind::Less => (BinaryOp::Less, 4),
        Kind::LessEqual => (BinaryOp::LessEqual, 4),
        Kind::Greater => (BinaryOp::Greater, 4),
        Kind::GreaterEqual => (BinaryOp::GreaterEqual, 4),
        Kind::Plus => (BinaryOp::Add, 5),
        Kind::Minus => (BinaryOp::Subtract, 5),
        Kind::Star => (BinaryOp::Multiply, 6),
        Kind::Slash => (BinaryOp::Divide, 6),
        Kind::Percent => (BinaryOp::Modulo, 6),
        _ => return None,
    })
}

/// An operand and those that follow it with operators of one precedence.
struct Chain {
    first: Expr,
    rest: Vec<(BinaryOp, Expr)>,
    /// Of the operators, the pending one included.
    precedence: u8,
    /// The operator that waits for what comes next.
    pending: BinaryOp,
}

impl Chain {
    /// The chain with its last operand.
    fn close(mut self, last: Expr) -> Expr {
        let span = self.first.span.to(last.span);
        self.rest.push((self.pending, last));
        Expr::new(ExprKind::Binary { first: Box::new(self.first), rest: self.rest }, span)
    }
}

const INVALID_FOR: &str = "Invalid 'for' expression";

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nested(|p| {
            let condition = p.binary()?;
            if p.take(Kind::Question).is_none() {
                return Ok(condition);
            }
            let yes = p.expression()?;
            let colon = p.peek();
            if p.take(Kind::Colon).is_none() {
                return Err(p.error(
                    colon.span,
                    "Missing false expression in conditional",
                    "The conditional operator (...?...:...) requires a false expression, delimited by a colon.",
                ));
            }
            let no = p.expression()?;
            let span = condition.span.to(no.span);
            Ok(Expr::new(ExprKind::Conditional(Box::new([condition, yes, no])), span))
        })
    }

    /// Operands and operators; chains that wait for a tighter one lie on a stack of their own, not on the call stack.
    fn binary(&mut self) -> Parsed<Expr> {
        let mut waiting: Vec<Chain> = Vec::new();
        let mut operand = self.term()?;
        loop {
            let next = binary_operator(self.peek().kind);
            let precedence = next.map_or(0, |(_, p)| p);
            while let Some(chain) = waiting.pop_if(|chain| chain.precedence > precedence) {
                operand = chain.close(operand);
            }
            let Some((op, precedence)) = next else { return Ok(operand) };
            self.read();
            match waiting.last_mut() {
                Some(chain) if chain.precedence == precedence => {
                    chain.rest.push((std::mem::replace(&mut chain.pending, op), operand));
                }
                _ => waiting.push(Chain { first: operand, rest: Vec::new(), precedence, pending: op }),
            }
            operand = self.term()?;
        }
    }

    fn term(&mut self) -> Parsed<Expr> {
        let base = self.primary()?;
        self.lookups(base)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.peek();
        match start.kind {
            Kind::OParen => {
                self.read();
                let inner = self.with_newlines(false, |p| {
                    let inner = p.expression()?;
                    let close = p.peek();
                    match p.take(Kind::CParen) {
                        Some(close) => Ok(Expr::new(ExprKind::Paren(Box::new(inner)), start.span.to(close.span))),
                        None => Err(p.error(
                            close.span,
                            "Unbalanced parentheses",
                            "Expected a closing parenthesis to terminate the expression.",
                        )),
                    }
                })?;
                Ok(inner)
            }
            Kind::Number => {
                self.read();
                Ok(Expr::new(ExprKind::Number(self.text_of(start).to_owned()), start.span))
            }
            Kind::Ident => self.name(),
            Kind::OQuote | Kind::OHeredoc => self.nested(Parser::template),
            Kind::Minus | Kind::Bang => {
                self.read();
                let op = if start.kind == Kind::Minus { UnaryOp::Negate } else { UnaryOp::Not };
                let operand = Box::new(self.nested(Parser::term)?);
                let span = start.span.to(operand.span);
                Ok(Expr::new(ExprKind::Unary { op, op_span: start.span, operand }, span))
            }
            Kind::OBrack => {
                self.read();
                self.with_newlines(false, |p| p.tuple(start.span))
            }
            Kind::OBrace => {
                self.read();
                self.object(start.span)
            }
            Kind::Eof => Err(self.error(
                start.span,
                "Missing expression",
                "Expected the start of an expression, but found the end of the file.",
            )),
            _ => Err(self.error(
                start.span,
                "Invalid expression",
                "Expected the start of an expression, but found an invalid expression token.",
            )),
        }
    }

    /// A keyword, a function call or a reference.
    fn name(&mut self) -> Parsed<Expr> {
        let first = self.read();
        let mut name = self.text_of(first).to_owned();
        let mut name_span = first.span;
        while self.peek().kind == Kind::DoubleColon {
            self.read();
            let part = self.peek();
            if part.kind != Kind::Ident {
                return Err(self.error(
                    part.span,
                    "Missing function name",
                    "Function scope resolution symbol :: must be followed by a function name in this scope.",
                ));
            }
            self.read();
            name = format!("{name}::{}", self.text_of(part));
            name_span = name_span.to(part.span);
        }
        if self.peek().kind == Kind::OParen {
            let open = self.read().span;
            return self.with_newlines(false, |p| p.call(name, name_span, open));
        }
        if name.contains("::") {
            let next = self.peek().span;
            return Err(self.error(
                next,
                "Missing open parenthesis",
                "Function selector must be followed by an open parenthesis to begin the function call.",
            ));
        }
        let kind = match name.as_str() {
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "null" => ExprKind::Null,
            _ => ExprKind::Reference { root: name, root_span: name_span, steps: Vec::new() },
        };
        Ok(Expr::new(kind, name_span))
    }

    fn call(&mut self, name: String, name_span: Span, open: Span) -> Parsed<Expr> {
        let mut args = Vec::new();
        let mut expand = false;
        let close = loop {
            if let Some(close) = self.take(Kind::CParen) {
                break close.span;
            }
            args.push(self.expression()?);
            let next = self.peek();
            match next.kind {
                Kind::CParen => {}
                Kind::Comma => {
                    self.read();
                }
                Kind::Ellipsis => {
                    self.read();
                    expand = true;
                    let close = self.peek();
                    if close.kind != Kind::CParen {
                        return Err(self.error(
                            close.span,
                            "Missing closing parenthesis",
                            "An expanded function argument (with ...) must be immediately followed by closing \
                             parentheses.",
                        ));
                    }
                }
                Kind::Eof => {
                    return Err(self.error(
                        name_span.to(open),
                        "Unterminated function call",
                        "There is no closing parenthesis for this function call before the end of the file. This may be \
                         caused by incorrect parethesis nesting elsewhere in this file.",
                    ));
                }
                _ => {
                    return Err(self.error(
                        next.span,
                        "Missing argument separator",
                        "A comma is required to separate each function argument from the next.",
                    ));
                }
            }
        };
        let span = name_span.to(close);
        Ok(Expr::new(ExprKind::Call(Box::new(Call { name, name_span, open, close, args, expand })), span))
    }

    fn tuple(&mut self, open: Span) -> Parsed<Expr> {
        if self.is_keyword(self.peek(), "for") {
            return self.for_expr(open, Kind::CBrack);
        }
        let mut items = Vec::new();
        let close = loop {
            if let Some(close) = self.take(Kind::CBrack) {
                break close.span;
            }
            items.push(self.expression()?);
            let next = self.peek();
            match next.kind {
                Kind::CBrack => {}
                Kind::Comma => {
                    self.read();
                }
                Kind::Eof => {
                    return Err(self.error(
                        open,
                        "Unterminated tuple constructor expression",
                        "There is no corresponding closing bracket before the end of the file. This may be caused by \
                         incorrect bracket nesting elsewhere in this file.",
                    ));
                }
                _ => {
                    return Err(self.error(
                        next.span,
                        "Missing item separator",
                        "Expected a comma to mark the beginning of the next item.",
                    ));
                }
            }
        };
        Ok(Expr::new(ExprKind::Tuple { open, items }, open.to(close)))
    }

    fn object(&mut self, open: Span) -> Parsed<Expr> {
        self.newlines.push(false);
        let is_for = self.is_keyword(self.peek(), "for");
        self.newlines.pop();
        if is_for {
            return self.with_newlines(false, |p| p.for_expr(open, Kind::CBrace));
        }
        self.with_newlines(true, |p| p.object_items(open))
    }

    fn object_items(&mut self, open: Span) -> Parsed<Expr> {
        let mut items = Vec::new();
        let close = loop {
            if self.take(Kind::Newline).is_some() {
                continue;
            }
            if let Some(close) = self.take(Kind::CBrace) {
                break close.span;
            }
            let key = self.object_key()?;
            let next = self.peek();
            if !matches!(next.kind, Kind::Equal | Kind::Colon) {
                return Err(self.missing_value(next, open));
            }
            self.read();
            let value = self.expression()?;
            items.push((key, value));
            let next = self.peek();
            match next.kind {
                Kind::CBrace => {}
                Kind::Comma | Kind::Newline => {
                    self.read();
                }
                Kind::Eof => return Err(self.unterminated_object(open)),
                _ => {
                    return Err(self.error(
                        next.span,
                        "Missing attribute separator",
                        "Expected a newline or comma to mark the beginning of the next attribute.",
                    ));
                }
            }
        };
        Ok(Expr::new(ExprKind::Object { open, items }, open.to(close)))
    }

    fn unterminated_object(&mut self, open: Span) -> Stop {
        self.error(
            open,
            "Unterminated object constructor expression",
            "There is no corresponding closing brace before the end of the file. This may be caused by incorrect brace \
             nesting elsewhere in this file.",
        )
    }

    fn missing_value(&mut self, next: Token, open: Span) -> Stop {
        const SEPARATOR: &str = "Missing key/value separator";
        const EXPECTED: &str = "Expected an equals sign (\"=\") to mark the beginning of the attribute value.";
        match next.kind {
            Kind::Eof => self.unterminated_object(open),
            Kind::Newline | Kind::Comma => self.error(
                next.span,
                "Missing attribute value",
                "Expected an attribute value, introduced by an equals sign (\"=\").",
            ),
            Kind::Ident => {
                let hint = "If you intended to given an attribute name containing periods or spaces, write the name in \
                            quotes to create a string literal.";
                self.error(next.span, SEPARATOR, format!("{EXPECTED} {hint}"))
            }
            _ => self.error(next.span, SEPARATOR, EXPECTED),
        }
    }

    /// A name alone is the key itself, not a reference.
    fn object_key(&mut self) -> Parsed<Expr> {
        let key = self.expression()?;
        let text = match &key.kind {
            ExprKind::Reference { root, steps, .. } if steps.is_empty() => root.clone(),
            ExprKind::Null => "null".to_owned(),
            _ => return Ok(key),
        };
        Ok(Expr::new(ExprKind::Text(text), key.span))
    }

    fn for_name(&mut self, detail: &str) -> Parsed<String> {
        let name = self.peek();
        if name.kind != Kind::Ident {
            return Err(self.error(name.span, INVALID_FOR, detail));
        }
        self.read();
        Ok(self.text_of(name).to_owned())
    }

    /// `for k, v in collection` without what follows; also the head of a template directive.
    pub(super) fn for_head(&mut self) -> Parsed<(Option<String>, String, Expr)> {
        let mut key_name = None;
        let mut value_name = self.for_name("For expression requires variable name after 'for'.")?;
        if self.take(Kind::Comma).is_some() {
            let second = self.for_name("For expression requires value variable name after comma.")?;
            key_name = Some(std::mem::replace(&mut value_name, second));
        }
        let word = self.peek();
        if !self.is_keyword(word, "in") {
            return Err(self.error(
                word.span,
                INVALID_FOR,
                "For expression requires the 'in' keyword after its name declarations.",
            ));
        }
        self.read();
        let collection = self.expression()?;
        Ok((key_name, value_name, collection))
    }

    fn for_expr(&mut self, open: Span, end: Kind) -> Parsed<Expr> {
        self.read();
        let (key_name, value_name, collection) = self.for_head()?;
        let colon = self.peek();
        if self.take(Kind::Colon).is_none() {
            return Err(self.error(
                colon.span,
                INVALID_FOR,
                "For expression requires a colon after the collection expression.",
            ));
        }
        let mut value = self.expression()?;
        let mut key = None;
        if self.take(Kind::FatArrow).is_some() {
            let second = self.expression()?;
            key = Some(std::mem::replace(&mut value, second));
        }
        let group = self.take(Kind::Ellipsis);
        let condition = if self.is_keyword(self.peek(), "if") {
            self.read();
            Some(self.expression()?)
        } else {
            None
        };
        let close = self.peek();
        if self.take(end).is_none() {
            return Err(self.error(close.span, INVALID_FOR, "Extra characters after the end of the 'for' expression."));
        }
        let wrong = match (end, &key, group) {
            (Kind::CBrack, Some(key), _) => Some((key.span, "Key expression is not valid when building a tuple.")),
            (Kind::CBrack, None, Some(token)) => {
                Some((token.span, "Grouping ellipsis (...) cannot be used when building a tuple."))
            }
            (Kind::CBrace, None, _) => Some((value.span, "Key expression is required when building an object.")),
            _ => None,
        };
        if let Some((span, detail)) = wrong {
            return Err(self.error(span, INVALID_FOR, detail));
        }
        let group = group.is_some();
        let span = open.to(close.span);
        let node = For { open, key_name, value_name, collection, key, value, condition, group };
        Ok(Expr::new(ExprKind::For(Box::new(node)), span))
    }

    /// Attribute lookups, indexes and splats behind an expression.
    fn lookups(&mut self, mut expr: Expr) -> Parsed<Expr> {
        let mut levels = 0;
        loop {
            let next = self.peek();
            let before = std::mem::discriminant(&expr.kind);
            expr = match next.kind {
                Kind::Dot => self.dot(expr)?,
                Kind::OBrack => {
                    self.read();
                    self.with_newlines(false, |p| p.brackets(expr, next.span))?
                }
                _ => return Ok(expr),
            };
            // Steps of one traversal lie side by side; everything else wraps what was there before.
            if before != std::mem::discriminant(&expr.kind)
                || matches!(expr.kind, ExprKind::Index { .. } | ExprKind::Splat { .. })
            {
                levels += 1;
                self.check_depth(levels)?;
            }
        }
    }

    fn dot(&mut self, expr: Expr) -> Parsed<Expr> {
        let dot = self.read();
        if self.peek().kind == Kind::Star {
            let star = self.read().span;
            let marker = dot.span.to(star);
            let mut each = Expr::new(ExprKind::Item, marker);
            // Attributes and numbers behind dots belong to the splat; brackets look into its result.
            while self.peek().kind == Kind::Dot {
                let dot = self.read();
                let next = self.peek();
                if next.kind == Kind::Star {
                    return Err(self.error(
                        next.span,
                        "Nested splat expression not allowed",
                        "A splat expression (*) cannot be used inside another attribute-only splat expression.",
                    ));
                }
                if let Some((first, second)) = self.text_of(next).split_once('.').filter(|_| next.kind == Kind::Number)
                {
                    let detail = format!(
                        "When using the legacy index syntax, chaining two indexes together is not permitted. Use the proper \
                         index syntax with a full splat expression [*] instead, like [{first}][{second}]."
                    );
                    return Err(self.error(star, "Invalid legacy index syntax", detail));
                }
                each = self.dotted(each, dot)?;
            }
            return Ok(splat(expr, each, marker));
        }
        self.dotted(expr, dot)
    }

    /// `.name` or `.0`
    fn dotted(&mut self, expr: Expr, dot: Token) -> Parsed<Expr> {
        let name = self.peek();
        match name.kind {
            Kind::Ident => {
                self.read();
                let kind = StepKind::Attribute(self.text_of(name).to_owned());
                Ok(with_step(expr, Step { kind, span: dot.span.to(name.span) }))
            }
            Kind::Number => {
                self.read();
                let text = self.text_of(name).to_owned();
                if text.contains(['e', 'E']) {
                    return Err(self.error(
                        name.span,
                        "Invalid legacy index syntax",
                        "When using the legacy index syntax, chaining two indexes together is not permitted. Use the \
                         proper index syntax instead, like [0].",
                    ));
                }
                // `a.0.1` arrives as the number 0.1.
                let span = dot.span.to(name.span);
                Ok(text
                    .split('.')
                    .fold(expr, |expr, n| with_step(expr, Step { kind: StepKind::Number(n.to_owned()), span })))
            }
            _ => Err(self.error(dot.span, "Invalid attribute name", "An attribute name is required after a dot.")),
        }
    }

    fn brackets(&mut self, expr: Expr, open: Span) -> Parsed<Expr> {
        if self.peek().kind == Kind::Star {
            self.read();
            let close = self.peek();
            if self.take(Kind::CBrack).is_none() {
                return Err(self.error(
                    close.span,
                    "Missing close bracket on splat index",
                    "The star for a full splat operator must be immediately followed by a closing bracket (\"]\").",
                ));
            }
            let marker = open.to(close.span);
            // The steps that follow apply to each element, with line ends as they were outside of the brackets.
            let inside = self.newlines.pop();
            let each = self.nested(|p| p.lookups(Expr::new(ExprKind::Item, marker)));
            self.newlines.extend(inside);
            return Ok(splat(expr, each?, marker));
        }
        let key = self.expression()?;
        let close = self.peek();
        if self.take(Kind::CBrack).is_none() {
            return Err(self.error(
                close.span,
                "Missing close bracket on index",
                "The index operator must end with a closing bracket (\"]\").",
            ));
        }
        let brackets = open.to(close.span);
        let step = match &key.kind {
            ExprKind::Number(text) => Some(StepKind::Number(text.clone())),
            ExprKind::Template(parts) => match parts.as_slice() {
                [Expr { kind: ExprKind::Text(text), .. }] => Some(StepKind::Text(text.clone())),
                _ => None,
            },
            _ => None,
        };
        if let Some(kind) = step {
            return Ok(with_step(expr, Step { kind, span: brackets }));
        }
        let span = expr.span.to(brackets);
        Ok(Expr::new(ExprKind::Index { source: Box::new(expr), key: Box::new(key), brackets }, span))
    }
}

fn splat(source: Expr, each: Expr, marker: Span) -> Expr {
    let span = source.span.to(each.span);
    Expr::new(ExprKind::Splat { source: Box::new(source), each: Box::new(each), marker }, span)
}

/// Adds a step to a traversal, or starts one.
fn with_step(mut expr: Expr, step: Step) -> Expr {
    let span = expr.span.to(step.span);
    match &mut expr.kind {
        ExprKind::Reference { steps, .. } | ExprKind::Lookup { steps, .. } => {
            steps.push(step);
            expr.span = span;
            expr
        }
        _ => Expr::new(ExprKind::Lookup { source: Box::new(expr), steps: vec![step] }, span),
    }
}

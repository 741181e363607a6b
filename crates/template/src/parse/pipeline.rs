//! Pipelines: declarations, commands, operands.

use super::{Parsed, Parser};
use crate::functions;
use crate::lex::{Kind, Token};
use crate::number::number;
use crate::tree::{Pipe, Span, Term, TermKind};
use crate::value::Value;

impl Parser<'_> {
    pub(super) fn pipeline(&mut self, context: &str, end: &Kind) -> Parsed<Pipe> {
        let first = self.peek_solid().span();
        let (variables, assigns) = self.declaration(context)?;
        let mut commands = Vec::new();
        let mut last = first;
        loop {
            let token = self.peek_solid().clone();
            if token.kind == *end {
                self.take();
                break;
            }
            if !begins_operand(&token.kind) {
                return self.unexpected(&token, context);
            }
            let command = self.command()?;
            last = command.last().map_or(last, |term: &Term| term.span);
            commands.push(command);
        }
        if commands.is_empty() {
            return self.wrong(first.at, format!("missing value for {context}"));
        }
        for (stage, command) in commands.iter().enumerate().skip(1) {
            if command.first().is_some_and(|t| matches!(t.kind, TermKind::Literal(_) | TermKind::Dot | TermKind::Nil)) {
                return self.wrong(first.at, format!("non executable command in pipeline stage {}", stage + 1));
            }
        }
        Ok(Pipe { span: first.to(last), assigns, variables, commands })
    }

    /// The variables that a pipeline sets, and whether they exist already: `$x :=`, `$x =`, and in `range`
    /// `$x, $y :=` and `$x, $y =`.
    fn declaration(&mut self, context: &str) -> Parsed<(Vec<String>, bool)> {
        let at = self.peek_solid().at;
        let (mut variables, mut assigns) = (Vec::new(), false);
        while let Kind::Variable(name) = self.peek_solid().kind.clone() {
            let mark = self.next;
            self.take();
            match self.peek_solid().kind {
                Kind::Assign | Kind::Declare => {
                    assigns = self.take().kind == Kind::Assign;
                    variables.push(name.clone());
                    self.variables.push(name);
                    break;
                }
                Kind::Char(',') => {
                    self.take();
                    variables.push(name.clone());
                    self.variables.push(name);
                    if context != "range" || variables.len() >= 2 {
                        return self.wrong(at, format!("too many declarations in {context}"));
                    }
                    if !matches!(self.peek_solid().kind, Kind::Variable(_) | Kind::RightDelim | Kind::RightParen) {
                        return self.wrong(at, "range can only initialize variables");
                    }
                }
                _ => {
                    self.next = mark;
                    break;
                }
            }
        }
        Ok((variables, assigns))
    }

    fn command(&mut self) -> Parsed<Vec<Term>> {
        let mut terms = Vec::new();
        let at = self.peek_solid().at;
        loop {
            self.peek_solid();
            terms.extend(self.operand()?);
            let token = self.peek().clone();
            match token.kind {
                Kind::Space => {
                    self.take();
                }
                Kind::RightDelim | Kind::RightParen => break,
                Kind::Pipe => {
                    self.take();
                    break;
                }
                _ => return self.unexpected(&token, "operand"),
            }
        }
        if terms.is_empty() { self.wrong(at, "empty command") } else { Ok(terms) }
    }

    fn operand(&mut self) -> Parsed<Option<Term>> {
        let Some(mut term) = self.term()? else { return Ok(None) };
        let mut fields = Vec::new();
        let mut last = term.span;
        while let Kind::Field(name) = &self.peek().kind {
            fields.push(name.clone());
            last = self.take().span();
        }
        if fields.is_empty() {
            return Ok(Some(term));
        }
        let span = term.span.to(last);
        match &mut term.kind {
            TermKind::Field(names) | TermKind::Variable(_, names) => {
                names.extend(fields);
                term.span = span;
            }
            TermKind::Literal(_) | TermKind::Nil | TermKind::Dot => {
                return self.wrong(term.span.at, "unexpected . after a constant term");
            }
            _ => term = Term { span, kind: TermKind::Chain(Box::new(term), fields) },
        }
        Ok(Some(term))
    }

    fn term(&mut self) -> Parsed<Option<Term>> {
        let token = self.peek_solid().clone();
        let (at, span) = (token.at, token.span());
        let kind = match token.kind {
            Kind::Identifier(name) => {
                functions::check(&name, self.options).map_err(|failure| (at, failure))?;
                TermKind::Function(name)
            }
            Kind::Dot => TermKind::Dot,
            Kind::Nil => TermKind::Nil,
            Kind::Variable(name) => {
                if !self.variables.contains(&name) {
                    return self.wrong(at, format!("undefined variable {name:?}"));
                }
                TermKind::Variable(name, Vec::new())
            }
            Kind::Field(name) => TermKind::Field(vec![name]),
            Kind::Bool(b) => TermKind::Literal(Value::Bool(b)),
            Kind::Rune(c) => TermKind::Literal(Value::Int(i64::from(u32::from(c)))),
            Kind::Number(text) => match number(&text) {
                Ok(value) => TermKind::Literal(value),
                Err(why) => return self.wrong(at, format!("{why}: {text:?}")),
            },
            Kind::String(text) => TermKind::Literal(Value::text(text)),
            Kind::LeftParen => return self.parenthesized(span).map(Some),
            _ => return Ok(None),
        };
        self.take();
        Ok(Some(Term { span, kind }))
    }

    fn parenthesized(&mut self, open: Span) -> Parsed<Term> {
        self.take();
        self.enter(open.at)?;
        let pipe = self.pipeline("parenthesized pipeline", &Kind::RightParen)?;
        self.depth -= 1;
        // The pipeline ends behind its closing parenthesis.
        let close = self.next.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(open, Token::span);
        Ok(Term { span: open.to(close), kind: TermKind::Pipe(Box::new(pipe)) })
    }
}

fn begins_operand(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Bool(_)
            | Kind::Rune(_)
            | Kind::Dot
            | Kind::Field(_)
            | Kind::Identifier(_)
            | Kind::Number(_)
            | Kind::Nil
            | Kind::String(_)
            | Kind::Variable(_)
            | Kind::LeftParen
    )
}

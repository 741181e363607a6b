//! Tokens to trees.

use std::collections::BTreeMap;

use crate::error::{Bound, Error, Failure, Place};
use crate::lex::{Kind, Token, Word, lex};
use crate::number::number;
use crate::value::Value;
use crate::{Options, functions};

/// How deep blocks and parentheses may be nested.
const MAX_NESTING: usize = 64;

/// The main template and those it defines.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Set {
    pub main: Vec<Node>,
    pub named: BTreeMap<String, Vec<Node>>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Text(String),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template { at: Place, name: String, pipe: Option<Pipe> },
    Break(Place),
    Continue(Place),
}

/// A condition or a loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Branch {
    pub at: Place,
    pub pipe: Pipe,
    pub body: Vec<Node>,
    pub otherwise: Vec<Node>,
}

/// Commands, each of which gets what the one before gives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pipe {
    pub at: Place,
    /// The variables are set, not declared.
    pub assigns: bool,
    pub variables: Vec<String>,
    pub commands: Vec<Vec<Term>>,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub at: Place,
    pub kind: TermKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TermKind {
    Dot,
    Nil,
    Literal(Value),
    Field(Vec<String>),
    Variable(String, Vec<String>),
    Function(String),
    Pipe(Box<Pipe>),
    Chain(Box<Term>, Vec<String>),
}

type Parsed<T> = Result<T, (Place, Failure)>;

/// Reads a template.
pub(crate) fn parse(name: &str, text: &str, options: &Options) -> Result<Set, Error> {
    let locate = |(place, failure)| Error { name: name.into(), place, failure };
    let tokens = lex(text, &options.left, &options.right).map_err(locate)?;
    let mut parser =
        Parser { tokens, next: 0, options, set: Set::default(), variables: vec!["$".into()], loops: 0, depth: 0 };
    parser.main().map_err(locate)?;
    Ok(parser.set)
}

struct Parser<'a> {
    tokens: Vec<Token>,
    next: usize,
    options: &'a Options,
    set: Set,
    variables: Vec<String>,
    loops: usize,
    depth: usize,
}

/// How a list of parts ends.
enum Stop {
    End,
    Else,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        const END: &Token = &Token { kind: Kind::End, at: Place { line: 0, column: 0 } };
        self.tokens.get(self.next).or(self.tokens.last()).unwrap_or(END)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn peek_solid(&mut self) -> &Token {
        while self.peek().kind == Kind::Space {
            self.next += 1;
        }
        self.peek()
    }

    fn take_solid(&mut self) -> Token {
        self.peek_solid();
        self.take()
    }

    fn wrong<T>(&self, at: Place, text: impl Into<String>) -> Parsed<T> {
        Err((at, Failure::Syntax(text.into())))
    }

    fn unexpected<T>(&self, token: &Token, context: &str) -> Parsed<T> {
        let what = match &token.kind {
            Kind::End => "EOF".to_string(),
            Kind::Text(_) => "text".into(),
            Kind::Identifier(name) | Kind::Number(name) | Kind::Variable(name) => format!("{name:?}"),
            Kind::Field(name) => format!("\".{name}\""),
            Kind::Char(c) => format!("{c:?}"),
            Kind::Word(word) => format!("<{word:?}>").to_lowercase(),
            other => format!("{other:?}").split('(').next().unwrap_or_default().to_string(),
        };
        self.wrong(token.at, format!("unexpected {what} in {context}"))
    }

    fn enter(&mut self, at: Place) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING { Err((at, Failure::Bound(Bound::Depth))) } else { Ok(()) }
    }

    fn main(&mut self) -> Parsed<()> {
        let mut nodes = Vec::new();
        loop {
            match &self.peek().kind {
                Kind::End => break,
                Kind::LeftDelim => {
                    let mark = self.next;
                    self.take();
                    if self.take_solid().kind == Kind::Word(Word::Define) {
                        self.define()?;
                        continue;
                    }
                    self.next = mark;
                }
                _ => {}
            }
            match self.node()? {
                Ok(node) => nodes.push(node),
                Err((Stop::End, at)) => return self.wrong(at, "unexpected {{end}}"),
                Err((Stop::Else, at)) => return self.wrong(at, "unexpected {{else}}"),
            }
        }
        self.set.main = nodes;
        Ok(())
    }

    /// Reads a template with variables and loops of its own.
    fn own_list(&mut self, context: &str) -> Parsed<Vec<Node>> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".into()]);
        let loops = std::mem::take(&mut self.loops);
        let (nodes, stop, at) = self.list()?;
        (self.variables, self.loops) = (variables, loops);
        match stop {
            Stop::End => Ok(nodes),
            Stop::Else => self.wrong(at, format!("unexpected {{{{else}}}} in {context}")),
        }
    }

    fn add(&mut self, at: Place, name: String, nodes: Vec<Node>) -> Parsed<()> {
        let empty = |nodes: &[Node]| nodes.iter().all(|n| matches!(n, Node::Text(t) if t.trim().is_empty()));
        match self.set.named.get(&name) {
            Some(old) if !empty(old) && !empty(&nodes) => {
                return self.wrong(at, format!("multiple definition of template {name:?}"));
            }
            Some(_) if empty(&nodes) => {}
            _ => drop(self.set.named.insert(name, nodes)),
        }
        Ok(())
    }

    fn name(&mut self, context: &str) -> Parsed<(Place, String)> {
        let token = self.take_solid();
        match token.kind {
            Kind::String(name) => Ok((token.at, name)),
            _ => self.unexpected(&token, context),
        }
    }

    fn define(&mut self) -> Parsed<()> {
        let (at, name) = self.name("define clause")?;
        let end = self.take_solid();
        if end.kind != Kind::RightDelim {
            return self.unexpected(&end, "define clause");
        }
        let nodes = self.own_list("define clause")?;
        self.add(at, name, nodes)
    }

    fn list(&mut self) -> Parsed<(Vec<Node>, Stop, Place)> {
        let mut nodes = Vec::new();
        while self.peek().kind != Kind::End {
            match self.node()? {
                Ok(node) => nodes.push(node),
                Err((stop, at)) => return Ok((nodes, stop, at)),
            }
        }
        let at = self.peek().at;
        self.wrong(at, "unexpected EOF")
    }

    /// A part, or the end of the list.
    fn node(&mut self) -> Parsed<Result<Node, (Stop, Place)>> {
        let token = self.take();
        match token.kind {
            Kind::Text(text) => Ok(Ok(Node::Text(text))),
            Kind::LeftDelim => self.action(),
            _ => self.unexpected(&token, "input"),
        }
    }

    fn action(&mut self) -> Parsed<Result<Node, (Stop, Place)>> {
        let token = self.peek_solid().clone();
        let at = token.at;
        let Kind::Word(word) = token.kind else {
            return Ok(Ok(Node::Action(self.pipeline("command", &Kind::RightDelim)?)));
        };
        self.take();
        Ok(Ok(match word {
            Word::If => Node::If(self.branch(at, "if")?),
            Word::With => Node::With(self.branch(at, "with")?),
            Word::Range => Node::Range(self.branch(at, "range")?),
            Word::Template => {
                let (_, name) = self.name("template clause")?;
                let pipe = if self.peek_solid().kind == Kind::RightDelim {
                    self.take();
                    None
                } else {
                    Some(self.pipeline("template clause", &Kind::RightDelim)?)
                };
                Node::Template { at, name, pipe }
            }
            Word::Block => {
                let (named, name) = self.name("block clause")?;
                let pipe = self.pipeline("block clause", &Kind::RightDelim)?;
                self.enter(at)?;
                let nodes = self.own_list("block clause")?;
                self.depth -= 1;
                self.add(named, name.clone(), nodes)?;
                Node::Template { at, name, pipe: Some(pipe) }
            }
            Word::Break | Word::Continue => {
                let (name, node) =
                    if word == Word::Break { ("break", Node::Break(at)) } else { ("continue", Node::Continue(at)) };
                let end = self.take_solid();
                if end.kind != Kind::RightDelim {
                    return self.unexpected(&end, &format!("{{{{{name}}}}}"));
                }
                if self.loops == 0 {
                    return self.wrong(at, format!("{{{{{name}}}}} outside {{{{range}}}}"));
                }
                node
            }
            Word::End => {
                let end = self.take_solid();
                if end.kind != Kind::RightDelim {
                    return self.unexpected(&end, "end");
                }
                return Ok(Err((Stop::End, at)));
            }
            Word::Else => {
                // `else if` and `else with`: the branch that they belong to reads on.
                if !matches!(self.peek_solid().kind, Kind::Word(Word::If | Word::With)) {
                    let end = self.take_solid();
                    if end.kind != Kind::RightDelim {
                        return self.unexpected(&end, "else");
                    }
                }
                return Ok(Err((Stop::Else, at)));
            }
            Word::Define => return self.wrong(at, "unexpected {{define}}"),
        }))
    }

    fn branch(&mut self, at: Place, context: &'static str) -> Parsed<Branch> {
        self.enter(at)?;
        let mark = self.variables.len();
        let pipe = self.pipeline(context, &Kind::RightDelim)?;
        if context == "range" {
            self.loops += 1;
        }
        let (body, stop, _) = self.list()?;
        if context == "range" {
            self.loops -= 1;
        }
        let mut otherwise = Vec::new();
        if matches!(stop, Stop::Else) {
            let again = match (&self.peek().kind, context) {
                (Kind::Word(Word::If), "if") => Some("if"),
                (Kind::Word(Word::With), "with") => Some("with"),
                _ => None,
            };
            if let Some(again) = again {
                let at = self.take().at;
                let inner = self.branch(at, again)?;
                otherwise.push(if again == "if" { Node::If(inner) } else { Node::With(inner) });
            } else {
                let (nodes, stop, at) = self.list()?;
                if matches!(stop, Stop::Else) {
                    return self.wrong(at, "expected end; found {{else}}");
                }
                otherwise = nodes;
            }
        }
        self.variables.truncate(mark);
        self.depth -= 1;
        Ok(Branch { at, pipe, body, otherwise })
    }

    fn pipeline(&mut self, context: &str, end: &Kind) -> Parsed<Pipe> {
        let at = self.peek_solid().at;
        let mut pipe = Pipe { at, assigns: false, variables: Vec::new(), commands: Vec::new() };
        while let Kind::Variable(name) = self.peek_solid().kind.clone() {
            let mark = self.next;
            self.take();
            match self.peek_solid().kind {
                Kind::Assign | Kind::Declare => {
                    pipe.assigns = self.take().kind == Kind::Assign;
                    pipe.variables.push(name.clone());
                    self.variables.push(name);
                    break;
                }
                Kind::Char(',') => {
                    self.take();
                    pipe.variables.push(name.clone());
                    self.variables.push(name);
                    if context == "range" && pipe.variables.len() < 2 {
                        match self.peek_solid().kind {
                            Kind::Variable(_) | Kind::RightDelim | Kind::RightParen => continue,
                            _ => return self.wrong(at, "range can only initialize variables"),
                        }
                    }
                    return self.wrong(at, format!("too many declarations in {context}"));
                }
                _ => {
                    self.next = mark;
                    break;
                }
            }
        }
        loop {
            let token = self.peek_solid().clone();
            match token.kind {
                ref kind if kind == end => {
                    self.take();
                    break;
                }
                Kind::Bool(_)
                | Kind::Rune(_)
                | Kind::Dot
                | Kind::Field(_)
                | Kind::Identifier(_)
                | Kind::Number(_)
                | Kind::Nil
                | Kind::String(_)
                | Kind::Variable(_)
                | Kind::LeftParen => {
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return self.unexpected(&token, context),
            }
        }
        if pipe.commands.is_empty() {
            return self.wrong(at, format!("missing value for {context}"));
        }
        for (stage, command) in pipe.commands.iter().enumerate().skip(1) {
            if command.first().is_some_and(|t| matches!(t.kind, TermKind::Literal(_) | TermKind::Dot | TermKind::Nil)) {
                return self.wrong(at, format!("non executable command in pipeline stage {}", stage + 1));
            }
        }
        Ok(pipe)
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
        while let Kind::Field(name) = &self.peek().kind {
            fields.push(name.clone());
            self.next += 1;
        }
        if fields.is_empty() {
            return Ok(Some(term));
        }
        match &mut term.kind {
            TermKind::Field(names) | TermKind::Variable(_, names) => names.extend(fields),
            TermKind::Literal(_) | TermKind::Nil | TermKind::Dot => {
                return self.wrong(term.at, "unexpected . after a constant term");
            }
            _ => {
                let at = term.at;
                term = Term { at, kind: TermKind::Chain(Box::new(term), fields) };
            }
        }
        Ok(Some(term))
    }

    fn term(&mut self) -> Parsed<Option<Term>> {
        let token = self.peek_solid().clone();
        let kind = match token.kind {
            Kind::Identifier(name) => {
                functions::check(&name, self.options).map_err(|failure| (token.at, failure))?;
                TermKind::Function(name)
            }
            Kind::Dot => TermKind::Dot,
            Kind::Nil => TermKind::Nil,
            Kind::Variable(name) => {
                if !self.variables.contains(&name) {
                    return self.wrong(token.at, format!("undefined variable {name:?}"));
                }
                TermKind::Variable(name, Vec::new())
            }
            Kind::Field(name) => TermKind::Field(vec![name]),
            Kind::Bool(b) => TermKind::Literal(Value::Bool(b)),
            Kind::Rune(c) => TermKind::Literal(Value::Int(i64::from(u32::from(c)))),
            Kind::Number(text) => match number(&text) {
                Ok(value) => TermKind::Literal(value),
                Err(why) => return self.wrong(token.at, format!("{why}: {text:?}")),
            },
            Kind::String(text) => TermKind::Literal(Value::text(text)),
            Kind::LeftParen => {
                self.take();
                self.enter(token.at)?;
                let pipe = self.pipeline("parenthesized pipeline", &Kind::RightParen)?;
                self.depth -= 1;
                return Ok(Some(Term { at: token.at, kind: TermKind::Pipe(Box::new(pipe)) }));
            }
            _ => return Ok(None),
        };
        self.take();
        Ok(Some(Term { at: token.at, kind }))
    }
}

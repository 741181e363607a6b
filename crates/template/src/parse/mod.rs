//! Tokens to trees: this file reads texts and blocks, `pipeline` what stands in actions.

mod pipeline;

use crate::Options;
use crate::error::{Bound, Error, Failure, Place};
use crate::lex::{Kind, MAX_NESTING, Token, Word, lex};
use crate::tree::{Branch, Node, Set, Span};

type Parsed<T> = Result<T, (Place, Failure)>;

/// Reads a template.
pub(crate) fn parse(name: &str, text: &str, options: &Options) -> Result<Set, Error> {
    let locate = |(place, failure)| Error { name: name.into(), place, executed: None, failure };
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
        const END: &Token = &Token { kind: Kind::End, at: Place { line: 0, column: 0 }, start: 0, end: 0 };
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

    fn name(&mut self, context: &str) -> Parsed<(Span, String)> {
        let token = self.take_solid();
        let span = token.span();
        match token.kind {
            Kind::String(name) => Ok((span, name)),
            _ => self.unexpected(&token, context),
        }
    }

    fn define(&mut self) -> Parsed<()> {
        let (span, name) = self.name("define clause")?;
        self.right_delim("define clause")?;
        let nodes = self.own_list("define clause")?;
        self.add(span.at, name, nodes)
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
        let (at, span) = (token.at, token.span());
        let Kind::Word(word) = token.kind else {
            return Ok(Ok(Node::Action(self.pipeline("command", &Kind::RightDelim)?)));
        };
        self.take();
        Ok(Ok(match word {
            Word::If => Node::If(self.branch(span, "if")?),
            Word::With => Node::With(self.branch(span, "with")?),
            Word::Range => Node::Range(self.branch(span, "range")?),
            Word::Template => self.template(span)?,
            Word::Block => self.block(span)?,
            Word::Break => {
                self.loop_control(at, "break")?;
                Node::Break(at)
            }
            Word::Continue => {
                self.loop_control(at, "continue")?;
                Node::Continue(at)
            }
            Word::End => {
                self.right_delim("end")?;
                return Ok(Err((Stop::End, at)));
            }
            Word::Else => {
                // `else if` and `else with`: the branch that they belong to reads on.
                if !matches!(self.peek_solid().kind, Kind::Word(Word::If | Word::With)) {
                    self.right_delim("else")?;
                }
                return Ok(Err((Stop::Else, at)));
            }
            Word::Define => return self.wrong(at, "unexpected {{define}}"),
        }))
    }

    /// Reads the end of an action that has nothing more.
    fn right_delim(&mut self, context: &str) -> Parsed<()> {
        let end = self.take_solid();
        if end.kind == Kind::RightDelim { Ok(()) } else { self.unexpected(&end, context) }
    }

    /// `{{template "name" pipeline}}`, from the name on.
    fn template(&mut self, keyword: Span) -> Parsed<Node> {
        let (of_name, name) = self.name("template clause")?;
        let pipe = if self.peek_solid().kind == Kind::RightDelim {
            self.take();
            None
        } else {
            Some(self.pipeline("template clause", &Kind::RightDelim)?)
        };
        Ok(Node::Template { span: keyword.to(of_name), name, pipe })
    }

    /// `{{block "name" pipeline}}`, from the name on: a definition that is executed where it stands.
    fn block(&mut self, keyword: Span) -> Parsed<Node> {
        let (of_name, name) = self.name("block clause")?;
        let pipe = self.pipeline("block clause", &Kind::RightDelim)?;
        self.enter(keyword.at)?;
        let nodes = self.own_list("block clause")?;
        self.depth -= 1;
        self.add(of_name.at, name.clone(), nodes)?;
        Ok(Node::Template { span: keyword.to(of_name), name, pipe: Some(pipe) })
    }

    /// `{{break}}` or `{{continue}}`, from the end on.
    fn loop_control(&mut self, at: Place, name: &str) -> Parsed<()> {
        self.right_delim(&format!("{{{{{name}}}}}"))?;
        if self.loops == 0 {
            return self.wrong(at, format!("{{{{{name}}}}} outside {{{{range}}}}"));
        }
        Ok(())
    }

    fn branch(&mut self, keyword: Span, context: &'static str) -> Parsed<Branch> {
        self.enter(keyword.at)?;
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
                let keyword = self.take().span();
                let inner = self.branch(keyword, again)?;
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
        Ok(Branch { span: keyword.to(pipe.span), pipe, body, otherwise })
    }
}

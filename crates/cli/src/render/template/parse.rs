//! Template texts to nodes.

use serde_json::Value;

use super::error::{EvaluationError, Position, SyntaxError, TemplateError};
use super::functions::is_function;

/// Blocks and parentheses nest no deeper.
const MAX_DEPTH: usize = 100;

pub(super) enum Node {
    Text(String),
    Output(Pipeline),
    If(Branch),
    With(Branch),
    Range(Branch),
    Break,
    Continue,
}

pub(super) struct Branch {
    pub pipeline: Pipeline,
    pub then: Vec<Node>,
    pub otherwise: Vec<Node>,
}

pub(super) struct Pipeline {
    /// Variables it sets.
    pub variables: Vec<String>,
    /// Whether they exist already.
    pub assigns: bool,
    pub commands: Vec<Vec<Operand>>,
    at: Position,
}

pub(super) struct Operand {
    pub kind: OperandKind,
    at: Position,
    /// The text that errors quote: the operand, or the full command that it begins.
    source: String,
}

pub(super) enum OperandKind {
    /// Dot and the fields behind it.
    Dot(Vec<String>),
    Variable(String, Vec<String>),
    Literal(Value),
    Pipeline(Pipeline, Vec<String>),
    Function(String),
}

impl Pipeline {
    pub(super) fn failure(&self, source: EvaluationError) -> TemplateError {
        TemplateError::Pipeline { at: self.at, source }
    }
}

impl Operand {
    pub(super) fn failure(&self, source: EvaluationError) -> TemplateError {
        TemplateError::Operand { at: self.at, operand: self.source.clone(), source }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// `.a.b`, or `.` without names.
    Field(Vec<String>),
    /// `$x.a.b`.
    Variable(String, Vec<String>),
    Word(String),
    Literal(Value),
    Open,
    /// A closing parenthesis and the fields behind it.
    Close(Vec<String>),
    Pipe,
    Comma,
    Declare,
    Assign,
}

struct Lexed {
    token: Token,
    start: usize,
    end: usize,
}

enum Part {
    Text(String),
    Action(Vec<Lexed>, usize),
}

struct Parser<'a> {
    source: &'a str,
    parts: std::vec::IntoIter<Part>,
    variables: Vec<String>,
}

/// The end of a list of nodes.
enum End {
    Eof,
    /// `end`.
    Close,
    /// `else`, with the tokens behind it and where they begin.
    Else(Vec<Lexed>, usize),
}

pub(super) fn parse(source: &str) -> Result<Vec<Node>, TemplateError> {
    let parts = split(source)?;
    let mut parser = Parser { source, parts: parts.into_iter(), variables: vec!["$".into()] };
    let (nodes, end) = parser.nodes(0, false)?;
    match end {
        End::Eof => Ok(nodes),
        End::Close => Err(parser.failure(source.len(), SyntaxError::UnexpectedEnd)),
        End::Else(_, at) => Err(parser.failure(at, SyntaxError::UnexpectedElse)),
    }
}

/// The error of the text at an offset of a template.
fn failure(template: &str, at: usize, source: SyntaxError) -> TemplateError {
    TemplateError::Syntax { line: position(template, at).line, source }
}

fn position(source: &str, at: usize) -> Position {
    let before = source.get(..at).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |i| i.saturating_add(1));
    Position { line: before.matches('\n').count().saturating_add(1), column: before.len().saturating_sub(line_start) }
}

/// Cuts the source into texts and actions, applying trim markers and dropping comments.
fn split(source: &str) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let mut at = 0;
    let mut trim_next = false;
    while let Some(rest) = source.get(at..) {
        let (text, action) = match rest.find("{{") {
            Some(i) => (rest.get(..i).unwrap_or_default(), Some(at.saturating_add(i).saturating_add(2))),
            None => (rest, None),
        };
        let text = if trim_next { text.trim_start() } else { text };
        let Some(mut begin) = action else {
            parts.push(Part::Text(text.into()));
            break;
        };
        let inner = source.get(begin..).unwrap_or_default();
        let trims = inner.strip_prefix('-').is_some_and(|s| s.starts_with(char::is_whitespace));
        begin = begin.saturating_add(usize::from(trims));
        parts.push(Part::Text(if trims { text.trim_end() } else { text }.into()));
        let (tokens, end, trims_after) = action_tokens(source, begin)?;
        if let Some(tokens) = tokens {
            parts.push(Part::Action(tokens, begin));
        }
        (at, trim_next) = (end, trims_after);
    }
    Ok(parts)
}

/// The tokens of the action that begins at an offset (`None` for a comment), the offset behind it and whether the
/// following text loses its leading white space.
fn action_tokens(source: &str, begin: usize) -> Result<(Option<Vec<Lexed>>, usize, bool), TemplateError> {
    let unclosed = || failure(source, begin, SyntaxError::UnclosedAction);
    let rest = source.get(begin..).unwrap_or_default();
    if let Some(comment) = rest.trim_start().strip_prefix("/*") {
        let unclosed = || failure(source, begin, SyntaxError::UnclosedComment);
        let (_, after) = comment.split_once("*/").ok_or_else(unclosed)?;
        let at = source.len().saturating_sub(after.len());
        return match (after.strip_prefix("}}"), after.trim_start().strip_prefix("-}}")) {
            (Some(_), _) => Ok((None, at.saturating_add(2), false)),
            (_, Some(behind)) => Ok((None, source.len().saturating_sub(behind.len()), true)),
            _ => Err(failure(source, begin, SyntaxError::CommentEnd)),
        };
    }
    let mut tokens = Vec::new();
    let mut at = begin;
    loop {
        let rest = source.get(at..).unwrap_or_default();
        let Some(c) = rest.chars().next() else { return Err(unclosed()) };
        if rest.starts_with("}}") {
            return Ok((Some(tokens), at.saturating_add(2), false));
        }
        if c.is_whitespace() {
            let trimmed = rest.trim_start();
            if trimmed.starts_with("-}}") {
                return Ok((Some(tokens), source.len().saturating_sub(trimmed.len()).saturating_add(3), true));
            }
            at = source.len().saturating_sub(trimmed.len());
            continue;
        }
        let (token, len) = token(rest).map_err(|e| failure(source, at, e))?;
        let end = at.saturating_add(len);
        tokens.push(Lexed { token, start: at, end });
        at = end;
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn name_len(s: &str) -> usize {
    s.find(|c| !is_name(c)).unwrap_or(s.len())
}

/// The fields `.a.b` at the start of a text and their length.
fn fields(s: &str) -> (Vec<String>, usize) {
    let (mut names, mut len) = (Vec::new(), 0_usize);
    while let Some(rest) = s.get(len..).and_then(|r| r.strip_prefix('.')) {
        let n = name_len(rest);
        let Some(name) = rest.get(..n).filter(|name| !name.is_empty()) else { break };
        names.push(name.to_string());
        len = len.saturating_add(n).saturating_add(1);
    }
    (names, len)
}

/// The first token of a text that does not begin with white space, and its length.
fn token(s: &str) -> Result<(Token, usize), SyntaxError> {
    let simple =
        [("|", Token::Pipe), (",", Token::Comma), (":=", Token::Declare), ("=", Token::Assign), ("(", Token::Open)];
    if let Some((text, token)) = simple.into_iter().find(|(text, _)| s.starts_with(text)) {
        return Ok((token, text.len()));
    }
    if let Some(rest) = s.strip_prefix(')') {
        let (names, len) = fields(rest);
        return Ok((Token::Close(names), len.saturating_add(1)));
    }
    if let Some(rest) = s.strip_prefix('$') {
        let n = name_len(rest);
        let (names, len) = fields(rest.get(n..).unwrap_or_default());
        let name = format!("${}", rest.get(..n).unwrap_or_default());
        return Ok((Token::Variable(name, names), len.saturating_add(n).saturating_add(1)));
    }
    if s.starts_with('.') && !s.get(1..2).is_some_and(|c| c.starts_with(|c: char| c.is_ascii_digit())) {
        let (names, len) = fields(s);
        return Ok((Token::Field(names), len.max(1)));
    }
    if let Some(rest) = s.strip_prefix('`') {
        let (text, _) = rest.split_once('`').ok_or(SyntaxError::UnclosedRawString)?;
        return Ok((Token::Literal(text.into()), text.len().saturating_add(2)));
    }
    if s.starts_with('"') {
        return quoted(s, '"').map(|(text, len)| (Token::Literal(text.into()), len));
    }
    if s.starts_with('\'') {
        let (text, len) = quoted(s, '\'')?;
        let mut chars = text.chars();
        return match (chars.next(), chars.next()) {
            (Some(c), None) => Ok((Token::Literal((c as u32).into()), len)),
            _ => Err(SyntaxError::Character),
        };
    }
    if s.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return number(s);
    }
    let n = name_len(s);
    match s.get(..n) {
        Some("true") => Ok((Token::Literal(true.into()), n)),
        Some("false") => Ok((Token::Literal(false.into()), n)),
        Some("nil") => Ok((Token::Literal(Value::Null), n)),
        Some(word) if !word.is_empty() => Ok((Token::Word(word.into()), n)),
        _ => Err(SyntaxError::Token(s.chars().next().unwrap_or_default())),
    }
}

fn number(s: &str) -> Result<(Token, usize), SyntaxError> {
    let sign = usize::from(s.starts_with(['+', '-']));
    let digits = s.get(sign..).unwrap_or_default();
    let len = digits
        .char_indices()
        .find(|(i, c)| {
            let exponent_sign = matches!(c, '+' | '-') && digits.get(..*i).is_some_and(|d| d.ends_with(['e', 'E']));
            !(is_name(*c) || *c == '.' || exponent_sign)
        })
        .map_or(digits.len(), |(i, _)| i)
        .saturating_add(sign);
    let text = s.get(..len).unwrap_or_default();
    let value = match crate::flags::parse_int(text) {
        Ok(n) => Some(Value::from(n)),
        Err(_) => text.parse::<f64>().ok().filter(|f| f.is_finite()).map(Value::from),
    };
    value.map(|v| (Token::Literal(v), len)).ok_or_else(|| SyntaxError::Number(text.into()))
}

/// The text of a quoted literal and its length with the quotes.
fn quoted(s: &str, quote: char) -> Result<(String, usize), SyntaxError> {
    let unterminated = || if quote == '"' { SyntaxError::UnclosedString } else { SyntaxError::UnclosedCharacter };
    let mut out = String::new();
    let mut chars = s.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            c if c == quote => return Ok((out, i.saturating_add(1))),
            '\n' => break,
            '\\' => {
                let (_, escape) = chars.next().ok_or_else(unterminated)?;
                let mut code = |digits: usize| {
                    let text: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
                    u32::from_str_radix(&text, 16).ok().and_then(char::from_u32).ok_or(SyntaxError::Escape)
                };
                out.push(match escape {
                    'a' => '\x07',
                    'b' => '\x08',
                    'f' => '\x0c',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\x0b',
                    'x' => code(2)?,
                    'u' => code(4)?,
                    'U' => code(8)?,
                    '\\' | '\'' | '"' => escape,
                    _ => return Err(SyntaxError::Escape),
                });
            }
            c => out.push(c),
        }
    }
    Err(unterminated())
}

impl Parser<'_> {
    fn failure(&self, at: usize, source: SyntaxError) -> TemplateError {
        failure(self.source, at, source)
    }

    fn nodes(&mut self, depth: usize, in_range: bool) -> Result<(Vec<Node>, End), TemplateError> {
        if depth > MAX_DEPTH {
            return Err(TemplateError::DeepBlocks);
        }
        let mut nodes = Vec::new();
        let scope = self.variables.len();
        while let Some(part) = self.parts.next() {
            let (mut tokens, at) = match part {
                Part::Text(text) => {
                    nodes.push(Node::Text(text));
                    continue;
                }
                Part::Action(tokens, at) => (tokens, at),
            };
            let keyword = match tokens.first().map(|t| &t.token) {
                Some(Token::Word(word)) => word.clone(),
                _ => String::new(),
            };
            if matches!(keyword.as_str(), "end" | "else") {
                self.variables.truncate(scope);
                tokens.remove(0);
                return Ok((nodes, if keyword == "end" { End::Close } else { End::Else(tokens, at) }));
            }
            nodes.push(match keyword.as_str() {
                "if" | "with" | "range" => {
                    tokens.remove(0);
                    self.block(&keyword, tokens, at, depth, in_range)?
                }
                "break" | "continue" if !in_range => {
                    return Err(self.failure(at, SyntaxError::OutsideRange(keyword)));
                }
                "break" => Node::Break,
                "continue" => Node::Continue,
                "define" | "template" | "block" => {
                    return Err(self.failure(at, SyntaxError::Unsupported(keyword)));
                }
                _ => Node::Output(self.whole_pipeline(tokens, at, depth)?),
            });
        }
        self.variables.truncate(scope);
        Ok((nodes, End::Eof))
    }

    fn block(
        &mut self,
        keyword: &str,
        tokens: Vec<Lexed>,
        at: usize,
        depth: usize,
        in_range: bool,
    ) -> Result<Node, TemplateError> {
        let scope = self.variables.len();
        let pipeline = self.whole_pipeline(tokens, at, depth)?;
        let deeper = depth.saturating_add(1);
        let (then, end) = self.nodes(deeper, in_range || keyword == "range")?;
        let otherwise = match end {
            End::Eof => return Err(self.failure(self.source.len(), SyntaxError::UnclosedBlock)),
            End::Close => Vec::new(),
            End::Else(mut tokens, at) => match tokens.first().map(|t| t.token.clone()) {
                None => match self.nodes(deeper, in_range)? {
                    (nodes, End::Close) => nodes,
                    (_, End::Eof) => return Err(self.failure(self.source.len(), SyntaxError::UnclosedBlock)),
                    (_, End::Else(_, at)) => return Err(self.failure(at, SyntaxError::SecondElse)),
                },
                Some(Token::Word(word)) if word == keyword && keyword != "range" => {
                    if deeper > MAX_DEPTH {
                        return Err(TemplateError::DeepBlocks);
                    }
                    tokens.remove(0);
                    vec![self.block(keyword, tokens, at, deeper, in_range)?]
                }
                Some(_) => return Err(self.failure(at, SyntaxError::ElseToken)),
            },
        };
        self.variables.truncate(scope);
        let branch = Branch { pipeline, then, otherwise };
        Ok(match keyword {
            "if" => Node::If(branch),
            "with" => Node::With(branch),
            _ => Node::Range(branch),
        })
    }

    fn whole_pipeline(&mut self, tokens: Vec<Lexed>, at: usize, depth: usize) -> Result<Pipeline, TemplateError> {
        let mut rest = tokens.as_slice();
        let pipeline = self.pipeline(&mut rest, at, depth)?;
        match rest.first() {
            None => Ok(pipeline),
            Some(t) => Err(self.failure(t.start, SyntaxError::Operand)),
        }
    }

    /// A pipeline up to a closing parenthesis or the end.
    fn pipeline(&mut self, tokens: &mut &[Lexed], at: usize, depth: usize) -> Result<Pipeline, TemplateError> {
        if depth > MAX_DEPTH {
            return Err(TemplateError::DeepPipelines);
        }
        let (variables, assigns) = self.declaration(tokens);
        let mut commands = Vec::new();
        let mut command: Vec<Operand> = Vec::new();
        while let Some((t, rest)) = tokens.split_first() {
            if matches!(t.token, Token::Close(_)) {
                break;
            }
            *tokens = rest;
            if t.token == Token::Pipe {
                self.finish(&mut command, &mut commands, t.start)?;
                continue;
            }
            let operand = self.operand(t, tokens, depth)?;
            command.push(operand);
        }
        self.finish(&mut command, &mut commands, at)?;
        if !assigns {
            self.variables.extend(variables.iter().cloned());
        }
        Ok(Pipeline { variables, assigns, commands, at: position(self.source, at) })
    }

    /// `$x :=`, `$x, $y :=` or `$x =` at the start of the tokens.
    fn declaration(&self, tokens: &mut &[Lexed]) -> (Vec<String>, bool) {
        let kinds: Vec<&Token> = tokens.iter().take(4).map(|t| &t.token).collect();
        let (names, operator) = match kinds.as_slice() {
            [Token::Variable(x, xs), op @ (Token::Declare | Token::Assign), ..] if xs.is_empty() => (vec![x], *op),
            [Token::Variable(x, xs), Token::Comma, Token::Variable(y, ys), op @ (Token::Declare | Token::Assign)]
                if xs.is_empty() && ys.is_empty() =>
            {
                (vec![x, y], *op)
            }
            _ => return (Vec::new(), false),
        };
        let skip = names.len().saturating_mul(2);
        let result = (names.into_iter().cloned().collect(), *operator == Token::Assign);
        *tokens = tokens.get(skip..).unwrap_or_default();
        result
    }

    fn finish(
        &self,
        command: &mut Vec<Operand>,
        commands: &mut Vec<Vec<Operand>>,
        at: usize,
    ) -> Result<(), TemplateError> {
        let mut done = std::mem::take(command);
        let text = done.iter().map(|o| o.source.as_str()).collect::<Vec<_>>().join(" ");
        let Some(first) = done.first_mut() else { return Err(self.failure(at, SyntaxError::NoValue)) };
        // Errors of functions quote the whole command.
        if matches!(first.kind, OperandKind::Function(_)) {
            first.source = text;
        }
        commands.push(done);
        Ok(())
    }

    fn operand(&mut self, t: &Lexed, tokens: &mut &[Lexed], depth: usize) -> Result<Operand, TemplateError> {
        let at = t.start;
        let mut end = t.end;
        let kind = match &t.token {
            Token::Field(path) => OperandKind::Dot(path.clone()),
            Token::Literal(value) => OperandKind::Literal(value.clone()),
            Token::Variable(name, path) => {
                if !self.variables.contains(name) {
                    return Err(self.failure(at, SyntaxError::UndefinedVariable(name.clone())));
                }
                OperandKind::Variable(name.clone(), path.clone())
            }
            Token::Word(name) if is_function(name) => OperandKind::Function(name.clone()),
            Token::Word(name) => return Err(self.failure(at, SyntaxError::UndefinedFunction(name.clone()))),
            Token::Open => {
                let inner = self.pipeline(tokens, at, depth.saturating_add(1))?;
                let Some((Lexed { token: Token::Close(path), end: close, .. }, rest)) = tokens.split_first() else {
                    return Err(self.failure(at, SyntaxError::UnclosedParenthesis));
                };
                *tokens = rest;
                end = *close;
                OperandKind::Pipeline(inner, path.clone())
            }
            _ => return Err(self.failure(at, SyntaxError::Operand)),
        };
        let source = self.source.get(at..end).unwrap_or_default().to_string();
        Ok(Operand { kind, at: position(self.source, at), source })
    }
}

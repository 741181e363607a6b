//! The grammar of filter expressions: a recursive descent that tries alternatives in order, and remembers what was
//! expected at the furthest position that it reached.

use std::collections::BTreeSet;

use regex::Regex;

use encamp_model::{quoted, regexp};

/// Deepest nesting of parentheses, negations and quantifiers.
const MAX_DEPTH: usize = 200;

/// Why a text is no expression: line, column and offset, and what was wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column} ({offset}): {text}")]
pub struct ParseError {
    line: usize,
    column: usize,
    offset: usize,
    text: String,
}

/// A parsed expression.
#[derive(Debug)]
pub(crate) enum Expr {
    Or(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    /// `any` or `all`.
    Quantifier {
        all: bool,
        selector: Selector,
        names: Names,
        inner: Box<Expr>,
    },
    Match {
        selector: Selector,
        op: Op,
    },
}

impl Expr {
    /// The first parts of all paths: fields of the object, and names of quantifiers.
    pub(crate) fn fields(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        self.collect(&mut found);
        found.into_iter().collect()
    }

    fn collect(&self, found: &mut BTreeSet<String>) {
        match self {
            Expr::Or(a, b) | Expr::And(a, b) => {
                a.collect(found);
                b.collect(found);
            }
            Expr::Not(e) => e.collect(found),
            Expr::Quantifier { selector, inner, .. } => {
                found.extend(selector.path.first().cloned());
                inner.collect(found);
            }
            Expr::Match { selector, .. } => found.extend(selector.path.first().cloned()),
        }
    }
}

/// The names a quantifier gives to what it walks over.
#[derive(Debug)]
pub(crate) enum Names {
    One(String),
    Two(Option<String>, Option<String>),
}

/// The condition on a value.
#[derive(Debug)]
pub(crate) enum Op {
    Equal(String),
    NotEqual(String),
    In(String),
    NotIn(String),
    Matches(Pattern),
    NotMatches(Pattern),
    Empty,
    NotEmpty,
    Nil,
    NotNil,
}

/// Why a regular expression does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to compile regular expression {}: {reason}", quoted(text))]
pub struct PatternError {
    /// The expression.
    text: String,
    /// What is wrong with it.
    reason: String,
}

/// A regular expression; one that does not compile is an error when it is first used.
#[derive(Debug)]
pub(crate) struct Pattern(pub Result<Regex, PatternError>);

impl Pattern {
    fn new(text: &str) -> Pattern {
        let wrong = |reason: String| PatternError { text: text.into(), reason };
        Pattern(regexp::compile(text).map_err(|e| wrong(e.to_string())))
    }
}

/// A path to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    /// Fields, keys and positions.
    pub path: Vec<String>,
    /// Written as a JSON pointer: its first part is never the name of a quantifier.
    pub pointer: bool,
    /// As it was written; without quotes where it is a pointer.
    pub text: String,
}

/// Reads a whole text.
pub(crate) fn parse(text: &str) -> Result<Expr, ParseError> {
    let mut p = Parser { text, pos: 0, furthest: 0, expected: BTreeSet::new(), broken: None, depth: 0 };
    p.spaces();
    if let Some(expr) = p.or_expr() {
        p.spaces();
        if p.end() {
            return Ok(expr);
        }
    }
    Err(p.error())
}

struct Parser<'t> {
    text: &'t str,
    pos: usize,
    furthest: usize,
    expected: BTreeSet<String>,
    /// An error no other alternative mends: place and text.
    broken: Option<(usize, String)>,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn error(self) -> ParseError {
        let (offset, text) = self.broken.unwrap_or_else(|| {
            let mut expected: Vec<String> = self.expected.into_iter().collect();
            if let Some(at) = expected.iter().position(|e| e == "EOF") {
                let eof = expected.remove(at);
                expected.push(eof);
            }
            let last = expected.pop().unwrap_or_default();
            let list = if expected.is_empty() { last } else { format!("{} or {last}", expected.join(", ")) };
            (self.furthest, format!("no match found, expected: {list}"))
        });
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ParseError { line, column, offset, text }
    }

    // ---- primitives

    fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or_default()
    }

    fn failed(&mut self, wanted: impl Into<String>) {
        if self.pos > self.furthest {
            self.furthest = self.pos;
            self.expected.clear();
        }
        if self.pos == self.furthest {
            self.expected.insert(wanted.into());
        }
    }

    fn break_off<T>(&mut self, rule: &str, text: &str) -> Option<T> {
        if self.broken.is_none() {
            self.broken = Some((self.pos, format!("rule {}: {text}", quoted(rule))));
        }
        None
    }

    fn literal(&mut self, word: &str) -> Option<()> {
        if self.broken.is_none() && self.rest().starts_with(word) {
            self.pos += word.len();
            return Some(());
        }
        self.failed(quoted(word));
        None
    }

    fn class(&mut self, name: &str, is: impl Fn(char) -> bool) -> Option<char> {
        match self.rest().chars().next().filter(|c| self.broken.is_none() && is(*c)) {
            Some(c) => {
                self.pos += c.len_utf8();
                Some(c)
            }
            None => {
                self.failed(name);
                None
            }
        }
    }

    fn end(&mut self) -> bool {
        if self.broken.is_none() && self.rest().is_empty() {
            return true;
        }
        self.failed("EOF");
        false
    }

    /// Any number of spaces; tells whether there was one.
    fn spaces(&mut self) -> bool {
        let start = self.pos;
        while self.class("[ \\t\\r\\n]", |c| matches!(c, ' ' | '\t' | '\r' | '\n')).is_some() {}
        self.pos > start
    }

    /// At least one space.
    fn space(&mut self) -> Option<()> {
        self.spaces().then_some(())
    }

    /// Runs a part; goes back to where it began if it fails.
    fn attempt<T>(&mut self, part: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.pos;
        let got = part(self);
        if got.is_none() {
            self.pos = start;
        }
        got
    }

    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return self.break_off("expression", "nested too deeply");
        }
        self.depth += 1;
        let got = part(self);
        self.depth -= 1;
        got
    }

    // ---- expressions

    fn or_expr(&mut self) -> Option<Expr> {
        self.deeper(|p| {
            let Some(left) = p.and_expr() else { return p.quantifier() };
            let right = p.attempt(|p| {
                p.space()?;
                p.literal("or")?;
                p.space()?;
                p.or_expr()
            });
            Some(match right {
                Some(right) => Expr::Or(Box::new(left), Box::new(right)),
                None => left,
            })
        })
    }

    fn and_expr(&mut self) -> Option<Expr> {
        self.deeper(|p| {
            let left = p.not_expr()?;
            let right = p.attempt(|p| {
                p.space()?;
                p.literal("and")?;
                p.space()?;
                p.and_expr()
            });
            Some(match right {
                Some(right) => Expr::And(Box::new(left), Box::new(right)),
                None => left,
            })
        })
    }

    fn not_expr(&mut self) -> Option<Expr> {
        let negated = self.attempt(|p| {
            p.literal("not")?;
            p.space()?;
            p.deeper(Self::not_expr)
        });
        match negated {
            Some(inner) => Some(Expr::Not(Box::new(inner))),
            None => self.group(),
        }
    }

    fn group(&mut self) -> Option<Expr> {
        let grouped = self.attempt(|p| {
            p.literal("(")?;
            p.spaces();
            let inner = p.or_expr()?;
            p.spaces();
            match p.literal(")") {
                Some(()) => Some(inner),
                None => p.break_off("grouping", "Unmatched parentheses"),
            }
        });
        grouped.or_else(|| self.matching())
    }

    fn quantifier(&mut self) -> Option<Expr> {
        self.attempt(|p| {
            let all = match p.literal("any") {
                Some(()) => false,
                None => {
                    p.literal("all")?;
                    true
                }
            };
            p.space()?;
            let selector = p.selector()?;
            p.space()?;
            p.literal("as")?;
            p.space()?;
            let names = p.names()?;
            p.spaces();
            p.literal("{")?;
            p.spaces();
            let inner = Box::new(p.or_expr()?);
            p.spaces();
            p.literal("}")?;
            Some(Expr::Quantifier { all, selector, names, inner })
        })
    }

    fn names(&mut self) -> Option<Names> {
        let first = self.name()?;
        let second = self.attempt(|p| {
            p.spaces();
            p.literal(",")?;
            p.spaces();
            p.name()
        });
        match (first, second) {
            (Some(one), None) => Some(Names::One(one)),
            // One of the two must be a name.
            (None, None | Some(None)) => None,
            (first, Some(second)) => Some(Names::Two(first, second)),
        }
    }

    /// A name, or `_` for none.
    fn name(&mut self) -> Option<Option<String>> {
        if self.literal("_").is_some() {
            return Some(None);
        }
        self.identifier().map(Some)
    }

    fn matching(&mut self) -> Option<Expr> {
        let start = self.pos;
        if let Some(selector) = self.attempt(Self::selector) {
            let op = self.attempt(Self::equality).or_else(|| self.attempt(Self::operator));
            if let Some(op) = op {
                return Some(Expr::Match { selector, op });
            }
        }
        self.pos = start;
        self.attempt(|p| {
            let value = p.value()?;
            p.space()?;
            let negated = p.negation();
            p.literal("in")?;
            p.space()?;
            let selector = p.selector()?;
            Some(Expr::Match { selector, op: if negated { Op::NotIn(value) } else { Op::In(value) } })
        })
    }

    fn negation(&mut self) -> bool {
        self.attempt(|p| p.literal("not").and_then(|()| p.space())).is_some()
    }

    fn equality(&mut self) -> Option<Op> {
        self.spaces();
        let equal = self.literal("==").is_some();
        if !equal {
            self.literal("!=")?;
        }
        self.spaces();
        let value = self.value()?;
        Some(if equal { Op::Equal(value) } else { Op::NotEqual(value) })
    }

    fn operator(&mut self) -> Option<Op> {
        self.space()?;
        if self.literal("is").is_some() {
            self.space()?;
            let negated = self.negation();
            let nil = self.literal("empty").is_none();
            if nil {
                self.literal("nil")?;
            }
            return Some(match (nil, negated) {
                (false, false) => Op::Empty,
                (false, true) => Op::NotEmpty,
                (true, false) => Op::Nil,
                (true, true) => Op::NotNil,
            });
        }
        let negated = self.negation();
        let contains = self.literal("contains").is_some();
        if !contains {
            self.literal("matches")?;
        }
        self.space()?;
        let value = self.value()?;
        Some(match (contains, negated) {
            (true, false) => Op::In(value),
            (true, true) => Op::NotIn(value),
            (false, false) => Op::Matches(Pattern::new(&value)),
            (false, true) => Op::NotMatches(Pattern::new(&value)),
        })
    }

    // ---- selectors and values

    fn identifier(&mut self) -> Option<String> {
        let start = self.pos;
        self.class("[a-zA-Z]", |c| c.is_ascii_alphabetic())?;
        while self.class("[a-zA-Z0-9_/]", |c| c.is_ascii_alphanumeric() || c == '_' || c == '/').is_some() {}
        self.text.get(start..self.pos).map(String::from)
    }

    fn selector(&mut self) -> Option<Selector> {
        if let Some(pointer) = self.attempt(Self::pointer) {
            return Some(pointer);
        }
        let start = self.pos;
        let mut path = vec![self.identifier()?];
        while let Some(part) = self.attempt(Self::part) {
            path.push(part);
        }
        let text = self.text.get(start..self.pos).unwrap_or_default().to_string();
        self.broken.is_none().then_some(Selector { path, pointer: false, text })
    }

    fn part(&mut self) -> Option<String> {
        if self.literal(".").is_some() {
            let start = self.pos;
            if let Some(id) = self.attempt(Self::identifier) {
                return Some(id);
            }
            self.class("[0-9]", |c| c.is_ascii_digit())?;
            while self.class("[0-9]", |c| c.is_ascii_digit()).is_some() {}
            return self.text.get(start..self.pos).map(String::from);
        }
        self.literal("[")?;
        self.spaces();
        let Some(key) = self.string() else { return self.break_off("index", "Invalid index") };
        self.spaces();
        match self.literal("]") {
            Some(()) => Some(key),
            None => self.break_off("index", "Unclosed index expression"),
        }
    }

    fn pointer(&mut self) -> Option<Selector> {
        if !self.rest().starts_with("\"/") {
            return None;
        }
        let rest = self.rest().get(1..)?;
        let length = rest.find('"')?;
        let text = rest.get(..length)?;
        let fine = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | ':' | '|');
        let parts: Vec<&str> = text.split('/').skip(1).collect();
        if !parts.iter().all(|p| !p.is_empty() && p.chars().all(fine)) {
            return None;
        }
        self.pos += length + 2;
        let path = parts.iter().map(|p| p.replace("~1", "/").replace("~0", "~")).collect();
        Some(Selector { path, pointer: true, text: text.to_string() })
    }

    fn value(&mut self) -> Option<String> {
        if let Some(s) = self.attempt(Self::selector) {
            return Some(s.text);
        }
        self.attempt(Self::number).or_else(|| self.attempt(Self::string))
    }

    fn number(&mut self) -> Option<String> {
        let start = self.pos;
        let _ = self.literal("-");
        if self.literal("0").is_none() {
            self.class("[1-9]", |c| matches!(c, '1'..='9'))?;
            while self.class("[0-9]", |c| c.is_ascii_digit()).is_some() {}
        }
        let _ = self.attempt(|p| {
            p.literal(".")?;
            p.class("[0-9]", |c| c.is_ascii_digit())?;
            while p.class("[0-9]", |c| c.is_ascii_digit()).is_some() {}
            Some(())
        });
        match self.rest().chars().next() {
            None | Some(' ' | '\t' | '\r' | '\n' | ')') => self.text.get(start..self.pos).map(String::from),
            Some(_) => self.break_off("number", "Invalid number literal"),
        }
    }

    fn string(&mut self) -> Option<String> {
        if self.literal("`").is_some() {
            return match self.rest().split_once('`') {
                Some((raw, _)) => {
                    self.pos += raw.len() + 1;
                    Some(raw.replace('\r', ""))
                }
                None => self.unterminated(),
            };
        }
        self.literal("\"")?;
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else { return self.unterminated() };
            match c {
                '"' => {
                    self.pos += 1;
                    return Some(out);
                }
                '\n' => return self.unterminated(),
                '\\' => match escape(self.rest()) {
                    Some((c, length)) => {
                        out.push(c);
                        self.pos += length;
                    }
                    None => return self.break_off("string", "invalid syntax"),
                },
                c => {
                    out.push(c);
                    self.pos += c.len_utf8();
                }
            }
        }
    }

    fn unterminated<T>(&mut self) -> Option<T> {
        self.pos = self.text.len();
        self.break_off("string", "Unterminated string literal")
    }
}

/// The character of an escape at the beginning of `text`, and how many bytes it takes. Escapes of single bytes above
/// 0x7f stand for characters of that number.
fn escape(text: &str) -> Option<(char, usize)> {
    let number = |from: usize, digits: usize, radix: u32| {
        let text = text.get(from..from + digits)?;
        let plain = text.chars().all(|c| c.is_digit(radix));
        let n = u32::from_str_radix(text, radix).ok().filter(|_| plain)?;
        char::from_u32(n).map(|c| (c, from + digits))
    };
    match text.as_bytes().get(1)? {
        b'a' => Some(('\x07', 2)),
        b'b' => Some(('\x08', 2)),
        b'f' => Some(('\x0c', 2)),
        b'n' => Some(('\n', 2)),
        b'r' => Some(('\r', 2)),
        b't' => Some(('\t', 2)),
        b'v' => Some(('\x0b', 2)),
        b'\\' => Some(('\\', 2)),
        b'"' => Some(('"', 2)),
        b'x' => number(2, 2, 16),
        b'u' => number(2, 4, 16),
        b'U' => number(2, 8, 16),
        b'0'..=b'7' => number(1, 3, 8),
        _ => None,
    }
}

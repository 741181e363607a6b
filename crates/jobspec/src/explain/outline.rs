//! The blocks and attributes of a job file with their locations, in either syntax.

use std::cell::OnceCell;

use super::outline_json;
use crate::parse::{Document, SyntaxTree};
use encamp_hcl::ast::{Body, Expr, ExprKind};
use encamp_hcl::diag::{Range, Sources, Span};
use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::token::{Kind, Token};
use encamp_hcl::{json, parser};

/// Characters of a label that a title shows.
const MAX_TITLE: usize = 200;

/// How a job file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// HCL, or HCL's JSON form where the text begins with `{`.
    Hcl,
    /// An API job in JSON (`-json`).
    Api,
}

/// The content of a file. Empty where the file can't be read.
#[derive(Debug)]
pub struct Outline {
    /// The file's name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The content outside of all blocks.
    pub root: Element,
    sources: Sources,
    /// The tokens, which only places in files with syntax errors need.
    tokens: OnceCell<Vec<Token>>,
}

/// A block.
#[derive(Debug, Default)]
pub struct Element {
    /// Its type; of a `dynamic` block the type of the blocks it makes.
    pub kind: String,
    /// The labels, without quotes; none of a `dynamic` block.
    pub labels: Vec<String>,
    /// Whether a `dynamic` block makes it.
    pub dynamic: bool,
    /// Type and labels.
    pub header: Span,
    /// From the header to the closing brace.
    pub span: Span,
    /// The attributes of its body, in source order.
    pub attributes: Vec<Setting>,
    /// The blocks of its body, in source order.
    pub blocks: Vec<Element>,
}

/// An attribute.
#[derive(Debug)]
pub struct Setting {
    /// The attribute's name.
    pub name: String,
    /// Where the name is.
    pub name_span: Span,
    /// Where the value is.
    pub value: Span,
    /// The shape of the value.
    pub literal: Literal,
}

/// The form of a value before it is evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A string without interpolations: its text.
    Text(String),
    /// A number: its decimal text.
    Number(String),
    /// `true` or `false`.
    Bool,
    /// A list: `[ … ]`.
    List,
    /// An object: `{ … }`.
    Object,
    /// Anything that has to be evaluated, and null.
    Other,
}

impl Element {
    /// The attribute of this name.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.attributes.iter().find(|s| s.name == name)
    }

    /// The blocks of a type, in order.
    pub fn of<'e>(&'e self, kind: &'e str) -> impl Iterator<Item = &'e Element> {
        self.blocks.iter().filter(move |b| b.kind == kind)
    }

    /// How a block path shows it: `task "server"`.
    pub fn title(&self) -> String {
        if self.dynamic {
            return format!("dynamic {:?}", self.kind);
        }
        let short = |l: &String| l.chars().take(MAX_TITLE).collect::<String>();
        let labels: String = self.labels.iter().map(|l| format!(" {:?}", short(l))).collect();
        format!("{}{labels}", self.kind)
    }
}

impl Outline {
    /// Reads a file.
    pub fn read(name: &str, text: &str, syntax: Syntax) -> Outline {
        let sources = Sources::default();
        let source = sources.add(name, text);
        let is_json = syntax == Syntax::Api || text.trim_start_matches(' ').starts_with('{');
        let root = if is_json {
            json::parse(&sources, source).map(|node| outline_json::root(&node, syntax)).ok()
        } else {
            parser::parse_body(&sources, source).map(|body| element(&body)).ok()
        };
        Outline { root: root.unwrap_or_default(), ..Outline::unread(name, text, sources) }
    }

    /// Reads as much of a file in HCL as possible, for editors. Values that cannot be read are [`Literal::Other`].
    pub fn partial(name: &str, text: &str) -> Outline {
        let sources = Sources::default();
        let (_, partial) = parser::parse_partial(&sources, name, text);
        Outline { root: element(&partial.body), ..Outline::unread(name, text, sources) }
    }

    /// The outline of a file whose syntax was read.
    pub fn of(name: &str, tree: &SyntaxTree) -> Outline {
        let (document, sources) = tree.document();
        let root = match document {
            Document::Native(body) => element(body),
            Document::Json(node) => outline_json::root(node, Syntax::Hcl),
        };
        Outline { root, ..Outline::unread(name, tree.text(), sources.clone()) }
    }

    /// The outline that [`Outline::read`] gives of a file whose syntax has mistakes: it knows the text alone.
    pub(super) fn unreadable(name: &str, text: &str) -> Outline {
        let sources = Sources::default();
        sources.add(name, text);
        Outline::unread(name, text, sources)
    }

    fn unread(name: &str, text: &str, sources: Sources) -> Outline {
        Outline {
            name: name.to_owned(),
            text: text.to_owned(),
            root: Element::default(),
            sources,
            tokens: OnceCell::new(),
        }
    }

    /// The `job` block.
    pub fn job(&self) -> Option<&Element> {
        self.root.of("job").next()
    }

    /// Lines and columns of a span.
    pub fn range(&self, span: Span) -> Range {
        self.sources.range(span)
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The blocks around a byte, outermost first.
    pub fn around(&self, byte: usize) -> Vec<&Element> {
        let mut path = Vec::new();
        let mut element = &self.root;
        while let Some(inner) = element.blocks.iter().find(|b| contains(b.span, byte)) {
            path.push(inner);
            element = inner;
        }
        path
    }

    /// Whether the header of a block begins at this byte.
    pub(crate) fn is_header(&self, byte: usize) -> bool {
        self.around(byte).last().is_some_and(|e| e.header.start as usize == byte)
    }

    /// The titles of the blocks around a byte. Where the file has syntax errors, those that are open there.
    pub fn path(&self, byte: usize) -> Vec<String> {
        if self.root.blocks.is_empty() && self.root.attributes.is_empty() && !self.text.trim_start().starts_with('{') {
            let tokens = self.tokens.get_or_init(|| lex(&self.text, 0, Start::Normal));
            return open_blocks(tokens, &self.text, byte);
        }
        self.around(byte).into_iter().map(Element::title).collect()
    }
}

fn contains(span: Span, byte: usize) -> bool {
    (span.start as usize..span.end as usize).contains(&byte)
}

fn element(body: &Body) -> Element {
    let mut out = Element::default();
    for a in &body.attributes {
        let (literal, value) = (literal(&a.expr), a.expr.span);
        out.attributes.push(Setting { name: a.name.clone(), name_span: a.name_span, value, literal });
    }
    for b in &body.blocks {
        let header = b.def_span();
        let span = header.to(b.body.span);
        let labels: Vec<String> = b.labels.iter().map(|l| l.text.clone()).collect();
        let inner = element(&b.body);
        out.blocks.push(match (b.kind.as_str(), labels.first()) {
            ("dynamic", Some(made)) => {
                let content = inner.blocks.into_iter().find(|b| b.kind == "content").unwrap_or_default();
                Element { kind: made.clone(), labels: Vec::new(), dynamic: true, header, span, ..content }
            }
            _ => Element { kind: b.kind.clone(), labels, header, span, ..inner },
        });
    }
    out
}

fn literal(expr: &Expr) -> Literal {
    match &expr.kind {
        ExprKind::Text(text) => Literal::Text(text.clone()),
        ExprKind::Template(parts) => match parts.as_slice() {
            [] => Literal::Text(String::new()),
            [Expr { kind: ExprKind::Text(text), .. }] => Literal::Text(text.clone()),
            _ => Literal::Other,
        },
        ExprKind::Number(text) => Literal::Number(text.clone()),
        ExprKind::Bool(_) => Literal::Bool,
        ExprKind::Tuple { .. } => Literal::List,
        ExprKind::Object { .. } => Literal::Object,
        _ => Literal::Other,
    }
}

/// The headers of the blocks that are open at a byte, found without understanding what is inside.
fn open_blocks(tokens: &[Token], text: &str, byte: usize) -> Vec<String> {
    let mut open: Vec<Option<String>> = Vec::new();
    let mut line: Vec<Token> = Vec::new();
    for token in tokens {
        if token.span.start as usize >= byte {
            break;
        }
        match token.kind {
            Kind::OBrace => {
                open.push(header(&line, text));
                line.clear();
            }
            Kind::CBrace => {
                open.pop();
                line.clear();
            }
            Kind::Newline => line.clear(),
            _ => line.push(*token),
        }
    }
    open.into_iter().flatten().collect()
}

/// `task "server"` from the tokens before a brace; nothing for an object.
fn header(line: &[Token], text: &str) -> Option<String> {
    let is_header = |t: &Token| matches!(t.kind, Kind::Ident | Kind::OQuote | Kind::QuotedLit | Kind::CQuote);
    let (first, last) = (line.first()?, line.last()?);
    if first.kind != Kind::Ident || !line.iter().all(is_header) {
        return None;
    }
    text.get(first.span.start as usize..last.span.end as usize).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_blocks_around_a_place() {
        let text = "job \"a\" {\n  group \"g\" {\n    dynamic \"task\" {\n      content {\n        x = 1\n      }\n    }\n  }\n}\n";
        let outline = Outline::read("f", text, Syntax::Hcl);
        let at = text.find("x =").unwrap();
        assert_eq!(outline.path(at), ["job \"a\"", "group \"g\"", "dynamic \"task\""]);
        assert!(outline.around(at).last().unwrap().setting("x").is_some());
        assert!(outline.path(text.len()).is_empty());
    }

    #[test]
    fn paths_survive_syntax_errors() {
        let text = "job \"a\" {\n  meta = { k = \"}\" }\n  group \"g\" {\n  }\n  group h {\n    count = = 2\n";
        let outline = Outline::read("f", text, Syntax::Hcl);
        assert_eq!(outline.path(text.rfind("= 2").unwrap()), ["job \"a\"", "group h"]);
    }

    #[test]
    fn json_files_have_paths_too() {
        let text = r#"{"job": {"a": {"group": [{"g": {"count": 2, "task": {"t": {"driver": "x"}}}}]}}}"#;
        let outline = Outline::read("f", text, Syntax::Hcl);
        assert_eq!(outline.path(text.find("driver").unwrap()), ["job \"a\"", "group \"g\"", "task \"t\""]);
        let text = r#"{"Job": {"ID": "a", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "x"}]}]}}"#;
        let outline = Outline::read("f", text, Syntax::Api);
        let at = text.find("Driver").unwrap();
        assert_eq!(outline.path(at), ["job \"a\"", "group \"g\"", "task \"t\""]);
        assert!(outline.around(at).last().unwrap().setting("driver").is_some());
    }
}

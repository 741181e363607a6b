//! The JSON syntax of the language: documents with positions (`docs/spec/jobspec.md §2`).
//!
//! A document is read without interpretation; the schema decides what is an attribute and what is a block when the
//! content of a body is requested (see [`super::body`]). Strings in attribute values are templates.

use super::ast::{Expr, ExprKind};
use super::diag::{Diag, Pos, Sources, Span};
use super::parser::{MAX_DEPTH, parse_expression, parse_template};

/// A value of a document.
#[derive(Debug, Clone)]
pub struct Node {
    /// The kind of the value.
    pub kind: NodeKind,
    /// Where the value is.
    pub span: Span,
}

/// The kinds of a [`Node`]. Objects keep their order and duplicates.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// The number as it is written.
    Number(String),
    /// The text, quotes and escapes removed.
    String(String),
    /// The elements of `[ … ]`.
    Array(Vec<Node>),
    /// The properties of `{ … }`.
    Object(Vec<Member>),
}

/// A property of an object.
#[derive(Debug, Clone)]
pub struct Member {
    /// The property's name, quotes and escapes removed.
    pub name: String,
    /// With quotes.
    pub name_span: Span,
    /// The property's value.
    pub value: Node,
}

impl Node {
    /// The opening bracket of an array or object, else the whole.
    pub fn open(&self) -> Span {
        match self.kind {
            NodeKind::Array(_) | NodeKind::Object(_) => Span { end: self.span.start + 1, ..self.span },
            _ => self.span,
        }
    }

    /// The closing bracket of an object, else the start.
    pub(crate) fn missing_item(&self) -> Span {
        match self.kind {
            NodeKind::Object(_) => Span { start: self.span.end.saturating_sub(1), ..self.span },
            _ => self.open(),
        }
    }

    /// The value as an expression: strings are templates.
    pub(crate) fn to_expr(&self, sources: &Sources) -> Result<Expr, Vec<Diag>> {
        let kind = match &self.kind {
            NodeKind::Null => ExprKind::Null,
            NodeKind::Bool(value) => ExprKind::Bool(*value),
            NodeKind::Number(text) => ExprKind::Number(text.clone()),
            NodeKind::String(text) => return template(text, self.span, sources),
            NodeKind::Array(items) => {
                let items: Result<_, _> = items.iter().map(|item| item.to_expr(sources)).collect();
                ExprKind::Tuple { open: self.open(), items: items? }
            }
            NodeKind::Object(members) => {
                let item = |m: &Member| Ok((template(&m.name, m.name_span, sources)?, m.value.to_expr(sources)?));
                let items: Result<_, Vec<Diag>> = members.iter().map(item).collect();
                ExprKind::Object { open: self.open(), items: items? }
            }
        };
        Ok(Expr::new(kind, self.span))
    }

    /// The value as it stands: strings are no templates.
    pub(crate) fn to_constant(&self) -> Expr {
        let kind = match &self.kind {
            NodeKind::Null => ExprKind::Null,
            NodeKind::Bool(value) => ExprKind::Bool(*value),
            NodeKind::Number(text) => ExprKind::Number(text.clone()),
            NodeKind::String(text) => ExprKind::Text(text.clone()),
            NodeKind::Array(items) => {
                ExprKind::Tuple { open: self.open(), items: items.iter().map(Node::to_constant).collect() }
            }
            NodeKind::Object(members) => {
                let name = |m: &Member| Expr::new(ExprKind::Text(m.name.clone()), m.name_span);
                let items = members.iter().map(|m| (name(m), m.value.to_constant())).collect();
                ExprKind::Object { open: self.open(), items }
            }
        };
        Expr::new(kind, self.span)
    }

    /// A string whose text is an expression, such as a type or a name; other values as they are.
    pub(crate) fn to_static_expr(&self, sources: &Sources) -> Result<Expr, Vec<Diag>> {
        match &self.kind {
            NodeKind::String(text) => parse_expression(sources, embedded(text, self.span, sources)),
            _ => self.to_expr(sources),
        }
    }
}

/// The text of a string as a source of its own, behind the opening quote. Escapes in the string shift positions; the
/// reference has the same flaw.
fn embedded(text: &str, span: Span, sources: &Sources) -> u32 {
    let start = sources.start(span);
    let base = Pos { byte: start.byte + 1, line: start.line, column: start.column + 1 };
    sources.add_at(&sources.name(span), text, base)
}

fn template(text: &str, span: Span, sources: &Sources) -> Result<Expr, Vec<Diag>> {
    if !text.contains("${") && !text.contains("%{") {
        return Ok(Expr::new(ExprKind::Text(text.to_owned()), span));
    }
    // The parts have places of their own; the whole starts and ends with the string.
    let expr = parse_template(sources, embedded(text, span, sources))?;
    Ok(Expr::new(ExprKind::Paren(Box::new(expr)), span))
}

/// Reads a document.
pub fn parse(sources: &Sources, source: u32) -> Result<Node, Vec<Diag>> {
    let text = sources.get(source);
    let text = text.as_ref().map_or("", |s| s.text.as_str());
    let mut reader = Reader { text, source, at: 0, depth: 0 };
    let result = reader.value().and_then(|node| {
        reader.space();
        if reader.rest().is_empty() {
            return Ok(node);
        }
        Err(reader.error_here("Extraneous data after value", "Extra characters appear after the JSON value."))
    });
    match result {
        Ok(Node { kind: NodeKind::Object(members), span }) => Ok(Node { kind: NodeKind::Object(members), span }),
        Ok(node) => {
            let detail =
                "The root value in a JSON-based configuration must be either a JSON object or a JSON array of objects.";
            match &node.kind {
                NodeKind::Array(items) if items.iter().all(|i| matches!(i.kind, NodeKind::Object(_))) => Ok(node),
                _ => Err(vec![Diag::at(node.open(), "Root value must be object", detail)]),
            }
        }
        Err(diag) => Err(vec![*diag]),
    }
}

struct Reader<'a> {
    text: &'a str,
    source: u32,
    at: usize,
    depth: usize,
}

type Read<T> = Result<T, Box<Diag>>;

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let offset = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { source: self.source, start: offset(start), end: offset(end) }
    }

    fn error(&self, span: Span, summary: &str, detail: &str) -> Box<Diag> {
        Box::new(Diag::at(span, summary, detail))
    }

    fn error_here(&self, summary: &str, detail: &str) -> Box<Diag> {
        let len = self.rest().chars().next().map_or(0, char::len_utf8);
        self.error(self.span(self.at, self.at + len), summary, detail)
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn value(&mut self) -> Read<Node> {
        self.space();
        if self.depth > MAX_DEPTH {
            return Err(self.error_here("Nesting too deep", "Values are nested too deeply."));
        }
        self.depth += 1;
        let start = self.at;
        let first = self.rest().chars().next();
        let kind = match first {
            Some('{') => self.object(),
            Some('[') => self.array(),
            Some('"') => self.string().map(NodeKind::String),
            Some('-' | '0'..='9') => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.keyword(),
            Some(_) => Err(self.error_here(
                "Invalid start of value",
                "A JSON value must start with a brace, a bracket, a number, a string, or a keyword.",
            )),
            None => Err(self.error_here("Missing value", "The JSON data ends prematurely.")),
        };
        self.depth -= 1;
        Ok(Node { kind: kind?, span: self.span(start, self.at) })
    }

    fn keyword(&mut self) -> Read<NodeKind> {
        let rest = self.rest();
        let len = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len();
        let word = rest.get(..len).unwrap_or("");
        let kind = match word {
            "true" => NodeKind::Bool(true),
            "false" => NodeKind::Bool(false),
            "null" => NodeKind::Null,
            _ => {
                let detail = format!("{word:?} is not a valid JSON keyword.");
                return Err(self.error(self.span(self.at, self.at + len), "Invalid JSON keyword", &detail));
            }
        };
        self.at += len;
        Ok(kind)
    }

    fn number(&mut self) -> Read<NodeKind> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let text = rest.get(..rest.len() - rest.trim_start_matches(is_part).len()).unwrap_or("");
        if !is_number(text) {
            let detail = "There is a syntax error in the given JSON number.";
            return Err(self.error(self.span(self.at, self.at + text.len()), "Invalid JSON number", detail));
        }
        self.at += text.len();
        Ok(NodeKind::Number(text.to_owned()))
    }

    fn string(&mut self) -> Read<String> {
        let start = self.at;
        let rest = self.rest();
        let mut len = 1;
        loop {
            match rest.as_bytes().get(len) {
                Some(b'"') => break,
                Some(b'\\') => len += 2,
                Some(b'\n') | None => {
                    let detail = "There is a syntax error in the given JSON string.";
                    let end = (start + len).min(self.text.len());
                    return Err(self.error(self.span(start, end), "Invalid JSON string", detail));
                }
                Some(_) => len += 1,
            }
        }
        let raw = rest.get(..=len).unwrap_or("");
        self.at += raw.len();
        serde_json::from_str(raw).map_err(|_| {
            let detail = "There is a syntax error in the given JSON string.";
            self.error(self.span(start, self.at), "Invalid JSON string", detail)
        })
    }

    fn array(&mut self) -> Read<NodeKind> {
        let open = self.span(self.at, self.at + 1);
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space();
            if self.take(']') {
                return Ok(NodeKind::Array(items));
            }
            items.push(self.value()?);
            self.space();
            let comma = self.at;
            if self.take(',') {
                self.space();
                if self.rest().starts_with(']') {
                    let detail = "JSON does not permit a trailing comma after the final value in an array.";
                    return Err(self.error(self.span(comma, comma + 1), "Trailing comma in array", detail));
                }
            } else if self.rest().is_empty() {
                let detail = "The JSON data ends prematurely.";
                return Err(self.error(open, "Unclosed array", detail));
            } else if !self.rest().starts_with(']') {
                let detail = "A comma must appear between each item in an array.";
                return Err(self.error_here("Missing item separator", detail));
            }
        }
    }

    fn object(&mut self) -> Read<NodeKind> {
        let open = self.span(self.at, self.at + 1);
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.space();
            if self.take('}') {
                return Ok(NodeKind::Object(members));
            }
            let start = self.at;
            if self.rest().is_empty() {
                return Err(self.error(open, "Unclosed object", "The JSON data ends prematurely."));
            }
            if !self.rest().starts_with('"') {
                let detail = "A JSON object property name must be a string";
                return Err(self.error_here("Invalid object property name", detail));
            }
            let name = self.string()?;
            let name_span = self.span(start, self.at);
            self.space();
            if !self.take(':') {
                let detail = if self.rest().starts_with('=') {
                    "JSON uses a colon as its name/value delimiter, not an equals sign."
                } else {
                    "A colon must appear between an object property's name and its value."
                };
                return Err(self.error_here("Missing property value colon", detail));
            }
            let value = self.value()?;
            members.push(Member { name, name_span, value });
            self.space();
            let comma = self.at;
            if self.take(',') {
                self.space();
                if self.rest().starts_with('}') {
                    let detail = "JSON does not permit a trailing comma after the final property in an object.";
                    return Err(self.error(self.span(comma, comma + 1), "Trailing comma in object", detail));
                }
            } else if self.rest().is_empty() {
                return Err(self.error(open, "Unclosed object", "The JSON data ends prematurely."));
            } else if !self.rest().starts_with('}') {
                let detail = "A comma must appear between each property definition in an object.";
                return Err(self.error_here("Missing attribute separator", detail));
            }
        }
    }
}

/// Whether a text is a number of JSON: no leading zeros, digits around a point.
fn is_number(text: &str) -> bool {
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((m, e)) => (m, Some(e.strip_prefix(['+', '-']).unwrap_or(e))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((w, f)) => (w, Some(f)),
        None => (mantissa, None),
    };
    let plain = digits(whole) && (whole == "0" || !whole.starts_with('0'));
    plain && fraction.is_none_or(digits) && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> String {
        let sources = Sources::default();
        let source = sources.add("f.json", text);
        let diags = parse(&sources, source).err().unwrap_or_default();
        crate::diag::Diagnostics::new(&diags, &sources).to_string()
    }

    #[test]
    fn documents_are_checked() {
        assert_eq!(errors(r#"{"a": [1, -0.5e3, {"b": null}], "c": "\u00e9"}"#), "");
        for (text, want) in [
            ("{\"a\": }", "f.json:1,7-8: Invalid start of value"),
            ("{\"a\" 1}", "f.json:1,6-7: Missing property value colon"),
            ("{\"a\": 1,}", "f.json:1,8-9: Trailing comma in object"),
            ("{\"a\": 01}", "f.json:1,7-9: Invalid JSON number"),
            ("{\"a\": nul}", "f.json:1,7-10: Invalid JSON keyword"),
            ("{\"a\": \"x", "f.json:1,7-9: Invalid JSON string"),
            ("{} 1", "f.json:1,4-5: Extraneous data after value"),
            ("[1]", "f.json:1,1-2: Root value must be object"),
        ] {
            let text = errors(text);
            assert!(text.starts_with(want), "{text}");
        }
        assert!(errors(&"[".repeat(100_000)).contains("Nesting too deep"));
    }
}

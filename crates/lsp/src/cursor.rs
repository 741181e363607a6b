//! What a cursor is at: found from the tokens before it, so that it does not matter what is broken.

use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::parser::without_open_strings;
use encamp_hcl::token::{Kind, Token};

/// A block around a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Around {
    /// Its type; of a `dynamic` block that of the blocks it makes, for the inside of its content.
    pub kind: String,
    /// Its labels.
    pub labels: Vec<String>,
}

/// The part of an item that a cursor is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Where the name of an attribute or a block stands.
    Name,
    /// A label of a block of this type.
    Label(String),
    /// The value of this attribute, outside of texts.
    Value(String),
    /// A text in the value of this attribute, which begins at the byte.
    Text(String, usize),
    /// A comment, or the text of a heredoc.
    Nothing,
}

/// A place in a file.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    /// The blocks around it, outermost first.
    pub path: Vec<Around>,
    /// What it is in.
    pub part: Part,
    /// Whether it is inside of `${…}`.
    pub interpolation: bool,
    /// The names before it, joined by dots, as far as it is behind such: `var.na`.
    pub chain: String,
}

/// Something that is open before a cursor.
enum Open {
    Block(Around),
    Bracket,
    Interpolation,
    Quote(usize),
    Heredoc,
}

impl Cursor {
    /// The types of the blocks around it.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.path.iter().map(|a| a.kind.as_str()).collect()
    }

    /// The place at a byte of a text.
    pub(crate) fn at(text: &str, offset: usize) -> Cursor {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let mut whole = without_open_strings(before.get(..line).unwrap_or(""));
        whole.push_str(before.get(line..).unwrap_or(""));
        let mut scan = Scan { text: &whole, open: Vec::new(), item: Vec::new(), comment: false };
        let mut end = 0;
        for token in lex(&whole, 0, Start::Normal) {
            end = end.max(if token.kind == Kind::Eof { 0 } else { token.span.end as usize });
            scan.token(token);
        }
        // A comment at the end of the text is no token.
        let rest = whole.get(end..).unwrap_or("").trim_start();
        scan.comment |= ["#", "//", "/*"].iter().any(|sign| rest.starts_with(sign));
        scan.cursor()
    }
}

struct Scan<'t> {
    text: &'t str,
    open: Vec<Open>,
    /// The tokens of the item so far, outside of brackets.
    item: Vec<Token>,
    /// The text ends in a comment.
    comment: bool,
}

impl Scan<'_> {
    fn slice(&self, token: &Token) -> &str {
        self.text.get(token.span.start as usize..token.span.end as usize).unwrap_or("")
    }

    fn in_body(&self) -> bool {
        matches!(self.open.last(), None | Some(Open::Block(_)))
    }

    fn token(&mut self, token: Token) {
        match token.kind {
            Kind::OBrace => match self.header().filter(|_| self.in_body()) {
                Some(block) => {
                    self.open.push(Open::Block(block));
                    self.item.clear();
                }
                None => self.open.push(Open::Bracket),
            },
            Kind::OBrack | Kind::OParen => self.open.push(Open::Bracket),
            Kind::Interp | Kind::Control => self.open.push(Open::Interpolation),
            Kind::OQuote => {
                if self.in_body() {
                    self.item.push(token);
                }
                self.open.push(Open::Quote(token.span.end as usize));
            }
            Kind::OHeredoc => self.open.push(Open::Heredoc),
            Kind::CBrace | Kind::CBrack | Kind::CParen | Kind::SeqEnd | Kind::CQuote | Kind::CHeredoc => {
                if let Some(Open::Block(_)) = self.open.pop() {
                    self.item.clear();
                }
            }
            Kind::Newline => {
                let text = self.slice(&token);
                let begins = text.starts_with('#') || text.starts_with("//");
                self.comment = begins && !text.ends_with('\n') || self.comment && text.is_empty();
                if self.in_body() {
                    self.item.clear();
                }
            }
            Kind::Eof => {}
            Kind::QuotedLit => {
                let outer = self.open.len().saturating_sub(2);
                let label = matches!(self.open.get(outer), None | Some(Open::Block(_))) || self.open.len() == 1;
                if label {
                    self.item.push(token);
                }
            }
            _ => {
                if self.in_body() {
                    self.item.push(token);
                }
            }
        }
    }

    /// The block whose header the item is.
    fn header(&self) -> Option<Around> {
        let (first, rest) = self.item.split_first()?;
        if first.kind != Kind::Ident || rest.iter().any(|t| t.kind == Kind::Equal) {
            return None;
        }
        let is_label = |t: &&Token| matches!(t.kind, Kind::Ident | Kind::QuotedLit);
        let labels = rest.iter().filter(is_label).map(|t| self.slice(t).to_owned()).collect();
        Some(Around { kind: self.slice(first).to_owned(), labels })
    }

    fn part(&self) -> Part {
        if self.comment || self.open.iter().any(|o| matches!(o, Open::Heredoc)) && !self.interpolation() {
            return Part::Nothing;
        }
        let quote = match self.open.last() {
            Some(Open::Quote(start)) => Some(*start),
            _ => None,
        };
        let first = self.item.first().map(|t| self.slice(t).to_owned());
        let is_set = self.item.get(1).is_some_and(|t| t.kind == Kind::Equal);
        match (first, is_set, quote) {
            (Some(name), true, Some(start)) => Part::Text(name, start),
            (Some(name), true, None) => Part::Value(name),
            (None, _, None) => Part::Name,
            (Some(name), false, _) if self.item.len() > 1 => Part::Label(name),
            // The cursor is at the end of the only name.
            (Some(_), false, None) if !self.text.ends_with([' ', '\t']) => Part::Name,
            (Some(name), false, _) => Part::Label(name),
            (None, _, Some(start)) => Part::Text(String::new(), start),
        }
    }

    fn interpolation(&self) -> bool {
        self.open.iter().rev().find(|o| !matches!(o, Open::Bracket)).is_some_and(|o| matches!(o, Open::Interpolation))
    }

    fn cursor(&self) -> Cursor {
        let is_name = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let tail: Vec<char> = self.text.chars().rev().take_while(is_name).collect();
        let blocks = self.open.iter().filter_map(|o| match o {
            Open::Block(around) => Some(around.clone()),
            _ => None,
        });
        Cursor {
            path: flattened(blocks.collect()),
            part: self.part(),
            interpolation: self.interpolation(),
            chain: tail.into_iter().rev().collect(),
        }
    }
}

/// `dynamic "x" { content {` as the block `x`; a `dynamic` block without its content stays.
fn flattened(path: Vec<Around>) -> Vec<Around> {
    let mut out: Vec<Around> = Vec::new();
    for around in path {
        match out.last_mut() {
            Some(last) if last.kind == "dynamic" && around.kind == "content" => {
                *last = Around { kind: last.labels.first().cloned().unwrap_or_default(), labels: Vec::new() };
            }
            _ => out.push(around),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> (Vec<String>, Part, String) {
        let offset = text.find('|').expect("a cursor");
        let cursor = Cursor::at(&text.replace('|', ""), offset);
        (cursor.path.iter().map(|a| a.kind.clone()).collect(), cursor.part, cursor.chain)
    }

    #[test]
    fn places_are_found_in_broken_text() {
        let value = |name: &str| Part::Value(name.into());
        for (text, path, part, chain) in [
            ("|", vec![], Part::Name, ""),
            ("job \"a\" {\n  gr|", vec!["job"], Part::Name, "gr"),
            ("job \"a\" {\n  x = = \"\n  group \"g\" {\n    co|", vec!["job", "group"], Part::Name, "co"),
            ("job \"a\" {\n  type = |", vec!["job"], value("type"), ""),
            ("job \"a\" {\n  type = \"ba|", vec!["job"], Part::Text("type".into(), 20), "ba"),
            ("job \"a\" {\n  priority = var.p|\n}", vec!["job"], value("priority"), "var.p"),
            ("job \"a\" {\n  datacenters = [\"|", vec!["job"], Part::Text("datacenters".into(), 28), ""),
            ("job \"|", vec![], Part::Label("job".into()), ""),
            ("job \"a\" {\n  # com|", vec!["job"], Part::Nothing, "com"),
            ("job \"a\" {\n  dynamic \"group\" {\n    content {\n      |", vec!["job", "group"], Part::Name, ""),
            ("job \"a\" {\n  meta = {\n    a = 1\n    b = |", vec!["job"], value("meta"), ""),
        ] {
            let path: Vec<String> = path.into_iter().map(String::from).collect();
            assert_eq!(at(text), (path, part, chain.into()), "{text}");
        }
    }
}

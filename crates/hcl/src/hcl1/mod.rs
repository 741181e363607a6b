//! HCL 1 as a tree with positions: the language of agent configuration (`docs/spec/agent-config.md §3`) and of ACL
//! policies (`docs/spec/http-api.md §7.2`).
//!
//! It is not the language of job files: keys may be quoted (`"driver.raw_exec.enable" = 1`), `key {` and `key = {` are
//! the same, the items of an object need neither a new line nor a comma between them, nothing is evaluated, and `${x}`
//! stays as it is. Files whose first character is `{` are JSON. Both give the same tree; `a "b" { }` is `a` with `b`
//! inside.

use std::fmt;

/// Deepest nesting of objects and lists.
const MAX_DEPTH: usize = 64;

/// A place in a file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pos {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl fmt::Display for Pos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A text that is neither HCL nor JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("At {pos}: {message}")]
pub struct SyntaxError {
    /// The place.
    pub pos: Pos,
    /// The expected or the found text.
    pub message: String,
}

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its place.
    pub pos: Pos,
    /// The value.
    pub value: Value,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// JSON's `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written.
    Number(String),
    /// Text, without its quotes and escapes.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// A block or an object.
    Object(Vec<Item>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The key as it is written.
    pub key: String,
    /// Its place.
    pub pos: Pos,
    /// Its value.
    pub value: Node,
}

/// Reads a file.
///
/// # Errors
/// The text is neither HCL nor JSON.
pub fn parse(text: &str) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let json = text.trim_start().starts_with('{');
    let mut p = Parser { rest: text, pos: Pos { line: 1, column: 1 }, json, depth: 0 };
    p.blank()?;
    let pos = p.pos;
    let value = if json {
        let value = p.value()?.value;
        p.blank()?;
        if !p.rest.is_empty() {
            return Err(p.error(format!("unexpected {} behind the configuration", p.found())));
        }
        value
    } else {
        Value::Object(p.items(None)?)
    };
    Ok(Node { pos, value })
}

struct Parser<'a> {
    rest: &'a str,
    pos: Pos,
    json: bool,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError { pos: self.pos, message: message.into() }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// The next token, for messages.
    fn found(&self) -> String {
        match self.peek() {
            None => "end of file".into(),
            Some('\n') => "end of line".into(),
            Some(c) => encamp_model::quoted(&c.to_string()),
        }
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        for c in taken.chars() {
            self.pos = match c {
                '\n' => Pos { line: self.pos.line + 1, column: 1 },
                _ => Pos { column: self.pos.column + 1, ..self.pos },
            };
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        self.skip(self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len()))
    }

    /// Takes that character if it stands here.
    fn takes(&mut self, c: char) -> bool {
        let found = self.rest.starts_with(c);
        if found {
            self.skip(c.len_utf8());
        }
        found
    }

    /// Skips white space and comments.
    fn blank(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.json {
                return Ok(());
            } else if self.rest.starts_with('#') || self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else { return Err(self.error("comment is not closed")) };
                self.skip(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    /// Keys and values up to the end of the file, or of the object that began at `open`.
    fn items(&mut self, open: Option<Pos>) -> Result<Vec<Item>, SyntaxError> {
        let mut out = Vec::new();
        loop {
            self.blank()?;
            match (self.peek(), open) {
                (None, None) => return Ok(out),
                (None, Some(open)) => return Err(self.error(format!("object that begins at {open} is not closed"))),
                (Some('}'), Some(_)) => {
                    if self.json && self.rest.starts_with('}') && !out.is_empty() {
                        return Err(self.error("a key has to follow the comma"));
                    }
                    self.skip(1);
                    return Ok(out);
                }
                _ => {}
            }
            out.push(self.item()?);
            self.blank()?;
            let comma = self.takes(',');
            if self.json && !comma {
                if self.takes('}') {
                    return Ok(out);
                }
                return Err(self.error(format!("expected a comma or the end of the object, found {}", self.found())));
            }
        }
    }

    /// `key = value`, `key { }`, `key "label" { }`, or JSON's `"key": value`.
    fn item(&mut self) -> Result<Item, SyntaxError> {
        let mut keys = Vec::new();
        loop {
            self.blank()?;
            let pos = self.pos;
            match self.peek() {
                Some('"') => keys.push((self.string()?, pos)),
                Some(c) if !self.json && (c.is_alphabetic() || c == '_') => {
                    let word = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
                    keys.push((word.to_string(), pos));
                }
                _ if keys.is_empty() => return Err(self.error(format!("expected a key, found {}", self.found()))),
                Some(':') if self.json => break,
                Some('=' | '{') if !self.json => break,
                _ if self.json => return Err(self.error(format!("expected a colon, found {}", self.found()))),
                _ => return Err(self.error(format!("expected '=' or a block behind the key, found {}", self.found()))),
            }
            if keys.len() > 8 || (self.json && keys.len() > 1) {
                return Err(self.error(format!("too many keys, found {}", self.found())));
            }
        }
        if self.takes(':') || self.takes('=') {
            if keys.len() > 1 {
                return Err(self.error("a block with labels has no '='"));
            }
            self.blank()?;
        }
        let mut value = self.value()?;
        while keys.len() > 1 {
            if let Some((key, pos)) = keys.pop() {
                value = Node { pos, value: Value::Object(vec![Item { key, pos, value }]) };
            }
        }
        let (key, pos) = keys.pop().unwrap_or_default();
        Ok(Item { key, pos, value })
    }

    fn value(&mut self) -> Result<Node, SyntaxError> {
        let pos = self.pos;
        let value = match self.peek() {
            Some('"') => Value::String(self.string()?),
            Some('{' | '[') if self.depth >= MAX_DEPTH => return Err(self.error("nested too deeply")),
            Some('{') => {
                self.skip(1);
                self.depth += 1;
                let items = self.items(Some(pos))?;
                self.depth -= 1;
                Value::Object(items)
            }
            Some('[') => {
                self.skip(1);
                self.depth += 1;
                let list = self.list(pos)?;
                self.depth -= 1;
                Value::List(list)
            }
            Some('<') if !self.json && self.rest.starts_with("<<") => Value::String(self.heredoc()?),
            Some(c) if c == '-' || c == '.' || c.is_ascii_alphanumeric() => match self.word() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" if self.json => Value::Null,
                word if number(word) => Value::Number(word.into()),
                word => {
                    let message = format!("{word} is not a value; text needs quotes");
                    return Err(SyntaxError { pos, message });
                }
            },
            _ => return Err(self.error(format!("expected a value, found {}", self.found()))),
        };
        Ok(Node { pos, value })
    }

    /// A word in place of a value. A number ends where the next item's key begins: `a = 1b = 2` has two items.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c| !in_word(c)).unwrap_or(self.rest.len());
        let (word, behind) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        let item_follows = !self.json && behind.trim_start_matches([' ', '\t']).starts_with(['=', '{', '"']);
        self.skip(if item_follows { number_length(word) } else { end })
    }

    fn list(&mut self, open: Pos) -> Result<Vec<Node>, SyntaxError> {
        let mut out = Vec::new();
        loop {
            self.blank()?;
            if self.takes(']') {
                return Ok(out);
            }
            if self.rest.is_empty() {
                return Err(self.error(format!("list that begins at {open} is not closed")));
            }
            out.push(self.value()?);
            self.blank()?;
            if !self.takes(',') && self.peek() != Some(']') {
                return Err(self.error(format!("expected a comma or the end of the list, found {}", self.found())));
            }
        }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let open = self.pos;
        self.skip(1);
        let mut out = String::new();
        // Quotes inside of `${ }` belong to the text.
        let mut braces = 0_usize;
        loop {
            let Some(c) = self.peek() else {
                return Err(SyntaxError { pos: open, message: "text is not closed".into() });
            };
            let pos = self.pos;
            if self.rest.starts_with("${") && !self.json {
                braces += 1;
                out.push_str(self.skip(2));
                continue;
            }
            self.skip(c.len_utf8());
            match c {
                '"' if braces == 0 => return Ok(out),
                '}' if braces > 0 => {
                    braces -= 1;
                    out.push(c);
                }
                '\n' if braces == 0 => {
                    return Err(SyntaxError { pos, message: "text is not closed on its line".into() });
                }
                '\\' if braces == 0 => out.push(self.escape(pos)?),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self, pos: Pos) -> Result<char, SyntaxError> {
        let wrong = |what: &str| SyntaxError { pos, message: format!("unknown escape sequence \\{what}") };
        let c = self.peek().ok_or_else(|| wrong(""))?;
        self.skip(c.len_utf8());
        let digits = match c {
            '"' | '\\' | '/' => return Ok(c),
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            'r' => return Ok('\r'),
            'b' => return Ok('\u{8}'),
            'f' => return Ok('\u{c}'),
            'a' if !self.json => return Ok('\u{7}'),
            'v' if !self.json => return Ok('\u{b}'),
            'u' => 4,
            'U' if !self.json => 8,
            c => return Err(wrong(&c.to_string())),
        };
        let code = self.hex(digits).ok_or_else(|| wrong("u"))?;
        // JSON writes characters above U+FFFF as two halves.
        if (0xd800..0xdc00).contains(&code) && self.rest.starts_with("\\u") {
            self.skip(2);
            let low = self.hex(4).filter(|l| (0xdc00..0xe000).contains(l)).ok_or_else(|| wrong("u"))?;
            return char::from_u32(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)).ok_or_else(|| wrong("u"));
        }
        char::from_u32(code).ok_or_else(|| wrong("u"))
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text = self.rest.get(..digits).filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.skip(digits);
        u32::from_str_radix(text, 16).ok()
    }

    /// `<<END` … `END`; with `<<-END` the common indentation is taken away.
    fn heredoc(&mut self) -> Result<String, SyntaxError> {
        let open = self.pos;
        self.skip(2);
        let indented = self.takes('-');
        let marker = self.take_while(|c| c.is_alphanumeric() || c == '_');
        if marker.is_empty() || !(self.takes('\n') || (self.takes('\r') && self.takes('\n'))) {
            return Err(self.error("expected a marker and a new line"));
        }
        let mut lines = Vec::new();
        loop {
            if self.rest.is_empty() {
                return Err(SyntaxError { pos: open, message: format!("heredoc without its end {marker}") });
            }
            let line = self.take_while(|c| c != '\n');
            if line.trim() == marker {
                break;
            }
            self.takes('\n');
            lines.push(line.strip_suffix('\r').unwrap_or(line));
        }
        let indent = |l: &&str| l.len() - l.trim_start_matches([' ', '\t']).len();
        let common = lines.iter().filter(|l| !l.trim().is_empty()).map(indent).min().filter(|_| indented).unwrap_or(0);
        Ok(lines.iter().map(|l| format!("{}\n", l.get(common..).unwrap_or_default())).collect())
    }
}

/// The characters of words in place of values.
fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')
}

/// The length of the number with which a word begins if a key stands right behind it, and of the word otherwise.
fn number_length(word: &str) -> usize {
    let key =
        |at: &usize| word.get(*at..).is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    let longest = (1..=word.len()).rev().find(|at| word.get(..*at).is_some_and(number));
    longest.filter(key).unwrap_or(word.len())
}

/// Whether that is a number: decimal, with exponent, or with `0x`.
fn number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') && digits.parse::<f64>().is_ok(),
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as JSON-like text.
    fn show(node: &Node) -> String {
        match &node.value {
            Value::Null => "null".into(),
            Value::Bool(b) => b.to_string(),
            Value::Number(n) => n.clone(),
            Value::String(s) => format!("{s:?}"),
            Value::List(l) => format!("[{}]", l.iter().map(show).collect::<Vec<_>>().join(",")),
            Value::Object(items) => {
                let items = items.iter().map(|i| format!("{}:{}", i.key, show(&i.value)));
                format!("{{{}}}", items.collect::<Vec<_>>().join(","))
            }
        }
    }

    fn shown(text: &str) -> String {
        parse(text).map_or_else(|e| format!("{}: {}", e.pos, e.message), |n| show(&n))
    }

    #[test]
    fn both_languages_give_one_tree() {
        for (text, want) in [
            ("", "{}"),
            ("# only\n// comments\n/* here\n */", "{}"),
            ("a = 1\nb = \"x\"", "{a:1,b:\"x\"}"),
            ("client { enabled = true }", "{client:{enabled:true}}"),
            ("client = { enabled = true }", "{client:{enabled:true}}"),
            ("plugin \"raw_exec\" {\n config { enabled = true }\n}", "{plugin:{raw_exec:{config:{enabled:true}}}}"),
            (
                "options { \"driver.raw_exec.enable\" = \"1\", x.y = 2 }",
                "{options:{driver.raw_exec.enable:\"1\",x.y:2}}",
            ),
            ("l = [1, \"a\", { b = 2 },]", "{l:[1,\"a\",{b:2}]}"),
            ("a = -1.5e3\nb = 0x1F\nc = 1.50", "{a:-1.5e3,b:0x1F,c:1.50}"),
            ("a = \"${env.\"X\"}\\n\\u00e9\"", "{a:\"${env.\\\"X\\\"}\\né\"}"),
            ("a = <<-EOF\n  x\n    y\n\n  EOF\nb = 1", "{a:\"x\\n  y\\n\\n\",b:1}"),
            ("a = <<EOF\r\n x\r\nEOF\r\n", "{a:\" x\\n\"}"),
            ("{\"a\": [1, {\"b\": null}], \"c\": {\"d\": \"\\ud83d\\ude00\"}}", "{a:[1,{b:null}],c:{d:\"😀\"}}"),
            ("  {}  ", "{}"),
            ("\u{feff}a = 1", "{a:1}"),
            ("ports { http = 4646 rpc = 4647 serf = 4648 }", "{ports:{http:4646,rpc:4647,serf:4648}}"),
            ("a=1b=0x1Fg=1e5e=\"x\"f{}h=[]i j{}", "{a:1,b:0x1F,g:1e5,e:\"x\",f:{},h:[],i:{j:{}}}"),
        ] {
            assert_eq!(shown(text), want, "{text}");
        }
    }

    #[test]
    fn errors_tell_the_place() {
        for (text, want) in [
            ("a = ", "1:5: expected a value, found end of file"),
            ("client {\n  a = 1", "2:8: object that begins at 1:8 is not closed"),
            ("a = yes", "1:5: yes is not a value; text needs quotes"),
            ("a = 1 b", "1:8: expected '=' or a block behind the key, found end of file"),
            ("a = 1 b 2", "1:9: expected '=' or a block behind the key, found \"2\""),
            ("a = 1 2 = 3", "1:7: expected a key, found \"2\""),
            ("a = 1,, b = 2", "1:7: expected a key, found \",\""),
            ("a = 60s", "1:5: 60s is not a value; text needs quotes"),
            ("a { b = 60s c = 1 }", "1:9: 60s is not a value; text needs quotes"),
            ("a = \"x\nb = 2", "1:7: text is not closed on its line"),
            ("a = \"x", "1:5: text is not closed"),
            ("a = \"\\q\"", "1:6: unknown escape sequence \\q"),
            ("}", "1:1: expected a key, found \"}\""),
            ("a", "1:2: expected '=' or a block behind the key, found end of file"),
            ("a = [1 2]", "1:8: expected a comma or the end of the list, found \"2\""),
            ("a = [", "1:6: list that begins at 1:5 is not closed"),
            ("a \"b\" = 1", "1:8: a block with labels has no '='"),
            ("/* x", "1:1: comment is not closed"),
            ("a = <<X\nb", "1:5: heredoc without its end X"),
            ("{\"a\": 1 \"b\": 2}", "1:9: expected a comma or the end of the object, found \"\\\"\""),
            ("{\"a\": 1,}", "1:9: a key has to follow the comma"),
            ("{\"a\" 1}", "1:6: expected a colon, found \"1\""),
            ("{\"a\": 1} x", "1:10: unexpected \"x\" behind the configuration"),
            ("{\"a\": 1", "1:8: expected a comma or the end of the object, found end of file"),
        ] {
            assert_eq!(shown(text), want, "{text}");
        }
        let deep = format!("a = {}", "[".repeat(100_000));
        assert!(shown(&deep).ends_with("nested too deeply"));
    }
}

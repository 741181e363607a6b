//! API JSON documents: syntax and its error texts.

use std::fmt;

use thiserror::Error;

/// A value of the document; members in order.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Node::Null => Kind::Null,
            Node::Bool(_) => Kind::Bool,
            Node::Number(_) => Kind::Number,
            Node::String(_) => Kind::String,
            Node::Array(_) => Kind::Array,
            Node::Object(_) => Kind::Object,
        }
    }
}

/// The kind of a value; displays as error texts name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number of any value.
    Number,
    /// The number that is written so.
    Literal(String),
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Null => "null",
            Kind::Bool => "bool",
            Kind::Number => "number",
            Kind::Literal(text) => return write!(f, "number {text}"),
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        })
    }
}

/// Why a text is no JSON document, or one that is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SyntaxError {
    /// A byte does not fit.
    #[error("invalid character {} {context}", Shown(*found))]
    Unexpected {
        /// The byte.
        found: u8,
        /// The place in the grammar.
        context: &'static str,
    },
    /// A byte is none of `true`, `false` or `null`.
    #[error("invalid character {} in literal {word} (expecting '{}')", Shown(*found), char::from(*expected))]
    Literal {
        /// The byte.
        found: u8,
        /// The word that began.
        word: &'static str,
        /// The byte of the word that belongs here.
        expected: u8,
    },
    /// The document is not complete.
    #[error("unexpected end of JSON input")]
    End,
    /// The document has more than 200 levels.
    #[error("exceeded max depth")]
    Depth,
    /// The document has more objects than a job may have.
    #[error("more than {MAX_OBJECTS} objects in one job; split it into several")]
    Objects,
}

/// A byte in quotes, with escapes.
struct Shown(u8);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\'' => f.write_str("'\\''"),
            b'"' => f.write_str("'\"'"),
            b'\n' => f.write_str("'\\n'"),
            b'\r' => f.write_str("'\\r'"),
            b'\t' => f.write_str("'\\t'"),
            b'\\' => f.write_str("'\\\\'"),
            byte @ 0x20..0x7f => write!(f, "'{}'", char::from(byte)),
            byte @ (0x80..=0x9f | 0..0x20 | 0x7f) => write!(f, "'\\x{byte:02x}'"),
            // A byte is shown as the character of that number.
            byte => write!(f, "'{}'", char::from(byte)),
        }
    }
}

/// Deeper documents are refused.
const MAX_DEPTH: usize = 200;
/// Documents with more objects are refused: each may become a group, a task or a service with all its defaults.
const MAX_OBJECTS: usize = 20_000;

/// Checks and reads the document; its errors name the byte that does not fit and what was being looked for.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    objects: usize,
}

/// Reads a document.
pub(crate) fn document(text: &[u8]) -> Result<Node, SyntaxError> {
    Scanner { text, at: 0, depth: 0, objects: 0 }.document()
}

impl Scanner<'_> {
    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The byte that is read next.
    fn found(&self) -> Result<u8, SyntaxError> {
        self.text.get(self.at).copied().ok_or(SyntaxError::End)
    }

    fn unexpected<T>(&self, context: &'static str) -> Result<T, SyntaxError> {
        Err(SyntaxError::Unexpected { found: self.found()?, context })
    }

    fn document(&mut self) -> Result<Node, SyntaxError> {
        // Text behind the first value is not read.
        self.value()
    }

    fn value(&mut self) -> Result<Node, SyntaxError> {
        self.space();
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError::Depth);
        }
        self.depth += 1;
        let node = match self.text.get(self.at) {
            Some(b'{') if self.objects >= MAX_OBJECTS => Err(SyntaxError::Objects),
            Some(b'{') => {
                self.objects += 1;
                self.object()
            }
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(Node::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Node::Bool(true)),
            Some(b'f') => self.word("false", Node::Bool(false)),
            Some(b'n') => self.word("null", Node::Null),
            _ => self.unexpected("looking for beginning of value"),
        };
        self.depth -= 1;
        node
    }

    fn word(&mut self, word: &'static str, node: Node) -> Result<Node, SyntaxError> {
        for expected in word.bytes() {
            let found = self.found()?;
            if found != expected {
                return Err(SyntaxError::Literal { found, word, expected });
            }
            self.at += 1;
        }
        Ok(node)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Node, SyntaxError> {
        let start = self.at;
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.text.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else if self.digits() == 0 {
            return self.unexpected("in numeric literal");
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return self.unexpected("after decimal point in numeric literal");
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return self.unexpected("in exponent of numeric literal");
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        Ok(Node::Number(String::from_utf8_lossy(text).into_owned()))
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let mut out: Vec<u8> = Vec::new();
        self.at += 1;
        loop {
            match self.found()? {
                b'"' => {
                    self.at += 1;
                    return Ok(String::from_utf8_lossy(&out).into_owned());
                }
                b'\\' => {
                    self.at += 1;
                    let escaped = self.escape()?;
                    out.extend_from_slice(escaped.encode_utf8(&mut [0; 4]).as_bytes());
                }
                0..0x20 => return self.unexpected("in string literal"),
                byte => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// The character behind a backslash.
    fn escape(&mut self) -> Result<char, SyntaxError> {
        let simple = match self.text.get(self.at) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'u') => {
                self.at += 1;
                let first = self.hex()?;
                if !(0xd800..0xdc00).contains(&first) || self.text.get(self.at..self.at + 2) != Some(b"\\u") {
                    return Ok(char::from_u32(first).unwrap_or('\u{fffd}'));
                }
                let back = self.at;
                self.at += 2;
                let second = self.hex()?;
                if (0xdc00..0xe000).contains(&second) {
                    let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
                }
                self.at = back;
                return Ok('\u{fffd}');
            }
            _ => return self.unexpected("in string escape code"),
        };
        self.at += 1;
        Ok(simple)
    }

    fn hex(&mut self) -> Result<u32, SyntaxError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.text.get(self.at).and_then(|b| char::from(*b).to_digit(16));
            let Some(digit) = digit else { return self.unexpected("in \\u hexadecimal character escape") };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn array(&mut self) -> Result<Node, SyntaxError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.text.get(self.at) == Some(&b']') {
            self.at += 1;
            return Ok(Node::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.space();
            match self.text.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Node::Array(items));
                }
                _ => return self.unexpected("after array element"),
            }
        }
    }

    fn object(&mut self) -> Result<Node, SyntaxError> {
        self.at += 1;
        let mut members = Vec::new();
        self.space();
        if self.text.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Ok(Node::Object(members));
        }
        loop {
            self.space();
            if self.text.get(self.at) != Some(&b'"') {
                return self.unexpected("looking for beginning of object key string");
            }
            let name = self.string()?;
            self.space();
            if self.text.get(self.at) != Some(&b':') {
                return self.unexpected("after object key");
            }
            self.at += 1;
            members.push((name, self.value()?));
            self.space();
            match self.text.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Node::Object(members));
                }
                _ => return self.unexpected("after object key:value pair"),
            }
        }
    }
}

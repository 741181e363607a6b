//! API JSON documents: syntax and its error texts.

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
    /// The kind as error texts name it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Bool(_) => "bool",
            Node::Number(_) => "number",
            Node::String(_) => "string",
            Node::Array(_) => "array",
            Node::Object(_) => "object",
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
pub(crate) fn document(text: &[u8]) -> Result<Node, String> {
    Scanner { text, at: 0, depth: 0, objects: 0 }.document()
}

const END: &str = "unexpected end of JSON input";

impl Scanner<'_> {
    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn unexpected<T>(&self, context: &str) -> Result<T, String> {
        let Some(byte) = self.text.get(self.at) else { return Err(END.to_owned()) };
        let shown = match byte {
            b'\'' => "'\\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            b'\n' => "'\\n'".to_owned(),
            b'\r' => "'\\r'".to_owned(),
            b'\t' => "'\\t'".to_owned(),
            b'\\' => "'\\\\'".to_owned(),
            0x20..0x7f => format!("'{}'", char::from(*byte)),
            0x80..=0x9f | 0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
            // A byte is shown as the character of that number.
            _ => format!("'{}'", char::from(*byte)),
        };
        Err(format!("invalid character {shown} {context}"))
    }

    fn document(&mut self) -> Result<Node, String> {
        // What stands behind the first value is not read.
        self.value()
    }

    fn value(&mut self) -> Result<Node, String> {
        self.space();
        if self.depth >= MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        self.depth += 1;
        let node = match self.text.get(self.at) {
            Some(b'{') if self.objects >= MAX_OBJECTS => {
                Err(format!("more than {MAX_OBJECTS} objects in one job; split it into several"))
            }
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

    fn word(&mut self, word: &str, node: Node) -> Result<Node, String> {
        for expected in word.bytes() {
            if self.text.get(self.at) != Some(&expected) {
                return self.unexpected(&format!("in literal {word} (expecting '{}')", char::from(expected)));
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

    fn number(&mut self) -> Result<Node, String> {
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

    fn string(&mut self) -> Result<String, String> {
        let mut out: Vec<u8> = Vec::new();
        self.at += 1;
        loop {
            let Some(byte) = self.text.get(self.at).copied() else { return Err(END.to_owned()) };
            match byte {
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
                _ => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// The character behind a backslash.
    fn escape(&mut self) -> Result<char, String> {
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

    fn hex(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.text.get(self.at).and_then(|b| char::from(*b).to_digit(16));
            let Some(digit) = digit else { return self.unexpected("in \\u hexadecimal character escape") };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn array(&mut self) -> Result<Node, String> {
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

    fn object(&mut self) -> Result<Node, String> {
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

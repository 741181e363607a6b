//! Reads YAML for `yamldecode` of job files and `parseYAML` of templates: documents, nesting, anchors with their aliases,
//! and merge keys (`<<`). What scalars and keys mean, and how much a document may take, is for a [`Builder`] to say: the
//! two dialects resolve numbers, booleans and times differently.
//!
//! **Never** writes YAML: the two dialects quote, indent and wrap differently.

#![warn(missing_docs)]

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};

pub use saphyr_parser::Tag;

/// The entries of a mapping.
pub type Entries<V> = BTreeMap<Arc<str>, V>;

/// Makes values.
pub trait Builder {
    /// A value.
    type Value: Clone;
    /// Why a text has no value.
    type Error: From<Fault>;

    /// Sequences and mappings nest no deeper.
    const MAX_DEPTH: usize;

    /// The value of a scalar.
    ///
    /// # Errors
    /// The scalar has no value.
    fn scalar(&mut self, scalar: &Scalar<'_>) -> Result<Self::Value, Self::Error>;

    /// A sequence.
    ///
    /// # Errors
    /// The sequence is too large.
    fn sequence(&mut self, items: Vec<Self::Value>) -> Result<Self::Value, Self::Error>;

    /// A mapping.
    ///
    /// # Errors
    /// The mapping is too large.
    fn mapping(&mut self, entries: Entries<Self::Value>) -> Result<Self::Value, Self::Error>;

    /// The name of a key of a mapping.
    ///
    /// # Errors
    /// Mappings have no such keys.
    fn key(&mut self, key: Self::Value) -> Result<Arc<str>, Self::Error>;

    /// The items, if the value is a sequence.
    fn items(value: &Self::Value) -> Option<&[Self::Value]>;

    /// The entries, if the value is a mapping.
    fn entries(value: &Self::Value) -> Option<&Entries<Self::Value>>;

    /// Counts a value that is made, or copied by a merge key.
    ///
    /// # Errors
    /// The document takes too much.
    fn count(&mut self, value: &Self::Value) -> Result<(), Self::Error>;
}

/// A scalar.
#[derive(Debug, Clone, Copy)]
pub struct Scalar<'a> {
    /// Its text, without quotes.
    pub text: &'a str,
    /// Whether it has no quotes and is no block: its looks decide what it is.
    pub plain: bool,
    /// Its tag.
    pub tag: Option<&'a Tag>,
}

/// Why a text is no YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A mistake of syntax.
    #[error("on line {line}, column {column}: {text}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The mistake; may contain parts of the text.
        text: String,
    },
    /// Content outside of a document.
    #[error("unexpected content")]
    Content,
    /// A sequence or mapping without its end.
    #[error("unexpected end of content")]
    End,
    /// More levels than [`Builder::MAX_DEPTH`].
    #[error("exceeded max depth")]
    Depth,
    /// An alias without an anchor before it.
    #[error("cannot refer to a value from inside itself")]
    Alias,
    /// A merge key with something else than mappings.
    #[error("map merge requires map or sequence of maps as the value")]
    Merge,
}

/// A text that is being read.
pub struct Reader<'t, B: Builder> {
    events: Parser<'t, StrInput<'t>>,
    builder: B,
    anchors: HashMap<usize, B::Value>,
    depth: usize,
    /// Where the last event starts.
    at: Marker,
}

impl<'t, B: Builder> Reader<'t, B> {
    /// Starts to read a text.
    pub fn new(text: &'t str, builder: B) -> Reader<'t, B> {
        let events = Parser::new_from_str(text);
        Reader { events, builder, anchors: HashMap::new(), depth: 0, at: Marker::default() }
    }

    /// The line and column of what was read last, from 1.
    pub fn position(&self) -> (usize, usize) {
        (self.at.line(), self.at.col() + 1)
    }

    /// Goes to the next document; whether there is one.
    ///
    /// # Errors
    /// The text is no YAML.
    pub fn next_document(&mut self) -> Result<bool, B::Error> {
        loop {
            match self.event()? {
                Event::StreamEnd => return Ok(false),
                Event::DocumentStart(_) => return Ok(true),
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                _ => return Err(Fault::Content.into()),
            }
        }
    }

    /// The value of the document that [`Reader::next_document`] found.
    ///
    /// # Errors
    /// The text is no YAML, or the builder refuses a value.
    pub fn document(&mut self) -> Result<B::Value, B::Error> {
        let first = self.event()?;
        self.node(first)
    }

    fn event(&mut self) -> Result<Event<'t>, B::Error> {
        match self.events.next() {
            Some(Ok((event, Span { start, .. }))) => {
                self.at = start;
                Ok(event)
            }
            Some(Err(error)) => Err(syntax(&error).into()),
            None => Ok(Event::StreamEnd),
        }
    }

    /// The value that starts with an event.
    fn node(&mut self, event: Event<'t>) -> Result<B::Value, B::Error> {
        if self.depth > B::MAX_DEPTH {
            return Err(Fault::Depth.into());
        }
        self.depth += 1;
        let (anchor, value) = match event {
            Event::Alias(anchor) => (0, self.anchors.get(&anchor).cloned().ok_or(Fault::Alias)?),
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar { text: &text, plain: style == ScalarStyle::Plain, tag: tag.as_deref() };
                (anchor, self.builder.scalar(&scalar)?)
            }
            Event::SequenceStart(anchor, _) => (anchor, self.sequence()?),
            Event::MappingStart(anchor, _) => (anchor, self.mapping()?),
            _ => return Err(Fault::End.into()),
        };
        self.depth -= 1;
        self.builder.count(&value)?;
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn sequence(&mut self) -> Result<B::Value, B::Error> {
        let mut items = Vec::new();
        loop {
            match self.event()? {
                Event::SequenceEnd => return self.builder.sequence(items),
                event => items.push(self.node(event)?),
            }
        }
    }

    fn mapping(&mut self) -> Result<B::Value, B::Error> {
        let (mut entries, mut merged) = (Entries::new(), Entries::new());
        loop {
            let event = match self.event()? {
                Event::MappingEnd => break,
                event => event,
            };
            let merges = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.node(event)?;
            let event = self.event()?;
            let value = self.node(event)?;
            if merges {
                self.merge(&mut merged, &value)?;
            } else {
                entries.insert(self.builder.key(key)?, value);
            }
        }
        // The entries of the mapping itself replace merged ones.
        merged.append(&mut entries);
        self.builder.mapping(merged)
    }

    /// Takes over what `<<` refers to: a mapping or several, of which the first one with a key wins.
    fn merge(&mut self, merged: &mut Entries<B::Value>, value: &B::Value) -> Result<(), B::Error> {
        let sources = B::items(value).unwrap_or(std::slice::from_ref(value));
        for source in sources {
            for (key, value) in B::entries(source).ok_or(Fault::Merge)? {
                self.builder.count(value)?;
                merged.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        Ok(())
    }
}

fn syntax(error: &ScanError) -> Fault {
    let at = error.marker();
    Fault::Syntax { line: at.line(), column: at.col() + 1, text: error.info().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values as flow text, of which at most a number of bytes is made.
    struct Flow(usize);

    #[derive(Debug, Clone, PartialEq)]
    enum Node {
        Text(String),
        Items(Vec<Node>),
        Entries(Entries<Node>),
    }

    impl Builder for Flow {
        type Value = Node;
        type Error = Fault;
        const MAX_DEPTH: usize = 20;

        fn scalar(&mut self, scalar: &Scalar<'_>) -> Result<Node, Fault> {
            let quote = if scalar.plain { "" } else { "'" };
            Ok(Node::Text(format!("{quote}{}{quote}", scalar.text)))
        }

        fn sequence(&mut self, items: Vec<Node>) -> Result<Node, Fault> {
            Ok(Node::Items(items))
        }

        fn mapping(&mut self, entries: Entries<Node>) -> Result<Node, Fault> {
            Ok(Node::Entries(entries))
        }

        fn key(&mut self, key: Node) -> Result<Arc<str>, Fault> {
            Ok(text(&key).into())
        }

        fn items(value: &Node) -> Option<&[Node]> {
            if let Node::Items(items) = value { Some(items) } else { None }
        }

        fn entries(value: &Node) -> Option<&Entries<Node>> {
            if let Node::Entries(entries) = value { Some(entries) } else { None }
        }

        fn count(&mut self, _: &Node) -> Result<(), Fault> {
            self.0 = self.0.checked_sub(1).ok_or(Fault::End)?;
            Ok(())
        }
    }

    fn text(node: &Node) -> String {
        match node {
            Node::Text(text) => text.clone(),
            Node::Items(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(" ")),
            Node::Entries(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("{key}:{}", text(value))).collect();
                format!("{{{}}}", entries.join(" "))
            }
        }
    }

    fn read(source: &str) -> Result<Vec<String>, Fault> {
        let mut reader = Reader::new(source, Flow(100));
        let mut documents = Vec::new();
        while reader.next_document()? {
            documents.push(text(&reader.document()?));
        }
        Ok(documents)
    }

    #[test]
    fn documents_and_their_values() {
        for (source, want) in [
            ("", vec![]),
            ("a: 1\nb: [x, 'y']\n", vec!["{a:1 b:[x 'y']}"]),
            ("--- 1\n--- 2\n", vec!["1", "2"]),
            ("a: &x [1]\nb: *x\n", vec!["{a:[1] b:[1]}"]),
            ("a: &x {k: 1, l: 1}\nb: {<<: *x, l: 2}\n", vec!["{a:{k:1 l:1} b:{k:1 l:2}}"]),
            ("a: &x {k: 1}\nb: &y {k: 2, l: 2}\nc: {<<: [*x, *y]}\n", vec!["{a:{k:1} b:{k:2 l:2} c:{k:1 l:2}}"]),
        ] {
            assert_eq!(read(source).unwrap(), want, "{source:?}");
        }
    }

    #[test]
    fn faults() {
        for (source, want) in [
            ("&a [*a]", Fault::Alias),
            ("<<: 1", Fault::Merge),
            ("<<: [{a: 1}, 1]", Fault::Merge),
            (&format!("{}{}", "[".repeat(30), "]".repeat(30)), Fault::Depth),
            (&format!("a: &x {{{}}}\n<<: [{}]", "k: 1, l: 1, m: 1", "*x, ".repeat(30)), Fault::End),
        ] {
            assert_eq!(read(source).unwrap_err(), want, "{source:?}");
        }
        assert!(matches!(read("a: b: c").unwrap_err(), Fault::Syntax { line: 1, column: 5, .. }));
    }
}

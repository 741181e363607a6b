//! Text that may be printed: control characters are escaped, and only this program's own tags become escape sequences.
//!
//! Names, messages and other values come from job files and servers. A control character in one of them could move the
//! cursor, hide text or reprogram the terminal, so none reaches a stream except through
//! [`Ui::bytes`](super::ui::Ui::bytes).

use std::borrow::Cow;
use std::fmt;

use super::markup::{markup, replace_tags, reset};

/// A text without foreign control characters. Line feeds and tabs stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Styled(String);

impl Styled {
    /// The text with its tags replaced (`docs/spec/cli.md §3.2`) and everything else escaped.
    pub fn markup(text: &str, colours: bool) -> Styled {
        Styled(markup(&visible(text), colours))
    }

    /// A text whose values from elsewhere are escaped already.
    pub fn from_escaped(text: String) -> Styled {
        Styled(text)
    }

    /// Appends a text.
    pub fn push(&mut self, text: impl Into<Styled>) {
        self.0.push_str(&text.into().0);
    }

    /// Whether there is nothing to print.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text with a character replaced.
    pub fn replace(&self, from: char, to: &str) -> Styled {
        Styled(self.0.replace(from, &visible(to)))
    }

    /// The lines of the text.
    pub fn lines(&self) -> impl Iterator<Item = Styled> {
        self.0.split('\n').map(|line| Styled(line.to_string()))
    }

    /// The text as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text with tags that has pieces which are styled already.
#[derive(Debug, Default)]
pub struct TaggedText {
    text: String,
    tagged: bool,
    colours: bool,
}

impl TaggedText {
    /// An empty text.
    pub fn new(colours: bool) -> TaggedText {
        TaggedText { colours, ..TaggedText::default() }
    }

    /// Appends a piece with tags.
    pub fn tags(&mut self, piece: &str) {
        let (piece, tagged) = replace_tags(&visible(piece), self.colours);
        self.text.push_str(&piece);
        self.tagged |= tagged;
    }

    /// Appends a piece as it is.
    pub fn styled(&mut self, piece: &Styled) {
        self.text.push_str(piece.as_str());
    }

    /// Removes a line end at the end.
    pub fn pop_line_end(&mut self) {
        if self.text.ends_with('\n') {
            self.text.pop();
        }
    }

    /// The whole text.
    pub fn finish(mut self) -> Styled {
        if self.tagged && self.colours {
            self.text.push_str(&reset().to_string());
        }
        Styled(self.text)
    }
}

impl fmt::Display for Styled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A text that can be printed.
pub trait Printable {
    /// The text with everything escaped that is not styled.
    fn printable(&self) -> Cow<'_, str>;
}

impl Printable for str {
    fn printable(&self) -> Cow<'_, str> {
        visible(self)
    }
}

impl Printable for String {
    fn printable(&self) -> Cow<'_, str> {
        visible(self)
    }
}

impl Printable for Styled {
    fn printable(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

impl From<&str> for Styled {
    fn from(text: &str) -> Styled {
        Styled(visible(text).into_owned())
    }
}

impl From<&String> for Styled {
    fn from(text: &String) -> Styled {
        text.as_str().into()
    }
}

impl From<String> for Styled {
    fn from(text: String) -> Styled {
        match visible(&text) {
            Cow::Borrowed(_) => Styled(text),
            Cow::Owned(escaped) => Styled(escaped),
        }
    }
}

impl From<&Styled> for Styled {
    fn from(text: &Styled) -> Styled {
        text.clone()
    }
}

/// The text with control characters as Go writes them in quotes: `\x1b`, `\r`, `\u202e`. Line feeds and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c| !matches!(c, '\n' | '\t'))
}

/// The same for a text that must stay on one line: line feeds and tabs are escaped too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| true)
}

fn escaped(text: &str, also: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| is_unsafe(c) && also(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !bad(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x100 => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    Cow::Owned(out)
}

/// Control characters, line and paragraph separators, and characters that reorder the text around them.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("a\x1b[31mb\r\x07\u{9b}\u{202e}\x7f"), "a\\x1b[31mb\\r\\x07\\x9b\\u202e\\x7f");
        assert_eq!(visible("a\tb\nc ü ✓ 👩‍🔧"), "a\tb\nc ü ✓ 👩‍🔧");
        assert_eq!(one_line("a\tb\nc\r"), "a\\tb\\nc\\r");
    }

    #[test]
    fn only_tags_become_escape_sequences() {
        assert_eq!(Styled::markup("[bold]a\x1b[2Jb", true).as_str(), "\x1b[1ma\\x1b[2Jb\x1b[0m");
        assert_eq!(Styled::markup("[bold]a\x1b[2Jb", false).as_str(), "a\\x1b[2Jb");
        let mut text = Styled::markup("[red]x[reset]", true);
        text.push("\x1b");
        assert_eq!(text.as_str(), "\x1b[31mx\x1b[0m\x1b[0m\\x1b");
    }
}

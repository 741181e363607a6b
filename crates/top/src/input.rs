//! Bytes of a terminal as keys and mouse events.
//!
//! The terminal is read here and not by a library, so that a terminal that was closed ends the program: it reads as an
//! end of file.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A letter with Control.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Tab with Shift.
    BackTab,
    /// Backspace.
    Backspace,
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// A button was pressed.
    Press,
    /// The wheel was turned up.
    WheelUp,
    /// The wheel was turned down.
    WheelDown,
}

/// What came from the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// The mouse was used in this column and row, from 0.
    Mouse(MouseKind, u16, u16),
}

/// The longest sequence that is waited for, in bytes.
const MAX_SEQUENCE: usize = 64;

/// Bytes that are no full key yet.
#[derive(Debug, Default)]
pub struct Decoder {
    begun: Vec<u8>,
}

/// What the first bytes are.
enum Step {
    /// So many bytes are an input, or something of no use.
    Full(usize, Option<Input>),
    /// More bytes are needed.
    Part,
}

impl Decoder {
    /// Adds bytes: the inputs that they complete.
    pub fn add(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.begun.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Step::Full(length, input) = step(&self.begun) {
            self.begun.drain(..length.min(self.begun.len()));
            out.extend(input);
        }
        if self.begun.len() > MAX_SEQUENCE {
            self.begun.clear();
        }
        out
    }

    /// Whether a sequence has begun. Without further bytes it is the key Escape.
    pub fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    /// No further bytes came: a single Escape is that key.
    pub fn flush(&mut self) -> Option<Input> {
        let begun = std::mem::take(&mut self.begun);
        (begun.first() == Some(&0x1b)).then_some(Input::Key(Key::Esc))
    }
}

fn step(bytes: &[u8]) -> Step {
    let key = |length, key| Step::Full(length, Some(Input::Key(key)));
    match bytes {
        [] | [0x1b] => Step::Part,
        [0x1b, b'[', rest @ ..] => sequence(rest),
        [0x1b, b'O', rest @ ..] => match rest.first() {
            None => Step::Part,
            Some(letter) => Step::Full(3, named(*letter).map(Input::Key)),
        },
        // Two of them: the first is a key of its own.
        [0x1b, ..] => key(1, Key::Esc),
        [b'\r' | b'\n', ..] => key(1, Key::Enter),
        [b'\t', ..] => key(1, Key::Tab),
        [0x7f | 0x08, ..] => key(1, Key::Backspace),
        [0, ..] => Step::Full(1, None),
        [control @ 1..0x20, ..] => {
            // 1 is Control with A, and so on; those behind Z are of no use.
            let letter = char::from(control.saturating_add(b'a' - 1));
            Step::Full(1, letter.is_ascii_lowercase().then_some(Input::Key(Key::Ctrl(letter))))
        }
        [first, ..] => {
            let length = match first {
                0xc0..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0..0xf8 => 4,
                _ => 1,
            };
            let Some(character) = bytes.get(..length) else { return Step::Part };
            let text = std::str::from_utf8(character).ok();
            Step::Full(length, text.and_then(|text| text.chars().next()).map(|c| Input::Key(Key::Char(c))))
        }
    }
}

/// What follows `ESC [`.
fn sequence(rest: &[u8]) -> Step {
    let Some(end) = rest.iter().position(|b| (0x40..=0x7e).contains(b)) else { return Step::Part };
    let parameters = rest.get(..end).unwrap_or_default();
    let last = rest.get(end).copied().unwrap_or_default();
    // The two bytes before, and the last one.
    let length = end.saturating_add(3);
    if let Some(mouse) = parameters.strip_prefix(b"<") {
        return Step::Full(length, mouse_of(mouse, last));
    }
    let key = match (last, parameters) {
        (b'~', [b'1' | b'7', ..]) => Some(Key::Home),
        (b'~', [b'4' | b'8', ..]) => Some(Key::End),
        (b'~', [b'5', ..]) => Some(Key::PageUp),
        (b'~', [b'6', ..]) => Some(Key::PageDown),
        (b'Z', _) => Some(Key::BackTab),
        (letter, _) => named(letter),
    };
    Step::Full(length, key.map(Input::Key))
}

fn named(letter: u8) -> Option<Key> {
    match letter {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        b'H' => Some(Key::Home),
        b'F' => Some(Key::End),
        _ => None,
    }
}

/// `button;column;row`, from 1; `M` is a press, `m` a release.
fn mouse_of(parameters: &[u8], last: u8) -> Option<Input> {
    let text = std::str::from_utf8(parameters).ok()?;
    let mut numbers = text.split(';').map(|n| n.parse::<u16>().ok());
    let (button, column, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let kind = match (button, last) {
        (64, _) => MouseKind::WheelUp,
        (65, _) => MouseKind::WheelDown,
        (0, b'M') => MouseKind::Press,
        _ => return None,
    };
    Some(Input::Mouse(kind, column.saturating_sub(1), row.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Input> {
        Decoder::default().add(bytes)
    }

    #[test]
    fn keys_of_terminals_are_known() {
        let of = |bytes: &[u8]| match keys(bytes).as_slice() {
            [Input::Key(key)] => Some(*key),
            _ => None,
        };
        for (bytes, key) in [
            (&b"j"[..], Key::Char('j')),
            ("é".as_bytes(), Key::Char('é')),
            (b"\r", Key::Enter),
            (b"\x03", Key::Ctrl('c')),
            (b"\x1b[A", Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[5~", Key::PageUp),
            (b"\x1b[1;5C", Key::Right),
            (b"\x1b[Z", Key::BackTab),
            (b"\x7f", Key::Backspace),
        ] {
            assert_eq!(of(bytes), Some(key), "{bytes:?}");
        }
    }

    #[test]
    fn a_sequence_may_come_in_parts_and_escape_alone() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.add(b"\x1b"), []);
        assert_eq!(decoder.add(b"["), []);
        assert_eq!(decoder.add(b"B"), [Input::Key(Key::Down)]);
        assert_eq!(decoder.add(b"\x1b"), []);
        assert_eq!(decoder.flush(), Some(Input::Key(Key::Esc)));
        assert!(!decoder.has_begun());
        assert_eq!(decoder.add(b"\x1b\x1b"), [Input::Key(Key::Esc)]);
    }

    #[test]
    fn the_mouse_presses_and_turns() {
        assert_eq!(keys(b"\x1b[<0;5;7M\x1b[<0;5;7m"), [Input::Mouse(MouseKind::Press, 4, 6)]);
        assert_eq!(keys(b"\x1b[<65;1;1M"), [Input::Mouse(MouseKind::WheelDown, 0, 0)]);
    }

    #[test]
    fn no_bytes_are_kept_without_end() {
        let mut decoder = Decoder::default();
        for _ in 0..1000 {
            decoder.add(b"\x1b[0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0");
        }
        assert!(decoder.begun.len() <= MAX_SEQUENCE);
        assert_eq!(keys(&[0xff, 0xc0]), []);
    }
}

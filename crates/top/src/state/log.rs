//! The output of a task, followed as it is written.

use std::collections::VecDeque;

use crate::input::Key;
use crate::messages::{Effect, Piece};
use crate::row::{Object, encoded};
use crate::state::overlay::Overlay;
use crate::state::{Note, State};

/// The most lines that are retained.
pub const MAX_LINES: usize = 5000;
/// The longest line, in bytes: what follows starts another one.
const MAX_LINE: usize = 4000;
/// How many bytes of what was written before are read.
const BEFORE: u32 = 64 << 10;

/// A stream of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Output {
    /// Its name in the API and in titles.
    pub fn name(self) -> &'static str {
        match self {
            Output::Stdout => "stdout",
            Output::Stderr => "stderr",
        }
    }
}

/// A log on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The number that pieces of it have.
    pub id: u64,
    /// The allocation.
    pub allocation: Object,
    /// The task.
    pub task: String,
    /// The stream.
    pub output: Output,
    /// The last lines.
    pub lines: VecDeque<String>,
    /// How many lines of the end are not shown; 0: the log is followed.
    pub behind: usize,
    /// The first column that is shown.
    pub column: usize,
    /// Why it is not read any more.
    pub ended: Option<String>,
    /// Whether the last line has ended.
    full: bool,
}

impl Log {
    /// A log without lines.
    pub fn new(id: u64, allocation: Object, task: String, output: Output) -> Log {
        let lines = VecDeque::new();
        Log { id, allocation, task, output, lines, behind: 0, column: 0, ended: None, full: true }
    }

    /// The path of the API that streams it.
    pub fn path(&self) -> String {
        let path = self.allocation.query(&format!("/v1/client/fs/logs/{}", encoded(&self.allocation.id)));
        let (task, output) = (encoded(&self.task), self.output.name());
        let separator = if path.contains('?') { '&' } else { '?' };
        format!("{path}{separator}task={task}&type={output}&follow=true&plain=true&origin=end&offset={BEFORE}")
    }

    /// Adds text. Control characters and sequences for terminals are left out.
    pub fn add(&mut self, text: &str) {
        for line in plain(text).split_inclusive('\n') {
            let (mut rest, full) = line.strip_suffix('\n').map_or((line, false), |content| (content, true));
            if let Some(last) = self.lines.back_mut().filter(|_| !self.full) {
                let (first, others) = split(rest, MAX_LINE.saturating_sub(last.len()));
                last.push_str(first);
                rest = others;
            } else if rest.is_empty() {
                self.push("");
            }
            while !rest.is_empty() {
                let (first, others) = split(rest, MAX_LINE);
                self.push(first);
                rest = others;
            }
            self.full = full;
        }
        self.behind = self.behind.min(self.lines.len().saturating_sub(1));
    }

    fn push(&mut self, line: &str) {
        self.lines.push_back(line.to_string());
        // What is shown stays where it is while a person has scrolled back.
        self.behind = if self.behind > 0 { self.behind.saturating_add(1) } else { 0 };
        if self.lines.len() > MAX_LINES {
            self.lines.pop_front();
        }
    }

    /// The first line on a screen with so many.
    pub fn first(&self, page: usize) -> usize {
        self.lines.len().saturating_sub(self.behind).saturating_sub(page)
    }

    /// Scrolls by lines.
    pub fn scroll(&mut self, by: isize, page: usize) {
        let most = self.lines.len().saturating_sub(page);
        self.behind = self.behind.saturating_add_signed(by.saturating_neg()).min(most);
    }
}

/// A text in two parts, the first of which has at most so many bytes.
fn split(text: &str, bytes: usize) -> (&str, &str) {
    let mut at = bytes.min(text.len());
    while !text.is_char_boundary(at) {
        at = at.saturating_sub(1);
    }
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// A text without control characters, besides line ends, and without sequences for terminals; tabs as blanks.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\x1b' if chars.peek() == Some(&'[') => {
                chars.next();
                // A sequence ends with a letter; what is none ends with the line.
                while chars.peek().is_some_and(|c| *c != '\n') {
                    if chars.next().is_some_and(|c| ('@'..='~').contains(&c)) {
                        break;
                    }
                }
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

impl State {
    /// Shows and follows a log.
    pub(super) fn follow(&mut self, allocation: Object, task: String, output: Output) -> Vec<Effect> {
        self.last_log = self.last_log.saturating_add(1);
        let log = Log::new(self.last_log, allocation, task, output);
        let effect = Effect::Follow { id: log.id, path: log.path() };
        self.overlay = Overlay::Log(log);
        vec![effect]
    }

    /// A piece of a log came.
    pub(super) fn add_to_log(&mut self, id: u64, piece: Piece) {
        if let Overlay::Log(log) = &mut self.overlay
            && log.id == id
        {
            match piece {
                Piece::Text(text) => log.add(&text),
                Piece::End(why) => log.ended = Some(why),
            }
        }
    }

    /// A key of a log that does not scroll.
    pub(super) fn log_key(&mut self, key: Key) -> Vec<Effect> {
        let Overlay::Log(log) = &mut self.overlay else { return Vec::new() };
        match key {
            Key::Esc | Key::Char('q') => {
                self.overlay = Overlay::None;
                return vec![Effect::StopFollowing];
            }
            Key::Char('l') | Key::Right => log.column = log.column.saturating_add(10),
            Key::Char('h') | Key::Left => log.column = log.column.saturating_sub(10),
            Key::Char('0') => log.column = 0,
            Key::Char('o' | 'r') | Key::Tab => {
                let other = match log.output {
                    Output::Stdout => Output::Stderr,
                    Output::Stderr => Output::Stdout,
                };
                let output = if key == Key::Char('r') { log.output } else { other };
                let (allocation, task) = (log.allocation.clone(), log.task.clone());
                return self.follow(allocation, task, output);
            }
            Key::Char('?') => {
                let text = "o: stdout or stderr  G: follow  r: read again  Esc: back".to_string();
                self.note = Some(Note { text, is_error: false });
            }
            _ => {}
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Kind;

    fn log() -> Log {
        Log::new(1, Object::new(Kind::Allocation, "prod", "a1"), "t".into(), Output::Stdout)
    }

    #[test]
    fn a_log_is_read_in_the_namespace_of_its_allocation() {
        let path = log().path();
        assert!(path.starts_with("/v1/client/fs/logs/a1?namespace=prod&task=t&type=stdout&follow=true"), "{path}");
    }

    #[test]
    fn lines_may_come_in_parts() {
        let mut log = log();
        ["a", "b\nc", "\n", "d\n"].iter().for_each(|text| log.add(text));
        assert_eq!(log.lines, ["ab", "c", "d"]);
    }

    #[test]
    fn sequences_for_terminals_are_left_out() {
        let mut log = log();
        log.add("\x1b[31mred\x1b[0m\ttab\r\n\x1b[2");
        assert_eq!(log.lines, ["red    tab"]);
    }

    #[test]
    fn old_lines_are_dropped_and_the_place_of_a_reader_stays() {
        let mut log = log();
        for n in 0..100 {
            log.add(&format!("{n}\n"));
        }
        assert_eq!(log.first(10), 90);
        log.scroll(-20, 10);
        let first = log.first(10);
        log.add("more\nlines\n");
        assert_eq!(log.first(10), first);
        log.scroll(isize::MAX, 10);
        assert_eq!(log.behind, 0);
        for n in 0..20_000 {
            log.add(&format!("{n}\n"));
        }
        assert_eq!(log.lines.len(), MAX_LINES);
        log.add(&"x".repeat(1 << 20));
        assert!(log.lines.iter().all(|line| line.len() <= MAX_LINE));
    }
}

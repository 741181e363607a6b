//! What is shown over a view: the help, texts about objects, and menus.

use crate::actions::{Act, Offer};
use crate::input::Key;
use crate::messages::{Effect, Purpose, Read};
use crate::row::Object;
use crate::state::State;
use crate::state::log::{Log, Output};

/// The longest text that is shown, in bytes.
const MAX_TEXT: usize = 4 << 20;

/// What is shown over a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    /// Nothing.
    None,
    /// The keys, from a line on.
    Help(usize),
    /// A text.
    Text(Page),
    /// Things to choose from.
    Menu(Menu),
    /// The output of a task.
    Log(Log),
}

/// A text with a title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// Its lines.
    pub lines: Vec<String>,
    /// The first line that is shown.
    pub first: usize,
    /// The first column that is shown.
    pub column: usize,
}

impl Page {
    /// A text from its beginning on.
    pub fn new(title: impl Into<String>, text: &str) -> Page {
        let mut end = text.len().min(MAX_TEXT);
        while !text.is_char_boundary(end) {
            end = end.saturating_sub(1);
        }
        let text = text.get(..end).unwrap_or_default();
        let lines = text.trim_end().lines().map(|line| line.replace('\t', "    ")).collect();
        Page { title: title.into(), lines, first: 0, column: 0 }
    }

    /// Scrolls by lines, on a screen with so many.
    pub fn scroll(&mut self, by: isize, page: usize) {
        let last = self.lines.len().saturating_sub(page);
        self.first = self.first.saturating_add_signed(by).min(last);
    }

    /// Scrolls by columns.
    pub fn shift(&mut self, by: isize) {
        let widest = self.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        self.column = self.column.saturating_add_signed(by).min(widest.saturating_sub(1));
    }
}

/// What an item of a menu does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Offers an action, which asks.
    Offer(Offer),
    /// Asks for the count of a group.
    Scale {
        /// The job.
        job: Object,
        /// The group.
        group: String,
        /// Its count as it is.
        count: i64,
    },
    /// Shows a namespace; `None`: all.
    Namespace(Option<String>),
    /// Asks whether to do something.
    Ask(Act),
    /// A task.
    Task {
        /// Its allocation.
        allocation: Object,
        /// The task.
        task: String,
        /// What for.
        purpose: Purpose,
    },
    /// Lists a directory.
    Directory(String),
    /// Plans a job file.
    JobFile(String),
}

/// Things to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// What is chosen.
    pub title: String,
    /// What is shown, and what it does.
    pub items: Vec<(String, Choice)>,
    /// The selected item.
    pub selected: usize,
}

impl Menu {
    /// A menu with its first item selected.
    pub fn new(title: impl Into<String>, items: Vec<(String, Choice)>) -> Menu {
        Menu { title: title.into(), items, selected: 0 }
    }

    fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.items.len().saturating_sub(1));
    }
}

impl State {
    /// Moves in what is shown: a list, the topology, a text or a menu.
    pub(super) fn step(&mut self, by: isize) {
        let page = self.page();
        match &mut self.overlay {
            Overlay::Text(text) => text.scroll(by, page),
            Overlay::Help(first) => {
                *first = first.saturating_add_signed(by).min(crate::help::lines().len().saturating_sub(page));
            }
            Overlay::Menu(menu) => menu.step(by),
            Overlay::Log(log) => log.scroll(by, page),
            Overlay::None => self.step_view(by),
        }
    }

    /// A key of a help, a text or a menu.
    pub(super) fn overlay_key(&mut self, key: Key) -> Vec<Effect> {
        if self.scrolled(key) {
            return Vec::new();
        }
        if matches!(self.overlay, Overlay::Log(_)) {
            return self.log_key(key);
        }
        match (&mut self.overlay, key) {
            (_, Key::Esc | Key::Char('q')) | (Overlay::Help(_), Key::Char('?')) => self.overlay = Overlay::None,
            (Overlay::Text(text), Key::Char('l') | Key::Right) => text.shift(10),
            (Overlay::Text(text), Key::Char('h') | Key::Left) => text.shift(-10),
            (Overlay::Text(text), Key::Char('0')) => text.column = 0,
            (Overlay::Menu(menu), Key::Enter) => {
                let chosen = menu.items.get(menu.selected).map(|(_, choice)| choice.clone());
                self.overlay = Overlay::None;
                return chosen.map(|choice| self.chosen(choice)).unwrap_or_default();
            }
            // The keys of offers work in their menu as well.
            (Overlay::Menu(menu), Key::Char(c)) => {
                let by_key = |choice: &Choice| matches!(choice, Choice::Offer(offer) if offer.key() == c);
                let found = menu.items.iter().find(|(_, choice)| by_key(choice)).map(|(_, choice)| choice.clone());
                if let Some(choice) = found {
                    self.overlay = Overlay::None;
                    return self.chosen(choice);
                }
            }
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn chosen(&mut self, choice: Choice) -> Vec<Effect> {
        match choice {
            Choice::Offer(offer) => return self.offered(offer),
            Choice::Scale { .. } => self.ask_count(choice),
            Choice::Namespace(namespace) => return self.choose_namespace(namespace),
            Choice::Ask(act) => self.ask(act),
            Choice::Task { allocation, task, purpose: Purpose::Logs } => {
                return self.follow(allocation, task, Output::Stdout);
            }
            Choice::Task { allocation, task, purpose: Purpose::Exec } => self.ask_command(allocation, task),
            Choice::Directory(directory) => return vec![Effect::Read(Read::Directory(directory))],
            Choice::JobFile(file) => return self.plan(vec![file]),
        }
        Vec::new()
    }

    /// The keys that move, which are the same everywhere. Whether it was one.
    pub(super) fn scrolled(&mut self, key: Key) -> bool {
        let page = isize::try_from(self.page()).unwrap_or(1);
        let half = page.checked_div(2).unwrap_or(1).max(1);
        match key {
            Key::Char('j') | Key::Down => self.step(1),
            Key::Char('k') | Key::Up => self.step(-1),
            Key::Char('g') | Key::Home => self.step(isize::MIN),
            Key::Char('G') | Key::End => self.step(isize::MAX),
            Key::Ctrl('d') => self.step(half),
            Key::Ctrl('u') => self.step(half.saturating_neg()),
            Key::PageDown | Key::Ctrl('f') | Key::Char(' ') => self.step(page),
            Key::PageUp | Key::Ctrl('b') => self.step(page.saturating_neg()),
            _ => return false,
        }
        true
    }
}

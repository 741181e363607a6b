//! The state of the screen, and how keys, answers and time change it.

use std::cmp::Ordering;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use serde_json::Value;

use crate::view::{Cell, Row, VIEWS, View};

/// The lines above the first row of a list: title and column titles.
pub const HEAD: u16 = 2;

/// What happens to the state.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// The moment, Unix nanoseconds.
    Time(i64),
    /// The objects of a view, or why there are none.
    List(View, Result<Value, String>),
    /// The description of an object, or why there is none.
    Object(Result<Value, String>),
    /// The end of the program was asked for.
    End,
}

/// What the loop does for the state.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads a view.
    Fetch(View),
    /// Reads the object at this path.
    Describe(String),
    /// Gives the terminal back and stops the process until it is continued.
    Suspend,
    /// Ends the program.
    Quit,
}

/// What the keys write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// The list.
    List,
    /// The filter, as it is typed.
    Filter,
    /// The name of a view after `:`.
    Command(String),
    /// The help.
    Help,
    /// A text about an object, from a line on.
    Text(Vec<String>, usize),
}

/// The keys, for the help.
pub const KEYS: &[(&str, &str)] = &[
    ("j k ↓ ↑", "next, previous row"),
    ("g G", "first, last row"),
    ("Ctrl-d Ctrl-u, PageDown PageUp", "page"),
    ("1-6, Tab", "views; the next view"),
    (":", "view by name: jobs, allocations, nodes, …"),
    ("/", "filter as you type; Esc removes it"),
    ("Enter", "jobs and nodes: their allocations; others: description"),
    ("d", "description"),
    ("s S", "sort by the next column; reverse"),
    ("Esc", "back"),
    ("r", "read again"),
    ("Ctrl-z", "suspend"),
    ("q Ctrl-c", "quit"),
];

/// The state of the screen.
#[derive(Debug)]
pub struct State {
    /// The cluster's address or file.
    pub source: String,
    /// The view.
    pub view: View,
    /// The rows of the view, in order, without those that the filters exclude.
    pub shown: Vec<Row>,
    /// The selected row.
    pub selected: usize,
    /// The text that rows contain.
    pub filter: String,
    /// The value that one column has: what Enter selected.
    pub within: Option<(usize, String)>,
    /// The column that orders the rows, and whether backwards; `None`: rows that need attention come first.
    pub sort: Option<(usize, bool)>,
    /// What the keys write to.
    pub mode: Mode,
    /// The last error.
    pub error: Option<String>,
    /// The moment, Unix nanoseconds.
    pub now: i64,
    /// Rows of a list that fit on the screen.
    pub page: usize,
    /// Whether the view was read.
    pub loaded: bool,
    rows: Vec<Row>,
    back: Vec<(View, Option<(usize, String)>)>,
}

impl State {
    /// The list of jobs of a cluster, not read yet.
    pub fn new(source: String) -> State {
        State {
            source,
            view: View::Jobs,
            shown: Vec::new(),
            selected: 0,
            filter: String::new(),
            within: None,
            sort: None,
            mode: Mode::List,
            error: None,
            now: 0,
            page: 1,
            loaded: false,
            rows: Vec::new(),
            back: Vec::new(),
        }
    }

    /// Changes the state; the loop executes the effects.
    pub fn update(&mut self, message: Message) -> Option<Effect> {
        match message {
            Message::Time(now) => self.now = now,
            Message::End => return Some(Effect::Quit),
            Message::List(view, answer) if view == self.view => match answer {
                Ok(answer) => {
                    let kept = self.shown.get(self.selected).map(|row| row.id.clone());
                    (self.rows, self.error, self.loaded) = (view.rows(&answer), None, true);
                    self.arrange();
                    let place = kept.and_then(|id| self.shown.iter().position(|row| row.id == id));
                    self.selected = place.unwrap_or(self.selected).min(self.shown.len().saturating_sub(1));
                }
                Err(e) => self.error = Some(e),
            },
            Message::List(..) => {}
            Message::Object(Ok(object)) => {
                let text = serde_json::to_string_pretty(&object).unwrap_or_default();
                self.mode = Mode::Text(text.lines().map(String::from).collect(), 0);
            }
            Message::Object(Err(e)) => self.error = Some(e),
            Message::Mouse(mouse) => self.mouse(mouse),
            Message::Key(key) => return self.key(key),
        }
        None
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        match mouse.kind {
            MouseEventKind::ScrollDown => self.step(3),
            MouseEventKind::ScrollUp => self.step(-3),
            MouseEventKind::Down(_) if mouse.row >= HEAD && self.mode == Mode::List => {
                let row = usize::from(mouse.row.saturating_sub(HEAD)).saturating_add(self.first());
                if row < self.shown.len() {
                    self.selected = row;
                }
            }
            _ => {}
        }
    }

    /// The first row on the screen: the selected row is always shown.
    pub fn first(&self) -> usize {
        self.selected.saturating_add(1).saturating_sub(self.page.max(1))
    }

    fn step(&mut self, by: isize) {
        if let Mode::Text(lines, first) = &mut self.mode {
            *first = first.saturating_add_signed(by).min(lines.len().saturating_sub(1));
        } else {
            self.selected = self.selected.saturating_add_signed(by).min(self.shown.len().saturating_sub(1));
        }
    }

    fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Some(Effect::Quit),
            KeyCode::Char('z') if control => return Some(Effect::Suspend),
            _ => {}
        }
        match &mut self.mode {
            Mode::Filter => {
                match key.code {
                    KeyCode::Char(c) if !control => self.filter.push(c),
                    KeyCode::Backspace => drop(self.filter.pop()),
                    KeyCode::Enter => self.mode = Mode::List,
                    KeyCode::Esc => {
                        self.filter.clear();
                        self.mode = Mode::List;
                    }
                    _ => {}
                }
                self.selected = 0;
                self.arrange();
                None
            }
            Mode::Command(typed) => {
                match key.code {
                    KeyCode::Char(c) if !control => typed.push(c),
                    KeyCode::Backspace => drop(typed.pop()),
                    KeyCode::Esc => self.mode = Mode::List,
                    KeyCode::Enter => return self.command(),
                    _ => {}
                }
                None
            }
            Mode::Help | Mode::Text(..) if matches!(key.code, KeyCode::Esc | KeyCode::Char('q' | '?')) => {
                self.mode = Mode::List;
                None
            }
            Mode::List | Mode::Help | Mode::Text(..) => self.list_key(key.code, control),
        }
    }

    fn command(&mut self) -> Option<Effect> {
        let Mode::Command(typed) = std::mem::replace(&mut self.mode, Mode::List) else { return None };
        let typed = typed.trim();
        if matches!(typed, "q" | "quit") {
            return Some(Effect::Quit);
        }
        match VIEWS.into_iter().find(|view| !typed.is_empty() && view.name().starts_with(typed)) {
            Some(view) => self.open(view, None),
            None => {
                let names = VIEWS.map(View::name).join(", ");
                self.error = Some(format!("There is no view \"{typed}\". Views are {names}."));
                None
            }
        }
    }

    fn list_key(&mut self, code: KeyCode, control: bool) -> Option<Effect> {
        let page = isize::try_from(self.page).unwrap_or(1);
        match code {
            KeyCode::Char('d') if control => self.step(page),
            KeyCode::Char('u') if control => self.step(page.saturating_neg()),
            KeyCode::PageDown => self.step(page),
            KeyCode::PageUp => self.step(page.saturating_neg()),
            KeyCode::Char('j') | KeyCode::Down => self.step(1),
            KeyCode::Char('k') | KeyCode::Up => self.step(-1),
            KeyCode::Char('g') | KeyCode::Home => self.step(isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.step(isize::MAX),
            // The other keys are about lists.
            _ if self.mode != Mode::List => {}
            KeyCode::Char('q') => return Some(Effect::Quit),
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char(':') => self.mode = Mode::Command(String::new()),
            KeyCode::Char('r') => return Some(Effect::Fetch(self.view)),
            KeyCode::Char('s') => {
                let next = self.sort.map_or(0, |(column, _)| column.saturating_add(1));
                self.sort = (next < self.view.columns().len()).then_some((next, false));
                self.arrange();
            }
            KeyCode::Char('S') => {
                self.sort = self.sort.map(|(column, backwards)| (column, !backwards));
                self.arrange();
            }
            KeyCode::Tab => {
                let place = VIEWS.iter().position(|view| *view == self.view).unwrap_or(0).saturating_add(1);
                return self.open(VIEWS.get(place).copied().unwrap_or(View::Jobs), None);
            }
            KeyCode::Char(digit @ '1'..='6') => {
                let place = digit.to_digit(10).map_or(0, |n| n.saturating_sub(1));
                return self.open(VIEWS.get(usize::try_from(place).ok()?).copied()?, None);
            }
            KeyCode::Enter => return self.enter(),
            KeyCode::Char('d') => return self.describe(),
            KeyCode::Esc => return self.leave(),
            _ => {}
        }
        None
    }

    fn open(&mut self, view: View, within: Option<(usize, String)>) -> Option<Effect> {
        if within.is_some() {
            self.back.push((self.view, self.within.take()));
        } else {
            self.back.clear();
        }
        self.show(view, within)
    }

    fn show(&mut self, view: View, within: Option<(usize, String)>) -> Option<Effect> {
        (self.view, self.within, self.sort, self.selected) = (view, within, None, 0);
        self.rows.clear();
        self.shown.clear();
        self.filter.clear();
        (self.loaded, self.error) = (false, None);
        Some(Effect::Fetch(view))
    }

    /// From a job or node to its allocations, from others to their description.
    fn enter(&mut self) -> Option<Effect> {
        let row = self.shown.get(self.selected)?;
        match (self.view, row.cells.first()) {
            (View::Jobs, _) => {
                let id = row.id.clone();
                self.open(View::Allocations, Some((1, id)))
            }
            (View::Nodes, Some(Cell::Text(name))) => {
                let name = name.clone();
                self.open(View::Allocations, Some((3, name)))
            }
            _ => self.describe(),
        }
    }

    fn describe(&self) -> Option<Effect> {
        let row = self.shown.get(self.selected)?;
        let (path, id) = (self.view.object()?, encoded(&row.id));
        let namespace = encoded(&row.namespace);
        let query = if namespace.is_empty() { String::new() } else { format!("?namespace={namespace}") };
        Some(Effect::Describe(format!("{path}{id}{query}")))
    }

    fn leave(&mut self) -> Option<Effect> {
        if !self.filter.is_empty() {
            self.filter.clear();
            self.arrange();
            return None;
        }
        let (view, within) = self.back.pop()?;
        self.show(view, within)
    }

    /// Filters and orders the rows.
    fn arrange(&mut self) {
        let wanted = self.filter.to_lowercase();
        let contains = |cell: &Cell| match cell {
            Cell::Text(text) => text.to_lowercase().contains(&wanted),
            Cell::Number(_) | Cell::Time(_) => false,
        };
        let within = |row: &Row| match &self.within {
            Some((column, value)) => row.cells.get(*column) == Some(&Cell::Text(value.clone())),
            None => true,
        };
        let kept = |row: &&Row| within(row) && (wanted.is_empty() || row.cells.iter().any(contains));
        self.shown = self.rows.iter().filter(kept).cloned().collect();
        match self.sort {
            None => self.shown.sort_by_key(|row| !row.attention),
            Some((column, backwards)) => self.shown.sort_by(|a, b| {
                let order = order(a.cells.get(column), b.cells.get(column));
                if backwards { order.reverse() } else { order }
            }),
        }
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
    }
}

fn order(a: Option<&Cell>, b: Option<&Cell>) -> Ordering {
    match (a, b) {
        (Some(Cell::Text(a)), Some(Cell::Text(b))) => a.cmp(b),
        (Some(Cell::Number(a) | Cell::Time(a)), Some(Cell::Number(b) | Cell::Time(b))) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// A text as a part of a path or parameter.
fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

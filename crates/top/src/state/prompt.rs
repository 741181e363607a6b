//! What is typed and answered on the last line: the filter, a command, a count, a question.

use crate::actions::{Act, Action};
use crate::input::Key;
use crate::messages::{Effect, Exec};
use crate::row::Object;
use crate::state::overlay::{Choice, Menu, Overlay};
use crate::state::{Note, State};
use crate::view::{VIEWS, View};

/// The longest text that is typed, in characters.
const MAX_TYPED: usize = 400;
/// The largest count of a group.
const MAX_COUNT: i64 = 1_000_000;

/// The command that is proposed for a task.
const SHELL: &str = "/bin/sh";

/// What the last line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// Nothing.
    None,
    /// The filter of the list, which applies as it is typed.
    Filter,
    /// A command after `:`.
    Command(String),
    /// The count of a group.
    Count {
        /// The job.
        job: Object,
        /// The group.
        group: String,
        /// Its count as it is.
        from: i64,
        /// What is typed.
        typed: String,
    },
    /// The command that is run in a task.
    Exec {
        /// The allocation.
        allocation: Object,
        /// The task.
        task: String,
        /// What is typed.
        typed: String,
    },
    /// Whether an action is done.
    Question(Act),
}

impl State {
    /// A key while the last line asks for something.
    pub(super) fn prompt_key(&mut self, key: Key) -> Vec<Effect> {
        match std::mem::replace(&mut self.prompt, Prompt::None) {
            Prompt::None => Vec::new(),
            Prompt::Filter => {
                self.filter_key(key);
                Vec::new()
            }
            Prompt::Command(mut typed) => {
                if key == Key::Enter {
                    return self.command(typed.trim());
                }
                // An empty line that is erased ends the command, as in vim.
                let left = key == Key::Esc || key == Key::Backspace && typed.is_empty();
                if key == Key::Tab {
                    typed = completed(&typed);
                }
                if !left {
                    edit(&mut typed, key);
                    self.prompt = Prompt::Command(typed);
                }
                Vec::new()
            }
            Prompt::Count { job, group, from, mut typed } => {
                match key {
                    Key::Enter => self.count(job, group, from, &typed),
                    Key::Esc => {}
                    Key::Char(c) if !c.is_ascii_digit() => self.prompt = Prompt::Count { job, group, from, typed },
                    key => {
                        edit(&mut typed, key);
                        self.prompt = Prompt::Count { job, group, from, typed };
                    }
                }
                Vec::new()
            }
            Prompt::Exec { allocation, task, mut typed } => {
                match key {
                    Key::Enter => {
                        let words: Vec<String> = typed.split_whitespace().map(String::from).collect();
                        if !words.is_empty() {
                            return vec![Effect::Exec(Exec { allocation, task, words })];
                        }
                    }
                    Key::Esc => {}
                    key => {
                        edit(&mut typed, key);
                        self.prompt = Prompt::Exec { allocation, task, typed };
                    }
                }
                Vec::new()
            }
            Prompt::Question(act) => match key {
                Key::Char('y' | 'Y') => {
                    self.note = Some(Note { text: "Sending…".to_string(), is_error: false });
                    vec![Effect::Act(act)]
                }
                _ => {
                    self.note = Some(Note { text: "Nothing was changed.".to_string(), is_error: false });
                    Vec::new()
                }
            },
        }
    }

    fn filter_key(&mut self, key: Key) {
        match key {
            Key::Enter => return,
            Key::Esc => self.list.filter.clear(),
            Key::Down | Key::Up => {
                self.prompt = Prompt::Filter;
                self.list.step(if key == Key::Down { 1 } else { -1 });
                return;
            }
            key => {
                edit(&mut self.list.filter, key);
                self.prompt = Prompt::Filter;
            }
        }
        self.list.selected = 0;
        self.list.arrange();
    }

    /// Executes what was typed after `:`.
    fn command(&mut self, typed: &str) -> Vec<Effect> {
        let (name, rest) = typed.split_once(' ').unwrap_or((typed, ""));
        match (name, rest.trim()) {
            ("", _) => Vec::new(),
            ("q" | "q!" | "quit" | "exit", _) => vec![Effect::Quit],
            ("help" | "h", _) => {
                self.overlay = Overlay::Help(0);
                Vec::new()
            }
            ("plan", words) => self.plan(words.split_whitespace().map(String::from).collect()),
            ("ns" | "namespace" | "namespaces", "") => {
                self.namespace_menu();
                Vec::new()
            }
            ("ns" | "namespace" | "namespaces", "all" | "*") => self.choose_namespace(None),
            ("ns" | "namespace" | "namespaces", name) => self.choose_namespace(Some(name.to_string())),
            #[cfg(debug_assertions)]
            ("panic", _) => panic!("the command :panic of builds for tests"),
            (name, filter) => match View::named(name) {
                Some(view) => {
                    let effects = self.open(view, None);
                    self.list.filter = filter.to_string();
                    effects
                }
                None => {
                    let names = VIEWS.map(View::name).join(", ");
                    let text = format!("There is no view \"{name}\". Views are {names}.");
                    self.note = Some(Note { text, is_error: true });
                    Vec::new()
                }
            },
        }
    }

    /// The menu of namespaces.
    pub(super) fn namespace_menu(&mut self) {
        let all = ("0  all namespaces".to_string(), Choice::Namespace(None));
        let one = |(n, name): (usize, &String)| {
            let key = if n <= 9 { n.to_string() } else { " ".to_string() };
            (format!("{key}  {name}"), Choice::Namespace(Some(name.clone())))
        };
        let items = std::iter::once(all).chain((1..).zip(&self.namespaces).map(one)).collect();
        self.overlay = Overlay::Menu(Menu::new("Namespaces", items));
    }

    /// Asks for the command that is run in a task.
    pub(super) fn ask_command(&mut self, allocation: Object, task: String) {
        self.prompt = Prompt::Exec { allocation, task, typed: SHELL.to_string() };
    }

    /// Asks for the count of a group.
    pub(super) fn ask_count(&mut self, choice: Choice) {
        if let Choice::Scale { job, group, count } = choice {
            self.prompt = Prompt::Count { job, group, from: count, typed: String::new() };
        }
    }

    fn count(&mut self, job: Object, group: String, from: i64, typed: &str) {
        match typed.parse::<i64>() {
            Ok(to) if to == from => {
                self.note = Some(Note { text: format!("Group {group} has the count {to}."), is_error: false });
            }
            Ok(to) if to <= MAX_COUNT => {
                let name = job.id.clone();
                self.ask(Act { action: Action::Scale { group, from, to }, object: job, name });
            }
            _ => self.note = Some(Note { text: "This is no count. Nothing was changed.".into(), is_error: true }),
        }
    }

    /// Asks whether to do something.
    pub(super) fn ask(&mut self, act: Act) {
        self.prompt = Prompt::Question(act);
    }
}

/// Types a key into a text.
fn edit(text: &mut String, key: Key) {
    match key {
        Key::Char(c) if text.chars().count() < MAX_TYPED => text.push(c),
        Key::Backspace => drop(text.pop()),
        Key::Ctrl('u') => text.clear(),
        Key::Ctrl('w') => {
            let end = text.trim_end().rfind(' ').map_or(0, |at| at.saturating_add(1));
            text.truncate(end);
        }
        _ => {}
    }
}

/// The command that a text begins, for Tab.
fn completed(typed: &str) -> String {
    let names = VIEWS.map(View::name);
    let others = ["namespace", "help", "quit"];
    let found = names.iter().chain(&others).find(|name| name.starts_with(typed) && !typed.is_empty());
    found.map_or_else(|| typed.to_string(), ToString::to_string)
}

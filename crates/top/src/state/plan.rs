//! The view of a plan: a job file is chosen and planned, the plan is read, and registered as it was reviewed.

use crate::actions::Act;
use crate::input::Key;
use crate::messages::{Effect, Entry, Planned, Read};
use crate::state::overlay::{Choice, Menu, Overlay, Page};
use crate::state::{Note, State};
use crate::view::View;

/// What the view of a plan shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanView {
    /// The words behind `:plan`: flags for variables, and the job file.
    pub words: Vec<String>,
    /// Whether the plan is being made.
    pub running: bool,
    /// The text of the plan, or why there is none.
    pub page: Option<Page>,
    /// Registers the job as it was reviewed; only of a running cluster.
    pub register: Option<Act>,
    /// The number of the plan that is waited for.
    number: u64,
}

impl PlanView {
    /// What the title says about it.
    pub fn name(&self) -> &str {
        self.words.last().map_or("no job file", String::as_str)
    }
}

impl State {
    /// Plans a job file: the words behind `:plan`.
    pub(super) fn plan(&mut self, words: Vec<String>) -> Vec<Effect> {
        let mut effects = self.open(View::Plan, None);
        if words.is_empty() {
            return effects;
        }
        if let [directory] = words.as_slice()
            && directory.ends_with('/')
        {
            effects.push(Effect::Read(Read::Directory(directory.clone())));
            return effects;
        }
        let number = self.plan.number.saturating_add(1);
        self.plan = PlanView { words: words.clone(), running: true, number, ..PlanView::default() };
        self.picture.changes = crate::topology::Changes::default();
        effects.push(Effect::Read(Read::Plan { words, number }));
        effects
    }

    /// A plan was made.
    pub(super) fn planned(&mut self, number: u64, plan: Result<Planned, String>) {
        if number != self.plan.number {
            return;
        }
        self.plan.running = false;
        match plan {
            Ok(plan) => {
                self.plan.page = Some(Page::new(format!("Plan of {}", self.plan.name()), &plan.text));
                self.plan.register = self.live.then_some(plan.register);
                self.picture.changes = plan.changes;
            }
            Err(e) => self.plan.page = Some(Page::new(format!("Error: {} cannot be planned", self.plan.name()), &e)),
        }
    }

    /// A key of the view. Whether it was one, and what it does.
    pub(super) fn plan_key(&mut self, key: Key) -> Option<Vec<Effect>> {
        match key {
            Key::Char('o') => Some(vec![Effect::Read(Read::Directory(String::new()))]),
            Key::Char('r') if !self.plan.words.is_empty() => {
                let words = self.plan.words.clone();
                Some(self.plan(words))
            }
            Key::Char('t') => Some(self.open(View::Topology, None)),
            Key::Char('W') => {
                self.register();
                Some(Vec::new())
            }
            Key::Char('h') | Key::Left | Key::Char('l') | Key::Right => {
                let by = if matches!(key, Key::Char('l') | Key::Right) { 10 } else { -10 };
                if let Some(page) = &mut self.plan.page {
                    page.shift(by);
                }
                Some(Vec::new())
            }
            _ => None,
        }
    }

    fn register(&mut self) {
        match &self.plan.register {
            Some(act) => {
                let act = act.clone();
                self.ask(act);
            }
            None => {
                let text = if self.live {
                    "There is no plan to register. o: choose a job file"
                } else {
                    "A file accepts no jobs: write a plan file with job plan -out."
                };
                self.note = Some(Note { text: text.to_string(), is_error: true });
            }
        }
    }

    /// The files of a directory, to choose a job file from.
    pub(super) fn choose_file(&mut self, directory: &str, entries: Vec<Entry>) {
        let item = |entry: Entry| match entry.is_directory {
            true => (format!("{}/", entry.name), Choice::Directory(entry.path)),
            false => (entry.name, Choice::JobFile(entry.path)),
        };
        let items = entries.into_iter().map(item).collect();
        self.overlay = Overlay::Menu(Menu::new(format!("Job files in {directory}"), items));
    }
}

//! What happens if nodes are lost or drained: nodes are marked, and a simulation shows the outcome.

use std::collections::BTreeMap;

use crate::input::Key;
use crate::messages::{Effect, Read, Simulated};
use crate::row::Kind;
use crate::state::overlay::Page;
use crate::state::{Note, State};
use crate::view::View;

/// What is assumed about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumed {
    /// It is lost.
    Down,
    /// It is drained.
    Drained,
}

impl Assumed {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Assumed::Down => "down",
            Assumed::Drained => "drained",
        }
    }

    /// The flag of `what-if`.
    fn flag(self) -> &'static str {
        match self {
            Assumed::Down => "down",
            Assumed::Drained => "drain",
        }
    }
}

/// The view of a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WhatIf {
    /// The marked nodes by their IDs: what is assumed about them, and their names.
    pub marks: BTreeMap<String, (Assumed, String)>,
    /// Whether the simulation runs.
    pub running: bool,
    /// The outcome, or why there is none.
    pub page: Option<Page>,
    /// The number of the simulation that is waited for.
    number: u64,
}

impl State {
    /// Marks the selected node: down, drained, not marked.
    pub(super) fn mark(&mut self) {
        let Some((object, _)) = self.selected() else { return };
        if object.kind != Kind::Node || self.view == View::Events {
            self.note = Some(Note { text: "Only nodes can be marked.".to_string(), is_error: true });
            return;
        }
        let (id, name) = (object.id.clone(), self.name_of(object));
        let next = match self.what_if.marks.get(&id) {
            None => Some(Assumed::Down),
            Some((Assumed::Down, _)) => Some(Assumed::Drained),
            Some((Assumed::Drained, _)) => None,
        };
        let text = match next {
            Some(assumed) => {
                self.what_if.marks.insert(id, (assumed, name.clone()));
                format!("Assumed: {name} is {}. w: what happens then  M: remove all marks", assumed.word())
            }
            None => {
                self.what_if.marks.remove(&id);
                format!("Nothing is assumed about {name}.")
            }
        };
        self.note = Some(Note { text, is_error: false });
    }

    /// Removes all marks.
    pub(super) fn unmark(&mut self) {
        self.what_if = WhatIf { number: self.what_if.number, ..WhatIf::default() };
        self.picture.changes = crate::topology::Changes::default();
        self.note = Some(Note { text: "Nothing is assumed about any node.".to_string(), is_error: false });
    }

    /// Shows what happens with the marked nodes.
    pub(super) fn simulate(&mut self) -> Vec<Effect> {
        let mut effects = self.open(View::WhatIf, None);
        if self.what_if.marks.is_empty() {
            return effects;
        }
        self.what_if.number = self.what_if.number.saturating_add(1);
        (self.what_if.running, self.what_if.page) = (true, None);
        let flag = |(id, (assumed, _)): (&String, &(Assumed, String))| format!("-{}={id}", assumed.flag());
        let flags = self.what_if.marks.iter().map(flag).collect();
        effects.push(Effect::Read(Read::WhatIf { flags, number: self.what_if.number }));
        effects
    }

    /// A simulation has ended.
    pub(super) fn simulated(&mut self, number: u64, outcome: Result<Simulated, String>) {
        if number != self.what_if.number {
            return;
        }
        self.what_if.running = false;
        match outcome {
            Ok(outcome) => {
                self.what_if.page = Some(Page::new("Outcome", &outcome.text));
                self.picture.changes = outcome.changes;
            }
            Err(e) => self.what_if.page = Some(Page::new("Error: there is no outcome", &e)),
        }
    }

    /// A key of the view. Whether it was one, and what it does.
    pub(super) fn what_if_key(&mut self, key: Key) -> Option<Vec<Effect>> {
        match key {
            Key::Char('r' | 'w') => Some(self.simulate()),
            Key::Char('t') => Some(self.open(View::Topology, None)),
            Key::Char('n') => Some(self.open(View::Nodes, None)),
            Key::Char('h') | Key::Left | Key::Char('l') | Key::Right => {
                let by = if matches!(key, Key::Char('l') | Key::Right) { 10 } else { -10 };
                if let Some(page) = &mut self.what_if.page {
                    page.shift(by);
                }
                Some(Vec::new())
            }
            _ => None,
        }
    }
}

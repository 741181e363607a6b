//! The keys of views.

use crate::actions::{Act, Offer, offers};
use crate::input::Key;
use crate::messages::{Effect, Purpose, Read};
use crate::row::{Facts, Kind, Object};
use crate::state::overlay::{Choice, Menu, Overlay};
use crate::state::prompt::Prompt;
use crate::state::{Note, State};
use crate::topology::Grouping;
use crate::view::{VIEWS, View};

/// The keys that offer actions.
const OFFERS: [Offer; 7] =
    [Offer::Stop, Offer::Restart, Offer::Scale, Offer::Promote, Offer::Fail, Offer::Drain, Offer::Eligibility];

impl State {
    pub(super) fn view_key(&mut self, key: Key) -> Vec<Effect> {
        if self.view == View::Topology && self.topology_key(key) || self.scrolled(key) {
            return Vec::new();
        }
        let own = match self.view {
            View::Plan => self.plan_key(key),
            View::WhatIf => self.what_if_key(key),
            _ => None,
        };
        if let Some(effects) = own {
            return effects;
        }
        match key {
            Key::Char('q') => return vec![Effect::Quit],
            Key::Char('?') => self.overlay = Overlay::Help(0),
            Key::Char('/') if self.view != View::Topology && !self.view.is_text() => self.prompt = Prompt::Filter,
            Key::Char(':') => self.prompt = Prompt::Command(String::new()),
            Key::Char('r') | Key::Ctrl('r') => return self.reread(),
            Key::Char('s') => self.list.sort_next(self.view.columns().len()),
            Key::Char('S') => self.list.reverse(),
            Key::Tab => return self.turn(1),
            Key::BackTab => return self.turn(-1),
            Key::Char('0') => return self.choose_namespace(None),
            Key::Char(digit @ '1'..='9') => return self.namespace_key(digit),
            Key::Enter => return self.enter(),
            Key::Char('d') => return self.about(Read::Describe),
            Key::Char('y') => return self.about(Read::Json),
            Key::Char('e') => return self.explain(),
            Key::Char('a') => self.action_menu(),
            Key::Char('l') => return self.tasks(Purpose::Logs),
            Key::Char('x') => return self.tasks(Purpose::Exec),
            Key::Char('m') => self.mark(),
            Key::Char('M') => self.unmark(),
            Key::Char('w') => return self.simulate(),
            Key::Char(c) => {
                if let Some(offer) = OFFERS.into_iter().find(|offer| offer.key() == c) {
                    return self.offered(offer);
                }
            }
            Key::Esc => return self.leave(),
            _ => {}
        }
        Vec::new()
    }

    /// The keys of the topology, which move in two directions. Whether it was one.
    fn topology_key(&mut self, key: Key) -> bool {
        let last = self.picture.nodes.len().saturating_sub(1);
        match key {
            Key::Char('h') | Key::Left => self.beside(-1),
            Key::Char('l') | Key::Right => self.beside(1),
            Key::Char('s') => {
                self.picture.grouping = match self.picture.grouping {
                    Grouping::Datacenter => Grouping::Pool,
                    Grouping::Pool => Grouping::Datacenter,
                };
            }
            _ => return false,
        }
        self.picture.selected = self.picture.selected.min(last);
        true
    }

    /// Selects the node before or behind, in the order of the picture.
    fn beside(&mut self, by: isize) {
        let layout = self.layout();
        let order: Vec<usize> = (0..layout.lines.len()).flat_map(|line| layout.nodes_of(line)).collect();
        let place = order.iter().position(|node| *node == self.picture.selected).unwrap_or(0);
        let place = place.saturating_add_signed(by).min(order.len().saturating_sub(1));
        self.picture.selected = order.get(place).copied().unwrap_or(0);
    }

    /// Moves in a list or the topology.
    pub(super) fn step_view(&mut self, by: isize) {
        let page = self.page();
        let text = match self.view {
            View::Plan => self.plan.page.as_mut(),
            View::WhatIf => self.what_if.page.as_mut(),
            _ => None,
        };
        if let Some(text) = text {
            text.scroll(by, page);
            return;
        }
        if self.view != View::Topology {
            self.list.step(by);
            return;
        }
        let layout = self.layout();
        let lines = layout.lines.len();
        let ends: Vec<usize> = (0..lines).flat_map(|line| layout.nodes_of(line)).collect();
        let far = if by < 0 { ends.first() } else { ends.last() };
        let found = if by.unsigned_abs() >= lines { None } else { layout.beside(self.picture.selected, by) };
        // Steps over the edge lead to it, single ones lead nowhere.
        let edge = far.copied().filter(|_| by.unsigned_abs() > 1);
        self.picture.selected = found.or(edge).unwrap_or(self.picture.selected);
    }

    fn reread(&mut self) -> Vec<Effect> {
        let mut effects = self.refreshed();
        effects.push(Effect::Read(Read::Namespaces));
        effects
    }

    /// The next view.
    fn turn(&mut self, by: isize) -> Vec<Effect> {
        let here = VIEWS.iter().position(|view| *view == self.view).unwrap_or(0);
        let count = VIEWS.len();
        let next = if by > 0 { here.saturating_add(1) } else { here.saturating_add(count).saturating_sub(1) };
        let view = VIEWS.get(next.checked_rem(count).unwrap_or(0)).copied().unwrap_or(View::Jobs);
        self.open(view, None)
    }

    fn namespace_key(&mut self, digit: char) -> Vec<Effect> {
        let place = digit.to_digit(10).and_then(|n| usize::try_from(n).ok()).unwrap_or(0).saturating_sub(1);
        match self.namespaces.get(place).cloned() {
            Some(name) => self.choose_namespace(Some(name)),
            None => {
                self.note =
                    Some(Note { text: format!("There is no namespace {digit}. :ns lists them."), is_error: true });
                Vec::new()
            }
        }
    }

    /// From an object to its allocations, from others to their description.
    fn enter(&mut self) -> Vec<Effect> {
        let Some((object, _)) = self.selected() else { return Vec::new() };
        match object.kind {
            Kind::Job | Kind::Node | Kind::Deployment if self.view != View::Events => {
                let object = object.clone();
                self.open(View::Allocations, Some(object))
            }
            _ => self.about(Read::Describe),
        }
    }

    /// Requests a text about the selected object.
    fn about(&mut self, read: fn(crate::row::Object) -> Read) -> Vec<Effect> {
        match self.selected() {
            Some((object, _)) if object.kind != Kind::Other => {
                let object = object.clone();
                self.wait_for(read(object))
            }
            _ => Vec::new(),
        }
    }

    /// Requests why allocations of a job are not placed.
    fn explain(&mut self) -> Vec<Effect> {
        let owner = self.list.row().and_then(|row| row.owners.iter().find(|owner| owner.kind == Kind::Job)).cloned();
        let Some((object, _)) = self.selected() else { return Vec::new() };
        match object.kind {
            Kind::Job | Kind::Evaluation => {
                let object = object.clone();
                self.wait_for(Read::Explain(object))
            }
            Kind::Allocation | Kind::Deployment if owner.is_some() => {
                owner.map(|job| self.wait_for(Read::Explain(job))).unwrap_or_default()
            }
            _ => {
                let text = "Select a job or an evaluation to explain.".to_string();
                self.note = Some(Note { text, is_error: true });
                Vec::new()
            }
        }
    }

    /// Requests the tasks of the selected allocation.
    fn tasks(&mut self, purpose: Purpose) -> Vec<Effect> {
        let refusal = match self.selected() {
            _ if !self.live => "A file has no tasks that run.",
            Some((object, _)) if object.kind == Kind::Allocation => {
                let object = object.clone();
                return self.wait_for(Read::Tasks(object, purpose));
            }
            Some((object, _)) if object.kind == Kind::Job => "Select an allocation: Enter lists those of the job.",
            _ => "Select an allocation.",
        };
        self.note = Some(Note { text: refusal.to_string(), is_error: true });
        Vec::new()
    }

    /// The actions on the selected object. Events tell what an object was, not what can be done to it now.
    pub fn offers(&self, object: &Object, facts: Facts) -> Vec<Offer> {
        if self.live && self.view != View::Events { offers(object.kind, facts) } else { Vec::new() }
    }

    fn action_menu(&mut self) {
        let Some((object, facts)) = self.selected() else { return };
        let title = format!("Actions on {} {}", object.kind.word(), self.name_of(object));
        let offered = self.offers(object, facts);
        let item = |offer: Offer| (format!("{}  {}", offer.key(), offer.label(facts)), Choice::Offer(offer));
        let items: Vec<_> = offered.into_iter().map(item).collect();
        if !self.live {
            self.note = Some(Note { text: "A file accepts no actions.".to_string(), is_error: true });
        } else if items.is_empty() {
            self.note = Some(Note { text: "There is no action on it.".to_string(), is_error: true });
        } else {
            self.overlay = Overlay::Menu(Menu::new(title, items));
        }
    }

    /// Asks about an action on the selected object, if it is offered.
    pub(super) fn offered(&mut self, offer: Offer) -> Vec<Effect> {
        let Some((object, facts)) = self.selected() else {
            self.note = Some(Note { text: "No object is selected.".to_string(), is_error: true });
            return Vec::new();
        };
        let object = object.clone();
        if !self.live {
            self.note = Some(Note { text: "A file accepts no actions.".to_string(), is_error: true });
            return Vec::new();
        }
        if !self.offers(&object, facts).contains(&offer) {
            let text = format!("{} is not possible here. a: actions", capitalised(offer.label(facts)));
            self.note = Some(Note { text, is_error: true });
            return Vec::new();
        }
        let name = self.name_of(&object);
        match offer.action(facts) {
            Some(action) => self.ask(Act { action, object, name }),
            None => return self.wait_for(Read::Groups(object)),
        }
        Vec::new()
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

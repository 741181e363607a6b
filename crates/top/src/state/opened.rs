//! How views and namespaces are entered and left.

use crate::list::List;
use crate::messages::{Effect, Stream};
use crate::row::Object;
use crate::state::{Note, Place, State};
use crate::view::View;

/// The most views that Esc goes back through.
const MAX_BACK: usize = 50;

impl State {
    /// Opens a view. `within`: what its objects belong to; Esc then leads back.
    pub(super) fn open(&mut self, view: View, within: Option<Object>) -> Vec<Effect> {
        if let Some(owner) = &within {
            let name = self.name_of(owner);
            let within_name = std::mem::replace(&mut self.within_name, name);
            let (view, within, list) = (self.view, self.within.take(), std::mem::take(&mut self.list));
            self.back.push(Place { view, within, within_name, list });
            if self.back.len() > MAX_BACK {
                self.back.remove(0);
            }
        } else {
            self.back.clear();
        }
        self.show(view, within)
    }

    /// Shows a view that is not read yet.
    fn show(&mut self, view: View, within: Option<Object>) -> Vec<Effect> {
        (self.view, self.within) = (view, within);
        self.list = List::new(matches!(view, View::Events | View::Queues));
        self.error = None;
        self.generation = self.generation.saturating_add(1);
        if view == View::Events {
            self.show_events();
            return Vec::new();
        }
        self.refreshed()
    }

    /// Goes back: first from the filter, then to the view before.
    pub(super) fn leave(&mut self) -> Vec<Effect> {
        if std::mem::take(&mut self.waiting) {
            return Vec::new();
        }
        if !self.list.filter.is_empty() {
            self.list.filter.clear();
            self.list.arrange();
            return Vec::new();
        }
        let Some(place) = self.back.pop() else { return Vec::new() };
        let effects = self.show(place.view, place.within);
        self.within_name = place.within_name;
        // What it showed is shown until it is read again.
        self.list = place.list;
        effects
    }

    /// Shows the objects of a namespace; `None`: of all.
    pub(super) fn choose_namespace(&mut self, namespace: Option<String>) -> Vec<Effect> {
        if let Some(name) = namespace.as_ref().filter(|name| !self.namespaces.contains(name))
            && !self.namespaces.is_empty()
        {
            let names = self.namespaces.join(", ");
            self.note = Some(Note {
                text: format!("There is no namespace \"{name}\". Namespaces are {names}."),
                is_error: true,
            });
            return Vec::new();
        }
        self.namespace = namespace;
        let view = self.view;
        self.open(view, None)
    }

    /// The state of the connection in a word, for the title.
    pub fn connection(&self) -> &'static str {
        match (&self.error, self.live, &self.stream) {
            (_, false, _) => "file",
            (Some(_), ..) => "no answer",
            (None, _, Stream::Open) => "live",
            (None, _, Stream::Opening) => "connecting",
            (None, _, Stream::Lost(_)) => "no events",
        }
    }
}

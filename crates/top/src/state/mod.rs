//! The state of the screen, and how inputs, answers and time change it, without clock and I/O.
//!
//! [`overlay`]: texts and menus over a view. [`log`]: the output of a task. [`plan`], [`what_if`]: plans and simulations.
//! `keys`: keys of views. [`prompt`]: what is typed and answered on the last line. `opened`: how views are entered and
//! left.

mod keys;
pub mod log;
mod mouse;
mod opened;
pub mod overlay;
pub mod plan;
pub mod prompt;
pub mod what_if;

use crate::events::Events;
use crate::input::{Input, Key};
use crate::list::List;
use crate::messages::{Answer, Content, Effect, Message, Purpose, Read, Stream};
use crate::row::{Object, Row};
use crate::topology::{Changes, Grouping, Layout, NodeUse};
use crate::view::View;
use overlay::{Choice, Menu, Overlay, Page};
use plan::PlanView;
use prompt::Prompt;
use what_if::WhatIf;

/// What is said on the last line until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What is said.
    pub text: String,
    /// Whether it is an error.
    pub is_error: bool,
}

/// The topology on the screen.
#[derive(Debug, Default)]
pub struct Picture {
    /// All nodes, by name.
    pub nodes: Vec<NodeUse>,
    /// What they are grouped by.
    pub grouping: Grouping,
    /// The place of the selected node.
    pub selected: usize,
    /// What a plan or a simulation changes.
    pub changes: Changes,
    /// Whether the nodes were read.
    pub loaded: bool,
}

/// A view that another one was opened from.
#[derive(Debug)]
struct Place {
    view: View,
    within: Option<Object>,
    within_name: String,
    list: List,
}

/// The state of the screen.
#[derive(Debug)]
pub struct State {
    /// The cluster's address or file.
    pub source: String,
    /// Whether it is a running cluster, which accepts actions.
    pub live: bool,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The moment, Unix nanoseconds.
    pub now: i64,
    /// The view.
    pub view: View,
    /// What the objects of the view belong to.
    pub within: Option<Object>,
    /// The name of that.
    pub within_name: String,
    /// The namespace whose objects are shown; `None` for all.
    pub namespace: Option<String>,
    /// The names of all namespaces, in order.
    pub namespaces: Vec<String>,
    /// The list of the view.
    pub list: List,
    /// The topology.
    pub picture: Picture,
    /// The events since the start.
    pub events: Events,
    /// What is shown over the view.
    pub overlay: Overlay,
    /// What the last line asks for.
    pub prompt: Prompt,
    /// What is said on the last line.
    pub note: Option<Note>,
    /// Why the view cannot be read.
    pub error: Option<String>,
    /// The event stream.
    pub stream: Stream,
    /// The plan of a job file.
    pub plan: PlanView,
    /// What happens if nodes are lost or drained.
    pub what_if: WhatIf,
    /// Whether a text was requested and has not come: Esc lets it not be shown.
    waiting: bool,
    generation: u64,
    last_log: u64,
    back: Vec<Place>,
}

impl State {
    /// The list of jobs of a cluster, not read yet.
    pub fn new(source: String, live: bool) -> State {
        State {
            source,
            live,
            size: (80, 24),
            now: 0,
            view: View::Jobs,
            within: None,
            within_name: String::new(),
            namespace: None,
            namespaces: Vec::new(),
            list: List::default(),
            picture: Picture::default(),
            events: Events::default(),
            overlay: Overlay::None,
            prompt: Prompt::None,
            note: None,
            error: None,
            stream: Stream::default(),
            plan: PlanView::default(),
            what_if: WhatIf::default(),
            waiting: false,
            generation: 0,
            last_log: 0,
            back: Vec::new(),
        }
    }

    /// Changes the state; the loop executes the effects.
    pub fn update(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Time(now) => self.now = now,
            Message::Size(columns, rows) => self.size = (columns, rows),
            Message::End => return vec![Effect::Quit],
            Message::Stream(stream) => self.stream = stream,
            Message::Events(rows) => {
                self.events.add(rows);
                if self.view == View::Events {
                    self.show_events();
                }
            }
            Message::Log(id, piece) => self.add_to_log(id, piece),
            Message::Executed(Ok(0)) => return self.refreshed(),
            Message::Executed(Ok(code)) => {
                self.note = Some(Note { text: format!("The command ended with exit code {code}."), is_error: true });
                return self.refreshed();
            }
            Message::Executed(Err(e)) => self.failed("the command", &e),
            Message::Answer(answer) => return self.answered(*answer),
            Message::Input(Input::Mouse(kind, column, row)) => return self.mouse(kind, column, row),
            Message::Input(Input::Key(key)) => return self.key(key),
        }
        Vec::new()
    }

    fn key(&mut self, key: Key) -> Vec<Effect> {
        match key {
            Key::Ctrl('c') => return vec![Effect::Quit],
            Key::Ctrl('z') => return vec![Effect::Suspend],
            Key::Ctrl('l') => return vec![Effect::Redraw],
            _ => {}
        }
        self.note = None;
        if self.prompt != Prompt::None {
            return self.prompt_key(key);
        }
        match self.overlay {
            Overlay::None => self.view_key(key),
            Overlay::Help(_) | Overlay::Text(_) | Overlay::Menu(_) | Overlay::Log(_) => self.overlay_key(key),
        }
    }

    fn answered(&mut self, answer: Answer) -> Vec<Effect> {
        match answer {
            Answer::View { generation, content } if generation == self.generation => match content {
                Ok(Content::Rows(rows)) => {
                    self.error = None;
                    let rows = rows.into_iter().map(|row| self.completed(row)).filter(|row| self.belongs(row));
                    self.list.replace(rows.collect());
                }
                Ok(Content::Nodes(nodes)) => self.show_nodes(nodes),
                Err(e) => self.error = Some(e),
            },
            Answer::View { .. } => {}
            Answer::Namespaces(names) => self.namespaces = names,
            Answer::Text(title, text) => {
                if std::mem::take(&mut self.waiting) {
                    self.note = None;
                    match text {
                        Ok(text) => self.overlay = Overlay::Text(Page::new(title, &text)),
                        Err(e) => self.failed(&title, &e),
                    }
                }
            }
            Answer::Groups(job, groups) => {
                if std::mem::take(&mut self.waiting) {
                    self.note = None;
                    match groups {
                        Ok(groups) => self.choose_group(&job, groups),
                        Err(e) => self.failed(&job.title(), &e),
                    }
                }
            }
            Answer::Tasks(allocation, purpose, tasks) => {
                if std::mem::take(&mut self.waiting) {
                    self.note = None;
                    match tasks {
                        Ok(tasks) => return self.choose_task(&allocation, purpose, tasks),
                        Err(e) => self.failed(&allocation.title(), &e),
                    }
                }
            }
            Answer::Plan(number, plan) => self.planned(number, plan),
            Answer::WhatIf(number, outcome) => self.simulated(number, outcome),
            Answer::Directory(Ok((directory, entries))) => self.choose_file(&directory, entries),
            Answer::Directory(Err(e)) => self.failed("job files", &e),
            Answer::Acted(act, result) => {
                match result {
                    Ok(()) => self.note = Some(Note { text: act.done(), is_error: false }),
                    Err(e) => self.failed(&act.object.title(), &e),
                }
                return self.refreshed();
            }
        }
        Vec::new()
    }

    /// Shows an error: on the last line if it is short, else as a text.
    fn failed(&mut self, title: &str, error: &str) {
        let error = error.trim();
        if error.lines().count() <= 1 && error.len() < 60 {
            self.note = Some(Note { text: format!("Error: {error}"), is_error: true });
        } else {
            self.overlay = Overlay::Text(Page::new(format!("Error: {title}"), error));
        }
    }

    fn show_nodes(&mut self, nodes: Vec<NodeUse>) {
        self.error = None;
        let kept = self.picture.nodes.get(self.picture.selected).map(|node| node.object.clone());
        let place = kept.and_then(|kept| nodes.iter().position(|node| node.object == kept));
        self.picture.nodes = nodes;
        let last = self.picture.nodes.len().saturating_sub(1);
        self.picture.selected = place.unwrap_or_else(|| self.first_of_layout()).min(last);
        self.picture.loaded = true;
    }

    /// The first node of the picture: groups come before names.
    fn first_of_layout(&self) -> usize {
        let layout = self.layout();
        (0..layout.lines.len()).find_map(|line| layout.node_at(line, 0)).unwrap_or(0)
    }

    /// The events as the rows of the list.
    fn show_events(&mut self) {
        let rows = self.events.iter().filter(|row| match (&self.namespace, row.cells.get(4)) {
            (Some(wanted), Some(crate::row::Cell::Text(found))) => wanted == found || row.object.namespace.is_empty(),
            _ => true,
        });
        let rows: Vec<Row> = rows.cloned().collect();
        self.list.replace(rows);
    }

    /// A row of a list that leaves out the namespace, because all of its objects have that of their owner.
    fn completed(&self, mut row: Row) -> Row {
        if row.object.namespace.is_empty()
            && let Some(owner) = self.within.as_ref().filter(|_| self.view.has_namespaces())
        {
            row.object.namespace.clone_from(&owner.namespace);
        }
        row
    }

    /// Whether a row belongs to what the view is about: servers need not know every filter.
    fn belongs(&self, row: &Row) -> bool {
        let Some(owner) = &self.within else { return true };
        let same = |o: &Object| o == owner || o.namespace.is_empty() && o.id == owner.id;
        row.owners.iter().all(|o| o.kind != owner.kind) || row.owners.iter().any(same)
    }

    /// The object that keys are about: the selected row or node.
    pub fn selected(&self) -> Option<(&Object, crate::row::Facts)> {
        if self.view == View::Topology {
            let node = self.picture.nodes.get(self.picture.selected)?;
            return Some((&node.object, node.facts));
        }
        self.list.row().map(|row| (&row.object, row.facts))
    }

    /// The name of the selected object in messages: that of a node, the ID of others.
    fn name_of(&self, object: &Object) -> String {
        match self.view {
            View::Topology => self.picture.nodes.get(self.picture.selected).map(|node| node.name.clone()),
            View::Nodes => self.list.row().and_then(|row| match row.cells.first() {
                Some(crate::row::Cell::Text(name)) => Some(name.clone()),
                _ => None,
            }),
            _ if object.kind == crate::row::Kind::Job => None,
            _ => Some(crate::row::short(&object.id)),
        }
        .unwrap_or_else(|| object.id.clone())
    }

    /// The request for the view, with the number that its answer must have.
    pub fn read(&self) -> Option<Read> {
        let within = self.within.clone();
        let path = self.view.path(within.as_ref(), self.namespace.as_deref().unwrap_or("*"));
        (self.view != View::Events && !self.view.is_text()).then_some(Read::View {
            view: self.view,
            within,
            path,
            generation: self.generation,
        })
    }

    fn refreshed(&self) -> Vec<Effect> {
        self.read().map(Effect::Read).into_iter().collect()
    }

    /// Requests something that is shown when it comes, unless Esc is pressed before.
    fn wait_for(&mut self, read: Read) -> Vec<Effect> {
        self.waiting = true;
        self.note = Some(Note { text: "Reading… (Esc: cancel)".to_string(), is_error: false });
        vec![Effect::Read(read)]
    }

    /// The lines above the rows of a list: title, views and columns.
    pub fn head(&self) -> u16 {
        if self.has_tabs() { 3 } else { 2 }
    }

    /// Whether the screen is large enough for the line with all views.
    pub fn has_tabs(&self) -> bool {
        self.size.1 >= 10
    }

    /// How many rows of a list the screen shows.
    pub fn page(&self) -> usize {
        usize::from(self.size.1.saturating_sub(self.head()).saturating_sub(1)).max(1)
    }

    /// Where the nodes of the topology stand.
    pub fn layout(&self) -> Layout {
        // A line of the page tells about the selected node.
        let height = self.page().saturating_sub(1);
        Layout::new(&self.picture.nodes, self.picture.grouping, usize::from(self.size.0), height)
    }

    /// The choice among the tasks of an allocation.
    fn choose_task(&mut self, allocation: &Object, purpose: Purpose, tasks: Vec<String>) -> Vec<Effect> {
        let choice = |task: String| Choice::Task { allocation: allocation.clone(), task, purpose };
        if let [only] = tasks.as_slice() {
            return self.chosen(choice(only.clone()));
        }
        let title = match purpose {
            Purpose::Logs => "Output of a task of",
            Purpose::Exec => "Run a command in a task of",
        };
        let items = tasks.into_iter().map(|task| (task.clone(), choice(task))).collect();
        self.overlay = Overlay::Menu(Menu::new(format!("{title} {}", allocation.title()), items));
        Vec::new()
    }

    /// The choice among groups to scale.
    fn choose_group(&mut self, job: &Object, groups: Vec<(String, i64)>) {
        let choice = |group: String, count: i64| Choice::Scale { job: job.clone(), group, count };
        if let [(group, count)] = groups.as_slice() {
            let only = choice(group.clone(), *count);
            self.ask_count(only);
            return;
        }
        let items = groups.into_iter().map(|(group, count)| (format!("{group} ({count})"), choice(group, count)));
        self.overlay = Overlay::Menu(Menu::new(format!("Scale a group of {}", job.title()), items.collect()));
    }
}

#[cfg(test)]
mod tests;

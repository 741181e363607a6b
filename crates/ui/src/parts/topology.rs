//! A picture of the nodes of a cluster: a square for each node, in groups, with its allocations and with what a plan
//! changes.
//!
//! The picture is for the eye: screen readers skip it, so each page that has one has a table with the same facts.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::link;
use crate::assets;

/// The length of a side of a node, and the distance from the next one.
const SIDE: usize = 14;
const PITCH: usize = 16;
/// The size of letters of a group's title on the screen, and the distance between groups.
const TITLE: usize = 13;
const GAP: usize = 12;
/// The longest title that is shown in full.
const MAX_TITLE: usize = 24;
/// Nodes of a picture are drawn larger the fewer there are: `(up to nodes, times)`.
const SCALES: [(usize, usize); 4] = [(12, 8), (60, 4), (250, 3), (1000, 2)];
/// How many colours there are for values, such as jobs; further values share one.
pub(crate) const COLOURS: usize = 10;

/// What a colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// How much is used, in percent.
    Share(i64),
    /// One of the values of the legend, by its place there.
    Value(usize),
    /// Nothing.
    Plain,
}

/// Whether a node takes work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// It runs, and accepts new allocations.
    Ready,
    /// It runs, and accepts no new allocations: ineligible or draining.
    Closed,
    /// It is down, disconnected or initializing.
    Down,
}

/// What a plan does to an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is placed here.
    Placed,
    /// It moves here from another node.
    Moved,
    /// It is preempted.
    Preempted,
    /// It is stopped, or moves to another node.
    Stopped,
}

impl Change {
    const ALL: [Change; 4] = [Change::Placed, Change::Moved, Change::Preempted, Change::Stopped];

    /// The class of its elements, and the sign that stands for it.
    fn look(self) -> (&'static str, &'static str) {
        match self {
            Change::Placed => ("placed", "+"),
            Change::Moved => ("moved", "→"),
            Change::Preempted => ("preempted", "×"),
            Change::Stopped => ("stopped", "−"),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Change::Placed => "placed",
            Change::Moved => "moved here",
            Change::Preempted => "preempted",
            Change::Stopped => "stopped or moved away",
        }
    }
}

/// An allocation in the square of its node.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// The ID of the allocation; empty for one that is planned.
    pub id: String,
    /// What is said about it.
    pub note: String,
    /// What its colour says.
    pub fill: Fill,
    /// Its shares of the CPU and of the memory of the node, in thousandths.
    pub cpu: usize,
    pub memory: usize,
    /// Whether it belongs to the job that the page is about.
    pub highlighted: bool,
    /// What the plan does to it.
    pub change: Option<Change>,
}

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Its ID.
    pub id: String,
    /// Its group.
    pub group: String,
    /// Its name, and what is said about it.
    pub note: String,
    /// What its colour says.
    pub fill: Fill,
    /// Whether it takes work.
    pub condition: Condition,
    /// Whether it runs allocations of the job that the page is about.
    pub highlighted: bool,
    /// How many allocations the plan changes here; of several kinds, the first is the one that is drawn.
    pub changes: Vec<(Change, usize)>,
    /// Its allocations; empty if they are not drawn, or drawn by the script when the picture is enlarged.
    pub pieces: Vec<Piece>,
}

/// A picture.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drawing {
    /// The nodes, in the order in which they are drawn within their groups.
    pub cells: Vec<Cell>,
    /// Where the script reads the allocations of nodes (`node=…` is added); empty if there is nothing to read.
    pub pieces_from: String,
    /// What `Fill::Value` stands for. Empty: colours are shares.
    pub values: Vec<String>,
}

/// A group at its place.
struct Block<'a> {
    title: &'a str,
    cells: Vec<&'a Cell>,
    columns: usize,
    x: usize,
    y: usize,
    /// The size of letters, in the picture.
    letters: usize,
}

impl Drawing {
    /// The picture with its legend. `caption`: what it shows.
    pub(crate) fn markup(&self, caption: &str) -> Markup {
        let scale = SCALES.iter().find(|(nodes, _)| self.cells.len() <= *nodes).map_or(1, |(_, times)| *times);
        // The picture of many nodes is made smaller by the browser, so its letters have to be larger.
        let letters = (TITLE * self.cells.len().isqrt()).div_ceil(40).max(TITLE / scale + 1);
        let (blocks, width, height) = self.blocks(letters);
        // The lines of nodes at the edges are wider than the nodes.
        let whole = format!("-2 -2 {} {}", width + 4, height + 4);
        html! {
            link rel="stylesheet" href=(assets::address("topology.css"));
            figure.topology data-pieces=[(!self.pieces_from.is_empty()).then_some(&self.pieces_from)] {
                figcaption { (caption) }
                (self.legend())
                div.view role="group" aria-label="Picture of the nodes: plus and minus enlarge and reduce, arrows move, 0 shows all" {
                    svg aria-hidden="true" width=(width * scale) viewBox=(whole) data-whole=(whole) {
                        @for block in &blocks { (block.markup()) }
                    }
                }
            }
            script src=(assets::address("topology.js")) type="module" {}
        }
    }

    /// The groups, placed in rows from the left, and the size of the picture.
    fn blocks(&self, letters: usize) -> (Vec<Block<'_>>, usize, usize) {
        let mut groups: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
        for cell in &self.cells {
            groups.entry(&cell.group).or_default().push(cell);
        }
        // A picture that is twice as wide as high fits most screens.
        let width = (self.cells.len() * 2 * groups.len().clamp(1, 2)).isqrt().max(20);
        let (mut x, mut y, mut row, mut widest) = (0, 0, 0, 0);
        let mut blocks = Vec::with_capacity(groups.len());
        for (title, cells) in groups {
            let titled = title.chars().count().min(MAX_TITLE) * letters * 2 / 3 / PITCH + 1;
            let columns = (cells.len() * 3 / 2).isqrt().max(titled).min(width.max(titled));
            if x > 0 && x + columns * PITCH > width * PITCH {
                (x, y, row) = (0, y + row + GAP, 0);
            }
            row = row.max(letters * 3 / 2 + cells.len().div_ceil(columns) * PITCH);
            blocks.push(Block { title, cells, columns, x, y, letters });
            x += columns * PITCH + GAP;
            widest = widest.max(x - GAP);
        }
        (blocks, widest.max(PITCH), (y + row).max(PITCH))
    }

    fn legend(&self) -> Markup {
        let changes =
            Change::ALL.iter().filter(|c| self.cells.iter().any(|cell| cell.changes.iter().any(|(o, _)| o == *c)));
        html! {
            ul.legend {
                @if self.values.is_empty() {
                    @for (i, text) in ["under 25%", "under 50%", "under 75%", "under 90%", "90% and more"].iter().enumerate() {
                        (key(&format!("h{i}"), "", text))
                    }
                } @else {
                    @for (i, text) in self.values.iter().enumerate() { (key(&class(Fill::Value(i)), "", text)) }
                }
                @if self.has(Condition::Closed) { (key("plain closed", "", "ineligible or draining")) }
                @if self.has(Condition::Down) { (key("down", "", "down or disconnected")) }
                @if self.cells.iter().any(|c| c.highlighted) { (key("plain highlighted", "", "has the job")) }
                @for change in changes { (key(change.look().0, change.look().1, change.word())) }
            }
        }
    }

    fn has(&self, condition: Condition) -> bool {
        self.cells.iter().any(|cell| cell.condition == condition)
    }
}

impl Block<'_> {
    fn markup(&self) -> Markup {
        let title: String = self.title.chars().take(MAX_TITLE).collect();
        let cut = title.len() < self.title.len();
        html! {
            text x=(self.x) y=(self.y + self.letters) font-size=(self.letters) { (title) @if cut { "…" title { (self.title) } } }
            @for (i, cell) in self.cells.iter().enumerate() {
                (cell.markup(self.x + i % self.columns * PITCH, self.y + self.letters * 3 / 2 + i / self.columns * PITCH))
            }
        }
    }
}

impl Cell {
    fn classes(&self) -> String {
        let mut classes = class(self.fill);
        match self.condition {
            Condition::Ready => {}
            Condition::Closed => classes.push_str(" closed"),
            Condition::Down => classes.push_str(" down"),
        }
        if self.highlighted {
            classes.push_str(" highlighted");
        }
        classes
    }

    fn markup(&self, x: usize, y: usize) -> Markup {
        html! {
            a href=(link::client_address(&self.id)) tabindex="-1" {
                rect.(self.classes()) x=(x) y=(y) width=(SIDE) height=(SIDE) rx="1.5" {}
                title { (self.note) }
            }
            @if !self.pieces.is_empty() { g transform={ "translate(" (x) " " (y) ")" } { (pieces(&self.pieces)) } }
            @if let Some((change, _)) = self.changes.first() {
                text.(change.look().0) x=(x + SIDE / 2) y=(y + SIDE - 3) { (change.look().1) }
            }
        }
    }
}

/// Allocations within the square of their node: the upper bar is the memory, the lower one the CPU.
pub(crate) fn pieces(pieces: &[Piece]) -> Markup {
    let mut left = (0, 0);
    let placed: Vec<_> = pieces
        .iter()
        .map(|piece| {
            let at = left;
            left = (at.0 + piece.memory, at.1 + piece.cpu);
            (piece, at)
        })
        .collect();
    html! { @for (piece, (memory, cpu)) in placed { (piece.markup(memory, cpu)) } }
}

impl Piece {
    fn markup(&self, memory: usize, cpu: usize) -> Markup {
        let address = (!self.id.is_empty()).then(|| link::allocation_address(&self.id));
        let change = self.change.map_or("", |change| change.look().0);
        let classes = format!("{} {change}{}", class(self.fill), if self.highlighted { " highlighted" } else { "" });
        html! {
            a.piece href=[address] tabindex="-1" {
                rect.(classes.trim_end()) x=(along(memory)) y="1.5" width=(along(self.memory)) height="5" {}
                rect.(classes.trim_end()) x=(along(cpu)) y="7.5" width=(along(self.cpu)) height="5" {}
                title { (self.note) }
            }
        }
    }
}

/// A share (thousandths) of the width of a node, with two decimals.
fn along(share: usize) -> String {
    let hundredths = share.min(1000) * SIDE / 10;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn key(class: &str, sign: &str, text: &str) -> Markup {
    html! {
        li {
            svg aria-hidden="true" width="16" height="16" viewBox="0 0 16 16" {
                rect.(if sign.is_empty() { class } else { "plain" }) x="1" y="1" width=(SIDE) height=(SIDE) rx="1.5" {}
                @if !sign.is_empty() { text.(class) x="8" y="12" { (sign) } }
            }
            (text)
        }
    }
}

fn class(fill: Fill) -> String {
    match fill {
        Fill::Plain => "plain".into(),
        Fill::Value(value) => format!("v{}", value.min(COLOURS - 1)),
        Fill::Share(share) => {
            let step = [25, 50, 75, 90].iter().filter(|limit| share >= **limit).count();
            format!("h{step}")
        }
    }
}

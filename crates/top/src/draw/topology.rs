//! The topology: a block of CPU and memory for each node.

use encamp_ui::Condition;
use ratatui::style::{Color, Modifier, Style};

use super::Canvas;
use super::text::padded;
use crate::row::counted;
use crate::state::State;
use crate::state::what_if::Assumed;
use crate::topology::{BLOCK, Change, Grouping, Line, NodeUse, block};

/// The columns of a bar, for a node with a line of its own.
const BAR: usize = 12;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>) {
    let head = state.head();
    let picture = &state.picture;
    let grouping = match picture.grouping {
        Grouping::Datacenter => "datacenter",
        Grouping::Pool => "node pool",
    };
    let blocks = if picture.changes.is_empty() && state.what_if.marks.is_empty() {
        "CPU, memory: · 0%  ▄ 50%  █ 100%  x: down  o: not eligible"
    } else {
        "+ placed  - displaced  × preempted  X down  D drained"
    };
    let legend = format!("By {grouping} (s). {blocks}");
    canvas.text(head.saturating_sub(1), 0, &legend, Style::new().add_modifier(Modifier::UNDERLINED));
    if !picture.loaded {
        if state.error.is_none() {
            canvas.text(head, 0, "  Reading…", Style::new());
        }
        return;
    }
    if picture.nodes.is_empty() {
        canvas.text(head, 0, "  There are no nodes.", Style::new());
        return;
    }
    let layout = state.layout();
    let height = state.page().saturating_sub(1);
    for (row, line) in (head..).zip(layout.lines.iter().skip(state.first_line()).take(height)) {
        match line {
            Line::Title(name, nodes) => group(state, name, nodes, row, canvas),
            Line::Nodes(nodes) if layout.wide => {
                if let Some((place, node)) = nodes.first().and_then(|place| Some((*place, picture.nodes.get(*place)?)))
                {
                    bars(state, place, node, row, canvas);
                }
            }
            Line::Nodes(nodes) => {
                for (column, place) in (0_u16..).step_by(BLOCK).zip(nodes) {
                    if let Some(node) = picture.nodes.get(*place) {
                        square(state, *place, node, (row, column), canvas);
                    }
                }
            }
        }
    }
    if let Some(node) = picture.nodes.get(picture.selected) {
        let row = head.saturating_add(u16::try_from(height).unwrap_or(0));
        canvas.text(row, 0, &about(state, node), Style::new().add_modifier(Modifier::BOLD));
    }
}

fn group(state: &State, name: &str, nodes: &[usize], row: u16, canvas: &mut Canvas<'_>) {
    let all = nodes.iter().filter_map(|place| state.picture.nodes.get(*place));
    let (mut used, mut capacity, mut allocations) = (encamp_ui::Amount::default(), encamp_ui::Amount::default(), 0);
    for node in all {
        used.add(node.used);
        capacity.add(node.capacity);
        allocations += node.allocations;
    }
    let (cpu, memory) = used.share_of(capacity);
    let (nodes, allocations) = (counted(nodes.len(), "node"), counted(allocations, "allocation"));
    let text = format!("{name}: {nodes}, {allocations}, CPU {cpu}%, memory {memory}%");
    canvas.text(row, 0, &text, Style::new().add_modifier(Modifier::BOLD));
}

/// The colour of a share, which its height says as well.
fn heat(share: i64, canvas: &Canvas<'_>) -> Style {
    canvas.colour(match share {
        ..50 => Color::Green,
        50..80 => Color::Yellow,
        _ => Color::Red,
    })
}

/// What a node that is down or closed shows instead of or besides its use.
fn sign(node: &NodeUse) -> char {
    match node.condition {
        Condition::Ready => ' ',
        Condition::Closed => 'o',
        Condition::Down => 'x',
    }
}

/// The sign behind a block: what is assumed about the node, what a plan changes there, else that of the node.
fn mark(state: &State, node: &NodeUse) -> (char, Option<Change>) {
    match (state.what_if.marks.get(&node.object.id), state.picture.changes.of(&node.object.id).first()) {
        (Some((Assumed::Down, _)), _) => ('X', Some(Change::Displaced)),
        (Some((Assumed::Drained, _)), _) => ('D', Some(Change::Displaced)),
        (None, Some((change, _))) => (change.sign(), Some(*change)),
        (None, None) => (sign(node), None),
    }
}

fn mark_style(change: Option<Change>, canvas: &Canvas<'_>) -> Style {
    match change {
        Some(Change::Placed) => canvas.colour(Color::Green).add_modifier(Modifier::BOLD),
        Some(Change::Preempted | Change::Displaced) => canvas.colour(Color::Red).add_modifier(Modifier::BOLD),
        None => Style::new(),
    }
}

/// A node as two blocks and a mark.
fn square(state: &State, place: usize, node: &NodeUse, (row, column): (u16, u16), canvas: &mut Canvas<'_>) {
    let (cpu, memory) = node.used.share_of(node.capacity);
    let selected = |style: Style| {
        if place == state.picture.selected { style.add_modifier(Modifier::REVERSED) } else { style }
    };
    let (sign, change) = mark(state, node);
    for (offset, share) in [(0_u16, cpu), (1, memory)] {
        let style = selected(heat(share, canvas));
        canvas.text(row, column.saturating_add(offset), &block(share).to_string(), style);
    }
    canvas.text(row, column.saturating_add(2), &sign.to_string(), selected(mark_style(change, canvas)));
}

/// A node in a line of its own.
fn bars(state: &State, place: usize, node: &NodeUse, row: u16, canvas: &mut Canvas<'_>) {
    let (cpu, memory) = node.used.share_of(node.capacity);
    let (sign, change) = mark(state, node);
    let selected = place == state.picture.selected;
    let name = Style::new().add_modifier(if selected { Modifier::REVERSED } else { Modifier::empty() });
    // Narrow screens have shorter names and bars.
    let (names, bar) = if canvas.width() >= 76 { (20, BAR) } else { (14, 6) };
    let mut column: u16 = 4;
    canvas.text(row, 0, if selected { ">" } else { " " }, Style::new());
    canvas.text(row, 2, &sign.to_string(), mark_style(change, canvas));
    canvas.text(row, column, &padded(&node.name, names), name);
    column = column.saturating_add(u16::try_from(names).unwrap_or(0));
    for (title, share) in [("CPU", cpu), ("MEM", memory)] {
        canvas.text(row, column, title, Style::new());
        canvas.text(row, column.saturating_add(4), &filled(share, bar), heat(share, canvas));
        let after = column.saturating_add(u16::try_from(bar).unwrap_or(0)).saturating_add(5);
        canvas.text(row, after, &format!("{share:>3}%"), Style::new());
        column = after.saturating_add(6);
    }
    canvas.text(row, column, &counted(node.allocations, "alloc"), Style::new());
}

/// A bar of so many columns.
fn filled(share: i64, columns: usize) -> String {
    let full = usize::try_from(share.clamp(0, 100)).unwrap_or(0).saturating_mul(columns).div_ceil(100);
    "█".repeat(full) + &"·".repeat(columns.saturating_sub(full))
}

/// The line about the selected node.
fn about(state: &State, node: &NodeUse) -> String {
    let condition = match node.condition {
        Condition::Ready => "ready",
        Condition::Closed if node.facts.draining => "draining",
        Condition::Closed => "ineligible",
        Condition::Down => "down",
    };
    let (cpu, memory) = node.used.share_of(node.capacity);
    let mut text = format!("{} ({condition}", node.name);
    if let Some((assumed, _)) = state.what_if.marks.get(&node.object.id) {
        text.push_str(&format!(", assumed {}", assumed.word()));
    }
    for (change, count) in state.picture.changes.of(&node.object.id) {
        text.push_str(&format!(", {count} {}", change.word()));
    }
    let (used, all) = (node.used, node.capacity);
    let amounts = format!(")  CPU {}/{} MHz  memory {}/{} MiB", used.cpu, all.cpu, used.memory, all.memory);
    text.push_str(&format!("{amounts}  {cpu}% {memory}%  {}", counted(node.allocations, "alloc")));
    text
}

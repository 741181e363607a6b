//! The usage of nodes as a map and as tables.
//!
//! A map has one cell per node, in the same position before and after. Each cell contains its number, so that the map
//! can be read without colours.

use maud::{Markup, html};

use super::heat::{Group, Heat, NodeHeat, Standing, Usage};
use super::parts::{Columns, change, code, short_name, table};
use crate::render::values::counted;
use encamp_model::short_id;

/// The size of a cell and of the space around it.
const WIDTH: usize = 32;
const HEIGHT: usize = 22;
const GAP: usize = 4;
/// The maximum number of cells side by side.
const COLUMNS: usize = 12;
/// The percentages from which the levels after the first begin.
const LEVELS: [i64; 4] = [25, 50, 75, 90];

/// A state of the cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

impl Side {
    fn of(self, node: &NodeHeat) -> Option<Usage> {
        match self {
            Side::Before => node.before,
            Side::After => node.after,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Side::Before => "Before",
            Side::After => "After",
        }
    }
}

/// A rectangle of a map.
struct Cell {
    class: String,
    label: String,
    title: String,
}

/// The level of a usage in percent.
fn level(percent: i64) -> usize {
    LEVELS.iter().filter(|from| percent >= **from).count()
}

fn label(percent: i64) -> String {
    if percent > 999 { ">999".into() } else { percent.to_string() }
}

/// The cell of one or several nodes.
fn cell(nodes: &[NodeHeat], side: Side) -> Cell {
    let known: Vec<(&NodeHeat, Usage)> = nodes.iter().filter_map(|n| Some((n, side.of(n)?))).collect();
    let up: Vec<&(&NodeHeat, Usage)> = known.iter().filter(|(_, u)| u.standing != Standing::Down).collect();
    let changed = side == Side::After && nodes.iter().any(NodeHeat::changed);
    let closed = known.iter().any(|(_, u)| u.standing == Standing::Closed);
    let count = i64::try_from(up.len()).unwrap_or(i64::MAX);
    let mean = up.iter().map(|(_, u)| u.most()).fold(0_i64, i64::saturating_add) / count.max(1);
    let (mut class, label) = match (known.is_empty(), up.is_empty()) {
        (true, _) => ("cell absent".to_string(), String::new()),
        (_, true) => ("cell down".to_string(), "×".to_string()),
        (_, false) => (format!("cell h{}", level(mean)), label(mean)),
    };
    class += if closed { " closed" } else { "" };
    class += if changed { " changed" } else { "" };
    let title = match (nodes, known.as_slice()) {
        ([node], []) => format!("{}: not part of the cluster", short_name(&node.name)),
        ([_], [(node, usage)]) => format!("{}: {}", short_name(&node.name), usage_text(usage)),
        (_, known) => {
            let down = known.len().saturating_sub(up.len());
            let of = |n: Option<&NodeHeat>| n.map(|n| short_name(&n.name)).unwrap_or_default();
            let highest = up.iter().max_by_key(|(_, u)| u.most());
            let highest = highest.map(|(n, u)| format!(", highest {}% ({})", u.most(), short_name(&n.name)));
            format!(
                "{} from {} to {}: mean {mean}%{}{}",
                counted(nodes.len(), "node", "nodes"),
                of(nodes.first()),
                of(nodes.last()),
                highest.unwrap_or_default(),
                if down > 0 { format!(", {down} down") } else { String::new() }
            )
        }
    };
    Cell { class, label, title }
}

/// The usage of a node in words.
fn usage_text(usage: &Usage) -> String {
    let standing = match usage.standing {
        Standing::Ready => "",
        Standing::Closed => ", takes no new allocations",
        Standing::Down => return String::from("down"),
    };
    format!("CPU {}%, memory {}%{standing}", usage.cpu.percent(), usage.memory.percent())
}

/// The map of a group on one side.
fn svg(group: &Group, side: Side, per_cell: usize) -> Markup {
    let cells: Vec<Cell> = group.nodes.chunks(per_cell).map(|nodes| cell(nodes, side)).collect();
    let columns = cells.len().clamp(1, COLUMNS);
    let width = columns * (WIDTH + GAP);
    let height = cells.len().div_ceil(columns) * (HEIGHT + GAP);
    let sums = group.sums(|n| side.of(n));
    let about = format!(
        "{}: {}, CPU {}% used, memory {}% used, highest usage of a node {}%",
        side.title(),
        counted(sums.nodes, "node is up", "nodes are up"),
        sums.cpu.percent(),
        sums.memory.percent(),
        sums.highest
    );
    html! {
        figure {
            figcaption { (side.title()) }
            svg role="img" aria-label=(about) width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
                @for (i, Cell { class, label, title }) in cells.iter().enumerate() {
                    @let (x, y) = (i % columns * (WIDTH + GAP) + GAP / 2, i / columns * (HEIGHT + GAP) + GAP / 2);
                    g class=(class) {
                        title { (title) }
                        rect x=(x) y=(y) width=(WIDTH) height=(HEIGHT) rx="3" {}
                        @if !label.is_empty() { text x=(x + WIDTH / 2) y=(y + HEIGHT / 2 + 4) { (label) } }
                    }
                }
            }
        }
    }
}

/// An example of a cell.
fn swatch(class: &str, label: &str, meaning: &str) -> Markup {
    let (width, height) = (WIDTH + GAP, HEIGHT + GAP);
    html! {
        li {
            svg aria-hidden="true" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
                g class={ "cell " (class) } {
                    rect x=(GAP / 2) y=(GAP / 2) width=(WIDTH) height=(HEIGHT) rx="3" {}
                    text x=(width / 2) y=(height / 2 + 4) { (label) }
                }
            }
            span { (meaning) }
        }
    }
}

fn legend() -> Markup {
    let [first, second, third, fourth] = LEVELS;
    let range = |from: i64, to: i64| format!("{from} to {}%", to - 1);
    html! {
        ul.legend aria-label="Legend" {
            (swatch("h0", "0", &range(0, first)))
            (swatch("h1", &first.to_string(), &range(first, second)))
            (swatch("h2", &second.to_string(), &range(second, third)))
            (swatch("h3", &third.to_string(), &range(third, fourth)))
            (swatch("h4", &fourth.to_string(), &format!("{fourth}% or more")))
            (swatch("h0 changed", "", "thick border: changes"))
            (swatch("h0 closed", "", "dashed border: drains or takes no new allocations"))
            (swatch("down", "×", "down or disconnected"))
            (swatch("absent", "", "dotted border: not part of the cluster"))
        }
    }
}

/// The map with its legend and tables.
pub(super) fn section(heat: &Heat) -> Markup {
    let per_cell = heat.nodes_per_cell();
    let (groups, nodes) = heat.left_out;
    html! {
        p {
            "Each number is the percentage of the CPU or the memory of a node that is allocated, whichever is higher."
            @if per_cell > 1 {
                " The cluster has too many nodes for a cell each: a cell stands for up to " (per_cell) " nodes of \
                 neighbouring names and contains their mean."
            }
        }
        @if groups > 0 {
            p.muted {
                (counted(groups, "more combination", "more combinations")) " of datacenter and node pool, with "
                (counted(nodes, "node", "nodes")) ", are not shown. Those with changes come first, then the largest."
            }
        }
        (legend())
        div.groups {
            @for group in &heat.groups {
                div {
                    h3 { "Datacenter " (code(&group.datacenter)) ", node pool " (code(&group.pool)) }
                    div.maps { (svg(group, Side::Before, per_cell)) (svg(group, Side::After, per_cell)) }
                }
            }
        }
        (sums(heat))
        (changes(heat))
    }
}

fn sums(heat: &Heat) -> Markup {
    const TITLES: Columns = Columns(&[
        ("Datacenter", false),
        ("Node pool", false),
        ("Nodes up", true),
        ("CPU", true),
        ("Memory", true),
        ("Highest node", true),
    ]);
    let percent = |n: i64| format!("{n}%");
    let rows = heat.groups.iter().map(|g| {
        let (before, after) = (g.sums(|n| n.before), g.sums(|n| n.after));
        vec![
            code(&g.datacenter),
            code(&g.pool),
            change(&before.nodes, &after.nodes),
            change(&percent(before.cpu.percent()), &percent(after.cpu.percent())),
            change(&percent(before.memory.percent()), &percent(after.memory.percent())),
            change(&percent(before.highest), &percent(after.highest)),
        ]
    });
    table("Usage by datacenter and node pool", &TITLES, rows)
}

/// The text alternative of what the maps show about single nodes.
fn changes(heat: &Heat) -> Markup {
    const TITLES: Columns = Columns(&[
        ("Node", false),
        ("Node ID", false),
        ("Datacenter", false),
        ("Node pool", false),
        ("CPU", true),
        ("Memory", true),
        ("State", false),
    ]);
    let state = |usage: Option<Usage>| match usage.map(|u| u.standing) {
        None => "not part of the cluster",
        Some(Standing::Ready) => "ready",
        Some(Standing::Closed) => "takes no new allocations",
        Some(Standing::Down) => "down",
    };
    let percent = |part: Option<super::heat::Part>| part.map_or("-".to_string(), |p| format!("{}%", p.percent()));
    let changes = heat.changes();
    if changes.is_empty() {
        return html! { p { "The usage of no node changes." } };
    }
    let rows = changes.iter().map(|(group, node)| {
        let (before, after) = (node.before, node.after);
        vec![
            code(&node.name),
            code(short_id(&node.id)),
            code(&group.datacenter),
            code(&group.pool),
            change(&percent(before.map(|u| u.cpu)), &percent(after.map(|u| u.cpu))),
            change(&percent(before.map(|u| u.memory)), &percent(after.map(|u| u.memory))),
            change(&state(before), &state(after)),
        ]
    });
    table("Nodes that change, highest usage first", &TITLES, rows)
}

#[cfg(test)]
mod tests {
    use super::super::heat::tests::{heat, node};
    use super::*;

    #[test]
    fn a_map_of_many_nodes_stays_small() {
        let nodes = (0..20_000).map(|n| node(&format!("\"<b>{}</b>-{n:05}", "&".repeat(200)), 10, 95)).collect();
        let text = section(&heat([("dc<1>".to_string(), nodes)])).into_string();
        assert!(text.len() < 3_000_000, "{} bytes", text.len());
        assert_eq!(text.matches("<svg role=\"img\"").count(), 2);
        assert!(text.contains("a cell stands for up to 34 nodes"), "{text}");
        assert!(!text.contains("<b>"));
    }

    #[test]
    fn cells_say_what_they_show() {
        let got = cell(&[node("a", 74, 90)], Side::Before);
        assert_eq!((got.class.as_str(), got.label.as_str()), ("cell h2", "74"));
        let got = cell(&[node("a", 74, 90)], Side::After);
        assert_eq!((got.class.as_str(), got.title.as_str()), ("cell h4 changed", "a: CPU 90%, memory 0%"));
        let got = cell(&[node("a", 10, 10), node("b", 21, 21)], Side::After);
        assert_eq!(got.title, "2 nodes from a to b: mean 15%, highest 21% (b)");
        let mut lost = node("a", 1, 1);
        lost.after.iter_mut().for_each(|u| u.standing = Standing::Down);
        assert_eq!(cell(&[lost.clone()], Side::After).class, "cell down changed");
        lost.after = None;
        assert_eq!(cell(&[lost], Side::After).class, "cell absent changed");
    }

    /// The contrast of two colours, `#rrggbb`, as WCAG 2 defines it.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let part = |at: usize| {
                let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour")) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Checkers do not measure the contrast of text in SVG.
    #[test]
    fn numbers_contrast_with_their_cells() {
        let style = include_str!("style.css");
        let (light, dark) = style.split_once("@media (prefers-color-scheme: dark)").expect("two palettes");
        for palette in [light, dark] {
            let colour = |name: &str| {
                let (_, rest) = palette.split_once(&format!("--{name}: ")).expect("a colour");
                rest.get(..7).expect("a colour")
            };
            for level in 0..=LEVELS.len() {
                let ratio = contrast(colour(&format!("heat-{level}")), colour(&format!("heat-{level}-text")));
                assert!(ratio >= 4.5, "level {level}: {ratio}");
            }
            for (text, ground) in [("text", "page"), ("muted", "panel"), ("good", "good-panel"), ("bad", "bad-panel")] {
                assert!(contrast(colour(text), colour(ground)) >= 4.5, "{text} on {ground}");
            }
        }
    }
}

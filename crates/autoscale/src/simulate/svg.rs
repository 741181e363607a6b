//! A plot of a simulation as one self-contained SVG file, readable on light and dark backgrounds.

use std::fmt::Write;

use super::report::{Report, Sample};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
/// Height of the space above a panel, with its title.
const ABOVE: f64 = 44.0;
const PANEL: f64 = 130.0;
/// Height of the space below the last panel, with the times.
const BELOW: f64 = 40.0;
const PANELS: usize = 3;

const STYLE: &str = "\
svg{--ground:#ffffff;--ink:#1f2328;--faint:#6e7781;--grid:#d8dee4;--a:#0969da;--b:#bc4c00;--c:#cf222e;--area:#cf222e33}
@media(prefers-color-scheme:dark){svg{--ground:#0d1117;--ink:#e6edf3;--faint:#8d96a0;--grid:#30363d;--a:#58a6ff;\
--b:#f0883e;--c:#ff7b72;--area:#ff7b7244}}
.ground{fill:var(--ground)}text{fill:var(--ink);font:12px system-ui,sans-serif}.faint{fill:var(--faint)}
.title{font-weight:600;font-size:13px}.grid{stroke:var(--grid);stroke-width:1}path{fill:none;stroke-width:1.5}
.a{stroke:var(--a)}.b{stroke:var(--b);stroke-dasharray:5 3}.c{stroke:var(--c)}
text.a{fill:var(--a);stroke:none}text.b{fill:var(--b);stroke:none}text.c{fill:var(--c);stroke:none}
";

/// A line of a panel.
struct Line {
    name: &'static str,
    class: &'static str,
    value: fn(&Sample) -> f64,
}

/// Lines over the same axis.
struct Panel {
    title: &'static str,
    lines: Vec<Line>,
}

fn panels() -> [Panel; PANELS] {
    let line = |name, class, value| Line { name, class, value };
    [
        Panel {
            title: "Nodes",
            lines: vec![
                line("instances that run", "b", |s| s.instances as f64),
                line("registered nodes", "a", |s| s.nodes as f64),
            ],
        },
        Panel {
            title: "Demand, allocations",
            lines: vec![line("wanted", "a", |s| s.wanted as f64), line("unplaced", "c", |s| s.unplaced as f64)],
        },
        Panel {
            title: "Utilisation of the prioritised metric, %",
            lines: vec![line("allowed", "b", Sample::allowed_percent), line("used", "a", Sample::used_percent)],
        },
    ]
}

/// Draws the plot.
pub fn plot(report: &Report) -> String {
    let height = (ABOVE + PANEL) * PANELS as f64 + BELOW;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\">\n<title>Worker pool {}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>",
        escaped(&report.pool)
    );
    for (i, panel) in panels().iter().enumerate() {
        let top = i as f64 * (ABOVE + PANEL) + ABOVE;
        draw(&mut out, report, panel, top);
    }
    times(&mut out, report, height - BELOW);
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, report: &Report, panel: &Panel, top: f64) {
    let values = || panel.lines.iter().flat_map(|l| report.samples.iter().map(l.value));
    let scale = round_up(values().fold(1.0, f64::max));
    let y = |value: f64| top + PANEL * (1.0 - value.clamp(0.0, scale) / scale);
    let _ = writeln!(out, "<text class=\"title\" x=\"{LEFT}\" y=\"{}\">{}</text>", top - 14.0, panel.title);
    let mut x = WIDTH - RIGHT;
    for line in panel.lines.iter().rev() {
        let _ = writeln!(
            out,
            "<text class=\"{}\" x=\"{x}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            line.class,
            top - 14.0,
            line.name
        );
        x -= 8.0 * line.name.len() as f64;
    }
    for step in 0..=4 {
        let value = scale * f64::from(step) / 4.0;
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"faint\" x=\"{}\" \
             y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y(value) + 4.0,
            y = y(value),
        );
    }
    for line in &panel.lines {
        let _ = writeln!(out, "<path class=\"{}\" d=\"{}\"/>", line.class, steps(report, line, &y));
    }
}

/// A line that keeps its value until the next sample. Samples in the same column of pixels become one vertical stroke.
fn steps(report: &Report, line: &Line, y: &dyn Fn(f64) -> f64) -> String {
    let mut d = String::new();
    let column = |s: &Sample| x_of(report, s.seconds).round();
    for same in report.samples.chunk_by(|a, b| column(a) == column(b)) {
        let (Some(first), Some(last)) = (same.first(), same.last()) else { continue };
        let values = || same.iter().map(line.value);
        let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
        let (x, at) = (column(first), y((line.value)(last)));
        match d.is_empty() {
            true => drop(write!(d, "M{x} {at:.1}")),
            false => drop(write!(d, "H{x}V{:.1}V{:.1}V{at:.1}", y(low), y(high))),
        }
    }
    let _ = write!(d, "H{}", x_of(report, report.seconds).round());
    d
}

fn x_of(report: &Report, seconds: i64) -> f64 {
    let whole = report.seconds.max(1) as f64;
    LEFT + (WIDTH - LEFT - RIGHT) * (seconds as f64 / whole).clamp(0.0, 1.0)
}

fn times(out: &mut String, report: &Report, bottom: f64) {
    let step = step_of_times(report.seconds);
    let mut at = 0;
    while at <= report.seconds {
        let x = x_of(report, at);
        let _ = writeln!(
            out,
            "<text class=\"faint\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 20.0,
            clock(at)
        );
        at = at.saturating_add(step);
    }
}

/// Seconds between two labels, so that there are nine at most.
pub fn step_of_times(seconds: i64) -> i64 {
    const STEPS: [i64; 12] = [10, 60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 4 * 86_400];
    STEPS.into_iter().find(|s| seconds / s <= 8).unwrap_or(8 * 86_400)
}

/// A moment as `H:MM`, or `H:MM:SS` if it is not a whole minute.
pub fn clock(seconds: i64) -> String {
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if s == 0 { format!("{h}:{m:02}") } else { format!("{h}:{m:02}:{s:02}") }
}

/// The next number that is a multiple of 4 with few digits.
fn round_up(value: f64) -> f64 {
    let mut unit = 4.0;
    while unit * 10.0 < value {
        unit *= 10.0;
    }
    (value / unit).ceil() * unit
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

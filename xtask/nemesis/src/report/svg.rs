//! Pictures: rows of ten minutes with the faults shaded, and bars.

use std::fmt::Write;

use super::numbers::{Fault, SECOND, seconds};
use crate::history::Micros;

/// Seconds of a row, and pixels of a second.
const ROW: Micros = 600;
const SCALE: f64 = 2.0;
/// Where a row begins, and its height, with and without labels.
const LEFT: f64 = 60.0;
const HEIGHT: f64 = 100.0;
const ROW_HEIGHT: f64 = 190.0;
const WIDTH: f64 = 1290.0;
/// Colours of faults: of the network, processes, disks, clocks, members.
const COLOURS: [&str; 5] = ["#cfe2f3", "#f4cccc", "#fff2cc", "#d9ead3", "#d9d2e9"];
/// Colours of lines.
const LINES: [&str; 2] = ["#1155cc", "#cc4125"];

/// A line of a picture: a value for each second.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<f64>,
}

/// How values are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    Linear,
    /// From 1 on, by powers of ten.
    Logarithmic,
}

/// The colour of a kind of fault.
fn colour(kind: &str) -> &'static str {
    match kind {
        "kill" | "power-failure" | "pause" | "node-kill" => COLOURS[1],
        "disk-full" | "read-only" | "slow-disk" => COLOURS[2],
        "wall-clock" | "monotonic-clock" => COLOURS[3],
        "leave" | "removal" | "upgrade" => COLOURS[4],
        _ => COLOURS[0],
    }
}

fn open(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<title>{title}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"14\">{title}</text>\n"
    )
}

fn text(out: &mut String, x: f64, y: f64, more: &str, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#333333\" {more}>{text}</text>");
}

fn rectangle(out: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

/// A value that is not below any of the values, and has few digits.
fn top(lines: &[Line], axis: Axis) -> f64 {
    let most = lines.iter().flat_map(|l| &l.values).copied().fold(1.0, f64::max);
    let power = 10_f64.powf(most.log10().floor());
    match axis {
        Axis::Logarithmic => 10_f64.powf(most.log10().ceil()).max(10.0),
        Axis::Linear => [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|n| *n >= most).unwrap_or(most),
    }
}

/// Lines over the time of a run, in rows of ten minutes.
pub(crate) fn rows(title: &str, lines: &[Line], axis: Axis, faults: &[Fault], end: Micros) -> String {
    let rows = (end / SECOND).div_ceil(ROW).max(1);
    let height = 60.0 + seconds(rows * SECOND) * ROW_HEIGHT;
    let mut out = open(WIDTH, height, title);
    for ((line, colour), x) in lines.iter().zip(LINES).zip([60.0, 330.0]) {
        rectangle(&mut out, (x, 30.0), (18.0, 3.0), colour);
        text(&mut out, x + 24.0, 35.0, "", line.name);
    }
    let top = top(lines, axis);
    for row in 0..rows {
        let y = 130.0 + seconds(row * SECOND) * ROW_HEIGHT;
        shade(&mut out, faults, row, y);
        grid(&mut out, row, y, top, axis);
        for (line, colour) in lines.iter().zip(LINES) {
            draw(&mut out, line, colour, row, y, top, axis);
        }
    }
    out.push_str("</svg>\n");
    out
}

fn shade(out: &mut String, faults: &[Fault], row: Micros, y: f64) {
    let (first, last) = (row * ROW * SECOND, (row + 1) * ROW * SECOND);
    for fault in faults.iter().filter(|f| f.from < last && f.to > first) {
        let from = seconds(fault.from.max(first) - first) * SCALE + LEFT;
        let to = seconds(fault.to.min(last) - first) * SCALE + LEFT;
        rectangle(out, (from, y), (to - from, HEIGHT), colour(&fault.kind));
        let more = format!("font-size=\"9\" transform=\"rotate(-55 {:.1} {:.1})\"", from + 4.0, y - 4.0);
        text(out, from + 4.0, y - 4.0, &more, &fault.kind);
    }
}

fn grid(out: &mut String, row: Micros, y: f64, top: f64, axis: Axis) {
    let bottom = y + HEIGHT;
    let right = LEFT + seconds(ROW * SECOND) * SCALE;
    let _ = writeln!(
        out,
        "<path d=\"M{LEFT} {y:.1}V{bottom:.1}H{right:.1}\" fill=\"none\" stroke=\"#666666\" stroke-width=\"1\"/>"
    );
    let marks = match axis {
        Axis::Linear => vec![0.0, top / 2.0, top],
        Axis::Logarithmic => (0..10).map(|n| 10_f64.powi(n)).take_while(|n| *n <= top).collect(),
    };
    for mark in marks {
        text(out, LEFT - 6.0, place(mark, y, top, axis) + 4.0, "text-anchor=\"end\"", &format!("{mark}"));
    }
    for minute in (0..=ROW).step_by(60) {
        let x = LEFT + seconds(minute * SECOND) * SCALE;
        let label = format!("{} min", (row * ROW + minute) / 60);
        text(out, x, bottom + 14.0, "text-anchor=\"middle\"", &label);
    }
}

fn place(value: f64, y: f64, top: f64, axis: Axis) -> f64 {
    let share = match axis {
        Axis::Linear => value / top,
        Axis::Logarithmic => value.max(1.0).log10() / top.log10(),
    };
    y + HEIGHT * (1.0 - share)
}

fn draw(out: &mut String, line: &Line, colour: &str, row: Micros, y: f64, top: f64, axis: Axis) {
    let first = usize::try_from(row * ROW).unwrap_or(0);
    let mut path = String::new();
    let values = line.values.iter().skip(first).take(usize::try_from(ROW).unwrap_or(0));
    for (second, value) in (0_u32..).zip(values) {
        let command = if second == 0 { 'M' } else { 'L' };
        let x = LEFT + f64::from(second) * SCALE;
        let _ = write!(path, "{command}{x:.0} {:.1}", place(*value, y, top, axis));
    }
    let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1\"/>");
}

/// A row of bars: a name, the values of its single cases, in seconds.
pub(crate) fn cases(title: &str, kinds: &[(&str, Vec<f64>)]) -> String {
    let height = 70.0 + 22.0 * f64::from(u32::try_from(kinds.len()).unwrap_or(0));
    let mut out = open(900.0, height, title);
    let most = kinds.iter().flat_map(|(_, values)| values).copied().fold(1.0, f64::max).ceil();
    let x = |value: f64| 150.0 + value / most * 700.0;
    for (row, (kind, values)) in (0_u32..).zip(kinds) {
        let y = 36.0 + 22.0 * f64::from(row);
        let longest = values.iter().copied().fold(0.0, f64::max);
        text(&mut out, 144.0, y + 11.0, "text-anchor=\"end\"", kind);
        rectangle(&mut out, (150.0, y), (x(longest) - 150.0, 15.0), colour(kind));
        for value in values {
            let _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"none\" stroke=\"{}\"/>",
                x(*value),
                y + 7.5,
                LINES[0]
            );
        }
    }
    let y = height - 14.0;
    for mark in (0..=5).map(|n| most / 5.0 * f64::from(n)) {
        text(&mut out, x(mark), y, "text-anchor=\"middle\"", &format!("{mark:.1} s"));
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_show_lines_faults_and_bars() {
        let fault = Fault { kind: "kill".into(), from: 590 * SECOND, to: 610 * SECOND, what: String::new() };
        let line = Line { name: "writes", values: vec![3.0; 700] };
        let picture = rows("Writes", &[line], Axis::Linear, &[fault], 700 * SECOND);
        assert_eq!(picture.matches(">kill</text>").count(), 2, "the fault reaches into the second row");
        assert_eq!(picture.matches("<path").count(), 4, "two axes, two lines");
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n") && !picture.contains("NaN"));
        let bars = cases("Unavailability", &[("kill", vec![2.5, 0.0]), ("loss", vec![])]);
        assert_eq!((bars.matches("<circle").count(), bars.contains("NaN")), (2, false));
    }
}

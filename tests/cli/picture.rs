//! The picture of README.md shows what its main command prints.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli picture` draws it.

use std::fmt::Write as _;
use std::path::Path;

use crate::program::run_in;
use vt100::{Cell, Color, Parser};

const PICTURE: &str = "docs/picture.svg";
/// The program in the main command of README.md: where `cargo install` puts it.
const PROGRAM: &str = "~/.cargo/bin/encamp ";

/// Width of a column and height of a row, for a monospaced font of 14 pixels.
const COLUMN: f64 = 8.4;
const ROW: usize = 20;
/// The space around the text, and the height of the title bar.
const MARGIN: usize = 20;
const TITLE_BAR: usize = 36;

/// The palette: one dark window, which is readable on light and on dark pages.
const BACKGROUND: &str = "#1c2128";
const FOREGROUND: &str = "#d8dee6";
const COLOURS: [&str; 8] = ["#768390", "#ff7b72", "#5fd38d", "#e3b341", "#6cb6ff", "#d2a8ff", "#56d4dd", FOREGROUND];

/// The main command of README.md, without the program.
fn main_command(readme: &str) -> &str {
    readme.lines().find_map(|line| line.strip_prefix(PROGRAM)).expect("the main command")
}

/// Text of one style within a row.
struct Run {
    column: usize,
    text: String,
    style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Style {
    colour: &'static str,
    bold: bool,
    underlined: bool,
}

fn style(cell: &Cell) -> Style {
    let colour = match cell.fgcolor() {
        Color::Default => FOREGROUND,
        Color::Idx(n) => COLOURS[usize::from(n % 8)],
        Color::Rgb(..) => panic!("the program uses the palette of the terminal"),
    };
    Style { colour, bold: cell.bold(), underlined: cell.underline() }
}

/// The rows of a terminal to which a text with escape sequences was written.
fn rows(text: &str) -> Vec<Vec<Run>> {
    let count = text.lines().count();
    let size = |n: usize| u16::try_from(n).ok().and_then(std::num::NonZeroU16::new).expect("a size");
    let columns = 200;
    let mut terminal = Parser::new(size(count), size(columns), 0);
    terminal.process(text.trim_end().replace('\n', "\r\n").as_bytes());
    let screen = terminal.screen();
    let place = |n: usize| u16::try_from(n).expect("a place");
    let mut rows = Vec::new();
    for row in 0..count {
        let mut runs: Vec<Run> = Vec::new();
        for column in 0..columns {
            let cell = screen.cell(place(row), place(column)).expect("a cell");
            let content = if cell.has_contents() { cell.contents() } else { " " };
            match runs.last_mut() {
                Some(run) if run.style == style(cell) => run.text.push_str(content),
                _ => runs.push(Run { column, text: content.into(), style: style(cell) }),
            }
        }
        rows.push(runs.into_iter().filter_map(without_blanks).collect());
    }
    rows
}

/// A run without the blanks around it; none if there is nothing else.
fn without_blanks(run: Run) -> Option<Run> {
    let text = run.text.trim_start_matches(' ');
    let column = run.column + run.text.len() - text.len();
    let text = text.trim_end_matches(' ');
    (!text.is_empty()).then(|| Run { column, text: text.into(), style: run.style })
}

/// A text of an SVG file. Blanks are not collapsed.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

/// A terminal window with these rows.
fn drawn(title: &str, rows: &[Vec<Run>]) -> String {
    let length = |run: &Run| run.text.chars().count();
    let columns = rows.iter().flatten().map(|run| run.column + length(run)).max().unwrap_or(0);
    let width = 2 * MARGIN + (columns as f64 * COLUMN).ceil() as usize;
    let height = TITLE_BAR + MARGIN + rows.len() * ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\">\n\
         <title>{}</title>\n\
         <style>\n\
         text {{ font-size: 14px; fill: {FOREGROUND}; font-family: ui-monospace, Menlo, Consolas, monospace; }}\n\
         </style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{BACKGROUND}\" stroke=\"#768390\"/>\n",
        escaped(title),
        width - 1,
        height - 1,
    );
    for (n, colour) in [COLOURS[1], COLOURS[3], COLOURS[2]].iter().enumerate() {
        let x = MARGIN + n * 18;
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{}\" r=\"6\" fill=\"{colour}\"/>", TITLE_BAR / 2);
    }
    for (n, row) in rows.iter().enumerate() {
        let y = TITLE_BAR + (n + 1) * ROW;
        for run in row {
            let x = MARGIN as f64 + run.column as f64 * COLUMN;
            // The length keeps columns aligned in every font.
            let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y}\" textLength=\"{:.1}\"", length(run) as f64 * COLUMN);
            if run.style.colour != FOREGROUND {
                let _ = write!(out, " style=\"fill: {}\"", run.style.colour);
            }
            if run.style.bold {
                out += " font-weight=\"bold\"";
            }
            if run.style.underlined {
                out += " text-decoration=\"underline\"";
            }
            let _ = writeln!(out, ">{}</text>", escaped(&run.text));
        }
    }
    out + "</svg>\n"
}

#[test]
fn picture_of_the_readme_shows_the_main_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md");
    let command = main_command(&readme);
    let (group, rest) = command.split_once(" -").expect("flags");
    let coloured = format!("{group} -force-color -{rest}");
    let ran = run_in(root, &coloured.split(' ').collect::<Vec<_>>());
    assert_eq!((ran.exit, ran.stderr.as_str()), (1, ""), "{command}");
    let now = drawn(&format!("encamp {command}"), &rows(&format!("$ encamp {command}\n{}", ran.stdout)));
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(root.join(PICTURE), &now).expect("the picture is written");
    }
    let stored = std::fs::read_to_string(root.join(PICTURE)).unwrap_or_default();
    assert!(stored == now, "{PICTURE} is stale; run cargo xtask picture");
    assert!(readme.contains(&format!("]({PICTURE})")), "README.md does not show {PICTURE}");
}

//! Commands for autoscaled worker pools and job groups (`docs/spec/cluster-scaling.md §11`).
//!
//! [`status`], [`plan`], [`failsafe`], [`simulate`]: the commands. [`init`]: the example files of `init`. [`groups`]:
//! job groups. [`pools`]: pools read from a cluster or a snapshot. [`state`]: state objects in Variables.
//! [`plan_text`], [`simulate_text`]: text output.

pub mod failsafe;
mod groups;
pub mod init;
pub mod plan;
mod plan_text;
mod pools;
pub mod simulate;
mod simulate_text;
mod state;
pub mod status;

use super::render::styled::one_line;
use super::render::ui::Ui;
use super::render::wrap::{self, WIDTH};
use encamp_autoscale::protection::ProtectedNode;

/// Wraps a text of one line, such as a name or a reason, into indented lines that fit the terminal.
fn wrapped(text: &str, indent: usize) -> String {
    wrap::wrapped(&one_line(text), WIDTH, indent)
}

/// The maximum number of protected nodes that are listed.
const MOST_PROTECTED: usize = 10;

/// Prints the nodes that are never removed, and the reasons (`docs/spec/cluster-scaling.md §6`).
fn print_protected(ui: &mut Ui<'_>, nodes: &[ProtectedNode]) {
    if nodes.is_empty() {
        return;
    }
    ui.heading("Protected Nodes");
    for node in nodes.iter().take(MOST_PROTECTED) {
        let short = encamp_model::short_id(&node.id);
        ui.output(&wrapped(&format!("{} ({short}): it runs {}", node.name, node.reason.runs()), 2));
    }
    let more = nodes.len().saturating_sub(MOST_PROTECTED);
    if more > 0 {
        ui.output(&format!("  and {more} more"));
    }
}

fn print_problems(ui: &mut Ui<'_>, problems: &[String]) {
    if problems.is_empty() {
        return;
    }
    ui.heading("Problems");
    for problem in problems {
        ui.output(&wrapped(problem, 2));
    }
}

/// A count with its noun.
fn counted(n: i64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_broken_at_spaces() {
        let word = "x".repeat(90);
        assert_eq!(wrapped(&format!("a b {word} c\nd"), 2), format!("  a b\n  {word}\n  c\\nd"));
        let text = wrapped(&"word ".repeat(40), 4);
        assert!(text.lines().all(|l| l.len() <= WIDTH && l.starts_with("    word")), "{text}");
        assert_eq!(wrapped("", 2), "");
    }

    #[test]
    fn things_are_counted() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "node")), ["0 nodes", "1 node", "2 nodes"]);
    }
}

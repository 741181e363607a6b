//! `encamp top` on a pseudo terminal: stored screens ([`screens`]), actions and streams of a running agent ([`running`]),
//! and the terminal after each way to end it ([`ends`]). [`churn`]: memory and processor time. [`canned`]: a cluster of
//! fixed answers.

mod canned;
mod churn;
mod ends;
mod running;
mod screens;

use crate::program::Folder;
use crate::terminal::encamp;
use crate::terminal::screen::{Screen, Size};

/// A file of the repository.
fn repository_file(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The program on a terminal, with the list of jobs of a file.
fn started(folder: &Folder, size: Size) -> Screen {
    let file = repository_file("fixtures/demo/cluster.json");
    let screen = encamp(size, folder, "http://127.0.0.1:1", &["top", "-snapshot", &file]);
    screen.wait_for("jobs (4)");
    screen
}

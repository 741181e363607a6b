//! The real program on a pseudo terminal, at 80x24 and 120x40: every command with progress, a prompt, a monitor or a
//! stream ends within its limit and leaves the terminal as it was; Ctrl-C ends each with 130; nothing foreign moves the
//! cursor.
//!
//! [`screen`]: the terminal. [`progress`], [`monitors`], [`prompts`]: against canned answers. [`streams`]: against a
//! running agent. [`scenes`]: stored screens, and the pager. [`people`]: messages for terminals only. [`plain`]:
//! `TERM=dumb`, `NO_COLOR`, and names with control characters.
//! [`top`]: the views of `encamp top`.
//! [`choices`], [`job_init`]: objects chosen from a list, and the questions of `job init`.

mod choices;
mod job_init;
mod monitors;
mod people;
mod plain;
mod progress;
mod prompts;
mod scenes;
pub mod screen;
mod streams;
mod top;
mod volumes;

use crate::program;
use crate::program::Folder;
use screen::{Screen, Size};

/// Environment variables and arguments.
type Given<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

/// Starts the program on a terminal, against a server.
fn encamp(size: Size, folder: &Folder, address: &str, args: &[&str]) -> Screen {
    encamp_with(size, folder, address, &[("TERM", "xterm-256color")], args)
}

/// The same, with these environment variables.
fn encamp_with(size: Size, folder: &Folder, address: &str, env: &[(&str, &str)], args: &[&str]) -> Screen {
    let cache = folder.path().join("cache").display().to_string();
    let temporary = folder.path().display().to_string();
    let all = [
        ("PAGER", "cat"),
        ("NOMAD_ADDR", address),
        ("TZ", "UTC"),
        ("ENCAMP_CACHE_DIR", &cache),
        ("TMPDIR", &temporary),
    ];
    Screen::start(size, folder.path(), &[&all, env].concat(), &program::path(), args)
}

/// Never answers; the thread ends with the tests.
fn stall() -> ! {
    loop {
        std::thread::park();
    }
}

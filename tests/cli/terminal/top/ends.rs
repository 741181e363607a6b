//! However it ends, the terminal is as it was.

use std::time::Duration;

use rustix::process::Signal;

use super::{repository_file, started};
use crate::program::Folder;
use crate::terminal::screen::{CTRL_C, SIZES};
use crate::terminal::{encamp, encamp_with};

/// A way to end the program.
enum End {
    Keys(&'static str),
    Signal(Signal),
}

#[test]
fn keys_and_signals_restore_the_terminal() {
    let ends = [
        End::Keys("q"),
        End::Keys(CTRL_C),
        End::Keys(":quit\r"),
        End::Signal(Signal::TERM),
        End::Signal(Signal::INT),
        End::Signal(Signal::HUP),
        End::Signal(Signal::QUIT),
    ];
    let folder = Folder::new("top-ends");
    for end in ends {
        let screen = started(&folder, SIZES[0]);
        match end {
            End::Keys(keys) => screen.press(keys),
            End::Signal(signal) => screen.signal(signal),
        }
        screen.ends().with(0).without("jobs (4)");
    }
}

/// Builds with debug assertions have the command `:panic`.
#[test]
fn a_panic_restores_the_terminal_and_says_why() {
    if crate::program::optimised() {
        return;
    }
    let folder = Folder::new("top-panic");
    let screen = started(&folder, SIZES[0]);
    screen.press(":panic\r");
    screen.ends().showing("the command :panic").without("jobs (4)");
}

#[test]
fn a_suspended_program_gives_the_terminal_back_and_takes_it_again() {
    let folder = Folder::new("top-suspended");
    for by_key in [true, false] {
        let screen = started(&folder, SIZES[0]);
        if by_key {
            screen.press("\x1a");
        } else {
            screen.signal(Signal::TSTP);
        }
        screen.wait_until("shell", |screen, _| !screen.alternate_screen() && !screen.hide_cursor());
        // The program stops itself a moment after it has given the terminal back; a signal before that is lost.
        let goes_on = |_| {
            screen.signal(Signal::CONT);
            screen.shows_within(Duration::from_millis(300), |shown| shown.contains("jobs (4)"))
        };
        assert!((0..100).any(goes_on), "{}", screen.contents());
        screen.press("q");
        screen.ends().with(0);
    }
}

/// Nothing reads and nothing is shown any more: the program ends instead of reading without end, whether or not it gets
/// a signal.
#[test]
fn a_closed_terminal_ends_the_program() {
    let folder = Folder::new("top-closed");
    let file = repository_file("fixtures/demo/cluster.json");
    let program = crate::program::path();
    for mut command in [crate::pty::command(&program), std::process::Command::new(&program)] {
        command.args(["top", "-snapshot", &file]).current_dir(folder.path()).env_clear().env("TERM", "xterm");
        let ended = crate::pty::hang_up(command, "exporter", crate::terminal::screen::LIMIT);
        assert!(ended.is_ok(), "{ended:?}");
    }
}

#[test]
fn without_a_terminal_as_input_there_is_an_error() {
    let folder = Folder::new("top-input");
    let script = format!("{} top < /dev/null", crate::program::path());
    let env = [("TERM", "xterm-256color"), ("PATH", "/usr/bin:/bin")];
    let screen = crate::terminal::screen::Screen::start(SIZES[0], folder.path(), &env, "/bin/sh", &["-c", &script]);
    screen.ends().with(1).showing("needs a terminal");
}

#[test]
fn a_cluster_that_does_not_answer_is_an_error_on_the_screen() {
    let folder = Folder::new("top-unreachable");
    let screen = encamp(SIZES[0], &folder, "http://127.0.0.1:9", &["top"]);
    screen.wait_for("Error: ");
    screen.wait_for("no answer");
    screen.press("q");
    screen.ends().with(0);
}

#[test]
fn without_colours_there_are_marks() {
    let folder = Folder::new("top-plain");
    let file = repository_file("fixtures/demo/cluster.json");
    let env = [("TERM", "xterm-256color"), ("NO_COLOR", "1")];
    let screen = encamp_with(SIZES[0], &folder, "http://127.0.0.1:1", &env, &["top", "-snapshot", &file]);
    screen.wait_for("jobs (4)");
    for view in [":nodes\r", ":topology\r", ":jobs\r"] {
        screen.press(view);
    }
    screen.wait_for("> ");
    screen.press("q");
    let ended = screen.ends().with(0);
    let text = String::from_utf8_lossy(&ended.raw);
    // Colours are 30 to 37, 38, 90 to 97; 39 is the terminal's own.
    let colour = regex::Regex::new(r"\x1b\[(?:\d+;)*(?:3[0-8]|9[0-7]|4[0-8])(?:;\d+)*m").expect("a pattern");
    assert!(!colour.is_match(&text), "{text:?}");
}

//! `encamp top`: lists of a snapshot file, and the terminal after each way to end it.

use rustix::process::Signal;

use crate::program::Folder;
use crate::terminal::encamp;
use crate::terminal::screen::{CTRL_C, SIZES, Screen, Size};

/// A way to end the program.
enum End {
    Keys(&'static str),
    Signal(Signal),
}

/// The program on a terminal, with the list of jobs.
fn started(folder: &Folder, size: Size) -> Screen {
    let file = format!("{}/fixtures/demo/cluster.json", env!("CARGO_MANIFEST_DIR"));
    let screen = encamp(size, folder, "http://127.0.0.1:1", &["top", "-snapshot", &file]);
    screen.wait_for("jobs (4)");
    screen
}

#[test]
fn every_end_restores_the_terminal() {
    let ends = [
        End::Keys("q"),
        End::Keys(CTRL_C),
        End::Keys(":quit\r"),
        End::Signal(Signal::TERM),
        End::Signal(Signal::INT),
        End::Signal(Signal::HUP),
        End::Signal(Signal::QUIT),
    ];
    let folder = Folder::new("top");
    for end in ends {
        let screen = started(&folder, SIZES[0]);
        match end {
            End::Keys(keys) => screen.press(keys),
            End::Signal(signal) => screen.signal(signal),
        }
        screen.ends().with(0).without("jobs (4)");
    }
}

#[test]
fn views_follow_keys_at_all_sizes() {
    let folder = Folder::new("top");
    for size in SIZES {
        let screen = started(&folder, size);
        screen.press("3");
        screen.wait_for("DATACENTER");
        screen.press("1/no such job");
        screen.wait_for("There are none.");
        screen.press("\x1b");
        screen.wait_for("jobs (4)");
        screen.press("?");
        screen.wait_for("next, previous row");
        screen.press("\x1b");
        screen.wait_for("UNPLACED");
        screen.press("q");
        screen.ends().with(0);
    }
}

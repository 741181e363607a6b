//! The data directory of a server that does not run.

use std::os::unix::fs::symlink;

use super::directory::ExampleDirectory;
use super::end;
use super::shell::Shell;
use crate::member::{Member, Role};

/// Runs examples.
pub(super) fn run(examples: impl Iterator<Item = (&'static str, &'static str)>) {
    let settings = "server {\n  enabled = true\n  bootstrap_expect = 1\n}\n";
    let mut member = Member::new("examples-stopped", Role::Other(settings.into()));
    member.start();
    member.kill();
    let directory = ExampleDirectory::new("examples-stopped");
    symlink(member.data().join("server"), directory.path().join("data/server")).expect("a link");
    std::fs::create_dir_all(directory.path().join("copies")).expect("a directory");
    symlink(member.data().join("server"), directory.path().join("copies/server-1")).expect("a link");
    let shell = Shell::new(&directory, &[]);
    let failures: Vec<String> =
        examples.filter_map(|(command, line)| shell.example(command, line, end(command, line))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

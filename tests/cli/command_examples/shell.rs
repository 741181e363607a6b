//! Runs command lines of examples in a shell.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use encamp_cli::command::Registry;
use rustix::process::{Pid, Signal, kill_process_group};

use super::directory::ExampleDirectory;
use crate::program;

/// Longest run of an example: the longest simulation waits for missing heartbeats.
const PATIENCE: Duration = Duration::from_secs(240);
/// How long a command that does not end by itself runs before it is interrupted.
const RUNS: Duration = Duration::from_secs(2);

/// When the command of an example ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// By itself.
    Exits,
    /// By SIGINT, after some seconds.
    Runs,
    /// By SIGINT, after it printed a text.
    Prints(&'static str),
}

/// How a line ended.
pub(super) struct Ended {
    /// The exit status; `None` if it was killed because it took too long.
    pub(super) status: Option<i32>,
    /// Standard output and standard error.
    pub(super) output: String,
}

/// A shell in the directory of the examples.
pub(super) struct Shell {
    directory: PathBuf,
    environment: Vec<(String, String)>,
}

impl Shell {
    pub(super) fn new(directory: &ExampleDirectory, environment: &[(&str, &str)]) -> Shell {
        let own = directory.path().display().to_string();
        let program = program::path();
        let programs = Path::new(&program).parent().expect("the directory of the program").display();
        let path = format!("{programs}:{own}/bin:{}", std::env::var("PATH").unwrap_or_default());
        let common = [
            ("PATH", path.as_str()),
            ("HOME", &own),
            ("TMPDIR", &own),
            ("TZ", "UTC"),
            ("ADMIN_TOKEN", "9a1b2c3d-4e5f-4a6b-8c7d-0e1f2a3b4c5d"),
        ];
        let environment = common.iter().chain(environment).map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Shell { directory: directory.path().into(), environment }
    }

    /// Runs a line.
    pub(super) fn run(&self, line: &str, until: Until) -> Ended {
        let output = self.directory.join("output");
        let file = File::create(&output).expect("a file for the output");
        // Programs that are started in the background ignore SIGINT, and so do those that they start.
        let mut shell = Command::new("env");
        shell.args(["--default-signal=INT", "bash", "-c", line]).current_dir(&self.directory).env_clear();
        shell.envs(self.environment.iter().map(|(k, v)| (k, v))).stdin(Stdio::null()).process_group(0);
        shell.stdout(file.try_clone().expect("a file")).stderr(file);
        let mut child = shell.spawn().expect("a shell");
        let printed = || String::from_utf8_lossy(&std::fs::read(&output).unwrap_or_default()).into_owned();
        let start = Instant::now();
        let mut interrupted = false;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status.code();
            }
            let due = match until {
                Until::Exits => false,
                Until::Runs => start.elapsed() > RUNS,
                Until::Prints(text) => printed().contains(text),
            };
            if due && !interrupted {
                interrupted = true;
                signal(&child, Signal::INT);
            }
            if start.elapsed() > PATIENCE {
                signal(&child, Signal::KILL);
                let _ = child.wait();
                break None;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        Ended { status, output: printed() }
    }

    /// Runs a line that prepares something; it must succeed.
    pub(super) fn must(&self, line: &str) {
        let ended = self.run(line, Until::Exits);
        assert_eq!(ended.status, Some(0), "$ {line}\n{}", ended.output);
    }

    /// Runs an example. Returns what is wrong with it: its command has to exit with a status that it documents, and not
    /// because of an error.
    pub(super) fn example(&self, command: &str, line: &str, until: Until) -> Option<String> {
        let ended = self.run(line, until);
        let registry = Registry::new();
        let statuses = registry.get(command).map_or(&[][..], |entry| entry.meta.exit_status);
        let documented = statuses.iter().find(|(code, _)| Some(i32::from(*code)) == ended.status);
        let fine = documented.is_some_and(|(_, when)| until != Until::Exits || !when.contains("error occurred"));
        (!fine).then(|| format!("$ {line}\n[exit {:?}]\n{}", ended.status, ended.output))
    }
}

fn signal(child: &Child, signal: Signal) {
    // It may have ended already.
    let _ = kill_process_group(Pid::from_child(child), signal);
}

//! Real clients against the real program: python-nomad and Nomad's own client library (`tests/compat`). Each client
//! registers, plans, runs, reads, blocks, streams events, drains and stops.
//!
//! Skipped if Python, Go or the network is not available; with `CI=true` that is a failure.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::agent::Agent;
use crate::program::Folder;
use encamp_test_support::notes;

/// Runs the preparation of a client; `None` if the client is to be skipped.
fn prepared(what: &str, command: &mut Command) -> Option<()> {
    let why = match command.output() {
        Ok(ran) if ran.status.success() => return Some(()),
        Ok(ran) => said(&ran),
        Err(e) => e.to_string(),
    };
    notes::missing(what, &why);
    None
}

fn said(ran: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

fn folder(client: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat").join(client)
}

/// Runs the steps of a client against its own agent.
fn runs(name: &str, client: &mut Command, steps: usize) {
    runs_with(name, "client {\n cpu_total_compute = 4000\n memory_total_mb = 4096\n}", client, steps, None);
}

/// The configuration of an agent with access control.
const ACCESS_CONTROL: &str = "acl {\n enabled = true\n}";

fn runs_with(name: &str, config: &str, client: &mut Command, steps: usize, what: Option<&str>) {
    let place = Folder::new(name);
    let agent = Agent::start(&place, config, &["-dev"]);
    let ran = client.arg(agent.address()).args(what).output().expect("the client starts");
    let output = said(&ran);
    print!("{output}");
    assert!(ran.status.success(), "{}", ran.status);
    assert_eq!(output.lines().count(), steps, "steps");
}

#[test]
fn python_nomad() {
    if notes::lacks("client libraries: python-nomad", "python3") {
        return;
    }
    let requirements = folder("python").join("requirements.txt");
    // Created once for these versions.
    let wanted = std::fs::read_to_string(&requirements).expect("requirements");
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compat-python");
    let (python, mark) = (home.join("bin/python"), home.join("installed.txt"));
    if std::fs::read_to_string(&mark).ok().as_ref() != Some(&wanted) {
        let _ = std::fs::remove_dir_all(&home);
        let made = prepared("no virtual environment", Command::new("python3").args(["-m", "venv"]).arg(&home));
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
        let installed =
            made.and_then(|()| prepared("no python-nomad", Command::new(&python).args(pip).arg(&requirements)));
        if installed.is_none() {
            return;
        }
        std::fs::write(&mark, &wanted).expect("the mark");
    }
    runs("compat-python", Command::new(&python).arg(folder("python").join("client.py")), 8);
    let mut access = Command::new(&python);
    runs_with("compat-python-acl", ACCESS_CONTROL, access.arg(folder("python").join("access.py")), 6, None);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn go_api() {
    let folder = folder("go");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compat-go");
    let mut build = Command::new("go");
    build.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".").current_dir(&folder);
    if prepared("the client library of Go cannot be built", &mut build).is_some() {
        runs("compat-go", &mut Command::new(&program), 8);
        runs_with("compat-go-acl", ACCESS_CONTROL, &mut Command::new(&program), 5, Some("access"));
    }
}

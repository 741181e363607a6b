//! Real clients against the real program: python-nomad, Nomad's own client library, and one that is generated from the
//! OpenAPI document (`tests/compat`). Each client registers, plans, runs, reads, drains and stops.
//!
//! Skipped if Python, Go or the network is not available; with `CI=true` that is a failure.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::agent::Agent;
use crate::program::Folder;
use encamp_test_support::notes;
use encamp_test_support::program::succeeds;
use encamp_test_support::python;

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
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compat-python");
    let python = match python::environment(&home, &requirements) {
        Ok(python) => python,
        Err(why) => return notes::missing("no python-nomad", &why),
    };
    runs("compat-python", Command::new(&python).arg(folder("python").join("client.py")), 8);
    let mut access = Command::new(&python);
    runs_with("compat-python-acl", ACCESS_CONTROL, access.arg(folder("python").join("access.py")), 6, None);
}

/// A client that a generator makes of the OpenAPI document.
#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn generated_client() {
    if notes::lacks("client libraries: a client of the OpenAPI document", "python3") {
        return;
    }
    let folder = folder("openapi");
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compat-openapi");
    let python = match python::environment(&home, &folder.join("requirements.txt")) {
        Ok(python) => python,
        Err(why) => return notes::missing("no generator of clients", &why),
    };
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/openapi.json");
    let mut generate = Command::new(&python);
    generate.args(["-m", "openapi_python_client", "generate", "--meta", "none", "--overwrite", "--path"]);
    generate.arg(&document).arg("--output-path").arg(home.join("encamp_client"));
    succeeds(&mut generate).expect("the client is generated");
    let mut client = Command::new(&python);
    client.env("PYTHONPATH", &home).arg(folder.join("client.py"));
    runs("compat-openapi", &mut client, 7);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn go_api() {
    let folder = folder("go");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compat-go");
    let mut build = Command::new("go");
    build.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".").current_dir(&folder);
    if let Err(why) = succeeds(&mut build) {
        return notes::missing("the client library of Go cannot be built", &why);
    }
    runs("compat-go", &mut Command::new(&program), 8);
    runs_with("compat-go-acl", ACCESS_CONTROL, &mut Command::new(&program), 5, Some("access"));
}

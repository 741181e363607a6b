//! `job plan -assume-namespace` and `-assume-pool` (`docs/spec/cli.md §7.9`).

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::{self, Folder, run_in};
use crate::pty::{self, Terminal};

fn snapshot() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/cluster.json").display().to_string()
}

fn job(namespace: &str, pool: &str) -> String {
    format!(
        "job \"j\" {{\n  namespace = \"{namespace}\"\n  node_pool = \"{pool}\"\n  group \"g\" {{\n    task \"t\" {{\n      \
         driver = \"docker\"\n      config {{\n        image = \"x\"\n      }}\n    }}\n  }}\n}}\n"
    )
}

/// The namespace and the pool exist or not; each flag is given or not; one file, or two.
#[test]
fn missing_namespaces_and_pools_are_assumed() {
    let folder = Folder::new("assumed");
    let snapshot = snapshot();
    let mut cases = 0;
    for namespace in ["default", "team"] {
        for pool in ["default", "edge"] {
            for flags in [&[][..], &["-assume-namespace"], &["-assume-pool"], &["-assume-namespace", "-assume-pool"]] {
                folder.file("j.hcl", job(namespace, pool));
                folder.file("k.hcl", job("default", "default").replace("\"j\"", "\"k\""));
                for files in [&["j.hcl"][..], &["j.hcl", "k.hcl"]] {
                    cases += 1;
                    let args = [&["job", "plan", "-json-output", "-snapshot", &snapshot], flags, files].concat();
                    let ran = run_in(folder.path(), &args);
                    let refused = (namespace == "team" && !flags.contains(&"-assume-namespace"))
                        || (pool == "edge" && !flags.contains(&"-assume-pool"));
                    if refused {
                        assert_eq!(ran.exit, 255, "{args:?}: {}", ran.stdout);
                        let missing = if namespace == "team" && !flags.contains(&"-assume-namespace") {
                            "nonexistent namespace \"team\""
                        } else {
                            "nonexistent node pool \"edge\""
                        };
                        assert!(ran.stderr.contains(missing), "{args:?}: {}", ran.stderr);
                        continue;
                    }
                    assert_eq!(ran.exit, 1, "{args:?}: {}", ran.stderr);
                    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
                    let plan = match files.len() {
                        1 => &answer,
                        _ => {
                            &answer["Plans"].as_array().expect("plans").iter().find(|p| p["JobID"] == "j").expect("j")["Plan"]
                        }
                    };
                    let mut want = serde_json::Map::new();
                    if namespace == "team" {
                        want.insert("Namespace".into(), json!("team"));
                    }
                    if pool == "edge" {
                        want.insert("NodePool".into(), json!("edge"));
                    }
                    let want = if want.is_empty() { Value::Null } else { Value::Object(want) };
                    assert_eq!(plan["Assumed"], want, "{args:?}");
                    assert_eq!(plan["FailedTGAllocs"].get("g").is_some(), pool == "edge", "{args:?}: an empty pool");
                    assert_eq!(
                        ran.stderr.contains("The plan is made as if "),
                        !want.is_null(),
                        "{args:?}: {}",
                        ran.stderr
                    );
                }
            }
        }
    }
    assert_eq!(cases, 32);
}

#[test]
fn the_verdict_says_what_is_assumed() {
    let folder = Folder::new("assumed-verdict");
    let snapshot = snapshot();
    folder.file("j.hcl", job("team", "edge"));
    let flags = ["-assume-namespace", "-assume-pool", "-snapshot", &snapshot, "j.hcl"];
    let both = "as if the namespace \"team\" and the node pool \"edge\" (which has no nodes) existed";
    let comment = run_in(folder.path(), &[&["job", "plan", "-markdown"][..], &flags].concat());
    assert!(comment.stdout.contains(&format!("The plan is made {both};")), "{}", comment.stdout);
    let mut command = pty::command(&program::path());
    command.args(["job", "plan"]).args(flags).current_dir(folder.path());
    let mut terminal = Terminal::spawn(command, 60, 200);
    let done = terminal.wait_for_exit(Duration::from_secs(60));
    assert!(done.is_ok(), "{}", terminal.screen().text());
    let screen = terminal.screen().text();
    let verdict = screen.lines().find(|line| line.starts_with("Plan: ")).unwrap_or_else(|| panic!("{screen}"));
    assert!(verdict.ends_with(&format!(", {both}")), "{screen}");
}

#[test]
fn servers_and_plan_files_assume_nothing() {
    let folder = Folder::new("assumed-refused");
    folder.file("j.hcl", job("team", "edge"));
    for (flags, text) in [
        (&["-remote"][..], "Servers cannot assume changes"),
        (&["-check-remote"], "Servers cannot assume changes"),
        (&["-out", "plan.json"], "-out records a plan of one job, made locally on the cluster as it is"),
    ] {
        let ran = run_in(folder.path(), &[&["job", "plan", "-assume-pool"][..], flags, &["j.hcl"]].concat());
        assert_eq!(ran.exit, 255, "{flags:?}");
        assert!(ran.stderr.starts_with(text), "{flags:?}: {}", ran.stderr);
    }
}

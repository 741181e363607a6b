//! `job plan -remote` against the recorded runs: canned answers of a server in, exact output out.

use std::path::Path;

use serde_json::Value;

#[path = "support/oracle.rs"]
mod oracle;
#[path = "support/program.rs"]
mod program;
#[path = "support/server.rs"]
mod server;

use program::{Ran, run_with};
use server::{Response, Server};

/// Everything up to the footer's paragraph, which is every program's own.
fn comparable(output: &str) -> (String, String) {
    let output = output.replace("nomad job run", "encamp job run");
    let Some((head, tail)) = output.rsplit_once("encamp job run") else { return (output, String::new()) };
    let (command, paragraph) = tail.split_once("\n\n").unwrap_or((tail, ""));
    let end: String = paragraph.chars().skip_while(|c| *c != '\x1b').collect();
    (format!("{head}encamp job run{command}"), end)
}

fn replay(case: &Value, folder: &Path) -> Ran {
    let routes = case["routes"].as_array().unwrap().clone();
    let server = Server::start(move |r| {
        let found =
            routes.iter().find(|route| route["method"] == r.method.as_str() && route["path"] == r.path.as_str());
        let Some(route) = found else { return Response::text(404, "not found") };
        let status = route["status"].as_u64().unwrap_or(200) as u16;
        match &route["raw"] {
            Value::String(raw) => Response::text(status, raw),
            _ => Response { status, ..Response::json(&route["body"]) },
        }
    });
    let mut args: Vec<&str> = case["args"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    let plan = args.iter().position(|a| *a == "plan").unwrap();
    args.insert(plan + 1, "-remote");
    let env = case["env"].as_object().into_iter().flatten().map(|(k, v)| (k.as_str(), v.as_str().unwrap()));
    let mut env: Vec<(&str, &str)> = env.collect();
    env.extend([("NOMAD_ADDR", server.address.as_str()), ("NOMAD_CLI_SHOW_HINTS", "false")]);
    run_with(folder, &args, &env, None)
}

#[test]
fn recorded_plans_print_the_same() {
    let Some(folder) = oracle::folder("cli") else { return };
    let mut paths: Vec<_> = std::fs::read_dir(folder.join("replay")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| name(p).contains("-plan-"));
    paths.sort();
    let mut equal = 0;
    for path in &paths {
        let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let ran = replay(&case, &folder);
        let same = comparable(&ran.stdout) == comparable(case["stdout"].as_str().unwrap())
            && ran.stderr == case["stderr"].as_str().unwrap()
            && i64::from(ran.exit) == case["exit"].as_i64().unwrap();
        if same {
            equal += 1;
        } else {
            println!("{}: {ran:?}\n{case}", name(path));
        }
    }
    println!("plan replay oracle: {equal}/{} equal", paths.len());
    assert!(!paths.is_empty(), "the oracle has no plan replays");
    assert_eq!(equal, paths.len());
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

//! All recorded runs of the command line: recorded responses of a server as input, exact output and exit code expected.
//!
//! Results are printed by command group. The groups in [`EQUAL`] have to be equal in all cases; the others are only
//! counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::oracle;
use crate::program::{Ran, run_for};
use crate::server::{Response, Server};

/// The groups whose cases all have to be equal. Add a group when its commands are there.
const EQUAL: &[&str] = &[
    "alloc checks",
    "alloc status",
    "deployment status",
    "eval list",
    "eval status",
    "job plan",
    "job scaling-events",
    "job status",
    "namespace list",
    "node pool info",
    "node pool list",
    "node status",
    "server members",
    "service list",
    "status",
];

/// Cases that differ on purpose, each with its reason.
const DIFFERENT: &[(&str, &str)] = &[];

/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The command group of a run: its words before flags and arguments; two, or three below a group of a group.
fn group(args: &[&str]) -> String {
    let words: Vec<&str> = args.iter().copied().take_while(|a| !a.starts_with('-')).collect();
    let length = match words.as_slice() {
        ["plan" | "run" | "status" | "stop" | "inspect" | "validate", ..] => 1,
        ["node", "pool", ..] | ["operator", _, _, ..] | ["job", "tag" | "periodic", ..] => 3,
        _ => 2,
    };
    words.into_iter().take(length).collect::<Vec<_>>().join(" ")
}

/// What two runs have to agree in: the program's name is folded, and the paragraph below a plan is every program's own.
fn comparable(output: &str) -> (String, String) {
    let output = output.replace("'nomad ", "'encamp ").replace("\nnomad ", "\nencamp ");
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
    let mut args = strings(&case["args"]);
    // Plans are made here unless the servers are asked for them.
    if let Some(plan) = args.iter().position(|a| *a == "plan") {
        args.insert(plan + 1, "-remote");
    }
    let env = case["env"].as_object().into_iter().flatten().map(|(k, v)| (k.as_str(), v.as_str().unwrap()));
    let mut env: Vec<(&str, &str)> = env.collect();
    env.extend([("NOMAD_ADDR", server.address.as_str()), ("NOMAD_CLI_SHOW_HINTS", "false")]);
    run_for(PATIENCE, folder, &args, &env, "")
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect()
}

#[test]
fn recorded_runs_print_the_same() {
    let Some(folder) = oracle::folder("cli") else { return };
    let Some(replays) = oracle::folder("cli/replay") else { return };
    let _permit = encamp_test_support::permit::processor();
    let cases = oracle::files(&replays, ".json");
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, path) in &cases {
        let case: Value = oracle::json_at(path).unwrap();
        let ran = replay(&case, &folder);
        let same = comparable(&ran.stdout) == comparable(case["stdout"].as_str().unwrap())
            && comparable(&ran.stderr) == comparable(case["stderr"].as_str().unwrap())
            && i64::from(ran.exit) == case["exit"].as_i64().unwrap();
        let group = group(&strings(&case["args"]));
        let (equal, total) = groups.entry(group.clone()).or_default();
        *total += 1;
        if same {
            *equal += 1;
            assert!(!DIFFERENT.iter().any(|(n, _)| n == name), "{name} is equal: it no longer differs on purpose");
            continue;
        }
        if DIFFERENT.iter().any(|(n, _)| n == name) {
            continue;
        }
        if EQUAL.contains(&group.as_str()) {
            println!("{name} {:?}\nexit {} for {}", case["args"], ran.exit, case["exit"]);
            println!("--- stdout\n{}\n--- wanted\n{}", ran.stdout, case["stdout"].as_str().unwrap());
            println!("--- stderr\n{}\n--- wanted\n{}", ran.stderr, case["stderr"].as_str().unwrap());
            wrong.push(name.as_str());
        }
    }
    let (equal, total) = groups.values().fold((0, 0), |sum, n| (sum.0 + n.0, sum.1 + n.1));
    let figures: Vec<String> =
        groups.iter().map(|(group, (equal, total))| format!("{group} {equal}/{total}")).collect();
    println!("{}", figures.join(", "));
    println!("cli oracle: {equal}/{total} equal");
    if oracle::replaced() {
        return;
    }
    let unknown: Vec<&&str> = EQUAL.iter().filter(|g| !groups.contains_key(**g)).collect();
    assert!(unknown.is_empty(), "no cases of {unknown:?}");
    assert!(wrong.is_empty(), "different: {wrong:?}");
}

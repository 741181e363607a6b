//! The recorded scenarios of the HTTP oracle, repeated by its own scripts against the real program
//! (docs/dev/compatibility.md). That takes three minutes: only with `ENCAMP_ORACLE_HTTP=1`, where there is `python3`.
//!
//! `ENCAMP_PROGRAM=path`: another build. Differences are printed with `--nocapture`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::Agent;
use crate::oracle;
use crate::program::Folder;

/// Longest time for a scenario; it takes a fourth of that on a machine with nothing else to do.
const PATIENCE: Duration = Duration::from_secs(900);
/// Groups that hold what the server is not meant to have yet.
const LATER: [&str; 3] = ["vars", "volumes", "services"];

/// Runs a script of the oracle; its output, and whether it ended with success.
fn python(folder: &Folder, script: &Path, args: &[&str]) -> (String, bool) {
    let out = folder.path().join("output");
    let file = std::fs::File::create(&out).expect("a file for the output");
    let mut child = Command::new("python3")
        .arg("-B")
        .arg(script)
        .args(args)
        .stdin(Stdio::null())
        .stderr(file.try_clone().expect("the same file"))
        .stdout(file)
        .spawn()
        .expect("python3");
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break Some(status),
            None if Instant::now() > end => break None,
            None => thread::sleep(Duration::from_millis(50)),
        }
    };
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = std::fs::read_to_string(&out).expect("output");
    (text, status.is_some_and(|s| s.success()))
}

/// What differs: kinds of differences (`STATUS`, `SHAPE`, `VALUE`, …) and their lines by `group/name`.
type Differences = BTreeMap<String, Vec<String>>;

/// `0274-jobs-plan-unplaceable.json` as `jobs/plan-unplaceable`.
fn exchange(file: &str, groups: &[String]) -> Option<String> {
    let name = file.strip_suffix(".json")?.get(5..)?;
    let group = groups.iter().filter(|g| name.strip_prefix(g.as_str()).is_some_and(|r| r.starts_with('-')));
    let group = group.max_by_key(|g| g.len())?;
    Some(format!("{group}/{}", &name[group.len() + 1..]))
}

/// Reads the report of `compare.py`.
fn differences(report: &str, groups: &[String]) -> Differences {
    let mut out = Differences::new();
    let mut current: Option<String> = None;
    for line in report.lines() {
        if let (Some(detail), Some(of)) = (line.strip_prefix("  "), &current) {
            out.entry(String::clone(of)).or_default().push(detail.to_string());
        } else if line.get(4..5) == Some("-") {
            let file = line.split_whitespace().next().unwrap_or_default();
            current = Some(exchange(file, groups).unwrap_or_else(|| file.to_string()));
        }
    }
    out
}

/// Names of the recorded exchanges by group.
fn recorded(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut out = BTreeMap::<String, Vec<String>>::new();
    for (_, path) in oracle::files(folder, ".json") {
        let json = oracle::json_at(&path).expect("a recording");
        let word = |key: &str| json[key].as_str().unwrap_or_default().to_string();
        out.entry(word("group")).or_default().push(word("name"));
    }
    out
}

/// Starts an agent, runs a scenario, and compares.
fn scenario(oracle: &Path, name: &str, config: &str, args: &[&str]) -> (Differences, BTreeMap<String, usize>) {
    let reference =
        oracle.join(if name == "main" { "reference-2.0.5".into() } else { format!("reference-2.0.5-{name}") });
    let folder = Folder::new(&format!("oracle-http-{name}"));
    let data = folder.path().join("data");
    let config = config.replace("/var/lib/agent", &data.display().to_string());
    let config = ["14646", "14647", "14648"].iter().fold(config, |text, port| text.replace(port, "0"));
    folder.file("agent.hcl", config);
    let mut agent = Agent::spawn(&folder, &[&["-config", "agent.hcl"], args].concat());
    agent.serves();
    let got = folder.path().join("got").display().to_string();
    let address = agent.address();
    let (text, done) =
        python(&folder, &oracle.join("capture.py"), &["--address", &address, "--out", &got, "--scenario", name]);
    assert!(done, "{text}\n{}", agent.seen);
    drop(agent);
    let (report, _) =
        python(&folder, &oracle.join("compare.py"), &[&reference.display().to_string(), &got, "--max", "1000"]);
    println!("{text}{report}");
    let recorded = recorded(&reference);
    let groups: Vec<String> = recorded.keys().cloned().collect();
    let sizes = recorded.into_iter().map(|(group, names)| (group, names.len())).collect();
    (differences(&report, &groups), sizes)
}

/// Whether an exchange differs in more than values.
fn of_shape(lines: &[String]) -> bool {
    lines.iter().any(|l| ["STATUS", "SHAPE", "MISSING", "EXTRA"].iter().any(|kind| l.starts_with(kind)))
}

#[test]
fn scenarios_answer_as_recorded() {
    if std::env::var_os("ENCAMP_ORACLE_HTTP").is_none_or(|v| v.is_empty()) {
        println!("skipped: takes three minutes; ENCAMP_ORACLE_HTTP=1 runs it");
        return;
    }
    let Some(folder) = oracle::folder("http") else { return };
    let config = std::fs::read_to_string(folder.join("agent.hcl")).expect("agent.hcl");
    let listed = include_str!("../../docs/dev/compatibility.md");

    let (found, sizes) = scenario(&folder, "main", &config, &["-dev"]);
    let mut wrong: Vec<String> = Vec::new();
    let (mut same, mut all) = (0, 0);
    for (group, size) in sizes.iter().filter(|(group, _)| !LATER.contains(&group.as_str())) {
        let prefix = format!("{group}/");
        let differ = found.iter().filter(|(name, lines)| name.starts_with(&prefix) && of_shape(lines)).count();
        println!("{group}: {} of {size} identical in status and shape", size - differ);
        (same, all) = (same + size - differ, all + size);
        if (size - differ) * 100 < size * 85 {
            wrong.push(format!("{group}: {differ} of {size} differ"));
        }
    }
    println!("{same} of {all} identical in status and shape");
    if same * 100 < all * 95 {
        wrong.push(format!("only {same} of {all} are identical in status and shape"));
    }
    let unlisted = found.iter().filter(|(name, _)| !listed.contains(&format!("`{name}`")));
    wrong.extend(
        unlisted.map(|(name, lines)| format!("not in docs/dev/compatibility.md: {name}\n  {}", lines.join("\n  "))),
    );

    let (found, _) = scenario(&folder, "acl", &format!("{config}\nacl {{\n  enabled = true\n}}\n"), &["-dev"]);
    let differ = found.iter().filter(|(_, lines)| of_shape(lines));
    wrong.extend(differ.map(|(name, lines)| format!("scenario acl: {name}\n  {}", lines.join("\n  "))));

    let server = "server {\n  enabled = true\n  bootstrap_expect = 1\n}\nadvertise {\n  http = \"127.0.0.1\"\n  \
                  rpc = \"127.0.0.1\"\n  serf = \"127.0.0.1\"\n}\n";
    let config = config.replacen("client {", "client {\n  enabled = true", 1) + server;
    let (found, _) = scenario(&folder, "server", &config, &[]);
    wrong.extend(found.iter().map(|(name, lines)| format!("scenario server: {name}\n  {}", lines.join("\n  "))));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

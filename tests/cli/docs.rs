//! The commands of the documentation: all of them run, and the walk-through shows their actual output.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli docs` writes what is printed into the walk-through.

use crate::oracle;
use std::path::Path;

use crate::cluster::{Cluster, serve};
use crate::program::{Folder, run, run_with};
use crate::server::Response;
use crate::words;

const COMMAND: &str = "```sh\nencamp ";
const OUTPUT: &str = "```text\n";
const END: &str = "```";

/// A folder with the fixtures, in which commands of documents run.
pub fn folder_of_guide(name: &str) -> Folder {
    let folder = Folder::new(name);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    std::os::unix::fs::symlink(fixtures, folder.path().join("fixtures")).unwrap();
    folder
}

/// Runs the commands of a document in a folder and puts what they print in the places behind them: the next block, if it
/// is one of text. Blocks that begin with `$ ` show something else. The second number is that of outputs.
fn redone(text: &str, folder: &Path) -> (String, usize) {
    let (mut out, mut rest, mut outputs) = (String::new(), text, 0);
    while let Some((before, after)) = rest.split_once(COMMAND) {
        let (command, after) = after.split_once(END).expect("the end of the command");
        let args: Vec<&str> = command.split_whitespace().filter(|word| *word != "\\").collect();
        let cache = folder.join("cache").display().to_string();
        let ran = run_with(folder, &args, &[("ENCAMP_CACHE_DIR", &cache)], None);
        assert!((0..=1).contains(&ran.exit), "encamp {command}{}", ran.stderr);
        out += &format!("{before}{COMMAND}{command}{END}");
        rest = after;
        let shown =
            after.split_once(OUTPUT).filter(|(between, shown)| !between.contains(END) && !shown.starts_with("$ "));
        if let Some((between, shown)) = shown {
            let (_, after) = shown.split_once("\n```").expect("the end of the output");
            let printed = format!("{}{}", ran.stderr, ran.stdout).replace(&format!("{}/", folder.display()), "");
            out += &format!("{between}{OUTPUT}{}\n{END}", steady(printed.trim_end()));
            (rest, outputs) = (after, outputs + 1);
        }
    }
    (out + rest, outputs)
}

/// How old the backup is depends on the day.
fn steady(text: &str) -> String {
    let line = |l: &str| match l.split_once("= ") {
        Some((name, _)) if name.trim_end() == "Age" => format!("{name}= 9h ago"),
        _ => l.to_string(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Checks that a guide shows what its commands print in a folder, for so many commands at least; `ENCAMP_UPDATE=1` writes
/// it. Files that commands write are not in the repository.
pub fn shows_what_is_printed(name: &str, folder: &Path, least: usize) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide").join(name);
    let text = std::fs::read_to_string(&document).unwrap();
    let (now, outputs) = redone(&text, folder);
    assert!(outputs >= least, "{name}: {outputs} outputs of commands");
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(document, now).unwrap();
        return;
    }
    for (line, (shown, printed)) in text.lines().zip(now.lines()).enumerate() {
        assert_eq!(shown, printed, "docs/guide/{name} line {}; ENCAMP_UPDATE=1 writes what is printed", line + 1);
    }
    assert_eq!(text.lines().count(), now.lines().count());
}

#[test]
fn from_backup_to_answer() {
    let Some(backup) = oracle::file("archive/fleet.snap") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("walkthrough");
    std::fs::copy(backup, folder.path().join("backup.snap")).unwrap();
    std::fs::copy(root.join("docs/guide/checkout.nomad.hcl"), folder.path().join("checkout.nomad.hcl")).unwrap();
    shows_what_is_printed("walkthrough.md", folder.path(), 6);
}

/// The guides whose commands run on the fixtures.
#[test]
fn stories_on_fixtures_show_what_is_printed() {
    let folder = folder_of_guide("stories");
    for (name, least) in [("launches.md", 5), ("several-clusters.md", 3), ("three-questions.md", 3)] {
        shows_what_is_printed(name, folder.path(), least);
    }
}

/// The first words of the commands that plan, look and explain. Others may run for long.
const GROUPS: [&str; 8] = ["job", "plan", "snapshot", "eval", "sim", "what-if", "capacity", "launches"];

/// Names and texts of the documents. The commands of recipes are examples that do not exist.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["docs", "docs/guide", "docs/reference", "docs/dev"].map(|folder| root.join(folder));
    let docs = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()));
    let recipe = |f: &Path| f.file_name().is_some_and(|name| name.to_string_lossy().starts_with("add-"));
    let mut files: Vec<_> = docs
        .chain([root.join("README.md")])
        .filter(|f| f.extension().is_some_and(|e| e == "md") && !recipe(f))
        .collect();
    files.sort();
    let name = |f: &Path| f.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|f| (name(f), std::fs::read_to_string(f).unwrap())).collect()
}

/// Blocks of shell lines are run line by line: on the fixtures, a backup of a server, a recorded cluster that runs.
#[test]
fn every_command_of_the_documentation_runs() {
    let Some(backup) = oracle::file("archive/dev-acl.snap") else { return };
    let Some(recorded) = Cluster::recorded("dev-acl") else { return };
    let (server, cluster) = serve(recorded);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("documented");
    std::os::unix::fs::symlink(root.join("fixtures"), folder.path().join("fixtures")).unwrap();
    std::fs::copy(backup, folder.path().join("backup.snap")).unwrap();
    let job = std::fs::read(root.join("docs/guide/checkout.nomad.hcl")).unwrap();
    ["web.hcl", "web.nomad.hcl", "job.hcl"].iter().for_each(|name| drop(folder.file(name, &job)));
    std::fs::create_dir(folder.path().join("jobs")).unwrap();
    for name in ["trainer-fails.hcl", "exporter-system.hcl"] {
        std::fs::copy(root.join("fixtures/demo").join(name), folder.path().join("jobs").join(name)).unwrap();
    }
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    folder.file("plan-key.pem", key.serialize_pem());
    folder.file("plan-key.pub.pem", key.public_key_pem());
    let cache = folder.path().join("cache").display().to_string();
    let env = [("NOMAD_ADDR", server.address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
    let run = |command: &str| run_with(folder.path(), &command.split_whitespace().collect::<Vec<_>>(), &env, None);
    // The servers plan as is planned here.
    let plan: serde_json::Value = serde_json::from_str(&run("job plan -json-output web.nomad.hcl").stdout).unwrap();
    cluster.lock().unwrap().failures = vec![("/v1/job/checkout/plan".into(), Response::json(&plan))];
    let mut commands = 0;
    // Those of the walk-through belong to another backup; `suggest` and `migrate` run those of their guides. Those of
    // volumes need storage plugins: `csi_guide` of `cluster` runs them.
    let elsewhere = ["walkthrough.md", "volumes.md", "suggest.md", "migrate.md"];
    for (name, text) in documents().into_iter().filter(|(name, _)| !elsewhere.contains(&name.as_str())) {
        let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
        for line in blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("encamp ")) {
            let command = line.split("  #").next().unwrap_or_default();
            if !command.split(' ').next().is_some_and(|word| GROUPS.contains(&word)) {
                continue;
            }
            // A smaller cluster is generated in less time.
            let ran = run(&command.replace("-nodes 5000 -allocs 100000", "-nodes 50 -allocs 500"));
            let worst = if command.contains("-fail-on") { 2 } else { 1 };
            assert!((0..=worst).contains(&ran.exit), "{name}: encamp {command}: {}", ran.stderr);
            assert!(
                !ran.stdout.is_empty() && !ran.stderr.contains("Error"),
                "{name}: encamp {command}: {}",
                ran.stderr
            );
            commands += 1;
        }
    }
    println!("{commands} commands");
    assert!(commands >= 14, "{commands} commands");
}

/// Commands and flags that the text names exist.
#[test]
fn every_command_that_is_named_exists() {
    let mut named = 0;
    for (name, text) in documents() {
        let prose: String = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
        for span in prose.replace('\n', " ").split('`').skip(1).step_by(2) {
            let (prefixed, words) = match span.strip_prefix("encamp ") {
                Some(rest) => (true, rest),
                None => (false, span),
            };
            let words: Vec<&str> = words.split_whitespace().collect();
            // That page shows what servers answer.
            let shows_commands = name != "compared-answers.md";
            if !prefixed && (words.len() < 2 || !GROUPS.contains(&words[0]) || !shows_commands) {
                continue;
            }
            let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let plain = |w: &&&str| w.starts_with(|c: char| c.is_ascii_lowercase()) && w.chars().all(part);
            let command: Vec<&str> = words.iter().take_while(plain).copied().collect();
            // Words behind a command that takes arguments are arguments.
            let found = (1..=command.len()).rev().find_map(|n| {
                let help = run(&[&command[..n], &["-help"]].concat()).stdout;
                let rest = help.strip_prefix(&format!("Usage: encamp {}", command[..n].join(" ")))?;
                let rest = Some(rest).filter(|rest| rest.starts_with([' ', '\n']))?;
                let usage = rest.lines().next().unwrap_or_default().replace("[options]", "");
                let arguments = usage.contains(['<', '[']) && !usage.contains("<subcommand>");
                (n == command.len() || arguments).then(|| help.clone())
            });
            let help = found.unwrap_or_else(|| panic!("{name}: `{span}`: there is no such command"));
            for flag in words.iter().filter(|w| w.starts_with('-') && w.len() > 1) {
                let flag = flag.split('=').next().unwrap_or(flag);
                let is_flag = |part: &str| {
                    part.trim_start()
                        .strip_prefix(flag)
                        .is_some_and(|rest| !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric()))
                };
                // General flags share a line.
                let is_listed = |line: &str| line.split(", ").any(is_flag);
                assert!(help.lines().any(is_listed), "{name}: `{span}`: there is no {flag}");
            }
            named += 1;
        }
    }
    println!("{named} commands are named");
    assert!(named >= 25, "{named}");
}

/// The lines of the story in README.md, in their order, are those of the full one.
#[test]
fn the_story_of_the_readme_is_that_of_the_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    let (readme, guide) = (text("README.md"), text("docs/guide/cluster.md"));
    let (_, story) = readme.split_once("```console\n").expect("the story");
    let (story, _) = story.split_once("```").expect("the end of the story");
    let mut lines = guide.lines();
    for line in story.lines() {
        assert!(lines.any(|other| other == line), "docs/guide/cluster.md does not go on with: {line}");
    }
    assert!(story.lines().count() >= 8, "{story}");
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Links of Markdown files, and files of `docs/` that any text names.
#[test]
fn every_link_and_path_leads_to_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let link = regex::Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let path = regex::Regex::new(r"\bdocs/[\w./-]+\.(?:md|json|svg|hcl|tsv)\b").expect("a pattern");
    let mut files = Vec::new();
    words::files(root, &mut files);
    let code = regex::Regex::new("`[^`]*`").expect("a pattern");
    let (mut wrong, mut links, mut paths) = (Vec::new(), 0, 0);
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let name = file.strip_prefix(root).expect("a path of the repository").display();
        for found in path.find_iter(&text).filter(|m| !text[..m.start()].ends_with(['/', '.', '-'])) {
            paths += 1;
            if !root.join(found.as_str()).is_file() {
                wrong.push(format!("{name}: {}", found.as_str()));
            }
        }
        if file.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let prose: String = text.split("```").step_by(2).collect();
        let prose = code.replace_all(&prose, "");
        for target in link.captures_iter(&prose).map(|c| c.extract::<1>().1[0]).filter(|t| !t.contains("://")) {
            links += 1;
            let (to, part) = target.split_once('#').unwrap_or((target, ""));
            let to = if to.is_empty() { file.clone() } else { file.parent().unwrap_or(root).join(to) };
            let heading = |text: String| text.lines().any(|l| l.starts_with('#') && anchor(l) == part);
            let there = to.exists() && (part.is_empty() || std::fs::read_to_string(&to).is_ok_and(heading));
            if !there {
                wrong.push(format!("{name}: the link {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(links > 80 && paths > 300, "{links} links, {paths} paths");
}

//! The walk-through of the documentation: every command of it is run, and its output is what the document shows.
//!
//! `ENCAMP_UPDATE=1 cargo test --test docs` writes what is printed into the document.

#[path = "support/oracle.rs"]
mod oracle;
#[path = "support/program.rs"]
mod program;

use std::path::Path;

use program::{Folder, run_with};

const COMMAND: &str = "```sh\nencamp ";
const OUTPUT: &str = "```text\n";
const END: &str = "```";

/// Runs the commands of a document in a folder and puts what they print in the places behind them.
fn redone(text: &str, folder: &Path) -> (String, usize) {
    let (mut out, mut rest, mut commands) = (String::new(), text, 0);
    while let Some((before, after)) = rest.split_once(COMMAND) {
        let (command, after) = after.split_once(END).expect("the end of the command");
        let args: Vec<&str> = command.split_whitespace().collect();
        let cache = folder.join("cache").display().to_string();
        let ran = run_with(folder, &args, &[("ENCAMP_CACHE_DIR", &cache)], None);
        assert!((0..=1).contains(&ran.exit), "encamp {command}{}", ran.stderr);
        out += &format!("{before}{COMMAND}{command}{END}");
        let (between, shown) = after.split_once(OUTPUT).expect("the output of the command");
        assert!(!between.contains("```"), "encamp {command} has no output in the document");
        let (_, after) = shown.split_once("\n```").expect("the end of the output");
        let printed = format!("{}{}", ran.stderr, ran.stdout).replace(&format!("{}/", folder.display()), "");
        out += &format!("{between}{OUTPUT}{}\n{END}", steady(printed.trim_end()));
        (rest, commands) = (after, commands + 1);
    }
    (out + rest, commands)
}

/// How old the backup is depends on the day.
fn steady(text: &str) -> String {
    let line = |l: &str| match l.split_once("= ") {
        Some((name, _)) if name.trim_end() == "Age" => format!("{name}= 9h ago"),
        _ => l.to_string(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn from_backup_to_answer() {
    let Some(archives) = oracle::folder("archive") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("walkthrough");
    std::fs::copy(archives.join("fleet.snap"), folder.path().join("backup.snap")).unwrap();
    std::fs::copy(root.join("docs/checkout.nomad.hcl"), folder.path().join("checkout.nomad.hcl")).unwrap();
    let document = root.join("docs/walkthrough.md");
    let text = std::fs::read_to_string(&document).unwrap();
    let (now, commands) = redone(&text, folder.path());
    assert!(commands >= 6, "{commands} commands");
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(&document, &now).unwrap();
        return;
    }
    for (line, (shown, printed)) in text.lines().zip(now.lines()).enumerate() {
        assert_eq!(shown, printed, "docs/walkthrough.md line {}; ENCAMP_UPDATE=1 writes what is printed", line + 1);
    }
    assert_eq!(text.lines().count(), now.lines().count());
}

//! The rooms of the crate and the arrows between them: a line of code should know its room from its imports alone.

use std::fs;
use std::path::{Path, PathBuf};

/// Room, and the rooms it may use besides itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("jobspec", &["model"]),
    ("state", &["model"]),
    ("scheduler", &["model", "state"]),
    ("api", &["model"]),
    ("snapshot", &["model", "jobspec", "state", "api"]),
    ("plan", &["model", "jobspec", "state", "scheduler"]),
    ("sim", &["model", "jobspec", "state", "scheduler", "snapshot"]),
    ("telemetry", &["model"]),
    ("server", &["model", "jobspec", "state", "scheduler", "plan", "telemetry"]),
    ("client", &["model", "telemetry"]),
    ("http", &["model", "jobspec", "state", "plan", "server", "client", "telemetry"]),
    ("rpc", &["model", "server", "client", "http", "telemetry"]),
    ("agent", &["model", "jobspec", "state", "server", "client", "http", "rpc", "api", "telemetry"]),
    ("load", &["model", "sim", "client", "api", "rpc"]),
    (
        "cli",
        &["model", "jobspec", "state", "scheduler", "api", "snapshot", "plan", "sim", "load", "agent", "telemetry"],
    ),
];

/// Rooms whose results depend on their arguments alone.
const PURE: &[&str] = &["model", "state", "scheduler", "plan", "sim"];
/// What no pure room may touch.
const IMPURE: &[&str] =
    &["std::fs", "TcpStream", "UdpSocket", "std::env", "std::process", "SystemTime", "Instant::now", "println!("];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// Room and text of every source file, comments blanked out. Files at the top belong to no room.
fn rooms() -> Vec<(String, PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    files.sort();
    let read = |path: PathBuf| {
        let inside = path.strip_prefix(&src).expect("below src").to_path_buf();
        let room = inside.parent()?.components().next()?.as_os_str().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("UTF-8");
        let code = text.lines().map(|l| if l.trim_start().starts_with("//") { "" } else { l });
        Some((room, inside, code.collect::<Vec<_>>().join("\n")))
    };
    files.into_iter().filter_map(read).collect()
}

/// The rooms named right after each `crate::`, also inside braces.
fn targets(code: &str) -> Vec<String> {
    let word = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut out = Vec::new();
    for (i, prefix) in code.match_indices("crate::") {
        // `$crate::` and `some_crate::` are other things.
        if code[..i].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[i + prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            out.push(word(rest));
            continue;
        };
        let (mut depth, mut fresh) = (1, true);
        for (j, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => fresh = true,
                c if depth == 1 && fresh && !c.is_whitespace() => {
                    out.push(word(&group[j..]));
                    fresh = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    out
}

#[test]
fn rooms_use_only_what_they_may() {
    let mut wrong = Vec::new();
    for (room, path, code) in rooms() {
        let Some((_, allowed)) = ARROWS.iter().find(|(r, _)| *r == room) else {
            wrong.push(format!("{}: the room {room} is not in the table", path.display()));
            continue;
        };
        for target in targets(&code) {
            if target != room && !allowed.contains(&target.as_str()) {
                wrong.push(format!("{}: {room} may not use {target}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_rooms_touch_nothing_outside() {
    let mut wrong = Vec::new();
    for (room, path, code) in rooms() {
        if PURE.contains(&room.as_str()) {
            let found = IMPURE.iter().filter(|word| code.contains(**word));
            wrong.extend(found.map(|word| format!("{}: {room} may not use {word}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn targets_are_found_in_all_forms() {
    let code = "use crate::model::*;\npub use crate::{state::{State, Snapshot}, scheduler};\nlet x = crate::cli::run();\nmy_crate::y()";
    assert_eq!(targets(code), ["model", "state", "scheduler", "cli"]);
}

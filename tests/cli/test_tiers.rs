//! `docs/dev/tests.md` lists the tests that `cargo test` leaves to `cargo xtask test all`.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli test_tiers` writes the list.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use regex::Regex;

use crate::architecture::sources;

const DOCUMENT: &str = "docs/dev/tests.md";
const HEAD: &str = "| program | module | tests in the first tier |\n|---|---|---|\n";
/// How a test is marked that only runs in the second tier.
const LONG: &str = "#[ignore = \"takes long: `cargo xtask test all` runs it\"]";

/// The rows of the list: each module with a marked test.
fn rows() -> String {
    let test = Regex::new(r"(?m)^ *#\[(?:tokio::)?test\b").expect("a pattern");
    let mut rows = String::new();
    for program in ["cli", "cluster", "server"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(program);
        let mut files = Vec::new();
        sources(&root, &mut files);
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            let long = text.matches(LONG).count();
            // This file names the mark without using it.
            if long == 0 || file.ends_with("test_tiers.rs") {
                continue;
            }
            let all = test.find_iter(&text).count();
            let module = file.strip_prefix(&root).expect("below the root").with_extension("");
            let names = module.iter().map(|name| name.to_str().expect("UTF-8")).filter(|name| *name != "mod");
            let module = names.collect::<Vec<_>>().join("::");
            let _ = writeln!(rows, "| `{program}` | `{module}` | {} of {all} |", all - long);
        }
    }
    rows
}

#[test]
fn the_list_of_long_tests_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    let text = fs::read_to_string(&path).expect(DOCUMENT);
    let (before, after) = text.split_once(HEAD).expect("the head of the list");
    let end = after.find("\n\n").map_or(after.len(), |i| i + 1);
    let rows = rows();
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        fs::write(&path, format!("{before}{HEAD}{rows}{}", &after[end..])).expect("the list is written");
    } else {
        assert!(after[..end] == rows, "{DOCUMENT} is stale; ENCAMP_UPDATE=1 cargo test --test cli test_tiers");
    }
}

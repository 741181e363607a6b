//! The table of advisories in `SECURITY.md`: each row names a test that exists and runs.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;

use crate::program::repository;

/// Fewest advisories that the table answers.
const LEAST: usize = 25;

/// Whether a source file has a test of this name that runs: marked as one, and not left out for good.
fn has_test(source: &str, name: &str) -> bool {
    let test = Regex::new(&format!(
        r"(?m)^ *#\[(?:tokio::)?test\b[^\n]*\n((?: *#\[[^\n]*\n)*) *(?:pub )?(?:async )?fn {}\(\)",
        regex::escape(name)
    ));
    let attributes = test.expect("a pattern").captures(source).map(|found| found.extract::<1>().1[0].to_string());
    attributes.is_some_and(|more| !more.contains("#[ignore") || more.contains("`cargo xtask test all` runs it"))
}

#[test]
fn every_advisory_names_a_test_that_exists() {
    let text = fs::read_to_string(repository().join("SECURITY.md")).expect("SECURITY.md");
    let row = Regex::new(r"(?m)^\| (CVE-\d{4}-\d{4,}) \| ([^|]+) \| ([^|]+) \| `(\w+)` in `([\w./]+\.rs)` \|$");
    let row = row.expect("a pattern");
    let (mut advisories, mut wrong) = (BTreeSet::new(), Vec::new());
    for (_, [advisory, _, _, test, file]) in row.captures_iter(&text).map(|found| found.extract()) {
        assert!(advisories.insert(advisory), "{advisory} is listed twice");
        match fs::read_to_string(repository().join(file)) {
            Ok(source) if has_test(&source, test) => {}
            Ok(_) => wrong.push(format!("{advisory}: {file} has no test {test}")),
            Err(e) => wrong.push(format!("{advisory}: {file}: {e}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let rows = text.lines().filter(|line| line.starts_with("| CVE-")).count();
    assert_eq!(rows, advisories.len(), "a row of the table has another form");
    assert!(rows >= LEAST, "{rows} advisories");
}

#[test]
fn tests_are_told_from_other_functions() {
    let source = "#[test]\nfn a() {\n}\n\nfn b() {\n}\n\n    #[tokio::test(flavor = \"multi_thread\")]\n    async fn c() {\n\
                  }\n#[test]\n#[ignore = \"broken\"]\nfn d() {}\n#[test]\n\
                  #[ignore = \"takes long: `cargo xtask test all` runs it\"]\nfn e() {}\n";
    let found: Vec<&str> = ["a", "b", "c", "d", "e", "f"].into_iter().filter(|name| has_test(source, name)).collect();
    assert_eq!(found, ["a", "c", "e"]);
}

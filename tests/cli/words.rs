//! The wording of everything that people read, against the list in `docs/dev/words.tsv`: phrases of this project's own that
//! the field has standard terms for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

const LIST: &str = "docs/dev/words.tsv";
/// Directories that hold texts of others: recorded outputs, and what fuzzers found.
const SKIPPED: &[&str] = &["tests/oracle", "fuzz/corpus"];
/// Directories of tools, wherever they are.
const OF_TOOLS: &[&str] = &["target", ".git"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rows(file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    text.lines().skip(1).map(|l| l.split('\t').map(str::to_string).collect()).collect()
}

/// A text as one line, without the leaders of comments, and where each of its lines starts in it.
fn joined(text: &str) -> (String, Vec<usize>) {
    let (mut out, mut starts) = (String::with_capacity(text.len()), Vec::new());
    for line in text.lines() {
        let line = line.trim_start();
        let bare = ["///", "//!", "//", "#", ">", "*"].iter().find_map(|leader| line.strip_prefix(leader));
        starts.push(out.len());
        out.push_str(bare.unwrap_or(line).trim());
        out.push(' ');
    }
    (out, starts)
}

/// The phrases that a text holds, each with its line. Case and line breaks don't matter; a phrase is made of full words.
struct Phrases(Regex);

impl Phrases {
    fn new(phrases: &[&str]) -> Phrases {
        // The longest that matches counts.
        let mut phrases = phrases.to_vec();
        phrases.sort_by_key(|p| std::cmp::Reverse(p.len()));
        let each = phrases.iter().map(|p| p.split(' ').map(regex::escape).collect::<Vec<_>>().join(r"\s+"));
        let any = each.collect::<Vec<_>>().join("|");
        Phrases(Regex::new(&format!(r"(?i)\b(?:{any})\b")).expect("a pattern"))
    }

    fn find(&self, text: &str) -> Vec<(usize, String)> {
        let (text, starts) = joined(text);
        let phrase = |found: &str| found.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        let found = self.0.find_iter(&text);
        found.map(|m| (starts.partition_point(|s| *s <= m.start()), phrase(m.as_str()))).collect()
    }
}

/// All files that people read: sources, documents, scripts, generated texts.
pub(crate) fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root()).expect("a path of the repository");
        let of_tools = OF_TOOLS.iter().any(|s| name.ends_with(s));
        if of_tools || SKIPPED.iter().any(|s| name == Path::new(s)) || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files(&path, out);
        } else if name != Path::new(LIST) {
            out.push(path);
        }
    }
}

#[test]
fn texts_use_the_terms_of_the_field() {
    let list = rows(LIST);
    let checked: BTreeMap<&str, &str> =
        list.iter().filter(|r| r[2] == "check").map(|r| (r[0].as_str(), r[1].as_str())).collect();
    assert!(checked.len() >= 40, "{LIST} has {} phrases to check", checked.len());
    let phrases = Phrases::new(&checked.keys().copied().collect::<Vec<_>>());

    let mut paths = Vec::new();
    files(root(), &mut paths);
    let (mut wrong, mut read) = (Vec::new(), 0);
    for path in paths {
        // What is not text is not read by people.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        read += 1;
        let name = path.strip_prefix(root()).expect("a path").display().to_string();
        for (line, phrase) in phrases.find(&text) {
            wrong.push(format!("{name}:{line}: \"{phrase}\": say \"{}\"", checked[phrase.as_str()]));
        }
    }
    assert!(read > 1000, "only {read} files were read");
    wrong.sort();
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
}

/// The longest line of a specification, in characters: one sentence or clause.
const WIDEST: usize = 120;

#[test]
fn specifications_fit_a_window() {
    let mut paths = Vec::new();
    files(&root().join("docs/spec"), &mut paths);
    assert!(paths.len() >= 12, "{paths:?}");
    for path in paths {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let long = text.lines().enumerate().find(|(_, line)| line.chars().count() > WIDEST);
        assert!(long.is_none(), "{}: line {} is too long", path.display(), long.map_or(0, |(i, _)| i + 1));
    }
}

#[test]
fn phrases_are_found_across_lines_as_full_words() {
    let phrases = Phrases::new(&["red apple", "apple", "two pears"]);
    let text = "/// Nodes with a red\n    /// Apple. Apples.\nfn pineapple() {}\n# two  pears\n";
    assert_eq!(phrases.find(text), [(1, "red apple".into()), (4, "two pears".into())]);
}

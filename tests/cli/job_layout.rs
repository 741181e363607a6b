//! The standard format: recorded files, and what holds for every file: it means the same but for spaces in kept
//! references, its comments survive, a second pass changes nothing, and spaces between tokens do not matter.

use crate::oracle;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::token::Kind;
use encamp_jobspec::fmt::format;
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_model::api::job::Job;
use proptest::prelude::*;

fn formatted(text: &str) -> String {
    format(text.as_bytes(), "t.hcl").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn hcl_files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        // What was recorded is listed by itself.
        if path.ends_with("tests/oracle") {
            continue;
        }
        if path.is_dir() {
            hcl_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "hcl") {
            out.push(path);
        }
    }
}

/// All files in HCL of the project and of the oracles whose syntax is right.
static TEXTS: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["fixtures", "crates/cli/src/examples", "tests"] {
        hcl_files(&root.join(folder), &mut paths);
    }
    for folder in ["jobspec", "cli/jobs"].into_iter().filter_map(oracle::folder) {
        hcl_files(&folder, &mut paths);
    }
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        format(&bytes, "t.hcl").ok()?;
        Some((path, String::from_utf8(bytes).unwrap()))
    };
    paths.into_iter().filter_map(read).collect()
});

/// A text without the spaces between its tokens and comments.
fn without_spaces(text: &str) -> Vec<&str> {
    let (mut out, mut at) = (Vec::new(), 0);
    for token in lex(text, 0, Start::Normal) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        let gap = text[at..start].trim_start_matches('\u{feff}');
        out.extend(
            gap.split_inclusive("*/").map(|part| part.trim_matches([' ', '\t'])).filter(|part| !part.is_empty()),
        );
        out.push(&text[start..end]);
        at = end;
    }
    out
}

/// A job as JSON, without the spaces at the ends of references that it keeps as text.
fn without_reference_spaces(job: &Job) -> String {
    serde_json::to_string(job).unwrap().replace("${ ", "${").replace(" }", "}")
}

#[test]
fn recorded_layouts_are_reproduced() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layout");
    for name in ["alignment", "heredocs", "nesting", "spacing"] {
        let read = |ending: &str| std::fs::read_to_string(folder.join(format!("{name}.{ending}.hcl"))).unwrap();
        assert_eq!(formatted(&read("in")), read("out"), "{name}");
    }
}

#[test]
fn every_file_means_the_same_and_keeps_its_comments() {
    let mut jobs = 0;
    for (path, text) in TEXTS.iter() {
        let result = formatted(text);
        let name = path.display();
        assert_eq!(formatted(&result), result, "{name} is not stable");
        assert_eq!(without_spaces(&result), without_spaces(text), "{name}");
        let options = ParseOptions { path: "job.hcl".into(), ..ParseOptions::default() };
        match (parse(text.as_bytes(), &options), parse(result.as_bytes(), &options)) {
            (Ok(before), Ok(after)) => {
                jobs += 1;
                assert_eq!(without_reference_spaces(&after), without_reference_spaces(&before), "{name}");
            }
            (Err(before), Err(after)) => {
                let problems = |e: encamp_jobspec::parse::ParseError| {
                    e.diagnostics.list.into_iter().map(|d| d.summary).collect::<Vec<_>>()
                };
                assert_eq!(problems(after), problems(before), "{name}");
            }
            (before, after) => panic!("{name}: {before:?} became {after:?}"),
        }
    }
    println!("layout: {} files, {jobs} of them jobs", TEXTS.len());
    assert!(jobs >= 10, "only {jobs} jobs");
}

/// Puts other spaces between the tokens of a text, wherever they mean nothing; `choose` gives a number below its
/// argument. Template sequences and lookups are left alone, since a reference that is kept as text keeps its spaces
/// too.
fn respaced(text: &str, mut choose: impl FnMut(usize) -> usize) -> String {
    use Kind::*;
    let (mut out, mut at, mut left, mut sequences) = (String::new(), 0, Newline, 0);
    for token in lex(text, 0, Start::Normal) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        let gap = &text[at..start];
        let literal = matches!(left, QuotedLit | StringLit | OQuote | OHeredoc | CHeredoc | SeqEnd | Dot | OBrack)
            || matches!(
                token.kind,
                QuotedLit | StringLit | CQuote | CHeredoc | Interp | Control | Dot | OBrack | CBrack
            );
        if literal || sequences > 0 || gap.contains(['#', '/']) {
            out.push_str(gap);
        } else {
            let least = usize::from(!gap.is_empty() && left != Newline);
            out.push_str(["", " ", "  ", "\t", "   \t "][least + choose(5 - least)]);
        }
        match token.kind {
            Interp | Control => sequences += 1,
            SeqEnd => sequences -= 1,
            _ => {}
        }
        out.push_str(&text[start..end]);
        (at, left) = (end, token.kind);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn spaces_between_tokens_do_not_matter(file in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let (path, text) = file.get(&TEXTS);
        let mut state = seed | 1;
        let other = respaced(text, |n| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 40).unwrap() % n
        });
        prop_assert_eq!(formatted(&other), formatted(text), "{}", path.display());
    }

    /// Files in pieces: what parses is laid out in one pass, with all its tokens.
    #[test]
    fn damaged_files_are_laid_out_too(
        file in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4),
    ) {
        let mut lines: Vec<&str> = file.get(&TEXTS).1.split_inclusive('\n').collect();
        for (from, to) in cuts {
            let (from, to) = (from.index(lines.len().max(1)), to.index(lines.len().max(1)));
            if from < to {
                lines.drain(from..to);
            } else if !lines.is_empty() {
                lines.swap(from, to);
            }
        }
        let text = lines.concat();
        if let Ok(result) = format(text.as_bytes(), "t.hcl") {
            prop_assert_eq!(without_spaces(&result), without_spaces(&text));
            prop_assert_eq!(formatted(&result), result);
        }
    }
}

//! The walks through the code in `docs/dev/architecture.md`: every file and item that they name exists, and every step
//! is connected to the step that it follows.
//!
//! A step is one line of a numbered list, with its text on the lines below. Its forms are:
//!
//! - `` 7. `file: item`: `` The item of the step before names this item.
//! - `` 7. `file: item`, called by step 3: `` The item of step 3 names this item.
//! - `` 7. `file: item`, called by the file of step 3: `` The file of step 3 names this item, for calls from macros.
//! - `` 7. `file: item`, by the Raft log with `Operation`: `` A handover: the files of both steps name what carries the
//!   data, a type or an HTTP path. `, from step 3` behind it names the other step if it is not the one before.
//! - `` 7. `file: item`, caller of step 3: `` This item names that of step 3, whose result it gets.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

const DOCUMENT: &str = "docs/dev/architecture.md";
/// How a walk begins.
const WALK: &str = "## Walk ";

#[derive(Debug)]
struct Step {
    number: usize,
    file: String,
    /// `name` or `Type::name`.
    item: String,
    link: Link,
}

/// The connection of a step to an earlier one, which is given by its number.
#[derive(Debug)]
enum Link {
    First,
    Call { from: usize },
    InFile { from: usize },
    Return { from: usize },
    Handover { from: usize, carrier: String },
}

/// The steps of all walks.
fn walks(document: &str) -> Vec<Vec<Step>> {
    let form = Regex::new(
        r"(?x)^(?<number>\d+)\.\ `(?<file>[^`:]+\.rs):\ (?<item>[\w:]+)`
          (?: ,\ called\ by\ (?<in_file>the\ file\ of\ )?step\ (?<caller>\d+)
            | ,\ caller\ of\ step\ (?<callee>\d+)
            | ,\ by\ [^`]+\ with\ `(?<carrier>[^`]+)`(?:,\ from\ step\ (?<sender>\d+))? )?:$",
    )
    .expect("a pattern");
    let mut walks: Vec<Vec<Step>> = Vec::new();
    for line in document.lines() {
        if line.starts_with(WALK) {
            walks.push(Vec::new());
        }
        let (Some(walk), true) = (walks.last_mut(), line.starts_with(|c: char| c.is_ascii_digit())) else { continue };
        let parts = form.captures(line).unwrap_or_else(|| panic!("{DOCUMENT}: this is not a step: {line}"));
        let text = |name: &str| parts.name(name).map(|m| m.as_str());
        let number = |name: &str| text(name).map(|n| n.parse::<usize>().expect("a number"));
        let before = walk.len();
        let link = if let Some(carrier) = text("carrier") {
            Link::Handover { from: number("sender").unwrap_or(before), carrier: carrier.to_string() }
        } else if let Some(from) = number("callee") {
            Link::Return { from }
        } else if let (Some(from), true) = (number("caller"), text("in_file").is_some()) {
            Link::InFile { from }
        } else if before == 0 {
            Link::First
        } else {
            Link::Call { from: number("caller").unwrap_or(before) }
        };
        let named = |name: &str| text(name).expect("a part of every step").to_string();
        walk.push(Step { number: number("number").unwrap_or(0), file: named("file"), item: named("item"), link });
    }
    walks
}

/// A source file: its text, and the same with blanks instead of comments and of what is in quotes.
struct Source {
    text: String,
    code: String,
}

impl Source {
    fn new(text: String) -> Source {
        let code = without_comments_and_quotes(&text);
        Source { text, code }
    }
}

/// Code with blanks instead of comments and of what is in quotes.
pub fn without_comments_and_quotes(text: &str) -> String {
    // Comments, raw strings, strings and characters; a quote that begins a lifetime has no other one.
    static BLANK: LazyLock<Regex> = LazyLock::new(|| {
        let blank = r##"(?s)//[^\n]*|/\*.*?\*/|r#".*?"#|r"[^"]*"|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^'\\])'"##;
        Regex::new(blank).expect("a pattern")
    });
    BLANK.replace_all(text, |m: &regex::Captures<'_>| " ".repeat(m[0].len())).into_owned()
}

/// Whether a text contains a name as a full word.
pub fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(part) && !after.starts_with(part)
    })
}

/// The text up to the end of the item that it begins with: its block, or its semicolon.
pub fn item_at(code: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(c, '}' | ';') {
            return &code[..=at];
        }
    }
    code
}

/// The code of `name`, an item of the file itself, or of `Type::name`, a function in a block of this type or trait; the
/// code begins behind the name.
fn definition<'a>(code: &'a str, item: &str) -> Option<&'a str> {
    let behind = |code: &'a str, pattern: &str| {
        let found = Regex::new(pattern).expect("a pattern").find(code)?;
        Some(item_at(&code[found.end()..]))
    };
    let Some((owner, name)) = item.split_once("::") else {
        let words = "(?:pub(?:\\([^)]*\\))? )?(?:const |async |unsafe )*(?:fn|const|static|struct|enum|trait|type)";
        return behind(code, &format!(r"(?m)^{words} {item}\b"));
    };
    let blocks = Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:impl|trait)\b[^{;]*\{").expect("a pattern");
    let mut owned = blocks.find_iter(code).filter(|block| names(block.as_str(), owner));
    owned.find_map(|block| behind(item_at(&code[block.end() - 1..]), &format!(r"\bfn {name}\b")))
}

/// The end of a path.
fn last(item: &str) -> &str {
    item.rsplit("::").next().unwrap_or(item)
}

/// What is wrong with a step of a walk.
fn problem(walk: &[Step], step: &Step, source: &dyn Fn(&str) -> Option<Source>) -> Option<String> {
    let Some(own) = source(&step.file) else { return Some(format!("there is no {}", step.file)) };
    if definition(&own.code, &step.item).is_none() {
        return Some(format!("{} does not define {}", step.file, step.item));
    }
    let from = match step.link {
        Link::First => return None,
        Link::Call { from } | Link::InFile { from } | Link::Return { from } | Link::Handover { from, .. } => from,
    };
    let before = (from < step.number).then(|| walk.get(from.checked_sub(1)?)).flatten();
    let Some(before) = before else { return Some(format!("step {from} is not before it")) };
    let other = source(&before.file)?;
    let unnamed = |whose: &str, file: &str, what: &str| Some(format!("{whose}{file} does not name {what}"));
    let names_item =
        |of: &Source, at: &Step, item: &str| definition(&of.code, &at.item).is_some_and(|code| names(code, last(item)));
    match &step.link {
        Link::First => None,
        Link::Call { .. } if names_item(&other, before, &step.item) => None,
        Link::Call { .. } => unnamed(&format!("{} of ", before.item), &before.file, &step.item),
        Link::Return { .. } if names_item(&own, step, &before.item) => None,
        Link::Return { .. } => unnamed(&format!("{} of ", step.item), &step.file, &before.item),
        Link::InFile { .. } if names(&other.code, last(&step.item)) => None,
        Link::InFile { .. } => unnamed("", &before.file, &step.item),
        Link::Handover { carrier, .. } => {
            let path = carrier.starts_with('/');
            let there = |of: &Source| if path { of.text.contains(carrier) } else { names(&of.code, carrier) };
            let missing = [(before, &other), (step, &own)].into_iter().find(|(_, source)| !there(source));
            missing.and_then(|(at, _)| unnamed("", &at.file, carrier))
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn document() -> Vec<Vec<Step>> {
    walks(&fs::read_to_string(root().join(DOCUMENT)).expect("the document"))
}

fn of_repository(file: &str) -> Option<Source> {
    Some(Source::new(fs::read_to_string(root().join(file)).ok()?))
}

#[test]
fn the_steps_of_every_walk_are_connected() {
    let walks = document();
    assert!(walks.len() >= 3, "{DOCUMENT} has {} walks", walks.len());
    let mut wrong = Vec::new();
    for (walk, at) in walks.iter().zip(1..) {
        assert!(walk.len() >= 25, "walk {at} has {} steps", walk.len());
        for (step, expected) in walk.iter().zip(1..) {
            assert_eq!(step.number, expected, "walk {at}");
            let found = problem(walk, step, &of_repository);
            wrong.extend(found.map(|text| format!("walk {at}, step {}: {text}", step.number)));
        }
    }
    assert!(wrong.is_empty(), "{DOCUMENT}: {} findings:\n{}", wrong.len(), wrong.join("\n"));
}

/// Renames what each step names, in its own file.
#[test]
fn a_renamed_item_is_found() {
    let walks = document();
    for (walk, step) in walks.iter().flat_map(|walk| walk.iter().map(move |step| (walk, step))) {
        let renamed =
            Regex::new(&format!(r"\b(fn|const|static|struct|enum) {}\b", last(&step.item))).expect("a pattern");
        let source = |file: &str| {
            let mut source = of_repository(file)?;
            if file == step.file {
                source.code = renamed.replace_all(&source.code, "$1 renamed").into_owned();
            }
            Some(source)
        };
        let found = problem(walk, step, &source);
        assert_eq!(found, Some(format!("{} does not define {}", step.file, step.item)));
    }
}

#[test]
fn steps_without_a_connection_are_found() {
    let sources = BTreeMap::from([
        (
            "a.rs",
            "impl Server {\n    fn start(&self) {\n        // stop\n        go(\"stop\", 'x', Plan {});\n    }\n}\n",
        ),
        ("b.rs", "pub(crate) async fn go(x: [u8; 2]) {}\nconst ROUTES: &[&str] = &[\"/v1/a\"];\nfn stop(p: Plan) {}\n"),
    ]);
    let source = |file: &str| sources.get(file).map(|text| Source::new((*text).to_string()));
    let problems = |steps: &str| {
        let walk = walks(&format!("## Walk 1\n\n{steps}")).remove(0);
        walk.iter().map(|step| problem(&walk, step, &source)).collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_string());
    assert_eq!(problems("1. `a.rs: Server::start`:\n   It starts.\n2. `b.rs: go`:\n"), [None, None]);
    let unnamed = text("Server::start of a.rs does not name stop");
    assert_eq!(problems("1. `a.rs: Server::start`:\n2. `b.rs: stop`:\n"), [None, unnamed]);
    assert_eq!(problems("1. `a.rs: Server::start`:\n2. `b.rs: stop`, by channel with `Plan`:\n"), [None, None]);
    let unshared = text("a.rs does not name /v1/a");
    assert_eq!(problems("1. `a.rs: Server::start`:\n2. `b.rs: ROUTES`, by HTTP with `/v1/a`:\n"), [None, unshared]);
    let result = "1. `b.rs: go`:\n2. `a.rs: Server::start`, caller of step 1:\n";
    assert_eq!(problems(result), [None, None]);
    let later = text("step 2 is not before it");
    assert_eq!(problems("1. `b.rs: go`:\n2. `b.rs: stop`, called by step 2:\n"), [None, later]);
    assert_eq!(problems("1. `b.rs: Server::go`:\n"), [text("b.rs does not define Server::go")]);
    assert_eq!(problems("1. `c.rs: go`:\n"), [text("there is no c.rs")]);
}

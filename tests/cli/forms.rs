//! The forms that agents store and send: their types, members and attributes for serde, as recorded in
//! `tests/recorded/forms-level-<n>.txt` for each capability level (docs/dev/upgrades.md). A change of a form needs a new
//! level, and what the level before had must still be read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use encamp_model::capability::CapabilityLevel;
use encamp_test_support::program::repository;
use regex::Regex;

/// The crates whose types are stored or sent.
const CRATES: [&str; 7] = ["model", "ops", "raft", "server", "client", "http", "rpc"];
/// What is stored or sent: operations of the log, records of snapshots, messages of consensus and gossip, and the files of
/// nodes and servers. Calls are found by their macro.
const ROOTS: [&str; 14] = [
    "Operation",
    "Record",
    "Description",
    "Peer",
    "ServerId",
    "Message",
    "Answer",
    "Envelope",
    "Identity",
    "Greeting",
    "ClientRecord",
    "AllocRecord",
    "RemovalRecord",
    "TaskRecord",
];
/// Libraries whose types are a part of messages and files.
const LIBRARIES: [&str; 2] = ["openraft", "foca"];
/// Types of the HTTP API alone that have the names of stored ones.
const OF_THE_API: [&str; 2] = ["model/src/api/", "model/src/packed/"];

/// A type that serde writes or reads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Form {
    place: String,
    name: String,
    /// Attributes for serde.
    attributes: String,
    members: Vec<String>,
}

/// The code without comments and tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// What is inside the bracket at the beginning of a text.
fn inside(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1.min(at)..at];
        }
    }
    text
}

/// The members of a type: what commas separate outside of brackets.
fn members(body: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0);
    for c in body.chars() {
        match c {
            '{' | '(' | '[' | '<' => depth += 1,
            '}' | ')' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        all.last_mut().expect("one").push(c);
    }
    let one = |m: String| m.split_whitespace().collect::<Vec<_>>().join(" ");
    all.into_iter().map(one).filter(|m| !m.is_empty()).collect()
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// The beginning of a type.
static TYPE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^[ ]*(?:pub(?:\([^)]*\))? )?(?:struct|enum) (\w+)(?:<[^>]*>)?\s*([{(;])"));
/// The beginning of an enum of texts.
static TEXTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"text_enum! \{\s*(\w+) \{"));
/// The beginning of a call.
static CALL: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(\w+) = ("[\w.]+")\s*(\[[^\]]*\])? -> ([^{]+)\{"#));

/// The forms that a file defines.
fn forms_of(place: &str, text: &str) -> Vec<Form> {
    let text = code(text);
    let mut found = Vec::new();
    let form = |name: &str, attributes: String, body: &str| {
        let members = members(body);
        Form { place: place.into(), name: name.into(), attributes, members }
    };
    for c in TYPE.captures_iter(&text) {
        let (start, open) = (c.get(0).expect("all").start(), c.get(2).expect("a bracket"));
        let before = &text[..start];
        let attributes = &before[before.rfind("\n\n").unwrap_or(0)..];
        if !attributes.contains("Serialize") && !attributes.contains("Deserialize") {
            continue;
        }
        let for_serde: Vec<&str> = attributes
            .lines()
            .map(str::trim)
            .filter(|l| l.starts_with("#[serde") || l.contains("null_is_default"))
            .collect();
        let body = if open.as_str() == ";" { "" } else { inside(&text[open.start()..]) };
        found.push(form(&c[1], for_serde.join(" "), body));
    }
    for c in TEXTS.captures_iter(&text) {
        found.push(form(&c[1], "text".into(), inside(&text[c.get(0).expect("all").end() - 1..])));
    }
    for c in CALL.captures_iter(&text) {
        let flags = c.get(3).map_or("", |m| m.as_str());
        let head = format!("call {} {flags} -> {}", &c[2], c[4].trim());
        found.push(form(&c[1], head, inside(&text[c.get(0).expect("all").end() - 1..])));
    }
    found
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            into.push(path);
        }
    }
}

/// All forms of the crates, by name.
fn all_forms() -> BTreeMap<String, Vec<Form>> {
    let crates = repository().join("crates");
    let mut files = Vec::new();
    CRATES.iter().for_each(|name| sources(&crates.join(name).join("src"), &mut files));
    files.sort();
    let mut all: BTreeMap<String, Vec<Form>> = BTreeMap::new();
    for file in files {
        let place = file.strip_prefix(&crates).expect("a crate").to_string_lossy().into_owned();
        if OF_THE_API.iter().any(|api| place.starts_with(api)) {
            continue;
        }
        for form in forms_of(&place, &std::fs::read_to_string(&file).expect("a source")) {
            all.entry(form.name.clone()).or_default().push(form);
        }
    }
    all
}

fn crate_of(place: &str) -> &str {
    place.split('/').next().unwrap_or_default()
}

/// The form that a name means in a file: that of its file, its crate, the model, or any.
fn meant<'a>(all: &'a BTreeMap<String, Vec<Form>>, name: &str, place: &str) -> Option<&'a Form> {
    let named = all.get(name)?;
    let of = |wanted: &dyn Fn(&Form) -> bool| named.iter().find(|f| wanted(f));
    of(&|f| f.place == place)
        .or_else(|| of(&|f| crate_of(&f.place) == crate_of(place)))
        .or_else(|| of(&|f| crate_of(&f.place) == "model"))
        .or_else(|| named.first())
}

/// All that is stored or sent, one member to a line.
fn recorded_now() -> String {
    let all = all_forms();
    let calls = all.values().flatten().filter(|f| f.attributes.starts_with("call "));
    let roots = ROOTS.iter().map(|r| all.get(*r).and_then(|f| f.first()).unwrap_or_else(|| panic!("no form {r}")));
    let mut waiting: VecDeque<&Form> = roots.chain(calls).collect();
    let mut reached: BTreeMap<(&str, &str), &Form> = BTreeMap::new();
    let word = pattern(r"\b[A-Z]\w+\b");
    while let Some(form) = waiting.pop_front() {
        if reached.insert((&form.name, &form.place), form).is_some() {
            continue;
        }
        let texts = form.members.iter().chain([&form.attributes]);
        let names: BTreeSet<&str> = texts.flat_map(|t| word.find_iter(t)).map(|m| m.as_str()).collect();
        waiting.extend(names.into_iter().filter_map(|name| meant(&all, name, &form.place)));
    }
    let mut out = String::new();
    let lock = std::fs::read_to_string(repository().join("Cargo.lock")).expect("Cargo.lock");
    for library in LIBRARIES {
        let version =
            lock.split(&format!("name = \"{library}\"\nversion = \"")).nth(1).and_then(|v| v.split('"').next());
        writeln!(out, "library {library} {}", version.expect("a version")).expect("written");
    }
    for form in reached.values() {
        writeln!(out, "{} {} {}", crate_of(&form.place), form.name, form.attributes).expect("written");
        form.members
            .iter()
            .for_each(|m| writeln!(out, "{} {}: {m}", crate_of(&form.place), form.name).expect("written"));
    }
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

fn record_of(level: u32) -> PathBuf {
    repository().join(format!("tests/recorded/forms-level-{level}.txt"))
}

/// The lines of one text that another one lacks.
fn missing(from: &str, of: &str) -> Vec<String> {
    let there: BTreeSet<&str> = from.lines().collect();
    of.lines().filter(|l| !there.contains(l)).map(String::from).collect()
}

#[test]
fn forms_change_only_with_a_new_level() {
    let (level, now) = (CapabilityLevel::BUILD.number(), recorded_now());
    let path = record_of(level);
    if !path.exists() && std::env::var("ENCAMP_UPDATE").is_ok() {
        std::fs::write(&path, &now).expect("written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_else(|_| {
        panic!("level {level} has no record of its forms; ENCAMP_UPDATE=1 writes {}", path.display())
    });
    assert!(
        recorded == now,
        "What agents store or send changed, but the capability level did not.\nNo longer as recorded: {:#?}\nNot \
         recorded: {:#?}\nAn agent of another build of level {level} would misread it. Introduce a level: \
         docs/dev/upgrades.md, \"Change a form\".",
        missing(&now, &recorded),
        missing(&recorded, &now)
    );
}

#[test]
fn what_the_previous_level_had_is_still_read() {
    let level = CapabilityLevel::BUILD.number();
    let before = std::fs::read_to_string(record_of(level - 1)).expect("the record of the previous level");
    let now = recorded_now();
    let gone = missing(&now, &before);
    assert!(gone.is_empty(), "the previous build writes these, and this one does not read them: {gone:#?}");
    // What the previous build does not write has a default.
    let known: BTreeSet<&str> = before.lines().filter_map(|l| l.split_once(": ")).map(|(form, _)| form).collect();
    for added in missing(&before, &now) {
        let Some((form, member)) = added.split_once(": ") else { continue };
        let head = format!("{form} ");
        let whole = now.lines().find(|l| l.starts_with(&head) && !l.contains(": ")).unwrap_or_default();
        let is_field = member.contains(": ");
        let variant_with_fields = member.split(": ").next().is_some_and(|m| m.contains('{'));
        let defaults = member.contains("default") || member.contains("skip") || whole.contains("default");
        assert!(
            !known.contains(form) || !is_field || variant_with_fields || defaults,
            "{added}: the previous build does not write it, so it needs #[serde(default)]"
        );
    }
}

#[test]
fn every_change_of_a_form_is_seen() {
    let text = "/// A form.\n#[derive(Serialize, Deserialize)]\n#[serde(rename_all = \"PascalCase\")]\npub struct A {\n    \
                /// Text.\n    #[serde(default)]\n    pub b: BTreeMap<String, u64>,\n    c: Vec<D>,\n}\n\n\
                #[derive(Debug)]\nstruct Not {\n    a: u8,\n}\n\ntext_enum! {\n    /// A text.\n    E {\n        \
                Some = \"some\",\n    }\n}\n\ncalls! {\n    Go = \"A.Go\" [ANYWHERE] -> Vec<A> {\n        to: u8,\n    }\n}\n";
    let forms = forms_of("model/src/a.rs", text);
    let shown: Vec<String> = forms.iter().map(|f| format!("{} {} {:?}", f.name, f.attributes, f.members)).collect();
    assert_eq!(
        shown,
        [
            "A #[serde(rename_all = \"PascalCase\")] [\"#[serde(default)] pub b: BTreeMap<String, u64>\", \"c: Vec<D>\"]",
            "E text [\"Some = \\\"some\\\"\"]",
            "Go call \"A.Go\" [ANYWHERE] -> Vec<A> [\"to: u8\"]",
        ]
    );
    for (from, to) in
        [("u64", "u32"), ("pub b", "pub d"), ("Pascal", "kebab"), ("\"some\"", "\"any\""), ("to: u8", "to: u16")]
    {
        assert_ne!(forms_of("model/src/a.rs", &text.replace(from, to)), forms, "{from}");
    }
    assert_eq!(forms_of("model/src/a.rs", &text.replace("/// A form.", "/// Words.")), forms, "comments do not count");
}

//! Import cycles: files of a crate that need each other can only be read, moved and tested together.
//!
//! A file imports another one of its crate if a path names something that the other one defines, in a `use` declaration
//! or in the code. Paths through re-exports lead to the file of the definition, so a module that only declares and
//! re-exports others imports nothing. Tests, comments and texts in quotes do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::architecture_walks::{item_at, names, without_comments_and_quotes};

/// The crates that are checked.
const CRATES: &[&str] = &["client", "http", "rpc", "server", "state"];
/// The most files that may import each other.
const MOST_FILES: usize = 3;

/// The names of modules from the root of the crate, and of an item at the end.
type ItemPath = Vec<String>;

/// One name of a `use` declaration.
#[derive(Debug, Clone)]
struct Use {
    public: bool,
    path: ItemPath,
    /// The name that it brings into scope; `*` for all names.
    name: String,
}

/// A file of a crate.
#[derive(Debug, Default)]
struct Module {
    path: ItemPath,
    file: String,
    children: BTreeSet<String>,
    /// The items that the file defines.
    items: BTreeSet<String>,
    uses: Vec<Use>,
    /// The code without its `use` declarations.
    code: String,
}

type Modules = BTreeMap<ItemPath, Module>;
/// The names by which files import others: from, to, names.
pub type Imports = BTreeMap<(String, String), BTreeSet<String>>;

static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\w+|::|[{},*]"));
/// A brace, or the name that an item defines.
static BRACE_OR_ITEM: LazyLock<Regex> = LazyLock::new(|| {
    let words = "fn|struct|enum|trait|type|const|static|union|mod";
    pattern(&format!(r"[{{}}]|\b(?:{words})\s+(?:mut\s+)?(\w+)|macro_rules!\s*(\w+)"))
});
static CHILD: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bmod\s+(\w+)\s*;"));
static USE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?<public>\bpub(?:\([^)]*\))?\s+)?\buse\s+(?<tree>[^;]+);"));
static PATH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\w+(?:\s*::\s*\w+)+"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// The code without items that are only compiled for tests.
fn without_tests(mut code: String) -> String {
    const TEST: &str = "#[cfg(test)]";
    while let Some(at) = code.find(TEST) {
        let end = at + TEST.len() + item_at(&code[at + TEST.len()..]).len();
        code.replace_range(at..end, "");
    }
    code
}

/// The names that the tree of a `use` declaration brings into scope.
fn uses_of(tree: &str, public: bool) -> Vec<Use> {
    /// Reads one branch from the tokens behind `prefix`.
    fn branch(
        tokens: &mut std::iter::Peekable<std::vec::IntoIter<&str>>,
        prefix: &[String],
        out: &mut Vec<(ItemPath, String)>,
    ) {
        let mut path = prefix.to_vec();
        let mut name = None;
        while let Some(token) = tokens.next_if(|t| !matches!(*t, "," | "}")) {
            match token {
                "::" => {}
                "{" => {
                    while tokens.next_if_eq(&"}").is_none() && tokens.peek().is_some() {
                        branch(tokens, &path, out);
                        tokens.next_if_eq(&",");
                    }
                    return;
                }
                "*" => name = Some("*".to_string()),
                "as" => name = tokens.next().map(ToString::to_string),
                "self" if !path.is_empty() => {}
                word => path.push(word.to_string()),
            }
        }
        if let Some(last) = path.last().cloned() {
            out.push((path, name.unwrap_or(last)));
        }
    }
    let tokens: Vec<&str> = TOKEN.find_iter(tree).map(|m| m.as_str()).collect();
    let mut out = Vec::new();
    branch(&mut tokens.into_iter().peekable(), &[], &mut out);
    out.into_iter().map(|(path, name)| Use { public, path, name }).collect()
}

/// The items that a file defines outside of blocks.
fn items_of(code: &str) -> BTreeSet<String> {
    let mut depth = 0_usize;
    let mut items = BTreeSet::new();
    for found in BRACE_OR_ITEM.captures_iter(code) {
        match &found[0] {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ if depth == 0 => items.extend(found.get(1).or(found.get(2)).map(|name| name.as_str().to_string())),
            _ => {}
        }
    }
    items
}

/// Reads a module and those below it; `source` gives the text of a file, if there is one.
fn read_module(path: ItemPath, file: &str, source: &dyn Fn(&str) -> Option<String>, out: &mut Modules) {
    let text = source(file).unwrap_or_else(|| panic!("there is no {file}"));
    let code = without_tests(without_comments_and_quotes(&text));
    let folder = match file.strip_suffix("/mod.rs") {
        Some(folder) => format!("{folder}/"),
        None if path.is_empty() => String::new(),
        None => format!("{}/", file.trim_end_matches(".rs")),
    };
    let mut children = BTreeSet::new();
    for found in CHILD.captures_iter(&code) {
        let name = &found[1];
        let files = [format!("{folder}{name}.rs"), format!("{folder}{name}/mod.rs")];
        let Some(child) = files.iter().find(|file| source(file).is_some()) else { continue };
        let below = path.iter().cloned().chain([name.to_string()]).collect();
        children.insert(name.to_string());
        read_module(below, child, source, out);
    }
    let uses = USE.captures_iter(&code).flat_map(|found| uses_of(&found["tree"], found.name("public").is_some()));
    let uses = uses.collect();
    let code = USE.replace_all(&code, "").into_owned();
    let items = items_of(&code).difference(&children).cloned().collect();
    out.insert(path.clone(), Module { path, file: file.to_string(), children, items, uses, code });
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    Module(ItemPath),
    /// An item of this module's file; macros may define it.
    ItemOf(ItemPath),
    /// Another crate.
    Outside,
}

impl Module {
    /// A path that is written in this file, from the root of the crate; `None` if it leads out of the crate.
    fn absolute(&self, path: &[String]) -> Option<ItemPath> {
        let in_scope = |name: &String| self.uses.iter().find(|used| used.name == *name && used.path != path);
        self.of_keyword(path).or_else(|| {
            let first = path.first()?;
            Some([self.of_keyword(&in_scope(first)?.path)?, path[1..].to_vec()].concat())
        })
    }

    /// As [`Module::absolute`], for paths that begin with a keyword or a child.
    fn of_keyword(&self, path: &[String]) -> Option<ItemPath> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([&self.path, rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|name| *name == "super").count();
                Some([&self.path[..self.path.len().checked_sub(ups)?], &path[ups..]].concat())
            }
            name if self.children.contains(name) => Some([&self.path, path].concat()),
            _ => None,
        }
    }
}

/// Finds what a path from the root of the crate leads to; `seen` are the re-exports that were followed.
fn find(modules: &Modules, path: &[String], seen: &[(ItemPath, String)]) -> Found {
    let mut at = ItemPath::new();
    for (depth, name) in path.iter().enumerate() {
        let module = &modules[&at];
        if module.children.contains(name) {
            at.push(name.clone());
            continue;
        }
        let step = (at.clone(), name.clone());
        if module.items.contains(name) || seen.contains(&step) {
            return Found::ItemOf(at);
        }
        let seen = [seen, &[step]].concat();
        if let Some(used) = module.uses.iter().find(|used| used.name == *name) {
            let Some(target) = module.absolute(&used.path) else { return Found::Outside };
            return find(modules, &[&target, &path[depth + 1..]].concat(), &seen);
        }
        let globs = module.uses.iter().filter(|used| used.name == "*");
        let targets = globs.filter_map(|used| module.absolute(&used.path));
        let defined = targets.map(|target| find(modules, &[&target, &path[depth..]].concat(), &seen));
        let mut defined = defined.filter(|found| match found {
            Found::ItemOf(of) => modules[of].items.contains(&path[path.len() - 1]) || modules[of].items.contains(name),
            Found::Module(_) => true,
            Found::Outside => false,
        });
        return defined.next().unwrap_or(Found::ItemOf(at));
    }
    Found::Module(at)
}

/// The imports between the files of a crate.
fn imports_of(modules: &Modules) -> Imports {
    let mut imports = Imports::new();
    for module in modules.values() {
        let mut import = |path: &[String], glob: bool| {
            let Some(target) = module.absolute(path) else { return };
            let to = match find(modules, &target, &[]) {
                Found::ItemOf(to) => to,
                Found::Module(to) if glob && !modules[&to].items.is_empty() => to,
                Found::Module(_) | Found::Outside => return,
            };
            if to != module.path {
                let files = (module.file.clone(), modules[&to].file.clone());
                imports.entry(files).or_default().insert(path.join("::"));
            }
        };
        for used in &module.uses {
            let glob = used.name == "*";
            let own_use = || names(&module.code, &used.name);
            if !used.public || (!glob && own_use()) {
                import(&used.path, glob);
            }
        }
        for found in PATH.find_iter(&module.code) {
            if !module.code[..found.start()].ends_with(':') {
                let path: ItemPath = found.as_str().split("::").map(|name| name.trim().to_string()).collect();
                import(&path, false);
            }
        }
    }
    imports
}

/// The sets of files that import each other, directly or through others.
fn cycles(imports: &Imports) -> Vec<BTreeSet<&str>> {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    imports.keys().for_each(|(from, to)| targets.entry(from).or_default().push(to));
    let reached_from = |start: &str| {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&str> = targets.get(start).cloned().unwrap_or_default();
        while let Some(file) = next.pop() {
            if reached.insert(file) {
                next.extend(targets.get(file).into_iter().flatten());
            }
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = targets.keys().map(|file| (*file, reached_from(file))).collect();
    let mutual = |file: &str| {
        let others = reached[file].iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(file)));
        others.copied().collect::<BTreeSet<&str>>()
    };
    let found: BTreeSet<BTreeSet<&str>> = reached.keys().map(|file| mutual(file)).collect();
    found.into_iter().filter(|cycle| cycle.len() > 1).collect()
}

/// The imports without which the files of a cycle can be ordered. A heuristic: of files that import each other, the one
/// that imports more than it is imported comes first.
fn closing<'a>(imports: &'a Imports, cycle: &BTreeSet<&str>) -> Vec<(&'a (String, String), &'a BTreeSet<String>)> {
    let within: Vec<_> =
        imports.iter().filter(|((from, to), _)| [from, to].iter().all(|f| cycle.contains(f.as_str()))).collect();
    let mut left = cycle.clone();
    let mut order: Vec<&str> = Vec::new();
    while !left.is_empty() {
        let is_left = |file: &String| left.contains(file.as_str());
        let count = |fits: &dyn Fn(&String, &String) -> bool| {
            within.iter().filter(|((from, to), _)| fits(from, to)).count() as i64
        };
        let imported = |file: &str| count(&|from, to| to == file && is_left(from));
        let uses = |file: &str| count(&|from, to| from == file && is_left(to));
        // A file that nothing left imports closes no cycle.
        let rank = |file: &&&str| if imported(file) == 0 { i64::MAX } else { uses(file) - imported(file) };
        let Some(first) = left.iter().max_by_key(rank).copied() else { break };
        left.remove(first);
        order.push(first);
    }
    let place = |file: &str| order.iter().position(|f| *f == file);
    within.into_iter().filter(|((from, to), _)| place(from) > place(to)).collect()
}

/// What is said about the cycles of a crate that have too many files.
fn report(imports: &Imports) -> Vec<String> {
    let long = |cycle: &BTreeSet<&str>| cycle.len() > MOST_FILES;
    let text = |cycle: BTreeSet<&str>| {
        let files = Vec::from_iter(cycle.iter().copied()).join(", ");
        let closing = closing(imports, &cycle).into_iter().map(|((from, to), names)| {
            let names = Vec::from_iter(names.iter().map(String::as_str)).join(", ");
            format!("\n  {from} imports from {to}: {names}")
        });
        format!("{} files import each other: {files}. Closed by:{}", cycle.len(), String::from_iter(closing))
    };
    cycles(imports).into_iter().filter(long).map(text).collect()
}

/// The imports between the files of a crate; `source` gives the text of a file, if there is one.
pub fn imports_of_sources(source: &dyn Fn(&str) -> Option<String>) -> Imports {
    let mut modules = Modules::new();
    read_module(ItemPath::new(), "lib.rs", source, &mut modules);
    imports_of(&modules)
}

#[test]
fn few_files_import_each_other() {
    let mut wrong = Vec::new();
    for name in CRATES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name).join("src");
        let imports = imports_of_sources(&|file| fs::read_to_string(folder.join(file)).ok());
        assert!(imports.len() >= 20, "{name} has {} imports", imports.len());
        wrong.extend(report(&imports).into_iter().map(|text| format!("crates/{name}: {text}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The imports of a crate of a few files, as `from -> to`.
fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let source = |file: &str| files.iter().find(|(name, _)| *name == file).map(|(_, text)| (*text).to_string());
    imports_of_sources(&source).into_keys().map(|(from, to)| format!("{from} -> {to}")).collect()
}

#[test]
fn re_exports_and_declarations_import_nothing() {
    let files = [
        ("lib.rs", "mod a;\npub mod b;\npub use a::{One, inner::Two};\n"),
        ("a/mod.rs", "mod inner;\npub struct One;\n"),
        ("a/inner.rs", "pub struct Two;\n"),
        ("b.rs", "use crate::{One, Two};\nfn f(_: One, _: Two) {}\n"),
    ];
    assert_eq!(edges(&files), ["b.rs -> a/inner.rs", "b.rs -> a/mod.rs"]);
}

#[test]
fn a_child_imports_what_its_parent_defines() {
    let files = [
        ("lib.rs", "mod a;\n"),
        ("a.rs", "mod child;\npub(crate) use child::go;\npub struct Own;\nfn f() { go() }\n"),
        ("a/child.rs", "pub fn go() { let _ = super::Own; }\n"),
    ];
    assert_eq!(edges(&files), ["a.rs -> a/child.rs", "a/child.rs -> a.rs"]);
}

#[test]
fn tests_comments_and_quotes_import_nothing() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod tests;\n"),
        ("a.rs", "pub struct A;\n// crate::b::B\nfn f() -> &'static str { \"crate::b::B\" }\n"),
        ("b.rs", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
    ];
    assert!(edges(&files).is_empty());
}

#[test]
fn paths_through_imported_modules_and_globs_are_followed() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
        ("a.rs", "pub fn go() {}\n"),
        ("b.rs", "use crate::a;\nfn f() { a::go() }\n"),
        ("c.rs", "pub use crate::a::*;\n"),
        ("d.rs", "fn f() { crate::c::go() }\n"),
    ];
    assert_eq!(edges(&files), ["b.rs -> a.rs", "d.rs -> a.rs"]);
}

#[test]
fn a_cycle_is_reported_with_the_import_that_closes_it() {
    let chain = |from: &str, to: &str, name: &str| {
        ((format!("{from}.rs"), format!("{to}.rs")), BTreeSet::from([format!("crate::{name}")]))
    };
    let mut imports =
        Imports::from([chain("a", "b", "B"), chain("b", "c", "C"), chain("c", "d", "D"), chain("a", "c", "C")]);
    assert!(report(&imports).is_empty());
    imports.extend([chain("d", "a", "A")]);
    let expected = "4 files import each other: a.rs, b.rs, c.rs, d.rs. Closed by:\n  d.rs imports from a.rs: crate::A";
    assert_eq!(report(&imports), [expected]);
}

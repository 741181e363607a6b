//! Habits from Terraform, Packer and levant that job files do not have, and the equivalent that works here.

use super::outline::{Element, Outline, Syntax};
use super::repair::{Edit, Repair};
use super::{Finding, MAX_FINDINGS, Place, Stage};
use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::token::{Kind, Token};

/// A function that job files do not have, and what to write instead.
struct Missing {
    name: &'static str,
    instead: &'static str,
}

const fn missing(name: &'static str, instead: &'static str) -> Missing {
    Missing { name, instead }
}

/// In byte order.
const FUNCTIONS: &[Missing] = &[
    missing("alltrue", "write !contains(LIST, false)"),
    missing("anytrue", "write contains(LIST, true)"),
    missing("base64gzip", "compress the text outside of the job file, and read it with filebase64(PATH)"),
    missing("consul_key", "{{ key \"PATH\" }} in a template block reads it when the task starts"),
    missing("endswith", "write trimsuffix(TEXT, SUFFIX) != TEXT"),
    missing("env", "declare variable \"NAME\" {}: the environment variable NOMAD_VAR_NAME gives its value"),
    missing("filemd5", "write md5(file(PATH))"),
    missing("filesha1", "write sha1(file(PATH))"),
    missing("filesha256", "write sha256(file(PATH))"),
    missing("filesha512", "write sha512(file(PATH))"),
    missing("list", "write a list: [A, B]"),
    missing("map", "write an object: { NAME = VALUE }"),
    missing("matchkeys", "write [for i, v in VALUES : v if contains(WANTED, KEYS[i])]"),
    missing("nonsensitive", "write the value alone: job files have no sensitive values"),
    missing("one", "write try(LIST[0], null)"),
    missing("plantimestamp", "give the time as a variable: -var now=…"),
    missing("sensitive", "write the value alone; secrets belong in Vault or in variables (var put), not in the job"),
    missing("startswith", "write trimprefix(TEXT, PREFIX) != TEXT"),
    missing("strcontains", "write length(split(PART, TEXT)) > 1"),
    missing("sum", "there is no sum of a list: add its parts with +"),
    missing(
        "templatefile",
        "a template block renders files when the task starts; a fixed file is read with file(PATH)",
    ),
    missing("templatestring", "write the text as a template: \"… ${var.NAME} …\""),
    missing("textdecodebase64", "write base64decode(TEXT)"),
    missing("textencodebase64", "write base64encode(TEXT)"),
    missing("timestamp", "give the time as a variable: -var now=…"),
    missing("tobool", "write convert(VALUE, bool)"),
    missing("tolist", "write convert(VALUE, list(string))"),
    missing("tomap", "write convert(VALUE, map(string))"),
    missing("tonumber", "write convert(VALUE, number)"),
    missing("toset", "write convert(VALUE, set(string)); distinct(LIST) removes repeated items"),
    missing("tostring", "write convert(VALUE, string), or \"${VALUE}\""),
    missing("uuid", "write uuidv4()"),
    missing("vault", "{{ with secret \"PATH\" }} in a template block reads it when the task starts"),
];

/// What to write instead of a function that other tools have.
pub(super) fn instead_of_function(name: &str) -> Option<&'static str> {
    FUNCTIONS.binary_search_by_key(&name, |m| m.name).ok().and_then(|at| FUNCTIONS.get(at)).map(|m| m.instead)
}

/// The tool whose files have blocks of this type outside of any other.
pub(super) fn foreign_block(kind: &str) -> Option<String> {
    let help = match kind {
        "resource" | "data" | "module" | "provider" | "terraform" | "output" | "import" | "moved" | "check"
        | "ephemeral" => format!("{kind} is a block of Terraform"),
        "source" | "build" | "packer" => format!("{kind} is a block of Packer"),
        "client" | "server" | "plugin" | "acl" | "telemetry" | "ports" | "advertise" | "tls" => {
            format!("{kind} is a block of the configuration of agents: see config validate")
        }
        _ => return None,
    };
    Some(format!("{help}; a job file has job, variable, variables and locals blocks"))
}

/// The attributes of `variable` blocks that only Terraform has.
pub(super) fn foreign_argument(block: &str, name: &str) -> Option<&'static str> {
    match (block, name) {
        ("variable", "sensitive" | "nullable" | "ephemeral") => {
            Some("variable blocks take type, default and description, and validation blocks: remove this attribute")
        }
        _ => None,
    }
}

/// A name of Terraform: its root, and the attributes that count; none: all.
const NAMES: [(&str, &[&str]); 6] = [
    ("count", &["index"]),
    ("each", &["key", "value"]),
    ("path", &["module", "root", "cwd"]),
    ("terraform", &["workspace"]),
    ("module", &[]),
    ("data", &[]),
];

/// A name of Terraform in a job file: `each.key`.
struct Name<'t> {
    root: &'t str,
    attribute: &'t str,
    start: usize,
}

/// What Terraform's name stands for here.
fn instead_of_name(name: &Name, dynamic: Option<&Element>) -> String {
    let Name { root, attribute, .. } = name;
    match (*root, dynamic) {
        ("each", Some(block)) => {
            format!("in this dynamic block it is {}.{attribute}", block.kind)
        }
        ("each", None) => {
            "dynamic \"KIND\" { for_each = …; content { … } } repeats a block, and KIND.key and KIND.value are its item; \
             copies of a group tell themselves apart by ${NOMAD_ALLOC_INDEX}"
                .into()
        }
        ("count", _) => "the number of a copy of a group is ${NOMAD_ALLOC_INDEX}, which tasks get when they start".into(),
        ("path", _) => {
            "paths are relative to the directory in which the command runs: write file(\"NAME\"), without it".into()
        }
        ("terraform", _) => "declare variable \"workspace\" {}, and write var.workspace".into(),
        _ => format!("give the value as a variable: variable {attribute:?} {{}}, and var.{attribute}"),
    }
}

/// The advice about a name of Terraform that a text mentions, such as the path `${path.module}/x.json`.
pub(super) fn mentioned(text: &str) -> Option<String> {
    NAMES.iter().find_map(|(root, attributes)| {
        let attribute = attributes.iter().find(|a| text.contains(&format!("${{{root}.{a}}}")))?;
        let name = Name { root, attribute, start: 0 };
        Some(format!("{root}.{attribute} is a name of Terraform: {}", instead_of_name(&name, None)))
    })
}

/// Warnings about names of Terraform in a job file that parses: they stay in the job as text, which nothing replaces.
pub fn terraform_names(outline: &Outline, syntax: Syntax) -> Vec<Finding> {
    if syntax == Syntax::Api || outline.text.trim_start().starts_with('{') {
        return Vec::new();
    }
    // Most files have none of the names, and are not read again.
    if !NAMES.iter().any(|(root, attributes)| may_have(&outline.text, root, attributes)) {
        return Vec::new();
    }
    let tokens = lex(&outline.text, 0, Start::Normal);
    let bound = bound_names(&tokens, &outline.text);
    let names = names(&tokens, &outline.text).into_iter().filter(|name| !bound.contains(&name.root));
    names.take(MAX_FINDINGS).map(|name| finding(outline, &name)).collect()
}

/// Whether a name may stand in a text, as far as that can be said without its tokens.
fn may_have(text: &str, root: &str, attributes: &[&str]) -> bool {
    text.match_indices(root).any(|(at, _)| {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let begins = !text.get(..at).and_then(|t| t.chars().next_back()).is_some_and(is_word);
        let behind = text.get(at + root.len()..).and_then(|t| t.strip_prefix('.')).map(str::trim_start);
        begins && behind.is_some_and(|t| attributes.is_empty() || attributes.iter().any(|a| t.starts_with(a)))
    })
}

fn finding(outline: &Outline, name: &Name) -> Finding {
    let around = outline.around(name.start);
    let dynamic = around.iter().rev().copied().find(|e| e.dynamic);
    let whole = format!("{}.{}", name.root, name.attribute);
    let start = u32::try_from(name.start).unwrap_or(u32::MAX);
    let end = start.saturating_add(u32::try_from(whole.len()).unwrap_or(u32::MAX));
    let message = format!("{whole} is a name of Terraform: the job gets the text ${{{whole}}}, which nothing replaces");
    let place = Place::of(outline, encamp_hcl::diag::Span { source: 0, start, end });
    Finding {
        suggestion: Some(instead_of_name(name, dynamic)),
        repair: repair(outline, name, dynamic),
        ..Finding::warning(Stage::Parse, message, Some(place), &around)
    }
}

/// The name that works here, where the name alone is wrong.
fn repair(outline: &Outline, name: &Name, dynamic: Option<&Element>) -> Option<Repair> {
    let end = name.start + name.root.len();
    match (name.root, dynamic) {
        ("each", Some(block)) => Some(Repair::rename(name.start, end, &block.kind)),
        ("count", _) => {
            let whole = end + 1 + name.attribute.len();
            let quoted = outline.text.get(..name.start)?.ends_with("${");
            let new = if quoted { "NOMAD_ALLOC_INDEX" } else { "\"${NOMAD_ALLOC_INDEX}\"" };
            Some(Repair::rename(name.start, whole, new))
        }
        ("path", _) => {
            let start = outline.text.get(..name.start)?.strip_suffix("${")?.len();
            let whole = end + 1 + name.attribute.len();
            let behind = outline.text.get(whole..)?;
            let more = if behind.starts_with("}/") { 2 } else { 1 };
            behind.starts_with('}').then(|| {
                Repair::certain(
                    format!("Remove {}.{}", name.root, name.attribute),
                    [Edit::new(start, whole + more, "")],
                )
            })
        }
        _ => None,
    }
}

fn slice<'t>(text: &'t str, token: &Token) -> &'t str {
    text.get(token.span.start as usize..token.span.end as usize).unwrap_or("")
}

/// The names of Terraform among the tokens of a file.
fn names<'t>(tokens: &[Token], text: &'t str) -> Vec<Name<'t>> {
    let mut out = Vec::new();
    let mut quoted = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::OQuote | Kind::OHeredoc => quoted = quoted.saturating_add(1),
            Kind::CQuote | Kind::CHeredoc => quoted = quoted.saturating_sub(1),
            _ => {}
        }
        let after_dot = at.checked_sub(1).and_then(|b| tokens.get(b)).is_some_and(|t| t.kind == Kind::Dot);
        let (Some(dot), Some(attribute)) = (tokens.get(at + 1), tokens.get(at + 2)) else { continue };
        if token.kind != Kind::Ident || after_dot || dot.kind != Kind::Dot || attribute.kind != Kind::Ident {
            continue;
        }
        let (root, attribute) = (slice(text, token), slice(text, attribute));
        let Some((_, attributes)) = NAMES.iter().find(|(name, _)| *name == root) else { continue };
        // Texts such as "${data.x}" may be meant for another program.
        let known = if attributes.is_empty() { quoted == 0 } else { attributes.contains(&attribute) };
        if known {
            out.push(Name { root, attribute, start: token.span.start as usize });
        }
    }
    out
}

/// The names that a file gives to items itself: `iterator = each`, `for each in …`.
fn bound_names<'t>(tokens: &[Token], text: &'t str) -> Vec<&'t str> {
    let words: Vec<&Token> = tokens.iter().filter(|t| t.kind != Kind::Newline).collect();
    let mut out = Vec::new();
    for window in words.windows(3) {
        let [a, b, c] = window else { continue };
        match (slice(text, a), b.kind, slice(text, b)) {
            ("iterator", Kind::Equal, _) => out.push(slice(text, c)),
            ("for", Kind::Ident, name) => {
                out.push(name);
            }
            _ if slice(text, c) == "in" && b.kind == Kind::Ident => out.push(slice(text, b)),
            _ => {}
        }
    }
    out
}

/// Why an attribute or block directly in a `dynamic` block is wrong there; none if it is inside of its content.
pub(super) fn outside_of_content(name: &str, start: usize, dynamic: &Element) -> Option<(String, String)> {
    let inside = dynamic.attributes.iter().any(|s| s.name_span.start as usize == start)
        || dynamic.blocks.iter().any(|b| b.header.start as usize == start);
    if inside || !dynamic.dynamic {
        return None;
    }
    let message = format!("{name:?} stands in the dynamic block, outside of its content");
    let help =
        "put it into content { … }: that is the body of the blocks that are made; beside it are for_each, labels \
                and iterator"
            .to_owned();
    Some((message, help))
}

#[cfg(test)]
mod tests {
    use super::super::parse_error;
    use super::*;
    use crate::parse::{ParseOptions, parse};
    use encamp_hcl::functions;
    use serde_json::{Value as Json, json};

    fn parsed(text: &str) -> Result<encamp_model::api::Job, Vec<Finding>> {
        let options = ParseOptions { path: "f.hcl".into(), ..ParseOptions::default() };
        parse(text.as_bytes(), &options).map_err(|e| parse_error(&e))
    }

    /// The value of an expression, as JSON.
    fn value(expression: &str) -> Json {
        let text = format!("job \"j\" {{\n  meta {{\n    v = jsonencode({expression})\n  }}\n}}\n");
        let job = parsed(&text).unwrap_or_else(|found| panic!("{expression}: {found:#?}"));
        serde_json::from_str(&job.meta.expect("meta")["v"]).expect("JSON")
    }

    #[test]
    fn functions_of_terraform_have_an_equivalent() {
        assert!(FUNCTIONS.is_sorted_by_key(|m| m.name));
        for m in FUNCTIONS {
            assert!(!functions::names().contains(&m.name), "{} exists", m.name);
            let text = format!("job \"j\" {{\n  meta {{\n    v = {}(\"x\")\n  }}\n}}\n", m.name);
            let found = parsed(&text).expect_err("no such function");
            assert_eq!(found.len(), 1, "{found:#?}");
            assert_eq!(found[0].suggestion.as_deref(), Some(m.instead));
        }
    }

    /// The equivalents, with values for the names in capitals, are what Terraform's functions give.
    #[test]
    fn equivalents_give_what_the_functions_give() {
        let cases = [
            ("tostring", &[("VALUE", "12")][..], json!("12")),
            ("tostring", &[("VALUE", "true")], json!("true")),
            ("tonumber", &[("VALUE", "\"12\"")], json!(12)),
            ("tobool", &[("VALUE", "\"true\"")], json!(true)),
            ("tolist", &[("VALUE", "[1, \"a\"]")], json!(["1", "a"])),
            ("tomap", &[("VALUE", "{ a = 1 }")], json!({"a": "1"})),
            ("toset", &[("VALUE", "[\"b\", \"a\", \"b\"]")], json!(["a", "b"])),
            ("alltrue", &[("LIST", "[true, true]")], json!(true)),
            ("alltrue", &[("LIST", "[true, false]")], json!(false)),
            ("anytrue", &[("LIST", "[false, true]")], json!(true)),
            ("anytrue", &[("LIST", "[false]")], json!(false)),
            ("one", &[("LIST", "[]")], json!(null)),
            ("one", &[("LIST", "[7]")], json!(7)),
            ("startswith", &[("TEXT", "\"abc\""), ("PREFIX", "\"ab\"")], json!(true)),
            ("startswith", &[("TEXT", "\"abc\""), ("PREFIX", "\"b\"")], json!(false)),
            ("endswith", &[("TEXT", "\"abc\""), ("SUFFIX", "\"bc\"")], json!(true)),
            ("endswith", &[("TEXT", "\"abc\""), ("SUFFIX", "\"b\"")], json!(false)),
            ("strcontains", &[("TEXT", "\"abc\""), ("PART", "\"b\"")], json!(true)),
            ("strcontains", &[("TEXT", "\"abc\""), ("PART", "\"x\"")], json!(false)),
            ("list", &[("A", "1"), ("B", "2")], json!([1, 2])),
            ("map", &[("NAME", "a"), ("VALUE", "2")], json!({"a": 2})),
            ("textencodebase64", &[("TEXT", "\"abc\"")], json!("YWJj")),
            ("textdecodebase64", &[("TEXT", "\"YWJj\"")], json!("abc")),
            (
                "matchkeys",
                &[("VALUES", "[\"x\", \"y\"]"), ("WANTED", "[\"b\"]"), ("KEYS", "[\"a\", \"b\"]")],
                json!(["y"]),
            ),
        ];
        for (name, values, want) in cases {
            let text = instead_of_function(name).expect("an equivalent");
            let text =
                text.trim_start_matches("write ").trim_start_matches("a list: ").trim_start_matches("an object: ");
            // Remarks stand behind a comma or a semicolon outside of the expression.
            let text = text.split("; ").next().unwrap_or("").split(", or ").next().unwrap_or("");
            let expression = values.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
            assert_eq!(value(&expression), want, "{name}: {expression}");
        }
    }

    /// Names of Terraform in every place where a value may stand are warned about; the same names bound by the file are
    /// not.
    #[test]
    fn names_of_terraform_are_warned_about() {
        let names = ["each.key", "each.value", "count.index", "path.module", "path.root", "terraform.workspace"];
        let values = ["@", "\"@{@}\"", "\"a-${@}-b\"", "upper(@)", "[@, 1][0]", "{ a = @ }[\"a\"]", "<<E\n${@}\nE"];
        let places = [
            "job \"j\" {\n  meta {\n    v = @\n  }\n}\n",
            "locals {\n  l = @\n}\njob \"j\" {\n  meta {\n    v = local.l\n  }\n}\n",
            "job \"j\" {\n  group \"g\" {\n    dynamic \"service\" {\n      for_each = [\"a\"]\n      content {\n        \
             name = @\n      }\n    }\n    task \"t\" {\n      driver = \"exec\"\n    }\n  }\n}\n",
        ];
        let mut cases = 0;
        for name in names {
            for value in values.map(|v| v.replace("@{@}", "${@}").replace('@', name)) {
                for place in places {
                    let text = place.replace('@', &value);
                    assert!(parsed(&text).is_ok(), "{text}{:#?}", parsed(&text));
                    let found = terraform_names(&Outline::read("f.hcl", &text, Syntax::Hcl), Syntax::Hcl);
                    cases += 1;
                    assert_eq!(found.len(), 1, "{text}{found:#?}");
                    let range = &found[0].place.as_ref().expect("a place").range;
                    let line = text.lines().nth(range.start_line - 1).unwrap_or("");
                    assert!(
                        line.get(range.start_column - 1..).is_some_and(|rest| rest.starts_with(name)),
                        "{found:#?}"
                    );
                    let help = found[0].suggestion.as_deref().unwrap_or("");
                    let in_dynamic = place.contains("dynamic") && name.starts_with("each");
                    assert_eq!(help.starts_with("in this dynamic block it is service."), in_dynamic, "{help}");
                }
            }
        }
        assert_eq!(cases, 126);
        for text in [
            "job \"j\" {\n  meta {\n    v = join(\",\", [for each in [{ key = \"a\" }] : each.key])\n  }\n}\n",
            "job \"j\" {\n  group \"g\" {\n    dynamic \"service\" {\n      for_each = [\"a\"]\n      iterator = each\n      \
             content {\n        name = each.value\n      }\n    }\n  }\n}\n",
            "locals {\n  count = { index = 1 }\n}\njob \"j\" {\n  meta {\n    v = local.count.index\n    w = \
             \"each.key\"\n  }\n}\n",
            "job \"j\" {\n  meta {\n    v = \"${data.x} ${module.y}\"\n  }\n}\n",
        ] {
            let found = terraform_names(&Outline::read("f.hcl", text, Syntax::Hcl), Syntax::Hcl);
            assert!(parsed(text).is_ok(), "{:#?}", parsed(text));
            assert!(found.is_empty(), "{text}{found:#?}");
        }
    }

    #[test]
    fn misused_dynamic_blocks_are_explained() {
        let group = |inside: &str| format!("job \"j\" {{\n  group \"g\" {{\n{inside}\n  }}\n}}\n");
        for (inside, message, help) in [
            (
                "dynamic \"task\" {\n for_each = [\"a\"]\n labels = [task.value]\n driver = \"exec\"\n content {}\n}",
                "\"driver\" stands in the dynamic block, outside of its content",
                "put it into content",
            ),
            (
                "dynamic \"task\" {\n for_each = [\"a\"]\n labels = [task.value]\n content {}\n config {}\n}",
                "\"config\" stands in the dynamic block, outside of its content",
                "put it into content",
            ),
            (
                "task \"t\" {\n for_each = [\"a\"]\n}",
                "unknown attribute \"for_each\" in a task block",
                "dynamic \"task\"",
            ),
            (
                "dynamic \"service\" {\n for_each = [\"a\"]\n}",
                "A dynamic block must have a nested block of type \"content\"",
                "add content { … }",
            ),
            ("dynamic \"service\" {\n content {}\n}", "the dynamic block needs \"for_each\"", "add for_each = "),
        ] {
            let found = parsed(&group(inside)).expect_err("a mistake");
            let is = |f: &&Finding| f.message.starts_with(message);
            let f = found.iter().find(is).unwrap_or_else(|| panic!("{inside}: {found:#?}"));
            assert!(f.suggestion.as_deref().unwrap_or("").starts_with(help), "{inside}: {f:#?}");
        }
    }

    #[test]
    fn blocks_and_values_of_other_tools_are_named() {
        for (text, help) in [
            ("resource \"a\" \"b\" {}\njob \"j\" {}\n", "resource is a block of Terraform"),
            ("terraform {}\njob \"j\" {}\n", "terraform is a block of Terraform"),
            ("build {}\njob \"j\" {}\n", "build is a block of Packer"),
            ("client {}\njob \"j\" {}\n", "client is a block of the configuration of agents"),
            ("variable \"v\" {\n  sensitive = true\n}\njob \"j\" {}\n", "variable blocks take type"),
            ("job \"j\" {\n  priority = jsondecode(\"{\\\"a\\\": 1}\").b\n}\n", "try("),
            ("job \"j\" {\n  priority = var.x\n}\n", "declare it outside of the job: variable \"x\" {}"),
            ("job \"j\" {\n  type = uuuid4()\n}\n", "did you mean uuidv4(…)?"),
        ] {
            let found = parsed(text).expect_err("a mistake");
            let is = |f: &Finding| f.suggestion.as_deref().unwrap_or("").starts_with(help);
            assert!(found.iter().any(is), "{text}{found:#?}");
        }
        let help = mentioned("no file exists at ${path.module}/x.json").unwrap_or_default();
        assert!(help.starts_with("path.module is a name of Terraform: paths are relative"), "{help}");
    }
}

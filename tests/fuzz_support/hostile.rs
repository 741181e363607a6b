//! Job files made to hurt: each is small to write down and large, deep or slow for a careless reader. `size` scales them:
//! the tests take 1 MB, seeds for the fuzzers a few kilobytes.

use std::fmt::Write;

/// How a file is meant to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// HCL, native or JSON syntax.
    Hcl,
    /// `job validate -json`.
    Json,
}

/// What must come of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Valid,
    Refused,
    /// Refused or not, in time.
    Either,
}

/// One hostile file.
pub struct Case {
    pub name: &'static str,
    pub kind: Kind,
    pub outcome: Outcome,
    pub content: Vec<u8>,
}

use Kind::{Hcl, Json};
use Outcome::{Either, Refused, Valid};

/// A job around some text in its body.
fn job(inside: &str) -> String {
    job_with("", inside, "")
}

/// A job with `locals` and with texts in the job's and in the task's body.
fn job_with(locals: &str, inside: &str, task: &str) -> String {
    format!(
        "locals {{\n{locals}\n}}\njob \"hostile\" {{\n{inside}\n  group \"g\" {{\n    task \"t\" {{\n      driver = \
         \"docker\"\n      config {{\n        image = \"redis:7\"\n      }}\n{task}\n    }}\n  }}\n}}\n"
    )
}

/// The text as often as fits.
fn fill(size: usize, text: &str) -> String {
    text.repeat((size / text.len()).max(1))
}

/// Numbered texts until the size is reached.
fn numbered(size: usize, make: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for i in 0.. {
        out.push_str(&make(i));
        if out.len() >= size {
            break;
        }
    }
    out
}

/// A local of two times the one before, `n` times.
fn doubling(n: usize, seed: &str, make: impl Fn(&str) -> String) -> String {
    let mut out = format!("  a0 = {seed}\n");
    for i in 1..n {
        writeln!(out, "  a{i} = {}", make(&format!("local.a{}", i - 1))).expect("strings can be written");
    }
    out
}

/// All files.
pub fn cases(size: usize) -> Vec<Case> {
    let mut list = Vec::new();
    let mut add = |name, kind, outcome, content: Vec<u8>| list.push(Case { name, kind, outcome, content });
    syntax(size, &mut |name, outcome, text: String| add(name, Hcl, outcome, text.into_bytes()));
    evaluation(size, &mut |name, outcome, text: String| add(name, Hcl, outcome, text.into_bytes()));
    functions(size, &mut |name, outcome, text: String| add(name, Hcl, outcome, text.into_bytes()));
    jobs(size, &mut |name, outcome, text: String| add(name, Hcl, outcome, text.into_bytes()));
    api(size, &mut |name, outcome, text: String| add(name, Json, outcome, text.into_bytes()));
    bytes(size, &mut add);
    list
}

fn syntax(size: usize, add: &mut dyn FnMut(&'static str, Outcome, String)) {
    for (name, open) in [
        ("nested-brackets", "["),
        ("nested-braces", "{a="),
        ("nested-parens", "("),
        ("nested-templates", "\"${"),
        ("nested-heredocs", "<<A\n${"),
        ("nested-calls", "f("),
        ("nested-negation", "!"),
        ("nested-conditions", "a?"),
        ("nested-for", "[for a in "),
        ("nested-index", "a["),
        ("nested-directives", "\"%{if a}"),
        ("minus-signs", "-"),
    ] {
        add(name, Refused, format!("job \"x\" {{ name = {}", fill(size, open)));
    }
    add("nested-blocks", Refused, fill(size, "a {\n"));
    add(
        "nested-blocks-in-config",
        Refused,
        format!("job \"x\" {{ group \"g\" {{ task \"t\" {{ config {{{}", fill(size, "a {\n")),
    );
    add("nested-json-blocks", Refused, format!("{{\"job\":{}", fill(size, "{\"a\":")));
    add("nested-json-arrays", Refused, format!("{{\"job\":{}", fill(size, "[")));
    add("closed-json-arrays", Refused, format!("{{\"job\":{}{}}}", fill(size / 2, "["), fill(size / 2, "]")));
    add("closing-only", Refused, fill(size, "}"));
    add("quotes-only", Refused, fill(size, "\""));
    add("heredoc-markers", Refused, fill(size, "a = <<A\n"));
    add("heredoc-never-ends", Refused, format!("job \"x\" {{ name = <<END\n{}", fill(size, "text\n")));
    add(
        "heredoc-blank-lines",
        Valid,
        job_with("", "", &format!("      env {{\n A = <<-END\n{}\n  END\n      }}", fill(size, "    \n"))),
    );
    add(
        "heredoc-deep-indent",
        Either,
        job_with("", "", &format!("      env {{\n A = <<-END\n{}x\n  END\n      }}", fill(size, " "))),
    );
    add(
        "heredoc-huge",
        Valid,
        job_with(
            "",
            "",
            &format!("      env {{\n A = <<END\n{}END\n      }}", fill(size, "some text and ${NOMAD_X}\n")),
        ),
    );
    add("long-line", Either, job(&format!("meta {{ {} }}", numbered(size, |i| format!("a{i} = ")))));
    add("long-name", Refused, job(&format!("{} = 1", fill(size, "a"))));
    add("long-label", Either, format!("job \"{}\" {{}}", fill(size, "a")));
    add("long-string", Valid, job(&format!("meta {{ a = \"{}\" }}", fill(size, "x"))));
    add("many-labels", Refused, format!("job {} {{}}", fill(size, "\"a\" ")));
    add("many-comments", Valid, format!("{}{}", fill(size, "# comment\n"), job("")));
    add("comment-never-ends", Refused, format!("/*{}", fill(size, "/*")));
    add("many-bad-attributes", Refused, job(&numbered(size, |i| format!("a{i} = 1\n"))));
    add("many-near-attributes", Refused, job(&numbered(size, |i| format!("prority{i} = 1\n"))));
    add("many-bad-blocks", Refused, job(&fill(size, "drivr {}\n")));
    add("many-bad-blocks-one-line", Refused, fill(size, "drivr {} "));
    add("many-double-attributes", Refused, job(&fill(size, "priority = 1\n")));
    add("many-jobs", Refused, fill(size, "job \"x\" {}\n"));
    add("many-variables", Refused, fill(size, "variable \"x\" {}\n"));
    add("many-variables-by-name", Refused, numbered(size, |i| format!("variable \"x{i}\" {{}}\n")));
    add("many-bad-characters", Refused, fill(size, "a = \u{1F600}\n"));
    add("many-bad-tokens-one-line", Refused, fill(size, "@ "));
    add("one-line-of-errors", Refused, format!("job \"x\" {{ meta = [{}] }}", fill(size, "nope(), ")));
    add("one-line-of-clusters", Refused, format!("job \"x\" {{ meta = [{}] }}", fill(size, "nope(\"e\u{301}🇩🇪\"), ")));
    add(
        "one-json-line-of-errors",
        Refused,
        format!("{{\"job\":{{\"x\":{{\"meta\":[{}1]}}}}}}", fill(size, "\"${nope()}\",")),
    );
    add(
        "json-line-of-bad-names",
        Refused,
        format!("{{\"job\":{{\"x\":{{{}\"z\":1}}}}}}", numbered(size, |i| format!("\"a{i}\":1,"))),
    );
    add("json-double-names", Refused, format!("{{\"job\":{{\"x\":{{{}\"name\":1}}}}}}", fill(size, "\"name\":1,")));
    add(
        "json-many-templates",
        Either,
        format!(
            "{{\"job\":{{\"x\":{{\"meta\":{{{}\"z\":\"1\"}}}}}}}}",
            numbered(size, |i| format!("\"a{i}\":\"${{1+1}}\","))
        ),
    );
    add("long-operator-chain", Either, job(&format!("priority = 1{}", fill(size, "+1"))));
    add("long-condition-chain", Refused, job(&format!("priority = {}", fill(size, "true ? 1 : "))));
    add("long-traversal", Refused, job_with("  a = {}", &format!("name = local.a{}", fill(size, ".b")), ""));
    add("long-index-chain", Refused, job_with("  a = {}", &format!("name = local.a{}", fill(size, "[0]")), ""));
    add("long-splat-chain", Refused, job_with("  a = {}", &format!("name = local.a{}", fill(size, "[*]")), ""));
    add("long-kept-reference", Either, job(&format!("meta {{ a = attr{} }}", fill(size, ".b"))));
    add(
        "spaces-behind-kept",
        Either,
        job(&format!("meta {{ a = join(\"\", [for i in range(1000) : \"${{attr.x{}}}\"]) }}", fill(size, " "))),
    );
    add("braces-behind-kept", Either, job(&format!("meta {{ a = \"${{attr.x}}{}\" }}", fill(size, "}"))));
    add("many-kept-on-a-line", Either, job(&format!("meta {{ a = \"{}\" }}", fill(size, "${attr.x} "))));
    add("many-escapes", Either, job(&format!("meta {{ a = \"{}\" }}", fill(size, "\\u00e9\\n"))));
    add(
        "many-template-directives",
        Either,
        job(&format!("meta {{ a = \"{}\" }}", fill(size, "%{ if true }x%{ endif }"))),
    );
    add("long-number", Refused, job(&format!("priority = {}", fill(size, "9"))));
    add(
        "many-long-numbers",
        Either,
        job_with(&format!("  n = [for i in range(1000) : {}]", fill(size.min(2_000), "9")), "", ""),
    );
    add("huge-exponent", Refused, job("priority = 1e999999999"));
    add("many-huge-exponents", Either, job_with(&format!("  n = [{}]", fill(size, "1e2000, 1e-2000, ")), "", ""));
    add("combining-marks", Either, job(&format!("meta {{ a = \"a{}\" }}", fill(size, "\u{301}"))));
    add("combining-marks-unordered", Either, job(&format!("meta {{ a = \"a{}\" }}", fill(size, "\u{301}\u{316}"))));
    add(
        "nfc-in-a-loop",
        Either,
        job_with(&format!("  n = [for i in range(1000) : \"${{i}}{}\"]", fill(size, "e\u{301}")), "", ""),
    );
}

fn evaluation(size: usize, add: &mut dyn FnMut(&'static str, Outcome, String)) {
    let with = |locals: String| job_with(&locals, "", "");
    add("doubling-lists", Refused, with(doubling(1000, "[\"x\", \"y\"]", |a| format!("[{a}, {a}]"))));
    add("doubling-texts", Refused, with(doubling(1000, "\"xy\"", |a| format!("\"${{{a}}}${{{a}}}\""))));
    add("doubling-objects", Refused, with(doubling(1000, "{ a = 1 }", |a| format!("{{ a = {a}, b = {a} }}"))));
    add("doubling-concat", Refused, with(doubling(1000, "[1]", |a| format!("concat({a}, {a})"))));
    add("doubling-merge", Either, with(doubling(500, "{ a = 1 }", |a| format!("merge({a}, {{ b = {a} }})"))));
    add("doubling-numbers", Either, with(doubling(1000, "3", |a| format!("{a} * {a}"))));
    add("nesting-lists", Refused, with(doubling(5000, "[]", |a| format!("[{a}]"))));
    add("nesting-types", Either, with(doubling(190, "[1]", |a| format!("[{a}, 1]"))));
    add(
        "comparing-large-values",
        Either,
        with(format!(
            "{}  b = [for i in range(1024) : local.a15 == local.c15]\n{}",
            doubling(16, "[\"x\"]", |a| format!("[{a}, {a}]")),
            doubling(16, "[\"x\"]", |a| format!("[{a}, {a}]")).replace("a1", "c1")
        )),
    );
    add(
        "comparing-long-texts",
        Either,
        with(format!(
            "  a = \"{}\"\n  n = [for i in range(1024) : [for j in range(1000) : local.a == \"x${{local.a}}\"]]",
            fill(size, "x")
        )),
    );
    add(
        "locals-chain",
        Valid,
        with(numbered(size, |i| if i == 0 { "  a0 = 1\n".into() } else { format!("  a{i} = local.a{}\n", i - 1) })),
    );
    add(
        "locals-chain-backwards",
        Valid,
        with(numbered(size, |i| format!("  a{i} = local.a{}\n", i + 1)) + "  a1000000 = 1")
            .replace("local.a", "1 + 0 * 1 # local.a"),
    );
    add("locals-cycle", Refused, with(numbered(size, |i| format!("  a{i} = local.a{}\n", (i + 1) % 20_000))));
    add(
        "locals-all-need-all",
        Either,
        with(format!("  a = 1\n{}", numbered(size, |i| format!("  b{i} = [local.a, local.a, local.a]\n")))),
    );
    add(
        "whole-local",
        Either,
        with(format!("{}  z = [for i in range(1000) : can(local)]", numbered(size, |i| format!("  b{i} = 1\n")))),
    );
    add(
        "for-in-for",
        Either,
        with("  n = [for a in range(1024) : [for b in range(1024) : [for c in range(1024) : a]]]".into()),
    );
    add("for-group", Either, with("  n = [for a in range(1024) : { for b in range(1024) : \"k\" => b... }]".into()));
    add(
        "for-objects",
        Either,
        with("  n = [for a in range(1024) : { for b in range(1024) : \"k${a}-${b}\" => { a = a, b = b } }]".into()),
    );
    add("many-live-objects", Either, with((0..20).map(|i| format!("  n{i} = {{ for a in range(1000) : \"k${{a}}\" => {{ for b in range(80) : \"k${{b}}\" => [a] }} }}\n")).collect()));
    add(
        "many-live-texts",
        Either,
        with(format!(
            "  a = \"{}\"\n{}",
            fill(size, "x"),
            (0..400).map(|i| format!("  n{i} = \"{i}${{local.a}}\"\n")).collect::<String>()
        )),
    );
    add("failing-loop", Refused, with("  n = [for a in range(1024) : [for b in range(1024) : nope(a)]]".into()));
    add("failing-loop-long-name", Refused, with(format!("  n = [for a in range(1000) : a.{}]", fill(size, "b"))));
    add(
        "trying-loop-long-name",
        Either,
        with(format!("  n = [for a in range(1000) : [for b in range(1000) : can(a.{})]]", fill(size, "b"))),
    );
    add(
        "indexing-loop-long-name",
        Either,
        with(format!(
            "  m = {{}}\n  n = [for a in range(1000) : [for b in range(1000) : can(local.m[\"{}\"])]]",
            fill(size, "b")
        )),
    );
    add(
        "long-text-in-a-loop",
        Either,
        with(format!("  n = [for a in range(1000) : [for b in range(1000) : length([\"{}\"])]]", fill(size, "b"))),
    );
    add(
        "long-number-in-a-loop",
        Either,
        with(format!("  n = [for a in range(1000) : [for b in range(1000) : {}.5]]", fill(size.min(2_000), "7"))),
    );
    add(
        "number-texts-in-a-loop",
        Either,
        with(format!(
            "  a = {}\n  n = [for a in range(1000) : [for b in range(1000) : \"${{local.a + b}}\"]]",
            fill(size.min(2_000), "7")
        )),
    );
    add(
        "division-in-a-loop",
        Either,
        with("  n = [for a in range(1024) : [for b in range(1024) : 1e2000 / (b + 3) % 7]]".into()),
    );
    add(
        "conditions-in-a-loop",
        Either,
        with(
            "  l = range(1024)\n  n = [for a in range(1024) : [for b in range(1024) : b > 0 ? local.l : local.l]]"
                .into(),
        ),
    );
    add(
        "conditions-of-deep-tuples",
        Either,
        with(format!(
            "{}  n = [for a in range(1024) : true ? local.a100 : [local.a100]]",
            doubling(101, "[1]", |a| format!("[{a}, 1, \"x\"]"))
        )),
    );
    add(
        "convert-deep",
        Either,
        with(format!(
            "{}  n = [for a in range(1024) : convert(local.a100, list(any))]",
            doubling(101, "[1]", |a| format!("[{a}]"))
        )),
    );
    add("splat-of-splat", Either, with("  l = [for a in range(1024) : { b = [for c in range(100) : { d = c }] }]\n  n = [for i in range(1000) : local.l[*].b[*].d]".into()));
    let dynamic = |depth: usize, each: &str| {
        let mut text = String::new();
        for _ in 0..depth {
            write!(text, "dynamic \"group\" {{ for_each = {each}\n labels = [\"g${{group.key}}\"]\n content {{ ")
                .expect("strings");
        }
        text + &"}}".repeat(depth)
    };
    add("dynamic-groups", Either, job(&dynamic(1, "range(1024)")));
    add("dynamic-groups-many", Either, job(&fill(size, &(dynamic(1, "range(1024)") + "\n"))));
    add(
        "dynamic-nested",
        Either,
        job(
            "dynamic \"group\" {\n for_each = range(1024)\n labels = [\"g${group.key}\"]\n content {\n dynamic \"task\" {\n for_each = \
             range(1024)\n labels = [\"t${task.key}\"]\n content {\n driver = \"docker\"\n dynamic \"template\" {\n for_each = \
             range(1024)\n content {\n data = \"x\"\n }\n }\n }\n }\n }\n}",
        ),
    );
    add(
        "dynamic-large-content",
        Either,
        job(&format!(
            "dynamic \"group\" {{\n for_each = range(1024)\n labels = [\"g${{group.key}}\"]\n content {{\n{}}}\n}}",
            numbered(size, |i| format!("a{i} = 1\n"))
        )),
    );
    add(
        "dynamic-large-meta",
        Either,
        job(&format!(
            "dynamic \"group\" {{\n for_each = range(1024)\n labels = [\"g${{group.key}}\"]\n content {{\n meta {{\n{}}}\n}}\n}}",
            numbered(size, |i| format!("a{i} = 1\n"))
        )),
    );
    add(
        "dynamic-in-config",
        Either,
        job_with(
            "",
            "",
            "config {\n dynamic \"a\" {\n for_each = range(1024)\n content {\n dynamic \"b\" {\n for_each = range(1024)\n \
                          content {\n c = b.value\n }\n }\n }\n }\n }",
        ),
    );
    add(
        "variable-types",
        Either,
        numbered(size, |i| {
            format!(
                "variable \"x{i}\" {{\n type = map(list(object({{ a = string, b = list(any) }})))\n default = {{}}\n}}\n"
            )
        }) + &job(""),
    );
    add("variable-type-deep", Refused, format!("variable \"x\" {{\n type = {}string", fill(size, "list(")));
    add(
        "variable-object-wide",
        Either,
        format!(
            "variable \"x\" {{\n type = object({{{}}})\n default = {{}}\n}}\n{}",
            numbered(size, |i| format!("a{i} = string\n")),
            job("")
        ),
    );
    add(
        "variable-validations",
        Either,
        format!(
            "variable \"x\" {{\n default = \"a\"\n{}}}\n{}",
            fill(size, "validation {\n condition = var.x == \"b\"\n error_message = \"no\"\n}\n"),
            job("")
        ),
    );
}

fn functions(size: usize, add: &mut dyn FnMut(&'static str, Outcome, String)) {
    let with = |locals: String| job_with(&locals, "", "");
    let looped = |call: &str| {
        with(format!(
            "  s = \"{}\"\n  n = [for a in range(1000) : [for b in range(1000) : {call}]]",
            fill(size, "ab é")
        ))
    };
    for (name, expression) in [
        ("range-giant", "range(0, 1e9)"),
        ("range-tiny-step", "range(0, 1, 1e-300)"),
        ("range-infinite", "range(0, 1e99999)"),
        ("format-giant-width", "format(\"%1000000000s\", 1)"),
        ("format-giant-precision", "format(\"%.1000000000f\", 1)"),
        ("format-giant-index", "format(\"%[999999999999999999999]s\", 1)"),
        ("number-giant", "1e999999999 + 1"),
        ("cidr-giant", "cidrsubnet(\"10.0.0.0/8\", 1e9, 1)"),
        ("bcrypt-giant", "bcrypt(\"x\", 31)"),
        ("indent-giant", "indent(1e9, \"a\\nb\")"),
        ("parseint-bad-base", "parseint(\"zz\", 1e9)"),
        ("substr-giant", "[substr(\"x\", -1e18, 1e18), nope()]"),
        ("element-of-nothing", "element([], 1e300)"),
        ("bcrypt-loop", "[for i in range(1000) : bcrypt(\"x\", 12)]"),
        ("setproduct-explosion", "setproduct(range(1000), range(1000), range(1000))"),
        ("date-unclosed", "formatdate(\"'unclosed\", \"2020-01-01T00:00:00Z\")"),
        ("duration-giant", "timeadd(\"2020-01-01T00:00:00Z\", \"99999999999999999h\")"),
    ] {
        add(name, Refused, with(format!("  n = {expression}")));
    }
    add("setproduct-chain", Refused, with(format!("  n = setproduct({})", vec!["[1, 2]"; 64].join(", "))));
    add("setproduct-of-empties", Either, with(format!("  n = setproduct({})", vec!["[]"; 1000].join(", "))));
    add("format-many-verbs", Refused, with(format!("  n = format(\"{}\")", fill(size, "%s"))));
    add("format-wide-verbs", Either, with(format!("  n = format(\"{}\", 1)", fill(size, "%[1]99999s"))));
    add(
        "format-float-loop",
        Either,
        with("  n = [for a in range(1000) : [for b in range(100) : format(\"%.90000f\", 1e-2000)]]".into()),
    );
    add("formatlist-giant", Either, with("  n = formatlist(\"%99999s\", range(1024))".into()));
    add(
        "formatdate-long",
        Either,
        with(format!("  n = formatdate(\"{}\", \"2020-01-01T00:00:00Z\")", fill(size, "YYYY'x'"))),
    );
    add("cidrsubnets-many", Either, with(format!("  n = cidrsubnets(\"fd00::/16\", {}1)", fill(size, "32, "))));
    add("cidrhost-giant", Either, with(format!("  n = cidrhost(\"10.0.0.0/8\", {})", fill(size.min(2_000), "9"))));
    add("strlen-loop", Either, looped("strlen(local.s)"));
    add("reverse-loop", Either, looped("length([strrev(local.s)])"));
    add("upper-loop", Either, looped("length([upper(local.s)])"));
    add("sha-loop", Either, looped("sha512(local.s)"));
    add("split-loop", Either, looped("length(split(\"\", local.s))"));
    add("trim-loop", Either, looped("length([trim(local.s, local.s)])"));
    add(
        "trim-long-cutset",
        Either,
        with(format!("  n = trim(\"{}\", \"{}\")", fill(size / 2, "a"), fill(size / 2, "b") + "a")),
    );
    add(
        "replace-explosion",
        Refused,
        with(format!("  s = \"{}\"\n  n = replace(local.s, \"\", local.s)", fill(size.max(10_000), "a"))),
    );
    add(
        "join-explosion",
        Either,
        with(format!("  s = \"{}\"\n  n = join(local.s, range(1024))", fill(size.max(30_000), "a"))),
    );
    add(
        "regex-alternatives",
        Either,
        with(format!("  n = regex_replace(\"{}\", \"(a|a)*(a|a)*b\", \"\")", fill(size, "a"))),
    );
    add(
        "regex-counted",
        Either,
        with(format!("  n = regex_replace(\"{}\", \"[ab]*a[ab]{{500}}c\", \"\")", fill(size, "abbaababaaabbb"))),
    );
    add(
        "regex-nested-counts",
        Either,
        with(format!("  n = regex_replace(\"{}\", \"((((a{{0,10}}){{0,10}}){{0,10}})*)*b\", \"\")", fill(size, "a"))),
    );
    add(
        "regex-unicode",
        Either,
        with(format!(
            "  n = regex_replace(\"{}\", \"(\\\\pL{{1,30}}\\\\PN{{1,30}})*\\\\x{{1F600}}\", \"\")",
            fill(size, "aé1")
        )),
    );
    add("regex-long-pattern", Either, with(format!("  n = regex_replace(\"aaa\", \"{}\", \"\")", fill(size, "(a|b)"))));
    add(
        "regex-named-groups",
        Either,
        with(format!("  n = regex_replace(\"aaa\", \"{}\", \"\")", numbered(size, |i| format!("(?P<a{i}>)")))),
    );
    add("regex-classes", Either, with(format!("  n = regex_replace(\"aaa\", \"{}\", \"\")", fill(size, "\\\\pL"))));
    add(
        "regex-expansion",
        Either,
        with(format!("  n = regex_replace(\"{}\", \"(a+)\", \"{}\")", fill(size / 2, "ab"), fill(size / 2, "$1"))),
    );
    add("regex-loop", Either, looped("length([regex_replace(local.s, \"[a-z]+\", \"\")])"));
    add(
        "regex-compile-loop",
        Either,
        with(
            "  n = [for a in range(1000) : [for b in range(1000) : regex_replace(\"a\", \"\\\\pL{30}\", \"\")]]".into(),
        ),
    );
    let yaml = |text: &str| with(format!("  n = yamldecode(<<END\n{text}\nEND\n)"));
    add(
        "yaml-laughs",
        Refused,
        yaml(
            &doubling(60, "&a0 [x, x]", |a| format!("[{a}, {a}]"))
                .replace("local.a", "*a")
                .lines()
                .map(|line| {
                    let (name, value) = line.trim().split_once(" = ").unwrap_or(("z", "1"));
                    let value = value.replace("&a0 ", "");
                    format!("{name}: &{name} {value}\n")
                })
                .collect::<String>(),
        ),
    );
    add("yaml-self-alias", Refused, yaml("a: &a [*a]"));
    add("yaml-deep", Refused, yaml(&fill(size, "[")));
    add("yaml-deep-blocks", Either, yaml(&fill(size, "- ")));
    add("yaml-many-anchors", Either, yaml(&numbered(size, |i| format!("a{i}: &a{i} x\n"))));
    add("yaml-many-keys", Either, yaml(&numbered(size, |i| format!("? [a{i}]\n: x\n"))));
    add("yaml-long-scalar", Either, yaml(&format!("a: \"{}\"", fill(size, "x\\n"))));
    add("json-deep", Refused, with(format!("  n = jsondecode(\"{}\")", fill(size, "["))));
    add("json-long-number", Either, with(format!("  n = jsondecode(\"{}\")", fill(size, "9"))));
    add("json-many", Either, with(format!("  n = jsondecode(\"[{}1]\")", fill(size, "1,"))));
    add("json-many-objects", Either, with(format!("  n = jsondecode(\"[{}1]\")", fill(size, "{},"))));
    add(
        "json-encode-loop",
        Either,
        with(
            "  l = [for a in range(1024) : range(200)]\n  n = [for a in range(1000) : length([jsonencode(local.l)])]"
                .into(),
        ),
    );
    add(
        "csv-wide",
        Either,
        with(format!("  n = csvdecode(\"{}\\n{}\")", numbered(size / 2, |i| format!("a{i},")), fill(size / 2, "1,"))),
    );
    add(
        "csv-tall",
        Either,
        with(format!("  n = csvdecode(\"{}\\n{}\")", numbered(size / 100, |i| format!("a{i},")), fill(size, "\\n,"))),
    );
    add("base64-loop", Either, looped("length([base64encode(local.s)])"));
    add(
        "flatten-loop",
        Either,
        with(
            "  l = [for a in range(1024) : range(200)]\n  n = [for a in range(1000) : length(flatten(local.l))]".into(),
        ),
    );
    add("distinct-large", Either, with("  l = flatten([for a in range(1000) : [for b in range(200) : [\"a\", \"b${a}\", \"c${b}\"]]])\n  n = distinct(local.l)".into()));
    add("contains-loop", Either, with("  l = flatten([for a in range(1000) : [for b in range(200) : \"b${a}\"]])\n  n = [for a in range(1000) : contains(local.l, \"x\")]".into()));
    add("union-loop", Either, with("  l = flatten([for a in range(1000) : [for b in range(200) : \"b${a}\"]])\n  n = [for a in range(1000) : length(setunion(local.l, [\"x\"]))]".into()));
    add("concat-many", Either, with(format!("  n = concat({})", fill(size, "[1], [], "))));
    add("unknown-functions", Refused, with(format!("  n = [{}]", numbered(size, |i| format!("formatlis{i}(), ")))));
    add("pow-giant", Either, with("  n = [for a in range(1000) : pow(2, 1e9)]".into()));
    add("unknown-function-loop", Refused, looped("base64gzipp(local.s)"));
}

fn jobs(size: usize, add: &mut dyn FnMut(&'static str, Outcome, String)) {
    let group = |i: usize, body: &str| {
        format!("group \"g{i}\" {{\n{body}\ntask \"t\" {{\n driver = \"docker\"\n config {{ image = \"a\" }}\n}}\n}}\n")
    };
    let whole = |inside: String| format!("job \"hostile\" {{\n{inside}\n}}\n");
    for (name, count) in
        [("count-i32", "2147483648"), ("count-i64", "9223372036854775807"), ("count-negative", "-9223372036854775808")]
    {
        add(name, Refused, whole(group(0, &format!("count = {count}"))));
    }
    add("count-limit", Valid, whole(group(0, "count = 50000")));
    add("count-many-groups", Either, whole(numbered(size, |i| group(i, "count = 2147483647"))));
    add("system-count", Refused, whole(format!("type = \"system\"\n{}", group(0, "count = 2147483648"))));
    add("many-groups", Either, whole(numbered(size, |i| group(i, ""))));
    add("many-same-groups", Either, whole(numbered(size, |_| group(0, ""))));
    add("many-empty-groups", Either, whole(numbered(size, |i| format!("group \"g{i}\" {{}}\n"))));
    add(
        "many-tasks",
        Either,
        whole(format!(
            "group \"g\" {{\n{}}}",
            numbered(size, |i| format!("task \"t{i}\" {{\n driver = \"docker\"\n config {{}}\n}}\n"))
        )),
    );
    add("many-bad-tasks", Refused, whole(format!("group \"g\" {{\n{}}}", fill(size, "task \"\" {}\n"))));
    add(
        "long-name-many-errors",
        Refused,
        whole(format!("group \"{}\" {{\n{}}}", fill(size / 2, "g"), fill(size / 2, "task \"\" {}\n"))),
    );
    add("many-constraints", Either, job(&fill(size, "constraint {\n attribute = \"a\"\n value = \"b\"\n}\n")));
    add(
        "many-different-constraints",
        Either,
        job(&numbered(size, |i| format!("constraint {{\n attribute = \"a{i}\"\n value = \"b\"\n}}\n"))),
    );
    add(
        "many-regexes",
        Either,
        job(&fill(size, "constraint {\n attribute = \"a\"\n operator = \"regexp\"\n value = \"\\\\pL{1000}\"\n}\n")),
    );
    add(
        "many-bad-regexes",
        Refused,
        job(&fill(size, "constraint {\n attribute = \"a\"\n operator = \"regexp\"\n value = \"(((((\"\n}\n")),
    );
    add(
        "long-bad-regex",
        Refused,
        job(&format!(
            "constraint {{\n attribute = \"a\"\n operator = \"regexp\"\n value = \"{}\"\n}}\n",
            fill(size, "(a")
        )),
    );
    add(
        "long-class-regex",
        Either,
        job(&format!(
            "constraint {{\n attribute = \"a\"\n operator = \"regexp\"\n value = \"{}\"\n}}\n",
            fill(size, "[[:")
        )),
    );
    add(
        "many-versions",
        Either,
        job(&format!(
            "constraint {{\n attribute = \"a\"\n operator = \"version\"\n value = \"{}\"\n}}\n",
            fill(size, ">= 1.0, ") + "> 1"
        )),
    );
    add(
        "long-version",
        Either,
        job(&format!(
            "constraint {{\n attribute = \"a\"\n operator = \"version\"\n value = \">= 1{}\"\n}}\n",
            fill(size, ".1")
        )),
    );
    add(
        "many-affinities",
        Either,
        job(&numbered(size, |i| format!("affinity {{\n attribute = \"a{i}\"\n value = \"b\"\n weight = 1000\n}}\n"))),
    );
    add(
        "many-spreads",
        Either,
        job(&fill(size, "spread {\n attribute = \"a\"\n target \"x\" {\n percent = 200\n }\n}\n")),
    );
    add(
        "many-spread-targets",
        Either,
        job(&format!(
            "spread {{\n attribute = \"a\"\n{}}}",
            numbered(size, |i| format!("target \"x{i}\" {{\n percent = 1\n }}\n"))
        )),
    );
    add(
        "many-ports",
        Either,
        whole(format!(
            "group \"g\" {{\n network {{\n{}}}\n}}",
            numbered(size, |i| format!("port \"p{i}\" {{\n static = {}\n}}\n", i % 70_000))
        )),
    );
    add(
        "many-networks",
        Either,
        whole(format!("group \"g\" {{\n{}\n}}", fill(size, "network {\n port \"a\" {}\n}\n"))),
    );
    add(
        "many-services",
        Either,
        whole(format!(
            "group \"g\" {{\n{}\n}}",
            numbered(size, |i| format!(
                "service {{\n name = \"s{i}\"\n port = \"p\"\n check {{\n type = \"tcp\"\n }}\n}}\n"
            ))
        )),
    );
    add(
        "many-same-services",
        Either,
        whole(format!("group \"g\" {{\n{}\n}}", fill(size, "service {\n name = \"s\"\n port = \"p\"\n}\n"))),
    );
    add(
        "many-checks",
        Either,
        whole(format!(
            "group \"g\" {{\n service {{\n name = \"s\"\n{}\n}}\n}}",
            fill(size, "check {\n name = \"c\"\n type = \"http\"\n}\n")
        )),
    );
    add(
        "many-connect",
        Either,
        whole(numbered(size, |i| {
            format!(
                "group \"g{i}\" {{\n network {{\n mode = \"bridge\"\n }}\n service {{\n name = \"s\"\n port = \"80\"\n connect {{\n sidecar_service {{}}\n }}\n}}\n}}\n"
            )
        })),
    );
    add(
        "many-connect-services",
        Either,
        whole(format!(
            "group \"g\" {{\n network {{\n mode = \"bridge\"\n }}\n{}\n}}\n",
            numbered(size, |i| format!(
                "service {{\n name = \"s{i}\"\n port = \"80\"\n connect {{\n sidecar_service {{}}\n }}\n}}\n"
            ))
        )),
    );
    add(
        "many-upstreams",
        Either,
        whole(format!(
            "group \"g\" {{\n network {{\n mode = \"bridge\"\n }}\n service {{\n name = \"s\"\n port = \"80\"\n connect {{\n sidecar_service {{\n proxy {{\n{}\n}}\n}}\n}}\n}}\n}}\n",
            numbered(size, |i| format!("upstreams {{\n destination_name = \"s{i}\"\n local_bind_port = 80\n}}\n"))
        )),
    );
    add(
        "many-gateway-services",
        Either,
        whole(format!(
            "group \"g\" {{\n network {{\n mode = \"bridge\"\n }}\n service {{\n name = \"s\"\n port = \"80\"\n connect {{\n gateway {{\n ingress {{\n listener {{\n port = 1\n protocol = \"http\"\n{}\n}}\n}}\n}}\n}}\n}}\n}}\n",
            numbered(size, |i| format!("service {{\n name = \"s{i}\"\n hosts = [\"a\"]\n}}\n"))
        )),
    );
    add(
        "many-templates",
        Either,
        job_with(
            "",
            "",
            &numbered(size, |i| format!("template {{\n data = \"x\"\n destination = \"local/{i}\"\n}}\n")),
        ),
    );
    add(
        "many-same-templates",
        Either,
        job_with("", "", &fill(size, "template {\n data = \"x\"\n destination = \"local/a\"\n}\n")),
    );
    add(
        "many-artifacts",
        Either,
        job_with("", "", &numbered(size, |i| format!("artifact {{\n source = \"http://x/{i}\"\n}}\n"))),
    );
    add(
        "artifact-climbs",
        Either,
        job_with("", "", &format!("artifact {{\n source = \"a\"\n destination = \"{}\"\n}}\n", fill(size, "../"))),
    );
    add(
        "many-volumes",
        Either,
        whole(format!(
            "group \"g\" {{\n{}\n}}",
            numbered(size, |i| format!("volume \"v{i}\" {{\n type = \"host\"\n source = \"s\"\n}}\n"))
        )),
    );
    add(
        "many-mounts",
        Either,
        job_with(
            "",
            "",
            &numbered(size, |i| format!("volume_mount {{\n volume = \"v{i}\"\n destination = \"/a\"\n}}\n")),
        ),
    );
    add(
        "many-devices",
        Either,
        job_with(
            "",
            "",
            &format!("resources {{\n{}\n}}", numbered(size, |i| format!("device \"a/b/c{i}\" {{\n count = 1\n}}\n"))),
        ),
    );
    add(
        "many-identities",
        Either,
        job_with("", "", &numbered(size, |i| format!("identity {{\n name = \"a{i}\"\n aud = [\"x\"]\n}}\n"))),
    );
    add("many-same-identities", Either, job_with("", "", &fill(size, "identity {\n name = \"a\"\n}\n")));
    add(
        "many-actions",
        Either,
        job_with("", "", &numbered(size, |i| format!("action \"a{i}\" {{\n command = \"x\"\n}}\n"))),
    );
    add("many-datacenters", Either, job(&format!("datacenters = [{}]", numbered(size, |i| format!("\"dc{i}\", ")))));
    add("many-meta", Valid, job(&format!("meta {{\n{}\n}}", numbered(size, |i| format!("a{i} = \"x\"\n")))));
    add("many-env", Valid, job_with("", "", &format!("env {{\n{}\n}}", numbered(size, |i| format!("a{i} = \"x\"\n")))));
    add(
        "many-dispatch-keys",
        Either,
        job(&format!(
            "parameterized {{\n meta_required = [{}]\n meta_optional = [{}]\n}}",
            numbered(size / 2, |i| format!("\"a{i}\", ")),
            numbered(size / 2, |i| format!("\"a{i}\", "))
        )),
    );
    add(
        "many-regions",
        Either,
        job(&format!("multiregion {{\n{}\n}}", numbered(size, |i| format!("region \"r{i}\" {{\n count = 1\n}}\n")))),
    );
    add(
        "many-links",
        Either,
        job(&format!(
            "ui {{\n{}\n}}",
            numbered(size, |i| format!("link {{\n label = \"{i}\"\n url = \"http://x\"\n}}\n"))
        )),
    );
    add("long-cron", Either, job(&format!("type = \"batch\"\nperiodic {{\n crons = [\"{}\"]\n}}", fill(size, "1,"))));
    add("cron-never", Either, job("type = \"batch\"\nperiodic {\n crons = [\"0 0 31 2 *\"]\n}"));
    add(
        "many-crons",
        Either,
        job(&format!("type = \"batch\"\nperiodic {{\n crons = [{}]\n}}", fill(size, "\"0 0 31 2 *\", "))),
    );
    add(
        "durations",
        Either,
        job_with("", "", "kill_timeout = \"9999999999999999999h\"\nshutdown_delay = -9223372036854775808"),
    );
    add(
        "giant-resources",
        Either,
        job_with(
            "",
            "",
            "resources {\n cpu = 9223372036854775807\n memory = 9223372036854775807\n memory_max = -9223372036854775808\n}",
        ),
    );
    add(
        "giant-intervals",
        Either,
        whole(group(
            0,
            "restart {\n attempts = 9223372036854775807\n interval = \"1ns\"\n delay = 9223372036854775807\n}\nreschedule {\n attempts = 9223372036854775807\n interval = \"1ns\"\n delay = \"5s\"\n max_delay = \"2562047h\"\n delay_function = \"fibonacci\"\n}\nupdate {\n max_parallel = 9223372036854775807\n canary = 9223372036854775807\n}",
        )),
    );
    add(
        "numa-cores",
        Either,
        job_with("", "", "resources {\n cores = 2147483647\n numa {\n affinity = \"require\"\n }\n}"),
    );
    add(
        "scaling",
        Either,
        whole(group(
            0,
            "scaling {\n min = -9223372036854775808\n max = 9223372036854775807\n policy {\n a = 1e300\n }\n}",
        )),
    );
    add("many-config-blocks", Either, job_with("", "", &format!("config {{\n{}}}", fill(size, "a {}\n"))));
    add("config-deep", Either, job_with("", "", &format!("config {{\n a = {}{}\n}}", "[".repeat(60), "]".repeat(60))));
    add(
        "config-wide",
        Either,
        job_with("", "", "").replace("image = \"redis:7\"", &format!("image = \"x\"\n a = [{}]", fill(size, "1, "))),
    );
}

fn api(size: usize, add: &mut dyn FnMut(&'static str, Outcome, String)) {
    let whole = |inside: &str| {
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"Name\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Tasks\":[{{\"Name\":\"t\",\"Driver\":\"docker\"}}]}}],{inside}}}}}"
        )
    };
    add("api-deep-arrays", Refused, format!("{{\"Job\":{}", fill(size, "[")));
    add("api-deep-objects", Refused, fill(size, "{\"Job\":"));
    add("api-deep-meta", Either, whole(&format!("\"Meta\":{}{}", fill(size / 2, "["), fill(size / 2, "]"))));
    add(
        "api-deep-config",
        Either,
        format!(
            "{{\"TaskGroups\":[{{\"Tasks\":[{{\"Config\":{{\"a\":{}1{}}}}}]}}]}}",
            fill(size / 2, "["),
            fill(size / 2, "]")
        ),
    );
    add(
        "api-wide-config",
        Either,
        format!("{{\"ID\":\"a\",\"TaskGroups\":[{{\"Tasks\":[{{\"Config\":{{\"a\":[{}1]}}}}]}}]}}", fill(size, "1,")),
    );
    add(
        "api-config-objects",
        Either,
        format!("{{\"ID\":\"a\",\"TaskGroups\":[{{\"Tasks\":[{{\"Config\":{{\"a\":[{}1]}}}}]}}]}}", fill(size, "{},")),
    );
    add("api-unknown-names", Either, whole(&format!("{}\"z\":1", numbered(size, |i| format!("\"a{i}\":[{{}}],")))));
    add(
        "api-double-names",
        Either,
        whole(&format!("{}\"Priority\":50", fill(size, "\"Priority\":50,\"priority\":60,"))),
    );
    add(
        "api-null-groups",
        Either,
        format!("{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{}null]}}}}", fill(size, "null,")),
    );
    add("api-empty-groups", Either, format!("{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{}{{}}]}}}}", fill(size, "{},")));
    add(
        "api-empty-tasks",
        Either,
        format!("{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Tasks\":[{}{{}}]}}]}}}}", fill(size, "{},")),
    );
    add(
        "api-empty-services",
        Either,
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Services\":[{}{{}}]}}]}}}}",
            fill(size, "{},")
        ),
    );
    add("api-empty-constraints", Either, whole(&format!("\"Constraints\":[{}{{}}]", fill(size, "{},"))));
    add("api-empty-spreads", Either, whole(&format!("\"Spreads\":[{}{{}}]", fill(size, "{},"))));
    add("api-empty-affinities", Either, whole(&format!("\"Affinities\":[{}{{}}]", fill(size, "{},"))));
    add(
        "api-empty-networks",
        Either,
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Networks\":[{}{{}}]}}]}}}}",
            fill(size, "{},")
        ),
    );
    add(
        "api-empty-templates",
        Either,
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Tasks\":[{{\"Name\":\"t\",\"Templates\":[{}{{}}]}}]}}]}}}}",
            fill(size, "{},")
        ),
    );
    add(
        "api-same-tasks",
        Either,
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Tasks\":[{}{{}}]}}]}}}}",
            fill(size, "{\"Name\":\"a\"},")
        ),
    );
    add(
        "api-giant-numbers",
        Either,
        whole("\"Priority\":1e308,\"Version\":99999999999999999999999,\"CreateIndex\":-1"),
    );
    add("api-long-number", Either, whole(&format!("\"Priority\":{}", fill(size, "9"))));
    add("api-long-text", Either, whole(&format!("\"Region\":\"{}\"", fill(size, "\\u0061"))));
    add("api-surrogates", Either, whole(&format!("\"Region\":\"{}\"", fill(size, "\\ud800"))));
    add("api-giant-count", Refused, "{\"Job\":{\"ID\":\"a\",\"Name\":\"a\",\"TaskGroups\":[{\"Name\":\"g\",\"Count\":2147483648,\"Tasks\":[{\"Name\":\"t\",\"Driver\":\"docker\"}]}]}}".into());
    add("api-many-datacenters", Either, whole(&format!("\"Datacenters\":[{}\"z\"]", fill(size, "\"\","))));
    add("api-trailing", Either, whole("\"Priority\":50") + &fill(size, "]"));
    add("api-blank", Refused, fill(size, " \n"));
}

fn bytes(size: usize, add: &mut dyn FnMut(&'static str, Kind, Outcome, Vec<u8>)) {
    let around = |middle: &[u8]| [b"job \"x\" { name = \"", middle, b"\" }"].concat();
    for kind in [Hcl, Json] {
        let name = |hcl, json| if kind == Hcl { hcl } else { json };
        add(name("zero-bytes", "json-zero-bytes"), kind, Refused, vec![0; size]);
        add(name("high-bytes", "json-high-bytes"), kind, Refused, vec![0xff; size]);
        add(name("byte-order-marks", "json-byte-order-marks"), kind, Refused, "\u{feff}".repeat(size / 3).into_bytes());
        add(name("carriage-returns", "json-carriage-returns"), kind, Refused, vec![b'\r'; size]);
        add(name("blank", "json-blank"), kind, Refused, vec![b' '; size]);
        add(name("empty", "json-empty"), kind, Refused, Vec::new());
    }
    add("byte-order-mark", Hcl, Either, [b"\xef\xbb\xbf", job("").as_bytes()].concat());
    add("crlf", Hcl, Either, job(&fill(size, "# x\n")).replace('\n', "\r\n").into_bytes());
    add("zero-in-text", Hcl, Either, around(&[0]));
    add("bad-utf8-in-text", Hcl, Refused, around(&[0xc3, 0x28]));
    add("bad-utf8-at-end", Hcl, Refused, [job(&fill(size, "# x\n")).as_bytes(), b"\xf0\x9f"].concat());
    add("utf16", Hcl, Refused, job(&fill(size / 2, "# x\n")).encode_utf16().flat_map(u16::to_le_bytes).collect());
}

//! Files that hurt while expressions are evaluated: locals that double, loops in loops, `dynamic` blocks, variables.

use std::fmt::Write;

use super::Outcome::{Either, Refused, Valid};
use super::{Add, doubling, fill, job, job_with, numbered};

pub(super) fn add(size: usize, add: Add) {
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
        Either,
        with(numbered(size, |i| format!("  a{i} = local.a{}\n", i + 1)).trim_end().to_owned() + " + 1"),
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

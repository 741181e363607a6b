//! Calls of functions that make much out of little.

use super::Outcome::{Either, Refused, Valid};
use super::{Add, doubling, fill, job_with, numbered};

pub(super) fn add(size: usize, add: Add) {
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
    add("bcrypt-highest-cost", Valid, with("  n = bcrypt(\"x\", 13)".into()));
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

//! Files that hurt before anything is evaluated: nesting, long lines, many errors, long literals.

use super::Outcome::{Either, Refused, Valid};
use super::{Add, fill, job, job_with, numbered};

pub(super) fn add(size: usize, add: Add) {
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

//! The language of job files: values, error texts, limits.

use super::{ParseOptions, parse};

/// A job with one task whose `meta` block holds these lines.
fn with_meta(lines: &str) -> String {
    format!(
        "job \"j\" {{\n  group \"g\" {{\n    task \"t\" {{\n      driver = \"d\"\n      meta {{\n{lines}\n}}\n}}\n}}\n}}\n"
    )
}

fn options() -> ParseOptions {
    ParseOptions { path: "f.hcl".into(), ..ParseOptions::default() }
}

fn error(text: &str) -> String {
    parse(text.as_bytes(), &options()).err().map_or_else(|| "parsed".to_owned(), |e| e.to_string())
}

/// The value of an expression as text, or the errors.
fn value(expr: &str) -> String {
    match parse(with_meta(&format!("x = {expr}")).as_bytes(), &options()) {
        Ok(job) => {
            let groups = job.task_groups.unwrap_or_default();
            let task = groups.into_iter().flat_map(|g| g.tasks.unwrap_or_default()).next().expect("a task");
            task.meta.unwrap_or_default().remove("x").expect("x")
        }
        Err(e) => e.to_string(),
    }
}

#[test]
fn values_of_expressions() {
    for (expr, want) in [
        ("1 == \"1\"", "false"),
        ("true ? 1 : \"x\"", "1"),
        ("-5 % 3", "-2"),
        ("7 % 0", "7"),
        ("2 + 3 * 4 - 1", "13"),
        ("!true || 1 < 2 && 2 >= 2", "true"),
        ("10 - 3 - 2", "5"),
        ("([{a = 1}, {a = 2}][*].a)[1]", "2"),
        ("jsonencode([{a = [1]}, {a = [2]}][*].a[0])", "[1,2]"),
        ("jsonencode([{a = [5]}].*.a.0)", "[5]"),
        ("jsonencode([[1], [2]].*.0)", "[1,2]"),
        ("[{a = 5}].*.a[0]", "5"),
        ("join(\"\", [for k, v in {b = 1, a = 2} : \"${k}${v}\"])", "a2b1"),
        (
            "jsonencode({for s in [\"a\", \"b\", \"aa\"] : substr(s, 0, 1) => s...})",
            "{\"a\":[\"a\",\"aa\"],\"b\":[\"b\"]}",
        ),
        ("max([1, 9, 4]...)", "9"),
        ("\"%{ if 1 > 2 }a%{ else }b%{ endif }\"", "b"),
        ("\"a ${~ \"b\" ~} c\"", "abc"),
        ("\"$${x} %%{y} $$$${z}\"", "${x} %{y} $$${z}"),
        ("<<-E\n  a\n\n    b\n  E", "a\n\n  b\n"),
        ("(\n1 +\n2\n)", "3"),
        ("try(var.nope, local.nope, \"z\")", "z"),
        ("can([][0])", "false"),
        ("convert([1, 2], set(string)) == convert([2, 1], set(string))", "true"),
        ("upper(attr.x)", "${ATTR.X}"),
        ("\"${env[\"A\"]} ${ node.datacenter }\"", "${env[\"A\"]} ${ node.datacenter }"),
        ("{ (\"k\") : 1, 2 = 3 }[\"2\"]", "3"),
        ("null == null", "true"),
        ("[for i in [1, 2, 3] : i if i != 2][1]", "3"),
    ] {
        assert_eq!(value(expr), want, "{expr}");
    }
}

#[test]
fn errors_of_evaluation() {
    for (expr, want) in [
        ("[1][1]", "f.hcl:6,8-11: Invalid index"),
        ("[1].a", "f.hcl:6,8-10: Unsupported attribute"),
        ("{a = 1}.b", "f.hcl:6,12-14: Unsupported attribute"),
        ("null.a", "f.hcl:6,9-11: Attempt to get attribute from null value"),
        ("\"a${null}\"", "f.hcl:6,9-13: Invalid template interpolation value"),
        ("1 + true", "f.hcl:6,9-13: Invalid operand"),
        ("!\"a\"", "f.hcl:6,6-9: Invalid operand"),
        ("[] ? 1 : 2", "f.hcl:6,5-7: Incorrect condition type"),
        ("null ? 1 : 2", "f.hcl:6,5-9: Null condition"),
        ("true ? [] : \"a\"", "f.hcl:6,12-20: Inconsistent conditional result types"),
        ("[for a in 5 : a]", "f.hcl:6,15-16: Iteration over non-iterable value"),
        ("{for a in [1, 1] : a => a}", "f.hcl:6,24-25: Duplicate object key"),
        ("abs(\"x\")", "f.hcl:6,10-11: Invalid function argument"),
        ("abs()", "f.hcl:6,9-10: Not enough function arguments"),
        ("abs(1, 2)", "f.hcl:6,12-13: Too many function arguments"),
        ("max(5...)", "f.hcl:6,9-10: Invalid expanding argument value"),
        ("convert(1, listt)", "f.hcl:6,16-21: Invalid type specification"),
        ("file(\"x\")", "f.hcl:6,5-10: Error in function call"),
    ] {
        let got = value(expr);
        assert!(got.starts_with(want), "{expr}: {got}");
    }
}

#[test]
fn errors_of_syntax() {
    for (text, want) in [
        ("job \"j\" {\n  a = 1 b = 2\n}\n", "f.hcl:2,9-10: Missing newline after argument"),
        ("job \"j\" {\n  a =\n}\n", "f.hcl:2,6-3,1: Invalid expression"),
        ("job \"j\" {\n  a\n}\n", "f.hcl:2,3-4: Argument or block definition required"),
        ("job \"j\" {\n  \"a\" = 1\n}\n", "f.hcl:2,3-4: Invalid argument name"),
        ("job \"j\" {\n  a \"b\"\n}\n", "f.hcl:2,8-3,1: Invalid block definition"),
        ("job \"j\" {\n  a = 1\n  a = 2\n}\n", "f.hcl:3,3-4: Attribute redefined"),
        ("job \"j\" {\n  a = [1 2]\n}\n", "f.hcl:2,10-11: Missing item separator"),
        ("job \"j\" {\n  a = (1\n}\n", "f.hcl:3,1-2: Unbalanced parentheses"),
        ("job \"j\" {\n  a = {b c}\n}\n", "f.hcl:2,10-11: Missing key/value separator"),
        ("job \"j\" {\n  a = {b = 1 c = 2}\n}\n", "f.hcl:2,14-15: Missing attribute separator"),
        ("job \"j\" {\n  a = f(1 2)\n}\n", "f.hcl:2,11-12: Missing argument separator"),
        ("job \"j\" {\n  a = 1 ? 2\n}\n", "f.hcl:2,12-3,1: Missing false expression in conditional"),
        ("job \"j\" {\n  a = \"\\q\"\n}\n", "f.hcl:2,8-10: Invalid escape sequence"),
        ("job \"j\" {\n  a = 'b'\n}\n", "f.hcl:2,7-8: Invalid character"),
        ("job \"j\" {\n  a = 1;\n}\n", "f.hcl:2,8-9: Invalid character"),
        ("job \"j\" {\n  a = 1 & 2\n}\n", "f.hcl:2,9-10: Unsupported operator"),
        ("job \"j\" { a = 1, b = 2 }\n", "f.hcl:1,16-17: Invalid single-argument block definition"),
        ("job \"j\" { a \"b\" {} }\n", "f.hcl:1,11-14: Argument definition required"),
        ("job \"j\" {}}\n", "f.hcl:1,11-12: Missing newline after block definition"),
        ("}\n", "f.hcl:1,1-2: Argument or block definition required"),
        ("job \"j\" {\n  group \"g\" {\n", "f.hcl:2,13-14: Unclosed configuration block"),
        ("job \"j\" {\n  a = \"%{ if true }x\"\n}\n", "f.hcl:2,21-22: Unexpected end of template"),
        ("job \"j\" {\n  a = \"%{ nope }\"\n}\n", "f.hcl:2,11-15: Invalid template control keyword"),
        ("job \"j\" {\n  a = [for x of y : x]\n}\n", "f.hcl:2,14-16: Invalid 'for' expression"),
        ("job \"j\" {\n  a = b.\n}\n", "f.hcl:2,8-9: Invalid attribute name"),
        ("\n{}", "f.hcl:2,1-2: Argument or block definition required"),
        ("job \"\u{201c}\" {\n a = \u{201d}\n}\n", "f.hcl:2,6-7: Invalid character; \"Curly quotes\""),
    ] {
        let got = error(text);
        assert!(got.starts_with(want), "{text}: {got}");
    }
    let bad = parse(b"job \"j\" {\n  a = \"\xff\"\n}\n", &options()).unwrap_err().to_string();
    assert!(bad.starts_with("f.hcl:2,8-9: Invalid character encoding"), "{bad}");
}

#[test]
fn errors_of_structure() {
    for (text, want) in [
        ("job \"a\" {}\njob \"b\" {}\n", "f.hcl:2,1-8: Duplicate job block"),
        (
            "jobs \"a\" {}\n",
            "f.hcl:1,1-5: Unsupported block type; Blocks of type \"jobs\" are not expected here. Did you mean \"job\"?",
        ),
        (
            "job \"a\" \"b\" {}\n",
            "f.hcl:1,9-12: Extraneous label for job; Only 1 labels (name) are expected for job blocks.",
        ),
        ("job \"a\" {\n  group \"g\" {\n    scaling {}\n  }\n}\n", "f.hcl:3,13-13: Missing required argument"),
        (
            "job \"a\" {\n  dynamic \"group\" {\n    for_each = 5\n    labels = [\"x\"]\n    content {}\n  }\n}\n",
            "f.hcl:3,16-17: Invalid dynamic for_each value",
        ),
        (
            "job \"a\" {\n  dynamic \"group\" {\n    for_each = [5]\n    content {}\n  }\n}\n",
            "f.hcl:2,19-19: Missing required argument; The argument \"labels\" is required",
        ),
        (
            "job \"a\" {\n  dynamic \"group\" {\n    for_each = [5]\n    labels = []\n    content {}\n  }\n}\n",
            "f.hcl:4,14-16: Insufficient dynamic block labels",
        ),
        (
            "job \"a\" {\n  dynamic \"ui\" {\n    for_each = [5]\n    labels = []\n    content {}\n  }\n}\n",
            "f.hcl:4,5-11: Unsupported argument",
        ),
        (
            "job \"a\" {\n  dynamic \"ui\" {\n    for_each = [5]\n    iterator = \"x\"\n    content {}\n  }\n}\n",
            "f.hcl:4,16-19: Invalid expression",
        ),
        ("job \"a\" {\n  dynamic {\n    content {}\n  }\n}\n", "f.hcl:2,11-12: Missing type for dynamic"),
        (
            "job \"a\" {\n  dynamic \"grp\" {\n    for_each = [5]\n    content {}\n  }\n}\n",
            "f.hcl:2,11-16: Unsupported block type",
        ),
        (
            "job \"a\" {\n  affinity {\n    weight = \"x\"\n  }\n}\n",
            "f.hcl:3,14-17: Incorrect attribute value type; Inappropriate value for attribute \"weight\": a number is required.",
        ),
        (
            "job \"a\" {\n  group \"g\" {\n    shutdown_delay = null\n  }\n}\n",
            "f.hcl:3,22-26: Unsuitable value; Unsuitable duration value: nil",
        ),
        (
            "job \"a\" {\n  group \"g\" {\n    task \"t\" {\n      driver = null\n    }\n  }\n}\n",
            "f.hcl:4,16-20: Unsuitable value type; Unsuitable value: null value is not allowed",
        ),
        (
            "variable \"v\" {\n  type = any\n}\njob \"a\" {}\n",
            "f.hcl:2,10-13: Invalid type specification; The keyword \"any\"",
        ),
        ("variable \"v\" {\n  default = var.w\n}\njob \"a\" {}\n", "f.hcl:2,13-16: Variables not allowed"),
        ("variable \"v\" {\n  default = upper(\"x\")\n}\njob \"a\" {}\n", "f.hcl:2,13-23: Function calls not allowed"),
        (
            "variable \"v\" {\n  default = 1\n  validation {\n    condition = 1 == 1\n    error_message = \"x\"\n  }\n}\njob \"a\" {}\n",
            "f.hcl:4,17-23: Invalid variable validation condition",
        ),
        ("locals {\n  a = 1\n  a = 2\n}\njob \"a\" {}\n", "f.hcl:3,3-4: Attribute redefined"),
        (
            "job \"a\" {\n  dynamic \"ui\" {\n    for_each = [1, 2]\n    content {}\n  }\n}\n",
            "f.hcl:2,3-15: Duplicate ui block; Only one ui block is allowed. Another was defined at f.hcl:2,3-15.",
        ),
    ] {
        let got = error(text);
        assert!(got.starts_with(want), "{text}: {got}");
    }
}

#[test]
fn errors_of_variables_and_locals_are_told_together() {
    let got = error("variable \"v\" {}\nlocals {\n  a = local.b\n}\njob \"a\" {}\n");
    let summaries: Vec<&str> = got.lines().map(|line| line.split(';').next().unwrap_or_default()).collect();
    assert_eq!(summaries, ["<nil>: Unset variable \"v\"", "f.hcl:3,12-14: Unsupported attribute"]);
}

/// Templates of JSON documents start with their quote.
#[test]
fn errors_of_json_templates_point_to_the_string() {
    let got = error("{\"job\": {\"a\": {\"priority\": \"x${1}\"}}}");
    assert!(got.starts_with("f.hcl:1,28-35: Unsuitable value type"), "{got}");
}

#[test]
fn free_form_errors_come_last_and_are_counted() {
    let task = "driver = \"d\"\n config {\n a = var.x\n b = var.y\n }\n";
    let job = format!("job \"a\" {{\n group \"g\" {{\n task \"t\" {{\n {task} }}\n }}\n}}\n");
    let got = error(&job);
    assert_eq!(
        got,
        "f.hcl:6,9-11: Unsupported attribute; This object does not have an attribute named \"x\"., and 3 other diagnostic(s)"
    );
    let got = error(&job.replace("driver", "drivr"));
    assert!(got.starts_with("f.hcl:4,2-7: Unsupported argument") && !got.contains("other diagnostic"), "{got}");
}

#[test]
fn short_declarations_have_the_type_of_their_default() {
    let text = "variables {\n  region = \"eu\"\n  list = [\"a\"]\n}\njob \"j\" {\n  region = var.region\n  datacenters = \
                var.list\n}\n";
    let read = |vars: &[&str]| {
        let opts = ParseOptions { vars: vars.iter().map(|v| v.to_string()).collect(), ..options() };
        parse(text.as_bytes(), &opts).map(|j| (j.region.unwrap_or_default(), j.datacenters.unwrap_or_default()))
    };
    assert_eq!(read(&[]).unwrap(), ("eu".to_owned(), vec!["a".to_owned()]));
    assert_eq!(read(&["region=us", "list=[\"b\"]"]).unwrap(), ("us".to_owned(), vec!["b".to_owned()]));
    let error = read(&["list=[\"b\", \"c\"]"]).unwrap_err().to_string();
    assert!(error.contains("is not compatible with the variable's type constraint: tuple required"), "{error}");
    let twice = self::error("variable \"a\" { default = 1 }\nvariables {\n  a = 2\n}\njob \"j\" {}\n");
    assert_eq!(twice, "<nil>: Duplicate variable; Duplicate a variable definition found.");
}

#[test]
fn variable_files_hold_attributes_in_either_syntax() {
    let text = "variable \"v\" {\n  type = string\n}\njob \"j\" {\n  region = var.v\n}\n";
    let read = |content: &str| {
        let opts = ParseOptions { var_content: content.to_owned(), ..options() };
        parse(text.as_bytes(), &opts).map_or_else(|e| e.to_string(), |j| j.region.unwrap_or_default())
    };
    assert_eq!(read("v = \"native\""), "native");
    assert_eq!(read("{\"v\": \"json\", \"//\": \"a comment\"}"), "json");
    assert!(read("v = \"a\"\njob \"x\" {}\n").contains("Unexpected \"job\" block; Blocks are not allowed here."));
    assert!(read("v = upper(\"a\")\n").contains("Function calls not allowed"));
    assert!(read("v = local.x\n").contains("Variables not allowed"));
}

#[test]
fn validation_rules_answer_true_or_false() {
    let with = |condition: &str, message: &str| {
        error(&format!(
            "variable \"v\" {{\n  default = 1\n  validation {{\n    condition = {condition}\n    error_message = {message}\n  }}\n}}\n\
             job \"j\" {{}}\n"
        ))
    };
    for (condition, message, want) in [
        ("var.v == 1", "\"no\"", "parsed"),
        ("[for x in [var.v] : x == 1][0]", "\"no\"", "parsed"),
        ("var.v == 2", "\"no\"", "f.hcl:2,13-14: Invalid value for default variable; no\n\nThis was checked by the"),
        (
            "var.v == 1 ? null : true",
            "\"no\"",
            "f.hcl:4,17-41: Invalid variable validation result; Validation condition",
        ),
        ("var.v", "\"no\"", "f.hcl:4,17-22: Invalid variable validation result; Invalid validation condition result"),
        ("true", "\"no\"", "f.hcl:4,17-21: Invalid variable validation condition;"),
        ("var.v == var.w", "\"no\"", "f.hcl:4,26-31: Invalid reference in variable validation;"),
        ("var.v == 1", "\" \"", "f.hcl:5,21-24: Invalid validation error message;"),
        ("var.v == 1", "[]", "f.hcl:5,21-22: Unsuitable value type;"),
    ] {
        let got = with(condition, message);
        assert!(got.starts_with(want), "{condition}: {got}");
    }
}

#[test]
fn assignments_by_precedence() {
    let text = "variable \"v\" {\n  type = string\n  default = \"default\"\n}\njob \"j\" {\n  region = var.v\n}\n";
    let region = |opts: &ParseOptions| parse(text.as_bytes(), opts).map(|j| j.region.unwrap_or_default());
    let mut opts = options();
    assert_eq!(region(&opts).unwrap(), "default");
    opts.env = vec![("NOMAD_VAR_v".into(), "env".into()), ("NOMAD_VAR_unknown".into(), "x".into())];
    assert_eq!(region(&opts).unwrap(), "env");
    opts.var_content = "v = \"content\"\n".into();
    assert_eq!(region(&opts).unwrap(), "content");
    opts.vars = vec!["v=first".into(), "no equals sign".into(), "v=second".into()];
    assert_eq!(region(&opts).unwrap(), "second");
    opts.vars.push("w=1".into());
    assert!(region(&opts).unwrap_err().to_string().starts_with("<nil>: Undefined -var variable"));
    opts.strict = false;
    assert_eq!(region(&opts).unwrap(), "second");
    opts.var_content = "v = \n".into();
    let got = region(&opts).unwrap_err().to_string();
    assert!(got.starts_with("unable to parse var content: f.hcl:1,5-2,1: Invalid expression"), "{got}");
}

/// Inputs made to exhaust a parser end quickly, with an error.
#[test]
fn hostile_inputs_end_in_errors() {
    let many = |open: &str, close: &str, n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
    for expr in [
        many("(", ")", 10_000),
        many("[", "]", 10_000),
        many("{a=", "}", 10_000),
        many("\"${", "}\"", 10_000),
        many("f(", ")", 10_000),
        "!".repeat(100_000),
        "-".repeat(100_000),
        "true ? 1 : ".repeat(10_000),
        format!("a{}", "[b]".repeat(10_000)),
        format!("a{}", "[*]".repeat(10_000)),
        format!("\"{}\"", "%{ if true }".repeat(10_000)),
    ] {
        let got = value(&expr);
        assert!(got.contains("Nesting too deep") || got.contains("Missing") || got.contains("Invalid"), "{got:.300}");
    }
    assert!(error(&"a {\n".repeat(10_000)).contains("Nesting too deep"));
    let json = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    assert!(error(&json).contains("Nesting too deep"));
    // Nesting just below the limit is read and evaluated, also on a small stack.
    for (open, close) in
        [("(", ")"), ("[", "][0]"), ("\"${", "}\""), ("abs(", ")"), ("-", ""), ("{a=", "}.a"), ("try(", ")")]
    {
        let got = value(&format!("{}1{}", open.repeat(30), close.repeat(30)));
        assert_eq!(got, "1", "{open}");
    }
    // Long but flat expressions are fine.
    assert_eq!(value(&format!("1{}", " + 1".repeat(5_000))), "5001");

    let doubling: String =
        (1..100).map(|i| format!("  l{i} = \"${{local.l{}}}${{local.l{}}}\"\n", i - 1, i - 1)).collect();
    let job = format!("locals {{\n  l0 = \"xxxxxxxx\"\n{doubling}}}\njob \"j\" {{\n  name = local.l99\n}}\n");
    let got = error(&job);
    assert!(got.contains("Value too large") || got.contains("Evaluation limit exceeded"), "{got:.300}");

    let nested = (0..12).fold("1".to_owned(), |inner, _| format!("[for i in range(1000) : {inner}]"));
    assert!(value(&nested).contains("Evaluation limit exceeded"));
    let generated = "dynamic \"group\" {\n for_each = range(1000)\n labels = [\"g\"]\n content {\n dynamic \"task\" {\n for_each = \
                     range(1000)\n labels = [\"t\"]\n content {}\n }\n }\n }\n";
    assert!(error(&format!("job \"j\" {{\n {generated} }}\n")).contains("Too many blocks"));
}

/// No cut or changed file makes the parser panic.
#[test]
fn broken_files_do_not_panic() {
    let file = "variable \"v\" {\n type = list(object({ a = number }))\n default = [{ a = 1 }]\n validation {\n condition = \
                length([for x in var.v : x]) > 0\n error_message = \"no\"\n }\n}\nlocals { z = \"é${var.v[*].a[0]}\" }\njob \"j\" {\n \
                dynamic \"group\" {\n for_each = { a = 1 }\n labels = [group.key]\n content {\n task \"t\" {\n config {\n a = \
                <<-EOF\n  x ${attr.x}\n  %{ for i in [1] ~}\n y\n %{ endfor }\n EOF\n b \"c\" { d = try(-1.5e3, null) }\n }\n }\n }\n \
                }\n}\n";
    let _ = parse(file.as_bytes(), &options());
    let bytes = file.as_bytes();
    for at in 0..bytes.len() {
        let _ = parse(&bytes[..at], &options());
        for byte in [b'"', b'{', b'}', b'$', b'\n', 0xff] {
            let mut changed = bytes.to_vec();
            changed[at] = byte;
            let _ = parse(&changed, &options());
        }
    }
}

use super::*;
use encamp_model::{Allocation, Evaluation, Node};

fn node() -> Node {
    serde_json::from_value(serde_json::json!({
        "ID": "id", "Name": "node-1", "Status": "ready", "ModifyIndex": 10, "NodeClass": "",
        "Meta": {"rack": "r1", "a/b": "c"}, "Attributes": {"kernel.name": "linux"},
        "Events": [{"Message": "registered", "Subsystem": "Cluster"}, {"Message": "later", "Subsystem": "Drain"}],
        "Drivers": {"raw_exec": {"Healthy": true}}, "NodeResources": {"Cpu": {"TotalCpuCores": 2}},
    }))
    .expect("a node")
}

/// A filter has no result for an object.
#[derive(Debug, thiserror::Error)]
enum FilterError {
    #[error("parse {0}")]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Match(#[from] MatchError),
}

fn ask<T: Serialize>(ty: &str, object: &T, text: &str) -> Result<bool, FilterError> {
    Ok(Filter::parse(text)?.matches(ty, object)?)
}

#[test]
fn expressions_of_a_node() {
    let node = node();
    for (text, want) in [
        (r#"Name == "node-1""#, true),
        ("Name==`node-1`", true),
        ("  Status == ready  ", true),
        (r#"Status != "ready" or Name == "node-1" and not Status == down"#, true),
        (r#"not (Status == ready or Status == down)"#, false),
        (r#"Name contains "ode""#, true),
        (r#""ode" in Name"#, true),
        (r#""zz" not in Name"#, true),
        (r#"Name not contains "ode""#, false),
        (r#"Name matches "^node-[0-9]+$""#, true),
        (r#"Name not matches "^x""#, true),
        (r#"Meta.rack == "r1" and Meta["a/b"] == c"#, true),
        (r#""/Attributes/kernel.name" == "linux""#, true),
        (r#""/Meta/a~1b" == "c""#, true),
        (r#""rack" in Meta and "no" not in Meta"#, true),
        (r#"Meta.nope == "x" or "x" in Meta.nope or Meta.nope is not empty or Meta.nope is not nil"#, false),
        (r#"Meta.nope != "x" and Meta.nope is empty and Meta.nope is nil and Meta.nope not matches "x""#, true),
        ("Meta is not empty and NodeClass is empty and Links is empty and Links is nil", true),
        ("DrainStrategy is nil and NodeResources is not nil", true),
        (r#"any Events as e { e.Subsystem == "Drain" }"#, true),
        (r#"all Events as e { e.Message != "" }"#, true),
        (r#"all Events as i, e { i != 1 or e.Subsystem == "Drain" }"#, true),
        (r#"any Drivers as d { d == "raw_exec" }"#, true),
        (r#"any Drivers as _, d { d.Healthy == true }"#, true),
        (r#"Status == down or any Drivers as d { d == "raw_exec" }"#, true),
        (r#"(any Meta.nope as d { d == "x" }) or (all Meta.nope as d { d == "x" })"#, true),
        ("Drivers.raw_exec.Healthy == true", true),
        ("NodeResources.Cpu.TotalCpuCores != 0", true),
        (r#"ModifyIndex == "0xa""#, true),
        (r#"Events.0.Message == registered and "/Events/1/Message" == later"#, true),
    ] {
        assert_eq!(ask("Node", &node, text).unwrap(), want, "{text}");
    }
}

#[test]
fn fields_that_are_left_out_are_there() {
    let alloc = Allocation { id: "a".into(), ..Default::default() };
    let text = r#"DeploymentID == "" and DeploymentStatus is nil and Job is nil and DesiredTransition.Migrate is nil"#;
    assert!(ask("Allocation", &alloc, text).unwrap());
    let eval = Evaluation { priority: 50, ..Default::default() };
    assert!(ask("Evaluation", &eval, "Priority == 50 and Wait == 0 and FailedTGAllocs is empty").unwrap());
    let error = ask("Allocation", &alloc, "Job.ID == x").unwrap_err().to_string();
    assert!(error.starts_with("error finding value in datum: /Job/ID at part 1: "), "{error}");
    let error = ask("Allocation", &alloc, "DesiredTransition.Migrate == true").unwrap_err();
    assert_eq!(error.to_string(), "unable to find suitable primitive comparison function for matching");
}

#[test]
fn texts_of_refusals() {
    let node = node();
    let number = r#"parse 1:17 (16): rule "number": Invalid number literal"#;
    for (text, want) in [
        ("Name == node-1", r#"parse 1:13 (12): no match found, expected: ".", "[", [ \t\r\n], [a-zA-Z0-9_/] or EOF"#),
        ("ModifyIndex != 0x0", number),
        ("ModifyIndex == 1x", number),
        (
            "ModifyIndex > 3",
            r#"parse 1:13 (12): no match found, expected: "!=", "==", "contains", "in", "is", "matches", "not" or [ \t\r\n]"#,
        ),
        ("Name ==", r#"parse 1:8 (7): no match found, expected: "-", "0", "\"", "`", [ \t\r\n], [1-9] or [a-zA-Z]"#),
        (r#"(Name == "node-1""#, r#"parse 1:18 (17): rule "grouping": Unmatched parentheses"#),
        (r#"Name == "node"#, r#"parse 1:14 (13): rule "string": Unterminated string literal"#),
        ("Attributes[kernel] == 1", r#"parse 1:12 (11): rule "index": Invalid index"#),
        (
            r#"Status == ready AND Name == "node-1""#,
            r#"parse 1:17 (16): no match found, expected: "and", "or", [ \t\r\n] or EOF"#,
        ),
        (
            r#"ModifyIndex == "x""#,
            r#"error getting match value in expression: strconv.ParseUint: parsing "x": invalid syntax"#,
        ),
        (
            "Drivers.raw_exec.Healthy == maybe",
            r#"error getting match value in expression: strconv.ParseBool: parsing "maybe": invalid syntax"#,
        ),
        (
            r#"Foo == "x""#,
            r#"error finding value in datum: /Foo at part 0: couldn't find key: struct field with name "Foo""#,
        ),
        (
            "SecretID == x",
            "error finding value in datum: /SecretID at part 0: couldn't find key: struct field with name \"SecretID\"",
        ),
        (
            r#"Name matches "(""#,
            "failed to compile regular expression \"(\": error parsing regexp: missing closing ): `(`",
        ),
        ("ModifyIndex is empty", r#"cannot perform is-empty operations on type uint64 for selector: "ModifyIndex""#),
        ("1 in ModifyIndex", r#"cannot perform in/contains operations on type uint64 for selector: "ModifyIndex""#),
        (r#"NodeResources == "x""#, "unable to find suitable primitive comparison function for matching"),
    ] {
        assert_eq!(ask("Node", &node, text).unwrap_err().to_string(), want, "{text}");
    }
    for text in [
        "{ x == 1}",
        "any Events as e { e.Message == 1}",
        "Name is",
        "Name == \"\\q\"",
        "",
        "not any Meta as m { m == a }",
    ] {
        assert!(Filter::parse(text).is_err(), "{text}");
    }
    assert!(Filter::parse("(any Meta as m { m == a }) and Name == x").is_ok());
}

#[test]
fn hostile_expressions_end() {
    let deep = format!("{}Name == x{}", "(".repeat(5000), ")".repeat(5000));
    assert!(Filter::parse(&deep).unwrap_err().to_string().contains("nested too deeply"));
    assert!(Filter::parse(&"not ".repeat(100_000)).is_err());
    let long = vec!["Name == x"; 2000].join(" or ");
    assert!(Filter::parse(&long).is_err());
    let wide = vec!["Name == x"; 40].join(" or ");
    assert!(Filter::parse(&format!("({wide}) and ({wide})")).is_ok());
}

use super::outline::{Outline, Syntax};
use super::{Finding, Severity, parse_error, parse_json_error, validation};
use crate::parse::{ParseOptions, parse, parse_json};

/// The only finding of a job file with a mistake that the parser sees.
fn parsed(text: &str) -> Finding {
    let error = parse(text.as_bytes(), &ParseOptions { path: "f.hcl".into(), ..ParseOptions::default() }).unwrap_err();
    let mut findings = parse_error(&error);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

fn place(f: &Finding) -> String {
    let place = f.place.as_ref().expect("a place");
    let indent = place.range.start_column - 1;
    let line: String = place.line.as_deref().unwrap_or("").chars().skip(indent).collect();
    format!("{}: {}", place.range.start_line, line)
}

/// A job of one group with this inside of its task.
fn task(inside: &str) -> String {
    format!("job \"j\" {{\n  group \"g\" {{\n    task \"t\" {{\n      {inside}\n    }}\n  }}\n}}\n")
}

#[test]
fn parse_errors_say_what_was_meant() {
    for (inside, message, help) in [
        ("drivr = \"docker\"", "unknown attribute \"drivr\" in a task block", "did you mean \"driver\"?"),
        ("resorces {}", "unknown block \"resorces\" in a task block", "did you mean \"resources\"?"),
        (
            "resources {\n memory = \"512MB\"\n}",
            "memory takes a whole number, not the string \"512MB\"",
            "memory is a number of MB: write memory = 512",
        ),
        (
            "kill_timeout = \"10\"",
            "kill_timeout takes a duration such as \"30s\", not the string \"10\"",
            "a duration needs a unit: write kill_timeout = \"10s\"",
        ),
        ("env { X = local.nme }", "there is no local \"nme\"", "define it outside of the job: locals { nme = … }"),
        ("user = uper(\"x\")", "there is no function \"uper\"", "did you mean upper(…)?"),
        (
            "affinity {\n weight = \"x\"\n}",
            "weight takes a whole number, not the string \"x\"",
            "write weight = … with",
        ),
        ("lifecycle {}", "the lifecycle block needs \"hook\"", "add hook = \"prestart\""),
        ("action { command = \"x\" }", "an action block needs a name", "write action \"NAME\" { … }"),
    ] {
        let f = parsed(&task(inside));
        assert_eq!(f.message, message);
        assert!(f.suggestion.as_deref().unwrap_or("").starts_with(help), "{f:#?}");
        assert_eq!(f.block_path.get(..3).unwrap(), ["job \"j\"", "group \"g\"", "task \"t\""]);
    }
}

#[test]
fn duplicates_show_both_places() {
    let f = parsed(&task("resources {}\n      resources {}"));
    assert_eq!(place(&f), "5: resources {}");
    assert_eq!(f.related.unwrap().0.range.start_line, 4);
}

#[test]
fn circles_of_locals_are_named() {
    let f = parsed("locals {\n  a = local.b\n  b = \"${local.c}x\"\n  c = local.a\n}\njob \"j\" {}\n");
    assert_eq!(f.message, "these locals depend on each other in a cycle: local.a -> local.b -> local.c -> local.a");
}

#[test]
fn unset_variables_show_their_declaration() {
    let f = parsed("variable \"v\" {\n  type = string\n}\njob \"j\" {}\n");
    assert_eq!(place(&f), "1: variable \"v\" {");
    assert!(f.suggestion.unwrap().starts_with("give -var v=…"));
}

#[test]
fn json_jobs_are_explained() {
    let explain = |text: &str| parse_json_error("f.json", text, &parse_json(text.as_bytes()).unwrap_err());
    let f = explain("{\n  \"ID\": \"x\",\n}\n");
    assert_eq!(place(&f), "2: ,");
    assert!(f.suggestion.unwrap().starts_with("JSON does not permit a trailing comma"));
    let f = explain(
        "{\"Job\": {\"ID\": \"x\",\n \"TaskGroups\": [{\"Name\": \"g\", \"Count\": 1}, {\"Name\": \"h\",\n \"Count\": \"2\"}]}}",
    );
    assert_eq!(place(&f), "3: \"2\"}]}}");
    assert_eq!(f.message, "Count takes a whole number, not a string");
    assert_eq!(f.block_path, ["job \"x\"", "group \"h\""]);
    assert_eq!(f.suggestion.unwrap(), "write the number without quotes: \"Count\": 2");
}

#[test]
fn validation_errors_find_their_place() {
    let text = "job \"j\" {\n  type = \"servce\"\n  group \"a\" {}\n  group \"g\" {\n    restart {\n      interval = 30\n    }\n    \
                network {\n      port \"http\" {\n        static = 99999\n      }\n    }\n    constraint {\n      operator = \
                \"regex\"\n    }\n    task \"t\" {\n      resources {\n        memory = 2\n      }\n    }\n  }\n  group \"g\" {}\n}\n";
    let outline = Outline::read("f.hcl", text, Syntax::Hcl);
    for (item, at, help) in [
        ("Invalid job type: \"servce\"", "2: \"servce\"", "did you mean \"service\"?"),
        ("Job task group 3 redefines 'g' from group 2", "22: group \"g\" {}", "names are unique"),
        (
            "Task group g validation failed: 1 error occurred:\n\t* Interval can not be less than 5s (got 30ns)\n\n",
            "6: interval = 30",
            "a number without a unit is nanoseconds: write interval = \"30s\"",
        ),
        (
            "Task group g validation failed: 1 error occurred:\n\t* Task group network validation failed: 1 error \
             occurred:\n\t* Port http (99999) cannot be greater than 65535\n\n\n\n",
            "10: static = 99999",
            "ports range from 1 to 65535",
        ),
        (
            "Task group g validation failed: 1 error occurred:\n\t* Constraint 1 validation failed: 1 error \
             occurred:\n\t* Unknown constraint type \"regex\"\n\n\n\n",
            "14: \"regex\"",
            "did you mean \"regexp\"?",
        ),
        (
            "Task group g validation failed: 1 error occurred:\n\t* Task t validation failed: 1 error occurred:\n\t* 1 error \
             occurred:\n\t* minimum MemoryMB value is 10; got 2\n\n\n\n\n\n",
            "18: memory = 2",
            "memory is a number of MB",
        ),
        (
            "connect sidecar: must have exactly one network for Consul Connect: group \"a\" has 0 networks",
            "3: group \"a\" {}",
            "add network",
        ),
    ] {
        let findings = validation(&outline, &[item.to_owned()], Severity::Error);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!(place(&findings[0]), at, "{item}");
        assert!(findings[0].suggestion.as_deref().unwrap_or("").starts_with(help), "{findings:#?}");
    }
    let item = "Job task group 3 redefines 'g' from group 2".to_owned();
    let findings = validation(&outline, &[item], Severity::Error);
    assert_eq!(findings[0].related.as_ref().unwrap().0.range.start_line, 4);
}

/// Files cut off or damaged anywhere are explained without a panic, and places lie inside of the file.
#[test]
fn damaged_files_are_explained() {
    let text = "variable \"v\" {}\nlocals {\n  a = local.b\n}\njob \"j\" {\n  meta = { é = \"${var.v}\" }\n  group \"g\" {\n    dynamic \"service\" \
                {\n      for_each = [1]\n      content { name = \"日本\" }\n    }\n    task \"t\" {\n      config { x = <<E\n${f(1)}\nE\n }\n    }\n  }\n}\n";
    let json = "{\"job\": {\"j\": {\"group\": {\"g\": {\"count\": \"${local.x}\", \"tsk\": [{}]}}}}}";
    let lines = |text: &str| text.split('\n').count();
    for whole in [text, json] {
        for (at, c) in whole.char_indices() {
            let (head, tail) = whole.split_at(at);
            for damaged in [head.to_owned(), format!("{head}{}", &tail[c.len_utf8()..]), format!("{head}\"{tail}")] {
                let options = ParseOptions { path: "f.hcl".into(), ..ParseOptions::default() };
                let findings = parse(damaged.as_bytes(), &options).err().map(|e| parse_error(&e)).unwrap_or_default();
                let api = parse_json(damaged.as_bytes()).err().map(|e| parse_json_error("f", &damaged, &e));
                for f in findings.into_iter().chain(api) {
                    assert!(f.place.is_none_or(|p| p.range.start_line <= lines(&damaged)), "{damaged}");
                }
            }
        }
    }
}

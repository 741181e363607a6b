//! The schema of jobs in JSON: `encamp job schema`.

use super::client::list;
use super::root;
use crate::program::run_in;
use serde_json::{Value, json};

/// The schema of job files in JSON accepts the jobs of the repository, and refuses mistakes of a person who writes one.
#[test]
fn the_schema_tells_right_job_files_from_wrong_ones() {
    let ran = run_in(&root(), &["job", "schema"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let schema: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let mut right = 0;
    for entry in std::fs::read_dir(root().join("tests/oracle/jobspec")).expect("the jobs") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !(name.ends_with(".raw.json") || name.ends_with(".parsed.json")) {
            continue;
        }
        let job: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("a job")).expect("JSON");
        let wrapped = json!({"Job": job});
        for document in [&job, &wrapped] {
            assert_eq!(refused(&schema, &schema, document), None, "{name}");
        }
        right += 1;
    }
    assert!(right > 200, "{right}");
    let mut wrong = 0;
    let job = json!({"ID": "j", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "docker"}]}]});
    assert_eq!(refused(&schema, &schema, &job), None);
    let mut check = |path: &str, value: Value| {
        let mut changed = job.clone();
        let (parent, name) = path.rsplit_once('/').expect("a path");
        let parent = changed.pointer_mut(parent).unwrap_or_else(|| panic!("{path}"));
        parent[name] = value;
        assert!(refused(&schema, &schema, &changed).is_some(), "{path} is accepted: {changed}");
        wrong += 1;
    };
    let (text, number, list, object) = (json!("x"), json!(1.5), json!(["x"]), json!({"X": 1}));
    for name in ["Priority", "Version", "JobModifyIndex", "SubmitTime"] {
        check(&format!("/{name}"), text.clone());
        check(&format!("/{name}"), number.clone());
    }
    for name in ["ID", "Name", "Region", "Namespace", "Type", "NodePool"] {
        check(&format!("/{name}"), number.clone());
        check(&format!("/{name}"), list.clone());
    }
    for name in ["Constraints", "Affinities", "Spreads", "Datacenters"] {
        check(&format!("/{name}"), object.clone());
        check(&format!("/{name}"), json!([1]));
    }
    for name in ["Update", "Periodic", "Reschedule", "Migrate", "Meta", "Multiregion"] {
        check(&format!("/{name}"), json!(true));
        check(&format!("/{name}"), object.clone());
    }
    let (group, task) = ("/TaskGroups/0", "/TaskGroups/0/Tasks/0");
    for (name, value) in [
        ("Count", &text),
        ("Cuont", &json!(1)),
        ("Networks", &object),
        ("Services", &text),
        ("RestartPolicy", &object),
        ("ShutdownDelay", &text),
        ("MaxRunDuration", &json!("5 min")),
        ("EphemeralDisk", &json!({"SizeMB": "1GB"})),
    ] {
        check(&format!("{group}/{name}"), value.clone());
    }
    for (name, value) in [
        ("Driver", &json!(3)),
        ("Drivr", &text),
        ("KillTimeout", &json!("10")),
        ("Resources", &json!({"CPU": "100"})),
        ("Resources", &json!({"Memory": 100})),
        ("Env", &json!(["A=1"])),
        ("Templates", &object),
        ("Leader", &json!("yes")),
        ("Lifecycle", &json!({"Sidecar": "no"})),
    ] {
        check(&format!("{task}/{name}"), value.clone());
    }
    assert!(wrong >= 50, "{wrong}");
}

/// Why a value does not follow a schema: the place. Knows the keywords that the schema uses.
fn refused(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let definition = &root["$defs"][name.trim_start_matches("#/$defs/")];
        assert!(definition.is_object(), "{name}");
        return refused(root, definition, value);
    }
    for keyword in schema.as_object().into_iter().flatten().map(|(keyword, _)| keyword.as_str()) {
        let known = [
            "$schema",
            "$defs",
            "title",
            "description",
            "type",
            "properties",
            "additionalProperties",
            "items",
            "anyOf",
            "if",
            "then",
            "else",
            "required",
            "format",
            "pattern",
            "minimum",
            "maximum",
        ];
        assert!(known.contains(&keyword), "{keyword}: {schema}");
    }
    if schema.get("if").is_some() {
        let branch = if refused(root, &schema["if"], value).is_none() { "then" } else { "else" };
        return refused(root, &schema[branch], value);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let all: Option<Vec<String>> = any.iter().map(|s| refused(root, s, value)).collect();
        return all.map(|reasons| reasons.join(" and "));
    }
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    };
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::String(one) => is(one),
        many => list(many).iter().filter_map(Value::as_str).any(is),
    };
    if !fits {
        return Some(format!("{value} is no {}", schema["type"]));
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
        let found = regex::Regex::new(pattern).expect("a pattern").is_match(text);
        return (!found).then(|| format!("{text} does not match"));
    }
    if let Some(least) = schema["minimum"].as_f64().filter(|least| value.as_f64().is_some_and(|v| v < *least)) {
        return Some(format!("{value} is less than {least}"));
    }
    let missing = list(&schema["required"]).iter().filter_map(Value::as_str).find(|name| value.get(name).is_none());
    if let Some(name) = missing.filter(|_| value.is_object()) {
        return Some(format!("{name} is missing"));
    }
    for item in list(value) {
        if let Some(why) = schema.get("items").and_then(|s| refused(root, s, item)) {
            return Some(why);
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        match known {
            None => {}
            Some(Value::Bool(true)) => {}
            Some(Value::Bool(false)) => return Some(format!("{name} is unknown")),
            Some(inner) => {
                if let Some(why) = refused(root, inner, member) {
                    return Some(format!("{name}: {why}"));
                }
            }
        }
    }
    None
}

//! Answers of the API as `-json` and `-t` show them (`docs/spec/cli.md §3.6`): members that servers leave out are
//! there, those that only servers know are not.

use serde_json::{Value, json};

/// An evaluation.
pub fn evaluation(mut value: Value) -> Value {
    super::json::complete_evaluation(&mut value);
    for path in ["*/ScoreMetaData/*/NormScore", "*/ScoreMetaData/*/Scores/*", "*/Scores/*"] {
        visit(&mut value, &format!("FailedTGAllocs/{path}"), &mut fraction);
    }
    visit(&mut value, "PlanAnnotations/PreemptedAllocs/*", &mut without_members_of_servers);
    value
}

/// Writes a number with a fraction.
fn fraction(value: &mut Value) {
    if let Some(number) = value.as_f64() {
        *value = json!(number);
    }
}

/// An allocation as lists show it.
pub fn allocation_stub(mut value: Value) -> Value {
    without_members_of_servers(&mut value);
    value
}

fn without_members_of_servers(allocation: &mut Value) {
    remove(allocation, "", "DesiredTransition", |_| true);
    remove(allocation, "", "AllocatedResources", Value::is_null);
    remove(allocation, "TaskStates/*", "Paused", |_| true);
}

/// A deployment; null stays null.
pub fn deployment(mut value: Value) -> Value {
    remove(&mut value, "", "EvalPriority", |_| true);
    remove(&mut value, "TaskGroups/*", "AutoPromote", |_| true);
    value
}

/// A list of objects of one kind.
pub fn list(values: Vec<Value>, one: fn(Value) -> Value) -> Value {
    values.into_iter().map(one).collect()
}

/// Removes a member of the objects at a path, where its value is so.
fn remove(value: &mut Value, path: &str, member: &str, when: fn(&Value) -> bool) {
    visit(value, path, &mut |object| {
        if let Value::Object(members) = object {
            members.retain(|name, value| name != member || !when(value));
        }
    });
}

/// Changes the values at a path: names of members, or `*` for each element or member. The empty path is the value itself.
fn visit(value: &mut Value, path: &str, change: &mut dyn FnMut(&mut Value)) {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    match (first, value) {
        ("", value) => change(value),
        ("*", Value::Array(elements)) => elements.iter_mut().for_each(|element| visit(element, rest, change)),
        ("*", Value::Object(members)) => members.values_mut().for_each(|member| visit(member, rest, change)),
        (name, value) => value.get_mut(name).into_iter().for_each(|member| visit(member, rest, change)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_completed_and_those_of_servers_left_out() {
        let eval = evaluation(json!({
            "ID": "x",
            "LeaderACL": "secret",
            "FailedTGAllocs": {"g": {"ScoreMetaData": [{"NormScore": 1, "Scores": {"binpack": 0}}]}},
        }));
        assert_eq!(eval["BlockedEval"], "");
        assert_eq!(eval.get("LeaderACL"), None);
        assert_eq!(
            eval["FailedTGAllocs"]["g"].to_string(),
            r#"{"ScoreMetaData":[{"NormScore":1.0,"Scores":{"binpack":0.0}}]}"#
        );
        let d = deployment(json!({"EvalPriority": 50, "TaskGroups": {"g": {"AutoPromote": false, "Promoted": true}}}));
        assert_eq!(d, json!({"TaskGroups": {"g": {"Promoted": true}}}));
        assert_eq!(deployment(Value::Null), Value::Null);
        let stub =
            allocation_stub(json!({"DesiredTransition": {}, "TaskStates": {"t": {"Paused": "", "Failed": true}}}));
        assert_eq!(stub, json!({"TaskStates": {"t": {"Failed": true}}}));
    }
}

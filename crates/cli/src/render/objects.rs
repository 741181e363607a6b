//! Answers of the API as `-json` and `-t` show them (`docs/spec/cli.md §3.6`): members that servers leave out are
//! there, those that only servers know are not.

use serde_json::{Value, json};

/// An evaluation.
pub fn evaluation(mut value: Value) -> Value {
    super::json::complete_evaluation(&mut value);
    if let Some(groups) = value.get_mut("FailedTGAllocs").and_then(Value::as_object_mut) {
        groups.values_mut().for_each(metric);
    }
    let victims = value.pointer_mut("/PlanAnnotations/PreemptedAllocs").and_then(Value::as_array_mut);
    victims.into_iter().flatten().for_each(stub_in_place);
    value
}

/// Why placements failed.
fn metric(value: &mut Value) {
    let nodes = value.get_mut("ScoreMetaData").and_then(Value::as_array_mut);
    for node in nodes.into_iter().flatten() {
        if let Some(score) = node.get_mut("NormScore") {
            fraction(score);
        }
        let scores = node.get_mut("Scores").and_then(Value::as_object_mut);
        scores.into_iter().flat_map(|s| s.values_mut()).for_each(fraction);
    }
    let scores = value.get_mut("Scores").and_then(Value::as_object_mut);
    scores.into_iter().flat_map(|s| s.values_mut()).for_each(fraction);
}

/// Writes a number with a fraction.
fn fraction(value: &mut Value) {
    if let Some(number) = value.as_f64() {
        *value = json!(number);
    }
}

/// An allocation as lists show it.
pub fn allocation_stub(mut value: Value) -> Value {
    stub_in_place(&mut value);
    value
}

fn stub_in_place(value: &mut Value) {
    let Value::Object(map) = value else { return };
    map.remove("DesiredTransition");
    if map.get("AllocatedResources").is_some_and(Value::is_null) {
        map.remove("AllocatedResources");
    }
    let states = map.get_mut("TaskStates").and_then(Value::as_object_mut);
    for state in states.into_iter().flat_map(|s| s.values_mut()) {
        if let Some(state) = state.as_object_mut() {
            state.remove("Paused");
        }
    }
}

/// A deployment; null stays null.
pub fn deployment(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.remove("EvalPriority");
        let groups = map.get_mut("TaskGroups").and_then(Value::as_object_mut);
        for group in groups.into_iter().flat_map(|g| g.values_mut()) {
            if let Some(group) = group.as_object_mut() {
                group.remove("AutoPromote");
            }
        }
    }
    value
}

/// A list of objects of one kind.
pub fn list(values: Vec<Value>, one: fn(Value) -> Value) -> Value {
    values.into_iter().map(one).collect()
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

//! API responses as JSON values: access to their members, and the members that clients add (`docs/spec/cli.md §3.6`).

use super::error::{CommandResult, ErrorContext};
use serde_json::{Value, json};

/// Adds the members that servers omit because they have no value: clients show all members of an object.
pub fn complete(value: &mut Value, members: &[(&str, Zero)]) {
    let Value::Object(map) = value else { return };
    for (name, zero) in members {
        if !map.contains_key(*name) {
            map.insert((*name).into(), zero.value());
        }
    }
}

/// The zero value of a member.
#[derive(Debug, Clone, Copy)]
pub enum Zero {
    /// An empty text.
    Text,
    /// The number 0.
    Number,
    /// `false`.
    Bool,
    /// `null`: lists, maps, objects.
    Null,
}

impl Zero {
    fn value(self) -> Value {
        match self {
            Zero::Text => json!(""),
            Zero::Number => json!(0),
            Zero::Bool => json!(false),
            Zero::Null => Value::Null,
        }
    }
}

/// The members of an allocation.
pub const ALLOCATION: &[(&str, Zero)] = &[
    ("AllocModifyIndex", Zero::Number),
    ("AllocatedResources", Zero::Null),
    ("ClientDescription", Zero::Text),
    ("ClientStatus", Zero::Text),
    ("CreateIndex", Zero::Number),
    ("CreateTime", Zero::Number),
    ("DeploymentID", Zero::Text),
    ("DeploymentStatus", Zero::Null),
    ("DesiredDescription", Zero::Text),
    ("DesiredStatus", Zero::Text),
    ("EvalID", Zero::Text),
    ("FollowupEvalID", Zero::Text),
    ("ID", Zero::Text),
    ("Job", Zero::Null),
    ("JobID", Zero::Text),
    ("Metrics", Zero::Null),
    ("ModifyIndex", Zero::Number),
    ("ModifyTime", Zero::Number),
    ("Name", Zero::Text),
    ("Namespace", Zero::Text),
    ("NetworkStatus", Zero::Null),
    ("NextAllocation", Zero::Text),
    ("NodeID", Zero::Text),
    ("NodeName", Zero::Text),
    ("PreemptedAllocations", Zero::Null),
    ("PreemptedByAllocation", Zero::Text),
    ("PreviousAllocation", Zero::Text),
    ("RescheduleTracker", Zero::Null),
    ("Resources", Zero::Null),
    ("TaskGroup", Zero::Text),
    ("TaskResources", Zero::Null),
    ("TaskStates", Zero::Null),
];

/// A text member of an object; empty where there is none.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A number of an object; 0 where there is none.
pub fn number(value: &Value, name: &str) -> i64 {
    value.get(name).and_then(Value::as_i64).unwrap_or(0)
}

/// Rows by create index, newest first; equal ones by ID.
pub fn newest_first(rows: &mut [Value]) {
    rows.sort_by(|a, b| {
        let index = |v: &Value| v.get("CreateIndex").and_then(Value::as_u64).unwrap_or(0);
        index(b).cmp(&index(a)).then_with(|| text(a, "ID").cmp(text(b, "ID")))
    });
}

/// Deserializes an object.
pub fn typed<T: serde::de::DeserializeOwned>(value: &Value) -> CommandResult<T> {
    encamp_api::json::from_value(value).context("the response can't be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_value_is_added() {
        let mut value = json!({"ID": "a"});
        complete(&mut value, ALLOCATION);
        assert_eq!((text(&value, "ID"), &value["PreemptedAllocations"]), ("a", &Value::Null));
        assert_eq!((number(&value, "CreateIndex"), text(&value, "NodeID")), (0, ""));
    }

    #[test]
    fn the_newest_row_is_first() {
        let mut rows = [
            json!({"ID": "b", "CreateIndex": 1}),
            json!({"ID": "a", "CreateIndex": 1}),
            json!({"ID": "c", "CreateIndex": 2}),
        ];
        newest_first(&mut rows);
        assert_eq!(rows.map(|r| text(&r, "ID").to_string()).join(""), "cab");
    }
}

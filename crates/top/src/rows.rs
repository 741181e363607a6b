//! Rows made of answers of the HTTP API. Members that are missing or of another type count as empty.

use encamp_model::{ClientStatus, DeploymentStatus, EvalStatus, JobStatus, NodeEligibility, NodeStatus};
use serde_json::Value;

use crate::row::{Cell, Facts, Kind, Object, Row, short};
use crate::view::View;

/// The row of one object of a list.
pub fn row(view: View, o: &Value) -> Row {
    match view {
        View::Jobs => job(o),
        View::Allocations => allocation(o),
        View::Nodes | View::Topology => node(o),
        View::Deployments => deployment(o),
        View::Evaluations => evaluation(o),
        View::Servers | View::Events | View::Queues | View::Plan | View::WhatIf => server(o),
    }
}

fn job(o: &Value) -> Row {
    let groups = o.pointer("/JobSummary/Summary").and_then(Value::as_object);
    let sum = |name: &str| groups.into_iter().flat_map(|g| g.values()).map(|group| number(group, name)).sum::<i64>();
    let (unplaced, failed) = (sum("Queued"), sum("Failed"));
    let stopped = o.get("Stop").and_then(Value::as_bool).unwrap_or(false);
    let status = text(o, "Status");
    // "dead" also stands for a batch job that has done its work.
    let over = JobStatus::from(status.as_str()) == JobStatus::Dead;
    let status = if stopped { format!("{status} (stopped)") } else { status };
    let mut cells = texts([text(o, "ID"), text(o, "Namespace"), text(o, "Type"), status]);
    cells.extend([unplaced, sum("Running"), failed].map(Cell::Number));
    cells.push(Cell::Time(number(o, "SubmitTime")));
    Row {
        object: object(Kind::Job, o),
        owners: Vec::new(),
        attention: !stopped && !over && (unplaced > 0 || failed > 0),
        cells,
        facts: Facts { ended: stopped, ..Facts::default() },
    }
}

fn allocation(o: &Value) -> Row {
    let status = ClientStatus::from(text(o, "ClientStatus").as_str());
    let (job, node, namespace) = (text(o, "JobID"), text(o, "NodeID"), text(o, "Namespace"));
    let node_name = text(o, "NodeName");
    let id = short(&text(o, "ID"));
    let mut cells =
        texts([id, job.clone(), namespace.clone(), text(o, "TaskGroup"), node_name, text(o, "ClientStatus")]);
    cells.push(Cell::Text(text(o, "DesiredStatus")));
    cells.push(Cell::Time(number(o, "ModifyTime")));
    Row {
        object: object(Kind::Allocation, o),
        owners: vec![
            Object::new(Kind::Job, &namespace, &job),
            Object::new(Kind::Node, "", &node),
            Object::new(Kind::Evaluation, &namespace, &text(o, "EvalID")),
        ],
        attention: matches!(status, ClientStatus::Failed | ClientStatus::Lost | ClientStatus::Unknown),
        cells,
        facts: Facts {
            ended: matches!(status, ClientStatus::Complete | ClientStatus::Failed | ClientStatus::Lost),
            ..Facts::default()
        },
    }
}

fn node(o: &Value) -> Row {
    let draining = o.get("Drain").and_then(Value::as_bool).unwrap_or(false);
    let (status, eligibility) = (text(o, "Status"), text(o, "SchedulingEligibility"));
    let ineligible = NodeEligibility::from(eligibility.as_str()) == NodeEligibility::Ineligible;
    let ready = NodeStatus::from(status.as_str()) == NodeStatus::Ready;
    let drain = if draining { "yes" } else { "no" }.to_string();
    let (name, id) = (text(o, "Name"), short(&text(o, "ID")));
    let cells = texts([name, id, text(o, "Datacenter"), text(o, "NodePool"), status, eligibility, drain]);
    Row {
        object: Object::new(Kind::Node, "", &text(o, "ID")),
        owners: Vec::new(),
        attention: !ready || ineligible,
        cells,
        facts: Facts { draining, ineligible, ..Facts::default() },
    }
}

fn deployment(o: &Value) -> Row {
    let status = DeploymentStatus::from(text(o, "Status").as_str());
    let groups = o.get("TaskGroups").and_then(Value::as_object);
    let flag = |group: &Value, name: &str| group.get(name).and_then(Value::as_bool).unwrap_or(false);
    let waits = |group: &Value| number(group, "DesiredCanaries") > 0 && !flag(group, "Promoted");
    let ended = matches!(status, DeploymentStatus::Successful | DeploymentStatus::Failed | DeploymentStatus::Cancelled);
    let mut cells = texts([short(&text(o, "ID")), text(o, "JobID"), text(o, "Namespace")]);
    cells.push(Cell::Number(number(o, "JobVersion")));
    cells.extend(texts([text(o, "Status"), text(o, "StatusDescription")]));
    Row {
        object: object(Kind::Deployment, o),
        owners: vec![Object::new(Kind::Job, &text(o, "Namespace"), &text(o, "JobID"))],
        attention: matches!(status, DeploymentStatus::Failed | DeploymentStatus::Blocked),
        cells,
        facts: Facts {
            ended,
            promotable: !ended && groups.into_iter().flat_map(|g| g.values()).any(waits),
            ..Facts::default()
        },
    }
}

fn evaluation(o: &Value) -> Row {
    let status = EvalStatus::from(text(o, "Status").as_str());
    let id = short(&text(o, "ID"));
    let (job, namespace) = (text(o, "JobID"), text(o, "Namespace"));
    let mut cells =
        texts([id, job.clone(), namespace.clone(), text(o, "Type"), text(o, "TriggeredBy"), text(o, "Status")]);
    cells.push(Cell::Time(number(o, "CreateTime")));
    Row {
        object: object(Kind::Evaluation, o),
        owners: vec![Object::new(Kind::Job, &namespace, &job)],
        attention: matches!(status, EvalStatus::Blocked | EvalStatus::Failed),
        cells,
        facts: Facts::default(),
    }
}

fn server(o: &Value) -> Row {
    let tag = |name: &str| o.get("Tags").map(|tags| text(tags, name)).unwrap_or_default();
    let status = text(o, "Status");
    let attention = status != "alive";
    let port = number(o, "Port").to_string();
    let cells = texts([text(o, "Name"), text(o, "Addr"), port, status, tag("build"), tag("region")]);
    let object = Object::new(Kind::Other, "", &text(o, "Name"));
    Row { object, owners: Vec::new(), attention, cells, facts: Facts::default() }
}

fn object(kind: Kind, o: &Value) -> Object {
    Object::new(kind, &text(o, "Namespace"), &text(o, "ID"))
}

fn texts<const N: usize>(values: [String; N]) -> Vec<Cell> {
    values.into_iter().map(Cell::Text).collect()
}

/// A member as a text.
pub(crate) fn text(object: &Value, name: &str) -> String {
    object.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
}

/// A member as a number.
pub(crate) fn number(object: &Value, name: &str) -> i64 {
    object.get(name).and_then(Value::as_i64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn jobs_of_the_same_name_differ_by_their_namespaces() {
        let of = |namespace: &str| row(View::Jobs, &json!({"ID": "web", "Namespace": namespace})).object;
        assert_ne!(of("default"), of("prod"));
        let allocation = row(View::Allocations, &json!({"ID": "a", "JobID": "web", "Namespace": "prod"}));
        assert!(allocation.owners.contains(&of("prod")) && !allocation.owners.contains(&of("default")));
    }

    #[test]
    fn unplaced_jobs_need_attention_unless_they_are_stopped() {
        let of = |stop: bool| {
            let summary = json!({"Summary": {"g": {"Queued": 2}}});
            let job = row(View::Jobs, &json!({"ID": "web", "Status": "pending", "Stop": stop, "JobSummary": summary}));
            (job.attention, job.facts.ended)
        };
        assert_eq!((of(false), of(true)), ((true, false), (false, true)));
    }

    #[test]
    fn a_deployment_is_promotable_while_its_canaries_wait() {
        let of = |status: &str, promoted: bool| {
            let groups = json!({"g": {"DesiredCanaries": 1, "Promoted": promoted}});
            row(View::Deployments, &json!({"ID": "d", "Status": status, "TaskGroups": groups})).facts.promotable
        };
        assert!(of("running", false));
        assert!(!of("running", true) && !of("failed", false));
    }
}

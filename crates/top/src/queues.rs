//! The queues of the leader, from the metrics of the contacted agent and the stored evaluations.

use std::collections::BTreeMap;

use encamp_model::EvalStatus;
use serde_json::Value;

use crate::row::{Cell, Facts, Kind, Object, Row};
use crate::rows::text;

/// What gauges mean: the end of their name, the queue, the measure, its meaning, and whether others than 0 need
/// attention.
const GAUGES: &[(&str, &str, &str, &str, bool)] = &[
    ("nomad.broker.total_ready", "broker", "ready", "evaluations that wait for a worker", false),
    ("nomad.broker.total_unacked", "broker", "in progress", "evaluations that workers process", false),
    ("nomad.broker.total_pending", "broker", "pending", "wait for another evaluation of their job", false),
    ("nomad.broker.total_waiting", "broker", "delayed", "wait for their time", false),
    ("nomad.broker.total_cancelable", "broker", "cancelable", "outdated by a later evaluation", false),
    ("nomad.blocked_evals.total_blocked", "blocked", "blocked", "wait for capacity", true),
    ("nomad.blocked_evals.total_escaped", "blocked", "escaped", "blocked on any node, not on a class", true),
    ("nomad.blocked_evals.total_quota_limit", "blocked", "quota", "blocked by a quota", true),
    ("nomad.plan.queue_depth", "plan", "depth", "plans that wait for the applier", false),
    ("nomad.heartbeat.active", "nodes", "heartbeats", "nodes whose heartbeat is watched", false),
];
/// Times of steps: the end of their name, the queue, the measure, its meaning.
const SAMPLES: &[(&str, &str, &str, &str)] = &[
    ("nomad.broker.wait_time", "broker", "wait", "mean ms until a worker took an evaluation"),
    ("nomad.plan.evaluate", "plan", "evaluate", "mean ms to check a plan"),
    ("nomad.plan.apply", "plan", "apply", "mean ms to commit a plan"),
    ("nomad.plan.submit", "plan", "submit", "mean ms until a plan was answered"),
    ("nomad.worker.dequeue_eval", "worker", "dequeue", "mean ms until a worker had an evaluation"),
];

/// The rows of `/v1/metrics`.
pub fn of_metrics(metrics: &Value) -> Vec<Row> {
    let list = |name: &str| metrics.get(name).and_then(Value::as_array).into_iter().flatten();
    let mut rows = Vec::new();
    for (end, queue, measure, meaning, attention) in GAUGES {
        let found = list("Gauges").find(|gauge| text(gauge, "Name").ends_with(end));
        if let Some(value) = found.and_then(|gauge| gauge.get("Value")).and_then(Value::as_f64) {
            rows.push(row(queue, measure, value.round(), meaning, *attention && value > 0.0));
        }
    }
    for gauge in list("Gauges") {
        let name = text(gauge, "Name");
        let queue = name.rsplit_once("broker.").and_then(|(_, queue)| queue.strip_suffix(".ready"));
        if let (Some(queue), Some(value)) = (queue, gauge.get("Value").and_then(Value::as_f64)) {
            rows.push(row("broker", &format!("ready: {queue}"), value, "of this type", false));
        }
    }
    for (end, queue, measure, meaning) in SAMPLES {
        let found = list("Samples").find(|sample| text(sample, "Name").ends_with(end));
        if let Some(mean) = found.and_then(|sample| sample.get("Mean")).and_then(Value::as_f64) {
            rows.push(row(queue, measure, mean, meaning, false));
        }
    }
    rows
}

/// The rows of `/v1/evaluations`: unfinished evaluations by status and type.
pub fn of_evaluations<'a>(evaluations: impl IntoIterator<Item = &'a Value>) -> Vec<Row> {
    let mut counts: BTreeMap<(String, String), i64> = BTreeMap::new();
    for evaluation in evaluations {
        let status = text(evaluation, "Status");
        if matches!(EvalStatus::from(status.as_str()), EvalStatus::Blocked | EvalStatus::Pending) {
            let count = counts.entry((status, text(evaluation, "Type"))).or_default();
            *count = count.saturating_add(1);
        }
    }
    let blocked = |status: &str| EvalStatus::from(status) == EvalStatus::Blocked;
    let of = |((status, kind), count): ((String, String), i64)| {
        let value = Cell::Number(count);
        made("stored", &format!("{status}: {kind}"), value, "evaluations in the state of the servers", blocked(&status))
    };
    counts.into_iter().map(of).collect()
}

/// The row for an agent that has no queues.
pub fn without_leader() -> Row {
    made("broker", "-", Cell::Text("-".into()), "the contacted agent is not the leader: it has no queues", false)
}

/// Whether these metrics are those of a leader.
pub fn is_leader(metrics: &Value) -> bool {
    let gauges = metrics.get("Gauges").and_then(Value::as_array).into_iter().flatten();
    gauges.into_iter().any(|gauge| text(gauge, "Name").ends_with("nomad.broker.total_ready"))
}

fn row(queue: &str, measure: &str, value: f64, meaning: &str, attention: bool) -> Row {
    let shown = if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") };
    made(queue, measure, Cell::Text(shown), meaning, attention)
}

fn made(queue: &str, measure: &str, value: Cell, meaning: &str, attention: bool) -> Row {
    let cells = vec![Cell::Text(queue.into()), Cell::Text(measure.into()), value, Cell::Text(meaning.into())];
    let object = Object::new(Kind::Other, "", &format!("{queue} {measure}"));
    Row { object, owners: Vec::new(), attention, cells, facts: Facts::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn gauges_of_a_leader_are_rows() {
        let metrics = json!({
            "Gauges": [
                {"Name": "nomad.nomad.broker.total_ready", "Value": 3.0},
                {"Name": "nomad.nomad.broker.service.ready", "Value": 2},
                {"Name": "nomad.nomad.blocked_evals.total_blocked", "Value": 1},
                {"Name": "nomad.runtime.alloc_bytes", "Value": 1}
            ],
            "Samples": [{"Name": "nomad.nomad.plan.apply", "Mean": 1.234}]
        });
        let rows = of_metrics(&metrics);
        let shown: Vec<_> = rows.iter().map(|r| (r.object.id.as_str(), r.cells.get(2).cloned(), r.attention)).collect();
        let text = |t: &str| Some(Cell::Text(t.to_string()));
        assert_eq!(
            shown,
            [
                ("broker ready", text("3"), false),
                ("blocked blocked", text("1"), true),
                ("broker ready: service", text("2"), false),
                ("plan apply", text("1.23"), false)
            ]
        );
        assert!(is_leader(&metrics) && !is_leader(&json!({"Gauges": []})));
    }

    #[test]
    fn unfinished_evaluations_are_counted() {
        let evaluation = |status: &str| json!({"Status": status, "Type": "service"});
        let all = [evaluation("blocked"), evaluation("complete"), evaluation("blocked")];
        let rows = of_evaluations(&all);
        let shown: Vec<_> = rows.iter().map(|r| (r.object.id.as_str(), r.cells.get(2).cloned())).collect();
        assert_eq!(shown, [("stored blocked: service", Some(Cell::Number(2)))]);
    }
}

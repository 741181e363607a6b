//! The views: what each reads from the HTTP API, its columns, and rows made of the answers.

use encamp_model::{ClientStatus, DeploymentStatus, EvalStatus, NodeEligibility, NodeStatus};
use serde_json::Value;

/// A list of objects of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Jobs of all namespaces.
    Jobs,
    /// Allocations.
    Allocations,
    /// Nodes.
    Nodes,
    /// Deployments.
    Deployments,
    /// Evaluations.
    Evaluations,
    /// Servers, as members of the gossip pool.
    Servers,
}

/// All views in the order of their number keys.
pub const VIEWS: [View; 6] =
    [View::Jobs, View::Allocations, View::Nodes, View::Deployments, View::Evaluations, View::Servers];

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// A moment, Unix nanoseconds; 0 if it is not known.
    Time(i64),
}

/// One object.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its ID.
    pub id: String,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Whether it needs attention: such rows come first.
    pub attention: bool,
    /// Its values, one for each column.
    pub cells: Vec<Cell>,
}

impl View {
    /// The word for it in titles and after `:`.
    pub fn name(self) -> &'static str {
        match self {
            View::Jobs => "jobs",
            View::Allocations => "allocations",
            View::Nodes => "nodes",
            View::Deployments => "deployments",
            View::Evaluations => "evaluations",
            View::Servers => "servers",
        }
    }

    /// The path that answers with its objects.
    pub fn path(self) -> &'static str {
        match self {
            View::Jobs => "/v1/jobs?namespace=*",
            View::Allocations => "/v1/allocations?namespace=*",
            View::Nodes => "/v1/nodes",
            View::Deployments => "/v1/deployments?namespace=*",
            View::Evaluations => "/v1/evaluations?namespace=*",
            View::Servers => "/v1/agent/members",
        }
    }

    /// The path of one object, for its description; `None` if there is no such path.
    pub fn object(self) -> Option<&'static str> {
        match self {
            View::Jobs => Some("/v1/job/"),
            View::Allocations => Some("/v1/allocation/"),
            View::Nodes => Some("/v1/node/"),
            View::Deployments => Some("/v1/deployment/"),
            View::Evaluations => Some("/v1/evaluation/"),
            View::Servers => None,
        }
    }

    /// Titles and smallest widths of its columns.
    pub fn columns(self) -> &'static [(&'static str, usize)] {
        match self {
            View::Jobs => &[
                ("ID", 16),
                ("NAMESPACE", 9),
                ("TYPE", 8),
                ("STATUS", 8),
                ("UNPLACED", 8),
                ("RUNNING", 7),
                ("FAILED", 6),
                ("SUBMITTED", 9),
            ],
            View::Allocations => {
                &[("ID", 8), ("JOB", 14), ("GROUP", 10), ("NODE", 12), ("STATUS", 8), ("WANTED", 6), ("CHANGED", 8)]
            }
            View::Nodes => &[
                ("NAME", 14),
                ("ID", 8),
                ("DATACENTER", 10),
                ("POOL", 8),
                ("STATUS", 8),
                ("ELIGIBILITY", 11),
                ("DRAIN", 5),
            ],
            View::Deployments => &[("ID", 8), ("JOB", 14), ("VERSION", 7), ("STATUS", 10), ("DESCRIPTION", 24)],
            View::Evaluations => {
                &[("ID", 8), ("JOB", 14), ("TYPE", 8), ("TRIGGERED BY", 16), ("STATUS", 9), ("CREATED", 8)]
            }
            View::Servers => &[("NAME", 20), ("ADDRESS", 15), ("STATUS", 8)],
        }
    }

    /// The rows of an answer. Members that are missing or of another type count as empty.
    pub fn rows(self, answer: &Value) -> Vec<Row> {
        let list = match self {
            View::Servers => answer.get("Members").and_then(Value::as_array),
            _ => answer.as_array(),
        };
        list.into_iter().flatten().map(|object| self.row(object)).collect()
    }

    fn row(self, o: &Value) -> Row {
        let (id, status) = (text(o, "ID"), text(o, "Status"));
        let namespace = text(o, "Namespace");
        let (attention, cells) = match self {
            View::Jobs => return job(o),
            View::Allocations => {
                let state = text(o, "ClientStatus");
                let attention = is_one_of(&state, &[ClientStatus::Failed, ClientStatus::Lost]);
                let values = [short(&id), text(o, "JobID"), text(o, "TaskGroup"), text(o, "NodeName"), state];
                let mut cells: Vec<Cell> = values.into_iter().map(Cell::Text).collect();
                cells.push(Cell::Text(text(o, "DesiredStatus")));
                cells.push(Cell::Time(number(o, "ModifyTime")));
                (attention, cells)
            }
            View::Nodes => {
                let drain = o.get("Drain").and_then(Value::as_bool).unwrap_or(false);
                let eligibility = text(o, "SchedulingEligibility");
                let takes_allocations =
                    is_one_of(&status, &[NodeStatus::Ready]) && is_one_of(&eligibility, &[NodeEligibility::Eligible]);
                let drain = if drain { "yes" } else { "no" }.to_string();
                let values = [
                    text(o, "Name"),
                    short(&id),
                    text(o, "Datacenter"),
                    text(o, "NodePool"),
                    status,
                    eligibility,
                    drain,
                ];
                (!takes_allocations, values.into_iter().map(Cell::Text).collect())
            }
            View::Deployments => {
                let attention = is_one_of(&status, &[DeploymentStatus::Failed, DeploymentStatus::Blocked]);
                let cells = vec![
                    Cell::Text(short(&id)),
                    Cell::Text(text(o, "JobID")),
                    Cell::Number(number(o, "JobVersion")),
                    Cell::Text(status),
                    Cell::Text(text(o, "StatusDescription")),
                ];
                (attention, cells)
            }
            View::Evaluations => {
                let attention = is_one_of(&status, &[EvalStatus::Blocked, EvalStatus::Failed]);
                let values = [short(&id), text(o, "JobID"), text(o, "Type"), text(o, "TriggeredBy"), status];
                let mut cells: Vec<Cell> = values.into_iter().map(Cell::Text).collect();
                cells.push(Cell::Time(number(o, "CreateTime")));
                (attention, cells)
            }
            View::Servers => {
                let attention = status != "alive";
                let values = [text(o, "Name"), text(o, "Addr"), status];
                let cells = values.into_iter().map(Cell::Text).collect();
                return Row { id: text(o, "Name"), namespace, attention, cells };
            }
        };
        Row { id, namespace, attention, cells }
    }
}

fn job(o: &Value) -> Row {
    let groups = o.pointer("/JobSummary/Summary").and_then(Value::as_object);
    let sum = |name: &str| groups.into_iter().flat_map(|g| g.values()).map(|group| number(group, name)).sum::<i64>();
    let (unplaced, failed) = (sum("Queued"), sum("Failed"));
    let stopped = o.get("Stop").and_then(Value::as_bool).unwrap_or(false);
    let texts = [text(o, "ID"), text(o, "Namespace"), text(o, "Type"), text(o, "Status")];
    let mut cells: Vec<Cell> = texts.into_iter().map(Cell::Text).collect();
    cells.extend([unplaced, sum("Running"), failed].map(Cell::Number));
    cells.push(Cell::Time(number(o, "SubmitTime")));
    let attention = !stopped && (unplaced > 0 || failed > 0);
    Row { id: text(o, "ID"), namespace: text(o, "Namespace"), attention, cells }
}

/// Whether a text is one of these statuses.
fn is_one_of<T: for<'a> From<&'a str> + PartialEq>(text: &str, statuses: &[T]) -> bool {
    statuses.contains(&T::from(text))
}

fn text(object: &Value, name: &str) -> String {
    object.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
}

fn number(object: &Value, name: &str) -> i64 {
    object.get(name).and_then(Value::as_i64).unwrap_or(0)
}

/// The first eight characters of an ID.
fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

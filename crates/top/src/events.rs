//! Events of the cluster: lines of the event stream as rows, the last ones of which are retained.

use std::collections::VecDeque;

use encamp_model::{ClientStatus, DeploymentStatus, EvalStatus, NodeStatus};
use serde::Deserialize;
use serde_json::Value;

use crate::row::{Cell, Facts, Kind, Object, Row, short};
use crate::rows::text;

/// The most events that are retained.
pub const MAX_EVENTS: usize = 500;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Line {
    index: i64,
    events: Option<Vec<Event>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Event {
    topic: String,
    r#type: String,
    key: String,
    namespace: String,
    payload: Value,
}

/// The events of a line of the stream, which came at a moment (Unix nanoseconds). An empty object, the sign that the
/// connection lives, has none.
pub fn rows(line: &[u8], now: i64) -> Vec<Row> {
    let line: Line = serde_json::from_slice(line).unwrap_or_default();
    line.events.into_iter().flatten().map(|event| row(&event, line.index, now)).collect()
}

fn row(event: &Event, index: i64, now: i64) -> Row {
    let kind = match event.topic.as_str() {
        "Job" => Kind::Job,
        "Allocation" => Kind::Allocation,
        "Node" => Kind::Node,
        "Deployment" => Kind::Deployment,
        "Evaluation" => Kind::Evaluation,
        _ => Kind::Other,
    };
    let about = event.payload.get(&event.topic).unwrap_or(&Value::Null);
    let status = text(about, if kind == Kind::Allocation { "ClientStatus" } else { "Status" });
    let name = match kind {
        Kind::Job => event.key.clone(),
        Kind::Allocation | Kind::Node => text(about, "Name"),
        Kind::Deployment | Kind::Evaluation => text(about, "JobID"),
        Kind::Other => String::new(),
    };
    let name = if name.is_empty() { short(&event.key) } else { name };
    let attention = match kind {
        Kind::Allocation => matches!(ClientStatus::from(status.as_str()), ClientStatus::Failed | ClientStatus::Lost),
        Kind::Node => matches!(NodeStatus::from(status.as_str()), NodeStatus::Down | NodeStatus::Disconnected),
        Kind::Deployment => DeploymentStatus::from(status.as_str()) == DeploymentStatus::Failed,
        Kind::Evaluation => matches!(EvalStatus::from(status.as_str()), EvalStatus::Blocked | EvalStatus::Failed),
        Kind::Job | Kind::Other => false,
    };
    let namespace = if kind == Kind::Node { "" } else { &event.namespace };
    let texts = [&event.topic, &event.r#type, &event.namespace, &name, &status];
    let mut cells = vec![Cell::Time(now), Cell::Number(index)];
    cells.extend(texts.map(|text| Cell::Text(text.clone())));
    Row {
        object: Object::new(kind, namespace, &event.key),
        owners: Vec::new(),
        attention,
        cells,
        facts: Facts::default(),
    }
}

/// The last events, the newest first.
#[derive(Debug, Default)]
pub struct Events(VecDeque<Row>);

impl Events {
    /// Adds events in the order in which they happened.
    pub fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            self.0.push_front(row);
        }
        self.0.truncate(MAX_EVENTS);
    }

    /// The events, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = br#"{"Index":7,"Events":[
        {"Topic":"Allocation","Type":"AllocationUpdated","Key":"0a1b2c3d-1","Namespace":"prod",
         "Payload":{"Allocation":{"Name":"web.g[0]","ClientStatus":"failed"}}},
        {"Topic":"Node","Type":"NodeEvent","Key":"n1","Namespace":"default","Payload":{"Node":{"Name":"a","Status":"ready"}}},
        {"Topic":"Service","Type":"ServiceRegistration","Key":"svc","Namespace":"prod","Payload":null}]}"#;

    #[test]
    fn events_name_their_objects() {
        let rows = rows(LINE, 5);
        let objects: Vec<&Object> = rows.iter().map(|row| &row.object).collect();
        let [allocation, node, service] = objects.as_slice() else { panic!("{objects:?}") };
        assert_eq!((allocation.kind, allocation.namespace.as_str()), (Kind::Allocation, "prod"));
        assert_eq!((node.kind, node.namespace.as_str()), (Kind::Node, ""));
        assert_eq!(service.kind, Kind::Other);
        assert_eq!(rows.iter().map(|row| row.attention).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn heartbeats_and_damaged_lines_are_no_events() {
        assert!(rows(b"{}", 0).is_empty() && rows(b"{\"Index\":", 0).is_empty());
    }

    #[test]
    fn the_newest_events_are_retained() {
        let mut events = Events::default();
        for index in 0..2000 {
            events.add(rows(LINE, index));
        }
        assert_eq!(events.iter().count(), MAX_EVENTS);
        assert_eq!(events.iter().next().and_then(|row| row.cells.first().cloned()), Some(Cell::Time(1999)));
    }
}

//! Rows of lists: objects of a cluster, and what is shown of them.

use std::cmp::Ordering;

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A job.
    Job,
    /// An allocation.
    Allocation,
    /// A node.
    Node,
    /// A deployment.
    Deployment,
    /// An evaluation.
    Evaluation,
    /// Something without a page of its own.
    Other,
}

impl Kind {
    /// The word for one object.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Job => "job",
            Kind::Allocation => "allocation",
            Kind::Node => "node",
            Kind::Deployment => "deployment",
            Kind::Evaluation => "evaluation",
            Kind::Other => "object",
        }
    }
}

/// An object: requests about it are always sent with its own namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty if objects of the kind have none.
    pub namespace: String,
    /// Its ID.
    pub id: String,
}

impl Object {
    /// An object of a namespace.
    pub fn new(kind: Kind, namespace: &str, id: &str) -> Object {
        Object { kind, namespace: namespace.to_string(), id: id.to_string() }
    }

    /// The path of the API that describes it; `None` if there is none.
    pub fn path(&self) -> Option<String> {
        let kind = match self.kind {
            Kind::Job => "job",
            Kind::Allocation => "allocation",
            Kind::Node => "node",
            Kind::Deployment => "deployment",
            Kind::Evaluation => "evaluation",
            Kind::Other => return None,
        };
        Some(self.query(&format!("/v1/{kind}/{}", encoded(&self.id))))
    }

    /// A path with the namespace of the object.
    pub fn query(&self, path: &str) -> String {
        if self.namespace.is_empty() {
            path.to_string()
        } else {
            format!("{path}?namespace={}", encoded(&self.namespace))
        }
    }

    /// The flag that names its namespace in a command; none for nodes.
    pub fn flag(&self) -> Option<String> {
        (!self.namespace.is_empty()).then(|| format!("-namespace={}", self.namespace))
    }

    /// Its kind and its ID, as messages name it. The IDs of all kinds but jobs are cut off.
    pub fn title(&self) -> String {
        let id = if self.kind == Kind::Job { self.id.clone() } else { short(&self.id) };
        format!("{} {id}", self.kind.word())
    }
}

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

/// What is known about an object beyond its cells: it decides which actions are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// A job that was stopped, an allocation or a deployment that has ended.
    pub ended: bool,
    /// A node that is drained.
    pub draining: bool,
    /// A node that takes no new allocations.
    pub ineligible: bool,
    /// A deployment whose canaries wait for a promotion.
    pub promotable: bool,
}

/// One object of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The object.
    pub object: Object,
    /// What it belongs to: the job, node or evaluation.
    pub owners: Vec<Object>,
    /// Whether it needs attention: such rows come first.
    pub attention: bool,
    /// Its values, one for each column.
    pub cells: Vec<Cell>,
    /// More about it.
    pub facts: Facts,
}

/// The order of two values.
pub fn order(a: Option<&Cell>, b: Option<&Cell>) -> Ordering {
    match (a, b) {
        (Some(Cell::Text(a)), Some(Cell::Text(b))) => a.cmp(b),
        (Some(Cell::Number(a) | Cell::Time(a)), Some(Cell::Number(b) | Cell::Time(b))) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// A number of objects: `1 node`, `2 nodes`.
pub fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A text as a part of a path or parameter.
pub fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The first eight characters of an ID.
pub fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_requested_in_its_namespace() {
        let job = Object::new(Kind::Job, "team a", "web/x");
        assert_eq!(job.path().as_deref(), Some("/v1/job/web%2Fx?namespace=team%20a"));
        assert_eq!(job.flag().as_deref(), Some("-namespace=team a"));
        let node = Object::new(Kind::Node, "", "0a");
        assert_eq!((node.path().as_deref(), node.flag()), (Some("/v1/node/0a"), None));
    }
}

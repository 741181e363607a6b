//! The views: their names, what each reads from the HTTP API, and its columns.

use crate::row::{Kind, Object, encoded};

/// What the screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Jobs.
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
    /// Events of the cluster as they happen.
    Events,
    /// All nodes as blocks with their use of CPU and memory.
    Topology,
    /// Queues of the leader: evaluations and plans that wait.
    Queues,
    /// The plan of a job file.
    Plan,
    /// What happens if nodes are lost or drained.
    WhatIf,
}

/// All views in the order of Tab.
pub const VIEWS: [View; 11] = [
    View::Jobs,
    View::Allocations,
    View::Nodes,
    View::Deployments,
    View::Evaluations,
    View::Servers,
    View::Events,
    View::Topology,
    View::Queues,
    View::Plan,
    View::WhatIf,
];

/// Names after `:` besides the beginnings of the names of views: those of k9s and of commands.
const ALIASES: [(&str, View); 11] = [
    ("po", View::Allocations),
    ("pods", View::Allocations),
    ("dp", View::Deployments),
    ("members", View::Servers),
    ("ev", View::Evaluations),
    ("events", View::Events),
    ("no", View::Nodes),
    ("clients", View::Nodes),
    ("topo", View::Topology),
    ("metrics", View::Queues),
    ("whatif", View::WhatIf),
];

/// Titles and smallest widths of columns.
pub type Columns = &'static [(&'static str, usize)];

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
            View::Events => "events",
            View::Topology => "topology",
            View::Queues => "queues",
            View::Plan => "plan",
            View::WhatIf => "what-if",
        }
    }

    /// The word for it in the line of all views, where space is short.
    pub fn tab(self) -> &'static str {
        match self {
            View::Allocations => "allocs",
            View::Deployments => "deploys",
            View::Evaluations => "evals",
            other => other.name(),
        }
    }

    /// The view with this name, alias, or beginning of a name.
    pub fn named(typed: &str) -> Option<View> {
        let exact = ALIASES.iter().find(|(alias, _)| *alias == typed).map(|(_, view)| *view);
        exact.or_else(|| VIEWS.into_iter().find(|v| !typed.is_empty() && v.name().starts_with(typed)))
    }

    /// The view of the objects of a kind.
    pub fn of(kind: Kind) -> Option<View> {
        match kind {
            Kind::Job => Some(View::Jobs),
            Kind::Allocation => Some(View::Allocations),
            Kind::Node => Some(View::Nodes),
            Kind::Deployment => Some(View::Deployments),
            Kind::Evaluation => Some(View::Evaluations),
            Kind::Other => None,
        }
    }

    /// The kind of its objects.
    pub fn kind(self) -> Kind {
        match self {
            View::Jobs => Kind::Job,
            View::Allocations => Kind::Allocation,
            View::Nodes | View::Topology => Kind::Node,
            View::Deployments => Kind::Deployment,
            View::Evaluations => Kind::Evaluation,
            View::Servers | View::Events | View::Queues | View::Plan | View::WhatIf => Kind::Other,
        }
    }

    /// Whether its objects have namespaces.
    pub fn has_namespaces(self) -> bool {
        !matches!(self, View::Nodes | View::Servers | View::Topology | View::Queues | View::Plan | View::WhatIf)
    }

    /// Whether it shows a text of its own instead of objects.
    pub fn is_text(self) -> bool {
        matches!(self, View::Plan | View::WhatIf)
    }

    /// The path that answers with its objects. `within`: the object that they belong to. `namespace`: `*` for all.
    pub fn path(self, within: Option<&Object>, namespace: &str) -> String {
        let all = encoded(namespace);
        let scoped = |object: &Object, kind: &str, list: &str| {
            object.query(&format!("/v1/{kind}/{}/{list}", encoded(&object.id)))
        };
        match (self, within.map(|o| (o, o.kind))) {
            (View::Allocations, Some((job, Kind::Job))) => scoped(job, "job", "allocations"),
            (View::Deployments, Some((job, Kind::Job))) => scoped(job, "job", "deployments"),
            (View::Evaluations, Some((job, Kind::Job))) => scoped(job, "job", "evaluations"),
            (View::Allocations, Some((evaluation, Kind::Evaluation))) => {
                scoped(evaluation, "evaluation", "allocations")
            }
            (View::Allocations, Some((deployment, Kind::Deployment))) => {
                deployment.query(&format!("/v1/deployment/allocations/{}", encoded(&deployment.id)))
            }
            (View::Allocations, Some((node, Kind::Node))) => {
                let filter = encoded(&format!("NodeID == \"{}\"", node.id));
                format!("/v1/allocations?namespace={all}&task_states=false&filter={filter}")
            }
            (View::Jobs, _) => format!("/v1/jobs?namespace={all}"),
            (View::Allocations, _) => format!("/v1/allocations?namespace={all}&task_states=false"),
            (View::Nodes, _) => "/v1/nodes".to_string(),
            (View::Topology, _) => "/v1/nodes?resources=true".to_string(),
            (View::Deployments, _) => format!("/v1/deployments?namespace={all}"),
            (View::Evaluations | View::Queues, _) => format!("/v1/evaluations?namespace={all}"),
            (View::Servers, _) => "/v1/agent/members".to_string(),
            // They are made by commands.
            (View::Plan | View::WhatIf, _) => String::new(),
            (View::Events, _) => format!("/v1/event/stream?namespace={all}"),
        }
    }

    /// Titles and smallest widths of its columns; the topology has none.
    pub fn columns(self) -> Columns {
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
            View::Allocations => &[
                ("ID", 8),
                ("JOB", 10),
                ("NAMESPACE", 9),
                ("GROUP", 8),
                ("NODE", 10),
                ("STATUS", 8),
                ("WANTED", 6),
                ("CHANGED", 8),
            ],
            View::Nodes => &[
                ("NAME", 14),
                ("ID", 8),
                ("DATACENTER", 10),
                ("POOL", 8),
                ("STATUS", 8),
                ("ELIGIBILITY", 11),
                ("DRAIN", 5),
                ("WHAT-IF", 7),
            ],
            View::Deployments => {
                &[("ID", 8), ("JOB", 12), ("NAMESPACE", 9), ("VERSION", 7), ("STATUS", 10), ("DESCRIPTION", 20)]
            }
            View::Evaluations => &[
                ("ID", 8),
                ("JOB", 12),
                ("NAMESPACE", 9),
                ("TYPE", 8),
                ("TRIGGERED BY", 14),
                ("STATUS", 9),
                ("CREATED", 8),
            ],
            View::Servers => {
                &[("NAME", 20), ("ADDRESS", 15), ("PORT", 5), ("STATUS", 8), ("VERSION", 7), ("REGION", 8)]
            }
            View::Events => &[
                ("RECEIVED", 8),
                ("INDEX", 5),
                ("TOPIC", 10),
                ("TYPE", 15),
                ("NAMESPACE", 9),
                ("OBJECT", 14),
                ("DETAIL", 8),
            ],
            View::Queues => &[("QUEUE", 8), ("MEASURE", 20), ("VALUE", 6), ("MEANING", 30)],
            View::Topology | View::Plan | View::WhatIf => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_have_the_names_of_other_tools() {
        for (typed, view) in [
            ("j", View::Jobs),
            ("alloc", View::Allocations),
            ("po", View::Allocations),
            ("no", View::Nodes),
            ("dep", View::Deployments),
            ("eval", View::Evaluations),
            ("events", View::Events),
            ("topo", View::Topology),
            ("q", View::Queues),
        ] {
            assert_eq!(View::named(typed), Some(view), "{typed}");
        }
        assert_eq!((View::named("x"), View::named("")), (None, None));
    }

    #[test]
    fn what_belongs_to_an_object_is_read_in_its_namespace() {
        let job = Object::new(Kind::Job, "prod", "web");
        let path = View::Allocations.path(Some(&job), "*");
        assert_eq!(path, "/v1/job/web/allocations?namespace=prod");
        assert_eq!(View::Jobs.path(None, "*"), "/v1/jobs?namespace=%2A");
        let node = Object::new(Kind::Node, "", "0a");
        assert!(View::Allocations.path(Some(&node), "prod").contains("namespace=prod&task_states=false&filter=NodeID"));
    }
}

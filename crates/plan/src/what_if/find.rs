//! Finds the nodes and jobs that changes name.

use std::collections::BTreeSet;
use std::sync::Arc;

use thiserror::Error;

use super::change::Nodes;
use encamp_jobspec::explain::nearest;
use encamp_model::{Job, Node, quoted};
use encamp_state::State;

/// Names that are listed at most where one is not found.
const MOST_NAMES: usize = 8;

/// Why a node or job is not found. Hints name what there is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotFound {
    /// No node has this datacenter, class or pool.
    #[error("no node has {kind} {}{hint}", quoted(name))]
    Nodes {
        /// `datacenter`, `node class` or `node pool`.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// A hint; may be empty.
        hint: String,
    },
    /// No node has this ID or name.
    #[error("no node has this ID or name{hint}")]
    Node {
        /// A hint; may be empty.
        hint: String,
    },
    /// Several nodes have this name, or IDs that begin so.
    #[error("{count} nodes match; give the ID of one: {}", ids.join(", "))]
    SeveralNodes {
        /// How many nodes match.
        count: usize,
        /// The first IDs.
        ids: Vec<String>,
    },
    /// No job in the namespace has this ID.
    #[error("no job in namespace {} has this ID{hint}", quoted(namespace))]
    Job {
        /// The namespace.
        namespace: String,
        /// A hint; may be empty.
        hint: String,
    },
}

/// The nodes meant, by ID.
///
/// # Errors
/// There are none.
pub fn nodes(state: &State, which: &Nodes) -> Result<Vec<Arc<Node>>, NotFound> {
    let (kind, name, of): (&'static str, &str, fn(&Node) -> &str) = match which {
        Nodes::One(text) => return node(state, text).map(|n| vec![n]),
        Nodes::Datacenter(name) => ("datacenter", name, |n| &n.datacenter),
        Nodes::Class(name) => ("node class", name, |n| &n.node_class),
        Nodes::Pool(name) => ("node pool", name, |n| &n.node_pool),
    };
    let found: Vec<Arc<Node>> = state.nodes().filter(|e| of(&e.node) == name).map(|e| e.node.clone()).collect();
    if found.is_empty() {
        let known: BTreeSet<&str> = state.nodes().map(|e| of(&e.node)).filter(|n| !n.is_empty()).collect();
        return Err(NotFound::Nodes { kind, name: name.to_string(), hint: instead(name, &known) });
    }
    Ok(found)
}

/// The nodes that a text may mean: the one with this ID, else all of this name, else all whose IDs begin so
/// (`docs/spec/cli.md §4.2`: with two characters at least).
pub fn matching<'a>(state: &'a State, text: &str) -> Vec<&'a Arc<Node>> {
    if let Some(e) = state.node(text) {
        return vec![&e.node];
    }
    let all = || state.nodes().map(|e| &*e.node);
    let named: Vec<&Arc<Node>> = all().filter(|n| n.name == text).collect();
    if !named.is_empty() || text.chars().count() < 2 {
        return named;
    }
    all().filter(|n| n.id.starts_with(text)).collect()
}

/// The one node that a text means.
///
/// # Errors
/// No node matches, or several do.
pub fn node(state: &State, text: &str) -> Result<Arc<Node>, NotFound> {
    match matching(state, text).as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let names: BTreeSet<&str> = state.nodes().map(|e| e.node.name.as_str()).collect();
            Err(NotFound::Node { hint: instead(text, &names) })
        }
        several => {
            let ids = several.iter().map(|n| n.id.clone()).take(MOST_NAMES).collect();
            Err(NotFound::SeveralNodes { count: several.len(), ids })
        }
    }
}

/// A job by ID, in the given namespace or written `ID@NAMESPACE`.
///
/// # Errors
/// There is no such job.
pub fn job(state: &State, text: &str, namespace: &str) -> Result<Arc<Job>, NotFound> {
    if let Some(job) = state.job(namespace, text) {
        return Ok(job.clone());
    }
    if let Some(job) = text.rsplit_once('@').and_then(|(id, namespace)| state.job(namespace, id)) {
        return Ok(job.clone());
    }
    let jobs = || state.jobs().map(|e| &e.current);
    let elsewhere: Vec<String> = jobs().filter(|j| j.id == text).map(|j| format!("{text}@{}", j.namespace)).collect();
    let known: BTreeSet<&str> = jobs().filter(|j| j.namespace == namespace).map(|j| j.id.as_str()).collect();
    let hint = match elsewhere.as_slice() {
        [] => instead(text, &known),
        several => format!("; there is {}", several.join(", ")),
    };
    Err(NotFound::Job { namespace: namespace.to_string(), hint })
}

/// A hint: the nearest name, or all names if they are few.
pub(crate) fn instead(given: &str, known: &BTreeSet<&str>) -> String {
    let list = || known.iter().copied().collect::<Vec<_>>().join(", ");
    match nearest(given, known.iter().copied()) {
        Some(name) => format!("; did you mean {}?", quoted(name)),
        None if known.is_empty() => "; there are none".into(),
        None if known.len() <= MOST_NAMES => format!("; there are {}", list()),
        None => String::new(),
    }
}

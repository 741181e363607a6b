//! Assigns nodes to worker pools (`docs/spec/cluster-scaling.md §2`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use encamp_state::State;

use crate::params::{NodeConfiguration, PoolParameters, WORKER_POOL};

/// Configurations that Variables hold, by pool.
pub type Fallbacks = BTreeMap<String, Result<PoolParameters, Vec<String>>>;

/// A parameter that a node of the pool states differently than the node whose configuration counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// The key.
    pub key: &'static str,
    /// The node whose configuration counts, and its value.
    pub counts: (String, String),
    /// The other node and its value.
    pub other: (String, String),
}

/// A worker pool with the nodes that take part in scaling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// The parameters that count: those of the node that changed last.
    pub parameters: PoolParameters,
    /// IDs of its registered nodes: ready, eligible, not draining.
    pub nodes: BTreeSet<String>,
    /// Parameters its nodes do not agree about; the first node per key and value.
    pub disagreements: Vec<Disagreement>,
}

/// A ready node whose configuration does not hold; it is not registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeProblem {
    /// Its ID.
    pub node_id: String,
    /// Its name.
    pub node_name: String,
    /// The pool it names, where it names one.
    pub pool: Option<String>,
    /// The problems, one line each.
    pub problems: Vec<String>,
}

/// The known facts about one node.
#[derive(Debug, Clone)]
struct Known {
    modify_index: u64,
    registers: bool,
    name: String,
    configuration: NodeConfiguration,
    named_pool: Option<String>,
}

/// The registry. Nodes are read again only when they have changed.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    known: HashMap<String, Known>,
    pools: BTreeMap<String, Pool>,
    problems: Vec<NodeProblem>,
}

impl Registry {
    /// Takes over the nodes of a state. `fallbacks` are the configurations of pools whose nodes name nothing but their
    /// pool.
    pub fn update(&mut self, state: &State, fallbacks: &Fallbacks) {
        let mut seen = 0usize;
        for entry in state.nodes() {
            let node = &entry.node;
            seen += 1;
            if self.known.get(&node.id).is_some_and(|k| k.modify_index == node.modify_index) {
                continue;
            }
            let known = Known {
                modify_index: node.modify_index,
                registers: node.ready(),
                name: node.name.clone(),
                configuration: NodeConfiguration::read(&node.meta),
                named_pool: node.meta.get(WORKER_POOL).cloned(),
            };
            self.known.insert(node.id.clone(), known);
        }
        if self.known.len() > seen {
            self.known.retain(|id, _| state.node(id).is_some());
        }
        self.group(fallbacks);
    }

    /// Names of pools that a node refers to without saying more.
    pub fn named_alone(&self) -> BTreeSet<String> {
        let names = self.known.values().filter_map(|k| match &k.configuration {
            NodeConfiguration::Pool(name) => Some(name.clone()),
            _ => None,
        });
        names.collect()
    }

    /// Puts nodes into pools. Only nodes that may be registered are considered: what is wrong with others does not
    /// matter yet.
    fn group(&mut self, fallbacks: &Fallbacks) {
        let mut problems: Vec<NodeProblem> = Vec::new();
        let mut members: BTreeMap<&str, Vec<Member<'_>>> = BTreeMap::new();
        for (id, known) in self.known.iter().filter(|(_, k)| k.registers) {
            match parameters(&known.configuration, fallbacks) {
                Ok(None) => {}
                Ok(Some(parameters)) if !parameters.enabled => {}
                Ok(Some(parameters)) => {
                    let member = Member { modify_index: known.modify_index, id, parameters };
                    members.entry(&parameters.worker_pool).or_default().push(member);
                }
                Err(found) => problems.push(NodeProblem {
                    node_id: id.clone(),
                    node_name: known.name.clone(),
                    pool: known.named_pool.clone(),
                    problems: found,
                }),
            }
        }
        problems.sort_by(|a, b| a.node_id.cmp(&b.node_id));
        let pools = members.into_iter().filter_map(|(name, nodes)| Some((name.to_string(), pool(name, nodes)?)));
        self.pools = pools.collect();
        self.problems = problems;
    }

    /// The pools by name.
    pub fn pools(&self) -> &BTreeMap<String, Pool> {
        &self.pools
    }

    /// Nodes whose configuration does not hold, by ID.
    pub fn problems(&self) -> &[NodeProblem] {
        &self.problems
    }
}

/// A node of a pool while nodes are put into pools.
struct Member<'a> {
    modify_index: u64,
    id: &'a String,
    parameters: &'a PoolParameters,
}

/// The parameters of a node, if it takes part in scaling at all, or what is wrong with them.
fn parameters<'a>(
    configuration: &'a NodeConfiguration,
    fallbacks: &'a Fallbacks,
) -> Result<Option<&'a PoolParameters>, Vec<String>> {
    let name = match configuration {
        NodeConfiguration::Absent => return Ok(None),
        NodeConfiguration::Invalid(problems) => return Err(problems.clone()),
        NodeConfiguration::Full(parameters) => return Ok(Some(parameters)),
        NodeConfiguration::Pool(name) => name,
    };
    let path = || crate::paths::pool_configuration(name);
    match fallbacks.get(name) {
        Some(Ok(parameters)) if parameters.worker_pool == *name => Ok(Some(parameters)),
        Some(Ok(parameters)) => {
            let other = &parameters.worker_pool;
            Err(vec![format!("{}: {WORKER_POOL} is {other:?}, but the Variable belongs to {name:?}", path())])
        }
        Some(Err(problems)) => Err(problems.iter().map(|p| format!("{}: {p}", path())).collect()),
        None => Err(vec![format!(
            "the node sets only the pool's name, and the Variable {} with the other parameters does not exist",
            path()
        )]),
    }
}

/// The pool of some nodes; `None` without nodes.
fn pool(name: &str, mut nodes: Vec<Member<'_>>) -> Option<Pool> {
    nodes.sort_by(|a, b| b.modify_index.cmp(&a.modify_index).then_with(|| a.id.cmp(b.id)));
    let (first, others) = nodes.split_first()?;
    let parameters = first.parameters;
    let counts = parameters.fields();
    let mut found: BTreeMap<(&'static str, String), Disagreement> = BTreeMap::new();
    for other in others.iter().filter(|n| n.parameters != parameters) {
        for ((key, value), (_, theirs)) in counts.iter().zip(other.parameters.fields()) {
            if *value != theirs {
                found.entry((key, theirs.clone())).or_insert_with(|| Disagreement {
                    key,
                    counts: (first.id.clone(), value.clone()),
                    other: (other.id.clone(), theirs),
                });
            }
        }
    }
    Some(Pool {
        name: name.to_string(),
        parameters: parameters.clone(),
        nodes: nodes.iter().map(|n| n.id.clone()).collect(),
        disagreements: found.into_values().collect(),
    })
}

#[cfg(test)]
mod tests;

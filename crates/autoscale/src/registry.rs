//! Which node belongs to which worker pool (`docs/spec/cluster-scaling.md §2`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use encamp_model::Node;
use encamp_state::State;

use crate::params::{NodeConfiguration, PoolParameters};

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

/// A node whose configuration does not hold; it is not registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeProblem {
    /// Its ID.
    pub node_id: String,
    /// Its name.
    pub node_name: String,
    /// The pool it names, where it names one.
    pub pool: Option<String>,
    /// What is wrong, one line each.
    pub problems: Vec<String>,
}

/// What is known of one node.
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

/// Whether a node may be registered.
fn registers(node: &Node) -> bool {
    node.ready()
}

impl Registry {
    /// Takes over the nodes of a state. `fallbacks` are the configurations of pools whose nodes name nothing but their pool.
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
                registers: registers(node),
                name: node.name.clone(),
                configuration: NodeConfiguration::read(&node.meta),
                named_pool: node.meta.get(crate::params::WORKER_POOL).cloned(),
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

    /// Puts nodes into pools.
    fn group(&mut self, fallbacks: &Fallbacks) {
        self.problems.clear();
        let mut members: BTreeMap<String, Vec<(u64, &String, PoolParameters)>> = BTreeMap::new();
        for (id, known) in &self.known {
            let problem = |problems: Vec<String>| NodeProblem {
                node_id: id.clone(),
                node_name: known.name.clone(),
                pool: known.named_pool.clone(),
                problems,
            };
            let parameters = match &known.configuration {
                NodeConfiguration::Absent => continue,
                NodeConfiguration::Invalid(problems) => {
                    self.problems.push(problem(problems.clone()));
                    continue;
                }
                NodeConfiguration::Full(p) => (**p).clone(),
                NodeConfiguration::Pool(name) => match fallbacks.get(name) {
                    Some(Ok(p)) => p.clone(),
                    Some(Err(problems)) => {
                        let path = crate::paths::pool_configuration(name);
                        self.problems.push(problem(problems.iter().map(|p| format!("{path}: {p}")).collect()));
                        continue;
                    }
                    None => {
                        let path = crate::paths::pool_configuration(name);
                        self.problems.push(problem(vec![format!(
                            "the node names its pool alone, and there is no Variable {path} with the rest"
                        )]));
                        continue;
                    }
                },
            };
            if known.registers && parameters.enabled {
                let pool = parameters.worker_pool.clone();
                members.entry(pool).or_default().push((known.modify_index, id, parameters));
            }
        }
        self.problems.sort_by(|a, b| a.node_id.cmp(&b.node_id));
        self.pools = members.into_iter().map(|(name, nodes)| (name.clone(), pool(name, nodes))).collect();
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

fn pool(name: String, mut nodes: Vec<(u64, &String, PoolParameters)>) -> Pool {
    nodes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let ids = nodes.iter().map(|(_, id, _)| (*id).clone()).collect();
    let mut nodes = nodes.into_iter();
    let Some((_, first, parameters)) = nodes.next() else { unreachable!("a pool has a node") };
    let counts = parameters.fields();
    let mut found: BTreeMap<(&'static str, String), Disagreement> = BTreeMap::new();
    for (_, id, other) in nodes.filter(|(_, _, p)| *p != parameters) {
        for ((key, value), (_, theirs)) in counts.iter().zip(other.fields()) {
            if *value != theirs {
                found.entry((key, theirs.clone())).or_insert_with(|| Disagreement {
                    key,
                    counts: (first.clone(), value.clone()),
                    other: (id.clone(), theirs),
                });
            }
        }
    }
    Pool { name, parameters, nodes: ids, disagreements: found.into_values().collect() }
}

//! The node list of the schedulers: small rows in ID order, shared by all snapshots until a node changes. If a node
//! only becomes ready or not ready, its row is updated; after other changes all rows are recreated.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::node::NodeEntry;
use encamp_model::Node;

/// The properties that decide whether a node is a candidate; names are numbers into the index.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct NodeRow {
    /// The node's place in the state.
    pub slot: u32,
    /// Its datacenter.
    pub datacenter: u32,
    /// Its pool.
    pub pool: u32,
    /// Takes allocations: ready, eligible and not draining.
    pub ready: bool,
}

/// All nodes by ascending ID, with their datacenters, pools and computed classes numbered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NodeIndex {
    rows: Vec<NodeRow>,
    names: Arc<Names>,
    #[serde(skip)]
    node_verdicts: Arc<Mutex<HashMap<String, Arc<Verdicts>>>>,
}

/// The part that does not depend on which nodes take allocations.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Names {
    datacenters: Vec<String>,
    pools: Vec<String>,
    classes: Vec<String>,
    /// Class by slot.
    class_of: Vec<u32>,
    /// The classes that operators give, each once; empty text for nodes without one.
    node_classes: Vec<String>,
    /// Their numbers by slot.
    node_class_of: Vec<u32>,
    client_versions: Vec<String>,
    #[serde(skip)]
    class_verdicts: Mutex<HashMap<CheckKey, Arc<Verdicts>>>,
}

/// More checks than that are not remembered for other evaluations.
const MOST_CHECKS: usize = 10_000;
/// The same of checks of nodes: there are more nodes than classes.
const MOST_NODE_CHECKS: usize = 1_000;

/// A check: its text, and how long the parts are of which the text is put together.
pub type CheckKey = (String, usize, usize);

/// What a check says about numbered computed classes or nodes, so that it need not be made again, neither in another
/// evaluation nor in another thread.
#[derive(Debug)]
pub struct Verdicts {
    by_number: Box<[AtomicU8]>,
    /// By the traits of nodes.
    by_traits: Mutex<HashMap<u64, bool>>,
}

/// Verdicts on more traits than that are not remembered.
const MOST_TRAITS: usize = 256;

const UNKNOWN: u8 = 0;
const HOLDS: u8 = 1;
const FAILS: u8 = 2;

impl Verdicts {
    fn new(count: usize) -> Verdicts {
        Verdicts { by_number: (0..count).map(|_| AtomicU8::new(UNKNOWN)).collect(), by_traits: Mutex::default() }
    }

    /// The same as [`Verdicts::holds`] of a node with these [`NodeInfo::traits`](crate::NodeInfo::traits), on which the
    /// check depends alone: what is known of another node with them need not be found out again.
    pub fn holds_alike(&self, number: usize, traits: u64, check: impl FnOnce() -> bool) -> bool {
        self.holds(number, || {
            // In a statement of its own: the lock is not held while the check is made.
            let known = self.by_traits.lock().get(&traits).copied();
            known.unwrap_or_else(|| {
                let holds = check();
                let mut by_traits = self.by_traits.lock();
                if by_traits.len() < MOST_TRAITS {
                    by_traits.insert(traits, holds);
                }
                holds
            })
        })
    }

    /// Whether the check holds for the class or node of a number; it is made only if that is not known.
    pub fn holds(&self, number: usize, check: impl FnOnce() -> bool) -> bool {
        let Some(known) = self.by_number.get(number) else { return check() };
        // Who comes second finds the same.
        match known.load(Ordering::Relaxed) {
            UNKNOWN => {
                let holds = check();
                known.store(if holds { HOLDS } else { FAILS }, Ordering::Relaxed);
                holds
            }
            verdict => verdict == HOLDS,
        }
    }
}

/// Numbers names in the order of their first use.
#[derive(Default)]
struct Numbers<'a> {
    known: HashMap<&'a str, u32>,
    names: Vec<String>,
}

impl<'a> Numbers<'a> {
    fn number(&mut self, name: &'a str) -> u32 {
        if let Some(n) = self.known.get(name) {
            return *n;
        }
        let n = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.known.insert(name, n);
        self.names.push(name.to_string());
        n
    }
}

impl NodeIndex {
    /// Indexes nodes given by ascending ID; `slots` is one more than the largest slot.
    pub(super) fn new<'a>(nodes: impl Iterator<Item = &'a NodeEntry>, slots: usize) -> NodeIndex {
        let (mut datacenters, mut pools, mut classes) = (Numbers::default(), Numbers::default(), Numbers::default());
        let (mut versions, mut node_classes) = (Numbers::default(), Numbers::default());
        let mut rows = Vec::with_capacity(slots);
        let (mut class_of, mut node_class_of) = (vec![0; slots], vec![0; slots]);
        for n in nodes {
            let node = &*n.node;
            rows.push(NodeRow {
                slot: n.slot,
                datacenter: datacenters.number(&node.datacenter),
                pool: pools.number(&node.node_pool),
                ready: node.ready(),
            });
            versions.number(client_version(node));
            if let Some(c) = class_of.get_mut(n.slot as usize) {
                *c = classes.number(&node.computed_class);
            }
            if let Some(c) = node_class_of.get_mut(n.slot as usize) {
                *c = node_classes.number(&node.node_class);
            }
        }
        let names = Names {
            datacenters: datacenters.names,
            pools: pools.names,
            classes: classes.names,
            class_of,
            node_classes: node_classes.names,
            node_class_of,
            client_versions: versions.names,
            class_verdicts: Mutex::default(),
        };
        NodeIndex { rows, names: Arc::new(names), node_verdicts: Arc::default() }
    }

    /// Writes whether a node takes allocations; nothing else depends on it.
    pub(super) fn set_ready(&mut self, slot: u32, ready: bool) {
        if let Some(row) = self.rows.iter_mut().find(|r| r.slot == slot) {
            row.ready = ready;
        }
    }

    /// All nodes by ascending ID.
    pub fn rows(&self) -> &[NodeRow] {
        &self.rows
    }

    /// The datacenters by number.
    pub fn datacenters(&self) -> &[String] {
        &self.names.datacenters
    }

    /// The pools by number.
    pub fn pools(&self) -> &[String] {
        &self.names.pools
    }

    /// The computed classes by number.
    pub fn classes(&self) -> &[String] {
        &self.names.classes
    }

    /// Forgets what checks say about nodes, because the facts of a node changed.
    pub(super) fn forget_node_verdicts(&mut self) {
        self.node_verdicts = Arc::default();
    }

    /// What a check says about the computed classes, by their numbers, as far as it was asked. It says the same about
    /// all nodes whose properties are those of the class.
    pub fn class_verdicts(&self, check: CheckKey) -> Arc<Verdicts> {
        remembered(&self.names.class_verdicts, check, MOST_CHECKS, self.names.classes.len())
    }

    /// What a check of drivers, attributes and resources says about the nodes, by their slots, as far as it was asked.
    /// Equal keys stand for equal checks.
    pub fn node_verdicts(&self, check: String) -> Arc<Verdicts> {
        remembered(&self.node_verdicts, check, MOST_NODE_CHECKS, self.names.class_of.len())
    }

    /// The releases the nodes' clients run, each once; empty text for nodes that do not say.
    pub fn client_versions(&self) -> &[String] {
        &self.names.client_versions
    }

    /// The number of a node's computed class.
    pub fn class_of(&self, slot: u32) -> usize {
        self.names.class_of.get(slot as usize).map_or(0, |c| *c as usize)
    }

    /// The classes that operators give to nodes, by number; empty text for nodes without one.
    pub fn node_classes(&self) -> &[String] {
        &self.names.node_classes
    }

    /// The number of the class that a node was given.
    pub fn node_class_of(&self, slot: u32) -> usize {
        self.names.node_class_of.get(slot as usize).map_or(0, |c| *c as usize)
    }
}

/// The verdicts of a check, shared unless there are too many checks.
fn remembered<K: Eq + Hash>(
    known: &Mutex<HashMap<K, Arc<Verdicts>>>,
    check: K,
    most: usize,
    count: usize,
) -> Arc<Verdicts> {
    let new = || Arc::new(Verdicts::new(count));
    let mut known = known.lock();
    if known.len() >= most && !known.contains_key(&check) {
        return new();
    }
    known.entry(check).or_insert_with(new).clone()
}

/// The release a node's client runs.
pub fn client_version(node: &Node) -> &str {
    node.attributes.get("nomad.version").map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(classes: usize) -> NodeIndex {
        let names = Names { classes: (0..classes).map(|n| n.to_string()).collect(), ..Names::default() };
        NodeIndex { names: Arc::new(names), ..NodeIndex::default() }
    }

    #[test]
    fn a_check_is_made_once_per_class_for_all_evaluations() {
        let index = index(2);
        let ask = |text: &str, left: usize, class: usize| {
            let mut asked = 0;
            let verdicts = index.clone().class_verdicts((text.into(), left, 1));
            let holds = verdicts.holds(class, || {
                asked += 1;
                class == 0
            });
            (holds, asked)
        };
        assert_eq!([ask("a = b", 1, 0), ask("a = b", 1, 1)], [(true, 1), (false, 1)]);
        assert_eq!([ask("a = b", 1, 0), ask("a = b", 1, 1)], [(true, 0), (false, 0)]);
        // The same text with other parts is another check; an unknown class is not remembered.
        assert_eq!(ask("a = b", 3, 0), (true, 1));
        assert_eq!([ask("a = b", 1, 2), ask("a = b", 1, 2)], [(false, 1), (false, 1)]);
    }

    #[test]
    fn verdicts_on_nodes_are_forgotten_for_new_holders_only() {
        let names = Names { class_of: vec![0; 2], ..Names::default() };
        let mut index = NodeIndex { names: Arc::new(names), ..NodeIndex::default() };
        let older = index.clone();
        assert!(index.node_verdicts("docker".into()).holds(1, || true));
        index.forget_node_verdicts();
        assert!(!index.node_verdicts("docker".into()).holds(1, || false));
        assert!(older.node_verdicts("docker".into()).holds(1, || false));
    }

    #[test]
    fn nodes_with_the_same_traits_are_checked_once() {
        let verdicts = Verdicts::new(4);
        assert!(verdicts.holds_alike(0, 7, || true) && verdicts.holds_alike(1, 7, || false));
        assert!(!verdicts.holds_alike(2, 8, || false) && !verdicts.holds_alike(3, 8, || true));
        // What is known of a node itself stays.
        assert!(verdicts.holds_alike(0, 8, || false));
        for traits in 0..2 * MOST_TRAITS as u64 {
            assert!(Verdicts::new(1).holds_alike(0, traits, || true));
            verdicts.holds_alike(9, 10 + traits, || true);
        }
        assert_eq!(verdicts.by_traits.lock().len(), MOST_TRAITS);
    }

    #[test]
    fn so_many_checks_are_remembered() {
        let index = index(1);
        for n in 0..MOST_CHECKS + 10 {
            index.class_verdicts((n.to_string(), 1, 1));
        }
        assert_eq!(index.names.class_verdicts.lock().len(), MOST_CHECKS);
        assert_eq!(Arc::strong_count(&index.class_verdicts(("0".into(), 1, 1))), 2, "known ones are still shared");
    }
}

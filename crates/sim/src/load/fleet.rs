//! Many simulated nodes in one process.

use std::net::Ipv4Addr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::node::SimNode;
use super::tally::Tally;
use crate::nodes::{self, Condition, SHAPES, class};
use encamp_client::servers::Servers;
use encamp_model::random::Random;
use encamp_model::{NodeStatus, SECOND};
use encamp_rpc::nodes::Remote;
use encamp_rpc::pool::{Pool, PoolSettings};

/// Nodes at one address.
const OF_ONE_ADDRESS: usize = 1000;
/// Nodes that register at the same time.
const AT_ONCE: usize = 256;

/// The specification of the fleet.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// Number of nodes.
    pub nodes: usize,
    /// The seed of IDs, attributes and waits.
    pub seed: u64,
    /// All nodes are alike, but for their attributes; otherwise they are of all classes.
    pub alike: bool,
    /// Waits are as short as in development mode.
    pub quick: bool,
}

/// How a node reaches its servers: each gets connections of its own.
pub type Connect = Arc<dyn Fn() -> Arc<dyn Servers> + Send + Sync>;

/// Nodes that reach servers of this machine over the network, so many over one connection. They come from several of its
/// addresses: servers bound what one address may newly register, and an address has some 28,000 ports.
pub(crate) fn over_network(addresses: Vec<String>, of_one_connection: usize) -> Connect {
    let settings = Pool::new(PoolSettings::default());
    let made: Mutex<(usize, Option<Pool>)> = Mutex::default();
    Arc::new(move || {
        let mut made = made.lock();
        let (number, last) = &mut *made;
        let pool = last.take().filter(|_| !number.is_multiple_of(of_one_connection)).unwrap_or_else(|| {
            // All of 127.0.0.0/8 is this machine.
            let group = u8::try_from(*number / OF_ONE_ADDRESS % 254).unwrap_or(0) + 1;
            settings.another_from(Ipv4Addr::new(127, 0, 1, group).into())
        });
        *number += 1;
        *last = Some(pool.clone());
        Arc::new(Remote::new(pool, addresses.clone()))
    })
}

/// The nodes. They stop when this is dropped.
pub struct Fleet {
    nodes: Vec<Arc<SimNode>>,
    running: Vec<Option<JoinHandle<()>>>,
    gate: Arc<Semaphore>,
    connect: Connect,
    tally: Arc<Tally>,
}

impl Fleet {
    /// Makes the nodes; none runs yet. `now` in Unix nanoseconds.
    pub fn new(options: &FleetOptions, now: i64, connect: Connect) -> Fleet {
        let mut random = Random::new(options.seed, "fleet");
        let classes = if options.alike {
            vec![class::GENERAL; options.nodes]
        } else {
            nodes::classes(options.nodes, &mut random)
        };
        let tally = Arc::new(Tally::default());
        let make = |(number, class): (usize, &usize)| {
            let shape = SHAPES.get(*class).unwrap_or(&SHAPES[class::GENERAL]);
            let mut node = nodes::node(number, shape, Condition::Ready, now - now % SECOND, &mut random);
            node.secret_id = random.uuid().into();
            // The servers decide what is left out here.
            node.status = NodeStatus::Initializing;
            (node.create_index, node.modify_index, node.status_updated_at) = (0, 0, 0);
            Arc::new(SimNode::new(node, options.seed, options.quick, tally.clone()))
        };
        let nodes: Vec<_> = classes.iter().enumerate().map(make).collect();
        let running = nodes.iter().map(|_| None).collect();
        Fleet { nodes, running, gate: Arc::new(Semaphore::new(AT_ONCE)), connect, tally }
    }

    /// How many nodes there are, running or not.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The ID of a node; empty if there is no such node.
    pub fn id(&self, number: usize) -> &str {
        self.nodes.get(number).map_or("", |n| n.id())
    }

    /// Whether a node runs allocations.
    pub(crate) fn is_used(&self, number: usize) -> bool {
        self.nodes.get(number).is_some_and(|n| n.is_used())
    }

    /// The counters of the nodes.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Starts a node; one that runs goes on.
    pub fn start(&mut self, number: usize) {
        let (Some(node), Some(slot)) = (self.nodes.get(number), self.running.get_mut(number)) else { return };
        if slot.is_none() {
            let (node, gate, servers) = (node.clone(), self.gate.clone(), (self.connect)());
            *slot = Some(tokio::spawn(async move { node.live(&*servers, &gate).await }));
        }
    }

    /// Starts all.
    pub(crate) fn start_all(&mut self) {
        (0..self.len()).for_each(|n| self.start(n));
    }

    /// Stops a node as if its machine had died: no server is notified, its connections are gone.
    pub fn kill(&mut self, number: usize) {
        if let Some(running) = self.running.get_mut(number).and_then(Option::take) {
            running.abort();
        }
    }

    /// Kills all.
    pub(crate) fn kill_all(&mut self) {
        (0..self.len()).for_each(|n| self.kill(n));
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.kill_all();
    }
}

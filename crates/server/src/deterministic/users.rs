//! Common parts of all clients of the cluster: they look for the leader, and stop when asked to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cluster::Cluster;
use super::network::Place;
use encamp_model::random::Random;

/// A stop flag for all clients.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks all clients to stop.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether clients have to stop.
    pub(crate) fn now(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The server that some server considers the leader. This may be outdated.
pub(crate) fn find_leader(cluster: &Cluster, random: &mut Random) -> Option<Place> {
    let servers = cluster.servers();
    let (at, asked) = random.pick(&servers)?;
    let leadership = asked.consensus().leadership().borrow().clone();
    if leadership.is_leader {
        return Some(*at);
    }
    cluster.network.place_of(leadership.leader?.0)
}

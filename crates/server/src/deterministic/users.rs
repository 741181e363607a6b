//! What all who use the cluster have in common: they look for the leader, and stop when they are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cluster::Cluster;
use super::network::Place;
use encamp_model::random::Random;

/// Tells everybody to stop.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it is time.
    pub(crate) fn now(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The server that some server takes for the leader. That may be long over.
pub(crate) fn find_leader(cluster: &Cluster, random: &mut Random) -> Option<Place> {
    let servers = cluster.servers();
    let (at, asked) = random.pick(&servers)?;
    let leadership = asked.consensus().leadership().borrow().clone();
    if leadership.is_leader {
        return Some(*at);
    }
    cluster.network.place_of(leadership.leader?.0)
}

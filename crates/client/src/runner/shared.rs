//! What all runners of a node share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::agent_services::AgentServices;
use crate::config::Config;
use crate::csi::Csi;
use crate::drivers::Driver;
use crate::network::records::Networks;
use crate::policy::gc::Marks;
use crate::servers::Credentials;
use crate::store::Store;
use encamp_model::random::Random;
use encamp_model::{Allocation, Node};

/// The parts that all runners of a node share.
pub struct Shared {
    /// Settings.
    pub config: Config,
    /// What the agent does for the node.
    pub services: AgentServices,
    /// The node's ID and secrets.
    pub who: Mutex<Credentials>,
    /// Drivers by name.
    pub drivers: BTreeMap<String, Arc<dyn Driver>>,
    /// The stored state.
    pub store: Store,
    /// The node as it is now.
    pub node: RwLock<Node>,
    /// The node changed: servers are to learn that.
    pub node_changed: tokio::sync::Notify,
    /// Its storage plugins.
    pub csi: Csi,
    /// The networks of allocations.
    pub networks: Networks,
    /// The agent's environment.
    pub host_env: BTreeMap<String, String>,
    /// Where the allocations have their files.
    pub alloc_dir: PathBuf,
    /// Jitter.
    pub random: Mutex<Random>,
    /// The servers were asked what to run, with success.
    pub contacted: tokio::sync::watch::Sender<bool>,
    /// Takes every new view of an allocation.
    pub report: Box<dyn Fn(Allocation) + Send + Sync>,
    /// When allocations are marked for collection.
    pub marks: Mutex<Marks>,
    /// Wants a pass of local collection.
    pub collect: tokio::sync::Notify,
}

impl Shared {
    /// The node as it is now.
    pub fn node(&self) -> Node {
        self.node.read().clone()
    }

    /// The connection to the servers.
    pub fn who(&self) -> Credentials {
        self.who.lock().clone()
    }

    /// Draws jitter.
    pub fn draw<T>(&self, f: impl FnOnce(&mut Random) -> T) -> T {
        f(&mut self.random.lock())
    }
}

//! The gossip identity of a server.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use encamp_raft::ServerId;
use encamp_server::leadership::peers::{KnownServer, Status};

/// A server as it tells others of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Where it listens.
    pub addr: SocketAddr,
    /// Rises with every start, and whenever other servers suspected it: of two with one address the higher one counts.
    pub bump: u64,
    /// Its ID.
    pub id: ServerId,
    /// Its name, without the region.
    pub name: String,
    /// Its region.
    pub region: String,
    /// Its datacenter.
    pub datacenter: String,
    /// Where it answers calls.
    pub rpc: String,
    /// How many servers it expects (`bootstrap_expect`).
    pub expect: u32,
    /// It leaves.
    pub left: bool,
}

impl Identity {
    /// Somebody at an address, whoever it is.
    pub fn at(addr: SocketAddr) -> Identity {
        Identity {
            addr,
            bump: 0,
            id: ServerId::default(),
            name: String::new(),
            region: String::new(),
            datacenter: String::new(),
            rpc: String::new(),
            expect: 0,
            left: false,
        }
    }

    /// Its name among all regions.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}", self.name, self.region)
    }

    pub(super) fn known(&self, status: Status) -> KnownServer {
        KnownServer {
            id: self.id,
            name: self.full_name(),
            region: self.region.clone(),
            datacenter: self.datacenter.clone(),
            rpc: self.rpc.clone(),
            serf: self.addr,
            expect: self.expect,
            status,
            level: None,
        }
    }
}

impl foca::Identity for Identity {
    type Addr = SocketAddr;

    /// A server that was suspected comes back at once; a server that left stays away.
    fn renew(&self) -> Option<Identity> {
        (!self.left).then(|| Identity { bump: self.bump.wrapping_add(1), ..self.clone() })
    }

    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn win_addr_conflict(&self, other: &Identity) -> bool {
        (self.bump, self.id) > (other.bump, other.id)
    }
}

//! Memory for messages in flight, and how much one address may newly register.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use tokio::time::Instant;

use encamp_http::serve::bodies::Budget;

/// Memory for messages in flight from nodes: from all nodes, and from one address. What they become when they are read
/// counts too.
const MESSAGES: (usize, usize) = (256 << 20, 128 << 20);
/// The same for callers that this server does not know.
const OF_STRANGERS: (usize, usize) = (32 << 20, 8 << 20);
/// The same for servers of the cluster.
const OF_SERVERS: (usize, usize) = (1 << 30, 1 << 30);
/// Bytes of nodes and pools that one address may newly register at once, and in a second.
const NEW_NODES: (f64, f64) = (32.0 * 1024.0 * 1024.0, 64.0 * 1024.0);
/// Addresses whose registrations are counted.
const COUNTED: usize = 4096;

/// Memory for messages, and how much is newly registered.
pub(crate) struct Budgets {
    pub nodes: Budget,
    pub strangers: Budget,
    pub servers: Budget,
    /// The number of nodes that an address may still register, and since when it has earned more.
    new_nodes: Mutex<HashMap<IpAddr, (f64, Instant)>>,
}

impl Default for Budgets {
    fn default() -> Budgets {
        let budget = |(all, of_one)| Budget::new(all, of_one);
        let (nodes, strangers, servers) = (budget(MESSAGES), budget(OF_STRANGERS), budget(OF_SERVERS));
        Budgets { nodes, strangers, servers, new_nodes: Mutex::default() }
    }
}

impl Budgets {
    /// Whether an address may register something new of that size.
    pub(crate) fn new_nodes(&self, address: IpAddr, bytes: usize) -> bool {
        let ((most, rate), now) = (NEW_NODES, Instant::now());
        let mut counted = self.new_nodes.lock();
        let earned = |(left, since): (f64, Instant)| (left + (now - since).as_secs_f64() * rate).min(most);
        if counted.len() >= COUNTED && !counted.contains_key(&address) {
            counted.retain(|_, entry| earned(*entry) < most);
        }
        if counted.len() >= COUNTED && !counted.contains_key(&address) {
            return false;
        }
        let entry = counted.entry(address).or_insert((most, now));
        let left = earned(*entry) - bytes as f64;
        *entry = (if left >= 0.0 { left } else { earned(*entry) }, now);
        left >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_registers_so_many_new_nodes_and_earns_more() {
        let budgets = Budgets::default();
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let mut taken = 0;
        while budgets.new_nodes(one, 1 << 20) {
            taken += 1;
        }
        assert_eq!(taken, 32);
        assert!(budgets.new_nodes(other, 1 << 20));
        tokio::time::advance(Duration::from_secs(17)).await;
        assert!(budgets.new_nodes(one, 1 << 20) && !budgets.new_nodes(one, 1 << 20));
    }
}

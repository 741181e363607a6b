//! Which agents are servers, according to the cluster members (`docs/spec/cluster-scaling.md §6`).

use encamp_autoscale::protection::ServerMember;
use encamp_server::leadership::peers::{KnownServer, Status};

/// The servers that a server knows through gossip, except those that left.
pub fn of_known(known: &[KnownServer]) -> Vec<ServerMember> {
    let present = known.iter().filter(|k| match k.status {
        Status::Alive | Status::Leaving | Status::Failed => true,
        Status::Left => false,
    });
    present.map(|k| ServerMember::new(&k.name, &k.region, [k.serf.ip().to_string().as_str(), &k.rpc])).collect()
}

#[cfg(test)]
mod tests {
    use encamp_raft::ServerId;

    use super::*;

    #[test]
    fn servers_that_left_do_not_count() {
        let want = |name: &str| ServerMember::new(name, "eu", ["10.0.0.1", "10.0.0.2"]);
        let known = |name: &str, status| KnownServer {
            id: ServerId::default(),
            name: name.into(),
            region: "eu".into(),
            datacenter: "dc1".into(),
            rpc: "10.0.0.2:4647".into(),
            serf: ([10, 0, 0, 1], 4648).into(),
            expect: 3,
            status,
            level: None,
        };
        let known = [known("a.eu", Status::Alive), known("b.eu", Status::Failed), known("c.eu", Status::Left)];
        assert_eq!(of_known(&known), ["a.eu", "b.eu"].map(want));
    }
}

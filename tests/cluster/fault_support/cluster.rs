//! The agents: three servers behind their proxies, and one node.

use serde_json::Value as Json;

use super::SERVERS;
use super::disks::Disks;
use super::network::Network;
use crate::agent::wait_for;
use crate::crash_support::checks::{NODE_MB, NODE_MHZ};
use crate::crash_support::view::View;
use crate::crash_support::writers::{self, Writer};
use crate::member::{self, Member, Role, quoted};

/// A cluster and its writers. Fields are dropped in order of declaration.
pub struct Cluster {
    pub writers: Vec<Writer>,
    pub node: Member,
    pub servers: Vec<Member>,
    pub network: Network,
    /// The disks of the servers' data directories, if mounting is permitted.
    pub disks: Option<Disks>,
}

/// Snapshots and log truncations happen frequently.
fn server(join: &[String]) -> Role {
    Role::Other(format!(
        "server {{
            enabled = true
            bootstrap_expect = {SERVERS}
            raft_snapshot_threshold = 150
            raft_snapshot_interval = \"100ms\"
            raft_trailing_logs = 20
            server_join {{\n retry_join = [{}]\n retry_interval = \"1s\"\n }}
        }}\n",
        quoted(join)
    ))
}

fn node(servers: &[String]) -> Role {
    Role::Other(format!(
        "client {{
            enabled = true
            servers = [{}]
            cpu_total_compute = {NODE_MHZ}
            memory_total_mb = {NODE_MB}
            disk_total_mb = 100000
            gc_max_allocs = 1000
        }}
        plugin \"mock_driver\" {{\n}}\n",
        quoted(servers)
    ))
}

impl Cluster {
    pub fn new(name: &str, seed: u64) -> Cluster {
        let network = Network::new();
        let of = |n: usize| network.addresses.iter().map(|a| a[n].clone()).collect::<Vec<String>>();
        let (rpc, serf) = (of(0), of(1));
        let servers: Vec<Member> = (0..SERVERS)
            .map(|i| {
                let mut server = Member::new(&format!("{name}-s{i}"), server(&serf));
                server.advertised = Some(network.addresses[i].clone());
                std::fs::create_dir_all(server.data()).expect("a folder");
                server
            })
            .collect();
        let disks = Disks::new(&servers.iter().map(Member::data).collect::<Vec<_>>());
        let node = Member::new(&format!("{name}-node"), node(&rpc));
        let mut cluster = Cluster { writers: Vec::new(), node, servers, network, disks };
        (0..SERVERS).for_each(|i| cluster.start(i, None));
        cluster.node.launch();
        cluster.network.process(SERVERS, cluster.node.agent().pid());
        cluster.node.serves();
        let id = cluster.ready();
        let made = cluster.servers[0].agent().send("PUT", "/v1/jobs", &writers::parent());
        assert_eq!(made.status, 200, "{}", made.body);
        cluster.writers = writers::all(&id, seed);
        for ledger in cluster.writers.iter_mut().map(|w| &mut w.ledger) {
            ledger.port = cluster.servers[0].port();
            ledger.observe().expect("an answer");
        }
        cluster
    }

    /// Starts or restarts a server. `clock`: the offset of its monotonic clock, in seconds.
    pub fn start(&mut self, i: usize, clock: Option<i64>) {
        let server = &mut self.servers[i];
        server.wrapper = self.disks.as_ref().map(Disks::wrapper).unwrap_or_default();
        if let Some(offset) = clock {
            server.wrapper.extend(clock_wrapper(offset));
        }
        server.launch();
        self.network.process(i, server.agent().pid());
        server.serves();
        let [_, rpc, serf] = server.ports();
        self.network.listens(i, rpc, serf);
    }

    /// Stale reads of a server.
    pub fn own(&self, i: usize) -> View {
        View { port: self.servers[i].port(), stale: true }
    }

    /// Consistent reads through a server.
    pub fn by(&self, i: usize) -> View {
        View::of(self.servers[i].port())
    }

    pub fn leader(&self) -> usize {
        member::leader(&self.servers)
    }

    /// Waits for a leader and a node. Returns the node ID.
    fn ready(&self) -> String {
        let mut id = String::new();
        wait_for("the node is ready", || {
            let nodes = self.servers[0].read("/v1/nodes")?;
            match nodes.get(0) {
                Some(node) if node["Status"] == "ready" => id = text(&node["ID"]),
                _ => return Err(nodes.to_string()),
            }
            Ok(())
        });
        id
    }
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().into()
}

/// The wrapper command that starts a program with a clock offset: in a time namespace, which has no wall clock of its
/// own.
pub fn clock_wrapper(offset: i64) -> Vec<String> {
    let offset = offset.to_string();
    ["unshare", "--time", "--monotonic", &offset, "--boottime", &offset, "--"].map(String::from).into()
}

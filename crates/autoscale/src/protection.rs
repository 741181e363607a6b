//! The nodes that a scale-in never removes, with the reason (`docs/spec/cluster-scaling.md §6`).

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use encamp_model::Node;
use encamp_state::State;

use crate::view::PoolView;

/// The attribute of a node with its IP address.
const IP_ADDRESS: &str = "unique.network.ip-address";

/// Why a node is never removed. A node with several reasons has the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtectedBy {
    /// It runs the autoscaler, as an allocation.
    Autoscaler,
    /// Its agent is also a server of the cluster, which takes part in consensus.
    Server,
    /// It has an allocation of a job whose meta sets `encamp_protect`.
    Job,
}

impl ProtectedBy {
    /// All of them, in the order in which they count.
    pub const ALL: [ProtectedBy; 3] = [ProtectedBy::Autoscaler, ProtectedBy::Server, ProtectedBy::Job];

    /// The protected allocations of such a node.
    pub fn runs(self) -> &'static str {
        match self {
            ProtectedBy::Autoscaler => "the autoscaler itself",
            ProtectedBy::Server => "a server of the cluster",
            ProtectedBy::Job => "a job that sets encamp_protect in its meta",
        }
    }
}

/// A node that is never removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ProtectedNode {
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: ProtectedBy,
}

/// The protected nodes of a pool.
pub fn protected_nodes(view: &PoolView) -> Vec<ProtectedNode> {
    let nodes = view.nodes.iter();
    let nodes =
        nodes.filter_map(|n| Some(ProtectedNode { id: n.id.clone(), name: n.name.clone(), reason: n.protected? }));
    nodes.collect()
}

/// A server of the cluster, as the members of the cluster know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerMember {
    name: String,
    hosts: Vec<Host>,
}

impl ServerMember {
    /// A server by its member name, `NAME.REGION`, its region, and the addresses it advertises, with or without port.
    pub fn new<'a>(name: &str, region: &str, addresses: impl IntoIterator<Item = &'a str>) -> ServerMember {
        let agent = name.strip_suffix(region).and_then(|n| n.strip_suffix('.')).filter(|_| !region.is_empty());
        let hosts = addresses.into_iter().filter_map(Host::of);
        ServerMember { name: agent.unwrap_or(name).to_string(), hosts: hosts.collect() }
    }

    /// Whether the agent of the server has that node: name and one address are the same.
    fn has(&self, node: &Node) -> bool {
        if self.name != node.name {
            return false;
        }
        let attribute = node.attributes.get(IP_ADDRESS).map_or("", String::as_str);
        let mut hosts = [node.http_addr.as_str(), attribute].into_iter().filter_map(Host::of);
        hosts.any(|host| self.hosts.contains(&host))
    }
}

/// An address without its port.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Ip(IpAddr),
    /// A name in lower case.
    Name(String),
}

impl Host {
    /// `None` for addresses that name no host, such as `0.0.0.0`.
    fn of(address: &str) -> Option<Host> {
        let bare = address.strip_prefix('[').and_then(|a| a.strip_suffix(']')).unwrap_or(address);
        let ip = bare.parse::<IpAddr>().ok().or_else(|| address.parse::<SocketAddr>().ok().map(|a| a.ip()));
        match ip.map(|ip| ip.to_canonical()) {
            Some(ip) if ip.is_unspecified() => None,
            Some(ip) => Some(Host::Ip(ip)),
            None => {
                let name = address.rsplit_once(':').map_or(address, |(name, _)| name);
                (!name.is_empty()).then(|| Host::Name(name.to_ascii_lowercase()))
            }
        }
    }
}

/// The agents that are servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Servers {
    /// The node of the agent whose server runs the autoscaler, if it has one.
    pub own_node: Option<String>,
    /// The servers that did not leave the cluster.
    pub members: Vec<ServerMember>,
}

/// The protection of nodes from removal, besides that by jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protection {
    /// The allocation the autoscaler itself runs in.
    pub own_alloc: Option<String>,
    /// The agents that are servers.
    pub servers: Servers,
}

impl Protection {
    /// The protection of the nodes of a state.
    pub fn in_state<'a>(&'a self, state: &'a State) -> Guard<'a> {
        let own_alloc = self.own_alloc.as_deref().and_then(|id| state.alloc(id));
        Guard { own_alloc_node: own_alloc.map(|e| e.alloc.node_id.as_str()), servers: &self.servers }
    }
}

/// A [`Protection`] for the nodes of a state.
#[derive(Debug, Clone, Copy)]
pub struct Guard<'a> {
    own_alloc_node: Option<&'a str>,
    servers: &'a Servers,
}

impl Guard<'_> {
    /// Why a node is protected, whatever runs on it.
    pub fn of(&self, node: &Node) -> Option<ProtectedBy> {
        if self.own_alloc_node == Some(node.id.as_str()) {
            return Some(ProtectedBy::Autoscaler);
        }
        let own = self.servers.own_node.as_deref() == Some(node.id.as_str());
        (own || self.servers.members.iter().any(|m| m.has(node))).then_some(ProtectedBy::Server)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_cluster::{cluster, node};

    /// A node with that name, HTTP address and IP address.
    fn agent(name: &str, http: &str, ip: &str) -> std::sync::Arc<Node> {
        node("n", json!({"Name": name, "HTTPAddr": http, "Attributes": {IP_ADDRESS: ip}}))
    }

    fn is_server(member: &ServerMember, node: &Node) -> bool {
        let servers = Servers { own_node: None, members: vec![member.clone()] };
        let protection = Protection { own_alloc: None, servers };
        protection.in_state(&State::new()).of(node) == Some(ProtectedBy::Server)
    }

    #[test]
    fn a_server_and_its_node_have_the_same_name_and_address() {
        let member = ServerMember::new("a.b.eu.west", "eu.west", ["10.0.0.1", "Host.example:4647"]);
        for (name, http, ip, want) in [
            ("a.b", "10.0.0.1:4646", "", true),
            ("a.b", "10.9.0.1:4646", "10.0.0.1", true),
            ("a.b", "host.EXAMPLE:4646", "", true),
            ("a.b", "[::ffff:10.0.0.1]:4646", "", true),
            ("a.b", "10.0.0.2:4646", "10.0.0.3", false),
            ("a.b", "", "", false),
            ("a", "10.0.0.1:4646", "10.0.0.1", false),
            ("a.b.eu.west", "10.0.0.1:4646", "", false),
        ] {
            assert_eq!(is_server(&member, &agent(name, http, ip)), want, "{name} {http} {ip}");
        }
        let six = ServerMember::new("s.global", "global", ["[fd00::1]:4648"]);
        assert!(is_server(&six, &agent("s", "[FD00:0::1]:4646", "")));
        assert!(is_server(&six, &agent("s", "", "fd00::1")));
        let odd = ServerMember::new("s", "", ["0.0.0.0:0", ""]);
        assert!(!is_server(&odd, &agent("s", "0.0.0.0:4646", "")), "every host has this address");
    }

    #[test]
    fn the_first_reason_counts() {
        let mut state = cluster(2);
        let app = crate::test_cluster::job("app", encamp_model::JobType::Service, json!({}));
        state.upsert_allocs([crate::test_cluster::alloc("own", &app, "n1", (1, 1, 1), json!({}))]);
        let servers = Servers { own_node: Some("n1".into()), members: Vec::new() };
        let mut protection = Protection { own_alloc: None, servers };
        let of = |protection: &Protection| {
            let guard = protection.in_state(&state);
            ["n1", "n2"].map(|id| state.node(id).and_then(|e| guard.of(&e.node)))
        };
        assert_eq!(of(&protection), [Some(ProtectedBy::Server), None]);
        protection.own_alloc = Some("own".into());
        assert_eq!(of(&protection), [Some(ProtectedBy::Autoscaler), None]);
        protection.own_alloc = Some("gone".into());
        assert_eq!(of(&protection), [Some(ProtectedBy::Server), None]);
    }
}

//! The matrix of all calls between agents and all kinds of callers, against two servers, with and without access
//! control. What is expected follows from the columns `roles` and `proof` of the table of calls alone; a call without a
//! row does not compile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use encamp_model::{
    DriverInfo, NetworkResource, Node, NodeDiskResources, NodeEligibility, NodeMemoryResources, NodeNetworkResource,
    NodeProcessorResources, NodeResources, NodeStatus, Topology, with_secrets,
};
use encamp_rpc::call::{Proof, Role, Rule};
use encamp_rpc::rules::RULES;
use serde_json::{Value as Json, json};

use crate::agent::{Reply, bootstrap, call_as, wait_for};
use crate::hostile_peer::peer::{Answer, Peer, certificate, packed};
use crate::hostile_peer::servers::server_ids;
use crate::member::{Member, Role as AgentRole, leader};
use crate::program::Folder;
use crate::tls::Authority;

const OWN: &str = "aaaaaaaa-1111-4222-8333-000000000001";
const OTHER: &str = "aaaaaaaa-1111-4222-8333-000000000002";
const BRIEF: &str = "aaaaaaaa-1111-4222-8333-000000000003";
const REVOKED: &str = "aaaaaaaa-1111-4222-8333-000000000004";
const UNKNOWN: &str = "aaaaaaaa-1111-4222-8333-000000000009";
/// The longest wait for an identity to expire: its TTL, the leeway of a minute, and a margin.
const EXPIRY: Duration = Duration::from_secs(180);

fn secret(id: &str) -> String {
    id.replace("aaaaaaaa", "bbbbbbbb")
}

/// The result of a proof of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// There is none.
    Missing,
    /// Of a node that the servers do not know.
    Unknown,
    /// Right.
    Valid,
    /// The secret is right, but an identity that goes with it is not.
    WrongIdentity,
    /// Wrong.
    Wrong,
    /// Of a node whose identity was revoked.
    Revoked,
}

/// A caller of the matrix.
struct Kind {
    name: &'static str,
    /// The role in its certificate.
    role: Role,
    /// The header of its messages.
    head: Vec<(&'static str, String)>,
    node: Worth,
    /// It names a server of the cluster, and its certificate proves that.
    member: bool,
    /// The node that it registers.
    registers: &'static str,
}

/// Whether a call is refused for its caller.
fn is_refused(rule: &Rule, kind: &Kind) -> bool {
    if !rule.roles.contains(&kind.role) {
        return true;
    }
    match rule.proof {
        Proof::Nothing => false,
        Proof::Member => !kind.member,
        Proof::Node => match kind.node {
            Worth::Valid => false,
            // A node that reads itself learns that it is gone.
            Worth::Unknown => rule.method != "Node.GetNode",
            Worth::Missing | Worth::WrongIdentity | Worth::Wrong | Worth::Revoked => true,
        },
        // A registration is proven by the secret alone.
        Proof::NewNode => match kind.node {
            Worth::Valid | Worth::Unknown | Worth::WrongIdentity => false,
            Worth::Missing | Worth::Wrong | Worth::Revoked => true,
        },
    }
}

/// Whether an answer says that the caller may not make the call.
fn says_refused(answer: &Answer) -> bool {
    let unknown = answer.text == "node not found" || answer.text.starts_with("node secret ID does not match");
    answer.status == 403 || (answer.status == 500 && unknown)
}

fn node(id: &str, pool: &str) -> Node {
    let host = NodeNetworkResource { mode: "host".into(), ..Default::default() };
    let resources = NodeResources {
        processors: NodeProcessorResources {
            topology: Some(Topology { override_total_compute: 4000, ..Default::default() }),
        },
        memory: NodeMemoryResources { memory_mb: 4096 },
        disk: NodeDiskResources { disk_mb: 40_000 },
        networks: vec![NetworkResource { mode: "host".into(), ..Default::default() }],
        node_networks: Some(vec![host]),
        ..Default::default()
    };
    Node {
        id: id.into(),
        secret_id: secret(id).into(),
        name: id[id.len() - 4..].into(),
        datacenter: "dc1".into(),
        node_pool: pool.into(),
        status: NodeStatus::Initializing,
        scheduling_eligibility: NodeEligibility::Eligible,
        attributes: [("kernel.name", "linux"), ("driver.raw_exec", "1")]
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .into(),
        drivers: [("raw_exec".to_string(), DriverInfo { detected: true, healthy: true, ..Default::default() })].into(),
        node_resources: Some(resources.into()),
        ..Default::default()
    }
}

/// The arguments of a call. Those of registrations are right, since they distinguish a right caller; other calls are
/// refused before their arguments are read, or fail on them.
fn arguments(rule: &Rule, kind: &Kind) -> Vec<u8> {
    match rule.proof {
        Proof::NewNode => registration(&node(kind.registers, "default"), ""),
        Proof::Nothing | Proof::Node | Proof::Member => packed(&json!({})),
    }
}

fn registration(node: &Node, token: &str) -> Vec<u8> {
    let node = with_secrets(|| serde_json::to_value(node)).expect("JSON");
    packed(&json!({"node": node, "token": token}))
}

fn as_node(id: &str, identity: &str) -> Vec<(&'static str, String)> {
    let mut head = vec![("x-encamp-node", id.to_string()), ("x-encamp-secret", secret(id))];
    if !identity.is_empty() {
        head.push(("x-encamp-identity", identity.to_string()));
    }
    head
}

fn ask(peer: &Peer, method: &str, head: &[(&'static str, String)], body: Vec<u8>) -> Answer {
    let head: Vec<(&str, &str)> = head.iter().map(|(name, value)| (*name, value.as_str())).collect();
    peer.call(method, &head, body)
}

/// The token in a message.
fn token_in(text: &str) -> String {
    let rest = text.find("eyJ").map_or("", |at| &text[at..]);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).unwrap_or(rest.len());
    assert!(end > 100, "no token in {text:?}");
    rest[..end].to_string()
}

/// Two servers that check certificates, and a peer for each role and server.
struct Cluster {
    servers: Vec<Member>,
    leader: usize,
    token: String,
    certificates: [(Role, Arc<rustls::ClientConfig>); 2],
}

impl Cluster {
    fn start(acl: bool) -> Cluster {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Authority::new();
        let mut servers: Vec<Member> = Vec::new();
        for n in 0..2 {
            let join = servers.first().map(Member::serf).into_iter().collect();
            let mut server = Member::new(&format!("matrix-{acl}-{n}"), AgentRole::Server { expect: 2, join });
            server.more = authority.configure(server.folder(), "server.global.nomad");
            if acl {
                server.more.push_str("acl {\n  enabled = true\n}\n");
            }
            server.start();
            servers.push(server);
        }
        let certificates = [(Role::Server, "server"), (Role::Client, "client")].map(|(role, name)| {
            let folder = Folder::new(&format!("matrix-{name}"));
            authority.configure(&folder, &format!("{name}.global.nomad"));
            (role, certificate(&folder))
        });
        let leader = leader(&servers);
        let mut cluster = Cluster { servers, leader, token: String::new(), certificates };
        if acl {
            cluster.token = bootstrap(cluster.servers[leader].port());
        }
        cluster
    }

    fn http(&self, method: &str, path: &str, body: &Json) -> Reply {
        let port = self.servers[self.leader].port();
        let reply = call_as(port, &self.token, method, path, &body.to_string(), Duration::from_secs(60));
        let reply = reply.unwrap_or_else(|e| panic!("{method} {path}: {e}"));
        assert_eq!(reply.status, 200, "{method} {path}: {}", reply.body);
        reply
    }

    fn peer(&self, server: usize, role: Role) -> Peer {
        let (_, config) = self.certificates.iter().find(|(of, _)| *of == role).expect("a certificate");
        Peer::with(&self.servers[server].rpc(), Some(config.clone()))
    }

    /// Registers a node, and gives its identity.
    fn register(&self, id: &str, pool: &str) -> String {
        let peer = self.peer(self.leader, Role::Client);
        let mut identity = String::new();
        // The cluster makes its first key in the background.
        wait_for("an identity", || {
            let made = ask(&peer, "Node.Register", &as_node(id, ""), registration(&node(id, pool), ""));
            assert_eq!(made.status, 200, "{}", made.text);
            if !made.text.contains("eyJ") {
                return Err("none yet".into());
            }
            identity = token_in(&made.text);
            Ok(())
        });
        let beat = packed(&json!({"identity": identity, "status": "ready"}));
        let made = ask(&peer, "Node.UpdateStatus", &as_node(id, &identity), beat);
        assert_eq!(made.status, 200, "{}", made.text);
        identity
    }

    /// The identity of a task that a node runs.
    fn workload(&self, node: &str, identity: &str) -> String {
        let task = json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "x"}, "Identity": {"Env": true},
            "Resources": {"CPU": 100, "MemoryMB": 32}});
        let job = json!({"ID": "work", "Name": "work", "Type": "service", "Datacenters": ["dc1"],
            "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [task]}]});
        self.http("PUT", "/v1/jobs", &json!({ "Job": job }));
        let mut alloc = String::new();
        wait_for("an allocation", || {
            let allocs = self.http("GET", "/v1/job/work/allocations", &Json::Null).json();
            let Some(id) = allocs[0]["ID"].as_str() else {
                return Err(self.http("GET", "/v1/job/work/evaluations", &Json::Null).body);
            };
            alloc = id.to_string();
            if allocs[0]["NodeID"] == node { Ok(()) } else { Err(allocs.to_string()) }
        });
        let wanted = json!([{"AllocID": alloc, "Task": "t", "Identity": "default"}]);
        let peer = self.peer(self.leader, Role::Client);
        let signed = ask(&peer, "Alloc.SignIdentities", &as_node(node, identity), packed(&json!({ "wanted": wanted })));
        assert_eq!(signed.status, 200, "{}", signed.text);
        token_in(&signed.text)
    }
}

/// The callers. Those whose identity has expired come last.
fn kinds(cluster: &Cluster) -> Vec<Kind> {
    let own = cluster.register(OWN, "default");
    let workload = cluster.workload(OWN, &own);
    let other = cluster.register(OTHER, "default");
    let revoked = cluster.register(REVOKED, "default");
    cluster.http("PUT", "/v1/node/pools", &json!({"Name": "brief", "NodeIdentityTTL": "1s"}));
    let expired = cluster.register(BRIEF, "brief");
    cluster.http("PUT", &format!("/v1/node/{REVOKED}/identity/revoke"), &json!({}));
    let introduction = cluster.http("PUT", "/v1/acl/identity/client-introduction-token", &json!({})).json();
    let introduction = introduction["JWT"].as_str().expect("a token").to_string();
    let foreign = vec![("x-encamp-node", OWN.to_string()), ("x-encamp-secret", secret(OTHER))];
    let ids = server_ids(&cluster.token, &cluster.servers[cluster.leader], &cluster.servers);
    let (receiver, sender) = (ids[cluster.leader].as_str(), ids[1 - cluster.leader].as_str());
    let server = |id: &str| vec![("x-encamp-server", id.to_string()), ("x-encamp-proof", "00".to_string())];
    let client =
        |name, head, worth, registers| Kind { name, role: Role::Client, head, node: worth, member: false, registers };
    let of_server = |name, head, is_member| Kind {
        name,
        role: Role::Server,
        head,
        node: Worth::Missing,
        member: is_member,
        registers: UNKNOWN,
    };
    vec![
        client("no proof", Vec::new(), Worth::Missing, UNKNOWN),
        client("a node with its secret", as_node(OTHER, ""), Worth::Valid, OTHER),
        client("a node with its identity", as_node(OWN, &own), Worth::Valid, OWN),
        client("another node's secret", foreign, Worth::Wrong, OWN),
        client("another node's identity", as_node(OWN, &other), Worth::WrongIdentity, OWN),
        client("a workload identity", as_node(OWN, &workload), Worth::WrongIdentity, OWN),
        client("an introduction", as_node(OWN, &introduction), Worth::WrongIdentity, OWN),
        client("a revoked node with its identity", as_node(REVOKED, &revoked), Worth::Revoked, REVOKED),
        client("a revoked node with its secret", as_node(REVOKED, ""), Worth::Revoked, REVOKED),
        client("a server with the certificate of a node", server(sender), Worth::Missing, UNKNOWN),
        of_server("the certificate of a server alone", Vec::new(), false),
        of_server("a server", server(sender), true),
        of_server("a server of no cluster", server(UNKNOWN), false),
        of_server("a server that is the receiver", server(receiver), false),
        client("an expired identity", as_node(BRIEF, &expired), Worth::WrongIdentity, BRIEF),
        // It is known once it has registered.
        client("an unknown node", as_node(UNKNOWN, ""), Worth::Unknown, UNKNOWN),
    ]
}

/// Waits until an identity has expired.
fn expire(cluster: &Cluster, kind: &Kind) {
    let (peer, deadline) = (cluster.peer(cluster.leader, Role::Client), Instant::now() + EXPIRY);
    while ask(&peer, "Node.GetNode", &kind.head, packed(&json!({}))).status == 200 {
        assert!(Instant::now() < deadline, "the identity does not expire");
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn every_call_answers_its_callers_alone(acl: bool) {
    let mut cluster = Cluster::start(acl);
    let kinds = kinds(&cluster);
    let (mut cells, mut refused, mut wrong) = (0, 0, Vec::new());
    for kind in &kinds {
        if kind.name == "an expired identity" {
            expire(&cluster, kind);
        }
        let peer = cluster.peer(cluster.leader, kind.role);
        // A registration makes an unknown node known.
        let (registrations, rest): (Vec<&Rule>, Vec<&Rule>) = RULES.iter().partition(|r| r.proof == Proof::NewNode);
        for rule in rest.into_iter().chain(registrations) {
            let answer = ask(&peer, rule.method, &kind.head, arguments(rule, kind));
            let expected = is_refused(rule, kind);
            cells += 1;
            refused += usize::from(expected);
            if says_refused(&answer) != expected {
                wrong.push(format!("{} by {}: {answer:?}, expected refused: {expected}", rule.method, kind.name));
            }
        }
    }
    println!(
        "access control {}: {} calls by {} kinds of callers: {cells} calls, {refused} refused",
        if acl { "on" } else { "off" },
        RULES.len(),
        kinds.len()
    );
    assert!(wrong.is_empty(), "{} of {cells}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(cells, RULES.len() * kinds.len());
    assert!(cluster.servers.iter_mut().all(|s| s.agent_mut().runs()));
}

#[test]
fn every_call_answers_its_callers_alone_with_access_control() {
    every_call_answers_its_callers_alone(true);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn every_call_answers_its_callers_alone_without_access_control() {
    every_call_answers_its_callers_alone(false);
}

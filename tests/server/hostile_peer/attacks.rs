//! Attacks on the RPC port, one after the other, against the same three servers.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::agent::wait_for;
use crate::hostile_peer::peer::{Answer, Peer, as_node, as_server, empty_maps, packed, server_id, with_list};
use crate::hostile_peer::servers::{NODE, SECRET, Servers, gossip};
use crate::member::{Member, Role, node_ready, running};

/// Maximum memory growth of a server for any of the attacks, in MiB.
const MOST_GROWTH: u64 = 200;

/// Calls with a list, and the name of the list.
const LISTS: [(&str, &str); 6] = [
    ("Node.UpdateAlloc", "allocs"),
    ("Node.EmitEvents", "events"),
    ("Alloc.SignIdentities", "wanted"),
    ("Alloc.GetAllocs", "ids"),
    ("ServiceRegistration.Upsert", "services"),
    ("Node.Register", "node"),
];

struct Table {
    servers: Servers,
    rows: Vec<String>,
}

impl Table {
    /// Runs an attack; its result is the outcome.
    fn attack(&mut self, item: &str, what: &str, carry_out: impl FnOnce(&Servers) -> String) {
        // The node sends no heartbeats: it may be down by now, and its reports are then refused for that reason.
        self.servers.register_node();
        let (before, begun) = (self.servers.forget_peaks(), Instant::now());
        let outcome = carry_out(&self.servers);
        let grown = self.servers.grown(&before);
        let row = format!("| {item} | {what} | {outcome} | {grown} MiB | {:.1} s |", begun.elapsed().as_secs_f64());
        println!("{row}");
        self.rows.push(row);
        assert!(grown <= MOST_GROWTH, "{what}: a server grew by {grown} MiB");
        self.servers.are_well(what);
    }
}

/// Status and text of answers that are all the same.
fn alike(answers: Vec<Option<Answer>>) -> String {
    let mut kinds: Vec<String> = answers
        .into_iter()
        .map(|a| {
            a.map_or("no answer".into(), |a| format!("{} {}", a.status, a.text.chars().take(90).collect::<String>()))
        })
        .collect();
    kinds.sort();
    kinds.dedup();
    kinds.join("; ")
}

fn refused(answer: &Answer, status: u16, text: &str) -> String {
    assert!(answer.status == status && answer.text.contains(text), "{answer:?}, not {status} {text}");
    format!("{} {}", answer.status, answer.text.chars().take(90).collect::<String>())
}

/// A well-formed Raft message.
fn append(to: &str, term: u64, leader: &str) -> Vec<u8> {
    let vote = json!({"leader_id": {"term": term, "voted_for": server_id(leader)}, "committed": true});
    let request = json!({"vote": vote, "prev_log_id": null, "entries": [], "leader_commit": null});
    packed(&json!({"to": server_id(to), "message": {"Append": request}}))
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn attacks_on_servers_are_refused_and_cost_little() {
    let servers = Servers::start("attacks");
    servers.register_node();
    let ids = servers.ids();
    let rpc: Vec<String> = servers.members.iter().map(Member::rpc).collect();
    let (led, follower) = (servers.leader, (servers.leader + 1) % 3);
    let term: u64 = servers.term.parse().expect("a term");
    let mut table = Table { servers, rows: Vec::new() };
    println!("| item | attack | after | memory | time |");

    // C.1: messages that expand when they are decoded.
    let bomb = with_list("allocs", &empty_maps(1_000_000));
    let large = with_list("allocs", &empty_maps(15_000_000));
    table.attack("C.1", "1 MB of empty maps, nobody known", |_| {
        let answer = Peer::connect(&rpc[led]).call("Node.UpdateAlloc", &[], bomb.clone());
        refused(&answer, 403, "the call does not identify the calling node")
    });
    table.attack("C.1", "1 MB of empty maps, unknown node", |_| {
        let answer = Peer::connect(&rpc[led]).call("Node.UpdateAlloc", &as_node("x", "y"), bomb.clone());
        refused(&answer, 500, "node not found")
    });
    table.attack("C.1", "1 MB of empty maps through a follower, unknown node", |_| {
        let answer = Peer::connect(&rpc[follower]).call("Node.UpdateAlloc", &as_node("x", "y"), bomb.clone());
        refused(&answer, 413, "larger than 65536 bytes")
    });
    table.attack("C.1", "1 MB of empty maps, registered node", |_| {
        let answer = Peer::connect(&rpc[led]).call("Node.UpdateAlloc", &as_node(NODE, SECRET), bomb.clone());
        refused(&answer, 400, "holds too many values")
    });
    table.attack("C.1", "15 MB of empty maps, registered node", |_| {
        let answer = Peer::connect(&rpc[led]).call("Node.UpdateAlloc", &as_node(NODE, SECRET), large.clone());
        refused(&answer, 400, "holds too many values")
    });
    table.attack("C.1", "15 MB of empty maps, 32 at the same time, registered node", |_| {
        let peer = Peer::connect(&rpc[led]);
        let kinds = alike(peer.call_at_once(32, "Node.UpdateAlloc", &as_node(NODE, SECRET), &large));
        assert!(!kinds.contains("200 "), "{kinds}");
        kinds
    });
    table.attack("C.1", "1 MB of empty maps in every list of every call, registered node", |_| {
        let mut statuses = Vec::new();
        for to in &rpc {
            let peer = Peer::connect(to);
            for (method, list) in LISTS {
                let message = with_list(list, &empty_maps(1_000_000));
                let answer = peer.call(method, &as_node(NODE, SECRET), message);
                assert!((400..=500).contains(&answer.status), "{method}: {answer:?}");
                statuses.push(answer.status);
            }
        }
        format!("{} calls, {statuses:?}", statuses.len())
    });
    table.attack("C.1", "256 MB to the calls of servers, nobody known", |_| {
        let peer = Peer::connect(&rpc[led]);
        let kinds: Vec<String> = ["Raft.Message", "Scheduler.WorkerCall"]
            .map(|method| alike(peer.call_at_once(1, method, &[], &vec![0x80; 256 << 20])))
            .into();
        assert!(kinds.iter().all(|k| k.starts_with("403 ") || k == "no answer"), "{kinds:?}");
        kinds.join("; ")
    });

    // C.2: Raft messages.
    table.attack("C.2", "Append of a later term, from an unknown leader", |_| {
        let stranger = "12345678-1234-1234-1234-123456789abc";
        let kinds: Vec<String> = rpc
            .iter()
            .zip(&ids)
            .map(|(to, id)| {
                let peer = Peer::connect(to);
                let message = append(id, term + 1, stranger);
                refused(&peer.call("Raft.Message", &[], message.clone()), 403, "does not identify the sending server");
                let answer = peer.call("Raft.Message", &as_server(stranger, "00"), message);
                refused(&answer, 403, "is not a member of this cluster")
            })
            .collect();
        kinds.into_iter().next().unwrap_or_default()
    });
    table.attack("C.2", "Append of a later term, in the name of another server", |_| {
        let mut last = String::new();
        for (to, id) in rpc.iter().zip(&ids) {
            for named in ids.iter().filter(|n| *n != id) {
                let peer = Peer::connect(to);
                let answer =
                    peer.call("Raft.Message", &as_server(named, &"ab".repeat(32)), append(id, term + 1, named));
                last = refused(&answer, 403, "does not confirm this call");
            }
        }
        last
    });
    table.attack("C.2", "votes, removals, worker calls in the name of another server", |_| {
        let peer = Peer::connect(&rpc[led]);
        let head = as_server(&ids[follower], "00");
        let own = server_id(&ids[led]);
        for (method, body) in [
            ("Operator.RaftRemovePeerByID", json!({"id": server_id(&ids[follower])})),
            ("Raft.Stand", json!({"to": own})),
            ("Raft.Claim", json!({"to": own, "by": server_id(&ids[follower])})),
            ("Serf.ForceLeave", json!({"name": "hostile-attacks-1", "prune": true})),
            ("Serf.Keyring", json!({"sealed": "AwQF"})),
            ("Server.Confirm", json!({"to": own})),
            (
                "Scheduler.WorkerCall",
                json!({"worker_call": {"Dequeue": {"schedulers": ["service"], "wait": {"secs": 1, "nanos": 0}}}}),
            ),
        ] {
            refused(&peer.call(method, &head, packed(&body)), 403, "does not confirm this call");
            refused(&peer.call(method, &[], packed(&body)), 403, "does not identify the sending server");
        }
        "403".into()
    });

    // C.5: a node, and objects of another node.
    let mut node = Member::new("hostile-node", Role::Node { servers: vec![rpc[led].clone()] });
    node.start();
    wait_for("the node is ready", || {
        let nodes = table.servers.leader().read("/v1/nodes")?;
        let ready = nodes.as_array().is_some_and(|n| n.iter().any(|n| n["ID"] != NODE && n["Status"] == "ready"));
        if ready { Ok(()) } else { Err(nodes.to_string()) }
    });
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["600"]},
        "Resources": {"CPU": 20, "MemoryMB": 16},
    });
    let group = json!({"Name": "g", "Count": 1, "Tasks": [task]});
    let job =
        json!({"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]}});
    let made = table.servers.leader().agent().send("PUT", "/v1/jobs", &job);
    assert_eq!(made.status, 200, "{}", made.body);
    let alloc = running(table.servers.leader(), "web");
    let allocation = table.servers.leader().read(&format!("/v1/allocation/{alloc}")).expect("the allocation");
    let other = allocation["NodeID"].as_str().expect("a node").to_string();
    table.attack("C.5", "reports, reads and services for an allocation of another node", |servers| {
        let peer = Peer::connect(&rpc[led]);
        let head = as_node(NODE, SECRET);
        let report = json!({"allocs": [{"ID": alloc, "ClientStatus": "failed", "NodeID": NODE}]});
        refused(&peer.call("Node.UpdateAlloc", &head, packed(&report)), 403, "Permission denied");
        let read = peer.call("Alloc.GetAllocs", &head, packed(&json!({"ids": [alloc], "min_index": 0})));
        assert!(read.status == 200 && !read.text.contains("web"), "{read:?}");
        let wanted = json!({"wanted": [{"AllocID": alloc, "Task": "t", "Identity": "default"}]});
        let signed = peer.call("Alloc.SignIdentities", &head, packed(&wanted));
        assert!(!signed.text.contains("ey"), "{signed:?}");
        let disk = peer.call("Alloc.GetPreviousDisk", &head, packed(&json!({ "alloc_id": alloc })));
        assert!(disk.status == 200 && !disk.text.contains("token"), "{disk:?}");
        let service = |node: &str| {
            json!({"services": [{"ID": "s", "ServiceName": "s", "Namespace": "default", "NodeID": node, "AllocID": alloc}]})
        };
        for node in [NODE, other.as_str()] {
            let answer = peer.call("ServiceRegistration.Upsert", &head, packed(&service(node)));
            refused(&answer, 403, "Permission denied");
        }
        let theirs = as_node(&other, SECRET);
        for (method, body) in [
            ("Node.GetClientAllocs", json!({"min_index": 0, "max_wait": {"secs": 0, "nanos": 0}})),
            ("Node.GetNode", json!({})),
            ("Node.UpdateStatus", json!({"identity": "", "status": "down"})),
        ] {
            refused(&peer.call(method, &theirs, packed(&body)), 403, "Permission denied");
        }
        let now = servers.leader().read(&format!("/v1/allocation/{alloc}")).expect("the allocation");
        assert_eq!(now["ClientStatus"], "running");
        "403, nothing read".into()
    });
    drop(node);

    // C.6: members can only join by encrypted gossip.
    table.attack("C.6", "a fabricated identity in a call and in datagrams", |servers| {
        let identity = json!({
            "addr": "127.0.0.1:1", "bump": u64::MAX, "id": [7, 7], "name": "fabricated", "region": "global",
            "datacenter": "dc1", "rpc": "127.0.0.1:1", "expect": 3, "left": false,
        });
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let own = socket.local_addr().expect("an address").to_string();
        for member in &servers.members {
            let peer = Peer::connect(&member.rpc());
            let said = peer.call("Serf.Members", &[], packed(&json!({"from": identity})));
            assert_eq!(said.status, 400, "{said:?}");
            let said = peer.call("Serf.Members", &[], packed(&json!({"from": own})));
            assert_eq!(said.status, 200, "{said:?}");
            let mut datagram = vec![1u8];
            datagram.extend(rmp_serde::to_vec(&json!([[identity, 0, "Alive"]])).expect("a datagram"));
            socket.send_to(&datagram, member.serf()).expect("sent");
        }
        // Longer than a leader takes to add a server.
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end {
            for member in &servers.members {
                assert_eq!(gossip(member).len(), 3);
            }
            let members = servers.leader().read("/v1/operator/raft/configuration").expect("a configuration");
            assert_eq!(members["Servers"].as_array().map(Vec::len), Some(3), "{members}");
        }
        "three members all the time".into()
    });

    println!("\n{}", table.rows.join("\n"));
}

#[test]
fn a_node_still_does_its_work_during_attacks() {
    let servers = Servers::start("work");
    let mut node =
        Member::new("hostile-worker", Role::Node { servers: servers.members.iter().map(Member::rpc).collect() });
    node.start();
    node_ready(servers.leader());
    // Attackers use up the memory reserved for unauthenticated peers, on every server.
    let peers: Vec<Peer> = servers.members.iter().map(|m| Peer::connect(&m.rpc())).collect();
    std::thread::scope(|scope| {
        for peer in &peers {
            scope.spawn(move || {
                let junk: Json = json!({"min_index": 0, "junk": "x".repeat(60_000)});
                peer.call_at_once(500, "Node.GetClientAllocs", &as_node("x", "y"), &packed(&junk))
            });
        }
        let task = json!({
            "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["600"]},
            "Resources": {"CPU": 20, "MemoryMB": 16},
        });
        let group = json!({"Name": "g", "Count": 1, "Tasks": [task]});
        let job = json!({"Job": {"ID": "web", "Name": "web", "Datacenters": ["*"], "TaskGroups": [group]}});
        let made = servers.leader().agent().send("PUT", "/v1/jobs", &job);
        assert_eq!(made.status, 200, "{}", made.body);
        running(servers.leader(), "web");
    });
}

//! Random well-formed calls, by unauthenticated peers and by a registered node, against three servers.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use encamp_model::random;
use encamp_test_support::seeds::setting;
use encamp_test_support::tier;
use serde_json::{Value as Json, json};

use crate::hostile_peer::peer::{Peer, as_node, packed, server_id};
use crate::hostile_peer::servers::{NODE, SECRET, Servers, memory};
use crate::member::Member;

/// Maximum memory growth of a server, in MiB.
const MOST_GROWTH: u64 = 200;

/// A random generator that is reproducible from its seed.
struct Random(random::Random);

impl Random {
    fn new(seed: u64, purpose: &str) -> Random {
        Random(random::Random::new(seed, purpose))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    fn one<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        self.0.pick(list).expect("a list that is not empty")
    }

    fn uuid(&mut self) -> String {
        self.0.uuid()
    }

    fn text(&mut self) -> String {
        match self.below(200) {
            0 => "x".repeat(self.below(20_000) as usize),
            1..20 => String::new(),
            20..40 => "\u{0}\u{1b}[31mé\u{202e}".into(),
            _ => format!("t{}", self.below(1000)),
        }
    }

    fn size(&mut self) -> usize {
        match self.below(50) {
            0 => self.below(20_000) as usize,
            1..10 => 0,
            _ => self.below(20) as usize,
        }
    }

    fn integer(&mut self) -> u64 {
        *[0, 1, 2, self.below(100), 1 << 40, u64::MAX - 1, u64::MAX].get(self.below(7) as usize).unwrap_or(&0)
    }

    fn many(&mut self, mut make: impl FnMut(&mut Random) -> Json) -> Json {
        Json::Array((0..self.size()).map(|_| make(self)).collect())
    }
}

/// The objects of the calls.
struct World {
    servers: Vec<String>,
    term: u64,
}

impl World {
    fn server(&self, random: &mut Random) -> Json {
        match random.below(4) {
            0 => server_id(&random.uuid()),
            _ => server_id(random.one::<String>(&self.servers)),
        }
    }

    fn vote(&self, random: &mut Random) -> Json {
        let term = match random.below(4) {
            0 => random.integer(),
            _ => self.term + random.below(3),
        };
        let voted_for = if random.below(10) == 0 { Json::Null } else { self.server(random) };
        json!({"leader_id": {"term": term, "voted_for": voted_for}, "committed": random.below(2) == 0})
    }

    fn log_id(&self, random: &mut Random) -> Json {
        if random.below(4) == 0 {
            return Json::Null;
        }
        let term = if random.below(4) == 0 { random.integer() } else { self.term };
        json!({"leader_id": term, "index": random.integer()})
    }

    fn message(&self, random: &mut Random) -> Json {
        let vote = self.vote(random);
        match random.below(3) {
            0 => {
                let entries = random.many(|r| {
                    let index = r.integer();
                    json!({"log_id": {"leader_id": self.term, "index": index}, "payload": "Blank"})
                });
                json!({"Append": {
                    "vote": vote, "prev_log_id": self.log_id(random), "entries": entries,
                    "leader_commit": self.log_id(random),
                }})
            }
            1 => json!({"Vote": {"vote": vote, "last_log_id": self.log_id(random)}}),
            _ => json!({"Snapshot": {
                "vote": vote,
                "meta": {
                    "last_log_id": self.log_id(random),
                    "last_membership": {"log_id": null, "membership": {"configs": [], "nodes": {}}},
                    "snapshot_id": random.text(),
                },
                "offset": random.integer(), "data": [1, 2, 3], "done": random.below(2) == 0,
            }}),
        }
    }

    /// A call and its message.
    fn call(&self, random: &mut Random) -> (&'static str, Json) {
        let wait = json!({"secs": random.below(2), "nanos": 0});
        match random.below(27) {
            0 => ("Status.Ping", json!({})),
            1 => ("Node.Register", json!({"node": node(random), "token": random.text()})),
            2 => {
                let status = *random.one(&["ready", "down", "initializing", "disconnected", "x"]);
                ("Node.UpdateStatus", json!({"identity": random.text(), "status": status}))
            }
            3 => ("Node.GetClientAllocs", json!({"min_index": random.integer(), "max_wait": wait})),
            4 => ("Node.GetClientAllocsConsistent", json!({"min_index": random.integer(), "max_wait": wait})),
            5 => ("Alloc.GetAllocs", json!({"ids": random.many(|r| r.uuid().into()), "min_index": random.below(100)})),
            6..9 => ("Node.UpdateAlloc", json!({"allocs": random.many(alloc)})),
            9 => ("Node.EmitEvents", json!({"events": random.many(event)})),
            10 => ("ServiceRegistration.Upsert", json!({"services": random.many(service)})),
            11 => ("ServiceRegistration.DeleteByID", json!({"namespace": "default", "id": random.text()})),
            12 => ("Node.UpdateDrain", json!({"strategy": {"Deadline": random.integer() >> 2}, "meta": {}})),
            13 => ("Node.GetNode", json!({})),
            14 => {
                let wanted = random.many(|r| json!({"AllocID": r.uuid(), "Task": r.text(), "Identity": "default"}));
                ("Alloc.SignIdentities", json!({"wanted": wanted}))
            }
            15 => ("Serf.Members", json!({"from": format!("127.0.0.1:{}", 1 + random.below(60_000))})),
            16 => ("Serf.ForceLeave", json!({"name": random.text(), "prune": true})),
            17 => ("Raft.Claim", json!({"to": self.server(random), "by": self.server(random)})),
            18 => ("Raft.Stand", json!({"to": self.server(random)})),
            19 => ("Operator.RaftRemovePeerByID", json!({"id": self.server(random)})),
            20 => {
                ("Scheduler.WorkerCall", json!({"worker_call": {"Dequeue": {"schedulers": ["service"], "wait": wait}}}))
            }
            21 => ("Serf.Keyring", json!({"sealed": random.text()})),
            22 => ("Node.Connect", json!({"bytes": random.text()})),
            23 => ("Node.Connected", json!({"node_id": random.uuid()})),
            24 => ("Node.Call", json!({"node_id": random.uuid(), "call": {"DeleteVolume": random.text()}})),
            25 => ("Alloc.GetPreviousDisk", json!({"alloc_id": random.text()})),
            _ => ("Raft.Message", json!({"to": self.server(random), "message": self.message(random)})),
        }
    }
}

fn node(random: &mut Random) -> Json {
    let attributes: serde_json::Map<String, Json> =
        (0..random.size().min(200)).map(|n| (format!("a{n}"), random.text().into())).collect();
    json!({
        "ID": random.uuid(), "SecretID": random.uuid(), "Name": random.text(), "Datacenter": "dc1",
        "NodePool": format!("p{}", random.below(50)), "Attributes": attributes, "Meta": {"m": random.text()},
        "Status": *random.one(&["ready", "initializing", "down"]),
    })
}

fn alloc(random: &mut Random) -> Json {
    // A nested list has to be short, or the message would use up the attacker's own memory.
    let events: Vec<Json> =
        (0..random.below(5)).map(|_| json!({"Type": random.text(), "Time": 1, "Message": random.text()})).collect();
    json!({
        "ID": random.uuid(), "NodeID": NODE, "ClientStatus": *random.one(&["running", "failed", "complete", "?"]),
        "TaskStates": {"t": {"State": "running", "Events": events}},
    })
}

fn event(random: &mut Random) -> Json {
    json!({"Message": random.text(), "Subsystem": "Cluster", "Details": {"k": random.text()}})
}

fn service(random: &mut Random) -> Json {
    json!({
        "ID": random.uuid(), "ServiceName": random.text(), "Namespace": "default", "NodeID": NODE,
        "AllocID": random.uuid(), "Address": "127.0.0.1", "Port": random.below(70_000), "Tags": [random.text()],
    })
}

/// Makes random calls until the time is over. Returns their number.
fn calls(world: &World, address: &str, registered: bool, seed: u64, until: Instant) -> u64 {
    let mut random = Random::new(seed, "calls");
    let mut peer = Peer::connect(address);
    let mut made = 0;
    while Instant::now() < until {
        let (method, message) = world.call(&mut random);
        let (own, proof, named) = (random.uuid(), random.uuid(), random.one(&world.servers).clone());
        let id = message["node"]["ID"].as_str().unwrap_or(&own).to_string();
        let secret = message["node"]["SecretID"].as_str().unwrap_or(&own).to_string();
        let mut head = match (registered, random.below(4)) {
            (true, 1..) => as_node(NODE, SECRET).to_vec(),
            (_, 0) => Vec::new(),
            (_, _) => as_node(&id, &secret).to_vec(),
        };
        if method == "Node.Register" {
            head = as_node(&id, &secret).to_vec();
        }
        if random.below(3) == 0 {
            head.extend([("x-encamp-server", named.as_str()), ("x-encamp-proof", proof.as_str())]);
        }
        if random.below(20) == 0 {
            head.push(("x-encamp-forwarded", "1"));
        }
        if peer.try_call(method, &head, packed(&message)).is_none() {
            peer = Peer::connect(address);
        }
        made += 1;
    }
    made
}

#[test]
fn random_calls_break_nothing() {
    let seconds = tier::rounds("ENCAMP_HOSTILE_SECONDS", 3, 10);
    let seed = setting("ENCAMP_HOSTILE_SEED").unwrap_or(424_242);
    let mut servers = Servers::start("random");
    servers.register_node();
    let world = World { servers: servers.ids(), term: servers.term.parse().expect("a term") };
    let addresses: Vec<(String, String)> = servers.members.iter().map(|m| (m.rpc(), m.serf())).collect();
    let before: Vec<u64> = servers.members.iter().map(|m| memory(m, "VmRSS")).collect();
    let until = Instant::now() + Duration::from_secs(seconds);
    let made = [AtomicU64::new(0), AtomicU64::new(0)];
    thread::scope(|scope| {
        for (n, (rpc, serf)) in addresses.iter().enumerate() {
            for registered in [false, true] {
                let (world, made) = (&world, &made[usize::from(registered)]);
                let seed = seed.wrapping_mul(31).wrapping_add(n as u64 * 2 + u64::from(registered) + 1);
                scope.spawn(move || made.fetch_add(calls(world, rpc, registered, seed, until), Ordering::Relaxed));
            }
            scope.spawn(move || {
                let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
                let mut random = Random::new(seed, &format!("datagrams {n}"));
                while Instant::now() < until {
                    let datagram: Vec<u8> = (0..random.below(1500)).map(|_| random.below(256) as u8).collect();
                    let _ = socket.send_to(&datagram, serf);
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
    });
    let grown: Vec<u64> =
        servers.members.iter().zip(&before).map(|(m, b)| memory(m, "VmRSS").saturating_sub(*b) >> 20).collect();
    let peaks: Vec<u64> = servers.members.iter().map(|m: &Member| memory(m, "VmHWM") >> 20).collect();
    let [unknown, registered] = made.map(AtomicU64::into_inner);
    println!(
        "{seconds} s, seed {seed}: {unknown} calls of unknown peers, {registered} of a registered node; memory + {grown:?} MiB, \
         at most {peaks:?} MiB"
    );
    assert!(grown.iter().all(|g| *g <= MOST_GROWTH), "memory + {grown:?} MiB");
    assert!(unknown > 0 && registered > 0);
    servers.are_well("random calls");
}

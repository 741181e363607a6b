//! Clusters whose servers run builds of different capability levels, and the load that they have meanwhile.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::agent::{call, wait_for};
use crate::member::{Member, Role};

/// How long a write is repeated at all servers until it counts as failed: longer than a change of the leader.
const WRITTEN: Duration = Duration::from_secs(45);
/// Longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(15);
/// How many variables are rewritten.
const NAMES: usize = 16;

/// A server that expects two others, and joins those that run.
pub(crate) fn server(name: &str, others: &[Member]) -> Member {
    let join = others.iter().map(Member::serf).collect();
    let mut server = Member::new(name, Role::Server { expect: 3, join });
    // On a busy machine, an answer may take longer than the election timeout.
    server.more = "server {\n  raft_multiplier = 2\n}\n".into();
    server
}

/// Has a member of the tested build behave as one of the first level.
pub(crate) fn lower(member: &mut Member) {
    member.wrapper = vec!["env".into(), "ENCAMP_CAPABILITY_LEVEL=1".into()];
}

/// Has a member run the tested build as it is.
pub(crate) fn upgrade(member: &mut Member) {
    (member.wrapper, member.program) = (Vec::new(), None);
}

/// The level of the cluster as a server knows it.
pub(crate) fn level(at: &Member) -> Result<String, String> {
    let own = at.read("/v1/agent/self")?;
    let level = own["stats"]["nomad"]["cluster_capability_level"].as_str();
    level.map(String::from).ok_or_else(|| format!("no level in {}", own["stats"]["nomad"]))
}

/// Waits until all servers know that the cluster has a level.
pub(crate) fn reaches(servers: &[Member], wanted: &str) {
    for server in servers {
        wait_for("the cluster has its level", || match level(server)? {
            found if found == wanted => Ok(()),
            other => Err(other),
        });
    }
}

/// Starts a server that its data directory refuses; gives what it says.
pub(crate) fn refused(server: &mut Member) -> String {
    server.launch();
    let code = server.agent_mut().exit();
    let log = server.log();
    assert_eq!(code, 1, "{log}");
    log
}

/// Load on a cluster. Writes are repeated until a server acknowledges them.
pub(crate) struct Load {
    ports: Vec<u16>,
    stop: AtomicBool,
    /// The last acknowledged value, by the path of a variable.
    acknowledged: Mutex<BTreeMap<String, String>>,
    failures: Mutex<Vec<String>>,
    pub(crate) writes: AtomicUsize,
    pub(crate) reads: AtomicUsize,
    pub(crate) renewals: AtomicUsize,
}

impl Load {
    pub(crate) fn new(servers: &[Member]) -> Load {
        Load {
            ports: servers.iter().map(Member::port).collect(),
            stop: AtomicBool::new(false),
            acknowledged: Mutex::default(),
            failures: Mutex::default(),
            writes: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            renewals: AtomicUsize::new(0),
        }
    }

    /// Runs `work` under load.
    pub(crate) fn during(&self, work: impl FnOnce()) {
        thread::scope(|scope| {
            for first in 0..2 {
                scope.spawn(move || self.write(first));
            }
            scope.spawn(|| self.read_blocking());
            scope.spawn(|| self.hold_lock());
            // The threads must end even if a check fails, because the scope waits for them.
            let _stop = Stop(&self.stop);
            work();
        });
        assert_eq!(*self.failures.lock().unwrap(), [] as [String; 0]);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn fail(&self, what: String) {
        self.failures.lock().unwrap().push(what);
    }

    /// Sends a request to one server after the other until one answers with 200.
    fn acknowledged(&self, first: usize, path: &str, body: &Json) -> Result<Json, String> {
        let end = Instant::now() + WRITTEN;
        let mut last = String::new();
        for n in first.. {
            match call(self.ports[n % self.ports.len()], "PUT", path, &body.to_string(), ANSWER) {
                Ok(reply) if reply.status == 200 => return Ok(reply.json()),
                Ok(reply) => last = format!("{} {}", reply.status, reply.body),
                Err(e) => last = e.to_string(),
            }
            if Instant::now() > end {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{path}: {last}"))
    }

    /// Rewrites variables.
    fn write(&self, first: usize) {
        for n in 0.. {
            if self.stopped() {
                return;
            }
            let (path, value) = (format!("load/{first}/{}", n % NAMES), format!("value {n}"));
            let body = json!({"Namespace": "default", "Path": path, "Items": {"k": value}});
            match self.acknowledged(first, &format!("/v1/var/{path}"), &body) {
                Ok(_) => self.acknowledged.lock().unwrap().insert(path, value),
                Err(e) => return self.fail(e),
            };
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits for changes of variables, at one server after the other.
    fn read_blocking(&self) {
        let mut index = 1;
        for n in 0.. {
            if self.stopped() {
                return;
            }
            let path = format!("/v1/vars?prefix=load&stale&index={index}&wait=2s");
            let reply = call(self.ports[n % self.ports.len()], "GET", &path, "", ANSWER);
            if let Some(reply) = reply.ok().filter(|reply| reply.status == 200) {
                let found = reply.json().as_array().map_or(0, Vec::len);
                index = reply
                    .json()
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|v| v["ModifyIndex"].as_u64())
                    .max()
                    .unwrap_or(1);
                self.reads.fetch_add(found.min(1), Ordering::Relaxed);
            }
        }
    }

    /// Holds the lock of a variable.
    fn hold_lock(&self) {
        let mut body = json!({"Namespace": "default", "Path": "held", "Items": {"k": "v"},
            "Lock": {"TTL": "120s", "LockDelay": "1s"}});
        let locked = match self.acknowledged(0, "/v1/var/held?lock-acquire", &body) {
            Ok(locked) => locked,
            Err(e) => return self.fail(e),
        };
        body["Lock"]["ID"] = locked["Lock"]["ID"].clone();
        while !self.stopped() {
            if let Err(e) = self.acknowledged(1, "/v1/var/held?lock-renew", &body) {
                return self.fail(format!("the lock is lost: {e}"));
            }
            self.renewals.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits until both writers have gone on.
    pub(crate) fn progress(&self) {
        let before = self.writes.load(Ordering::Relaxed);
        wait_for("writes go on", || {
            let failures = self.failures.lock().unwrap().clone();
            assert!(failures.is_empty(), "{failures:#?}");
            let now = self.writes.load(Ordering::Relaxed);
            if now > before + 4 { Ok(()) } else { Err(format!("{before} {now}")) }
        });
    }

    /// Checks that every server has every acknowledged value; gives how many there are.
    pub(crate) fn is_on(&self, servers: &[Member]) -> usize {
        let acknowledged = self.acknowledged.lock().unwrap();
        for server in servers {
            for (path, value) in acknowledged.iter() {
                wait_for("all servers have the acknowledged writes", || {
                    let found = server.read(&format!("/v1/var/{path}?stale"))?;
                    if found["Items"]["k"] == value.as_str() { Ok(()) } else { Err(found.to_string()) }
                });
            }
        }
        acknowledged.len()
    }
}

/// Stops the load when dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

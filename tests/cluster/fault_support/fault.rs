//! Faults: how they are caused and fixed.

use std::process::{Command, Stdio};
use std::time::Duration;

use encamp_model::random::Random;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::SERVERS;
use super::cluster::{Cluster, clock_wrapper};
use super::network::Flow;
use crate::dice::Dice;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A server is partitioned from all others, and connections break.
    Cut,
    /// The same, but connections stay open without data.
    Hang,
    /// A server receives nothing; the others receive its messages.
    Deaf,
    /// A server receives messages of the others, but they do not receive its messages.
    Mute,
    /// All servers are partitioned from each other.
    Apart,
    /// All traffic of a server is delayed.
    Slow,
    /// A server is killed.
    Kill,
    /// All servers are killed.
    KillAll,
    /// The process of a server is paused.
    Stop,
    /// The disk of a server is full.
    Full,
    /// The disk of a server cannot be written.
    Broken,
    /// A server is killed and restarted with a monotonic clock that jumped, twice. The wall clock cannot be changed for
    /// a single process.
    Clock,
}

impl Kind {
    pub const ALL: [Kind; 12] = [
        Kind::Cut,
        Kind::Hang,
        Kind::Deaf,
        Kind::Mute,
        Kind::Apart,
        Kind::Slow,
        Kind::Kill,
        Kind::KillAll,
        Kind::Stop,
        Kind::Full,
        Kind::Broken,
        Kind::Clock,
    ];

    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Why the fault is not possible on this machine.
    pub fn hindrance(self, cluster: &Cluster) -> Option<&'static str> {
        match self {
            Kind::Full if cluster.disks.is_none() => Some("file systems can't be mounted"),
            Kind::Clock if !namespaces() => Some("there are no time namespaces"),
            _ => None,
        }
    }
}

fn namespaces() -> bool {
    let words = clock_wrapper(1000);
    let done = Command::new(&words[0]).args(&words[1..]).arg("true").stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// A fault.
#[derive(Debug, Clone)]
pub struct Fault {
    pub kind: Kind,
    /// The affected server.
    pub who: usize,
    pub lasts: Duration,
    /// Delay, free space or clock offset, depending on the kind.
    delay: Duration,
    held: bool,
    left: u64,
    offset: i64,
}

impl Fault {
    /// Picks a fault; the leader is affected half of the time.
    pub fn draw(kind: Kind, random: &mut Random, leader: usize) -> Fault {
        Fault {
            kind,
            who: if random.one_in(2) { leader } else { random.roll(SERVERS) },
            lasts: Duration::from_millis(1000 + random.below(3000)),
            delay: Duration::from_millis(10 + random.below(140)),
            held: random.one_in(2),
            // Operations are refused below 4 MiB; with no space left, the log fails.
            left: random.of(&[2 << 20, 0]),
            offset: random.of(&[3600, 86_400, 30 * 86_400]),
        }
    }

    /// The servers through which writes must continue during the fault.
    pub fn spared(&self) -> Vec<usize> {
        match self.kind {
            Kind::Apart | Kind::KillAll => Vec::new(),
            _ => (0..SERVERS).filter(|i| *i != self.who).collect(),
        }
    }

    /// Whether this is a network fault.
    pub fn hinders(&self) -> bool {
        use Kind::{Apart, Cut, Deaf, Hang, Mute, Slow};
        matches!(self.kind, Cut | Hang | Deaf | Mute | Apart | Slow)
    }

    pub fn begin(&self, cluster: &mut Cluster) {
        let who = self.who;
        let network = |flow: Flow, hit: &dyn Fn(usize, usize) -> bool| {
            cluster.network.set(|from, to| if hit(from, to) { flow } else { Flow::Passes });
        };
        match self.kind {
            Kind::Cut => network(Flow::Cut, &|from, to| from == who || to == who),
            Kind::Hang => network(Flow::Held, &|from, to| from == who || to == who),
            Kind::Deaf => network(Flow::Held, &|_, to| to == who),
            Kind::Mute => network(Flow::Held, &|from, _| from == who),
            Kind::Apart => network(if self.held { Flow::Held } else { Flow::Cut }, &|_, _| true),
            Kind::Slow => network(Flow::Slow(self.delay), &|from, to| from == who || to == who),
            Kind::Kill => cluster.servers[who].kill(),
            Kind::KillAll => cluster.servers.iter_mut().for_each(|s| s.kill()),
            Kind::Stop => cluster.servers[who].agent().signal(rustix::process::Signal::STOP),
            Kind::Full => {
                let disks = cluster.disks.as_ref().expect("disks");
                disks.fill(&cluster.servers[who].data(), self.left);
            }
            Kind::Broken => {
                let pid = Pid::from_raw(cluster.servers[who].agent().pid() as i32).expect("a process");
                let limit = Rlimit { current: Some(0), maximum: None };
                prlimit(Some(pid), Resource::Fsize, limit).expect("a limit");
            }
            Kind::Clock => {
                cluster.servers[who].kill();
                cluster.start(who, Some(self.offset));
            }
        }
    }

    pub fn fix(&self, cluster: &mut Cluster) {
        let who = self.who;
        match self.kind {
            _ if self.hinders() => cluster.network.heal(),
            Kind::Kill => cluster.start(who, None),
            Kind::KillAll => (0..SERVERS).for_each(|i| cluster.start(i, None)),
            Kind::Stop => cluster.servers[who].agent().signal(rustix::process::Signal::CONT),
            Kind::Full => {
                cluster.disks.as_ref().expect("disks").free(&cluster.servers[who].data());
                // A server whose log failed reports that it has to be restarted; one that refused writes continues.
                let health = cluster.own(who).get_any("/v1/agent/health");
                if health.body.contains("start the server again") {
                    cluster.servers[who].kill();
                    cluster.start(who, None);
                }
            }
            _ => {
                cluster.servers[who].kill();
                cluster.start(who, None);
            }
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let more = match self.kind {
            Kind::Slow => format!(" by {} ms", self.delay.as_millis()),
            Kind::Apart if self.held => ", connections held".into(),
            Kind::Full => format!(", {} bytes left", self.left),
            Kind::Clock => format!(" by {} s", self.offset),
            _ => String::new(),
        };
        write!(f, "{}{more}, server {}, {} ms", self.kind.name(), self.who, self.lasts.as_millis())
    }
}

//! Which faults occur when: a pure function of the seed.

use std::fmt;
use std::time::Duration;

use crate::dice::Dice;
use crate::place::{NODES, SERVERS};

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Partition,
    PartialPartition,
    OneWay,
    Bridge,
    IsolatedLeader,
    NodesCutOff,
    Delay,
    Loss,
    Duplicates,
    Kill,
    PowerFailure,
    Pause,
    NodeKill,
    DiskFull,
    ReadOnly,
    SlowDisk,
    WallClock,
    MonotonicClock,
    Leave,
    Removal,
    Upgrade,
}

impl Kind {
    pub(crate) const ALL: [Kind; 21] = [
        Kind::Partition,
        Kind::PartialPartition,
        Kind::OneWay,
        Kind::Bridge,
        Kind::IsolatedLeader,
        Kind::NodesCutOff,
        Kind::Delay,
        Kind::Loss,
        Kind::Duplicates,
        Kind::Kill,
        Kind::PowerFailure,
        Kind::Pause,
        Kind::NodeKill,
        Kind::DiskFull,
        Kind::ReadOnly,
        Kind::SlowDisk,
        Kind::WallClock,
        Kind::MonotonicClock,
        Kind::Leave,
        Kind::Removal,
        Kind::Upgrade,
    ];

    /// The kind's name in options, files and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Partition => "partition",
            Kind::PartialPartition => "partial-partition",
            Kind::OneWay => "one-way",
            Kind::Bridge => "bridge",
            Kind::IsolatedLeader => "isolated-leader",
            Kind::NodesCutOff => "nodes-cut-off",
            Kind::Delay => "delay",
            Kind::Loss => "loss",
            Kind::Duplicates => "duplicates",
            Kind::Kill => "kill",
            Kind::PowerFailure => "power-failure",
            Kind::Pause => "pause",
            Kind::NodeKill => "node-kill",
            Kind::DiskFull => "disk-full",
            Kind::ReadOnly => "read-only",
            Kind::SlowDisk => "slow-disk",
            Kind::WallClock => "wall-clock",
            Kind::MonotonicClock => "monotonic-clock",
            Kind::Leave => "leave",
            Kind::Removal => "removal",
            Kind::Upgrade => "upgrade",
        }
    }

    /// What happens, for the report.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Kind::Partition => "two or three servers and half of the nodes cannot talk to the others",
            Kind::PartialPartition => "two servers, one of them often the leader, cannot talk to each other",
            Kind::OneWay => "packets of one or two servers to the other servers are dropped, answers are not",
            Kind::Bridge => "two halves of two servers each talk to one common server alone",
            Kind::IsolatedLeader => "the leader cannot talk to servers and nodes; clients still reach it",
            Kind::NodesCutOff => "five nodes cannot talk to any server",
            Kind::Delay => "packets between servers and nodes take up to 300 ms longer, and overtake each other",
            Kind::Loss => "5 to 30 % of the packets between servers and nodes are lost",
            Kind::Duplicates => {
                "a third to two thirds of the packets between servers and nodes arrive twice, within 20 ms"
            }
            Kind::Kill => "kill -9 of one or two servers, often the leader; restarted",
            Kind::PowerFailure => "kill -9 of all servers; restarted",
            Kind::Pause => "SIGSTOP of one or two servers, often the leader; SIGCONT",
            Kind::NodeKill => "kill -9 of five nodes; restarted",
            Kind::DiskFull => "the disks of one or two servers are filled; freed, killed, restarted",
            Kind::ReadOnly => {
                "the file system of a server gives up and is read-only; killed, repaired by e2fsck, restarted"
            }
            Kind::SlowDisk => "writes to the disks of one to three servers are limited to 10 to 100 KB/s",
            Kind::WallClock => "the wall clocks of one to three running servers jump by up to an hour; they jump back",
            Kind::MonotonicClock => "kill -9 of a server; restarted with another monotonic clock",
            Kind::Leave => "a server leaves; its disk is wiped; a new server joins at its address",
            Kind::Removal => {
                "kill -9 of a server, which is removed; its disk is wiped; a new server joins at its address"
            }
            Kind::Upgrade => "a server and four nodes are stopped and started with the new program",
        }
    }

    /// The kind with a name.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A fault in the schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// When it begins at the earliest, from the start of the load.
    pub(crate) at: Duration,
    /// How long it lasts.
    pub(crate) lasts: Duration,
    pub(crate) kind: Kind,
    /// The servers in the order in which they are affected; how many are, depends on the kind.
    pub(crate) servers: Vec<u8>,
    /// The leader is the first of them.
    pub(crate) leader_first: bool,
    /// The nodes in the order in which they are affected.
    pub(crate) nodes: Vec<u8>,
    /// How strong the fault is, of a hundred.
    pub(crate) strength: u64,
}

/// How long faults last, in milliseconds.
const LASTS: (u64, u64) = (5_000, 20_000);
/// How much longer faults of nodes last: nodes that are away for a shorter time are not noticed.
const NODES_LAST: Duration = Duration::from_secs(20);
/// How long nothing happens between faults, in milliseconds.
const PAUSE: (u64, u64) = (10_000, 20_000);

/// The schedule of a run. Every kind occurs once before one occurs again.
pub(crate) fn schedule(seed: u64, length: Duration, kinds: &[Kind]) -> Vec<Step> {
    let mut dice = Dice::new(seed, "schedule");
    let mut steps = Vec::new();
    let mut bag: Vec<Kind> = Vec::new();
    let mut at = Duration::ZERO;
    loop {
        at += Duration::from_millis(dice.between(PAUSE.0, PAUSE.1));
        let mut lasts = Duration::from_millis(dice.between(LASTS.0, LASTS.1));
        if bag.is_empty() {
            bag = kinds.to_vec();
            dice.shuffle(&mut bag);
        }
        let Some(kind) = bag.pop() else { return steps };
        if matches!(kind, Kind::NodesCutOff | Kind::NodeKill) {
            lasts += NODES_LAST;
        }
        if at + lasts + Duration::from_millis(PAUSE.0) > length {
            return steps;
        }
        let mut servers: Vec<u8> = (0..SERVERS).collect();
        dice.shuffle(&mut servers);
        let mut nodes: Vec<u8> = (0..NODES).collect();
        dice.shuffle(&mut nodes);
        let leader_first = dice.percent(50);
        steps.push(Step { at, lasts, kind, servers, leader_first, nodes, strength: dice.below(100) });
        at += lasts;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_seed_decides_everything() {
        let hour = Duration::from_secs(3600);
        let one = schedule(1, hour, &Kind::ALL);
        assert_eq!(one, schedule(1, hour, &Kind::ALL));
        assert_ne!(one, schedule(2, hour, &Kind::ALL));
        assert!(one.len() > 100, "{}", one.len());
        for pair in one.windows(2) {
            assert!(pair[1].at >= pair[0].at + pair[0].lasts + Duration::from_millis(PAUSE.0));
        }
        assert!(one.iter().all(|s| s.at + s.lasts <= hour && s.lasts >= Duration::from_millis(LASTS.0)));
    }

    #[test]
    fn all_kinds_occur_equally_often() {
        let steps = schedule(7, Duration::from_secs(3600), &Kind::ALL);
        for round in steps.chunks_exact(Kind::ALL.len()) {
            let kinds: BTreeSet<Kind> = round.iter().map(|s| s.kind).collect();
            assert_eq!(kinds.len(), Kind::ALL.len());
        }
        let chosen = schedule(7, Duration::from_secs(600), &[Kind::Kill, Kind::Pause]);
        assert!(!chosen.is_empty() && chosen.iter().all(|s| matches!(s.kind, Kind::Kill | Kind::Pause)));
        assert_eq!(schedule(7, Duration::from_secs(600), &[]), vec![]);
    }

    #[test]
    fn names_are_unique() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
    }
}

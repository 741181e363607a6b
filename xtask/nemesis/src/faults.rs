//! How faults are injected and ended.

use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::{Cluster, wait};
use crate::failure::Outcome;
use crate::http::{self, PATIENCE};
use crate::place::{NODES, Place, SERVERS};
use crate::rules::{Noise, Rules};
use crate::schedule::{Kind, Step};

/// How long an agent may take to end after a signal.
const ENDS: Duration = Duration::from_secs(15);
/// How long the removal of a server may take.
const REMOVAL: Duration = Duration::from_secs(10);
/// How many nodes are affected by a fault of nodes, and by an upgrade.
const FEW_NODES: usize = 5;
const UPGRADED_NODES: usize = 4;

/// A fault that was injected.
pub(crate) struct Injected {
    /// The affected servers, in order.
    servers: Vec<u8>,
    nodes: Vec<u8>,
    /// What happened, for the report.
    pub(crate) what: String,
    /// A server that was removed or has left, so that a new one takes its place.
    replaced: Option<u8>,
}

fn places(servers: &[u8], nodes: &[u8]) -> Vec<Place> {
    servers.iter().map(|s| Place::Server(*s)).chain(nodes.iter().map(|n| Place::Node(*n))).collect()
}

fn names(servers: &[u8], nodes: &[u8]) -> String {
    places(servers, nodes).iter().map(Place::to_string).collect::<Vec<_>>().join(" ")
}

/// Injects a fault.
///
/// # Errors
/// The system refuses something.
pub(crate) fn inject(cluster: &mut Cluster, step: &Step, program: &std::path::Path) -> Outcome<Injected> {
    let mut servers = step.servers.clone();
    let leader = cluster.leader();
    let leads = step.leader_first || step.kind == Kind::IsolatedLeader;
    if let Some(at) = servers.iter().position(|s| leads && Some(*s) == leader) {
        servers.swap(0, at);
    }
    let few = 1 + usize::from(step.strength >= 50);
    let count = match step.kind {
        Kind::Partition | Kind::Bridge | Kind::PowerFailure | Kind::Delay | Kind::Loss | Kind::Duplicates => 5,
        Kind::PartialPartition => 2,
        Kind::OneWay | Kind::Kill | Kind::Pause | Kind::DiskFull => few,
        Kind::SlowDisk | Kind::WallClock => 1 + usize::try_from(step.strength / 34).unwrap_or(0),
        Kind::NodesCutOff | Kind::NodeKill => 0,
        Kind::IsolatedLeader | Kind::ReadOnly | Kind::MonotonicClock | Kind::Leave | Kind::Removal | Kind::Upgrade => 1,
    };
    servers.truncate(count);
    let nodes = match step.kind {
        Kind::NodesCutOff | Kind::NodeKill => step.nodes[..FEW_NODES].to_vec(),
        Kind::Upgrade => step.nodes[..UPGRADED_NODES].to_vec(),
        _ => Vec::new(),
    };
    let mut what = names(&servers, &nodes);
    if let Some(leader) = leader.filter(|l| servers.contains(l)) {
        what.push_str(&format!(", {} leads", Place::Server(leader)));
    }
    let mut injected = Injected { servers, nodes, what, replaced: None };
    match step.kind {
        Kind::Partition
        | Kind::PartialPartition
        | Kind::OneWay
        | Kind::Bridge
        | Kind::IsolatedLeader
        | Kind::NodesCutOff => cluster.switch.set(partition(step, &mut injected)),
        Kind::Delay | Kind::Loss | Kind::Duplicates => cluster.switch.set(noise(step, &mut injected)),
        _ => disturb(cluster, step, &mut injected, program)?,
    }
    Ok(injected)
}

fn partition(step: &Step, injected: &mut Injected) -> Rules {
    let mut rules = Rules::default();
    let all: Vec<u8> = (0..SERVERS).collect();
    let all_nodes: Vec<u8> = (0..NODES).collect();
    let chosen = places(&injected.servers, &[]);
    match step.kind {
        Kind::Partition => {
            let some = 2 + usize::from(step.strength >= 50);
            let (few, rest) = step.nodes.split_at(usize::from(NODES) / 2);
            let one = &injected.servers[..some];
            injected.what = format!("{} with half of the nodes", names(one, &[]));
            rules.separate(&places(one, few), &places(&injected.servers[some..], rest));
        }
        Kind::PartialPartition => rules.separate(&chosen[..1], &chosen[1..]),
        Kind::OneWay => rules.block(&chosen, &places(&all, &[])),
        Kind::Bridge => {
            injected.what = format!("{} between two halves", names(&injected.servers[..1], &[]));
            rules.separate(&chosen[1..3], &chosen[3..]);
        }
        Kind::IsolatedLeader => rules.separate(&chosen, &places(&all, &all_nodes)),
        _ => rules.separate(&places(&[], &injected.nodes), &places(&all, &[])),
    }
    rules
}

fn noise(step: &Step, injected: &mut Injected) -> Rules {
    let percent = |least: u64, most: u64| u8::try_from(least + step.strength * (most - least) / 100).unwrap_or(0);
    let noise = match step.kind {
        Kind::Delay => Noise { delay: (5, 50 + step.strength * 5 / 2), loss: 0, double: 0 },
        Kind::Loss => Noise { delay: (0, 0), loss: percent(5, 30), double: 0 },
        _ => Noise { delay: (0, 20), loss: 0, double: percent(33, 66) },
    };
    let (least, most) = noise.delay;
    injected.what = format!("delay {least} to {most} ms, {} % lost, {} % twice", noise.loss, noise.double);
    let mut rules = Rules::default();
    rules.disturb(&places(&(0..SERVERS).collect::<Vec<_>>(), &(0..NODES).collect::<Vec<_>>()), noise);
    rules
}

/// Faults of processes, disks, clocks and members.
fn disturb(cluster: &mut Cluster, step: &Step, injected: &mut Injected, program: &std::path::Path) -> Outcome {
    let servers: Vec<usize> = injected.servers.iter().map(|s| usize::from(*s)).collect();
    let nodes: Vec<usize> = injected.nodes.iter().map(|n| usize::from(*n)).collect();
    match step.kind {
        Kind::Kill | Kind::PowerFailure => servers.iter().for_each(|s| cluster.servers[*s].kill()),
        Kind::Pause => servers.iter().for_each(|s| cluster.servers[*s].signal(Signal::STOP)),
        Kind::NodeKill => nodes.iter().for_each(|n| cluster.nodes[*n].kill()),
        Kind::DiskFull => servers.iter().try_for_each(|s| cluster.disks[*s].fill())?,
        Kind::ReadOnly => cluster.disks[servers[0]].break_off()?,
        Kind::SlowDisk => {
            let speed = 10_000 + (100 - step.strength) * 900;
            injected.what.push_str(&format!(", {} KB/s", speed / 1000));
            servers.iter().try_for_each(|s| cluster.disks[*s].limit(speed))?;
        }
        Kind::WallClock => {
            let sign = if step.strength.is_multiple_of(2) { 1 } else { -1 };
            let offset = sign * (10 + i64::try_from(step.strength).unwrap_or(0) * 36);
            injected.what.push_str(&format!(", {offset:+} s"));
            servers.iter().try_for_each(|s| cluster.servers[*s].set_clock(offset))?;
        }
        Kind::MonotonicClock => {
            let server = &mut cluster.servers[servers[0]];
            server.kill();
            server.monotonic = 1_000 + i64::try_from(step.strength).unwrap_or(0) * 10_000;
            injected.what.push_str(&format!(", {:+} s", server.monotonic));
            server.start()?;
        }
        Kind::Leave | Kind::Removal => replace(cluster, step.kind, injected)?,
        _ => {
            let agents = servers.iter().map(|s| Place::Server(u8::try_from(*s).unwrap_or(0)));
            let agents: Vec<Place> = agents.chain(injected.nodes.iter().map(|n| Place::Node(*n))).collect();
            for place in agents {
                let agent = cluster.agent(place);
                agent.end(Signal::TERM, ENDS);
                agent.program = program.into();
                agent.start()?;
            }
        }
    }
    Ok(())
}

/// A server leaves or is removed. Its disk is wiped only if it is certain that it votes no more.
fn replace(cluster: &mut Cluster, kind: Kind, injected: &mut Injected) -> Outcome {
    let number = injected.servers[0];
    let place = Place::Server(number);
    let ids: Vec<String> =
        cluster.voters().unwrap_or_default().into_iter().filter(|v| v.1 == place).map(|v| v.0).collect();
    let server = &mut cluster.servers[usize::from(number)];
    if kind == Kind::Leave {
        server.end(Signal::INT, ENDS);
    } else {
        server.kill();
    }
    let gone = wait("it votes no more", REMOVAL, || {
        for other in (0..SERVERS).map(Place::Server).filter(|o| *o != place && kind == Kind::Removal) {
            for id in &ids {
                // The answer does not matter: the list of voters is asked for below.
                let _ = http::call(other, "DELETE", &format!("/v1/operator/raft/peer?id={id}"), "", PATIENCE);
            }
        }
        let voters = cluster.voters()?;
        if !voters.is_empty() && voters.iter().all(|v| v.1 != place) { Ok(()) } else { Err(format!("{voters:?}")) }
    });
    if gone.is_ok() && !ids.is_empty() {
        injected.replaced = Some(number);
    } else {
        injected.what.push_str(", still a voter: keeps its disk");
    }
    Ok(())
}

/// Ends a fault. Notes in the fault what else was necessary.
///
/// # Errors
/// The system refuses something.
pub(crate) fn end(cluster: &mut Cluster, step: &Step, injected: &mut Injected) -> Outcome {
    cluster.switch.set(Rules::default());
    for number in injected.servers.iter().map(|s| usize::from(*s)) {
        let (server, disk) = (&mut cluster.servers[number], &cluster.disks[number]);
        match step.kind {
            Kind::Pause => server.signal(Signal::CONT),
            Kind::DiskFull => {
                // A log that could not be written takes no more writes until the server is started again.
                disk.free();
                server.kill();
            }
            Kind::ReadOnly => {
                server.kill();
                disk.repair()?;
            }
            Kind::SlowDisk => disk.limit(0)?,
            Kind::WallClock => server.set_clock(0)?,
            _ => {}
        }
        if injected.replaced == u8::try_from(number).ok() {
            disk.wipe()?;
            server.generation += 1;
        }
    }
    for agent in cluster.servers.iter_mut().chain(&mut cluster.nodes) {
        let before = agent.unexpected.len();
        if !agent.runs() {
            if agent.unexpected.len() > before {
                injected.what.push_str(&format!(", {} ended by itself", agent.place));
            }
            agent.start()?;
        }
    }
    Ok(())
}

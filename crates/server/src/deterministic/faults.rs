//! Faults: crashes, power failures, partitions, messages that are lost, delayed or duplicated, leadership transfers.

use std::sync::Arc;
use std::time::Duration;

use super::cluster::Cluster;
use super::members;
use super::network::{Place, Weather};
use super::run::Kind;
use super::users::Stop;
use encamp_model::random::Random;
use encamp_model::{HOUR, MINUTE, SECOND};

/// How long a crash waits for a write, in milliseconds.
const AMBUSH: u64 = 500;

/// How often it is looked whether another leader was elected, and how often at most.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: u32 = 100;

/// Injects faults until asked to stop; afterwards all faults are removed and all servers are running.
pub(crate) async fn happen(cluster: Arc<Cluster>, kind: Kind, machines: usize, stop: Stop) {
    let mut random = cluster.chance("faults");
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(300 + random.below(5000)) * kind.slowness()).await;
        if kind.churns() && random.below(3) == 0 {
            match random.below(8) {
                0..4 => members::churn(&cluster, &mut random).await,
                4 => pause_leader(&cluster, &mut random).await,
                _ => disturb_clock(&cluster, machines, &mut random).await,
            }
            continue;
        }
        match random.below(10) {
            0..3 => crash(&cluster, &mut random).await,
            3..5 => cut_power(&cluster, &mut random).await,
            5..7 => part(&cluster, &mut random).await,
            7 => storm(&cluster, &mut random).await,
            8 => isolate_leader(&cluster, &mut random).await,
            _ => hand_over(&cluster, &mut random).await,
        }
    }
    cluster.network.cut(Vec::new());
    cluster.network.set_weather(Weather { delay: 3, ..Weather::default() });
    let clocks = &cluster.sim.clocks;
    (0..machines).for_each(|at| clocks.start(at, cluster.sim.now()));
    clocks.furthest(cluster.sim.now());
    clocks.set_right(cluster.sim.now());
    for at in 0..cluster.size() {
        if !cluster.runs(at) && !cluster.is_idle(at) {
            cluster.start(at).await;
        }
    }
    cluster.sim.note(format_args!("no more faults"));
}

/// The duration of a fault.
fn while_(random: &mut Random) -> Duration {
    let most = if random.below(4) == 0 { 12_000 } else { 2_500 };
    Duration::from_millis(50 + random.below(most))
}

/// Picks one server, often the leader.
fn victim(cluster: &Cluster, random: &mut Random) -> Place {
    let leader = cluster.leader().filter(|_| random.below(2) == 0);
    let running: Vec<Place> = cluster.servers().into_iter().map(|(at, _)| at).collect();
    leader.map_or_else(|| random.pick(&running).copied().unwrap_or(0), |(at, _)| at)
}

/// How far a clock jumps, in nanoseconds: that of a server mostly some seconds, up to two minutes, because what it writes
/// as a time in the future stays there when it is set right; that of a node up to five hours.
fn leap(server: bool, random: &mut Random) -> i64 {
    let longest = if server { 2 * MINUTE } else { 5 * HOUR };
    let most = [3 * SECOND, 3 * SECOND, 30 * SECOND, longest][random.below(4) as usize];
    let far = random.below(most.unsigned_abs()) as i64;
    if random.below(2) == 0 { far } else { -far }
}

/// Sets the clock of a server or a node, lets it drift or stand still, or stops the whole machine for a while.
async fn disturb_clock(cluster: &Cluster, machines: usize, random: &mut Random) {
    let (sim, at) = (&cluster.sim, machine(cluster, machines, random));
    match random.below(5) {
        0..2 => {
            let by = leap(at < cluster.size(), random);
            sim.watch.count("clocks set", 1);
            sim.note(format_args!("the clock of {at} jumps by {} ms", by / 1_000_000));
            sim.clocks.jump(at, by);
        }
        2 => {
            let drift = random.below(200_001) as i64 - 100_000;
            sim.watch.count("clocks that drift", 1);
            sim.note(format_args!("the clock of {at} drifts by {drift} ppm"));
            sim.clocks.drift(at, drift, sim.now());
        }
        3 => {
            sim.watch.count("clocks that stand still", 1);
            sim.note(format_args!("the clock of {at} is stopped"));
            sim.clocks.stand_still(at, true, sim.now());
            tokio::time::sleep(while_(random) * 3).await;
            sim.clocks.furthest(sim.now());
            sim.clocks.stand_still(at, false, sim.now());
        }
        _ => {
            sim.watch.count("machines stopped", 1);
            sim.note(format_args!("machine {at} is stopped"));
            sim.clocks.stop(at);
            tokio::time::sleep(while_(random)).await;
            sim.clocks.start(at, sim.now());
            sim.note(format_args!("machine {at} goes on"));
        }
    }
    sim.clocks.furthest(sim.now());
}

/// Stops the machine of the leader until another server leads, and acknowledges writes, and longer: as long as a client
/// waits that asks the old one meanwhile.
async fn pause_leader(cluster: &Cluster, random: &mut Random) {
    let Some((at, _)) = cluster.leader() else { return };
    let sim = &cluster.sim;
    sim.watch.count("leaders stopped", 1);
    sim.note(format_args!("machine {at}, which leads, is stopped"));
    sim.clocks.stop(at);
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK).await;
        if cluster.servers().into_iter().any(|(other, server)| other != at && server.is_ready()) {
            break;
        }
    }
    tokio::time::sleep(Duration::from_millis(200 + random.below(3000))).await;
    sim.clocks.start(at, sim.now());
    sim.note(format_args!("machine {at} goes on"));
    sim.clocks.furthest(sim.now());
}

/// A server or a node; half of the time a server, often the leader. Nodes are at the last places.
fn machine(cluster: &Cluster, machines: usize, random: &mut Random) -> Place {
    let nodes = cluster.first_node();
    if random.below(2) == 0 || machines <= nodes {
        return victim(cluster, random);
    }
    nodes + random.below((machines - nodes) as u64) as Place
}

async fn crash(cluster: &Arc<Cluster>, random: &mut Random) {
    let at = victim(cluster, random);
    // Most servers are not writing most of the time, but a crash during a write is the interesting case.
    let mut patience = random.below(2) * AMBUSH;
    while patience > 0 && !cluster.writes(at) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        patience -= 1;
    }
    cluster.crash(at);
    tokio::time::sleep(while_(random)).await;
    cluster.start(at).await;
}

/// Crashes all servers at once.
async fn cut_power(cluster: &Arc<Cluster>, random: &mut Random) {
    cluster.sim.watch.count("crashes of all servers", 1);
    let running: Vec<Place> = cluster.servers().into_iter().map(|(at, _)| at).collect();
    running.iter().for_each(|at| cluster.crash(*at));
    for at in running {
        tokio::time::sleep(Duration::from_millis(random.below(500))).await;
        cluster.start(at).await;
    }
}

/// Partitions the servers into two halves, or in one direction.
async fn part(cluster: &Cluster, random: &mut Random) {
    let size = cluster.size();
    let sides: Vec<bool> = (0..size).map(|_| random.below(2) == 0).collect();
    let one_way = random.below(3) == 0;
    cluster.sim.watch.count(if one_way { "cuts in one direction" } else { "cuts in two" }, 1);
    let mut links = Vec::new();
    for (from, a) in sides.iter().enumerate() {
        for (to, b) in sides.iter().enumerate().filter(|(_, b)| *b != a) {
            if !one_way || *a && !*b {
                links.push((from, to));
            }
        }
    }
    cut_for_a_while(cluster, links, random).await;
}

async fn cut_for_a_while(cluster: &Cluster, links: Vec<(Place, Place)>, random: &mut Random) {
    cluster.sim.note(format_args!("cut: {links:?}"));
    cluster.network.cut(links);
    tokio::time::sleep(while_(random)).await;
    cluster.network.cut(Vec::new());
    cluster.sim.note(format_args!("no cut"));
}

/// Partitions the leader from all or some of the others, while clients still reach it.
async fn isolate_leader(cluster: &Cluster, random: &mut Random) {
    let at = victim(cluster, random);
    cluster.sim.watch.count("cuts around a server", 1);
    let others = (0..cluster.size()).filter(|o| *o != at);
    let links: Vec<(Place, Place)> = others.flat_map(|o| [(o, at), (at, o)]).filter(|_| random.below(4) > 0).collect();
    cut_for_a_while(cluster, links, random).await;
}

async fn storm(cluster: &Cluster, random: &mut Random) {
    let weather = Weather {
        loss: random.below(200),
        twice: random.below(200),
        delay: 1 + random.below(120),
        late: random.below(100),
    };
    cluster.sim.watch.count("storms", 1);
    cluster.sim.note(format_args!("{weather:?}"));
    cluster.network.set_weather(weather);
    tokio::time::sleep(while_(random)).await;
    cluster.network.set_weather(Weather { delay: 3, ..Weather::default() });
}

async fn hand_over(cluster: &Cluster, random: &mut Random) {
    let Some((_, leader)) = cluster.leader() else { return };
    let members = leader.consensus().configuration().servers;
    let others: Vec<_> = members.into_iter().filter(|m| m.voter && !m.leader).collect();
    let Some(to) = random.pick(&others) else { return };
    let moved = leader.hand_over(to).await;
    cluster.sim.watch.count("leaders that handed over", u64::from(moved));
    cluster.sim.note(format_args!("handed over to {}: {moved}", to.peer.name));
}

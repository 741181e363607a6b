//! Faults: crashes, power failures, partitions, messages that are lost, delayed or duplicated, leadership transfers.

use std::sync::Arc;
use std::time::Duration;

use super::cluster::Cluster;
use super::network::{Place, Weather};
use super::users::Stop;
use encamp_model::random::Random;

/// How long a crash waits for a write, in milliseconds.
const AMBUSH: u64 = 500;

/// Injects faults until asked to stop; afterwards all faults are removed and all servers are running.
pub(crate) async fn happen(cluster: Arc<Cluster>, stop: Stop) {
    let mut random = cluster.chance("faults");
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(300 + random.below(5000))).await;
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
    for at in 0..cluster.size() {
        if !cluster.runs(at) {
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
    leader.map_or_else(|| random.below(cluster.size() as u64) as Place, |(at, _)| at)
}

async fn crash(cluster: &Cluster, random: &mut Random) {
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
async fn cut_power(cluster: &Cluster, random: &mut Random) {
    cluster.sim.watch.count("crashes of all servers", 1);
    (0..cluster.size()).for_each(|at| cluster.crash(at));
    for at in 0..cluster.size() {
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

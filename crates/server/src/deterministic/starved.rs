//! Machines that get no processor for seconds at a time, as on a host with far too much to do. Each server stops and goes
//! on by itself, mostly for longer than the others wait for a leader.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::cluster::Cluster;
use super::network::Place;
use super::users::Stop;
use encamp_model::random::Random;

/// The count of terms that began while machines were stopped.
pub(crate) const TERMS: &str = "terms under starvation";
/// The count of seconds of the longest of them.
pub(crate) const LONGEST: &str = "seconds of the longest term";

/// The count of seconds in which machines were stopped.
pub(crate) const STARVED: &str = "seconds under starvation";

/// How often it is looked who leads.
const LOOK: Duration = Duration::from_millis(100);

/// Stops servers until asked to stop; afterwards all of them run. Counts the terms, and the seconds of the longest one
/// in which a server led to its own knowledge from its first to its last moment.
pub(crate) async fn happen(cluster: Arc<Cluster>, stop: Stop) {
    let (begun, start) = (newest_term(&cluster), Instant::now());
    let mut machines = tokio::task::JoinSet::new();
    for at in 0..cluster.size() {
        machines.spawn(starve(cluster.clone(), at, cluster.chance("starved"), stop.clone()));
    }
    let (mut longest, mut reign) = (Duration::ZERO, None);
    while !stop.now() {
        tokio::time::sleep(LOOK).await;
        let Some((_, leader)) = cluster.leader() else { continue };
        let term = leader.consensus().leadership().borrow().term;
        let since = match reign {
            Some((of, since)) if of == term => since,
            _ => Instant::now(),
        };
        reign = Some((term, since));
        longest = longest.max(since.elapsed());
    }
    let lasted = start.elapsed();
    while machines.join_next().await.is_some() {}
    let watch = &cluster.sim.watch;
    watch.count(TERMS, newest_term(&cluster).saturating_sub(begun));
    watch.count(LONGEST, longest.as_secs());
    watch.count(STARVED, lasted.as_secs());
    cluster.sim.note(format_args!("no more faults"));
}

fn newest_term(cluster: &Cluster) -> u64 {
    cluster.servers().iter().map(|(_, server)| server.consensus().stats().term).max().unwrap_or(0)
}

/// Lets a machine run for one to four seconds, and stops it for up to three and a half.
async fn starve(cluster: Arc<Cluster>, at: Place, mut random: Random, stop: Stop) {
    let sim = &cluster.sim;
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(1000 + random.below(3000))).await;
        sim.watch.count("machines stopped", 1);
        sim.note(format_args!("machine {at} is stopped"));
        sim.clocks.stop(at);
        tokio::time::sleep(Duration::from_millis(500 + random.below(3000))).await;
        sim.clocks.start(at, sim.now());
        sim.note(format_args!("machine {at} goes on"));
    }
}

//! One fault under load, and the checks after it.

use std::thread;
use std::time::{Duration, Instant};

use encamp_model::random::Random;

use super::SERVERS;
use super::cluster::Cluster;
use super::fault::Fault;
use super::load::{Ends, Load, LoadResult};
use crate::crash_support::checks::{self, LISTS, Verdict};
use crate::crash_support::ledger::Ledger;

/// Maximum time until every server accepts writes and has caught up.
const RECOVERS: Duration = Duration::from_secs(60);
/// Maximum time until all open work is finished: an evaluation that was lost in flight to a server is delivered again
/// after a minute.
const SETTLES: Duration = Duration::from_secs(90);
/// Maximum time until settled servers have the same records.
const AGREES: Duration = Duration::from_secs(20);
/// Duration of the load before the fault and after the recovery.
const BEFORE: Duration = Duration::from_millis(500);
const AFTER: Duration = Duration::from_millis(300);

/// The result of a round.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub fault: Fault,
    pub acked: usize,
    pub refused: usize,
    pub unknown: usize,
    pub checks: usize,
    /// From the start of the fault until writes succeeded through all unaffected servers.
    pub goes_on: Option<Duration>,
    /// From the fix until all servers accepted writes and had caught up.
    pub everywhere: Duration,
    pub settled: Duration,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let on = self.goes_on.map_or("-".into(), |t| format!("{} ms", t.as_millis()));
        write!(
            f,
            "    {} writes acknowledged, {} refused, {} unknown; writes go on after {on}, everywhere after {} ms, settled after {} ms; \
             {} checks",
            self.acked,
            self.refused,
            self.unknown,
            self.everywhere.as_millis(),
            self.settled.as_millis(),
            self.checks
        )
    }
}

/// Runs a round. Violations are added to the verdict.
pub fn run(cluster: &mut Cluster, fault: Fault, random: &mut Random, name: &str, verdict: &mut Verdict) -> Outcome {
    let ledgers = |cluster: &mut Cluster, f: &mut dyn FnMut(&mut Ledger)| {
        cluster.writers.iter_mut().for_each(|w| f(&mut w.ledger));
    };
    ledgers(cluster, &mut Ledger::begin);
    let load = Load::new(std::array::from_fn(|i| cluster.servers[i].port()));
    let hindered = cluster.network.hindered();
    let (goes_on, everywhere) = strike(cluster, &fault, random, name, &load);
    let load_result = load.finish();
    verdict.hold(load_result.wrong.is_empty(), || load_result.wrong.join("\n"));
    let hit = !fault.hinders() || cluster.network.hindered() > hindered;
    verdict.hold(hit, || "the fault had no effect".into());
    verdict.hold(everywhere.is_some(), || format!("not all servers are back after {} s", RECOVERS.as_secs()));
    if !fault.spared().is_empty() {
        verdict.hold(goes_on.is_some(), || "writes did not continue through the unaffected servers".into());
    }
    let settled = look(cluster, &load_result, verdict);
    let (mut acked, mut refused) = (load_result.probes.len(), 0);
    ledgers(cluster, &mut |l| (acked, refused) = (acked + l.acked, refused + l.refused));
    Outcome {
        fault,
        acked,
        refused,
        unknown: load_result.unknown,
        checks: verdict.checks,
        goes_on,
        everywhere: everywhere.unwrap_or(RECOVERS),
        settled,
    }
}

/// Applies load, causes the fault and fixes it. Returns when writes continued, and when all servers had recovered.
fn strike(
    cluster: &mut Cluster,
    fault: &Fault,
    random: &mut Random,
    name: &str,
    load: &Load,
) -> (Option<Duration>, Option<Duration>) {
    let mut writers = std::mem::take(&mut cluster.writers);
    let times = thread::scope(|scope| {
        let _ends = Ends(load);
        for (writer, n) in writers.iter_mut().zip(0..) {
            scope.spawn(move || load.write(writer, n));
        }
        scope.spawn(|| load.watch());
        thread::sleep(BEFORE + Duration::from_millis(random.below(500)));

        let begin = Instant::now();
        let lasting: Vec<_> = fault
            .spared()
            .into_iter()
            .map(|at| scope.spawn(move || load.probe(at, &format!("{name}-on"), begin, RECOVERS)))
            .collect();
        fault.begin(cluster);
        thread::sleep(fault.lasts.saturating_sub(begin.elapsed()));
        let fixed = Instant::now();
        fault.fix(cluster);

        let probes: Vec<_> = (0..SERVERS)
            .map(|at| scope.spawn(move || load.probe(at, &format!("{name}-all"), fixed, RECOVERS)))
            .collect();
        let all = probes.into_iter().map(|p| p.join().expect("a probe")).collect::<Option<Vec<_>>>();
        let everywhere = all.and_then(|_| caught_up(cluster, fixed));
        let went_on = lasting.into_iter().map(|p| p.join().expect("a probe")).collect::<Option<Vec<_>>>();
        thread::sleep(AFTER);
        (went_on.and_then(|times| times.into_iter().max()), everywhere)
    });
    cluster.writers = writers;
    times
}

/// Waits until every server has the state that the leader had at first.
fn caught_up(cluster: &Cluster, since: Instant) -> Option<Duration> {
    let wanted = cluster.by(0).indexes(&LISTS);
    let behind = |i: usize| cluster.own(i).indexes(&LISTS).iter().zip(&wanted).any(|(has, wants)| has < wants);
    while (0..SERVERS).any(behind) {
        if since.elapsed() > RECOVERS {
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
    Some(since.elapsed())
}

/// Waits until all work is finished, and checks every server. Returns the time until nothing was open.
fn look(cluster: &mut Cluster, load_result: &LoadResult, verdict: &mut Verdict) -> Duration {
    let mut writers = std::mem::take(&mut cluster.writers);
    let settled = checks::rest(cluster.by(0), &mut writers, SETTLES, verdict);
    same_records(cluster, verdict);
    for i in 0..SERVERS {
        for at in [cluster.by(i), cluster.own(i)] {
            checks::acknowledged(at, &mut writers, &load_result.indexes, verdict);
            let variables = at.list("/v1/vars?prefix=probe/");
            for path in &load_result.probes {
                let there = variables.iter().any(|v| v["Path"] == path.as_str());
                verdict.hold(there, || format!("{at:?}: variable {path} is lost"));
            }
        }
        let panicked = cluster.servers[i].log().lines().find(|l| l.contains("panicked at")).map(String::from);
        verdict.hold(panicked.is_none(), || format!("server {i}: {panicked:?}"));
    }
    checks::outcome(cluster.by(0), &writers, verdict);
    cluster.writers = writers;
    settled
}

/// Waits until each list is the same on all servers.
fn same_records(cluster: &Cluster, verdict: &mut Verdict) {
    let deadline = Instant::now() + AGREES;
    for path in LISTS {
        let read = || (0..SERVERS).map(|i| cluster.own(i).get(path).body).collect::<Vec<_>>();
        let mut bodies = read();
        while bodies.iter().any(|b| *b != bodies[0]) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(100));
            bodies = read();
        }
        let same = bodies.iter().all(|b| *b == bodies[0]);
        verdict.hold(same, || format!("{path} differs:\n{}", bodies.join("\n")));
    }
}

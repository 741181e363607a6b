//! Three servers under load, with faults of networks, processes, disks and clocks. All acknowledged writes must be on
//! every server afterwards (`docs/dev/reliability.md`).
//!
//! `ENCAMP_FAULT_ROUNDS=n`: the number of faults. `ENCAMP_FAULT_SEED=n`: the seed of the first fault; each further one
//! has the next seed, which decides what happens, but not the thread scheduling. `ENCAMP_FAULT_KINDS=deaf,stop`: only
//! these kinds. `ENCAMP_PROGRAM=path`: a different build from the one the tests were built with.

use crate::crash_support;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::crash_support::checks::Verdict;
use crate::crash_support::kept;
use crate::fault_support::cluster::Cluster;
use crate::fault_support::fault::{Fault, Kind};
use crate::fault_support::round::{self, Outcome};
use crate::fault_support::tally::Tally;
use encamp_model::random::Random;

/// The default number of rounds.
const ROUNDS: u64 = 4;
/// Where a change is proved.
const FEWER: u64 = 1;
/// Maximum number of rounds of a cluster, before it contains too much old data.
const LIFE: u64 = 10;

/// The selected kinds.
fn kinds() -> Vec<Kind> {
    let wanted = std::env::var("ENCAMP_FAULT_KINDS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|k| !k.is_empty()).collect();
    let known = |name: &&str| Kind::ALL.iter().any(|k| k.name() == **name);
    assert!(wanted.iter().all(known), "ENCAMP_FAULT_KINDS: {wanted:?}");
    Kind::ALL.into_iter().filter(|k| wanted.is_empty() || wanted.contains(&k.name().as_str())).collect()
}

/// Runs the round of a seed; a kind that is not possible on this machine is replaced by the next one.
fn round(cluster: &mut Cluster, seed: u64, tally: &mut Tally) -> Result<Outcome, String> {
    let mut kinds = kinds();
    kinds.retain(|kind| {
        let hindrance = kind.hindrance(cluster);
        tally.skipped.extend(hindrance.map(|why| (*kind, why)));
        hindrance.is_none()
    });
    let kind = kinds[(seed % kinds.len() as u64) as usize];
    let mut verdict = Verdict::default();
    let mut random = Random::new(seed, "fault");
    let fault = Fault::draw(kind, &mut random, cluster.leader());
    println!("seed {seed}: {fault}");
    let ran =
        catch_unwind(AssertUnwindSafe(|| round::run(cluster, fault, &mut random, &seed.to_string(), &mut verdict)));
    let outcome = ran.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        verdict.problems.push(text.unwrap_or("a panic").into());
    });
    if let (Ok(outcome), true) = (outcome, verdict.problems.is_empty()) {
        return Ok(outcome);
    }
    let kept = keep(cluster, seed);
    Err(format!(
        "{} of {} checks failed; data and logs of the servers are in {kept}:\n{}\nagain: ENCAMP_FAULT_SEED={seed} \
         ENCAMP_FAULT_ROUNDS=1 {}cargo test --test cluster faults -- --nocapture",
        verdict.problems.len(),
        verdict.checks,
        verdict.problems.join("\n"),
        std::env::var("ENCAMP_FAULT_KINDS").map(|k| format!("ENCAMP_FAULT_KINDS={k} ")).unwrap_or_default(),
    ))
}

/// Saves data for analysis. Returns the directory.
fn keep(cluster: &mut Cluster, seed: u64) -> String {
    let kept = kept::folder(&format!("faults-kept-{seed}"));
    for i in 0..cluster.servers.len() {
        let to = kept.join(format!("server-{i}"));
        let data = cluster.servers[i].data();
        let data = cluster.disks.as_ref().map_or(data.clone(), |disks| disks.inside(&data));
        kept::copy(&data.join("server"), &to);
        let _ = std::fs::write(to.join("agent.log"), cluster.servers[i].log());
        // A server that does not answer has no lists.
        let _ = catch_unwind(AssertUnwindSafe(|| kept::lists(cluster.own(i), &to)));
    }
    let _ = std::fs::write(kept.join("node.log"), cluster.node.log());
    kept.display().to_string()
}

#[test]
fn acknowledged_writes_survive_faults() {
    let (first, rounds) = crash_support::run_of("FAULT", FEWER, ROUNDS);
    let (mut tally, mut problems) = (Tally::default(), Vec::new());
    let mut cluster = None;
    for seed in first..first + rounds {
        if (seed - first).is_multiple_of(LIFE) {
            cluster = None;
        }
        let running = cluster.get_or_insert_with(|| Cluster::new(&format!("faults-{seed}"), seed));
        match round(running, seed, &mut tally) {
            Ok(outcome) => {
                println!("{outcome}");
                tally.add(outcome);
            }
            Err(why) => {
                println!("{why}");
                problems.push(format!("seed {seed}: {why}"));
                cluster = None;
            }
        }
    }
    println!("{tally}");
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert_eq!(tally.rounds() as u64, rounds);
    assert!(rounds == 0 || tally.acked() > 0, "nothing was written");
}

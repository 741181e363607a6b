//! A server that is killed at any time, and the state required after its restart (`docs/dev/reliability.md`).
//!
//! `ENCAMP_CRASH_ROUNDS=n`: how many times it is killed. `ENCAMP_CRASH_SEED=n`: decides what is written and when the
//! server is killed; thread scheduling is left to the machine. `ENCAMP_PROGRAM=path`: a different build from the one
//! the tests were built with.

use crate::agent;
use crate::crash_support;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::{Agent, call, wait_for};
use crate::crash_support::checks::{self, LISTS, NODE_MB, NODE_MHZ, Verdict};
use crate::crash_support::kept;
use crate::crash_support::ledger::End;
use crate::crash_support::view::View;
use crate::crash_support::writers::{self, Writer};
use crate::dice::Dice;
use crate::program::Folder;
use encamp_model::random::Random;

/// The default number of rounds.
const ROUNDS: u64 = 8;
/// Where a change is proved.
const FEWER: u64 = 2;
/// Maximum number of rounds of a cluster, before it contains too much old data.
const LIFE: u64 = 10;
/// The number of concurrent clusters.
const AT_ONCE: u64 = 4;
/// Maximum time for a killed server to finish all open work.
const SETTLE: Duration = Duration::from_secs(60);

/// Snapshots and log truncations happen frequently.
fn config(folder: &Folder) -> String {
    let data = folder.path().join("data").display().to_string();
    format!(
        "bind_addr = \"127.0.0.1\"
        data_dir = \"{data}\"
        log_level = \"INFO\"
        advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}
        server {{
            enabled = true
            bootstrap_expect = 1
            raft_snapshot_threshold = 150
            raft_snapshot_interval = \"100ms\"
            raft_trailing_logs = 20
        }}
        client {{
            enabled = true
            cpu_total_compute = {NODE_MHZ}
            memory_total_mb = {NODE_MB}
            disk_total_mb = 100000
            gc_max_allocs = 1000
        }}
        plugin \"mock_driver\" {{\n}}"
    )
}

/// A cluster on disk, and the ledgers of its writers.
struct Cluster {
    agent: Option<Agent>,
    writers: Vec<Writer>,
    /// Dropped last.
    folder: Folder,
}

impl Cluster {
    fn new(seed: u64, life: u64) -> Cluster {
        let folder = Folder::new(&format!("crash-{seed}-{life}"));
        let agent = Agent::start(&folder, &config(&folder), &[]);
        let mut cluster = Cluster { folder, agent: Some(agent), writers: Vec::new() };
        let node = cluster.ready();
        let agent = cluster.agent.as_ref().expect("it runs");
        let made = agent.send("PUT", "/v1/jobs", &writers::parent());
        assert_eq!(made.status, 200, "{}", made.body);
        cluster.writers = writers::all(&node, seed.wrapping_add(life));
        for ledger in cluster.writers.iter_mut().map(|w| &mut w.ledger) {
            ledger.port = agent.port;
            ledger.observe().expect("an answer");
        }
        cluster
    }

    fn agent(&self) -> &Agent {
        self.agent.as_ref().expect("it runs")
    }

    fn view(&self) -> View {
        View::of(self.agent().port)
    }

    /// Waits for a leader and a node. Returns the node ID.
    fn ready(&self) -> String {
        let mut id = String::new();
        wait_for("the node is ready", || {
            let reply = call(self.agent().port, "GET", "/v1/nodes", "", agent::PATIENCE).map_err(|e| e.to_string())?;
            match reply.json().get(0) {
                Some(node) if node["Status"] == "ready" => id = node["ID"].as_str().unwrap_or_default().into(),
                _ => return Err(format!("{} {}", reply.status, reply.body)),
            }
            Ok(())
        });
        id
    }

    /// Restarts the server. Returns the time until it was the leader.
    fn restart(&mut self) -> Duration {
        let begin = Instant::now();
        self.agent = None;
        let agent = Agent::start(&self.folder, &config(&self.folder), &[]);
        self.writers.iter_mut().for_each(|w| w.ledger.port = agent.port);
        self.agent = Some(agent);
        wait_for("there is a leader", || {
            let reply = call(self.agent().port, "GET", "/v1/status/leader", "", agent::PATIENCE);
            match reply {
                Ok(reply) if reply.body.len() > 4 => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
        begin.elapsed()
    }

    /// Runs all writers until the server is killed after `time`. Returns the highest indexes that were reported.
    fn load(&mut self, time: Duration, verdict: &mut Verdict) -> BTreeMap<&'static str, u64> {
        let mut agent = self.agent.take().expect("it runs");
        let port = agent.port;
        let seen: Mutex<BTreeMap<&'static str, u64>> = Mutex::default();
        let killed = AtomicBool::new(false);
        let wrong: Mutex<Vec<String>> = Mutex::default();
        thread::scope(|scope| {
            for writer in &mut self.writers {
                let (wrong, killed) = (&wrong, &killed);
                scope.spawn(move || {
                    let end = writer.run();
                    let why = match end {
                        End::Wrong(why) => why,
                        End::Gone(why) if !killed.load(Ordering::SeqCst) => format!("before the end: {why}"),
                        End::Gone(_) => return,
                    };
                    wrong.lock().expect("a lock").push(why);
                });
            }
            scope.spawn(|| {
                for path in LISTS.iter().cycle() {
                    let Ok(reply) = call(port, "GET", path, "", agent::PATIENCE) else { return };
                    let mut seen = seen.lock().expect("a lock");
                    let known = seen.entry(path).or_default();
                    if reply.status == 200 && reply.index < *known {
                        wrong.lock().expect("a lock").push(format!("{path} went back to {}", reply.index));
                    }
                    *known = (*known).max(reply.index);
                }
            });
            thread::sleep(time);
            killed.store(true, Ordering::SeqCst);
            agent.kill();
        });
        verdict.checks += 1;
        verdict.problems.extend(wrong.into_inner().expect("a lock"));
        seen.into_inner().expect("a lock")
    }

    /// Simulates the remains of an interrupted write.
    fn tear(&self, random: &mut Random) -> Result<&'static str, std::io::Error> {
        let raft = self.folder.path().join("data/server/raft");
        let mut segments: Vec<PathBuf> = fs::read_dir(&raft)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
        segments.retain(|p| p.extension().is_some_and(|e| e == "seg"));
        segments.sort();
        let newest = segments.last().ok_or_else(|| std::io::Error::other("no segments"))?;
        let bytes = fs::read(newest)?;
        let append = |tail: &[u8]| fs::write(newest, [&bytes, tail].concat());
        match random.roll(3) {
            0 => append(&vec![0; 1 + random.roll(8192)]).map(|()| "zeros behind the log"),
            1 => {
                // The beginning of a frame: a part of a copy of the newest frame also works.
                let at = bytes.windows(4).rposition(|w| w == b"ENCL").unwrap_or(0);
                let frame = &bytes[at..];
                append(&frame[..1 + random.roll(frame.len().max(2) - 1)]).map(|()| "half a frame")
            }
            _ => {
                fs::write(raft.join("tmp-vote"), b"half")?;
                fs::write(raft.join("snapshots/tmp-build-x.snap"), &bytes[..bytes.len() / 2])?;
                Ok("unfinished files")
            }
        }
    }
}

/// The results of all rounds.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    checks: usize,
    acked: usize,
    refused: usize,
    /// The maximum times until the server was the leader again, and until all open work was finished.
    slowest: Duration,
    longest: Duration,
}

/// Runs one cluster, which is killed `rounds` times.
fn live(seed: u64, life: u64, rounds: u64) -> Result<Tally, String> {
    let mut random = Random::new(seed, &format!("crash {life}"));
    let mut cluster = Cluster::new(seed, life);
    let mut tally = Tally::default();
    for round in 1..=rounds {
        let mut verdict = Verdict::default();
        for ledger in cluster.writers.iter_mut().map(|w| &mut w.ledger) {
            ledger.begin();
        }
        let time = Duration::from_millis(random.below(1500));
        let mut what = format!("killed after {} ms of load", time.as_millis());
        let mut indexes = BTreeMap::new();
        if random.one_in(8) {
            thread::sleep(time / 10);
            cluster.agent.as_mut().expect("it runs").kill();
            what = "killed while idle".into();
        } else {
            indexes = cluster.load(time, &mut verdict);
        }
        if random.one_in(4) {
            let times = random.between(1, 3);
            for _ in 0..times {
                let mut agent = Agent::spawn(&cluster.folder, &["-config", "agent.hcl"]);
                thread::sleep(Duration::from_millis(random.below(300)));
                agent.kill();
            }
            what += &format!(", {times} times while it started");
        }
        if random.one_in(3) {
            what += &format!(", {}", cluster.tear(&mut random).expect("the log"));
        }
        let back = cluster.restart();
        let at = cluster.view();
        checks::acknowledged(at, &mut cluster.writers, &indexes, &mut verdict);
        let settled = checks::rest(at, &mut cluster.writers, SETTLE, &mut verdict);
        checks::outcome(at, &cluster.writers, &mut verdict);
        let sum = |f: fn(&Writer) -> usize| cluster.writers.iter().map(f).sum::<usize>();
        let (acked, refused) = (sum(|w| w.ledger.acked), sum(|w| w.ledger.refused));
        println!(
            "cluster {life} round {round}: {what}; {acked} writes acknowledged, {refused} refused; leads again after {} ms, \
             settled after {} ms; {} checks",
            back.as_millis(),
            settled.as_millis(),
            verdict.checks
        );
        if !verdict.problems.is_empty() {
            return Err(report(&mut cluster, &verdict, &format!("{seed}-{life}-{round}")));
        }
        tally.add(&Tally { rounds: 1, checks: verdict.checks, acked, refused, slowest: back, longest: settled });
    }
    Ok(tally)
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.rounds += other.rounds;
        self.checks += other.checks;
        self.acked += other.acked;
        self.refused += other.refused;
        self.slowest = self.slowest.max(other.slowest);
        self.longest = self.longest.max(other.longest);
    }
}

/// A killed node waits up to ten seconds before it reports again, so several clusters run concurrently.
#[test]
fn acknowledged_writes_survive_kills() {
    let (seed, rounds) = crash_support::run_of("CRASH", FEWER, ROUNDS);
    let lives = rounds.div_ceil(LIFE).max(AT_ONCE.min(rounds));
    let next = AtomicU64::new(0);
    let results: Mutex<Vec<Result<Tally, String>>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let life = next.fetch_add(1, Ordering::SeqCst);
                    if life >= lives {
                        return;
                    }
                    let share = rounds / lives + u64::from(life < rounds % lives);
                    let result = live(seed, life, share);
                    results.lock().expect("a lock").push(result);
                }
            });
        }
    });
    let (mut tally, mut problems) = (Tally::default(), Vec::new());
    for result in results.into_inner().expect("a lock") {
        match result {
            Ok(one) => tally.add(&one),
            Err(why) => problems.push(why),
        }
    }
    println!("{tally:?}");
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert_eq!(tally.rounds, rounds);
    assert!(rounds < ROUNDS || tally.acked > 0, "nothing was written");
}

/// Saves the data and returns the report.
fn report(cluster: &mut Cluster, verdict: &Verdict, name: &str) -> String {
    let kept = kept::folder(&format!("crash-kept-{name}"));
    kept::copy(&cluster.folder.path().join("data/server"), &kept);
    kept::lists(cluster.view(), &kept);
    let _ = fs::write(kept.join("agent.log"), cluster.agent.as_mut().expect("it runs").log());
    let refusals: Vec<&String> = cluster.writers.iter().flat_map(|w| &w.ledger.refusals).collect();
    format!(
        "{} of {} checks failed, the data is in {}:\n{}\nrefusals: {refusals:?}",
        verdict.problems.len(),
        verdict.checks,
        kept.display(),
        verdict.problems.join("\n"),
    )
}

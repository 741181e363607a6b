//! Leaders killed under writes: how long no write is acknowledged, and that none is lost (`docs/dev/reliability.md`).
//!
//! `ENCAMP_LEADER_KILLS=n`: the number of kills. From [`LONG`] kills on, the 99th percentile has a bound.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::{PATIENCE, call, wait_for};
use crate::member::{Member, Role, leader, quoted};
use crate::rolling_restart::whole;
use encamp_test_support::tier;
use serde_json::json;

/// The number of kills from which on times are judged: fewer say nothing on a busy machine.
const LONG: usize = 100;
/// The bound of the 99th percentile in a long run.
const BOUND: Duration = Duration::from_millis(1200);
/// Writes that each writer has acknowledged after a kill before the round ends.
const AFTER: usize = 3;
/// Pause after a write that failed.
const PAUSE: Duration = Duration::from_millis(5);
/// Lines of a server's log that are printed after a long time without writes.
const SHOWN: usize = 8;
/// Width of a bar's range in the histogram, in milliseconds.
const RANGE: u128 = 100;

/// A write that was acknowledged.
#[derive(Clone, Copy)]
struct Acknowledged {
    value: u64,
    begun: Instant,
    ended: Instant,
}

/// Rewrites one variable through one server until it is asked to stop.
struct Writer {
    port: u16,
    path: String,
    /// The value of the first write.
    first: u64,
    acknowledged: Mutex<Vec<Acknowledged>>,
}

impl Writer {
    fn work(&self, stop: &AtomicBool) {
        for value in self.first.. {
            if stop.load(Ordering::Acquire) {
                return;
            }
            let body = json!({"Items": {"k": value.to_string()}}).to_string();
            let begun = Instant::now();
            match call(self.port, "PUT", &format!("/v1/var/{}", self.path), &body, PATIENCE) {
                Ok(reply) if reply.status == 200 => {
                    self.acknowledged.lock().unwrap().push(Acknowledged { value, begun, ended: Instant::now() });
                }
                _ => thread::sleep(PAUSE),
            }
        }
    }

    fn last(&self) -> Option<u64> {
        self.acknowledged.lock().unwrap().last().map(|a| a.value)
    }

    /// The number of acknowledged writes that began after a moment.
    fn after(&self, moment: Instant) -> usize {
        self.acknowledged.lock().unwrap().iter().filter(|a| a.begun > moment).count()
    }
}

/// The longest time without an acknowledgement, from the last one before the kill on.
fn longest_gap(writers: &[Writer], kill: Instant) -> Duration {
    let mut ends: Vec<Instant> = writers
        .iter()
        .flat_map(|w| w.acknowledged.lock().unwrap().iter().map(|a| a.ended).collect::<Vec<_>>())
        .collect();
    ends.sort();
    let before = ends.iter().rposition(|end| *end <= kill).expect("a write before the kill");
    ends[before..].windows(2).map(|pair| pair[1] - pair[0]).max().expect("a write after the kill")
}

/// Times without writes.
struct Times(Vec<Duration>);

impl Times {
    /// The time that a share of all, in hundredths, does not exceed.
    fn percentile(&self, hundredths: usize) -> Duration {
        let place = (self.0.len() * hundredths).div_ceil(100).max(1) - 1;
        self.0[place]
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |hundredths| self.percentile(hundredths).as_millis();
        let [median, ninety, most, last] = [50, 90, 99, 100].map(ms);
        let count = self.0.len();
        writeln!(f, "{count} kills: median {median} ms, p90 {ninety} ms, p99 {most} ms, max {last} ms")?;
        let range = |time: &Duration| time.as_millis() / RANGE;
        let (from, to) = (range(&self.0[0]), range(&self.0[count - 1]));
        for bar in from..=to {
            let count = self.0.iter().filter(|time| range(time) == bar).count();
            writeln!(f, "{:>5} to {:>5} ms {count:>4} {}", bar * RANGE, (bar + 1) * RANGE, "#".repeat(count))?;
        }
        Ok(())
    }
}

fn server(name: &str, join: &[String]) -> Member {
    let role = Role::Other(format!(
        "server {{\n  enabled = true\n  bootstrap_expect = 3\n  server_join {{\n    retry_join = [{}]\n    \
         retry_interval = \"1s\"\n  }}\n}}\n",
        quoted(join)
    ));
    let mut member = Member::new(name, role);
    member.start();
    member
}

/// The value of a variable in a server's own state, which may lack the newest writes.
fn stored(at: &Member, path: &str) -> Result<u64, String> {
    let object = at.read(&format!("/v1/var/{path}?stale"))?;
    object["Items"]["k"].as_str().and_then(|k| k.parse().ok()).ok_or_else(|| object.to_string())
}

/// Prints what a server last said of elections.
fn show_elections(server: &mut Member) {
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|l| l.contains("nomad.raft") || l.contains("leadership")).collect();
    println!("server at {}:\n{}", server.port(), lines[lines.len().saturating_sub(SHOWN)..].join("\n"));
}

/// Kills the leader while writers write through the other servers; gives the time without acknowledged writes. The
/// killed server runs again afterwards.
fn round(servers: &mut [Member], first: u64) -> (Duration, u64) {
    let old = leader(servers);
    let writers: Vec<Writer> = (0..servers.len())
        .filter(|n| *n != old)
        .map(|n| Writer { port: servers[n].port(), path: format!("kills/{n}"), first, acknowledged: Mutex::default() })
        .collect();
    let stop = AtomicBool::new(false);
    let mut gap = Duration::ZERO;
    thread::scope(|scope| {
        writers.iter().for_each(|writer| drop(scope.spawn(|| writer.work(&stop))));
        let begun = Instant::now();
        let all_wrote = |moment| {
            let counts: Vec<usize> = writers.iter().map(|w| w.after(moment)).collect();
            if counts.iter().all(|n| *n >= AFTER) { Ok(()) } else { Err(format!("{counts:?}")) }
        };
        wait_for("all write before the kill", || all_wrote(begun));
        let kill = Instant::now();
        servers[old].kill();
        wait_for("all write after the kill", || all_wrote(kill));
        stop.store(true, Ordering::Release);
        gap = longest_gap(&writers, kill);
    });
    if gap > BOUND {
        (0..servers.len()).filter(|n| *n != old).for_each(|n| show_elections(&mut servers[n]));
    }
    servers[old].start();
    whole(servers);
    let mut highest = first;
    for writer in &writers {
        let last = writer.last().expect("a write");
        for at in servers.iter() {
            // A later write without an answer may have been applied, too.
            wait_for("the last acknowledged write is on each server", || match stored(at, &writer.path)? {
                value if value >= last => Ok(()),
                value => Err(format!("{}: {value} instead of {last}", writer.path)),
            });
        }
        highest = highest.max(last);
    }
    // Writes without an answer have lower values than the next ones.
    (gap, highest + 1_000_000)
}

#[test]
fn writes_continue_soon_after_the_leader_was_killed() {
    let kills: usize = tier::rounds("ENCAMP_LEADER_KILLS", 3, 10);
    let mut servers = vec![server("leader-kills-0", &[])];
    for n in 1..3 {
        let join = vec![servers[0].serf()];
        servers.push(server(&format!("leader-kills-{n}"), &join));
    }
    whole(&servers);
    let (mut times, mut next) = (Vec::new(), 1);
    for kill in 0..kills {
        let (gap, after) = round(&mut servers, next);
        println!("kill {kill}: {} ms", gap.as_millis());
        times.push(gap);
        next = after;
    }
    times.sort();
    let times = Times(times);
    println!("{times}");
    if kills >= LONG {
        assert!(times.percentile(99) <= BOUND, "{times}");
    }
}

#[test]
fn percentiles_are_those_of_the_sorted_times() {
    let times = Times((1..=200).map(Duration::from_millis).collect());
    assert_eq!([50, 90, 99, 100].map(|p| times.percentile(p).as_millis()), [100, 180, 198, 200]);
    let one = Times(vec![Duration::from_millis(7)]);
    assert_eq!([50, 99, 100].map(|p| one.percentile(p).as_millis()), [7, 7, 7]);
    assert!(times.to_string().contains("  100 to   200 ms  100 ###"), "{times}");
}

//! Which allocations are removed, and how many, when the agent is killed in the middle again and again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::*;
use encamp_test_support::tier;

/// How many allocations end.
const ALLOCS: usize = 500;
/// How many allocations each limit removes.
const REMOVED: usize = 100;
/// How many are removed at a time.
const SLOTS: usize = 2;
/// Size of each allocation's log, in bytes.
const LOG: usize = 20_000;

fn kills() -> usize {
    tier::rounds("ENCAMP_COLLECTION_KILLS", 1, 6)
}

/// The limits of a node.
#[derive(Debug, Clone, Copy)]
struct Limits {
    allocs: usize,
    disk: f64,
    inodes: f64,
}

const NONE: Limits = Limits { allocs: 10_000, disk: 100.0, inodes: 100.0 };

fn configure(folder: &Folder, limits: Limits) {
    let Limits { allocs, disk, inodes } = limits;
    let client = format!(
        " gc_max_allocs = {allocs}\n gc_disk_usage_threshold = {disk}\n gc_inode_usage_threshold = {inodes}\n \
         gc_parallel_destroys = {SLOTS}"
    );
    folder.file("agent.hcl", config(folder, &client));
}

/// The stored state of an allocation; `None`: there is none.
fn state(folder: &Folder, id: &str) -> Option<Json> {
    let path = folder.path().join("data/client/allocs").join(id).join("state.json");
    let text = std::fs::read_to_string(path).ok()?;
    serde_json::from_str(text.split_once('\n')?.1).ok()
}

/// The allocations in the order in which they were marked, which is the order in which they ended.
fn in_order(folder: &Folder, ids: &[String]) -> Vec<String> {
    let key = |id: &String| {
        let state = state(folder, id).expect("a state");
        let marked = state["marked"].as_i64().expect("a number");
        let ended = state["tasks"]["main"]["state"]["FinishedAt"].as_str().expect("a time").to_string();
        (marked, ended)
    };
    let keys: BTreeMap<(i64, String), &String> = ids.iter().map(|id| (key(id), id)).collect();
    assert_eq!(keys.len(), ids.len(), "each has a mark of its own");
    // Times differ in their last digits only: a task that ended a second later is marked later.
    let seconds: Vec<&str> = keys.keys().map(|(_, ended)| &ended[..19]).collect();
    let late = seconds.windows(2).filter(|w| w[0] > w[1]).count();
    assert!(late * 20 < ids.len(), "{late} marks contradict the ends of the tasks");
    keys.into_values().cloned().collect()
}

/// A directory with allocations that ended, in the order of their ends.
struct Node {
    folder: Folder,
    order: Vec<String>,
    /// How many of them have been removed.
    gone: usize,
    killed: usize,
    later: usize,
}

impl Node {
    /// How many are gone. They are the oldest; of removals that were interrupted, a younger one may be further on.
    fn count(&self, most: usize) -> usize {
        // The youngest is read first: what is removed meanwhile is older.
        let mut there: Vec<bool> = self.order.iter().rev().map(|id| dir(&self.folder, id).exists()).collect();
        there.reverse();
        let gone = there.iter().filter(|there| !**there).count();
        let last = there.iter().rposition(|there| !there).map_or(0, |at| at + 1);
        assert!(last - gone < SLOTS, "{gone} of the oldest {last} are gone");
        assert!(last <= most, "allocation {last} is gone, but {most} are enough");
        gone
    }

    /// Starts the agent with these limits until `gone` of the allocations are gone; it is killed so many times
    /// meanwhile. Then one more allocation ends, and the next one goes.
    fn collect(&mut self, limits: Limits, gone: usize, kills: usize) {
        configure(&self.folder, limits);
        let begin = Instant::now();
        for left in (1..=kills).rev() {
            let now = self.count(gone);
            // At least one removal is left for each kill.
            let goal = now + ((gone - now) / (left + 1)).max(1);
            let mut agent = Agent::spawn(&self.folder, &["-config", "agent.hcl"]);
            self.wait(&mut agent, goal.min(gone), gone);
            agent.kill();
            self.killed += 1;
        }
        let mut agent = start(&self.folder);
        self.wait(&mut agent, gone, gone);
        println!("{gone} gone after {kills} kills: {:.1} s", begin.elapsed().as_secs_f64());
        self.later += 1;
        let later = run(&agent, &format!("later-{}", self.later), 1, LOG);
        self.order.extend(later);
        self.wait(&mut agent, gone + 1, gone + 1);
        self.gone = gone + 1;
        // The record of an allocation goes after its files.
        let removed = &self.order[..self.gone];
        wait_for("records", || match removed.iter().find(|id| state(&self.folder, id).is_some()) {
            Some(id) => Err(format!("{id} has one")),
            None => Ok(()),
        });
        // The servers have all of them.
        let allocs = agent.list("/v1/allocations");
        assert_eq!(allocs.len(), self.order.len());
        assert!(allocs.iter().all(|a| a["ClientStatus"] == "complete"));
        let stats = agent.get("/v1/client/stats");
        assert!(stats["LocalCollection"].is_null(), "{stats}");
        let figures = agent.get("/v1/agent/self")["stats"]["client"]["num_allocations"].clone();
        assert_eq!(figures, (self.order.len() - self.gone).to_string(), "live allocations");
        stop(agent);
        self.check();
    }

    /// Waits until so many allocations are gone.
    fn wait(&self, agent: &mut Agent, goal: usize, most: usize) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while self.count(most) < goal {
            assert!(Instant::now() < deadline, "{} of {goal} gone:\n{}", self.count(most), agent.log());
            assert!(agent.runs(), "the agent ended:\n{}", agent.log());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Exactly the oldest are gone, and nothing is left of them; nothing is missing of the others.
    fn check(&self) {
        for (n, id) in self.order.iter().enumerate() {
            let gone = n < self.gone;
            assert_eq!(dir(&self.folder, id).exists(), !gone, "allocation {n}");
            let state = state(&self.folder, id);
            assert_eq!(state.is_some(), !gone, "state of allocation {n}");
            if let Some(state) = state {
                assert!(state["removal"].is_null() && state["marked"].as_i64() > Some(0), "allocation {n}: {state}");
                let log = dir(&self.folder, id).join("alloc/logs/main.stdout.0");
                assert_eq!(std::fs::metadata(log).map(|m| m.len()).ok(), Some(LOG as u64), "log of allocation {n}");
            }
        }
    }
}

/// A limit, in percent, that so many allocations keep and one more exceeds; `percent`: what `now` allocations use.
fn between(percent: f64, now: usize, left: usize) -> f64 {
    percent / now as f64 * (left as f64 + 0.5)
}

#[test]
fn limits_are_kept_exactly_whenever_the_agent_is_killed() {
    let folder = Folder::new("local-collection");
    let memory = Mount::memory(&folder.path().join("alloc"), "size=64m,nr_inodes=20000");
    let begin = Instant::now();
    configure(&folder, NONE);
    let agent = start(&folder);
    let ids = run(&agent, "ended", ALLOCS, LOG);
    if memory.is_some() {
        check_figures(&folder, &agent, ids.len());
    }
    stop(agent);
    println!("{ALLOCS} allocations ended: {:.1} s", begin.elapsed().as_secs_f64());
    let order = in_order(&folder, &ids);
    let mut node = Node { folder, order, gone: 0, killed: 0, later: 0 };
    node.check();
    let (kills, phases) = (kills(), if memory.is_some() { 3 } else { 1 });
    let of_phase = |n: usize| kills * (n + 1) / phases - kills * n / phases;
    node.collect(Limits { allocs: ALLOCS - REMOVED, ..NONE }, REMOVED, of_phase(0));
    for (phase, by_disk) in [(1, true), (2, false)].into_iter().filter(|_| memory.is_some()) {
        let percent = |node: &Node| {
            let usage = Usage::of(&node.folder);
            if by_disk { usage.disk_percent() } else { usage.inode_percent() }
        };
        let (before, live, target) = (percent(&node), node.order.len() - node.gone, node.gone + REMOVED);
        let limit = between(before, live, live - REMOVED);
        let limits = if by_disk { Limits { disk: limit, ..NONE } } else { Limits { inodes: limit, ..NONE } };
        node.collect(limits, target, of_phase(phase));
        let (now, one) = (percent(&node), before / live as f64);
        assert!(now <= limit && now + one > limit, "{now} percent, limit {limit}, an allocation has {one}");
    }
    println!("{} of {} allocations removed, {} kills", node.gone, node.order.len(), node.killed);
}

/// The usage of the file system of the allocations, as the program `stat` shows it.
#[derive(Debug)]
struct Usage {
    block: u64,
    blocks: u64,
    free: u64,
    available: u64,
    inodes: u64,
    free_inodes: u64,
}

impl Usage {
    fn of(folder: &Folder) -> Usage {
        let args = ["-f", "-c", "%S %b %f %a %c %d"];
        let out = Command::new("stat").args(args).arg(folder.path().join("alloc")).output().expect("stat");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        let [block, blocks, free, available, inodes, free_inodes] = numbers[..] else { panic!("{text}") };
        Usage { block, blocks, free, available, inodes, free_inodes }
    }

    fn disk_percent(&self) -> f64 {
        let used = (self.blocks - self.free) * self.block;
        used as f64 / (used + self.available * self.block) as f64 * 100.0
    }

    fn inode_percent(&self) -> f64 {
        (self.inodes - self.free_inodes) as f64 / self.inodes as f64 * 100.0
    }
}

/// Compares the node's figures of its file system with those of the program `stat`.
fn check_figures(folder: &Folder, agent: &Agent, allocs: usize) {
    let usage = Usage::of(folder);
    assert_eq!((usage.block * usage.blocks, usage.inodes), (64 << 20, 20_000));
    assert!(usage.disk_percent() > (allocs * LOG) as f64 / f64::from(64 << 20) * 100.0, "{usage:?}");
    // An allocation has ten directories at least, and the log of its task.
    assert!(usage.inode_percent() > (allocs * 10) as f64 / 20_000.0 * 100.0, "{usage:?}");
    let bytes = [usage.blocks, usage.blocks - usage.free, usage.available].map(|blocks| Some(blocks * usage.block));
    let percents = [usage.disk_percent(), usage.inode_percent()];
    // They are measured every second.
    wait_for("the figures of the node", || {
        let stats = agent.get("/v1/client/stats")["AllocDirStats"].clone();
        let same = ["Size", "Used", "Available"].map(|name| stats[name].as_u64()) == bytes;
        let found = ["UsedPercent", "InodesUsedPercent"].map(|name| stats[name].as_f64().unwrap_or(-1.0));
        let near = found.iter().zip(percents).all(|(found, wanted)| (found - wanted).abs() < 1e-9);
        if same && near { Ok(()) } else { Err(format!("{stats} instead of {usage:?}")) }
    });
}

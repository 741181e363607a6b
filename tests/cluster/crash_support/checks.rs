//! Invariants that must hold after the faults.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use encamp_model::{ClientStatus, DesiredStatus};
use serde_json::Value as Json;

use super::ledger::End;
use super::view::View;
use super::writers::{Role, Writer};

/// Maximum time to wait for a conclusive answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// After this time the open work is printed: a node reports again within ten seconds.
const SLOW: Duration = Duration::from_secs(15);
/// How long nothing may change until the cluster counts as settled.
const QUIET: Duration = Duration::from_millis(500);
/// The capacity of the node.
pub const NODE_MHZ: i64 = 4000;
pub const NODE_MB: i64 = 8192;
/// The lists whose indexes are watched.
pub const LISTS: [&str; 7] = [
    "/v1/jobs",
    "/v1/evaluations",
    "/v1/allocations",
    "/v1/deployments",
    "/v1/nodes",
    "/v1/namespaces",
    "/v1/node/pools",
];

/// The number of checks, and the violations.
#[derive(Debug, Default)]
pub struct Verdict {
    pub checks: usize,
    pub problems: Vec<String>,
}

impl Verdict {
    pub fn hold(&mut self, holds: bool, why: impl FnOnce() -> String) {
        self.checks += 1;
        if !holds {
            self.problems.push(why());
        }
    }
}

fn text<'a>(o: &'a Json, key: &str) -> &'a str {
    o[key].as_str().unwrap_or_default()
}

fn client_status(alloc: &Json) -> ClientStatus {
    text(alloc, "ClientStatus").into()
}

fn desired_status(alloc: &Json) -> DesiredStatus {
    text(alloc, "DesiredStatus").into()
}

fn ids(list: &[Json]) -> BTreeSet<&str> {
    list.iter().map(|o| text(o, "ID")).collect()
}

/// Checks immediately after a restart: all acknowledged writes exist.
pub fn acknowledged(at: View, writers: &mut [Writer], indexes: &BTreeMap<&str, u64>, verdict: &mut Verdict) {
    for ledger in writers.iter_mut().map(|w| &mut w.ledger) {
        ledger.port = at.port;
        for cell in 0..ledger.cells.len() {
            let checked = patiently(|| ledger.check(cell, at.query(), true));
            verdict.hold(checked.is_ok(), || match checked {
                Err(End::Gone(why) | End::Wrong(why)) => format!("{at:?}: {why}"),
                Ok(()) => String::new(),
            });
        }
    }
    let (evals, jobs) = (at.list("/v1/evaluations"), at.list("/v1/jobs"));
    let (evals, jobs) = (ids(&evals), ids(&jobs));
    for ledger in writers.iter().map(|w| &w.ledger) {
        for id in &ledger.evals {
            verdict.hold(evals.contains(id.as_str()), || format!("{at:?}: evaluation {id} is lost"));
        }
        for id in &ledger.children {
            verdict.hold(jobs.contains(id.as_str()), || format!("{at:?}: dispatched job {id} is lost"));
        }
    }
    for (path, index) in indexes {
        let now = at.get(path).index;
        verdict.hold(now >= *index, || format!("{path} went back from {index} to {now}"));
    }
    consistent(at, verdict);
}

/// Invariants at any time: no allocation exists twice, and no node is over capacity.
pub fn consistent(at: View, verdict: &mut Verdict) {
    let mut live = at.list("/v1/allocations?resources=true");
    live.retain(is_live);
    let mut names: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut used: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for a in &live {
        let twin = names.insert((text(a, "JobID"), text(a, "Name")), text(a, "ID"));
        verdict.hold(twin.is_none(), || format!("{} runs twice: {twin:?} and {}", text(a, "Name"), text(a, "ID")));
        let node = used.entry(text(a, "NodeID")).or_default();
        for task in a["AllocatedResources"]["Tasks"].as_object().into_iter().flat_map(|t| t.values()) {
            node.0 += task["Cpu"]["CpuShares"].as_i64().unwrap_or(0);
            node.1 += task["Memory"]["MemoryMB"].as_i64().unwrap_or(0);
        }
    }
    for (node, (mhz, mb)) in used {
        let fits = mhz <= NODE_MHZ && mb <= NODE_MB;
        verdict.hold(fits, || format!("node {node} has {mhz} MHz and {mb} MB to bear"));
        // Otherwise no allocation was checked.
        verdict.hold(mhz > 0, || "allocations without resources".into());
    }
}

/// Whether an allocation is not terminal.
fn is_live(a: &Json) -> bool {
    use ClientStatus::{Complete, Failed, Lost, Unknown};
    let over = matches!(client_status(a), Complete | Failed | Lost | Unknown);
    desired_status(a) == DesiredStatus::Run && !over
}

/// The first open item, if any.
fn open(at: View) -> Option<String> {
    let evals = at.list("/v1/evaluations");
    let pending = evals.iter().find(|e| e["Status"] == "pending");
    let moving = at.list("/v1/allocations");
    let moving = moving.iter().find(|a| match (desired_status(a), client_status(a)) {
        (DesiredStatus::Run, status) => status == ClientStatus::Pending,
        (_, status) => matches!(status, ClientStatus::Pending | ClientStatus::Running),
    });
    let nodes = at.list("/v1/nodes");
    let starting = nodes.iter().find(|n| n["Status"] != "ready");
    pending.or(moving).or(starting).map(ToString::to_string)
}

/// Retries until there is an answer.
fn patiently<T>(mut step: impl FnMut() -> Result<T, End>) -> Result<T, End> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match step() {
            Err(End::Gone(_)) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(50)),
            other => return other,
        }
    }
}

/// Waits until the server has finished all open work on an eligible node, for at most `longest`. Returns the duration.
pub fn rest(at: View, writers: &mut [Writer], longest: Duration, verdict: &mut Verdict) -> Duration {
    let begin = Instant::now();
    for writer in writers.iter_mut().filter(|w| w.role == Role::Node) {
        writer.ledger.port = at.port;
        let opened = patiently(|| writer.open());
        verdict.hold(opened.is_ok(), || format!("the node can't be opened: {opened:?}"));
    }
    // Consequences follow with a delay: nothing may be open, and nothing may change, for a while.
    let (mut left, mut since, mut known) = (open(at), Instant::now(), at.indexes(&LISTS));
    let mut slow = Vec::new();
    while (left.is_some() || since.elapsed() < QUIET) && begin.elapsed() < longest {
        std::thread::sleep(Duration::from_millis(20));
        left = open(at);
        if begin.elapsed() > SLOW && slow.last() != left.as_ref() {
            slow.extend(left.clone());
        }
        let now = at.indexes(&LISTS);
        if left.is_some() || now != known {
            (since, known) = (Instant::now(), now);
        }
    }
    let took = begin.elapsed();
    if took > SLOW {
        println!("what was open for long: {slow:#?}");
    }
    verdict.hold(left.is_none(), || format!("still open after {} s: {}", longest.as_secs(), left.unwrap_or_default()));
    took
}

/// Reads lists until nothing has changed between the first and the last of them: plans that servers rejected are made
/// again each minute.
fn at_one_time<T>(at: View, read: impl Fn() -> T) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = at.indexes(&LISTS);
        let lists = read();
        if at.indexes(&LISTS) == before || Instant::now() > deadline {
            return lists;
        }
    }
}

/// What the cluster knows about a job: its evaluations and allocations, by index.
fn history(at: View, job: &str) -> String {
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut add = |list: &str, fields: &[&str]| {
        for object in at.list(list).iter().filter(|o| text(o, "JobID") == job) {
            let index = object["ModifyIndex"].as_u64().unwrap_or(0);
            let values: Vec<String> = fields.iter().map(|f| format!("{f}={}", object[f])).collect();
            lines.push((index, format!("{index} {list} {}", values.join(" "))));
        }
    };
    let times = ["ID", "CreateIndex"];
    let eval = ["Status", "StatusDescription", "TriggeredBy", "BlockedEval", "NextEval", "SnapshotIndex"];
    add("/v1/evaluations", &[&times[..], &eval].concat());
    let alloc = ["EvalID", "JobVersion", "DesiredStatus", "DesiredDescription", "ClientStatus", "NodeID"];
    add("/v1/allocations", &[&times[..], &alloc].concat());
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

/// Checks the settled state: every job has all its allocations, or is waiting.
pub fn outcome(at: View, writers: &[Writer], verdict: &mut Verdict) {
    consistent(at, verdict);
    let [allocs, evals, deployments] =
        at_one_time(at, || ["/v1/allocations", "/v1/evaluations", "/v1/deployments"].map(|list| at.list(list)));
    let live: Vec<&Json> = allocs.iter().filter(|a| is_live(a)).collect();
    // A drain stops allocations of batch jobs for good, and so it does with those of system jobs that were marked before
    // the drain was cancelled: no evaluation follows the stop.
    let mut newest: BTreeMap<String, (u64, bool)> = BTreeMap::new();
    let mut drained: BTreeSet<String> = BTreeSet::new();
    for a in &allocs {
        let (job, marks, index) = (text(a, "JobID").to_string(), &a["DesiredTransition"], a["CreateIndex"].as_u64());
        if marks["MigrateDisablePlacement"] == true {
            drained.insert(job);
        } else if a["JobType"] == "system" {
            let last = newest.entry(job).or_default();
            *last = (*last).max((index.unwrap_or(0), marks["Migrate"] == true));
        }
    }
    drained.extend(newest.into_iter().filter(|(_, (_, marked))| *marked).map(|(job, _)| job));
    for job in writers.iter().flat_map(|w| &w.ledger.cells).filter(|c| c.acked["Count"].is_i64()) {
        let of = |o: &&Json| text(o, "JobID") == job.id;
        let wanted = if job.acked["Stop"] == true { 0 } else { job.acked["Count"].as_u64().unwrap_or(0) };
        let has = live.iter().copied().filter(of).count() as u64;
        let waits = evals.iter().filter(of).any(|e| e["Status"] == "blocked")
            || deployments.iter().filter(of).any(|d| d["Status"] == "running")
            || drained.contains(&job.id);
        verdict.hold(has == wanted || has < wanted && waits, || {
            format!(
                "{} has {has} of {wanted} allocations and waits for nothing; it was left {}\n{}",
                job.id,
                job.acked,
                history(at, &job.id)
            )
        });
    }
    // A plan that its node always rejects waits for another minute, including its stops: a plan that preempts too
    // little for several allocations of the job at once (`docs/spec/scheduling.md §8.3`).
    let refused = |job: &str| {
        let of_plans = |e: &&Json| e["TriggeredBy"] == "max-plan-attempts" && e["Status"] == "blocked";
        evals.iter().filter(of_plans).any(|e| text(e, "JobID") == job)
    };
    for id in writers.iter().flat_map(|w| &w.ledger.stopped) {
        let still = live.iter().find(|a| text(a, "ID") == id);
        let fine = still.is_none_or(|a| refused(text(a, "JobID")));
        verdict.hold(fine, || format!("allocation {id} was not stopped"));
    }
}

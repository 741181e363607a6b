//! The end of a run: all faults are over, and the cluster comes to rest. Then its state is checked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value as Json, json};

use crate::check::{Verdict, placements};
use crate::clients::{jobs, sets};
use crate::cluster::{Cluster, read, wait};
use crate::dice::Dice;
use crate::failure::Outcome;
use crate::history::Records;
use crate::http::{self, PATIENCE};
use crate::place::{NODES, Place, SERVERS};
use crate::rules::Rules;

/// How long each step may take.
const PATIENCE_OF_STEP: Duration = Duration::from_secs(180);
/// The count of a job in the end: at most this.
const MOST: u64 = 3;
/// How long answers with whole lists are waited for.
const LISTS: Duration = Duration::from_secs(20);

/// The state in the end.
pub(crate) struct Rest {
    pub(crate) verdicts: Vec<Verdict>,
    /// How long each step took, in milliseconds.
    pub(crate) took: Vec<(&'static str, u128)>,
}

/// Lists that are the same on all servers in the end.
const SAME: [&str; 8] = [
    "/v1/jobs?namespace=*&",
    "/v1/allocations?namespace=*&",
    "/v1/evaluations?namespace=*&",
    "/v1/deployments?namespace=*&",
    "/v1/nodes?",
    "/v1/vars?namespace=*&",
    "/v1/namespaces?",
    "/v1/node/pools?",
];

/// Ends all faults, and checks the state to which the cluster comes.
///
/// # Errors
/// An agent cannot be started. That the cluster does not come to rest, is a verdict.
pub(crate) fn settle(cluster: &mut Cluster, records: &Records, seed: u64) -> Outcome<Rest> {
    cluster.switch.set(Rules::default());
    for agent in cluster.servers.iter_mut().chain(&mut cluster.nodes) {
        agent.signal(Signal::CONT);
        if !agent.runs() {
            agent.start()?;
        }
    }
    let mut rest = Rest { verdicts: Vec::new(), took: Vec::new() };
    let wanted = final_counts(seed);
    let cluster = &*cluster;
    rest.step("there is a leader", "five servers", || cluster.leader().map(drop).ok_or_else(|| "none".into()));
    rest.step("five servers vote", "five servers", || cluster.has_voters(SERVERS.into()));
    rest.step("twenty nodes are ready", "twenty nodes", || cluster.has_nodes(NODES.into()));
    let jobs = format!("{} jobs", wanted.len());
    rest.step("jobs are registered", &jobs, || wanted.iter().try_for_each(|(job, count)| register(job, *count)));
    rest.step("no evaluation is pending", &jobs, || {
        let list = leaders("/v1/evaluations")?;
        let open = list.as_array().map_or(1, |l| l.iter().filter(|e| e["Status"] == "pending").count());
        if open == 0 { Ok(()) } else { Err(format!("{open} are pending")) }
    });
    rest.step("each job has exactly its allocations, each name once, no node is over capacity", &jobs, || {
        let allocations = placements::allocations(&leaders("/v1/allocations?resources=true")?);
        let mut broken = placements::counts(&allocations, &wanted);
        broken.extend(placements::capacity(&allocations));
        if broken.is_empty() { Ok(()) } else { Err(broken.join("; ")) }
    });
    let names: Vec<&str> = SAME.iter().map(|s| s.split('?').next().unwrap_or_default()).collect();
    rest.step("all servers have the same lists and indexes", &names.join(" "), same);
    let mut last = BTreeMap::new();
    for set in records.adds.iter().map(|a| &a.set).collect::<BTreeSet<_>>() {
        if let Ok(variable) = any(&format!("/v1/var/{set}")) {
            last.insert(set.clone(), sets::elements(&variable));
        }
    }
    rest.verdicts.push(crate::check::sets::check(&records.adds, &last));
    Ok(rest)
}

impl Rest {
    fn step(&mut self, what: &'static str, amount: &str, is: impl FnMut() -> Result<(), String>) {
        let start = Instant::now();
        let broken = wait(what, PATIENCE_OF_STEP, is).err().map(|e| e.to_string());
        self.took.push((what, start.elapsed().as_millis()));
        println!("{what}: {}", broken.as_deref().unwrap_or("yes"));
        self.verdicts.push(Verdict { what, amount: amount.into(), broken: broken.into_iter().collect() });
    }
}

/// The counts of all jobs in the end.
fn final_counts(seed: u64) -> BTreeMap<String, u64> {
    let mut dice = Dice::new(seed, "final counts");
    jobs::all().into_iter().map(|job| (job, dice.between(0, MOST))).collect()
}

/// Registers a job, unless it has that count.
fn register(job: &str, count: u64) -> Result<(), String> {
    let now = any(&format!("/v1/job/{job}")).unwrap_or(Json::Null);
    if now["TaskGroups"][0]["Count"] == json!(count) && now["Stop"] == false {
        return Ok(());
    }
    let body = jobs::job(job, count).to_string();
    let reply = http::call(Place::Server(0), "PUT", "/v1/jobs", &body, PATIENCE).map_err(|e| format!("{e:?}"))?;
    if reply.status == 200 { Ok(()) } else { Err(String::from_utf8_lossy(&reply.body).into_owned()) }
}

/// What the first server answers that answers.
fn any(path: &str) -> Result<Json, String> {
    let mut why = String::new();
    for server in (0..SERVERS).map(Place::Server) {
        match read(server, path) {
            Ok(found) => return Ok(found),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn leaders(path: &str) -> Result<Json, String> {
    let reply = http::call(Place::Server(0), "GET", path, "", LISTS).map_err(|e| format!("{e:?}"))?;
    if reply.status == 200 { Ok(reply.json()) } else { Err(String::from_utf8_lossy(&reply.body).into_owned()) }
}

fn same() -> Result<(), String> {
    for path in SAME {
        let mut first: Option<(u64, Json)> = None;
        for server in (0..SERVERS).map(Place::Server) {
            let reply = http::call(server, "GET", &format!("{path}stale=true"), "", LISTS);
            let reply = reply.map_err(|e| format!("{server}: {e:?}"))?;
            if reply.status != 200 {
                return Err(format!("{server}: {} for {path}", reply.status));
            }
            let now = (reply.index, reply.json());
            match &first {
                None => first = Some(now),
                Some(first) if *first == now => {}
                Some(first) => return Err(format!("{server} differs in {path}: index {} and {}", now.0, first.0)),
            }
        }
    }
    Ok(())
}

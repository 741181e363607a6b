//! The summary of `job plan` on generated clusters: the counts of the sentence are those of the two states, that in
//! which the plan was made and that which its accepted parts leave; and what it says about later replacements is what a
//! simulated rollout does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use encamp_cli::render::plan_summary::answer;
use encamp_model::random::Random;
use encamp_model::*;
use encamp_plan::apply::apply;
use encamp_plan::tally::{Next, Tally};
use encamp_plan::{DryRun, dry_run};
use encamp_server::rollout_preview::{Cause, Rollout, RolloutError, rollout_within};
use encamp_state::{AllocEntry, State};
use encamp_test_support::dice::Dice;

use crate::property_support::{cluster, events, jobs};

const START: i64 = 1_700_000_000 * SECOND;
/// Clusters with everything that happens in them.
const CLUSTERS: u64 = 400;
/// Clusters in which only the job changes.
const ROLLOUTS: u64 = 400;

/// The numbers of a sentence, by what follows them; behind the first semicolon, with `later` before it. Names of jobs and
/// rates are left out.
fn said(sentence: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let without_jobs = sentence.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
    let text: String = without_jobs.collect();
    for (i, segment) in text.split(';').enumerate() {
        for part in segment.split(',') {
            let words: Vec<&str> = part.split_whitespace().collect();
            let number = words.iter().position(|word| word.chars().all(|c| c.is_ascii_digit()));
            let Some(at) = number else { continue };
            let what = words[at + 1..].join(" ");
            if what == "at a time" {
                continue;
            }
            let later = if i > 0 { "later: " } else { "" };
            *counts.entry(format!("{later}{what}")).or_default() += words[at].parse::<u64>().expect("a number");
        }
    }
    counts
}

/// The sum of the counts with these texts, which are taken out.
fn take(counts: &mut BTreeMap<String, u64>, texts: &[&str]) -> u64 {
    texts.iter().filter_map(|text| counts.remove(*text)).sum()
}

/// The two states of a plan, without what the code under test takes from them.
struct States {
    before: BTreeMap<String, Arc<AllocEntry>>,
    after: BTreeMap<String, Arc<AllocEntry>>,
}

impl States {
    fn of(run: &DryRun, now: i64) -> States {
        let after = apply(&run.state, &run.accepted(), now);
        let all = |state: &State| state.allocs().map(|e| (e.alloc.id.to_string(), e.clone())).collect();
        States { before: all(&run.state), after: all(&after) }
    }

    fn own<'a>(
        states: &'a BTreeMap<String, Arc<AllocEntry>>,
        job: &'a Job,
    ) -> impl Iterator<Item = &'a Arc<Allocation>> {
        let own = |a: &&Arc<Allocation>| (&*a.namespace, &*a.job_id) == (&*job.namespace, &*job.id);
        states.values().map(|e| &e.alloc).filter(own)
    }

    fn running(states: &BTreeMap<String, Arc<AllocEntry>>, job: &Job) -> BTreeSet<String> {
        States::own(states, job).filter(|a| !a.terminal()).map(|a| a.id.to_string()).collect()
    }
}

/// Compares the sentence about a plan with its states. Adds what it says to `met`.
fn check(run: &DryRun, now: i64, met: &mut BTreeMap<String, u64>) -> Result<(), String> {
    let job = &*run.job;
    let (sentence, _) = answer(&Tally::of(run, now));
    let states = States::of(run, now);
    let mut counts = said(&sentence);
    for text in counts.keys() {
        *met.entry(text.clone()).or_default() += 1;
    }
    let mut equal = |texts: &[&str], want: usize| {
        let got = take(&mut counts, texts);
        if got == want as u64 { Ok(()) } else { Err(format!("{texts:?}: {want} in the states; {sentence}")) }
    };
    let (ran, runs) = (States::running(&states.before, job), States::running(&states.after, job));
    let new: Vec<&Arc<Allocation>> =
        States::own(&states.after, job).filter(|a| !states.before.contains_key(&*a.id)).collect();
    let ended = ran.difference(&runs).count();
    let replacing: BTreeSet<&str> = new
        .iter()
        .map(|a| a.previous_allocation.as_str())
        .filter(|id| ran.contains(*id) && !runs.contains(*id))
        .collect();
    equal(&["canary to place", "canaries to place", "to place"], new.len() - replacing.len())?;
    equal(&["to replace"], replacing.len())?;
    equal(&["to stop"], ended - replacing.len())?;
    let changes = |id: &&String, change: &dyn Fn(&Allocation, &Allocation) -> bool| {
        change(&states.before[*id].alloc, &states.after[*id].alloc)
    };
    let both: Vec<&String> = ran.intersection(&runs).collect();
    let version = |a: &Allocation| a.job.as_ref().map(|j| (j.create_index, j.version));
    let present = Some((job.create_index, job.version));
    let updated = |was: &Allocation, is: &Allocation| version(was) != present && version(is) == present;
    equal(&["to update in place"], both.iter().filter(|id| changes(id, &updated)).count())?;
    let unknown = |was: &Allocation, is: &Allocation| {
        was.client_status != ClientStatus::Unknown && is.client_status == ClientStatus::Unknown
    };
    equal(&["to become unknown"], both.iter().filter(|id| changes(id, &unknown)).count())?;
    let others =
        states.before.values().filter(|e| (&*e.alloc.namespace, &*e.alloc.job_id) != (&*job.namespace, &*job.id));
    let evicted = others.filter(|e| !e.alloc.server_terminal() && states.after[&*e.alloc.id].alloc.server_terminal());
    equal(&["evicted"], evicted.count())?;
    let failures: i64 = run.failed_tg_allocs().values().map(AllocMetric::failures).sum();
    let failed = ["cannot be placed", "cannot be replaced and keeps running", "cannot be replaced and keep running"];
    equal(&failed, usize::try_from(failures).expect("a count"))?;
    let stay = |a: &&Arc<Allocation>| version(a) != present && a.client_status != ClientStatus::Unknown;
    let wanted = |a: &&Arc<Allocation>| job.lookup_group(&a.task_group).is_some() && !job.stop;
    let outdated = States::own(&states.after, job).filter(|a| !a.terminal()).filter(stay).filter(wanted).count();
    let later: u64 = counts.iter().filter(|(text, _)| text.starts_with("later: ")).map(|(_, n)| n).sum();
    let unreplaced: u64 = Tally::of(run, now).sum(|g| g.unreplaced);
    if later + unreplaced < outdated as u64 || later > outdated as u64 {
        return Err(format!(
            "{outdated} of older versions run on, {unreplaced} of them for lack of capacity; {sentence}"
        ));
    }
    Ok(())
}

/// One cluster with its jobs and the events in it.
fn cluster_case(seed: u64, met: &mut BTreeMap<String, u64>) -> Result<(), String> {
    let mut random = Random::new(seed, "plan summary");
    let roomy = random.one_in(3);
    let mut state = cluster::cluster(&mut random, roomy);
    let mut now = START;
    for number in 0..random.between(1, 4) {
        let job = jobs::job(&mut random, number as usize);
        let run = dry_run(&state, &job, now).map_err(|e| e.to_string())?;
        check(&run, now, met)?;
        state = left(&run, now, state.index);
    }
    for step in 0..8 {
        now += random.of(&[SECOND, 31 * SECOND, 6 * MINUTE, 2 * HOUR]);
        for _ in 0..random.between(0, 2) {
            events::happen(&mut random, &mut state, now);
        }
        let all: Vec<Arc<Job>> = state.jobs().map(|j| j.current.clone()).collect();
        let Some(job) = random.pick(&all) else { continue };
        let mut job = Job::clone(job);
        match random.roll(5) {
            0 => jobs::restart(&mut random, &mut job),
            1 => job.stop = true,
            2 => {}
            _ => jobs::change(&mut random, &mut job),
        }
        let run = dry_run(&state, &job, now).map_err(|e| e.to_string())?;
        check(&run, now, met).map_err(|e| format!("step {step}, {} {}: {e}", job.r#type, job.id))?;
        state = left(&run, now, state.index);
    }
    Ok(())
}

/// The state that a plan leaves. Dry runs give the same IDs again, servers do not.
fn left(run: &DryRun, now: i64, index: u64) -> State {
    let text = serde_json::to_string(&run.accepted()).expect("JSON");
    let text = text.replace("\"00000000-0000-0000-0000-", &format!("\"00000000-0000-0000-{index:04x}-"));
    apply(&run.state, &serde_json::from_str(&text).expect("a plan"), now)
}

#[test]
fn the_sentence_counts_what_the_states_differ_in() {
    let mut met = BTreeMap::new();
    for seed in 1..=CLUSTERS {
        cluster_case(seed, &mut met).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    println!("{CLUSTERS} clusters; {met:?}");
    let wanted = [
        "to place",
        "to replace",
        "to stop",
        "to update in place",
        "evicted",
        "cannot be placed",
        "cannot be replaced and keeps running",
        "would be rejected by the servers",
        "to become unknown",
        "to reschedule later",
        "canary to place",
        "later: to replace",
    ];
    let missing: Vec<&str> = wanted.into_iter().filter(|text| !met.contains_key(*text)).collect();
    assert!(missing.is_empty(), "no plan says {missing:?}");
}

/// A cluster on which version 0 of a job runs and is healthy.
fn settled(random: &mut Random, job: &Job) -> Option<State> {
    let mut state = State::new();
    for n in 0..random.between(1, 6) {
        let resources = NodeResources {
            processors: NodeProcessorResources {
                topology: Some(Topology { override_total_compute: 4000, ..Default::default() }),
            },
            memory: NodeMemoryResources { memory_mb: 1000 },
            disk: NodeDiskResources { disk_mb: 100_000 },
            networks: vec![NetworkResource { mode: "host".into(), ..Default::default() }],
            node_networks: Some(vec![NodeNetworkResource { mode: "host".into(), ..Default::default() }]),
            ..Default::default()
        };
        let node = Node {
            id: format!("{n:08}-0000-0000-0000-000000000000"),
            name: format!("n{n}"),
            datacenter: "dc1".into(),
            node_pool: "default".into(),
            status: NodeStatus::Ready,
            scheduling_eligibility: NodeEligibility::Eligible,
            drivers: [("raw_exec".to_string(), DriverInfo { detected: true, healthy: true, ..Default::default() })]
                .into(),
            attributes: [("nomad.version".to_string(), "2.0.5".to_string())].into(),
            node_resources: Some(resources.into()),
            create_index: 1,
            ..Default::default()
        };
        state.upsert_node(Arc::new(node));
    }
    state.index = 20;
    let now = START - HOUR;
    let run = dry_run(&state, job, now).ok()?;
    let mut state = left(&run, now, state.index);
    let mut allocs: Vec<Allocation> = state.allocs().map(|e| Allocation::clone(&e.alloc)).collect();
    for a in &mut allocs {
        a.client_status = ClientStatus::Running;
        a.deployment_status.get_or_insert_default().healthy = Some(true);
    }
    state.upsert_allocs(allocs.into_iter().map(Arc::new));
    let deployments: Vec<Deployment> = state.deployments().map(|d| Deployment::clone(d)).collect();
    for mut d in deployments {
        d.status = DeploymentStatus::Successful;
        state.upsert_deployment(Arc::new(d));
    }
    Some(state)
}

fn version_zero(random: &mut Random) -> Job {
    let kind = random.of(&[JobType::Service, JobType::Service, JobType::Service, JobType::System, JobType::Batch]);
    let system = kind == JobType::System;
    let update = |random: &mut Random| UpdateStrategy {
        max_parallel: random.between(0, 3),
        canary: if random.one_in(3) { random.between(1, 2) * if system { 50 } else { 1 } } else { 0 },
        auto_promote: random.one_in(2),
        health_check: "task_states".into(),
        min_healthy_time: 10 * SECOND,
        healthy_deadline: 300 * SECOND,
        progress_deadline: 600 * SECOND,
        ..Default::default()
    };
    let group = |random: &mut Random, name: &str| TaskGroup {
        name: name.into(),
        count: if system { 1 } else { random.between(1, 6) },
        update: (kind != JobType::Batch).then(|| update(random)),
        tasks: vec![Task {
            name: "t".into(),
            driver: "raw_exec".into(),
            resources: Some(Resources { cpu: 100, memory_mb: 100 * random.between(1, 4), ..Default::default() }),
            ..Default::default()
        }],
        ephemeral_disk: Some(EphemeralDisk { size_mb: 10, ..Default::default() }),
        ..Default::default()
    };
    let mut groups = vec![group(random, "a")];
    if random.one_in(3) {
        groups.push(group(random, "b"));
    }
    Job {
        id: "job".into(),
        name: "job".into(),
        namespace: "default".into(),
        region: "global".into(),
        priority: 50,
        datacenters: vec!["*".into()],
        node_pool: "default".into(),
        r#type: kind,
        task_groups: groups,
        ..Default::default()
    }
}

/// One job that is changed and rolled out, and the sentence about it.
fn rollout_case(seed: u64, met: &mut BTreeMap<&'static str, u64>) -> Result<(), String> {
    let mut random = Random::new(seed, "plan summary rollouts");
    let mut job = version_zero(&mut random);
    let Some(state) = settled(&mut random, &job) else { return Ok(()) };
    let system = job.r#type == JobType::System;
    let restarts = !random.one_in(4);
    for g in &mut job.task_groups {
        if !system && random.one_in(3) {
            g.count = random.between(0, 8);
        }
        for t in g.tasks.iter_mut().filter(|_| restarts) {
            t.meta.insert("version".into(), "two".into());
            if let Some(r) = t.resources.as_mut().filter(|_| random.one_in(3)) {
                r.memory_mb = 100 * random.between(1, 8);
            }
        }
    }
    let run = dry_run(&state, &job, START).map_err(|e| e.to_string())?;
    check(&run, START, &mut BTreeMap::new())?;
    let mut tally = Tally::of(&run, START);
    let prediction = match rollout_within(&state, &run.job, START, 100) {
        Ok(prediction) => prediction,
        Err(RolloutError::Endless(_)) => {
            *met.entry("endless").or_default() += 1;
            return Ok(());
        }
        Err(e) => return Err(e.to_string()),
    };
    tally.simulated(&prediction.left());
    let (sentence, _) = answer(&tally);
    let left = prediction.left();
    for (name, group) in tally.groups.iter().filter(|(_, g)| g.outdated > 0) {
        *met.entry(match group.next {
            Next::Steps(_) => "steps",
            Next::Promotion { automatic: true, .. } => "automatic promotion",
            Next::Promotion { automatic: false, .. } => "promotion",
            Next::Placement => "placement",
            Next::Resumption => "resumption",
            Next::Never => "never",
        })
        .or_default() += 1;
        *met.entry("stuck").or_default() += u64::from(group.stuck > 0);
        // Where no step changes the group, all of them are left.
        let old = left.get(name).copied().unwrap_or(group.outdated + group.unreplaced);
        let want = match group.next {
            Next::Steps(_) | Next::Promotion { .. } => group.stuck + group.unreplaced,
            Next::Placement | Next::Resumption | Next::Never => group.outdated + group.unreplaced,
        };
        if old != want {
            return Err(format!("group {name}: {old} of the old version are left; {sentence}\n{}", steps(&prediction)));
        }
        let (Next::Steps(pace) | Next::Promotion { step: pace, .. }) = group.next else { continue };
        let later = prediction.steps.iter().filter(|s| s.cause != Cause::Registration);
        let most = later.filter_map(|s| s.groups.get(name)).map(|g| g.stopped as u64).max().unwrap_or(0);
        let canaries = matches!(group.next, Next::Promotion { .. });
        if pace.0 > 0 && most > pace.0 && !canaries {
            return Err(format!("group {name}: {most} replaced at a time; {sentence}\n{}", steps(&prediction)));
        }
    }
    // Without canaries, what is missing after the plan cannot be placed.
    let after = apply(&run.state, &run.accepted(), START);
    for g in job.task_groups.iter().filter(|_| !system && job.r#type == JobType::Service) {
        let group = tally.groups.get(&g.name).cloned().unwrap_or_default();
        if g.update.as_ref().is_some_and(|u| u.canary > 0) {
            continue;
        }
        let runs = after.allocs_of_job("default", "job");
        let runs = runs.iter().filter(|e| e.alloc.task_group == g.name && !e.phase.terminal()).count() as i64;
        if g.count - runs != group.unplaced as i64 {
            return Err(format!("group {}: {runs} of {} run; {sentence}", g.name, g.count));
        }
    }
    Ok(())
}

fn steps(prediction: &Rollout) -> String {
    prediction.steps.iter().map(|s| format!("{s:?}\n")).collect::<String>() + &format!("{:?}", prediction.end)
}

#[test]
fn what_is_said_about_later_is_what_the_rollout_does() {
    let mut met = BTreeMap::new();
    for seed in 1..=ROLLOUTS {
        rollout_case(seed, &mut met).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    println!("{ROLLOUTS} rollouts; {met:?}");
    assert!(met.get("endless").is_none_or(|n| *n < ROLLOUTS / 20), "{met:?}");
    for kind in ["steps", "promotion", "automatic promotion", "placement", "stuck"] {
        assert!(met.get(kind).is_some_and(|n| *n > 5), "{kind}: {met:?}");
    }
}

//! Plan files on random clusters that change between plan and run: a job is registered if and only if the reviewed
//! outcome still holds.
//!
//! The comparison of records ([`encamp_plan::review`]) is checked against a second plan: both plans are applied to
//! their states, and what changed in the states is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_model::{Allocation, PreemptionConfig, SchedulerConfiguration, api};
use encamp_plan::apply::apply;
use encamp_plan::review::{Allow, Difference, Outcome, outcome, verdict};
use encamp_plan::what_if::{Change, what_if};
use encamp_plan::{JobPlan, plan_job, server_context};
use encamp_sim::cluster::EPOCH;
use encamp_sim::{ClusterOptions, cluster};
use encamp_snapshot::file::into_state;
use encamp_state::State;
use encamp_test_support::tier;
use proptest::prelude::*;

/// How many clusters are tried: `ENCAMP_PLAN_FILE_CASES`, which a release run sets to 10000.
fn cases() -> u32 {
    tier::rounds("ENCAMP_PLAN_FILE_CASES", 24, 64)
}

/// The numbers that make a job file.
#[derive(Debug, Clone)]
struct Shape {
    kind: &'static str,
    priority: u32,
    count: u32,
    cpu: u32,
    memory: u32,
    image: u32,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let kinds = prop_oneof![4 => Just("service"), 1 => Just("batch"), 1 => Just("system")];
    (kinds, 40_u32..100, 1_u32..8, 100_u32..2500, 64_u32..4000, 0_u32..2)
        .prop_map(|(kind, priority, count, cpu, memory, image)| Shape { kind, priority, count, cpu, memory, image })
}

impl Shape {
    fn job(&self, id: &str) -> api::Job {
        let Shape { kind, priority, count, cpu, memory, image } = self;
        let count = if *kind == "system" { String::new() } else { format!("count = {count}") };
        let text = format!(
            "job \"{id}\" {{\n type = \"{kind}\"\n priority = {priority}\n \
             datacenters = [\"*\"]\n group \"g\" {{\n {count}\n \
             task \"t\" {{\n driver = \"docker\"\n config {{ image = \"i:{image}\" }}\n resources {{\n cpu = {cpu}\n \
             memory = {memory}\n }}\n }}\n }}\n}}"
        );
        parse(text.as_bytes(), &ParseOptions::default()).expect("a job file")
    }
}

/// What happens between plan and run.
#[derive(Debug, Clone)]
enum Event {
    Nothing,
    Drained(usize),
    Lost(usize),
    Added(usize),
    /// Another job takes capacity.
    Taken(Shape),
    /// The job itself is registered by somebody else.
    Registered(Shape),
    /// An allocation of any job ends.
    Ended(usize),
    Preemption(bool),
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => Just(Event::Nothing),
        2 => any::<usize>().prop_map(Event::Drained),
        2 => any::<usize>().prop_map(Event::Lost),
        1 => any::<usize>().prop_map(Event::Added),
        3 => shapes().prop_map(Event::Taken),
        1 => shapes().prop_map(Event::Registered),
        2 => any::<usize>().prop_map(Event::Ended),
        1 => any::<bool>().prop_map(Event::Preemption),
    ]
}

fn plan(state: &State, job: &api::Job, now: i64) -> Option<JobPlan> {
    let options = ConvertOptions { region: "global".into(), request_region: None, namespace: Some("default".into()) };
    plan_job(state, job, &options, &server_context(state), now).ok()
}

/// The state after a job was registered and its plan carried out. Dry runs give the same IDs again, servers do not.
fn registered(state: &State, job: &api::Job, now: i64) -> State {
    let Some(planned) = plan(state, job, now) else { return state.clone() };
    let text = serde_json::to_string(&planned.run.plan).expect("JSON");
    let text = text.replace("\"00000000-0000-0000-0000-", &format!("\"00000000-0000-0000-{:04x}-", state.index));
    apply(&planned.run.state, &serde_json::from_str(&text).expect("a plan"), now)
}

fn preemption(state: &mut State, on: bool) {
    let preemption = PreemptionConfig {
        system_scheduler_enabled: on,
        service_scheduler_enabled: on,
        batch_scheduler_enabled: on,
        ..PreemptionConfig::default()
    };
    let config = SchedulerConfiguration { preemption_config: preemption, ..SchedulerConfiguration::default() };
    state.set_scheduler_config(Arc::new(config));
}

fn after(state: &State, event: &Event, now: i64) -> State {
    let nodes: Vec<String> = state.nodes().map(|e| e.node.id.clone()).collect();
    let node = |pick: &usize| nodes[pick % nodes.len()].clone();
    let change = match event {
        Event::Nothing => return state.clone(),
        Event::Drained(pick) => Change::drain(&node(pick)),
        Event::Lost(pick) => Change::down(&node(pick)),
        Event::Added(pick) => Change::add(&format!("1:like={}", node(pick))),
        Event::Taken(shape) => return registered(state, &shape.job("taker"), now),
        Event::Registered(shape) => return registered(state, &shape.job("planned"), now),
        Event::Ended(pick) => {
            let live: Vec<Arc<Allocation>> =
                state.allocs().filter(|e| !e.phase.terminal()).map(|e| e.alloc.clone()).collect();
            let Some(alloc) = live.get(pick % live.len().max(1)) else { return state.clone() };
            let mut ended = Allocation::clone(alloc);
            ended.client_status = encamp_model::ClientStatus::Complete;
            let mut next = state.clone();
            next.upsert_allocs([Arc::new(ended)]);
            next.index += 1;
            return next;
        }
        Event::Preemption(on) => {
            let mut next = state.clone();
            preemption(&mut next, *on);
            return next;
        }
    };
    let outcome = change.ok().and_then(|change| what_if(state, &[change], "default", now).ok());
    outcome.map_or_else(|| state.clone(), |outcome| outcome.state)
}

/// What a plan does, as lines: the changes of the state when it is carried out, and the parts of the response.
fn effects(state: &State, planned: &JobPlan, now: i64) -> BTreeMap<String, u32> {
    let then = apply(&planned.run.state, &planned.run.plan, now);
    let mut lines: BTreeMap<String, u32> = BTreeMap::new();
    let mut add = |line: String| *lines.entry(line).or_default() += 1;
    for entry in then.allocs() {
        let alloc = &entry.alloc;
        match state.alloc(&alloc.id).map(|e| &e.alloc) {
            None => {
                let canary = alloc.deployment_status.as_ref().is_some_and(|d| d.canary);
                add(format!("new {} {} {} {canary}", alloc.name, alloc.node_id, alloc.previous_allocation));
            }
            Some(old) if old.desired_status != alloc.desired_status => {
                add(format!("{} {}", alloc.desired_status, alloc.id));
            }
            Some(old) if !Arc::ptr_eq(old, alloc) && old.next_allocation == alloc.next_allocation => {
                add(format!("updated {}", alloc.id));
            }
            Some(_) => {}
        }
    }
    // Allocations that are stopped already can be stopped again.
    for stopped in planned.run.plan.node_update.values().flatten() {
        add(format!("stop of {}", stopped.id));
    }
    let response = &planned.response;
    add(format!("index {}", response.job_modify_index));
    add(format!("diff {}", serde_json::to_string(&response.diff).expect("JSON")));
    add(format!("rejected {:?}", response.plan_rejections));
    add(format!("warnings {}", response.warnings));
    for (group, metric) in &response.failed_tg_allocs {
        add(format!("unplaced {group} {}", metric.failures()));
    }
    for (group, counts) in response.annotations.iter().flat_map(|a| &a.desired_tg_updates) {
        add(format!("counts {group} {counts:?}"));
    }
    lines
}

fn through_json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).expect("JSON")).expect("the same type")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn a_plan_is_registered_if_and_only_if_its_outcome_holds(
        nodes in 2_usize..10,
        each in 1_usize..12,
        seed: u64,
        before in proptest::option::of(shapes()),
        shape in shapes(),
        evicting: bool,
        happened in proptest::collection::vec(events(), 0..3),
        allowed in proptest::collection::btree_set(proptest::sample::select(Allow::ALL), 0..4),
    ) {
        let options = ClusterOptions { nodes, allocs: nodes * each, seed, now: EPOCH };
        let Ok(made) = cluster(&options) else { return Ok(()) };
        let mut state = into_state(made.into_file()).expect("a state").state;
        preemption(&mut state, evicting);
        if let Some(before) = &before {
            // A registered job keeps its type.
            state = registered(&state, &Shape { kind: shape.kind, ..before.clone() }.job("planned"), EPOCH);
        }
        let job = shape.job("planned");
        let Some(reviewed) = plan(&state, &job, EPOCH) else { return Ok(()) };
        // As it comes back from the file.
        let record: Outcome = through_json(&outcome(&reviewed));
        prop_assert_eq!(&record, &outcome(&reviewed));
        let recorded_job: api::Job = through_json(&job);
        prop_assert_eq!(&recorded_job, &job);

        let now = EPOCH + 60_000_000_000;
        // What-ifs give the same IDs each time: one of them at most.
        let mut assumed = 0;
        let happened = happened.iter().filter(|event| match event {
            Event::Drained(_) | Event::Lost(_) | Event::Added(_) => {
                assumed += 1;
                assumed == 1
            }
            _ => true,
        });
        let later = happened.fold(state.clone(), |state, event| match event {
            Event::Registered(other) => {
                after(&state, &Event::Registered(Shape { kind: shape.kind, ..other.clone() }), now)
            }
            event => after(&state, event, now),
        });
        let Some(second) = plan(&later, &recorded_job, now) else { return Ok(()) };
        let holds = effects(&state, &reviewed, EPOCH) == effects(&later, &second, now);
        let present = outcome(&second);
        let strict = verdict(&record, &present, &BTreeSet::new());
        prop_assert_eq!(strict.holds(), holds, "{:?}", strict.refused);

        // What is allowed changes nothing about evictions and about the job.
        let all: BTreeSet<Allow> = Allow::ALL.iter().copied().collect();
        let evicted = |o: &Outcome| o.evictions.iter().map(|v| v.alloc_id.clone()).collect::<BTreeSet<_>>();
        let loose = verdict(&record, &present, &all);
        if loose.holds() {
            prop_assert!(evicted(&present).is_subset(&evicted(&record)));
            prop_assert_eq!(record.job_modify_index, present.job_modify_index);
        }
        // Each kind accepts its own differences, and no others.
        let some = verdict(&record, &present, &allowed);
        let kinds = |list: &[Difference]| list.iter().map(Difference::allowed_by).collect::<BTreeSet<_>>();
        prop_assert!(kinds(&some.accepted).iter().all(|kind| kind.is_some_and(|kind| allowed.contains(&kind))));
        prop_assert!(kinds(&some.refused).iter().all(|kind| kind.is_none_or(|kind| !allowed.contains(&kind))));
        prop_assert_eq!(some.accepted.len() + some.refused.len(), strict.refused.len());
    }
}

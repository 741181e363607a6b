//! Invariants of synthetic clusters: no node is overcommitted, jobs are as a server stores them, and allocations are
//! where the scheduler itself would leave them.

use std::sync::Arc;

use encamp_jobspec::admission::{admit, spec_changed};
use encamp_model::*;
use encamp_plan::dry_run::dry_run;
use encamp_plan::server_context;
use encamp_sim::{Cluster, ClusterOptions, SimError, cluster};
use encamp_snapshot::file::into_state;
use encamp_snapshot::{Compression, read, save};
use encamp_state::{NodeEntry, State};
use proptest::prelude::*;

fn options(nodes: usize, allocs: usize, seed: u64) -> ClusterOptions {
    ClusterOptions { nodes, allocs, seed, now: encamp_sim::cluster::EPOCH }
}

fn made(nodes: usize, allocs: usize, seed: u64) -> Cluster {
    cluster(&options(nodes, allocs, seed)).expect("a cluster")
}

fn state(made: Cluster) -> State {
    let loaded = into_state(made.into_file()).expect("a state");
    assert_eq!(loaded.notes, Vec::<String>::new());
    loaded.state
}

/// What is wrong with the use of a node.
fn trouble(entry: &NodeEntry) -> Vec<&'static str> {
    let (info, used) = (&entry.info, &entry.usage);
    let cores = used.cores.iter().all(|c| info.usable_cores.contains(c));
    let devices: Vec<&NodeDevice> =
        entry.node.node_resources.iter().flat_map(|r| &r.devices).flat_map(|d| &d.instances).collect();
    let broken = used.devices.iter().zip(&devices).any(|(n, d)| *n > 0 && !d.healthy);
    let checks = [
        ("cpu", used.cpu <= info.cpu),
        ("memory", used.memory <= info.memory),
        ("disk", used.disk <= info.disk),
        ("cores", cores && !used.core_overlap),
        ("ports", !used.port_collision && used.foreign_ports.is_empty() && !info.invalid_ports),
        ("devices", !used.device_overlap && !broken),
        ("down", entry.node.status != NodeStatus::Down || entry.live_allocs().next().is_none()),
    ];
    checks.iter().filter(|(_, ok)| !ok).map(|(what, _)| *what).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_node_is_over_committed(nodes in 1_usize..60, each in 0_usize..60, seed: u64) {
        match cluster(&options(nodes, nodes * each, seed)) {
            Ok(made) => {
                let state = state(made);
                prop_assert_eq!(state.allocs().count(), nodes * each);
                for entry in state.nodes() {
                    prop_assert_eq!(trouble(entry), Vec::<&str>::new(), "{}", entry.node.name);
                }
            }
            Err(e) => prop_assert!(matches!(e, SimError::NoRoom { .. }), "{}", e),
        }
    }

    #[test]
    fn files_read_back_as_they_were(nodes in 1_usize..12, each in 0_usize..12, seed: u64) {
        let made = made(nodes, nodes * each, seed);
        let mut texts = Vec::new();
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let mut text = Vec::new();
            save::write(&mut text, compression, &made.file, made.allocations()).expect("memory takes everything");
            texts.push(text);
        }
        let again = cluster(&options(nodes, nodes * each, seed)).expect("a cluster");
        let mut text = Vec::new();
        save::write(&mut text, Compression::Zstd, &again.file, again.allocations()).expect("memory takes everything");
        prop_assert!(text == texts[2], "two runs differ");
        let file = made.into_file();
        let parsed: encamp_snapshot::file::SnapshotFile = serde_json::from_slice(&texts[0]).expect("JSON");
        prop_assert_eq!(&parsed.nodes, &file.nodes);
        prop_assert_eq!(&parsed.jobs, &file.jobs);
        prop_assert_eq!(&parsed.allocations, &file.allocations);
        prop_assert_eq!(&parsed.deployments, &file.deployments);
        prop_assert_eq!(&parsed.node_pools, &file.node_pools);
        prop_assert_eq!(&parsed.namespaces, &file.namespaces);
        prop_assert_eq!(&parsed.scheduler_configuration, &file.scheduler_configuration);
        let want = into_state(file).expect("a state").state;
        for text in &texts {
            let got = read(text, "generated").expect("a snapshot").state;
            prop_assert_eq!(got.index, want.index);
            prop_assert_eq!(got.allocs().count(), want.allocs().count());
        }
    }
}

#[test]
fn jobs_are_as_a_server_stores_them() {
    let state = state(made(60, 900, 3));
    let server = server_context(&state);
    for entry in state.jobs() {
        for job in entry.versions.values() {
            let admitted = admit(job.as_ref().clone(), &server, Some(job)).expect("a valid job");
            assert!(!spec_changed(job, &admitted.job), "{} changes when it is registered again", job.id);
        }
    }
    for kind in JobType::ALL.iter().filter(|t| **t != JobType::Core) {
        assert!(state.jobs().any(|j| j.current.r#type == *kind), "no {kind} job");
    }
}

/// Jobs all of whose allocations are where they can stay.
fn settled(state: &State) -> Vec<Arc<Job>> {
    let calm = |job: &&Arc<Job>| {
        let rolling =
            state.deployments_of_job(&job.namespace, &job.id).iter().any(|d| d.status == DeploymentStatus::Running);
        let allocs = state.allocs_of_job(&job.namespace, &job.id);
        let live = allocs.iter().filter(|a| !a.phase.terminal());
        let on_ready = live.clone().all(|a| {
            let node = &state.node(&a.alloc.node_id).expect("a node").node;
            node.status == NodeStatus::Ready && node.scheduling_eligibility == NodeEligibility::Eligible
        });
        !rolling && !job.stop && on_ready && job.periodic.is_none() && job.parameterized_job.is_none()
    };
    state.jobs().map(|e| &e.current).filter(calm).cloned().collect()
}

#[test]
fn the_scheduler_leaves_settled_jobs_alone() {
    let state = state(made(60, 900, 5));
    let jobs = settled(&state);
    assert!(jobs.len() > 40);
    for job in jobs {
        let run = dry_run(&state, &job, encamp_sim::cluster::EPOCH).expect("a plan");
        assert!(run.failed_tg_allocs().is_empty(), "{}: {:?}", job.id, run.failed_tg_allocs());
        let calm = run.plan.node_update.is_empty() && run.plan.node_allocation.is_empty();
        assert!(calm, "{} {:?}", job.id, run.plan.annotations);
    }
}

/// A changed kill timeout is an update in place, for which the scheduler checks constraints, devices, volumes, ports
/// and resources on the node the allocation is on.
#[test]
fn allocations_are_where_the_scheduler_could_put_them() {
    let state = state(made(60, 900, 7));
    let mut updated = 0;
    for job in settled(&state) {
        // A new version of a job runs finished work once more.
        let allocs = state.allocs_of_job(&job.namespace, &job.id);
        if allocs.iter().any(|a| a.phase.client_terminal() && a.alloc.desired_status == DesiredStatus::Run) {
            continue;
        }
        let mut changed = job.as_ref().clone();
        for task in changed.task_groups.iter_mut().flat_map(|g| &mut g.tasks) {
            task.kill_timeout += SECOND;
        }
        let run = dry_run(&state, &changed, encamp_sim::cluster::EPOCH).expect("a plan");
        assert!(run.failed_tg_allocs().is_empty(), "{}: {:?}", job.id, run.failed_tg_allocs());
        assert!(run.plan.node_update.is_empty(), "{} {:?}", job.id, run.plan.annotations);
        for a in run.plan.node_allocation.values().flatten() {
            assert!(state.alloc(&a.id).is_some(), "{} is placed once more", a.name);
            updated += 1;
        }
    }
    assert!(updated > 300, "only {updated} allocations were checked");
}

#[test]
fn clusters_have_all_that_is_promised() {
    let made = made(100, 1500, 1);
    let s = &made.summary;
    assert_eq!((s.nodes, s.allocations), (100, 1500));
    let keys = |m: &std::collections::BTreeMap<String, usize>| m.keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&s.nodes_by_condition), "disconnected down draining ineligible ready");
    assert_eq!(keys(&s.nodes_by_class), "compute edge general gpu-large gpu-small memory storage");
    assert_eq!(keys(&s.nodes_by_pool), "compute default edge gpu");
    assert_eq!(keys(&s.nodes_by_datacenter), "dc1 dc2 dc3");
    assert_eq!(keys(&s.jobs_by_type), "batch service sysbatch system");
    assert_eq!(keys(&s.allocations_by_status), "complete failed lost pending running unknown");
    assert!((8..=20).contains(&s.full_nodes), "{} full nodes", s.full_nodes);
    assert!((8..=25).contains(&s.nearly_empty_nodes), "{} nearly empty nodes", s.nearly_empty_nodes);
    assert!((40.0..75.0).contains(&s.cpu_percent), "{} % CPU", s.cpu_percent);
    let file = made.into_file();
    let priorities: std::collections::BTreeSet<i64> = file.jobs.iter().map(|j| j.priority).collect();
    let namespaces: std::collections::BTreeSet<&str> = file.jobs.iter().map(|j| j.namespace.as_str()).collect();
    assert!(priorities.len() >= 8 && namespaces.len() >= 5);
    let devices = file.nodes.iter().filter_map(|n| n.node_resources.as_ref()).flat_map(|r| &r.devices);
    let vendors: std::collections::BTreeSet<&str> = devices.map(|d| d.vendor.as_str()).collect();
    assert_eq!(vendors.into_iter().collect::<Vec<_>>(), ["amd", "nvidia"]);
}

#[test]
fn a_cluster_that_is_too_small_says_what_would_do() {
    let Err(SimError::NoRoom { nodes: 4, allocs: 50_000, fit, enough }) = cluster(&options(4, 50_000, 1)) else {
        panic!("50,000 allocations fit four nodes")
    };
    assert!(fit > 1000 && fit < 50_000);
    assert!(cluster(&options(enough, 50_000, 1)).is_ok(), "{enough} nodes are not enough");
    let range = cluster(&options(0, 1, 1)).err().map(|e| e.to_string());
    assert_eq!(range.as_deref(), Some("the number of nodes must be between 1 and 100000, not 0"));
}

#[test]
fn replacements_and_what_they_replaced_name_each_other() {
    let file = made(100, 3000, 2).into_file();
    let by_id: std::collections::HashMap<&str, &Allocation> =
        file.allocations.iter().map(|a| (a.id.as_str(), &**a)).collect();
    assert_eq!(by_id.len(), 3000);
    let (mut links, mut tracked) = (0, 0);
    for a in &file.allocations {
        if let Some(next) = by_id.get(a.next_allocation.as_str()) {
            links += 1;
            assert_eq!((&*next.previous_allocation, &*next.name), (&*a.id, &*a.name));
            assert!(a.create_time <= next.create_time && a.terminal() && !next.terminal());
            let event = next.reschedule_tracker.as_ref().and_then(|t| t.events.as_ref()?.first());
            assert_eq!(event.is_some(), a.client_status == ClientStatus::Failed);
            tracked +=
                usize::from(event.is_some_and(|e| (&*e.prev_alloc_id, &*e.prev_node_id) == (&*a.id, &*a.node_id)));
        }
        assert!(a.create_time <= a.modify_time && a.modify_time <= encamp_sim::cluster::EPOCH, "{}", a.name);
    }
    assert!(links >= 20 && tracked >= 5, "{links} links, {tracked} trackers");
}

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::*;
use crate::file::{FORMAT_VERSION, SnapshotFile};
use crate::{save, unload};
use encamp_model::random::Random;
use encamp_model::*;
use encamp_state::State;

/// A directory of a test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("encamp-side-index-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).expect("a folder");
        Scratch(folder)
    }

    fn indexes(&self) -> Indexes {
        let least = Least { compressed: 0, plain: 0 };
        Indexes { folder: Folder::new(&self.0.join("cache")), lost, least, deferred: None }
    }

    /// The same for readers of few allocations.
    fn deferring(&self) -> Indexes {
        Indexes { deferred: Some(unreadable), ..self.indexes() }
    }

    /// The index of the only snapshot that has one.
    fn index(&self) -> PathBuf {
        self.indexes().folder.list().first().expect("an index").path.clone()
    }
}

fn lost(_: &Path, problem: &RowError) -> ! {
    panic!("lost: {problem}")
}

fn unreadable(problem: &SnapshotError) -> ! {
    panic!("unreadable: {problem}")
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A cluster with a bit of everything, a few of each.
fn cluster(seed: u64) -> SnapshotFile {
    let mut random = Random::new(seed, "side index");
    let random = &mut random;
    let node = |n: u64| {
        let network =
            NetworkResource { device: "eth0".into(), ip: format!("10.0.0.{n}"), mbits: 100, ..Default::default() };
        let resources = NodeResources { networks: vec![network], ..Default::default() };
        let attributes = [("unique.hostname", format!("n{n}")), ("ü \u{1f3d5}", "x".repeat(70))];
        Node {
            id: if n.is_multiple_of(2) { format!("{n:08x}-1bd5-c81d-c7e2-2f6e0bb2d1a0") } else { format!("node-{n}") },
            name: format!("n{n}"),
            datacenter: format!("dc{}", n % 2),
            node_resources: Some(resources.into()),
            attributes: attributes.map(|(k, v)| (k.to_string(), v)).into_iter().collect(),
            ..Default::default()
        }
    };
    let nodes: Vec<Node> = (0..random.below(9)).map(node).collect();
    let job = |id: u64, version: u64| Job {
        id: format!("j{id}"),
        namespace: ["default", "other"][(id % 2) as usize].into(),
        version,
        priority: i64::try_from(id).expect("small") * 10 - 10,
        create_index: 1,
        ..Default::default()
    };
    let count = random.below(6);
    let jobs: Vec<Job> = (0..count).flat_map(|id| (0..=id % 3).map(move |version| job(id, version))).collect();
    let mut allocation = |n: u64| {
        let mut task = AllocatedTaskResources::default();
        task.cpu.cpu_shares = random.below(300) as i64;
        let port = |value| AllocatedPortMapping { value, host_ip: "10.0.0.1".into(), ..Default::default() };
        let shared = AllocatedSharedResources {
            ports: (0..random.below(3)).map(|_| port([22, 8000, 70_000][random.below(3) as usize])).collect(),
            disk_mb: -5,
            ..Default::default()
        };
        let id = random.below(7);
        let known = job(id, random.below(4));
        Arc::new(Allocation {
            id: if n.is_multiple_of(3) {
                format!("alloc-{n}-{}", "y".repeat(30)).into()
            } else {
                format!("{n:08x}-0000-0000-0000-00000000000a").into()
            },
            namespace: known.namespace.clone().into(),
            job_id: known.id.clone().into(),
            node_id: node(random.below(10)).id.into(),
            stored_job_version: (random.below(3) > 0).then_some(known.version),
            job: (random.below(4) == 0).then(|| Arc::new(Job { create_index: random.below(3), ..known })),
            allocated_resources: (random.below(9) > 0).then(|| {
                Arc::new(AllocatedResources { tasks: [("t".to_string(), task)].into(), shared, ..Default::default() })
            }),
            client_status: [ClientStatus::Running, ClientStatus::Complete, ClientStatus::Pending]
                [random.below(3) as usize]
                .clone(),
            create_time: 1_771_254_739_000_000_001,
            modify_index: n << 50,
            ..Default::default()
        })
    };
    let allocations = (0..40).map(&mut allocation).collect();
    let deployment = |n: u64| Deployment {
        id: format!("d{n}"),
        job_id: format!("j{}", n % 3),
        namespace: "default".into(),
        create_index: n,
        ..Default::default()
    };
    SnapshotFile {
        version: Some(FORMAT_VERSION),
        taken_at: Time::from_unix_nanos(1_772_323_200_000_000_000),
        source: "somewhere".into(),
        index: 4711,
        nodes,
        jobs,
        allocations,
        deployments: (0..random.below(5)).map(deployment).collect(),
        namespaces: vec![Namespace { name: "other".into(), ..Default::default() }],
        ..Default::default()
    }
}

/// The same with a text that cannot be compressed, so that the file is worth several threads.
fn large_cluster(seed: u64) -> SnapshotFile {
    let mut random = Random::new(seed, "noise");
    let noise: String = (0..20_000).map(|_| format!("{:016x}", random.below(u64::MAX))).collect();
    let job = Job { id: "noise".into(), name: noise, ..Default::default() };
    let mut file = cluster(seed);
    file.jobs.push(job);
    file
}

/// Everything that a state answers.
fn told(snapshot: &ClusterSnapshot) -> String {
    let (state, mut out) = (&snapshot.state, String::new());
    let mut line = |text: String| writeln!(out, "{text}").expect("memory");
    line(format!("{:?} {} {} {:?}", snapshot.taken_at, snapshot.archived, snapshot.source, snapshot.notes));
    line(format!("{:?}", unload::to_file(snapshot)));
    for n in state.nodes() {
        let allocs: Vec<_> = n.allocs.iter().map(|e| (&e.alloc.id, e.phase, &e.usage)).collect();
        line(format!("{} {:?} {:?} {:?} {allocs:?}", n.slot, n.info, n.usage, n.by_priority));
        line(format!("{:?} {:?}", state.node_summary(n.slot), state.node(&n.node.id).map(|n| n.slot)));
        line(format!("{}", n.allocs.len()));
    }
    let index = state.node_index();
    line(format!("{:?} {:?} {:?}", index.rows(), index.datacenters(), index.classes()));
    for e in state.allocs_from("") {
        line(format!("{:?} {}", e, state.alloc(&e.alloc.id).is_some()));
    }
    line(format!("{}", state.alloc_count()));
    for (job, namespace) in (0..7).flat_map(|n| ["default", "other"].map(|ns| (format!("j{n}"), ns))) {
        let ids: Vec<_> = state.entries_of_job(namespace, &job).map(|e| &e.alloc.id).collect();
        line(format!("{ids:?} {:?}", state.placed_ids_of_job_id(&job).collect::<Vec<_>>()));
        let (nodes, gone) = state.nodes_of_job(namespace, &job);
        line(format!("{:?} {gone}", nodes.iter().map(|n| n.slot).collect::<Vec<_>>()));
        line(format!("{:?}", state.deployments_of_job(namespace, &job)));
        line(format!("{:?}", state.job_entry(namespace, &job)));
    }
    for n in 0..10 {
        line(format!(
            "{:?}",
            state.allocs_of_node(&format!("node-{n}")).iter().map(|e| &e.alloc.id).collect::<Vec<_>>()
        ));
    }
    out
}

/// Writes what the numbers say.
fn change(state: &mut State, random: &mut Random) {
    let ids: Vec<String> = (0..40).map(|n| format!("{n:08x}-0000-0000-0000-00000000000a")).collect();
    let id = &ids[random.below(40) as usize];
    match random.below(6) {
        0 => drop(state.remove_allocs([id.as_str()])),
        1 => drop(state.remove_node(&format!("node-{}", random.below(9)))),
        2 => state.upsert_node(Arc::new(Node { id: format!("node-{}", random.below(9)), ..Default::default() })),
        3 => {
            let known = state.alloc(id).map(|e| e.alloc.as_ref().clone()).unwrap_or_default();
            let node_id = format!("node-{}", random.below(9));
            let client_status = ClientStatus::Failed;
            state.upsert_allocs([Arc::new(Allocation {
                id: id.clone().into(),
                node_id: node_id.into(),
                client_status,
                ..known
            })]);
        }
        4 => state.upsert_job(Arc::new(Job { id: "j1".into(), version: random.below(5), ..Default::default() })),
        _ => {
            state.upsert_deployment(Arc::new(Deployment {
                id: "d1".into(),
                job_id: "j2".into(),
                ..Default::default()
            }));
            state.remove_deployment("d2");
        }
    }
}

fn saved(scratch: &Scratch, name: &str, seed: u64) -> PathBuf {
    let path = scratch.0.join(name);
    save::save(&path, &cluster(seed), []).expect("a snapshot");
    path
}

/// Loads a file; whether that was from an index.
fn loaded(path: &Path, indexes: &Indexes) -> (ClusterSnapshot, bool) {
    let Loaded { snapshot, unwritten } = load(path, Options::default(), indexes).expect("a snapshot");
    let lazy = snapshot.state.is_lazy();
    assert_eq!(lazy, unwritten.is_none());
    if let Some(index) = unwritten {
        let _ = index.write();
    }
    (snapshot, lazy)
}

#[test]
fn a_state_from_an_index_is_that_of_the_file() {
    let scratch = Scratch::new("same");
    for seed in 0..150 {
        let path = saved(&scratch, ["c.json", "c.json.gz", "c.json.zst"][(seed % 3) as usize], seed);
        let (cold, lazy) = loaded(&path, &scratch.indexes());
        assert!(!lazy, "seed {seed}: the content is another");
        let (indexed, lazy) = loaded(&path, &scratch.indexes());
        assert!(lazy, "seed {seed}");
        // Some rows are written before they are read, some after.
        let (mut a, mut b) = (cold.clone(), indexed.clone());
        for step in 0..12 {
            change(&mut a.state, &mut Random::new(seed << 8 | step, "changes"));
            change(&mut b.state, &mut Random::new(seed << 8 | step, "changes"));
            if seed % 4 == step % 4 {
                assert!(told(&a) == told(&b), "seed {seed}, step {step}");
            }
        }
        assert!(told(&a) == told(&b), "seed {seed}, at the end");
        assert!(told(&cold) == told(&indexed), "seed {seed}: the state that was not changed");
        let (again, lazy) = loaded(&path, &scratch.indexes());
        assert!(lazy && told(&again) == told(&cold), "seed {seed}");
    }
}

#[test]
fn the_fixtures_are_the_same_from_an_index() {
    let scratch = Scratch::new("fixtures");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut seen = 0;
    for folder in fs::read_dir(fixtures).expect("fixtures").flatten() {
        let path = folder.path().join("cluster.json");
        if !path.exists() {
            continue;
        }
        let (cold, _) = loaded(&path, &scratch.indexes());
        if cold.taken_at.is_zero() {
            continue;
        }
        let (indexed, lazy) = loaded(&path, &scratch.indexes());
        assert!(lazy, "{}", path.display());
        assert!(told(&cold) == told(&indexed), "{}", path.display());
        seen += 1;
    }
    assert!(seen > 3, "{seen} fixtures");
}

#[test]
fn damaged_indexes_give_the_right_state_or_none() {
    let scratch = Scratch::new("damaged");
    let path = saved(&scratch, "c.json", 7);
    let want = told(&loaded(&path, &scratch.indexes()).0);
    let index = scratch.index();
    let good = fs::read(&index).expect("the index");
    let (mut refused, mut met) = (0, 0);
    for seed in 0..300 {
        let mut random = Random::new(seed, "damage");
        let mut bytes = good.clone();
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at..].fill(0),
            _ => bytes.extend_from_slice(&good[at..]),
        }
        if bytes == good {
            continue;
        }
        fs::write(&index, &bytes).expect("a damaged index");
        let loaded = load(&path, Options::default(), &scratch.indexes()).expect("the snapshot is good");
        let is_used = loaded.snapshot.state.is_lazy();
        assert!(told(&loaded.snapshot) == want, "damage {seed}");
        refused += usize::from(!is_used);
        if is_used && !index.exists() {
            met += 1;
        }
    }
    assert!(refused > 50 && met > 50, "{refused} refused, {met} met later");
}

#[test]
fn damage_is_an_error_if_the_file_has_changed_as_well() {
    let scratch = Scratch::new("lost");
    let path = saved(&scratch, "c.json", 7);
    loaded(&path, &scratch.indexes());
    let index = scratch.index();
    let mut bytes = fs::read(&index).expect("the index");
    bytes[container::HEADER] ^= 1;
    fs::write(&index, &bytes).expect("a damaged index");
    let (snapshot, lazy) = loaded(&path, &scratch.indexes());
    assert!(lazy);
    save::save(&path, &cluster(8), []).expect("another snapshot");
    let read = catch_unwind(AssertUnwindSafe(|| told(&snapshot)));
    let message = read.expect_err("the first row is damaged").downcast::<String>().expect("a message");
    assert_eq!(*message, "lost: a checksum is wrong");
    assert!(!index.exists(), "who finds it removes it");
}

#[test]
fn a_state_whose_allocations_are_decoded_later_is_that_of_the_file() {
    let scratch = Scratch::new("deferred");
    let mut deferred = 0;
    for seed in 0..80 {
        let path = scratch.0.join(["d.json.gz", "d.json.zst"][(seed % 2) as usize]);
        save::save(&path, &large_cluster(seed), []).expect("a snapshot");
        let whole = file::load(&path, Options::default()).expect("a snapshot");
        let Loaded { snapshot, unwritten } = load(&path, Options::default(), &scratch.deferring()).expect("a snapshot");
        deferred += usize::from(snapshot.state.is_lazy());
        let mut changed = [whole.clone(), snapshot.clone()];
        for step in 0..8 {
            changed.iter_mut().for_each(|s| change(&mut s.state, &mut Random::new(seed << 8 | step, "changes")));
        }
        assert!(told(&changed[0]) == told(&changed[1]), "seed {seed}, changed");
        if seed % 3 == 0 {
            snapshot.state.decode_all();
        }
        assert!(told(&whole) == told(&snapshot), "seed {seed}");
        unwritten.expect("an index").write().expect("written");
        let (indexed, lazy) = loaded(&path, &scratch.indexes());
        assert!(lazy && told(&whole) == told(&indexed), "seed {seed}, from the index");
    }
    assert_eq!(deferred, 80);
}

#[test]
fn an_index_belongs_to_a_content() {
    let scratch = Scratch::new("swapped");
    let (a, b) = (saved(&scratch, "a.json", 1), saved(&scratch, "b.json", 2));
    let told_b = told(&loaded(&b, &scratch.indexes()).0);
    let of_b = scratch.index();
    loaded(&a, &scratch.indexes());
    let of_a = scratch.indexes().folder.place(&a).expect("a place");
    fs::copy(&of_a, &of_b).expect("swapped");
    let (snapshot, lazy) = loaded(&b, &scratch.indexes());
    assert!(!lazy && told(&snapshot) == told_b);
    assert!(loaded(&b, &scratch.indexes()).1, "it was replaced");

    // Other content of the same length and time.
    let text = fs::read_to_string(&b).expect("text");
    let times = fs::metadata(&b).and_then(|m| m.modified()).expect("a time");
    let other = text.replacen("\"dc1\"", "\"dcX\"", 1);
    assert_ne!(text, other);
    fs::write(&b, &other).expect("a snapshot");
    File::options().write(true).open(&b).and_then(|f| f.set_modified(times)).expect("the same time");
    let (snapshot, lazy) = loaded(&b, &scratch.indexes());
    assert!(!lazy && snapshot.state.nodes().any(|n| n.node.datacenter == "dcX"));
    // Other options, other notes.
    assert!(!load(&b, Options { lenient: true }, &scratch.indexes()).expect("a snapshot").snapshot.state.is_lazy());
    // A file that changes before its index is written has none.
    let unwritten = load(&a, Options { lenient: true }, &scratch.indexes()).expect("a snapshot").unwritten;
    fs::write(&a, &other).expect("a snapshot");
    assert!(unwritten.expect("an index").write().is_err());
}

#[test]
fn what_is_not_the_users_is_not_used() {
    let scratch = Scratch::new("foreign");
    let path = saved(&scratch, "c.json", 3);
    let is_used = || load(&path, Options::default(), &scratch.indexes()).expect("a snapshot").snapshot.state.is_lazy();
    loaded(&path, &scratch.indexes());
    let (index, folder) = (scratch.index(), scratch.indexes().folder.path().to_path_buf());
    assert!(is_used());
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    assert_eq!(fs::metadata(&index).expect("the index").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&folder).expect("the folder").permissions().mode() & 0o777, 0o700);
    mode(&index, 0o666);
    assert!(!is_used(), "others could have written it");
    mode(&index, 0o600);
    mode(&folder, 0o777);
    assert!(!is_used(), "others could have replaced it");
    mode(&folder, 0o700);
    assert!(is_used());
    if rustix::process::geteuid().is_root() {
        chown(&index, Some(12_345), None).expect("root gives files away");
        assert!(!is_used(), "another user wrote it");
        chown(&index, Some(0), None).expect("root takes files");
        assert!(is_used());
    }
    let elsewhere = scratch.0.join("elsewhere");
    fs::rename(&index, &elsewhere).expect("moved");
    symlink(&elsewhere, &index).expect("a link");
    assert!(!is_used(), "a link");
    loaded(&path, &scratch.indexes());
    assert!(is_used() && fs::symlink_metadata(&index).expect("the index").is_file(), "the link was replaced");
    fs::remove_file(&index).expect("removed");
    fs::create_dir(&index).expect("a folder");
    assert!(!loaded(&path, &scratch.indexes()).1 && !is_used());
    fs::remove_dir(&index).expect("removed");
    // A file where the directory should be.
    fs::remove_dir_all(&folder).expect("removed");
    fs::write(&folder, "").expect("a file");
    assert!(!loaded(&path, &scratch.indexes()).1 && !is_used());
}

#[test]
fn so_many_indexes_are_kept() {
    let scratch = Scratch::new("bounded");
    for n in 0..20 {
        loaded(&saved(&scratch, &format!("{n}.json"), n), &scratch.indexes());
    }
    let folder = scratch.indexes().folder;
    assert_eq!(folder.list().len(), 16);
    assert!(loaded(&scratch.0.join("19.json"), &scratch.indexes()).1, "the newest is there");
    assert_eq!(folder.clear().expect("removed"), 16);
    assert!(folder.list().is_empty());
}

#[test]
fn writers_at_the_same_time_leave_one_index() {
    let scratch = Scratch::new("race");
    let path = saved(&scratch, "c.json", 5);
    let want = told(&file::load(&path, Options::default()).expect("a snapshot"));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let (snapshot, _) = loaded(&path, &scratch.indexes());
                    assert!(told(&snapshot) == want);
                    let _ = fs::remove_file(scratch.indexes().folder.place(&path).expect("a place"));
                }
            });
        }
    });
    loaded(&path, &scratch.indexes());
    assert!(loaded(&path, &scratch.indexes()).1);
}

#[test]
fn small_files_get_no_index() {
    let scratch = Scratch::new("small");
    let path = saved(&scratch, "c.json", 5);
    let indexes = Indexes { least: Least::default(), ..scratch.indexes() };
    assert!(load(&path, Options::default(), &indexes).expect("a snapshot").unwritten.is_none());
    assert!(indexes.folder.list().is_empty());
}

//! Jobs that request the scarce resources, with every policy that the schedulers support.

use std::collections::BTreeMap;

use encamp_model::random::Random;
use encamp_model::*;

use super::cluster::{DATACENTERS, VOLUMES};
use encamp_test_support::dice::Dice;

const KINDS: [JobType; 4] = [JobType::Service, JobType::Batch, JobType::System, JobType::Sysbatch];
const PRIORITIES: [i64; 9] = [1, 10, 20, 30, 40, 49, 50, 60, 100];

/// Draws a job as registration stores it, without indexes.
pub fn job(random: &mut Random, number: usize) -> Job {
    let kind = if random.one_in(2) { JobType::Service } else { random.of(&KINDS) };
    // Jobs of one ID in two namespaces are two jobs.
    let (id, namespace) = match number {
        3 if random.one_in(2) => ("job-0".to_string(), "other".to_string()),
        _ => (format!("job-{number}"), "default".to_string()),
    };
    let mut job = Job {
        name: if random.one_in(4) { format!("{id}-name") } else { id.clone() },
        id,
        namespace,
        // Later jobs are often more important, so that they evict.
        priority: if random.one_in(2) { 10 + 20 * number as i64 } else { random.of(&PRIORITIES) },
        all_at_once: random.one_in(12),
        datacenters: random.of(&[vec!["*"], vec!["*"], vec!["dc*"], vec!["dc1"], vec!["dc2", "e*-1"]]).to_owned_texts(),
        node_pool: random.text(&["default", "default", "default", "all", "gpu"]),
        status: JobStatus::Running,
        r#type: kind,
        ..Default::default()
    };
    // Plain jobs can run anywhere, so that much is placed.
    let plain = random.one_in(2);
    let most = random.of(&[1, 1, 2, 3]);
    job.task_groups = (0..most).map(|n| group(random, &job.r#type, n, plain)).collect();
    if !plain {
        job.constraints = constraints(random);
        job.affinities = affinities(random);
        job.spreads = spreads(random);
    }
    if random.one_in(2) {
        job.update = UpdateStrategy { stagger: 30 * SECOND, max_parallel: random.between(0, 2), ..Default::default() };
    }
    job
}

/// Lists of texts from lists of literals.
trait OwnedTexts {
    fn to_owned_texts(&self) -> Vec<String>;
}

impl OwnedTexts for Vec<&str> {
    fn to_owned_texts(&self) -> Vec<String> {
        self.iter().map(|s| s.to_string()).collect()
    }
}

/// Draws a group.
pub fn group(random: &mut Random, kind: &JobType, number: usize, plain: bool) -> TaskGroup {
    let per_node = matches!(kind, JobType::System | JobType::Sysbatch);
    let mut g = TaskGroup {
        name: format!("g{number}"),
        count: if per_node {
            random.of(&[1, 1, 1, 2])
        } else {
            random.of(&[0, 1, 2, 3, 4, 8, if plain { 20 } else { 5 }, if plain { 30 } else { 6 }])
        },
        ephemeral_disk: Some(EphemeralDisk {
            size_mb: random.of(&[0, 10, 100, 300]),
            sticky: random.one_in(5),
            migrate: random.one_in(8),
        }),
        ..Default::default()
    };
    policies(random, kind, &mut g);
    let tasks = random.of(&[1, 1, 1, 2, 3]);
    g.tasks = (0..tasks).map(|n| task(random, n, plain)).collect();
    if plain && random.one_in(3) {
        return g;
    }
    if random.one_in(2) {
        g.networks = vec![network(random)];
    }
    if plain {
        return g;
    }
    g.constraints = constraints(random);
    g.affinities = affinities(random);
    g.spreads = spreads(random);
    if random.one_in(4) {
        let source = random.text(&VOLUMES);
        let request = VolumeRequest {
            name: "v".into(),
            r#type: "host".into(),
            source,
            read_only: random.one_in(2),
            ..Default::default()
        };
        g.volumes = Some(BTreeMap::from([("v".to_string(), request)]));
    }
    if *kind == JobType::Batch && random.one_in(8) {
        g.max_run_duration = Some(HOUR);
    }
    g
}

fn policies(random: &mut Random, kind: &JobType, g: &mut TaskGroup) {
    let service = *kind == JobType::Service;
    if (service || *kind == JobType::System) && !random.one_in(4) {
        let canary = if *kind == JobType::System { random.of(&[0, 0, 30, 100]) } else { random.of(&[0, 0, 1, 2]) };
        g.update = Some(UpdateStrategy {
            stagger: 30 * SECOND,
            max_parallel: random.of(&[0, 1, 1, 2, 3]),
            health_check: "checks".into(),
            progress_deadline: 10 * MINUTE,
            auto_promote: canary > 0 && random.one_in(3),
            canary,
            ..Default::default()
        });
    }
    if service {
        g.migrate = Some(MigrateStrategy { max_parallel: random.between(0, 2), ..Default::default() });
    }
    if service || *kind == JobType::Batch {
        g.reschedule_policy = Some(reschedule(random, service));
    }
    if random.one_in(3) {
        g.disconnect = Some(DisconnectStrategy {
            lost_after: random.of(&[0, 5 * MINUTE, HOUR]),
            stop_on_client_after: random.one_in(5).then_some(30 * SECOND),
            replace: random.of(&[None, Some(true), Some(false)]),
            reconcile: random.text(&["", "best_score", "keep_original", "keep_replacement", "longest_running"]),
        });
    }
}

fn reschedule(random: &mut Random, service: bool) -> ReschedulePolicy {
    let unlimited = service && !random.one_in(3);
    ReschedulePolicy {
        attempts: if unlimited { 0 } else { random.between(0, 3) },
        interval: HOUR,
        delay: random.of(&[0, 5 * SECOND, 30 * SECOND]),
        delay_function: random.text(&["constant", "exponential", "fibonacci"]),
        max_delay: HOUR,
        unlimited,
    }
}

fn task(random: &mut Random, number: usize, plain: bool) -> Task {
    let hooks = [
        (LifecycleHook::Prestart, false),
        (LifecycleHook::Prestart, true),
        (LifecycleHook::Poststart, false),
        (LifecycleHook::Poststop, false),
    ];
    let lifecycle = random.one_in(4).then(|| random.of(&hooks));
    let mut r = Resources {
        cpu: random.of(&[20, 100, 250, 500]),
        memory_mb: random.of(&[10, 64, 128, 512]),
        memory_max_mb: random.of(&[0, 0, 1024]),
        ..Default::default()
    };
    if !plain {
        if random.one_in(5) {
            (r.cpu, r.cores) = (0, random.between(1, 2));
        }
        if random.one_in(5) {
            r.devices = vec![device(random)];
        }
        if random.one_in(12) {
            let mut n = network(random);
            (n.mode, n.mbits) = (String::new(), random.of(&[1, 30, 60]));
            n.reserved_ports.retain(|p| p.value != 80);
            n.reserved_ports.iter_mut().for_each(|p| p.value += 1);
            r.networks = vec![n];
        }
        r.secrets_mb = random.of(&[0, 0, 0, 16]);
    }
    Task {
        name: format!("t{number}"),
        driver: if plain { "exec".into() } else { random.text(&["exec", "exec", "exec", "docker", "docker", "java"]) },
        config: BTreeMap::from([("image".to_string(), "v1".into())]),
        constraints: if !plain && random.one_in(8) { constraints(random) } else { Vec::new() },
        lifecycle: lifecycle.map(|(hook, sidecar)| TaskLifecycleConfig { hook, sidecar }),
        leader: number == 0 && random.one_in(6),
        resources: Some(r),
        ..Default::default()
    }
}

fn device(random: &mut Random) -> RequestedDevice {
    let memory = ("${device.attr.memory}".to_string(), ">=".to_string(), "16 GiB".to_string());
    let constraint = Constraint { ltarget: memory.0.clone(), operand: memory.1.clone(), rtarget: memory.2.clone() };
    let affinity = Affinity { ltarget: memory.0, operand: memory.1, rtarget: memory.2, weight: 50 };
    let rare = if random.one_in(5) { "fpga" } else { "gpu" };
    RequestedDevice {
        name: random.text(&["gpu", "nvidia/gpu", "nvidia/gpu", "nvidia/gpu/t4", rare]),
        count: random.of(&[1, 1, 1, 2]),
        constraints: if random.one_in(4) { vec![constraint] } else { Vec::new() },
        affinities: if random.one_in(3) { vec![affinity] } else { Vec::new() },
    }
}

/// A network with few, contested ports.
fn network(random: &mut Random) -> NetworkResource {
    let host = |random: &mut Random| random.text(&["default", "default", "default", "public", "${meta.net}"]);
    let port = |label: String, value: i64, random: &mut Random| Port {
        label,
        value,
        to: random.of(&[0, -1, 8080]),
        host_network: host(random),
        ignore_collision: value > 0 && random.one_in(12),
    };
    let rare = if random.one_in(20) { vec![70_000] } else { vec![22] };
    let reserved: Vec<i64> =
        random.of(&[vec![], vec![], vec![80], vec![8080], vec![80, 20_000], vec![80], vec![443], rare]);
    let dynamic = random.of(&[0, 1, 1, 2]);
    NetworkResource {
        mode: random.text(&["host", "host", "host", "bridge", "none"]),
        reserved_ports: reserved.iter().map(|v| port(format!("w{v}"), *v, random)).collect(),
        dynamic_ports: (0..dynamic).map(|n| port(format!("d{n}"), 0, random)).collect(),
        ..Default::default()
    }
}

fn constraints(random: &mut Random) -> Vec<Constraint> {
    let list = vec![
        ("${attr.kernel.name}", "=", "linux"),
        ("${attr.kernel.name}", "!=", "windows"),
        ("${meta.rack}", "is_set", ""),
        ("${meta.rack}", "is_not_set", ""),
        ("${meta.rack}", "regexp", "^r[12]$"),
        ("${meta.rack}", "!=", "r3"),
        ("${attr.cpu.count}", ">=", "4"),
        ("${attr.cpu.count}", "<", "16"),
        ("${attr.nomad.version}", "version", ">= 1.11.0"),
        ("${attr.features}", "set_contains", "a, b"),
        ("${attr.features}", "set_contains_any", "b,c"),
        ("${node.class}", "=", "red"),
        ("${attr.unique.hostname}", "!=", "client-0"),
        ("${node.datacenter}", "!=", "dc2"),
        if random.one_in(5) { ("${attr.missing}", "=", "x") } else { ("${meta.rack}", "!=", "r2") },
        ("", "distinct_hosts", "true"),
        ("", "distinct_hosts", ""),
        ("", "distinct_hosts", "false"),
        ("${meta.rack}", "distinct_property", ""),
        ("${meta.rack}", "distinct_property", "2"),
    ];
    let n = random.of(&[0, 0, 0, 1, 1, 2]);
    (0..n)
        .map(|_| random.of(&list))
        .map(|(l, o, r)| Constraint { ltarget: l.into(), operand: o.into(), rtarget: r.into() })
        .collect()
}

fn affinities(random: &mut Random) -> Vec<Affinity> {
    let list =
        [("${node.datacenter}", "=", "dc1", 100), ("${meta.rack}", "=", "r1", -50), ("${node.class}", "=", "red", 30)];
    let n = random.of(&[0, 0, 0, 1, 2]);
    (0..n)
        .map(|_| random.of(&list))
        .map(|(l, o, r, weight)| Affinity { ltarget: l.into(), operand: o.into(), rtarget: r.into(), weight })
        .collect()
}

fn spreads(random: &mut Random) -> Vec<Spread> {
    if !random.one_in(4) {
        return Vec::new();
    }
    let targets = [vec![], vec![(DATACENTERS[0], 70), (DATACENTERS[1], 30)], vec![(DATACENTERS[0], 50)]];
    let targets = random.of(&targets);
    let attribute = if targets.is_empty() {
        random.text(&["${node.datacenter}", "${meta.rack}"])
    } else {
        "${node.datacenter}".into()
    };
    let target = |(v, percent): &(&str, u64)| SpreadTarget { value: v.to_string(), percent: *percent };
    vec![Spread { attribute, weight: random.of(&[50, 100]), spread_target: targets.iter().map(target).collect() }]
}

/// A job with many small allocations.
pub fn crowd(random: &mut Random, number: usize) -> Job {
    let kind = random.of(&[JobType::Batch, JobType::Batch, JobType::Service]);
    let mut g = group(random, &kind, 0, true);
    g.count = random.of(&[20, 40, 60]);
    g.update = None;
    g.networks.iter_mut().for_each(|n| n.reserved_ports.clear());
    g.ephemeral_disk = Some(EphemeralDisk { size_mb: 10, ..Default::default() });
    g.tasks.truncate(2);
    for r in g.tasks.iter_mut().filter_map(|t| t.resources.as_mut()) {
        (r.cpu, r.memory_mb) = (random.of(&[20, 50]), random.of(&[10, 40]));
    }
    let mut crowd = job(random, number);
    (crowd.constraints, crowd.affinities, crowd.spreads) = (Vec::new(), affinities(random), spreads(random));
    (crowd.node_pool, crowd.datacenters) = ("default".into(), vec!["*".into()]);
    (crowd.r#type, crowd.update, crowd.task_groups) = (kind, UpdateStrategy::default(), vec![g]);
    crowd
}

/// Changes what all allocations of a job run.
pub fn restart(random: &mut Random, job: &mut Job) {
    let v = format!("v{}", random.roll(1000));
    let tasks = job.task_groups.iter_mut().flat_map(|g| &mut g.tasks);
    tasks.for_each(|t| drop(t.config.insert("image".into(), v.clone().into())));
}

/// Changes a registered job: its count, what runs, or something that needs no restart.
pub fn change(random: &mut Random, job: &mut Job) {
    let kind = job.r#type.clone();
    let i = random.roll(job.task_groups.len());
    match random.roll(9) {
        0..3 => {
            let g = &mut job.task_groups[i];
            g.count = if matches!(kind, JobType::System | JobType::Sysbatch) {
                random.of(&[0, 1, 2])
            } else {
                (g.count + random.between(-3, 4)).max(0)
            };
        }
        3..5 => {
            let v = format!("v{}", random.roll(1000));
            job.task_groups[i].tasks.iter_mut().for_each(|t| drop(t.config.insert("image".into(), v.clone().into())));
        }
        5 => job.priority = random.of(&PRIORITIES),
        6 => job.task_groups[i].constraints = constraints(random),
        7 => {
            let hook = random.of(&[None, Some(LifecycleHook::Prestart), Some(LifecycleHook::Poststop)]);
            let lifecycle = hook.map(|hook| TaskLifecycleConfig { hook, sidecar: false });
            job.task_groups[i].tasks.iter_mut().take(1).for_each(|t| t.lifecycle = lifecycle.clone());
        }
        _ => {
            let fresh = group(random, &kind, 5, true);
            if job.task_groups.len() > 1 {
                job.task_groups.remove(i);
            } else if job.lookup_group(&fresh.name).is_none() {
                job.task_groups.push(fresh);
            }
        }
    }
}

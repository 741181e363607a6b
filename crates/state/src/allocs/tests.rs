use std::collections::BTreeMap;

use super::*;
use crate::{NodeSummary, NodeUsage};
use encamp_model::random::Random;
use encamp_model::*;

pub(crate) fn node(number: u64) -> Arc<Node> {
    let network = |ip: &str| NetworkResource { device: "eth0".into(), ip: ip.into(), mbits: 100, ..Default::default() };
    let instances = (0..2).map(|i| NodeDevice { id: format!("gpu-{i}"), healthy: true, ..Default::default() });
    let gpu = NodeDeviceResource { vendor: "v".into(), r#type: "gpu".into(), name: "n".into(), ..Default::default() };
    let resources = NodeResources {
        devices: vec![NodeDeviceResource { instances: instances.collect(), ..gpu }],
        networks: vec![network("10.0.0.1"), network("10.0.0.2")],
        ..Default::default()
    };
    let reserved = NodeReservedResources {
        networks: NodeReservedNetworkResources { reserved_host_ports: "22".into() },
        ..Default::default()
    };
    Arc::new(Node {
        id: format!("n{number}"),
        node_resources: Some(resources.into()),
        reserved_resources: Some(reserved),
        ..Default::default()
    })
}

/// Resources of all kinds, few values of each: much collides.
fn resources(random: &mut Random) -> AllocatedResources {
    let mut task = AllocatedTaskResources::default();
    task.cpu.cpu_shares = random.below(3) as i64;
    task.memory.memory_mb = if random.below(20) == 0 { i64::MAX } else { random.below(3) as i64 };
    if random.below(4) == 0 {
        task.cpu.reserved_cores = vec![random.below(4)];
    }
    if random.below(4) == 0 {
        task.devices = vec![AllocatedDeviceResource {
            vendor: "v".into(),
            r#type: "gpu".into(),
            name: "n".into(),
            device_ids: vec![format!("gpu-{}", random.below(3))],
        }];
    }
    if random.below(4) == 0 {
        task.networks = vec![NetworkResource { device: "eth0".into(), mbits: 5, ..Default::default() }];
    }
    let port = |random: &mut Random| AllocatedPortMapping {
        value: [22, 8000, 8001, 70_000][random.below(4) as usize],
        host_ip: ["10.0.0.1", "10.0.0.2", "10.0.0.3"][random.below(3) as usize].into(),
        ignore_collision: random.below(3) == 0,
        ..Default::default()
    };
    let ports = random.below(4).saturating_sub(1);
    AllocatedResources {
        tasks: [("t".to_string(), task)].into(),
        shared: AllocatedSharedResources {
            ports: (0..ports).map(|_| port(random)).collect(),
            disk_mb: 10,
            ..Default::default()
        },
        ..Default::default()
    }
}

pub(crate) fn allocation(random: &mut Random, stored: Option<&Allocation>) -> Allocation {
    let mut a = stored.cloned().unwrap_or_default();
    if stored.is_none() || random.below(8) == 0 {
        a.node_id = format!("n{}", random.below(4));
        a.allocated_resources = Some(Arc::new(resources(random)));
    }
    a.client_status = [ClientStatus::Pending, ClientStatus::Running, ClientStatus::Running, ClientStatus::Complete]
        [random.below(4) as usize]
        .clone();
    a
}

/// The facts of a state are those that follow from the allocations that should be in it.
fn check(state: &State, all: &BTreeMap<String, Allocation>) {
    for n in state.nodes() {
        assert_eq!(n.usage, NodeUsage::of(&n.info, n.live_allocs().map(|a| &**a)), "usage of {}", n.node.id);
        assert_eq!(state.node_summary(n.slot), Some(NodeSummary::of(n)), "summary of {}", n.node.id);
    }
    let ids = |list: &mut dyn Iterator<Item = &Arc<AllocEntry>>| list.map(|a| a.alloc.id.clone()).collect::<Vec<_>>();
    let of =
        |keep: &dyn Fn(&Allocation) -> bool| all.values().filter(|a| keep(a)).map(|a| a.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&mut state.allocs_from("")), of(&|_| true));
    assert_eq!(ids(&mut state.allocs_from("a2")), of(&|a| a.id.as_str() >= "a2"));
    assert_eq!((state.alloc_count(), state.allocs().count()), (all.len(), all.len()));
    for job in ["j0", "j1"] {
        assert_eq!(ids(&mut state.allocs_of_job("ns", job).iter()), of(&|a| a.job_id == job));
        assert_eq!(ids(&mut state.allocs_of_job_id(job)), of(&|a| a.job_id == job));
    }
    for n in 0..4 {
        let node = format!("n{n}");
        assert_eq!(ids(&mut state.allocs_of_node(&node).iter()), of(&|a| a.node_id == node));
    }
    assert!(all.values().all(|a| state.alloc(&a.id).is_some_and(|e| *e.alloc == *a)));
}

#[test]
fn usage_and_indexes_follow_all_writes() {
    for seed in 0..200 {
        let mut random = Random::new(seed, "allocations of a state");
        let mut state = State::new();
        let mut all: BTreeMap<String, Allocation> = BTreeMap::new();
        for _ in 0..60 {
            match random.below(10) {
                0 => state.upsert_node(node(random.below(4))),
                1 if random.below(3) == 0 => drop(state.remove_node(&format!("n{}", random.below(4)))),
                2 => {
                    let id = format!("a{}", random.below(20));
                    all.remove(&id);
                    state.remove_allocs([id.as_str()]);
                }
                _ => {
                    let changed = (0..=random.below(3)).map(|_| {
                        let number = random.below(20);
                        let id = format!("a{number}");
                        let a = Allocation {
                            id: id.clone(),
                            namespace: "ns".into(),
                            job_id: format!("j{}", number % 2),
                            ..allocation(&mut random, all.get(&id))
                        };
                        all.insert(id, a.clone());
                        Arc::new(a)
                    });
                    let changed: Vec<_> = changed.collect();
                    let before = state.snapshot();
                    let listed = format!("{:?}", before.allocs_of_job_id("j0").collect::<Vec<_>>());
                    state.upsert_allocs(changed);
                    assert_eq!(listed, format!("{:?}", before.allocs_of_job_id("j0").collect::<Vec<_>>()));
                }
            }
            check(&state, &all);
        }
    }
}

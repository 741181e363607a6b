//! Changes that a server makes while it loads records (`docs/spec/snapshot-archive.md §11`). They are idempotent,
//! except for the CPU of nodes of old clients, which follows from the topology they got.

use super::records::Tables;
use encamp_jobspec::admission::mutate::canonicalize_stored;
use encamp_model::*;

/// How long node identities are valid in pools that do not say.
const NODE_IDENTITY_TTL: i64 = 24 * HOUR;

/// Applies the rules to all records.
pub(crate) fn restore(tables: &mut Tables) {
    add_built_in(tables);
    tables.nodes.iter_mut().for_each(restore_node);
    for job in &mut tables.jobs {
        canonicalize_stored(job);
        or(&mut job.node_pool, "default");
    }
    // These keep an empty pool, and the stored versions stay as they are.
    tables.allocation_jobs.iter_mut().for_each(canonicalize_stored);
    tables.allocations.iter_mut().for_each(restore_allocation);
    for pool in &mut tables.node_pools {
        if pool.node_identity_ttl == 0 {
            pool.node_identity_ttl = NODE_IDENTITY_TTL;
        }
    }
    let configuration = tables.scheduler_configuration.get_or_insert_with(|| SchedulerConfiguration {
        preemption_config: PreemptionConfig { system_scheduler_enabled: true, ..PreemptionConfig::default() },
        ..SchedulerConfiguration::default()
    });
    if configuration.scheduler_algorithm.is_unset() {
        configuration.scheduler_algorithm = SchedulerAlgorithm::Binpack;
    }
    for policy in tables.scaling_policies.iter_mut().filter(|p| p.r#type.is_unset()) {
        policy.r#type = ScalingPolicyType::Horizontal;
    }
    cancel_orphans(tables);
}

fn or(text: &mut String, default: &str) {
    if text.is_empty() {
        text.push_str(default);
    }
}

/// Adds the objects that every state has before the first record, where no record replaces them.
fn add_built_in(tables: &mut Tables) {
    if tables.namespaces.iter().all(|n| n.name != "default") {
        tables.namespaces.push(Namespace {
            name: "default".into(),
            description: "Default shared namespace".into(),
            create_index: 1,
            modify_index: 1,
            ..Namespace::default()
        });
        tables.namespaces.sort_by(|a, b| a.name.cmp(&b.name));
    }
    for (name, description) in [("all", "Node pool with all nodes in the cluster."), ("default", "Default node pool.")]
    {
        if tables.node_pools.iter().all(|p| p.name != name) {
            tables.node_pools.push(NodePool {
                name: name.into(),
                description: description.into(),
                create_index: 1,
                modify_index: 1,
                ..NodePool::default()
            });
        }
    }
    tables.node_pools.sort_by(|a, b| a.name.cmp(&b.name));
    for key in ["namespaces", "node_pools"] {
        if tables.indexes.iter().all(|row| row.key != key) {
            tables.indexes.push(IndexEntry { key: key.into(), value: 1 });
        }
    }
    tables.indexes.sort_by(|a, b| a.key.cmp(&b.key));
}

fn restore_node(node: &mut Node) {
    or(&mut node.node_pool, "default");
    if node.drain_strategy.is_some() {
        node.scheduling_eligibility = NodeEligibility::Ineligible;
    } else if node.scheduling_eligibility.is_unset() {
        node.scheduling_eligibility = NodeEligibility::Eligible;
    }
    if let Some(resources) = &mut node.node_resources {
        restore_processors(resources);
        restore_networks(resources);
    }
}

/// Nodes of clients before 1.7 have no topology; for all others the CPU follows from it.
fn restore_processors(resources: &mut NodeResources) {
    let cpu = &mut resources.cpu;
    match &resources.processors.topology {
        None if cpu.cpu_shares != 0 && cpu.total_cpu_cores != 0 => {
            resources.processors.topology = Some(legacy_topology(cpu));
        }
        Some(topology) if !topology.cores.is_empty() => {
            let speed = |c: &Core| [c.base_speed, c.max_speed].into_iter().find(|s| *s > 0).unwrap_or(c.guess_speed);
            let sum = || topology.cores.iter().map(speed).fold(0, u64::wrapping_add);
            let total = Some(topology.override_total_compute).filter(|total| *total > 0).unwrap_or_else(sum);
            let mut usable: Vec<u64> = topology.cores.iter().filter(|c| !c.disable).map(|c| c.id).collect();
            usable.sort_unstable();
            cpu.cpu_shares = total.cast_signed();
            cpu.total_cpu_cores = usable.len() as u64;
            cpu.reservable_cpu_cores = usable;
        }
        _ => {}
    }
}

/// One socket of equal cores.
fn legacy_topology(cpu: &LegacyNodeCpuResources) -> Topology {
    let ids = match cpu.reservable_cpu_cores.as_slice() {
        [] => (0..cpu.total_cpu_cores).collect(),
        ids => ids.to_vec(),
    };
    let shares = cpu.cpu_shares.cast_unsigned();
    let speed = shares / ids.len() as u64;
    let core = |id| Core { id, grade: true, guess_speed: speed, ..Core::default() };
    Topology {
        nodes: vec![0],
        distances: vec![vec![10]],
        cores: ids.into_iter().map(core).collect(),
        override_total_compute: shares,
        override_withold_compute: speed.wrapping_mul(cpu.total_cpu_cores).wrapping_sub(shares),
    }
}

/// Nodes of clients before 0.12 say in another way where they are reached.
fn restore_networks(resources: &mut NodeResources) {
    if resources.node_networks.is_some() {
        return;
    }
    let network = |n: &NetworkResource| NodeNetworkResource {
        mode: n.mode.clone(),
        device: n.device.clone(),
        speed: n.mbits,
        addresses: Some(&n.ip)
            .filter(|ip| !ip.is_empty())
            .map(|ip| NodeNetworkAddress { alias: "default".into(), address: ip.clone(), ..Default::default() })
            .into_iter()
            .collect(),
        ..NodeNetworkResource::default()
    };
    resources.node_networks = Some(resources.networks.iter().map(network).collect());
    if resources.processors.topology.as_ref().is_none_or(|t| t.cores.is_empty()) {
        resources.processors.topology = Some(Topology::default());
    }
}

/// Allocations of before 0.9 say in another way what they were given.
fn restore_allocation(a: &mut Allocation) {
    if a.allocated_resources.is_some() || a.task_resources.is_empty() {
        return;
    }
    let task = |r: &Resources| AllocatedTaskResources {
        cpu: AllocatedCpuResources { cpu_shares: r.cpu, ..AllocatedCpuResources::default() },
        memory: AllocatedMemoryResources { memory_mb: r.memory_mb, ..AllocatedMemoryResources::default() },
        networks: r.networks.clone(),
        ..AllocatedTaskResources::default()
    };
    let mut given = AllocatedResources::default();
    given.tasks.extend(a.task_resources.iter().map(|(name, r)| (name.clone(), task(r))));
    if let Some(shared) = &a.shared_resources {
        given.shared.disk_mb = shared.disk_mb;
        given.shared.networks = shared.networks.clone().into();
    }
    a.allocated_resources = Some(given.into());
}

/// Cancels active deployments whose job is gone.
fn cancel_orphans(tables: &mut Tables) {
    let index = tables.index("deployment");
    let jobs = &tables.jobs;
    let exists = |namespace: &str, id: &str| {
        jobs.binary_search_by(|j| (j.namespace.as_str(), j.id.as_str()).cmp(&(namespace, id))).is_ok()
    };
    for deployment in &mut tables.deployments {
        if deployment.active() && !exists(&deployment.namespace, &deployment.job_id) {
            deployment.status = DeploymentStatus::Cancelled;
            deployment.status_description = "Cancelled because job is stopped".into();
            deployment.modify_index = index;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(cpu_shares: i64, total_cpu_cores: u64, reservable: &[u64]) -> Node {
        let cpu = LegacyNodeCpuResources { cpu_shares, total_cpu_cores, reservable_cpu_cores: reservable.to_vec() };
        let networks = vec![NetworkResource { ip: "10.0.0.1".into(), mbits: 100, ..Default::default() }];
        let resources = NodeResources { cpu, networks, ..Default::default() };
        Node { node_resources: Some(resources.into()), ..Default::default() }
    }

    fn topology(node: &Node) -> &Topology {
        node.node_resources.as_ref().unwrap().processors.topology.as_ref().unwrap()
    }

    /// The worked examples of `docs/spec/snapshot-archive.md §16`.
    #[test]
    fn old_nodes_get_a_topology() {
        let mut n = node(10_400, 4, &[]);
        restore_node(&mut n);
        let t = topology(&n).clone();
        assert_eq!(t.cores.iter().map(|c| (c.id, c.guess_speed, c.grade)).next_back(), Some((3, 2600, true)));
        assert_eq!((t.cores.len(), t.override_total_compute, t.override_withold_compute), (4, 10_400, 0));
        assert_eq!((t.nodes, t.distances), (vec![0], vec![vec![10]]));
        assert_eq!((n.node_pool.as_str(), &n.scheduling_eligibility), ("default", &NodeEligibility::Eligible));
        let networks = n.node_resources.as_ref().unwrap().node_networks.as_ref().unwrap();
        assert_eq!((networks[0].speed, networks[0].addresses[0].alias.as_str()), (100, "default"));

        let mut odd = node(10_001, 4, &[]);
        restore_node(&mut odd);
        assert_eq!((topology(&odd).cores[0].guess_speed, topology(&odd).override_withold_compute), (2500, u64::MAX));
        assert!(odd.node_resources.as_ref().unwrap().cpu.reservable_cpu_cores.is_empty());
        restore_node(&mut odd);
        assert_eq!(odd.node_resources.as_ref().unwrap().cpu.reservable_cpu_cores, [0, 1, 2, 3]);
        let again = odd.clone();
        restore_node(&mut odd);
        assert_eq!(odd, again);

        let mut some = node(9_000, 4, &[1, 3]);
        restore_node(&mut some);
        assert_eq!(
            topology(&some).cores.iter().map(|c| (c.id, c.guess_speed)).collect::<Vec<_>>(),
            [(1, 4500), (3, 4500)]
        );
    }

    #[test]
    fn the_cpu_follows_from_the_topology() {
        let core =
            |id, base_speed, guess_speed, disable| Core { id, base_speed, guess_speed, disable, ..Core::default() };
        let cores = vec![core(2, 3000, 1, false), core(0, 0, 2000, false), core(1, 0, 500, true)];
        let mut n = node(7, 7, &[]);
        let resources = n.node_resources.as_mut().unwrap();
        resources.processors.topology = Some(Topology { cores, ..Topology::default() });
        resources.node_networks = Some(Vec::new());
        n.drain_strategy = Some(DrainStrategy::default());
        n.scheduling_eligibility = NodeEligibility::Eligible;
        restore_node(&mut n);
        let resources = n.node_resources.as_ref().unwrap();
        assert_eq!((resources.cpu.cpu_shares, resources.cpu.total_cpu_cores), (5500, 2));
        assert_eq!(
            (resources.cpu.reservable_cpu_cores.as_slice(), resources.node_networks.as_ref()),
            (&[0, 2][..], Some(&vec![]))
        );
        assert_eq!(n.scheduling_eligibility, NodeEligibility::Ineligible);
    }

    #[test]
    fn an_empty_state_has_what_every_state_has() {
        let mut tables = Tables::default();
        restore(&mut tables);
        assert_eq!(
            tables.node_pools.iter().map(|p| (p.name.as_str(), p.node_identity_ttl)).collect::<Vec<_>>(),
            [("all", NODE_IDENTITY_TTL), ("default", NODE_IDENTITY_TTL)]
        );
        assert_eq!((tables.namespaces[0].name.as_str(), tables.index("node_pools")), ("default", 1));
        let configuration = tables.scheduler_configuration.clone().unwrap();
        assert_eq!(configuration.scheduler_algorithm, SchedulerAlgorithm::Binpack);
        assert!(configuration.preemption_config.system_scheduler_enabled);
        assert!(!configuration.preemption_config.service_scheduler_enabled);
        let once = tables.clone();
        restore(&mut tables);
        assert_eq!(tables, once);
    }

    #[test]
    fn deployments_without_a_job_end() {
        let deployment = |id: &str, job: &str, status: DeploymentStatus| Deployment {
            id: id.into(),
            namespace: "default".into(),
            job_id: job.into(),
            status,
            ..Default::default()
        };
        let mut tables = Tables {
            jobs: vec![Job { id: "j".into(), namespace: "default".into(), ..Default::default() }],
            deployments: vec![
                deployment("a", "j", DeploymentStatus::Running),
                deployment("b", "k", DeploymentStatus::Paused),
                deployment("c", "k", DeploymentStatus::Successful),
            ],
            indexes: vec![IndexEntry { key: "deployment".into(), value: 9 }],
            ..Default::default()
        };
        restore(&mut tables);
        let seen: Vec<_> = tables.deployments.iter().map(|d| (d.status.clone(), d.modify_index)).collect();
        assert_eq!(
            seen,
            [(DeploymentStatus::Running, 0), (DeploymentStatus::Cancelled, 9), (DeploymentStatus::Successful, 0)]
        );
    }

    #[test]
    fn old_allocations_say_what_they_were_given() {
        let mut a = Allocation::default();
        a.task_resources.insert("t".into(), Resources { cpu: 500, memory_mb: 64, ..Default::default() });
        a.shared_resources = Some(Box::new(Resources { disk_mb: 300, ..Default::default() }));
        restore_allocation(&mut a);
        let given = a.allocated_resources.unwrap();
        let task = given.tasks.get("t").expect("the task");
        assert_eq!((task.cpu.cpu_shares, task.memory.memory_mb), (500, 64));
        assert_eq!(given.shared.disk_mb, 300);
    }
}

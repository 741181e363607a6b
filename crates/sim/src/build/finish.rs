//! Assembles the finished cluster and its summary.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::Builder;
use crate::allocs::NodeFacts;
use crate::cluster::Cluster;
use crate::summary::{Summary, percent};
use encamp_model::*;
use encamp_snapshot::file::{FORMAT_VERSION, SnapshotFile};

impl Builder {
    /// The finished cluster.
    pub(crate) fn finish(self) -> Cluster {
        let summary = self.summary();
        let facts = self.nodes.iter().zip(&self.ground.spots).map(|(node, s)| NodeFacts {
            id: Text::unshared(&node.id),
            name: Text::unshared(&node.name),
            ip: s.info.addresses.first().map(|a| a.ip.clone()).unwrap_or_default(),
            cores: s.info.usable_cores.clone(),
            core_speed: s.info.cores.first().map_or(0, |(_, speed)| *speed),
        });
        let facts = facts.collect();
        drop(self.ground);
        let index = 100 + self.options.nodes as u64 + 16 * self.made as u64;
        let mut nodes: Vec<Node> = self.nodes.into_iter().map(Arc::unwrap_or_clone).collect();
        for node in &mut nodes {
            if node.scheduling_eligibility == NodeEligibility::Ineligible || node.status != NodeStatus::Ready {
                node.modify_index = index;
            }
        }
        let file = SnapshotFile {
            version: Some(FORMAT_VERSION),
            taken_at: Time::from_unix_nanos(self.options.now),
            source: format!("encamp sim cluster, seed {}", self.options.seed),
            index: index + 1,
            scheduler_configuration: Some(self.server.scheduler),
            server_settings: Some(ServerSettings {
                vault_enabled: self.server.vault_enabled,
                vault_default_identity: self.server.vault_default_identity,
                consul_service_identity: self.server.consul_service_identity,
                consul_task_identity: self.server.consul_task_identity,
            }),
            nodes,
            node_pools: self.server.node_pools,
            namespaces: self.server.namespaces,
            jobs: self.jobs,
            deployments: self.deployments,
            ..Default::default()
        };
        Cluster { file, summary, options: self.options, placements: self.placements, jobs: self.facts, nodes: facts }
    }

    fn summary(&self) -> Summary {
        let mut out = Summary { nodes: self.nodes.len(), jobs: self.made, ..Default::default() };
        let add = |map: &mut BTreeMap<String, usize>, key: &str| *map.entry(key.to_string()).or_default() += 1;
        let (mut cpu, mut memory) = ((0, 0), (0, 0));
        for (node, spot) in self.nodes.iter().zip(&self.ground.spots) {
            add(&mut out.nodes_by_class, &node.node_class);
            add(&mut out.nodes_by_pool, &node.node_pool);
            add(&mut out.nodes_by_datacenter, &node.datacenter);
            add(&mut out.nodes_by_condition, &format!("{:?}", spot.condition).to_lowercase());
            let used = spot.used();
            cpu = (cpu.0 + used.0, cpu.1 + spot.info.cpu);
            memory = (memory.0 + used.1, memory.1 + spot.info.memory);
            out.full_nodes += usize::from(spot.fill() > 900);
            out.nearly_empty_nodes += usize::from(spot.fill() < 100);
        }
        (out.cpu_percent, out.memory_percent) = (percent(cpu.0, cpu.1), percent(memory.0, memory.1));
        let mut seen = HashSet::new();
        for job in &self.jobs {
            if seen.insert((&job.namespace, &job.id)) {
                add(&mut out.jobs_by_type, job.r#type.as_str());
            }
        }
        out.running_deployments = self.deployments.iter().filter(|d| d.status == DeploymentStatus::Running).count();
        out.allocations = self.placements.len();
        for placed in &self.placements {
            add(&mut out.allocations_by_status, placed.fate.client_status().as_str());
        }
        out
    }
}

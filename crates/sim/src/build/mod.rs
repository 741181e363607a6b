//! Builds a synthetic cluster: nodes first, then jobs, each with its allocations, until there are enough of them.
//!
//! - this file: nodes, system jobs, jobs without allocations. [`fill`]: all other jobs. [`store`]: a job's versions,
//!   deployments and allocations. [`finish`]: the result.

mod fill;
mod finish;
mod store;

use std::sync::Arc;

use super::allocs::{Fate, JobFacts, Placement};
use super::cluster::{ClusterOptions, JobError};
use super::drafts::{NAMESPACES, Pattern, Scale};
use super::ground::{Ask, Ground, Share, Spot};
use super::kinds::{SYSTEM, TEMPLATES};
use super::nodes::{self, Condition, SHAPES};
use encamp_jobspec::admission::ServerContext;
use encamp_model::random::Random;
use encamp_model::*;

/// Nodes whose target is not above this many thousandths are to stay nearly empty.
const NEARLY_EMPTY: i64 = 80;
/// At most so many of a hundred allocations are over.
const OVER: usize = 15;

/// A cluster in the making.
pub(crate) struct Builder {
    options: ClusterOptions,
    server: ServerContext,
    ground: Ground,
    random: Random,
    nodes: Vec<Arc<Node>>,
    jobs: Vec<Job>,
    facts: Vec<JobFacts>,
    deployments: Vec<Deployment>,
    placements: Vec<Placement>,
    /// Jobs so far, older versions not counted.
    made: usize,
    /// Allocations so far that are over.
    over: usize,
}

/// How a job's allocations came about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rollout {
    /// The version is healthy everywhere.
    Done,
    /// A deployment runs.
    Running,
    /// The job was stopped.
    Stopped,
}

/// A job with what its groups got, before it is stored.
struct Drawn {
    job: Job,
    rollout: Rollout,
    placed: Vec<Placed>,
}

/// The placement of an allocation of a job's group on a node.
#[derive(Clone, Copy)]
struct Placed {
    group: usize,
    /// Number in the name.
    index: u32,
    node: u32,
    fate: Fate,
    share: Share,
}

impl Builder {
    /// The nodes, without any job.
    pub(crate) fn new(options: &ClusterOptions) -> Builder {
        let mut random = Random::new(options.seed, "nodes");
        let classes = nodes::classes(options.nodes, &mut random);
        let conditions = nodes::conditions(&classes, &mut random);
        let targets = targets(options.nodes, &mut random);
        let mut list = Vec::with_capacity(options.nodes);
        let mut spots = Vec::with_capacity(options.nodes);
        for (i, ((class, condition), target)) in classes.iter().zip(conditions).zip(targets).enumerate() {
            let Some(shape) = SHAPES.get(*class) else { continue };
            let node = Arc::new(nodes::node(i, shape, condition, options.now, &mut random));
            spots.push(Spot::new(node.clone(), *class, condition, target));
            list.push(node);
        }
        Builder {
            options: options.clone(),
            server: server(),
            ground: Ground::new(spots, SHAPES.len()),
            random: Random::new(options.seed, "jobs"),
            nodes: list,
            jobs: Vec::new(),
            facts: Vec::new(),
            deployments: Vec::new(),
            placements: Vec::new(),
            made: 0,
            over: 0,
        }
    }

    /// Number of allocations so far.
    pub(crate) fn placed(&self) -> usize {
        self.placements.len()
    }

    /// Number of allocations the nodes have room for: what they hold, and as many that are over as go with those.
    pub(crate) fn room(&self) -> usize {
        let live = self.placed().saturating_sub(self.over);
        live.saturating_mul(100) / (100 - OVER)
    }

    /// Whether more allocations can be over without being too many.
    fn may_be_over(&self) -> bool {
        self.over.saturating_mul(100) < self.options.allocs.saturating_mul(OVER)
    }

    fn missing(&self) -> usize {
        self.options.allocs.saturating_sub(self.placed())
    }

    /// System jobs, each on all nodes of its classes, as far as they leave most of the allocations to other jobs.
    pub(crate) fn system_jobs(&mut self) -> Result<(), JobError> {
        let mut budget = self.options.allocs.saturating_mul(3) / 10;
        for kind in &SYSTEM {
            let nodes: Vec<u32> = kind.classes.iter().flat_map(|c| self.ground.of_class(*c)).copied().collect();
            if nodes.is_empty() || nodes.len() > budget {
                continue;
            }
            budget -= nodes.len();
            let job = Pattern::new(kind)?.only(&self.server)?;
            let Some(group) = job.task_groups.first() else { continue };
            let ask = Ask::new(&job, group, false);
            let once = job.r#type == JobType::Sysbatch;
            let mut placed = Vec::new();
            for node in nodes {
                let Some(spot) = self.ground.spot(node) else { continue };
                let fate = match spot.condition {
                    Condition::Disconnected => continue,
                    Condition::Down => Fate::Lost,
                    _ if once && self.random.below(10) > 0 => Fate::Complete,
                    _ => Fate::Running,
                };
                let share = if fate.live() {
                    if !spot.fits(&ask, self.made, false) {
                        continue;
                    }
                    self.ground.take(node, &ask, self.made, &mut self.random)
                } else {
                    Some(spot.past(&ask, &mut self.random))
                };
                placed.extend(share.map(|share| Placed { group: 0, index: 0, node, fate, share }));
            }
            self.store(Drawn { job, rollout: Rollout::Done, placed });
        }
        Ok(())
    }

    /// Jobs without allocations of their own, and stopped jobs.
    pub(crate) fn idle_jobs(&mut self) -> Result<(), JobError> {
        for kind in &TEMPLATES {
            let mut pattern = Pattern::new(kind)?;
            for _ in 0..(self.options.allocs / 10_000).max(1) {
                let job = pattern.draw(&[1], Scale::ONE, &self.server, &mut self.random)?;
                self.store(Drawn { job, rollout: Rollout::Done, placed: Vec::new() });
            }
        }
        Ok(())
    }
}

/// How full each node should get, in thousandths: an eighth full, an eighth nearly empty, the others anything between.
fn targets(count: usize, random: &mut Random) -> Vec<i64> {
    let spread = |random: &mut Random, from: i64, to: i64| from + random.below((to - from) as u64) as i64;
    let target = |i: usize| match i * 1000 / count.max(1) {
        0..125 => spread(random, 950, 1000),
        125..245 => spread(random, 0, NEARLY_EMPTY),
        _ => spread(random, 350, 900),
    };
    let mut out: Vec<i64> = (0..count).map(target).collect();
    random.shuffle(&mut out);
    out
}

/// The settings of the servers of the cluster.
fn server() -> ServerContext {
    let pool = |(i, (name, description)): (u64, (&str, &str))| NodePool {
        name: name.into(),
        description: description.into(),
        create_index: 1 + i,
        modify_index: 1 + i,
        ..Default::default()
    };
    let pools = [
        ("all", "Node pool with all nodes in the cluster."),
        ("compute", "Many cores, for batch work."),
        ("default", "Default node pool."),
        ("edge", "Small machines outside of the datacenters."),
        ("gpu", "Nodes with GPUs."),
    ];
    let namespace = |(i, (name, description)): (u64, (&str, &str))| Namespace {
        name: name.into(),
        description: description.into(),
        create_index: 1 + i,
        modify_index: 1 + i,
        ..Default::default()
    };
    ServerContext {
        namespaces: (0..).zip(NAMESPACES).map(namespace).collect(),
        node_pools: (0..).zip(pools).map(pool).collect(),
        scheduler: SchedulerConfiguration {
            scheduler_algorithm: SchedulerAlgorithm::Binpack,
            preemption_config: PreemptionConfig { system_scheduler_enabled: true, ..Default::default() },
            create_index: 5,
            modify_index: 5,
            ..Default::default()
        },
        vault_enabled: true,
        ..Default::default()
    }
}

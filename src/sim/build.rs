//! Puts a made-up cluster together: nodes first, then jobs, each with its allocations, until there are enough of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::allocs::{Fate, JobFacts, NodeFacts, Placement};
use super::cluster::{Cluster, ClusterOptions};
use super::drafts::{NAMESPACES, Pattern, Scale, version_before};
use super::ground::{Ask, Ground, Share, Spot};
use super::kinds::{POOLS, SYSTEM, TEMPLATES};
use super::nodes::{self, Condition, SHAPES};
use super::summary::{Summary, percent};
use crate::jobspec::admission::ServerContext;
use crate::model::random::Random;
use crate::model::*;
use crate::snapshot::file::{FORMAT_VERSION, SnapshotFile};

/// Nodes whose target is not above this many thousandths are to stay nearly empty.
const NEARLY_EMPTY: i64 = 80;
/// At most so many of a hundred allocations are over.
const OVER: usize = 15;
/// How often the sizes of jobs follow the room that is left while a pool is filled.
const SIZINGS: usize = 40;
/// Jobs in a row that find no room before nodes may get fuller than meant.
const PATIENCE: u32 = 10;

/// A cluster in the making.
pub struct Builder {
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
    /// Group, number, node, fate, share.
    placed: Vec<(usize, u32, u32, Fate, Share)>,
}

impl Builder {
    /// The nodes, without any job.
    pub fn new(options: &ClusterOptions) -> Builder {
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
    pub fn placed(&self) -> usize {
        self.placements.len()
    }

    /// Number of allocations the nodes have room for: what they hold, and as many that are over as go with those.
    pub fn room(&self) -> usize {
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
    pub fn system_jobs(&mut self) -> Result<(), String> {
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
            let once = job.r#type == "sysbatch";
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
                placed.extend(share.map(|share| (0, 0, node, fate, share)));
            }
            self.store(Drawn { job, rollout: Rollout::Done, placed });
        }
        Ok(())
    }

    /// Jobs without allocations of their own, and stopped jobs.
    pub fn idle_jobs(&mut self) -> Result<(), String> {
        for kind in &TEMPLATES {
            let mut pattern = Pattern::new(kind)?;
            for _ in 0..(self.options.allocs / 10_000).max(1) {
                let job = pattern.draw(&[1], Scale::ONE, &self.server, &mut self.random)?;
                self.store(Drawn { job, rollout: Rollout::Done, placed: Vec::new() });
            }
        }
        Ok(())
    }

    /// All other jobs, until there are enough allocations or no room is left.
    pub fn counted_jobs(&mut self) -> Result<(), String> {
        let mut pools = Vec::new();
        for kinds in &POOLS {
            let patterns = kinds.iter().map(Pattern::new).collect::<Result<Vec<_>, _>>()?;
            let mut classes: Vec<usize> = kinds.iter().flat_map(|k| k.classes).copied().collect();
            classes.sort_unstable();
            classes.dedup();
            let nodes = |c: &usize| self.ground.of_class(*c).len();
            let size = classes.iter().map(|c| nodes(c) * SHAPES.get(*c).map_or(0, |s| s.density)).sum::<usize>();
            pools.push(Pool { patterns, classes, size, scale: Scale::ONE, relaxed: 0 });
        }
        let all: usize = pools.iter().map(|p| p.size).sum();
        let wanted = self.missing();
        // Small pools first: what they can't hold goes to the large ones.
        pools.sort_by_key(|p| p.size);
        let mut before = 0;
        for pool in &mut pools {
            before += pool.size;
            let quota = (wanted.saturating_mul(before) / all.max(1)).saturating_sub(wanted - self.missing());
            self.fill(pool, quota)?;
        }
        while self.missing() > 0 && pools.iter().any(|p| p.relaxed < 3) {
            for pool in pools.iter_mut().rev() {
                self.fill(pool, self.missing())?;
            }
        }
        Ok(())
    }

    /// Sizes the jobs of a pool so that `quota` allocations fill its nodes up to their targets.
    fn size(&self, pool: &mut Pool, quota: usize) {
        let quota = i64::try_from(quota.max(1)).unwrap_or(i64::MAX);
        let spots = || pool.classes.iter().flat_map(|c| self.ground.of_class(*c)).filter_map(|n| self.ground.spot(*n));
        let room = |all: &dyn Fn(&Spot) -> i64| -> i64 {
            let open = spots().filter(|s| s.condition != Condition::Down);
            open.map(|s| all(s) / 1000 * (s.target - s.fill()).max(0)).sum()
        };
        let (mut weights, mut cpu, mut memory) = (0, 0, 0);
        for p in &pool.patterns {
            let (c, m) = p.base();
            let weight = i64::try_from(p.kind.weight * p.kind.most.min(30)).unwrap_or(1);
            (weights, cpu, memory) = (weights + weight, cpu + c * weight, memory + m * weight);
        }
        let factor = |room: i64, mean: i64| (room * 1000 / quota / mean.max(1)).clamp(20, 8000);
        let most = |all: &dyn Fn(&Spot) -> i64| spots().map(|s| all(s) / 2).min().unwrap_or(i64::MAX);
        pool.scale = Scale {
            cpu: factor(room(&|s| s.info.cpu), cpu / weights.max(1)),
            memory: factor(room(&|s| s.info.memory), memory / weights.max(1)),
            most_cpu: most(&|s| s.info.cpu),
            most_memory: most(&|s| s.info.memory),
        };
    }

    /// Draws jobs of a pool until they have `quota` allocations or there is no room.
    fn fill(&mut self, pool: &mut Pool, quota: usize) -> Result<(), String> {
        let enough = self.placed().saturating_add(quota);
        let mut failures = 0;
        let mut size_at = self.placed();
        while self.placed() < enough && pool.relaxed < 3 {
            let limit = enough - self.placed();
            if self.placed() >= size_at {
                // Not to the last allocation: those few can't fill what is left.
                self.size(pool, limit.max(quota / SIZINGS));
                size_at = self.placed().saturating_add(quota / SIZINGS).saturating_add(1);
            }
            // Where large jobs find no room a small one may.
            let tiny = failures * 2 >= PATIENCE;
            if self.counted_job(pool, limit, quota, tiny)? {
                failures = 0;
                continue;
            }
            failures += 1;
            if failures >= PATIENCE {
                failures = 0;
                pool.relaxed += 1;
                self.ground.relax(&pool.classes, NEARLY_EMPTY, pool.relaxed > 1);
            }
        }
        Ok(())
    }

    /// One job with at most `limit` allocations. False if it found no room at all.
    fn counted_job(&mut self, pool: &mut Pool, limit: usize, quota: usize, tiny: bool) -> Result<bool, String> {
        let total: u64 = pool.patterns.iter().map(|p| p.kind.weight).sum();
        let mut at = if tiny { 0 } else { self.random.below(total) };
        let Some(pattern) = pool.patterns.iter_mut().find(|p| {
            let here = at < p.kind.weight;
            at = at.saturating_sub(p.kind.weight);
            here
        }) else {
            return Ok(false);
        };
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let mut scale = pool.scale;
        let mut count = self.count(quota).min(pattern.kind.most).min(limit);
        if tiny {
            (scale.cpu, scale.memory, count) = (1, 1, count.min(8));
        }
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let kind = pattern.kind;
        let job = pattern.draw(&[count, count / 2 + 1], scale, &self.server, &mut self.random)?;
        let mut drawn = Drawn { job, rollout: Rollout::Done, placed: Vec::new() };
        let chance = self.random.below(100);
        let plain = drawn.job.task_groups.len() == 1 && version_before(&drawn.job).is_some();
        if drawn.job.r#type == "service" && plain && chance < 3 && count > 1 {
            drawn.rollout = Rollout::Running;
        } else if chance == 99 && self.may_be_over() {
            drawn.rollout = Rollout::Stopped;
        }
        self.place(&mut drawn, kind.classes, usize::try_from(limit).unwrap_or(usize::MAX));
        if drawn.placed.is_empty() {
            return Ok(false);
        }
        self.store(drawn);
        Ok(true)
    }

    /// A count for a group: small ones are as frequent as large ones.
    fn count(&mut self, quota: usize) -> u64 {
        let bits = u64::from(quota.max(1).ilog2()) / 2;
        let magnitude = 1_u64 << self.random.below(bits + 1);
        let part = u64::try_from(quota / 6).unwrap_or(u64::MAX).saturating_add(1);
        (magnitude + self.random.below(magnitude)).min(part)
    }

    /// Finds room for the groups of a job; counts become what was found.
    fn place(&mut self, drawn: &mut Drawn, classes: &[usize], limit: usize) {
        let batch = drawn.job.r#type == "batch" && self.may_be_over();
        let finished = if batch { self.random.pick(&[0, 0, 0, 30, 60, 100]).copied().unwrap_or(0) } else { 0 };
        for (number, group) in drawn.job.task_groups.iter().enumerate() {
            let ask = Ask::new(&drawn.job, group, drawn.rollout == Rollout::Running);
            for index in 0..u32::try_from(group.count).unwrap_or(0) {
                if drawn.placed.len() >= limit {
                    break;
                }
                let over = drawn.rollout == Rollout::Stopped || i64::from(index) * 100 < group.count * finished;
                let found = if over {
                    let fate = if drawn.rollout == Rollout::Stopped { Fate::Stopped } else { Fate::Complete };
                    self.past(&ask, classes, |c| c != Condition::Down).map(|(node, share)| (node, fate, share))
                } else {
                    let datacenters = &drawn.job.datacenters;
                    let found = self.ground.place(&ask, classes, datacenters, self.made, &mut self.random);
                    found.map(|(node, share)| (node, self.fate(node), share))
                };
                let Some((node, fate, share)) = found else { break };
                drawn.placed.push((number, index, node, fate, share));
            }
        }
        for (number, group) in drawn.job.task_groups.iter_mut().enumerate() {
            let placed = drawn.placed.iter().filter(|(g, ..)| *g == number).count();
            group.count = i64::try_from(placed).unwrap_or(i64::MAX);
        }
    }

    /// What becomes of an allocation on a node, from how the node is doing.
    fn fate(&mut self, node: u32) -> Fate {
        match self.ground.spot(node).map(|s| s.condition) {
            Some(Condition::Disconnected) => Fate::Unknown,
            Some(Condition::Draining) if self.random.below(2) == 0 => Fate::Leaving,
            _ => Fate::Running,
        }
    }

    /// A node that may have had an allocation that is over.
    fn past(&mut self, ask: &Ask, classes: &[usize], suits: impl Fn(Condition) -> bool) -> Option<(u32, Share)> {
        for _ in 0..60 {
            let class = self.random.pick(classes)?;
            let Some(node) = self.random.pick(self.ground.of_class(*class)).copied() else { continue };
            if let Some(spot) = self.ground.spot(node).filter(|s| suits(s.condition)) {
                return Some((node, spot.past(ask, &mut self.random)));
            }
        }
        None
    }

    /// Stores a job with its allocations, its older version, its deployments and some allocations that came before.
    fn store(&mut self, drawn: Drawn) {
        let Drawn { mut job, rollout, placed } = drawn;
        let index = 100 + self.options.nodes as u64 + 16 * self.made as u64;
        let canaries = job.task_groups.iter().any(|g| g.update.as_ref().is_some_and(|u| u.canary > 0));
        let rolling = rollout == Rollout::Running;
        let newer = rolling || (!canaries && !placed.is_empty() && self.random.below(10) < 3);
        let before = version_before(&job).filter(|_| newer);
        let age = if rolling { 240 } else { 7200 + self.random.below(30 * 86_400) as i64 };
        job.submit_time = self.options.now - age * SECOND;
        (job.create_index, job.job_modify_index, job.modify_index) = (index, index, index + 2);
        let live = placed.iter().any(|(_, _, _, fate, _)| fate.live());
        let waiting = job.periodic.is_some() || job.parameterized_job.is_some();
        job.status = if live || waiting { "running" } else { "dead" }.into();
        job.stop = rollout == Rollout::Stopped;
        let deployed = matches!(job.r#type.as_str(), "service" | "system") && !placed.is_empty() && !job.stop;
        job.stable = deployed && !rolling;
        let old = before.map(|mut old| {
            job.version = 1 + self.random.below(9);
            (job.job_modify_index, job.modify_index) = (index + 8, index + 10);
            old.version = job.version - 1;
            old.submit_time = job.submit_time - (3600 + self.random.below(86_400 * 5) as i64) * SECOND;
            (old.create_index, old.job_modify_index, old.modify_index) = (index, index, index + 2);
            (old.status, old.stable) = ("running".into(), deployed);
            self.add_version(old, deployed)
        });
        let current = self.add_version(job, deployed);
        self.add_allocations(&placed, rollout, current, old);
        self.made += 1;
    }

    /// Adds a version of a job and, if it has one, its deployment.
    fn add_version(&mut self, job: Job, deployed: bool) -> usize {
        let eval_id = self.random.uuid();
        let deployment_id = if deployed { self.random.uuid() } else { String::new() };
        self.facts.push(JobFacts { eval_id, deployment_id });
        self.jobs.push(job);
        self.jobs.len() - 1
    }

    fn add_allocations(
        &mut self,
        placed: &[(usize, u32, u32, Fate, Share)],
        rollout: Rollout,
        current: usize,
        old: Option<usize>,
    ) {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let first = self.placements.len();
        // A deployment that runs has replaced the allocations with the lowest numbers; the last of them just started.
        let replaced = if rollout == Rollout::Running { (placed.len() / 3).max(1) } else { placed.len() };
        for (i, (group, index, node, fate, share)) in placed.iter().enumerate() {
            let (job, fate) = match old.filter(|_| i >= replaced) {
                Some(old) => (old, *fate),
                None if rollout == Rollout::Running && i + 1 == replaced => (current, Fate::Pending),
                None => (current, *fate),
            };
            let (job, group) = (number(job), u16::try_from(*group).unwrap_or(u16::MAX));
            let (index, node, fate, share) = (*index, *node, fate, *share);
            self.placements.push(Placement { job, group, index, node, fate, share, other: None });
        }
        self.add_past(first, current, old);
        if let Some(old) = old {
            self.deploy(old, placed, None);
        }
        self.deploy(current, placed, (rollout == Rollout::Running).then_some(replaced));
    }

    /// Adds what some of the allocations from `first` on replaced.
    fn add_past(&mut self, first: usize, current: usize, old: Option<usize>) {
        let last = self.placements.len();
        self.over += self.placements.iter().skip(first).filter(|p| !p.fate.live()).count();
        for at in first..last {
            if self.missing() == 0 || !self.may_be_over() {
                break;
            }
            let Some(live) = self.placements.get(at).copied() else { continue };
            let Some(job) = self.jobs.get(current) else { continue };
            if usize::try_from(live.job) != Ok(current)
                || !matches!(live.fate, Fate::Running)
                || job.r#type.starts_with("sys")
            {
                continue;
            }
            let Some(group) = job.task_groups.get(usize::from(live.group)) else { continue };
            let Some(class) = self.ground.spot(live.node).map(|s| s.class) else { continue };
            let ask = Ask::new(job, group, false);
            let (fate, suits): (Fate, fn(Condition) -> bool) = match (self.random.below(1000), old) {
                (0..12, _) => (Fate::Failed, |c| c != Condition::Down),
                (12..30, _) => (Fate::Lost, |c| c == Condition::Down),
                (30..42, _) => (Fate::Migrated, |c| c == Condition::Draining),
                (42..110, Some(_)) => (Fate::Updated, |c| c != Condition::Down),
                _ => continue,
            };
            let Some((node, share)) = self.past(&ask, &[class], suits) else { continue };
            let job = match (fate, old.map(u32::try_from)) {
                (Fate::Updated, Some(Ok(old))) => old,
                _ => live.job,
            };
            // An update stops the old allocation and starts a new one; only the others name each other.
            let linked = fate != Fate::Updated;
            let other = u32::try_from(at).ok().filter(|_| linked);
            let position = u32::try_from(self.placements.len()).ok();
            if let (Some(live), true) = (self.placements.get_mut(at), linked) {
                live.other = position;
            }
            self.placements.push(Placement { job, node, fate, share, other, ..live });
            self.over += 1;
        }
    }

    /// Adds the deployment of a job version; `running`: it has placed so many allocations.
    fn deploy(&mut self, at: usize, placed: &[(usize, u32, u32, Fate, Share)], running: Option<usize>) {
        let (Some(job), Some(facts)) = (self.jobs.get(at), self.facts.get(at)) else { return };
        if facts.deployment_id.is_empty() {
            return;
        }
        let state = |(number, group): (usize, &TaskGroup)| {
            let update = group.update.clone().unwrap_or_default();
            let all = placed.iter().filter(|(g, ..)| *g == number).count();
            let done = running.unwrap_or(all);
            let healthy = if running.is_some() { done - 1 } else { done };
            let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
            let by = job.submit_time.saturating_add(update.progress_deadline);
            let state = DeploymentState {
                auto_revert: update.auto_revert,
                auto_promote: update.auto_promote,
                progress_deadline: update.progress_deadline,
                require_progress_by: Time::from_unix_nanos(by),
                desired_total: count(all),
                placed_allocs: count(done),
                healthy_allocs: count(healthy),
                ..Default::default()
            };
            (group.name.clone(), Some(state))
        };
        let (status, description) = match running {
            Some(_) => ("running", "Deployment is running"),
            None => ("successful", "Deployment completed successfully"),
        };
        let deployment = Deployment {
            id: facts.deployment_id.clone(),
            namespace: job.namespace.clone(),
            job_id: job.id.clone(),
            job_version: job.version,
            job_modify_index: job.job_modify_index,
            job_spec_modify_index: job.job_modify_index,
            job_create_index: job.create_index,
            task_groups: job.task_groups.iter().enumerate().map(state).collect(),
            status: status.into(),
            status_description: description.into(),
            eval_priority: job.priority,
            create_index: job.job_modify_index + 1,
            modify_index: job.job_modify_index + 3,
            create_time: job.submit_time + SECOND,
            modify_time: job.submit_time + 120 * SECOND,
            ..Default::default()
        };
        self.deployments.push(deployment);
    }

    /// The finished cluster.
    pub fn finish(self) -> Cluster {
        let summary = self.summary();
        let facts = self.ground.spots.iter().map(|s| NodeFacts {
            ip: s.info.addresses.first().map(|a| a.ip.clone()).unwrap_or_default(),
            cores: s.info.usable_cores.clone(),
            core_speed: s.info.cores.first().map_or(0, |(_, speed)| *speed),
        });
        let facts = facts.collect();
        drop(self.ground);
        let index = 100 + self.options.nodes as u64 + 16 * self.made as u64;
        let mut nodes: Vec<Node> = self.nodes.into_iter().map(Arc::unwrap_or_clone).collect();
        for node in &mut nodes {
            if node.scheduling_eligibility == "ineligible" || node.status != "ready" {
                node.modify_index = index;
            }
        }
        let file = SnapshotFile {
            version: Some(FORMAT_VERSION),
            taken_at: Time::from_unix_nanos(self.options.now),
            source: format!("encamp sim cluster, seed {}", self.options.seed),
            index: index + 1,
            scheduler_configuration: Some(self.server.scheduler),
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
        let mut seen = std::collections::HashSet::new();
        for job in &self.jobs {
            if seen.insert((&job.namespace, &job.id)) {
                add(&mut out.jobs_by_type, &job.r#type);
            }
        }
        out.running_deployments = self.deployments.iter().filter(|d| d.status == "running").count();
        out.allocations = self.placements.len();
        for placed in &self.placements {
            add(&mut out.allocations_by_status, placed.fate.client_status());
        }
        out
    }
}

/// The jobs of one node pool.
struct Pool {
    patterns: Vec<Pattern>,
    classes: Vec<usize>,
    /// How many allocations it holds, compared with other pools.
    size: usize,
    scale: Scale,
    /// How often its nodes were allowed to get fuller; 3: there is no room.
    relaxed: u32,
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

/// What the servers of the cluster know.
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
            scheduler_algorithm: "binpack".into(),
            preemption_config: PreemptionConfig { system_scheduler_enabled: true, ..Default::default() },
            create_index: 5,
            modify_index: 5,
            ..Default::default()
        },
        vault_enabled: true,
        ..Default::default()
    }
}

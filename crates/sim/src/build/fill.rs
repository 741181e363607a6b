//! Generates jobs for each node pool until there are enough allocations or no capacity is left.

use super::{Builder, Drawn, NEARLY_EMPTY, Placed, Rollout};
use crate::allocs::Fate;
use crate::cluster::JobError;
use crate::drafts::{Pattern, Scale, version_before};
use crate::ground::{Ask, Share, Spot};
use crate::kinds::POOLS;
use crate::nodes::{Condition, SHAPES};
use encamp_model::JobType;

/// How often the sizes of jobs follow the room that is left while a pool is filled.
const SIZINGS: usize = 40;
/// Jobs in a row that find no room before nodes may get fuller than meant.
const PATIENCE: u32 = 10;

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

impl Builder {
    /// All other jobs, until there are enough allocations or no room is left.
    pub(crate) fn counted_jobs(&mut self) -> Result<(), JobError> {
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
    fn fill(&mut self, pool: &mut Pool, quota: usize) -> Result<(), JobError> {
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
    fn counted_job(&mut self, pool: &mut Pool, limit: usize, quota: usize, tiny: bool) -> Result<bool, JobError> {
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
        if drawn.job.r#type == JobType::Service && plain && chance < 3 && count > 1 {
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
        let batch = drawn.job.r#type == JobType::Batch && self.may_be_over();
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
                drawn.placed.push(Placed { group: number, index, node, fate, share });
            }
        }
        for (number, group) in drawn.job.task_groups.iter_mut().enumerate() {
            let placed = drawn.placed.iter().filter(|p| p.group == number).count();
            group.count = i64::try_from(placed).unwrap_or(i64::MAX);
        }
    }

    /// The fate of an allocation on a node, by the condition of the node.
    fn fate(&mut self, node: u32) -> Fate {
        match self.ground.spot(node).map(|s| s.condition) {
            Some(Condition::Disconnected) => Fate::Unknown,
            Some(Condition::Draining) if self.random.below(2) == 0 => Fate::Leaving,
            _ => Fate::Running,
        }
    }

    /// A node that may have had an allocation that is over.
    pub(super) fn past(
        &mut self,
        ask: &Ask,
        classes: &[usize],
        suits: impl Fn(Condition) -> bool,
    ) -> Option<(u32, Share)> {
        for _ in 0..60 {
            let class = self.random.pick(classes)?;
            let Some(node) = self.random.pick(self.ground.of_class(*class)).copied() else { continue };
            if let Some(spot) = self.ground.spot(node).filter(|s| suits(s.condition)) {
                return Some((node, spot.past(ask, &mut self.random)));
            }
        }
        None
    }
}

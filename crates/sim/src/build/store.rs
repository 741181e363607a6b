//! Stores a job: its versions, deployments, allocations and their previous allocations.

use super::{Builder, Drawn, Placed, Rollout};
use crate::allocs::{Fate, JobFacts, Placement};
use crate::drafts::version_before;
use crate::ground::Ask;
use crate::nodes::Condition;
use encamp_model::*;

impl Builder {
    /// Stores a job with its allocations, its older version, its deployments and some allocations that came before.
    pub(super) fn store(&mut self, drawn: Drawn) {
        let Drawn { mut job, rollout, placed } = drawn;
        let index = 100 + self.options.nodes as u64 + 16 * self.made as u64;
        let canaries = job.task_groups.iter().any(|g| g.update.as_ref().is_some_and(|u| u.canary > 0));
        let rolling = rollout == Rollout::Running;
        let newer = rolling || (!canaries && !placed.is_empty() && self.random.below(10) < 3);
        let before = version_before(&job).filter(|_| newer);
        let age = if rolling { 240 } else { 7200 + self.random.below(30 * 86_400) as i64 };
        job.submit_time = self.options.now - age * SECOND;
        (job.create_index, job.job_modify_index, job.modify_index) = (index, index, index + 2);
        let live = placed.iter().any(|p| p.fate.live());
        let waiting = job.periodic.is_some() || job.parameterized_job.is_some();
        job.status = if live || waiting { JobStatus::Running } else { JobStatus::Dead };
        job.stop = rollout == Rollout::Stopped;
        let deployed = matches!(job.r#type, JobType::Service | JobType::System) && !placed.is_empty() && !job.stop;
        job.stable = deployed && !rolling;
        let old = before.map(|mut old| {
            job.version = 1 + self.random.below(9);
            (job.job_modify_index, job.modify_index) = (index + 8, index + 10);
            old.version = job.version - 1;
            old.submit_time = job.submit_time - (3600 + self.random.below(86_400 * 5) as i64) * SECOND;
            (old.create_index, old.job_modify_index, old.modify_index) = (index, index, index + 2);
            (old.status, old.stable) = (JobStatus::Running, deployed);
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
        self.facts.push(JobFacts { eval_id: eval_id.into(), deployment_id: deployment_id.into() });
        self.jobs.push(job);
        self.jobs.len() - 1
    }

    fn add_allocations(&mut self, placed: &[Placed], rollout: Rollout, current: usize, old: Option<usize>) {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let first = self.placements.len();
        // A deployment that runs has replaced the allocations with the lowest numbers; the last of them just started.
        let replaced = if rollout == Rollout::Running { (placed.len() / 3).max(1) } else { placed.len() };
        for (i, p) in placed.iter().enumerate() {
            let (job, fate) = match old.filter(|_| i >= replaced) {
                Some(old) => (old, p.fate),
                None if rollout == Rollout::Running && i + 1 == replaced => (current, Fate::Pending),
                None => (current, p.fate),
            };
            let group = u16::try_from(p.group).unwrap_or(u16::MAX);
            let (index, node, share) = (p.index, p.node, p.share);
            self.placements.push(Placement { job: number(job), group, index, node, fate, share, other: None });
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
                || matches!(job.r#type, JobType::System | JobType::Sysbatch)
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
    fn deploy(&mut self, at: usize, placed: &[Placed], running: Option<usize>) {
        let (Some(job), Some(facts)) = (self.jobs.get(at), self.facts.get(at)) else { return };
        if facts.deployment_id.is_empty() {
            return;
        }
        let state = |(number, group): (usize, &TaskGroup)| {
            let update = group.update.clone().unwrap_or_default();
            let all = placed.iter().filter(|p| p.group == number).count();
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
            Some(_) => (DeploymentStatus::Running, "Deployment is running"),
            None => (DeploymentStatus::Successful, "Deployment completed successfully"),
        };
        let deployment = Deployment {
            id: facts.deployment_id.to_string(),
            namespace: job.namespace.clone(),
            job_id: job.id.clone(),
            job_version: job.version,
            job_modify_index: job.job_modify_index,
            job_spec_modify_index: job.job_modify_index,
            job_create_index: job.create_index,
            task_groups: job.task_groups.iter().enumerate().map(state).collect(),
            status,
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
}

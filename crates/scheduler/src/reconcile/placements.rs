//! The placements of a group, the rate of its rollout, and its deployment (`docs/spec/reconciliation.md §5.12-5.15`).

use std::sync::Arc;

use super::Placement;
use super::group::Group;
use super::set::Set;
use crate::descriptions;
use encamp_model::*;

impl Group<'_, '_> {
    /// How many allocations may be destroyed in this plan (`docs/spec/reconciliation.md §5.12`).
    pub(super) fn limit(&self, destructive: &Set, canarying: bool) -> usize {
        let update = self.tg.update.as_ref().filter(|u| !u.is_empty());
        let Some(update) = update.filter(|_| !(destructive.is_empty() && self.migrate.is_empty())) else {
            return self.count;
        };
        let limit = usize::try_from(update.max_parallel).unwrap_or(0);
        let Some(d) = &self.r.current else { return limit };
        if self.r.paused || self.r.failed || canarying {
            return 0;
        }
        let mut pending = 0;
        for a in self.untainted.iter().map(|i| &self.allocs[i]).filter(|a| a.deployment_id == d.id) {
            match a.health() {
                Some(true) => {}
                Some(false) => return 0,
                None => pending += 1,
            }
        }
        limit.saturating_sub(pending)
    }

    /// The placements to make: replacements, then new names up to the count (`docs/spec/reconciliation.md §5.13`).
    pub(super) fn candidates(&mut self, canarying: bool) -> Vec<Placement> {
        let mut out = Vec::new();
        for i in self.now.iter() {
            let previous = match self.disconnected.get(&i) {
                Some(update) => Arc::new(update.clone()),
                None => self.allocs[i].clone(),
            };
            out.push(self.replacement(previous, true, canarying));
        }
        let mut existing = self.untainted.len() + self.migrate.len() + self.now.len();
        for i in self.lost.iter() {
            if existing >= self.count {
                break;
            }
            existing += 1;
            out.push(self.replacement(self.allocs[i].clone(), false, canarying));
        }
        for name in self.names.next(self.count.saturating_sub(existing)) {
            out.push(Placement {
                name,
                group: self.name.clone(),
                previous: None,
                reschedule: false,
                canary: false,
                downgrade: canarying,
                min_version: 0,
            });
        }
        out
    }

    fn replacement(&self, previous: Arc<Allocation>, reschedule: bool, canarying: bool) -> Placement {
        let canary = previous.is_canary();
        Placement {
            name: previous.name.to_string(),
            group: self.name.clone(),
            reschedule,
            canary,
            downgrade: canarying && !canary,
            min_version: previous.job_version().unwrap_or(0),
            previous: Some(previous),
        }
    }

    /// Takes over what may be placed and stops what failed (`docs/spec/reconciliation.md §5.14`); what is left of the
    /// limit.
    pub(super) fn apply_candidates(&mut self, candidates: Vec<Placement>, ready: bool, limit: usize) -> usize {
        let replaced = |group: &Self, i: usize| {
            let gone = group.disconnected.contains_key(&i) || group.allocs[i].client_status == ClientStatus::Unknown;
            !gone && !group.migrate.contains(i)
        };
        if ready {
            let left = limit.saturating_sub(candidates.len());
            self.d.place += candidates.len() as u64;
            self.place.extend(candidates);
            let failures: Set = self.now.iter().filter(|i| replaced(self, *i)).collect();
            for i in failures.iter() {
                self.stop(i, descriptions::RESCHEDULED, ClientStatus::Unset);
            }
            self.d.stop += failures.len() as u64;
            return left;
        }
        // Only what was there before the deployment stalled is replaced. Lost allocations are counted from the head of
        // the list, where reschedules come first (`docs/spec/reconciliation.md §5.14` Q6).
        let lost = self.lost.len().min(candidates.len());
        self.place.extend_from_slice(&candidates[..lost]);
        self.d.place += lost as u64;
        let now = std::mem::take(&mut self.now);
        let current = self.r.current.as_ref().map(|d| d.id.clone());
        // Reschedules head the list of candidates in the order of `now`.
        for (p, i) in candidates.into_iter().zip(now.iter()).filter(|(p, _)| p.reschedule) {
            if self.r.failed && current.as_deref() == Some(&*self.allocs[i].deployment_id) {
                continue;
            }
            self.place.push(p);
            self.d.place += 1;
            if !self.disconnected.contains_key(&i) {
                self.stop(i, descriptions::RESCHEDULED, ClientStatus::Unset);
                self.d.stop += 1;
            }
        }
        self.now = now;
        limit
    }

    /// Replaces up to `limit` allocations by the new version, lowest names first; the others wait (step 23).
    pub(super) fn destroy(&mut self, destructive: &Set, limit: usize) {
        let chosen = limit.min(destructive.len());
        self.d.destructive_update += chosen as u64;
        self.d.ignore += (destructive.len() - chosen) as u64;
        for i in self.by_name_index(destructive).into_iter().take(chosen) {
            let previous = self.allocs[i].clone();
            self.r.out.destructive.push(Placement {
                name: previous.name.to_string(),
                group: self.name.clone(),
                reschedule: false,
                canary: false,
                downgrade: false,
                min_version: 0,
                previous: Some(previous),
            });
        }
    }

    /// Moves what has to leave its node (step 24).
    pub(super) fn migrate_all(&mut self, canarying: bool) {
        self.d.migrate += self.migrate.len() as u64;
        for i in self.by_name_index(&self.migrate) {
            self.stop(i, descriptions::MIGRATING, ClientStatus::Unset);
            let a = self.allocs[i].clone();
            let t = &a.desired_transition;
            if !(a.of_batch_job() && (t.should_reschedule() || t.migrate_disable_placement())) {
                let p = self.replacement(a, false, canarying);
                self.place.push(p);
            }
        }
    }

    /// Members by name index, equal ones by ID.
    fn by_name_index(&self, set: &Set) -> Vec<usize> {
        let mut v: Vec<usize> = set.iter().collect();
        v.sort_by_cached_key(|i| self.allocs[*i].index());
        v
    }

    /// Makes the group part of a deployment if it rolls out something (`docs/spec/reconciliation.md §5.15`). `had`:
    /// this version was placed before.
    pub(super) fn create_deployment(&mut self, had: bool, destructive: bool) {
        let no_rollout = self.tg.update.as_ref().is_none_or(|u| u.is_empty());
        let updating = destructive || self.d.in_place_update > 0;
        if self.existing || no_rollout || self.state.desired_total == 0 || (had && !updating) {
            return;
        }
        let job = self.job;
        let r = &mut *self.r;
        if r.current.is_none() {
            r.created = true;
            r.current = Some(Deployment {
                id: (r.new_id)(),
                namespace: job.namespace.clone(),
                job_id: job.id.clone(),
                job_version: job.version,
                job_modify_index: job.modify_index,
                job_spec_modify_index: job.job_modify_index,
                job_create_index: job.create_index,
                status: DeploymentStatus::Running,
                status_description: "Deployment is running".into(),
                eval_priority: r.input.eval_priority,
                create_time: r.input.now,
                ..Default::default()
            });
        }
        if let Some(d) = &mut r.current {
            d.task_groups.insert(self.name.to_string(), Some(self.state.clone()));
        }
    }

    /// Whether the current deployment has nothing left to do for the group.
    pub(super) fn deployment_complete(&self) -> bool {
        let Some(d) = &self.r.current else { return false };
        let state =
            if self.existing { Some(&self.state) } else { d.task_groups.get(&*self.name).and_then(|s| s.as_ref()) };
        state.is_none_or(|s| {
            s.healthy_allocs >= s.desired_total.max(s.desired_canaries) && (s.desired_canaries <= 0 || s.promoted)
        })
    }
}

//! Status predicates of allocations, evaluations and deployments, and new evaluations (`docs/spec/reconciliation.md
//! §2.3`, `§2.6`).

use super::*;

impl DesiredStatus {
    /// Allocations are not to run: [`Allocation::server_terminal`].
    pub fn ends_allocations(&self) -> bool {
        matches!(self, DesiredStatus::Stop | DesiredStatus::Evict)
    }
}

impl ClientStatus {
    /// Allocations run no more: [`Allocation::client_terminal`].
    pub fn ends_allocations(&self) -> bool {
        matches!(self, ClientStatus::Complete | ClientStatus::Failed | ClientStatus::Lost)
    }
}

impl Allocation {
    /// `DesiredStatus` is `stop` or `evict`.
    pub fn server_terminal(&self) -> bool {
        self.desired_status.ends_allocations()
    }

    /// `ClientStatus` is `complete`, `failed` or `lost`.
    pub fn client_terminal(&self) -> bool {
        self.client_status.ends_allocations()
    }

    /// Server- or client-terminal.
    pub fn terminal(&self) -> bool {
        self.server_terminal() || self.client_terminal()
    }

    /// At least one task state, and every one is dead and not failed.
    pub fn ran_successfully(&self) -> bool {
        !self.task_states.is_empty()
            && self.task_states.without_events().all(|t| t.state == TaskStatus::Dead && !t.failed)
    }

    /// Whether the allocation is a canary of its deployment.
    pub fn is_canary(&self) -> bool {
        self.deployment_status.as_ref().is_some_and(|d| d.canary)
    }

    /// `Some(true)` healthy, `Some(false)` unhealthy, `None` no verdict yet.
    pub fn health(&self) -> Option<bool> {
        self.deployment_status.as_ref().and_then(|d| d.healthy)
    }

    /// The number between the brackets of the name; 0 if the name is too short or unparsable.
    pub fn index(&self) -> usize {
        let prefix = self.job_id.len() + self.task_group.len() + 2;
        if self.name.len() <= prefix {
            return 0;
        }
        self.name.get(prefix..self.name.len() - 1).and_then(|s| s.parse().ok()).unwrap_or(0)
    }

    /// The group in the job the allocation was placed with. Reschedule policy, disconnect block and kill timeouts of
    /// an allocation come from there, not from the current job.
    pub fn group(&self) -> Option<&TaskGroup> {
        self.job.as_ref()?.lookup_group(&self.task_group)
    }

    /// Whether the job the allocation was placed with is a batch job.
    pub fn of_batch_job(&self) -> bool {
        self.job.as_ref().is_some_and(|j| j.r#type == JobType::Batch)
    }

    /// The allocation was placed with an older version of the job, or before the job was purged and registered again.
    pub fn older_than(&self, job: &Job) -> bool {
        self.job_version().is_some_and(|v| v < job.version)
            || self.job.as_ref().is_some_and(|j| j.create_index < job.create_index)
    }

    /// `disconnect.stop_on_client_after` in nanoseconds, if set and not zero.
    pub fn stop_on_client_after(&self) -> Option<i64> {
        self.group()?.disconnect.as_ref()?.stop_on_client_after.filter(|d| *d != 0)
    }

    /// The last attempt to replace the allocation did not place it.
    pub fn last_reschedule_failed(&self) -> bool {
        let last = self.reschedule_tracker.as_ref().map_or("", |t| t.last_reschedule.as_str());
        !last.is_empty() && last != "ok"
    }

    /// When the allocation finished: the latest end of a task, else the last change; `None` if neither is known.
    pub fn last_event_time(&self) -> Option<i64> {
        let finished = self.task_states.without_events().filter_map(|t| t.finished_at.unix_nanos()).max();
        finished.or((self.modify_time != 0).then_some(self.modify_time))
    }

    /// The version of the job the allocation was placed with.
    pub fn job_version(&self) -> Option<u64> {
        self.job.as_ref().map(|j| j.version).or(self.stored_job_version)
    }

    /// The allocation as lists and annotations show it: without its resources.
    pub fn stub(&self) -> AllocListStub {
        AllocListStub {
            id: self.id.clone(),
            eval_id: self.eval_id.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            node_id: self.node_id.clone(),
            node_name: self.node_name.clone(),
            job_id: self.job_id.clone(),
            job_type: self.job.as_ref().map(|j| j.r#type.clone()).unwrap_or_default(),
            job_version: self.job_version().unwrap_or_default(),
            task_group: self.task_group.clone(),
            allocated_resources: None,
            desired_status: self.desired_status.clone(),
            desired_description: self.desired_description.clone(),
            client_status: self.client_status.clone(),
            client_description: self.client_description.clone(),
            desired_transition: self.desired_transition.clone(),
            task_states: self.task_states.clone(),
            deployment_status: self.deployment_status.clone(),
            followup_eval_id: self.followup_eval_id.clone(),
            next_allocation: self.next_allocation.clone(),
            reschedule_tracker: self.reschedule_tracker.clone(),
            preempted_allocations: self.preempted_allocations.clone(),
            preempted_by_allocation: self.preempted_by_allocation.clone(),
            create_index: self.create_index,
            modify_index: self.modify_index,
            create_time: self.create_time,
            modify_time: self.modify_time,
        }
    }
}

impl VolumeRequest {
    /// The volume that an allocation asks for: with `per_alloc` the index of its name is appended.
    pub fn source_for(&self, alloc_name: &str) -> String {
        match alloc_name.rfind('[') {
            Some(i) if self.per_alloc => format!("{}{}", self.source, &alloc_name[i..]),
            _ => self.source.clone(),
        }
    }

    /// How the request uses a dynamic host volume: access mode and attachment mode, with their defaults
    /// (`docs/spec/scheduling.md §6.6`).
    pub fn host_modes(&self) -> (&VolumeAccessMode, &str) {
        let access = match &self.access_mode {
            VolumeAccessMode::Unset if self.read_only => &VolumeAccessMode::SingleNodeReaderOnly,
            VolumeAccessMode::Unset => &VolumeAccessMode::SingleNodeWriter,
            mode => mode,
        };
        (access, if self.attachment_mode.is_empty() { "file-system" } else { &self.attachment_mode })
    }
}

impl AllocMetric {
    /// The number of unplaced allocations of a group: the one that the metrics are of, and those that failed after it.
    /// At least 1.
    pub fn failures(&self) -> i64 {
        self.coalesced_failures.max(0).saturating_add(1)
    }
}

impl DesiredTransition {
    /// The allocation is to leave its node.
    pub fn should_migrate(&self) -> bool {
        self.migrate == Some(true)
    }

    /// The allocation may be rescheduled although its deployment is active.
    pub fn should_reschedule(&self) -> bool {
        self.reschedule == Some(true)
    }

    /// The allocation is to be rescheduled whatever its policy says.
    pub fn should_force_reschedule(&self) -> bool {
        self.force_reschedule == Some(true)
    }

    /// A drained batch allocation that keeps its slot.
    pub fn migrate_disable_placement(&self) -> bool {
        self.migrate_disable_placement == Some(true)
    }
}

impl Evaluation {
    /// An evaluation of a job that waits to be processed, as most changes make them. `now` in Unix nanoseconds.
    pub fn pending(job: &Job, triggered_by: EvalTrigger, now: i64, id: String) -> Evaluation {
        Evaluation {
            id: id.into(),
            namespace: Text::from(&job.namespace),
            priority: job.priority,
            r#type: job.r#type.clone(),
            triggered_by,
            job_id: Text::from(&job.id),
            status: EvalStatus::Pending,
            create_time: now,
            modify_time: now,
            ..Default::default()
        }
    }

    /// Needs no more work: `Status` is `complete`, `failed` or `canceled`.
    pub fn terminal(&self) -> bool {
        matches!(self.status, EvalStatus::Complete | EvalStatus::Failed | EvalStatus::Canceled)
    }
}

impl Deployment {
    /// Whether the rollout still goes on.
    pub fn active(&self) -> bool {
        use DeploymentStatus::{Blocked, Initializing, Paused, Pending, Running, Unblocking};
        matches!(self.status, Running | Paused | Blocked | Unblocking | Initializing | Pending)
    }

    /// Running, with canaries of some group not promoted.
    pub fn requires_promotion(&self) -> bool {
        self.status == DeploymentStatus::Running
            && self.task_groups.values().flatten().any(|g| g.desired_canaries > 0 && !g.promoted)
    }

    /// Running, and every group with canaries promotes itself.
    pub fn has_auto_promote(&self) -> bool {
        self.status == DeploymentStatus::Running
            && !self.task_groups.is_empty()
            && self.task_groups.values().flatten().all(|g| g.desired_canaries == 0 || g.auto_promote)
    }
}

impl Job {
    /// The group of that name.
    pub fn lookup_group(&self, name: &str) -> Option<&TaskGroup> {
        self.task_groups.iter().find(|g| g.name == name)
    }

    /// A periodic or parameterized parent: it is launched, not scheduled.
    pub fn is_template(&self) -> bool {
        self.periodic.as_ref().is_some_and(|p| p.enabled) || self.is_parameterized()
    }

    /// A parameterized job that was not dispatched.
    pub fn is_parameterized(&self) -> bool {
        self.parameterized_job.is_some() && !self.dispatched
    }
}

impl UpdateStrategy {
    /// No rolling update: `max_parallel` is 0.
    pub fn is_empty(&self) -> bool {
        self.max_parallel == 0
    }
}

impl Node {
    /// Status ready, eligible and not draining.
    pub fn ready(&self) -> bool {
        self.status == NodeStatus::Ready
            && self.drain_strategy.is_none()
            && self.scheduling_eligibility == NodeEligibility::Eligible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_group_lacks_the_first_allocation_and_the_coalesced_ones() {
        let failures = |coalesced_failures| AllocMetric { coalesced_failures, ..AllocMetric::default() }.failures();
        assert_eq!([0, 4, i64::MAX, -3].map(failures), [1, 5, i64::MAX, 1]);
    }
}

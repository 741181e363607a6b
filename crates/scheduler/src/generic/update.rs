//! Whether an allocation can be updated in place to the new job version (`docs/spec/reconciliation.md §7`).

use std::collections::HashMap;
use std::sync::Arc;

use crate::candidates::covers;
use crate::descriptions;
use crate::reconcile::UpdateCheck;
use crate::stack::{RankedNode, SelectOptions, Stack};
use crate::tasks_updated::tasks_updated;
use crate::working_plan::WorkingPlan;
use encamp_model::*;
use encamp_state::Snapshot;

/// The check with what it needs.
pub(super) struct InPlaceCheck<'a> {
    state: &'a Snapshot,
    eval_id: &'a str,
    job: Option<&'a Arc<Job>>,
    stack: &'a mut Stack,
    plan: &'a mut WorkingPlan,
    random: &'a mut dyn FnMut(u64) -> u64,
    /// Task differences already found, by old job version and group: many allocations share both.
    differs: HashMap<(u64, u64, String), bool>,
}

impl<'a> InPlaceCheck<'a> {
    pub(super) fn new(
        state: &'a Snapshot,
        eval_id: &'a str,
        job: Option<&'a Arc<Job>>,
        stack: &'a mut Stack,
        plan: &'a mut WorkingPlan,
        random: &'a mut dyn FnMut(u64) -> u64,
    ) -> InPlaceCheck<'a> {
        InPlaceCheck { state, eval_id, job, stack, plan, random, differs: HashMap::new() }
    }

    pub(super) fn check(&mut self, a: &Arc<Allocation>, tg: &TaskGroup) -> UpdateCheck {
        let Some(job) = self.job else { return UpdateCheck::Ignore };
        let Some(old) = &a.job else {
            // A record without its job is only identified by its version.
            let same = a.job_version() == Some(job.version);
            return if same { UpdateCheck::Ignore } else { UpdateCheck::Destructive };
        };
        if old.job_modify_index == job.job_modify_index {
            return UpdateCheck::Ignore;
        }
        if self.tasks_differ(old, job, &tg.name) {
            return UpdateCheck::Destructive;
        }
        if a.terminal() {
            return UpdateCheck::Ignore;
        }
        let Some(node) = self.state.node(&a.node_id) else { return UpdateCheck::Destructive };
        if !covers(job, &node.node) {
            return UpdateCheck::Destructive;
        }
        // Meant for changed durations; in effect every change that got here is taken (`docs/spec/reconciliation.md §7`
        // Q8).
        if old.r#type == JobType::Batch && a.group().and_then(|g| g.max_run_duration).is_some_and(|d| d > 0) {
            return UpdateCheck::InPlace(Box::new(Allocation { eval_id: self.eval_id.into(), ..(**a).clone() }));
        }
        self.stack.set_node(node);
        self.plan.append_stop(a, descriptions::IN_PLACE, ClientStatus::Unset, "");
        let options = SelectOptions { alloc_name: &a.name, ..Default::default() };
        let found = self.stack.select(self.plan, tg, &options, self.random);
        self.plan.pop_stop(a);
        match found.option {
            Some(option) => UpdateCheck::InPlace(Box::new(updated(a, self.eval_id, tg, option))),
            None => UpdateCheck::Destructive,
        }
    }

    fn tasks_differ(&mut self, old: &Arc<Job>, job: &Arc<Job>, group: &str) -> bool {
        let key = (old.create_index, old.version, group.to_string());
        *self.differs.entry(key).or_insert_with(|| tasks_updated(old, job, group))
    }
}

/// The allocation with the new resources; networks, devices and cores stay as they are.
fn updated(a: &Allocation, eval_id: &str, tg: &TaskGroup, option: RankedNode) -> Allocation {
    let mut resources = Arc::unwrap_or_clone(option.resources);
    let old = a.allocated_resources.as_deref();
    if let Some(old) = old {
        resources.keep_places(old);
        resources.keep_cores(old);
    }
    resources.shared = AllocatedSharedResources {
        disk_mb: tg.ephemeral_disk.as_ref().map_or(0, |d| d.size_mb),
        ..old.map(|old| old.shared.clone()).unwrap_or_default()
    };
    Allocation { eval_id: eval_id.into(), allocated_resources: Some(Arc::new(resources)), ..a.clone() }
}

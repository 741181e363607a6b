//! Committed plans: allocations are evicted for much more important ones alone, and rolling updates replace no more
//! allocations at a time than `max_parallel` allows. Capacity, ports, devices and names are counted by
//! [`given_once`](crate::deterministic::watch::given_once).

/// How much higher the priority of the job has to be for which an allocation is evicted.
const MORE_IMPORTANT: i64 = 10;

/// An allocation that was evicted for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Eviction {
    /// The evicted allocation.
    pub victim: String,
    /// The priority and the ID of its job.
    pub of: (i64, String),
    /// The priority and the ID of the job that gets its place.
    pub by: (i64, String),
}

/// The part of a rolling update that is under way after a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rollout {
    /// Job and group.
    pub group: String,
    /// `max_parallel`.
    pub most: i64,
    /// Allocations that this plan stops to update them.
    pub stopped: i64,
    /// Replacements for such allocations that live and are not known to be healthy.
    pub unproved: i64,
}

/// A plan that may not be committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongPlan {
    /// The priorities do not allow the eviction.
    #[error("{0:?} is not allowed")]
    Eviction(Eviction),
    /// Too many allocations are replaced at a time.
    #[error("{0:?} are too many")]
    Rollout(Rollout),
}

/// Checks the evictions and rollouts of a plan.
///
/// # Errors
/// The first that is not allowed.
pub(crate) fn check(evictions: &[Eviction], rollouts: &[Rollout]) -> Result<(), WrongPlan> {
    let wrong = |e: &&Eviction| e.by.0 - e.of.0 < MORE_IMPORTANT || e.by.1 == e.of.1;
    if let Some(e) = evictions.iter().find(wrong) {
        return Err(WrongPlan::Eviction(e.clone()));
    }
    let many = |r: &&Rollout| r.most > 0 && r.stopped.max(r.unproved) > r.most;
    rollouts.iter().find(many).map_or(Ok(()), |r| Err(WrongPlan::Rollout(r.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eviction(of: i64, by: i64, job: &str) -> Eviction {
        Eviction { victim: "v".into(), of: (of, "low".into()), by: (by, job.into()) }
    }

    fn rollout(most: i64, stopped: i64, unproved: i64) -> Rollout {
        Rollout { group: "j g".into(), most, stopped, unproved }
    }

    #[test]
    fn allowed_plans_are_accepted() {
        let rollouts = [rollout(2, 2, 2), rollout(0, 9, 9), rollout(1, 0, 1)];
        assert_eq!(check(&[eviction(30, 40, "high")], &rollouts), Ok(()));
    }

    #[test]
    fn forbidden_plans_are_refused() {
        for wrong in
            [eviction(30, 39, "high"), eviction(50, 50, "high"), eviction(70, 30, "high"), eviction(1, 90, "low")]
        {
            assert_eq!(check(std::slice::from_ref(&wrong), &[]), Err(WrongPlan::Eviction(wrong)));
        }
        for wrong in [rollout(2, 3, 0), rollout(2, 1, 3)] {
            assert_eq!(check(&[], &[rollout(5, 1, 1), wrong.clone()]), Err(WrongPlan::Rollout(wrong)));
        }
    }
}

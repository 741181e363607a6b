//! Periodic jobs and the jobs that their launches register (`docs/spec/server.md §14`).

use encamp_model::{Job, JobStatus, SECOND};

/// Whether a job is launched periodically: periodic, enabled, not stopped, not parameterized. A dispatched child of a
/// parameterized job may be periodic.
pub fn is_active(job: &Job) -> bool {
    job.periodic.as_ref().is_some_and(|p| p.enabled) && !job.stop && !job.is_parameterized()
}

/// The child job for a launch at a time, registered now (both Unix nanoseconds).
pub fn child(job: &Job, at: i64, now: i64) -> Job {
    let id = child_id(&job.id, at);
    Job {
        name: id.clone(),
        id,
        parent_id: job.id.clone(),
        periodic: None,
        status: JobStatus::Unset,
        status_description: String::new(),
        // The launches of a dispatched job are separate dispatches.
        dispatch_idempotency_token: String::new(),
        submit_time: now,
        ..job.clone()
    }
}

/// The ID of the child for a launch of a job at a time in Unix nanoseconds.
pub fn child_id(parent: &str, at: i64) -> String {
    format!("{parent}{CHILD}{}", at.div_euclid(SECOND))
}

/// What separates the ID of a periodic job from the second of a launch, in the ID of its child.
const CHILD: &str = "/periodic-";

/// Whether a job is a child of the periodic job with this ID.
pub fn is_child(job: &Job, parent: &str) -> bool {
    job.parent_id == parent && job.id.strip_prefix(parent).is_some_and(|rest| rest.starts_with(CHILD))
}

/// The launch time of a child in Unix nanoseconds, parsed from its ID; `None` if the ID is not that of a periodic job's
/// child.
pub fn launch_time(child_id: &str) -> Option<i64> {
    let (_, seconds) = child_id.rsplit_once(CHILD)?;
    seconds.parse::<i64>().ok()?.checked_mul(SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_named_by_their_launch() {
        let job = Job { id: "j".into(), status: JobStatus::Running, ..Job::default() };
        let c = child(&job, 7 * SECOND + 1, 9);
        assert_eq!((c.id.as_str(), c.name.as_str(), c.parent_id.as_str()), ("j/periodic-7", "j/periodic-7", "j"));
        assert_eq!((c.periodic.is_none(), &c.status, c.submit_time), (true, &JobStatus::Unset, 9));
        assert!(is_child(&c, "j") && !is_child(&c, "") && !is_child(&job, "j"));
        assert_eq!((launch_time(&c.id), launch_time("j"), launch_time("j/periodic-x")), (Some(7 * SECOND), None, None));
    }
}

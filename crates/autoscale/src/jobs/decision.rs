//! Whether a job's group gets one allocation more or fewer (`docs/spec/cluster-scaling.md §13`).

use encamp_model::{Allocation, ClientStatus, DesiredStatus, Job, JobStatus, JobType, TaskGroup};
use encamp_state::{AllocEntry, State};

use super::params::{Bounds, GroupParameters};
use crate::cluster::Usage;
use crate::record::{Direction, Record};

/// The usage of a group relative to its requested resources: averages over its running allocations, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Utilization {
    /// CPU; none if it is not known of any allocation.
    pub cpu: Option<f64>,
    /// Resident memory.
    pub memory: Option<f64>,
    /// Of how many allocations it is known.
    pub measured: usize,
}

/// The decision about a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Its count is changed by one.
    Scale {
        /// Where it goes.
        direction: Direction,
        /// The count it has.
        from: i64,
        /// The count it gets.
        to: i64,
        /// Why, as a sentence.
        reason: String,
    },
    /// Its utilisation lies between the bounds.
    Keep {
        /// The figures, as a sentence.
        reason: String,
    },
    /// It would be scaled, or nothing can be said about it.
    Denied {
        /// The reason against it.
        by: Denial,
        /// Why, as a sentence.
        reason: String,
    },
}

/// A reason against scaling a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Denial {
    /// The job is in a deployment.
    Deployment,
    /// The utilisation is not known.
    UnknownUtilization,
    /// The count is at its bound.
    Limits,
    /// The last change of the count is too recent.
    Cooldown,
}

/// A resource that groups are scaled by.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    name: &'static str,
    used: f64,
    bounds: Bounds,
}

/// Whether the groups of a job may be scaled at all: it runs, its type is `service` or `batch`, and it neither is a
/// periodic or parameterized job nor was launched by one. Launched jobs have a new ID each time, and would leave a
/// state object each.
pub fn scalable(job: &Job) -> bool {
    let kind = matches!(job.r#type, JobType::Service | JobType::Batch);
    kind && !job.stop && job.status == JobStatus::Running && !job.is_template() && job.parent_id.is_empty()
}

/// Whether a deployment of the job still goes on.
pub fn deploying(state: &State, job: &Job) -> bool {
    let of_job = state.deployments_of_job(&job.namespace, &job.id);
    of_job.iter().any(|d| d.job_create_index == job.create_index && d.active())
}

/// The running allocations of a group.
pub fn running(state: &State, job: &Job, group: &str) -> Vec<std::sync::Arc<AllocEntry>> {
    let runs = |a: &Allocation| a.client_status == ClientStatus::Running && a.desired_status == DesiredStatus::Run;
    let mut found = state.allocs_of_job(&job.namespace, &job.id);
    found.retain(|e| e.alloc.task_group == group && runs(&e.alloc));
    found
}

/// Averages over allocations: what each asked for (MHz and MB), and what it uses if that is known. Usages that are
/// negative or no numbers are not known.
pub fn utilization<'a>(allocations: impl IntoIterator<Item = (&'a AllocEntry, Option<Usage>)>) -> Utilization {
    let (mut cpu, mut memory, mut measured) = (Mean::default(), Mean::default(), 0);
    for (entry, usage) in allocations {
        let Some(usage) = usage else { continue };
        let cpu_counts = cpu.add(usage.cpu, entry.usage.cpu);
        let memory_counts = memory.add(usage.memory, entry.usage.memory);
        measured += usize::from(cpu_counts || memory_counts);
    }
    Utilization { cpu: cpu.get(), memory: memory.get(), measured }
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    /// Adds the share that is used of what was asked for, if there is one.
    fn add(&mut self, used: f64, asked: i64) -> bool {
        let counts = asked > 0 && used.is_finite() && used >= 0.0;
        if counts {
            self.sum += used / asked as f64 * 100.0;
            self.count += 1.0;
        }
        counts
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// Decides about a group that is neither in failsafe mode nor being scaled. `now` in Unix nanoseconds.
pub fn decide(
    group: &TaskGroup,
    parameters: &GroupParameters,
    record: &Record,
    used: &Utilization,
    deploying: bool,
    now: i64,
) -> Decision {
    let denied = |by, reason| Decision::Denied { by, reason };
    if deploying {
        return denied(Denial::Deployment, "the job is in a deployment".into());
    }
    let (direction, reason) = match wanted(group, parameters, used) {
        Wanted::Nothing(reason) => return Decision::Keep { reason },
        Wanted::Unknown => {
            return denied(Denial::UnknownUtilization, "no running allocation reports its usage".into());
        }
        Wanted::Scale(direction, reason) => (direction, reason),
    };
    let from = group.count;
    let to = match direction {
        Direction::Out => from.saturating_add(1),
        Direction::In => from.saturating_sub(1),
    };
    if let Some(bound) = limit(group, parameters, direction, to) {
        return denied(Denial::Limits, format!("{reason}, but {bound}"));
    }
    let left = parameters.cooldown.nanos_left(direction, record, now);
    if left > 0 {
        let seconds = left.div_euclid(encamp_model::SECOND).saturating_add(1);
        return denied(Denial::Cooldown, format!("{reason}, but the cooldown lasts for another {seconds} s"));
    }
    Decision::Scale { direction, from, to, reason }
}

enum Wanted {
    Scale(Direction, String),
    Nothing(String),
    Unknown,
}

/// Where the group should go: into its bounds first, then where its utilisation says.
fn wanted(group: &TaskGroup, p: &GroupParameters, used: &Utilization) -> Wanted {
    if group.count < p.min {
        return Wanted::Scale(Direction::Out, format!("count {} is below the minimum of {}", group.count, p.min));
    }
    if group.count > p.max {
        return Wanted::Scale(Direction::In, format!("count {} is above the maximum of {}", group.count, p.max));
    }
    let cpu = used.cpu.map(|used| Share { name: "CPU", used, bounds: p.cpu });
    let memory = used.memory.map(|used| Share { name: "memory", used, bounds: p.memory });
    let most = match (cpu, memory) {
        (None, None) => return Wanted::Unknown,
        (Some(one), None) | (None, Some(one)) => one,
        (Some(cpu), Some(memory)) => {
            if memory.used > cpu.used {
                memory
            } else {
                cpu
            }
        }
    };
    if most.used > most.bounds.scale_out as f64 {
        let reason = format!("{} usage is {:.1} %, above {} %", most.name, most.used, most.bounds.scale_out);
        return Wanted::Scale(Direction::Out, reason);
    }
    let below = |share: &Share| share.used < share.bounds.scale_in as f64;
    match (cpu, memory) {
        (Some(cpu), Some(memory)) if below(&cpu) && below(&memory) => {
            let (c, m) = (cpu.bounds.scale_in, memory.bounds.scale_in);
            let (c_used, m_used) = (cpu.used, memory.used);
            let reason =
                format!("CPU usage is {c_used:.1} %, below {c} %, and memory usage is {m_used:.1} %, below {m} %");
            Wanted::Scale(Direction::In, reason)
        }
        _ => {
            let shares = [cpu, memory].into_iter().flatten();
            let texts: Vec<_> = shares.map(|s| format!("{} usage is {:.1} %", s.name, s.used)).collect();
            Wanted::Nothing(texts.join(", "))
        }
    }
}

/// The bound that a new count violates. A group's `scaling` block bounds it as well: the job scale endpoint refuses
/// others.
fn limit(group: &TaskGroup, p: &GroupParameters, direction: Direction, to: i64) -> Option<String> {
    let policy = group.scaling.as_ref();
    match direction {
        Direction::Out if to > p.max => Some(format!("it has the most allocations, {}", p.max)),
        Direction::Out => {
            let most = policy.map(|s| s.max).filter(|max| to > *max)?;
            Some(format!("its scaling policy allows {most} at most"))
        }
        Direction::In if to < p.min => Some(format!("it has the fewest allocations, {}", p.min)),
        Direction::In => {
            let fewest = policy.map(|s| s.min).filter(|min| to < *min)?;
            Some(format!("its scaling policy allows {fewest} at least"))
        }
    }
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;

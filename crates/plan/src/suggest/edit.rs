//! One edit: a value of the job file, or something of the cluster, that changes so that allocations are placed.

use std::sync::Arc;

use encamp_model::*;

use crate::rebalance::RebalancePlan;

/// What the tasks of a group ask for, as far as it decides where they fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Amount {
    /// MHz.
    Cpu,
    /// Whole cores.
    Cores,
    /// MB.
    Memory,
}

impl Amount {
    /// The name in job files.
    pub fn name(self) -> &'static str {
        match self {
            Amount::Cpu => "cpu",
            Amount::Cores => "cores",
            Amount::Memory => "memory",
        }
    }

    /// The unit behind a number, with the space before it; empty if there is none.
    pub fn unit(self) -> &'static str {
        match self {
            Amount::Cpu => " MHz",
            Amount::Cores => "",
            Amount::Memory => " MB",
        }
    }
}

/// The block that holds a constraint, an update block or a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    /// The group; `None`: the job itself.
    pub group: Option<String>,
    /// The task; `None`: the group itself.
    pub task: Option<String>,
}

impl Holder {
    /// The job itself.
    pub fn job() -> Holder {
        Holder::default()
    }

    /// A group.
    pub fn group(name: &str) -> Holder {
        Holder { group: Some(name.into()), task: None }
    }

    /// A task of a group.
    pub fn task(group: &str, name: &str) -> Holder {
        Holder { group: Some(group.into()), task: Some(name.into()) }
    }
}

/// A change that lets allocations be placed.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// A task asks for less.
    Task {
        /// The group.
        group: String,
        /// The task.
        task: String,
        /// Of what.
        amount: Amount,
        /// As the job asks for.
        old: i64,
        /// As it should.
        new: i64,
    },
    /// A task reserves less memory, and may use as much as before: that becomes its `memory_max`.
    Reserve {
        /// The group.
        group: String,
        /// The task.
        task: String,
        /// MB that the job reserves.
        old: i64,
        /// MB that it should reserve.
        new: i64,
    },
    /// A task asks for fewer instances of a device.
    Device {
        /// The group.
        group: String,
        /// The task.
        task: String,
        /// The number of the `device` block, from 0.
        number: usize,
        /// The device.
        name: String,
        /// Instances that the job asks for.
        old: i64,
        /// Instances that it should ask for.
        new: i64,
    },
    /// A group asks for a smaller ephemeral disk, MB.
    Disk {
        /// The group.
        group: String,
        /// The size of the job.
        old: i64,
        /// The size that it should have.
        new: i64,
    },
    /// A group has fewer copies.
    Count {
        /// The group.
        group: String,
        /// Its count.
        old: i64,
        /// The count that it should have.
        new: i64,
    },
    /// A port with a fixed number becomes a dynamic one.
    Port {
        /// The group, and the task if the port is of the task's own network.
        holder: Holder,
        /// The number of the `network` block, from 0.
        network: usize,
        /// The label of the port.
        label: String,
        /// Its number.
        old: i64,
    },
    /// A port without a fixed number goes away.
    DropPort {
        /// The group, and the task if the port is of the task's own network.
        holder: Holder,
        /// The number of the `network` block, from 0.
        network: usize,
        /// The label of the port.
        label: String,
    },
    /// A constraint goes away.
    DropConstraint {
        /// Where it is.
        holder: Holder,
        /// The number of the `constraint` block, from 0.
        number: usize,
        /// The constraint in words.
        text: String,
        /// Nodes that satisfy all other constraints, but not this one.
        nodes: usize,
    },
    /// A constraint gets another value.
    ConstraintValue {
        /// Where it is.
        holder: Holder,
        /// The number of the `constraint` block, from 0.
        number: usize,
        /// The constraint without its value, in words.
        text: String,
        /// Its value.
        old: String,
        /// The value that it should have.
        new: String,
    },
    /// The job may use one more datacenter.
    Datacenter {
        /// The datacenters of the job.
        old: Vec<String>,
        /// The one to add.
        new: String,
        /// Its ready nodes in the job's pool.
        nodes: usize,
    },
    /// The job uses another node pool.
    Pool {
        /// Its pool.
        old: String,
        /// The pool that it should use.
        new: String,
        /// Ready nodes of that pool in the job's datacenters.
        nodes: usize,
    },
    /// An update places fewer canaries beside the allocations that run.
    Canaries {
        /// The group.
        group: String,
        /// The `update` block is the job's, not the group's.
        in_job: bool,
        /// As many as the job wants.
        old: i64,
        /// As many as it should want.
        new: i64,
    },
    /// An update replaces fewer allocations at a time.
    Parallel {
        /// The group.
        group: String,
        /// The `update` block is the job's, not the group's.
        in_job: bool,
        /// `max_parallel` of the job.
        old: i64,
        /// The value that it should have.
        new: i64,
    },
    /// The job takes precedence over more others, which it evicts.
    Priority {
        /// Its priority.
        old: i64,
        /// The priority that it should have.
        new: i64,
    },
    /// The scheduler configuration lets jobs of this type evict others.
    Preemption {
        /// The type of the job.
        job_type: JobType,
    },
    /// The cluster gets more nodes.
    AddNodes {
        /// How many.
        count: i64,
        /// The name of a node that they are like.
        like: String,
        /// Its class; may be empty.
        class: String,
        /// Its pool.
        pool: String,
    },
    /// Batch work comes to an end by its `max_run_duration`.
    Wait {
        /// When the last of it has ended, Unix nanoseconds.
        until: i64,
        /// The allocations that end by then: IDs.
        ends: Vec<String>,
        /// The job of the last one.
        last: String,
    },
    /// Allocations of other jobs move, so that there is room.
    Moves {
        /// The moves.
        plan: Arc<RebalancePlan>,
        /// The time at which they were planned, Unix nanoseconds.
        now: i64,
    },
}

/// The setting of the scheduler configuration that lets a type of jobs evict others.
pub fn preemption_setting(job_type: &JobType) -> &'static str {
    match job_type {
        JobType::Batch => "preemption_config.batch_scheduler_enabled",
        JobType::System => "preemption_config.system_scheduler_enabled",
        JobType::Sysbatch => "preemption_config.sysbatch_scheduler_enabled",
        JobType::Service | JobType::Core | JobType::Unset | JobType::Other(_) => {
            "preemption_config.service_scheduler_enabled"
        }
    }
}

impl Edit {
    /// Whether it changes the job file; the others change the cluster.
    pub fn is_of_file(&self) -> bool {
        !matches!(self, Edit::Preemption { .. } | Edit::AddNodes { .. } | Edit::Wait { .. } | Edit::Moves { .. })
    }

    /// The group that it is about; `None`: the whole job.
    pub fn group(&self) -> Option<&str> {
        match self {
            Edit::Task { group, .. }
            | Edit::Reserve { group, .. }
            | Edit::Device { group, .. }
            | Edit::Disk { group, .. }
            | Edit::Count { group, .. }
            | Edit::Canaries { group, .. }
            | Edit::Parallel { group, .. } => Some(group),
            Edit::Port { holder, .. }
            | Edit::DropPort { holder, .. }
            | Edit::DropConstraint { holder, .. }
            | Edit::ConstraintValue { holder, .. } => holder.group.as_deref(),
            Edit::Datacenter { .. }
            | Edit::Pool { .. }
            | Edit::Priority { .. }
            | Edit::Preemption { .. }
            | Edit::AddNodes { .. }
            | Edit::Wait { .. }
            | Edit::Moves { .. } => None,
        }
    }

    /// The task that it is about; `None`: the whole group or job.
    pub fn task(&self) -> Option<&str> {
        match self {
            Edit::Task { task, .. } | Edit::Reserve { task, .. } | Edit::Device { task, .. } => Some(task),
            Edit::Port { holder, .. }
            | Edit::DropPort { holder, .. }
            | Edit::DropConstraint { holder, .. }
            | Edit::ConstraintValue { holder, .. } => holder.task.as_deref(),
            _ => None,
        }
    }

    /// Whether another edit changes the same value, to whatever.
    pub(super) fn is_about_the_same(&self, other: &Edit) -> bool {
        self.with_value_of(other) == *other
    }

    /// The edit with the new value of another one of its kind.
    fn with_value_of(&self, other: &Edit) -> Edit {
        let mut edit = self.clone();
        match (&mut edit, other) {
            (Edit::Task { new, .. }, Edit::Task { new: value, .. })
            | (Edit::Reserve { new, .. }, Edit::Reserve { new: value, .. })
            | (Edit::Device { new, .. }, Edit::Device { new: value, .. })
            | (Edit::Disk { new, .. }, Edit::Disk { new: value, .. })
            | (Edit::Count { new, .. }, Edit::Count { new: value, .. })
            | (Edit::Canaries { new, .. }, Edit::Canaries { new: value, .. })
            | (Edit::Parallel { new, .. }, Edit::Parallel { new: value, .. })
            | (Edit::Priority { new, .. }, Edit::Priority { new: value, .. }) => *new = *value,
            (Edit::ConstraintValue { new, .. }, Edit::ConstraintValue { new: value, .. }) => new.clone_from(value),
            (Edit::AddNodes { count, .. }, Edit::AddNodes { count: value, .. }) => *count = *value,
            _ => {}
        }
        edit
    }
}

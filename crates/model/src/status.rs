//! The closed sets of the HTTP API: statuses, types, triggers and states, as enums.
//!
//! Each enum is a text in JSON and MessagePack. A value that this version does not know, from a newer server or from a
//! client, is kept as it is in `Other`; an empty text is `Unset`.

use crate::text_enum::text_enum;

pub use crate::text_enum::UnknownValue;

text_enum! {
    /// The type of a job, and of the scheduler that its evaluations need.
    JobType {
        /// Runs until it is stopped.
        Service = "service",
        /// Runs until it completes.
        Batch = "batch",
        /// Runs on every feasible node until it is stopped.
        System = "system",
        /// Runs on every feasible node until it completes.
        Sysbatch = "sysbatch",
        /// Not a job: garbage collection and other work of the leader.
        Core = "_core",
    }
}

text_enum! {
    /// The status of a job, which follows from its allocations and evaluations (`docs/spec/server.md §11`).
    JobStatus {
        /// It has no allocation that runs yet.
        Pending = "pending",
        /// It has allocations that run, or launches jobs.
        Running = "running",
        /// It was stopped, or all of its work ended.
        Dead = "dead",
    }
}

text_enum! {
    /// The status of an evaluation (`docs/spec/reconciliation.md §2.1`).
    EvalStatus {
        /// It waits for a worker, or is processed.
        Pending = "pending",
        /// It waits for capacity.
        Blocked = "blocked",
        /// It was processed.
        Complete = "complete",
        /// It could not be processed.
        Failed = "failed",
        /// Another evaluation made it redundant.
        Canceled = "canceled",
    }
}

text_enum! {
    /// The reason for an evaluation (`docs/spec/reconciliation.md §2.2`).
    EvalTrigger {
        /// A job was registered, evaluated by request, dispatched or reverted.
        JobRegister = "job-register",
        /// A job was stopped or purged.
        JobDeregister = "job-deregister",
        /// A periodic job launched a child.
        PeriodicJob = "periodic-job",
        /// A drain migrates allocations.
        NodeDrain = "node-drain",
        /// The status, the eligibility or the attributes of a node changed.
        NodeUpdate = "node-update",
        /// An allocation was stopped by request.
        AllocStop = "alloc-stop",
        /// The interval of a core job elapsed.
        Scheduled = "scheduled",
        /// A batch of a rolling update ended; no longer created.
        RollingUpdate = "rolling-update",
        /// The health, the promotion or the status of a deployment changed.
        DeploymentWatcher = "deployment-watcher",
        /// An evaluation failed before.
        FailedFollowUp = "failed-follow-up",
        /// Too many plans of an evaluation were rejected.
        MaxPlanAttempts = "max-plan-attempts",
        /// An allocation failed.
        AllocFailure = "alloc-failure",
        /// The delay of a reschedule elapsed.
        AllocReschedule = "alloc-reschedule",
        /// Allocations are unplaced.
        QueuedAllocs = "queued-allocs",
        /// Allocations of the job were preempted.
        Preemption = "preemption",
        /// The count of a group was scaled.
        JobScaling = "job-scaling",
        /// The time that a disconnected client may be away elapsed.
        MaxDisconnectTimeout = "max-disconnect-timeout",
        /// A disconnected client reconnected.
        Reconnect = "reconnect",
    }
}

text_enum! {
    /// The status that the servers want an allocation to have.
    DesiredStatus {
        /// Run.
        Run = "run",
        /// Stop.
        Stop = "stop",
        /// Stop, as the allocation was preempted.
        Evict = "evict",
    }
}

text_enum! {
    /// The status of an allocation on its node.
    ClientStatus {
        /// It has not started yet.
        Pending = "pending",
        /// It runs.
        Running = "running",
        /// It ended successfully.
        Complete = "complete",
        /// It ended with a failure.
        Failed = "failed",
        /// Its node went down.
        Lost = "lost",
        /// Its node is disconnected.
        Unknown = "unknown",
    }
}

text_enum! {
    /// The status of a deployment (`docs/spec/reconciliation.md §2.6`).
    DeploymentStatus {
        /// The rollout goes on.
        Running = "running",
        /// The rollout was paused by request.
        Paused = "paused",
        /// The rollout failed.
        Failed = "failed",
        /// All allocations became healthy.
        Successful = "successful",
        /// The job was stopped, or a newer version is rolled out.
        Cancelled = "cancelled",
        /// A multi-region deployment is created.
        Initializing = "initializing",
        /// A multi-region deployment waits for its turn.
        Pending = "pending",
        /// A multi-region deployment waits for other regions.
        Blocked = "blocked",
        /// A multi-region deployment is unblocked.
        Unblocking = "unblocking",
    }
}

text_enum! {
    /// The status of a node.
    NodeStatus {
        /// It has registered, but is not ready yet.
        Initializing = "initializing",
        /// Allocations can run on it.
        Ready = "ready",
        /// It missed its heartbeat, or left.
        Down = "down",
        /// It missed its heartbeat, and has allocations that may go on without it.
        Disconnected = "disconnected",
    }
}

text_enum! {
    /// Whether new allocations can be placed on a node.
    NodeEligibility {
        /// New allocations can be placed.
        Eligible = "eligible",
        /// Nothing new is placed.
        Ineligible = "ineligible",
    }
}

text_enum! {
    /// The progress of the last drain of a node.
    DrainStatus {
        /// Allocations still have to leave the node.
        Draining = "draining",
        /// All allocations that had to leave have left.
        Complete = "complete",
        /// The drain was canceled by request.
        Canceled = "canceled",
    }
}

text_enum! {
    /// What a scaling policy scales.
    ScalingPolicyType {
        /// The count of a group.
        Horizontal = "horizontal",
        /// The CPU of a task.
        VerticalCpu = "vertical_cpu",
        /// The memory of a task.
        VerticalMem = "vertical_mem",
    }
}

text_enum! {
    /// The status of a task of an allocation.
    TaskStatus {
        /// It has not started yet.
        Pending = "pending",
        /// It runs.
        Running = "running",
        /// It ended and is not started again.
        Dead = "dead",
    }
}

text_enum! {
    /// When a task with a lifecycle runs, relative to the main tasks.
    LifecycleHook {
        /// Before the main tasks.
        Prestart = "prestart",
        /// Once the main tasks run.
        Poststart = "poststart",
        /// After the main tasks ended.
        Poststop = "poststop",
    }
}

text_enum! {
    /// The state of a root key of the keyring (`docs/spec/server.md`).
    RootKeyState {
        /// It encrypts and signs.
        Active = "active",
        /// It still decrypts and verifies.
        Inactive = "inactive",
        /// What it encrypted is being encrypted with another key.
        Rekeying = "rekeying",
        /// It will become active at its publish time.
        Prepublished = "prepublished",
        /// It is no longer used.
        Deprecated = "deprecated",
    }
}

text_enum! {
    /// How the scheduler ranks nodes.
    SchedulerAlgorithm {
        /// Prefers nodes that are used more.
        Binpack = "binpack",
        /// Prefers nodes that are used less.
        Spread = "spread",
    }
}

text_enum! {
    /// The state of a dynamic host volume.
    HostVolumeState {
        /// Its node has not reported it yet.
        Pending = "pending",
        /// Its node has it.
        Ready = "ready",
        /// Its node had it, and does not report it any more.
        Unavailable = "unavailable",
        /// It is being deleted on its node.
        Deleted = "deleted",
    }
}

text_enum! {
    /// The type of an ACL token (`docs/spec/http-api.md §7.6`).
    AclTokenType {
        /// May do what its policies and roles allow.
        Client = "client",
        /// May do everything.
        Management = "management",
    }
}

text_enum! {
    /// The type of an auth method (`docs/spec/http-api.md §7.9`).
    AuthMethodType {
        /// A signed token proves who somebody is.
        Jwt = "JWT",
        /// A login at an OpenID Connect provider does.
        Oidc = "OIDC",
    }
}

text_enum! {
    /// Where the tokens of an auth method are valid.
    TokenLocality {
        /// In one region.
        Local = "local",
        /// In all regions.
        Global = "global",
    }
}

text_enum! {
    /// What a binding rule gives.
    BindType {
        /// A role.
        Role = "role",
        /// A policy.
        Policy = "policy",
        /// A management token.
        Management = "management",
    }
}

text_enum! {
    /// How an entry of a job diff differs between the two sides (`docs/spec/jobspec.md §17`).
    DiffType {
        /// Only the new side has it.
        Added = "Added",
        /// Only the old side has it.
        Deleted = "Deleted",
        /// Both sides have it, and differ.
        Edited = "Edited",
        /// Both sides have the same.
        None = "None",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_have_one_representation() {
        assert!(matches!(ClientStatus::from("running"), ClientStatus::Running));
        assert_eq!(
            JobType::ALL.iter().map(JobType::as_str).collect::<Vec<_>>().join(" "),
            "service batch system sysbatch _core"
        );
        assert!(JobType::ALL.iter().all(|t| JobType::from(t.as_str()) == *t && t.is_known()));
        assert!(EvalStatus::default().is_unset());
        assert_ne!(EvalStatus::from("canceled"), EvalStatus::from("cancelled"));
    }

    #[test]
    fn unknown_values_survive_json_and_messagepack() {
        let newer: NodeStatus = serde_json::from_str("\"hibernating\"").expect("a status");
        assert_eq!((newer.as_str(), newer.is_known()), ("hibernating", false));
        assert_eq!(serde_json::to_string(&newer).expect("JSON"), "\"hibernating\"");
        assert_eq!(newer, NodeStatus::from("hibernating"));
        let wrong = serde_json::from_str::<NodeStatus>("7").expect_err("a number").to_string();
        assert!(wrong.starts_with("invalid type: integer `7`, expected a string"), "{wrong}");
    }

    #[test]
    fn values_are_ordered_and_shown_as_their_texts() {
        let mut statuses = vec![ClientStatus::Running, ClientStatus::from("odd"), ClientStatus::Complete];
        statuses.sort();
        assert_eq!(format!("{statuses:?}"), r#"["complete", "odd", "running"]"#);
        assert_eq!(format!("{:>8}|{:<8}|", ClientStatus::Lost, ClientStatus::Lost), "    lost|lost    |");
    }
}

//! The operations of the replicated log (`docs/spec/server.md §18`): requests in which the leader has already made
//! every clock reading, random choice and new ID, so that each server applies them alike. [`codec`]: their encoding.
//! [`Refusal`]: the reasons why the state machine refuses one.
//!
//! **May use** `encamp_model`. **Never** holds the effects of operations: they are in `encamp_server`.

#![warn(missing_docs)]

mod acl;
pub mod codec;
mod eval_ids;
mod refusal;

pub use acl::AclChange;
pub use eval_ids::EvalIds;
pub use refusal::Refusal;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use encamp_model::capability::{Capability, CapabilityLevel};
use encamp_model::*;

/// The type of events about evaluations that were written for their own sake.
pub const EVALUATION_UPDATED: &str = "EvaluationUpdated";

/// One entry of the replicated log: an operation with its request. Times are Unix nanoseconds unless stated.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Operation {
    /// Changes nothing: proves that all earlier entries are applied.
    Barrier,
    /// A node registers, or changes what it says of itself.
    NodeRegister(Box<NodeRegister>),
    /// Nodes are removed.
    NodeDeregister {
        /// Node IDs.
        ids: Vec<String>,
    },
    /// A node's status.
    NodeStatus(NodeStatusChange),
    /// Drain strategies are set or removed.
    NodeDrain(NodeDrain),
    /// A node's eligibility.
    NodeEligibility {
        /// The node.
        id: String,
        /// The new eligibility.
        eligibility: NodeEligibility,
        /// Shown in the node's events.
        event: Option<NodeEvent>,
        /// Now.
        updated_at: i64,
    },
    /// The identity of a node is revoked: its secret and everything signed for it are refused, and it is down.
    NodeRevoke(NodeRevoke),
    /// Several nodes get another status; those that are gone are passed over.
    NodeStatusBatch {
        /// One per node.
        statuses: Vec<NodeStatusChange>,
    },
    /// One of the changes above with the evaluations that follow from it; answered by [`Reply::Evaluations`].
    NodeChange(Box<NodeChange>),
    /// Events clients report about themselves, by node.
    NodeEvents {
        /// Node ID and its new events.
        events: BTreeMap<String, Vec<NodeEvent>>,
    },
    /// Pools are written.
    NodePoolUpsert {
        /// Whole records.
        pools: Vec<NodePool>,
    },
    /// Pools are removed.
    NodePoolDelete {
        /// Names.
        names: Vec<String>,
    },
    /// Namespaces are written.
    NamespaceUpsert {
        /// Whole records.
        namespaces: Vec<Namespace>,
    },
    /// Namespaces are removed.
    NamespaceDelete {
        /// Names.
        names: Vec<String>,
    },
    /// A job is registered.
    JobRegister(Box<JobRegister>),
    /// A job is stopped or purged.
    JobDeregister(Box<JobDeregister>),
    /// Jobs are purged by garbage collection, without evaluations.
    JobBatchDeregister {
        /// The jobs.
        jobs: Vec<JobKey>,
    },
    /// A version of a job is called stable or not.
    JobStability {
        /// The job.
        job: JobKey,
        /// Which version.
        version: u64,
        /// Stable or not.
        stable: bool,
    },
    /// A tag is put on a version of a job, or taken off.
    JobVersionTag {
        /// The job.
        job: JobKey,
        /// The tag's name.
        name: String,
        /// The tag and its version; none takes the tag of that name off.
        tag: Option<(u64, JobVersionTag)>,
    },
    /// Evaluations are written.
    EvalUpdate {
        /// Whole records.
        evals: Vec<Evaluation>,
    },
    /// Evaluations are cancelled because newer ones of their jobs were processed. Those that have ended or are gone are
    /// passed over.
    EvalCancel {
        /// Their IDs.
        evals: EvalIds,
        /// Now.
        now: i64,
    },
    /// Evaluations and allocations are removed.
    EvalDelete {
        /// Evaluation IDs.
        evals: Vec<String>,
        /// Allocation IDs.
        allocs: Vec<String>,
    },
    /// Clients report on allocations.
    AllocClientUpdate {
        /// Records whose client-owned fields count.
        allocs: Vec<Arc<Allocation>>,
        /// Evaluations that follow.
        evals: Vec<Evaluation>,
        /// Now.
        now: i64,
    },
    /// Marks allocations to migrate, reschedule or stop.
    AllocTransition {
        /// By allocation ID; flags that are set win, others stay.
        transitions: BTreeMap<String, DesiredTransition>,
        /// Evaluations that follow.
        evals: Vec<Evaluation>,
    },
    /// The accepted part of a plan.
    PlanResults(Box<PlanResults>),
    /// A deployment's status, with what follows.
    DeploymentStatus(Box<DeploymentStatusChange>),
    /// Canaries are promoted.
    DeploymentPromotion(Box<DeploymentPromotion>),
    /// The health of a deployment's allocations is set by hand.
    DeploymentAllocHealth(Box<DeploymentAllocHealth>),
    /// Deployments are removed.
    DeploymentDelete {
        /// Deployment IDs.
        ids: Vec<String>,
    },
    /// All summaries are recounted.
    ReconcileSummaries {
        /// Namespace, job ID, group: how many placements are queued.
        queued: Vec<(String, String, String, i64)>,
    },
    /// Something was scaled, or failed to be.
    ScalingEvent {
        /// The job.
        job: JobKey,
        /// The group.
        group: String,
        /// The event.
        event: ScalingEvent,
    },
    /// The scheduler configuration.
    SchedulerConfig {
        /// The new one.
        config: SchedulerConfiguration,
        /// Write only if the stored one has this ModifyIndex.
        cas: Option<u64>,
    },
    /// The autopilot configuration.
    Autopilot {
        /// The new one.
        config: AutopilotConfiguration,
        /// Write only if the stored one has this ModifyIndex.
        cas: Option<u64>,
    },
    /// The identity of the cluster: written once.
    ClusterMetadata(ClusterMetadata),
    /// Services are registered.
    ServiceUpsert {
        /// Whole records.
        services: Vec<ServiceRegistration>,
    },
    /// A registration is removed.
    ServiceDelete {
        /// Namespace and registration ID.
        id: (String, String),
    },
    /// All registrations of a node are removed.
    ServiceDeleteByNode {
        /// The node.
        node_id: String,
    },
    /// A root key is written, or changes its state.
    RootKeyUpsert {
        /// The whole record. An active one makes the key that was active inactive.
        key: Arc<WrappedRootKey>,
        /// Data that was encrypted with the older keys is to be rewritten: these keys become rekeying instead.
        rekey: bool,
    },
    /// A root key is removed.
    RootKeyDelete {
        /// Its ID.
        id: String,
        /// Even if variables are encrypted with it.
        force: bool,
    },
    /// A host volume is written.
    HostVolumeRegister {
        /// The whole record.
        volume: Arc<HostVolume>,
    },
    /// A host volume is removed.
    HostVolumeDelete {
        /// Its ID.
        id: String,
    },
    /// The claim of a task group on a host volume is removed.
    HostVolumeClaimDelete {
        /// Its ID.
        id: String,
    },
    /// CSI volumes are registered, or registered again with other settings; all or none.
    CsiVolumeRegister {
        /// Whole records; what the state machine owns (claims, indexes, the health of the plugin) does not count.
        volumes: Vec<Arc<CsiVolume>>,
        /// Now.
        now: i64,
    },
    /// A CSI volume is removed from the state; the storage provider keeps it.
    CsiVolumeDeregister {
        /// Namespace and ID.
        volume: (String, String),
        /// Even if its remaining claims are those of allocations that have ended.
        force: bool,
    },
    /// A claim on a CSI volume is taken, or its release goes on.
    CsiVolumeClaim(Box<CsiClaimChange>),
    /// An empty CSI plugin is removed.
    CsiPluginDelete {
        /// Its ID.
        id: String,
    },
    /// Everything is replaced by what a snapshot holds; indexes in it are older than this entry's.
    Restore {
        /// As `encamp_server::storage::store::Store::write_snapshot` wrote it.
        state: Bytes,
    },
    /// A variable is written, removed, locked or released.
    Variable(Box<VariableWrite>),
    /// ACL objects are written or removed.
    Acl(Box<AclChange>),
    /// All servers support a higher capability level: the cluster uses it from now on, and never a lower one again.
    CapabilityLevel {
        /// The level.
        level: CapabilityLevel,
    },
}

/// See [`Operation::CsiVolumeClaim`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CsiClaimChange {
    /// Namespace and ID of the volume.
    pub volume: (String, String),
    /// The claim with its new state. One with mode 2 (collection) names no allocation: the watcher of the volume looks
    /// for claims to release.
    pub claim: CsiVolumeClaim,
    /// Now.
    pub now: i64,
}

/// See [`Operation::NodeRegister`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeRegister {
    /// The node.
    pub node: Node,
    /// Make the node's pool if it is missing.
    pub create_pool: bool,
    /// Now.
    pub now: i64,
}

/// See [`Operation::NodeChange`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeChange {
    /// The changes.
    pub change: Operation,
    /// Decides the IDs of the evaluations.
    pub seed: u64,
    /// When the evaluations were made.
    pub now: i64,
}

/// See [`Operation::NodeStatus`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeStatusChange {
    /// The node.
    pub id: String,
    /// Its new status.
    pub status: NodeStatus,
    /// Shown in the node's events.
    pub event: Option<NodeEvent>,
    /// The key that signed its new identity; empty: the identity is the old one.
    #[serde(default)]
    pub identity_key_id: String,
    /// Now.
    pub updated_at: i64,
}

/// See [`Operation::NodeDrain`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeDrain {
    /// By node ID.
    pub nodes: BTreeMap<String, DrainUpdate>,
    /// Shown in the nodes' events, by node ID.
    pub events: BTreeMap<String, NodeEvent>,
    /// Now.
    pub updated_at: i64,
}

/// A change of one node's drain.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DrainUpdate {
    /// The new strategy; none ends the drain.
    pub strategy: Option<DrainStrategy>,
    /// Without a strategy: the node takes allocations again.
    pub mark_eligible: bool,
    /// The drain ends because it is done.
    pub complete: bool,
    /// The operator's metadata of the drain.
    pub meta: BTreeMap<String, String>,
    /// The requester.
    pub accessor_id: String,
}

/// See [`Operation::JobRegister`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobRegister {
    /// The job as admitted. Indexes and version are the state machine's.
    pub job: Arc<Job>,
    /// The evaluation that goes with it.
    pub eval: Option<Evaluation>,
    /// The text it was made from.
    pub submission: Option<JobSubmission>,
    /// Refuse unless the stored job has this JobModifyIndex; 0: unless there is none.
    pub enforce_index: Option<u64>,
    /// Now.
    pub now: i64,
}

/// See [`Operation::JobDeregister`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobDeregister {
    /// The job.
    pub job: JobKey,
    /// Remove every trace instead of stopping.
    pub purge: bool,
    /// The job's allocations stop without their shutdown delay.
    pub no_shutdown_delay: bool,
    /// The evaluation that goes with it.
    pub eval: Option<Evaluation>,
    /// When it was asked.
    pub submit_time: i64,
}

/// A stop the scheduler planned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedStop {
    /// The allocation.
    pub id: String,
    /// Why.
    pub desired_description: String,
    /// Its client status, if the plan decides it (lost).
    pub client_status: ClientStatus,
    /// The evaluation that follows up, if any.
    pub followup_eval_id: String,
}

/// See [`Operation::PlanResults`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PlanResults {
    /// The evaluation the plan was made for.
    pub eval_id: String,
    /// The job of the placements that carry none.
    pub job: Option<Arc<Job>>,
    /// Allocations to stop.
    pub stops: Vec<PlannedStop>,
    /// Allocations evicted, and the allocation each makes room for.
    pub victims: Vec<(String, String)>,
    /// New and changed allocations.
    pub placements: Vec<Arc<Allocation>>,
    /// The key that signs the identities of those that have none yet.
    #[serde(default)]
    pub signing_key_id: String,
    /// The deployment, new or changed.
    pub deployment: Option<Deployment>,
    /// Status changes of deployments, in order.
    pub deployment_updates: Vec<DeploymentStatusUpdate>,
    /// Nodes that rejected too many plans, with the event to show.
    pub ineligible_nodes: Vec<(String, NodeEvent)>,
    /// One evaluation per job that lost allocations.
    pub preemption_evals: Vec<Evaluation>,
    /// Now.
    pub now: i64,
}

/// See [`Operation::DeploymentStatus`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeploymentStatusChange {
    /// The change.
    pub update: DeploymentStatusUpdate,
    /// The job version to go back to.
    pub job: Option<Arc<Job>>,
    /// The evaluation that follows.
    pub eval: Option<Evaluation>,
    /// Now.
    pub now: i64,
}

/// See [`Operation::NodeRevoke`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeRevoke {
    /// The node.
    pub id: String,
    /// Shown in the node's events.
    pub event: NodeEvent,
    /// Now.
    pub revoked_at: i64,
}

/// See [`Operation::DeploymentPromotion`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeploymentPromotion {
    /// The deployment.
    pub id: String,
    /// The groups; none: all.
    pub groups: Option<Vec<String>>,
    /// The evaluation that follows.
    pub eval: Option<Evaluation>,
    /// Now.
    pub now: i64,
}

/// See [`Operation::DeploymentAllocHealth`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeploymentAllocHealth {
    /// The deployment.
    pub id: String,
    /// Allocations that are healthy.
    pub healthy: Vec<String>,
    /// Allocations that are not.
    pub unhealthy: Vec<String>,
    /// The deployment's status, if it changes.
    pub update: Option<DeploymentStatusUpdate>,
    /// The job version to go back to.
    pub job: Option<Arc<Job>>,
    /// The evaluation that follows.
    pub eval: Option<Evaluation>,
    /// Now.
    pub now: i64,
}

/// See [`Operation::Variable`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VariableWrite {
    /// Namespace and path.
    pub key: (String, String),
    /// The change.
    pub change: VariableChange,
    /// Only if the stored one has this ModifyIndex; 0: only if there is none.
    pub cas: Option<u64>,
    /// The lock that the caller holds, or asks for; empty: none.
    pub lock_id: String,
    /// Now.
    pub now: i64,
}

/// A write to a variable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum VariableChange {
    /// It gets other items.
    Set(Sealed),
    /// It is removed.
    Delete,
    /// It gets other items and is locked.
    Acquire(Sealed, VariableLock),
    /// Releases the lock.
    Release,
}

/// Items of a variable, encrypted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sealed {
    /// The key that encrypts them.
    pub key_id: String,
    /// The encrypted items.
    pub data: Bytes,
}

/// The outcome of a write to a variable (`docs/spec/http-api.md §8.3, §8.4`).
#[derive(Debug, Clone, PartialEq)]
pub enum VariableReply {
    /// Done. The variable as it is now; none: it is gone.
    Written(Option<Arc<VariableEncrypted>>),
    /// It has another ModifyIndex than it should: as it is, none if there is none.
    Conflict(Option<Arc<VariableEncrypted>>),
    /// Another client holds its lock, or the caller holds it no longer.
    Locked,
    /// There is no lock to give back.
    NotLocked,
    /// There is no such variable to release.
    Missing,
}

/// The reply to the caller of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Done.
    Done,
    /// A compare-and-set: whether it was written.
    Written(bool),
    /// The dispatched job that has the idempotency token already: its ID and CreateIndex.
    Dispatched {
        /// The child.
        job_id: String,
        /// Its CreateIndex.
        create_index: u64,
    },
    /// Done; the IDs of the evaluations that were made.
    Evaluations(Vec<String>),
    /// The result of a write to a variable.
    Variable(VariableReply),
    /// Refused; nothing was changed.
    Refused(Refusal),
}

impl Operation {
    /// The name of the operation in metrics (`docs/spec/server.md §24`).
    pub fn metric(&self) -> &'static str {
        match self {
            Operation::Barrier => "barrier",
            Operation::NodeRegister(_) => "register_node",
            Operation::NodeDeregister { .. } => "batch_deregister_node",
            Operation::NodeStatus(_) | Operation::NodeStatusBatch { .. } => "node_status_update",
            Operation::NodeRevoke(_) => "node_identity_revoke",
            Operation::NodeDrain(_) => "batch_node_drain_update",
            Operation::NodeEligibility { .. } => "node_eligibility_update",
            Operation::NodeChange(c) => c.change.metric(),
            Operation::NodeEvents { .. } => "upsert_node_events",
            Operation::NodePoolUpsert { .. } => "apply_node_pool_upsert",
            Operation::NodePoolDelete { .. } => "apply_node_pool_delete",
            Operation::NamespaceUpsert { .. } => "apply_namespace_upsert",
            Operation::NamespaceDelete { .. } => "apply_namespace_delete",
            Operation::JobRegister(_) => "register_job",
            Operation::JobDeregister(_) => "deregister_job",
            Operation::JobBatchDeregister { .. } => "batch_deregister_job",
            Operation::JobStability { .. } => "apply_job_stability",
            Operation::JobVersionTag { .. } => "apply_job_version_tag",
            Operation::EvalUpdate { .. } | Operation::EvalCancel { .. } => "update_eval",
            Operation::EvalDelete { .. } => "delete_eval",
            Operation::AllocClientUpdate { .. } => "alloc_client_update",
            Operation::AllocTransition { .. } => "alloc_update_desired_transition",
            Operation::PlanResults(_) => "apply_plan_results",
            Operation::DeploymentStatus(_) => "apply_deployment_status_update",
            Operation::DeploymentPromotion(_) => "apply_deployment_promotion",
            Operation::DeploymentAllocHealth(_) => "apply_deployment_alloc_health",
            Operation::DeploymentDelete { .. } => "apply_deployment_delete",
            Operation::ReconcileSummaries { .. } => "reconcile_summaries",
            Operation::ScalingEvent { .. } => "upsert_scaling_event",
            Operation::SchedulerConfig { .. } => "apply_scheduler_config",
            Operation::Autopilot { .. } => "autopilot",
            Operation::ClusterMetadata(_) => "cluster_meta",
            Operation::ServiceUpsert { .. } => "apply_service_registration_upsert",
            Operation::ServiceDelete { .. } => "apply_service_registration_delete_id",
            Operation::ServiceDeleteByNode { .. } => "apply_service_registration_delete_node_id",
            Operation::RootKeyUpsert { .. } => "apply_wrapped_root_key_upsert",
            Operation::RootKeyDelete { .. } => "apply_wrapped_root_key_delete",
            Operation::HostVolumeRegister { .. } => "apply_host_volume_register",
            Operation::HostVolumeDelete { .. } => "apply_host_volume_delete",
            Operation::HostVolumeClaimDelete { .. } => "apply_task_group_host_volume_claim_delete",
            Operation::CsiVolumeRegister { .. } => "apply_csi_volume_register",
            Operation::CsiVolumeDeregister { .. } => "apply_csi_volume_deregister",
            Operation::CsiVolumeClaim(_) => "apply_csi_volume_claim",
            Operation::CsiPluginDelete { .. } => "apply_csi_plugin_delete",
            Operation::Restore { .. } => "restore",
            Operation::Variable(_) => "apply_sv_operation",
            Operation::Acl(change) => change.metric(),
            Operation::CapabilityLevel { .. } => "apply_capability_level",
        }
    }

    /// What a server has to support to read the operation; none: every build reads it.
    pub fn capability(&self) -> Option<Capability> {
        match self {
            Operation::CapabilityLevel { .. } => Some(Capability::StoredLevel),
            Operation::NodeChange(c) => c.change.capability(),
            _ => None,
        }
    }

    /// The type of the events the operation makes, none if it makes no events (`docs/spec/server.md §18`).
    pub fn event_type(&self) -> Option<&'static str> {
        Some(match self {
            Operation::NodeRegister(_) => "NodeRegistration",
            Operation::NodeStatus(_)
            | Operation::NodeStatusBatch { .. }
            | Operation::NodeRevoke(_)
            | Operation::NodeEvents { .. } => "NodeStreamEvent",
            Operation::NodeDrain(_) => "NodeDrain",
            Operation::NodeEligibility { .. } => "NodeEligibility",
            Operation::NodeChange(c) => c.change.event_type().unwrap_or(EVALUATION_UPDATED),
            Operation::NodePoolUpsert { .. } => "NodePoolUpserted",
            Operation::NodePoolDelete { .. } => "NodePoolDeleted",
            Operation::JobRegister(_) => "JobRegistered",
            Operation::JobDeregister(_) => "JobDeregistered",
            Operation::JobBatchDeregister { .. } => "JobBatchDeregistered",
            Operation::EvalUpdate { .. } | Operation::EvalCancel { .. } => EVALUATION_UPDATED,
            Operation::AllocClientUpdate { .. } => "AllocationUpdated",
            Operation::AllocTransition { .. } => "AllocationUpdateDesiredStatus",
            Operation::PlanResults(_) => "PlanResult",
            Operation::DeploymentStatus(_) => "DeploymentStatusUpdate",
            Operation::DeploymentPromotion(_) => "DeploymentPromotion",
            Operation::DeploymentAllocHealth(_) => "DeploymentAllocHealth",
            Operation::ServiceUpsert { .. } => "ServiceRegistration",
            Operation::ServiceDelete { .. } | Operation::ServiceDeleteByNode { .. } => "ServiceDeregistration",
            Operation::Variable(_) => "VariableUpdated",
            Operation::Acl(change) => return change.event_type(),
            Operation::HostVolumeRegister { .. } => "HostVolumeRegistered",
            Operation::HostVolumeDelete { .. } => "HostVolumeDeleted",
            Operation::CsiVolumeRegister { .. } => "CSIVolumeRegistered",
            Operation::CsiVolumeDeregister { .. } => "CSIVolumeDeregistered",
            Operation::CsiVolumeClaim(_) => "CSIVolumeClaim",
            Operation::Barrier
            | Operation::CapabilityLevel { .. }
            | Operation::NodeDeregister { .. }
            | Operation::HostVolumeClaimDelete { .. }
            | Operation::CsiPluginDelete { .. }
            | Operation::NamespaceUpsert { .. }
            | Operation::NamespaceDelete { .. }
            | Operation::JobStability { .. }
            | Operation::JobVersionTag { .. }
            | Operation::EvalDelete { .. }
            | Operation::DeploymentDelete { .. }
            | Operation::ReconcileSummaries { .. }
            | Operation::ScalingEvent { .. }
            | Operation::SchedulerConfig { .. }
            | Operation::Autopilot { .. }
            | Operation::ClusterMetadata(_)
            | Operation::RootKeyUpsert { .. }
            | Operation::RootKeyDelete { .. }
            | Operation::Restore { .. } => return None,
        })
    }
}

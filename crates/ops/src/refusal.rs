//! The reasons why the state machine refuses operations.

use encamp_model::DeploymentStatus;

/// Why an operation was refused. Clients are answered with its text. The texts of registrations, tags, deployments,
/// nodes, volumes and keys are those of the API (`docs/spec/http-api.md §5`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The state is that of a file.
    #[error("the state is read-only: it is that of a snapshot file")]
    Frozen,
    /// Built-in node pools cannot be changed.
    #[error("modifying node pool {name:?} is not allowed")]
    PoolChange {
        /// The pool.
        name: String,
    },
    /// Built-in node pools cannot be removed.
    #[error("deleting node pool {name:?} is not allowed")]
    PoolDeletion {
        /// The pool.
        name: String,
    },
    /// The node pool does not exist.
    #[error("node pool {name} not found")]
    PoolNotFound {
        /// The pool.
        name: String,
    },
    /// The default namespace cannot be removed.
    #[error("can not delete default namespace")]
    DefaultNamespace,
    /// The namespace does not exist.
    #[error("namespace not found")]
    NamespaceNotFound,
    /// The namespace that is to be removed has jobs that are not dead.
    #[error("namespace {name:?} contains at least one non-terminal job")]
    NamespaceHasJobs {
        /// The namespace.
        name: String,
    },
    /// The namespace that is to be removed has variables.
    #[error("namespace {name:?} contains at least one variable")]
    NamespaceHasVariables {
        /// The namespace.
        name: String,
    },
    /// The service registration does not exist.
    #[error("service registration not found")]
    ServiceNotFound,
    /// The deployment whose status is to be set does not exist.
    #[error("Deployment ID {id:?} couldn't be updated as it does not exist")]
    DeploymentGone {
        /// The deployment.
        id: String,
    },
    /// The deployment whose status is to be set has ended.
    #[error("Deployment {id:?} has terminal status {status:?}:")]
    DeploymentEnded {
        /// The deployment.
        id: String,
        /// Its status.
        status: DeploymentStatus,
    },
    /// The deployment that is to be promoted does not exist.
    #[error("deployment not found")]
    DeploymentNotFound,
    /// The deployment that is to be promoted has ended.
    #[error("deployment {id:?} has terminal status {status:?}:")]
    PromotionTooLate {
        /// The deployment.
        id: String,
        /// Its status.
        status: DeploymentStatus,
    },
    /// Groups that are to be promoted have too few healthy canaries: the list of them.
    #[error("{0}")]
    UnhealthyCanaries(String),
    /// A plan would undo the promotion of a deployment.
    #[error("deployment promotion cannot be undone")]
    PromotionUndone,
    /// The allocation whose health is to be set does not exist.
    #[error("unknown alloc {id:?}")]
    UnknownAlloc {
        /// The allocation.
        id: String,
    },
    /// The allocation whose health is to be set belongs to another deployment.
    #[error("alloc {id:?} is not part of deployment {deployment:?}")]
    AllocOfOtherDeployment {
        /// The allocation.
        id: String,
        /// The deployment of the request.
        deployment: String,
    },
    /// The stored job does not have the JobModifyIndex of the request: the text that names both.
    #[error("{0}")]
    ModifyIndex(String),
    /// The namespace of a job does not exist.
    #[error("job {job:?} is in nonexistent namespace {namespace:?}")]
    JobNamespaceNotFound {
        /// The job.
        job: String,
        /// The namespace.
        namespace: String,
    },
    /// The node pool of a job does not exist.
    #[error("job {job:?} is in nonexistent node pool {pool:?}")]
    JobPoolNotFound {
        /// The job.
        job: String,
        /// The pool.
        pool: String,
    },
    /// The job does not exist.
    #[error("job not found")]
    JobNotFound,
    /// The version of a job does not exist.
    #[error("job {job:?} version {version} not found")]
    JobVersionNotFound {
        /// The job.
        job: String,
        /// The version.
        version: u64,
    },
    /// Another version of the job has the tag.
    #[error("tag {tag:?} already exists on a different version of job {job:?}")]
    TagTaken {
        /// The tag.
        tag: String,
        /// The job.
        job: String,
    },
    /// No version of the job has the tag.
    #[error("tag {tag:?} not found on job {job:?}")]
    TagNotFound {
        /// The tag.
        tag: String,
        /// The job.
        job: String,
    },
    /// Access control was bootstrapped before.
    #[error("ACL bootstrap already done (reset index: {index})")]
    BootstrapDone {
        /// The index of the bootstrap; who knows it may reset it.
        index: u64,
    },
    /// Another token has the secret.
    #[error("another token has this secret")]
    SecretTaken,
    /// The token does not exist.
    #[error("Cannot delete nonexistent tokens: {accessor}")]
    TokenNotFound {
        /// The accessor.
        accessor: String,
    },
    /// The role does not exist.
    #[error("cannot find role {role}")]
    RoleNotFound {
        /// Its ID.
        role: String,
    },
    /// Another role has the name.
    #[error("role with name {name} already exists")]
    RoleNameTaken {
        /// The name.
        name: String,
    },
    /// The policy does not exist.
    #[error("cannot find policy {name}")]
    PolicyNotFound {
        /// The name.
        name: String,
    },
    /// The auth method does not exist.
    #[error("ACL auth method {name} not found")]
    AuthMethodNotFound {
        /// The name.
        name: String,
    },
    /// Another auth method of the type is the default.
    #[error("default method for type {kind} already exists: {name}")]
    DefaultMethodTaken {
        /// The type.
        kind: String,
        /// The method that is the default.
        name: String,
    },
    /// The binding rule does not exist.
    #[error("ACL binding rule {id} not found")]
    BindingRuleNotFound {
        /// Its ID.
        id: String,
    },
    /// The one-time token was exchanged already, or has expired.
    #[error("Permission denied")]
    OneTimeTokenGone,
    /// Only a key that becomes active can replace the keys before it.
    #[error("cannot rekey without setting the new key active")]
    RekeyInactive,
    /// Variables are encrypted with the root key that is to be removed.
    #[error("root key in use, cannot delete")]
    KeyInUse,
    /// The root key does not exist.
    #[error("root key not found")]
    KeyNotFound,
    /// The node does not exist.
    #[error("node not found")]
    NodeNotFound,
    /// A draining node cannot be eligible.
    #[error("can not set node's scheduling eligibility to eligible while it is draining")]
    NodeDraining,
    /// The identity of the node was revoked.
    #[error("node identity was revoked")]
    NodeRevoked,
    /// The operation does not change nodes.
    #[error("not a change of nodes")]
    NotANodeChange,
    /// An allocation that a plan stops does not exist.
    #[error("alloc {id} doesn't exist")]
    AllocNotFound {
        /// The allocation.
        id: String,
    },
    /// The evaluation of a plan does not exist.
    #[error("evaluation {id:?} does not exist")]
    EvalNotFound {
        /// The evaluation.
        id: String,
    },
    /// A plan places an allocation without a job.
    #[error("attempting to upsert allocation {id:?} without a job")]
    AllocWithoutJob {
        /// The allocation.
        id: String,
    },
    /// The namespace of a host volume does not exist.
    #[error("host volume {volume:?} is in nonexistent namespace {namespace:?}")]
    VolumeNamespaceNotFound {
        /// The name of the volume.
        volume: String,
        /// The namespace.
        namespace: String,
    },
    /// The node has another host volume of the same name.
    #[error("host volume {name:?} already exists on node {node}: {id}")]
    VolumeExists {
        /// The name of the volume.
        name: String,
        /// The node.
        node: String,
        /// The ID of the other volume.
        id: String,
    },
    /// The host volume does not exist.
    #[error("no such volume: {id}")]
    VolumeNotFound {
        /// The ID of the volume.
        id: String,
    },
    /// The claim on a host volume does not exist.
    #[error("task group volume claim does not exist")]
    VolumeClaimNotFound,
    /// Allocations use the host volume that is to be removed.
    #[error("volume {id} in use by allocations: [{}]", .allocs.join(" "))]
    VolumeInUse {
        /// The ID of the volume.
        id: String,
        /// The IDs of the allocations.
        allocs: Vec<String>,
    },
    /// The namespace of a CSI volume does not exist.
    #[error("volume {volume:?} is in nonexistent namespace {namespace:?}")]
    CsiVolumeNamespaceNotFound {
        /// The volume.
        volume: String,
        /// The namespace.
        namespace: String,
    },
    /// A CSI volume of that ID exists with another plugin or another ID of the storage provider.
    #[error("volume exists: {id}: its plugin and its external ID cannot be changed")]
    CsiVolumeExists {
        /// The volume.
        id: String,
    },
    /// The CSI volume does not exist.
    #[error("volume not found: {id}")]
    CsiVolumeNotFound {
        /// The volume.
        id: String,
    },
    /// Allocations claim the CSI volume.
    #[error("volume in use: {id}")]
    CsiVolumeInUse {
        /// The volume.
        id: String,
    },
    /// The allocation that claims a CSI volume does not exist, has ended, or is another node's.
    #[error("allocation {alloc} does not run on the node")]
    CsiAllocEnded {
        /// The allocation.
        alloc: String,
    },
    /// The CSI volume was not registered for the modes of a claim.
    #[error("volume {id} is not registered for the requested access and attachment")]
    CsiCapability {
        /// The volume.
        id: String,
    },
    /// The claim would break the access mode of the CSI volume, or needs another one than the claims that it has.
    #[error("volume max claims reached: {id}")]
    CsiClaimExhausted {
        /// The volume.
        id: String,
    },
    /// The claim of the allocation is being released.
    #[error("claim of allocation {alloc} on volume {id} is being released")]
    CsiClaimReleasing {
        /// The volume.
        id: String,
        /// The allocation.
        alloc: String,
    },
    /// The mode or state of a claim has a number without a meaning.
    #[error("claim with an unknown mode or state")]
    CsiClaimUnknown,
    /// The CSI plugin does not exist.
    #[error("plugin not found: {id}")]
    CsiPluginNotFound {
        /// The plugin.
        id: String,
    },
    /// Nodes or jobs run the CSI plugin.
    #[error("plugin in use")]
    CsiPluginInUse,
    /// The snapshot that is to replace the state cannot be read: the reason.
    #[error("{0}")]
    Snapshot(String),
}

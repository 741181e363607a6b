//! The reasons why the state machine refuses operations.

use std::error::Error;
use std::fmt;

use encamp_model::DeploymentStatus;

/// Why an operation was refused. Clients are answered with its text. The texts of registrations, tags, deployments,
/// nodes, volumes and keys are those of the API (`docs/spec/http-api.md §5`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Built-in node pools cannot be changed.
    PoolChange {
        /// The pool.
        name: String,
    },
    /// Built-in node pools cannot be removed.
    PoolDeletion {
        /// The pool.
        name: String,
    },
    /// The node pool does not exist.
    PoolNotFound {
        /// The pool.
        name: String,
    },
    /// The default namespace cannot be removed.
    DefaultNamespace,
    /// The namespace does not exist.
    NamespaceNotFound,
    /// The namespace that is to be removed has jobs that are not dead.
    NamespaceHasJobs {
        /// The namespace.
        name: String,
    },
    /// The namespace that is to be removed has variables.
    NamespaceHasVariables {
        /// The namespace.
        name: String,
    },
    /// The service registration does not exist.
    ServiceNotFound,
    /// The deployment whose status is to be set does not exist.
    DeploymentGone {
        /// The deployment.
        id: String,
    },
    /// The deployment whose status is to be set has ended.
    DeploymentEnded {
        /// The deployment.
        id: String,
        /// Its status.
        status: DeploymentStatus,
    },
    /// The deployment that is to be promoted does not exist.
    DeploymentNotFound,
    /// The deployment that is to be promoted has ended.
    PromotionTooLate {
        /// The deployment.
        id: String,
        /// Its status.
        status: DeploymentStatus,
    },
    /// Groups that are to be promoted have too few healthy canaries: the list of them.
    UnhealthyCanaries(String),
    /// A plan would undo the promotion of a deployment.
    PromotionUndone,
    /// The allocation whose health is to be set does not exist.
    UnknownAlloc {
        /// The allocation.
        id: String,
    },
    /// The allocation whose health is to be set belongs to another deployment.
    AllocOfOtherDeployment {
        /// The allocation.
        id: String,
        /// The deployment of the request.
        deployment: String,
    },
    /// The stored job does not have the JobModifyIndex of the request: the text that names both.
    ModifyIndex(String),
    /// The namespace of a job does not exist.
    JobNamespaceNotFound {
        /// The job.
        job: String,
        /// The namespace.
        namespace: String,
    },
    /// The node pool of a job does not exist.
    JobPoolNotFound {
        /// The job.
        job: String,
        /// The pool.
        pool: String,
    },
    /// The job does not exist.
    JobNotFound,
    /// The version of a job does not exist.
    JobVersionNotFound {
        /// The job.
        job: String,
        /// The version.
        version: u64,
    },
    /// Another version of the job has the tag.
    TagTaken {
        /// The tag.
        tag: String,
        /// The job.
        job: String,
    },
    /// No version of the job has the tag.
    TagNotFound {
        /// The tag.
        tag: String,
        /// The job.
        job: String,
    },
    /// Access control was bootstrapped before.
    BootstrapDone {
        /// The index of the bootstrap; who knows it may reset it.
        index: u64,
    },
    /// Another token has the secret.
    SecretTaken,
    /// The token does not exist.
    TokenNotFound {
        /// The accessor.
        accessor: String,
    },
    /// The role does not exist.
    RoleNotFound {
        /// Its ID.
        role: String,
    },
    /// Another role has the name.
    RoleNameTaken {
        /// The name.
        name: String,
    },
    /// The policy does not exist.
    PolicyNotFound {
        /// The name.
        name: String,
    },
    /// The auth method does not exist.
    AuthMethodNotFound {
        /// The name.
        name: String,
    },
    /// Another auth method of the type is the default.
    DefaultMethodTaken {
        /// The type.
        kind: String,
        /// The method that is the default.
        name: String,
    },
    /// The binding rule does not exist.
    BindingRuleNotFound {
        /// Its ID.
        id: String,
    },
    /// The one-time token was exchanged already, or has expired.
    OneTimeTokenGone,
    /// Only a key that becomes active can replace the keys before it.
    RekeyInactive,
    /// Variables are encrypted with the root key that is to be removed.
    KeyInUse,
    /// The root key does not exist.
    KeyNotFound,
    /// The node does not exist.
    NodeNotFound,
    /// A draining node cannot be eligible.
    NodeDraining,
    /// The identity of the node was revoked.
    NodeRevoked,
    /// The operation does not change nodes.
    NotANodeChange,
    /// An allocation that a plan stops does not exist.
    AllocNotFound {
        /// The allocation.
        id: String,
    },
    /// The evaluation of a plan does not exist.
    EvalNotFound {
        /// The evaluation.
        id: String,
    },
    /// A plan places an allocation without a job.
    AllocWithoutJob {
        /// The allocation.
        id: String,
    },
    /// The namespace of a host volume does not exist.
    VolumeNamespaceNotFound {
        /// The name of the volume.
        volume: String,
        /// The namespace.
        namespace: String,
    },
    /// The node has another host volume of the same name.
    VolumeExists {
        /// The name of the volume.
        name: String,
        /// The node.
        node: String,
        /// The ID of the other volume.
        id: String,
    },
    /// The host volume does not exist.
    VolumeNotFound {
        /// The ID of the volume.
        id: String,
    },
    /// The claim on a host volume does not exist.
    VolumeClaimNotFound,
    /// Allocations use the host volume that is to be removed.
    VolumeInUse {
        /// The ID of the volume.
        id: String,
        /// The IDs of the allocations.
        allocs: Vec<String>,
    },
    /// The namespace of a CSI volume does not exist.
    CsiVolumeNamespaceNotFound {
        /// The volume.
        volume: String,
        /// The namespace.
        namespace: String,
    },
    /// A CSI volume of that ID exists with another plugin or another ID of the storage provider.
    CsiVolumeExists {
        /// The volume.
        id: String,
    },
    /// The CSI volume does not exist.
    CsiVolumeNotFound {
        /// The volume.
        id: String,
    },
    /// Allocations claim the CSI volume.
    CsiVolumeInUse {
        /// The volume.
        id: String,
    },
    /// The allocation that claims a CSI volume does not exist, has ended, or is another node's.
    CsiAllocEnded {
        /// The allocation.
        alloc: String,
    },
    /// The CSI volume was not registered for the modes of a claim.
    CsiCapability {
        /// The volume.
        id: String,
    },
    /// The claim would break the access mode of the CSI volume, or needs another one than the claims that it has.
    CsiClaimExhausted {
        /// The volume.
        id: String,
    },
    /// The claim of the allocation is being released.
    CsiClaimReleasing {
        /// The volume.
        id: String,
        /// The allocation.
        alloc: String,
    },
    /// The mode or state of a claim has a number without a meaning.
    CsiClaimUnknown,
    /// The CSI plugin does not exist.
    CsiPluginNotFound {
        /// The plugin.
        id: String,
    },
    /// Nodes or jobs run the CSI plugin.
    CsiPluginInUse,
    /// The snapshot that is to replace the state cannot be read: the reason.
    Snapshot(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Refusal::*;
        match self {
            PoolChange { name } => write!(f, "modifying node pool {name:?} is not allowed"),
            PoolDeletion { name } => write!(f, "deleting node pool {name:?} is not allowed"),
            PoolNotFound { name } => write!(f, "node pool {name} not found"),
            BootstrapDone { index } => write!(f, "ACL bootstrap already done (reset index: {index})"),
            SecretTaken => f.write_str("another token has this secret"),
            TokenNotFound { accessor } => write!(f, "Cannot delete nonexistent tokens: {accessor}"),
            RoleNotFound { role } => write!(f, "cannot find role {role}"),
            RoleNameTaken { name } => write!(f, "role with name {name} already exists"),
            PolicyNotFound { name } => write!(f, "cannot find policy {name}"),
            AuthMethodNotFound { name } => write!(f, "ACL auth method {name} not found"),
            DefaultMethodTaken { kind, name } => write!(f, "default method for type {kind} already exists: {name}"),
            BindingRuleNotFound { id } => write!(f, "ACL binding rule {id} not found"),
            OneTimeTokenGone => f.write_str("Permission denied"),
            DefaultNamespace => f.write_str("can not delete default namespace"),
            NamespaceNotFound => f.write_str("namespace not found"),
            NamespaceHasJobs { name } => write!(f, "namespace {name:?} contains at least one non-terminal job"),
            NamespaceHasVariables { name } => write!(f, "namespace {name:?} contains at least one variable"),
            ServiceNotFound => f.write_str("service registration not found"),
            DeploymentGone { id } => write!(f, "Deployment ID {id:?} couldn't be updated as it does not exist"),
            DeploymentEnded { id, status } => write!(f, "Deployment {id:?} has terminal status {status:?}:"),
            DeploymentNotFound => f.write_str("deployment not found"),
            PromotionTooLate { id, status } => write!(f, "deployment {id:?} has terminal status {status:?}:"),
            UnhealthyCanaries(text) | ModifyIndex(text) | Snapshot(text) => f.write_str(text),
            PromotionUndone => f.write_str("deployment promotion cannot be undone"),
            UnknownAlloc { id } => write!(f, "unknown alloc {id:?}"),
            AllocOfOtherDeployment { id, deployment: d } => write!(f, "alloc {id:?} is not part of deployment {d:?}"),
            JobNamespaceNotFound { job, namespace } => {
                write!(f, "job {job:?} is in nonexistent namespace {namespace:?}")
            }
            JobPoolNotFound { job, pool } => write!(f, "job {job:?} is in nonexistent node pool {pool:?}"),
            JobNotFound => f.write_str("job not found"),
            JobVersionNotFound { job, version } => write!(f, "job {job:?} version {version} not found"),
            TagTaken { tag, job } => write!(f, "tag {tag:?} already exists on a different version of job {job:?}"),
            TagNotFound { tag, job } => write!(f, "tag {tag:?} not found on job {job:?}"),
            RekeyInactive => f.write_str("cannot rekey without setting the new key active"),
            KeyInUse => f.write_str("root key in use, cannot delete"),
            KeyNotFound => f.write_str("root key not found"),
            NodeNotFound => f.write_str("node not found"),
            NodeRevoked => f.write_str("node identity was revoked"),
            NodeDraining => f.write_str("can not set node's scheduling eligibility to eligible while it is draining"),
            NotANodeChange => f.write_str("not a change of nodes"),
            AllocNotFound { id } => write!(f, "alloc {id} doesn't exist"),
            EvalNotFound { id } => write!(f, "evaluation {id:?} does not exist"),
            AllocWithoutJob { id } => write!(f, "attempting to upsert allocation {id:?} without a job"),
            VolumeNamespaceNotFound { volume, namespace } => {
                write!(f, "host volume {volume:?} is in nonexistent namespace {namespace:?}")
            }
            VolumeExists { name, node, id } => write!(f, "host volume {name:?} already exists on node {node}: {id}"),
            VolumeClaimNotFound => f.write_str("task group volume claim does not exist"),
            CsiVolumeNamespaceNotFound { volume, namespace } => {
                write!(f, "volume {volume:?} is in nonexistent namespace {namespace:?}")
            }
            CsiVolumeExists { id } => {
                write!(f, "volume exists: {id}: its plugin and its external ID cannot be changed")
            }
            CsiVolumeNotFound { id } => write!(f, "volume not found: {id}"),
            CsiVolumeInUse { id } => write!(f, "volume in use: {id}"),
            CsiAllocEnded { alloc } => write!(f, "allocation {alloc} does not run on the node"),
            CsiCapability { id } => write!(f, "volume {id} is not registered for the requested access and attachment"),
            CsiClaimExhausted { id } => write!(f, "volume max claims reached: {id}"),
            CsiClaimReleasing { id, alloc } => {
                write!(f, "claim of allocation {alloc} on volume {id} is being released")
            }
            CsiClaimUnknown => f.write_str("claim with an unknown mode or state"),
            CsiPluginNotFound { id } => write!(f, "plugin not found: {id}"),
            CsiPluginInUse => f.write_str("plugin in use"),
            VolumeNotFound { id } => write!(f, "no such volume: {id}"),
            VolumeInUse { id, allocs } => write!(f, "volume {id} in use by allocations: [{}]", allocs.join(" ")),
        }
    }
}

impl Error for Refusal {}

//! A record of a snapshot.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::parts::Part;
use encamp_model::capability::{Capability, CapabilityLevel};
use encamp_model::*;

/// The version written by clusters of the first capability level.
pub(super) const VERSION: u32 = 2;
/// The version written since [`Capability::StoredLevel`]: it may hold the level of the cluster.
pub(super) const WITH_LEVEL: u32 = 3;
/// The version without parts, which is read as well.
pub(super) const WITHOUT_PARTS: u32 = 1;

/// A record of a snapshot.
#[derive(Serialize, Deserialize)]
pub(super) enum Record {
    Header {
        version: u32,
    },
    Node(Arc<Node>),
    NodePool(Arc<NodePool>),
    Namespace(Arc<Namespace>),
    /// A version of a job; the current one comes last.
    Job(Arc<Job>),
    /// The job of an allocation; numbered by position.
    AllocJob(Arc<Job>),
    Alloc(Box<Allocation>),
    Eval(Arc<Evaluation>),
    Deployment(Arc<Deployment>),
    Summary(Arc<JobSummary>),
    Submission(Arc<JobSubmission>),
    Launch(Arc<PeriodicLaunch>),
    ScalingPolicy(Arc<ScalingPolicy>),
    ScalingEvents(Arc<JobScalingEvents>),
    Service(Arc<ServiceRegistration>),
    Variable(Arc<VariableEncrypted>),
    CsiPlugin(Arc<CsiPlugin>),
    CsiVolume(Arc<CsiVolume>),
    HostVolume(Arc<HostVolume>),
    HostVolumeClaim(Arc<TaskGroupHostVolumeClaim>),
    SchedulerConfig(Arc<SchedulerConfiguration>),
    Autopilot(Arc<AutopilotConfiguration>),
    ClusterMetadata(Arc<ClusterMetadata>),
    /// The capability level of the cluster.
    CapabilityLevel(CapabilityLevel),
    RootKey(Arc<WrappedRootKey>),
    AclPolicy(Arc<AclPolicy>),
    AclToken(Arc<AclToken>),
    AclRole(Arc<AclRole>),
    AclAuthMethod(Arc<AclAuthMethod>),
    AclBindingRule(Arc<AclBindingRule>),
    OneTimeToken(Arc<OneTimeToken>),
    NodeRevocation(Arc<NodeRevocation>),
    /// Table name and index.
    Index(String, u64),
    /// Some of the records above.
    Part(Part),
    End,
}

impl Record {
    /// The names of its table and of its type; `None` for what is no object.
    pub(super) fn names(&self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Record::Header { .. } | Record::Part(_) | Record::End => return None,
            Record::Node(_) => ("Nodes", "Node"),
            Record::NodePool(_) => ("NodePools", "NodePool"),
            Record::Namespace(_) => ("Namespaces", "Namespace"),
            Record::Job(_) => ("Jobs", "Job"),
            Record::AllocJob(_) => ("AllocJobs", "AllocJob"),
            Record::Alloc(_) => ("Allocs", "Alloc"),
            Record::Eval(_) => ("Evals", "Eval"),
            Record::Deployment(_) => ("Deployments", "Deployment"),
            Record::Summary(_) => ("JobSummaries", "JobSummary"),
            Record::Submission(_) => ("JobSubmissions", "JobSubmission"),
            Record::Launch(_) => ("PeriodicLaunches", "PeriodicLaunch"),
            Record::ScalingPolicy(_) => ("ScalingPolicies", "ScalingPolicy"),
            Record::ScalingEvents(_) => ("ScalingEvents", "ScalingEvents"),
            Record::Service(_) => ("ServiceRegistrations", "ServiceRegistration"),
            Record::Variable(_) => ("Variables", "Variables"),
            Record::CsiPlugin(_) => ("CSIPlugins", "CSIPlugin"),
            Record::CsiVolume(_) => ("CSIVolumes", "CSIVolume"),
            Record::HostVolume(_) => ("HostVolumes", "HostVolumeSnapshot"),
            Record::HostVolumeClaim(_) => ("HostVolumeClaims", "HostVolumeClaim"),
            Record::SchedulerConfig(_) => ("SchedulerConfig", "SchedulerConfig"),
            Record::Autopilot(_) => ("AutopilotConfig", "AutopilotConfig"),
            Record::ClusterMetadata(_) => ("ClusterMetadata", "ClusterMetadata"),
            Record::CapabilityLevel(_) => ("CapabilityLevel", "CapabilityLevel"),
            Record::RootKey(_) => ("WrappedRootKeys", "WrappedRootKeys"),
            Record::AclPolicy(_) => ("ACLPolicies", "ACLPolicy"),
            Record::AclToken(_) => ("ACLTokens", "ACLToken"),
            Record::AclRole(_) => ("ACLRoles", "ACLRole"),
            Record::AclAuthMethod(_) => ("ACLAuthMethods", "ACLAuthMethod"),
            Record::AclBindingRule(_) => ("ACLBindingRules", "ACLBindingRule"),
            Record::OneTimeToken(_) => ("OneTimeTokens", "OneTimeToken"),
            Record::NodeRevocation(_) => ("NodeRevocations", "NodeRevocation"),
            Record::Index(..) => ("Indexes", "Index"),
        })
    }
}

/// Why a snapshot is no good.
pub(super) fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// The version of snapshots of a cluster of a level.
pub(super) fn version_of(cluster: CapabilityLevel) -> u32 {
    if cluster.has(Capability::StoredLevel) { WITH_LEVEL } else { VERSION }
}

//! The rights that several routes need.

use crate::access::right::{Capability, Level, PluginLevel, PoolCapability, Right};

pub(super) const MANAGEMENT: Right = Right::Management;
pub(super) const AGENT_READ: Right = Right::Agent(Level::Read);
pub(super) const AGENT_WRITE: Right = Right::Agent(Level::Write);
pub(super) const NODE_READ: Right = Right::Node(Level::Read);
pub(super) const NODE_WRITE: Right = Right::Node(Level::Write);
pub(super) const OPERATOR_READ: Right = Right::Operator(Level::Read);
pub(super) const OPERATOR_WRITE: Right = Right::Operator(Level::Write);
pub(super) const POOL_READ: Right = Right::Pool(PoolCapability::Read);
pub(super) const POOL_WRITE: Right = Right::Pool(PoolCapability::Write);
pub(super) const POOL_DELETE: Right = Right::Pool(PoolCapability::Delete);
pub(super) const PLUGIN_READ: Right = Right::Plugin(PluginLevel::Read);
pub(super) const READ_JOB: Right = Right::Namespace(&[Capability::ReadJob]);
pub(super) const LIST_AND_READ_JOBS: Right = Right::All(&[Right::Namespace(&[Capability::ListJobs]), READ_JOB]);
pub(super) const LIST_POLICIES: Right =
    Right::OneOf(&[Right::Namespace(&[Capability::ListScalingPolicies]), LIST_AND_READ_JOBS]);
pub(super) const READ_POLICY: Right =
    Right::OneOf(&[Right::Namespace(&[Capability::ReadScalingPolicy]), LIST_AND_READ_JOBS]);
pub(super) const DISPATCH: Right = Right::Namespace(&[Capability::DispatchJob]);
pub(super) const TAG: Right = Right::Namespace(&[Capability::SubmitJob, Capability::TagJobVersion]);
pub(super) const ALLOC_EXEC: Right = Right::Namespace(&[Capability::AllocExec]);
pub(super) const ALLOC_LIFECYCLE: Right = Right::Namespace(&[Capability::AllocLifecycle]);
pub(super) const READ_FS: Right = Right::Namespace(&[Capability::ReadFs]);
pub(super) const READ_LOGS: Right = Right::Namespace(&[Capability::ReadLogs, Capability::ReadFs]);
pub(super) const READ_HOST_VOLUME: Right = Right::Namespace(&[Capability::HostVolumeRead]);
pub(super) const DELETE_HOST_VOLUME: Right = Right::Namespace(&[Capability::HostVolumeDelete]);
pub(super) const LIST_VOLUMES: Right = Right::Namespace(&[
    Capability::CsiListVolume,
    Capability::CsiReadVolume,
    Capability::CsiMountVolume,
    Capability::ListJobs,
]);
pub(super) const READ_VOLUME: Right =
    Right::Namespace(&[Capability::CsiReadVolume, Capability::CsiMountVolume, Capability::ReadJob]);
pub(super) const WRITE_VOLUME: Right = Right::All(&[Right::Namespace(&[Capability::CsiWriteVolume]), PLUGIN_READ]);
pub(super) const MOUNT_VOLUME: Right = Right::All(&[Right::Namespace(&[Capability::CsiMountVolume]), PLUGIN_READ]);

/// One of these capabilities in a namespace.
pub(super) const fn any_of(capabilities: &'static [Capability]) -> Right {
    Right::Namespace(capabilities)
}

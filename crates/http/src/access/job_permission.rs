//! The permission to register, plan or validate a job, which is known only once the job is admitted.

use super::authorization::Access;
use super::permission::Permission;
use super::right::{Capability, HostVolumeCapability, Need, PluginLevel, Right, Subject};
use encamp_model::{Job, TaskGroup};
use encamp_server::Error;

/// The permission of a caller to do with a job what its request asks for.
#[derive(Debug)]
pub(crate) struct JobPermission {
    right: Right,
    /// Also on the volumes and plugins of the job.
    volumes: bool,
    /// None: the token is not valid.
    access: Option<Access>,
}

impl JobPermission {
    /// The permission that a route needs, as a caller has it.
    pub(crate) fn new(needed: Permission, access: Option<Access>) -> JobPermission {
        JobPermission { right: needed.right(), volumes: matches!(needed, Permission::OfJobAndVolumes(_)), access }
    }

    /// Whether the caller has the permission for a job. `policy_override`: the request overrides policies, which
    /// requires a capability of its own.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn check(&self, job: &Job, policy_override: bool) -> Result<(), Error> {
        let permits = |access: &Access| {
            let own = |capability| access.allows(&Need::Namespace(&job.namespace, &[capability]));
            access.has(self.right, Subject::Namespace(&job.namespace))
                && (!policy_override || own(Capability::SentinelOverride))
                && (!self.volumes || job.task_groups.iter().all(|group| may_mount(access, &job.namespace, group)))
        };
        if self.access.as_ref().is_some_and(permits) { Ok(()) } else { Err(Error::permission_denied()) }
    }
}

/// Whether the caller may use the volumes of a group, and run its plugins.
fn may_mount(access: &Access, namespace: &str, group: &TaskGroup) -> bool {
    let own = |capability| access.allows(&Need::Namespace(namespace, &[capability]));
    let bidirectional = |name: &str| {
        let mounts = group.tasks.iter().flat_map(|task| &task.volume_mounts);
        mounts.filter(|m| m.volume == name).any(|m| m.propagation_mode == "bidirectional")
    };
    let mut requested = group.volumes.iter().flat_map(|volumes| volumes.values());
    let volumes = requested.all(|volume| match volume.r#type.as_str() {
        "host" => {
            let host = |capability| access.allows(&Need::HostVolume(&volume.source, capability));
            let write = host(HostVolumeCapability::MountReadwrite);
            let read = volume.read_only && host(HostVolumeCapability::MountReadonly);
            write || (read && !bidirectional(&volume.name))
        }
        "csi" => own(Capability::CsiMountVolume) && access.allows(&Need::Plugin(PluginLevel::Read)),
        _ => access.is_management(),
    });
    let plugins = group.tasks.iter().any(|task| task.csi_plugin_config.is_some());
    volumes && (!plugins || own(Capability::CsiRegisterPlugin))
}

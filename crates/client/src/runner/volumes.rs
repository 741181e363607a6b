//! The volumes of a task: what its `volume_mount` blocks mount (`docs/spec/client.md §23`, `§24.2`).

use std::path::PathBuf;

use super::alloc::AllocRunner;
use super::error::{HookError, VolumeError};
use super::task::TaskRunner;
use crate::drivers::{Driver, Mount, Propagation, VolumeMounts};
use crate::env::TaskEnv;
use encamp_model::{Allocation, Node, Task, VolumeMount, VolumeRequest};

/// The volumes to choose from.
struct Available<'a> {
    alloc: &'a Allocation,
    node: &'a Node,
    csi: &'a VolumeMounts,
}

impl Available<'_> {
    /// What a block mounts: a path of the host, and whether it is only read.
    fn resolve(&self, mount: &VolumeMount) -> Result<(PathBuf, bool), HookError> {
        let requests = self.alloc.group().and_then(|g| g.volumes.as_ref());
        let request = requests.and_then(|all| all.get(&mount.volume));
        let missing = || HookError::HostVolume(VolumeError::NotRequested(mount.volume.clone()));
        let request = request.ok_or_else(missing)?;
        if request.r#type == "csi" {
            let volume = self.csi.get(&mount.volume);
            let volume = volume.ok_or_else(|| HookError::CsiVolume(VolumeError::NotMounted(mount.volume.clone())))?;
            return Ok((volume.path.clone(), volume.read_only || mount.read_only));
        }
        self.host_volume(request, mount).map_err(HookError::HostVolume)
    }

    fn host_volume(&self, request: &VolumeRequest, mount: &VolumeMount) -> Result<(PathBuf, bool), VolumeError> {
        let name = request.source_for(&self.alloc.name);
        let volume = self.node.host_volumes.get(&name).ok_or_else(|| VolumeError::Missing(name.clone()))?;
        let path = PathBuf::from(&volume.path);
        match path.metadata() {
            Ok(_) => Ok((path, volume.read_only || request.read_only || mount.read_only)),
            Err(source) => Err(VolumeError::Directory { name, path, source }),
        }
    }
}

/// What the blocks of a task mount, in their order.
fn mounts(task: &Task, env: &TaskEnv, available: &Available) -> Result<Vec<Mount>, HookError> {
    let of = |mount: &VolumeMount| {
        let (host, read_only) = available.resolve(mount)?;
        let propagation = Propagation::of_word(&mount.propagation_mode).ok_or_else(|| {
            let (volume, mode) = (mount.volume.clone(), mount.propagation_mode.clone());
            HookError::HostVolume(VolumeError::Propagation { volume, mode })
        })?;
        Ok(Mount { host, task: env.replace(&mount.destination).into(), read_only, propagation })
    };
    // A block without a volume mounts nothing.
    task.volume_mounts.iter().filter(|m| !m.volume.is_empty()).map(of).collect()
}

impl TaskRunner {
    /// What the task's volumes mount in it (hook `volumes`).
    pub(super) fn volumes(
        &self,
        owner: &AllocRunner,
        task: &Task,
        driver: &dyn Driver,
    ) -> Result<Vec<Mount>, HookError> {
        if task.volume_mounts.is_empty() {
            return Ok(Vec::new());
        }
        if !driver.capabilities().mounts {
            return Err(HookError::Volumes { driver: task.driver.clone(), task: task.name.clone() });
        }
        let (alloc, node, csi) = (owner.alloc(), self.shared.node(), owner.volume_mounts());
        mounts(task, &self.env(owner, task), &Available { alloc: &alloc, node: &node, csi: &csi })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drivers::MountedVolume;
    use crate::testing::TempDir;
    use encamp_model::{ClientHostVolumeConfig, Job, TaskGroup};

    fn alloc(requests: &[(&str, VolumeRequest)]) -> Allocation {
        let volumes = requests.iter().map(|(name, request)| ((*name).to_string(), request.clone())).collect();
        let group = TaskGroup { name: "g".into(), volumes: Some(volumes), ..TaskGroup::default() };
        Allocation {
            name: "j.g[2]".into(),
            task_group: "g".into(),
            job: Some(Arc::new(Job { task_groups: vec![group], ..Job::default() })),
            ..Allocation::default()
        }
    }

    fn request(kind: &str, source: &str) -> VolumeRequest {
        VolumeRequest { r#type: kind.into(), source: source.into(), ..VolumeRequest::default() }
    }

    fn block(volume: &str) -> VolumeMount {
        VolumeMount { volume: volume.into(), destination: "/data".into(), ..VolumeMount::default() }
    }

    #[test]
    fn blocks_are_resolved() {
        let dir = TempDir::new("volumes");
        let path = dir.path().display().to_string();
        let mut node = Node::default();
        for (name, path, read_only) in [("plain", &path, false), ("ro", &path, true), ("each[2]", &path, false)] {
            let volume = ClientHostVolumeConfig {
                name: name.into(),
                path: path.clone(),
                read_only,
                ..ClientHostVolumeConfig::default()
            };
            node.host_volumes.insert(name.into(), volume);
        }
        let gone = ClientHostVolumeConfig { path: "/nope".into(), ..ClientHostVolumeConfig::default() };
        node.host_volumes.insert("gone".into(), gone);
        let alloc = alloc(&[
            ("a", request("host", "plain")),
            ("b", request("host", "ro")),
            ("c", VolumeRequest { per_alloc: true, ..request("host", "each") }),
            ("d", request("csi", "disk")),
            ("e", request("host", "gone")),
            ("f", request("host", "nope")),
            ("g", request("csi", "nope")),
            ("r", VolumeRequest { read_only: true, ..request("host", "plain") }),
        ]);
        let csi = [("d".to_string(), MountedVolume { path: "/csi/d".into(), read_only: true })].into();
        let available = Available { alloc: &alloc, node: &node, csi: &csi };
        let of = |m: VolumeMount| {
            let task = Task { volume_mounts: vec![m], ..Task::default() };
            mounts(&task, &TaskEnv::default(), &available)
        };
        for (mount, read_only) in [
            (block("a"), false),
            (VolumeMount { read_only: true, ..block("a") }, true),
            (block("b"), true),
            (block("c"), false),
            (block("r"), true),
            (block("d"), true),
        ] {
            let got = of(mount.clone()).unwrap();
            assert_eq!((got[0].read_only, got[0].task.to_str()), (read_only, Some("/data")), "{mount:?}");
        }
        assert!(of(block("")).unwrap().is_empty());
        let both = VolumeMount { propagation_mode: "bidirectional".into(), ..block("a") };
        assert_eq!(of(both).unwrap()[0].propagation, Propagation::Bidirectional);
        for (mount, text) in [
            (block("e"), "host volume validation error: host volume \"gone\": /nope: No such file"),
            (block("f"), "host volume validation error: host volume \"nope\" does not exist on this node"),
            (block("g"), "CSI volume \"g\" is not mounted"),
            (block("z"), "host volume validation error: the group has no volume \"z\""),
            (VolumeMount { propagation_mode: "x".into(), ..block("a") }, "host volume validation error: volume mount"),
        ] {
            let error = of(mount).unwrap_err().to_string();
            assert!(error.starts_with(text), "{error}");
        }
    }
}

//! A storage directory, nodes with mount namespaces of their own, and plugins on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use encamp_csi::{
    AccessMode, AttachVolume, Attachment, Capability, CapacityRange, Context, CreateVolume, ExternalNodeId, Limits,
    MountVolume, Plugin, Secrets, StageVolume, Volume, VolumeId,
};
use encamp_test_support::notes;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The longest wait for a process.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory that is removed at the end.
pub(crate) struct Place(PathBuf);

impl Place {
    /// `None` without the right to make mount namespaces.
    pub(crate) fn new() -> Option<Place> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let tried = std::process::Command::new("unshare").args(["--mount", "true"]).output();
        if !tried.as_ref().is_ok_and(|ran| ran.status.success()) {
            notes::skipped("the storage plugin for tests", &format!("no mount namespaces: {tried:?}"));
            return None;
        }
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("encamp-csi-plugin-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Some(Place(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn storage(&self) -> PathBuf {
        self.0.join("storage")
    }

    /// Replaces the faults.
    pub(crate) fn faults(&self, faults: &Value) {
        let (path, new) = (self.0.join("faults.json"), self.0.join("faults.new"));
        fs::write(&new, faults.to_string()).unwrap();
        fs::rename(new, path).unwrap();
    }

    /// The lines of a file of the storage.
    pub(crate) fn lines(&self, file: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.storage().join(file)).unwrap_or_default();
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A node: a process whose mount namespace plugins share, so that mounts outlive the plugins, as on a real node.
pub(crate) struct Node {
    holder: Child,
    folder: PathBuf,
    id: String,
    storage: PathBuf,
    faults: PathBuf,
}

impl Node {
    pub(crate) async fn start(place: &Place, id: &str) -> Node {
        let folder = place.path().join(id);
        fs::create_dir_all(&folder).unwrap();
        let mut holder = Command::new("unshare");
        holder.args(["--mount", "--propagation", "private", "sh", "-c", "echo ready; exec cat"]);
        // It ends with its input.
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        line(&mut holder).await;
        let (storage, faults) = (place.storage(), place.path().join("faults.json"));
        Node { holder, folder, id: id.into(), storage, faults }
    }

    /// A path of the node, as plugins see it.
    pub(crate) fn at(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The same path as the test sees it, with what is mounted.
    pub(crate) fn seen(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id().unwrap()));
        root.join(self.folder.join(name).strip_prefix("/").unwrap())
    }

    pub(crate) fn external(&self) -> ExternalNodeId {
        ExternalNodeId::new(&self.id)
    }

    /// Starts the plugin, or starts it again.
    pub(crate) async fn plugin(&self, options: &[&str]) -> Running {
        let socket = self.folder.join("csi.sock");
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id().unwrap())).arg("--");
        command
            .arg(env!("CARGO_BIN_EXE_csi-test-plugin"))
            .arg("--endpoint")
            .arg(format!("unix://{}", socket.display()));
        command.args(["--node-id", &self.id]).arg("--storage").arg(&self.storage).arg("--fail").arg(&self.faults);
        command.args(options).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let said = line(&mut child).await;
        assert!(said.starts_with("listening"), "{said}");
        let limits = Limits { question: PATIENCE, operation: PATIENCE, ..Limits::default() };
        Running { child, plugin: Plugin::new(&socket, limits) }
    }
}

async fn line(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("a line in time").unwrap();
    // The process may write more.
    child.stdout = Some(lines.into_inner().into_inner());
    line.expect("a line")
}

/// A running plugin.
pub(crate) struct Running {
    child: Child,
    pub(crate) plugin: Plugin,
}

impl Running {
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until the plugin ended by itself.
    pub(crate) async fn ended(mut self) {
        tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap();
    }

    /// The same plugin with another bound of calls.
    pub(crate) fn bounded(&self, operation: Duration) -> Plugin {
        Plugin::new(self.plugin.socket(), Limits { question: operation, operation, ..Limits::default() })
    }
}

pub(crate) fn capability(access: AccessMode) -> Capability {
    Capability { access, attachment: Attachment::FileSystem(Default::default()) }
}

pub(crate) fn create(name: &str, access: AccessMode) -> CreateVolume {
    CreateVolume {
        name: name.into(),
        capacity: CapacityRange { min: 1 << 20, max: 1 << 30 },
        capabilities: vec![capability(access)],
        parameters: Default::default(),
        secrets: Secrets::new(),
        source: None,
        topologies: None,
    }
}

pub(crate) fn attach(volume: &Volume, node: &Node, access: AccessMode) -> AttachVolume {
    AttachVolume {
        volume: volume.id.clone(),
        node: node.external(),
        capability: capability(access),
        read_only: false,
        secrets: Secrets::new(),
        context: volume.context.clone(),
    }
}

pub(crate) fn stage(volume: &Volume, node: &Node, access: AccessMode, attach_context: &Context) -> StageVolume {
    StageVolume {
        volume: volume.id.clone(),
        staging_path: node.at("staging"),
        capability: capability(access),
        attach_context: attach_context.clone(),
        context: volume.context.clone(),
        secrets: Secrets::new(),
    }
}

pub(crate) fn mount(
    volume: &Volume,
    node: &Node,
    access: AccessMode,
    attach_context: &Context,
    target: &str,
) -> MountVolume {
    MountVolume {
        volume: volume.id.clone(),
        staging_path: Some(node.at("staging")),
        target_path: node.at(target),
        capability: capability(access),
        read_only: false,
        attach_context: attach_context.clone(),
        context: volume.context.clone(),
        secrets: Secrets::new(),
    }
}

/// Attaches, stages and mounts a volume.
pub(crate) async fn use_volume(plugin: &Plugin, node: &Node, volume: &Volume, access: AccessMode, target: &str) {
    let context = plugin.attach_volume(attach(volume, node, access)).await.unwrap();
    plugin.stage_volume(stage(volume, node, access, &context)).await.unwrap();
    plugin.mount_volume(mount(volume, node, access, &context, target)).await.unwrap();
}

/// Undoes [`use_volume`].
pub(crate) async fn release_volume(plugin: &Plugin, node: &Node, volume: &VolumeId, target: &str) {
    plugin.unmount_volume(volume, &node.at(target)).await.unwrap();
    plugin.unstage_volume(volume, &node.at("staging")).await.unwrap();
    plugin.detach_volume(volume, &node.external(), Secrets::new()).await.unwrap();
}

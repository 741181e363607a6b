//! A node with a storage plugin: `csi-test-plugin` as a process, whose task is one of the mock driver. Servers are fake.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use encamp_client::config::{Config, GcConfig, MockConfig};
use encamp_client::servers::{Answer, Credentials, Servers, ServersError};
use encamp_client::{AgentServices, Client, Handle};
use encamp_model::responses::{AllocsGetResponse, NodeClientAllocsResponse, NodeUpdateResponse};
use encamp_model::*;
use encamp_test_support::csi_plugin;
use serde_json::json;
use tokio::sync::watch;

/// Maximum time of any wait.
const PATIENCE: Duration = Duration::from_secs(20);
/// The allocations of the plugin, and of the users of the volume.
const PLUGIN: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const USERS: [&str; 2] = ["bbbbbbbb-0000-0000-0000-000000000001", "bbbbbbbb-0000-0000-0000-000000000002"];

async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A directory that is removed at the end, but nothing that is mounted in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("encamp-csi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path.canonicalize().unwrap())
    }

    /// The volumes that are mounted below the directory.
    fn mounts(&self) -> Vec<PathBuf> {
        let own = self.0.join("client/csi");
        self.all_mounts().into_iter().filter(|p| p.starts_with(&own)).collect()
    }

    fn all_mounts(&self) -> Vec<PathBuf> {
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let places = table.lines().filter_map(|l| l.split(' ').nth(4)).map(PathBuf::from);
        places.filter(|p| p.starts_with(&self.0)).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for place in self.all_mounts().iter().rev() {
            let _ = Command::new("umount").arg(place).status();
        }
        if self.all_mounts().is_empty() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// A process that is killed at the end.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Servers that give volumes to nodes.
struct Fake {
    allocs: Mutex<BTreeMap<String, Allocation>>,
    index: watch::Sender<u64>,
    /// The node, which runs the controller too.
    node: Mutex<Option<Handle>>,
    volume: Mutex<CsiVolume>,
    /// Claims by allocation.
    claims: Mutex<BTreeMap<String, CsiClaimRequest>>,
    /// Claims that are to be refused.
    refusals: Mutex<u32>,
}

impl Fake {
    fn new() -> Arc<Fake> {
        Arc::new(Fake {
            allocs: Mutex::default(),
            index: watch::channel(5).0,
            node: Mutex::default(),
            volume: Mutex::default(),
            claims: Mutex::default(),
            refusals: Mutex::default(),
        })
    }

    /// Changes an allocation as servers do: the node then pulls it.
    fn write(&self, mut alloc: Allocation) {
        let index = *self.index.borrow() + 1;
        (alloc.modify_index, alloc.alloc_modify_index) = (index, index);
        self.allocs.lock().unwrap().insert(alloc.id.clone(), alloc);
        self.index.send_replace(index);
    }

    fn alloc(&self, id: &str) -> Allocation {
        self.allocs.lock().unwrap()[id].clone()
    }

    fn stop(&self, id: &str) {
        self.write(Allocation { desired_status: DesiredStatus::Stop, ..self.alloc(id) });
    }

    async fn status(&self, id: &str, status: ClientStatus) {
        let events = || {
            let alloc = self.alloc(id);
            let events =
                alloc.task_states.values().flat_map(|s| s.events.iter().map(|e| e.display_message).collect::<Vec<_>>());
            format!("{status:?} of {id}: {:?}", events.collect::<Vec<_>>())
        };
        let end = Instant::now() + PATIENCE;
        while self.alloc(id).client_status != status {
            assert!(Instant::now() < end, "waited in vain for {}", events());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn ask(&self, operation: CsiOperation) -> Result<CsiReply, CsiError> {
        let Some(node) = self.node.lock().unwrap().clone() else {
            return Err(CsiError { kind: CsiErrorKind::NoPlugin, text: "the node is down".into() });
        };
        node.ask_csi_plugin(CsiCall { plugin_id: "disks".into(), operation }).await
    }

    fn claim(&self, request: &CsiClaimRequest) -> CsiVolumeClaim {
        CsiVolumeClaim {
            allocation_id: request.alloc_id.clone(),
            external_node_id: "n1".into(),
            mode: i64::from(!request.read_only),
            access_mode: request.capability.access_mode.clone(),
            attachment_mode: request.capability.attachment_mode.clone(),
            ..CsiVolumeClaim::default()
        }
    }
}

fn beat() -> NodeUpdateResponse {
    NodeUpdateResponse { index: 1, heartbeat_ttl: 50_000_000, servers: vec!["s1".into()], ..Default::default() }
}

impl Servers for Fake {
    fn register<'a>(&'a self, _: &'a Node, _: &'a str) -> Answer<'a, NodeUpdateResponse> {
        Box::pin(async { Ok(beat()) })
    }

    fn update_status<'a>(&'a self, _: &'a Credentials, _: NodeStatus, _: bool) -> Answer<'a, NodeUpdateResponse> {
        Box::pin(async { Ok(beat()) })
    }

    fn client_allocs<'a>(
        &'a self,
        _: &'a Credentials,
        min: u64,
        wait: Duration,
        _: bool,
    ) -> Answer<'a, NodeClientAllocsResponse> {
        Box::pin(async move {
            let mut changed = self.index.subscribe();
            let _ = tokio::time::timeout(wait, changed.wait_for(|i| *i > min)).await;
            let index = *self.index.borrow();
            let known = self.allocs.lock().unwrap();
            let allocs = known.values().map(|a| (a.id.clone(), a.alloc_modify_index)).collect();
            Ok(NodeClientAllocsResponse { allocs, index })
        })
    }

    fn allocs<'a>(&'a self, _: &'a Credentials, ids: &'a [String], _: u64) -> Answer<'a, AllocsGetResponse> {
        Box::pin(async move {
            let known = self.allocs.lock().unwrap();
            let allocs = ids.iter().filter_map(|id| known.get(id).cloned().map(Arc::new)).collect();
            Ok(AllocsGetResponse { allocs, index: *self.index.borrow() })
        })
    }

    fn update_allocs<'a>(&'a self, _: &'a Credentials, allocs: Vec<Allocation>) -> Answer<'a, u64> {
        Box::pin(async move {
            let mut known = self.allocs.lock().unwrap();
            for new in allocs {
                if let Some(alloc) = known.get_mut(&new.id) {
                    (alloc.client_status, alloc.task_states) = (new.client_status, new.task_states);
                }
            }
            Ok(1)
        })
    }

    fn emit_events<'a>(&'a self, _: &'a Credentials, _: Vec<NodeEvent>) -> Answer<'a, u64> {
        Box::pin(async { Ok(1) })
    }

    fn upsert_services<'a>(&'a self, _: &'a Credentials, _: Vec<ServiceRegistration>) -> Answer<'a, u64> {
        Box::pin(async { Ok(1) })
    }

    fn delete_service<'a>(&'a self, _: &'a Credentials, _: &'a str, _: &'a str) -> Answer<'a, u64> {
        Box::pin(async { Ok(1) })
    }

    fn drain_self<'a>(&'a self, _: &'a Credentials, _: DrainStrategy, _: BTreeMap<String, String>) -> Answer<'a, u64> {
        Box::pin(async { Ok(1) })
    }

    fn node<'a>(&'a self, _: &'a Credentials) -> Answer<'a, Option<Arc<Node>>> {
        Box::pin(async { Ok(None) })
    }

    fn claim_csi_volume<'a>(&'a self, _: &'a Credentials, request: CsiClaimRequest) -> Answer<'a, CsiClaimed> {
        Box::pin(async move {
            match request.volume_id.as_str() {
                "data" => {}
                "other" => return Err(ServersError::Refused("volume other is registered for other modes".into())),
                id => return Err(ServersError::NotFound(format!("volume not found: {id}"))),
            }
            let refused = {
                let mut refusals = self.refusals.lock().unwrap();
                let refused = *refusals > 0;
                *refusals = refusals.saturating_sub(1);
                refused
            };
            if refused {
                return Err(ServersError::NotYet("volume max claims reached".into()));
            }
            let (claim, volume) = (self.claim(&request), Box::new(self.volume.lock().unwrap().clone()));
            self.claims.lock().unwrap().insert(request.alloc_id.clone(), request);
            let attach = CsiOperation::Attach { volume: volume.clone(), claim: claim.clone() };
            match self.ask(attach).await {
                Ok(CsiReply::Attached { context }) => Ok(CsiClaimed { volume, claim, attach_context: context }),
                other => Err(ServersError::Refused(format!("{other:?}"))),
            }
        })
    }

    fn release_csi_volume<'a>(&'a self, _: &'a Credentials, release: CsiRelease) -> Answer<'a, ()> {
        Box::pin(async move {
            let volume = self.volume.lock().unwrap().clone();
            let last = {
                let mut claims = self.claims.lock().unwrap();
                claims.remove(&release.alloc_id);
                claims.is_empty()
            };
            if last {
                let (external_id, external_node_id) = (volume.external_id, "n1".into());
                let detach = CsiOperation::Detach { external_id, external_node_id, secrets: BTreeMap::new() };
                self.ask(detach).await.map_err(|e| ServersError::Refused(e.text))?;
            }
            Ok(())
        })
    }

    fn known(&self) -> Vec<String> {
        vec!["s1".into()]
    }
}

/// An allocation whose only task runs for a long time.
fn alloc(id: &str, task: serde_json::Value, volumes: serde_json::Value) -> Allocation {
    let mut fields = json!({ "Name": "t", "Driver": "mock_driver", "Config": { "run_for": "1h" } });
    fields.as_object_mut().unwrap().extend(task.as_object().cloned().unwrap());
    let task: Task = serde_json::from_value(fields).unwrap();
    let never = RestartPolicy { mode: RestartMode::Fail, ..RestartPolicy::default() };
    let group = TaskGroup {
        name: "g".into(),
        count: 1,
        tasks: vec![Task { restart_policy: Some(never), ..task }],
        volumes: serde_json::from_value(volumes).unwrap(),
        ..TaskGroup::default()
    };
    let job = Job {
        id: "job".into(),
        name: "job".into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        task_groups: vec![group],
        ..Job::default()
    };
    Allocation {
        id: id.into(),
        namespace: "default".into(),
        name: "job.g[0]".into(),
        job_id: "job".into(),
        task_group: "g".into(),
        job: Some(Arc::new(job)),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Pending,
        allocated_resources: Some(Arc::default()),
        ..Allocation::default()
    }
}

fn plugin(health_timeout: u64) -> Allocation {
    let config = json!({ "ID": "disks", "Type": "monolith", "HealthTimeout": health_timeout });
    alloc(PLUGIN, json!({ "CSIPluginConfig": config }), json!(null))
}

fn user(id: &str, volume: &str) -> Allocation {
    let request = json!({
        "Type": "csi", "Source": volume, "AccessMode": "single-node-multi-writer", "AttachmentMode": "file-system"
    });
    alloc(id, json!({}), json!({ "v": request }))
}

async fn start(dir: &Path, servers: &Arc<Fake>) -> Client {
    let config = Config {
        state_dir: Some(dir.join("client")),
        alloc_dir: Some(dir.join("alloc")),
        host_volumes_dir: Some(dir.join("volumes")),
        mock_driver: Some(MockConfig::default()),
        network_interface: "lo".into(),
        gc: GcConfig { disk_usage_threshold: 101.0, inode_usage_threshold: 101.0, ..GcConfig::default() },
        seed: Some(7),
        ..Config::default()
    };
    let client = Client::start(config, AgentServices::new(servers.clone())).await.unwrap();
    *servers.node.lock().unwrap() = Some(client.handle());
    client
}

/// Starts the plugin's process as soon as its task has prepared the directory of the socket.
async fn start_plugin(dir: &Path) -> Process {
    let plugins = dir.join("client/csi/plugins").join(PLUGIN);
    let socket = until("the directory of the socket", || std::fs::read_dir(&plugins).ok()?.flatten().next()).await;
    let endpoint = format!("unix://{}", socket.path().join("csi.sock").display());
    let mut plugin = Command::new(csi_plugin::path());
    plugin.args(["--node-id", "n1", "--endpoint", &endpoint, "--storage"]).arg(dir.join("storage"));
    Process(plugin.spawn().unwrap())
}

/// How often the plugin was called so.
fn calls(dir: &Path, method: &str) -> usize {
    let journal = std::fs::read_to_string(dir.join("storage/journal.jsonl")).unwrap_or_default();
    let lines = journal.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    lines.filter(|l| l["event"] == "begin" && l["method"] == method).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn volumes_are_mounted_for_allocations() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: mounting needs root");
        return;
    }
    let folder = Folder::new("mounts");
    let dir = folder.0.as_path();
    let servers = Fake::new();
    let client = start(dir, &servers).await;
    servers.write(plugin(60_000_000_000));
    let process = start_plugin(dir).await;
    let handle = client.handle();
    until("the plugin", || handle.node().csi_node_plugins.get("disks").filter(|p| p.healthy).cloned()).await;
    let node = handle.node();
    let info = &node.csi_node_plugins["disks"];
    assert_eq!((info.alloc_id.as_str(), info.provider.as_str()), (PLUGIN, "csi.test.encamp"));
    assert!(info.node_info.as_ref().is_some_and(|n| n.id == "n1" && n.requires_node_stage_volume));
    assert!(node.csi_controller_plugins["disks"].controller_info.as_ref().is_some_and(|c| c.supports_attach_detach));

    let modes = CsiVolumeCapability {
        access_mode: VolumeAccessMode::SingleNodeMultiWriter,
        attachment_mode: "file-system".into(),
    };
    let volume = CsiVolume {
        id: "data".into(),
        namespace: "default".into(),
        plugin_id: "disks".into(),
        requested_capabilities: vec![modes],
        requested_capacity_min: 1 << 20,
        ..CsiVolume::default()
    };
    let created = servers.ask(CsiOperation::Create(Box::new(volume.clone()))).await.unwrap();
    let CsiReply::Created { external_id, context, .. } = created else { panic!("{created:?}") };
    *servers.volume.lock().unwrap() = CsiVolume { external_id: external_id.clone(), context, ..volume };
    let listed = servers.ask(CsiOperation::ListVolumes(CsiPage::default())).await.unwrap();
    assert!(matches!(&listed, CsiReply::Volumes { volumes, .. } if volumes[0].external_id == external_id));
    let other = CsiCall { plugin_id: "other".into(), operation: CsiOperation::ListVolumes(CsiPage::default()) };
    assert_eq!(handle.ask_csi_plugin(other).await.unwrap_err().kind, CsiErrorKind::NoPlugin);

    // A volume in use is waited for.
    *servers.refusals.lock().unwrap() = 1;
    servers.write(user(USERS[0], "data"));
    servers.write(user(USERS[1], "data"));
    for id in USERS {
        servers.status(id, ClientStatus::Running).await;
    }
    let place = |id: &str| {
        let entry = std::fs::read_dir(dir.join("client/csi/per-alloc").join(id)).unwrap().flatten().next().unwrap();
        entry.path()
    };
    std::fs::write(place(USERS[0]).join("file"), "text").unwrap();
    assert_eq!(std::fs::read_to_string(place(USERS[1]).join("file")).unwrap(), "text");
    assert_eq!((calls(dir, "NodeStageVolume"), calls(dir, "NodePublishVolume")), (1, 2));
    servers.stop(USERS[0]);
    until("the first release", || (!servers.claims.lock().unwrap().contains_key(USERS[0])).then_some(())).await;
    assert_eq!((calls(dir, "NodeUnpublishVolume"), calls(dir, "NodeUnstageVolume")), (1, 0));

    // The agent starts again: the mount stays, and is not made again.
    let before = folder.mounts();
    client.shutdown().await;
    // They keep the state directory locked.
    drop(handle);
    servers.node.lock().unwrap().take();
    assert_eq!(folder.mounts(), before);
    let client = start(dir, &servers).await;
    until("the plugin", || client.handle().node().csi_node_plugins.get("disks").map(drop)).await;
    assert_eq!(folder.mounts(), before);
    assert_eq!(calls(dir, "NodePublishVolume"), 2);
    servers.stop(USERS[1]);
    until("the last release", || servers.claims.lock().unwrap().is_empty().then_some(())).await;
    assert_eq!((calls(dir, "NodeUnpublishVolume"), calls(dir, "NodeUnstageVolume")), (2, 1));
    assert!(folder.mounts().is_empty());
    assert!(!dir.join("client/csi/per-alloc").join(USERS[1]).exists());
    until("the record", || {
        let records = std::fs::read_to_string(dir.join("client/csi-mounts.json")).unwrap();
        (!records.contains(USERS[1])).then_some(())
    })
    .await;

    // An agent that is killed while it mounts a volume leaves a record; the allocation is gone.
    client.shutdown().await;
    servers.node.lock().unwrap().take();
    let gone = "bbbbbbbb-0000-0000-0000-000000000004";
    let record = json!({
        "alloc_id": gone, "namespace": "default", "volume_id": "data", "plugin_id": "disks",
        "external_id": external_id, "staged": true, "phase": "Mounting"
    });
    let records = json!({ "boot_id": "another", "mounts": [record] });
    std::fs::write(dir.join("client/csi-mounts.json"), records.to_string()).unwrap();
    let request = CsiClaimRequest {
        namespace: "default".into(),
        volume_id: "data".into(),
        alloc_id: gone.into(),
        read_only: false,
        capability: CsiVolumeCapability::default(),
    };
    servers.claims.lock().unwrap().insert(gone.into(), request);
    let client = start(dir, &servers).await;
    until("the release of what was left", || servers.claims.lock().unwrap().is_empty().then_some(())).await;
    assert_eq!((calls(dir, "NodeUnpublishVolume"), calls(dir, "NodeUnstageVolume")), (3, 2));

    // What servers refuse for good fails the allocation at once.
    for (n, volume, why) in
        [(3, "missing", "volume not found: missing"), (5, "other", "volume other is registered for other modes")]
    {
        let id = format!("bbbbbbbb-0000-0000-0000-00000000000{n}");
        servers.write(user(&id, volume));
        servers.status(&id, ClientStatus::Failed).await;
        let states = servers.alloc(&id).task_states;
        let text = format!(
            "failed to setup alloc: pre-run hook \"csi_hook\" failed: failed to claim volume \"{volume}\": {why}"
        );
        assert!(states.get("t").expect("a state").events.iter().any(|e| e.display_message == text), "{states:?}");
    }

    let journal = std::fs::read_to_string(dir.join("storage/violations.jsonl")).unwrap_or_default();
    assert_eq!(journal, "");
    servers.stop(PLUGIN);
    until("no plugin", || client.handle().node().csi_node_plugins.is_empty().then_some(())).await;
    drop(process);
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_that_do_not_answer_are_killed() {
    let folder = Folder::new("late");
    let servers = Fake::new();
    let client = start(&folder.0, &servers).await;
    servers.write(plugin(1_200_000_000));
    servers.status(PLUGIN, ClientStatus::Failed).await;
    let states = servers.alloc(PLUGIN).task_states;
    let found = states
        .get("t")
        .expect("a state")
        .events
        .iter()
        .find(|e| e.r#type == TaskEventType::PluginBecameUnhealthy)
        .unwrap();
    assert!(found.display_message.starts_with("Killing the task: the plugin did not become healthy within 1.2s: "));
    assert!(client.handle().node().csi_node_plugins.is_empty());
    client.shutdown().await;
}

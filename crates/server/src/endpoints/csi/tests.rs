use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::*;
use crate::Server;
use crate::csi::Nodes;
use crate::nodes::node_rpc;
use crate::tests::{Dir, eventually, job, node, register as register_job, running, start};

const ONE: &str = "11111111-0000-4000-8000-000000000001";
const TWO: &str = "22222222-0000-4000-8000-000000000001";

/// Plugins that do what they are asked, or fail.
#[derive(Default)]
struct Plugins {
    asked: Mutex<Vec<String>>,
    /// Operations that fail, and nodes that no server reaches.
    failing: Mutex<BTreeSet<String>>,
    /// Operations that can't succeed.
    refused: Mutex<BTreeSet<String>>,
}

impl Plugins {
    fn fail(&self, what: &[&str]) {
        *self.failing.lock() = what.iter().map(|w| w.to_string()).collect();
    }

    fn refuse(&self, what: &[&str]) {
        *self.refused.lock() = what.iter().map(|w| w.to_string()).collect();
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }
}

impl Nodes for Arc<Plugins> {
    fn ask<'a>(&'a self, node_id: &'a str, call: CsiCall) -> BoxFuture<'a, Result<CsiReply, AskError>> {
        let (name, reply) = match &call.operation {
            CsiOperation::Validate(_) => ("validate", CsiReply::Done),
            CsiOperation::Create(_) => {
                let (external_id, topologies) = ("made".to_string(), Vec::new());
                ("create", CsiReply::Created { external_id, capacity: 10, context: BTreeMap::new(), topologies })
            }
            CsiOperation::Expand(_) => ("expand", CsiReply::Expanded { capacity: 20, node_too: true }),
            CsiOperation::Delete { .. } => ("delete", CsiReply::Done),
            CsiOperation::Attach { .. } => {
                let context = [("device".to_string(), "sda".to_string())].into();
                ("attach", CsiReply::Attached { context })
            }
            CsiOperation::Detach { .. } => ("detach", CsiReply::Done),
            CsiOperation::Unmount { .. } => ("unmount", CsiReply::Done),
            CsiOperation::ExpandOnNode { .. } => ("expand-on-node", CsiReply::Done),
            CsiOperation::ListVolumes(_) => ("list", CsiReply::Volumes { volumes: Vec::new(), next: String::new() }),
            CsiOperation::CreateSnapshot { .. } => ("snapshot", CsiReply::Snapshot(CsiSnapshot::default())),
            CsiOperation::DeleteSnapshot { .. } => ("delete-snapshot", CsiReply::Done),
            CsiOperation::ListSnapshots { .. } => {
                ("list-snapshots", CsiReply::Snapshots { snapshots: Vec::new(), next: String::new() })
            }
        };
        let failing = self.failing.lock();
        let answer = if failing.contains(node_id) {
            Err(AskError::NoPath)
        } else {
            self.asked.lock().push(name.into());
            let refused = self.refused.lock().contains(name);
            let kind = if refused { CsiErrorKind::Refused } else { CsiErrorKind::Retry };
            let error = CsiError { kind, text: format!("{name} failed") };
            if refused || failing.contains(name) { Err(error.into()) } else { Ok(reply) }
        };
        Box::pin(std::future::ready(answer))
    }
}

fn info(controller: bool) -> (String, CsiInfo) {
    let node_info = Some(CsiNodeInfo { id: "external-node".into(), max_volumes: 10, ..Default::default() });
    let controller_info = Some(CsiControllerInfo { supports_attach_detach: true, ..Default::default() });
    let info = CsiInfo {
        plugin_id: "p".into(),
        healthy: true,
        requires_controller_plugin: true,
        controller_info: controller_info.filter(|_| controller),
        node_info: node_info.filter(|_| !controller),
        ..Default::default()
    };
    ("p".into(), info)
}

async fn bench(dir: &Dir) -> (Server, Arc<Plugins>) {
    let server = start(dir, &ids::uuid()).await;
    let plugins = Arc::new(Plugins::default());
    server.ask_csi_plugins_by(Arc::new(plugins.clone()));
    for id in [ONE, TWO] {
        let mut with = node(id);
        // The first one runs a controller only: it takes no allocations with the volume.
        with.csi_controller_plugins = [info(true)].into();
        if id == TWO {
            with.csi_node_plugins = [info(false)].into();
        }
        node_rpc::register(&server, with, "").await.unwrap();
        node_rpc::update_status(&server, id, &"secret".into(), "", NodeStatus::Ready).await.unwrap();
    }
    (server, plugins)
}

fn volume() -> CsiVolume {
    let capability =
        CsiVolumeCapability { access_mode: VolumeAccessMode::SingleNodeWriter, attachment_mode: "file-system".into() };
    CsiVolume {
        id: "v".into(),
        plugin_id: "p".into(),
        secrets: [("key".to_string(), SecretString::new("value"))].into(),
        requested_capabilities: vec![capability],
        ..Default::default()
    }
}

/// A job with the volume; the ID of its allocation.
async fn placed(server: &Server, id: &str) -> String {
    let mut with = job(id, 1);
    let request = VolumeRequest {
        r#type: "csi".into(),
        source: "v".into(),
        access_mode: VolumeAccessMode::SingleNodeWriter,
        attachment_mode: "file-system".into(),
        ..Default::default()
    };
    with.task_groups[0].volumes = Some([("v".to_string(), request)].into());
    register_job(server, with).await;
    eventually("placement", || running(server, id) == 1).await;
    server.snapshot().state().allocs_of_job("default", id)[0].alloc.id.to_string()
}

fn asking(alloc_id: &str) -> CsiClaimRequest {
    let capability = volume().requested_capabilities.remove(0);
    let (namespace, volume_id, alloc_id) = ("default".into(), "v".into(), alloc_id.into());
    CsiClaimRequest { namespace, volume_id, alloc_id, read_only: false, capability }
}

fn of(server: &Server) -> Arc<CsiVolume> {
    existing(server, "default", "v").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volumes_are_claimed_and_released() {
    let dir = Dir::new();
    let (server, plugins) = bench(&dir).await;
    register(&server, "default", vec![volume()]).await.unwrap();
    let (alloc, second) = (placed(&server, "web").await, placed(&server, "second").await);
    let proof: crate::nodes::node_auth::NodeProof = "secret".into();
    plugins.asked();
    // Another node does not claim for the allocation, and no one claims what an allocation does not ask for.
    assert!(claim(&server, ONE, &proof, asking(&alloc)).await.is_err());
    assert!(claim(&server, TWO, &"wrong".into(), asking(&alloc)).await.is_err());
    assert!(claim(&server, TWO, &proof, asking("none")).await.is_err());
    assert!(!of(&server).in_use() && plugins.asked().is_empty());
    // The claim is written before the controller is asked, and stays if that fails.
    plugins.fail(&["attach", ONE]);
    let failed = claim(&server, TWO, &proof, asking(&alloc)).await.unwrap_err();
    assert_eq!((failed.message.as_str(), plugins.asked()), ("attach failed", vec!["attach".to_string()]));
    assert!(of(&server).write_claims.contains_key(&alloc));
    assert_eq!(failed.kind, ErrorKind::NotYet);
    plugins.refuse(&["attach"]);
    let refused = claim(&server, TWO, &proof, asking(&alloc)).await.unwrap_err();
    assert_eq!((refused.kind, refused.message.as_str()), (ErrorKind::Internal, "attach failed"));
    plugins.refuse(&[]);
    plugins.fail(&[]);
    let claimed = claim(&server, TWO, &proof, asking(&alloc)).await.unwrap();
    assert_eq!(claimed.attach_context["device"], "sda");
    assert_eq!(
        (claimed.claim.external_node_id.as_str(), claimed.volume.secrets["key"].expose()),
        ("external-node", "value")
    );
    plugins.asked();
    // Only what may change by itself is worth asking again.
    let taken = claim(&server, TWO, &proof, asking(&second)).await.unwrap_err();
    assert_eq!((taken.kind, taken.message.as_str()), (ErrorKind::NotYet, "volume max claims reached: v"));
    let other =
        CsiVolumeCapability { access_mode: VolumeAccessMode::MultiNodeMultiWriter, ..asking(&second).capability };
    let never =
        claim(&server, TWO, &proof, CsiClaimRequest { capability: other, ..asking(&second) }).await.unwrap_err();
    assert_eq!(never.kind, ErrorKind::Internal, "{}", never.message);
    let missing = CsiClaimRequest { volume_id: "w".into(), ..asking(&second) };
    assert_eq!(claim(&server, TWO, &proof, missing).await.unwrap_err().kind, ErrorKind::Internal);
    // A volume in use is neither deleted nor deregistered.
    for refused in [
        delete(&server, "default", "v", BTreeMap::new()).await,
        deregister(&server, "default", "v", false).await,
        deregister(&server, "default", "v", true).await,
    ] {
        assert_eq!(refused.unwrap_err().message, "volume in use: v");
    }
    let release_it = || {
        let (namespace, volume_id, alloc_id) = ("default".into(), "v".into(), alloc.clone());
        CsiRelease { namespace, volume_id, alloc_id }
    };
    assert_eq!(release(&server, ONE, &proof, release_it()).await.unwrap_err().status(), 403);
    // The claim is freed only after the controller has detached the volume.
    plugins.fail(&["detach"]);
    assert_eq!(release(&server, TWO, &proof, release_it()).await.unwrap_err().message, "detach failed");
    assert_eq!(of(&server).past_claims[&alloc].progress(), Some(CsiClaimState::NodeDetached));
    plugins.fail(&[]);
    release(&server, TWO, &proof, release_it()).await.unwrap();
    assert!(!of(&server).in_use());
    release(&server, TWO, &proof, release_it()).await.unwrap();
    delete(&server, "default", "v", BTreeMap::new()).await.unwrap();
    assert!(stored(&server, "default", "v").is_none());
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_frees_what_nodes_do_not() {
    let dir = Dir::new();
    let (server, plugins) = bench(&dir).await;
    register(&server, "default", vec![volume()]).await.unwrap();
    let alloc = placed(&server, "web").await;
    let proof: crate::nodes::node_auth::NodeProof = "secret".into();
    claim(&server, TWO, &proof, asking(&alloc)).await.unwrap();
    plugins.asked();
    let ended = Allocation { id: alloc.as_str().into(), client_status: ClientStatus::Complete, ..Default::default() };
    node_rpc::update_allocs(&server, TWO, &proof, vec![ended]).await.unwrap();
    eventually("the claim to be freed", || !of(&server).claiming().any(|a| *a == alloc)).await;
    assert_eq!(plugins.asked()[..2], ["unmount".to_string(), "detach".to_string()]);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volumes_are_created_expanded_and_detached() {
    let dir = Dir::new();
    let (server, plugins) = bench(&dir).await;
    let lost = CsiVolume { plugin_id: "q".into(), ..volume() };
    let refused = register(&server, "default", vec![lost]).await.unwrap_err();
    assert_eq!(refused.message, "no CSI plugin named: q could be found");
    let nowhere = CsiVolume { namespace: "none".into(), ..volume() };
    assert!(create(&server, "default", vec![nowhere]).await.is_err() && plugins.asked().is_empty());
    // Healthy controllers are asked in turn.
    plugins.fail(&[ONE]);
    let (made, _) = create(&server, "default", vec![volume()]).await.unwrap();
    assert_eq!((made[0].external_id.as_str(), made[0].capacity, made[0].secrets.len()), ("made", 10, 0));
    assert_eq!((of(&server).secrets.len(), plugins.asked()), (1, vec!["create".to_string()]));
    plugins.fail(&[ONE, TWO]);
    assert!(delete(&server, "default", "v", BTreeMap::new()).await.is_err());
    plugins.fail(&[]);
    let alloc = placed(&server, "web").await;
    claim(&server, TWO, &"secret".into(), asking(&alloc)).await.unwrap();
    plugins.asked();
    let larger = CsiVolume { requested_capacity_min: 15, ..volume() };
    register(&server, "default", vec![larger]).await.unwrap();
    assert_eq!((of(&server).capacity, plugins.asked()), (20, vec!["expand".into(), "expand-on-node".into()]));
    assert!(of(&server).in_use());
    // The size of a registered volume is unknown: it grows when more is asked for than before.
    let found = CsiVolume { id: "found".into(), requested_capacity_min: 15, ..volume() };
    register(&server, "default", vec![found.clone()]).await.unwrap();
    register(&server, "default", vec![found.clone()]).await.unwrap();
    assert_eq!(plugins.asked(), ["validate"]);
    register(&server, "default", vec![CsiVolume { requested_capacity_min: 16, ..found }]).await.unwrap();
    assert_eq!(plugins.asked(), ["expand"]);
    detach(&server, "default", "v", ONE).await.unwrap();
    assert!(of(&server).in_use() && plugins.asked().is_empty());
    detach(&server, "default", "v", TWO).await.unwrap();
    assert_eq!((of(&server).in_use(), plugins.asked()), (false, vec!["unmount".into(), "detach".into()]));
    assert_eq!(detach(&server, "default", "w", TWO).await.unwrap_err().message, "no such volume");
    let unknown = server.commit(Operation::CsiPluginDelete { id: "p".into() }).await;
    assert_eq!(unknown.unwrap_err().message, "plugin in use");
    server.shutdown().await;
}

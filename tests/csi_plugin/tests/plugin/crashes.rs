//! A plugin that is killed by SIGKILL before or after each call: the call can be repeated, and has its effect once.

use std::fs;
use std::time::Duration;

use encamp_csi::{AccessMode, CallError, Context, CreateSnapshot, ErrorKind, ListSnapshots, Secrets, Volume};
use serde_json::json;

use crate::support::*;

const WRITER: AccessMode = AccessMode::SingleNodeWriter;

/// A plugin that is started again when a call ends with it.
struct Restarted<'a> {
    node: &'a Node,
    running: Option<Running>,
    kills: usize,
}

impl Restarted<'_> {
    /// Makes a call until it succeeds.
    async fn call<T>(&mut self, call: impl AsyncFn(&encamp_csi::Plugin) -> Result<T, CallError>) -> T {
        for _ in 0..2 {
            let running = match self.running.take() {
                Some(running) => running,
                None => self.node.plugin(&[]).await,
            };
            let error = match call(&running.plugin).await {
                Ok(answer) => {
                    self.running = Some(running);
                    return answer;
                }
                Err(e) => e,
            };
            assert_eq!(error.kind, ErrorKind::Interrupted, "{error}");
            assert!(error.kind.outcome_unknown() && encamp_csi::retry(&error, 1).is_some());
            running.ended().await;
            self.kills += 1;
        }
        panic!("the repeated call fails too");
    }
}

/// The life of a volume; gives how often the plugin was killed.
async fn life(place: &Place, node: &Node) -> usize {
    let mut plugin = Restarted { node, running: None, kills: 0 };
    let volume: Volume = plugin.call(async |p| p.create_volume(create("v", WRITER)).await).await;
    let context: Context = plugin.call(async |p| p.attach_volume(attach(&volume, node, WRITER)).await).await;
    plugin.call(async |p| p.stage_volume(stage(&volume, node, WRITER, &context)).await).await;
    plugin.call(async |p| p.mount_volume(mount(&volume, node, WRITER, &context, "target")).await).await;
    fs::write(node.seen("target/file"), "contents").unwrap();
    let snapshot = CreateSnapshot {
        source: volume.id.clone(),
        name: "s".into(),
        parameters: Default::default(),
        secrets: Secrets::new(),
    };
    let snapshot = plugin.call(async |p| p.create_snapshot(snapshot.clone()).await).await;
    let volumes = plugin.call(async |p| p.list_all_volumes().await).await;
    let snapshots = plugin.call(async |p| p.list_all_snapshots(ListSnapshots::default()).await).await;
    assert_eq!((volumes.len(), snapshots.len()), (1, 1));
    assert_eq!(fs::read_to_string(node.seen("target/file")).unwrap(), "contents");
    plugin.call(async |p| p.delete_snapshot(&snapshot.id, Secrets::new()).await).await;
    plugin.call(async |p| p.unmount_volume(&volume.id, &node.at("target")).await).await;
    assert!(!node.seen("target").exists());
    plugin.call(async |p| p.unstage_volume(&volume.id, &node.at("staging")).await).await;
    plugin.call(async |p| p.detach_volume(&volume.id, &node.external(), Secrets::new()).await).await;
    plugin.call(async |p| p.delete_volume(&volume.id, Secrets::new()).await).await;
    assert!(plugin.call(async |p| p.list_all_volumes().await).await.is_empty());
    assert!(place.lines("violations.jsonl").is_empty());
    plugin.kills
}

const METHODS: [&str; 10] = [
    "CreateVolume",
    "ControllerPublishVolume",
    "NodeStageVolume",
    "NodePublishVolume",
    "CreateSnapshot",
    "DeleteSnapshot",
    "NodeUnpublishVolume",
    "NodeUnstageVolume",
    "ControllerUnpublishVolume",
    "DeleteVolume",
];

#[tokio::test]
async fn calls_that_kill_the_plugin_can_be_repeated() {
    for when in ["before", "after"] {
        let Some(place) = Place::new() else { return };
        let node = Node::start(&place, "a").await;
        let fault = |method: &&str| json!({ "method": method, "nth": 1, "when": when, "what": "exit" });
        place.faults(&METHODS.iter().map(fault).collect());
        assert_eq!(life(&place, &node).await, METHODS.len(), "{when}");
        let begun = |method: &&str| {
            let lines = place.lines("journal.jsonl");
            lines.iter().filter(|l| l["method"] == **method && l["event"] == "begin").count()
        };
        assert_eq!(METHODS.map(|m| begun(&m)), [2; 10]);
        place.faults(&json!([]));
        assert_eq!(life(&place, &node).await, 0);
    }
}

#[tokio::test]
async fn a_plugin_that_is_killed_from_outside_is_found_again() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let running = node.plugin(&[]).await;
    let plugin = running.plugin.clone();
    let volume = plugin.create_volume(create("v", WRITER)).await.unwrap();
    use_volume(&plugin, &node, &volume, WRITER, "target").await;
    running.kill().await;
    let e = plugin.probe().await.unwrap_err();
    // The client may not have noticed yet that the connection has ended.
    assert!(matches!(e.kind, ErrorKind::Unavailable | ErrorKind::Interrupted), "{e}");
    assert_eq!(encamp_csi::retry(&e, 1), Some(Duration::from_secs(1)));
    let _running = node.plugin(&[]).await;
    // The same client, and the same mounts.
    assert_eq!(plugin.list_all_volumes().await.unwrap()[0].nodes, [node.external()]);
    fs::write(node.seen("target/file"), "contents").unwrap();
    release_volume(&plugin, &node, &volume.id, "target").await;
}

//! Two nodes and one volume: the plugin refuses a second writer, and records it.

use std::fs;

use encamp_csi::{AccessMode, AttachVolume, ErrorKind, MountVolume, Secrets};
use serde_json::{Value, json};

use crate::support::*;

fn violation(kind: &str, volume: &encamp_csi::Volume, nodes: &[&str]) -> Value {
    json!({ "kind": kind, "volume": volume.id.as_str(), "nodes": nodes })
}

#[tokio::test]
async fn a_single_writer_is_attached_to_one_node() {
    let Some(place) = Place::new() else { return };
    let (a, b) = (Node::start(&place, "a").await, Node::start(&place, "b").await);
    let (on_a, on_b) = (a.plugin(&[]).await, b.plugin(&["--mode", "node"]).await);
    let controller = &on_a.plugin;
    for access in [AccessMode::SingleNodeWriter, AccessMode::MultiNodeSingleWriter] {
        let before = place.lines("violations.jsonl").len();
        let volume = controller.create_volume(create(&format!("{access:?}"), access)).await.unwrap();
        controller.attach_volume(attach(&volume, &a, access)).await.unwrap();
        let e = controller.attach_volume(attach(&volume, &b, access)).await.unwrap_err();
        assert_eq!(e.kind, ErrorKind::InUse, "{e}");
        let expected = violation("two writers attached", &volume, &["a", "b"]);
        assert_eq!(place.lines("violations.jsonl")[before..], [expected]);
        // A reader is no second writer, but one node is one node.
        let reader = AttachVolume { read_only: true, ..attach(&volume, &b, access) };
        let attached = controller.attach_volume(reader).await;
        assert_eq!(attached.is_ok(), access.many_nodes(), "{attached:?}");
        assert_eq!(place.lines("violations.jsonl").len(), before + 1);
        controller.detach_volume(&volume.id, &a.external(), Secrets::new()).await.unwrap();
    }
    // The node plugin is no controller.
    let e = on_b.plugin.create_volume(create("v", AccessMode::SingleNodeWriter)).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::Unimplemented);
}

#[tokio::test]
async fn a_single_writer_mounts_on_one_node() {
    let Some(place) = Place::new() else { return };
    let (a, b) = (Node::start(&place, "a").await, Node::start(&place, "b").await);
    // Nothing but the mounts tells who writes.
    let options = ["--no-attach", "--no-stage"];
    let (on_a, on_b) = (a.plugin(&options).await, b.plugin(&options).await);
    let access = AccessMode::MultiNodeSingleWriter;
    let volume = on_a.plugin.create_volume(create("v", access)).await.unwrap();
    let of =
        |node: &Node| MountVolume { staging_path: None, ..mount(&volume, node, access, &Default::default(), "target") };
    on_a.plugin.mount_volume(of(&a)).await.unwrap();
    let e = on_b.plugin.mount_volume(of(&b)).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::InUse, "{e}");
    assert_eq!(place.lines("violations.jsonl"), [violation("two writers mounted", &volume, &["a", "b"])]);
    assert!(!b.seen("target").exists());
    // A reader sees what the writer writes.
    on_b.plugin.mount_volume(MountVolume { read_only: true, ..of(&b) }).await.unwrap();
    fs::write(a.seen("target/file"), "contents").unwrap();
    assert_eq!(fs::read_to_string(b.seen("target/file")).unwrap(), "contents");
    for (node, plugin) in [(&a, &on_a.plugin), (&b, &on_b.plugin)] {
        plugin.unmount_volume(&volume.id, &node.at("target")).await.unwrap();
    }
    on_b.plugin.mount_volume(of(&b)).await.unwrap();
    on_b.plugin.unmount_volume(&volume.id, &b.at("target")).await.unwrap();
    assert_eq!(place.lines("violations.jsonl").len(), 1);
}

#[tokio::test]
async fn detaching_from_a_lost_node_fences_it_off() {
    let Some(place) = Place::new() else { return };
    let (a, b) = (Node::start(&place, "a").await, Node::start(&place, "b").await);
    let (on_a, on_b) = (a.plugin(&[]).await, b.plugin(&[]).await);
    let access = AccessMode::SingleNodeWriter;
    let volume = on_a.plugin.create_volume(create("v", access)).await.unwrap();
    use_volume(&on_a.plugin, &a, &volume, access, "target").await;
    on_b.plugin.detach_volume(&volume.id, &a.external(), Secrets::new()).await.unwrap();
    assert_eq!(place.lines("violations.jsonl"), [violation("detached while mounted", &volume, &["a"])]);
    use_volume(&on_b.plugin, &b, &volume, access, "target").await;
    // The node that was lost can still clean up.
    release_volume(&on_a.plugin, &a, &volume.id, "target").await;
    assert!(!a.seen("target").exists() && b.seen("target").exists());
    release_volume(&on_b.plugin, &b, &volume.id, "target").await;
    on_b.plugin.delete_volume(&volume.id, Secrets::new()).await.unwrap();
}

//! Volumes and snapshots from their creation to their end.

use std::fs;

use encamp_csi::{
    AccessMode, Attachment, Capability, CapacityRange, CreateSnapshot, CreateVolume, ErrorKind, ExpandOnNode,
    ExpandVolume, ListSnapshots, PageRequest, Secrets, ValidateVolume, Validation, VolumeSource,
};
use encamp_model::{CsiTopology, CsiTopologyRequest};

use crate::support::*;

const WRITER: AccessMode = AccessMode::SingleNodeWriter;

#[tokio::test]
async fn a_volume_lives_from_creation_to_deletion() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let running = node.plugin(&["--topology", "zone=1"]).await;
    let plugin = &running.plugin;
    assert_eq!(plugin.probe().await, Ok(true));
    assert_eq!(plugin.plugin_info().await.unwrap().name, "csi.test.encamp");
    assert!(plugin.plugin_capabilities().await.unwrap().topologies);
    assert!(plugin.controller_capabilities().await.unwrap().attach);
    assert!(plugin.node_capabilities().await.unwrap().stage);
    let info = plugin.node_info().await.unwrap();
    assert_eq!((info.id, info.max_volumes), (node.external(), None));

    let volume = plugin.create_volume(create("v", WRITER)).await.unwrap();
    assert_eq!(plugin.create_volume(create("v", WRITER)).await.as_ref(), Ok(&volume), "idempotent");
    let other = CreateVolume { capacity: CapacityRange { min: 2 << 20, max: 0 }, ..create("v", WRITER) };
    assert_eq!(plugin.create_volume(other).await.unwrap_err().kind, ErrorKind::AlreadyExists);
    use_volume(plugin, &node, &volume, WRITER, "target").await;
    fs::write(node.seen("target/file"), "contents").unwrap();
    let listed = plugin.list_all_volumes().await.unwrap();
    assert_eq!((listed.len(), listed[0].nodes.as_slice()), (1, [node.external()].as_slice()));

    let stats = plugin.volume_stats(&volume.id, &node.at("target"), None).await.unwrap();
    assert_eq!(stats.bytes.map(|b| (b.total, b.used)), Some((1 << 20, 8)));
    let e = plugin.volume_stats(&volume.id, "/elsewhere", None).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::NotFound);

    let larger = CapacityRange { min: 3 << 20, max: 0 };
    let volume_id = volume.id.clone();
    let expand = ExpandVolume { volume: volume_id, capacity: larger, capability: None, secrets: Secrets::new() };
    let expanded = plugin.expand_volume(expand).await.unwrap();
    assert_eq!((expanded.capacity, expanded.node_too), (3 << 20, true));
    let expand = ExpandOnNode {
        volume: volume.id.clone(),
        path: node.at("target"),
        staging_path: Some(node.at("staging")),
        capacity: larger,
        capability: None,
        secrets: Secrets::new(),
    };
    assert_eq!(plugin.expand_on_node(expand).await, Ok(3 << 20));

    // A snapshot keeps what the volume contained.
    let snapshot = CreateSnapshot {
        source: volume.id.clone(),
        name: "s".into(),
        parameters: Default::default(),
        secrets: Secrets::new(),
    };
    let snapshot = plugin.create_snapshot(snapshot).await.unwrap();
    assert_eq!((snapshot.size, snapshot.ready, &snapshot.source), (3 << 20, true, &volume.id));
    fs::write(node.seen("target/file"), "later").unwrap();
    assert_eq!(plugin.delete_volume(&volume.id, Secrets::new()).await.unwrap_err().kind, ErrorKind::InUse);
    release_volume(plugin, &node, &volume.id, "target").await;
    assert!(!node.seen("target").exists());
    plugin.delete_volume(&volume.id, Secrets::new()).await.unwrap();
    plugin.delete_volume(&volume.id, Secrets::new()).await.unwrap();

    let source = Some(VolumeSource::Snapshot(snapshot.id.clone()));
    let bounds = CapacityRange { min: 1 << 20, max: 0 };
    let small = CreateVolume { source: source.clone(), capacity: bounds, ..create("copy", WRITER) };
    assert_eq!(plugin.create_volume(small).await.unwrap_err().kind, ErrorKind::OutOfRange);
    let bounds = CapacityRange { min: 3 << 20, max: 0 };
    let copy = CreateVolume { source: source.clone(), capacity: bounds, ..create("copy", WRITER) };
    let copy = plugin.create_volume(copy).await.unwrap();
    assert_eq!(copy.source, source);
    use_volume(plugin, &node, &copy, WRITER, "target").await;
    assert_eq!(fs::read_to_string(node.seen("target/file")).unwrap(), "contents");
    release_volume(plugin, &node, &copy.id, "target").await;
    plugin.delete_snapshot(&snapshot.id, Secrets::new()).await.unwrap();
    assert_eq!(plugin.list_all_snapshots(ListSnapshots::default()).await, Ok(Vec::new()));
    plugin.delete_volume(&copy.id, Secrets::new()).await.unwrap();
    assert_eq!(place.lines("violations.jsonl"), Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn calls_in_the_wrong_order_are_refused() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let running = node.plugin(&[]).await;
    let plugin = &running.plugin;
    let volume = plugin.create_volume(create("v", WRITER)).await.unwrap();
    let context = [("attachment".to_string(), format!("{}@a", volume.id))].into();
    let staging = stage(&volume, &node, WRITER, &context);
    assert_eq!(plugin.stage_volume(staging.clone()).await.unwrap_err().kind, ErrorKind::InUse, "not attached");
    assert_eq!(plugin.attach_volume(attach(&volume, &node, WRITER)).await.as_ref(), Ok(&context));
    let mounting = mount(&volume, &node, WRITER, &context, "target");
    assert_eq!(plugin.mount_volume(mounting.clone()).await.unwrap_err().kind, ErrorKind::InUse, "not staged");
    let wrong = stage(&volume, &node, WRITER, &Default::default());
    assert_eq!(plugin.stage_volume(wrong).await.unwrap_err().kind, ErrorKind::InvalidArgument, "no context");
    plugin.stage_volume(staging.clone()).await.unwrap();
    plugin.stage_volume(staging).await.unwrap();
    plugin.mount_volume(mounting.clone()).await.unwrap();
    plugin.mount_volume(mounting.clone()).await.unwrap();
    let other = encamp_csi::MountVolume { read_only: true, ..mounting };
    assert_eq!(plugin.mount_volume(other).await.unwrap_err().kind, ErrorKind::AlreadyExists);
    let e = plugin.mount_volume(mount(&volume, &node, WRITER, &context, "second")).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::InUse, "one target: {e}");
    let e = plugin.unstage_volume(&volume.id, &node.at("staging")).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::InUse, "mounted: {e}");
    release_volume(plugin, &node, &volume.id, "target").await;
    // What is undone can be undone again.
    release_volume(plugin, &node, &volume.id, "target").await;
    let gone = encamp_csi::VolumeId::new("vol-0");
    assert_eq!(plugin.unmount_volume(&gone, "/t").await.unwrap_err().kind, ErrorKind::NotFound);
    let e = plugin.attach_volume(encamp_csi::AttachVolume {
        node: encamp_csi::ExternalNodeId::new("nowhere"),
        ..attach(&volume, &node, WRITER)
    });
    assert_eq!(e.await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn tasks_that_only_read_can_not_write() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let running = node.plugin(&["--no-stage", "--no-attach"]).await;
    let plugin = &running.plugin;
    assert!(!plugin.node_capabilities().await.unwrap().stage);
    let access = AccessMode::MultiNodeMultiWriter;
    let volume = plugin.create_volume(create("v", access)).await.unwrap();
    let both = [("write", false), ("read", true)];
    for (target, read_only) in both {
        let mounting = mount(&volume, &node, access, &Default::default(), target);
        plugin.mount_volume(encamp_csi::MountVolume { read_only, staging_path: None, ..mounting }).await.unwrap();
    }
    fs::write(node.seen("write/file"), "contents").unwrap();
    assert_eq!(fs::read_to_string(node.seen("read/file")).unwrap(), "contents");
    let e = fs::write(node.seen("read/file"), "").unwrap_err();
    assert_eq!(e.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    for (target, _) in both {
        plugin.unmount_volume(&volume.id, &node.at(target)).await.unwrap();
    }
}

#[tokio::test]
async fn block_devices_are_files() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let running = node.plugin(&[]).await;
    let plugin = &running.plugin;
    let capability = Capability { access: WRITER, attachment: Attachment::BlockDevice };
    let block = CreateVolume { capabilities: vec![capability.clone()], ..create("v", WRITER) };
    let volume = plugin.create_volume(block).await.unwrap();
    let attaching = encamp_csi::AttachVolume { capability: capability.clone(), ..attach(&volume, &node, WRITER) };
    let context = plugin.attach_volume(attaching).await.unwrap();
    let staging = stage(&volume, &node, WRITER, &context);
    plugin.stage_volume(encamp_csi::StageVolume { capability: capability.clone(), ..staging }).await.unwrap();
    let mounting = mount(&volume, &node, WRITER, &context, "device");
    plugin.mount_volume(encamp_csi::MountVolume { capability, ..mounting }).await.unwrap();
    assert_eq!(fs::metadata(node.seen("device")).unwrap().len(), 1 << 20);
    release_volume(plugin, &node, &volume.id, "device").await;
    let validate = |access| ValidateVolume {
        volume: volume.id.clone(),
        capabilities: vec![Capability { access, attachment: Attachment::BlockDevice }],
        parameters: Default::default(),
        secrets: Secrets::new(),
        context: volume.context.clone(),
    };
    assert_eq!(plugin.validate_volume(validate(WRITER)).await, Ok(Validation::Confirmed));
    let refused = plugin.validate_volume(validate(AccessMode::MultiNodeMultiWriter)).await.unwrap();
    assert_eq!(refused, Validation::Refused("the volume can't be used as MULTI_NODE_MULTI_WRITER".into()));
}

#[tokio::test]
async fn capacity_places_and_nodes_have_bounds() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let options = ["--topology", "zone=1", "--max-volumes", "1", "--capacity", "10000000", "--max-size", "6000000"];
    let running = node.plugin(&options).await;
    let plugin = &running.plugin;
    let sized = |name: &str, min| CreateVolume { capacity: CapacityRange { min, max: 0 }, ..create(name, WRITER) };
    assert_eq!(plugin.create_volume(sized("a", 7_000_000)).await.unwrap_err().kind, ErrorKind::OutOfRange);
    let zone = |zone: &str| CsiTopology { segments: [("zone".to_string(), zone.to_string())].into() };
    let placed = |zones: &[&str]| {
        let required = zones.iter().map(|z| zone(z)).collect();
        let topologies = Some(CsiTopologyRequest { required, preferred: Vec::new() });
        CreateVolume { topologies, ..sized("b", 6_000_000) }
    };
    assert_eq!(plugin.create_volume(placed(&["2"])).await.unwrap_err().kind, ErrorKind::ResourceExhausted);
    let b = plugin.create_volume(placed(&["2", "1"])).await.unwrap();
    assert_eq!(b.topologies, [zone("1")]);
    assert_eq!(plugin.create_volume(sized("c", 5_000_000)).await.unwrap_err().kind, ErrorKind::ResourceExhausted);
    let c = plugin.create_volume(sized("c", 4_000_000)).await.unwrap();
    plugin.attach_volume(attach(&b, &node, WRITER)).await.unwrap();
    let e = plugin.attach_volume(attach(&c, &node, WRITER)).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::ResourceExhausted, "{e}");
    // Pages.
    let page = plugin.list_volumes(PageRequest { max_entries: 1, start: None }).await.unwrap();
    assert_eq!((page.entries.len(), page.next.is_some()), (1, true));
    let rest = plugin.list_volumes(PageRequest { max_entries: 1, start: page.next }).await.unwrap();
    assert_eq!((rest.entries.len(), rest.next), (1, None));
    let e = plugin.list_volumes(PageRequest { max_entries: 0, start: Some("odd".into()) }).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::InProgress);
}

//! What is sent for each call, and what is made of the answer.

use std::collections::BTreeMap;

use encamp_model::{CsiMountOptions, CsiTopology, CsiTopologyRequest};

use super::fake::{Answer, Fake};
use crate::error::ErrorKind;
use crate::modes::{AccessMode, Attachment, Capability};
use crate::proto;
use crate::types::*;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn secrets() -> Secrets {
    [("password".to_string(), "s3cret".into())].into()
}

fn capability() -> Capability {
    let attachment =
        Attachment::FileSystem(CsiMountOptions { fs_type: "ext4".into(), mount_flags: vec!["noatime".into()] });
    Capability { access: AccessMode::SingleNodeWriter, attachment }
}

fn sent_capability() -> proto::VolumeCapability {
    use proto::volume_capability::{AccessMode, AccessType, MountVolume};
    let (fs_type, mount_flags) = ("ext4".into(), vec!["noatime".into()]);
    let mount = MountVolume { fs_type, mount_flags, ..Default::default() };
    proto::VolumeCapability { access_mode: Some(AccessMode { mode: 1 }), access_type: Some(AccessType::Mount(mount)) }
}

fn topology(zone: &str) -> CsiTopology {
    CsiTopology { segments: map(&[("zone", zone)]) }
}

fn create() -> CreateVolume {
    CreateVolume {
        name: "v".into(),
        capacity: CapacityRange { min: 10, max: 0 },
        capabilities: vec![capability()],
        parameters: map(&[("type", "ssd")]),
        secrets: secrets(),
        source: Some(VolumeSource::Snapshot(SnapshotId::new("snap"))),
        topologies: Some(CsiTopologyRequest { required: vec![topology("a")], preferred: Vec::new() }),
    }
}

#[tokio::test]
async fn volumes_are_created() {
    let volume = proto::Volume {
        capacity_bytes: 20,
        volume_id: "id".into(),
        volume_context: map(&[("k", "v")]),
        accessible_topology: vec![proto::Topology { segments: map(&[("zone", "a")]) }],
        ..Default::default()
    };
    let fake = Fake::start(move |_, _| Answer::message(&proto::CreateVolumeResponse { volume: Some(volume.clone()) }));
    let volume = fake.plugin().create_volume(create()).await.unwrap();
    let expected = Volume {
        id: VolumeId::new("id"),
        capacity: 20,
        context: map(&[("k", "v")]),
        source: None,
        topologies: vec![topology("a")],
    };
    assert_eq!(volume, expected);
    let sent: proto::CreateVolumeRequest = fake.only("/csi.v1.Controller/CreateVolume");
    assert_eq!((sent.name.as_str(), sent.parameters), ("v", map(&[("type", "ssd")])));
    assert_eq!(sent.secrets, map(&[("password", "s3cret")]));
    assert!(sent.capacity_range == Some(proto::CapacityRange { required_bytes: 10, limit_bytes: 0 }));
    assert!(sent.volume_capabilities == [sent_capability()]);
    let Some(proto::volume_content_source::Type::Snapshot(source)) = sent.volume_content_source.unwrap().r#type else {
        panic!("no snapshot");
    };
    assert_eq!(source.snapshot_id, "snap");
    let requirement = sent.accessibility_requirements.unwrap();
    assert_eq!((requirement.requisite.len(), requirement.preferred.len()), (1, 0));
}

#[tokio::test]
async fn volumes_of_plugins_are_checked() {
    let with = |change: fn(&mut proto::Volume)| {
        let mut volume = proto::Volume { volume_id: "id".into(), ..Default::default() };
        change(&mut volume);
        Answer::message(&proto::CreateVolumeResponse { volume: Some(volume) })
    };
    let cases = [
        (Answer::message(&proto::CreateVolumeResponse::default()), "the volume is missing"),
        (with(|v| v.volume_id.clear()), "the ID of the volume is empty"),
        (with(|v| v.capacity_bytes = -1), "the capacity is -1"),
        (with(|v| v.volume_context = map(&[("k", &"x".repeat(70_000))])), "the context of the volume has 70001 bytes"),
        (with(|v| v.accessible_topology = vec![proto::Topology::default(); 1001]), "1001 topologies"),
    ];
    for (answer, text) in cases {
        let fake = Fake::start(move |_, _| answer.clone());
        let e = fake.plugin().create_volume(create()).await.unwrap_err();
        assert!(e.kind == ErrorKind::ProtocolViolation && e.message.contains(text), "{e}, not {text}");
    }
}

#[tokio::test]
async fn errors_of_plugins_have_kinds_and_no_secrets() {
    let kinds = [
        (1, ErrorKind::Other(1)),
        (2, ErrorKind::Other(2)),
        (3, ErrorKind::InvalidArgument),
        (4, ErrorKind::Timeout),
        (5, ErrorKind::NotFound),
        (6, ErrorKind::AlreadyExists),
        (7, ErrorKind::Denied),
        (8, ErrorKind::ResourceExhausted),
        (9, ErrorKind::InUse),
        (10, ErrorKind::InProgress),
        (11, ErrorKind::OutOfRange),
        (12, ErrorKind::Unimplemented),
        (13, ErrorKind::Other(13)),
        (14, ErrorKind::Unavailable),
        (15, ErrorKind::Other(15)),
        (16, ErrorKind::Denied),
        // No code of gRPC.
        (99, ErrorKind::Other(2)),
    ];
    for (code, kind) in kinds {
        let fake = Fake::start(move |_, _| Answer::error(code, "bad s3cret%0Athere"));
        let e = fake.plugin().create_volume(create()).await.unwrap_err();
        assert_eq!((e.kind, e.message.as_str()), (kind, "bad <redacted> there"), "code {code}");
        // Errors may also be in the headers.
        let fake = Fake::start(move |_, _| {
            let mut answer = Answer::error(code, "bad s3cret");
            answer.headers.extend(answer.trailers.take().unwrap());
            answer
        });
        let e = fake.plugin().delete_volume(&VolumeId::new("v"), secrets()).await.unwrap_err();
        assert_eq!((e.kind, e.to_string().contains("s3cret")), (kind, false), "{e}");
    }
    let fake = Fake::start(|_, _| Answer::error(9, "not healthy"));
    assert_eq!(fake.plugin().probe().await.unwrap_err().kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn plugins_say_what_they_are() {
    use proto::plugin_capability::{Service, Type, VolumeExpansion};
    let fake = Fake::start(|path, _| match path {
        "/csi.v1.Identity/Probe" => Answer::message(&proto::ProbeResponse { ready: Some(false) }),
        "/csi.v1.Identity/GetPluginCapabilities" => {
            let service = |n| Type::Service(Service { r#type: n });
            let all = [service(1), service(2), service(77), Type::VolumeExpansion(VolumeExpansion { r#type: 2 })];
            let capabilities = all.map(|t| proto::PluginCapability { r#type: Some(t) }).to_vec();
            Answer::message(&proto::GetPluginCapabilitiesResponse { capabilities })
        }
        "/csi.v1.Controller/ControllerGetCapabilities" => {
            use proto::controller_service_capability::{Rpc, Type};
            let all = [1, 2, 9, 11, 13, 400].map(|n| Type::Rpc(Rpc { r#type: n }));
            let capabilities = all.map(|t| proto::ControllerServiceCapability { r#type: Some(t) }).to_vec();
            Answer::message(&proto::ControllerGetCapabilitiesResponse { capabilities })
        }
        "/csi.v1.Node/NodeGetCapabilities" => {
            use proto::node_service_capability::{Rpc, Type};
            let all = [1, 2, 4, 400].map(|n| Type::Rpc(Rpc { r#type: n }));
            let capabilities = all.map(|t| proto::NodeServiceCapability { r#type: Some(t) }).to_vec();
            Answer::message(&proto::NodeGetCapabilitiesResponse { capabilities })
        }
        "/csi.v1.Node/NodeGetInfo" => Answer::message(&proto::NodeGetInfoResponse {
            node_id: "n".into(),
            max_volumes_per_node: 0,
            accessible_topology: Some(proto::Topology { segments: map(&[("zone", "a")]) }),
        }),
        other => panic!("{other}"),
    });
    let plugin = fake.plugin();
    assert_eq!(plugin.probe().await, Ok(false));
    let capabilities = plugin.plugin_capabilities().await.unwrap();
    let expected =
        PluginCapabilities { controller: true, topologies: true, online_expansion: false, offline_expansion: true };
    assert_eq!(capabilities, expected);
    let controller = plugin.controller_capabilities().await.unwrap();
    let expected = ControllerCapabilities {
        create_delete: true,
        attach: true,
        expand: true,
        condition: true,
        single_node_multi_writer: true,
        ..Default::default()
    };
    assert_eq!(controller, expected);
    let info = encamp_model::CsiControllerInfo::from(controller);
    assert!(info.supports_attach_detach && info.supports_condition && !info.supports_get);
    let node = plugin.node_capabilities().await.unwrap();
    assert_eq!(node, NodeCapabilities { stage: true, stats: true, condition: true, ..Default::default() });
    let info = plugin.node_info().await.unwrap().info(node);
    assert_eq!((info.id.as_str(), info.max_volumes, info.requires_node_stage_volume), ("n", i64::MAX, true));
    assert_eq!(info.accessible_topology, Some(topology("a")));
}

#[tokio::test]
async fn lists_are_read_page_by_page_and_bounded() {
    use proto::list_volumes_response::{Entry, VolumeStatus};
    let entry = |n: usize| Entry {
        volume: Some(proto::Volume { volume_id: format!("v{n}"), ..Default::default() }),
        status: Some(VolumeStatus { published_node_ids: vec!["n".into()] }),
    };
    let page = move |request: &[u8], next: fn(usize) -> String| {
        let request: proto::ListVolumesRequest = prost::Message::decode(request).unwrap();
        let start: usize = request.starting_token.parse().unwrap_or(0);
        Answer::message(&proto::ListVolumesResponse { entries: vec![entry(start)], next_token: next(start + 1) })
    };
    let fake = Fake::start(move |_, m| page(m, |n| if n < 3 { n.to_string() } else { String::new() }));
    let all = fake.plugin().list_all_volumes().await.unwrap();
    assert_eq!(Vec::from_iter(all.iter().map(|v| v.volume.id.as_str())), ["v0", "v1", "v2"]);
    assert_eq!(all[0].nodes, [ExternalNodeId::new("n")]);
    // A list without end.
    let fake = Fake::start(move |_, m| page(m, |n| n.to_string()));
    let limits = crate::Limits { entries: 10, ..super::fake::limits() };
    let e = crate::Plugin::new(fake.plugin().socket(), limits).list_all_volumes().await.unwrap_err();
    assert_eq!((e.kind, e.message.as_str()), (ErrorKind::ProtocolViolation, "the list has more than 10 entries"));
    assert_eq!(fake.count(), 11);
    let fake = Fake::start(move |_, m| page(m, |_| "5".into()));
    let e = fake.plugin().list_all_volumes().await.unwrap_err();
    assert_eq!(e.message, "a page refers to itself as the next one");
    let fake = Fake::start(|_, _| {
        Answer::message(&proto::ListSnapshotsResponse { next_token: "t".into(), ..Default::default() })
    });
    let e = fake.plugin().list_all_snapshots(ListSnapshots::default()).await.unwrap_err();
    assert_eq!(e.message, "a page before the last one is empty");
    // More than asked for.
    let two = move |_: &str, _: &[u8]| {
        Answer::message(&proto::ListVolumesResponse { entries: vec![entry(0), entry(1)], ..Default::default() })
    };
    let fake = Fake::start(two);
    let e = fake.plugin().list_volumes(PageRequest { max_entries: 1, start: None }).await.unwrap_err();
    assert_eq!(e.message, "the page has 2 entries; at most 1 were asked for");
}

#[tokio::test]
async fn validations_confirm_what_was_asked() {
    use proto::validate_volume_capabilities_response::Confirmed;
    let ask = ValidateVolume {
        volume: VolumeId::new("v"),
        capabilities: vec![capability()],
        parameters: BTreeMap::new(),
        secrets: secrets(),
        context: Context::new(),
    };
    let mut bare = sent_capability();
    bare.access_type = Some(proto::volume_capability::AccessType::Mount(Default::default()));
    let mut other = sent_capability();
    other.access_mode = Some(proto::volume_capability::AccessMode { mode: 5 });
    let cases = [
        (Some(vec![sent_capability()]), Validation::Confirmed),
        (Some(vec![bare]), Validation::Confirmed),
        (Some(vec![other]), Validation::Refused("with <redacted>".into())),
        (Some(Vec::new()), Validation::Refused("with <redacted>".into())),
        (None, Validation::Refused("with <redacted>".into())),
    ];
    for (confirmed, expected) in cases {
        let confirmed = confirmed.map(|volume_capabilities| Confirmed { volume_capabilities, ..Default::default() });
        let answer = proto::ValidateVolumeCapabilitiesResponse { confirmed, message: "with s3cret".into() };
        let fake = Fake::start(move |_, _| Answer::message(&answer));
        assert_eq!(fake.plugin().validate_volume(ask.clone()).await, Ok(expected));
    }
}

#[tokio::test]
async fn nodes_stage_and_mount() {
    let fake = Fake::start(|_, _| Answer::message(&proto::NodeStageVolumeResponse {}));
    let stage = StageVolume {
        volume: VolumeId::new("v"),
        staging_path: "/staging".into(),
        capability: capability(),
        attach_context: map(&[("device", "d")]),
        context: map(&[("k", "v")]),
        secrets: secrets(),
    };
    fake.plugin().stage_volume(stage).await.unwrap();
    let sent: proto::NodeStageVolumeRequest = fake.only("/csi.v1.Node/NodeStageVolume");
    assert_eq!((sent.volume_id.as_str(), sent.staging_target_path.as_str()), ("v", "/staging"));
    assert_eq!((sent.publish_context, sent.volume_context), (map(&[("device", "d")]), map(&[("k", "v")])));

    let fake = Fake::start(|_, _| Answer::message(&proto::NodePublishVolumeResponse {}));
    let mount = MountVolume {
        volume: VolumeId::new("v"),
        staging_path: None,
        target_path: "/target".into(),
        capability: Capability { access: AccessMode::MultiNodeReaderOnly, attachment: Attachment::BlockDevice },
        read_only: true,
        attach_context: Context::new(),
        context: Context::new(),
        secrets: Secrets::new(),
    };
    fake.plugin().mount_volume(mount).await.unwrap();
    let sent: proto::NodePublishVolumeRequest = fake.only("/csi.v1.Node/NodePublishVolume");
    assert_eq!((sent.target_path.as_str(), sent.staging_target_path.as_str(), sent.readonly), ("/target", "", true));
    let capability = sent.volume_capability.unwrap();
    assert!(matches!(capability.access_type, Some(proto::volume_capability::AccessType::Block(_))));
    assert_eq!(capability.access_mode.unwrap().mode, 3);
}

#[tokio::test]
async fn nodes_tell_the_usage_of_volumes() {
    let usage = |unit, total, used| proto::VolumeUsage { available: total - used, total, used, unit };
    let of = |all: Vec<proto::VolumeUsage>| Answer::message(&proto::NodeGetVolumeStatsResponse { usage: all });
    let good = of(vec![usage(1, 100, 40), usage(9, 1, 1)]);
    let fake = Fake::start(move |_, _| good.clone());
    let stats = fake.plugin().volume_stats(&VolumeId::new("v"), "/target", Some("/staging")).await.unwrap();
    let bytes = Some(Usage { total: 100, used: 40, available: 60 });
    assert_eq!(stats, VolumeStats { bytes, inodes: None });
    let bad = of(vec![usage(2, 5, 10)]);
    let fake = Fake::start(move |_, _| bad.clone());
    let e = fake.plugin().volume_stats(&VolumeId::new("v"), "/target", None).await.unwrap_err();
    assert_eq!((e.kind, e.message.as_str()), (ErrorKind::ProtocolViolation, "the available part is -5"));
}

use std::slice;

use std::sync::Arc;

use super::release::{Step, next};
use super::watcher::releasable;
use encamp_model::*;
use encamp_state::StateStore;

fn claim(alloc: &str, node: &str, state: CsiClaimState) -> (String, CsiVolumeClaim) {
    let (allocation_id, node_id) = (alloc.to_string(), node.to_string());
    (alloc.into(), CsiVolumeClaim { allocation_id, node_id, mode: 1, state: state.number(), ..Default::default() })
}

fn store(status: NodeStatus) -> StateStore {
    let mut store = StateStore::new();
    store.put_node(Arc::new(Node { id: "n1".into(), status, ..Default::default() }));
    let node_info = Some(CsiNodeInfo { id: "x1".into(), ..Default::default() });
    let nodes = [("n1".to_string(), CsiInfo { node_info, ..Default::default() })].into();
    store.put_csi_plugin(Arc::new(CsiPlugin {
        id: "p".into(),
        controller_required: true,
        nodes,
        ..Default::default()
    }));
    store
}

fn volume(claims: &[(String, CsiVolumeClaim)]) -> CsiVolume {
    CsiVolume { plugin_id: "p".into(), past_claims: claims.iter().cloned().collect(), ..Default::default() }
}

#[test]
fn each_step_follows_from_the_state() {
    let ready = store(NodeStatus::Ready);
    let (unpublishing, unmounted) = (CsiClaimState::Unpublishing, CsiClaimState::NodeDetached);
    let first = claim("a", "n1", unpublishing);
    assert_eq!(next(&ready, &volume(slice::from_ref(&first)), &first.1), (Step::Unmount, unmounted));
    // A node that is down or gone is not asked.
    for (store, node) in [(store(NodeStatus::Down), "n1"), (store(NodeStatus::Ready), "gone")] {
        let of = claim("a", node, unpublishing);
        assert_eq!(next(&store, &volume(slice::from_ref(&of)), &of.1), (Step::Nothing, unmounted));
    }
    let detached = CsiClaimState::ControllerDetached;
    let second = claim("a", "n1", unmounted);
    let detach = Step::Detach { external_node_id: "x1".into() };
    assert_eq!(next(&ready, &volume(slice::from_ref(&second)), &second.1), (detach.clone(), detached));
    // The last claim of the node detaches it, those of other nodes do not matter.
    let beside = volume(&[second.clone(), claim("b", "n1", CsiClaimState::Taken)]);
    assert_eq!(next(&ready, &beside, &second.1), (Step::Nothing, detached));
    let elsewhere = volume(&[second.clone(), claim("b", "n2", CsiClaimState::Taken)]);
    assert_eq!(next(&ready, &elsewhere, &second.1).0, detach);
    // A node without a known ID would be all nodes.
    let unknown = claim("a", "n3", unmounted);
    let shared = volume(&[unknown.clone(), claim("b", "n2", CsiClaimState::Taken)]);
    assert_eq!(next(&ready, &shared, &unknown.1).0, Step::Stuck);
    assert_eq!(
        next(&ready, &volume(slice::from_ref(&unknown)), &unknown.1).0,
        Step::Detach { external_node_id: String::new() }
    );
    let third = claim("a", "n1", detached);
    let freed = CsiClaimState::ReadyToFree;
    assert_eq!(next(&ready, &volume(slice::from_ref(&third)), &third.1), (Step::Nothing, freed));
    // Plugins without a controller detach nothing.
    let mut plain = store(NodeStatus::Ready);
    plain.put_csi_plugin(Arc::new(CsiPlugin { id: "p".into(), ..Default::default() }));
    assert_eq!(next(&plain, &volume(slice::from_ref(&second)), &second.1), (Step::Nothing, detached));
}

#[test]
fn claims_of_ended_allocations_are_releasable() {
    let mut store = store(NodeStatus::Ready);
    let alloc = |id: &str, client_status, desired_status| {
        Arc::new(Allocation { id: id.into(), client_status, desired_status, ..Default::default() })
    };
    store.put_allocs(vec![
        alloc("runs", ClientStatus::Running, DesiredStatus::Run),
        alloc("stops", ClientStatus::Running, DesiredStatus::Stop),
        alloc("lost", ClientStatus::Lost, DesiredStatus::Stop),
        alloc("past", ClientStatus::Running, DesiredStatus::Run),
    ]);
    let taken = |id: &str| claim(id, "n1", CsiClaimState::Taken);
    let v = CsiVolume {
        write_claims: [taken("runs"), taken("stops"), taken("lost")].into(),
        read_allocs: [("gone".to_string(), None)].into(),
        ..volume(&[claim("past", "n1", CsiClaimState::Unpublishing)])
    };
    assert_eq!(releasable(&store, &v), ["gone", "lost", "past"]);
}

//! Revoked identities of nodes: what was under way, and the bound of the table (`docs/spec/server.md §9.8`).

use super::*;
use crate::fsm::node_evals::cluster_event;
use encamp_model::*;
use encamp_ops::*;

fn node(id: &str, secret: &str) -> Node {
    Node { id: id.into(), secret_id: secret.into(), status: NodeStatus::Ready, ..Default::default() }
}

fn registration(node: Node) -> Operation {
    Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now: 1 }))
}

fn status(id: &str, status: NodeStatus) -> NodeStatusChange {
    NodeStatusChange { id: id.into(), status, event: None, identity_key_id: String::new(), updated_at: 2 }
}

fn revocation(id: &str, revoked_at: i64) -> Operation {
    Operation::NodeRevoke(NodeRevoke { id: id.into(), event: cluster_event("revoked", revoked_at), revoked_at })
}

/// Applies an operation at the next index; whether it was refused because of a revocation.
fn refused(store: &mut StateStore, op: &Operation) -> bool {
    let index = store.latest_index() + 1;
    match apply(store, index, op, Limits::default()).reply {
        Reply::Refused(Refusal::NodeRevoked) => true,
        Reply::Refused(other) => panic!("{other}"),
        Reply::Done => false,
        other => panic!("{other:?}"),
    }
}

fn status_of(store: &StateStore, id: &str) -> NodeStatus {
    store.state().node(id).expect("the node").node.status.clone()
}

#[test]
fn what_was_under_way_does_not_undo_a_revocation() {
    let mut s = StateStore::new();
    assert!(!refused(&mut s, &registration(node("n1", "a"))) && !refused(&mut s, &registration(node("n2", "b"))));
    assert!(!refused(&mut s, &revocation("n1", 9 * SECOND)));
    assert_eq!(status_of(&s, "n1"), NodeStatus::Down);
    assert!(refused(&mut s, &registration(node("n1", "a"))), "a registration");
    assert!(refused(&mut s, &registration(node("n3", "a"))), "under another ID");
    for asked in [NodeStatus::Ready, NodeStatus::Initializing, NodeStatus::Disconnected] {
        assert!(refused(&mut s, &Operation::NodeStatus(status("n1", asked.clone()))), "{asked}");
    }
    // Of several nodes, the others change.
    let statuses = vec![status("n1", NodeStatus::Disconnected), status("n2", NodeStatus::Disconnected)];
    assert!(!refused(&mut s, &Operation::NodeStatusBatch { statuses }));
    assert_eq!((status_of(&s, "n1"), status_of(&s, "n2")), (NodeStatus::Down, NodeStatus::Disconnected));
    assert!(!refused(&mut s, &Operation::NodeStatus(status("n1", NodeStatus::Down))));
    // With another secret it is the node again; its next revocation, by a leader whose clock is behind, refuses more.
    assert!(!refused(&mut s, &registration(node("n1", "c"))));
    assert!(!refused(&mut s, &Operation::NodeStatus(status("n1", NodeStatus::Ready))));
    assert!(!refused(&mut s, &revocation("n1", 8 * SECOND)));
    let row = s.node_revocation("n1").expect("a row");
    assert_eq!((row.revoked_at, row.secret_hashes.len(), row.create_index), (9 * SECOND, 2, 4));
    assert!(row.modify_index > row.create_index);
}

#[test]
fn the_oldest_revocations_of_removed_nodes_make_room() {
    let mut s = StateStore::new();
    let kept = |s: &StateStore, id: &str| s.node_revocation(id).is_some();
    for id in ["stays", "goes", "goes later", "new"] {
        assert!(!refused(&mut s, &registration(node(id, id))));
    }
    for id in ["stays", "goes", "goes later"] {
        assert!(!refused(&mut s, &revocation(id, SECOND)));
    }
    let ids = ["goes", "goes later"].map(String::from).into();
    assert!(!refused(&mut s, &Operation::NodeDeregister { ids }));
    for n in 0..10_000 - 3 {
        let (node_id, modify_index) = (format!("removed {n}"), 1_000 + n);
        s.put_node_revocation(Arc::new(NodeRevocation { node_id, modify_index, ..Default::default() }));
    }
    assert!(kept(&s, "goes") && !refused(&mut s, &revocation("new", SECOND)));
    assert!(!kept(&s, "goes") && kept(&s, "stays") && kept(&s, "goes later") && kept(&s, "new"));
    assert_eq!(s.node_revocations().len(), 10_000);
    assert!(!s.is_revoked_secret(&"goes".into()) && s.is_revoked_secret(&"stays".into()));
}

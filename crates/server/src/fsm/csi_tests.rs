use super::*;
use crate::fsm::{Applied, Limits, apply};
use encamp_ops::{NodeRegister, Operation, Reply};
use encamp_state::{StateStore, Table};

struct Bench {
    store: StateStore,
    index: u64,
}

const KEY: (&str, &str) = ("default", "v");

impl Bench {
    fn new(modes: &[&str]) -> Bench {
        let mut b = Bench { store: StateStore::new(), index: 10 };
        for n in ["n1", "n2"] {
            let node = Node { id: n.into(), status: NodeStatus::Ready, ..Default::default() };
            b.apply(Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now: 1 })));
        }
        for (id, node) in [("a", "n1"), ("b", "n1"), ("c", "n2")] {
            b.alloc(id, node, ClientStatus::Running);
        }
        assert_eq!(b.apply(register(modes)).reply, Reply::Done);
        b
    }

    fn alloc(&mut self, id: &str, node: &str, client_status: ClientStatus) {
        let (id, namespace, node_id) = (id.to_string(), "default".to_string(), node.to_string());
        self.store.put_allocs(vec![Arc::new(Allocation {
            id: id.into(),
            namespace: namespace.into(),
            node_id: node_id.into(),
            client_status,
            ..Default::default()
        })]);
    }

    fn apply(&mut self, op: Operation) -> Applied {
        self.index += 1;
        apply(&mut self.store, self.index, &op, Limits::default())
    }

    fn volume(&self) -> &CsiVolume {
        self.store.state().csi_volume(KEY.0, KEY.1).unwrap()
    }

    fn claim(&mut self, alloc: &str, node: &str, access: &str, writes: bool) -> Result<(), Refusal> {
        let mode = if writes { CsiClaimMode::Write } else { CsiClaimMode::Read };
        self.change(CsiVolumeClaim {
            allocation_id: alloc.into(),
            node_id: node.into(),
            mode: mode.number(),
            access_mode: access.into(),
            attachment_mode: "file-system".into(),
            ..Default::default()
        })
    }

    fn release(&mut self, alloc: &str, state: CsiClaimState) -> Result<(), Refusal> {
        self.change(CsiVolumeClaim { allocation_id: alloc.into(), state: state.number(), ..Default::default() })
    }

    fn change(&mut self, claim: CsiVolumeClaim) -> Result<(), Refusal> {
        let volume = (KEY.0.to_string(), KEY.1.to_string());
        match self.apply(Operation::CsiVolumeClaim(Box::new(CsiClaimChange { volume, claim, now: 7 }))).reply {
            Reply::Refused(refusal) => Err(refusal),
            _ => Ok(()),
        }
    }
}

fn volume(modes: &[&str]) -> CsiVolume {
    let capability = |m: &&str| CsiVolumeCapability { access_mode: (*m).into(), attachment_mode: "file-system".into() };
    CsiVolume {
        id: KEY.1.into(),
        namespace: KEY.0.into(),
        external_id: "ext".into(),
        plugin_id: "p".into(),
        requested_capabilities: modes.iter().map(capability).collect(),
        ..Default::default()
    }
}

fn register(modes: &[&str]) -> Operation {
    Operation::CsiVolumeRegister { volumes: vec![Arc::new(volume(modes))], now: 5 }
}

fn exhausted() -> Result<(), Refusal> {
    Err(Refusal::CsiClaimExhausted { id: "v".into() })
}

#[test]
fn access_modes_admit_what_they_say() {
    // Allocations `a` and `b` are on one node, `c` on another one.
    for (mode, second_writer, writer_elsewhere, reader_here, reader_elsewhere) in [
        ("single-node-writer", false, false, true, false),
        ("multi-node-single-writer", false, false, true, true),
        ("multi-node-multi-writer", true, true, true, true),
    ] {
        for (alloc, node, writes, admitted) in [
            ("b", "n1", true, second_writer),
            ("c", "n2", true, writer_elsewhere),
            ("b", "n1", false, reader_here),
            ("c", "n2", false, reader_elsewhere),
        ] {
            let mut b = Bench::new(&[mode]);
            b.claim("a", "n1", mode, true).unwrap();
            let want = if admitted { Ok(()) } else { exhausted() };
            assert_eq!(b.claim(alloc, node, mode, writes), want, "{mode} {alloc} {writes}");
        }
    }
    for mode in ["single-node-reader-only", "multi-node-reader-only"] {
        let mut b = Bench::new(&[mode]);
        assert_eq!(b.claim("a", "n1", mode, true), exhausted());
        b.claim("a", "n1", mode, false).unwrap();
        b.claim("b", "n1", mode, false).unwrap();
        let elsewhere = b.claim("c", "n2", mode, false);
        assert_eq!(elsewhere, if mode.starts_with("multi") { Ok(()) } else { exhausted() });
    }
}

#[test]
fn modes_are_those_of_the_first_claim_until_the_last_one_is_freed() {
    let (writer, readers) = ("single-node-writer", "multi-node-reader-only");
    let mut b = Bench::new(&[writer, readers]);
    b.claim("a", "n1", writer, true).unwrap();
    let index = b.volume().modify_index;
    // The same claim again changes nothing.
    b.claim("a", "n1", writer, true).unwrap();
    b.claim("a", "n1", writer, false).unwrap();
    let v = b.volume();
    assert_eq!((v.modify_index, v.access_mode.as_str(), v.attachment_mode.as_str()), (index, writer, "file-system"));
    assert_eq!((v.write_allocs.len(), v.write_claims.len(), v.read_allocs.len()), (1, 1, 0));
    assert_eq!(b.claim("b", "n1", readers, false), exhausted());
    for state in [CsiClaimState::Unpublishing, CsiClaimState::NodeDetached, CsiClaimState::ControllerDetached] {
        b.release("a", state).unwrap();
        assert_eq!(b.volume().past_claims["a"].progress(), Some(state));
        assert_eq!(b.volume().past_claims["a"].node_id, "n1");
        // It counts until it is freed.
        assert_eq!(b.claim("b", "n1", writer, true), exhausted());
    }
    // A late checkpoint does not take it back, and nothing claims anew in between.
    b.release("a", CsiClaimState::NodeDetached).unwrap();
    assert_eq!(b.volume().past_claims["a"].progress(), Some(CsiClaimState::ControllerDetached));
    let releasing = Refusal::CsiClaimReleasing { id: "v".into(), alloc: "a".into() };
    assert_eq!(b.claim("a", "n1", writer, true), Err(releasing));
    b.release("a", CsiClaimState::ReadyToFree).unwrap();
    let v = b.volume();
    assert!(!v.in_use() && v.access_mode.is_unset() && v.attachment_mode.is_empty());
    b.claim("c", "n2", readers, false).unwrap();
    assert_eq!(b.volume().access_mode.as_str(), readers);
}

#[test]
fn only_running_allocations_of_the_node_claim() {
    let mode = "single-node-writer";
    let mut b = Bench::new(&[mode]);
    let ended = |alloc: &str| Err(Refusal::CsiAllocEnded { alloc: alloc.into() });
    assert_eq!(b.claim("none", "n1", mode, true), ended("none"));
    assert_eq!(b.claim("c", "n1", mode, true), ended("c"));
    b.alloc("a", "n1", ClientStatus::Complete);
    assert_eq!(b.claim("a", "n1", mode, true), ended("a"));
    let other = Refusal::CsiCapability { id: "v".into() };
    assert_eq!(b.claim("b", "n1", "multi-node-multi-writer", true), Err(other));
    let odd = CsiVolumeClaim { mode: 9, ..Default::default() };
    assert_eq!(b.change(odd), Err(Refusal::CsiClaimUnknown));
    // What has no claim is released already.
    let index = b.volume().modify_index;
    b.release("b", CsiClaimState::NodeDetached).unwrap();
    b.release("b", CsiClaimState::ReadyToFree).unwrap();
    assert_eq!(b.volume().modify_index, index);
    // Collection only wakes the watcher.
    let collect = CsiVolumeClaim { mode: 2, state: CsiClaimState::Unpublishing.number(), ..Default::default() };
    b.change(collect).unwrap();
    assert_eq!((b.volume().modify_index, b.volume().in_use()), (b.index, false));
}

#[test]
fn writers_of_older_snapshots_count() {
    let mode = "multi-node-single-writer";
    let mut b = Bench::new(&[mode]);
    let mut v = b.volume().clone();
    v.write_allocs.insert("gone".into(), None);
    v.access_mode = mode.into();
    b.store.put_csi_volume(Arc::new(v));
    assert_eq!(b.claim("a", "n1", mode, true), exhausted());
    b.release("gone", CsiClaimState::Unpublishing).unwrap();
    assert_eq!(b.volume().past_claims["gone"].purpose(), Some(CsiClaimMode::Write));
    b.release("gone", CsiClaimState::ReadyToFree).unwrap();
    b.claim("a", "n1", mode, true).unwrap();
}

#[test]
fn registrations_keep_claims_and_identity() {
    let mode = "single-node-writer";
    let mut b = Bench::new(&[mode]);
    assert_eq!((b.volume().create_index, b.volume().create_time, b.store.index_of(Table::CsiVolumes)), (13, 5, 13));
    b.claim("a", "n1", mode, true).unwrap();
    let again =
        CsiVolume { name: "new".into(), external_id: String::new(), ..volume(&[mode, "multi-node-reader-only"]) };
    let op = |v: &CsiVolume| Operation::CsiVolumeRegister { volumes: vec![Arc::new(v.clone())], now: 9 };
    let applied = b.apply(op(&again));
    assert_eq!((applied.reply, applied.changes.len()), (Reply::Done, 1));
    let v = b.volume();
    assert_eq!((v.name.as_str(), v.external_id.as_str(), v.create_index, v.modify_index), ("new", "ext", 13, b.index));
    assert!(v.write_claims.contains_key("a"));
    let refused = |r: Refusal| Reply::Refused(r);
    let taken = CsiVolume { external_id: "other".into(), ..again.clone() };
    assert_eq!(b.apply(op(&taken)).reply, refused(Refusal::CsiVolumeExists { id: "v".into() }));
    let used = refused(Refusal::CsiVolumeInUse { id: "v".into() });
    assert_eq!(b.apply(register(&["multi-node-reader-only"])).reply, used);
    let lost = CsiVolume { namespace: "none".into(), ..again };
    assert!(matches!(b.apply(op(&lost)).reply, Reply::Refused(Refusal::CsiVolumeNamespaceNotFound { .. })));
    let deregister = |force| Operation::CsiVolumeDeregister { volume: (KEY.0.into(), KEY.1.into()), force };
    assert_eq!(b.apply(deregister(false)).reply, used);
    assert_eq!(b.apply(deregister(true)).reply, used);
    b.alloc("a", "n1", ClientStatus::Complete);
    assert_eq!(b.apply(deregister(false)).reply, used);
    assert_eq!(b.apply(deregister(true)).reply, Reply::Done);
    assert_eq!(b.apply(deregister(true)).reply, refused(Refusal::CsiVolumeNotFound { id: "v".into() }));
    assert_eq!(b.store.state().csi_volumes().count(), 0);
}

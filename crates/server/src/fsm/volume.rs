//! Dynamic host volumes (`docs/spec/server.md §18`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::txn::{Txn, Unblock};
use encamp_model::*;
use encamp_ops::Refusal;
use encamp_state::{AllocEntry, State, Table};

/// Writes a volume, whose name must be unique on its node. A pending one is ready as soon as its node reports it; one
/// that is to be deleted must not be used.
pub(crate) fn put(txn: &mut Txn, volume: &HostVolume) -> Result<(), Refusal> {
    let state = txn.store.state();
    if state.namespace(&volume.namespace).is_none() {
        return Err(Refusal::VolumeNamespaceNotFound {
            volume: volume.name.clone(),
            namespace: volume.namespace.clone(),
        });
    }
    let node = state.node(&volume.node_id).ok_or(Refusal::NodeNotFound)?;
    let twin = |v: &&Arc<HostVolume>| v.node_id == volume.node_id && v.name == volume.name && v.id != volume.id;
    if let Some(other) = state.host_volumes().find(twin) {
        let (name, node) = (volume.name.clone(), volume.node_id.clone());
        return Err(Refusal::VolumeExists { name, node, id: other.id.clone() });
    }
    if volume.state == HostVolumeState::Deleted {
        refuse_used(state, volume)?;
    }
    let mut volume = volume.clone();
    let reported = reported(&node.node, &volume.id);
    if volume.state == HostVolumeState::Pending && reported.is_some() {
        volume.state = HostVolumeState::Ready;
    }
    volume.create_index = txn.index;
    if let Some(old) = state.host_volume(&volume.id) {
        (volume.create_index, volume.create_time) = (old.create_index, old.create_time);
    }
    volume.modify_index = txn.index;
    txn.put_host_volume(volume);
    Ok(())
}

/// Removes an unused volume.
pub(crate) fn delete(txn: &mut Txn, id: &str) -> Result<(), Refusal> {
    let state = txn.store.state();
    let volume = state.host_volume(id).ok_or_else(|| Refusal::VolumeNotFound { id: id.into() })?;
    refuse_used(state, volume)?;
    txn.remove_host_volume(id);
    Ok(())
}

/// Removes the claim of a task group on a volume, whose allocations may then be placed on other nodes.
pub(crate) fn delete_claim(txn: &mut Txn, id: &str) -> Result<(), Refusal> {
    let claim = txn.store.remove_host_volume_claim(id).ok_or(Refusal::VolumeClaimNotFound)?;
    txn.other(Table::TaskVolume);
    let carriers = txn.store.state().nodes().map(|n| &n.node);
    let carriers = carriers.filter(|n| n.host_volumes.contains_key(&claim.volume_name));
    let classes: BTreeSet<_> = carriers.map(|n| n.computed_class.clone()).collect();
    txn.unblocks.extend(classes.into_iter().map(|class| Unblock { class, node: None }));
    Ok(())
}

/// Fails with the IDs of the allocations that use a volume, if there are any.
pub fn refuse_used(state: &State, volume: &HostVolume) -> Result<(), Refusal> {
    let allocs: Vec<String> = users(state, volume).into_iter().map(|(e, _)| e.alloc.id.to_string()).collect();
    if allocs.is_empty() { Ok(()) } else { Err(Refusal::VolumeInUse { id: volume.id.clone(), allocs }) }
}

/// The allocations that use a volume, with their requests of it.
pub fn users(state: &State, volume: &HostVolume) -> Vec<(Arc<AllocEntry>, Vec<VolumeRequest>)> {
    let requests = |a: &Allocation| -> Vec<VolumeRequest> {
        let all = a.group().and_then(|g| g.volumes.as_ref()).into_iter().flat_map(|v| v.values());
        all.filter(|r| r.r#type == "host" && r.source_for(&a.name) == volume.name).cloned().collect()
    };
    let allocs = state.allocs_of_node(&volume.node_id).into_iter();
    let allocs = allocs.filter(|e| e.alloc.namespace == volume.namespace && !e.alloc.client_terminal());
    let using = allocs.map(|e| {
        let requests = requests(&e.alloc);
        (e, requests)
    });
    using.filter(|(_, requests)| !requests.is_empty()).collect()
}

/// What a node reports of a volume.
fn reported<'a>(node: &'a Node, id: &str) -> Option<&'a ClientHostVolumeConfig> {
    node.host_volumes.values().find(|v| v.id == id)
}

/// Updates volumes after a report of a node: they become ready or unavailable, and get the directory that the node
/// reports, which the server that asked for it may have been unable to write. Volumes that are being deleted stay so.
pub(crate) fn follow(txn: &mut Txn, node: &Node) {
    let of_node = txn.store.state().host_volumes().filter(|v| v.node_id == node.id);
    let of_node = of_node.filter(|v| v.state != HostVolumeState::Deleted);
    let changed: Vec<HostVolume> = of_node
        .filter_map(|v| {
            let mut new = HostVolume::clone(v);
            match reported(node, &v.id) {
                Some(reported) => {
                    new.state = HostVolumeState::Ready;
                    if !reported.path.is_empty() {
                        new.host_path.clone_from(&reported.path);
                    }
                }
                None if v.state == HostVolumeState::Ready => new.state = HostVolumeState::Unavailable,
                None => {}
            }
            let changed = new.state != v.state || new.host_path != v.host_path;
            changed.then_some(HostVolume { modify_index: txn.index, ..new })
        })
        .collect();
    changed.into_iter().for_each(|v| txn.put_host_volume(v));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::{Limits, apply};
    use crate::tests::refusal;
    use encamp_ops::{NodeRegister, Operation, Reply};
    use encamp_state::StateStore;

    fn node(volumes: &[(&str, &str)]) -> Operation {
        let volume = |(name, id): &(&str, &str)| {
            (
                name.to_string(),
                ClientHostVolumeConfig { name: name.to_string(), id: id.to_string(), ..Default::default() },
            )
        };
        let host_volumes = volumes.iter().map(volume).collect();
        let node = Node { id: "n".into(), status: NodeStatus::Ready, host_volumes, ..Default::default() };
        Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now: 1 }))
    }

    fn volume(id: &str, name: &str) -> Operation {
        let (id, name, state) = (id.into(), name.into(), HostVolumeState::Pending);
        let (namespace, node_id) = ("default".into(), "n".into());
        Operation::HostVolumeRegister {
            volume: Arc::new(HostVolume { id, name, state, namespace, node_id, ..Default::default() }),
        }
    }

    #[test]
    fn volumes_follow_their_node() {
        let mut store = StateStore::new();
        let mut index = 10;
        let mut write = |op: Operation| {
            index += 1;
            let applied = apply(&mut store, index, &op, Limits::default());
            let volume = store.state().host_volume("a").map(|v| (v.state.clone(), v.create_index, v.modify_index));
            (applied.reply, volume)
        };
        let state = |state: HostVolumeState, created, modified| Some((state, created, modified));
        let (reply, stored) = write(volume("a", "data"));
        assert_eq!((refusal(reply).as_str(), stored), ("node not found", None));
        write(node(&[]));
        assert_eq!(write(volume("a", "data")), (Reply::Done, state(HostVolumeState::Pending, 13, 13)));
        let taken = "host volume \"data\" already exists on node n: a";
        assert_eq!(refusal(write(volume("b", "data")).0), taken);
        assert_eq!(write(node(&[])).1, state(HostVolumeState::Pending, 13, 13));
        assert_eq!(write(node(&[("data", "a")])).1, state(HostVolumeState::Ready, 13, 16));
        assert_eq!(write(node(&[("data", "a")])).1, state(HostVolumeState::Ready, 13, 16));
        assert_eq!(write(volume("a", "data")), (Reply::Done, state(HostVolumeState::Ready, 13, 18)));
        assert_eq!(write(node(&[])).1, state(HostVolumeState::Unavailable, 13, 19));
        let op = |id: &str| Operation::HostVolumeDelete { id: id.into() };
        assert_eq!(refusal(write(op("x")).0), "no such volume: x");
        assert_eq!(write(op("a")), (Reply::Done, None));
    }

    /// A leader that fails between the steps of a creation or a deletion leaves what the next report completes or keeps.
    #[test]
    fn reports_complete_what_was_interrupted() {
        let mut store = StateStore::new();
        let mut index = 10;
        let mut write = |op: Operation| {
            index += 1;
            let reply = apply(&mut store, index, &op, Limits::default()).reply;
            let volume = store.state().host_volume("a").map(|v| (v.state.clone(), v.host_path.clone()));
            (reply, volume)
        };
        let at = |path: &str| {
            let Operation::NodeRegister(mut register) = node(&[("data", "a")]) else { panic!("no registration") };
            register.node.host_volumes.get_mut("data").unwrap().path = path.into();
            Operation::NodeRegister(register)
        };
        write(node(&[]));
        assert_eq!(write(volume("a", "data")).1, Some((HostVolumeState::Pending, String::new())));
        assert_eq!(write(at("/v/a")).1, Some((HostVolumeState::Ready, "/v/a".into())));
        // The plugin may have moved it.
        assert_eq!(write(at("/w/a")).1, Some((HostVolumeState::Ready, "/w/a".into())));
        let Operation::HostVolumeRegister { volume: marked } = volume("a", "data") else { panic!("no volume") };
        let marked = HostVolume { state: HostVolumeState::Deleted, ..HostVolume::clone(&marked) };
        let deletion = write(Operation::HostVolumeRegister { volume: Arc::new(marked) });
        assert_eq!(deletion.1.unwrap().0, HostVolumeState::Deleted);
        assert_eq!(write(at("/w/a")).1.unwrap().0, HostVolumeState::Deleted);
        assert_eq!(write(node(&[])).1.unwrap().0, HostVolumeState::Deleted);
    }

    #[test]
    fn a_deleted_claim_unblocks_what_waits_for_other_nodes() {
        let mut store = StateStore::new();
        apply(&mut store, 11, &node(&[("data", "a")]), Limits::default());
        let (id, volume_name) = ("c".to_string(), "data".to_string());
        store.put_host_volume_claim(Arc::new(TaskGroupHostVolumeClaim { id, volume_name, ..Default::default() }));
        let delete = Operation::HostVolumeClaimDelete { id: "c".into() };
        let applied = apply(&mut store, 12, &delete, Limits::default());
        assert_eq!((applied.reply, applied.unblocks.len()), (Reply::Done, 1));
        assert_eq!((store.state().host_volume_claims().count(), store.index_of(Table::TaskVolume)), (0, 12));
        let again = apply(&mut store, 13, &delete, Limits::default()).reply;
        assert_eq!(refusal(again), "task group volume claim does not exist");
    }

    #[test]
    fn used_volumes_stay() {
        let mut store = StateStore::new();
        for (index, op) in [(11, node(&[("data[1]", "a")])), (12, volume("a", "data[1]"))] {
            assert_eq!(apply(&mut store, index, &op, Limits::default()).reply, Reply::Done);
        }
        let request =
            VolumeRequest { r#type: "host".into(), source: "data".into(), per_alloc: true, ..Default::default() };
        let volumes = Some([("v".to_string(), request)].into());
        let group = TaskGroup { name: "g".into(), volumes, ..Default::default() };
        let job = Arc::new(Job { id: "j".into(), task_groups: vec![group], ..Default::default() });
        let alloc = |n: u32, client_status| Allocation {
            id: format!("alloc-{n}").into(),
            name: format!("j.g[{n}]").into(),
            namespace: "default".into(),
            node_id: "n".into(),
            job_id: "j".into(),
            task_group: "g".into(),
            job: Some(job.clone()),
            client_status,
            ..Default::default()
        };
        let delete = Operation::HostVolumeDelete { id: "a".into() };
        store.put_allocs(vec![Arc::new(alloc(0, ClientStatus::Running)), Arc::new(alloc(1, ClientStatus::Running))]);
        let used = "volume a in use by allocations: [alloc-1]";
        assert_eq!(refusal(apply(&mut store, 13, &delete, Limits::default()).reply), used);
        store.put_allocs(vec![Arc::new(alloc(1, ClientStatus::Complete))]);
        assert_eq!(apply(&mut store, 14, &delete, Limits::default()).reply, Reply::Done);
    }
}

//! Dynamic host volumes (`docs/spec/server.md §18`).

use std::sync::Arc;

use super::txn::Txn;
use encamp_model::*;
use encamp_ops::Refusal;
use encamp_state::State;

/// Writes a volume, whose name must be unique on its node. It is ready as soon as its node reports it.
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
    let mut volume = volume.clone();
    if has(&node.node, &volume.id) {
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

/// Fails with the IDs of the allocations that use a volume, if there are any.
pub fn refuse_used(state: &State, volume: &HostVolume) -> Result<(), Refusal> {
    let asks = |a: &Allocation| {
        let requests = a.group().and_then(|g| g.volumes.as_ref()).into_iter().flat_map(|v| v.values());
        requests.into_iter().any(|r: &VolumeRequest| r.r#type == "host" && r.source_for(&a.name) == volume.name)
    };
    let allocs = state.allocs_of_node(&volume.node_id);
    let users: Vec<String> = allocs
        .iter()
        .map(|e| &*e.alloc)
        .filter(|a| a.namespace == volume.namespace && !a.client_terminal() && asks(a))
        .map(|a| a.id.clone())
        .collect();
    if users.is_empty() {
        return Ok(());
    }
    Err(Refusal::VolumeInUse { id: volume.id.clone(), allocs: users })
}

fn has(node: &Node, id: &str) -> bool {
    node.host_volumes.values().any(|v| v.id == id)
}

/// Updates volumes after a report of a node: they become ready or unavailable.
pub(crate) fn follow(txn: &mut Txn, node: &Node) {
    let of_node = txn.store.state().host_volumes().filter(|v| v.node_id == node.id);
    let changed: Vec<HostVolume> = of_node
        .filter_map(|v| {
            let state = match (v.state == HostVolumeState::Ready, has(node, &v.id)) {
                (true, true) | (false, false) => return None,
                (false, true) => HostVolumeState::Ready,
                (true, false) => HostVolumeState::Unavailable,
            };
            Some(HostVolume { state, modify_index: txn.index, ..HostVolume::clone(v) })
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
            let told = store.state().host_volume("a").map(|v| (v.state.clone(), v.create_index, v.modify_index));
            (applied.reply, told)
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
            id: format!("alloc-{n}"),
            name: format!("j.g[{n}]"),
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

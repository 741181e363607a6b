//! Reads snapshots into stores.

use std::io::{self, Read};
use std::sync::Arc;

use super::record::{Record, invalid};
use super::records;
use encamp_model::*;
use encamp_state::{Rows, StateStore, Table};

/// Reads a snapshot into a new store. Nothing is fixed while reading, because servers read their snapshots at different
/// times and continue with the same log.
///
/// # Errors
/// It is no snapshot of a version that this program reads, or it is damaged.
pub fn read(from: &mut dyn Read) -> io::Result<StateStore> {
    let mut jobs: Vec<Arc<Job>> = Vec::new();
    let (mut rows, mut others) = (Rows::default(), Vec::new());
    records::each(from, |record, _| {
        match record {
            Record::Node(n) => rows.nodes.push(n),
            Record::NodePool(p) => rows.node_pools.push(p),
            Record::Namespace(n) => rows.namespaces.push(n),
            Record::Job(j) => rows.jobs.push(j),
            Record::AllocJob(j) => jobs.push(j),
            Record::Alloc(mut a) => {
                if let Some(number) = a.job_ref.take() {
                    let job = usize::try_from(number).ok().and_then(|n| jobs.get(n));
                    a.job = Some(job.ok_or_else(|| invalid("state snapshot: an allocation without its job"))?.clone());
                }
                rows.allocs.push(Arc::new(*a));
            }
            Record::Deployment(d) => rows.deployments.push(d),
            Record::CsiVolume(v) => rows.csi_volumes.push(v),
            Record::HostVolume(v) => rows.host_volumes.push(v),
            Record::HostVolumeClaim(c) => rows.host_volume_claims.push(c),
            Record::SchedulerConfig(c) => rows.scheduler_config = Some(c),
            other => others.push(other),
        }
        Ok(())
    })?;
    let mut store = StateStore::load(rows);
    others.into_iter().for_each(|record| put(&mut store, record));
    store.settle_index();
    let index = store.latest_index();
    store.add_built_ins(index.max(1));
    Ok(store)
}

/// Puts what is not loaded with the allocations.
fn put(store: &mut StateStore, record: Record) {
    match record {
        Record::Eval(e) => store.put_eval(e),
        Record::Summary(s) => store.put_summary(s),
        Record::Submission(s) => store.put_submission(s),
        Record::Launch(l) => store.put_launch(l),
        Record::ScalingPolicy(p) => store.put_scaling_policy(p),
        Record::ScalingEvents(e) => store.put_scaling_events(e),
        Record::Service(s) => store.put_service(s),
        Record::Variable(v) => store.put_variable(v),
        Record::CsiPlugin(p) => store.put_csi_plugin(p),
        Record::Autopilot(c) => store.set_autopilot(c),
        Record::ClusterMetadata(m) => store.set_cluster_metadata(m),
        Record::CapabilityLevel(level) => store.raise_capability_level(level),
        Record::RootKey(k) => store.put_root_key(k),
        Record::AclPolicy(p) => store.put_acl_policy(p),
        Record::AclToken(t) => store.put_acl_token(t),
        Record::AclRole(r) => store.put_acl_role(r),
        Record::AclAuthMethod(m) => store.put_acl_auth_method(m),
        Record::AclBindingRule(r) => store.put_acl_binding_rule(r),
        Record::OneTimeToken(t) => store.put_one_time_token(t),
        Record::NodeRevocation(r) => store.put_node_revocation(r),
        Record::Index(name, index) => {
            if let Some(t) = Table::ALL.into_iter().find(|t| t.name() == name) {
                store.set_index(t, index);
            }
        }
        Record::Header { .. }
        | Record::Node(_)
        | Record::NodePool(_)
        | Record::Namespace(_)
        | Record::Job(_)
        | Record::AllocJob(_)
        | Record::Alloc(_)
        | Record::Deployment(_)
        | Record::CsiVolume(_)
        | Record::HostVolume(_)
        | Record::HostVolumeClaim(_)
        | Record::SchedulerConfig(_)
        | Record::Part(_)
        | Record::End => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::WITHOUT_PARTS;
    use super::super::write;
    use super::*;
    use encamp_ops::codec;

    /// A store with so many allocations of three jobs.
    fn store(allocs: usize) -> StateStore {
        let mut store = StateStore::new();
        let jobs: Vec<Arc<Job>> = (0..3).map(|n| Arc::new(Job { id: format!("j{n}"), ..Job::default() })).collect();
        let alloc = |n: usize| {
            let (id, node_id, job) = (format!("a{n}"), format!("n{}", n % 7), jobs.get(n % 4).cloned());
            Arc::new(Allocation {
                id: id.into(),
                node_id: node_id.into(),
                job,
                create_index: n as u64 / 10,
                ..Allocation::default()
            })
        };
        (0..5).for_each(|n| store.put_node(Arc::new(Node { id: format!("n{n}"), ..Node::default() })));
        store.put_allocs((0..allocs).map(alloc).collect());
        store.put_eval(Arc::new(Evaluation { id: "e".into(), ..Evaluation::default() }));
        store.set_index(Table::Allocs, 77);
        store
    }

    #[test]
    fn the_format_without_parts_is_read_as_well() {
        let store = store(5000);
        let mut parts = Vec::new();
        write(&store, &mut parts).unwrap();
        let mut plain = codec::encode(&Record::Header { version: WITHOUT_PARTS }).unwrap();
        records::each(&mut parts.as_slice(), |record, _| {
            codec::encode_to(&record, &mut plain).map_err(io::Error::other)
        })
        .unwrap();
        codec::encode_to(&Record::End, &mut plain).unwrap();
        assert!(parts.len() < plain.len() / 4, "{} of {}", parts.len(), plain.len());
        for file in [&parts, &plain] {
            let read = read(&mut file.as_slice()).unwrap();
            assert_eq!((read.alloc_count(), read.index_of(Table::Allocs), read.eval_count()), (5000, 77, 1));
            let jobs: std::collections::HashSet<_> =
                read.allocs_by_create().map(|a| a.alloc.job.as_ref().map(Arc::as_ptr)).collect();
            assert_eq!(jobs.len(), 4, "three jobs and none");
            let mut again = Vec::new();
            write(&read, &mut again).unwrap();
            assert_eq!(again, parts);
        }
        let newer = codec::encode(&Record::Header { version: 4 }).unwrap();
        let refused = read(&mut newer.as_slice()).unwrap_err().to_string();
        assert!(refused.contains("version 4"), "{refused}");
    }
}

//! Writes snapshots: rows are gathered on one thread, and encoded and compressed on all.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use super::parts::Packer;
use super::record::{Record, version_of};
use encamp_host::parallel;
use encamp_model::capability::CapabilityLevel;
use encamp_model::*;
use encamp_ops::codec;
use encamp_state::{StateStore, Table};

/// How many rows a thread gets at a time.
const ROWS: usize = 1024;

/// A row to be written.
enum Row<'a> {
    Record(Record),
    /// An allocation, and the number of its job if it has one.
    Alloc(&'a Allocation, Option<u32>),
}

/// Writes a snapshot.
///
/// # Errors
/// It cannot be written.
pub fn write(store: &StateStore, mut to: &mut dyn Write) -> io::Result<()> {
    let mut put = |r: &Record| codec::encode_to(r, &mut to).map_err(io::Error::other);
    put(&Record::Header { version: version_of(store.capability_level()) })?;
    let mut rows = rows(store);
    let groups = std::iter::from_fn(|| {
        let group: Vec<Row<'_>> = rows.by_ref().take(ROWS).collect();
        (!group.is_empty()).then_some(Ok(group))
    });
    parallel::in_order(groups, pack, |packed| to.write_all(&packed?))?;
    codec::encode_to(&Record::End, &mut to).map_err(io::Error::other)
}

fn pack(rows: Vec<Row<'_>>) -> io::Result<Vec<u8>> {
    let mut packer = Packer::default();
    for row in rows {
        match row {
            Row::Record(record) => packer.add(&record)?,
            Row::Alloc(alloc, number) => {
                let alloc = Allocation { job: None, job_ref: number, ..alloc.clone() };
                packer.add(&Record::Alloc(Box::new(alloc)))?;
            }
        }
    }
    packer.finish()
}

type Rows<'a> = Box<dyn Iterator<Item = Row<'a>> + 'a>;

/// All rows, in the order of the file.
fn rows(store: &StateStore) -> Rows<'_> {
    let state = store.state();
    let first = (state.nodes().map(|n| Record::Node(n.node.clone())))
        .chain(state.node_pools().map(|p| Record::NodePool(p.clone())))
        .chain(state.namespaces().map(|n| Record::Namespace(n.clone())))
        .chain(state.jobs().flat_map(|entry| {
            let older = entry.versions.values().filter(|v| v.version != entry.current.version);
            older.chain([&entry.current]).map(|j| Record::Job(j.clone()))
        }));
    Box::new(first.map(Row::Record).chain(allocations(store)).chain(after_allocations(store).map(Row::Record)))
}

/// The allocations, the job of each before the first of its allocations.
fn allocations(store: &StateStore) -> impl Iterator<Item = Row<'_>> {
    let mut jobs: HashMap<*const Job, u32> = HashMap::new();
    store
        .allocs_by_create()
        .flat_map(move |entry| {
            let alloc = &*entry.alloc;
            let Some(job) = &alloc.job else { return [None, Some(Row::Alloc(alloc, None))] };
            let next = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
            let number = *jobs.entry(Arc::as_ptr(job)).or_insert(next);
            let job = (number == next).then(|| Row::Record(Record::AllocJob(job.clone())));
            [job, Some(Row::Alloc(alloc, Some(number)))]
        })
        .flatten()
}

fn after_allocations(store: &StateStore) -> impl Iterator<Item = Record> {
    let state = store.state();
    (store.evals_by_create().map(|e| Record::Eval(e.clone())))
        .chain(store.deployments_by_create().map(|d| Record::Deployment(d.clone())))
        .chain(store.summaries().map(|s| Record::Summary(s.clone())))
        .chain(store.all_submissions().map(|s| Record::Submission(s.clone())))
        .chain(store.launches().map(|l| Record::Launch(l.clone())))
        .chain(store.scaling_policies().map(|p| Record::ScalingPolicy(p.clone())))
        .chain(store.all_scaling_events().map(|e| Record::ScalingEvents(e.clone())))
        .chain(store.services().map(|s| Record::Service(s.clone())))
        .chain(store.variables().map(|v| Record::Variable(v.clone())))
        .chain(store.csi_plugins().map(|p| Record::CsiPlugin(p.clone())))
        .chain(state.csi_volumes().map(|v| Record::CsiVolume(v.clone())))
        .chain(state.host_volumes().map(|v| Record::HostVolume(v.clone())))
        .chain(state.host_volume_claims().map(|c| Record::HostVolumeClaim(c.clone())))
        .chain(state.scheduler_config.iter().map(|c| Record::SchedulerConfig(c.clone())))
        .chain(store.autopilot().into_iter().map(|c| Record::Autopilot(c.clone())))
        .chain(store.cluster_metadata().into_iter().map(|m| Record::ClusterMetadata(m.clone())))
        .chain(level(store).map(Record::CapabilityLevel))
        .chain(store.root_keys().map(|k| Record::RootKey(k.clone())))
        .chain(after_root_keys(store))
}

/// The level of the cluster, once it is part of the state.
fn level(store: &StateStore) -> impl Iterator<Item = CapabilityLevel> {
    let level = store.capability_level();
    (level > CapabilityLevel::FIRST).then_some(level).into_iter()
}

fn after_root_keys(store: &StateStore) -> impl Iterator<Item = Record> {
    (store.acl_policies().map(|p| Record::AclPolicy(p.clone())))
        .chain(store.acl_tokens().map(|t| Record::AclToken(t.clone())))
        .chain(store.acl_roles().map(|r| Record::AclRole(r.clone())))
        .chain(store.acl_auth_methods().map(|m| Record::AclAuthMethod(m.clone())))
        .chain(store.acl_binding_rules().map(|r| Record::AclBindingRule(r.clone())))
        .chain(store.one_time_tokens().map(|t| Record::OneTimeToken(t.clone())))
        .chain(store.node_revocations().map(|r| Record::NodeRevocation(r.clone())))
        .chain(Table::ALL.into_iter().map(|t| Record::Index(t.name().into(), store.index_of(t))))
}

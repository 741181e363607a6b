//! The state machine: applies the operations of the log to the store (`docs/spec/server.md §18`). It is deterministic:
//! the effect of an operation depends on the store, the operation and its index only.
//!
//! - [`txn`]: a transaction and its changes.
//! - `node`, `job`, `eval`, `alloc`, `plan`, `deployment`, `keyring`, `variable`, `volume`, `csi`, `csi_plugin`, `acl`,
//!   `admin`: the operations.
//! - `eval_times`: when evaluations change. `status`, `summary`: job statuses and counters derived from other writes (`docs/spec/server.md §19`).
//!
//! A refused operation changes nothing: it runs on a clone that is dropped.

mod acl;
mod admin;
mod alloc;
mod csi;
mod csi_plugin;
mod deployment;
mod eval;
pub(crate) mod eval_times;
mod job;
mod keyring;
mod limits;
pub(crate) mod node;
mod node_change;
pub mod node_evals;
mod plan;
mod purge;
mod status;
mod summary;
pub(crate) mod txn;
mod variable;
mod volume;

pub(crate) use csi_plugin::is_empty as is_empty_plugin;
pub use limits::Limits;
pub use summary::blocked_counts;
pub use txn::{Change, Txn, Unblock};
pub use volume::{refuse_used, users};

use std::sync::Arc;

use crate::storage::persist;
use encamp_model::{Deployment, DeploymentStatus, Evaluation};
use encamp_ops::{Operation, Refusal, Reply};
use encamp_state::StateStore;

/// The result of an operation.
#[derive(Debug)]
pub struct Applied {
    /// The reply for the caller.
    pub reply: Reply,
    /// The written rows, in order.
    pub changes: Vec<Change>,
    /// Capacity that became available.
    pub unblocks: Vec<Unblock>,
    /// Follow-up evaluations that are not needed any more.
    pub dropped_evals: Vec<Arc<Evaluation>>,
    /// Whether the full store was replaced.
    pub restored: bool,
}

impl Applied {
    /// A result without changes.
    fn only(reply: Reply) -> Applied {
        Applied { reply, changes: vec![], unblocks: vec![], dropped_evals: vec![], restored: false }
    }
}

/// Applies an operation at an index. A refused operation does not change the store.
pub fn apply(store: &mut StateStore, index: u64, op: &Operation, limits: Limits) -> Applied {
    if let Operation::Restore { state } = op {
        return match persist::read(&mut state.0.as_slice()) {
            Ok(read) if read.capability_level() > store.capability_level() => {
                let (of, own) = (read.capability_level(), store.capability_level());
                Applied::only(Reply::Refused(Refusal::Snapshot(format!(
                    "the snapshot is of a cluster of capability level {of}, and this cluster has level {own}: first \
                     let all of its servers run a build of that level"
                ))))
            }
            Ok(mut read) => {
                cancel_orphans(&mut read);
                node::keep_revocations(store, &mut read);
                // A cluster never uses a lower level again: its servers of that level are gone.
                read.raise_capability_level(store.capability_level());
                *store = read;
                Applied { restored: true, ..Applied::only(Reply::Done) }
            }
            Err(e) => Applied::only(Reply::Refused(Refusal::Snapshot(e.to_string()))),
        };
    }
    let mut next = store.clone();
    let mut txn = Txn::new(&mut next, index);
    let result = run(&mut txn, op, limits);
    let (changes, unblocks, dropped_evals) = (txn.changes, txn.unblocks, txn.dropped_evals);
    match result {
        Ok(reply) => {
            *store = next;
            Applied { reply, changes, unblocks, dropped_evals, restored: false }
        }
        Err(refusal) => Applied::only(Reply::Refused(refusal)),
    }
}

/// Ends deployments without a job (`docs/spec/server.md §13.8`). According to the specification this happens whenever a
/// snapshot is read, including at the restart of a server; servers with the same log would then differ.
fn cancel_orphans(store: &mut StateStore) {
    let state = store.state();
    let orphan = |d: &&Arc<Deployment>| d.active() && state.job(&d.namespace, &d.job_id).is_none();
    let orphans: Vec<Arc<Deployment>> = store.deployments_by_create().filter(orphan).cloned().collect();
    for d in orphans {
        store.put_deployment(Arc::new(Deployment {
            status: DeploymentStatus::Cancelled,
            status_description: "Cancelled because job is stopped".into(),
            ..Deployment::clone(&d)
        }));
    }
}

fn run(txn: &mut Txn, op: &Operation, limits: Limits) -> Result<Reply, Refusal> {
    let done = |()| Reply::Done;
    match op {
        // The store is replaced instead of written: see `apply`.
        Operation::Barrier | Operation::Restore { .. } => Ok(Reply::Done),
        Operation::NodeRegister(r) => node::register(txn, r).map(done),
        Operation::NodeDeregister { ids } => node::deregister(txn, ids).map(done),
        Operation::NodeStatus(s) => node::status(txn, s).map(done),
        Operation::NodeRevoke(r) => node::revoke(txn, r).map(done),
        Operation::NodeStatusBatch { statuses } => node::statuses(txn, statuses).map(done),
        Operation::NodeDrain(d) => node::drain(txn, d).map(done),
        Operation::NodeEligibility { id, eligibility, event, updated_at } => {
            node::eligibility(txn, id, eligibility, event.as_ref(), *updated_at).map(done)
        }
        Operation::NodeChange(c) => node_change::apply(txn, c, limits),
        Operation::NodeEvents { events } => node::events(txn, events).map(done),
        Operation::NodePoolUpsert { pools } => admin::put_pools(txn, pools).map(done),
        Operation::NodePoolDelete { names } => admin::delete_pools(txn, names).map(done),
        Operation::NamespaceUpsert { namespaces } => admin::put_namespaces(txn, namespaces).map(done),
        Operation::NamespaceDelete { names } => admin::delete_namespaces(txn, names).map(done),
        Operation::JobRegister(r) => job::register(txn, r, limits),
        Operation::JobDeregister(d) => job::deregister(txn, d, limits).map(done),
        Operation::JobBatchDeregister { jobs } => job::batch_deregister(txn, jobs).map(done),
        Operation::JobStability { job, version, stable } => job::stability(txn, job, *version, *stable).map(done),
        Operation::JobVersionTag { job, name, tag } => job::tag(txn, job, name, tag.as_ref()).map(done),
        Operation::EvalUpdate { evals } => eval::update(txn, evals).map(done),
        Operation::EvalCancel { evals, now } => eval::cancel(txn, evals, *now).map(done),
        Operation::EvalDelete { evals, allocs } => eval::delete(txn, evals, allocs).map(done),
        Operation::AllocClientUpdate { allocs, evals, now } => alloc::client_update(txn, allocs, evals, *now).map(done),
        Operation::AllocTransition { transitions, evals } => alloc::transition(txn, transitions, evals).map(done),
        Operation::PlanResults(p) => plan::apply(txn, p).map(done),
        Operation::DeploymentStatus(s) => deployment::status(txn, s, limits).map(done),
        Operation::DeploymentPromotion(p) => deployment::promote(txn, p).map(done),
        Operation::DeploymentAllocHealth(h) => deployment::alloc_health(txn, h, limits).map(done),
        Operation::DeploymentDelete { ids } => {
            ids.iter().for_each(|id| txn.remove_deployment(id));
            Ok(Reply::Done)
        }
        Operation::ReconcileSummaries { queued } => summary::reconcile(txn, queued).map(done),
        Operation::ScalingEvent { job, group, event } => admin::scaling_event(txn, job, group, event).map(done),
        Operation::SchedulerConfig { config, cas } => Ok(Reply::Written(admin::scheduler_config(txn, config, *cas))),
        Operation::Autopilot { config, cas } => Ok(Reply::Written(admin::autopilot(txn, config, *cas))),
        Operation::CapabilityLevel { level } => admin::raise_capability_level(txn, *level).map(done),
        Operation::ClusterMetadata(m) => admin::cluster_metadata(txn, m).map(done),
        Operation::ServiceUpsert { services } => admin::put_services(txn, services).map(done),
        Operation::ServiceDelete { id } => admin::delete_service(txn, id).map(done),
        Operation::ServiceDeleteByNode { node_id } => admin::delete_services_of_node(txn, node_id).map(done),
        Operation::RootKeyUpsert { key, rekey } => keyring::put(txn, key, *rekey).map(done),
        Operation::HostVolumeRegister { volume } => volume::put(txn, volume).map(done),
        Operation::HostVolumeDelete { id } => volume::delete(txn, id).map(done),
        Operation::HostVolumeClaimDelete { id } => volume::delete_claim(txn, id).map(done),
        Operation::CsiVolumeRegister { volumes, now } => csi::register(txn, volumes, *now).map(done),
        Operation::CsiVolumeDeregister { volume, force } => csi::deregister(txn, volume, *force).map(done),
        Operation::CsiVolumeClaim(c) => csi::claim(txn, c).map(done),
        Operation::CsiPluginDelete { id } => csi_plugin::delete(txn, id).map(done),
        Operation::RootKeyDelete { id, force } => keyring::delete(txn, id, *force).map(done),
        Operation::Acl(change) => acl::change(txn, change).map(done),
        Operation::Variable(w) => variable::write(txn, w).map(Reply::Variable),
    }
}

#[cfg(test)]
mod acl_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod revocation_tests;
#[cfg(test)]
mod tests;

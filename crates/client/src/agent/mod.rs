//! The loops of a node (`docs/spec/client.md §2` to `§8`).
//!
//! - [`start`]: starts and stops the node. [`register`]: registration and heartbeats. [`watch`]: pulls allocations.
//!   [`report_allocs`]: reports their status. [`node`]: updates of the node. [`volumes`]: host volumes. `networks`: networks of
//!   the operator. [`disconnect`]: loss of the servers.
//! - [`collect`]: local garbage collection; [`leftovers`]: what it could not remove. [`stats`]: usage of the host and of
//!   tasks. [`metrics`]: published metrics.

pub mod collect;
pub mod connect;
pub mod disconnect;
pub mod leftovers;
pub mod metrics;
mod networks;
pub mod node;
pub mod register;
pub mod report_allocs;
pub mod start;
pub mod stats;
pub mod volumes;
pub mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, mpsc, watch as channel};

use super::clock;
use super::disk;
use super::host_volumes::Plugins;
use super::policy::gc::GcQueue;
use super::policy::leftovers::Leftovers;
use super::policy::report::ReportQueue;
use super::runner::Shared;
use super::runner::alloc::AllocRunner;
use super::servers::{Credentials, Servers};
use super::store::{ClientRecord, SharedClientRecord};
use encamp_model::stats::HostStats;
use encamp_model::{Allocation, NodeEvent, SecretString, duration};

/// A running node.
pub struct Agent {
    pub(super) shared: Arc<Shared>,
    pub(super) servers: Arc<dyn Servers>,
    pub(super) record: SharedClientRecord,
    /// Meta of configuration and defaults.
    pub(super) static_meta: BTreeMap<String, String>,
    /// The plugins of host volumes.
    plugins: Plugins,
    /// All runners, also those of allocations whose files are gone.
    pub(super) runners: Mutex<BTreeMap<String, Arc<AllocRunner>>>,
    /// Allocations that are not run: they could not be added, or had ended before.
    invalid: Mutex<BTreeSet<String>>,
    queue: Mutex<ReportQueue>,
    views: Mutex<Option<mpsc::UnboundedReceiver<Allocation>>>,
    registered: channel::Sender<bool>,
    /// Held during a registration: the introduction token that was refused because the identity was revoked.
    registering: tokio::sync::Mutex<Option<SecretString>>,
    pub(super) beat: Mutex<Beat>,
    /// A new identity of the node is wanted.
    pub(super) renew_identity: Notify,
    events: Mutex<VecDeque<NodeEvent>>,
    events_changed: Notify,
    pub(super) gc: Gc,
    /// Bounds the disks that are sent to other nodes at a time.
    pub(super) disk_slots: Arc<Semaphore>,
    pub(super) host: Mutex<HostStats>,
    pub(super) mhz_per_core: f64,
    pub(super) stop: channel::Sender<bool>,
}

/// The last heartbeat that was answered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beat {
    /// Unix nanoseconds; the start of the agent at first.
    pub ok: i64,
    /// When, and what TTL it gave, in nanoseconds; none before the first.
    pub last: Option<(i64, i64)>,
}

/// Local garbage collection.
pub(super) struct Gc {
    pub queue: Mutex<GcQueue>,
    /// Allocations that are being removed, since when; none: they wait for a slot.
    pub removing: Mutex<BTreeMap<String, Option<Instant>>>,
    /// How many removals have ended.
    pub ended: AtomicU64,
    /// Bounds the removals of files at a time.
    pub slots: Arc<Semaphore>,
    /// Held while an update of the servers is applied, and while a pass decides.
    pub applying: tokio::sync::Mutex<()>,
    pub leftovers: Mutex<Leftovers>,
    pub leftovers_changed: Notify,
}

impl Gc {
    /// Collection that removes so many allocations at a time; at least one.
    fn new(parallel: usize) -> Gc {
        if parallel == 0 {
            tracing::warn!(target: "client", "gc_parallel_destroys is below 1, using 1");
        }
        Gc {
            queue: Mutex::default(),
            removing: Mutex::default(),
            ended: AtomicU64::new(0),
            slots: Arc::new(Semaphore::new(parallel.max(1))),
            applying: tokio::sync::Mutex::default(),
            leftovers: Mutex::default(),
            leftovers_changed: Notify::new(),
        }
    }
}

impl Agent {
    /// An agent without allocations. `record`: what is stored of it. `views`: what runners report.
    fn new(
        shared: Arc<Shared>,
        record: ClientRecord,
        static_meta: BTreeMap<String, String>,
        plugins: Plugins,
        views: mpsc::UnboundedReceiver<Allocation>,
        mhz_per_core: f64,
    ) -> Agent {
        Agent {
            servers: shared.services.servers.clone(),
            gc: Gc::new(shared.config.gc.parallel_destroys),
            shared,
            record: SharedClientRecord::new(record),
            static_meta,
            plugins,
            runners: Mutex::default(),
            invalid: Mutex::new(BTreeSet::new()),
            queue: Mutex::default(),
            views: Mutex::new(Some(views)),
            registered: channel::channel(false).0,
            registering: tokio::sync::Mutex::default(),
            beat: Mutex::new(Beat { ok: clock::now(), last: None }),
            renew_identity: Notify::new(),
            events: Mutex::default(),
            events_changed: Notify::new(),
            disk_slots: Arc::new(Semaphore::new(disk::AT_ONCE)),
            host: Mutex::default(),
            mhz_per_core,
            stop: channel::channel(false).0,
        }
    }

    pub(super) fn who(&self) -> Credentials {
        self.shared.who()
    }

    /// The runner of an allocation.
    pub(super) fn runner(&self, id: &str) -> Option<Arc<AllocRunner>> {
        self.runners.lock().get(id).cloned()
    }

    /// All runners, by ID.
    pub(super) fn all(&self) -> Vec<Arc<AllocRunner>> {
        self.runners.lock().values().cloned().collect()
    }

    /// Waits; false if the agent stops meanwhile.
    async fn pause(&self, nanos: i64) -> bool {
        tokio::select! {
            () = tokio::time::sleep(duration::of_nanos(nanos)) => true,
            () = self.stopped() => false,
        }
    }

    /// Waits, or, if `sooner` is given, that long after the first pull of allocations if that ends before; false if the
    /// agent stops meanwhile.
    async fn pause_or_contact(&self, nanos: i64, sooner: Option<i64>) -> bool {
        let Some(sooner) = sooner else { return self.pause(nanos).await };
        let mut contacted = self.shared.contacted.subscribe();
        let contact = async {
            // The sender lives as long as the agent.
            let _ = contacted.wait_for(|c| *c).await;
            tokio::time::sleep(duration::of_nanos(sooner)).await;
        };
        tokio::select! {
            alive = self.pause(nanos) => alive,
            () = contact => true,
        }
    }

    /// Waits after an error; a new list of servers ends it.
    async fn pause_or_news(&self, nanos: i64) -> bool {
        tokio::select! {
            alive = self.pause(nanos) => alive,
            () = self.servers.changed() => true,
        }
    }

    async fn stopped(&self) {
        let _ = self.stop.subscribe().wait_for(|s| *s).await;
    }

    /// Changes what the whole agent knows, and stores it.
    pub(super) fn store_record(&self, change: impl FnOnce(&mut ClientRecord)) -> std::io::Result<()> {
        self.record.store(&self.shared.store, change)
    }

    fn dev(&self) -> bool {
        self.shared.config.dev
    }
}

/// How long a blocking query may take.
const BLOCK: Duration = Duration::from_secs(300);

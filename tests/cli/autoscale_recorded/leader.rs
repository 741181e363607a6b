//! The loops that a leading server runs, on the state of a server that stores the recorded objects. Nothing of it goes
//! through the HTTP API or through a snapshot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use encamp_autoscale::cluster::{Answer, Cluster, ClusterError, Items, Stored, Usage};
use encamp_autoscale::driver::{Autoscaler, Providers, Settings};
use encamp_autoscale::notify::Nobody;
use encamp_autoscale::params::ProviderKind;
use encamp_autoscale::protection::{ServerMember, Servers};
use encamp_autoscale::provider::command::{Command, CommandSettings};
use encamp_autoscale::status::PoolStatus;
use encamp_state::Snapshot;
use encamp_telemetry::Metrics;
use serde_json::json;

use super::world::{NODE, POOL, World};
use crate::scaling_group::Group;

/// The provider that asks the program of a group.
pub fn provider(group: &Group) -> Command {
    Command::new(CommandSettings::new(&group.command()).expect("a command"))
}

/// Unix nanoseconds.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    i64::try_from(since.as_nanos()).expect("a time before 2262")
}

/// The servers of the recorded cluster: its only agent is the leading server and a node.
pub fn servers() -> Servers {
    let server = ServerMember::new("node-1.global", "global", ["127.0.0.1"]);
    Servers { own_node: Some(NODE.into()), members: vec![server] }
}

/// The loops while they run; they end with the test.
pub struct Leader {
    server: Arc<Store>,
    autoscaler: Autoscaler,
    thread: Option<JoinHandle<()>>,
}

impl Leader {
    /// Starts the loops.
    pub fn start(world: World, group: &Group) -> Leader {
        let server = Arc::new(Store { world: Mutex::new(world), leads: AtomicBool::new(true) });
        let settings = Settings { cluster_interval: Duration::from_millis(50), ..Settings::default() };
        let providers = Providers::from([(ProviderKind::Command, Arc::new(provider(group)) as _)]);
        let (cluster, notify) = (server.clone(), Arc::new(Nobody));
        let metrics = Metrics::default();
        let autoscaler = Autoscaler::new(settings, cluster, providers, notify, metrics, None, Arc::new(now));
        let runs = autoscaler.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(runs.run());
        });
        Leader { server, autoscaler, thread: Some(thread) }
    }

    /// The cluster as it is now.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.server.world()
    }

    /// The pool as operators see it.
    pub fn pool(&self) -> PoolStatus {
        self.autoscaler.pools().into_iter().find(|p| p.pool == POOL).unwrap_or_default()
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.server.leads.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The server's own state.
struct Store {
    world: Mutex<World>,
    leads: AtomicBool,
}

impl Store {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("the cluster")
    }
}

fn answer<'a, T: Send + 'a>(answer: Result<T, ClusterError>) -> Answer<'a, T> {
    Box::pin(std::future::ready(answer))
}

fn unexpected<'a, T: Send + 'a>() -> Answer<'a, T> {
    answer(Err(ClusterError::Failed("it is not part of these tests".into())))
}

impl Cluster for Store {
    fn name(&self) -> String {
        "global".into()
    }

    fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    fn state(&self) -> Answer<'_, Snapshot> {
        answer(Ok(self.world().state()))
    }

    fn servers(&self) -> Answer<'_, Servers> {
        answer(Ok(servers()))
    }

    fn variable<'a>(&'a self, path: &'a str) -> Answer<'a, Option<Stored>> {
        let stored = self.world().variables.get(path).map(|v| Stored {
            items: serde_json::from_value(v["Items"].clone()).expect("items"),
            modify_index: v["ModifyIndex"].as_u64().expect("an index"),
        });
        answer(Ok(stored))
    }

    fn write<'a>(&'a self, path: &'a str, items: Items, check: u64) -> Answer<'a, u64> {
        let written = self.world().write(path, json!(items), check);
        let conflict = |_| ClusterError::Conflict(path.to_string());
        answer(written.map(|v| v["ModifyIndex"].as_u64().expect("an index")).map_err(conflict))
    }

    fn drain<'a>(&'a self, node: &'a str, _: Duration) -> Answer<'a, ()> {
        answer(self.world().drain(node).map(|_| ()).ok_or_else(|| ClusterError::NotFound(node.into())))
    }

    fn cancel_drain<'a>(&'a self, _: &'a str) -> Answer<'a, ()> {
        unexpected()
    }

    fn purge<'a>(&'a self, node: &'a str) -> Answer<'a, ()> {
        self.world().purge(node);
        answer(Ok(()))
    }

    fn scale<'a>(&'a self, _: (&'a str, &'a str), _: &'a str, _: i64, _: &'a str) -> Answer<'a, ()> {
        unexpected()
    }

    fn usage<'a>(&'a self, _: &'a str) -> Answer<'a, Usage> {
        unexpected()
    }
}

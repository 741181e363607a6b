//! What every part of a server may read: the store, the root keys, the settings, and where metrics are recorded.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::fsm::Limits;
use crate::keyring::Keyring;
use crate::settings::Settings;
use crate::storage::store::Store;
use encamp_host::ids;
use encamp_state::StoreSnapshot;
use encamp_telemetry::Metrics;

/// The state of a server. It is read here; operations of the Raft log write it, see [`crate::leading::Leading::commit`].
pub struct ServerState {
    store: Arc<Store>,
    keyring: Arc<Keyring>,
    settings: RwLock<Arc<Settings>>,
    metrics: Metrics,
}

impl ServerState {
    /// The state of a server that starts.
    pub(crate) fn new(settings: Settings, metrics: Metrics) -> ServerState {
        let store = Store::new(Limits { tracked_versions: settings.tracked_versions }, settings.event_buffer_size);
        ServerState { store, keyring: Arc::default(), settings: RwLock::new(Arc::new(settings)), metrics }
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// A snapshot of the current state.
    pub fn snapshot(&self) -> StoreSnapshot {
        self.store.snapshot()
    }

    /// Whether an evaluation has ended or does not exist any more.
    pub(crate) fn has_ended(&self, eval_id: &str) -> bool {
        self.snapshot().eval(eval_id).is_none_or(|e| e.terminal())
    }

    /// The root keys, unwrapped.
    pub fn keyring(&self) -> &Arc<Keyring> {
        &self.keyring
    }

    /// The current settings.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().clone()
    }

    /// The time that counts as now, Unix nanoseconds.
    pub fn now(&self) -> i64 {
        self.settings().as_of.unwrap_or_else(ids::now)
    }

    /// Replaces the settings by what `change` makes of them; `None` leaves them. Returns whether they were replaced.
    pub(crate) fn change_settings(&self, change: impl FnOnce(&Settings) -> Option<Settings>) -> bool {
        let mut settings = self.settings.write();
        let Some(changed) = change(&settings) else { return false };
        *settings = Arc::new(changed);
        true
    }

    /// The limits of the state machine, derived from the settings.
    pub fn limits(&self) -> Limits {
        Limits { tracked_versions: self.settings().tracked_versions }
    }

    /// Metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

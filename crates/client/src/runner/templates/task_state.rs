//! What a task keeps of its templates and its `secret` blocks.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The templates of a task: their work while it goes on, and the environment that they make.
#[derive(Default)]
pub(in crate::runner) struct Templates {
    pub(super) running: Mutex<Option<Running>>,
    /// May hold secrets.
    pub(super) env: Mutex<BTreeMap<String, String>>,
}

/// The work on the templates of a task.
pub(super) struct Running {
    pub progress: watch::Receiver<Progress>,
    /// Dropped, it ends.
    pub _work: JoinSet<()>,
}

/// How far the templates are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Progress {
    Rendering,
    Rendered,
    Failed(String),
}

impl Templates {
    /// The variables that the templates add to the environment.
    pub(in crate::runner) fn variables(&self) -> BTreeMap<String, String> {
        self.env.lock().clone()
    }

    /// Watches no more.
    pub(in crate::runner) fn stop(&self) {
        *self.running.lock() = None;
    }
}

/// The secrets of a task, by the names with which it refers to them. They are never stored.
#[derive(Default)]
pub(in crate::runner) struct Secrets(pub(super) Mutex<Option<BTreeMap<String, String>>>);

impl Secrets {
    /// `secret.<name>.<key>` and its value.
    pub(in crate::runner) fn names(&self) -> BTreeMap<String, String> {
        self.0.lock().clone().unwrap_or_default()
    }

    pub(super) fn are_read(&self) -> bool {
        self.0.lock().is_some()
    }
}

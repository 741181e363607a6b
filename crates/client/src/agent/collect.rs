//! Local garbage (`docs/spec/client.md §27`).

use std::sync::Arc;

use super::super::policy::gc::{self, Pressure};
use super::super::runner::alloc::AllocRunner;
use super::super::runner::locked;
use super::Agent;
use crate::clock;
use crate::error::ClientError;
use crate::fingerprint::host;

impl Agent {
    /// Looks whether something has to go: each interval and whenever it is told to.
    pub(super) async fn collect_forever(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(self.shared.config.gc.interval.max(std::time::Duration::from_millis(1)));
        // The first tick is at once: nothing is there yet.
        ticks.tick().await;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.gc.trigger.notified() => {}
                () = self.stopped() => return,
            }
            self.pass().await;
        }
    }

    /// One pass (`docs/spec/client.md §27.4`).
    async fn pass(self: &Arc<Self>) {
        let limits = &self.shared.config.gc;
        loop {
            if *self.stop.borrow() {
                return;
            }
            let dir = self.shared.alloc_dir.clone();
            let Ok(disk) = tokio::task::spawn_blocking(move || host::alloc_disk(&dir)).await else { return };
            let live = self.all().iter().filter(|r| !r.is_destroyed()).count();
            let now = Pressure { disk: disk.used_percent, inodes: disk.inodes_used_percent, live };
            let Some(reason) = gc::reason(&now, limits) else { return };
            let Some(id) = locked(&self.gc.queue).pop() else {
                let text = "garbage collection skipped because no terminal allocations";
                if gc::warns(&now, limits) {
                    tracing::warn!(target: "client.gc", reason, "{text}");
                } else {
                    tracing::info!(target: "client.gc", reason, "{text}");
                }
                return;
            };
            if let Some(runner) = self.runner(&id) {
                tokio::spawn(self.clone().remove(runner, reason));
            }
        }
    }

    /// Destroys one allocation (`docs/spec/client.md §27.5`).
    async fn remove(self: Arc<Self>, runner: Arc<AllocRunner>, reason: String) {
        tracing::info!(target: "client.gc", alloc_id = runner.id, reason, "garbage collecting allocation");
        let Ok(_slot) = self.gc.slots.acquire().await else { return };
        runner.destroy().await;
        tracing::debug!(target: "client.gc", alloc_id = runner.id, "alloc garbage collected");
    }

    /// The servers forgot an allocation: it goes at once, in the background.
    pub(super) fn collect_removed(self: &Arc<Self>, runner: Arc<AllocRunner>) {
        locked(&self.gc.queue).remove(&runner.id);
        tokio::spawn(self.clone().remove(runner, "forced collection".into()));
    }

    /// Collects one terminal allocation, and waits until it is gone.
    pub(crate) async fn collect_one(self: &Arc<Self>, id: &str) -> Result<(), ClientError> {
        let runner = self.runner(id);
        let runner = runner.filter(|_| locked(&self.gc.queue).remove(id));
        let none = || ClientError::failed("No such allocation on client, or allocation not eligible for GC");
        self.clone().remove(runner.ok_or_else(none)?, "forced collection".into()).await;
        Ok(())
    }

    /// Collects all terminal allocations, in the background.
    pub(crate) fn collect_all(self: &Arc<Self>) {
        loop {
            let Some(id) = locked(&self.gc.queue).pop() else { return };
            if let Some(runner) = self.runner(&id) {
                tokio::spawn(self.clone().remove(runner, "forced full node collection".into()));
            }
        }
    }

    /// Terminal allocations of an earlier run are collected as those of this one.
    pub(super) fn mark_restored(&self, id: &str) {
        locked(&self.gc.queue).mark(id, clock::now());
    }
}

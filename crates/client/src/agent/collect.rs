//! Local garbage collection (`docs/spec/client.md §27`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::policy::gc::{self, Pressure};
use super::super::runner::alloc::AllocRunner;
use super::Agent;
use crate::error::ClientError;
use crate::fingerprint::host;

/// A removal that takes longer is not waited for: one of its tasks does not end.
const LONGEST_REMOVAL: Duration = Duration::from_secs(60);

impl Agent {
    /// Runs garbage collection at every interval and on request.
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

    /// One pass (`docs/spec/client.md §27.4`). It removes no more than it takes: those that are being removed count as
    /// gone, and the disk is checked again when they are.
    async fn pass(self: &Arc<Self>) {
        let limits = &self.shared.config.gc;
        loop {
            if *self.stop.borrow() {
                return;
            }
            let dir = self.shared.alloc_dir.clone();
            let Ok(disk) = tokio::task::spawn_blocking(move || host::alloc_disk(&dir)).await else { return };
            let removing = self.removing();
            let live = self.all().iter().filter(|r| !r.is_destroyed() && !removing.contains(&r.id)).count();
            let now = Pressure { disk: disk.used_percent, inodes: disk.inodes_used_percent, live };
            let Some(cause) = gc::cause(&now, limits) else { return };
            if cause.waits_for_removals() && !removing.is_empty() {
                // The end of the removals is followed by a pass.
                return;
            }
            let reason = cause.to_string();
            let Some(id) = self.gc.queue.lock().pop() else {
                let text = "garbage collection skipped because no terminal allocations";
                if gc::warns(&now, limits) {
                    tracing::warn!(target: "client.gc", reason, "{text}");
                } else {
                    tracing::info!(target: "client.gc", reason, "{text}");
                }
                return;
            };
            if let Some(runner) = self.runner(&id).filter(|r| self.begin_removal(r)) {
                tokio::spawn(self.clone().remove(runner, reason));
            }
        }
    }

    /// Allocations that are being removed; not those that take so long that nobody can wait for them.
    fn removing(&self) -> BTreeSet<String> {
        let removing = self.gc.removing.lock();
        removing.iter().filter(|(_, since)| since.elapsed() < LONGEST_REMOVAL).map(|(id, _)| id.clone()).collect()
    }

    /// Notes that an allocation is being removed; false if it is already, or is gone.
    fn begin_removal(&self, runner: &AllocRunner) -> bool {
        let mut removing = self.gc.removing.lock();
        if runner.is_destroyed() || removing.contains_key(&runner.id) {
            return false;
        }
        removing.insert(runner.id.clone(), Instant::now());
        true
    }

    /// Destroys one allocation (`docs/spec/client.md §27.5`) whose removal has begun.
    async fn remove(self: Arc<Self>, runner: Arc<AllocRunner>, reason: String) {
        let id = runner.id.clone();
        tracing::info!(target: "client.gc", alloc_id = id, reason, "garbage collecting allocation");
        let Ok(_slot) = self.gc.slots.acquire().await else { return };
        runner.destroy().await;
        tracing::debug!(target: "client.gc", alloc_id = id, "alloc garbage collected");
        // Its last report does not make it garbage again.
        self.gc.queue.lock().remove(&id);
        self.gc.removing.lock().remove(&id);
        self.gc.trigger.notify_one();
    }

    /// The servers forgot an allocation: it goes at once, in the background.
    pub(super) fn collect_removed(self: &Arc<Self>, runner: Arc<AllocRunner>) {
        self.gc.queue.lock().remove(&runner.id);
        if self.begin_removal(&runner) {
            tokio::spawn(self.clone().remove(runner, "forced collection".into()));
        }
    }

    /// Collects one terminal allocation, and waits until it is gone.
    pub(crate) async fn collect_one(self: &Arc<Self>, id: &str) -> Result<(), ClientError> {
        let runner = self.runner(id);
        let runner = runner.filter(|r| self.gc.queue.lock().remove(id) && self.begin_removal(r));
        let none = || ClientError::failed("No such allocation on client, or allocation not eligible for GC");
        self.clone().remove(runner.ok_or_else(none)?, "forced collection".into()).await;
        Ok(())
    }

    /// Collects all terminal allocations, in the background.
    pub(crate) fn collect_all(self: &Arc<Self>) {
        loop {
            let Some(id) = self.gc.queue.lock().pop() else { return };
            if let Some(runner) = self.runner(&id).filter(|r| self.begin_removal(r)) {
                tokio::spawn(self.clone().remove(runner, "forced full node collection".into()));
            }
        }
    }

    /// Terminal allocations of an earlier run are collected as those of this one, in the order in which they ended.
    pub(super) fn mark_restored(&self, runner: &AllocRunner) {
        self.gc.queue.lock().mark(&runner.id, runner.marked());
    }
}

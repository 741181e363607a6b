//! Local garbage collection: its passes, and collection on request (`docs/spec/client.md §27`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;

use super::super::policy::gc::{self, Pressure, Step, UnderWay};
use super::super::runner::alloc::AllocRunner;
use super::Agent;
use crate::error::ClientError;
use crate::fingerprint::host;

/// A removal that takes longer is not waited for: one of its tasks does not end.
const LONGEST_REMOVAL: Duration = Duration::from_secs(60);

/// The reasons of removals that no limit requires; the log shows them.
const FORCED: &str = "forced collection";
const FORCED_ALL: &str = "forced full node collection";
const RESUMED: &str = "removal interrupted by the end of the agent";

impl Agent {
    /// Runs garbage collection at every interval and on request.
    pub(super) async fn collect_forever(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(self.shared.config.gc.interval.max(std::time::Duration::from_millis(1)));
        // The first tick is at once: nothing is there yet.
        ticks.tick().await;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.shared.collect.notified() => {}
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
            let ended = self.gc.ended.load(Ordering::Acquire);
            let dir = self.shared.alloc_dir.clone();
            let disk = match tokio::task::spawn_blocking(move || host::alloc_disk(&dir)).await {
                Ok(disk) => disk,
                Err(error) => {
                    tracing::error!(target: "client.gc", %error, "error garbage collecting allocations");
                    return;
                }
            };
            // A replacement that comes with an update pins the allocation that ends with the same update.
            let _applied = self.gc.applying.lock().await;
            let removing = self.removing();
            let live = self.all().iter().filter(|r| !r.is_destroyed() && !removing.contains(&r.id)).count();
            let now = Pressure { disk: disk.used_percent, inodes: disk.inodes_used_percent, live };
            let under_way = UnderWay {
                removals: removing.len(),
                outdated: self.gc.ended.load(Ordering::Acquire) != ended,
                free_slots: self.gc.slots.available_permits(),
            };
            let cause = match gc::step(&now, limits, &under_way) {
                Step::Enough | Step::Wait => return,
                Step::Measure => continue,
                Step::Remove(cause) => cause,
            };
            let Ok(slot) = self.gc.slots.clone().try_acquire_owned() else { return };
            let reason = cause.to_string();
            let pinned = self.pinned();
            let Some(id) = self.gc.queue.lock().pop(&pinned) else {
                let text = "garbage collection skipped because no terminal allocations";
                if gc::warns(&now, limits) {
                    tracing::warn!(target: "client.gc", reason, "{text}");
                } else {
                    tracing::info!(target: "client.gc", reason, "{text}");
                }
                return;
            };
            if let Some(runner) = self.runner(&id).filter(|r| self.begin_removal(r)) {
                tokio::spawn(self.clone().remove(runner, reason, Some(slot)));
            }
        }
    }

    /// Allocations that are being removed, or wait for that; not those that take so long that nobody can wait for them.
    fn removing(&self) -> BTreeSet<String> {
        let near = |since: &Option<Instant>| since.is_none_or(|since| since.elapsed() < LONGEST_REMOVAL);
        let removing = self.gc.removing.lock();
        removing.iter().filter(|(_, since)| near(since)).map(|(id, _)| id.clone()).collect()
    }

    /// Terminal allocations whose disk a replacement is going to take over (`docs/spec/client.md §27.2`).
    fn pinned(&self) -> BTreeSet<String> {
        let runners = self.all();
        let awaited = runners.iter().filter_map(|r| r.awaited_disk());
        let postponed = runners.iter().filter(|r| gc::is_replaced_later(&r.alloc())).map(|r| r.id.clone());
        let held = runners.iter().filter(|r| r.is_held()).map(|r| r.id.clone());
        awaited.chain(postponed).chain(held).collect()
    }

    /// Notes that an allocation is going to be removed; false if it is already, or is gone.
    fn begin_removal(&self, runner: &AllocRunner) -> bool {
        let mut removing = self.gc.removing.lock();
        if runner.is_destroyed() || removing.contains_key(&runner.id) {
            return false;
        }
        removing.insert(runner.id.clone(), None);
        true
    }

    /// Destroys one allocation (`docs/spec/client.md §27.5`) whose removal has begun: ends its tasks at once, and removes
    /// its files as soon as there is a slot.
    ///
    /// # Errors
    /// What is still there: it is removed later.
    async fn remove(
        self: Arc<Self>,
        runner: Arc<AllocRunner>,
        reason: String,
        slot: Option<OwnedSemaphorePermit>,
    ) -> Result<(), ClientError> {
        let id = runner.id.clone();
        tracing::info!(target: "client.gc", alloc_id = id, reason, "garbage collecting allocation");
        let begun = |since| {
            self.gc.removing.lock().insert(id.clone(), since);
        };
        // Who has ended takes its turn: removals that began earlier are not overtaken by those of a pass.
        let slot = match slot {
            None if runner.is_terminal() => Some(self.slot().await?),
            slot => slot,
        };
        begun(Some(Instant::now()));
        // Tasks that do not end for a while are in nobody's way.
        runner.end().await;
        let slot = match slot {
            Some(slot) => slot,
            None => {
                begun(None);
                self.slot().await?
            }
        };
        begun(Some(Instant::now()));
        let removed = runner.remove_files().await;
        drop(slot);
        let text = removed.as_ref().err().map(ToString::to_string);
        match removed {
            Ok(()) => tracing::debug!(target: "client.gc", alloc_id = id, "alloc garbage collected"),
            Err(failure) => self.not_removed(&id, Some(&runner), &failure).await,
        }
        // Its last report does not make it garbage again.
        self.gc.queue.lock().remove(&id);
        // A pass that no longer finds it among the removals has to know that it ended.
        self.gc.ended.fetch_add(1, Ordering::AcqRel);
        self.gc.removing.lock().remove(&id);
        self.shared.collect.notify_one();
        let failed =
            |why| ClientError::Failed(format!("allocation {id} could not be removed: {why}; it is tried again"));
        text.map_or(Ok(()), |why| Err(failed(why)))
    }

    async fn slot(&self) -> Result<OwnedSemaphorePermit, ClientError> {
        self.gc.slots.clone().acquire_owned().await.map_err(ClientError::failed)
    }

    /// Marks a terminal allocation for collection, and wants a pass.
    pub(super) fn mark(&self, runner: &Arc<AllocRunner>) {
        if runner.is_destroyed() || self.gc.removing.lock().contains_key(&runner.id) {
            return;
        }
        let (at, new) = runner.mark();
        if self.gc.queue.lock().mark(&runner.id, at) {
            tracing::info!(target: "client.gc", alloc_id = runner.id, "marking allocation for GC");
            if new {
                // The next run of the agent has to collect in the same order.
                let runner = runner.clone();
                tokio::spawn(async move { runner.persist().await });
            }
            self.shared.collect.notify_one();
        }
    }

    /// The servers forgot an allocation: it goes at once, in the background.
    pub(super) fn collect_removed(self: &Arc<Self>, runner: Arc<AllocRunner>) {
        self.mark(&runner);
        self.gc.queue.lock().remove(&runner.id);
        if self.begin_removal(&runner) {
            tokio::spawn(self.clone().remove(runner, FORCED.into(), None));
        }
    }

    /// Collects one terminal allocation, and waits until it is gone.
    pub(crate) async fn collect_one(self: &Arc<Self>, id: &str) -> Result<(), ClientError> {
        let free = !self.pinned().contains(id);
        let runner = self.runner(id).filter(|_| free);
        let runner = runner.filter(|r| self.gc.queue.lock().remove(id) && self.begin_removal(r));
        let none = || ClientError::failed("No such allocation on client, or allocation not eligible for GC");
        self.clone().remove(runner.ok_or_else(none)?, FORCED.into(), None).await
    }

    /// Collects all terminal allocations, in the background.
    pub(crate) fn collect_all(self: &Arc<Self>) {
        let pinned = self.pinned();
        loop {
            let Some(id) = self.gc.queue.lock().pop(&pinned) else { return };
            if let Some(runner) = self.runner(&id).filter(|r| self.begin_removal(r)) {
                tokio::spawn(self.clone().remove(runner, FORCED_ALL.into(), None));
            }
        }
    }

    /// Terminal allocations of an earlier run are collected as those of this one, in the order in which they ended. A
    /// removal that the end of the agent interrupted goes on.
    pub(super) fn collect_restored(self: &Arc<Self>, runner: &Arc<AllocRunner>) {
        if runner.is_terminal() {
            self.gc.queue.lock().mark(&runner.id, runner.mark_restored());
        }
        if runner.is_being_removed() && self.begin_removal(runner) {
            self.gc.queue.lock().remove(&runner.id);
            tokio::spawn(self.clone().remove(runner.clone(), RESUMED.into(), None));
        }
    }
}

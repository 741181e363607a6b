//! Reports the status of allocations to the servers (`docs/spec/client.md §7`).

use std::sync::Arc;
use std::time::Duration;

use super::super::policy::backoff;
use super::Agent;
use crate::clock;
use encamp_model::Allocation;

/// How often the queue is checked.
const TICK: Duration = Duration::from_millis(200);

impl Agent {
    /// Takes the runners' views and tells the servers, until the end.
    pub(super) async fn tell_forever(self: Arc<Self>) {
        let Some(mut views) = self.views.lock().take() else { return };
        let me = self.clone();
        let taker = tokio::spawn(async move {
            while let Some(view) = views.recv().await {
                me.take(view);
            }
        });
        let mut contacted = self.shared.contacted.subscribe();
        let ready = tokio::select! {
            ok = async { contacted.wait_for(|c| *c).await.is_ok() } => ok,
            () = self.stopped() => false,
        };
        if ready {
            self.tell().await;
        }
        taker.abort();
    }

    fn take(&self, view: Allocation) {
        let id = view.id.clone();
        let ended = view.client_terminal();
        // A runner that was removed has nothing to tell.
        if self.runners.lock().contains_key(&id) {
            self.queue.lock().push(view);
            if ended {
                self.mark(&id);
            }
        }
    }

    async fn tell(self: &Arc<Self>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.stopped() => return,
            }
            let allocs = {
                let runners = self.runners.lock();
                self.queue.lock().tick(|id| runners.contains_key(id))
            };
            if allocs.is_empty() {
                continue;
            }
            match self.servers.update_allocs(&self.who(), allocs.clone()).await {
                Ok(_) => {
                    let shared = self.shared.clone();
                    let kept = allocs.clone();
                    self.queue.lock().sent(allocs);
                    let stored = tokio::task::spawn_blocking(move || {
                        kept.iter().try_for_each(|a| shared.store.put_acknowledged(a))
                    });
                    if let Ok(Err(error)) = stored.await {
                        tracing::error!(target: "client", %error, "failed to store what the servers know");
                    }
                }
                Err(error) => {
                    tracing::error!(target: "client", %error, "error updating allocations");
                    self.queue.lock().failed(allocs);
                    let wait = self.shared.draw(|r| backoff::report(self.dev(), r));
                    if !self.pause(wait).await {
                        return;
                    }
                }
            }
        }
    }

    /// Marks a terminal allocation for collection, and has a look whether it is time.
    pub(super) fn mark(&self, id: &str) {
        let Some(runner) = self.runner(id) else { return };
        if runner.is_destroyed() || self.gc.removing.lock().contains_key(id) {
            return;
        }
        let now = clock::now();
        if self.gc.queue.lock().mark(id, now) {
            tracing::info!(target: "client.gc", alloc_id = id, "marking allocation for GC");
            runner.set_marked(now);
            // The next run of the agent has to collect in the same order.
            tokio::spawn(async move { runner.persist().await });
            self.gc.trigger.notify_one();
        }
    }
}

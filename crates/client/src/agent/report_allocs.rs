//! Reports the status of allocations to the servers (`docs/spec/client.md §7`).

use std::sync::Arc;
use std::time::Duration;

use super::super::policy::backoff;
use super::Agent;
use encamp_model::Allocation;

/// How often the queue is checked.
const TICK: Duration = Duration::from_millis(200);

impl Agent {
    /// Takes the runners' views and reports them to the servers, until the end.
    pub(super) async fn report_forever(self: Arc<Self>) {
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
            self.report().await;
        }
        taker.abort();
    }

    fn take(&self, view: Allocation) {
        // A runner that was removed has nothing to tell.
        let Some(runner) = self.runner(&view.id) else { return };
        let ended = view.client_terminal();
        self.queue.lock().push(view);
        if ended {
            self.mark(&runner);
        }
    }

    async fn report(self: &Arc<Self>) {
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
}

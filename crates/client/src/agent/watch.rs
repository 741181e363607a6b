//! Pulls the allocations of the node from the servers (`docs/spec/client.md §6`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use tokio::task::JoinError;

use super::super::events;
use super::super::policy::{backoff, gc, pull};
use super::super::runner::alloc::AllocRunner;
use super::super::runner::alloc_loop::Previous;
use super::super::runner::error::InvalidAlloc;
use super::super::servers::{Servers, ServersError};
use super::{Agent, BLOCK};
use crate::clock;
use encamp_model::{AllocDeploymentStatus, Allocation, ClientStatus, SortedMap, TaskEventType, TaskState, Time};

/// How often a predecessor on another node is polled.
const REMOTE_POLL: Duration = Duration::from_secs(2);

/// Why an allocation is not stored.
#[derive(Debug, thiserror::Error)]
enum StoreError {
    /// The file can't be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The work did not end.
    #[error(transparent)]
    Interrupted(#[from] JoinError),
}

/// Why an allocation is not run.
#[derive(Debug, thiserror::Error)]
enum AddError {
    /// It can't be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It can't be run.
    #[error(transparent)]
    Invalid(#[from] InvalidAlloc),
}

impl Agent {
    /// Pulls allocations and applies what changed, until the end.
    pub(super) async fn watch_forever(self: Arc<Self>) {
        if !self.wait_registered().await {
            return;
        }
        let (mut min_index, mut first) = (0, true);
        loop {
            let listed = tokio::select! {
                listed = async { self.servers.client_allocs(&self.who(), min_index, BLOCK, first).await } => listed,
                () = self.stopped() => return,
            };
            let listed = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    if !self.recover(error).await {
                        return;
                    }
                    continue;
                }
            };
            first = false;
            if listed.index <= min_index {
                // Servers that answer old news at once must not be asked in a hurry.
                if !self.pause(10_000_000).await {
                    return;
                }
                continue;
            }
            let known = self.known();
            let plan = pull::plan(&listed.allocs, &known, &self.invalid.lock());
            let mut pulled = BTreeMap::new();
            if !plan.pull.is_empty() {
                match self.servers.allocs(&self.who(), &plan.pull, plan.newest.saturating_sub(1)).await {
                    Ok(reply) if reply.index > min_index => {
                        pulled.extend(reply.allocs.into_iter().map(|a| (a.id.clone(), a)));
                    }
                    other => {
                        if let Err(error) = other {
                            tracing::error!(target: "client", %error, "error querying updated allocations");
                        }
                        if !self.retry_later().await {
                            return;
                        }
                        continue;
                    }
                }
                if plan.pull.iter().any(|id| !pulled.contains_key(id)) {
                    let wait = self.shared.draw(backoff::missing_alloc);
                    if !self.pause(wait).await {
                        return;
                    }
                    continue;
                }
            }
            min_index = listed.index;
            self.apply(pulled, &plan.filtered, &known).await;
            self.shared.contacted.send_replace(true);
            self.shared.collect.notify_one();
        }
    }

    /// Registers again if the servers did not list the allocations because of that, otherwise waits; false if the agent
    /// stops meanwhile.
    async fn recover(self: &Arc<Self>, error: ServersError) -> bool {
        if error == ServersError::Revoked {
            return self.register().await;
        }
        if error == ServersError::SecretMismatch && !self.register().await {
            return false;
        }
        tracing::error!(target: "client", %error, "error querying node allocations");
        self.retry_later().await
    }

    async fn retry_later(&self) -> bool {
        let wait = self.shared.draw(|r| backoff::pull(self.dev(), r));
        self.pause_or_news(wait).await
    }

    fn known(&self) -> pull::Known {
        self.runners.lock().iter().map(|(id, r)| (id.clone(), r.alloc().alloc_modify_index)).collect()
    }

    async fn apply(
        self: &Arc<Self>,
        pulled: BTreeMap<String, Arc<Allocation>>,
        filtered: &BTreeSet<String>,
        known: &pull::Known,
    ) {
        let _applying = self.gc.applying.lock().await;
        let indexes = pulled.iter().map(|(id, a)| (id.clone(), a.alloc_modify_index)).collect();
        let changes = pull::changes(&indexes, filtered, known);
        for id in &changes.removed {
            if let Some(runner) = self.runners.lock().remove(id) {
                self.collect_removed(runner);
            }
            self.queue.lock().forget(id);
        }
        self.invalid.lock().retain(|id| filtered.contains(id) || pulled.contains_key(id));
        for id in &changes.updated {
            if let (Some(runner), Some(alloc)) = (self.runner(id), pulled.get(id)) {
                self.store_alloc(alloc).await.unwrap_or_else(|error| {
                    tracing::error!(target: "client", alloc_id = id, %error, "error updating the stored allocation");
                });
                let reconnects = alloc.client_status == ClientStatus::Unknown && !alloc.server_terminal();
                runner.update(alloc.clone()).await;
                if reconnects {
                    let event = || events::message(TaskEventType::Reconnected, "Client reconnected");
                    runner.tasks.iter().for_each(|t| t.emit(event()));
                    // The servers took what they knew for lost.
                    self.queue.lock().forget(id);
                    (self.shared.report)(runner.view());
                }
            }
        }
        for alloc in changes.added.iter().filter_map(|id| pulled.get(id)) {
            if alloc.client_terminal() {
                // It ended here, and what was kept of it is gone: there is nothing to run, and nothing else to tell.
                self.invalid.lock().insert(alloc.id.clone());
                continue;
            }
            if let Err(error) = self.add(alloc).await {
                tracing::error!(target: "client", alloc_id = alloc.id, %error, "error adding alloc");
                self.refuse(alloc, &error);
            }
        }
    }

    async fn store_alloc(&self, alloc: &Arc<Allocation>) -> Result<(), StoreError> {
        let (shared, alloc) = (self.shared.clone(), alloc.clone());
        Ok(tokio::task::spawn_blocking(move || shared.store.put_alloc(&alloc)).await??)
    }

    async fn add(self: &Arc<Self>, alloc: &Arc<Allocation>) -> Result<(), AddError> {
        self.store_alloc(alloc).await?;
        let runner = AllocRunner::new(self.shared.clone(), alloc.clone(), None)?;
        runner.persist().await;
        let previous = self.previous(alloc);
        self.runners.lock().insert(alloc.id.clone(), runner.clone());
        tokio::spawn(runner.run(previous));
        Ok(())
    }

    /// The allocations that an allocation waits for (`docs/spec/client.md §9.3`).
    pub(super) fn previous(&self, alloc: &Arc<Allocation>) -> Previous {
        let local = self.runner(&alloc.previous_allocation);
        let preempted = alloc.preempted_allocations.iter().filter_map(|id| self.runner(id)).collect();
        let elsewhere = local.is_none() && !alloc.previous_allocation.is_empty();
        let remote = elsewhere.then(|| {
            let (servers, who) = (self.servers.clone(), self.who());
            let id = alloc.previous_allocation.clone();
            // Its tasks write until they have ended, not until the servers want them to end.
            let ended = if gc::migrates(alloc) { Allocation::client_terminal } else { Allocation::terminal };
            Box::pin(async move { wait_remote(servers.as_ref(), &who, id, ended).await }) as _
        });
        Previous { local, preempted, remote }
    }

    /// Reports an allocation that can't be run here.
    pub(super) fn refuse(&self, alloc: &Arc<Allocation>, error: &dyn fmt::Display) {
        self.invalid.lock().insert(alloc.id.clone());
        let now = Time::from_unix_nanos(clock::now());
        let mut states: SortedMap<TaskState> = alloc.task_states.iter().collect();
        for task in alloc.group().into_iter().flat_map(|g| &g.tasks) {
            if !states.contains_key(&task.name) {
                states.insert(task.name.clone(), TaskState::default());
            }
        }
        states.values_mut().filter(|t| t.finished_at.is_zero()).for_each(|t| t.finished_at = now);
        let health = match &alloc.deployment_status {
            Some(d) if d.healthy.is_some() => d.clone(),
            other => {
                AllocDeploymentStatus { healthy: Some(false), timestamp: now, ..other.clone().unwrap_or_default() }
            }
        };
        self.queue.lock().push(Allocation {
            id: alloc.id.clone(),
            node_id: alloc.node_id.clone(),
            client_status: ClientStatus::Failed,
            client_description: format!("Unable to add allocation due to error: {error}"),
            task_states: states.into(),
            deployment_status: Some(health),
            ..Allocation::default()
        });
    }
}

/// Ends when an allocation of another node has ended, is unknown, or not there any more.
async fn wait_remote(servers: &dyn Servers, who: &super::Credentials, id: String, ended: fn(&Allocation) -> bool) {
    let ids = [id];
    loop {
        match servers.allocs(who, &ids, 0).await {
            Ok(reply) if reply.allocs.first().is_none_or(|a| ended(a) || a.client_status == ClientStatus::Unknown) => {
                return;
            }
            _ => tokio::time::sleep(REMOTE_POLL).await,
        }
    }
}

//! Registers the services of an allocation and its tasks (`docs/spec/client.md §16.1`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::alloc::AllocRunner;
use super::error::ServicesError;
use super::task::TaskRunner;
use crate::clock;
use crate::env::TaskEnv;
use crate::policy::check_restart::CheckRestartTracker;
use crate::servers::ServersError;
use crate::services::{AddressError, Place, checks, registration};
use encamp_model::{Service, ServiceRegistration};

/// How often the results of checks that restart tasks are evaluated.
const CHECK_POLL: Duration = Duration::from_secs(1);
/// Pauses between attempts to remove a service; the last one is repeated.
const PAUSES: [u64; 5] = [100, 200, 400, 800, 1000];
/// After so many attempts the servers have to find out by themselves that the allocation has ended.
const ATTEMPTS: usize = 60;

impl AllocRunner {
    /// Services of the group (`task` none) or of a task, with the environment they are read with.
    fn services_of(&self, task: Option<&TaskRunner>) -> (Vec<Service>, TaskEnv) {
        let alloc = self.alloc();
        match task {
            Some(task) => (task.task().services.clone(), task.env(self, &task.task())),
            None => (alloc.group().map(|g| g.services.clone()).unwrap_or_default(), self.group_env()),
        }
    }

    /// Calls with the place of the group's services, or of a task's.
    fn at<T>(&self, task: Option<&TaskRunner>, f: impl Fn(&Service, &Place) -> T) -> Vec<T> {
        let (services, env) = self.services_of(task);
        let (alloc, node) = (self.alloc(), self.shared.node());
        let network = task.and_then(|t| t.record().network);
        let name = task.map(|t| t.name.as_str());
        let own = self.network_status();
        let place =
            Place { alloc: &alloc, node: &node, env: &env, task: name, driver: network.as_ref(), network: &own };
        services.iter().map(|s| f(s, &place)).collect()
    }

    /// Registers the services of the group, or of a task; those that are registered no more are removed.
    pub(super) async fn register_services(self: &Arc<Self>, task: Option<&TaskRunner>) -> Result<(), ServicesError> {
        let wanted = self.at(task, registration).into_iter().flatten();
        let wanted = wanted.collect::<Result<Vec<ServiceRegistration>, _>>()?;
        let of = task.map(|t| t.name.clone());
        self.deregister(|id, owner| *owner == of && !wanted.iter().any(|w| w.id == id));
        if wanted.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = wanted.iter().map(|w| w.id.clone()).collect();
        let who = self.shared.who();
        self.shared.services.servers.upsert_services(&who, wanted).await?;
        self.registered.lock().extend(ids.into_iter().map(|id| (id, of.clone())));
        Ok(())
    }

    /// Registers again what an update changed.
    pub(super) async fn update_services(self: Arc<Self>) {
        let running = self.tasks.iter().filter(|t| t.handle().is_some());
        let places: Vec<Option<&TaskRunner>> = std::iter::once(None).chain(running.map(|t| Some(t.as_ref()))).collect();
        for task in places {
            if self.is_stopping() {
                return;
            }
            if let Err(error) = self.register_services(task).await {
                tracing::error!(target: "client.alloc_runner", alloc_id = self.id, %error, "failed to update services");
            }
        }
        if let Err(error) = self.start_checks() {
            tracing::error!(target: "client.alloc_runner", alloc_id = self.id, %error, "failed to update checks");
        }
    }

    /// Runs the checks of all services.
    pub(super) fn start_checks(&self) -> Result<(), AddressError> {
        let places = std::iter::once(None).chain(self.tasks.iter().map(|t| Some(t.as_ref())));
        let all = places.flat_map(|task| self.at(task, checks::of_service)).flatten();
        self.checks.replace(all.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Restarts tasks whose checks fail (`docs/spec/client.md §16.4`), until the allocation ends.
    pub(super) async fn watch_checks(self: Arc<Self>) {
        let mut trackers: BTreeMap<(String, String), CheckRestartTracker> = BTreeMap::new();
        while !self.is_done() && !self.is_stopping() {
            tokio::time::sleep(CHECK_POLL).await;
            let now = clock::now();
            for (id, restart, outcome) in self.checks.restarts() {
                let wanted = |t: &&Arc<TaskRunner>| restart.task.as_ref().is_none_or(|name| *name == t.name);
                for task in self.tasks.iter().filter(wanted) {
                    let handle = task.handle();
                    let started = handle.as_ref().and_then(|_| task.state().started_at.unix_nanos());
                    let tracker = trackers.entry((id.clone(), task.name.clone())).or_default();
                    let Some(handle) = handle.filter(|_| tracker.step(now, started, outcome, &restart.rule)) else {
                        continue;
                    };
                    let reason = format!("healthcheck: check \"{}\" unhealthy", restart.check);
                    let task = task.clone();
                    tokio::spawn(async move {
                        if let Err(error) = task.restart_failed(&handle, &reason).await {
                            tracing::error!(target: "client.alloc_runner.task_runner", task = task.name, %error, "failed to restart the task");
                        }
                    });
                }
            }
        }
    }

    /// Removes registered services, in the background; `which` is asked with the ID and the task, none of the group.
    pub(super) fn deregister(&self, which: impl Fn(&str, &Option<String>) -> bool) {
        let ids: Vec<String> =
            self.registered.lock().extract_if(.., |id, of| which(id, of)).map(|(id, _)| id).collect();
        let namespace = self.alloc().namespace.clone();
        for id in ids {
            let (shared, namespace) = (self.shared.clone(), namespace.clone());
            tokio::spawn(async move {
                for attempt in 0..ATTEMPTS {
                    let who = shared.who();
                    let Err(error) = shared.services.servers.delete_service(&who, &namespace, &id).await else {
                        return;
                    };
                    if matches!(error, ServersError::NodeNotFound | ServersError::NotFound(_)) {
                        return;
                    }
                    let pause = PAUSES.get(attempt).or(PAUSES.last()).copied().unwrap_or(1000);
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
                tracing::warn!(target: "client.alloc_runner", id, "failed to remove a service");
            });
        }
    }
}

impl TaskRunner {
    /// Registers the services of the task that has just started; an error is only logged.
    pub(super) fn register_services(&self) {
        let Some(owner) = self.owner.upgrade().filter(|_| !self.task().services.is_empty()) else { return };
        let Some(me) = owner.task(&self.name).cloned() else { return };
        tokio::spawn(async move {
            if let Err(error) = owner.register_services(Some(&me)).await {
                tracing::error!(target: "client.alloc_runner.task_runner", task = me.name, %error, "failed to register services");
            }
        });
    }

    /// Removes the services of the task.
    pub(super) fn deregister_services(&self) {
        if let Some(owner) = self.owner.upgrade() {
            owner.deregister(|_, of| of.as_ref() == Some(&self.name));
        }
    }
}

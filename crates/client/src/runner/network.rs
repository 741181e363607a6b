//! The network hook of an allocation: makes its network before the tasks run, or takes over the one of an earlier run of
//! the agent, and removes it after them (`docs/spec/client.md §15`).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Shared;
use super::alloc::AllocRunner;
use super::error::NetworkError;
use crate::drivers::Driver;
use crate::drivers::network::{MadeNamespace, TaskNetwork, WantedNamespace};
use crate::env::TaskEnv;
use crate::fingerprint::cni::VERSION;
use crate::netns;
use crate::network::records::{NetworkRecord, Phase};
use crate::network::{ConnectError, Mode, Setup, Wanted};
use crate::policy::network::{self as policy, TaskDriver};
use crate::programs::Cancel;
use encamp_model::version::Version;
use encamp_model::{AllocNetworkStatus, DnsConfig, NetworkResource, Task};

/// How often a namespace is attached to its network.
const ATTEMPTS: u32 = 3;
/// The pause between attempts; a random part of the same length is added.
const PAUSE: Duration = Duration::from_secs(1);
/// The first version of the plugin `bridge` whose `CHECK` is used.
const CHECKED: &str = "1.3.0";

/// How making a network ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// It is complete, or the group has none of its own.
    Complete,
    /// It was given up because the allocation, or the agent, is to end.
    GivenUp,
}

impl AllocRunner {
    /// The first `network` block of the group.
    fn network_block(&self) -> Option<NetworkResource> {
        self.alloc().group().and_then(|g| g.networks.first()).cloned()
    }

    /// The name of the group's network mode.
    fn network_mode(&self) -> String {
        self.network_block().map(|n| n.mode).unwrap_or_default()
    }

    /// The network namespace of the allocation; none: the host's.
    pub(super) fn network_namespace(&self) -> Option<PathBuf> {
        self.shared.networks.read(&self.id, |r| r.namespace.clone())
    }

    /// The addresses of the allocation.
    pub(super) fn network_status(&self) -> AllocNetworkStatus {
        self.network.lock().clone()
    }

    /// The network as tasks know it.
    pub(super) fn task_network(&self, env: &TaskEnv) -> TaskNetwork {
        let block = self.network_block().unwrap_or_default();
        let status = self.network_status();
        let made = self.shared.networks.read(&self.id, |r| r.created.clone());
        let addresses = [status.address, status.address_ipv6];
        TaskNetwork {
            hostname: env.replace(&block.hostname),
            address: addresses.into_iter().find(|a| !a.is_empty()).unwrap_or_default(),
            dns: status.dns.or_else(|| filled_dns(&block, env)),
            made: made.unwrap_or(Value::Null),
        }
    }

    /// The environment that the group's settings are read with.
    pub(super) fn group_env(&self) -> TaskEnv {
        self.tasks.first().map(|t| t.env(self, &Task::default())).unwrap_or_default()
    }

    /// Makes the network that the group wants, or takes over the one that is there.
    pub(super) async fn make_network(&self) -> Result<Made, NetworkError> {
        let name = self.network_mode();
        let mode = Mode::of_name(&name).ok_or_else(|| NetworkError::Mode(name.clone()))?;
        if mode == Mode::Host {
            return Ok(Made::Complete);
        }
        let creator = self.network_creator(&name)?;
        if let Some(record) = self.shared.networks.get(&self.id) {
            if self.take_over(record, &name, creator.as_deref()).await? {
                return Ok(Made::Complete);
            }
            let cancel = self.ends_with(false);
            // A plugin may fail because the namespace is gone; what follows replaces the record.
            self.shared.remove_network(&self.id, &cancel.0).await;
        }
        self.connect(mode, name, creator).await
    }

    /// The driver that makes the namespace; none: the agent does.
    fn network_creator(&self, mode: &str) -> Result<Option<Arc<dyn Driver>>, NetworkError> {
        let tasks: Vec<_> = self.tasks.iter().map(|t| (t.name.as_str(), t.task().driver.clone())).collect();
        let known = tasks.iter().filter_map(|(task, name)| {
            let driver = self.shared.drivers.get(name)?;
            let (own_network, creates_network) = (driver.capabilities().own_network, driver.creates_network());
            Some(TaskDriver { task, driver: name, own_network, creates_network })
        });
        let creator = policy::creator(&known.collect::<Vec<_>>(), mode)?;
        Ok(creator.and_then(|name| self.shared.drivers.get(name)).cloned())
    }

    /// Takes over the network of an earlier run, if it is complete and works.
    async fn take_over(
        &self,
        record: NetworkRecord,
        mode: &str,
        creator: Option<&dyn Driver>,
    ) -> Result<bool, NetworkError> {
        let same = record.mode == mode && record.creator == creator.map(Driver::name).unwrap_or_default();
        let (true, Phase::Connected, true) = (same, record.phase, netns::is_namespace(&record.namespace)) else {
            return Ok(false);
        };
        let Ok(status) = record.status() else { return Ok(false) };
        if let Some(creator) = creator {
            creator.expect(&record.created);
        }
        let checked = self.shared.node().attributes.get(&format!("{VERSION}bridge")).is_some_and(|v| can_check(v));
        if checked {
            let found = self.work(move |setup| setup.check(&record)).await?;
            if let Err(error) = found {
                if error.is_canceled() {
                    // What is there stays.
                    return Ok(true);
                }
                tracing::warn!(target: "client.alloc_runner", alloc_id = self.id, %error, "the network of the allocation is made again");
                return Ok(false);
            }
        }
        self.set_status(status);
        Ok(true)
    }

    /// Makes a namespace and attaches it.
    async fn connect(&self, mode: Mode, name: String, creator: Option<Arc<dyn Driver>>) -> Result<Made, NetworkError> {
        let wanted = self.wanted_network(mode);
        let attachment = self.work(move |setup| wanted.attachment(setup.config)).await??;
        let mut record = NetworkRecord {
            mode: name,
            namespace: netns::path(&self.id),
            creator: creator.as_ref().map(|d| d.name().to_string()).unwrap_or_default(),
            attachment,
            ..NetworkRecord::default()
        };
        self.put_network(&record).await?;
        let Some(made) = self.make_namespace(creator).await? else { return Ok(Made::GivenUp) };
        record.namespace = made.path;
        record.created = made.state;
        self.put_network(&record).await?;
        let mut first: Option<ConnectError> = None;
        for attempt in 1..=ATTEMPTS {
            let mut tried = record.clone();
            let (connected, removed) = self
                .work(move |setup| {
                    let connected = setup.connect(&mut tried);
                    // The next attempt, which may be that of another run, begins without what this one left.
                    let removed = if connected.is_err() { setup.disconnect(&tried) } else { Ok(()) };
                    (connected, removed)
                })
                .await?;
            if let Err(error) = removed {
                tracing::warn!(target: "client.alloc_runner", alloc_id = self.id, %error, "failed to remove a part of the network");
            }
            match connected {
                Ok(status) => {
                    self.set_status(status);
                    return Ok(Made::Complete);
                }
                Err(error) if error.is_canceled() => return Ok(Made::GivenUp),
                Err(error) => {
                    tracing::warn!(target: "client.alloc_runner", alloc_id = self.id, attempt, %error, "failed to configure the network");
                    first.get_or_insert(error);
                }
            }
            if attempt < ATTEMPTS && !self.pause_attempts().await {
                return Ok(Made::GivenUp);
            }
        }
        first.map_or(Ok(Made::Complete), |error| Err(error.into()))
    }

    /// What the plugins get to know.
    fn wanted_network(&self, mode: Mode) -> Wanted {
        let (alloc, env) = (self.alloc(), self.group_env());
        let block = self.network_block().unwrap_or_default();
        let args = block.cni.map(|c| c.args).unwrap_or_default();
        let config = &self.shared.config;
        Wanted {
            mode,
            own_args: vec![
                ("NOMAD_REGION", config.region.clone()),
                ("NOMAD_NAMESPACE", alloc.namespace.to_string()),
                ("NOMAD_JOB_ID", alloc.job_id.to_string()),
                ("NOMAD_GROUP_NAME", alloc.task_group.to_string()),
                ("NOMAD_ALLOC_ID", alloc.id.to_string()),
            ],
            job_args: args.into_iter().map(|(k, v)| (k, env.replace(&v))).collect(),
            ports: alloc.allocated_resources.as_ref().map(|r| r.shared.ports.iter().collect()).unwrap_or_default(),
            everywhere: config.network.bind_wildcard && config.host_networks.is_empty(),
        }
    }

    /// Makes the namespace; none: the allocation, or the agent, is to end.
    async fn make_namespace(&self, creator: Option<Arc<dyn Driver>>) -> Result<Option<MadeNamespace>, NetworkError> {
        let Some(driver) = creator else {
            let (helper, id) = (self.shared.config.helper().map_err(NetworkError::Program)?, self.id.clone());
            let path = tokio::task::spawn_blocking(move || netns::create(&helper, &id)).await??;
            return Ok(Some(MadeNamespace { path, state: Value::Null }));
        };
        let env = self.group_env();
        let hostname = self.network_block().map(|n| env.replace(&n.hostname)).unwrap_or_default();
        let wanted = WantedNamespace { alloc_id: self.id.clone(), hostname };
        tokio::select! {
            made = driver.create_network(&wanted) => made.map(Some).map_err(NetworkError::Driver),
            () = self.ending() => Ok(None),
        }
    }

    /// Notes the addresses; the settings of the group are used where the network has none.
    fn set_status(&self, mut status: AllocNetworkStatus) {
        if status.dns.is_none() {
            let env = self.group_env();
            status.dns = self.network_block().and_then(|block| filled_dns(&block, &env));
        }
        *self.network.lock() = status;
    }

    async fn put_network(&self, record: &NetworkRecord) -> Result<(), NetworkError> {
        let record = record.clone();
        Ok(self.work(move |setup| setup.put(&record)).await?.map_err(ConnectError::Record)?)
    }

    /// Works on the network outside of the runtime's threads. The work is ended early if the allocation, or the agent,
    /// is to end.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Setup<'_>) -> T + Send + 'static,
    ) -> Result<T, NetworkError> {
        let cancel = self.ends_with(true);
        Ok(self.shared.work_on_network(&self.id, &cancel.0, work).await?)
    }

    /// Waits before another attempt; false: the allocation, or the agent, is to end.
    async fn pause_attempts(&self) -> bool {
        let extra = self.shared.draw(|random| random.below(u64::try_from(PAUSE.as_millis()).unwrap_or(u64::MAX)));
        tokio::select! {
            () = tokio::time::sleep(PAUSE + Duration::from_millis(extra)) => true,
            () = self.ending() => false,
        }
    }

    /// Ends when the allocation, or the agent, is to end.
    async fn ending(&self) {
        let (mut stopping, mut going) = (self.stopping.subscribe(), self.shutdown_signal());
        tokio::select! {
            _ = stopping.wait_for(|s| *s) => {}
            _ = going.wait_for(|s| *s) => {}
        }
    }

    /// Ends work when the agent is to end, and the allocation if `stopping` is set; until it is dropped.
    fn ends_with(&self, stopping: bool) -> Watched {
        let cancel = Cancel::default();
        let (canceled, mut stop, mut going) = (cancel.clone(), self.stopping.subscribe(), self.shutdown_signal());
        let task = tokio::spawn(async move {
            let stop = async {
                if !stopping || stop.wait_for(|s| *s).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let go = async {
                if going.wait_for(|s| *s).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = stop => {}
                () = go => {}
            }
            canceled.set();
        });
        Watched(cancel, task)
    }

    /// Removes the network of the allocation, if it has one.
    pub(super) async fn remove_network(&self) {
        if self.shared.networks.get(&self.id).is_some() {
            let cancel = self.ends_with(false);
            self.shared.remove_network(&self.id, &cancel.0).await;
        } else if matches!(Mode::of_name(&self.network_mode()), Some(Mode::Isolated)) {
            // Agents before this one made namespaces without a record.
            self.shared.remove_namespace(&self.id).await;
        }
    }
}

/// A task that tells work to end; dropped, it does no more.
struct Watched(Cancel, tokio::task::JoinHandle<()>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.1.abort();
    }
}

impl Shared {
    /// Works on the network of an allocation outside of the runtime's threads.
    async fn work_on_network<T: Send + 'static>(
        self: &Arc<Self>,
        alloc_id: &str,
        cancel: &Cancel,
        work: impl FnOnce(&Setup<'_>) -> T + Send + 'static,
    ) -> Result<T, tokio::task::JoinError> {
        let (shared, alloc_id, cancel) = (self.clone(), alloc_id.to_string(), cancel.clone());
        let run = move || {
            let config = &shared.config.network;
            let (networks, store) = (&shared.networks, &shared.store);
            work(&Setup { config, networks, store, alloc_id: &alloc_id, cancel: &cancel })
        };
        tokio::task::spawn_blocking(run).await
    }

    /// Removes the network of an allocation: first the plugins undo what they did, then the namespace goes. What fails
    /// is logged; the record stays, so that it is tried again when the allocation is collected or the agent starts.
    pub(crate) async fn remove_network(self: &Arc<Self>, alloc_id: &str, cancel: &Cancel) {
        let Some(record) = self.networks.get(alloc_id) else { return };
        let old = record.clone();
        let worked = self.work_on_network(alloc_id, cancel, move |setup| {
            let noted = NetworkRecord { phase: Phase::Disconnecting, earlier: false, ..record.clone() };
            if let Err(error) = setup.put(&noted) {
                tracing::warn!(target: "client.alloc_runner", alloc_id = setup.alloc_id, %error, "failed to record the network");
            }
            setup.disconnect(&record)
        });
        let complete = match worked.await {
            Ok(Ok(())) => true,
            Ok(Err(error)) if error.is_canceled() => return,
            Ok(Err(error)) => {
                tracing::warn!(target: "client.alloc_runner", alloc_id, %error, "failed to remove the network");
                false
            }
            Err(error) => {
                tracing::warn!(target: "client.alloc_runner", alloc_id, %error, "failed to remove the network");
                false
            }
        };
        let removed = match old.creator.as_str() {
            "" => self.remove_namespace(alloc_id).await,
            name => self.destroy_network(name, alloc_id, &old.created).await,
        };
        if complete && removed {
            let forgotten = self.work_on_network(alloc_id, cancel, |s| s.networks.forget(s.store, s.alloc_id)).await;
            if let Ok(Err(error)) = forgotten {
                tracing::warn!(target: "client.alloc_runner", alloc_id, %error, "failed to forget the network");
            }
        }
    }

    /// Lets a driver remove a namespace that it made; false: it did not.
    async fn destroy_network(&self, driver: &str, alloc_id: &str, created: &Value) -> bool {
        let Some(driver) = self.drivers.get(driver) else { return false };
        let removed = driver.destroy_network(alloc_id, created).await;
        if let Err(error) = &removed {
            tracing::warn!(target: "client.alloc_runner", alloc_id, %error, "the driver failed to remove the network namespace");
        }
        removed.is_ok()
    }

    /// Removes a namespace that the agent made; false: it did not.
    async fn remove_namespace(&self, alloc_id: &str) -> bool {
        let id = alloc_id.to_string();
        match tokio::task::spawn_blocking(move || netns::remove(&id)).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(target: "client.alloc_runner", alloc_id, %error, "failed to remove the network namespace");
                false
            }
            Err(_) => false,
        }
    }

    /// Removes, in the background, the networks of allocations that this run of the agent does not have.
    pub(crate) fn remove_unknown_networks(self: &Arc<Self>, known: impl Fn(&str) -> bool) {
        for alloc_id in self.networks.ids().into_iter().filter(|id| !known(id)) {
            let shared = self.clone();
            tokio::spawn(async move {
                tracing::info!(target: "client", alloc_id, "removing the network of an allocation that is gone");
                shared.remove_network(&alloc_id, &Cancel::default()).await;
            });
        }
    }
}

/// Whether `CHECK` works with that version of the plugin `bridge`.
fn can_check(version: &str) -> bool {
    let (Some(found), Some(first)) = (Version::parse(version), Version::parse(CHECKED)) else { return false };
    found >= first
}

/// The DNS settings of a `network` block, with the variables filled in.
fn filled_dns(block: &NetworkResource, env: &TaskEnv) -> Option<DnsConfig> {
    let dns = block.dns.as_ref()?;
    let fill = |texts: &[String]| texts.iter().map(|t| env.replace(t)).collect();
    let dns = DnsConfig { servers: fill(&dns.servers), searches: fill(&dns.searches), options: fill(&dns.options) };
    Some(dns).filter(|d| !(d.servers.is_empty() && d.searches.is_empty() && d.options.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_plugins_are_asked_to_check() {
        for (version, wanted) in [("1.3.0", true), ("1.9.0", true), ("2.0", true), ("1.2.9", false), ("", false)] {
            assert_eq!(can_check(version), wanted, "{version}");
        }
    }
}

//! Starts and stops a node (`docs/spec/client.md §2`).

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;

use super::super::agent_services::AgentServices;
use super::super::config::Config;
use super::super::csi::Csi;
use super::super::directory::Directory;
use super::super::drivers::Driver;
use super::super::drivers::docker::Docker;
use super::super::drivers::exec::Exec;
use super::super::drivers::java::Java;
use super::super::drivers::mock::Mock;
use super::super::drivers::raw_exec::RawExec;
use super::super::error::{DrainError, StartError, at};
use super::super::fingerprint::{self, Found, host};
use super::super::host_volumes::{self, Plugins};
use super::super::network::records::Networks;
use super::super::runner::Shared;
use super::super::runner::alloc::AllocRunner;
use super::super::runner::alloc_loop::Previous;
use super::super::runner::error::InvalidAlloc;
use super::super::servers::Credentials;
use super::super::store::{Store, Stored};
use super::Agent;
use super::node::{merged, put_driver};
use crate::cgroups::Cgroups;
use crate::clock;
use encamp_model::{Node, NodeEligibility, NodeResources, NodeStatus, TaskStatus};

/// How long the loops may take to end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A started node: the agent, and its loops.
pub struct Running {
    /// The agent.
    pub agent: Arc<Agent>,
    loops: JoinSet<()>,
    /// Directories made for this run alone.
    temporary: Vec<PathBuf>,
}

/// Makes the directory a setting names, or a fresh one.
fn directory(set: Option<&Path>, mode: u32, fresh: &mut Vec<PathBuf>) -> Result<PathBuf, StartError> {
    let path = match set {
        Some(path) => path.to_path_buf(),
        None => {
            let name = clock::uuid().map_err(at("reading", Path::new("/dev/urandom")))?;
            let path = std::env::temp_dir().join(format!("NomadClient{}", name.replace('-', "")));
            fresh.push(path.clone());
            path
        }
    };
    std::fs::DirBuilder::new().recursive(true).mode(mode).create(&path).map_err(at("creating", &path))?;
    path.canonicalize().map_err(at("reading", &path))
}

/// The drivers. `own_dirs`: directories of the agent that tasks do not see.
fn drivers(config: &Config, own_dirs: Vec<PathBuf>) -> Result<BTreeMap<String, Arc<dyn Driver>>, StartError> {
    let supervisor = config.helper().map_err(at("reading", Path::new("/proc/self/exe")))?;
    let raw_exec = config.raw_exec.enabled && config.allowed("driver", "raw_exec");
    let isolated = ["exec", "java"].iter().any(|name| config.allowed("driver", name));
    let isolated = isolated && rustix::process::geteuid().is_root();
    let cgroups = Arc::new(if raw_exec || isolated { Cgroups::of_host() } else { Cgroups::none() });
    let exec = || Exec::new(config.exec.clone(), supervisor.clone(), cgroups.clone(), own_dirs.clone());
    let mut all: Vec<Arc<dyn Driver>> = vec![
        Arc::new(RawExec::new(config.raw_exec.clone(), supervisor.clone(), cgroups.clone())),
        Arc::new(exec()),
        Arc::new(Java::new(exec())),
        Arc::new(Docker::new(config.docker.clone(), supervisor.clone())),
    ];
    if let Some(mock) = &config.mock_driver {
        all.push(Arc::new(Mock::new(mock.clone())));
    }
    let allowed = all.into_iter().filter(|d| config.allowed("driver", d.name()));
    Ok(allowed.map(|d| (d.name().to_string(), d)).collect())
}

/// The node as it registers for the first time.
fn first_node(
    config: &Config,
    identity: (String, String),
    found: Found,
    drivers: &BTreeMap<String, Arc<dyn Driver>>,
) -> Node {
    let (id, secret_id) = identity;
    let name = [config.name.clone(), host::hostname(), id.clone()].into_iter().find(|n| !n.is_empty());
    let mut node = Node {
        name: name.unwrap_or_default(),
        id,
        secret_id: secret_id.into(),
        datacenter: config.datacenter.clone(),
        cgroup_parent: "nomad.slice".into(),
        http_addr: config.http_addr.clone(),
        tls_enabled: config.tls_http,
        attributes: found.attributes.into(),
        node_resources: Some(NodeResources { devices: Vec::new(), ..found.resources }.into()),
        reserved_resources: Some(fingerprint::reserved(config)),
        node_class: config.node_class.clone(),
        node_pool: config.node_pool.clone(),
        scheduling_eligibility: match config.default_ineligible {
            true => NodeEligibility::Ineligible,
            false => NodeEligibility::Eligible,
        },
        status: NodeStatus::Initializing,
        host_volumes: config.host_volumes.clone(),
        host_networks: config.host_networks.clone(),
        gc_volumes_on_node_gc: config.gc.volumes_on_node_gc,
        node_max_allocs: config.node_max_allocs,
        ..Node::default()
    };
    for driver in drivers.values() {
        driver.begin(&node.id);
        put_driver(&mut node, driver.name(), &driver.fingerprint(), clock::now());
    }
    node
}

/// The plugins of host volumes, and their attributes.
fn volume_plugins(config: &Config, volumes_dir: PathBuf, node: &mut Node) -> Plugins {
    let who = host_volumes::program::Node { id: node.id.clone(), pool: node.node_pool.clone() };
    // Plugins get absolute paths, whatever the working directory is.
    let plugin_dir = config.host_volume_plugin_dir.as_ref().map(|d| d.canonicalize().unwrap_or_else(|_| d.clone()));
    let plugins = Plugins::new(volumes_dir, plugin_dir, who);
    if config.allowed("fingerprint", "host_volume_plugins") {
        node.attributes.extend(plugins.fingerprint());
    }
    plugins
}

fn check_volumes(config: &Config) -> Result<(), StartError> {
    for (name, volume) in &config.host_volumes {
        // A volume made at run time has an ID and no place yet.
        if let Err(e) = std::fs::metadata(&volume.path).as_ref().map_err(|e| e.kind()) {
            let text = match e {
                std::io::ErrorKind::NotFound => "no such file or directory".to_string(),
                other => other.to_string(),
            };
            let path = &volume.path;
            let text = format!("node setup failed: failed to validate volume {name}, err: stat {path}: {text}");
            return Err(StartError::Config(text));
        }
    }
    Ok(())
}

/// Starts a node. Restores what ran before; everything else happens in loops.
pub fn start(config: Config, services: AgentServices) -> Result<Running, StartError> {
    let mut temporary = Vec::new();
    let state_dir = directory(config.state_dir.as_deref(), 0o700, &mut temporary)?;
    let alloc_dir = directory(config.alloc_dir.as_deref(), 0o711, &mut temporary)?;
    let host_volumes_dir = directory(config.host_volumes_dir.as_deref(), 0o711, &mut temporary)?;
    let store = if config.dev { Store::none() } else { Store::open(&state_dir)? };
    check_volumes(&config)?;
    let host_uuid = (!config.no_host_uuid && !config.dev).then(host::product_uuid);
    let identity = store.identity(host_uuid.as_deref())?;
    let mut record = store.client()?;
    let mounts = store.mounts()?;
    let networks = Networks::new(store.networks()?);
    let static_meta = fingerprint::static_meta(&config);
    // A removed key that the configuration no longer has need not be remembered.
    record.meta.retain(|key, value| value.is_some() || static_meta.contains_key(key));
    let found = fingerprint::look(&config, &alloc_dir);
    let mhz_per_core = found.mhz_per_core();
    let drivers = drivers(&config, vec![alloc_dir.clone(), state_dir.clone()])?;
    let who = Credentials {
        node_id: identity.0.clone(),
        secret_id: identity.1.as_str().into(),
        identity: record.identity.clone(),
    };
    let mut node = first_node(&config, identity, found, &drivers);
    node.meta = merged(&static_meta, &record.meta).into();
    let plugins = volume_plugins(&config, host_volumes_dir, &mut node);
    let stored = store.load()?;
    let (views, view_receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        who: Mutex::new(who),
        drivers,
        store,
        node: RwLock::new(node),
        node_changed: Notify::new(),
        csi: Csi::new(state_dir.join("csi"), mounts),
        networks,
        host_env: host_env(),
        alloc_dir,
        random: Mutex::new(clock::generator(config.seed, "client")),
        contacted: watch::channel(false).0,
        // The receiver goes with the agent; then nobody wants to know.
        report: Box::new(move |view| drop(views.send(view))),
        marks: Mutex::default(),
        collect: Notify::new(),
        config,
        services,
    });
    let earlier = record.clone();
    let agent = Arc::new(Agent::new(shared, record, static_meta, plugins, view_receiver, mhz_per_core));
    agent.restore_volumes(&earlier);
    agent.restore_allocs(stored);
    let loops = spawn_loops(&agent);
    Ok(Running { agent, loops, temporary })
}

/// Starts the loops of the agent.
fn spawn_loops(agent: &Arc<Agent>) -> JoinSet<()> {
    let mut loops = JoinSet::new();
    loops.spawn(agent.clone().beat_forever());
    loops.spawn(agent.clone().watch_forever());
    loops.spawn(agent.clone().report_forever());
    loops.spawn(agent.clone().answer_requests_forever());
    loops.spawn(agent.clone().watch_node());
    loops.spawn(agent.clone().send_events());
    loops.spawn(agent.clone().measure_forever());
    loops.spawn(agent.clone().collect_forever());
    loops.spawn(agent.clone().remove_leftovers_forever());
    loops.spawn(agent.clone().disconnect_forever());
    for driver in agent.shared.drivers.values() {
        loops.spawn(agent.clone().watch_driver(driver.clone()));
    }
    loops
}

/// The variables of the agent's environment that are text.
fn host_env() -> BTreeMap<String, String> {
    std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect()
}

impl Agent {
    /// Finds the allocations of an earlier run again, and goes on with them.
    fn restore_allocs(self: &Arc<Self>, stored: Vec<Stored>) {
        self.report_unknown(&stored);
        let restored: Vec<_> = stored.into_iter().filter_map(|s| self.restore(s)).collect();
        // An allocation may wait for another one: all are there by now.
        restored.into_iter().for_each(|runner| self.go_on(runner));
        // The runners of the others mount their volumes again, or unmount them.
        self.shared.unmount_unknown(|alloc_id| self.runner(alloc_id).is_some());
        self.shared.remove_unknown_networks(|alloc_id| self.runner(alloc_id).is_some());
    }

    /// Finds an allocation of an earlier run again (`docs/spec/client.md §25.2`); gives its runner.
    fn restore(self: &Arc<Self>, stored: Stored) -> Option<Arc<AllocRunner>> {
        let Stored { alloc, record, acknowledged } = stored;
        let (id, alloc) = (alloc.id.to_string(), Arc::new(alloc));
        let there = self.shared.alloc_dir.join(&id).is_dir();
        // The agent ended before it had begun: servers send the allocation again.
        if !there && record.tasks.values().all(|t| !t.built && t.state.state != TaskStatus::Dead) {
            if let Err(error) = self.shared.store.delete(&id) {
                tracing::error!(target: "client", alloc_id = id, %error, "failed to forget the allocation");
            }
            return None;
        }
        for (name, task) in &record.tasks {
            let known = alloc.group().and_then(|g| g.tasks.iter().find(|t| t.name == *name));
            let driver = known.and_then(|t| self.shared.drivers.get(&t.driver));
            if let (Some(driver), Some(handle)) = (driver, &task.handle) {
                driver.expect(handle);
            }
        }
        if let Some(known) = acknowledged {
            self.queue.lock().acknowledge(known);
        }
        // The agent ended while it removed what had ended: what became of that still counts.
        let ended = record.tasks.values().all(|t| t.state.state == TaskStatus::Dead);
        let runner = AllocRunner::new(self.shared.clone(), alloc.clone(), Some(record))
            .and_then(|r| if there || ended { Ok(r) } else { Err(InvalidAlloc::NoDirectory) });
        match runner {
            Ok(runner) => {
                self.runners.lock().insert(id.clone(), runner.clone());
                Some(runner)
            }
            Err(error) => {
                tracing::error!(target: "client", alloc_id = id, %error, "error restoring alloc");
                self.refuse(&alloc, &error);
                if let Err(error) = self.shared.store.delete(&id) {
                    tracing::error!(target: "client", alloc_id = id, %error, "failed to forget the allocation");
                }
                None
            }
        }
    }

    /// Goes on with an allocation of an earlier run.
    fn go_on(self: &Arc<Self>, runner: Arc<AllocRunner>) {
        let alloc = runner.alloc();
        let previous = if runner.follows_another() { self.previous(&alloc) } else { Previous::default() };
        self.collect_restored(&runner);
        tokio::spawn(runner.run(previous));
    }
}

impl Running {
    /// Drains the node if that is configured; call it before [`Running::shutdown`] for a graceful leave.
    pub async fn leave(&self) -> Result<(), DrainError> {
        self.agent.drain_self().await
    }

    /// Stops the node. In development mode all allocations are destroyed; else their tasks stay and are found again.
    pub async fn shutdown(mut self) {
        // Plugins must run until the volumes of other allocations are unmounted.
        let (plugins, others): (Vec<_>, Vec<_>) = self.agent.all().into_iter().partition(|r| r.runs_csi_plugin());
        for runners in [others, plugins] {
            let mut ends = JoinSet::new();
            for runner in runners {
                let dev = self.agent.dev();
                ends.spawn(async move {
                    if !dev {
                        runner.leave().await;
                    } else if let Err(error) = runner.destroy().await {
                        tracing::warn!(target: "client.alloc_runner", alloc_id = runner.id, %error, "error running destroy hooks");
                    }
                });
            }
            while ends.join_next().await.is_some() {}
        }
        if self.agent.dev() {
            let drivers = self.agent.shared.drivers.values();
            futures_util::future::join_all(drivers.map(|d| d.remove_leftovers())).await;
        }
        self.agent.shared.csi.stop.send_replace(true);
        self.agent.stop.send_replace(true);
        let ended = async { while self.loops.join_next().await.is_some() {} };
        // One may wait for servers that do not answer.
        let _ = tokio::time::timeout(LAST_WORDS, ended).await;
        self.loops.shutdown().await;
        if let Err(error) = self.agent.store_record(|_| {}) {
            tracing::error!(target: "client", %error, "failed to store the state");
        }
        if self.agent.dev() {
            for dir in &self.temporary {
                // A volume may still be mounted: its contents stay.
                let (parent, name) = (dir.parent().map(Directory::open), dir.file_name().and_then(|n| n.to_str()));
                if let (Some(Ok(parent)), Some(name)) = (parent, name) {
                    let _ = parent.remove_tree(name);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_all_drivers_are_known() {
        let config = Config { mock_driver: Some(crate::config::MockConfig::default()), ..Config::default() };
        let found = drivers(&config, Vec::new()).expect("drivers");
        let known: std::collections::BTreeSet<&str> = crate::drivers::BUILT_IN.into();
        assert!(found.keys().map(String::as_str).eq(known));
    }
}

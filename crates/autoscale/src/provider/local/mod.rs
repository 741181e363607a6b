//! The provider `local`: client agents of this program on this machine (`docs/spec/cluster-scaling.md §9.2`), for
//! trying out autoscaling on a laptop.
//!
//! Every call compares the desired with the running instances, and starts or terminates the difference.
//! [`Local::reconcile`] does that without a call, as a cloud provider would.

mod process;
mod store;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::process::Signal;
use serde_json::json;

use self::process::Process;
use self::store::{Entry, Group, State, Store};
use super::{Answer, GroupId, Instance, InstanceState, Provider, ProviderError, ScalingGroup, limits};
use crate::paths;
use crate::view::INSTANCE_ID;

/// How long an agent may take to end after SIGTERM.
const STOP: Duration = Duration::from_secs(20);
/// How often the end of an instance is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// An instance that ends by itself within this time failed to start.
const EARLY: Duration = Duration::from_secs(60);
/// The longest pause after failed starts. The first is 1 s, each further one twice as long.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The file with an agent's messages. The agent itself begins a new one when it is full.
const LOG: &str = "agent.log";
/// When it is full, in bytes.
const LOG_BYTES: u64 = 4 << 20;
/// Full ones that are kept.
const LOG_FILES: u32 = 2;
/// The file with an agent's standard error: why it did not start, or broke off.
const ERRORS: &str = "agent.err";

/// A group of local instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalGroup {
    /// The fewest instances it may be set to.
    pub min: i64,
    /// The most.
    pub max: i64,
    /// How many it begins with.
    pub desired: i64,
    /// The agent configuration of its instances.
    pub config: PathBuf,
    /// RPC addresses of servers, `host:port`.
    pub servers: Vec<String>,
}

/// The program that the provider starts, and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalSettings {
    /// Where it keeps its state and the directories of instances.
    pub directory: PathBuf,
    /// This binary.
    pub program: PathBuf,
    /// Groups by the name of their pool.
    pub groups: BTreeMap<String, LocalGroup>,
}

/// A command for a group.
#[derive(Debug, Clone)]
enum Change {
    SetDesired(i64),
    Terminate { instance: String, decrement: bool },
    Detach { instance: String },
}

/// The provider `local`.
#[derive(Debug, Clone)]
pub struct Local {
    pools: Arc<BTreeMap<String, Pool>>,
}

/// A group with what is known of it in memory alone.
#[derive(Debug)]
struct Pool {
    name: String,
    directory: PathBuf,
    program: PathBuf,
    settings: LocalGroup,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// Agents that this process started, to ask for their ends.
    children: HashMap<String, Child>,
    /// When instances were asked to end.
    asked: HashMap<String, Instant>,
    /// Starts that failed one after the other.
    failures: u32,
    /// No instance is started before.
    not_before: Option<Instant>,
}

impl Memory {
    /// Counts an instance that did not start.
    fn failed(&mut self) {
        let pause = Duration::from_secs(1u64.checked_shl(self.failures.min(6)).unwrap_or(64)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl Local {
    /// The provider with those groups. Nothing is started before the first call or [`Local::reconcile`].
    pub fn new(settings: LocalSettings) -> Local {
        let LocalSettings { directory, program, groups } = settings;
        let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_path_buf());
        let pool = |(name, settings): (String, LocalGroup)| {
            let pool = Pool {
                directory: absolute(&directory).join(paths::part(&name)),
                program: process::resolved(&program),
                settings: LocalGroup { config: absolute(&settings.config), ..settings },
                memory: Mutex::default(),
                name: name.clone(),
            };
            (name, pool)
        };
        Local { pools: Arc::new(groups.into_iter().map(pool).collect()) }
    }

    /// Starts missing instances and terminates surplus ones in every group, as a cloud provider does by itself, and
    /// returns the failures. Call it periodically: it also starts the first instances of an empty pool, for whose group
    /// nobody else asks.
    pub async fn reconcile(&self) -> Vec<(String, ProviderError)> {
        let mut failed = Vec::new();
        for name in self.pools.keys() {
            if let Err(e) = within(self.step(name, None)).await {
                failed.push((name.clone(), e));
            }
        }
        failed
    }

    /// Changes a group and reconciles it.
    async fn step(&self, pool: &str, change: Option<Change>) -> Result<Group, ProviderError> {
        if !self.pools.contains_key(pool) {
            return Err(ProviderError::NoGroup(format!("{pool} is not configured")));
        }
        let (pools, pool) = (self.pools.clone(), pool.to_string());
        let work = tokio::task::spawn_blocking(move || match pools.get(&pool) {
            Some(pool) => pool.step(change),
            None => Err(ProviderError::NoGroup(pool)),
        });
        work.await.map_err(|e| ProviderError::Failed(e.to_string()))?
    }
}

impl Pool {
    fn step(&self, change: Option<Change>) -> Result<Group, ProviderError> {
        let mut memory = self.memory.lock();
        let store = Store::open(&self.directory)?;
        let mut group = store.load(self.settings.desired)?;
        let before = group.clone();
        memory.children.retain(|_, child| matches!(child.try_wait(), Ok(None)));
        self.observe(&store, &mut group, &mut memory);
        if let Some(change) = change {
            self.change(&mut group, &change)?;
        }
        shrink(&mut group);
        if group != before {
            store.save(&group)?;
        }
        self.end(&store, &mut group, &mut memory)?;
        self.start(&store, &mut group, &mut memory)?;
        Ok(group)
    }

    /// Takes note of instances that ended by themselves.
    fn observe(&self, store: &Store, group: &mut Group, memory: &mut Memory) {
        let mut gone = Vec::new();
        for (id, entry) in &mut group.instances {
            let runs = entry.process.is_some_and(Process::runs);
            match entry.state {
                State::Starting => entry.state = State::Terminating,
                State::Running if !runs => {
                    let age = Duration::from_nanos(now().saturating_sub(entry.created).max(0).unsigned_abs());
                    if age < EARLY {
                        memory.failed()
                    } else {
                        memory.failures = 0
                    }
                    let log = store.keep_log(&store.instance(id));
                    tracing::warn!(
                        target: "autoscale",
                        pool = self.name.as_str(),
                        instance = id.as_str(),
                        log = %log.display(),
                        "a local instance exited; it will be replaced"
                    );
                    entry.state = State::Terminating;
                }
                // Its directory stays for inspection.
                State::Detached if !runs => gone.push(id.clone()),
                State::Running | State::Terminating | State::Detached => {}
            }
        }
        for id in gone {
            group.instances.remove(&id);
        }
    }

    fn change(&self, group: &mut Group, change: &Change) -> Result<(), ProviderError> {
        let (id, next, decrement) = match change {
            Change::SetDesired(desired) => {
                limits::within_bounds(&self.scaling_group(group), *desired)?;
                group.desired = *desired;
                return Ok(());
            }
            Change::Terminate { instance, decrement } => (instance, State::Terminating, *decrement),
            Change::Detach { instance } => (instance, State::Detached, true),
        };
        let state = group.instances.get(id).map(|e| e.state);
        match state {
            // It was done by an earlier call.
            Some(state) if state == next => return Ok(()),
            Some(State::Running) => {}
            Some(State::Starting | State::Terminating | State::Detached) | None => {
                return Err(limits::no_instance(&self.name, id));
            }
        }
        if decrement {
            let desired = group.desired.saturating_sub(1);
            limits::within_bounds(&self.scaling_group(group), desired)?;
            group.desired = desired;
        }
        if let Some(entry) = group.instances.get_mut(id) {
            entry.state = next;
        }
        Ok(())
    }

    /// Brings instances that are to end one step further.
    fn end(&self, store: &Store, group: &mut Group, memory: &mut Memory) -> Result<(), ProviderError> {
        let ending: Vec<(String, Option<Process>)> = group
            .instances
            .iter()
            .filter(|(_, e)| e.state == State::Terminating)
            .map(|(id, e)| (id.clone(), e.process))
            .collect();
        for (id, process) in ending {
            if let Some(process) = process.filter(|p| p.runs()) {
                match memory.asked.get(&id) {
                    None => {
                        process.signal(Signal::TERM);
                        memory.asked.insert(id, Instant::now());
                        continue;
                    }
                    Some(asked) if asked.elapsed() < STOP => continue,
                    Some(_) => process.signal(Signal::KILL),
                }
            }
            // Tasks outlive their agent.
            if process::end_leftovers(&self.program, &store.instance(&id)) {
                store.remove(&id)?;
                group.instances.remove(&id);
                store.save(group)?;
                memory.asked.remove(&id);
                memory.children.retain(|_, child| matches!(child.try_wait(), Ok(None)));
            }
        }
        Ok(())
    }

    /// Starts the instances that are missing.
    fn start(&self, store: &Store, group: &mut Group, memory: &mut Memory) -> Result<(), ProviderError> {
        while active(group).count() < usize::try_from(group.desired).unwrap_or(0) {
            if memory.not_before.is_some_and(|t| Instant::now() < t) {
                return Ok(());
            }
            let mut created = now();
            while group.instances.contains_key(&id(created)) {
                created = created.saturating_add(1);
            }
            let id = id(created);
            group.instances.insert(id.clone(), Entry { state: State::Starting, process: None, created });
            store.save(group)?;
            let started = self.spawn(&store.instance(&id), &id);
            let process = started.as_ref().ok().and_then(|child| Process::of(child.id()));
            let entry = Entry { state: State::Running, process, created };
            group.instances.insert(id.clone(), entry);
            match started {
                Ok(child) => {
                    // An agent that has ended already is found without a process, and replaced.
                    memory.children.insert(id, child);
                    store.save(group)?;
                }
                Err(e) => {
                    memory.failed();
                    store.remove(&id)?;
                    group.instances.remove(&id);
                    store.save(group)?;
                    return Err(ProviderError::Failed(format!("an instance can't be started: {e}")));
                }
            }
        }
        Ok(())
    }

    fn spawn(&self, directory: &Path, id: &str) -> Result<Child, ProviderError> {
        store::make_directory(directory)?;
        let config = directory.join("instance.json");
        let generated = json!({
            "name": id,
            "data_dir": directory.join("data"),
            "log_file": directory.join(LOG),
            "log_rotate_bytes": LOG_BYTES,
            "log_rotate_max_files": LOG_FILES,
            "bind_addr": "127.0.0.1",
            "ports": { "http": 0, "rpc": 0, "serf": 0 },
            "advertise": { "http": "127.0.0.1", "rpc": "127.0.0.1", "serf": "127.0.0.1" },
            "client": { "enabled": true, "servers": self.settings.servers, "meta": { INSTANCE_ID: id } },
        });
        store::write(&config, generated.to_string().as_bytes())?;
        process::start(&self.program, directory, [&self.settings.config, &config], &directory.join(ERRORS))
            .map_err(|e| ProviderError::Failed(format!("{}: {e}", self.program.display())))
    }

    fn scaling_group(&self, group: &Group) -> ScalingGroup {
        let instance = |(id, entry): (&String, &Entry)| {
            let state = match entry.state {
                State::Starting | State::Running => InstanceState::Active,
                State::Terminating => InstanceState::Leaving,
                State::Detached => return None,
            };
            Some(Instance { id: id.clone(), state })
        };
        ScalingGroup {
            desired: group.desired,
            min: self.settings.min,
            max: self.settings.max,
            instances: group.instances.iter().filter_map(instance).collect(),
        }
    }
}

fn id(created: i64) -> String {
    format!("i-{created:016x}")
}

/// The instances that count, oldest first.
fn active(group: &Group) -> impl Iterator<Item = &String> {
    let counts = |e: &Entry| matches!(e.state, State::Starting | State::Running);
    group.instances.iter().filter(move |(_, e)| counts(e)).map(|(id, _)| id)
}

/// Has the newest instances end where there are more than desired.
fn shrink(group: &mut Group) {
    while active(group).count() > usize::try_from(group.desired).unwrap_or(0) {
        let Some(newest) = active(group).last().cloned() else { return };
        if let Some(entry) = group.instances.get_mut(&newest) {
            entry.state = State::Terminating;
        }
    }
}

async fn within<T>(call: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
    tokio::time::timeout(limits::CALL, call).await.unwrap_or_else(|_| Err(limits::timeout(limits::CALL)))
}

impl Provider for Local {
    fn group<'a>(&'a self, group: GroupId<'a>) -> Answer<'a, ScalingGroup> {
        Box::pin(within(async move {
            let read = self.step(group.pool, None).await?;
            match self.pools.get(group.pool) {
                Some(pool) => Ok(pool.scaling_group(&read)),
                None => Err(ProviderError::NoGroup(group.pool.to_string())),
            }
        }))
    }

    fn set_desired<'a>(&'a self, group: GroupId<'a>, desired: i64) -> Answer<'a, ()> {
        Box::pin(within(async move { self.step(group.pool, Some(Change::SetDesired(desired))).await.map(drop) }))
    }

    /// Waits until the instance and all that it ran have ended.
    fn terminate<'a>(&'a self, group: GroupId<'a>, instance: &'a str, decrement: bool) -> Answer<'a, ()> {
        Box::pin(within(async move {
            let change = Change::Terminate { instance: instance.to_string(), decrement };
            let mut read = self.step(group.pool, Some(change)).await?;
            while read.instances.contains_key(instance) {
                tokio::time::sleep(LOOK).await;
                read = self.step(group.pool, None).await?;
            }
            Ok(())
        }))
    }

    fn detach<'a>(&'a self, group: GroupId<'a>, instance: &'a str) -> Answer<'a, ()> {
        Box::pin(within(async move {
            let change = Change::Detach { instance: instance.to_string() };
            self.step(group.pool, Some(change)).await.map(drop)
        }))
    }
}

#[cfg(test)]
mod tests;

//! A node with fake servers.
//!
//! - [`tasks`]: running and stopping tasks. [`node`]: reports to the servers, restarts, garbage collection.
//!   [`collection`]: which allocations it collects. [`disks`]: disks that come from other nodes.
//! - [`requests`]: files, logs, commands.

mod collection;
mod disks;
mod node;
mod requests;
mod tasks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use encamp_client::config::{Config, GcConfig, MockConfig, RawExecConfig};
use encamp_client::servers::{Answer, Credentials, Servers, ServersError};
use encamp_client::{AgentServices, Client, Handle};
use encamp_model::responses::{AllocsGetResponse, NodeClientAllocsResponse, NodeUpdateResponse};
use encamp_model::*;
use tokio::sync::watch;

use super::program::{remove_cgroups, unmount_below};

/// Maximum time of any wait in these tests.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until a condition holds.
pub async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A directory that is removed at the end.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new(name: &str) -> TempDir {
        let path = std::env::temp_dir().join(format!("encamp-node-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        remove_cgroups(&self.0);
        unmount_below(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The state of the fake servers.
#[derive(Default)]
pub struct Known {
    pub allocs: BTreeMap<String, Allocation>,
    pub nodes: Vec<Node>,
    pub services: BTreeMap<String, ServiceRegistration>,
    /// Disks of other nodes, by the allocation that takes each over.
    pub disks: BTreeMap<String, PreviousDisk>,
    pub beats: usize,
    pub reports: usize,
    /// Whether they do not respond.
    pub down: bool,
    /// Whether they do not know the node.
    pub forgot: bool,
}

/// Fake servers.
pub struct Fake {
    pub known: Mutex<Known>,
    index: watch::Sender<u64>,
}

impl Fake {
    pub fn new() -> Arc<Fake> {
        Arc::new(Fake { known: Mutex::default(), index: watch::channel(5).0 })
    }

    fn next(&self) -> u64 {
        self.index.send_modify(|i| *i += 1);
        *self.index.borrow()
    }

    fn up(&self) -> Result<(), ServersError> {
        let known = self.known.lock().unwrap();
        let down = ServersError::Unreachable { server: "s1".into(), reason: "down".into() };
        if known.down { Err(down) } else { Ok(()) }
    }

    /// Changes an allocation as the servers do: the node then pulls it.
    pub fn write(&self, mut alloc: Allocation) {
        let mut known = self.known.lock().unwrap();
        let index = *self.index.borrow() + 1;
        (alloc.modify_index, alloc.alloc_modify_index) = (index, index);
        known.allocs.insert(alloc.id.clone(), alloc);
        drop(known);
        self.next();
    }

    pub fn change(&self, id: &str, change: impl FnOnce(&mut Allocation)) {
        let mut alloc = self.alloc(id);
        change(&mut alloc);
        self.write(alloc);
    }

    pub fn stop(&self, id: &str) {
        self.change(id, |a| a.desired_status = DesiredStatus::Stop);
    }

    pub fn forget(&self, id: &str) {
        self.known.lock().unwrap().allocs.remove(id);
        self.next();
    }

    pub fn alloc(&self, id: &str) -> Allocation {
        self.known.lock().unwrap().allocs[id].clone()
    }

    pub async fn wait(&self, id: &str, what: &str, test: impl Fn(&Allocation) -> bool) -> Allocation {
        let end = Instant::now() + PATIENCE;
        loop {
            let alloc = self.alloc(id);
            if test(&alloc) {
                return alloc;
            }
            let states: Vec<_> = alloc.task_states.keys().map(|t| (texts(&alloc, &t), t)).collect();
            assert!(Instant::now() < end, "waited in vain for {what}: {} {states:?}", alloc.client_status);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for a client status.
    pub async fn status(&self, id: &str, status: ClientStatus) -> Allocation {
        self.wait(id, status.as_str(), |a| a.client_status == status).await
    }
}

impl Servers for Fake {
    fn register<'a>(&'a self, node: &'a Node, _: &'a str) -> Answer<'a, NodeUpdateResponse> {
        Box::pin(async move {
            self.up()?;
            let mut known = self.known.lock().unwrap();
            known.nodes.push(node.clone());
            known.forgot = false;
            Ok(NodeUpdateResponse {
                index: 1,
                heartbeat_ttl: 50_000_000,
                servers: vec!["s1".into()],
                ..NodeUpdateResponse::default()
            })
        })
    }

    fn update_status<'a>(&'a self, _: &'a Credentials, _: NodeStatus, _: bool) -> Answer<'a, NodeUpdateResponse> {
        Box::pin(async move {
            self.up()?;
            let mut known = self.known.lock().unwrap();
            if known.forgot {
                return Err(ServersError::NodeNotFound);
            }
            known.beats += 1;
            Ok(NodeUpdateResponse {
                heartbeat_ttl: 50_000_000,
                servers: vec!["s1".into()],
                ..NodeUpdateResponse::default()
            })
        })
    }

    fn client_allocs<'a>(
        &'a self,
        _: &'a Credentials,
        min: u64,
        wait: Duration,
        _: bool,
    ) -> Answer<'a, NodeClientAllocsResponse> {
        Box::pin(async move {
            self.up()?;
            let mut index = self.index.subscribe();
            let _ = tokio::time::timeout(wait, index.wait_for(|i| *i > min)).await;
            self.up()?;
            let index = *self.index.borrow();
            let known = self.known.lock().unwrap();
            let allocs = known.allocs.values().map(|a| (a.id.clone(), a.alloc_modify_index)).collect();
            Ok(NodeClientAllocsResponse { allocs, index })
        })
    }

    fn allocs<'a>(&'a self, _: &'a Credentials, ids: &'a [String], _: u64) -> Answer<'a, AllocsGetResponse> {
        Box::pin(async move {
            self.up()?;
            let known = self.known.lock().unwrap();
            let allocs = ids.iter().filter_map(|id| known.allocs.get(id).cloned().map(Arc::new)).collect();
            Ok(AllocsGetResponse { allocs, index: *self.index.borrow() })
        })
    }

    fn previous_disk<'a>(&'a self, _: &'a Credentials, id: &'a str) -> Answer<'a, Option<PreviousDisk>> {
        Box::pin(async move {
            self.up()?;
            Ok(self.known.lock().unwrap().disks.get(id).cloned())
        })
    }

    fn update_allocs<'a>(&'a self, _: &'a Credentials, allocs: Vec<Allocation>) -> Answer<'a, u64> {
        Box::pin(async move {
            self.up()?;
            let mut known = self.known.lock().unwrap();
            known.reports += 1;
            for new in allocs {
                if let Some(a) = known.allocs.get_mut(&new.id) {
                    a.client_status = new.client_status;
                    a.client_description = new.client_description;
                    a.task_states = new.task_states;
                    a.deployment_status = new.deployment_status;
                }
            }
            Ok(1)
        })
    }

    fn emit_events<'a>(&'a self, _: &'a Credentials, _: Vec<NodeEvent>) -> Answer<'a, u64> {
        Box::pin(async { Ok(1) })
    }

    fn upsert_services<'a>(&'a self, _: &'a Credentials, services: Vec<ServiceRegistration>) -> Answer<'a, u64> {
        Box::pin(async move {
            self.known.lock().unwrap().services.extend(services.into_iter().map(|s| (s.id.clone(), s)));
            Ok(1)
        })
    }

    fn delete_service<'a>(&'a self, _: &'a Credentials, _: &'a str, id: &'a str) -> Answer<'a, u64> {
        Box::pin(async move {
            self.known.lock().unwrap().services.remove(id);
            Ok(1)
        })
    }

    fn drain_self<'a>(&'a self, _: &'a Credentials, _: DrainStrategy, _: BTreeMap<String, String>) -> Answer<'a, u64> {
        Box::pin(async { Ok(1) })
    }

    fn node<'a>(&'a self, _: &'a Credentials) -> Answer<'a, Option<Arc<Node>>> {
        Box::pin(async { Ok(self.known.lock().unwrap().nodes.last().cloned().map(Arc::new)) })
    }

    fn known(&self) -> Vec<String> {
        vec!["s1".into()]
    }
}

/// Settings of a node in a directory.
pub fn config(dir: &Path) -> Config {
    Config {
        dev: true,
        state_dir: Some(dir.join("client")),
        alloc_dir: Some(dir.join("alloc")),
        supervisor: Some(env!("CARGO_BIN_EXE_encamp").into()),
        raw_exec: RawExecConfig { enabled: true, ..RawExecConfig::default() },
        mock_driver: Some(MockConfig::default()),
        network_interface: "lo".into(),
        // The machine's own disk may be full.
        gc: GcConfig { disk_usage_threshold: 101.0, inode_usage_threshold: 101.0, ..GcConfig::default() },
        seed: Some(7),
        ..Config::default()
    }
}

/// A running node with its servers and its directory.
pub struct Bench {
    pub servers: Arc<Fake>,
    pub client: Client,
    pub dir: TempDir,
}

impl Bench {
    pub async fn new(name: &str) -> Bench {
        Bench::with(name, |_| {}).await
    }

    pub async fn with(name: &str, change: impl FnOnce(&mut Config)) -> Bench {
        let (servers, dir) = (Fake::new(), TempDir::new(name));
        let mut config = config(&dir.0);
        change(&mut config);
        let client = Client::start(config, AgentServices::new(servers.clone())).await.unwrap();
        Bench { servers, client, dir }
    }

    pub fn handle(&self) -> Handle {
        self.client.handle()
    }

    /// Runs an allocation of the job with these tasks. Returns its ID.
    pub fn run(&self, job_type: JobType, tasks: &str) -> String {
        let alloc = alloc(job_type, tasks);
        let id = alloc.id.clone();
        self.servers.write(alloc);
        id
    }

    pub async fn end(self) -> TempDir {
        tokio::time::timeout(PATIENCE, self.client.shutdown()).await.expect("the node stops");
        self.dir
    }
}

/// An allocation of a job with one group; `tasks`: JSON of the group's tasks.
pub fn alloc(job_type: JobType, tasks: &str) -> Allocation {
    static NEXT: Mutex<u32> = Mutex::new(0);
    let n = {
        let mut next = NEXT.lock().unwrap();
        *next += 1;
        *next
    };
    let tasks: Vec<Task> = serde_json::from_str(tasks).unwrap();
    let never = RestartPolicy { mode: RestartMode::Fail, ..RestartPolicy::default() };
    let tasks =
        tasks.into_iter().map(|t| Task { restart_policy: t.restart_policy.clone().or(Some(never.clone())), ..t });
    let group = TaskGroup { name: "g".into(), count: 1, tasks: tasks.collect(), ..TaskGroup::default() };
    let job = Job {
        id: "job".into(),
        name: "job".into(),
        namespace: "default".into(),
        r#type: job_type,
        task_groups: vec![group],
        ..Job::default()
    };
    Allocation {
        id: format!("aaaaaaaa-0000-0000-0000-{n:012}"),
        namespace: "default".into(),
        name: "job.g[0]".into(),
        job_id: "job".into(),
        task_group: "g".into(),
        job: Some(Arc::new(job)),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Pending,
        allocated_resources: Some(Arc::default()),
        ..Allocation::default()
    }
}

/// Changes the group of an allocation.
pub fn with_group(mut alloc: Allocation, change: impl FnOnce(&mut TaskGroup)) -> Allocation {
    let mut job = (**alloc.job.as_ref().unwrap()).clone();
    change(&mut job.task_groups[0]);
    alloc.job = Some(Arc::new(job));
    alloc
}

/// JSON of a `raw_exec` task that runs a shell script; `more`: additional fields.
pub fn shell(name: &str, script: &str, more: &str) -> String {
    let config = serde_json::json!({"command": "/bin/sh", "args": ["-c", script]});
    format!(r#"{{"Name":"{name}","Driver":"raw_exec","Config":{config}{more}}}"#)
}

/// JSON of a `mock_driver` task.
pub fn mock(name: &str, config: &str, more: &str) -> String {
    format!(r#"{{"Name":"{name}","Driver":"mock_driver","Config":{config}{more}}}"#)
}

/// Types of a task's events.
pub fn events(alloc: &Allocation, task: &str) -> Vec<String> {
    alloc.task_states.get(task).map(|t| t.events.iter().map(|e| e.r#type.to_string()).collect()).unwrap_or_default()
}

/// Display messages of a task's events.
pub fn texts(alloc: &Allocation, task: &str) -> Vec<String> {
    alloc.task_states.get(task).map(|t| t.events.iter().map(|e| e.display_message).collect()).unwrap_or_default()
}

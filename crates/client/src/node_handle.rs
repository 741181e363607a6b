//! The handle through which the HTTP API reaches a node (`docs/spec/client.md §26`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::agent::{Agent, stats};
use super::alloc_files::{AllocFiles, Contents};
use super::disk::{self, DiskBytes};
use super::drivers::{ExecRequest, ExecSession};
use super::error::{ClientError, Unhealthy};
use super::logs::stream::{self, Frames, LogSource};
use super::responses::NodeMeta;
use super::runner::alloc::AllocRunner;
use super::services::checks::CheckResult;
use encamp_model::responses::AllocFileInfo;
use encamp_model::stats::{AllocResourceUsage, HostStats};
use encamp_model::{CsiCall, CsiError, CsiReply, HostVolume, Node, SecretString, TaskStatus, quoted};

/// How long what needs the node's identity waits for its first registration.
const REGISTRATION_WAIT: Duration = Duration::from_secs(5);

/// A way to a running node; copies lead to the same one.
#[derive(Clone)]
pub struct Handle {
    agent: Arc<Agent>,
}

/// Where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// Offsets count from the start.
    #[default]
    Start,
    /// Offsets count backwards from the end.
    End,
}

impl Origin {
    /// The origin of a parameter's text; empty is the start.
    pub fn parse(text: &str) -> Result<Origin, ClientError> {
        match text {
            "" | "start" => Ok(Origin::Start),
            "end" => Ok(Origin::End),
            _ => Err(ClientError::BadRequest("origin must be start or end".into())),
        }
    }
}

/// Which output of which task to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogsRequest {
    /// Name of the task.
    pub task: String,
    /// `stdout` or `stderr`.
    pub kind: String,
    /// Go on when the end is reached.
    pub follow: bool,
    /// Bytes to skip.
    pub offset: u64,
    /// Where they are counted from.
    pub origin: Origin,
}

impl Handle {
    pub(super) fn new(agent: Arc<Agent>) -> Handle {
        Handle { agent }
    }

    /// ID of the node.
    pub fn node_id(&self) -> String {
        self.agent.who().node_id
    }

    /// The node as it is now, its secret included.
    pub fn node(&self) -> Node {
        self.agent.shared.node()
    }

    /// Whether an allocation is known here; one whose files are gone counts as long as the servers list it.
    pub fn knows(&self, alloc: &str) -> bool {
        self.agent.runner(alloc).is_some()
    }

    /// The namespace of an allocation that is known here.
    pub fn alloc_namespace(&self, alloc: &str) -> Option<String> {
        self.agent.runner(alloc).map(|runner| runner.alloc().namespace.to_string())
    }

    /// Whether a task sees a file system of its own; of no name, the only task of the allocation. Tasks that are not
    /// known do not.
    pub fn isolates(&self, alloc: &str, task: &str) -> bool {
        let Some(runner) = self.agent.runner(alloc) else { return false };
        runner.task_or_only(task).is_some_and(|task| task.driver_isolates())
    }

    /// The servers it knows, sorted.
    pub fn servers(&self) -> Vec<String> {
        let mut known = self.agent.servers.known();
        known.sort_unstable();
        known
    }

    /// Has the node ask other servers: those of these that answer.
    ///
    /// # Errors
    /// Why each of them does not answer, if none does.
    pub async fn replace_servers(&self, servers: Vec<String>) -> Result<(), Vec<String>> {
        self.agent.servers.replace(servers).await
    }

    /// Whether the node can do its work (`docs/spec/agent-config.md §10.3`).
    ///
    /// # Errors
    /// There is no server to ask.
    pub fn health(&self) -> Result<(), Unhealthy> {
        if self.agent.servers.known().is_empty() { Err(Unhealthy::NoServers) } else { Ok(()) }
    }

    /// `stats.client` of the agent (`docs/spec/agent-config.md §10.3`).
    pub fn stats(&self) -> BTreeMap<String, String> {
        let beat = *self.agent.beat.lock();
        let ago = |at: i64| encamp_model::format_duration(super::clock::now().saturating_sub(at));
        let live = self.agent.all().iter().filter(|r| !r.is_destroyed()).count();
        let entries = [
            ("known_servers", self.agent.servers.known().join(",")),
            ("num_allocations", live.to_string()),
            ("last_heartbeat", ago(beat.ok)),
            ("heartbeat_ttl", encamp_model::format_duration(beat.last.map_or(0, |(_, ttl)| ttl))),
            ("node_id", self.node_id()),
        ];
        entries.into_iter().map(|(k, v)| (k.to_string(), v)).collect()
    }

    /// Makes a host volume; gives its place on this host and its size in bytes.
    pub fn create_volume(&self, volume: &HostVolume) -> Result<(String, i64), ClientError> {
        self.agent.create_volume(volume)
    }

    /// Asks the plugins of host volumes for their versions again.
    pub fn fingerprint_volume_plugins(&self) {
        self.agent.fingerprint_volume_plugins();
    }

    /// Reads the networks of the operator again, and asks their plugins for their versions.
    pub fn fingerprint_networks(&self) {
        self.agent.fingerprint_networks();
    }

    /// Registers an existing directory as a host volume.
    pub fn register_volume(&self, volume: &HostVolume) -> Result<(), ClientError> {
        self.agent.register_volume(volume)
    }

    /// Lets go of a host volume; what was made for it is removed.
    pub fn delete_volume(&self, id: &str) -> Result<(), ClientError> {
        self.agent.delete_volume(id)
    }

    /// Asks a storage plugin of this node to do something (`docs/spec/client.md §24.2`).
    ///
    /// # Errors
    /// What the caller can do about it.
    pub async fn ask_csi_plugin(&self, call: CsiCall) -> Result<CsiReply, CsiError> {
        self.agent.shared.ask_csi_plugin(call).await
    }

    fn runner(&self, alloc: &str) -> Result<Arc<AllocRunner>, ClientError> {
        self.agent.runner(alloc).ok_or_else(|| ClientError::unknown_alloc(alloc))
    }

    /// The usage of the host.
    pub fn host_stats(&self) -> HostStats {
        self.agent.host_stats()
    }

    /// The usage of the tasks of an allocation, or of one of them (`task` not empty).
    pub fn alloc_stats(&self, alloc: &str, task: &str) -> Result<AllocResourceUsage, ClientError> {
        stats::usage(&*self.runner(alloc)?, task)
    }

    /// Results of the checks of an allocation, by ID of the check.
    pub fn checks(&self, alloc: &str) -> Result<BTreeMap<String, CheckResult>, ClientError> {
        Ok(self.runner(alloc)?.checks.results())
    }

    /// Restarts one task, all running ones (`task` empty), or all (`all`).
    pub async fn restart(&self, alloc: &str, task: &str, all: bool) -> Result<(), ClientError> {
        self.runner(alloc)?.restart(task, all).await
    }

    /// Sends a signal to one task, or to all (`task` empty).
    pub async fn signal(&self, alloc: &str, task: &str, signal: &str) -> Result<(), ClientError> {
        self.runner(alloc)?.signal(task, signal).await
    }

    /// Collects a terminal allocation; ends when it is gone.
    pub async fn gc_alloc(&self, alloc: &str) -> Result<(), ClientError> {
        self.runner(alloc)?;
        self.agent.collect_one(alloc).await
    }

    /// Collects all terminal allocations, in the background.
    pub fn gc_all(&self) {
        self.agent.collect_all();
    }

    /// The node's signed identity, empty if the servers gave none. A node that starts gets some seconds to register.
    pub async fn identity(&self) -> SecretString {
        let _ = tokio::time::timeout(REGISTRATION_WAIT, self.agent.wait_registered()).await;
        self.agent.who().identity
    }

    /// Has the node ask for a new identity.
    pub fn renew_identity(&self) {
        self.agent.renew_identity.notify_one();
    }

    /// Meta of the node.
    pub fn meta(&self) -> NodeMeta {
        self.agent.meta()
    }

    /// Changes meta of the node; none removes a key.
    pub fn apply_meta(&self, meta: &BTreeMap<String, Option<String>>) -> Result<NodeMeta, ClientError> {
        self.agent.apply_meta(meta)
    }

    /// The agent's HTTP interface speaks TLS now, or no longer; the servers are notified.
    pub fn set_tls_enabled(&self, enabled: bool) {
        self.agent.set_tls_enabled(enabled);
    }

    fn files(&self, alloc: &str) -> Result<AllocFiles, ClientError> {
        Ok(AllocFiles::new(self.runner(alloc)?.dirs.root()))
    }

    /// Entries of a directory; an empty path is the allocation's.
    pub fn fs_list(&self, alloc: &str, path: &str) -> Result<Vec<AllocFileInfo>, ClientError> {
        self.files(alloc)?.list(path)
    }

    /// One entry.
    pub fn fs_stat(&self, alloc: &str, path: &str) -> Result<AllocFileInfo, ClientError> {
        self.files(alloc)?.stat(path)
    }

    /// Contents of a file; `limit` 0: to the end.
    pub async fn fs_read(&self, alloc: &str, path: &str, offset: u64, limit: u64) -> Result<Contents, ClientError> {
        self.files(alloc)?.read(path, offset, limit).await
    }

    /// Contents of a file as frames.
    pub fn fs_stream(
        &self,
        alloc: &str,
        path: &str,
        origin: Origin,
        offset: u64,
        follow: bool,
    ) -> Result<Frames, ClientError> {
        let (files, name) = (self.files(alloc)?, path.to_string());
        files.open(path)?;
        let open = move || files.open(&name).map_err(std::io::Error::other);
        Ok(stream::file(Arc::new(open), path.into(), origin == Origin::End, offset, follow))
    }

    /// The disk of an allocation that has ended here, for the node with its migrate token: a tar archive
    /// (`docs/spec/client.md §9.3`).
    ///
    /// # Errors
    /// The token is not that of the allocation, which may be unknown. The allocation has not ended, or its disk is gone.
    pub async fn disk(&self, alloc: &str, token: &str) -> Result<DiskBytes, ClientError> {
        if !encamp_model::is_migrate_token(token, alloc, &self.agent.who().secret_id) {
            return Err(ClientError::Denied("Permission denied".into()));
        }
        let runner = self.runner(alloc)?;
        if !runner.is_terminal() {
            return Err(ClientError::BadRequest(format!("allocation {} has not ended", quoted(alloc))));
        }
        let slot = tokio::time::timeout(disk::TURN, self.agent.disk_slots.clone().acquire_owned()).await;
        let slot = slot.map_err(|_| ClientError::failed("too many disks are being read from this node"))?;
        let slot = slot.map_err(ClientError::failed)?;
        let gone = || ClientError::NotFound(format!("the disk of allocation {} is gone", quoted(alloc)));
        let dir = Some(&runner).filter(|r| !r.is_destroyed()).and_then(|r| r.dirs.open().ok()).ok_or_else(gone)?;
        let tasks = runner.tasks.iter().map(|t| t.name.clone()).collect();
        let (mut to, bytes) = disk::pipe::Sender::new();
        tokio::task::spawn_blocking(move || {
            let _slot = slot;
            let removed = || runner.is_destroyed();
            let sent = disk::pack::pack(&dir, &runner.id, &tasks, removed, &mut to).and_then(|()| to.end());
            match sent {
                Ok(()) => runner.disk_was_given(),
                Err(error) => {
                    tracing::warn!(target: "client.alloc_migrator", alloc_id = runner.id, %error, "the disk was not sent to another node");
                }
            }
        });
        Ok(bytes)
    }

    /// Output of a task as frames.
    pub fn logs(&self, alloc: &str, request: &LogsRequest) -> Result<Frames, ClientError> {
        let runner = self.runner(alloc)?;
        let bad = |text: String| Err(ClientError::BadRequest(text));
        if request.task.is_empty() {
            return bad("must provide task name".into());
        }
        if !matches!(request.kind.as_str(), "stdout" | "stderr") {
            return bad("must provide log type (stdout/stderr)".into());
        }
        let Some(task) = runner.task(&request.task) else {
            return bad(format!("unknown task name \"{}\"", request.task));
        };
        if runner.is_destroyed() {
            return Err(ClientError::NotFound(format!("state for allocation {alloc} not found on client")));
        }
        if task.state().started_at.is_zero() {
            let text = format!("task \"{}\" not started yet. No logs available", request.task);
            return Err(ClientError::NotFound(text));
        }
        let dir = runner.dirs.open_logs().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => ClientError::NotFound(format!("logs of allocation {alloc} not found: {e}")),
            _ => ClientError::failed(format!("failed to open the log directory: {e}")),
        })?;
        let source = LogSource {
            dir,
            name: format!("{}.{}", request.task, request.kind),
            from_end: request.origin == Origin::End,
            offset: request.offset,
            follow: request.follow,
        };
        let task = task.clone();
        Ok(stream::logs(source, move || task.state().state == TaskStatus::Dead))
    }

    /// The command of an action that the job declares for a task, with the task's variables filled in.
    ///
    /// # Errors
    /// The allocation is not the job's, or the task has no such action.
    pub fn action(&self, alloc: &str, job: &str, task: &str, action: &str) -> Result<Vec<String>, ClientError> {
        let runner = self.runner(alloc)?;
        let stored = runner.alloc();
        if stored.job_id != job {
            return Err(ClientError::NotFound(format!("allocation {} is not of job {}", quoted(alloc), quoted(job))));
        }
        let found = runner.task(task).ok_or_else(|| ClientError::failed("task not found"))?;
        let declared = found.task().actions.iter().find(|a| a.name == action).cloned();
        let missing = || ClientError::NotFound(format!("task {} has no action {}", quoted(task), quoted(action)));
        let declared = declared.ok_or_else(missing)?;
        Ok(found.filled(std::iter::once(&declared.command).chain(&declared.args)))
    }

    /// Runs a command beside a task. `task` may be empty if there is only one.
    pub async fn exec(
        &self,
        alloc: &str,
        task: &str,
        command: Vec<String>,
        tty: bool,
    ) -> Result<ExecSession, ClientError> {
        let runner = self.runner(alloc)?;
        if self.agent.shared.config.disable_remote_exec {
            return Err(ClientError::Denied("Permission denied".into()));
        }
        if command.is_empty() {
            return Err(ClientError::BadRequest("command is not present".into()));
        }
        let task = runner.task_or_only(task).ok_or_else(|| ClientError::failed("task not found"))?;
        let handle = task.handle();
        let handle = handle.ok_or_else(|| ClientError::Failed(format!("task \"{}\" is not running.", task.name)))?;
        let request = ExecRequest { command, env: task.variables(), tty };
        handle.exec(request).await.map_err(ClientError::failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        assert_eq!((Origin::parse("").unwrap(), Origin::parse("end").unwrap()), (Origin::Start, Origin::End));
        assert_eq!(Origin::parse("mid").unwrap_err().status(), 400);
    }
}

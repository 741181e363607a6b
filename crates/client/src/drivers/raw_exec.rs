//! `raw_exec`: tasks are processes of the host (`docs/spec/client.md §23.1`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::config::{Block, ConfigError};
use super::raw_handle::{Handle, State};
use super::supervisor::{self, ExitFile, Order, Report};
use super::*;
use crate::cgroups::{Cgroups, TaskGroups};
use crate::config::RawExecConfig;
use crate::directory::{Directory, Links, PathError};
use crate::ranges;
use crate::users::{self, UserError};

const KEYS: &[&str] =
    &["command", "args", "work_dir", "oom_score_adj", "cgroup_v2_override", "cgroup_v1_override", "denied_envvars"];

/// The driver.
pub(crate) struct RawExec {
    config: RawExecConfig,
    supervisor: PathBuf,
    cgroups: Arc<Cgroups>,
}

impl RawExec {
    /// A driver whose tasks are held by `supervisor`, a program that calls [`supervisor::main`].
    /// `cgroups`: what bounds them.
    pub(crate) fn new(config: RawExecConfig, supervisor: PathBuf, cgroups: Cgroups) -> RawExec {
        RawExec { config, supervisor, cgroups: Arc::new(cgroups) }
    }

    async fn start_task(&self, task: StartTask) -> Result<Started, StartFailure> {
        if !self.config.enabled {
            return Err(StartFailure::fatal("raw_exec is disabled"));
        }
        let order = self.order(&task)?;
        let order = Order { user: self.user(&task.user).map_err(StartFailure::fatal)?, ..order };
        let command = find(&order.command, &task).map_err(StartFailure::fatal)?;
        let fatal = |e: std::io::Error| StartFailure::fatal(format!("failed to start the supervisor of the task: {e}"));
        let own = Directory::open(&task.alloc_dir).and_then(|d| Ok(d.open_dir(&task.task, Links::Refused)?));
        let own = own.map_err(fatal)?;
        own.make_dir("private", 0o700, None).map_err(|e| fatal(e.into()))?;
        let log = own.append("executor.out", 0o644).map_err(fatal)?;
        let groups = self.groups(&task)?;
        let started = self.supervise(Order { command, groups: groups.clone(), ..order }, log).await;
        if let (Err(_), Some(groups)) = (&started, &groups) {
            self.cgroups.release(groups);
            let groups = groups.clone();
            let _ = tokio::task::spawn_blocking(move || groups.remove()).await;
        }
        started
    }

    /// The groups that bound the task: its own, or those that its `config` block names.
    fn groups(&self, task: &StartTask) -> Result<Option<TaskGroups>, StartFailure> {
        let block = Block(&task.config);
        let v2 = block.text("cgroup_v2_override")?;
        let v1 = block.block("cgroup_v1_override")?.unwrap_or_default();
        let v1: BTreeMap<String, String> =
            v1.into_iter().filter_map(|(k, v)| Some((k, v.as_str()?.to_string()))).collect();
        if !v2.is_empty() || !v1.is_empty() {
            return Ok(self.cgroups.custom(&v1, &v2));
        }
        let alloc_id = task.alloc_dir.file_name().unwrap_or_default().to_string_lossy();
        let made = self.cgroups.create(&alloc_id, &task.task, &task.limits);
        made.map_err(|e| StartFailure::fatal(format!("failed to create the cgroups of the task: {e}")))
    }

    /// Starts the supervisor, which starts the task.
    async fn supervise(&self, order: Order, log: std::fs::File) -> Result<Started, StartFailure> {
        let fatal = |e: std::io::Error| StartFailure::fatal(format!("failed to start the supervisor of the task: {e}"));
        let text = serde_json::to_vec(&order).map_err(StartFailure::fatal)?;
        let mut child = tokio::process::Command::new(&self.supervisor)
            .arg(supervisor::ARGUMENT)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(log))
            .kill_on_drop(false)
            .spawn()
            .map_err(fatal)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&text).await.map_err(fatal)?;
            // Closes it: the order is complete.
            drop(stdin);
        }
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).await.map_err(fatal)?;
        }
        let keeper = child.id().unwrap_or(0);
        match serde_json::from_str(&line) {
            Ok(Report::Started { pid, ticks }) => {
                let state = State {
                    pid,
                    ticks,
                    supervisor: keeper,
                    supervisor_ticks: crate::processes::stat(keeper).map_or(0, |s| s.starttime),
                    exit_file: order.exit_file,
                    dir: order.dir,
                    user: order.user,
                    groups: order.groups,
                };
                let handle = Handle::new(state, self.supervisor.clone(), self.cgroups.clone(), Some(child));
                Ok(Started { handle, network: None })
            }
            Ok(Report::Failed(text)) => {
                let _ = child.wait().await;
                Err(StartFailure::fatal(text))
            }
            Err(_) => {
                let _ = child.wait().await;
                Err(StartFailure::fatal("the supervisor of the task ended before the task started"))
            }
        }
    }

    /// Everything but the user and the place of the program.
    fn order(&self, task: &StartTask) -> Result<Order, ConfigError> {
        let block = Block(&task.config);
        block.only(KEYS)?;
        let command = block.text("command")?;
        if command.is_empty() {
            return Err(ConfigError::Missing("command"));
        }
        let denied: Vec<_> = self.config.denied_envvars.iter().cloned().chain(block.texts("denied_envvars")?).collect();
        let allowed = |k: &str| !denied.iter().any(|glob| ranges::glob(glob, k));
        let env: Vec<_> = task.env.iter().filter(|(k, _)| allowed(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
        let dir = match block.text("work_dir")? {
            dir if dir.is_empty() => task.task_dir(),
            dir => task.task_dir().join(dir),
        };
        let run = task.id.rsplit('/').next().unwrap_or("task");
        Ok(Order {
            command: command.into(),
            args: block.texts("args")?,
            env,
            dir,
            user: None,
            oom_score_adj: block.number("oom_score_adj")?.unwrap_or(0),
            alloc_dir: task.alloc_dir.clone(),
            name: task.task.clone(),
            logs: task.logs,
            exit_file: ExitFile::new(&task.task_dir(), run),
            groups: None,
            network_namespace: task.network_namespace.clone(),
        })
    }

    /// User and group IDs of a user's name; none for the agent's own.
    fn user(&self, name: &str) -> Result<Option<(u32, u32)>, UserError> {
        if name.is_empty() {
            return Ok(None);
        }
        let (uid, gid) = users::ids(name)?;
        if ranges::contains(&self.config.denied_host_uids, uid.into()) {
            return Err(UserError::DeniedUid(uid));
        }
        if ranges::contains(&self.config.denied_host_gids, gid.into()) {
            return Err(UserError::DeniedGid(gid));
        }
        if uid == rustix::process::getuid().as_raw() {
            return Ok(None);
        }
        Ok(Some((uid, gid)))
    }
}

impl Driver for RawExec {
    fn name(&self) -> &'static str {
        "raw_exec"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            signals: true,
            exec: true,
            isolated: false,
            own_network: true,
            mounts: false,
            local_processes: true,
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        if self.config.enabled { Fingerprint::healthy() } else { Fingerprint::undetected("disabled") }
    }

    fn start(&self, task: StartTask) -> BoxFuture<'_, Result<Started, StartFailure>> {
        Box::pin(self.start_task(task))
    }

    fn recover<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, Result<Arc<dyn RunningTask>, DriverError>> {
        Box::pin(async move {
            let state: State = serde_json::from_value(state.clone())?;
            if !state.can_be_found() {
                return Err(DriverError::Gone);
            }
            if let Some(groups) = &state.groups {
                self.cgroups.reserve(groups);
            }
            Ok(Handle::new(state, self.supervisor.clone(), self.cgroups.clone(), None) as Arc<dyn RunningTask>)
        })
    }

    fn forget<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(state) = serde_json::from_value::<State>(state.clone()) {
                state.end().await;
            }
        })
    }
}

/// Why a command has no program to run.
#[derive(Debug, thiserror::Error)]
enum ProgramError {
    /// It is nowhere.
    #[error("binary \"{}\" could not be found", .0.display())]
    NotFound(PathBuf),
    /// A file of the allocation does not become executable.
    #[error("failed to make {} executable: {source}", path.display())]
    Permissions {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// The program of a command: in the task's `local` directory, in its root, where an absolute path says, or on the path.
fn find(command: &Path, task: &StartTask) -> Result<PathBuf, ProgramError> {
    let own = task.task_dir();
    let inside = [own.join("local").join(command), own.join(command)];
    if let Some(path) = inside.into_iter().find(|p| p.is_file()) {
        make_executable(&task.alloc_dir, &path)?;
        return Ok(path);
    }
    let bare = command.components().count() == 1;
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let executable = |p: &PathBuf| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let found = std::env::split_paths(&dirs).map(|d| d.join(command)).find(executable);
    found.filter(|_| bare).ok_or_else(|| ProgramError::NotFound(command.to_path_buf()))
}

/// Makes a file of the allocation executable; files of the host stay as they are, also where a link leads to them.
fn make_executable(alloc_dir: &Path, path: &Path) -> Result<(), ProgramError> {
    let Ok(inside) = path.strip_prefix(alloc_dir) else { return Ok(()) };
    let wrong = |source: std::io::Error| ProgramError::Permissions { path: path.to_path_buf(), source };
    let file = match Directory::open(alloc_dir).map_err(wrong)?.open_file(inside, Links::Inside) {
        Err(PathError::Escapes) => return Ok(()),
        file => file.map_err(|e| wrong(e.into()))?.0,
    };
    let mut mode = file.metadata().map_err(wrong)?.permissions();
    if mode.mode() & 0o111 == 0o111 {
        return Ok(());
    }
    mode.set_mode(mode.mode() | 0o111);
    file.set_permissions(mode).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn driver(config: RawExecConfig) -> RawExec {
        RawExec::new(RawExecConfig { enabled: true, ..config }, "/bin/false".into(), Cgroups::none())
    }

    fn task(config: &str) -> StartTask {
        StartTask {
            id: "a/t/12".into(),
            task: "t".into(),
            alloc_dir: "/a".into(),
            config: serde_json::from_str(config).unwrap(),
            env: [("A".to_string(), "1".to_string()), ("AWS_KEY".into(), "2".into())].into(),
            ..StartTask::default()
        }
    }

    #[test]
    fn orders() {
        let d = driver(RawExecConfig { denied_envvars: vec!["AWS_*".into()], ..RawExecConfig::default() });
        let order = d.order(&task(r#"{"command":"sh","args":["-c","x"],"work_dir":"local"}"#)).unwrap();
        assert_eq!((order.dir, order.env), ("/a/t/local".into(), vec![("A".to_string(), "1".to_string())]));
        assert_eq!(order.exit_file, ExitFile::new(Path::new("/a/t"), "12"));
        assert!(d.order(&task("{}")).is_err() && d.order(&task(r#"{"command":"x","nope":1}"#)).is_err());
    }

    #[test]
    fn programs_are_looked_for_inside_first() {
        let dir = TempDir::new("find");
        let task = StartTask { alloc_dir: dir.path().into(), task: "t".into(), ..StartTask::default() };
        let find = |command: &str| find(Path::new(command), &task);
        std::fs::create_dir_all(dir.path().join("t/local")).unwrap();
        assert_eq!(find("nope").unwrap_err().to_string(), "binary \"nope\" could not be found");
        assert!(find("sh").unwrap().is_absolute());
        let own = dir.path().join("t/local/sh");
        std::fs::write(&own, "").unwrap();
        assert_eq!(find("sh").unwrap(), own);
        let mode = |p: &Path| p.metadata().unwrap().permissions().mode() & 0o111;
        assert_eq!(mode(&own), 0o111);
        // A link to a file of the host does not make that executable.
        let other = TempDir::new("find").path().join("other");
        std::fs::create_dir_all(other.parent().unwrap()).unwrap();
        std::fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, dir.path().join("t/local/link")).unwrap();
        assert_eq!((find("link").is_ok(), mode(&other)), (true, 0));
        assert_eq!((find(other.to_str().unwrap()).is_ok(), mode(&other)), (true, 0));
        std::fs::remove_dir_all(other.parent().unwrap()).unwrap();
    }

    #[test]
    fn users() {
        let d = driver(RawExecConfig { denied_host_uids: "1-70000".into(), ..RawExecConfig::default() });
        assert_eq!(d.user("").unwrap(), None);
        assert!(d.user("nobody").unwrap_err().to_string().contains("disallowed"));
        assert!(d.user("no such user").unwrap_err().to_string().contains("unknown user"));
    }
}

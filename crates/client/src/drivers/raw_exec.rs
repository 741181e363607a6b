//! `raw_exec`: tasks are processes of the host (`docs/spec/client.md §23.1`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::config::Block;
use super::raw_handle::{Handle, State};
use super::supervisor::{self, Order, Report};
use super::*;
use crate::config::RawExecConfig;
use crate::{ranges, users};

const KEYS: &[&str] =
    &["command", "args", "work_dir", "oom_score_adj", "cgroup_v2_override", "cgroup_v1_override", "denied_envvars"];

/// The driver.
pub struct RawExec {
    config: RawExecConfig,
    supervisor: PathBuf,
}

impl RawExec {
    /// A driver whose tasks are held by `supervisor`, a program that calls [`supervisor::main`].
    pub fn new(config: RawExecConfig, supervisor: PathBuf) -> RawExec {
        RawExec { config, supervisor }
    }

    async fn start_task(&self, task: StartTask) -> Result<Started, StartFailure> {
        if !self.config.enabled {
            return Err(StartFailure::fatal("raw_exec is disabled"));
        }
        let order = self.order(&task).map_err(StartFailure::Invalid)?;
        let order = Order { user: self.user(&task.user).map_err(StartFailure::fatal)?, ..order };
        let command = find(&order.command, &task.task_dir).map_err(StartFailure::fatal)?;
        let order = Order { command, ..order };
        let private = order.exit_file.parent().map(Path::to_path_buf).unwrap_or_default();
        std::fs::create_dir_all(&private)
            .map_err(|e| StartFailure::fatal(format!("failed to create {}: {e}", private.display())))?;
        let text = serde_json::to_vec(&order).map_err(|e| StartFailure::fatal(e.to_string()))?;
        let fatal = |e: std::io::Error| StartFailure::fatal(format!("failed to start the supervisor of the task: {e}"));
        let log = task.task_dir.join("executor.out");
        let log = std::fs::OpenOptions::new().append(true).create(true).open(log).map_err(fatal)?;
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
                    supervisor_ticks: crate::procfs::stat(keeper).map_or(0, |s| s.start),
                    exit_file: order.exit_file,
                    dir: order.dir,
                    user: order.user,
                };
                let handle = Handle::new(state, self.supervisor.clone(), Some(child));
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
    fn order(&self, task: &StartTask) -> Result<Order, String> {
        let block = Block(&task.config);
        block.only(KEYS)?;
        let command = block.text("command")?;
        if command.is_empty() {
            return Err("failed to parse config: \"command\" is required".into());
        }
        let denied: Vec<_> = self.config.denied_envvars.iter().cloned().chain(block.texts("denied_envvars")?).collect();
        let allowed = |k: &str| !denied.iter().any(|glob| ranges::glob(glob, k));
        let env: Vec<_> = task.env.iter().filter(|(k, _)| allowed(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
        let dir = match block.text("work_dir")? {
            dir if dir.is_empty() => task.task_dir.clone(),
            dir => task.task_dir.join(dir),
        };
        let run = task.id.rsplit('/').next().unwrap_or("task");
        Ok(Order {
            command: command.into(),
            args: block.texts("args")?,
            env,
            dir,
            user: None,
            oom_score_adj: block.number("oom_score_adj")?.unwrap_or(0),
            log_dir: task.log_dir.clone(),
            name: task.task.clone(),
            logs: task.logs,
            exit_file: task.task_dir.join("private").join(format!("{run}.exit")),
        })
    }

    /// User and group IDs of a user's name; none for the agent's own.
    fn user(&self, name: &str) -> Result<Option<(u32, u32)>, String> {
        if name.is_empty() {
            return Ok(None);
        }
        let (uid, gid) = users::ids(name)?;
        if ranges::contains(&self.config.denied_host_uids, uid.into()) {
            return Err(format!("running as uid {uid} is disallowed"));
        }
        if ranges::contains(&self.config.denied_host_gids, gid.into()) {
            return Err(format!("running as gid {gid} is disallowed"));
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
        Capabilities { signals: true, exec: true, isolated: false, own_network: true, mounts: false }
    }

    fn fingerprint(&self) -> Fingerprint {
        if self.config.enabled { Fingerprint::healthy() } else { Fingerprint::undetected("disabled") }
    }

    fn start(&self, task: StartTask) -> BoxFuture<'_, Result<Started, StartFailure>> {
        Box::pin(self.start_task(task))
    }

    fn recover<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, Result<Arc<dyn RunningTask>, String>> {
        Box::pin(async move {
            let state: State = serde_json::from_value(state.clone()).map_err(|e| format!("unreadable handle: {e}"))?;
            if !state.can_be_found() {
                return Err("the task is gone".into());
            }
            Ok(Handle::new(state, self.supervisor.clone(), None) as Arc<dyn RunningTask>)
        })
    }

    fn forget<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(state) = serde_json::from_value::<State>(state.clone()) {
                state.kill();
            }
        })
    }
}

/// The program of a command: in the task's `local` directory, in its root, where an absolute path says, or on the path.
fn find(command: &Path, task_dir: &Path) -> Result<PathBuf, String> {
    let file = |p: &Path| p.is_file();
    let inside = [task_dir.join("local").join(command), task_dir.join(command)];
    if let Some(path) = inside.into_iter().find(|p| file(p)) {
        make_executable(&path)?;
        return Ok(path);
    }
    if command.is_absolute() && file(command) {
        return Ok(command.to_path_buf());
    }
    let bare = command.components().count() == 1;
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let executable = |p: &PathBuf| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let found = std::env::split_paths(&dirs).map(|d| d.join(command)).find(executable);
    found.filter(|_| bare).ok_or_else(|| format!("binary \"{}\" could not be found", command.display()))
}

fn make_executable(path: &Path) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("failed to make {} executable: {e}", path.display());
    let mut mode = path.metadata().map_err(wrong)?.permissions();
    if mode.mode() & 0o111 == 0o111 {
        return Ok(());
    }
    mode.set_mode(mode.mode() | 0o111);
    std::fs::set_permissions(path, mode).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn driver(config: RawExecConfig) -> RawExec {
        RawExec::new(RawExecConfig { enabled: true, ..config }, "/bin/false".into())
    }

    fn task(config: &str) -> StartTask {
        StartTask {
            id: "a/t/12".into(),
            task_dir: "/t".into(),
            config: serde_json::from_str(config).unwrap(),
            env: [("A".to_string(), "1".to_string()), ("AWS_KEY".into(), "2".into())].into(),
            ..StartTask::default()
        }
    }

    #[test]
    fn orders() {
        let d = driver(RawExecConfig { denied_envvars: vec!["AWS_*".into()], ..RawExecConfig::default() });
        let order = d.order(&task(r#"{"command":"sh","args":["-c","x"],"work_dir":"local"}"#)).unwrap();
        assert_eq!((order.dir, order.env), ("/t/local".into(), vec![("A".to_string(), "1".to_string())]));
        assert_eq!(order.exit_file, PathBuf::from("/t/private/12.exit"));
        assert!(d.order(&task("{}")).is_err() && d.order(&task(r#"{"command":"x","nope":1}"#)).is_err());
    }

    #[test]
    fn programs_are_looked_for_inside_first() {
        let dir = TempDir::new("find");
        std::fs::create_dir(dir.path().join("local")).unwrap();
        assert_eq!(find(Path::new("nope"), dir.path()).unwrap_err(), "binary \"nope\" could not be found");
        assert!(find(Path::new("sh"), dir.path()).unwrap().is_absolute());
        let own = dir.path().join("local/sh");
        std::fs::write(&own, "").unwrap();
        assert_eq!(find(Path::new("sh"), dir.path()).unwrap(), own);
        assert_eq!(own.metadata().unwrap().permissions().mode() & 0o111, 0o111);
    }

    #[test]
    fn users() {
        let d = driver(RawExecConfig { denied_host_uids: "1-70000".into(), ..RawExecConfig::default() });
        assert_eq!(d.user(""), Ok(None));
        assert!(d.user("nobody").unwrap_err().contains("disallowed"));
        assert!(d.user("no such user").unwrap_err().contains("unknown user"));
    }
}

//! `raw_exec`: tasks are processes of the host (`docs/spec/client.md §23.1`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::config_block::{Block, ConfigError};
use super::launch::Launcher;
use super::supervisor::order::Order;
use super::{Capabilities, Driver, DriverError, Fingerprint, Isolation, RunningTask, StartFailure, StartTask, Started};
use crate::cgroups::{Cgroups, TaskGroups};
use crate::config::RawExecConfig;
use crate::directory::{Directory, Links, PathError};
use crate::programs::is_executable;
use crate::users::{self, UserError};
use encamp_model::{driver_options, glob};
use std::collections::BTreeMap;

/// The driver.
pub(crate) struct RawExec {
    config: RawExecConfig,
    launcher: Launcher,
}

impl RawExec {
    /// A driver whose tasks are held by `supervisor`, a program that calls [`main`](crate::drivers::supervisor::main).
    /// `cgroups`: what bounds them.
    pub(crate) fn new(config: RawExecConfig, supervisor: PathBuf, cgroups: Arc<Cgroups>) -> RawExec {
        RawExec { config, launcher: Launcher::new(supervisor, cgroups) }
    }

    async fn start_task(&self, task: StartTask) -> Result<Started, StartFailure> {
        if !self.config.enabled {
            return Err(StartFailure::fatal("raw_exec is disabled"));
        }
        let order = self.order(&task)?;
        let order = Order { user: self.user(&task.user).map_err(StartFailure::fatal)?, ..order };
        let command = find(&order.command, &task).map_err(StartFailure::fatal)?;
        self.launcher.end_unknown(&task).await?;
        let groups = self.groups(&task)?;
        self.launcher.start(&task, Order { command, groups, ..order }).await
    }

    /// The groups that bound the task: its own, or those that its `config` block names.
    fn groups(&self, task: &StartTask) -> Result<Option<TaskGroups>, StartFailure> {
        let block = Block(&task.config);
        let v2 = block.text("cgroup_v2_override")?;
        let v1 = block.block("cgroup_v1_override")?.unwrap_or_default();
        let v1: BTreeMap<String, String> =
            v1.into_iter().filter_map(|(k, v)| Some((k, v.as_str()?.to_string()))).collect();
        if !v2.is_empty() || !v1.is_empty() {
            return Ok(self.launcher.cgroups().custom(&v1, &v2));
        }
        self.launcher.groups(task, &task.limits)
    }

    /// Everything but the user and the place of the program.
    fn order(&self, task: &StartTask) -> Result<Order, ConfigError> {
        let block = Block(&task.config);
        block.only(driver_options::RAW_EXEC)?;
        let command = block.required("command")?;
        let denied: Vec<_> = self.config.denied_envvars.iter().cloned().chain(block.texts("denied_envvars")?).collect();
        let allowed = |k: &str| !denied.iter().any(|pattern| glob::matches(pattern, k));
        let dir = match block.text("work_dir")? {
            dir if dir.is_empty() => task.task_dir(),
            dir => task.task_dir().join(dir),
        };
        let mut order = Order {
            command: command.into(),
            args: block.texts("args")?,
            dir,
            oom_score_adj: block.number("oom_score_adj")?.unwrap_or(0),
            ..Order::of(task)
        };
        order.env.retain(|(k, _)| allowed(k));
        Ok(order)
    }

    /// User and group IDs of a user's name; none for the agent's own.
    fn user(&self, name: &str) -> Result<Option<(u32, u32)>, UserError> {
        if name.is_empty() {
            return Ok(None);
        }
        let (uid, gid) = users::permitted(name, &self.config.denied_host_uids, &self.config.denied_host_gids)?;
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
            isolation: Isolation::None,
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
        Box::pin(async move { self.launcher.recover(state) })
    }

    fn forget<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, ()> {
        Box::pin(self.launcher.forget(state))
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
    let found = std::env::split_paths(&dirs).map(|d| d.join(command)).find(|p| is_executable(p));
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
    use super::super::supervisor::exit_file::ExitFile;
    use super::*;
    use crate::testing::TempDir;

    fn driver(config: RawExecConfig) -> RawExec {
        RawExec::new(RawExecConfig { enabled: true, ..config }, "/bin/false".into(), Arc::new(Cgroups::none()))
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

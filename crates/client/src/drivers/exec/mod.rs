//! `exec`: tasks are processes with a root, processes and devices of their own (`docs/spec/client.md §23.2`).
//!
//! - [`inside`]: what isolates a task. [`chroot`]: files of the host in the root. [`root`]: the mounts. [`init`]: the init process of a task.
//!   [`enter`]: commands in a running task.
//! - [`privileges`]: user, capabilities ([`capabilities`]), filter of system calls ([`seccomp`]).
//!
//! `docs/dev/isolation.md` says what keeps a task inside.

mod capabilities;
mod chroot;
pub(crate) mod enter;
pub(crate) mod init;
pub(crate) mod inside;
pub(crate) mod privileges;
mod root;
mod seccomp;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use self::inside::Inside;
use self::privileges::Privileges;
use super::config_block::{Block, ConfigError};
use super::launch::Launcher;
use super::supervisor::order::Order;
use super::{
    Capabilities, Driver, DriverError, Fingerprint, Isolation, Propagation, RunningTask, StartFailure, StartTask,
    Started,
};
use crate::cgroups::Limits;
use crate::cgroups::{Cgroups, Isolated};
use crate::config::exec::{ExecConfig, NamespaceMode};
use crate::directory::{Directory, Links};
use crate::users;
use encamp_model::driver_options;

/// The user of tasks that name none.
const USER: &str = "nobody";
/// The devices that a task may use: standard ones and terminals. It may make any node, but can't open it.
const DEVICES: [&str; 9] =
    ["c *:* m", "b *:* m", "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm", "c 5:0 rwm", "c 5:2 rwm"];
/// Terminals of a task.
const TERMINALS: &str = "c 136:* rwm";

impl NamespaceMode {
    /// The one of a word; empty: `default`.
    pub fn of_word(key: &'static str, word: &str, default: NamespaceMode) -> Result<NamespaceMode, ConfigError> {
        match word {
            "" => Ok(default),
            "private" => Ok(NamespaceMode::Private),
            "host" => Ok(NamespaceMode::Host),
            _ => Err(ConfigError::NamespaceMode { key, value: word.into() }),
        }
    }
}

/// The driver.
pub(crate) struct Exec {
    config: ExecConfig,
    launcher: Launcher,
    /// Directories of the agent, which are not embedded in roots.
    kept_out: Vec<PathBuf>,
}

impl Exec {
    /// A driver whose tasks are held by `supervisor`, a program that calls [`main`](crate::drivers::supervisor::main).
    /// `cgroups`: what bounds them. `kept_out`: directories of the agent.
    pub(crate) fn new(config: ExecConfig, supervisor: PathBuf, cgroups: Arc<Cgroups>, kept_out: Vec<PathBuf>) -> Exec {
        Exec { config, launcher: Launcher::new(supervisor, cgroups), kept_out }
    }

    async fn start_task(&self, task: StartTask) -> Result<Started, StartFailure> {
        let order = self.order(&task)?;
        self.run(task, order).await
    }

    /// Embeds the files of the host, and runs a command.
    pub(super) async fn run(&self, task: StartTask, order: Order) -> Result<Started, StartFailure> {
        let (chroot_env, kept_out, root) = (self.config.chroot_env.clone(), self.kept_out.clone(), task.task_dir());
        let embed = move || -> Result<(), StartFailure> {
            let own = Directory::open(&root).map_err(StartFailure::fatal)?;
            let private = own.open_dir("private", Links::Refused).map_err(StartFailure::fatal)?;
            // The walk over all files is done once.
            if private.metadata(EMBEDDED).is_ok() {
                return Ok(());
            }
            chroot::embed(&root, &chroot_env, &kept_out).map_err(StartFailure::fatal)?;
            private.replace(EMBEDDED, b"", 0o600, None).map_err(StartFailure::fatal)
        };
        tokio::task::spawn_blocking(embed).await.map_err(StartFailure::fatal)??;
        let mut devices: Vec<String> = DEVICES.map(String::from).into();
        devices.push(TERMINALS.into());
        devices.extend(root::device_rules(&task.mounts));
        let isolated = Isolated { pids: self.config.pids_limit, devices };
        let limits = Limits { isolated: Some(isolated), ..task.limits.clone() };
        self.launcher.end_unknown(&task).await?;
        let groups = self.launcher.groups(&task, &limits)?;
        self.launcher.start(&task, Order { groups, ..order }).await
    }

    fn order(&self, task: &StartTask) -> Result<Order, StartFailure> {
        let block = Block(&task.config);
        block.only(driver_options::EXEC)?;
        let command = block.required("command")?;
        let order = self.isolated(task, &block)?;
        Ok(Order { command: command.into(), args: block.texts("args")?, ..order })
    }

    /// The order of a task without its command.
    pub(super) fn isolated(&self, task: &StartTask, block: &Block) -> Result<Order, StartFailure> {
        if let Some(mount) = task.mounts.iter().find(|m| m.propagation == Propagation::Bidirectional) {
            let text = format!("propagation mode \"bidirectional\" of {} is not supported", mount.task.display());
            return Err(StartFailure::fatal(text));
        }
        let pids = NamespaceMode::of_word("pid_mode", &block.text("pid_mode")?, self.config.default_pid_mode)?;
        let ipc = NamespaceMode::of_word("ipc_mode", &block.text("ipc_mode")?, self.config.default_ipc_mode)?;
        let name = if task.user.is_empty() { USER } else { &task.user };
        let denied = (self.config.denied_host_uids.as_str(), self.config.denied_host_gids.as_str());
        let (uid, gid) = users::permitted(name, denied.0, denied.1).map_err(StartFailure::fatal)?;
        let (add, drop) = (block.texts("cap_add")?, block.texts("cap_drop")?);
        let capabilities = capabilities::of_task(self.config.allow_caps.as_deref(), &add, &drop, uid == 0)?;
        let inside = Inside {
            root: task.task_dir(),
            mounts: task.mounts.clone(),
            read_only: chroot::embedded(&self.config.chroot_env),
            pids,
            ipc,
            pivot: !self.config.no_pivot_root,
            hostname: task.network.hostname.clone(),
            etc: task.network.files(),
            privileges: Privileges { uid, gid, capabilities, own_processes: pids == NamespaceMode::Private },
        };
        let dir = PathBuf::from("/").join(block.text("work_dir")?);
        Ok(Order { dir, inside: Some(inside), ..Order::of(task) })
    }

    /// Whether tasks can be isolated here.
    pub(super) fn look(&self) -> Fingerprint {
        if !rustix::process::geteuid().is_root() {
            return Fingerprint::undetected("Driver must run as root");
        }
        if !self.launcher.has_cgroups() {
            return Fingerprint::unhealthy("Failed to discover cgroup mount point");
        }
        Fingerprint::healthy()
    }

    pub(super) async fn recover_task(&self, state: &Value) -> Result<Arc<dyn RunningTask>, DriverError> {
        self.launcher.recover(state)
    }
}

/// The capabilities of drivers with this isolation.
pub(super) const CAPABILITIES: Capabilities = Capabilities {
    signals: true,
    exec: true,
    isolation: Isolation::Chroot,
    own_network: true,
    mounts: true,
    local_processes: true,
};
/// Says that the files of the host are in the root of a task; in its private directory.
const EMBEDDED: &str = ".chroot";

impl Driver for Exec {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn fingerprint(&self) -> Fingerprint {
        self.look()
    }

    fn default_user(&self) -> &'static str {
        USER
    }

    fn start(&self, task: StartTask) -> BoxFuture<'_, Result<Started, StartFailure>> {
        Box::pin(self.start_task(task))
    }

    fn recover<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, Result<Arc<dyn RunningTask>, DriverError>> {
        Box::pin(self.recover_task(state))
    }

    fn forget<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, ()> {
        Box::pin(self.launcher.forget(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(config: ExecConfig, block: &str) -> Result<Order, String> {
        let driver = Exec::new(config, "/bin/false".into(), Arc::new(Cgroups::none()), Vec::new());
        let task = StartTask {
            id: "a/t/12".into(),
            task: "t".into(),
            alloc_dir: "/a".into(),
            config: serde_json::from_str(block).unwrap(),
            ..StartTask::default()
        };
        driver.order(&task).map_err(|e| e.to_string())
    }

    #[test]
    fn orders() {
        let plain = order(ExecConfig::default(), r#"{"command":"sh","work_dir":"local/x"}"#).unwrap();
        let inside = plain.inside.unwrap();
        assert_eq!((plain.dir, inside.root), ("/local/x".into(), "/a/t".into()));
        assert!(inside.pivot && inside.privileges.own_processes && inside.privileges.uid != 0);
        let shared = ExecConfig { default_pid_mode: NamespaceMode::Host, ..ExecConfig::default() };
        let of_host = order(shared.clone(), r#"{"command":"sh"}"#).unwrap().inside.unwrap();
        assert!(!of_host.privileges.own_processes && of_host.pids == NamespaceMode::Host);
        let own = order(shared, r#"{"command":"sh","pid_mode":"private"}"#).unwrap().inside.unwrap();
        assert_eq!(own.pids, NamespaceMode::Private);
        let denied = ExecConfig { denied_host_uids: "1-70000".into(), ..ExecConfig::default() };
        for (config, block, error) in [
            (ExecConfig::default(), "{}", "\"command\" is required"),
            (ExecConfig::default(), r#"{"command":"x","nope":1}"#, "unsupported argument \"nope\""),
            (ExecConfig::default(), r#"{"command":"x","ipc_mode":"x"}"#, "ipc_mode must be \"private\" or \"host\""),
            (ExecConfig::default(), r#"{"command":"x","cap_add":["sys_admin"]}"#, "does not allow"),
            (denied, r#"{"command":"x"}"#, "running as uid 65534 is disallowed"),
        ] {
            let got = order(config, block).err().unwrap();
            assert!(got.contains(error), "{got}");
        }
    }
}

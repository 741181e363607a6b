//! Prepares and starts a task (`docs/spec/client.md §10.3`, `§10.4`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::alloc::AllocRunner;
use super::error::{FailedHook, HookError};
use super::orders;
use super::task::TaskRunner;
use crate::cgroups::Limits;
use crate::clock;
use crate::directory::{Links, PathError};
use crate::drivers::{
    Compute, Driver, Events, Isolation, Killed, LogSettings, Mount, Names, RunningTask, StartFailure, StartTask,
};
use crate::env::{Input, TaskEnv};
use crate::events;
use crate::policy::restart::Ending;
use crate::task_api::{self, TaskName};
use crate::users::{self, UserError};
use encamp_model::{AllocatedPortMapping, Allocation, Job, Task, TaskEventType, TaskStatus};

/// Drivers for which `user.denylist` holds unless `user.checked_drivers` says otherwise.
const CHECKED_DRIVERS: &str = "exec,qemu,java";
/// Users no task of those drivers may run as, unless `user.denylist` says otherwise.
const DENIED_USERS: &str = "root,Administrator";

/// The start failed, and another try does not help.
const FATAL: NotStarted = NotStarted::Failed(Ending::NotStarted { recoverable: false });

/// Why a task was not started.
pub(super) enum NotStarted {
    /// The start failed: the restart policy decides.
    Failed(Ending),
    /// The task is to end.
    Killed,
    /// The agent ends.
    Shutdown,
}

impl TaskRunner {
    /// Prepares and starts the task.
    pub(super) async fn launch(&self) -> Result<Arc<dyn RunningTask>, NotStarted> {
        let owner = self.owner.upgrade().ok_or(FATAL)?;
        let task = self.task();
        let driver = self.shared.drivers.get(&task.driver).cloned();
        let Some(driver) = driver else {
            self.emit(events::driver_failure(&format!(
                "failed to start task: driver \"{}\" is not available",
                task.driver
            )));
            return Err(FATAL);
        };
        self.first_tokens(&owner).await;
        let failed = |failed: FailedHook| {
            self.emit(events::message(TaskEventType::HookFailed, failed.to_string()));
            FATAL
        };
        let mut mounts = self.prepare(&owner, &task, driver.as_ref()).map_err(failed)?;
        self.read_secrets(&owner, &task).await?;
        self.download_artifacts(&owner, &task).await?;
        mounts.extend(self.prepare_further(&owner, &task, driver.as_ref()).map_err(failed)?);
        self.render_templates(&owner).await?;
        let start = self.start_of(&owner, &task, mounts)?;
        let started = driver.start(start).await.map_err(|failure| {
            let recoverable = matches!(failure, StartFailure::Failed { recoverable: true, .. });
            match &failure {
                StartFailure::Invalid(error) => self.emit(events::failed_validation(&error.to_string())),
                StartFailure::Failed { text, .. } => self.emit(events::driver_failure(text)),
                StartFailure::Killed => return NotStarted::Killed,
            }
            NotStarted::Failed(Ending::NotStarted { recoverable })
        })?;
        {
            let mut inner = self.inner.lock();
            inner.record.handle = Some(started.handle.state());
            inner.record.network = started.network;
            inner.handle = Some(started.handle.clone());
        }
        self.change(events::started(), Some(TaskStatus::Running));
        self.count("running");
        Ok(started.handle)
    }

    /// What the driver gets to start the task.
    fn start_of(&self, owner: &AllocRunner, task: &Task, mounts: Vec<Mount>) -> Result<StartTask, NotStarted> {
        let env = self.env(owner, task);
        let run = clock::uuid().map_err(|e| {
            self.emit(events::driver_failure(&e.to_string()));
            FATAL
        })?;
        let run: String = run.chars().take(8).collect();
        Ok(StartTask {
            id: format!("{}/{}/{run}", owner.id, self.name),
            task: self.name.clone(),
            config: task.config.iter().map(|(k, v)| (k.clone(), env.replace_value(v))).collect(),
            env: env.variables(),
            user: env.replace(&task.user),
            alloc_dir: owner.dirs.root(),
            limits: limits(owner, &self.name),
            network_namespace: owner.network_namespace(),
            mounts,
            network: owner.task_network(&env),
            logs: log_settings(task),
            names: self.names(owner),
            ports: ports(owner),
            compute: self.compute(),
            events: self.driver_events(),
            killed: self.end_of_start(),
        })
    }

    /// The names of what the task belongs to.
    fn names(&self, owner: &AllocRunner) -> Names {
        let (alloc, job) = (owner.alloc(), owner.alloc().job.clone());
        let of_job = |f: fn(&Job) -> &String| job.as_ref().map(|j| f(j).clone()).unwrap_or_default();
        Names {
            alloc_id: owner.id.clone(),
            job_id: alloc.job_id.to_string(),
            job_name: of_job(|j| &j.name),
            parent_job_id: of_job(|j| &j.parent_id),
            group: alloc.task_group.to_string(),
            namespace: alloc.namespace.to_string(),
            node_name: self.shared.node.read().name.clone(),
        }
    }

    /// The processors of the node.
    fn compute(&self) -> Compute {
        let node = self.shared.node.read();
        let number = |key: &str| node.attributes.get(key).and_then(|v| v.parse().ok());
        Compute {
            mhz: number("cpu.usablecompute").unwrap_or(0),
            cores: number("cpu.numcores").and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        }
    }

    /// Takes the events of a driver while the task lives.
    fn driver_events(&self) -> Events {
        let (owner, name) = (self.owner.clone(), self.name.clone());
        Events::to(move |event| {
            if let Some(task) = owner.upgrade().and_then(|o| o.task(&name).cloned()) {
                task.emit(event);
            }
        })
    }

    /// Ends a start that lasts when the task is to end.
    fn end_of_start(&self) -> Killed {
        let orders = self.orders.clone();
        Killed::when(move || {
            let orders = orders.clone();
            Box::pin(async move { orders::wait(&orders, |o| o.end).await })
        })
    }

    /// The environment of the task.
    pub(super) fn env(&self, owner: &AllocRunner, task: &Task) -> TaskEnv {
        let mut env = self.env_without_templates(owner, task);
        env.extend(self.templates.variables());
        env
    }

    /// The environment of the task, as its templates see it.
    pub(super) fn env_without_templates(&self, owner: &AllocRunner, task: &Task) -> TaskEnv {
        let (alloc, node) = (owner.alloc(), self.shared.node());
        let mut env = TaskEnv::build(&Input {
            network: &owner.network_status(),
            alloc: &alloc,
            task,
            node: &node,
            region: &self.shared.config.region,
            dirs: &owner.dirs,
            isolation: self.isolation(),
            host: &self.shared.host_env,
            denied: self.shared.config.options.get("env.denylist").map(String::as_str),
            secrets: self.secrets.names(),
        });
        env.extend(self.token_variables(owner, task));
        env.extend(self.csi_variables(owner, task));
        env
    }

    /// The user that the task runs as; empty: the agent's, or one that only the driver knows.
    pub(super) fn user_of(&self, env: &TaskEnv, task: &Task) -> String {
        let driver = || self.shared.drivers.get(&task.driver).map(|d| d.default_user().to_string());
        Some(env.replace(&task.user)).filter(|u| !u.is_empty()).or_else(driver).unwrap_or_default()
    }

    /// The owner of files that are made for the task; `None`: the agent's user.
    pub(super) fn owner_of_files(&self, env: &TaskEnv, task: &Task) -> Result<Option<(u32, u32)>, UserError> {
        let user = self.user_of(env, task);
        match self.isolation() {
            // Names are those of the image, which the host does not know.
            Isolation::Image => Ok(users::numeric_ids(&user)),
            Isolation::None | Isolation::Chroot => users::ids_unless_empty(&user),
        }
    }

    /// The variables of the task, for commands beside it.
    pub fn variables(&self) -> BTreeMap<String, String> {
        self.owner.upgrade().map(|o| self.env(&o, &self.task()).variables()).unwrap_or_default()
    }

    /// Texts with the variables of the task filled in.
    pub fn filled<'t>(&self, texts: impl IntoIterator<Item = &'t String>) -> Vec<String> {
        let env = self.owner.upgrade().map(|o| self.env(&o, &self.task()));
        let fill = |text: &String| env.as_ref().map_or_else(|| text.clone(), |env| env.replace(text));
        texts.into_iter().map(fill).collect()
    }

    /// Runs a hook; the name of it if it fails, and why.
    fn run_hook(
        &self,
        alloc: &Allocation,
        hook: &'static str,
        work: impl FnOnce() -> Result<(), HookError>,
    ) -> Result<(), FailedHook> {
        let begin = Instant::now();
        let done = work();
        self.shared.hook("task_hook.prestart", hook, alloc, begin, done.is_ok());
        done.map_err(|error| FailedHook { hook, error })
    }

    /// The hooks before the artifacts, in order: the volumes to be mounted in the task, or the name of the hook that
    /// failed and why.
    fn prepare(&self, owner: &AllocRunner, task: &Task, driver: &dyn Driver) -> Result<Vec<Mount>, FailedHook> {
        let alloc = owner.alloc();
        let run = |hook, work: &dyn Fn() -> Result<(), HookError>| self.run_hook(&alloc, hook, work);
        let first = !self.inner.lock().record.built;
        run("validate", &|| self.validate(task))?;
        if first {
            self.emit(events::setup());
        }
        // Later the task may have changed its directory, which is its right.
        run("task_dir", &|| {
            if first {
                owner.dirs.build_task(&self.name)?;
            }
            Ok(owner.dirs.mount_task(&self.name, task.resources.as_ref().map_or(0, |r| r.secrets_mb))?)
        })?;
        run("identity", &|| Ok(self.write_tokens(owner, task)?))?;
        run("api", &|| self.open_api(owner, driver).map_err(HookError::TaskApi))?;
        if first {
            run("dispatch_payload", &|| dispatch_payload(owner, task))?;
        }
        let mounts = RefCell::new(Vec::new());
        run("volumes", &|| {
            mounts.replace(self.volumes(owner, task, driver)?);
            Ok(())
        })?;
        self.inner.lock().record.built = true;
        Ok(mounts.into_inner())
    }

    /// The hooks after the artifacts, in order: the directories of a storage plugin to be mounted in the task, or the
    /// name of the hook that failed and why.
    fn prepare_further(&self, owner: &AllocRunner, task: &Task, driver: &dyn Driver) -> Result<Vec<Mount>, FailedHook> {
        let alloc = owner.alloc();
        let run = |hook, work: &dyn Fn() -> Result<(), HookError>| self.run_hook(&alloc, hook, work);
        let mounts = RefCell::new(Vec::new());
        run("csi_plugin_supervisor", &|| {
            mounts.replace(self.prepare_csi_plugin(owner, task, driver)?);
            Ok(())
        })?;
        Ok(mounts.into_inner())
    }

    /// Serves the task API on the task's socket, if the driver's tasks can connect to it.
    pub(super) fn open_api(&self, owner: &AllocRunner, driver: &dyn Driver) -> Result<(), PathError> {
        let Some(api) = self.shared.services.task_api.as_ref().filter(|_| driver.capabilities().local_processes) else {
            return Ok(());
        };
        let name = TaskName { alloc_id: owner.id.clone(), task: self.name.clone() };
        let serving = api.serve(task_api::listen(&owner.dirs, &self.name)?, name)?;
        *self.api.lock() = Some(serving);
        Ok(())
    }

    /// Serves the task API no more.
    pub(super) fn close_api(&self) {
        let serving = self.api.lock().take();
        if serving.is_some()
            && let Some(owner) = self.owner.upgrade()
            && let Err(error) = task_api::remove(&owner.dirs, &self.name)
        {
            tracing::debug!(target: "client.alloc_runner.task_runner", task = self.name, %error, "the task API socket was not removed");
        }
    }

    fn validate(&self, task: &Task) -> Result<(), HookError> {
        let options = &self.shared.config.options;
        let listed = |key: &str, default: &str, name: &str| {
            options.get(key).map_or(default, String::as_str).split(',').any(|n| n.trim() == name)
        };
        let checked = listed("user.checked_drivers", CHECKED_DRIVERS, &task.driver);
        let denied = options.get("user.denylist").map_or(DENIED_USERS, String::as_str);
        if checked && is_denied(&task.user, denied.split(',').map(str::trim)) {
            return Err(HookError::User(task.user.clone()));
        }
        Ok(())
    }
}

/// Whether a user is among those that are denied, by whatever name or number a job calls it.
fn is_denied<'a>(user: &str, mut denied: impl Iterator<Item = &'a str>) -> bool {
    let id = |name: &str| users::ids(name).ok().map(|(uid, _)| uid);
    let own = id(user).filter(|_| !user.is_empty());
    denied.any(|name| name == user || (own.is_some() && id(name) == own))
}

/// The ports of the allocation.
fn ports(owner: &AllocRunner) -> Vec<AllocatedPortMapping> {
    owner.alloc().allocated_resources.as_ref().map(|r| r.shared.ports.iter().collect()).unwrap_or_default()
}

/// The resources of the node that the servers allocated to the task.
fn limits(owner: &AllocRunner, task: &str) -> Limits {
    let alloc = owner.alloc();
    let given = alloc.allocated_resources.as_ref().and_then(|r| r.tasks.get(task));
    given.map_or_else(Limits::default, |r| Limits {
        cpu_shares: r.cpu.cpu_shares,
        cores: r.cpu.reserved_cores.clone(),
        memory_mb: r.memory.memory_mb,
        memory_max_mb: r.memory.memory_max_mb,
        isolated: None,
    })
}

fn log_settings(task: &Task) -> Option<LogSettings> {
    let (files, megabytes) = match &task.log_config {
        Some(l) if l.disabled => return None,
        Some(l) => (l.max_files, l.max_file_size_mb),
        None => (10, 10),
    };
    let number = |n: i64, default: u64| u64::try_from(n).ok().filter(|n| *n > 0).unwrap_or(default);
    Some(LogSettings { max_files: number(files, 10), max_bytes: number(megabytes, 10).saturating_mul(1 << 20) })
}

/// Writes the payload of a dispatched job (`docs/spec/client.md §19.2`). One that was dispatched without a payload has
/// an empty one, and so an empty file.
fn dispatch_payload(owner: &AllocRunner, task: &Task) -> Result<(), HookError> {
    let alloc = owner.alloc();
    let Some(file) = task.dispatch_payload.as_ref().map(|d| &d.file).filter(|f| !f.is_empty()) else { return Ok(()) };
    let job = alloc.job.as_ref().filter(|j| j.payload.as_ref().is_some_and(|p| !p.is_empty()));
    let Some(payload) = job.and_then(|j| j.uncompressed_payload()) else { return Ok(()) };
    let local = owner.dirs.open_task(&task.name).and_then(|d| Ok(d.open_dir("local", Links::Refused)?));
    let written = local.map_err(PathError::from).and_then(|d| d.replace(file, &payload.0, 0o777, None));
    written.map_err(|e| match e {
        PathError::Escapes => HookError::PayloadEscapes(file.clone()),
        source => HookError::Payload { file: file.clone(), source },
    })
}

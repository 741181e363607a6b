//! A running process of `raw_exec`, which the agent observes through its supervisor and through `/proc`.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rustix::process::Signal;
use rustix::pty::OpenptFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot, watch};

use super::exec::enter::{self, Entry};
use super::exec::privileges::Privileges;
use super::supervisor::exit_file::ExitFile;
use super::supervisor::order::{Init, TERMINAL_ARGUMENT};
use super::{DriverError, ExecError, ExecInput, ExecOutput, ExecRequest, ExecSession, Exit, RunningTask, signals};
use crate::cgroups::{Cgroups, Counters, TaskGroups};
use crate::netns;
use crate::processes::{self, to_pid};
use encamp_model::stats::TaskResourceUsage;
use encamp_model::stats::{CpuStats, MemoryStats, ResourceUsage};

/// How often a supervisor that is no child of this agent is looked after.
const POLL: Duration = Duration::from_millis(200);
/// How long what runs a command in a task may take to end it.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long a killed task may take to die.
const AFTER_KILL: Duration = Duration::from_secs(15);
/// Ticks of `/proc` per second.
const TICKS: f64 = 100.0;

/// The data that is needed to find the process again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The task's process, and its start in ticks.
    pub pid: u32,
    pub ticks: u64,
    /// Its supervisor, and its start.
    pub supervisor: u32,
    pub supervisor_ticks: u64,
    /// Where the supervisor writes how the task ended.
    pub exit_file: ExitFile,
    /// Working directory and user, for commands beside the task.
    pub dir: PathBuf,
    pub user: Option<(u32, u32)>,
    /// The network namespace of the task; none: the host's.
    #[serde(default)]
    pub network_namespace: Option<PathBuf>,
    /// The cgroups that limit the task.
    #[serde(default)]
    pub groups: Option<TaskGroups>,
    /// The init process of a task that is isolated.
    #[serde(default)]
    pub init: Option<InitState>,
}

/// The init process of an isolated task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InitState {
    /// Its process, and its start.
    pub pid: u32,
    pub ticks: u64,
    /// What the task may do, and commands beside it.
    pub privileges: Privileges,
}

impl Init {
    /// The same with what the task may do.
    pub(crate) fn of(self, privileges: Privileges) -> InitState {
        InitState { pid: self.pid, ticks: self.ticks, privileges }
    }
}

impl State {
    /// The supervisor lives, or left word.
    pub(crate) fn can_be_found(&self) -> bool {
        processes::is_alive(self.supervisor, self.supervisor_ticks) || self.exit_file.read().is_some()
    }

    /// Ends the task at once, as far as it is still the same process.
    fn kill(&self) {
        if processes::is_alive(self.pid, self.ticks) {
            processes::kill(self.pid);
            processes::kill_group(self.pid);
        }
        if let Some(groups) = &self.groups {
            groups.kill();
        }
        // Where it has processes of its own, all end with the init process.
        if let Some(init) = self.init.as_ref().filter(|i| processes::is_alive(i.pid, i.ticks)) {
            processes::kill(init.pid);
        }
    }

    /// Ends the task and removes its groups, which may take a moment.
    pub(crate) async fn end(&self) {
        let state = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            state.kill();
            if let Some(groups) = &state.groups {
                groups.remove();
            }
        });
        // It has nothing to tell.
        let _ = work.await;
    }
}

/// CPU ticks of the processes at the last sample, and when that was.
#[derive(Default)]
struct Sample {
    ticks: HashMap<u32, (u64, u64)>,
    /// The counters of the groups of an isolated task.
    groups: Option<Counters>,
    at: Option<Instant>,
}

/// A running task.
pub(crate) struct SupervisedTask {
    state: State,
    program: PathBuf,
    exit: watch::Receiver<Option<Exit>>,
    sample: Mutex<Sample>,
    /// Waits for the end of the task.
    watch: tokio::task::AbortHandle,
}

/// The resources that a task reserved; they are returned when its watch ends.
struct Reserved(Arc<Cgroups>, Option<TaskGroups>);

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(groups) = &self.1 {
            self.0.release(groups);
        }
    }
}

impl Drop for SupervisedTask {
    fn drop(&mut self) {
        // An agent that goes leaves the task alone: its groups may be those of a later start by then.
        self.watch.abort();
    }
}

impl SupervisedTask {
    /// A handle of a process; `child` is its supervisor if this agent started it. `program` runs commands in terminals.
    /// `cgroups` get back what the task reserved.
    pub(crate) fn new(
        state: State,
        program: PathBuf,
        cgroups: Arc<Cgroups>,
        child: Option<Child>,
    ) -> Arc<SupervisedTask> {
        let (tell, exit) = watch::channel(None);
        let watched = state.clone();
        let watch = tokio::spawn(async move {
            let reserved = Reserved(cgroups, watched.groups.clone());
            match child {
                Some(mut child) => drop(child.wait().await),
                None => {
                    while processes::is_alive(watched.supervisor, watched.supervisor_ticks) {
                        tokio::time::sleep(POLL).await;
                    }
                }
            }
            drop(reserved);
            let exit = watched.exit_file.read();
            if exit.is_none() {
                watched.end().await;
            }
            let exit = exit.unwrap_or_else(|| Exit {
                code: 137,
                signal: 9,
                message: "the supervisor of the task is gone".into(),
                ..Exit::default()
            });
            let _ = tell.send(Some(exit));
        });
        let watch = watch.abort_handle();
        Arc::new(SupervisedTask { state, program, exit, sample: Mutex::default(), watch })
    }

    async fn ended(&self) -> Exit {
        let mut exit = self.exit.clone();
        let value = exit.wait_for(Option::is_some).await.ok().and_then(|e| (*e).clone());
        value.unwrap_or_else(|| Exit { code: 1, message: "the watch of the task ended".into(), ..Exit::default() })
    }

    fn send(&self, signal: Signal) -> Result<(), DriverError> {
        if !processes::is_alive(self.state.pid, self.state.ticks) {
            return Err(DriverError::Ended);
        }
        let pid = to_pid(self.state.pid).ok_or(DriverError::NoProcess)?;
        Ok(rustix::process::kill_process(pid, signal)?)
    }

    /// The signal of a name; what is no signal becomes an interrupt.
    fn signal_of(name: &str) -> Option<Signal> {
        signals::of_name(name).unwrap_or_else(|| {
            if !name.is_empty() {
                tracing::warn!(target: "client.driver_mgr.raw_exec", signal = name, "unknown signal, sending an interrupt");
            }
            Some(Signal::INT)
        })
    }

    /// Ends the task at once.
    async fn kill(&self) {
        let state = self.state.clone();
        let _ = tokio::task::spawn_blocking(move || state.kill()).await;
    }

    async fn stop_task(&self, signal: &str, timeout: Duration) -> Result<(), DriverError> {
        if let Some(signal) = Self::signal_of(signal) {
            // One that has ended meanwhile needs none.
            let _ = self.send(signal);
        }
        if tokio::time::timeout(timeout, self.ended()).await.is_ok() {
            return Ok(());
        }
        self.kill().await;
        match tokio::time::timeout(AFTER_KILL, self.ended()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(DriverError::StillRunning),
        }
    }

    /// A terminal: the side of its user and the side of the command. That of an isolated task is among its devices, so
    /// that the task finds it by its name.
    fn terminal(&self) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        use rustix::fs::{Gid, Mode, OFlags, Uid, fchown, open};
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let Some(init) = &self.state.init else {
            let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
            rustix::pty::grantpt(&master)?;
            rustix::pty::unlockpt(&master)?;
            let slave = open(rustix::pty::ptsname(&master, Vec::new())?, flags, Mode::empty())?;
            return Ok((master, slave));
        };
        // A task can't change what is at these paths of its root.
        let root = format!("/proc/{}/root", init.pid);
        let master = open(format!("{root}/dev/pts/ptmx"), flags, Mode::empty())?;
        rustix::pty::unlockpt(&master)?;
        let name = rustix::pty::ptsname(&master, Vec::new())?;
        let slave = open(format!("{root}{}", name.to_string_lossy()), flags, Mode::empty())?;
        fchown(&slave, Some(Uid::from_raw(init.privileges.uid)), None::<Gid>)?;
        // Otherwise the number was another process's by then.
        if processes::is_alive(init.pid, init.ticks) { Ok((master, slave)) } else { Err(rustix::io::Errno::SRCH) }
    }

    /// Starts a command in the network of the task. One of an isolated task enters all of its namespaces by itself.
    async fn spawn(&self, mut command: Command) -> std::io::Result<Child> {
        let Some(namespace) = self.state.network_namespace.clone().filter(|_| self.state.init.is_none()) else {
            return command.spawn();
        };
        let (tell, child) = oneshot::channel();
        let runtime = tokio::runtime::Handle::current();
        // A thread of its own, which ends after that: it stays in the namespace.
        std::thread::Builder::new().name("exec-network".into()).spawn(move || {
            let _entered = runtime.enter();
            let _ = tell.send(netns::enter(&namespace).and_then(|()| command.spawn()));
        })?;
        child.await.map_err(std::io::Error::other)?
    }

    async fn run_beside(&self, request: ExecRequest) -> Result<ExecSession, ExecError> {
        let (program, args) = request.command.split_first().ok_or(ExecError::NoCommand)?;
        let failed = |source| ExecError::Run { program: program.clone(), source };
        let mut command = Command::new(program);
        if let Some(init) = &self.state.init {
            let entry = Entry {
                init: init.pid,
                init_ticks: init.ticks,
                privileges: init.privileges,
                dir: self.state.dir.clone(),
                groups: self.state.groups.clone(),
                tty: request.tty,
            };
            let entry = serde_json::to_string(&entry).map_err(|e| ExecError::Descriptor(e.into()))?;
            command = Command::new(&self.program);
            command.arg(enter::ARGUMENT).arg(entry).arg(program);
        } else if request.tty {
            command = Command::new(&self.program);
            command.arg(TERMINAL_ARGUMENT).arg(program);
        }
        command.args(args).env_clear().envs(&request.env).kill_on_drop(true);
        if self.state.init.is_none() {
            command.current_dir(&self.state.dir);
        }
        let gentle = self.state.init.is_some();
        if let Some((uid, gid)) = self.state.user {
            command.uid(uid).gid(gid);
        }
        let (input, from_user) = mpsc::channel(16);
        let (to_user, output) = mpsc::channel(16);
        if request.tty {
            let (master, slave) = self.terminal()?;
            let copy = |fd: &OwnedFd| fd.try_clone().map_err(ExecError::Descriptor);
            command.stdin(Stdio::from(copy(&slave)?)).stdout(Stdio::from(copy(&slave)?)).stderr(Stdio::from(slave));
            let child = self.spawn(command).await.map_err(failed)?;
            let size = copy(&master)?;
            let reader = tokio::fs::File::from_std(File::from(copy(&master)?));
            let writer = tokio::fs::File::from_std(File::from(master));
            tokio::spawn(feed(from_user, Some(writer), Some(size)));
            tokio::spawn(collect(child, gentle, Some(reader), None::<tokio::fs::File>, to_user));
        } else {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
            let mut child = self.spawn(command).await.map_err(failed)?;
            tokio::spawn(feed(from_user, child.stdin.take(), None));
            let (out, err) = (child.stdout.take(), child.stderr.take());
            tokio::spawn(collect(child, gentle, out, err, to_user));
        }
        Ok(ExecSession { input, output })
    }
}

/// Writes what the user sends.
async fn feed(mut from: mpsc::Receiver<ExecInput>, mut to: Option<impl AsyncWrite + Unpin>, terminal: Option<OwnedFd>) {
    while let Some(input) = from.recv().await {
        match (input, &mut to) {
            (ExecInput::Stdin(bytes), Some(writer)) => {
                if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
                    to = None;
                }
            }
            (ExecInput::CloseStdin, Some(writer)) => match terminal {
                // The end of input of a terminal.
                Some(_) => drop(writer.write_all(&[4]).await),
                None => to = None,
            },
            (ExecInput::Resize { height, width }, _) => {
                let size = rustix::termios::Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
                if let Some(terminal) = &terminal {
                    let _ = rustix::termios::tcsetwinsize(terminal, size);
                }
            }
            (_, None) => {}
        }
    }
}

/// Passes on what the command says, and how it ends. The command is ended when nobody listens any more; `gentle`: the
/// child runs it, and ends it when it is asked to.
async fn collect(
    mut child: Child,
    gentle: bool,
    out: Option<impl AsyncRead + Unpin + Send + 'static>,
    err: Option<impl AsyncRead + Unpin + Send + 'static>,
    to: mpsc::Sender<ExecOutput>,
) {
    let out = tokio::spawn(pass(out, to.clone(), ExecOutput::Stdout, ExecOutput::StdoutClosed));
    let err = tokio::spawn(pass(err, to.clone(), ExecOutput::Stderr, ExecOutput::StderrClosed));
    let status = tokio::select! {
        status = child.wait() => status,
        () = to.closed() => {
            if let Some(pid) = child.id().and_then(to_pid).filter(|_| gentle) {
                // It ends the command first, which is in the task.
                let _ = rustix::process::kill_process(pid, Signal::TERM);
                let _ = tokio::time::timeout(LAST_WORDS, child.wait()).await;
            }
            // Dropping the child ends it.
            return;
        }
    };
    // Processes that the command left running may hold its output open.
    let _ = tokio::time::timeout(Duration::from_secs(1), async { (out.await, err.await) }).await;
    let (code, signal) = match status {
        Ok(status) => {
            use std::os::unix::process::ExitStatusExt;
            let signal = i64::from(status.signal().unwrap_or(0));
            (status.code().map_or(128 + signal, i64::from), signal)
        }
        Err(_) => (1, 0),
    };
    let _ = to.send(ExecOutput::Exited { code, signal }).await;
}

async fn pass(
    from: Option<impl AsyncRead + Unpin>,
    to: mpsc::Sender<ExecOutput>,
    wrap: fn(Vec<u8>) -> ExecOutput,
    closed: ExecOutput,
) {
    if let Some(mut from) = from {
        let mut buffer = vec![0; 16 * 1024];
        // A terminal whose command has ended gives an error, which is its end.
        while let Ok(n @ 1..) = from.read(&mut buffer).await {
            let bytes = buffer.get(..n).unwrap_or_default().to_vec();
            if to.send(wrap(bytes)).await.is_err() {
                return;
            }
        }
    }
    let _ = to.send(closed).await;
}

impl RunningTask for SupervisedTask {
    fn state(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }

    fn wait(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.ended())
    }

    fn stop<'a>(&'a self, signal: &'a str, timeout: Duration) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(self.stop_task(signal, timeout))
    }

    fn signal<'a>(&'a self, signal: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(async move {
            match Self::signal_of(signal) {
                Some(signal) => self.send(signal),
                None => Ok(()),
            }
        })
    }

    fn destroy(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if self.exit.borrow().is_none() {
                self.kill().await;
                let _ = tokio::time::timeout(AFTER_KILL, self.ended()).await;
            }
            self.state.exit_file.remove();
        })
    }

    fn usage(&self, table: &processes::Table, mhz_per_core: f64) -> Option<TaskResourceUsage> {
        let page = procfs::page_size();
        let mut last = self.sample.lock();
        let now = Instant::now();
        let elapsed = last.at.map(|at| now.duration_since(at).as_secs_f64()).filter(|s| *s > 0.0);
        let mut ticks = HashMap::new();
        let mut pids = BTreeMap::new();
        let above = self.state.init.as_ref().map_or(self.state.supervisor, |init| init.pid);
        let descendants = table.descendants(above).into_iter();
        for (pid, stat) in descendants.filter(|(_, s)| !processes::is_zombie(s)) {
            ticks.insert(pid, (stat.utime, stat.stime));
            let before = last.ticks.get(&pid).copied();
            let percent = |now: u64, before: Option<u64>| match (elapsed, before) {
                (Some(seconds), Some(before)) => now.saturating_sub(before) as f64 / TICKS / seconds * 100.0,
                _ => 0.0,
            };
            let user = percent(stat.utime, before.map(|b| b.0));
            let system = percent(stat.stime, before.map(|b| b.1));
            let names = |list: &[&str]| list.iter().map(ToString::to_string).collect();
            let usage = ResourceUsage {
                memory_stats: MemoryStats {
                    rss: stat.rss.saturating_mul(page),
                    swap: processes::swap(pid),
                    measured: names(&["RSS", "Swap"]),
                    ..MemoryStats::default()
                },
                cpu_stats: CpuStats {
                    system_mode: system,
                    user_mode: user,
                    percent: user + system,
                    total_ticks: (user + system) / 100.0 * mhz_per_core,
                    measured: names(&["System Mode", "User Mode", "Percent"]),
                    ..CpuStats::default()
                },
                device_stats: None,
            };
            pids.insert(pid.to_string(), usage);
        }
        let of_groups = self.state.init.as_ref().and(self.state.groups.as_ref()).map(TaskGroups::counters);
        let sum = match &of_groups {
            Some(now) => now.usage(last.groups.as_ref().zip(elapsed), mhz_per_core),
            None => {
                let mut sum = ResourceUsage::default();
                pids.values().for_each(|usage| sum.add(usage));
                sum
            }
        };
        *last = Sample { ticks, groups: of_groups, at: Some(now) };
        Some(TaskResourceUsage { resource_usage: sum, timestamp: crate::clock::now(), pids })
    }

    fn exec(&self, request: ExecRequest) -> BoxFuture<'_, Result<ExecSession, ExecError>> {
        Box::pin(self.run_beside(request))
    }
}

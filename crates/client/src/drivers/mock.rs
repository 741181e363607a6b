//! `mock_driver`: simulated tasks, for tests (`docs/spec/client.md §23.5`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::config_block::{Block, ConfigError};
use super::{
    Capabilities, Driver, DriverError, DriverNetwork, ExecError, ExecInput, ExecOutput, ExecRequest, ExecSession, Exit,
    Fingerprint, Isolation, LogSettings, RunningTask, StartFailure, StartTask, Started,
};
use crate::clock;
use crate::config::MockConfig;
use crate::directory::{Directory, Links};
use crate::logs::rotate::Rotator;
use crate::processes::Table;
use encamp_model::driver_options::{MOCK_COMMAND, MOCK_TASK};
use encamp_model::duration;
use encamp_model::stats::TaskResourceUsage;
use encamp_model::stats::{MemoryStats, ResourceUsage};

/// The behaviour of a simulated process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Script {
    run_for: Duration,
    exit: Exit,
    signal_error: String,
    plugin_exit_after: Duration,
    stdout: Output,
    stderr: Output,
}

/// The output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Output {
    text: String,
    /// Times it is written again.
    repeat: i64,
    pause: Duration,
}

impl Script {
    fn read(b: &Block) -> Result<Script, ConfigError> {
        let output = |name: &str| -> Result<Output, ConfigError> {
            Ok(Output {
                text: b.text(&format!("{name}_string"))?,
                repeat: b.number(&format!("{name}_repeat"))?.unwrap_or(0),
                pause: b.duration(&format!("{name}_repeat_duration"))?,
            })
        };
        // Read for its errors only: killing is immediate.
        b.duration("kill_after")?;
        Ok(Script {
            run_for: b.duration("run_for")?,
            exit: Exit {
                code: b.number("exit_code")?.unwrap_or(0),
                signal: b.number("exit_signal")?.unwrap_or(0),
                message: b.text("exit_err_msg")?,
                ..Exit::default()
            },
            signal_error: b.text("signal_error")?,
            plugin_exit_after: b.duration("plugin_exit_after")?,
            stdout: output("stdout")?,
            stderr: output("stderr")?,
        })
    }
}

/// The data that is needed to continue with a task after the agent restarted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    script: Script,
    beside: Option<Script>,
    /// Unix nanoseconds.
    started: i64,
    alloc_dir: PathBuf,
    task: String,
    logs: Option<LogSettings>,
}

/// The driver.
pub(crate) struct Mock {
    config: MockConfig,
    since: Instant,
}

impl Mock {
    /// A driver that was started now.
    pub(crate) fn new(config: MockConfig) -> Mock {
        Mock { config, since: Instant::now() }
    }

    async fn start_task(&self, task: StartTask) -> Result<Started, StartFailure> {
        let block = Block(&task.config);
        let known: Vec<&str> = MOCK_COMMAND.iter().chain(MOCK_TASK).copied().collect();
        block.only(&known)?;
        let fatal = |e: ConfigError| StartFailure::fatal(e);
        let wait = block.duration("start_block_for").map_err(fatal)?;
        tokio::time::sleep(wait).await;
        let error = block.text("start_error").map_err(fatal)?;
        if !error.is_empty() {
            let recoverable = block.flag("start_error_recoverable").map_err(fatal)?;
            return Err(StartFailure::Failed { text: error, recoverable });
        }
        let script = Script::read(&block).map_err(fatal)?;
        let beside = match block.block("exec_command").map_err(fatal)? {
            Some(inner) => {
                let inner = Block(&inner);
                inner.only(MOCK_COMMAND)?;
                Some(Script::read(&inner).map_err(fatal)?)
            }
            None => None,
        };
        let network = network(&block).map_err(fatal)?;
        let (started, alloc_dir) = (clock::now(), task.alloc_dir);
        let state = State { script, beside, started, alloc_dir, task: task.task, logs: task.logs };
        Ok(Started { handle: Handle::new(state, false), network })
    }
}

fn network(block: &Block) -> Result<Option<DriverNetwork>, ConfigError> {
    let ip = block.text("driver_ip")?;
    if ip.is_empty() {
        return Ok(None);
    }
    let mut ports = BTreeMap::new();
    let map = block.text("driver_port_map")?;
    if !map.is_empty() {
        let parsed = map.split_once(':').and_then(|(label, port)| Some((label.to_string(), port.parse().ok()?)));
        ports.extend([parsed.ok_or(ConfigError::PortMap(map))?]);
    }
    Ok(Some(DriverNetwork { ip, advertise: block.flag("driver_advertise")?, ports }))
}

impl Driver for Mock {
    fn name(&self) -> &'static str {
        "mock_driver"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            signals: true,
            exec: true,
            isolation: Isolation::None,
            own_network: false,
            mounts: false,
            local_processes: false,
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        match self.config.shutdown_periodic_after {
            Some(after) if self.since.elapsed() >= after => Fingerprint::undetected("disabled"),
            _ => Fingerprint::healthy(),
        }
    }

    fn fingerprint_period(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn start(&self, task: StartTask) -> BoxFuture<'_, Result<Started, StartFailure>> {
        Box::pin(self.start_task(task))
    }

    fn recover<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, Result<Arc<dyn RunningTask>, DriverError>> {
        Box::pin(async move {
            let state: State = serde_json::from_value(state.clone())?;
            Ok(Handle::new(state, true) as Arc<dyn RunningTask>)
        })
    }

    fn forget<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

struct Handle {
    state: State,
    exit: watch::Receiver<Option<Exit>>,
    kill: watch::Sender<bool>,
}

impl Handle {
    /// Starts to pretend, or goes on pretending.
    fn new(state: State, again: bool) -> Arc<Handle> {
        let (tell, exit) = watch::channel(None);
        let (kill, mut killed) = watch::channel(false);
        let script = state.script.clone();
        let ran = duration::of_nanos(clock::now().saturating_sub(state.started));
        let left = if again { script.run_for.saturating_sub(ran) } else { script.run_for };
        if let (false, Some(logs)) = (again, state.logs) {
            for (which, output) in [("stdout", &script.stdout), ("stderr", &script.stderr)] {
                let name = format!("{}.{which}", state.task);
                let (dir, output, killed) = (state.alloc_dir.clone(), output.clone(), killed.clone());
                tokio::spawn(write(dir, name, logs, output, killed));
            }
        }
        tokio::spawn(async move {
            let plugin_exits = !again && !script.plugin_exit_after.is_zero();
            let lost = Exit { lost: true, ..Exit::default() };
            let exit = tokio::select! {
                () = tokio::time::sleep(left) => script.exit,
                _ = killed.wait_for(|k| *k) => script.exit,
                () = tokio::time::sleep(script.plugin_exit_after), if plugin_exits => lost,
            };
            let _ = tell.send(Some(exit));
        });
        Arc::new(Handle { state, exit, kill })
    }

    async fn ended(&self) -> Exit {
        let mut exit = self.exit.clone();
        let value = exit.wait_for(Option::is_some).await.ok().and_then(|e| (*e).clone());
        value.unwrap_or_default()
    }

    async fn run_beside(&self, request: ExecRequest) -> Result<ExecSession, ExecError> {
        let (input, mut from_user) = mpsc::channel(16);
        let (to, output) = mpsc::channel(16);
        if request.command.iter().any(|c| c == "showinput") {
            tokio::spawn(async move {
                let mut text = format!("TTY: {}\nStdin:\n", request.tty).into_bytes();
                while let Some(input) = from_user.recv().await {
                    match input {
                        ExecInput::Stdin(bytes) => text.extend(bytes),
                        ExecInput::CloseStdin => break,
                        ExecInput::Resize { .. } => {}
                    }
                }
                say(&to, text, Vec::new(), Exit::default()).await;
            });
            return Ok(ExecSession { input, output });
        }
        let script = self.state.beside.clone().ok_or(ExecError::NotSimulated)?;
        tokio::spawn(async move {
            // It takes input, and does nothing with it.
            let _input = from_user;
            tokio::time::sleep(script.run_for).await;
            let times =
                |o: &Output| o.text.repeat(usize::try_from(o.repeat.clamp(0, 10_000)).unwrap_or(0) + 1).into_bytes();
            say(&to, times(&script.stdout), times(&script.stderr), script.exit).await;
        });
        Ok(ExecSession { input, output })
    }
}

/// Says all a pretended command has to say.
async fn say(to: &mpsc::Sender<ExecOutput>, out: Vec<u8>, err: Vec<u8>, exit: Exit) {
    let end = ExecOutput::Exited { code: exit.code, signal: exit.signal };
    let all =
        [ExecOutput::Stdout(out), ExecOutput::Stderr(err), ExecOutput::StdoutClosed, ExecOutput::StderrClosed, end];
    for part in all {
        let empty = matches!(&part, ExecOutput::Stdout(b) | ExecOutput::Stderr(b) if b.is_empty());
        if !empty && to.send(part).await.is_err() {
            return;
        }
    }
}

/// Writes a pretended process's output into its log files.
async fn write(alloc: PathBuf, name: String, logs: LogSettings, output: Output, mut killed: watch::Receiver<bool>) {
    let dir = Directory::open(&alloc).and_then(|d| Ok(d.open_dir("alloc/logs", Links::Refused)?));
    let mut rotator = match dir.and_then(|dir| Rotator::open(dir, name, logs)) {
        Ok(rotator) => rotator,
        Err(e) => return tracing::warn!(target: "client.driver_mgr.mock_driver", error = %e, "can't write the output"),
    };
    if output.text.is_empty() {
        return;
    }
    for n in 0..=output.repeat.max(0) {
        if n > 0 {
            tokio::select! {
                () = tokio::time::sleep(output.pause) => {}
                _ = killed.wait_for(|k| *k) => return,
            }
        }
        if rotator.write(output.text.as_bytes()).is_err() {
            return;
        }
    }
}

impl RunningTask for Handle {
    fn state(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }

    fn wait(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.ended())
    }

    fn stop<'a>(&'a self, _: &'a str, _: Duration) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(async {
            self.kill.send_replace(true);
            self.ended().await;
            Ok(())
        })
    }

    fn signal<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        let error = &self.state.script.signal_error;
        let answer = if error.is_empty() { Ok(()) } else { Err(DriverError::Simulated(error.clone())) };
        Box::pin(std::future::ready(answer))
    }

    fn destroy(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.kill.send_replace(true);
        })
    }

    fn usage(&self, _: &Table, _: f64) -> Option<TaskResourceUsage> {
        let rss = clock::generator(None, "rss").below(1 << 30);
        let memory_stats = MemoryStats { rss, measured: vec!["RSS".into()], ..MemoryStats::default() };
        let usage = ResourceUsage { memory_stats, ..ResourceUsage::default() };
        Some(TaskResourceUsage { resource_usage: usage, timestamp: clock::now(), pids: BTreeMap::new() })
    }

    fn exec(&self, request: ExecRequest) -> BoxFuture<'_, Result<ExecSession, ExecError>> {
        Box::pin(self.run_beside(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(config: &str) -> StartTask {
        StartTask { id: "a/t/1".into(), config: serde_json::from_str(config).unwrap(), ..StartTask::default() }
    }

    async fn start(config: &str) -> Result<Started, StartFailure> {
        Mock::new(MockConfig::default()).start(task(config)).await
    }

    #[tokio::test]
    async fn ends_as_configured() {
        let run = start(r#"{"run_for":"1ms","exit_code":3,"exit_err_msg":"x"}"#).await.unwrap();
        assert_eq!(run.handle.wait().await, Exit { code: 3, message: "x".into(), ..Exit::default() });
        let run = start(r#"{"run_for":"1h","exit_signal":9,"signal_error":"no"}"#).await.unwrap();
        assert_eq!(run.handle.signal("SIGHUP").await.map_err(|e| e.to_string()), Err("no".into()));
        run.handle.stop("", Duration::ZERO).await.unwrap();
        assert_eq!(run.handle.wait().await.signal, 9, "a killed task ends as configured");
    }

    #[tokio::test]
    async fn fails_to_start_as_configured() {
        let error = |e: Result<Started, StartFailure>| e.err().unwrap();
        let want = StartFailure::Failed { text: "no".into(), recoverable: true };
        assert_eq!(error(start(r#"{"start_error":"no","start_error_recoverable":true}"#).await), want);
        let text = "run_for x not a valid duration: time: invalid duration \"x\"";
        assert_eq!(error(start(r#"{"run_for":"x"}"#).await), StartFailure::fatal(text));
        assert!(matches!(error(start(r#"{"nope":1}"#).await), StartFailure::Invalid(_)));
    }

    #[tokio::test]
    async fn goes_on_where_it_was() {
        let run = start(r#"{"run_for":"1h","plugin_exit_after":"1ms"}"#).await.unwrap();
        assert!(run.handle.wait().await.lost);
        let mut state = run.handle.state();
        state["started"] = (clock::now() - 3_600_000_000_000).into();
        let again = Mock::new(MockConfig::default()).recover(&state).await.unwrap();
        assert!(again.wait().await.success());
    }

    #[tokio::test]
    async fn networks_and_commands() {
        let run = start(
            r#"{"run_for":"1h","driver_ip":"10.0.0.1","driver_port_map":"a:5","exec_command":[{"stdout_string":"hi","exit_code":2}]}"#,
        );
        let run = run.await.unwrap();
        assert_eq!(run.network.unwrap().ports["a"], 5);
        let said = async |command: &str| {
            let request = ExecRequest { command: vec![command.into()], tty: true, ..ExecRequest::default() };
            let mut session = run.handle.exec(request).await.unwrap();
            session.input.send(ExecInput::Stdin(b"in".to_vec())).await.unwrap();
            session.input.send(ExecInput::CloseStdin).await.unwrap();
            let (mut out, mut code) = (Vec::new(), None);
            while let Some(part) = session.output.recv().await {
                match part {
                    ExecOutput::Stdout(b) => out.extend(b),
                    ExecOutput::Exited { code: c, .. } => code = Some(c),
                    _ => {}
                }
            }
            (String::from_utf8(out).unwrap(), code)
        };
        assert_eq!(said("x").await, ("hi".into(), Some(2)));
        assert_eq!(said("showinput").await, ("TTY: true\nStdin:\nin".into(), Some(0)));
    }
}

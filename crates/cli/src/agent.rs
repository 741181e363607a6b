//! `agent`: runs a server, a client, or both (`docs/spec/cli.md §15.2`, `docs/spec/agent-config.md §7, §9, §10`).

use std::fmt::Display;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::agent_flags::AgentFlags;
use super::command::Run;
use super::command_meta::{Meta, Surplus};
use super::context::Context;
use super::error::{CommandError, CommandResult};
use encamp_agent::config::{self, Config, Finding, Sources};
use encamp_agent::log::{FileSettings, Level, LogSettings, Output};
use encamp_agent::start::{ReloadAnswer, ReloadRequests};
use encamp_agent::vital_signs::VitalSigns;
use encamp_agent::{Agent, Logs, ReloadError, Reloader};
use encamp_telemetry::Metrics;

/// The time limit for leaving the cluster, in addition to the drain deadline.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);
/// The time limit for stopping without leaving.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// The time limit for ending all tasks in development mode, in addition to the longest kill timeout of a task.
const TASKS_LIMIT: Duration = Duration::from_secs(60);
/// After this time, the agent says what it waits for.
const PATIENCE: Duration = Duration::from_secs(3);

/// Run an encamp agent: a server, a client node, or both
///
/// The agent reads its configuration from HCL or JSON files and directories, and from flags, which take precedence. It
/// runs until it receives SIGINT or SIGTERM, and reloads its configuration on SIGHUP.
///
/// With -dev, the agent is both server and client, persists nothing, and needs no configuration.
#[derive(Debug, clap::Parser)]
pub struct AgentCommand {
    #[command(flatten)]
    flags: AgentFlags,
}

impl Run for AgentCommand {
    const META: Meta = Meta::new("agent")
        .surplus(Surplus::Ignored)
        .logs_to_stdout()
        .environment(&[
            ("NOMAD_CLIENT_INTRO_TOKEN", "Introduction token with which a client registers its node."),
            ("ENCAMP_SHED_EVALUATIONS", "0 disables load shedding in the evaluation broker."),
        ])
        .exit_status(&[
            (0, "The agent left the cluster after a signal, as leave_on_interrupt and leave_on_terminate request."),
            (1, "An error occurred, or a signal stopped the agent without leaving."),
        ])
        .examples(&[
            ("Run a server and a node in one process, for development", "encamp agent -dev"),
            ("Run a server with a configuration file", "encamp agent -config server.hcl"),
            (
                "Run a node of a pool",
                "encamp agent -client -config client.hcl -node-pool gpu \\
    -servers 10.0.0.11:4647,10.0.0.12:4647",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let token = context.env.var("NOMAD_CLIENT_INTRO_TOKEN").map(String::from);
        let sources = match self.flags.sources(token) {
            Ok(sources) => sources,
            Err(e) => return refuse(context, self.flags.log_json, e),
        };
        let config = match read(&sources, |line| context.ui.error_plain(line)) {
            Ok(config) => config,
            Err(e) => return refuse(context, self.flags.log_json, e),
        };
        let logs = Logs::open(&log_settings(&config));
        let json = config.log_json;
        let metrics = config.telemetry_settings().map(Metrics::new);
        let (logs, metrics) = match (logs, metrics) {
            (Ok(logs), Ok(metrics)) => (logs, metrics),
            (Err(e), _) => return refuse(context, json, e),
            (_, Err(e)) => return refuse(context, json, format_args!("Error initializing telemetry: {e}")),
        };
        if let Err(e) = logs.install() {
            return refuse(context, json, format_args!("Error setting up logs: {e}"));
        }
        let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(e) => return refuse(context, json, format_args!("Error starting agent: {e}")),
        };
        let mut process = Process { context, sources, logs };
        let code = runtime.block_on(process.run(config, metrics));
        // Tasks that still run must not delay the exit.
        runtime.shutdown_background();
        code
    }
}

/// Reads, validates and normalises the configuration. Warnings go to `warn`; the error is a single line.
fn read(sources: &Sources, mut warn: impl FnMut(&str)) -> CommandResult<Config> {
    let loaded = config::load(sources)?;
    loaded.warnings.iter().for_each(|w| warn(w));
    for finding in config::validate(&loaded.config) {
        match finding {
            Finding::Warning(text) => warn(&text),
            Finding::Error(text) => return Err(CommandError::new(text)),
        }
    }
    Ok(loaded.normalized()?)
}

fn log_settings(config: &Config) -> LogSettings {
    let file = (!config.log_file.is_empty()).then(|| FileSettings {
        path: config.log_file.clone().into(),
        max_bytes: u64::try_from(config.log_rotate_bytes).unwrap_or(0),
        max_age: config.log_rotate_duration,
        max_files: usize::try_from(config.log_rotate_max_files).unwrap_or(0),
    });
    LogSettings {
        level: Level::parse(&config.log_level).unwrap_or(Level::Info),
        json: config.log_json,
        location: config.log_include_location,
        output: Output::Standard,
        file,
        syslog: config.enable_syslog.then(|| config.syslog_facility.clone()),
    }
}

/// Reports why the agent does not start.
fn refuse(context: &mut Context<'_, '_>, json: bool, why: impl Display) -> u8 {
    let prefix = if json { "" } else { "==> " };
    context.ui.error_plain(&format!("{prefix}{why}"));
    1
}

/// The events that wake the agent's main loop.
enum Event {
    Reload(Option<ReloadAnswer>),
    Stop(&'static str, bool),
    /// A part of the agent has stopped unexpectedly.
    Failed(String),
}

/// The signals that an agent handles.
struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
    /// Held so that SIGXFSZ is handled: a write beyond the file size limit then returns an error instead of ending the
    /// process.
    _file_size: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    async fn next(&mut self, requests: &mut ReloadRequests, config: &Config) -> Event {
        tokio::select! {
            _ = self.hangup.recv() => Event::Reload(None),
            _ = self.interrupt.recv() => Event::Stop("interrupt", config.leave_on_interrupt),
            _ = self.terminate.recv() => Event::Stop("terminated", config.leave_on_terminate),
            Some(answer) = requests.recv() => Event::Reload(Some(answer)),
        }
    }
}

/// The process of an agent: its output and its signals.
struct Process<'c, 'a, 'io> {
    context: &'c mut Context<'a, 'io>,
    sources: Sources,
    logs: Logs,
}

impl Process<'_, '_, '_> {
    async fn run(&mut self, config: Config, metrics: Metrics) -> u8 {
        let json = config.log_json;
        self.context.env.terminal.handle_signals_in_command();
        // Before anything is printed: a reader of the output may send a signal immediately.
        let mut signals = match Signals::new() {
            Ok(signals) => signals,
            Err(e) => return refuse(self.context, json, format_args!("Error starting agent: {e}")),
        };
        self.output(&match config.files.as_slice() {
            [] => "No configuration files loaded".to_string(),
            files => format!("Loaded configuration from {}", files.join(", ")),
        });
        self.output("Starting encamp agent...");
        let (reloader, mut requests) = Reloader::new();
        let started = tokio::select! {
            started = Agent::start(config, self.logs.clone(), metrics, reloader) => started,
            () = signals.stop() => return 1,
        };
        let mut agent = match started {
            Ok(agent) => agent,
            Err(e) => return refuse(self.context, json, e),
        };
        self.banner(&agent);
        self.logs.release();
        notify(&[NotifyState::Ready]);
        let _watchdog = sd_notify::watchdog_enabled().map(|limit| Watchdog::start(agent.vital_signs(), limit));
        let mut failed = std::pin::pin!(agent.failed());
        loop {
            let event = tokio::select! {
                event = signals.next(&mut requests, agent.config()) => event,
                why = failed.as_mut() => Event::Failed(why),
            };
            match event {
                Event::Failed(why) => {
                    refuse(self.context, json, format_args!("Error running agent: consensus has ended: {why}"));
                    notify(&[NotifyState::Stopping]);
                    self.stop(agent, false, &mut signals).await;
                    return 1;
                }
                Event::Reload(answer) => self.reload_for(answer, &mut agent).await,
                Event::Stop(name, leave) => {
                    self.output(&format!("Caught signal: {name}"));
                    if let Some(audit) = agent.audit() {
                        audit.note("stop", &format!("signal: {name}"), "");
                    }
                    notify(&[NotifyState::Stopping]);
                    return self.stop(agent, leave, &mut signals).await;
                }
            }
        }
    }

    async fn stop(&mut self, mut agent: Agent, leave: bool, signals: &mut Signals) -> u8 {
        let mut limit = STOP_LIMIT;
        if leave {
            self.output("Gracefully shutting down agent...");
            let drain = agent.config().client.drain_on_shutdown.as_ref().map_or(Duration::ZERO, |d| d.deadline);
            limit = LEAVE_LIMIT + drain;
        }
        // In development mode the agent ends its tasks, which may take as long as their kill timeouts.
        let ends_tasks = agent.config().dev && agent.config().client.enabled;
        if ends_tasks {
            limit += TASKS_LIMIT + agent.config().client.max_kill_timeout;
        }
        let all = async move {
            if leave {
                agent.leave().await;
            }
            agent.shutdown().await;
        };
        let reminder = async {
            tokio::time::sleep(PATIENCE).await;
            if ends_tasks {
                self.output("Waiting for tasks to end; interrupt again to leave them running...");
            }
            std::future::pending().await
        };
        tokio::select! {
            () = all => if leave { 0 } else { 1 },
            () = tokio::time::sleep(limit) => 1,
            () = signals.stop() => 1,
            code = reminder => code,
        }
    }

    /// Reloads for a request, which is answered, or for a signal, which the audit log notes.
    async fn reload_for(&mut self, request: Option<ReloadAnswer>, agent: &mut Agent) {
        let by_signal = request.is_none();
        if by_signal {
            self.output("Caught signal: hangup");
        }
        let result = self.reload(agent).await;
        if let Some(audit) = agent.audit().filter(|_| by_signal) {
            let error = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
            audit.note("reload", "signal: hangup", &error);
        }
        // The receiver is gone if the request was cancelled.
        let _ = request.map(|answer| answer.send(result));
    }

    async fn reload(&mut self, agent: &mut Agent) -> Result<(), ReloadError> {
        self.output("Reloading configuration...");
        notify_reloading();
        // The file may have been moved away, whatever has become of the configuration.
        if let Some(audit) = agent.audit() {
            audit.reopen();
        }
        let ui = &mut self.context.ui;
        let read = read(&self.sources, |line| ui.error_plain(line));
        let result = match read {
            Ok(config) => agent.reload(&config).await,
            Err(e) => Err(ReloadError::Config(e.to_string())),
        };
        if let Err(e) = &result {
            refuse(self.context, self.logs.is_json(), e);
            refuse(self.context, self.logs.is_json(), "Failed to reload configs");
        }
        notify(&[NotifyState::Ready]);
        result
    }

    fn banner(&mut self, agent: &Agent) {
        let config = agent.config();
        let http: Vec<String> = agent.http_addresses().iter().map(ToString::to_string).collect();
        let mut bind = format!("HTTP: [{}]", http.join(" "));
        let mut advertise = format!("HTTP: {}", config.advertise.http);
        if config.server.enabled {
            let address = |host: &str, port| config::addresses::join_port(host, port);
            let rpc = address(&config.addresses.rpc, config.ports.rpc);
            let serf = address(&config.addresses.serf, config.ports.serf);
            bind.push_str(&format!("; RPC: {rpc}; Serf: {serf}"));
            advertise.push_str(&format!("; RPC: {}; Serf: {}", config.advertise.rpc, config.advertise.serf));
        }
        let rows = [
            ("Advertise Addrs", advertise),
            ("Bind Addrs", bind),
            ("Client", config.client.enabled.to_string()),
            ("Log Level", config.log_level.to_uppercase()),
            ("Region", format!("{} (DC: {})", config.region, config.datacenter)),
            ("Server", config.server.enabled.to_string()),
            ("Version", env!("CARGO_PKG_VERSION").to_string()),
        ];
        self.output("encamp agent configuration:\n");
        for (name, value) in rows {
            self.info(&format!("{name:>18}: {value}"));
        }
        self.info("");
        self.output("encamp agent started! Log data will stream in below:\n");
    }

    /// Prints a line about the start or a signal.
    fn output(&mut self, message: &str) {
        if self.logs.is_json() {
            self.logs.tell(message.trim_end());
        } else {
            self.context.ui.plain(&format!("==> {message}"));
        }
    }

    /// Prints an indented line below one.
    fn info(&mut self, message: &str) {
        match (self.logs.is_json(), message) {
            (true, "") => {}
            (true, _) => self.logs.tell(message.trim()),
            (false, "") => self.context.ui.plain(""),
            (false, _) => self.context.ui.plain(&format!("    {message}")),
        }
    }
}

/// Tells the service manager at intervals that the agent works. It ends with the agent: a stop has its own limit.
struct Watchdog(tokio::task::JoinHandle<()>);

impl Watchdog {
    /// The service manager restarts the agent if it hears nothing for `limit`: two checks may be lost.
    fn start(signs: VitalSigns, limit: Duration) -> Watchdog {
        let interval = limit / 3;
        Watchdog(tokio::spawn(async move {
            loop {
                match signs.check(interval / 2).await {
                    Ok(()) => notify(&[NotifyState::Watchdog]),
                    Err(why) => tracing::error!(target: "agent", "watchdog: {why}"),
                }
                tokio::time::sleep(interval).await;
            }
        }))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Notifies the service manager, systemd, if it listens (`docs/spec/agent-config.md §9.1`).
fn notify(state: &[NotifyState<'_>]) {
    // A missing service manager does not stop the agent.
    let _ = sd_notify::notify(state);
}

/// Notifies the service manager of a reload, which it requires to have a time.
fn notify_reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        notify(&[NotifyState::Reloading, now]);
    }
}

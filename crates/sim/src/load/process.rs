//! Server processes on this machine: this program, started as `agent` with a data directory of its own.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use procfs::process::Process;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setpriority_process, setrlimit};

use super::LoadError;
use encamp_api::{Client, Config};

/// Longest wait until servers serve and have a leader.
const START: Duration = Duration::from_secs(60);
/// How often they are polled meanwhile.
const LOOK: Duration = Duration::from_millis(20);
/// The nice value of simulated nodes.
const NICE: i32 = 5;
/// Open files besides the connections of nodes.
const OTHER_FILES: u64 = 1000;
/// Longest wait for a server to stop.
const STOP: Duration = Duration::from_secs(20);

/// The specification of the servers.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// How many.
    pub servers: usize,
    /// How many connections nodes have to them.
    pub connections: usize,
    /// The parent of their data directories.
    pub folder: PathBuf,
    /// Whether redundant evaluations are cancelled.
    pub shedding: bool,
    /// More configuration for each.
    pub more: String,
}

/// A running server.
pub struct ServerProcess {
    child: Child,
    folder: PathBuf,
    ports: [u16; 3],
    client: Client,
    config: ServerConfig,
    /// What the processes before this one used: most memory in bytes, processor seconds.
    before: (u64, f64),
}

/// The configuration of a server.
struct ServerConfig {
    /// Its beginning, up to a place within the block `server`.
    head: String,
    /// What follows.
    tail: String,
    shedding: bool,
}

impl ServerConfig {
    /// Its text, with more lines in the block `server`.
    fn text(&self, of_server: &str) -> String {
        format!("{}{of_server}{}", self.head, self.tail)
    }
}

/// Ports that were free a moment ago.
fn free_ports() -> std::io::Result<[u16; 3]> {
    let held = [(); 3].map(|()| TcpListener::bind(("127.0.0.1", 0)));
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(held) {
        *port = listener?.local_addr()?.port();
    }
    Ok(ports)
}

/// A text as HCL and JSON write it.
fn quoted(path: &Path) -> String {
    serde_json::Value::from(path.display().to_string()).to_string()
}

/// Starts servers and waits until they have a leader.
///
/// # Errors
/// A directory can't be written, a server does not start, or there is no leader in time: the error ends with what it
/// logged.
pub async fn start(options: &ServerOptions) -> Result<Vec<ServerProcess>, LoadError> {
    open_files(options.connections)?;
    let ports: Vec<[u16; 3]> = (0..options.servers)
        .map(|_| free_ports())
        .collect::<Result<_, _>>()
        .map_err(|e| LoadError::of("no free port", e))?;
    let join: Vec<String> = ports.iter().map(|[_, _, serf]| format!("\"127.0.0.1:{serf}\"")).collect();
    let mut servers = Vec::new();
    for (number, ports) in ports.iter().enumerate() {
        let folder = options.folder.join(format!("server-{}", number + 1));
        let [http, rpc, serf] = ports;
        let others = if options.servers > 1 {
            format!("  server_join {{\n    retry_join = [{}]\n    retry_interval = \"1s\"\n  }}\n", join.join(", "))
        } else {
            String::new()
        };
        let head = format!(
            "name = \"server-{}\"\ndata_dir = {}\nbind_addr = \"127.0.0.1\"\nlog_level = \"WARN\"\n\
             disable_update_check = true\n\
             ports {{\n  http = {http}\n  rpc = {rpc}\n  serf = {serf}\n}}\n\
             advertise {{\n  http = \"127.0.0.1\"\n  rpc = \"127.0.0.1\"\n  serf = \"127.0.0.1\"\n}}\n\
             telemetry {{\n  prometheus_metrics = true\n}}\n\
             limits {{\n  http_max_conns_per_client = 0\n  rpc_max_conns_per_client = 0\n}}\n\
             server {{\n  enabled = true\n  bootstrap_expect = {}\n{others}",
            number + 1,
            quoted(&folder.join("data")),
            options.servers,
        );
        let config = ServerConfig { head, tail: format!("}}\n{}", options.more), shedding: options.shedding };
        servers.push(launch(folder, config, *ports)?);
    }
    let end = Instant::now() + START;
    for s in &mut servers {
        s.wait_ready(end).await?;
    }
    give_way();
    Ok(servers)
}

/// Lets this process and its servers have as many open files as connections of nodes need.
fn open_files(connections: usize) -> Result<(), LoadError> {
    let needed = connections as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(most) = limit.maximum.filter(|most| *most < needed) {
        let text = format!(
            "{connections} connections of nodes need {needed} open files, and the limit is {most}: raise it with \"ulimit -n\""
        );
        return Err(LoadError(text));
    }
    let raised = Rlimit { current: limit.maximum.or(Some(needed)), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).map_err(|e| LoadError::of("raising the limit of open files", e))
}

/// Leaves busy processors to the servers: real nodes have machines of their own. Threads that begin later do so too.
fn give_way() {
    let threads = Process::myself().and_then(|p| p.tasks()).into_iter().flatten().flatten();
    for id in threads.filter_map(|t| Pid::from_raw(t.tid)) {
        // Without, the figures are a little worse.
        let _ = setpriority_process(Some(id), NICE);
    }
}

/// The place of the server that leads.
///
/// # Errors
/// Servers don't answer, or none of them leads.
pub async fn leader(servers: &[ServerProcess]) -> Result<usize, LoadError> {
    let Some(first) = servers.first() else { return Err(LoadError("there must be a server".into())) };
    let (address, _) = first.client().leader("").await.map_err(|e| LoadError::of("looking for the leader", e))?;
    let found = servers.iter().position(|s| s.rpc_address() == address);
    found.ok_or_else(|| LoadError(format!("the leader {address:?} is none of the servers")))
}

/// Processor time that servers have used, in seconds.
pub(crate) fn cpu_seconds(servers: &[ServerProcess]) -> f64 {
    servers.iter().map(ServerProcess::cpu_seconds).sum()
}

fn launch(folder: PathBuf, config: ServerConfig, ports: [u16; 3]) -> Result<ServerProcess, LoadError> {
    let child = spawn(&folder, &config, "")?;
    let client = client_of(ports[0])?;
    Ok(ServerProcess { child, folder, ports, client, config, before: (0, 0.0) })
}

/// Starts the program as the server in a directory, with more lines in the block `server` of its configuration.
fn spawn(folder: &Path, config: &ServerConfig, of_server: &str) -> Result<Child, LoadError> {
    let failed = |e: std::io::Error| LoadError::of(&format!("can't start a server in {}", folder.display()), e);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let file = folder.join("agent.hcl");
    std::fs::write(&file, config.text(of_server)).map_err(failed)?;
    let log = std::fs::File::create(folder.join("log")).map_err(failed)?;
    Command::new(std::env::current_exe().map_err(failed)?)
        .args(["agent", "-config"])
        .arg(&file)
        .env("ENCAMP_SHED_EVALUATIONS", if config.shedding { "1" } else { "0" })
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(failed)?)
        .stderr(log)
        // Keys such as Ctrl-C reach the program alone, which stops its servers.
        .process_group(0)
        .spawn()
        .map_err(failed)
}

fn client_of(port: u16) -> Result<Client, LoadError> {
    let address = format!("http://127.0.0.1:{port}");
    Client::new(Config { address, ..Config::default() }).map_err(|e| LoadError(e.to_string()))
}

impl ServerProcess {
    /// Its HTTP interface.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Another client of its HTTP interface, with connections of its own.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new_client(&self) -> Result<Client, LoadError> {
        client_of(self.ports[0])
    }

    /// Where nodes reach it.
    pub fn rpc_address(&self) -> String {
        format!("127.0.0.1:{}", self.ports[1])
    }

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    async fn wait_ready(&mut self, end: Instant) -> Result<(), LoadError> {
        loop {
            let leader = self.client.leader("").await;
            if leader.is_ok_and(|(address, _)| !address.is_empty()) {
                return Ok(());
            }
            let ended = self.child.try_wait().map_err(|e| LoadError::of("a server", e))?;
            if ended.is_some() || Instant::now() > end {
                let what = if ended.is_some() { "a server ended early" } else { "a server has no leader in time" };
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let last = lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join("\n");
                return Err(LoadError(format!("{what}; its log ends with:\n{last}")));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Stops it and starts it again, with more lines in the block `server` of its configuration; returns how long it
    /// took from the start until there was a leader.
    ///
    /// # Errors
    /// It does not stop or start, or has no leader in time.
    pub(crate) async fn restart(&mut self, of_server: &str, patience: Duration) -> Result<Duration, LoadError> {
        self.before = (self.peak_rss(), self.cpu_seconds());
        self.stop();
        let begun = Instant::now();
        self.child = spawn(&self.folder, &self.config, of_server)?;
        self.wait_ready(begun + patience).await?;
        Ok(begun.elapsed())
    }

    /// Its directory.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Most memory it ever had in RAM, in bytes; 0 if it is not known.
    pub(crate) fn peak_rss(&self) -> u64 {
        let kib = self.process().and_then(|p| p.status().ok()?.vmhwm);
        kib.unwrap_or(0).saturating_mul(1024).max(self.before.0)
    }

    /// Memory it has in RAM, in bytes; 0 if it is not known.
    pub(crate) fn rss(&self) -> u64 {
        let kib = self.process().and_then(|p| p.status().ok()?.vmrss);
        kib.unwrap_or(0).saturating_mul(1024)
    }

    /// Processor time it has used, in seconds; 0 if it is not known.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let ticks = self.process().and_then(|p| p.stat().ok()).map_or(0, |s| s.utime.saturating_add(s.stime));
        self.before.1 + ticks as f64 / procfs::ticks_per_second().max(1) as f64
    }

    /// Ends the process, by force if it takes too long.
    fn stop(&mut self) {
        let _ =
            rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::TERM);
        let end = Instant::now() + STOP;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn process(&self) -> Option<Process> {
        Process::new(i32::try_from(self.pid()).ok()?).ok()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

//! An agent: a process in the network namespace of its member.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::{Failure, Outcome};
use crate::place::{Place, SERVERS};
use crate::switch::NAMES;

/// How often the end of a process is looked for.
const POLL: Duration = Duration::from_millis(50);
/// The library that fakes the wall clock of programs that are linked dynamically.
const FAKE_CLOCK: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// What a node has: CPU in MHz, memory in MB.
pub(crate) const NODE_MHZ: u64 = 500;
pub(crate) const NODE_MB: u64 = 2000;

/// An agent that may be down.
pub(crate) struct Agent {
    pub(crate) place: Place,
    /// The program that is started next.
    pub(crate) program: PathBuf,
    /// How often the member was replaced by a new one.
    pub(crate) generation: u32,
    /// The offset of the monotonic clock at the next start, in seconds.
    pub(crate) monotonic: i64,
    /// Where its files are.
    folder: PathBuf,
    log: PathBuf,
    child: Option<Child>,
    /// Processes that ended although nobody ended them.
    pub(crate) unexpected: Vec<ExitStatus>,
}

/// Whether the wall clock of a program can be set: it is linked dynamically, and the library is there.
pub(crate) fn has_clock(program: &Path) -> bool {
    let head = fs::read(program).unwrap_or_default();
    let head = head.get(..4096).unwrap_or_default();
    let interpreter = b"/ld-linux";
    Path::new(FAKE_CLOCK).exists() && head.windows(interpreter.len()).any(|w| w == interpreter)
}

impl Agent {
    pub(crate) fn new(place: Place, program: &Path, folder: &Path, logs: &Path) -> Agent {
        Agent {
            place,
            program: program.into(),
            generation: 1,
            monotonic: 0,
            folder: folder.into(),
            log: logs.join(format!("{place}.log")),
            child: None,
            unexpected: Vec::new(),
        }
    }

    /// The name of the member, which a new one at its place does not have.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.place, self.generation)
    }

    /// The directory of its data.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn clock_file(&self) -> PathBuf {
        self.folder.join("clock")
    }

    fn configuration(&self) -> String {
        let quoted = |port: u16| {
            let servers = (0..SERVERS).map(|s| format!("\"{}:{port}\"", Place::Server(s).address()));
            servers.collect::<Vec<_>>().join(", ")
        };
        let role = match self.place {
            Place::Server(_) => format!(
                "server {{\n  enabled = true\n  bootstrap_expect = {SERVERS}\n  event_buffer_size = 20000\n\
                   raft_snapshot_threshold = 2000\n  raft_snapshot_interval = \"5s\"\n  raft_trailing_logs = 500\n\
                   server_join {{\n    retry_join = [{}]\n    retry_interval = \"2s\"\n  }}\n}}\n",
                quoted(4648)
            ),
            _ => format!(
                "client {{\n  enabled = true\n  network_interface = \"tun0\"\n  servers = [{}]\n\
                   cpu_total_compute = {NODE_MHZ}\n\
                   memory_total_mb = {NODE_MB}\n  disk_total_mb = 100000\n  gc_disk_usage_threshold = 100\n\
                   gc_inode_usage_threshold = 100\n}}\nplugin \"mock_driver\" {{\n}}\n",
                quoted(4647)
            ),
        };
        format!(
            "name = {:?}\nbind_addr = \"{}\"\ndata_dir = {:?}\nlog_level = \"INFO\"\nleave_on_interrupt = true\n{role}",
            self.name(),
            self.place.address(),
            self.data()
        )
    }

    /// Starts it. The process ends with this one.
    ///
    /// # Errors
    /// Its files cannot be written, or the command cannot be started.
    pub(crate) fn start(&mut self) -> Outcome {
        let data = self.data();
        fs::create_dir_all(&data).map_err(|e| Failure::file(&data, e))?;
        let config = self.folder.join("agent.hcl");
        fs::write(&config, self.configuration()).map_err(|e| Failure::file(&config, e))?;
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log = log.map_err(|e| Failure::file(&self.log, e))?;
        let errors = log.try_clone().map_err(|e| Failure::file(&self.log, e))?;
        // `ip netns exec` would keep all disks mounted in a mount namespace of its own.
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={NAMES}/{}", self.place.namespace()));
        command.args(["--", "setpriv", "--pdeathsig", "KILL", "--"]);
        if self.monotonic != 0 {
            let offset = self.monotonic.to_string();
            command.args(["unshare", "--time", "--monotonic", &offset, "--boottime", &offset, "--"]);
        }
        if matches!(self.place, Place::Server(_)) && has_clock(&self.program) {
            self.set_clock(0)?;
            command.arg("env").arg(format!("LD_PRELOAD={FAKE_CLOCK}"));
            command.arg(format!("FAKETIME_TIMESTAMP_FILE={}", self.clock_file().display()));
            command.args(["FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_RESET=1"]);
        }
        command.arg(&self.program).args(["agent", "-config"]).arg(&config);
        command.stdin(Stdio::null()).stdout(log).stderr(errors).current_dir(&self.folder);
        let child = command.spawn();
        let failed =
            |e: std::io::Error| Failure::Command { command: self.program.display().to_string(), why: e.to_string() };
        self.child = Some(child.map_err(failed)?);
        Ok(())
    }

    /// Sets its wall clock, if that is possible: the offset in seconds.
    ///
    /// # Errors
    /// The file with the offset cannot be written.
    pub(crate) fn set_clock(&self, offset: i64) -> Outcome {
        let (file, new) = (self.clock_file(), self.folder.join("clock.new"));
        fs::write(&new, format!("{offset:+}\n")).map_err(|e| Failure::file(&new, e))?;
        fs::rename(&new, &file).map_err(|e| Failure::file(&file, e))
    }

    /// Sends a signal, if it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.child.as_ref().and_then(|c| i32::try_from(c.id()).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended just now.
            let _ = kill_process(pid, signal);
        }
    }

    /// Ends it as a power failure would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Ends it by a signal, and kills it if it takes too long. Returns whether it ended by itself.
    pub(crate) fn end(&mut self, signal: Signal, patience: Duration) -> bool {
        self.signal(signal);
        let deadline = Instant::now() + patience;
        while self.runs() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        // An end that was asked for is not unexpected.
        let ended = self.unexpected.pop().is_some();
        self.kill();
        ended
    }

    /// Whether it runs. Notes an end that nobody asked for.
    pub(crate) fn runs(&mut self) -> bool {
        let Some(child) = self.child.as_mut() else { return false };
        match child.try_wait() {
            Ok(Some(status)) => {
                self.unexpected.push(status);
                self.child = None;
                false
            }
            _ => true,
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

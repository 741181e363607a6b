//! One run of a plugin program: bounded time and output, an environment of its own, and no process that outlives it.
//! Plugins of host volumes (`docs/spec/client.md §4.6.1`) and of networks (`docs/spec/client.md §15.3`) run like this.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::processes::{kill_group, to_pid};

/// The maximum number of bytes that a program may print on standard output, where its run has no other limit.
pub(crate) const MOST_OUTPUT: usize = 64 << 10;
/// The number of bytes of standard error that are retained.
const MOST_MESSAGES: usize = 4 << 10;
/// The interval of looking whether the program has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long output is waited for after the end: a process that left the program's group may hold the pipe.
const REMAINDER: Duration = Duration::from_millis(500);

/// How long a killed program may take to end.
const AFTER_KILL: Duration = Duration::from_secs(2);
/// How often a start is repeated while another process still writes the file.
const STARTS: u32 = 10;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The program could not be started.
    #[error("the program can't be started: {0}")]
    Start(io::Error),
    /// It exited with a status other than 0.
    #[error("exit status {code}{}", after(said))]
    Exit {
        /// The status.
        code: i32,
        /// The error that it printed, or its standard error.
        said: String,
    },
    /// A signal killed it.
    #[error("killed by signal {signal}{}", after(said))]
    Signal {
        /// The signal.
        signal: i32,
        /// Its standard error.
        said: String,
    },
    /// It did not end in time, and was killed.
    #[error("did not end within {} s and was killed", .0.as_secs_f64())]
    Timeout(Duration),
    /// It printed too much, and was killed.
    #[error("printed more than {0} bytes and was killed")]
    TooLong(usize),
    /// It is not needed any more, and was killed.
    #[error("was killed because it is not needed any more")]
    Canceled,
    /// The system does not tell how it ended.
    #[error("the end of the program is unknown: {0}")]
    Wait(io::Error),
}

fn after(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

/// The output of a program that exited with status 0.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Output {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// The beginning of standard error as one line.
    pub messages: String,
}

/// Tells runs that they are not needed any more; clones tell the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends what runs, and what would begin.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether runs are to end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Whether a path is a file that may be run.
pub(crate) fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// A run of a program.
pub(crate) struct Run<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Its working directory.
    pub dir: &'a Path,
    /// Its environment, beside `PATH` of the agent.
    pub env: &'a [(&'a str, OsString)],
    /// Its standard input.
    pub input: &'a [u8],
    /// How long it may take.
    pub limit: Duration,
    /// How many bytes it may print on standard output.
    pub most_output: usize,
    /// Finds the error that a program printed on standard output.
    pub stated: fn(&[u8]) -> Option<String>,
    /// Ends it early.
    pub cancel: &'a Cancel,
}

/// The program while it runs. Until it is reaped its ID, and with it that of its group, is not used again.
struct Running(Child);

impl Running {
    fn pid(&self) -> Option<Pid> {
        to_pid(self.0.id())
    }

    /// Kills everything in the program's process group.
    fn kill_group(&self) {
        kill_group(self.0.id());
    }

    /// Whether the program has ended; it is not reaped.
    fn ended(&self) -> io::Result<bool> {
        let Some(pid) = self.pid() else { return Ok(true) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(pid), options) {
            Ok(status) => Ok(status.is_some()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
        let until = Instant::now() + AFTER_KILL;
        // A program in an operation that the kernel does not interrupt ends later.
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
    }
}

/// A pipe of the program, read without waiting.
struct Stream<R> {
    pipe: Option<R>,
    /// What was read, up to a limit; what follows is dropped.
    read: Vec<u8>,
    most: usize,
    /// More was printed than the limit.
    too_long: bool,
}

impl<R: Read + AsFd> Stream<R> {
    fn new(pipe: Option<R>, most: usize) -> io::Result<Stream<R>> {
        if let Some(pipe) = &pipe {
            let flags = rustix::fs::fcntl_getfl(pipe)?;
            rustix::fs::fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?;
        }
        Ok(Stream { pipe, read: Vec::new(), most, too_long: false })
    }

    /// Reads what is there.
    fn drain(&mut self) {
        let mut buffer = [0u8; 4096];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    let free = self.most.saturating_sub(self.read.len());
                    self.too_long |= n > free;
                    self.read.extend(buffer.iter().take(n.min(free)));
                    // A program that prints without end does not keep the reader.
                    if self.too_long {
                        return;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// Runs a program to its end. The program leads a process group, which is killed in the end.
pub(crate) fn run(run: &Run<'_>) -> Result<Output, RunError> {
    let until = Instant::now() + run.limit;
    let mut command = Command::new(run.program);
    command.args(run.arguments).current_dir(run.dir).env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.envs(run.env.iter().map(|(k, v)| (k, v)));
    command.stdin(input(run.input).map_err(RunError::Start)?);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut running = Running(start(&mut command).map_err(RunError::Start)?);
    let mut out = Stream::new(running.0.stdout.take(), run.most_output).map_err(RunError::Start)?;
    let mut err = Stream::new(running.0.stderr.take(), MOST_MESSAGES).map_err(RunError::Start)?;
    while !running.ended().map_err(RunError::Wait)? {
        if run.cancel.is_set() {
            return Err(RunError::Canceled);
        }
        if Instant::now() >= until {
            return Err(RunError::Timeout(run.limit));
        }
        wait(&out, &err);
        out.drain();
        drain_messages(&mut err);
        if out.too_long {
            return Err(RunError::TooLong(run.most_output));
        }
    }
    // What the program left running holds its pipes.
    running.kill_group();
    let until = Instant::now() + REMAINDER;
    loop {
        out.drain();
        drain_messages(&mut err);
        if out.too_long {
            return Err(RunError::TooLong(run.most_output));
        }
        if (out.pipe.is_none() && err.pipe.is_none()) || Instant::now() >= until {
            break;
        }
        wait(&out, &err);
    }
    let status = running.0.wait().map_err(RunError::Wait)?;
    let messages = one_line(&err.read);
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(Output { stdout: out.read, messages }),
        (Some(code), _) => Err(RunError::Exit { code, said: (run.stated)(&out.read).unwrap_or(messages) }),
        (None, signal) => Err(RunError::Signal { signal: signal.unwrap_or(0), said: messages }),
    }
}

/// Standard input with that content.
fn input(content: &[u8]) -> io::Result<Stdio> {
    if content.is_empty() {
        return Ok(Stdio::null());
    }
    // A pipe would have to be written while the program prints.
    let mut file = File::from(rustix::fs::memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}

/// Starts a program; one that is just being written is waited for, for a moment.
fn start(command: &mut Command) -> io::Result<Child> {
    for _ in 1..STARTS {
        match command.spawn() {
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::sleep(LOOK),
            started => return started,
        }
    }
    command.spawn()
}

/// Reads messages; those beyond the limit are dropped.
fn drain_messages<R: Read + AsFd>(stream: &mut Stream<R>) {
    stream.drain();
    stream.too_long = false;
}

/// Waits until there is output, for a short time.
fn wait<O: AsFd, E: AsFd>(out: &Stream<O>, err: &Stream<E>) {
    let mut polled: Vec<PollFd<'_>> = Vec::new();
    if let Some(pipe) = &out.pipe {
        polled.push(PollFd::new(pipe, PollFlags::IN));
    }
    if let Some(pipe) = &err.pipe {
        polled.push(PollFd::new(pipe, PollFlags::IN));
    }
    let nanos = i64::from(LOOK.subsec_nanos());
    let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: nanos }));
}

/// Text of a program as one line of bounded length, for errors and logs.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(..MOST_MESSAGES).unwrap_or(bytes)).into_owned();
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testing::TempDir;

    /// Runs a script with limits.
    fn script(dir: &Path, text: &str, input: &[u8], limit: Duration, cancel: &Cancel) -> Result<Output, RunError> {
        let program = dir.join("p");
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let stated = |_: &[u8]| None;
        let (program, most_output) = (&program, MOST_OUTPUT);
        run(&Run { program, arguments: &["create"], dir, env: &[], input, limit, most_output, stated, cancel })
    }

    #[test]
    fn what_a_program_leaves_running_is_killed() {
        let dir = TempDir::new("leftovers");
        let (begin, cancel) = (Instant::now(), Cancel::default());
        let run = |text: &str, limit| script(dir.path(), text, &[], Duration::from_millis(limit), &cancel);
        assert_eq!(run("sleep 300 & echo $! > pid; echo done", 30_000).unwrap().stdout, b"done\n");
        // One that hangs is killed with its children, in time.
        let error = run("sleep 300 & echo $! >> pid; wait", 300).unwrap_err();
        assert_eq!(error.to_string(), "did not end within 0.3 s and was killed");
        cancel.set();
        let error = run("sleep 300 & echo $! >> pid; wait", 30_000).unwrap_err();
        assert!(matches!(error, RunError::Canceled), "{error}");
        assert!(begin.elapsed() < Duration::from_secs(20));
        let pids = std::fs::read_to_string(dir.path().join("pid")).unwrap();
        for pid in pids.lines() {
            let until = Instant::now() + Duration::from_secs(10);
            while crate::processes::is_alive(pid.parse().unwrap(), 0) {
                assert!(Instant::now() < until, "process {pid} still runs");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    #[test]
    fn the_whole_input_is_read() {
        let dir = TempDir::new("input");
        let input = vec![b'x'; 300 << 10];
        let output = script(dir.path(), "wc -c", &input, Duration::from_secs(30), &Cancel::default()).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), input.len().to_string());
    }
}

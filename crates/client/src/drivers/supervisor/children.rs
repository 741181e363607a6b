//! The processes that a supervisor or an init process starts: what they inherit, and how they end.

use std::time::{Duration, Instant};

use procfs::process::Process;
use rustix::process::WaitOptions;
use tokio::signal::unix::{SignalKind, signal};

use super::super::Exit;
use crate::processes;

/// How long processes that a task left behind may take to die.
const LEFTOVERS: Duration = Duration::from_secs(15);

/// Has programs that are started from here begin with all signals at their defaults. What is ignored, as interrupts are
/// in background jobs of a shell, stays ignored in them; what is caught does not. Blocked signals and broken pipes are
/// seen to wherever a program is started.
pub(super) fn catch_ignored_signals() {
    const BROKEN_PIPE: u64 = 1 << (13 - 1);
    let Ok(status) = Process::myself().and_then(|p| p.status()) else { return };
    let ignored = status.sigign & !BROKEN_PIPE;
    if ignored == 0 {
        return;
    }
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _entered = runtime.enter();
    for number in (1..=64).filter(|n| ignored >> (n - 1) & 1 == 1) {
        // The handler stays when nobody listens any more. Some signals can't have one: those of faults.
        let _ = signal(SignalKind::from_raw(number));
    }
}

/// Has no program that is started from here inherit open files, apart from standard input, output and error: what
/// started the agent may have left some open.
pub(crate) fn close_inherited() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// Reaps children until the task has ended.
pub(crate) fn wait_for(pid: u32) -> Exit {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((done, status))) if u32::try_from(done.as_raw_nonzero().get()).is_ok_and(|p| p == pid) => {
                return match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Exit { code: code.into(), ..Exit::default() },
                    (None, Some(signal)) => {
                        Exit { code: i64::from(signal) + 128, signal: signal.into(), ..Exit::default() }
                    }
                    (None, None) => continue,
                };
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Exit { code: 1, message: format!("lost the process: {e}"), ..Exit::default() },
        }
    }
}

/// Ends the task's process group and every process that descends from it.
pub(super) fn end_leftovers(pid: u32) {
    processes::kill_group(pid);
    let until = Instant::now() + LEFTOVERS;
    while Instant::now() < until {
        for (child, _) in processes::Table::read().descendants(std::process::id()) {
            processes::kill(child);
        }
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            // No children are left.
            Err(_) => return,
        }
    }
}

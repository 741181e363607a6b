//! This process, and the machine that it runs on.

/// The memory of this process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// What is held in RAM.
    pub resident: Option<u64>,
    /// The part of it that no file backs.
    pub anonymous: Option<u64>,
    /// The most that was ever held in RAM.
    pub peak: Option<u64>,
}

/// The memory of this process; `None` where there is no `/proc`.
#[cfg(target_os = "linux")]
pub fn memory() -> Option<Memory> {
    let status = procfs::process::Process::myself().and_then(|own| own.status()).ok()?;
    let bytes = |kib: Option<u64>| kib.and_then(|n| n.checked_mul(1024));
    Some(Memory { resident: bytes(status.vmrss), anonymous: bytes(status.rssanon), peak: bytes(status.vmhwm) })
}

/// `None`: there is no `/proc`.
#[cfg(not(target_os = "linux"))]
pub fn memory() -> Option<Memory> {
    None
}

/// The name of this machine.
#[cfg(unix)]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The name of this machine.
#[cfg(not(unix))]
pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "localhost".into())
}

/// Gives this thread a nice value of at least so much: it leaves busy processors to others. Where that can't be done
/// nothing happens.
#[cfg(unix)]
pub(crate) fn be_nice(value: i32) {
    use rustix::process::{getpriority_process, setpriority_process};
    if getpriority_process(None).is_ok_and(|nice| nice < value) {
        let _ = setpriority_process(None, value);
    }
}

/// Does nothing.
#[cfg(not(unix))]
pub(crate) fn be_nice(_: i32) {}

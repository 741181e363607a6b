//! The arguments that `/proc` shows to other users.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use procfs::process::Process;

/// Overwrites parts of the command line of this process, whose arguments end with NUL.
///
/// # Errors
/// There is no `/proc`, or the system does not allow it.
pub(crate) fn overwrite_arguments(parts: impl Fn(&[u8]) -> Vec<Range<usize>>) -> io::Result<()> {
    let line = std::fs::read("/proc/self/cmdline")?;
    let parts = parts(&line);
    if parts.is_empty() {
        return Ok(());
    }
    let stat = Process::myself().and_then(|p| p.stat()).map_err(io::Error::other)?;
    let (Some(start), Some(end)) = (stat.arg_start, stat.arg_end) else { return Ok(()) };
    let memory: File = OpenOptions::new().write(true).open("/proc/self/mem")?;
    for range in parts {
        let at = start + range.start as u64;
        let within = at + range.len() as u64 <= end;
        if within {
            memory.write_all_at(&vec![b'x'; range.len()], at)?;
        }
    }
    Ok(())
}

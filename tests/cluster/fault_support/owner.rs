//! Identifies connecting processes: all connect from 127.0.0.1, and the data on a connection need not identify the
//! sender.

use std::fs;

/// The index of the process that connected from one local port to another.
pub fn of(from: u16, to: u16, pids: &[u32]) -> Option<usize> {
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let here = u32::from_ne_bytes([127, 0, 0, 1]);
    let row = &table[table.find(&format!(" {here:08X}:{from:04X} {here:08X}:{to:04X} "))?..];
    // The columns: local and remote address, state, queues, timer, retransmissions, user, timeout, inode.
    let inode = row.split_whitespace().nth(8)?;
    let name = format!("socket:[{inode}]");
    pids.iter().position(|pid| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == name.as_str()))
    })
}

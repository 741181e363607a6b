//! What systems do differently. The agent runs on Linux alone; the command line without it on macOS and Windows too.
//!
//! - [`files`]: modes, positions, owners and identities of files, free space. [`process`]: the memory of this process, the
//!   name of the machine, nice values. [`signals`]: signals that end a process.
//!
//! On Windows files have no mode: those that others may not read inherit the access list of their directory.

#[cfg_attr(unix, path = "files_unix.rs")]
#[cfg_attr(not(unix), path = "files_windows.rs")]
pub mod files;
pub mod process;
#[cfg_attr(unix, path = "signals_unix.rs")]
#[cfg_attr(not(unix), path = "signals_windows.rs")]
pub mod signals;

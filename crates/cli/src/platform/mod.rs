//! What systems do differently for the command line: the modes and the size of the terminal, keys, standard input, and
//! the arguments that other users see.

#[cfg(target_os = "linux")]
mod arguments;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

#[cfg(unix)]
pub(crate) use self::unix::{Modes, Resizes, await_key, is_device, window_size};
#[cfg(not(unix))]
pub(crate) use self::windows::{Modes, Resizes, await_key, is_device, window_size};

#[cfg(target_os = "linux")]
pub(crate) use self::arguments::overwrite_arguments;

/// A standard stream that text is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The size of a terminal, as it reports it: 0 is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowSize {
    /// Columns.
    pub(crate) columns: u16,
    /// Rows.
    pub(crate) rows: u16,
}

/// Does nothing: this system has no way for a process to change what it was started with.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub(crate) fn overwrite_arguments(_: impl Fn(&[u8]) -> Vec<std::ops::Range<usize>>) -> std::io::Result<()> {
    Ok(())
}
